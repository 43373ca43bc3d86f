/* A few thousand recorded expressions have the same outcome as in Kubernetes 1.36 and 1.37: the same value and cost, or
 * an error in the same phase (compilation, evaluation, or cost limit) with the same text.
 *
 * data/expressions.jsonl was written by hand; the others come from a generator that knows the signatures of all
 * functions, and from one that corrupts texts which libraries parse (times, quantities, versions, addresses, URLs,
 * regular expressions). They have the outcomes of 1.36, and data/changes-1.37.jsonl those lines whose outcome is
 * another one in 1.37. Cases in which Kubernetes crashed are left out.
 *
 * With arguments, FILE of 1.36 or FILE RULES (a number, enum cel_rule), it compares that file instead. */
#include "support/test.h"

#include <yyjson.h>

#include "base/map.h"
#include "codec/doc.h"
#include "unit/cel/cases.h"

enum { TEXTS_MAX = 700 }; /* struct error holds so much of a text */

struct outcome {
    const char *class;
    struct strbuf value;
    uint64_t cost;
    struct error err;
};

/* By key_of(): lines of changes-1.37.jsonl. */
static struct strmap changes;
static struct arena changes_arena;

static void evaluate(struct str text, bool lists, bool any, uint32_t rules, struct outcome *ret)
{
    struct case_device device;
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_options options = { .rules = rules | (lists ? CEL_DYN_ATTRIBUTES : 0), .any_result = any };
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

/* A text that was not recorded is not compared. Control characters are shown as question marks. */
static bool same_text(const char *want, const struct error *got)
{
    for (size_t i = 0; want && i < TEXTS_MAX; i++) {
        char c =
            ((unsigned char)want[i] < ' ' && want[i] && want[i] != '\n') || want[i] == 0x7F ? '?' : want[i];
        if (c != got->text[i])
            return false;
        if (!c)
            return true;
    }
    return true;
}

/* Returns 0, or 1 after printing the difference. */
static int check_line(yyjson_val *root, uint32_t rules)
{
    yyjson_val *expr = yyjson_obj_get(root, "expr");
    const char *class = yyjson_get_str(yyjson_obj_get(root, "class"));
    const char *value = yyjson_get_str(yyjson_obj_get(root, "value"));
    const char *text = yyjson_get_str(yyjson_obj_get(root, "error"));
    uint64_t cost = yyjson_get_uint(yyjson_obj_get(root, "cost"));
    struct outcome got;
    evaluate(doc_text(expr), yyjson_get_bool(yyjson_obj_get(root, "list")),
             yyjson_get_bool(yyjson_obj_get(root, "any")), rules, &got);
    const char *got_value = got.value.text ? got.value.text : "";
    bool same = strcmp(class, got.class) == 0 && same_text(text, &got.err) &&
                (strcmp(class, "ok") != 0 || (strcmp(value, got_value) == 0 && cost == got.cost));
    if (!same && strcmp(class, "crash") != 0)
        print_error("%s\n  got %s %s (cost %llu) %s\n  want %s %s (cost %llu) %s\n", yyjson_get_str(expr),
                    got.class, got_value, (unsigned long long)got.cost, got.err.text, class,
                    value ? value : "", (unsigned long long)cost, text ? text : "");
    strbuf_release(&got.value);
    return same || strcmp(class, "crash") == 0 ? 0 : 1;
}

/* What a line is about: the expression and how it is evaluated. */
static struct str key_of(yyjson_val *root, struct arena *arena)
{
    return arena_printf(arena, "%d%d%s", yyjson_get_bool(yyjson_obj_get(root, "list")),
                        yyjson_get_bool(yyjson_obj_get(root, "any")),
                        yyjson_get_str(yyjson_obj_get(root, "expr")));
}

static int check_both(yyjson_val *root)
{
    struct arena arena = { 0 };
    yyjson_doc *changed = strmap_get(&changes, key_of(root, &arena));
    int different = check_line(root, CEL_RULES_1_36) +
                    check_line(changed ? yyjson_doc_get_root(changed) : root, CEL_RULES_1_37);
    arena_release(&arena);
    return different;
}

static int remember(yyjson_val *root)
{
    size_t len;
    char *line = yyjson_val_write(root, 0, &len);
    strmap_put(&changes, key_of(root, &changes_arena), yyjson_read(line, len, 0));
    free(line);
    return 0;
}

/* Sums what `check` gives for the lines. */
static int for_lines(const char *path, int (*check)(yyjson_val *root))
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0, count = 0;
    int sum = 0;
    for (ssize_t len; (len = getline(&line, &cap, file)) > 0; count++) {
        yyjson_doc *doc = yyjson_read(line, (size_t)len, 0);
        assert_non_null(doc);
        sum += check(yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    free(line);
    fclose(file);
    assert_true(count > 0);
    return sum;
}

static void check_file(const char *path)
{
    assert_int_equal(for_lines(path, check_both), 0);
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

static int read_changes(void **state)
{
    (void)state;
    return for_lines("tests/unit/cel/data/changes-1.37.jsonl", remember);
}

static int free_changes(void **state)
{
    (void)state;
    map_for(&changes, slot)
        yyjson_doc_free(slot->value);
    strmap_release(&changes);
    arena_release(&changes_arena);
    return 0;
}

static uint32_t argument_rules;

static int check_argument(yyjson_val *root)
{
    return check_line(root, argument_rules);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_random_lists),
        cmocka_unit_test(test_random_texts),
    };
    if (argc > 1) {
        argument_rules = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : CEL_RULES_1_36;
        return for_lines(argv[1], check_argument) != 0;
    }
    return cmocka_run_group_tests(tests, read_changes, free_changes);
}
