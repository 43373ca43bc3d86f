/* explain_table.c: an explanation for a person.
 *
 * First the answer in a sentence, then the nodes that could take the pod by total, then why the others cannot, most
 * frequent reason first, then which pods could be evicted for it. */
#include "base/term.h"
#include "framework/weights.h"
#include "input/input.h"
#include "policy/policies.h"
#include "whatif/explain_print.h"

/* Headings that keep the table narrow; other plugins go by their names. */
static const char *heading(const char *plugin)
{
    static const struct {
        const char *plugin, *text;
    } rows[] = {
        { "TaintToleration", "TAINTS" },   { "NodeAffinity", "NODE-AFF" },
        { "NodeResourcesFit", "FIT" },     { "VolumeBinding", "VOLUMES" },
        { "PodTopologySpread", "SPREAD" }, { "InterPodAffinity", "POD-AFF" },
        { "DynamicResources", "DEVICES" }, { "NodeResourcesBalancedAllocation", "BALANCED" },
        { "ImageLocality", "IMAGES" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (strcmp(plugin, rows[i].plugin) == 0)
            return rows[i].text;
    return plugin;
}

/* ---- the answer ---- */

static void print_best(const struct explanation *explanation, struct term *term)
{
    enum { NAMES_SHOWN = 4 };
    const char *goes = explanation->as_if_pending ? "It would go to" : "It goes to";
    uint32_t len = explanation->best_len;
    if (len > NAMES_SHOWN) {
        term_paint(term, PAINT_GOOD, "%s one of %s equally good nodes", goes, grouped(len));
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        const char *before = i == 0 ? goes : i + 1 == len ? " or" : ",";
        struct str name = cluster_node_name(explanation->cluster, explanation->best[i]);
        term_paint(term, PAINT_GOOD, "%s " STR_FMT, before, STR_ARG(name));
    }
    strbuf_puts(term->out, len > 1 ? ", equally good" : "");
}

/* Nodes that no plugin rejected before the error may be fine. */
static void print_failure(const struct explanation *explanation, struct term *term)
{
    struct str by = explanation->failed_by;
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < explanation->rows_len && status_ok(explanation->evaluation.pre_filter); i++)
        nodes += status_ok(diagnosis_get(&explanation->evaluation.diagnosis, explanation->rows[i]));
    term_paint(term, PAINT_BAD, "The attempt ends in an error");
    if (by.len)
        strbuf_printf(term->out, " of " STR_FMT, STR_ARG(by));
    strbuf_puts(term->out, ":\n");
    term_wrap(term, 2, explanation->message);
    strbuf_printf(term->out, "%s of %s had not been rejected. The pod is tried again after its backoff.\n",
                  grouped(nodes), counted(explanation->rows_len, "node"));
}

static void print_pod_why(const struct explanation *explanation, struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    const struct row_why *why = &explanation->pod_why;
    for (uint32_t i = 0; i < why->len; i++)
        term_wrap(term, 2, shortfall_sentence(&why->items[i], 1, &scratch));
}

static void print_answer(const struct explanation *explanation, struct term *term)
{
    struct strbuf *out = term->out;
    if (!status_ok(explanation->pre_enqueue)) {
        struct arena scratch = { 0 };
        term_paint(term, PAINT_WARN, "It is held back");
        strbuf_puts(out, ":\n");
        term_wrap(term, 2, status_message(explanation->pre_enqueue, &scratch));
        strbuf_puts(out, "Without that:\n\n");
        arena_release(&scratch);
    }
    if (!status_ok(explanation->failure)) {
        print_failure(explanation, term);
        return;
    }
    if (!explanation->best_len) {
        term_paint(term, PAINT_BAD, "No node can take it");
        strbuf_puts(out, ":\n");
        term_wrap(term, 2, explanation->message);
        print_pod_why(explanation, term);
        return;
    }
    print_best(explanation, term);
    strbuf_printf(out, ", of %s that can take it and %s in all.\n",
                  grouped(explanation->evaluation.feasible_len), grouped(explanation->rows_len));
    if (explanation->evaluation.own_nomination != ROW_NONE)
        strbuf_puts(out, "Other pods made room for it there, so the totals do not count.\n");
}

/* ---- a pod that has a node ---- */
/* Its node among the others: would the pod go there again? */
static void print_present(const struct explanation *explanation, struct term *term)
{
    uint32_t row = explanation->present_row;
    _cleanup_(arena_release) struct arena scratch = { 0 };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (row == ROW_NONE || !explanation->as_if_pending)
        return;
    strbuf_printf(&text, "It runs on " STR_FMT ", which ",
                  STR_ARG(cluster_node_name(explanation->cluster, row)));
    if (explain_is_unexamined(explanation, row)) {
        strbuf_puts(&text, "was not examined.");
    } else if (!explanation->places[row]) {
        const struct row_why *why = &explanation->why_of[row];
        strbuf_printf(
            &text, "could not take it again: " STR_FMT ".",
            STR_ARG(why->len ? shortfall_sentence(why->items, why->len, &scratch) : explanation->message));
    } else if (explain_is_best(explanation, row)) {
        strbuf_puts(&text, explanation->best_len > 1 ? "is one of them." : "would be chosen again.");
    } else {
        const struct score_table *scores = &explanation->scores;
        int64_t best = scores->totals[explanation->places[explanation->best[0]] - 1];
        strbuf_printf(&text, "could take it again, with a total that is %s lower.",
                      grouped(best - scores->totals[explanation->places[row] - 1]));
    }
    term_wrap(term, 0, strbuf_slice(&text));
}

/* ---- nodes that can take it ---- */

void score_view_print(const struct score_view *view, struct term *term, uint32_t top)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    bool any_equals = false;
    for (uint32_t i = 0; i < view->len; i++)
        any_equals |= view->nodes[i].equals > 0;
    grid_columns(&grid, any_equals ? "NODE|>NODES|>TOTAL" : "NODE|>TOTAL");
    for (uint32_t p = 0; p < view->plugins_len; p++)
        if (!(view->hidden >> p & 1))
            grid_column(&grid, true, heading(view->plugins[p]));
    if (view->has_extenders)
        grid_columns(&grid, ">EXTENDERS");
    for (uint32_t i = 0; i < view->len && i < top; i++) {
        const struct scored_node *node = &view->nodes[i];
        enum paint paint = node->is_best ? PAINT_GOOD : PAINT_NONE;
        grid_str(&grid, paint, node->name.len ? node->name : STR("a node that is gone"));
        if (any_equals)
            grid_count(&grid, node->equals + 1);
        grid_cell(&grid, paint, "%lld", (long long)node->total);
        for (uint32_t p = 0; p < view->plugins_len; p++)
            if (!(view->hidden >> p & 1))
                grid_cell(&grid, PAINT_NONE, "%lld", (long long)node->scores[p]);
        if (view->has_extenders)
            grid_cell(&grid, PAINT_NONE, "%lld", (long long)node->extenders);
    }
    grid_print(&grid, term, 2);
}

