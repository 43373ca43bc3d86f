/* cmd_capacity.c: `berth capacity`: how many more copies of pods fit, and what stops the next one. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "cmd/capacity_print.h"
#include "cmd/common.h"

/* As the tool of that name prints it. */
enum { OUTPUT_REVIEW = OUTPUT_JSON + 1 };

struct capacity_settings {
    struct input_settings input;
    int64_t seed, top, percentage, max; /* percentage -1: as configured */
    struct texts nodes, pod_specs;
    const char *html, *now, *closed;
    bool together, verbose, timing, no_extenders;
};

static const struct option_row rows[] = {
    OUTPUT_OPTION(struct capacity_settings, input, "table|json|cluster-capacity-json"),
    { 0, "max", "N", OPTION_NUMBER, offsetof(struct capacity_settings, max),
      "Stop at so many copies of a template, or sets with --together (default: 10,000,000 copies).", 1,
      COPIES_MAX },
    { 0, "together", NULL, OPTION_FLAG, offsetof(struct capacity_settings, together),
      "Place all templates together, a copy of each in turn, or as many as their numbers say (3=FILE), and "
      "count complete sets. Without it each is tried alone." },
    { 0, "with-node", "NODE|FILE", OPTION_TEXTS, offsetof(struct capacity_settings, nodes),
      "Of which type one more node is tried: as a node of the input, or as the nodes of a file. May be given "
      "again (default: each type of the input)." },
    HTML_OPTION(struct capacity_settings, html),
    { 0, "seed", "N", OPTION_NUMBER, offsetof(struct capacity_settings, seed),
      "Decides choices among equal nodes (default: 1). The same input and seed give the same output.", 0,
      INT64_MAX },
    { 0, "percentage-of-nodes-to-score", "N", OPTION_NUMBER, offsetof(struct capacity_settings, percentage),
      "Overrides the configuration: 100 looks at all nodes, 0 at as many as kube-scheduler does by default.",
      0, 100 },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct capacity_settings, top),
      "How many rows of a kind the table shows (default: 20).", 1, 1000000 },
    { 0, "now", "TIME", OPTION_TEXT, offsetof(struct capacity_settings, now),
      "Decide as at this time, such as 2026-01-31T12:00:00Z. Default: now." },
    { 0, "no-extenders", NULL, OPTION_FLAG, offsetof(struct capacity_settings, no_extenders),
      "Do not ask the extenders of the configuration. They are asked about every copy." },
    { 0, "verbose", NULL, OPTION_FLAG, offsetof(struct capacity_settings, verbose),
      "The table names every node that gets copies." },
    { 0, "podspec", "FILE", OPTION_TEXTS, offsetof(struct capacity_settings, pod_specs),
      "A template, as cluster-capacity takes it. May be given again." },
    { 0, "max-limit", "N", OPTION_NUMBER, offsetof(struct capacity_settings, max),
      "The same as --max; 0: no limit.", 0, COPIES_MAX },
    { 0, "default-config", "FILE", OPTION_TEXT, offsetof(struct capacity_settings, input.config),
      "The same as --config." },
    { 0, "exclude-nodes", "NAMES", OPTION_TEXT, offsetof(struct capacity_settings, closed),
      "Nodes, with commas between, that get no copies, as if they were cordoned." },
    { 0, "timing", NULL, OPTION_FLAG, offsetof(struct capacity_settings, timing),
      "Also print how long it took, which differs from run to run." },
    { 0 },
};

extern const struct command command_capacity;

static void show_progress(size_t copies, double seconds)
{
    if (progress_is_due(seconds))
        fprintf(stderr, "\rberth: %s copies placed, %s per second \033[K", grouped((int64_t)copies),
                grouped((int64_t)((double)copies / seconds)));
}

/* About pods that wait, and about the copies. */
static void warn(const struct capacity *capacity)
{
    undecided_vec pods = input_undecided(capacity->input, NULL);
    vec_for(&capacity->runs, run)
        for (uint32_t i = 0; i < run->shares_len; i++)
            *vec_push(&pods) = run->shares[i].sample;
    input_warn(capacity->input, &pods);
    vec_release(&pods);
    if (capacity->simulation.foreign)
        fprintf(stderr, "berth: warning: left %s to other schedulers, such as " STR_FMT "\n",
                counted(capacity->simulation.foreign, "pod"), STR_ARG(capacity->simulation.foreign_name));
}

