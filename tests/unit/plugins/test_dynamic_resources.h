/* test_dynamic_resources.h: objects and searches of the tests of DynamicResources. */
#ifndef UNIT_PLUGINS_TEST_DYNAMIC_RESOURCES_H
#define UNIT_PLUGINS_TEST_DYNAMIC_RESOURCES_H

#include "support/fixture.h"

#include "plugins/dynamic_resources/allocator.h"

extern const struct plugin plugin_dynamic_resources;

#define NODE(name, zone) "{kind: Node, metadata: {name: " name ", labels: {zone: " zone "}}}\n---\n"
#define CLASS(name, spec) "{kind: DeviceClass, metadata: {name: " name "}, spec: {" spec "}}\n---\n"
#define ANY CLASS("any", "")
/* A pool of one slice with the name of the pool; `more` begins with a comma. */
#define SLICE_OF(name, pool, count, where, devices, more) \
    "{kind: ResourceSlice, metadata: {name: " name "}, spec: {driver: d, pool: {name: " pool \
    ", generation: 1, resourceSliceCount: " count "}, " where ", devices: [" devices "]" more "}}\n---\n"
#define SLICE(pool, where, devices) SLICE_OF(pool, pool, "1", where, devices, "")
#define ON_A "nodeName: a"
#define ANYWHERE "allNodes: true"
#define DEV(name, more) "{name: " name more "}"
#define CLAIM(name, devices, status) \
    "{kind: ResourceClaim, metadata: {name: " name ", namespace: default, uid: uid-" name \
    "}, spec: {devices: {" devices "}}" status "}\n---\n"
#define EXACTLY(n, more) "exactly: {deviceClassName: any, allocationMode: ExactCount, count: " n more "}"
#define ALL(more) "exactly: {deviceClassName: any, allocationMode: All" more "}"
#define WANTS(requests) CLAIM("c", "requests: [" requests "]", "")
#define SUB(name, n, more) \
    "{name: " name ", deviceClassName: any, allocationMode: ExactCount, count: " n more "}"
#define HOLDS(name, results) CLAIM(name, "", ", status: {allocation: {devices: {results: [" results "]}}}")
#define RESULT(pool, device, more) "{request: r, driver: d, pool: " pool ", device: " device more "}"
#define POD(more) "{kind: Pod, metadata: {name: p, uid: uid-p}, spec: {" more "}}"
#define USES(claim) POD("resourceClaims: [{name: c, resourceClaimName: " claim "}]")
#define IN_ZONE(zone) "{matchExpressions: [{key: zone, operator: In, values: [" zone "]}]}"
#define NUMA(n) ", attributes: {numa: {int: " n "}}"
#define TAINTED ", taints: [{key: k, effect: NoSchedule}]"
#define SHARED(memory) ", allowMultipleAllocations: true, capacity: {memory: {value: " memory "}}"
#define PART(name, memory) \
    DEV(name, ", consumesCounters: [{counterSet: s, counters: {memory: {value: " memory "}}}]")
#define PARTITIONS(parts) \
    ANY SLICE_OF("parts", "p", "2", ON_A, parts, "") SLICE_OF( \
        "counters", "p", "2", ON_A, "", ", sharedCounters: [{name: s, counters: {memory: {value: 16Gi}}}]")
#define ONE "{name: r, " EXACTLY("1", "") "}"
#define TWO "{name: r, " EXACTLY("2", "") "}"
#define WITH_CONSTRAINT(requests, constraint) \
    CLAIM("c", "requests: [" requests "], constraints: [" constraint "]", "")

/* "request=pool/device", one after the other. */
static inline const char *describe(struct fixture *f, const struct allocation_result *allocation)
{
    struct strbuf text = { 0 };
    char amount[QUANTITY_LEN_MAX];
    list_for(&allocation->devices.results, result) {
        strbuf_printf(&text, "%s" STR_FMT "=" STR_FMT "/" STR_FMT, text.len ? " " : "",
                      STR_ARG(result->request), STR_ARG(result->pool), STR_ARG(result->device));
        list_for(&result->consumed_capacity, part)
            strbuf_printf(&text, "%c" STR_FMT ":" STR_FMT,
                          part == result->consumed_capacity.items ? '(' : ',', STR_ARG(part->name),
                          STR_ARG(quantity_format(part->amount, amount)));
        strbuf_puts(&text, result->consumed_capacity.len ? ")" : "");
    }
    const char *copy = arena_strndup(&f->arena, text.len ? text.text : "", text.len);
    strbuf_release(&text);
    return copy;
}

/* For claim c on node a. *ret is NULL where there is none. */
static inline struct status allocate_claim(struct fixture *f, struct allocation_result **ret)
{
    static struct selectors selectors;
    const struct resource_claim *claim = cluster_get(&f->cluster.claims, STR("default"), STR("c"));
    struct arena scratch = { 0 };
    selectors = (struct selectors){ 0 };
    selectors_prepare(&selectors, &f->cluster.features);
    *ret = NULL;
    struct allocation_rules rules;
    allocation_rules_init(&rules, &f->cluster.features);
    struct status status =
        allocate(&(struct allocate_input){ .cluster = &f->cluster,
                                           .rules = &rules,
                                           .node = cluster_node(&f->cluster, fixture_row(f, "a"))->api,
                                           .claims = &claim,
                                           .len = 1,
                                           .selectors = &selectors,
                                           .scratch = &scratch,
                                           .arena = &f->arena },
                 ret);
    selectors_release(&selectors);
    arena_release(&scratch);
    return status;
}

/* The status of a failure, or what was found. */
static inline const char *outcome(struct fixture *f)
{
    struct allocation_result *ret;
    struct status status = allocate_claim(f, &ret);
    return status_ok(status) ? describe(f, ret) : status_message(status, &f->arena).ptr;
}

/* A cluster of that release, with gates "A=true,B=false". */
static inline void begin(struct fixture *f, int minor, const char *gates)
{
    struct feature_choices choices = { 0 };
    struct error err = { 0 };
    FIXTURE_BARE(f);
    features_default(&f->cluster.features, release_of(minor), 0);
    for (struct str rest = str_from(gates); rest.len;) {
        ptrdiff_t comma = str_find(rest, ',');
        size_t len = comma < 0 ? rest.len : (size_t)comma;
        assert_int_equal(feature_choose(&choices, &f->cluster.features, str_slice(rest, 0, len), &err), 0);
        rest = str_slice(rest, MIN(len + 1, (size_t)rest.len), rest.len);
    }
    if (features_resolve(&choices, &f->cluster.features, &err) < 0)
        fail_msg("%s: %s", gates, err.text);
}

#endif
