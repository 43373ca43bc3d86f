/* generations.h: the profiles that decide now, and those that were replaced while pods are still being bound.
 *
 *     engine_reconfigure(): new profiles ──▶ all that waits is judged anew
 *                           old profiles ──▶ retired: what they began (Permit, PreBind, Bind, victims) they finish
 *                                              └──▶ not referred to any more: released, their owner goes back
 *
 * A generation is made completely or not at all: if a plugin rejects its arguments nothing has changed. Indices of
 * plugins mean something only within a generation; what crosses over is translated by name. */
#ifndef ENGINE_GENERATIONS_H
#define ENGINE_GENERATIONS_H

#include "engine/engine.h"

/* Is the profile one of this generation? */
static inline bool generation_has(const struct generation *generation, const struct profile *profile)
{
    return profile >= generation->profiles && profile < generation->profiles + generation->len;
}

/* Profiles for a setup, with variants for the policies in effect. Failed: nothing is left of them. */
int generation_make(struct engine *engine, const struct engine_setup *setup, struct generation *ret,
                    struct error *err);
/* Of the profiles that decide from now on. */
void generation_use(struct engine *engine, const struct generation *generation,
                    const struct engine_setup *setup);
/* The same in the place of others, which are retired. generation_judge_anew() comes next. */
void generation_replace(struct engine *engine, const struct generation *generation,
                        const struct engine_setup *setup);
/* Pods that wait are judged anew, by the profiles in use. */
void generation_judge_anew(struct engine *engine, int64_t now_ns);
/* How the queue is to work for the profiles in use. */
struct queue_options generation_queue(const struct engine *engine, const struct scheduler_config *config);
/* Releases those that are not needed any more. */
void generations_tick(struct engine *engine, int64_t now_ns);
/* All of them; after the bindings. */
void generations_release(struct engine *engine);

/* A pod that was decided by `by`, maybe of an older generation, has no node: it goes back to the queue. One whose
 * scheduler name has no profile any more is left alone. */
void generations_requeue(struct engine *engine, struct queued_pod *entry, const struct profile *by,
                         uint64_t rejected_by, int64_t now_ns);

#endif
