/* facts.c: see facts.h. */
#include "whatif/facts.h"

#include <math.h>

#include "api/labels.h"
#include "input/daemon.h"

/* ---- workloads ---- */

struct fact_workload fact_workload_of(const struct load *load, const struct meta *pod)
{
    struct fact_workload found = { .namespace = pod->namespace };
    owners_workload(load, pod, &found.kind, &found.name);
    return found;
}

static struct fact_workload *workload_at(struct facts *facts, struct strmap *places, const struct meta *pod)
{
    struct fact_workload found = fact_workload_of(&facts->simulation->input->load, pod);
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_printf(&key, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(found.namespace), STR_ARG(found.name),
                  STR_ARG(found.kind));
    size_t place = (size_t)strmap_get(places, strbuf_slice(&key));
    if (!place) {
        *vec_push(&facts->workloads) = found;
        place = facts->workloads.len;
        strmap_put(places, arena_str(&facts->arena, strbuf_slice(&key)), (void *)place);
    }
    return &facts->workloads.items[place - 1];
}

/* Pods that were made of one template share the reference to their controller. */
static size_t workload_number(struct facts *facts, struct strmap *places, struct idmap *by_owner,
                              const struct meta *pod)
{
    uint64_t key = (uint64_t)(uintptr_t)controller_of(pod);
    size_t number = key ? (size_t)idmap_get(by_owner, key) : 0;
    if (number)
        return number - 1;
    number = (size_t)(workload_at(facts, places, pod) - facts->workloads.items);
    if (key)
        idmap_put(by_owner, key, (void *)(number + 1));
    return number;
}

struct place {
    size_t workload;
    uint32_t row;
};

static int by_workload(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return COMPARE(x->workload, y->workload) ?: COMPARE(x->row, y->row);
}

static int by_pods(const void *a, const void *b)
{
    const struct fact_share *x = a, *y = b;
    return COMPARE(y->pods, x->pods) ?: COMPARE(x->row, y->row);
}

static int by_name(const void *a, const void *b)
{
    const struct fact_workload *x = a, *y = b;
    return str_cmp(x->namespace, y->namespace) ?: str_cmp(x->name, y->name) ?: str_cmp(x->kind, y->kind);
}

/* Sorted places follow each other by workload and node. */
static void share_out(struct facts *facts, const struct place *places, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        struct fact_workload *workload = &facts->workloads.items[places[i].workload];
        bool again = i > 0 && by_workload(&places[i - 1], &places[i]) == 0;
        if (!again)
            *vec_push(&workload->nodes) = (struct fact_share){ places[i].row, 0 };
        workload->nodes.items[workload->nodes.len - 1].pods++;
    }
    vec_for(&facts->workloads, workload)
        vec_sort(&workload->nodes, by_pods);
    vec_sort(&facts->workloads, by_name);
}

static void collect_workloads(struct facts *facts)
{
    _cleanup_(strmap_release) struct strmap known = { 0 };
    _cleanup_(idmap_release) struct idmap by_owner = { 0 };
    VEC(struct place) places = { 0 };
    vec_for(&facts->finals, item) {
        const struct sim_record *record = *item;
        size_t number = workload_number(facts, &known, &by_owner, &record->pod->meta);
        if (!fact_is_placed(facts, record))
            continue;
        facts->workloads.items[number].placed++;
        *vec_push(&places) = (struct place){ number, record->row };
    }
    vec_for(&facts->simulation->waiting, waiting) {
        size_t number = workload_number(facts, &known, &by_owner, &waiting->pod->meta);
        facts->workloads.items[number].waiting++;
    }
    vec_sort(&places, by_workload);
    share_out(facts, places.items, places.len);
    vec_release(&places);
}

/* ---- pods ---- */

bool fact_is_placed(const struct facts *facts, const struct sim_record *record)
{
    return record->row != ROW_NONE && !idmap_get(&facts->evicted, (uintptr_t)record->pod);
}

static void collect_finals(struct facts *facts)
{
    const struct simulation *simulation = facts->simulation;
    vec_for(&simulation->victims, victim)
        idmap_put(&facts->evicted, (uintptr_t)*victim, (void *)*victim);
    vec_for(&simulation->records, record)
        idmap_put(&facts->last, (uintptr_t)record->pod, record);
    vec_for(&simulation->records, record)
        if (idmap_get(&facts->last, (uintptr_t)record->pod) == record)
            *vec_push(&facts->finals) = record;
}

/* ---- nodes ---- */

static double used_share(const struct simulation *simulation, uint32_t resource, uint32_t row)
{
    const struct columns *col = &simulation->input->cluster.col;
    int64_t used = usage_used(&simulation->after, resource, row);
    return col->alloc[resource][row] > 0 ? (double)used / (double)col->alloc[resource][row] : 0;
}

