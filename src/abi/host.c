/* host.c: the host table.
 *
 * A function here is a name for what built-in plugins do directly. Whatever the host has given out is accepted: NULL,
 * an absent text, a node or a pod that is gone. The answer is then absent, 0 or empty. */
#include "abi/host.h"

#include <stdlib.h>

#include "api/labels.h"
#include "base/log.h"
#include "framework/blocking_work.h"
#include "framework/diagnosis.h"
#include "framework/run.h"

/* ---- layouts: lists are passed on where they are ---- */
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, theirs, member) \
    static_assert(offsetof(ours, member) == offsetof(theirs, member), #theirs "." #member)
SAME_SIZE(struct str, struct berth_str);
SAME_PLACE(struct str, struct berth_str, len);
SAME_SIZE(struct pair, struct berth_pair);
SAME_PLACE(struct pair, struct berth_pair, value);
SAME_SIZE(struct node_view, struct berth_node_view);
SAME_PLACE(struct node_view, struct berth_node_view, row);
SAME_PLACE(struct node_view, struct berth_node_view, overlay);
SAME_SIZE(struct str_list, struct berth_strs);
SAME_SIZE(struct str_map, struct berth_pairs);

#define X(name, text) static_assert((int)STATUS_##name == (int)BERTH_##name, text);
STATUS_CODES(X)
#undef X
static_assert((int)HINT_QUEUE == (int)BERTH_HINT_QUEUE && SCORE_MAX == BERTH_SCORE_MAX, "hints and scores");
static_assert(ROW_NONE == BERTH_ROW_NONE, "rows");

/* ---- the same by another name ---- */
static const struct berth_str nothing;

static struct berth_status out_status(struct status status)
{
    return (struct berth_status){ (enum berth_code)status.code, status.len,
                                  (const struct berth_str *)status.reasons, NULL };
}

static struct node_view in_view(struct berth_node_view view)
{
    return (struct node_view){ in_cluster(view.cluster), view.row, view.overlay };
}

bool host_may_look(const void *cluster, const char *function)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!work_is_here())
        return cluster != NULL;
    if (cluster && !atomic_flag_test_and_set(&said))
        log_error(
            NULL,
            "A plugin looks at the cluster in PreBind or Bind, which run beside it, and is shown nothing",
            log_str("function", str_from(function)));
    return false;
}

bool host_node_exists(struct berth_node_view view, const char *function)
{
    const struct cluster *cluster = in_cluster(view.cluster);
    return host_may_look(cluster, function) && view.row < cluster->nodes.len &&
           cluster->nodes.items[view.row].api;
}

/* ---- the cycle ---- */
static const struct berth_pod *cycle_pod(const struct berth_cycle *cycle)
{
    return out_pod(in_cycle(cycle)->pod);
}

static const struct berth_pod_info *cycle_info(const struct berth_cycle *cycle)
{
    return out_pod_info(in_cycle(cycle)->info);
}

static const struct berth_cluster *cycle_cluster(const struct berth_cycle *cycle)
{
    return out_cluster(in_cycle(cycle)->cluster);
}

static void *host_cycle_self(const struct berth_cycle *cycle)
{
    return ((const struct loaded_self *)cycle_self(in_cycle(cycle)))->outer;
}

static void **host_cycle_state(struct berth_cycle *cycle)
{
    return cycle_state(in_cycle(cycle));
}

static struct berth_arena *cycle_arena(struct berth_cycle *cycle)
{
    return out_arena(in_cycle(cycle)->arena);
}

static bool cycle_cancelled(const struct berth_cycle *cycle)
{
    return work_cancelled(in_cycle(cycle));
}

static void *alloc(struct berth_arena *arena, size_t size)
{
    return arena_zalloc(in_arena(arena), size);
}

static struct berth_status reason(struct berth_arena *arena, enum berth_code code, struct berth_str text)
{
    struct berth_str *copy = arena_zalloc(in_arena(arena), sizeof(*copy));
    *copy = out_str(arena_str(in_arena(arena), in_str(text)));
    return (struct berth_status){ code, 1, copy, NULL };
}

static void narrow(struct berth_cycle *cycle, struct berth_node_names *names, const struct berth_str *items,
                   uint32_t len)
{
    struct node_names kept = host_names(items, items ? len : 0, in_cycle(cycle)->arena);
    names->all = false;
    names->items = (struct berth_str *)kept.items;
    names->len = kept.len;
}

static bool is_on(const struct node_overlay *overlay, const struct pod_info *pod)
{
    vec_for(&overlay->pods, there)
        if (*there == pod)
            return true;
    return false;
}

