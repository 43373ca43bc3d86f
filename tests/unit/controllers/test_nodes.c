/* Nodes and their pods on a registry and a store in memory: for how long which pods stay on a node with NoExecute
 * taints, and that a kubelet which has failed does nothing. */
#include "support/test.h"

#include "apiserver/bootstrap.h"
#include "apiserver/fake_kubelet.h"
#include "apiserver/tree.h"
#include "controllers/controllers.h"

enum { PATIENCE_S = 60 };

struct fixture {
    struct loop *loop;
    struct store *store;
    struct registry *registry;
    struct controllers *controllers;
};

static void setup(struct fixture *f)
{
    static struct str kinds[128];
    static struct strbuf names[128];
    uint32_t count = 0;
    struct error err;
    for (; resource_at(count); count++) {
        strbuf_clear(&names[count]);
        resource_write_name(resource_at(count), &names[count]);
        kinds[count] = strbuf_slice(&names[count]);
    }
    *f = (struct fixture){ 0 };
    assert_int_equal(loop_new(NULL, &f->loop, &err), 0);
    assert_int_equal(
        store_open(&(struct store_options){ .kinds = kinds, .kind_count = count }, f->loop, &f->store, &err),
        0);
    f->registry = registry_new(&(struct registry_options){ .store = f->store, .seed = 1 });
    for (uint32_t i = 0; i < count; i++)
        strbuf_release(&names[i]);
    assert_int_equal(bootstrap_objects(f->registry, 1, &err), 0);
    assert_int_equal(bootstrap_nodes(f->registry, 2, &err), 0);
    f->controllers =
        controllers_new(&(struct controllers_options){ .registry = f->registry, .loop = f->loop });
}

static void teardown(struct fixture *f)
{
    controllers_free(f->controllers);
    loop_turn(f->loop);
    registry_free(f->registry);
    store_close(f->store);
    loop_free(f->loop);
}

static void create_pod(struct fixture *f, const char *name, const char *node, const char *tolerations)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    struct strbuf json = { 0 };
    strbuf_printf(
        &json,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\"}],\"tolerations\":[%s]}}",
        name, node, tolerations);
    yyjson_doc *doc = yyjson_read(json.text, json.len, 0);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    if (registry_create(f->registry, resource_named("", "pods"), STR("default"), object,
                        &(struct write_options){ 0 }, &result, &err) < 0)
        fail_msg("%.*s", STR_ARG(err.message));
    registry_result_release(&result);
    api_error_release(&err);
    yyjson_mut_doc_free(object);
    yyjson_doc_free(doc);
    strbuf_release(&json);
}

struct edit {
    const char *path, *key, *json; /* NULL: removes */
};

static int edit_object(void *user, yyjson_mut_doc *doc, struct api_error *err)
{
    (void)err;
    const struct edit *edit = user;
    yyjson_doc *val = edit->json ? yyjson_read(edit->json, strlen(edit->json), 0) : NULL;
    tree_mut_put(doc, tree_mut_make(doc, yyjson_mut_doc_get_root(doc), edit->path), str_from(edit->key),
                 val ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(val)) : NULL);
    yyjson_doc_free(val);
    return 0;
}

static void edit_node(struct fixture *f, const char *name, struct edit edit)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    assert_int_equal(registry_modify(f->registry, resource_named("", "nodes"), STR(""), str_from(name),
                                     &(struct write_options){ 0 }, edit_object, &edit, &result, &err),
                     0);
    registry_result_release(&result);
    api_error_release(&err);
}

/* The text of the object; NULL: there is none. */
static const char *text_of(struct fixture *f, const char *plural, const char *name)
{
    bool is_node = strcmp(plural, "nodes") == 0;
    struct stored *object = store_get(f->store, resource_named("", plural)->storage,
                                      is_node ? STR("") : STR("default"), str_from(name));
    return object ? object->json.ptr : NULL;
}

static bool pod_says(struct fixture *f, const char *name, const char *words)
{
    const char *text = text_of(f, "pods", name);
    return text && strstr(text, words);
}

#define until(f, condition) \
    do { \
        int64_t until_ns_ = monotonic_ns() + PATIENCE_S * NS_PER_S; \
        while (!(condition)) { \
            loop_turn((f)->loop); \
            if (monotonic_ns() > until_ns_) \
                fail_msg("not in time: %s", #condition); \
        } \
    } while (0)

#define TOLERATE(key, seconds) \
    "{\"key\":\"" key "\",\"operator\":\"Exists\",\"effect\":\"NoExecute\",\"tolerationSeconds\":" seconds "}"
#define FOR_EVER(key) "{\"key\":\"" key "\",\"operator\":\"Exists\"}"
#define TAINT(key) "{\"key\":\"" key "\",\"effect\":\"NoExecute\"}"

static void test_evictions(void **state)
{
    (void)state;
    static const struct {
        const char *name, *tolerations;
        bool goes;
    } pods[] = {
        { "none", "", true },
        { "only-a", FOR_EVER("a"), true },
        { "both", FOR_EVER("a") "," FOR_EVER("b"), false },
        { "all", "{\"operator\":\"Exists\"}", false },
        { "least", TOLERATE("a", "100000") "," TOLERATE("b", "1"), true },
        { "zero", TOLERATE("a", "-1") "," FOR_EVER("b"), true },
        { "first-counts", FOR_EVER("a") "," TOLERATE("a", "0") "," FOR_EVER("b"), false },
        { "long", TOLERATE("a", "100000") "," FOR_EVER("b"), false },
        { "other-effect", "{\"key\":\"a\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}," FOR_EVER("b"),
          true },
    };
    struct fixture f;
    setup(&f);
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        create_pod(&f, pods[i].name, "node-0", pods[i].tolerations);
    create_pod(&f, "elsewhere", "node-1", "");
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        until(&f, pod_says(&f, pods[i].name, "\"phase\":\"Running\""));
    edit_node(&f, "node-0", (struct edit){ "spec", "taints", "[" TAINT("a") "," TAINT("b") "]" });
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        if (pods[i].goes)
            until(&f, !text_of(&f, "pods", pods[i].name));
    for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
        assert_true(pods[i].goes || pod_says(&f, pods[i].name, "\"phase\":\"Running\""));
    assert_true(pod_says(&f, "elsewhere", "\"phase\":\"Running\""));
    teardown(&f);
}

static void test_failed_kubelet(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    create_pod(&f, "p", "node-0", "{\"operator\":\"Exists\"}");
    until(&f, pod_says(&f, "p", "\"phase\":\"Running\""));
    edit_node(&f, "node-0", (struct edit){ "metadata.annotations", FAIL_ANNOTATION, "\"unreachable\"" });
    until(&f, strstr(text_of(&f, "nodes", "node-0"), "\"effect\":\"NoExecute\""));
    /* Nothing starts there, and nothing ends. A pod on the other node shows that time has passed. */
    create_pod(&f, "late", "node-0", "{\"operator\":\"Exists\"}");
    create_pod(&f, "other", "node-1", "");
    until(&f, pod_says(&f, "other", "\"phase\":\"Running\""));
    assert_true(pod_says(&f, "late", "\"phase\":\"Pending\""));
    assert_null(strstr(text_of(&f, "nodes", "node-1"), "NoExecute"));
    edit_node(&f, "node-0", (struct edit){ "metadata.annotations", FAIL_ANNOTATION, NULL });
    until(&f, pod_says(&f, "late", "\"phase\":\"Running\""));
    until(&f, !strstr(text_of(&f, "nodes", "node-0"), "NoExecute"));
    teardown(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evictions),
        cmocka_unit_test(test_failed_kubelet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
