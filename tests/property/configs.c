/* configs.c: random KubeSchedulerConfigurations: strategies, arguments, weights, and plugins that are disabled or in
 * another order. */
#include "property/objects.h"

const char *const scheduler_names[PROFILES_MAX] = { "default-scheduler", "second", "third", "fourth" };

#define ZONE "topology.kubernetes.io/zone"
#define VERSION "kubescheduler.config.k8s.io/v1"

static void put_args(struct strbuf *out, const char *plugin)
{
    comma(out);
    put(out, "{'name':'%s','args':{'apiVersion':'" VERSION "','kind':'%sArgs'", plugin, plugin);
}

static void put_resources(struct strbuf *out, struct rng *rng, bool weights)
{
    static const char *const names[] = { "cpu", "memory", "example.com/gpu", "ephemeral-storage" };
    static const uint32_t percents[] = { 85, 85, 50, 20 };
    put(out, "'resources':[");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (!chance(rng, percents[i]))
            continue;
        comma(out);
        put(out, "{'name':'%s','weight':%d}", names[i], weights ? between(rng, 1, 10) : 1);
    }
    put(out, "]");
}

static void put_fit_args(struct strbuf *out, struct rng *rng)
{
    const char *type = one_of(rng, "LeastAllocated", "MostAllocated", "MostAllocated",
                              "RequestedToCapacityRatio", "RequestedToCapacityRatio");
    put_args(out, "NodeResourcesFit");
    if (chance(rng, 10))
        put(out, ",'ignoredResources':['example.com/unknown']");
    if (chance(rng, 10))
        put(out, ",'ignoredResourceGroups':['example.com']");
    put(out, ",'scoringStrategy':{'type':'%s',", type);
    put_resources(out, rng, true);
    if (type[0] == 'R') {
        put(out, ",'requestedToCapacityRatio':{'shape':[");
        for (int at = 0, points = between(rng, 1, 4); points > 0; points--, at += between(rng, 1, 30)) {
            comma(out);
            put(out, "{'utilization':%d,'score':%d}", at, between(rng, 0, 10));
        }
        put(out, "]}");
    }
    put(out, "}}}");
}

static void put_balanced_args(struct strbuf *out, struct rng *rng)
{
    put_args(out, "NodeResourcesBalancedAllocation");
    put(out, ",");
    put_resources(out, rng, false);
    put(out, "}}");
}

static void put_spread_args(struct strbuf *out, struct rng *rng)
{
    put_args(out, "PodTopologySpread");
    put(out, ",'defaultingType':'List','defaultConstraints':[");
    if (chance(rng, 60))
        put(out, "{'maxSkew':%d,'topologyKey':'" ZONE "','whenUnsatisfiable':'%s'}", between(rng, 1, 4),
            one_of(rng, "DoNotSchedule", "ScheduleAnyway"));
    if (chance(rng, 60)) {
        comma(out);
        put(out, "{'maxSkew':%d,'topologyKey':'%s','whenUnsatisfiable':'%s'}", between(rng, 1, 4),
            one_of(rng, "kubernetes.io/hostname", "rack"),
            one_of(rng, "ScheduleAnyway", "ScheduleAnyway", "DoNotSchedule"));
    }
    put(out, "]}}");
}

static void put_affinity_args(struct strbuf *out, struct rng *rng)
{
    put_args(out, "InterPodAffinity");
    put(out, ",'hardPodAffinityWeight':%s", one_of(rng, "0", "1", "7", "100"));
    if (chance(rng, 40))
        put(out, ",'ignorePreferredTermsOfExistingPods':true");
    put(out, "}}");
}

static void put_node_affinity_args(struct strbuf *out, struct rng *rng)
{
    put_args(out, "NodeAffinity");
    put(out, ",'addedAffinity':{");
    if (chance(rng, 50))
        put(out,
            "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{'matchExpressions':"
            "[{'key':'disk','operator':'%s'}]}]}",
            one_of(rng, "Exists", "DoesNotExist"));
    if (chance(rng, 50)) {
        comma(out);
        put(out,
            "'preferredDuringSchedulingIgnoredDuringExecution':[{'weight':%d,'preference':{'matchExpressions'"
            ":"
            "[{'key':'gen','operator':'Gt','values':['%d']}]}}]",
            between(rng, 1, 100), between(rng, 0, 9));
    }
    put(out, "}}}");
}

static void put_plugin_config(struct strbuf *out, struct rng *rng)
{
    put(out, ",'pluginConfig':[");
    if (chance(rng, 60))
        put_fit_args(out, rng);
    if (chance(rng, 25))
        put_balanced_args(out, rng);
    if (chance(rng, 30))
        put_spread_args(out, rng);
    if (chance(rng, 30))
        put_affinity_args(out, rng);
    if (chance(rng, 20))
        put_node_affinity_args(out, rng);
    put(out, "]");
}

