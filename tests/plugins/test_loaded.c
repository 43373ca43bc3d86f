/* test_loaded.c: a plugin from a shared object in an engine with a host: every slot, threads, and rejected modules.
 *
 * everything.so logs its calls; the log goes to a file that the tests read. */
#include "support/engine_fixture.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "abi/host.h"
#include "abi/loaded.h"
#include "base/log.h"
#include "base/workers.h"
#include "engine/binding.h"

#define CONFIG(rest) \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{plugins: {" \
    "queueSort: {disabled: [{name: PrioritySort}]}, multiPoint: {enabled: [{name: Everything, weight: " \
    "90}]}}" rest "}]}"

#define NODE(name, cpu, more) \
    "{kind: Node, metadata: {name: " name more "}, status: {allocatable: {cpu: " cpu \
    ", memory: 8Gi, pods: 9}}}"
#define POD(name, labels) \
    "{kind: Pod, metadata: {name: " name ", labels: {" labels "}}, spec: {containers: [{name: c, image: i, " \
    "resources: {requests: {cpu: 1}}}]}}"

struct setup {
    struct engine_fixture e;
    struct loaded loaded;
    VEC(uint64_t) tickets; /* of unanswered effects */
    struct strbuf failures;
};

static int log_fd;

static const struct berth_module *open_module(void)
{
    void *handle = dlopen(EVERYTHING_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    return dlsym(handle, "berth_module");
}

static void emit(void *context, const struct effect *effect)
{
    struct setup *setup = context;
    if (effect->ticket)
        *vec_push(&setup->tickets) = effect->ticket;
}

static void notice(void *context, const struct notice *notice)
{
    struct setup *setup = context;
    if (notice->kind == NOTICE_BINDING_FAILED)
        strbuf_printf(&setup->failures, STR_FMT ": " STR_FMT "\n", STR_ARG(notice->pod->meta.name),
                      STR_ARG(notice->message));
}

static void setup_init(struct setup *setup, const char *config)
{
    struct error err;
    memset(setup, 0, sizeof(*setup));
    if (ftruncate(log_fd, 0) < 0 || lseek(log_fd, 0, SEEK_SET) < 0)
        fail_msg("no log");
    loaded_init(&setup->loaded, &builtin_plugins);
    if (loaded_add(&setup->loaded, open_module(), "everything.so", &err) < 0)
        fail_msg("%s", err.text);
    engine_fixture_init(
        &setup->e, config,
        &(struct engine_options){ .seed = 1,
                                  .now_ns = 1,
                                  .slowest = PATH_INDEX,
                                  .registry = &setup->loaded.registry,
                                  .host = { .emit = emit, .notice = notice, .context = setup } });
}

static char folder[] = "/tmp/berth-loaded-XXXXXX";

/* "test/permit: file" and "test/pre-bind: file" of a pod last until let_go(). */
static void setup_init_held(struct setup *setup)
{
    char config[1024];
    snprintf(config, sizeof(config), CONFIG(", pluginConfig: [{name: Everything, args: {folder: %s}}]"),
             folder);
    setup_init(setup, config);
}

static void let_go(const char *pod)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s.go", folder, pod);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void setup_release(struct setup *setup)
{
    engine_fixture_release(&setup->e);
    loaded_release(&setup->loaded);
    vec_release(&setup->tickets);
    strbuf_release(&setup->failures);
}

/* The log so far. */
static const char *log_so_far(void)
{
    static char text[1 << 16];
    ssize_t len = pread(log_fd, text, sizeof(text) - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

#define assert_logged(part) \
    do { \
        if (!strstr(log_so_far(), (part))) \
            fail_msg("not in the log: %s\n%s", (part), log_so_far()); \
    } while (0)

/* How long a test waits; less than the timeout of a Permit. */
enum { PATIENT = 4000 };

/* Answers all effects and takes plugin messages, for a number of rounds or until nothing is pending. */
static void settle(struct setup *setup, int rounds)
{
    struct answer done = { .kind = ANSWER_DONE };
    for (int i = 0; i < rounds && (engine_bindings(&setup->e.engine) || i == 0); i++) {
        setup->e.now_ns += 10 * 1000000;
        engine_tick(&setup->e.engine, setup->e.now_ns);
        for (size_t k = 0; k < setup->tickets.len; k++)
            engine_answer(&setup->e.engine, setup->tickets.items[k], &done, setup->e.now_ns);
        vec_clear(&setup->tickets);
        nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
    }
}

/* ---- slots ---- */
static void every_slot_is_called(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("small", "2", ""));
    fixture_load(&s.e.f, NODE("large", "4", ""));
    fixture_load(&s.e.f, NODE("shut", "8", ", labels: {closed: 'yes'}"));
    struct pod_info *pod = engine_fixture_add(&s.e, POD("p", "test/pre-bind: fast"));
    struct decision decision = engine_fixture_step(&s.e);
    assert_true(decision.path != PATH_PLAIN);
    assert_int_equal(decision.feasible, 2);
    settle(&s, PATIENT);
    assert_int_equal(engine_bindings(&s.e.engine), 0);
    assert_true(str_is(cluster_node_name(&s.e.f.cluster, pod->row), "large"));
    assert_logged("init hello number=7");
    assert_logged("pre_score 2");
    assert_logged("reserve p on large after 3 filters");
    assert_logged("pre_bind p on large, core thread: 0, cluster: 0, state: 1, cancelled: 0");
    assert_logged("post_bind p");
    setup_release(&s);
    assert_logged("release");
}

static void pods_are_ordered_and_narrowed_by_the_plugin(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    fixture_load(&s.e.f, NODE("two", "8", ""));
    engine_fixture_add(&s.e, POD("a", ""));
    engine_fixture_add(&s.e, POD("c", "test/narrow: one"));
    engine_fixture_add(&s.e, POD("b", "test/narrow: nowhere"));
    struct decision decision = engine_fixture_step(&s.e);
    assert_true(str_is(decision.pod->api->meta.name, "c"));
    assert_true(str_is(cluster_node_name(&s.e.f.cluster, decision.row), "one"));
    decision = engine_fixture_step(&s.e);
    assert_true(str_is(decision.pod->api->meta.name, "b"));
    assert_int_equal(decision.row, ROW_NONE);
    assert_true(str_contains(decision.message, STR("Everything")));
    settle(&s, 50);
    setup_release(&s);
}

static void pre_enqueue_gates(void **state _unused_)
{
    struct setup s;
    struct status gate;
    struct error err;
    setup_init(&s, CONFIG(", pluginConfig: [{name: Everything, args: {greeting: ahoy}}]"));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    fixture_load(&s.e.f, POD("held", "test/pre-enqueue: hold"));
    assert_int_equal(engine_add_pod(&s.e.engine, s.e.f.last_pod, 1, &gate, &err), 0);
    assert_int_equal(gate.code, STATUS_UNRESOLVABLE);
    assert_true(str_is(status_message(gate, &s.e.f.arena), "ahoy, wait"));
    setup_release(&s);
}

/* ---- Permit ---- */
static void a_thread_allows(void **state _unused_)
{
    struct setup s;
    setup_init_held(&s);
    fixture_load(&s.e.f, NODE("one", "4", ""));
    engine_fixture_add(&s.e, POD("c", "test/permit: file"));
    engine_fixture_add(&s.e, POD("b", "test/permit: file"));
    engine_fixture_step(&s.e);
    engine_fixture_step(&s.e);
    assert_int_equal(s.e.engine.bindings_at[BINDING_PERMIT], 2);
    assert_logged("permit c, 0 wait");
    assert_logged("permit b, 1 wait");
    let_go("b");
    let_go("c");
    settle(&s, PATIENT);
    assert_int_equal(engine_bindings(&s.e.engine), 0);
    assert_logged("post_bind b");
    assert_logged("post_bind c");
    setup_release(&s);
}

/* A permission for a deleted pod does not apply to the next pod with that name. */
static void permission_is_for_one_pod(void **state _unused_)
{
    static const struct {
        const char *uid;
        size_t waiting;
    } cases[] = { { "the one before", 1 }, { "u-a", 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct setup s;
        setup_init(&s, CONFIG(""));
        fixture_load(&s.e.f, NODE("one", "4", ""));
        engine_fixture_add(&s.e,
                           "{kind: Pod, metadata: {name: a, uid: u-a, labels: {test/permit: timeout}}, spec: "
                           "{containers: [{name: c, image: i}]}}");
        engine_fixture_step(&s.e);
        struct berth_handle handle = { .mailbox = &s.e.engine.profiles[0].mailbox };
        for (uint32_t k = 0; k < s.e.engine.profiles[0].plugins_len; k++)
            if (s.e.engine.profiles[0].plugins[k].plugin->permit)
                handle.plugin = s.e.engine.profiles[0].plugins[k].plugin;
        struct str uid = str_from(cases[i].uid);
        host_table.allow_uid(&handle, (struct berth_str){ "default", 7 }, (struct berth_str){ "a", 1 },
                             (struct berth_str){ uid.ptr, uid.len });
        engine_tick(&s.e.engine, s.e.now_ns);
        assert_int_equal(s.e.engine.bindings_at[BINDING_PERMIT], cases[i].waiting);
        setup_release(&s);
    }
}

static void a_thread_rejects(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    struct pod_info *pod = engine_fixture_add(&s.e, POD("a", "test/permit: refuse"));
    engine_fixture_step(&s.e);
    settle(&s, PATIENT);
    assert_int_equal(pod->row, ROW_NONE);
    assert_non_null(strstr(s.failures.text, "rejected by a thread"));
    assert_logged("unreserve a");
    setup_release(&s);
}

static void a_permit_without_an_answer_times_out(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    struct pod_info *pod = engine_fixture_add(&s.e, POD("a", "test/permit: timeout"));
    engine_fixture_step(&s.e);
    s.e.now_ns += 199 * 1000000;
    engine_tick(&s.e.engine, s.e.now_ns);
    assert_int_not_equal(pod->row, ROW_NONE);
    s.e.now_ns += 2 * 1000000;
    engine_tick(&s.e.engine, s.e.now_ns);
    assert_int_equal(pod->row, ROW_NONE);
    assert_non_null(
        strstr(s.failures.text, "rejected due to timeout after waiting 200ms at plugin Everything"));
    setup_release(&s);
}

/* ---- PreBind ---- */
static void others_are_decided_while_pre_bind_blocks(void **state _unused_)
{
    struct setup s;
    setup_init_held(&s);
    fixture_load(&s.e.f, NODE("one", "4", ""));
    engine_fixture_add(&s.e, POD("z", "test/pre-bind: file"));
    engine_fixture_add(&s.e, POD("a", ""));
    engine_fixture_step(&s.e);
    assert_int_equal(s.e.engine.bindings_at[BINDING_PRE_BIND], 1);
    engine_fixture_step(&s.e);
    settle(&s, 5);
    assert_logged("post_bind a");
    assert_null(strstr(log_so_far(), "post_bind z"));
    let_go("z");
    settle(&s, PATIENT);
    assert_logged("post_bind z");
    setup_release(&s);
}

static void a_failure_of_pre_bind_requeues_the_pod(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    struct pod_info *pod = engine_fixture_add(&s.e, POD("a", "test/pre-bind: fail"));
    engine_fixture_step(&s.e);
    settle(&s, PATIENT);
    assert_int_equal(pod->row, ROW_NONE);
    assert_non_null(strstr(s.failures.text, "running PreBind plugin \"Everything\": disk 3 is on fire"));
    assert_logged("unreserve a");
    setup_release(&s);
}

/* The pod is deleted during PreBind: nothing that the plugin uses may be freed before it returns. */
static void work_outlives_its_pod(void **state _unused_)
{
    struct setup s;
    setup_init_held(&s);
    fixture_load(&s.e.f, NODE("one", "4", ""));
    struct pod_info *pod = engine_fixture_add(&s.e, POD("a", "test/pre-bind: file"));
    engine_fixture_step(&s.e);
    engine_remove_pod(&s.e.engine, pod, 2);
    assert_int_equal(engine_bindings(&s.e.engine), 0);
    engine_tick(&s.e.engine, 3);
    assert_true(workers_wait(60000));
    engine_tick(&s.e.engine, 4);
    assert_logged("pre_bind a on one, core thread: 0, cluster: 0, state: 1, cancelled: 1");
    assert_null(strstr(log_so_far(), "post_bind"));
    setup_release(&s);
}

static void the_engine_ends_while_work_is_pending(void **state _unused_)
{
    struct setup s;
    setup_init_held(&s);
    fixture_load(&s.e.f, NODE("one", "4", ""));
    engine_fixture_add(&s.e, POD("a", "test/pre-bind: file"));
    engine_fixture_step(&s.e);
    setup_release(&s);
    assert_logged("cancelled: 1");
}

/* ---- the queue ---- */
static void one_pod_activates_another(void **state _unused_)
{
    struct setup s;
    struct decision decision;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    engine_fixture_add(&s.e, POD("z", "test/narrow: nowhere"));
    engine_fixture_step(&s.e);
    assert_false(engine_step(&s.e.engine, s.e.now_ns, &decision));
    engine_fixture_add(&s.e, POD("a", "test/activate: z"));
    engine_fixture_step(&s.e);
    settle(&s, 50);
    decision = engine_fixture_step(&s.e);
    assert_true(str_is(decision.pod->api->meta.name, "z"));
    settle(&s, 50);
    setup_release(&s);
}

static void hints_decide_which_pods_are_queued(void **state _unused_)
{
    struct setup s;
    struct decision decision;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ", labels: {closed: 'yes'}"));
    engine_fixture_add(&s.e, POD("a", ""));
    decision = engine_fixture_step(&s.e);
    assert_int_equal(decision.row, ROW_NONE);
    assert_true(str_contains(decision.message, STR("1 node(s) were closed")));
    const struct node *closed = s.e.f.cluster.nodes.items[0].api;
    struct node open = *closed;
    open.meta.labels = (struct str_map){ 0 };
    s.e.now_ns += 60 * NS_PER_SECOND;
    engine_event(&s.e.engine,
                 &(struct cluster_event){
                     .resource = EVENT_NODE, .actions = ACTION_NODE_LABEL, .before = &open, .after = closed },
                 s.e.now_ns);
    assert_false(engine_step(&s.e.engine, s.e.now_ns, &decision));
    cluster_set_node(&s.e.f.cluster, &open);
    engine_event(&s.e.engine,
                 &(struct cluster_event){
                     .resource = EVENT_NODE, .actions = ACTION_NODE_LABEL, .before = closed, .after = &open },
                 s.e.now_ns);
    assert_logged("hint a self=1 actions=8 open=0");
    assert_logged("hint a self=1 actions=8 open=1");
    assert_int_not_equal(engine_fixture_step(&s.e).row, ROW_NONE);
    settle(&s, 50);
    setup_release(&s);
}

static void post_filter_finds_victims_by_what_if(void **state _unused_)
{
    struct setup s;
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "1", ""));
    fixture_load(&s.e.f, NODE("shut", "8", ", labels: {closed: 'yes'}"));
    engine_fixture_add(&s.e, POD("low", ""));
    engine_fixture_step(&s.e);
    settle(&s, 50);
    engine_fixture_add(&s.e, POD("high", "test/victims: all"));
    struct decision decision = engine_fixture_step(&s.e);
    assert_int_equal(decision.row, ROW_NONE);
    assert_int_equal(decision.victims_len, 1);
    assert_true(str_is(cluster_node_name(&s.e.f.cluster, decision.nominated_row), "one"));
    assert_logged("remove_pod low of 0");
    assert_logged("add_pod low");
    assert_logged("post_filter one code=2 fits_without=1");
    settle(&s, 20);
    setup_release(&s);
}

