/* Pods between Reserve and Bind as a running scheduler shows them, and what remains when one of them is deleted,
 * changed or bound by another scheduler. */
#include "unit/engine/fake_host.h"

#include "debug/waiting.h"
#include "engine/binding.h"

/* ---- plugins that make pods wait ---- */
static uint32_t reserved, unreserved, bound;
static bool prepared;

static struct status reserve(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    reserved++;
    return STATUS_OK;
}

static void unreserve(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    unreserved++;
}

static struct status guard_permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row;
    *ret_timeout_ms = 5000;
    return str_is(cycle->pod->meta.name, "next") ? STATUS_OK : (struct status){ .code = STATUS_WAIT };
}

static struct status gate_permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    struct status status = guard_permit(cycle, row, ret_timeout_ms);
    *ret_timeout_ms = 9000;
    return status;
}

static struct status prepare(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    return prepared ? STATUS_OK : (struct status){ .code = STATUS_WAIT };
}

static void was_bound(struct cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
    bound++;
}

extern const struct plugin plugin_priority_sort, plugin_default_binder, plugin_node_resources_fit;
static const struct plugin plugin_guard = { .name = "Guard",
                                            .reserve = reserve,
                                            .unreserve = unreserve,
                                            .permit = guard_permit,
                                            .post_bind = was_bound };
static const struct plugin plugin_gate = { .name = "Gate", .permit = gate_permit, .pre_bind = prepare };
static const struct plugin *const plugins[] = { &plugin_priority_sort, &plugin_node_resources_fit,
                                                &plugin_guard, &plugin_gate, &plugin_default_binder };
static const struct registry registry = { plugins, ARRAY_SIZE(plugins) };
#define CONFIG \
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" \
    "profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, " \
    "{name: NodeResourcesFit}, {name: Guard}, {name: Gate}, {name: DefaultBinder}]}}}]"

static void begin(struct fake_host *h)
{
    reserved = unreserved = bound = 0;
    prepared = false;
    host_begin(h, CONFIG, &registry);
    fixture_load(&h->e.f, NODE("a", "1"));
    fixture_load(&h->e.f, POD("p", "1", ""));
    host_settle(h);
    while (host_open(h, EFFECT_POD_STATUS)) /* the nomination */
        host_answer(h, host_wants(h, EFFECT_POD_STATUS), ANSWER_DONE);
}

/* ---- the view ---- */
static yyjson_doc *look(const struct fake_host *h, const char *only, size_t limit)
{
    struct strbuf out = { 0 };
    struct view_filter filter = { .limit = limit };
    const char *slash = strchr(only, '/');
    if (slash) {
        filter.namespace = (struct str){ only, (uint32_t)(slash - only) };
        filter.name = str_from(slash + 1);
    }
    waiting_write(&h->e.engine, &filter, h->e.now_ns, &out);
    yyjson_doc *doc = yyjson_read(out.text, out.len, 0);
    assert_non_null(doc);
    strbuf_release(&out);
    return doc;
}

static yyjson_val *at(yyjson_doc *doc, const char *pointer)
{
    yyjson_val *val = yyjson_doc_ptr_get(doc, pointer);
    if (!val)
        fail_msg("there is no %s", pointer);
    return val;
}

/* The first pod's stage, and the plugins that it waits for: "Guard 3.5, Gate 7.5". */
static void assert_shown(const struct fake_host *h, const char *stage, const char *waits_for)
{
    yyjson_doc *doc = look(h, "", 10);
    struct strbuf text = { 0 };
    size_t i, len;
    yyjson_val *wait;
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/stage")), stage);
    yyjson_arr_foreach(at(doc, "/pods/0/waitsFor"), i, len, wait) {
        strbuf_puts(&text, i ? ", " : "");
        strbuf_puts(&text, yyjson_get_str(yyjson_obj_get(wait, "plugin")));
        if (yyjson_obj_get(wait, "secondsLeft"))
            strbuf_printf(&text, " %g", yyjson_get_num(yyjson_obj_get(wait, "secondsLeft")));
    }
    assert_string_equal(text.len ? text.text : "", waits_for);
    yyjson_doc_free(doc);
    strbuf_release(&text);
}

