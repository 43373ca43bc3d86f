/* Defaulting sets what the API server would have set, and changes nothing else. */
#include "unit/api/decoded.h"

#include "api/defaults.h"
#include "api/labels.h"

static void *defaulted(struct decoded *ret, enum api_kind kind, const char *text)
{
    void *ptr = decode_kind(ret, kind, text);
    object_default(&ret->object, &ret->arena);
    return ptr;
}

/* "cpu=1000 memory=1": thousandths, rounded. */
static void assert_amounts(const struct resource_list *list, const char *want)
{
    struct strbuf text = { 0 };
    list_for(list, resource)
        strbuf_printf(&text, "%s" STR_FMT "=%lld", text.len ? " " : "", STR_ARG(resource->name),
                      (long long)quantity_milli_value(resource->amount));
    assert_str(strbuf_slice(&text), want);
    strbuf_release(&text);
}

#define POD(spec) "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: " spec "}"

static void test_pod(void **state)
{
    (void)state;
    struct decoded d;
    const struct pod *pod =
        defaulted(&d, KIND_POD,
                  POD("{hostNetwork: true, containers: [{ports: [{containerPort: 80}, {containerPort: 53,"
                      " hostPort: 54, protocol: UDP}]}], initContainers: [{ports: [{containerPort: 9}]}],"
                      " volumes: [{iscsi: {iqn: q}}, {rbd: {image: i}}, {azureDisk: {diskName: d}},"
                      " {ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1n}}}}}},"
                      " {ephemeral: {volumeClaimTemplate: {}}}]}"));
    const struct pod_spec *spec = &pod->spec;
    assert_str(pod->meta.namespace, "default");
    assert_str(pod->meta.uid, "pod:/p");
    assert_str(pod->meta.resource_version, "1");
    assert_str(spec->scheduler_name, "default-scheduler");
    assert_str(spec->restart_policy, "Always");
    assert_int_equal(spec->termination_grace_seconds.value, 30);
    assert_int_equal(spec->containers.items[0].ports.items[0].host_port, 80);
    assert_str(spec->containers.items[0].ports.items[0].protocol, "TCP");
    assert_int_equal(spec->containers.items[0].ports.items[1].host_port, 54);
    assert_str(spec->containers.items[0].ports.items[1].protocol, "UDP");
    assert_int_equal(spec->init_containers.items[0].ports.items[0].host_port, 9);
    assert_str(spec->volumes.items[0].iscsi->iscsi_interface, "default");
    assert_str(spec->volumes.items[1].rbd->pool, "rbd");
    assert_str(spec->volumes.items[2].azure_disk->kind, "Shared");
    assert_str(spec->volumes.items[3].ephemeral->template->spec->volume_mode, "Filesystem");
    assert_amounts(&spec->volumes.items[3].ephemeral->template->spec->resources.requests, "storage=1");
    assert_str(spec->volumes.items[4].ephemeral->template->spec->volume_mode, "Filesystem");
    decoded_release(&d);

    pod = defaulted(
        &d, KIND_POD,
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns}, spec: {schedulerName: mine,"
        " restartPolicy: Never, terminationGracePeriodSeconds: 0, containers: [{ports: [{containerPort: "
        "80}]}]}}");
    assert_str(pod->meta.uid, "pod:ns/p");
    assert_str(pod->spec.scheduler_name, "mine");
    assert_str(pod->spec.restart_policy, "Never");
    assert_int_equal(pod->spec.termination_grace_seconds.value, 0);
    assert_int_equal(pod->spec.containers.items[0].ports.items[0].host_port, 0);
    decoded_release(&d);
}