/* Filters need what PreFilter of every plugin left, which is there at PostFilter only. They cannot call this. */
static struct berth_status fits_without(struct berth_cycle *outer, uint32_t row,
                                        const struct berth_pod_info *const *pods, uint32_t len)
{
    struct cycle *cycle = in_cycle(outer);
    const struct plugin_instance *current = cycle->current;
    struct node_overlay overlay;
    struct node_view view = { cycle->cluster, row, &overlay };
    VEC(const struct pod_info *) left = { 0 };
    if (!host_node_exists(out_view((struct node_view){ cycle->cluster, row, NULL }), "berth_fits_without"))
        return (struct berth_status){ .code = BERTH_UNRESOLVABLE };
    if (!cycle->may_try)
        return out_status(reject(STATUS_ERROR, "berth_fits_without() is for PostFilter"));
    cycle->may_try = false;
    overlay_init(&overlay, cycle->cluster, row, cycle->arena);
    for (uint32_t i = 0; pods && i < len;
         i++) { /* one that is not on the node, or is named twice, frees nothing */
        const struct pod_info *pod = in_pod_info(pods[i]);
        if (!is_on(&overlay, pod))
            continue;
        *vec_push(&left) = pod;
        overlay_remove(&overlay, pod);
        run_remove_pod(cycle, pod, view);
    }
    struct status status = run_filters(cycle, view);
    for (size_t i = left.len; i-- > 0;) {
        overlay_add(&overlay, left.items[i]);
        run_add_pod(cycle, left.items[i], view);
    }
    vec_release(&left);
    overlay_release(&overlay);
    cycle->current = current;
    cycle->may_try = true;
    return out_status(status);
}

static struct berth_rows feasible(struct berth_cycle *cycle)
{
    struct row_list rows = cycle_feasible(in_cycle(cycle));
    return (struct berth_rows){ rows.items, rows.len };
}

static struct berth_status diagnosis_of(const struct berth_diagnosis *diagnosis, uint32_t row)
{
    return out_status(diagnosis_get(in_diagnosis(diagnosis), row));
}

/* ---- nodes ---- */
static struct berth_rows nodes(const struct berth_cluster *cluster)
{
    struct berth_rows rows = { 0 };
    if (host_may_look(cluster, "berth_nodes"))
        rows.items = cluster_order(in_cluster(cluster), &rows.len);
    return rows;
}

static struct berth_node_view node(const struct berth_cluster *cluster, uint32_t row)
{
    return (struct berth_node_view){ cluster, row, NULL };
}

static uint32_t node_row(const struct berth_cluster *cluster, struct berth_str name)
{
    return host_may_look(cluster, "berth_node_row") ? cluster_row(in_cluster(cluster), in_str(name))
                                                    : BERTH_ROW_NONE;
}

static struct berth_str host_node_name(struct berth_node_view view)
{
    return host_node_exists(view, "berth_node_name") ? out_str(node_name(in_view(view))) : nothing;
}

static struct berth_str map_text(const struct str_map *map, const char *key)
{
    const struct str *value = str_map_get(map, str_from(key));
    return value ? (struct berth_str){ value->ptr ? value->ptr : "", value->len }
                 : (struct berth_str){ NULL, 0 };
}

static struct berth_str node_label(struct berth_node_view view, const char *key)
{
    return host_node_exists(view, "berth_node_label") ? map_text(&node_api(in_view(view))->meta.labels, key)
                                                      : nothing;
}

static const void *node_object(struct berth_node_view view)
{
    return host_node_exists(view, "berth_node_object") ? node_api(in_view(view)) : NULL;
}

/* Positions are one more than in the log, so that 0 is before everything. */
static bool node_changes(const struct berth_cluster *outer, uint64_t *position, struct berth_rows *ret)
{
    *ret = (struct berth_rows){ NULL, 0 };
    if (!host_may_look(outer, "berth_node_changes"))
        return false;
    const struct cluster *cluster = in_cluster(outer);
    uint64_t from = *position - 1, now = cluster_seq(cluster);
    bool is_known = *position && from >= cluster->log_base && from <= now;
    if (is_known)
        *ret = (struct berth_rows){ cluster->log.items + (from - cluster->log_base), (uint32_t)(now - from) };
    *position = now + 1;
    return is_known;
}

static struct berth_pod_infos host_node_pods(struct berth_node_view view)
{
    struct pod_span span = { 0 };
    if (host_node_exists(view, "berth_node_pods"))
        span = node_pods(in_view(view));
    return (struct berth_pod_infos){ (const struct berth_pod_info *const *)span.items, span.len };
}

