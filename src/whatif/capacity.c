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

static struct capacity_rejection *add_rejection(struct capacity *capacity, struct capacity_stop *stop,
                                                struct status status)
{
    struct arena *arena = &capacity->arena;
    struct capacity_rejection *rejection = vec_push(&stop->rejections);
    *rejection = (struct capacity_rejection){ .code = status.code };
    if (status.plugin)
        rejection->plugin = str_from(status.plugin->name);
    rejection->reasons = arena_array(arena, struct str, status.len);
    rejection->reasons_len = status.len;
    for (uint32_t i = 0; i < status.len; i++)
        rejection->reasons[i] = arena_str(arena, status.reasons[i]);
    return rejection;
}

static void add_group(struct capacity *capacity, struct capacity_stop *stop,
                      const struct rejected_group *group)
{
    struct capacity_rejection *rejection = add_rejection(capacity, stop, group->status);
    rejection->nodes = group->nodes;
    rejection->example = group->closest;
    rejection->sentence = rejected_group_sentence(cluster_of(capacity), group, &capacity->arena);
}

/* Every node is asked, and what it lacks. PreFilter may reject the pod before any of them is. */
static void find_rejections(struct capacity *capacity, struct pod_info *pod, struct capacity_stop *stop)
{
    struct simulation *simulation = &capacity->simulation;
    struct explanation explanation;
    simulation_explain(simulation, engine_profile(&simulation->engine, pod->api), pod, true, &explanation);
    const struct status pre_filter = explanation.evaluation.pre_filter;
    for (uint32_t i = 0; i < explanation.rejections.len; i++)
        add_group(capacity, stop, &explanation.rejections.items[i]);
    if (!status_ok(pre_filter) && explanation.rows_len) {
        struct capacity_rejection *rejection = add_rejection(capacity, stop, pre_filter);
        rejection->nodes = explanation.rows_len;
        rejection->example = explanation.rows[0];
        rejection->sentence = arena_str(&capacity->arena, status_message(pre_filter, &capacity->arena));
    }
    explanation_release(&explanation);
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
    stop->failed_by = arena_str(&capacity->arena, decision->failed_by);
    stop->victims = decision->victims_len;
    if (!decision->diagnosis)
        return;
    find_scarce(capacity, decision->diagnosis, part->next->class, &stop->scarce);
    find_rejections(capacity, part->next, stop);
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
    share->sample = pod_info_object(pod);
    for (uint32_t i = 0; i < used->len; i++)
        add_request(capacity, share, cluster->resource_names.items[used->items[i].resource],
                    used->items[i].value);
    for (uint32_t i = 0; i < used->absent.len; i++)
        add_request(capacity, share, used->absent.items[i].resource->name, used->absent.items[i].value);
}

static void collect_totals(struct capacity *capacity, struct capacity_run *run)
{
    _cleanup_(facts_release) struct facts facts = { 0 };
    struct simulation *simulation = &capacity->simulation;
    usage_take(cluster_of(capacity), &simulation->arena, &simulation->after);
    facts_collect(&facts, simulation);
    run->totals_len = facts.totals.len;
    run->totals = arena_copy(&capacity->arena, struct fact_total, facts.totals.items, facts.totals.len,
                             facts.totals.len);
}

/* Pods that wait have their turn, on the cluster as it is in the input. */
static int begin(struct capacity *capacity, struct filling *filling, const struct template *templates,
                 size_t len, const struct capacity_options *options, struct error *err)
{
    struct simulation *simulation = &capacity->simulation;
    if (simulation->engine_ready) {
        filling_release(filling);
        *filling = (struct filling){ 0 };
        simulation_release(simulation);
        *simulation = (struct simulation){ 0 };
        input_rebuild(capacity->input);
    }
    int r = simulate(simulation, capacity->input, &options->simulate, err);
    simulation->before = simulation->after;
    if (r == 0)
        r = filling_init(filling, simulation, templates, len, err);
    filling->progress = options->progress;
    return r;
}

static size_t most_copies(const struct filling *filling, const struct capacity_options *options)
{
    size_t set = filling->mix.len;
    return MIN(options->max, (size_t)COPIES_MAX / set) * set;
}

static int fill(struct capacity *capacity, struct filling *filling, const struct capacity_options *options,
                struct capacity_run *run, struct error *err)
{
    struct decision decision;
    int r = filling_run(filling, most_copies(filling, options), &decision, err);
    if (r < 0)
        return r;
    if (r > 0)
        explain_stop(capacity, filling_next(filling), &decision, &run->stop);
    run->limited = r == 0;
    run->sets = filling->rows.len / filling->mix.len;
    for (uint32_t i = 0; i < run->shares_len; i++) {
        run->shares[i].fits = filling->parts[i].placed;
        run->shares[i].copies = arena_copy(&capacity->arena, uint32_t, filling->parts[i].copies,
                                           filling->rows_cap, filling->rows_cap);
    }
    collect_totals(capacity, run);
    return 0;
}

