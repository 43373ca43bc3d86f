/* evaluate.c: which nodes can take the pod? PreFilter once, then the filters node after node, in the order and with the
 * stopping rule of the reference. */
#include "framework/extender.h"
#include "framework/probe.h"
#include "framework/run.h"

enum { NODES_ENOUGH_MIN = 100, PERCENTAGE_MIN = 5 };

uint32_t enough_nodes(const struct profile *profile, uint32_t all_nodes, int32_t percentage)
{
    if (percentage == EVERY_NODE)
        return all_nodes;
    if (!profile->points[POINT_SCORE].len && !extenders_decide(profile, NULL))
        return 1;
    if (all_nodes < NODES_ENOUGH_MIN)
        return all_nodes;
    if (percentage == 0) {
        percentage = 50 - (int32_t)(all_nodes / 125);
        percentage = MAX(percentage, PERCENTAGE_MIN);
    }
    uint32_t nodes = (uint32_t)((int64_t)all_nodes * percentage / 100);
    return MAX(nodes, (uint32_t)NODES_ENOUGH_MIN);
}

static void note_error(struct evaluation *evaluation, struct status status)
{
    if (status_ok(evaluation->error))
        evaluation->error = status;
}

static void reject_all(struct cycle *cycle, struct evaluation *ret)
{
    if (!status_rejected(ret->pre_filter)) {
        note_error(ret, ret->pre_filter);
        return;
    }
    ret->diagnosis.absent = ret->pre_filter;
    ret->diagnosis.pre_filter_message = status_message(ret->pre_filter, cycle->arena);
    diagnosis_blame(&ret->diagnosis, cycle->profile, ret->pre_filter);
}

static void check_row(struct cycle *cycle, uint32_t row, struct evaluation *ret)
{
    struct status status = run_filters_nominated(cycle, row);
    if (status_ok(status)) {
        ret->feasible[ret->feasible_len++] = row;
        return;
    }
    diagnosis_set(&ret->diagnosis, row, status);
    if (status.code == STATUS_ERROR)
        note_error(ret, status);
    else
        diagnosis_blame(&ret->diagnosis, cycle->profile, status);
}

static void filters_over(const struct cycle *cycle, bool failed, int64_t begun_ns)
{
    if (cycle->profile->points[POINT_FILTER].len)
        probe_point(cycle->probe, cycle->profile, PROBE_FILTER, failed ? STATUS_ERROR : STATUS_SUCCESS,
                    begun_ns);
}

uint32_t run_own_nomination(const struct cycle *cycle)
{
    uint32_t row = cluster_row(cycle->cluster, cycle->pod->status.nominated_node_name);
    if (!cycle->pod->status.nominated_node_name.len && cycle->info->nominated_row != ROW_NONE)
        row = cycle->info->nominated_row;
    return row != ROW_NONE && cycle->cluster->nodes.items[row].api ? row : ROW_NONE;
}

/* A pod that preempted others goes to the node from which it evicted them, if that still fits. */
static void check_own_nomination(struct cycle *cycle, struct evaluation *ret)
{
    uint32_t row = run_own_nomination(cycle);
    if (row == ROW_NONE)
        return;
    int64_t begun_ns = probe_now(cycle->probe);
    struct status status = run_filters_nominated(cycle, row);
    filters_over(cycle, status.code == STATUS_ERROR, begun_ns);
    if (status_ok(status)) {
        uint32_t rows[] = { row }, len = 1;
        if (status_ok(extenders_filter(cycle, rows, &len, &ret->diagnosis)) && len)
            ret->own_nomination = row;
    } else if (status.code != STATUS_ERROR) {
        diagnosis_set(&ret->diagnosis, row, status);
        diagnosis_blame(&ret->diagnosis, cycle->profile, status);
    }
}

/* The nodes that PreFilter left, in name order; names of unknown nodes are passed over. */
static const uint32_t *named_rows(struct cycle *cycle, const struct node_names *names, uint32_t *ret_len)
{
    uint32_t *rows = arena_array(cycle->arena, uint32_t, names->len);
    *ret_len = 0;
    for (uint32_t i = 0; i < names->len; i++) {
        uint32_t row = cluster_row(cycle->cluster, names->items[i]);
        if (row != ROW_NONE)
            rows[(*ret_len)++] = row;
    }
    return rows;
}

static void set_absent(struct cycle *cycle, uint64_t blamed, struct diagnosis *diagnosis)
{
    struct str names = profile_plugin_names(cycle->profile, blamed, cycle->arena);
    diagnosis->absent = status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                                      "node(s) didn't satisfy plugin(s) [" STR_FMT "]", STR_ARG(names));
    diagnosis->unschedulable_plugins |= blamed;
}

/* Extenders see what the filters left. */
static void pass_extenders(struct cycle *cycle, struct evaluation *ret)
{
    uint32_t before = ret->feasible_len;
    struct status status = extenders_filter(cycle, ret->feasible, &ret->feasible_len, &ret->diagnosis);
    if (!status_ok(status)) {
        note_error(ret, status);
        ret->feasible_len = 0;
    }
    if (ret->feasible_len != before)
        diagnosis_blame(&ret->diagnosis, cycle->profile,
                        (struct status){ .code = STATUS_UNSCHEDULABLE, .plugin = &plugin_extender });
}

void run_evaluation(struct cycle *cycle, uint32_t start, int32_t percentage, struct evaluation *ret)
{
    struct cluster *cluster = cycle->cluster;
    uint64_t blamed;
    *ret = (struct evaluation){ .own_nomination = ROW_NONE };
    diagnosis_init(&ret->diagnosis, cluster, cycle->arena);
    int64_t begun_ns = probe_now(cycle->probe);
    ret->pre_filter = run_pre_filter(cycle, &ret->names, &blamed);
    probe_point(cycle->probe, cycle->profile, PROBE_PRE_FILTER, ret->pre_filter.code, begun_ns);
    if (!status_ok(ret->pre_filter)) {
        ret->diagnosis.unschedulable_plugins = blamed;
        reject_all(cycle, ret);
        return;
    }
    check_own_nomination(cycle, ret);
    if (ret->own_nomination != ROW_NONE && percentage != EVERY_NODE)
        return;
    uint32_t len;
    const uint32_t *rows = cluster_order(cluster, &len);
    if (!ret->names.all) {
        ret->narrowed_by = blamed;
        set_absent(cycle, blamed, &ret->diagnosis);
        rows = named_rows(cycle, &ret->names, &len);
    }
    ret->feasible = arena_array(cycle->arena, uint32_t, len);
    uint32_t enough = enough_nodes(cycle->profile, len, percentage);
    begun_ns = probe_now(cycle->probe);
    for (uint32_t i = 0; i < len && ret->feasible_len < enough; i++)
        check_row(cycle, rows[(start + i) % len], ret);
    filters_over(cycle, !status_ok(ret->error), begun_ns);
    ret->examined = ret->feasible_len + ret->diagnosis.explicit_nodes;
    if (status_ok(ret->error))
        pass_extenders(cycle, ret);
}
