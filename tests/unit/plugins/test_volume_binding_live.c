/* VolumeBinding with an API server: what Reserve holds is written claim by claim, then PreBind waits until the
 * controllers have bound the claims, or finds that they will not. */
#include "unit/plugins/test_volume_binding_live.h"

#include "framework/probe.h"

/* ---- success ---- */
static void test_static_binding(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", ""));
    put(&live, PVC("c", "local", "2", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    put(&live, PV("v", "1", "")); /* the object that Reserve saw is replaced by an equal one */
    put(&live, PVC("c", "local", "2", "", ""));
    assert_status(pre_flight(&live), STATUS_SUCCESS, "");
    assert_int_equal(live.host.writes, 0);
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.host.writes, 1);
    const struct effect *sent = &live.host.sent[0];
    assert_int_equal(sent->kind, EFFECT_PV_CLAIM);
    assert_str(sent->name, "v");
    assert_str(sent->uid, "uid-v");
    assert_str(sent->resource_version, "1");
    assert_str(sent->claim.namespace, "default");
    assert_str(sent->claim.name, "c");
    assert_str(sent->claim.uid, "uid-c");
    assert_str(sent->claim.resource_version, "2");

    answer(&live, 0, ANSWER_DONE, "10");
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* the volume in the model is from before the write */
    assert_int_equal(live.f.cycle.wake_ns, 2 * (int64_t)SECOND);
    assert_str(holder(&live, "v")->name, "c");
    put(&live, PV("v", "10", HELD("c")));
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* the claim is not bound yet */
    put(&live, PVC("c", "local", "11", "", ", volumeName: v"));
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* only one side is bound */
    put(&live, PVC("c", "local", "12", BOUND, ", volumeName: v"));
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(live.host.writes, 1);
    live_release(&live);
}

static void test_provisioning(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PVC("c", "late", "2", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    put(&live, PVC("c", "late", "2", "", ""));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.host.writes, 1);
    const struct effect *sent = &live.host.sent[0];
    assert_int_equal(sent->kind, EFFECT_PVC_NODE);
    assert_str(sent->namespace, "default");
    assert_str(sent->name, "c");
    assert_str(sent->uid, "uid-c");
    assert_str(sent->resource_version, "2");
    assert_str(sent->node, "a");

    answer(&live, 0, ANSWER_DONE, "9");
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* "2" is before "9" */
    assert_str(*selected(&live, "c"), "a");
    put(&live, PVC("c", "late", "10", SELECTED("a"), "")); /* compared as a number */
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, PVC("c", "late", "11", SELECTED("a") ", " BOUND, ", volumeName: made"));
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* the volume arrives later */
    put(&live, PV("made", "8", IN_ZONE("z1")));
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    live_release(&live);
}

/* Volumes before provisioned claims, one write after the other; a failure ends it, and earlier writes stay. */
static void test_order_of_writes(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", ""));
    put(&live, PV("w", "1", ""));
    put(&live, PVC("c", "local", "1", "", ""));
    put(&live, PVC("d", "local", "1", "", ""));
    put(&live, PVC("e", "late", "1", "", ""));
    reserve(&live, POD("p", CLAIM("e") ", " CLAIM("c") ", " CLAIM("d")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.host.writes, 1);
    answer(&live, 0, ANSWER_DONE, "5");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.host.writes, 2);
    assert_str(live.host.sent[0].name, "v");
    assert_str(live.host.sent[1].name, "w");
    answer(&live, 1, ANSWER_CONFLICT, "");
    assert_status(pre_bind(&live), STATUS_ERROR,
                  "Operation cannot be fulfilled on persistentvolumes \"w\": the object has been modified; "
                  "please apply your changes to the latest version and try again");
    assert_int_equal(live.host.writes, 2);
    unreserve(&live);
    assert_str(holder(&live, "v")->name, "c"); /* written: assumed until the watch delivers it */
    assert_null(holder(&live, "w"));
    assert_null(selected(&live, "e"));
    put(&live, PV("v", "5", HELD("c")));
    assert_str(holder(&live, "v")->name, "c");
    put(&live, PV("v", "6", "")); /* and another client undid it */
    assert_null(holder(&live, "v"));
    live_release(&live);
}

