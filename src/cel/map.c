/* map.c: the maps of an evaluation: entries in the order they came, found through a table of hashes.
 *
 * Keys are the same if Go's would be: an int is no uint. A lookup that finds no such key tries the same number of
 * the other kinds. */
#include "cel/value.h"

struct entry {
    struct cel_value key, value;
};

struct entry_map {
    struct cel_map head;
    struct entry *entries;
    uint32_t *table; /* entry numbers from 1, 0: free; twice `cap` long */
    size_t cap;
};

static struct entry_map *entries_of(const struct cel_map *map)
{
    return (struct entry_map *)(void *)container_of(map, const struct entry_map, head);
}

static uint64_t hash(const struct cel_value *key)
{
    switch (key->kind) {
    case CEL_STRING:
        return str_hash(key->text);
    case CEL_BOOL:
        return key->boolean;
    case CEL_INT:
    case CEL_UINT:
        return key->uinteger * 0x9E3779B97F4A7C15u;
    default:
        return (uint64_t)key->kind;
    }
}

/* Lists, maps and optionals are the same if they are one object. */
static bool same_key(const struct cel_value *a, const struct cel_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case CEL_OPTIONAL:
        return a->optional == b->optional;
    case CEL_LIST:
        return a->list == b->list;
    case CEL_MAP:
        return a->map == b->map;
    default:
        return cel_scalars_equal(a, b);
    }
}

/* Where in the table the key is, or would be put. */
static size_t place(const struct entry_map *map, const struct cel_value *key)
{
    size_t mask = map->cap * 2 - 1, at = hash(key) & mask;
    while (map->table[at] && !same_key(&map->entries[map->table[at] - 1].key, key))
        at = (at + 1) & mask;
    return at;
}

static const struct cel_value *find_exact(const struct entry_map *map, const struct cel_value *key)
{
    if (map->head.len == 0)
        return NULL;
    uint32_t entry = map->table[place(map, key)];
    return entry ? &map->entries[entry - 1].value : NULL;
}

static const struct cel_value *find_any(const struct entry_map *map, const struct cel_value *key)
{
    const struct cel_value *value = find_exact(map, key);
    struct cel_value other = { .kind = CEL_INT };
    if (!value && key->kind == CEL_DOUBLE && cel_double_to_int(key->number, &other.integer))
        value = find_exact(map, &other);
    if (!value && key->kind == CEL_UINT && key->uinteger <= INT64_MAX) {
        other.uinteger = key->uinteger;
        value = find_exact(map, &other);
    }
    other.kind = CEL_UINT;
    if (!value && key->kind == CEL_DOUBLE && cel_double_to_uint(key->number, &other.uinteger))
        value = find_exact(map, &other);
    if (!value && key->kind == CEL_INT && key->integer >= 0) {
        other.uinteger = key->uinteger;
        value = find_exact(map, &other);
    }
    return value;
}

static bool entries_find(const struct cel_map *map, const struct cel_value *key, struct arena *scratch,
                         struct cel_value *ret)
{
    (void)scratch;
    const struct cel_value *value = find_any(entries_of(map), key);
    if (value)
        *ret = *value;
    return value != NULL;
}

static void entries_at(const struct cel_map *map, size_t i, struct arena *scratch, struct cel_value *ret_key,
                       struct cel_value *ret_value)
{
    (void)scratch;
    const struct entry *entry = &entries_of(map)->entries[i];
    if (ret_key)
        *ret_key = entry->key;
    if (ret_value)
        *ret_value = entry->value;
}

static const struct cel_map_ops entry_ops = { .find = entries_find, .at = entries_at };
static const struct cel_map_ops grower_ops = { .find = entries_find, .at = entries_at };

struct cel_value cel_map_new(struct cel_run *run, bool growing)
{
    struct entry_map *map = cel_take(run, sizeof(*map));
    if (!map)
        return cel_stop(run);
    *map = (struct entry_map){ .head = { growing ? &grower_ops : &entry_ops, 0 } };
    return (struct cel_value){ .kind = CEL_MAP, .map = &map->head };
}

static bool grows(const struct cel_value *value)
{
    return value->kind == CEL_MAP && value->map->ops == &grower_ops;
}

static bool reserve(struct cel_run *run, struct entry_map *map)
{
    if (map->head.len < map->cap)
        return true;
    size_t cap = map->cap ? map->cap * 2 : 4, len = map->head.len;
    struct entry *entries = cel_take(run, cap * sizeof(*entries));
    uint32_t *table = cel_take(run, cap * 2 * sizeof(*table));
    if (!entries || !table)
        return false;
    if (len)
        memcpy(entries, map->entries, len * sizeof(*entries));
    memset(table, 0, cap * 2 * sizeof(*table));
    *map = (struct entry_map){ .head = map->head, .entries = entries, .table = table, .cap = cap };
    for (size_t i = 0; i < len; i++)
        table[place(map, &entries[i].key)] = (uint32_t)i + 1;
    return true;
}

/* Keys that Go's maps do not take, so that the reference panics. */
static bool is_hashable(const struct cel_value *key)
{
    return key->kind != CEL_BYTES && key->kind != CEL_SEMVER && key->kind != CEL_FORMAT;
}

struct cel_value cel_map_put(struct cel_run *run, const struct cel_value *map, const struct cel_value *key,
                             const struct cel_value *value)
{
    if (!is_hashable(key))
        return cel_crash(run);
    struct entry_map *entries = entries_of(map->map);
    if (!reserve(run, entries) || !cel_work(run, 1))
        return cel_stop(run);
    size_t at = place(entries, key);
    if (entries->table[at]) {
        entries->entries[entries->table[at] - 1].value = *value;
        return *map;
    }
    entries->entries[entries->head.len++] = (struct entry){ *key, *value };
    entries->table[at] = (uint32_t)entries->head.len;
    return *map;
}

void cel_map_remove(const struct cel_value *map, const struct cel_value *key)
{
    struct entry_map *entries = entries_of(map->map);
    if (!find_exact(entries, key))
        return;
    size_t gone = entries->table[place(entries, key)] - 1, last = --entries->head.len;
    memmove(&entries->entries[gone], &entries->entries[gone + 1], (last - gone) * sizeof(struct entry));
    memset(entries->table, 0, entries->cap * 2 * sizeof(*entries->table));
    for (size_t i = 0; i < last; i++)
        entries->table[place(entries, &entries->entries[i].key)] = (uint32_t)i + 1;
}

bool cel_map_has(struct cel_run *run, const struct cel_map *map, const struct cel_value *key)
{
    struct cel_value ignored;
    if (map->ops->at == entries_at && map->len > 0 && !is_hashable(key))
        cel_crash(run);
    return map->ops->contains ? map->ops->contains(map, key)
                              : map->ops->find(map, key, run->scratch, &ignored);
}

struct cel_value cel_map_insert(struct cel_run *run, const struct cel_value *map, const struct cel_value *key,
                                const struct cel_value *value)
{
    if (cel_map_has(run, map->map, key)) {
        struct str text = cel_value_text(run, key);
        return cel_fail(run, "insert failed: key " STR_FMT " already exists", STR_ARG(text));
    }
    struct cel_value copy = *map;
    if (!grows(map)) {
        copy = cel_map_new(run, false);
        for (size_t i = 0; i < map->map->len && !cel_is_error(&copy); i++) {
            struct cel_value k, v;
            map->map->ops->at(map->map, i, run->scratch, &k, &v);
            copy = cel_map_put(run, &copy, &k, &v);
        }
    }
    return cel_is_error(&copy) ? copy : cel_map_put(run, &copy, key, value);
}
