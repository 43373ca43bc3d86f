/* selectors.c: compiled selectors, and devices in front of them; see selectors.h. */
#include "plugins/dynamic_resources/selectors.h"

#include "cel/library/device.h"

enum { PROGRAMS_MANY = 256 };

/* A text that does not compile is remembered as well. */
struct selector_program {
    struct str text;
    struct cel_program *program;
    struct str problem;
};

void selectors_release(struct selectors *selectors)
{
    strmap_release(&selectors->programs);
    arena_release(&selectors->arena);
    arena_release(&selectors->scratch);
}

void selectors_trim(struct selectors *selectors)
{
    if (selectors->programs.len >= PROGRAMS_MANY)
        selectors_release(selectors);
}

static const struct selector_program *program_of(struct selectors *selectors, struct str text)
{
    struct selector_program *found = strmap_get(&selectors->programs, text);
    if (found)
        return found;
    struct error err = { 0 };
    found = arena_new(&selectors->arena, struct selector_program);
    found->text = arena_str(&selectors->arena, text);
    if (cel_compile(text, NULL, &selectors->arena, &found->program, &err) < 0)
        found->problem = arena_str(&selectors->arena, str_from(err.text));
    strmap_put(&selectors->programs, found->text, found);
    return found;
}

static bool attribute_value(const struct device_attribute *attribute, struct arena *arena,
                            struct cel_value *ret, struct str *ret_why)
{
    struct error err = { 0 };
    if (attribute->int_value.set) {
        *ret = cel_int(attribute->int_value.value);
    } else if (attribute->bool_value.set) {
        *ret = cel_bool(attribute->bool_value.value);
    } else if (attribute->string_value.ptr) {
        *ret = cel_string(attribute->string_value);
    } else if (!attribute->version_value.ptr) {
        *ret_why = arena_printf(arena, "attribute " STR_FMT ": unsupported attribute value",
                                STR_ARG(attribute->key));
        return false;
    } else if (cel_semver(attribute->version_value, arena, ret, &err) < 0) {
        *ret_why = arena_printf(arena, "attribute " STR_FMT ": parse semantic version: %s",
                                STR_ARG(attribute->key), err.text);
        return false;
    }
    return true;
}

const struct cel_value *selectors_device(const struct device *device, struct str driver, struct arena *arena,
                                         struct str *ret_why)
{
    struct cel_device_entry *attributes = arena_array(arena, struct cel_device_entry, device->attributes.len);
    struct cel_device_entry *capacity = arena_array(arena, struct cel_device_entry, device->capacity.len);
    struct cel_device seen = { .driver = driver,
                               .allow_multiple_allocations = device->allow_multiple_allocations.value,
                               .attributes = attributes,
                               .capacity = capacity };
    list_for(&device->attributes, attribute) {
        struct cel_device_entry *entry = &attributes[seen.attributes_len++];
        cel_device_name(attribute->key, driver, &entry->domain, &entry->id);
        if (!attribute_value(attribute, arena, &entry->value, ret_why))
            return NULL;
    }
    list_for(&device->capacity, amount) {
        struct cel_device_entry *entry = &capacity[seen.capacity_len++];
        cel_device_name(amount->key, driver, &entry->domain, &entry->id);
        entry->value = cel_quantity(amount->value ? *amount->value : (struct quantity){ 0 });
    }
    struct cel_value *value = arena_new(arena, struct cel_value);
    *value = cel_device_value(&seen, arena);
    return value;
}

int selectors_match(struct selectors *selectors, struct str expression, const struct cel_value *device,
                    struct arena *arena, struct str *ret_why)
{
    const struct selector_program *program = program_of(selectors, expression);
    if (!program->program) {
        *ret_why = arena_printf(arena, "CEL compile error: " STR_FMT, STR_ARG(program->problem));
        return -1;
    }
    bool matches = false;
    struct error err = { 0 };
    int r = cel_device_matches(program->program, device, &selectors->scratch, &matches, &err);
    arena_reset(&selectors->scratch);
    if (r == 0)
        return matches;
    *ret_why = arena_printf(arena, "CEL runtime error: %s", err.text);
    return -1;
}
