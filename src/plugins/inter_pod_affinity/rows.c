/* rows.c: InterPodAffinity over many rows.
 *
 * For each topology key that matters there is a counter of what the nodes of each domain contribute: pods that the
 * incoming pod's terms select, and terms of the pods there that select the incoming pod. What one pod contributes
 * depends only on its labels (for our terms) and on its terms (against our labels): both are shared by many pods, so
 * each distinct one is asked once.
 *
 * Which keys matter becomes known while rows are counted. A key that turns up later makes the table start over. */
#include <stdlib.h>

#include "index/domain_counter.h"
#include "index/table.h"
#include "plugins/inter_pod_affinity/terms.h"

enum purpose { FOR_AFFINITY, FOR_ANTI, FOR_OTHERS_ANTI, FOR_SCORE };

struct key_counter {
    enum purpose purpose;
    sym key;
    struct domain_counter counter;
    int64_t row_value; /* of the row being counted */
    int32_t *values;   /* by row, while all rows are counted */
};

/* What a pod adds to counters, by its labels or by its terms. */
struct addition {
    uint32_t counter;
    int32_t value;
};

struct addition_list {
    uint32_t epoch; /* of the owner that it is about; 0: unknown */
    uint32_t first, len;
};

struct addition_memo {
    VEC(struct addition_list) lists; /* by number of the owner */
    VEC(struct addition) pool;
};

struct rows_state {
    VEC(struct key_counter) counters;
    struct addition_memo by_labels, by_terms;
    const struct affinity_self *self;
    bool self_match;    /* do the pod's own affinity terms all select it? */
    bool counts_labels; /* has the pod terms of its own? */
    bool scores_others; /* do terms of others score? */
};

enum { DETAIL_AFFINITY = 1, DETAIL_ANTI, DETAIL_OTHERS };

static uint32_t counter_for(struct table *table, struct rows_state *state, enum purpose purpose, sym key)
{
    for (uint32_t i = 0; i < state->counters.len; i++)
        if (state->counters.items[i].key == key && state->counters.items[i].purpose == purpose)
            return i;
    struct key_counter *item = vec_push(&state->counters);
    *item = (struct key_counter){ .purpose = purpose, .key = key };
    intern_ref(&table->cluster->syms, key);
    struct topology *topo = cluster_topology(table->cluster, key);
    topo->users++;
    domain_counter_init(&item->counter, topo, table->cluster->rows_cap, &table->arena);
    return (uint32_t)state->counters.len - 1;
}

static bool rows_prepare(struct table *table, struct table_part *part)
{
    const struct affinity_self *self = part->instance->self;
    const struct pod_class *own = table->pod->class;
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    state->self = self;
    state->self_match = terms_all_match(table->cluster, &own->affinity, own->labels);
    state->counts_labels = own->affinity.len || own->anti.len || own->preferred.len;
    state->scores_others = own->preferred.len || !self->ignore_preferred_of_others;
    part->state = state;
    part->filters_groups = part->scores_groups = true;
    /* A node must have the keys of the pod's affinity terms even while no pod matches. */
    for (uint32_t i = 0; i < own->affinity.len; i++)
        counter_for(table, state, FOR_AFFINITY, own->affinity.items[i].topology_key);
    return true;
}

static void rows_release(struct table *table, struct table_part *part)
{
    struct rows_state *state = part->state;
    vec_for(&state->counters, item) {
        item->counter.topo->users--;
        intern_unref(&table->cluster->syms, item->key);
    }
    vec_release(&state->counters);
    vec_release(&state->by_labels.lists);
    vec_release(&state->by_labels.pool);
    vec_release(&state->by_terms.lists);
    vec_release(&state->by_terms.pool);
}

static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    const struct rows_state *state = part->state;
    uint64_t version = table->cluster->namespaces_version;
    vec_for(&state->counters, item)
        version += item->counter.topo->shape;
    return version;
}

