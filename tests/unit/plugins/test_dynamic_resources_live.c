/* DynamicResources with an API server: later pods see what Reserve decides at once, PreBind writes it claim by claim,
 * and Unreserve undoes it. Each object has its own memory, which is freed when the object is replaced: the sanitizer
 * reports pointers that were kept. */
#include "support/fixture.h"

#include "cluster/devices.h"
#include "framework/probe.h"
#include "plugins/dynamic_resources/args.h"

extern const struct plugin plugin_dynamic_resources;

#define SECOND ((int64_t)1000000000)
#define NODE_A "{kind: Node, metadata: {name: a}}"
#define CLASS(name, more) "{kind: DeviceClass, metadata: {name: " name "}, spec: {" more "}}"
#define SLICE(devices) \
    "{kind: ResourceSlice, metadata: {name: s}, spec: {driver: d, pool: {name: p, generation: 1, " \
    "resourceSliceCount: " \
    "1}, nodeName: a, devices: [" devices "]}}"
#define REQUEST "{name: r, exactly: {deviceClassName: any, allocationMode: ExactCount, count: 1}}"
#define CLAIM(name, version, meta, status) \
    "{kind: ResourceClaim, metadata: {name: " name ", namespace: default, uid: uid-" name \
    ", resourceVersion: '" version "'" meta "}, spec: {devices: {requests: [" REQUEST \
    "]}}, status: {" status "}}"
#define ALLOCATED(device, more) \
    "allocation: {devices: {results: [{request: r, driver: d, pool: p, device: " device more "}]}}"
#define RESERVED(pod) ", reservedFor: [{resource: pods, name: " pod ", uid: uid-" pod "}]"
#define FINALIZER "resource.kubernetes.io/delete-protection"
#define POD(name, claim) \
    "{kind: Pod, metadata: {name: " name ", uid: uid-" name \
    "}, spec: {resourceClaims: [{name: c, resourceClaimName: " claim "}]}}"

enum { WRITES_MAX = 16, OBJECTS_MAX = 16 };

struct owned {
    enum api_kind kind;
    struct meta *meta;
    struct arena arena;
};

struct live {
    struct fixture f; /* first member: the fixture's hook gets a pointer to it */
    struct owned objects[OBJECTS_MAX];
    size_t objects_len;
    struct owned last;
    struct cycle_writer writer;
    struct effect sent[WRITES_MAX];
    struct answer answers[WRITES_MAX];
    uint32_t writes;
    struct dynamic_resources_args args;
};

static void add(struct fixture *f, enum api_kind kind, struct meta *object)
{
    struct live *live = (struct live *)f;
    live->last.kind = kind;
    live->last.meta = object;
    if (kind == KIND_NODE)
        cluster_set_node(&f->cluster, (const struct node *)object);
    else if (kind == KIND_POD)
        f->last_pod = cluster_add_pod(&f->cluster, (const struct pod *)object);
    else
        assert_true(cluster_set_object(&f->cluster, kind, object, object));
}

/* Adds an object; its previous version is freed. */
static void put(struct live *live, const char *yaml)
{
    struct arena cycles = live->f.arena;
    live->f.arena = (struct arena){ 0 };
    fixture_load(&live->f, yaml);
    size_t at = 0;
    while (at < live->objects_len && (live->objects[at].kind != live->last.kind ||
                                      !str_eq(live->objects[at].meta->name, live->last.meta->name)))
        at++;
    live->objects_len += at == live->objects_len;
    assert_true(live->objects_len <= OBJECTS_MAX);
    arena_release(&live->objects[at].arena);
    live->last.arena = live->f.arena;
    live->objects[at] = live->last;
    live->f.arena = cycles;
}

static const struct answer *write_later(struct cycle_writer *writer, const struct effect *effect)
{
    struct live *live = container_of(writer, struct live, writer);
    assert_true(live->writes < WRITES_MAX);
    live->sent[live->writes] = *effect;
    live->answers[live->writes] = (struct answer){ .kind = ANSWER_PENDING };
    return &live->answers[live->writes++];
}

