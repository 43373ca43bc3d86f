/* explain.c: see explain.h. */
#include "whatif/explain.h"

#include "base/clock.h"
#include "framework/observation.h"
#include "framework/weights.h"

#define PREEMPTION_PLUGIN "DefaultPreemption"

/* ---- what plugins cost ---- */
static int64_t now_ns(void *context _unused_)
{
    return monotonic_ns();
}

/* A filter takes less time than the clock that measures it. */
static int64_t clock_cost(void)
{
    enum { TRIES = 100 };
    int64_t least = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t begun_ns = monotonic_ns();
        least = MIN(least, monotonic_ns() - begun_ns);
    }
    return least;
}

static void add_cost(struct explanation *explanation, uint32_t index, enum probe_point point, uint32_t calls,
                     int64_t ns)
{
    struct explain_cost *cost = &explanation->costs[index];
    cost->points |= UINT32_C(1) << point;
    cost->calls += calls;
    cost->ns += MAX(ns - explanation->clock_ns, 0);
}

static void on_plugin(void *context, const struct profile *profile _unused_,
                      const struct plugin_instance *instance, enum probe_point point,
                      enum status_code code _unused_, uint32_t count, int64_t ns)
{
    add_cost(context, instance->index, point, count, ns);
}

static void on_point(void *context _unused_, const struct profile *profile _unused_,
                     enum probe_point point _unused_, enum status_code code _unused_, int64_t ns _unused_)
{
}

static void on_evaluated(void *context _unused_, const struct profile *profile _unused_,
                         const struct plugin_instance *instance _unused_, enum probe_point point _unused_,
                         uint32_t count _unused_)
{
}

static void begin_measuring(struct explanation *ret)
{
    ret->clock_ns = clock_cost();
    ret->probe = (struct probe){
        .context = ret, .now_ns = now_ns, .point = on_point, .plugin = on_plugin, .evaluated = on_evaluated
    };
    ret->cycle.probe = &ret->probe;
    ret->cycle.is_sampled = true;
    ret->begun_ns = monotonic_ns();
}

/* ---- extenders ---- */
static void name_extenders(struct explanation *ret)
{
    const struct extenders *table = http_extenders_table(ret->options.extenders);
    ret->extenders_len = table ? table->len : 0;
    ret->extenders = arena_array(&ret->arena, struct explain_extender, ret->extenders_len);
    for (uint32_t i = 0; i < ret->extenders_len; i++)
        ret->extenders[i] = (struct explain_extender){ .url = table->items[i]->name,
                                                       .is_called = ret->options.calls_extenders };
}

/* Binding is left out: no decision waits for it. */
static void count_extenders(struct explanation *ret)
{
    for (uint32_t i = 0; i < ret->extenders_len; i++)
        for (int verb = 0; verb < EXTENDER_VERBS_LEN; verb++) {
            struct extender_share share = http_extender_share(ret->options.extenders, i,
                                                              (enum extender_verb)verb),
                                  *sum = &ret->extenders[i].since;
            if (verb == EXTENDER_BIND)
                continue;
            sum->calls += share.calls;
            sum->failures += share.failures;
            sum->total_ns += share.total_ns;
        }
}

/* ---- nodes ---- */

static void sort_rows(const struct cluster *cluster, uint32_t *rows, uint32_t len)
{
    struct named_row {
        struct str name;
        uint32_t row;
    } *named = xcalloc((size_t)len + 1, sizeof(*named));
    for (uint32_t i = 0; i < len; i++)
        named[i] = (struct named_row){ cluster_node_name(cluster, rows[i]), rows[i] };
    qsort(named, len, sizeof(*named), str_qsort_cmp); /* the name comes first in it */
    for (uint32_t i = 0; i < len; i++)
        rows[i] = named[i].row;
    free(named);
}

