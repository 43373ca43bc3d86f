/* test_accessors.c: what a plugin reaches through a callback is valid until its last callback, whatever the watch
 * brings meanwhile: accessors.so calls every function of the header at every extension point.
 *
 * Objects are overwritten as soon as the engine does not need them any more, as the live scheduler frees them then: a
 * function that reads one of them crashes here. */
#include "unit/engine/fake_host.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

#include "abi/host.h"
#include "abi/loaded.h"
#include "base/workers.h"
#include "engine/binding.h"

#define CONFIG \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: {" \
    "queueSort: {disabled: [{name: PrioritySort}]}, bind: {disabled: [{name: '*'}], enabled: [{name: " \
    "Accessors}, {name: DefaultBinder}]}, multiPoint: {enabled: [{name: Accessors}]}}}]}"

/* ---- the plugin ---- */
static const struct berth_module *module;
static const char *const *slots;
static atomic_uint *calls, *late;
static atomic_bool *go;
static int64_t *request;
static bool *is_there, *is_named;

static int open_plugin(void **state _unused_)
{
    void *handle = dlopen(ACCESSORS_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        print_error("%s\n", dlerror());
        return -1;
    }
    module = dlsym(handle, "berth_module");
    slots = dlsym(handle, "accessors_slots");
    calls = dlsym(handle, "accessors_calls");
    late = dlsym(handle, "accessors_late");
    go = dlsym(handle, "accessors_go");
    request = dlsym(handle, "accessors_request");
    is_there = dlsym(handle, "accessors_is_there");
    is_named = dlsym(handle, "accessors_is_named");
    return 0;
}

static uint32_t calls_of(const char *slot)
{
    for (size_t i = 0; slots[i]; i++)
        if (strcmp(slots[i], slot) == 0)
            return atomic_load(&calls[i]);
    fail_msg("no slot %s", slot);
    return 0;
}

/* ---- an engine in which objects do not outlive their use ---- */
struct setup {
    struct fake_host h;
    struct loaded loaded;
};

static void overwrite(void *context _unused_, const struct pod *pod)
{
    memset((void *)pod, 0xa5, sizeof(*pod));
}

static void add_and_overwrite(struct fixture *f, enum api_kind kind, struct meta *object)
{
    uint32_t row = kind == KIND_NODE ? cluster_row(&f->cluster, object->name) : ROW_NONE;
    const struct node *before = row == ROW_NONE ? NULL : cluster_node(&f->cluster, row)->api;
    host_add(f, kind, object);
    if (before)
        memset((void *)before, 0xa5, sizeof(*before));
}

static void setup_init(struct setup *s)
{
    struct error err;
    loaded_init(&s->loaded, &builtin_plugins);
    if (loaded_add(&s->loaded, module, "accessors.so", &err) < 0)
        fail_msg("%s", err.text);
    atomic_store(go, false);
    *request = -1;
    host_begin(&s->h, CONFIG, &s->loaded.registry);
    s->h.e.f.add = add_and_overwrite;
    s->h.e.f.cluster.pod_free = overwrite;
}

static void setup_release(struct setup *s)
{
    host_end(&s->h);
    loaded_release(&s->loaded);
}

