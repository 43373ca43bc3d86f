/* accessors.c: a plugin at every extension point that calls every function of the header there, with every value that
 * it can reach: what the callback got, what functions return for it, and the absent ones (NULL, no text, no row).
 *
 * test_accessors.c runs it while the watch changes or deletes the pod and the node; the counters at
 * the end are for it. Nothing that the functions return influences a decision.
 *
 *     test/hold: permit     Permit waits until the test allows the pod
 *                pre-bind   PreBind waits until the test sets accessors_go
 *     test/no: any value    Filter rejects every node, PostFilter nominates none */
#include "accessors_functions.h"

#include <unistd.h>

/* ---- for the test ---- */
#define SLOTS(X) \
    X(init) \
    X(release) \
    X(forget) \
    X(pre_enqueue) \
    X(less_self) \
    X(tick) \
    X(pre_filter) \
    X(add_pod) \
    X(remove_pod) \
    X(filter) \
    X(post_filter) \
    X(pre_score) \
    X(score) \
    X(normalize) \
    X(weigh) \
    X(observe) \
    X(filter_nodes) \
    X(score_nodes) \
    X(reserve) \
    X(unreserve) \
    X(permit) \
    X(pre_bind_pre_flight) \
    X(pre_bind) \
    X(bind) \
    X(post_bind) \
    X(hint)

enum slot {
#define X(name) SLOT_##name,
    SLOTS(X)
#undef X
        SLOT_COUNT
};

const char *const accessors_slots[SLOT_COUNT + 1] = {
#define X(name) #name,
    SLOTS(X)
#undef X
};
atomic_uint accessors_calls[SLOT_COUNT]; /* rounds through all functions */
atomic_uint accessors_late;              /* calls of other threads */
atomic_bool accessors_go;
/* In the last post_bind or unreserve: the pod's request of cpu, whether the model has it on the row that the callback
 * got, and whether the row has its node's name. */
int64_t accessors_request;
bool accessors_is_there, accessors_is_named;

/* ---- one round ---- */
static void add_info(struct here *h, const struct berth_pod_info *info)
{
    if (h->infos_len < INFOS_MAX)
        h->infos[h->infos_len++] = info;
}

static void add_object(struct here *h, const void *object)
{
    if (h->objects_len < INFOS_MAX)
        h->objects[h->objects_len++] = object;
}

static void add_row(struct here *h, uint32_t row)
{
    if (h->rows_len < LEN(h->rows))
        h->rows[h->rows_len++] = row;
}

/* A cluster that was kept from init() is one that the host gave out: the same one, and empty on worker threads. */
static void reach(struct here *h, struct berth_node_view view)
{
    static const uint32_t odd[] = { 0, 1, 2, 1000000, BERTH_ROW_NONE };
    h->clusters[1] = own->cluster;
    h->clusters[2] = h->cycle  ? berth_cycle_cluster(h->cycle)
                     : h->hint ? berth_hint_cluster(h->hint)
                               : own->cluster;
    if (h->cycle) {
        h->pod = berth_cycle_pod(h->cycle);
        h->arena = berth_cycle_arena(h->cycle);
        add_info(h, berth_cycle_info(h->cycle));
        add_object(h, berth_info_pod(berth_cycle_info(h->cycle)));
    }
    add_object(h, h->pod);
    add_object(h, NULL);
    add_info(h, NULL);
    h->names[1] = berth_object_namespace(h->pod);
    h->names[2] = berth_object_name(h->pod);
    h->names[3] = berth_text("a");
    h->names[4] = berth_text("");
    h->names[5] = berth_text("nothing");
    add_info(h, berth_find_pod(own->cluster, h->names[1], h->names[2]));
    for (size_t i = 0; i < LEN(odd); i++)
        add_row(h, odd[i]);
    h->views[0] = view;
    for (uint32_t i = 0; i < h->rows_len; i++)
        h->views[i + 1 < LEN(h->views) ? i + 1 : i] = berth_node(own->cluster, h->rows[i]);
    each_view(h, i)
    {
        struct berth_pod_infos pods = berth_node_pods(h->views[i]);
        for (size_t k = 0; k < pods.len; k++)
            add_info(h, pods.items[k]);
        add_object(h, berth_node_object(h->views[i]));
    }
}

static void call_all(enum slot slot, struct here *h, struct berth_node_view view)
{
    reach(h, view);
    for (size_t i = 0; i < LEN(functions); i++)
        functions[i].call(h);
    atomic_fetch_add(&accessors_calls[slot], 1);
}

