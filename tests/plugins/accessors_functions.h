/* accessors_functions.h: a call_NAME() for every function of the plugin header, with all that a callback can reach; for
 * accessors.c.
 *
 * The table of functions is made from the header's own list: a function that is added there and has no call_NAME() here
 * does not compile. */
#ifndef PLUGINS_ACCESSORS_FUNCTIONS_H
#define PLUGINS_ACCESSORS_FUNCTIONS_H

#include <berth/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

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
    const struct berth_observation *observation;
    bool weighs; /* weights may be set */
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

/* ---- times and samples ---- */
CALL(cycle_now, sum += h->cycle ? (uint64_t)berth_cycle_now(h->cycle) : 0)
CALL(retry_at, if (h->cycle) berth_retry_at(h->cycle, INT64_MAX), berth_retry_at(h->cycle, INT64_MIN))

OF_VIEWS(node_sampled_at)
OF_VIEWS(node_sample_window)
static void call_node_sample(const struct here *h)
{
    each_view(h, i) for (int statistic = -1; statistic < 9; statistic++) sum +=
        berth_node_sample(h->views[i], own->cpu, (enum berth_statistic)statistic) >= 0;
}

static void call_pod_sample(const struct here *h)
{
    each_cluster(h, i) each_info(h, k) sum += berth_pod_sample(h->clusters[i], h->infos[k], own->cpu) >= 0;
}

#include "accessors_later.h"

/* ---- weights and observations ---- */
static const char *const scorers[] = { "NodeResourcesFit", "NodeName", "Accessors", "", NULL };
static const uint32_t odd_scorers[] = { 0, 1, 63, 64, BERTH_SCORER_NONE };

static void call_enabled_at(const struct here *h)
{
    (void)h;
    sum += berth_enabled_at(own->handle, "filter") + berth_enabled_at(own->handle, "preBind");
    if (berth_enabled_at(NULL, "filter") || berth_enabled_at(own->handle, NULL) ||
        berth_enabled_at(own->handle, "Filter") || berth_enabled_at(own->handle, ""))
        abort();
}

static void call_scorer(const struct here *h)
{
    (void)h;
    for (size_t i = 0; i < LEN(scorers); i++)
        sum += berth_scorer(own->handle, scorers[i]) + berth_scorer(NULL, scorers[i]);
}

static void call_scorer_weight(const struct here *h)
{
    (void)h;
    for (size_t i = 0; i < LEN(odd_scorers); i++)
        sum += (uint64_t)berth_scorer_weight(own->handle, odd_scorers[i]);
    sum += (uint64_t)berth_scorer_weight(own->handle, berth_scorer(own->handle, scorers[0]));
}

/* Only weigh may, and the weights are what they were when it is over. */
static void call_set_weight(const struct here *h)
{
    uint32_t fit = berth_scorer(own->handle, scorers[0]);
    for (size_t i = 0; h->cycle && i < LEN(odd_scorers); i++)
        sum += berth_set_weight(h->cycle, odd_scorers[i], -1, berth_text(NULL));
    if (!h->cycle || berth_set_weight(NULL, fit, 1, berth_text("nothing")) ||
        berth_set_weight(h->cycle, fit, BERTH_WEIGHT_MAX + 1, berth_text("too much")))
        return;
    bool is_set = berth_set_weight(h->cycle, fit, 7, berth_text("a reason"));
    if (is_set != berth_set_weight(h->cycle, fit, berth_scorer_weight(own->handle, fit), berth_text(NULL)) ||
        is_set != h->weighs)
        abort();
}

CALL(observed_kind, sum += h->observation ? (uint64_t)berth_observed_kind(h->observation) : 0)
CALL(observed_pod, if (h->observation) use_info(NULL, berth_observed_pod(h->observation)))
CALL(observed_cluster, if (h->observation) use_rows(berth_nodes(berth_observed_cluster(h->observation))))
CALL(observed_at, sum += h->observation ? (uint64_t)berth_observed_at(h->observation) : 0)
CALL(observed_wait, sum += h->observation ? (uint64_t)berth_observed_wait(h->observation) : 0)
CALL(observed_alone, sum += h->observation ? berth_observed_alone(h->observation) : 0)

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

#endif
