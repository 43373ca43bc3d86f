/* volumes.c: random volumes, claims and other storage objects; see objects.h.
 *
 * Each namespace has claims c0 to c11. The first eight have a volume of their own that may be bound to them; all other
 * volumes are available to unbound claims. */
#include "property/objects.h"

#define ZONE "topology.kubernetes.io/zone"
#define HOST "kubernetes.io/hostname"

enum { CLAIMS = 12, PAIRS = 8, FREE_VOLUMES = 12, CAPACITIES = 6, ATTACHMENTS = 8 };

static const char *const class_names[] = { "wait", "local", "now", "late" };
static const char *const driver_names[] = { "csi.example", "pd.csi.storage.gke.io" };

uint32_t storage_count(enum storage_kind kind, uint32_t nodes)
{
    const uint32_t counts[] = {
        [STORAGE_CLASS] = ARRAY_SIZE(class_names),
        [STORAGE_DRIVER] = ARRAY_SIZE(driver_names),
        [STORAGE_CAPACITY] = CAPACITIES,
        [STORAGE_ATTACHMENT] = ATTACHMENTS,
        [STORAGE_NODE] = nodes,
        [STORAGE_VOLUME] = NAMESPACES * PAIRS + FREE_VOLUMES,
        [STORAGE_CLAIM] = NAMESPACES * CLAIMS,
    };
    return counts[kind];
}

/* ---- the volumes of a pod ---- */
static void put_claim(struct strbuf *out, const char *volume, uint32_t number)
{
    comma(out);
    put(out, "{'name':'%s','persistentVolumeClaim':{'claimName':'c%u'}}", volume, number);
}

static void put_disk(struct strbuf *out, struct rng *rng)
{
    comma(out);
    if (chance(rng, 40))
        put(out, "{'name':'disk','gcePersistentDisk':{'pdName':'pd%u','readOnly':%s}}", random_below(rng, 3),
            one_of(rng, "true", "false"));
    else if (chance(rng, 50))
        put(out, "{'name':'disk','awsElasticBlockStore':{'volumeID':'ebs%u'}}", random_below(rng, 3));
    else
        put(out, "{'name':'disk','csi':{'driver':'csi.example'}}");
}

void put_volumes(struct strbuf *out, uint64_t seed, uint32_t pod)
{
    struct rng rng;
    rng_seed(&rng, seed);
    put(out, ",'volumes':[");
    if (chance(&rng, 70)) /* its own claim, as in a StatefulSet */
        put_claim(out, "data", pod % CLAIMS);
    if (chance(&rng, 25)) /* a claim that all pods share */
        put_claim(out, "shared", random_below(&rng, CLAIMS));
    if (chance(&rng, 20))
        put_claim(out, "more", (pod + 5) % CLAIMS);
    if (chance(&rng, 20))
        put_disk(out, &rng);
    if (chance(&rng, 3))
        put_claim(out, "none", CLAIMS);
    if (chance(&rng, 3)) {
        comma(out);
        put(out, "{'name':'scratch','ephemeral':{'volumeClaimTemplate':{'spec':{}}}}");
    }
    put(out, "]");
}

/* ---- objects ---- */
static void begin(struct strbuf *out, const char *version, const char *kind, const char *name)
{
    put(out, "{'apiVersion':'%s','kind':'%s','metadata':{'name':'%s'", version, kind, name);
}

/* The class with WaitForFirstConsumer sometimes has allowedTopologies. */
static void write_class(struct strbuf *out, struct rng *rng, uint32_t number)
{
    begin(out, "storage.k8s.io/v1", "StorageClass", class_names[number]);
    put(out, "},'provisioner':'%s','volumeBindingMode':'%s'",
        number == 1 ? "kubernetes.io/no-provisioner" : "csi.example",
        number == 2 ? "Immediate" : "WaitForFirstConsumer");
    if (chance(rng, 30))
        put(out, ",'allowedTopologies':[{'matchLabelExpressions':[{'key':'%s','values':['%s','%s']}]}]", ZONE,
            one_of(rng, "z1", "z2"), one_of(rng, "z2", "z3"));
    put(out, "}");
}

