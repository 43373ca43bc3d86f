/* scheduler.h: a server with checks, views and metrics of a fake scheduler, and an API server that reviews its
 * clients.
 *
 *     scheduler_start(&scheduler, plain, more_flags);
 *     struct reply_text reply = get(&scheduler, "/metrics", MON);
 *     scheduler_stop(&scheduler);
 *
 * Certificates in `dir`: client (alice of devs) and root (of system:masters) signed by ca, proxy (front-proxy) and
 * stranger signed by proxy-ca. */
#ifndef UNIT_SERVE_SCHEDULER_H
#define UNIT_SERVE_SCHEDULER_H

#include "unit/serve/fake_api.h"

#include "base/log.h"
#include "serve/serve.h"
#include "unit/net/certs.h"

static char dir[64], kubeconfig[512];
static bool no_profiling; /* as with --profiling=false */

/* The host of the tests. */
struct scheduler {
    struct fake_api api;
    struct scheduler_flags flags;
    struct serve *serve;
    atomic_bool ill;
    atomic_int resets;
    atomic_bool slow_view; /* leaves requests unanswered */
    atomic_int view_calls;
    atomic_int answering; /* threads that still use `serve` */
};

static inline int check_leader(void *user, struct error *err)
{
    struct scheduler *scheduler = user;
    return atomic_load(&scheduler->ill) ? error_set(err, -EIO, "lost <lease>") : 0;
}

static inline int check_fine(void *user _unused_, struct error *err _unused_)
{
    return 0;
}

static inline void write_metrics(void *user _unused_, struct strbuf *out)
{
    strbuf_puts(out, "# TYPE a counter\na 1\n");
}

static inline void reset_metrics(void *user)
{
    atomic_fetch_add(&((struct scheduler *)user)->resets, 1);
}

static inline void write_config(void *user _unused_, struct strbuf *out)
{
    strbuf_puts(out, "{\"kind\":\"KubeSchedulerConfiguration\"}");
}

struct view_later {
    struct scheduler *scheduler;
    uint64_t id;
};

static inline void *answer_later(void *user)
{
    struct view_later *later = user;
    struct serve_reply reply = { .status = 202 };
    char type[] = "text/later";
    serve_reply_header(&reply, "Content-Type", str_from(type));
    strbuf_puts(&reply.body, "late");
    serve_answer(later->scheduler->serve, later->id, &reply);
    memset(type, 0, sizeof(type));
    atomic_fetch_sub(&later->scheduler->answering, 1);
    free(later);
    return NULL;
}

static inline int view_later(void *user, const struct serve_request *request,
                             struct serve_reply *reply _unused_)
{
    struct scheduler *scheduler = user;
    atomic_fetch_add(&scheduler->view_calls, 1);
    if (atomic_load(&scheduler->slow_view))
        return -EINPROGRESS;
    struct view_later *later = xcalloc(1, sizeof(*later));
    *later = (struct view_later){ scheduler, request->id };
    pthread_t thread;
    atomic_fetch_add(&scheduler->answering, 1);
    pthread_create(&thread, NULL, answer_later, later);
    pthread_detach(thread);
    return -EINPROGRESS;
}

static inline int view_below(void *user _unused_, const struct serve_request *request,
                             struct serve_reply *reply)
{
    strbuf_printf(&reply->body, "%.*s of %.*s in %u groups", STR_ARG(request->path), STR_ARG(request->user),
                  request->groups.len);
    return 0;
}

static inline int view_broken(void *user _unused_, const struct serve_request *request _unused_,
                              struct serve_reply *reply)
{
    strbuf_puts(&reply->body, "half");
    return -EIO;
}

static inline int view_resources(void *user, const struct serve_request *request _unused_,
                                 struct serve_reply *reply)
{
    if (atomic_load(&((struct scheduler *)user)->ill))
        return -EAGAIN;
    strbuf_puts(&reply->body, "r 1\n");
    return 0;
}

static inline int start_with(struct scheduler *scheduler, bool plain, const char *const *args,
                             struct error *err)
{
    char *argv[16] = { "berth", "--bind-address=127.0.0.1" };
    int argc = 2;
    for (; args && *args; args++)
        argv[argc++] = (char *)*args;
    if (flags_parse(&scheduler->flags, argc, argv, err) < 0)
        fail_msg("%s", err->text);
    const struct serve_check checks[] = {
        { "leaderElection", SERVE_HEALTHZ | SERVE_READYZ, check_leader, scheduler },
        { "shutdown", SERVE_READYZ, check_fine, NULL },
        { "sched-handler-sync", SERVE_READYZ, check_fine, NULL },
    };
    const struct serve_view views[] = {
        { "/later", view_later, scheduler, false },
        { "/below/", view_below, NULL, false },
        { "/broken", view_broken, NULL, true },
    };
    struct serve_options options = {
        .flags = &scheduler->flags,
        .checks = checks,
        .check_count = ARRAY_SIZE(checks),
        .metrics = write_metrics,
        .metrics_reset = reset_metrics,
        .metrics_resources = view_resources,
        .configz = write_config,
        .user = scheduler,
        .views = views,
        .view_count = ARRAY_SIZE(views),
        .profiling = !no_profiling,
        .flagz = true,
        .statusz = true,
        .plain = plain,
        .any_port = true,
    };
    return serve_start(&options, &scheduler->serve, err);
}

