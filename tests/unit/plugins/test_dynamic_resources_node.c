/* Devices that take some of the node's own resources (DRANodeAllocatableResources): what the filter says, what the
 * node's sums have from Reserve on, and what is written to the pod's status. */
#include "test_dynamic_resources.h"

enum { WRITES_MAX = 16 };

struct live {
    struct fixture f;
    struct cycle_writer writer;
    struct effect sent[WRITES_MAX];
    struct answer answers[WRITES_MAX];
    uint32_t writes;
};

#define NODE_OF(cpu) \
    "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: " cpu ", pods: 9}}}\n---\n"
/* Each takes two cores, in the words of both releases; those of 1.37 also have overhead. */
#define TWO_CORES \
    ", nodeAllocatableResourceMappings: {cpu: {allocationMultiplier: 2}}, nodeAllocatableResources: {cpu: " \
    "{mapping: {deviceMultiplier: 2}, overhead: {perPod: 250m, perContainer: 10m}}}"
#define OVERHEAD_ONLY ", nodeAllocatableResources: {cpu: {overhead: {perPod: 250m}}}"
#define DEVICES ANY SLICE("p", ON_A, DEV("x", TWO_CORES) ", " DEV("w", OVERHEAD_ONLY))
#define CONTAINERS \
    "containers: [{name: k, resources: {requests: {cpu: 1}, claims: [{name: c}]}}, {name: other}], "
#define PENDING(name) \
    "{kind: Pod, metadata: {name: " name ", uid: uid-" name "}, spec: {" CONTAINERS \
    "resourceClaims: [{name: c, resourceClaimName: c}]}}"

static const struct answer *write_later(struct cycle_writer *writer, const struct effect *effect)
{
    struct live *live = container_of(writer, struct live, writer);
    assert_true(live->writes < WRITES_MAX);
    live->sent[live->writes] = *effect;
    live->answers[live->writes] = (struct answer){ .kind = ANSWER_PENDING };
    return &live->answers[live->writes++];
}

static void live_init(struct live *live, int minor, bool enabled, const char *objects)
{
    memset(live, 0, sizeof(*live));
    FIXTURE_BARE_AS(&live->f, minor);
    live->f.cluster.features.enabled[FEATURE_DRANodeAllocatableResources] = enabled;
    fixture_add_plugin(&live->f, &plugin_dynamic_resources, NULL);
    live->writer.write = write_later;
    fixture_load(&live->f, objects);
}

static struct status filter_pod(struct live *live, const char *pod)
{
    fixture_cycle(&live->f, pod);
    live->f.cycle.writer = &live->writer;
    live->f.cycle.now_ns = 1;
    return fixture_filter(&live->f, "a");
}

static int64_t used_cpu(struct live *live)
{
    return live->f.cluster.col.used[RES_CPU][fixture_row(&live->f, "a")];
}

/* As the engine does. */
static void reserve(struct live *live, const char *pod)
{
    uint32_t row = fixture_row(&live->f, "a");
    assert_status(filter_pod(live, pod), STATUS_SUCCESS, "");
    cluster_place(&live->f.cluster, live->f.cycle.info, row);
    assert_status(run_reserve(&live->f.cycle, row), STATUS_SUCCESS, "");
}

static void unreserve(struct live *live)
{
    struct pod_info *pod = live->f.cycle.info;
    run_unreserve(&live->f.cycle, fixture_row(&live->f, "a"));
    cluster_displace(&live->f.cluster, pod);
    cluster_set_node_claims(&live->f.cluster, pod, &pod->api->status.node_claims);
}

static struct status pre_bind(struct live *live)
{
    live->f.cycle.current = &live->f.profile.plugins[0];
    return plugin_dynamic_resources.pre_bind(&live->f.cycle, fixture_row(&live->f, "a"));
}

/* Until the write of the pod's status has been sent; the claim's writes are done. */
static void pre_bind_claims(struct live *live)
{
    for (uint32_t i = 0; i < 2; i++) {
        assert_status(pre_bind(live), STATUS_WAIT, "");
        live->answers[live->writes - 1] =
            (struct answer){ .kind = ANSWER_DONE, .resource_version = STR("2") };
    }
    assert_status(pre_bind(live), STATUS_WAIT, "");
    assert_int_equal(live->writes, 3);
}

