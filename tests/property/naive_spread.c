/* naive_spread.c: PodTopologySpread, counted node by node and pod by pod.
 *
 * The constraints of a pod come from berth's own function, which has a unit test. */
#include <math.h>

#include "api/labels.h"
#include "index/match.h"
#include "plugins/pod_topology_spread/constraints.h"
#include "property/naive.h"
#include "support/node_match.h"

static struct constraint_list constraints(const struct naive_context *context, bool hard)
{
    struct constraint_list list;
    constraints_of(context->instance->self, context->cluster, context->pod, hard, context->arena, &list);
    return list;
}

static const struct node *node_at(const struct naive_context *context, uint32_t row)
{
    return context->cluster->nodes.items[row].api;
}

const struct str *naive_label(const struct naive_context *context, uint32_t row, struct str key)
{
    return str_map_get(&node_at(context, row)->meta.labels, key);
}

static bool has_all_keys(const struct naive_context *context, const struct constraint_list *list,
                         uint32_t row)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (!naive_label(context, row, list->items[i].topology_key))
            return false;
    return true;
}

static bool node_counts(const struct naive_context *context, const struct constraint *constraint,
                        uint32_t row)
{
    const struct node *node = node_at(context, row);
    return (!constraint->honor_affinity || pod_selects_node(context->pod, node)) &&
           (!constraint->honor_taints || !node_repels_pod(node, context->pod, false));
}

static bool pod_matches(const struct naive_context *context, const struct constraint *constraint,
                        const struct pod *pod)
{
    return str_eq(pod->meta.namespace, context->pod->meta.namespace) &&
           label_selector_matches(constraint->selector, &pod->meta.labels);
}

/* An empty selector matches no running pod; terminating pods are not counted. */
static int64_t pods_on(const struct naive_context *context, const struct constraint *constraint, uint32_t row)
{
    int64_t count = 0;
    const struct label_selector *selector = constraint->selector;
    if (!selector || !(selector->match_labels.len || selector->match_expressions.len))
        return 0;
    vec_for(&context->cluster->nodes.items[row].pods, pod)
        count += !(*pod)->terminating && pod_matches(context, constraint, (*pod)->api);
    return count;
}

/* In a what-if every pod that the selector matches is counted. */
static int64_t changed_on(const struct naive_context *context, const struct constraint *constraint,
                          uint32_t row)
{
    int64_t count = 0;
    for (uint32_t i = 0; row == context->row && i < context->changes_len; i++)
        if (pod_matches(context, constraint, context->changes[i].pod->api))
            count += context->changes[i].delta;
    return count;
}

static bool skips_filter(const struct naive_context *context)
{
    return !constraints(context, true).len;
}

static bool skips_score(const struct naive_context *context)
{
    return !constraints(context, false).len;
}

/* ---- filter ---- */
struct domain_counts {
    int64_t own, least;
    uint32_t domains;
};

/* The number of pods in the domain of a value. False: no node of it counts. */
static bool count_domain(const struct naive_context *context, const struct constraint_list *list,
                         uint32_t number, struct str value, int64_t *ret)
{
    const struct constraint *constraint = &list->items[number];
    bool found = false;
    *ret = 0;
    naive_for_rows(context, row)
    {
        if (!has_all_keys(context, list, row) || !node_counts(context, constraint, row) ||
            !str_eq(*naive_label(context, row, constraint->topology_key), value))
            continue;
        found = true;
        *ret += pods_on(context, constraint, row) + changed_on(context, constraint, row);
    }
    return found;
}

static bool is_first_of_value(const struct naive_context *context, struct str key, uint32_t at)
{
    const struct str *value = naive_label(context, at, key);
    for (uint32_t row = 0; row < at; row++) {
        const struct str *other = node_at(context, row) ? naive_label(context, row, key) : NULL;
        if (other && str_eq(*other, *value))
            return false;
    }
    return true;
}

static struct domain_counts count_domains(const struct naive_context *context,
                                          const struct constraint_list *list, uint32_t number,
                                          struct str value)
{
    struct str key = list->items[number].topology_key;
    struct domain_counts domain_counts = { .least = INT32_MAX };
    int64_t pods;
    naive_for_rows(context, row)
    {
        const struct str *other = naive_label(context, row, key);
        if (!other || !is_first_of_value(context, key, row) ||
            !count_domain(context, list, number, *other, &pods))
            continue;
        domain_counts.domains++;
        domain_counts.least = MIN(domain_counts.least, pods);
    }
    (void)count_domain(context, list, number, value, &domain_counts.own);
    return domain_counts;
}

