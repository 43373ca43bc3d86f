/* cmd_ui.c: `berth ui`: the live page of a running scheduler in the browser of this machine.
 *
 *     browser ── http://127.0.0.1:PORT/TOKEN/ui/ ──▶ tunnel (loop thread) ── credentials of kubeconfig ──▶ scheduler
 *
 * Whatever comes to the port is not the user: other users of the machine, and pages of other sites in the user's own
 * browser. A request is forwarded only if its path begins with a random token, which the user alone was told; if it was
 * sent to this address by that name (a name of another site that resolves to 127.0.0.1 is refused); if it is a GET; and
 * if the page needs it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "cmd/common.h"
#include "debug/nodes.h"
#include "net/loop.h"
#include "serve/ui.h"
#include "server/server.h"

enum { TOKEN_BYTES = 20, TOKEN_LEN = 2 * TOKEN_BYTES };
enum { ANSWER_MS = 60 * 1000, BODY_BYTES_MAX = 256 << 20 };

struct ui_settings {
    struct running running;
    int64_t port;
};

static const struct option_row rows[] = {
    RUNNING_OPTIONS(struct ui_settings, running),
    { 0, "port", "PORT", OPTION_NUMBER, offsetof(struct ui_settings, port),
      "Listen on this port of 127.0.0.1; 0 takes a free one (default).", 0, UINT16_MAX },
    { 0 },
};

struct tunnel {
    struct running_session session;
    struct loop *loop;
    struct server *server;
    char prefix[TOKEN_LEN + 2]; /* "/TOKEN" */
};

/* A request that waits for the scheduler; on the loop's thread. */
struct forwarded {
    struct tunnel *tunnel;
    uint64_t id;
};

/* ---- answers ---- */

static void respond(struct tunnel *tunnel, uint64_t id, int status, struct str type, struct str body)
{
    struct server_header headers[UI_HEADERS + 2];
    memcpy(headers, ui_headers, sizeof(ui_headers));
    headers[UI_HEADERS] = (struct server_header){ STR("Content-Type"), type };
    headers[UI_HEADERS + 1] = (struct server_header){ STR("Cache-Control"), STR("no-store") };
    server_respond(
        tunnel->server, id,
        &(struct server_response){
            .status = status, .headers = headers, .header_count = ARRAY_SIZE(headers), .body = body });
}

static void say(struct tunnel *tunnel, uint64_t id, int status, const char *sentence)
{
    respond(tunnel, id, status, STR("text/plain; charset=utf-8"), str_from(sentence));
}

static void on_done(void *user, struct http_response *response)
{
    struct forwarded *forwarded = user;
    struct str body = response->body ? strbuf_slice(response->body) : (struct str){ 0 };
    if (response->outcome != HTTP_ANSWERED)
        say(forwarded->tunnel, forwarded->id, 502, response->error.text);
    else
        respond(forwarded->tunnel, forwarded->id, response->status, response->content_type, body);
    free(forwarded);
}

/* ---- requests ---- */

/* Every byte is looked at, so that the time says nothing about the token. */
static bool has_token(const struct tunnel *tunnel, struct str path)
{
    unsigned char different = 0;
    if (path.len <= TOKEN_LEN + 1 || path.ptr[TOKEN_LEN + 1] != '/')
        return false;
    for (size_t i = 0; i < TOKEN_LEN + 1; i++)
        different |= (unsigned char)(path.ptr[i] ^ tunnel->prefix[i]);
    return different == 0;
}

static bool is_addressed(const struct tunnel *tunnel, const struct server_request *request)
{
    char name[32];
    struct str host = server_header_value(request, STR("host"));
    static const char *const hosts[] = { "127.0.0.1", "localhost" };
    for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
        snprintf(name, sizeof(name), "%s:%u", hosts[i], server_port(tunnel->server));
        if (str_is(host, name))
            return true;
    }
    return false;
}

/* What the page asks for: its files, the pages of debug/, the configuration. `path` is decoded, behind the token. */
static bool is_of_page(struct str path)
{
    static const char *const prefixes[] = { UI_PATH "/", "/debug/berth/" };
    bool is_wanted = str_is(path, "/configz");
    for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
        is_wanted |= str_starts_with(path, str_from(prefixes[i]));
    for (uint32_t i = 0; i + 1 < path.len; i++)
        if (path.ptr[i] == '.' && path.ptr[i + 1] == '.')
            return false;
    return is_wanted;
}

