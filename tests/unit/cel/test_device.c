/* A device as CEL selectors see it, and the values that its caller builds it from. */
#include "support/test.h"

#include "unit/cel/cases.h"

static int matches(const char *text, const struct cel_device *device, struct error *err)
{
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_program *program;
    bool yes = false;
    int r = cel_compile(str_from(text), NULL, &arena, &program, err);
    struct cel_value value = cel_device_value(device, &scratch);
    r = r ? r : cel_device_matches(program, &value, &scratch, &yes, err);
    arena_release(&arena);
    arena_release(&scratch);
    return r ? r : yes;
}

static void test_names(void **state)
{
    (void)state;
    static const struct {
        const char *name, *domain, *id;
    } cases[] = {
        { "model", "driver.example.com", "model" },
        { "other.com/model", "other.com", "model" },
        { "a/b/c", "a", "b/c" },
        { "/x", "", "x" },
        { "", "driver.example.com", "" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct str domain, id;
        cel_device_name(str_from(cases[i].name), STR("driver.example.com"), &domain, &id);
        assert_str(domain, cases[i].domain);
        assert_str(id, cases[i].id);
    }
}

/* A device without attributes and capacity is valid. */
static void test_empty(void **state)
{
    (void)state;
    struct cel_device device = { .driver = STR("d") };
    struct error err = { "" };
    assert_int_equal(matches("device.driver == 'd' && size(device.attributes) == 0", &device, &err), 1);
    assert_int_equal(matches("device.attributes['x'] == {} && !('x' in device.attributes)", &device, &err),
                     1);
    assert_int_equal(matches("device.capacity['x'].y.isInteger()", &device, &err), -EINVAL);
    assert_string_equal(err.text, "no such key: y");
    assert_int_equal(matches("!device.allowMultipleAllocations", &device, &err), 1);
}

static void test_results(void **state)
{
    (void)state;
    struct case_device d;
    struct error err = { "" };
    case_device_init(&d, false);
    assert_int_equal(matches("device.attributes['dra.example.com'].healthy", &d.device, &err), 1);
    assert_int_equal(matches("device.attributes['dra.example.com'].broken", &d.device, &err), 0);
    assert_int_equal(matches("device.attributes['dra.example.com'].model", &d.device, &err), -EINVAL);
    assert_string_equal(
        err.text,
        "CEL result of type string could not be converted to bool: unsupported native conversion from "
        "string to 'bool'");
    arena_release(&d.arena);
}

/* One program, evaluated repeatedly and for several devices, keeps no state. */
static void test_program_is_reusable(void **state)
{
    (void)state;
    struct arena arena = { 0 }, scratch = { 0 };
    struct cel_program *program;
    assert_int_equal(
        cel_compile(STR("cel.bind(a, device.attributes['d'], a.n.size() + [1, 2].map(x, x).size() == 5)"),
                    NULL, &arena, &program, NULL),
        0);
    for (int i = 0; i < 100; i++) {
        struct cel_device_entry entry = { STR("d"), STR("n"), cel_string(i % 2 ? STR("abc") : STR("ab")) };
        struct cel_device device = { .driver = STR("d"), .attributes = &entry, .attributes_len = 1 };
        struct cel_value value = cel_device_value(&device, &scratch);
        bool yes;
        assert_int_equal(cel_device_matches(program, &value, &scratch, &yes, NULL), 0);
        assert_int_equal(yes, i % 2);
        arena_reset(&scratch);
    }
    arena_release(&arena);
    arena_release(&scratch);
}

static void test_versions(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct cel_value value;
    struct error err = { "" };
    assert_int_equal(cel_semver(STR("1.2.3-rc.1+build"), &arena, &value, &err), 0);
    assert_int_equal(value.kind, CEL_SEMVER);
    static const struct {
        const char *text, *problem;
    } cases[] = {
        { "", "Version string empty" },
        { "1.2", "No Major.Minor.Patch elements found" },
        { "1.02.3", "Minor number must not contain leading zeroes \"02\"" },
        { "a.2.3", "Invalid character(s) found in major number \"a\"" },
        { "1.2.3-", "Prerelease is empty" },
        { "1.2.3+", "Build meta data is empty" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(cel_semver(str_from(cases[i].text), &arena, &value, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].problem);
    }
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),    cmocka_unit_test(test_empty),
        cmocka_unit_test(test_results),  cmocka_unit_test(test_program_is_reusable),
        cmocka_unit_test(test_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
