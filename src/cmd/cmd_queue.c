/* cmd_queue.c: `berth queue`: which pods wait in the running scheduler, where, for how long and why: for a decision, or
 * after it for permission, for what must be prepared, or for the API server. */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "cmd/common.h"
#include "cmd/screen.h"
#include "codec/doc.h"
#include "debug/waiting.h"
#include "sync/watched.h"

enum queue_output { QUEUE_TABLE, QUEUE_WIDE, QUEUE_JSON };

struct queue_settings {
    struct running running;
    const char *namespace, *queue, *plugin; /* NULL: all of them */
    int output;                             /* enum queue_output */
    int64_t top, interval_s;
    bool watch;
};

static const struct option_row rows[] = {
    RUNNING_OPTIONS(struct queue_settings, running),
    { 'n', "namespace", "NAME", OPTION_TEXT, offsetof(struct queue_settings, namespace),
      "Only pods of this namespace." },
    { 0, "queue", "NAME", OPTION_TEXT, offsetof(struct queue_settings, queue),
      "Only pods in this queue or at this stage, as the first column has it: active, backoff, "
      "unschedulable, gated, ..." },
    { 0, "plugin", "NAME", OPTION_TEXT, offsetof(struct queue_settings, plugin),
      "Only pods that this plugin rejected or holds back, or that wait for it." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct queue_settings, top),
      "How many pods to show (default: 100).", 1, 100000 },
    { 'o', "output", "table|wide|json", OPTION_CHOICE, offsetof(struct queue_settings, output),
      "How to print the answer (default: table); wide adds what the last attempt said." },
    { 'w', "watch", NULL, OPTION_FLAG, offsetof(struct queue_settings, watch),
      "Show it again in place until Ctrl-C or q. Where standard output is no terminal: once." },
    { 0, "interval", "SECONDS", OPTION_NUMBER, offsetof(struct queue_settings, interval_s),
      "How often, with --watch (default: 2).", 1, 3600 },
    { 0 },
};

extern const struct command command_queue;

enum { QUEUE_COLUMNS = 6 };
#define IN_FLIGHT "in flight" /* decided: on the other page too */

/* ---- pages ---- */

struct asking {
    const struct queue_settings *settings;
    struct running_session session;
    const char *pod; /* "NAMESPACE/NAME"; NULL: all */
};

/* What the scheduler shows: of the queues, and of those on their way. */
struct shown {
    yyjson_doc *queue, *waiting;
};

static void shown_release(struct shown *shown)
{
    yyjson_doc_free(shown->queue);
    yyjson_doc_free(shown->waiting);
}

static int get_page(struct asking *asking, const char *page, yyjson_doc **ret, struct error *err)
{
    const struct queue_settings *settings = asking->settings;
    _cleanup_(strbuf_release) struct strbuf path = { 0 }, body = { 0 };
    strbuf_printf(&path, "%s?limit=%lld", page, (long long)settings->top);
    const struct {
        const char *key, *value;
    } filters[] = { { "pod", asking->pod },
                    { "namespace", settings->namespace },
                    { "queue", settings->queue },
                    { "plugin", settings->plugin } };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        if (filters[i].value)
            watched_query(&path, filters[i].key, str_from(filters[i].value));
    int r = running_ask(&asking->session, strbuf_slice(&path), &body, err);
    if (r < 0)
        return r;
    *ret = yyjson_read(body.text ? body.text : "", body.len, 0);
    if (!yyjson_is_obj(yyjson_doc_get_root(*ret)))
        return error_set(err, -EBADMSG, "the answer to %s makes no sense; is that a berth scheduler?", page);
    return 0;
}

/* ---- showing ---- */

static double number_of(yyjson_val *object, const char *key)
{
    return yyjson_get_num(yyjson_obj_get(object, key));
}

static struct str name_of(yyjson_val *pod, struct arena *arena)
{
    return arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(doc_member_text(pod, "namespace")),
                        STR_ARG(doc_member_text(pod, "name")));
}

