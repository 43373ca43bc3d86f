/* explain_node.c: one node in full: what every plugin says about it, and how it scores beside the best. */
#include "api/output.h"
#include "whatif/explain_print.h"

static struct scored_node *find_node(const struct score_view *view, struct str name)
{
    for (uint32_t i = 0; i < view->len; i++)
        if (str_eq(view->nodes[i].name, name))
            return &view->nodes[i];
    return NULL;
}

static bool is_feasible(const struct explanation *explanation)
{
    return explanation->places[explanation->asked_row] > 0;
}

/* Rejected by what is no plugin at Filter: PreFilter, or an extender. */
static bool rejects_otherwise(const struct explanation *explanation, struct status *ret)
{
    *ret = diagnosis_get(&explanation->evaluation.diagnosis, explanation->asked_row);
    if (is_feasible(explanation) || explain_is_unexamined(explanation, explanation->asked_row))
        return false;
    for (uint32_t i = 0; i < explanation->answers_len; i++)
        if (explanation->answers[i].instance->plugin == ret->plugin &&
            !status_ok(explanation->answers[i].status))
            return false;
    return !status_ok(*ret);
}

/* ---- JSON ---- */
static void put_filters(struct json_writer *json, const struct explanation *explanation)
{
    json_member_array(json, "filters");
    for (uint32_t i = 0; i < explanation->answers_len; i++) {
        const struct filter_answer *answer = &explanation->answers[i];
        struct status status = answer->is_skipped ? STATUS_SKIPPED : answer->status;
        status.plugin = answer->instance->plugin;
        json_begin_line(json);
        status_members(json, status);
        why_member(json, &(struct row_why){ answer->why, answer->why_len });
        json_end_line(json);
    }
    json_end_array(json);
}

void explain_node_member(const struct explanation *explanation, struct json_writer *json)
{
    struct status other;
    if (explanation->asked_row == ROW_NONE) {
        output_member_null(json, "node");
        return;
    }
    json_member_object(json, "node");
    json_member_str(json, "name", explanation->options.node);
    json_member_bool(json, "feasible", is_feasible(explanation));
    put_filters(json, explanation);
    json_key(json, STR("otherwise"));
    if (rejects_otherwise(explanation, &other)) {
        json_begin_line(json);
        status_members(json, other);
        json_end_line(json);
    } else {
        json_null(json);
    }
    json_end_object(json);
}

/* ---- table ---- */
static void print_verdict(const struct explanation *explanation, struct term *term)
{
    uint32_t rejecting = 0;
    struct status other;
    struct str name = explanation->options.node;
    for (uint32_t i = 0; i < explanation->answers_len; i++)
        rejecting += !status_ok(explanation->answers[i].status);
    if (is_feasible(explanation)) {
        term_paint(term, PAINT_GOOD, STR_FMT " can take it", STR_ARG(name));
        strbuf_puts(term->out, explain_is_best(explanation, explanation->asked_row)
                                   ? ", and no node is better.\n"
                                   : ", but others are better.\n");
        return;
    }
    if (explain_is_unexamined(explanation, explanation->asked_row) && !rejecting) {
        strbuf_printf(term->out, "Every plugin accepts " STR_FMT ".\n", STR_ARG(name));
        return;
    }
    term_paint(term, PAINT_BAD, STR_FMT " cannot take it", STR_ARG(name));
    if (rejecting)
        strbuf_printf(term->out, ": %s of %s %s it.\n", grouped(rejecting),
                      counted(explanation->answers_len, "plugin"), rejecting == 1 ? "rejects" : "reject");
    else
        strbuf_puts(term->out, ":\n");
    if (rejects_otherwise(explanation, &other)) {
        _cleanup_(arena_release) struct arena scratch = { 0 };
        term_wrap(term, 2, status_message(other, &scratch));
    }
}

/* Plugins that have nothing to check are named below the others. */
static void print_filters(const struct explanation *explanation, struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    _cleanup_(grid_release) struct grid grid = { 0 };
    _cleanup_(strbuf_release) struct strbuf idle = { 0 };
    grid_columns(&grid, "PLUGIN|ANSWER|WHY");
    for (uint32_t i = 0; i < explanation->answers_len; i++) {
        const struct filter_answer *answer = &explanation->answers[i];
        const char *name = answer->instance->plugin->name;
        bool fits = status_ok(answer->status);
        if (answer->is_skipped) {
            strbuf_printf(&idle, "%s%s", idle.len ? ", " : "Nothing to check for this pod: ", name);
            continue;
        }
        grid_cell(&grid, PAINT_NONE, "%s", name);
        grid_cell(&grid, fits ? PAINT_GOOD : PAINT_BAD, fits ? "fits" : "rejects");
        grid_str(&grid, PAINT_NONE, shortfall_sentence(answer->why, answer->why_len, &scratch));
    }
    if (!explanation->answers_len)
        return;
    strbuf_putc(term->out, '\n');
    grid_print(&grid, term, 2);
    if (idle.len)
        term_wrap(term, 2, strbuf_slice(&idle));
}

/* Beside the best node, or, if it is the best one, the next. */
static void print_scores(const struct explanation *explanation, struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct score_view view = explain_scores(explanation, &scratch);
    const struct scored_node *best, *next, *node = find_node(&view, explanation->options.node);
    if (!node || !explain_runner_up(explanation, &view, &best, &next))
        return;
    const struct scored_node *other = node->is_best ? next : best;
    struct scored_node pair[2] = { *node, *other };
    struct comparison found =
        node->is_best ? scores_compare(&view, node, other) : scores_compare(&view, other, node);
    view.nodes = pair;
    view.len = 2;
    score_view_hide_zeros(&view);
    strbuf_putc(term->out, '\n');
    score_view_print(&view, term, 2);
    strbuf_printf(term->out, "\nIts total is %s %s: %s made the difference, with %s %s.\n",
                  grouped(found.lead), node->is_best ? "higher than that of the next best" : "lower",
                  found.plugin, grouped(found.by), node->is_best ? "more" : "less");
}

static void print_victims(const struct explanation *explanation, struct term *term)
{
    const struct preemption *found = &explanation->preemption;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (uint32_t i = 0; i < found->candidates_len; i++) {
        const struct preempt_candidate *candidate = &found->candidates[i];
        if (candidate->row != explanation->asked_row)
            continue;
        strbuf_puts(&text, "It would fit if these pods of lower priority were evicted: ");
        for (uint32_t v = 0; v < candidate->victims_len; v++)
            strbuf_printf(&text, "%s" META_FMT, v ? ", " : "", META_ARG(&candidate->victims[v]->api->meta));
        strbuf_puts(&text, ".");
        strbuf_putc(term->out, '\n');
        term_wrap(term, 0, strbuf_slice(&text));
    }
}

void explain_table_node(const struct explanation *explanation, struct term *term)
{
    print_verdict(explanation, term);
    print_filters(explanation, term);
    print_scores(explanation, term);
    print_victims(explanation, term);
}
