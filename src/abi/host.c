/* host.c: the host table, and the proof that the public header's types are ours.
 *
 * A function here is a name for what built-in plugins do directly. Pointers go through unchanged; text, statuses and
 * views have the same layout on both sides. */
#include "abi/host.h"

#include <stdlib.h>

#include "api/labels.h"
#include "base/log.h"
#include "framework/blocking_work.h"
#include "framework/diagnosis.h"
#include "framework/run.h"

/* ---- layouts ---- */
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, theirs, member) \
    static_assert(offsetof(ours, member) == offsetof(theirs, member), #theirs "." #member)
SAME_SIZE(struct str, struct berth_str);
SAME_PLACE(struct str, struct berth_str, len);
SAME_SIZE(struct pair, struct berth_pair);
SAME_PLACE(struct pair, struct berth_pair, value);
SAME_SIZE(struct str_list, struct berth_strs);
SAME_SIZE(struct str_map, struct berth_pairs);
SAME_SIZE(struct status, struct berth_status);
SAME_PLACE(struct status, struct berth_status, len);
SAME_PLACE(struct status, struct berth_status, reasons);
SAME_SIZE(struct node_view, struct berth_node_view);
SAME_PLACE(struct node_view, struct berth_node_view, row);
SAME_PLACE(struct node_view, struct berth_node_view, overlay);
SAME_SIZE(struct pod_span, struct berth_pod_infos);
SAME_SIZE(struct row_list, struct berth_rows);
SAME_SIZE(struct node_names, struct berth_node_names);
SAME_PLACE(struct node_names, struct berth_node_names, items);
SAME_PLACE(struct node_names, struct berth_node_names, len);
SAME_SIZE(struct post_filter_result, struct berth_post_filter_result);
SAME_PLACE(struct post_filter_result, struct berth_post_filter_result, victims);
SAME_PLACE(struct post_filter_result, struct berth_post_filter_result, victims_len);
SAME_SIZE(struct error, struct berth_error);
SAME_SIZE(struct event_rule, struct berth_event_rule);
SAME_PLACE(struct event_rule, struct berth_event_rule, hint);

#define X(name, text) static_assert((int)STATUS_##name == (int)BERTH_##name, text);
STATUS_CODES(X)
#undef X
#define X(name, text) static_assert((int)EVENT_##name == (int)BERTH_EVENT_##name, text);
EVENT_RESOURCES(X)
#undef X
#define X(name, text) static_assert((int)ACTION_##name == (int)BERTH_##name, text);
EVENT_ACTIONS(X)
#undef X
static_assert((int)ACTION_ALL == (int)BERTH_ALL_ACTIONS && (int)ACTION_UPDATE == (int)BERTH_UPDATE,
              "actions");
static_assert((int)HINT_QUEUE == (int)BERTH_HINT_QUEUE && SCORE_MAX == BERTH_SCORE_MAX, "hints and scores");
static_assert(ROW_NONE == BERTH_ROW_NONE, "rows");

/* ---- the same by another name ---- */
static const struct berth_str nothing;

static struct berth_str out_str(struct str text)
{
    return (struct berth_str){ text.ptr, text.len };
}

static struct str in_str(struct berth_str text)
{
    return (struct str){ text.ptr, text.len };
}

static struct berth_status out_status(struct status status)
{
    return (struct berth_status){ (enum berth_code)status.code, status.len,
                                  (const struct berth_str *)status.reasons, status.plugin };
}

static struct node_view in_view(struct berth_node_view view)
{
    return (struct node_view){ view.cluster, view.row, view.overlay };
}

/* The model is const for plugins; lists that are made on demand are not seen as changes. */
static struct cluster *in_cluster(const struct cluster *cluster)
{
    return (struct cluster *)cluster;
}

/* May this thread look at the cluster? One that is at PreBind or Bind may not, with whatever it kept from before. It is
 * said once in the log, and not for each pod. */
static bool may_look(const void *cluster, const char *function)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!work_is_here())
        return cluster != NULL;
    if (!atomic_flag_test_and_set(&said))
        log_error(
            NULL,
            "A plugin looks at the cluster in PreBind or Bind, which run beside it, and is shown nothing",
            log_str("function", str_from(function)));
    return false;
}

/* A plugin may name a node that is not there: berth_node_row() of a name that it made up, or of one that went. */
static bool exists(struct berth_node_view view)
{
    const struct cluster *cluster = view.cluster;
    return cluster && view.row < cluster->nodes.len && cluster->nodes.items[view.row].api;
}

/* ---- the cycle ---- */
static const struct pod *cycle_pod(const struct cycle *cycle)
{
    return cycle->pod;
}

static const struct pod_info *cycle_info(const struct cycle *cycle)
{
    return cycle->info;
}

