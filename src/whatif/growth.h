/* growth.h: how many nodes of a type have to be added until no pod waits.
 *
 * Each number is tried by a simulation from the beginning: at least doubled until it is enough, then narrowed down to
 * the smallest one, with guesses by how many pods a node takes. Where more nodes left more pods waiting, which can
 * happen with preemption and spreading, all smaller numbers are tried one by one. The most that is tried are as many
 * nodes as pods wait without any: what waits then does not fit on such a node, or is kept from it, and the smallest
 * number with which no more pods wait is the answer.
 */
#ifndef WHATIF_GROWTH_H
#define WHATIF_GROWTH_H

#include "whatif/simulate.h"

struct growth_trial {
    int64_t nodes;
    size_t pending; /* gated pods are not counted */
};

struct growth {
    struct str of; /* the node or the file that is copied */
    VEC(struct growth_trial) trials;
    int64_t nodes;   /* the answer */
    size_t pending;  /* with so many */
    bool is_enough;  /* no pod waits */
    bool one_by_one; /* more nodes were not always better */
};

/* `changes` are made as well, with any number of nodes. */
int growth_find(struct growth *growth, const struct input *input, const struct change_requests *changes,
                struct str of, const struct sim_options *options, struct error *err);
/* Another input with so many nodes more. */
int growth_fork(struct input *fork, const struct input *input, const struct change_requests *changes,
                struct str of, int64_t nodes, struct error *err);
void growth_release(struct growth *growth);

#endif