/* ---- arguments and metrics ---- */
static void arguments_are_decoded(void **state _unused_)
{
    struct setup s;
    setup_init(&s,
               CONFIG(", pluginConfig: [{name: Everything, args: {greeting: ahoy, number: 12, pause: 1m30s, "
                      "ratio: 0.25, loud: true, words: [a, b], pairs: {k: v}, inner: {depth: 3}, "
                      "items: [{depth: 1}, {depth: 2}]}}]"));
    assert_logged(
        "init ahoy number=12 pause=90000000000 ratio=0.250 loud=1 words=2 pairs=1 depth=3 items=3 json=");
    setup_release(&s);
}

static void wrong_arguments_are_rejected_with_one_error(void **state _unused_)
{
    static const struct {
        const char *args, *sentence;
    } cases[] = {
        { "{numbre: 1}", "args.numbre: unknown field" },
        { "{number: many}", "args.number: " },
        { "{inner: {depth: x}}", "args.inner.depth: " },
        { "{number: -1}", "initializing plugin \"Everything\": number: -1 is negative" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct engine_fixture e = { 0 };
        struct loaded loaded;
        struct error err = { "" };
        _cleanup_(strbuf_release) struct strbuf config = { 0 };
        strbuf_printf(&config, CONFIG(", pluginConfig: [{name: Everything, args: %s}]"), cases[i].args);
        loaded_init(&loaded, &builtin_plugins);
        assert_int_equal(loaded_add(&loaded, open_module(), "everything.so", &err), 0);
        int r = engine_fixture_try(&e, config.text, &(struct engine_options){ .registry = &loaded.registry },
                                   &err);
        assert_true(r < 0);
        if (!strstr(err.text, cases[i].sentence))
            fail_msg("case %zu: %s", i, err.text);
        engine_fixture_release(&e);
        loaded_release(&loaded);
    }
}

static void metrics_are_shown(void **state _unused_)
{
    struct setup s;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    setup_init(&s, CONFIG(""));
    fixture_load(&s.e.f, NODE("one", "4", ""));
    engine_fixture_add(&s.e, POD("a", ""));
    engine_fixture_step(&s.e);
    settle(&s, 50);
    host_metrics_write(&out);
    assert_non_null(strstr(out.text, "# TYPE everything_calls_total counter"));
    assert_non_null(strstr(out.text, "everything_calls_total{point=\"filter\"} "));
    setup_release(&s);
}

/* ---- any field of any object ---- */
static void objects_are_read_by_path(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(
        &f, "{kind: Pod, metadata: {name: p, namespace: ns, labels: {a.b/c: d}}, spec: {hostNetwork: true, "
            "tolerations: [{key: k, operator: Exists}], containers: [{name: c, image: i, resources: "
            "{requests: {cpu: 1500m}}}]}}");
    const void *pod = f.last_pod->api;
    assert_true(host_read("Pod", pod, "metadata.name").text.len == 1);
    assert_int_equal(host_read("Pod", pod, "metadata.labels").len, 1);
    assert_memory_equal(host_read("Pod", pod, "metadata.labels[a.b/c]").text.ptr, "d", 1);
    assert_int_equal(host_read("Pod", pod, "spec.hostNetwork").number, 1);
    assert_int_equal(host_read("Pod", pod, "spec.containers").len, 1);
    assert_memory_equal(host_read("Pod", pod, "spec.containers[0].image").text.ptr, "i", 1);
    assert_int_equal(host_read("Pod", pod, "spec.containers[0].resources.requests[cpu]").milli, 1500);
    assert_memory_equal(host_read("Pod", pod, "spec.tolerations[0].operator").text.ptr, "Exists", 6);
    static const char *const nowhere[] = { "",
                                           ".",
                                           "spec.",
                                           "spec.nothing",
                                           "spec.containers[1].image",
                                           "spec[0]",
                                           "spec.containers[",
                                           "spec.containers[x].image",
                                           "metadata.labels[e]",
                                           "metadata.name.x",
                                           "metadata.name[0]",
                                           "spec.os" };
    for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
        assert_int_equal(host_read("Pod", pod, nowhere[i]).type, BERTH_ABSENT);
    assert_int_equal(host_read("Pot", pod, "metadata.name").type, BERTH_ABSENT);
    assert_int_equal(host_read("Pod", NULL, "metadata.name").type, BERTH_ABSENT);
    fixture_release(&f);
}

/* ---- rejected modules ---- */
static struct berth_status any_filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return berth_verdict(BERTH_SUCCESS);
}

