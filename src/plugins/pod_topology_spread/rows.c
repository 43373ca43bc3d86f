/* rows.c: PodTopologySpread over many rows: counters per constraint instead of scanning pods, verdicts and scores per
 * group of nodes instead of per node. */
#include "plugins/pod_topology_spread/rows.h"

#include <math.h>
#include <stdlib.h>

#include "index/domain_counter.h"
#include "index/match.h"
#include "index/row_match.h"
#include "plugins/pod_topology_spread/constraints.h"

struct counted {
    const struct constraint *constraint;
    struct selector selector;
    bool counts_nothing, self; /* an empty selector; does the pod match its own selector? */
    struct topology *topo;
    struct domain_counter counter;
    struct match_memo memo;
    double weight;
    uint32_t *seen, seen_cap; /* by domain: the last decision in which it was feasible */
};

struct rows_state {
    struct constraint_list hard, soft;
    struct counted *items; /* hard ones, then soft ones */
    uint32_t len;
    struct row_selector wanted;
    bool honor_affinity, honor_taints;
    uint32_t decision;
};

enum { DETAIL_MISSING = 1, DETAIL_UNEVEN };

static void compile_selector(struct selector *sel, struct table *table, const struct spread_selector *api)
{
    struct intern *syms = &table->cluster->syms;
    *sel = (struct selector){ 0 };
    selector_add_pairs(sel, syms, &table->arena, api->pairs, api->pairs_len);
    for (uint32_t i = 0; i < api->selectors_len; i++) {
        const struct label_selector *part = api->selectors[i];
        sel->never |= !part || part->invalid;
        if (!part)
            continue;
        selector_add_pairs(sel, syms, &table->arena, part->match_labels.items, part->match_labels.len);
        selector_add(sel, syms, &table->arena, part->match_expressions.items, part->match_expressions.len);
    }
}

static void counted_init(struct counted *item, struct table *table, const struct constraint *constraint)
{
    struct cluster *cluster = table->cluster;
    sym key = intern_get(&cluster->syms, constraint->topology_key);
    item->constraint = constraint;
    item->topo = cluster_topology(cluster, key);
    item->topo->users++;
    intern_unref(&cluster->syms, key);
    compile_selector(&item->selector, table, &constraint->selector);
    item->counts_nothing = spread_selector_empty(&constraint->selector);
    item->self = spread_selector_matches(&constraint->selector, &table->pod->api->meta.labels);
    domain_counter_init(&item->counter, item->topo, cluster->rows_cap, &table->arena);
}

/* Where defaults do not ask for all keys, a missing label and an empty value are one domain: too odd to index. */
static bool has_empty_domain(const struct table *table, const struct rows_state *state)
{
    if (state->soft.require_all_keys)
        return false;
    sym empty = intern_find(&table->cluster->syms, STR(""));
    for (uint32_t i = state->hard.len; i < state->len; i++)
        if (topology_find(state->items[i].topo, empty))
            return true;
    return false;
}

static bool rows_prepare(struct table *table, struct table_part *part)
{
    const struct spread_self *self = part->instance->self;
    const struct pod *pod = table->pod->api;
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    constraints_of(self, table->cluster, pod, true, &table->arena, &state->hard);
    constraints_of(self, table->cluster, pod, false, &table->arena, &state->soft);
    state->len = state->hard.len + state->soft.len;
    if (!state->len)
        return true;
    state->items = arena_array(&table->arena, struct counted, state->len);
    for (uint32_t i = 0; i < state->len; i++) {
        const struct constraint *constraint =
            i < state->hard.len ? &state->hard.items[i] : &state->soft.items[i - state->hard.len];
        counted_init(&state->items[i], table, constraint);
        state->honor_affinity |= constraint->honor_affinity;
        state->honor_taints |= constraint->honor_taints;
    }
    const struct affinity *affinity = pod->spec.affinity;
    row_selector_init(&state->wanted, table->cluster, &table->arena, &pod->spec.node_selector,
                      affinity && affinity->node ? affinity->node->required : NULL);
    state->honor_affinity &= state->wanted.has_terms || state->wanted.all.len;
    part->state = state;
    part->inputs = state->len;
    part->filters_groups = state->hard.len > 0;
    part->scores_groups = state->soft.len > 0;
    return !has_empty_domain(table, state);
}

