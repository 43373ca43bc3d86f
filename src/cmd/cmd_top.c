/* cmd_top.c: `berth top`: a running scheduler at a glance: how much it decides, how many pods wait, and its nodes by
 * use. */
#include <stdlib.h>

#include "cmd/common.h"
#include "cmd/screen.h"
#include "codec/doc.h"
#include "debug/nodes.h"
#include "debug/rates.h"

enum top_sort { SORT_CPU, SORT_MEMORY, SORT_PODS, SORT_NAME };
enum { ONCE_NODES = 20, TABLE_MARGIN = 2 /* its heading, and what is left out */, CORE_MILLI = 1000 };
enum { BAR_CELLS_MIN = 6, BAR_CELLS_MAX = 24, WIDTH_WITHOUT_BARS = 56, BARS = 2 };

struct top_settings {
    struct running running;
    int sort; /* enum top_sort */
    int64_t nodes, interval_s;
    bool once;
};

static const struct option_row rows[] = {
    RUNNING_OPTIONS(struct top_settings, running),
    { 0, "sort", "cpu|memory|pods|name", OPTION_CHOICE, offsetof(struct top_settings, sort),
      "What nodes are sorted by (default: cpu), the fullest first." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct top_settings, nodes),
      "How many nodes to show (default: as many as the screen has room for, else 20).", 1, 100000 },
    { 0, "interval", "SECONDS", OPTION_NUMBER, offsetof(struct top_settings, interval_s),
      "How often it is drawn again (default: 2).", 1, 3600 },
    { 0, "once", NULL, OPTION_FLAG, offsetof(struct top_settings, once),
      "Print it once, as where standard output is no terminal." },
    { 0 },
};

/* What is shown of a node. */
struct top_node {
    struct str name;
    struct str condition;
    double share[SORT_NAME]; /* by enum top_sort; -1: it has none of it */
    int64_t pods;
};

struct top {
    const struct top_settings *settings;
    struct running_session session;
};

/* ---- pages ---- */

static int get_page(struct top *top, const char *path, yyjson_doc **ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    int r = running_ask(&top->session, str_from(path), &body, err);
    if (r < 0)
        return r;
    *ret = yyjson_read(body.text ? body.text : "", body.len, 0);
    if (!yyjson_is_obj(yyjson_doc_get_root(*ret)))
        return error_set(err, -EBADMSG, "the answer to %s makes no sense; is that a berth scheduler?", path);
    return 0;
}

static const char *const resources[SORT_NAME] = { "cpuMilli", "memory", "pods" };

static double amount_of(yyjson_val *node, const char *which, int resource)
{
    return yyjson_get_num(yyjson_obj_get(yyjson_obj_get(node, which), resources[resource]));
}

/* Taints that say again what `ready` and `unschedulable` say. */
static bool is_said(struct str taint)
{
    static const char *const known[] = { "unschedulable", "not-ready", "unreachable" };
    if (!str_starts_with(taint, STR("node.kubernetes.io/")))
        return false;
    taint = str_slice(taint, sizeof("node.kubernetes.io/") - 1, taint.len);
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_starts_with(taint, str_from(known[i])))
            return true;
    return false;
}

/* What keeps pods away, in a few words. */
static struct str condition_of(yyjson_val *node, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    yyjson_val *taint;
    size_t i, len;
    if (yyjson_is_false(yyjson_obj_get(node, "ready")))
        strbuf_puts(&text, "not ready");
    if (yyjson_is_true(yyjson_obj_get(node, "unschedulable")))
        strbuf_printf(&text, "%scordoned", text.len ? ", " : "");
    yyjson_arr_foreach(doc_items(yyjson_obj_get(node, "taints")), i, len, taint)
        if (!is_said(str_from(yyjson_get_str(taint))))
            strbuf_printf(&text, "%s%s", text.len ? ", " : "", yyjson_get_str(taint));
    return arena_str(arena, strbuf_slice(&text));
}