static struct berth_status any_reserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    return berth_verdict(BERTH_SUCCESS);
}

static void any_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod, struct berth_node_view node)
{
    (void)cycle, (void)pod, (void)node;
}

static const struct berth_field outside[] = { { "x", BERTH_INT, 4, NULL, 0 }, { 0 } };
static const struct berth_field unknown[] = { { "x", (enum berth_field_kind)77, 0, NULL, 0 }, { 0 } };

static const struct berth_plugin good = { .name = "Good", .filter = any_filter };
static const struct berth_plugin nameless = { .filter = any_filter };
static const struct berth_plugin lazy = { .name = "Lazy" };
static const struct berth_plugin built_in = { .name = "NodeName", .filter = any_filter };
static const struct berth_plugin keeper = { .name = "Keeper", .reserve = any_reserve };
static const struct berth_plugin half = { .name = "Half", .filter = any_filter, .add_pod = any_pod };
static const struct berth_plugin wide = {
    .name = "Wide", .filter = any_filter, .args = outside, .args_size = 8
};
static const struct berth_plugin odd = {
    .name = "Odd", .filter = any_filter, .args = unknown, .args_size = 8
};

static const struct berth_plugin blind = { .name = "Blind",
                                           .filter = any_filter,
                                           .reads = (const char *const[]){ "spec.tolerations", "spec.colour",
                                                                           NULL } };

