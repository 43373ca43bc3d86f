/* simulate_compare.c: configurations side by side, as a table, JSON and CSV. */
#include <math.h>

#include "api/output.h"
#include "cmd/simulate_print.h"

static const char *name_of(const struct run_facts *run)
{
    return run->config ? run->config : "(defaults)";
}

/* ---- the table ---- */

struct figure {
    const char *name;
    void (*put)(struct grid *grid, const struct run_facts *run);
};

#define COUNT_OF(member) \
    static void put_##member(struct grid *grid, const struct run_facts *run) \
    { \
        grid_count(grid, run->member); \
    }
COUNT_OF(placed)
COUNT_OF(pending)
COUNT_OF(preempted)
COUNT_OF(decisions)
COUNT_OF(empty_nodes)
COUNT_OF(foreign)

static void put_percent(struct grid *grid, double share)
{
    grid_cell(grid, PAINT_NONE, "%.1f%%", share * 100);
}

static void put_imbalance_cpu(struct grid *grid, const struct run_facts *run)
{
    put_percent(grid, run->imbalance[0]);
}

static void put_imbalance_memory(struct grid *grid, const struct run_facts *run)
{
    put_percent(grid, run->imbalance[1]);
}

static void put_cost(struct grid *grid, const struct run_facts *run)
{
    grid_cell(grid, PAINT_NONE, "%.2f", run->cost);
}

static const struct figure figures[] = {
    { "pods placed", put_placed },
    { "pods pending", put_pending },
    { "pods of other schedulers", put_foreign },
    { "pods preempted", put_preempted },
    { "decisions", put_decisions },
    { "empty nodes", put_empty_nodes },
    { "imbalance of cpu", put_imbalance_cpu },
    { "imbalance of memory", put_imbalance_memory },
    { "cost per hour", put_cost },
};

static void print_figures(const struct runs *runs, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    bool has_cost = false, has_foreign = false;
    grid_column(&grid, false, "CONFIGURATION");
    vec_for(&runs->items, run) {
        grid_column(&grid, true, name_of(run));
        has_cost |= run->has_cost;
        has_foreign |= run->foreign;
    }
    for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
        if ((figures[i].put == put_cost && !has_cost) || (figures[i].put == put_foreign && !has_foreign))
            continue;
        grid_cell(&grid, PAINT_NONE, "%s", figures[i].name);
        vec_for(&runs->items, run)
            figures[i].put(&grid, run);
    }
    grid_print(&grid, term, 2);
}

static void print_pods(const struct runs *runs, uint32_t top, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    size_t shown = 0;
    grid_column(&grid, false, "POD");
    vec_for(&runs->items, run)
        grid_column(&grid, false, name_of(run));
    vec_for(&runs->pods, item) {
        const struct run_pod *pod = *item;
        if (!runs_differ(runs, pod) || shown++ >= top)
            continue;
        grid_cell(&grid, PAINT_NONE, META_FMT, META_ARG(pod));
        for (size_t i = 0; i < runs->items.len; i++)
            if (pod->nodes[i].len)
                grid_str(&grid, PAINT_NONE, pod->nodes[i]);
            else
                grid_cell(&grid, PAINT_BAD, pod->nodes[i].ptr ? "(pending)" : "(not decided)");
    }
    grid_print(&grid, term, 2);
    if (shown > top)
        term_paint(term, PAINT_DIM, "  and %s more pods; --top shows more of them\n",
                   grouped((int64_t)(shown - top)));
}

void runs_table(const struct runs *runs, uint32_t top, struct term *term)
{
    size_t without_price = 0;
    print_figures(runs, term);
    vec_for(&runs->items, run)
        without_price = MAX(without_price, run->has_cost ? run->without_price : 0);
    if (without_price)
        term_paint(term, PAINT_WARN, "  %s in use without a price; the cost is that of the others\n",
                   counted(without_price, "node"));
    strbuf_putc(term->out, '\n');
    if (runs->differing) {
        strbuf_printf(term->out, "%s of %s on another node:\n\n", grouped((int64_t)runs->differing),
                      counted(runs->pods.len, "pod"));
        print_pods(runs, top, term);
    } else {
        strbuf_printf(term->out, "All %s have the same nodes.\n", counted(runs->pods.len, "pod"));
    }
}

/* ---- JSON ---- */

/* More digits mean nothing. */
static double rounded(double value)
{
    return round(value * 1e6) / 1e6;
}

static void put_run(struct json_writer *json, const struct run_facts *run)
{
    const struct {
        const char *key;
        size_t value;
    } rows[] = {
        { "placed", run->placed },
        { "pending", run->pending },
        { "preempted", run->preempted },
        { "decisions", run->decisions },
        { "nodes", run->nodes },
        { "emptyNodes", run->empty_nodes },
        { "ofOtherSchedulers", run->foreign },
    };
    json_begin_line(json);
    output_member_text(json, "config", str_from(run->config));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        json_member_int(json, rows[i].key, (int64_t)rows[i].value);
    json_member_object(json, "imbalance");
    json_member_double(json, "cpu", rounded(run->imbalance[0]));
    json_member_double(json, "memory", rounded(run->imbalance[1]));
    json_end_object(json);
    if (run->has_cost)
        json_member_double(json, "costPerHour", rounded(run->cost));
    else
        output_member_null(json, "costPerHour");
    json_member_int(json, "nodesWithoutPrice", (int64_t)run->without_price);
    json_end_line(json);
}

static void put_pod(struct json_writer *json, const struct run_pod *pod, size_t len)
{
    const struct meta meta = { .namespace = pod->namespace, .name = pod->name };
    json_begin_line(json);
    output_member_name(json, "pod", &meta);
    json_member_array(json, "nodes");
    for (size_t i = 0; i < len; i++)
        if (pod->nodes[i].len)
            json_str(json, pod->nodes[i]);
        else
            json_null(json);
    json_end_array(json);
    json_end_line(json);
}

void runs_json(const struct runs *runs, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "Comparison");
    json_member_array(&json, "configurations");
    vec_for(&runs->items, run)
        put_run(&json, run);
    json_end_array(&json);
    json_member_array(&json, "pods");
    vec_for(&runs->pods, pod)
        if (runs_differ(runs, *pod))
            put_pod(&json, *pod, runs->items.len);
    json_end_array(&json);
    json_member_object(&json, "summary");
    json_member_int(&json, "pods", (int64_t)runs->pods.len);
    json_member_int(&json, "differing", (int64_t)runs->differing);
    json_end_object(&json);
    output_end(&json);
}

/* ---- CSV ---- */

void runs_csv(const struct runs *runs, struct strbuf *out)
{
    csv_field(out, STR("namespace"), false);
    csv_field(out, STR("pod"), false);
    vec_for(&runs->items, run)
        csv_field(out, str_from(name_of(run)), run + 1 == runs->items.items + runs->items.len);
    vec_for(&runs->pods, item) {
        const struct run_pod *pod = *item;
        csv_field(out, pod->namespace, false);
        csv_field(out, pod->name, false);
        for (size_t i = 0; i < runs->items.len; i++)
            csv_field(out, pod->nodes[i], i + 1 == runs->items.len);
    }
}