static void answer(struct live *live, uint32_t write, enum answer_kind kind, const char *version)
{
    assert_true(write < live->writes);
    live->answers[write] = (struct answer){ .kind = kind, .resource_version = str_from(version) };
}

static void live_init(struct live *live)
{
    memset(live, 0, sizeof(*live));
    live->args.binding_timeout_ns = (struct opt_int64){ true, 60 * SECOND };
    const struct dynamic_resources_args *args = &live->args;
    FIXTURE(&live->f, args, &plugin_dynamic_resources);
    live->f.add = add;
    live->writer.write = write_later;
    put(live, NODE_A);
    put(live, CLASS("any", ""));
    put(live, SLICE("{name: x}"));
}

static void live_release(struct live *live)
{
    fixture_release(&live->f);
    for (size_t i = 0; i < live->objects_len; i++)
        arena_release(&live->objects[i].arena);
}

/* A cycle of the pod up to Filter. */
static struct status filter_pod(struct live *live, const char *pod)
{
    fixture_cycle(&live->f, pod);
    live->f.cycle.writer = &live->writer;
    live->f.cycle.now_ns = 1000 * SECOND;
    return fixture_filter(&live->f, "a");
}

static void reserve(struct live *live, const char *pod)
{
    assert_status(filter_pod(live, pod), STATUS_SUCCESS, "");
    assert_status(run_reserve(&live->f.cycle, fixture_row(&live->f, "a")), STATUS_SUCCESS, "");
}

static struct status pre_bind(struct live *live)
{
    live->f.cycle.current = &live->f.profile.plugins[0];
    live->f.cycle.wake_ns = 0;
    return plugin_dynamic_resources.pre_bind(&live->f.cycle, fixture_row(&live->f, "a"));
}

static void unreserve(struct live *live)
{
    live->f.cycle.current = &live->f.profile.plugins[0];
    plugin_dynamic_resources.unreserve(&live->f.cycle, 0);
}

static struct status post_filter(struct live *live)
{
    struct post_filter_result result = { .nominated_row = ROW_NONE };
    live->f.cycle.current = &live->f.profile.plugins[0];
    return plugin_dynamic_resources.post_filter(&live->f.cycle, NULL, &result);
}

static uint32_t holders(struct live *live, const char *device)
{
    const struct device_use *use = devices_use(&live->f.cluster, STR("d"), STR("p"), str_from(device));
    return use ? use->whole : 0;
}

static const struct resource_claim *claim_of(struct live *live, const char *name)
{
    return devices_claim(&live->f.cluster, STR("default"), str_from(name));
}

static void assert_sent(const struct live *live, uint32_t write, enum effect_kind kind, const char *name,
                        const char *body)
{
    assert_true(write < live->writes);
    const struct effect *sent = &live->sent[write];
    assert_int_equal(sent->kind, kind);
    assert_str(sent->namespace, "default");
    assert_str(sent->name, name);
    if (body && !str_is(sent->body, body))
        fail_msg("sent " STR_FMT "\nwant %s", STR_ARG(sent->body), body);
}

/* ---- success ---- */
#define STATUS_BODY(version, device) \
    "{\"metadata\":{\"uid\":\"uid-c\",\"resourceVersion\":\"" version "\"},\"status\":{\"allocation\":{" \
    "\"allocationTimestamp\":\"1970-01-01T00:16:40Z\",\"devices\":{\"results\":[{\"device\":\"" device \
    "\",\"driver\":\"d\",\"pool\":\"p\",\"request\":\"r\"}]}," \
    "\"nodeSelector\":{\"nodeSelectorTerms\":[{\"matchFields\":[{\"key\":\"metadata.name\",\"operator\":" \
    "\"In\"," \
    "\"values\":[\"a\"]}]}]}},\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"uid-p\"}]}}"

