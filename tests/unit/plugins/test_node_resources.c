/* NodeResourcesFit and BalancedAllocation: which resources are insufficient, and the scores by strategy. */
#include "support/fixture.h"

#include "plugins/node_resources/args.h"
#include "plugins/node_resources/scorer.h"

extern const struct plugin plugin_node_resources_fit, plugin_node_resources_balanced_allocation;

#define NODE(name, allocatable) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {" allocatable "}}}\n---\n"
#define RUNS(name, node, requests) \
    "{kind: Pod, metadata: {name: " name "}, spec: {nodeName: " node \
    ", containers: [{name: c, resources: {requests: {" requests "}}}]}}\n---\n"
#define WANTS(requests) \
    "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {requests: {" requests "}}}]" \
    "}}"

static struct resource_weight cpu_and_memory[] = { { STR("cpu"), 1 }, { STR("memory"), 1 } };
static struct scoring_strategy least = { .kind = SCORING_LEAST_ALLOCATED,
                                         .resources = { cpu_and_memory, 2 } };

/* ---- filter ---- */
struct filter_case {
    const char *name, *node, *running, *pod;
    enum status_code code;
    const char *message;
};

#define SMALL NODE("a", "cpu: 2, memory: 1000, pods: 3, example.com/gpu: 2, example.com/fpga: 1")
#define BUSY RUNS("r", "a", "cpu: 1500m, memory: 600, example.com/gpu: 1")

static const struct filter_case filters[] = {
    { "fits", SMALL, BUSY, WANTS("cpu: 500m, memory: 400, example.com/gpu: 1"), STATUS_SUCCESS, "" },
    { "a milli too much", SMALL, BUSY, WANTS("cpu: 501m"), STATUS_UNSCHEDULABLE, "Insufficient cpu" },
    { "a byte too much", SMALL, BUSY, WANTS("memory: 401"), STATUS_UNSCHEDULABLE, "Insufficient memory" },
    { "a device too much", SMALL, BUSY, WANTS("example.com/gpu: 2"), STATUS_UNSCHEDULABLE,
      "Insufficient example.com/gpu" },
    { "more than the node ever has", SMALL, BUSY, WANTS("cpu: 2001m"), STATUS_UNRESOLVABLE,
      "Insufficient cpu" },
    { "as much as the node has", SMALL, BUSY, WANTS("cpu: 2"), STATUS_UNSCHEDULABLE, "Insufficient cpu" },
    { "too many pods", NODE("a", "cpu: 2, pods: 1"), RUNS("r", "a", ""), WANTS(""), STATUS_UNSCHEDULABLE,
      "Too many pods" },
    { "no capacity for pods", NODE("a", "cpu: 2"), "", WANTS(""), STATUS_UNSCHEDULABLE, "Too many pods" },
    { "everything is short", NODE("a", "cpu: 2, memory: 1000, pods: 1, ephemeral-storage: 5"), BUSY,
      WANTS("memory: 900, cpu: 1900m, ephemeral-storage: 5, example.com/gpu: 1"), STATUS_UNRESOLVABLE,
      "Too many pods, Insufficient cpu, Insufficient memory, Insufficient example.com/gpu" },
    { "devices are named in order", SMALL, "", WANTS("example.com/gpu: 3, example.com/fpga: 2"),
      STATUS_UNRESOLVABLE, "Insufficient example.com/fpga, Insufficient example.com/gpu" },
    { "a resource that no node has", SMALL, "", WANTS("example.com/tpu: 1"), STATUS_UNRESOLVABLE,
      "Insufficient example.com/tpu" },
    { "none of a resource that no node has", SMALL, "", WANTS("example.com/tpu: 0"), STATUS_SUCCESS, "" },
    { "resource names that are not counted", SMALL, "", WANTS("made-up: 5"), STATUS_SUCCESS, "" },
    { "no requests on an overcommitted node", NODE("a", "cpu: 1, pods: 9"), RUNS("r", "a", "cpu: 5"),
      WANTS("memory: 0"), STATUS_SUCCESS, "" },
    { "the largest init container counts", SMALL, BUSY,
      "{kind: Pod, metadata: {name: p}, spec: {initContainers: [{name: i, resources: {requests: {cpu: "
      "600m}}}], containers: "
      "[{name: c, resources: {requests: {cpu: 100m}}}]}}",
      STATUS_UNSCHEDULABLE, "Insufficient cpu" },
    { "overhead counts", SMALL, BUSY,
      "{kind: Pod, metadata: {name: p}, spec: {overhead: {cpu: 100m}, containers: [{name: c, resources: "
      "{requests: {cpu: "
      "450m}}}]}}",
      STATUS_UNSCHEDULABLE, "Insufficient cpu" },
};

