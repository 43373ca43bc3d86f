/* Objects are copied, compared and written as JSON by field table: every kind in the data of test_protobuf.c. */
#include <dirent.h>

#include "api/fields.h"
#include "support/same.h"
#include "unit/api/decoded.h"

#define DATA "tests/unit/api/data"

static char *load(const char *name)
{
    char path[512], *text = xcalloc(1 << 16, 1);
    snprintf(path, sizeof(path), "%s/%s", DATA, name);
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read", path);
    assert_true(fread(text, 1, (1 << 16) - 64, file) > 0);
    fclose(file);
    return text;
}

/* A copy shares no memory with its source. */
static void check_copy(const char *name)
{
    char *text = load(name);
    struct decoded source, again;
    struct arena arena = { 0 };
    if (decode(&source, text) < 0 || decode(&again, text) < 0)
        fail_msg("%s", name);
    if (source.object.ptr) {
        const struct record_type *type = api_kinds[source.object.kind].type;
        void *copy = arena_zalloc(&arena, type->size);
        record_copy(type, source.object.ptr, &arena, copy);
        assert_true(record_equal(type, source.object.ptr, again.object.ptr));
        decoded_release(&source);
        struct same same = { 0 };
        if (!same_struct(&same, type, copy, again.object.ptr))
            fail_msg("%s: the copy differs at%s", name, same.path.text);
        assert_true(record_equal(type, copy, again.object.ptr));
        same_release(&same);
    } else {
        decoded_release(&source);
    }
    decoded_release(&again);
    arena_release(&arena);
    free(text);
}

static void test_copies(void **state _unused_)
{
    DIR *dir = opendir(DATA);
    assert_non_null(dir);
    uint32_t files = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (str_ends_with(str_from(entry->d_name), STR(".json")) && ++files)
            check_copy(entry->d_name);
    closedir(dir);
    assert_true(files > 20);
}

/* A claim with a status, and the same claim with one thing changed. */
#define CLAIM(allocation, more) \
    "{\"kind\":\"ResourceClaim\",\"apiVersion\":\"resource.k8s.io/v1\",\"metadata\":{\"name\":\"c\"}," \
    "\"status\":{\"allocation\":{\"devices\":{\"results\":[{" allocation "}]}}" more "}}"
#define DEVICE "\"driver\":\"d\",\"device\":\"x\""

static void test_differences(void **state _unused_)
{
    static const struct {
        const char *name, *text;
        bool equal;
    } cases[] = {
        { "the same", CLAIM(DEVICE, ""), true },
        { "an empty list", CLAIM(DEVICE, ",\"reservedFor\":[]"), true },
        { "a text", CLAIM("\"driver\":\"d\",\"device\":\"w\"", ""), false },
        { "an optional text that is empty", CLAIM(DEVICE ",\"shareID\":\"\"", ""), false },
        { "an optional boolean", CLAIM(DEVICE ",\"adminAccess\":false", ""), false },
        { "an amount", CLAIM(DEVICE ",\"consumedCapacity\":{\"memory\":\"1Gi\"}", ""), false },
        { "one more in a list", CLAIM(DEVICE, ",\"reservedFor\":[{\"uid\":\"u\"}]"), false },
        { "any JSON", CLAIM(DEVICE, ",\"devices\":[{\"data\":{\"a\":1}}]"), false },
    };
    struct decoded want;
    assert_int_equal(decode(&want, CLAIM(DEVICE, "")), 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct decoded got;
        if (decode(&got, cases[i].text) < 0)
            fail_msg("%s: %s", cases[i].name, got.err.text);
        if (record_equal(api_kinds[KIND_RESOURCE_CLAIM].type, want.object.ptr, got.object.ptr) !=
            cases[i].equal)
            fail_msg("%s", cases[i].name);
        decoded_release(&got);
    }
    decoded_release(&want);
}

static char *encode(const struct object *object, const struct record_redactor *redactor)
{
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    object_encode_json(object, redactor, &json);
    return out.text;
}

static bool check_file(const char *name)
{
    struct decoded want, got;
    struct same same = { .through_protobuf = false };
    char *text = load(name);
    if (decode(&want, text) < 0)
        fail_msg("%s: %s", name, want.err.text);
    bool known = want.object.ptr != NULL;
    char *written = known ? encode(&want.object, NULL) : strdup(text);
    if (decode(&got, written) < 0)
        fail_msg("%s: %s: %s", name, got.err.text, written);
    assert_int_equal(got.object.kind, want.object.kind);
    if (known && !same_struct(&same, api_kinds[want.object.kind].type, want.object.ptr, got.object.ptr))
        fail_msg("%s: differs at%s: %s", name, same.path.text, written);
    same_release(&same);
    decoded_release(&want);
    decoded_release(&got);
    free(written);
    free(text);
    return known;
}

static void every_kind_is_read_back(void **state)
{
    (void)state;
    int checked = 0;
    DIR *dir = opendir(DATA);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (str_ends_with(str_from(entry->d_name), STR(".json")))
            checked += check_file(entry->d_name);
    closedir(dir);
    assert_true(checked > 15);
}

static void texts_look_as_kubernetes_writes_them(void **state)
{
    (void)state;
    struct decoded pod;
    decode_pod(
        &pod,
        "{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: '2026-01-02T03:04:05Z', labels: "
        "{b: c}}, spec: {priority: 0, containers: [{name: d, resources: {requests: {cpu: 1500m, memory: "
        "2Gi}}}]}}");
    char *text = encode(&pod.object, NULL);
    assert_non_null(strstr(text, "\"creationTimestamp\":\"2026-01-02T03:04:05Z\""));
    assert_non_null(strstr(text, "\"requests\":{\"cpu\":\"1500m\",\"memory\":\"2Gi\"}"));
    assert_non_null(strstr(text, "\"priority\":0"));
    assert_non_null(strstr(text, "\"labels\":{\"b\":\"c\"}"));
    assert_null(strstr(text, "status"));
    free(text);
    decoded_release(&pod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(every_kind_is_read_back),
        cmocka_unit_test(texts_look_as_kubernetes_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
