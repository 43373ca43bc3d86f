/* engine_fixture.h: an engine over the small cluster of fixture.h.
 *
 *     struct engine_fixture e;
 *     engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1 });
 *     fixture_load(&e.f, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 1, pods: 9}}}");
 *     engine_fixture_add(&e, "{kind: Pod, metadata: {name: p}}");
 *     struct decision decision = engine_fixture_step(&e);
 *     engine_fixture_release(&e);
 */
#ifndef SUPPORT_ENGINE_FIXTURE_H
#define SUPPORT_ENGINE_FIXTURE_H

#include "support/fixture.h"

#include "engine/engine.h"
#include "plugins/registry.h"

struct engine_fixture {
    struct fixture f;
    struct scheduler_config config;
    struct engine engine;
    int64_t now_ns; /* the engine's clock; only tests advance it */
};

/* `gate`: a feature that is turned on, or -1. `config` NULL: the default configuration. Options need neither a
 * configuration nor, for the built-in plugins, a registry. */
static inline int engine_fixture_try_gated(struct engine_fixture *e, int minor, int gate, const char *config,
                                           const struct engine_options *options, struct error *err)
{
    struct engine_options given = *options;
    e->now_ns = given.now_ns;
    FIXTURE_BARE_AS(&e->f, minor);
    if (gate >= 0)
        e->f.cluster.features.enabled[gate] = true;
    given.registry = given.registry ? given.registry : &builtin_plugins;
    struct plugin_catalog catalog = registry_catalog(given.registry, &e->f.arena);
    const struct config_env env = { .catalog = &catalog, .features = &e->f.cluster.features };
    size_t len = config ? strlen(config) : 0;
    char *text = config ? memcpy(xcalloc(len + 16, 1), config, len) : NULL;
    int r = config ? config_load_text("config", text, len, &env, &e->f.arena, &e->config, NULL, err)
                   : config_default(&env, &e->f.arena, &e->config, err);
    if (r < 0)
        fail_msg("%s", err->text);
    given.config = &e->config;
    return engine_init(&e->engine, &e->f.cluster, &given, err);
}

static inline int engine_fixture_try_as(struct engine_fixture *e, int minor, const char *config,
                                        const struct engine_options *options, struct error *err)
{
    return engine_fixture_try_gated(e, minor, -1, config, options, err);
}

static inline int engine_fixture_try(struct engine_fixture *e, const char *config,
                                     const struct engine_options *options, struct error *err)
{
    return engine_fixture_try_as(e, RELEASE_DEFAULT, config, options, err);
}

/* As that release of Kubernetes 1. */
static inline void engine_fixture_init_as(struct engine_fixture *e, int minor, const char *config,
                                          const struct engine_options *options)
{
    struct error err;
    if (engine_fixture_try_as(e, minor, config, options, &err) < 0)
        fail_msg("%s", err.text);
}

static inline void engine_fixture_init(struct engine_fixture *e, const char *config,
                                       const struct engine_options *options)
{
    engine_fixture_init_as(e, RELEASE_DEFAULT, config, options);
}

static inline void engine_fixture_release(struct engine_fixture *e)
{
    engine_release(&e->engine);
    config_release(&e->config);
    fixture_release(&e->f);
}

/* Adds a pending pod, which must not be gated. */
static inline struct pod_info *engine_fixture_add(struct engine_fixture *e, const char *pod)
{
    struct status gate;
    struct error err;
    fixture_load(&e->f, pod);
    if (engine_add_pod(&e->engine, e->f.last_pod, e->now_ns, &gate, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(status_ok(gate));
    return e->f.last_pod;
}

static inline struct decision engine_fixture_step(struct engine_fixture *e)
{
    struct decision decision;
    if (!engine_step(&e->engine, e->now_ns, &decision))
        fail_msg("no pod is queued");
    return decision;
}

/* The node that the next pod gets; "" for none. */
static inline struct str engine_fixture_next(struct engine_fixture *e)
{
    struct decision decision = engine_fixture_step(e);
    return decision.row == ROW_NONE ? STR("") : cluster_node_name(&e->f.cluster, decision.row);
}

#endif
