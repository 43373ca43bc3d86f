/* listing.h: a cluster as it is now: every kind that a scheduler watches, listed once.
 *
 * For commands that look at a cluster and go: the same lists as those of the live scheduler, so the same rights are
 * enough. Secrets are no kind of them. Kinds that plugins and policies read are listed as well, where the caller names
 * them: a server may lack these, but a refusal is a failure, since the answer would not be the scheduler's. */
#ifndef SYNC_LISTING_H
#define SYNC_LISTING_H

#include "base/vec.h"
#include "client/kubeconfig.h"
#include "sync/inbox.h"
#include "sync/watched.h"

struct listing {
    VEC(struct live_object *) objects; /* kind by kind as they came */
    uint64_t absent;                   /* kinds that the server does not have: 1 << enum api_kind, or'ed */
};

/* A kind beside those that every scheduler watches. */
struct listed_kind {
    struct watched_kind watched;
    const char *whose; /* what reads it: "the plugin NetworkLatencyPlugin" */
};

/* Where kubectl looks as well: the file, or those of $KUBECONFIG, or ~/.kube/config, or the service account of this
 * pod. `context` and `server` may be NULL; the latter is spoken to instead of the cluster's. */
int usual_access(const char *kubeconfig, const char *context, const char *server, struct arena *arena,
                 struct kube_access *ret, struct error *err);
struct listing_options {
    const char *kubeconfig, *context; /* of usual_access() */
    const struct features
        *features;       /* of kinds whose gate is off there are none; NULL: the default release's */
    int64_t patience_ms; /* how long nothing may come [60 s] */
    const struct listed_kind *more; /* at most as many as there are bits in 64 with watched.def */
    size_t more_len;
    /* Called with what has come so far, a few times a second or more often. NULL is fine. */
    void (*on_progress)(size_t objects, double seconds);
};

/* All of it, or a failure that says why: where kinds are refused, at once and with all of them. */
int listing_read(const struct listing_options *options, struct listing *ret, struct error *err);

void listing_release(struct listing *listing);

#endif
