/* mistakes.c: a plugin that makes the mistake in a pod's label "mistake". The result is an error or no effect; see
 * test_plugins.py. */
#include <berth/plugin.h>

#include <stdlib.h>

static const struct berth_cluster *kept; /* must not be kept by a blocking callback */

static bool is(struct berth_cycle *cycle, const char *what)
{
    return berth_is(berth_object_label(berth_cycle_pod(cycle), "mistake"), what);
}

static struct berth_status strange(void)
{
    return berth_verdict((enum berth_code)42);
}

/* Claims to have reasons, without any. */
static struct berth_status silent(enum berth_code code)
{
    struct berth_status status = { code, 3, NULL, NULL };
    return status;
}

/* A reason of `len` bytes that are not valid UTF-8. */
static struct berth_status lengthy(struct berth_cycle *cycle, uint32_t len)
{
    struct berth_str text = { berth_alloc(berth_cycle_arena(cycle), len), len };
    for (uint32_t i = 0; i < len; i++)
        ((char *)text.ptr)[i] = i % 2 ? '\xa9' : '\xc3';
    return berth_reason(berth_cycle_arena(cycle), BERTH_UNSCHEDULABLE, text);
}

static struct berth_status pre_enqueue(const void *self, const struct berth_pod *pod,
                                       struct berth_arena *arena)
{
    (void)self, (void)arena;
    return berth_is(berth_object_label(pod, "mistake"), "pre-enqueue-silent") ? silent(BERTH_ERROR)
                                                                              : BERTH_OK;
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)ret_self, (void)err;
    kept = env->cluster;
    return 0;
}

static bool visit(void *context, const void *object)
{
    (void)context, (void)object;
    return true;
}

/* Looks up objects that do not exist: every result is empty. */
static bool finds_nothing(struct berth_cycle *cycle)
{
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct berth_str unknown = berth_text("unknown");
    struct berth_node_view node = berth_node(cluster, berth_node_row(cluster, unknown));
    uint32_t resource = berth_resource(cluster, "no/such");
    berth_each(cluster, "ConfigMap", visit, NULL);
    berth_each(NULL, "Pod", visit, NULL);
    return !berth_node_name(node).ptr && !berth_node_label(node, "a").ptr && !berth_node_object(node) &&
           !berth_node_pods(node).len && !berth_node_used(node, 0) && !berth_node_allocatable(node, 0) &&
           !berth_node_used(berth_node(cluster, 0), resource) && !berth_object_name(NULL).ptr &&
           !berth_object_label(NULL, "a").ptr && !berth_object_annotation(NULL, "a").ptr &&
           !berth_object_uid(berth_get(cluster, "Pod", unknown, unknown)).ptr &&
           !berth_get(cluster, NULL, unknown, unknown) &&
           !berth_get(cluster, "ConfigMap", unknown, unknown) && !berth_get(NULL, "Pod", unknown, unknown) &&
           !berth_info_pod(berth_find_pod(cluster, unknown, unknown)) && !berth_pod_request(NULL, 0) &&
           berth_info_row(NULL) == BERTH_ROW_NONE &&
           berth_read("Pod", NULL, "metadata.name").type == BERTH_ABSENT &&
           berth_read("ConfigMap", berth_cycle_pod(cycle), "data").type == BERTH_ABSENT &&
           berth_read("Pod", berth_cycle_pod(cycle), "spec[[").type == BERTH_ABSENT &&
           !berth_nodes(NULL).len && berth_fits_without(cycle, 12345, NULL, 0).code == BERTH_UNRESOLVABLE;
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct berth_str nowhere = berth_text("nowhere");
    if (is(cycle, "pre-filter-strange"))
        return strange();
    if (is(cycle, "pre-filter-wait"))
        return berth_verdict(BERTH_WAIT);
    if (is(cycle, "pre-filter-silent"))
        return silent(BERTH_ERROR);
    if (is(cycle, "narrow"))
        berth_narrow(cycle, narrow, &nowhere, 1);
    if (is(cycle, "nothing") && !finds_nothing(cycle))
        return BERTH_REJECT(BERTH_ERROR, "found something");
    return BERTH_OK;
}

static int overflow(int depth)
{
    volatile char frame[4096];
    frame[0] = (char)depth;
    return overflow(depth + 1) + frame[0];
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    char *volatile null = NULL;
    if (is(cycle, "filter-strange"))
        return strange();
    if (is(cycle, "filter-silent"))
        return silent(BERTH_UNSCHEDULABLE);
    if (is(cycle, "filter-long"))
        return lengthy(cycle, 3000000);
    if (is(cycle, "filter-cut"))
        return lengthy(cycle, 2000);
    if (is(cycle, "filter-latin"))
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "the caf\xe9 is closed");
    if (is(cycle, "post-filter-twice") && berth_node_pods(node).len)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "occupied");
    if (is(cycle, "filter-skip"))
        return berth_verdict(BERTH_SKIP);
    if (is(cycle, "filter-full"))
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "it is full");
    if (is(cycle, "post-filter-row") || is(cycle, "post-filter-victims") || is(cycle, "post-filter-self") ||
        is(cycle, "post-filter-failed") || is(cycle, "post-filter-fits") ||
        is(cycle, "post-filter-elsewhere") || is(cycle, "post-filter-nowhere"))
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "it is full");
    if (is(cycle, "crash"))
        *null = 1;
    if (is(cycle, "crash-below"))
        return strlen(null) ? BERTH_OK : strange();
    if (is(cycle, "abort"))
        abort();
    if (is(cycle, "overflow") && overflow(0))
        return strange();
    return BERTH_OK;
}

