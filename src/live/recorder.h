/* recorder.h: events for people, written to the API server as kube-scheduler's recorder does it.
 *
 *     recorder_event() ──▶ series, by all but the note ──▶ queue ──▶ API server
 *         core thread        seen before: counted            a few at a time, at the rate of a client of its own
 *
 * The first of its kind is created. The second makes it a series of 2, which is patched at once. Those after it are
 * only counted; the count is written every 30 minutes, and when the series ends, which is 6 minutes without another
 * one. What was seen once is forgotten after 6 minutes as well.
 *
 * Nothing here waits. An event is dropped and counted when too many are waiting already; one that cannot be delivered
 * is tried again about every 10 seconds, 12 times in all, and holds its place in the queue meanwhile, so that an
 * outage does not burn through the others. What the server refuses is not tried again.
 *
 * What the server has is remembered without its texts: about 170 bytes each, 11 MB for as many as are remembered at
 * most (27 MB if each name were as long as names may be). One that waits has its texts as well, 500 bytes to 1.5 KB: 10
 * to 30 MB for as many as may wait.
 *
 * Servers that do not have events.k8s.io/v1 get events of the core group. From any thread. */
#ifndef LIVE_RECORDER_H
#define LIVE_RECORDER_H

#include "client/api.h"
#include "framework/effects.h"

struct recorder;

/* Zero takes the default in brackets. */
struct recorder_options {
    struct api *api; /* lives longer than the last event is sent, see recorder_free() */
    double qps;      /* as in rate.h; the same as the client's, but counted on its own */
    int32_t burst;
    const char *hostname;   /* NULL: the machine's */
    uint32_t queue_max;     /* events that wait [20000] */
    uint32_t series_max;    /* events that are remembered, waiting ones included [65536] */
    uint32_t in_flight_max; /* requests under way or waiting to be repeated [16] */
    int64_t retry_ms;       /* at least, before the same is tried again [10000] */
    /* Nanoseconds: since 1970, and of a clock that only goes forward. NULL: the system's. */
    int64_t (*wall_ns)(void *clock);
    int64_t (*steady_ns)(void *clock);
    void *clock;
};

struct recorder_event {
    struct object_ref regarding, related; /* related: without a name, none */
    struct str type, reason, action, note;
    struct str controller; /* the scheduler's name; the instance is that with the host name */
    /* As leader election writes it: a core event, which a scheduler that does not lead may send as well. Another
     * note makes it another event. It goes before others. */
    bool legacy;
};

struct recorder *recorder_new(const struct recorder_options *options);
/* After api_free(): until then answers may come. NULL is fine. */
void recorder_free(struct recorder *recorder);

/* Copies all it needs. A note of more than 1024 bytes is cut. */
void recorder_event(struct recorder *recorder, const struct recorder_event *event);
/* An EFFECT_EVENT: about a pod, related to another one perhaps, or about the object that a plugin names. */
void recorder_effect(struct recorder *recorder, const struct effect *effect);
/* Ends and refreshes series that are due. Returns when to come again, by the steady clock. */
int64_t recorder_tick(struct recorder *recorder);

struct recorder_stats {
    uint64_t written;  /* requests that were answered with a yes */
    uint64_t repeated; /* events that were only counted */
    uint64_t dropped;  /* because too many waited */
    uint64_t refused;  /* by the server, or unfit to be sent */
    uint64_t given_up; /* tried for too long */
    uint64_t
        forgotten; /* before their time, because there were too many: another of its kind is a new event */
    size_t waiting, series;
    size_t own;        /* legacy events that wait or are under way */
    size_t own_failed; /* of these, those that were tried in vain */
    size_t in_flight;  /* requests under way or waiting to be repeated */
    size_t bytes;      /* of all series, with the texts of those that wait */
};
struct recorder_stats recorder_stats(struct recorder *recorder);

#endif
