/* NodeVolumeLimits: what counts against a driver's limit, and how often. */
#include "support/fixture.h"

extern const struct plugin plugin_node_volume_limits;

#define FULL "node(s) exceed max volume count"
#define LIMIT(driver, count) \
    "{kind: CSINode, metadata: {name: a}, spec: {drivers: [{name: " driver ", allocatable: {count: " count \
    "}}]}}\n---\n"
#define BOUND(claim, handle) \
    "{kind: PersistentVolumeClaim, metadata: {name: " claim \
    ", namespace: default}, spec: {volumeName: pv-" claim \
    "}}\n---\n{kind: PersistentVolume, metadata: {name: pv-" claim \
    "}, spec: {csi: {driver: d, volumeHandle: " handle "}}}\n---\n"
#define LATE(claim, provisioner) \
    "{kind: StorageClass, metadata: {name: s-" claim "}, provisioner: " provisioner \
    "}\n---\n{kind: PersistentVolumeClaim, metadata: {name: " claim \
    ", namespace: default}, spec: {storageClassName: s-" claim "}}\n---\n"
#define USER(claim) \
    "{kind: Pod, metadata: {name: u-" claim \
    "}, spec: {nodeName: a, volumes: [{name: v, persistentVolumeClaim: {claimName: " claim "}}]}}\n---\n"
#define ATTACHED(claim) \
    "{kind: VolumeAttachment, metadata: {name: va-" claim "}, spec: {attacher: d, nodeName: a, source: " \
    "{persistentVolumeName: pv-" claim "}}}\n---\n"
#define USE(claim) "persistentVolumeClaim: {claimName: " claim "}"

static const struct {
    const char *name, *objects, *ours;
    enum status_code code;
    const char *reason;
} cases[] = {
    { "one volume fits", LIMIT("d", "1") BOUND("c", "h"), USE("c"), STATUS_SUCCESS, "" },
    { "limit reached", LIMIT("d", "0") BOUND("c", "h"), USE("c"), STATUS_UNSCHEDULABLE, FULL },
    { "limit of another driver", LIMIT("e", "0") BOUND("c", "h"), USE("c"), STATUS_SUCCESS, "" },
    { "no CSINode", BOUND("c", "h"), USE("c"), STATUS_SUCCESS, "" },
    { "a pod is there", LIMIT("d", "1") BOUND("c", "h") BOUND("x", "i") USER("x"), USE("c"),
      STATUS_UNSCHEDULABLE, FULL },
    { "a pod uses the same volume", LIMIT("d", "1") BOUND("c", "h") USER("c"), USE("c"), STATUS_SUCCESS, "" },
    { "two claims of one volume", LIMIT("d", "1") BOUND("c", "h") BOUND("x", "h") USER("x"), USE("c"),
      STATUS_SUCCESS, "" },
    { "used and attached counts once",
      LIMIT("d", "2") BOUND("c", "h") BOUND("x", "i") USER("x") ATTACHED("x"), USE("c"), STATUS_SUCCESS, "" },
    { "attached without a pod", LIMIT("d", "1") BOUND("c", "h") BOUND("x", "i") ATTACHED("x"), USE("c"),
      STATUS_UNSCHEDULABLE, FULL },
    { "attached already, but new to the node's pods", LIMIT("d", "1") BOUND("c", "h") ATTACHED("c"), USE("c"),
      STATUS_UNSCHEDULABLE, FULL },
    { "a volume still to come", LIMIT("d", "0") LATE("c", "d"), USE("c"), STATUS_UNSCHEDULABLE, FULL },
    { "two volumes still to come", LIMIT("d", "1") LATE("c", "d") LATE("x", "d") USER("x"), USE("c"),
      STATUS_UNSCHEDULABLE, FULL },
    { "the same volume still to come", LIMIT("d", "1") LATE("c", "d") USER("c"), USE("c"), STATUS_SUCCESS,
      "" },
    { "a migrated class", LIMIT("ebs.csi.aws.com", "0") LATE("c", "kubernetes.io/aws-ebs"), USE("c"),
      STATUS_UNSCHEDULABLE, FULL },
    { "a class that is never migrated",
      LIMIT("csi.vsphere.vmware.com", "0") LATE("c", "kubernetes.io/vsphere-volume"), USE("c"),
      STATUS_SUCCESS, "" },
    { "a volume in the pod", LIMIT("pd.csi.storage.gke.io", "0"), "gcePersistentDisk: {pdName: d}",
      STATUS_UNSCHEDULABLE, FULL },
    { "a volume in the pod that cannot be translated", LIMIT("x", "0"),
      "awsElasticBlockStore: {volumeID: 'aws://x'}", STATUS_ERROR,
      "running \"NodeVolumeLimits\" filter plugin: converting volume(v) from inline to csi: failed to "
      "translate "
      "Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://x)" },
    { "the claim is not there", LIMIT("d", "0"), USE("c"), STATUS_UNRESOLVABLE,
      "looking up PVC default/c: persistentvolumeclaim \"c\" not found" },
    { "a claim of a pod there is not there", LIMIT("d", "1") BOUND("c", "h") USER("x"), USE("c"),
      STATUS_SUCCESS, "" },
    { "not a volume of a driver", LIMIT("d", "0"), "emptyDir: {}", STATUS_SUCCESS, "" },
};

