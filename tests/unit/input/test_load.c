/* Tests of input/load.c: what is kept, counted and rejected. */
#include "unit/input/loaded.h"

static void test_tables(void **state)
{
    (void)state;
    struct load load;
    load_good(&load, "{kind: Node, apiVersion: v1, metadata: {name: b}}\n---\n"
                     "{kind: Node, apiVersion: v1, metadata: {name: a}}\n---\n"
                     "{kind: Pod, apiVersion: v1, metadata: {name: p}}\n---\n"
                     "{kind: Pod, apiVersion: v1, metadata: {name: p, namespace: other}}\n---\n"
                     "{kind: Pod, apiVersion: v1, metadata: {name: done}, status: {phase: Succeeded}}\n---\n"
                     "{kind: ConfigMap, apiVersion: v1, metadata: {name: c}}\n");
    assert_int_equal(load.objects[KIND_NODE].len, 2);
    assert_int_equal(load.objects[KIND_POD].len, 2);
    assert_int_equal(load.finished.len, 1);
    assert_int_equal(load.ignored.len, 1);
    assert_int_equal(load.duplicates, 0);
    assert_non_null(load_find(&load, KIND_POD, STR("default"), STR("p")));
    assert_non_null(load_find(&load, KIND_POD, STR("other"), STR("p")));
    assert_null(load_find(&load, KIND_POD, STR("default"), STR("done")));
    assert_null(load_find(&load, KIND_NODE, STR("default"), STR("a")));
    struct meta **nodes = load_sorted(&load, KIND_NODE);
    assert_str(nodes[0]->name, "a");
    assert_str(nodes[1]->name, "b");
    free(nodes);
    load_release(&load);
}

static void test_last_one_counts(void **state)
{
    (void)state;
    struct load load;
    load_good(&load, "{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {priority: 1}}\n---\n"
                     "{kind: Pod, apiVersion: v1, metadata: {name: q}}\n---\n"
                     "{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {priority: 2}}\n");
    assert_int_equal(load.objects[KIND_POD].len, 2);
    assert_int_equal(load.duplicates, 1);
    assert_str(load.duplicate, "Pod default/p");
    const struct pod *first = (const struct pod *)load.objects[KIND_POD].items[0];
    assert_int_equal(first->spec.priority.value, 2);
    load_release(&load);
}

static void test_job_status(void **state)
{
    (void)state;
    struct load load;
    load_good(&load,
              "{kind: Job, apiVersion: batch/v1, metadata: {name: a}, status: {completedIndexes: '0-2',"
              " conditions: [{type: Complete, status: 'True'}]}}\n");
    const struct workload *a = load_find(&load, KIND_JOB, STR("default"), STR("a"));
    assert_int_equal(a->status.conditions.len, 1);
    assert_str(a->status.conditions.items[0].type, "Complete");
    assert_str(a->status.completed_indexes, "0-2");
    load_release(&load);
}

static void test_rejected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *word;
    } cases[] = {
        { "words", "expected a Kubernetes object" },
        { "{metadata: {name: x}}", "kind" },
        { "{kind: Pod, apiVersion: v1}", "name" },
        { "{kind: List, items: {}}", "items: expected a list" },
        { "{kind: List, items: [3]}", "expected a Kubernetes object" },
        { "[[1, 2]]", "expected a Kubernetes object, not a list" },
        { "{kind: List, items: [[1, 2]]}", "expected a Kubernetes object, not a list" },
        { "{kind: Pod, apiVersion: v1, metadata: {name: [x]}}", "metadata.name" },
        { "{kind: Pod", ":2:" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        struct error err = { "" };
        load = (struct load){ 0 };
        assert_true(load_text(&load, cases[i].text, &err) < 0);
        if (!strstr(err.text, cases[i].word))
            fail_msg("%s: \"%s\" does not contain %s", cases[i].text, err.text, cases[i].word);
        load_release(&load);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_last_one_counts),
        cmocka_unit_test(test_job_status),
        cmocka_unit_test(test_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
