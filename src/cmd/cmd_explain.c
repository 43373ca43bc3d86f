/* cmd_explain.c: `berth explain`: why would this pod go where it goes, or why does it wait? Evaluates objects, or with
 * --server shows what the running scheduler answers. */
#include <stdio.h>

#include "cmd/explain.h"
#include "debug/explain_view.h"
#include "input/pod_kinds.h"
#include "sync/listing.h"
#include "sync/watched.h"
#include "whatif/explain_print.h"

static const struct option_row rows[] = {
    OUTPUT_OPTION(struct explain_settings, input, "table|json"),
    { 0, "top", "N", OPTION_NUMBER, offsetof(struct explain_settings, top),
      "How many nodes, reasons and candidates the table shows (default: 20).", 1, 1000000 },
    { 'n', "namespace", "NAMESPACE", OPTION_TEXT, offsetof(struct explain_settings, namespace),
      "The namespace of the pod; without a pod, list those that wait in this namespace." },
    { 0, "node", "NODE", OPTION_TEXT, offsetof(struct explain_settings, node),
      "Why (not) there? What every plugin says about this node, and how it scores beside the best one." },
    { 0, "as-if-pending", NULL, OPTION_FLAG, offsetof(struct explain_settings, as_if_pending),
      "Judge a pod whose resize is deferred as if it had no node. Other pods that run are judged so "
      "anyway." },
    { 0, "now", "TIME", OPTION_TEXT, offsetof(struct explain_settings, now),
      "Decide as at this time, such as 2026-01-31T12:00:00Z: a claim whose devices have not become ready in "
      "time is not available. Default: now." },
    { 0, "no-extenders", NULL, OPTION_FLAG, offsetof(struct explain_settings, no_extenders),
      "Do not ask the extenders of the configuration. They are asked to filter, score and preempt, and "
      "never to bind." },
    { 0, "timing", NULL, OPTION_FLAG, offsetof(struct explain_settings, timing),
      "Also show which plugins and extenders took the time, and from which files plugins were loaded." },
    { 0, "server", "URL", OPTION_SERVER, offsetof(struct explain_settings, running.server),
      "Ask this running scheduler instead of evaluating objects; without a URL, the one at " RUNNING_SERVER
      "." },
    HTML_OPTION(struct explain_settings, html),
    RUNNING_TLS_OPTIONS(struct explain_settings, running, "With --server: "),
    { 0 },
};

extern const struct command command_explain;

/* ---- of objects ---- */

/* Every pod that waits for this scheduler is known to the model: nominations count. */
static struct pod_info *add_pending(struct input *input, const struct pod *wanted)
{
    size_t len;
    struct pod **pending = input_pending(input, &len);
    for (size_t i = 0; i < len; i++)
        if (pending[i] != wanted && config_profile(&input->config, pending[i]->spec.scheduler_name))
            cluster_add_pod(&input->cluster, pending[i]);
    free(pending);
    struct pod_info *running = cluster_find_pod(&input->cluster, wanted->meta.namespace, wanted->meta.name);
    return running ? running : cluster_add_pod(&input->cluster, wanted);
}

static bool comes_before(const struct pod *other, const struct pod *pod, bool is_earlier)
{
    int64_t ahead = (int64_t)other->spec.priority.value - pod->spec.priority.value;
    return other != pod && (ahead > 0 || (ahead == 0 && is_earlier)) && !other->spec.scheduling_gates.len &&
           !other->meta.deletion_time.set;
}

/* Which waiting pods come first, by priority, then by age, then as they came: as if all were added to an empty queue,
 * those that controllers would still create behind the others. */
static void find_turn(struct input *input, const struct pod *pod, struct explain_options *ret)
{
    int32_t count = 0;
    undecided_vec all = input_undecided(input, NULL);
    vec_for(&all, other) {
        ret->has_turn |= *other == pod;
        /* of pods of the same priority, those that came earlier come first */
        if (!comes_before(*other, pod, !ret->has_turn))
            continue;
        if (count++ == 0 || (*other)->spec.priority.value > ret->pod_before->spec.priority.value)
            ret->pod_before = *other;
    }
    ret->pods_before = (struct opt_int32){ true, count };
    vec_release(&all);
}

static int check_node(const struct input *input, const char *name, struct error *err)
{
    const struct cluster *cluster = &input->cluster;
    size_t len = 0;
    if (!name || cluster_row(cluster, str_from(name)) != ROW_NONE)
        return 0;
    const char **names = xcalloc(cluster->nodes.len + 1, sizeof(*names));
    for (uint32_t row = 0; row < cluster->nodes.len; row++)
        if (cluster->nodes.items[row].api)
            names[len++] = cluster->nodes.items[row].api->meta.name.ptr;
    const char *near = nearest_name(name, names, len);
    int r = error_set(err, -ENOENT, "there is no node %s in the %s%s%s%s", name,
                      input->is_live ? "cluster" : "input", near ? "; did you mean " : "", near ? near : "",
                      near ? "?" : "");
    free(names);
    return r;
}

