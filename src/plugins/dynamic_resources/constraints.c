/* constraints.c: matchAttribute and distinctAttribute; see search.h. */
#include "plugins/dynamic_resources/search.h"

bool constraint_init(struct constraint *constraint, const struct device_constraint *api, uint32_t requests,
                     struct arena *arena)
{
    *constraint = (struct constraint){ .api = api, .requests = requests };
    if (api->match_attribute.ptr)
        return true;
    constraint->distinct = arena_array(arena, const struct device_attribute *, requests);
    return api->distinct_attribute.ptr;
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

static bool is_distinct(const struct constraint *constraint, const struct device_attribute *attribute)
{
    for (uint32_t i = 0; i < constraint->requests; i++) {
        bool known;
        if (constraint->distinct[i] && (is_same(attribute, constraint->distinct[i], &known) || !known))
            return false;
    }
    return true;
}

bool constraint_add(struct constraint *constraint, const struct requester *requester,
                    const struct candidate *candidate)
{
    bool known, matching = !constraint->distinct;
    if (!concerns(constraint, requester))
        return true;
    const struct device_attribute *attribute =
        look_up(candidate, matching ? constraint->api->match_attribute : constraint->api->distinct_attribute);
    if (!attribute)
        return false;
    if (constraint->devices && matching && !is_same(attribute, constraint->first, &known))
        return false;
    if (constraint->devices && !matching && !is_distinct(constraint, attribute))
        return false;
    if (matching && !constraint->devices)
        constraint->first = attribute;
    /* Of several devices of a request the reference remembers only the last one, and none after one was put back. */
    if (!matching)
        constraint->distinct[requester->request] = attribute;
    constraint->devices++;
    return true;
}

void constraint_remove(struct constraint *constraint, const struct requester *requester)
{
    if (!concerns(constraint, requester))
        return;
    if (constraint->distinct)
        constraint->distinct[requester->request] = NULL;
    constraint->devices--;
}
