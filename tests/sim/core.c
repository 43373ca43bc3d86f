/* core.c: one engine at a time; see core.h. */
#include "core.h"

#include <stdlib.h>

#include "check.h"
#include "network.h"
#include "reload.h"
#include "render.h"
#include "watch.h"

enum { PUMPS_IN_PLACE_MAX = 1000, STEPS_MAX = 10000 };

/* ---- start and stop ---- */
static void on_notice(void *context, const struct notice *notice)
{
    check_notice(context, notice);
}

/* By the seed, and not by the generator: what the seed does otherwise does not depend on it. */
static void choose_features(const struct sim *sim, struct features *features)
{
    static const struct {
        enum feature feature;
        uint64_t one_in;
    } switched[] = {
        { FEATURE_SchedulerAsyncPreemption, 5 },
        { FEATURE_SchedulerPopFromBackoffQ, 7 },
        { FEATURE_NominatedNodeNameForExpectation, 11 },
    };
    features_default(features, release_of(sim->seed % 2 ? 37 : 36), 0);
    for (size_t i = 0; i < ARRAY_SIZE(switched); i++)
        features->enabled[switched[i].feature] ^= sim->seed % switched[i].one_in == 0;
}

void core_start(struct sim *sim)
{
    struct core *core = &sim->core;
    uint64_t incarnation = core->incarnation + 1;
    struct error err;
    *core = (struct core){ .alive = true, .incarnation = incarnation };
    cluster_init(&core->cluster);
    choose_features(sim, &core->cluster.features);
    const struct engine_setup setup = reload_setup(sim);
    const struct engine_options options = {
        .config = setup.config,
        .registry = setup.registry,
        .owner = setup.owner,
        .seed = rng_next(&sim->rng),
        .now_ns = clock_ns(sim),
        .slowest = chance(sim, 100) ? PATH_PLAIN : PATH_INDEX,
        .host = { .emit = network_emit,
                  .notice = on_notice,
                  .retired = reload_retired,
                  .context = sim,
                  .bindings_max = chance(sim, 100) ? 1 + roll(sim, 3) : 0 },
    };
    if (engine_init(&core->engine, &core->cluster, &options, &err) < 0)
        sim_fail(sim, "the engine does not start: %s", err.text);
    mirror_init(&core->mirror, &core->engine);
    for (int kind = 0; kind < SIM_KIND_COUNT; kind++) {
        core->known[kind] = xcalloc(sim->store.kinds[kind].len, sizeof(*core->known[kind]));
        watch_start(sim, kind);
    }
    sim->lives++;
    check_restart(sim);
    sim_trace(sim, "a scheduler starts (%llu)", (unsigned long long)incarnation);
}

void core_stop(struct sim *sim)
{
    struct core *core = &sim->core;
    if (!core->alive)
        return;
    sim_trace(sim, "the scheduler ends");
    engine_release(&core->engine);
    mirror_release(&core->mirror);
    cluster_release(&core->cluster);
    for (int kind = 0; kind < SIM_KIND_COUNT; kind++) {
        for (uint32_t i = 0; i < sim->store.kinds[kind].len; i++)
            version_unref(core->known[kind][i]);
        free(core->known[kind]);
        struct watch *watch = &core->watches[kind];
        for (size_t i = 0; i < watch->list.len; i++)
            version_unref(watch->list.items[i]);
        vec_release(&watch->list);
    }
    *core = (struct core){ .incarnation = core->incarnation };
}

/* ---- objects ---- */
static void post(struct sim *sim, enum inbox_message_kind kind, enum sim_kind object_kind,
                 const struct version *version)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = sim_api_kinds[object_kind];
    message->object = version ? render(version) : NULL;
    mirror_apply(&sim->core.mirror, message, clock_ns(sim));
    inbox_message_free(message);
}

/* What the core should know afterwards, by the rules of a watch. */
static void know(struct sim *sim, enum sim_kind kind, uint32_t number, struct version *version)
{
    struct version **known = &sim->core.known[kind][number];
    version_unref(*known);
    *known = version ? version_ref(version) : NULL;
    check_known(sim, kind, number);
}

void core_set(struct sim *sim, struct version *version)
{
    const struct version *known = sim->core.known[version->kind][version->facts.number];
    bool is_straggler =
        known && known->facts.uid == version->facts.uid && known->facts.version > version->facts.version;
    version_ref(version);
    if (!is_straggler)
        know(sim, version->kind, version->facts.number, version);
    post(sim, MESSAGE_SET, version->kind, version);
    version_unref(version);
}

void core_remove(struct sim *sim, struct version *version)
{
    know(sim, version->kind, version->facts.number, NULL);
    post(sim, MESSAGE_REMOVE, version->kind, version);
}

void core_list(struct sim *sim, enum sim_kind kind)
{
    post(sim, MESSAGE_LIST_BEGIN, kind, NULL);
}

void core_listed(struct sim *sim, enum sim_kind kind, const bool *listed)
{
    post(sim, MESSAGE_LIST_END, kind, NULL); /* removed one by one: until then the engine may not know */
    for (uint32_t i = 0; i < sim->store.kinds[kind].len; i++)
        if (!listed[i] && sim->core.known[kind][i])
            know(sim, kind, i, NULL);
    sim->core.running = true;
    for (int i = 0; i < SIM_KIND_COUNT; i++)
        sim->core.running &= sim->core.mirror.kinds[sim_api_kinds[i]].synced;
}

/* ---- running ---- */
static void trace_decision(const struct sim *sim, const struct decision *decision)
{
    if (decision->row != ROW_NONE)
        sim_trace(sim, "decided: " STR_FMT " goes to " STR_FMT, STR_ARG(decision->pod->api->meta.name),
                  STR_ARG(cluster_node_name(&sim->core.cluster, decision->row)));
    else
        sim_trace(sim, "decided: " STR_FMT " waits, %u victims: " STR_FMT,
                  STR_ARG(decision->pod->api->meta.name), decision->victims_len, STR_ARG(decision->message));
    for (uint32_t i = 0; i < decision->victims_len; i++)
        sim_trace(sim, "victim: " STR_FMT, STR_ARG(decision->victims[i]->api->meta.name));
}

static void pump_again(struct sim *sim, void *what)
{
    (void)what;
    sim->pump_planned = false;
}

static bool step(struct sim *sim)
{
    struct decision decision;
    sim->deciding = true;
    bool more = engine_step(&sim->core.engine, clock_ns(sim), &decision);
    sim->deciding = false;
    if (more) {
        trace_decision(sim, &decision);
        check_decision(sim, &decision);
    }
    return more;
}

void core_pump(struct sim *sim)
{
    struct core *core = &sim->core;
    if (!core->alive)
        return;
    if (++sim->pumps_in_place > PUMPS_IN_PLACE_MAX)
        sim_fail(sim, "the engine runs in circles");
    engine_tick(&core->engine, clock_ns(sim));
    if (!core->running)
        return;
    uint32_t steps = sim->storm && chance(sim, sim->knobs.pause) ? roll(sim, 3) : STEPS_MAX;
    for (; steps && !sim->failed && step(sim); steps--)
        sim->decisions++;
    if (!steps && !sim->pump_planned) {
        sim->pump_planned = true;
        sim_plan(sim, SIM_MS * (1 + roll(sim, 20)), pump_again, NULL, NULL);
    }
}

void core_answer(struct sim *sim, uint64_t ticket, const struct answer *answer)
{
    engine_answer(&sim->core.engine, ticket, answer, clock_ns(sim));
}
