/* plain.c: the plain path of a decision, as the specification reads. Slow, obvious, the judge of the other two. */
#include <stdlib.h>

#include "base/log.h"
#include "engine/decide.h"
#include "framework/extender.h"
#include "framework/probe.h"

enum { SCORES_SHOWN = 10 };

/* Node numbers in ascending order: every path counts equal nodes in that order. */
static int by_row(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void choose_best(struct engine *engine, const struct score_table *scores, struct choice *ret)
{
    ret->total = INT64_MIN;
    for (uint32_t i = 0; i < scores->rows.len; i++) {
        if (scores->totals[i] > ret->total) {
            ret->total = scores->totals[i];
            ret->ties = 0;
        }
        ret->ties += scores->totals[i] == ret->total;
    }
    uint32_t skip = draw(engine, ret->ties);
    for (uint32_t i = 0; i < scores->rows.len; i++) {
        if (scores->totals[i] != ret->total || skip-- > 0)
            continue;
        ret->row = scores->rows.items[i];
        return;
    }
}

static struct log_value pod_ref(const struct cycle *cycle)
{
    return log_ref("pod", cycle->pod->meta.namespace, cycle->pod->meta.name);
}

/* What plugins have given to each node. Plugins that skipped have given nothing. */
static void log_scores(const struct cycle *cycle, const struct score_table *scores)
{
    const struct plugin_order *order = &cycle->profile->points[POINT_SCORE];
    for (uint32_t i = 0; i < scores->rows.len; i++) {
        struct str node = cluster_node_name(cycle->cluster, scores->rows.items[i]);
        for (uint32_t k = 0; k < order->len; k++) {
            if (cycle->skip_score >> order->items[k]->index & 1)
                continue;
            log_info(SCORES_SHOWN, "Plugin scored node for pod", pod_ref(cycle),
                     log_str("plugin", str_from(order->items[k]->plugin->name)), log_str("node", node),
                     log_int("score", scores->scores[(size_t)i * scores->plugins + k]));
        }
    }
}

static void log_totals(const struct cycle *cycle, const struct score_table *scores)
{
    for (uint32_t i = 0; i < scores->rows.len; i++)
        log_info(SCORES_SHOWN, "Calculated node's final score for pod", pod_ref(cycle),
                 log_str("node", cluster_node_name(cycle->cluster, scores->rows.items[i])),
                 log_int("score", scores->totals[i]));
}

void decide_plain(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    struct evaluation *evaluation = arena_new(cycle->arena, struct evaluation);
    uint32_t all = engine->cluster->live_nodes;
    *ret = (struct choice){ .row = ROW_NONE, .error = STATUS_OK, .path = PATH_PLAIN };
    run_evaluation(cycle, engine->next_start, engine_percentage(engine, cycle->profile), evaluation);
    ret->diagnosis = &evaluation->diagnosis;
    ret->feasible = evaluation->feasible_len;
    ret->examined = evaluation->examined;
    if (all)
        engine->next_start = (engine->next_start + evaluation->examined) % all;
    if (status_ok(evaluation->error))
        ret->filtered_ns = probe_now(engine->probe);
    if (!status_ok(evaluation->error)) {
        ret->error = evaluation->error;
    } else if (evaluation->own_nomination != ROW_NONE) {
        ret->row = evaluation->own_nomination;
        ret->examined = ret->feasible = ret->ties = 1;
    } else if (evaluation->feasible_len == 1) {
        ret->row = evaluation->feasible[0];
        ret->ties = 1;
    } else if (evaluation->feasible_len > 1) {
        qsort(evaluation->feasible, evaluation->feasible_len, sizeof(uint32_t), by_row);
        struct score_table scores;
        struct row_list rows = { evaluation->feasible, evaluation->feasible_len };
        ret->error = run_scores(cycle, rows, &scores);
        if (status_ok(ret->error)) {
            if (log_shows(SCORES_SHOWN))
                log_scores(cycle, &scores);
            extenders_score(cycle, &scores);
            if (log_shows(SCORES_SHOWN))
                log_totals(cycle, &scores);
            choose_best(engine, &scores, ret);
            if (engine->ranking && ret->row != ROW_NONE)
                ranking_fill(engine->ranking, cycle->profile, ret->row, ret->total, &scores);
        }
    }
}
