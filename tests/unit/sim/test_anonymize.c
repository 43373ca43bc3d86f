/* Names are gone, and what referred to each other still does. */
#include "sim/anonymize.h"

#include "unit/api/decoded.h"

static char *hide(struct anonymizer *anonymizer, const char *text)
{
    struct decoded decoded;
    struct strbuf out = { 0 };
    struct json_writer json = json_writer(&out, JSON_COMPACT);
    struct json_veil veil = anonymizer_veil(anonymizer);
    if (decode(&decoded, text) < 0)
        fail_msg("%s", decoded.err.text);
    anonymizer_look(anonymizer, &decoded.object);
    object_encode_json(&decoded.object, &veil, &json);
    decoded_release(&decoded);
    return out.text;
}

static void lacks(const char *text, const char *const *words)
{
    for (; *words; words++)
        if (strstr(text, *words))
            fail_msg("%s is still there: %s", *words, text);
}

static void names_are_gone_and_still_meet(void **state)
{
    (void)state;
    struct anonymizer anonymizer = { 0 };
    char *node = hide(
        &anonymizer,
        "{apiVersion: v1, kind: Node, metadata: {name: db7.corp, annotations: {owner: jane}, labels: "
        "{kubernetes.io/hostname: db7.corp, corp/team: payments, kubernetes.io/os: linux, gen: '7'}}, spec: "
        "{taints: [{key: corp/team, value: payments, effect: NoSchedule}]}, status: {allocatable: {cpu: "
        "4}}}");
    char *pod = hide(
        &anonymizer,
        "{apiVersion: v1, kind: Pod, metadata: {name: ledger-0, namespace: payments-prod, uid: u-1}, spec: "
        "{nodeName: db7.corp, schedulerName: default-scheduler, nodeSelector: {corp/team: payments, "
        "kubernetes.io/os: linux}, tolerations: [{key: corp/team, operator: Equal, value: payments}], "
        "containers: [{name: ledger, image: corp.example/ledger:1, resources: {requests: {cpu: 2}}}]}}");
    lacks(node, (const char *const[]){ "db7", "jane", "owner", "corp", "payments", NULL });
    lacks(pod, (const char *const[]){ "db7", "corp", "payments", "ledger", "u-1", NULL });
    assert_non_null(strstr(node, "\"kubernetes.io/os\":\"linux\""));
    assert_non_null(strstr(pod, "\"kubernetes.io/os\":\"linux\""));
    assert_non_null(strstr(node, "NoSchedule"));
    assert_non_null(strstr(pod, "\"schedulerName\":\"default-scheduler\""));
    assert_non_null(strstr(pod, "\"cpu\":\"2\""));

    struct decoded a, b;
    assert_int_equal(decode(&a, node), 0);
    const struct pod *hidden = decode_pod(&b, pod);
    const struct node *place = a.object.ptr;
    assert_true(str_eq(hidden->spec.node_name, place->meta.name));
    assert_true(str_eq(hidden->spec.tolerations.items[0].key, place->spec.taints.items[0].key));
    assert_true(str_eq(hidden->spec.tolerations.items[0].value, place->spec.taints.items[0].value));
    decoded_release(&a);
    decoded_release(&b);
    free(node);
    free(pod);
    anonymizer_release(&anonymizer);
}

static void drivers_keep_their_names(void **state)
{
    (void)state;
    struct anonymizer anonymizer = { 0 };
    char *volume = hide(
        &anonymizer, "{apiVersion: v1, kind: PersistentVolume, metadata: {name: vol}, spec: {csi: {driver: "
                     "ebs.csi.aws.com, volumeHandle: vol-0a1b}}}");
    char *node =
        hide(&anonymizer,
             "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: node-1}, spec: {drivers: "
             "[{name: ebs.csi.aws.com, nodeID: i-1, allocatable: {count: 25}}]}}");
    assert_non_null(strstr(volume, "ebs.csi.aws.com"));
    assert_non_null(strstr(node, "ebs.csi.aws.com"));
    lacks(volume, (const char *const[]){ "vol-0a1b", NULL });
    free(volume);
    free(node);
    anonymizer_release(&anonymizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_gone_and_still_meet),
        cmocka_unit_test(drivers_keep_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
