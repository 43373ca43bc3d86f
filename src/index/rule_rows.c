/* rule_rows.c: see rule_rows.h. */
#include "index/rule_rows.h"

/* What a rule said about values that have numbers: repairs meet the same few again and again. */
struct memo {
    int64_t *answers; /* by number; UNKNOWN: not judged yet */
    size_t len;
    uint64_t lists_made; /* cluster->taint_lists_made, of these numbers */
};
#define UNKNOWN INT64_MIN

struct rows_state {
    const void *filter, *score; /* what prepare() made; NULL: nothing to say */
    struct memo of_filter, of_score;
    int32_t uniform_score; /* of every node, where the part has no input */
};

/* ---- columns whose distinct values have numbers ---- */
/* The number of each row's value; 0: nothing. NULL: the column has none. */
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

static union column_value numbered_value(const struct cluster *cluster, enum node_column column,
                                         size_t number)
{
    if (column == COLUMN_UNSCHEDULABLE)
        return (union column_value){ .unschedulable = number };
    const struct taint_list *list = cluster->taint_lists.items[number];
    return list ? (union column_value){ .taints = { list->items, list->len } } : (union column_value){ 0 };
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
    return status_ok(subject.failure) && !subject.is_wide;
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
static int32_t judge_row(const struct table *table, const struct node_rule *rule, const void *pod,
                         uint32_t row)
{
    return (int32_t)rule->judge(pod,
                                rule_value(rule->column, (struct node_view){ table->cluster, row, NULL }));
}

static void memo_reset(struct memo *memo, struct table *table, size_t values)
{
    if (memo->len < values) {
        memo->len = values * 2;
        memo->answers = arena_array(&table->arena, int64_t, memo->len);
    }
    for (size_t i = 0; i < memo->len; i++)
        memo->answers[i] = UNKNOWN;
    memo->lists_made = table->cluster->taint_lists_made;
}

/* judge_row() of rows that changed, one after another. */
struct rejudge {
    const struct table *table;
    const struct node_rule *rule;
    const void *pod;
    const uint32_t *numbers; /* of the rows' values; NULL: they have none */
    int64_t *answers;
};

static struct rejudge rejudge_begin(struct table *table, const struct node_rule *rule, const void *pod,
                                    struct memo *memo)
{
    size_t values;
    struct rejudge changed = { .table = table, .rule = rule, .pod = pod };
    changed.numbers = value_numbers(table->cluster, rule->column, &values);
    if (changed.numbers && (memo->len < values || memo->lists_made != table->cluster->taint_lists_made))
        memo_reset(memo, table, values);
    changed.answers = memo->answers;
    return changed;
}

static inline int32_t rejudge(const struct rejudge *changed, uint32_t row)
{
    if (!changed->numbers)
        return judge_row(changed->table, changed->rule, changed->pod, row);
    uint32_t number = changed->numbers[row];
    if (changed->answers[number] == UNKNOWN)
        changed->answers[number] = changed->rule->judge(
            changed->pod, numbered_value(changed->table->cluster, changed->rule->column, number));
    return (int32_t)changed->answers[number];
}

/* The answers for all rows: by the number of the row's value, or (where there are no numbers) by row. */
struct answers {
    const uint32_t *numbers;
    const int32_t *items;
};

static struct answers judge_all(struct table *table, const struct node_rule *rule, const void *pod,
                                uint32_t rows)
{
    struct arena *scratch = table_scratch(table);
    size_t values;
    const uint32_t *numbers = value_numbers(table->cluster, rule->column, &values);
    int32_t *items = arena_array(scratch, int32_t, numbers ? values : rows);
    for (size_t i = 0; numbers && i < values; i++)
        items[i] = (int32_t)rule->judge(pod, numbered_value(table->cluster, rule->column, i));
    if (rule->scan)
        rule->scan(pod, &(struct rule_scan){ table->cluster, rows, scratch }, items);
    for (uint32_t row = 0; !numbers && !rule->scan && row < rows; row++)
        items[row] = table->rejection[row] ? 0 : judge_row(table, rule, pod, row);
    return (struct answers){ numbers, items };
}

static void filter_changed(struct table *table, struct table_part *part, struct row_span span)
{
    struct rows_state *state = part->state;
    struct rejudge changed =
        rejudge_begin(table, part->instance->plugin->filter_rule, state->filter, &state->of_filter);
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span.rows[i];
        int32_t answer = table->rejection[row] ? 0 : rejudge(&changed, row);
        if (answer)
            table_reject(table, part, row, (uint32_t)answer);
    }
}

static void filter(struct table *table, struct table_part *part, struct row_span span)
{
    const struct node_rule *rule = part->instance->plugin->filter_rule;
    const void *pod = ((const struct rows_state *)part->state)->filter;
    uint32_t *rejection = table->rejection, rejections[1 + RULE_REJECTIONS_MAX] = { 0 };
    if (span.rows) {
        filter_changed(table, part, span);
        return;
    }
    for (uint32_t i = 0; i < RULE_REJECTIONS_MAX && rule->rejections[i].reason.len; i++)
        rejections[i + 1] = table_rejection(table, part, i + 1);
    struct answers all = judge_all(table, rule, pod, span.len);
    for (uint32_t row = 0; all.numbers && row < span.len; row++)
        rejection[row] = rejection[row] ? rejection[row] : rejections[all.items[all.numbers[row]]];
    for (uint32_t row = 0; !all.numbers && row < span.len; row++)
        rejection[row] = rejection[row] ? rejection[row] : rejections[all.items[row]];
}

static void score(struct table *table, struct table_part *part, struct row_span span)
{
    const struct node_rule *rule = part->instance->plugin->score_rule;
    struct rows_state *state = part->state;
    const void *pod = state->score;
    int32_t *local = table->local, weight = part->weight;
    if (span.rows) {
        struct rejudge changed = rejudge_begin(table, rule, pod, &state->of_score);
        for (uint32_t i = 0; i < span.len; i++)
            if (!table->rejection[span.rows[i]])
                local[span.rows[i]] += weight * rejudge(&changed, span.rows[i]);
        return;
    }
    struct answers all = judge_all(table, rule, pod, span.len);
    for (uint32_t row = 0; row < span.len; row++)
        local[row] += weight * all.items[all.numbers ? all.numbers[row] : row];
}

static void input(struct table *table, struct table_part *part, struct row_span span)
{
    const struct node_rule *rule = part->instance->plugin->score_rule;
    struct rows_state *state = part->state;
    const void *pod = state->score;
    uint32_t *column = table->inputs[part->first_input];
    if (span.rows) {
        struct rejudge changed = rejudge_begin(table, rule, pod, &state->of_score);
        for (uint32_t i = 0; i < span.len; i++)
            if (!table->rejection[span.rows[i]])
                column[span.rows[i]] = (uint32_t)rejudge(&changed, span.rows[i]);
        return;
    }
    struct answers all = judge_all(table, rule, pod, span.len);
    for (uint32_t row = 0; row < span.len; row++)
        column[row] = (uint32_t)all.items[all.numbers ? all.numbers[row] : row];
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
