/* lease.h: leader election: of all schedulers that share a Lease, one leads.
 *
 *     lease_start() ─▶ acquiring ──on_started──▶ leading ──on_lost──▶ over
 *                        every 2 s to 4.4 s       every 2 s
 *
 * Speaks with the others as client-go does, through a coordination.k8s.io/v1 Lease and with the same times:
 * the holder renews it; a candidate that sees it unchanged for its duration, by its own clock, takes it over. Fields
 * that others put there stay.
 *
 * lease_valid() is stricter than being the leader. It is true only up to renew_deadline after the last
 * successful renewal was *sent*, by a clock that also runs while the process or the machine sleeps. Others
 * wait for lease_duration, rounded down to seconds, after they saw that renewal; what is between the two times is
 * what a write may need to arrive. A lease_duration that is cut below renew_deadline that way leaves nothing
 * between.
 *
 * With coordination (CoordinatedLeaderElection) the API server assigns the Lease to one of the candidates
 * (candidate.h), and no candidate takes it over: the one that it names as the holder renews it, and leads from the
 * first renewal on. Where the Lease names a preferred holder, the term of the present one has ended: it does not renew,
 * finishes what is on its way, and gives the Lease back. Every renewal carries the version that was read, so that it
 * fails if the Lease was assigned to another meanwhile.
 *
 * Of a holder that ran on this machine a candidate knows when it has ended (presence.h), for example because it was
 * killed, and is started again here. It waits only for what is between those two times, from the moment at which it
 * knew that and could read the Lease. */
#ifndef LIVE_LEASE_H
#define LIVE_LEASE_H

#include "client/api.h"
#include "framework/effects.h"
#include "live/presence.h"

struct leader_lease;

/* What a lease needs from outside; for tests. */
struct lease_host {
    int64_t (*now_ns)(void *user);  /* never goes back */
    int64_t (*wall_us)(void *user); /* since 1970 */
    double (*random)(void *user);   /* in [0, 1) */
    /* Sends a request. done(lease, response) is called once, after timeout_ms at the latest, perhaps before this
     * returns. One at a time. */
    void (*send)(void *user, const char *method, struct str path, struct str body, int64_t timeout_ms,
                 void (*done)(struct leader_lease *lease, const struct http_response *response),
                 struct leader_lease *lease);
    /* Does the holder's process still run? Asked whenever a Lease that another holds was read. NULL: never known. */
    enum presence (*look)(void *user, struct str holder, struct leader_lease *lease);
    void *user;
};

/* Callbacks come on the thread of the api's loop and must not block; any may be NULL. Texts are copied. */
struct lease_options {
    struct api *api; /* lives longer than the lease */
    struct str namespace, name, identity;
    int64_t lease_duration_ms, renew_deadline_ms, retry_period_ms;
    bool coordinated; /* the API server says who leads */
    void (*on_started)(void *user);
    /* Another was seen to lead, or the holder was removed: it leads no longer, and lease_valid() is false; not after
     * lease_release(). It does not try again by itself. */
    void (*on_lost)(void *user);
    /* lease_valid() has become false, because no renewal succeeded in time. Until others may lead there is as much time
     * as lease_duration is longer than renew_deadline: what was sent and has no answer should not arrive after that. */
    void (*on_expired)(void *user);
    /* The term has ended, though the Lease is still this process's: it shall stop, and lease_release(). It is not
     * renewed any more. */
    void (*on_term_end)(void *user);
    void (*on_new_leader)(void *user, struct str identity);
    /* The leader could not simply renew, and reads the Lease first. */
    void (*on_slow_path)(void *user);
    /* An event of type Normal and reason LeaderElection about the Lease: "X became leader". */
    void (*on_event)(void *user, const struct event_subject *lease, struct str note);
    void *user;
    const struct lease_host *host; /* NULL: the API server and the clocks of this machine */
};

/* -EINVAL: the times do not fit together. */
int lease_new(const struct lease_options *options, struct leader_lease **ret, struct error *err);
/* Leaves the Lease as it is. Not from a callback. NULL is fine. */
void lease_free(struct leader_lease *lease);

/* From now on, on the loop of the api. */
void lease_start(struct leader_lease *lease);
/* No write may leave any more: lease_valid() is false from now on, whatever comes. The Lease is renewed all the
 * same, so that no other leader follows before every request has its answer. From any thread. */
void lease_renounce(struct leader_lease *lease);
/* Gives up leading or trying to. lease_valid() is false when this begins, and the Lease is free for others
 * when it returns, unless the server cannot be reached within renew_deadline. Writes that were sent before
 * should have been answered. Not from a callback. */
void lease_release(struct leader_lease *lease);

/* May a write leave at this moment? From any thread, without a lock. */
bool lease_valid(const struct leader_lease *lease);
/* The calling thread is the one that writes. Should it be stopped between that check and the write, until
 * others may lead, then the process ends before the write, with status 1 (lease_guard.h). `at_risk` says whether writes
 * are on their way, and may only do what a handler of signals may. The first call counts. */
void lease_guard_writer(struct leader_lease *lease, bool (*at_risk)(const void *user), const void *user);
/* For a health check: -ETIMEDOUT when it still leads as far as it knows, and the Lease ended more than tolerated_ms
 * ago. */
int lease_check(const struct leader_lease *lease, int64_t tolerated_ms, struct error *err);

/* One attempt, for tests whose host answers at once. Returns when the next one is due, INT64_MAX: never. */
int64_t lease_step(struct leader_lease *lease);
/* The API server answers again after a time without: the attempt that would follow one in vain is due now, since until
 * it succeeds nothing may be written. Returns when the next one is due; on the thread of the api's loop. */
int64_t lease_retry(struct leader_lease *lease);

#endif