static void test_allocation_is_written(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", "", ""));
    put(&live, CLAIM("d", "5", "", ""));
    reserve(&live, POD("p", "c"));
    assert_int_equal(holders(&live, "x"), 1);
    put(&live, CLAIM("c", "5", "", "")); /* the object that Reserve saw is replaced by an equal one */
    put(&live, SLICE("{name: x}"));
    assert_int_equal(holders(&live, "x"), 1);
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.writes, 1);
    assert_sent(&live, 0, EFFECT_CLAIM_PATCH, "c",
                "{\"metadata\":{\"uid\":\"uid-c\",\"resourceVersion\":\"5\",\"finalizers\":[\"" FINALIZER
                "\"]}}");
    answer(&live, 0, ANSWER_DONE, "6");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_sent(&live, 1, EFFECT_CLAIM_STATUS, "c", STATUS_BODY("6", "x"));
    assert_null(claim_of(&live, "c")->status.allocation);
    answer(&live, 1, ANSWER_DONE, "7");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    /* The written claim is used until the model has a version as new. */
    assert_non_null(claim_of(&live, "c")->status.allocation);
    put(&live, CLAIM("c", "6", ", finalizers: [" FINALIZER "]", ""));
    assert_non_null(claim_of(&live, "c")->status.allocation);
    assert_int_equal(holders(&live, "x"), 1);
    put(&live, CLAIM("c", "7", ", finalizers: [" FINALIZER "]", ALLOCATED("x", "") RESERVED("p")));
    assert_int_equal(holders(&live, "x"), 1);
    put(&live, CLAIM("c", "8", "", ""));
    assert_null(claim_of(&live, "c")->status.allocation);
    assert_int_equal(holders(&live, "x"), 0);
    live_release(&live);
}

/* Concurrent pods see the device as allocated, and must not use the claim before it is written. */
static void test_others_meanwhile(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", ", finalizers: [" FINALIZER "]", ""));
    put(&live, CLAIM("e", "5", "", ""));
    reserve(&live, POD("p", "c"));
    struct cycle first = live.f.cycle;
    live.f.cycle.profile = NULL;
    assert_status(filter_pod(&live, POD("q", "e")), STATUS_UNRESOLVABLE, "cannot allocate all claims");
    assert_status(post_filter(&live), STATUS_UNSCHEDULABLE, "");
    assert_status(filter_pod(&live, POD("s", "c")), STATUS_UNRESOLVABLE,
                  "resource claim default/c is in the process of being allocated");
    cycle_release(&live.f.cycle);
    live.f.cycle = first;
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_sent(&live, 0, EFFECT_CLAIM_STATUS, "c",
                STATUS_BODY("5", "x")); /* the claim already had its finalizer */
    answer(&live, 0, ANSWER_DONE, "6");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_status(filter_pod(&live, POD("s", "c")), STATUS_SUCCESS, ""); /* claims may be shared */
    live_release(&live);
}

/* An allocated claim is only reserved; a reserved claim needs no write. */
static void test_reservation(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", "", ALLOCATED("x", "") RESERVED("other")));
    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.writes, 1);
    assert_sent(&live, 0, EFFECT_CLAIM_STATUS, "c",
                "{\"metadata\":{\"uid\":\"uid-c\",\"resourceVersion\":\"5\"},\"status\":{\"allocation\":{"
                "\"allocationTimestamp\":\"1970-01-01T00:16:40Z\"},"
                "\"reservedFor\":[{\"resource\":\"pods\",\"name\":\"p\",\"uid\":\"uid-p\"}]}}");
    answer(&live, 0, ANSWER_REFUSED, "");
    live.answers[0].message = STR("no");
    assert_status(pre_bind(&live), STATUS_ERROR, "add reservation to claim default/c: no");
    unreserve(&live);
    assert_int_equal(live.writes, 1);
    assert_int_equal(holders(&live, "x"), 1);

    put(&live, CLAIM("c", "9", "", ALLOCATED("x", "") RESERVED("p")));
    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(live.writes, 1);
    live_release(&live);
}

