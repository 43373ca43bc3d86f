/* run.c: the plain path. Texts of failures are the reference's. */
#include "framework/run.h"

#include <stdlib.h>
#include <string.h>

#include "framework/blocking_work.h"
#include "framework/probe.h"
#include "framework/weights.h"

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
    cycle->skip_filter = cycle->skip_score = cycle->zero_score = 0;
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

/* Calls a plugin: gives its status, checked, and tells the probe how long it took. */
#define CALL(cycle_, instance_, point, call) \
    ({ \
        (cycle_)->current = (instance_); \
        int64_t called_ns_ = probe_call(cycle_); \
        struct status status_ = checked(cycle_, call); \
        probe_called(cycle_, instance_, point, status_.code, 1, called_ns_); \
        status_; \
    })

/* The error of an extension point: the current plugin failed, or its status has no meaning there. */
static struct status plugin_error(struct cycle *cycle, struct status status, const char *before,
                                  const char *behind)
{
    const struct plugin *plugin = cycle->current->plugin;
    struct str why = status.len
                         ? status_message(status, cycle->arena)
                         : arena_printf(cycle->arena, "%s is no answer here", status_code_name(status.code));
    struct status error = status_printf(cycle->arena, STATUS_ERROR, "%s \"%s\"%s: " STR_FMT, before,
                                        plugin->name, behind, STR_ARG(why));
    error.plugin = plugin;
    return error;
}