uint32_t *explain_rows(struct cluster *cluster, struct arena *arena, uint32_t *ret_len)
{
    const uint32_t *order = cluster_order(cluster, ret_len);
    uint32_t *rows = arena_array(arena, uint32_t, *ret_len);
    if (*ret_len)
        memcpy(rows, order, *ret_len * sizeof(*order));
    sort_rows(cluster, rows, *ret_len);
    return rows;
}

/* The feasible nodes of the highest total; a pod that has a nomination that fits takes that, whatever the totals. */
static void find_best(struct explanation *ret)
{
    const struct score_table *scores = &ret->scores;
    ret->best = arena_array(&ret->arena, uint32_t, (size_t)scores->rows.len + 1);
    if (ret->evaluation.own_nomination != ROW_NONE) {
        ret->best[ret->best_len++] = ret->evaluation.own_nomination;
        return;
    }
    int64_t highest = INT64_MIN;
    for (uint32_t i = 0; i < scores->rows.len; i++) {
        if (scores->totals[i] > highest) {
            highest = scores->totals[i];
            ret->best_len = 0;
        }
        if (scores->totals[i] == highest)
            ret->best[ret->best_len++] = scores->rows.items[i];
    }
    sort_rows(ret->cluster, ret->best, ret->best_len);
}

static void score(struct explanation *ret)
{
    const struct evaluation *evaluation = &ret->evaluation;
    if (!evaluation->feasible_len)
        return;
    const struct row_list feasible = { evaluation->feasible, evaluation->feasible_len };
    ret->score_error = run_scores(&ret->cycle, feasible, &ret->scores);
    if (!status_ok(ret->score_error))
        return;
    if (feasible.len > 1) /* with one there is nothing to compare */
        extenders_score(&ret->cycle, &ret->scores);
    for (uint32_t i = 0; i < feasible.len; i++)
        ret->places[feasible.items[i]] = i + 1;
    find_best(ret);
}

/* ---- nodes that cannot take it ---- */
static bool is_rejected(const struct explanation *explanation, uint32_t row)
{
    return !explanation->places[row] && !explain_is_unexamined(explanation, row);
}

/* Before anything else is asked of the plugins: their state is that of the filters. */
static void find_shortfalls(struct explanation *ret)
{
    struct row_list rejected = { NULL, 0 };
    uint32_t *rows = arena_array(&ret->arena, uint32_t, ret->rows_len);
    struct shortfall_list list = { .arena = &ret->arena };
    ret->why_of = arena_array(&ret->arena, struct row_why, ret->cluster->nodes.len);
    for (uint32_t i = 0; i < ret->rows_len && status_ok(ret->evaluation.pre_filter); i++) {
        uint32_t row = ret->rows[i];
        if (!is_rejected(ret, row))
            continue;
        struct status status = diagnosis_get(&ret->evaluation.diagnosis, row);
        if (ret->evaluation.narrowed_by && !ret->evaluation.diagnosis.status_of[row])
            shortfalls_of_left_out(&ret->cycle, row, ret->evaluation.narrowed_by, status, &list);
        else
            shortfalls_of(&ret->cycle, row, status, &list);
        ret->why_of[row] = (struct row_why){ list.items, list.len };
        list.items = NULL;
        list.len = list.cap = 0;
        rows[rejected.len++] = row;
    }
    if (!status_ok(ret->evaluation.pre_filter)) {
        shortfalls_of_pod(&ret->cycle, ret->evaluation.pre_filter, &list);
        ret->pod_why = (struct row_why){ list.items, list.len };
    }
    shortfall_list_release(&list);
    rejected.items = rows;
    ret->rejections = rejections_group(&ret->evaluation.diagnosis, rejected, ret->why_of, &ret->arena);
}

static void ask_all(struct explanation *ret)
{
    if (str_empty(ret->options.node))
        return;
    ret->asked_row = cluster_row(ret->cluster, ret->options.node);
    if (ret->asked_row != ROW_NONE && status_ok(ret->evaluation.pre_filter))
        ret->answers = shortfalls_of_all(&ret->cycle, ret->asked_row, &ret->answers_len);
}