static void bad_modules_give_one_error(void **state _unused_)
{
    static const struct berth_host *host;
    static const struct berth_plugin *const goods[] = { &good, &good, NULL }, *const none[] = { NULL };
    static const struct berth_plugin *const singles[] = { &nameless, &lazy, &built_in, &keeper,
                                                          &half,     &wide, &odd,      &blind };
    const uint32_t size = offsetof(struct berth_module, revision), plugin = sizeof(struct berth_plugin),
                   table = sizeof(struct berth_host);
    const struct {
        struct berth_module module;
        const char *sentence;
    } cases[] = {
        { { BERTH_ABI + 1, size, plugin, table, &host, goods, 1 },
          "x.so: built for version 2 of the plugin ABI; this berth has version 1" },
        { { BERTH_ABI, size, plugin, table + 8, &host, goods, 1 },
          "x.so: built against a newer berth/plugin.h than this berth has" },
        { { BERTH_ABI, size, plugin + 8, table, &host, goods, 1 },
          "x.so: built against a newer berth/plugin.h than this berth has" },
        { { BERTH_ABI, size, plugin, table, &host, goods, 0 }, "x.so: holds no plugin" },
        { { BERTH_ABI, size, plugin, table, &host, none, 1 }, "x.so: plugin number 0 is NULL" },
        { { BERTH_ABI, size, plugin, table, &host, goods, 2 },
          "x.so: there is a plugin \"Good\" already, from x.so" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 0, 1 }, "x.so: holds a plugin without a name" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 1, 1 },
          "x.so: plugin \"Lazy\" takes part in no extension point" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 2, 1 },
          "x.so: there is a plugin \"NodeName\" already, built in" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 3, 1 },
          "x.so: plugin \"Keeper\" has reserve and no unreserve" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 4, 1 },
          "x.so: plugin \"Half\" has one of add_pod and remove_pod: each needs the other" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 5, 1 },
          "x.so: plugin \"Wide\" has an argument outside of its struct: is args_size right?" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 6, 1 },
          "x.so: plugin \"Odd\" has an argument of an unknown kind" },
        { { BERTH_ABI, size, plugin, table, &host, singles + 7, 1 },
          "x.so: plugin \"Blind\": reads: a pod has no field \"spec.colour\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct loaded loaded;
        struct error err = { "" };
        loaded_init(&loaded, &builtin_plugins);
        assert_true(loaded_add(&loaded, &cases[i].module, "x.so", &err) < 0);
        assert_string_equal(err.text, cases[i].sentence);
        loaded_release(&loaded);
    }
}

