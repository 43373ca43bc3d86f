/* Resource requests of pods, rule by rule. (Compared with k8s.io/component-helpers/resource on random pods.) */
#include "unit/api/decoded.h"

#include "api/pod_resources.h"

#define POD(spec) "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " spec "}"
#define POD_STATUS(spec, status) \
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " spec ", status: " status "}"
#define REQUESTS(list) "resources: {requests: " list "}"

/* "cpu=500m memory=1Gi" in sorted order, amounts in thousandths. */
static struct str show(const struct resource_list *list, struct strbuf *out)
{
    strbuf_clear(out);
    list_for(list, resource)
        strbuf_printf(out, "%s" STR_FMT "=%lld", resource == list->items ? "" : " ", STR_ARG(resource->name),
                      (long long)quantity_milli_value(resource->amount));
    return strbuf_slice(out);
}

/* Two containers refer to the first claim, none to the second. */
#define CLAIMED \
    "{nodeAllocatableResourceClaimStatuses: [{resourceClaimName: c, containers: [a, b], resources: {cpu: " \
    "2}, " \
    "mapping: [{name: cpu, quantity: 3}, {name: memory, quantity: 7}], overhead: [{name: cpu, perPod: 1, " \
    "perContainer: 3}, {name: hugepages-2Mi, perContainer: 3}]}, {resourceClaimName: e, overhead: [{name: " \
    "cpu, perContainer: 100}]}]}"

