/* Sums per topology domain are those of the rows in it, after any sequence of changes. */
#include "support/test.h"

#include "index/domain_counter.h"

enum { ROWS = 40, VALUES = 7, FIRST_VALUE = 100, STEPS = 20000 };

/* The slow way: what each row said last, in the domain it was in then. */
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

/* What a row's input stands for is the sum of its domain. */
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
        topology_reserve(&topo, ROWS);
        for (uint32_t row = 0; row < ROWS; row++)
            if (rng_below(&rng, 4))
                topology_assign(&topo, row, FIRST_VALUE + (sym)rng_below(&rng, VALUES / 2));
        domain_counter_init(&counter, &topo, round < 2 ? ROWS : 3, &arena);
        if (round < 2)
            fill(&counter, &topo, &model, &rng);
        for (int i = 0; i < STEPS; i++) {
            step(&counter, &topo, &model, &rng);
            check(&counter, &topo, &model, i > 100); /* the first question comes late */
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
    topology_reserve(&topo, ROWS);
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

/* ---- memo ---- */
static void test_memo(void **state)
{
    (void)state;
    struct match_memo memo = { 0 };
    assert_int_equal(match_memo_get(&memo, 0, 1), -1);
    match_memo_put(&memo, 0, 1, true);
    match_memo_put(&memo, 500, 2, false);
    assert_int_equal(match_memo_get(&memo, 0, 1), 1);
    assert_int_equal(match_memo_get(&memo, 500, 2), 0);
    assert_int_equal(match_memo_get(&memo, 0, 2), -1); /* another owner has the number */
    assert_int_equal(match_memo_get(&memo, 499, 1), -1);
    match_memo_put(&memo, 0, 9, false);
    assert_int_equal(match_memo_get(&memo, 0, 1), -1);
    assert_int_equal(match_memo_get(&memo, 0, 9), 0);
    match_memo_release(&memo);
    assert_int_equal(match_memo_get(&memo, 0, 9), -1);
    match_memo_release(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_model),
        cmocka_unit_test(test_nothing_counts),
        cmocka_unit_test(test_input_values),
        cmocka_unit_test(test_memo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
