/* new_node.h: types of nodes, and a node of one of them that joins the model and leaves it again.
 *
 * Nodes are of one type if they have the same instance type, zone and taints; nodes without the label of the instance
 * type, if they have the same labels, allocatable resources and taints. The new node brings its pods along: those of
 * DaemonSets of the input, and copies of the original's mirror pods and of pods of other DaemonSets. */
#ifndef WHATIF_NEW_NODE_H
#define WHATIF_NEW_NODE_H

#include "input/input.h"
#include "input/node_copy.h"

struct node_type {
    struct str name, zone; /* labels; empty: the node has none */
    const struct node *of; /* the first one by name */
    uint32_t nodes;        /* how many there are */
};

typedef VEC(struct node_type) node_type_vec;

/* The types of the input's nodes, the most frequent first. */
void node_types_find(const struct input *input, node_type_vec *ret);
/* Those of the nodes that the word names: a node of the input, or a file with nodes, which is read into `files`. */
int node_types_named(const struct input *input, const char *word, struct load *files, node_type_vec *ret,
                     struct error *err);

/* "key=value:Effect" of those that a new node has, too. */
struct str_list node_type_taints(const struct node_type *type, struct arena *arena);

struct new_node {
    struct input *input;
    struct arena arena;
    struct node_copy copy;
    VEC(struct pod_info *) pods;
};

void new_node_join(struct new_node *new, struct input *input, const struct node *of);
void new_node_leave(struct new_node *new);

#endif
