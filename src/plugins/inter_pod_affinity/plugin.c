/* InterPodAffinity: places pods next to, or away from, other pods.
 *
 * The filter counts, per topology domain, the pods that the incoming pod's required terms select, and the required
 * anti-affinity terms of running pods that select the incoming pod. The scorer adds up weights of preferred terms, in
 * both directions, and of the required affinity terms of running pods. */
#include <stdlib.h>

#include "api/labels.h"
#include "framework/shortfall.h"
#include "index/topology_rule.h"
#include "plugins/inter_pod_affinity/args.h"

static int init(const struct plugin_env *env, void **ret_self, _unused_ struct error *err)
{
    *ret_self = (void *)env->args;
    return 0;
}

/* What pods are counted for. */
enum purpose { AFFINITY, ANTI_AFFINITY, ANTI_AFFINITY_OF_OTHERS, SCORE };

static void add_terms(struct topology_counts *counts, const struct pod_terms *terms, enum purpose purpose)
{
    for (uint32_t i = 0; i < terms->len; i++)
        topology_counts_add(counts, (struct counted_term){
                                        .term = &terms->items[i],
                                        .all = purpose == AFFINITY ? terms : NULL,
                                        .purpose = purpose,
                                        .weight = purpose == SCORE ? terms->items[i].weight : 1,
                                    });
}

/* ---- filter ---- */
static void filter_terms(struct topology_counts *counts, _unused_ const void *self)
{
    const struct pod_class *own = counts->pod->class;
    bool *selects_self = arena_new(counts->arena, bool);
    *selects_self = pod_terms_all_match(counts->cluster, &own->affinity, own->labels);
    counts->data = selects_self;
    counts->depends_on = &counts->cluster->namespaces_version;
    counts->is_needed = own->affinity.len || own->anti.len;
    /* A node must have the keys even while no pod matches. */
    for (uint32_t i = 0; i < own->affinity.len; i++)
        (void)topology_counter_get(counts, AFFINITY, own->affinity.items[i].topology_key);
    add_terms(counts, &own->affinity, AFFINITY);
    add_terms(counts, &own->anti, ANTI_AFFINITY);
    topology_counts_add_selecting(
        counts, (struct selecting_terms){ offsetof(struct term_owner, anti), ANTI_AFFINITY_OF_OTHERS, 1 });
}

enum { NO_AFFINITY = 1, HAS_ANTI_AFFINITY, HAS_ANTI_AFFINITY_OF_OTHERS };

static uint32_t filter(struct topology_counts *counts, const uint32_t *inputs)
{
    const bool *selects_self = counts->data;
    bool pods_there = true, pods_anywhere = false, anti = false, others = false;
    for (uint32_t i = 0; i < counts->counters.len; i++) {
        const struct topology_counter *counter = &counts->counters.items[i];
        bool there = topology_count(counts, i, inputs[i]) > 0;
        anti |= there && counter->purpose == ANTI_AFFINITY;
        others |= there && counter->purpose == ANTI_AFFINITY_OF_OTHERS;
        if (counter->purpose != AFFINITY)
            continue;
        if (inputs[i] == INPUT_NONE)
            return NO_AFFINITY;
        pods_there &= there;
        pods_anywhere |= counter->sums.total != 0;
    }
    /* The first pod of a group that wants its own kind may go anywhere. */
    if (!pods_there && (pods_anywhere || !*selects_self))
        return NO_AFFINITY;
    return anti ? HAS_ANTI_AFFINITY : others ? HAS_ANTI_AFFINITY_OF_OTHERS : 0;
}

