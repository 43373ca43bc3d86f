/* live_core.h: the parts of a live scheduler between an API server's bytes and the decisions, without a network.
 *
 *     live_server ──bytes──▶ sync ──messages──▶ inbox ──▶ mirror ──▶ engine ──▶ effects, to the host
 *
 * The parts are those of `berth scheduler`. Calls of the I/O side and of the core may be on different threads, as they
 * are there. Time is simulated: `message_ns` for each message. */
#ifndef BENCH_LIVE_CORE_H
#define BENCH_LIVE_CORE_H

#include "bench/live_server.h"
#include "live/journal.h"
#include "sync/mirror.h"
#include "sync/watch_decode.h"

#define LIVE_MS_NS ((int64_t)1000000)

/* Effects that are queued for the server. */
struct live_wish {
    enum effect_kind kind;
    uint64_t ticket;
    char uid[64], node[128];
};
typedef VEC(struct live_wish) live_wishes;

struct live_core {
    struct inbox *inbox;
    struct scheduler_config config;
    struct arena arena;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct journal *journal; /* NULL: nothing is recorded */
    int64_t now_ns, message_ns;
    uint64_t decisions;
    /* of the I/O side */
    struct watch_decoder watches[KIND_COUNT];
    struct arena scratch;
};

/* Prints the error and exits. */
_Noreturn void live_die(const struct error *err);

/* With the default configuration; `journal` and `message_ns` are set before, the rest is zero. */
void live_core_init(struct live_core *core, const struct engine_host *host);
void live_core_release(struct live_core *core);

/* ---- the I/O side ---- */
/* A frame of a watch, as the reflector's on_chunk() takes it. */
void live_core_frame(struct live_core *core, enum api_kind kind, struct str frame);
/* All objects of a kind, as the reflector's page_done() takes them. */
void live_core_list(struct live_core *core, struct live_server *server, enum api_kind kind);
/* Applies an effect on the server, and posts the answer. */
void live_core_do(struct live_core *core, struct live_server *server, const struct live_wish *wish);

/* ---- the core thread ---- */
/* One round; false: no work was pending. */
bool live_core_round(struct live_core *core);
/* For the host: queues the effect. */
void live_wish(live_wishes *wishes, const struct effect *effect);

#endif
