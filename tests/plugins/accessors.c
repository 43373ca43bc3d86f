/* accessors.c: a plugin at every extension point that calls every function of the header there, with every value that
 * it can reach: what the callback got, what functions return for it, and the absent ones (NULL, no text, no row).
 *
 * The table of functions is made from the header's own list: a function that is added there and has no call_NAME() here
 * does not compile. test_accessors.c runs it while the watch changes or deletes the pod and the node; the counters at
 * the end are for it. Nothing that the functions return influences a decision.
 *
 *     test/hold: permit     Permit waits until the test allows the pod
 *                pre-bind   PreBind waits until the test sets accessors_go
 *     test/no: any value    Filter rejects every node, PostFilter nominates none */
#include <berth/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
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

/* ---- what a callback can reach ---- */
struct self {
    const struct berth_cluster *cluster;
    const struct berth_handle *handle;
    struct berth_arena *arena;
    uint32_t cpu;
    pthread_t thread;
    atomic_bool ends;
};
static struct self *own; /* of the one profile; for slots without data */
enum { INFOS_MAX = 64, ROWS_MAX = 8 };

struct here {
    struct berth_cycle *cycle; /* these may be NULL */
    struct berth_diagnosis *diagnosis;
    const struct berth_hint *hint;
    const struct berth_event *event;
    const struct berth_pod *pod;
    struct berth_arena *arena;
    const struct berth_cluster *clusters[3];
    struct berth_node_view views[ROWS_MAX + 4];
    uint32_t rows[ROWS_MAX + 4], rows_len;
    const struct berth_pod_info *infos[INFOS_MAX];
    uint32_t infos_len;
    const void *objects[INFOS_MAX];
    uint32_t objects_len;
    struct berth_str names[6];
};

static _Atomic uint64_t sum; /* of everything that was read: the calls are not optimized away */

static void use(struct berth_str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        sum += (unsigned char)text.ptr[i];
}

static void use_status(struct berth_status status)
{
    sum += (uint64_t)status.code;
    for (uint32_t i = 0; i < status.len; i++)
        use(status.reasons[i]);
}

static void use_rows(struct berth_rows rows)
{
    for (uint32_t i = 0; i < rows.len; i++)
        sum += rows.items[i];
}

static bool use_object(void *context, const void *object)
{
    (void)context;
    use(berth_object_name(object));
    return true;
}

static bool use_info(void *context, const struct berth_pod_info *info)
{
    (void)context;
    use(berth_object_name(berth_info_pod(info)));
    sum += (uint64_t)berth_pod_request(info, 0);
    return true;
}

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define each_of(list, len, at) for (size_t at = 0; at < (len); at++)
#define each_cluster(h, at) each_of((h)->clusters, LEN((h)->clusters), at)
#define each_view(h, at) each_of((h)->views, LEN((h)->views), at)
#define each_info(h, at) each_of((h)->infos, (h)->infos_len, at)
#define each_object(h, at) each_of((h)->objects, (h)->objects_len, at)
#define each_name(h, at) each_of((h)->names, LEN((h)->names), at)

static const uint32_t resources[] = { 0, 1, 2, 3, 4, 5, 99, UINT32_MAX };
static const char *const kinds[] = {
    "Pod", "Node", "PersistentVolumeClaim", "ResourceClaim", "Secret", "v1/ConfigMap", "", NULL
};
static const char *const keys[] = { "app", "kubernetes.io/hostname", "", NULL };

/* ---- the cycle ---- */
static void call_cycle_pod(const struct here *h)
{
    if (h->cycle)
        use_object(NULL, berth_cycle_pod(h->cycle));
}

static void call_cycle_info(const struct here *h)
{
    if (h->cycle)
        use_info(NULL, berth_cycle_info(h->cycle));
}

static void call_cycle_cluster(const struct here *h)
{
    if (h->cycle)
        use_rows(berth_nodes(berth_cycle_cluster(h->cycle)));
}

static void call_cycle_self(const struct here *h)
{
    if (h->cycle && berth_cycle_self(h->cycle) != own)
        abort();
}

static void call_cycle_state(const struct here *h)
{
    if (h->cycle && !*berth_cycle_state(h->cycle))
        *berth_cycle_state(h->cycle) = malloc(1);
}

static void call_cycle_arena(const struct here *h)
{
    if (h->cycle)
        memset(berth_alloc(berth_cycle_arena(h->cycle), 8), 1, 8);
}

static void call_cycle_cancelled(const struct here *h)
{
    sum += h->cycle && berth_cycle_cancelled(h->cycle);
}

static void call_alloc(const struct here *h)
{
    static const size_t sizes[] = { 0, 1, 100, 5000 };
    for (size_t i = 0; h->arena && i < LEN(sizes); i++)
        memset(berth_alloc(h->arena, sizes[i]), 1, sizes[i]);
}

static void call_reason(const struct here *h)
{
    if (!h->arena)
        return;
    each_name(h, i) use_status(berth_reason(h->arena, BERTH_UNSCHEDULABLE, h->names[i]));
    use_status(berth_reject(h->arena, BERTH_UNSCHEDULABLE, "%d", 1));
}

