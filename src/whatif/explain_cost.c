/* explain_cost.c: which plugins took the time of an evaluation, and where they are from.
 *
 * Times are what calls of plugins took, without what reading the clock adds. What no plugin took is the scheduler's
 * own: going from node to node and from plugin to plugin, adding up, and reading that clock. */
#include <stdlib.h>

#include "api/output.h"
#include "whatif/explain_print.h"

static const char *const point_names[PROBE_POINT_COUNT] = {
#define X(name, text) [PROBE_##name] = text,
    PROBE_POINTS(X)
#undef X
};

struct costly {
    const struct plugin *plugin;
    const struct explain_cost *cost;
};

struct costs {
    struct costly items[PLUGINS_MAX];
    uint32_t len;
    int64_t ns, sampled_ns; /* of all plugins */
    bool any_file, any_sampled;
};

static int by_cost(const void *a, const void *b)
{
    const struct costly *x = a, *y = b;
    return COMPARE(y->cost->ns, x->cost->ns) ?: COMPARE(y->cost->sampled_ns, x->cost->sampled_ns)
                                            ?: strcmp(x->plugin->name, y->plugin->name);
}

static struct costs collect(const struct explanation *explanation)
{
    struct costs all = { 0 };
    for (uint32_t i = 0; i < explanation->profile->plugins_len; i++) {
        const struct explain_cost *cost = &explanation->costs[i];
        const struct plugin *plugin = explanation->profile->plugins[i].plugin;
        bool loaded = explain_file(explanation, plugin);
        if (!cost->calls && !cost->sampled_calls && !loaded)
            continue;
        all.items[all.len++] = (struct costly){ plugin, cost };
        all.ns += cost->ns;
        all.sampled_ns += cost->sampled_ns;
        all.any_file |= loaded;
        all.any_sampled |= cost->sampled_calls > 0;
    }
    qsort(all.items, all.len, sizeof(*all.items), by_cost);
    return all;
}

static double share(int64_t part, int64_t total)
{
    return total > 0 ? (double)part / (double)total : 0;
}

static double microseconds(int64_t ns)
{
    return (double)(ns / 100) / 10;
}

/* ---- JSON ---- */

static void put_share(struct json_writer *json, int64_t ns, int64_t total)
{
    json_member_double(json, "microseconds", microseconds(ns));
    json_member_double(json, "share", (double)(int64_t)(share(ns, total) * 10000 + 0.5) / 10000);
}

static void put_plugin(struct json_writer *json, const struct explanation *explanation,
                       const struct costs *all, const struct costly *one)
{
    const char *file = explain_file(explanation, one->plugin);
    json_begin_line(json);
    json_member_str(json, "plugin", str_from(one->plugin->name));
    output_member_text(json, "file", str_from(file ?: ""));
    json_member_array(json, "points");
    for (int point = 0; point < PROBE_POINT_COUNT; point++)
        if (one->cost->points >> point & 1)
            json_str(json, str_from(point_names[point]));
    json_end_array(json);
    json_member_int(json, "calls", (int64_t)one->cost->calls);
    put_share(json, one->cost->ns, explanation->took_ns);
    if (one->cost->sampled_calls) {
        json_member_object(json, "sampled");
        json_member_int(json, "calls", (int64_t)one->cost->sampled_calls);
        put_share(json, one->cost->sampled_ns, all->sampled_ns);
        json_end_object(json);
    } else {
        output_member_null(json, "sampled");
    }
    json_end_line(json);
}

/* The calls of a running scheduler so far, or those of this evaluation. */
static void put_extender(struct json_writer *json, const struct explanation *explanation,
                         const struct explain_extender *extender)
{
    json_begin_line(json);
    json_member_str(json, "url", extender->url);
    json_member_bool(json, "asked", extender->is_called);
    if (explanation->options.live) {
        json_member_object(json, "soFar");
        json_member_int(json, "calls", (int64_t)extender->since.calls);
        json_member_int(json, "failures", (int64_t)extender->since.failures);
        json_member_double(json, "microseconds", microseconds(extender->since.total_ns));
        json_end_object(json);
    } else if (extender->is_called) {
        json_member_int(json, "calls", (int64_t)extender->since.calls);
        json_member_int(json, "failures", (int64_t)extender->since.failures);
        put_share(json, extender->since.total_ns, explanation->took_ns);
    }
    json_end_line(json);
}

