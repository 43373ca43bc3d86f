/* node_copy.h: a new node of the type of another: with a name of its own, without pods and images, not cordoned, and
 * without the taints of trouble. What CSINodes and ResourceSlices say of the original is true of it. */
#ifndef INPUT_NODE_COPY_H
#define INPUT_NODE_COPY_H

#include "input/load.h"

struct companion {
    enum api_kind kind;
    struct meta *object;
};

struct node_copy {
    struct node *node;
    VEC(struct companion) companions;
};

/* The objects are in the arena. */
void node_copy_make(struct node_copy *ret, const struct load *load, const struct node *of, struct str name,
                    struct arena *arena);
void node_copy_release(struct node_copy *copy);
/* A taint of a node that does not work, or is cordoned: it does not belong to the type. */
bool taint_is_trouble(const struct taint *taint);

#endif
