/* common.c: opening the input, requests to a running scheduler, and the end of a command; see common.h. */
#include "cmd/common.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "client/get.h"
#include "sync/listing.h"

const struct option_row input_rows[] = {
    { 'f', "filename", "PATH", OPTION_TEXTS, offsetof(struct input_settings, files),
      "Objects: a file (JSON, YAML, several documents, Lists, JSON lines), a folder with such files, or - "
      "for "
      "standard input. May be given again. Without it, the cluster of the kubeconfig." },
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct input_settings, kubeconfig),
      "How to reach the cluster; without it, $KUBECONFIG or ~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct input_settings, context),
      "Another context than the current one of the kubeconfig." },
    { 0, "config", "FILE", OPTION_TEXT, offsetof(struct input_settings, config),
      "A KubeSchedulerConfiguration; without it, what kube-scheduler runs with by default." },
    { 'o', "output", "table|json", OPTION_CHOICE, offsetof(struct input_settings, output),
      "How to print the answer (default: table)." },
    { 0 },
};

int fail(int code, const struct error *err)
{
    fprintf(stderr, "berth: %s\n", err->text);
    return code;
}

static void warn_about_plugins(const struct input *input)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct warnings warnings = { 0 };
    plugins_warn(&input->config, &arena, &warnings);
    print_warnings(&warnings);
    warnings_release(&warnings);
}

/* ---- progress ---- */

static double progress_shown; /* seconds after the beginning; 0: never */

bool progress_is_due(double seconds)
{
    bool due = seconds >= 1 && seconds - progress_shown >= 0.2;
    progress_shown = due ? seconds : progress_shown;
    return due;
}

void progress_clear(void)
{
    if (progress_shown > 0)
        fputs("\r\033[K", stderr);
    progress_shown = 0;
}

/* ---- the cluster ---- */

static void show_progress(size_t objects, double seconds)
{
    if (progress_is_due(seconds))
        fprintf(stderr, "\rberth: listing the cluster, %s objects so far \033[K", grouped((int64_t)objects));
}

/* The log is that of a scheduler; a command reports what goes wrong in one sentence. */
static void silence_log(void)
{
    static int nowhere = -1;
    if (nowhere < 0)
        nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0)
        log_init(&(struct log_options){ .fd = nowhere }, NULL);
}

int list_cluster(const char *kubeconfig, const char *context, struct listing *ret, struct error *err)
{
    silence_log();
    int r =
        listing_read(&(struct listing_options){ .kubeconfig = kubeconfig,
                                                .context = context,
                                                .on_progress = isatty(STDERR_FILENO) ? show_progress : NULL },
                     ret, err);
    progress_clear();
    return r;
}

/* Without files the cluster of the kubeconfig is meant, and with files when it is named too. */
static int list_if_meant(const struct command *command, const struct input_settings *settings,
                         struct listing *ret, struct error *err)
{
    bool named = settings->kubeconfig || settings->context;
    if (settings->files.len && !named)
        return 0;
    int r = list_cluster(settings->kubeconfig, settings->context, ret, err);
    if (r < 0 && !named)
        error_prefix(err, "%s needs the objects of a cluster: -f FILE, or a cluster that can be reached",
                     command->name);
    return r;
}

int open_input(struct input *input, const struct command *command, const struct input_settings *settings)
{
    struct error err = { "" };
    struct listing listing = { 0 };
    if (plugins_load(&settings->plugins, settings->config, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (list_if_meant(command, settings, &listing, &err) < 0)
        return fail(EXIT_INPUT, &err);
    int r = input_open(input,
                       &(struct input_options){ .paths = settings->files.items,
                                                .paths_len = settings->files.len,
                                                .listing = &listing,
                                                .config = settings->config,
                                                .calls_extenders = settings->calls_extenders,
                                                .registry = plugins_registry() },
                       &err);
    listing_release(&listing);
    if (r < 0)
        return fail(EXIT_INPUT, &err);
    warn_about_plugins(input);
    return 0;
}

int finish(struct term *term)
{
    struct error err = { "" };
    if (term_flush(term, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    return EXIT_DONE;
}

struct pod_name parse_pod_name(const char *text)
{
    struct pod_name pod = { STR("default"), str_from(text) };
    if (strchr(text, '/'))
        pod.namespace = str_cut(&pod.name, '/');
    return pod;
}

/* ---- a running scheduler ---- */

enum { ANSWER_MS = 60 * 1000 };

/* What to do about the usual failures, by a word of their sentence. */
static const char *advice(const struct error *err)
{
    static const struct {
        const char *word, *advice;
    } known[] = {
        { "certificate", "--insecure-skip-tls-verify does not check it" },
        { "connect to", "is a berth scheduler running there? --server URL names another one" },
        { "system:anonymous",
          "--kubeconfig FILE says who asks, and the scheduler knows who that is if it was started with "
          "--authentication-kubeconfig and --authorization-kubeconfig" },
        { "cannot get path",
          "a ClusterRole with nonResourceURLs: [\"/debug/berth/*\"] and verbs: [get] would allow it, if the "
          "scheduler was started with --authorization-kubeconfig" },
        { "page not found", "that is no berth scheduler" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strstr(err->text, known[i].word))
            return known[i].advice;
    return NULL;
}

/* `server`: as it is named in a sentence. */
static int explained(struct error *err, const char *server, int r)
{
    const char *what = advice(err);
    const struct error said = *err;
    return what ? error_set(err, r, "%s: %s; %s", server, said.text, what)
                : error_set(err, r, "%s: %s", server, said.text);
}

int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct kube_access access = { 0 };
    const char *named = running->server && *running->server ? running->server : RUNNING_SERVER;
    const char *server = strstr(named, "://") ? named : arena_printf(&arena, "https://%s", named).ptr;
    int r = usual_access(running->kubeconfig, running->context, server, &arena, &access, err);
    if (r == 0 && running->insecure) {
        access.cluster.insecure = true;
        access.cluster.certificate_authority = access.cluster.certificate_authority_data = (struct str){ 0 };
    }
    if (r == 0) {
        r = client_get(&access, path, ANSWER_MS, ret, err);
        if (r < 0)
            r = explained(err, server, r);
    }
    return r;
}
