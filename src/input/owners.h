/* owners.h: which controller has which pods.
 *
 * A pod belongs to the controller that its ownerReferences name (controller: true), of the kinds that make pods. When
 * both sides carry a uid they must agree: a pod of a controller that was deleted and made again is not counted. */
#ifndef INPUT_OWNERS_H
#define INPUT_OWNERS_H

#include "input/load.h"

struct owner {
    struct str key;
    enum api_kind kind;
    const struct meta *object;   /* NULL: not in the input */
    VEC(struct pod *) pods;      /* neither finished nor on their way out */
    VEC(struct pod *) leaving;   /* have a deletion timestamp */
    VEC(struct pod *) finished;  /* succeeded or failed */
    VEC(struct workload *) sets; /* of a Deployment: its ReplicaSets */
    int64_t desired;             /* pods that the controller wants; -1: unknown */
    int64_t active;              /* pods that there are */
    uint64_t names;              /* how many were made up */
    /* Of a StatefulSet that starts its pods in order: by ordinal, from the first on (enum ordinal of expand.c). */
    uint8_t *ordinals;
    int64_t first, next; /* `next`: of those in `ordinals`, the first one without a node */
    /* Of a Deployment: the ReplicaSet that pods of the input name, but that is not in the input itself. */
    size_t unseen_pods;
    struct str unseen_hash, unseen_uid;
};

struct owners {
    struct strmap by_key;
    struct arena arena;
    struct strbuf scratch;
};

void owners_init(struct owners *owners, const struct load *load);
void owners_release(struct owners *owners);
/* Made at first use. */
struct owner *owners_get(struct owners *owners, enum api_kind kind, struct str namespace, struct str name);
/* The controller of an object, or NULL where it has none, or one of another kind. */
struct owner *owners_of(struct owners *owners, const struct meta *meta);

/* The controller of a pod as people know it: the Deployment of a ReplicaSet. The kind Pod and no name where there is
 * none. */
void owners_workload(const struct load *load, const struct meta *pod, struct str *ret_kind,
                     struct str *ret_name);

#endif