/* A pod that wants more resources than most: each of them counts, and each that is short is named. */
static void test_many_resources(void **state)
{
    (void)state;
    enum { MANY = 200 };
    const struct node_resources_fit_args args = { .scoring_strategy = &least };
    struct strbuf node = { 0 }, pod = { 0 }, shorts = { 0 };
    struct fixture f;
    FIXTURE(&f, &args, &plugin_node_resources_fit);
    strbuf_puts(&node, "{kind: Node, metadata: {name: a}, status: {allocatable: {pods: 9, zz.com/last: 1");
    strbuf_puts(&pod, "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {requests: "
                      "{zz.com/last: 2");
    for (int i = 0; i < MANY; i++) {
        if (i % 2) /* the others are on no node */
            strbuf_printf(&node, ", example.com/r%03d: %d", i, i % 3);
        strbuf_printf(&pod, ", example.com/r%03d: 1", i);
        if (i % 2 == 0 || i % 3 == 0)
            strbuf_printf(&shorts, "%sInsufficient example.com/r%03d", i ? ", " : "", i);
    }
    strbuf_puts(&shorts, ", Insufficient zz.com/last");
    strbuf_puts(&node, "}}}");
    strbuf_puts(&pod, "}}}]}}");
    fixture_load(&f, node.text);
    fixture_cycle(&f, pod.text);
    struct status status = fixture_filter(&f, "a");
    assert_int_equal(status.code, STATUS_UNRESOLVABLE);
    assert_str(status_message(status, &f.arena), shorts.text);
    fixture_release(&f);
    strbuf_release(&node);
    strbuf_release(&pod);
    strbuf_release(&shorts);
}

static void test_filter(void **state)
{
    (void)state;
    const struct node_resources_fit_args args = { .scoring_strategy = &least };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        FIXTURE(&f, &args, &plugin_node_resources_fit);
        fixture_load(&f, filters[i].node);
        if (*filters[i].running)
            fixture_load(&f, filters[i].running);
        fixture_cycle(&f, filters[i].pod);
        struct status status = fixture_filter(&f, "a");
        struct str message = status_message(status, &f.arena);
        if (status.code != filters[i].code || !str_is(message, filters[i].message))
            fail_msg("%s: got %s \"" STR_FMT "\"", filters[i].name, status_code_name(status.code),
                     STR_ARG(message));
        fixture_release(&f);
    }
}

struct ignore_case {
    const char *name, *resource, *group, *requests;
    bool fits;
};

static const struct ignore_case ignores[] = {
    { "ignored by name", "example.com/gpu", "", "example.com/gpu: 9", true },
    { "ignored by group", "", "example.com", "example.com/gpu: 9, example.com/fpga: 9", true },
    { "another name", "example.com/gpu", "", "example.com/fpga: 9", false },
    { "another group", "", "example.org", "example.com/gpu: 9", false },
    { "only extended resources are ignored", "cpu", "cpu", "cpu: 9", false },
    { "not what the cluster itself defines", "hugepages-2Mi", "", "hugepages-2Mi: 9", false },
};

static void test_ignored(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ignores); i++) {
        struct str resource = str_from(ignores[i].resource), group = str_from(ignores[i].group);
        const struct node_resources_fit_args args = {
            .scoring_strategy = &least,
            .ignored_resources = { &resource, resource.len > 0 },
            .ignored_resource_groups = { &group, group.len > 0 },
        };
        struct fixture f;
        char pod[256];
        snprintf(pod, sizeof(pod), WANTS("%s"), ignores[i].requests);
        FIXTURE(&f, &args, &plugin_node_resources_fit);
        fixture_load(&f, SMALL);
        fixture_cycle(&f, pod);
        if (status_ok(fixture_filter(&f, "a")) != ignores[i].fits)
            fail_msg("%s: want %d", ignores[i].name, ignores[i].fits);
        fixture_release(&f);
    }
}

