/* constraints.c: matchAttribute and distinctAttribute; see search.h. */
#include "plugins/dynamic_resources/search.h"

bool constraint_init(struct constraint *constraint, const struct device_constraint *api, uint32_t requests,
                     const struct allocation_rules *rules, struct arena *arena)
{
    bool by_request = !rules->release->distinct_values_are_kept;
    *constraint = (struct constraint){ .api = api,
                                       .places = by_request ? requests : RESULTS_MAX,
                                       .by_request = by_request };
    constraint->forgets = !rules->release->common_values_come_back;
    if (rules->lists)
        constraint->common = arena_array(arena, uint64_t, RESULTS_MAX);
    if (api->match_attribute.ptr)
        return true;
    constraint->distinct = arena_array(arena, const struct device_attribute *, constraint->places);
    return api->distinct_attribute.ptr && !rules->oldest;
}

/* Is it "request/subrequest"? */
static bool names_subrequest(struct str text, const struct requester *requester)
{
    return requester->subrequest.len && text.len == requester->name.len + 1 + requester->subrequest.len &&
           text.ptr[requester->name.len] == '/' && str_starts_with(text, requester->name) &&
           str_ends_with(text, requester->subrequest);
}

/* Without a list of requests it is for all of them. */
static bool concerns(const struct constraint *constraint, const struct requester *requester)
{
    list_for(&constraint->api->requests, name)
        if (str_eq(*name, requester->name) || names_subrequest(*name, requester))
            return true;
    return !constraint->api->requests.len;
}

static const struct device_attribute *find_attribute(const struct device *device, struct str key)
{
    list_for(&device->attributes, attribute)
        if (str_eq(attribute->key, key))
            return attribute;
    return NULL;
}

/* By its full name; without a domain it is in that of the driver. */
static const struct device_attribute *look_up(const struct candidate *candidate, struct str name)
{
    const struct device_attribute *found = find_attribute(candidate->device, name);
    ptrdiff_t slash = str_find(name, '/');
    if (found || slash < 0 || !str_eq(str_slice(name, 0, (size_t)slash), candidate->pool->driver))
        return found;
    return find_attribute(candidate->device, str_slice(name, (size_t)slash + 1, name.len));
}

/* Of the same kind, with the same value? *ret_known: is it of a known kind at all? */
static bool is_same(const struct device_attribute *a, const struct device_attribute *b, bool *ret_known)
{
    *ret_known = true;
    if (a->string_value.ptr)
        return b->string_value.ptr && str_eq(a->string_value, b->string_value);
    if (a->int_value.set)
        return b->int_value.set && a->int_value.value == b->int_value.value;
    if (a->bool_value.set)
        return b->bool_value.set && a->bool_value.value == b->bool_value.value;
    if (a->version_value.ptr)
        return b->version_value.ptr && str_eq(a->version_value, b->version_value);
    *ret_known = false;
    return false;
}

/* ---- attributes as sets ---- */
enum { VALUES_MAX = 64 }; /* an attribute has fewer: the API server sees to that */

/* The values of an attribute; a single one is a set as well. */
struct values {
    enum { VALUES_UNKNOWN, VALUES_INT, VALUES_BOOL, VALUES_STRING, VALUES_VERSION } kind;
    uint32_t len;
    const int64_t *ints;
    const bool *bools;
    const struct str *texts;
};

static struct values values_of(const struct device_attribute *attribute)
{
    const struct device_attribute *a = attribute;
    if (a->int_values.len)
        return (struct values){ VALUES_INT, a->int_values.len, .ints = a->int_values.items };
    if (a->bool_values.len)
        return (struct values){ VALUES_BOOL, a->bool_values.len, .bools = a->bool_values.items };
    if (a->string_values.len)
        return (struct values){ VALUES_STRING, a->string_values.len, .texts = a->string_values.items };
    if (a->version_values.len)
        return (struct values){ VALUES_VERSION, a->version_values.len, .texts = a->version_values.items };
    if (a->int_value.set)
        return (struct values){ VALUES_INT, 1, .ints = &a->int_value.value };
    if (a->bool_value.set)
        return (struct values){ VALUES_BOOL, 1, .bools = &a->bool_value.value };
    if (a->string_value.ptr)
        return (struct values){ VALUES_STRING, 1, .texts = &a->string_value };
    return (struct values){ a->version_value.ptr ? VALUES_VERSION : VALUES_UNKNOWN,
                            a->version_value.ptr != NULL, .texts = &a->version_value };
}

/* Those of a that b has, too. */
static uint64_t in_common(const struct device_attribute *a, const struct device_attribute *b)
{
    struct values x = values_of(a), y = values_of(b);
    uint64_t found = 0;
    for (uint32_t i = 0; i < MIN(x.len, (uint32_t)VALUES_MAX) && x.kind == y.kind; i++)
        for (uint32_t k = 0; k < y.len; k++) {
            bool same = x.kind == VALUES_INT    ? x.ints[i] == y.ints[k]
                        : x.kind == VALUES_BOOL ? x.bools[i] == y.bools[k]
                                                : str_eq(x.texts[i], y.texts[k]);
            found |= same ? (uint64_t)1 << i : 0;
        }
    return found;
}

