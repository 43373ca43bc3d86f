/* setting.c: builds the objects in memory; see setting.h. */
#include "bench/setting.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/defaults.h"
#include "api/extra_kinds.h"
#include "api/object.h"
#include "codec/doc.h"
#include "support/amounts.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

#define TERM(color, key) \
    "{labelSelector: {matchLabels: {color: " color "}}, topologyKey: " key ", namespaces: [sched-1, " \
    "sched-0]}"

/* ---- kinds of pods, in addition to a container that requests 100m and 500Mi ---- */
static const struct pod_kind {
    const char *name, *color, *spec;
    bool runs; /* some of them are running already; otherwise plain pods are */
} pod_kinds[] = {
    { "plain", NULL, "", true },
    { "labelled", "blue, appgroup.diktyo.x-k8s.io: shop, appgroup.diktyo.x-k8s.io.workload: web", "", false },
    { "nodeaffinity", NULL,
      "affinity: {nodeAffinity: {" REQUIRED ": {nodeSelectorTerms: [{matchExpressions: "
      "[{key: " ZONE ", operator: In, values: [zone1, zone2]}]}]}}}",
      false },
    { "taints", NULL, "tolerations: [{key: dedicated, operator: Equal, value: infra, effect: NoSchedule}]",
      false },
    { "spread", "blue",
      "topologySpreadConstraints: [{maxSkew: 5, topologyKey: " ZONE ", whenUnsatisfiable: DoNotSchedule, "
      "labelSelector: {matchLabels: {color: blue}}}]",
      false },
    { "spread-soft", "blue",
      "topologySpreadConstraints: [{maxSkew: 5, topologyKey: " ZONE ", whenUnsatisfiable: ScheduleAnyway, "
      "labelSelector: {matchLabels: {color: blue}}}]",
      false },
    { "podaffinity", "blue", "affinity: {podAffinity: {" REQUIRED ": [" TERM("blue", ZONE) "]}}", true },
    { "podantiaffinity", "green", "affinity: {podAntiAffinity: {" REQUIRED ": [" TERM("green", HOST) "]}}",
      true },
    { "podaffinity-preferred", "red",
      "affinity: {podAffinity: {" PREFERRED ": [{weight: 1, podAffinityTerm: " TERM("red", HOST) "}]}}",
      true },
    { "podantiaffinity-preferred", "yellow",
      "affinity: {podAntiAffinity: {" PREFERRED
      ": [{weight: 1, podAffinityTerm: " TERM("yellow", HOST) "}]}}",
      true },
};

enum { CLAIMS = 1000 };

#define KINDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

const struct setting plugin_setting = {
    "plugins",      "requests and labels", 99, KINDS("labelled"), .zones = 3, .zone_prefix = "zone",
    .samples = true
};
const struct setting settings[] = {
    { "plain", "requests only", 99, KINDS("plain") },
    { "nodeaffinity", "required node affinity", 102, KINDS("nodeaffinity"), .zones = 4,
      .zone_prefix = "zone" },
    { "taints", "half of the nodes tainted", 95, KINDS("taints"), .tainted = true },
    { "spread", "hard spread over zones", 75, KINDS("spread"), .zones = 3, .zone_prefix = "moon-",
      .fully_running = true },
    { "spread-soft", "soft spread over zones", 56, KINDS("spread-soft"), .zones = 3, .zone_prefix = "moon-",
      .fully_running = true },
    { "podaffinity", "required, by zone", 57, KINDS("podaffinity"), .zones = 1, .zone_prefix = "zone" },
    { "podantiaffinity", "required, by host", 72, KINDS("podantiaffinity"), .zones = 1, .zone_prefix = "zone",
      .pods_max = 2 },
    { "preferred", "preferred affinity and anti-affinity, by host", 0,
      KINDS("podaffinity-preferred", "podantiaffinity-preferred"), .zones = 1, .zone_prefix = "zone" },
    { "volumes", "a bound CSI volume each", 0, KINDS("plain"), .claims = true },
    { "mixed", "one of each in turn", 70,
      KINDS("plain", "podaffinity", "podantiaffinity", "podaffinity-preferred", "podantiaffinity-preferred",
            "spread", "spread-soft", "nodeaffinity", "taints"),
      .zones = 3, .zone_prefix = "zone", .tainted = true, .pods_max = 2 },
};
const uint32_t settings_len = ARRAY_SIZE(settings);

