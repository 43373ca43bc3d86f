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
    /* StatefulSets with the policy OrderedReady make a pod when those before it have nodes; otherwise at once. To be
     * set before the run by a caller that reports placements. */
    bool starts_in_order;
    VEC(struct owner *) ordered; /* these StatefulSets */
    bool ran;
    VEC(const struct pod *) leaving; /* that are made again, behind those that are lacking */
    size_t returned;                 /* how many of them were: the last ones of `pods` */
    struct idmap successors;         /* by the address of a pod: the one that was made in its place */
};

/* Resolves priorities of pods in the input, and admits objects that a user wrote, with the claims of such pods. */
void expansion_begin(struct expansion *expansion, struct load *load);
/* Finds the owners of pods, and gives Deployments without one a ReplicaSet. Objects may be exchanged before. */
void expansion_settle(struct expansion *expansion);
/* Makes the pods, once. Fails when that would be too many. */
int expansion_run(struct expansion *expansion, struct error *err);
void expansion_release(struct expansion *expansion);
/* The pod has a node: the next one of its StatefulSet, if it was waited for, or NULL. */
struct pod *expansion_placed(struct expansion *expansion, const struct pod *placed);
/* The pod that the victim's controller makes in its place, or NULL when none does. */
struct pod *expansion_replace(struct expansion *expansion, const struct pod *victim);
/* The same for a pod whose controller is of any kind, also one that is not known here. */
struct pod *expansion_bring_back(struct expansion *expansion, const struct pod *leaving);
/* The pod has not left after all. */
void expansion_keep(struct expansion *expansion, const struct pod *pod);
/* The pod that was made in place of this one, or in place of that in turn; NULL: none was. */
const struct pod *expansion_successor(const struct expansion *expansion, const struct pod *pod);
/* A line on standard error about pods that StatefulSets did not make, because one before them has no node. */
void expansion_warn_not_started(const struct expansion *expansion);
/* Another pod of the workload, which need not be in the input, beyond those that it wants. Of a DaemonSet it is tied to
 * no node. */
struct pod *expansion_copy(struct expansion *expansion, enum api_kind kind, const struct meta *object);

#endif