static void write_driver(struct strbuf *out, struct rng *rng, uint32_t number)
{
    begin(out, "storage.k8s.io/v1", "CSIDriver", driver_names[number]);
    put(out, "},'spec':{'attachRequired':true,'storageCapacity':%s}}", one_of(rng, "true", "false", "false"));
}

static void write_capacity(struct strbuf *out, struct rng *rng, uint32_t number)
{
    put(out,
        "{'apiVersion':'storage.k8s.io/v1','kind':'CSIStorageCapacity','metadata':{'name':'cap%u','namespace'"
        ":'red'},'storageClassName':'%s','capacity':'%s'",
        number, one_of(rng, "wait", "wait", "late"), one_of(rng, "100Gi", "5Gi", "0", "1Gi"));
    if (!chance(rng, 10))
        put(out, ",'nodeTopology':{'matchLabels':{'%s':'%s'}}", ZONE, one_of(rng, "z1", "z2", "z3", "z4"));
    if (chance(rng, 20))
        put(out, ",'maximumVolumeSize':'%s'", one_of(rng, "2Gi", "50Gi"));
    put(out, "}");
}

static void write_attachment(struct strbuf *out, struct rng *rng, uint32_t number, uint32_t nodes)
{
    put(out,
        "{'apiVersion':'storage.k8s.io/v1','kind':'VolumeAttachment','metadata':{'name':'va%u'},'spec':{"
        "'attacher':'csi.example','nodeName':'n%u','source':{'persistentVolumeName':'pv%u'}},'status':{"
        "'attached':true}}",
        number, random_below(rng, nodes), random_below(rng, storage_count(STORAGE_VOLUME, nodes)));
}

static void write_csi_node(struct strbuf *out, struct rng *rng, uint32_t number)
{
    put(out, "{'apiVersion':'storage.k8s.io/v1','kind':'CSINode','metadata':{'name':'n%u'", number);
    if (chance(rng, 40))
        put(out, ",'annotations':{'storage.alpha.kubernetes.io/migrated-plugins':'%s'}",
            one_of(rng, "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs,kubernetes.io/gce-pd", ""));
    put(out, "},'spec':{'drivers':[");
    for (size_t i = 0; i < ARRAY_SIZE(driver_names); i++) {
        if (!chance(rng, 70))
            continue;
        comma(out);
        put(out, "{'name':'%s','nodeID':'n%u'", driver_names[i], number);
        if (chance(rng, 60))
            put(out, ",'allocatable':{'count':%s}", one_of(rng, "0", "1", "2", "3", "30", "30", "30"));
        put(out, "}");
    }
    put(out, "]}}");
}

static void put_source(struct strbuf *out, struct rng *rng, uint32_t number)
{
    switch (random_below(rng, 6)) {
    case 0:
        put(out, ",'local':{'path':'/mnt/%u'}", number);
        break;
    case 1:
        put(out, ",'gcePersistentDisk':{'pdName':'pd%u'}", number);
        break;
    default:
        put(out, ",'csi':{'driver':'%s','volumeHandle':'h%u'}", driver_names[chance(rng, 20)], number);
    }
}