static void call_narrow(const struct here *h)
{
    struct berth_node_names names = { true, NULL, 0 };
    if (!h->cycle)
        return;
    berth_narrow(h->cycle, &names, h->names, LEN(h->names));
    for (uint32_t i = 0; i < names.len; i++)
        use(names.items[i]);
    berth_narrow(h->cycle, &names, NULL, 0);
}

/* Of its own what-if's filters it must not call itself for ever. */
static void call_fits_without(const struct here *h)
{
    for (uint32_t i = 0; h->cycle && i < h->rows_len; i++) {
        use_status(berth_fits_without(h->cycle, h->rows[i], h->infos, h->infos_len));
        use_status(berth_fits_without(h->cycle, h->rows[i], NULL, 0));
    }
}

static void call_feasible(const struct here *h)
{
    if (h->cycle)
        use_rows(berth_feasible(h->cycle));
}

static void call_diagnosis_of(const struct here *h)
{
    for (uint32_t i = 0; h->diagnosis && i < h->rows_len; i++)
        use_status(berth_diagnosis_of(h->diagnosis, h->rows[i]));
}

/* ---- nodes ---- */
/* A function in one statement. */
#define CALL(name, ...) \
    static void call_##name(const struct here *h) \
    { \
        __VA_ARGS__; \
    }
CALL(nodes, each_cluster(h, i) use_rows(berth_nodes(h->clusters[i])))

static void call_node(const struct here *h)
{
    each_cluster(h, i) for (uint32_t k = 0; k < h->rows_len; k++)
        use(berth_node_name(berth_node(h->clusters[i], h->rows[k])));
}

CALL(node_row, each_cluster(h, i) each_name(h, k) sum += berth_node_row(h->clusters[i], h->names[k]))

CALL(node_name, each_view(h, i) use(berth_node_name(h->views[i])))

CALL(node_label,
     each_view(h, i) for (size_t k = 0; k < LEN(keys); k++) use(berth_node_label(h->views[i], keys[k])))

static void call_node_changes(const struct here *h)
{
    struct berth_rows rows;
    each_cluster(h, i) if (berth_node_changes(h->clusters[i], &(uint64_t){ 1 }, &rows)) use_rows(rows);
}

CALL(node_object, each_view(h, i) use_object(NULL, berth_node_object(h->views[i])))

static void call_node_pods(const struct here *h)
{
    each_view(h, i)
    {
        struct berth_pod_infos pods = berth_node_pods(h->views[i]);
        for (size_t k = 0; k < pods.len; k++)
            use_info(NULL, pods.items[k]);
    }
}

static void call_resource(const struct here *h)
{
    static atomic_uint rounds;
    unsigned made = atomic_fetch_add(&rounds, 1);
    static const char *const names[] = { "cpu", "memory", "pods", "example.com/gpu", "", "nonsense", NULL };
    char fresh[64];
    snprintf(fresh, sizeof(fresh), "example.com/fresh-%u", made);
    each_cluster(h, i)
    {
        for (size_t k = 0; k < LEN(names); k++)
            sum += berth_resource(h->clusters[i], names[k]);
        uint32_t number = made < 40 ? berth_resource(h->clusters[i], fresh) : UINT32_MAX;
        each_view(h, k) sum +=
            (uint64_t)(berth_node_used(h->views[k], number) + berth_node_allocatable(h->views[k], number));
    }
}

#define OF_EACH_AND_RESOURCES(name, each, of) \
    static void call_##name(const struct here *h) \
    { \
        each(h, i) for (size_t k = 0; k < LEN(resources); k++) sum += \
            (uint64_t)berth_##name(h->of[i], resources[k]); \
    }
OF_EACH_AND_RESOURCES(node_allocatable, each_view, views)
OF_EACH_AND_RESOURCES(node_used, each_view, views)

/* ---- pods ---- */
OF_EACH_AND_RESOURCES(pod_request, each_info, infos)

static void call_info_pod(const struct here *h)
{
    each_info(h, i) use_object(NULL, berth_info_pod(h->infos[i]));
}

#define OF_INFOS(name) \
    static void call_##name(const struct here *h) \
    { \
        each_info(h, i) sum += (uint64_t)berth_##name(h->infos[i]); \
    }
#define OF_VIEWS(name) \
    static void call_##name(const struct here *h) \
    { \
        each_view(h, i) sum += (uint64_t)berth_##name(h->views[i]); \
    }
OF_INFOS(info_priority)
OF_INFOS(info_row)
OF_INFOS(info_placed_at)

static void call_find_pod(const struct here *h)
{
    each_cluster(h, i) each_name(h, k)
        use_info(NULL, berth_find_pod(h->clusters[i], h->names[1], h->names[k]));
}