static void forward(struct tunnel *tunnel, const struct server_request *request)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    struct error err;
    struct forwarded *forwarded = xcalloc(1, sizeof(*forwarded));
    *forwarded = (struct forwarded){ tunnel, request->id };
    const struct api_request asked = {
        .method = "GET",
        .path = str_slice(request->target, TOKEN_LEN + 1, request->target.len),
        .accept = "*/*",
        .unlimited = true,
        .gzip = true,
        .timeout_ms = ANSWER_MS,
        .body_bytes_max = BODY_BYTES_MAX,
        .callbacks = &callbacks,
        .user = forwarded,
    };
    if (api_send(tunnel->session.api, &asked, NULL, &err) < 0) {
        say(tunnel, request->id, 502, err.text);
        free(forwarded);
    }
}

static void on_request(void *user, struct server_request *request)
{
    struct tunnel *tunnel = user;
    if (!is_addressed(tunnel, request))
        say(tunnel, request->id, 403, "this address was asked by another name");
    else if (!has_token(tunnel, request->target) || !has_token(tunnel, request->path))
        say(tunnel, request->id, 404, "not found; the address that `berth ui` has printed is longer");
    else if (!str_is(request->method, "GET"))
        say(tunnel, request->id, 405, "only GET");
    else if (!is_of_page(str_slice(request->path, TOKEN_LEN + 1, request->path.len)))
        say(tunnel, request->id, 404, "this page of the scheduler is not part of the live page");
    else
        forward(tunnel, request);
    server_request_free(request);
}

/* ---- life ---- */

static int make_token(struct tunnel *tunnel, struct error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return error_set(err, -EIO, "no random numbers for the address");
    tunnel->prefix[0] = '/';
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(tunnel->prefix + 1 + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* So that what is wrong is said here, and not in the browser. */
static int check_page(struct tunnel *tunnel, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf node = { 0 }, page = { 0 };
    int r = running_ask(&tunnel->session, STR(VIEW_NODES_PATH "?node=-"), &node, err);
    if (r == 0)
        r = running_ask(&tunnel->session, STR(UI_PATH "/"), &page, err);
    if (r < 0 && node.len && strstr(err->text, "the answer is 404"))
        return error_set(err, r, "%s serves no live page: an older berth, or one that runs with --ui=false",
                         tunnel->session.server);
    return r;
}

static int open_tunnel(struct tunnel *tunnel, const struct ui_settings *settings, struct error *err)
{
    int r = make_token(tunnel, err);
    if (r == 0)
        r = loop_new("ui", &tunnel->loop, err);
    if (r == 0)
        r = running_open(&settings->running, tunnel->loop, &tunnel->session, err);
    if (r == 0)
        r = check_page(tunnel, err);
    if (r == 0)
        r = server_new(&(struct server_options){ .loop = tunnel->loop,
                                                 .address = "127.0.0.1",
                                                 .port = (uint16_t)settings->port,
                                                 .on_request = on_request,
                                                 .user = tunnel },
                       &tunnel->server, err);
    return r == 0 ? server_start(tunnel->server, err) : r;
}

static void close_tunnel(struct tunnel *tunnel)
{
    if (tunnel->server)
        server_drain(tunnel->server, 0);
    running_close(&tunnel->session); /* answers what is under way, and needs the server for that */
    server_free(tunnel->server);
    loop_free(tunnel->loop);
}

static int run(void *given, const struct texts *words _unused_)
{
    _cleanup_(close_tunnel) struct tunnel tunnel = { 0 };
    struct error err;
    sigset_t signals;
    int number;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (open_tunnel(&tunnel, given, &err) < 0)
        return fail(EXIT_TROUBLE, &err);
    printf("http://127.0.0.1:%u%s" UI_PATH "/\n", server_port(tunnel.server), tunnel.prefix);
    fflush(stdout);
    fputs("Open this address in a browser. It is secret and ends with this command (Ctrl-C).\n", stderr);
    while (sigwait(&signals, &number) != 0)
        ;
    return EXIT_DONE;
}

const struct command command_ui = {
    .name = "ui",
    .summary = "Opens the live page of the running scheduler.",
    .usage = "[--server URL] [--kubeconfig FILE] [--port PORT]",
    .purpose =
        "Prints the address of a page on this machine that shows a running `berth scheduler`: its nodes, the "
        "queue with reasons, the attempts of a pod, rates, the configuration in effect. Until Ctrl-C it "
        "forwards what the browser asks for, with the credentials of the kubeconfig. The address is secret: "
        "other users of the machine and pages of other sites cannot use it.\n\n"
        "The user needs the permission to get " UI_PATH
        "/*, /debug/berth/* and /configz. A scheduler in a pod is "
        "reached with `kubectl port-forward`.",
    .examples = "  berth ui --certificate-authority /var/run/kubernetes/kube-scheduler.crt\n"
                "  berth ui --server https://10.0.0.7:10259\n"
                "  kubectl -n kube-system port-forward deploy/berth 10259 & berth ui\n",
    .options = { { rows, 0 } },
    .settings_size = sizeof(struct ui_settings),
    .run = run,
};
