/* What the allocator of DynamicResources finds, or why it fails, by release and feature gates. */
#include "test_dynamic_resources.h"

struct release_case {
    const char *name, *objects;
    const char *want_36, *want_37; /* "request=pool/device", or the text of the failure */
};

#define OTHER_SHARE(memory) \
    HOLDS("o", RESULT("p", "x", ", shareID: i, consumedCapacity: {memory: " memory "}"))
#define WANTS_MEMORY(memory) \
    WANTS("{name: r, " EXACTLY("1", ", capacity: {requests: {memory: " memory "}}") "}")
#define STEPPED(value, range) \
    ANY SLICE("p", ON_A, \
              DEV("x", ", allowMultipleAllocations: true, capacity: {memory: {value: " value \
                       ", requestPolicy: {default: 1, validRange: {" range "}}}}"))
#define NOT_FOUND "cannot allocate all claims"

static const struct release_case cases[] = {
    { "all devices, one of which has too little left",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi")) ", " DEV("w", SHARED("10Gi"))) OTHER_SHARE("7Gi")
          WANTS("{name: r, " ALL(", capacity: {requests: {memory: 4Gi}}") "}"),
      "r=p/w(memory:4Gi)", NOT_FOUND },
    { "all devices, one of which is too small",
      ANY SLICE("p", ON_A, DEV("x", SHARED("2Gi")) ", " DEV("w", SHARED("10Gi")))
          WANTS("{name: r, " ALL(", capacity: {requests: {memory: 4Gi}}") "}"),
      "r=p/w(memory:4Gi)", "r=p/w(memory:4Gi)" },
    { "different from every device of the request",
      ANY SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("1")) ", " DEV("z", NUMA("0")))
          WITH_CONSTRAINT("{name: r, " EXACTLY("3", "") "}", "{distinctAttribute: d/numa}"),
      "r=p/x r=p/w r=p/z", NOT_FOUND },
    { "too many devices",
      ANY SLICE("p", ON_A, DEV("x", ""))
          WANTS("{name: r, " EXACTLY("20", "") "}, {name: s, " EXACTLY("20", "") "}"),
      "claim default/c: number of requested devices 40 exceeds the claim limit of 32",
      "claim default/c, request s: adding 20 devices exceeds the claim limit of 32, with 20 already "
      "accounted "
      "for" },
    { "a selector that fails",
      ANY SLICE("p", ON_A, DEV("x", "")) WANTS("{name: r, " EXACTLY(
          "1", ", selectors: [{cel: {expression: 'device.attributes[\"d\"].x == 1'}}]") "}"),
      "claim default/c: selector #0: CEL runtime error: no such key: x",
      "claim default/c: selector #0 on device d/p/x: CEL runtime error: no such key: x. consider using CEL "
      "optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields" },
    { "a selector that does not compile",
      ANY SLICE("p", ON_A, DEV("x", ""))
          WANTS("{name: r, " EXACTLY("1", ", selectors: [{cel: {expression: 'device.driver + 1'}}]") "}"),
      "claim default/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:15: found no "
      "matching overload for '_+_' applied to '(string, int)'\n | device.driver + 1\n | ..............^",
      "claim default/c: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:15: found no "
      "matching overload for '_+_' applied to '(string, int)'\n | device.driver + 1\n | ..............^" },
    { "rounded up, in the format of the step", STEPPED("1000k", "min: 1, step: 1024") WANTS_MEMORY("1100"),
      "r=p/x(memory:2049)", "r=p/x(memory:2049)" },
    { "rounded up to what both formats write differently",
      STEPPED("1000k", "min: 0, step: 1000") WANTS_MEMORY("127100"), "r=p/x(memory:125Ki)",
      "r=p/x(memory:128k)" },
    { "a step beyond 64 bits", STEPPED("9223372036854775807", "min: 1, step: 1Gi") WANTS_MEMORY("8Ei"),
      "r=p/x(memory:-9223372036854775807)",
      "claim default/c, request r: checking capacity for device d/p/x: capacity \"memory\": capacity request "
      "cannot be represented in the device's range arithmetic: rounding request 9223372036854775807 up to "
      "the "
      "next step passes MaxInt64" },
    { "a negative capacity", ANY SLICE("p", ON_A, DEV("x", SHARED("-1"))) WANTS(ONE), "r=p/x(memory:-1)",
      "claim default/c, request r: checking capacity for device d/p/x: capacity \"memory\": capacity value "
      "is "
      "negative" },
    { "a negative capacity of all devices",
      ANY SLICE("p", ON_A, DEV("x", SHARED("-1"))) WANTS("{name: r, " ALL("") "}"), "r=p/x(memory:-1)",
      "claim default/c, request r: checking capacity for device x: capacity \"memory\": capacity value is "
      "negative" },
    { "counters of a share without capacity",
      PARTITIONS("{name: x, allowMultipleAllocations: true, consumesCounters: [{counterSet: s, counters: "
                 "{memory: {value: 10Gi}}}]}") HOLDS("o", RESULT("p", "x", ", shareID: i")) WANTS(ONE),
      NOT_FOUND, "r=p/x" },
};