/* ---- objects ---- */
#define OF_OBJECTS(name) \
    static void call_##name(const struct here *h) \
    { \
        each_object(h, i) use(berth_##name(h->objects[i])); \
    }
OF_OBJECTS(object_name)
OF_OBJECTS(object_namespace)
OF_OBJECTS(object_uid)

#define OF_OBJECTS_BY_KEY(name) \
    static void call_##name(const struct here *h) \
    { \
        each_object(h, i) for (size_t k = 0; k < LEN(keys); k++) use(berth_##name(h->objects[i], keys[k])); \
    }
OF_OBJECTS_BY_KEY(object_label)
OF_OBJECTS_BY_KEY(object_annotation)

static void call_read(const struct here *h)
{
    static const char *const paths[] = {
        "metadata.name",
        "metadata.labels",
        "metadata.labels[app]",
        "spec",
        "spec.containers[0].image",
        "spec.containers[9].image",
        "status.allocatable[cpu]",
        "spec.containers[0].resources.requests[cpu]",
        "status.conditions[0].type",
        "metadata.creationTimestamp",
        "[",
        "spec..",
        "",
        NULL,
    };
    each_object(h, i) for (size_t k = 0; k < LEN(paths); k++)
    {
        for (size_t kind = 0; kind < LEN(kinds); kind++) { /* a plugin may mistake the kind */
            struct berth_value value = berth_read(kinds[kind], h->objects[i], paths[k]);
            use(value.text);
            sum += value.len + (uint64_t)value.number;
        }
    }
}

static void call_get(const struct here *h)
{
    each_cluster(h, i) for (size_t k = 0; k < LEN(kinds); k++) each_name(h, n)
        use_object(NULL, berth_get(h->clusters[i], kinds[k], h->names[1], h->names[n]));
}

static void call_each(const struct here *h)
{
    each_cluster(h, i) for (size_t k = 0; k < LEN(kinds); k++)
        berth_each(h->clusters[i], kinds[k], use_object, NULL);
}

/* ---- hints ---- */
static void call_hint_self(const struct here *h)
{
    if (h->hint && berth_hint_self(h->hint) != own)
        abort();
}

static void call_hint_cluster(const struct here *h)
{
    if (h->hint)
        use_rows(berth_nodes(berth_hint_cluster(h->hint)));
}

static void call_event_actions(const struct here *h)
{
    sum += h->event ? berth_event_actions(h->event) : 0;
}

static void call_event_before(const struct here *h)
{
    if (h->event)
        use_object(NULL, berth_event_before(h->event));
}

static void call_event_after(const struct here *h)
{
    if (h->event)
        use_object(NULL, berth_event_after(h->event));
}

static void call_same_pod(const struct here *h)
{
    each_info(h, i) sum += berth_same_pod(h->pod, berth_info_pod(h->infos[i])) +
                           berth_same_pod(berth_info_pod(h->infos[i]), NULL);
}

/* ---- any thread ---- */
static void call_activate(const struct here *h)
{
    (void)h;
    berth_activate(own->handle, berth_text("nowhere"), berth_text("nothing"));
    berth_activate(own->handle, berth_text(NULL), berth_text(NULL));
}

#define OF_NOBODY(name, ...) \
    static void call_##name(const struct here *h) \
    { \
        (void)h; \
        berth_##name(own->handle, __VA_ARGS__, berth_text(NULL)); \
    }
OF_NOBODY(allow, berth_text("nowhere"))
OF_NOBODY(refuse, berth_text("nowhere"), berth_text("nothing"))
OF_NOBODY(allow_uid, berth_text("nowhere"), berth_text("nothing"))
OF_NOBODY(refuse_uid, berth_text(NULL), berth_text(NULL), berth_text(NULL))

static void call_each_waiting(const struct here *h)
{
    (void)h;
    berth_each_waiting(own->handle, use_info, NULL);
}

static void call_metric_get(const struct here *h)
{
    static const struct berth_metric_info info = { "accessors_total", "Calls.", BERTH_COUNTER,
                                                   { "a", NULL },     NULL,     0 };
    const struct berth_str label = { NULL, 0 };
    (void)h;
    berth_metric_add(berth_metric_get(&info, &label), 1);
    berth_metric_add(berth_metric_get(&info, NULL), 1);
    berth_metric_add(berth_metric_get(NULL, NULL), 1);
}

#define OF_NO_METRIC(name) \
    static void call_##name(const struct here *h) \
    { \
        (void)h; \
        berth_##name(NULL, 1); \
    }
OF_NO_METRIC(metric_add)
OF_NO_METRIC(metric_set)
OF_NO_METRIC(metric_observe)

static void call_log_text(const struct here *h)
{
    (void)h;
    berth_log_text(9, "accessors.c", 1, "text");
    berth_log_text(9, NULL, 1, NULL);
}

#include "accessors_later.h"

static const struct {
    const char *name;
    void (*call)(const struct here *h);
} functions[] = {
#define F(type, name, parameters, arguments) { #name, call_##name },
#define V(name, parameters, arguments) { #name, call_##name },
    BERTH_FUNCTIONS(F, V)
#undef F
#undef V
};

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
        X(remove_pod) X(filter) X(post_filter) X(pre_score) X(score) X(normalize) X(reserve) X(unreserve)
            X(permit) X(pre_bind_pre_flight) X(pre_bind) X(bind) X(post_bind) X(events) X(reads)
#undef X
};

BERTH_PLUGINS(&accessors)