static void a_pod_is_shown_in_each_stage(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    struct pod_binding *binding = binding_find(&h.e.engine, fixture_pod(&h.e.f, "p")->api);
    h.e.now_ns += 1500 * MS;
    yyjson_doc *doc = look(&h, "", 10);
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/namespace")), "default");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/name")), "p");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/scheduler")), "default-scheduler");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/node")), "a");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/since")), "1970-01-01T00:16:40Z");
    assert_true(yyjson_get_num(at(doc, "/pods/0/seconds")) == 1.5);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/waiting for permission")), 1);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/binding")), 0);
    yyjson_doc_free(doc);
    assert_shown(&h, "waiting for permission", "Guard 3.5, Gate 7.5");
    binding_event(binding, &(struct binding_event){ BINDING_ON_ALLOWED, h.e.now_ns, "Guard" });
    assert_shown(&h, "waiting for permission", "Gate 7.5");
    binding_event(binding, &(struct binding_event){ BINDING_ON_ALLOWED, h.e.now_ns, "Gate" });
    assert_shown(&h, "preparing", "Gate");
    prepared = true;
    h.e.engine.cluster->storage_version++; /* objects that PreBind plugins read have changed */
    engine_tick(&h.e.engine, h.e.now_ns);
    assert_shown(&h, "binding", "DefaultBinder");
    host_answer(&h, host_wants(&h, EFFECT_BIND), ANSWER_DONE);
    doc = look(&h, "", 10);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 0);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/binding")), 0);
    yyjson_doc_free(doc);
    assert_int_equal(unreserved, 0);
    assert_int_equal(bound, 1);
    host_end(&h);
}

static void some_of_many_are_shown(void **state)
{
    (void)state;
    struct fake_host h;
    begin(&h);
    fixture_load(&h.e.f, NODE("b", "9"));
    for (int i = 0; i < 5; i++) {
        h.e.now_ns += SECOND / 10;
        fixture_loadf(&h.e.f, "{kind: Pod, metadata: {name: q%d, uid: u%d}, spec: {containers: [{name: c}]}}",
                      i, i);
        host_settle(&h);
    }
    yyjson_doc *doc = look(&h, "", 3);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 3);
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/name")),
                        "p"); /* the longest waiting pod comes first */
    assert_string_equal(yyjson_get_str(at(doc, "/pods/2/name")), "q1");
    assert_int_equal(yyjson_get_int(at(doc, "/left")), 3);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/waiting for permission")), 6);
    yyjson_doc_free(doc);
    static const struct {
        const char *only;
        size_t found;
    } cases[] = { { "default/q3", 1 }, { "default/q9", 0 }, { "other/q3", 0 }, { "other/", 0 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        doc = look(&h, cases[i].only, 3);
        assert_int_equal(yyjson_arr_size(at(doc, "/pods")), cases[i].found);
        assert_int_equal(yyjson_get_int(at(doc, "/left")), 0);
        yyjson_doc_free(doc);
    }
    host_end(&h);
}

/* ---- events while a pod waits ---- */
enum event_kind {
    REMOVED,
    UPDATED,
    NODE_GOES,
    NODE_GOES_AND_COMES,
    NODE_AND_POD_GO,
    TIME_IS_UP,
    IS_PREEMPTED
};

static const struct event_case {
    const char *what;
    enum event_kind event_kind;
    const char *pod; /* UPDATED */
    uint32_t unreserved, bound;
    size_t still_waiting; /* whether p still waits */
    int64_t cpu_on_a;     /* that p uses */
    enum queue_place place, next;
} happenings[] = {
    { "deleted", REMOVED, NULL, 1, 0, 0, 0, QUEUE_NOWHERE, QUEUE_ACTIVE },
    { "being deleted", UPDATED, POD_WITH("p", "2", "1", ", deletionTimestamp: '2026-01-01T00:00:00Z'", ""), 1,
      0, 0, 0, QUEUE_UNSCHEDULABLE, QUEUE_ACTIVE },
    { "another label", UPDATED, POD_WITH("p", "2", "1", ", labels: {a: b}", ""), 0, 0, 1, 1000,
      QUEUE_IN_FLIGHT, QUEUE_UNSCHEDULABLE },
    { "bound to its node by another scheduler", UPDATED, POD_WITH("p", "2", "1", "", ", nodeName: a"), 0, 1,
      0, 1000, QUEUE_NOWHERE, QUEUE_UNSCHEDULABLE },
    { "bound elsewhere", UPDATED, POD_WITH("p", "2", "1", "", ", nodeName: b"), 1, 0, 0, 0, QUEUE_NOWHERE,
      QUEUE_ACTIVE },
    { "another pod of that name", UPDATED,
      "{kind: Pod, metadata: {name: p, uid: other}, spec: {nodeName: b, containers: [{name: c}]}}", 1, 0, 0,
      0, QUEUE_NOWHERE, QUEUE_ACTIVE },
    { "its node goes", NODE_GOES, NULL, 0, 0, 1, 0, QUEUE_IN_FLIGHT, QUEUE_UNSCHEDULABLE },
    { "its node goes and comes", NODE_GOES_AND_COMES, NULL, 0, 0, 1, 1000, QUEUE_IN_FLIGHT, QUEUE_ACTIVE },
    { "its node goes, and then the pod", NODE_AND_POD_GO, NULL, 1, 0, 0, 0, QUEUE_NOWHERE, QUEUE_ACTIVE },
    { "the time is up", TIME_IS_UP, NULL, 1, 0, 0, 0, QUEUE_UNSCHEDULABLE, QUEUE_ACTIVE },
    { "preempted", IS_PREEMPTED, NULL, 1, 0, 0, 0, QUEUE_ERROR_BACKOFF, QUEUE_ACTIVE },
};

