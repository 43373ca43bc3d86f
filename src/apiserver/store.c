/* store.c: see store.h.
 *
 *     struct store_kind ──▶ object_order ──▶ newest ──older──▶ version ──older──▶ version
 *                                                                 ▲
 *     history, by revision ───────────────────────────────────────┘
 *
 * A version holds the reference to the one that it replaced. When its change leaves the history, it gives that up: no
 * revision that can still be asked for shows the older one. The end of an object is a version, too, and leaves the
 * order of its kind with its change. So history itself holds no references.
 *
 * Changes leave the history only at the begin of a change that no callback of the store makes: what callbacks were
 * given stays valid. */
#include "apiserver/store.h"

#include <stdlib.h>

#include "apiserver/store_disk.h"
#include "apiserver/store_impl.h"

enum { HISTORY_MAX = 20000, HISTORY_BYTES_MAX = 64 << 20, HISTORY_CAP_MIN = 64 };

/* ---- versions ---- */
static size_t version_bytes(const struct stored *version)
{
    return sizeof(*version) + version->ns.len + version->name.len + version->uid.len + version->json.len + 4;
}

static struct str copy_text(char **at, struct str text)
{
    char *copy = *at;
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    *at += text.len + 1;
    return (struct str){ copy, text.len };
}

static struct stored *version_new(const struct stored *like)
{
    struct stored *version = xmalloc(version_bytes(like));
    *version = *like;
    version->refs = 1;
    char *at = (char *)(version + 1);
    version->ns = copy_text(&at, like->ns);
    version->name = copy_text(&at, like->name);
    version->uid = copy_text(&at, like->uid);
    version->json = copy_text(&at, like->json);
    return version;
}

struct stored *stored_ref(struct stored *version)
{
    version->refs++;
    return version;
}

void stored_unref(struct stored *version)
{
    while (version && --version->refs == 0) {
        struct stored *older = version->older;
        free(version);
        version = older;
    }
}

static bool exists(const struct stored *version)
{
    return version && !version->is_deleted;
}

/* ---- kinds ---- */
uint32_t store_kind(struct store *store, struct str name)
{
    struct store_kind *kind = strmap_get(&store->kinds_by_name, name);
    if (!kind) {
        kind = strmap_make(&store->kinds_by_name, name, sizeof(*kind));
        kind->number = (uint32_t)store->kinds.len;
        object_order_init(&kind->objects);
        *vec_push(&store->kinds) = kind;
    }
    return kind->number;
}

static struct store_kind *kind_of(const struct store *store, uint32_t kind)
{
    assert(kind < store->kinds.len);
    return store->kinds.items[kind];
}

/* ---- history ---- */
static struct stored **history_at(const struct store *store, uint64_t revision)
{
    return &store->history[revision & (store->history_cap - 1)];
}

struct store_change store_change_at(const struct store *store, uint64_t revision)
{
    assert(revision > store->oldest && revision <= store->revision);
    struct stored *now = *history_at(store, revision);
    struct store_change found = { .now = now, .old = exists(now->older) ? now->older : NULL };
    found.type = now->is_deleted ? STORE_DELETED : found.old ? STORE_MODIFIED : STORE_ADDED;
    return found;
}

/* What is kept for the sake of history alone, from the change of this version to its end. */
static size_t history_cost(const struct stored *version)
{
    return (version->older ? version_bytes(version->older) : 0) +
           (version->is_deleted ? version_bytes(version) : 0);
}

static void history_add(struct store *store, struct stored *version)
{
    if (version->revision - store->oldest > store->history_cap) {
        size_t cap = store->history_cap ? store->history_cap * 2 : HISTORY_CAP_MIN;
        struct stored **grown = xcalloc(cap, sizeof(struct stored *));
        for (uint64_t r = store->oldest + 1; r < version->revision; r++)
            grown[r & (cap - 1)] = *history_at(store, r);
        free(store->history);
        store->history = grown;
        store->history_cap = cap;
    }
    *history_at(store, version->revision) = version;
    store->history_bytes += history_cost(version);
}

