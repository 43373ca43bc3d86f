/* Bodies in protobuf, as Kubernetes wrote them, and the same objects in JSON: what has a value in JSON has it here. */
#include "support/test.h"

#include <dirent.h>
#include <stdio.h>

#include "apiserver/messages.h"
#include "apiserver/tree.h"

#define DATA "tests/unit/api/data/"

static void read_file(const char *name, const char *ending, struct strbuf *ret)
{
    char path[300], buf[4096];
    size_t len;
    snprintf(path, sizeof(path), DATA "%s%s", name, ending);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s", path);
    while ((len = fread(buf, 1, sizeof(buf), file)) > 0)
        strbuf_add(ret, buf, len);
    fclose(file);
}

static bool is_zero(yyjson_val *val)
{
    return yyjson_is_null(val) || (yyjson_is_str(val) && !yyjson_get_len(val)) || yyjson_is_false(val) ||
           (yyjson_is_num(val) && yyjson_get_num(val) == 0) ||
           (yyjson_is_ctn(val) && yyjson_get_len(val) == 0);
}

/* Is everything of `wanted` in `have`? Zeros may be absent. */
static void check(const char *name, const char *at, yyjson_val *have, yyjson_val *wanted)
{
    yyjson_val *key, *val;
    size_t i, max;
    if (is_zero(wanted) && !have)
        return;
    if (yyjson_get_type(have) != yyjson_get_type(wanted))
        fail_msg("%s: %s: another type", name, at);
    if (yyjson_is_obj(wanted)) {
        yyjson_obj_foreach(wanted, i, max, key, val)
            check(name, yyjson_get_str(key), yyjson_obj_get(have, yyjson_get_str(key)), val);
    } else if (yyjson_is_arr(wanted)) {
        assert_int_equal(yyjson_arr_size(have), yyjson_arr_size(wanted));
        yyjson_arr_foreach(wanted, i, max, val)
            check(name, at, yyjson_arr_get(have, i), val);
    } else if (!yyjson_equals(have, wanted)) {
        fail_msg("%s: %s: another value", name, at);
    }
}

static void compare(const char *name)
{
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 }, json = { 0 }, out = { 0 };
    struct arena arena = { 0 };
    struct str reason;
    read_file(name, ".pb", &bytes);
    read_file(name, ".json", &json);
    if (!messages_to_json(strbuf_slice(&bytes), &out, &arena, &reason))
        fail_msg("%s: " STR_FMT, name, STR_ARG(reason));
    yyjson_doc *have = yyjson_read(out.text, out.len, 0), *wanted = yyjson_read(json.text, json.len, 0);
    check(name, "", yyjson_doc_get_root(have), yyjson_doc_get_root(wanted));
    yyjson_doc_free(have);
    yyjson_doc_free(wanted);
    arena_release(&arena);
}

static void test_objects(void **state _unused_)
{
    static const char *const names[] = { "binding",    "configmap", "csidriver", "csinode",     "daemonset",
                                         "deployment", "event",     "lease",     "namespace",   "node",
                                         "pod",        "pv",        "pvc",       "storageclass" };
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[300];
        snprintf(path, sizeof(path), DATA "%s.pb", names[i]);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        fclose(file);
        compare(names[i]);
        count++;
    }
    assert_true(count > 8);
}

/* Bytes that end too early, or are changed, end in a reason or in an object. */
static void test_broken(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 };
    read_file("pod", ".pb", &bytes);
    for (size_t i = 0; i < bytes.len; i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        struct arena arena = { 0 };
        struct str reason;
        char *copy = xmalloc(bytes.len);
        memcpy(copy, bytes.text, bytes.len);
        messages_to_json((struct str){ copy, (uint32_t)i }, &out, &arena, &reason);
        copy[i] ^= (char)(1 << (i % 8));
        messages_to_json((struct str){ copy, (uint32_t)bytes.len }, &out, &arena, &reason);
        free(copy);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_objects), cmocka_unit_test(test_broken) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
