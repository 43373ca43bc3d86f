/* DynamicResources: statuses for claims, the devices that the allocator picks, and scores. The picks were compared with
 * kube-scheduler's allocator. */
#include "test_dynamic_resources.h"

#include "api/fields.h"

/* ---- filter ---- */
struct filter_case {
    const char *name, *objects, *pod;
    enum status_code code;
    const char *reason;
};

#define ONE_DEVICE ANY SLICE("p", ON_A, DEV("x", ""))
#define ALLOCATED(selector) \
    ", status: {allocation: {devices: {results: [" RESULT( \
        "p", "x", "") "]}, nodeSelector: {nodeSelectorTerms: [" selector "]}}}"
#define GPU CLASS("gpu", "extendedResourceName: example.com/gpu")
#define REQUESTS(resource, amount) \
    POD("containers: [{name: c, resources: {requests: {" resource ": " amount "}}}]")

#define FAILED "running \"DynamicResources\" filter plugin: "

static const struct filter_case filter_cases[] = {
    { "no devices", ANY, REQUESTS("cpu", "1"), STATUS_SUCCESS, "" },
    { "no such claim", ANY, USES("x"), STATUS_UNRESOLVABLE, "could not find ResourceClaim \"default/x\"" },
    { "a template whose claim is not made yet", ANY,
      POD("resourceClaims: [{name: c, resourceClaimTemplateName: x}]"), STATUS_UNRESOLVABLE,
      "pod \"default/p\": ResourceClaim not created yet" },
    { "neither claim nor template", ANY, POD("resourceClaims: [{name: c}]"), STATUS_UNRESOLVABLE,
      "pod \"default/p\", spec.resourceClaim \"c\": none of the supported fields are set" },
    { "a template that needed no claim", ANY,
      "{kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: c, resourceClaimTemplateName: x}]}, "
      "status: {resourceClaimStatuses: [{name: c}]}}",
      STATUS_SUCCESS, "" },
    { "a generated claim of another pod", ANY WANTS(""),
      "{kind: Pod, metadata: {name: p, uid: u}, spec: {resourceClaims: [{name: c, resourceClaimTemplateName: "
      "x}]}, "
      "status: {resourceClaimStatuses: [{name: c, resourceClaimName: c}]}}",
      STATUS_UNRESOLVABLE, "ResourceClaim default/c was not created for Pod default/p (Pod is not owner)" },
    { "a claim that is being deleted",
      ANY "{kind: ResourceClaim, metadata: {name: c, namespace: default, deletionTimestamp: "
          "'2025-01-01T00:00:00Z'}}\n---\n",
      USES("c"), STATUS_UNRESOLVABLE, "resourceclaim \"c\" is being deleted" },
    { "a class that does not exist", WANTS("{name: r, " EXACTLY("1", "") "}"), USES("c"), STATUS_UNRESOLVABLE,
      "request r: device class any does not exist" },
    { "a class of an alternative that does not exist",
      WANTS("{name: r, firstAvailable: [" SUB("s", "1", "") "]}"), USES("c"), STATUS_UNRESOLVABLE,
      "request r/s: device class any does not exist" },
    { "a request of an unknown kind", ANY WANTS("{name: r}"), USES("c"), STATUS_UNRESOLVABLE,
      "resource claim default/c, request r: unknown request type" },

    { "a device", ONE_DEVICE WANTS("{name: r, " EXACTLY("1", "") "}"), USES("c"), STATUS_SUCCESS, "" },
    { "too few", ONE_DEVICE WANTS("{name: r, " EXACTLY("2", "") "}"), USES("c"), STATUS_UNRESOLVABLE,
      "cannot allocate all claims" },
    { "in use", ONE_DEVICE HOLDS("other", RESULT("p", "x", "")) WANTS("{name: r, " EXACTLY("1", "") "}"),
      USES("c"), STATUS_UNRESOLVABLE, "cannot allocate all claims" },
    { "in use with admin access",
      ONE_DEVICE HOLDS("other", RESULT("p", "x", ", adminAccess: true"))
          WANTS("{name: r, " EXACTLY("1", "") "}"),
      USES("c"), STATUS_SUCCESS, "" },
    { "more than a claim may have", ONE_DEVICE WANTS("{name: r, " EXACTLY("33", "") "}"), USES("c"),
      STATUS_ERROR,
      FAILED "claim default/c, request r: adding 33 devices exceeds the claim limit of 32, with 0 "
             "already accounted for" },
    { "names that are not unique",
      ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("x", "")) WANTS("{name: r, " EXACTLY("1", "") "}"),
      USES("c"), STATUS_UNRESOLVABLE, "invalid resource pools were encountered" },
    { "all of a pool that is being updated",
      ANY SLICE_OF("s", "p", "2", ON_A, DEV("x", ""), "") WANTS("{name: r, " ALL("") "}"), USES("c"),
      STATUS_ERROR,
      FAILED
      "claim default/c, request r: asks for all devices, but resource pool d/p is currently being updated" },
    { "a selector that is no expression",
      ONE_DEVICE WANTS("{name: r, " EXACTLY(
          "1", ", selectors: [{cel: {expression: 'device.attributes[\"d\"].x == 1'}}]") "}"),
      USES("c"), STATUS_ERROR,
      FAILED
      "claim default/c: selector #0 on device d/p/x: CEL runtime error: no such key: x. "
      "consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for "
      "optional fields" },

    { "allocated here", ANY CLAIM("c", "", ALLOCATED(IN_ZONE("z"))), USES("c"), STATUS_SUCCESS, "" },
    { "allocated elsewhere", ANY CLAIM("c", "", ALLOCATED(IN_ZONE("other"))), USES("c"), STATUS_UNRESOLVABLE,
      "resourceclaim not available on the node" },

    { "a resource that a class stands for", ONE_DEVICE GPU, REQUESTS("example.com/gpu", "1"), STATUS_SUCCESS,
      "" },
    { "more of it than there are devices", ONE_DEVICE GPU, REQUESTS("example.com/gpu", "2"),
      STATUS_UNRESOLVABLE, "cannot allocate all claims" },
    { "by the name of the class", ONE_DEVICE GPU, REQUESTS("deviceclass.resource.kubernetes.io/gpu", "2"),
      STATUS_UNRESOLVABLE, "cannot allocate all claims" },
    { "none of it", ONE_DEVICE GPU, REQUESTS("example.com/gpu", "0"), STATUS_SUCCESS, "" },
    { "a resource that no node has, and one of a class", ONE_DEVICE GPU,
      POD("containers: [{name: c, resources: {requests: {example.com/gpu: 1, example.com/fpga: 1}}}]"),
      STATUS_UNRESOLVABLE, "cannot fit resource" },
};

