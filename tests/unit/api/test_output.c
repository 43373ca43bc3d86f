/* The shape of JSON documents for users. */
#include "support/test.h"

#include "api/output.h"

/* An object of one line stays one, whatever is in it. */
static void test_lines(void **state)
{
    (void)state;
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_PRETTY);
    struct meta pod = { .namespace = STR("shop"), .name = STR("web-0") };
    output_begin(&json, "Example");
    output_member_name(&json, "pod", &pod);
    output_member_name(&json, "other", NULL);
    output_member_text(&json, "node", (struct str){ 0 });
    output_member_text(&json, "message", STR("full"));
    output_member_null(&json, "cost");
    json_key(&json, STR("line"));
    json_begin_line(&json);
    output_member_name(&json, "pod", &pod);
    json_member_int(&json, "more", 1);
    json_end_line(&json);
    output_end(&json);
    assert_string_equal(out.text,
                        "{\n"
                        "  \"apiVersion\": \"berth.dev/v1\",\n"
                        "  \"kind\": \"Example\",\n"
                        "  \"pod\": {\"namespace\":\"shop\",\"name\":\"web-0\"},\n"
                        "  \"other\": null,\n"
                        "  \"node\": null,\n"
                        "  \"message\": \"full\",\n"
                        "  \"cost\": null,\n"
                        "  \"line\": {\"pod\":{\"namespace\":\"shop\",\"name\":\"web-0\"},\"more\":1}\n"
                        "}\n");
    strbuf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