static const char *plugin_name(struct rng *rng)
{
    return one_of(rng, "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread",
                  "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality", "NodePorts",
                  "NodeUnschedulable");
}

static const char *scorer_name(struct rng *rng)
{
    return one_of(rng, "TaintToleration", "NodeAffinity", "NodeResourcesFit", "PodTopologySpread",
                  "InterPodAffinity", "NodeResourcesBalancedAllocation", "ImageLocality");
}

/* Mostly small ones; and such with which the weighted scores of a node just fit into 32 bits, or do not. */
static int any_weight(struct rng *rng)
{
    static const int large[] = { 2000000, 21000000, 25000000, 1 << 30, INT32_MAX };
    return chance(rng, 70) ? between(rng, 1, 50) : large[random_below(rng, ARRAY_SIZE(large))];
}

/* A plugin at another place in the order, with another weight: disabled, then enabled again after the others. */
static void put_moved(struct strbuf *out, struct rng *rng, const char *point)
{
    const char *name = point[0] == 's' ? scorer_name(rng) : plugin_name(rng);
    comma(out);
    put(out, "'%s':{'disabled':[{'name':'%s'}],'enabled':[{'name':'%s','weight':%d}]}", point, name, name,
        any_weight(rng));
}

static void put_plugins(struct strbuf *out, struct rng *rng)
{
    put(out, ",'plugins':{");
    switch (random_below(rng, 14)) {
    case 0:
        put(out, "'multiPoint':{'disabled':[{'name':'%s'}]}", plugin_name(rng));
        break;
    case 1:
        put_moved(out, rng, "multiPoint");
        break;
    case 2:
        put_moved(out, rng, "score");
        break;
    case 3: /* at one extension point only */
        put(out, "'%s':{'disabled':[{'name':'%s'}]}", one_of(rng, "filter", "score", "preFilter", "preScore"),
            scorer_name(rng));
        break;
    case 4: /* no plugin scores: the first feasible node is chosen */
        put(out, "'score':{'disabled':[{'name':'*'}]}");
        break;
    case 5:
        put(out, "'multiPoint':{'disabled':[{'name':'%s'},{'name':'InterPodAffinity'}]}",
            one_of(rng, "PodTopologySpread", "NodeResourcesFit", "TaintToleration"));
        break;
    case 6: /* plugins without row forms, after the others */
        put(out, "'multiPoint':{'enabled':[{'name':'Picky','weight':%d}]}", any_weight(rng));
        break;
    case 7:
        put(out, "'multiPoint':{'enabled':[{'name':'Terse','weight':%d},{'name':'Picky'}]}", any_weight(rng));
        break;
    case 8: /* ... before them, and at some points only */
        put(out, "'filter':{'enabled':[{'name':'%s'}]}", one_of(rng, "Picky", "Terse", "Terse"));
        if (chance(rng, 50))
            put(out, ",'score':{'enabled':[{'name':'Terse','weight':2}]}");
        break;
    case 9: /* ... and among them */
        put(out,
            "'filter':{'enabled':[{'name':'%s'},{'name':'Terse'},{'name':'%s'}]},"
            "'multiPoint':{'enabled':[{'name':'Picky','weight':3}]}",
            one_of(rng, "NodeResourcesFit", "PodTopologySpread"),
            one_of(rng, "NodePorts", "InterPodAffinity"));
        break;
    case 10: /* other weights in each namespace, which change */
        put(out, "'score':{'enabled':[{'name':'Weigher'}]}");
        break;
    case 11:
        put(out, "'multiPoint':{'enabled':[{'name':'Terse','weight':%d},{'name':'Weigher'}]}",
            any_weight(rng));
        break;
    default:
        break;
    }
    put(out, "}");
}

static void put_profile(struct strbuf *out, struct rng *rng, uint32_t number)
{
    comma(out);
    put(out, "{'schedulerName':'%s'", scheduler_names[number]);
    if (chance(rng, 15))
        put(out, ",'percentageOfNodesToScore':%s", one_of(rng, "1", "30", "60", "0", "100"));
    if (number > 0 || chance(rng, 10)) {
        put_plugin_config(out, rng);
        put_plugins(out, rng);
    }
    put(out, "}");
}

void write_config(struct strbuf *out, struct rng *rng, uint32_t profiles)
{
    put(out,
        "{'apiVersion':'" VERSION
        "','kind':'KubeSchedulerConfiguration','percentageOfNodesToScore':%s,'profiles':[",
        one_of(rng, "100", "100", "100", "0", "5", "50"));
    for (uint32_t i = 0; i < profiles; i++)
        put_profile(out, rng, i);
    put(out, "]}");
}
