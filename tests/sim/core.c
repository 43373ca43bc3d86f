/* core.c: one engine at a time; see core.h. */
#include "core.h"

#include <stdlib.h>

#include "check.h"
#include "engine/intake.h"
#include "network.h"
#include "plugins/registry.h"
#include "render.h"
#include "watch.h"

enum { PUMPS_IN_PLACE_MAX = 1000, STEPS_MAX = 10000 };

/* ---- life ---- */
static void pod_free(void *context, const struct pod *pod)
{
    (void)context;
    version_unref(container_of(pod, struct version, object.pod));
}

static void on_notice(void *context, const struct notice *notice)
{
    check_notice(context, notice);
}

void core_start(struct sim *sim)
{
    struct core *core = &sim->core;
    uint64_t life = core->life + 1;
    struct error err;
    *core = (struct core){ .alive = true, .life = life };
    cluster_init(&core->cluster);
    core->cluster.pod_free = pod_free;
    const struct engine_options options = {
        .config = &sim->config,
        .registry = &builtin_plugins,
        .seed = rng_next(&sim->rng),
        .now_ns = clock_ns(sim),
        .slowest = chance(sim, 100) ? PATH_PLAIN : PATH_INDEX,
        .host = { .emit = network_emit,
                  .notice = on_notice,
                  .context = sim,
                  .bindings_max = chance(sim, 100) ? 1 + roll(sim, 3) : 0 },
    };
    if (engine_init(&core->engine, &core->cluster, &options, &err) < 0)
        sim_fail(sim, "the engine does not start: %s", err.text);
    for (int kind = 0; kind < SIM_KIND_COUNT; kind++) {
        core->known[kind] = xcalloc(sim->store.kinds[kind].len, sizeof(*core->known[kind]));
        watch_start(sim, kind);
    }
    sim->lives++;
    check_new_life(sim);
    sim_trace(sim, "a scheduler starts (%llu)", (unsigned long long)life);
}

void core_stop(struct sim *sim)
{
    struct core *core = &sim->core;
    if (!core->alive)
        return;
    sim_trace(sim, "the scheduler dies");
    engine_release(&core->engine);
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
    *core = (struct core){ .life = core->life };
}

/* ---- objects ---- */
static void set_pod(struct sim *sim, struct version *version)
{
    version_ref(version); /* the model's */
    if (!engine_set_pod(&sim->core.engine, &version->object.pod, clock_ns(sim)))
        version_unref(version);
}

void core_set(struct sim *sim, struct version *version)
{
    struct core *core = &sim->core;
    struct version **known = &core->known[version->kind][version->facts.number], *before = *known;
    if (before && before->facts.uid == version->facts.uid && before->facts.version > version->facts.version)
        return; /* from before what is known */
    *known = version_ref(version);
    if (version->kind == SIM_PODS)
        set_pod(sim, version);
    else if (version->kind == SIM_NODES)
        engine_set_node(&core->engine, &version->object.node, clock_ns(sim));
    else
        engine_set_object(&core->engine, sim_api_kinds[version->kind], &version->object, version_meta(version),
                          clock_ns(sim));
    version_unref(before);
    check_told(sim, version->kind, version->facts.number);
}

void core_remove(struct sim *sim, enum sim_kind kind, uint32_t number)
{
    struct core *core = &sim->core;
    struct version *known = core->known[kind][number];
    if (!known)
        return;
    const struct meta *meta = version_meta(known);
    core->known[kind][number] = NULL;
    if (kind == SIM_PODS) {
        struct pod_info *pod = cluster_find_pod(&core->cluster, meta->namespace, meta->name);
        if (pod)
            engine_remove_pod(&core->engine, pod, clock_ns(sim));
    } else if (kind == SIM_NODES) {
        engine_remove_node(&core->engine, meta->name, clock_ns(sim));
    } else {
        engine_remove_object(&core->engine, sim_api_kinds[kind], meta->namespace, meta->name, clock_ns(sim));
    }
    version_unref(known);
    check_told(sim, kind, number);
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