static void write_volume(struct strbuf *out, struct rng *rng, uint32_t number, uint32_t nodes)
{
    bool paired = number < NAMESPACES * PAIRS;
    put(out, "{'apiVersion':'v1','kind':'PersistentVolume','metadata':{'name':'pv%u','uid':'pv%u'", number,
        number);
    if (chance(rng, 25))
        put(out, ",'labels':{'%s':'%s'}", one_of(rng, ZONE, "failure-domain.beta.kubernetes.io/zone"),
            one_of(rng, "z1", "z2", "z1__z2", "z3"));
    put(out,
        "},'spec':{'capacity':{'storage':'%s'},'accessModes':['ReadWriteOnce','%s'],"
        "'storageClassName':'%s'",
        one_of(rng, "1Gi", "5Gi", "10Gi"), one_of(rng, "ReadOnlyMany", "ReadWriteOncePod"),
        one_of(rng, "local", "local", "local", "wait", "now", ""));
    put_source(out, rng, number);
    if (paired && !chance(rng, 10))
        put(out, ",'claimRef':{'namespace':'%s','name':'c%u','uid':'%s-c%u'}", namespaces[number / PAIRS],
            number % PAIRS, namespaces[number / PAIRS], number % PAIRS);
    if (chance(rng, 40)) {
        put(out, ",'nodeAffinity':{'required':{'nodeSelectorTerms':[{'matchExpressions':[{'key':'");
        if (chance(rng, 60))
            put(out, ZONE "','operator':'In','values':['%s','%s']", one_of(rng, "z1", "z2", "z3"),
                one_of(rng, "z1", "z2", "z4"));
        else
            put(out, HOST "','operator':'%s','values':['n%u']", one_of(rng, "In", "NotIn"),
                random_below(rng, nodes));
        put(out, "}]}]}}");
    }
    put(out, "},'status':{'phase':'%s'}}", paired ? "Bound" : "Available");
}

/* Mostly usable: bound, or waiting for its first consumer. */
static void write_claim(struct strbuf *out, struct rng *rng, uint32_t number, uint32_t nodes)
{
    const char *namespace = namespaces[number / CLAIMS];
    uint32_t own = number % CLAIMS, volume = number / CLAIMS * PAIRS + own;
    bool bound = own < PAIRS && chance(rng, 70), completed = chance(rng, 95);
    put(out,
        "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c%u','namespace':'%s','uid':"
        "'%s-c%u','annotations':{",
        own, namespace, namespace, own);
    if (bound && completed)
        put(out, "'pv.kubernetes.io/bind-completed':'yes'");
    if (!bound && chance(rng, 5))
        put(out, "'volume.kubernetes.io/selected-node':'n%u'", random_below(rng, nodes));
    put(out, "}");
    if (chance(rng, 2))
        put(out, ",'deletionTimestamp':'2026-01-01T00:00:00Z'");
    put(out, "},'spec':{'accessModes':['%s'],'resources':{'requests':{'storage':'%s'}}",
        one_of(rng, "ReadWriteOnce", "ReadWriteOnce", "ReadWriteOncePod"), one_of(rng, "1Gi", "2Gi", "6Gi"));
    if (!chance(rng, 3))
        put(out, ",'storageClassName':'%s'",
            bound ? "local"
                  : one_of(rng, "wait", "wait", "wait", "wait", "local", "local", "late", "now", "gone"));
    if (bound)
        put(out, ",'volumeName':'pv%u'", volume);
    put(out, "},'status':{'phase':'%s'}}", chance(rng, 2) ? "Lost" : bound ? "Bound" : "Pending");
}

void write_storage(struct strbuf *out, struct rng *rng, enum storage_kind kind, uint32_t number,
                   uint32_t nodes)
{
    switch (kind) {
    case STORAGE_CLASS:
        write_class(out, rng, number);
        break;
    case STORAGE_DRIVER:
        write_driver(out, rng, number);
        break;
    case STORAGE_CAPACITY:
        write_capacity(out, rng, number);
        break;
    case STORAGE_ATTACHMENT:
        write_attachment(out, rng, number, nodes);
        break;
    case STORAGE_NODE:
        write_csi_node(out, rng, number);
        break;
    case STORAGE_VOLUME:
        write_volume(out, rng, number, nodes);
        break;
    default:
        write_claim(out, rng, number, nodes);
    }
}
