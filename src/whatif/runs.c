/* runs.c: see runs.h. */
#include "whatif/runs.h"

void runs_init(struct runs *runs, size_t expected)
{
    *runs = (struct runs){ .expected = expected };
}

void runs_release(struct runs *runs)
{
    vec_release(&runs->items);
    vec_release(&runs->pods);
    strmap_release(&runs->by_name);
    arena_release(&runs->arena);
}

static struct run_pod *pod_of(struct runs *runs, const struct meta *meta)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    struct run_pod *pod = strmap_get(&runs->by_name, full_name(&key, meta->namespace, meta->name));
    if (pod)
        return pod;
    pod = arena_new(&runs->arena, struct run_pod);
    pod->namespace = arena_str(&runs->arena, meta->namespace);
    pod->name = arena_str(&runs->arena, meta->name);
    pod->nodes = arena_array(&runs->arena, struct str, runs->expected);
    strmap_put(&runs->by_name, arena_str(&runs->arena, strbuf_slice(&key)), pod);
    *vec_push(&runs->pods) = pod;
    return pod;
}

static void add_pods(struct runs *runs, struct run_facts *run, const struct facts *facts)
{
    const struct simulation *simulation = facts->simulation;
    vec_for(&facts->finals, item) {
        const struct sim_record *record = *item;
        struct run_pod *pod = pod_of(runs, &record->pod->meta);
        bool placed = fact_is_placed(facts, record);
        run->placed += placed;
        pod->nodes[runs->items.len - 1] =
            placed ? arena_str(&runs->arena, cluster_node_name(&simulation->input->cluster, record->row))
                   : STR("");
    }
    vec_for(&simulation->gated, gated)
        pod_of(runs, &gated->pod->meta)->nodes[runs->items.len - 1] = STR("");
}

static void add_cost(struct run_facts *run, const struct facts *facts, const struct prices *prices)
{
    run->has_cost = prices->has_file;
    vec_for(&facts->nodes, node) {
        double price;
        if (node->empty)
            continue;
        bool has = price_of_node(prices, &facts->simulation->input->cluster, node->row, &price);
        run->has_cost |= has;
        run->without_price += !has;
        run->cost += has ? price : 0;
    }
}

void runs_add(struct runs *runs, const char *config, const struct facts *facts, const struct prices *prices)
{
    const struct simulation *simulation = facts->simulation;
    struct run_facts *run = vec_push(&runs->items);
    *run = (struct run_facts){
        .config = config,
        .pending = simulation->waiting.len,
        .preempted = simulation->victims.len,
        .decisions = simulation->records.len,
        .nodes = facts->nodes.len,
        .empty_nodes = facts->empty,
        .foreign = simulation->foreign,
        .imbalance = { facts->imbalance[0], facts->imbalance[1] },
    };
    add_pods(runs, run, facts);
    add_cost(run, facts, prices);
    runs->differing = 0;
    vec_for(&runs->pods, pod)
        runs->differing += runs_differ(runs, *pod);
}

bool runs_differ(const struct runs *runs, const struct run_pod *pod)
{
    for (size_t i = 1; i < runs->items.len; i++)
        if (!str_eq(pod->nodes[i], pod->nodes[0]))
            return true;
    return false;
}
