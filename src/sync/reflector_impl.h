/* reflector_impl.h: what the files of the reflectors share. */
#ifndef SYNC_REFLECTOR_IMPL_H
#define SYNC_REFLECTOR_IMPL_H

#include <stdatomic.h>

#include "base/map.h"
#include "base/rng.h"
#include "base/thread.h"
#include "net/loop.h"
#include "sync/gate.h"
#include "sync/reflector.h"
#include "sync/watch_decode.h"

/* LOOKUP: which resource has the kind? STREAM: a watch that begins with all objects, and goes on as WATCH when they
 * have come. */
enum phase { PHASE_LOOKUP, PHASE_LIST, PHASE_STREAM, PHASE_WATCH };
/* What was read in a watch that it ends for. */
enum watch_end { WATCH_GOES_ON, WATCH_RETRY, WATCH_RELIST };

struct reflector {
    struct reflectors *all;
    const struct watched_kind *watched;
    uint32_t version; /* which of the kind's versions is requested */
    uint32_t page_len;
    enum phase phase;
    bool in_flight, at_gate, absent;
    bool no_stream;               /* the objects are listed: streaming them has failed. Until they are */
    bool has_begun;               /* STREAM: LIST_BEGIN was posted */
    struct loop_timer stall;      /* STREAM: nothing comes */
    bool was_listed;              /* to its end, at least once */
    bool afresh;                  /* the newest state is wanted: list again when the request in flight ends */
    bool complained;              /* about the present trouble */
    bool watch_complained;        /* likewise, about watches that cannot be read */
    uint64_t id;                  /* of the request in flight */
    struct strbuf resource;       /* of a kind that is looked up; empty: it is not yet */
    struct strbuf continue_token; /* of the list under way; empty: its first page is next */
    struct strbuf position;       /* the resource version that all that came adds up to */
    uint64_t position_number;     /* 0: it is no number */
    uint32_t failures;            /* in a row, without an event of a watch */
    uint32_t refusals;            /* likewise, after which the kind is listed from the start */
    uint32_t forbidden;           /* likewise, of 401 and 403 where there were none before */
    uint32_t hasty;               /* watches since one that lasted */
    /* The watch under way. */
    struct watch_decoder watch;
    uint64_t watch_from;
    int64_t watch_ms;  /* how long it shall take */
    int64_t begun_ns;  /* 0: it has not */
    uint64_t received; /* events in it */
    int32_t retry_after_s;
    enum watch_end end;
    struct idmap told; /* objects that cannot be read and were told of, by a hash of their uid */
};

struct reflectors {
    struct api *api;
    struct inbox *inbox;
    struct reflector_options options;
    _Atomic uint64_t source_kinds;
    struct completion idle; /* nothing is under way any more, after reflectors_stop() */
    struct rng rng;
    struct arena scratch;
    bool stopping;
    uint32_t in_flight;
    struct gate gate;
    size_t len;
    struct reflector items[];
};

/* A message about the kind. */
void reflector_post(struct reflector *r, enum inbox_message_kind kind, struct live_object *object);
/* The next request lists the kind from the start. */
void reflector_begin_list(struct reflector *r);
/* Sends the next request, by phase. */
void reflector_send(struct reflector *r, int64_t delay_ms);
/* The API server answers: those at the gate go on. `user` is the reflectors. */
void reflectors_on_open(void *user);
/* Nothing comes: what is under way is given up. */
void reflector_on_stall(struct loop_timer *timer);
/* Is nothing under way any more, after stopping? */
void reflectors_look_idle(struct reflectors *all);

#endif
