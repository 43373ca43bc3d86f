/* DefaultPreemption: a pod that fits nowhere may take the place of pods of lower priority.
 *
 * The search is in preempt/. Where it begins among the nodes changes from call to call, so that not always the same
 * nodes lose their pods; the sequence is the same in every run.
 *
 * Victims take their time to leave. Until all of them were asked to, the pod is held back from the queue, so that it
 * does not look for other victims meanwhile. */
#include "preempt/default_preemption.h"

#include "base/rng.h"
#include "config/plugin_args.h"
#include "framework/profile.h"
#include "preempt/preempt.h"

/* A pod whose victims are being asked to leave. */
struct running {
    struct strbuf key;
    struct strbuf victim_namespace, victim_name; /* the last one, once all others were asked */
};

struct default_preemption {
    struct default_preemption_args args;
    struct rng rng;
    struct lowest lowest;
    struct cluster *cluster;
    struct strmap running;
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
    self->cluster = env->cluster;
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

/* ---- while victims leave ---- */
static struct default_preemption *self_of(const struct profile *profile)
{
    const struct plugin_instance *instance = profile_find(profile, "DefaultPreemption");
    return instance ? instance->self : NULL;
}

static struct str pod_key(struct strbuf *buf, const struct pod *pod)
{
    strbuf_clear(buf);
    strbuf_str(buf, pod->meta.uid);
    if (!pod->meta.uid.len) {
        strbuf_str(buf, pod->meta.namespace);
        strbuf_putc(buf, '/');
        strbuf_str(buf, pod->meta.name);
    }
    return strbuf_slice(buf);
}

static struct running *running_of(const struct default_preemption *self, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    return self->running.len ? strmap_get(&self->running, pod_key(&key, pod)) : NULL;
}

void preemption_begin(const struct profile *profile, const struct pod *pod)
{
    struct default_preemption *self = self_of(profile);
    if (!self || running_of(self, pod))
        return;
    struct running *running = xcalloc(1, sizeof(*running));
    struct str key = pod_key(&running->key, pod);
    strmap_put(&self->running, key, running);
}

void preemption_last(const struct profile *profile, const struct pod *pod, const struct pod *victim)
{
    struct default_preemption *self = self_of(profile);
    struct running *running = self ? running_of(self, pod) : NULL;
    if (!running)
        return;
    strbuf_clear(&running->victim_namespace);
    strbuf_clear(&running->victim_name);
    strbuf_str(&running->victim_namespace, victim->meta.namespace);
    strbuf_str(&running->victim_name, victim->meta.name);
}

static void running_free(struct running *running)
{
    strbuf_release(&running->key);
    strbuf_release(&running->victim_namespace);
    strbuf_release(&running->victim_name);
    free(running);
}

void preemption_end(const struct profile *profile, const struct pod *pod)
{
    struct default_preemption *self = self_of(profile);
    struct running *running = self ? running_of(self, pod) : NULL;
    if (!running)
        return;
    strmap_remove(&self->running, strbuf_slice(&running->key));
    running_free(running);
}

/* Over when the last victim is gone, or goes: its end may be heard of before that of the request. */
static bool is_running(const struct default_preemption *self, const struct pod *pod)
{
    const struct running *running = running_of(self, pod);
    if (!running || !running->victim_name.len)
        return running;
    const struct pod_info *victim = cluster_find_pod(self->cluster, strbuf_slice(&running->victim_namespace),
                                                     strbuf_slice(&running->victim_name));
    return victim && !victim->terminating;
}

static struct status pre_enqueue(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)arena;
    if (is_running(self, pod))
        return reject(STATUS_UNRESOLVABLE, "waiting for the preemption for this pod to be finished");
    return STATUS_OK;
}

static void release(void *self_ptr)
{
    struct default_preemption *self = self_ptr;
    if (!self)
        return;
    map_for(&self->running, slot)
        running_free(slot->value);
    strmap_release(&self->running);
}

/* A pod that waits for its victims was rejected by others too, and they decide when it wakes. The rule is here because
 * a pod that is held back is looked at for events of who holds it back. */
static enum hint pod_deleted(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    (void)context, (void)pod, (void)event;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted },
    { 0 },
};

const struct plugin plugin_default_preemption = {
    .name = "DefaultPreemption",
    .doc = "Finds a node where evicting pods of lower priority makes room for the pod.",
    .init = init,
    .release = release,
    .pre_enqueue = pre_enqueue,
    .post_filter = post_filter,
    .events = events,
};

/* A plain no leaves it to the next one; whatever else is said is the last word, and whose word is known. */
bool preemption_asked(const struct profile *profile, struct status status)
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