static void assert_sent(const struct live *live, uint32_t write, enum effect_kind kind, const char *status)
{
    char body[512];
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"uid\":\"uid-q\"},\"status\":{\"nodeAllocatableResourceClaimStatuses\":%s}}",
             status);
    assert_true(write < live->writes);
    assert_int_equal(live->sent[write].kind, kind);
    assert_true(str_is(live->sent[write].name, "q"));
    assert_str(live->sent[write].body, body);
}

#define WRITTEN_36 "[{\"containers\":[\"k\"],\"resourceClaimName\":\"c\",\"resources\":{\"cpu\":\"2\"}}]"
#define WRITTEN_37 \
    "[{\"containers\":[\"k\"],\"mapping\":[{\"name\":\"cpu\",\"quantity\":\"2\"}]," \
    "\"overhead\":[{\"name\":\"cpu\",\"perContainer\":\"10m\",\"perPod\":\"250m\"}]," \
    "\"resourceClaimName\":\"c\"}]"

static const struct {
    int minor;
    int64_t used;
    const char *written;
} releases[] = {
    { 36, 3000, WRITTEN_36 },
    { 37, 3260, WRITTEN_37 },
};

static void test_written(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
        struct live live;
        live_init(&live, releases[i].minor, true, NODE_OF("4") DEVICES WANTS(ONE));
        reserve(&live, PENDING("q"));
        assert_int_equal(used_cpu(&live), releases[i].used);
        pre_bind_claims(&live);
        assert_sent(&live, 2, EFFECT_POD_CLAIM, releases[i].written);
        live.answers[2] = (struct answer){ .kind = ANSWER_CONFLICT }; /* is tried again */
        assert_status(pre_bind(&live), STATUS_WAIT, "");
        assert_sent(&live, 3, EFFECT_POD_CLAIM, releases[i].written);
        live.answers[3] = (struct answer){ .kind = ANSWER_DONE };
        assert_status(pre_bind(&live), STATUS_SUCCESS, "");
        assert_int_equal(live.writes, 4);
        unreserve(&live); /* the binding failed */
        assert_int_equal(used_cpu(&live), 0);
        assert_sent(&live, live.writes - 1, EFFECT_POD_UNCLAIM, "[]");
        fixture_release(&live.f);
    }
}

static void test_write_fails(void **state _unused_)
{
    struct live live;
    live_init(&live, 37, true, NODE_OF("4") DEVICES WANTS(ONE));
    reserve(&live, PENDING("q"));
    pre_bind_claims(&live);
    live.answers[2] = (struct answer){ .kind = ANSWER_GONE };
    assert_status(pre_bind(&live), STATUS_ERROR,
                  "updating pod default/q NodeAllocatableResourceClaimStatuses: pods \"q\" not found");
    fixture_release(&live.f);
}

/* Another version of the pod, which is not bound yet, takes what was decided, whatever its status says. */
static void test_other_version(void **state _unused_)
{
    struct live live;
    live_init(&live, 37, true, NODE_OF("4") DEVICES WANTS(ONE));
    reserve(&live, PENDING("q"));
    struct pod_info *before = live.f.cycle.info;
    pod_info_ref(before);
    cluster_displace(&live.f.cluster, before);
    fixture_load(&live.f,
                 "{kind: Pod, metadata: {name: q, uid: uid-q}, spec: {" CONTAINERS
                 "}, status: {nodeAllocatableResourceClaimStatuses: [{resourceClaimName: c, mapping: "
                 "[{name: cpu, quantity: 9}]}]}}");
    struct pod_info *after = live.f.last_pod;
    cluster_move_node_claims(&live.f.cluster, before, after);
    cluster_place(&live.f.cluster, after, fixture_row(&live.f, "a"));
    assert_int_equal(used_cpu(&live), 3260);
    live.f.cycle.info = after;
    pod_info_unref(&live.f.cluster, before);
    /* A node brings another resource: classes are compiled anew, and so is what claims take. */
    fixture_load(&live.f, "{kind: Node, metadata: {name: b}, status: {allocatable: {x.io/y: 1}}}");
    assert_int_equal(used_cpu(&live), 3260);
    cluster_displace(&live.f.cluster, after);
    assert_int_equal(used_cpu(&live), 0);
    fixture_release(&live.f);
}