/* ---- templates ---- */
/* As the kind that a plugin names, if one does. */
static struct object decode_object(struct arena *arena, const char *text)
{
    struct doc_stream stream;
    struct doc doc;
    struct object object;
    struct error err;
    size_t len = strlen(text);
    char *copy = xcalloc(len + YYJSON_PADDING_SIZE, 1);
    memcpy(copy, text, len);
    doc_stream_init(&stream, "template", copy, len);
    bool is_read =
        doc_stream_next(&stream, &doc, &err) > 0 && object_decode(&doc, doc.root, arena, &object, &err) == 0;
    enum api_kind extra = is_read ? extra_kind_find(object.api_version, object.kind_name) : KIND_UNKNOWN;
    if (extra != KIND_UNKNOWN)
        is_read = object_decode_as(&doc, doc.root, extra, arena, &object, &err) == 0;
    if (!is_read) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
    object_default(&object, arena);
    doc_release(&doc);
    doc_stream_release(&stream);
    return object;
}

void bench_set_object(struct bench_cluster *input, const char *text)
{
    struct object object = decode_object(&input->arena, text);
    if (!object.ptr || !cluster_set_object(&input->cluster, object.kind, object.ptr, object.meta))
        abort();
}

static void *decode(struct arena *arena, const char *text)
{
    return decode_object(arena, text).ptr;
}

static const struct pod_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(pod_kinds); i++)
        if (strcmp(pod_kinds[i].name, name) == 0)
            return &pod_kinds[i];
    abort();
}

static struct pod *pod_template(struct arena *arena, const struct pod_kind *kind, const char *namespace)
{
    char text[2048];
    snprintf(text, sizeof(text),
             "{apiVersion: v1, kind: Pod, metadata: {name: template, namespace: %s, labels: {%s%s}}, spec: "
             "{priority: 0, "
             "containers: [{name: pause, image: 'registry.k8s.io/pause:3.10.2', ports: [{containerPort: "
             "80}], resources: "
             "{requests: {cpu: 100m, memory: 500Mi}, limits: {cpu: 100m, memory: 500Mi}}}], %s}}",
             namespace, kind->color ? "color: " : "", kind->color ? kind->color : "", kind->spec);
    return decode(arena, text);
}

static void make_templates(struct bench_cluster *input)
{
    const char *const *kinds = input->setting->kinds;
    while (kinds[input->kinds])
        input->kinds++;
    input->templates = arena_array(&input->arena, struct pod *, input->kinds);
    input->running_templates = arena_array(&input->arena, struct pod *, input->kinds);
    for (uint32_t i = 0; i < input->kinds; i++) {
        const struct pod_kind *kind = find_kind(kinds[i]);
        input->templates[i] = pod_template(&input->arena, kind, "sched-1");
        input->running_templates[i] =
            pod_template(&input->arena, kind->runs ? kind : &pod_kinds[0], "sched-0");
    }
}

/* ---- nodes and running pods ---- */
static struct node *node_template(struct bench_cluster *input, const char *taint)
{
    char text[512];
    snprintf(text, sizeof(text),
             "{apiVersion: v1, kind: Node, metadata: {name: template}, spec: {taints: [%s]}, status: "
             "{capacity: {cpu: 4, "
             "memory: 32Gi, pods: 110}, allocatable: {cpu: 4, memory: 32Gi, pods: 110}, conditions: [{type: "
             "Ready, "
             "status: 'True'}]}}",
             taint);
    return decode(&input->arena, text);
}