static const struct berth_node_view no_view;
static void in_cycle(enum slot slot, struct berth_cycle *cycle, uint32_t row)
{
    struct here h = { .cycle = cycle };
    add_row(&h, row);
    call_all(slot, &h, berth_node(berth_cycle_cluster(cycle), row));
}

static struct berth_str order(struct berth_cycle *cycle, const char *label)
{
    return berth_object_label(berth_cycle_pod(cycle), label);
}

/* ---- the slots ---- */
static void *on_a_thread(void *context)
{
    struct self *self = context;
    struct here h = { 0 };
    while (!atomic_load(&self->ends)) {
        call_activate(&h), call_allow(&h), call_refuse(&h), call_allow_uid(&h), call_refuse_uid(&h);
        call_metric_get(&h), call_metric_add(&h), call_metric_set(&h), call_metric_observe(&h);
        call_log_text(&h), atomic_fetch_add(&accessors_late, 1);
        usleep(1000);
    }
    return NULL;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    struct here h = { .arena = env->arena };
    own = calloc(1, sizeof(*own));
    own->cluster = env->cluster;
    own->handle = env->handle;
    own->arena = env->arena;
    own->cpu = berth_resource(env->cluster, "cpu");
    *ret_self = own;
    call_all(SLOT_init, &h, no_view);
    berth_tick_every(env->handle, 1);
    return pthread_create(&own->thread, NULL, on_a_thread, own) ? berth_fail(err, "no thread") : 0;
}

static void release(void *self)
{
    struct here h = { 0 };
    atomic_store(&own->ends, true);
    pthread_join(own->thread, NULL);
    call_metric_get(&h), call_log_text(&h), call_activate(&h); /* the cluster may be gone */
    atomic_fetch_add(&accessors_calls[SLOT_release], 1);
    free(self);
    own = NULL;
}

static void forget(void *state)
{
    struct here h = { 0 };
    call_metric_get(&h), call_log_text(&h), call_activate(&h);
    atomic_fetch_add(&accessors_calls[SLOT_forget], 1);
    free(state);
}

static struct berth_status pre_enqueue(const void *self, const struct berth_pod *pod,
                                       struct berth_arena *arena)
{
    struct here h = { .pod = pod, .arena = arena };
    (void)self;
    call_all(SLOT_pre_enqueue, &h, no_view);
    return BERTH_OK;
}

static void tick(void *self, const struct berth_cluster *cluster, int64_t now)
{
    struct here h = { .cycle = NULL };
    if (self != own || cluster != own->cluster || now <= 0)
        abort();
    call_all(SLOT_tick, &h, no_view);
}

/* Not called: less_self takes its place. */
static bool less(const struct berth_pod_info *a, const struct berth_pod_info *b)
{
    (void)a, (void)b;
    abort();
}

static bool less_self(void *self, const struct berth_pod_info *a, const struct berth_pod_info *b)
{
    if (self != own)
        abort();
    struct here h = { .pod = berth_info_pod(a) };
    add_info(&h, a);
    add_info(&h, b);
    call_all(SLOT_less_self, &h, no_view);
    return berth_info_priority(a) > berth_info_priority(b);
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    (void)narrow;
    in_cycle(SLOT_pre_filter, cycle, 0);
    return BERTH_OK;
}

static void in_what_if(enum slot slot, struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node)
{
    struct here h = { .cycle = cycle };
    add_row(&h, node.row);
    if (pod)
        add_info(&h, pod);
    call_all(slot, &h, node);
}

static void add_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod, struct berth_node_view node)
{
    in_what_if(SLOT_add_pod, cycle, pod, node);
}

static void remove_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node)
{
    in_what_if(SLOT_remove_pod, cycle, pod, node);
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    in_what_if(SLOT_filter, cycle, NULL, node);
    return order(cycle, "test/no").ptr ? BERTH_REJECT(BERTH_UNSCHEDULABLE, "no") : BERTH_OK;
}

static struct berth_status post_filter(struct berth_cycle *cycle, struct berth_diagnosis *diagnosis,
                                       struct berth_post_filter_result *ret)
{
    struct here h = { .cycle = cycle, .diagnosis = diagnosis };
    (void)ret;
    add_row(&h, 0);
    call_all(SLOT_post_filter, &h, no_view);
    return berth_verdict(BERTH_UNSCHEDULABLE);
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    in_cycle(SLOT_pre_score, cycle, 0);
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    in_what_if(SLOT_score, cycle, NULL, node);
    *ret = 1;
    return BERTH_OK;
}

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    (void)scores, (void)len;
    in_cycle(SLOT_normalize, cycle, 0);
}

