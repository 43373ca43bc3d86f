/* run.c: the plain path. Texts of failures are the reference's. */
#include "framework/run.h"

#include <stdlib.h>
#include <string.h>

#include "framework/blocking_work.h"
#include "framework/probe.h"

void cycle_init(struct cycle *cycle, const struct profile *profile, struct cluster *cluster,
                struct pod_info *pod, struct arena *arena)
{
    *cycle = (struct cycle){ .profile = profile,
                             .cluster = cluster,
                             .info = pod,
                             .pod = pod->api,
                             .arena = arena,
                             .probe = profile->probe };
}

void cycle_release(struct cycle *cycle)
{
    work_release(cycle); /* what it leaves behind is to be forgotten */
    for (uint32_t i = 0; i < cycle->profile->plugins_len; i++) {
        const struct plugin *plugin = cycle->profile->plugins[i].plugin;
        if (cycle->states[i] && plugin->forget)
            plugin->forget(cycle->states[i]);
        cycle->states[i] = NULL;
    }
}

void cycle_reset(struct cycle *cycle)
{
    cycle_release(cycle);
    cycle->skip_filter = cycle->skip_score = 0;
}

#define for_plugins(profile, point, instance) \
    for (struct plugin_instance *const *at_ = (profile)->points[point].items, *instance = NULL; \
         at_ && at_ != (profile)->points[point].items + (profile)->points[point].len && \
         (instance = *at_, 1); \
         at_++)

static uint64_t bit_of(const struct plugin_instance *instance)
{
    return (uint64_t)1 << instance->index;
}

static inline struct status checked(struct cycle *cycle, struct status status)
{
    return status_ok(status) ? status : status_checked(status, cycle->arena);
}

/* Why a status is an error: its reasons, or that its code has no meaning at this extension point. */
static struct str complaint(struct cycle *cycle, struct status status)
{
    if (status.len)
        return status_message(status, cycle->arena);
    return arena_printf(cycle->arena, "%s is no answer here", status_code_name(status.code));
}

struct status run_pre_enqueue(const struct profile *profile, const struct pod *pod, bool is_preempting,
                              struct arena *arena)
{
    for_plugins(profile, POINT_PRE_ENQUEUE, instance) {
        if (instance->plugin->gates_preemptors && !is_preempting)
            continue;
        struct status status = instance->plugin->pre_enqueue(instance->self, pod, arena);
        if (!status_ok(status)) {
            status = status_checked(status, arena);
            status.plugin = instance->plugin;
            return status;
        }
    }
    return STATUS_OK;
}

/* ---- PreFilter ---- */
/* Both are sorted; what is in both stays. */
static void names_intersect(struct node_names *into, const struct node_names *other)
{
    if (other->all)
        return;
    if (into->all) {
        *into = *other;
        return;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0, k = 0; i < into->len && k < other->len;) {
        int order = str_cmp(into->items[i], other->items[k]);
        if (order == 0)
            into->items[kept++] = into->items[i];
        i += order <= 0;
        k += order >= 0;
    }
    into->len = kept;
}

static struct status narrowed_to_nothing(const struct cycle *cycle, uint64_t mask)
{
    bool one = (mask & (mask - 1)) == 0;
    struct str names = profile_plugin_names(cycle->profile, mask, cycle->arena);
    if (one)
        return status_printf(cycle->arena, STATUS_UNRESOLVABLE, "node(s) didn't satisfy plugin " STR_FMT,
                             STR_ARG(names));
    return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                         "node(s) didn't satisfy plugin(s) [" STR_FMT "] simultaneously", STR_ARG(names));
}

