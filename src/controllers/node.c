/* node.c: nodes: their kubelets' heartbeats and conditions, and what the node lifecycle controller makes of them.
 *
 *     fake kubelet ──▶ Lease in kube-node-lease, conditions
 *                             │ no kubelet (cluster.berth.dev/fail)
 *     lifecycle ──────────────┴──▶ conditions Unknown ──▶ taints NoSchedule ──▶ taints NoExecute ──▶ eviction.c
 *
 * A real lifecycle controller waits 50 seconds for a heartbeat before it gives a node up. Here a node that is told to
 * fail is given up at once. Each call makes one write at most: the next call comes with that change. */
#include "apiserver/bootstrap.h"
#include "apiserver/fake_kubelet.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "controllers/controller.h"

#define NODE_LEASES STR("kube-node-lease")

enum {
    RENEW_MS = 10 * 1000,   /* kubelet renews four times in the duration of a lease */
    RENEWED_TOGETHER = 500, /* more nodes than that renew more seldom */
    REPORT_S = 5 * 60,      /* a status that does not change is reported as often */
    LEASES_PER_DURATION = 4,
};

/* ---- leases ---- */
static int64_t renew_ms(const struct controllers *controllers)
{
    return RENEW_MS * MAX((int64_t)(controllers->hosts.len / RENEWED_TOGETHER), 1);
}

static void put_renewal(yyjson_mut_doc *doc, struct str node, int64_t duration_s)
{
    char now[TIMESTAMP_LEN_MAX + 1];
    int64_t now_ns = clock_now_ns(CLOCK_REALTIME);
    yyjson_mut_val *spec = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "spec");
    tree_mut_put_str(doc, spec, "holderIdentity", node);
    tree_mut_put_int(doc, spec, "leaseDurationSeconds", duration_s);
    tree_mut_put_str(doc, spec, "renewTime",
                     timestamp_format_fraction(now_ns / NS_PER_S, (int32_t)(now_ns % NS_PER_S), 6, now));
}

struct renewal {
    struct str node;
    int64_t duration_s;
};

static int renew(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct renewal *renewal = user;
    put_renewal(doc, renewal->node, renewal->duration_s);
    return 0;
}

static void create_lease(struct controllers *controllers, const struct api_resource *leases,
                         const struct stored *node, int64_t duration_s)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc), *list = yyjson_mut_arr(doc),
                   *reference = yyjson_mut_arr_add_obj(doc, list);
    yyjson_mut_doc_set_root(doc, object);
    yyjson_mut_val *meta = tree_mut_make(doc, object, "metadata");
    tree_mut_put_str(doc, meta, "name", node->name);
    tree_mut_put_str(doc, reference, "apiVersion", STR("v1"));
    tree_mut_put_str(doc, reference, "kind", STR("Node"));
    tree_mut_put_str(doc, reference, "name", node->name);
    tree_mut_put_str(doc, reference, "uid", node->uid);
    tree_mut_put(doc, meta, STR("ownerReferences"), list);
    put_renewal(doc, node->name, duration_s);
    create_object(controllers, leases, NODE_LEASES, doc);
}

/* How long ago the lease was renewed. */
static int64_t age_ms(const struct stored *lease)
{
    struct timestamp at;
    yyjson_doc *doc = yyjson_read(lease->json.ptr, lease->json.len, 0);
    bool is_time = timestamp_parse(tree_text(yyjson_doc_get_root(doc), "spec.renewTime"), &at);
    yyjson_doc_free(doc);
    int64_t then_ms = is_time ? at.seconds * 1000 + at.nanos / NS_PER_MS : 0;
    return clock_now_ns(CLOCK_REALTIME) / NS_PER_MS - then_ms;
}

