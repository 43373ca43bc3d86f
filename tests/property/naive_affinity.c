/* naive_affinity.c: InterPodAffinity, term by term and pod by pod. */
#include "api/labels.h"
#include "plugins/inter_pod_affinity/args.h"
#include "property/naive.h"

/* ---- which pods a term selects ---- */
static bool is_listed(const struct str_list *list, struct str item)
{
    list_for(list, one)
        if (str_eq(*one, item))
            return true;
    return false;
}

/* A namespaceSelector of the incoming pod selects existing namespaces, and is then also matched against no labels. One
 * of a running pod is matched against the labels of the namespace, or against none. */
static bool covers_namespace(const struct naive_context *context, const struct pod_affinity_term *term,
                             const struct pod *owner, struct str namespace)
{
    static const struct str_map none;
    const struct label_selector *selector = term->namespace_selector;
    if (!term->namespaces.len && !selector)
        return str_eq(owner->meta.namespace, namespace);
    if (is_listed(&term->namespaces, namespace))
        return true;
    const struct namespace *object = cluster_get(&context->cluster->namespaces, (struct str){ 0 }, namespace);
    if (owner == context->pod && !context->cluster->features.release->selected_namespaces_are_a_list &&
        label_selector_matches(selector, &none))
        return true;
    if (selector && !selector->invalid && !selector->match_labels.len && !selector->match_expressions.len)
        return true;
    if (!object)
        return owner != context->pod && label_selector_matches(selector, &none);
    return label_selector_matches(selector, &object->meta.labels);
}

static bool selects(const struct naive_context *context, const struct pod_affinity_term *term,
                    const struct pod *owner, const struct pod *pod)
{
    return covers_namespace(context, term, owner, pod->meta.namespace) &&
           label_selector_matches(term->selector, &pod->meta.labels);
}

static const struct pod_affinity *affinity_of(const struct pod *pod, bool anti)
{
    const struct affinity *affinity = pod->spec.affinity;
    return !affinity ? NULL : anti ? affinity->pod_anti : affinity->pod;
}

static uint32_t required_len(const struct pod *pod, bool anti)
{
    const struct pod_affinity *affinity = affinity_of(pod, anti);
    return affinity ? affinity->required.len : 0;
}

static bool selects_all(const struct naive_context *context, const struct pod *pod)
{
    list_for(&affinity_of(context->pod, false)->required, term)
        if (!selects(context, term, context->pod, pod))
            return false;
    return true;
}

static bool same_domain(const struct naive_context *context, struct str key, uint32_t a, uint32_t b)
{
    const struct str *x = naive_label(context, a, key), *y = naive_label(context, b, key);
    return x && y && str_eq(*x, *y);
}

/* ---- sums per domain: over all pods, and the what-if ---- */
enum kind { OWN_AFFINITY, OWN_ANTI, OTHERS_ANTI };

/* The contribution of one pod to the sum of a key. */
static int64_t adds(const struct naive_context *context, enum kind kind, struct str key,
                    const struct pod *pod)
{
    const struct pod *owner = kind == OTHERS_ANTI ? pod : context->pod;
    const struct pod *target = kind == OTHERS_ANTI ? context->pod : pod;
    const struct pod_affinity *affinity = affinity_of(owner, kind != OWN_AFFINITY);
    int64_t sum = 0;
    if (!affinity)
        return 0;
    list_for(&affinity->required, term)
        if (str_eq(term->topology_key, key))
            sum +=
                kind == OWN_AFFINITY ? selects_all(context, target) : selects(context, term, owner, target);
    return sum;
}

/* The sum in the domain of node `at`. */
static int64_t sum_near(const struct naive_context *context, enum kind kind, struct str key, uint32_t at)
{
    int64_t sum = 0;
    naive_for_rows(context, row)
    {
        if (!same_domain(context, key, row, at))
            continue;
        vec_for(&context->cluster->nodes.items[row].pods, pod)
            sum += adds(context, kind, key, (*pod)->api);
        for (uint32_t i = 0; row == context->row && i < context->changes_len; i++)
            sum += context->changes[i].delta * adds(context, kind, key, context->changes[i].pod->api);
    }
    return sum;
}

/* ---- filter ---- */
static bool any_anti_affinity_of_others(const struct naive_context *context)
{
    naive_for_rows(context, row)
    {
        list_for(&context->cluster->nodes.items[row].api->meta.labels, label)
            if (sum_near(context, OTHERS_ANTI, label->key, row) > 0)
                return true;
    }
    return false;
}

static bool skips_filter(const struct naive_context *context)
{
    return !required_len(context->pod, false) && !required_len(context->pod, true) &&
           !any_anti_affinity_of_others(context);
}

static bool any_pod_matches(const struct naive_context *context)
{
    naive_for_rows(context, row)
    {
        list_for(&affinity_of(context->pod, false)->required, term)
            if (sum_near(context, OWN_AFFINITY, term->topology_key, row) > 0)
                return true;
    }
    return false;
}

