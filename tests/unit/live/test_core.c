/* What is left in the inbox when the core is no more: it is freed and not done. (The leak check of a sanitizer sees to
 * the first.) */
#include "support/test.h"

#include "live/core.h"
#include "plugins/registry.h"

struct scene {
    struct arena arena;
    struct scheduler_config config;
    struct inbox *inbox;
    struct core *core;
    int answers, calls, owners;
};

static void retired(void *user, void *owner _unused_)
{
    ((struct scene *)user)->owners++;
}

static void scene_open(struct scene *scene)
{
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &scene->arena);
    const struct config_env env = { .catalog = &catalog };
    assert_int_equal(config_default(&env, &scene->arena, &scene->config, &err), 0);
    scene->inbox = inbox_new();
    assert_int_equal(core_new(&(struct core_options){ .config = &scene->config,
                                                      .registry = &builtin_plugins,
                                                      .inbox = scene->inbox,
                                                      .owner = scene,
                                                      .on_retired = retired,
                                                      .user = scene },
                              &scene->core, &err),
                     0);
}

/* In the order of the scheduler: the core first, its inbox later. */
static void scene_close(struct scene *scene)
{
    core_free(scene->core);
    inbox_free(scene->inbox);
    config_release(&scene->config);
    arena_release(&scene->arena);
}

static void on_answer(void *user, int result _unused_, const struct error *err _unused_)
{
    ((struct scene *)user)->answers++;
}

static void on_call(void *user)
{
    ((struct scene *)user)->calls++;
}

static void test_changes_that_nobody_came_to(void **state _unused_)
{
    struct scene scene = { 0 };
    int owner;
    scene_open(&scene);
    for (int i = 0; i < 3; i++) {
        core_call(scene.core, on_call, &scene);
        core_reconfigure(
            scene.core,
            &(struct engine_setup){ .config = &scene.config, .registry = &builtin_plugins, .owner = &owner },
            on_answer, &scene);
    }
    assert_int_equal(inbox_depth(scene.inbox), 6);
    scene_close(&scene);
    assert_int_equal(scene.answers, 0);
    assert_int_equal(scene.calls, 0);
    assert_int_equal(scene.owners, 1); /* of what was in effect; the others stay the caller's */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_that_nobody_came_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