struct status run_pre_filter(struct cycle *cycle, struct node_names *ret_names, uint64_t *ret_blamed)
{
    struct status result = STATUS_OK;
    *ret_names = (struct node_names){ .all = true };
    *ret_blamed = 0;
    for_plugins(cycle->profile, POINT_PRE_FILTER, instance) {
        struct node_names names = { .all = true };
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        struct status status = checked(cycle, instance->plugin->pre_filter(cycle, &names));
        probe_called(cycle, instance, PROBE_PRE_FILTER, status.code, 1, called_ns);
        if (status.code == STATUS_SKIP) {
            cycle->skip_filter |= bit_of(instance);
            continue;
        }
        probe_evaluated(cycle, instance, PROBE_PRE_FILTER, 1);
        status.plugin = instance->plugin;
        if (status.code == STATUS_UNRESOLVABLE) {
            *ret_blamed = 0;
            return status;
        }
        if (status.code == STATUS_UNSCHEDULABLE) {
            result = status;
            continue;
        }
        if (!status_ok(status)) {
            struct str text = complaint(cycle, status);
            struct status error =
                status_printf(cycle->arena, STATUS_ERROR, "running PreFilter plugin \"%s\": " STR_FMT,
                              instance->plugin->name, STR_ARG(text));
            error.plugin = instance->plugin;
            *ret_blamed = 0;
            return error;
        }
        if (!names.all)
            *ret_blamed |= bit_of(instance);
        names_intersect(ret_names, &names);
        if (!ret_names->all && !ret_names->len)
            return narrowed_to_nothing(cycle, *ret_blamed);
    }
    return result;
}

/* ---- Filter ---- */
struct status run_filters(struct cycle *cycle, struct node_view node)
{
    for_plugins(cycle->profile, POINT_FILTER, instance) {
        if (cycle->skip_filter & bit_of(instance))
            continue;
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        struct status status = checked(cycle, instance->plugin->filter(cycle, node));
        probe_called(cycle, instance, PROBE_FILTER, status.code, 1, called_ns);
        probe_evaluated(cycle, instance, PROBE_FILTER, 1);
        if (status_ok(status))
            continue;
        if (!status_rejected(status)) {
            struct str text = complaint(cycle, status);
            status = status_printf(cycle->arena, STATUS_ERROR, "running \"%s\" filter plugin: " STR_FMT,
                                   instance->plugin->name, STR_ARG(text));
        }
        status.plugin = instance->plugin;
        return status;
    }
    return STATUS_OK;
}

static void run_change_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node, bool add)
{
    for_plugins(cycle->profile, POINT_PRE_FILTER, instance) {
        const struct plugin *plugin = instance->plugin;
        if (cycle->skip_filter & bit_of(instance) || !plugin->add_pod)
            continue;
        cycle->current = instance;
        (add ? plugin->add_pod : plugin->remove_pod)(cycle, pod, node);
    }
}

void run_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    run_change_pod(cycle, pod, node, true);
}

void run_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    run_change_pod(cycle, pod, node, false);
}

static bool is_at_least_as_important(const struct pod_info *other, const struct pod_info *pod)
{
    return other != pod && other->priority >= pod->priority &&
           !str_eq(other->api->meta.uid, pod->api->meta.uid);
}

bool row_has_rivals(const struct cluster *cluster, uint32_t row, const struct pod_info *pod)
{
    vec_for(&cluster->nodes.items[row].nominated, rival)
        if (is_at_least_as_important(*rival, pod))
            return true;
    return false;
}

struct status run_filters_with_rivals(struct cycle *cycle, uint32_t row, struct node_overlay *overlay)
{
    const pod_vec *nominated = &cycle->cluster->nodes.items[row].nominated;
    struct node_view view = { cycle->cluster, row, overlay };
    vec_for(nominated, rival) {
        if (!is_at_least_as_important(*rival, cycle->info))
            continue;
        overlay_add(overlay, *rival);
        run_add_pod(cycle, *rival, view);
    }
    struct status status = run_filters(cycle, view);
    for (size_t i = nominated->len; i-- > 0;) {
        if (!is_at_least_as_important(nominated->items[i], cycle->info))
            continue;
        overlay_remove(overlay, nominated->items[i]);
        run_remove_pod(cycle, nominated->items[i], view);
    }
    return status;
}

