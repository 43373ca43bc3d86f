/* bootstrap.c: what kube-apiserver and its helpers make in an empty cluster, as JSON texts. */
#include "apiserver/bootstrap.h"

#include <stdarg.h>
#include <stdio.h>

#include "apiserver/tree.h"
#include "base/clock.h"
#include "base/timestamp.h"

static const struct {
    const char *group, *plural, *ns, *json;
} objects[] = {
    { "", "namespaces", "", "{\"metadata\":{\"name\":\"default\"}}" },
    { "", "namespaces", "", "{\"metadata\":{\"name\":\"kube-system\"}}" },
    { "", "namespaces", "", "{\"metadata\":{\"name\":\"kube-public\"}}" },
    { "", "namespaces", "", "{\"metadata\":{\"name\":\"kube-node-lease\"}}" },
    { "", "serviceaccounts", "default", "{\"metadata\":{\"name\":\"default\"}}" },
    { "", "serviceaccounts", "kube-system", "{\"metadata\":{\"name\":\"default\"}}" },
    { "", "serviceaccounts", "kube-public", "{\"metadata\":{\"name\":\"default\"}}" },
    { "", "serviceaccounts", "kube-node-lease", "{\"metadata\":{\"name\":\"default\"}}" },
    { "scheduling.k8s.io", "priorityclasses", "",
      "{\"metadata\":{\"name\":\"system-cluster-critical\"},\"value\":2000000000,\"preemptionPolicy\":"
      "\"PreemptLowerPriority\",\"description\":\"Used for system critical pods that must run in the "
      "cluster, but can "
      "be moved to another node if necessary.\"}" },
    { "scheduling.k8s.io", "priorityclasses", "",
      "{\"metadata\":{\"name\":\"system-node-critical\"},\"value\":2000001000,\"preemptionPolicy\":"
      "\"PreemptLowerPriority\",\"description\":\"Used for system critical pods that must not be moved from "
      "their "
      "current node.\"}" },
};

static yyjson_mut_doc *parse(struct str json)
{
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    yyjson_mut_doc *object = yyjson_doc_mut_copy(doc, NULL);
    yyjson_doc_free(doc);
    return object;
}

/* Frees the object. */
static int make(struct registry *registry, const struct api_resource *resource, const char *ns,
                yyjson_mut_doc *object, struct error *err)
{
    struct api_error failure = { 0 };
    struct registry_result result = { 0 };
    int r = registry_create(registry, resource, str_from(ns), object, &(struct write_options){ 0 }, &result,
                            &failure);
    if (r < 0 && r != -409)
        r = error_set(err, -EINVAL, "a first object of the cluster: " STR_FMT, STR_ARG(failure.message));
    registry_result_release(&result);
    api_error_release(&failure);
    yyjson_mut_doc_free(object);
    return r == -409 ? 0 : r;
}

/* All rows of the table, or those of one resource. */
static int make_rows(struct registry *registry, const char *plural, struct error *err)
{
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(objects) && r == 0; i++)
        if (!plural || strcmp(objects[i].plural, plural) == 0)
            r = make(registry, resource_named(objects[i].group, objects[i].plural), objects[i].ns,
                     parse(str_from(objects[i].json)), err);
    return r;
}

int bootstrap_classes(struct registry *registry, struct error *err)
{
    return make_rows(registry, "priorityclasses", err);
}

int bootstrap_objects(struct registry *registry, uint16_t port, struct error *err)
{
    int r = make_rows(registry, NULL, err);
    if (r < 0)
        return r;
    _cleanup_(strbuf_release) struct strbuf service = { 0 };
    strbuf_printf(
        &service,
        "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{\"component\":\"apiserver\",\"provider\":"
        "\"kubernetes\"}},\"spec\":{\"type\":\"ClusterIP\",\"clusterIP\":\"10.96.0.1\",\"sessionAffinity\":"
        "\"None\",\"internalTrafficPolicy\":\"Cluster\",\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\","
        "\"port\":443,\"targetPort\":%u}]}}",
        port);
    return make(registry, resource_named("", "services"), "default", parse(strbuf_slice(&service)), err);
}

/* ---- nodes ---- */
static void put_absent(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *format, ...)
    _printf_(4, 5);

static void put_absent(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, const char *format, ...)
{
    char text[128];
    va_list args;
    if (yyjson_mut_obj_get(object, key))
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    tree_mut_put_str(doc, object, key, str_from(text));
}

