/* common.c: opening the input, requests to a running scheduler, and the end of a command; see common.h. */
#include "cmd/common.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "api/kinds.h"
#include "base/clock.h"
#include "base/log.h"
#include "client/get.h"
#include "config/flags.h"
#include "input/wanted_kinds.h"
#include "report/page.h"

const struct option_row input_rows[] = {
    { 'f', "filename", "PATH", OPTION_TEXTS, offsetof(struct input_settings, files),
      "Objects: a file (JSON, YAML, several documents, Lists, JSON lines), a folder with such files, or - "
      "for "
      "standard input. May be given again. Without it, the cluster of the kubeconfig." },
    { 0, "strict", NULL, OPTION_FLAG, offsetof(struct input_settings, is_strict),
      "Refuse objects of -f with fields that their kind does not have. Without it they are warnings." },
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct input_settings, kubeconfig),
      "How to reach the cluster; without it, $KUBECONFIG or ~/.kube/config." },
    { 0, "context", "NAME", OPTION_TEXT, offsetof(struct input_settings, context),
      "Another context than the current one of the kubeconfig." },
    { 0, "config", "FILE", OPTION_TEXT, offsetof(struct input_settings, config),
      "A KubeSchedulerConfiguration; without it, what kube-scheduler runs with by default." },
    { 0, "policy-dir", "FOLDER", OPTION_TEXT, offsetof(struct input_settings, policy_dir),
      "Files with scheduling policies (docs/POLICIES.md), as the flag of `berth scheduler`." },
    { 0, "policy-configmap", "NAMESPACE/NAME", OPTION_TEXT,
      offsetof(struct input_settings, policy_config_map),
      "The ConfigMap with scheduling policies, among the objects of -f or in the cluster." },
    { 0, "emulated-version", "VERSION", OPTION_TEXT, offsetof(struct input_settings, emulated),
      "The Kubernetes release whose scheduler is asked: 1.37 (default), or 1.36." },
    { 0, "min-compatibility-version", "VERSION", OPTION_TEXT, offsetof(struct input_settings, compatible),
      "The oldest release among the control plane's components (default: the one before)." },
    { 0, "feature-gates", "NAME=BOOL,...", OPTION_TEXTS, offsetof(struct input_settings, gates),
      "Feature gates to turn on or off. May be given again." },
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

int write_html(const char *path, const char *what, const struct texts *files, struct str json)
{
    _cleanup_(strbuf_release) struct strbuf title = { 0 };
    struct error err = { "" };
    if (!path)
        return EXIT_DONE;
    strbuf_puts(&title, what);
    for (size_t i = 0; i < files->len; i++)
        strbuf_printf(&title, "%s%s", i ? ", " : ": ", files->items[i]);
    return report_write(path, strbuf_slice(&title), json, &err) < 0 ? fail(EXIT_TROUBLE, &err) : EXIT_DONE;
}

/* ---- progress ---- */

static double progress_shown; /* seconds after the beginning; 0: never */

bool progress_is_due(double seconds)
{
    bool due = seconds >= 1 && seconds - progress_shown >= 0.2;
    progress_shown = due ? seconds : progress_shown;
    return due;
}

