/* kubelet.c: fake kubelets and their pods. No container is started.
 *
 *     bound ──▶ ContainerCreating for the node's start delay ──▶ Running, Ready
 *     deleted ─▶ Terminating for its stop delay, and its grace period at most ──▶ containers terminated ──▶ gone
 *
 * Without delays, the default, both happen at once. Pods of Jobs succeed after a moment, if a fake kubelet has started
 * them. A kubelet that has failed does nothing; its pods are not ready. */
#include <stdio.h>

#include "base/clock.h"
#include "controllers/controller.h"

#define CONTAINER_ID "berth://"

/* How the containers of a pod are. */
struct report {
    enum { CONTAINERS_CREATING, CONTAINERS_RUNNING, CONTAINERS_ENDED } state;
    int exit_code;   /* of those that have ended */
    bool is_adopted; /* they ran before, as a dump of another cluster says */
};

/* ---- what a kubelet reports ---- */
/* When the container was started, as the status before says; now if it does not. */
static yyjson_mut_val *started_at(yyjson_mut_doc *doc, yyjson_mut_val *before, struct str name)
{
    yyjson_mut_val *item;
    size_t i, max;
    if (yyjson_mut_is_arr(before))
        yyjson_mut_arr_foreach(before, i, max, item)
        {
            struct str since = tree_mut_text(item, "state.running.startedAt");
            if (since.len && str_eq(tree_mut_text(item, "name"), name))
                return tree_mut_new_str(doc, since);
        }
    return now_value(doc);
}

static void put_state(yyjson_mut_doc *doc, yyjson_mut_val *state, const struct report *report, const char *id,
                      yyjson_mut_val *since)
{
    static const char *const keys[] = { "waiting", "running", "terminated" };
    yyjson_mut_val *detail = yyjson_mut_obj(doc);
    if (report->state == CONTAINERS_CREATING) {
        tree_mut_put_str(doc, detail, "reason", STR("ContainerCreating"));
    } else if (report->state == CONTAINERS_RUNNING) {
        yyjson_mut_obj_add_val(doc, detail, "startedAt", since);
    } else {
        yyjson_mut_obj_add_int(doc, detail, "exitCode", report->exit_code);
        tree_mut_put_str(doc, detail, "reason", report->exit_code ? STR("Error") : STR("Completed"));
        yyjson_mut_obj_add_val(doc, detail, "startedAt", since);
        yyjson_mut_obj_add_val(doc, detail, "finishedAt", now_value(doc));
        tree_mut_put_str(doc, detail, "containerID", str_from(id));
    }
    yyjson_mut_obj_add_val(doc, state, keys[report->state], detail);
}

static yyjson_mut_val *container_status(yyjson_mut_doc *doc, yyjson_mut_val *container, struct str uid,
                                        yyjson_mut_val *before, const struct report *report)
{
    yyjson_mut_val *status = yyjson_mut_obj(doc), *state = yyjson_mut_obj(doc);
    struct str name = tree_mut_text(container, "name");
    bool runs = report->state == CONTAINERS_RUNNING;
    char id[128];
    snprintf(id, sizeof(id), CONTAINER_ID STR_FMT "-" STR_FMT, STR_ARG(uid), STR_ARG(name));
    tree_mut_put_str(doc, status, "name", name);
    yyjson_mut_obj_add_val(doc, status, "state", state);
    yyjson_mut_obj_add_val(doc, status, "lastState", yyjson_mut_obj(doc));
    yyjson_mut_obj_add_bool(doc, status, "ready", runs);
    yyjson_mut_obj_add_int(doc, status, "restartCount", 0);
    tree_mut_put_str(doc, status, "image", tree_mut_text(container, "image"));
    tree_mut_put_str(doc, status, "imageID", STR(""));
    if (report->state != CONTAINERS_CREATING && !report->is_adopted)
        tree_mut_put_str(doc, status, "containerID", str_from(id));
    yyjson_mut_obj_add_bool(doc, status, "started", runs);
    put_state(doc, state, report, id, started_at(doc, before, name));
    return status;
}

static void put_containers(yyjson_mut_doc *doc, yyjson_mut_val *pod, const char *of, const char *key,
                           const struct report *report)
{
    yyjson_mut_val *containers = tree_mut_at(pod, of), *statuses = yyjson_mut_arr(doc), *container;
    yyjson_mut_val *status = tree_mut_make(doc, pod, "status"), *before = yyjson_mut_obj_get(status, key);
    size_t i, max;
    if (!yyjson_mut_arr_size(containers))
        return;
    yyjson_mut_arr_foreach(containers, i, max, container) yyjson_mut_arr_append(
        statuses, container_status(doc, container, tree_mut_text(pod, "metadata.uid"), before, report));
    tree_mut_put(doc, status, str_from(key), statuses);
}

