/* cmd_queue.c: `berth queue`: who waits in the running scheduler, where, for how long and why. */
#include <stdio.h>

#include "client/get.h"
#include "client/listing.h"
#include "client/watched.h"
#include "cmd/common.h"
#include "serve/views.h"

struct queue_settings {
    const char *server, *kubeconfig, *context;
    int output; /* enum output */
    int64_t top;
    bool insecure;
};

static const struct option_row rows[] = {
    { 0, "server", "URL", OPTION_TEXT, offsetof(struct queue_settings, server),
      "The running scheduler (default: https://127.0.0.1:10259)." },
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct queue_settings, kubeconfig),
      "Who asks; without it, $KUBECONFIG or ~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct queue_settings, context),
      "Another context than the current one of the kubeconfig." },
    { 0, "insecure-skip-tls-verify", NULL, OPTION_FLAG, offsetof(struct queue_settings, insecure),
      "Do not check the scheduler's certificate, such as the one that it\nmakes for itself." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct queue_settings, top),
      "How many pods to show (default: 100).", 1, 100000 },
    { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct queue_settings, output),
      "How to print the answer (default: table)." },
};

extern const struct command command_queue;

enum { ANSWER_MS = 30 * 1000 };

/* ---- asking ---- */

static int ask(const struct queue_settings *settings, const char *pod, struct strbuf *ret, struct error *err)
{
    struct arena arena = { 0 };
    struct kube_access access = { 0 };
    struct strbuf path = { 0 };
    const char *server = settings->server ? settings->server : "https://127.0.0.1:10259";
    int r = usual_access(settings->kubeconfig, settings->context, server, &arena, &access, err);
    if (r == 0) {
        if (settings->insecure) {
            access.cluster.insecure = true;
            access.cluster.certificate_authority = access.cluster.certificate_authority_data =
                (struct str){ 0 };
        }
        strbuf_printf(&path, VIEW_QUEUE_PATH "?limit=%lld", (long long)settings->top);
        if (pod)
            watched_query(&path, "pod", str_from(pod));
        r = client_get(&access, strbuf_slice(&path), ANSWER_MS, ret, err);
        if (r < 0)
            error_prefix(err, "%s", server);
    }
    strbuf_release(&path);
    arena_release(&arena);
    return r;
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

static void say_counts(struct strbuf *out, yyjson_val *counts)
{
    size_t i, len, told = 0;
    yyjson_val *key, *count;
    yyjson_obj_foreach(counts, i, len, key, count) {
        if (yyjson_get_num(count) > 0)
            strbuf_printf(out, "%s%s %s", told++ ? ", " : "", grouped((int64_t)yyjson_get_num(count)),
                          yyjson_get_str(key));
    }
    strbuf_puts(out, told ? "\n" : "Nobody waits.\n");
}

static void show_table(yyjson_val *root, struct term *term)
{
    static const char *const heads[] = { "QUEUE", "POD", "AGE", "TRIES", "REJECTED BY" };
    struct grid grid = { .columns = ARRAY_SIZE(heads) };
    yyjson_val *pods = yyjson_obj_get(root, "pods"), *pod;
    size_t i, len;
    say_counts(term->out, yyjson_obj_get(root, "counts"));
    for (i = 0; i < ARRAY_SIZE(heads); i++)
        grid_cell(&grid, i == 2 || i == 3, PAINT_BOLD, "%s", heads[i]);
    yyjson_arr_foreach(pods, i, len, pod)
        add_pod(&grid, pod);
    if (yyjson_arr_size(pods)) {
        strbuf_putc(term->out, '\n');
        grid_print(&grid, term, 0);
    }
    if (number_of(root, "left") > 0)
        strbuf_printf(term->out, "... and %s more; --top shows more of them\n",
                      grouped((int64_t)number_of(root, "left")));
    grid_release(&grid);
}

/* One pod: with what it was told, and what would wake it. */
static void show_pod(yyjson_val *root, struct term *term)
{
    yyjson_val *pod = yyjson_arr_get_first(yyjson_obj_get(root, "pods")), *wake;
    size_t i, len;
    if (!pod) {
        strbuf_puts(term->out,
                    "It does not wait in this scheduler: it is bound, gone, or of another scheduler.\n");
        return;
    }
    struct grid grid = { .columns = 5 };
    add_pod(&grid, pod);
    grid_print(&grid, term, 0);
    grid_release(&grid);
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

static int show(const struct queue_settings *settings, const char *pod, const struct strbuf *body)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    struct term term = term_stdout(&out);
    struct error err;
    yyjson_doc *doc = yyjson_read(body->text ? body->text : "", body->len, 0);
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        yyjson_doc_free(doc);
        error_set(&err, -EBADMSG, "the answer is no queue; is that a berth scheduler?");
        return fail(EXIT_TROUBLE, &err);
    }
    if (settings->output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(body));
    else if (pod)
        show_pod(yyjson_doc_get_root(doc), &term);
    else
        show_table(yyjson_doc_get_root(doc), &term);
    yyjson_doc_free(doc);
    return finish(&term);
}

static int run(int argc, char **argv)
{
    struct queue_settings settings = { .top = 100 };
    _cleanup_(texts_release) struct texts words = { 0 };
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
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
    if (ask(&settings, pod, &body, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    return show(&settings, pod, &body);
}

const struct command command_queue = {
    .name = "queue",
    .summary = "Shows who waits in the running scheduler, and why.",
    .usage = "[--server URL] [--top N] [-o table|json] [NAMESPACE/POD]",
    .purpose =
        "Asks a running `berth scheduler` for its queues: which pods wait, where, for how long, after\n"
        "how many tries, and which plugins rejected them. Of one pod it shows the words of the last\n"
        "attempt, and the events that would wake it. The asker needs the right to get " VIEW_QUEUE_PATH ".",
    .examples = "  berth queue --insecure-skip-tls-verify\n"
                "  berth queue --server https://10.0.0.7:10259 -o json | jq .counts\n"
                "  berth queue shop/cart-0\n",
    .options = rows,
    .options_len = ARRAY_SIZE(rows),
    .run = run,
};