/* ---- scores ---- */
static struct shape_point full_is_good[] = { { 0, 0 }, { 100, 10 } },
                          empty_is_good[] = { { 0, 10 }, { 100, 0 } },
                          half_is_good[] = { { 0, 0 }, { 50, 10 }, { 100, 2 } };
static struct requested_to_capacity_ratio bin_pack = { { full_is_good, 2 } },
                                          spread_out = { { empty_is_good, 2 } },
                                          tent = { { half_is_good, 3 } };
static struct resource_weight uneven[] = { { STR("cpu"), 3 }, { STR("memory"), 1 } },
                              with_gpu[] = { { STR("cpu"), 1 }, { STR("example.com/gpu"), 3 } };

struct score_case {
    const char *name;
    struct scoring_strategy strategy;
    const char *requests;
    int64_t
        want[2]; /* of an empty node (cpu 4, memory 8Gi, 4 devices) and of one with 1 cpu and 4Gi in use */
};

#define LEAST(list) { .kind = SCORING_LEAST_ALLOCATED, .resources = { list, 2 } }
#define MOST(list) { .kind = SCORING_MOST_ALLOCATED, .resources = { list, 2 } }
#define RATIO(list, points) \
    { .kind = SCORING_REQUESTED_TO_CAPACITY, .resources = { list, 2 }, .requested_to_capacity_ratio = points }

static const struct score_case scores[] = {
    /* cpu 3/4 free, memory 6/8; cpu 2/4, memory 2/8 */
    { "least allocated", LEAST(cpu_and_memory), "cpu: 1, memory: 2Gi", { 75, 37 } },
    { "weights", LEAST(uneven), "cpu: 1, memory: 2Gi", { 75, 43 } },
    { "most allocated", MOST(cpu_and_memory), "cpu: 1, memory: 2Gi", { 25, 62 } },
    { "more than there is", LEAST(cpu_and_memory), "cpu: 9, memory: 2Gi", { 37, 12 } },
    { "more than there is counts as all of it", MOST(cpu_and_memory), "cpu: 9, memory: 2Gi", { 62, 87 } },
    /* 100m and 200Mi are assumed: 97.5 and 97.5; 72.5 and 47.5 */
    { "no requests", LEAST(cpu_and_memory), "", { 97, 59 } },
    { "a resource that the pod does not request is ignored", LEAST(with_gpu), "cpu: 1", { 75, 50 } },
    { "an extended resource counts if it is requested",
      LEAST(with_gpu),
      "cpu: 1, example.com/gpu: 2",
      { 56, 50 } },
    { "bin packing", RATIO(cpu_and_memory, &bin_pack), "cpu: 1, memory: 2Gi", { 25, 63 } },
    { "spreading out", RATIO(cpu_and_memory, &spread_out), "cpu: 1, memory: 2Gi", { 75, 38 } },
    /* 25%: 50 each; cpu 50%: 100, memory 75%: 60 */
    { "a shape with a peak", RATIO(cpu_and_memory, &tent), "cpu: 1, memory: 2Gi", { 50, 80 } },
    { "weights of a shape", RATIO(uneven, &tent), "cpu: 1, memory: 2Gi", { 50, 90 } },
};

#define EMPTY_AND_BUSY \
    NODE("a", "cpu: 4, memory: 8Gi, pods: 9, example.com/gpu: 4") \
    NODE("b", "cpu: 4, memory: 8Gi, pods: 9, example.com/gpu: 4") \
    RUNS("r", "b", "cpu: 1, memory: 4Gi, example.com/gpu: 0")