struct status run_filters_nominated(struct cycle *cycle, uint32_t row)
{
    if (row_has_rivals(cycle->cluster, row, cycle->info)) {
        struct node_overlay overlay;
        overlay_init(&overlay, cycle->cluster, row, cycle->arena);
        struct status status = run_filters_with_rivals(cycle, row, &overlay);
        overlay_release(&overlay);
        if (!status_ok(status))
            return status;
    }
    return run_filters(cycle, (struct node_view){ cycle->cluster, row, NULL });
}

/* Leaves each victim once. Returns why they cannot be evicted, or NULL. */
static const char *check_victims(struct cycle *cycle, struct post_filter_result *result)
{
    struct pod_info **once = arena_array(cycle->arena, struct pod_info *, result->victims_len);
    uint32_t len = 0;
    for (uint32_t i = 0; i < result->victims_len; i++) {
        if (!result->victims || !result->victims[i])
            return "names victims that are not there";
        if (result->victims[i] == cycle->info)
            return "names the pod itself as a victim";
        uint32_t at = 0;
        while (at < len && once[at] != result->victims[i])
            at++;
        once[at] = result->victims[i];
        len += at == len;
    }
    result->victims = once;
    result->victims_len = len;
    return NULL;
}

/* A nomination must name a node, and its victims must exist; otherwise there is none. Nor is there one
 * of a plugin that failed. */
static struct status check_nomination(struct cycle *cycle, struct status status,
                                      struct post_filter_result *result)
{
    const struct cluster *cluster = cycle->cluster;
    const struct post_filter_result none = { .nominated_row = ROW_NONE };
    uint32_t row = result->nominated_row;
    const char *wrong = NULL;
    if (!status_ok(status) && !status_rejected(status)) {
        *result = none;
        return status;
    }
    if (row != ROW_NONE && (row >= cluster->nodes.len || !cluster->nodes.items[row].api))
        wrong = "nominates a node that is not there";
    else if (result->victims_len)
        wrong = check_victims(cycle, result);
    if (!wrong)
        return status;
    *result = none;
    return status_printf(cycle->arena, STATUS_ERROR, "%s", wrong);
}

static struct status ask_post_filters(struct cycle *cycle, struct diagnosis *diagnosis,
                                      struct post_filter_result *ret)
{
    *ret = (struct post_filter_result){ .nominated_row = ROW_NONE };
    VEC(struct str) reasons = { 0 };
    struct status rejected = { .code = STATUS_UNSCHEDULABLE };
    for_plugins(cycle->profile, POINT_POST_FILTER, instance) {
        struct post_filter_result result = { .nominated_row = ROW_NONE };
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        struct status status = checked(cycle, instance->plugin->post_filter(cycle, diagnosis, &result));
        status = check_nomination(cycle, status, &result);
        probe_called(cycle, instance, PROBE_POST_FILTER, status.code, 1, called_ns);
        status.plugin = instance->plugin;
        bool final = status_ok(status) || !status_rejected(status) || status.code == STATUS_UNRESOLVABLE;
        if (final || result.clear_nomination)
            *ret = result;
        if (final) {
            vec_release(&reasons);
            return status;
        }
        for (uint32_t i = 0; i < status.len; i++)
            *vec_push(&reasons) = status.reasons[i];
        if (!rejected.plugin)
            rejected.plugin = instance->plugin;
    }
    struct str *kept = arena_array(cycle->arena, struct str, reasons.len);
    if (reasons.len)
        memcpy(kept, reasons.items, reasons.len * sizeof(*kept));
    rejected.reasons = kept;
    rejected.len = (uint32_t)reasons.len;
    vec_release(&reasons);
    return rejected;
}

struct status run_post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                              struct post_filter_result *ret)
{
    int64_t begun_ns = probe_now(cycle->probe);
    struct status status = ask_post_filters(cycle, diagnosis, ret);
    probe_point(cycle->probe, cycle->profile, PROBE_POST_FILTER, status.code, begun_ns);
    return status;
}

