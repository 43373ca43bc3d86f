/* reflector_life.c: reflectors begin, list again and end. */
#include <stdlib.h>

#include "sync/reflector_impl.h"

static void fill_in(struct reflector_options *o)
{
    const struct {
        int64_t *value;
        int64_t fallback;
    } times[] = {
        { &o->backoff_ms_min, 50 },    { &o->backoff_ms_max, 500 },      { &o->refused_ms_min, 250 },
        { &o->refused_ms_max, 15000 }, { &o->retry_after_ms_max, 5000 }, { &o->absent_ms, 180 * 1000 },
        { &o->watch_ms_min, 300000 },  { &o->stall_ms, 15000 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(times); i++)
        if (*times[i].value <= 0)
            *times[i].value = times[i].fallback;
    if (!o->kinds) {
        o->kinds = watched_kinds;
        o->kind_count = watched_kind_count;
    }
    if (!o->page_bytes_max)
        o->page_bytes_max = (size_t)64 << 20;
    if (!o->seed)
        o->seed = (uint64_t)monotonic_ns();
}

static void start(void *context)
{
    struct reflectors *all = context;
    for (size_t i = 0; i < all->len; i++) {
        struct reflector *r = &all->items[i];
        const struct features *features = all->options.features;
        if (features && r->watched->has_gate && !features->enabled[r->watched->gate]) {
            r->absent = true;
            reflector_post(r, MESSAGE_ABSENT, NULL);
            continue;
        }
        reflector_begin_list(r);
        reflector_send(r, 0);
    }
}

struct reflectors *reflectors_start(struct api *api, struct inbox *inbox,
                                    const struct reflector_options *options)
{
    struct reflector_options filled = *options;
    fill_in(&filled);
    size_t len = filled.kind_count;
    struct reflectors *all = xcalloc(1, sizeof(*all) + arena_bytes(len, sizeof(all->items[0])));
    all->api = api;
    all->inbox = inbox;
    all->options = filled;
    atomic_init(&all->source_kinds, filled.source_kinds);
    all->len = len;
    completion_init(&all->idle);
    rng_seed(&all->rng, filled.seed);
    all->gate = (struct gate){
        .api = api,
        .rng = &all->rng,
        .backoff_ms_min = filled.backoff_ms_min,
        .backoff_ms_max = filled.backoff_ms_max,
        .on_open = reflectors_on_open,
        .user = all,
    };
    for (size_t i = 0; i < len; i++)
        all->items[i] = (struct reflector){ .all = all,
                                            .watched = &filled.kinds[i],
                                            .stall.ring = reflector_on_stall,
                                            .page_len = filled.kinds[i].page_len };
    loop_run_wait(api_loop(api), start, all);
    return all;
}

static void stop(void *context)
{
    struct reflectors *all = context;
    all->stopping = true;
    for (size_t i = 0; i < all->len; i++) {
        loop_timer_stop(api_loop(all->api), &all->items[i].stall);
        if (all->items[i].in_flight)
            api_cancel(all->api, all->items[i].id);
    }
    gate_stop(&all->gate);
    reflectors_look_idle(all);
}

void reflectors_stop(struct reflectors *all)
{
    if (!all)
        return;
    loop_run(api_loop(all->api), stop, all);
    completion_wait(&all->idle, INT64_MAX);
    for (size_t i = 0; i < all->len; i++) {
        strbuf_release(&all->items[i].resource);
        strbuf_release(&all->items[i].continue_token);
        strbuf_release(&all->items[i].position);
        watch_decoder_release(&all->items[i].watch);
        idmap_release(&all->items[i].told);
    }
    arena_release(&all->scratch);
    completion_release(&all->idle);
    free(all);
}

struct relist {
    struct reflectors *all;
    uint64_t kinds;
};

static void relist_kinds(void *context)
{
    const struct relist *relist = context;
    struct reflectors *all = relist->all;
    for (size_t i = 0; i < all->len; i++) {
        struct reflector *r = &all->items[i];
        if (!(relist->kinds >> r->watched->kind & 1) || r->absent)
            continue;
        reflector_post(r, MESSAGE_DOUBT, NULL);
        if (r->in_flight) {
            r->afresh = true;
            api_cancel(all->api, r->id);
        } else { /* at the gate: it begins with a list when that opens */
            reflector_begin_list(r);
        }
    }
}

void reflectors_relist(struct reflectors *all, uint64_t kinds)
{
    if (kinds)
        loop_run_wait(api_loop(all->api), relist_kinds, &(struct relist){ all, kinds });
}

void reflectors_keep_source(struct reflectors *all, uint64_t kinds)
{
    reflectors_relist(all, kinds & ~atomic_exchange(&all->source_kinds, kinds));
}

int64_t reflectors_down_since_ns(const struct reflectors *all)
{
    return atomic_load(&all->gate.closed_ns);
}
