/* cmd_queue.c: `berth queue`: who waits in the running scheduler, where, for how long and why: for a decision, or
 * after it for permission, for what must be prepared, or for the API server. */
#include <stdio.h>
#include <stdlib.h>

#include "client/watched.h"
#include "cmd/common.h"
#include "cmd/running.h"
#include "serve/waiting.h"

struct queue_settings {
    struct running running;
    int output; /* enum output */
    int64_t top;
};

static const struct option_row rows[] = {
    { 0, "server", "URL", OPTION_TEXT, offsetof(struct queue_settings, running.server),
      "The running scheduler (default: " RUNNING_SERVER ")." },
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct queue_settings, running.kubeconfig),
      "Who asks; without it, $KUBECONFIG or ~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct queue_settings, running.context),
      "Another context than the current one of the kubeconfig." },
    { 0, "insecure-skip-tls-verify", NULL, OPTION_FLAG, offsetof(struct queue_settings, running.insecure),
      "Do not check the scheduler's certificate, such as the one that it\nmakes for itself." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct queue_settings, top),
      "How many pods to show (default: 100).", 1, 100000 },
    { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct queue_settings, output),
      "How to print the answer (default: table)." },
};

extern const struct command command_queue;

/* ---- asking ---- */

/* What the scheduler shows: of the queues, and of those on their way. */
struct shown {
    yyjson_doc *queue, *waiting;
};

static void shown_release(struct shown *shown)
{
    yyjson_doc_free(shown->queue);
    yyjson_doc_free(shown->waiting);
}

static int ask_page(const struct queue_settings *settings, const char *page, const char *pod,
                    yyjson_doc **ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 }, body = { 0 };
    strbuf_printf(&path, "%s?limit=%lld", page, (long long)settings->top);
    if (pod)
        watched_query(&path, "pod", str_from(pod));
    int r = running_get(&settings->running, strbuf_slice(&path), &body, err);
    if (r < 0)
        return r;
    *ret = yyjson_read(body.text ? body.text : "", body.len, 0);
    if (!yyjson_is_obj(yyjson_doc_get_root(*ret)))
        return error_set(err, -EBADMSG, "the answer to %s makes no sense; is that a berth scheduler?", page);
    return 0;
}

static int ask(const struct queue_settings *settings, const char *pod, struct shown *ret, struct error *err)
{
    int r = ask_page(settings, VIEW_QUEUE_PATH, pod, &ret->queue, err);
    return r < 0 ? r : ask_page(settings, VIEW_WAITING_PATH, pod, &ret->waiting, err);
}

/* ---- showing ---- */

static struct str text_of(yyjson_val *object, const char *key)
{
    yyjson_val *val = yyjson_obj_get(object, key);
    return yyjson_is_str(val) ? (struct str){ yyjson_get_str(val), (uint32_t)yyjson_get_len(val) }
                              : (struct str){ 0 };
}

static double number_of(yyjson_val *object, const char *key)
{
    return yyjson_get_num(yyjson_obj_get(object, key));
}

/* "93s", "15m", "3h". */
static void age_cell(struct grid *grid, double seconds)
{
    static const struct {
        double from, unit;
        const char *name;
    } units[] = { { 2 * 86400, 86400, "d" }, { 2 * 3600, 3600, "h" }, { 600, 60, "m" }, { 0, 1, "s" } };
    size_t i = 0;
    while (i + 1 < ARRAY_SIZE(units) && seconds < units[i].from)
        i++;
    grid_cell(grid, true, PAINT_NONE, "%.0f%s", seconds / units[i].unit, units[i].name);
}