const char *progress_share(double done, double all, double seconds)
{
    static char text[64];
    double share = all > 0 ? MIN(done / all, 1) : 1;
    double left = share > 0 ? seconds * (1 - share) / share : 0;
    snprintf(text, sizeof(text), "%d%%, %s left", (int)(share * 100), aged((int64_t)(left + 0.5)));
    return text;
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

/* Each file begins at 0. */
static void show_reading(const struct doc_stream *stream, double share)
{
    static const struct doc_stream *present;
    static int64_t first_ns, begun_ns;
    int64_t now_ns = monotonic_ns();
    if (!stream) {
        progress_clear();
        return;
    }
    if (present != stream)
        begun_ns = now_ns;
    first_ns = first_ns ? first_ns : now_ns;
    present = stream;
    if (progress_is_due((double)(now_ns - first_ns) * 1e-9))
        fprintf(stderr, "\rberth: reading %s, %s \033[K", stream->path,
                progress_share(share, 1, (double)(now_ns - begun_ns) * 1e-9));
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

/* The live scheduler takes note of it in its log. */
static void warn_absent(const struct wanted_kinds *more, const struct listing *listing)
{
    vec_for(&more->list, row)
        if (listing->absent >> row->watched.kind & 1)
            fprintf(stderr, "berth: warning: the cluster does not have %s, which %s would read\n",
                    row->watched.resource, row->whose);
}

int list_cluster(const char *kubeconfig, const char *context, const struct features *features,
                 const struct wanted_kinds *more, struct listing *ret, struct error *err)
{
    static const struct wanted_kinds none;
    more = more ? more : &none;
    silence_log();
    int r =
        listing_read(&(struct listing_options){ .kubeconfig = kubeconfig,
                                                .context = context,
                                                .features = features,
                                                .more = more->list.items,
                                                .more_len = more->list.len,
                                                .on_progress = isatty(STDERR_FILENO) ? show_progress : NULL },
                     ret, err);
    progress_clear();
    if (r == 0)
        warn_absent(more, ret);
    return r;
}

/* Without files the cluster of the kubeconfig is meant, and with files when it is named too. */
static bool lists_cluster(const struct input_settings *settings)
{
    return !settings->files.len || settings->kubeconfig || settings->context;
}

struct opening {
    const struct command *command;
    const struct input_settings *settings;
    const struct features *features;
};

static int list(void *user, const struct scheduler_config *config, struct listing *ret, struct error *err)
{
    const struct opening *opening = user;
    const struct input_settings *settings = opening->settings;
    _cleanup_(wanted_kinds_release) struct wanted_kinds wanted = { 0 };
    const struct wanted_options options = { .config = config,
                                            .registry = plugins_registry(),
                                            .features = opening->features,
                                            .has_policies =
                                                settings->policy_dir || settings->policy_config_map,
                                            .policy_config_map = settings->policy_config_map };
    silence_log();
    int r = wanted_kinds_find(&wanted, &options, err);
    if (r < 0)
        return r;
    r = list_cluster(settings->kubeconfig, settings->context, opening->features, &wanted, ret, err);
    if (r < 0 && !settings->kubeconfig && !settings->context)
        error_prefix(err, "%s needs the objects of a cluster: -f FILE, or a cluster that can be reached",
                     opening->command->name);
    return r;
}

/* What the same flags of the scheduler mean. */
static int read_features(const struct input_settings *settings, struct features *ret, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct scheduler_flags flags;
    char **argv = arena_array(&arena, char *, settings->gates.len + 4);
    int argc = 0;
    argv[argc++] = (char *)"berth";
    if (settings->emulated)
        argv[argc++] = (char *)arena_printf(&arena, "--emulated-version=%s", settings->emulated).ptr;
    if (settings->compatible)
        argv[argc++] =
            (char *)arena_printf(&arena, "--min-compatibility-version=%s", settings->compatible).ptr;
    for (size_t i = 0; i < settings->gates.len; i++)
        argv[argc++] = (char *)arena_printf(&arena, "--feature-gates=%s", settings->gates.items[i]).ptr;
    int r = flags_parse(&flags, argc, argv, err);
    if (r < 0)
        return r;
    r = flags_check(&flags, ret, NULL, err);
    flags_release(&flags);
    return r;
}

int read_emulated(const char *version, const struct release **ret, struct error *err)
{
    struct features features;
    int r = read_features(&(struct input_settings){ .emulated = version }, &features, err);
    *ret = r == 0 ? features.release : NULL;
    return r;
}

static int check_policies(const struct input_settings *settings, struct error *err)
{
    const char *name = settings->policy_config_map;
    if (name && settings->policy_dir)
        return error_set(err, -EINVAL, "--policy-dir and --policy-configmap exclude each other");
    if (name && !flags_names_object(str_from(name)))
        return error_set(err, -EINVAL, "--policy-configmap: expected NAMESPACE/NAME, got \"%s\"", name);
    return 0;
}

int open_input(struct input *input, const struct command *command, const struct input_settings *settings)
{
    struct error err = { "" };
    struct features features;
    struct opening opening = { command, settings, &features };
    change_request_vec changes = { 0 };
    if (check_policies(settings, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (read_features(settings, &features, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (plugins_load(&settings->plugins, settings->config, &err) < 0)
        return fail(EXIT_INPUT, &err);
    int r = input_open(input,
                       &(struct input_options){ .paths = settings->files.items,
                                                .paths_len = settings->files.len,
                                                .templates = settings->templates.items,
                                                .templates_len = settings->templates.len,
                                                .list = lists_cluster(settings) ? list : NULL,
                                                .user = &opening,
                                                .config = settings->config,
                                                .policy_dir = settings->policy_dir,
                                                .policy_config_map = settings->policy_config_map,
                                                .features = &features,
                                                .is_strict = settings->is_strict,
                                                .calls_extenders = settings->calls_extenders,
                                                .registry = plugins_registry(),
                                                .on_progress = isatty(STDERR_FILENO) ? show_reading : NULL,
                                                .changes = change_requests(&settings->changes, &changes) },
                       &err);
    vec_release(&changes);
    progress_clear();
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
        { "certificate",
          "--certificate-authority FILE trusts the certificate in that file, such as the one that "
          "a scheduler made for itself (kube-scheduler.crt in its --cert-dir)" },
        { "connect to", "is a berth scheduler running there? --server URL names another one" },
        { "system:anonymous",
          "--kubeconfig FILE names the user; the scheduler authenticates it if it was started with "
          "--authentication-kubeconfig and --authorization-kubeconfig" },
        { "cannot get path", "a ClusterRole with nonResourceURLs: [\"/debug/berth/*\", \"/ui/*\", "
                             "\"/configz\"] and verbs: [get] would allow it, if the "
                             "scheduler was started with --authorization-kubeconfig" },
        { "page not found", "that is no berth scheduler" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strstr(err->text, known[i].word))
            return known[i].advice;
    return NULL;
}

/* What can be used by another who receives it. A client's certificate cannot: its key is not sent. */
static bool withhold_credentials(struct kube_user *user)
{
    bool has =
        user->token.len || user->token_file.len || user->username.len || user->password.len || user->exec;
    user->token = user->token_file = user->username = user->password = (struct str){ 0 };
    user->exec = NULL;
    return has;
}

/* `server`: as it is named in a sentence. */
static int explained(struct error *err, const char *server, bool withheld, int r)
{
    static const char not_sent[] =
        "the credentials of the kubeconfig were not sent, because the certificate is not "
        "checked; --certificate-authority FILE checks it against the one in that file";
    const char *what = withheld && r == -EACCES ? not_sent : advice(err);
    const struct error said = *err;
    return what ? error_set(err, r, "%s: %s; %s", server, said.text, what)
                : error_set(err, r, "%s: %s", server, said.text);
}

int running_open(const struct running *running, struct loop *loop, struct running_session *ret,
                 struct error *err)
{
    struct kube_access *access = &ret->access;
    const char *named = running->server && *running->server ? running->server : RUNNING_SERVER;
    *ret = (struct running_session){ 0 };
    ret->server = strstr(named, "://") ? named : arena_printf(&ret->arena, "https://%s", named).ptr;
    int r = usual_access(running->kubeconfig, running->context, ret->server, &ret->arena, access, err);
    if (r == 0 && running->insecure && running->authority)
        r = error_set(err, -EINVAL,
                      "--certificate-authority and --insecure-skip-tls-verify exclude each other");
    if (r < 0)
        return r;
    if (running->insecure || running->authority) {
        access->cluster.insecure = running->insecure;
        access->cluster.certificate_authority = str_from(running->authority);
        access->cluster.certificate_authority_data = (struct str){ 0 };
    }
    /* Also where the kubeconfig does not check: that is about another server. */
    ret->withheld =
        access->cluster.insecure && !running->sends_credentials && withhold_credentials(&access->user);
    r = api_new(&(struct api_options){ .loop = loop, .access = access, .qps = -1 }, &ret->api, err);
    return r < 0 ? explained(err, ret->server, ret->withheld, r) : 0;
}

int running_ask(struct running_session *session, struct str path, struct strbuf *ret, struct error *err)
{
    int r = client_get_again(session->api, path, ANSWER_MS, ret, err);
    return r < 0 ? explained(err, session->server, session->withheld, r) : r;
}

void running_close(struct running_session *session)
{
    api_free(session->api);
    arena_release(&session->arena);
}

int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err)
{
    _cleanup_(running_close) struct running_session session = { 0 };
    int r = running_open(running, NULL, &session, err);
    return r < 0 ? r : running_ask(&session, path, ret, err);
}

int decision_time(const char *given, int64_t *ret_ns, struct error *err)
{
    const int64_t second_ns = 1000000000;
    struct opt_time time = { 0 };
    struct timespec now;
    if (given && (!opt_time_parse(str_from(given), &time) || time.seconds < 0 ||
                  time.seconds >= INT64_MAX / second_ns))
        return error_set(err, -EINVAL, "--now: expected a time such as 2026-01-31T12:00:00Z, got \"%s\"",
                         given);
    clock_gettime(CLOCK_REALTIME, &now);
    if (given)
        now = (struct timespec){ time.seconds, time.nanos };
    *ret_ns = (int64_t)now.tv_sec * second_ns + now.tv_nsec;
    return 0;
}
