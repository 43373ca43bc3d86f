/* gate.h: where requests wait while the API server does not answer: one probe is sent on behalf of all of them.
 *
 *     gate_wait() ──▶ closed ──▶ probe, probe, ... ──▶ an answer, whatever it says ──▶ on_open
 *
 * Probes follow each other after a pause that doubles up to a bound, and are impatient: where packets vanish, a new
 * attempt sees the server's return before an old one does. One client that asks five times a second is no burden to a
 * server that starts. All of it on the thread of the api's loop. */
#ifndef SYNC_GATE_H
#define SYNC_GATE_H

#include <stdatomic.h>

#include "base/rng.h"
#include "client/api.h"

enum { GATE_PAUSE_MS_MAX = 200 };

struct gate {
    struct api *api;
    struct rng *rng;
    int64_t backoff_ms_min, backoff_ms_max;
    void (*on_open)(void *user); /* the server answers, or the last probe has ended after gate_stop() */
    void *user;
    /* The gate's own. */
    bool probing, stopping;
    uint64_t probe_id;
    uint32_t failures;
    atomic_int_least64_t
        closed_ns; /* since when, by monotonic_ns(); 0: it is open. To be read from any thread */
};

/* The server did not answer: on_open will be called, once for all that wait. `why` is for the log. */
void gate_wait(struct gate *gate, const char *why);
/* No more probes; the one under way ends soon. */
void gate_stop(struct gate *gate);

/* Before the next probe. */
int64_t gate_pause_ms(const struct gate *gate);
/* How long to wait after so many failures in a row: doubled with each, and up to a half of it less by chance. */
int64_t backoff_ms(struct rng *rng, uint32_t failures, int64_t min_ms, int64_t max_ms);

#endif
