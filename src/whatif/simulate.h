/* simulate.h: the engine's host offline: every pending pod is decided, in queue order, until nothing moves any more.
 *
 *     pending and expanded pods ──▶ engine ──▶ decisions ──▶ records
 *                                     ▲             │ victims leave at once
 *                                     └─ replacements that their controllers make
 *
 * Pods that found no node are tried again when something happens that may help them: others got a node, or left theirs.
 * The clock is virtual: waiting takes no time.
 *
 * It ends: a pod that keeps taking others' places without finding one itself is set aside after a while, and so is
 * everything when far more pods were evicted than there ever were. */
#ifndef WHATIF_SIMULATE_H
#define WHATIF_SIMULATE_H

#include "engine/engine.h"
#include "input/input.h"
#include "whatif/explain.h"

/* One decision. */
struct sim_record {
    const struct pod *pod;
    uint32_t row;                      /* where it went, or ROW_NONE */
    uint32_t nominated_row;            /* where victims were evicted for it, or ROW_NONE */
    struct str message;                /* why it waits */
    struct str failed_by;              /* whose error ended the attempt: "plugin NodeName"; empty: no error */
    uint32_t attempt;                  /* of the pod, from 1 */
    enum event_label woken_by;         /* why it was tried then */
    int64_t now_ns;                    /* of the clock of the run */
    size_t victims_first, victims_len; /* in simulation->victims */
};

/* A pod that has no node in the end. */
struct sim_waiting {
    const struct pod *pod;
    struct str message;
    bool gated;
    struct str failed_by; /* as in struct sim_record */
};

struct simulation;

struct sim_options {
    uint64_t seed;
    int64_t wall_ns;             /* the time of day when the run begins, since 1970 */
    struct opt_int32 percentage; /* of nodes to score; absent: as configured */
    bool calls_extenders;        /* to filter, score and preempt; none of them binds anything */
    /* Called at each attempt of this pod, before it is decided; NULL: no pod is explained. */
    const struct meta *explains;
    void (*on_explanation)(void *user, const struct explanation *explanation);
    void *user;
    const char *(*file_of)(const struct plugin *plugin);
    /* Called now and then; may be NULL. */
    void (*progress)(const struct simulation *simulation, double seconds);
};

struct simulation {
    struct input *input;
    struct sim_options options; /* of the run */
    struct engine engine;
    bool engine_ready;
    struct http_extenders *extenders; /* NULL: none are called */
    struct arena arena;
    struct strmap messages; /* each text once */
    VEC(struct sim_record) records;
    VEC(const struct pod *) victims;
    VEC(struct sim_waiting) waiting; /* filled at the end */
    VEC(struct sim_waiting) gated;
    size_t pods; /* that wanted a node, replacements too */
    size_t scheduled, replaced;
    size_t foreign; /* pods of other schedulers: left alone */
    struct str foreign_name;
    bool cut_short;  /* evictions went on and on */
    size_t timeouts; /* how often the clock was moved because permission to bind did not come */
    int64_t now_ns;  /* the clock of the run: moves while victims leave, and when nothing else can happen */
    double decide_seconds;
    struct usage before, after; /* before: without the changes of the input */
};

int simulate(struct simulation *simulation, struct input *input, const struct sim_options *options,
             struct error *err);
void simulation_release(struct simulation *simulation);
/* After a simulation: decides one pod more, which is in the model and has no node. The decision is the last one about
 * it; its texts stay until the next one. A pod that got no node leaves the queue again. `ret_row`: where it is now, or
 * ROW_NONE. */
int simulation_decide(struct simulation *simulation, struct pod_info *pod, struct decision *ret,
                      uint32_t *ret_row, struct error *err);
/* How the pod would be evaluated now, which is in the model. Plugins of shared objects are not called at PostFilter. */
void simulation_explain(struct simulation *simulation, const struct profile *profile, struct pod_info *pod,
                        bool skips_preemption, struct explanation *ret);
/* Seconds of a clock that only goes forward. */
double now_seconds(void);

#endif
