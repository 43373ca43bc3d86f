/* Another configuration while pods wait, are held back, wait for permission, or are being bound. */
#include "fake_host.h"

#include "engine/binding.h"

/* A gate for pods called "held-...", a guard that lets pods wait, and one that refuses its arguments. */
static struct status hold_back(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)self;
    return str_starts_with(pod->meta.name, STR("held")) ? status_printf(arena, STATUS_UNRESOLVABLE, "not yet")
                                                        : STATUS_OK;
}

static struct status permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)cycle, (void)row;
    *ret_timeout_ms = 60000;
    return (struct status){ .code = STATUS_WAIT };
}

static int refuse(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)env, (void)ret_self;
    return error_set(err, -EINVAL, "it does not like this");
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit;
static const struct plugin plugin_gate = { .name = "Gate", .pre_enqueue = hold_back };
static const struct plugin plugin_guard = { .name = "Guard", .permit = permit };
static const struct plugin plugin_moody = { .name = "Moody", .init = refuse, .permit = permit };
static const struct plugin *const plugins[] = { &plugin_priority_sort, &plugin_node_resources_fit,
                                                &plugin_gate,          &plugin_guard,
                                                &plugin_moody,         &plugin_default_binder };
static const struct registry registry = { plugins, ARRAY_SIZE(plugins) };

#define HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: ["
#define PROFILE(name, more) \
    "{schedulerName: " name ", plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [" more \
    "{name: PrioritySort}, {name: NodeResourcesFit}, {name: DefaultBinder}]}}}"
#define WITH(plugin) "{name: " plugin "}, "
#define PLAIN HEAD PROFILE("default-scheduler", "") "]"
#define GUARDED HEAD PROFILE("default-scheduler", WITH("Guard")) "]"
#define GATED HEAD PROFILE("default-scheduler", WITH("Gate")) "]"
#define SHIFTED HEAD PROFILE("another", WITH("Guard")) ", " PROFILE("default-scheduler", WITH("Gate")) "]"
#define OTHER HEAD PROFILE("another", "") "]"
#define MOODY HEAD PROFILE("default-scheduler", "") ", " PROFILE("another", WITH("Moody")) "]"

/* ---- configurations with owners ---- */
static int alive; /* configurations that the engine has not given back */

static void retired(void *context, void *owner)
{
    (void)context;
    struct scheduler_config *config = owner;
    config_release(config);
    alive--;
}

static int change(struct fake_host *h, const char *text, struct error *err)
{
    struct fixture *f = &h->e.f;
    struct scheduler_config *config = arena_new(&h->arena, struct scheduler_config);
    struct plugin_catalog catalog = registry_catalog(&registry, &f->arena);
    const struct config_env env = { .catalog = &catalog };
    assert_int_equal(
        config_load_text("config", strdup(text), strlen(text), &env, &f->arena, config, NULL, err), 0);
    alive++;
    const struct engine_setup setup = { .config = config, .registry = &registry, .owner = config };
    int r = engine_reconfigure(&h->e.engine, &setup, h->e.now_ns, err);
    if (r < 0)
        retired(h, config);
    return r;
}

static void change_to(struct fake_host *h, const char *text)
{
    struct error err;
    if (change(h, text, &err) < 0)
        fail_msg("%s", err.text);
}

static void begin(struct fake_host *h, const char *config)
{
    host_begin(h, config, &registry);
    h->e.engine.host.retired = retired;
}

static void end(struct fake_host *h)
{
    host_end(h);
    assert_int_equal(alive, 0);
}

/* ---- tests ---- */
/* What kept a pod from its node is gone with the old configuration; it is tried after its backoff, not before. */
static void test_waiting_pods_are_judged_anew(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, GATED);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("held-back", "1", ""));
    fixture_load(&h.e.f, POD("big", "2", ""));
    host_settle(&h);
    assert_place(&h, "held-back", QUEUE_GATED);
    assert_place(&h, "big", QUEUE_UNSCHEDULABLE);
    change_to(&h, PLAIN);
    assert_place(&h, "held-back", QUEUE_ACTIVE);
    assert_place(&h, "big", QUEUE_BACKOFF);
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "held-back");
    assert_place(&h, "big", QUEUE_UNSCHEDULABLE);
    assert_int_equal(queue_find(&h.e.engine.queue, fixture_pod(&h.e.f, "big"))->attempts, 2);
    end(&h);
}

static void test_new_gates_hold_active_pods(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("held-back", "1", ""));
    assert_place(&h, "held-back", QUEUE_ACTIVE);
    change_to(&h, SHIFTED);
    assert_place(&h, "held-back", QUEUE_GATED);
    end(&h);
}

