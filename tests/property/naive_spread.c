/* naive_spread.c: PodTopologySpread, counted node by node and pod by pod.
 *
 * Which constraints hold for a pod is asked of the product: its unit test has those. */
#include <math.h>

#include "api/labels.h"
#include "index/match.h"
#include "plugins/pod_topology_spread/constraints.h"
#include "property/naive.h"
#include "support/node_match.h"

static struct constraint_list constraints(const struct naive_world *world, bool hard)
{
    struct constraint_list list;
    constraints_of(world->instance->self, world->cluster, world->pod, hard, world->arena, &list);
    return list;
}

static const struct node *node_at(const struct naive_world *world, uint32_t row)
{
    return world->cluster->nodes.items[row].api;
}

const struct str *naive_label(const struct naive_world *world, uint32_t row, struct str key)
{
    return str_map_get(&node_at(world, row)->meta.labels, key);
}

static bool has_all_keys(const struct naive_world *world, const struct constraint_list *list, uint32_t row)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (!naive_label(world, row, list->items[i].topology_key))
            return false;
    return true;
}

static bool node_counts(const struct naive_world *world, const struct constraint *constraint, uint32_t row)
{
    const struct node *node = node_at(world, row);
    return (!constraint->honor_affinity || pod_selects_node(world->pod, node)) &&
           (!constraint->honor_taints || !node_repels_pod(node, world->pod));
}

static bool pod_matches(const struct naive_world *world, const struct constraint *constraint,
                        const struct pod *pod)
{
    return str_eq(pod->meta.namespace, world->pod->meta.namespace) &&
           label_selector_matches(constraint->selector, &pod->meta.labels);
}

/* An empty selector counts no pod that runs; pods that are being deleted do not count. */
static int64_t pods_on(const struct naive_world *world, const struct constraint *constraint, uint32_t row)
{
    int64_t count = 0;
    const struct label_selector *selector = constraint->selector;
    if (!selector || !(selector->match_labels.len || selector->match_expressions.len))
        return 0;
    vec_for(&world->cluster->nodes.items[row].pods, pod)
        count += !(*pod)->terminating && pod_matches(world, constraint, (*pod)->api);
    return count;
}

/* A what-if counts every pod that the selector matches. */
static int64_t changed_on(const struct naive_world *world, const struct constraint *constraint, uint32_t row)
{
    int64_t count = 0;
    for (uint32_t i = 0; row == world->row && i < world->changes_len; i++)
        if (pod_matches(world, constraint, world->changes[i].pod->api))
            count += world->changes[i].delta;
    return count;
}

static bool skips_filter(const struct naive_world *world)
{
    return !constraints(world, true).len;
}

static bool skips_score(const struct naive_world *world)
{
    return !constraints(world, false).len;
}

/* ---- filter ---- */
struct tally {
    int64_t own, least;
    uint32_t domains;
};

/* The pods in the domain of a value. False: no node of it counts. */
static bool count_domain(const struct naive_world *world, const struct constraint_list *list, uint32_t number,
                         struct str value, int64_t *ret)
{
    const struct constraint *constraint = &list->items[number];
    bool found = false;
    *ret = 0;
    naive_for_rows(world, row)
    {
        if (!has_all_keys(world, list, row) || !node_counts(world, constraint, row) ||
            !str_eq(*naive_label(world, row, constraint->topology_key), value))
            continue;
        found = true;
        *ret += pods_on(world, constraint, row) + changed_on(world, constraint, row);
    }
    return found;
}

static bool is_first_of_value(const struct naive_world *world, struct str key, uint32_t at)
{
    const struct str *value = naive_label(world, at, key);
    for (uint32_t row = 0; row < at; row++) {
        const struct str *other = node_at(world, row) ? naive_label(world, row, key) : NULL;
        if (other && str_eq(*other, *value))
            return false;
    }
    return true;
}