/* Pods that need no write do not wait. */
static void test_nothing_to_do(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", HELD("c")));
    put(&live, PVC("c", "local", "1", BOUND, ", volumeName: v"));
    reserve(&live, POD("p", CLAIM("c")));
    assert_status(pre_flight(&live), STATUS_SKIP, "");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    fixture_cycle(&live.f, "{kind: Pod, metadata: {name: q}}");
    live.f.cycle.writer = &live.host.writer;
    assert_status(run_reserve(&live.f.cycle, fixture_row(&live.f, "a")), STATUS_SUCCESS, "");
    assert_status(pre_flight(&live), STATUS_SKIP, "");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(live.host.writes, 0);
    live_release(&live);
}

/* Without an API server a reservation counts as bound, until it is undone. */
static void test_offline(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", ""));
    put(&live, PVC("c", "local", "1", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    live.f.cycle.writer = NULL;
    assert_status(pre_flight(&live), STATUS_SUCCESS, "");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_str(holder(&live, "v")->name, "c");
    unreserve(&live);
    assert_null(holder(&live, "v"));
    assert_status(pre_flight(&live), STATUS_ERROR, "no pod volume found for node \"a\"");
    live_release(&live);
}

/* ---- writes that fail ---- */
static void test_failed_writes(void **state)
{
    (void)state;
    static const struct {
        enum answer_kind kind;
        const char *error, *volume, *claim; /* messages of the pod for a volume and for a claim */
    } cases[] = {
        { ANSWER_CONFLICT, "too late", "too late", "too late" },
        { ANSWER_REFUSED, "admission webhook \"x\" denied", "admission webhook \"x\" denied",
          "admission webhook \"x\" denied" },
        { ANSWER_REFUSED, NULL, "the server rejected our request due to an error in our request",
          "the server rejected our request due to an error in our request" },
        { ANSWER_GONE, NULL, "persistentvolumes \"v\" not found", "persistentvolumeclaims \"c\" not found" },
        { ANSWER_CONFLICT, NULL,
          "Operation cannot be fulfilled on persistentvolumes \"v\": the object has been modified; please "
          "apply your changes to the latest version and try again",
          "Operation cannot be fulfilled on persistentvolumeclaims \"c\": the object has been modified; "
          "please "
          "apply your changes to the latest version and try again" },
    };
    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        bool late = i % 2;
        struct live live;
        live_init(&live);
        put(&live, PV("v", "1", ""));
        put(&live, late ? PVC("c", "late", "1", "", "") : PVC("c", "local", "1", "", ""));
        reserve(&live, POD("p", CLAIM("c")));
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        live.host.answers[0] =
            (struct answer){ .kind = cases[i / 2].kind, .message = str_from(cases[i / 2].error) };
        assert_status(pre_bind(&live), STATUS_ERROR, late ? cases[i / 2].claim : cases[i / 2].volume);
        unreserve(&live);
        assert_null(holder(&live, "v"));
        assert_null(selected(&live, "c"));
        live_release(&live);
    }
}

/* A pod that is deleted while its write is in flight: its hold is released, and resourceVersion protects the object. */
static void test_dropped_in_flight(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", ""));
    put(&live, PVC("c", "local", "1", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    unreserve(&live);
    assert_null(holder(&live, "v"));
    unreserve(&live);
    live_release(&live);
}

/* ---- while it waits ---- */
struct wait_case {
    const char *name;
    bool late;          /* the claim is provisioned, else it gets volume "v" */
    const char *before; /* an object that exists from the beginning */
    const char *then[3];
    enum api_kind gone; /* the node, volume, claim or pod that is deleted then */
    const char *reason; /* NULL: it keeps waiting */
};

#define EBS(version, zone, id, more) \
    "{kind: PersistentVolume, metadata: {name: v, uid: uid-v, resourceVersion: '" version \
    "', labels: {topology.kubernetes.io/zone: " zone \
    "}}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, " \
    "awsElasticBlockStore: {volumeID: '" id "'}" more "}, status: {phase: Available}}"
#define EBS_MIGRATED \
    "{kind: CSINode, metadata: {name: a, annotations: {storage.alpha.kubernetes.io/migrated-plugins: " \
    "'kubernetes.io/gce-pd,kubernetes.io/aws-ebs'}}}"
#define BAD_EBS \
    "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS " \
    "volume (aws://v)"
#define HELD_PVC PVC("c", "local", "12", BOUND, ", volumeName: v")
#define MADE_PVC PVC("c", "late", "12", SELECTED("a") ", " BOUND, ", volumeName: v")
#define AWAY "binding volumes: pv \"v\" node affinity doesn't match node \"a\": no matching NodeSelectorTerms"
#define ODD_TERM \
    ", nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: Near}]}]}}"

static const struct wait_case wait_cases[] = {
    { "volume goes", .then = { PV("v", "10", HELD("c")) }, .gone = KIND_PV,
      .reason = "binding volumes: failed to check binding: persistentvolumes \"v\" not found" },
    { "claim goes", .then = { PV("v", "10", HELD("c")) }, .gone = KIND_PVC,
      .reason = "binding volumes: failed to check binding: persistentvolumeclaims \"default/c\" not found" },
    { "claim to provision goes", .late = true, .gone = KIND_PVC,
      .reason = "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/c\" not "
                "found" },
    { "node goes", .gone = KIND_NODE,
      .reason = "binding volumes: failed to get node \"a\": node \"a\" not found" },
    { "pod goes", .gone = KIND_POD,
      .reason = "binding volumes: pod does not exist any more: pod \"p\" not found" },
    { "node loses its label", .then = { PV("v", "10", HELD("c") IN_ZONE("z1")), HELD_PVC, NODE("a", "z9") },
      .reason = AWAY },
    { "volume moves, but the write is not here yet",
      .then = { PV("v", "9", HELD("c") IN_ZONE("z2")), HELD_PVC } },
    { "volume moves", .then = { PV("v", "11", HELD("c") IN_ZONE("z2")), HELD_PVC }, .reason = AWAY },
    { "affinity that cannot be parsed", .then = { PV("v", "11", HELD("c") ODD_TERM), HELD_PVC },
      .reason =
          "binding volumes: pv \"v\" node affinity doesn't match node \"a\": "
          "nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: \"Near\": supported values: "
          "\"In\", \"NotIn\", \"Exists\", \"DoesNotExist\", \"Gt\", \"Lt\"" },
    { "claimRef is taken away", .then = { PV("v", "11", ""), HELD_PVC },
      .reason = "binding volumes: ClaimRef got reset for pv \"v\"" },
    { "claimRef loses its uid",
      .then = { PV("v", "11", ", claimRef: {namespace: default, name: c}"), HELD_PVC },
      .reason = "binding volumes: ClaimRef got reset for pv \"v\"" },
    { "volume is another's now", .then = { PV("v", "11", HELD("other")), PVC("c", "local", "12", "", "") } },
    { "provisioner gives up", .late = true, .then = { PVC("c", "late", "11", "some: note", "") },
      .reason = "binding volumes: provisioning failed for PVC \"c\"" },
    { "provisioner gives up, no annotation is left", .late = true, .then = { PVC("c", "late", "11", "", "") },
      .reason = "binding volumes: selectedNode annotation reset for PVC \"c\"" },
    { "another node is selected", .late = true, .then = { PVC("c", "late", "11", SELECTED("b"), "") },
      .reason = "binding volumes: provisioning failed for PVC \"c\"" },
    { "volume is made elsewhere", .late = true, .then = { PV("v", "11", IN_ZONE("z2")), MADE_PVC },
      .reason = AWAY },
    { "volume is made, the claim is not finished", .late = true,
      .then = { PV("v", "11", IN_ZONE("z1")), PVC("c", "late", "12", SELECTED("a"), ", volumeName: v") } },
    { "zone of a volume that is not migrated on the node",
      .then = { EBS("11", "z1", "vol-1", HELD("c")), PVC("c", "local", "12", "", "") } },
    { "zone of a migrated volume", .before = EBS_MIGRATED,
      .then = { EBS("11", "z1", "vol-1", HELD("c")), HELD_PVC }, .reason = AWAY },
    { "zone of a migrated volume that was made", .late = true, .before = EBS_MIGRATED,
      .then = { EBS("11", "z1", "vol-1", HELD("c")), MADE_PVC }, .reason = AWAY },
    { "migrated volume that cannot be", .before = EBS_MIGRATED,
      .then = { EBS("11", "z1", "aws://v", HELD("c")), HELD_PVC },
      .reason = "binding volumes: failed to translate pv to csi: " BAD_EBS },
    { "made volume that cannot be", .late = true, .before = EBS_MIGRATED,
      .then = { EBS("11", "z1", "aws://v", HELD("c")), MADE_PVC }, .reason = "binding volumes: " BAD_EBS },
};

static void delete_object(struct live *live, enum api_kind kind)
{
    if (kind == KIND_POD)
        cluster_remove_pod(&live->f.cluster, fixture_pod(&live->f, "p"));
    else if (kind == KIND_NODE)
        drop(live, kind, "", "a");
    else if (kind != KIND_UNKNOWN)
        drop(live, kind, kind == KIND_PVC ? "default" : "", kind == KIND_PVC ? "c" : "v");
}

static void check_wait(const struct wait_case *test)
{
    struct live live;
    print_message("%s\n", test->name);
    live_init(&live);
    if (test->before)
        put(&live, test->before);
    if (!test->late)
        put(&live, PV("v", "1", ""));
    put(&live, test->late ? PVC("c", "late", "1", "", "") : PVC("c", "local", "1", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    struct pod_info *pod = live.f.last_pod;
    uint32_t row = fixture_row(&live.f, "a");
    pod_info_ref(pod); /* as the binding does */
    cluster_place(&live.f.cluster, pod, row);
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_DONE, "10");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    for (size_t i = 0; i < ARRAY_SIZE(test->then) && test->then[i]; i++)
        put(&live, test->then[i]);
    delete_object(&live, test->gone);
    live.f.cycle.current = &live.f.profile.plugins[0];
    struct status status = plugin_volume_binding.pre_bind(&live.f.cycle, row);
    assert_status(status, test->reason ? STATUS_ERROR : STATUS_WAIT, test->reason ? test->reason : "");
    unreserve(&live);
    pod_info_unref(&live.f.cluster, pod);
    live_release(&live);
}

static void test_while_waiting(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(wait_cases); i++)
        check_wait(&wait_cases[i]);
}

static void count_failure(void *context, enum probe_volume_stage stage)
{
    ((uint32_t *)context)[stage]++;
}

/* The timeout starts with the last write; a claim bound at the last moment is bound. */
static void test_timeout(void **state)
{
    (void)state;
    for (int bound = 0; bound < 2; bound++) {
        struct live live;
        live_init(&live);
        live.args.bind_timeout_seconds = 10;
        put(&live, PV("v", "1", ""));
        put(&live, PVC("c", "local", "1", "", ""));
        reserve(&live, POD("p", CLAIM("c")));
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        live.f.cycle.now_ns = 100 * (int64_t)SECOND;
        assert_status(pre_bind(&live), STATUS_WAIT, ""); /* an API server may be slow */
        answer(&live, 0, ANSWER_DONE, "10");
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        assert_int_equal(live.f.cycle.wake_ns, 101 * (int64_t)SECOND);
        live.f.cycle.now_ns = 110 * (int64_t)SECOND - 1;
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        assert_int_equal(live.f.cycle.wake_ns, 110 * (int64_t)SECOND);
        live.f.cycle.now_ns = 110 * (int64_t)SECOND;
        put(&live, PV("v", "10", HELD("c")));
        if (bound)
            put(&live, HELD_PVC);
        uint32_t failures[2] = { 0 };
        const struct probe probe = { .context = failures, .volumes_failed = count_failure };
        live.f.cycle.probe = &probe;
        assert_status(pre_bind(&live), bound ? STATUS_SUCCESS : STATUS_ERROR,
                      bound ? "" : "binding volumes: context deadline exceeded");
        assert_int_equal(failures[VOLUMES_BOUND], !bound);
        live.f.cycle.probe = NULL;
        live_release(&live);
    }
}

/* A host that does not report the new version: the object counts as old until it changes or shows the write. */
static void test_unknown_version(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", ""));
    put(&live, PVC("c", "local", "1", "", ""));
    put(&live, PVC("d", "late", "1", SELECTED("a"), ""));
    reserve(&live, POD("p", CLAIM("c") ", " CLAIM("d")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_DONE, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 1, ANSWER_DONE, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, PV("v", "7", HELD("c")));
    put(&live, HELD_PVC);
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, PVC("d", "late", "3", SELECTED("a") ", " BOUND, ", volumeName: w"));
    put(&live, PV("w", "3", ""));
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    put(&live, PV("v", "8", ""));
    assert_status(pre_bind(&live), STATUS_ERROR, "binding volumes: ClaimRef got reset for pv \"v\"");
    unreserve(&live);
    live_release(&live);
}

/* A volume that had the claim before the write need not change; and writes stay when the pod gives up. */
static void test_unknown_version_kept(void **state)
{
    (void)state;
    struct live live;
    live_init(&live);
    put(&live, PV("v", "1", HELD("c")));
    put(&live, PV("w", "1", ""));
    put(&live, PVC("c", "local", "1", "", ""));
    put(&live, PVC("d", "local", "1", "", ""));
    reserve(&live, POD("p", CLAIM("c")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_DONE, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, HELD_PVC);
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");

    reserve(&live, POD("q", CLAIM("d")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 1, ANSWER_DONE, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    unreserve(&live);
    assert_str(holder(&live, "w")->name, "d");
    put(&live, PV("w", "2", HELD("d")));
    assert_str(holder(&live, "w")->name, "d");
    live_release(&live);
}

/* A write whose conflict may be with itself: it failed if the volume shows another claim, or never changes. */
static void test_unknown_outcome(void **state)
{
    (void)state;
    static const struct {
        const char *later; /* the volume, or NULL: no update */
        const char *want;
    } cases[] = {
        { PV("v", "7", HELD("d")),
          "binding volumes: the object \"v\" has been modified; please apply your changes to "
          "the latest version and try again" },
        { NULL,
          "binding volumes: the object \"v\" has been modified; please apply your changes to the latest "
          "version and try again" },
        { PV("v", "7", HELD("c")), NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct live live;
        live_init(&live);
        put(&live, PV("v", "1", ""));
        put(&live, PVC("c", "local", "1", "", ""));
        reserve(&live, POD("p", CLAIM("c")));
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        answer(&live, 0, ANSWER_DONE, "");
        live.host.answers[0].in_doubt = true;
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        if (cases[i].later)
            put(&live, cases[i].later);
        else
            live.f.cycle.now_ns += (int64_t)11 * SECOND;
        assert_status(pre_bind(&live), cases[i].want ? STATUS_ERROR : STATUS_WAIT,
                      cases[i].want ? cases[i].want : "");
        unreserve(&live);
        if (!cases[i].later)
            assert_null(holder(&live, "v"));
        live_release(&live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_static_binding),
        cmocka_unit_test(test_provisioning),
        cmocka_unit_test(test_order_of_writes),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_offline),
        cmocka_unit_test(test_failed_writes),
        cmocka_unit_test(test_dropped_in_flight),
        cmocka_unit_test(test_while_waiting),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_unknown_version),
        cmocka_unit_test(test_unknown_version_kept),
        cmocka_unit_test(test_unknown_outcome),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