/* ---- preemption ---- */
const char *explain_file(const struct explanation *explanation, const struct plugin *plugin)
{
    return explanation->options.file_of ? explanation->options.file_of(plugin) : NULL;
}

static bool must_not_call(const struct explanation *explanation, const struct plugin *plugin)
{
    return explanation->options.live && explain_file(explanation, plugin);
}

/* Runs what stands before preemption at PostFilter; a plugin there may end the search. Without a writer the built-in
 * ones only answer. */
static const struct plugin_instance *reach_preemption(struct explanation *ret)
{
    const struct plugin_order *order = &ret->profile->points[POINT_POST_FILTER];
    for (uint32_t i = 0; i < order->len; i++) {
        const struct plugin *plugin = order->items[i]->plugin;
        struct post_filter_result result = { .nominated_row = ROW_NONE };
        if (strcmp(plugin->name, PREEMPTION_PLUGIN) == 0)
            return order->items[i];
        if (ret->cycle.info->resize_deferred && plugin->ignores_resizes)
            continue;
        if (must_not_call(ret, plugin)) {
            ret->skipped_plugin = plugin->name;
            continue;
        }
        ret->cycle.current = order->items[i];
        int64_t begun_ns = monotonic_ns();
        enum status_code code = plugin->post_filter(&ret->cycle, &ret->evaluation.diagnosis, &result).code;
        add_cost(ret, order->items[i]->index, PROBE_POST_FILTER, 1, monotonic_ns() - begun_ns);
        if (code != STATUS_UNSCHEDULABLE)
            return NULL;
    }
    return NULL;
}

static void look_for_victims(struct explanation *ret)
{
    if (str_is(ret->cycle.pod->spec.preemption_policy, "Never"))
        return;
    ret->cycle.is_sampled = false; /* what filters take in a what-if is preemption's */
    const struct plugin_instance *preemption = reach_preemption(ret);
    if (!preemption)
        return;
    ret->preempts = true;
    int64_t begun_ns = monotonic_ns();
    preempt_find(&ret->cycle, &ret->evaluation.diagnosis, (struct preempt_options){ .all_candidates = true },
                 &ret->preemption);
    add_cost(ret, preemption->index, PROBE_POST_FILTER, 1, monotonic_ns() - begun_ns);
}

/* ---- a pod that is on a node ----
 *
 * It is taken off its node for the evaluation, and put back. What cluster_displace() and cluster_place() leave
 * different is the order of lists, which counts where pods are equal in everything else (which one is evicted first),
 * and which bits columns ever had. Both are restored. What stays is two more entries for the row in the log of
 * changes: tables over the rows check it again, and find it as it was. */

struct detached_pod {
    struct cluster *cluster;
    struct pod_info *pod; /* NULL: none was detached */
    uint32_t row, slot, label_slot, term_slot;
    size_t affinity_slot, anti_slot;
    struct host_port *ports; /* in the arena, as bits */
    size_t ports_len;
    uint64_t *bits;
    uint32_t resources;
};

static size_t find(const pod_vec *vec, const struct pod_info *pod)
{
    size_t at = 0;
    while (at < vec->len && vec->items[at] != pod)
        at++;
    return at;
}

/* A pod on a live node. Until it is put back, nothing else may change the cluster or read its log. */
static void detach_pod(struct cluster *cluster, struct pod_info *pod, struct arena *arena,
                       struct detached_pod *ret)
{
    const struct node_entry *node = &cluster->nodes.items[pod->row];
    assert(node->api);
    *ret = (struct detached_pod){ .cluster = cluster,
                                  .pod = pod,
                                  .row = pod->row,
                                  .slot = pod->slot,
                                  .label_slot = pod->label_slot,
                                  .term_slot = pod->term_slot,
                                  .affinity_slot = find(&node->with_affinity, pod),
                                  .anti_slot = find(&node->with_anti, pod),
                                  .ports = arena_array(arena, struct host_port, node->ports.len),
                                  .ports_len = node->ports.len,
                                  .bits = arena_array(arena, uint64_t, cluster->col.resources),
                                  .resources = cluster->col.resources };
    if (node->ports.len)
        memcpy(ret->ports, node->ports.items, node->ports.len * sizeof(*ret->ports));
    memcpy(ret->bits, cluster->col.bits, ret->resources * sizeof(*ret->bits));
    cluster_displace(cluster, pod);
}