static void apply_event(struct fake_host *h, const struct event_case *test)
{
    struct engine *engine = &h->e.engine;
    struct pod_info *pod = fixture_pod(&h->e.f, "p");
    int64_t now_ns = h->e.now_ns;
    enum event_kind event_kind = test->event_kind;
    if (event_kind == UPDATED)
        fixture_load(&h->e.f, test->pod);
    if (event_kind == NODE_GOES || event_kind == NODE_GOES_AND_COMES || event_kind == NODE_AND_POD_GO)
        engine_remove_object(engine, KIND_NODE, STR(""), STR("a"), now_ns);
    if (event_kind == NODE_GOES_AND_COMES)
        fixture_load(&h->e.f, NODE("a", "1"));
    if (event_kind == REMOVED || event_kind == NODE_AND_POD_GO)
        engine_remove_pod(engine, pod, now_ns);
    if (event_kind == IS_PREEMPTED)
        assert_true(
            binding_event(binding_find(engine, pod->api),
                          &(struct binding_event){ BINDING_ON_PREEMPTED, now_ns, "DefaultPreemption" }));
    if (event_kind == TIME_IS_UP)
        engine_tick(engine, now_ns + 5 * SECOND);
}

static enum queue_place place_of(const struct fake_host *h, const char *name)
{
    const struct pod_info *pod = cluster_find_pod(&h->e.f.cluster, STR("default"), str_from(name));
    const struct queued_pod *entry = pod ? queue_find(&h->e.engine.queue, pod) : NULL;
    return entry ? entry->place : QUEUE_NOWHERE;
}

/* Resources, reservations, the queue and the list are right after each event, and all memory is freed. */
static void nothing_is_left_of_a_pod_that_waited(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(happenings); i++) {
        const struct event_case *test = &happenings[i];
        struct fake_host h;
        begin(&h);
        fixture_load(&h.e.f, POD("next", "1", "")); /* waits for the cpu */
        host_settle(&h);
        assert_int_equal(place_of(&h, "next"), QUEUE_UNSCHEDULABLE);
        h.e.now_ns += 4 * SECOND;
        apply_event(&h, test);
        uint32_t row = cluster_row(&h.e.f.cluster, STR("a"));
        int64_t cpu = row == ROW_NONE ? 0 : h.e.f.cluster.col.used[RES_CPU][row];
        yyjson_doc *doc = look(&h, "default/p", 9);
        size_t shown = yyjson_arr_size(at(doc, "/pods"));
        uint32_t waiting = h.e.engine.bindings_at[BINDING_PERMIT];
        if (unreserved != test->unreserved || bound != test->bound || shown != test->still_waiting ||
            waiting != test->still_waiting || h.e.engine.due.items.len != test->still_waiting ||
            cpu != test->cpu_on_a || place_of(&h, "p") != test->place || place_of(&h, "next") != test->next)
            fail_msg("%s: unreserved %u, bound %u, shown %zu, waiting %u, cpu %lld, p is %s, next is %s",
                     test->what, unreserved, bound, shown, waiting, (long long)cpu,
                     queue_place_names[place_of(&h, "p")], queue_place_names[place_of(&h, "next")]);
        yyjson_doc_free(doc);
        engine_tick(&h.e.engine, h.e.now_ns);
        assert_int_equal(h.e.engine.ended.len, 0);
        host_end(&h);
        assert_true(unreserved + bound <= reserved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pod_is_shown_in_each_stage),
        cmocka_unit_test(some_of_many_are_shown),
        cmocka_unit_test(nothing_is_left_of_a_pod_that_waited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