#define BOUND \
    "{kind: Pod, metadata: {name: b, uid: uid-b}, spec: {nodeName: a, containers: [{name: k, resources: " \
    "{requests: {cpu: 500m}}}]}, status: {nodeAllocatableResourceClaimStatuses: [{resourceClaimName: c, " \
    "containers: [k, k2], resources: {cpu: 1}, mapping: [{name: cpu, quantity: 2}], overhead: [{name: cpu, " \
    "perPod: 100m, perContainer: 10m}]}]}}\n---\n"

/* The status of a pod on a node counts, as the release reads it. */
static void test_bound(void **state _unused_)
{
    static const struct {
        int minor;
        bool enabled;
        int64_t used;
    } rows[] = { { 36, true, 1500 }, { 37, true, 2620 }, { 36, false, 500 }, { 37, false, 500 } };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct live live;
        live_init(&live, rows[i].minor, rows[i].enabled, NODE_OF("4") BOUND);
        assert_int_equal(used_cpu(&live), rows[i].used);
        cluster_remove_pod(&live.f.cluster, live.f.last_pod);
        assert_int_equal(used_cpu(&live), 0);
        fixture_release(&live.f);
    }
}

#define ALLOCATED(device, reserved) \
    CLAIM("c", "requests: [" ONE "]", \
          ", status: {allocation: {devices: {results: [" RESULT("p", device, \
                                                                "") "]}}, reservedFor: [" reserved "]}")
#define FOR_B "{resource: pods, name: b, uid: uid-b}"
#define FOR_Q "{resource: pods, name: q, uid: uid-q}"
#define UNNAMED \
    "{kind: Pod, metadata: {name: q, uid: uid-q}, spec: {containers: [{name: k}], resourceClaims: [{name: " \
    "c, " \
    "resourceClaimName: c}]}}"
#define LEVEL(resources) \
    "{kind: Pod, metadata: {name: q, uid: uid-q}, spec: {resources: {" resources \
    "}, containers: [{name: k, " \
    "resources: {requests: {cpu: 1}, limits: {cpu: 1}, claims: [{name: c}]}}], resourceClaims: [{name: c, " \
    "resourceClaimName: c}]}}"
#define UNCOVERED \
    "pod level request for cpu is insufficient to cover the aggregated container and node-allocatable DRA " \
    "requests"

static const struct filter_case {
    const char *name, *objects, *pod;
    enum status_code code_36;
    const char *text_36;
    enum status_code code_37;
    const char *text_37;
} filters[] = {
    { "more than the node has", NODE_OF("2") DEVICES WANTS(ONE), PENDING("q"), STATUS_UNRESOLVABLE,
      "Insufficient cpu", STATUS_UNRESOLVABLE, "Insufficient cpu" },
    { "more than is left", NODE_OF("4") DEVICES WANTS(ONE) BOUND, PENDING("q"), STATUS_UNSCHEDULABLE,
      "Insufficient cpu", STATUS_UNSCHEDULABLE, "Insufficient cpu" },
    { "no container refers to the claim", NODE_OF("4") DEVICES WANTS(ONE), UNNAMED, STATUS_UNRESOLVABLE,
      "claim c: node-allocatable resource claim not referenced by any container within the pod",
      STATUS_SUCCESS, "" },
    { "another pod on the node uses it", NODE_OF("9") DEVICES ALLOCATED("x", "") BOUND, PENDING("q"),
      STATUS_UNRESOLVABLE, "node allocatable resource claim c is already used by another pod", STATUS_SUCCESS,
      "" },
    { "it is reserved for another pod", NODE_OF("9") DEVICES ALLOCATED("x", FOR_B), PENDING("q"),
      STATUS_SUCCESS, "", STATUS_UNRESOLVABLE,
      "node allocatable resource claim c has a mapped device and cannot be shared across pods" },
    { "it is reserved for this pod, too", NODE_OF("9") DEVICES ALLOCATED("x", FOR_B ", " FOR_Q), PENDING("q"),
      STATUS_SUCCESS, "", STATUS_SUCCESS, "" },
    { "it has overhead only", NODE_OF("9") DEVICES ALLOCATED("w", FOR_B), PENDING("q"), STATUS_SUCCESS, "",
      STATUS_SUCCESS, "" },
    { "what is allocated already", NODE_OF("2") DEVICES ALLOCATED("x", FOR_Q), PENDING("q"), STATUS_SUCCESS,
      "", STATUS_UNRESOLVABLE, "Insufficient cpu" },
    { "requests of the pod", NODE_OF("9") DEVICES WANTS(ONE), LEVEL("requests: {cpu: 2}"),
      STATUS_UNRESOLVABLE, UNCOVERED, STATUS_UNRESOLVABLE, UNCOVERED },
    { "limits of the pod", NODE_OF("9") DEVICES WANTS(ONE), LEVEL("requests: {cpu: 4}, limits: {cpu: 3}"),
      STATUS_SUCCESS, "", STATUS_UNRESOLVABLE,
      "pod level limit for cpu is insufficient to cover the limit and DRA overhead for container k" },
    { "a device that is gone",
      NODE_OF("9") DEVICES ALLOCATED("x", FOR_Q)
          ANY CLAIM("c", "requests: [" ONE "]",
                    ", status: {allocation: {devices: {results: [" RESULT("p", "x", "") ", " RESULT(
                        "p", "gone", "") "]}}, reservedFor: [" FOR_Q "]}"),
      PENDING("q"), STATUS_SUCCESS, "", STATUS_ERROR,
      "claim default/c, device gone, driver d: device gone not found in pool p for driver d" },
    { "a capacity that is not consumed",
      NODE_OF("9")
          ANY SLICE("p", ON_A,
                    DEV("x", ", capacity: {cores: {value: 1}}, nodeAllocatableResourceMappings: {cpu: "
                             "{capacityKey: cores}}, nodeAllocatableResources: {cpu: {mapping: "
                             "{capacityKey: cores, capacityMultiplier: 1}}}")) WANTS(ONE),
      PENDING("q"), STATUS_ERROR,
      "claim default/c, device x: ConsumedCapacity is nil, but Capacity key 'cores' is set in "
      "NodeAllocatableResourceMappings for resource cpu",
      STATUS_ERROR,
      "claim default/c, device x: ConsumedCapacity is nil, but Capacity key 'cores' is set in "
      "NodeAllocatableResources for resource cpu" },
};