static void put_addresses(yyjson_mut_doc *doc, yyjson_mut_val *status, struct str name, size_t number)
{
    char address[32];
    yyjson_mut_val *list = yyjson_mut_arr(doc), *item = yyjson_mut_arr_add_obj(doc, list);
    if (yyjson_mut_obj_get(status, "addresses"))
        return;
    snprintf(address, sizeof(address), "192.%zu.%zu.%zu", 168 + number / 62500 % 80, number / 250 % 250,
             number % 250 + 1);
    tree_mut_put_str(doc, item, "type", STR("InternalIP"));
    tree_mut_put_str(doc, item, "address", str_from(address));
    item = yyjson_mut_arr_add_obj(doc, list);
    tree_mut_put_str(doc, item, "type", STR("Hostname"));
    tree_mut_put_str(doc, item, "address", name);
    tree_mut_put(doc, status, STR("addresses"), list);
}

/* As a kubelet that is well reports them. */
const struct kubelet_condition kubelet_conditions[] = {
    { "MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available" },
    { "DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure" },
    { "PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available" },
    { "Ready", "True", "KubeletReady", "kubelet is posting ready status" },
    { 0 },
};

static void put_conditions(yyjson_mut_doc *doc, yyjson_mut_val *status)
{
    char now[TIMESTAMP_LEN + 1];
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    if (yyjson_mut_obj_get(status, "conditions"))
        return;
    timestamp_format(clock_now_ns(CLOCK_REALTIME) / NS_PER_S, now);
    for (const struct kubelet_condition *row = kubelet_conditions; row->type; row++) {
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        tree_mut_put_str(doc, item, "type", str_from(row->type));
        tree_mut_put_str(doc, item, "status", str_from(row->status));
        tree_mut_put_str(doc, item, "lastHeartbeatTime", str_from(now));
        tree_mut_put_str(doc, item, "lastTransitionTime", str_from(now));
        tree_mut_put_str(doc, item, "reason", str_from(row->reason));
        tree_mut_put_str(doc, item, "message", str_from(row->message));
    }
    tree_mut_put(doc, status, STR("conditions"), list);
}

void bootstrap_complete_node(yyjson_mut_doc *doc, size_t number)
{
    static const char *const info[][2] = {
        { "kubeletVersion", "v1.37.1+berth" },
        { "operatingSystem", "linux" },
        { "architecture", "amd64" },
        { "osImage", "berth cluster" },
        { "kernelVersion", "0" },
        { "containerRuntimeVersion", "fake://0" },
        { "machineID", "" },
        { "systemUUID", "" },
        { "bootID", "" },
        { "kubeProxyVersion", "" },
    };
    yyjson_mut_val *node = yyjson_mut_doc_get_root(doc), *spec = tree_mut_make(doc, node, "spec");
    yyjson_mut_val *status = tree_mut_make(doc, node, "status"),
                   *node_info = tree_mut_make(doc, status, "nodeInfo");
    struct str name = tree_mut_text(node, "metadata.name");
    put_absent(doc, spec, "podCIDR", "10.%zu.%zu.0/24", 128 + number / 256 % 100, number % 256);
    put_absent(doc, spec, "providerID", "berth://" STR_FMT, STR_ARG(name));
    put_addresses(doc, status, name, number);
    for (size_t i = 0; i < ARRAY_SIZE(info); i++)
        put_absent(doc, node_info, info[i][0], "%s", info[i][1]);
    put_conditions(doc, status);
}

int bootstrap_nodes(struct registry *registry, size_t count, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    static const char amounts[] =
        "{\"cpu\":\"16\",\"memory\":\"64Gi\",\"pods\":\"110\",\"ephemeral-storage\":\"100Gi\"}";
    int r = 0;
    for (size_t i = 0; i < count && r == 0; i++) {
        strbuf_clear(&json);
        strbuf_printf(
            &json,
            "{\"metadata\":{\"name\":\"node-%zu\",\"labels\":{\"kubernetes.io/hostname\":\"node-%zu\","
            "\"kubernetes.io/os\":\"linux\",\"kubernetes.io/arch\":\"amd64\","
            "\"node.kubernetes.io/instance-type\":\"berth.large\",\"topology.kubernetes.io/"
            "region\":\"local\",\"topology.kubernetes.io/zone\":\"zone-%c\"}},"
            "\"status\":{\"capacity\":%s,\"allocatable\":%s}}",
            i, i, (int)('a' + i % 3), amounts, amounts);
        yyjson_mut_doc *node = parse(strbuf_slice(&json));
        bootstrap_complete_node(node, i);
        r = make(registry, resource_named("", "nodes"), "", node, err);
    }
    return r;
}
