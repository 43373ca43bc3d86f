/* resources.c: rows of what pods request, and a registry of metrics for one page: between two pages nothing is counted.
 * The rows are copies, so that the core may go on while a page of many megabytes is written.
 *
 * Numbers are those that Kubernetes' own helpers give (api/pod_resources.h), in the unit of the resource. Labels
 * stand in the order of their names, as Prometheus' library writes them. */
#include "debug/resources.h"

#include <stdlib.h>

#include "api/pod_resources.h"
#include "api/resource_list.h"
#include "base/metrics.h"

enum { REQUEST, LIMIT, FAMILIES };

#define LABELS { "namespace", "node", "pod", "priority", "resource", "scheduler", "unit" }
#define SHOWS \
    " workloads on the cluster, broken down by pod. This shows the resource usage the scheduler and " \
    "kubelet expect " \
    "per pod for resources along with the unit for the resource if any."

static const struct metric_info infos[FAMILIES] = {
    [REQUEST] = { .name = "kube_pod_resource_request",
                  .help = "Resources requested by" SHOWS,
                  .type = METRIC_GAUGE,
                  .stability = METRIC_STABLE,
                  .labels = LABELS },
    [LIMIT] = { .name = "kube_pod_resource_limit",
                .help = "Resources limit for" SHOWS,
                .type = METRIC_GAUGE,
                .stability = METRIC_STABLE,
                .labels = LABELS },
};

static struct str unit_of(struct str resource)
{
    if (str_is(resource, "cpu"))
        return STR("cores");
    if (str_is(resource, "memory") || str_is(resource, "storage") || str_is(resource, "ephemeral-storage") ||
        str_starts_with(resource, STR("hugepages-")))
        return STR("bytes");
    return str_starts_with(resource, STR("attachable-volumes-")) ? STR("integer") : STR("");
}

/* The digits, and then the power of ten: the same rounding as there. */
static double approximately(struct quantity amount)
{
    static const struct {
        uint32_t nano;
        double scale;
    } steps[] = { { 1000000, 1e-3 }, { 1000, 1e-6 }, { 1, 1e-9 } };
    if (!amount.nano)
        return (double)amount.units;
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
        if (amount.nano % steps[i].nano == 0) {
            double per_unit = 1e9 / steps[i].nano;
            return ((double)amount.units * per_unit + (double)(amount.nano / steps[i].nano)) * steps[i].scale;
        }
    return 0;
}

struct row {
    struct str namespace, node, pod, priority, resource, scheduler;
    struct quantity amount;
    int family;
};

struct resource_rows {
    struct arena arena; /* what the rows point into */
    VEC(struct row) rows;
};

static struct row row_of(struct arena *arena, const struct pod *pod)
{
    return (struct row){
        .namespace = arena_str(arena, pod->meta.namespace),
        .node = arena_str(arena, pod->spec.node_name),
        .pod = arena_str(arena, pod->meta.name),
        .priority =
            pod->spec.priority.set ? arena_printf(arena, "%d", pod->spec.priority.value) : (struct str){ 0 },
        .scheduler = arena_str(arena, pod->spec.scheduler_name),
    };
}

static void add_rows(struct resource_rows *rows, struct row row, const struct resource_list *list)
{
    list_for(list, entry) {
        if (quantity_is_zero(entry->amount))
            continue;
        row.resource = arena_str(&rows->arena, entry->name);
        row.amount = entry->amount;
        *vec_push(&rows->rows) = row;
    }
}

static bool is_over(const struct pod *pod)
{
    return pod->spec.node_name.len &&
           (str_is(pod->status.phase, "Succeeded") || str_is(pod->status.phase, "Failed"));
}

void *resources_gather(const struct engine *engine, const struct view_filter *filter _unused_,
                       int64_t now_ns _unused_)
{
    struct resource_rows *rows = xcalloc(1, sizeof(*rows));
    _cleanup_(arena_release) struct arena arena = { 0 };
    map_for(&engine->cluster->pods, slot) {
        const struct pod_info *info = slot->value;
        const struct pod *pod = info->api;
        struct resource_list list;
        if (is_over(pod) || info->is_foreign)
            continue;
        struct row row = row_of(&rows->arena, pod);
        pod_requests(pod, (struct pod_requests_options){ 0 }, &arena, &list);
        row.family = REQUEST;
        add_rows(rows, row, &list);
        pod_limits(pod, (struct pod_requests_options){ 0 }, &arena, &list);
        row.family = LIMIT;
        add_rows(rows, row, &list);
        arena_reset(&arena);
    }
    return rows;
}

void resources_write(void *gathered, struct strbuf *out)
{
    struct resource_rows *rows = gathered;
    struct metrics *metrics = metrics_new(infos, FAMILIES);
    vec_for(&rows->rows, row) {
        const struct str values[] = { row->namespace,        row->node,     row->pod,
                                      row->priority,         row->resource, row->scheduler,
                                      unit_of(row->resource) };
        gauge_set(metric_get(metrics, (size_t)row->family, values), approximately(row->amount));
    }
    metrics_write(metrics, out);
    metrics_free(metrics);
    vec_release(&rows->rows);
    arena_release(&rows->arena);
    free(rows);
}

int resources_view(struct views *views, const struct serve_request *request, struct serve_reply *reply)
{
    static const struct view_job job = { .any_method = true,
                                         .gather = resources_gather,
                                         .write = resources_write };
    if (!str_is(request->method, "DELETE"))
        return views_request_job(views, request, reply, &job);
    serve_reply_header(reply, "Content-Type", STR("text/plain; charset=utf-8"));
    strbuf_puts(&reply->body, "metrics reset\n");
    return 0;
}
