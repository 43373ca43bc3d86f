/* InterPodAffinity: place pods next to, or away from, other pods.
 *
 * The filter counts, per topology domain, the pods that the incoming pod's required terms select, and the required
 * anti-affinity terms of running pods that select the incoming pod. The scorer adds up weights of preferred terms, in
 * both directions, and of the required affinity terms of running pods.
 *
 * A count that returns to nothing is forgotten, because whether there is any count at all decides the first pod of a
 * group: it may go anywhere if it selects itself. */
#include <stdlib.h>

#include "api/labels.h"
#include "plugins/inter_pod_affinity/args.h"
#include "plugins/inter_pod_affinity/terms.h"

/* Sums per topology key and value. */
struct pair_counts {
    struct idmap sums; /* key << 32 | value to the sum, kept as value + 2^62 so that 0 is no NULL */
};

struct affinity_state {
    bool can_filter, can_score;                       /* PreFilter ran; PreScore ran */
    struct pair_counts existing_anti, affinity, anti; /* of the filter */
    struct pair_counts scores;
    VEC(sym) score_keys;
};

static int affinity_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)err;
    struct affinity_self *self = arena_new(env->arena, struct affinity_self);
    const struct inter_pod_affinity_args *args = env->args;
    self->hard_weight = args->hard_pod_affinity_weight;
    self->ignore_preferred_of_others = args->ignore_preferred_terms_of_existing_pods;
    *ret_self = self;
    return 0;
}

static struct affinity_state *state_of(struct cycle *cycle)
{
    void **slot = cycle_state(cycle);
    if (!*slot)
        *slot = arena_new(cycle->arena, struct affinity_state);
    return *slot;
}

static void affinity_forget(void *state_ptr)
{
    struct affinity_state *state = state_ptr;
    idmap_release(&state->existing_anti.sums);
    idmap_release(&state->affinity.sums);
    idmap_release(&state->anti.sums);
    idmap_release(&state->scores.sums);
    vec_release(&state->score_keys);
}

/* ---- sums per domain ---- */
#define SUM_BIAS ((int64_t)1 << 62)

static uint64_t pair_key(sym key, sym value)
{
    return (uint64_t)key << 32 | value;
}

static int64_t pair_get(const struct pair_counts *counts, sym key, sym value)
{
    uintptr_t kept = (uintptr_t)idmap_get(&counts->sums, pair_key(key, value));
    return kept ? (int64_t)kept - SUM_BIAS : 0;
}

static void pair_add(struct pair_counts *counts, const struct label_set *labels, sym key, int64_t delta,
                     bool forget_zero)
{
    sym value = label_set_get(labels, key);
    if (!value)
        return;
    int64_t sum = pair_get(counts, key, value) + delta;
    if (sum == 0 && forget_zero)
        idmap_remove(&counts->sums, pair_key(key, value));
    else
        idmap_put(&counts->sums, pair_key(key, value), (void *)(uintptr_t)(sum + SUM_BIAS));
}

/* ---- filter ---- */
static void count_incoming(struct cycle *cycle, const struct pod_info *pod, const struct label_set *labels,
                           int64_t delta)
{
    struct affinity_state *state = state_of(cycle);
    const struct pod_class *own = cycle->info->class;
    if (terms_all_match(cycle->cluster, &own->affinity, pod->class->labels))
        for (uint32_t i = 0; i < own->affinity.len; i++)
            pair_add(&state->affinity, labels, own->affinity.items[i].topology_key, delta, true);
    for (uint32_t i = 0; i < own->anti.len; i++)
        if (pod_term_matches(cycle->cluster, &own->anti.items[i], pod->class->labels, true))
            pair_add(&state->anti, labels, own->anti.items[i].topology_key, delta, true);
}

static void count_existing_anti(struct cycle *cycle, const struct pod_info *pod,
                                const struct label_set *labels, int64_t delta)
{
    const struct pod_terms *terms = &pod->class->anti;
    for (uint32_t i = 0; i < terms->len; i++)
        if (pod_term_matches(cycle->cluster, &terms->items[i], cycle->info->class->labels, false))
            pair_add(&state_of(cycle)->existing_anti, labels, terms->items[i].topology_key, delta, true);
}

