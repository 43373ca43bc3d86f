/* weights.h: the weights of scores in one attempt.
 *
 * They are those of the configuration (plugin_instance.weight), unless a plugin with `weigh` sets others for the pod.
 * All paths of a decision use the same: run_weigh() runs once per attempt, before a node is looked at, and a table
 * keeps the weights that it was filled with (index/table.h). An attempt without other weights has none of this. */
#ifndef FRAMEWORK_WEIGHTS_H
#define FRAMEWORK_WEIGHTS_H

#include "framework/plugin.h"

enum { WEIGHT_MAX = 10000 }; /* that a plugin may set; from 0 */

struct weight_reason {
    const struct plugin *by;
    struct str text;
};

struct score_weights {
    int32_t of[PLUGINS_MAX];                   /* by plugin index */
    uint64_t set;                              /* plugins whose weight is not the configured one */
    struct weight_reason reasons[PLUGINS_MAX]; /* of those */
};

/* NULL: as configured. */
static inline int32_t weight_in_effect(const struct score_weights *weights,
                                       const struct plugin_instance *instance)
{
    return weights ? weights->of[instance->index] : instance->weight;
}

/* Calls the plugins that set weights, in the order of the profile; the last one to set a weight counts. */
void run_weigh(struct cycle *cycle);
/* For such a plugin, while it is called. The reason is copied. False: no such scorer, a weight out of range, or no
 * plugin is being called for it. */
bool weights_set(struct cycle *cycle, uint32_t index, int32_t weight, struct str reason);

#endif
