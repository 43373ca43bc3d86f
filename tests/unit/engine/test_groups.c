/* Rows with equal inputs form a group, best local score first. Removing and adding single rows gives the same groups as
 * building from all rows. */
#include "support/test.h"

#include "base/bitmap.h"
#include "engine/groups.h"

enum { ROWS = 150, INPUTS = 3, STEPS = 4000 };

/* A filled table without plugins. */
struct columns_of {
    struct table table;
    uint32_t rejection[ROWS], inputs[INPUTS][ROWS];
    int32_t local[ROWS];
};

static void random_row(struct columns_of *columns, struct rng *rng, uint32_t row)
{
    uint64_t kind = rng_below(rng, 10);
    columns->rejection[row] = kind == 0 ? REJECTION_ABSENT : kind < 3 ? 1 + (uint32_t)rng_below(rng, 3) : 0;
    columns->local[row] = (int32_t)rng_below(rng, 5) * 25 - 30;
    for (int i = 0; i < INPUTS; i++)
        columns->inputs[i][row] = (uint32_t)rng_below(rng, 3);
}

static void init_columns(struct columns_of *columns, struct rng *rng, uint32_t inputs)
{
    memset(columns, 0, sizeof(*columns));
    columns->table.rows = columns->table.rows_cap = ROWS;
    columns->table.rejection = columns->rejection;
    columns->table.local = columns->local;
    columns->table.inputs_len = inputs;
    for (int i = 0; i < INPUTS; i++)
        columns->table.inputs[i] = columns->inputs[i];
    for (uint32_t row = 0; row < ROWS; row++)
        random_row(columns, rng, row);
}

static bool same_inputs(const struct columns_of *columns, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < columns->table.inputs_len; i++)
        if (columns->inputs[i][a] != columns->inputs[i][b])
            return false;
    return true;
}

/* The group of a row, from the columns alone. */
static void check_group(const struct groups *groups, const struct columns_of *columns, uint32_t row)
{
    uint32_t number = groups->group_of[row], rows = 0, best_rows = 0;
    int32_t best = INT32_MIN;
    for (uint32_t other = 0; other < ROWS; other++) {
        if (columns->rejection[other])
            continue;
        bool together = same_inputs(columns, row, other);
        assert_int_equal(groups->group_of[other] == number, together);
        if (!together)
            continue;
        rows++;
        best = MAX(best, columns->local[other]);
    }
    for (uint32_t other = 0; other < ROWS; other++)
        best_rows += groups->group_of[other] == number && columns->local[other] == best;
    const struct group *group = &groups->items.items[number];
    assert_int_equal(group->rows, rows);
    assert_int_equal(group->best, best);
    assert_int_equal(group->best_rows, best_rows);
    for (uint32_t i = 0; i < columns->table.inputs_len; i++)
        assert_int_equal(group_inputs(groups, number)[i], columns->inputs[i][row]);
}

/* Buckets hold each row of the group by its score, in descending order. */
static void check_buckets(const struct group *group, const struct groups *groups,
                          const struct columns_of *columns, uint32_t number)
{
    uint32_t rows = 0;
    for (size_t b = 0; b < group->buckets.len; b++) {
        const struct bucket *bucket = &group->buckets.items[b];
        uint32_t count = 0;
        assert_true(b == 0 || group->buckets.items[b - 1].local > bucket->local);
        for (uint32_t row = 0; row < ROWS; row++) {
            bool there = bitmap_get(bucket->bits, row);
            assert_int_equal(there, groups->group_of[row] == number && columns->local[row] == bucket->local);
            count += there;
        }
        assert_int_equal(count, bucket->rows);
        assert_true(count > 0);
        rows += count;
    }
    assert_int_equal(rows, group->rows);
}