static void check(const char *name, int minor, const char *gates, const char *objects, const char *want)
{
    struct fixture f;
    begin(&f, minor, gates);
    fixture_load(&f, NODE("a", "z"));
    fixture_load(&f, objects);
    const char *got = outcome(&f);
    if (strcmp(got, want) != 0)
        fail_msg("%s, 1.%d %s: got \"%s\", want \"%s\"", name, minor, gates, got, want);
    fixture_release(&f);
}

static void test_releases(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        check(cases[i].name, 36, "", cases[i].objects, cases[i].want_36);
        check(cases[i].name, 37, "", cases[i].objects, cases[i].want_37);
    }
}

struct gate_case {
    const char *name;
    int minor;
    const char *gates, *objects, *want;
};

#define RULE(name, spec) "{kind: DeviceTaintRule, metadata: {name: " name "}, spec: {" spec "}}\n---\n"
#define TAINT "taint: {key: k, effect: NoSchedule}"
#define TWO_DEVICES ANY SLICE("p", ON_A, DEV("x", "") ", " DEV("w", ""))
#define RULE_FOR_X RULE("r", "deviceSelector: {driver: d, pool: p, device: x}, " TAINT)
#define RULE_FOR_ALL RULE("r", TAINT)
#define OLDEST "DRAConsumableCapacity=false,DRADeviceBindingConditions=false"
#define STATUS_OFF \
    "DRADeviceBindingConditions=false,DRAResourceClaimDeviceStatus=false," \
    "DRAResourceClaimGranularStatusAuthorization=false"
#define FRACTIONS STEPPED("10", "min: 500m, step: 500m")
#define DERIVED WANTS("{name: r, " EXACTLY("1", ", derivedAttributes: [{name: d/side, expression: '1'}]") "}")
#define NUMBERED ANY SLICE("p", ON_A, DEV("x", NUMA("0")) ", " DEV("w", NUMA("1")) ", " DEV("z", NUMA("2")))
#define DERIVING(expression, constraint) \
    WITH_CONSTRAINT("{name: r, " EXACTLY( \
                        "2", ", derivedAttributes: [{name: d/side, expression: '" expression "'}]") "}", \
                    "{" constraint ": d/side}")
#define GROUPED(name, groups) \
    DEV(name, ", consumesCounters: [{counterSet: s, counters: {memory: {value: 1Gi}}, " \
              "compatibilityGroups: " groups "}]")
#define LINKS(list) ", attributes: {links: {ints: " list "}}"
#define LISTED(x, w, z) \
    ANY SLICE("p", ON_A, DEV("x", LINKS(x)) ", " DEV("w", LINKS(w)) ", " DEV("z", LINKS(z)))
#define FOUR_LISTED \
    ANY SLICE("p", ON_A, \
              DEV("x", LINKS("[1, 2]")) ", " DEV("w", LINKS("[1]")) ", " DEV("z", LINKS("[2]")) ", " DEV( \
                  "'y'", LINKS("[2]")))
#define THREE "{name: r, " EXACTLY("3", "") "}"
#define SEES_LIST ", selectors: [{cel: {expression: '2 in device.attributes[\"d\"].links'}}]"
/* A slice of the pool is still missing. */
#define OTHER_COUNTERS \
    ANY SLICE_OF("counters", "p", "2", "nodeName: b", "", \
                 ", sharedCounters: [{name: s, counters: {memory: {value: 16Gi}}}]") \
        SLICE("q", ON_A, DEV("w", ""))

