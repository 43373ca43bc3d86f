/* simulate.c: feeds the engine, carries out what it decides, and keeps the record; see simulate.h. */
#include "whatif/simulate.h"

#include "base/clock.h"
#include "engine/binding.h"
#include "extender/extender.h"

enum {
    PREEMPTIONS_PER_POD_MAX = 16, /* then a pod is set aside */
    EVICTIONS_PER_POD_MAX = 8,    /* of all pods, on average: then the run ends */
    TIMEOUTS_PER_POD_MAX = 4,     /* at Permit, likewise: then a pod that waits has no node */
    STEPS_BETWEEN_PROGRESS = 256,
    GRACE_SECONDS = 30, /* where a pod does not say */
    GRACE_SECONDS_MAX = 3600,
};
/* Pods that a plugin rejects until a time are tried again for a day. */
#define ALARMS_NS_MAX (24 * 3600 * NS_PER_SECOND)

double now_seconds(void)
{
    return (double)monotonic_ns() * 1e-9;
}

/* Many pods wait for the same reason: its text is kept once. */
static struct str keep_text(struct simulation *simulation, struct str text)
{
    if (str_empty(text))
        return (struct str){ 0 };
    struct str *known = strmap_get(&simulation->messages, text);
    if (known)
        return *known;
    known = arena_new(&simulation->arena, struct str);
    *known = arena_str(&simulation->arena, text);
    strmap_put(&simulation->messages, *known, known);
    return *known;
}

/* ---- pods come ---- */

static int add_pod(struct simulation *simulation, const struct pod *pod, struct error *err)
{
    struct engine *engine = &simulation->engine;
    if (!engine_profile(engine, pod)) {
        if (simulation->foreign++ == 0)
            simulation->foreign_name = pod->spec.scheduler_name;
        return 0;
    }
    struct status gate;
    struct pod_info *info = cluster_add_pod(&simulation->input->cluster, pod);
    /* A template that names a node needs no scheduler; a pod that is being deleted gets none. */
    if (info->row != ROW_NONE || pod->meta.deletion_time.set)
        return 0;
    int r = engine_add_pod(engine, info, simulation->now_ns, &gate, err);
    if (r < 0)
        return r;
    simulation->pods++;
    if (!status_ok(gate)) {
        struct str message = keep_text(simulation, status_message(gate, &engine->arena));
        *vec_push(&simulation->gated) = (struct sim_waiting){ pod, message, true, { 0 } };
    }
    return 0;
}

/* Pods on their nodes that wait for a resize. */
static int add_resizes(struct simulation *simulation, struct error *err)
{
    struct input *input = simulation->input;
    struct meta **pods = load_sorted(&input->load, KIND_POD);
    struct status gate;
    int r = 0;
    for (size_t i = 0; i < input->load.objects[KIND_POD].len && r == 0; i++) {
        struct pod_info *info = cluster_find_pod(&input->cluster, pods[i]->namespace, pods[i]->name);
        if (!info || info->row == ROW_NONE || !info->resize_deferred || info->terminating ||
            !engine_profile(&simulation->engine, info->api))
            continue;
        r = engine_add_pod(&simulation->engine, info, simulation->now_ns, &gate, err);
        simulation->pods++;
    }
    free(pods);
    return r;
}

static int add_all(struct simulation *simulation, struct error *err)
{
    struct input *input = simulation->input;
    size_t len;
    input->expansion.starts_in_order = true;
    int r = expansion_run(&input->expansion, err);
    if (r < 0)
        return r;
    input_apply_claims(input);
    struct pod **pending = input_pending(input, &len);
    for (size_t i = 0; i < len && r == 0; i++)
        r = add_pod(simulation, pending[i], err);
    free(pending);
    for (size_t i = 0; i < input->expansion.pods.len && r == 0; i++)
        r = add_pod(simulation, input->expansion.pods.items[i], err);
    return r < 0 ? r : add_resizes(simulation, err);
}

/* ---- pods leave ---- */

/* How long the slowest of the victims may take to leave. */
static int64_t grace_ns(const struct decision *decision)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < decision->victims_len; i++) {
        const struct opt_int64 *grace = &decision->victims[i]->api->spec.termination_grace_seconds;
        int64_t seconds = grace->set ? grace->value : GRACE_SECONDS;
        most = MAX(most, MIN(seconds, GRACE_SECONDS_MAX));
    }
    return most * NS_PER_SECOND;
}

