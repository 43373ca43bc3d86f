/* DefaultPreemption: a pod that fits nowhere may take the place of pods of lower priority.
 *
 * The search is preempt_find(). It begins at another node after each one that found candidates, so that not always the
 * same nodes lose their pods; the sequence is the same in every run.
 *
 * While the victims are being deleted, PreEnqueue gates the pod, so that it does not look for other victims
 * meanwhile. The queue knows which pods that are (queue_hold()). */
#include "base/rng.h"
#include "codec/record_rows.h"
#include "config/plugin_args.h"
#include "framework/profile.h"
#include "preempt/preempt.h"

/* ---- arguments: ranges and sentences are those of the reference ---- */
#define T struct default_preemption_args
static const struct record_field args_fields[] = {
    F("minCandidateNodesPercentage", 0, INT32, min_candidate_nodes_percentage, RECORD_ALWAYS),
    F("minCandidateNodesAbsolute", 0, INT32, min_candidate_nodes_absolute, RECORD_ALWAYS),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void preset(void *ret, const struct features *features _unused_)
{
    *(struct default_preemption_args *)ret = (struct default_preemption_args){
        .min_candidate_nodes_percentage = 10,
        .min_candidate_nodes_absolute = 100,
    };
}

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct default_preemption_args *args = args_;
    int32_t percentage = args->min_candidate_nodes_percentage, absolute = args->min_candidate_nodes_absolute;
    const struct path *percentage_at = PATH_FIELD(path, "minCandidateNodesPercentage");
    const struct path *absolute_at = PATH_FIELD(path, "minCandidateNodesAbsolute");
    if (percentage < 0 || percentage > 100)
        problem_int(problems, percentage_at, percentage, "not in valid range [0, 100]");
    if (absolute < 0)
        problem_int(problems, absolute_at, absolute, "not in valid range [0, inf)");
    if (percentage == 0 && absolute == 0) {
        problem_int(problems, percentage_at, 0,
                    "cannot be zero at the same time as minCandidateNodesAbsolute");
        problem_int(problems, absolute_at, 0,
                    "cannot be zero at the same time as minCandidateNodesPercentage");
    }
}

const struct plugin_args_kind default_preemption_args_kind = {
    .type = &args_type,
    .preset = preset,
    .validate = validate,
};

/* ---- the plugin ---- */
struct default_preemption {
    struct default_preemption_args args;
    struct rng rng;
    struct lowest_priority lowest;
};

static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)err;
    struct default_preemption *self = arena_new(env->arena, struct default_preemption);
    preset(&self->args, NULL);
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
    struct rng before = self->rng;
    preempt_find(cycle, diagnosis,
                 (struct preempt_options){
                     .offset = (uint32_t)rng_next(&self->rng),
                     .min_percentage = self->args.min_candidate_nodes_percentage,
                     .min_absolute = self->args.min_candidate_nodes_absolute,
                     .lowest = &self->lowest,
                 },
                 &found);
    if (!found.candidates_len) /* where to begin made no difference */
        self->rng = before;
    *ret = (struct post_filter_result){ .nominated_row = found.chosen,
                                        .clear_nomination = found.clear_nomination };
    const struct preempt_candidate *best = preempt_candidate_of(&found, found.chosen);
    if (best) {
        ret->victims = best->victims;
        ret->victims_len = best->victims_len;
    }
    return found.status;
}

/* Called only while the pod's victims are being deleted. */
static struct status pre_enqueue(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)self, (void)pod, (void)arena;
    return reject(STATUS_UNRESOLVABLE, "waiting for the preemption for this pod to be finished");
}

/* A pod that waits for its victims was rejected by other plugins too, and their hints decide when it wakes. The rule is
 * here because a gated pod is considered only for events that the gating plugin has a rule for. */
static enum hint pod_deleted(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    (void)context, (void)pod, (void)event;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_DELETE, pod_deleted, DIVIDED_POD_RULE },
    { 0 },
};

const struct plugin plugin_default_preemption = {
    .name = "DefaultPreemption",
    .args = &default_preemption_args_kind,
    .doc = "Finds a node where evicting pods of lower priority makes room for the pod.",
    .init = init,
    .pre_enqueue = pre_enqueue,
    .gates_preemptors = true,
    .silent_points = POINT_BIT(POINT_POD_GROUP_POST_FILTER),
    .post_filter = post_filter,
    .post_filter_repeats = true,
    .events = events,
};

/* Unschedulable leaves it to the next plugin; any other status ends PostFilter, and names its plugin. */
bool preempt_was_tried(const struct profile *profile, struct status status)
{
    const struct plugin_order *order = &profile->points[POINT_POST_FILTER];
    for (uint32_t i = 0; i < order->len; i++) {
        const struct plugin *plugin = order->items[i]->plugin;
        if (plugin == &plugin_default_preemption)
            return true;
        if (plugin == status.plugin && status.code != STATUS_UNSCHEDULABLE)
            return false;
    }
    return false;
}
