/* serve.h: what the scheduler shows of itself over HTTPS: health, metrics, configuration, flags, status.
 *
 *     request ──▶ authentication ──▶ authorization ──▶ page ──▶ response
 *                    (authn.h)          (authz.h)     (pages.h)
 *                        │                  └── SubjectAccessReview ──▶ API server
 *                        └── TokenReview, client certificates
 *
 * Paths, texts, headers and status codes are kube-scheduler's. Everything runs on the server's thread, callbacks of the
 * host included: they must not block. A view that needs another thread first returns -EINPROGRESS, and the reply comes
 * with serve_answer().
 *
 *     struct serve *serve;
 *     serve_start(&(struct serve_options){ .flags = &flags, .checks = checks, ... }, &serve, &err);
 *     ...
 *     serve_stop(serve, 5000); */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include "api/types.h"
#include "base/error.h"
#include "base/str.h"
#include "config/flags.h"
#include "server/server.h"

struct api;
struct metrics;
struct serve;

/* Where a check counts. */
enum { SERVE_HEALTHZ = 1 << 0, SERVE_LIVEZ = 1 << 1, SERVE_READYZ = 1 << 2 };

/* A named condition. kube-scheduler's are, in this order: leaderElection (HEALTHZ|READYZ, with leader election),
 * shutdown, sched-handler-sync and, with CoordinatedLeaderElection, informer-sync (READYZ). A page without any gets
 * "ping". */
struct serve_check {
    const char *name;
    unsigned where;
    int (*check)(void *user, struct error *err); /* negative: err says what is wrong */
    void *user;
    /* A credential that can be read and used. Pages show it only while it fails, so that they are kube-scheduler's
     * otherwise; it is also a metric. */
    bool is_credential;
};

/* Lives until the view returns. */
struct serve_request {
    uint64_t id; /* for serve_answer() */
    struct str method, path, query, accept, user_agent, body;
    bool takes_gzip; /* for pages of metrics, see metrics_form.h */
    struct str user;
    struct str_list groups;
    struct arena *arena; /* lives until the request is answered */
};

enum { SERVE_REPLY_HEADERS_MAX = 8 };

/* Zeroed: 200 with an empty body. Values of headers live until the view returns, or serve_answer(). */
struct serve_reply {
    int status;                                                /* 0: 200 */
    struct server_header headers[SERVE_REPLY_HEADERS_MAX + 2]; /* two are added to every reply */
    size_t header_count;
    struct strbuf body; /* taken over */
    bool gzipped;       /* the body: a header says so then */
};

/* 0: the reply is complete; -EINPROGRESS: it comes with serve_answer(); -EAGAIN: an empty page, without a type; any
 * other errno: 500. */
typedef int (*serve_view_write)(void *user, const struct serve_request *request, struct serve_reply *reply);

struct serve_view {
    const char *path; /* with a slash at its end: everything below */
    serve_view_write write;
    void *user;
    bool unlisted; /* not in /statusz */
};

struct serve_options {
    struct loop *loop, *io; /* of the server; of requests to the API server. NULL: each has its own */
    const struct scheduler_flags *flags; /* serving, authentication, authorization; outlive all */
    const struct serve_check *checks;
    size_t check_count;
    /* The text of /metrics. NULL: an empty page. */
    void (*metrics)(void *user, struct strbuf *out);
    void (*metrics_reset)(void *user); /* DELETE /metrics; may be NULL */
    /* The configuration in effect as one JSON object. NULL: an empty one. */
    void (*configz)(void *user, struct strbuf *out);
    void *user;
    serve_view_write
        metrics_resources; /* with `user`; NULL: an empty page, as of a scheduler that does not lead */
    const struct serve_view *views; /* more pages */
    size_t view_count;
    bool profiling, flagz, statusz; /* enableProfiling; gates ComponentFlagz, ComponentStatusz */
    bool ui;                        /* the live page; --ui */
    /* Gate UnauthenticatedHTTP2DOSMitigation: an unauthenticated client gets one answer per HTTP/2 connection. */
    bool dismisses_strangers;
    struct metrics *counts; /* of families.h: requests are counted there; outlives all; may be NULL */

    /* For tests. */
    bool plain;    /* HTTP without TLS */
    bool any_port; /* a free port instead of --secure-port */
    struct server_limits limits;
};

/* Reads certificates, looks up the trusted authorities, listens. With --secure-port=0, *ret is NULL and nothing
 * happens; the other functions take that NULL. */
int serve_start(const struct serve_options *options, struct serve **ret, struct error *err);
/* Are the files that the flags name such that serve_start() could go on? Opens no port and sends no request. */
int serve_check(const struct scheduler_flags *flags, struct error *err);
/* Stops listening, lets requests that are under way end within grace_ms, and frees everything. */
void serve_stop(struct serve *serve, int64_t grace_ms);
uint16_t serve_port(const struct serve *serve);
/* The reply to a request whose view returned -EINPROGRESS, exactly once each. From any thread. Takes the reply's body
 * over. */
void serve_answer(struct serve *serve, uint64_t id, struct serve_reply *reply);

/* For views. */
struct server *serve_server(const struct serve *serve);
/* Compresses the body, if there is memory for it. */
void serve_reply_gzip(struct serve_reply *reply);
/* The name is a literal. */
void serve_reply_header(struct serve_reply *reply, const char *name, struct str value);
/* A text with its status, as Go's http.Error() writes it: with a line break behind. */
void serve_reply_error(struct serve_reply *reply, int status, const char *text);
/* Is the key in the query? `ret` (may be NULL) gets the first value, unescaped, in the arena. */
bool serve_query(struct str query, const char *key, struct arena *arena, struct str *ret);

#endif
