/* table_pods.c: the cells of pods and nodes.
 *
 * The status of a pod is its phase, unless a container says more: the first init container that is not done, else the
 * last container that waits or has ended. */
#include <stdlib.h>

#include "apiserver/table_cells.h"
#include "apiserver/tree.h"
#include "base/vec.h"
#include "codec/doc.h"

struct pod_summary {
    int64_t restarts, ready, total;
    struct str last_restart;
    char reason[128];
};

static bool has_condition(yyjson_val *object, struct str type, const char *status)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(object, "status.conditions")), i, max, item) {
        if (str_eq(tree_text(item, "type"), type))
            return str_is(tree_text(item, "status"), status);
    }
    return false;
}

/* Init containers that stay, of which the status counts as that of a container. */
static bool is_sidecar(yyjson_val *pod, struct str name)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(pod, "spec.initContainers")), i, max, item) {
        if (str_eq(tree_text(item, "name"), name))
            return str_is(tree_text(item, "restartPolicy"), "Always");
    }
    return false;
}

static void note_restarts(yyjson_val *container, int64_t *restarts, struct str *last)
{
    struct str ended = tree_text(container, "lastState.terminated.finishedAt");
    *restarts += tree_int(container, "restartCount", 0);
    if (str_cmp(ended, *last) > 0)
        *last = ended;
}

__attribute__((format(printf, 2, 3))) static void say(struct pod_summary *pod, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(pod->reason, sizeof(pod->reason), format, args);
    va_end(args);
}

/* Of a container that has ended. */
static void say_ended(struct pod_summary *pod, const char *prefix, yyjson_val *ended)
{
    struct str reason = tree_text(ended, "reason");
    long long signal = tree_int(ended, "signal", 0);
    if (reason.len)
        say(pod, "%s" STR_FMT, prefix, STR_ARG(reason));
    else if (signal)
        say(pod, "%sSignal:%lld", prefix, signal);
    else
        say(pod, "%sExitCode:%lld", prefix, (long long)tree_int(ended, "exitCode", 0));
}

/* Returns whether an init container is not done. */
static bool look_at_init(yyjson_val *object, struct pod_summary *pod, int64_t *sidecar_restarts,
                         struct str *sidecar_last)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(object, "status.initContainerStatuses")), i, max, item) {
        yyjson_val *ended = tree_at(item, "state.terminated");
        struct str waits = tree_text(item, "state.waiting.reason");
        bool stays = is_sidecar(object, tree_text(item, "name"));
        note_restarts(item, &pod->restarts, &pod->last_restart);
        if (stays)
            note_restarts(item, sidecar_restarts, sidecar_last);
        if (ended && tree_int(ended, "exitCode", 0) == 0)
            continue;
        if (stays && tree_bool(item, "started")) {
            pod->ready += tree_bool(item, "ready");
            continue;
        }
        if (ended)
            say_ended(pod, "Init:", ended);
        else if (waits.len && !str_is(waits, "PodInitializing"))
            say(pod, "Init:" STR_FMT, STR_ARG(waits));
        else
            say(pod, "Init:%zu/%zu", i, yyjson_arr_size(tree_at(object, "spec.initContainers")));
        return true;
    }
    return false;
}

static void look_at_containers(yyjson_val *object, struct pod_summary *pod)
{
    yyjson_val *list = tree_at(object, "status.containerStatuses");
    char failed[sizeof(pod->reason)] = "";
    bool runs = false;
    for (size_t i = yyjson_arr_size(list); i-- > 0;) {
        yyjson_val *item = yyjson_arr_get(list, i), *ended = tree_at(item, "state.terminated");
        struct str waits = tree_text(item, "state.waiting.reason");
        note_restarts(item, &pod->restarts, &pod->last_restart);
        if (waits.len) {
            say(pod, STR_FMT, STR_ARG(waits));
        } else if (ended) {
            say_ended(pod, "", ended);
            if (tree_int(ended, "exitCode", 0))
                snprintf(failed, sizeof(failed), "%s", pod->reason);
        } else if (tree_bool(item, "ready") && tree_at(item, "state.running")) {
            runs = true;
            pod->ready++;
        }
    }
    if (strcmp(pod->reason, "Completed") != 0)
        return;
    if (runs && has_condition(object, STR("Ready"), "True"))
        say(pod, "Running");
    else if (*failed)
        say(pod, "%s", failed);
    else if (runs)
        say(pod, "NotReady");
}

static void say_scheduling(yyjson_val *object, struct pod_summary *pod)
{
    yyjson_val *item;
    size_t i, max;
    struct str phase = tree_text(object, "status.phase"), reason = tree_text(object, "status.reason");
    say(pod, STR_FMT, STR_ARG(reason.len ? reason : phase));
    yyjson_arr_foreach(doc_items(tree_at(object, "status.conditions")), i, max, item) {
        if (str_is(tree_text(item, "type"), "PodScheduled") &&
            str_is(tree_text(item, "reason"), "SchedulingGated"))
            say(pod, "SchedulingGated");
    }
}

