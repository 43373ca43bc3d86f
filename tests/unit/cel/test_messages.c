/* Errors of expressions have the text of Kubernetes, except syntax errors, whose text there comes from a parser
 * generator. */
#include "support/test.h"

#include "unit/cel/cases.h"

static const struct {
    const char *text, *message;
} cases[] = {
    { "device.unknown", "compilation failed: ERROR: <input>:1:7: undefined field 'unknown'\n"
                        " | device.unknown\n"
                        " | ......^" },
    { "true && x", "compilation failed: ERROR: <input>:1:9: undeclared reference to 'x' (in container '')\n"
                   " | true && x\n"
                   " | ........^" },
    { "device.driver.foo()",
      "compilation failed: ERROR: <input>:1:18: undeclared reference to 'foo' (in container '')\n"
      " | device.driver.foo()\n"
      " | .................^" },
    { "1 + \"a\"", "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to "
                   "'(int, string)'\n"
                   " | 1 + \"a\"\n"
                   " | ..^" },
    { "[1, \"a\"]", "compilation failed: ERROR: <input>:1:5: expected type 'int' but found 'string'\n"
                    " | [1, \"a\"]\n"
                    " | ....^" },
    { "device.driver", "must evaluate to bool or the unknown type, not string" },
    { "has(1)", "compilation failed: ERROR: <input>:1:5: invalid argument to has() macro\n"
                " | has(1)\n"
                " | ....^" },
    { "device.attributes[\"a\"].b.all(x, true)",
      "compilation failed: ERROR: <input>:1:23: expression of type 'any' cannot be range of a comprehension "
      "(must be list, map, or dynamic)\n"
      " | device.attributes[\"a\"].b.all(x, true)\n"
      " | ......................^" },
    { "\"é\" + x", "compilation failed: ERROR: <input>:1:7: undeclared reference to 'x' (in container '')\n"
                   " | \"é\" + x\n"
                   " | .．....^" },
    { "true\n  && y",
      "compilation failed: ERROR: <input>:2:6: undeclared reference to 'y' (in container '')\n"
      " |   && y\n"
      " | .....^" },
    { "device.driver.matches(\"[\")", "compilation failed: ERROR: <input>:1:23: invalid matches argument\n"
                                      " | device.driver.matches(\"[\")\n"
                                      " | ......................^" },
    { "int(\"x\") == 1", "program instantiation failed: type conversion error from 'string' to 'int'" },
    { "1 in \"a\"", "compilation failed: ERROR: <input>:1:3: found no matching overload for '@in' applied to "
                    "'(int, string)'\n"
                    " | 1 in \"a\"\n"
                    " | ..^" },
    { "[1].all(1, true)", "compilation failed: ERROR: <input>:1:9: argument must be a simple name\n"
                          " | [1].all(1, true)\n"
                          " | ........^" },
    { "if", "compilation failed: ERROR: <input>:1:1: reserved identifier: if\n"
            " | if\n"
            " | ^" },
    { "\"%d\".format([1.5]) == \"\"", "compilation failed: ERROR: <input>:1:14: error during formatting: "
                                      "decimal clause can only be used on integers, was given double\n"
                                      " | \"%d\".format([1.5]) == \"\"\n"
                                      " | .............^" },
    { "dyn(1)", "must evaluate to bool or the unknown type, not dyn" },
    { "sets.contains(1, [1])", "compilation failed: ERROR: <input>:1:14: found no matching overload for "
                               "'sets.contains' applied to '(int, list(int))'\n"
                               " | sets.contains(1, [1])\n"
                               " | .............^" },
    { "true && 1", "compilation failed: ERROR: <input>:1:9: expected type 'bool' but found 'int'\n"
                   " | true && 1\n"
                   " | ........^" },
    { "timestamp(\"x\") == timestamp(\"y\")",
      "compilation failed: ERROR: <input>:1:11: invalid timestamp argument\n"
      " | timestamp(\"x\") == timestamp(\"y\")\n"
      " | ..........^\n"
      "ERROR: <input>:1:29: invalid timestamp argument\n"
      " | timestamp(\"x\") == timestamp(\"y\")\n"
      " | ............................^" },
    { "device.attributes[\"dra.example.com\"].nope", "no such key: nope" },
    { "1/0 == 1", "division by zero" },
    { "[1][2] == 1", "index out of bounds: 2" },
    { "device.attributes[\"dra.example.com\"].model < 1", "no such overload" },
    { "device.attributes[\"dra.example.com\"].index.contains(\"a\")", "no such overload" },
    { "semver(\"x\") == semver(\"1.0.0\")", "No Major.Minor.Patch elements found" },
    { "quantity(\"x\") == quantity(\"1\")",
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" },
    { "optional.none().value() == 1", "optional.none() dereference" },
    { "device.attributes[\"dra.example.com\"].model.substring(99) == \"\"", "index out of range: 99" },
    { "[9223372036854775807, 1].sum() == 1", "integer overflow" },
    { "device.attributes[\"dra.example.com\"].model.matches(device.driver + \"[\")",
      "error parsing regexp: missing closing ]: `[`" },
    { "lists.range(2000000).size() == 1", "operation cancelled: actual cost limit exceeded" },
    { "device.attributes['dra.example.com'].model",
      "CEL result of type string could not be converted to bool: unsupported native conversion from string "
      "to 'bool'" },
};

static void explain(const char *text, struct error *err)
{
    struct case_device device;
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_program *program;
    bool yes;
    case_device_init(&device, false);
    int r = cel_compile(str_from(text), NULL, &arena, &program, err);
    struct cel_value seen = cel_device_value(&device.device, &scratch);
    r = r ? r : cel_device_matches(program, &seen, &scratch, &yes, err);
    assert_true(r < 0);
    arena_release(&arena);
    arena_release(&scratch);
    arena_release(&device.arena);
}

static void test_messages(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { "" };
        explain(cases[i].text, &err);
        assert_string_equal(err.text, cases[i].message);
    }
}

static void test_syntax_errors_name_the_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place;
    } syntax[] = {
        { "1 +* 2", "ERROR: <input>:1:4: Syntax error: " },
        { "device.driver ==", "ERROR: <input>:1:17: Syntax error: " },
        { "true &&\n  ) x", "ERROR: <input>:2:3: Syntax error: " },
        { "'abc", "ERROR: <input>:1:1: Syntax error: " },
        { "a $ b", "ERROR: <input>:1:3: Syntax error: " },
        { "", "ERROR: <input>:1:1: Syntax error: " },
    };
    for (size_t i = 0; i < ARRAY_SIZE(syntax); i++) {
        struct error err = { "" };
        explain(syntax[i].text, &err);
        if (!strstr(err.text, syntax[i].place))
            fail_msg("%s: %s", syntax[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_syntax_errors_name_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
