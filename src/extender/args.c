/* args.c: see args.h. */
#include "extender/args.h"

#include <stdlib.h>

#include "extender/full_objects.h"

static void put_null(struct json_writer *json, const char *key)
{
    json_key(json, str_from(key));
    json_null(json);
}

static int put_pod(struct json_writer *json, const struct cycle *cycle, struct error *err)
{
    json_key(json, STR("Pod"));
    return full_pod(json, cycle->pod, err);
}

/* ---- nodes ---- */
static void put_names(struct json_writer *json, const struct cycle *cycle, struct row_list nodes)
{
    json_member_array(json, "NodeNames");
    for (uint32_t i = 0; i < nodes.len; i++)
        json_str(json, cluster_node_name(cycle->cluster, nodes.items[i]));
    json_end_array(json);
}

/* A NodeList. */
static int put_nodes(struct json_writer *json, const struct cycle *cycle, struct row_list nodes,
                     struct error *err)
{
    int r = 0;
    json_member_object(json, "Nodes");
    json_member_object(json, "metadata");
    json_end_object(json);
    json_member_array(json, "items");
    for (uint32_t i = 0; i < nodes.len && r == 0; i++)
        r = full_node(json, cluster_node(cycle->cluster, nodes.items[i])->api, err);
    json_end_array(json);
    json_end_object(json);
    return r;
}

int args_nodes(struct strbuf *out, const struct cycle *cycle, struct row_list nodes, bool node_names,
               struct error *err)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    int r = put_pod(&json, cycle, err);
    if (r < 0)
        return r;
    if (node_names) {
        put_null(&json, "Nodes");
        put_names(&json, cycle, nodes);
    } else {
        r = put_nodes(&json, cycle, nodes, err);
        put_null(&json, "NodeNames");
    }
    json_end_object(&json);
    return r;
}

/* ---- victims ---- */
struct by_name {
    struct str node;
    const struct preempt_candidate *candidate;
};

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct by_name *)a)->node, ((const struct by_name *)b)->node);
}

static int put_victims(struct json_writer *json, const struct cycle *cycle,
                       const struct preempt_candidate *candidate, bool node_names, struct error *err)
{
    struct str node = cluster_node_name(cycle->cluster, candidate->row);
    int r = 0;
    json_begin_object(json);
    json_member_array(json, "Pods");
    for (uint32_t i = 0; i < candidate->victims_len && r == 0; i++) {
        const struct pod *pod = candidate->victims[i]->api;
        if (!node_names) {
            r = full_pod_on(json, pod, node, err);
            continue;
        }
        json_begin_object(json);
        json_member_str(json, "UID", pod->meta.uid);
        json_end_object(json);
    }
    json_end_array(json);
    json_member_int(json, "NumPDBViolations", candidate->pdb_violations);
    json_end_object(json);
    return r;
}

/* Sorted by node, as Go writes a map: the order may matter to the extender. */
static int put_candidates(struct json_writer *json, const struct cycle *cycle,
                          const struct preempt_candidate *candidates, uint32_t len, bool node_names,
                          struct error *err)
{
    struct by_name *sorted = arena_array(cycle->arena, struct by_name, len);
    int r = 0;
    for (uint32_t i = 0; i < len; i++)
        sorted[i] = (struct by_name){ cluster_node_name(cycle->cluster, candidates[i].row), &candidates[i] };
    if (len)
        qsort(sorted, len, sizeof(*sorted), by_name);
    json_begin_object(json);
    for (uint32_t i = 0; i < len && r == 0; i++) {
        json_key(json, sorted[i].node);
        r = put_victims(json, cycle, sorted[i].candidate, node_names, err);
    }
    json_end_object(json);
    return r;
}

int args_preempt(struct strbuf *out, const struct cycle *cycle, const struct preempt_candidate *candidates,
                 uint32_t len, bool node_names, struct error *err)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    int r = put_pod(&json, cycle, err);
    if (r < 0)
        return r;
    if (node_names)
        put_null(&json, "NodeNameToVictims");
    json_key(&json, node_names ? STR("NodeNameToMetaVictims") : STR("NodeNameToVictims"));
    r = put_candidates(&json, cycle, candidates, len, node_names, err);
    if (!node_names)
        put_null(&json, "NodeNameToMetaVictims");
    json_end_object(&json);
    return r;
}

/* ---- bind ---- */
void args_bind(struct strbuf *out, const struct effect *bind)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "PodName", bind->name);
    json_member_str(&json, "PodNamespace", bind->namespace);
    json_member_str(&json, "PodUID", bind->uid);
    json_member_str(&json, "Node", bind->node);
    json_end_object(&json);
}
