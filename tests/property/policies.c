/* policies.c: random scheduling policies, which change between two decisions. */
#include <stdio.h>
#include <stdlib.h>

#include "property/random_fixture.h"

#include "engine/policy_change.h"

/* Parts of a spec, in YAML. Some are many times what a pod has of its own. */
static const char *const parts[] = {
    "  resourceWeights: {cpu: %u, memory: 3}\n",
    "  resourceWeights: {storage: 20, example.com/gpu: %u}\n",
    "  pluginWeights: {NodeResourcesFit: %u, TaintToleration: 0}\n",
    "  pluginWeights: {PodTopologySpread: %u, ImageLocality: 9}\n",
    "  tolerations: [{key: dedicated, operator: Exists}, {key: gpu, value: batch, tolerationSeconds: %u}]\n",
    "  tolerations: [{operator: Exists, tolerationSeconds: %u}]\n",
    "  nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: %u, preference: "
    "{matchExpressions: [{key: "
    "disk, operator: In, values: [ssd, nvme]}]}}]}\n",
    "  nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
    "[{matchExpressions: [{key: rack, "
    "operator: NotIn, values: [r%u]}]}, {matchExpressions: [{key: gen, operator: Gt, values: ['1']}]}]}}\n",
    "  topologySpreadConstraints: [{maxSkew: %u, topologyKey: topology.kubernetes.io/zone, "
    "whenUnsatisfiable: "
    "DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]\n",
    "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway, "
    "labelSelector: {}, "
    "matchLabelKeys: [app]}, {maxSkew: %u, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: "
    "ScheduleAnyway, labelSelector: {}}]\n",
    "  priorityClass: system-cluster-critical # %u\n",
};
enum { KINDS_OF_PARTS = 6 };
/* Of each of these fields a spec has one at most: parts from one to the next. */
static const size_t firsts[KINDS_OF_PARTS + 1] = { 0, 2, 4, 6, 8, 10, ARRAY_SIZE(parts) };

static const char *const selectors[] = {
    "", "  podSelector: {matchLabels: {app: web}}\n",
    "  podSelector: {matchExpressions: [{key: tier, operator: Exists}]}\n"
};

static struct str write_policy(struct random_fixture *fixture, uint32_t number)
{
    struct rng *rng = &fixture->rng;
    struct strbuf text = { 0 };
    strbuf_printf(&text,
                  "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: %s}\nspec:\n",
                  number ? (number == 1 ? "a" : "b") : "default-policy");
    if (number)
        strbuf_puts(&text, selectors[number]);
    for (int kind = 0; kind < KINDS_OF_PARTS; kind++)
        if (chance(rng, 35)) {
            size_t choices = firsts[kind + 1] - firsts[kind];
            size_t at = firsts[kind] + random_below(rng, (uint32_t)choices);
            _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wformat-nonliteral\"");
            strbuf_printf(&text, parts[at], 1 + random_below(rng, 9));
            _Pragma("GCC diagnostic pop");
        }
    struct str ret = arena_str(&fixture->arena, strbuf_slice(&text));
    strbuf_release(&text);
    return ret;
}

/* Pods are other versions afterwards; their objects stay. */
static void find_again(struct random_fixture *fixture, const struct meta *const *metas,
                       struct pod_info **pods, size_t len)
{
    for (size_t i = 0; i < len; i++)
        pods[i] = cluster_find_pod(&fixture->cluster, metas[i]->namespace, metas[i]->name);
}

static const struct meta **objects_of(struct random_fixture *fixture, struct pod_info **pods, size_t len)
{
    const struct meta **metas = arena_array(&fixture->arena, const struct meta *, len);
    for (size_t i = 0; i < len; i++)
        metas[i] = &pod_info_object(pods[i])->meta;
    return metas;
}

static void on_policies(void *context, const struct policy_news *news)
{
    struct random_fixture *fixture = context;
    if (news->result != POLICIES_REFUSED)
        return;
    printf("%s: a policy is refused: %s\n", fixture->what, news->error->text);
    exit(1);
}

void random_fixture_policies(struct random_fixture *fixture)
{
    struct config_map *map = arena_new(&fixture->arena, struct config_map);
    map->meta.name = STR("policies");
    map->data.items = arena_array(&fixture->arena, struct pair, 3);
    for (uint32_t i = 0; i < 3; i++)
        if (chance(&fixture->rng, 60))
            map->data.items[map->data.len++] =
                (struct pair){ arena_printf(&fixture->arena, "%u.yaml", i), write_policy(fixture, i) };
    __typeof__(fixture->placed) *lists[] = { &fixture->placed, (void *)&fixture->waiting,
                                             (void *)&fixture->leaving };
    const struct meta **metas[ARRAY_SIZE(lists)];
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        metas[i] = objects_of(fixture, lists[i]->items, lists[i]->len);
    fixture->engine.host.on_policies = on_policies;
    fixture->engine.host.context = fixture;
    policy_change_map(&fixture->engine, map, RANDOM_FIXTURE_NOW_NS);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        find_again(fixture, metas[i], lists[i]->items, lists[i]->len);
}
