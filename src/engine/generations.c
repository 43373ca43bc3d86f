/* generations.c: see generations.h. */
#include "engine/generations.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "engine/account.h"
#include "engine/binding.h"
#include "engine/class_cache.h"
#include "engine/eviction.h"
#include "engine/plugin_messages.h"
#include "engine/plugin_ticks.h"
#include "framework/extender.h"
#include "framework/probe.h"

/* Whether a retired generation is still needed is looked at so often. */
#define LOOK_EVERY_NS (100 * (int64_t)1000000)

/* ---- one generation ---- */
static void give_back(const struct engine *engine, const struct generation *generation)
{
    if (generation->owner && engine->host.retired)
        engine->host.retired(engine->host.context, generation->owner);
}

static void generation_release(struct engine *engine, struct generation *generation)
{
    const struct probe *probe = engine->probe;
    for (uint32_t i = 0; i < generation->len; i++) {
        if (probe && probe->forget)
            probe->forget(probe->context, &generation->profiles[i]);
        profile_release(&generation->profiles[i]);
    }
    free(generation->profiles);
    give_back(engine, generation);
}

int generation_make(struct engine *engine, const struct engine_setup *setup, struct generation *ret,
                    struct error *err)
{
    const struct scheduler_config *config = setup->config;
    struct generation made = { .profiles = xcalloc(config->profiles.len, sizeof(*made.profiles)) };
    for (uint32_t i = 0; i < config->profiles.len; i++) {
        struct profile *profile = &made.profiles[i];
        int r = profile_init(profile, setup->registry, &config->profiles.items[i], engine->cluster, err);
        made.len++;
        if (r < 0) {
            generation_release(engine, &made);
            return r;
        }
        profile_extend(profile, setup->extenders);
        if (engine->percentage_override.set)
            profile->percentage.set = false;
    }
    made.owner = setup->owner;
    *ret = made;
    return 0;
}

void generation_use(struct engine *engine, const struct generation *generation,
                    const struct scheduler_config *config)
{
    engine->now = *generation;
    engine->profiles = generation->profiles;
    engine->profiles_len = generation->len;
    engine->percentage = engine->percentage_override.set ? engine->percentage_override.value
                                                         : config->percentage_of_nodes_to_score.value;
    for (uint32_t i = 0; i < generation->len; i++)
        plugin_messages_open(engine, &generation->profiles[i]);
    plugin_ticks_collect(engine);
    if (engine->probe)
        engine_watch(engine, engine->probe);
}

static int64_t seconds_to_ns(int64_t seconds)
{
    int64_t ns;
    return __builtin_mul_overflow(seconds, NS_PER_SECOND, &ns) ? INT64_MAX : ns;
}

struct queue_options generation_queue(const struct engine *engine, const struct scheduler_config *config)
{
    const struct plugin_order *sort = &engine->profiles[0].points[POINT_QUEUE_SORT];
    return (struct queue_options){
        .profiles = engine->profiles,
        .profiles_len = engine->profiles_len,
        .cluster = engine->cluster,
        .less = sort->len ? sort->items[0]->plugin->less : NULL,
        .sorter = sort->len ? sort->items[0]->self : NULL,
        .backoff_initial_ns = seconds_to_ns(config->pod_initial_backoff_seconds),
        .backoff_max_ns = seconds_to_ns(config->pod_max_backoff_seconds),
    };
}

/* ---- earlier ones ---- */
static bool is_needed(const struct engine *engine, const struct generation *generation)
{
    map_for(&engine->bindings, slot)
        if (generation_has(generation, ((const struct pod_binding *)slot->value)->cycle.profile))
            return true;
    vec_for(&engine->ended, binding)
        if (generation_has(generation, (*binding)->cycle.profile))
            return true;
    return evictions_need(engine, generation);
}

