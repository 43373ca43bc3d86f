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
    VEC(struct pod *) pods;          /* in the order in which they would be created */
    struct meta **nodes;             /* by name */
    size_t controllers;              /* that lacked pods */
    VEC(const struct pod *) leaving; /* that are made again, behind those that are lacking */
    size_t returned;                 /* how many of them were: the last ones of `pods` */
    struct idmap successors;         /* by the address of a pod: the one that was made in its place */
};

/* Finds the owners of pods, resolves priorities of pods in the input, and gives Deployments without one a
 * ReplicaSet. */
void expansion_init(struct expansion *expansion, struct load *load);
/* Makes the pods. Fails when that would be too many. */
int expansion_run(struct expansion *expansion, struct error *err);
void expansion_release(struct expansion *expansion);
/* The pod that the victim's controller makes in its place, or NULL when none does. */
struct pod *expansion_replace(struct expansion *expansion, const struct pod *victim);
/* The same for a pod whose controller is of any kind, also one that is not known here. */
struct pod *expansion_bring_back(struct expansion *expansion, const struct pod *leaving);
/* The pod has not left after all. */
void expansion_keep(struct expansion *expansion, const struct pod *pod);
/* The pod that was made in place of this one, or in place of that in turn; NULL: none was. */
const struct pod *expansion_successor(const struct expansion *expansion, const struct pod *pod);
/* A line on standard error for what a user should know. */
void expansion_warn(const struct expansion *expansion);

#endif