/* Where the pod is, its name, and since when. */
static void begin_row(struct grid *grid, yyjson_val *pod, const char *place)
{
    grid_str(grid, PAINT_NONE, doc_member_text(pod, place));
    grid_str(grid, PAINT_NONE, name_of(pod, &grid->arena));
    grid_cell(grid, PAINT_NONE, "%s", aged((int64_t)number_of(pod, "seconds")));
}

/* The plugins that rejected it, or the one that holds it back before filters run. */
static void reason_cell(struct grid *grid, yyjson_val *pod)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct str gate = doc_member_text(pod, "gate");
    size_t i, len;
    yyjson_val *plugin;
    if (gate.len)
        strbuf_printf(&text, "held back by " STR_FMT, STR_ARG(gate));
    yyjson_arr_foreach(doc_items(yyjson_obj_get(pod, "rejectedBy")), i, len, plugin) {
        struct str name = doc_text(plugin);
        if (name.len && !str_eq(name, gate))
            strbuf_printf(&text, "%s" STR_FMT, text.len ? " " : "", STR_ARG(name));
    }
    grid_cell(grid, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void add_pod(struct grid *grid, yyjson_val *pod)
{
    begin_row(grid, pod, "queue");
    grid_cell(grid, PAINT_NONE, "%.0f", number_of(pod, "attempts"));
    grid_cell(grid, PAINT_NONE, "%.0f", number_of(pod, "priority"));
    reason_cell(grid, pod);
    if (grid->columns > QUEUE_COLUMNS)
        grid_str(grid, PAINT_NONE, doc_member_text(pod, "message"));
}

/* "stage; Plugin (29s left), Other (4s left)". */
static void wait_cell(struct grid *grid, yyjson_val *pod)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t i, len;
    yyjson_val *wait;
    yyjson_arr_foreach(doc_items(yyjson_obj_get(pod, "waitsFor")), i, len, wait) {
        strbuf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(doc_member_text(wait, "plugin")));
        if (yyjson_obj_get(wait, "secondsLeft"))
            strbuf_printf(&text, " (%.0fs left)", number_of(wait, "secondsLeft"));
    }
    grid_cell(grid, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void add_waiting(struct grid *grid, yyjson_val *pod)
{
    begin_row(grid, pod, "stage");
    grid_str(grid, PAINT_NONE, doc_member_text(pod, "node"));
    wait_cell(grid, pod);
}

static double sum_of(yyjson_val *counts)
{
    size_t i, len;
    yyjson_val *key, *count;
    double sum = 0;
    yyjson_obj_foreach(doc_items(counts), i, len, key, count)
        sum += yyjson_get_num(count);
    return sum;
}

/* The counts of both pages in one list; pods that are being bound are in flight too, and counted once. */
static void say_counts(struct strbuf *out, const struct shown *shown)
{
    size_t i, len, listed = 0;
    yyjson_val *key, *count;
    yyjson_val *waiting = yyjson_obj_get(yyjson_doc_get_root(shown->waiting), "counts");
    yyjson_val *const pages[] = { yyjson_obj_get(yyjson_doc_get_root(shown->queue), "counts"), waiting };
    for (size_t k = 0; k < ARRAY_SIZE(pages); k++)
        yyjson_obj_foreach(doc_items(pages[k]), i, len, key, count) {
            double number = yyjson_get_num(count);
            if (k == 0 && yyjson_equals_str(key, IN_FLIGHT))
                number -= sum_of(waiting);
            if (number > 0)
                strbuf_printf(out, "%s%s %s", listed++ ? ", " : "", grouped((int64_t)number),
                              yyjson_get_str(key));
        }
    strbuf_puts(out, listed ? "\n" : "No pod waits.\n");
}

/* A page as a table. */
struct page_table {
    const char *columns, *more_columns; /* the latter where it is wide */
    void (*add)(struct grid *grid, yyjson_val *pod);
};
static const struct page_table queue_table = {
    "QUEUE|POD|>AGE|>TRIES|>PRIORITY|REJECTED BY",
    "THE LAST ATTEMPT SAID",
    add_pod,
};
static const struct page_table waiting_table = { "STAGE|POD|>AGE|NODE|WAITS FOR", "", add_waiting };

/* Without those in flight that `others` shows. Returns how many there are. */
static size_t show_page(const struct page_table *table, yyjson_doc *doc, yyjson_doc *others, bool wide,
                        struct term *term)
{
    _cleanup_(grid_release) struct grid grid = { 0 };
    _cleanup_(arena_release) struct arena arena = { 0 };
    _cleanup_(strmap_release) struct strmap names = { 0 };
    yyjson_val *root = yyjson_doc_get_root(doc), *pod;
    size_t i, len, shown = 0;
    yyjson_arr_foreach(doc_items(yyjson_obj_get(yyjson_doc_get_root(others), "pods")), i, len, pod)
        strmap_put(&names, name_of(pod, &arena), others);
    grid_columns(&grid, table->columns);
    grid_columns(&grid, wide ? table->more_columns : "");
    yyjson_arr_foreach(doc_items(yyjson_obj_get(root, "pods")), i, len, pod) {
        if (str_is(doc_member_text(pod, "queue"), IN_FLIGHT) && strmap_get(&names, name_of(pod, &arena)))
            continue;
        table->add(&grid, pod);
        shown++;
    }
    if (shown) {
        if (term->out->len)
            strbuf_putc(term->out, '\n');
        grid_print(&grid, term, 0);
    }
    if (number_of(root, "left") > 0)
        strbuf_printf(term->out,
                      "... and %s more; --top shows more of them, -n, --queue and --plugin choose\n",
                      grouped((int64_t)number_of(root, "left")));
    return shown;
}

/* Events of one plugin after the other. */
static void show_wakes(yyjson_val *wakes, struct term *term)
{
    _cleanup_(strbuf_release) struct strbuf line = { 0 };
    yyjson_val *wake;
    size_t i, len;
    yyjson_arr_foreach(doc_items(wakes), i, len, wake) {
        yyjson_val *next = i + 1 < len ? unsafe_yyjson_get_next(wake) : NULL;
        strbuf_printf(&line, "%s" STR_FMT, line.len ? ", " : "", STR_ARG(doc_member_text(wake, "event")));
        if (next && str_eq(doc_member_text(next, "plugin"), doc_member_text(wake, "plugin")))
            continue;
        strbuf_printf(&line, " (" STR_FMT ")", STR_ARG(doc_member_text(wake, "plugin")));
        term_wrap(term, 2, strbuf_slice(&line));
        strbuf_clear(&line);
    }
}

static void show_words(yyjson_val *pod, struct term *term)
{
    yyjson_val *wakes = yyjson_obj_get(pod, "wakes");
    if (doc_member_text(pod, "message").len) {
        strbuf_puts(term->out, "\nThe last attempt said:\n");
        term_wrap(term, 2, doc_member_text(pod, "message"));
    }
    if (yyjson_arr_size(wakes)) {
        strbuf_puts(term->out, "\nWhat may wake it:\n");
        show_wakes(wakes, term);
    }
}

static yyjson_val *first_pod(yyjson_doc *doc)
{
    return yyjson_arr_get_first(yyjson_obj_get(yyjson_doc_get_root(doc), "pods"));
}

/* One pod: with the message of its last attempt, and what would wake it. */
static void show_pod(const struct shown *shown, struct term *term)
{
    yyjson_val *queued = first_pod(shown->queue), *waiting = first_pod(shown->waiting);
    if (!queued && !waiting) {
        strbuf_puts(term->out,
                    "It does not wait in this scheduler: it is bound, gone, or of another scheduler.\n");
        return;
    }
    show_page(waiting ? &waiting_table : &queue_table, waiting ? shown->waiting : shown->queue, NULL, false,
              term);
    if (queued)
        show_words(queued, term);
}

/* The queue's page, and the other as its member `waiting`. */
static void show_json(const struct shown *shown, struct strbuf *out)
{
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(shown->queue, NULL);
    yyjson_mut_obj_add_val(doc, yyjson_mut_doc_get_root(doc), "waiting",
                           yyjson_val_mut_copy(doc, yyjson_doc_get_root(shown->waiting)));
    size_t len = 0;
    char *text = yyjson_mut_write(doc, 0, &len);
    if (text)
        strbuf_str(out, (struct str){ text, (uint32_t)len });
    strbuf_putc(out, '\n');
    free(text);
    yyjson_mut_doc_free(doc);
}

static void show_all(const struct queue_settings *settings, const struct shown *shown, struct term *term)
{
    bool wide = settings->output == QUEUE_WIDE;
    bool filtered = settings->namespace || settings->queue || settings->plugin;
    say_counts(term->out, shown);
    size_t rows_shown = show_page(&queue_table, shown->queue, shown->waiting, wide, term);
    rows_shown += show_page(&waiting_table, shown->waiting, NULL, wide, term);
    if (filtered && !rows_shown)
        strbuf_puts(term->out, "\nNone of them is meant by -n, --queue and --plugin.\n");
}

static int draw(void *user, struct term *term, unsigned lines _unused_, struct error *err)
{
    _cleanup_(shown_release) struct shown shown = { 0 };
    struct asking *asking = user;
    int r = get_page(asking, VIEW_QUEUE_PATH, &shown.queue, err);
    if (r == 0)
        r = get_page(asking, VIEW_WAITING_PATH, &shown.waiting, err);
    if (r < 0)
        return r;
    if (asking->settings->output == QUEUE_JSON)
        show_json(&shown, term->out);
    else if (asking->pod)
        show_pod(&shown, term);
    else
        show_all(asking->settings, &shown, term);
    return 0;
}

static int run(void *given, const struct texts *words)
{
    const struct queue_settings *settings = given;
    _cleanup_(strbuf_release) struct strbuf pod = { 0 };
    struct asking asking = { .settings = settings };
    struct error err;
    const char *name = words->len ? words->items[0] : NULL;
    if (settings->watch && settings->output == QUEUE_JSON)
        return usage_error(&command_queue, "queue: --watch and -o json exclude each other");
    if (name && !strchr(name, '/'))
        strbuf_printf(&pod, "%s/", settings->namespace ? settings->namespace : "default");
    if (name)
        strbuf_puts(&pod, name);
    asking.pod = pod.text;
    int code =
        running_open(&settings->running, NULL, &asking.session, &err) < 0
            ? fail(EXIT_TROUBLE, &err)
            : screen_run(&(struct screen_view){ .every_ms = settings->watch ? settings->interval_s * 1000 : 0,
                                                .draw = draw,
                                                .user = &asking });
    running_close(&asking.session);
    return code;
}

const struct command command_queue = {
    .name = "queue",
    .summary = "Shows which pods wait in the running scheduler, and why.",
    .usage = "[--server URL] [-n NAMESPACE] [--queue NAME] [--plugin NAME]\n"
             "                   [-o table|wide|json] [--watch] [NAMESPACE/POD]",
    .purpose =
        "Asks a running `berth scheduler` for its queues: which pods wait, where, for how long, after "
        "how many tries, and which plugins rejected them; and which are decided and not bound yet: where "
        "to, and which plugin's permission or work they wait for. Of one pod it shows the words of the "
        "last attempt, and the events that would wake it; POD alone means default/POD, or that of -n. "
        "The user needs the permission to get " VIEW_QUEUE_PATH " and " VIEW_WAITING_PATH ".",
    .examples = "  berth queue --certificate-authority /var/run/kubernetes/kube-scheduler.crt\n"
                "  berth queue -n shop --plugin NodeResourcesFit -o wide\n"
                "  berth queue --server https://10.0.0.7:10259 -o json | jq .counts\n"
                "  berth queue shop/cart-0\n"
                "  berth queue --watch -o wide\n",
    .options = { { rows, 0 } },
    .settings_size = sizeof(struct queue_settings),
    .defaults = &(const struct queue_settings){ .top = 100, .interval_s = 2 },
    .words_max = 1,
    .wants = "shows all pods, or one, as NAMESPACE/POD",
    .run = run,
};