static struct status affinity_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    struct affinity_state *state = state_of(cycle);
    const struct pod_class *own = cycle->info->class;
    bool has_terms = own->affinity.len || own->anti.len;
    uint32_t len;
    const uint32_t *rows = cluster_order(cycle->cluster, &len);
    for (uint32_t i = 0; i < len; i++) {
        const struct node_entry *node = cluster_node(cycle->cluster, rows[i]);
        vec_for(&node->with_anti, pod)
            count_existing_anti(cycle, *pod, &node->labels, 1);
        if (has_terms)
            vec_for(&node->pods, pod)
                count_incoming(cycle, *pod, &node->labels, 1);
    }
    state->can_filter = true;
    return has_terms || state->existing_anti.sums.len ? STATUS_OK : STATUS_SKIPPED;
}

static void change_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view view, int64_t delta)
{
    const struct label_set *labels = &cluster_node(view.cluster, view.row)->labels;
    count_existing_anti(cycle, pod, labels, delta);
    count_incoming(cycle, pod, labels, delta);
}

static void affinity_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    change_pod(cycle, pod, node, +1);
}

static void affinity_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    change_pod(cycle, pod, node, -1);
}

static bool affinity_holds(struct cycle *cycle, const struct label_set *labels)
{
    const struct affinity_state *state = state_of(cycle);
    const struct pod_class *own = cycle->info->class;
    bool pods_there = true;
    for (uint32_t i = 0; i < own->affinity.len; i++) {
        sym key = own->affinity.items[i].topology_key, value = label_set_get(labels, key);
        if (!value)
            return false;
        pods_there &= pair_get(&state->affinity, key, value) > 0;
    }
    /* The first pod of a group that wants its own kind may go anywhere. */
    return pods_there ||
           (!state->affinity.sums.len && terms_all_match(cycle->cluster, &own->affinity, own->labels));
}

static bool anti_holds(struct cycle *cycle, const struct label_set *labels)
{
    const struct pod_terms *anti = &cycle->info->class->anti;
    for (uint32_t i = 0; i < anti->len; i++) {
        sym key = anti->items[i].topology_key, value = label_set_get(labels, key);
        if (value && pair_get(&state_of(cycle)->anti, key, value) > 0)
            return false;
    }
    return true;
}

static bool others_allow(struct cycle *cycle, const struct label_set *labels)
{
    const struct pair_counts *counts = &state_of(cycle)->existing_anti;
    for (uint32_t i = 0; counts->sums.len && i < labels->len; i++)
        if (pair_get(counts, labels->items[i].key, labels->items[i].value) > 0)
            return false;
    return true;
}

static struct status affinity_filter(struct cycle *cycle, struct node_view view)
{
    const struct label_set *labels = &cluster_node(view.cluster, view.row)->labels;
    if (!state_of(cycle)->can_filter)
        return reject(STATUS_ERROR, "error reading \"PreFilterInterPodAffinity\" from cycleState: not found");
    if (!affinity_holds(cycle, labels))
        return reject(STATUS_UNRESOLVABLE, AFFINITY_NOT_MATCHED);
    if (!anti_holds(cycle, labels))
        return reject(STATUS_UNSCHEDULABLE, ANTI_AFFINITY_NOT_MATCHED);
    if (!others_allow(cycle, labels))
        return reject(STATUS_UNSCHEDULABLE, OTHERS_ANTI_AFFINITY);
    return STATUS_OK;
}

/* ---- score ---- */
static void score_add(struct affinity_state *state, const struct label_set *labels, sym key, int64_t weight)
{
    if (!label_set_get(labels, key))
        return;
    pair_add(&state->scores, labels, key, weight, false);
    vec_for(&state->score_keys, known)
        if (*known == key)
            return;
    *vec_push(&state->score_keys) = key;
}

static void score_terms(struct cycle *cycle, const struct pod_terms *terms, const struct label_owner *owner,
                        bool incoming, int32_t fixed_weight, const struct label_set *labels)
{
    for (uint32_t i = 0; i < terms->len; i++) {
        const struct pod_term *term = &terms->items[i];
        if (pod_term_matches(cycle->cluster, term, owner, incoming))
            score_add(state_of(cycle), labels, term->topology_key,
                      fixed_weight ? fixed_weight : term->weight);
    }
}