/* ---- one more node ---- */
/* The cluster is full; afterwards it is again as it was. */
static int try_type(struct capacity *capacity, struct filling *filling, const struct node_type *type,
                    struct capacity_run *run, struct error *err)
{
    struct engine *engine = &capacity->simulation.engine;
    const struct rng rng = engine->rng;
    uint32_t next_start = engine->next_start;
    size_t full = filling->rows.len;
    struct capacity_more *more = vec_push(&run->more);
    struct new_node new;
    struct decision decision;
    *more = (struct capacity_more){ *type, arena_array(&capacity->arena, size_t, run->shares_len) };
    new_node_join(&new, capacity->input, type->of);
    int r = filling_run(filling, full + COPIES_MAX, &decision, err);
    for (uint32_t i = 0; i < run->shares_len; i++)
        more->adds[i] = filling->parts[i].placed - run->shares[i].fits;
    if (filling_unwinds(filling))
        filling_unwind(filling, full);
    new_node_leave(&new);
    engine->rng = rng;
    engine->next_start = next_start;
    return MIN(r, 0);
}

static int try_types(struct capacity *capacity, struct filling *filling, const struct template *templates,
                     const struct capacity_options *options, struct capacity_run *run, struct error *err)
{
    struct decision decision;
    int r = 0;
    size_t types = run->limited || !str_empty(run->stop.failed_by) ? 0 : capacity->types.len;
    for (size_t i = 0; i < MIN(types, (size_t)TYPES_MAX) && r == 0; i++) {
        r = try_type(capacity, filling, &capacity->types.items[i], run, err);
        if (r < 0 || filling_unwinds(filling))
            continue;
        r = begin(capacity, filling, templates, run->shares_len, options, err);
        r = r < 0 ? r : MIN(filling_run(filling, most_copies(filling, options), &decision, err), 0);
    }
    return r;
}

static int run_templates(struct capacity *capacity, const struct template *templates, size_t len,
                         const struct capacity_options *options, struct error *err)
{
    _cleanup_(filling_release) struct filling filling = { 0 };
    struct capacity_run *run = vec_push(&capacity->runs);
    *run = (struct capacity_run){ .shares_len = (uint32_t)len };
    run->shares = arena_array(&capacity->arena, struct capacity_share, len);
    int r = begin(capacity, &filling, templates, len, options, err);
    for (size_t i = 0; i < len && r == 0; i++)
        describe(capacity, &filling.parts[i], filling.parts[i].next, &run->shares[i]);
    r = r < 0 ? r : fill(capacity, &filling, options, run, err);
    r = r < 0 ? r : try_types(capacity, &filling, templates, options, run, err);
    if (r == 0 && !filling_unwinds(&filling)) /* they were placed again */
        usage_take(cluster_of(capacity), &capacity->simulation.arena, &capacity->simulation.after);
    return r;
}

static int find_types(struct capacity *capacity, const struct capacity_options *options, struct error *err)
{
    int r = 0;
    if (!options->nodes_len)
        node_types_find(capacity->input, &capacity->types);
    for (size_t i = 0; i < options->nodes_len && r == 0; i++)
        r = node_types_named(capacity->input, options->nodes[i], &capacity->node_files, &capacity->types,
                             err);
    return r;
}

static int close_nodes(struct input *input, struct str names, struct error *err)
{
    while (names.len) {
        struct str rest = names, name = str_cut(&rest, ',');
        struct node *node = load_find(&input->load, KIND_NODE, (struct str){ 0 }, name);
        if (!node)
            return error_set(err, -ENOENT, "--exclude-nodes: there is no node \"" STR_FMT "\" in the input",
                             STR_ARG(name));
        node->spec.unschedulable = true;
        cluster_set_node(&input->cluster, node);
        names = rest;
    }
    return 0;
}

int capacity_find(struct capacity *capacity, struct input *input, const struct capacity_options *options,
                  struct error *err)
{
    const struct template *items = input->templates.items.items;
    size_t len = input->templates.items.len;
    *capacity = (struct capacity){ .input = input, .together = options->together };
    int r = close_nodes(input, options->closed, err);
    r = r < 0 ? r : find_types(capacity, options, err);
    if (r == 0 && options->together)
        return run_templates(capacity, items, len, options, err);
    for (size_t i = 0; i < len && r == 0; i++)
        r = run_templates(capacity, &items[i], 1, options, err);
    return r;
}

void capacity_release(struct capacity *capacity)
{
    vec_for(&capacity->runs, run) {
        vec_release(&run->stop.rejections);
        vec_release(&run->more);
        for (uint32_t i = 0; i < run->shares_len; i++)
            vec_release(&run->shares[i].requests);
    }
    vec_release(&capacity->runs);
    vec_release(&capacity->types);
    simulation_release(&capacity->simulation);
    load_release(&capacity->node_files);
    arena_release(&capacity->arena);
}