/* ---- unreserve ---- */
static void test_unreserve(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", ", finalizers: [" FINALIZER "]", ""));
    reserve(&live, POD("p", "c"));
    unreserve(&live); /* before anything was sent */
    assert_int_equal(holders(&live, "x"), 0);
    assert_int_equal(live.writes, 0);

    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_DONE, "6");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    unreserve(&live); /* the allocation stays, the reservation goes */
    assert_int_equal(holders(&live, "x"), 1);
    assert_sent(&live, 1, EFFECT_CLAIM_STATUS, "c",
                "{\"metadata\":{\"uid\":\"uid-c\"},\"status\":{\"reservedFor\":[{\"$patch\":\"delete\","
                "\"uid\":\"uid-p\"}]}}");
    live_release(&live);
}

/* ---- conflicts ---- */
static void test_conflict(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", "", ""));
    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_CONFLICT, "");
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* the newer version has not arrived */
    assert_int_equal(live.writes, 1);
    assert_true(live.f.cycle.wake_ns > live.f.cycle.now_ns);
    put(&live, CLAIM("c", "8", ", finalizers: [" FINALIZER "]", ""));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_sent(&live, 1, EFFECT_CLAIM_STATUS, "c", STATUS_BODY("8", "x"));
    answer(&live, 1, ANSWER_CONFLICT, "");
    put(&live, CLAIM("c", "9", "", ALLOCATED("w", "")));
    assert_status(pre_bind(&live), STATUS_ERROR, "claim default/c got allocated elsewhere in the meantime");
    unreserve(&live);
    assert_int_equal(holders(&live, "x"), 0);
    assert_int_equal(holders(&live, "w"), 1);
    live_release(&live);
}

/* The write succeeded but its answer was lost: the retry gets a conflict. */
static void test_conflict_with_itself(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", ", finalizers: [" FINALIZER "]", ""));
    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, CLAIM("c", "6", "", ALLOCATED("x", "") RESERVED("p")));
    answer(&live, 0, ANSWER_CONFLICT, "");
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(holders(&live, "x"), 1);
    live_release(&live);
}

static void test_conflict_ends(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", ", finalizers: [" FINALIZER "]", ""));
    reserve(&live, POD("p", "c"));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    answer(&live, 0, ANSWER_CONFLICT, "");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    live.f.cycle.now_ns += 60 * SECOND;
    assert_status(
        pre_bind(&live), STATUS_ERROR,
        "add allocation and reservation to claim default/c: Operation cannot be fulfilled on "
        "resourceclaims.resource.k8s.io \"c\": the object has been modified; please apply your changes to "
        "the latest version and try again");
    live_release(&live);
}

/* ---- devices that must be prepared ---- */
#define PREPARED ", bindingConditions: [ready], bindingFailureConditions: [broken]"
#define DEVICE_CONDITION(type, more) \
    ", devices: [{driver: d, pool: p, device: x, conditions: [{type: " type ", status: 'True'" more "}]}]"

static void begin_preparation(struct live *live)
{
    live_init(live);
    put(live, SLICE("{name: x" PREPARED "}"));
    put(live, CLAIM("c", "5", ", finalizers: [" FINALIZER "]", ""));
    reserve(live, POD("p", "c"));
    assert_status(pre_bind(live), STATUS_WAIT, "");
    answer(live, 0, ANSWER_DONE, "6");
    assert_status(pre_bind(live), STATUS_WAIT, "");
    assert_int_equal(live->writes, 2);
    assert_int_equal(live->sent[1].kind, EFFECT_EVENT);
    assert_str(live->sent[1].event.reason, "BindingConditionsPending");
    assert_str(live->sent[1].event.note, "waiting for binding conditions for device on node a");
    assert_status(pre_bind(live), STATUS_WAIT, "");
    assert_int_equal(live->writes, 2); /* written once */
}

/* The ends that were told, and the devices. */
struct ends {
    uint32_t counts[WAIT_END_ERROR + 1], with_conditions;
};

static int64_t no_time(void *context _unused_)
{
    return 1;
}

static void count_device(void *context, const struct profile *profile, struct str driver, bool has_conditions,
                         enum probe_wait_end end, int64_t ns)
{
    struct ends *ends = context;
    assert_non_null(profile);
    assert_str(driver, "d");
    assert_true(ns >= 0);
    ends->counts[end]++;
    ends->with_conditions += has_conditions;
}

