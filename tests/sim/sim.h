/* sim.h: a cluster that is not there, with a real engine in it, on a clock that is not there either.
 *
 *     actors ──▶ store ──▶ watch (late, twice, broken off) ──▶ core: engine and model
 *                  ▲                                             │ effects
 *                  └── server ◀── network (lost, late, refused) ◀┘
 *
 * Everything that happens is in one agenda, ordered by time; every choice comes from one seed. After each happening the
 * engine gets to run. A seed also decides which troubles there are at all, so that rare ones meet in some seeds and
 * leave room for others in the rest.
 *
 *     storm      faults of all kinds, actors at work
 *     calm       nothing goes wrong any more; what is under way ends; then the final checks
 *     drained    all pods are deleted: nothing may be left of them */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/heap.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "store.h"
#include "sync/mirror.h"

#define SIM_MS INT64_C(1000000)
#define SIM_S INT64_C(1000000000)
#define SIM_EPOCH_NS (INT64_C(1780000000) * SIM_S) /* what the clock shows at the beginning */
enum { LATE_MS_MAX = 20000 };                      /* no request is applied later than that */

/* How often, of 1000 chances, or how much. */
#define SIM_KNOBS(X) \
    /* name, most, of 100 seeds that have it */ \
    X(unsent, 200, 50)    /* a request does not leave */ \
    X(lost, 200, 50)      /* it is lost, and so is the answer */ \
    X(half_lost, 200, 50) /* it is done, but the answer is lost */ \
    X(late, 100, 40)      /* the answer is lost, and it is done later */ \
    X(refused, 100, 30) \
    X(conflict, 100, 30)    /* for no reason */ \
    X(slow, 300, 50)        /* request or answer take seconds */ \
    X(watch_break, 60, 50)  /* a watch loses events, and lists again */ \
    X(watch_again, 100, 50) /* an event comes twice, or an older one after it */ \
    X(watch_lag_ms, 3000, 70) \
    X(pause, 300, 50) /* the engine is interrupted between two decisions */

struct knobs {
#define X(name, most, percent) uint32_t name;
    SIM_KNOBS(X)
#undef X
    uint32_t nodes, pods, claims, volumes, budgets;
    uint32_t pods_at_first;
    uint32_t storm_s;
    int64_t action_ms; /* between two actions, at most twice that */
    bool clock_jumps, leader_changes, outages, refusals, reloads;
    bool claims_used, ports_used, priorities_used, gates_used, terms_used, labels_change;
};

struct sim;

struct happening {
    int64_t at_ns;
    uint64_t order;
    size_t at; /* in the agenda */
    void (*run)(struct sim *sim, void *what);
    void (*drop)(void *what); /* when the simulation ends before it; may be NULL */
    void *what;
};

/* A reflector of one kind: list, then watch. */
struct watch {
    enum sim_kind kind;
    uint64_t next; /* change that it will read */
    bool asleep;   /* nothing to read; the next change wakes it */
    bool listing;
    uint32_t list_at; /* how far the list was handed over */
    VEC(struct version *) list;
};

/* One life of the scheduler's process. */
struct core {
    bool alive, running; /* there; synced, so that it decides */
    uint64_t life;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct watch watches[SIM_KIND_COUNT];
    struct version **known[SIM_KIND_COUNT]; /* what it was told of each object, by number */
};

struct intent {
    uint64_t uid;
    uint32_t pod;
    int node;
};

struct pace {
    uint64_t uid;
    int64_t since_ns;
    uint32_t count;
};

struct last_word {
    uint64_t uid;
    struct strbuf message;
};

struct sim {
    uint64_t seed;
    struct rng rng;
    bool verbose, storm, failed;
    bool has_knobs; /* they are given, else the seed chooses */
    struct knobs knobs;
    int64_t now_ns, clock_offset_ns; /* true time; what the clock shows besides */
    int64_t outage_until_ns;
    int64_t no_binding_until_ns; /* every one is refused */
    struct heap agenda;
    uint64_t happenings;
    struct store store;
    uint32_t config_now, configs_used; /* reload.h: which one is in effect; owners that were not given back */
    struct arena arena;
    struct core core;
    uint32_t requests_under_way; /* of this life and earlier ones */
    uint32_t pumps_in_place;     /* since time went on */
    bool pump_planned;

    /* what the checks remember */
    VEC(struct intent) intents;    /* pods that were given a node, until it is known what came of it */
    struct intent early;           /* bound within the step that decides it; uid 0: none */
    VEC(uint64_t) early_deletions; /* likewise */
    bool deciding;
    VEC(struct intent) bindings_out;   /* requests to bind that may still be done */
    VEC(uint64_t) victims;             /* uids of pods that may be asked to leave */
    struct pace *paces;                /* by pod: how often it is bound */
    struct last_word *words;           /* by pod: why it waits, as the engine said last */
    int64_t (*node_most)[AMOUNTS + 1]; /* by node: the most it ever had, with pods */
    uint32_t unanswered;

    /* what was met, for the summary */
    uint64_t decisions, bound, evicted, lives, relists, requests, reloads;
};

/* ---- time and chance ---- */
static inline uint32_t roll(struct sim *sim, uint32_t count)
{
    return (uint32_t)rng_below(&sim->rng, count);
}
static inline bool chance(struct sim *sim, uint32_t of_1000)
{
    return roll(sim, 1000) < of_1000;
}
static inline int64_t clock_ns(const struct sim *sim)
{
    return SIM_EPOCH_NS + sim->now_ns + sim->clock_offset_ns;
}
void sim_plan(struct sim *sim, int64_t in_ns, void (*run)(struct sim *sim, void *what), void *what,
              void (*drop)(void *what));

/* ---- telling ---- */
void sim_trace(const struct sim *sim, const char *format, ...) _printf_(2, 3);
/* The first one counts. */
void sim_fail(struct sim *sim, const char *format, ...) _printf_(2, 3);

/* ---- a run ---- */
/* True: everything was as it should be. The figures are added to `totals`. */
bool sim_run(uint64_t seed, bool verbose, struct sim *totals);
void sim_init(struct sim *sim, uint64_t seed);
void sim_release(struct sim *sim);
/* Happenings until that (true) time. */
void sim_until(struct sim *sim, int64_t until_ns);

#endif
