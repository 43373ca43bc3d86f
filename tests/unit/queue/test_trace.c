/* The queue, compared with recorded runs of kube-scheduler's: the same calls at the same times move the same pods.
 *
 * trace.jsonl, and trace_unpopped.jsonl without SchedulerPopFromBackoffQ: each line is a call, with the place of every
 * pod after it, as place code, attempts, rejections and consecutive errors ("B3.2.0"); "p1*": p1 is in flight. A line
 * with "start" begins a run. BERTH_TRACE names another file. */
#include "plugins.h"

#include "codec/doc.h"

enum { PODS_MAX = 32 };

struct slot {
    char name[8];
    struct pod_info *pod;     /* known to the cluster */
    struct queued_pod *entry; /* in flight */
};

struct run {
    struct fixture f;
    struct queue queue;
    struct slot slots[PODS_MAX];
    size_t len, line, uids, calls;
    bool on;
    int minor;
    bool unpopped; /* without SchedulerPopFromBackoffQ */
    int64_t now_ns;
};

static void run_end(struct run *run)
{
    if (!run->on)
        return;
    for (size_t i = 0; i < run->len; i++)
        if (run->slots[i].entry)
            queue_done(&run->queue, run->slots[i].entry);
    queue_release(&run->queue);
    fixture_release(&run->f);
    run->on = false;
    run->len = 0;
}

static void run_begin(struct run *run, int64_t at_ms)
{
    run_end(run);
    if (run->minor == 36)
        FIXTURE_AS(&run->f, 36, NULL, TEST_PLUGINS);
    else
        FIXTURE_AS(&run->f, run->minor, NULL, TEST_PLUGINS_EXPLICIT);
    run->f.cluster.features.enabled[FEATURE_SchedulerPopFromBackoffQ] = !run->unpopped;
    struct queue_options options = test_options(&run->f, at_ms * 1000000);
    queue_init(&run->queue, &options);
    run->on = true;
}

static struct slot *slot_of(struct run *run, const char *name)
{
    for (size_t i = 0; i < run->len; i++)
        if (strcmp(run->slots[i].name, name) == 0)
            return &run->slots[i];
    assert_true(run->len < PODS_MAX && strlen(name) < sizeof(run->slots[0].name));
    struct slot *slot = &run->slots[run->len++];
    *slot = (struct slot){ 0 };
    memcpy(slot->name, name, strlen(name) + 1);
    return slot;
}

static const char *text_of(yyjson_val *call, const char *key)
{
    const char *text = yyjson_get_str(yyjson_obj_get(call, key));
    return text ? text : "";
}

/* A pod as the recorder creates it. */
static struct pod *make_pod(struct run *run, yyjson_val *call, const char *name, struct str uid,
                            int32_t priority)
{
    struct arena *arena = &run->f.arena;
    struct pod *pod = arena_new(arena, struct pod);
    bool closed = yyjson_get_bool(yyjson_obj_get(call, "closed"));
    struct pair *labels = arena_array(arena, struct pair, 2);
    labels[0] = (struct pair){ STR("app"), arena_str(arena, str_from(text_of(call, "app"))) };
    labels[1] = (struct pair){ STR("gate"), STR("closed") };
    pod->meta.name = arena_str(arena, str_from(name));
    pod->meta.namespace = STR("default");
    pod->meta.uid = uid;
    pod->meta.labels.items = labels;
    pod->meta.labels.len = closed ? 2 : 1;
    pod->spec.scheduler_name = STR("default-scheduler");
    pod->spec.priority = (struct opt_int32){ true, priority };
    if (yyjson_get_bool(yyjson_obj_get(call, "tolerate"))) {
        pod->spec.tolerations.items = arena_new(arena, struct toleration);
        pod->spec.tolerations.items[0].operator= STR("Exists");
        pod->spec.tolerations.len = 1;
    }
    return pod;
}

/* ---- calls ---- */
static void do_add(struct run *run, yyjson_val *call, struct slot *slot)
{
    struct status gate;
    struct str uid = arena_printf(&run->f.arena, "u%zu", ++run->uids);
    int32_t priority = (int32_t)yyjson_get_int(yyjson_obj_get(call, "priority"));
    slot->pod = cluster_add_pod(&run->f.cluster, make_pod(run, call, slot->name, uid, priority));
    queue_add(&run->queue, slot->pod, 0, run->now_ns, &gate);
}