/* ---- Score ---- */
static struct status run_pre_score(struct cycle *cycle, struct row_list rows)
{
    cycle->feasible = rows;
    for_plugins(cycle->profile, POINT_PRE_SCORE, instance) {
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        struct status status = checked(cycle, instance->plugin->pre_score(cycle, rows));
        probe_called(cycle, instance, PROBE_PRE_SCORE, status.code, 1, called_ns);
        if (status.code == STATUS_SKIP) {
            cycle->skip_score |= bit_of(instance);
            continue;
        }
        probe_evaluated(cycle, instance, PROBE_PRE_SCORE, 1);
        if (!status_ok(status)) {
            struct str text = complaint(cycle, status);
            return status_printf(cycle->arena, STATUS_ERROR, "running PreScore plugin \"%s\": " STR_FMT,
                                 instance->plugin->name, STR_ARG(text));
        }
    }
    return STATUS_OK;
}

/* One plugin over all rows: raw scores, normalised, weighted into column p of the table. */
static struct status run_score_plugin(struct cycle *cycle, const struct plugin_instance *instance, uint32_t p,
                                      struct score_table *table, int64_t *column)
{
    const struct plugin *plugin = instance->plugin;
    cycle->current = instance;
    int64_t called_ns = probe_call(cycle);
    probe_evaluated(cycle, instance, PROBE_SCORE, table->rows.len);
    for (uint32_t i = 0; i < table->rows.len; i++) {
        struct node_view node = { cycle->cluster, table->rows.items[i], NULL };
        struct status status = checked(cycle, plugin->score(cycle, node, &column[i]));
        if (!status_ok(status)) {
            probe_called(cycle, instance, PROBE_SCORE, status.code, 1, called_ns);
            struct str text = complaint(cycle, status);
            return status_printf(cycle->arena, STATUS_ERROR,
                                 "running Score plugins: plugin \"%s\" failed with: " STR_FMT, plugin->name,
                                 STR_ARG(text));
        }
    }
    probe_called(cycle, instance, PROBE_SCORE, STATUS_SUCCESS, table->rows.len, called_ns);
    if (plugin->normalize)
        plugin->normalize(cycle, column, table->rows.len);
    for (uint32_t i = 0; i < table->rows.len; i++) {
        if (column[i] < 0 || column[i] > SCORE_MAX)
            return status_printf(
                cycle->arena, STATUS_ERROR,
                "applying score defaultWeights on Score plugins: plugin \"%s\" returns an invalid "
                "score %lld, it should in the range of [0, %d] after normalizing",
                plugin->name, (long long)column[i], SCORE_MAX);
        table->scores[(size_t)i * table->plugins + p] = column[i] * instance->weight;
        table->totals[i] += column[i] * instance->weight;
    }
    return STATUS_OK;
}

static struct status ask_scorers(struct cycle *cycle, struct score_table *ret)
{
    int64_t *column = arena_array(cycle->arena, int64_t, ret->rows.len);
    uint32_t p = 0;
    for_plugins(cycle->profile, POINT_SCORE, instance) {
        if (!(cycle->skip_score & bit_of(instance))) {
            struct status status = run_score_plugin(cycle, instance, p, ret, column);
            if (!status_ok(status))
                return status;
        }
        p++;
    }
    return STATUS_OK;
}

struct status run_scores(struct cycle *cycle, struct row_list rows, struct score_table *ret)
{
    uint32_t plugins = cycle->profile->points[POINT_SCORE].len;
    *ret = (struct score_table){
        .rows = rows,
        .plugins = plugins,
        .scores = arena_array(cycle->arena, int64_t, (size_t)rows.len *plugins),
        .totals = arena_array(cycle->arena, int64_t, rows.len),
    };
    if (!plugins) { /* without scorers every node is worth one */
        for (uint32_t i = 0; i < rows.len; i++)
            ret->totals[i] = 1;
        return STATUS_OK;
    }
    int64_t begun_ns = probe_now(cycle->probe);
    struct status status = run_pre_score(cycle, rows);
    probe_point(cycle->probe, cycle->profile, PROBE_PRE_SCORE, status.code, begun_ns);
    if (!status_ok(status))
        return status;
    begun_ns = probe_now(cycle->probe);
    status = ask_scorers(cycle, ret);
    probe_point(cycle->probe, cycle->profile, PROBE_SCORE, status.code, begun_ns);
    return status;
}

