/* hold.h: carries out what the binder decided for a pod: what the pod holds between Reserve and its own binding.
 *
 *     Reserve    hold_take()   later pods see the decision at once (cluster/volumes.h)
 *     PreBind    hold_bind()   claims and volumes are written, one after the other; then wait until the controllers
 *                              have made the volumes and bound every claim
 *     Unreserve  hold_drop()   what was not written is free again; what was stays, and the next attempt finds it
 *
 * Between those, objects of the cluster are replaced and removed. So a hold has names and versions, all in the cycle's
 * arena, and looks objects up each time. */
#ifndef PLUGINS_VOLUME_BINDING_HOLD_H
#define PLUGINS_VOLUME_BINDING_HOLD_H

#include "framework/plugin.h"
#include "plugins/volume_binding/binder.h"

struct held_claim {
    struct event_subject claim;  /* as it was when the pod got its node */
    struct event_subject volume; /* that it shall have, likewise; no name: one is to be made */
    bool prebound;               /* the volume named the claim before */
    const struct answer *answer; /* to the write about it; NULL: not sent yet */
};

struct hold {
    struct str node_name; /* empty: nothing is held */
    struct event_subject pod;
    struct held_claim *claims; /* those with a volume first */
    uint32_t len;
    bool written;           /* all of it: what is left is waiting */
    int64_t deadline_ns;    /* of that */
    int64_t doubt_until_ns; /* after that a write that is in doubt counts as not done */
};

void hold_take(struct hold *hold, struct cycle *cycle, const struct pod_volumes *volumes,
               struct str node_name);
void hold_drop(struct hold *hold, struct cluster *cluster);
/* Success: all claims are bound, or there is no API server that could do better. Wait: call again. Error, in the
 * reference's words: the pod needs another attempt. */
struct status hold_bind(struct hold *hold, struct cycle *cycle, int64_t timeout_s);

#endif