static struct status rejection(uint32_t detail)
{
    if (detail == NO_AFFINITY)
        return reject(STATUS_UNRESOLVABLE, "node(s) didn't match pod affinity rules");
    if (detail == HAS_ANTI_AFFINITY)
        return reject(STATUS_UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules");
    return reject(STATUS_UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules");
}

/* ---- what a node lacks ---- */
/* Does the pod on a node belong to what the counter counts? */
static bool is_counted(const struct topology_counts *counts, const struct topology_counter *counter,
                       const struct pod_info *placed)
{
    const struct pod_class *own = counts->pod->class;
    bool by_others = counter->purpose == ANTI_AFFINITY_OF_OTHERS;
    const struct pod_terms *terms = by_others ? &placed->class->anti : &own->anti;
    const struct label_owner *labels = by_others ? own->labels : placed->class->labels;
    for (uint32_t i = 0; i < terms->len; i++)
        if (terms->items[i].topology_key == counter->key &&
            pod_term_matches(counts->cluster, &terms->items[i], labels, !by_others))
            return true;
    return false;
}

static const struct pod_info *find_on(const struct topology_counts *counts,
                                      const struct topology_counter *counter, struct node_view node)
{
    struct pod_span pods = node_pods(node);
    for (size_t i = 0; i < pods.len; i++)
        if (is_counted(counts, counter, pods.items[i]))
            return pods.items[i];
    return NULL;
}

/* A pod in the node's domain that the counter counts. Other nodes of the domain will ask for it as well. */
static const struct pod_info *find_counted(const struct topology_counts *counts, uint32_t number,
                                           struct node_view node, struct idmap *memo)
{
    const struct topology_counter *counter = &counts->counters.items[number];
    const struct topology *topo = counter->sums.topo;
    uint32_t domain = topo->domain_of[node.row];
    uint64_t key = (uint64_t)(number + 1) << 32 | domain;
    const struct pod_info *found = find_on(counts, counter, node);
    if (found || topo->domains.items[domain].nodes == 1)
        return found;
    if ((found = idmap_get(memo, key)))
        return found;
    for (uint32_t row = 0; row < counts->cluster->nodes.len && !found; row++)
        if (topo->domain_of[row] == domain)
            found = find_on(counts, counter, (struct node_view){ counts->cluster, row, NULL });
    if (found)
        idmap_put(memo, key, (void *)(uintptr_t)found);
    return found;
}

static bool names_namespaces(const struct pod_affinity_term *term)
{
    return term->namespaces.len || term->namespace_selector;
}

/* " of namespaces a, b"; the pod's own namespace is not named. */
static void put_namespaces(const struct pod_affinity_term *term, struct strbuf *out, struct arena *arena)
{
    const struct label_selector *selector = term->namespace_selector;
    if (!names_namespaces(term))
        return;
    if (selector && !selector->match_labels.len && !selector->match_expressions.len) {
        strbuf_puts(out, " of any namespace");
        return;
    }
    strbuf_puts(out, term->namespaces.len == 1 && !selector ? " of namespace " : " of namespaces ");
    for (uint32_t i = 0; i < term->namespaces.len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(term->namespaces.items[i]));
    if (selector)
        strbuf_printf(out, "%swith " STR_FMT, term->namespaces.len ? " and those " : "",
                      STR_ARG(label_selector_text(selector, arena)));
}

/* The pods that the terms select, as text; with a key, the terms of that key alone. */
static struct str selected(const struct pod_affinity *affinity, const struct str *key, const char *between,
                           struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    list_for(&affinity->required, term) {
        if (key && !str_eq(term->topology_key, *key))
            continue;
        if (text.len > SHORTFALL_TEXT_MAX) {
            strbuf_printf(&text, "%s...", between);
            break;
        }
        strbuf_printf(&text, "%s" STR_FMT, text.len ? between : "",
                      STR_ARG(label_selector_text(term->selector, arena)));
        put_namespaces(term, &text, arena);
    }
    return arena_str(arena, strbuf_slice(&text));
}

/* Where the pods are looked for that there are none of. */
static struct str scope_of(const struct cycle *cycle, struct arena *arena)
{
    list_for(&cycle->pod->spec.affinity->pod->required, term)
        if (names_namespaces(term))
            return STR("anywhere");
    return arena_printf(arena, "in namespace " STR_FMT, STR_ARG(cycle->pod->meta.namespace));
}

/* A pod counts for a term of the affinity if all of them select it. */
static void explain_affinity(struct cycle *cycle, const struct topology_counter *counter, bool has_label,
                             const struct str_map *labels, struct shortfall_list *ret)
{
    if (shortfall_is_left_out(ret))
        return;
    struct str key = intern_text(&cycle->cluster->syms, counter->key);
    struct str wants = selected(cycle->pod->spec.affinity->pod, NULL, " and ", ret->arena);
    struct shortfall *lack =
        shortfall_add_label(ret, has_label ? "PodAffinity" : "PodAffinityLabel", key, wants, labels);
    struct str found = !has_label            ? STR("the node does not have that label")
                       : counter->sums.total ? STR("there is none")
                                             : arena_printf(ret->arena, "there is none " STR_FMT,
                                                            STR_ARG(scope_of(cycle, ret->arena)));
    lack->shows_has = false;
    lack->sentence = arena_printf(
        ret->arena, "pod affinity wants a pod with " STR_FMT " in the same " STR_FMT ", " STR_FMT,
        STR_ARG(wants), STR_ARG(key), STR_ARG(found));
}

static void explain_anti(struct cycle *cycle, const struct topology_counts *counts, uint32_t number,
                         struct node_view node, struct shortfall_list *ret)
{
    const struct topology_counter *counter = &counts->counters.items[number];
    if (shortfall_is_left_out(ret))
        return;
    const struct pod_info *other = find_counted(counts, number, node, shortfall_memo(ret, cycle));
    struct str key = intern_text(&cycle->cluster->syms, counter->key);
    bool by_others = counter->purpose == ANTI_AFFINITY_OF_OTHERS;
    struct str wants = by_others ? (struct str){ 0 }
                                 : selected(cycle->pod->spec.affinity->pod_anti, &key, " or ", ret->arena);
    struct shortfall *lack = shortfall_add_label(ret, by_others ? "AntiAffinityOfPod" : "PodAntiAffinity",
                                                 key, wants, &node_api(node)->meta.labels);
    lack->shows_has = false;
    lack->pod = other ? &other->api->meta : NULL;
    lack->sentence =
        by_others
            ? arena_printf(ret->arena, "a pod in the same " STR_FMT " has an anti-affinity against this one",
                           STR_ARG(key))
            : arena_printf(ret->arena, "pod anti-affinity wants no pod with " STR_FMT " in the same " STR_FMT,
                           STR_ARG(wants), STR_ARG(key));
}

/* As filter(): the affinity of the pod comes first. */
static void explain(struct cycle *cycle, struct topology_counts *counts, const uint32_t *inputs,
                    struct node_view node, struct shortfall_list *ret)
{
    bool lacks_affinity = filter(counts, inputs) == NO_AFFINITY;
    for (uint32_t i = 0; i < counts->counters.len; i++) {
        const struct topology_counter *counter = &counts->counters.items[i];
        bool there = topology_count(counts, i, inputs[i]) > 0;
        if (counter->purpose != AFFINITY && there)
            explain_anti(cycle, counts, i, node, ret);
        else if (counter->purpose == AFFINITY && !there && lacks_affinity)
            explain_affinity(cycle, counter, inputs[i] != INPUT_NONE, &node_api(node)->meta.labels, ret);
    }
}

/* ---- score ---- */
static void score_terms(struct topology_counts *counts, const void *self)
{
    const struct inter_pod_affinity_args *args = self;
    const struct pod_terms *own = &counts->pod->class->preferred;
    counts->depends_on = &counts->cluster->namespaces_version;
    add_terms(counts, own, SCORE);
    if (!own->len && args->ignore_preferred_terms_of_existing_pods)
        return;
    if (args->hard_pod_affinity_weight > 0)
        topology_counts_add_selecting(counts,
                                      (struct selecting_terms){ offsetof(struct term_owner, affinity), SCORE,
                                                                args->hard_pod_affinity_weight });
    topology_counts_add_selecting(
        counts, (struct selecting_terms){ offsetof(struct term_owner, preferred), SCORE, 0 });
}

static int64_t score(const struct topology_counts *counts, const uint32_t *inputs)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < counts->counters.len; i++)
        sum += topology_count(counts, i, inputs[i]);
    return sum;
}

