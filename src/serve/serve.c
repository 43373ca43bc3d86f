/* serve.c: a request passes authentication, authorization and its page; and the parts that are needed for that.
 *
 * A struct call belongs to the server's thread and ends in exactly one place, finish(). When serving stops, no more
 * requests go to the API server, then those under way are answered, and then the server's thread ends: so no call is
 * left but those whose view has not replied. */
#include "serve/serve.h"

#include <stdio.h>
#include <stdlib.h>

#include "auth/auth_metrics.h"
#include "auth/authn.h"
#include "auth/authz.h"
#include "auth/delegate.h"
#include "base/log.h"
#include "base/map.h"
#include "base/percent.h"
#include "base/quote.h"
#include "base/tls_names.h"
#include "codec/gzip.h"
#include "serve/metrics_form.h"
#include "serve/pages.h"

/* Requests that wait for the API server or a view; their clients may be gone already. */
enum { CALLS_MAX = 8192 };
/* How soon a changed certificate is seen. */
enum { CERTIFICATE_LOOK_MS = 1000 };

struct serve {
    struct arena arena;
    struct pages pages;
    struct server *server;
    struct delegate for_authn, for_authz; /* for_authz is empty where both are the same */
    struct api *authz_api;
    struct trust *trust;
    struct metrics *metrics; /* may be NULL */
    struct authn authn;
    struct authz authz;
    bool dismisses_strangers;
    /* Of the server's thread. */
    bool stopping;
    size_t call_count;
    struct idmap awaited; /* calls whose view answers later, by id */
};

/* In the arena of its request. */
struct call {
    struct serve *serve;
    struct server_request *request;
    struct serve_request page;
    struct user user;
    struct auth_outcome outcome;
    int64_t since_ns; /* the beginning of authentication, then of authorization */
};

void serve_reply_header(struct serve_reply *reply, const char *name, struct str value)
{
    assert(reply->header_count < ARRAY_SIZE(reply->headers));
    reply->headers[reply->header_count++] = (struct server_header){ str_from(name), value };
}

void serve_reply_gzip(struct serve_reply *reply)
{
    struct strbuf body = { 0 };
    if (gzip_encode(reply->body.text, reply->body.len, &body) < 0)
        return;
    strbuf_release(&reply->body);
    reply->body = body;
    reply->gzipped = true;
}

void serve_reply_error(struct serve_reply *reply, int status, const char *text)
{
    reply->status = status;
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    serve_reply_header(reply, "X-Content-Type-Options", STR("nosniff"));
    strbuf_puts(&reply->body, text);
    strbuf_putc(&reply->body, '\n');
}

/* A plus is a space, as forms have it. What is no valid escape stays as it is. */
static struct str unescape_query(struct str text, struct arena *arena)
{
    struct str unescaped;
    return percent_decode(text, true, arena, &unescaped) ? unescaped : text;
}

bool serve_query(struct str query, const char *key, struct arena *arena, struct str *ret)
{
    while (query.len) {
        struct str value = str_cut(&query, '&'), name = str_cut(&value, '=');
        if (!str_is(unescape_query(name, arena), key))
            continue;
        if (ret)
            *ret = unescape_query(value, arena);
        return true;
    }
    return false;
}

/* An unauthenticated user. */
static bool is_stranger(const struct user *user)
{
    return !user->name.len || str_is(user->name, USER_ANONYMOUS) ||
           user_in_group(user, GROUP_UNAUTHENTICATED);
}

static void finish(struct call *call, struct serve_reply *reply)
{
    struct serve *serve = call->serve;
    struct server_request *request = call->request;
    serve_reply_header(reply, "Cache-Control", STR("no-cache, private"));
    if (reply->gzipped)
        serve_reply_header(reply, "Content-Encoding", STR("gzip"));
    int status = reply->status ? reply->status : 200;
    server_respond(serve->server, request->id,
                   &(struct server_response){ .status = status,
                                              .headers = reply->headers,
                                              .header_count = reply->header_count,
                                              .body = strbuf_slice(&reply->body),
                                              .close = request->http2 && serve->dismisses_strangers &&
                                                       is_stranger(&call->user) });
    log_info(3, "HTTP", log_str("verb", request->method), log_str("URI", request->target),
             log_duration("latency", monotonic_ns() - request->received_ns),
             log_str("userAgent", call->page.user_agent), log_str("srcIP", request->remote),
             log_int("resp", status));
    auth_metrics_request(serve->metrics, &call->outcome, call->user.name);
    strbuf_release(&reply->body);
    serve->call_count--;
    server_request_free(request);
}

