/* server.c: the API server's side of each effect, with its preconditions. */
#include "server.h"

#include "check.h"
#include "watch.h"

static struct answer answer_with(enum answer_kind kind, struct arena *arena, const char *text)
{
    return (struct answer){ .kind = kind, .message = arena_str(arena, str_from(text)) };
}

static struct answer done(const struct stored *stored, struct arena *arena)
{
    return (struct answer){ .kind = ANSWER_DONE,
                            .resource_version =
                                arena_printf(arena, "%llu", (unsigned long long)stored->facts.version) };
}

/* NULL: gone, or another object has the name. */
static struct stored *find_target(struct sim *sim, enum sim_kind kind, const struct effect *effect)
{
    struct stored *stored = store_find(&sim->store, kind, effect->name);
    return stored && stored->facts.uid == uid_of(effect->uid) ? stored : NULL;
}

static bool is_another_version(const struct stored *stored, struct str wanted)
{
    int64_t version;
    return wanted.len && (!str_to_int64(wanted, &version) || (uint64_t)version != stored->facts.version);
}

/* ---- pods ---- */
void server_assign(struct sim *sim, struct stored *pod, int node, bool by_us)
{
    struct pod_facts *facts = &pod->facts.pod;
    facts->node = node;
    facts->nominated = NONE;
    facts->bound_by_us = by_us;
    facts->scheduled = SCHEDULED_TRUE;
    facts->condition_since_s = sim->store.now_s;
    facts->condition_generation = 0;
    strbuf_clear(&pod->reason);
    strbuf_clear(&pod->message);
    store_commit(&sim->store, SIM_PODS, pod);
    if (by_us) {
        sim->bound++;
        check_bound(sim, pod);
    }
}

static struct answer bind(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *pod = find_target(sim, SIM_PODS, effect);
    if (!pod)
        return answer_with(ANSWER_GONE, arena, "pods not found");
    const struct pod_facts *facts = &pod->facts.pod;
    if (facts->gated)
        sim_fail(sim, "pod p%u is bound although it has a gate", pod->facts.number);
    if (facts->terminating)
        return answer_with(ANSWER_CONFLICT, arena, "pod is being deleted, cannot be assigned to a host");
    if (facts->node != NONE)
        return answer_with(ANSWER_CONFLICT, arena, "pod is already assigned to a node");
    if (facts->gated)
        return answer_with(ANSWER_CONFLICT, arena, "pod has non-empty .spec.schedulingGates");
    server_assign(sim, pod, number_of(effect->node), true);
    return done(pod, arena);
}

static void set_condition(struct sim *sim, struct stored *pod, const struct wanted_condition *condition)
{
    struct pod_facts *facts = &pod->facts.pod;
    if (str_is(condition->type, "DisruptionTarget")) {
        facts->disrupted = true;
        return;
    }
    if (!str_is(condition->type, "PodScheduled")) {
        sim_fail(sim, "a condition of type " STR_FMT, STR_ARG(condition->type));
        return;
    }
    facts->scheduled = str_is(condition->status, "True") ? SCHEDULED_TRUE : SCHEDULED_FALSE;
    facts->condition_since_s = condition->last_transition_time.seconds;
    facts->condition_generation = condition->observed_generation.value;
    strbuf_clear(&pod->reason);
    strbuf_clear(&pod->message);
    strbuf_str(&pod->reason, condition->reason);
    strbuf_str(&pod->message, condition->message);
    if (facts->node != NONE && facts->scheduled == SCHEDULED_FALSE && facts->bound_by_us)
        sim_fail(sim, "pod p%u is bound, and then gets the condition that it is not scheduled",
                 pod->facts.number);
}

static bool is_same(const struct version *before, const struct stored *pod)
{
    const struct pod_facts *was = &before->facts.pod, *is = &pod->facts.pod;
    if (!str_eq(before->reason, strbuf_slice(&pod->reason)) ||
        !str_eq(before->message, strbuf_slice(&pod->message)))
        return false;
    return was->scheduled == is->scheduled && was->condition_since_s == is->condition_since_s &&
           was->condition_generation == is->condition_generation && was->disrupted == is->disrupted &&
           was->nominated == is->nominated;
}

