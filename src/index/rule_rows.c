/* rule_rows.c: see rule_rows.h. */
#include "index/rule_rows.h"

struct rows_state {
    const void *filter, *score; /* what prepare() made; NULL: nothing to say */
    int32_t uniform_score;      /* of every node, where the part has no input */
};

/* ---- columns whose distinct values have numbers ---- */
/* NULL: the column has none. A row with the number 0 has nothing in the column. */
static const uint32_t *value_numbers(const struct cluster *cluster, enum node_column column, size_t *ret_len)
{
    switch (column) {
    case COLUMN_TAINTS:
        *ret_len = cluster->taint_lists.len;
        return cluster->col.taints;
    case COLUMN_UNSCHEDULABLE:
        *ret_len = 2;
        return cluster->col.unschedulable;
    default:
        return NULL;
    }
}

/* Does no node have anything in the column? */
static bool is_uniform(const struct cluster *cluster, enum node_column column)
{
    return (column == COLUMN_TAINTS && !cluster->tainted_nodes) ||
           (column == COLUMN_UNSCHEDULABLE && !cluster->unschedulable_nodes);
}

/* ---- preparation ---- */
/* Both rules of a plugin are about the same column. */
static enum node_column column_of(const struct plugin *plugin)
{
    return (plugin->filter_rule ? plugin->filter_rule : plugin->score_rule)->column;
}

static bool prepare(struct table *table, struct table_part *part)
{
    const struct plugin *plugin = part->instance->plugin;
    const struct node_rule *filter = plugin->filter_rule, *score = plugin->score_rule;
    struct rows_state *state = arena_new(&table->arena, struct rows_state);
    struct rule_subject subject = { .cluster = table->cluster,
                                    .pod = table->pod->api,
                                    .class = table->pod->class,
                                    .self = part->instance->self,
                                    .arena = &table->arena,
                                    .failure = STATUS_OK };
    enum node_column column = column_of(plugin);
    part->state = state;
    part->has_version =
        column == COLUMN_TAINTS || column == COLUMN_UNSCHEDULABLE || (score && score->version);
    if (filter && column != COLUMN_NAME) {
        state->filter = rule_prepare(filter, &subject);
        part->filters = state->filter && (!is_uniform(table->cluster, column) ||
                                          filter->judge(state->filter, (union column_value){ 0 }));
    }
    if (score && status_ok(subject.failure)) {
        state->score = rule_prepare(score, &subject);
        part->scores_groups = state->score && plugin->normalize;
        part->scores = state->score && !plugin->normalize;
        part->inputs = part->scores_groups && !is_uniform(table->cluster, column);
        if (part->scores_groups && !part->inputs)
            state->uniform_score = (int32_t)score->judge(state->score, (union column_value){ 0 });
    }
    return status_ok(subject.failure);
}

static void release(struct table *table, struct table_part *part)
{
    const struct plugin *plugin = part->instance->plugin;
    struct rows_state *state = part->state;
    if (state->filter && plugin->filter_rule->release)
        plugin->filter_rule->release((void *)state->filter, table->cluster);
    if (state->score && plugin->score_rule->release)
        plugin->score_rule->release((void *)state->score, table->cluster);
}

static uint64_t version(const struct table *table, const struct table_part *part)
{
    const struct plugin *plugin = part->instance->plugin;
    const struct rows_state *state = part->state;
    uint64_t changes = plugin->score_rule && plugin->score_rule->version
                           ? plugin->score_rule->version(table->cluster, state->score)
                           : 0;
    return changes * 2 + is_uniform(table->cluster, column_of(plugin));
}

/* ---- filling ---- */
typedef void (*take_answer)(struct table *table, struct table_part *part, uint32_t row, int32_t answer);

static int32_t judge_row(const struct table *table, const struct node_rule *rule, const void *pod,
                         uint32_t row)
{
    return (int32_t)rule->judge(pod,
                                rule_value(rule->column, (struct node_view){ table->cluster, row, NULL }));
}

/* Gives `take` the rule's answer for each row that may still be feasible. */
static inline __attribute__((always_inline)) void for_rows(struct table *table, struct table_part *part,
                                                           const struct node_rule *rule, const void *pod,
                                                           struct row_span span, take_answer take)
{
    enum { UNKNOWN = INT32_MIN };
    size_t values = 0;
    const uint32_t *numbers = span.rows ? NULL : value_numbers(table->cluster, rule->column, &values);
    if (!span.rows && rule->scan) {
        int32_t *answers = arena_array(table_scratch(table), int32_t, span.len);
        rule->scan(pod, &(struct rule_scan){ table->cluster, span.len, table_scratch(table) }, answers);
        for (uint32_t row = 0; row < span.len; row++)
            take(table, part, row, answers[row]);
        return;
    }
    if (!numbers) {
        for (uint32_t i = 0; i < span.len; i++)
            if (!table->verdict[span_row(span, i)])
                take(table, part, span_row(span, i), judge_row(table, rule, pod, span_row(span, i)));
        return;
    }
    int32_t *known = arena_alloc(table_scratch(table), arena_bytes(values, sizeof(*known)));
    for (size_t i = 0; i < values; i++)
        known[i] = UNKNOWN;
    for (uint32_t row = 0; row < span.len; row++) {
        int32_t *answer = &known[numbers[row]];
        if (*answer == UNKNOWN && table->verdict[row])
            continue; /* it may have no node to judge */
        if (*answer == UNKNOWN)
            *answer = judge_row(table, rule, pod, row);
        take(table, part, row, *answer);
    }
}

static void take_rejection(struct table *table, struct table_part *part, uint32_t row, int32_t answer)
{
    if (answer)
        table_reject(table, part, row, (uint32_t)answer);
}

static void take_score(struct table *table, struct table_part *part, uint32_t row, int32_t answer)
{
    table->local[row] += part->instance->weight * answer;
}

static void take_input(struct table *table, struct table_part *part, uint32_t row, int32_t answer)
{
    table->inputs[part->first_input][row] = (uint32_t)answer;
}

static void filter(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    for_rows(table, part, part->instance->plugin->filter_rule, state->filter, span, take_rejection);
}

static void score(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    for_rows(table, part, part->instance->plugin->score_rule, state->score, span, take_score);
}

static void input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct rows_state *state = part->state;
    for_rows(table, part, part->instance->plugin->score_rule, state->score, span, take_input);
}

static int64_t group_score(struct table *table, struct table_part *part, const uint32_t *inputs)
{
    const struct rows_state *state = part->state;
    (void)table;
    return part->inputs ? (int32_t)inputs[part->first_input] : state->uniform_score;
}

static struct status explain(struct table *table, struct table_part *part, struct cycle *cycle, uint32_t row,
                             uint32_t detail)
{
    (void)table, (void)cycle, (void)row;
    return rule_status(part->instance->plugin->filter_rule, detail);
}

const struct row_forms rule_rows = {
    .prepare = prepare,
    .release = release,
    .version = version,
    .filter = filter,
    .score = score,
    .input = input,
    .group_score = group_score,
    .explain = explain,
};
