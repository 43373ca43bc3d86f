/* The three patches give the objects, errors and warnings of a real API server (cases_patch.jsonl, see `record`). */
#include "schema/recorded.h"

#include "base/map.h"
#include "schema/defaults.h"
#include "schema/patch.h"

static yyjson_mut_doc *bases;
static struct strmap by_kind; /* name of a base → its object */

static enum patch_type type_named(struct str name)
{
    return str_is(name, "json") ? PATCH_JSON : str_is(name, "merge") ? PATCH_MERGE : PATCH_STRATEGIC;
}

static enum field_validation validation_named(struct str name)
{
    return str_is(name, "Strict") ? FIELDS_STRICT : str_is(name, "Ignore") ? FIELDS_IGNORE : FIELDS_WARN;
}

/* The patch as often as the case says, in one list. */
static void repeat(struct strbuf *out, struct str patch, uint64_t times)
{
    strbuf_putc(out, '[');
    for (uint64_t i = 0; i < times; i++) {
        if (i)
            strbuf_putc(out, ',');
        strbuf_add(out, patch.ptr + 1, patch.len - 2);
    }
    strbuf_putc(out, ']');
}

static void expect_error(const char *what, yyjson_val *line, const struct schema_error *err)
{
    struct str want = text_of(line, "message"), have = strbuf_slice(&err->message);
    if (err->code != (int)yyjson_get_int(yyjson_obj_get(line, "code")) ||
        !str_is(text_of(line, "reason"), err->reason)) {
        print_error("%s: code %d %s\n", what, err->code, err->reason);
        failures++;
    }
    /* The recorder leaves the object out of the message. */
    if (err->cause_at && !str_starts_with(want, STR(" \"\" is invalid")))
        have = str_slice(have, have.len - MIN(want.len, have.len), have.len);
    expect_text(what, have, want);
}

static void expect_object(const char *what, yyjson_val *line, yyjson_val *base, struct patch_result *result)
{
    yyjson_mut_doc *want = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(want, base);
    change_tree(want, root, yyjson_obj_get(line, "change"));
    schema_set_defaults(type_of(base), result->doc);
    expect_tree(what, yyjson_mut_doc_get_root(result->doc), root);
    yyjson_val *warnings = yyjson_obj_get(line, "warnings");
    size_t count = yyjson_arr_size(warnings);
    for (size_t i = 0; i < MAX(count, result->problems.strict.len); i++)
        expect_text(what,
                    i < result->problems.strict.len ? result->problems.strict.items[i] : STR("(no warning)"),
                    i < count ? doc_text(yyjson_arr_get(warnings, i)) : STR("(no warning)"));
    yyjson_mut_doc_free(want);
}

static void run_case(yyjson_val *line)
{
    struct str base_name = text_of(line, "base");
    if (base_name.ptr) {
        yyjson_doc *copy =
            yyjson_mut_val_imut_copy(yyjson_val_mut_copy(bases, yyjson_obj_get(line, "object")), NULL);
        strmap_put(&by_kind, mut_str(yyjson_mut_strncpy(bases, base_name.ptr, base_name.len)), copy);
        return;
    }
    yyjson_val *base = yyjson_doc_get_root(strmap_get(&by_kind, text_of(line, "kind")));
    struct strbuf repeated = { 0 };
    struct patch_request request = {
        .type = type_named(text_of(line, "type")),
        .schema = type_of(base),
        .validation = validation_named(text_of(line, "validation")),
        .patch = text_of(line, "patch"),
    };
    char what[300];
    snprintf(what, sizeof(what), STR_FMT " " STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(text_of(line, "kind")),
             STR_ARG(text_of(line, "type")), STR_ARG(text_of(line, "validation")), STR_ARG(request.patch));
    uint64_t times = yyjson_get_uint(yyjson_obj_get(line, "repeat"));
    if (times) {
        repeat(&repeated, request.patch, times);
        request.patch = strbuf_slice(&repeated);
    }
    struct patch_result result;
    struct schema_error err = { 0 };
    int r = patch_apply(&request, base, &result, &err);
    bool refused = yyjson_obj_get(line, "code");
    if ((r < 0) != refused) {
        print_error("%s: %s\n", what, r < 0 ? err.message.text : "not refused");
        failures++;
    } else if (refused)
        expect_error(what, line, &err);
    else
        expect_object(what, line, base, &result);
    yyjson_mut_doc_free(result.doc);
    schema_problems_release(&result.problems);
    schema_error_release(&err);
    strbuf_release(&repeated);
}

static void test_recorded(void **state)
{
    (void)state;
    bases = yyjson_mut_doc_new(NULL);
    assert_true(recorded_cases("tests/unit/schema/cases_patch.jsonl", run_case) > 200);
    map_for(&by_kind, slot)
        yyjson_doc_free(slot->value);
    strmap_release(&by_kind);
    yyjson_mut_doc_free(bases);
    assert_int_equal(failures, 0);
}

/* ---- bounds ---- */

static int apply_text(enum patch_type type, const char *object, struct str patch, struct schema_error *err)
{
    yyjson_doc *doc = yyjson_read(object, strlen(object), 0);
    struct patch_request request = { .type = type, .patch = patch, .schema = schema_of_custom() };
    struct patch_result result;
    int r = patch_apply(&request, yyjson_doc_get_root(doc), &result, err);
    yyjson_mut_doc_free(result.doc);
    schema_problems_release(&result.problems);
    yyjson_doc_free(doc);
    return r;
}

static void test_depth(void **state)
{
    (void)state;
    struct strbuf patch = { 0 };
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&patch, "{\"a\":");
    strbuf_puts(&patch, "1");
    for (int i = 0; i < 100000; i++)
        strbuf_putc(&patch, '}');
    for (enum patch_type type = PATCH_JSON; type <= PATCH_STRATEGIC; type++) {
        struct schema_error err = { 0 };
        assert_int_equal(apply_text(type, "{}", strbuf_slice(&patch), &err), -EINVAL);
        assert_int_equal(err.code, 400);
        schema_error_release(&err);
    }
    strbuf_release(&patch);
}

/* Copies that double the object end at a limit. */
static void test_copies(void **state)
{
    (void)state;
    struct strbuf patch = { 0 };
    for (int i = 0; i < 64; i++)
        strbuf_printf(&patch, "%s{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/%d\"}", i ? "," : "[", i);
    strbuf_putc(&patch, ']');
    struct schema_error err = { 0 };
    assert_int_equal(apply_text(PATCH_JSON, "{\"a\":{\"b\":\"c\"}}", strbuf_slice(&patch), &err), -EINVAL);
    assert_int_equal(err.code, 422);
    schema_error_release(&err);
    strbuf_release(&patch);
}

/* Inserting into a long list again and again takes steps, which are counted. */
static void test_steps(void **state)
{
    (void)state;
    struct strbuf object = { 0 }, patch = { 0 };
    strbuf_puts(&object, "{\"a\":[0");
    for (int i = 0; i < 100000; i++)
        strbuf_puts(&object, ",0");
    strbuf_puts(&object, "]}");
    for (int i = 0; i < 10000; i++)
        strbuf_printf(&patch, "%s{\"op\":\"add\",\"path\":\"/a/99999\",\"value\":1}", i ? "," : "[");
    strbuf_putc(&patch, ']');
    struct schema_error err = { 0 };
    assert_int_equal(apply_text(PATCH_JSON, object.text, strbuf_slice(&patch), &err), -EINVAL);
    assert_int_equal(err.code, 413);
    schema_error_release(&err);
    strbuf_release(&object);
    strbuf_release(&patch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
