/* VolumeBinding: which nodes a pod's claims allow, what a reservation hides from the next pod, and what undoing it
 * releases. */
#include "support/fixture.h"

#include "cluster/volumes.h"
#include "plugins/volume_binding/args.h"

extern const struct plugin plugin_volume_binding;

#define NODES \
    "{kind: Node, metadata: {name: a, labels: {zone: z1}}}\n---\n" \
    "{kind: Node, metadata: {name: b, labels: {zone: z2}}}\n---\n"
#define CLASS(name, provisioner, mode, more) \
    "{kind: StorageClass, metadata: {name: " name "}, provisioner: " provisioner \
    ", volumeBindingMode: " mode more "}\n---\n"
#define LOCAL CLASS("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "")
#define LATE CLASS("late", "csi.example.com", "WaitForFirstConsumer", "")
#define IN_ZONE(zone) \
    ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: " \
    "[" zone "]}]}]}}"
#define PV(name, size, more) \
    "{kind: PersistentVolume, metadata: {name: " name \
    ", resourceVersion: '1'}, spec: {storageClassName: local, " \
    "accessModes: [ReadWriteOnce], capacity: {storage: " size "}, local: {path: /x}" more \
    "}, status: {phase: Available}}\n---\n"
#define PVC(name, class, size, meta, more) \
    "{kind: PersistentVolumeClaim, metadata: {name: " name ", namespace: default, uid: uid-" name \
    ", resourceVersion: '1'" meta \
    "}, spec: {storageClassName: " class ", accessModes: [ReadWriteOnce], resources: {requests: " \
                                         "{storage: " size "}}" more "}}\n---\n"
#define BOUND ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}"
#define POD(name, claim) \
    "{kind: Pod, metadata: {name: " name ", uid: uid-" name \
    "}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: " claim "}}]}}"

#define NO_MATCH "node(s) didn't find available persistent volumes to bind"
#define MISMATCH "node(s) didn't match PersistentVolume's node affinity"
#define NO_SPACE "node(s) did not have enough free storage"
#define GONE "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
#define TRACKED \
    "{kind: CSIDriver, metadata: {name: csi.example.com}, spec: {storageCapacity: true}}\n---\n" \
    "{kind: CSIStorageCapacity, metadata: {name: pool, namespace: x}, storageClassName: late, capacity: " \
    "5Gi, " \
    "nodeTopology: {matchLabels: {zone: z1}}}\n---\n"

struct filter_case {
    const char *name, *objects, *pod;
    enum status_code code;
    const char *a, *b; /* reasons on the two nodes; "" is fine */
};

