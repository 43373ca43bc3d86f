/* candidate.h: the LeaseCandidate of this process, for CoordinatedLeaderElection.
 *
 *     list ──▶ create, or renew ──▶ watch ──ping──▶ renew
 *      ▲            ▲                 │  │
 *      │            └─ 5 minutes ─────┘  │ ends, or cannot be read
 *      └─────────────────────────────────┘
 *
 * A candidate says which release the process stands in for. The API server pings the candidates of a Lease, and assigns
 * the Lease to the best one of those that renew themselves in answer, within seconds. The object is kept as it came,
 * and only its renewTime is changed. Whether this process leads is the Lease's alone to say (lease.h). */
#ifndef LIVE_CANDIDATE_H
#define LIVE_CANDIDATE_H

#include "client/api.h"

struct lease_candidate;

/* Texts are copied. */
struct candidate_options {
    struct api *api; /* lives longer than the candidate */
    struct str namespace, identity;
    struct str lease_name;
    const char *binary_version, *emulation_version; /* "1.37.1", "1.37.0" */
};

struct lease_candidate *candidate_new(const struct candidate_options *options);
/* From now on, on the loop of the api. NULL is fine. */
void candidate_start(struct lease_candidate *candidate);
/* Removes the object, so that the Lease is not assigned to a process that ends: kube-scheduler leaves it, and is named
 * again for some seconds. Waits for the answer, but not for long. Not from a callback. NULL is fine. */
void candidate_withdraw(struct lease_candidate *candidate);
/* Leaves the object as it is: the API server removes it when it is old. Not from a callback. NULL is fine. */
void candidate_free(struct lease_candidate *candidate);
/* Has the object been listed once, be it that there is none? From any thread. */
bool candidate_synced(const struct lease_candidate *candidate);

/* ---- the object, for tests ---- */
/* Does the object ask for a sign of life: was it pinged after it was renewed? */
bool candidate_is_pinged(struct str object);
/* Appends the object with renewTime in microseconds since 1970; of an empty one: a new object. */
void candidate_write(const struct candidate_options *options, struct str object, int64_t renew_us,
                     struct strbuf *out);

#endif
