/* watch.c: a list in pages, then changes in order, some of them late, some twice. */
#include "watch.h"

#include "core.h"

static void read_on(struct sim *sim, void *what);

/* A watch belongs to one process of the scheduler: its ticket has incarnation and kind, so that old ones are
 * ignored. */
static void *ticket_of(const struct sim *sim, enum sim_kind kind)
{
    return (void *)(uintptr_t)(sim->core.incarnation * SIM_KIND_COUNT + kind + 1);
}

static void read_later(struct sim *sim, struct watch *watch)
{
    int64_t lag_ms =
        sim->storm && sim->knobs.watch_lag_ms ? roll(sim, sim->knobs.watch_lag_ms) : roll(sim, 5);
    watch->asleep = false;
    sim_plan(sim, lag_ms * SIM_MS, read_on, ticket_of(sim, watch->kind), NULL);
}

/* ---- lists ---- */
static void begin_list(struct sim *sim, struct watch *watch)
{
    const struct kind_store *store = &sim->store.kinds[watch->kind];
    watch->listing = true;
    watch->next = store_head(&sim->store, watch->kind);
    for (uint32_t i = 0; i < store->len; i++)
        if (store->items[i].shown)
            *vec_push(&watch->list) = version_ref(store->items[i].shown);
    sim->relists++;
}

static void forget_list(struct watch *watch)
{
    for (size_t i = 0; i < watch->list.len; i++)
        version_unref(watch->list.items[i]);
    vec_release(&watch->list);
    watch->list_at = 0;
}

static void end_list(struct sim *sim, struct watch *watch)
{
    bool *listed = xcalloc(sim->store.kinds[watch->kind].len, sizeof(*listed));
    for (size_t i = 0; i < watch->list.len; i++)
        listed[watch->list.items[i]->facts.number] = true;
    core_listed(sim, watch->kind, listed);
    free(listed);
    forget_list(watch);
    watch->listing = false;
    sim_trace(sim, "listed kind %c", sim_kind_prefixes[watch->kind]);
}

static void read_list(struct sim *sim, struct watch *watch)
{
    uint32_t count = sim->storm ? 1 + roll(sim, 8) : UINT32_MAX;
    if (!watch->list_at)
        core_list(sim, watch->kind);
    for (; count && watch->list_at < watch->list.len; count--)
        core_set(sim, watch->list.items[watch->list_at++]);
    if (watch->list_at == watch->list.len)
        end_list(sim, watch);
}

/* ---- changes ---- */
static void take(struct sim *sim, const struct change *change)
{
    const struct version *version = change->version;
    sim_trace(sim, "told: %c%u %s (version %llu)", sim_kind_prefixes[version->kind], version->facts.number,
              change->removed ? "is gone" : "is there", (unsigned long long)version->facts.version);
    if (change->removed)
        core_remove(sim, change->version);
    else
        core_set(sim, change->version);
}

/* The same event once more, or an older one of the same object. */
static void take_again(struct sim *sim, const struct watch *watch, const struct change *change)
{
    uint64_t from = sim->store.kinds[watch->kind].history_from;
    uint64_t back = 1 + roll(sim, 6);
    const struct change *old =
        watch->next >= from + back ? store_change(&sim->store, watch->kind, watch->next - back) : change;
    bool same = old->version->facts.uid == change->version->facts.uid;
    if (same && !change->removed && !old->removed)
        take(sim, old);
}

static void read_changes(struct sim *sim, struct watch *watch)
{
    uint64_t behind = store_head(&sim->store, watch->kind) - watch->next;
    uint32_t count =
        1 + roll(sim, (uint32_t)(4 + behind / 2)); /* a watch that is far behind reads more at once */
    for (; count && watch->next < store_head(&sim->store, watch->kind); count--) {
        const struct change change = *store_change(&sim->store, watch->kind, watch->next++);
        version_ref(change.version);
        take(sim, &change);
        if (sim->storm && chance(sim, sim->knobs.watch_again))
            take_again(sim, watch, &change);
        version_unref(change.version);
    }
    store_trim(&sim->store, watch->kind, watch->next);
}

static void read_on(struct sim *sim, void *what)
{
    uintptr_t ticket = (uintptr_t)what - 1;
    struct watch *watch = &sim->core.watches[ticket % SIM_KIND_COUNT];
    if (!sim->core.alive || sim->core.incarnation != ticket / SIM_KIND_COUNT)
        return;
    if (sim->now_ns < sim->outage_until_ns) {
        sim_plan(sim, sim->outage_until_ns - sim->now_ns, read_on, what, NULL);
        return;
    }
    if (watch->listing)
        read_list(sim, watch);
    else if (sim->storm && chance(sim, sim->knobs.watch_break))
        watch_break(sim, watch->kind);
    else
        read_changes(sim, watch);
    if (watch->listing || watch->next < store_head(&sim->store, watch->kind))
        read_later(sim, watch);
    else
        watch->asleep = true;
}

void watch_start(struct sim *sim, enum sim_kind kind)
{
    struct watch *watch = &sim->core.watches[kind];
    watch->kind = kind;
    begin_list(sim, watch);
    read_later(sim, watch);
}

/* A watch that breaks during its list starts again. */
void watch_break(struct sim *sim, enum sim_kind kind)
{
    struct watch *watch = &sim->core.watches[kind];
    sim_trace(sim, "the watch of kind %c breaks", sim_kind_prefixes[kind]);
    forget_list(watch);
    begin_list(sim, watch);
    if (watch->asleep)
        read_later(sim, watch);
}

void watches_wake(struct sim *sim)
{
    for (int kind = 0; sim->core.alive && kind < SIM_KIND_COUNT; kind++) {
        struct watch *watch = &sim->core.watches[kind];
        if (watch->asleep && watch->next < store_head(&sim->store, kind))
            read_later(sim, watch);
    }
}