/* ---- what pods contribute ---- */
static void add(struct table *table, struct rows_state *state, struct addition_memo *memo,
                enum purpose purpose, sym key, int32_t value)
{
    uint32_t counter = counter_for(table, state, purpose, key);
    *vec_push(&memo->pool) = (struct addition){ counter, value };
}

static void learn_labels(struct table *table, struct rows_state *state, const struct label_owner *owner)
{
    const struct pod_class *own = table->pod->class;
    struct addition_memo *memo = &state->by_labels;
    if (terms_all_match(table->cluster, &own->affinity, owner))
        for (uint32_t i = 0; i < own->affinity.len; i++)
            add(table, state, memo, FOR_AFFINITY, own->affinity.items[i].topology_key, 1);
    for (uint32_t i = 0; i < own->anti.len; i++)
        if (pod_term_matches(table->cluster, &own->anti.items[i], owner, true))
            add(table, state, memo, FOR_ANTI, own->anti.items[i].topology_key, 1);
    for (uint32_t i = 0; i < own->preferred.len; i++)
        if (pod_term_matches(table->cluster, &own->preferred.items[i], owner, true))
            add(table, state, memo, FOR_SCORE, own->preferred.items[i].topology_key,
                own->preferred.items[i].weight);
}

static void learn_terms(struct table *table, struct rows_state *state, const struct term_owner *owner)
{
    const struct label_owner *labels = table->pod->class->labels;
    struct addition_memo *memo = &state->by_terms;
    for (uint32_t i = 0; i < owner->anti.len; i++)
        if (pod_term_matches(table->cluster, &owner->anti.items[i], labels, false))
            add(table, state, memo, FOR_OTHERS_ANTI, owner->anti.items[i].topology_key, 1);
    if (!state->scores_others)
        return;
    for (uint32_t i = 0; state->self->hard_weight > 0 && i < owner->affinity.len; i++)
        if (pod_term_matches(table->cluster, &owner->affinity.items[i], labels, false))
            add(table, state, memo, FOR_SCORE, owner->affinity.items[i].topology_key,
                state->self->hard_weight);
    for (uint32_t i = 0; i < owner->preferred.len; i++)
        if (pod_term_matches(table->cluster, &owner->preferred.items[i], labels, false))
            add(table, state, memo, FOR_SCORE, owner->preferred.items[i].topology_key,
                owner->preferred.items[i].weight);
}

/* The list of an owner; `known` tells whether it must be learnt first. */
static struct addition_list *memo_list(struct addition_memo *memo, uint32_t number, uint32_t epoch,
                                       bool *known)
{
    while (memo->lists.len <= number)
        *vec_push(&memo->lists) = (struct addition_list){ 0 };
    struct addition_list *list = &memo->lists.items[number];
    *known = list->epoch == epoch;
    if (!*known)
        *list = (struct addition_list){ .epoch = epoch, .first = (uint32_t)memo->pool.len };
    return list;
}

static void apply(struct rows_state *state, const struct addition_memo *memo,
                  const struct addition_list *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        const struct addition *item = &memo->pool.items[list->first + i];
        state->counters.items[item->counter].row_value += item->value;
    }
}

static void count_by_labels(struct table *table, struct rows_state *state, const struct pod_info *pod)
{
    const struct label_owner *owner = pod->class->labels;
    bool known;
    struct addition_list *list = memo_list(&state->by_labels, owner->number, owner->epoch, &known);
    if (!known) {
        learn_labels(table, state, owner);
        list->len = (uint32_t)state->by_labels.pool.len - list->first;
    }
    apply(state, &state->by_labels, list);
}

static const struct addition_list *additions_by_terms(struct table *table, struct rows_state *state,
                                                      const struct term_owner *owner)
{
    bool known;
    struct addition_list *list = memo_list(&state->by_terms, owner->number, owner->epoch, &known);
    if (!known) {
        learn_terms(table, state, owner);
        list->len = (uint32_t)state->by_terms.pool.len - list->first;
    }
    return list;
}

