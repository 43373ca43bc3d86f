/* Sums per topology domain are those of the rows in it, after any sequence of changes. */
#include "support/test.h"

#include "index/domain_counter.h"

enum { ROWS = 40, VALUES = 7, FIRST_VALUE = 100, STEPS = 20000 };

/* The reference: the last value of each row, in its domain at that time. */
struct model {
    struct {
        sym value;
        bool counts;
        int32_t pods;
    } rows[ROWS];
};

static int64_t sum_of(const struct model *model, sym value, uint32_t *ret_rows)
{
    int64_t sum = 0;
    *ret_rows = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!model->rows[i].counts || model->rows[i].value != value)
            continue;
        sum += model->rows[i].pods;
        ++*ret_rows;
    }
    return sum;
}

static void check(struct domain_counter *counter, const struct topology *topo, const struct model *model,
                  bool least_too)
{
    int64_t total = 0, least = INT32_MAX;
    uint32_t domains = 0, rows;
    for (sym value = FIRST_VALUE; value < FIRST_VALUE + VALUES; value++) {
        int64_t sum = sum_of(model, value, &rows);
        uint32_t domain = topology_find(topo, value);
        if (domain)
            assert_int_equal(domain_counter_sum(counter, domain), sum);
        if (!rows)
            continue;
        total += sum;
        domains++;
        least = MIN(least, sum);
    }
    assert_int_equal(counter->total, total);
    assert_int_equal(counter->domains, domains);
    if (least_too)
        assert_int_equal(domain_counter_least(counter), least);
}

/* The input of a row stands for the sum of its domain. */
static void check_inputs(const struct domain_counter *counter, const struct topology *topo,
                         const struct model *model)
{
    uint32_t column[ROWS], rows;
    domain_counter_input(counter, (struct row_span){ .len = ROWS }, column);
    for (uint32_t row = 0; row < ROWS; row++) {
        uint32_t domain = topo->domain_of[row];
        assert_int_equal(column[row] == INPUT_NONE, domain == 0);
        if (!domain)
            continue;
        assert_int_equal(domain_counter_resolve(counter, column[row]),
                         sum_of(model, topo->domains.items[domain].value, &rows));
        assert_int_equal(input_is_value(column[row]), topo->domains.items[domain].nodes == 1);
    }
}

static int32_t random_pods(struct rng *rng)
{
    static const int32_t large[] = { 65535, 65536, 70000, 2000000 };
    return rng_below(rng, 20) ? (int32_t)rng_below(rng, 6) : large[rng_below(rng, ARRAY_SIZE(large))];
}

static void fill(struct domain_counter *counter, const struct topology *topo, struct model *model,
                 struct rng *rng)
{
    uint8_t counts[ROWS];
    int32_t values[ROWS];
    for (uint32_t row = 0; row < ROWS; row++) {
        counts[row] = rng_below(rng, 4) > 0;
        values[row] = counts[row] ? random_pods(rng) : 0;
        model->rows[row].value =
            topo->domain_of[row] ? topo->domains.items[topo->domain_of[row]].value : SYM_NONE;
        model->rows[row].counts = counts[row] && topo->domain_of[row];
        model->rows[row].pods = values[row];
    }
    domain_counter_fill(counter, counts, values, ROWS);
}

static void step(struct domain_counter *counter, struct topology *topo, struct model *model, struct rng *rng)
{
    uint32_t row = (uint32_t)rng_below(rng, ROWS);
    if (rng_below(rng, 4) == 0) /* the node's label changes; the row is set again below */
        topology_assign(topo, row, rng_below(rng, 3) ? FIRST_VALUE + (sym)rng_below(rng, VALUES) : SYM_NONE);
    bool counts = rng_below(rng, 5) > 0;
    int32_t pods = random_pods(rng);
    domain_counter_set(counter, row, counts, pods);
    uint32_t domain = topo->domain_of[row];
    model->rows[row].value = domain ? topo->domains.items[domain].value : SYM_NONE;
    model->rows[row].counts = counts && domain;
    model->rows[row].pods = pods;
}

static void test_against_model(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 4; round++) {
        struct arena arena = { 0 };
        struct topology topo;
        struct domain_counter counter;
        struct model model = { 0 };
        topology_init(&topo, 1);
        topology_reserve(&topo, ROWS, NULL);
        for (uint32_t row = 0; row < ROWS; row++)
            if (rng_below(&rng, 4))
                topology_assign(&topo, row, FIRST_VALUE + (sym)rng_below(&rng, VALUES / 2));
        domain_counter_init(&counter, &topo, round < 2 ? ROWS : 3, &arena);
        if (round < 2)
            fill(&counter, &topo, &model, &rng);
        for (int i = 0; i < STEPS; i++) {
            step(&counter, &topo, &model, &rng);
            check(&counter, &topo, &model, i > 100); /* the counter is first read late */
        }
        check_inputs(&counter, &topo, &model);
        topology_release(&topo);
        arena_release(&arena);
    }
}