/* An address that follows from the uid; unique enough for a cluster without networking. */
static void put_addresses(yyjson_mut_doc *doc, yyjson_mut_val *status, struct str uid)
{
    char address[32];
    uint64_t hash = str_hash(uid);
    snprintf(address, sizeof(address), "10.%u.%u.%u", (unsigned)(128 + hash % 100),
             (unsigned)(hash >> 8 & 255), (unsigned)(1 + (hash >> 16) % 254));
    yyjson_mut_val *list = yyjson_mut_arr(doc), *one = yyjson_mut_obj(doc);
    tree_mut_put_str(doc, status, "podIP", str_from(address));
    tree_mut_put_str(doc, one, "ip", str_from(address));
    yyjson_mut_arr_append(list, one);
    tree_mut_put(doc, status, STR("podIPs"), list);
}

static void put_conditions(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *const *types, size_t len,
                           bool is_true, const char *reason)
{
    for (size_t i = 0; i < len; i++)
        put_condition(doc, status, types[i], is_true, reason, "", false);
}

static const char *const begun[] = { "PodReadyToStartContainers", "Initialized" };
static const char *const ready[] = { "Ready", "ContainersReady" };

static int create_containers(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *status = tree_mut_make(doc, pod, "status");
    struct report report = { CONTAINERS_CREATING };
    put_condition(doc, status, "PodReadyToStartContainers", false, "", "", false);
    put_condition(doc, status, "Initialized", true, "", "", false);
    put_conditions(doc, status, ready, ARRAY_SIZE(ready), false, "ContainersNotReady");
    tree_mut_put_str(doc, status, "hostIP", STR("127.0.0.1"));
    tree_mut_put(doc, status, STR("startTime"), now_value(doc));
    put_containers(doc, pod, "spec.containers", "containerStatuses", &report);
    return 0;
}

static int start_pod(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *status = tree_mut_make(doc, pod, "status");
    struct report ended = { CONTAINERS_ENDED }, running = *(const struct report *)user;
    tree_mut_put_str(doc, status, "phase", STR("Running"));
    put_conditions(doc, status, begun, ARRAY_SIZE(begun), true, "");
    put_conditions(doc, status, ready, ARRAY_SIZE(ready), true, "");
    tree_mut_put_str(doc, status, "hostIP", STR("127.0.0.1"));
    put_addresses(doc, status, tree_mut_text(pod, "metadata.uid"));
    if (!yyjson_mut_obj_get(status, "startTime"))
        tree_mut_put(doc, status, STR("startTime"), now_value(doc));
    put_containers(doc, pod, "spec.initContainers", "initContainerStatuses", &ended);
    put_containers(doc, pod, "spec.containers", "containerStatuses", &running);
    return 0;
}

static int finish_pod(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct report *report = user;
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *status = tree_mut_make(doc, pod, "status");
    const char *reason = report->exit_code ? "PodFailed" : "PodCompleted";
    tree_mut_put_str(doc, status, "phase", report->exit_code ? STR("Failed") : STR("Succeeded"));
    put_condition(doc, status, "PodReadyToStartContainers", false, "", "", false);
    put_condition(doc, status, "Initialized", true, report->exit_code ? "" : reason, "", false);
    put_conditions(doc, status, ready, ARRAY_SIZE(ready), false, reason);
    put_containers(doc, pod, "spec.containers", "containerStatuses", report);
    return 0;
}

static int set_ready(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const bool *is_ready = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    put_condition(doc, status, "Ready", *is_ready, "", "", false);
    return 0;
}

/* ---- what is known about a pod ---- */
/* A pod of another cluster, which runs there for its own reasons, is not. */
static bool is_ours(yyjson_val *json)
{
    yyjson_val *first = yyjson_arr_get_first(tree_at(json, "status.containerStatuses"));
    return str_starts_with(tree_text(first, "containerID"), STR(CONTAINER_ID));
}

static bool is_of_job(yyjson_val *json)
{
    yyjson_val *owner = yyjson_arr_get_first(tree_at(json, "metadata.ownerReferences"));
    return str_is(tree_text(owner, "kind"), "Job") &&
           !str_is(tree_text(json, "spec.restartPolicy"), "Always");
}

static bool has_condition(yyjson_val *json, const char *type, const char *value)
{
    yyjson_val *list = tree_at(json, "status.conditions"), *item;
    size_t i, max;
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, item) {
            if (str_is(tree_text(item, "type"), type))
                return str_is(tree_text(item, "status"), value);
        }
    return false;
}

