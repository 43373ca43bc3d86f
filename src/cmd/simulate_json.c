/* simulate_json.c: a simulation as JSON, a decision and a node a line each. */
#include <math.h>

#include "api/output.h"
#include "base/clock.h"
#include "cmd/simulate_print.h"

static void put_row(struct json_writer *json, const struct cluster *cluster, const char *key, uint32_t row)
{
    json_key(json, str_from(key));
    if (row == ROW_NONE)
        json_null(json);
    else
        json_str(json, cluster_node_name(cluster, row));
}

/* A first attempt needs no event. */
static void put_waking(struct json_writer *json, const struct simulation *simulation,
                       const struct sim_record *record)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    const struct release *release = simulation->input->config.release;
    struct str text = { 0 };
    if (record->attempt > 1)
        text = event_label_text(record->woken_by, release, &scratch);
    output_member_text(json, "wokenBy", text);
}

static void put_placement(struct json_writer *json, const struct simulation *simulation,
                          const struct sim_record *record)
{
    const struct cluster *cluster = &simulation->input->cluster;
    json_begin_line(json);
    output_member_name(json, "pod", &record->pod->meta);
    put_row(json, cluster, "node", record->row);
    output_member_text(json, "message", record->message);
    output_member_text(json, "failedBy", record->failed_by);
    put_row(json, cluster, "nominated", record->nominated_row);
    json_member_double(json, "seconds", (double)record->now_ns / NS_PER_S);
    json_member_int(json, "attempt", record->attempt);
    put_waking(json, simulation, record);
    json_member_array(json, "victims");
    for (size_t i = 0; i < record->victims_len; i++)
        output_name(json, &simulation->victims.items[record->victims_first + i]->meta);
    json_end_array(json);
    json_end_line(json);
}

/* The unit belongs to the name: cpu is counted in thousandths of a core, all else in units and bytes. */
static struct str resource_key(const struct cluster *cluster, uint32_t resource)
{
    return resource == RES_CPU ? STR("cpuMilli") : cluster->resource_names.items[resource];
}

static void put_amounts(struct json_writer *json, const struct cluster *cluster, const char *key,
                        int64_t *const *amounts, int64_t *const *alloc, uint32_t resources, uint32_t row,
                        const struct absent_uses *absent)
{
    json_member_object(json, key);
    for (uint32_t r = 0; r < resources; r++)
        if (alloc[r][row] || amounts[r][row]) {
            json_key(json, resource_key(cluster, r));
            json_int(json, amounts[r][row]);
        }
    for (uint32_t i = 0; absent && i < absent->len; i++) {
        json_key(json, absent->items[i].name);
        json_int(json, absent->items[i].value);
    }
    json_end_object(json);
}

static void put_usage(struct json_writer *json, const struct cluster *cluster, const char *key,
                      const struct usage *usage, uint32_t row)
{
    if (usage && row < usage->rows)
        put_amounts(json, cluster, key, usage->used, usage->alloc, usage->resources, row,
                    &usage->absent[row]);
    else
        output_member_null(json, key);
}

void simulate_json_node(struct json_writer *json, const struct cluster *cluster, const struct node_json *node)
{
    const struct usage *now = node->after ? node->after : node->before;
    const struct node *object = (const struct node *)node->meta;
    json_begin_line(json);
    json_member_str(json, "name", object->meta.name);
    json_member_object(json, "labels");
    for (size_t i = 0; i < object->meta.labels.len; i++) {
        json_key(json, object->meta.labels.items[i].key);
        json_str(json, object->meta.labels.items[i].value);
    }
    json_end_object(json);
    json_member_bool(json, "unschedulable", object->spec.unschedulable);
    if (node->has_change)
        output_member_text(json, "change", node->change);
    put_amounts(json, cluster, "allocatable", now->alloc, now->alloc, now->resources, node->row, NULL);
    put_usage(json, cluster, "before", node->before, node->row);
    put_usage(json, cluster, "after", node->after, node->row);
    json_end_line(json);
}

/* What was added has no `before`, and what was removed no `after`. */
static void put_place(struct json_writer *json, const struct simulation *simulation,
                      const struct fact_place *place)
{
    const struct node_json node = {
        .meta = place->meta,
        .row = place->row,
        .before = place->change == CHANGE_ADD ? NULL : &simulation->before,
        .after = place->change == CHANGE_REMOVE ? NULL : &simulation->after,
        .has_change = input_is_changed(simulation->input),
        .change = str_from(change_words[place->change]),
    };
    simulate_json_node(json, &simulation->input->cluster, &node);
}

/* To an integer number of steps: more digits of a time mean nothing. */
static double rounded(double value, double steps)
{
    return round(value * steps) / steps;
}

