/* catalog.h: the plugins of kube-scheduler by name and extension point, and a configuration from a text. */
#ifndef UNIT_CONFIG_CATALOG_H
#define UNIT_CONFIG_CATALOG_H

#include "config/config.h"
#include "plugins/dynamic_resources/args.h"
#include "plugins/inter_pod_affinity/args.h"
#include "plugins/node_affinity_args.h"
#include "plugins/node_resources/args.h"
#include "plugins/pod_topology_spread/args.h"
#include "plugins/volume_binding/args.h"
#include "preempt/preempt.h"

#define AT(point) POINT_BIT(POINT_##point)

static const struct catalog_plugin stock_plugins[] = {
    { "DefaultBinder", AT(BIND) },
    { "DefaultPreemption", AT(PRE_ENQUEUE) | AT(POST_FILTER) | AT(POD_GROUP_POST_FILTER),
      &default_preemption_args_kind },
    { "DynamicResources",
      AT(PRE_ENQUEUE) | AT(PRE_FILTER) | AT(FILTER) | AT(POST_FILTER) | AT(SCORE) | AT(RESERVE) |
          AT(PRE_BIND) | AT(POD_GROUP_POST_FILTER),
      &dynamic_resources_args_kind, .needs_pre_filter = AT(FILTER) | AT(SCORE) },
    { "GangScheduling", AT(PRE_ENQUEUE) | AT(PERMIT) },
    { "ImageLocality", AT(SCORE) },
    { "InterPodAffinity", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE),
      &inter_pod_affinity_args_kind, .needs_pre_filter = AT(FILTER), .needs_pre_score = AT(SCORE) },
    { "NodeAffinity", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE), &node_affinity_args_kind },
    { "NodeDeclaredFeatures", AT(PRE_FILTER) | AT(FILTER) },
    { "NodeName", AT(PRE_FILTER) | AT(FILTER),
      .newer = { AT(PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter } },
    { "NodePorts", AT(PRE_FILTER) | AT(FILTER) },
    { "NodeResourcesBalancedAllocation", AT(PRE_SCORE) | AT(SCORE), &node_resources_balanced_args_kind },
    { "NodeResourcesFit", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE) | AT(PLACEMENT_SCORE),
      &node_resources_fit_args_kind },
    { "NodeUnschedulable", AT(PRE_FILTER) | AT(FILTER),
      .newer = { AT(PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter } },
    { "NodeVolumeLimits", AT(PRE_FILTER) | AT(FILTER) },
    { "PodGroupPodsCount", AT(PLACEMENT_SCORE) },
    { "PodTopologySpread", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE),
      &pod_topology_spread_args_kind, .needs_pre_filter = AT(FILTER), .needs_pre_score = AT(SCORE) },
    { "PrioritySort", AT(QUEUE_SORT) },
    { "SchedulingGates", AT(PRE_ENQUEUE) },
    { "TaintToleration", AT(PRE_FILTER) | AT(FILTER) | AT(PRE_SCORE) | AT(SCORE),
      .newer = { AT(PRE_FILTER), BEHAVIOUR_node_filters_have_pre_filter } },
    { "TopologyPlacementGenerator", AT(PLACEMENT_GENERATE) },
    { "VolumeBinding", AT(PRE_FILTER) | AT(FILTER) | AT(RESERVE) | AT(PRE_BIND) | AT(PRE_SCORE) | AT(SCORE),
      &volume_binding_args_kind },
    { "VolumeRestrictions", AT(PRE_FILTER) | AT(FILTER) },
    { "VolumeZone", AT(PRE_FILTER) | AT(FILTER) },
};

#undef AT

static const struct plugin_catalog stock_catalog = { ARRAY_SIZE(stock_plugins), stock_plugins };
static const struct config_env stock_env = { .catalog = &stock_catalog };

#define CONFIG_HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

/* A configuration with its memory and warnings. */
struct loaded {
    struct arena arena;
    struct scheduler_config config;
    struct warnings warnings;
    struct error err;
};

/* Loads `head` and `body` together, as config.yaml. */
static inline int loaded_from(struct loaded *loaded, const struct config_env *env, const char *head,
                              const char *body)
{
    size_t len = strlen(head) + strlen(body);
    char *text = xcalloc(len + YYJSON_PADDING_SIZE, 1);
    memcpy(text, head, strlen(head));
    memcpy(text + strlen(head), body, strlen(body));
    *loaded = (struct loaded){ 0 };
    return config_load_text("config.yaml", text, len, env, &loaded->arena, &loaded->config, &loaded->warnings,
                            &loaded->err);
}

static inline void loaded_release(struct loaded *loaded)
{
    config_release(&loaded->config);
    warnings_release(&loaded->warnings);
    arena_release(&loaded->arena);
}

#endif