static void count_row(struct table *table, struct rows_state *state, uint32_t row)
{
    const struct node_entry *node = &table->cluster->nodes.items[row];
    vec_for(&state->counters, item)
        item->row_value = 0;
    if (node->api) {
        if (state->counts_labels)
            vec_for(&node->pods, pod)
                count_by_labels(table, state, *pod);
        vec_for(&node->with_affinity, pod)
            apply(state, &state->by_terms, additions_by_terms(table, state, (*pod)->class->terms));
    }
    vec_for(&state->counters, item) {
        int64_t value = MAX(MIN(item->row_value, INT32_MAX), INT32_MIN);
        domain_counter_set(&item->counter, row, node->api, (int32_t)value);
    }
}

/* ---- all rows: pods are found by the labels that terms select, and by the terms that select our labels ---- */
static void add_everywhere(struct table *table, struct key_counter *item, const struct placed_pod *pods,
                           size_t len, int32_t value)
{
    if (!item->values)
        item->values = arena_array(table_scratch(table), int32_t, table->cluster->rows_cap);
    for (size_t i = 0; i < len; i++)
        if (table->cluster->col.live[pods[i].row])
            item->values[pods[i].row] += value;
}

static void count_selected(struct table *table, struct rows_state *state, const struct pod_term *term,
                           enum purpose purpose)
{
    const struct pod_terms *affinity = &table->pod->class->affinity;
    const owner_vec *owners = match_owners(&table->cluster->matches, &term->selector, &table->cluster->syms);
    vec_for(owners, owner) {
        bool selected = purpose == FOR_AFFINITY && affinity->len > 1
                            ? terms_all_match(table->cluster, affinity, *owner)
                            : pod_term_takes_namespace(table->cluster, term, *owner, true);
        if (!selected || !(*owner)->placed.len)
            continue;
        uint32_t counter = counter_for(table, state, purpose, term->topology_key);
        add_everywhere(table, &state->counters.items[counter], (*owner)->placed.items, (*owner)->placed.len,
                       purpose == FOR_SCORE ? term->weight : 1);
    }
}

static void count_selecting(struct table *table, struct rows_state *state)
{
    const term_vec *owners = match_terms(&table->cluster->matches, &table->pod->class->labels->labels);
    vec_for(owners, owner) {
        if (!(*owner)->placed.len)
            continue;
        const struct addition_list *list = additions_by_terms(table, state, *owner);
        for (uint32_t i = 0; i < list->len; i++) {
            struct addition item = state->by_terms.pool.items[list->first + i];
            add_everywhere(table, &state->counters.items[item.counter], (*owner)->placed.items,
                           (*owner)->placed.len, item.value);
        }
    }
}

static void count_all(struct table *table, struct rows_state *state, uint32_t len)
{
    const struct pod_class *own = table->pod->class;
    for (uint32_t i = 0; i < own->affinity.len; i++)
        count_selected(table, state, &own->affinity.items[i], FOR_AFFINITY);
    for (uint32_t i = 0; i < own->anti.len; i++)
        count_selected(table, state, &own->anti.items[i], FOR_ANTI);
    for (uint32_t i = 0; i < own->preferred.len; i++)
        count_selected(table, state, &own->preferred.items[i], FOR_SCORE);
    if (table->cluster->pods_with_affinity)
        count_selecting(table, state);
    vec_for(&state->counters, item) {
        if (!item->values)
            item->values = arena_array(table_scratch(table), int32_t, table->cluster->rows_cap);
        domain_counter_fill(&item->counter, NULL, item->values, len);
        item->values = NULL; /* scratch */
    }
}

/* A memo that has seen too many labels and terms come and go starts over. */
enum { MEMO_MAX = 1 << 16 };