/* The victims leave together when their time is over, then their controllers notice. */
static int evict(struct simulation *simulation, const struct decision *decision, struct sim_record *row,
                 struct error *err)
{
    struct input *input = simulation->input;
    size_t first = simulation->victims.len;
    row->nominated_row = decision->nominated_row;
    row->victims_first = first;
    row->victims_len = decision->victims_len;
    for (uint32_t i = 0; i < decision->victims_len; i++)
        *vec_push(&simulation->victims) = pod_info_object(decision->victims[i]);
    engine_preemption_done(&simulation->engine, decision->pod, false, simulation->now_ns);
    simulation->now_ns += grace_ns(decision);
    for (uint32_t i = 0; i < decision->victims_len; i++)
        engine_remove_pod(&simulation->engine, decision->victims[i], simulation->now_ns);
    for (size_t i = first; i < simulation->victims.len; i++) {
        const struct pod *replacement = expansion_replace(&input->expansion, simulation->victims.items[i]);
        if (!replacement)
            continue;
        input_apply_claims(input);
        simulation->replaced++;
        int r = add_pod(simulation, replacement, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- the run ---- */
static struct sim_record *add_record(struct simulation *simulation, const struct decision *decision)
{
    struct sim_record *row = vec_push(&simulation->records);
    *row = (struct sim_record){
        .pod = pod_info_object(decision->pod),
        .row = decision->row,
        .nominated_row = ROW_NONE,
        .message = keep_text(simulation, decision->message),
        .failed_by = keep_text(simulation, decision->failed_by),
        .attempt = decision->attempt,
        .woken_by = decision->woken_by,
        .now_ns = simulation->now_ns,
    };
    simulation->scheduled += decision->row != ROW_NONE;
    return row;
}

/* Pods that failed by an error since the clock was last moved. */
struct error_round {
    bool failed;
    size_t changes; /* that had happened when the first of them failed */
};

/* Has the pod had its share of other pods' places? Counted in `tries`, by its address. */
static bool is_stuck(struct idmap *tries, const struct decision *decision)
{
    uint64_t key = (uint64_t)(uintptr_t)pod_info_object(decision->pod);
    size_t count = (size_t)idmap_get(tries, key) + 1;
    idmap_put(tries, key, (void *)count);
    return count > PREEMPTIONS_PER_POD_MAX;
}

/* A StatefulSet goes on with its next pod once this one has a node. */
static int add_next(struct simulation *simulation, const struct pod *placed, struct error *err)
{
    const struct pod *next = expansion_placed(&simulation->input->expansion, placed);
    if (!next)
        return 0;
    input_apply_claims(simulation->input);
    return add_pod(simulation, next, err);
}

/* Announces that a pod got a node, or evicts the victims of one that did not. */
static int carry_out(struct simulation *simulation, const struct decision *decision, struct idmap *tries,
                     struct error *err)
{
    struct sim_record *row = add_record(simulation, decision);
    if (decision->row != ROW_NONE) {
        engine_pod_bound(&simulation->engine, decision->pod, simulation->now_ns);
        return add_next(simulation, row->pod, err);
    }
    if (decision->resize_fits) { /* what remains is the kubelet's */
        row->message = STR("pod resize fits, waiting for Kubelet actuation");
        queue_remove(&simulation->engine.queue, decision->pod);
    }
    if (!decision->retry)
        return 0;
    if (is_stuck(tries, decision)) {
        if (decision->pod->resize_deferred)
            queue_remove(&simulation->engine.queue, decision->pod);
        else
            engine_remove_pod(&simulation->engine, decision->pod, simulation->now_ns);
        return 0;
    }
    return evict(simulation, decision, row, err);
}

/* A plugin has not permitted the pod after all: what was decided last about it did not come true. */
static void on_notice(void *context, const struct notice *notice)
{
    struct simulation *simulation = context;
    if (notice->kind != NOTICE_BINDING_FAILED)
        return;
    size_t at = simulation->records.len;
    while (at > 0 && simulation->records.items[at - 1].pod != notice->pod)
        at--;
    if (!at)
        return;
    simulation->scheduled--;
    simulation->records.items[at - 1].row = ROW_NONE;
    simulation->records.items[at - 1].message = keep_text(simulation, notice->message);
}

static void explain_at(const struct simulation *simulation, const struct profile *profile,
                       struct pod_info *pod, int64_t now_ns, bool skips_preemption, struct explanation *ret)
{
    explain_pod(ret, profile, &simulation->input->cluster, pod,
                &(struct explain_options){ .now_ns = now_ns,
                                           .wall_ahead_ns = simulation->engine.statuses.wall_ahead_ns,
                                           .live = true,
                                           .skips_preemption = skips_preemption,
                                           .file_of = simulation->options.file_of,
                                           .extenders = simulation->extenders,
                                           .calls_extenders = simulation->options.calls_extenders });
}

void simulation_explain(struct simulation *simulation, const struct profile *profile, struct pod_info *pod,
                        bool skips_preemption, struct explanation *ret)
{
    explain_at(simulation, profile, pod, simulation->now_ns, skips_preemption, ret);
}

/* Its turn has come: the model is as its decision finds it. */
static void on_deciding(void *context, const struct profile *profile, struct pod_info *pod, int64_t now_ns)
{
    struct simulation *simulation = context;
    const struct sim_options *options = &simulation->options;
    const struct meta *meta = &pod->api->meta;
    struct explanation explanation;
    if (!str_eq(meta->name, options->explains->name) ||
        !str_eq(meta->namespace, options->explains->namespace))
        return;
    explain_at(simulation, profile, pod, now_ns, false, &explanation);
    options->on_explanation(options->user, &explanation);
    explanation_release(&explanation);
}

/* No pod is to be tried now. Waiting takes no time here: permission that is not given runs out, and backoffs of pods
 * that failed by an error end. Those would be tried for ever, so that they get another try only if something changed
 * since the first of them failed. */
static bool jump(struct simulation *simulation, struct error_round *round)
{
    int64_t due = bindings_next_due(&simulation->engine);
    if (due != INT64_MAX && simulation->timeouts++ <= TIMEOUTS_PER_POD_MAX * simulation->pods) {
        simulation->now_ns = MAX(simulation->now_ns, due);
        return true;
    }
    due = alarms_next_due(&simulation->engine.alarms);
    if (due < ALARMS_NS_MAX) { /* the clock begins at 0 */
        simulation->now_ns = MAX(simulation->now_ns, due);
        return true;
    }
    due = queue_next_backoff(&simulation->engine.queue);
    bool changed = simulation->scheduled + simulation->victims.len != round->changes;
    if (due == QUEUE_NEVER || !round->failed || !changed)
        return false;
    simulation->now_ns = MAX(simulation->now_ns, due);
    round->failed = false;
    return true;
}

static void note_error(struct simulation *simulation, const struct decision *decision,
                       struct error_round *round)
{
    if (decision->row != ROW_NONE || decision->unschedulable_plugins || round->failed)
        return;
    *round = (struct error_round){ true, simulation->scheduled + simulation->victims.len };
}

/* A pod that still waits for permission would not get it, however often it is tried. */
static void stop_waiting(struct simulation *simulation)
{
    for (size_t left = simulation->engine.bindings.len; left > 0; left--) {
        int64_t due = bindings_next_due(&simulation->engine);
        if (due == INT64_MAX)
            return;
        simulation->now_ns = MAX(simulation->now_ns, due);
        bindings_tick(&simulation->engine, simulation->now_ns);
    }
}

static int run(struct simulation *simulation, const struct sim_options *options, struct error *err)
{
    struct engine *engine = &simulation->engine;
    struct decision decision;
    struct error_round round = { 0 };
    _cleanup_(idmap_release) struct idmap tries = { 0 };
    size_t bound = EVICTIONS_PER_POD_MAX * (simulation->pods + simulation->input->running) + 1024;
    double start = now_seconds();
    int r = 0;
    while (r == 0 && !simulation->cut_short) {
        if (!engine_step(engine, simulation->now_ns, &decision)) {
            if (!jump(simulation, &round))
                break;
            continue;
        }
        note_error(simulation, &decision, &round);
        r = carry_out(simulation, &decision, &tries, err);
        if (options->progress && simulation->records.len % STEPS_BETWEEN_PROGRESS == 0)
            options->progress(simulation, now_seconds() - start);
        simulation->cut_short = simulation->victims.len > bound;
    }
    stop_waiting(simulation);
    simulation->decide_seconds = now_seconds() - start;
    return r;
}

/* ---- one pod ---- */
/* A plugin at Permit may still refuse the node: the record says what came of it. */
static uint32_t settle_binding(struct simulation *simulation, struct decision *decision)
{
    if (decision->row == ROW_NONE || !engine_bindings(&simulation->engine))
        return decision->row;
    (void)add_record(simulation, decision);
    stop_waiting(simulation);
    const struct sim_record *record = &simulation->records.items[--simulation->records.len];
    simulation->scheduled -= record->row != ROW_NONE;
    decision->message = record->message;
    return record->row;
}

int simulation_decide(struct simulation *simulation, struct pod_info *pod, struct decision *ret,
                      uint32_t *ret_row, struct error *err)
{
    struct engine *engine = &simulation->engine;
    struct error_round round = { 0 };
    struct status gate;
    *ret_row = ROW_NONE;
    int r = engine_add_pod(engine, pod, simulation->now_ns, &gate, err);
    if (r < 0)
        return r;
    *ret = (struct decision){ .pod = pod, .row = ROW_NONE, .nominated_row = ROW_NONE };
    if (!status_ok(gate))
        ret->message = keep_text(simulation, status_message(gate, &engine->arena));
    simulation->pods++;
    while (*ret_row == ROW_NONE && status_ok(gate))
        if (engine_step(engine, simulation->now_ns, ret))
            *ret_row = settle_binding(simulation, ret);
        else if (!jump(simulation, &round))
            break;
    if (*ret_row == ROW_NONE) {
        queue_remove(&engine->queue, pod);
        cluster_denominate(engine->cluster, pod);
    }
    return 0;
}

/* A pod that has no node in the end waits, with the reason of its last decision. */
static void collect_waiting(struct simulation *simulation)
{
    _cleanup_(idmap_release) struct idmap last = { 0 }; /* records by the addresses of their pods */
    vec_for(&simulation->records, record)
        idmap_put(&last, (uintptr_t)record->pod, record);
    vec_for(&simulation->records, record)
        if (record->row == ROW_NONE && idmap_get(&last, (uintptr_t)record->pod) == record)
            *vec_push(&simulation->waiting) =
                (struct sim_waiting){ record->pod, record->message, false, record->failed_by };
    vec_for(&simulation->gated, gated)
        *vec_push(&simulation->waiting) = *gated;
}

int simulate(struct simulation *simulation, struct input *input, const struct sim_options *options,
             struct error *err)
{
    *simulation = (struct simulation){ .input = input, .options = *options };
    const struct http_extenders_options extenders = { .config = &input->config, .binds_nothing = true };
    int r = options->calls_extenders ? http_extenders_new(&extenders, &simulation->extenders, err) : 0;
    if (r < 0)
        return r;
    const struct engine_options engine_options = {
        .config = &input->config,
        .registry = input->registry,
        .seed = options->seed,
        .percentage = options->percentage,
        .slowest = PATH_INDEX,
        .policies = input->policies.cluster ? &input->policies : NULL,
        .extenders = http_extenders_table(simulation->extenders),
        .host = { .notice = on_notice,
                  .deciding = options->explains ? on_deciding : NULL,
                  .context = simulation },
    };
    r = engine_init(&simulation->engine, &input->cluster, &engine_options, err);
    simulation->engine_ready = true;
    if (r < 0)
        return r;
    engine_set_wall_clock(&simulation->engine, options->wall_ns - simulation->now_ns);
    r = add_all(simulation, err);
    if (r < 0)
        return r;
    if (input_is_changed(input))
        simulation->before = input->changes.before;
    else
        usage_take(&input->cluster, &simulation->arena, &simulation->before);
    r = run(simulation, options, err);
    if (r < 0)
        return r;
    usage_take(&input->cluster, &simulation->arena, &simulation->after);
    collect_waiting(simulation);
    return 0;
}

void simulation_release(struct simulation *simulation)
{
    if (simulation->engine_ready)
        engine_release(&simulation->engine);
    http_extenders_free(simulation->extenders);
    strmap_release(&simulation->messages);
    vec_release(&simulation->records);
    vec_release(&simulation->victims);
    vec_release(&simulation->waiting);
    vec_release(&simulation->gated);
    arena_release(&simulation->arena);
}
