/* eviction.c: pods leave nodes with NoExecute taints when their tolerations run out, as Kubernetes' taint eviction
 * controller has it; and pods of nodes that were deleted are deleted after a while, as its pod garbage collector has
 * it. */
#include "api/taints.h"
#include "base/clock.h"
#include "controllers/controller.h"

enum { ORPHANED_MS = 1000, TOLERATED_S_MAX = 1000 * 1000 * 1000 };

static const char deleted_node[] = "PodGC: node no longer exists",
                  by_taint[] = "Taint manager: deleting due to NoExecute taint";

static int mark_evicted(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    bool is_orphan = user == deleted_node;
    put_condition(doc, status, "DisruptionTarget", true,
                  is_orphan ? "DeletionByPodGC" : "DeletionByTaintManager", user, false);
    struct str phase = tree_mut_text(status, "phase");
    if (is_orphan && !str_is(phase, "Succeeded") && !str_is(phase, "Failed"))
        tree_mut_put_str(doc, status, "phase", STR("Failed"));
    return 0;
}

/* ---- tolerations ---- */
static struct toleration read_toleration(yyjson_val *json)
{
    yyjson_val *seconds = yyjson_obj_get(json, "tolerationSeconds");
    return (struct toleration){ .key = tree_text(json, "key"),
                                .operator= tree_text(json, "operator"),
                                .value = tree_text(json, "value"),
                                .effect = tree_text(json, "effect"),
                                .toleration_seconds = { .set = yyjson_is_int(seconds),
                                                        .value = yyjson_get_sint(seconds) } };
}

/* The first toleration that tolerates the taint. */
static bool find_toleration(yyjson_val *tolerations, const struct taint *taint, struct toleration *ret)
{
    yyjson_val *item;
    size_t i, max;
    if (yyjson_is_arr(tolerations))
        yyjson_arr_foreach(tolerations, i, max, item) {
            *ret = read_toleration(item);
            if (toleration_tolerates_taint(ret, taint, true))
                return true;
        }
    return false;
}

/* For how many seconds the pod stays: the least of its tolerations; -1: for ever. */
static int64_t tolerated_s(yyjson_val *tolerations, yyjson_val *taints)
{
    int64_t least_s = -1;
    yyjson_val *item;
    size_t i, max;
    if (!yyjson_is_arr(taints))
        return -1;
    yyjson_arr_foreach(taints, i, max, item) {
        struct taint taint = { tree_text(item, "key"), tree_text(item, "value"), tree_text(item, "effect") };
        struct toleration found;
        if (!str_is(taint.effect, TAINT_NO_EXECUTE))
            continue;
        if (!find_toleration(tolerations, &taint, &found))
            return 0;
        int64_t seconds = MIN(MAX(found.toleration_seconds.value, 0), (int64_t)TOLERATED_S_MAX);
        if (found.toleration_seconds.set && (least_s < 0 || seconds < least_s))
            least_s = seconds;
    }
    return least_s;
}

static int64_t tolerated_on(struct controllers *controllers, const struct host *host, yyjson_val *pod)
{
    const struct stored *node =
        store_get(controllers->store, resource_named("", "nodes")->storage, STR(""), host->name);
    if (!node)
        return -1;
    yyjson_doc *doc = yyjson_read(node->json.ptr, node->json.len, 0);
    int64_t seconds =
        tolerated_s(tree_at(pod, "spec.tolerations"), tree_at(yyjson_doc_get_root(doc), "spec.taints"));
    yyjson_doc_free(doc);
    return seconds;
}

/* ---- pods ---- */
/* Has that time passed? If not, the pod comes to the queue again. */
static bool is_over(struct controllers *controllers, const struct api_resource *resource,
                    const struct stored *pod, int64_t since_ns, int64_t ms)
{
    int64_t left_ms = ms - (monotonic_ns() - since_ns) / NS_PER_MS;
    if (left_ms <= 0)
        return true;
    task_add(controllers, &controller_eviction, resource, pod->ns, pod->name, left_ms);
    return false;
}

static void evict(struct controllers *controllers, const struct api_resource *resource, struct stored *pod,
                  const char *why)
{
    change_object(controllers, resource, pod, SUB_STATUS, mark_evicted, (void *)why);
    delete_object(controllers, resource, pod, "", why == deleted_node ? 0 : -1);
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *pod, yyjson_val *json)
{
    struct known *known = pod ? known_find(controllers, resource, pod->ns, pod->name) : NULL;
    const struct host *host = known ? known->host : NULL;
    if (!host)
        return;
    if (host->gone_ns) {
        if (is_over(controllers, resource, pod, host->gone_ns, ORPHANED_MS))
            evict(controllers, resource, pod, deleted_node);
        return;
    }
    int64_t seconds = host->is_tainted && !known->is_terminating ? tolerated_on(controllers, host, json) : -1;
    if (seconds < 0) {
        known->evicted_ns = 0;
        return;
    }
    known->evicted_ns = known->evicted_ns ? known->evicted_ns : monotonic_ns();
    if (seconds == 0 || is_over(controllers, resource, pod, known->evicted_ns, seconds * 1000))
        evict(controllers, resource, pod, by_taint);
}

const struct controller controller_eviction = {
    .name = "eviction", .group = "", .plural = "pods", .sync = sync_object
};