static void test_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        print_message("%s\n", cases[i].name);
        struct fixture f;
        char text[512];
        FIXTURE(&f, NULL, &plugin_node_volume_limits);
        fixture_load(&f, "{kind: Node, metadata: {name: a}}");
        fixture_load(&f, cases[i].objects);
        snprintf(text, sizeof(text), "{kind: Pod, metadata: {name: ours}, spec: {volumes: [{name: v, %s}]}}",
                 cases[i].ours);
        fixture_cycle(&f, text);
        assert_status(fixture_filter(&f, "a"), cases[i].code, cases[i].reason);
        fixture_release(&f);
    }
}

#define MISSING "d CSI driver is not installed on the node"
#define DRIVER(name, prevents) \
    "{kind: CSIDriver, metadata: {name: " name "}, spec: {preventPodSchedulingIfMissing: " prevents \
    "}}\n---\n"

static const struct {
    const char *name, *objects;
    bool gate;
    const char *reason; /* "": it fits */
} missing[] = {
    { "the node has the driver", LIMIT("d", "1") DRIVER("d", "true") BOUND("c", "h"), true, "" },
    { "it has another one", LIMIT("e", "1") DRIVER("d", "true") BOUND("c", "h"), true, MISSING },
    { "no CSINode", DRIVER("d", "true") BOUND("c", "h"), true, MISSING },
    { "a volume still to come", DRIVER("d", "true") LATE("c", "d"), true, MISSING },
    { "the gate is off", DRIVER("d", "true") BOUND("c", "h"), false, "" },
    { "the driver does not ask for it", DRIVER("d", "false") BOUND("c", "h"), true, "" },
    { "no CSIDriver", LIMIT("e", "1") BOUND("c", "h"), true, "" },
    { "installed and full", LIMIT("d", "0") DRIVER("d", "true") BOUND("c", "h"), true, FULL },
};

static void test_missing_driver(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(missing); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_node_volume_limits);
        f.cluster.features.enabled[FEATURE_VolumeLimitScaling] = missing[i].gate;
        fixture_load(&f, "{kind: Node, metadata: {name: a}}");
        fixture_load(&f, missing[i].objects);
        fixture_cycle(&f, "{kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, " USE("c") "}]}}");
        struct status status = fixture_filter(&f, "a");
        if (status_ok(status) != !missing[i].reason[0])
            fail_msg("%s: got %s", missing[i].name, status_code_name(status.code));
        assert_status(status, missing[i].reason[0] ? STATUS_UNSCHEDULABLE : STATUS_SUCCESS,
                      missing[i].reason);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_filter),
                                        cmocka_unit_test(test_missing_driver) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
