/* Messages that are left in the inbox when the core is freed are freed and not executed. (The leak sanitizer checks the
 * first.) */
#include "support/test.h"

#include "live/core.h"
#include "plugins/registry.h"

struct setup {
    struct arena arena;
    struct scheduler_config config;
    struct inbox *inbox;
    struct core *core;
    int answers, calls, owners;
};

static void retired(void *user, void *owner _unused_)
{
    ((struct setup *)user)->owners++;
}

static void setup_init(struct setup *setup)
{
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &setup->arena);
    const struct config_env env = { .catalog = &catalog };
    assert_int_equal(config_default(&env, &setup->arena, &setup->config, &err), 0);
    setup->inbox = inbox_new();
    assert_int_equal(core_new(&(struct core_options){ .config = &setup->config,
                                                      .registry = &builtin_plugins,
                                                      .inbox = setup->inbox,
                                                      .owner = setup,
                                                      .on_retired = retired,
                                                      .user = setup },
                              &setup->core, &err),
                     0);
}

/* In the scheduler's order: the core first, then its inbox. */
static void setup_release(struct setup *setup)
{
    core_free(setup->core);
    inbox_free(setup->inbox);
    config_release(&setup->config);
    arena_release(&setup->arena);
}

static void on_answer(void *user, int result _unused_, const struct error *err _unused_)
{
    ((struct setup *)user)->answers++;
}

static void on_call(void *user)
{
    ((struct setup *)user)->calls++;
}

static void test_unread_messages_are_freed(void **state _unused_)
{
    struct setup setup = { 0 };
    int owner;
    setup_init(&setup);
    for (int i = 0; i < 3; i++) {
        core_call(setup.core, on_call, &setup);
        core_reconfigure(
            setup.core,
            &(struct engine_setup){ .config = &setup.config, .registry = &builtin_plugins, .owner = &owner },
            on_answer, &setup);
    }
    assert_int_equal(inbox_depth(setup.inbox), 6);
    setup_release(&setup);
    assert_int_equal(setup.answers, 0);
    assert_int_equal(setup.calls, 0);
    assert_int_equal(setup.owners, 1); /* the one in effect; the caller keeps the others */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unread_messages_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