static void test_preparation(void **state _unused_)
{
    struct live live;
    struct ends ends = { 0 };
    const struct probe probe = { .context = &ends, .now_ns = no_time, .device = count_device };
    begin_preparation(&live);
    live.f.cycle.probe = &probe;
    put(&live, CLAIM("c", "7", "", ALLOCATED("x", PREPARED) RESERVED("p") DEVICE_CONDITION("other", "")));
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    put(&live, CLAIM("c", "8", "", ALLOCATED("x", PREPARED) RESERVED("p") DEVICE_CONDITION("ready", "")));
    assert_int_equal(ends.counts[WAIT_END_SUCCESS], 0);
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(ends.counts[WAIT_END_SUCCESS], 1);
    live_release(&live);

    begin_preparation(&live);
    live.f.cycle.probe = &probe;
    put(&live, CLAIM("c", "7", "",
                     ALLOCATED("x", PREPARED) RESERVED("p")
                         DEVICE_CONDITION("broken", ", reason: Smoke, message: hot")));
    assert_status(pre_bind(&live), STATUS_ERROR,
                  "device binding failed: claim=c, reason=Smoke, message=\"hot\"");
    assert_int_equal(ends.counts[WAIT_END_FAILURE], 1);
    live_release(&live);

    begin_preparation(&live);
    live.f.cycle.probe = &probe;
    live.f.cycle.now_ns += 61 * SECOND;
    assert_status(pre_bind(&live), STATUS_ERROR, "device binding timeout: claim=c");
    assert_int_equal(ends.counts[WAIT_END_TIMEOUT], 1);
    assert_int_equal(ends.with_conditions, 3);
    live_release(&live);
}

/* ---- PostFilter ---- */
#define ELSEWHERE \
    ", nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: " \
    "[b]}]}]}"
#define ALLOCATED_ELSEWHERE \
    "allocation: {devices: {results: [{request: r, driver: d, pool: p, device: z}]}" ELSEWHERE "}"

static void test_deallocation(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "5", "", ALLOCATED_ELSEWHERE RESERVED("other")));
    assert_status(filter_pod(&live, POD("p", "c")), STATUS_UNRESOLVABLE,
                  "resourceclaim not available on the node");
    assert_status(post_filter(&live), STATUS_UNSCHEDULABLE, "");
    assert_int_equal(live.writes, 0);
    put(&live, CLAIM("c", "6", "", ALLOCATED_ELSEWHERE RESERVED("p")));
    assert_status(filter_pod(&live, POD("p", "c")), STATUS_UNRESOLVABLE,
                  "resourceclaim not available on the node");
    assert_status(post_filter(&live), STATUS_UNSCHEDULABLE, "deallocation of ResourceClaim completed");
    assert_sent(&live, 0, EFFECT_CLAIM_STATUS, "c",
                "{\"metadata\":{\"uid\":\"uid-c\",\"resourceVersion\":\"6\"},"
                "\"status\":{\"allocation\":null,\"devices\":null,\"reservedFor\":null}}");
    live_release(&live);
}

/* ---- extended resources ---- */
#define GREEDY \
    "{kind: Pod, metadata: {name: p, uid: uid-p}, spec: {initContainers: [{name: i, resources: {requests: " \
    "{example.com/gpu: 2}}}], containers: [{name: c, resources: {requests: {cpu: 1, example.com/gpu: " \
    "1}}}]}}"

