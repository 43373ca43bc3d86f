/* A new configuration while pods wait, are gated, wait in Permit, or are being bound. */
#include "fake_host.h"

#include "engine/binding.h"

/* A gate for pods called "held-...", a Permit plugin, and a plugin that rejects its arguments. */
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

static int reject_args(const struct plugin_env *env, void **ret_self, struct error *err)
{
    (void)env, (void)ret_self;
    return error_set(err, -EINVAL, "bad arguments");
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit;
static const struct plugin plugin_gate = { .name = "Gate", .pre_enqueue = hold_back };
static const struct plugin plugin_guard = { .name = "Guard", .permit = permit };
static const struct plugin plugin_bad_args = { .name = "BadArgs", .init = reject_args, .permit = permit };
static const struct plugin *const plugins[] = { &plugin_priority_sort, &plugin_node_resources_fit,
                                                &plugin_gate,          &plugin_guard,
                                                &plugin_bad_args,      &plugin_default_binder };
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
#define BAD_ARGS HEAD PROFILE("default-scheduler", "") ", " PROFILE("another", WITH("BadArgs")) "]"

/* ---- configurations with owners ---- */
static int alive; /* configurations that the engine has not released */

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
/* The old rejection does not apply to the new configuration: the pod is tried again after its backoff. */
static void test_waiting_pods_are_requeued(void **state)
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

/* A pod that waits in Permit keeps the configuration that decided it. */
static void test_permit_outlives_its_configuration(void **state)
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
    assert_place(&h, "q",
                 QUEUE_ERROR_BACKOFF);       /* the new profile has no Guard whose event could requeue it */
    while (host_open(&h, EFFECT_POD_STATUS)) /* a binding follows the pod's status writes */
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

/* A removed profile's pods are no longer scheduled; one that is being bound is completed or dropped. */
static void test_a_profile_is_removed(void **state)
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
    fixture_load(&h.e.f, POD_WITH("p", "2", "1", ", labels: {a: b}", "")); /* stays assumed */
    assert_int_equal(host_used_cpu(&h, "a"), 1000);
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_REFUSED);
    assert_int_equal(host_used_cpu(&h, "a"), 0);
    assert_place(&h, "p", QUEUE_NOWHERE);
    fixture_load(&h.e.f, POD("o", "1", ", schedulerName: another"));
    host_settle(&h);
    assert_str(host_wants(&h, EFFECT_BIND)->effect.name, "o");
    end(&h);
}

/* The caller adds the pods of a new scheduler name. */
static void test_a_profile_is_added(void **state)
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

static void test_rejected_completely(void **state)
{
    (void)state;
    struct fake_host h;
    struct error err;
    begin(&h, GATED);
    fixture_load(&h.e.f, NODE("a", "1"));
    fixture_load(&h.e.f, POD("held-back", "1", ""));
    assert_int_equal(change(&h, BAD_ARGS, &err), -EINVAL);
    assert_string_equal(err.text, "initializing plugin \"BadArgs\": bad arguments");
    assert_place(&h, "held-back", QUEUE_GATED);
    assert_int_equal(h.e.engine.profiles_len, 1);
    end(&h);
}

/* Backoffs are computed again with the new settings. */
static void test_backoffs_change(void **state)
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

#define WEIGHTS(weight) \
    "{kind: ConfigMap, metadata: {name: policies, namespace: system}, data: {p.yaml: \"apiVersion: " \
    "scheduling.k8s.io/v1\\nkind: SchedulingPolicy\\nmetadata: {name: default-policy}\\nspec: " \
    "{pluginWeights: " \
    "{NodeResourcesFit: " weight "}}\"}}"

static int32_t weight_of(const struct fake_host *h, const char *pod)
{
    const struct profile *profile = engine_profile(&h->e.engine, fixture_pod(&h->e.f, pod)->api);
    return profile_find(profile, "NodeResourcesFit")->weight;
}

/* Policies with weights are other profiles of the same configuration, which goes back once, after the last of them. */
static void test_policies_share_a_configuration(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h, PLAIN);
    change_to(&h, GUARDED);
    fixture_load(&h.e.f, NODE("a", "2"));
    fixture_load(&h.e.f, POD("p", "1", ""));
    host_settle(&h); /* it waits in Permit, with the profile of before */
    fixture_load(&h.e.f, WEIGHTS("5"));
    fixture_load(&h.e.f, POD("q", "8", ""));
    assert_int_equal(weight_of(&h, "q"), 5);
    fixture_load(&h.e.f, WEIGHTS("7"));
    assert_int_equal(weight_of(&h, "q"), 7);
    assert_int_equal(alive, 1);
    change_to(&h, PLAIN);
    assert_int_equal(weight_of(&h, "q"), 7);
    assert_int_equal(alive, 2);
    host_pass(&h, 120 * SECOND); /* nothing permits it */
    host_pass(&h, SECOND);
    assert_int_equal(alive, 1);
    change_to(&h, OTHER);
    host_pass(&h, SECOND);
    assert_int_equal(alive, 1);
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policies_share_a_configuration),
        cmocka_unit_test(test_waiting_pods_are_requeued),
        cmocka_unit_test(test_new_gates_hold_active_pods),
        cmocka_unit_test(test_permit_outlives_its_configuration),
        cmocka_unit_test(test_a_profile_is_removed),
        cmocka_unit_test(test_a_profile_is_added),
        cmocka_unit_test(test_rejected_completely),
        cmocka_unit_test(test_backoffs_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
