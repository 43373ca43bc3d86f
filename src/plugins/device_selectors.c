/* device_selectors.c: compiled selectors, and devices in front of them; see device_selectors.h. */
#include "plugins/device_selectors.h"

#include "cel/library/device.h"
#include "config/features.h"

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
    strmap_release(&selectors->derived);
    arena_release(&selectors->arena);
    arena_release(&selectors->scratch);
}

void selectors_prepare(struct selectors *selectors, const struct features *features)
{
    selectors->rules = features->release->cel_is_0_29 ? CEL_RULES_1_37 : CEL_RULES_1_36;
    selectors->lists =
        features->release->selectors_see_lists || features->enabled[FEATURE_DRAListTypeAttributes];
    if (features->enabled[FEATURE_DRAListTypeAttributes])
        selectors->rules |= CEL_DYN_ATTRIBUTES;
    if (selectors->programs.len + selectors->derived.len >= PROGRAMS_MANY)
        selectors_release(selectors);
}

static const struct selector_program *program_of(struct selectors *selectors, struct strmap *programs,
                                                 struct str text)
{
    struct selector_program *found = strmap_get(programs, text);
    if (found)
        return found;
    struct error err = { 0 };
    const struct cel_options options = { .rules = selectors->rules,
                                         .attribute_result = programs == &selectors->derived };
    found = arena_new(&selectors->arena, struct selector_program);
    found->text = arena_str(&selectors->arena, text);
    if (cel_compile(text, &options, &selectors->arena, &found->program, &err) < 0)
        found->problem = arena_str(&selectors->arena, str_from(err.text));
    strmap_put(programs, found->text, found);
    return found;
}

static bool version_list(const struct device_attribute *attribute, struct arena *arena, struct cel_value *ret,
                         struct str *ret_why)
{
    const struct str_list *versions = &attribute->version_values;
    struct cel_value *items = arena_array(arena, struct cel_value, versions->len);
    for (uint32_t i = 0; i < versions->len; i++) {
        struct error err = { 0 };
        if (cel_semver(versions->items[i], arena, &items[i], &err) < 0) {
            *ret_why = arena_printf(arena, "attribute " STR_FMT ": parse semantic version: %s",
                                    STR_ARG(attribute->key), err.text);
            return false;
        }
    }
    *ret = cel_list(items, versions->len, arena);
    return true;
}

static bool is_list(const struct device_attribute *attribute)
{
    return attribute->int_values.items || attribute->bool_values.items || attribute->string_values.items ||
           attribute->version_values.items;
}

static bool attribute_list(const struct device_attribute *attribute, struct arena *arena,
                           struct cel_value *ret, struct str *ret_why)
{
    const struct int64_list *ints = &attribute->int_values;
    const struct bool_list *bools = &attribute->bool_values;
    const struct str_list *strings = &attribute->string_values;
    uint32_t len = ints->items ? ints->len : bools->items ? bools->len : strings->len;
    struct cel_value *items = arena_array(arena, struct cel_value, len);
    if (!ints->items && !bools->items && !strings->items)
        return version_list(attribute, arena, ret, ret_why);
    for (uint32_t i = 0; i < len; i++)
        items[i] = ints->items    ? cel_int(ints->items[i])
                   : bools->items ? cel_bool(bools->items[i])
                                  : cel_string(strings->items[i]);
    *ret = cel_list(items, len, arena);
    return true;
}

