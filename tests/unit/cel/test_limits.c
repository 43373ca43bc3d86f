/* No expression and no device causes a crash, a hang or unbounded memory: exceeding a limit is an error. */
#include "support/test.h"

#include <time.h>

#include "unit/cel/cases.h"

enum { SECONDS_MAX = 10, BYTES_MAX = 256 << 20 };

/* Compiles and evaluates, and checks the bounds of time and memory. */
static int attempt(struct str text, struct error *err)
{
    struct case_device device;
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_options options = { .any_result = true, .rules = CEL_RULES_1_37 };
    struct cel_program *program;
    struct cel_value value;
    clock_t begin = clock();
    case_device_init(&device, true);
    int r = cel_compile(text, &options, &arena, &program, err);
    if (r == 0) {
        struct cel_value seen = cel_device_value(&device.device, &scratch);
        r = cel_eval(program, &seen, &scratch, &value, NULL, err);
    }
    assert_true(arena.total_bytes < BYTES_MAX && scratch.total_bytes < BYTES_MAX);
    assert_true((clock() - begin) / CLOCKS_PER_SEC < SECONDS_MAX);
    arena_release(&arena);
    arena_release(&scratch);
    arena_release(&device.arena);
    return r;
}

/* head, then `part` repeated `count` times, then tail, then `close` as often. */
static struct str build(struct strbuf *out, const char *head, const char *part, size_t count,
                        const char *tail, const char *close)
{
    strbuf_clear(out);
    strbuf_puts(out, head);
    for (size_t i = 0; i < count; i++)
        strbuf_puts(out, part);
    strbuf_puts(out, tail);
    for (size_t i = 0; i < count; i++)
        strbuf_puts(out, close);
    return strbuf_slice(out);
}

static void test_nesting(void **state)
{
    (void)state;
    static const struct {
        const char *head, *part, *tail, *close;
    } shapes[] = {
        { "", "(", "1", ")" },
        { "", "[", "", "]" },
        { "", "{1:", "1", "}" },
        { "", "size(", "[]", ")" },
        { "1", "+1", "", "" },
        { "device", ".a", "", "" },
        { "[]", "[0]", "", "" },
        { "", "true?1:", "1", "" },
        { "", "!", "true", "" },
        { "", "-", "1", "" },
        { "true", "&&true", "", "" },
        { "1", "==1", "", "" },
        { "", "cel.bind(x,1,", "x", ")" },
        { "[1]", ".map(x,x)", "", "" },
        { "optional.of(1)", ".optMap(x,x)", "", "" },
        { "", "[1].map(x,", "1", ")" },
        { "'a'", ".trim()", "", "" },
        { "", "a.?", "b", "" },
    };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    static const size_t counts[] = { 10, 249, 251, 800, 5000 };
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(counts); j++) {
            struct error err = { "" };
            attempt(build(&text, shapes[i].head, shapes[i].part, counts[j], shapes[i].tail, shapes[i].close),
                    &err);
        }
    }
}

static void test_length(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct error err = { "" };
    assert_int_equal(attempt(build(&text, "1", " ", CEL_TEXT_LEN_MAX - 1, "", ""), &err), 0);
    assert_int_equal(attempt(build(&text, "1", " ", CEL_TEXT_LEN_MAX, "", ""), &err), -EINVAL);
}

/* Without limits each of these takes far too long or too much memory. */
static void test_too_much(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "lists.range(9223372036854775807)",
        "lists.range(1000000).map(x, lists.range(1000000)).flatten()",
        "lists.range(30000).map(x, string(x)).join(',').replace('', 'aaaaaaaaaaaaaaaaaaaa').replace('a', "
        "'bbbbbbbbbbbbbbbbbbbbbbbbbbb').replace('b', 'cccccccccccccccccccccc')",
        "lists.range(3000).all(x, lists.range(3000).all(y, true))",
        "lists.range(50000).distinct()",
        "lists.range(50000).map(x, x).sort()",
        "lists.range(60000).transformMapEntry(i, v, {string(i): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {double(i): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {[i]: v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {{i: i}: v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {duration(string(i) + 's'): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {timestamp(i): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {optional.of(i): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {double('NaN'): v}).size()",
        "lists.range(60000).transformMapEntry(i, v, {quantity(string(i)): v}).size()",
        "lists.range(100000).map(x, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('(a?){30}a{30}' + string(x)))",
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('(a*)*(a*)*(a*)*(a*)*b')",
        "lists.range(10000).map(x, 'a').join().matches('(((((a*)*)*)*)*)*b')",
        "lists.range(10000).map(x, 'a').join().matches('.*.*.*.*.*.*.*=.*')",
        "'x'.matches('((((a{10}){10}){10}){10})')",
        "'x'.matches('(a{1000}b{1000}c{1000}d{1000}e{1000}f{1000}g{1000}h{1000}i{1000}j{1000}k{1000}l{1000})"
        "(a{1000}b{1000}c{1000}d{1000}e{1000}f{1000}g{1000}h{1000}i{1000}j{1000}k{1000}l{1000})')",
        "'%.999999999f'.format([1.0])",
        "'%s'.format([lists.range(200000)])",
        "quantity('1e99999999999').add(quantity('1e99999999999')).add(1).asApproximateFloat()",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct error err = { "" };
        attempt(str_from(texts[i]), &err);
    }
}