static void score_pod(struct cycle *cycle, const struct pod_info *pod, const struct label_set *labels)
{
    const struct affinity_self *self = cycle_self(cycle);
    const struct pod_class *own = cycle->info->class, *other = pod->class;
    score_terms(cycle, &own->preferred, other->labels, true, 0, labels);
    if (self->hard_weight > 0)
        score_terms(cycle, &other->affinity, own->labels, false, self->hard_weight, labels);
    score_terms(cycle, &other->preferred, own->labels, false, 0, labels);
}

static struct status affinity_pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    const struct affinity_self *self = cycle_self(cycle);
    bool own = cycle->info->class->preferred.len > 0;
    if (self->ignore_preferred_of_others && !own)
        return STATUS_SKIPPED;
    uint32_t len;
    const uint32_t *rows = cluster_order(cycle->cluster, &len);
    for (uint32_t i = 0; i < len; i++) {
        const struct node_entry *node = cluster_node(cycle->cluster, rows[i]);
        const pod_vec *pods = own ? &node->pods : &node->with_affinity;
        vec_for(pods, pod)
            score_pod(cycle, *pod, &node->labels);
    }
    state_of(cycle)->can_score = true;
    return state_of(cycle)->score_keys.len ? STATUS_OK : STATUS_SKIPPED;
}

static struct status affinity_score(struct cycle *cycle, struct node_view view, int64_t *ret)
{
    const struct affinity_state *state = state_of(cycle);
    const struct label_set *labels = &cluster_node(view.cluster, view.row)->labels;
    *ret = 0;
    if (!state->can_score)
        return reject(STATUS_ERROR, "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found");
    vec_for(&state->score_keys, key) {
        sym value = label_set_get(labels, *key);
        if (value)
            *ret += pair_get(&state->scores, *key, value);
    }
    return STATUS_OK;
}

static void affinity_normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < len; i++) {
        least = MIN(least, scores[i]);
        most = MAX(most, scores[i]);
    }
    double range = (double)(most - least);
    for (size_t i = 0; i < len; i++)
        scores[i] = range > 0 ? (int64_t)((double)SCORE_MAX * ((double)(scores[i] - least) / range)) : 0;
}

/* ---- what may help ---- */
static bool listed(const struct str_list *list, struct str item)
{
    list_for(list, one)
        if (str_eq(*one, item))
            return true;
    return false;
}

/* A namespaceSelector is asked about the labels of the pod's namespace, and about none, as the filter does it. */
static bool term_covers_namespace(const struct cluster *cluster, const struct pod_affinity_term *term,
                                  const struct pod *owner, struct str namespace)
{
    static const struct str_map none;
    if (!term->namespaces.len && !term->namespace_selector)
        return str_eq(owner->meta.namespace, namespace);
    if (listed(&term->namespaces, namespace) || label_selector_matches(term->namespace_selector, &none))
        return true;
    const struct namespace *object = cluster_get(&cluster->namespaces, (struct str){ 0 }, namespace);
    return object && label_selector_matches(term->namespace_selector, &object->meta.labels);
}

static bool term_selects(const struct cluster *cluster, const struct pod_affinity_term *term,
                         const struct pod *owner, const struct pod *pod)
{
    return term_covers_namespace(cluster, term, owner, pod->meta.namespace) &&
           label_selector_matches(term->selector, &pod->meta.labels);
}

/* Terms that the reference can not read make it queue the pod. */
static bool terms_broken(const struct pod_affinity *affinity)
{
    if (!affinity)
        return false;
    list_for(&affinity->required, term)
        if ((term->selector && term->selector->invalid) ||
            (term->namespace_selector && term->namespace_selector->invalid))
            return true;
    return false;
}

