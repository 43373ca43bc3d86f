/* round_trip.h: a request over HTTP and its answer, as Go's client does it, which is what extenders expect.
 *
 *     round_trip_send() ──▶ thread of http/ ──▶ extender ──┬──▶ on_done
 *                              ▲                           │
 *                              └── redirect, broken ◀──────┘
 *
 * 307 and 308 send the request to another URL, 301 to 303 send a GET there, and ten requests are the limit. A
 * repeatable request whose connection breaks before an answer begins is sent once more, in what is left of the time: a
 * server may close an idle connection at the moment at which it is used. Answers may be compressed with gzip. An answer
 * with another code than 200 is a failure.
 *
 * The counters of a target may be read from any thread. */
#ifndef EXTENDER_ROUND_TRIP_H
#define EXTENDER_ROUND_TRIP_H

#include <stdatomic.h>

#include "extender/extender.h"
#include "http/http.h"

/* Requests to one extender with one verb. */
struct extender_count {
    atomic_uint_least64_t calls, failures, total_ns;
};

/* An extender. */
struct extender_target {
    struct http_client *client;
    struct tls_config *tls;
    int64_t timeout_ms;
    struct extender_count counts[EXTENDER_VERBS_LEN];
};

struct round_trip {
    struct extender_target *target;
    enum extender_verb verb;
    const char *verb_text;         /* as the configuration has it */
    struct strbuf url, body;       /* owned */
    bool is_repeatable, urgent;    /* it changes nothing; the core thread waits for it */
    bool (*may_leave)(void *user); /* as in struct http_request */
    /* On the thread of http/, once: the text of the answer, or what went wrong. */
    void (*on_done)(void *user, struct strbuf *answer, const struct error *problem);
    /* On the same thread: the HTTP request has another id from now on. May be NULL. False: it is cancelled. */
    bool (*on_sent)(void *user, uint64_t id);
    void *user;

    struct strbuf redirected; /* the URL after redirects; empty: `url` */
    bool is_get;              /* a redirect has dropped the body */
    bool repeated;            /* at this URL */
    uint32_t redirects;
    int64_t begun_ns;
};

/* 0: on_done will come, perhaps before this returns. Otherwise it will not. */
int round_trip_send(struct round_trip *trip, uint64_t *ret_id, struct error *err);
void round_trip_release(struct round_trip *trip);

#endif
