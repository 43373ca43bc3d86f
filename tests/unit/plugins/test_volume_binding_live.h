/* test_volume_binding_live.h: VolumeBinding with an API server that the test controls. Each object has its own
 * memory, which is freed when the object is replaced or removed: the sanitizer reports pointers that were kept. */
#ifndef UNIT_PLUGINS_TEST_VOLUME_BINDING_LIVE_H
#define UNIT_PLUGINS_TEST_VOLUME_BINDING_LIVE_H

#include "support/fixture.h"

#include "cluster/volumes.h"
#include "plugins/volume_binding/args.h"

extern const struct plugin plugin_volume_binding;

enum { SECOND = 1000000000 };

#define NODE(name, zone) "{kind: Node, metadata: {name: " name ", labels: {zone: " zone "}}}"
#define CLASS(name, provisioner) \
    "{kind: StorageClass, metadata: {name: " name "}, provisioner: " provisioner \
    ", volumeBindingMode: WaitForFirstConsumer}"
#define PV(name, version, more) \
    "{kind: PersistentVolume, metadata: {name: " name ", uid: uid-" name ", resourceVersion: '" version \
    "'}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}" more \
    "}, status: {phase: Available}}"
#define HELD(claim) ", claimRef: {namespace: default, name: " claim ", uid: uid-" claim "}"
#define IN_ZONE(zone) \
    ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: " \
    "[" zone "]}]}]}}"
#define PVC(name, class, version, annotations, more) \
    "{kind: PersistentVolumeClaim, metadata: {name: " name ", namespace: default, uid: uid-" name \
    ", resourceVersion: '" version "', annotations: {" annotations \
    "}}, spec: {storageClassName: " class ", accessModes: [ReadWriteOnce], resources: {requests: {storage: " \
                                          "1Gi}}" more "}}"
#define SELECTED(node) "volume.kubernetes.io/selected-node: " node
#define BOUND "pv.kubernetes.io/bind-completed: 'yes'"
#define POD(name, claims) \
    "{kind: Pod, metadata: {name: " name ", uid: uid-" name "}, spec: {volumes: [" claims "]}}"
#define CLAIM(name) "{name: v-" name ", persistentVolumeClaim: {claimName: " name "}}"

/* ---- objects with memory of their own ---- */
struct owned {
    enum api_kind kind;
    const struct meta *meta;
    struct arena arena;
};

enum { WRITES_MAX = 8 };

/* The writes of one cycle, which the test answers. */
struct host {
    struct cycle_writer writer;
    struct effect sent[WRITES_MAX];
    struct answer answers[WRITES_MAX];
    uint32_t writes;
};

struct live {
    struct fixture f; /* first member: the fixture's hook gets a pointer to it */
    VEC(struct owned) objects;
    enum api_kind kind; /* of the last object */
    const struct meta *meta;
    struct host host;
    struct volume_binding_args args;
};

static inline void add(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct live *live = (struct live *)f;
    live->kind = kind;
    live->meta = object;
    if (kind == KIND_NODE)
        cluster_set_node(&f->cluster, (const struct node *)object);
    else if (kind == KIND_POD)
        f->last_pod = cluster_add_pod(&f->cluster, (const struct pod *)object);
    else
        assert_true(cluster_set_object(&f->cluster, kind, object, object));
}

static inline size_t owned_find(const struct live *live, enum api_kind kind, struct str namespace,
                                struct str name)
{
    size_t i = 0;
    while (i < live->objects.len &&
           (live->objects.items[i].kind != kind || !str_eq(live->objects.items[i].meta->name, name) ||
            !str_eq(live->objects.items[i].meta->namespace, namespace)))
        i++;
    return i;
}