/* A plugin's score times its weight is what the columns show: say so where it is not 1. */
static void print_weights(const struct explanation *explanation, const struct score_view *view,
                          struct term *term)
{
    const struct plugin_order *order = &explanation->profile->points[POINT_SCORE];
    bool first = true;
    for (uint32_t p = 0; p < order->len; p++) {
        const struct plugin_instance *instance = order->items[p];
        int32_t weight = weight_in_effect(explanation->cycle.weights, instance);
        if (weight == 1 || view->hidden >> p & 1)
            continue;
        term_paint(term, PAINT_DIM, "%s%s has weight %d", first ? "  " : ", ",
                   heading(instance->plugin->name), weight);
        first = false;
    }
    if (!first)
        strbuf_putc(term->out, '\n');
}

/* Which plugin made the difference between the best node and the next one. */
static void print_runner_up(const struct explanation *explanation, const struct score_view *view,
                            struct term *term)
{
    const struct scored_node *best, *next;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (!explain_runner_up(explanation, view, &best, &next))
        return;
    struct comparison found = scores_compare(view, best, next);
    strbuf_printf(&text,
                  "%s made the difference: " STR_FMT " has %s more there than " STR_FMT
                  ", the next best, whose total is %s lower.",
                  found.plugin, STR_ARG(best->name), grouped(found.by), STR_ARG(next->name),
                  grouped(found.lead));
    strbuf_putc(term->out, '\n');
    term_wrap(term, 0, strbuf_slice(&text));
}

/* Also of plugins that had nothing to score. */
static void print_moved_weights(const struct explanation *explanation, struct term *term)
{
    const struct score_weights *weights = explanation->cycle.weights;
    for (uint32_t i = 0; weights && i < explanation->profile->plugins_len; i++) {
        const struct plugin_instance *instance = &explanation->profile->plugins[i];
        if (weights->set >> i & 1)
            strbuf_printf(term->out, "\nThe weight of %s is %d instead of %d, by %s: " STR_FMT "\n",
                          instance->plugin->name, weights->of[i], instance->weight,
                          weights->reasons[i].by->name, STR_ARG(weights->reasons[i].text));
    }
}

