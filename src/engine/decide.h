/* decide.h: which node does this pod go to? Three paths to the same answer. */
#ifndef ENGINE_DECIDE_H
#define ENGINE_DECIDE_H

#include "engine/engine.h"

struct class_table;
struct refusal;

/* The outcome of looking at the nodes, before anything is placed. */
struct choice {
    uint32_t row; /* ROW_NONE: no node is feasible, or a plugin failed */
    uint32_t feasible, examined, ties;
    int64_t total;
    struct status error;         /* of a plugin that failed, else Success */
    struct diagnosis *diagnosis; /* where no node is feasible */
    enum decision_path path;
    /* For the probe: the table that it was made from, and when the feasible nodes were known (0: not told). */
    const struct table *table;
    int64_t filtered_ns;
    struct class_table *source; /* with that table; NULL: the plain path */
    /* The node that the pod is nominated to, which does not fit (ROW_NONE: none), and when it was tried. */
    uint32_t nomination;
    int64_t nomination_began_ns, nomination_ended_ns;
    const struct refusal
        *refusal; /* the class was refused before, and nothing has changed: instead of a diagnosis */
};

/* Calls every plugin for every node. Never fails to answer. */
void decide_plain(struct engine *engine, struct cycle *cycle, struct choice *ret);
/* False: this pod needs the plain path. */
bool decide_fast(struct engine *engine, struct cycle *cycle, struct choice *ret);

/* The row of the highest total; one of several is drawn. */
void choose_best(struct engine *engine, const struct score_table *scores, struct choice *ret);

/* One draw for a choice among equals, made only where there are several: all paths draw alike. */
static inline uint32_t draw(struct engine *engine, uint32_t ties)
{
    return ties > 1 ? (uint32_t)rng_below(&engine->rng, ties) : 0;
}

/* percentageOfNodesToScore of the profile, or of the scheduler. */
static inline int32_t engine_percentage(const struct engine *engine, const struct profile *profile)
{
    return profile->percentage.set ? profile->percentage.value : engine->percentage;
}

#endif
