/* engine.c: one step of the loop. */
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

#include "engine/class_cache.h"
#include "engine/decide.h"

const char *const decision_path_names[PATH_COUNT] = {
#define X(name, text) [PATH_##name] = text,
    DECISION_PATHS(X)
#undef X
};

int engine_init(struct engine *engine, struct cluster *cluster, const struct engine_options *options,
                struct error *err)
{
    const struct scheduler_config *config = options->config;
    *engine = (struct engine){
        .cluster = cluster,
        .percentage =
            options->percentage.set ? options->percentage.value : config->percentage_of_nodes_to_score.value,
        .slowest = options->slowest,
    };
    rng_seed(&engine->rng, options->seed);
    engine->profiles = xcalloc(config->profiles.len, sizeof(*engine->profiles));
    for (uint32_t i = 0; i < config->profiles.len; i++) {
        int r =
            profile_init(&engine->profiles[i], options->registry, &config->profiles.items[i], cluster, err);
        engine->profiles_len++;
        if (r < 0)
            return r;
        if (options->percentage.set)
            engine->profiles[i].percentage.set = false;
    }
    const struct plugin_order *sort = &engine->profiles[0].points[POINT_QUEUE_SORT];
    queue_init(&engine->queue, sort->len ? sort->items[0]->plugin->less : NULL);
    engine->classes = class_cache_new(cluster);
    return 0;
}

void engine_release(struct engine *engine)
{
    class_cache_free(engine->classes);
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        profile_release(&engine->profiles[i]);
    free(engine->profiles);
    queue_release(&engine->queue);
    arena_release(&engine->arena);
}

const struct profile *engine_profile(const struct engine *engine, const struct pod *pod)
{
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        if (str_eq(engine->profiles[i].scheduler_name, pod->spec.scheduler_name))
            return &engine->profiles[i];
    return NULL;
}

int engine_add_pod(struct engine *engine, struct pod_info *pod, struct status *ret_gate, struct error *err)
{
    const struct profile *profile = engine_profile(engine, pod->api);
    if (!profile)
        return error_set(err, -ENOENT,
                         "pod " STR_FMT "/" STR_FMT ": no profile for scheduler name \"" STR_FMT "\"",
                         STR_ARG(pod->api->meta.namespace), STR_ARG(pod->api->meta.name),
                         STR_ARG(pod->api->spec.scheduler_name));
    *ret_gate = run_pre_enqueue(profile, pod->api, &engine->arena);
    queue_add(&engine->queue, pod, !status_ok(*ret_gate));
    return 0;
}

void engine_remove_pod(struct engine *engine, struct pod_info *pod)
{
    bool occupied = pod->row != ROW_NONE, nominated = pod->nominated_row != ROW_NONE;
    if (!occupied)
        queue_remove(&engine->queue, pod);
    cluster_remove_pod(engine->cluster, pod);
    if (occupied || nominated)
        queue_wake_all(&engine->queue);
}

static void decide(struct engine *engine, struct cycle *cycle, struct choice *ret)
{
    if (engine->slowest == PATH_PLAIN || !decide_fast(engine, cycle, ret)) {
        cycle_reset(cycle);
        decide_plain(engine, cycle, ret);
    }
    engine->stats.decisions[ret->path]++;
}

/* Nobody fits: may others leave? The message is that of the pod's condition, in all cases. */
static void handle_no_fit(struct engine *engine, struct cycle *cycle, struct choice *choice,
                          struct decision *ret)
{
    struct diagnosis *diagnosis = choice->diagnosis;
    struct post_filter_result result = { .nominated_row = ROW_NONE };
    if (cycle->profile->points[POINT_POST_FILTER].len) {
        if (choice->path != PATH_PLAIN) { /* what-if needs the state that PreFilter leaves */
            struct node_names names;
            uint64_t blamed;
            (void)run_pre_filter(cycle, &names, &blamed);
        }
        struct status status = run_post_filter(cycle, diagnosis, &result);
        diagnosis->post_filter_message = status_message(status, cycle->arena);
    }
    ret->message = diagnosis_message(diagnosis, engine->cluster->live_nodes);
    if (result.nominated_row != ROW_NONE) {
        cluster_nominate(engine->cluster, ret->pod, result.nominated_row);
        ret->nominated_row = result.nominated_row;
        ret->victims = result.victims;
        ret->victims_len = result.victims_len;
        ret->retry = true;
    } else if (result.clear_nomination) {
        cluster_denominate(engine->cluster, ret->pod);
    }
}

/* The chosen node is taken at once; what binding needs is reserved, and given back when something refuses. */
static void commit(struct engine *engine, struct cycle *cycle, uint32_t row, struct decision *ret)
{
    int64_t timeout_ms;
    cluster_place(engine->cluster, ret->pod, row);
    struct status status = run_reserve(cycle, row);
    if (status_ok(status))
        status = run_permit(cycle, row, &timeout_ms);
    if (status_ok(status))
        status = run_pre_bind(cycle, row);
    if (status_ok(status))
        status = run_bind(cycle, row);
    if (status_ok(status)) {
        run_post_bind(cycle, row);
        ret->row = row;
        return;
    }
    run_unreserve(cycle, row);
    cluster_displace(engine->cluster, ret->pod);
    ret->message = status_message(status, cycle->arena);
    ret->is_error = !status_rejected(status);
}

static void attempt(struct engine *engine, struct cycle *cycle, struct decision *ret)
{
    struct choice choice = { .row = ROW_NONE };
    if (!engine->cluster->live_nodes) {
        ret->message = STR("no nodes available to schedule pods");
        return;
    }
    decide(engine, cycle, &choice);
    ret->path = choice.path;
    ret->examined = choice.examined;
    ret->feasible = choice.feasible;
    ret->total = choice.total;
    ret->ties = choice.ties;
    if (!status_ok(choice.error)) {
        ret->message = status_message(choice.error, cycle->arena);
        ret->is_error = true;
    } else if (choice.row == ROW_NONE) {
        handle_no_fit(engine, cycle, &choice, ret);
    } else {
        commit(engine, cycle, choice.row, ret);
    }
    if (choice.diagnosis)
        diagnosis_release(choice.diagnosis);
}

bool engine_step(struct engine *engine, struct decision *ret)
{
    struct queued_pod *entry = queue_pop(&engine->queue);
    if (!entry)
        return false;
    arena_reset(&engine->arena);
    *ret = (struct decision){ .pod = entry->pod, .row = ROW_NONE, .nominated_row = ROW_NONE };
    struct cycle cycle;
    cycle_init(&cycle, engine_profile(engine, entry->pod->api), engine->cluster, entry->pod, &engine->arena);
    attempt(engine, &cycle, ret);
    cycle_release(&cycle);
    if (ret->row != ROW_NONE)
        queue_done(&engine->queue, entry);
    else if (ret->retry)
        queue_retry(&engine->queue, entry);
    else
        queue_park(&engine->queue, entry);
    return true;
}