static const struct total_case {
    const char *name, *pod;
    struct pod_requests_options opts;
    const char *requests, *limits;
} cases[] = {
    { "nothing", POD("{containers: [{name: a}]}"), { 0 }, "", "" },
    { "containers add up",
      POD("{containers: [{" REQUESTS("{cpu: 100m, memory: 1k}") "}, {" REQUESTS("{cpu: 1, x.io/y: 2}") "}]}"),
      { 0 },
      "cpu=1100 memory=1000000 x.io/y=2000",
      "" },
    { "the largest init container counts",
      POD("{initContainers: [{" REQUESTS("{cpu: 2}") "}, {" REQUESTS(
          "{cpu: 3, memory: 1}") "}],"
                                 " containers: [{" REQUESTS("{cpu: 1, memory: 5}") "}]}"),
      { 0 },
      "cpu=3000 memory=5000",
      "" },
    { "a sidecar runs with the containers, and with the init containers after it",
      POD("{initContainers: [{" REQUESTS("{cpu: 5}") "}, {restartPolicy: Always, " REQUESTS(
          "{cpu: 1}") "},"
                      " {" REQUESTS("{cpu: 5}") "}], containers: [{" REQUESTS("{cpu: 2}") "}]}"),
      { 0 },
      "cpu=6000",
      "" },
    { "another restart policy is no sidecar",
      POD("{initContainers: [{restartPolicy: Never, " REQUESTS("{cpu: 1}") "}], containers: [{" REQUESTS(
          "{cpu: 2}") "}]}"),
      { 0 },
      "cpu=2000",
      "" },
    { "overhead",
      POD("{overhead: {cpu: 250m, memory: 7}, containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2, "
          "memory: 0}}}]}"),
      { 0 },
      "cpu=1250 memory=7000",
      "cpu=2250 memory=0" },
    { "overhead left out",
      POD("{overhead: {cpu: 250m}, containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 2}}}]}"),
      { .exclude_overhead = true },
      "cpu=1000",
      "cpu=2000" },
    { "pod-level resources replace the sum, for what they support",
      POD("{resources: {requests: {cpu: 3, hugepages-2Mi: 4, x.io/y: 9}, limits: {memory: 8}}, overhead: "
          "{cpu: 1},"
          " containers: [{" REQUESTS("{cpu: 1, memory: 5, x.io/y: 1}") "}]}"),
      { 0 },
      "cpu=4000 hugepages-2Mi=4000 memory=5000 x.io/y=1000",
      "memory=8000" },
    { "pod-level resources skipped",
      POD("{resources: {requests: {cpu: 3}}, containers: [{" REQUESTS("{cpu: 1}") "}]}"),
      { .skip_pod_level = true },
      "cpu=1000",
      "" },
    { "missing requests filled in per container, explicit zeros kept",
      POD("{containers: [{" REQUESTS("{cpu: 1}") "}, {" REQUESTS("{cpu: 0, memory: 0}") "}, {name: c}]}"),
      { .non_missing = &nonzero_requests },
      "cpu=1100 memory=419430400000",
      "" },
    { "claims, as totals",
      POD_STATUS("{containers: [{" REQUESTS("{cpu: 1}") "}], resources: {requests: {memory: 5}}}", CLAIMED),
      { .claims = CLAIMS_TOTAL },
      "cpu=3000 memory=5000",
      "" },
    { "claims, divided",
      POD_STATUS("{containers: [{resources: {requests: {cpu: 1}, limits: {cpu: 4}}}]}", CLAIMED),
      { .claims = CLAIMS_DIVIDED },
      "cpu=11000 hugepages-2Mi=6000 memory=7000",
      "cpu=14000 hugepages-2Mi=6000" },
    { "claims left out",
      POD_STATUS("{containers: [{" REQUESTS("{cpu: 1}") "}]}", CLAIMED),
      { 0 },
      "cpu=1000",
      "" },
    { "claims are part of what is requested and of what is allocated, and not of what is enforced",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: "
                 "4}}}], nodeAllocatableResourceClaimStatuses: [{resourceClaimName: c, mapping: [{name: cpu, "
                 "quantity: 500m}]}]}"),
      { .use_status = true, .largest_total = true, .claims = CLAIMS_DIVIDED },
      "cpu=4000",
      "" },
    { "claims and what is allocated",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: "
                 "2}}}], nodeAllocatableResourceClaimStatuses: [{resourceClaimName: c, mapping: [{name: cpu, "
                 "quantity: 500m}]}]}"),
      { .use_status = true, .largest_total = true, .claims = CLAIMS_DIVIDED },
      "cpu=3500",
      "" },
    { "status not looked at",
      POD_STATUS(
          "{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
          "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: 2}}}]}"),
      { 0 },
      "cpu=1000",
      "" },
    { "the largest of spec, enforced and allocated",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1, memory: 9}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: "
                 "2, memory: 4},"
                 " limits: {cpu: 7}}}]}"),
      { .use_status = true },
      "cpu=3000 memory=9000",
      "cpu=7000" },
    { "without resources in its status a container has those of its spec",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}}]}"),
      { .use_status = true },
      "cpu=1000",
      "" },
    { "an infeasible resize does not count",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 9}") "}]}",
                 "{conditions: [{type: PodResizePending, reason: Infeasible}], containerStatuses: [{name: a,"
                 " allocatedResources: {cpu: 3}, resources: {requests: {cpu: 2}}}]}"),
      { .use_status = true },
      "cpu=3000",
      "" },
    { "a deferred resize does",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 9}") "}]}",
                 "{conditions: [{type: PodResizePending, reason: Deferred}], containerStatuses: [{name: a,"
                 " allocatedResources: {cpu: 3}, resources: {requests: {cpu: 2}}}]}"),
      { .use_status = true },
      "cpu=9000",
      "" },
    { "the status of an ordinary init container is history",
      POD_STATUS("{initContainers: [{name: a, " REQUESTS("{cpu: 1}") "}, {name: b, restartPolicy: Always}]}",
                 "{initContainerStatuses: [{name: a, resources: {requests: {cpu: 8}}}, {name: b, resources: "
                 "{requests: {memory: 2}}}]}"),
      { .use_status = true },
      "cpu=1000 memory=2000",
      "" },
    { "pod-level status",
      POD_STATUS("{resources: {requests: {cpu: 1, memory: 1}}}",
                 "{allocatedResources: {cpu: 5}, resources: {requests: {memory: 6}}}"),
      { .use_status = true, .use_status_pod_level = true },
      "cpu=5000 memory=6000",
      "" },
    { "pod-level status not looked at",
      POD_STATUS("{resources: {requests: {cpu: 1}}}",
                 "{allocatedResources: {cpu: 5}, resources: {requests: {cpu: 6}}}"),
      { .use_status = true },
      "cpu=1000",
      "" },
    { "the largest total counts, not the total of the largest",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1, memory: 9}") "}, {name: b, " REQUESTS(
                     "{cpu: 4}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}, resources: {requests: {cpu: "
                 "2}}}, {name: b, allocatedResources: {cpu: 1}}]}"),
      { .use_status = true, .largest_total = true },
      "cpu=5000 memory=9000",
      "" },
    { "what is allocated counts without what is enforced",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {cpu: 3}}]}"),
      { .use_status = true, .largest_total = true },
      "cpu=3000",
      "" },
    { "an infeasible resize: what is allocated, though it be nothing",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 9}") "}, {name: b, " REQUESTS(
                     "{cpu: 9}") "}, {name: c, " REQUESTS("{cpu: 9}") "}]}",
                 "{conditions: [{type: PodResizePending, reason: Infeasible}], containerStatuses: [{name: a,"
                 " allocatedResources: {}}, {name: b, resources: {requests: {cpu: 2}}}]}"),
      { .use_status = true, .largest_total = true },
      "cpu=2000",
      "" },
    { "a list that is there and empty",
      POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 9}") "}]}",
                 "{containerStatuses: [{name: a, allocatedResources: {}}]}"),
      { .use_status = true, .largest_total = true },
      "cpu=9000",
      "" },
    { "the status of an ordinary init container, and the first of a name",
      POD_STATUS("{initContainers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                 "{initContainerStatuses: [{name: a, resources: {requests: {cpu: 8}}}, {name: a, resources: "
                 "{requests: {cpu: 9}}}]}"),
      { .use_status = true, .largest_total = true },
      "cpu=8000",
      "" },
    { "pod-level status stands for the totals, and brings names of its own",
      POD_STATUS("{resources: {requests: {cpu: 1}}, containers: [{name: a, " REQUESTS("{memory: 2}") "}]}",
                 "{allocatedResources: {cpu: 5, memory: 1}, resources: {requests: {memory: 6}},"
                 " containerStatuses: [{name: a, allocatedResources: {memory: 9}}]}"),
      { .use_status = true, .use_status_pod_level = true, .largest_total = true },
      "cpu=5000 memory=6000",
      "" },
};

/* As the default gates of 1.36 have it. */
static const struct pod_requests_options node_options = { .use_status = true, .use_status_pod_level = true };

static void test_totals(void **state)
{
    (void)state;
    struct strbuf text = { 0 };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct decoded decoded;
        const struct pod *pod = decode_pod(&decoded, cases[i].pod);
        struct resource_list list;
        pod_requests(pod, cases[i].opts, &decoded.arena, &list);
        if (!str_is(show(&list, &text), cases[i].requests))
            fail_msg("%s: requests: got \"%s\", want \"%s\"", cases[i].name, text.text, cases[i].requests);
        pod_limits(pod, cases[i].opts, &decoded.arena, &list);
        if (!str_is(show(&list, &text), cases[i].limits))
            fail_msg("%s: limits: got \"%s\", want \"%s\"", cases[i].name, text.text, cases[i].limits);
        decoded_release(&decoded);
    }
    strbuf_release(&text);
}

static void test_node_usage(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024 };
    static const struct {
        const char *pod;
        int64_t cpu_milli, memory;
    } usages[] = {
        { POD("{containers: [{name: a}, {name: b}]}"), 200, 400 * MIB },
        { POD("{containers: [{" REQUESTS("{cpu: 3}") "}]}"), 3000, 200 * MIB },
        { POD("{containers: [{" REQUESTS("{cpu: 0, memory: 0}") "}]}"), 0, 0 },
        { POD("{}"), 0, 0 },
        /* With pod-level requests only resources that the pod does not set get defaults. */
        { POD("{resources: {requests: {cpu: 2}}, containers: [{name: a}, {name: b}]}"), 2000, 400 * MIB },
        { POD("{resources: {requests: {cpu: 2}}, containers: [{" REQUESTS("{memory: 1}") "}, {name: b}]}"),
          2000, 1 },
        { POD("{resources: {requests: {cpu: 2, memory: 3}}, containers: [{name: a}]}"), 2000, 3 },
        { POD("{resources: {requests: {x.io/y: 2}}, containers: [{name: a}]}"), 100, 200 * MIB },
    };
    for (size_t i = 0; i < ARRAY_SIZE(usages); i++) {
        struct decoded decoded;
        const struct pod *pod = decode_pod(&decoded, usages[i].pod);
        struct pod_node_usage usage;
        pod_node_requests(pod, node_options, &decoded.arena, &usage);
        if (usage.nonzero_cpu_milli != usages[i].cpu_milli || usage.nonzero_memory != usages[i].memory)
            fail_msg("%s: got %lld, %lld", usages[i].pod, (long long)usage.nonzero_cpu_milli,
                     (long long)usage.nonzero_memory);
        decoded_release(&decoded);
    }
}