static void print_feasible(const struct explanation *explanation, struct term *term, uint32_t top)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct score_view view = explain_scores(explanation, &scratch);
    if (!view.len)
        return;
    score_view_hide_zeros(&view);
    score_view_merge(&view);
    strbuf_putc(term->out, '\n');
    score_view_print(&view, term, top);
    if (view.len > top)
        term_paint(term, PAINT_DIM, "  and %s more; --top shows more of them\n", grouped(view.len - top));
    print_weights(explanation, &view, term);
    print_moved_weights(explanation, term);
    print_runner_up(explanation, &view, term);
}

/* ---- nodes that cannot ---- */

static int by_nodes(const void *a, const void *b)
{
    const struct rejection *x = a, *y = b;
    return COMPARE(y->nodes, x->nodes) ?: str_cmp(x->plugin, y->plugin) ?: str_cmp(x->text, y->text);
}

void rejections_print(rejection_vec *rejections, struct term *term, uint32_t top)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!rejections->len)
        return;
    vec_sort(rejections, by_nodes);
    grid_columns(&grid, ">REJECTED|BY|WHY|SUCH AS");
    for (size_t i = 0; i < rejections->len && i < top; i++) {
        const struct rejection *rejection = &rejections->items[i];
        grid_count(&grid, rejection->nodes);
        grid_str(&grid, PAINT_NONE, rejection->plugin);
        grid_str(&grid, PAINT_NONE, rejection->text);
        grid_str(&grid, PAINT_DIM, rejection->example);
    }
    strbuf_putc(term->out, '\n');
    grid_print(&grid, term, 2);
    if (rejections->len > top)
        term_paint(term, PAINT_DIM, "  and %s\n", counted(rejections->len - top, "more reason"));
}

/* A node that PreFilter left out has no plugin of its own, nor has one that an extender rejects. */
static const char *rejected_by(const struct explanation *explanation, const struct rejected_group *group)
{
    const struct evaluation *evaluation = &explanation->evaluation;
    if (group->status.plugin)
        return group->status.plugin->name;
    if (group->why.len && group->why.items[0].plugin)
        return group->why.items[0].plugin->name;
    return evaluation->narrowed_by && !evaluation->diagnosis.status_of[group->closest] ? "PreFilter"
                                                                                       : "an extender";
}

static void print_rejections(const struct explanation *explanation, struct term *term, uint32_t top)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    const struct rejected_groups *groups = &explanation->rejections;
    rejection_vec rejections = { 0 };
    for (uint32_t i = 0; i < groups->len; i++) {
        const struct rejected_group *group = &groups->items[i];
        *vec_push(&rejections) =
            (struct rejection){ str_from(rejected_by(explanation, group)),
                                rejected_group_sentence(explanation->cluster, group, &scratch), group->nodes,
                                cluster_node_name(explanation->cluster, group->closest) };
    }
    rejections_print(&rejections, term, top);
    vec_release(&rejections);
}

/* ---- preemption ---- */

static bool is_top(const struct preemption *found, uint32_t row)
{
    for (uint32_t i = 0; i < found->top_len; i++)
        if (found->top[i] == row)
            return true;
    return false;
}

/* The nodes at the top of the ranking come first. */
static void candidate_cells(const struct explanation *explanation, struct grid *grid, bool top_ones,
                            uint32_t *left, struct arena *scratch)
{
    enum { VICTIMS_SHOWN = 3 };
    const struct preemption *found = &explanation->preemption;
    for (uint32_t i = 0; i < found->candidates_len && *left; i++) {
        const struct preempt_candidate *candidate = &found->candidates[i];
        if (is_top(found, candidate->row) != top_ones)
            continue;
        _cleanup_(strbuf_release) struct strbuf victims = { 0 };
        for (uint32_t v = 0; v < candidate->victims_len && v < VICTIMS_SHOWN; v++) {
            strbuf_puts(&victims, v ? ", " : "");
            strbuf_str(&victims, pod_full_name(candidate->victims[v]->api, scratch));
        }
        if (candidate->victims_len > VICTIMS_SHOWN)
            strbuf_printf(&victims, " and %u more", candidate->victims_len - VICTIMS_SHOWN);
        grid_str(grid, top_ones ? PAINT_GOOD : PAINT_NONE,
                 cluster_node_name(explanation->cluster, candidate->row));
        grid_cell(grid, PAINT_NONE, "%lld", (long long)candidate->pdb_violations);
        grid_str(grid, PAINT_NONE, strbuf_slice(&victims));
        (*left)--;
    }
}