static const struct filter_case filter_cases[] = {
    { "no claim", "", "{kind: Pod, metadata: {name: p}}", STATUS_SKIP, "", "" },
    { "missing claim", "", POD("p", "c"), STATUS_UNRESOLVABLE, "persistentvolumeclaim \"c\" not found",
      NULL },
    { "ephemeral claim is still to come", "",
      "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, ephemeral: {}}]}}", STATUS_UNRESOLVABLE,
      "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-v\"", NULL },
    { "ephemeral claim of another pod", LATE PVC("p-v", "late", "1Gi", "", ""),
      "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, ephemeral: {}}]}}", STATUS_UNRESOLVABLE,
      "PVC default/p-v was not created for pod default/p (pod is not owner)", NULL },
    { "terminating claim", LATE PVC("c", "late", "1Gi", ", deletionTimestamp: '2026-01-01T00:00:00Z'", ""),
      POD("p", "c"), STATUS_UNRESOLVABLE, "persistentvolumeclaim \"c\" is being deleted", NULL },
    { "immediate claim is not bound", CLASS("now", "x", "Immediate", "") PVC("c", "now", "1Gi", "", ""),
      POD("p", "c"), STATUS_UNRESOLVABLE, "pod has unbound immediate PersistentVolumeClaims", NULL },
    { "pre-bound claim counts as immediate", LATE PVC("c", "late", "1Gi", "", ", volumeName: x"),
      POD("p", "c"), STATUS_UNRESOLVABLE, "pod has unbound immediate PersistentVolumeClaims", NULL },
    { "bound volume is in one zone",
      PVC("c", "local", "1Gi", BOUND, ", volumeName: v") PV("v", "1Gi", IN_ZONE("z1")), POD("p", "c"),
      STATUS_UNRESOLVABLE, "", MISMATCH },
    { "bound volume is gone", PVC("c", "local", "1Gi", BOUND, ", volumeName: v"), POD("p", "c"),
      STATUS_UNRESOLVABLE, GONE, GONE },
    { "volume to bind is in one zone", LOCAL PVC("c", "local", "1Gi", "", "") PV("v", "1Gi", IN_ZONE("z2")),
      POD("p", "c"), STATUS_UNRESOLVABLE, NO_MATCH, "" },
    { "volume is too small", LOCAL PVC("c", "local", "2Gi", "", "") PV("v", "1Gi", ""), POD("p", "c"),
      STATUS_UNRESOLVABLE, NO_MATCH, NO_MATCH },
    { "volume belongs to another claim",
      LOCAL PVC("c", "local", "1Gi", "", "") PV("v", "1Gi", ", claimRef: {namespace: default, name: other}"),
      POD("p", "c"), STATUS_UNRESOLVABLE, NO_MATCH, NO_MATCH },
    { "the volume that is meant for the claim, or none",
      LOCAL PVC("c", "local", "1Gi", "", "") PV("v", "1Gi", "")
          PV("w", "9Gi", ", claimRef: {namespace: default, name: c}" IN_ZONE("z1")),
      POD("p", "c"), STATUS_UNRESOLVABLE, "", NO_MATCH },
    { "anything can be made", LATE PVC("c", "late", "1Gi", "", ""), POD("p", "c"), STATUS_SUCCESS, "", "" },
    { "the class allows one zone",
      CLASS("late", "x", "WaitForFirstConsumer",
            ", allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [z2]}]}]")
          PVC("c", "late", "1Gi", "", ""),
      POD("p", "c"), STATUS_UNRESOLVABLE, NO_MATCH, "" },
    { "selected node",
      LATE PVC("c", "late", "1Gi", ", annotations: {volume.kubernetes.io/selected-node: b}", ""),
      POD("p", "c"), STATUS_UNRESOLVABLE, NO_MATCH, "" },
    { "space in one zone", LATE TRACKED PVC("c", "late", "5Gi", "", ""), POD("p", "c"), STATUS_UNRESOLVABLE,
      "", NO_SPACE },
    { "space nowhere", LATE TRACKED PVC("c", "late", "6Gi", "", ""), POD("p", "c"), STATUS_UNRESOLVABLE,
      NO_SPACE, NO_SPACE },
};

static void check_filter(const struct filter_case *test)
{
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_volume_binding);
    fixture_load(&f, NODES);
    if (test->objects[0])
        fixture_load(&f, test->objects);
    fixture_cycle(&f, test->pod);
    print_message("%s\n", test->name);
    struct node_names names = { .all = true };
    f.cycle.current = &f.profile.plugins[0];
    struct status status = plugin_volume_binding.pre_filter(&f.cycle, &names);
    assert_true(names.all);
    if (!test->b || test->code == STATUS_SKIP) {
        assert_status(status, test->code, test->a);
    } else {
        assert_status(status, STATUS_SUCCESS, "");
        const char *const wants[] = { test->a, test->b }, *const nodes[] = { "a", "b" };
        for (size_t i = 0; i < 2; i++) {
            enum status_code code = wants[i][0] ? test->code : STATUS_SUCCESS;
            assert_status(plugin_volume_binding.filter(&f.cycle, fixture_view(&f, nodes[i])), code, wants[i]);
        }
    }
    fixture_release(&f);
}

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++)
        check_filter(&filter_cases[i]);
}