static const struct requests_case {
    const char *name, *pod;
    const char *container, *requests, *limits; /* requests of the first container, and both of the pod */
} requests_cases[] = {
    { "requests follow limits where they are missing",
      POD("{containers: [{resources: {limits: {cpu: 2, memory: 5}, requests: {cpu: 1, x.io/y: 3}}}]}"),
      "cpu=1000 memory=5000 x.io/y=3000", NULL, NULL },
    { "amounts are rounded up to thousandths", POD("{containers: [{resources: {limits: {cpu: 0.00011}}}]}"),
      "cpu=1", NULL, NULL },
    { "pod-level requests follow the containers, then the limits",
      POD("{resources: {limits: {cpu: 4, memory: 9, hugepages-2Mi: 2}}, containers: [{resources: {requests: "
          "{cpu: 1}}},"
          " {resources: {requests: {cpu: 2}}}]}"),
      "cpu=1000", "cpu=3000 hugepages-2Mi=2000 memory=9000", "cpu=4000 hugepages-2Mi=2000 memory=9000" },
    { "pod-level requests that are there stay",
      POD("{resources: {requests: {cpu: 1}, limits: {cpu: 4}}, containers: [{resources: {requests: {cpu: 2, "
          "memory: 3}}}]}"),
      "cpu=2000 memory=3000", "cpu=1000 memory=3000", "cpu=4000" },
    { "without pod-level limits nothing follows",
      POD("{resources: {requests: {cpu: 1}}, containers: [{resources: {requests: {memory: 3}}}]}"),
      "memory=3000", "cpu=1000", "" },
    { "huge pages of containers limit the pod",
      POD("{resources: {requests: {cpu: 1}}, containers: [{resources: {limits: {hugepages-2Mi: 2}}},"
          " {resources: {limits: {hugepages-2Mi: 3}}}]}"),
      "hugepages-2Mi=2000", "cpu=1000 hugepages-2Mi=5000", "hugepages-2Mi=5000" },
    { "but not where the pod requests them",
      POD("{resources: {requests: {hugepages-2Mi: 8}}, containers: [{resources: {limits: {hugepages-2Mi: "
          "2}}}]}"),
      "hugepages-2Mi=2000", "hugepages-2Mi=8000", "" },
    { "extended resources of containers are none of the pod's business",
      POD("{resources: {limits: {cpu: 1}}, containers: [{resources: {requests: {x.io/y: 2}}}]}"),
      "x.io/y=2000", "cpu=1000", "cpu=1000" },
};

static void test_requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(requests_cases); i++) {
        const struct requests_case *want = &requests_cases[i];
        struct decoded d;
        const struct pod *pod = defaulted(&d, KIND_POD, want->pod);
        print_message("%s\n", want->name);
        for (int again = 0; again < 2; again++) { /* idempotent */
            assert_amounts(&pod->spec.containers.items[0].resources.requests, want->container);
            if (want->requests)
                assert_amounts(&pod->spec.resources->requests, want->requests);
            if (want->limits)
                assert_amounts(&pod->spec.resources->limits, want->limits);
            object_default(&d.object, &d.arena);
        }
        decoded_release(&d);
    }
}

static void test_node_and_namespace(void **state)
{
    (void)state;
    struct decoded d;
    const struct node *node =
        defaulted(&d, KIND_NODE,
                  "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: 1.0001}}}");
    assert_amounts(&node->status.allocatable, "cpu=1001");
    assert_null(node->meta.namespace.ptr);
    assert_str(node->meta.uid, "node:/n1");
    decoded_release(&d);

    node = defaulted(&d, KIND_NODE,
                     "{apiVersion: v1, kind: Node, status: {allocatable: {}, capacity: {cpu: 1}}}");
    assert_int_equal(node->status.allocatable.len, 0);
    decoded_release(&d);

    static const char *const labels[] = { "{}", "{a: x, z: x}", "{kubernetes.io/metadata.name: other}" };
    for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
        char text[200];
        snprintf(text, sizeof(text), "{apiVersion: v1, kind: Namespace, metadata: {name: dev, labels: %s}}",
                 labels[i]);
        const struct namespace *namespace = defaulted(&d, KIND_NAMESPACE, text);
        const struct str *name = str_map_get(&namespace->meta.labels, STR("kubernetes.io/metadata.name"));
        assert_non_null(name);
        assert_str(*name, "dev");
        assert_int_equal(namespace->meta.labels.len, i == 1 ? 3 : 1);
        decoded_release(&d);
    }
}

