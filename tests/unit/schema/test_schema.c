/* The embedded types: what the code relies on for each of them, and facts about some. */
#include "support/test.h"

#include "schema/schema.h"

static const struct schema_value *leaf(const struct schema_value *value)
{
    while (value->item)
        value = value->item;
    return value;
}

static void check_field(const struct schema_type *type, const struct schema_field *field)
{
    if (field != type->fields && str_cmp(field[-1].name, field->name) >= 0)
        fail_msg(STR_FMT "." STR_FMT ": fields are not sorted", STR_ARG(type->name), STR_ARG(field->name));
    assert_ptr_equal(schema_field(type, field->name), field);
    assert_true(leaf(&field->value)->kind != SCHEMA_OBJECT || leaf(&field->value)->type);
    const struct schema_type *item = field->value.kind == SCHEMA_LIST ? field->value.item->type : NULL;
    for (uint32_t k = 0; k < field->key_count; k++)
        if (!schema_field(item, field->keys[k]))
            fail_msg(STR_FMT "." STR_FMT ": no key " STR_FMT, STR_ARG(type->name), STR_ARG(field->name),
                     STR_ARG(field->keys[k]));
    if (field->merge_key.len)
        assert_non_null(schema_field(item, field->merge_key));
}

static void test_every_type(void **state)
{
    (void)state;
    const struct schema_type *const *types;
    size_t count = schema_types(&types);
    assert_true(count > 500);
    for (size_t i = 0; i < count; i++) {
        if (i)
            assert_true(str_cmp(types[i - 1]->full_name, types[i]->full_name) < 0);
        for (uint32_t f = 0; f < types[i]->field_count; f++)
            check_field(types[i], &types[i]->fields[f]);
    }
}

static void test_kinds(void **state)
{
    (void)state;
    static const char *const kinds[][3] = {
        { "", "v1", "Pod" },
        { "", "v1", "Node" },
        { "", "v1", "Event" },
        { "apps", "v1", "StatefulSet" },
        { "batch", "v1", "CronJob" },
        { "policy", "v1", "Eviction" },
        { "policy", "v1", "PodDisruptionBudget" },
        { "scheduling.k8s.io", "v1", "PriorityClass" },
        { "scheduling.k8s.io", "v1beta1", "PodGroup" },
        { "storage.k8s.io", "v1", "CSINode" },
        { "resource.k8s.io", "v1", "ResourceSlice" },
        { "coordination.k8s.io", "v1", "Lease" },
        { "events.k8s.io", "v1", "Event" },
        { "authentication.k8s.io", "v1", "TokenReview" },
        { "authorization.k8s.io", "v1", "SelfSubjectAccessReview" },
        { "autoscaling", "v1", "Scale" },
        { "apiextensions.k8s.io", "v1", "CustomResourceDefinition" },
        { "metrics.k8s.io", "v1beta1", "NodeMetrics" },
        { "rbac.authorization.k8s.io", "v1", "ClusterRole" },
        { "discovery.k8s.io", "v1", "EndpointSlice" },
        { "node.k8s.io", "v1", "RuntimeClass" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (!schema_of(str_from(kinds[i][0]), str_from(kinds[i][1]), str_from(kinds[i][2])))
            fail_msg("%s/%s %s is missing", kinds[i][0], kinds[i][1], kinds[i][2]);
    assert_null(schema_of(STR("apps"), STR("v2"), STR("Deployment")));
    assert_null(schema_of(STR(""), STR("v1"), STR("Container"))); /* a part, not a kind */
}

static void test_facts(void **state)
{
    (void)state;
    const struct schema_type *container = schema_by_name(STR("io.k8s.api.core.v1.Container"));
    const struct schema_field *ports = schema_field(container, STR("ports"));
    assert_int_equal(ports->key_count, 2);
    assert_true(str_is(ports->keys[1], "protocol") && str_is(ports->merge_key, "containerPort"));
    assert_true(ports->patch_merge && !ports->atomic);
    assert_int_equal(ports->value.kind, SCHEMA_LIST);
    assert_true(schema_field(container, STR("args"))->atomic);
    assert_true(str_is(schema_field(container, STR("name"))->default_json, "\"\""));
    assert_null(schema_field(container, STR("nope")));
    const struct schema_field *limits =
        schema_field(schema_by_name(STR("io.k8s.api.core.v1.ResourceRequirements")), STR("limits"));
    assert_int_equal(limits->value.item->kind, SCHEMA_QUANTITY);
    assert_true(str_is(limits->go, "v1.ResourceList"));
    assert_true(schema_of_custom()->open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