void generations_tick(struct engine *engine, int64_t now_ns)
{
    if (!engine->retired.len || now_ns < engine->retired_look_ns)
        return;
    engine->retired_look_ns = now_ns + LOOK_EVERY_NS;
    size_t kept = 0;
    vec_for(&engine->retired, generation) {
        if (is_needed(engine, generation))
            engine->retired.items[kept++] = *generation;
        else
            generation_release(engine, generation);
    }
    engine->retired.len = kept;
}

/* Blocking work of one of its plugins does not end: it stays as it is, and its mailboxes are not read any more. */
static void generation_abandon(const struct engine *engine, const struct generation *generation)
{
    for (uint32_t i = 0; i < generation->len; i++)
        atomic_store(&generation->profiles[i].mailbox.reader, NULL);
    give_back(engine, generation);
}

static void generation_end(struct engine *engine, struct generation *generation)
{
    if (is_needed(engine, generation))
        generation_abandon(engine, generation);
    else
        generation_release(engine, generation);
}

void generations_release(struct engine *engine)
{
    vec_for(&engine->retired, generation)
        generation_end(engine, generation);
    vec_release(&engine->retired);
    generation_end(engine, &engine->now);
    engine->now = (struct generation){ 0 };
    vec_release(&engine->ended);
}

/* ---- from one to the next ---- */
/* The same plugins, by the indices of another profile; those that it has not are left out. What is no plugin stays. */
static uint64_t translate(const struct profile *from, const struct profile *to, uint64_t mask)
{
    uint64_t ret = mask & QUEUE_REJECTED_BY_NONE;
    bitmap_for_word(mask & ~QUEUE_REJECTED_BY_NONE, index) {
        const struct plugin_instance *instance = profile_find(to, from->plugins[index].plugin->name);
        if (instance)
            ret |= (uint64_t)1 << instance->index;
    }
    return ret;
}

void generations_requeue(struct engine *engine, struct queued_pod *entry, const struct profile *by,
                         uint64_t rejected_by, int64_t now_ns)
{
    const struct profile *now = entry->pod ? engine_profile(engine, entry->pod->api) : NULL;
    if (entry->pod && !now) {
        queue_done(&engine->queue, entry);
        return;
    }
    if (now && now != by)
        rejected_by = translate(by, now, rejected_by);
    queue_requeue(&engine->queue, entry, rejected_by, 0, now_ns);
}

/* Removes the pods that wait and have no profile any more. */
static void remove_without_profile(struct engine *engine, int64_t now_ns)
{
    VEC(struct queued_pod *) found = { 0 };
    map_for(&engine->queue.entries, slot) {
        struct queued_pod *entry = slot->value;
        if (entry->place != QUEUE_IN_FLIGHT && !engine_profile(engine, entry->pod->api))
            *vec_push(&found) = entry;
    }
    if (found.len)
        qsort(found.items, found.len, sizeof(*found.items), queued_by_arrival);
    vec_for(&found, entry) {
        if ((*entry)->pod->row == ROW_NONE)
            engine_remove_pod(engine, (*entry)->pod, now_ns);
        else /* it waited for its resize */
            queue_remove(&engine->queue, (*entry)->pod);
    }
    vec_release(&found);
}

int engine_reconfigure(struct engine *engine, const struct engine_setup *setup, int64_t now_ns,
                       struct error *err)
{
    struct generation made, old = engine->now;
    int r = generation_make(engine, setup, &made, err);
    if (r < 0)
        return r;
    class_cache_free(engine->classes); /* tables are of the profiles that made them */
    engine->classes = class_cache_new(engine->cluster, engine->tables_bytes_max, &engine->stats);
    *vec_push(&engine->retired) = old;
    engine->retired_look_ns = 0;
    generation_use(engine, &made, setup->config);
    remove_without_profile(engine, now_ns);
    struct queue_options queue = generation_queue(engine, setup->config);
    queue_reconfigure(&engine->queue, &queue, now_ns);
    return 0;
}