static uint32_t resource(const struct berth_cluster *cluster, const char *name)
{
    uint32_t number;
    if (!host_may_look(cluster, "berth_resource") || !name)
        return UINT32_MAX;
    return cluster_resource(in_cluster(cluster), str_from(name), &number) ? number : UINT32_MAX;
}

static int64_t node_allocatable(struct berth_node_view view, uint32_t number)
{
    return host_node_exists(view, "berth_node_allocatable") ? node_alloc(in_view(view), number) : 0;
}

static int64_t host_node_used(struct berth_node_view view, uint32_t number)
{
    return host_node_exists(view, "berth_node_used") ? node_used(in_view(view), number) : 0;
}

/* ---- pods ---- */
static int64_t pod_request(const struct berth_pod_info *pod, uint32_t number)
{
    if (!pod)
        return 0;
    const struct pod_class *cls = in_pod_info(pod)->class;
    for (uint32_t i = 0; i < cls->fit_len; i++)
        if (cls->fit[i].resource == number)
            return cls->fit[i].value;
    for (uint32_t i = 0; i < cls->fit_absent.len; i++) /* the number was made in this cycle */
        if (cls->fit_absent.items[i].resource->column == number + 1)
            return cls->fit_absent.items[i].value;
    return number == RES_PODS;
}

static const struct berth_pod *info_pod(const struct berth_pod_info *pod)
{
    return pod ? out_pod(in_pod_info(pod)->api) : NULL;
}

static int32_t info_priority(const struct berth_pod_info *pod)
{
    return pod ? in_pod_info(pod)->priority : 0;
}

static uint32_t info_row(const struct berth_pod_info *pod)
{
    return pod ? in_pod_info(pod)->row : BERTH_ROW_NONE;
}

static const struct berth_pod_info *find_pod(const struct berth_cluster *cluster, struct berth_str namespace,
                                             struct berth_str name)
{
    if (!host_may_look(cluster, "berth_find_pod"))
        return NULL;
    return out_pod_info(cluster_find_pod(in_cluster(cluster), in_str(namespace), in_str(name)));
}

/* ---- any object: each begins with its metadata ---- */
static struct berth_str object_name(const void *object)
{
    return object ? out_str(((const struct meta *)object)->name) : nothing;
}

static struct berth_str object_namespace(const void *object)
{
    return object ? out_str(((const struct meta *)object)->namespace) : nothing;
}

static struct berth_str object_uid(const void *object)
{
    return object ? out_str(((const struct meta *)object)->uid) : nothing;
}

static struct berth_str object_label(const void *object, const char *key)
{
    return object ? map_text(&((const struct meta *)object)->labels, key) : nothing;
}

static struct berth_str object_annotation(const void *object, const char *key)
{
    return object ? map_text(&((const struct meta *)object)->annotations, key) : nothing;
}

/* ---- hints ---- */
static void *hint_self(const struct berth_hint *hint)
{
    return ((const struct loaded_self *)in_hint(hint)->self)->outer;
}

static const struct berth_cluster *hint_cluster(const struct berth_hint *hint)
{
    return out_cluster(in_hint(hint)->cluster);
}

static uint32_t event_actions(const struct berth_event *event)
{
    return in_event(event)->actions;
}

static const void *event_before(const struct berth_event *event)
{
    return in_event(event)->before;
}

static const void *event_after(const struct berth_event *event)
{
    return in_event(event)->after;
}

static bool same_pod(const struct berth_pod *a, const struct berth_pod *b)
{
    return a && b && pod_is(in_pod(a), in_pod(b));
}

/* ---- messages ---- */
static void post(const struct berth_handle *handle, enum plugin_message_kind kind, struct berth_str namespace,
                 struct berth_str name, struct berth_str uid, struct berth_str why)
{
    const struct plugin_message message = { .kind = kind,
                                            .plugin = handle->plugin,
                                            .namespace = in_str(namespace),
                                            .name = in_str(name),
                                            .uid = in_str(uid),
                                            .reason = in_str(why) };
    mailbox_post(handle->mailbox, plugin_message_new(&message));
}

static void activate(const struct berth_handle *handle, struct berth_str namespace, struct berth_str name)
{
    post(handle, PLUGIN_MESSAGE_ACTIVATE, namespace, name, nothing, nothing);
}

static void allow_uid(const struct berth_handle *handle, struct berth_str namespace, struct berth_str name,
                      struct berth_str uid)
{
    post(handle, PLUGIN_MESSAGE_ALLOW, namespace, name, uid, nothing);
}

static void allow(const struct berth_handle *handle, struct berth_str namespace, struct berth_str name)
{
    allow_uid(handle, namespace, name, nothing);
}