static void keep_lease(struct controllers *controllers, const struct api_resource *resource,
                       const struct stored *node)
{
    const struct api_resource *leases = resource_named("coordination.k8s.io", "leases");
    int64_t most_ms = renew_ms(controllers);
    /* Not all nodes at the same time. */
    int64_t period_ms = most_ms - (int64_t)(str_hash(node->name) % (uint64_t)(most_ms / 5));
    struct renewal renewal = { node->name, most_ms * LEASES_PER_DURATION / 1000 };
    struct stored *lease = store_get(controllers->store, leases->storage, NODE_LEASES, node->name);
    int64_t left_ms = lease ? period_ms - age_ms(lease) : 0;
    bool is_due = left_ms <= 0 || left_ms > period_ms; /* or the clock was set back */
    if (!lease)
        create_lease(controllers, leases, node, renewal.duration_s);
    else if (is_due)
        change_object(controllers, leases, lease, SUB_NONE, renew, &renewal);
    task_add(controllers, &controller_heartbeat, resource, STR(""), node->name, is_due ? period_ms : left_ms);
}

/* ---- conditions ---- */
static yyjson_mut_val *find_condition(yyjson_mut_val *status, const char *type)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(status, "conditions"), *item;
    size_t i, max;
    if (yyjson_mut_is_arr(list))
        yyjson_mut_arr_foreach(list, i, max, item)
        {
            if (str_is(tree_mut_text(item, "type"), type))
                return item;
        }
    return NULL;
}

/* Returns whether the condition is new or another one. */
static bool put_node_condition(yyjson_mut_doc *doc, yyjson_mut_val *status,
                               const struct kubelet_condition *want)
{
    yyjson_mut_val *condition = find_condition(status, want->type);
    if (!condition) {
        yyjson_mut_val *list = yyjson_mut_obj_get(status, "conditions");
        if (!yyjson_mut_is_arr(list)) {
            list = yyjson_mut_arr(doc);
            tree_mut_put(doc, status, STR("conditions"), list);
        }
        condition = yyjson_mut_arr_add_obj(doc, list);
        tree_mut_put_str(doc, condition, "type", str_from(want->type));
    }
    bool is_same_status = str_is(tree_mut_text(condition, "status"), want->status);
    if (is_same_status && str_is(tree_mut_text(condition, "reason"), want->reason))
        return false;
    tree_mut_put_str(doc, condition, "status", str_from(want->status));
    if (!is_same_status)
        tree_mut_put(doc, condition, STR("lastTransitionTime"), now_value(doc));
    tree_mut_put_str(doc, condition, "reason", str_from(want->reason));
    tree_mut_put_str(doc, condition, "message", str_from(want->message));
    return true;
}

static bool is_old(yyjson_mut_val *condition)
{
    struct timestamp at;
    return !timestamp_parse(tree_mut_text(condition, "lastHeartbeatTime"), &at) ||
           at.seconds + REPORT_S <= now_s() || at.seconds > now_s() + REPORT_S;
}

static const struct kubelet_condition not_ready = { "Ready", "False", "KubeletNotReady",
                                                    "container runtime is down" };

/* What the kubelet reports. */
static int report(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct host *host = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    bool reports = false;
    for (const struct kubelet_condition *row = kubelet_conditions; row->type; row++) {
        bool is_ready = str_is(str_from(row->type), "Ready");
        reports |=
            put_node_condition(doc, status, is_ready && host->state == HOST_NOT_READY ? &not_ready : row);
        reports |= is_old(find_condition(status, row->type));
    }
    for (const struct kubelet_condition *row = kubelet_conditions; reports && row->type; row++)
        tree_mut_put(doc, find_condition(status, row->type), STR("lastHeartbeatTime"), now_value(doc));
    return 0;
}

static void sync_heartbeat(struct controllers *controllers, const struct api_resource *resource,
                           struct stored *node, yyjson_val *json _unused_)
{
    struct host *host = node ? host_find(controllers, node->name) : NULL;
    if (!host || host->state == HOST_UNREACHABLE)
        return;
    change_object(controllers, resource, node, SUB_STATUS, report, host);
    keep_lease(controllers, resource, node);
}

const struct controller controller_heartbeat = {
    .name = "heartbeat", .group = "", .plural = "nodes", .sync = sync_heartbeat
};