/* A list loses an item by putting its last one in the place; adding it and exchanging the two brings the old order
 * back. The pod is the last one, and belongs at `at`. */
static void back_among_pods(pod_vec *vec, size_t at)
{
    struct pod_info *pod = vec->items[vec->len - 1], *other = vec->items[at];
    vec->items[vec->len - 1] = other;
    vec->items[at] = pod;
}

#define back_among_placed(owner, place, field) \
    do { \
        struct placed_pod *items_ = (owner)->placed.items; \
        size_t last_ = (owner)->placed.len - 1; \
        struct placed_pod pod_ = items_[last_]; \
        items_[last_] = items_[place]; \
        items_[place] = pod_; \
        items_[last_].pod->field = (uint32_t)last_; \
        items_[place].pod->field = (place); \
    } while (0)

static void reattach_pod(const struct detached_pod *detached)
{
    struct cluster *cluster = detached->cluster;
    struct pod_info *pod = detached->pod;
    if (!pod)
        return;
    struct node_entry *node = &cluster->nodes.items[detached->row];
    const struct pod_class *cls = pod->class;
    cluster_place(cluster, pod, detached->row);
    back_among_pods(&node->pods, detached->slot);
    node->pods.items[node->pods.len - 1]->slot = (uint32_t)node->pods.len - 1;
    pod->slot = detached->slot;
    back_among_placed(cls->labels, detached->label_slot, label_slot);
    if (cls->has_affinity_section) {
        back_among_placed(cls->terms, detached->term_slot, term_slot);
        back_among_pods(&node->with_affinity, detached->affinity_slot);
    }
    if (cls->anti.len)
        back_among_pods(&node->with_anti, detached->anti_slot);
    node->ports.len = 0;
    for (size_t i = 0; i < detached->ports_len; i++)
        *vec_push(&node->ports) = detached->ports[i];
    memcpy(cluster->col.bits, detached->bits, detached->resources * sizeof(*detached->bits));
}

/* ---- all of it ---- */
/* A decision looks no further when the node of its nomination can take the pod. */
static void take_nomination(struct explanation *ret)
{
    struct evaluation *evaluation = &ret->evaluation;
    if (evaluation->feasible_len || evaluation->own_nomination == ROW_NONE)
        return;
    evaluation->feasible = arena_array(&ret->arena, uint32_t, 1);
    evaluation->feasible[evaluation->feasible_len++] = evaluation->own_nomination;
}

bool explain_is_unexamined(const struct explanation *explanation, uint32_t row)
{
    bool is_cut = explanation->options.percentage.set && explanation->evaluation.feasible_len;
    return (is_cut || !status_ok(explanation->failure)) && !explanation->places[row] &&
           status_ok(diagnosis_get(&explanation->evaluation.diagnosis, row));
}

bool explain_is_best(const struct explanation *explanation, uint32_t row)
{
    if (!explanation->best_len || explanation->evaluation.own_nomination != ROW_NONE)
        return explanation->best_len && explanation->best[0] == row;
    const int64_t *totals = explanation->scores.totals;
    uint32_t place = explanation->places[row], best = explanation->places[explanation->best[0]];
    return place && totals[place - 1] == totals[best - 1];
}

/* The reference gives up the attempt. */
static void note_failure(struct explanation *ret)
{
    ret->failure = status_ok(ret->evaluation.error) ? ret->score_error : ret->evaluation.error;
    if (status_ok(ret->failure))
        return;
    ret->best_len = 0;
    ret->message = status_message(ret->failure, &ret->arena);
    ret->failed_by = attempt_failed_by(&ret->cycle, ret->failure);
}