static void refuse_uid(const struct berth_handle *handle, struct berth_str namespace, struct berth_str name,
                       struct berth_str uid, struct berth_str why)
{
    post(handle, PLUGIN_MESSAGE_REFUSE, namespace, name, uid, why);
}

static void refuse(const struct berth_handle *handle, struct berth_str namespace, struct berth_str name,
                   struct berth_str why)
{
    refuse_uid(handle, namespace, name, nothing, why);
}

struct waiting_visit {
    bool (*visit)(void *context, const struct berth_pod_info *pod);
    void *context;
};

static bool visit_waiting(void *context, const struct pod_info *pod)
{
    const struct waiting_visit *own = context;
    return own->visit(own->context, out_pod_info(pod));
}

static void each_waiting(const struct berth_handle *handle,
                         bool (*visit)(void *context, const struct berth_pod_info *pod), void *context)
{
    const struct mailbox_reader *reader = atomic_load(&handle->mailbox->reader);
    struct waiting_visit own = { visit, context };
    if (reader && reader->each_waiting && host_may_look(handle, "berth_each_waiting"))
        reader->each_waiting(reader->context, handle->plugin, visit_waiting, &own);
}

/* ---- log ---- */
static void log_text(int32_t verbosity, const char *file, int line, const char *text)
{
    file = file ? file : "";
    text = text ? text : "";
    if (verbosity < 0)
        log_write(LOG_ERROR, 0, file, line, NULL, text, NULL, 0);
    else if (log_enabled_in(verbosity, file))
        log_write(LOG_INFO, verbosity, file, line, NULL, text, NULL, 0);
}

/* ---- the table ---- */
const struct berth_host host_table = {
    .abi = BERTH_ABI,
    .size = sizeof(struct berth_host),
    .cycle_pod = cycle_pod,
    .cycle_info = cycle_info,
    .cycle_cluster = cycle_cluster,
    .cycle_self = host_cycle_self,
    .cycle_state = host_cycle_state,
    .cycle_arena = cycle_arena,
    .cycle_cancelled = cycle_cancelled,
    .alloc = alloc,
    .reason = reason,
    .narrow = narrow,
    .fits_without = fits_without,
    .feasible = feasible,
    .diagnosis_of = diagnosis_of,
    .nodes = nodes,
    .node = node,
    .node_row = node_row,
    .node_name = host_node_name,
    .node_label = node_label,
    .node_object = node_object,
    .node_pods = host_node_pods,
    .resource = resource,
    .node_allocatable = node_allocatable,
    .node_used = host_node_used,
    .pod_request = pod_request,
    .info_pod = info_pod,
    .info_priority = info_priority,
    .info_row = info_row,
    .find_pod = find_pod,
    .object_name = object_name,
    .object_namespace = object_namespace,
    .object_uid = object_uid,
    .object_label = object_label,
    .object_annotation = object_annotation,
    .read = host_read,
    .get = host_get,
    .each = host_each,
    .hint_self = hint_self,
    .hint_cluster = hint_cluster,
    .event_actions = event_actions,
    .event_before = event_before,
    .event_after = event_after,
    .same_pod = same_pod,
    .activate = activate,
    .allow = allow,
    .refuse = refuse,
    .each_waiting = each_waiting,
    .metric_get = host_metric,
    .metric_add = host_metric_add,
    .metric_set = host_metric_set,
    .metric_observe = host_metric_observe,
    .log_text = log_text,
    .allow_uid = allow_uid,
    .refuse_uid = refuse_uid,
    .cycle_now = host_cycle_now,
    .info_placed_at = host_info_placed_at,
    .node_sampled_at = host_node_sampled_at,
    .node_sample_window = host_node_sample_window,
    .node_sample = host_node_sample,
    .pod_sample = host_pod_sample,
    .retry_at = host_retry_at,
    .node_changes = node_changes,
    .scorer = host_scorer,
    .scorer_weight = host_scorer_weight,
    .set_weight = host_set_weight,
    .observed_kind = host_observed_kind,
    .observed_pod = host_observed_pod,
    .observed_cluster = host_observed_cluster,
    .observed_at = host_observed_at,
    .observed_wait = host_observed_wait,
    .object_kind = host_object_kind,
    .read_key = host_read_key,
    .read_double = host_read_double,
    .kind_version = host_kind_version,
    .watch_only = host_watch_only,
    .tick_every = host_tick_every,
    .event = host_event,
    .sample_every = host_sample_every,
    .observed_alone = host_observed_alone,
    .enabled_at = host_enabled_at,
};
