/* objects.c: writes random objects; see objects.h. */
#include "property/objects.h"

#include <stdio.h>
#include <stdlib.h>

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"
#define POD_INDEX "apps.kubernetes.io/pod-index" /* unique per pod of a StatefulSet */
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

const char *const namespaces[NAMESPACES] = { "red", "blue", "green" };

void put(struct strbuf *out, const char *format, ...)
{
    size_t from = out->len;
    char text[1024];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(len >= 0 && (size_t)len < sizeof(text));
    strbuf_add(out, text, (size_t)len);
    for (size_t i = from; i < out->len; i++)
        if (out->text[i] == '\'')
            out->text[i] = '"';
}

void comma(struct strbuf *out)
{
    char last = out->len ? out->text[out->len - 1] : '{';
    if (last != '{' && last != '[' && last != ',')
        strbuf_putc(out, ',');
}

static const char *topology_key(struct rng *rng)
{
    return one_of(rng, ZONE, ZONE, ZONE, HOST, HOST, HOST, "rack", "rack", "disk", "nowhere");
}

/* ---- nodes ---- */
static void put_label(struct strbuf *out, const char *key, const char *value)
{
    comma(out);
    put(out, "'%s':'%s'", key, value);
}

static void put_node_labels(struct strbuf *out, struct rng *rng, uint32_t number, uint32_t nodes)
{
    put(out, "'labels':{");
    if (!chance(rng, 4)) { /* two nodes with the same host name, sometimes */
        comma(out);
        put(out, "'" HOST "':'n%u'", chance(rng, 6) ? random_below(rng, nodes) : number);
    }
    if (!chance(rng, 8))
        put_label(out, ZONE, chance(rng, 2) ? "" : one_of(rng, "z1", "z1", "z2", "z2", "z3", "z4"));
    if (chance(rng, 30))
        put_label(out, "topology.kubernetes.io/region", one_of(rng, "west", "east"));
    if (chance(rng, 60))
        put_label(out, "rack", one_of(rng, "r1", "r2", "r3", "r4", "r5", "r6"));
    if (chance(rng, 70))
        put_label(out, "disk", one_of(rng, "ssd", "hdd", "nvme", "1"));
    if (chance(rng, 60))
        put_label(out, "gen", one_of(rng, "1", "2", "7", "10", "x", "-3", ""));
    put(out, "}");
}

static void put_taints(struct strbuf *out, struct rng *rng)
{
    put(out, "'taints':[");
    for (int left = between(rng, 1, 3); left > 0; left--) {
        comma(out);
        put(out, "{'key':'%s','value':'%s','effect':'%s'}", one_of(rng, "dedicated", "flaky", "gpu"),
            one_of(rng, "infra", "batch", ""),
            one_of(rng, "NoSchedule", "PreferNoSchedule", "NoExecute", "PreferNoSchedule"));
    }
    put(out, "]");
}

static void put_images(struct strbuf *out, struct rng *rng)
{
    put(out, ",'images':[");
    for (int left = between(rng, 1, 3); left > 0; left--) {
        comma(out);
        put(out, "{'names':['%s'],'sizeBytes':%s}",
            one_of(rng, "docker.io/library/web:latest", "web:1", "registry.k8s.io/pause:3.10",
                   "db@sha256:0123", "db:2"),
            one_of(rng, "52428800", "1073741824", "700000000", "1", "99999999999"));
    }
    put(out, "]");
}

static void put_allocatable(struct strbuf *out, struct rng *rng)
{
    put(out, "'allocatable':{");
    if (!chance(rng, 3))
        put_label(out, "cpu", one_of(rng, "4", "4", "4", "2", "8", "3900m", "0.5", "1500m"));
    if (!chance(rng, 3))
        put_label(out, "memory",
                  one_of(rng, "8Gi", "8Gi", "4Gi", "16Gi", "7919Mi", "1G", "9007199254740993"));
    put_label(out, "pods", chance(rng, 15) ? one_of(rng, "10", "4", "2", "0") : "110");
    if (chance(rng, 50))
        put_label(out, "ephemeral-storage", one_of(rng, "100Gi", "10Gi", "1500M"));
    if (chance(rng, 35))
        put_label(out, "example.com/gpu", one_of(rng, "1", "2", "4", "8", "0"));
    if (chance(rng, 15))
        put_label(out, "hugepages-2Mi", one_of(rng, "64Mi", "1Gi"));
    if (chance(rng, 10)) /* of a few nodes, which may all leave */
        put_label(out, one_of(rng, "example.com/odd-1", "example.com/odd-2", "example.com/odd-3"),
                  one_of(rng, "1", "3", "0"));
    put(out, "}");
}