static void rows_release(struct table *table, struct table_part *part)
{
    struct rows_state *state = part->state;
    for (uint32_t i = 0; i < state->len; i++) {
        selector_release(&state->items[i].selector, &table->cluster->syms);
        match_memo_release(&state->items[i].memo);
        state->items[i].topo->users--;
    }
    row_selector_release(&state->wanted, table->cluster);
}

static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    const struct rows_state *state = part->state;
    uint64_t version = table->pod->api->spec.spread.len ? 0 : table->cluster->controllers_version;
    for (uint32_t i = 0; state && i < state->len; i++)
        version = version * 31 + state->items[i].topo->shape;
    return version * 2 + (state && has_empty_domain(table, state));
}

/* ---- counting ---- */
static bool label_owner_matches(struct counted *item, const struct cluster *cluster,
                                const struct label_owner *owner)
{
    int known = match_memo_get(&item->memo, owner->number, owner->epoch);
    if (known < 0) {
        known = selector_matches(&item->selector, &owner->labels, &cluster->syms);
        match_memo_put(&item->memo, owner->number, owner->epoch, known);
    }
    return known;
}

static int32_t count_pods(struct counted *item, const struct table *table, const struct node_entry *node)
{
    int32_t count = 0;
    sym namespace = table->pod->class->labels->namespace;
    if (item->counts_nothing)
        return 0;
    vec_for(&node->pods, pod) {
        const struct label_owner *owner = (*pod)->class->labels;
        count += !(*pod)->terminating && owner->namespace == namespace &&
                 label_owner_matches(item, table->cluster, owner);
    }
    return count;
}

static bool has_keys(const struct counted *items, uint32_t len, uint32_t row)
{
    for (uint32_t i = 0; i < len; i++)
        if (!items[i].topo->domain_of[row])
            return false;
    return true;
}

/* Does a node count for a constraint? */
static bool row_counts(const struct table *table, const struct rows_state *state, const struct counted *item,
                       uint32_t row)
{
    const struct node_entry *node = &table->cluster->nodes.items[row];
    bool soft = item >= state->items + state->hard.len;
    if (!node->api)
        return false;
    /* A soft constraint over host names looks at the node's own pods, whether the node counts or not. */
    if (soft && item->constraint->is_hostname)
        return true;
    if (soft ? state->soft.require_all_keys && !has_keys(state->items + state->hard.len, state->soft.len, row)
             : !has_keys(state->items, state->hard.len, row))
        return false;
    if (item->constraint->honor_affinity && state->honor_affinity &&
        !row_selector_matches(&state->wanted, table->cluster, row))
        return false;
    return !item->constraint->honor_taints || !node->taints || !node_repels_pod(node->api, table->pod->api);
}

static void count_rows(struct table *table, struct rows_state *state, struct row_span span)
{
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span.rows[i];
        for (uint32_t c = 0; c < state->len; c++) {
            struct counted *item = &state->items[c];
            bool counts = row_counts(table, state, item, row);
            int32_t pods = counts ? count_pods(item, table, &table->cluster->nodes.items[row]) : 0;
            domain_counter_set(&item->counter, row, counts, pods);
        }
    }
}

/* The same for all rows, column by column. */
struct row_masks {
    uint8_t *hard, *soft;   /* live, with all the keys that are asked for */
    uint8_t *wanted, *open; /* NULL: all */
};

static uint8_t *keys_mask(struct table *table, const struct counted *items, uint32_t len, uint32_t rows)
{
    uint8_t *mask = arena_alloc(table_scratch(table), rows);
    memcpy(mask, table->cluster->col.live, rows);
    for (uint32_t i = 0; i < len; i++) {
        const uint32_t *domain_of = items[i].topo->domain_of;
        for (uint32_t row = 0; row < rows; row++)
            mask[row] &= domain_of[row] != 0;
    }
    return mask;
}