static bool affinity_holds(const struct naive_context *context, uint32_t row)
{
    bool pods_there = true;
    if (!required_len(context->pod, false))
        return true;
    list_for(&affinity_of(context->pod, false)->required, term) {
        if (!naive_label(context, row, term->topology_key))
            return false;
        pods_there &= sum_near(context, OWN_AFFINITY, term->topology_key, row) > 0;
    }
    return pods_there || (selects_all(context, context->pod) && !any_pod_matches(context));
}

static struct status filter(const struct naive_context *context, uint32_t row)
{
    const struct pod_affinity *anti = affinity_of(context->pod, true);
    if (!affinity_holds(context, row))
        return reject(STATUS_UNRESOLVABLE, "node(s) didn't match pod affinity rules");
    for (uint32_t i = 0; anti && i < anti->required.len; i++)
        if (sum_near(context, OWN_ANTI, anti->required.items[i].topology_key, row) > 0)
            return reject(STATUS_UNSCHEDULABLE, "node(s) didn't match pod anti-affinity rules");
    list_for(&context->cluster->nodes.items[row].api->meta.labels, label)
        if (sum_near(context, OTHERS_ANTI, label->key, row) > 0)
            return reject(STATUS_UNSCHEDULABLE, "node(s) didn't satisfy existing pods anti-affinity rules");
    return STATUS_OK;
}

/* ---- score ---- */
/* The contribution of a pod on node `row` to the score of node `at`; ROW_NONE: of any node with the key of a term.
 * `touched` is set if there is a contribution, even if the sum is 0. */
struct score_of {
    const struct naive_context *context;
    uint32_t row, at;
    int64_t sum;
    bool touched;
};

static void add_term(struct score_of *score, const struct pod_affinity_term *term, int64_t weight,
                     const struct pod *owner, const struct pod *target)
{
    const struct naive_context *context = score->context;
    if (!naive_label(context, score->row, term->topology_key) || !selects(context, term, owner, target))
        return;
    score->touched = true;
    if (score->at != ROW_NONE && same_domain(context, term->topology_key, score->row, score->at))
        score->sum += weight;
}

static void add_preferred(struct score_of *score, const struct pod *owner, const struct pod *target)
{
    for (int anti = 0; anti < 2; anti++) {
        const struct pod_affinity *affinity = affinity_of(owner, anti);
        for (uint32_t i = 0; affinity && i < affinity->preferred.len; i++)
            add_term(score, &affinity->preferred.items[i].term,
                     anti ? -affinity->preferred.items[i].weight : affinity->preferred.items[i].weight, owner,
                     target);
    }
}

static uint32_t preferred_len(const struct pod *pod)
{
    const struct pod_affinity *affinity = affinity_of(pod, false), *anti = affinity_of(pod, true);
    return (affinity ? affinity->preferred.len : 0) + (anti ? anti->preferred.len : 0);
}

static struct score_of score_node(const struct naive_context *context, uint32_t at)
{
    const struct inter_pod_affinity_args *args = context->args;
    struct score_of score = { .context = context, .at = at };
    if (args->ignore_preferred_terms_of_existing_pods && !preferred_len(context->pod))
        return score;
    naive_for_rows(context, row)
    {
        score.row = row;
        vec_for(&context->cluster->nodes.items[row].pods, pod) {
            const struct pod_affinity *affinity = affinity_of((*pod)->api, false);
            add_preferred(&score, context->pod, (*pod)->api);
            add_preferred(&score, (*pod)->api, context->pod);
            for (uint32_t i = 0; affinity && args->hard_pod_affinity_weight > 0 && i < affinity->required.len;
                 i++)
                add_term(&score, &affinity->required.items[i], args->hard_pod_affinity_weight, (*pod)->api,
                         context->pod);
        }
    }
    return score;
}

static bool skips_score(const struct naive_context *context)
{
    return !score_node(context, ROW_NONE).touched;
}

static void scores(const struct naive_context *context, struct row_list feasible, int64_t *ret)
{
    for (uint32_t i = 0; i < feasible.len; i++)
        ret[i] = score_node(context, feasible.items[i]).sum;
}

static void normalize(int64_t *scores, size_t len)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < len; i++) {
        least = MIN(least, scores[i]);
        most = MAX(most, scores[i]);
    }
    for (size_t i = 0; i < len; i++)
        scores[i] =
            most > least ? (int64_t)(100.0 * ((double)(scores[i] - least) / (double)(most - least))) : 0;
}

const struct naive_rule naive_affinity = {
    .plugin = "InterPodAffinity",
    .skips_filter = skips_filter,
    .skips_score = skips_score,
    .filter = filter,
    .scores = scores,
    .normalize = normalize,
};
