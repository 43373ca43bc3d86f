/* DefaultPreemption: a pod that fits nowhere may take the place of pods of lower priority.
 *
 * The search is in preempt/. Where it begins among the nodes changes from call to call, so that not always the same
 * nodes lose their pods; the sequence is the same in every run. */
#include "base/rng.h"
#include "config/plugin_args.h"
#include "framework/profile.h"
#include "preempt/preempt.h"

struct default_preemption {
    struct default_preemption_args args;
    struct rng rng;
    struct lowest lowest;
};

static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)err;
    struct default_preemption *self = arena_new(env->arena, struct default_preemption);
    self->args = (struct default_preemption_args){ .min_candidate_nodes_percentage = 10,
                                                   .min_candidate_nodes_absolute = 100 };
    if (env->args)
        self->args = *(const struct default_preemption_args *)env->args;
    rng_seed(&self->rng, str_hash(env->profile->scheduler_name));
    self->lowest.arena = env->arena;
    *ret_self = self;
    return 0;
}

static struct status post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                                 struct post_filter_result *ret)
{
    struct default_preemption *self = cycle_self(cycle);
    struct preemption found;
    preempt_find(cycle, diagnosis,
                 (struct preempt_options){
                     .offset = (uint32_t)rng_next(&self->rng),
                     .min_percentage = self->args.min_candidate_nodes_percentage,
                     .min_absolute = self->args.min_candidate_nodes_absolute,
                     .lowest = &self->lowest,
                 },
                 &found);
    *ret = (struct post_filter_result){ .nominated_row = found.chosen,
                                        .clear_nomination = found.clear_nomination };
    const struct preempt_candidate *best = preempt_candidate_of(&found, found.chosen);
    if (best) {
        ret->victims = best->victims;
        ret->victims_len = best->victims_len;
    }
    return found.status;
}

const struct plugin plugin_default_preemption = {
    .name = "DefaultPreemption",
    .doc = "Finds a node where evicting pods of lower priority makes room for the pod.",
    .silent_points = POINT_BIT(POINT_PRE_ENQUEUE),
    .init = init,
    .post_filter = post_filter,
};
