/* lease_impl.h: what the files of leader election share. `record`, `state` and all that is not atomic belong to the
 * loop's thread. */
#ifndef LIVE_LEASE_IMPL_H
#define LIVE_LEASE_IMPL_H

#include <stdatomic.h>

#include "base/thread.h"
#include "live/lease.h"
#include "live/lease_guard.h"
#include "live/lease_record.h"

enum lease_state { LEASE_NEW, LEASE_ACQUIRING, LEASE_LEADING, LEASE_OVER };

/* What follows a response, or what stands for one. */
typedef void response_fn(struct leader_lease *lease, const struct http_response *response);
/* What follows a request, by its result. */
typedef void next_fn(struct leader_lease *lease, int result, struct error *err);

/* A request under way. One whose time is over, or that is abandoned, is forgotten: its response, which comes later,
 * only frees it. */
struct lease_request {
    struct leader_lease *lease; /* NULL: its response is not needed any more */
    uint64_t id;
    int64_t timeout_ms;
    response_fn *done;
};

struct leader_lease {
    struct lease_options options; /* its texts in the arena */
    struct arena arena;
    struct lease_host host;
    struct str collection_path, path, lock_name; /* lock_name: "namespace/name" */
    int64_t request_timeout_ms;
    int32_t duration_s;    /* that the Lease tells others, in seconds */
    int64_t valid_span_ms; /* after a renewal was sent, see lease_valid() */
    int64_t guard_span_ms; /* likewise, until the guard looks: see lease_guard_writer() */

    enum lease_state state;
    /* The attempt that is under way. */
    next_fn *then;              /* after the request */
    int64_t start_ns, until_ns; /* of the attempt: when it began, how long its requests may take */
    int64_t sent_ns;            /* when the last write was sent */
    struct str holder;          /* that it writes */
    bool creates;               /* there was no Lease */
    int releases;               /* attempts to free the Lease that are left */

    struct lease_record record;  /* as it was read or written last */
    struct strbuf reported;      /* the leader that on_new_leader was told */
    bool wrote;                  /* was a write of ours sent, whatever came of it? */
    int64_t round_until_ns;      /* a renewal is being tried until then; 0: none */
    bool overdue;                /* it leads, and no renewal succeeded in time: read first, then write */
    bool followed;               /* it led, and the Lease is not its own any more */
    bool term_ended;             /* it led, and the Lease has a preferred holder */
    int64_t ended_ns;            /* when its holder was known to have ended, and it was read; 0: it may run */
    _Atomic int64_t observed_ns; /* when its spec was seen to change last */
    _Atomic int64_t valid_until_ns; /* see lease_valid() */
    atomic_bool leading, released;  /* released: whatever comes, it is not valid */
    struct lease_guard guard;
    atomic_bool guarded;

    struct loop *loop;        /* NULL: not started */
    struct loop_timer expiry; /* at valid_until_ns, unless it moves */
    struct loop_timer timer;
    int64_t due_ns;                  /* the next attempt, by the clock of the host */
    struct lease_request *under_way; /* NULL: no request */
    struct loop_timer timeout;       /* of that request */
    struct presence_watch presence;  /* of the holder */
    struct completion *released_at;  /* that lease_release() waits for; NULL: it does not */
};

/* lease_api.c: the API server and the clocks of this machine. */
extern const struct lease_host lease_api_host;
/* Of leader_lease.timeout. */
void lease_api_timeout(struct loop_timer *timer);
/* Forgets the request that is under way. */
void lease_api_abandon(struct leader_lease *lease);
/* In place of a response that did not come. */
void lease_respond_without(struct leader_lease *lease, response_fn *done, enum http_outcome outcome,
                           const char *sentence);

#endif
