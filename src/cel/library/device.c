/* device.c: a device as the maps that an expression sees.
 *
 *     device              driver, allowMultipleAllocations, attributes, capacity
 *     device.attributes   by domain; a missing domain reads as an empty map, but is not `in` it
 *     ...["domain"]       by id */
#include "cel/library/device.h"

#include "cel/value.h"

static struct cel_value map_of(struct cel_entry *entries, size_t len, bool is_total, struct arena *arena)
{
    struct cel_map *map = arena_new(arena, struct cel_map);
    *map = (struct cel_map){ .entries = entries, .len = len, .is_total = is_total };
    return (struct cel_value){ .kind = CEL_MAP, .map = map };
}

/* The entries by domain, and in each domain by id. */
static struct cel_value domains_of(const struct cel_device_entry *entries, size_t len, struct arena *arena)
{
    struct cel_entry *domains = arena_array(arena, struct cel_entry, len);
    struct cel_entry *next_id = arena_array(arena, struct cel_entry, len);
    size_t domains_len = 0;
    for (size_t i = 0; i < len; i++) {
        struct str domain = entries[i].domain;
        size_t first = 0;
        while (!str_eq(entries[first].domain, domain))
            first++;
        if (first < i)
            continue;
        struct cel_entry *ids = next_id;
        for (size_t k = i; k < len; k++)
            if (str_eq(entries[k].domain, domain))
                *next_id++ = (struct cel_entry){ cel_string(entries[k].id), entries[k].value };
        domains[domains_len++] =
            (struct cel_entry){ cel_string(domain), map_of(ids, (size_t)(next_id - ids), false, arena) };
    }
    return map_of(domains, domains_len, true, arena);
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

const struct cel_type *cel_device_field(struct cel_types *types, struct str name, bool dyn_attributes)
{
    const struct cel_type *ret[5] = { NULL };
    for (size_t i = 0; i < FIELDS && !ret[0]; i++) {
        const char *type = fields[i].type;
        if (i == FIELD_ATTRIBUTES && dyn_attributes)
            type = "map(string, map(string, dyn))";
        if (str_is(name, fields[i].name))
            cel_type_signature(types, &type, ret);
    }
    return ret[0];
}

void cel_device_name(struct str name, struct str driver, struct str *ret_domain, struct str *ret_id)
{
    ptrdiff_t slash = str_find(name, '/');
    *ret_domain = slash < 0 ? driver : str_slice(name, 0, (size_t)slash);
    *ret_id = slash < 0 ? name : str_slice(name, (size_t)slash + 1, name.len);
}

struct cel_value cel_device_value(const struct cel_device *device, struct arena *arena)
{
    struct cel_entry *entries = arena_array(arena, struct cel_entry, FIELDS);
    for (size_t i = 0; i < FIELDS; i++)
        entries[i].key = cel_string(str_from(fields[i].name));
    entries[FIELD_DRIVER].value = cel_string(device->driver);
    entries[FIELD_MULTIPLE].value = cel_bool(device->allow_multiple_allocations);
    entries[FIELD_ATTRIBUTES].value = domains_of(device->attributes, device->attributes_len, arena);
    entries[FIELD_CAPACITY].value = domains_of(device->capacity, device->capacity_len, arena);
    return map_of(entries, FIELDS, false, arena);
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
        [CEL_TYPE] = "type conversion not supported for 'type'",
        [CEL_URL] = "type conversion error from 'URL' to 'bool'",
        [CEL_IP] = "type conversion error from 'IP' to 'bool'",
        [CEL_CIDR] = "type conversion error from 'CIDR' to 'bool'",
        [CEL_FORMAT] = "type conversion error from 'Format' to 'bool'",
    };
    return texts[kind] ? texts[kind] : "type conversion error";
}

int cel_device_matches(const struct cel_program *program, const struct cel_value *device,
                       struct arena *scratch, bool *ret, struct error *err)
{
    struct cel_value value;
    int r = cel_eval(program, device, scratch, &value, NULL, err);
    if (r < 0)
        return r;
    enum cel_kind kind = value.kind;
    /* As the reference converts a result: an optional is what it holds. */
    while (value.kind == CEL_OPTIONAL && value.optional)
        value = *value.optional;
    if (value.kind != CEL_BOOL)
        return error_set(err, -EINVAL, "CEL result of type %s could not be converted to bool: %s",
                         cel_kind_name(kind), no_bool(value.kind));
    *ret = value.boolean;
    return 0;
}
