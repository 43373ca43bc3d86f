/* cmd_simulate.c: `berth simulate`: schedules every pending pod and reports what came of it. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/common.h"
#include "cmd/simulate_print.h"
#include "whatif/explain_print.h"
#include "whatif/recording.h"

struct simulate_settings {
    struct input_settings input;
    int64_t seed, top, percentage; /* percentage -1: as configured */
    const char *trace, *html, *group_by, *now, *explain, *prices, *until_placed, *record;
    struct texts compare;
    bool removable, timing, no_timing, placements, fail_on_pending, no_extenders;
};

static const struct option_row rows[] = {
    OUTPUT_OPTION(struct simulate_settings, input, "table|json|csv"),
    { 0, "placements", NULL, OPTION_FLAG, offsetof(struct simulate_settings, placements),
      "The table shows the node of each pod, not only how many pods of each workload went where." },
    { 0, "explain", "NAMESPACE/POD", OPTION_TEXT, offsetof(struct simulate_settings, explain),
      "Instead of the report, explain this pod as `berth explain` does, at its turn: behind the pods that "
      "come first in the queue. Of several attempts the last one." },
    { 0, "fail-on-pending", NULL, OPTION_FLAG, offsetof(struct simulate_settings, fail_on_pending),
      "Exit with 1 if a pod has no node in the end." },
    { 0, "seed", "N", OPTION_NUMBER, offsetof(struct simulate_settings, seed),
      "Decides choices among equal nodes (default: 1). The same input and seed give the same output.", 0,
      INT64_MAX },
    { 0, "percentage-of-nodes-to-score", "N", OPTION_NUMBER, offsetof(struct simulate_settings, percentage),
      "Overrides the configuration: 100 looks at all nodes, 0 at as many as kube-scheduler does by default.",
      0, 100 },
    { 0, "group-by", "LABEL", OPTION_TEXT, offsetof(struct simulate_settings, group_by),
      "Show utilisation per value of this node label (default: zone, instance type, or all nodes as one)." },
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct simulate_settings, top),
      "How many groups, reasons and preemptions the table shows (default: 20).", 1, 1000000 },
    { 0, "now", "TIME", OPTION_TEXT, offsetof(struct simulate_settings, now),
      "Begin at this time, such as 2026-01-31T12:00:00Z: a claim whose devices have not become ready in time "
      "is "
      "not available. Default: now." },
    { 0, "add-until-placed", "NODE", OPTION_TEXT, offsetof(struct simulate_settings, until_placed),
      "How many more nodes like this one (or like that of a file) are needed until no pod waits?" },
    { 0, "removable", NULL, OPTION_FLAG, offsetof(struct simulate_settings, removable),
      "Which nodes could be drained, one after the other, without a pod that waits?" },
    { 0, "compare", "FILE", OPTION_TEXTS, offsetof(struct simulate_settings, compare),
      "Decide the same with this configuration, too, and show how the two differ. May be given again." },
    { 0, "prices", "FILE", OPTION_TEXT, offsetof(struct simulate_settings, prices),
      "With --compare: prices of nodes per hour, in the form of CostOptimizationPlugin's arguments "
      "(docs/STRATEGIES.md)." },
    { 0, "no-extenders", NULL, OPTION_FLAG, offsetof(struct simulate_settings, no_extenders),
      "Do not ask the extenders of the configuration. They are asked to filter, score and preempt, and "
      "never to "
      "bind." },
    { 0, "timing", NULL, OPTION_FLAG, offsetof(struct simulate_settings, timing),
      "Also print how long it took, which differs from run to run." },
    { 0, "no-timing", NULL, OPTION_FLAG, offsetof(struct simulate_settings, no_timing),
      "Do not, which is the default." },
    { 0, "record", "FOLDER", OPTION_TEXT, offsetof(struct simulate_settings, record),
      "Also record what a live scheduler would do with the same cluster, for `berth replay FOLDER`." },
    { 0, "trace", "FILE", OPTION_TEXT, offsetof(struct simulate_settings, trace),
      "Also save which pod went to which node, as JSON." },
    HTML_OPTION(struct simulate_settings, html),
    { 0 },
};