/* The oldest change leaves the history. */
static void history_drop(struct store *store)
{
    struct stored *version = *history_at(store, ++store->oldest);
    store->history_bytes -= history_cost(version);
    if (store->disk) {
        disk_set_oldest(store->disk, store->oldest);
        if (exists(version->older))
            disk_drop(store->disk, version->older->revision);
        /* Also where a newer object of the same name still refers to it: what is not there needs no row. */
        if (version->is_deleted)
            disk_drop(store->disk, version->revision);
    }
    stored_unref(version->older);
    version->older = NULL;
    if (!version->is_deleted)
        return;
    struct object_order *objects = &kind_of(store, version->kind)->objects;
    struct order_entry *entry = object_order_find(objects, version->ns, version->name);
    if (entry->newest == version)
        object_order_remove(objects, entry);
}

/* Makes room for one more change. What is not durable has not been told to all watchers. */
static void history_bound(struct store *store)
{
    while (!store->visiting && store->oldest < store->durable &&
           (store->revision - store->oldest >= store->options.history_max ||
            store->history_bytes > store->options.history_bytes_max))
        history_drop(store);
}

/* ---- changes ---- */
/* The new version becomes the newest one of its object; `entry` NULL: of a key that is not in the order. */
static void add_version(struct store *store, struct order_entry *entry, struct stored *version)
{
    struct store_kind *kind = kind_of(store, version->kind);
    struct stored *older = entry ? entry->newest : NULL;
    kind->live += (size_t)exists(version) - (size_t)exists(older);
    version->older = older;
    if (entry)
        entry->newest = version;
    else
        object_order_add(&kind->objects, version);
    history_add(store, version);
}

static struct stored *change(struct store *store, struct order_entry *entry, const struct stored *like)
{
    struct stored *version = version_new(like);
    store->revision = version->revision;
    add_version(store, entry, version);
    if (store->disk)
        disk_add(store->disk, kind_of(store, version->kind)->name, version);
    else
        store->durable = store->revision;
    feeds_send(store);
    return version;
}

uint64_t store_next_revision(const struct store *store)
{
    return store->revision + 1;
}

struct stored *store_get(struct store *store, uint32_t kind, struct str ns, struct str name)
{
    struct order_entry *entry = object_order_find(&kind_of(store, kind)->objects, ns, name);
    return entry && exists(entry->newest) ? entry->newest : NULL;
}

struct stored *store_put(struct store *store, uint32_t kind, struct str ns, struct str name, struct str uid,
                         struct str json)
{
    history_bound(store);
    struct order_entry *entry = object_order_find(&kind_of(store, kind)->objects, ns, name);
    struct stored *old = entry && exists(entry->newest) ? entry->newest : NULL;
    uint64_t revision = store_next_revision(store);
    return change(store, entry,
                  &(struct stored){ .kind = kind,
                                    .revision = revision,
                                    .created = old ? old->created : revision,
                                    .ns = ns,
                                    .name = name,
                                    .uid = old ? old->uid : uid,
                                    .json = json });
}

bool store_delete(struct store *store, uint32_t kind, struct str ns, struct str name, struct str json)
{
    history_bound(store);
    struct order_entry *entry = object_order_find(&kind_of(store, kind)->objects, ns, name);
    if (!entry || !exists(entry->newest))
        return false;
    struct stored end = *entry->newest;
    end.revision = store_next_revision(store);
    end.json = json;
    end.is_deleted = true;
    change(store, entry, &end);
    return true;
}

/* ---- lists ---- */
/* 0, or why nothing can be said about a revision. */
static int check_revision(const struct store *store, uint64_t revision)
{
    return revision < store->oldest ? -ESTALE : revision > store->revision ? -ERANGE : 0;
}

static struct stored *version_at(const struct order_entry *entry, uint64_t revision)
{
    struct stored *version = entry->newest;
    while (version && version->revision > revision)
        version = version->older;
    return exists(version) ? version : NULL;
}

static struct order_entry *first_of(struct store *store, const struct store_range *range)
{
    struct object_order *objects = &kind_of(store, range->kind)->objects;
    if (str_empty(range->ns))
        return object_order_after(objects, range->after_ns, range->after_name);
    return object_order_after(objects, range->ns,
                              str_eq(range->after_ns, range->ns) ? range->after_name : (struct str){ 0 });
}