void write_node(struct strbuf *out, const struct node_seeds *seeds, uint32_t number, uint32_t nodes,
                bool images)
{
    struct rng rngs[NODE_PARTS];
    for (int part = 0; part < NODE_PARTS; part++)
        rng_seed(&rngs[part], seeds->by_part[part]);
    put(out, "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n%u',", number);
    put_node_labels(out, &rngs[NODE_LABELS], number, nodes);
    put(out, "},'spec':{");
    if (chance(&rngs[NODE_TAINTS], 5))
        put(out, "'unschedulable':true");
    if (chance(&rngs[NODE_TAINTS], 25)) {
        comma(out);
        put_taints(out, &rngs[NODE_TAINTS]);
    }
    put(out, "},'status':{");
    put_allocatable(out, &rngs[NODE_ALLOCATABLE]);
    if (images && chance(&rngs[NODE_IMAGES], 40))
        put_images(out, &rngs[NODE_IMAGES]);
    put(out, "}}");
}

/* ---- selectors ---- */
static const char *any_app(struct rng *rng)
{
    return one_of(rng, "a", "b", "c", "d");
}

/* `app` may be NULL. */
static void put_pod_labels(struct strbuf *out, struct rng *rng, const char *app)
{
    put(out, "{");
    if (app)
        put_label(out, "app", app);
    if (chance(rng, 40))
        put_label(out, "tier", one_of(rng, "front", "back"));
    if (chance(rng, 30))
        put_label(out, "version", one_of(rng, "1", "2"));
    put(out, "}");
}