static struct top_node read_node(yyjson_val *node, struct arena *arena)
{
    struct top_node found = { .name = doc_member_text(node, "name"), .condition = condition_of(node, arena) };
    for (int i = 0; i < SORT_NAME; i++) {
        double all = amount_of(node, "allocatable", i);
        found.share[i] = all > 0 ? amount_of(node, "requested", i) / all : -1;
    }
    found.pods = (int64_t)amount_of(node, "requested", SORT_PODS);
    return found;
}

static int by_use(const void *a, const void *b, void *context)
{
    const struct top_node *x = a, *y = b;
    enum top_sort sort = *(const enum top_sort *)context;
    int order = sort == SORT_NAME ? 0 : COMPARE(y->share[sort], x->share[sort]);
    return order ?: str_cmp(x->name, y->name);
}

/* ---- showing ---- */

static double number_at(yyjson_doc *doc, const char *pointer)
{
    return yyjson_get_num(yyjson_doc_ptr_get(doc, pointer));
}

static void say_rates(yyjson_doc *rates, struct term *term)
{
    term_paint(term, PAINT_BOLD, "%.1f", number_at(rates, "/rates/scheduled"));
    strbuf_printf(
        term->out,
        " pods/s scheduled, %.1f found no node, %.1f errors, in the last minute; %s since the start\n",
        number_at(rates, "/rates/unschedulable"), number_at(rates, "/rates/error"),
        grouped((int64_t)number_at(rates, "/totals/scheduled")));
    double waiting = number_at(rates, "/queue/unschedulable");
    strbuf_printf(term->out, "queue: %s active, %s in backoff, ",
                  grouped((int64_t)number_at(rates, "/queue/active")),
                  grouped((int64_t)number_at(rates, "/queue/backoff")));
    term_paint(term, waiting > 0 ? PAINT_WARN : PAINT_NONE, "%s unschedulable", grouped((int64_t)waiting));
    strbuf_printf(term->out, ", %s gated\n", grouped((int64_t)number_at(rates, "/queue/gated")));
}

static unsigned bar_cells(const struct term *term)
{
    unsigned room = term->width > WIDTH_WITHOUT_BARS ? (term->width - WIDTH_WITHOUT_BARS) / BARS : 0;
    return MIN(MAX(room, (unsigned)BAR_CELLS_MIN), (unsigned)BAR_CELLS_MAX);
}

/* "cpu     ███·····  25.0%  4 of 16 cores", over all nodes. */
static void say_totals(yyjson_val *nodes, struct term *term)
{
    static const struct {
        const char *name, *unit;
        double scale;
    } shown[] = { { "cpu", "cores", CORE_MILLI }, { "memory", "GiB", 1 << 30 }, { "pods", "", 1 } };
    for (int i = 0; i < SORT_NAME; i++) {
        double all = 0, used = 0;
        yyjson_val *node;
        size_t at, len;
        yyjson_arr_foreach(doc_items(nodes), at, len, node) {
            all += amount_of(node, "allocatable", i);
            used += amount_of(node, "requested", i);
        }
        strbuf_printf(term->out, "%-7s ", shown[i].name);
        term_bar(term, all > 0 ? used / all : 0, bar_cells(term));
        strbuf_printf(term->out, " %5.1f%%  %s of %s%s%s\n", all > 0 ? used / all * 100 : 0,
                      grouped((int64_t)(used / shown[i].scale + 0.5)),
                      grouped((int64_t)(all / shown[i].scale + 0.5)), shown[i].unit[0] ? " " : "",
                      shown[i].unit);
    }
}

static void share_cells(struct grid *grid, const struct term *term, double share)
{
    _cleanup_(strbuf_release) struct strbuf bar = { 0 };
    struct term plain = { .out = &bar, .width = term->width };
    term_bar(&plain, share, bar_cells(term));
    grid_cell(grid,
              share > 0.9   ? PAINT_BAD
              : share > 0.7 ? PAINT_WARN
                            : PAINT_GOOD,
              "%s", bar.text ? bar.text : "");
    if (share < 0)
        grid_cell(grid, PAINT_NONE, "-");
    else
        grid_cell(grid, PAINT_NONE, "%.1f%%", share * 100);
}