/* For pages that a browser might show. */
static struct str sanitized(struct arena *arena, struct str text)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '&' || c == '<' || c == '>')
            strbuf_puts(&out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
        else
            strbuf_putc(&out, c);
    }
    return arena_str(arena, strbuf_slice(&out));
}

static void finish_error(struct call *call, int status, const char *text)
{
    struct serve_reply reply = { 0 };
    serve_reply_error(&reply, status, text);
    finish(call, &reply);
}

static void finish_failed(struct call *call, struct str why)
{
    struct arena *arena = call->page.arena;
    struct str text = arena_printf(arena, "Internal Server Error: " STR_FMT ": " STR_FMT,
                                   STR_ARG(quote_go_arena(arena, call->request->target)), STR_ARG(why));
    finish_error(call, 500, sanitized(arena, text).ptr);
}

static struct str verb_of(struct call *call)
{
    return arena_lower(call->page.arena, call->page.method);
}

static void finish_forbidden(struct call *call, struct str reason)
{
    struct arena *arena = call->page.arena;
    struct serve_reply reply = { 0 };
    struct str what = arena_printf(arena, "User " STR_FMT " cannot " STR_FMT " path " STR_FMT,
                                   STR_ARG(quote_go_arena(arena, call->user.name)), STR_ARG(verb_of(call)),
                                   STR_ARG(quote_go_arena(arena, call->page.path)));
    struct str message =
        arena_printf(arena, "forbidden: " STR_FMT "%s" STR_FMT, STR_ARG(sanitized(arena, what)),
                     reason.len ? ": " : "", STR_ARG(reason));
    log_info(4, "Forbidden", log_str("URI", call->request->target), log_str("reason", reason));
    reply_status(&reply, &call->page, 403, "Forbidden", message, true);
    serve_reply_header(&reply, "X-Content-Type-Options", STR("nosniff"));
    finish(call, &reply);
}

static void finish_unauthorized(struct call *call)
{
    struct serve_reply reply = { 0 };
    reply_status(&reply, &call->page, 401, "Unauthorized", STR("Unauthorized"), false);
    finish(call, &reply);
}

static void finish_unavailable(struct call *call)
{
    finish_error(call, 503, "the server is shutting down or has too much to do");
}

static void show_page(struct call *call)
{
    struct serve *serve = call->serve;
    struct serve_reply reply = { 0 };
    call->page.user = call->user.name;
    call->page.groups = call->user.groups;
    /* The reply may come before the view returns, from a thread that is faster than this one: it waits in the mailbox
     * of this one. */
    idmap_put(&serve->awaited, call->page.id, call);
    int r = pages_reply(&serve->pages, &call->page, &reply);
    if (r == -EINPROGRESS)
        return;
    idmap_remove(&serve->awaited, call->page.id);
    if (r == 0) {
        finish(call, &reply);
    } else {
        strbuf_release(&reply.body);
        finish_error(call, 500, "Internal Server Error");
    }
}

static void on_decided(void *context, enum authz_decision decision, struct str why)
{
    static const char *const results[] = { [AUTHZ_ALLOWED] = "allowed",
                                           [AUTHZ_FORBIDDEN] = "no-opinion",
                                           [AUTHZ_DENIED] = "denied",
                                           [AUTHZ_FAILED] = "error" };
    struct call *call = context;
    call->outcome.allowed = results[decision];
    call->outcome.allowed_ns = monotonic_ns() - call->since_ns;
    if (decision == AUTHZ_ALLOWED)
        show_page(call);
    else if (decision == AUTHZ_FAILED)
        finish_failed(call, why);
    else
        finish_forbidden(call, why);
}

static void on_known(void *context, bool known, const struct error *err)
{
    struct call *call = context;
    call->outcome.known = known ? "success" : "error";
    call->outcome.known_ns = monotonic_ns() - call->since_ns;
    if (!known) {
        log_error(err, "Unable to authenticate the request");
        finish_unauthorized(call);
    } else if (call->serve->stopping) {
        finish_unavailable(call);
    } else {
        call->since_ns = monotonic_ns();
        authz_run(&call->serve->authz, &call->user, verb_of(call), call->page.path, call->page.arena,
                  on_decided, call);
    }
}