static void test_filter(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(filter_cases); i++) {
        const struct filter_case *c = &filter_cases[i];
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_dynamic_resources);
        fixture_load(&f, NODE("a", "z"));
        fixture_load(&f, c->objects);
        fixture_cycle(&f, c->pod);
        struct status status = fixture_filter(&f, "a");
        if (status.code != c->code)
            print_error("%s\n", c->name);
        assert_status(status, c->code, c->reason);
        fixture_release(&f);
    }
}

/* ---- picked devices ---- */
struct pick_case {
    const char *name, *objects;
    const char *want; /* "request=pool/device" of claim c, one after the other */
};

static const struct pick_case picks[] = {
    { "pools by name, not as they come",
      ANY SLICE("q", ON_A, DEV("x", "")) SLICE("p", ON_A, DEV("w", "")) WANTS(TWO), "r=p/w r=q/x" },
    { "slices by name, devices as listed",
      ANY SLICE_OF("s2", "p", "2", ON_A, DEV("b", "") ", " DEV("a", ""), "")
          SLICE_OF("s1", "p", "2", ON_A, DEV("z", ""), "") WANTS("{name: r, " EXACTLY("3", "") "}"),
      "r=p/z r=p/b r=p/a" },
    { "slices of other nodes",
      ANY SLICE("p", "nodeName: b", DEV("x", "")) SLICE("q", ANYWHERE, DEV("w", "")) WANTS(ONE), "r=q/w" },
    { "slices by label",
      ANY SLICE("p", "nodeSelector: {nodeSelectorTerms: [" IN_ZONE("other") "]}", DEV("x", ""))
          SLICE("q", "nodeSelector: {nodeSelectorTerms: [" IN_ZONE("z") "]}", DEV("w", "")) WANTS(ONE),
      "r=q/w" },
    { "devices with a node of their own",
      ANY SLICE("p", "perDeviceNodeSelection: true", DEV("x", ", nodeName: b") ", " DEV("w", ", nodeName: a"))
          WANTS(ONE),
      "r=p/w" },
    { "the newest generation alone",
      ANY "{kind: ResourceSlice, metadata: {name: old}, spec: {driver: d, pool: {name: p, generation: 1, "
          "resourceSliceCount: 1}, nodeName: a, devices: [{name: x}]}}\n---\n"
          "{kind: ResourceSlice, metadata: {name: new}, spec: {driver: d, pool: {name: p, generation: 2, "
          "resourceSliceCount: 1}, nodeName: a, devices: [{name: w}]}}\n---\n" WANTS(ONE),
      "r=p/w" },
    { "a pool that is not complete",
      ANY SLICE_OF("s", "p", "2", ON_A, DEV("x", ""), "") SLICE("q", ON_A, DEV("w", "")) WANTS(ONE),
      "r=q/w" },
    { "what must be prepared comes last",
      ANY SLICE("p", ON_A, DEV("x", ", bindingConditions: [ready]")) SLICE("q", ON_A, DEV("w", ""))
          WANTS(ONE),
      "r=q/w" },
    { "all", ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", "")) WANTS("{name: r, " ALL("") "}"),
      "r=p/x r=p/w" },
    { "all, but one is in use",
      ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", "")) HOLDS("o", RESULT("p", "x", ""))
          WANTS("{name: r, " ALL("") "}"),
      "" },
    { "all of no devices", ANY WANTS("{name: r, " ALL("") "}"), "" },
    { "with admin access, also what is in use",
      ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", "")) HOLDS("o", RESULT("p", "x", ""))
          WANTS("{name: r, " ALL(", adminAccess: true") "}"),
      "r=p/x r=p/w" },
    { "selectors of the class and of the request",
      CLASS("any", "selectors: [{cel: {expression: 'device.driver == \"d\"'}}]")
          SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("1"))) WANTS("{name: r, " EXACTLY(
              "1", ", selectors: [{cel: {expression: 'device.attributes[\"d\"].numa > 0'}}]") "}"),
      "r=p/w" },
    { "a taint", ANY SLICE("p", ON_A, DEV("x", TAINTED) ", " DEV("w", "")) WANTS(ONE), "r=p/w" },
    { "a taint that is tolerated",
      ANY SLICE("p", ON_A, DEV("x", TAINTED) ", " DEV("w", ""))
          WANTS("{name: r, " EXACTLY("1", ", tolerations: [{key: k, operator: Exists}]") "}"),
      "r=p/x" },
    { "the first choice is not the first device",
      ANY SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("1")) ", " DEV("z", NUMA("1")))
          WITH_CONSTRAINT(TWO, "{matchAttribute: d/numa}"),
      "r=p/w r=p/z" },
    { "a constraint of another request",
      ANY SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("1")) ", " DEV("z", NUMA("1")))
          WITH_CONSTRAINT(ONE ", {name: s, " EXACTLY("2", "") "}", "{requests: [s], matchAttribute: d/numa}"),
      "r=p/x s=p/w s=p/z" },
    { "all different",
      ANY SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("0")) ", " DEV("z", NUMA("1")))
          WITH_CONSTRAINT(TWO, "{distinctAttribute: d/numa}"),
      "r=p/x r=p/z" },
    { "the first alternative that works",
      ANY SLICE("p", ON_A, DEV("x", ""))
          WANTS("{name: r, firstAvailable: [" SUB("two", "2", "") ", " SUB("one", "1", "") "]}"),
      "r/one=p/x" },
    { "an alternative that leaves enough for the next request",
      ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", "")) WANTS("{name: r, firstAvailable: [" SUB(
          "two", "2", "") ", " SUB("one", "1", "") "]}, {name: s, " EXACTLY("1", "") "}"),
      "r/one=p/x s=p/w" },
    { "partitions of one device",
      PARTITIONS(PART("x", "10Gi") ", " PART("w", "10Gi") ", " PART("z", "6Gi")) WANTS(TWO), "r=p/x r=p/z" },
    { "a partition is in use",
      PARTITIONS(PART("x", "10Gi") ", " PART("w", "10Gi") ", " PART("z", "6Gi"))
          HOLDS("o", RESULT("p", "w", "")) WANTS(ONE),
      "r=p/z" },
    { "shares of a device",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi")))
          WANTS("{name: r, " EXACTLY("1", ", capacity: {requests: {memory: 4Gi}}") "}, {name: s, " EXACTLY(
              "1", ", capacity: {requests: {memory: 6Gi}}") "}"),
      "r=p/x(memory:4Gi) s=p/x(memory:6Gi)" },
    { "not enough is left of a share",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi")) ", " DEV("w", SHARED("10Gi")))
          HOLDS("o", RESULT("p", "x", ", shareID: i, consumedCapacity: {memory: 7Gi}"))
              WANTS("{name: r, " EXACTLY("1", ", capacity: {requests: {memory: 4Gi}}") "}"),
      "r=p/w(memory:4Gi)" },
    { "the policy rounds up",
      ANY SLICE("p", ON_A,
                DEV("x",
                    ", allowMultipleAllocations: true, capacity: {memory: {value: 10Gi, requestPolicy: "
                    "{default: 2Gi, validRange: {min: 1Gi, step: 2Gi}}}, slots: {value: 8, requestPolicy: "
                    "{default: 1, validValues: [1, 4]}}}"))
          WANTS("{name: r, " EXACTLY("1", ", capacity: {requests: {memory: 4Gi, slots: 2}}") "}"),
      "r=p/x(memory:5Gi,slots:4)" },
};