extern const struct command command_simulate;

/* Pods that are tried again count once. */
static void show_progress(const struct simulation *simulation, double seconds)
{
    size_t done = MIN(simulation->records.len, simulation->pods);
    if (progress_is_due(seconds))
        fprintf(stderr, "\rberth: deciding, %s: %s of %s pods placed, %s decisions per second \033[K",
                progress_share((double)done, (double)simulation->pods, seconds),
                grouped((int64_t)simulation->scheduled), grouped((int64_t)simulation->pods),
                grouped((int64_t)((double)simulation->records.len / seconds)));
}

static void show_nodes(size_t done, size_t all, double seconds)
{
    if (progress_is_due(seconds))
        fprintf(stderr, "\rberth: emptying nodes, %s \033[K",
                progress_share((double)done, (double)all, seconds));
}

/* ---- the command ---- */

static int save_trace(const struct simulation *simulation, const char *path, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    simulate_trace(simulation, &text);
    FILE *file = fopen(path, "we");
    if (!file)
        return error_at(err, -errno, path, 0, 0, "cannot be written: %s", strerror(errno));
    bool bad = fwrite(text.text, 1, text.len, file) != text.len;
    if (fclose(file) != 0 || bad)
        return error_at(err, -EIO, path, 0, 0, "cannot be written: %s", strerror(errno));
    return 0;
}

/* `config`: of several configurations that are compared, which one it is. NULL: there is one. */
static void warn_run(const struct simulation *simulation, const char *config)
{
    const char *begin = config ?: "", *colon = config ? ": " : "";
    if (simulation->foreign)
        fprintf(stderr, "berth: warning: %s%sleft %s to other schedulers, such as " STR_FMT "\n", begin,
                colon, counted(simulation->foreign, "pod"), STR_ARG(simulation->foreign_name));
    if (simulation->cut_short)
        fprintf(stderr,
                "berth: warning: %s%spods keep taking each other's places; stopped after far too many "
                "preemptions\n",
                begin, colon);
}

static void warn(const struct simulation *simulation)
{
    undecided_vec pods = input_undecided(simulation->input, NULL);
    input_warn(simulation->input, &pods);
    vec_release(&pods);
    expansion_warn_not_started(&simulation->input->expansion);
    warn_run(simulation, NULL);
}

static int print(const struct facts *facts, const struct simulate_view *view,
                 const struct simulate_settings *settings)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    struct term term = term_stdout(&out);
    if (settings->html || settings->input.output == OUTPUT_JSON)
        simulate_json(facts, view, &json);
    int r = write_html(settings->html, "Simulation", &settings->input.files, strbuf_slice(&json));
    if (r)
        return r;
    if (settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else if (settings->input.output == OUTPUT_CSV)
        simulate_csv(facts, &out);
    else
        simulate_table(facts, view, &term);
    return finish(&term);
}

/* ---- one pod at its turn ---- */

struct turn {
    const struct simulate_settings *settings;
    struct meta pod;
    struct strbuf out;  /* the last explanation */
    struct strbuf json; /* the same, of --html */
};

static void turn_release(struct turn *turn)
{
    strbuf_release(&turn->out);
    strbuf_release(&turn->json);
}

static void on_explanation(void *user, const struct explanation *explanation)
{
    struct turn *turn = user;
    strbuf_clear(&turn->out);
    struct term term = term_stdout(&turn->out);
    if (turn->settings->input.output == OUTPUT_JSON)
        explain_json(explanation, &turn->out);
    else
        explain_table(explanation, &term, (uint32_t)turn->settings->top);
    strbuf_clear(&turn->json);
    if (turn->settings->html)
        explain_json(explanation, &turn->json);
}

static int check_explain(const struct simulate_settings *settings, struct error *err)
{
    bool only_report = settings->compare.len || settings->trace || settings->input.output == OUTPUT_CSV;
    if (settings->explain && only_report)
        return error_set(err, -EINVAL,
                         "--explain replaces the report: --compare, --trace and -o csv do not go with it");
    return 0;
}

