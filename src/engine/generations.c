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
#include "engine/policy_change.h"
#include "framework/extender.h"
#include "framework/probe.h"

/* Whether a retired generation is still needed is looked at so often. */
#define LOOK_EVERY_NS (100 * (int64_t)1000000)

/* ---- one generation ---- */
/* Generations of one setup have the same owner: the last of them gives it back. */
static void give_back(struct engine *engine, struct generation *generation)
{
    void *owner = generation->owner;
    generation->owner = NULL;
    bool is_used = engine->now.owner == owner;
    vec_for(&engine->retired, other)
        is_used |= other->owner == owner;
    if (owner && !is_used && engine->host.retired)
        engine->host.retired(engine->host.context, owner);
}

void *engine_take_owner(struct engine *engine)
{
    void *owner = engine->now.owner;
    engine->now.owner = NULL;
    vec_for(&engine->retired, other)
        if (other->owner == owner)
            other->owner = NULL;
    return owner;
}

static void generation_release(struct engine *engine, struct generation *generation)
{
    const struct probe *probe = engine->probe;
    for (uint32_t i = generation->len; i > 0; i--) { /* variants go before their profiles */
        if (probe && probe->forget)
            probe->forget(probe->context, &generation->profiles[i - 1]);
        profile_release(&generation->profiles[i - 1]);
    }
    free(generation->profiles);
    give_back(engine, generation);
}

static int make_profiles(struct engine *engine, const struct engine_setup *setup, struct generation *ret,
                         struct error *err)
{
    int r = 0;
    for (uint32_t i = 0; i < setup->config->profiles.len && r == 0; i++)
        r = profile_init(&ret->profiles[ret->len++], setup->registry, &setup->config->profiles.items[i],
                         engine->cluster, err);
    return r;
}

static int make_variants(struct engine *engine, const struct engine_setup *setup,
                         const struct policy_set *policies, struct generation *ret, struct error *err)
{
    const struct scheduler_config *config = setup->config;
    int r = 0;
    for (uint32_t p = 0; policies && p < policies->len; p++) {
        const struct profile_variant variant = policy_variant(&policies->items[p]);
        for (uint32_t i = 0; i < config->profiles.len && policies->items[p].shown.weighs && r == 0; i++)
            r = profile_init_variant(&ret->profiles[ret->len++], &ret->profiles[i],
                                     &config->profiles.items[i], &variant, engine->cluster, err);
    }
    return r;
}

int generation_make(struct engine *engine, const struct engine_setup *setup, struct generation *ret,
                    struct error *err)
{
    const struct policy_set *policies = engine->policies ? engine->policies->set : NULL;
    size_t profiles = setup->config->profiles.len, variants = policies ? policies->weighing * profiles : 0;
    struct generation made = { .profiles = xcalloc(profiles + variants, sizeof(*made.profiles)) };
    int r = make_profiles(engine, setup, &made, err);
    if (r == 0)
        r = make_variants(engine, setup, policies, &made, err);
    if (r < 0) {
        generation_release(engine, &made);
        return r;
    }
    for (uint32_t i = 0; i < made.len; i++) {
        profile_extend(&made.profiles[i], setup->extenders);
        if (engine->percentage_override.set)
            made.profiles[i].percentage.set = false;
    }
    made.owner = setup->owner;
    *ret = made;
    return 0;
}

void generation_use(struct engine *engine, const struct generation *generation,
                    const struct engine_setup *setup)
{
    const struct scheduler_config *config = setup->config;
    engine->setup = *setup;
    if (engine->policies)
        engine->policies->config = config;
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
static void generation_abandon(struct engine *engine, struct generation *generation)
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

void generation_replace(struct engine *engine, const struct generation *generation,
                        const struct engine_setup *setup)
{
    struct generation old = engine->now;
    class_cache_free(engine->classes); /* tables are of the profiles that made them */
    engine->classes = class_cache_new(engine->cluster, engine->tables_bytes_max, &engine->stats);
    *vec_push(&engine->retired) = old;
    engine->retired_look_ns = 0;
    generation_use(engine, generation, setup);
}

void generation_judge_anew(struct engine *engine, int64_t now_ns)
{
    struct queue_options queue = generation_queue(engine, engine->setup.config);
    queue_reconfigure(&engine->queue, &queue, now_ns);
}

int engine_reconfigure(struct engine *engine, const struct engine_setup *setup, int64_t now_ns,
                       struct error *err)
{
    struct generation made;
    int r = generation_make(engine, setup, &made, err);
    if (r < 0)
        return r;
    generation_replace(engine, &made, setup);
    remove_without_profile(engine, now_ns);
    engine->stale.all = engine->policies; /* which pods have policies depends on the profiles' names */
    policy_change_derive(engine);
    generation_judge_anew(engine, now_ns);
    return 0;
}