/* ---- what the lifecycle controller makes of it ---- */
static int give_up(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    for (const struct kubelet_condition *row = kubelet_conditions; row->type; row++) {
        struct kubelet_condition unknown = { row->type, "Unknown", "NodeStatusUnknown",
                                             "Kubelet stopped posting node status." };
        yyjson_mut_val *condition = find_condition(status, row->type);
        if (!condition) {
            unknown.reason = "NodeStatusNeverUpdated";
            unknown.message = "Kubelet never posted node status.";
        } else if (str_is(tree_mut_text(condition, "status"), "Unknown")) {
            continue;
        }
        put_node_condition(doc, status, &unknown);
    }
    return 0;
}

/* Conditions and their taints. The first two also mean NoExecute. */
static const struct taint_rule {
    const char *condition, *status, *key;
} rules[] = {
    { "Ready", "False", "node.kubernetes.io/not-ready" },
    { "Ready", "Unknown", "node.kubernetes.io/unreachable" },
    { "MemoryPressure", "True", "node.kubernetes.io/memory-pressure" },
    { "DiskPressure", "True", "node.kubernetes.io/disk-pressure" },
    { "NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable" },
    { "PIDPressure", "True", "node.kubernetes.io/pid-pressure" },
    { NULL, NULL, "node.kubernetes.io/unschedulable" },
};
enum { NO_EXECUTE_RULES = 2 };

static bool applies(const struct taint_rule *rule, yyjson_mut_val *node)
{
    if (!rule->condition)
        return yyjson_mut_is_true(tree_mut_at(node, "spec.unschedulable"));
    yyjson_mut_val *condition = find_condition(yyjson_mut_obj_get(node, "status"), rule->condition);
    return condition && str_is(tree_mut_text(condition, "status"), rule->status);
}

static bool put_taint(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *key, const char *effect,
                      bool is_on)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(spec, "taints");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;) {
        yyjson_mut_val *taint = yyjson_mut_arr_get(list, i);
        if (!str_is(tree_mut_text(taint, "key"), key) || !str_is(tree_mut_text(taint, "effect"), effect))
            continue;
        if (!is_on)
            yyjson_mut_arr_remove(list, i);
        if (!is_on && !yyjson_mut_arr_size(list))
            tree_mut_remove(spec, "taints");
        return !is_on;
    }
    if (!is_on)
        return false;
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        tree_mut_put(doc, spec, STR("taints"), list);
    }
    yyjson_mut_val *taint = yyjson_mut_arr_add_obj(doc, list);
    tree_mut_put_str(doc, taint, "key", str_from(key));
    tree_mut_put_str(doc, taint, "effect", str_from(effect));
    tree_mut_put(doc, taint, STR("timeAdded"), now_value(doc));
    return true;
}

/* NoSchedule first; NoExecute when that is so. */
static int put_taints(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *node = yyjson_mut_doc_get_root(doc), *spec = tree_mut_make(doc, node, "spec");
    bool is_changed = false;
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        is_changed |= put_taint(doc, spec, rules[i].key, "NoSchedule", applies(&rules[i], node));
    for (size_t i = 0; i < NO_EXECUTE_RULES && !is_changed; i++)
        put_taint(doc, spec, rules[i].key, "NoExecute", applies(&rules[i], node));
    return 0;
}

static void sync_lifecycle(struct controllers *controllers, const struct api_resource *resource,
                           struct stored *node, yyjson_val *json _unused_)
{
    struct host *host = node ? host_find(controllers, node->name) : NULL;
    if (!host)
        return;
    uint64_t before = node->revision;
    if (host->state == HOST_UNREACHABLE)
        change_object(controllers, resource, node, SUB_STATUS, give_up, NULL);
    const struct stored *now = store_get(controllers->store, resource->storage, STR(""), node->name);
    if (now && now->revision == before)
        change_object(controllers, resource, node, SUB_NONE, put_taints, NULL);
}

const struct controller controller_node_lifecycle = {
    .name = "node-lifecycle", .group = "", .plural = "nodes", .sync = sync_lifecycle
};
