/* Names are replaced, references still match, and decisions are the same. */
#include "input/anonymize.h"

#include "api/labels.h"
#include "unit/api/decoded.h"

enum { OBJECTS_MAX = 8 };

/* Objects, and their anonymized form. */
struct hidden {
    struct anonymizer anonymizer;
    struct decoded objects[OBJECTS_MAX];
    char *texts[OBJECTS_MAX];
    size_t len;
};

static void hide(struct hidden *hidden, const char *const *texts)
{
    *hidden = (struct hidden){ 0 };
    for (; texts[hidden->len]; hidden->len++) {
        struct decoded *decoded = &hidden->objects[hidden->len];
        assert_true(hidden->len < OBJECTS_MAX);
        if (decode(decoded, texts[hidden->len]) < 0)
            fail_msg("%s", decoded->err.text);
        anonymizer_look(&hidden->anonymizer, &decoded->object);
    }
    struct record_redactor redactor = anonymizer_redactor(&hidden->anonymizer);
    for (size_t i = 0; i < hidden->len; i++) {
        struct strbuf out = { 0 };
        struct json_writer json = json_writer(&out, JSON_COMPACT);
        object_encode_json(&hidden->objects[i].object, &redactor, &json);
        decoded_release(&hidden->objects[i]);
        hidden->texts[i] = out.text;
        if (decode(&hidden->objects[i], out.text) < 0)
            fail_msg("%s: %s", hidden->objects[i].err.text, out.text);
    }
}

static void hidden_release(struct hidden *hidden)
{
    for (size_t i = 0; i < hidden->len; i++) {
        decoded_release(&hidden->objects[i]);
        free(hidden->texts[i]);
    }
    anonymizer_release(&hidden->anonymizer);
}

static void lacks(const struct hidden *hidden, const char *const *words)
{
    for (; *words; words++)
        for (size_t i = 0; i < hidden->len; i++)
            if (strstr(hidden->texts[i], *words))
                fail_msg("%s is still there: %s", *words, hidden->texts[i]);
}

static void has(const struct hidden *hidden, size_t i, const char *word)
{
    if (!strstr(hidden->texts[i], word))
        fail_msg("%s is not there: %s", word, hidden->texts[i]);
}

static void names_are_replaced_consistently(void **state)
{
    (void)state;
    struct hidden hidden;
    hide(&hidden,
         (const char *const[]){
             "{apiVersion: v1, kind: Node, metadata: {name: db7.corp, annotations: {owner: jane}, labels: "
             "{kubernetes.io/hostname: db7.corp, corp/team: payments, kubernetes.io/os: linux, gen: '7', "
             "account: '4711', node-role.kubernetes.io/ledger: ''}}, spec: {providerID: aws:///corp/i-1, "
             "taints: [{key: corp/team, value: payments, effect: NoSchedule}]}, status: {allocatable: {cpu: "
             "4, corp/fpga: 2, nvidia.com/gpu: 1}, images: [{names: [corp.example/ledger:latest], "
             "sizeBytes: 1}]}}",
             "{apiVersion: v1, kind: Pod, metadata: {name: ledger-x, namespace: payments-prod, uid: u-1, "
             "finalizers: [corp/wait], ownerReferences: [{apiVersion: corp/v1, kind: LedgerJob, name: "
             "nightly, uid: u-2}]}, spec: {nodeName: db7.corp, schedulerName: default-scheduler, "
             "nodeSelector: {corp/team: payments, kubernetes.io/os: linux}, tolerations: [{key: corp/team, "
             "operator: Equal, value: payments}], affinity: {nodeAffinity: "
             "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: "
             "metadata.name, operator: In, values: [db7.corp]}], matchExpressions: [{key: gen, operator: Gt, "
             "values: ['5']}]}]}}}, containers: [{name: ledger, image: corp.example/ledger, ports: "
             "[{containerPort: 1, hostPort: 1, hostIP: 10.1.2.3}], resources: {requests: {cpu: 2, corp/fpga: "
             "1}}}]}, status: {conditions: [{type: DisruptionTarget, status: 'True', reason: "
             "PreemptionByScheduler, message: by ledger}, {type: corp/Audited, status: 'True', reason: "
             "LedgerSaysSo}]}}",
             NULL });
    lacks(&hidden, (const char *const[]){ "db7", "jane", "corp", "payments", "ledger", "Ledger", "u-1", "u-2",
                                          "nightly", "4711", "10.1.2.3", "fpga", "role", NULL });
    has(&hidden, 0, "\"kubernetes.io/os\":\"linux\"");
    has(&hidden, 0, "NoSchedule");
    has(&hidden, 0, "\"nvidia.com/gpu\":\"1\"");
    has(&hidden, 0, "\"7\""); /* compared as a number */
    has(&hidden, 1, "\"values\":[\"5\"]");
    has(&hidden, 1, "\"kubernetes.io/os\":\"linux\"");
    has(&hidden, 1, "\"schedulerName\":\"default-scheduler\"");
    has(&hidden, 1, "\"key\":\"metadata.name\"");
    has(&hidden, 1, "PreemptionByScheduler");
    has(&hidden, 1, "\"cpu\":\"2\"");

    const struct node *node = hidden.objects[0].object.ptr;
    const struct pod *pod = hidden.objects[1].object.ptr;
    const struct node_selector_term *term = pod->spec.affinity->node->required->terms.items;
    assert_true(str_eq(pod->spec.node_name, node->meta.name));
    assert_true(str_eq(term->match_fields.items[0].values.items[0], node->meta.name));
    assert_true(str_eq(pod->spec.tolerations.items[0].key, node->spec.taints.items[0].key));
    assert_true(str_eq(pod->spec.tolerations.items[0].value, node->spec.taints.items[0].value));
    /* no tag means :latest */
    assert_true(str_eq(pod->spec.containers.items[0].image, node->status.images.items[0].names.items[0]));
    hidden_release(&hidden);
}

