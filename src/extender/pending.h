/* pending.h: a request to an extender whose answer the core thread waits for.
 *
 *     core thread ──pending_begin()──▶ round_trip.h ──▶ extender
 *          └──pending_end() waits ◀── on_done ◀────────────┘
 *
 * The wait takes the time-out at most, and a little until its end is reported. All pending requests are in a list, so
 * that they can be cancelled when the process ends. */
#ifndef EXTENDER_PENDING_H
#define EXTENDER_PENDING_H

#include "base/list.h"
#include "base/thread.h"
#include "extender/round_trip.h"

struct pending_requests {
    struct monitor monitor; /* of the requests in the list as well */
    struct list requests;   /* struct pending_request */
    bool ending;
};

struct pending_request {
    struct pending_requests *all;
    struct list_link link; /* in pending_requests.requests */
    struct round_trip trip;
    uint64_t id; /* of the HTTP request under way */
    bool begun;  /* on_done will come or has */
    bool done, failed;
    struct strbuf answer;
    struct error error;
};

/* Takes over the URL and the body. */
void pending_begin(struct pending_request *request, struct pending_requests *all, struct round_trip trip);
/* The text of the answer, which lives until pending_release(). */
int pending_end(struct pending_request *request, struct str *ret, struct error *err);
/* After pending_end(). */
void pending_release(struct pending_request *request);

#endif
