/* world.h: a small cluster with a profile of hand-picked plugins, for tests of plugins and of what runs them.
 *
 *     struct world world;
 *     const struct plugin *plugins[] = { &plugin_node_name };
 *     world_init(&world, plugins, 1, NULL);
 *     uint32_t row = world_node(&world, &(struct node){ .meta.name = STR("a") });
 *     world_pod(&world, &(struct pod){ ... });          // with spec.node_name: it runs there
 *     world_cycle(&world, &(struct pod){ ... });         // the pod that is being scheduled
 *     struct status status = run_filters(&world.cycle, world_view(&world, row));
 *     world_release(&world);
 *
 * Objects are not copied: they must live as long as the world. */
#ifndef SUPPORT_WORLD_H
#define SUPPORT_WORLD_H

#include "support/test.h"

#include "framework/run.h"

struct world {
    struct cluster cluster;
    struct arena arena;
    struct profile profile;
    struct cycle cycle;
};

/* Items of a LIST() or struct str_list in a designated initialiser. */
#define ITEMS(type, ...) \
    { \
        .items = (type[]){ __VA_ARGS__ }, .len = sizeof((type[]){ __VA_ARGS__ }) / sizeof(type) \
    }
#define LABELS(...) ITEMS(struct pair, __VA_ARGS__)
#define STRS(...) ITEMS(struct str, __VA_ARGS__)

/* The plugins run in this order at every extension point that they have; args are those of the first one. */
static inline void world_init(struct world *world, const struct plugin *const *plugins, uint32_t len, const void *args)
{
    *world = (struct world){ 0 };
    cluster_init(&world->cluster);
    struct profile *profile = &world->profile;
    profile->scheduler_name = STR("default-scheduler");
    profile->plugins = arena_array(&profile->arena, struct plugin_instance, len);
    profile->plugins_len = len;
    for (int point = 0; point < POINT_COUNT; point++)
        profile->points[point].items = arena_array(&profile->arena, struct plugin_instance *, len);
    for (uint32_t i = 0; i < len; i++) {
        struct plugin_instance *instance = &profile->plugins[i];
        *instance = (struct plugin_instance){ .plugin = plugins[i], .index = i, .weight = 1 };
        for (int point = 0; point < POINT_COUNT; point++)
            if (plugin_points(plugins[i]) & POINT_BIT(point))
                profile->points[point].items[profile->points[point].len++] = instance;
        struct plugin_env env = { &world->cluster, &profile->arena, i == 0 ? args : NULL, profile };
        struct error err;
        if (plugins[i]->init && plugins[i]->init(&env, &instance->self, &err) < 0)
            fail_msg("%s: %s", plugins[i]->name, err.text);
    }
}

static inline uint32_t world_node(struct world *world, const struct node *node)
{
    cluster_set_node(&world->cluster, node);
    return cluster_row(&world->cluster, node->meta.name);
}

static inline struct pod_info *world_pod(struct world *world, const struct pod *pod)
{
    return cluster_add_pod(&world->cluster, pod);
}

static inline void world_cycle(struct world *world, const struct pod *pod)
{
    cycle_init(&world->cycle, &world->profile, &world->cluster, world_pod(world, pod), &world->arena);
}

static inline struct node_view world_view(const struct world *world, uint32_t row)
{
    return (struct node_view){ &world->cluster, row, NULL };
}

static inline void world_release(struct world *world)
{
    cluster_release(&world->cluster);
    profile_release(&world->profile);
    arena_release(&world->arena);
}

/* The verdict of PreFilter and then, unless it skips, of Filter on one node. */
static inline struct status world_filter(struct world *world, uint32_t row)
{
    struct node_names names;
    uint64_t blamed;
    struct status status = run_pre_filter(&world->cycle, &names, &blamed);
    return status_ok(status) ? run_filters(&world->cycle, world_view(world, row)) : status;
}

/* Scores of the only score plugin, normalised, by row; false when it skipped. */
static inline bool world_scores(struct world *world, const uint32_t *rows, uint32_t len, int64_t *ret)
{
    struct score_table table;
    struct status status = run_scores(&world->cycle, (struct row_list){ rows, len }, &table);
    if (!status_ok(status))
        fail_msg("scores: " STR_FMT, STR_ARG(status_message(status, &world->arena)));
    for (uint32_t i = 0; i < len; i++)
        ret[i] = table.totals[i];
    return !world->cycle.skip_score;
}

#define assert_status(got, want_code, want_reason) \
    do { \
        struct status status_ = (got); \
        if (status_.code != (want_code)) \
            fail_msg("got %s, want %s", status_code_name(status_.code), status_code_name(want_code)); \
        if (want_reason) \
            assert_str(status_.len ? status_.reasons[0] : STR(""), want_reason); \
    } while (0)

#endif