/* A module built against an older header has shorter structs: missing members are NULL. */
static void an_older_plugin_is_accepted(void **state _unused_)
{
    static const struct berth_host *host;
    static const struct berth_plugin *const goods[] = { &good };
    struct loaded loaded;
    struct error err = { "" };
    const struct berth_module module = { BERTH_ABI,
                                         offsetof(struct berth_module, revision),
                                         offsetof(struct berth_plugin, post_filter),
                                         64,
                                         &host,
                                         goods,
                                         1 };
    loaded_init(&loaded, &builtin_plugins);
    assert_int_equal(loaded_add(&loaded, &module, "old.so", &err), 0);
    assert_ptr_equal(host, &host_table);
    const struct plugin *plugin = loaded.registry.items[loaded.registry.len - 1];
    assert_string_equal(loaded_file(&loaded, plugin), "old.so");
    assert_int_equal(plugin_points(plugin), POINT_BIT(POINT_FILTER));
    loaded_release(&loaded);
}

/* Before TARGET_POD came, a rule about unscheduled pods was about the waiting pod itself, too. */
static void an_older_rule_includes_the_waiting_pod(void **state _unused_)
{
    static const struct berth_host *host;
    static const struct berth_event_rule about_pods[] = {
        { BERTH_EVENT_NODE, BERTH_ADD, NULL },
        { BERTH_EVENT_UNSCHEDULED_POD, BERTH_POD_LABEL, NULL },
        { BERTH_EVENT_PVC, BERTH_ADD, NULL },
        { 0 },
    };
    static const struct berth_plugin waits = { .name = "Waits", .filter = any_filter, .events = about_pods };
    static const struct berth_plugin *const plugins[] = { &waits };
    for (uint32_t revision = 2; revision <= 3; revision++) {
        struct loaded loaded;
        struct error err = { "" };
        struct berth_module module = { BERTH_ABI,
                                       sizeof(module),
                                       sizeof(struct berth_plugin),
                                       sizeof(struct berth_host),
                                       &host,
                                       plugins,
                                       1,
                                       .revision = revision,
                                       .event_rule_size = sizeof(struct berth_event_rule),
                                       .field_size = sizeof(struct berth_field) };
        loaded_init(&loaded, &builtin_plugins);
        assert_int_equal(loaded_add(&loaded, &module, "x.so", &err), 0);
        const struct event_rule *rules = loaded.registry.items[loaded.registry.len - 1]->events;
        assert_int_equal(rules[1].resource, EVENT_UNSCHEDULED_POD);
        assert_int_equal(rules[2].resource, revision == 2 ? EVENT_TARGET_POD : EVENT_PVC);
        assert_int_equal(rules[2].number, revision == 2 ? 1 : 2);
        assert_int_equal(rules[3].resource, revision == 2 ? EVENT_PVC : EVENT_POD);
        assert_int_equal(rules[revision == 2 ? 4 : 3].actions, 0);
        loaded_release(&loaded);
    }
}