static const struct allocation_result *allocate_for(struct fixture *f)
{
    struct allocation_result *ret;
    allocate_claim(f, &ret);
    return ret;
}

static void test_picks(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(picks); i++) {
        const struct pick_case *c = &picks[i];
        struct fixture f;
        FIXTURE_BARE(&f);
        fixture_load(&f, NODE("a", "z"));
        fixture_load(&f, c->objects);
        const struct allocation_result *allocation = allocate_for(&f);
        const char *got = allocation ? describe(&f, allocation) : "";
        if (strcmp(got, c->want) != 0)
            fail_msg("%s: got \"%s\", want \"%s\"", c->name, got, c->want);
        fixture_release(&f);
    }
}

/* The complete allocation in the status: configurations and node selector. */
static void test_allocation(void **state _unused_)
{
    static const struct {
        const char *name, *objects, *want;
    } cases[] = {
        { "on one node",
          CLASS("any", "config: [{opaque: {driver: d, parameters: {a: 1}}}]")
              SLICE("p", ON_A, DEV("x", "") ", " DEV("w", "")) CLAIM(
                  "c",
                  "requests: [" ONE ", {name: s, " EXACTLY(
                      "1",
                      ", tolerations: [{key: k, operator: Exists}]") "}], "
                                                                     "config: [{opaque: {driver: d, "
                                                                     "parameters: [2]}}, {requests: [s], "
                                                                     "opaque: {driver: e, parameters: {}}}]",
                  ""),
          "{\"devices\":{\"config\":["
          "{\"source\":\"FromClass\",\"opaque\":{\"driver\":\"d\",\"parameters\":{"
          "\"a\":1}}},"
          "{\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"d\",\"parameters\":[2]}},"
          "{\"requests\":[\"s\"],\"source\":\"FromClaim\",\"opaque\":{\"driver\":\"e\",\"parameters\":{}}}],"
          "\"results\":[{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"},"
          "{\"device\":\"w\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"s\","
          "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\"}]}]},"
          "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
          "\"operator\":\"In\","
          "\"values\":[\"a\"]}]}]}}" },
        { "anywhere",
          ANY SLICE("p", ANYWHERE,
                    DEV("x", ", bindingConditions: [ready], bindingFailureConditions: [failed]")) WANTS(ONE),
          "{\"devices\":{\"results\":[{\"bindingConditions\":[\"ready\"],\"bindingFailureConditions\":["
          "\"failed\"],"
          "\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"}]}}" },
        { "node selector terms of slices, each once",
          ANY SLICE("p", "nodeSelector: {nodeSelectorTerms: [" IN_ZONE("z") "]}",
                    DEV("x", "") ", " DEV("w", "")) WANTS(TWO),
          "{\"devices\":{\"results\":[{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"},"
          "{\"device\":\"w\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"}]},"
          "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"zone\",\"operator\":"
          "\"In\","
          "\"values\":[\"z\"]}]}]}}" },
        { "bound to the node", ANY SLICE("p", ANYWHERE, DEV("x", ", bindsToNode: true")) WANTS(ONE),
          "{\"devices\":{\"results\":[{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"}]},"
          "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\","
          "\"operator\":\"In\","
          "\"values\":[\"a\"]}]}]}}" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        struct strbuf text = { 0 };
        struct json_writer json = json_writer(&text, JSON_COMPACT);
        FIXTURE_BARE(&f);
        fixture_load(&f, NODE("a", "z"));
        fixture_load(&f, cases[i].objects);
        record_write(&(struct record_writer){ .json = &json }, api_allocation_type, allocate_for(&f));
        assert_string_equal(text.text, cases[i].want);
        strbuf_release(&text);
        fixture_release(&f);
    }
}