void explain_cost_member(const struct explanation *explanation, struct json_writer *json)
{
    struct costs all = collect(explanation);
    json_member_object(json, "cost");
    json_member_double(json, "microseconds", microseconds(explanation->took_ns));
    json_member_array(json, "plugins");
    for (uint32_t i = 0; i < all.len; i++)
        put_plugin(json, explanation, &all, &all.items[i]);
    json_end_array(json);
    json_member_array(json, "extenders");
    for (uint32_t i = 0; i < explanation->extenders_len; i++)
        put_extender(json, explanation, &explanation->extenders[i]);
    json_end_array(json);
    json_end_object(json);
}

/* ---- table ---- */

static void points_cell(struct grid *grid, uint32_t points)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    for (int point = 0; point < PROBE_POINT_COUNT; point++)
        if (points >> point & 1)
            strbuf_printf(&text, "%s%s", text.len ? " " : "", point_names[point]);
    grid_cell(grid, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void plugin_cells(const struct explanation *explanation, struct grid *grid, const struct costs *all,
                         const struct costly *one)
{
    const struct explain_cost *cost = one->cost;
    const char *file = explain_file(explanation, one->plugin);
    grid_cell(grid, file ? PAINT_WARN : PAINT_NONE, "%s", one->plugin->name);
    grid_cell(grid, PAINT_NONE, "%.1f", microseconds(cost->ns));
    grid_cell(grid, PAINT_NONE, "%.1f%%", 100 * share(cost->ns, explanation->took_ns));
    grid_count(grid, cost->calls);
    if (all->any_sampled)
        grid_cell(grid, PAINT_NONE, cost->sampled_calls ? "%.1f%%" : "-",
                  100 * share(cost->sampled_ns, all->sampled_ns));
    points_cell(grid, cost->points);
    if (all->any_file)
        grid_cell(grid, PAINT_DIM, "%s", file ? file : "");
}

/* Built in, and too cheap for a line of its own. */
static bool is_small(const struct explanation *explanation, const struct costs *all, const struct costly *one)
{
    return !explain_file(explanation, one->plugin) && share(one->cost->ns, explanation->took_ns) < 0.01 &&
           share(one->cost->sampled_ns, all->sampled_ns) < 0.01;
}

static void print_extender(const struct explanation *explanation, const struct explain_extender *extender,
                           struct term *term)
{
    const struct extender_share *since = &extender->since;
    double mean = since->calls ? microseconds(since->total_ns) / (double)since->calls : 0;
    term_paint(term, PAINT_WARN, "  Extender " STR_FMT, STR_ARG(extender->url));
    if (extender->is_called)
        strbuf_printf(term->out, ": %s µs (%.1f%%) in %s, %s of them failed\n",
                      grouped(since->total_ns / 1000), 100 * share(since->total_ns, explanation->took_ns),
                      counted(since->calls, "call"), grouped((int64_t)since->failures));
    else if (!explanation->options.live)
        strbuf_puts(term->out, " was not asked\n");
    else
        strbuf_printf(term->out, " was not asked here; so far %s of %s µs on average, %s failed\n",
                      counted(since->calls, "call"), grouped((int64_t)mean),
                      grouped((int64_t)since->failures));
}

void explain_table_cost(const struct explanation *explanation, struct term *term, uint32_t top)
{
    struct costs all = collect(explanation);
    _cleanup_(grid_release) struct grid grid = { 0 };
    uint32_t shown = 0, small = 0;
    strbuf_printf(term->out, "\nThis evaluation took %s µs, of which plugins took %s:\n",
                  grouped(explanation->took_ns / 1000), grouped(all.ns / 1000));
    grid_columns(&grid, "PLUGIN|>µs|>SHARE|>CALLS");
    grid_columns(&grid, all.any_sampled ? ">SO FAR|AT" : "AT");
    grid_columns(&grid, all.any_file ? "FROM" : "");
    for (uint32_t i = 0; i < all.len; i++) {
        if (is_small(explanation, &all, &all.items[i]))
            small++;
        else if (shown++ < top)
            plugin_cells(explanation, &grid, &all, &all.items[i]);
    }
    if (shown)
        grid_print(&grid, term, 2);
    if (shown > top)
        term_paint(term, PAINT_DIM, "  and %s more; --top shows more of them\n", grouped(shown - top));
    if (small)
        term_paint(term, PAINT_DIM, "  %s%u built-in one%s of less than 1%%\n", shown ? "and " : "", small,
                   small == 1 ? "" : "s");
    if (all.any_sampled)
        term_paint(term, PAINT_DIM,
                   "  SO FAR is the share of what the scheduler has sampled of its plugins\n");
    for (uint32_t i = 0; i < explanation->extenders_len; i++)
        print_extender(explanation, &explanation->extenders[i], term);
}