static void on_request(void *user, struct server_request *request)
{
    struct serve *serve = user;
    /* What the server can do at all, which Go's server answers before authentication. */
    if (str_is(request->method, "OPTIONS") && str_is(request->target, "*")) {
        server_respond(serve->server, request->id, &(struct server_response){ .status = 200 });
        server_request_free(request);
        return;
    }
    struct call *call = arena_new(&request->arena, struct call);
    call->serve = serve;
    call->request = request;
    call->page = (struct serve_request){
        .id = request->id,
        .method = request->method,
        .path = request->path,
        .query = request->query,
        .accept = server_header_value(request, STR("accept")),
        .user_agent = server_header_value(request, STR("user-agent")),
        .body = request->body,
        .takes_gzip = metrics_form_takes_gzip(request->headers.items, request->headers.len),
        .arena = &request->arena,
    };
    call->since_ns = monotonic_ns();
    serve->call_count++;
    if (serve->stopping || serve->call_count > CALLS_MAX)
        finish_unavailable(call);
    else
        authn_run(&serve->authn, request, &call->user, on_known, call);
}

static void on_problem(void *user _unused_, const char *sentence)
{
    struct error err;
    if (!sentence) {
        log_info(0, "The serving certificate can be read again");
        return;
    }
    error_set(&err, 0, "%s", sentence);
    log_error(&err, "Cannot reload the serving certificate; the one before stays in use");
}

static void on_reload(void *user)
{
    auth_metrics_work(((struct serve *)user)->metrics, QUEUE_CERTIFICATE, 0);
    log_info(2, "Loaded a new serving certificate");
}

/* A reply on its way to the server's thread. */
struct answer {
    struct serve *serve;
    uint64_t id;
    struct arena arena;
    struct serve_reply reply;
};

static void on_answer(void *context)
{
    struct answer *answer = context;
    struct call *call = idmap_remove(&answer->serve->awaited, answer->id);
    if (call) {
        pages_complete(&answer->serve->pages, &call->page, &answer->reply);
        finish(call, &answer->reply);
    } else {
        strbuf_release(&answer->reply.body);
    }
    arena_release(&answer->arena);
    free(answer);
}

void serve_answer(struct serve *serve, uint64_t id, struct serve_reply *reply)
{
    struct answer *answer = xcalloc(1, sizeof(*answer));
    answer->serve = serve;
    answer->id = id;
    answer->reply = *reply;
    reply->body = (struct strbuf){ 0 };
    for (size_t i = 0; i < answer->reply.header_count; i++)
        answer->reply.headers[i].value = arena_str(&answer->arena, reply->headers[i].value);
    loop_run(server_loop(serve->server), on_answer, answer);
}

struct server *serve_server(const struct serve *serve)
{
    return serve->server;
}

/* The API servers that authenticate and authorize clients. */
static int open_delegates(struct serve *serve, const struct scheduler_flags *flags, struct loop *loop,
                          struct error *err)
{
    int r = delegate_open(&serve->for_authn, loop, flags->authentication_kubeconfig, "authentication",
                          serve->metrics, err);
    if (r < 0)
        return r;
    bool is_same = str_eq(flags->authentication_kubeconfig, flags->authorization_kubeconfig);
    if (!is_same)
        r = delegate_open(&serve->for_authz, loop, flags->authorization_kubeconfig, "authorization",
                          serve->metrics, err);
    serve->authz_api = is_same ? serve->for_authn.api : serve->for_authz.api;
    if (!serve->for_authn.api && !flags->authentication_skip_lookup)
        log_warning("No authentication-kubeconfig provided in order to lookup "
                    "configmap/extension-apiserver-authentication in kube-system, so client certificate "
                    "authentication won't work");
    if (!serve->authz_api)
        log_warning("No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens "
                    "won't work");
    return r;
}

static struct reviews *make_reviews(struct serve *serve, enum review_kind kind, struct api *api,
                                    int64_t yes_ns, int64_t no_ns)
{
    return api ? reviews_new(&(struct reviews_options){ .kind = kind,
                                                        .api = api,
                                                        .server = serve->server,
                                                        .yes_ns = yes_ns,
                                                        .no_ns = no_ns,
                                                        .metrics = serve->metrics })
               : NULL;
}

static const char *if_given(struct str flag)
{
    return flag.len ? flag.ptr : NULL;
}