/* Nominates one node or none, and names a pod of each node as a victim. */
static struct berth_status takes_elsewhere(struct berth_cycle *cycle, struct berth_post_filter_result *ret)
{
    struct berth_rows rows = berth_nodes(berth_cycle_cluster(cycle));
    ret->nominated_row = is(cycle, "post-filter-nowhere") ? BERTH_ROW_NONE : rows.items[0];
    ret->victims = berth_alloc(berth_cycle_arena(cycle), rows.len * sizeof(*ret->victims));
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_pod_infos pods = berth_node_pods(berth_node(berth_cycle_cluster(cycle), rows.items[i]));
        if (pods.len)
            ret->victims[ret->victims_len++] = pods.items[0];
    }
    return BERTH_OK;
}

/* Nominates an occupied node, with its pods as victims. */
static struct berth_status takes(struct berth_cycle *cycle, struct berth_post_filter_result *ret)
{
    struct berth_rows rows = berth_nodes(berth_cycle_cluster(cycle));
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_pod_infos pods = berth_node_pods(berth_node(berth_cycle_cluster(cycle), rows.items[i]));
        if (!pods.len)
            continue;
        ret->nominated_row = rows.items[i];
        ret->victims = berth_alloc(berth_cycle_arena(cycle), 2 * sizeof(*ret->victims));
        ret->victims[0] = ret->victims[1] =
            is(cycle, "post-filter-self") ? berth_cycle_info(cycle) : pods.items[0];
        ret->victims_len = 2;
    }
    return is(cycle, "post-filter-failed") ? BERTH_REJECT(BERTH_ERROR, "out of order") : BERTH_OK;
}

static struct berth_status post_filter(struct berth_cycle *cycle, struct berth_diagnosis *diagnosis,
                                       struct berth_post_filter_result *ret)
{
    const struct berth_pod_info *unknown[] = { NULL, berth_cycle_info(cycle) };
    (void)diagnosis;
    if (is(cycle, "post-filter-fits"))
        return berth_fits_without(cycle, 0, unknown, 2).code == BERTH_UNSCHEDULABLE
                   ? BERTH_REJECT(BERTH_UNSCHEDULABLE, "the pod does not fit")
                   : BERTH_REJECT(BERTH_UNSCHEDULABLE, "the pod fits without victims");
    if (is(cycle, "post-filter-self") || is(cycle, "post-filter-failed") || is(cycle, "post-filter-twice"))
        return takes(cycle, ret);
    if (is(cycle, "post-filter-elsewhere") || is(cycle, "post-filter-nowhere"))
        return takes_elsewhere(cycle, ret);
    ret->nominated_row = is(cycle, "post-filter-row") ? 12345 : 0;
    ret->victims_len = is(cycle, "post-filter-victims") ? 3 : 0;
    return berth_verdict(ret->nominated_row || ret->victims_len ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE);
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    return is(cycle, "pre-score-wait") ? berth_verdict(BERTH_WAIT) : BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    (void)node;
    *ret = is(cycle, "score-high") ? 101 : is(cycle, "score-low") ? -1 : 50;
    return is(cycle, "score-strange") ? strange() : BERTH_OK;
}

static struct berth_status reserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    return is(cycle, "reserve-wait") ? berth_verdict(BERTH_WAIT) : BERTH_OK;
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)cycle, (void)row;
}

static struct berth_status permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row;
    if (is(cycle, "permit-backwards"))
        *ret_timeout_ms = INT64_MIN;
    if (is(cycle, "permit-skip"))
        return berth_verdict(BERTH_SKIP);
    return berth_verdict(is(cycle, "permit-backwards") || is(cycle, "permit-at-once") ? BERTH_WAIT
                                                                                      : BERTH_SUCCESS);
}

static struct berth_status pre_bind_pre_flight(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    return is(cycle, "pre-flight-skip") ? berth_verdict(BERTH_SKIP) : BERTH_OK;
}

static struct berth_status pre_bind(struct berth_cycle *cycle, struct berth_str node)
{
    (void)node;
    if (is(cycle, "pre-flight-skip"))
        return BERTH_REJECT(BERTH_ERROR, "called after a Skip");
    if (is(cycle, "pre-bind-silent"))
        return silent(BERTH_ERROR);
    if (is(cycle, "pre-bind-refuses"))
        return silent(BERTH_UNSCHEDULABLE);
    if (is(cycle, "pre-bind-looks") &&
        (berth_cycle_cluster(cycle) || berth_pod_request(berth_cycle_info(cycle), 0)))
        return BERTH_REJECT(BERTH_ERROR, "there is a cluster");
    if (is(cycle, "pre-bind-kept"))
        return berth_reject(berth_cycle_arena(cycle), BERTH_ERROR, "it sees %u nodes", berth_nodes(kept).len);
    return is(cycle, "pre-bind-wait") ? berth_verdict(BERTH_WAIT) : BERTH_OK;
}

static const struct berth_event_rule events[] = { { BERTH_EVENT_NODE, BERTH_ADD, NULL }, { 0 } };

static const struct berth_plugin mistakes = {
    .name = "Mistakes",
    .init = init,
    .pre_enqueue = pre_enqueue,
    .pre_filter = pre_filter,
    .filter = filter,
    .post_filter = post_filter,
    .pre_score = pre_score,
    .score = score,
    .reserve = reserve,
    .unreserve = unreserve,
    .permit = permit,
    .pre_bind_pre_flight = pre_bind_pre_flight,
    .pre_bind = pre_bind,
    .events = events,
};

BERTH_PLUGINS(&mistakes)
