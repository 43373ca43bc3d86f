/* outcome.c: what a search picked, as the status of a claim says it: devices, their configuration, and the nodes that
 * they can be used from. */
#include <stdio.h>

#include "api/labels.h"
#include "plugins/dynamic_resources/search.h"

#define FIELD_NODE_NAME "metadata.name"

/* "request", or "request/subrequest". */
static struct str request_name(const struct wanted_request *request, const struct alternative *alternative,
                               struct arena *arena)
{
    if (!alternative->has_parent)
        return alternative->name;
    return arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(request->api->name), STR_ARG(alternative->name));
}

/* ---- devices ---- */
/* A name for a share of a device, of the form of a UUID. It is derived from the device and the claim, so that the same
 * decision gives the same name, and no other share has it. */
static struct str share_id(const struct resource_claim *claim, const struct picked *picked, uint32_t place,
                           struct arena *arena)
{
    const struct candidate *candidate = picked->candidate;
    struct str parts[] = { claim->meta.uid,         claim->meta.namespace, claim->meta.name,
                           candidate->pool->driver, candidate->pool->name, candidate->device->name };
    uint64_t high = place, low = ~(uint64_t)place;
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        high = hash_bytes(parts[i].ptr, parts[i].len, high + i);
        low = hash_bytes(parts[i].ptr, parts[i].len, low ^ high);
    }
    return arena_printf(arena, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
                        (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
                        (unsigned)(low >> 48 & 0x3fff) | 0x8000, (unsigned long long)low & 0xffffffffffff);
}

static void describe_share(const struct search *search, const struct resource_claim *claim,
                           const struct picked *picked, uint32_t place, struct device_result *ret)
{
    struct arena *arena = search->input->arena;
    const struct device *device = picked->candidate->device;
    ret->share_id = share_id(claim, picked, place, arena);
    ret->consumed_capacity.items = arena_array(arena, struct resource, device->capacity.len);
    list_for(&device->capacity, capacity)
        ret->consumed_capacity.items[ret->consumed_capacity.len++] =
            (struct resource){ capacity->key,
                               capacity_consumed(search->input->rules, picked->alternative->api->capacity,
                                                 capacity) };
}

static void describe_device(const struct search *search, const struct resource_claim *claim,
                            const struct picked *picked, uint32_t place, struct device_result *ret)
{
    const struct allocation_rules *rules = search->input->rules;
    const struct candidate *candidate = picked->candidate;
    const struct device_subrequest *request = picked->alternative->api;
    *ret = (struct device_result){
        .request = request_name(picked->request, picked->alternative, search->input->arena),
        .driver = candidate->pool->driver,
        .pool = candidate->pool->name,
        .device = candidate->device->name,
        .admin_access = { request->admin_access.value, request->admin_access.value },
    };
    if (rules->preparation) {
        ret->binding_conditions = candidate->device->binding_conditions;
        ret->binding_failure_conditions = candidate->device->binding_failure_conditions;
    }
    if (rules->optional_operations)
        ret->skip_node_operations = candidate->slice->skip_node_operations;
    ret->tolerations.items = request->tolerations.items;
    ret->tolerations.len = request->tolerations.len;
    if (is_shareable(search, candidate))
        describe_share(search, claim, picked, place, ret);
}

/* ---- configuration ---- */
static void add_config(struct allocation_result *ret, struct str source, struct str_list requests,
                       struct device_config config)
{
    ret->devices.config.items[ret->devices.config.len++] =
        (struct allocated_config){ .source = source, .requests = requests, .config = config };
}

/* The requests that were answered with this class so far: each class is listed once, with all of them. */
static bool add_to_listed(struct allocation_result *ret, const struct wanted_claim *claim, uint32_t number,
                          const uint32_t *starts, struct str name)
{
    const struct wanted_request *requests = claim->requests;
    const struct device_class *class = requests[number].alternatives[requests[number].chosen].class;
    for (uint32_t i = 0; i < number; i++) {
        if (requests[i].alternatives[requests[i].chosen].class != class)
            continue;
        for (uint32_t c = 0; c < class->config.len; c++) {
            struct str_list *names = &ret->devices.config.items[starts[i] + c].requests;
            names->items[names->len++] = name;
        }
        return true;
    }
    return false;
}

static void add_class_configs(struct search *search, const struct wanted_claim *claim,
                              struct allocation_result *ret)
{
    struct arena *arena = search->input->arena;
    uint32_t len = claim->api->spec.requests.len;
    uint32_t *starts = arena_array(search->input->scratch, uint32_t, len);
    for (uint32_t i = 0; i < len; i++) {
        const struct wanted_request *request = &claim->requests[i];
        const struct alternative *alternative = &request->alternatives[request->chosen];
        struct str name = request_name(request, alternative, arena);
        starts[i] = ret->devices.config.len;
        if (add_to_listed(ret, claim, i, starts, name))
            continue;
        list_for(&alternative->class->config, config) {
            struct str_list names = { arena_array(arena, struct str, len), 1 };
            names.items[0] = name;
            add_config(ret, STR("FromClass"), names, *config);
        }
    }
}

/* Does the list have the request, or the alternative of it that was chosen? */
static bool names_request(const struct str_list *names, const struct wanted_request *request,
                          struct arena *scratch)
{
    const struct alternative *alternative = &request->alternatives[request->chosen];
    return str_list_has(names, request->api->name) ||
           (alternative->has_parent && str_list_has(names, request_name(request, alternative, scratch)));
}