static void do_update(struct run *run, yyjson_val *call, struct slot *slot)
{
    struct pod_info *before = slot->pod;
    pod_info_ref(before);
    slot->pod = cluster_add_pod(&run->f.cluster,
                                make_pod(run, call, slot->name, before->api->meta.uid, before->priority));
    queue_update(&run->queue, before, slot->pod, 0, run->now_ns);
    pod_info_unref(&run->f.cluster, before);
}

static void do_delete(struct run *run, yyjson_val *call, struct slot *slot)
{
    (void)call;
    queue_remove(&run->queue, slot->pod);
    cluster_remove_pod(&run->f.cluster, slot->pod);
    slot->pod = NULL;
}

static void do_pop(struct run *run, yyjson_val *call, struct slot *slot)
{
    (void)call;
    struct queued_pod *entry = queue_pop(&run->queue);
    if (!slot != !entry || (entry && entry->pod != slot->pod))
        fail_msg("line %zu: popped %s, want %s", run->line, entry ? entry->pod->api->meta.name.ptr : "no pod",
                 slot ? slot->name : "no pod");
    if (slot)
        slot->entry = entry;
}

static void do_requeue(struct run *run, yyjson_val *call, struct slot *slot)
{
    uint64_t unschedulable = 0, pending = 0;
    for (const char *by = text_of(call, "by"); *by; by++)
        unschedulable |= *by == 'A' ? ALPHA : *by == 'B' ? BETA : GAMMA;
    pending = unschedulable & GAMMA;
    queue_requeue(&run->queue, slot->entry, unschedulable, pending, run->now_ns);
    slot->entry = NULL;
}

static void do_done(struct run *run, yyjson_val *call, struct slot *slot)
{
    queue_done(&run->queue, slot->entry);
    slot->entry = NULL;
    if (slot->pod)
        do_delete(run, call, slot);
}

static void do_activate(struct run *run, yyjson_val *call, struct slot *slot)
{
    (void)call;
    queue_activate(&run->queue, slot->pod, run->now_ns);
}

static const struct {
    const char *name;
    void (*run)(struct run *run, yyjson_val *call, struct slot *slot);
} calls[] = {
    { "add", do_add },         { "update", do_update }, { "delete", do_delete },     { "pop", do_pop },
    { "requeue", do_requeue }, { "done", do_done },     { "activate", do_activate },
};

static const struct {
    const char *name;
    enum event_resource resource;
    uint32_t actions;
} events[] = {
    { "node add", EVENT_NODE, ACTION_ADD },
    { "node label", EVENT_NODE, ACTION_NODE_LABEL },
    { "node taint", EVENT_NODE, ACTION_NODE_TAINT },
    { "node delete", EVENT_NODE, ACTION_DELETE },
    { "node condition", EVENT_NODE, ACTION_NODE_CONDITION },
    { "pod delete", EVENT_ASSIGNED_POD, ACTION_DELETE },
    { "pod add", EVENT_ASSIGNED_POD, ACTION_ADD },
};

static void do_event(struct run *run, yyjson_val *call, enum event_resource resource, uint32_t actions)
{
    struct node *node = arena_new(&run->f.arena, struct node);
    struct pod *pod = make_pod(run, call, "other", STR("other"), 0);
    yyjson_val *priority = yyjson_obj_get(call, "priority");
    struct queue_filter only = { .has_priority_max = priority,
                                 .priority_max = (int32_t)yyjson_get_int(priority) };
    node->meta = pod->meta; /* both have the app */
    pod->spec.node_name = STR("n");
    const void *object = resource == EVENT_NODE ? (const void *)node : pod;
    struct cluster_event event = { .resource = resource, .actions = actions };
    event.before = actions == ACTION_ADD ? NULL : object;
    event.after = actions == ACTION_DELETE ? NULL : object;
    queue_event(&run->queue, &event, &only, run->now_ns);
}

