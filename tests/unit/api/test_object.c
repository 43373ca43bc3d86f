/* Documents are decoded by the field tables; errors have a place and a path. */
#include "unit/api/decoded.h"

#include "api/fields.h"

static void test_pod(void **state)
{
    (void)state;
    struct decoded decoded;
    const struct pod *pod = decode_pod(
        &decoded,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":"
        "\"u\","
        "\"labels\":{\"z\":\"1\",\"a\":\"2\",\"m\":\"\"},\"creationTimestamp\":\"2024-05-06T07:08:09Z\","
        "\"deletionTimestamp\":null,\"managedFields\":[{\"manager\":1}],"
        "\"ownerReferences\":[{\"apiVersion\":\"apps/"
        "v1\",\"kind\":\"ReplicaSet\",\"name\":\"r\",\"controller\":true}]},"
        "\"spec\":{\"nodeName\":\"n\",\"priority\":-5,\"hostNetwork\":true,\"hostUsers\":false,"
        "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Exists\",\"tolerationSeconds\":300}],"
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"unknown\":{\"deep\":[1,2]},"
        "\"resources\":{\"requests\":{\"memory\":\"1Gi\",\"cpu\":0.1,\"x.io/"
        "big\":123456789012345678901234567890}},"
        "\"ports\":[{\"containerPort\":80,\"hostPort\":8080}]}],"
        "\"volumes\":[{\"name\":\"v\",\"persistentVolumeClaim\":{\"claimName\":\"cl\",\"readOnly\":true}},{"
        "\"emptyDir\":{}}],"
        "\"affinity\":{\"podAffinity\":{\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":7,"
        "\"podAffinityTerm\":{\"topologyKey\":\"zone\",\"namespaces\":[\"x\"],\"labelSelector\":{"
        "\"matchExpressions\":"
        "[{\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[\"b\"]}]}}}]}},"
        "\"topologySpreadConstraints\":[{\"maxSkew\":2,\"minDomains\":3,\"topologyKey\":\"t\"}]},"
        "\"status\":{\"phase\":\"Running\",\"startTime\":\"2024-05-06T07:08:09.5+02:00\"}}");
    const struct pod_spec *spec = &pod->spec;
    assert_ptr_equal(decoded.object.meta, &pod->meta);
    assert_str(decoded.object.kind_name, "Pod");
    assert_str(pod->meta.namespace, "ns");
    static const char *const keys[] = { "a", "m", "z" };
    assert_int_equal(pod->meta.labels.len, 3);
    for (size_t i = 0; i < 3; i++)
        assert_str(pod->meta.labels.items[i].key, keys[i]);
    assert_int_equal(pod->meta.creation_time.seconds, 1714979289);
    assert_false(pod->meta.deletion_time.set);
    assert_true(pod->meta.owners.items[0].controller.set && pod->meta.owners.items[0].controller.value);
    assert_true(spec->priority.set && spec->priority.value == -5);
    assert_true(spec->host_network && spec->host_users.set && !spec->host_users.value);
    assert_int_equal(spec->tolerations.items[0].toleration_seconds.value, 300);
    assert_null(spec->tolerations.items[0].value.ptr);
    const struct resource_list *requests = &spec->containers.items[0].resources.requests;
    assert_int_equal(requests->len, 3);
    assert_str(requests->items[0].name, "cpu");
    assert_int_equal(requests->items[0].amount.nano, 100000000);
    assert_int_equal(requests->items[1].amount.units, 1 << 30);
    assert_int_equal(requests->items[2].amount.units, INT64_MAX);
    assert_int_equal(spec->containers.items[0].ports.items[0].host_port, 8080);
    assert_str(spec->volumes.items[0].pvc->claim_name, "cl");
    assert_true(spec->volumes.items[0].pvc->read_only);
    assert_null(spec->volumes.items[1].pvc);
    const struct weighted_pod_term *term = &spec->affinity->pod->preferred.items[0];
    assert_int_equal(term->weight, 7);
    assert_str(term->term.namespaces.items[0], "x");
    assert_null(term->term.namespace_selector);
    assert_int_equal(term->term.selector->match_expressions.items[0].op, OP_NOT_IN);
    assert_null(spec->affinity->node);
    assert_int_equal(spec->spread.items[0].min_domains.value, 3);
    assert_int_equal(pod->status.start_time.seconds, 1714979289 - 7200);
    assert_int_equal(pod->status.start_time.nanos, 500000000);
    decoded_release(&decoded);
}