static bool attribute_value(const struct device_attribute *attribute, bool lists, struct arena *arena,
                            struct cel_value *ret, struct str *ret_why)
{
    struct error err = { 0 };
    if (lists && is_list(attribute))
        return attribute_list(attribute, arena, ret, ret_why);
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

const struct cel_value *selectors_device(const struct device *device, struct str driver,
                                         struct device_sight sees, struct arena *arena, struct str *ret_why)
{
    struct cel_device_entry *attributes = arena_array(arena, struct cel_device_entry, device->attributes.len);
    struct cel_device_entry *capacity = arena_array(arena, struct cel_device_entry, device->capacity.len);
    struct cel_device seen = { .driver = driver,
                               .allow_multiple_allocations =
                                   sees.multiple_allocations && device->allow_multiple_allocations.value,
                               .attributes = attributes,
                               .capacity = capacity };
    list_for(&device->attributes, attribute) {
        struct cel_device_entry *entry = &attributes[seen.attributes_len++];
        cel_device_name(attribute->key, driver, &entry->domain, &entry->id);
        if (!attribute_value(attribute, sees.lists, arena, &entry->value, ret_why))
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

enum selector_result selectors_match(struct selectors *selectors, struct str expression,
                                     const struct cel_value *device, struct arena *arena, struct str *ret_why)
{
    const struct selector_program *program = program_of(selectors, &selectors->programs, expression);
    if (!program->program) {
        *ret_why = arena_printf(arena, "CEL compile error: " STR_FMT, STR_ARG(program->problem));
        return SELECTOR_INVALID;
    }
    bool matches = false;
    struct error err = { 0 };
    int r = cel_device_matches(program->program, device, &selectors->scratch, &matches, &err);
    arena_reset(&selectors->scratch);
    if (r == 0)
        return matches ? SELECTOR_YES : SELECTOR_NO;
    *ret_why = arena_printf(arena, "CEL runtime error: %s", err.text);
    return SELECTOR_FAILED;
}

/* ---- derived attributes ---- */
static const char *go_type(enum cel_kind kind)
{
    return kind == CEL_BOOL     ? "bool"
           : kind == CEL_INT    ? "int64"
           : kind == CEL_UINT   ? "uint64"
           : kind == CEL_DOUBLE ? "float64"
           : kind == CEL_STRING ? "string"
           : kind == CEL_SEMVER ? "semver.Version"
                                : cel_kind_name(kind);
}

static bool is_attribute(enum cel_kind kind)
{
    return kind == CEL_BOOL || kind == CEL_INT || kind == CEL_STRING || kind == CEL_SEMVER;
}

static struct str text_of(const struct cel_value *value, struct arena *arena)
{
    return arena_str(arena, value->kind == CEL_SEMVER ? cel_semver_text(value->semver) : value->text);
}

static bool take_items(const struct cel_list *list, struct arena *arena, struct device_attribute *ret,
                       struct str *ret_why)
{
    uint64_t steps = 0;
    enum cel_kind kind = list->len ? cel_list_at(list, 0, &steps).kind : CEL_STRING;
    if (!is_attribute(kind)) {
        *ret_why = arena_printf(arena, "unsupported list element type: %s", go_type(kind));
        return false;
    }
    uint32_t len = (uint32_t)list->len;
    ret->int_values.items = kind == CEL_INT ? arena_array(arena, int64_t, len) : NULL;
    ret->bool_values.items = kind == CEL_BOOL ? arena_array(arena, bool, len) : NULL;
    struct str_list *texts = kind == CEL_SEMVER ? &ret->version_values : &ret->string_values;
    if (kind == CEL_STRING || kind == CEL_SEMVER)
        texts->items = arena_array(arena, struct str, len);
    for (uint32_t i = 0; i < len; i++) {
        struct cel_value item = cel_list_at(list, i, &steps);
        if (item.kind != kind) {
            *ret_why = arena_printf(arena, "expected list element at index %u to be %s, got %s", i,
                                    kind == CEL_INT      ? "int"
                                    : kind == CEL_SEMVER ? "semver"
                                                         : go_type(kind),
                                    go_type(item.kind));
            return false;
        }
        if (kind == CEL_INT)
            ret->int_values.items[ret->int_values.len++] = item.integer;
        else if (kind == CEL_BOOL)
            ret->bool_values.items[ret->bool_values.len++] = item.boolean;
        else
            texts->items[texts->len++] = text_of(&item, arena);
    }
    return true;
}

static bool take_attribute(const struct cel_value *value, struct arena *arena, struct device_attribute *ret,
                           struct str *ret_why)
{
    *ret = (struct device_attribute){ 0 };
    if (value->kind == CEL_LIST)
        return take_items(value->list, arena, ret, ret_why);
    if (!is_attribute(value->kind)) {
        *ret_why = arena_printf(arena, "unsupported CEL return type: %s", go_type(value->kind));
        return false;
    }
    if (value->kind == CEL_BOOL)
        ret->bool_value = (struct opt_bool){ true, value->boolean };
    else if (value->kind == CEL_INT)
        ret->int_value = (struct opt_int64){ true, value->integer };
    else if (value->kind == CEL_STRING)
        ret->string_value = text_of(value, arena);
    else
        ret->version_value = text_of(value, arena);
    return true;
}

int selectors_derive(struct selectors *selectors, struct str expression, const struct cel_value *device,
                     struct arena *arena, struct device_attribute *ret, bool *ret_compiled,
                     struct str *ret_why)
{
    const struct selector_program *program = program_of(selectors, &selectors->derived, expression);
    struct cel_value value;
    struct error err = { 0 };
    *ret_compiled = program->program;
    *ret_why = program->problem;
    if (!program->program)
        return -1;
    int r = cel_eval(program->program, device, &selectors->scratch, &value, NULL, &err);
    if (r < 0)
        *ret_why = arena_printf(arena, "%s", err.text);
    else if (!take_attribute(&value, arena, ret, ret_why))
        r = -1;
    arena_reset(&selectors->scratch);
    return r < 0 ? -1 : 0;
}
