/* diagnosis.h: why a pod has no node: a status per node, and the message that the reference writes.
 *
 * Nodes with the same status share one entry, which counts them. Nodes that no filter was called for (outside
 * the set that PreFilter left) carry the `absent` status. */
#ifndef FRAMEWORK_DIAGNOSIS_H
#define FRAMEWORK_DIAGNOSIS_H

#include "framework/plugin.h"

struct counted_status {
    struct status status;
    uint32_t nodes;
};

struct diagnosis {
    struct arena *arena;
    uint32_t *status_of; /* by row: number of a status, or 0: feasible or absent */
    uint32_t rows;
    VEC(struct counted_status) statuses; /* [0] is unused */
    struct status absent;
    uint32_t explicit_nodes;                         /* nodes with a status */
    uint64_t unschedulable_plugins, pending_plugins; /* by plugin index in the profile */
    struct str pre_filter_message;
    struct str post_filter_message;
};

void diagnosis_init(struct diagnosis *diagnosis, const struct cluster *cluster, struct arena *arena);
void diagnosis_release(struct diagnosis *diagnosis);
/* With all texts, in the arena. */
void diagnosis_copy(struct diagnosis *ret, const struct diagnosis *from, struct arena *arena);
/* Records the status of a node; a later one replaces it. */
void diagnosis_set(struct diagnosis *diagnosis, uint32_t row, struct status status);
/* The number of a status that many nodes share, and giving one to a row; for callers that find equal ones. */
uint32_t diagnosis_number(struct diagnosis *diagnosis, struct status status);
/* The same where the caller knows that there is none like it yet. */
uint32_t diagnosis_add(struct diagnosis *diagnosis, struct status status);
void diagnosis_assign(struct diagnosis *diagnosis, uint32_t row, uint32_t number);
/* The status of a row: its own, else the absent status. */
struct status diagnosis_get(const struct diagnosis *diagnosis, uint32_t row);
/* Remembers which plugin rejected. */
void diagnosis_blame(struct diagnosis *diagnosis, const struct profile *profile, struct status status);
/* "0/5 nodes are available: ..." as FitError prints it. */
struct str diagnosis_message(const struct diagnosis *diagnosis, uint32_t all_nodes);
/* The same for a pod whose only node was refused at Reserve or Permit. */
struct str diagnosis_of_one(struct status status, struct arena *arena);
/* A plugin that refuses, and does not say why, has its name there at least. */
struct status diagnosis_explained(struct status status, struct arena *arena);

#endif