/* Fields that are nested deeper in the document than in the struct. */
static void test_flattened(void **state)
{
    (void)state;
    struct decoded d;
    const struct pv *pv = decode_kind(
        &d, KIND_PV,
        "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {capacity: {storage: 1Gi},"
        " csi: {driver: d, volumeHandle: h}, local: {path: /x}, claimRef: {name: c, namespace: ns, uid: u},"
        " nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}}},"
        " status: {phase: Bound}}");
    assert_str(pv->spec.csi->volume_handle, "h");
    assert_str(pv->spec.local->path, "/x");
    assert_null(pv->spec.host_path);
    assert_int_equal(pv->spec.node_affinity->terms.items[0].match_expressions.items[0].op, OP_EXISTS);
    assert_str(pv->phase, "Bound");
    decoded_release(&d);

    const struct volume_attachment *attachment = decode_kind(
        &d, KIND_VOLUME_ATTACHMENT,
        "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, spec: {attacher: a, nodeName: n1, source:"
        " {inlineVolumeSpec: {awsElasticBlockStore: {volumeID: vol}}}}, status: {attached: true}}");
    assert_str(attachment->inline_volume->spec.aws_ebs->volume_id, "vol");
    assert_true(attachment->attached);
    decoded_release(&d);

    const struct pdb *pdb = decode_kind(
        &d, KIND_PDB,
        "{apiVersion: policy/v1, kind: PodDisruptionBudget, spec: {minAvailable: 50%, maxUnavailable: 2,"
        " selector: {}}, status: {disruptionsAllowed: 3, disruptedPods: {b: null, a: "
        "'2024-05-06T07:08:09Z'}}}");
    assert_str(pdb->min_available.text, "50%");
    assert_true(pdb->max_unavailable.set && !pdb->max_unavailable.text.ptr);
    assert_int_equal(pdb->max_unavailable.number, 2);
    assert_non_null(pdb->selector);
    assert_int_equal(pdb->disruptions_allowed, 3);
    assert_int_equal(pdb->disrupted_pods.len, 2);
    assert_str(pdb->disrupted_pods.items[0], "a");
    decoded_release(&d);

    const struct workload *set = decode_kind(&d, KIND_STATEFUL_SET,
                                             "{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 0, "
                                             "ordinals: {start: 4}, template: {metadata:"
                                             " {labels: {a: b}}, spec: {containers: [{name: c}]}}, "
                                             "volumeClaimTemplates: [{metadata: {name: data}, spec:"
                                             " {storageClassName: ''}}]}, status: {replicas: 2}}");
    assert_true(set->spec.replicas.set && set->spec.replicas.value == 0);
    assert_int_equal(set->spec.ordinals->start.value, 4);
    assert_str(set->spec.template.spec.containers.items[0].name, "c");
    assert_non_null(set->spec.volume_claim_templates.items[0].spec->storage_class_name.ptr);
    assert_null(set->spec.volume_claim_templates.items[0].spec->volume_name.ptr);
    assert_int_equal(set->status.replicas, 2);
    decoded_release(&d);
}

