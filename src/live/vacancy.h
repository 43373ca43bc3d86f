/* vacancy.h: has another scheduler's Lease ended? Then a standby of another name schedules its pods.
 *
 *     held ──its spec unchanged for its duration──▶ vacant ──it is held again, or cannot be read──▶ held
 *
 * The Lease is read and never written, so that its candidates can have it back at any time. As in an election, only a
 * change of the Lease and this machine's clock count, not the times that are in it. A Lease that was given back (no
 * holder) or deleted is vacant after RELEASED_MS, so that another candidate of the same name comes first. One that has
 * never been there is not vacant: its name may be wrong.
 *
 * A fence: what is known of the Lease counts for BLIND_MS from the moment at which the request for it was sent. */
#ifndef LIVE_VACANCY_H
#define LIVE_VACANCY_H

#include "client/api.h"
#include "live/lease_record.h"

enum { VACANCY_RELEASED_MS = 5000, VACANCY_BLIND_MS = 5000 };

/* What is known of a Lease; a zeroed one: nothing. */
struct vacancy_view {
    struct lease_record record;
    bool seen;          /* it was there once */
    bool held;          /* it has a holder */
    int64_t changed_ns; /* when it was seen to change */
    int64_t asked_ns;   /* when the request was sent that was answered last */
};

/* An answer to a request that was sent at asked_ns: the Lease, or nothing if there is none. -EINVAL: it is no Lease. */
int vacancy_see(struct vacancy_view *view, struct str text, int64_t asked_ns, int64_t now_ns,
                struct error *err);
bool vacancy_is_vacant(const struct vacancy_view *view, int64_t now_ns);

struct vacancy;

struct vacancy_options {
    struct api *api; /* lives longer */
    struct str namespace, name;
    /* On the thread of the api's loop. */
    void (*on_change)(void *user, bool vacant);
    void *user;
};

struct vacancy *vacancy_new(const struct vacancy_options *options);
/* Looks from now on. From any thread. */
void vacancy_start(struct vacancy *vacancy);
/* NULL is fine. Not from a callback. */
void vacancy_free(struct vacancy *vacancy);

#endif