static void explain(struct explanation *ret)
{
    ret->pre_enqueue =
        run_pre_enqueue(ret->profile, ret->cycle.pod, ret->options.is_preempting, NULL, &ret->arena);
    ret->rows = explain_rows(ret->cluster, &ret->arena, &ret->rows_len);
    ret->places = arena_array(&ret->arena, uint32_t, ret->cluster->nodes.len);
    if (!ret->rows_len) {
        ret->evaluation.pre_filter = STATUS_OK;
        ret->evaluation.names.all = true;
        ret->message = STR("no nodes available to schedule pods");
        return;
    }
    const struct opt_int32 *percentage = &ret->options.percentage;
    run_evaluation(&ret->cycle, 0, percentage->set ? percentage->value : EVERY_NODE, &ret->evaluation);
    take_nomination(ret);
    score(ret);
    note_failure(ret);
    find_shortfalls(ret);
    ask_all(ret);
    if (!status_ok(ret->failure) || ret->evaluation.feasible_len)
        return;
    ret->message = diagnosis_message(&ret->evaluation.diagnosis, ret->rows_len);
    if (!ret->options.skips_preemption)
        look_for_victims(ret);
}

/* The pod as it was before it had its node. */
static struct pod_info *pending_copy(struct explanation *ret, struct pod_info *pod)
{
    ret->as_if_pending = true;
    ret->pending_copy = *pod->api;
    ret->pending_copy.spec.node_name = (struct str){ 0 };
    ret->pending_info = *pod;
    ret->pending_info.api = &ret->pending_copy;
    ret->pending_info.row = ROW_NONE;
    ret->pending_info.resize_deferred = false;
    return &ret->pending_info;
}

/* The cycle sees a copy of the profile with the same plugins, without its probe and extenders. */
static void leave_alone(struct explanation *ret, const struct profile *profile)
{
    ret->lone = *profile;
    if (!ret->options.calls_extenders)
        ret->lone.extenders = NULL;
    ret->lone.probe = NULL;
    ret->profile = &ret->lone;
}

void explain_pod(struct explanation *ret, const struct profile *profile, struct cluster *cluster,
                 struct pod_info *pod, const struct explain_options *options)
{
    struct detached_pod detached = { 0 };
    *ret = (struct explanation){
        .cluster = cluster, .options = *options, .asked_row = ROW_NONE, .present_row = ROW_NONE
    };
    leave_alone(ret, profile);
    name_extenders(ret);
    bool stays = pod->resize_deferred && !options->as_if_pending;
    if (pod->row != ROW_NONE && cluster->nodes.items[pod->row].api)
        ret->present_row = pod->row;
    if (pod->row != ROW_NONE && cluster->nodes.items[pod->row].api && !stays)
        detach_pod(cluster, pod, &ret->arena, &detached);
    if ((pod->row != ROW_NONE && !stays) || detached.pod)
        pod = pending_copy(ret, pod);
    cycle_init(&ret->cycle, ret->profile, cluster, pod, &ret->arena);
    ret->cycle.now_ns = options->now_ns;
    ret->cycle.wall_ahead_ns = options->wall_ahead_ns;
    if (options->begins)
        profile_observe(profile, &(struct observation){ .kind = OBSERVED_ATTEMPT_BEGINS,
                                                        .cluster = cluster,
                                                        .pod = pod,
                                                        .at_ns = options->now_ns + options->wall_ahead_ns,
                                                        .is_alone = !options->live });
    run_weigh(&ret->cycle);
    begin_measuring(ret);
    explain(ret);
    ret->took_ns = monotonic_ns() - ret->begun_ns;
    reattach_pod(&detached);
    count_extenders(ret);
}

void explanation_release(struct explanation *explanation)
{
    if (explanation->profile)
        cycle_release(&explanation->cycle);
    diagnosis_release(&explanation->evaluation.diagnosis);
    arena_release(&explanation->arena);
}
