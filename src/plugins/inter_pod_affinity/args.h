/* args.h: the arguments of InterPodAffinity. */
#ifndef PLUGINS_INTER_POD_AFFINITY_ARGS_H
#define PLUGINS_INTER_POD_AFFINITY_ARGS_H

#include "api/types.h"
#include "config/plugin_args.h"

struct inter_pod_affinity_args {
    int32_t hard_pod_affinity_weight;
    bool ignore_preferred_terms_of_existing_pods;
};
extern const struct plugin_args_kind inter_pod_affinity_args_kind;

#endif