static void well_known_drivers_keep_their_names(void **state)
{
    (void)state;
    struct hidden hidden;
    hide(&hidden,
         (const char *const[]){
             "{apiVersion: v1, kind: PersistentVolume, metadata: {name: vol}, spec: {csi: {driver: "
             "ebs.csi.aws.com, volumeHandle: vol-0a1b}}}",
             "{apiVersion: v1, kind: PersistentVolume, metadata: {name: home, labels: "
             "{topology.kubernetes.io/zone: north__south}}, spec: {csi: {driver: csi.corp.internal, "
             "volumeHandle: h1}}}",
             "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: node-1}, spec: {drivers: "
             "[{name: ebs.csi.aws.com, nodeID: i-1}, {name: csi.corp.internal, nodeID: i-1}]}}",
             "{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: csi.corp.internal}}",
             "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, annotations: "
             "{volume.kubernetes.io/selected-node: node-1, pv.kubernetes.io/bind-completed: 'yes', corp/x: "
             "z}}, spec: {volumeName: home}}",
             "{apiVersion: v1, kind: Node, metadata: {name: node-1, labels: {topology.kubernetes.io/zone: "
             "south}}}",
             NULL });
    lacks(&hidden, (const char *const[]){ "corp", "vol-0a1b", "i-1", "node-1", "north", "south", NULL });
    has(&hidden, 0, "ebs.csi.aws.com");
    has(&hidden, 2, "ebs.csi.aws.com");
    const struct pv *pv = hidden.objects[1].object.ptr;
    const struct csi_node *csi_node = hidden.objects[2].object.ptr;
    const struct pvc *pvc = hidden.objects[4].object.ptr;
    const struct node *node = hidden.objects[5].object.ptr;
    assert_true(str_eq(pv->spec.csi->driver, csi_node->drivers.items[1].name));
    assert_true(str_eq(pv->spec.csi->driver, hidden.objects[3].object.meta->name));
    assert_int_equal(pvc->meta.annotations.len, 2);
    assert_true(str_eq(*str_map_get(&pvc->meta.annotations, STR("volume.kubernetes.io/selected-node")),
                       node->meta.name));
    /* each of several zones is the node's or another one */
    assert_true(str_ends_with(pv->meta.labels.items[0].value, node->meta.labels.items[0].value));
    assert_true(str_contains(pv->meta.labels.items[0].value, STR("__")));
    hidden_release(&hidden);
}