/* A search that could go on forever is ended. */
static void test_search_ends(void **state _unused_)
{
    struct fixture f;
    struct allocation_result *result = NULL;
    struct strbuf devices = { 0 };
    struct arena scratch = { 0 };
    struct selectors selectors = { 0 };
    FIXTURE_BARE(&f);
    fixture_load(&f, NODE("a", "z"));
    for (int i = 0; i < 60; i++)
        strbuf_printf(&devices, "%s{name: d%d, attributes: {n: {int: %d}}}", i ? ", " : "", i, i);
    fixture_loadf(&f, ANY SLICE("p", ON_A, "%s"), devices.text);
    fixture_load(&f, WITH_CONSTRAINT("{name: r, " EXACTLY("16", "") "}, {name: s, " EXACTLY("2", "") "}",
                                     "{requests: [s], matchAttribute: d/n}"));
    const struct resource_claim *claim = cluster_get(&f.cluster.claims, STR("default"), STR("c"));
    struct allocation_rules rules;
    allocation_rules_init(&rules, &f.cluster.features);
    struct status status =
        allocate(&(struct allocate_input){ .cluster = &f.cluster,
                                           .rules = &rules,
                                           .node = cluster_node(&f.cluster, fixture_row(&f, "a"))->api,
                                           .claims = &claim,
                                           .len = 1,
                                           .selectors = &selectors,
                                           .timeout_ns = 20000000,
                                           .scratch = &scratch,
                                           .arena = &f.arena },
                 &result);
    assert_int_equal(status.code, STATUS_ERROR);
    assert_str(status_message(status, &scratch), "node a: timed out trying to allocate devices");
    assert_true(scratch.total_bytes < 1 << 20); /* memory does not grow with the length of the search */
    selectors_release(&selectors);
    arena_release(&scratch);
    strbuf_release(&devices);
    fixture_release(&f);
}

