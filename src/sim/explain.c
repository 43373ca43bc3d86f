/* explain.c: one cycle, looked at from all sides; see explain.h. */
#include "sim/explain.h"

#define PREEMPTION_PLUGIN "DefaultPreemption"

static void sort_rows(const struct cluster *cluster, uint32_t *rows, uint32_t len)
{
    struct named_row {
        struct str name;
        uint32_t row;
    } *named = xcalloc((size_t)len + 1, sizeof(*named));
    for (uint32_t i = 0; i < len; i++)
        named[i] = (struct named_row){ cluster_node_name(cluster, rows[i]), rows[i] };
    qsort(named, len, sizeof(*named), str_qsort_cmp); /* the name comes first in it */
    for (uint32_t i = 0; i < len; i++)
        rows[i] = named[i].row;
    free(named);
}

static void list_rows(struct explanation *ret)
{
    uint32_t len;
    const uint32_t *order = cluster_order(ret->cluster, &len);
    ret->rows = arena_array(&ret->arena, uint32_t, len);
    ret->rows_len = len;
    ret->places = arena_array(&ret->arena, uint32_t, ret->cluster->nodes.len);
    if (len)
        memcpy(ret->rows, order, len * sizeof(*order));
    sort_rows(ret->cluster, ret->rows, len);
}

/* The feasible nodes of the highest total; a pod that has a nomination that fits takes that, whatever the totals. */
static void find_best(struct explanation *ret)
{
    const struct score_table *scores = &ret->scores;
    ret->best = arena_array(&ret->arena, uint32_t, (size_t)scores->rows.len + 1);
    if (ret->evaluation.own_nomination != ROW_NONE) {
        ret->best[ret->best_len++] = ret->evaluation.own_nomination;
        return;
    }
    int64_t highest = INT64_MIN;
    for (uint32_t i = 0; i < scores->rows.len; i++) {
        if (scores->totals[i] > highest) {
            highest = scores->totals[i];
            ret->best_len = 0;
        }
        if (scores->totals[i] == highest)
            ret->best[ret->best_len++] = scores->rows.items[i];
    }
    sort_rows(ret->cluster, ret->best, ret->best_len);
}

static void score(struct explanation *ret)
{
    const struct evaluation *evaluation = &ret->evaluation;
    if (!evaluation->feasible_len)
        return;
    const struct row_list feasible = { evaluation->feasible, evaluation->feasible_len };
    ret->score_error = run_scores(&ret->cycle, feasible, &ret->scores);
    if (!status_ok(ret->score_error)) {
        ret->message = status_message(ret->score_error, &ret->arena);
        return;
    }
    for (uint32_t i = 0; i < feasible.len; i++)
        ret->places[feasible.items[i]] = i + 1;
    find_best(ret);
}

/* Runs what stands before preemption at PostFilter; a plugin there may end the search. */
static bool reaches_preemption(struct explanation *ret)
{
    const struct plugin_order *order = &ret->profile->points[POINT_POST_FILTER];
    for (uint32_t i = 0; i < order->len; i++) {
        const struct plugin *plugin = order->items[i]->plugin;
        struct post_filter_result result = { .nominated_row = ROW_NONE };
        if (strcmp(plugin->name, PREEMPTION_PLUGIN) == 0)
            return true;
        ret->cycle.current = order->items[i];
        if (plugin->post_filter(&ret->cycle, &ret->evaluation.diagnosis, &result).code !=
            STATUS_UNSCHEDULABLE)
            return false;
    }
    return false;
}

static void look_for_victims(struct explanation *ret)
{
    if (str_is(ret->cycle.pod->spec.preemption_policy, "Never") || !reaches_preemption(ret))
        return;
    ret->preempts = true;
    preempt_find(&ret->cycle, &ret->evaluation.diagnosis, (struct preempt_options){ .all_candidates = true },
                 &ret->preemption);
}

void explain_pod(struct explanation *ret, const struct profile *profile, struct cluster *cluster,
                 struct pod_info *pod)
{
    *ret = (struct explanation){ .profile = profile, .cluster = cluster };
    cycle_init(&ret->cycle, profile, cluster, pod, &ret->arena);
    ret->pre_enqueue = run_pre_enqueue(profile, pod->api, &ret->arena);
    list_rows(ret);
    if (!ret->rows_len) {
        ret->evaluation.pre_filter = STATUS_OK;
        ret->evaluation.names.all = true;
        ret->message = STR("no nodes available to schedule pods");
        return;
    }
    run_evaluation(&ret->cycle, 0, EVERY_NODE, &ret->evaluation);
    score(ret);
    if (!status_ok(ret->evaluation.error)) { /* the reference gives up the whole attempt */
        ret->best_len = 0;
        ret->message = status_message(ret->evaluation.error, &ret->arena);
        return;
    }
    if (ret->evaluation.feasible_len)
        return;
    ret->message = diagnosis_message(&ret->evaluation.diagnosis, ret->rows_len);
    look_for_victims(ret);
}

void explanation_release(struct explanation *explanation)
{
    if (explanation->profile)
        cycle_release(&explanation->cycle);
    diagnosis_release(&explanation->evaluation.diagnosis);
    arena_release(&explanation->arena);
}
