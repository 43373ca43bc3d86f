/* per_node.h: per-node plugins in a fast decision: those without row forms, called for single nodes, and only where
 * their answer matters.
 *
 *     table of the other plugins ──▶ rows that pass ──▶ filter(row) of per-node plugins ──▶ candidates ──▶ best row
 *
 * PreFilter and PreScore of per-node plugins run once per decision, as on the plain path. A pod that PreFilter rejects,
 * or whose nodes it narrows, takes the plain path; so does one for which a per-node plugin fails: that path reports the
 * failure that comes first. */
#ifndef ENGINE_PER_NODE_H
#define ENGINE_PER_NODE_H

#include "index/table.h"

struct per_node_filter {
    const struct plugin_instance *instance;
    uint32_t place; /* in the order of the Filter point */
};

struct per_node {
    struct per_node_filter filters[PLUGINS_MAX];
    uint32_t filters_len;
    bool filters_last; /* behind all filters with row forms: not called for rows that those reject */
};

#define PLACE_LAST UINT32_MAX

/* Runs PreFilter; the cycle skips all other plugins from now on. False: the pod needs the plain path. */
bool per_node_begin(struct per_node *per_node, const struct table *table, struct cycle *cycle);
/* The place of a part's filter. */
uint32_t per_node_place(const struct table *table, const struct table_part *part);
/* Runs the filters that come before `place`: Success, or the first other status. */
struct status per_node_filter(const struct per_node *per_node, struct cycle *cycle, uint32_t row,
                              uint32_t place);
/* After PreScore: plugins whose scores are 0 need not be called. */
void per_node_skip_zeros(struct cycle *cycle);
/* Does one of the plugins score, as far as is known? */
bool per_node_scores(const struct cycle *cycle);

#endif
