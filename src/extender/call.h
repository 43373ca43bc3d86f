/* call.h: a question over HTTP, and the wait for its answer.
 *
 *     core thread ──call_begin()──▶ net/http's thread ──▶ extender
 *          └──call_end() waits ◀── on_done ◀──┘
 *
 * A call takes its time-out at most, and a little for its last breath. A question whose connection breaks before the
 * answer begins is asked once more in what is left of the time, as Go does with connections that a server closed while
 * nobody used them: questions change nothing. */
#ifndef EXTENDER_CALL_H
#define EXTENDER_CALL_H

#include <pthread.h>

#include "net/http.h"

/* Where a call goes. */
struct call_target {
    struct http_client *client;
    struct tls_config *tls;
    int64_t timeout_ms;
};

struct call {
    const struct call_target *target;
    struct strbuf url, question;
    int64_t until_ns; /* by http_now_ns() */
    bool begun;       /* on_done will come or has */
    uint64_t id;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    enum http_outcome outcome;
    enum http_failure failure;
    int status;
    struct strbuf answer;
    struct error error;
};

/* `url` and `question` are taken over. */
void call_begin(struct call *call, const struct call_target *target, struct strbuf *url,
                struct strbuf *question);
/* The text of the answer, which lives until call_release(). Only an answer with code 200 is one. */
int call_end(struct call *call, const char *verb, struct str *ret, struct error *err);
/* After call_end(). */
void call_release(struct call *call);

/* What is wrong with an answer, in the reference's words; 0: nothing. */
int call_verdict(const char *verb, const char *url, enum http_outcome outcome, int status,
                 const struct error *problem, struct error *err);
/* No honest answer is longer than this. */
size_t call_answer_bytes_max(size_t question_bytes);

#endif