static int explain(struct input *input, const struct explain_settings *settings, const struct pod *pod,
                   struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    _cleanup_(deciders_release) struct deciders deciders = { 0 };
    struct term term = term_stdout(&out);
    struct explanation explanation = { 0 };
    struct pod_info *info = add_pending(input, pod);
    struct explain_options options = { .file_of = plugins_file,
                                       .begins = true,
                                       .as_if_pending = settings->as_if_pending,
                                       .calls_extenders = !settings->no_extenders,
                                       .timing = settings->timing,
                                       .pods_before = { true, 0 },
                                       .node = str_from(settings->node ?: "") };
    if (decision_time(settings->now, &options.now_ns, err) < 0 ||
        (!input->is_live && expansion_run(&input->expansion, err) < 0))
        return fail(EXIT_INPUT, err);
    if (str_empty(pod->spec.node_name))
        find_turn(input, pod, &options);
    if (deciders_init(&deciders, input, info->api, err) < 0 || check_node(input, settings->node, err) < 0)
        return fail(EXIT_INPUT, err);
    options.extenders = deciders.extenders;
    explain_pod(&explanation, decider(&deciders), &input->cluster, info, &options);
    if (settings->html || settings->input.output == OUTPUT_JSON)
        explain_json(&explanation, &json);
    if (settings->input.output == OUTPUT_JSON)
        strbuf_str(&out, strbuf_slice(&json));
    else
        explain_table(&explanation, &term, (uint32_t)settings->top);
    explanation_release(&explanation);
    int r = write_html(settings->html, "Explanation", &settings->input.files, strbuf_slice(&json));
    return r ? r : finish(&term);
}

static int explain_objects(struct explain_settings *settings, const struct target *target)
{
    _cleanup_(input_release) struct input input = { 0 };
    struct error err = { "" };
    settings->input.calls_extenders = !settings->no_extenders;
    int r = open_input(&input, &command_explain, &settings->input);
    if (r)
        return r;
    if (input_check_nodes(&input, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (!target)
        return explain_waiting(&input, settings, &err);
    struct pod *pod = target_find(&input, target, &err);
    if (!pod)
        return fail(EXIT_INPUT, &err);
    input_warn(&input, &(undecided_vec){ .items = (const struct pod *[]){ pod }, .len = 1 });
    return explain(&input, settings, pod, &err);
}

/* ---- of the running scheduler ---- */

static void make_path(const struct explain_settings *settings, const struct target *wanted,
                      enum output output, const struct term *term, struct strbuf *path)
{
    struct str namespace = target_namespace(wanted);
    _cleanup_(arena_release) struct arena scratch = { 0 };
    strbuf_puts(path, VIEW_EXPLAIN_PATH "?");
    watched_query(path, "pod",
                  arena_printf(&scratch, STR_FMT "/" STR_FMT, STR_ARG(namespace), STR_ARG(wanted->name)));
    if (settings->timing)
        strbuf_puts(path, "&timing=1");
    if (settings->node)
        watched_query(path, "node", str_from(settings->node));
    if (output == OUTPUT_TABLE)
        strbuf_printf(path, "&output=table&top=%lld&colours=%d", (long long)settings->top, term->colours);
    if (output == OUTPUT_TABLE && term->folds)
        strbuf_printf(path, "&width=%u", term->width);
}

static int get_explanation(const struct explain_settings *settings, const struct target *target,
                           enum output output, const struct term *term, struct strbuf *ret)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    struct error err = { "" };
    make_path(settings, target, output, term, &path);
    if (running_get(&settings->running, strbuf_slice(&path), ret, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    return EXIT_DONE;
}

static int explain_live(struct explain_settings *settings, const struct target *target)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 }, json = { 0 };
    struct term term = term_stdout(&out);
    int r = EXIT_DONE;
    if (!target)
        return usage_error(&command_explain,
                           "explain --server wants one pod; berth queue lists those that wait");
    if (target->kind != KIND_POD)
        return usage_error(&command_explain, "explain --server is about pods");
    settings->running.kubeconfig = settings->input.kubeconfig;
    settings->running.context = settings->input.context;
    if (settings->html)
        r = get_explanation(settings, target, OUTPUT_JSON, &term, &json);
    if (!r)
        r = write_html(settings->html, "Explanation",
                       &(struct texts){ .items = &settings->running.server, .len = 1 }, strbuf_slice(&json));
    if (!r)
        r = get_explanation(settings, target, (enum output)settings->input.output, &term, &out);
    return r ? r : finish(&term);
}

static int check_without_server(const struct running *running, struct error *err)
{
    const char *option = running->insecure            ? "--insecure-skip-tls-verify"
                         : running->sends_credentials ? "--insecure-send-credentials"
                         : running->authority         ? "--certificate-authority"
                                                      : NULL;
    return option ? error_set(err, -EINVAL, "%s goes with --server", option) : 0;
}

/* Options about objects and their evaluation do not go with --server, and the other way round. */
static int check_server(const struct explain_settings *settings, struct error *err)
{
    if (!settings->running.server)
        return check_without_server(&settings->running, err);
    if (settings->input.files.len || settings->input.config || settings->as_if_pending || settings->now ||
        settings->no_extenders || settings->input.plugins.files.len || settings->input.plugins.dirs.len)
        return error_set(err, -EINVAL,
                         "--server asks a scheduler that has its own objects, configuration and plugins: "
                         "-f, --config, --plugin, --plugin-dir, --as-if-pending, --now and --no-extenders do "
                         "not go with it");
    return 0;
}

/* ---- the command ---- */

/* "deploy web" is "deploy/web", as with kubectl get. NULL: no pod is named. */
static int read_words(const struct texts *words, struct arena *arena, const char **ret)
{
    *ret = words->len ? words->items[0] : NULL;
    if (words->len < 2)
        return EXIT_DONE;
    if (pod_kind_named(str_from(words->items[0])) == KIND_UNKNOWN)
        return usage_error(&command_explain, "explain %s; it got %zu", command_explain.wants, words->len);
    *ret = arena_printf(arena, "%s/%s", words->items[0], words->items[1]).ptr;
    return EXIT_DONE;
}

/* As with kubectl, that of the context, where a cluster is asked. One that cannot be asked is reported then. */
static struct str context_namespace(const struct explain_settings *settings, struct arena *arena)
{
    const struct input_settings *input = &settings->input;
    struct kube_access access = { .namespace = { 0 } };
    struct error err;
    bool asks_cluster = settings->running.server || !input->files.len || input->kubeconfig || input->context;
    return asks_cluster && usual_access(input->kubeconfig, input->context, NULL, arena, &access, &err) == 0
               ? access.namespace
               : (struct str){ 0 };
}

static int run(void *given, const struct texts *words)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct explain_settings *settings = given;
    struct error err = { "" };
    struct target target;
    const char *pod;
    int r = read_words(words, &arena, &pod);
    if (r)
        return r;
    if (settings->running.server && !*settings->running.server)
        settings->running.server = RUNNING_SERVER;
    if (settings->node && !pod)
        return usage_error(&command_explain, "explain --node wants a pod: why is it (not) there?");
    if (check_server(settings, &err) < 0 ||
        (pod && target_parse(pod, settings->namespace, &target, &err) < 0))
        return fail(EXIT_INPUT, &err);
    if (pod)
        target.usual = context_namespace(settings, &arena);
    return (settings->running.server ? explain_live : explain_objects)(settings, pod ? &target : NULL);
}

