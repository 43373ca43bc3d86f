/* credentials_exec.c: starting the program, listening to it, and reading what it said.
 *
 * The program gets our environment, its own variables from the kubeconfig, and KUBERNETES_EXEC_INFO; no file
 * of ours is left open in it. It is started without a terminal unless the kubeconfig wants one and there is
 * one. */
#include "client/credentials_exec.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/kinds.h"
#include "codec/json_writer.h"
#include "http/http.h"
#include "net/file.h"

extern char **environ;

enum { OUTPUT_BYTES_MAX = 1 << 20, CA_BYTES_MAX = 4 << 20, TICK_MS = 20 };

void exec_output_release(struct exec_output *output)
{
    strbuf_release(&output->token);
    strbuf_release(&output->cert);
    strbuf_release(&output->key);
}

/* What the program is told */

/* The authority is told as data. */
static int write_cluster(struct json_writer *json, const struct kube_access *access, struct error *err)
{
    struct kube_cluster cluster = access->cluster;
    _cleanup_(strbuf_release) struct strbuf ca = { 0 };
    if (cluster.certificate_authority.len && !cluster.certificate_authority_data.len) {
        int r = file_read(cluster.certificate_authority.ptr, CA_BYTES_MAX, &ca, err);
        if (r < 0)
            return r;
        cluster.certificate_authority_data = strbuf_slice(&ca);
    }
    cluster.certificate_authority = (struct str){ 0 };
    json_member_object(json, "cluster");
    record_write_fields(&(struct record_writer){ .json = json }, &kube_cluster_type, &cluster);
    json_key(json, STR("config"));
    json_raw(json, access->user.exec->cluster_config.len ? access->user.exec->cluster_config : STR("null"));
    json_end_object(json);
    return 0;
}

static int write_info(struct strbuf *out, const struct kube_access *access, bool interactive,
                      struct error *err)
{
    const struct kube_exec *exec = access->user.exec;
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("ExecCredential"));
    json_member_str(&json, "apiVersion", exec->api_version);
    json_member_object(&json, "spec");
    int r = exec->provide_cluster_info ? write_cluster(&json, access, err) : 0;
    json_member_bool(&json, "interactive", interactive);
    json_end_object(&json);
    json_end_object(&json);
    return r;
}

static int decide_interactive(const struct kube_exec *exec, bool *ret, struct error *err)
{
    bool terminal = isatty(STDIN_FILENO) == 1;
    if (exec->interactive == EXEC_INTERACTIVE_ALWAYS && !terminal)
        return error_set(err, -ENOTTY,
                         "the credential program %s wants a terminal, and standard input is none",
                         exec->command.ptr);
    *ret = terminal && exec->interactive != EXEC_INTERACTIVE_NEVER;
    return 0;
}

/* The environment, with later variables in place of earlier ones of the same name. */
struct variables {
    struct arena arena;
    VEC(char *) items;
};

static void variables_release(struct variables *variables)
{
    vec_release(&variables->items);
    arena_release(&variables->arena);
}

static void set_variable(struct variables *variables, struct str name, struct str value)
{
    struct str line = arena_printf(&variables->arena, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value));
    vec_for(&variables->items, item)
        if (strncmp(*item, line.ptr, name.len + 1) == 0) {
            *item = (char *)line.ptr;
            return;
        }
    *vec_push(&variables->items) = (char *)line.ptr;
}

static int fill_variables(struct variables *variables, const struct kube_access *access, bool interactive,
                          struct error *err)
{
    for (char **item = environ; item && *item; item++)
        *vec_push(&variables->items) = *item;
    list_for(&access->user.exec->env, variable)
        set_variable(variables, variable->name, variable->value);
    _cleanup_(strbuf_release) struct strbuf info = { 0 };
    int r = write_info(&info, access, interactive, err);
    set_variable(variables, STR("KUBERNETES_EXEC_INFO"), strbuf_slice(&info));
    *vec_push(&variables->items) = NULL;
    return r;
}

/* Starting it */

