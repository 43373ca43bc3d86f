/* capacity_table.c: how many more copies fit, for a person. */
#include "api/fields.h"
#include "cmd/capacity_print.h"
#include "cmd/common.h"
#include "cmd/simulate_print.h"
#include "whatif/amount.h"

enum { NODES_SHOWN = 6 };

static const struct cluster *cluster_of(const struct capacity *capacity)
{
    return &capacity->input->cluster;
}

/* "Deployment shop/web (500m cpu ...)": what a copy asks for. */
static void print_template(const struct capacity_share *share, struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    term_paint(term, PAINT_BOLD, STR_FMT " " META_FMT, STR_ARG(api_kinds[share->template->kind].kind),
               META_ARG(share->template->object));
    strbuf_puts(term->out, share->requests.len ? ": a copy needs" : ": a copy requests nothing");
    for (size_t i = 0; i < share->requests.len; i++) {
        const struct capacity_request *request = &share->requests.items[i];
        struct str amount = amount_text(request->resource, request->value, &scratch);
        strbuf_printf(term->out, "%s " STR_FMT " " STR_FMT, i ? "," : "", STR_ARG(amount),
                      STR_ARG(request->resource));
    }
    strbuf_putc(term->out, '\n');
}

/* ---- where they go ---- */
struct place {
    uint32_t row, copies;
};
typedef VEC(struct place) place_vec;

static int most_copies(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return COMPARE(y->copies, x->copies) ?: COMPARE(x->row, y->row);
}

/* "42 more copies fit, on 3 nodes: n1 (20), n2 (20), n3 (2)". */
static void print_fits(const struct capacity *capacity, const struct capacity_run *run,
                       const struct capacity_share *share, const struct capacity_view *view,
                       struct term *term)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    place_vec places = { 0 };
    for (uint32_t row = 0; row < cluster_of(capacity)->nodes.len; row++)
        if (share->copies[row])
            *vec_push(&places) = (struct place){ row, share->copies[row] };
    vec_sort(&places, most_copies);
    bool failed = !str_empty(run->stop.failed_by);
    strbuf_printf(&text, "%s more %s", share->fits || failed ? grouped((int64_t)share->fits) : "no",
                  share->fits == 1 ? "copy fits" : "copies fit");
    if (run->limited || failed)
        strbuf_printf(&text, " at least (%s)", failed ? "an error ended it" : "--max");
    if (places.len)
        strbuf_printf(&text, ", on %s:", counted(places.len, "node"));
    size_t shown = view->verbose ? places.len : MIN(places.len, (size_t)NODES_SHOWN);
    for (size_t i = 0; i < shown; i++)
        strbuf_printf(&text, "%s " STR_FMT " (%s)", i ? "," : "",
                      STR_ARG(cluster_node_name(cluster_of(capacity), places.items[i].row)),
                      grouped(places.items[i].copies));
    if (places.len > shown)
        strbuf_printf(&text, " and %s more", grouped((int64_t)(places.len - shown)));
    term_wrap(term, 2, strbuf_slice(&text));
    vec_release(&places);
}

/* ---- what stops the next one ---- */
static void print_scarce(const struct capacity *capacity, const struct capacity_scarce *scarce,
                         struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct str needs = amount_text(scarce->resource, scarce->needs, &scratch);
    struct str free = amount_text(scarce->resource, scarce->free, &scratch);
    struct str most = amount_text(scarce->resource, scarce->most, &scratch);
    if (str_empty(scarce->resource))
        return;
    strbuf_printf(&text, "Scarce: " STR_FMT ". A copy needs " STR_FMT "; %s %s less",
                  STR_ARG(scarce->resource), STR_ARG(needs), counted(scarce->nodes, "node"),
                  scarce->nodes == 1 ? "has" : "have");
    if (scarce->most_row == ROW_NONE)
        strbuf_puts(&text, ", none of them any");
    else
        strbuf_printf(&text, ": " STR_FMT " in all, at most " STR_FMT " (" STR_FMT ")", STR_ARG(free),
                      STR_ARG(most), STR_ARG(cluster_node_name(cluster_of(capacity), scarce->most_row)));
    strbuf_putc(term->out, '\n');
    term_wrap(term, 2, strbuf_slice(&text));
}

/* A copy that is not tried on any node, such as one with scheduling gates, has none. */
static void print_rejections(const struct capacity *capacity, const struct capacity_stop *stop,
                             const struct capacity_view *view, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    if (!stop->rejections.len)
        return;
    strbuf_putc(term->out, '\n');
    grid_columns(&grid, ">REJECTED|BY|WHY|SUCH AS");
    size_t shown = MIN(stop->rejections.len, (size_t)view->top);
    for (size_t i = 0; i < shown; i++) {
        const struct capacity_rejection *rejection = &stop->rejections.items[i];
        grid_count(&grid, rejection->nodes);
        grid_str(&grid, PAINT_NONE, str_empty(rejection->plugin) ? STR("-") : rejection->plugin);
        grid_str(&grid, PAINT_NONE, rejection->sentence);
        grid_str(&grid, PAINT_NONE, cluster_node_name(cluster_of(capacity), rejection->example));
    }
    grid_print(&grid, term, 2);
    if (stop->rejections.len > shown)
        term_paint(term, PAINT_DIM, "  and %s more\n", grouped((int64_t)(stop->rejections.len - shown)));
}

