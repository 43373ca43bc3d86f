/* OpenAPI documents: valid JSON whose references lead somewhere, and what kubectl looks for in them. */
#include "schema/recorded.h"

#include "base/map.h"
#include "codec/protobuf.h"
#include "schema/openapi.h"

#define OBJECT_VERBS (OPENAPI_GET | OPENAPI_UPDATE | OPENAPI_PATCH)
#define ALL_VERBS (OBJECT_VERBS | OPENAPI_LIST | OPENAPI_CREATE | OPENAPI_DELETE | OPENAPI_DELETE_COLLECTION)
#define KIND(group, version, kind) STR(group), STR(version), STR(kind)

static const struct openapi_resource resources[] = {
    { STR(""), STR("v1"), STR("pods"), KIND("", "v1", "Pod"), true, ALL_VERBS, { 0 } },
    { STR(""), STR("v1"), STR("pods/status"), KIND("", "v1", "Pod"), true, OBJECT_VERBS, { 0 } },
    { STR(""),
      STR("v1"),
      STR("pods/eviction"),
      KIND("policy", "v1", "Eviction"),
      true,
      OPENAPI_CREATE,
      { 0 } },
    { STR(""), STR("v1"), STR("nodes"), KIND("", "v1", "Node"), false, ALL_VERBS, { 0 } },
    { STR("apps"), STR("v1"), STR("deployments"), KIND("apps", "v1", "Deployment"), true, ALL_VERBS, { 0 } },
    { STR("apps"),
      STR("v1"),
      STR("deployments/scale"),
      KIND("autoscaling", "v1", "Scale"),
      true,
      OBJECT_VERBS,
      { 0 } },
    { STR("apiextensions.k8s.io"),
      STR("v1"),
      STR("customresourcedefinitions"),
      KIND("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
      false,
      ALL_VERBS,
      { 0 } },
    { STR("example.com"),
      STR("v1"),
      STR("plains"),
      KIND("example.com", "v1", "Plain"),
      true,
      ALL_VERBS,
      { 0 } },
    { STR("example.com"), STR("v1"), STR("widgets"), KIND("example.com", "v1", "Widget"), true, ALL_VERBS,
      STR("{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\"}}}") },
};

/* Every $ref is a member of `types`. */
static void check_refs(yyjson_val *val, yyjson_val *types, const char *prefix)
{
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, max, item)
            check_refs(item, types, prefix);
    } else if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, i, max, key, item) {
            if (yyjson_equals_str(key, "$ref") && yyjson_is_str(item)) {
                struct str ref = doc_text(item), start = str_from(prefix);
                assert_true(str_starts_with(ref, start));
                ref = str_slice(ref, start.len, ref.len);
                if (!yyjson_obj_getn(types, ref.ptr, ref.len))
                    fail_msg(STR_FMT " is not in the document", STR_ARG(ref));
            } else
                check_refs(item, types, prefix);
        }
    }
}

static bool has_parameter(yyjson_val *operation, const char *name)
{
    size_t i, max;
    yyjson_val *parameter;
    yyjson_arr_foreach(yyjson_obj_get(operation, "parameters"), i, max, parameter) {
        if (yyjson_equals_str(yyjson_obj_get(parameter, "name"), name))
            return true;
    }
    return false;
}

static yyjson_val *operation_of(yyjson_val *root, const char *path, const char *method)
{
    yyjson_val *operation = yyjson_obj_get(yyjson_obj_get(yyjson_obj_get(root, "paths"), path), method);
    if (!operation)
        fail_msg("no %s %s", method, path);
    return operation;
}

static void test_v3(void **state)
{
    (void)state;
    struct openapi openapi;
    openapi_build(&openapi, resources, ARRAY_SIZE(resources));
    assert_int_equal(openapi.documents.len, 4);
    vec_for(&openapi.documents, document) {
        yyjson_doc *doc = yyjson_read(document->text.text, document->text.len, 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        assert_non_null(root);
        check_refs(root, yyjson_obj_get(yyjson_obj_get(root, "components"), "schemas"),
                   "#/components/schemas/");
        yyjson_doc_free(doc);
    }
    assert_null(openapi_find(&openapi, STR("apis/apps/v2")));
    const struct openapi_document *core = openapi_find(&openapi, STR("api/v1"));
    yyjson_doc *doc = yyjson_read(core->text.text, core->text.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *patch = operation_of(root, "/api/v1/namespaces/{namespace}/pods/{name}", "patch");
    assert_true(has_parameter(patch, "fieldValidation") && has_parameter(patch, "dryRun"));
    yyjson_val *kind = yyjson_obj_get(patch, "x-kubernetes-group-version-kind");
    assert_true(yyjson_equals_str(yyjson_obj_get(kind, "kind"), "Pod"));
    operation_of(root, "/api/v1/namespaces/{namespace}/pods", "post");
    operation_of(root, "/api/v1/namespaces/{namespace}/pods/{name}/status", "put");
    operation_of(root, "/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post");
    operation_of(root, "/api/v1/nodes/{name}", "get");
    yyjson_doc_free(doc);
    assert_non_null(strstr(openapi.index.text, "/openapi/v3/apis/example.com/v1?hash="));
    openapi_release(&openapi);
}

static void test_v2(void **state)
{
    (void)state;
    struct openapi openapi;
    openapi_build(&openapi, resources, ARRAY_SIZE(resources));
    yyjson_doc *doc = yyjson_read(openapi.v2.text, openapi.v2.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *types = yyjson_obj_get(root, "definitions");
    check_refs(root, types, "#/definitions/");
    assert_non_null(yyjson_obj_get(types, "com.example.v1.Widget"));
    /* The message has as many definitions as the JSON. */
    struct protobuf_reader reader = protobuf_reader(strbuf_slice(&openapi.v2_protobuf));
    struct protobuf_field field;
    size_t definitions = 0;
    while (protobuf_next(&reader, &field) > 0)
        if (field.tag == 9) {
            struct protobuf_reader inner = protobuf_reader(field.bytes);
            struct protobuf_field one;
            while (protobuf_next(&inner, &one) > 0)
                definitions++;
        }
    assert_int_equal(definitions, yyjson_obj_size(types));
    yyjson_doc_free(doc);
    openapi_release(&openapi);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_v3), cmocka_unit_test(test_v2) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
