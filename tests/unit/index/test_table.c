/* Tables: which pods can have one, the contents of the columns, and when a table must be rebuilt. */
#include "support/fixture.h"

#include "index/table.h"

/* ---- plugins ---- */
static enum status_code pre_filter_code, pre_score_code;
static bool narrows, prepares;
static uint32_t inputs;
static uint64_t version;
static int released;

static struct status any_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)cycle;
    if (narrows)
        *narrow = (struct node_names){ 0 };
    return (struct status){ .code = pre_filter_code };
}

static struct status any_filter(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    return STATUS_OK;
}

static struct status any_pre_score(struct cycle *cycle)
{
    (void)cycle;
    return (struct status){ .code = pre_score_code };
}

static struct status any_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    (void)cycle, (void)node;
    *ret = 0;
    return STATUS_OK;
}

static bool prepare(struct table *table, struct table_part *part)
{
    part->state = arena_new(&table->arena, int);
    part->filters = part->scores = true;
    part->inputs = inputs;
    return prepares;
}

static void release(struct table *table, struct table_part *part)
{
    (void)table, (void)part;
    released++;
}

static uint64_t version_now(const struct table *table, const struct table_part *part)
{
    (void)table, (void)part;
    return version;
}

/* Rejects odd rows, with a reason that depends on the row. */
static void fill_rejections(struct table *table, struct table_part *part, struct row_span span)
{
    for (uint32_t i = 0; i < span.len; i++)
        if (span_row(span, i) % 2)
            table_reject(table, part, span_row(span, i), span_row(span, i) % 4);
}

/* Rejects rows that are divisible by three. */
static void fill_other_rejections(struct table *table, struct table_part *part, struct row_span span)
{
    for (uint32_t i = 0; i < span.len; i++)
        if (span_row(span, i) % 3 == 0)
            table_reject(table, part, span_row(span, i), 9);
}

static void fill_scores(struct table *table, struct table_part *part, struct row_span span)
{
    (void)part;
    for (uint32_t i = 0; i < span.len; i++)
        table->local[span_row(span, i)] += (int32_t)span_row(span, i);
}

static void fill_inputs(struct table *table, struct table_part *part, struct row_span span)
{
    for (uint32_t c = 0; c < part->inputs; c++)
        for (uint32_t i = 0; i < span.len; i++)
            table->inputs[part->first_input + c][span_row(span, i)] =
                100 * part->first_input + span_row(span, i);
}

static const struct row_forms forms = { .prepare = prepare,
                                        .release = release,
                                        .version = version_now,
                                        .filter = fill_rejections,
                                        .score = fill_scores,
                                        .input = fill_inputs };
static const struct row_forms other_forms = { .prepare = prepare,
                                              .release = release,
                                              .version = version_now,
                                              .filter = fill_other_rejections,
                                              .score = fill_scores,
                                              .input = fill_inputs };
#define CALLBACKS \
    .pre_filter = any_pre_filter, .filter = any_filter, .pre_score = any_pre_score, .score = any_score
static const struct plugin with_rows = { .name = "First", CALLBACKS, .rows = &forms };
static const struct plugin also_with_rows = { .name = "Second", CALLBACKS, .rows = &other_forms };
static const struct plugin without_rows = { .name = "Plain", CALLBACKS, .reads = READS("spec.os") };
static const struct plugin without_reads = { .name = "Varies", CALLBACKS };
static const struct plugin prefilter_only = { .name = "Early", .pre_filter = any_pre_filter };

enum { NODES = 12, ABSENT = 5 };

static void setup(struct fixture *f, const struct plugin *first, const struct plugin *second)
{
    pre_filter_code = pre_score_code = STATUS_SUCCESS;
    narrows = false;
    prepares = true;
    inputs = 1;
    version = 1;
    released = 0;
    FIXTURE(f, NULL, first, second);
    for (int i = 0; i < NODES; i++)
        fixture_loadf(f, "{kind: Node, metadata: {name: h%d}}", i);
    fixture_load(f, "{kind: Pod, metadata: {name: stays}, spec: {nodeName: h5}}");
    cluster_remove_node(&f->cluster, STR("h5"));
    fixture_load(f, "{kind: Pod, metadata: {name: p}}");
}

/* ---- which pods can have a table ---- */
struct prepare_case {
    const char *name;
    const struct plugin *plugin;
    enum status_code pre_filter, pre_score;
    bool narrows, refuses;
    bool want;
    bool per_node; /* the plugin is called per node in each decision */
};

static const struct prepare_case cases[] = {
    { "with forms", &with_rows, .want = true },
    { "with forms, skipping the pod", &with_rows, STATUS_SKIP, .want = true },
    { "forms that do not know the pod", &with_rows, .refuses = true, .want = false },
    { "PreFilter rejects", &with_rows, STATUS_UNRESOLVABLE, .want = false },
    { "PreFilter narrows", &with_rows, .narrows = true, .want = false },
    { "without forms", &without_rows, .want = true, .per_node = true },
    { "without forms, scoring only", &without_rows, STATUS_SKIP, .want = true, .per_node = true },
    { "without forms, filtering only", &without_rows, STATUS_SUCCESS, STATUS_SKIP, .want = true,
      .per_node = true },
    { "without forms, skipping the pod", &without_rows, STATUS_SKIP, STATUS_SKIP, .want = true },
    { "without reads, skipping the pod", &without_reads, STATUS_SKIP, STATUS_SKIP, .want = true,
      .per_node = true },
    { "PreFilter alone", &prefilter_only, STATUS_SKIP, .want = true, .per_node = true },
};