int store_page(struct store *store, const struct store_range *range, size_t limit, store_visit visit,
               void *user)
{
    uint64_t revision = range->revision ? range->revision : store->revision;
    int r = check_revision(store, revision);
    if (r < 0)
        return r;
    size_t counted = 0;
    bool has_more = false, stopped = false;
    store->visiting++;
    for (struct order_entry *entry = first_of(store, range); entry && !stopped && !has_more;
         entry = entry->next[0]) {
        if (!str_empty(range->ns) && !str_eq(entry->newest->ns, range->ns))
            break;
        struct stored *version = version_at(entry, revision);
        if (!version)
            continue;
        if (limit && counted == limit) {
            has_more = true;
            continue;
        }
        enum store_visited visited = visit(user, version);
        counted += visited == STORE_COUNTS;
        stopped = visited == STORE_STOP;
    }
    store->visiting--;
    return has_more;
}

static enum store_visited count_one(void *user, struct stored *version _unused_)
{
    ++*(size_t *)user;
    return STORE_COUNTS;
}

size_t store_count(struct store *store, const struct store_range *range)
{
    bool is_all = str_empty(range->ns) && str_empty(range->after_ns) && str_empty(range->after_name);
    if (is_all && (!range->revision || range->revision == store->revision))
        return kind_of(store, range->kind)->live;
    size_t count = 0;
    store_page(store, range, 0, count_one, &count);
    return count;
}

/* ---- the store ---- */
uint64_t store_revision(const struct store *store)
{
    return store->revision;
}

uint64_t store_oldest(const struct store *store)
{
    return store->oldest;
}

uint64_t store_durable(const struct store *store)
{
    return store->durable;
}

/* ---- the database ---- */
static void on_committed(void *user, uint64_t revision)
{
    struct store *store = user;
    store->durable = revision;
    feeds_send(store);
}

static void on_failed(void *user, const char *sentence)
{
    const struct store *store = user;
    if (store->options.on_failure)
        store->options.on_failure(store->options.user, sentence);
}

/* Rows come by revision: first the objects as they were at the oldest one, then all changes since. */
static int load_row(void *user, struct str kind, const struct stored *row, struct error *err)
{
    struct store *store = user;
    struct stored like = *row;
    like.kind = store_kind(store, kind);
    struct object_order *objects = &kind_of(store, like.kind)->objects;
    struct order_entry *entry = object_order_find(objects, row->ns, row->name);
    bool is_object = row->revision <= store->oldest;
    if (is_object ? entry || row->is_deleted : row->is_deleted && !(entry && exists(entry->newest)))
        return error_set(err, -EUCLEAN, "it does not follow from the rows before");
    store->revision = MAX(store->revision, store->oldest);
    if (is_object) {
        object_order_add(objects, version_new(&like));
        kind_of(store, like.kind)->live++;
        return 0;
    }
    if (row->revision != store->revision + 1)
        return error_set(err, -EUCLEAN, "the one before is missing");
    store->revision++;
    add_version(store, entry, version_new(&like));
    return 0;
}

static int load(struct store *store, struct loop *loop, struct error *err)
{
    struct disk_options options = { .path = store->options.path,
                                    .loop = loop,
                                    .committed = on_committed,
                                    .failed = on_failed,
                                    .user = store };
    int r = disk_open(&options, &store->disk, err);
    if (r == 0)
        r = disk_load(store->disk, &store->oldest, load_row, store, err);
    store->revision = MAX(store->revision, store->oldest);
    store->durable = store->revision;
    return r;
}

int store_open(const struct store_options *options, struct loop *loop, struct store **ret, struct error *err)
{
    struct store *store = xcalloc(1, sizeof(*store));
    store->options = *options;
    if (!options->history_max)
        store->options.history_max = HISTORY_MAX;
    if (!options->history_bytes_max)
        store->options.history_bytes_max = HISTORY_BYTES_MAX;
    store->revision = store->oldest = store->durable = 1;
    for (uint32_t i = 0; i < options->kind_count; i++)
        store_kind(store, options->kinds[i]);
    int r = options->path ? load(store, loop, err) : 0;
    feeds_init(store);
    if (r < 0)
        store_close(store);
    else
        *ret = store;
    return r;
}

void store_close(struct store *store)
{
    if (!store)
        return;
    disk_close(store->disk);
    vec_for(&store->kinds, kind) {
        object_order_release(&(*kind)->objects);
        free(*kind);
    }
    vec_release(&store->kinds);
    strmap_release(&store->kinds_by_name);
    free(store->history);
    free(store);
}