/* A pod that waits for permission does so under the configuration that decided it, for which all of it stays. */
static void test_permission_outlives_its_configuration(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    change_to(&h, GUARDED);
    fixture_load(&h.e.f, NODE("a", "2"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    fixture_load(&h.e.f, POD("q", "1", ""));
    host_settle(&h);
    assert_int_equal(engine_bindings(&h.e.engine), 2);
    change_to(&h, SHIFTED);
    host_pass(&h, SECOND);
    assert_int_equal(alive, 2);
    assert_int_equal(engine_bindings(&h.e.engine), 2);
    assert_int_equal(host_used_cpu(&h, "a"), 2000);
    binding_event(binding_find(&h.e.engine, fixture_pod(&h.e.f, "p")->api),
                  &(struct binding_event){ BINDING_ON_ALLOWED, h.e.now_ns, "Guard" });
    binding_event(binding_find(&h.e.engine, fixture_pod(&h.e.f, "q")->api),
                  &(struct binding_event){ BINDING_ON_REJECTED, h.e.now_ns, "Guard", STR("no") });
    assert_place(&h, "q", QUEUE_ERROR_BACKOFF); /* the new profile has no Guard that could think again */
    while (host_open(&h, EFFECT_POD_STATUS))    /* a binding follows what is said of the pod */
        host_answer(&h, host_wants(&h, EFFECT_POD_STATUS), ANSWER_DONE);
    host_answer(&h, host_wants_of(&h, EFFECT_BIND, "p"), ANSWER_DONE);
    host_pass(&h, SECOND);
    assert_int_equal(alive, 1);
    host_pass(&h, 20 * SECOND);
    while (host_open(&h, EFFECT_POD_STATUS))
        host_answer(&h, host_wants(&h, EFFECT_POD_STATUS), ANSWER_DONE);
    host_answer(&h, host_wants_of(&h, EFFECT_BIND, "q"), ANSWER_DONE);
    assert_int_equal(host_used_cpu(&h, "a"), 2000);
    end(&h);
}

/* Its pods are not ours any more; one on its way gets there, or is left alone. */
static void test_a_profile_goes(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    host_settle(&h);
    fixture_load(&h.e.f, POD("waits", "1", ""));
    host_settle(&h);
    change_to(&h, OTHER);
    assert_null(cluster_find_pod(&h.e.f.cluster, STR("default"), STR("waits")));
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", ", labels: {a: b}", "")); /* keeps its room */
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_REFUSED);
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    assert_place(&h, "p", QUEUE_NOWHERE);
    fixture_load(&h.e.f, POD("o", "1", ", schedulerName: another"));
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "o");
    end(&h);
}

/* Pods of a new name are brought by the caller. */
static void test_a_profile_comes(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("o", "1", ", schedulerName: another"));
    host_settle(&h);
    assert_int_equal(host_count(&h, EFFECT_BIND), 0);
    change_to(&h, OTHER);
    fixture_load(&h.e.f, POD("o", "1", ", schedulerName: another"));
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "o");
    end(&h);
}

static void test_refused_as_a_whole(void **state)
{
    (void)state;
    struct fake_host h;
    struct error err;
    begin(&h, GATED);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("held-back", "1", ""));
    assert_int_equal(change(&h, MOODY, &err), -EINVAL);
    assert_string_equal(err.text, "initializing plugin \"Moody\": it does not like this");
    assert_place(&h, "held-back", QUEUE_GATED);
    assert_int_equal(h.e.engine.profiles_len, 1);
    end(&h);
}

/* Backoffs that were counted by other rules are counted again. */
static void test_backoffs_follow(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("big", "2", ""));
    host_settle(&h);
    change_to(&h, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                  "podInitialBackoffSeconds: 100\npodMaxBackoffSeconds: 100\nprofiles: [" PROFILE(
                      "default-scheduler", "") "]");
    assert_place(&h, "big", QUEUE_BACKOFF);
    assert_in_range(queue_next_backoff(&h.e.engine.queue), h.e.now_ns + 100 * SECOND,
                    h.e.now_ns + 101 * SECOND);
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_pods_are_judged_anew),
        cmocka_unit_test(test_new_gates_hold_active_pods),
        cmocka_unit_test(test_permission_outlives_its_configuration),
        cmocka_unit_test(test_a_profile_goes),
        cmocka_unit_test(test_a_profile_comes),
        cmocka_unit_test(test_refused_as_a_whole),
        cmocka_unit_test(test_backoffs_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
