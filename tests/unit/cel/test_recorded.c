/* A few thousand recorded expressions have the same outcome as in Kubernetes: the same value and cost, or an error in
 * the same phase (compilation, evaluation, or cost limit).
 *
 * data/expressions.jsonl was written by hand; the others come from a generator that knows the signatures of all
 * functions, and from one that corrupts texts which libraries parse (times, quantities, versions, addresses, URLs,
 * regular expressions). Cases in which Kubernetes crashed are left out. */
#include "support/test.h"

#include <yyjson.h>

#include "unit/cel/cases.h"

struct outcome {
    const char *class;
    struct strbuf value;
    uint64_t cost;
    struct error err;
};

static void evaluate(struct str text, bool lists, bool any, struct outcome *ret)
{
    struct case_device device;
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_options options = { .list_type_attributes = lists, .any_result = any };
    struct cel_program *program;
    struct cel_value value;
    bool matches;
    case_device_init(&device, lists);
    *ret = (struct outcome){ .class = "ok" };
    int r = cel_compile(text, &options, &arena, &program, &ret->err);
    if (r < 0) {
        ret->class = "compile";
    } else {
        struct cel_value seen = cel_device_value(&device.device, &scratch);
        r = cel_eval(program, &seen, &scratch, &value, &ret->cost, &ret->err);
        if (r == 0 && !any)
            r = cel_device_matches(program, &seen, &scratch, &matches, &ret->err);
        ret->class = r == 0 ? "ok" : r == -E2BIG ? "cost" : "runtime";
        if (r == 0 && any)
            case_show(&ret->value, &value, &scratch);
        else if (r == 0)
            strbuf_puts(&ret->value, matches ? "true" : "false");
    }
    arena_release(&arena);
    arena_release(&scratch);
    arena_release(&device.arena);
}

/* Returns 0, or 1 after printing the difference. */
static int check_line(const char *line, size_t len)
{
    yyjson_doc *doc = yyjson_read(line, len, 0);
    assert_non_null(doc);
    yyjson_val *root = yyjson_doc_get_root(doc), *expr = yyjson_obj_get(root, "expr");
    const char *class = yyjson_get_str(yyjson_obj_get(root, "class"));
    const char *value = yyjson_get_str(yyjson_obj_get(root, "value"));
    uint64_t cost = yyjson_get_uint(yyjson_obj_get(root, "cost"));
    struct outcome got;
    evaluate((struct str){ yyjson_get_str(expr), (uint32_t)yyjson_get_len(expr) },
             yyjson_get_bool(yyjson_obj_get(root, "list")), yyjson_get_bool(yyjson_obj_get(root, "any")),
             &got);
    const char *got_value = got.value.text ? got.value.text : "";
    bool same = strcmp(class, got.class) == 0 &&
                (strcmp(class, "ok") != 0 || (strcmp(value, got_value) == 0 && cost == got.cost));
    if (!same)
        print_error("%s\n  got %s %s (cost %llu) %s\n  want %s %s (cost %llu)\n", yyjson_get_str(expr),
                    got.class, got_value, (unsigned long long)got.cost, got.err.text, class,
                    value ? value : "", (unsigned long long)cost);
    strbuf_release(&got.value);
    yyjson_doc_free(doc);
    return same ? 0 : 1;
}

static void check_file(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0, count = 0;
    int different = 0;
    for (ssize_t len; (len = getline(&line, &cap, file)) > 0; count++)
        different += check_line(line, (size_t)len);
    free(line);
    fclose(file);
    assert_true(count > 100);
    assert_int_equal(different, 0);
}

static void test_expressions(void **state)
{
    (void)state;
    check_file("tests/unit/cel/data/expressions.jsonl");
}

static void test_random(void **state)
{
    (void)state;
    check_file("tests/unit/cel/data/random.jsonl");
}

static void test_random_lists(void **state)
{
    (void)state;
    check_file("tests/unit/cel/data/random_lists.jsonl");
}

static void test_random_texts(void **state)
{
    (void)state;
    check_file("tests/unit/cel/data/random_texts.jsonl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_lists),
        cmocka_unit_test(test_random_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