static void reason_cell(struct grid *grid, yyjson_val *pod)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t i, len;
    yyjson_val *plugin;
    yyjson_arr_foreach(yyjson_obj_get(pod, "rejectedBy"), i, len, plugin)
        strbuf_printf(&text, "%s%s", i ? " " : "", yyjson_is_str(plugin) ? yyjson_get_str(plugin) : "");
    if (text_of(pod, "gate").len)
        strbuf_printf(&text, "%sheld back by " STR_FMT, text.len ? "; " : "", STR_ARG(text_of(pod, "gate")));
    grid_cell(grid, false, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void add_pod(struct grid *grid, yyjson_val *pod)
{
    grid_cell(grid, false, PAINT_NONE, STR_FMT, STR_ARG(text_of(pod, "queue")));
    grid_cell(grid, false, PAINT_NONE, STR_FMT "/" STR_FMT, STR_ARG(text_of(pod, "namespace")),
              STR_ARG(text_of(pod, "name")));
    age_cell(grid, number_of(pod, "seconds"));
    grid_cell(grid, true, PAINT_NONE, "%.0f", number_of(pod, "attempts"));
    reason_cell(grid, pod);
}

/* "stage; Plugin (29s left), Other (4s left)". */
static void wait_cell(struct grid *grid, yyjson_val *pod)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t i, len;
    yyjson_val *wait;
    yyjson_arr_foreach(yyjson_obj_get(pod, "waitsFor"), i, len, wait) {
        strbuf_printf(&text, "%s" STR_FMT, i ? ", " : "", STR_ARG(text_of(wait, "plugin")));
        if (yyjson_obj_get(wait, "secondsLeft"))
            strbuf_printf(&text, " (%.0fs left)", number_of(wait, "secondsLeft"));
    }
    grid_cell(grid, false, PAINT_NONE, "%s", text.len ? text.text : "-");
}

static void add_waiting(struct grid *grid, yyjson_val *pod)
{
    grid_cell(grid, false, PAINT_NONE, STR_FMT, STR_ARG(text_of(pod, "stage")));
    grid_cell(grid, false, PAINT_NONE, STR_FMT "/" STR_FMT, STR_ARG(text_of(pod, "namespace")),
              STR_ARG(text_of(pod, "name")));
    age_cell(grid, number_of(pod, "seconds"));
    grid_cell(grid, false, PAINT_NONE, STR_FMT, STR_ARG(text_of(pod, "node")));
    wait_cell(grid, pod);
}

/* How many there are of what, in one list of both pages. */
static void say_counts(struct strbuf *out, const struct shown *shown)
{
    size_t i, len, told = 0;
    yyjson_val *key, *count;
    yyjson_doc *const docs[] = { shown->queue, shown->waiting };
    for (size_t k = 0; k < ARRAY_SIZE(docs); k++)
        yyjson_obj_foreach(yyjson_obj_get(yyjson_doc_get_root(docs[k]), "counts"), i, len, key, count) {
            if (yyjson_get_num(count) > 0)
                strbuf_printf(out, "%s%s %s", told++ ? ", " : "", grouped((int64_t)yyjson_get_num(count)),
                              yyjson_get_str(key));
        }
    strbuf_puts(out, told ? "\n" : "Nobody waits.\n");
}

/* A page as a table; nothing where nobody is on it. */
struct page_table {
    const char *heads[5];
    uint32_t numbers; /* columns of numbers, as a mask */
    void (*add)(struct grid *grid, yyjson_val *pod);
};
static const struct page_table queue_table = { { "QUEUE", "POD", "AGE", "TRIES", "REJECTED BY" },
                                               0xc,
                                               add_pod };
static const struct page_table waiting_table = { { "STAGE", "POD", "AGE", "NODE", "WAITS FOR" },
                                                 0x4,
                                                 add_waiting };

static void show_page(const struct page_table *table, yyjson_doc *doc, struct term *term)
{
    struct grid grid = { .columns = ARRAY_SIZE(table->heads) };
    yyjson_val *root = yyjson_doc_get_root(doc), *pods = yyjson_obj_get(root, "pods"), *pod;
    size_t i, len;
    if (!yyjson_arr_size(pods))
        return;
    for (i = 0; i < ARRAY_SIZE(table->heads); i++)
        grid_cell(&grid, table->numbers >> i & 1, PAINT_BOLD, "%s", table->heads[i]);
    yyjson_arr_foreach(pods, i, len, pod)
        table->add(&grid, pod);
    strbuf_putc(term->out, '\n');
    grid_print(&grid, term, 0);
    if (number_of(root, "left") > 0)
        strbuf_printf(term->out, "... and %s more; --top shows more of them\n",
                      grouped((int64_t)number_of(root, "left")));
    grid_release(&grid);
}

