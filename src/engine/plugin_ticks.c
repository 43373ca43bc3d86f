/* plugin_ticks.c: see plugin_ticks.h. There are few of them: no heap. */
#include "engine/plugin_ticks.h"

/* Variants of a profile share its plugins, which have one timer. */
void plugin_ticks_collect(struct engine *engine)
{
    vec_clear(&engine->tickers);
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        for (uint32_t k = 0; k < engine->profiles[i].plugins_len; k++) {
            struct plugin_instance *instance = &engine->profiles[i].plugins[k];
            if (instance->is_made && instance->plugin->tick && instance->wishes.tick_every_ns > 0)
                *vec_push(&engine->tickers) = instance;
        }
}

static int64_t later(int64_t now_ns, int64_t ns)
{
    int64_t sum;
    return __builtin_add_overflow(now_ns, ns, &sum) ? INT64_MAX : sum;
}

/* An interval begins with the first tick of the engine that sees the plugin. */
void plugin_ticks_run(struct engine *engine, int64_t now_ns)
{
    vec_for(&engine->tickers, item) {
        struct plugin_instance *instance = *item;
        struct plugin_wishes *wishes = &instance->wishes;
        if (wishes->tick_due_ns > now_ns)
            continue;
        if (wishes->tick_due_ns)
            instance->plugin->tick(instance->self, engine->cluster, now_ns + engine->statuses.wall_ahead_ns);
        wishes->tick_due_ns = later(now_ns, wishes->tick_every_ns);
    }
}

int64_t plugin_ticks_next_due(const struct engine *engine)
{
    int64_t due_ns = INT64_MAX;
    vec_for(&engine->tickers, instance)
        due_ns = MIN(due_ns, (*instance)->wishes.tick_due_ns);
    return due_ns;
}