static void show_nodes(const struct top_node *nodes, size_t len, size_t shown, struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    grid_columns(&grid, "NODE|CPU|>|MEMORY|>|>PODS|CONDITION");
    for (size_t i = 0; i < shown; i++) {
        grid_str(&grid, PAINT_NONE, nodes[i].name);
        share_cells(&grid, term, nodes[i].share[SORT_CPU]);
        share_cells(&grid, term, nodes[i].share[SORT_MEMORY]);
        grid_count(&grid, (uint64_t)nodes[i].pods);
        grid_str(&grid, PAINT_WARN, nodes[i].condition);
    }
    struct term unfolded = *term;
    unfolded.folds = false; /* the screen cuts lines instead */
    grid_print(&grid, &unfolded, 0);
    if (shown < len)
        strbuf_printf(term->out, "... and %s more nodes\n", grouped((int64_t)(len - shown)));
}

static size_t node_lines(const struct top *top, const struct term *term, unsigned lines)
{
    unsigned used = screen_lines(strbuf_slice(term->out)) + TABLE_MARGIN;
    if (top->settings->nodes)
        return (size_t)top->settings->nodes;
    return lines ? (lines > used ? lines - used : 1) : ONCE_NODES;
}

static void show(struct top *top, yyjson_doc *rates, yyjson_doc *doc, struct term *term, unsigned lines)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    yyjson_val *root = yyjson_doc_get_root(doc), *list = yyjson_obj_get(root, "nodes"), *node;
    struct top_node *nodes = arena_array(&arena, struct top_node, yyjson_arr_size(list));
    size_t i, len, count = 0;
    yyjson_arr_foreach(doc_items(list), i, len, node)
        nodes[count++] = read_node(node, &arena);
    enum top_sort sort = (enum top_sort)top->settings->sort;
    qsort_r(nodes, count, sizeof(*nodes), by_use, &sort);
    strbuf_printf(term->out, "%s  %s  " STR_FMT "\n", top->session.server, counted(count, "node"),
                  STR_ARG(doc_member_text(root, "time")));
    say_rates(rates, term);
    strbuf_putc(term->out, '\n');
    say_totals(list, term);
    strbuf_putc(term->out, '\n');
    show_nodes(nodes, count, MIN(node_lines(top, term, lines), count), term);
}

static void doc_free(yyjson_doc **doc)
{
    yyjson_doc_free(*doc);
}

static int draw(void *user, struct term *term, unsigned lines, struct error *err)
{
    _cleanup_(doc_free) yyjson_doc *rates = NULL, *nodes = NULL;
    int r = get_page(user, VIEW_RATES_PATH, &rates, err);
    if (r == 0)
        r = get_page(user, VIEW_NODES_PATH, &nodes, err);
    if (r == 0)
        show(user, rates, nodes, term, lines);
    return r;
}

static int run(void *given, const struct texts *words _unused_)
{
    struct top top = { .settings = given };
    struct error err;
    int code = running_open(&top.settings->running, NULL, &top.session, &err) < 0
                   ? fail(EXIT_TROUBLE, &err)
                   : screen_run(&(struct screen_view){
                         .every_ms = top.settings->once ? 0 : top.settings->interval_s * 1000,
                         .draw = draw,
                         .user = &top });
    running_close(&top.session);
    return code;
}

const struct command command_top = {
    .name = "top",
    .summary = "Shows the nodes of the running scheduler by use, and its rate.",
    .usage = "[--server URL] [--sort cpu|memory|pods|name]\n                 [--interval SECONDS]",
    .purpose = "Asks a running `berth scheduler` how many pods it schedules, how many wait in which queue, "
               "and what is "
               "requested of its nodes, and shows it again every two seconds until Ctrl-C or q. Where "
               "standard output is "
               "no terminal it is printed once. NO_COLOR turns colours off.\n\n"
               "The user needs the permission to get " VIEW_NODES_PATH " and " VIEW_RATES_PATH ".",
    .examples = "  berth top --certificate-authority /var/run/kubernetes/kube-scheduler.crt\n"
                "  berth top --sort memory --interval 10\n"
                "  berth top --top 5 | cat\n",
    .options = { { rows, 0 } },
    .settings_size = sizeof(struct top_settings),
    .defaults = &(const struct top_settings){ .interval_s = 2 },
    .run = run,
};