static void normalize(_unused_ struct cycle *cycle, int64_t *scores, size_t len)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < len; i++) {
        least = MIN(least, scores[i]);
        most = MAX(most, scores[i]);
    }
    double range = (double)(most - least);
    for (size_t i = 0; i < len; i++)
        scores[i] = range > 0 ? (int64_t)((double)SCORE_MAX * ((double)(scores[i] - least) / range)) : 0;
}

/* ---- queueing hints ---- */
/* A namespaceSelector is matched against the labels of the pod's namespace, and against none, as far as the filter does
 * so. */
static bool term_covers_namespace(const struct cluster *cluster, const struct pod_affinity_term *term,
                                  const struct pod *owner, struct str namespace)
{
    static const struct str_map none;
    if (!term->namespaces.len && !term->namespace_selector)
        return str_eq(owner->meta.namespace, namespace);
    bool asks_none = !cluster->features.release->selected_namespaces_are_a_list;
    if (str_list_has(&term->namespaces, namespace) ||
        (asks_none && label_selector_matches(term->namespace_selector, &none)))
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

/* Terms that the reference cannot parse make it queue the pod. */
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

/* A pod is wanted where all required affinity terms select it. */
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

/* Does a required anti-affinity term select the pod, and no longer after the event? NULL: the pod is gone. */
static bool stops_repelling(const struct cluster *cluster, const struct pod *owner, const struct pod *before,
                            const struct pod *after)
{
    const struct pod_affinity *anti = owner->spec.affinity ? owner->spec.affinity->pod_anti : NULL;
    if (!anti)
        return false;
    list_for(&anti->required, term)
        if (term_selects(cluster, term, owner, before) &&
            !(after && term_selects(cluster, term, owner, after)))
            return true;
    return false;
}

HINT(pod_changed)
{
    const struct pod *before = event->before, *after = event->after;
    const struct cluster *cluster = context->cluster;
    const struct affinity *own = pod->spec.affinity;
    if (before && after && pod_is(after, pod))
        return HINT_QUEUE; /* terms of other pods may have rejected the old labels */
    if ((after && !event_pod_holds_resources(event, after)) ||
        (before && !event_pod_holds_resources(event, before)))
        return HINT_SKIP;
    if (own && (terms_broken(own->pod) || terms_broken(own->pod_anti)))
        return HINT_QUEUE;
    if (!before)
        return wants(cluster, pod, after) ? HINT_QUEUE : HINT_SKIP;
    if (!after)
        return stops_repelling(cluster, pod, before, NULL) ||
                       (before->spec.affinity && terms_broken(before->spec.affinity->pod_anti)) ||
                       stops_repelling(cluster, before, pod, NULL)
                   ? HINT_QUEUE
                   : HINT_SKIP;
    bool wanted = !wants(cluster, pod, before) && wants(cluster, pod, after);
    return wanted || stops_repelling(cluster, pod, before, after) ? HINT_QUEUE : HINT_SKIP;
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
HINT(node_changed)
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
    { EVENT_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_DELETE, pod_changed, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_ADD | ACTION_POD_LABEL | ACTION_DELETE, pod_changed, DIVIDED_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_LABEL, hint_own_change, DIVIDED_POD_RULE },
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, node_changed },
    { 0 },
};

static const struct topology_rule rule = {
    .filter_terms = filter_terms,
    .score_terms = score_terms,
    .filter = filter,
    .rejection = rejection,
    .explain = explain,
    .score = score,
    .no_pre_filter = "error reading \"PreFilterInterPodAffinity\" from cycleState: not found",
    .no_pre_score = "failed to read \"PreScoreInterPodAffinity\" from cycleState: not found",
};

const struct plugin plugin_inter_pod_affinity = {
    .name = "InterPodAffinity",
    .ignores_resizes = true,
    .args = &inter_pod_affinity_args_kind,
    .doc = "Places pods next to, or away from, pods that their affinity terms select.",
    .reads = READS("metadata.namespace", "spec.affinity"),
    .init = init,
    TOPOLOGY_CALLBACKS,
    .normalize = normalize,
    .topology_rule = &rule,
    .events = events,
};