static void rows_count(struct table *table, struct table_part *part, struct row_span span)
{
    struct rows_state *state = part->state;
    size_t known = state->counters.len;
    if (!span.rows) {
        count_all(table, state, span.len);
        part->inputs = (uint32_t)state->counters.len;
        return;
    }
    if (state->counts_labels || state->counters.len || table->cluster->pods_with_affinity)
        for (uint32_t i = 0; i < span.len; i++)
            count_row(table, state, span.rows[i]);
    if (state->counters.len != known || state->by_labels.pool.len + state->by_terms.pool.len > MEMO_MAX)
        table->must_rebuild = true;
}

static void rows_input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    for (uint32_t c = 0; c < part->inputs; c++)
        domain_counter_input(&state->counters.items[c].counter, span, table->inputs[part->first_input + c]);
}

/* ---- judging groups ---- */
/* Is there a pod at all that the pod's affinity terms select, in a domain of their keys? */
static bool nobody_selected(const struct rows_state *state)
{
    vec_for(&state->counters, item)
        if (item->purpose == FOR_AFFINITY && item->counter.total)
            return false;
    return true;
}

static int64_t sum_of(const struct rows_state *state, const uint32_t *inputs, enum purpose purpose, sym key)
{
    for (uint32_t i = 0; i < state->counters.len; i++)
        if (state->counters.items[i].purpose == purpose && state->counters.items[i].key == key)
            return domain_counter_resolve(&state->counters.items[i].counter, inputs[i]);
    return 0;
}

static bool affinity_holds(const struct table *table, const struct rows_state *state, const uint32_t *inputs)
{
    const struct pod_terms *terms = &table->pod->class->affinity;
    bool pods_there = true;
    for (uint32_t t = 0; t < terms->len; t++) {
        sym key = terms->items[t].topology_key;
        for (uint32_t i = 0; i < state->counters.len; i++) {
            const struct key_counter *item = &state->counters.items[i];
            if (item->purpose != FOR_AFFINITY || item->key != key)
                continue;
            if (inputs[i] == INPUT_NONE)
                return false;
            pods_there &= domain_counter_resolve(&item->counter, inputs[i]) > 0;
        }
    }
    return pods_there || (state->self_match && nobody_selected(state));
}

static uint32_t rows_group_filter(struct table *table, struct table_part *part, const uint32_t *all_inputs)
{
    const struct rows_state *state = part->state;
    const uint32_t *inputs = all_inputs + part->first_input;
    const struct pod_terms *anti = &table->pod->class->anti;
    if (!affinity_holds(table, state, inputs))
        return DETAIL_AFFINITY;
    for (uint32_t i = 0; i < anti->len; i++)
        if (sum_of(state, inputs, FOR_ANTI, anti->items[i].topology_key) > 0)
            return DETAIL_ANTI;
    for (uint32_t i = 0; i < state->counters.len; i++)
        if (state->counters.items[i].purpose == FOR_OTHERS_ANTI &&
            domain_counter_resolve(&state->counters.items[i].counter, inputs[i]) > 0)
            return DETAIL_OTHERS;
    return 0;
}

static int64_t rows_group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    const struct rows_state *state = part->state;
    int64_t score = 0;
    for (uint32_t i = 0; i < state->counters.len; i++)
        if (state->counters.items[i].purpose == FOR_SCORE)
            score += domain_counter_resolve(&state->counters.items[i].counter, inputs[part->first_input + i]);
    return score;
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)part, (void)cycle, (void)row;
    if (detail == DETAIL_AFFINITY)
        return reject(STATUS_UNRESOLVABLE, AFFINITY_NOT_MATCHED);
    if (detail == DETAIL_ANTI)
        return reject(STATUS_UNSCHEDULABLE, ANTI_AFFINITY_NOT_MATCHED);
    return reject(STATUS_UNSCHEDULABLE, OTHERS_ANTI_AFFINITY);
}

const struct row_forms affinity_rows = {
    .prepare = rows_prepare,
    .release = rows_release,
    .version = rows_version,
    .count = rows_count,
    .input = rows_input,
    .group_filter = rows_group_filter,
    .group_score = rows_group_score,
    .explain = rows_explain,
};