const struct command command_explain = {
    .name = "explain",
    .summary = "Says why a pod would go where it goes, or why it waits.",
    .usage = "[-f PATH...] [--config FILE] [-o table|json] [--html FILE]\n"
             "                     [-n NAMESPACE] [POD]\n"
             "       berth explain --server [URL] [-o table|json] [--html FILE] POD",
    .purpose =
        "Evaluates one pod on every node, as kube-scheduler would, and shows the whole "
        "thought: which nodes can take it and how each plugin scores them, which plugin "
        "rejects the others and what they lack, and whose place it could take. A pod that runs is "
        "evaluated as if it were pending. Without a pod, those that wait are listed.\n\n"
        "POD is a name, NAMESPACE/POD, or pod/POD; deploy/NAME, sts/, ds/, rs/, rc/ or job/NAME is a pod "
        "of that workload, made of its template. A name that exists in one other namespace alone "
        "is taken from there.\n\n"
        "With --server the running `berth scheduler` answers from its own memory: in which "
        "queue the pod waits and what may wake it, its last attempts with the verdict on every "
        "node, and what would be decided now. That changes nothing there. The user needs the "
        "permission to get " VIEW_EXPLAIN_PATH ".\n\n"
        "With --timing both say which plugins took the time, and from which files those are that "
        "were loaded.",
    .examples = KUBECTL_EXAMPLE "  berth explain -f cluster.json shop/cart-0\n"
                                "  berth explain -f cluster/ --config scheduler.yaml -o json web | jq .best\n"
                                "  berth explain -f cluster.json -n shop deploy/web\n"
                                "  berth explain -f cluster.json shop/cart-0 --node node-7\n"
                                "  berth explain --server shop/cart-0\n",
    .options = { { input_rows, offsetof(struct explain_settings, input) },
                 { plugin_rows, offsetof(struct explain_settings, input.plugins) },
                 { rows, 0 } },
    .settings_size = sizeof(struct explain_settings),
    .defaults = &(const struct explain_settings){ .top = 20 },
    .words_max = 2,
    .wants = "wants one pod",
    .run = run,
};
