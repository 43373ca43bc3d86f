/* Objects after creation: defaults and form of a real API server (cases_defaults.jsonl, see `record`). */
#include "schema/recorded.h"

#include "schema/defaults.h"

/* What registries and admission set, not the defaulting of the type. */
static const struct {
    const char *kind, *path;
} set_by_others[] = {
    { "Pod", "status" },
    { "Pod", "spec.tolerations" },
    { "Pod", "spec.priority" },
    { "Pod", "spec.preemptionPolicy" },
    { "Pod", "spec.serviceAccount" },
    { "Pod", "spec.serviceAccountName" },
    { "Service", "spec.clusterIPs" },
    { "Service", "spec.ipFamilies" },
    { "Service", "spec.ipFamilyPolicy" },
    { "Namespace", "spec" },
    { "Node", "spec" },
    { "CustomResourceDefinition", "status" },
    { "Job", "status" },
    { "PersistentVolumeClaim", "metadata.finalizers" },
    { "PersistentVolume", "metadata.finalizers" },
    { "PersistentVolume", "status.lastPhaseTransitionTime" },
    { "DaemonSet", "metadata.annotations" },
};

static void remove_others(yyjson_mut_val *object)
{
    struct str kind = mut_str(yyjson_mut_obj_get(object, "kind"));
    for (size_t i = 0; i < ARRAY_SIZE(set_by_others); i++)
        if (str_is(kind, set_by_others[i].kind))
            remove_path(object, set_by_others[i].path);
    remove_path(object, "metadata.namespace");
}

static void expect_defaults(const char *what, const struct schema_type *type, yyjson_val *given,
                            yyjson_val *stored)
{
    yyjson_mut_doc *have = yyjson_mut_doc_new(NULL), *want = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(have, yyjson_val_mut_copy(have, given));
    yyjson_mut_doc_set_root(want, yyjson_val_mut_copy(want, stored));
    schema_set_defaults(type, have);
    remove_others(yyjson_mut_doc_get_root(have));
    remove_others(yyjson_mut_doc_get_root(want));
    expect_tree(what, yyjson_mut_doc_get_root(have), yyjson_mut_doc_get_root(want));
    yyjson_mut_doc_free(have);
    yyjson_mut_doc_free(want);
}

static void run_case(yyjson_val *line)
{
    yyjson_val *manifest = yyjson_obj_get(line, "manifest"), *stored = yyjson_obj_get(line, "object");
    const struct schema_type *type = type_of(manifest);
    char what[100];
    snprintf(what, sizeof(what), STR_FMT, STR_ARG(type->kind));
    expect_defaults(what, type, manifest, stored);
    expect_defaults("twice", type, stored, stored); /* what is complete stays */
}

static void test_recorded(void **state)
{
    (void)state;
    assert_true(recorded_cases("tests/unit/schema/cases_defaults.jsonl", run_case) > 50);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
