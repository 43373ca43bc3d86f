/* Writes of objects: what the server sets, refuses and keeps; deletion, binding, eviction, scale. */
#include "support/test.h"

#include "apiserver/bootstrap.h"
#include "apiserver/registry.h"
#include "apiserver/tree.h"

struct fixture {
    struct store *store;
    struct registry *registry;
    struct api_error err;
    struct registry_result result;
    yyjson_doc *doc; /* of the last answer */
};

static void setup(struct fixture *f)
{
    static struct str kinds[128];
    static struct strbuf names[128];
    uint32_t count = 0;
    for (; resource_at(count); count++) {
        strbuf_clear(&names[count]);
        resource_write_name(resource_at(count), &names[count]);
        kinds[count] = strbuf_slice(&names[count]);
    }
    struct error err;
    *f = (struct fixture){ 0 };
    assert_int_equal(
        store_open(&(struct store_options){ .kinds = kinds, .kind_count = count }, NULL, &f->store, &err), 0);
    f->registry = registry_new(&(struct registry_options){ .store = f->store, .seed = 1 });
    assert_int_equal(bootstrap_objects(f->registry, 1, &err), 0);
    for (uint32_t i = 0; i < count; i++)
        strbuf_release(&names[i]);
}

static void clear(struct fixture *f)
{
    yyjson_doc_free(f->doc);
    f->doc = NULL;
    registry_result_release(&f->result);
    api_error_clear(&f->err);
}

static void teardown(struct fixture *f)
{
    clear(f);
    registry_free(f->registry);
    store_close(f->store);
}

static int done(struct fixture *f, int r)
{
    struct str json = registry_result_json(&f->result);
    f->doc = r == 0 ? yyjson_read(json.ptr, json.len, 0) : NULL;
    return r;
}

static int create(struct fixture *f, const char *group, const char *plural, const char *json,
                  struct write_options options)
{
    clear(f);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    int r = registry_create(f->registry, resource_named(group, plural), STR("default"), object, &options,
                            &f->result, &f->err);
    yyjson_mut_doc_free(object);
    yyjson_doc_free(doc);
    return done(f, r);
}

static int update(struct fixture *f, const char *group, const char *plural, const char *name,
                  const char *json, struct write_options options)
{
    clear(f);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    int r = registry_update(f->registry, resource_named(group, plural), STR("default"), str_from(name),
                            object, &options, &f->result, &f->err);
    yyjson_mut_doc_free(object);
    yyjson_doc_free(doc);
    return done(f, r);
}

static int delete(struct fixture *f, const char *group, const char *plural, const char *name,
                  struct delete_options options)
{
    clear(f);
    return done(f, registry_delete(f->registry, resource_named(group, plural), STR("default"), str_from(name),
                                   &options, &f->result, &f->err));
}

static int bind(struct fixture *f, const char *name, const char *json)
{
    clear(f);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    int r =
        registry_bind(f->registry, STR("default"), str_from(name), yyjson_doc_get_root(doc), false, &f->err);
    yyjson_doc_free(doc);
    return r;
}

static int evict(struct fixture *f, const char *name)
{
    char json[200];
    clear(f);
    snprintf(json, sizeof(json), "{\"metadata\":{\"name\":\"%s\"}}", name);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    int r =
        registry_evict(f->registry, STR("default"), str_from(name), yyjson_doc_get_root(doc), false, &f->err);
    yyjson_doc_free(doc);
    return r;
}

static struct str field(struct fixture *f, const char *path)
{
    return tree_text(yyjson_doc_get_root(f->doc), path);
}

#define POD(name) \
    "{\"metadata\":{\"name\":\"" name \
    "\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"containers\":[{\"name\":\"c\"}]}}"
#define PLAIN (struct write_options){ 0 }