static struct server_tls_options tls_options(struct arena *arena, const struct scheduler_flags *flags,
                                             bool ask)
{
    struct server_sni *snis = arena_array(arena, struct server_sni, (size_t)flags->tls_sni_cert_key.len + 1);
    for (uint32_t i = 0; i < flags->tls_sni_cert_key.len; i++) {
        const struct flag_cert_key *from = &flags->tls_sni_cert_key.items[i];
        snis[i] = (struct server_sni){ if_given(from->cert_file), if_given(from->key_file), from->names };
    }
    list_for(&flags->tls_cipher_suites, name) {
        const struct tls_suite *suite = tls_suite_find(*name);
        if (suite && suite->insecure)
            log_warning("Use of insecure cipher detected", log_str("cipher", *name));
    }
    return (struct server_tls_options){
        .cert_file = if_given(flags->tls_cert_file),
        .key_file = if_given(flags->tls_private_key_file),
        .cert_dir = if_given(flags->cert_dir),
        .pair_name = "kube-scheduler",
        .bind_address = flags->bind_address.ptr,
        .min_version = flags->tls_min_version,
        .cipher_suites = flags->tls_cipher_suites,
        .curves = flags->tls_curve_preferences.items,
        .curve_count = flags->tls_curve_preferences.len,
        .snis = snis,
        .sni_count = flags->tls_sni_cert_key.len,
        .request_client_certificate = ask,
        .http1_only = flags->disable_http2_serving,
    };
}

static int open_server(struct serve *serve, const struct serve_options *options, struct error *err)
{
    const struct scheduler_flags *flags = options->flags;
    struct server_tls_options tls = tls_options(&serve->arena, flags, trust_is_possible(serve->trust));
    struct server_limits limits = options->limits;
    if (flags->http2_max_streams_per_connection > 0)
        limits.streams_max = (uint32_t)MIN(flags->http2_max_streams_per_connection, (int64_t)UINT32_MAX);
    if (flags->disable_http2_serving)
        log_info(0, "Forcing use of http/1.1 only");
    struct server_options server = {
        .loop = options->loop,
        .address = flags->bind_address.ptr,
        .port = options->any_port ? 0 : (uint16_t)flags->secure_port,
        .reuse_port = flags->permit_port_sharing,
        .tls = options->plain ? NULL : &tls,
        .limits = limits,
        .reload_ms = CERTIFICATE_LOOK_MS,
        .on_request = on_request,
        .on_problem = on_problem,
        .on_reload = on_reload,
        .user = serve,
    };
    return server_new(&server, &serve->server, err);
}

/* In one sentence, as kube-scheduler does; all addresses are those of both families. */
static void log_where(struct str address, uint16_t port)
{
    char sentence[128];
    bool all = str_is(address, "0.0.0.0") || str_is(address, "::");
    bool wide = !all && str_find(address, ':') >= 0;
    snprintf(sentence, sizeof(sentence), "Serving securely on %s" STR_FMT "%s:%u", wide ? "[" : "",
             STR_ARG(all ? STR("[::]") : address), wide ? "]" : "", port);
    log_info(0, sentence);
}

static int check_certificates(void *user, struct error *err)
{
    return server_check_certificates(((const struct serve *)user)->server, err);
}

static int check_authorities(void *user, struct error *err)
{
    return trust_check(((const struct serve *)user)->trust, err);
}

static int check_delegate(void *user, struct error *err)
{
    return api_check_credentials(((const struct delegate *)user)->api, err);
}

static void add_check(struct serve *serve, const char *name, int (*check)(void *user, struct error *err),
                      void *user)
{
    health_add(serve->pages.health,
               &(struct serve_check){ name, SERVE_READYZ, check, user, .is_credential = true });
}

static void add_checks(struct serve *serve, const struct scheduler_flags *flags)
{
    add_check(serve, "serving-certificate", check_certificates, serve);
    if (flags->client_ca_file.len || flags->requestheader_client_ca_file.len)
        add_check(serve, "client-ca", check_authorities, serve);
    if (serve->for_authn.api)
        add_check(serve, "authentication-credentials", check_delegate, &serve->for_authn);
    if (serve->for_authz.api)
        add_check(serve, "authorization-credentials", check_delegate, &serve->for_authz);
}