static const struct gate_case gate_cases[] = {
    { "a rule for a device", 37, "", TWO_DEVICES RULE_FOR_X WANTS(ONE), "r=p/w" },
    { "rules are off", 37, "DRADeviceTaintRules=false", TWO_DEVICES RULE_FOR_X WANTS(ONE), "r=p/x" },
    { "rules are off by default", 36, "", TWO_DEVICES RULE_FOR_X WANTS(ONE), "r=p/x" },
    { "rules are on", 36, "DRADeviceTaintRules=true", TWO_DEVICES RULE_FOR_X WANTS(ONE), "r=p/w" },
    { "taints are off", 37, "DRADeviceTaintRules=false,DRADeviceTaints=false",
      ANY SLICE("p", ON_A, DEV("x", TAINTED) ", " DEV("w", "")) WANTS(ONE), "r=p/x" },
    { "a rule for another driver", 37, "",
      TWO_DEVICES RULE("r", "deviceSelector: {driver: e}, " TAINT) WANTS(ONE), "r=p/x" },
    { "a rule for another pool", 37, "",
      TWO_DEVICES RULE("r", "deviceSelector: {pool: q}, " TAINT) WANTS(ONE), "r=p/x" },
    { "a rule for all devices", 37, "", TWO_DEVICES RULE("r", "deviceSelector: {}, " TAINT) WANTS(ONE),
      NOT_FOUND },
    { "a rule without a selector", 37, "", TWO_DEVICES RULE_FOR_ALL WANTS(ONE), "r=p/x" },
    { "a rule without a selector", 36, "DRADeviceTaintRules=true", TWO_DEVICES RULE_FOR_ALL WANTS(ONE),
      NOT_FOUND },
    { "a rule that is tolerated", 37, "",
      TWO_DEVICES RULE_FOR_X WANTS(
          "{name: r, " EXACTLY("1", ", tolerations: [{key: k, operator: Exists}]") "}"),
      "r=p/x" },
    { "a rule without an effect for scheduling", 37, "",
      TWO_DEVICES RULE("r", "deviceSelector: {}, taint: {key: k, effect: None}") WANTS(ONE), "r=p/x" },
    { "alternatives are off", 36, "DRAPrioritizedList=false",
      TWO_DEVICES WANTS("{name: r, firstAvailable: [" SUB("one", "1", "") "]}"),
      "claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is disabled" },
    { "shares are off", 37, "DRAConsumableCapacity=false",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi")) ", " DEV("w", SHARED("10Gi"))) OTHER_SHARE("1Gi")
          WANTS(ONE),
      "r=p/w" },
    { "shares are off, one is wanted", 37, "DRAConsumableCapacity=false",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi"))) WANTS_MEMORY("1Gi"),
      "claim default/c, request r: has capacity requests, but the DRAConsumableCapacity feature is "
      "disabled" },
    { "shares are off, an alternative wants one", 36, "DRAConsumableCapacity=false",
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi")))
          WANTS("{name: r, firstAvailable: [" SUB("one", "1", ", capacity: {requests: {memory: 1Gi}}") "]}"),
      "claim default/c, subrequest one: has capacity requests, but the DRAConsumableCapacity feature is "
      "disabled" },
    { "the oldest allocator takes no notice of capacity", 37, OLDEST,
      ANY SLICE("p", ON_A, DEV("x", SHARED("10Gi"))) WANTS_MEMORY("11Gi"), "r=p/x" },
    { "the oldest allocator does not know distinctAttribute", 37, OLDEST,
      TWO_DEVICES WITH_CONSTRAINT(TWO, "{distinctAttribute: d/numa}"),
      "claim default/c, constraint #0: empty constraint (unsupported constraint type?)" },
    { "partitions are off", 37, "DRAPartitionableDevices=false", PARTITIONS(PART("x", "1Gi")) WANTS(ONE),
      NOT_FOUND },
    { "partitions are off, the pool has another device", 36, "DRAPartitionableDevices=false",
      PARTITIONS(PART("x", "1Gi") ", " DEV("w", "")) WANTS(ONE), "r=p/w" },
    { "partitions are off, devices have nodes of their own", 37, "DRAPartitionableDevices=false",
      ANY SLICE("p", "perDeviceNodeSelection: true", DEV("x", ", nodeName: a")) WANTS(ONE), NOT_FOUND },
    { "preparation is off", 37, "DRADeviceBindingConditions=false",
      ANY SLICE("p", ON_A, DEV("x", ", bindingConditions: [ready]") ", " DEV("w", "")) WANTS(ONE), "r=p/w" },
    { "preparation is off by the status", 36, STATUS_OFF,
      ANY SLICE("p", ON_A, DEV("x", ", bindingConditions: [ready]") ", " DEV("w", "")) WANTS(ONE), "r=p/w" },
    { "fractions are off", 37, "", FRACTIONS WANTS_MEMORY("1200m"), "r=p/x(memory:2)" },
    { "fractions", 37, "DRAFractionalCapacityRange=true", FRACTIONS WANTS_MEMORY("1200m"),
      "r=p/x(memory:1500m)" },
    { "a fraction that is too fine", 37, "DRAFractionalCapacityRange=true",
      FRACTIONS WANTS_MEMORY("1200001u"),
      "claim default/c, request r: checking capacity for device d/p/x: capacity \"memory\": capacity request "
      "cannot be represented in the device's range arithmetic: request 1200001u is not a representable milli "
      "value" },
    { "derived attributes are off", 37, "", TWO_DEVICES DERIVED,
      "claim default/c, request r: cannot handle request with derived attributes, the feature is disabled" },
    { "derived attributes", 37, "DRADerivedAttributes=true",
      NUMBERED DERIVING("device.attributes[\"d\"].numa % 2", "matchAttribute"), "r=p/x r=p/z" },
    { "derived attributes that differ", 37, "DRADerivedAttributes=true",
      NUMBERED DERIVING("device.attributes[\"d\"].numa % 2 == 0", "distinctAttribute"), "r=p/x r=p/w" },
    { "derived versions", 37, "DRADerivedAttributes=true",
      NUMBERED DERIVING("semver(\"1.2.\" + string(device.attributes[\"d\"].numa % 2) + \"+b\")",
                        "matchAttribute"),
      "r=p/x r=p/z" },
    { "derived lists", 37, "DRADerivedAttributes=true,DRAListTypeAttributes=true",
      NUMBERED DERIVING("[device.attributes[\"d\"].numa / 2, device.attributes[\"d\"].numa * 1]",
                        "matchAttribute"),
      "r=p/x r=p/w" },
    { "a derived attribute that does not compile", 37, "DRADerivedAttributes=true",
      NUMBERED DERIVING("1.5", "matchAttribute"),
      "compile derived attribute d/side failed: must evaluate to a primitive scalar (string, integer, "
      "boolean, "
      "semver) or a list of these scalars, not double" },
    { "a derived attribute that fails", 37, "DRADerivedAttributes=true",
      NUMBERED DERIVING("device.attributes[\"d\"].x", "matchAttribute"),
      "evaluate derived attribute d/side on device d/p/x failed: no such key: x" },
    { "derived attributes are not known", 36, "", TWO_DEVICES DERIVED, "r=p/x" },
    { "compatibility groups are off: the pool is not complete", 37, "",
      PARTITIONS(GROUPED("x", "[g]") ", " DEV("w", "")) WANTS(ONE), NOT_FOUND },
    { "compatibility groups are not known", 36, "", PARTITIONS(GROUPED("x", "[g]")) WANTS(ONE), "r=p/x" },
    { "the first device with a group in common", 37, "DRADeviceCompatibilityGroups=true",
      PARTITIONS(GROUPED("x", "[g, h]") ", " GROUPED("w", "[i]") ", " GROUPED("z", "[h]")) WANTS(TWO),
      "r=p/x r=p/z" },
    { "a group of all three", 37, "DRADeviceCompatibilityGroups=true",
      PARTITIONS(GROUPED("x", "[g, h]") ", " GROUPED("w", "[g]") ", " GROUPED("z", "[h]"))
          WANTS("{name: r, " EXACTLY("3", "") "}"),
      NOT_FOUND },
    { "groups of an allocated device", 37, "DRADeviceCompatibilityGroups=true",
      PARTITIONS(GROUPED("x", "[g]") ", " GROUPED("w", "[]") ", " GROUPED("z", "[h, g]"))
          HOLDS("o", RESULT("p", "x", "")) WANTS(ONE),
      "r=p/z" },
    { "no groups", 37, "DRADeviceCompatibilityGroups=true",
      PARTITIONS(GROUPED("x", "[]") ", " GROUPED("w", "[g]") ", " GROUPED("z", "[]")) WANTS(TWO),
      "r=p/x r=p/z" },
    { "operations that are skipped", 37, "",
      ANY SLICE_OF("p", "p", "1", ON_A, DEV("x", ""), ", skipNodeOperations: [PrepareResources]") WANTS(ONE),
      "r=p/x" },
    { "operations that the node cannot skip", 37, "DRAOptionalNodeOperations=true",
      ANY SLICE_OF("p", "p", "1", ON_A, DEV("x", ""), ", skipNodeOperations: [PrepareResources]") WANTS(ONE),
      NOT_FOUND },
    { "a value in common", 37, "DRAListTypeAttributes=true",
      LISTED("[1, 2]", "[3]", "[2]") WITH_CONSTRAINT(TWO, "{matchAttribute: d/links}"), "r=p/x r=p/z" },
    { "values in common are found again", 37, "DRAListTypeAttributes=true",
      FOUR_LISTED WITH_CONSTRAINT(THREE, "{matchAttribute: d/links}"), "r=p/x r=p/z r=p/y" },
    { "values in common are lost with a device that was put back", 36, "DRAListTypeAttributes=true",
      FOUR_LISTED WITH_CONSTRAINT(THREE, "{matchAttribute: d/links}"), NOT_FOUND },
    { "no value in common", 37, "DRAListTypeAttributes=true",
      LISTED("[1, 2]", "[2, 3]", "[4]") WITH_CONSTRAINT(TWO, "{distinctAttribute: d/links}"), "r=p/x r=p/z" },
    { "lists are no values", 37, "",
      LISTED("[1]", "[1]", "[1]") WITH_CONSTRAINT(TWO, "{matchAttribute: d/links}"), NOT_FOUND },
    { "selectors see lists", 37, "",
      LISTED("[1]", "[2]", "[3]") WANTS("{name: r, " EXACTLY("1", SEES_LIST) "}"), "r=p/w" },
    { "selectors do not see lists", 36, "",
      LISTED("[1]", "[2]", "[3]") WANTS("{name: r, " EXACTLY("1", SEES_LIST) "}"),
      "claim default/c: selector #0: CEL runtime error: attribute links: unsupported attribute value" },
    { "operations that are skipped are not known", 36, "DRAListTypeAttributes=true",
      ANY SLICE_OF("p", "p", "1", ON_A, DEV("x", ""), ", skipNodeOperations: [PrepareResources]") WANTS(ONE),
      "r=p/x" },
    { "counters of another node, all devices", 36, "", OTHER_COUNTERS WANTS("{name: r, " ALL("") "}"),
      "claim default/c, request r: asks for all devices, but resource pool d/p is currently being updated" },
    { "counters of another node, all devices", 37, "", OTHER_COUNTERS WANTS("{name: r, " ALL("") "}"),
      "r=q/w" },
    { "counters whose slice is of another node", 37, "",
      ANY SLICE_OF("parts", "p", "2", ON_A, PART("x", "10Gi") ", " PART("w", "10Gi"), "")
          SLICE_OF("counters", "p", "2", "nodeName: b", "",
                   ", sharedCounters: [{name: s, counters: {memory: {value: 16Gi}}}]") WANTS(TWO),
      NOT_FOUND },
};