static void composed_names_stay_composed(void **state)
{
    (void)state;
    struct hidden hidden;
    hide(&hidden,
         (const char *const[]){
             "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: cache-scratch}}",
             "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data-db-1}}",
             "{apiVersion: v1, kind: Pod, metadata: {name: cache}, spec: {volumes: [{name: scratch, "
             "ephemeral: {volumeClaimTemplate: {spec: {}}}}]}}",
             "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 3, "
             "volumeClaimTemplates: [{metadata: {name: data}}]}}",
             "{apiVersion: v1, kind: Pod, metadata: {name: db-7, ownerReferences: [{apiVersion: apps/v1, "
             "kind: StatefulSet, name: db, uid: u}]}}",
             NULL });
    char made[256];
    const struct pod *cache = hidden.objects[2].object.ptr;
    const struct workload *db = hidden.objects[3].object.ptr;
    snprintf(made, sizeof(made), STR_FMT "-" STR_FMT, STR_ARG(cache->meta.name),
             STR_ARG(cache->spec.volumes.items[0].name));
    assert_true(str_is(hidden.objects[0].object.meta->name, made));
    snprintf(made, sizeof(made), STR_FMT "-" STR_FMT "-1",
             STR_ARG(db->spec.volume_claim_templates.items[0].meta.name), STR_ARG(db->meta.name));
    assert_true(str_is(hidden.objects[1].object.meta->name, made));
    snprintf(made, sizeof(made), STR_FMT "-7", STR_ARG(db->meta.name));
    assert_true(str_is(hidden.objects[4].object.meta->name, made));
    lacks(&hidden, (const char *const[]){ "cache", "scratch", "data-", "db-", NULL });
    hidden_release(&hidden);
}

/* Names break ties, so their order must stay. */
static void the_order_of_names_stays(void **state)
{
    (void)state;
    static const char *const names[] = { "zeta", "alpha", "mid-10", "mid-2", "b" };
    const char *texts[ARRAY_SIZE(names) + 1] = { NULL };
    char buffers[ARRAY_SIZE(names)][128];
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        snprintf(buffers[i], sizeof(buffers[i]), "{apiVersion: v1, kind: Node, metadata: {name: %s}}",
                 names[i]);
        texts[i] = buffers[i];
    }
    struct hidden hidden;
    hide(&hidden, texts);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
            int before = strcmp(names[i], names[k]);
            int after = str_cmp(hidden.objects[i].object.meta->name, hidden.objects[k].object.meta->name);
            assert_true((before < 0) == (after < 0) && (before > 0) == (after > 0));
        }
    hidden_release(&hidden);
}

