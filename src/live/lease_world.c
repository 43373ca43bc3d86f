/* lease_world.c: requests with a time limit of their own. A request whose time is over, or that is abandoned, is
 * forgotten by the world: its answer, which comes later, only frees it. All on the thread of the api's loop. */
#include "live/lease_world.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"

enum { NS_PER_US = 1000, BODY_BYTES_MAX = 2 << 20 };

struct exchange;

struct api_world {
    struct lease_world public;
    struct api *api;
    struct rng rng;
    struct exchange *now; /* under way; NULL: none */
    struct loop_timer timer;
};

struct exchange {
    struct api_world *world; /* NULL: its answer is not needed any more */
    uint64_t id;
    int64_t timeout_ms;
    void (*done)(void *context, const struct lease_answer *answer);
    void *context;
};

static void answer(const struct exchange *exchange, const struct lease_answer *answer)
{
    struct api_world *world = exchange->world;
    world->now = NULL;
    loop_timer_stop(api_loop(world->api), &world->timer);
    exchange->done(exchange->context, answer);
}

static void on_done(void *user, struct http_response *response)
{
    struct exchange *exchange = user;
    const struct lease_answer received = {
        .outcome = response->outcome,
        .status = response->status,
        .body = *response->body,
        .error = response->error,
    };
    if (exchange->world)
        answer(exchange, &received);
    free(exchange);
}

static const struct http_callbacks callbacks = { .on_done = on_done };

static void abandon(void *user)
{
    struct api_world *world = user;
    if (!world->now)
        return;
    world->now->world = NULL;
    api_cancel(world->api, world->now->id);
    world->now = NULL;
    loop_timer_stop(api_loop(world->api), &world->timer);
}

static void on_timeout(struct loop_timer *timer)
{
    struct api_world *world = container_of(timer, struct api_world, timer);
    const struct exchange late = *world->now;
    struct lease_answer lost = { .outcome = HTTP_LOST };
    error_set(&lost.error, 0, "no answer within %lld ms", (long long)late.timeout_ms);
    abandon(world);
    late.done(late.context, &lost);
}

static void send_request(void *user, const char *method, struct str path, struct str body, int64_t timeout_ms,
                         void (*done)(void *context, const struct lease_answer *answer), void *context)
{
    struct api_world *world = user;
    struct exchange *exchange = xmalloc(sizeof(*exchange));
    const struct api_request request = {
        .method = method,
        .path = path,
        .content_type = body.len ? API_JSON : NULL,
        .body = body,
        .urgent = true,
        .unlimited = true,
        .timeout_ms = timeout_ms,
        .body_bytes_max = BODY_BYTES_MAX,
        .callbacks = &callbacks,
        .user = exchange,
    };
    struct lease_answer unsent = { .outcome = HTTP_UNSENT };
    *exchange = (struct exchange){ world, 0, timeout_ms, done, context };
    world->now = exchange;
    if (api_send(world->api, &request, &exchange->id, &unsent.error) < 0) {
        answer(exchange, &unsent);
        free(exchange);
        return;
    }
    loop_timer_set(api_loop(world->api), &world->timer, monotonic_ns() + timeout_ms * NS_PER_MS);
}

/* Runs while the machine sleeps, too: others' clocks do. */
static int64_t now_ns(void *user _unused_)
{
    return clock_now_ns(CLOCK_BOOTTIME);
}

static int64_t wall_us(void *user _unused_)
{
    return clock_now_ns(CLOCK_REALTIME) / NS_PER_US;
}

static double random_share(void *user)
{
    struct api_world *world = user;
    return (double)(rng_next(&world->rng) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The kernel gives this much at once, or it is too early in its life to have any. */
static void random_bytes(void *to, size_t len)
{
    if (getrandom(to, len, 0) == (ssize_t)len)
        return;
    struct timespec now;
    struct rng rng;
    clock_gettime(CLOCK_REALTIME, &now);
    rng_seed(&rng, (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32 ^ (uint64_t)now.tv_sec);
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)to)[i] = (unsigned char)rng_next(&rng);
}

struct api_world *api_world_new(struct api *api)
{
    struct api_world *world = xcalloc(1, sizeof(*world));
    uint64_t seed;
    random_bytes(&seed, sizeof(seed));
    rng_seed(&world->rng, seed);
    world->api = api;
    world->timer.ring = on_timeout;
    world->public = (struct lease_world){ now_ns, wall_us, random_share, send_request, abandon, world };
    return world;
}

void api_world_free(struct api_world *world)
{
    free(world);
}

const struct lease_world *api_world_get(struct api_world *world)
{
    return &world->public;
}

void lease_identity(struct strbuf *out)
{
    char host[256] = "";
    unsigned char u[16];
    gethostname(host, sizeof(host) - 1);
    random_bytes(u, sizeof(u));
    u[6] = (unsigned char)((u[6] & 0x0f) | 0x40); /* version 4: random */
    u[8] = (unsigned char)((u[8] & 0x3f) | 0x80);
    strbuf_printf(out, "%s_", host);
    for (size_t i = 0; i < sizeof(u); i++)
        strbuf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}