static const struct cluster *cycle_cluster(const struct cycle *cycle)
{
    return cycle->cluster;
}

static struct arena *cycle_arena(struct cycle *cycle)
{
    return cycle->arena;
}

static struct berth_status reason(struct arena *arena, enum berth_code code, struct berth_str text)
{
    struct berth_str *copy = arena_zalloc(arena, sizeof(*copy));
    *copy = out_str(arena_str(arena, in_str(text)));
    return (struct berth_status){ code, 1, copy, NULL };
}

static void narrow(struct cycle *cycle, struct berth_node_names *names, const struct berth_str *items,
                   uint32_t len)
{
    struct arena *arena = cycle->arena;
    struct str *kept = arena_array(arena, struct str, len);
    uint32_t count = 0;
    for (uint32_t i = 0; i < len; i++)
        kept[i] = arena_str(arena, in_str(items[i]));
    qsort(kept, len, sizeof(*kept), str_qsort_cmp);
    for (uint32_t i = 0; i < len; i++)
        if (!count || !str_eq(kept[count - 1], kept[i]))
            kept[count++] = kept[i];
    *names = (struct berth_node_names){ .items = (struct berth_str *)kept, .len = count };
}

static bool is_on(const struct node_overlay *overlay, const struct pod_info *pod)
{
    vec_for(&overlay->pods, there)
        if (*there == pod)
            return true;
    return false;
}

/* Everything is as before when it returns. A pod that is not on the node, or is named twice, frees nothing there. */
static struct berth_status fits_without(struct cycle *cycle, uint32_t row, const struct pod_info *const *pods,
                                        uint32_t len)
{
    const struct plugin_instance *current = cycle->current;
    struct node_overlay overlay;
    struct node_view view = { cycle->cluster, row, &overlay };
    VEC(const struct pod_info *) left = { 0 };
    if (!exists((struct berth_node_view){ cycle->cluster, row, NULL }))
        return (struct berth_status){ .code = BERTH_UNRESOLVABLE };
    overlay_init(&overlay, cycle->cluster, row, cycle->arena);
    for (uint32_t i = 0; pods && i < len; i++) {
        if (!is_on(&overlay, pods[i]))
            continue;
        *vec_push(&left) = pods[i];
        overlay_remove(&overlay, pods[i]);
        run_remove_pod(cycle, pods[i], view);
    }
    struct status status = run_filters(cycle, view);
    for (size_t i = left.len; i-- > 0;) {
        overlay_add(&overlay, left.items[i]);
        run_add_pod(cycle, left.items[i], view);
    }
    vec_release(&left);
    overlay_release(&overlay);
    cycle->current = current;
    return out_status(status);
}

static struct berth_rows feasible(struct cycle *cycle)
{
    struct row_list rows = cycle_feasible(cycle);
    return (struct berth_rows){ rows.items, rows.len };
}

static struct berth_status diagnosis_of(const struct diagnosis *diagnosis, uint32_t row)
{
    return out_status(diagnosis_get(diagnosis, row));
}

/* ---- nodes ---- */
static struct berth_rows nodes(const struct cluster *cluster)
{
    struct berth_rows rows = { 0 };
    if (may_look(cluster, "berth_nodes"))
        rows.items = cluster_order(in_cluster(cluster), &rows.len);
    return rows;
}

static struct berth_node_view node(const struct cluster *cluster, uint32_t row)
{
    return (struct berth_node_view){ cluster, row, NULL };
}

static uint32_t node_row(const struct cluster *cluster, struct berth_str name)
{
    return may_look(cluster, "berth_node_row") ? cluster_row(in_cluster(cluster), in_str(name))
                                               : BERTH_ROW_NONE;
}

static struct berth_str host_node_name(struct berth_node_view view)
{
    return exists(view) ? out_str(node_name(in_view(view))) : nothing;
}

static struct berth_str map_text(const struct str_map *map, const char *key)
{
    const struct str *value = str_map_get(map, str_from(key));
    return value ? (struct berth_str){ value->ptr ? value->ptr : "", value->len }
                 : (struct berth_str){ NULL, 0 };
}

static struct berth_str node_label(struct berth_node_view view, const char *key)
{
    return exists(view) ? map_text(&node_api(in_view(view))->meta.labels, key) : nothing;
}

static const void *node_object(struct berth_node_view view)
{
    return exists(view) ? node_api(in_view(view)) : NULL;
}

static struct berth_pod_infos host_node_pods(struct berth_node_view view)
{
    struct pod_span span = { 0 };
    if (exists(view))
        span = node_pods(in_view(view));
    return (struct berth_pod_infos){ (const struct pod_info *const *)span.items, span.len };
}

