/* mirror.h: the engine's model follows the API server: messages in, intake calls out.
 *
 *     LIST_BEGIN SET SET ... LIST_END          what was not among them is gone
 *     SET, REMOVE                              of a watch: what is older than what is known is dropped
 *     PARTIAL                                  what is known of the object stays, or what could be read counts
 *
 * The mirror keeps every object for as long as the engine needs it, and frees it then. It belongs to the core thread.
 *
 * Within a list everything counts, whatever its version: a list is the newest state, and a cluster may have been
 * restored from a backup. An event of a watch that has a lower resource version than the known object of the same uid
 * is a straggler.
 *
 * What cannot be read keeps its room. A pod that has a node, or gets one, occupies it with what is known of it: its
 * last complete version, or else what could be read. A pod without a node that cannot be read is not scheduled. A
 * ResourceClaim holds the devices that it has; no pod is scheduled with it. Of other kinds the last complete version
 * stays. If a list has an object without a name that can be read, what the list
 * did not have stays, too: it may be one of these. */
#ifndef SYNC_MIRROR_H
#define SYNC_MIRROR_H

#include "engine/engine.h"
#include "sync/inbox.h"

struct mirror {
    struct engine *engine;
    struct {
        uint32_t round; /* of the list that is being read, or was last */
        bool listing;   /* between LIST_BEGIN and LIST_END */
        bool synced;    /* a list has ended, or the server does not serve the kind */
        bool unnamed;   /* the list has an object without a name that can be read */
    } kinds[KIND_COUNT];
};

/* Sets cluster->pod_free. */
void mirror_init(struct mirror *mirror, struct engine *engine);
/* Frees the objects. After engine_release(), before cluster_release(). */
void mirror_release(struct mirror *mirror);

/* A message about objects: SET, REMOVE, PARTIAL, LIST_BEGIN, LIST_END, DOUBT, ABSENT. Takes its object over; the caller
 * keeps the message. */
void mirror_apply(struct mirror *mirror, struct inbox_message *message, int64_t now_ns);

#endif
