/* writer.h: effects, sent to the API server one request each, and the answers on their way back.
 *
 *     engine ──writer_emit(effect)──▶ api_send() ──▶ API server
 *        ▲                                               │
 *        └──── inbox ◀── message(ticket, answer) ◀────────┘          events go to the recorder and have no answer
 *
 * One attempt per effect: the engine repeats it itself. What the server says is sorted by what is true afterwards:
 *
 *     2xx                                              DONE
 *     404 that names the object or its namespace       GONE
 *     409, 422 because of the uid                      GONE: another object has the name now
 *     409 otherwise                                    CONFLICT
 *     401, 429, no connection, too many waiting        UNSENT
 *     other 4xx                                        REFUSED
 *     5xx, 408, any other answer or none               UNKNOWN: a maybe is never called a no
 *
 * A 404 of a server that does not know the path, such as a proxy, says nothing about the object and is UNKNOWN as
 * well. */
#ifndef LIVE_WRITER_H
#define LIVE_WRITER_H

#include "client/api.h"
#include "framework/effects.h"
#include "live/recorder.h"
#include "sync/inbox.h"

/* All of them live longer than the writer, which stays where it is until api_free(): until then answers may come. */
struct writer {
    struct api *api;
    struct inbox *inbox;
    struct recorder *recorder; /* NULL: events are dropped */
    int64_t timeout_ms;        /* until an answer counts as lost; 0: 10 s */
    bool dispatches;           /* SchedulerAsyncAPICalls: the texts of logs */
};

/* Copies all it needs. With a ticket there will be exactly one message, never before this returns on
 * the thread that takes messages. */
void writer_emit(const struct writer *writer, const struct effect *effect);

#endif
