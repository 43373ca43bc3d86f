/* sim.h: a simulated cluster with a real engine and a simulated clock.
 *
 *     actors ──▶ store ──▶ watch (late, twice, broken) ──▶ core: engine and model
 *                  ▲                                         │ effects
 *                  └─ server ◀── network (lost, rejected) ◀──┘
 *
 * All events are in one agenda, ordered by time; every choice comes from one seed. After each event the engine runs.
 * The seed also selects the kinds of faults, so that rare ones coincide in some seeds.
 *
 *     storm      faults of all kinds, actors are active
 *     calm       no more faults; requests in flight complete; then the final checks
 *     drained    all pods are deleted: nothing of them may remain */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "base/heap.h"
#include "base/rng.h"
#include "engine/engine.h"
#include "store.h"
#include "sync/mirror.h"

#define SIM_MS INT64_C(1000000)
#define SIM_S INT64_C(1000000000)
#define SIM_EPOCH_NS (INT64_C(1780000000) * SIM_S) /* the initial time of the clock */
enum { LATE_MS_MAX = 20000 };                      /* no request is applied later than that */

/* Probabilities in 1/1000, or amounts. */
#define SIM_KNOBS(X) \
    /* name, most, of 100 seeds that have it */ \
    X(unsent, 200, 50)    /* a request is not sent */ \
    X(lost, 200, 50)      /* the request is lost */ \
    X(half_lost, 200, 50) /* the request is done, but the answer is lost */ \
    X(late, 100, 40)      /* the answer is lost, and the request is done later */ \
    X(refused, 100, 30) \
    X(conflict, 100, 30)    /* a spurious conflict */ \
    X(slow, 300, 50)        /* the request or the answer takes seconds */ \
    X(watch_break, 60, 50)  /* a watch loses events, and lists again */ \
    X(watch_again, 100, 50) /* an event arrives twice, or an older one after it */ \
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
    bool asleep;   /* nothing to read until the next change */
    bool listing;
    uint32_t list_at; /* number of list items passed on */
    VEC(struct version *) list;
};

/* One process of the scheduler. */
struct core {
    bool alive, running; /* exists; synced, so that it decides */
    uint64_t incarnation;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct watch watches[SIM_KIND_COUNT];
    struct version **known[SIM_KIND_COUNT]; /* the version it received of each object, by number */
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
    bool has_knobs; /* given by the caller, otherwise chosen by the seed */
    struct knobs knobs;
    int64_t now_ns, clock_offset_ns; /* true time; offset of the clock */
    int64_t outage_until_ns;
    int64_t no_binding_until_ns; /* all bindings are rejected */
    struct heap agenda;
    uint64_t happenings;
    struct store store;
    uint32_t config_now, configs_used; /* reload.h: the one in effect; owners that were not released */
    struct arena arena;
    struct core core;
    uint32_t requests_in_flight; /* of this process and earlier ones */
    uint32_t pumps_in_place;     /* since time last advanced */
    bool pump_planned;

    /* state of the checks */
    VEC(struct intent) intents;    /* pods with a decided node, until the outcome is known */
    struct intent early;           /* bound within the step that decides it; uid 0: none */
    VEC(uint64_t) early_deletions; /* likewise */
    bool deciding;
    VEC(struct intent) bindings_out;   /* binding requests that may still take effect */
    VEC(uint64_t) victims;             /* uids of pods that may be evicted */
    struct pace *paces;                /* by pod: the times of its bindings */
    struct last_word *words;           /* by pod: the engine's last reason for waiting */
    int64_t (*node_most)[AMOUNTS + 1]; /* by node: its largest capacity so far, with pods */
    uint32_t unanswered;

    /* counts for the summary */
    uint64_t decisions, bound, evicted, lives, relists, requests, reloads;
};

/* ---- time and random choices ---- */
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

/* ---- traces ---- */
void sim_trace(const struct sim *sim, const char *format, ...) _printf_(2, 3);
/* The first failure counts. */
void sim_fail(struct sim *sim, const char *format, ...) _printf_(2, 3);

/* ---- a run ---- */
/* True: no failure. The counts are added to `totals`. */
bool sim_run(uint64_t seed, bool verbose, struct sim *totals);
void sim_init(struct sim *sim, uint64_t seed);
void sim_release(struct sim *sim);
/* Runs events until that (true) time. */
void sim_until(struct sim *sim, int64_t until_ns);

#endif