static uint32_t resource(const struct cluster *cluster, const char *name)
{
    uint32_t number;
    if (!may_look(cluster, "berth_resource") || !name)
        return UINT32_MAX;
    return cluster_resource(in_cluster(cluster), str_from(name), &number) ? number : UINT32_MAX;
}

static int64_t node_allocatable(struct berth_node_view view, uint32_t number)
{
    return exists(view) ? node_alloc(in_view(view), number) : 0;
}

static int64_t host_node_used(struct berth_node_view view, uint32_t number)
{
    return exists(view) ? node_used(in_view(view), number) : 0;
}

/* ---- pods ---- */
static int64_t pod_request(const struct pod_info *pod, uint32_t number)
{
    if (!pod)
        return 0;
    const struct pod_class *cls = pod->class;
    for (uint32_t i = 0; i < cls->fit_len; i++)
        if (cls->fit[i].resource == number)
            return cls->fit[i].value;
    return number == RES_PODS;
}

static const struct pod *info_pod(const struct pod_info *pod)
{
    return pod ? pod->api : NULL;
}

static int32_t info_priority(const struct pod_info *pod)
{
    return pod ? pod->priority : 0;
}

static uint32_t info_row(const struct pod_info *pod)
{
    return pod ? pod->row : BERTH_ROW_NONE;
}

static const struct pod_info *find_pod(const struct cluster *cluster, struct berth_str namespace,
                                       struct berth_str name)
{
    if (!may_look(cluster, "berth_find_pod"))
        return NULL;
    return cluster_find_pod(in_cluster(cluster), in_str(namespace), in_str(name));
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

/* Of a kind that is not watched there are no objects: a plugin that wants them has made a mistake. */
static bool is_known(struct cluster *cluster, enum api_kind number, const char *kind)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (number == KIND_POD || number == KIND_NODE || cluster_store(cluster, number))
        return true;
    if (!atomic_flag_test_and_set(&said))
        log_warning("A plugin asks for objects of a kind that is not watched",
                    log_str("kind", str_from(kind ? kind : "")));
    return false;
}

static const void *get(const struct cluster *outer, const char *kind, struct berth_str namespace,
                       struct berth_str name)
{
    struct cluster *cluster = in_cluster(outer);
    enum api_kind number = host_kind(kind);
    if (!may_look(outer, "berth_get") || !is_known(cluster, number, kind))
        return NULL;
    return cluster_find(cluster, number, in_str(namespace), in_str(name));
}

static void each(const struct cluster *outer, const char *kind,
                 bool (*visit)(void *context, const void *object), void *context)
{
    struct cluster *cluster = in_cluster(outer);
    enum api_kind number = host_kind(kind);
    if (!may_look(outer, "berth_each") || !is_known(cluster, number, kind))
        return;
    if (number == KIND_NODE) {
        uint32_t len;
        const uint32_t *rows = cluster_order(cluster, &len);
        for (uint32_t i = 0; i < len && visit(context, cluster->nodes.items[rows[i]].api); i++)
            ;
    } else if (number == KIND_POD) {
        map_for(&cluster->pods, slot)
            if (!visit(context, ((const struct pod_info *)slot->value)->api))
                return;
    } else {
        map_for(cluster_store(cluster, number), slot)
            if (!visit(context, stored_object(slot)))
                return;
    }
}

/* ---- hints ---- */
static void *hint_self(const struct hint_context *hint)
{
    return (void *)hint->self;
}

static const struct cluster *hint_cluster(const struct hint_context *hint)
{
    return hint->cluster;
}

static uint32_t event_actions(const struct cluster_event *event)
{
    return event->actions;
}

static const void *event_before(const struct cluster_event *event)
{
    return event->before;
}

static const void *event_after(const struct cluster_event *event)
{
    return event->after;
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

static void each_waiting(const struct berth_handle *handle,
                         bool (*visit)(void *context, const struct pod_info *pod), void *context)
{
    const struct mailbox_reader *reader = atomic_load(&handle->mailbox->reader);
    if (reader && reader->each_waiting && may_look(handle, "berth_each_waiting"))
        reader->each_waiting(reader->context, handle->plugin, visit, context);
}

/* ---- log ---- */
static void log_text(int32_t verbosity, const char *file, int line, const char *text)
{
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
    .cycle_self = cycle_self,
    .cycle_state = cycle_state,
    .cycle_arena = cycle_arena,
    .cycle_cancelled = work_cancelled,
    .alloc = arena_zalloc,
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
    .get = get,
    .each = each,
    .hint_self = hint_self,
    .hint_cluster = hint_cluster,
    .event_actions = event_actions,
    .event_before = event_before,
    .event_after = event_after,
    .same_pod = pod_is,
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
};
