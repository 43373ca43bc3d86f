/* capacity_json.c: how many more copies fit, as JSON: the kind Capacity of docs/OUTPUT.md. */
#include <stdlib.h>

#include "api/fields.h"
#include "api/output.h"
#include "cmd/capacity_print.h"
#include "cmd/simulate_print.h"

static const struct cluster *cluster_of(const struct capacity *capacity)
{
    return &capacity->input->cluster;
}

static struct str request_key(struct str resource)
{
    return str_is(resource, "cpu") ? STR("cpuMilli") : resource;
}

/* Where the resource is not named, nothing is lacking. */
static void put_scarce(struct json_writer *json, const struct capacity *capacity,
                       const struct capacity_scarce *scarce)
{
    json_key(json, STR("scarce"));
    if (str_empty(scarce->resource)) {
        json_null(json);
        return;
    }
    json_begin_line(json);
    json_member_str(json, "resource", request_key(scarce->resource));
    json_member_int(json, "needs", scarce->needs);
    json_member_int(json, "nodes", scarce->nodes);
    json_member_int(json, "free", scarce->free);
    json_member_int(json, "mostFree", scarce->most);
    output_member_text(json, "mostFreeNode",
                       scarce->most_row == ROW_NONE
                           ? (struct str){ 0 }
                           : cluster_node_name(cluster_of(capacity), scarce->most_row));
    json_end_line(json);
}

static void put_stop(struct json_writer *json, const struct capacity *capacity,
                     const struct capacity_stop *stop)
{
    json_member_object(json, "stop");
    json_member_str(json, "message", stop->message);
    output_member_text(json, "failedBy", stop->failed_by);
    json_member_array(json, "reasons");
    vec_for(&stop->rejections, rejection) {
        json_begin_line(json);
        json_member_str(json, "status", str_from(status_code_name(rejection->code)));
        output_member_text(json, "plugin", rejection->plugin);
        json_member_strs(json, "reasons", rejection->reasons, rejection->reasons_len);
        json_member_int(json, "nodes", rejection->nodes);
        json_member_str(json, "example", cluster_node_name(cluster_of(capacity), rejection->example));
        json_member_str(json, "sentence", rejection->sentence);
        json_end_line(json);
    }
    json_end_array(json);
    put_scarce(json, capacity, &stop->scarce);
    json_member_int(json, "victims", stop->victims);
    json_end_object(json);
}

static void put_more(struct json_writer *json, const struct capacity_run *run, size_t share)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    json_member_array(json, "oneMore");
    vec_for(&run->more, more) {
        struct str_list taints = node_type_taints(&more->type, &scratch);
        json_begin_line(json);
        output_member_text(json, "nodeType", more->type.name);
        output_member_text(json, "zone", more->type.zone);
        json_member_strs(json, "taints", taints.items, taints.len);
        json_member_str(json, "example", more->type.of->meta.name);
        json_member_int(json, "nodes", more->type.nodes);
        json_member_int(json, "adds", (int64_t)more->adds[share]);
        json_end_line(json);
    }
    json_end_array(json);
}

static void put_share(struct json_writer *json, const struct capacity *capacity,
                      const struct capacity_run *run, const struct capacity_share *share)
{
    const struct meta *object = share->template->object;
    struct meta **nodes = load_sorted(&capacity->input->load, KIND_NODE);
    json_begin_object(json);
    json_member_str(json, "kind", api_kinds[share->template->kind].kind);
    json_member_str(json, "namespace", object->namespace);
    json_member_str(json, "name", object->name);
    json_member_int(json, "share", share->template->share);
    json_member_object(json, "requests");
    vec_for(&share->requests, request) {
        json_key(json, request_key(request->resource));
        json_int(json, request->value);
    }
    json_end_object(json);
    json_member_int(json, "fits", (int64_t)share->fits);
    json_member_bool(json, "limited", run->limited);
    json_member_array(json, "nodes");
    for (size_t i = 0; i < capacity->input->load.objects[KIND_NODE].len; i++) {
        uint32_t row = cluster_row(cluster_of(capacity), nodes[i]->name);
        if (!share->copies[row])
            continue;
        json_begin_line(json);
        json_member_str(json, "name", nodes[i]->name);
        json_member_int(json, "copies", share->copies[row]);
        json_end_line(json);
    }
    json_end_array(json);
    if (run->stop.template == share->template)
        put_stop(json, capacity, &run->stop);
    else
        output_member_null(json, "stop");
    put_more(json, run, (size_t)(share - run->shares));
    simulate_json_totals(json, cluster_of(capacity), false, run->totals, run->totals_len);
    json_end_object(json);
    free(nodes);
}

static void put_nodes(struct json_writer *json, const struct capacity *capacity)
{
    const struct cluster *cluster = cluster_of(capacity);
    const struct simulation *simulation = &capacity->simulation;
    struct meta **nodes = load_sorted(&capacity->input->load, KIND_NODE);
    json_member_array(json, "nodes");
    for (size_t i = 0; i < capacity->input->load.objects[KIND_NODE].len; i++)
        simulate_json_node(json, cluster,
                           &(struct node_json){
                               .meta = nodes[i],
                               .row = cluster_row(cluster, nodes[i]->name),
                               .before = &simulation->before,
                               .after = capacity->runs.len == 1 ? &simulation->after : NULL,
                           });
    json_end_array(json);
    free(nodes);
}

/* To millionths: more digits of a time mean nothing. */
static double seconds(double value)
{
    return (double)(int64_t)(value * 1e6) / 1e6;
}

void capacity_json(const struct capacity *capacity, const struct capacity_view *view, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    const struct simulation *simulation = &capacity->simulation;
    output_begin(&json, "Capacity");
    json_member_array(&json, "templates");
    vec_for(&capacity->runs, run)
        for (uint32_t i = 0; i < run->shares_len; i++)
            put_share(&json, capacity, run, &run->shares[i]);
    json_end_array(&json);
    json_key(&json, STR("sets"));
    if (capacity->together)
        json_int(&json, (int64_t)capacity->runs.items[0].sets);
    else
        json_null(&json);
    put_nodes(&json, capacity);
    json_member_object(&json, "summary");
    json_member_int(&json, "nodes", cluster_of(capacity)->live_nodes);
    json_member_int(&json, "running", (int64_t)capacity->input->running);
    json_member_int(&json, "placedFirst", (int64_t)simulation->scheduled);
    json_member_int(&json, "pending", (int64_t)simulation->waiting.len);
    if (view->timing) {
        json_member_double(&json, "loadSeconds", seconds(view->load_seconds));
        json_member_double(&json, "decideSeconds", seconds(view->decide_seconds));
    }
    json_end_object(&json);
    output_end(&json);
}