static void test_gates(void **state _unused_)
{
    for (size_t i = 0; i < ARRAY_SIZE(gate_cases); i++) {
        const struct gate_case *c = &gate_cases[i];
        check(c->name, c->minor, c->gates, c->objects, c->want);
    }
}

/* ---- Filter ---- */
#define NODE_WITH(features) \
    "{kind: Node, metadata: {name: a, labels: {zone: z}}, status: {declaredFeatures: [" features "]}}"
#define HAS(more) CLAIM("c", "", ", status: {allocation: {devices: {results: [" RESULT("p", "x", more) "]}}}")
#define SKIPS HAS(", skipNodeOperations: [PrepareResources]")
#define FAILED_DEVICE \
    CLAIM("c", "", \
          ", status: {allocation: {devices: {results: [" RESULT( \
              "p", "x", \
              ", bindingConditions: [ready], bindingFailureConditions: [failed]") "]}}, devices: " \
                                                                                  "[{driver: d, pool: p, " \
                                                                                  "device: x, conditions: " \
                                                                                  "[{type: failed, status: " \
                                                                                  "'True'}]}]}")
#define UNAVAILABLE "resourceclaim not available on the node"

static void test_filter(void **state _unused_)
{
    static const struct {
        int minor;
        const char *gates, *node, *objects, *want;
    } filters[] = {
        { 36, "", NODE_WITH(""), SKIPS, "" },
        { 37, "", NODE_WITH(""), SKIPS, UNAVAILABLE },
        { 37, "", NODE_WITH("DRAOptionalNodeOperations"), SKIPS, "" },
        { 37, "", NODE_WITH(""), FAILED_DEVICE, UNAVAILABLE },
        { 37, "DRADeviceBindingConditions=false", NODE_WITH(""), FAILED_DEVICE, "" },
        { 36, "DRAPrioritizedList=false", NODE_WITH(""),
          TWO_DEVICES WANTS("{name: r, firstAvailable: [" SUB("one", "1", "") "]}"),
          "resource claim default/c, request r: has subrequests, but the DRAPrioritizedList feature is "
          "disabled" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        begin(&f, filters[i].minor, filters[i].gates);
        fixture_add_plugin(&f, &plugin_dynamic_resources, NULL);
        fixture_load(&f, filters[i].node);
        fixture_load(&f, filters[i].objects);
        fixture_cycle(&f, USES("c"));
        assert_status(fixture_filter(&f, "a"), filters[i].want[0] ? STATUS_UNRESOLVABLE : STATUS_SUCCESS,
                      filters[i].want);
        fixture_release(&f);
    }
}

/* Without the gate, resources that classes provide are those of the node alone. */
static void test_extended_resources(void **state _unused_)
{
    for (int on = 0; on <= 1; on++) {
        struct fixture f;
        begin(&f, 36, on ? "" : "DRAExtendedResource=false");
        fixture_add_plugin(&f, &plugin_dynamic_resources, NULL);
        fixture_load(&f, NODE_WITH(""));
        fixture_load(&f, TWO_DEVICES CLASS("gpu", "extendedResourceName: example.com/gpu"));
        fixture_cycle(&f, POD("containers: [{name: c, resources: {requests: {example.com/gpu: 3}}}]"));
        assert_int_equal(fixture_filter(&f, "a").code, on ? STATUS_UNRESOLVABLE : STATUS_SUCCESS);
        fixture_release(&f);
    }
}

/* Which requests the configurations in the status are for. */
static void test_configs(void **state _unused_)
{
    static const struct {
        int minor;
        const char *want;
    } wants[] = {
        { 36, "FromClass[r s/one] FromClaim[r s] FromClaim[r s] FromClaim[s/one]" },
        { 37, "FromClass[] FromClaim[] FromClaim[s/one]" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(wants); i++) {
        struct fixture f;
        struct strbuf text = { 0 };
        struct allocation_result *found;
        FIXTURE_BARE(&f);
        features_default(&f.cluster.features, release_of(wants[i].minor), 0);
        fixture_load(&f, NODE("a", "z"));
        fixture_load(&f,
                     CLASS("any", "config: [{opaque: {driver: d, parameters: {a: 1}}}]")
                         SLICE("p", ON_A, DEV("x", "") ", " DEV("w", ""))
                             CLAIM("c",
                                   "requests: [" ONE ", {name: s, firstAvailable: [" SUB(
                                       "one", "1", "") "]}], config: [{requests: [r, s], opaque: {driver: "
                                                       "d, parameters: {}}}, {requests: [s/one], opaque: "
                                                       "{driver: d, parameters: {}}}]",
                                   ""));
        assert_true(status_ok(allocate_claim(&f, &found)));
        list_for(&found->devices.config, config) {
            strbuf_printf(&text, "%s" STR_FMT "[", text.len ? " " : "", STR_ARG(config->source));
            list_for(&config->requests, name)
                strbuf_printf(&text, "%s" STR_FMT, name == config->requests.items ? "" : " ", STR_ARG(*name));
            strbuf_puts(&text, "]");
        }
        assert_string_equal(text.text, wants[i].want);
        strbuf_release(&text);
        fixture_release(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_releases), cmocka_unit_test(test_gates),
        cmocka_unit_test(test_filter),   cmocka_unit_test(test_extended_resources),
        cmocka_unit_test(test_configs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