/* ---- scores ---- */
static void test_scores(void **state _unused_)
{
    struct fixture f;
    int64_t scores[3];
    FIXTURE(&f, NULL, &plugin_dynamic_resources);
    fixture_load(&f, NODE("a", "z") NODE("b", "z") NODE("c", "z"));
    fixture_load(&f, ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", ""))
                         SLICE("q", "nodeName: b", DEV("x", "")));
    fixture_load(&f, WANTS("{name: r, firstAvailable: [" SUB("two", "2", "") ", " SUB("one", "1", "") "]}"));
    fixture_cycle(&f, USES("c"));
    assert_status(fixture_filter(&f, "a"), STATUS_SUCCESS, "");
    assert_status(run_filters(&f.cycle, fixture_view(&f, "b")), STATUS_SUCCESS, "");
    assert_true(fixture_scores(&f, (const char *const[]){ "a", "b", "c", NULL }, scores));
    assert_int_equal(scores[0], 100);
    assert_int_equal(scores[1], 87); /* 7 of 8 */
    assert_int_equal(scores[2], 0);  /* nothing was allocated there */
    fixture_release(&f);
}

/* ---- events ---- */
static enum hint claim_hint(struct fixture *f, const char *before, const char *after)
{
    const struct event_rule *rules = plugin_dynamic_resources.events;
    struct arena arena = { 0 };
    const struct resource_claim *was = NULL;
    if (before) {
        fixture_load(f, before);
        was = cluster_get(&f->cluster.claims, STR("default"), STR("c"));
    }
    fixture_load(f, after);
    struct cluster_event event = { .resource = EVENT_RESOURCE_CLAIM,
                                   .actions = was ? ACTION_UPDATE : ACTION_ADD,
                                   .before = was,
                                   .after = cluster_get(&f->cluster.claims, STR("default"), STR("c")) };
    struct hint_context context = { .cluster = &f->cluster, .info = f->cycle.info, .arena = &arena };
    enum hint hint = HINT_SKIP;
    for (; rules->actions; rules++)
        if (event_matches(rules->resource, rules->actions, &event))
            hint = rules->hint(&context, f->cycle.pod, &event);
    arena_release(&arena);
    return hint;
}