static void put_requirement(struct strbuf *out, struct rng *rng, const char *key, bool of_nodes)
{
    const char *op = of_nodes ? one_of(rng, "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
                              : one_of(rng, "In", "In", "NotIn", "Exists", "DoesNotExist");
    bool bound = op[1] == 't', listed = op[1] == 'n' || op[0] == 'N';
    comma(out);
    put(out, "{'key':'%s','operator':'%s'", key, op);
    if (bound)
        put(out, ",'values':['%d']", between(rng, -4, 10));
    if (listed && of_nodes)
        put(out, ",'values':['%s','%s']", one_of(rng, "z1", "z2", "ssd", "r1", "r2", "1", "7"),
            one_of(rng, "z3", "hdd", "nvme", "r3", "10", "x", "n1"));
    if (listed && !of_nodes)
        put(out, ",'values':['%s','%s']", one_of(rng, "a", "b", "front", "1", "x"),
            one_of(rng, "c", "d", "back", "2", "y"));
    put(out, "}");
}

/* `own` is the app of the selecting pod: most selectors match their own app. */
static void put_label_selector(struct strbuf *out, struct rng *rng, const char *own)
{
    put(out, "{");
    if (chance(rng, 70)) {
        put(out, "'matchLabels':{");
        put_label(out, "app", own && chance(rng, 60) ? own : any_app(rng));
        if (chance(rng, 20))
            put_label(out, "tier", one_of(rng, "front", "back"));
        put(out, "}");
    }
    if (chance(rng, 35)) {
        comma(out);
        put(out, "'matchExpressions':[");
        for (int left = between(rng, 1, 2); left > 0; left--)
            put_requirement(
                out, rng, chance(rng, 2) ? POD_INDEX : one_of(rng, "app", "tier", "version", "none"), false);
        put(out, "]");
    }
    put(out, "}");
}

static void put_node_term(struct strbuf *out, struct rng *rng)
{
    put(out, "{");
    if (!chance(rng, 10)) {
        put(out, "'matchExpressions':[");
        for (int left = between(rng, 1, 2); left > 0; left--)
            put_requirement(out, rng, one_of(rng, ZONE, "disk", "gen", "rack", HOST, "nowhere"), true);
        put(out, "]");
    }
    if (chance(rng, 10)) {
        comma(out);
        put(out, "'matchFields':[{'key':'metadata.name','operator':'%s','values':['n%u']}]",
            one_of(rng, "NotIn", "NotIn", "NotIn", "In"), random_below(rng, 12));
    }
    put(out, "}");
}

static void put_node_affinity(struct strbuf *out, struct rng *rng)
{
    bool required = chance(rng, 60);
    put(out, "{");
    if (required) {
        put(out, "'" REQUIRED "':{'nodeSelectorTerms':[");
        for (int left = between(rng, 1, 3); left > 0; left--) {
            comma(out);
            put_node_term(out, rng);
        }
        put(out, "]}");
    }
    if (!required || chance(rng, 40)) {
        comma(out);
        put(out, "'" PREFERRED "':[");
        for (int left = between(rng, 1, 3); left > 0; left--) {
            comma(out);
            put(out, "{'weight':%d,'preference':", between(rng, 1, 100));
            put_node_term(out, rng);
            put(out, "}");
        }
        put(out, "]");
    }
    put(out, "}");
}

/* Namespaces by name, by labels, or all of them (an empty selector); none: the pod's own. */
static void put_namespaces(struct strbuf *out, struct rng *rng)
{
    if (chance(rng, 20))
        put(out, ",'namespaces':['%s','%s']", namespaces[random_below(rng, NAMESPACES)],
            namespaces[random_below(rng, NAMESPACES)]);
    if (!chance(rng, 25))
        return;
    put(out, ",'namespaceSelector':{");
    if (chance(rng, 75)) {
        bool listed = chance(rng, 50);
        put(out, "'matchExpressions':[{'key':'%s','operator':'%s'", one_of(rng, "team", "team", "nobody"),
            listed ? one_of(rng, "In", "NotIn") : one_of(rng, "Exists", "DoesNotExist"));
        put(out, "%s}]", listed ? ",'values':['x','z']" : "");
    }
    put(out, "}");
}

static void put_pod_term(struct strbuf *out, struct rng *rng, const char *own)
{
    put(out, "{'topologyKey':'%s'", topology_key(rng));
    if (!chance(rng, 4)) {
        put(out, ",'labelSelector':");
        put_label_selector(out, rng, own);
    }
    put_namespaces(out, rng);
    put(out, "}");
}

static void put_pod_affinity(struct strbuf *out, struct rng *rng, const char *own)
{
    bool required = chance(rng, 35);
    put(out, "{");
    if (required) {
        put(out, "'" REQUIRED "':[");
        for (int left = chance(rng, 75) ? 1 : 2; left > 0; left--) {
            comma(out);
            put_pod_term(out, rng, own);
        }
        put(out, "]");
    }
    if (!required || chance(rng, 30)) {
        comma(out);
        put(out, "'" PREFERRED "':[");
        for (int left = between(rng, 1, 2); left > 0; left--) {
            comma(out);
            put(out, "{'weight':%d,'podAffinityTerm':", between(rng, 1, 100));
            put_pod_term(out, rng, own);
            put(out, "}");
        }
        put(out, "]");
    }
    put(out, "}");
}

/* ---- pods ---- */
static void put_affinity(struct strbuf *out, struct rng *rng, const char *own)
{
    uint32_t parts = 1 + random_below(rng, 7);
    if (!chance(rng, 45))
        return;
    put(out, ",'affinity':{");
    if (parts & 1) {
        put(out, "'nodeAffinity':");
        put_node_affinity(out, rng);
    }
    if (parts & 2) {
        comma(out);
        put(out, "'podAffinity':");
        put_pod_affinity(out, rng, own);
    }
    if (parts & 4) {
        comma(out);
        put(out, "'podAntiAffinity':");
        put_pod_affinity(out, rng, own);
    }
    put(out, "}");
}

static void put_constraint(struct strbuf *out, struct rng *rng, const char *own, const char *key,
                           const char *when)
{
    comma(out);
    put(out, "{'maxSkew':%d,'topologyKey':'%s','whenUnsatisfiable':'%s'", between(rng, 1, 4), key, when);
    if (!chance(rng, 4)) {
        put(out, ",'labelSelector':");
        put_label_selector(out, rng, own);
        if (chance(rng, 15))
            put(out, ",'matchLabelKeys':['version','absent']");
    }
    if (when[0] == 'D' && chance(rng, 30))
        put(out, ",'minDomains':%d", between(rng, 1, 5));
    if (chance(rng, 25))
        put(out, ",'nodeAffinityPolicy':'%s'", one_of(rng, "Honor", "Ignore"));
    if (chance(rng, 25))
        put(out, ",'nodeTaintsPolicy':'%s'", one_of(rng, "Honor", "Ignore"));
    put(out, "}");
}

/* A key appears once per whenUnsatisfiable, as the API server requires. */
static void put_spread(struct strbuf *out, struct rng *rng, const char *own)
{
    static const char *const keys[] = { ZONE, HOST, "rack", "disk" };
    if (!chance(rng, 40))
        return;
    put(out, ",'topologySpreadConstraints':[");
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (chance(rng, 25))
            put_constraint(out, rng, own, keys[i], "DoNotSchedule");
        if (chance(rng, 30))
            put_constraint(out, rng, own, keys[i], "ScheduleAnyway");
    }
    put(out, "]");
}