static void test_prepare(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        struct table table = { 0 };
        setup(&f, cases[i].plugin, NULL);
        pre_filter_code = cases[i].pre_filter;
        pre_score_code = cases[i].pre_score;
        narrows = cases[i].narrows;
        prepares = !cases[i].refuses;
        if (table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL) != cases[i].want)
            fail_msg("%s: want %d", cases[i].name, cases[i].want);
        if ((table.per_node != 0) != cases[i].per_node)
            fail_msg("%s: per node %d", cases[i].name, !cases[i].per_node);
        table_release(&table);
        fixture_release(&f);
    }
}

/* A plugin that is enabled at some of its extension points only has no forms, and its Skip may not apply. */
static void test_half_enabled(void **state)
{
    (void)state;
    struct fixture f;
    struct table table = { 0 };
    setup(&f, &with_rows, NULL);
    f.profile.points[POINT_SCORE].len = 0;
    assert_false(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    table_release(&table);
    fixture_release(&f);
    setup(&f, &without_rows, NULL);
    pre_filter_code = pre_score_code = STATUS_SKIP;
    f.profile.points[POINT_PRE_FILTER].len = 0;
    assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    assert_int_equal(table.per_node, 1);
    table_release(&table);
    fixture_release(&f);
}

/* ---- columns ---- */
static void check_row(const struct table *table, uint32_t row)
{
    uint32_t number = table->rejection[row];
    if (row == ABSENT) {
        assert_int_equal(number, REJECTION_ABSENT);
        return;
    }
    assert_int_equal(number != 0, row % 2 || row % 3 == 0);
    if (number) { /* the first rejection is kept */
        const struct rejection *rejection = &table->rejections.items[number];
        assert_string_equal(rejection->part->instance->plugin->name, row % 2 ? "First" : "Second");
        assert_int_equal(rejection->detail, row % 2 ? row % 4 : 9);
    }
    assert_int_equal(table->local[row], 2 * row); /* both add to it */
    assert_int_equal(table->inputs[0][row], row);
    assert_int_equal(table->inputs[1][row], 100 + row);
}

static void test_fill(void **state)
{
    (void)state;
    struct fixture f;
    struct table table = { 0 };
    setup(&f, &with_rows, &also_with_rows);
    assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    assert_true(table_fill(&table, (struct row_span){ .len = NODES }));
    assert_int_equal(table.inputs_len, 2);
    assert_int_equal(table.rejections.len, 4); /* three distinct rejections, each once */
    for (uint32_t row = 0; row < NODES; row++)
        check_row(&table, row);
    /* Filling some rows again gives the same values and changes no other row. */
    const uint32_t some[] = { 3, 4, 8 };
    for (size_t i = 0; i < ARRAY_SIZE(some); i++)
        table.rejection[some[i]] = table.inputs[0][some[i]] = 77;
    table.local[7] = 55;
    assert_true(table_fill(&table, (struct row_span){ some, ARRAY_SIZE(some) }));
    assert_int_equal(table.local[7], 55);
    for (size_t i = 0; i < ARRAY_SIZE(some); i++)
        check_row(&table, some[i]);
    assert_int_equal(table.rejections.len, 4);
    table_release(&table);
    assert_int_equal(released, 2);
    fixture_release(&f);
}

static void test_too_many_inputs(void **state)
{
    (void)state;
    struct fixture f;
    struct table table = { 0 };
    setup(&f, &with_rows, &also_with_rows);
    inputs = TABLE_INPUTS_MAX / 2;
    assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    assert_true(table_fill(&table, (struct row_span){ .len = NODES }));
    inputs++;
    assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    assert_false(table_fill(&table, (struct row_span){ .len = NODES }));
    inputs = 0;
    assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
    assert_true(table_fill(&table, (struct row_span){ .len = NODES }));
    assert_int_equal(table.inputs_len, 0);
    table_release(&table);
    assert_int_equal(released, 6);
    fixture_release(&f);
}

/* ---- validity ---- */
static void test_current(void **state)
{
    (void)state;
    struct fixture f;
    struct table table = { 0 };
    setup(&f, &with_rows, NULL);
    for (int round = 0; round < 3; round++) {
        assert_true(table_prepare(&table, &f.cluster, &f.profile, f.last_pod, NULL));
        assert_true(table_fill(&table, (struct row_span){ .len = (uint32_t)f.cluster.nodes.len }));
        assert_true(table_is_current(&table));
        if (round == 0)
            version++; /* a dependency of the forms changes */
        else if (round == 1)
            table.must_rebuild = true;
        else
            for (int i = 0; i < 100; i++) /* more rows than the capacity */
                fixture_loadf(&f, "{kind: Node, metadata: {name: more%d}}", i);
        assert_false(table_is_current(&table));
    }
    table_release(&table);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prepare), cmocka_unit_test(test_half_enabled),
        cmocka_unit_test(test_fill),    cmocka_unit_test(test_too_many_inputs),
        cmocka_unit_test(test_current),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
