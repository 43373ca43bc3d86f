/* store.c: objects by number, and every change of them in order. */
#include "store.h"

#include <stdlib.h>

/* ---- versions ---- */
struct version *version_ref(struct version *version)
{
    version->refs++;
    return version;
}

void version_unref(struct version *version)
{
    if (!version || --version->refs)
        return;
    arena_release(&version->arena);
    free(version);
}

static struct version *version_of(enum sim_kind kind, const struct stored *stored)
{
    struct version *version = xcalloc(1, sizeof(*version));
    version->refs = 1;
    version->kind = kind;
    version->facts = stored->facts;
    if (stored->reason.len)
        version->reason = arena_str(&version->arena, strbuf_slice(&stored->reason));
    if (stored->message.len)
        version->message = arena_str(&version->arena, strbuf_slice(&stored->message));
    return version;
}

/* ---- names ---- */
const char sim_kind_prefixes[SIM_KIND_COUNT] = {
#define X(name, kind, prefix) [SIM_##name] = prefix,
    SIM_KINDS(X)
#undef X
};

uint64_t uid_of(struct str text)
{
    int64_t number;
    return text.len > 1 && str_to_int64(str_slice(text, 1, text.len), &number) ? (uint64_t)number : 0;
}

int number_of(struct str name)
{
    int64_t number;
    return name.len > 1 && str_to_int64(str_slice(name, 1, name.len), &number) ? (int)number : NONE;
}

/* ---- init and release ---- */
enum { HISTORY_LEN = 4096 }; /* so that it does not grow while memory is measured */

void store_init(struct store *store, const uint32_t lens[SIM_KIND_COUNT])
{
    *store = (struct store){ 0 };
    for (int kind = 0; kind < SIM_KIND_COUNT; kind++) {
        store->kinds[kind].items = xcalloc(lens[kind], sizeof(struct stored));
        store->kinds[kind].len = lens[kind];
        vec_reserve(&store->kinds[kind].history, HISTORY_LEN);
    }
}

void store_release(struct store *store)
{
    for (int k = 0; k < SIM_KIND_COUNT; k++) {
        struct kind_store *kind = &store->kinds[k];
        for (uint32_t i = 0; i < kind->len; i++) {
            strbuf_release(&kind->items[i].reason);
            strbuf_release(&kind->items[i].message);
            version_unref(kind->items[i].shown);
        }
        vec_for(&kind->history, change)
            version_unref(change->version);
        vec_release(&kind->history);
        free(kind->items);
    }
}

/* ---- changes ---- */
static void add_change(struct store *store, enum sim_kind kind, struct version *version, bool removed)
{
    *vec_push(&store->kinds[kind].history) = (struct change){ version_ref(version), removed };
}

static void hide(struct store *store, enum sim_kind kind, struct stored *stored)
{
    if (!stored->shown)
        return;
    stored->facts.version = ++store->last_version;
    struct version *last = version_of(kind, stored);
    add_change(store, kind, last, true);
    version_unref(last);
    version_unref(stored->shown);
    stored->shown = NULL;
}

struct stored *store_create(struct store *store, enum sim_kind kind, uint32_t number)
{
    struct stored *stored = store_get(store, kind, number);
    assert(!stored->exists);
    stored->exists = true;
    stored->facts = (struct facts){ .number = number, .uid = ++store->last_uid, .created_s = store->now_s };
    strbuf_clear(&stored->reason);
    strbuf_clear(&stored->message);
    return stored;
}

void store_commit(struct store *store, enum sim_kind kind, struct stored *stored)
{
    if (kind == SIM_PODS && stored->facts.pod.finished) {
        hide(store, kind, stored);
        return;
    }
    stored->facts.version = ++store->last_version;
    version_unref(stored->shown);
    stored->shown = version_of(kind, stored);
    add_change(store, kind, stored->shown, false);
}

void store_remove(struct store *store, enum sim_kind kind, struct stored *stored)
{
    hide(store, kind, stored);
    stored->exists = false;
    strbuf_release(&stored->reason);
    strbuf_release(&stored->message);
}

/* ---- looking ---- */
struct stored *store_at(struct store *store, enum sim_kind kind, int number)
{
    if (number < 0 || (uint32_t)number >= store->kinds[kind].len)
        return NULL;
    struct stored *stored = &store->kinds[kind].items[number];
    return stored->exists ? stored : NULL;
}

struct stored *store_find(struct store *store, enum sim_kind kind, struct str name)
{
    return store_at(store, kind, number_of(name));
}

int store_free_number(const struct store *store, enum sim_kind kind, uint32_t from)
{
    const struct kind_store *items = &store->kinds[kind];
    for (uint32_t i = 0; i < items->len; i++)
        if (!items->items[(from + i) % items->len].exists)
            return (int)((from + i) % items->len);
    return NONE;
}

void store_trim(struct store *store, enum sim_kind kind, uint64_t number)
{
    enum { KEPT = 8, BULK = 32 };
    struct kind_store *items = &store->kinds[kind];
    if (number < items->history_from + KEPT + BULK)
        return;
    size_t drop = (size_t)(number - KEPT - items->history_from);
    for (size_t i = 0; i < drop; i++)
        version_unref(items->history.items[i].version);
    memmove(items->history.items, items->history.items + drop,
            (items->history.len - drop) * sizeof(*items->history.items));
    items->history.len -= drop;
    items->history_from += drop;
}
