/* explain_scores.c: the scores of nodes, side by side: which are equal, and what made one node better than another. */
#include "whatif/explain_print.h"

#include <stdlib.h>

static int64_t extender_score(const struct score_table *scores, uint32_t place)
{
    uint64_t of_plugins = scores->plugins ? 0 : 1; /* without scorers every node has a score of one */
    for (uint32_t p = 0; p < scores->plugins; p++)
        of_plugins += (uint64_t)scores->scores[(size_t)place * scores->plugins + p];
    return (int64_t)((uint64_t)scores->totals[place] - of_plugins);
}

struct score_view explain_scores(const struct explanation *explanation, struct arena *arena)
{
    const struct plugin_order *order = &explanation->profile->points[POINT_SCORE];
    const struct score_table *scores = &explanation->scores;
    struct score_view view = { .plugins = arena_array(arena, const char *, order->len),
                               .plugins_len = order->len,
                               .has_extenders = explanation->profile->extenders,
                               .nodes = arena_array(arena, struct scored_node, scores->rows.len),
                               .len = status_ok(explanation->score_error) ? scores->rows.len : 0 };
    for (uint32_t p = 0; p < order->len; p++) {
        view.plugins[p] = order->items[p]->plugin->name;
        view.hidden |= (explanation->cycle.skip_score >> order->items[p]->index & 1) << p;
    }
    for (uint32_t i = 0; i < view.len; i++)
        view.nodes[i] = (struct scored_node){
            .name = cluster_node_name(explanation->cluster, scores->rows.items[i]),
            .is_best = explain_is_best(explanation, scores->rows.items[i]),
            .scores = &scores->scores[(size_t)i * scores->plugins],
            .extenders = extender_score(scores, i),
            .total = scores->totals[i],
        };
    return view;
}

void score_view_hide_zeros(struct score_view *view)
{
    bool extenders = false;
    uint64_t zero = UINT64_MAX;
    for (uint32_t i = 0; i < view->len; i++) {
        extenders |= view->nodes[i].extenders != 0;
        for (uint32_t p = 0; p < view->plugins_len; p++)
            zero &= ~((uint64_t)(view->nodes[i].scores[p] != 0) << p);
    }
    view->hidden |= zero;
    view->has_extenders = extenders;
}

/* ---- equal nodes ---- */
static int by_scores(const void *a, const void *b, void *context)
{
    const struct scored_node *x = a, *y = b;
    const struct score_view *view = context;
    if (x->total != y->total)
        return COMPARE(y->total, x->total);
    for (uint32_t p = 0; p < view->plugins_len; p++)
        if (x->scores[p] != y->scores[p])
            return COMPARE(y->scores[p], x->scores[p]);
    return COMPARE(y->extenders, x->extenders) ?: COMPARE(y->is_best, x->is_best);
}

static int by_scores_and_name(const void *a, const void *b, void *context)
{
    return by_scores(a, b, context)
               ?: str_cmp(((const struct scored_node *)a)->name, ((const struct scored_node *)b)->name);
}

static int by_total(const void *a, const void *b)
{
    const struct scored_node *x = a, *y = b;
    return COMPARE(y->is_best, x->is_best) ?: COMPARE(y->total, x->total) ?: str_cmp(x->name, y->name);
}

void score_view_merge(struct score_view *view)
{
    uint32_t kept = 0;
    qsort_r(view->nodes, view->len, sizeof(*view->nodes), by_scores_and_name, view);
    for (uint32_t i = 0; i < view->len; i++) {
        if (kept && by_scores(&view->nodes[kept - 1], &view->nodes[i], view) == 0)
            view->nodes[kept - 1].equals++;
        else
            view->nodes[kept++] = view->nodes[i];
    }
    view->len = kept;
    qsort(view->nodes, view->len, sizeof(*view->nodes), by_total);
}

/* ---- one node against another ---- */
struct comparison scores_compare(const struct score_view *view, const struct scored_node *a,
                                 const struct scored_node *b)
{
    struct comparison found = { .lead = a->total - b->total };
    for (uint32_t p = 0; p < view->plugins_len; p++)
        if (a->scores[p] - b->scores[p] > found.by) {
            found.by = a->scores[p] - b->scores[p];
            found.plugin = view->plugins[p];
        }
    if (a->extenders - b->extenders > found.by) {
        found.by = a->extenders - b->extenders;
        found.plugin = "extenders";
    }
    return found;
}

bool explain_runner_up(const struct explanation *explanation, const struct score_view *view,
                       const struct scored_node **ret_best, const struct scored_node **ret_next)
{
    const struct scored_node *best = NULL, *next = NULL;
    if (explanation->evaluation.own_nomination != ROW_NONE)
        return false;
    for (uint32_t i = 0; i < view->len; i++) {
        const struct scored_node *node = &view->nodes[i];
        const struct scored_node **place = node->is_best ? &best : &next;
        if (!*place || by_total(node, *place) < 0)
            *place = node;
    }
    *ret_best = best;
    *ret_next = next;
    return best && next;
}