/* Adds an object; its previous version is freed. */
static inline void put(struct live *live, const char *yaml)
{
    struct arena cycles = live->f.arena;
    live->f.arena = (struct arena){ 0 };
    fixture_load(&live->f, yaml);
    size_t at = owned_find(live, live->kind, live->meta->namespace, live->meta->name);
    if (at == live->objects.len)
        *vec_push(&live->objects) = (struct owned){ 0 };
    arena_release(&live->objects.items[at].arena);
    live->objects.items[at] = (struct owned){ live->kind, live->meta, live->f.arena };
    live->f.arena = cycles;
}

static inline void drop(struct live *live, enum api_kind kind, const char *namespace, const char *name)
{
    size_t at = owned_find(live, kind, str_from(namespace), str_from(name));
    if (at == live->objects.len)
        return;
    if (kind == KIND_NODE)
        cluster_remove_node(&live->f.cluster, str_from(name));
    else
        cluster_remove_object(&live->f.cluster, kind, str_from(namespace), str_from(name));
    arena_release(&live->objects.items[at].arena);
    vec_swap_remove(&live->objects, at);
}

static inline const struct answer *write_later(struct cycle_writer *writer, const struct effect *effect)
{
    struct host *host = container_of(writer, struct host, writer);
    assert_true(host->writes < WRITES_MAX);
    host->sent[host->writes] = *effect;
    host->answers[host->writes] = (struct answer){ .kind = ANSWER_PENDING };
    return &host->answers[host->writes++];
}

static inline void answer(struct live *live, uint32_t write, enum answer_kind kind, const char *version)
{
    assert_true(write < live->host.writes);
    live->host.answers[write] = (struct answer){ .kind = kind, .resource_version = str_from(version) };
}

static inline void live_init(struct live *live)
{
    memset(live, 0, sizeof(*live));
    live->args.bind_timeout_seconds = 600;
    struct volume_binding_args *args = &live->args;
    FIXTURE(&live->f, args, &plugin_volume_binding);
    live->f.add = add;
    live->host.writer.write = write_later;
    put(live, NODE("a", "z1"));
    put(live, NODE("b", "z2"));
    put(live, CLASS("local", "kubernetes.io/no-provisioner"));
    put(live, CLASS("late", "csi.example.com"));
}

static inline void live_release(struct live *live)
{
    fixture_release(&live->f);
    vec_for(&live->objects, object)
        arena_release(&object->arena);
    vec_release(&live->objects);
}

static inline void reserve(struct live *live, const char *pod)
{
    fixture_cycle(&live->f, pod);
    live->f.cycle.writer = &live->host.writer;
    live->f.cycle.now_ns = SECOND;
    assert_status(fixture_filter(&live->f, "a"), STATUS_SUCCESS, "");
    assert_status(run_reserve(&live->f.cycle, fixture_row(&live->f, "a")), STATUS_SUCCESS, "");
}

static inline struct status pre_bind(struct live *live)
{
    struct cycle *cycle = &live->f.cycle;
    cycle->current = &live->f.profile.plugins[0];
    cycle->wake_ns = 0;
    return plugin_volume_binding.pre_bind(cycle, fixture_row(&live->f, "a"));
}

static inline struct status pre_flight(struct live *live)
{
    live->f.cycle.current = &live->f.profile.plugins[0];
    return plugin_volume_binding.pre_bind_pre_flight(&live->f.cycle, fixture_row(&live->f, "a"));
}

static inline void unreserve(struct live *live)
{
    live->f.cycle.current = &live->f.profile.plugins[0];
    plugin_volume_binding.unreserve(&live->f.cycle, 0);
}

/* The claim of a volume and the selected node of a claim, as the scheduler sees them. */
static inline const struct object_ref *holder(struct live *live, const char *volume)
{
    const struct pv *pv = cluster_get(&live->f.cluster.pvs, (struct str){ 0 }, str_from(volume));
    return volumes_claim_ref(volumes_get(&live->f.cluster, 0), pv);
}

static inline const struct str *selected(struct live *live, const char *claim)
{
    const struct pvc *pvc = cluster_get(&live->f.cluster.pvcs, STR("default"), str_from(claim));
    return volumes_selected_node(volumes_get(&live->f.cluster, 0), pvc);
}

#endif