static void devices_are_still_found_by_their_expressions(void **state)
{
    (void)state;
    struct hidden hidden;
    hide(
        &hidden,
        (const char *const[]){
            "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: fast}, spec: {selectors: "
            "[{cel: {expression: 'device.driver == \"dra.corp\" && "
            "device.attributes[\"dra.corp\"].model == \"m1\"'}}], config: [{opaque: {driver: dra.corp, "
            "parameters: {secret: s}}}]}}",
            "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
            "dra.corp, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d0, "
            "attributes: {model: {string: m1}, dra.corp/size: {strings: [m2]}}, capacity: {dra.corp/lanes: "
            "{value: 8}}}]}}",
            "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: {devices: "
            "{requests: [{name: r, exactly: {deviceClassName: fast, capacity: {requests: {dra.corp/lanes: "
            "2}}, derivedAttributes: [{name: dra.corp/side, expression: 'device.driver'}]}}], constraints: "
            "[{requests: [r], matchAttribute: dra.corp/side}]}}}",
            "{apiVersion: resource.k8s.io/v1, kind: DeviceTaintRule, metadata: {name: broken}, spec: "
            "{deviceSelector: {driver: dra.corp, pool: p, device: d0}, taint: {key: k, effect: NoSchedule}}}",
            NULL });
    lacks(&hidden, (const char *const[]){ "corp", "secret", "fast", "d0", NULL });
    const struct device_class *class = hidden.objects[0].object.ptr;
    const struct resource_slice *slice = hidden.objects[1].object.ptr;
    const struct resource_claim *claim = hidden.objects[2].object.ptr;
    char expression[256];
    snprintf(expression, sizeof(expression),
             "device.driver == \"" STR_FMT "\" && device.attributes[\"" STR_FMT "\"].model == \"m1\"",
             STR_ARG(slice->driver), STR_ARG(slice->driver));
    assert_true(str_is(class->selectors.items[0].cel->expression, expression));
    const struct device_request *request = &claim->spec.requests.items[0];
    assert_true(str_eq(request->exactly->device_class_name, class->meta.name));
    assert_true(str_eq(request->exactly->capacity->requests.items[0].name,
                       *(const struct str *)(const void *)&slice->devices.items[0].capacity.items[0]));
    assert_true(str_eq(claim->spec.constraints.items[0].requests.items[0], request->name));
    has(&hidden, 1, "/size");
    has(&hidden, 1, "\"m2\"");
    assert_true(str_eq(claim->spec.constraints.items[0].match_attribute,
                       request->exactly->derived_attributes.items[0].name));
    assert_true(str_ends_with(claim->spec.constraints.items[0].match_attribute, STR("/side")));
    const struct device_taint_rule *rule = hidden.objects[3].object.ptr;
    assert_true(str_eq(rule->selector->driver, slice->driver) && str_eq(rule->selector->pool, slice->pool) &&
                str_eq(rule->selector->device, slice->devices.items[0].name));
    assert_true(hidden.anonymizer.has_expressions);
    hidden_release(&hidden);
}

/* What devices take of the node's own resources, in the words of both releases. */
static void resources_of_nodes_keep_their_names(_unused_ void **state)
{
    struct hidden hidden;
    hide(&hidden,
         (const char *const[]){
             "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
             "dra.corp, "
             "pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: d0, capacity: "
             "{dra.corp/lanes: {value: 8}}, nodeAllocatableResourceMappings: {cpu: {capacityKey: "
             "dra.corp/lanes}}, "
             "nodeAllocatableResources: {memory: {mapping: {capacityKey: dra.corp/lanes, capacityMultiplier: "
             "1}}}}]}}",
             "{apiVersion: v1, kind: Pod, metadata: {name: secret}, spec: {containers: [{name: payroll}]}, "
             "status: "
             "{nodeAllocatableResourceClaimStatuses: [{resourceClaimName: wages, containers: [payroll], "
             "resources: "
             "{cpu: 1}, mapping: [{name: memory, quantity: 1}], overhead: [{name: cpu, perPod: 1}]}]}}",
             "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: wages}}", NULL });
    lacks(&hidden, (const char *const[]){ "corp", "secret", "payroll", "wages", NULL });
    const struct resource_slice *slice = hidden.objects[0].object.ptr;
    const struct device *device = &slice->devices.items[0];
    struct str lanes = device->capacity.items[0].key;
    assert_true(str_eq(device->node_mappings.items[0].capacity_key, lanes));
    assert_true(str_is(device->node_mappings.items[0].key, "cpu"));
    assert_true(str_eq(device->node_resources.items[0].mapping->capacity_key, lanes));
    assert_true(str_is(device->node_resources.items[0].key, "memory"));
    const struct pod *pod = hidden.objects[1].object.ptr;
    const struct node_claim *claim = &pod->status.node_claims.items[0];
    const struct resource_claim *wages = hidden.objects[2].object.ptr;
    assert_true(str_eq(claim->resource_claim_name, wages->meta.name));
    assert_true(str_eq(claim->containers.items[0], pod->spec.containers.items[0].name));
    assert_true(str_is(claim->resources.items[0].name, "cpu"));
    assert_true(str_is(claim->mapping.items[0].name, "memory"));
    assert_true(str_is(claim->overhead.items[0].name, "cpu"));
    hidden_release(&hidden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_replaced_consistently),
        cmocka_unit_test(well_known_drivers_keep_their_names),
        cmocka_unit_test(composed_names_stay_composed),
        cmocka_unit_test(the_order_of_names_stays),
        cmocka_unit_test(devices_are_still_found_by_their_expressions),
        cmocka_unit_test(resources_of_nodes_keep_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