static struct tally tally_domains(const struct naive_world *world, const struct constraint_list *list,
                                  uint32_t number, struct str value)
{
    struct str key = list->items[number].topology_key;
    struct tally tally = { .least = INT32_MAX };
    int64_t pods;
    naive_for_rows(world, row)
    {
        const struct str *other = naive_label(world, row, key);
        if (!other || !is_first_of_value(world, key, row) ||
            !count_domain(world, list, number, *other, &pods))
            continue;
        tally.domains++;
        tally.least = MIN(tally.least, pods);
    }
    (void)count_domain(world, list, number, value, &tally.own);
    return tally;
}

static struct status filter(const struct naive_world *world, uint32_t row)
{
    struct constraint_list list = constraints(world, true);
    for (uint32_t i = 0; i < list.len; i++) {
        const struct constraint *constraint = &list.items[i];
        const struct str *value = naive_label(world, row, constraint->topology_key);
        if (!value)
            return reject(STATUS_UNRESOLVABLE,
                          "node(s) didn't match pod topology spread constraints (missing required label)");
        struct tally tally = tally_domains(world, &list, i, *value);
        int64_t least = tally.domains < (uint32_t)constraint->min_domains ? 0 : tally.least;
        int64_t self = label_selector_matches(constraint->selector, &world->pod->meta.labels);
        if (tally.own + self - least > constraint->max_skew)
            return reject(STATUS_UNSCHEDULABLE, "node(s) didn't match pod topology spread constraints");
    }
    return STATUS_OK;
}

/* ---- score ---- */
/* A missing label reads as an empty value. */
static struct str value_of(const struct naive_world *world, uint32_t row, struct str key)
{
    const struct str *value = naive_label(world, row, key);
    return value ? *value : STR("");
}

static bool takes_part(const struct naive_world *world, const struct constraint_list *list, uint32_t row)
{
    return !list->require_all_keys || has_all_keys(world, list, row);
}

/* In how many domains of the key are feasible nodes? Host names are not looked at. */
static int64_t topology_size(const struct naive_world *world, const struct constraint_list *list,
                             const struct constraint *constraint, struct row_list feasible)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < feasible.len; i++) {
        bool is_new = takes_part(world, list, feasible.items[i]);
        for (uint32_t k = 0; k < i && is_new && !constraint->is_hostname; k++)
            is_new = !takes_part(world, list, feasible.items[k]) ||
                     !str_eq(value_of(world, feasible.items[i], constraint->topology_key),
                             value_of(world, feasible.items[k], constraint->topology_key));
        size += is_new;
    }
    return size;
}

static int64_t pods_near(const struct naive_world *world, const struct constraint_list *list,
                         const struct constraint *constraint, uint32_t at)
{
    struct str key = constraint->topology_key;
    int64_t pods = 0;
    if (constraint->is_hostname)
        return pods_on(world, constraint, at);
    naive_for_rows(world, row)
    {
        if (takes_part(world, list, row) && node_counts(world, constraint, row) &&
            str_eq(value_of(world, row, key), value_of(world, at, key)))
            pods += pods_on(world, constraint, row);
    }
    return pods;
}

static void scores(const struct naive_world *world, struct row_list feasible, int64_t *ret)
{
    struct constraint_list list = constraints(world, false);
    for (uint32_t n = 0; n < feasible.len; n++) {
        double sum = 0;
        for (uint32_t i = 0; i < list.len; i++) {
            const struct constraint *constraint = &list.items[i];
            if (!naive_label(world, feasible.items[n], constraint->topology_key))
                continue;
            double weight = log((double)(topology_size(world, &list, constraint, feasible) + 2));
            sum += (double)pods_near(world, &list, constraint, feasible.items[n]) * weight +
                   (double)(constraint->max_skew - 1);
        }
        ret[n] = takes_part(world, &list, feasible.items[n]) ? (int64_t)round(sum) : -1;
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