static void test_nothing_counts(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct topology topo;
    struct domain_counter counter;
    topology_init(&topo, 1);
    topology_reserve(&topo, ROWS, NULL);
    domain_counter_init(&counter, &topo, ROWS, &arena);
    assert_int_equal(domain_counter_least(&counter), INT32_MAX);
    assert_int_equal(domain_counter_sum(&counter, 5), 0);
    domain_counter_set(&counter, 3, true, 7); /* has no label */
    assert_int_equal(counter.total, 0);
    assert_int_equal(domain_counter_least(&counter), INT32_MAX);
    topology_assign(&topo, 3, FIRST_VALUE);
    domain_counter_set(&counter, 3, true, 7);
    assert_int_equal(domain_counter_least(&counter), 7);
    domain_counter_set(&counter, 3, false, 7);
    assert_int_equal(domain_counter_least(&counter), INT32_MAX);
    topology_release(&topo);
    arena_release(&arena);
}

/* What-ifs change sums, below zero too, and are undone exactly; rows need not be kept for them. */
static void test_what_if(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct arena arena = { 0 };
    struct topology topo;
    struct domain_counter counter;
    struct model model = { 0 };
    topology_init(&topo, 1);
    topology_reserve(&topo, ROWS, NULL);
    for (uint32_t row = 0; row < ROWS; row++)
        topology_assign(&topo, row, FIRST_VALUE + row % VALUES);
    domain_counter_init(&counter, &topo, 0, &arena);
    fill(&counter, &topo, &model, &rng);
    check(&counter, &topo, &model, true);
    for (int i = 0; i < STEPS; i++) {
        uint32_t domain = 1 + (uint32_t)rng_below(&rng, VALUES);
        int64_t delta = (int64_t)rng_below(&rng, 12) - 6, least = INT32_MAX;
        domain_counter_change(&counter, domain, delta);
        for (uint32_t d = 1; d <= VALUES; d++)
            if (counter.nodes[d])
                least = MIN(least, counter.sums[d]);
        assert_int_equal(domain_counter_least(&counter), least);
        domain_counter_change(&counter, domain, -delta);
        check(&counter, &topo, &model, true);
    }
    domain_counter_change(&counter, 0, 1); /* a node without the label is in no domain */
    check(&counter, &topo, &model, true);
    topology_release(&topo);
    arena_release(&arena);
}

/* Nodes without the label may count as one domain, separate from all labelled domains. */
static void test_missing_label(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct topology topo;
    struct domain_counter counter;
    const int32_t values[] = { 1, 2, 4 };
    uint32_t column[3];
    topology_init(&topo, 1);
    topology_reserve(&topo, 3, NULL);
    topology_assign(&topo, 0, FIRST_VALUE);
    topology_assign(&topo, 1, FIRST_VALUE + 1);
    domain_counter_init(&counter, &topo, 3, &arena);
    counter.missing = topo.domain_of[0];
    domain_counter_fill(&counter, NULL, values, 3);
    assert_int_equal(domain_counter_sum(&counter, counter.missing), 5);
    domain_counter_set(&counter, 2, true, 5);
    assert_int_equal(domain_counter_sum(&counter, counter.missing), 6);
    domain_counter_input(&counter, (struct row_span){ .len = 3 }, column);
    assert_int_equal(column[0], counter.missing);
    assert_int_equal(domain_counter_resolve(&counter, column[1]), 2);
    assert_int_equal(column[2], INPUT_NONE);
    topology_release(&topo);
    arena_release(&arena);
}

/* ---- inputs ---- */
static void test_input_values(void **state)
{
    (void)state;
    static const int64_t values[] = { 0, 1, -1, 1000000, -1000000, INPUT_BIAS - 1, -INPUT_BIAS };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        uint32_t input = INPUT_NONE;
        assert_true(input_from_value(values[i], &input));
        assert_true(input_is_value(input));
        assert_int_not_equal(input, INPUT_NONE);
        assert_int_equal(input_value(input), values[i]);
    }
    uint32_t untouched = 5;
    assert_false(input_from_value(INPUT_BIAS, &untouched));
    assert_false(input_from_value(-(int64_t)INPUT_BIAS - 1, &untouched));
    assert_int_equal(untouched, 5);
    assert_false(input_is_value(7)); /* a domain */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model), cmocka_unit_test(test_nothing_counts),
        cmocka_unit_test(test_what_if),       cmocka_unit_test(test_missing_label),
        cmocka_unit_test(test_input_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
