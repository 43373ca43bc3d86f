/* gate.h: where all wait who found the API server away: one probe asks for it on behalf of all of them.
 *
 *     gate_wait() ──▶ closed ──▶ probe, probe, ... ──▶ an answer, whatever it says ──▶ on_open
 *
 * Probes follow each other after a pause that doubles up to a bound, and are impatient: where packets vanish, a new
 * attempt sees the server's return before an old one does. The lock of the owner guards the gate: it is held by
 * the caller of a function of these, and while on_open runs. */
#ifndef SYNC_GATE_H
#define SYNC_GATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/rng.h"
#include "client/api.h"

struct gate {
    struct api *api;
    pthread_mutex_t *lock;
    pthread_cond_t *idle; /* signalled when the last probe has ended, after gate_stop() */
    struct rng *rng;
    int64_t backoff_ms_min, backoff_ms_max;
    void (*on_open)(void *user); /* on the I/O thread */
    void *user;
    /* The gate's own. */
    bool probing, stopping;
    uint64_t probe_id;
    uint32_t failures;
    atomic_int_least64_t
        closed_ns; /* since when, by monotonic_ns(); 0: it is open. To be read from any thread */
};

/* The server did not answer: on_open will be called, once for all who wait. `why` is for the log. */
void gate_wait(struct gate *gate, const char *why);
/* No more probes; the one under way ends soon. */
void gate_stop(struct gate *gate);

/* How long to wait after so many failures in a row: doubled with each, and up to a half of it less by chance. */
int64_t backoff_ms(struct rng *rng, uint32_t failures, int64_t min_ms, int64_t max_ms);

#endif