static void check_scores(struct fixture *f, const char *name, const int64_t *want)
{
    int64_t got[2];
    assert_true(fixture_scores(f, (const char *const[]){ "a", "b", NULL }, got));
    for (int n = 0; n < 2; n++)
        if (got[n] != want[n])
            fail_msg("%s: node %d: got %lld, want %lld", name, n, (long long)got[n], (long long)want[n]);
}

static void test_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        struct scoring_strategy strategy = scores[i].strategy;
        const struct node_resources_fit_args args = { .scoring_strategy = &strategy };
        struct fixture f;
        char pod[256];
        snprintf(pod, sizeof(pod), WANTS("%s"), scores[i].requests);
        FIXTURE(&f, &args, &plugin_node_resources_fit);
        fixture_load(&f, EMPTY_AND_BUSY);
        fixture_cycle(&f, pod);
        check_scores(&f, scores[i].name, scores[i].want);
        fixture_release(&f);
    }
}

/* ---- balance ---- */
struct balance_case {
    const char *name, *requests;
    int64_t want[2]; /* as above; -1: skipped */
};

/* 50 + (50 + with - without) / 2, where each is 100 less half the difference of the shares. Without the pod the
 * empty node is at 100, the other (1/4, 4/8) at 87. */
static const struct balance_case balances[] = {
    { "no requests", "", { -1 } },
    { "equal shares", "cpu: 1, memory: 2Gi", { 75, 75 } },
    { "uneven shares", "cpu: 1, memory: 4Gi", { 68, 69 } }, /* with: 87, and 1/2 to 1: 75 */
    { "improves the balance", "cpu: 1", { 68, 81 } },       /* with: 87, and 1/2 to 1/2: 100 */
    { "more than there is is all of it", "cpu: 9, memory: 8Gi", { 75, 81 } },
    { "devices do not count here", "example.com/gpu: 4", { -1 } },
};

static void test_balance(void **state)
{
    (void)state;
    const struct node_resources_balanced_args args = { .resources = { cpu_and_memory, 2 } };
    for (size_t i = 0; i < ARRAY_SIZE(balances); i++) {
        struct fixture f;
        char pod[256];
        int64_t got[2];
        snprintf(pod, sizeof(pod), WANTS("%s"), balances[i].requests);
        FIXTURE(&f, &args, &plugin_node_resources_balanced_allocation);
        fixture_load(&f, EMPTY_AND_BUSY);
        fixture_cycle(&f, pod);
        if (balances[i].want[0] == -1)
            assert_false(fixture_scores(&f, (const char *const[]){ "a", "b", NULL }, got));
        else
            check_scores(&f, balances[i].name, balances[i].want);
        fixture_release(&f);
    }
}

/* With three resources it is the standard deviation: shares 1/4, 1/4, 1 have 0.353. */
static void test_balance_of_three(void **state)
{
    (void)state;
    struct resource_weight three[] = { { STR("cpu"), 1 },
                                       { STR("memory"), 1 },
                                       { STR("example.com/gpu"), 1 } };
    const struct node_resources_balanced_args args = { .resources = { three, 3 } };
    struct fixture f;
    FIXTURE(&f, &args, &plugin_node_resources_balanced_allocation);
    fixture_load(&f, EMPTY_AND_BUSY);
    fixture_cycle(&f, WANTS("cpu: 1, memory: 2Gi, example.com/gpu: 4"));
    int64_t got[1];
    assert_true(fixture_scores(&f, (const char *const[]){ "a", NULL }, got));
    assert_int_equal(got[0], 57); /* 50 + (50 + 64 - 100) / 2 */
    fixture_release(&f);
}