static struct answer patch_status(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *pod = find_target(sim, SIM_PODS, effect);
    if (!pod)
        return answer_with(ANSWER_GONE, arena, "pods not found");
    struct version *before = pod->shown ? version_ref(pod->shown) : NULL;
    if (effect->condition)
        set_condition(sim, pod, effect->condition);
    if (effect->sets_nomination)
        pod->facts.pod.nominated = number_of(effect->node);
    if (!before || !is_same(before, pod)) /* a patch without effect creates no version */
        store_commit(&sim->store, SIM_PODS, pod);
    version_unref(before);
    return done(pod, arena);
}

/* A running pod becomes terminating; any other pod is gone, unless it has a finalizer. */
void server_delete_pod(struct sim *sim, struct stored *pod, bool at_once)
{
    struct pod_facts *facts = &pod->facts.pod;
    bool graceful = facts->node != NONE && !facts->finished && !at_once;
    if (!graceful && !facts->finalizer) {
        store_remove(&sim->store, SIM_PODS, pod);
        return;
    }
    if (facts->terminating)
        return;
    facts->terminating = true;
    facts->generation++;
    store_commit(&sim->store, SIM_PODS, pod);
}

static struct answer delete_pod(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *pod = find_target(sim, SIM_PODS, effect);
    if (!pod)
        return answer_with(ANSWER_GONE, arena, "pods not found");
    sim->evicted += !pod->facts.pod.terminating;
    server_delete_pod(sim, pod, false);
    return (struct answer){ .kind = ANSWER_DONE };
}

static struct answer read_pod(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *pod = find_target(sim, SIM_PODS, effect);
    if (!pod)
        return answer_with(ANSWER_GONE, arena, "pods not found");
    struct answer answer = done(pod, arena);
    answer.uid = arena_str(arena, effect->uid);
    answer.terminating = pod->facts.pod.terminating;
    if (pod->facts.pod.node != NONE)
        answer.node = arena_printf(arena, "n%d", pod->facts.pod.node);
    return answer;
}

/* ---- storage ---- */
static struct answer hold_volume(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *volume = find_target(sim, SIM_VOLUMES, effect);
    if (!volume)
        return answer_with(ANSWER_GONE, arena, "persistentvolumes not found");
    if (is_another_version(volume, effect->resource_version))
        return answer_with(ANSWER_CONFLICT, arena, "the object has been modified");
    struct volume_facts *facts = &volume->facts.volume;
    if (facts->claim != NONE && facts->claim_uid != uid_of(effect->claim.uid))
        sim_fail(sim, "volume v%u is taken away from a claim", volume->facts.number);
    facts->claim = number_of(effect->claim.name);
    facts->claim_uid = uid_of(effect->claim.uid);
    store_commit(&sim->store, SIM_VOLUMES, volume);
    return done(volume, arena);
}

static struct answer select_node(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    struct stored *claim = find_target(sim, SIM_CLAIMS, effect);
    if (!claim)
        return answer_with(ANSWER_GONE, arena, "persistentvolumeclaims not found");
    if (is_another_version(claim, effect->resource_version))
        return answer_with(ANSWER_CONFLICT, arena, "the object has been modified");
    claim->facts.claim.selected_node = number_of(effect->node);
    store_commit(&sim->store, SIM_CLAIMS, claim);
    return done(claim, arena);
}

struct answer server_do(struct sim *sim, const struct effect *effect, struct arena *arena)
{
    static struct answer (*const table[EFFECT_KIND_COUNT])(struct sim *, const struct effect *,
                                                           struct arena *) = {
        [EFFECT_BIND] = bind,         [EFFECT_POD_STATUS] = patch_status, [EFFECT_DELETE_POD] = delete_pod,
        [EFFECT_READ_POD] = read_pod, [EFFECT_PV_CLAIM] = hold_volume,    [EFFECT_PVC_NODE] = select_node,
    };
    return table[effect->kind](sim, effect, arena);
}
