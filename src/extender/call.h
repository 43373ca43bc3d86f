/* call.h: a question (exchange.h), and the wait for its answer.
 *
 *     core thread ──call_begin()──▶ exchange ──▶ extender
 *          └──call_end() waits ◀── on_done ◀──┘
 *
 * A call takes its time-out at most, and a little for its last breath. At the desk are all who wait, so that they can
 * be sent away when the process ends. */
#ifndef EXTENDER_CALL_H
#define EXTENDER_CALL_H

#include <pthread.h>

#include "base/list.h"
#include "extender/exchange.h"

struct call_desk {
    pthread_mutex_t lock; /* of the calls at the desk as well */
    pthread_cond_t changed;
    struct list calls; /* struct call */
    bool ending;
};

struct call {
    struct call_desk *desk;
    struct list_link link; /* at the desk */
    struct exchange exchange;
    uint64_t id; /* of what is under way */
    bool begun;  /* on_done will come or has */
    bool done, failed;
    struct strbuf answer;
    struct error error;
};

/* `url` and `question` are taken over. The desk is the same until call_release(). */
void call_begin(struct call *call, struct call_desk *desk, struct exchange exchange);
/* The text of the answer, which lives until call_release(). */
int call_end(struct call *call, struct str *ret, struct error *err);
/* After call_end(). */
void call_release(struct call *call);

#endif