/* A configuration that names several requests is listed once, or for each of them. */
static void add_claim_configs(struct search *search, const struct wanted_claim *claim,
                              struct allocation_result *ret)
{
    bool once = search->input->rules->release->device_configs_are_listed_once;
    list_for(&claim->api->spec.config, config) {
        bool listed = !config->requests.len;
        if (listed)
            add_config(ret, STR("FromClaim"), config->requests, config->config);
        for (uint32_t i = 0; i < claim->api->spec.requests.len && config->requests.len; i++) {
            if ((once && listed) ||
                !names_request(&config->requests, &claim->requests[i], search->input->scratch))
                continue;
            add_config(ret, STR("FromClaim"), config->requests, config->config);
            listed = true;
        }
    }
}

/* No names mean all requests. */
static void shorten_configs(struct search *search, const struct wanted_claim *claim,
                            struct allocation_result *ret)
{
    for (uint32_t i = 0; i < ret->devices.config.len; i++) {
        struct str_list *names = &ret->devices.config.items[i].requests;
        bool all = true;
        for (uint32_t k = 0; k < claim->api->spec.requests.len && all; k++)
            all = names_request(names, &claim->requests[k], search->input->scratch);
        if (all)
            *names = (struct str_list){ 0 };
    }
}

static size_t configs_most(const struct wanted_claim *claim)
{
    size_t len = 0;
    for (uint32_t i = 0; i < claim->api->spec.requests.len; i++) {
        const struct wanted_request *request = &claim->requests[i];
        len += request->alternatives[request->chosen].class->config.len + claim->api->spec.config.len;
    }
    return len + claim->api->spec.config.len;
}

/* ---- nodes ---- */
/* Adds what is not there yet. */
static void add_requirements(struct selector_requirement **items, uint32_t *len,
                             const struct selector_requirement *from, uint32_t more, struct arena *arena)
{
    *items = arena_copy(arena, struct selector_requirement, *items, *len, (size_t)*len + more);
    for (uint32_t i = 0; i < more; i++) {
        bool known = false;
        for (uint32_t k = 0; k < *len && !known; k++)
            known = str_eq((*items)[k].key, from[i].key) && str_eq((*items)[k].operator, from[i].operator) &&
                    str_list_same_set(&(*items)[k].values, &from[i].values);
        if (!known)
            (*items)[(*len)++] = from[i];
    }
}

static struct node_selector_term only_node(struct str name, struct arena *arena)
{
    struct selector_requirement *field = arena_new(arena, struct selector_requirement);
    struct str *value = arena_new(arena, struct str);
    *value = name;
    *field = (struct selector_requirement){
        .key = STR(FIELD_NODE_NAME), .operator= STR("In"), .op = OP_IN, .values = { value, 1 }
    };
    return (struct node_selector_term){ .match_fields = { field, 1 } };
}

/* Where the devices can be used: on this node, where all of their selectors say, or anywhere (NULL). */
static bool describe_nodes(struct search *search, const struct wanted_claim *claim,
                           struct node_selector **ret)
{
    struct arena *arena = search->input->arena;
    struct node_selector_term *all = arena_new(arena, struct node_selector_term);
    *ret = arena_new(arena, struct node_selector);
    (*ret)->terms.items = all;
    (*ret)->terms.len = 1;
    for (uint32_t i = 0; i < claim->picked_len; i++) {
        const struct device *device = claim->picked[i].candidate->device;
        const struct resource_slice *slice = claim->picked[i].candidate->slice;
        bool per_device = slice->per_device_node_selection.value;
        struct str node_name = per_device ? device->node_name : slice->node_name;
        const struct node_selector *selector = per_device ? device->node_selector : slice->node_selector;
        if (node_name.ptr || (!search->input->rules->oldest && device->binds_to_node.value)) {
            *all = only_node(search->input->node->meta.name, arena);
            return true;
        }
        if (!selector || !selector->terms.len)
            continue;
        if (selector->terms.len > 1)
            return search_fails(search,
                                "create NodeSelector for claim " STR_FMT
                                ": unsupported ResourceSlice.NodeSelector with %u terms",
                                STR_ARG(claim->api->meta.name), selector->terms.len);
        const struct node_selector_term *term = &selector->terms.items[0];
        add_requirements(&all->match_fields.items, &all->match_fields.len, term->match_fields.items,
                         term->match_fields.len, arena);
        add_requirements(&all->match_expressions.items, &all->match_expressions.len,
                         term->match_expressions.items, term->match_expressions.len, arena);
    }
    if (!all->match_fields.len && !all->match_expressions.len)
        *ret = NULL;
    return true;
}

bool search_describe(struct search *search, const struct wanted_claim *claim, struct allocation_result *ret)
{
    struct arena *arena = search->input->arena;
    *ret = (struct allocation_result){ 0 };
    ret->devices.results.items = arena_array(arena, struct device_result, claim->picked_len);
    ret->devices.results.len = claim->picked_len;
    for (uint32_t i = 0; i < claim->picked_len; i++)
        describe_device(search, claim->api, &claim->picked[i], i, &ret->devices.results.items[i]);
    ret->devices.config.items = arena_array(arena, struct allocated_config, configs_most(claim));
    add_class_configs(search, claim, ret);
    add_claim_configs(search, claim, ret);
    if (search->input->rules->release->device_configs_are_listed_once)
        shorten_configs(search, claim, ret);
    return describe_nodes(search, claim, &ret->node_selector);
}