/* All terms together want one pod; each term alone rejects pods. */
static bool wants(const struct cluster *cluster, const struct pod *owner, const struct pod *pod)
{
    const struct pod_affinity *affinity = owner->spec.affinity ? owner->spec.affinity->pod : NULL;
    if (!affinity)
        return false;
    list_for(&affinity->required, term)
        if (!term_selects(cluster, term, owner, pod))
            return false;
    return affinity->required.len > 0;
}

static bool rejects(const struct cluster *cluster, const struct pod *owner, const struct pod *pod)
{
    const struct pod_affinity *anti = owner->spec.affinity ? owner->spec.affinity->pod_anti : NULL;
    if (!anti)
        return false;
    list_for(&anti->required, term)
        if (term_selects(cluster, term, owner, pod))
            return true;
    return false;
}

static bool some_term_lets_go(const struct cluster *cluster, const struct pod *owner,
                              const struct pod *before, const struct pod *after)
{
    const struct pod_affinity *anti = owner->spec.affinity ? owner->spec.affinity->pod_anti : NULL;
    if (!anti)
        return false;
    list_for(&anti->required, term)
        if (term_selects(cluster, term, owner, before) && !term_selects(cluster, term, owner, after))
            return true;
    return false;
}

static enum hint pod_changed(const struct hint_context *context, const struct pod *pod,
                             const struct cluster_event *event)
{
    const struct pod *before = event->before, *after = event->after;
    const struct cluster *cluster = context->cluster;
    const struct affinity *own = pod->spec.affinity;
    if (before && after && pod_is(after, pod))
        return HINT_QUEUE; /* somebody may have rejected the old labels */
    if ((after && !event_pod_holds_room(event, after)) || (before && !event_pod_holds_room(event, before)))
        return HINT_SKIP;
    if (own && (terms_broken(own->pod) || terms_broken(own->pod_anti)))
        return HINT_QUEUE;
    if (!before)
        return wants(cluster, pod, after) ? HINT_QUEUE : HINT_SKIP;
    if (!after)
        return rejects(cluster, pod, before) ||
                       (before->spec.affinity && terms_broken(before->spec.affinity->pod_anti)) ||
                       rejects(cluster, before, pod)
                   ? HINT_QUEUE
                   : HINT_SKIP;
    bool wanted = !wants(cluster, pod, before) && wants(cluster, pod, after);
    return wanted || some_term_lets_go(cluster, pod, before, after) ? HINT_QUEUE : HINT_SKIP;
}

/* A node enters a domain of a key that the pod wants, or leaves one that the pod is kept out of. */
static bool node_moves(const struct pod_affinity *affinity, bool anti, const struct node *before,
                       const struct node *after)
{
    if (!affinity)
        return false;
    list_for(&affinity->required, term) {
        const struct str *was = before ? str_map_get(&before->meta.labels, term->topology_key) : NULL;
        const struct str *is = str_map_get(&after->meta.labels, term->topology_key);
        if (was && is ? !str_eq(*was, *is) : anti ? was || !before : !!is)
            return true;
    }
    return false;
}

/* A pod without terms of its own was rejected by those of others: any node may be free of them. */
static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    const struct affinity *own = pod->spec.affinity;
    if (!own || (!context->info->class->affinity.len && !context->info->class->anti.len))
        return HINT_QUEUE;
    return terms_broken(own->pod) || node_moves(own->pod, false, event->before, event->after) ||
                   terms_broken(own->pod_anti) || node_moves(own->pod_anti, true, event->before, event->after)
               ? HINT_QUEUE
               : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_DELETE, pod_changed },
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, node_changed },
    { 0 },
};

const struct plugin plugin_inter_pod_affinity = {
    .name = "InterPodAffinity",
    .args = &inter_pod_affinity_args_kind,
    .doc = "Places pods next to, or away from, pods that their affinity terms select.",
    .reads = READS("metadata.namespace", "spec.affinity"),
    .init = affinity_init,
    .forget = affinity_forget,
    .pre_filter = affinity_pre_filter,
    .add_pod = affinity_add_pod,
    .remove_pod = affinity_remove_pod,
    .filter = affinity_filter,
    .pre_score = affinity_pre_score,
    .score = affinity_score,
    .normalize = affinity_normalize,
    .rows = &affinity_rows,
    .events = events,
};