static void filter_nodes(struct berth_cycle *cycle, struct berth_rows rows, bool *ret_fits)
{
    in_cycle(SLOT_filter_nodes, cycle, rows.len ? rows.items[0] : BERTH_ROW_NONE);
    for (uint32_t i = 0; i < rows.len; i++)
        ret_fits[i] = !order(cycle, "test/no").ptr;
}

static void score_nodes(struct berth_cycle *cycle, struct berth_rows rows, int64_t *ret)
{
    in_cycle(SLOT_score_nodes, cycle, rows.len ? rows.items[0] : BERTH_ROW_NONE);
    for (uint32_t i = 0; i < rows.len; i++)
        ret[i] = 1;
}

static void weigh(struct berth_cycle *cycle)
{
    struct here h = { .cycle = cycle, .weighs = true };
    call_all(SLOT_weigh, &h, no_view);
}

static void observe(void *self, const struct berth_observation *what)
{
    struct here h = { .observation = what, .pod = berth_info_pod(berth_observed_pod(what)) };
    (void)self;
    add_info(&h, berth_observed_pod(what));
    call_all(SLOT_observe, &h, no_view);
}

static struct berth_status reserve(struct berth_cycle *cycle, uint32_t row)
{
    in_cycle(SLOT_reserve, cycle, row);
    return BERTH_OK;
}

static void note_end(struct berth_cycle *cycle, uint32_t row)
{
    const struct berth_pod_info *info = berth_cycle_info(cycle);
    accessors_request = berth_pod_request(info, own->cpu);
    accessors_is_there = berth_info_row(info) == row;
    accessors_is_named = berth_is(berth_node_name(berth_node(berth_cycle_cluster(cycle), row)), "a");
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    in_cycle(SLOT_unreserve, cycle, row);
    note_end(cycle, row);
}

static struct berth_status permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    in_cycle(SLOT_permit, cycle, row);
    *ret_timeout_ms = 60000;
    return berth_is(order(cycle, "test/hold"), "permit") ? berth_verdict(BERTH_WAIT) : BERTH_OK;
}

static struct berth_status pre_bind_pre_flight(struct berth_cycle *cycle, uint32_t row)
{
    in_cycle(SLOT_pre_bind_pre_flight, cycle, row);
    return BERTH_OK;
}

static void on_worker(enum slot slot, struct berth_cycle *cycle, struct berth_str node)
{
    struct here h = { .cycle = cycle };
    use(node);
    call_all(slot, &h, no_view);
}

static struct berth_status pre_bind(struct berth_cycle *cycle, struct berth_str node)
{
    on_worker(SLOT_pre_bind, cycle, node);
    while (berth_is(order(cycle, "test/hold"), "pre-bind") && !atomic_load(&accessors_go))
        usleep(1000);
    on_worker(SLOT_pre_bind, cycle, node);
    return BERTH_OK;
}

static struct berth_status bind(struct berth_cycle *cycle, struct berth_str node)
{
    on_worker(SLOT_bind, cycle, node);
    return berth_verdict(BERTH_SKIP);
}

static void post_bind(struct berth_cycle *cycle, uint32_t row)
{
    in_cycle(SLOT_post_bind, cycle, row);
    note_end(cycle, row);
}

static enum berth_hint_answer hint(const struct berth_hint *hint, const struct berth_pod *pod,
                                   const struct berth_event *event)
{
    struct here h = { .hint = hint, .pod = pod, .event = event };
    call_all(SLOT_hint, &h, no_view);
    return BERTH_HINT_QUEUE;
}

static const struct berth_event_rule events[] = { { BERTH_EVENT_ANY, BERTH_ALL_ACTIONS, hint }, { 0 } };

static const struct args {
    bool unused;
} defaults;
static const struct berth_field fields[] = { BERTH_FIELD("unused", BERTH_BOOL, struct args, unused), { 0 } };
static const char *const reads[] = { "metadata.labels", NULL };
static const char *const fetched[] = { "NodeMetrics", "PodMetrics", "v1/ConfigMap", NULL };

static const struct berth_plugin accessors = {
    .name = "Accessors",
    .doc = "Calls everything.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .kinds = fetched,
#define X(name) .name = name,
    X(init) X(release) X(forget) X(pre_enqueue) X(less) X(less_self) X(tick) X(pre_filter) X(add_pod)
        X(remove_pod) X(filter) X(post_filter) X(pre_score) X(score) X(normalize) X(weigh) X(observe)
            X(filter_nodes) X(score_nodes) X(reserve) X(unreserve) X(permit) X(pre_bind_pre_flight)
                X(pre_bind) X(bind) X(post_bind) X(events) X(reads)
#undef X
};

BERTH_PLUGINS(&accessors)