/* With the API server, plain HTTP, and more flags. */
static inline void scheduler_start(struct scheduler *scheduler, bool plain, const char *const *more)
{
    memset(scheduler, 0, sizeof(*scheduler));
    fake_api_start(&scheduler->api);
    fake_api_trust(&scheduler->api, dir, "ca.crt", "proxy-ca.crt");
    fake_api_kubeconfig(&scheduler->api, kubeconfig);
    char authn[600], authz[600];
    snprintf(authn, sizeof(authn), "--authentication-kubeconfig=%s", kubeconfig);
    snprintf(authz, sizeof(authz), "--authorization-kubeconfig=%s", kubeconfig);
    const char *args[12] = { authn, authz };
    for (size_t i = 2; more && *more; more++)
        args[i++] = *more;
    struct error err;
    if (start_with(scheduler, plain, args, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void scheduler_stop_within(struct scheduler *scheduler, int64_t grace_ms)
{
    while (atomic_load(&scheduler->answering))
        sleep_ms(1);
    serve_stop(scheduler->serve, grace_ms);
    flags_release(&scheduler->flags);
    if (scheduler->api.server)
        fake_api_stop(&scheduler->api);
}

static inline void scheduler_stop(struct scheduler *scheduler)
{
    scheduler_stop_within(scheduler, 2000);
}

static inline struct reply_text request_with(struct scheduler *scheduler, const struct raw_tls *tls,
                                             const char *method, const char *target, const char *headers,
                                             const char *body)
{
    struct raw raw = raw_connect(serve_port(scheduler->serve));
    if (tls && !raw_tls(&raw, tls))
        fail_msg("no handshake");
    struct strbuf text = { 0 };
    strbuf_printf(&text, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n%s\r\n%s", method, target,
                  strlen(body), headers, body);
    raw_send_bytes(&raw, text.text, text.len);
    strbuf_release(&text);
    struct reply_text reply = raw_reply(&raw, method);
    raw_close(&raw);
    return reply;
}

static inline struct reply_text get(struct scheduler *scheduler, const char *target, const char *headers)
{
    return request_with(scheduler, NULL, "GET", target, headers, "");
}

static inline int status_of(struct scheduler *scheduler, const char *target, const char *headers)
{
    struct reply_text reply = get(scheduler, target, headers);
    int status = reply.status;
    reply_text_release(&reply);
    return status;
}

#define MON "Authorization: Bearer mon\r\n"
#define BOB "Authorization: Bearer bob\r\n"
/* A certificate with an organisation, signed by a CA. */
static inline void sign_leaf(const char *file, const char *name, const char *organisation,
                             const struct signer *by)
{
    struct signer leaf = certs_sign(name, NULL, by);
    if (organisation) {
        X509_NAME_add_entry_by_txt(X509_get_subject_name(leaf.cert), "O", MBSTRING_ASC,
                                   (const unsigned char *)organisation, -1, -1, 0);
        assert_true(X509_sign(leaf.cert, by->key, EVP_sha256()) > 0);
    }
    certs_write(dir, file, &leaf);
    signer_release(&leaf);
}

static inline int scheduler_setup(void **state _unused_)
{
    signal(SIGPIPE, SIG_IGN);
    folder_make(dir);
    in_folder(dir, "kubeconfig", kubeconfig);
    struct signer ca = certs_sign("clients", NULL, NULL), proxy_ca = certs_sign("proxies", NULL, NULL);
    certs_write(dir, "ca", &ca);
    certs_write(dir, "proxy-ca", &proxy_ca);
    sign_leaf("client", "alice", "devs", &ca);
    sign_leaf("root", "root", "system:masters", &ca);
    sign_leaf("proxy", "front-proxy", NULL, &proxy_ca);
    sign_leaf("stranger", "stranger", NULL, &proxy_ca);
    signer_release(&ca);
    signer_release(&proxy_ca);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct error err;
    return log_init(&(struct log_options){ .verbosity = 9, .fd = null }, &err);
}

static inline int scheduler_teardown(void **state _unused_)
{
    folder_remove(dir);
    return 0;
}

#endif