static struct pod_summary summarize(yyjson_val *object)
{
    struct pod_summary pod = { .total = (int64_t)yyjson_arr_size(tree_at(object, "spec.containers")) };
    struct str phase = tree_text(object, "status.phase"), sidecar_last = { 0 };
    int64_t sidecar_restarts = 0;
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(object, "spec.initContainers")), i, max, item)
        pod.total += str_is(tree_text(item, "restartPolicy"), "Always");
    say_scheduling(object, &pod);
    bool is_initializing = look_at_init(object, &pod, &sidecar_restarts, &sidecar_last);
    if (!is_initializing || has_condition(object, STR("Initialized"), "True")) {
        pod.restarts = sidecar_restarts;
        pod.last_restart = sidecar_last;
        look_at_containers(object, &pod);
    }
    if (!tree_at(object, "metadata.deletionTimestamp"))
        return pod;
    if (str_is(tree_text(object, "status.reason"), "NodeLost"))
        say(&pod, "Unknown");
    else if (!str_is(phase, "Failed") && !str_is(phase, "Succeeded"))
        say(&pod, "Terminating");
    return pod;
}

void cell_pod_ready(const struct cell *cell, struct strbuf *out)
{
    struct pod_summary pod = summarize(cell->object);
    strbuf_printf(out, "%lld/%lld", (long long)pod.ready, (long long)pod.total);
}

void cell_pod_status(const struct cell *cell, struct strbuf *out)
{
    struct pod_summary pod = summarize(cell->object);
    strbuf_puts(out, pod.reason);
}

void cell_pod_restarts(const struct cell *cell, struct strbuf *out)
{
    struct pod_summary pod = summarize(cell->object);
    strbuf_printf(out, "%lld", (long long)pod.restarts);
    if (pod.restarts && pod.last_restart.len) {
        strbuf_puts(out, " (");
        cell_write_since(cell, pod.last_restart, "", out);
        strbuf_puts(out, " ago)");
    }
}

void cell_pod_ip(const struct cell *cell, struct strbuf *out)
{
    struct str ip = tree_text(yyjson_arr_get(tree_at(cell->object, "status.podIPs"), 0), "ip");
    strbuf_str(out, ip.len ? ip : STR("<none>"));
}

void cell_pod_gates(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *list = tree_at(cell->object, "spec.readinessGates"), *gate;
    size_t i, max, open = 0;
    yyjson_arr_foreach(doc_items(list), i, max, gate)
        open += has_condition(cell->object, tree_text(gate, "conditionType"), "True");
    if (yyjson_arr_size(list))
        strbuf_printf(out, "%zu/%zu", open, yyjson_arr_size(list));
    else
        strbuf_puts(out, "<none>");
}

/* ---- nodes ---- */
void cell_node_status(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *item;
    const char *status = "Unknown";
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "status.conditions")), i, max, item) {
        if (str_is(tree_text(item, "type"), "Ready"))
            status = str_is(tree_text(item, "status"), "True") ? "Ready" : "NotReady";
    }
    strbuf_puts(out, status);
    if (tree_bool(cell->object, "spec.unschedulable"))
        strbuf_puts(out, ",SchedulingDisabled");
}

void cell_node_roles(const struct cell *cell, struct strbuf *out)
{
    static const struct str prefix = { "node-role.kubernetes.io/", 24 };
    VEC(struct str) roles = { 0 };
    yyjson_val *key, *val;
    size_t i, max;
    yyjson_obj_foreach(doc_items(tree_at(cell->object, "metadata.labels")), i, max, key, val) {
        struct str label = doc_text(key);
        if (str_starts_with(label, prefix) && label.len > prefix.len)
            *vec_push(&roles) = str_slice(label, prefix.len, label.len);
        else if (str_is(label, "kubernetes.io/role") && yyjson_get_len(val))
            *vec_push(&roles) = doc_text(val);
    }
    vec_sort(&roles, str_qsort_cmp);
    for (size_t r = 0; r < roles.len; r++)
        if (!r || !str_eq(roles.items[r], roles.items[r - 1]))
            strbuf_printf(out, "%s" STR_FMT, r ? "," : "", STR_ARG(roles.items[r]));
    if (!roles.len)
        strbuf_puts(out, "<none>");
    vec_release(&roles);
}

void cell_node_address(const struct cell *cell, struct strbuf *out)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(cell->object, "status.addresses")), i, max, item) {
        if (str_is(tree_text(item, "type"), cell->argument)) {
            strbuf_str(out, tree_text(item, "address"));
            return;
        }
    }
    strbuf_puts(out, "<none>");
}

void cell_node_kernel(const struct cell *cell, struct strbuf *out)
{
    struct str kernel = tree_text(cell->object, "status.nodeInfo.kernelVersion");
    struct str machine = tree_text(cell->object, "status.nodeInfo.architecture");
    strbuf_str(out, kernel.len ? kernel : STR("<unknown>"));
    if (machine.len)
        strbuf_printf(out, " (" STR_FMT ")", STR_ARG(machine));
}
