/* constraints.h: the spread constraints that hold for a pod: its own, or the defaults of the cluster.
 *
 * A pod without constraints gets the defaults of the plugin's arguments (or the system's two soft ones), with the
 * selector of the services and of the controller that own it; a pod that nothing selects gets none. */
#ifndef PLUGINS_POD_TOPOLOGY_SPREAD_CONSTRAINTS_H
#define PLUGINS_POD_TOPOLOGY_SPREAD_CONSTRAINTS_H

#include "framework/plugin.h"
#include "plugins/pod_topology_spread/args.h"

struct spread_self {
    bool system_defaulted;
    const struct spread_constraint *defaults;
    uint32_t defaults_len;
};

struct constraint {
    int32_t max_skew, min_domains;
    struct str topology_key;
    const struct label_selector *selector; /* NULL matches nothing */
    bool honor_affinity, honor_taints;     /* which nodes count */
    bool is_hostname;
    bool selects_pod; /* whose constraint it is */
};

struct constraint_list {
    struct constraint *items;
    uint32_t len;
    bool require_all_keys; /* of scoring: nodes without one of the keys are left out */
};

/* Those with that whenUnsatisfiable. Arena-owned, borrowing from the pod and the controllers. */
void constraints_of(const struct spread_self *self, const struct cluster *cluster, const struct pod *pod,
                    bool hard, struct arena *arena, struct constraint_list *ret);

/* A selector without any requirement: it matches a pod, but counts none. */
bool spread_selector_is_empty(const struct label_selector *selector);

#endif