static void test_create(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    assert_int_equal(create(&f, "", "pods", POD("a"), PLAIN), 0);
    assert_true(str_is(field(&f, "status.phase"), "Pending"));
    assert_true(str_is(field(&f, "status.qosClass"), "BestEffort"));
    assert_int_equal(field(&f, "metadata.uid").len, 36);
    assert_int_equal(tree_int(yyjson_doc_get_root(f.doc), "metadata.generation", 0), 1);
    assert_int_equal(tree_int(yyjson_doc_get_root(f.doc), "spec.priority", -1), 0);
    assert_int_equal(create(&f, "", "pods", POD("a"), PLAIN), -409);
    assert_true(str_is(f.err.message, "pods \"a\" already exists"));
    assert_int_equal(create(&f, "", "pods", "{}", PLAIN), -422);
    assert_true(str_is(f.err.message,
                       "Pod \"\" is invalid: [metadata.name: Required value: name or generateName is "
                       "required, spec.containers: Required value]"));
    assert_int_equal(create(&f, "", "configmaps", "{\"metadata\":{\"name\":\"A_b\"}}", PLAIN), -422);
    assert_int_equal(
        create(&f, "", "configmaps", "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}", PLAIN), -400);
    assert_int_equal(
        create(&f, "", "configmaps", "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"3\"}}", PLAIN),
        -500);
    assert_int_equal(create(&f, "", "configmaps", "{\"metadata\":{\"generateName\":\"g-\"}}", PLAIN), 0);
    assert_true(str_starts_with(field(&f, "metadata.name"), STR("g-")));
    assert_int_equal(field(&f, "metadata.name").len, 7);
    uint64_t before = store_revision(f.store);
    assert_int_equal(create(&f, "", "configmaps", "{\"metadata\":{\"name\":\"dry\"}}",
                            (struct write_options){ .dry_run = true }),
                     0);
    assert_int_equal(store_revision(f.store), before);
    assert_int_equal(
        create(&f, "", "pods",
               "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"priorityClassName\":\"no\",\"containers\":[{}]}}",
               PLAIN),
        -403);
    teardown(&f);
}

static void test_update(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    assert_int_equal(
        create(&f, "apps", "deployments", "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":1}}", PLAIN),
        0);
    char old[32];
    snprintf(old, sizeof(old), STR_FMT, STR_ARG(field(&f, "metadata.resourceVersion")));
    /* The spec counts generations, the status does not; each is changed by its own path. */
    assert_int_equal(
        update(&f, "apps", "deployments", "d",
               "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2},\"status\":{\"replicas\":9}}",
               PLAIN),
        0);
    yyjson_val *root = yyjson_doc_get_root(f.doc);
    assert_int_equal(tree_int(root, "metadata.generation", 0), 2);
    assert_int_equal(tree_int(root, "status.replicas", -1), -1);
    assert_int_equal(update(&f, "apps", "deployments", "d",
                            "{\"spec\":{\"replicas\":7},\"status\":{\"replicas\":9}}",
                            (struct write_options){ .subresource = SUB_STATUS }),
                     0);
    root = yyjson_doc_get_root(f.doc);
    assert_int_equal(tree_int(root, "spec.replicas", 0), 2);
    assert_int_equal(tree_int(root, "status.replicas", 0), 9);
    assert_int_equal(tree_int(root, "metadata.generation", 0), 2);
    /* An update that changes nothing is no revision. */
    uint64_t before = store_revision(f.store);
    assert_int_equal(update(&f, "apps", "deployments", "d", "{\"spec\":{\"replicas\":2}}", PLAIN), 0);
    assert_int_equal(store_revision(f.store), before);
    char json[200];
    snprintf(json, sizeof(json), "{\"metadata\":{\"resourceVersion\":\"%s\"}}", old);
    assert_int_equal(update(&f, "apps", "deployments", "d", json, PLAIN), -409);
    assert_true(str_is(f.err.message,
                       "Operation cannot be fulfilled on deployments.apps \"d\": " API_ERROR_MODIFIED));
    assert_int_equal(update(&f, "apps", "deployments", "d", "{\"metadata\":{\"name\":\"e\"}}", PLAIN), -400);
    assert_int_equal(update(&f, "apps", "deployments", "none", "{}", PLAIN), -404);
    teardown(&f);
}

static void test_delete(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    create(&f, "", "configmaps", "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x/y\"]}}", PLAIN);
    assert_int_equal(delete (&f, "", "configmaps", "a", (struct delete_options){ .uid = STR("other") }),
                     -409);
    assert_int_equal(delete (&f, "", "configmaps", "a", (struct delete_options){ 0 }), 0);
    assert_true(!f.result.is_deleted && field(&f, "metadata.deletionTimestamp").len);
    assert_int_equal(update(&f, "", "configmaps", "a", "{}", PLAIN), 0);
    assert_true(f.result.is_deleted);
    assert_int_equal(delete (&f, "", "configmaps", "a", (struct delete_options){ 0 }), -404);
    assert_int_equal(delete (&f, "", "namespaces", "default", (struct delete_options){ 0 }), -403);
    /* A pod without a node goes at once, one on a node when its kubelet says so. */
    create(&f, "", "pods", POD("p"), PLAIN);
    assert_int_equal(delete (&f, "", "pods", "p", (struct delete_options){ 0 }), 0);
    assert_true(f.result.is_deleted);
    create(&f, "", "pods", POD("p"), PLAIN);
    assert_int_equal(bind(&f, "p", "{\"target\":{\"name\":\"n\"}}"), 0);
    assert_int_equal(delete (&f, "", "pods", "p", (struct delete_options){ 0 }), 0);
    assert_false(f.result.is_deleted);
    assert_int_equal(tree_int(yyjson_doc_get_root(f.doc), "metadata.deletionGracePeriodSeconds", 0), 30);
    assert_int_equal(bind(&f, "p", "{\"target\":{\"name\":\"n\"}}"), -409);
    assert_int_equal(delete (&f, "", "pods", "p", (struct delete_options){ .grace_s = { true, 0 } }), 0);
    assert_true(f.result.is_deleted);
    teardown(&f);
}

