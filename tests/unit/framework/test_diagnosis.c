/* Why a pod has no node: the message is FitError's, word by word, and the status of each node can be read. */
#include "support/fixture.h"

enum { NODES = 12 };

static struct status empty_pre_enqueue(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)self, (void)pod, (void)arena;
    return STATUS_OK;
}

static const struct plugin plugin_one = { .name = "One", .pre_enqueue = empty_pre_enqueue };
static const struct plugin plugin_two = { .name = "Two", .pre_enqueue = empty_pre_enqueue };

static void setup(struct fixture *f)
{
    FIXTURE(f, NULL, &plugin_one, &plugin_two);
    for (int i = 0; i < NODES; i++)
        fixture_loadf(f, "{kind: Node, metadata: {name: h%d}}", i);
}

/* Reasons separated by "|". */
static struct status rejection(struct arena *arena, const char *reasons, const struct plugin *plugin)
{
    struct str *list = arena_array(arena, struct str, 4);
    uint32_t len = 0;
    struct str rest = str_from(reasons);
    for (struct str reason; (reason = next_part(&rest, '|')).ptr;)
        list[len++] = reason;
    return (struct status){ .code = STATUS_UNSCHEDULABLE, .reasons = list, .len = len, .plugin = plugin };
}

struct message_case {
    const char *name;
    const char *nodes[NODES]; /* reasons per node; NULL: not evaluated */
    const char *absent, *pre_filter, *post_filter;
    const char *want;
};

static const struct message_case messages[] = {
    { "no reasons", { NULL }, .want = "0/12 nodes are available:" },
    { "one reason", { "x", "x", "x" }, .want = "0/12 nodes are available: 3 x." },
    { "several, sorted as text with their counts",
      { "b", "b", "b", "b", "b", "b", "b", "b", "b", "b", "a", "c" },
      .want = "0/12 nodes are available: 1 a, 1 c, 10 b." },
    { "text order is not number order",
      { "b", "b", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a" },
      .want = "0/12 nodes are available: 10 a, 2 b." },
    { "each reason of a node counts",
      { "cpu|memory", "memory", "cpu" },
      .want = "0/12 nodes are available: 2 cpu, 2 memory." },
    { "nodes that were not evaluated",
      { "x" },
      .absent = "gone",
      .want = "0/12 nodes are available: 1 x, 11 gone." },
    { "the same reason, evaluated or absent",
      { "x" },
      .absent = "x",
      .want = "0/12 nodes are available: 12 x." },
    { "PreFilter's message stands alone",
      { "x" },
      .pre_filter = "before",
      .want = "0/12 nodes are available: before." },
    { "PostFilter's message comes last",
      { "x" },
      .post_filter = "preemption: no.",
      .want = "0/12 nodes are available: 1 x. preemption: no." },
    { "both",
      { NULL },
      .pre_filter = "before",
      .post_filter = "after.",
      .want = "0/12 nodes are available: before. after." },
};

static void test_messages(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
        const struct message_case *test = &messages[i];
        struct diagnosis diagnosis;
        diagnosis_init(&diagnosis, &f.cluster, &f.arena);
        for (uint32_t row = 0; row < NODES; row++)
            if (test->nodes[row])
                diagnosis_set(&diagnosis, row,
                              rejection(&f.arena, test->nodes[row], row % 2 ? &plugin_one : &plugin_two));
        if (test->absent)
            diagnosis.absent = rejection(&f.arena, test->absent, NULL);
        diagnosis.pre_filter_message = str_from(test->pre_filter);
        diagnosis.post_filter_message = str_from(test->post_filter);
        struct str got = diagnosis_message(&diagnosis, NODES);
        if (!str_is(got, test->want))
            fail_msg("%s: got \"" STR_FMT "\", want \"%s\"", test->name, STR_ARG(got), test->want);
        diagnosis_release(&diagnosis);
    }
    fixture_release(&f);
}

static void test_by_node(void **state)
{
    (void)state;
    struct fixture f;
    struct diagnosis diagnosis;
    setup(&f);
    diagnosis_init(&diagnosis, &f.cluster, &f.arena);
    assert_true(status_ok(diagnosis_get(&diagnosis, 3)));
    diagnosis_set(&diagnosis, 3, rejection(&f.arena, "x", &plugin_one));
    diagnosis_set(&diagnosis, 4, rejection(&f.arena, "x", &plugin_one));
    diagnosis_set(&diagnosis, 5,
                  rejection(&f.arena, "x", &plugin_two)); /* another plugin's rejection is kept apart */
    assert_int_equal(diagnosis.statuses.len, 3);
    assert_int_equal(diagnosis.explicit_nodes, 3);
    /* A later status replaces it. */
    diagnosis_set(&diagnosis, 3, rejection(&f.arena, "z", &plugin_one));
    assert_status(diagnosis_get(&diagnosis, 3), STATUS_UNSCHEDULABLE, "z");
    assert_status(diagnosis_get(&diagnosis, 4), STATUS_UNSCHEDULABLE, "x");
    assert_int_equal(diagnosis.explicit_nodes, 3);
    assert_str(diagnosis_message(&diagnosis, NODES), "0/12 nodes are available: 1 z, 2 x.");
    diagnosis.absent = rejection(&f.arena, "absent", NULL);
    assert_status(diagnosis_get(&diagnosis, 9), STATUS_UNSCHEDULABLE, "absent");
    assert_status(diagnosis_get(&diagnosis, 999), STATUS_UNSCHEDULABLE, "absent");
    diagnosis_assign(&diagnosis, 3, 0); /* the node is feasible */
    assert_int_equal(diagnosis.explicit_nodes, 2);
    diagnosis_release(&diagnosis);
    fixture_release(&f);
}

static void test_rejecting_plugins(void **state)
{
    (void)state;
    struct fixture f;
    struct diagnosis diagnosis;
    setup(&f);
    diagnosis_init(&diagnosis, &f.cluster, &f.arena);
    diagnosis_blame(&diagnosis, &f.profile, (struct status){ .code = STATUS_UNSCHEDULABLE });
    diagnosis_blame(&diagnosis, &f.profile, (struct status){ .code = STATUS_ERROR, .plugin = &plugin_one });
    assert_int_equal(diagnosis.unschedulable_plugins, 0);
    diagnosis_blame(&diagnosis, &f.profile,
                    (struct status){ .code = STATUS_UNRESOLVABLE, .plugin = &plugin_two });
    assert_int_equal(diagnosis.unschedulable_plugins, 2);
    assert_int_equal(diagnosis.pending_plugins, 0);
    diagnosis_blame(&diagnosis, &f.profile, (struct status){ .code = STATUS_PENDING, .plugin = &plugin_one });
    assert_int_equal(diagnosis.pending_plugins, 1);
    assert_str(profile_plugin_names(&f.profile, diagnosis.unschedulable_plugins | 1, &f.arena), "One Two");
    diagnosis_release(&diagnosis);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_by_node),
        cmocka_unit_test(test_rejecting_plugins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
