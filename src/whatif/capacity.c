/* capacity.c: see capacity.h. */
#include "whatif/capacity.h"

#include <stdlib.h>
#include <string.h>

#define FIT_PLUGIN "NodeResourcesFit"

/* ---- what stops the next copy ---- */
static struct cluster *cluster_of(const struct capacity *capacity)
{
    return &capacity->input->cluster;
}

static int by_nodes(const void *a, const void *b)
{
    const struct capacity_rejection *x = a, *y = b;
    return COMPARE(y->nodes, x->nodes) ?: COMPARE(x->example, y->example);
}

static void add_rejection(struct capacity *capacity, struct capacity_stop *stop, struct status status,
                          uint32_t nodes, uint32_t example)
{
    struct arena *arena = &capacity->arena;
    struct capacity_rejection *rejection = vec_push(&stop->rejections);
    *rejection = (struct capacity_rejection){ .nodes = nodes, .example = example };
    if (status.plugin)
        rejection->plugin = str_from(status.plugin->name);
    rejection->reasons = arena_array(arena, struct str, status.len);
    rejection->reasons_len = status.len;
    for (uint32_t i = 0; i < status.len; i++)
        rejection->reasons[i] = arena_str(arena, status.reasons[i]);
}

static void group_rejections(struct capacity *capacity, const struct diagnosis *diagnosis,
                             struct capacity_stop *stop)
{
    uint32_t len;
    const uint32_t *order = cluster_order(cluster_of(capacity), &len);
    _cleanup_(arena_release) struct arena scratch = { 0 };
    uint32_t *first = arena_array(&scratch, uint32_t, diagnosis->statuses.len);
    uint32_t absent = ROW_NONE;
    for (uint32_t i = len; i-- > 0;) {
        uint32_t number = diagnosis->status_of[order[i]];
        *(number ? &first[number] : &absent) = order[i];
    }
    for (size_t i = 1; i < diagnosis->statuses.len; i++)
        if (diagnosis->statuses.items[i].nodes)
            add_rejection(capacity, stop, diagnosis->statuses.items[i].status,
                          diagnosis->statuses.items[i].nodes, first[i]);
    if (absent != ROW_NONE && diagnosis->absent.len)
        add_rejection(capacity, stop, diagnosis->absent, len - diagnosis->explicit_nodes, absent);
    vec_sort(&stop->rejections, by_nodes);
}

/* Nodes that NodeResourcesFit rejects and that have less of the resource left than is needed. */
static struct capacity_scarce lack_of(struct capacity *capacity, const struct diagnosis *diagnosis,
                                      struct str name, uint32_t resource, int64_t needs)
{
    const struct columns *col = &cluster_of(capacity)->col;
    struct capacity_scarce scarce = { .resource = name, .needs = needs, .most_row = ROW_NONE };
    uint32_t len;
    const uint32_t *order = cluster_order(cluster_of(capacity), &len);
    for (uint32_t i = 0; i < len; i++) {
        uint32_t row = order[i];
        struct status status = diagnosis_get(diagnosis, row);
        int64_t left =
            resource == ROW_NONE ? 0 : MAX(col->alloc[resource][row] - col->used[resource][row], 0);
        if (!status.plugin || strcmp(status.plugin->name, FIT_PLUGIN) != 0 || left >= needs)
            continue;
        scarce.nodes++;
        scarce.free += left;
        if (left > scarce.most) {
            scarce.most = left;
            scarce.most_row = row;
        }
    }
    return scarce;
}

static void keep_scarcest(struct capacity_scarce *scarcest, struct capacity_scarce scarce)
{
    if (scarce.nodes > scarcest->nodes)
        *scarcest = scarce;
}

static void find_scarce(struct capacity *capacity, const struct diagnosis *diagnosis,
                        const struct pod_class *class, struct capacity_scarce *ret)
{
    const struct cluster *cluster = cluster_of(capacity);
    for (uint32_t i = 0; i < class->fit_len; i++)
        keep_scarcest(ret, lack_of(capacity, diagnosis, cluster->resource_names.items[class->fit[i].resource],
                                   class->fit[i].resource, class->fit[i].value));
    for (uint32_t i = 0; i < class->fit_absent.len; i++)
        keep_scarcest(ret, lack_of(capacity, diagnosis, class->fit_absent.items[i].resource->name, ROW_NONE,
                                   class->fit_absent.items[i].value));
    keep_scarcest(ret, lack_of(capacity, diagnosis, cluster->resource_names.items[RES_PODS], RES_PODS, 1));
    if (ret->nodes)
        ret->resource = arena_str(&capacity->arena, ret->resource);
}