/* All reasons that apply are reported, in a fixed order. */
static void test_reasons_add_up(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_volume_binding);
    fixture_load(&f, NODES LATE TRACKED PVC("c", "local", "1Gi", BOUND, ", volumeName: v")
                         PV("v", "1Gi", IN_ZONE("z1")) PVC("d", "late", "9Gi", "", ""));
    fixture_cycle(&f, "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, persistentVolumeClaim: "
                      "{claimName: c}}, {name: w, persistentVolumeClaim: {claimName: d}}]}}");
    struct status status = fixture_filter(&f, "b");
    assert_int_equal(status.code, STATUS_UNRESOLVABLE);
    assert_str(status_message(status, &f.arena), MISMATCH ", " NO_SPACE);
    fixture_release(&f);
}

static struct status reserve_on(struct fixture *f, const char *pod, const char *node)
{
    fixture_cycle(f, pod);
    struct status status = fixture_filter(f, node);
    return status_ok(status) ? run_reserve(&f->cycle, fixture_row(f, node)) : status;
}

static const struct pv *stored_pv(const struct fixture *f, const char *name)
{
    return cluster_get(&f->cluster.pvs, (struct str){ 0 }, str_from(name));
}

/* Small claims take small volumes, and a taken volume is taken until the reservation is undone. */
static void test_reserve_takes_volumes(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_volume_binding);
    fixture_load(&f, NODES LOCAL PV("big", "9Gi", "") PV("small", "2Gi", "") PVC("c", "local", "1Gi", "", "")
                         PVC("d", "local", "1Gi", "", "") PVC("e", "local", "1Gi", "", ""));
    assert_status(reserve_on(&f, POD("p", "c"), "a"), STATUS_SUCCESS, "");
    const struct volumes *volumes = volumes_get(&f.cluster, 0);
    const struct object_ref *holder = volumes_claim_ref(volumes, stored_pv(&f, "small"));
    assert_non_null(holder);
    assert_str(holder->name, "c");
    assert_str(holder->uid, "uid-c");
    assert_null(stored_pv(&f, "small")->spec.claim_ref); /* the stored object is unchanged */
    assert_null(volumes_claim_ref(volumes, stored_pv(&f, "big")));

    assert_status(reserve_on(&f, POD("q", "d"), "b"), STATUS_SUCCESS, "");
    struct cycle second = f.cycle;
    assert_status(reserve_on(&f, POD("r", "e"), "b"), STATUS_UNRESOLVABLE, NO_MATCH);
    run_unreserve(&second, fixture_row(&f, "b"));
    assert_null(volumes_claim_ref(volumes_get(&f.cluster, 0), stored_pv(&f, "big")));
    assert_status(reserve_on(&f, POD("s", "e"), "b"), STATUS_SUCCESS, "");
    /* Another user of a claim gets the volume that is held for it. */
    assert_status(reserve_on(&f, POD("t", "c"), "a"), STATUS_SUCCESS, "");
    fixture_release(&f);
}

/* A claim to be provisioned gets the first pod's node as its selected node. */
static void test_reserve_selects_node(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_volume_binding);
    fixture_load(&f, NODES LATE PVC("c", "late", "1Gi", "", ""));
    assert_status(reserve_on(&f, POD("p", "c"), "a"), STATUS_SUCCESS, "");
    struct cycle first = f.cycle;
    assert_status(reserve_on(&f, POD("q", "c"), "b"), STATUS_UNRESOLVABLE, NO_MATCH);
    run_unreserve(&first, fixture_row(&f, "a"));
    assert_status(reserve_on(&f, POD("r", "c"), "b"), STATUS_SUCCESS, "");
    /* A newer claim from the API server replaces the assumption about the old one. */
    fixture_load(
        &f, "{kind: PersistentVolumeClaim, metadata: {name: c, namespace: default, resourceVersion: '2'}, "
            "spec: {storageClassName: late}}");
    assert_status(reserve_on(&f, POD("s", "c"), "a"), STATUS_SUCCESS, "");
    fixture_release(&f);
}