/* The taints of node i, by i % 4. */
static const char *const taints[] = {
    "{key: dedicated, value: infra, effect: NoSchedule}",
    "{key: dedicated, value: batch, effect: NoSchedule}",
    "{key: flaky, value: 'yes', effect: PreferNoSchedule}",
    "",
};

static void add_nodes(struct bench_cluster *input)
{
    const struct setting *setting = input->setting;
    struct node *templates[ARRAY_SIZE(taints)];
    for (size_t i = 0; i < ARRAY_SIZE(taints); i++) {
        bool has = setting->tainted && !(i == 1 && input->kinds > 1);
        templates[i] = node_template(input, has ? taints[i] : "");
    }
    for (uint32_t i = 0; i < input->nodes; i++) {
        struct node *node = arena_new(&input->arena, struct node);
        *node = *templates[i % ARRAY_SIZE(taints)];
        node->meta.name = arena_printf(&input->arena, "scheduler-perf-%05u", i);
        struct pair *labels = arena_array(&input->arena, struct pair, 2);
        labels[0] = (struct pair){ STR(HOST), node->meta.name };
        node->meta.labels = (struct str_map){ labels, 1 };
        if (setting->zones) {
            labels[1] = (struct pair){ STR(ZONE), arena_printf(&input->arena, "%s%u", setting->zone_prefix,
                                                               i % setting->zones + 1) };
            node->meta.labels.len = 2;
        }
        cluster_set_node(&input->cluster, node);
    }
}

/* Evenly over the nodes, a different node for each while there are enough. */
static void add_running(struct bench_cluster *input)
{
    uint32_t count = input->setting->fully_running ? input->nodes : input->nodes / 5;
    for (uint32_t i = 0; i < count; i++) {
        struct pod *pod = arena_new(&input->arena, struct pod);
        *pod = *input->running_templates[i % input->kinds];
        pod->meta.name = arena_printf(&input->arena, "init-%05u", i);
        pod->meta.uid = pod->meta.name;
        uint32_t node = (uint32_t)(((uint64_t)i * 7919 + 13) % input->nodes);
        pod->spec.node_name = arena_printf(&input->arena, "scheduler-perf-%05u", node);
        cluster_add_pod(&input->cluster, pod);
    }
}

static void add_namespaces(struct bench_cluster *input)
{
    static const char *const texts[] = {
        "{apiVersion: v1, kind: Namespace, metadata: {name: sched-0, labels: {kubernetes.io/metadata.name: "
        "sched-0}}}",
        "{apiVersion: v1, kind: Namespace, metadata: {name: sched-1, labels: {kubernetes.io/metadata.name: "
        "sched-1}}}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct namespace *namespace = decode(&input->arena, texts[i]);
        cluster_set_object(&input->cluster, KIND_NAMESPACE, namespace, &namespace->meta);
    }
}

/* ---- volumes: as many claims as there are pods in a round, and a limit on each node ---- */
static void add_object(struct bench_cluster *input, const char *text)
{
    struct object object = decode_object(&input->arena, text);
    cluster_set_object(&input->cluster, object.kind, object.ptr, object.meta);
}

static void add_claims(struct bench_cluster *input)
{
    char text[1024];
    for (uint32_t i = 0; i < CLAIMS; i++) {
        snprintf(text, sizeof(text),
                 "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-%u}, spec: {capacity: "
                 "{storage: 1Gi}, accessModes: [ReadWriteOnce], claimRef: {namespace: sched-1, name: "
                 "claim-%u}, csi: {driver: ebs.csi.aws.com, volumeHandle: vol-%u}}}",
                 i, i, i);
        add_object(input, text);
        snprintf(text, sizeof(text),
                 "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: claim-%u, namespace: "
                 "sched-1, annotations: {pv.kubernetes.io/bind-completed: 'true'}}, spec: {accessModes: "
                 "[ReadWriteOnce], volumeName: pv-%u, resources: {requests: {storage: 1Gi}}}, status: "
                 "{phase: Bound}}",
                 i, i);
        add_object(input, text);
    }
    for (uint32_t i = 0; i < input->nodes; i++) {
        snprintf(
            text, sizeof(text),
            "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: scheduler-perf-%05u}, spec: "
            "{drivers: [{name: ebs.csi.aws.com, nodeID: id, allocatable: {count: 39}}]}}",
            i);
        add_object(input, text);
    }
}

