/* simulate_facts.c: the tables of what a simulation comes to: where pods went, totals per resource, the fullest and the
 * emptiest nodes. */
#include "cmd/simulate_print.h"
#include "whatif/amount.h"

enum { NODES_SHOWN = 4, ENDS_SHOWN = 3 };

/* ---- where pods went ---- */

static void add_workload_name(struct grid *grid, const struct fact_workload *workload)
{
    if (str_empty(workload->name))
        grid_cell(grid, PAINT_NONE, STR_FMT " (no controller)", STR_ARG(workload->namespace));
    else
        grid_cell(grid, PAINT_NONE, STR_FMT "/" STR_FMT " (" STR_FMT ")", STR_ARG(workload->namespace),
                  STR_ARG(workload->name), STR_ARG(workload->kind));
}

/* "n1 (3), n2 and 5 more". */
static void add_nodes(struct grid *grid, const struct cluster *cluster, const struct fact_workload *workload)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (size_t i = 0; i < MIN(workload->nodes.len, (size_t)NODES_SHOWN); i++) {
        const struct fact_share *share = &workload->nodes.items[i];
        strbuf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(cluster_node_name(cluster, share->row)));
        if (share->pods > 1)
            strbuf_printf(&text, " (%s)", grouped((int64_t)share->pods));
    }
    if (workload->nodes.len > NODES_SHOWN)
        strbuf_printf(&text, " and %s more", grouped((int64_t)(workload->nodes.len - NODES_SHOWN)));
    grid_str(grid, PAINT_NONE, strbuf_slice(&text));
}

void simulate_print_workloads(const struct facts *facts, const struct simulate_view *view, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    size_t shown = MIN(facts->workloads.len, (size_t)view->top);
    if (!shown)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "WORKLOAD|>PLACED|>PENDING|NODES");
    for (size_t i = 0; i < shown; i++) {
        const struct fact_workload *workload = &facts->workloads.items[i];
        add_workload_name(&grid, workload);
        grid_count(&grid, workload->placed);
        grid_cell(&grid, workload->waiting ? PAINT_BAD : PAINT_NONE, "%s",
                  grouped((int64_t)workload->waiting));
        add_nodes(&grid, &facts->simulation->input->cluster, workload);
    }
    grid_print(&grid, term, 2);
    if (facts->workloads.len > shown)
        term_paint(term, PAINT_DIM, "  and %s more workloads; --top shows more of them\n",
                   grouped((int64_t)(facts->workloads.len - shown)));
}

void simulate_print_placements(const struct facts *facts, struct term *term)
{
    const struct simulation *simulation = facts->simulation;
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!facts->finals.len && !simulation->gated.len)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "POD|NODE");
    vec_for(&facts->finals, item) {
        const struct sim_record *record = *item;
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(&record->pod->meta));
        if (fact_is_placed(facts, record))
            grid_str(&grid, PAINT_NONE, cluster_node_name(&simulation->input->cluster, record->row));
        else
            grid_cell(&grid, PAINT_BAD, record->row == ROW_NONE ? "(pending)" : "(preempted)");
    }
    vec_for(&simulation->gated, gated) {
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(&gated->pod->meta));
        grid_cell(&grid, PAINT_BAD, "(pending)");
    }
    grid_print(&grid, term, 2);
}

/* ---- totals ---- */

/* "23.1 (24%)". */
static void add_amount(struct grid *grid, struct str resource, int64_t amount, int64_t whole)
{
    struct str text = amount_text(resource, amount, &grid->arena);
    double percent = whole > 0 ? 100 * (double)amount / (double)whole : 0;
    grid_str(grid, PAINT_NONE, arena_printf(&grid->arena, STR_FMT " (%.0f%%)", STR_ARG(text), percent));
}

static void add_hole(struct grid *grid, const struct cluster *cluster, const struct fact_total *total)
{
    struct str amount =
        amount_text(cluster->resource_names.items[total->resource], total->hole, &grid->arena);
    if (total->hole_row == ROW_NONE)
        grid_cell(grid, PAINT_WARN, "none");
    else
        grid_cell(grid, PAINT_NONE, STR_FMT " on " STR_FMT, STR_ARG(amount),
                  STR_ARG(cluster_node_name(cluster, total->hole_row)));
}

void simulate_print_totals(const struct cluster *cluster, const struct fact_total *totals, size_t len,
                           struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!len)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, "RESOURCE|>ALLOCATABLE|>BEFORE|>AFTER|>FREE|LARGEST HOLE");
    for (const struct fact_total *total = totals; total < totals + len; total++) {
        struct str name = cluster->resource_names.items[total->resource];
        grid_str(&grid, PAINT_NONE, name);
        grid_str(&grid, PAINT_NONE, amount_text(name, total->allocatable, &grid.arena));
        add_amount(&grid, name, total->before, total->allocatable_before);
        add_amount(&grid, name, total->after, total->allocatable);
        grid_str(&grid, PAINT_NONE, amount_text(name, total->free, &grid.arena));
        add_hole(&grid, cluster, total);
    }
    grid_print(&grid, term, 2);
}

/* ---- nodes ---- */

static void add_end(const struct facts *facts, size_t first, size_t len, bool backwards, struct strbuf *out)
{
    for (size_t i = 0; i < len; i++) {
        const struct fact_node *node = &facts->nodes.items[backwards ? first - i : first + i];
        strbuf_printf(out, "%s" STR_FMT " %.0f%%", i ? ", " : "",
                      STR_ARG(cluster_node_name(&facts->simulation->input->cluster, node->row)),
                      node->share * 100);
    }
}

/* How full a node is: the share in use of what it has least of. */
void simulate_print_nodes(const struct facts *facts, struct term *term)
{
    size_t len = facts->nodes.len, shown = MIN(len, (size_t)ENDS_SHOWN);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (!len)
        return;
    strbuf_puts(&text, "Fullest nodes: ");
    add_end(facts, 0, shown, false, &text);
    if (len > shown) {
        strbuf_puts(&text, "; emptiest: ");
        add_end(facts, len - 1, MIN(len - shown, (size_t)ENDS_SHOWN), true, &text);
    }
    if (facts->empty)
        strbuf_printf(&text, "; %s without pods", counted(facts->empty, "node"));
    strbuf_putc(term->out, '\n');
    term_wrap(term, 2, strbuf_slice(&text));
}