static void print_stop(const struct capacity *capacity, const struct capacity_stop *stop,
                       const struct capacity_view *view, struct term *term)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    if (!stop->template)
        return;
    strbuf_puts(term->out, "\n  What stops the next one");
    if (capacity->together)
        strbuf_printf(term->out, ", of " META_FMT, META_ARG(stop->template->object));
    strbuf_puts(term->out, ":\n");
    term_wrap(term, 4, attempt_sentence(stop->failed_by, stop->message, &scratch));
    if (stop->victims)
        term_paint(term, PAINT_WARN, "    It would get a node if %s left; copies do not preempt.\n",
                   counted(stop->victims, "pod of lower priority"));
    print_rejections(capacity, stop, view, term);
    print_scarce(capacity, &stop->scarce, term);
}

/* ---- one more node ---- */
static bool have_taints(const struct capacity_run *run, size_t shown)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    for (size_t i = 0; i < shown; i++)
        if (node_type_taints(&run->more.items[i].type, &scratch).len)
            return true;
    return false;
}

static void put_taints(struct grid *grid, const struct node_type *type)
{
    struct str_list taints = node_type_taints(type, &grid->arena);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (uint32_t i = 0; i < taints.len; i++)
        strbuf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(taints.items[i]));
    grid_str(grid, PAINT_NONE, taints.len ? strbuf_slice(&text) : STR("-"));
}

static void print_more(const struct capacity_run *run, const struct capacity_view *view, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    size_t shown = MIN(run->more.len, (size_t)view->top);
    if (!shown)
        return;
    strbuf_putc(term->out, '\n');
    bool with_taints = have_taints(run, shown);
    grid_columns(&grid, "ONE MORE NODE|ZONE|SUCH AS|>NOW");
    for (uint32_t i = 0; i < run->shares_len; i++) {
        struct str name = run->shares[i].template->object->name;
        grid_column(&grid, true,
                    run->shares_len == 1 ? "ADDS"
                                         : arena_printf(&grid.arena, "ADDS " STR_FMT, STR_ARG(name)).ptr);
    }
    if (with_taints)
        grid_column(&grid, false, "TAINTS");
    for (size_t i = 0; i < shown; i++) {
        const struct capacity_more *more = &run->more.items[i];
        grid_str(&grid, PAINT_NONE, str_empty(more->type.name) ? STR("-") : more->type.name);
        grid_str(&grid, PAINT_NONE, str_empty(more->type.zone) ? STR("-") : more->type.zone);
        grid_str(&grid, PAINT_NONE, more->type.of->meta.name);
        grid_count(&grid, more->type.nodes);
        for (uint32_t n = 0; n < run->shares_len; n++)
            grid_count(&grid, more->adds[n]);
        if (with_taints)
            put_taints(&grid, &more->type);
    }
    grid_print(&grid, term, 2);
    if (run->more.len > shown)
        term_paint(term, PAINT_DIM, "  and %s more types of nodes; --top shows more of them\n",
                   grouped((int64_t)(run->more.len - shown)));
}

/* ---- all of it ---- */
static void print_run(const struct capacity *capacity, const struct capacity_run *run,
                      const struct capacity_view *view, struct term *term)
{
    strbuf_putc(term->out, '\n');
    for (uint32_t i = 0; i < run->shares_len; i++) {
        print_template(&run->shares[i], term);
        print_fits(capacity, run, &run->shares[i], view, term);
    }
    if (capacity->together)
        term_paint(term, PAINT_BOLD, "%s fit%s.\n", counted(run->sets, "complete set"),
                   run->sets == 1 ? "s" : "");
    print_stop(capacity, &run->stop, view, term);
    print_more(run, view, term);
    simulate_print_totals(cluster_of(capacity), run->totals, run->totals_len, term);
}

void capacity_table(const struct capacity *capacity, const struct capacity_view *view, struct term *term)
{
    const struct simulation *simulation = &capacity->simulation;
    strbuf_printf(term->out, "%s, %s", counted(cluster_of(capacity)->live_nodes, "node"),
                  counted(capacity->input->running, "running pod"));
    if (simulation->scheduled || simulation->waiting.len)
        strbuf_printf(term->out, "; of the pods that wait, %s got a node first, and %s still %s",
                      grouped((int64_t)simulation->scheduled), grouped((int64_t)simulation->waiting.len),
                      simulation->waiting.len == 1 ? "waits" : "wait");
    strbuf_putc(term->out, '\n');
    vec_for(&capacity->runs, run)
        print_run(capacity, run, view, term);
    if (view->timing)
        strbuf_printf(term->out, "\nloading took %.3f s, deciding %.3f s\n", view->load_seconds,
                      view->decide_seconds);
}
