/* nodes.c: see nodes.h. Everything that the worker pool writes is a copy: objects belong to the core thread. */
#include "debug/nodes.h"

#include <stdlib.h>

#include "api/labels.h"
#include "api/output.h"
#include "api/taints.h"

/* Label keys are collected from so many nodes, evenly spread. */
enum { LABELS_FROM = 256 };

struct node_pod {
    struct meta meta; /* namespace and name alone */
    int32_t priority;
    int64_t *requests; /* by resource */
};

struct node_row {
    struct str name, label;
    int ready; /* -1: not known */
    bool is_unschedulable;
    struct str_list taints;
    int64_t *allocatable, *requested; /* by resource */
};

struct node_rows {
    struct arena arena;
    int64_t now_ns;
    bool is_one;       /* ?node */
    struct str label;  /* ?label */
    struct str *names; /* of resources, as members */
    uint32_t resources;
    VEC(struct str) label_keys;
    VEC(struct node_row) rows;
    /* Of the one node. */
    struct str_map labels;
    VEC(struct node_pod) pods;
};

/* ---- on the core thread ---- */

static int ready_of(const struct node *node)
{
    list_for(&node->status.conditions, condition)
        if (str_is(condition->type, "Ready"))
            return str_is(condition->status, "True");
    return -1;
}

static struct str_list taints_of(const struct node *node, struct arena *arena)
{
    struct str_list texts = { arena_array(arena, struct str, node->spec.taints.len), 0 };
    list_for(&node->spec.taints, taint)
        texts.items[texts.len++] = arena_printf(arena, TAINT_FMT, TAINT_ARG(taint));
    return texts;
}

static int64_t *amounts_of(struct arena *arena, int64_t *const *column, uint32_t resources, uint32_t row)
{
    int64_t *amounts = arena_array(arena, int64_t, resources);
    for (uint32_t r = 0; r < resources; r++)
        amounts[r] = column[r][row];
    return amounts;
}

static void add_row(struct node_rows *rows, const struct cluster *cluster, uint32_t row)
{
    const struct node *node = cluster_node(cluster, row)->api;
    const struct str *label = rows->label.len ? str_map_get(&node->meta.labels, rows->label) : NULL;
    *vec_push(&rows->rows) = (struct node_row){
        .name = arena_str(&rows->arena, node->meta.name),
        .label = label ? arena_str(&rows->arena, *label) : (struct str){ 0 },
        .ready = ready_of(node),
        .is_unschedulable = node->spec.unschedulable,
        .taints = taints_of(node, &rows->arena),
        .allocatable = amounts_of(&rows->arena, cluster->col.alloc, rows->resources, row),
        .requested = amounts_of(&rows->arena, cluster->col.used, rows->resources, row),
    };
}

/* Of nodes here and there: labels that only few nodes have do not tell groups of nodes apart. */
static void add_label_keys(struct node_rows *rows, const struct cluster *cluster)
{
    _cleanup_(strmap_release) struct strmap known = { 0 };
    size_t step = cluster->nodes.len / LABELS_FROM + 1;
    for (size_t row = 0; row < cluster->nodes.len; row += step) {
        const struct node *node = cluster_node(cluster, (uint32_t)row)->api;
        if (!node)
            continue;
        for (uint32_t i = 0; i < node->meta.labels.len; i++) {
            struct str key = node->meta.labels.items[i].key;
            if (strmap_get(&known, key))
                continue;
            strmap_put(&known, key, rows);
            *vec_push(&rows->label_keys) = arena_str(&rows->arena, key);
        }
    }
}

static void add_pods(struct node_rows *rows, const struct node_entry *node)
{
    vec_for(&node->pods, slot) {
        const struct pod_info *pod = *slot;
        const struct pod_usage *used = pod_used(pod);
        int64_t *requests = arena_array(&rows->arena, int64_t, rows->resources);
        for (uint32_t i = 0; i < used->len; i++)
            if (used->items[i].resource < rows->resources)
                requests[used->items[i].resource] = used->items[i].value;
        *vec_push(&rows->pods) = (struct node_pod){
            .meta = { .namespace = arena_str(&rows->arena, pod->api->meta.namespace),
                      .name = arena_str(&rows->arena, pod->api->meta.name) },
            .priority = pod->priority,
            .requests = requests,
        };
    }
}

static void add_node_details(struct node_rows *rows, const struct node_entry *node)
{
    const struct str_map *labels = &node->api->meta.labels;
    rows->labels.items = arena_array(&rows->arena, struct pair, labels->len);
    for (uint32_t i = 0; i < labels->len; i++)
        rows->labels.items[rows->labels.len++] =
            (struct pair){ arena_str(&rows->arena, labels->items[i].key),
                           arena_str(&rows->arena, labels->items[i].value) };
    add_pods(rows, node);
}

