/* --take-over: what its values mean, and which profiles are in effect. */
#include "support/test.h"

#include "unit/config/catalog.h"

#include "config/take_over.h"

static int read(const char *const *values, uint32_t len, struct arena *arena, struct take_overs *ret,
                struct error *err)
{
    struct str_list list = { .items = arena_array(arena, struct str, len), .len = len };
    for (uint32_t i = 0; i < len; i++)
        list.items[i] = str_from(values[i]);
    return take_overs_read(&list, arena, ret, err);
}

static void test_values(void **state _unused_)
{
    static const struct {
        const char *value, *namespace, *lease, *scheduler; /* lease NULL: it is refused */
    } cases[] = {
        { "berth", "", "berth", "berth" },
        { "team/berth", "team", "berth", "berth" },
        { "lease=name", "", "lease", "name" },
        { "team/lease=name", "team", "lease", "name" },
        { "kube-scheduler", "", "kube-scheduler", "default-scheduler" },
        { "default-scheduler", "", "kube-scheduler", "default-scheduler" },
        { "kube-scheduler=other", "", "kube-scheduler", "other" },
        { "", NULL, NULL, NULL },
        { "/berth", NULL, NULL, NULL },
        { "team/", NULL, NULL, NULL },
        { "=name", NULL, NULL, NULL },
        { "lease=", NULL, NULL, NULL },
        { "a/b/c", NULL, NULL, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct arena arena = { 0 };
        struct take_overs overs;
        struct error err;
        int r = read(&cases[i].value, 1, &arena, &overs, &err);
        if ((r == 0) != (cases[i].lease != NULL))
            fail_msg("\"%s\": %d", cases[i].value, r);
        if (r == 0) {
            assert_str(overs.items[0].namespace, cases[i].namespace);
            assert_str(overs.items[0].lease, cases[i].lease);
            assert_str(overs.items[0].scheduler, cases[i].scheduler);
        } else {
            assert_non_null(strstr(err.text, "--take-over"));
        }
        arena_release(&arena);
    }
}

static void test_twice(void **state _unused_)
{
    const char *const values[] = { "a=x", "b=x" };
    struct arena arena = { 0 };
    struct take_overs overs;
    struct error err;
    assert_int_equal(read(values, 2, &arena, &overs, &err), -EINVAL);
    arena_release(&arena);
}

static void test_profiles(void **state _unused_)
{
    static const struct {
        const char *text;
        uint64_t taken;
        const char *want; /* names of the profiles; NULL: it is refused */
    } cases[] = {
        { "profiles: [{schedulerName: own}]", 0, "own " },
        { "profiles: [{schedulerName: own}]", 1, "own first " },
        { "profiles: [{schedulerName: own}]", 3, "own first second " },
        { "profiles: [{schedulerName: second}, {schedulerName: own}]", 0, "own " },
        { "profiles: [{schedulerName: second}, {schedulerName: own}]", 2, "second own " },
        { "profiles: [{schedulerName: second}, {schedulerName: own}]", 3, "second own first " },
        { "profiles: [{schedulerName: first}, {schedulerName: second}]", 0, NULL },
    };
    const char *const values[] = { "first", "second" };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf names = { 0 };
        struct loaded loaded;
        struct take_overs overs;
        struct error err;
        assert_int_equal(loaded_from(&loaded, &stock_env, CONFIG_HEAD, cases[i].text), 0);
        assert_int_equal(read(values, 2, &loaded.arena, &overs, &err), 0);
        int r = take_overs_apply(&overs, cases[i].taken, &loaded.arena, &loaded.config, &err);
        assert_int_equal(r, cases[i].want ? 0 : -EINVAL);
        list_for(&loaded.config.profiles, profile)
            strbuf_printf(&names, STR_FMT " ", STR_ARG(profile->scheduler_name));
        if (cases[i].want)
            assert_string_equal(names.text, cases[i].want);
        loaded_release(&loaded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_twice),
        cmocka_unit_test(test_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
