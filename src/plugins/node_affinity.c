/* NodeAffinity: the pod's nodeSelector and node affinity, and an affinity that the configuration adds to every pod.
 *
 * A pod whose every alternative names nodes is asked about those nodes only. */
#include <stdlib.h>

#include "api/labels.h"
#include "config/plugin_args.h"
#include "framework/normalize.h"
#include "framework/plugin.h"

static int init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    const struct node_affinity_args *args = env->args;
    struct node_affinity *added = args ? args->added_affinity : NULL;
    if (added && added->required && node_selector_check(added->required, err) < 0) {
        error_prefix(err, "parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution");
        return -EINVAL;
    }
    if (added && preferred_node_terms_check(added->preferred.items, added->preferred.len, err) < 0) {
        error_prefix(err, "parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution");
        return -EINVAL;
    }
    *ret_self = added;
    return 0;
}

static const struct node_affinity *affinity_of(const struct pod *pod)
{
    return pod->spec.affinity ? pod->spec.affinity->node : NULL;
}

/* ---- filter ---- */
/* Keeps of `names` what the values list too; both without duplicates. */
static uint32_t keep_listed(struct str *names, uint32_t len, const struct str_list *values)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < len; i++) {
        for (uint32_t v = 0; v < values->len; v++) {
            if (str_eq(names[i], values->items[v])) {
                names[kept++] = names[i];
                break;
            }
        }
    }
    return kept;
}

static bool names_nodes(const struct selector_requirement *field)
{
    return field->op == OP_IN && str_is(field->key, "metadata.name");
}

/* The nodes that a term names, at the end of `names`; false when it names none in particular. */
static bool term_names(const struct node_selector_term *term, struct str *names, uint32_t *len)
{
    bool found = false;
    uint32_t added = 0;
    list_for(&term->match_fields, field) {
        if (!names_nodes(field))
            continue;
        if (found) {
            added = keep_listed(names + *len, added, &field->values);
            continue;
        }
        found = true;
        for (uint32_t v = 0; v < field->values.len; v++)
            names[*len + added++] = field->values.items[v];
    }
    *len += added;
    return found;
}

static void sort_unique(struct node_names *names)
{
    uint32_t kept = 0;
    if (names->len)
        qsort(names->items, names->len, sizeof(*names->items), str_qsort_cmp);
    for (uint32_t i = 0; i < names->len; i++)
        if (!kept || !str_eq(names->items[kept - 1], names->items[i]))
            names->items[kept++] = names->items[i];
    names->len = kept;
}

static struct status narrow_to_named(struct cycle *cycle, const struct node_selector *required,
                                     struct node_names *narrow)
{
    size_t most = 0;
    list_for(&required->terms, term)
        list_for(&term->match_fields, field)
            most += field->values.len;
    struct node_names names = { .items = arena_array(cycle->arena, struct str, most) };
    list_for(&required->terms, term) {
        if (!term_names(term, names.items, &names.len))
            return STATUS_OK; /* terms are alternatives: this one leaves every node open */
    }
    if (!names.len)
        return reject(STATUS_UNRESOLVABLE, "pod affinity terms conflict");
    sort_unique(&names);
    *narrow = names;
    return STATUS_OK;
}

static struct status pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    const struct node_affinity *added = cycle_self(cycle), *affinity = affinity_of(cycle->pod);
    const struct node_selector *required = affinity ? affinity->required : NULL;
    if (!required && !(added && added->required) && !cycle->pod->spec.node_selector.len)
        return STATUS_SKIPPED;
    if (!required || !required->terms.len)
        return STATUS_OK;
    return narrow_to_named(cycle, required, narrow);
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct node_affinity *added = cycle_self(cycle), *affinity = affinity_of(cycle->pod);
    const struct meta *meta = &node_api(node)->meta;
    if (added && added->required && !node_selector_matches(added->required, meta->name, &meta->labels))
        return reject(STATUS_UNRESOLVABLE, "node(s) didn't match scheduler-enforced node affinity");
    if (!str_map_contains_all(&meta->labels, &cycle->pod->spec.node_selector) ||
        (affinity && affinity->required && !node_selector_matches(affinity->required, meta->name, &meta->labels)))
        return reject(STATUS_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector");
    return STATUS_OK;
}

/* ---- score ---- */
static struct status pre_score(struct cycle *cycle, struct row_list feasible)
{
    (void)feasible;
    const struct node_affinity *added = cycle_self(cycle), *affinity = affinity_of(cycle->pod);
    struct error err;
    if (affinity && preferred_node_terms_check(affinity->preferred.items, affinity->preferred.len, &err) < 0)
        return status_printf(cycle->arena, STATUS_ERROR, "%s", err.text);
    if (!(affinity && affinity->preferred.items) && !(added && added->preferred.len))
        return STATUS_SKIPPED;
    return STATUS_OK;
}

/* A term of weight 0 adds nothing, an empty one matches nothing. */
static int64_t weight_of_matching(const struct node_affinity *affinity, const struct meta *node)
{
    int64_t sum = 0;
    if (!affinity)
        return 0;
    list_for(&affinity->preferred, term) {
        if (term->weight && node_selector_term_matches(&term->preference, node->name, &node->labels))
            sum += term->weight;
    }
    return sum;
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct meta *meta = &node_api(node)->meta;
    *ret = weight_of_matching(cycle_self(cycle), meta) + weight_of_matching(affinity_of(cycle->pod), meta);
    return STATUS_OK;
}

static void normalize(struct cycle *cycle, int64_t *scores, size_t len)
{
    (void)cycle;
    normalize_scores(scores, len, false);
}

const struct plugin plugin_node_affinity = {
    .name = "NodeAffinity",
    .doc = "Filters and scores nodes by the pod's node selector and node affinity.",
    .init = init,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
};
