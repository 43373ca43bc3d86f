/* Devices that claims hold, stored and assumed, and the pools that a node can use. */
#include "support/fixture.h"

#include "cluster/devices.h"

#define CLAIM(name, version, results) \
    "{kind: ResourceClaim, metadata: {name: " name ", namespace: ns, uid: u-" name \
    ", resourceVersion: '" version "'}, status: {" results "}}"
#define HAS(results) "allocation: {devices: {results: [" results "]}}"
#define COMPLETE(device) "{driver: d, pool: p, device: " device "}"
#define SHARE(device, memory) \
    "{driver: d, pool: p, device: " device ", shareID: s, consumedCapacity: {memory: " memory "}}"

static const struct device_use *use_of(struct fixture *f, const char *device)
{
    return devices_use(&f->cluster, STR("d"), STR("p"), str_from(device));
}

static const struct resource_claim *stored(struct fixture *f, const char *name)
{
    return cluster_get(&f->cluster.claims, STR("ns"), str_from(name));
}

/* The stored claim with an allocation of one complete device. */
static struct resource_claim with_device(struct fixture *f, const char *name,
                                         struct allocation_result *allocation, struct device_result *result,
                                         const char *device)
{
    struct resource_claim claim = *stored(f, name);
    *result = (struct device_result){ .driver = STR("d"), .pool = STR("p"), .device = str_from(device) };
    *allocation = (struct allocation_result){ 0 };
    allocation->devices.results.items = result;
    allocation->devices.results.len = 1;
    claim.status.allocation = allocation;
    return claim;
}

static void test_stored_claims(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, CLAIM("a", "1", HAS(COMPLETE("x") ", " SHARE("z", "2Gi"))));
    fixture_load(
        &f, CLAIM("b", "1", HAS(SHARE("z", "3Gi") ", {driver: d, pool: p, device: w, adminAccess: true}")));
    assert_int_equal(use_of(&f, "x")->whole, 1);
    assert_true(device_is_allocated(use_of(&f, "z")));
    assert_int_equal(use_of(&f, "z")->whole, 0);
    assert_int_equal(use_of(&f, "z")->shares, 2);
    assert_int_equal(use_of(&f, "z")->amounts.items[0].amount.units, (int64_t)5 << 30);
    assert_null(use_of(&f, "w")); /* admin access holds nothing */
    fixture_load(&f, CLAIM("a", "2", ""));
    assert_null(use_of(&f, "x"));
    assert_int_equal(use_of(&f, "z")->amounts.items[0].amount.units, (int64_t)3 << 30);
    cluster_remove_object(&f.cluster, KIND_RESOURCE_CLAIM, STR("ns"), STR("b"));
    assert_null(use_of(&f, "z"));
    fixture_release(&f);
}

static void test_in_flight(void **state _unused_)
{
    struct fixture f;
    struct allocation_result allocation;
    struct device_result result;
    FIXTURE_BARE(&f);
    fixture_load(&f, CLAIM("a", "1", ""));
    struct resource_claim claim = with_device(&f, "a", &allocation, &result, "x");
    devices_take(&f.cluster, &claim);
    assert_true(devices_claim_in_flight(&f.cluster, stored(&f, "a")));
    assert_null(devices_claim(&f.cluster, STR("ns"), STR("a"))->status.allocation);
    assert_int_equal(use_of(&f, "x")->whole, 1);
    fixture_load(&f,
                 CLAIM("a", "2", HAS(COMPLETE("x")))); /* the watch arrives before the answer: counted once */
    assert_int_equal(use_of(&f, "x")->whole, 1);
    devices_drop(&f.cluster, STR("ns"), STR("a"));
    assert_int_equal(use_of(&f, "x")->whole, 1);
    assert_false(devices_claim_in_flight(&f.cluster, stored(&f, "a")));
    fixture_load(&f, CLAIM("a", "3", ""));
    assert_null(use_of(&f, "x"));

    devices_take(&f.cluster, &claim);
    devices_drop(&f.cluster, STR("ns"), STR("a"));
    assert_null(use_of(&f, "x"));
    fixture_release(&f);
}