static void wait_a_moment(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

/* Answers bindings until none is left. */
static void finish(struct setup *s)
{
    struct fake_host *h = &s->h;
    atomic_store(go, true);
    while (engine_bindings(&h->e.engine)) {
        vec_for(&h->wanted, wanted)
            if (!(*wanted)->answered && (*wanted)->effect.ticket)
                host_answer(h, *wanted, ANSWER_DONE);
        engine_tick(&h->e.engine, h->e.now_ns);
        wait_a_moment();
    }
    assert_true(workers_wait(60000));
    engine_tick(&h->e.engine, h->e.now_ns);
}

/* ---- what the watch brings while a pod is being bound ---- */
#define TEST_POD(version, labels, meta, spec) \
    "{kind: Pod, metadata: {name: p, uid: u-p, resourceVersion: '" version "', labels: {" labels "}" meta \
    "}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]" spec "}}"

/* Of the same class, for which it stands: the class does not keep other pods alive. */
#define TWIN \
    "{kind: Pod, metadata: {name: twin, uid: u-twin, labels: {test/hold: %s}}, spec: {nodeName: b, " \
    "containers: " \
    "[{name: c, image: i, resources: {requests: {cpu: 1}}}]}}"

static void delete_node(struct setup *s)
{
    uint32_t row = fixture_row(&s->h.e.f, "a");
    const struct node *node = cluster_node(&s->h.e.f.cluster, row)->api;
    engine_remove_object(&s->h.e.engine, KIND_NODE, STR(""), STR("a"), s->h.e.now_ns);
    memset((void *)node, 0xa5, sizeof(*node));
}

static void delete_pod(struct setup *s)
{
    engine_remove_object(&s->h.e.engine, KIND_POD, STR("default"), STR("p"), s->h.e.now_ns);
}

/* Afterwards classes of pods are told apart by another label. */
static void renew_classes(struct setup *s)
{
    fixture_load(&s->h.e.f,
                 "{kind: Pod, metadata: {name: q, uid: u-q}, spec: {schedulerName: other, nodeName: b, "
                 "containers: [{name: c}], "
                 "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: "
                 "zone, labelSelector: {matchLabels: {app: x}}}]}}}}");
}

static const struct watch_case {
    const char *what;
    const char *pod; /* a version that comes; %s: the label test/hold */
    void (*first)(struct setup *s), (*then)(struct setup *s);
    bool is_elsewhere; /* the model does not have it on its node at the end */
    bool is_nameless;  /* the node is gone */
} watch_cases[] = {
    { "nothing", NULL },
    { "the binding", TEST_POD("2", "test/hold: %s", "", ", nodeName: a") },
    { "a binding to another node", TEST_POD("2", "test/hold: %s", "", ", nodeName: b"),
      .is_elsewhere = true },
    { "other labels", TEST_POD("2", "test/hold: %s, app: x", "", "") },
    { "a deletion timestamp",
      TEST_POD("2", "test/hold: %s", ", deletionTimestamp: '2026-01-01T00:00:00Z'", "") },
    { "the deletion", NULL, .first = delete_pod },
    { "another pod of the name",
      "{kind: Pod, metadata: {name: p, uid: other, labels: {test/hold: %s}}, spec: {nodeName: b, containers: "
      "[{name: c}]}}" },
    { "the deletion of the node", NULL, .first = delete_node, .is_nameless = true },
    { "other labels after the deletion of the node", TEST_POD("2", "test/hold: %s, app: x", "", ""),
      .first = delete_node, .is_nameless = true },
    { "the binding after the deletion of the node", TEST_POD("2", "test/hold: %s", "", ", nodeName: a"),
      .first = delete_node, .is_nameless = true },
    { "the deletion of both", NULL, .first = delete_node, .then = delete_pod, .is_nameless = true },
    { "the deletion of both after other labels", TEST_POD("2", "test/hold: %s, app: x", "", ""),
      .first = delete_node, .then = delete_pod, .is_nameless = true },
    { "another order of classes", TEST_POD("2", "test/hold: %s, app: x", "", ""), .first = renew_classes },
};

static void load_held(struct setup *s, const char *format, const char *hold)
{
    char text[1024];
    const char *at = strstr(format, "%s");
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - format), format, hold, at + 2);
    fixture_load(&s->h.e.f, text);
}

static void allow(struct setup *s)
{
    const struct profile *profile = &s->h.e.engine.profiles[0];
    const struct plugin *plugin = NULL;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (strcmp(profile->plugins[i].plugin->name, "Accessors") == 0)
            plugin = profile->plugins[i].plugin;
    const struct plugin_message message = {
        .kind = PLUGIN_MESSAGE_ALLOW, .plugin = plugin, .namespace = STR("default"), .name = STR("p")
    };
    mailbox_post(&s->h.e.engine.profiles[0].mailbox, plugin_message_new(&message));
    engine_tick(&s->h.e.engine, s->h.e.now_ns);
}

static void run_watch_case(const struct watch_case *test, const char *hold)
{
    struct setup s;
    setup_init(&s);
    uint32_t ends = calls_of("post_bind") + calls_of("unreserve");
    fixture_load(&s.h.e.f, NODE("b", "100m"));
    fixture_load(&s.h.e.f, NODE("a", "4"));
    load_held(&s, TWIN, hold);
    load_held(&s, TEST_POD("1", "test/hold: %s", "", ""), hold);
    assert_ptr_equal(fixture_pod(&s.h.e.f, "p")->class->sample, fixture_pod(&s.h.e.f, "twin"));
    host_settle(&s.h);
    assert_int_equal(engine_bindings(&s.h.e.engine), 1);
    while (strcmp(hold, "bind") == 0 && !host_open(&s.h, EFFECT_BIND)) {
        if (host_open(&s.h, EFFECT_POD_STATUS)) /* the nomination, before the binding */
            host_answer(&s.h, host_wants(&s.h, EFFECT_POD_STATUS), ANSWER_DONE);
        wait_a_moment();
        engine_tick(&s.h.e.engine, s.h.e.now_ns);
    }
    fixture_load(&s.h.e.f, NODE("b", "200m"));
    if (test->first)
        test->first(&s);
    if (test->pod)
        load_held(&s, test->pod, hold);
    if (test->then)
        test->then(&s);
    if (strcmp(hold, "permit") == 0)
        allow(&s);
    finish(&s);
    if (calls_of("post_bind") + calls_of("unreserve") != ends + 1)
        fail_msg("%s at %s: %u ends", test->what, hold, calls_of("post_bind") + calls_of("unreserve") - ends);
    if (*request != 1000 || *is_there == test->is_elsewhere || *is_named == test->is_nameless)
        fail_msg("%s at %s: the plugin reads a request of %lld, on its row: %d, with a name: %d", test->what,
                 hold, (long long)*request, *is_there, *is_named);
    setup_release(&s);
}