static void print_preemption(const struct explanation *explanation, struct term *term, uint32_t top)
{
    const struct preemption *found = &explanation->preemption;
    if (!explanation->preempts)
        return;
    strbuf_putc(term->out, '\n');
    if (!found->candidates_len) {
        strbuf_puts(term->out, "No pod can make room for it:\n");
        term_wrap(term, 2, found->message);
        return;
    }
    strbuf_printf(term->out, "Pods of lower priority can make room on %s; %s would be chosen:\n",
                  counted(found->candidates_len, "node"),
                  found->candidates_len == 1 ? "it"
                  : found->top_len == 1      ? "the first"
                                             : "one of the equals at the top");
    _cleanup_(arena_release) struct arena scratch = { 0 };
    _cleanup_(grid_release) struct grid grid = { 0 };
    uint32_t left = top;
    grid_columns(&grid, "NODE|>BUDGETS BROKEN|PODS TO EVICT");
    candidate_cells(explanation, &grid, true, &left, &scratch);
    candidate_cells(explanation, &grid, false, &left, &scratch);
    grid_print(&grid, term, 2);
    if (found->candidates_len > top)
        term_paint(term, PAINT_DIM, "  and %s more\n", grouped(found->candidates_len - top));
}

static void print_unexamined(const struct explanation *explanation, struct term *term)
{
    uint32_t nodes = 0;
    for (uint32_t i = 0; i < explanation->rows_len; i++)
        nodes += explain_is_unexamined(explanation, explanation->rows[i]);
    if (nodes && status_ok(explanation->failure))
        strbuf_printf(term->out, "\nNo plugin examined %s: enough can take it.\n",
                      counted(nodes, "other node"));
    if (explanation->skipped_plugin)
        strbuf_printf(term->out,
                      "\n%s has a say in that too; what it does about a real pod is not tried here.\n",
                      explanation->skipped_plugin);
}

/* What it had a part in cannot be seen from the pod's object. */
static void print_policy(const struct explanation *explanation, struct term *term)
{
    const struct pod *pod = explanation->cycle.pod;
    _cleanup_(strbuf_release) struct strbuf words = { 0 }, missing = { 0 };
    policies_describe_missing(explanation->cluster, pod, &missing);
    if (pod->policy) {
        strbuf_printf(&words, "Policy " STR_FMT " (%s): ", STR_ARG(pod->policy->name),
                      policy_source_names[pod->policy_by]);
        policy_describe(policy_of(pod), &words);
        strbuf_puts(&words, missing.len ? ". " : ".");
    }
    strbuf_str(&words, strbuf_slice(&missing));
    if (!words.len)
        return;
    term_wrap(term, 0, strbuf_slice(&words));
    strbuf_putc(term->out, '\n');
}

static void print_queue(const struct explanation *explanation, struct term *term)
{
    const struct explain_options *options = &explanation->options;
    const struct pod *pod = explanation->cycle.pod;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    int32_t count = options->pods_before.value;
    if (!count)
        return;
    if (count > 1)
        strbuf_printf(&text, "%s waiting pods come before it in the queue, such as ", grouped(count));
    strbuf_printf(&text, META_FMT "%s, and may change this", META_ARG(&options->pod_before->meta),
                  count == 1 ? " comes before it in the queue" : "");
    if (options->has_turn && status_ok(explanation->pre_enqueue))
        strbuf_printf(&text, ": `berth simulate --explain " META_FMT "` explains it at its turn",
                      META_ARG(&pod->meta));
    strbuf_putc(&text, '.');
    strbuf_putc(term->out, '\n');
    term_wrap(term, 0, strbuf_slice(&text));
}

void explain_table_answer(const struct explanation *explanation, struct term *term, uint32_t top)
{
    print_policy(explanation, term);
    print_answer(explanation, term);
    print_present(explanation, term);
    if (explanation->asked_row != ROW_NONE) {
        strbuf_putc(term->out, '\n');
        explain_table_node(explanation, term);
        return;
    }
    print_feasible(explanation, term, top);
    print_rejections(explanation, term, top);
    print_preemption(explanation, term, top);
    print_unexamined(explanation, term);
    print_queue(explanation, term);
}

void explain_table(const struct explanation *explanation, struct term *term, uint32_t top)
{
    const struct pod *pod = explanation->cycle.pod;
    term_paint(term, PAINT_BOLD, META_FMT, META_ARG(&pod->meta));
    strbuf_printf(term->out, "  priority %d, scheduler ", explanation->cycle.info->priority);
    strbuf_str(term->out, explanation->profile->scheduler_name);
    strbuf_puts(term->out, "\n\n");
    explain_table_answer(explanation, term, top);
    if (explanation->options.timing)
        explain_table_cost(explanation, term, top);
}