static uint8_t *open_mask(struct table *table, uint32_t rows)
{
    const struct cluster *cluster = table->cluster;
    uint8_t *open = arena_alloc(table_scratch(table), rows);
    for (uint32_t row = 0; row < rows; row++)
        open[row] =
            !cluster->col.taints[row] || !node_repels_pod(cluster->nodes.items[row].api, table->pod->api);
    return open;
}

static struct row_masks row_masks(struct table *table, const struct rows_state *state, uint32_t rows)
{
    const struct counted *soft = state->items + state->hard.len;
    struct row_masks masks = { 0 };
    masks.hard = keys_mask(table, state->items, state->hard.len, rows);
    masks.soft = keys_mask(table, soft, state->soft.require_all_keys ? state->soft.len : 0, rows);
    if (state->honor_affinity) {
        masks.wanted = arena_alloc(table_scratch(table), rows);
        row_selector_match_all(&state->wanted, table->cluster, table_scratch(table), rows, masks.wanted);
    }
    if (state->honor_taints && table->cluster->tainted_nodes)
        masks.open = open_mask(table, rows);
    return masks;
}

static const uint8_t *counts_mask(struct table *table, const struct rows_state *state,
                                  const struct counted *item, struct row_masks masks, uint32_t rows)
{
    bool soft = item >= state->items + state->hard.len;
    const uint8_t *keys = soft ? masks.soft : masks.hard;
    const uint8_t *wanted = item->constraint->honor_affinity ? masks.wanted : NULL;
    const uint8_t *open = item->constraint->honor_taints ? masks.open : NULL;
    if (soft && item->constraint->is_hostname)
        return table->cluster->col.live;
    if (!wanted && !open)
        return keys;
    uint8_t *mask = arena_alloc(table_scratch(table), rows);
    for (uint32_t row = 0; row < rows; row++)
        mask[row] = keys[row] & (wanted ? wanted[row] : 1) & (open ? open[row] : 1);
    return mask;
}

/* The pods that a selector matches are found by their labels, not node by node. */
static int32_t *count_all_pods(struct table *table, const struct counted *item, uint32_t len)
{
    const owner_vec *owners = NULL;
    int32_t *values = arena_array(table_scratch(table), int32_t, len);
    sym namespace = table->pod->class->labels->namespace;
    if (item->counts_nothing)
        return values;
    owners = match_owners(&table->cluster->matches, &item->selector, &table->cluster->syms);
    vec_for(owners, owner) {
        if ((*owner)->namespace != namespace)
            continue;
        vec_for(&(*owner)->placed, pod)
            values[pod->row] += !pod->terminating;
    }
    return values;
}

static void count_all(struct table *table, struct rows_state *state, uint32_t rows)
{
    struct row_masks masks = row_masks(table, state, rows);
    for (uint32_t c = 0; c < state->len; c++) {
        struct counted *item = &state->items[c];
        int32_t *values = count_all_pods(table, item, rows);
        const uint8_t *counts = counts_mask(table, state, item, masks, rows);
        for (uint32_t row = 0; row < rows; row++)
            values[row] = counts[row] ? values[row] : 0;
        domain_counter_fill(&item->counter, counts, values, rows);
    }
}

static void rows_count(struct table *table, struct table_part *part, struct row_span span)
{
    if (span.rows)
        count_rows(table, part->state, span);
    else
        count_all(table, part->state, span.len);
}

/* A host name's own count, even where several nodes share the name. */
static uint32_t hostname_input(const struct counted *item, uint32_t row)
{
    uint32_t input = INPUT_NONE;
    if (item->topo->domain_of[row])
        (void)input_from_value(item->counter.rows[row].value, &input);
    return input;
}

static void rows_input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    for (uint32_t c = 0; c < state->len; c++) {
        const struct counted *item = &state->items[c];
        uint32_t *column = table->inputs[part->first_input + c];
        bool hostname = c >= state->hard.len && item->constraint->is_hostname;
        if (!hostname)
            domain_counter_input(&item->counter, span, column);
        for (uint32_t i = 0; hostname && i < span.len; i++)
            column[span_row(span, i)] = hostname_input(item, span_row(span, i));
    }
}

