/* Unknown, duplicate and wrongly typed fields: the texts of a real API server (cases_check.jsonl, see `record`). */
#include "schema/recorded.h"

#include "schema/check.h"

/* What the API server says about problems of the object's form, or nothing. */
static struct str answer(const struct schema_type *type, struct schema_problems *problems, bool strict)
{
    struct strbuf text = { 0 };
    struct str result = { 0 };
    if (problems->wrong.ptr)
        strbuf_str(&text, problems->wrong);
    else if (strict && problems->strict.len)
        schema_strict_text(problems, &text);
    if (text.len)
        result = arena_printf(&problems->arena,
                              STR_FMT " in version \"" STR_FMT "\" cannot be handled as a " STR_FMT ": %s",
                              STR_ARG(type->kind), STR_ARG(type->version), STR_ARG(type->kind), text.text);
    strbuf_release(&text);
    return result;
}

static void expect_warnings(const char *what, yyjson_val *line, const struct schema_problems *problems)
{
    yyjson_val *warnings = yyjson_obj_get(line, "warnings"), *warning;
    size_t i, max, at = 0;
    yyjson_arr_foreach(doc_items(warnings), i, max, warning) {
        /* Others are about fields that are deprecated. */
        if (str_starts_with(doc_text(warning), STR("unknown field")) ||
            str_starts_with(doc_text(warning), STR("duplicate field"))) {
            expect_text(what, at < problems->strict.len ? problems->strict.items[at] : STR("none"),
                        doc_text(warning));
            at++;
        }
    }
    if (at != problems->strict.len)
        expect_text(what, problems->strict.items[at], STR("none"));
}

static void run_case(yyjson_val *line)
{
    struct str text = text_of(line, "text"), validation = text_of(line, "validation");
    yyjson_doc *doc = yyjson_read(text.ptr, text.len, 0);
    yyjson_val *object = yyjson_doc_get_root(doc);
    const struct schema_type *type = type_of(object);
    struct schema_problems problems = { 0 };
    schema_check(type, object, SCHEMA_DECODED, &problems);
    struct str want = text_of(line, "message");
    /* Later checks of the API server are not about the form. */
    if (!str_contains(want, STR("cannot be handled as")))
        want = (struct str){ 0 };
    char what[300];
    snprintf(what, sizeof(what), STR_FMT " %.250s", STR_ARG(validation), text.ptr);
    expect_text(what, answer(type, &problems, str_is(validation, "Strict")), want);
    if (str_is(validation, "Warn") && !problems.wrong.ptr && !yyjson_obj_get(line, "code"))
        expect_warnings(what, line, &problems);
    schema_problems_release(&problems);
    yyjson_doc_free(doc);
}

static void test_recorded(void **state)
{
    (void)state;
    assert_true(recorded_cases("tests/unit/schema/cases_check.jsonl", run_case) > 100);
    assert_int_equal(failures, 0);
}

static void test_depth(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    strbuf_puts(&text, "{\"data\":");
    for (int i = 0; i < 50000; i++)
        strbuf_putc(&text, '[');
    for (int i = 0; i < 50000; i++)
        strbuf_putc(&text, ']');
    strbuf_putc(&text, '}');
    yyjson_doc *doc = yyjson_read(text.text, text.len, 0);
    struct schema_problems problems = { 0 };
    schema_check(schema_of(STR("apps"), STR("v1"), STR("ControllerRevision")), yyjson_doc_get_root(doc),
                 SCHEMA_DECODED, &problems);
    expect_text("depth", problems.wrong, STR("exceeded max depth"));
    schema_problems_release(&problems);
    yyjson_doc_free(doc);
    strbuf_release(&text);
    assert_int_equal(failures, 0);
}

/* Lists and objects have a length, and are no text: Go reads them as a quantity in the wrong format. */
static void test_quantities_of_other_types(void **state)
{
    (void)state;
    static const char *const values[] = { "[1]", "[]", "{\"a\": 1}", "{}", "true", "[\"1\", \"2\"]" };
    for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "{\"spec\": {\"containers\": [{\"resources\": {\"limits\": {\"cpu\": %s}}}]}}", values[i]);
        yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
        struct schema_problems problems = { 0 };
        schema_check(schema_of(STR(""), STR("v1"), STR("Pod")), yyjson_doc_get_root(doc), SCHEMA_DECODED,
                     &problems);
        if (!str_starts_with(problems.wrong, STR("quantities must match the regular expression")))
            fail_msg("%s: " STR_FMT, values[i], STR_ARG(problems.wrong));
        schema_problems_release(&problems);
        yyjson_doc_free(doc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_quantities_of_other_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