/* ---- the scorer of both plugins ---- */
static void test_scorer(void **state)
{
    (void)state;
    struct resource_weight list[] = { { STR("cpu"), 1 },
                                      { STR("memory"), 2 },
                                      { STR("example.com/gpu"), 3 },
                                      { STR("made-up"), 4 },
                                      { STR("pods"), 5 } };
    struct scorer requested_only, filled;
    struct fixture f;
    int64_t requests[5], requested[5], allocated[5], allocatable[5];
    FIXTURE_BARE(&f);
    assert_int_equal(scorer_init(&requested_only, &f.cluster, list, 5, true, NULL), 0);
    assert_int_equal(scorer_init(&filled, &f.cluster, list, 5, false, NULL), 0);
    assert_true(requested_only.items[2].scalar && !requested_only.items[0].scalar);
    assert_int_equal(requested_only.items[3].number, UINT32_MAX); /* no node has it */
    assert_int_equal(requested_only.items[4].number, UINT32_MAX); /* pods cannot be scored */
    fixture_load(&f, EMPTY_AND_BUSY RUNS("idle", "b", "") WANTS("cpu: 1"));
    scorer_requests(&requested_only, f.last_pod->api, &f.arena, requests);
    assert_int_equal(requests[0], 1000);
    assert_int_equal(requests[1], 0);
    scorer_node(&requested_only, fixture_view(&f, "b"), requests, requested, allocated, allocatable);
    assert_int_equal(allocatable[0], 4000);
    assert_int_equal(allocated[0], 1000);
    assert_int_equal(requested[0], 2000);
    assert_int_equal(allocatable[2], 0); /* not requested: ignored */
    assert_int_equal(allocatable[3], 0);
    scorer_requests(&filled, f.last_pod->api, &f.arena, requests);
    assert_int_equal(requests[1], 200 * 1024 * 1024);
    scorer_node(&filled, fixture_view(&f, "b"), requests, requested, allocated, allocatable);
    assert_int_equal(allocated[0], 1100); /* with 100m for the pod without requests */
    assert_int_equal(requested[0], 2100);
    scorer_release(&requested_only);
    scorer_release(&filled);
    fixture_release(&f);
}

/* ---- devices that stand for a resource ---- */
#define CLASS(selectors) \
    "{kind: DeviceClass, metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu, selectors: " \
    "[" selectors "]}}\n---\n"
#define CEL(text) "{cel: {expression: '" text "'}}"
#define SLICE(name, more, devices) \
    "{kind: ResourceSlice, metadata: {name: " name "}, spec: {driver: d, pool: {name: " name \
    ", generation: 1, resourceSliceCount: 9}, " more "devices: [" devices "]}}\n---\n"
#define HELD(pool, device) \
    "{kind: ResourceClaim, metadata: {name: c-" pool "-" device \
    ", namespace: default}, spec: {}, status: {allocation: {devices: {results: [{request: r, driver: d, " \
    "pool: " pool ", device: " device "}]}}}}\n---\n"
#define NODE_A NODE("a", "cpu: 4, memory: 8Gi, pods: 9")

static const struct {
    const char *name, *objects;
    bool gate;
    int64_t allocatable, allocated;
} counted[] = {
    { "no class", NODE_A SLICE("s", "nodeName: a, ", "{name: x}"), true, 0, 0 },
    { "no devices", NODE_A CLASS(""), true, 0, 0 },
    { "of the node", NODE_A CLASS("") SLICE("s", "nodeName: a, ", "{name: x}, {name: v}"), true, 2, 0 },
    { "of another node", NODE_A CLASS("") SLICE("s", "nodeName: b, ", "{name: x}"), true, 0, 0 },
    { "of all nodes, one held",
      NODE_A CLASS("") SLICE("s", "allNodes: true, ", "{name: x}, {name: v}") HELD("s", "v"), true, 2, 1 },
    { "without a word about nodes", NODE_A CLASS("") SLICE("s", "", "{name: x}"), true, 1, 0 },
    { "of a selector that the node does not fulfil",
      NODE_A CLASS("") SLICE(
          "s", "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: z, operator: Exists}]}]}, ",
          "{name: x}"),
      true, 0, 0 },
    { "device by device",
      NODE_A CLASS("")
          SLICE("s", "perDeviceNodeSelection: true, ",
                "{name: x, nodeName: a}, {name: v, nodeName: b}, {name: z, allNodes: true}, {name: w}"),
      true, 2, 0 },
    { "what the class selects",
      NODE_A CLASS(CEL("device.attributes[\"d\"].big"))
          SLICE("s", "nodeName: a, ",
                "{name: x, attributes: {big: {bool: true}}}, {name: v, attributes: {big: {bool: false}}}"),
      true, 1, 0 },
    { "a selector that fails",
      NODE_A CLASS(CEL("device.attributes[\"d\"].big"))
          SLICE("s", "nodeName: a, ", "{name: x, attributes: {big: {bool: true}}}, {name: v}"),
      true, 0, 0 },
    { "the node has the resource itself",
      NODE("a", "cpu: 4, memory: 8Gi, pods: 9, example.com/gpu: 7") CLASS("")
          SLICE("s", "nodeName: a, ", "{name: x}"),
      true, 7, 0 },
    { "the gate is off", NODE_A CLASS("") SLICE("s", "nodeName: a, ", "{name: x}"), false, 0, 0 },
};