static const struct pod *find_pod(const struct input *input, const struct meta *name)
{
    vec_for(&input->expansion.pods, pod)
        if (str_eq((*pod)->meta.name, name->name) && str_eq((*pod)->meta.namespace, name->namespace))
            return *pod;
    return load_find(&input->load, KIND_POD, name->namespace, name->name);
}

static int print_turn(struct turn *turn, const struct input *input)
{
    struct error err = { "" };
    struct term term = term_stdout(&turn->out);
    const struct pod *pod = find_pod(input, &turn->pod);
    if (turn->out.len)
        return write_html(turn->settings->html, "Explanation", &turn->settings->input.files,
                          strbuf_slice(&turn->json))
                   ?: finish(&term);
    if (!pod)
        error_set(&err, -ENOENT, "there is no pod " META_FMT " in the input", META_ARG(&turn->pod));
    else if (pod->spec.node_name.len)
        error_set(&err, -EEXIST, "pod " META_FMT " has its node: " STR_FMT, META_ARG(&turn->pod),
                  STR_ARG(pod->spec.node_name));
    else
        error_set(&err, -ENOENT,
                  "pod " META_FMT " is not decided in the simulation; `berth explain` says why",
                  META_ARG(&turn->pod));
    return fail(EXIT_INPUT, &err);
}

static int fail_on_pending(size_t len)
{
    if (!len)
        return EXIT_DONE;
    fprintf(stderr, "berth: %s %s no node (--fail-on-pending)\n", counted(len, "pod"),
            len == 1 ? "has" : "have");
    return EXIT_TROUBLE;
}

/* ---- several configurations ---- */

/* A strategy that only another configuration enables has to be loaded as well. */
static int open_strategies(const struct texts *configs, struct error *err)
{
    vec_for(configs, config) {
        struct doc_stream stream;
        int r = doc_stream_open(&stream, *config, err);
        if (r < 0)
            return r;
        r = plugins_open_strategies((struct str){ stream.text, (uint32_t)stream.len }, err);
        doc_stream_release(&stream);
        if (r < 0)
            return r;
    }
    return 0;
}

static int compare_one(struct runs *runs, struct input *input, const struct simulate_settings *settings,
                       const char *config, const struct sim_options *options, const struct prices *prices,
                       struct error *err)
{
    _cleanup_(simulation_release) struct simulation simulation = { 0 };
    _cleanup_(facts_release) struct facts facts = { 0 };
    int r = simulate(&simulation, input, options, err);
    progress_clear();
    if (r < 0)
        return r;
    facts_collect(&facts, &simulation);
    runs_add(runs, config, &facts, prices);
    if (config == settings->input.config)
        warn(&simulation);
    else
        warn_run(&simulation, config);
    return 0;
}

static int compare_other(struct runs *runs, const struct input *input,
                         const struct simulate_settings *settings, const char *config,
                         const struct sim_options *options, const struct prices *prices, struct error *err)
{
    _cleanup_(input_release) struct input fork = { 0 };
    change_request_vec items = { 0 };
    const struct change_requests changes = change_requests(&settings->input.changes, &items);
    int r = input_fork(&fork, input, config, &changes, err);
    vec_release(&items);
    return r < 0 ? r : compare_one(runs, &fork, settings, config, options, prices, err);
}