static int start(struct serve *serve, const struct serve_options *options, struct error *err)
{
    const struct scheduler_flags *flags = options->flags;
    serve->metrics = serve->authn.metrics = options->counts;
    serve->dismisses_strangers = options->dismisses_strangers;
    pages_init(&serve->pages, options, serve);
    int r = authz_init(&serve->authz, &flags->authorization_always_allow_paths, &serve->arena, err);
    if (r == 0)
        r = open_delegates(serve, flags, options->io, err);
    if (r == 0)
        r = trust_new(flags, serve->for_authn.api, serve->metrics, &serve->trust, err);
    if (r < 0)
        return r;
    serve->authn.trust = trust_is_possible(serve->trust) ? serve->trust : NULL;
    r = open_server(serve, options, err);
    if (r < 0)
        return r;
    auth_metrics_work(serve->metrics, QUEUE_CERTIFICATE, 0);
    int64_t token_ns = flags->authentication_token_webhook_cache_ttl;
    serve->authn.reviews = make_reviews(serve, REVIEW_TOKEN, serve->for_authn.api, token_ns, token_ns);
    serve->authz.reviews = make_reviews(serve, REVIEW_ACCESS, serve->authz_api,
                                        flags->authorization_webhook_cache_authorized_ttl,
                                        flags->authorization_webhook_cache_unauthorized_ttl);
    add_checks(serve, flags);
    r = server_start(serve->server, err);
    if (r == 0)
        trust_watch(serve->trust, server_loop(serve->server));
    if (r == 0)
        log_where(flags->bind_address, server_port(serve->server));
    return r;
}

static int check_kubeconfig(struct arena *arena, struct str file, const char *what, struct error *err)
{
    struct kube_access access;
    struct error why;
    int r = kubeconfig_load(&(struct kube_source){ .kubeconfig = file.ptr }, arena, &access, NULL, &why);
    return r < 0 ? error_set(err, r, "failed to get delegated %s kubeconfig: %s", what, why.text) : 0;
}

int serve_check(const struct scheduler_flags *flags, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct server_tls_options options;
    struct server_tls *tls = NULL;
    struct trust *trust = NULL;
    int r = 0;
    if (flags->secure_port == 0)
        return 0;
    if (flags->tls_cert_file.len || flags->tls_sni_cert_key.len) {
        options = tls_options(&arena, flags, false);
        options.cert_dir = NULL;
        r = server_tls_new(&options, &tls, err);
    }
    if (r == 0)
        r = trust_new(flags, NULL, NULL, &trust, err);
    if (r == 0 && flags->authentication_kubeconfig.len)
        r = check_kubeconfig(&arena, flags->authentication_kubeconfig, "authentication", err);
    if (r == 0 && flags->authorization_kubeconfig.len)
        r = check_kubeconfig(&arena, flags->authorization_kubeconfig, "authorization", err);
    server_tls_free(tls);
    trust_free(trust);
    return r;
}

int serve_start(const struct serve_options *options, struct serve **ret, struct error *err)
{
    *ret = NULL;
    if (!options->any_port && options->flags->secure_port == 0)
        return 0;
    if (options->flags->secure_port < 0 || options->flags->secure_port > UINT16_MAX)
        return error_set(
            err, -EINVAL,
            "--secure-port %lld must be between 0 and 65535, inclusive. 0 for turning off secure port",
            (long long)options->flags->secure_port);
    struct serve *serve = xcalloc(1, sizeof(*serve));
    int r = start(serve, options, err);
    if (r < 0)
        serve_stop(serve, 0);
    else
        *ret = serve;
    return r;
}

/* From here on no request goes to the API server. */
static void stop_asking(void *context)
{
    struct serve *serve = context;
    serve->stopping = true;
    reviews_stop(serve->authn.reviews);
    reviews_stop(serve->authz.reviews);
}

void serve_stop(struct serve *serve, int64_t grace_ms)
{
    if (!serve)
        return;
    if (serve->server && server_is_running(serve->server)) {
        pprof_stop(serve->pages.pprof);
        server_drain(serve->server, grace_ms);
        loop_run_wait(server_loop(serve->server), stop_asking, serve);
        trust_unwatch(serve->trust);
    }
    delegate_close(&serve->for_authn);
    delegate_close(&serve->for_authz);
    server_free(serve->server);
    /* Views that have not replied will not: their clients are gone. */
    map_for(&serve->awaited, slot)
        server_request_free(((struct call *)slot->value)->request);
    idmap_release(&serve->awaited);
    reviews_free(serve->authn.reviews);
    reviews_free(serve->authz.reviews);
    trust_free(serve->trust);
    pages_release(&serve->pages);
    arena_release(&serve->arena);
    free(serve);
}

uint16_t serve_port(const struct serve *serve)
{
    return serve ? server_port(serve->server) : 0;
}
