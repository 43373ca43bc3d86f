/* gate.c: see gate.h. */
#include "sync/gate.h"

#include "base/log.h"

enum {
    PROBE_MS = 1000,
    PROBE_LONG_MS = 5000, /* every fourth one, for servers that are far away */
    PROBE_BYTES_MAX = 1 << 20,
    DOUBLINGS_MAX = 20,
};

int64_t backoff_ms(struct rng *rng, uint32_t failures, int64_t min_ms, int64_t max_ms)
{
    int64_t ms = failures ? MIN(min_ms << MIN(failures - 1, (uint32_t)DOUBLINGS_MAX), max_ms) : 0;
    return ms - (int64_t)rng_below(rng, (uint64_t)ms / 2 + 1);
}

int64_t gate_pause_ms(const struct gate *gate)
{
    int64_t max_ms = MIN(gate->backoff_ms_max, MAX(gate->backoff_ms_min, GATE_PAUSE_MS_MAX));
    return backoff_ms(gate->rng, gate->failures, gate->backoff_ms_min, max_ms);
}

static const struct http_callbacks callbacks;

static void send_probe(struct gate *gate)
{
    const struct api_request request = {
        .method = "GET",
        .path = STR("/version"),
        .accept = API_JSON,
        .urgent = true,
        .unlimited = true,
        .timeout_ms = gate->failures % 4 == 3 ? PROBE_LONG_MS : PROBE_MS,
        .delay_ms = gate_pause_ms(gate),
        .body_bytes_max = PROBE_BYTES_MAX,
        .callbacks = &callbacks,
        .user = gate,
    };
    struct error err = { 0 };
    gate->probing = api_send(gate->api, &request, &gate->probe_id, &err) == 0;
    if (!gate->probing) /* the client is ending: there will be no answer */
        log_error(&err, "A request to the API server was not taken");
}

static void on_done(void *user, struct http_response *response)
{
    struct gate *gate = user;
    gate->probing = false;
    if (gate->stopping) {
        gate->on_open(gate->user);
    } else if (response->status > 0) {
        int64_t closed_ns = monotonic_ns() - atomic_exchange(&gate->closed_ns, 0);
        log_info(0, "The API server answers", log_duration("after", closed_ns));
        gate->on_open(gate->user);
    } else {
        gate->failures++;
        log_info(2, "The API server does not answer", log_str("why", str_from(response->error.text)),
                 log_int("attempts", gate->failures));
        send_probe(gate);
    }
}

static const struct http_callbacks callbacks = { .on_done = on_done };

void gate_wait(struct gate *gate, const char *why)
{
    if (gate->closed_ns)
        return;
    atomic_store(&gate->closed_ns, monotonic_ns());
    log_warning("The connection to the API server is lost", log_str("why", str_from(why)));
    gate->failures = 0;
    send_probe(gate);
}

void gate_stop(struct gate *gate)
{
    gate->stopping = true;
    if (gate->probing)
        api_cancel(gate->api, gate->probe_id);
}
