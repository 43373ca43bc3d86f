/* removable.h: which nodes could be drained, one after the other, without a pod that waits.
 *
 * Greedy, from the emptiest node on: a node goes if all of its pods find another one, without preemption, beside what
 * has moved before. Another order may free more nodes. Control plane nodes stay, and those with pods that cannot be
 * drained: without a controller (unless they may be lost), of other schedulers, or with a budget that allows no
 * eviction.
 */
#ifndef WHATIF_REMOVABLE_H
#define WHATIF_REMOVABLE_H

#include "whatif/facts.h"

#define STAY_REASONS(X) \
    X(PENDING, pending, "a pod would wait") \
    X(UNMANAGED, unmanaged, "a pod has no controller") \
    X(BUDGET, budget, "a budget allows no eviction") \
    X(FOREIGN, otherScheduler, "a pod is another scheduler's") \
    X(CONTROL_PLANE, controlPlane, "control plane")
enum stay_reason {
#define X(name, word, text) STAY_##name,
    STAY_REASONS(X)
#undef X
        STAY_REASON_COUNT,
    STAY_NOT = STAY_REASON_COUNT
};
extern const char *const stay_reason_words[STAY_REASON_COUNT], *const stay_reason_texts[STAY_REASON_COUNT];

struct removable_node {
    uint32_t row;
    enum stay_reason reason; /* STAY_NOT: it can go */
    size_t pods;             /* that find another node */
};

struct removable {
    VEC(struct removable_node) nodes; /* in the order in which they were tried */
    size_t count;                     /* that can go */
    size_t stay[STAY_REASON_COUNT];
    double share[2]; /* of cpu and memory in use on the nodes that stay */
};

struct removable_options {
    bool force; /* pods without a controller may be lost */
    /* Now and then; may be NULL. */
    void (*progress)(size_t done, size_t all, double seconds);
};

/* After the facts are collected: the engine's model is another one afterwards. */
int removable_find(struct removable *removable, const struct facts *facts, struct simulation *simulation,
                   const struct removable_options *options, struct error *err);
void removable_release(struct removable *removable);

#endif