void *nodes_gather(const struct engine *engine, const struct view_filter *filter, int64_t now_ns)
{
    const struct cluster *cluster = engine->cluster;
    struct node_rows *rows = xcalloc(1, sizeof(*rows));
    rows->now_ns = now_ns;
    rows->is_one = filter->node.len > 0;
    rows->label = arena_str(&rows->arena, filter->label);
    rows->resources = cluster->col.resources;
    rows->names = arena_array(&rows->arena, struct str, rows->resources);
    for (uint32_t r = 0; r < rows->resources; r++)
        rows->names[r] =
            r == RES_CPU ? STR("cpuMilli") : arena_str(&rows->arena, cluster->resource_names.items[r]);
    if (rows->is_one) {
        uint32_t row = cluster_row(cluster, filter->node);
        if (row != ROW_NONE) {
            add_row(rows, cluster, row);
            add_node_details(rows, cluster_node(cluster, row));
        }
        return rows;
    }
    vec_reserve(&rows->rows, cluster->live_nodes);
    for (uint32_t row = 0; row < cluster->nodes.len; row++)
        if (cluster->col.live[row])
            add_row(rows, cluster, row);
    add_label_keys(rows, cluster);
    return rows;
}

/* ---- on a thread of the worker pool ---- */

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct node_row *)a)->name, ((const struct node_row *)b)->name);
}

static int by_pod(const void *a, const void *b)
{
    const struct meta *x = &((const struct node_pod *)a)->meta, *y = &((const struct node_pod *)b)->meta;
    return str_cmp(x->namespace, y->namespace) ?: str_cmp(x->name, y->name);
}

/* Resources that the node does not have and no pod there requests are left out. */
static void put_amounts(struct json_writer *json, const struct node_rows *rows, const char *key,
                        const int64_t *amounts, const int64_t *others)
{
    json_member_object(json, key);
    for (uint32_t r = 0; r < rows->resources; r++) {
        if (!amounts[r] && !others[r])
            continue;
        json_key(json, rows->names[r]);
        json_int(json, amounts[r]);
    }
    json_end_object(json);
}

static void put_pods(struct json_writer *json, const struct node_rows *rows)
{
    json_member_array(json, "pods");
    vec_for(&rows->pods, pod) {
        json_begin_object(json);
        output_name_members(json, &pod->meta);
        json_member_int(json, "priority", pod->priority);
        put_amounts(json, rows, "requests", pod->requests, pod->requests);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_row(struct json_writer *json, const struct node_rows *rows, const struct node_row *row)
{
    json_begin_object(json);
    json_member_str(json, "name", row->name);
    if (row->ready < 0)
        output_member_null(json, "ready");
    else
        json_member_bool(json, "ready", row->ready);
    json_member_bool(json, "unschedulable", row->is_unschedulable);
    json_member_strs(json, "taints", row->taints.items, row->taints.len);
    output_member_text(json, "labelValue", row->label);
    put_amounts(json, rows, "allocatable", row->allocatable, row->requested);
    put_amounts(json, rows, "requested", row->requested, row->allocatable);
    if (rows->is_one) {
        json_member_object(json, "labels");
        for (uint32_t i = 0; i < rows->labels.len; i++) {
            json_key(json, rows->labels.items[i].key);
            json_str(json, rows->labels.items[i].value);
        }
        json_end_object(json);
        put_pods(json, rows);
    }
    json_end_object(json);
}

static void free_rows(struct node_rows *rows)
{
    vec_release(&rows->label_keys);
    vec_release(&rows->rows);
    vec_release(&rows->pods);
    arena_release(&rows->arena);
    free(rows);
}

void nodes_write(void *gathered, struct strbuf *out)
{
    struct node_rows *rows = gathered;
    struct json_writer json = json_writer(out, JSON_COMPACT);
    vec_sort(&rows->rows, by_name);
    vec_sort(&rows->pods, by_pod);
    vec_sort(&rows->label_keys, str_qsort_cmp);
    output_begin(&json, "Nodes");
    view_put_time(&json, "time", rows->now_ns);
    output_member_text(&json, "label", rows->label);
    json_member_strs(&json, "labels", rows->label_keys.items, rows->label_keys.len);
    json_member_array(&json, "nodes");
    vec_for(&rows->rows, row)
        put_row(&json, rows, row);
    json_end_array(&json);
    output_end(&json);
    free_rows(rows);
}

int nodes_view(void *views, const struct serve_request *request, struct serve_reply *reply)
{
    static const struct view_job job = {
        .type = "application/json", .takes_turns = true, .gather = nodes_gather, .write = nodes_write
    };
    return views_request_job(views, request, reply, &job);
}
