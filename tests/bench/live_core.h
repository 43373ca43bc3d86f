/* live_core.h: what a live scheduler has between the bytes of an API server and its decisions, without a network.
 *
 *     live_server ──bytes──▶ wire ──messages──▶ inbox ──▶ mirror ──▶ engine ──▶ effects, to whoever hosts it
 *
 * The parts are those of `berth scheduler`. The calls of the I/O side may be on another thread than those of the core,
 * as they are there. Time is virtual: so much for each message. */
#ifndef BENCH_LIVE_CORE_H
#define BENCH_LIVE_CORE_H

#include "bench/live_server.h"
#include "live/journal.h"
#include "sync/mirror.h"
#include "sync/watch_decode.h"

#define LIVE_MS_NS ((int64_t)1000000)

/* Effects on their way to the server. */
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
    /* the I/O side's */
    struct watch_decoder watches[KIND_COUNT];
    struct arena scratch;
};

/* Says so, and ends the process. */
_Noreturn void live_die(const struct error *err);

/* With the default configuration; `journal` and `message_ns` are set before, the rest is zero. */
void live_core_init(struct live_core *core, const struct engine_host *host);
void live_core_release(struct live_core *core);

/* ---- the I/O side ---- */
/* A frame of a watch, as the reflector's on_chunk() takes it. */
void live_core_frame(struct live_core *core, enum api_kind kind, struct str frame);
/* All there is of a kind, as the reflector's page_done() takes it. */
void live_core_list(struct live_core *core, struct live_server *server, enum api_kind kind);
/* The server does what is wished for, and says so. */
void live_core_do(struct live_core *core, struct live_server *server, const struct live_wish *wish);

/* ---- the core's ---- */
/* One round; false: there was nothing to do. */
bool live_core_round(struct live_core *core);
/* For who hosts it: keeps what the effect asks for. */
void live_wish(live_wishes *wishes, const struct effect *effect);

#endif