/* The status of the incoming pod is ignored, that of a running pod is used. */
static void test_fit_and_node_differ(void **state)
{
    (void)state;
    struct decoded decoded;
    struct strbuf text = { 0 };
    const struct pod *pod =
        decode_pod(&decoded, POD_STATUS("{containers: [{name: a, " REQUESTS("{cpu: 1}") "}]}",
                                        "{containerStatuses: [{name: a, resources: {requests: {cpu: 2}}}]}"));
    struct resource_list fit;
    struct pod_node_usage usage;
    pod_fit_requests(pod, node_options, &decoded.arena, &fit);
    assert_str(show(&fit, &text), "cpu=1000");
    pod_node_requests(pod, node_options, &decoded.arena, &usage);
    assert_str(show(&usage.requests, &text), "cpu=2000");
    strbuf_release(&text);
    decoded_release(&decoded);
}

static void test_host_ports(void **state)
{
    (void)state;
    struct decoded decoded;
    const struct pod *pod = decode_pod(&decoded, POD("{containers: [{ports: [{containerPort: 1}, {hostPort: "
                                                     "20}]}, {ports: [{hostPort: 30, hostIP: 1.2.3.4}]}],"
                                                     " initContainers: [{ports: [{hostPort: 40}]}, "
                                                     "{restartPolicy: Always, ports: [{hostPort: 50}]}]}"));
    const struct container_port **ports;
    assert_int_equal(pod_host_ports(pod, &decoded.arena, &ports), 3);
    assert_int_equal(ports[0]->host_port, 50);
    assert_int_equal(ports[1]->host_port, 20);
    assert_str(ports[2]->host_ip, "1.2.3.4");
    decoded_release(&decoded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_node_usage),
        cmocka_unit_test(test_fit_and_node_differ),
        cmocka_unit_test(test_host_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