static bool passes_gates(yyjson_val *json)
{
    yyjson_val *gates = tree_at(json, "spec.readinessGates"), *gate;
    size_t i, max;
    if (yyjson_is_arr(gates))
        yyjson_arr_foreach(gates, i, max, gate) {
            char type[256];
            snprintf(type, sizeof(type), STR_FMT, STR_ARG(tree_text(gate, "conditionType")));
            if (!has_condition(json, type, "True"))
                return false;
        }
    return true;
}

/* ---- what a kubelet does ---- */
/* Has less than that passed since then? Then the pod comes to the queue again. */
static bool waits(struct controllers *controllers, const struct api_resource *resource,
                  const struct stored *pod, int64_t since_ns, int64_t ms)
{
    int64_t left_ms = ms - (monotonic_ns() - since_ns) / NS_PER_MS;
    if (left_ms <= 0)
        return false;
    task_add(controllers, &controller_kubelet, resource, pod->ns, pod->name, left_ms);
    return true;
}

static void start(struct controllers *controllers, const struct api_resource *resource, struct stored *pod,
                  yyjson_val *json, const struct known *known)
{
    struct report report = { CONTAINERS_RUNNING };
    if (!waits(controllers, resource, pod, known->bound_ns, known->host->start_ms))
        change_object(controllers, resource, pod, SUB_STATUS, start_pod, &report);
    else if (!tree_at(json, "status.containerStatuses"))
        change_object(controllers, resource, pod, SUB_STATUS, create_containers, NULL);
}

/* Containers that take longer than the grace period are killed. What is left is a pod whose containers have ended,
 * which the kubelet deletes without a grace period. */
static void end(struct controllers *controllers, const struct api_resource *resource, struct stored *pod,
                yyjson_val *json, const struct known *known)
{
    int64_t stop_ms = known->host->stop_ms; /* a day at most */
    int64_t grace_s = tree_int(json, "metadata.deletionGracePeriodSeconds", 0);
    int64_t grace_ms = MIN(MAX(grace_s, 0), stop_ms + 1) * 1000;
    bool runs = known->phase == PHASE_RUNNING;
    struct report report = { CONTAINERS_ENDED, stop_ms > grace_ms ? 128 + 9 : 0 };
    if (runs && waits(controllers, resource, pod, known->ending_ns, MIN(stop_ms, grace_ms)))
        return;
    if (runs)
        change_object(controllers, resource, pod, SUB_STATUS, finish_pod, &report);
    delete_object(controllers, resource, pod, "", 0);
}

/* Pods of Jobs succeed; the others stay, and are ready again if their node was not. */
static void keep(struct controllers *controllers, const struct api_resource *resource, struct stored *pod,
                 yyjson_val *json, const struct known *known)
{
    struct report report = { CONTAINERS_ENDED }, adopted = { CONTAINERS_RUNNING, .is_adopted = true };
    bool is_ready = true;
    int64_t left_ms = (known->ready_s - now_s()) * 1000 + controllers->options.job_ms;
    if (!tree_at(json, "status.containerStatuses") && !known->is_ready) /* written by hand */
        change_object(controllers, resource, pod, SUB_STATUS, start_pod, &adopted);
    else if (!known->is_ready && has_condition(json, "ContainersReady", "True") && passes_gates(json))
        change_object(controllers, resource, pod, SUB_STATUS, set_ready, &is_ready);
    else if (!is_of_job(json) || !is_ours(json))
        return;
    else if (left_ms > 0)
        task_add(controllers, &controller_kubelet, resource, pod->ns, pod->name, left_ms);
    else
        change_object(controllers, resource, pod, SUB_STATUS, finish_pod, &report);
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *pod, yyjson_val *json)
{
    const struct known *known = pod ? known_find(controllers, resource, pod->ns, pod->name) : NULL;
    bool is_ready = false;
    if (!known || !known->host)
        return;
    if (known->host->state != HOST_WELL) {
        /* The node lifecycle controller does that much. */
        if (known->is_ready)
            change_object(controllers, resource, pod, SUB_STATUS, set_ready, &is_ready);
    } else if (known->is_terminating) {
        end(controllers, resource, pod, json, known);
    } else if (known->phase == PHASE_PENDING) {
        start(controllers, resource, pod, json, known);
    } else if (known->phase == PHASE_RUNNING) {
        keep(controllers, resource, pod, json, known);
    }
}

const struct controller controller_kubelet = {
    .name = "kubelet", .group = "", .plural = "pods", .sync = sync_object
};