/* Do all devices still have a value in common? */
static bool add_to_common(struct constraint *constraint, const struct device_attribute *attribute)
{
    uint32_t devices = constraint->devices;
    uint64_t common = in_common(devices ? constraint->first : attribute, attribute);
    if (devices)
        common &= constraint->common[devices - 1];
    if (common)
        constraint->common[devices] = common;
    return common;
}

static bool is_distinct_set(const struct constraint *constraint, const struct device_attribute *attribute)
{
    if (values_of(attribute).kind == VALUES_UNKNOWN)
        return false;
    for (uint32_t i = 0; i < constraint->places; i++)
        if (constraint->distinct[i] && in_common(constraint->distinct[i], attribute))
            return false;
    return true;
}

static bool is_distinct(const struct constraint *constraint, const struct device_attribute *attribute)
{
    if (constraint->common)
        return is_distinct_set(constraint, attribute);
    for (uint32_t i = 0; i < constraint->places; i++) {
        bool known;
        if (constraint->distinct[i] && (is_same(attribute, constraint->distinct[i], &known) || !known))
            return false;
    }
    return true;
}

/* Does the attribute let the device in? */
static bool admits(struct constraint *constraint, const struct device_attribute *attribute)
{
    bool known, matching = !constraint->distinct;
    if (matching && constraint->common)
        return add_to_common(constraint, attribute);
    if (matching)
        return !constraint->devices || is_same(attribute, constraint->first, &known);
    /* By request, the first device is taken unseen. */
    return (constraint->by_request && !constraint->devices) || is_distinct(constraint, attribute);
}

/* ---- attributes that requests give to devices ---- */
/* What an expression made of a device. */
struct derived_value {
    struct str expression;
    struct device_attribute value;
    struct derived_value *next;
};

static const struct device_attribute *derive(struct search *search, const struct derived_attribute *wanted,
                                             struct candidate *candidate)
{
    struct arena *scratch = search->input->scratch;
    for (const struct derived_value *known = candidate->derived; known; known = known->next)
        if (str_eq(known->expression, wanted->expression))
            return &known->value;
    struct derived_value *made = arena_new(scratch, struct derived_value);
    struct str why;
    bool compiled = true;
    const struct cel_value *seen = search_sight(search, candidate, &why);
    if (!seen || selectors_derive(search->input->selectors, wanted->expression, seen, scratch, &made->value,
                                  &compiled, &why) < 0) {
        if (!compiled)
            search_fails(search, "compile derived attribute " STR_FMT " failed: " STR_FMT,
                         STR_ARG(wanted->name), STR_ARG(why));
        else
            search_fails(search,
                         "evaluate derived attribute " STR_FMT " on device " STR_FMT "/" STR_FMT "/" STR_FMT
                         " failed: " STR_FMT,
                         STR_ARG(wanted->name), STR_ARG(candidate->pool->driver),
                         STR_ARG(candidate->pool->name), STR_ARG(candidate->device->name), STR_ARG(why));
        return NULL;
    }
    made->expression = wanted->expression;
    made->next = candidate->derived;
    candidate->derived = made;
    return &made->value;
}

/* Of several of a name the last one counts. */
static const struct derived_attribute *find_derived(const struct search *search,
                                                    const struct requester *requester, struct str name)
{
    const struct derived_attribute *found = NULL;
    if (search->input->rules->derived_attributes)
        list_for(&requester->api->derived_attributes, attribute)
            if (str_eq(attribute->name, name))
                found = attribute;
    return found;
}

int constraint_add(struct search *search, struct constraint *constraint, const struct requester *requester,
                   struct candidate *candidate)
{
    bool matching = !constraint->distinct;
    struct str name = matching ? constraint->api->match_attribute : constraint->api->distinct_attribute;
    if (!concerns(constraint, requester))
        return 1;
    const struct derived_attribute *derived = find_derived(search, requester, name);
    const struct device_attribute *attribute =
        derived ? derive(search, derived, candidate) : look_up(candidate, name);
    if (!attribute)
        return derived ? -1 : 0;
    if (!admits(constraint, attribute))
        return 0;
    if (matching && !constraint->devices)
        constraint->first = attribute;
    /* By request: of several devices of it only the last one is known, and none after one was put back. */
    if (!matching)
        constraint->distinct[constraint->by_request ? requester->request : constraint->devices] = attribute;
    constraint->devices++;
    return 1;
}

void constraint_remove(struct constraint *constraint, const struct requester *requester)
{
    if (!concerns(constraint, requester))
        return;
    constraint->devices--;
    if (constraint->common && constraint->forgets && constraint->devices)
        constraint->common[constraint->devices - 1] = constraint->common[constraint->devices];
    if (constraint->distinct)
        constraint->distinct[constraint->by_request ? requester->request : constraint->devices] = NULL;
}
