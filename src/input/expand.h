/* expand.h: the pods that the controllers of the input would still create.
 *
 *     Deployment ──▶ ReplicaSet ──▶ pods        what is wanted, less what is there
 *     StatefulSet, ReplicationController, Job ──▶ pods
 *     DaemonSet ──▶ a pod per node that should run it and does not yet
 *
 * Pods in the input count for the controller that their ownerReferences name. A Deployment whose ReplicaSets are not
 * in the input gets one, so that what looks pods' controllers up (default spreading) finds what a cluster would have.
 * Controllers that are being deleted, suspended or done make nothing. */
#ifndef INPUT_EXPAND_H
#define INPUT_EXPAND_H

#include "input/pod_factory.h"

/* More pods than this are refused: the input is a mistake or an attack. */
enum { EXPANDED_PODS_MAX = 1000000 };

struct expansion {
    struct load *load;
    struct pod_factory factory;
    struct owners owners;
    VEC(struct pod *) pods; /* in the order in which they would be created */
    struct meta **nodes;    /* by name */
    size_t controllers;     /* that lacked pods */
};

/* Finds the owners of pods, resolves priorities of pods in the input, admits objects that a user wrote, with the claims
 * of such pods, and gives Deployments without one a ReplicaSet. */
void expansion_init(struct expansion *expansion, struct load *load);
/* Makes the pods. Fails when that would be too many. */
int expansion_run(struct expansion *expansion, struct error *err);
void expansion_release(struct expansion *expansion);
/* The pod that the victim's controller makes in its place, or NULL when none does. */
struct pod *expansion_replace(struct expansion *expansion, const struct pod *victim);

#endif
