/* exchange.h: a question over HTTP and its answer, with the manners of Go's client, which is what extenders know.
 *
 *     exchange_send() ──▶ net/http's thread ──▶ extender ──┬──▶ on_done
 *                              ▲                           │
 *                              └── redirect, broken line ◀─┘
 *
 * 307 and 308 send the question to another place, 301 to 303 ask that place without a question (GET), and ten requests
 * are enough. Of a question that may be repeated, one whose connection breaks before an answer begins is sent once
 * more, in what is left of the time: a server may close a connection that nobody uses at the moment at which somebody
 * does. Answers may come packed by gzip. An answer with another code than 200 is none.
 *
 * The counters of a target are for everybody; they may be read from any thread. */
#ifndef EXTENDER_EXCHANGE_H
#define EXTENDER_EXCHANGE_H

#include <stdatomic.h>

#include "extender/extender.h"
#include "http/http.h"

/* What was asked of one extender in one way. */
struct exchange_count {
    atomic_uint_least64_t calls, failures, total_ns;
};

/* Whom a question goes to. */
struct exchange_target {
    struct http_client *client;
    struct tls_config *tls;
    int64_t timeout_ms;
    struct exchange_count counts[EXTENDER_VERBS_LEN];
};

struct exchange {
    struct exchange_target *target;
    enum extender_verb verb;
    const char *verb_text;         /* as the configuration has it */
    struct strbuf url, question;   /* owned */
    bool repeats, urgent;          /* it changes nothing; somebody waits for it */
    bool (*may_leave)(void *user); /* as in struct http_request */
    /* On the thread of net/http: the text of the answer, or what went wrong. The last that is heard of it. */
    void (*on_done)(void *user, struct strbuf *answer, const struct error *problem);
    /* On the same thread: it goes by this number from now on. May be NULL. False: it shall not go on. */
    bool (*on_sent)(void *user, uint64_t id);
    void *user;

    struct strbuf place; /* the URL after redirects; empty: as at first */
    bool bare;           /* a redirect has dropped the question */
    bool repeated;       /* at this place */
    uint32_t redirects;
    int64_t begun_ns;
};

/* 0: on_done will come, perhaps before this returns. Otherwise it will not. */
int exchange_send(struct exchange *exchange, uint64_t *ret_id, struct error *err);
void exchange_release(struct exchange *exchange);

/* No honest answer is longer than this. */
size_t exchange_answer_bytes_max(size_t question_bytes);

#endif
