/* http_impl.h: what the files of the HTTP client share; no other file includes it.
 *
 *     http.c           the client: waiting lists, deadlines, libcurl's sockets and timer on the loop
 *     http_transfer.c  one request on its way through libcurl
 *     http_health.c    sockets: which are open, and which are still alive
 *
 * Everything but `ending` and the counters belongs to the loop's thread. */
#ifndef HTTP_HTTP_IMPL_H
#define HTTP_HTTP_IMPL_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "http/http.h"
#include "net/loop.h"
#include "net/proxy.h"

#define NEVER INT64_MAX

enum transfer_state {
    TRANSFER_DELAYED, /* until its not_before */
    TRANSFER_QUEUED,  /* until others are done */
    TRANSFER_RUNNING,
};

struct transfer {
    struct http_client *client;
    uint64_t id;
    enum transfer_state state;
    struct arena arena;          /* texts of the request, and the header values of the answer */
    struct http_request request; /* but for its headers; without callbacks: a probe of our own */
    const char *url, *proxy;     /* as libcurl gets them; proxy: "" for none */
    struct curl_slist *headers, *connect_to;
    bool resendable, https;

    struct list_link link;   /* in a waiting list */
    struct loop_call call;   /* that hands it to the loop's thread */
    struct loop_timer timer; /* may ring earlier than what it waits for */
    int64_t deadline_ns;

    CURL *easy;
    char curl_words[CURL_ERROR_SIZE];
    uint64_t connection; /* that it was sent on, by its serial; 0: not sent */
    uint32_t sends;
    bool added, started;       /* to libcurl; its answer */
    enum http_failure failure; /* why we ended it ourselves */
    struct http_response response;
    struct strbuf answer;
};

/* A socket, by its number: numbers are used again, serials are not. */
struct connection {
    struct loop_fd watch;
    struct http_client *client;
    uint64_t serial;                /* 0: one of libcurl's own, for the answers of its resolver */
    bool is_known;                  /* to the loop */
    bool is_wanted;                 /* libcurl waits for it */
    bool was_used;                  /* a request was sent on it */
    uint16_t local_port, peer_port; /* 0: not looked up yet */
    uint32_t users;                 /* transfers that were sent on it and are not done */
    bool http2, doomed;
    int64_t used_ns;   /* since when it has users */
    uint64_t probe_id; /* 0: none under way */
    bool probe_wanted; /* on_doubt() was called, and has not sent it yet */
    bool probe_landed;
    int64_t probe_ns;
    uint32_t silent_at_probe_ms;
};

struct http_client {
    struct http_options options; /* with the defaults filled in; its texts are copies */
    struct arena arena;
    struct proxy_rules proxies;
    struct loop *loop;
    bool owns_loop;
    pthread_mutex_t lock;
    bool ending; /* under the lock: nothing is posted to the loop any more */
    CURLM *multi;
    struct loop_timer curl_timer;      /* libcurl's only one */
    struct loop_timer leftovers_timer; /* see on_leftovers_timer() */
    uint64_t deliveries;               /* headers, pieces of bodies and ends that libcurl gave us */

    struct idmap transfers;             /* by id: all that are on the loop's thread and not done */
    struct list waiting, ahead, urgent; /* struct transfer */
    uint32_t ahead_in_a_row;            /* so many of `ahead` started while others waited */
    VEC(CURL *) spare;
    VEC(struct connection *) connections;
    uint64_t last_connection;
    size_t running; /* that count against in_flight_max */
    struct loop_timer health_timer;

    atomic_uint_least64_t last_id;
    atomic_uint_least64_t in_flight, streams, pending;
    atomic_uint_least64_t opened, probes, given_up;
};

/* http_transfer.c */

/* A transfer with a copy of the request; the client's defaults filled in. */
int transfer_new(struct http_client *client, const struct http_request *request, struct transfer **ret,
                 struct error *err);
/* May it leave? If not, the response says so. */
bool transfer_may_leave(struct transfer *transfer);
/* Sets up an easy handle and gives it to libcurl. */
int transfer_start(struct transfer *transfer, struct error *err);
/* Fills in the response after libcurl said it is done. */
void transfer_conclude(struct transfer *transfer, CURLcode code);
/* Takes it from libcurl; no callback is called. */
void transfer_detach(struct transfer *transfer);
void transfer_free(struct transfer *transfer);

/* http_health.c */

/* Hooks the client's sockets into an easy handle. */
void health_attach(struct http_client *client, CURL *easy);
/* The loop waits for these events of the socket; 0: not any more. */
void health_watch(struct http_client *client, int fd, uint32_t events);
/* The request is about to be written to the connection with these ports. */
void health_sent(struct transfer *transfer, int peer_port, int local_port);
void health_done(struct transfer *transfer);
void health_saw_http2(struct transfer *transfer);
/* Looks at every connection in use; returns when it wants to look again, or NEVER. */
int64_t health_check(struct http_client *client, int64_t now_ns);
void health_drop_all(struct http_client *client, bool resets);
void health_release(struct http_client *client);

/* http.c */

/* Something happened on the socket. */
void client_act(struct http_client *client, int fd);

/* So many milliseconds from now, or NEVER. */
int64_t client_ns_after(int64_t ms);
/* The transfer has a deadline now, or an earlier one. */
void client_watch_deadline(struct transfer *transfer);
/* Sends a request of the client's own at once, from the loop's thread. Returns its id, or 0. */
uint64_t client_send_own(struct http_client *client, const struct http_request *request);

#endif
