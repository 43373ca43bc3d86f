/* naive.h: the rules that look beyond a node, as their specification reads.
 *
 * They judge the counting service that the product uses on every path (index/topology_counts.h): each answer loops over
 * all nodes and pods and compares texts of API objects. Nothing is compiled, indexed or kept. */
#ifndef PROPERTY_NAIVE_H
#define PROPERTY_NAIVE_H

#include "framework/run.h"

/* What if these pods joined the row, or left it? */
struct naive_change {
    const struct pod_info *pod;
    int delta;
};

struct naive_world {
    struct cluster *cluster;
    const struct plugin_instance *instance;
    const void *args;      /* of the plugin */
    const struct pod *pod; /* the incoming one */
    struct arena *arena;
    uint32_t row; /* of the changes */
    struct naive_change changes[16];
    uint32_t changes_len;
};

struct naive_rule {
    const char *plugin;
    /* Does PreFilter, or PreScore, skip the plugin? */
    bool (*skips_filter)(const struct naive_world *world);
    bool (*skips_score)(const struct naive_world *world);
    struct status (*filter)(const struct naive_world *world, uint32_t row);
    void (*scores)(const struct naive_world *world, struct row_list feasible, int64_t *ret);
    void (*normalize)(int64_t *scores, size_t len);
};

extern const struct naive_rule naive_spread, naive_affinity;

/* The value of the node's label, or NULL. */
const struct str *naive_label(const struct naive_world *world, uint32_t row, struct str key);

#define naive_for_rows(world, row) \
    for (uint32_t row = 0; row < (world)->cluster->nodes.len; row++) \
        if ((world)->cluster->nodes.items[row].api)

#endif
