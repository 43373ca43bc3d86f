/* Objects in protobuf are converted to the same JSON as in Go. The pairs in data/ were written by Kubernetes' own types
 * (tests/extender/fields): with no field set, with every field, with some. */
#include "support/fixture.h"

#include <yyjson.h>

#include "api/protobuf.h"
#include "extender/full_objects.h"
#include "net/file.h"
#include "sync/watch_decode.h"

static void read_data(const char *name, const char *end, struct strbuf *ret)
{
    char path[256];
    struct error err;
    snprintf(path, sizeof(path), "tests/unit/extender/data/%s.%s", name, end);
    if (file_read(path, 1 << 20, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static const char *key_text(yyjson_val *key)
{
    const char *text = yyjson_get_str(key);
    return text ? text : "";
}

/* Whether two values differ; appends the place to the path. */
static bool differ(yyjson_val *got, yyjson_val *want, struct strbuf *path)
{
    if (yyjson_equals(got, want))
        return false;
    size_t len = path->len, i, max;
    yyjson_val *key, *val;
    if (yyjson_is_obj(want) && yyjson_is_obj(got)) {
        yyjson_obj_foreach(want, i, max, key, val) {
            const char *name = key_text(key);
            strbuf_printf(path, ".%s", name);
            if (differ(yyjson_obj_get(got, name), val, path))
                return true;
            path->len = len;
        }
        yyjson_obj_foreach(got, i, max, key, val)
            if (!yyjson_obj_get(want, key_text(key)))
                strbuf_printf(path, ".%s is too much", key_text(key));
    } else if (yyjson_is_arr(want) && yyjson_is_arr(got)) {
        yyjson_arr_foreach(want, i, max, val) {
            strbuf_printf(path, "[%zu]", i);
            if (differ(yyjson_arr_get(got, i), val, path))
                return true;
            path->len = len;
        }
    }
    return true;
}

static void assert_same_json(struct str got, struct str want, const char *name)
{
    yyjson_doc *a = yyjson_read(got.ptr, got.len, 0), *b = yyjson_read(want.ptr, want.len, 0);
    struct strbuf path = { 0 };
    strbuf_puts(&path, name);
    assert_non_null(a);
    assert_non_null(b);
    if (differ(yyjson_doc_get_root(a), yyjson_doc_get_root(b), &path))
        fail_msg("%s", path.text);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    strbuf_release(&path);
}

static enum api_kind kind_of(const char *name)
{
    return name[0] == 'p' ? KIND_POD : KIND_NODE;
}

static const char *const objects[] = { "pod-empty",  "pod-0",  "pod-1",  "pod-2",
                                       "node-empty", "node-0", "node-1", "node-2" };

static void test_as_go_writes_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
        struct strbuf bytes = { 0 }, want = { 0 }, got = { 0 };
        struct json_writer json = json_writer(&got, JSON_COMPACT);
        struct error err;
        read_data(objects[i], "pb", &bytes);
        read_data(objects[i], "json", &want);
        if (full_bytes(&json, kind_of(objects[i]), strbuf_slice(&bytes), &err) < 0)
            fail_msg("%s: %s", objects[i], err.text);
        assert_same_json(strbuf_slice(&got), strbuf_slice(&want), objects[i]);
        strbuf_release(&bytes);
        strbuf_release(&want);
        strbuf_release(&got);
    }
}

/* JSON is passed on, without the fields that kube-scheduler drops. */
static void test_from_json(void **state)
{
    (void)state;
    struct strbuf got = { 0 };
    struct json_writer json = json_writer(&got, JSON_COMPACT);
    struct error err;
    assert_int_equal(full_bytes(&json, KIND_NODE,
                                STR("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                                    "\"managedFields\":[{}]},\"spec\":{\"novel\":1}}"),
                                &err),
                     0);
    assert_str(strbuf_slice(&got), "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"novel\":1}}");
    strbuf_release(&got);
}

/* A truncated object is written completely or not at all. */
static void test_truncated(void **state)
{
    (void)state;
    struct strbuf bytes = { 0 };
    read_data("pod-2", "pb", &bytes);
    for (size_t len = 0; len < bytes.len; len += 7) {
        struct strbuf got = { 0 };
        struct json_writer json = json_writer(&got, JSON_COMPACT);
        struct error err = { 0 };
        char *copy = memcpy(xcalloc(len + 1, 1), bytes.text, len);
        int r = full_bytes(&json, KIND_POD, (struct str){ copy, (uint32_t)len }, &err);
        assert_true(r == 0 ? got.len > 0 : got.len == 0 && err.text[0]);
        strbuf_release(&got);
        free(copy);
    }
    strbuf_release(&bytes);
}

/* An object that keeps its source is written from it; any other object with the fields that berth knows. */
static void test_object(void **state)
{
    (void)state;
    struct fixture f;
    struct error err;
    FIXTURE_BARE(&f);
    fixture_load(
        &f, "{kind: Pod, metadata: {name: p, annotations: {a: b}}, spec: {containers: [{name: c, image: i,"
            " env: [{name: X, value: y}], resources: {requests: {cpu: 500m}}}]}}");
    struct pod pod = *f.last_pod->api;
    struct strbuf got = { 0 };
    struct json_writer json = json_writer(&got, JSON_COMPACT);
    assert_int_equal(full_pod(&json, &pod, &err), 0);
    assert_non_null(strstr(got.text, "\"annotations\":{\"a\":\"b\"}"));
    assert_non_null(strstr(got.text, "\"image\":\"i\""));
    assert_null(strstr(got.text, "env"));

    strbuf_release(&got);
    json = json_writer(&got, JSON_COMPACT);
    pod.meta.source = STR("{\"spec\":{\"containers\":[{\"env\":[{\"name\":\"X\"}]}]}}");
    assert_int_equal(full_pod(&json, &pod, &err), 0);
    assert_non_null(strstr(got.text, "\"env\""));
    strbuf_release(&got);

    /* With the node it was assumed on. */
    json = json_writer(&got, JSON_COMPACT);
    assert_int_equal(full_pod_on(&json, &pod, STR("n1"), &err), 0);
    assert_non_null(strstr(got.text, "\"env\""));
    assert_non_null(strstr(got.text, "\"nodeName\":\"n1\""));
    strbuf_release(&got);
    pod.meta.source = (struct str){ 0 };
    json = json_writer(&got, JSON_COMPACT);
    assert_int_equal(full_pod_on(&json, &pod, STR("n1"), &err), 0);
    assert_non_null(strstr(got.text, "\"nodeName\":\"n1\""));
    strbuf_release(&got);
    fixture_release(&f);
}

/* With STRINGS_IN_SOURCE the decoder keeps the bytes, and the object is the same. */
static void test_source(void **state)
{
    (void)state;
    struct strbuf bytes = { 0 }, envelope = { 0 }, got = { 0 }, want = { 0 };
    struct arena arena = { 0 };
    struct error err;
    struct object object;
    read_data("pod-0", "pb", &bytes);
    read_data("pod-0", "json", &want);
    strbuf_add(&envelope, "k8s", 4);
    size_t begun = protobuf_begin(&envelope, 1);
    protobuf_put_bytes(&envelope, 1, STR("v1"));
    protobuf_put_bytes(&envelope, 2, STR("Pod"));
    protobuf_end(&envelope, begun);
    protobuf_put_bytes(&envelope, 2, strbuf_slice(&bytes));
    int r = object_decode_protobuf(strbuf_slice(&envelope), STRINGS_IN_SOURCE, &arena, &object, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    strbuf_release(&envelope);
    const struct pod *pod = object.ptr;
    assert_true(str_eq(pod->meta.source, strbuf_slice(&bytes)));
    assert_true(pod->meta.name.ptr >= pod->meta.source.ptr &&
                pod->meta.name.ptr < pod->meta.source.ptr + pod->meta.source.len);
    struct json_writer json = json_writer(&got, JSON_COMPACT);
    assert_int_equal(full_pod(&json, pod, &err), 0);
    assert_same_json(strbuf_slice(&got), strbuf_slice(&want), "pod-0");
    strbuf_release(&bytes);
    strbuf_release(&got);
    strbuf_release(&want);
    arena_release(&arena);
}

static void assert_kept(const struct live_object *live, const char *want)
{
    struct strbuf got = { 0 };
    struct json_writer json = json_writer(&got, JSON_COMPACT);
    struct error err;
    assert_int_equal(full_node(&json, live->object.ptr, &err), 0);
    assert_str(strbuf_slice(&got), want);
    strbuf_release(&got);
}

#define NOVEL "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"},\"spec\":{\"novel\":1}}"

/* From an API server that answers in JSON: unknown fields are kept as well. */
static void test_json_server(void **state)
{
    (void)state;
    struct arena scratch = { 0 };
    struct strbuf body = { 0 };
    struct live_object *live;
    struct list_page page;
    struct watch_decoder watch;
    struct live_event event;
    struct error err;
    strbuf_puts(&body,
                "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"5\"},"
                "\"items\":[" NOVEL "]}");
    assert_int_equal(list_page_init(&page, KIND_NODE, &body, &err), 0);
    page.keeps_source = true;
    assert_int_equal(list_page_next(&page, &scratch, &live, &err), 1);
    assert_kept(live, NOVEL);
    live_object_free(live);
    list_page_release(&page);

    watch_decoder_init(&watch, KIND_NODE);
    watch.keeps_source = true;
    watch_decoder_feed(
        &watch, STR("{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":\"v1\","
                    "\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"5\"},\"spec\":{\"novel\":1}}}"));
    assert_int_equal(watch_decoder_next(&watch, &scratch, &event, &err), 1);
    assert_non_null(event.object);
    assert_kept(event.object, NOVEL);
    live_object_free(event.object);
    watch_decoder_release(&watch);
    arena_release(&scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_go_writes_it), cmocka_unit_test(test_from_json),
        cmocka_unit_test(test_truncated),       cmocka_unit_test(test_object),
        cmocka_unit_test(test_source),          cmocka_unit_test(test_json_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