/* With SchedulerPreQueueingHints an event of a claim is for the pods that refer to it, or for all if devices are
 * free. */
static void test_narrowed_claims(void **state _unused_)
{
    struct fixture f;
    FIXTURE_AS(&f, 37, NULL, &plugin_dynamic_resources);
    const struct plugin_instance *plugin = &f.profile.plugins[0];
    fixture_load(&f, HOLDS("c", RESULT("p", "x", "")));
    const struct resource_claim *held = cluster_get(&f.cluster.claims, STR("default"), STR("c"));
    struct resource_claim free = *held;
    free.status.allocation = NULL;
    fixture_load(&f, USES("c"));
    const struct pod *user = f.last_pod->api;
    fixture_load(&f, "{kind: Pod, metadata: {name: stranger}}");
    const struct pod *stranger = f.last_pod->api;
    fixture_load(&f, "{kind: Pod, metadata: {name: made}, spec: {resourceClaims: [{name: x, "
                     "resourceClaimTemplateName: t}]}, status: {resourceClaimStatuses: [{name: x, "
                     "resourceClaimName: c}]}}");
    const struct pod *made = f.last_pod->api;
    const struct {
        const struct resource_claim *before, *after;
        enum narrowing want;
    } cases[] = {
        { NULL, &free, EVENT_FOR_SOME }, { &free, held, EVENT_FOR_SOME }, { held, &free, EVENT_FOR_ALL },
        { &free, NULL, EVENT_FOR_SOME }, { held, NULL, EVENT_FOR_ALL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct cluster_event event = { .resource = EVENT_RESOURCE_CLAIM,
                                       .actions = !cases[i].before  ? ACTION_ADD
                                                  : !cases[i].after ? ACTION_DELETE
                                                                    : ACTION_UPDATE,
                                       .before = cases[i].before,
                                       .after = cases[i].after };
        assert_int_equal(event_narrowing(plugin, &event), cases[i].want);
        assert_true(event_affects(plugin, user, &event));
        assert_true(event_affects(plugin, made, &event));
        assert_false(event_affects(plugin, stranger, &event));
    }
    fixture_release(&f);
}

static void test_claim_events(void **state _unused_)
{
    static const struct {
        const char *name, *before, *after;
        bool uses;
        enum hint want;
    } cases[] = {
        { "the pod's claim appears", NULL, WANTS(""), true, HINT_QUEUE },
        { "another claim appears", NULL, WANTS(""), false, HINT_SKIP },
        { "nothing of the status changes", WANTS(""), WANTS(ONE), true, HINT_SKIP },
        { "the claim is allocated", WANTS(""), HOLDS("c", RESULT("p", "x", "")), true, HINT_QUEUE },
        { "another is allocated", WANTS(""), HOLDS("c", RESULT("p", "x", "")), false, HINT_SKIP },
        { "another is not allocated any more", HOLDS("c", RESULT("p", "x", "")), WANTS(""), false,
          HINT_QUEUE },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_dynamic_resources);
        fixture_load(&f, CLAIM("own", "", ""));
        fixture_cycle(&f, cases[i].uses ? USES("c") : USES("own"));
        if (claim_hint(&f, cases[i].before, cases[i].after) != cases[i].want)
            fail_msg("%s", cases[i].name);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter),          cmocka_unit_test(test_picks),
        cmocka_unit_test(test_allocation),      cmocka_unit_test(test_search_ends),
        cmocka_unit_test(test_scores),          cmocka_unit_test(test_claim_events),
        cmocka_unit_test(test_narrowed_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
