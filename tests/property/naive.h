/* naive.h: the topology rules, as their specification reads.
 *
 * They are the reference for the counting service that berth uses on every path (index/topology_counts.h): each result
 * loops over all nodes and pods and compares strings of API objects. Nothing is compiled, indexed or cached. */
#ifndef PROPERTY_NAIVE_H
#define PROPERTY_NAIVE_H

#include "framework/run.h"

/* A pod that joins or leaves the row of a what-if. */
struct naive_change {
    const struct pod_info *pod;
    int delta;
};

struct naive_context {
    struct cluster *cluster;
    const struct plugin_instance *instance;
    const void *args;      /* of the plugin */
    const struct pod *pod; /* the incoming pod */
    struct arena *arena;
    uint32_t row; /* of the what-if */
    struct naive_change changes[16];
    uint32_t changes_len;
};

struct naive_rule {
    const char *plugin;
    /* Whether PreFilter or PreScore skips the plugin. */
    bool (*skips_filter)(const struct naive_context *context);
    bool (*skips_score)(const struct naive_context *context);
    struct status (*filter)(const struct naive_context *context, uint32_t row);
    void (*scores)(const struct naive_context *context, struct row_list feasible, int64_t *ret);
    void (*normalize)(int64_t *scores, size_t len);
};

extern const struct naive_rule naive_spread, naive_affinity;

/* The value of the node's label, or NULL. */
const struct str *naive_label(const struct naive_context *context, uint32_t row, struct str key);

#define naive_for_rows(context, row) \
    for (uint32_t row = 0; row < (context)->cluster->nodes.len; row++) \
        if ((context)->cluster->nodes.items[row].api)

#endif
