/* NodeAffinity: the pod's nodeSelector and node affinity, and an affinity that the configuration adds to every pod.
 *
 * A pod whose every alternative names nodes is asked about those nodes only. */
#include <stdlib.h>

#include "api/labels.h"
#include "config/plugin_args.h"
#include "framework/normalize.h"
#include "index/row_match.h"

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

enum { NOT_ENFORCED = 1, NOT_WANTED };

static struct status refusal(uint32_t detail)
{
    if (detail == NOT_ENFORCED)
        return reject(STATUS_UNRESOLVABLE, "node(s) didn't match scheduler-enforced node affinity");
    return reject(STATUS_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector");
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct node_affinity *added = cycle_self(cycle), *affinity = affinity_of(cycle->pod);
    const struct meta *meta = &node_api(node)->meta;
    if (added && added->required && !node_selector_matches(added->required, meta->name, &meta->labels))
        return refusal(NOT_ENFORCED);
    if (!str_map_contains_all(&meta->labels, &cycle->pod->spec.node_selector) ||
        (affinity && affinity->required &&
         !node_selector_matches(affinity->required, meta->name, &meta->labels)))
        return refusal(NOT_WANTED);
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

/* ---- many rows at once ---- */
struct rows_preference {
    struct row_term term;
    int32_t weight;
};

struct rows_state {
    struct row_selector enforced, wanted;
    bool has_enforced, has_wanted;
    struct rows_preference *preferences;
    uint32_t preferences_len;
};

static void rows_add_preferences(struct table *table, struct rows_state *state,
                                 const struct node_affinity *affinity)
{
    if (!affinity)
        return;
    list_for(&affinity->preferred, item) {
        struct rows_preference *preference = &state->preferences[state->preferences_len];
        if (!item->weight)
            continue;
        row_term_init(&preference->term, table, &item->preference);
        preference->weight = item->weight;
        state->preferences_len++;
    }
}

static bool rows_prepare(struct table *table, struct table_part *part)
{
    const struct node_affinity *added = part->instance->self, *affinity = affinity_of(table->pod->api);
    const struct str_map *labels = &table->pod->api->spec.node_selector;
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    struct error err;
    if (affinity && preferred_node_terms_check(affinity->preferred.items, affinity->preferred.len, &err) < 0)
        return false;
    state->has_enforced = added && added->required;
    state->has_wanted = labels->len || (affinity && affinity->required);
    row_selector_init(&state->enforced, table, NULL, added ? added->required : NULL);
    row_selector_init(&state->wanted, table, labels, affinity ? affinity->required : NULL);
    uint32_t most = (added ? added->preferred.len : 0) + (affinity ? affinity->preferred.len : 0);
    state->preferences = arena_array(&table->arena, struct rows_preference, most);
    rows_add_preferences(table, state, added);
    rows_add_preferences(table, state, affinity);
    part->state = state;
    part->filters = state->has_enforced || state->has_wanted;
    part->inputs = part->scores_groups = state->preferences_len > 0;
    return true;
}

static void rows_release(struct table *table, struct table_part *part)
{
    struct rows_state *state = part->state;
    row_selector_release(&state->enforced, table->cluster);
    row_selector_release(&state->wanted, table->cluster);
    for (uint32_t i = 0; i < state->preferences_len; i++)
        row_term_release(&state->preferences[i].term, table->cluster);
}

static void rows_refuse(struct table *table, struct table_part *part, const struct row_selector *sel,
                        uint32_t detail, struct row_span span)
{
    uint8_t *ok = span.rows ? NULL : arena_alloc(table_scratch(table), span.len);
    if (ok)
        row_selector_match_all(sel, table, span.len, ok);
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i);
        if (!(ok ? ok[row] : row_selector_matches(sel, table->cluster, row)))
            table_reject(table, part, row, detail);
    }
}

static void rows_filter(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    if (state->has_enforced)
        rows_refuse(table, part, &state->enforced, NOT_ENFORCED, span);
    if (state->has_wanted)
        rows_refuse(table, part, &state->wanted, NOT_WANTED, span);
}

static void rows_input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    uint32_t *column = table->inputs[part->first_input];
    uint8_t *ok = span.rows ? NULL : arena_alloc(table_scratch(table), span.len);
    for (uint32_t i = 0; i < span.len; i++)
        column[span_row(span, i)] = 0;
    for (uint32_t p = 0; p < state->preferences_len; p++) {
        const struct rows_preference *preference = &state->preferences[p];
        if (ok)
            row_term_match_all(&preference->term, table, span.len, ok);
        for (uint32_t i = 0; i < span.len; i++) {
            uint32_t row = span_row(span, i);
            if (ok ? ok[row] : row_term_matches(&preference->term, table->cluster, row))
                column[row] += (uint32_t)preference->weight;
        }
    }
}

static int64_t rows_group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    return (int32_t)inputs[part->first_input];
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)part, (void)cycle, (void)row;
    return refusal(detail);
}

static const struct row_forms rows = {
    .prepare = rows_prepare,
    .release = rows_release,
    .filter = rows_filter,
    .input = rows_input,
    .group_score = rows_group_score,
    .explain = rows_explain,
};

/* ---- what may help ---- */
enum wish { UNWANTED, WANTED, BROKEN };

/* Alternatives that can not be parsed matter only where no other one fits. */
static enum wish wish_for(const struct pod *pod, const struct node *node)
{
    const struct node_affinity *affinity = affinity_of(pod);
    if (!str_map_contains_all(&node->meta.labels, &pod->spec.node_selector))
        return UNWANTED;
    if (!affinity || !affinity->required ||
        node_selector_matches(affinity->required, node->meta.name, &node->meta.labels))
        return WANTED;
    list_for(&affinity->required->terms, term)
        if (term->invalid)
            return BROKEN;
    return UNWANTED;
}

/* A node that the pod wants now, and did not want before. */
static enum hint node_changed(const struct hint_context *context, const struct pod *pod,
                              const struct cluster_event *event)
{
    const struct node_affinity *added = context->self;
    const struct node *before = event->before, *after = event->after;
    if (added && added->required &&
        !node_selector_matches(added->required, after->meta.name, &after->meta.labels))
        return HINT_SKIP;
    enum wish wish = wish_for(pod, after);
    if (wish != WANTED)
        return wish == BROKEN ? HINT_QUEUE : HINT_SKIP;
    return before && wish_for(pod, before) == WANTED ? HINT_SKIP : HINT_QUEUE;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, node_changed },
    { 0 },
};

const struct plugin plugin_node_affinity = {
    .name = "NodeAffinity",
    .doc = "Filters and scores nodes by the pod's node selector and node affinity.",
    .init = init,
    .pre_filter = pre_filter,
    .filter = filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
    .rows = &rows,
    .events = events,
};