static int print(const struct capacity *capacity, const struct capacity_settings *settings, int64_t wall_ns,
                 double load_seconds, double decide_seconds)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    struct term term = term_stdout(&out);
    char time[TIMESTAMP_LEN + 1];
    const struct capacity_view view = { .top = (uint32_t)settings->top,
                                        .timing = settings->timing,
                                        .verbose = settings->verbose,
                                        .max = settings->max,
                                        .time = timestamp_format(wall_ns / NS_PER_S, time),
                                        .load_seconds = load_seconds,
                                        .decide_seconds = decide_seconds };
    if (settings->html || settings->input.output == OUTPUT_JSON)
        capacity_json(capacity, &view, &json);
    int r = write_html(settings->html, "Capacity", &settings->input.files, strbuf_slice(&json));
    if (r != EXIT_DONE)
        return r;
    if (settings->input.output == OUTPUT_REVIEW)
        capacity_review(capacity, &view, &out);
    else if (settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else
        capacity_table(capacity, &view, &term);
    return finish(&term);
}

static int run(void *given, const struct texts *words)
{
    struct capacity_settings *settings = given;
    _cleanup_(input_release) struct input input = { 0 };
    _cleanup_(capacity_release) struct capacity capacity = { 0 };
    struct error err = { "" };
    double start = now_seconds();
    int64_t wall_ns = 0;
    if (decision_time(settings->now, &wall_ns, &err) < 0)
        return fail(EXIT_INPUT, &err);
    settings->input.calls_extenders = !settings->no_extenders;
    for (size_t i = 0; i < words->len; i++)
        *vec_push(&settings->pod_specs) = words->items[i];
    settings->input.templates = settings->pod_specs;
    if (!settings->pod_specs.len)
        return usage_error(&command_capacity, "capacity %s", command_capacity.wants);
    int r = open_input(&input, &command_capacity, &settings->input);
    if (r)
        return r;
    const struct capacity_options options = {
        .simulate = { .seed = (uint64_t)settings->seed,
                      .wall_ns = wall_ns,
                      .percentage = { settings->percentage >= 0, (int32_t)settings->percentage },
                      .calls_extenders = settings->input.calls_extenders },
        .max = settings->max ? (size_t)settings->max : COPIES_MAX,
        .together = settings->together,
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .nodes = settings->nodes.items,
        .nodes_len = settings->nodes.len,
        .closed = str_from(settings->closed ?: ""),
    };
    if (input_check_nodes(&input, &err) < 0)
        return fail(EXIT_INPUT, &err);
    vec_for(&input.templates.items, template)
        if (template->share > 1 && !settings->together)
            return usage_error(&command_capacity, "%u=TEMPLATE, copies in a set, goes with --together",
                               template->share);
    if (settings->input.output == OUTPUT_REVIEW && input.templates.items.len > 1 && !settings->together)
        return usage_error(&command_capacity,
                           "-o cluster-capacity-json is about one template, or several with --together");
    double loaded = now_seconds();
    r = capacity_find(&capacity, &input, &options, &err);
    progress_clear();
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    warn(&capacity);
    return print(&capacity, settings, wall_ns, loaded - start, now_seconds() - loaded);
}

const struct command command_capacity = {
    .name = "capacity",
    .summary = "How many more copies of a pod fit, and what stops the next one?",
    .usage = "[-f PATH...] [--config FILE] [--max N] [--together]\n"
             "                      [--with-node NODE|FILE] [-o table|json] [--html FILE]\n"
             "                      TEMPLATE...",
    .purpose = "Places copies of a pod until one does not fit, each decided as kube-scheduler would decide "
               "it. Pods of the input that wait have their turn first. Copies do not preempt.\n\n"
               "TEMPLATE is a file with Pods or workloads (- is standard input), or a workload or pod of the "
               "input, such as "
               "deploy/shop/web (deploy, rs, sts, ds, rc, job, pod). Several are tried each alone, on the "
               "cluster as it is, or all --together. Nothing is changed anywhere.",
    .examples = KUBECTL_EXAMPLE "  berth capacity -f cluster.json web.yaml\n"
                                "  berth capacity -f cluster.json deploy/shop/web sts/shop/db\n"
                                "  berth capacity -f cluster.json --together 3=web.yaml 1=cache.yaml\n"
                                "  berth capacity --podspec pod.yaml -o cluster-capacity-json\n",
    .options = { { input_rows, offsetof(struct capacity_settings, input) },
                 { plugin_rows, offsetof(struct capacity_settings, input.plugins) },
                 { rows, 0 } },
    .settings_size = sizeof(struct capacity_settings),
    .defaults = &(const struct capacity_settings){ .seed = 1, .top = 20, .percentage = -1 },
    .words_max = 1000,
    .wants = "wants a template: a file, or KIND/NAMESPACE/NAME",
    .run = run,
};