/* ---- places ---- */
static void check_pod(const struct run *run, const struct slot *slot, yyjson_val *want)
{
    static const char codes[QUEUE_PLACE_COUNT] = { [QUEUE_ACTIVE] = 'A',
                                                   [QUEUE_BACKOFF] = 'B',
                                                   [QUEUE_ERROR_BACKOFF] = 'E',
                                                   [QUEUE_UNSCHEDULABLE] = 'U',
                                                   [QUEUE_GATED] = 'G' };
    const struct queued_pod *entry = slot->pod ? queue_find(&run->queue, slot->pod) : NULL;
    char got[64] = "", flying[16];
    if (entry && codes[entry->place])
        snprintf(got, sizeof(got), "%c%u.%u.%u", codes[entry->place], entry->attempts, entry->rejections,
                 entry->errors_in_a_row);
    if (strcmp(got, text_of(want, slot->name)) != 0)
        fail_msg("line %zu: %s is \"%s\", want \"%s\"", run->line, slot->name, got,
                 text_of(want, slot->name));
    snprintf(flying, sizeof(flying), "%s*", slot->name);
    assert_int_equal(slot->entry != NULL, text_of(want, flying)[0] == 'F');
}

static void check_places(struct run *run, yyjson_val *call)
{
    static size_t counts[LABEL_COUNT];
    size_t in_flight = 0;
    yyjson_val *want = yyjson_obj_get(call, "want");
    for (size_t i = 0; i < run->len; i++)
        check_pod(run, &run->slots[i], want);
    memset(counts, 0, sizeof(counts));
    queue_count_flight_events(&run->queue, counts);
    for (size_t i = 0; i < LABEL_COUNT; i++)
        in_flight += counts[i];
    if (in_flight != yyjson_get_uint(yyjson_obj_get(call, "events")))
        fail_msg("line %zu: %zu events remembered, want %s", run->line, in_flight, "what the line says");
}

static void do_call(struct run *run, yyjson_val *call)
{
    const char *name = text_of(call, "op"), *pod = text_of(call, "pod");
    int64_t at_ms = yyjson_get_sint(yyjson_obj_get(call, "at"));
    if (yyjson_obj_get(call, "start")) {
        run_begin(run, yyjson_get_sint(yyjson_obj_get(call, "start")));
        return;
    }
    run->now_ns = at_ms * 1000000;
    for (int64_t due_ns; (due_ns = queue_next_backoff(&run->queue)) <= run->now_ns;)
        queue_tick(&run->queue, due_ns);
    queue_tick(&run->queue, run->now_ns);
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            calls[i].run(run, call, *pod ? slot_of(run, pod) : NULL);
    for (size_t i = 0; i < ARRAY_SIZE(events); i++)
        if (strcmp(events[i].name, name) == 0)
            do_event(run, call, events[i].resource, events[i].actions);
    check_places(run, call);
    run->calls++;
}

static void check_file_as(const char *path, int minor, bool unpopped)
{
    struct run run = { .minor = minor, .unpopped = unpopped };
    struct doc_stream stream;
    struct doc doc;
    struct error err;
    int r;
    if (doc_stream_open(&stream, path, &err) < 0)
        fail_msg("%s", err.text);
    while ((r = doc_stream_next(&stream, &doc, &err)) > 0) {
        run.line++;
        do_call(&run, doc.root);
        doc_release(&doc);
    }
    if (r < 0)
        fail_msg("%s", err.text);
    run_end(&run);
    doc_stream_release(&stream);
    assert_true(run.calls > 1000);
}

/* Both releases gave the same recording. */
static void check_file(const char *path, bool unpopped)
{
    check_file_as(path, 36, unpopped);
    check_file_as(path, 37, unpopped);
}

static void test_recorded(void **state)
{
    (void)state;
    const char *path = getenv("BERTH_TRACE");
    check_file(path ? path : "tests/unit/queue/trace.jsonl", false);
}

static void test_unpopped(void **state)
{
    (void)state;
    check_file("tests/unit/queue/trace_unpopped.jsonl", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_recorded), cmocka_unit_test(test_unpopped) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