/* ---- Reserve to PostBind ---- */
/* What a plugin's status becomes as the status of the extension point. */
static struct status point_status(struct cycle *cycle, struct status status, const char *point)
{
    const struct plugin *plugin = cycle->current->plugin;
    if (status.code == STATUS_WAIT || status_ok(status))
        return status;
    if (!status_rejected(status)) {
        struct str text = complaint(cycle, status);
        status = status_printf(cycle->arena, STATUS_ERROR, "running %s plugin \"%s\": " STR_FMT, point,
                               plugin->name, STR_ARG(text));
    }
    status.plugin = plugin;
    return diagnosis_explained(status, cycle->arena);
}

static struct status ask_reserve(struct cycle *cycle, uint32_t row)
{
    for_plugins(cycle->profile, POINT_RESERVE, instance) {
        if (!instance->plugin->reserve)
            continue;
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        struct status status = checked(cycle, instance->plugin->reserve(cycle, row));
        probe_called(cycle, instance, PROBE_RESERVE, status.code, 1, called_ns);
        if (status.code == STATUS_WAIT)
            status = status_printf(cycle->arena, STATUS_ERROR, "Wait is no answer here");
        if (!status_ok(status) && status.code != STATUS_SKIP)
            return point_status(cycle, status, "Reserve");
    }
    return STATUS_OK;
}

struct status run_reserve(struct cycle *cycle, uint32_t row)
{
    int64_t begun_ns = probe_now(cycle->probe);
    struct status status = ask_reserve(cycle, row);
    probe_point(cycle->probe, cycle->profile, PROBE_RESERVE, status.code, begun_ns);
    return status;
}

/* In the opposite order of Reserve. */
void run_unreserve(struct cycle *cycle, uint32_t row)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_RESERVE];
    int64_t begun_ns = probe_now(cycle->probe);
    for (uint32_t i = order->len; i-- > 0;) {
        cycle->current = order->items[i];
        int64_t called_ns = probe_call(cycle);
        if (order->items[i]->plugin->unreserve)
            order->items[i]->plugin->unreserve(cycle, row);
        probe_called(cycle, order->items[i], PROBE_UNRESERVE, STATUS_SUCCESS, 1, called_ns);
    }
    probe_point(cycle->probe, cycle->profile, PROBE_UNRESERVE, STATUS_SUCCESS, begun_ns);
}

static struct status ask_permit(struct cycle *cycle, uint32_t row, struct permit_wait *ret)
{
    struct status result = STATUS_OK;
    ret->plugins = 0;
    for_plugins(cycle->profile, POINT_PERMIT, instance) {
        cycle->current = instance;
        ret->timeout_ms[instance->index] = 0;
        int64_t called_ns = probe_call(cycle);
        int64_t *timeout_ms = &ret->timeout_ms[instance->index];
        struct status status = checked(cycle, instance->plugin->permit(cycle, row, timeout_ms));
        *timeout_ms = MAX(*timeout_ms, 1); /* a plugin that gives no timeout waits for 1 ms */
        probe_called(cycle, instance, PROBE_PERMIT, status.code, 1, called_ns);
        if (status.code == STATUS_WAIT) {
            ret->plugins |= (uint64_t)1 << instance->index;
            status.plugin = instance->plugin;
            result = status;
        } else if (!status_ok(status)) {
            return point_status(cycle, status, "Permit");
        }
    }
    return result;
}

struct status run_permit(struct cycle *cycle, uint32_t row, struct permit_wait *ret)
{
    int64_t begun_ns = cycle->profile->points[POINT_PERMIT].len ? probe_now(cycle->probe) : 0;
    struct status status = ask_permit(cycle, row, ret);
    probe_point(cycle->probe, cycle->profile, PROBE_PERMIT, status.code, begun_ns);
    return status;
}

