/* Paths, methods and queries as requests, and the texts of what is refused: as kube-apiserver v1.37 answers. */
#include "support/test.h"

#include "apiserver/accept.h"
#include "apiserver/request.h"

static const struct {
    const char *method, *path, *query;
    int code; /* 0: fine */
    const char *plural, *namespace, *name;
    enum subresource subresource;
    enum api_verb verb;
} cases[] = {
    { "GET", "/api/v1/pods", "", 0, "pods", "", "", 0, VERB_LIST },
    { "GET", "/api/v1/pods", "watch=1", 0, "pods", "", "", 0, VERB_WATCH },
    { "GET", "/api/v1/watch/pods", "", 0, "pods", "", "", 0, VERB_WATCH },
    { "GET", "/api/v1/namespaces/a/pods/b", "", 0, "pods", "a", "b", 0, VERB_GET },
    { "PUT", "/api/v1/namespaces/a/pods/b/status", "", 0, "pods", "a", "b", SUB_STATUS, VERB_UPDATE },
    { "POST", "/api/v1/namespaces/a/pods/b/binding", "", 0, "pods", "a", "b", SUB_BINDING, VERB_CREATE },
    { "GET", "/api/v1/namespaces/a", "", 0, "namespaces", "", "a", 0, VERB_GET },
    { "PUT", "/api/v1/namespaces/a/finalize", "", 0, "namespaces", "", "a", SUB_FINALIZE, VERB_UPDATE },
    { "PATCH", "/apis/apps/v1/namespaces/a/deployments/b/scale", "", 0, "deployments", "a", "b", SUB_SCALE,
      VERB_PATCH },
    { "DELETE", "/api/v1/nodes", "", 0, "nodes", "", "", 0, VERB_DELETECOLLECTION },
    { "GET", "/apis/apps/v9/deployments", "", 404 },
    { "GET", "/api/v1/nope", "", 404 },
    { "GET", "/api/v1/namespaces/a/pods/b/nope", "", 404 },
    { "GET", "/api/v1/namespaces/a/nodes/b", "", 404 },
    { "GET", "/api/v1/namespaces/a/pods/b/status/c/d/e/f/g", "", 404 },
    { "PUT", "/api/v1/namespaces/a/pods", "", 405 },
    { "POST", "/api/v1/pods", "", 405 },
    { "POST", "/api/v1/namespaces/a/pods/b", "", 405 },
    { "DELETE", "/api/v1/namespaces", "", 405 },
    { "GET", "/api/v1/pods", "limit=abc", 400 },
    { "GET", "/api/v1/pods", "dryRun=Some", 400 },
};

static void test_paths(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct api_request request;
        struct api_error err = { 0 };
        struct arena arena = { 0 };
        int r = api_request_parse(str_from(cases[i].method), str_from(cases[i].path),
                                  str_from(cases[i].query), &arena, &request, &err);
        if (r != -cases[i].code)
            fail_msg("%s %s: got %d", cases[i].method, cases[i].path, r);
        if (r == 0) {
            assert_true(str_is(request.resource->plural, cases[i].plural));
            assert_true(str_is(request.namespace, cases[i].namespace));
            assert_true(str_is(request.name, cases[i].name));
            assert_int_equal(request.subresource, cases[i].subresource);
            assert_int_equal(request.verb, cases[i].verb);
        }
        api_error_release(&err);
        arena_release(&arena);
    }
}

static void test_options(void **state _unused_)
{
    struct api_request request;
    struct api_error err = { 0 };
    struct arena arena = { 0 };
    struct str query =
        STR("labelSelector=a%3Db%2Cc&limit=5&allowWatchBookmarks=true&gracePeriodSeconds=0&dryRun=All"
            "&sendInitialEvents=false&fieldManager=a+b&continue=%zz");
    assert_int_equal(api_request_parse(STR("GET"), STR("/api/v1/pods"), query, &arena, &request, &err), 0);
    const struct api_options *options = &request.options;
    assert_true(str_is(options->label_selector, "a=b,c"));
    assert_int_equal(options->limit, 5);
    assert_true(options->allow_bookmarks && options->dry_run && options->grace_s.set);
    assert_int_equal(options->grace_s.value, 0);
    assert_true(options->send_initial_events.set && !options->send_initial_events.value);
    assert_true(str_is(options->field_manager, "a b"));
    assert_true(str_is(options->continue_token, "%zz"));
    arena_release(&arena);
}

static void test_status(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct api_error err = { 0 };
    api_error_not_found(&err, resource_named("apps", "deployments"), STR("x"));
    api_error_write(&err, &out);
    assert_string_equal(
        out.text, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
                  "\"message\":\"deployments.apps \\\"x\\\" not found\",\"reason\":\"NotFound\","
                  "\"details\":{\"name\":\"x\",\"group\":\"apps\",\"kind\":\"deployments\"},\"code\":404}");
    api_error_clear(&err);
    api_error_field(&err, FIELD_REQUIRED, "spec.containers", (struct str){ 0 }, "");
    assert_int_equal(api_error_invalid(&err, STR(""), STR("Pod"), STR("a")), -422);
    assert_true(str_is(err.message, "Pod \"a\" is invalid: spec.containers: Required value"));
    api_error_release(&err);
}

static void test_accept(void **state _unused_)
{
    struct accepted accepted;
    assert_true(accepted_parse(STR("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), false,
                               &accepted));
    assert_int_equal(accepted.form, FORM_TABLE);
    assert_true(
        accepted_parse(STR("application/vnd.kubernetes.protobuf,application/json"), false, &accepted));
    assert_int_equal(accepted.form, FORM_OBJECT);
    assert_true(accepted_parse(STR("*/*"), false, &accepted));
    assert_false(accepted_parse(STR("text/html"), false, &accepted));
    assert_true(accepted_parse(STR("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
                               true, &accepted));
    assert_int_equal(accepted.form, FORM_DISCOVERY);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_paths), cmocka_unit_test(test_options),
                                        cmocka_unit_test(test_status), cmocka_unit_test(test_accept) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