static void test_bind(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    create(&f, "", "pods", POD("p"), PLAIN);
    assert_int_equal(bind(&f, "none", "{\"target\":{\"name\":\"n\"}}"), -404);
    assert_int_equal(bind(&f, "p", "{\"metadata\":{\"uid\":\"other\"},\"target\":{\"name\":\"n\"}}"), -409);
    assert_int_equal(
        bind(&f, "p",
             "{\"metadata\":{\"annotations\":{\"k\":\"v\"}},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}"),
        0);
    struct stored *pod = store_get(f.store, resource_named("", "pods")->storage, STR("default"), STR("p"));
    yyjson_val *root = registry_parsed(f.registry, pod);
    assert_true(str_is(tree_text(root, "spec.nodeName"), "n"));
    assert_true(str_is(tree_text(root, "metadata.annotations.k"), "v"));
    yyjson_val *condition = yyjson_arr_get_first(tree_at(root, "status.conditions"));
    assert_true(str_is(tree_text(condition, "type"), "PodScheduled") &&
                str_is(tree_text(condition, "status"), "True"));
    assert_int_equal(bind(&f, "p", "{\"target\":{\"name\":\"m\"}}"), -409);
    assert_true(str_is(f.err.message,
                       "Operation cannot be fulfilled on pods/binding \"p\": pod p is already assigned to "
                       "node \"n\""));
    teardown(&f);
}

static void test_evict(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    create(&f, "", "pods", POD("p"), PLAIN);
    bind(&f, "p", "{\"target\":{\"name\":\"n\"}}");
    struct write_options status = { .subresource = SUB_STATUS };
    update(&f, "", "pods", "p",
           "{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"status\":{\"phase\":\"Running\",\"conditions\":[{"
           "\"type\":\"Ready\",\"status\":\"True\"}]}}",
           status);
    create(&f, "policy", "poddisruptionbudgets",
           "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}}",
           PLAIN);
    assert_int_equal(evict(&f, "p"), -429); /* the controller has not seen it */
    update(&f, "policy", "poddisruptionbudgets", "b",
           "{\"status\":{\"observedGeneration\":1,\"desiredHealthy\":1,\"currentHealthy\":1,"
           "\"disruptionsAllowed\":0}}",
           status);
    assert_int_equal(evict(&f, "p"), -429);
    assert_true(str_is(f.err.causes.items[0].message,
                       "The disruption budget b needs 1 healthy pods and has 1 currently"));
    update(&f, "policy", "poddisruptionbudgets", "b",
           "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":1}}", status);
    assert_int_equal(evict(&f, "p"), 0);
    struct stored *budget = store_get(f.store, resource_named("policy", "poddisruptionbudgets")->storage,
                                      STR("default"), STR("b"));
    yyjson_val *root = registry_parsed(f.registry, budget);
    assert_int_equal(tree_int(root, "status.disruptionsAllowed", -1), 0);
    assert_true(tree_text(root, "status.disruptedPods.p").len);
    teardown(&f);
}

static void test_scale(void **state _unused_)
{
    struct fixture f;
    setup(&f);
    create(&f, "apps", "deployments", "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":1}}", PLAIN);
    static const char scale[] = "{\"spec\":{\"replicas\":5}}", bad[] = "{\"spec\":{\"replicas\":-1}}";
    clear(&f);
    yyjson_doc *doc = yyjson_read(scale, strlen(scale), 0), *wrong = yyjson_read(bad, strlen(bad), 0);
    assert_int_equal(registry_set_scale(f.registry, resource_named("apps", "deployments"), STR("default"),
                                        STR("d"), yyjson_doc_get_root(doc), false, &f.result, &f.err),
                     0);
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    registry_scale_of(resource_at(f.result.object->kind), f.result.object, &out);
    assert_true(strstr(out.text, "\"spec\":{\"replicas\":5}"));
    clear(&f);
    assert_int_equal(registry_set_scale(f.registry, resource_named("apps", "deployments"), STR("default"),
                                        STR("d"), yyjson_doc_get_root(wrong), false, &f.result, &f.err),
                     -422);
    yyjson_doc_free(doc);
    yyjson_doc_free(wrong);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_create), cmocka_unit_test(test_update),
                                        cmocka_unit_test(test_delete), cmocka_unit_test(test_bind),
                                        cmocka_unit_test(test_evict),  cmocka_unit_test(test_scale) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