static void test_storage(void **state)
{
    (void)state;
    struct decoded d;
    const struct pv *pv =
        defaulted(&d, KIND_PV, "{apiVersion: v1, kind: PersistentVolume, spec: {capacity: {storage: 1n}}}");
    assert_str(pv->phase, "Pending");
    assert_str(pv->spec.volume_mode, "Filesystem");
    assert_amounts(&pv->spec.capacity, "storage=1");
    decoded_release(&d);

    const struct pvc *pvc =
        defaulted(&d, KIND_PVC, "{apiVersion: v1, kind: PersistentVolumeClaim, spec: {volumeMode: Block}}");
    assert_str(pvc->status.phase, "Pending");
    assert_str(pvc->spec.volume_mode, "Block");
    assert_str(pvc->meta.namespace, "default");
    decoded_release(&d);

    const struct storage_class *class = defaulted(
        &d, KIND_STORAGE_CLASS, "{apiVersion: storage.k8s.io/v1, kind: StorageClass, provisioner: p}");
    assert_str(class->binding_mode, "Immediate");
    assert_str(class->reclaim_policy, "Delete");
    decoded_release(&d);

    const struct csi_driver *driver =
        defaulted(&d, KIND_CSI_DRIVER,
                  "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, spec: {storageCapacity: true}}");
    assert_true(driver->attach_required.set && driver->attach_required.value);
    assert_true(driver->storage_capacity.value);
    decoded_release(&d);

    const struct priority_class *priority = defaulted(
        &d, KIND_PRIORITY_CLASS, "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 7}");
    assert_str(priority->preemption_policy, "PreemptLowerPriority");
    decoded_release(&d);
}

#define TEMPLATE \
    "template: {metadata: {labels: {a: x}}, spec: {containers: [{resources: {limits: {cpu: 2}}}]}}"

static void test_workloads(void **state)
{
    (void)state;
    struct decoded d;
    const struct workload *set =
        defaulted(&d, KIND_REPLICA_SET,
                  "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {" TEMPLATE "}}");
    assert_int_equal(set->spec.replicas.value, 1);
    assert_str(set->spec.template.spec.scheduler_name, "default-scheduler");
    /* In a template requests are not derived from limits; in its pods they are. */
    assert_int_equal(set->spec.template.spec.containers.items[0].resources.requests.len, 0);
    assert_str(set->meta.uid, "replicaset:/r");
    decoded_release(&d);

    const struct workload *stateful = defaulted(
        &d, KIND_STATEFUL_SET,
        "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, volumeClaimTemplates: [{}]}}");
    assert_int_equal(stateful->spec.replicas.value, 0);
    assert_str(stateful->spec.volume_claim_templates.items[0].spec->volume_mode, "Filesystem");
    decoded_release(&d);

    const struct replication_controller *controller =
        defaulted(&d, KIND_REPLICATION_CONTROLLER,
                  "{apiVersion: v1, kind: ReplicationController, spec: {" TEMPLATE "}}");
    assert_int_equal(controller->replicas.value, 1);
    assert_str(controller->selector.items[0].key, "a");
    assert_str(controller->meta.labels.items[0].value, "x");
    decoded_release(&d);

    static const struct {
        const char *spec;
        struct opt_int32 parallelism, completions;
    } jobs[] = {
        { "{}", { true, 1 }, { true, 1 } },
        { "{parallelism: 4}", { true, 4 }, { false, 0 } },
        { "{completions: 4}", { true, 1 }, { true, 4 } },
    };
    for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
        char text[200];
        snprintf(text, sizeof(text), "{apiVersion: batch/v1, kind: Job, spec: %s}", jobs[i].spec);
        const struct workload *job = defaulted(&d, KIND_JOB, text);
        assert_int_equal(job->spec.parallelism.value, jobs[i].parallelism.value);
        assert_int_equal(job->spec.completions.set, jobs[i].completions.set);
        assert_int_equal(job->spec.completions.value, jobs[i].completions.value);
        assert_str(job->spec.completion_mode, "NonIndexed");
        assert_true(job->spec.suspend.set && !job->spec.suspend.value);
        decoded_release(&d);
    }
}

static void test_unknown(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct object nothing = { 0 };
    object_default(&nothing, &arena);
    assert_int_equal(arena.total_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_node_and_namespace),
        cmocka_unit_test(test_storage),
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