struct status run_pre_enqueue(const struct profile *profile, const struct pod *pod, bool is_preempting,
                              const struct plugin *first, struct arena *arena)
{
    for (int others = !first; others <= 1; others++)
        for_plugins(profile, POINT_PRE_ENQUEUE, instance) {
            const struct plugin *plugin = instance->plugin;
            if ((plugin != first) != others || (plugin->gates_preemptors && !is_preempting))
                continue;
            struct status status = plugin->pre_enqueue(instance->self, pod, arena);
            if (!status_ok(status)) {
                status = status_checked(status, arena);
                status.plugin = plugin;
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

/* The plugins that have nothing to say about the resize of a pod. */
static uint64_t resize_skips(const struct cycle *cycle)
{
    uint64_t skips = 0;
    for (uint32_t i = 0; cycle->info->resize_deferred && i < cycle->profile->plugins_len; i++)
        if (cycle->profile->plugins[i].plugin->ignores_resizes)
            skips |= bit_of(&cycle->profile->plugins[i]);
    return skips;
}

struct status run_pre_filter(struct cycle *cycle, struct node_names *ret_names, uint64_t *ret_blamed)
{
    struct status result = STATUS_OK;
    cycle->skip_filter |= resize_skips(cycle);
    *ret_names = (struct node_names){ .all = true };
    *ret_blamed = 0;
    for_plugins(cycle->profile, POINT_PRE_FILTER, instance) {
        struct node_names names = { .all = true };
        if (cycle->skip_filter & bit_of(instance))
            continue;
        struct status status =
            CALL(cycle, instance, PROBE_PRE_FILTER, instance->plugin->pre_filter(cycle, &names));
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
            *ret_blamed = 0;
            return plugin_error(cycle, status, "running PreFilter plugin", "");
        }
        if (!names.all)
            *ret_blamed |= bit_of(instance);
        names_intersect(ret_names, &names);
        if (!ret_names->all && !ret_names->len)
            return narrowed_to_nothing(cycle, *ret_blamed);
    }
    return result;
}

void run_pre_filter_again(struct cycle *cycle)
{
    const struct probe *probe = cycle->probe;
    struct node_names names;
    uint64_t blamed;
    cycle_reset(cycle);
    cycle->probe = NULL; /* that it ran has been reported */
    (void)run_pre_filter(cycle, &names, &blamed);
    cycle->probe = probe;
}

/* ---- Filter ---- */
struct status run_filters(struct cycle *cycle, struct node_view node)
{
    for_plugins(cycle->profile, POINT_FILTER, instance) {
        if (cycle->skip_filter & bit_of(instance))
            continue;
        struct status status = CALL(cycle, instance, PROBE_FILTER, instance->plugin->filter(cycle, node));
        probe_evaluated(cycle, instance, PROBE_FILTER, 1);
        if (status_ok(status))
            continue;
        if (!status_rejected(status))
            return plugin_error(cycle, status, "running", " filter plugin");
        status.plugin = instance->plugin;
        return status;
    }
    return STATUS_OK;
}

struct status run_room_filters(struct cycle *cycle, struct node_view node)
{
    for_plugins(cycle->profile, POINT_FILTER, instance) {
        const struct plugin *plugin = instance->plugin;
        struct node_names names = { .all = true };
        if (!plugin->judges_room)
            continue;
        cycle->current = instance;
        struct status status = plugin->pre_filter ? plugin->pre_filter(cycle, &names) : STATUS_OK;
        if (status_ok(status))
            status = plugin->filter(cycle, node);
        if (!status_ok(status) && status.code != STATUS_SKIP) {
            status.plugin = plugin;
            return status;
        }
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

/* What another scheduler has announced is as good as bound. */
static bool is_at_least_as_important(const struct pod_info *other, const struct pod_info *pod)
{
    return other != pod && (other->priority >= pod->priority || other->is_foreign) &&
           !str_eq(other->api->meta.uid, pod->api->meta.uid);
}

bool row_has_rivals(const struct cluster *cluster, uint32_t row, const struct pod_info *pod)
{
    vec_for(&cluster->nodes.items[row].nominated, rival)
        if (is_at_least_as_important(*rival, pod))
            return true;
    return false;
}

void run_add_rivals(struct cycle *cycle, struct node_view node, struct node_overlay *overlay)
{
    vec_for(&cycle->cluster->nodes.items[node.row].nominated, rival) {
        if (!is_at_least_as_important(*rival, cycle->info))
            continue;
        overlay_add(overlay, *rival);
        run_add_pod(cycle, *rival, node);
    }
}

void run_remove_rivals(struct cycle *cycle, struct node_view node, struct node_overlay *overlay)
{
    const pod_vec *nominated = &cycle->cluster->nodes.items[node.row].nominated;
    for (size_t i = nominated->len; i-- > 0;) {
        if (!is_at_least_as_important(nominated->items[i], cycle->info))
            continue;
        overlay_remove(overlay, nominated->items[i]);
        run_remove_pod(cycle, nominated->items[i], node);
    }
}

struct status run_filters_with_rivals(struct cycle *cycle, uint32_t row, struct node_overlay *overlay)
{
    struct node_view view = { cycle->cluster, row, overlay };
    run_add_rivals(cycle, view, overlay);
    struct status status = run_filters(cycle, view);
    run_remove_rivals(cycle, view, overlay);
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
        if (result->nominated_row == ROW_NONE)
            return "names victims and nominates no node";
        if (result->victims[i]->row != result->nominated_row)
            return "names a victim that is not on the nominated node";
        uint32_t at = 0;
        while (at < len && once[at] != result->victims[i])
            at++;
        once[at] = result->victims[i];
        len += at == len;
    }
    result->victims_named = result->victims_len;
    result->victims = once;
    result->victims_len = len;
    return NULL;
}

/* A nomination must name a node, and its victims must be pods there; otherwise there is none: eviction elsewhere would
 * make no room for the pod. Nor is there one of a plugin that failed. */
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

static void add_reasons(struct status *to, struct status from, struct arena *arena)
{
    struct str *reasons = arena_array(arena, struct str, to->len + from.len);
    for (uint32_t i = 0; i < to->len + from.len; i++)
        reasons[i] = i < to->len ? to->reasons[i] : from.reasons[i - to->len];
    to->reasons = reasons;
    to->len += from.len;
}

/* Until a plugin makes the pod schedulable, fails, or says that no node can help. */
struct status run_post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                              struct post_filter_result *ret)
{
    struct status all = { .code = STATUS_UNSCHEDULABLE };
    int64_t begun_ns = probe_now(cycle->probe);
    *ret = (struct post_filter_result){ .nominated_row = ROW_NONE };
    for_plugins(cycle->profile, POINT_POST_FILTER, instance) {
        struct post_filter_result result = { .nominated_row = ROW_NONE };
        if (cycle->info->resize_deferred && instance->plugin->ignores_resizes)
            continue;
        struct status status =
            CALL(cycle, instance, PROBE_POST_FILTER,
                 check_nomination(cycle, instance->plugin->post_filter(cycle, diagnosis, &result), &result));
        bool final = !status_rejected(status) || status.code == STATUS_UNRESOLVABLE;
        status.plugin = instance->plugin;
        if (final || result.clear_nomination)
            *ret = result;
        if (final) {
            all = status;
            break;
        }
        add_reasons(&all, status, cycle->arena);
        if (!all.plugin)
            all.plugin = instance->plugin;
    }
    probe_point(cycle->probe, cycle->profile, PROBE_POST_FILTER, all.code, begun_ns);
    return all;
}

void report_post_filter_again(struct cycle *cycle)
{
    for_plugins(cycle->profile, POINT_POST_FILTER, instance) {
        int64_t called_ns = probe_call(cycle);
        probe_called(cycle, instance, PROBE_POST_FILTER, STATUS_UNSCHEDULABLE, 1, called_ns);
    }
    probe_point(cycle->probe, cycle->profile, PROBE_POST_FILTER, STATUS_UNSCHEDULABLE, 0);
}

/* ---- Score ---- */
struct status run_pre_score(struct cycle *cycle)
{
    cycle->skip_score |= resize_skips(cycle);
    for_plugins(cycle->profile, POINT_PRE_SCORE, instance) {
        if (cycle->skip_score & bit_of(instance))
            continue;
        struct status status = CALL(cycle, instance, PROBE_PRE_SCORE, instance->plugin->pre_score(cycle));
        if (status.code == STATUS_SKIP) {
            cycle->skip_score |= bit_of(instance);
            continue;
        }
        probe_evaluated(cycle, instance, PROBE_PRE_SCORE, 1);
        if (!status_ok(status))
            return plugin_error(cycle, status, "running PreScore plugin", "");
    }
    return STATUS_OK;
}

static struct status invalid_score(const struct cycle *cycle, const struct plugin *plugin, int64_t score)
{
    struct status error =
        status_printf(cycle->arena, STATUS_ERROR,
                      "applying score defaultWeights on Score plugins: plugin \"%s\" returns an invalid "
                      "score %lld, it should in the range of [0, %d] after normalizing",
                      plugin->name, (long long)score, SCORE_MAX);
    error.plugin = plugin;
    return error;
}

/* One plugin over all rows: raw scores, normalised, weighted into column p of the table. */
static struct status run_score_plugin(struct cycle *cycle, const struct plugin_instance *instance, uint32_t p,
                                      struct score_table *table, int64_t *column)
{
    const struct plugin *plugin = instance->plugin;
    int32_t weight = weight_in_effect(cycle->weights, instance);
    cycle->current = instance;
    int64_t called_ns = probe_call(cycle);
    probe_evaluated(cycle, instance, PROBE_SCORE, table->rows.len);
    bool at_once = table->at_once && plugin->score_nodes;
    if (at_once)
        plugin->score_nodes(cycle, table->rows, column);
    for (uint32_t i = 0; !at_once && i < table->rows.len; i++) {
        struct node_view node = { cycle->cluster, table->rows.items[i], NULL };
        /* Not copied: reading all of a status right after a part of it was written is slow. */
        struct status status = plugin->score(cycle, node, &column[i]);
        if (!status_ok(status)) {
            status = status_checked(status, cycle->arena);
            probe_called(cycle, instance, PROBE_SCORE, status.code, 1, called_ns);
            return plugin_error(cycle, status, "running Score plugins: plugin", " failed with");
        }
    }
    probe_called(cycle, instance, PROBE_SCORE, STATUS_SUCCESS, table->rows.len, called_ns);
    if (plugin->normalize)
        plugin->normalize(cycle, column, table->rows.len);
    for (uint32_t i = 0; i < table->rows.len; i++) {
        if (column[i] < 0 || column[i] > SCORE_MAX)
            return invalid_score(cycle, plugin, column[i]);
        if (table->scores)
            table->scores[(size_t)i * table->plugins + p] = column[i] * weight;
        table->totals[i] += column[i] * weight;
    }
    return STATUS_OK;
}

struct status run_scorers(struct cycle *cycle, struct score_table *table)
{
    int64_t *column = arena_array(cycle->arena, int64_t, table->rows.len);
    uint32_t p = 0;
    for_plugins(cycle->profile, POINT_SCORE, instance) {
        if (!(cycle->skip_score & bit_of(instance))) {
            struct status status = run_score_plugin(cycle, instance, p, table, column);
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
    cycle->feasible = rows;
    struct status status = run_pre_score(cycle);
    probe_point(cycle->probe, cycle->profile, PROBE_PRE_SCORE, status.code, begun_ns);
    if (!status_ok(status))
        return status;
    begun_ns = probe_now(cycle->probe);
    status = run_scorers(cycle, ret);
    probe_point(cycle->probe, cycle->profile, PROBE_SCORE, status.code, begun_ns);
    return status;
}

/* ---- Reserve to PostBind ---- */
/* What a plugin's status becomes as the status of the extension point. */
static struct status point_status(struct cycle *cycle, struct status status, const char *what)
{
    if (status.code == STATUS_WAIT || status_ok(status))
        return status;
    if (!status_rejected(status))
        return plugin_error(cycle, status, what, "");
    status.plugin = cycle->current->plugin;
    return diagnosis_explained(status, cycle->arena);
}

/* The same at a point where a plugin cannot wait. */
static struct status point_status_now(struct cycle *cycle, struct status status, const char *what)
{
    if (status.code == STATUS_WAIT)
        return plugin_error(cycle, (struct status){ .code = STATUS_WAIT }, what, "");
    return point_status(cycle, status, what);
}

struct status run_reserve(struct cycle *cycle, uint32_t row)
{
    struct status result = STATUS_OK;
    int64_t begun_ns = probe_now(cycle->probe);
    for_plugins(cycle->profile, POINT_RESERVE, instance) {
        if (!instance->plugin->reserve)
            continue;
        struct status status = CALL(cycle, instance, PROBE_RESERVE, instance->plugin->reserve(cycle, row));
        if (status_ok(status) || status.code == STATUS_SKIP)
            continue;
        result = point_status_now(cycle, status, "running Reserve plugin");
        break;
    }
    probe_point(cycle->probe, cycle->profile, PROBE_RESERVE, result.code, begun_ns);
    return result;
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

struct status run_permit(struct cycle *cycle, uint32_t row, struct permit_wait *ret)
{
    struct status result = STATUS_OK;
    int64_t begun_ns = cycle->profile->points[POINT_PERMIT].len ? probe_now(cycle->probe) : 0;
    ret->plugins = 0;
    for_plugins(cycle->profile, POINT_PERMIT, instance) {
        int64_t *timeout_ms = &ret->timeout_ms[instance->index];
        *timeout_ms = 0;
        struct status status =
            CALL(cycle, instance, PROBE_PERMIT, instance->plugin->permit(cycle, row, timeout_ms));
        *timeout_ms = MAX(*timeout_ms, 1); /* a plugin that gives no timeout waits for 1 ms */
        if (status_ok(status))
            continue;
        result = point_status(cycle, status, "running Permit plugin");
        result.plugin = instance->plugin;
        if (status.code != STATUS_WAIT)
            break;
        ret->plugins |= bit_of(instance);
    }
    probe_point(cycle->probe, cycle->profile, PROBE_PERMIT, result.code, begun_ns);
    return result;
}

struct status run_pre_bind_pre_flights(struct cycle *cycle, uint32_t row)
{
    struct status result = STATUS_SKIPPED;
    int64_t begun_ns = probe_now(cycle->probe);
    for_plugins(cycle->profile, POINT_PRE_BIND, instance) {
        const struct plugin *plugin = instance->plugin;
        struct status status =
            CALL(cycle, instance, PROBE_PRE_BIND_PRE_FLIGHT,
                 plugin->pre_bind_pre_flight ? plugin->pre_bind_pre_flight(cycle, row) : STATUS_OK);
        if (status.code == STATUS_SKIP) {
            cycle->skip_pre_bind |= bit_of(instance);
            continue;
        }
        result = point_status_now(cycle, status, "running PreBindPreFlight plugin");
        if (!status_ok(result))
            break;
    }
    probe_point(cycle->probe, cycle->profile, PROBE_PRE_BIND_PRE_FLIGHT, result.code, begun_ns);
    return result;
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
        if (cycle->skip_pre_bind & bit_of(instance))
            continue;
        cycle->current = instance;
        call_begins(cycle);
        struct status status = checked(cycle, instance->plugin->pre_bind(cycle, row));
        call_ends(cycle, PROBE_PRE_BIND, status.code);
        if (!status_ok(status) && status.code != STATUS_SKIP)
            return point_status(cycle, status, "running PreBind plugin");
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
            return point_status(cycle, status, "running Bind plugin");
    }
    return status_printf(cycle->arena, STATUS_ERROR,
                         "every Bind plugin left it to the next, and none bound the pod");
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
