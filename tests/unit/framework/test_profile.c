/* From the configuration to plugin instances: each plugin once, in order at each point, with its weight and its
 * arguments; and a clear error where one of them cannot be set up. */
#include "support/fixture.h"

#include "config/plugin_args.h"
#include "plugins/registry.h"

static char *copy_text(const char *text)
{
    char *copy = xcalloc(strlen(text) + 16, 1);
    return memcpy(copy, text, strlen(text));
}

static int load(struct profile *profile, const struct registry *registry, const char *text, struct fixture *f,
                struct error *err)
{
    struct plugin_catalog catalog = registry_catalog(registry, &f->arena);
    struct scheduler_config config;
    const struct config_env env = { .catalog = &catalog };
    int r =
        text ? config_load_text("config", copy_text(text), strlen(text), &env, &f->arena, &config, NULL, err)
             : config_default(&env, &f->arena, &config, err);
    if (r < 0)
        fail_msg("%s", err->text);
    r = profile_init(profile, registry, &config.profiles.items[0], &f->cluster, err);
    config_release(&config);
    return r;
}

enum { DEFAULT_PLUGINS = 20 }; /* of kube-scheduler v1.36, with default feature gates */

static void test_default(void **state)
{
    (void)state;
    struct fixture f;
    struct profile profile;
    struct error err;
    FIXTURE_BARE(&f);
    assert_int_equal(load(&profile, &builtin_plugins, NULL, &f, &err), 0);
    assert_str(profile.scheduler_name, "default-scheduler");
    assert_int_equal(profile.plugins_len, DEFAULT_PLUGINS);
    for (uint32_t i = 0; i < profile.plugins_len; i++) {
        assert_int_equal(profile.plugins[i].index, i);
        assert_ptr_equal(profile_find(&profile, profile.plugins[i].plugin->name), &profile.plugins[i]);
        for (uint32_t k = 0; k < i; k++)
            assert_ptr_not_equal(profile.plugins[k].plugin, profile.plugins[i].plugin);
    }
    /* A plugin has one instance for all extension points, and is called at those for which it has a callback. */
    for (int point = 0; point < POINT_COUNT; point++) {
        for (uint32_t i = 0; i < profile.points[point].len; i++) {
            const struct plugin_instance *instance = profile.points[point].items[i];
            assert_ptr_equal(instance, &profile.plugins[instance->index]);
            assert_true(plugin_points(instance->plugin) & POINT_BIT(point));
        }
    }
    assert_int_equal(profile_find(&profile, "TaintToleration")->weight, 3);
    assert_int_equal(profile_find(&profile, "NodeResourcesFit")->weight, 1);
    assert_null(profile_find(&profile, "Unknown"));
    assert_int_equal(profile.points[POINT_QUEUE_SORT].len, 1);
    profile_release(&profile);
    fixture_release(&f);
}

static void test_chosen(void **state)
{
    (void)state;
    struct fixture f;
    struct profile profile;
    struct error err;
    FIXTURE_BARE(&f);
    assert_int_equal(
        load(&profile, &builtin_plugins,
             "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
             "[{schedulerName: mine, percentageOfNodesToScore: 7, plugins: {score: {disabled: [{name: '*'}], "
             "enabled: [{name: ImageLocality, weight: 9}, {name: NodeAffinity, weight: 2}]}}}]}",
             &f, &err),
        0);
    const struct plugin_order *score = &profile.points[POINT_SCORE];
    assert_str(profile.scheduler_name, "mine");
    assert_true(profile.percentage.set && profile.percentage.value == 7);
    assert_int_equal(score->len, 2);
    assert_string_equal(score->items[0]->plugin->name, "ImageLocality");
    assert_int_equal(score->items[0]->weight, 9);
    assert_string_equal(score->items[1]->plugin->name, "NodeAffinity");
    assert_int_equal(score->items[1]->weight, 2);
    profile_release(&profile);
    fixture_release(&f);
}

/* ---- plugins of our own ---- */
static int released;

static int good_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)err;
    assert_non_null(env->cluster);
    assert_non_null(env->profile);
    *ret_self = &released;
    return 0;
}

static int bad_init(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)env, (void)ret_self;
    return error_set(err, -EINVAL, "no good");
}

static void count_release(void *self)
{
    released += self == &released;
}

static bool in_order(_unused_ const void *self, const struct pod_info *a, const struct pod_info *b)
{
    return a->priority > b->priority;
}

static struct status no_bind(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    return STATUS_OK;
}

static const struct plugin sorter = { .name = "Sorter", .less = in_order, .bind = no_bind };
static const struct plugin good = {
    .name = "Good", .init = good_init, .release = count_release, .bind = no_bind
};
static const struct plugin bad = { .name = "Bad", .init = bad_init, .bind = no_bind };
static const struct plugin *const own_plugins[] = { &sorter, &good, &bad };
static const struct registry own_registry = { own_plugins, ARRAY_SIZE(own_plugins) };

#define OWN(plugins) \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: " \
    "{multiPoint: " \
    "{disabled: [{name: '*'}], enabled: [" plugins "]}}}]}"

static void test_own_plugins(void **state)
{
    (void)state;
    struct fixture f;
    struct profile profile;
    struct error err;
    FIXTURE_BARE(&f);
    released = 0;
    assert_int_equal(load(&profile, &own_registry, OWN("{name: Sorter}, {name: Good}"), &f, &err), 0);
    assert_ptr_equal(profile_find(&profile, "Good")->self, &released);
    assert_null(profile_find(&profile, "Bad"));
    profile_release(&profile);
    assert_int_equal(released, 1);
    assert_int_equal(
        load(&profile, &own_registry, OWN("{name: Sorter}, {name: Good}, {name: Bad}"), &f, &err), -EINVAL);
    assert_string_equal(err.text, "initializing plugin \"Bad\": no good");
    profile_release(&profile); /* plugins that were set up before are released */
    assert_int_equal(released, 2);
    fixture_release(&f);
}

static void test_points(void **state)
{
    (void)state;
    static const struct plugin nothing = { .name = "Nothing" };
    assert_int_equal(plugin_points(&nothing), 0);
    assert_int_equal(plugin_points(&sorter), POINT_BIT(POINT_QUEUE_SORT) | POINT_BIT(POINT_BIND));
    struct arena arena = { 0 };
    struct plugin_catalog catalog = registry_catalog(&own_registry, &arena);
    assert_int_equal(catalog.count, 3);
    assert_string_equal(catalog.plugins[1].name, "Good");
    assert_int_equal(catalog.plugins[1].points_mask, POINT_BIT(POINT_BIND));
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_chosen),
        cmocka_unit_test(test_own_plugins),
        cmocka_unit_test(test_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