static bool is_empty(const struct node_entry *node)
{
    vec_for(&node->pods, pod)
        if (!pod_stays_with_node(pod_info_object(*pod)))
            return false;
    return true;
}

static int fullest_first(const void *a, const void *b)
{
    const struct fact_node *x = a, *y = b;
    return COMPARE(y->share, x->share) ?: COMPARE(x->row, y->row);
}

static double deviation(double sum, double squares, size_t len)
{
    double mean = len ? sum / (double)len : 0;
    double variance = len ? squares / (double)len - mean * mean : 0;
    return variance > 0 ? sqrt(variance) : 0;
}

static void collect_nodes(struct facts *facts)
{
    static const uint32_t resources[] = { RES_CPU, RES_MEMORY, RES_PODS };
    const struct input *input = facts->simulation->input;
    double sums[ARRAY_SIZE(facts->imbalance)] = { 0 }, squares[ARRAY_SIZE(facts->imbalance)] = { 0 };
    vec_for(&input->load.objects[KIND_NODE], node) {
        uint32_t row = cluster_row(&input->cluster, (*node)->name);
        if (row == ROW_NONE)
            continue;
        struct fact_node fact = { .row = row, .empty = is_empty(cluster_node(&input->cluster, row)) };
        for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
            double share = used_share(facts->simulation, resources[i], row);
            fact.share = MAX(fact.share, share);
            if (i < ARRAY_SIZE(sums)) {
                sums[i] += share;
                squares[i] += share * share;
            }
        }
        facts->empty += fact.empty;
        *vec_push(&facts->nodes) = fact;
    }
    for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
        facts->imbalance[i] = deviation(sums[i], squares[i], facts->nodes.len);
    vec_sort(&facts->nodes, fullest_first);
}

static int place_by_name(const void *a, const void *b)
{
    const struct fact_place *x = a, *y = b;
    return str_cmp(x->meta->name, y->meta->name);
}

static void collect_places(struct facts *facts)
{
    const struct input *input = facts->simulation->input;
    const struct changes *changes = &input->changes;
    size_t removed = 0;
    vec_for(&input->load.objects[KIND_NODE], node)
        *vec_push(&facts->places) = (struct fact_place){ *node, cluster_row(&input->cluster, (*node)->name),
                                                         changes_of_node(changes, (*node)->name) };
    vec_for(&changes->list, change)
        if (change->kind == CHANGE_REMOVE)
            *vec_push(&facts->places) =
                (struct fact_place){ change->object, changes->removed_rows.items[removed++], CHANGE_REMOVE };
    vec_sort(&facts->places, place_by_name);
}

/* ---- totals ---- */

/* What the cluster had without the changes. */
static void add_before(struct facts *facts, struct fact_total *total)
{
    const struct usage *before = &facts->simulation->before;
    vec_for(&facts->places, place) {
        total->before += usage_used(before, total->resource, place->row);
        total->allocatable_before += usage_alloc(before, total->resource, place->row);
    }
}

static void collect_totals(struct facts *facts)
{
    const struct simulation *simulation = facts->simulation;
    const struct columns *col = &simulation->input->cluster.col;
    for (uint32_t r = 0; r < col->resources; r++) {
        struct fact_total total = { .resource = r, .hole_row = ROW_NONE };
        add_before(facts, &total);
        vec_for(&facts->nodes, node) {
            uint32_t row = node->row;
            int64_t after = usage_used(&simulation->after, r, row);
            int64_t left = MAX(col->alloc[r][row] - after, 0);
            total.allocatable += col->alloc[r][row];
            total.after += after;
            if (col->unschedulable[row])
                continue;
            total.free += left;
            if (left > total.hole) {
                total.hole = left;
                total.hole_row = row;
            }
        }
        if (total.allocatable > 0 || total.allocatable_before > 0)
            *vec_push(&facts->totals) = total;
    }
}

void facts_collect(struct facts *facts, const struct simulation *simulation)
{
    *facts = (struct facts){ .simulation = simulation };
    collect_finals(facts);
    collect_workloads(facts);
    collect_nodes(facts);
    collect_places(facts);
    collect_totals(facts);
}

void facts_release(struct facts *facts)
{
    vec_for(&facts->workloads, workload)
        vec_release(&workload->nodes);
    vec_release(&facts->workloads);
    vec_release(&facts->totals);
    vec_release(&facts->nodes);
    vec_release(&facts->finals);
    vec_release(&facts->places);
    idmap_release(&facts->last);
    idmap_release(&facts->evicted);
    arena_release(&facts->arena);
}
