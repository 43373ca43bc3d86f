/* The best candidate node, criterion by criterion. */
#include "support/fixture.h"

#include "preempt/preempt.h"

struct rank_case {
    const char *name;
    struct {
        int64_t violations;
        struct {
            int32_t priority;
            int64_t start;
        } victims[3];
        uint32_t len;
    } nodes[3];       /* b, c, a */
    const char *want; /* names of the best nodes */
};

static const struct rank_case cases[] = {
    { "fewer broken budgets win over everything else",
      { { 1, { { 0, 1 } }, 1 }, { 0, { { 9, 1 }, { 9, 1 } }, 2 }, { 2, { { 0, 1 } }, 1 } },
      "c" },
    { "the lowest highest priority",
      { { 0, { { 5, 1 } }, 1 }, { 0, { { 4, 1 }, { 4, 1 } }, 2 }, { 0, { { 6, 1 } }, 1 } },
      "c" },
    { "the lowest sum",
      { { 0, { { 5, 1 }, { 3, 1 } }, 2 },
        { 0, { { 5, 1 }, { 2, 1 } }, 2 },
        { 0, { { 5, 1 }, { 4, 1 } }, 2 } },
      "c" },
    { "fewer of a negative priority",
      { { 0, { { -5, 1 }, { -5, 1 } }, 2 }, { 0, { { -5, 1 } }, 1 }, { 0, { { -5, 1 }, { -5, 1 } }, 2 } },
      "c" },
    { "fewer victims when the sum is the same",
      { { 0, { { 5, 1 }, { INT32_MIN, 1 }, { INT32_MIN, 1 } }, 3 },
        { 0, { { 5, 1 }, { INT32_MIN, 1 } }, 2 },
        { 0, { { 5, 1 }, { INT32_MIN, 1 }, { INT32_MIN, 1 } }, 3 } },
      "c" },
    { "the latest start of the most important victim",
      { { 0, { { 5, 10 } }, 1 }, { 0, { { 5, 20 } }, 1 }, { 0, { { 5, 15 } }, 1 } },
      "c" },
    { "only the most important victims' start counts",
      { { 0, { { 5, 10 }, { 1, 99 } }, 2 },
        { 0, { { 5, 20 }, { 1, 1 } }, 2 },
        { 0, { { 5, 20 }, { 1, 2 } }, 2 } },
      "a c" },
    { "not started yet is latest",
      { { 0, { { 5, 10 } }, 1 }, { 0, { { 5, 0 } }, 1 }, { 0, { { 5, 15 } }, 1 } },
      "c" },
    { "all equal: by name",
      { { 0, { { 5, 1 } }, 1 }, { 0, { { 5, 1 } }, 1 }, { 0, { { 5, 1 } }, 1 } },
      "a b c" },
};

static const char *const nodes[] = { "b", "c", "a" };

static void check_case(const struct rank_case *c)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: b}}\n---\n{kind: Node, metadata: {name: c}}\n---\n"
                     "{kind: Node, metadata: {name: a}}");
    struct pod api[3][3] = { 0 };
    struct pod_info infos[3][3] = { 0 }, *victims[3][3];
    struct preempt_candidate candidates[3];
    for (size_t n = 0; n < 3; n++) {
        for (uint32_t i = 0; i < c->nodes[n].len; i++) {
            api[n][i].status.start_time =
                (struct opt_time){ c->nodes[n].victims[i].start != 0, c->nodes[n].victims[i].start, 0 };
            infos[n][i] = (struct pod_info){ .api = &api[n][i], .priority = c->nodes[n].victims[i].priority };
            victims[n][i] = &infos[n][i];
        }
        candidates[n] = (struct preempt_candidate){ fixture_row(&f, nodes[n]), victims[n], c->nodes[n].len,
                                                    c->nodes[n].violations };
    }
    struct preemption preemption = { .candidates = candidates, .candidates_len = 3 };
    preempt_rank(&f.cluster, &f.arena, &preemption);
    _cleanup_(strbuf_release) struct strbuf got = { 0 };
    for (uint32_t i = 0; i < preemption.top_len; i++)
        strbuf_printf(&got, "%s" STR_FMT, i ? " " : "",
                      STR_ARG(cluster_node_name(&f.cluster, preemption.top[i])));
    if (strcmp(got.text, c->want))
        fail_msg("%s: got %s, want %s", c->name, got.text, c->want);
    assert_int_equal(preemption.chosen, preemption.top[0]);
    fixture_release(&f);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_case(&cases[i]);
}

static void test_no_candidate(void **state)
{
    (void)state;
    struct preemption preemption = { 0 };
    struct arena arena = { 0 };
    preempt_rank(NULL, &arena, &preemption);
    assert_int_equal(preemption.chosen, ROW_NONE);
    assert_int_equal(preemption.top_len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases), cmocka_unit_test(test_no_candidate) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
