/* capacity_review.c: the answer as kubernetes-sigs/cluster-capacity prints it with -o json: a ClusterCapacityReview. */
#include <stdlib.h>

#include "api/object.h"
#include "base/timestamp.h"
#include "cmd/capacity_print.h"

static struct str name_of(const struct capacity_share *share)
{
    return share->template->object->name;
}

/* "150m", "100Mi": as a quantity. */
static struct str quantity_of(const struct capacity_request *request, struct arena *arena)
{
    static const char *const units[] = { "", "Ki", "Mi", "Gi", "Ti" };
    int64_t value = request->value;
    size_t unit = 0;
    if (str_is(request->resource, "cpu"))
        return value % 1000 ? arena_printf(arena, "%lldm", (long long)value)
                            : arena_printf(arena, "%lld", (long long)(value / 1000));
    for (; value && value % 1024 == 0 && unit + 1 < ARRAY_SIZE(units); unit++)
        value /= 1024;
    return arena_printf(arena, "%lld%s", (long long)value, units[unit]);
}

static bool is_primary(const struct capacity_request *request)
{
    return str_is(request->resource, "cpu") || str_is(request->resource, "memory");
}

static void put_requirements(struct json_writer *json, const struct capacity_share *share,
                             struct arena *arena)
{
    json_begin_object(json);
    json_member_str(json, "podName", name_of(share));
    json_member_object(json, "resources");
    json_member_object(json, "primaryResources");
    vec_for(&share->requests, request)
        if (is_primary(request)) {
            json_key(json, request->resource);
            json_str(json, quantity_of(request, arena));
        }
    json_end_object(json);
    json_member_object(json, "scalarResources");
    vec_for(&share->requests, request)
        if (!is_primary(request)) {
            json_key(json, request->resource);
            json_int(json, request->value);
        }
    json_end_object(json);
    json_end_object(json);
    json_member_object(json, "nodeSelectors");
    list_for(&share->sample->spec.node_selector, pair) {
        json_key(json, pair->key);
        json_str(json, pair->value);
    }
    json_end_object(json);
    json_end_object(json);
}

static void put_spec(struct json_writer *json, const struct capacity_run *run,
                     const struct capacity_view *view, struct arena *arena)
{
    json_member_object(json, "spec");
    json_member_array(json, "templates");
    for (uint32_t i = 0; i < run->shares_len; i++) {
        struct pod pod = *run->shares[i].sample;
        struct object object = { .kind = KIND_POD, .ptr = &pod, .meta = &pod.meta };
        pod.meta.name = name_of(&run->shares[i]);
        pod.meta.uid = (struct str){ 0 };
        pod.meta.owners.len = 0;
        object_encode_json(&object, NULL, json);
    }
    json_end_array(json);
    json_member_int(json, "replicas", view->max);
    json_member_array(json, "podRequirements");
    for (uint32_t i = 0; i < run->shares_len; i++)
        put_requirements(json, &run->shares[i], arena);
    json_end_array(json);
    json_end_object(json);
}

static void put_fail_reason(struct json_writer *json, const struct capacity_run *run,
                            const struct capacity_view *view, struct arena *arena)
{
    struct str limit = arena_printf(arena, "Maximum number of pods simulated: %lld", (long long)view->max);
    json_member_object(json, "failReason");
    json_member_str(json, "failType", run->limited ? STR("LimitReached") : STR("Unschedulable"));
    json_member_str(json, "failMessage",
                    run->limited ? limit : attempt_sentence(run->stop.failed_by, run->stop.message, arena));
    json_end_object(json);
}

/* By reason, not by group of nodes. */
static void put_fail_summary(struct json_writer *json, const struct capacity_stop *stop)
{
    json_member_array(json, "failSummary");
    vec_for(&stop->rejections, first)
        for (uint32_t i = 0; i < first->reasons_len; i++) {
            uint32_t count = 0;
            bool is_told = false;
            vec_for(&stop->rejections, other)
                for (uint32_t n = 0; n < other->reasons_len; n++)
                    if (str_eq(other->reasons[n], first->reasons[i])) {
                        is_told |= other < first;
                        count += other->nodes;
                    }
            if (is_told)
                continue;
            json_begin_line(json);
            json_member_str(json, "reason", first->reasons[i]);
            json_member_int(json, "count", count);
            json_end_line(json);
        }
    json_end_array(json);
}

static void put_pod(struct json_writer *json, const struct capacity *capacity, const struct capacity_run *run,
                    const struct capacity_share *share)
{
    const struct cluster *cluster = &capacity->input->cluster;
    json_begin_object(json);
    json_member_str(json, "podName", name_of(share));
    json_member_array(json, "replicasOnNodes");
    for (uint32_t row = 0; row < cluster->nodes.len; row++) {
        if (!share->copies[row])
            continue;
        json_begin_line(json);
        json_member_str(json, "nodeName", cluster_node_name(cluster, row));
        json_member_int(json, "replicas", share->copies[row]);
        json_end_line(json);
    }
    json_end_array(json);
    if (run->stop.template == share->template)
        put_fail_summary(json, &run->stop);
    json_end_object(json);
}

void capacity_review(const struct capacity *capacity, const struct capacity_view *view, struct strbuf *out)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct capacity_run *run = &capacity->runs.items[0];
    struct json_writer json = json_writer(out, JSON_PRETTY);
    size_t replicas = 0;
    for (uint32_t i = 0; i < run->shares_len; i++)
        replicas += run->shares[i].fits;
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("ClusterCapacityReview"));
    put_spec(&json, run, view, &arena);
    json_member_object(&json, "status");
    json_member_str(&json, "creationTimestamp", view->time);
    json_member_int(&json, "replicas", (int64_t)replicas);
    put_fail_reason(&json, run, view, &arena);
    json_member_array(&json, "pods");
    for (uint32_t i = 0; i < run->shares_len; i++)
        put_pod(&json, capacity, run, &run->shares[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_end_object(&json);
    strbuf_putc(out, '\n');
}