static int spawn(const struct kube_exec *exec, char **env, int output, bool interactive, pid_t *ret)
{
    VEC(char *) argv = { 0 };
    *vec_push(&argv) = (char *)exec->command.ptr;
    list_for(&exec->args, arg)
        *vec_push(&argv) = (char *)(arg->ptr ? arg->ptr : "");
    *vec_push(&argv) = NULL;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (!interactive)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    /* Our threads block signals; the program shall not start that way. In a group of its own it can be killed
     * with all its children, but a group in the background cannot read from a terminal. */
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  (interactive ? 0 : POSIX_SPAWN_SETPGROUP)));
    int r = posix_spawnp(ret, exec->command.ptr, &actions, &attributes, argv.items, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    vec_release(&argv);
    return -r;
}

/* Listening to it */

struct child {
    pid_t pid;
    int output;
    bool interactive, gone;
    int status;
};

static void reap(struct child *child, int flags)
{
    int status = 0;
    pid_t r;
    if (child->gone)
        return;
    do
        r = waitpid(child->pid, &status, flags);
    while (r < 0 && errno == EINTR);
    /* Somebody else may have collected it (SIGCHLD ignored): then its output has to speak for it. */
    child->gone = r != 0;
    child->status = r > 0 ? status : 0;
}

static void kill_child(struct child *child)
{
    if (child->gone)
        return;
    kill(child->interactive ? child->pid : -child->pid, SIGKILL);
    reap(child, 0);
}

