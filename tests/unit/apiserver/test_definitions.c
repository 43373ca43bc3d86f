/* CustomResourceDefinitions: names, resources that come and go, versions, and objects that go with their definition. */
#include "support/test.h"

#include "apiserver/bootstrap.h"
#include "apiserver/definitions.h"
#include "apiserver/output.h"
#include "apiserver/table.h"
#include "apiserver/tree.h"

struct fixture {
    struct store *store;
    struct registry *registry;
    struct definitions *definitions;
    uint32_t gone; /* the last storage */
};

static void on_gone(void *user, uint32_t storage)
{
    ((struct fixture *)user)->gone = storage;
}

static void begin(struct fixture *f)
{
    f->definitions = definitions_new(
        &(struct definitions_options){ .registry = f->registry, .on_gone = on_gone, .user = f });
}

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
    begin(f);
}

static void teardown(struct fixture *f)
{
    definitions_free(f->definitions);
    registry_free(f->registry);
    store_close(f->store);
}

static const struct api_resource *definitions_resource(void)
{
    return resource_named("apiextensions.k8s.io", "customresourcedefinitions");
}

static int create(struct fixture *f, const struct api_resource *resource, const char *ns, const char *json)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    assert_non_null(resource);
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    assert_non_null(doc);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    int r = registry_create(f->registry, resource, str_from(ns), object, &(struct write_options){ 0 },
                            &result, &err);
    registry_result_release(&result);
    api_error_release(&err);
    yyjson_mut_doc_free(object);
    yyjson_doc_free(doc);
    return r;
}

static int delete(struct fixture *f, const struct api_resource *resource, const char *ns, const char *name)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    int r = registry_delete(f->registry, resource, str_from(ns), str_from(name),
                            &(struct delete_options){ 0 }, &result, &err);
    registry_result_release(&result);
    api_error_release(&err);
    return r;
}

static bool has(struct fixture *f, const struct api_resource *resource, const char *ns, const char *name,
                const char *text)
{
    struct stored *object = store_get(f->store, resource->storage, str_from(ns), str_from(name));
    return object && strstr(object->json.ptr, text);
}

#define SCHEMA "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"}}"
#define DEFINITION(plural, kind) \
    "{\"metadata\":{\"name\":\"" plural ".example.com\"},\"spec\":{\"group\":\"example.com\",\"scope\":" \
    "\"Namespaced\",\"names\":{\"plural\":\"" plural "\",\"kind\":\"" kind \
    "\"},\"versions\":[{\"name\":\"v1beta1\",\"served\":true,\"storage\":false," SCHEMA \
    "},{\"name\":\"v1\",\"served\":true,\"storage\":true," SCHEMA \
    ",\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":\"integer\",\"jsonPath\":\".spec.size\"}]," \
    "\"subresources\":{\"status\":{}}}]}}"

static const struct api_resource *widgets(const char *version)
{
    return resource_find(STR("example.com"), str_from(version), STR("widgets"));
}