static void test_extended_resource(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLASS("any", "extendedResourceName: example.com/gpu"));
    put(&live, SLICE("{name: x}, {name: w}"));
    reserve(&live, GREEDY);
    assert_int_equal(holders(&live, "x"), 1);
    assert_int_equal(holders(&live, "w"), 1);
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    const struct effect *create = &live.sent[0];
    assert_int_equal(create->kind, EFFECT_CLAIM_CREATE);
    assert_int_equal(create->name.len, 0);
    assert_true(str_contains(create->body, STR("\"name\":\"p-extended-resources-")));
    assert_true(
        str_contains(create->body, STR("\"resource.kubernetes.io/extended-resource-claim\":\"true\"")));
    assert_true(str_contains(
        create->body,
        STR("\"requests\":[{\"exactly\":{\"allocationMode\":\"ExactCount\",\"count\":1,\"deviceClassName\":"
            "\"any\"},"
            "\"name\":\"container-0-request-0\"},"
            "{\"exactly\":{\"allocationMode\":\"ExactCount\",\"count\":1,\"deviceClassName\":\"any\"},"
            "\"name\":\"container-1-request-1\"}]")));
    live.answers[0] =
        (struct answer){ .kind = ANSWER_DONE, .resource_version = STR("1"), .uid = STR("made") };
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.sent[1].kind, EFFECT_CLAIM_PATCH);
    struct str name = live.sent[1].name;
    assert_true(str_starts_with(name, STR("p-extended-resources-")));
    answer(&live, 1, ANSWER_DONE, "2");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_int_equal(live.sent[2].kind, EFFECT_CLAIM_STATUS);
    answer(&live, 2, ANSWER_DONE, "3");
    assert_status(pre_bind(&live), STATUS_WAIT, "");
    assert_sent(&live, 3, EFFECT_POD_CLAIM, "p", NULL);
    assert_true(
        str_contains(live.sent[3].body,
                     STR("\"requestMappings\":[{\"containerName\":\"c\",\"resourceName\":\"example.com/gpu\","
                         "\"requestName\":\"container-1-request-1\"},"
                         "{\"containerName\":\"i\",\"resourceName\":\"example.com/gpu\","
                         "\"requestName\":\"container-1-request-1\"},"
                         "{\"containerName\":\"i\",\"resourceName\":\"example.com/gpu\","
                         "\"requestName\":\"container-0-request-0\"}]")));
    answer(&live, 3, ANSWER_DONE, "9");
    assert_status(pre_bind(&live), STATUS_WAIT, ""); /* until the watch has seen the claim */
    assert_int_equal(holders(&live, "x"), 1);
    char yaml[512];
    snprintf(yaml, sizeof(yaml),
             "{kind: ResourceClaim, metadata: {name: " STR_FMT
             ", namespace: default, uid: made, resourceVersion: '1'}}",
             STR_ARG(name));
    put(&live, yaml);
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(holders(&live, "x"), 1);
    assert_int_equal(holders(&live, "w"), 1);
    unreserve(&live); /* the pod was not bound: the claim is deleted */
    assert_int_equal(live.writes, 6);
    assert_int_equal(live.sent[4].kind, EFFECT_CLAIM_PATCH);
    assert_int_equal(live.sent[5].kind, EFFECT_CLAIM_DELETE);
    assert_str(live.sent[5].uid, "made");
    live_release(&live);
}

/* Without an API server everything takes effect at once. */
static void test_offline(void **state _unused_)
{
    struct live live;
    live_init(&live);
    put(&live, CLAIM("c", "", "", ""));
    put(&live, CLAIM("e", "", "", ""));
    reserve(&live, POD("p", "c"));
    live.f.cycle.writer = NULL;
    assert_status(pre_bind(&live), STATUS_SUCCESS, "");
    assert_int_equal(holders(&live, "x"), 1);
    assert_status(filter_pod(&live, POD("q", "c")), STATUS_SUCCESS, "");
    assert_status(filter_pod(&live, POD("s", "e")), STATUS_UNRESOLVABLE, "cannot allocate all claims");
    live_release(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocation_is_written),
        cmocka_unit_test(test_others_meanwhile),
        cmocka_unit_test(test_reservation),
        cmocka_unit_test(test_unreserve),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_conflict_with_itself),
        cmocka_unit_test(test_conflict_ends),
        cmocka_unit_test(test_preparation),
        cmocka_unit_test(test_deallocation),
        cmocka_unit_test(test_extended_resource),
        cmocka_unit_test(test_offline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