static void test_devices(void **state _unused_)
{
    struct resource_weight gpu[] = { { STR("example.com/gpu"), 1 } };
    for (size_t i = 0; i < ARRAY_SIZE(counted); i++) {
        struct scorer scorer;
        struct fixture f;
        int64_t requests[1], requested[1], allocated[1], allocatable[1];
        FIXTURE_BARE(&f);
        f.cluster.features.enabled[FEATURE_DRAExtendedResource] = counted[i].gate;
        assert_int_equal(scorer_init(&scorer, &f.cluster, gpu, 1, false, NULL), 0);
        fixture_load(&f, counted[i].objects);
        fixture_load(&f, WANTS("example.com/gpu: 1"));
        scorer_requests(&scorer, f.last_pod->api, &f.arena, requests);
        scorer_node(&scorer, fixture_view(&f, "a"), requests, requested, allocated, allocatable);
        if (allocatable[0] != counted[i].allocatable || allocated[0] != counted[i].allocated)
            fail_msg("%s: got %lld, %lld", counted[i].name, (long long)allocatable[0],
                     (long long)allocated[0]);
        scorer_release(&scorer);
        fixture_release(&f);
    }
}

struct columns_case {
    const char *name, *node, *requests;
    bool exact;
};

/* Doubles may replace integers only if they are exact on every node. */
static const struct columns_case exactness[] = {
    { "small amounts", NODE("a", "cpu: 4, memory: 8Gi"), "cpu: 1", true },
    { "a node without memory", NODE("a", "cpu: 4"), "cpu: 1", false },
    { "a huge node", NODE("a", "cpu: 4, memory: 64Ti"), "cpu: 1", false },
    { "a huge request", NODE("a", "cpu: 4, memory: 8Gi"), "memory: 64Ti", false },
    { "no node at all", "", "cpu: 1", true },
};

static void test_columns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(exactness); i++) {
        struct scorer scorer;
        struct scored_column columns[2];
        struct fixture f;
        uint32_t len;
        int64_t requests[2];
        FIXTURE_BARE(&f);
        assert_int_equal(scorer_init(&scorer, &f.cluster, cpu_and_memory, 2, false, NULL), 0);
        if (*exactness[i].node)
            fixture_load(&f, exactness[i].node);
        fixture_loadf(&f, WANTS("%s"), exactness[i].requests);
        scorer_requests(&scorer, f.last_pod->api, &f.arena, requests);
        if (scorer_columns(&scorer, &f.cluster, requests, columns, &len) != exactness[i].exact)
            fail_msg("%s: want %d", exactness[i].name, exactness[i].exact);
        fixture_release(&f);
    }
}

static void test_too_many_resources(void **state)
{
    (void)state;
    struct fixture f;
    struct scorer scorer;
    struct error err;
    static struct resource_weight many[SCORER_RESOURCES_MAX + 1];
    FIXTURE_BARE(&f);
    assert_int_equal(scorer_init(&scorer, &f.cluster, many, ARRAY_SIZE(many), true, &err), -E2BIG);
    assert_string_equal(err.text, "more than 64 resources to score");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_resources), cmocka_unit_test(test_filter),
        cmocka_unit_test(test_ignored),        cmocka_unit_test(test_score),
        cmocka_unit_test(test_balance),        cmocka_unit_test(test_balance_of_three),
        cmocka_unit_test(test_scorer),         cmocka_unit_test(test_devices),
        cmocka_unit_test(test_columns),        cmocka_unit_test(test_too_many_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
