/* plain.c: the plain path of a decision, as the specification reads. Slow, obvious, the judge of the other two. */
#include <stdlib.h>

#include "engine/decide.h"
#include "framework/extender.h"

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
            extenders_score(cycle, &scores);
            choose_best(engine, &scores, ret);
            if (engine->ranking && ret->row != ROW_NONE)
                ranking_fill(engine->ranking, cycle->profile, ret->row, ret->total, &scores);
        }
    }
}