/* ---- judging groups ---- */
static uint32_t rows_group_filter(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    struct rows_state *state = part->state;
    for (uint32_t i = 0; i < state->hard.len; i++) {
        struct counted *item = &state->items[i];
        uint32_t input = inputs[part->first_input + i];
        if (input == INPUT_NONE)
            return DETAIL_MISSING;
        int64_t least = item->counter.domains < (uint32_t)item->constraint->min_domains
                            ? 0
                            : domain_counter_least(&item->counter);
        if (domain_counter_resolve(&item->counter, input) + item->self - least > item->constraint->max_skew)
            return DETAIL_UNEVEN;
    }
    return 0;
}

static bool left_out(const struct rows_state *state, const uint32_t *soft_inputs)
{
    for (uint32_t i = 0; state->soft.require_all_keys && i < state->soft.len; i++)
        if (soft_inputs[i] == INPUT_NONE)
            return true;
    return false;
}

/* Is this the first group of the decision in that domain? */
static bool first_seen(struct counted *item, uint32_t domain, uint32_t decision)
{
    if (domain >= item->seen_cap) {
        uint32_t cap = MAX((uint32_t)item->topo->domains.len, domain + 1);
        uint32_t *wider = arena_array(item->counter.arena, uint32_t, cap);
        if (item->seen_cap)
            memcpy(wider, item->seen, item->seen_cap * sizeof(*wider));
        item->seen = wider;
        item->seen_cap = cap;
    }
    bool first = item->seen[domain] != decision;
    item->seen[domain] = decision;
    return first;
}

/* How many domains do the feasible nodes offer? */
static void rows_group_begin(struct table *table, struct table_part *part, const struct group_view *groups,
                             uint32_t len)
{
    (void)table;
    struct rows_state *state = part->state;
    uint32_t first = part->first_input + state->hard.len;
    state->decision++;
    for (uint32_t c = 0; c < state->soft.len; c++) {
        struct counted *item = &state->items[state->hard.len + c];
        int64_t size = 0;
        for (uint32_t g = 0; g < len; g++) {
            uint32_t input = groups[g].inputs[first + c];
            if (left_out(state, groups[g].inputs + first))
                continue;
            if (item->constraint->is_hostname || input_is_value(input))
                size += groups[g].rows;
            else
                size += first_seen(item, input, state->decision);
        }
        item->weight = log((double)(size + 2));
    }
}

static int64_t rows_group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    (void)table;
    const struct rows_state *state = part->state;
    const uint32_t *soft = inputs + part->first_input + state->hard.len;
    double score = 0;
    if (left_out(state, soft))
        return SPREAD_LEFT_OUT;
    for (uint32_t i = 0; i < state->soft.len; i++) {
        const struct counted *item = &state->items[state->hard.len + i];
        if (soft[i] == INPUT_NONE)
            continue;
        int64_t pods = domain_counter_resolve(&item->counter, soft[i]);
        score += (double)pods * item->weight + (double)(item->constraint->max_skew - 1);
    }
    return (int64_t)round(score);
}

static struct status rows_explain(struct table *table, struct table_part *part, struct cycle *cycle,
                                  uint32_t row, uint32_t detail)
{
    (void)table, (void)part, (void)cycle, (void)row;
    if (detail == DETAIL_MISSING)
        return reject(STATUS_UNRESOLVABLE, SPREAD_MISSING_LABEL);
    return reject(STATUS_UNSCHEDULABLE, SPREAD_TOO_UNEVEN);
}

const struct row_forms spread_rows = {
    .prepare = rows_prepare,
    .release = rows_release,
    .version = rows_version,
    .count = rows_count,
    .input = rows_input,
    .group_filter = rows_group_filter,
    .group_begin = rows_group_begin,
    .group_score = rows_group_score,
    .explain = rows_explain,
};