static void test_written(void **state _unused_)
{
    struct fixture f;
    struct allocation_result allocation;
    struct device_result result;
    FIXTURE_BARE(&f);
    fixture_load(&f, CLAIM("a", "9", ""));
    struct resource_claim claim = with_device(&f, "a", &allocation, &result, "x");
    devices_take(&f.cluster, &claim);
    claim.meta.resource_version = STR("11");
    devices_written(&f.cluster, &claim);
    assert_false(devices_claim_in_flight(&f.cluster, stored(&f, "a")));
    assert_non_null(devices_claim(&f.cluster, STR("ns"), STR("a"))->status.allocation);
    devices_drop(&f.cluster, STR("ns"), STR("a")); /* a written allocation stays */
    assert_int_equal(use_of(&f, "x")->whole, 1);
    fixture_load(&f, CLAIM("a", "10", "")); /* compared as a number */
    assert_non_null(devices_claim(&f.cluster, STR("ns"), STR("a"))->status.allocation);
    assert_int_equal(use_of(&f, "x")->whole, 1);
    fixture_load(&f, CLAIM("a", "12", HAS(COMPLETE("w"))));
    assert_null(use_of(&f, "x"));
    assert_int_equal(use_of(&f, "w")->whole, 1);

    claim.meta.resource_version = STR("11"); /* the watch came before the answer */
    devices_written(&f.cluster, &claim);
    assert_ptr_equal(devices_claim(&f.cluster, STR("ns"), STR("a")), stored(&f, "a"));
    assert_null(use_of(&f, "x"));

    claim.meta.resource_version = STR(""); /* of unknown version: assumed until the stored claim changes */
    devices_written(&f.cluster, &claim);
    assert_int_equal(use_of(&f, "x")->whole, 1);
    assert_null(use_of(&f, "w"));
    cluster_remove_object(&f.cluster, KIND_RESOURCE_CLAIM, STR("ns"), STR("a"));
    assert_null(use_of(&f, "x"));
    assert_null(devices_claim(&f.cluster, STR("ns"), STR("a")));
    fixture_release(&f);
}

/* ---- pools ---- */
/* The pod that an allocation was made for still waits for its devices. */
static void test_held(void **state _unused_)
{
    struct fixture f;
    struct allocation_result allocation;
    struct device_result result;
    FIXTURE_BARE(&f);
    fixture_load(&f, CLAIM("a", "1", ""));
    struct resource_claim claim = with_device(&f, "a", &allocation, &result, "x");
    devices_take(&f.cluster, &claim);
    claim.meta.resource_version = STR("2");
    devices_written(&f.cluster, &claim);
    devices_hold(&f.cluster, &claim);
    assert_int_equal(use_of(&f, "x")->whole, 1);
    fixture_load(&f, CLAIM("a", "2", HAS(COMPLETE("x"))));
    assert_int_equal(use_of(&f, "x")->whole, 1);
    fixture_load(&f, CLAIM("a", "3", "")); /* the allocation was taken away */
    assert_int_equal(use_of(&f, "x")->whole, 1);
    assert_true(devices_claim_in_flight(&f.cluster, stored(&f, "a")));
    devices_let_go(&f.cluster, STR("ns"), STR("a"));
    assert_null(use_of(&f, "x"));
    assert_false(devices_claim_in_flight(&f.cluster, stored(&f, "a")));

    devices_hold(&f.cluster, &claim);
    cluster_remove_object(&f.cluster, KIND_RESOURCE_CLAIM, STR("ns"), STR("a"));
    assert_int_equal(use_of(&f, "x")->whole, 1);
    devices_let_go(&f.cluster, STR("ns"), STR("a"));
    devices_let_go(&f.cluster, STR("ns"), STR("a"));
    assert_null(use_of(&f, "x"));
    fixture_release(&f);
}

#define SLICE(name, pool, where) \
    "{kind: ResourceSlice, metadata: {name: " name "}, spec: {driver: d, pool: {name: " pool "}, " where "}" \
    "}"

static const char *pools_of(struct fixture *f, const char *node)
{
    struct strbuf text = { 0 };
    struct slice_pools pools = devices_pools(&f->cluster, str_from(node), &f->arena);
    for (uint32_t i = 0; i < pools.len; i++)
        strbuf_printf(&text, "%s" STR_FMT ":%u", i ? " " : "", STR_ARG(pools.items[i]->name),
                      pools.items[i]->len);
    const char *copy = arena_strndup(&f->arena, text.len ? text.text : "", text.len);
    strbuf_release(&text);
    return copy;
}

static void test_pools(void **state _unused_)
{
    struct fixture f;
    FIXTURE_BARE(&f);
    assert_string_equal(pools_of(&f, "a"), "");
    fixture_load(&f,
                 SLICE("s1", "q", "nodeName: a") "\n---\n" SLICE("s2", "p", "nodeName: a") "\n---\n" SLICE(
                     "s3", "q", "nodeName: b") "\n---\n" SLICE("s4", "r", "allNodes: true"));
    assert_string_equal(pools_of(&f, "a"), "p:1 q:2 r:1");
    assert_string_equal(pools_of(&f, "b"), "q:2 r:1");
    assert_string_equal(pools_of(&f, "c"), "r:1");
    fixture_load(&f, SLICE("s3", "q", "nodeName: b, sharedCounters: [{name: s}]"));
    assert_string_equal(pools_of(&f, "c"), "q:2 r:1"); /* a slice with shared counters counts on every node */
    cluster_remove_object(&f.cluster, KIND_RESOURCE_SLICE, STR(""), STR("s4"));
    assert_string_equal(pools_of(&f, "c"), "q:2");
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stored_claims), cmocka_unit_test(test_in_flight),
        cmocka_unit_test(test_written),       cmocka_unit_test(test_held),
        cmocka_unit_test(test_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