static void test_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *version, *kind;
        enum api_kind want;
    } kinds[] = {
        { "v1", "Pod", KIND_POD },
        { "v2", "Pod", KIND_UNKNOWN },
        { "v1beta1", "Pod", KIND_UNKNOWN },
        { "apps/v1", "Pod", KIND_UNKNOWN },
        { "v1", "pod", KIND_UNKNOWN },
        { "v1", "Secret", KIND_UNKNOWN },
        { "apps/v1", "Deployment", KIND_DEPLOYMENT },
        { "apps/v1beta2", "Deployment", KIND_DEPLOYMENT },
        { "extensions/v1beta1", "ReplicaSet", KIND_REPLICA_SET },
        { "extensions/v1beta1", "PodDisruptionBudget", KIND_UNKNOWN },
        { "policy/v1beta1", "PodDisruptionBudget", KIND_PDB },
        { "batch/v1", "Job", KIND_JOB },
        { "storage.k8s.io/v1beta1", "CSIStorageCapacity", KIND_CSI_STORAGE_CAPACITY },
        { "scheduling.k8s.io/v1", "PriorityClass", KIND_PRIORITY_CLASS },
        { "example.com/v1", "Node", KIND_UNKNOWN },
        { "", "Pod", KIND_UNKNOWN },
        { "/v1", "Pod", KIND_POD },
    };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (object_kind_from(str_from(kinds[i].version), str_from(kinds[i].kind)) != kinds[i].want)
            fail_msg("%s %s", kinds[i].version, kinds[i].kind);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_EXTRA_FIRST; kind++)
        assert_int_equal(object_kind_from(api_kinds[kind].api_version, api_kinds[kind].kind), kind);

    struct decoded d;
    assert_int_equal(decode(&d, "{apiVersion: example.com/v1, kind: Thing, spec: [1]}"), 0);
    assert_int_equal(d.object.kind, KIND_UNKNOWN);
    assert_null(d.object.ptr);
    assert_str(d.object.kind_name, "Thing");
    decoded_release(&d);
}

/* An empty selector matches nothing in policy/v1beta1. */
static void test_old_budget(void **state)
{
    (void)state;
    struct decoded d;
    const struct pdb *pdb = decode_kind(
        &d, KIND_PDB,
        "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {}}}}");
    assert_null(pdb->selector);
    decoded_release(&d);
    pdb = decode_kind(
        &d, KIND_PDB,
        "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, spec: {selector: {matchLabels: {a: b}}}}");
    assert_non_null(pdb->selector);
    decoded_release(&d);
}

#define IN_POD(spec) "apiVersion: v1\nkind: Pod\nspec:\n  " spec "\n"

static void test_rejected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { IN_POD("containers: [{image: 5}]"),
          "test.yaml:4:24: spec.containers[0].image: expected a string, got the number 5" },
        { IN_POD("containers: {}"), "test.yaml:4:15: spec.containers: expected a list, got an object" },
        { IN_POD("nodeSelector: {a: true}"),
          "test.yaml:4:21: spec.nodeSelector[a]: expected a string, got true" },
        { IN_POD("nodeSelector: x"),
          "test.yaml:4:17: spec.nodeSelector: expected an object with strings, got the string \"x\"" },
        { IN_POD("affinity: []"), "test.yaml:4:13: spec.affinity: expected an object, got a list" },
        { IN_POD("hostNetwork: 1"),
          "test.yaml:4:16: spec.hostNetwork: expected true or false, got the number 1" },
        { IN_POD("priority: x"),
          "test.yaml:4:13: spec.priority: expected a whole number, got the string \"x\"" },
        { IN_POD("priority: 1.5"),
          "test.yaml:4:13: spec.priority: expected a whole number, got the number 1.5" },
        { IN_POD("priority: 2147483648"),
          "test.yaml:4:13: spec.priority: expected a whole number from -2147483648 to 2147483647, got "
          "the number 2147483648" },
        { IN_POD("priority: -2147483649"),
          "test.yaml:4:13: spec.priority: expected a whole number from -2147483648 to 2147483647, got "
          "the number -2147483649" },
        { IN_POD("overhead: {cpu: 1x}"),
          "test.yaml:4:19: spec.overhead[cpu]: expected a quantity, got the string \"1x\"" },
        { IN_POD("overhead: {cpu: [1]}"),
          "test.yaml:4:19: spec.overhead[cpu]: expected a quantity, got a list" },
        { IN_POD("overhead: {\"c\\npu\": [1]}"),
          "test.yaml:4:23: spec.overhead[c?pu]: expected a quantity, got a list" },
        { "apiVersion: v1\nkind: Pod\nmetadata: {creationTimestamp: yesterday}\n",
          "test.yaml:3:31: metadata.creationTimestamp: expected a time such as 2006-01-02T15:04:05Z, got "
          "the string \"yesterday\"" },
        { "apiVersion: v1\nkind: [Pod]\n", "test.yaml:2:7: kind: expected a string, got a list" },
        { "kind: Pod\n", "test.yaml:1:1: expected apiVersion and kind, got no apiVersion" },
        { "apiVersion: v1\n", "test.yaml:1:1: expected apiVersion and kind, got no kind" },
        { "- 1\n", "test.yaml:1:1: expected an object, got a list" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct decoded d;
        assert_int_equal(decode(&d, cases[i].text), -EINVAL);
        assert_string_equal(d.err.text, cases[i].want);
        decoded_release(&d);
    }
}

