/* map.c: the maps of an evaluation: entries in the order they came, found through a table of hashes.
 *
 * Keys are the same if Go's would be: an int is no uint. A lookup that finds no such key tries the same number of
 * the other kinds. */
#include "base/map.h"
#include "cel/value.h"

#include <math.h>

/* Only the maps of the evaluation are changed, and only while they are made. */
static struct cel_map *mutable(const struct cel_value *value)
{
    return (struct cel_map *)value->map;
}

static uint64_t hash_double(double number, size_t unequal)
{
    uint64_t bits;
    if (isnan(number))
        return table_hash_number(unequal);
    number += 0.0; /* the negative zero is the same as the other */
    memcpy(&bits, &number, sizeof(bits));
    return table_hash_number(bits);
}

/* `unequal` spreads keys that are the same as no other, not even as themselves. */
static uint64_t hash(const struct cel_value *key, size_t unequal)
{
    switch (key->kind) {
    case CEL_NULL:
        return 0;
    case CEL_BOOL:
        return key->boolean;
    case CEL_INT:
    case CEL_UINT:
        return table_hash_number(key->uinteger);
    case CEL_DOUBLE:
        return hash_double(key->number, unequal);
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_TYPE:
        return table_hash(key->text);
    case CEL_DURATION:
        return table_hash_number((uint64_t)key->duration_ns);
    case CEL_TIMESTAMP:
        return table_hash_number((uint64_t)key->timestamp.seconds) ^ (uint64_t)key->timestamp.nanos;
    case CEL_OPTIONAL:
        return table_hash_number((uintptr_t)key->optional);
    case CEL_LIST:
        return table_hash_number((uintptr_t)key->list);
    case CEL_MAP:
        return table_hash_number((uintptr_t)key->map);
    default:
        return table_hash_number(unequal);
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

/* Where in the table the key is, or would be put as entry `number`. */
static size_t place(const struct cel_map *map, const struct cel_value *key, size_t number)
{
    size_t mask = map->cap * 2 - 1, at = hash(key, number) & mask;
    while (map->table[at] && !same_key(&map->entries[map->table[at] - 1].key, key))
        at = (at + 1) & mask;
    return at;
}

static const struct cel_value *find_exact(const struct cel_map *map, const struct cel_value *key)
{
    if (map->table) {
        uint32_t entry = map->table[place(map, key, map->len)];
        return entry ? &map->entries[entry - 1].value : NULL;
    }
    for (size_t i = 0; i < map->len; i++)
        if (same_key(&map->entries[i].key, key))
            return &map->entries[i].value;
    return NULL;
}

static const struct cel_value *find_any(const struct cel_map *map, const struct cel_value *key)
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

bool cel_map_find(const struct cel_map *map, const struct cel_value *key, struct cel_value *ret)
{
    static const struct cel_map empty = { 0 };
    const struct cel_value *value = find_any(map, key);
    if (value)
        *ret = *value;
    else if (map->is_total)
        *ret = (struct cel_value){ .kind = CEL_MAP, .map = &empty };
    return value || map->is_total;
}

struct cel_value cel_map_new(struct cel_run *run, bool growing)
{
    struct cel_map *map = cel_take(run, sizeof(*map));
    if (!map)
        return cel_stop(run);
    *map = (struct cel_map){ .grows = growing };
    return (struct cel_value){ .kind = CEL_MAP, .map = map };
}

static bool reserve(struct cel_run *run, struct cel_map *map)
{
    if (map->len < map->cap)
        return true;
    size_t cap = map->cap ? map->cap * 2 : 4, len = map->len;
    struct cel_entry *entries = cel_take(run, cap * sizeof(*entries));
    uint32_t *table = cel_take(run, cap * 2 * sizeof(*table));
    if (!entries || !table)
        return false;
    if (len)
        memcpy(entries, map->entries, len * sizeof(*entries));
    memset(table, 0, cap * 2 * sizeof(*table));
    map->entries = entries;
    map->table = table;
    map->cap = cap;
    for (size_t i = 0; i < len; i++)
        table[place(map, &entries[i].key, i)] = (uint32_t)i + 1;
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
        return cel_crash(run, "runtime error: hash of unhashable type %s", cel_go_type(run, key));
    struct cel_map *to = mutable(map);
    if (!reserve(run, to) || !cel_work(run, 1))
        return cel_stop(run);
    size_t at = place(to, key, to->len);
    if (to->table[at]) {
        to->entries[to->table[at] - 1].value = *value;
        return *map;
    }
    to->entries[to->len++] = (struct cel_entry){ *key, *value };
    to->table[at] = (uint32_t)to->len;
    return *map;
}

void cel_map_remove(const struct cel_value *map, const struct cel_value *key)
{
    struct cel_map *to = mutable(map);
    if (!find_exact(to, key))
        return;
    size_t gone = to->table[place(to, key, to->len)] - 1, last = --to->len;
    memmove(&to->entries[gone], &to->entries[gone + 1], (last - gone) * sizeof(struct cel_entry));
    memset(to->table, 0, to->cap * 2 * sizeof(*to->table));
    for (size_t i = 0; i < last; i++)
        to->table[place(to, &to->entries[i].key, i)] = (uint32_t)i + 1;
}

bool cel_map_has(struct cel_run *run, const struct cel_map *map, const struct cel_value *key)
{
    if (map->table && map->len > 0 && !is_hashable(key))
        cel_crash(run, "runtime error: hash of unhashable type %s", cel_go_type(run, key));
    return find_any(map, key) != NULL;
}

struct cel_value cel_map_insert(struct cel_run *run, const struct cel_value *map, const struct cel_value *key,
                                const struct cel_value *value)
{
    if (cel_map_has(run, map->map, key)) {
        struct str text = cel_value_text(run, key);
        return cel_fail(run, "insert failed: key " STR_FMT " already exists", STR_ARG(text));
    }
    struct cel_value copy = *map;
    if (!map->map->grows) {
        copy = cel_map_new(run, false);
        for (size_t i = 0; i < map->map->len && !cel_is_error(&copy); i++)
            copy = cel_map_put(run, &copy, &map->map->entries[i].key, &map->map->entries[i].value);
    }
    return cel_is_error(&copy) ? copy : cel_map_put(run, &copy, key, value);
}