static void explain_stop(struct capacity *capacity, const struct filling_part *part,
                         const struct decision *decision, struct capacity_stop *stop)
{
    stop->template = part->template;
    stop->message = arena_str(&capacity->arena, decision->message);
    stop->victims = decision->victims_len;
    if (!decision->diagnosis)
        return;
    group_rejections(capacity, decision->diagnosis, stop);
    find_scarce(capacity, decision->diagnosis, part->next->class, &stop->scarce);
}

/* ---- a run ---- */
static void add_request(struct capacity *capacity, struct capacity_share *share, struct str resource,
                        int64_t value)
{
    if (value)
        *vec_push(&share->requests) =
            (struct capacity_request){ arena_str(&capacity->arena, resource), value };
}

static void describe(struct capacity *capacity, const struct filling_part *part, const struct pod_info *pod,
                     struct capacity_share *share)
{
    const struct cluster *cluster = cluster_of(capacity);
    const struct pod_usage *used = pod_used(pod);
    share->template = part->template;
    for (uint32_t i = 0; i < used->len; i++)
        add_request(capacity, share, cluster->resource_names.items[used->items[i].resource],
                    used->items[i].value);
    for (uint32_t i = 0; i < used->absent.len; i++)
        add_request(capacity, share, used->absent.items[i].resource->name, used->absent.items[i].value);
}

static void collect_totals(struct capacity *capacity, struct capacity_run *run)
{
    _cleanup_(facts_release) struct facts facts = { 0 };
    usage_take(&capacity->input->cluster, &capacity->simulation.arena, &capacity->simulation.after);
    facts_collect(&facts, &capacity->simulation);
    run->totals_len = facts.totals.len;
    run->totals = arena_copy(&capacity->arena, struct fact_total, facts.totals.items, facts.totals.len,
                             facts.totals.len);
}

static int fill(struct capacity *capacity, struct filling *filling, const struct capacity_options *options,
                struct capacity_run *run, struct error *err)
{
    struct decision decision;
    size_t set = filling->mix.len, most = MIN(options->max, (size_t)COPIES_MAX / set) * set;
    int r = filling_run(filling, most, &decision, err);
    if (r < 0)
        return r;
    if (r > 0)
        explain_stop(capacity, filling_next(filling), &decision, &run->stop);
    run->limited = r == 0;
    run->sets = filling->rows.len / set;
    for (uint32_t i = 0; i < run->shares_len; i++) {
        run->shares[i].fits = filling->parts[i].placed;
        run->shares[i].copies = arena_copy(&capacity->arena, uint32_t, filling->parts[i].copies,
                                           filling->rows_cap, filling->rows_cap);
    }
    collect_totals(capacity, run);
    return 0;
}

static int run_templates(struct capacity *capacity, const struct template *templates, size_t len,
                         const struct capacity_options *options, struct error *err)
{
    struct simulation *simulation = &capacity->simulation;
    _cleanup_(filling_release) struct filling filling = { 0 };
    if (capacity->runs.len) { /* on the cluster as it was */
        simulation_release(simulation);
        *simulation = (struct simulation){ 0 };
        input_rebuild(capacity->input);
    }
    struct capacity_run *run = vec_push(&capacity->runs);
    *run = (struct capacity_run){ .shares_len = (uint32_t)len };
    run->shares = arena_array(&capacity->arena, struct capacity_share, len);
    int r = simulate(simulation, capacity->input, &options->simulate, err);
    simulation->before = simulation->after;
    if (r == 0)
        r = filling_init(&filling, simulation, templates, len, err);
    for (size_t i = 0; i < len && r == 0; i++)
        describe(capacity, &filling.parts[i], filling.parts[i].next, &run->shares[i]);
    return r == 0 ? fill(capacity, &filling, options, run, err) : r;
}

int capacity_find(struct capacity *capacity, struct input *input, const struct capacity_options *options,
                  struct error *err)
{
    const struct template *items = input->templates.items.items;
    size_t len = input->templates.items.len;
    *capacity = (struct capacity){ .input = input, .together = options->together };
    if (options->together)
        return run_templates(capacity, items, len, options, err);
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++)
        r = run_templates(capacity, &items[i], 1, options, err);
    return r;
}

void capacity_release(struct capacity *capacity)
{
    vec_for(&capacity->runs, run) {
        vec_release(&run->stop.rejections);
        for (uint32_t i = 0; i < run->shares_len; i++)
            vec_release(&run->shares[i].requests);
    }
    vec_release(&capacity->runs);
    simulation_release(&capacity->simulation);
    arena_release(&capacity->arena);
}
