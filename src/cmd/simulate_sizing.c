/* simulate_sizing.c: how many nodes are needed, and which could go, as JSON and as parts of the table. */
#include <math.h>

#include "api/output.h"
#include "cmd/simulate_print.h"

/* ---- the answer ---- */

static size_t pending_before(const struct growth *growth, int64_t *ret_nodes)
{
    size_t pending = 0;
    vec_for(&growth->trials, trial)
        if (trial->nodes < growth->nodes) {
            *ret_nodes = trial->nodes;
            pending = trial->pending;
        }
    return pending;
}

static void put_growth(struct strbuf *text, const struct growth *growth)
{
    int64_t fewer = 0;
    size_t pending = pending_before(growth, &fewer);
    const char *nodes = counted((uint64_t)growth->nodes, "more node");
    if (growth->is_enough && !growth->nodes)
        strbuf_puts(text, "No more nodes are needed: every pod has one.");
    else if (growth->is_enough)
        strbuf_printf(text, "%s like " STR_FMT " %s enough for all pods; with %s, %s would wait.", nodes,
                      STR_ARG(growth->of), growth->nodes == 1 ? "is" : "are", grouped(fewer),
                      counted(pending, "pod"));
    else if (!growth->nodes)
        strbuf_printf(text, "No number of nodes like " STR_FMT " helps: %s would wait as before.",
                      STR_ARG(growth->of), counted(growth->pending, "pod"));
    else
        strbuf_printf(text, "With %s like " STR_FMT ", %s would wait; more of them do not help.", nodes,
                      STR_ARG(growth->of), counted(growth->pending, "pod"));
}

/* ---- JSON ---- */

void simulate_json_growth(const struct growth *growth, struct json_writer *json)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    put_growth(&text, growth);
    json_member_object(json, "growth");
    json_member_str(json, "text", strbuf_slice(&text));
    json_member_str(json, "of", growth->of);
    json_member_int(json, "nodes", growth->nodes);
    json_member_int(json, "pending", (int64_t)growth->pending);
    json_member_bool(json, "enough", growth->is_enough);
    json_member_array(json, "trials");
    vec_for(&growth->trials, trial) {
        json_begin_line(json);
        json_member_int(json, "nodes", trial->nodes);
        json_member_int(json, "pending", (int64_t)trial->pending);
        json_end_line(json);
    }
    json_end_array(json);
    json_end_object(json);
}

void simulate_json_removable(const struct facts *facts, const struct removable *removable,
                             struct json_writer *json)
{
    const struct cluster *cluster = &facts->simulation->input->cluster;
    json_member_object(json, "removable");
    json_member_int(json, "count", (int64_t)removable->count);
    json_member_array(json, "nodes");
    vec_for(&removable->nodes, node) {
        json_begin_line(json);
        json_member_str(json, "name", cluster_node_name(cluster, node->row));
        json_member_bool(json, "removable", node->reason == STAY_NOT);
        output_member_text(json, "reason",
                           str_from(node->reason == STAY_NOT ? NULL : stay_reason_words[node->reason]));
        json_member_int(json, "pods", (int64_t)node->pods);
        json_end_line(json);
    }
    json_end_array(json);
    json_member_object(json, "usedAfter");
    json_member_double(json, "cpu", round(removable->share[0] * 1e6) / 1e6);
    json_member_double(json, "memory", round(removable->share[1] * 1e6) / 1e6);
    json_end_object(json);
    json_end_object(json);
}

/* ---- the table ---- */

void simulate_print_growth(const struct growth *growth, struct term *term)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    put_growth(&text, growth);
    strbuf_putc(term->out, '\n');
    term_wrap(term, 0, strbuf_slice(&text));
}

static void print_stay(const struct removable *removable, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (removable->count == removable->nodes.len)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, ">NODES THAT STAY|BECAUSE");
    for (int reason = 0; reason < STAY_REASON_COUNT; reason++) {
        if (!removable->stay[reason])
            continue;
        grid_count(&grid, removable->stay[reason]);
        grid_cell(&grid, PAINT_NONE, "%s", stay_reason_texts[reason]);
    }
    grid_print(&grid, term, 2);
}

void simulate_print_removable(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    const struct removable *removable = view->removable;
    const struct cluster *cluster = &facts->simulation->input->cluster;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t shown = 0;
    strbuf_printf(&text, "%s of %s could be drained, one after the other, without a pod that waits",
                  grouped((int64_t)removable->count), counted(removable->nodes.len, "node"));
    vec_for(&removable->nodes, node)
        if (node->reason == STAY_NOT && shown++ < view->top)
            strbuf_printf(&text, "%s" STR_FMT, shown > 1 ? ", " : ": ",
                          STR_ARG(cluster_node_name(cluster, node->row)));
    if (shown > view->top)
        strbuf_printf(&text, " and %s more", grouped((int64_t)(shown - view->top)));
    strbuf_printf(
        &text,
        ". The others would have %.0f%% of their cpu and %.0f%% of their memory in use. (Tried from the "
        "emptiest node on; another order may free more.)",
        removable->share[0] * 100, removable->share[1] * 100);
    strbuf_putc(term->out, '\n');
    term_wrap(term, 0, strbuf_slice(&text));
    print_stay(removable, term);
}
