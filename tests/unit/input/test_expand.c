/* Tests of input/expand.c: how many pods controllers lack, and what replaces a victim. */
#include "unit/input/loaded.h"

#include "api/labels.h"
#include "input/expand.h"

#define TEMPLATE "template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c}]}}"
#define SET(kind, more) \
    "{kind: " kind ", apiVersion: apps/v1, metadata: {name: x}, spec: {" more \
    ", selector: {matchLabels: {app: x}}, " TEMPLATE "}}\n---\n"
#define JOB(more) \
    "{kind: Job, apiVersion: batch/v1, metadata: {name: x}, spec: {" more ", " TEMPLATE "}}\n---\n"
#define OWNED(name, kind, version) \
    "{kind: Pod, apiVersion: v1, metadata: {name: " name ", ownerReferences: [{kind: " kind \
    ", apiVersion: " version ", name: x, controller: true}]}, spec: {nodeName: a}}\n---\n"
#define NODES \
    "{kind: Node, apiVersion: v1, metadata: {name: a}}\n---\n{kind: Node, apiVersion: v1, metadata: {name: " \
    "b}}\n---\n"

static void test_counts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t want;
    } cases[] = {
        { SET("Deployment", "replicas: 3"), 3 },
        { SET("ReplicaSet", "replicas: 3") OWNED("p", "ReplicaSet", "apps/v1"), 2 },
        { SET("ReplicaSet", "replicas: 3") OWNED("p", "ReplicaSet", "example.com/v1"), 3 },
        { SET("ReplicaSet", "replicas: 0") OWNED("p", "ReplicaSet", "apps/v1"), 0 },
        { SET("ReplicaSet", "replicas: -4"), 0 },
        { SET("StatefulSet", "replicas: 3") OWNED("x-1", "StatefulSet", "apps/v1"), 2 },
        { SET("StatefulSet", "replicas: 2") OWNED("x-9", "StatefulSet", "apps/v1"), 2 },
        { NODES SET("DaemonSet", "minReadySeconds: 0"), 2 },
        { NODES SET("DaemonSet", "minReadySeconds: 0") OWNED("p", "DaemonSet", "apps/v1"), 1 },
        { JOB("parallelism: 2, completions: 9") OWNED("p", "Job", "batch/v1"), 1 },
        { JOB("parallelism: 2, suspend: true"), 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        struct expansion expansion;
        struct error err = { "" };
        load_good(&load, cases[i].text);
        expansion_begin(&expansion, &load);
        expansion_settle(&expansion);
        assert_int_equal(expansion_run(&expansion, &err), 0);
        if (expansion.pods.len != cases[i].want)
            fail_msg("%s: got %zu, want %zu", cases[i].text, expansion.pods.len, cases[i].want);
        expansion_release(&expansion);
        load_release(&load);
    }
}

static void test_deployment_gets_a_replica_set(void **state)
{
    (void)state;
    struct load load;
    struct expansion expansion;
    struct error err = { "" };
    load_good(&load, SET("Deployment", "replicas: 1"));
    expansion_begin(&expansion, &load);
    expansion_settle(&expansion);
    assert_int_equal(load.objects[KIND_REPLICA_SET].len, 1);
    assert_int_equal(expansion_run(&expansion, &err), 0);
    const struct workload *set = (const struct workload *)load.objects[KIND_REPLICA_SET].items[0];
    const struct pod *pod = expansion.pods.items[0];
    const struct owner_ref *ref = controller_of(&pod->meta);
    assert_str(ref->kind, "ReplicaSet");
    assert_true(str_eq(ref->name, set->meta.name));
    assert_int_equal(set->spec.selector->match_labels.len, 2);
    assert_int_equal(pod->meta.labels.len, 2);
    assert_str(pod->meta.labels.items[1].key, "pod-template-hash");
    expansion_release(&expansion);
    load_release(&load);
}

static void test_too_many(void **state)
{
    (void)state;
    struct load load;
    struct expansion expansion;
    struct error err = { "" };
    load_good(&load, SET("ReplicaSet", "replicas: 1000001"));
    expansion_begin(&expansion, &load);
    expansion_settle(&expansion);
    assert_true(expansion_run(&expansion, &err) < 0);
    assert_non_null(strstr(err.text, "default/x"));
    assert_int_equal(expansion.pods.len, 0);
    expansion_release(&expansion);
    load_release(&load);
}

static void test_replacements(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name; /* NULL: none; a trailing '-' is a prefix */
    } cases[] = {
        { "{kind: Pod, apiVersion: v1, metadata: {name: bare}, spec: {nodeName: a}}", NULL },
        { OWNED("p", "ReplicaSet", "apps/v1"), "x-" },
        { OWNED("p", "ReplicationController", "v1"), "x-" },
        { OWNED("p", "DaemonSet", "apps/v1"), "x-" },
        { OWNED("p", "Job", "batch/v1"), "x-" },
        { OWNED("x-4", "StatefulSet", "apps/v1"), "x-4" },
        { OWNED("p", "Widget", "example.com/v1"), NULL },
        { SET("ReplicaSet", "replicas: 0") OWNED("p", "ReplicaSet", "apps/v1"), NULL },
        { SET("ReplicaSet", "replicas: 1") OWNED("p", "ReplicaSet", "apps/v1"), "x-" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct load load;
        struct expansion expansion;
        struct error err = { "" };
        load_good(&load, cases[i].text);
        expansion_begin(&expansion, &load);
        expansion_settle(&expansion);
        assert_int_equal(expansion_run(&expansion, &err), 0);
        const struct pod *victim = (const struct pod *)load.objects[KIND_POD].items[0];
        const struct pod *made = expansion_replace(&expansion, victim);
        if (!made != !cases[i].name)
            fail_msg("%s: %s", cases[i].text, made ? "made one" : "made none");
        if (made) {
            assert_true(str_starts_with(made->meta.name, str_from(cases[i].name)));
            assert_true(str_empty(made->spec.node_name));
            assert_str(made->status.phase, "Pending");
            assert_false(str_eq(made->meta.uid, victim->meta.uid));
        }
        expansion_release(&expansion);
        load_release(&load);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_deployment_gets_a_replica_set),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_replacements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
