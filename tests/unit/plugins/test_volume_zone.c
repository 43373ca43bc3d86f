/* VolumeZone: labels of bound volumes against labels of nodes, old names and new. */
#include "support/fixture.h"

extern const struct plugin plugin_volume_zone;

#define WRONG_ZONE "node(s) had no available volume zone"
#define BOUND(labels) \
    "{kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}, spec: {volumeName: v}}\n---\n" \
    "{kind: PersistentVolume, metadata: {name: v, labels: {" labels "}}}\n---\n"
#define CLAIM(spec) \
    "{kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}, spec: {" spec "}}\n---\n"
#define NODE(labels) "{kind: Node, metadata: {name: a, labels: {" labels "}}}\n---\n"
#define Z "topology.kubernetes.io/zone"
#define R "topology.kubernetes.io/region"
#define BETA_Z "failure-domain.beta.kubernetes.io/zone"

static const struct {
    const char *name, *objects;
    enum status_code code;
    const char *reason;
} cases[] = {
    { "same zone", NODE(Z ": x") BOUND(Z ": x"), STATUS_SUCCESS, "" },
    { "other zone", NODE(Z ": x") BOUND(Z ": w"), STATUS_UNRESOLVABLE, WRONG_ZONE },
    { "one of several zones", NODE(Z ": x") BOUND(Z ": w__x"), STATUS_SUCCESS, "" },
    { "same zone, other region", NODE(Z ": x, " R ": r") BOUND(Z ": x, " R ": s"), STATUS_UNRESOLVABLE,
      WRONG_ZONE },
    { "old label on the volume, new on the node", NODE(Z ": x") BOUND(BETA_Z ": x"), STATUS_SUCCESS, "" },
    { "new label on the volume, old on the node", NODE(BETA_Z ": x") BOUND(Z ": x"), STATUS_UNRESOLVABLE,
      WRONG_ZONE },
    { "node without zones", NODE("") BOUND(Z ": x"), STATUS_SUCCESS, "" },
    { "node with a region only", NODE(R ": r") BOUND(Z ": x"), STATUS_UNRESOLVABLE, WRONG_ZONE },
    { "volume without zones", NODE(Z ": x") BOUND(""), STATUS_SUCCESS, "" },
    { "a list with an empty zone means nothing", NODE(Z ": x") BOUND(Z ": w__"), STATUS_SUCCESS, "" },
    { "claim not there", NODE(Z ": x"), STATUS_UNRESOLVABLE, "persistentvolumeclaim \"c\" not found" },
    { "volume not there", NODE(Z ": x") CLAIM("volumeName: v"), STATUS_UNRESOLVABLE,
      "persistentvolume \"v\" not found" },
    { "neither volume nor class", NODE(Z ": x") CLAIM(""), STATUS_UNRESOLVABLE,
      "PersistentVolumeClaim had no pv name and storageClass name" },
    { "class not there", NODE(Z ": x") CLAIM("storageClassName: s"), STATUS_UNRESOLVABLE,
      "storageclass.storage.k8s.io \"s\" not found" },
    { "class that waits",
      NODE(Z ": x") CLAIM("storageClassName: s") "{kind: StorageClass, metadata: {name: s}, provisioner: p, "
                                                 "volumeBindingMode: WaitForFirstConsumer}",
      STATUS_SUCCESS, "" },
    { "class that does not wait",
      NODE(Z ": x") CLAIM("storageClassName: s") "{kind: StorageClass, metadata: {name: s}, provisioner: p, "
                                                 "volumeBindingMode: Immediate}",
      STATUS_UNRESOLVABLE, "PersistentVolume had no name" },
};

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_volume_zone);
        fixture_load(&f, cases[i].objects);
        fixture_cycle(&f,
                      "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, persistentVolumeClaim: "
                      "{claimName: c}}]}}");
        assert_status(fixture_filter(&f, "a"), cases[i].code, cases[i].reason);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_filter) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