static int make_folder(void **state _unused_)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state _unused_)
{
    static const char *const names[] = { "a.begun", "b.go", "c.go", "z.begun", "z.go" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void)
{
    static char name[] = "/tmp/berth-plugin-log-XXXXXX";
    struct error err;
    log_fd = mkstemp(name);
    unlink(name);
    if (log_fd < 0 || log_init(&(struct log_options){ .fd = log_fd }, &err) < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_slot_is_called),
        cmocka_unit_test(pods_are_ordered_and_narrowed_by_the_plugin),
        cmocka_unit_test(pre_enqueue_gates),
        cmocka_unit_test(a_thread_allows),
        cmocka_unit_test(permission_is_for_one_pod),
        cmocka_unit_test(a_thread_rejects),
        cmocka_unit_test(a_permit_without_an_answer_times_out),
        cmocka_unit_test(others_are_decided_while_pre_bind_blocks),
        cmocka_unit_test(a_failure_of_pre_bind_requeues_the_pod),
        cmocka_unit_test(work_outlives_its_pod),
        cmocka_unit_test(the_engine_ends_while_work_is_pending),
        cmocka_unit_test(one_pod_activates_another),
        cmocka_unit_test(hints_decide_which_pods_are_queued),
        cmocka_unit_test(post_filter_finds_victims_by_what_if),
        cmocka_unit_test(arguments_are_decoded),
        cmocka_unit_test(wrong_arguments_are_rejected_with_one_error),
        cmocka_unit_test(metrics_are_shown),
        cmocka_unit_test(objects_are_read_by_path),
        cmocka_unit_test(bad_modules_give_one_error),
        cmocka_unit_test(an_older_plugin_is_accepted),
        cmocka_unit_test(an_older_rule_includes_the_waiting_pod),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