static void check(const struct groups *groups, const struct columns_of *columns)
{
    uint32_t grouped = 0, rows = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        assert_int_equal(groups->group_of[row] != 0, columns->rejection[row] == 0);
        if (!groups->group_of[row])
            continue;
        grouped++;
        check_group(groups, columns, row);
    }
    for (uint32_t i = 1; i < groups->items.len; i++) {
        const struct group *group = &groups->items.items[i];
        rows += group->rows;
        if (groups->ranked && group->rows)
            check_buckets(group, groups, columns, i);
    }
    assert_int_equal(rows, grouped);
}

static void test_build(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static struct columns_of columns;
    struct groups groups = { 0 };
    for (int round = 0; round < 12; round++) { /* the same object is built repeatedly */
        init_columns(&columns, &rng, (uint32_t)round % (INPUTS + 1));
        groups_build(&groups, &columns.table, round % 2, false);
        assert_int_equal(groups.ranked, round % 2);
        check(&groups, &columns);
        assert_true(groups_bytes(&groups) >= ROWS * sizeof(uint32_t));
    }
    groups_release(&groups);
    groups_release(&groups);
}

static void test_row_by_row(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static struct columns_of columns;
    struct groups groups = { 0 };
    init_columns(&columns, &rng, INPUTS);
    groups_build(&groups, &columns.table, true, false);
    size_t most = groups.items.len;
    for (int step = 0; step < STEPS; step++) {
        uint32_t row = (uint32_t)rng_below(&rng, ROWS);
        groups_remove(&groups, &columns.table, row);
        assert_int_equal(groups.group_of[row], 0);
        groups_remove(&groups, &columns.table, row); /* not in a group */
        random_row(&columns, &rng, row);
        groups_insert(&groups, &columns.table, row);
        if (step % 20 == 0)
            check(&groups, &columns);
        most = MAX(most, groups.items.len);
    }
    check(&groups, &columns);
    assert_true(most <= 27 + 1); /* 3 * 3 * 3 kinds: group numbers are reused */
    groups_release(&groups);
}

/* Many groups come and go: the hash table grows with those in use, and finds each of them. */
static void test_many_groups(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static struct columns_of columns;
    struct groups groups = { 0 };
    init_columns(&columns, &rng, 1);
    groups_build(&groups, &columns.table, true, false);
    for (int step = 0; step < 20 * ROWS; step++) {
        uint32_t row = (uint32_t)step % ROWS;
        groups_remove(&groups, &columns.table, row);
        columns.rejection[row] = 0;
        columns.inputs[0][row] = (uint32_t)rng_next(&rng); /* a unique input */
        groups_insert(&groups, &columns.table, row);
    }
    check(&groups, &columns);
    assert_true(groups.items.len <= ROWS + 2);
    assert_true(groups.slots_cap <= 8 * ROWS);
    for (uint32_t row = 0; row < ROWS; row++)
        groups_remove(&groups, &columns.table, row);
    for (uint32_t i = 1; i < groups.items.len; i++)
        assert_int_equal(groups.items.items[i].rows, 0);
    groups_release(&groups);
}

/* Groups of one or two rows come and go: an existing one is always found. */
static void test_rare_groups(void **state)
{
    (void)state;
    enum { KINDS = 40 };
    struct rng rng = test_rng();
    static struct columns_of columns;
    struct groups groups = { 0 };
    init_columns(&columns, &rng, 1);
    for (uint32_t row = 0; row < ROWS; row++) {
        columns.rejection[row] = row % 8 != 0;
        columns.inputs[0][row] = (uint32_t)rng_below(&rng, KINDS);
    }
    groups_build(&groups, &columns.table, true, false);
    for (int step = 0; step < STEPS; step++) {
        uint32_t row = (uint32_t)rng_below(&rng, ROWS / 8) * 8;
        groups_remove(&groups, &columns.table, row);
        columns.inputs[0][row] = (uint32_t)rng_below(&rng, KINDS);
        groups_insert(&groups, &columns.table, row);
        check(&groups, &columns);
    }
    groups_release(&groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build),
        cmocka_unit_test(test_row_by_row),
        cmocka_unit_test(test_many_groups),
        cmocka_unit_test(test_rare_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
