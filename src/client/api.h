/* api.h: requests to the API server: address, identity, patience and rate in one place.
 *
 *     api_send() ──▶ rate (QPS and burst) ──▶ credentials ──▶ fence ──▶ http/ ──▶ API server
 *                                                 ▲ 401: another credential, once
 *
 * From any thread. Callbacks come on the I/O thread of http/, exactly one on_done per request that was taken, and
 * must not block. */
#ifndef CLIENT_API_H
#define CLIENT_API_H

#include "client/credentials.h"
#include "client/kubeconfig.h"
#include "http/http.h"

#define API_JSON "application/json"
#define API_PROTOBUF "application/vnd.kubernetes.protobuf"

struct api;

/* A request that was sent, and what came of it. For metrics. */
struct api_sample {
    struct str method, host;           /* "GET", "10.0.0.1:6443" */
    int status;                        /* 0: no answer */
    bool is_stream;                    /* its answer has begun; the rest is not told */
    bool is_retried;                   /* with another credential: this answer is dropped */
    bool is_limited;                   /* there is a rate, which may have had a say */
    int64_t took_ns;                   /* all of it, with the wait for the rate */
    int64_t limited_ns;                /* that wait alone */
    size_t sent_bytes, received_bytes; /* of the bodies */
};

struct api_options {
    struct loop *loop;                /* NULL: one of its own */
    const struct kube_access *access; /* the server and the credentials; its texts live as long as the api */
    double qps;                       /* negative: no limit; 0: client-go's default */
    int32_t burst;
    struct str content_type; /* of objects that are sent: JSON, unless it is protobuf's or empty */
    struct str accept;       /* of objects that are asked for; empty: content_type, else whatever there is */
    const char *user_agent;  /* NULL: "berth/VERSION" */
    /* Asked on the I/O thread at the moment at which a fenced request would leave: false ends it as UNSENT. NULL: all
     * may leave. */
    bool (*may_write)(void *user);
    /* Something is wrong that is not the end, in one sentence without secrets. May be NULL. */
    void (*on_problem)(void *user, const char *sentence);
    /* On the I/O thread, before the callbacks of the request. May be NULL. */
    void (*on_sample)(void *user, const struct api_sample *sample);
    /* A credential program was called (credentials.h); any thread. May be NULL. */
    void (*on_exec)(void *user, int exit_code, const char *call_status);
    void *user;
};

/* Copied by api_send(), except for the callbacks. */
struct api_request {
    const char *method;
    struct str path;                   /* with the query: "/api/v1/pods?watch=true" */
    const char *content_type, *accept; /* NULL: none, what the options say of objects */
    struct str body;
    bool secret;    /* is in the body, or in the answer */
    bool stream;    /* as in http/http.h */
    bool urgent;    /* likewise */
    bool ahead;     /* likewise */
    bool gzip;      /* likewise */
    bool unlimited; /* not counted by QPS: watches, leases, events have their own */
    bool fenced;    /* a write that only the leader may send */
    int64_t timeout_ms, silence_ms;
    int64_t delay_ms; /* goes out that much later */
    size_t body_bytes_max;
    const struct http_callbacks *callbacks;
    void *user;
};

int api_new(const struct api_options *options, struct api **ret, struct error *err);
/* Answers everything that is under way and stops. */
void api_free(struct api *api);
int api_send(struct api *api, const struct api_request *request, uint64_t *ret_id, struct error *err);
void api_cancel(struct api *api, uint64_t id);
/* Closes all connections: what is under way ends as lost. */
void api_drop_connections(struct api *api);
/* The same, and what has not reached the server yet is never sent. */
void api_reset_connections(struct api *api);
struct http_stats api_stats(const struct api *api);
/* As credentials_check(). */
int api_check_credentials(const struct api *api, struct error *err);
/* Are objects sent as JSON instead of protobuf? */
bool api_sends_json(const struct api *api);
/* The loop on whose thread callbacks come. */
struct loop *api_loop(const struct api *api);

#endif
