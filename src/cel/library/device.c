/* device.c: a device as the maps that an expression sees.
 *
 *     device              driver, allowMultipleAllocations, attributes, capacity
 *     device.attributes   by domain; a missing domain reads as an empty map, but is not `in` it
 *     ...["domain"]       by id */
#include "cel/library/device.h"

#include "cel/lib.h"

struct device_map {
    struct cel_map head;
    const struct cel_device *device;
};

/* The entries of all domains, or of one. */
struct entries_map {
    struct cel_map head;
    const struct cel_device_entry *entries;
    size_t entries_len;
    struct str domain;
};

static const struct cel_device_entry *find_entry(const struct entries_map *map, struct str id)
{
    for (size_t i = 0; i < map->entries_len; i++)
        if (str_eq(map->entries[i].id, id) && str_eq(map->entries[i].domain, map->domain))
            return &map->entries[i];
    return NULL;
}

static bool ids_find(const struct cel_map *map, const struct cel_value *key, struct arena *scratch,
                     struct cel_value *ret)
{
    (void)scratch;
    if (key->kind != CEL_STRING)
        return false;
    const struct cel_device_entry *entry =
        find_entry(container_of(map, const struct entries_map, head), key->text);
    if (entry)
        *ret = entry->value;
    return entry != NULL;
}

static void ids_at(const struct cel_map *map, size_t i, struct arena *scratch, struct cel_value *ret_key,
                   struct cel_value *ret_value)
{
    (void)scratch;
    const struct entries_map *ids = container_of(map, const struct entries_map, head);
    const struct cel_device_entry *entry = ids->entries;
    for (; !str_eq(entry->domain, ids->domain) || i > 0; entry++)
        i -= str_eq(entry->domain, ids->domain) ? 1 : 0;
    if (ret_key)
        *ret_key = cel_string(entry->id);
    if (ret_value)
        *ret_value = entry->value;
}

static const struct cel_map_ops ids_ops = { .find = ids_find, .at = ids_at };

static struct cel_value ids_of(const struct entries_map *domains, struct str domain, struct arena *scratch)
{
    struct entries_map *ids = arena_new(scratch, struct entries_map);
    *ids = *domains;
    ids->head = (struct cel_map){ .ops = &ids_ops };
    ids->domain = domain;
    for (size_t i = 0; i < ids->entries_len; i++)
        ids->head.len += str_eq(ids->entries[i].domain, domain);
    return (struct cel_value){ .kind = CEL_MAP, .map = &ids->head };
}

static bool domains_find(const struct cel_map *map, const struct cel_value *key, struct arena *scratch,
                         struct cel_value *ret)
{
    struct str domain = key->kind == CEL_STRING ? key->text : (struct str){ NULL, 0 };
    struct entries_map domains = *container_of(map, const struct entries_map, head);
    if (key->kind != CEL_STRING)
        domains.entries_len = 0;
    *ret = ids_of(&domains, domain, scratch);
    return true;
}

static bool domains_contains(const struct cel_map *map, const struct cel_value *key)
{
    const struct entries_map *domains = container_of(map, const struct entries_map, head);
    for (size_t i = 0; key->kind == CEL_STRING && i < domains->entries_len; i++)
        if (str_eq(domains->entries[i].domain, key->text))
            return true;
    return false;
}

static bool is_first_of_domain(const struct entries_map *map, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (str_eq(map->entries[j].domain, map->entries[i].domain))
            return false;
    return true;
}

static void domains_at(const struct cel_map *map, size_t i, struct arena *scratch, struct cel_value *ret_key,
                       struct cel_value *ret_value)
{
    const struct entries_map *domains = container_of(map, const struct entries_map, head);
    size_t at = 0;
    for (; !is_first_of_domain(domains, at) || i > 0; at++)
        i -= is_first_of_domain(domains, at) ? 1 : 0;
    struct str domain = domains->entries[at].domain;
    if (ret_key)
        *ret_key = cel_string(domain);
    if (ret_value)
        *ret_value = ids_of(domains, domain, scratch);
}

static const struct cel_map_ops domains_ops = {
    .find = domains_find,
    .contains = domains_contains,
    .at = domains_at,
};

static struct cel_value domains_of(const struct cel_device_entry *entries, size_t len, struct arena *scratch)
{
    struct entries_map *map = arena_new(scratch, struct entries_map);
    *map = (struct entries_map){ .head = { .ops = &domains_ops }, .entries = entries, .entries_len = len };
    for (size_t i = 0; i < len; i++)
        map->head.len += is_first_of_domain(map, i);
    return (struct cel_value){ .kind = CEL_MAP, .map = &map->head };
}