/* Adds what there is. Returns false at the end of the output, or when it is too much. */
static bool drain(int fd, struct strbuf *text)
{
    for (;;) {
        ssize_t got = read(fd, text->text + text->len, OUTPUT_BYTES_MAX + 1 - text->len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        text->len += (size_t)got;
        if (text->len > OUTPUT_BYTES_MAX)
            return false;
    }
}

static int listen_to(struct child *child, const char *command, int64_t timeout_ms, const atomic_bool *stop,
                     struct strbuf *text, struct error *err)
{
    int64_t until_ns = monotonic_ns() + timeout_ms * NS_PER_MS;
    bool open = true;
    while (!child->gone) {
        struct pollfd wait = { .fd = open ? child->output : -1, .events = POLLIN };
        (void)poll(&wait, 1, TICK_MS);
        open = open && drain(child->output, text);
        reap(child, WNOHANG);
        if (text->len > OUTPUT_BYTES_MAX)
            return error_set(err, -EFBIG, "the credential program %s printed more than %d bytes", command,
                             OUTPUT_BYTES_MAX);
        if (atomic_load(stop))
            return error_set(err, -ECANCELED, "the credential program %s was stopped", command);
        if (!child->gone && monotonic_ns() >= until_ns)
            return error_set(err, -ETIMEDOUT, "the credential program %s did not end within %lld ms", command,
                             (long long)timeout_ms);
    }
    /* A child of its own may hold the other end open: what is there now is all. */
    if (open)
        drain(child->output, text);
    return 0;
}

static void set_call(struct exec_output *output, int exit_code, const char *call_status)
{
    output->exit_code = exit_code;
    output->call_status = call_status;
}

static int run(const struct kube_exec *exec, char **env, bool interactive, int64_t timeout_ms,
               const atomic_bool *stop, struct strbuf *text, struct exec_output *ret, struct error *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return error_set(err, -errno, "no pipe for the credential program: %s", strerror(errno));
    /* Only our end shall not block. */
    fcntl(ends[1], F_SETFL, 0);
    struct child child = { .output = ends[0], .interactive = interactive };
    int r = spawn(exec, env, ends[1], interactive, &child.pid);
    close(ends[1]);
    const char *command = exec->command.ptr;
    set_call(ret, 1, r < 0 ? "plugin_not_found_error" : "client_internal_error");
    if (r < 0) {
        error_set(err, r, "the credential program %s does not start: %s%s%s", command, strerror(-r),
                  exec->install_hint.len ? ". " : "", exec->install_hint.len ? exec->install_hint.ptr : "");
    } else {
        r = listen_to(&child, command, timeout_ms, stop, text, err);
        kill_child(&child);
    }
    close(ends[0]);
    int exit_code = WIFEXITED(child.status) ? WEXITSTATUS(child.status) : -1;
    if (r == 0)
        set_call(ret, exit_code, exit_code ? "plugin_execution_error" : "no_error");
    if (r == 0 && WIFSIGNALED(child.status))
        r = error_set(err, -EIO, "the credential program %s was ended by signal %d", command,
                      WTERMSIG(child.status));
    else if (r == 0 && WEXITSTATUS(child.status) != 0)
        r = error_set(err, -EIO, "the credential program %s failed with exit code %d", command,
                      WEXITSTATUS(child.status));
    return r;
}

/* What it said */

static int take_string(yyjson_val *status, const char *name, struct strbuf *ret)
{
    yyjson_val *val = yyjson_obj_get(status, name);
    if (!val || yyjson_is_null(val))
        return 0;
    if (!yyjson_is_str(val) || memchr(yyjson_get_str(val), '\0', yyjson_get_len(val)))
        return -EINVAL;
    strbuf_add(ret, yyjson_get_str(val), yyjson_get_len(val));
    return 0;
}

/* NULL, or what is wrong with it. */
static const char *read_status(yyjson_val *root, struct str version, struct exec_output *ret)
{
    if (!yyjson_equals_str(yyjson_obj_get(root, "kind"), "ExecCredential"))
        return "printed something that is not an ExecCredential";
    yyjson_val *printed = yyjson_obj_get(root, "apiVersion");
    if (!yyjson_is_str(printed) || !str_is(version, yyjson_get_str(printed)))
        return "printed an ExecCredential of another apiVersion than the kubeconfig has";
    yyjson_val *status = yyjson_obj_get(root, "status");
    if (!yyjson_is_obj(status))
        return "printed no status";
    if (take_string(status, "token", &ret->token) < 0 ||
        take_string(status, "clientCertificateData", &ret->cert) < 0 ||
        take_string(status, "clientKeyData", &ret->key) < 0)
        return "printed a credential that is not a string";
    struct strbuf when = { 0 };
    bool valid = take_string(status, "expirationTimestamp", &when) == 0;
    if (valid && when.len)
        valid = opt_time_parse(strbuf_slice(&when), &ret->expires);
    strbuf_release(&when);
    if (!valid)
        return "printed an expirationTimestamp that is no time";
    if (!ret->token.len && !ret->cert.len && !ret->key.len)
        return "printed neither a token nor a certificate with a key";
    if (!ret->cert.len != !ret->key.len)
        return "printed only one of certificate and key";
    return NULL;
}

/* The codec's own sentence is not used: it could quote a secret. Takes over the text. */
static const char *read_output(struct strbuf *text, struct str version, struct exec_output *ret)
{
    size_t len = text->len;
    static const char padding[YYJSON_PADDING_SIZE];
    strbuf_add(text, padding, sizeof(padding));
    struct doc_stream stream;
    struct doc doc;
    char *output = text->text;
    doc_stream_init(&stream, "output", output, len);
    stream.secret = true;
    *text = (struct strbuf){ .secret = true };
    const char *wrong = "printed something that is neither JSON nor YAML";
    if (doc_stream_next(&stream, &doc, NULL) == 1) {
        wrong = read_status(doc.root, version, ret);
        doc_release(&doc);
    } else if (len == 0) {
        wrong = "printed nothing";
    }
    doc_stream_release(&stream);
    return wrong;
}

int exec_run(const struct kube_access *access, int64_t timeout_ms, const atomic_bool *stop,
             struct exec_output *ret, struct error *err)
{
    const struct kube_exec *exec = access->user.exec;
    _cleanup_(variables_release) struct variables variables = { .arena.secret = true };
    _cleanup_(strbuf_release) struct strbuf text = { .secret = true };
    bool interactive = false;
    /* All that it may print. */
    strbuf_reserve(&text, OUTPUT_BYTES_MAX + YYJSON_PADDING_SIZE + 1);
    text.text[0] = '\0';
    *ret = (struct exec_output){ .token.secret = true, .cert.secret = true, .key.secret = true };
    set_call(ret, 1, "client_internal_error");
    int r = decide_interactive(exec, &interactive, err);
    if (r == 0)
        r = fill_variables(&variables, access, interactive, err);
    if (r == 0)
        r = run(exec, variables.items.items, interactive, timeout_ms, stop, &text, ret, err);
    if (r < 0)
        return r;
    const char *wrong = read_output(&text, exec->api_version, ret);
    if (!wrong)
        return 0;
    exec_output_release(ret);
    return error_set(err, -EINVAL, "the credential program %s %s", exec->command.ptr, wrong);
}
