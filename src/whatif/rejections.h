/* rejections.h: the nodes that cannot take a pod, in groups that lack the same.
 *
 * Nodes are in one group if the same plugin rejects them with the same reasons, and they lack the same things: the same
 * resources, the same taint, the same label. How much they lack, and what they have instead, differs within a group: of
 * the node that lacks least, and of the most that any of them has, one sentence is made. */
#ifndef WHATIF_REJECTIONS_H
#define WHATIF_REJECTIONS_H

#include "framework/diagnosis.h"
#include "framework/shortfall.h"

/* What a row lacks. */
struct row_why {
    const struct shortfall *items;
    uint32_t len;
};

enum { VALUES_SHOWN = 3 };

/* What the nodes of a group have of one of the things that they lack. */
struct group_range {
    int64_t most_free, largest; /* of an amount */
    uint32_t most_free_row;
    struct str values[VALUES_SHOWN]; /* of a label, and the like; an empty one: a node has none */
    uint32_t values_len;
    bool has_more_values;
};

struct rejected_group {
    struct status status;
    uint32_t number; /* in the order in which they were found */
    uint32_t nodes;
    uint32_t closest; /* the row that lacks least; of equals the first by name */
    double distance;  /* of that row */
    struct row_why why;
    struct group_range *ranges; /* by entry of `why` */
};

struct rejected_groups {
    struct rejected_group *items; /* the largest first */
    uint32_t len;
};

/* The rows, in the order of their names, were rejected; `why_of`: by row. In the arena. */
struct rejected_groups rejections_group(const struct diagnosis *diagnosis, struct row_list rows,
                                        const struct row_why *why_of, struct arena *arena);

/* All that a node lacks, as a sentence without a full stop; and what the nodes of a group lack. */
struct str shortfall_sentence(const struct shortfall *lacks, uint32_t len, struct arena *arena);
struct str rejected_group_sentence(const struct cluster *cluster, const struct rejected_group *group,
                                   struct arena *arena);

#endif