static int compare(struct input *input, const struct simulate_settings *settings,
                   const struct sim_options *options)
{
    _cleanup_(runs_release) struct runs runs = { 0 };
    _cleanup_(prices_release) struct prices prices = { 0 };
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    struct term term = term_stdout(&out);
    struct error err = { "" };
    runs_init(&runs, settings->compare.len + 1);
    int r = prices_read(&prices, settings->prices, &err);
    if (r == 0)
        r = open_strategies(&settings->compare, &err);
    if (r == 0)
        r = compare_one(&runs, input, settings, settings->input.config, options, &prices, &err);
    for (size_t i = 0; i < settings->compare.len && r == 0; i++)
        r = compare_other(&runs, input, settings, settings->compare.items[i], options, &prices, &err);
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    if (settings->html || settings->input.output == OUTPUT_JSON)
        runs_json(&runs, &json);
    r = write_html(settings->html, "Comparison", &settings->input.files, strbuf_slice(&json));
    if (r)
        return r;
    if (settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else if (settings->input.output == OUTPUT_CSV)
        runs_csv(&runs, &out);
    else
        runs_table(&runs, (uint32_t)settings->top, &term);
    size_t pending = 0;
    vec_for(&runs.items, one)
        pending = MAX(pending, one->pending);
    r = finish(&term);
    return r == EXIT_DONE && settings->fail_on_pending ? fail_on_pending(pending) : r;
}

/* ---- one configuration ---- */

/* With the nodes that are lacking, if that is asked for: `ret` is the input that is to be simulated. */
static int grow(struct growth *growth, struct input *grown, struct input *input,
                const struct simulate_settings *settings, const struct sim_options *options,
                struct input **ret, struct error *err)
{
    change_request_vec items = { 0 };
    const struct change_requests changes = change_requests(&settings->input.changes, &items);
    struct str of = str_from(settings->until_placed);
    *ret = input;
    int r = of.len ? growth_find(growth, input, &changes, of, options, err) : 0;
    if (r == 0 && growth->nodes) {
        r = growth_fork(grown, input, &changes, of, growth->nodes, err);
        *ret = grown;
    }
    vec_release(&items);
    return r;
}

static int report(struct input *input, const struct growth *growth, const struct simulate_settings *settings,
                  const struct sim_options *options, double start)
{
    _cleanup_(simulation_release) struct simulation simulation = { 0 };
    _cleanup_(facts_release) struct facts facts = { 0 };
    _cleanup_(outcome_release) struct outcome outcome = { 0 };
    _cleanup_(removable_release) struct removable removable = { 0 };
    struct error err = { "" };
    int r = simulate(&simulation, input, options, &err);
    double load_seconds = now_seconds() - start - simulation.decide_seconds;
    progress_clear();
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    warn(&simulation);
    if (settings->trace && save_trace(&simulation, settings->trace, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    if (settings->explain)
        return print_turn(options->user, input);
    facts_collect(&facts, &simulation);
    r = outcome_collect(&outcome, &facts, options, &err);
    if (r == 0 && settings->removable)
        r = removable_find(&removable, &facts, &simulation,
                           &(struct removable_options){ .force = settings->input.changes.force,
                                                        .progress = options->progress ? show_nodes : NULL },
                           &err);
    progress_clear();
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    r = print(&facts,
              &(struct simulate_view){ .group_by = settings->group_by,
                                       .top = (uint32_t)settings->top,
                                       .timing = settings->timing && !settings->no_timing,
                                       .placements = settings->placements,
                                       .load_seconds = load_seconds,
                                       .outcome = input_is_changed(input) ? &outcome : NULL,
                                       .growth = settings->until_placed ? growth : NULL,
                                       .removable = settings->removable ? &removable : NULL },
              settings);
    return r == EXIT_DONE && settings->fail_on_pending ? fail_on_pending(simulation.waiting.len) : r;
}

static int record(const struct input *input, const struct simulate_settings *settings,
                  const struct sim_options *options)
{
    change_request_vec items = { 0 };
    const struct change_requests changes = change_requests(&settings->input.changes, &items);
    struct error err = { "" };
    uint64_t decisions = 0;
    int r = simulation_record(input, &changes, settings->record, options, &decisions, &err);
    vec_release(&items);
    if (r < 0)
        return fail(r == -ENOTSUP ? EXIT_INPUT : EXIT_TROUBLE, &err);
    fprintf(stderr, "berth: recorded %s; `berth replay %s` repeats them\n", counted(decisions, "decision"),
            settings->record);
    return EXIT_DONE;
}

static int check(const struct simulate_settings *settings)
{
    const struct {
        bool both;
        const char *sentence;
    } wrong[] = {
        { settings->prices && !settings->compare.len, "--prices needs --compare" },
        { settings->record && settings->compare.len, "--record and --compare exclude each other" },
        { settings->trace && settings->compare.len, "--trace and --compare exclude each other" },
        { settings->removable && settings->compare.len, "--removable and --compare exclude each other" },
        { settings->until_placed && settings->compare.len,
          "--add-until-placed and --compare exclude each other" },
        { settings->until_placed && !*settings->until_placed, "--add-until-placed: a name is empty" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (wrong[i].both)
            return usage_error(&command_simulate, "%s", wrong[i].sentence);
    return 0;
}

static int run(void *given, const struct texts *words _unused_)
{
    struct simulate_settings *settings = given;
    _cleanup_(input_release) struct input input = { 0 };
    _cleanup_(input_release) struct input grown = { 0 };
    _cleanup_(growth_release) struct growth growth = { 0 };
    struct error err = { "" };
    double start = now_seconds();
    int64_t wall_ns = 0;
    _cleanup_(turn_release) struct turn turn = { .settings = settings };
    if (check_explain(settings, &err) < 0 || decision_time(settings->now, &wall_ns, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (settings->explain) {
        struct pod_name name = parse_pod_name(settings->explain);
        turn.pod = (struct meta){ .namespace = name.namespace, .name = name.name };
    }
    settings->input.calls_extenders = !settings->no_extenders;
    int r = check(settings) ?: open_input(&input, &command_simulate, &settings->input);
    if (r)
        return r;
    if (input_check_nodes(&input, &err) < 0)
        return fail(EXIT_INPUT, &err);
    const struct sim_options options = {
        .seed = (uint64_t)settings->seed,
        .wall_ns = wall_ns,
        .percentage = { settings->percentage >= 0, (int32_t)settings->percentage },
        .progress = isatty(STDERR_FILENO) ? show_progress : NULL,
        .calls_extenders = settings->input.calls_extenders,
        .explains = settings->explain ? &turn.pod : NULL,
        .on_explanation = on_explanation,
        .user = &turn,
        .file_of = plugins_file,
    };
    if (settings->compare.len)
        return compare(&input, settings, &options);
    r = settings->record ? record(&input, settings, &options) : EXIT_DONE;
    if (r)
        return r;
    struct input *used;
    if (grow(&growth, &grown, &input, settings, &options, &used, &err) < 0) {
        progress_clear();
        return fail(EXIT_INPUT, &err);
    }
    return report(used, &growth, settings, &options, start);
}

const struct command command_simulate = {
    .name = "simulate",
    .summary = "Schedules all pending pods: where do they go, and which wait?",
    .usage = "[-f PATH...] [--config FILE] [--seed N]\n"
             "                      [--drain NODE] [--add N=NODE] [--scale KIND/NAME=N]\n"
             "                      [--compare FILE] [--explain NAMESPACE/POD]\n"
             "                      [--placements] [--fail-on-pending] [--record DIR]\n"
             "                      [--html FILE] [-o table|json|csv]",
    .purpose = "Decides all pods that have no node, in the order of the scheduling queue, as "
               "kube-scheduler would. Deployments, ReplicaSets, StatefulSets, Jobs and DaemonSets of "
               "the input add the pods that their controllers would still create. Pods that are "
               "preempted leave at once and come back where a controller would make them again. "
               "Nothing is changed anywhere, in no cluster: it is only looked at.",
    .examples = KUBECTL_EXAMPLE "  berth simulate -f cluster.json\n"
                                "  berth simulate -f cluster.json -f new-deployment.yaml --group-by pool\n"
                                "  berth simulate -f cluster.json -o json | jq .summary\n",
    .options = { { input_rows, offsetof(struct simulate_settings, input) },
                 { plugin_rows, offsetof(struct simulate_settings, input.plugins) },
                 { change_rows, offsetof(struct simulate_settings, input.changes) },
                 { rows, 0 } },
    .settings_size = sizeof(struct simulate_settings),
    .defaults = &(const struct simulate_settings){ .seed = 1, .top = 20, .percentage = -1 },
    .run = run,
};