enum { FIELD_DRIVER, FIELD_MULTIPLE, FIELD_ATTRIBUTES, FIELD_CAPACITY, FIELDS };
static const struct {
    const char *name, *type;
} fields[FIELDS] = {
    [FIELD_DRIVER] = { "driver", "string" },
    [FIELD_MULTIPLE] = { "allowMultipleAllocations", "bool" },
    [FIELD_ATTRIBUTES] = { "attributes", "map(string, map(string, any))" },
    [FIELD_CAPACITY] = { "capacity", "map(string, map(string, quantity))" },
};

const struct cel_type *cel_device_field(struct cel_types *types, struct str name, bool list_type_attributes)
{
    const struct cel_type *ret[5] = { NULL };
    for (size_t i = 0; i < FIELDS && !ret[0]; i++) {
        const char *type = fields[i].type;
        if (i == FIELD_ATTRIBUTES && list_type_attributes)
            type = "map(string, map(string, dyn))";
        if (str_is(name, fields[i].name))
            cel_type_signature(types, &type, ret);
    }
    return ret[0];
}

static struct cel_value field(const struct cel_device *device, size_t i, struct arena *scratch)
{
    switch (i) {
    case FIELD_DRIVER:
        return cel_string(device->driver);
    case FIELD_MULTIPLE:
        return cel_bool(device->allow_multiple_allocations);
    case FIELD_ATTRIBUTES:
        return domains_of(device->attributes, device->attributes_len, scratch);
    default:
        return domains_of(device->capacity, device->capacity_len, scratch);
    }
}

static bool device_find(const struct cel_map *map, const struct cel_value *key, struct arena *scratch,
                        struct cel_value *ret)
{
    for (size_t i = 0; key->kind == CEL_STRING && i < FIELDS; i++) {
        if (str_is(key->text, fields[i].name)) {
            *ret = field(container_of(map, const struct device_map, head)->device, i, scratch);
            return true;
        }
    }
    return false;
}

static void device_at(const struct cel_map *map, size_t i, struct arena *scratch, struct cel_value *ret_key,
                      struct cel_value *ret_value)
{
    if (ret_key)
        *ret_key = cel_string(str_from(fields[i].name));
    if (ret_value)
        *ret_value = field(container_of(map, const struct device_map, head)->device, i, scratch);
}

static const struct cel_map_ops device_ops = { .find = device_find, .at = device_at };

void cel_device_name(struct str name, struct str driver, struct str *ret_domain, struct str *ret_id)
{
    ptrdiff_t slash = str_find(name, '/');
    *ret_domain = slash < 0 ? driver : str_slice(name, 0, (size_t)slash);
    *ret_id = slash < 0 ? name : str_slice(name, (size_t)slash + 1, name.len);
}

struct cel_binding cel_device_binding(const struct cel_device *device, struct arena *scratch)
{
    struct device_map *map = arena_new(scratch, struct device_map);
    *map = (struct device_map){ .head = { .ops = &device_ops, .len = FIELDS }, .device = device };
    return (struct cel_binding){ .name = STR("device"), .value = { .kind = CEL_MAP, .map = &map->head } };
}

/* Why a result is no bool, in the words of the reference's conversions. */
static const char *no_bool(enum cel_kind kind)
{
    static const char *const texts[CEL_KINDS] = {
        [CEL_NULL] = "type conversion error from 'null_type' to 'bool'",
        [CEL_INT] = "unsupported type conversion from 'int' to bool",
        [CEL_UINT] = "unsupported type conversion from 'uint' to bool",
        [CEL_DOUBLE] = "type conversion error from Double to 'bool'",
        [CEL_STRING] = "unsupported native conversion from string to 'bool'",
        [CEL_BYTES] = "type conversion error from Bytes to 'bool'",
        [CEL_LIST] = "type conversion error from list to 'bool'",
        [CEL_MAP] = "type conversion error from map to 'bool'",
        [CEL_DURATION] = "type conversion error from 'Duration' to 'bool'",
        [CEL_TIMESTAMP] = "type conversion error from 'Timestamp' to 'bool'",
        [CEL_OPTIONAL] = "optional.none() dereference",
        [CEL_QUANTITY] = "type conversion error from 'Quantity' to 'bool'",
        [CEL_SEMVER] = "type conversion error from 'Semver' to 'bool'",
    };
    return texts[kind] ? texts[kind] : "type conversion error";
}

int cel_device_matches(const struct cel_program *program, const struct cel_device *device,
                       struct arena *scratch, bool *ret, struct error *err)
{
    struct cel_binding variable = cel_device_binding(device, scratch);
    struct cel_value value;
    int r = cel_eval(program, &variable, 1, scratch, &value, err);
    if (r < 0)
        return r;
    /* As the reference converts a result: an optional is what it holds. */
    while (value.kind == CEL_OPTIONAL && value.optional)
        value = *value.optional;
    if (value.kind != CEL_BOOL)
        return error_set(err, -EINVAL, "CEL result of type %s could not be converted to bool: %s",
                         cel_value_type(&value), no_bool(value.kind));
    *ret = value.boolean;
    return 0;
}
