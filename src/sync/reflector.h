/* reflector.h: the API server's objects, kind by kind, as messages to the core: listed once, then watched for ever.
 *
 *            ┌─────────────── 410, or a history that is not ours ───────────────┐
 *            ▼                                                                  │
 *     STREAM, or LIST page, page, ... ──▶ LIST_BEGIN SET SET ... LIST_END ──▶ WATCH ──▶ SET, REMOVE, ...
 *                                                                             ▲    │
 *                                                                             └────┘ it ended: on from the last version
 *
 * STREAM is a watch that begins with all objects (sendInitialEvents) and goes on as a WATCH: one request, and the
 * server keeps no list in memory. A server that refuses it, or does not get on with it, is asked for a LIST instead;
 * the next time it is tried again. Either way the answer is as new as the server's storage: no resource version is
 * asked for.
 *
 * A kind has no thread: callbacks of api_send() on the I/O thread drive one small state machine each.
 *
 * Going back in time. Lists ask for no resource version, so the server must answer from its newest state: what a list
 * says between LIST_BEGIN and LIST_END is true whatever was known before, resource versions that are lower included
 * (a cluster may have been restored from a backup). A list that breaks off is begun anew with another LIST_BEGIN. An
 * event of a watch is only as good as its number: the reflector hands all of them on in the order in which they came,
 * resumes from the highest one, and the core drops one that is older than what it knows of the same object (same
 * uid). An event from before the beginning of its own watch comes from another history than ours: the kind is listed
 * again.
 *
 * When the API server does not answer, one probe is sent for all kinds, twice a second or more often; with its first
 * answer, whatever it is, all kinds go on at once. A kind that fails by itself comes back by itself, within half a
 * second; one that is refused (401, 403) more and more slowly, unless it was allowed before and the server may just
 * have started.
 *
 * Objects of an API server have their defaults: nothing is filled in here. */
#ifndef SYNC_REFLECTOR_H
#define SYNC_REFLECTOR_H

#include "client/api.h"
#include "sync/inbox.h"
#include "sync/node_lookup.h"
#include "sync/watched.h"

struct reflectors;

/* Zero takes the default in brackets. */
struct reflector_options {
    const struct watched_kind *kinds; /* NULL: all of watched.def */
    size_t kind_count;
    const struct features *features; /* of kinds whose gate is off there are none; NULL: all are watched */
    uint64_t seed;                   /* of the jitter; 0: another one every time */
    int64_t backoff_ms_min;          /* after the first failure [50], doubled with each one */
    int64_t backoff_ms_max;          /* [500] */
    int64_t refused_ms_min;          /* likewise where the server says no [250] */
    int64_t refused_ms_max;          /* [15000] */
    int64_t retry_after_ms_max;      /* of the Retry-After of a 429 [5000] */
    int64_t absent_ms;               /* until a kind that is not served is requested again [180000] */
    int64_t watch_ms_min;            /* a watch takes this long, or up to twice as long [300000] */
    size_t page_bytes_max;           /* of a page of a list [64 MiB] */
    bool plain_lists;                /* no streams: objects come in pages */
    bool lists_once;                 /* with plain_lists: nothing is watched */
    int64_t stall_ms;                /* a stream in which nothing comes for so long is given up [15000] */
    /* Told why a request failed, on the I/O thread; refusals are told here instead of the log. `status` is 0 where
     * there was no answer. NULL is fine. */
    void (*on_failure)(void *user, const struct watched_kind *watched, int status, const char *why);
    /* An object that cannot be read completely was seen, for the first time; on the I/O thread. NULL is fine. */
    void (*on_unreadable)(void *user, const char *resource);
    /* All that came of a kind adds up to this resource version; on the I/O thread. NULL is fine. */
    void (*on_version)(void *user, enum api_kind kind, struct str version);
    /* The API server answers again after a time without; on the I/O thread. NULL is fine. */
    void (*on_answering)(void *user);
    void *user;
    struct node_lookup *node_lookup; /* to be kept up to date, on the I/O thread; outlives this. NULL: none */
    uint64_t
        source_kinds; /* 1 << enum api_kind, or'ed: objects that keep the bytes that they came in, meta.source */
};

/* Begins with all kinds at once. Options are copied, `kinds` stay the caller's. */
struct reflectors *reflectors_start(struct api *api, struct inbox *inbox,
                                    const struct reflector_options *options);
/* Ends everything and waits for it; before api_free() and inbox_free(), not from a callback. NULL is fine. */
void reflectors_stop(struct reflectors *all);
/* Lists kinds (1 << enum api_kind, or'ed together) again, in whatever state they are; the message DOUBT separates the
 * new list of a kind from what came before, and has been posted when this returns. From any thread but the api's. */
void reflectors_relist(struct reflectors *all, uint64_t kinds);
/* Other kinds keep their source from now on: for those that did not yet, a list follows. As above. */
void reflectors_keep_source(struct reflectors *all, uint64_t kinds);
/* Since when the API server has not answered, by monotonic_ns(); 0: it does. From any thread. */
int64_t reflectors_down_since_ns(const struct reflectors *all);

#endif