static void test_unusual_but_valid(void **state)
{
    (void)state;
    struct decoded d;
    const struct pod *pod = decode_pod(
        &d, "{\"kind\":\"Pod\",\"metadata\":null,\"spec\":{\"containers\":[null,{\"name\":null}],"
            "\"nodeSelector\":"
            "{\"b\":\"1\",\"a\":\"2\",\"b\":\"3\",\"c\":null},\"overhead\":{\"cpu\":\" 1 "
            "\",\"memory\":null,\"x\":1e3},"
            "\"tolerations\":[],\"nodeName\":\"first\",\"nodeName\":\"last\"},\"apiVersion\":\"v1\"}");
    assert_null(pod->meta.name.ptr);
    assert_int_equal(pod->spec.containers.len, 2);
    assert_int_equal(pod->spec.node_selector.len, 3);
    assert_str(pod->spec.node_selector.items[1].key, "b");
    assert_str(pod->spec.node_selector.items[1].value, "3");
    assert_str(pod->spec.node_selector.items[2].value, "");
    assert_int_equal(pod->spec.overhead.items[0].amount.units, 1);
    assert_int_equal(pod->spec.overhead.items[1].amount.units, 0);
    assert_int_equal(pod->spec.overhead.items[2].amount.units, 1000);
    assert_non_null(pod->spec.tolerations.items);
    assert_str(pod->spec.node_name, "last");
    decoded_release(&d);
}

/* A map of many keys, in any order, with repetitions. */
static void test_big_map(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct strbuf text = { 0 };
    int last[500] = { 0 };
    strbuf_puts(&text, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":{");
    for (int i = 1; i <= 2000; i++) {
        size_t key = rng_below(&rng, ARRAY_SIZE(last));
        strbuf_printf(&text, "%s\"k%zu\":\"%d\"", i == 1 ? "" : ",", key, i);
        last[key] = i;
    }
    strbuf_puts(&text, "}}}");
    struct decoded d;
    const struct pod *pod = decode_pod(&d, text.text);
    uint32_t present = 0;
    for (size_t key = 0; key < ARRAY_SIZE(last); key++)
        present += last[key] != 0;
    assert_int_equal(pod->meta.labels.len, present);
    list_for(&pod->meta.labels, label) {
        if (label != pod->meta.labels.items)
            assert_true(str_cmp(label[-1].key, label->key) < 0);
        int64_t key, value;
        assert_true(str_to_int64(str_slice(label->key, 1, label->key.len), &key) &&
                    str_to_int64(label->value, &value));
        assert_int_equal(value, last[key]);
    }
    decoded_release(&d);
    strbuf_release(&text);
}

/* No table names a field or a tag twice. */
static void check_table(const struct record_type *type, unsigned depth)
{
    assert_true(depth < 20);
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        assert_true(field->offset < type->size);
        bool has_table = field->kind == &record_STRUCT || field->kind->item == &record_STRUCT;
        assert_int_equal(field->type != NULL, has_table);
        for (uint32_t other = 0; other < i; other++) {
            assert_string_not_equal(field->name, type->fields[other].name);
            assert_true(!field->tag || field->tag != type->fields[other].tag);
        }
        if (field->type)
            check_table(field->type, depth + 1);
    }
}

static void test_tables(void **state)
{
    (void)state;
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        check_table(api_kinds[kind].type, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pod),      cmocka_unit_test(test_flattened),
        cmocka_unit_test(test_kinds),    cmocka_unit_test(test_old_budget),
        cmocka_unit_test(test_rejected), cmocka_unit_test(test_unusual_but_valid),
        cmocka_unit_test(test_big_map),  cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