static void test_the_watch_is_first(void **state _unused_)
{
    static const char *const holds[] = { "permit", "pre-bind", "bind" };
    for (size_t i = 0; i < ARRAY_SIZE(watch_cases); i++)
        for (size_t k = 0; k < ARRAY_SIZE(holds); k++)
            run_watch_case(&watch_cases[i], holds[k]);
}

/* ---- the queue and what-if ---- */
/* A pod in the queue changes: QueueSort compares the old version with others while it is taken out. */
static void test_queue(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    for (int version = 1; version < 4; version++)
        for (int i = 0; i < 9; i++)
            fixture_loadf(
                &s.h.e.f,
                "{kind: Pod, metadata: {name: p%d, uid: u-p%d, resourceVersion: '%d', labels: {app: x%d}}, "
                "spec: {priority: %d, containers: [{name: c, resources: {requests: {cpu: %d}}}]}}",
                i, i, version, version, version * i % 5, version);
    engine_remove_object(&s.h.e.engine, KIND_POD, STR("default"), STR("p4"), s.h.e.now_ns);
    host_settle(&s.h);
    setup_release(&s);
}

/* Rejected pods: hints for events of everything; a preemption with nominated pods. */
static void test_rejected(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    fixture_load(&s.h.e.f, NODE("a", "1"));
    fixture_load(&s.h.e.f, NODE("b", "1"));
    fixture_load(&s.h.e.f, POD("low", "1", ", nodeName: a, priority: 1"));
    fixture_load(&s.h.e.f, POD("low-too", "1", ", nodeName: b, priority: 2"));
    fixture_load(&s.h.e.f,
                 "{kind: Pod, metadata: {name: rejected, uid: u-rejected, labels: {test/no: x}}, spec: "
                 "{containers: [{name: c}]}}");
    fixture_load(&s.h.e.f, POD("high", "1", ", priority: 10"));
    host_settle(&s.h);
    fixture_load(&s.h.e.f, POD("higher", "1", ", priority: 20"));
    fixture_load(&s.h.e.f, POD("medium", "1", ", priority: 5"));
    host_settle(&s.h);
    fixture_load(&s.h.e.f, NODE("a", "2"));
    fixture_load(&s.h.e.f, POD_WITH("low", "2", "1", ", labels: {app: x}", ", nodeName: a, priority: 1"));
    fixture_load(&s.h.e.f, "{kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}}");
    engine_remove_object(&s.h.e.engine, KIND_POD, STR("default"), STR("low"), s.h.e.now_ns);
    delete_node(&s);
    host_pass(&s.h, 60 * SECOND);
    setup_release(&s);
}

static void test_scores(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    fixture_load(&s.h.e.f, NODE("a", "4"));
    fixture_load(&s.h.e.f, NODE("b", "4"));
    fixture_load(&s.h.e.f, POD("p", "1", ""));
    host_settle(&s.h);
    finish(&s);
    s.h.e.engine.slowest = PATH_PLAIN; /* node by node */
    fixture_load(&s.h.e.f, POD("q", "1", ""));
    host_settle(&s.h);
    finish(&s);
    while (!atomic_load(late))
        wait_a_moment();
    setup_release(&s);
}

/* ---- nothing is left out ---- */
/* Every slot of the header is one of the plugin's, and was called. */
static void test_every_slot(void **state _unused_)
{
    const struct berth_plugin *plugin = module->plugins[0];
    assert_int_equal(module->plugin_size, sizeof(struct berth_plugin));
    for (size_t at = 0; at < sizeof(*plugin); at += sizeof(void *)) {
        void *member;
        memcpy(&member, (const char *)plugin + at, sizeof(member));
        if (!member)
            fail_msg("accessors.c does not have the member of struct berth_plugin at %zu", at);
    }
    for (size_t i = 0; slots[i]; i++)
        if (!atomic_load(&calls[i]))
            fail_msg("%s was never called", slots[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_watch_is_first), cmocka_unit_test(test_queue),
        cmocka_unit_test(test_rejected),           cmocka_unit_test(test_scores),
        cmocka_unit_test(test_every_slot),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