static void put_summary(struct json_writer *json, const struct facts *facts, const struct simulate_view *view)
{
    const struct simulation *simulation = facts->simulation;
    const struct {
        const char *key;
        size_t value;
    } rows[] = {
        { "nodes", simulation->input->cluster.live_nodes },
        { "running", simulation->input->running },
        { "expanded", simulation->input->expansion.pods.len - simulation->input->expansion.returned },
        { "decisions", simulation->records.len },
        { "scheduled", simulation->scheduled },
        { "pending", simulation->waiting.len },
        { "preempted", simulation->victims.len },
        { "recreated", simulation->replaced },
        { "emptyNodes", facts->empty },
    };
    json_member_object(json, "summary");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        json_member_int(json, rows[i].key, (int64_t)rows[i].value);
    if (view->timing) {
        double seconds = simulation->decide_seconds;
        json_member_double(json, "loadSeconds", rounded(view->load_seconds, 1e6));
        json_member_double(json, "decideSeconds", rounded(seconds, 1e6));
        json_member_double(json, "decisionsPerSecond",
                           seconds > 0 ? rounded((double)simulation->records.len / seconds, 10) : 0);
    }
    json_end_object(json);
}

static void put_waiting(struct json_writer *json, const struct simulation *simulation)
{
    json_member_array(json, "pending");
    vec_for(&simulation->waiting, waiting) {
        json_begin_line(json);
        output_member_name(json, "pod", &waiting->pod->meta);
        output_member_text(json, "message", waiting->message);
        output_member_text(json, "failedBy", waiting->failed_by);
        json_member_bool(json, "gated", waiting->gated);
        json_end_line(json);
    }
    json_end_array(json);
}

void simulate_json_totals(struct json_writer *json, const struct cluster *cluster, bool changed,
                          const struct fact_total *totals, size_t len)
{
    json_member_object(json, "resources");
    for (const struct fact_total *total = totals; total < totals + len; total++) {
        json_key(json, resource_key(cluster, total->resource));
        json_begin_line(json);
        json_member_int(json, "allocatable", total->allocatable);
        if (changed)
            json_member_int(json, "allocatableBefore", total->allocatable_before);
        json_member_int(json, "before", total->before);
        json_member_int(json, "after", total->after);
        json_member_int(json, "free", total->free);
        json_member_int(json, "largestHole", total->hole);
        put_row(json, cluster, "largestHoleNode", total->hole_row);
        json_end_line(json);
    }
    json_end_object(json);
}

static void put_workloads(struct json_writer *json, const struct facts *facts)
{
    const struct cluster *cluster = &facts->simulation->input->cluster;
    json_member_array(json, "workloads");
    vec_for(&facts->workloads, workload) {
        json_begin_line(json);
        json_member_str(json, "kind", workload->kind);
        json_member_str(json, "namespace", workload->namespace);
        output_member_text(json, "name", workload->name);
        json_member_int(json, "placed", (int64_t)workload->placed);
        json_member_int(json, "pending", (int64_t)workload->waiting);
        json_member_object(json, "nodes");
        vec_for(&workload->nodes, share) {
            json_key(json, cluster_node_name(cluster, share->row));
            json_int(json, (int64_t)share->pods);
        }
        json_end_object(json);
        json_end_line(json);
    }
    json_end_array(json);
}

void simulate_json_members(const struct facts *facts, const struct simulate_view *view,
                           struct json_writer *json)
{
    const struct simulation *simulation = facts->simulation;
    json_member_array(json, "placements");
    vec_for(&simulation->records, record)
        put_placement(json, simulation, record);
    json_end_array(json);
    put_waiting(json, simulation);
    put_workloads(json, facts);
    if (view->outcome)
        simulate_json_changes(facts, view->outcome, json);
    if (view->growth)
        simulate_json_growth(view->growth, json);
    if (view->removable)
        simulate_json_removable(facts, view->removable, json);
    json_member_array(json, "nodes");
    vec_for(&facts->places, place)
        put_place(json, simulation, place);
    json_end_array(json);
    simulate_json_totals(json, &simulation->input->cluster, input_is_changed(simulation->input),
                         facts->totals.items, facts->totals.len);
    put_summary(json, facts, view);
}

void simulate_json(const struct facts *facts, const struct simulate_view *view, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "Simulation");
    simulate_json_members(facts, view, &json);
    output_end(&json);
}

void simulate_trace(const struct simulation *simulation, struct strbuf *out)
{
    struct json_writer json = json_writer(out, JSON_PRETTY);
    output_begin(&json, "Placements");
    json_member_array(&json, "placements");
    vec_for(&simulation->records, record) {
        json_begin_line(&json);
        output_member_name(&json, "pod", &record->pod->meta);
        put_row(&json, &simulation->input->cluster, "node", record->row);
        json_end_line(&json);
    }
    json_end_array(&json);
    output_end(&json);
}