static void show_words(yyjson_val *pod, struct term *term)
{
    yyjson_val *wake;
    size_t i, len;
    if (text_of(pod, "message").len) {
        strbuf_puts(term->out, "\nThe last attempt said:\n");
        term_wrap(term, 2, text_of(pod, "message"));
        strbuf_putc(term->out, '\n');
    }
    if (!yyjson_arr_size(yyjson_obj_get(pod, "wakes")))
        return;
    strbuf_puts(term->out, "\nWhat may wake it:\n");
    yyjson_arr_foreach(yyjson_obj_get(pod, "wakes"), i, len, wake)
        strbuf_printf(term->out, "  " STR_FMT " (" STR_FMT ")\n", STR_ARG(text_of(wake, "event")),
                      STR_ARG(text_of(wake, "plugin")));
}

static yyjson_val *first_pod(yyjson_doc *doc)
{
    return yyjson_arr_get_first(yyjson_obj_get(yyjson_doc_get_root(doc), "pods"));
}

/* One pod: with what it was told, and what would wake it. */
static void show_pod(const struct shown *shown, struct term *term)
{
    yyjson_val *queued = first_pod(shown->queue), *waiting = first_pod(shown->waiting);
    struct grid grid = { .columns = 5 };
    if (!queued && !waiting) {
        strbuf_puts(term->out,
                    "It does not wait in this scheduler: it is bound, gone, or of another scheduler.\n");
        return;
    }
    if (waiting)
        add_waiting(&grid, waiting);
    else
        add_pod(&grid, queued);
    grid_print(&grid, term, 0);
    grid_release(&grid);
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

static int show(const struct queue_settings *settings, const char *pod, const struct shown *shown)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    if (settings->output == OUTPUT_JSON) {
        show_json(shown, &out);
    } else if (pod) {
        show_pod(shown, &term);
    } else {
        say_counts(&out, shown);
        show_page(&queue_table, shown->queue, &term);
        show_page(&waiting_table, shown->waiting, &term);
    }
    return finish(&term);
}

static int run(int argc, char **argv)
{
    struct queue_settings settings = { .top = 100 };
    _cleanup_(texts_release) struct texts words = { 0 };
    _cleanup_(shown_release) struct shown shown = { 0 };
    struct error err;
    int r = options_start(&command_queue, argc, argv, &settings, &words);
    if (r >= 0)
        return r;
    const char *pod = words.list.len ? words.list.items[0] : NULL;
    if (words.list.len > 1 || (pod && !strchr(pod, '/'))) {
        fputs("berth: queue wants no more than one pod, as NAMESPACE/POD\nTry `berth queue --help`.\n",
              stderr);
        return EXIT_INPUT;
    }
    if (ask(&settings, pod, &shown, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    return show(&settings, pod, &shown);
}

const struct command command_queue = {
    .name = "queue",
    .summary = "Shows who waits in the running scheduler, and why.",
    .usage = "[--server URL] [--top N] [-o table|json] [NAMESPACE/POD]",
    .purpose =
        "Asks a running `berth scheduler` for its queues: which pods wait, where, for how long, after\n"
        "how many tries, and which plugins rejected them; and which are decided and not bound yet: where\n"
        "to, and which plugin's permission or work they wait for. Of one pod it shows the words of the\n"
        "last attempt, and the events that would wake it. The asker needs the right to get\n" VIEW_QUEUE_PATH
        " and " VIEW_WAITING_PATH ".",
    .examples = "  berth queue --insecure-skip-tls-verify\n"
                "  berth queue --server https://10.0.0.7:10259 -o json | jq .counts\n"
                "  berth queue shop/cart-0\n",
    .options = rows,
    .options_len = ARRAY_SIZE(rows),
    .run = run,
};
