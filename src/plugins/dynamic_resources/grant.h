/* grant.h: carries out what was decided about a pod's claims: what the pod holds between Reserve and its own binding.
 *
 *     Reserve    grant_take()   later pods see the devices as taken at once (cluster/devices.h)
 *     PreBind    grant_bind()   claims are written, one after the other, and what they take of the node; then wait for
 *                              devices that must be prepared
 *     Unreserve  grant_drop()   what was not written is free again; what was written is released
 *
 * Between those, objects of the cluster are replaced and removed: a grant has its own copies of claims, all in the
 * cycle's arena. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_GRANT_H
#define PLUGINS_DYNAMIC_RESOURCES_GRANT_H

#include "plugins/dynamic_resources/extended.h"

/* What is done with a claim, in this order. */
enum grant_stage {
    GRANT_CREATE,    /* it has to be made */
    GRANT_FINALIZER, /* it gets what keeps it while it is allocated */
    GRANT_STATUS,    /* allocation and reservation */
    GRANT_CONFLICT,  /* it is not as it was: wait for the newer one, and try again */
    GRANT_POD,       /* the pod names the claim that was made for it */
    GRANT_APPEAR,    /* a claim that was made has to be seen by the watch */
    GRANT_DONE,
};

struct granted_claim {
    struct resource_claim claim;                /* as far as is known; its texts are the grant's */
    const struct allocation_result *allocation; /* that it shall have; NULL: it has one */
    bool extended;                              /* made for the pod's extended resources */
    enum grant_stage stage;
    const struct answer *answer; /* to the write of the stage; NULL: not sent yet */
    uint32_t conflicts;
    int64_t deadline_ns; /* of waiting */
};

struct grant {
    struct granted_claim *claims;
    uint32_t len, next;             /* next: the one that is being written */
    struct extended_claim extended; /* its mappings */
    struct str made_name;           /* of the claim that is created */
    struct event_subject pod;
    struct str node_name;
    struct node_claim_list node_claims; /* what the claims take of the node */
    const struct answer *pod_answer;    /* to the write of those; NULL: not sent yet */
    uint32_t pod_conflicts;
    bool prepares;       /* devices may have to be prepared */
    bool waits;          /* for that */
    int64_t deadline_ns; /* of that */
    int64_t waited_ns;   /* since when, by the probe's clock */
};

/* Begins a grant of up to so many claims. `extended`: NULL where the pod needs no claim for extended resources. */
void grant_begin(struct grant *grant, struct cycle *cycle, uint32_t claims,
                 const struct extended_claim *extended, struct str node_name);
/* Adds a claim of the pod, and the allocation that it shall have; NULL: it has one, or needs none. */
void grant_take(struct grant *grant, struct cycle *cycle, const struct resource_claim *claim,
                const struct allocation_result *allocation, bool extended);
/* The pod's status will say what its claims take of the node; the node's sums have it from now on. */
void grant_take_node_claims(struct grant *grant, struct cycle *cycle, const struct node_claim_list *list);
void grant_drop(struct grant *grant, struct cycle *cycle);
/* Sends a write about an object; NULL: there is no API server. */
const struct answer *grant_send(struct cycle *cycle, enum effect_kind kind, struct event_subject object,
                                struct str body);
/* Deletes a claim that was made for a pod's extended resources. */
void grant_delete_claim(struct cycle *cycle, const struct resource_claim *claim);
/* Success: all claims are written and their devices ready. Wait: call again. Error, in the reference's words: the pod
 * needs another attempt. */
struct status grant_bind(struct grant *grant, struct cycle *cycle, int64_t timeout_ns);

/* ---- patches.c: what is sent to the API server about claims, as JSON ---- */
/* The claim gets the finalizer that keeps it while it is allocated, or loses it. The version must match. */
struct str patch_finalizer(const struct resource_claim *claim, bool wanted, struct arena *arena);
/* The claim gets an allocation (NULL: it has one, at most its time is missing) and is reserved for the pod. The version
 * must match. */
struct str patch_allocation(const struct resource_claim *claim, const struct allocation_result *allocation,
                            struct opt_time timestamp, const struct event_subject *pod, struct arena *arena);
/* The claim is not reserved for the pod any more, whatever else has changed. */
struct str patch_release(const struct resource_claim *claim, struct str pod_uid, struct arena *arena);
/* The claim has no allocation any more. The version must match. */
struct str patch_deallocation(const struct resource_claim *claim, struct arena *arena);
/* A claim to be created. */
struct str patch_new_claim(const struct resource_claim *claim, struct arena *arena);
/* The pod says which claim stands for its extended resources. */
struct str patch_pod_claim(const struct event_subject *pod, struct str claim_name,
                           const struct extended_claim *extended, struct arena *arena);
/* The pod says what its claims take of the node. To say that they take nothing, an empty list must replace the one that
 * is there: of a list that is absent, or null, the API server of 1.37 keeps what it has. */
struct str patch_node_claims(const struct event_subject *pod, const struct node_claim_list *list,
                             struct arena *arena);

#endif
