/* VolumeRestrictions: disks that conflict, claims for one pod, and what-ifs that leave no trace. */
#include "support/fixture.h"

extern const struct plugin plugin_volume_restrictions;

#define DISK "node(s) had no available disk"
#define IN_USE \
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by " \
    "another pod"
#define CLAIM(mode) \
    "{kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}, spec: {accessModes: [" mode \
    "]}}\n---\n"
#define USE "persistentVolumeClaim: {claimName: c}"

static const struct {
    const char *name, *objects, *theirs, *ours;
    enum status_code code;
    const char *reason;
} cases[] = {
    { "one disk, both write", "", "gcePersistentDisk: {pdName: d}", "gcePersistentDisk: {pdName: d}",
      STATUS_UNSCHEDULABLE, DISK },
    { "one disk, both read", "", "gcePersistentDisk: {pdName: d, readOnly: true}",
      "gcePersistentDisk: {pdName: d, readOnly: true}", STATUS_SUCCESS, "" },
    { "one disk, one writes", "", "gcePersistentDisk: {pdName: d, readOnly: true}",
      "gcePersistentDisk: {pdName: d}", STATUS_UNSCHEDULABLE, DISK },
    { "two disks", "", "gcePersistentDisk: {pdName: d}", "gcePersistentDisk: {pdName: e}", STATUS_SUCCESS,
      "" },
    { "EBS is never shared", "", "awsElasticBlockStore: {volumeID: v, readOnly: true}",
      "awsElasticBlockStore: {volumeID: v, readOnly: true}", STATUS_UNSCHEDULABLE, DISK },
    { "iSCSI by its name alone", "", "iscsi: {iqn: i, lun: 1}", "iscsi: {iqn: i, lun: 2}",
      STATUS_UNSCHEDULABLE, DISK },
    { "RBD with a monitor in common", "", "rbd: {monitors: [m, k], image: i}",
      "rbd: {monitors: [k, o], image: i, pool: rbd}", STATUS_UNSCHEDULABLE, DISK },
    { "RBD of other monitors", "", "rbd: {monitors: [m], image: i}", "rbd: {monitors: [o], image: i}",
      STATUS_SUCCESS, "" },
    { "RBD of another pool", "", "rbd: {monitors: [m], image: i}", "rbd: {monitors: [m], image: i, pool: p}",
      STATUS_SUCCESS, "" },
    { "claim for one pod", CLAIM("ReadWriteOncePod"), USE, USE, STATUS_UNSCHEDULABLE, IN_USE },
    { "claim for one node", CLAIM("ReadWriteOnce"), USE, USE, STATUS_SUCCESS, "" },
    { "claim that is not there", "", "emptyDir: {}", USE, STATUS_UNRESOLVABLE,
      "persistentvolumeclaim \"c\" not found" },
};

static void load(struct fixture *f, size_t i)
{
    char text[512];
    FIXTURE(f, NULL, &plugin_volume_restrictions);
    fixture_load(f, "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}");
    if (cases[i].objects[0])
        fixture_load(f, cases[i].objects);
    snprintf(text, sizeof(text),
             "{kind: Pod, metadata: {name: theirs}, spec: {nodeName: a, volumes: [{name: v, %s}]}}",
             cases[i].theirs);
    fixture_load(f, text);
    snprintf(text, sizeof(text), "{kind: Pod, metadata: {name: ours}, spec: {volumes: [{name: v, %s}]}}",
             cases[i].ours);
    fixture_cycle(f, text);
}

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct fixture f;
        load(&f, i);
        assert_status(fixture_filter(&f, "a"), cases[i].code, cases[i].reason);
        /* Disks conflict on their node; a claim for one pod is in use everywhere. */
        bool everywhere = strcmp(cases[i].reason, DISK) != 0;
        assert_status(fixture_filter(&f, "b"), everywhere ? cases[i].code : STATUS_SUCCESS,
                      everywhere ? cases[i].reason : "");
        fixture_release(&f);
    }
}

/* Removing the other pod frees the claim, adding it again takes it. */
static void test_what_if(void **state)
{
    (void)state;
    struct fixture f;
    size_t i = 0;
    while (strcmp(cases[i].name, "claim for one pod") != 0)
        i++;
    load(&f, i);
    assert_status(fixture_filter(&f, "b"), STATUS_UNSCHEDULABLE, IN_USE);
    struct pod_info *other = cluster_find_pod(&f.cluster, STR("default"), STR("theirs"));
    struct node_view a = fixture_view(&f, "a"), b = fixture_view(&f, "b");
    for (int turn = 0; turn < 3; turn++) {
        run_remove_pod(&f.cycle, other, a);
        assert_status(run_filters(&f.cycle, b), STATUS_SUCCESS, "");
        run_add_pod(&f.cycle, other, a);
        assert_status(run_filters(&f.cycle, b), STATUS_UNSCHEDULABLE, IN_USE);
    }
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_what_if),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