static void check(const struct filter_case *one, int minor, bool enabled, enum status_code code,
                  const char *text)
{
    struct live live;
    live_init(&live, minor, enabled, one->objects);
    struct status status = filter_pod(&live, one->pod);
    struct str got = status_message(status, &live.f.arena);
    const struct str prefix = STR("running \"DynamicResources\" filter plugin: ");
    if (code == STATUS_ERROR && str_starts_with(got, prefix))
        got = str_slice(got, prefix.len, got.len);
    if (status.code != code || !str_is(got, text))
        fail_msg("%s, 1.%d: got %s \"" STR_FMT "\"", one->name, minor, status_code_name(status.code),
                 STR_ARG(got));
    fixture_release(&live.f);
}

static void test_filter(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        check(&filters[i], 36, true, filters[i].code_36, filters[i].text_36);
        check(&filters[i], 37, true, filters[i].code_37, filters[i].text_37);
        check(&filters[i], 36, false, STATUS_SUCCESS, "");
        check(&filters[i], 37, false, STATUS_SUCCESS, "");
    }
}

/* A claim that a node lacks is only allocated anew if the node could have the rest. */
static void test_missing_and_refused(void **state _unused_)
{
    struct live live;
    live_init(&live, 37, false,
              NODE_OF("9") ANY SLICE("p", ON_A, DEV("x", "")) CLAIM("c", "requests: [" TWO "]", "") CLAIM(
                  "e", "",
                  ", status: {allocation: {devices: {results: [" RESULT(
                      "p", "z", "") "]}, nodeSelector: {nodeSelectorTerms: [" IN_ZONE("nowhere") "]}}}"));
    assert_status(filter_pod(&live, POD("resourceClaims: [{name: e, resourceClaimName: e}, {name: c, "
                                        "resourceClaimName: c}]")),
                  STATUS_UNRESOLVABLE, "cannot allocate all claims");
    struct post_filter_result result = { 0 };
    struct diagnosis diagnosis = { 0 };
    live.f.cycle.current = &live.f.profile.plugins[0];
    assert_status(plugin_dynamic_resources.post_filter(&live.f.cycle, &diagnosis, &result),
                  STATUS_UNSCHEDULABLE, "");
    assert_int_equal(live.writes, 0);
    fixture_release(&live.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written),       cmocka_unit_test(test_write_fails),
        cmocka_unit_test(test_other_version), cmocka_unit_test(test_bound),
        cmocka_unit_test(test_filter),        cmocka_unit_test(test_missing_and_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