static void test_served(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_null(widgets("v1"));
    assert_int_equal(create(&f, definitions_resource(), "", DEFINITION("widgets", "Widget")), 0);
    assert_true(has(&f, definitions_resource(), "", "widgets.example.com", "\"InitialNamesAccepted\""));
    assert_non_null(widgets("v1"));
    assert_int_equal(widgets("v1")->storage, widgets("v1beta1")->storage);
    /* The stable version comes first. */
    const struct api_resource *const *rows;
    size_t count = resources_listed(&rows);
    assert_ptr_equal(rows[count - 2], widgets("v1"));
    assert_ptr_equal(rows[count - 1], widgets("v1beta1"));
    /* Written in one version, read in the other. */
    assert_int_equal(create(&f, widgets("v1beta1"), "default",
                            "{\"metadata\":{\"name\":\"one\"},\"spec\":{\"size\":3},\"status\":{\"a\":1}}"),
                     0);
    assert_true(has(&f, widgets("v1"), "default", "one", "\"example.com/v1\""));
    struct strbuf text = { 0 };
    struct stored *one = store_get(f.store, widgets("v1")->storage, STR("default"), STR("one"));
    output_object(&(struct output){ .resource = widgets("v1beta1") }, one->json, &text);
    assert_non_null(strstr(text.text, "\"example.com/v1beta1\""));
    strbuf_clear(&text);
    yyjson_doc *doc = yyjson_read(one->json.ptr, one->json.len, 0);
    table_write_cells(widgets("v1"), yyjson_doc_get_root(doc), &text);
    assert_str(strbuf_slice(&text), "[\"one\",3]");
    yyjson_doc_free(doc);
    strbuf_release(&text);
    /* Served again after a restart. */
    definitions_free(f.definitions);
    assert_null(widgets("v1"));
    begin(&f);
    assert_non_null(widgets("v1"));
    assert_true(has(&f, widgets("v1"), "default", "one", "\"size\":3"));
    teardown(&f);
}

static void test_conflict(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_int_equal(create(&f, definitions_resource(), "", DEFINITION("gadgets", "Widget")), 0);
    assert_int_equal(create(&f, definitions_resource(), "", DEFINITION("widgets", "Widget")), 0);
    assert_null(widgets("v1"));
    assert_true(has(&f, definitions_resource(), "", "widgets.example.com", "already in use"));
    assert_int_equal(delete (&f, definitions_resource(), "", "gadgets.example.com"), 0);
    assert_non_null(widgets("v1"));
    teardown(&f);
}

static void test_deleted(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_int_equal(create(&f, definitions_resource(), "", DEFINITION("widgets", "Widget")), 0);
    uint32_t storage = widgets("v1")->storage;
    assert_int_equal(create(&f, widgets("v1"), "default", "{\"metadata\":{\"name\":\"one\"}}"), 0);
    assert_int_equal(create(&f, widgets("v1"), "default",
                            "{\"metadata\":{\"name\":\"two\",\"finalizers\":[\"example.com/x\"]}}"),
                     0);
    assert_int_equal(delete (&f, definitions_resource(), "", "widgets.example.com"), 0);
    /* What has a finalizer keeps the definition, and no more objects come. */
    assert_true(has(&f, definitions_resource(), "", "widgets.example.com", "InstanceDeletionInProgress"));
    assert_int_equal(store_count(f.store, &(struct store_range){ .kind = storage }), 1);
    assert_false(widgets("v1")->verbs & VERB_CREATE);
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    yyjson_mut_doc *two = registry_copy(store_get(f.store, storage, STR("default"), STR("two")));
    tree_mut_remove(yyjson_mut_obj_get(yyjson_mut_doc_get_root(two), "metadata"), "finalizers");
    assert_int_equal(registry_update(f.registry, widgets("v1"), STR("default"), STR("two"), two,
                                     &(struct write_options){ 0 }, &result, &err),
                     0);
    yyjson_mut_doc_free(two);
    registry_result_release(&result);
    assert_null(widgets("v1"));
    assert_int_equal(f.gone, storage);
    assert_int_equal(store_count(f.store, &(struct store_range){ .kind = storage }), 0);
    assert_null(
        store_get(f.store, definitions_resource()->storage, (struct str){ 0 }, STR("widgets.example.com")));
    teardown(&f);
}

static void test_refused(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_int_equal(
        create(&f, definitions_resource(), "",
               "{\"metadata\":{\"name\":\"x.example.com\"},\"spec\":{\"group\":\"example.com\","
               "\"scope\":\"Cluster\",\"names\":{\"plural\":\"y\",\"kind\":\"Y\"},\"versions\":[]}}"),
        -422);
    assert_int_equal(create(&f, definitions_resource(), "", "{\"metadata\":{\"name\":\"x.example.com\"}}"),
                     -422);
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_served), cmocka_unit_test(test_conflict),
                                        cmocka_unit_test(test_deleted), cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
