/* NodeDeclaredFeatures: a pod that relies on a feature goes only to nodes that declare it.
 *
 * The reference knows a fixed list of features; what a pod relies on is inferred from its spec. Features that matter
 * only when a pod is changed are in the list because it is matched with the node's list in order. */
#include "framework/rule.h"
#include "framework/shortfall.h"

static bool restarts_all(const struct container *containers, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        list_for(&containers[i].restart_rules, rule)
            if (str_is(rule->action, "RestartAllContainers"))
                return true;
    return false;
}

static bool needs_restart_all(const struct pod_spec *spec)
{
    return restarts_all(spec->containers.items, spec->containers.len) ||
           restarts_all(spec->init_containers.items, spec->init_containers.len);
}

static bool needs_user_namespace(const struct pod_spec *spec)
{
    return spec->host_network && spec->host_users.set && !spec->host_users.value;
}

/* Mounts without options are not in the lists. */
static bool needs_mount_options(const struct pod_spec *spec)
{
    list_for(&spec->containers, container)
        if (container->volume_mounts.len)
            return true;
    list_for(&spec->init_containers, container)
        if (container->volume_mounts.len)
            return true;
    list_for(&spec->ephemeral_containers, container)
        if (container->volume_mounts.len)
            return true;
    return false;
}

/* Sorted by name. */
static const struct {
    struct str name;
    bool (*needed)(const struct pod_spec *spec); /* NULL: never to be scheduled */
    enum behaviour since;                        /* what it came with */
} features[] = {
    { STR("DRANodeAllocatableResources"), NULL, BEHAVIOUR_nodes_declare_mount_options },
    { STR("DRAOptionalNodeOperations"), NULL, BEHAVIOUR_nodes_declare_mount_options },
    { STR("ExtendWebSocketsToKubelet"), NULL, BEHAVIOUR_NONE },
    { STR("InPlacePodLevelResourcesVerticalScaling"), NULL, BEHAVIOUR_NONE },
    { STR("InPlacePodVerticalScalingInitContainers"), NULL, BEHAVIOUR_NONE },
    { STR("InPlacePodVerticalScalingMemoryBackedVolumes"), NULL, BEHAVIOUR_nodes_declare_mount_options },
    { STR("RestartAllContainersOnContainerExits"), needs_restart_all, BEHAVIOUR_NONE },
    { STR("UserNamespacesHostNetworkSupport"), needs_user_namespace, BEHAVIOUR_NONE },
    { STR("VolumeBindMountOptions"), needs_mount_options, BEHAVIOUR_nodes_declare_mount_options },
};

struct needs {
    uint32_t mask, known; /* by number of the feature */
};

static struct needs needed_features(const struct release *release, const struct pod_spec *spec)
{
    struct needs needs = { 0 };
    for (uint32_t i = 0; i < ARRAY_SIZE(features); i++) {
        if (!release_row_applies(release, features[i].since, BEHAVIOUR_NONE))
            continue;
        needs.known |= 1U << i;
        if (features[i].needed && features[i].needed(spec))
            needs.mask |= 1U << i;
    }
    return needs;
}

static const void *prepare(struct rule_subject *subject)
{
    struct needs needed = needed_features(subject->cluster->features.release, &subject->pod->spec);
    if (!needed.mask)
        return NULL;
    struct needs *needs = arena_new(subject->arena, struct needs);
    *needs = needed;
    return needs;
}

/* Both lists are walked once, as the reference does: what stands out of order in the node's list is not seen. */
static uint32_t declared(const struct str_list *list, uint32_t known)
{
    uint32_t mask = 0;
    for (uint32_t i = 0, k = 0; i < list->len && k < ARRAY_SIZE(features);) {
        if (!(known >> k & 1)) {
            k++;
            continue;
        }
        int order = str_cmp(list->items[i], features[k].name);
        if (order == 0)
            mask |= 1U << k;
        i += order <= 0;
        k += order >= 0;
    }
    return mask;
}

static int64_t judge(const void *pod, union column_value node)
{
    const struct needs *needs = pod;
    return (needs->mask & ~declared(node.declared_features, needs->known)) != 0;
}

static const struct node_rule rule = {
    .column = COLUMN_DECLARED_FEATURES,
    .prepare = prepare,
    .judge = judge,
    .rejections = { { STATUS_UNRESOLVABLE, STR("node(s) didn't match Pod's required features") } },
    .unprepared = "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found",
};

static void explain(struct cycle *cycle, struct node_view view, struct shortfall_list *ret)
{
    struct needs needs = needed_features(cycle->cluster->features.release, &cycle->pod->spec);
    uint32_t missing = needs.mask & ~declared(&node_api(view)->status.declared_features, needs.known);
    for (uint32_t i = 0; i < ARRAY_SIZE(features); i++) {
        if (!(missing >> i & 1))
            continue;
        struct shortfall *lack = shortfall_add(ret, "Feature");
        lack->key = features[i].name;
        lack->sentence =
            arena_printf(ret->arena, "the node does not declare the feature " STR_FMT, STR_ARG(lack->key));
    }
}

/* ---- queueing hints ---- */
/* Any change of the list, as in the reference, whether the pod needs those features or not. */
HINT(node_changed)
{
    const struct node *before = event->before, *after = event->after;
    return before && same_field(KIND_NODE, "status.declaredFeatures", before, after) ? HINT_SKIP : HINT_QUEUE;
}

HINT(pod_updated)
{
    const struct pod *before = event->before, *after = event->after;
    const struct release *release = context->cluster->features.release;
    return pod_is(after, pod) &&
                   needed_features(release, &before->spec).mask != needed_features(release, &after->spec).mask
               ? HINT_QUEUE
               : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_DECLARED_FEATURE, node_changed },
    { EVENT_POD, ACTION_UPDATE, pod_updated, ANY_POD_RULE },
    { EVENT_TARGET_POD, ACTION_UPDATE, pod_updated, DIVIDED_POD_RULE },
    { 0 },
};

const struct plugin plugin_node_declared_features = {
    .name = "NodeDeclaredFeatures",
    .ignores_resizes = true,
    .doc = "Filters out nodes that do not declare a feature which the pod relies on.",
    .reads = READS("spec.hostNetwork", "spec.hostUsers", "spec.containers[].restartPolicyRules",
                   "spec.initContainers[].restartPolicyRules", "spec.containers[].volumeMounts",
                   "spec.initContainers[].volumeMounts", "spec.ephemeralContainers"),
    .needs_pre_filter = POINT_BIT(POINT_FILTER),
    .pre_filter = rule_pre_filter,
    .filter = rule_filter,
    .filter_rule = &rule,
    .explain = explain,
    .events = events,
};
