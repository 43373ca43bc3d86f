/* Label keys, label values and extended resource names: which are valid, and the errors of the others. */
#include "support/test.h"

#include "api/names.h"

#define A63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define NAME \
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " \
    "alphanumeric " \
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " \
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
#define PREFIX \
    "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or " \
    "'.', and " \
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " \
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
#define VALUE \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " \
    "must start " \
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for " \
    "validation " \
    "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

static const struct {
    const char *text;
    const char *want[3]; /* ends with NULL */
} keys[] = {
    { "simple", { NULL } },
    { "now-with-dashes", { NULL } },
    { "1-starts-with-num", { NULL } },
    { "1234", { NULL } },
    { "simple/simple", { NULL } },
    { "now-with-dashes/simple", { NULL } },
    { "now.with.dots/simple", { NULL } },
    { "1.2.3.4/5678", { NULL } },
    { "UppercaseIsOK123", { NULL } },
    { "example.com/Uppercase_IsOK.123", { NULL } },
    { A63, { NULL } },
    { "", { "name part must be non-empty", NAME } },
    { "x/", { "name part must be non-empty", NAME } },
    { "/x", { "prefix part must be non-empty" } },
    { "nospecialchars%^=@", { NAME } },
    { "cantendwithadash-", { NAME } },
    { "-cantstartwithadash-", { NAME } },
    { "only/one/slash",
      { "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
        "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. "
        "'example.com/MyName')" } },
    { "Example.com/abc", { PREFIX } },
    { "example_com/abc", { PREFIX } },
    { "example..com/abc", { PREFIX } },
    { "example.-com/abc", { PREFIX } },
    { ".com/abc", { PREFIX } },
    { "-a/-b", { PREFIX, NAME } },
    { A63 "x", { "name part must be no more than 63 bytes" } },
    { A63 "." A63 "." A63 "." A63 "/x", { "prefix part must be no more than 253 bytes" } },
    { A63 "." A63 "." A63 "." A63 "." "/x", { "prefix part must be no more than 253 bytes", PREFIX } },
}, values[] = {
    { "", { NULL } },
    { "simple", { NULL } },
    { "now-with_all.OF-them", { NULL } },
    { A63, { NULL } },
    { A63 "x", { "must be no more than 63 bytes" } },
    { "-starts", { VALUE } },
    { "ends.", { VALUE } },
    { "a b", { VALUE } },
    { "a/b", { VALUE } },
    { "\xc3\xa9", { VALUE } },
};

static void check(const char *text, struct name_faults got, const char *const *want)
{
    size_t len = 0;
    while (len < 3 && want[len])
        len++;
    if (got.len != len)
        fail_msg("\"%s\": got %zu faults, want %zu", text, got.len, len);
    for (size_t i = 0; i < len; i++)
        assert_string_equal(got.items[i], want[i]);
}

static void test_label_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        check(keys[i].text, name_check_label_key(str_from(keys[i].text)), keys[i].want);
    for (size_t i = 0; i < ARRAY_SIZE(values); i++)
        check(values[i].text, name_check_label_value(str_from(values[i].text)), values[i].want);
    assert_int_equal(name_check_label_key(STR("a\0b")).len, 1);
}

static void test_extended_resources(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool want;
    } cases[] = {
        { "nvidia.com/gpu", true },
        { "cpu", false },
        { "hugepages-2Mi", false },
        { "kubernetes.io/x", false },
        { "sub.kubernetes.io/x", false },
        { "requests.nvidia.com/gpu", false },
        { "a/b/c", false },
        { "-a/b", false },
        { A63 "." A63 "." A63 ".bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/x",
          true }, /* 244 + 9 bytes */
        { A63 "." A63 "." A63 ".bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb/x", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        if (name_is_extended_resource(str_from(cases[i].name)) != cases[i].want)
            fail_msg("%s", cases[i].name);
}

/* A name without a tag means the tag "latest"; a registry's port is no tag. */
static void test_image_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "nginx", "nginx:latest" },
        { "nginx:1.27", "nginx:1.27" },
        { "localhost:5000/nginx", "localhost:5000/nginx:latest" },
        { "localhost:5000/nginx:1", "localhost:5000/nginx:1" },
        { "docker.io/library/nginx", "docker.io/library/nginx:latest" },
        { "nginx@sha256:abc", "nginx@sha256:abc" },
        { "", ":latest" },
        { "a/", "a/:latest" },
        { ":", ":" },
    };
    struct arena arena = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_str(image_name_normalize(str_from(cases[i][0]), &arena), cases[i][1]);
    arena_release(&arena);
}

static void test_object_keys(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf buf = { 0 };
    assert_str(object_key(&buf, STR("default"), STR("web")), "default/web");
    assert_str(object_key(&buf, (struct str){ 0 }, STR("node-1")), "node-1");
    assert_str(object_key(&buf, STR("a"), STR("")), "a/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_label_names),
        cmocka_unit_test(test_extended_resources),
        cmocka_unit_test(test_image_names),
        cmocka_unit_test(test_object_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