/* Nodes are scored only if the configuration has a shape; then by the utilization of the volumes. */
static void test_score(void **state)
{
    (void)state;
    const char *const nodes[] = { "a", "b", NULL };
    int64_t totals[2];
    struct shape_point points[] = { { 0, 0 }, { 100, 10 } };
    struct volume_binding_args args = { .shape = { points, 2 } };
    for (int scores = 0; scores < 2; scores++) {
        struct fixture f;
        FIXTURE(&f, scores ? &args : NULL, &plugin_volume_binding);
        fixture_load(&f, NODES LOCAL PV("v", "4Gi", IN_ZONE("z1")) PV("w", "3Gi", IN_ZONE("z2"))
                             PVC("c", "local", "1Gi", "", ""));
        fixture_cycle(&f, POD("p", "c"));
        assert_status(fixture_filter(&f, "a"), STATUS_SUCCESS, "");
        assert_int_equal(fixture_scores(&f, nodes, totals), scores);
        assert_int_equal(totals[0], scores ? 25 : 0);
        assert_int_equal(totals[1], scores ? 33 : 0);
        fixture_release(&f);
    }
}

/* A pool of which only the largest volume is known has that much. */
static void test_score_of_pools(void **state _unused_)
{
    static const struct {
        const char *pool;
        int64_t want;
    } cases[] = {
        { "capacity: 4Gi", 25 },
        { "capacity: 4Gi, maximumVolumeSize: 2Gi", 25 },
        { "maximumVolumeSize: 2Gi", 50 },
    };
    struct shape_point points[] = { { 0, 0 }, { 100, 10 } };
    struct volume_binding_args args = { .shape = { points, 2 } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        int64_t totals[1];
        FIXTURE(&f, &args, &plugin_volume_binding);
        fixture_load(&f, NODES LATE PVC("c", "late", "1Gi", "", ""));
        fixture_loadf(
            &f,
            "{kind: CSIDriver, metadata: {name: csi.example.com}, spec: {storageCapacity: true}}\n---\n"
            "{kind: CSIStorageCapacity, metadata: {name: pool, namespace: x}, storageClassName: late, %s, "
            "nodeTopology: {}}",
            cases[i].pool);
        fixture_cycle(&f, POD("p", "c"));
        assert_status(fixture_filter(&f, "a"), STATUS_SUCCESS, "");
        assert_true(fixture_scores(&f, (const char *const[]){ "a", NULL }, totals));
        assert_int_equal(totals[0], cases[i].want);
        fixture_release(&f);
    }
}

/* Without a claim that waits, every node has 0, and need not be asked. */
static void test_zero_scores(void **state _unused_)
{
    struct shape_point points[] = { { 0, 0 }, { 100, 10 } };
    struct volume_binding_args args = { .shape = { points, 2 } };
    struct fixture f;
    int64_t totals[2];
    FIXTURE(&f, &args, &plugin_volume_binding);
    fixture_load(&f, NODES LOCAL PV("v", "4Gi", IN_ZONE("z1")) PVC("c", "local", "1Gi", "", ""));
    fixture_cycle(&f, "{kind: Pod, metadata: {name: q}}");
    assert_true(fixture_scores(&f, (const char *const[]){ "a", "b", NULL }, totals));
    assert_int_equal(totals[0] + totals[1], 0);
    f.cycle.current = &f.profile.plugins[0];
    assert_true(plugin_volume_binding.score_is_zero(&f.cycle));
    fixture_cycle(&f, POD("p", "c"));
    assert_status(fixture_filter(&f, "a"), STATUS_SUCCESS, "");
    f.cycle.current = &f.profile.plugins[0];
    assert_false(plugin_volume_binding.score_is_zero(&f.cycle));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_reasons_add_up),
        cmocka_unit_test(test_reserve_takes_volumes),
        cmocka_unit_test(test_reserve_selects_node),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_score_of_pools),
        cmocka_unit_test(test_zero_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