static void put_requests(struct strbuf *out, struct rng *rng)
{
    put(out, "'resources':{'requests':{");
    if (chance(rng, 75))
        put_label(out, "cpu", one_of(rng, "100m", "100m", "100m", "250m", "333m", "1", "0", "1m", "2500m"));
    if (chance(rng, 75))
        put_label(out, "memory",
                  one_of(rng, "64Mi", "64Mi", "500Mi", "500Mi", "1Gi", "100M", "0", "1", "3Gi"));
    if (chance(rng, 10))
        put_label(out, "ephemeral-storage", one_of(rng, "1Gi", "2G", "0"));
    if (chance(rng, 12))
        put_label(out, "example.com/gpu", one_of(rng, "1", "1", "1", "2", "0", "0", "20"));
    if (chance(rng, 4))
        put_label(out, "hugepages-2Mi", one_of(rng, "2Mi", "32Mi"));
    if (chance(rng, 1))
        put_label(out, "example.com/unknown", "1");
    if (chance(rng, 4))
        put_label(out, one_of(rng, "example.com/odd-1", "example.com/odd-2", "example.com/odd-4"),
                  one_of(rng, "1", "2", "0"));
    put(out, "}}");
}

static void put_container(struct strbuf *out, struct rng *rng, const char *name, bool is_init)
{
    comma(out);
    put(out, "{'name':'%s','image':'%s',", name,
        one_of(rng, "web", "web:1", "registry.k8s.io/pause:3.10", "db@sha256:0123", "none:1"));
    put_requests(out, rng);
    if (is_init && chance(rng, 40))
        put(out, ",'restartPolicy':'Always'");
    if (chance(rng, 15)) {
        put(out, ",'ports':[{'containerPort':80,'hostPort':%d,'protocol':'%s'", between(rng, 8080, 8082),
            one_of(rng, "TCP", "TCP", "UDP"));
        if (chance(rng, 30))
            put(out, ",'hostIP':'%s'", one_of(rng, "10.0.0.1", "0.0.0.0", "10.0.0.2"));
        put(out, "}]");
    }
    put(out, "}");
}

static void put_tolerations(struct strbuf *out, struct rng *rng)
{
    if (!chance(rng, 35))
        return;
    put(out, ",'tolerations':[");
    for (int left = between(rng, 1, 2); left > 0; left--) {
        comma(out);
        if (chance(rng, 12)) {
            put(out, "{'operator':'Exists'}");
            continue;
        }
        bool exists = chance(rng, 40);
        put(out, "{'key':'%s','operator':'%s'",
            one_of(rng, "dedicated", "flaky", "gpu", "node.kubernetes.io/unschedulable"),
            exists ? "Exists" : "Equal");
        if (!exists)
            put(out, ",'value':'%s'", one_of(rng, "infra", "batch", ""));
        if (chance(rng, 60))
            put(out, ",'effect':'%s'", one_of(rng, "NoSchedule", "PreferNoSchedule", "NoExecute"));
        put(out, "}");
    }
    put(out, "]");
}

static void put_light_volumes(struct strbuf *out, struct rng *rng)
{
    if (chance(rng, 10))
        put(out, ",'volumes':[{'name':'scratch','emptyDir':{}}%s]",
            chance(rng, 30) ? ",{'name':'data','image':{'reference':'db:2'}}" : "");
}

static void put_spec(struct strbuf *out, struct rng *rng, const char *own, uint32_t profiles,
                     bool has_volumes)
{
    put(out, "'schedulerName':'%s','containers':[", scheduler_names[random_below(rng, profiles)]);
    put_container(out, rng, "one", false);
    if (chance(rng, 15))
        put_container(out, rng, "two", false);
    put(out, "]");
    if (chance(rng, 12)) {
        put(out, ",'initContainers':[");
        put_container(out, rng, "first", true);
        put(out, "]");
    }
    if (chance(rng, 5))
        put(out, ",'overhead':{'cpu':'50m','memory':'10Mi'}");
    if (chance(rng, 3))
        put(out, ",'hostNetwork':true,'hostUsers':false");
    if (chance(rng, 15))
        put(out, ",'nodeSelector':{'disk':'%s'}", one_of(rng, "ssd", "hdd"));
    put_tolerations(out, rng);
    put_affinity(out, rng, own);
    put_spread(out, rng, own);
    if (!has_volumes)
        put_light_volumes(out, rng);
}

