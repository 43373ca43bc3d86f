/* What is written as JSON is read back as the same object. */
#include "api/json_encode.h"

#include <dirent.h>

#include "api/fields.h"
#include "support/same.h"
#include "unit/api/decoded.h"

#define DATA "tests/unit/api/data/"

static char *load(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), DATA "%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s can not be read", path);
    char *text = xcalloc(1, (1 << 16) + 1);
    assert_true(fread(text, 1, 1 << 16, file) > 0);
    fclose(file);
    return text;
}

static char *encode(const struct object *object, const struct json_veil *veil)
{
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    object_encode_json(object, veil, &json);
    return out.text;
}

static bool check_file(const char *name)
{
    struct decoded want, got;
    struct same same = { .wire = false };
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

static void every_kind_comes_back(void **state)
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
        cmocka_unit_test(every_kind_comes_back),
        cmocka_unit_test(texts_look_as_kubernetes_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