static struct status ask_pre_flights(struct cycle *cycle, uint32_t row)
{
    struct status result = STATUS_SKIPPED;
    for_plugins(cycle->profile, POINT_PRE_BIND, instance) {
        struct status status = STATUS_OK;
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        if (instance->plugin->pre_bind_pre_flight)
            status = checked(cycle, instance->plugin->pre_bind_pre_flight(cycle, row));
        probe_called(cycle, instance, PROBE_PRE_BIND_PRE_FLIGHT, status.code, 1, called_ns);
        if (status.code == STATUS_SKIP)
            cycle->skip_pre_bind |= (uint64_t)1 << instance->index;
        else if (status_ok(status))
            result = status;
        else if (status.code == STATUS_WAIT)
            return point_status(cycle, status_printf(cycle->arena, STATUS_ERROR, "Wait is no answer here"),
                                "PreBindPreFlight");
        else
            return point_status(cycle, status, "PreBindPreFlight");
    }
    return result;
}

struct status run_pre_bind_pre_flights(struct cycle *cycle, uint32_t row)
{
    int64_t begun_ns = probe_now(cycle->probe);
    struct status status = ask_pre_flights(cycle, row);
    probe_point(cycle->probe, cycle->profile, PROBE_PRE_BIND_PRE_FLIGHT, status.code, begun_ns);
    return status;
}

/* A plugin that waits is called several times: its time is that from the first call to its result. */
static void call_begins(struct cycle *cycle)
{
    if (!cycle->called_ns)
        cycle->called_ns = probe_call(cycle);
}

static void call_ends(struct cycle *cycle, enum probe_point point, enum status_code code)
{
    if (code == STATUS_WAIT)
        return;
    probe_called(cycle, cycle->current, point, code, 1, cycle->called_ns);
    cycle->called_ns = 0;
}

struct status run_pre_bind(struct cycle *cycle, uint32_t row, uint32_t *resume)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_PRE_BIND];
    for (; *resume < order->len; (*resume)++) {
        const struct plugin_instance *instance = order->items[*resume];
        if (cycle->skip_pre_bind >> instance->index & 1)
            continue;
        cycle->current = instance;
        call_begins(cycle);
        struct status status = checked(cycle, instance->plugin->pre_bind(cycle, row));
        call_ends(cycle, PROBE_PRE_BIND, status.code);
        if (!status_ok(status) && status.code != STATUS_SKIP)
            return point_status(cycle, status, "PreBind");
    }
    return STATUS_OK;
}

/* The first plugin that does not skip has bound the pod, or has failed to. */
struct status run_bind(struct cycle *cycle, uint32_t row, uint32_t *resume)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_BIND];
    for (; *resume < order->len; (*resume)++) {
        cycle->current = order->items[*resume];
        call_begins(cycle);
        struct status status = checked(cycle, order->items[*resume]->plugin->bind(cycle, row));
        call_ends(cycle, PROBE_BIND, status.code);
        if (status.code != STATUS_SKIP)
            return point_status(cycle, status, "Bind");
    }
    return status_printf(cycle->arena, STATUS_ERROR,
                         "every Bind plugin left it to the next, and nobody bound the pod");
}

void run_post_bind(struct cycle *cycle, uint32_t row)
{
    int64_t begun_ns = cycle->profile->points[POINT_POST_BIND].len ? probe_now(cycle->probe) : 0;
    for_plugins(cycle->profile, POINT_POST_BIND, instance) {
        cycle->current = instance;
        int64_t called_ns = probe_call(cycle);
        instance->plugin->post_bind(cycle, row);
        probe_called(cycle, instance, PROBE_POST_BIND, STATUS_SUCCESS, 1, called_ns);
    }
    probe_point(cycle->probe, cycle->profile, PROBE_POST_BIND, STATUS_SUCCESS, begun_ns);
}