static struct status filter(const struct naive_context *context, uint32_t row)
{
    struct constraint_list list = constraints(context, true);
    for (uint32_t i = 0; i < list.len; i++) {
        const struct constraint *constraint = &list.items[i];
        const struct str *value = naive_label(context, row, constraint->topology_key);
        if (!value)
            return reject(STATUS_UNRESOLVABLE,
                          "node(s) didn't match pod topology spread constraints (missing required label)");
        struct domain_counts domain_counts = count_domains(context, &list, i, *value);
        int64_t least = domain_counts.domains < (uint32_t)constraint->min_domains ? 0 : domain_counts.least;
        int64_t self = label_selector_matches(constraint->selector, &context->pod->meta.labels);
        if (domain_counts.own + self - least > constraint->max_skew)
            return reject(STATUS_UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints");
    }
    return STATUS_OK;
}

/* ---- score ---- */
/* A missing label has an empty value. */
static struct str value_of(const struct naive_context *context, uint32_t row, struct str key)
{
    const struct str *value = naive_label(context, row, key);
    return value ? *value : STR("");
}

static bool takes_part(const struct naive_context *context, const struct constraint_list *list, uint32_t row)
{
    return !list->require_all_keys || has_all_keys(context, list, row);
}

/* The number of domains of the key with feasible nodes. Host names are not counted. */
static int64_t topology_size(const struct naive_context *context, const struct constraint_list *list,
                             const struct constraint *constraint, struct row_list feasible)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < feasible.len; i++) {
        bool is_new = takes_part(context, list, feasible.items[i]);
        for (uint32_t k = 0; k < i && is_new && !constraint->is_hostname; k++)
            is_new = !takes_part(context, list, feasible.items[k]) ||
                     !str_eq(value_of(context, feasible.items[i], constraint->topology_key),
                             value_of(context, feasible.items[k], constraint->topology_key));
        size += is_new;
    }
    return size;
}

static int64_t pods_near(const struct naive_context *context, const struct constraint_list *list,
                         const struct constraint *constraint, uint32_t at)
{
    struct str key = constraint->topology_key;
    int64_t pods = 0;
    if (constraint->is_hostname)
        return pods_on(context, constraint, at);
    naive_for_rows(context, row)
    {
        if (takes_part(context, list, row) && node_counts(context, constraint, row) &&
            str_eq(value_of(context, row, key), value_of(context, at, key)))
            pods += pods_on(context, constraint, row);
    }
    return pods;
}

static void scores(const struct naive_context *context, struct row_list feasible, int64_t *ret)
{
    struct constraint_list list = constraints(context, false);
    for (uint32_t n = 0; n < feasible.len; n++) {
        double sum = 0;
        for (uint32_t i = 0; i < list.len; i++) {
            const struct constraint *constraint = &list.items[i];
            if (!naive_label(context, feasible.items[n], constraint->topology_key))
                continue;
            double weight = log((double)(topology_size(context, &list, constraint, feasible) + 2));
            sum += (double)pods_near(context, &list, constraint, feasible.items[n]) * weight +
                   (double)(constraint->max_skew - 1);
        }
        ret[n] = takes_part(context, &list, feasible.items[n]) ? (int64_t)round(sum) : -1;
    }
}

static void normalize(int64_t *scores, size_t len)
{
    int64_t least = INT64_MAX, most = 0;
    for (size_t i = 0; i < len; i++) {
        least = scores[i] >= 0 ? MIN(least, scores[i]) : least;
        most = MAX(most, scores[i]);
    }
    for (size_t i = 0; i < len; i++)
        scores[i] = scores[i] < 0 ? 0 : most ? 100 * (most + least - scores[i]) / most : 100;
}

const struct naive_rule naive_spread = {
    .plugin = "PodTopologySpread",
    .skips_filter = skips_filter,
    .skips_score = skips_score,
    .filter = filter,
    .scores = scores,
    .normalize = normalize,
};