static void claim_volume(struct arena *arena, struct pod *pod, uint32_t number)
{
    struct volume *volume = arena_new(arena, struct volume);
    volume->name = STR("vol");
    volume->pvc = arena_new(arena, __typeof__(*volume->pvc));
    volume->pvc->claim_name = arena_printf(arena, "claim-%u", number % CLAIMS);
    pod->spec.volumes.items = volume;
    pod->spec.volumes.len = 1;
}

static void add_samples(struct bench_cluster *input)
{
    enum { SHAPES = 16 };
    struct node_metrics *shapes[SHAPES];
    char text[512];
    for (uint32_t i = 0; i < SHAPES; i++) {
        snprintf(text, sizeof(text),
                 "{apiVersion: metrics.k8s.io/v1beta1, kind: NodeMetrics, metadata: {name: template}, "
                 "timestamp: '1970-01-01T00:16:%02dZ', window: 30s, usage: {cpu: %um, memory: %uMi}}",
                 SAMPLED_SECONDS - 16 * 60, 400 + i * 100, 2000 + i * 500);
        shapes[i] = decode(&input->arena, text);
    }
    for (uint32_t i = 0; i < input->nodes; i++) {
        struct node_metrics *metrics = arena_new(&input->arena, struct node_metrics);
        *metrics = *shapes[i * 7 % SHAPES];
        metrics->meta.name = arena_printf(&input->arena, "scheduler-perf-%05u", i);
        cluster_set_object(&input->cluster, KIND_NODE_METRICS, metrics, &metrics->meta);
    }
}

void bench_cluster_init(struct bench_cluster *input, const struct setting *setting, uint32_t nodes)
{
    *input = (struct bench_cluster){ .setting = setting, .nodes = nodes };
    cluster_init(&input->cluster);
    make_templates(input);
    add_namespaces(input);
    add_nodes(input);
    add_running(input);
    if (setting->claims)
        add_claims(input);
    if (setting->samples)
        add_samples(input);
}

void bench_cluster_release(struct bench_cluster *input)
{
    cluster_release(&input->cluster);
    arena_release(&input->arena);
    arena_release(&input->pods_arena);
}

/* ---- pending pods ---- */
static void make_different(struct arena *arena, struct pod *pod, uint64_t number)
{
    struct container *container = arena_new(arena, struct container);
    struct resource *requests = arena_array(arena, struct resource, 2);
    struct pair *labels = arena_array(arena, struct pair, 2);
    *container = pod->spec.containers.items[0];
    requests[0] = (struct resource){ STR("cpu"), quantity_from_milli(50 + (int64_t)(number * 37 % 101)) };
    requests[1] = (struct resource){ STR("memory"), quantity_from_int((300 << 20) + (int64_t)number * 4096) };
    container->resources.requests = (struct resource_list){ requests, 2 };
    container->resources.limits = (struct resource_list){ 0 };
    pod->spec.containers.items = container;
    labels[0] = (struct pair){ STR("app"), arena_printf(arena, "app-%llu", (unsigned long long)number) };
    if (pod->meta.labels.len)
        labels[1] = pod->meta.labels.items[0];
    pod->meta.labels = (struct str_map){ labels, pod->meta.labels.len + 1 };
}

struct pod *bench_pod(struct bench_cluster *input, struct arena *arena, uint32_t number, bool different)
{
    struct pod *pod = arena_new(arena, struct pod);
    *pod = *input->templates[number % input->kinds];
    pod->meta.name = arena_printf(arena, "measure-%llu", (unsigned long long)input->pods++);
    pod->meta.uid = pod->meta.name;
    if (input->setting->claims)
        claim_volume(arena, pod, number);
    if (different)
        make_different(arena, pod, input->pods % 20000);
    return pod;
}