/* Doubling: short expressions with huge results. */
static void test_doubling(void **state)
{
    (void)state;
    static const struct {
        const char *first, *next, *end;
    } shapes[] = {
        { "[1]", "%c+%c", "%c.size() == 1" },
        { "[1]", "[%c, %c]", "%c == %c" },
        { "[1]", "%c+%c", "%c == %c" },
        { "[1]", "%c+%c", "%c.exists(x, x == 2)" },
        { "[1]", "[%c, %c]", "'%%s'.format([%c])" },
        { "{1: 1}", "{1: %c, 2: %c}", "%c == %c" },
        { "'a'", "%c+%c", "%c.size()" },
        { "[1]", "[%c, %c]", "%c.flatten(300).size()" },
        { "quantity('1')", "%c.add(%c)", "%c.isInteger()" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        enum { LEVELS = 50 };
        strbuf_printf(&text, "cel.bind(A, %s, ", shapes[i].first);
        for (int level = 1; level < LEVELS; level++) {
            char expression[64];
            snprintf(expression, sizeof(expression), shapes[i].next, 'A' + (level - 1) % 26,
                     'A' + (level - 1) % 26);
            strbuf_printf(&text, "cel.bind(%c, %s, ", 'A' + level % 26, expression);
        }
        char end[64];
        char last = (char)('A' + (LEVELS - 1) % 26);
        snprintf(end, sizeof(end), shapes[i].end, last, last);
        strbuf_puts(&text, end);
        for (int level = 0; level < LEVELS; level++)
            strbuf_putc(&text, ')');
        struct error err = { "" };
        attempt(strbuf_slice(&text), &err);
    }
}

/* The cost limit is that of Kubernetes, and || does not absorb its error. */
static void test_cost(void **state)
{
    (void)state;
    struct error err = { "" };
    assert_int_equal(attempt(STR("true || lists.range(2000000).size() == 1"), &err), 0);
    assert_int_equal(attempt(STR("lists.range(600000).size() == lists.range(600000).size() || true"), &err),
                     -E2BIG);
    assert_string_equal(err.text, "operation cancelled: actual cost limit exceeded");
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_options options = { .cost_max = 10, .any_result = true };
    struct cel_program *program;
    struct cel_value value;
    assert_int_equal(cel_compile(STR("[1, 2].map(x, x + 1)"), &options, &arena, &program, NULL), 0);
    assert_int_equal(cel_eval(program, NULL, &scratch, &value, NULL, &err), -E2BIG);
    arena_release(&arena);
    arena_release(&scratch);
}

/* Texts of random characters, and texts of random pieces of the language. */
static void test_noise(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "device",
        ".",
        "attributes",
        "[\"dra.example.com\"]",
        "model",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "1",
        "u",
        "1.5",
        "'a'",
        "b'x'",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "<",
        "==",
        "in",
        "&&",
        "||",
        "has(",
        ".map(x, ",
        "x",
        ".all(",
        "cel.bind(x, ",
        "optional.of(",
        ".?a",
        "[?0]",
        "null",
        "true",
        "duration('1s')",
        ".format([",
        "size(",
        " ",
        "\n",
        "quantity('1')",
        "`",
        "\\",
        "\"",
        "'",
        "//",
        "é",
        "\xff",
        "sort()",
        "int(",
        "string(",
        ".join()",
    };
    struct rng rng = test_rng();
    for (int i = 0; i < 20000; i++) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        for (uint64_t len = rng_below(&rng, 12); len > 0; len--) {
            if (i % 4 == 0)
                strbuf_putc(&text, (char)rng_below(&rng, 256));
            else
                strbuf_puts(&text, pieces[rng_below(&rng, ARRAY_SIZE(pieces))]);
        }
        struct error err = { "" };
        attempt(strbuf_slice(&text), &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nesting),  cmocka_unit_test(test_length), cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_doubling), cmocka_unit_test(test_cost),   cmocka_unit_test(test_noise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