void template_init(struct template *template, struct rng *rng, uint32_t profiles, uint32_t volumes_percent)
{
    bool has_volumes = chance(rng, volumes_percent);
    struct strbuf labels = { 0 }, spec = { 0 };
    const char *app = chance(rng, 5) ? NULL : any_app(rng);
    put_pod_labels(&labels, rng, app);
    put_spec(&spec, rng, app, profiles, has_volumes);
    *template = (struct template){
        .labels = labels.text,
        .spec = spec.text,
        .namespace = namespaces[chance(rng, 60) ? 0 : random_below(rng, NAMESPACES)],
        .owner = chance(rng, 50) ? (int)random_below(rng, SETS) : -1,
        .rare = chance(rng, 30),
        .volumes_seed = has_volumes ? rng_next(rng) | 1 : 0,
    };
}

void template_release(struct template *template)
{
    free(template->labels);
    free(template->spec);
}

static const char *const owner_kinds[] = { "ReplicaSet", "StatefulSet", "ReplicationController" };
enum { STATEFUL_SET = 1 };

void write_pod(struct strbuf *out, const struct template *template, const struct pod_text *pod)
{
    put(out, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p%u','uid':'uid-%u','namespace':'%s'",
        pod->number, pod->number, template->namespace);
    if (pod->terminating)
        put(out, ",'deletionTimestamp':'2026-01-01T00:00:00Z'");
    if (template->owner >= 0)
        put(out, ",'ownerReferences':[{'apiVersion':'%s','kind':'%s','name':'set-%d','controller':true}]",
            template->owner == 2 ? "v1" : "apps/v1", owner_kinds[template->owner], template->owner);
    put(out, ",'labels':");
    strbuf_puts(out, template->labels);
    if (pod->unique || template->owner == STATEFUL_SET) {
        out->len--; /* the labels' brace */
        comma(out);
        put(out, "'%s':'%u'}", pod->unique ? "id" : POD_INDEX, pod->number);
    }
    put(out, "},'spec':{'priority':%d,", pod->priority);
    if (pod->node)
        put(out, "'nodeName':'%s',", pod->node);
    strbuf_puts(out, template->spec);
    if (template->volumes_seed)
        put_volumes(out, template->volumes_seed, pod->number);
    put(out, "},'status':{");
    if (pod->nominated)
        put(out, "'nominatedNodeName':'%s'", pod->nominated);
    put(out, "}}");
}

/* ---- other objects ---- */
void write_namespace(struct strbuf *out, struct rng *rng, uint32_t number)
{
    put(out, "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s','labels':{", namespaces[number]);
    if (chance(rng, 70))
        put_label(out, "team", one_of(rng, "x", "y", "z"));
    put(out, "}}}");
}

void write_controller(struct strbuf *out, struct rng *rng, uint32_t number)
{
    const char *namespace = namespaces[chance(rng, 60) ? 0 : random_below(rng, NAMESPACES)];
    uint32_t kind = random_below(rng, 4);
    if (kind == 3) {
        put(out,
            "{'apiVersion':'v1','kind':'Service','metadata':{'name':'service-%u','namespace':'%s'},'spec':{",
            number, namespace);
        if (chance(rng, 5)) {
            put(out, "'selector':{'" POD_INDEX "':'%u'}", random_below(rng, 50));
        } else if (!chance(rng, 10)) {
            put(out, "'selector':");
            put_pod_labels(out, rng, any_app(rng));
        }
        put(out, "}}");
        return;
    }
    put(out,
        "{'apiVersion':'%s','kind':'%s','metadata':{'name':'set-%u','namespace':'%s'},'spec':{'selector':",
        kind == 2 ? "v1" : "apps/v1", owner_kinds[kind], kind, namespace);
    if (kind == 2)
        put_pod_labels(out, rng, any_app(rng));
    else
        put_label_selector(out, rng, NULL);
    put(out, "}}");
}
