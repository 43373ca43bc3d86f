/* request.c: what claims request, checked before the search, and which devices match; see search.h. */
#include <string.h>

#include "plugins/dynamic_resources/search.h"

#define MODE_ALL "All"
#define MODE_EXACT_COUNT "ExactCount"
#define NO_SUCH_KEY "no such key:"
#define NO_SUCH_KEY_HINT \
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() " \
    "for " \
    "optional fields"

/* ---- matching ---- */
const struct cel_value *search_sight(struct search *search, struct candidate *candidate, struct str *ret_why)
{
    const struct allocation_rules *rules = search->input->rules;
    if (!candidate->seen)
        candidate->seen =
            selectors_device(candidate->device, candidate->pool->driver,
                             (struct device_sight){ search->input->selectors->lists, !rules->oldest },
                             search->input->scratch, ret_why);
    return candidate->seen;
}

/* Which selector of which class or claim failed, and how. */
static void selector_fails(struct search *search, const struct wanted_claim *claim,
                           const struct device_class *class, uint32_t number,
                           const struct candidate *candidate, enum selector_result result, struct str why)
{
    struct arena *scratch = search->input->scratch;
    struct str on = STR(""), hint = STR("");
    if (search->input->rules->release->selector_errors_name_the_device && result == SELECTOR_FAILED) {
        on = arena_printf(scratch, " on device " STR_FMT "/" STR_FMT "/" STR_FMT,
                          STR_ARG(candidate->pool->driver), STR_ARG(candidate->pool->name),
                          STR_ARG(candidate->device->name));
        if (memmem(why.ptr, why.len, NO_SUCH_KEY, sizeof(NO_SUCH_KEY) - 1))
            hint = STR(NO_SUCH_KEY_HINT);
    }
    struct str owner = class ? arena_printf(scratch, "class " STR_FMT, STR_ARG(class->meta.name))
                             : arena_printf(scratch, "claim " META_FMT, META_ARG(&claim->api->meta));
    search_fails(search, STR_FMT ": selector #%u" STR_FMT ": " STR_FMT STR_FMT, STR_ARG(owner), number,
                 STR_ARG(on), STR_ARG(why), STR_ARG(hint));
}

/* All selectors must match. `class`: the class that has them; NULL: the request has them. */
static int selectors_all_match(struct search *search, const struct wanted_claim *claim,
                               const struct device_class *class, const struct device_selector *selectors,
                               uint32_t len, struct candidate *candidate)
{
    struct arena *scratch = search->input->scratch;
    struct str why = { 0 };
    for (uint32_t i = 0; i < len; i++) {
        if (!search_spend(search, EVALUATION_NS))
            return -1;
        /* A selector of an unknown kind has no expression. */
        struct str expression = selectors[i].cel ? selectors[i].cel->expression : STR("");
        enum selector_result r = SELECTOR_FAILED;
        if (search_sight(search, candidate, &why))
            r = selectors_match(search->input->selectors, expression, candidate->seen, scratch, &why);
        else
            why = arena_printf(scratch, "CEL runtime error: " STR_FMT, STR_ARG(why));
        if (r < 0)
            selector_fails(search, claim, class, i, candidate, r, why);
        if (r <= 0)
            return r < 0 ? -1 : 0;
    }
    return 1;
}

/* Devices of a slice may be on nodes of their own. */
static int is_on_node(struct search *search, const struct candidate *candidate)
{
    if (!candidate->slice->per_device_node_selection.value)
        return 1;
    struct str why;
    int r = pools_device_matches(search->input->node, candidate->device, search->input->scratch, &why);
    if (r < 0)
        search_fails(search, STR_FMT, STR_ARG(why));
    return r;
}

static int look_closer(struct search *search, const struct wanted_claim *claim,
                       const struct alternative *alternative, struct candidate *candidate)
{
    const struct device_class *class = alternative->class;
    int r =
        selectors_all_match(search, claim, class, class->selectors.items, class->selectors.len, candidate);
    if (r > 0)
        r = selectors_all_match(search, claim, NULL, alternative->api->selectors.items,
                                alternative->api->selectors.len, candidate);
    return r > 0 ? is_on_node(search, candidate) : r;
}

int search_matches(struct search *search, const struct wanted_claim *claim, struct alternative *alternative,
                   struct candidate *candidate)
{
    size_t number = (size_t)(candidate - search->pools.candidates);
    if (candidate->device->binding_conditions.len && !search->input->rules->preparation)
        return 0;
    if (!alternative->matches)
        alternative->matches = arena_array(search->input->scratch, uint8_t, search->pools.candidates_len);
    if (alternative->matches[number] == MATCH_UNKNOWN) {
        int r = look_closer(search, claim, alternative, candidate);
        if (r < 0)
            return r;
        alternative->matches[number] = r ? MATCH_YES : MATCH_NO;
    }
    return alternative->matches[number] == MATCH_YES;
}

/* ---- preparing ---- */
/* 1, 0, or -1: failed. */
static int is_one_of_all(struct search *search, const struct wanted_claim *claim,
                         struct alternative *alternative, struct candidate *candidate)
{
    enum capacity_in in =
        search->input->rules->release->all_devices_need_room ? CAPACITY_IN_ALL : CAPACITY_IN_REST;
    struct str why;
    int r = search_matches(search, claim, alternative, candidate);
    if (r <= 0)
        return r;
    r = capacity_suffices(search, alternative->api->capacity, candidate, in, &why);
    if (r < 0)
        search_fails(search,
                     "claim " META_FMT ", request " STR_FMT ": checking capacity for device " STR_FMT
                     ": " STR_FMT,
                     META_ARG(&claim->api->meta), STR_ARG(alternative->name),
                     STR_ARG(candidate->device->name), STR_ARG(why));
    return r;
}

/* Which devices are "all"? While a pool is being updated or is invalid, that is unknown. */
static bool find_all(struct search *search, const struct wanted_claim *claim, struct alternative *alternative)
{
    struct pools *pools = &search->pools;
    uint32_t next = 0; /* candidates stand in the order of their pools */
    alternative->all = arena_array(search->input->scratch, struct candidate *, pools->candidates_len);
    for (uint32_t i = 0; i < pools->len; i++) {
        const struct pool *pool = pools->items[i];
        if (pool->incomplete || pool->invalid)
            return search_fails(
                search,
                "claim " META_FMT ", request " STR_FMT ": asks for all devices, but resource pool " STR_FMT
                "/" STR_FMT " is currently %s",
                META_ARG(&claim->api->meta), STR_ARG(alternative->name), STR_ARG(pool->driver),
                STR_ARG(pool->name), pool->incomplete ? "being updated" : "invalid");
        for (; next < pools->candidates_len && pools->candidates[next].pool == pool; next++) {
            struct candidate *candidate = &pools->candidates[next];
            int r = is_one_of_all(search, claim, alternative, candidate);
            if (r < 0)
                return false;
            if (r)
                alternative->all[alternative->devices++] = candidate;
        }
    }
    return true;
}

static bool check_selectors(struct search *search, const struct wanted_claim *claim,
                            const struct alternative *alternative)
{
    for (uint32_t i = 0; i < alternative->api->selectors.len; i++)
        if (!alternative->api->selectors.items[i].cel)
            return search_fails(search,
                                "claim " META_FMT ", request " STR_FMT
                                ", selector #%u: CEL expression empty (unsupported selector type?)",
                                META_ARG(&claim->api->meta), STR_ARG(alternative->name), i);
    return true;
}

static bool prepare_alternative(struct search *search, const struct wanted_claim *claim,
                                struct alternative *alternative)
{
    const struct device_subrequest *api = alternative->api;
    const struct allocation_rules *rules = search->input->rules;
    if (api->derived_attributes.len && rules->release->newest_device_fields_count &&
        !rules->derived_attributes)
        return search_fails(search,
                            "claim " META_FMT ", request " STR_FMT
                            ": cannot handle request with derived attributes, the feature is disabled",
                            META_ARG(&claim->api->meta), STR_ARG(alternative->name));
    if (!check_selectors(search, claim, alternative))
        return false;
    if (!api->device_class_name.len)
        return search_fails(search,
                            "claim " META_FMT ", request " STR_FMT
                            ": missing device class name (unsupported request type?)",
                            META_ARG(&claim->api->meta), STR_ARG(alternative->name));
    alternative->class =
        cluster_get(&search->input->cluster->device_classes, (struct str){ 0 }, api->device_class_name);
    if (!alternative->class)
        return search_fails(search,
                            "claim " META_FMT ", request " STR_FMT
                            ": could not retrieve device class " STR_FMT
                            ": deviceclass.resource.k8s.io \"" STR_FMT "\" not found",
                            META_ARG(&claim->api->meta), STR_ARG(alternative->name),
                            STR_ARG(api->device_class_name), STR_ARG(api->device_class_name));
    if (str_is(api->allocation_mode, MODE_EXACT_COUNT)) {
        alternative->devices = api->count;
        return true;
    }
    alternative->wants_all = str_is(api->allocation_mode, MODE_ALL);
    if (alternative->wants_all)
        return find_all(search, claim, alternative);
    return search_fails(search, "claim " META_FMT ", request " STR_FMT ": unsupported count mode " STR_FMT,
                        META_ARG(&claim->api->meta), STR_ARG(alternative->name),
                        STR_ARG(api->allocation_mode));
}

/* Does the request need what is off? */
static bool check_gates(struct search *search, const struct wanted_claim *claim,
                        const struct device_request *api)
{
    const struct allocation_rules *rules = search->input->rules;
    if (api->first_available.len && !rules->alternatives)
        return search_fails(search,
                            "claim " META_FMT ", request " STR_FMT
                            ": has subrequests, but the DRAPrioritizedList feature is disabled",
                            META_ARG(&claim->api->meta), STR_ARG(api->name));
    if (rules->shares || rules->oldest)
        return true;
    if (api->exactly && api->exactly->capacity)
        return search_fails(search,
                            "claim " META_FMT ", request " STR_FMT
                            ": has capacity requests, but the DRAConsumableCapacity feature is disabled",
                            META_ARG(&claim->api->meta), STR_ARG(api->name));
    list_for(&api->first_available, sub)
        if (sub->capacity)
            return search_fails(search,
                                "claim " META_FMT ", subrequest " STR_FMT
                                ": has capacity requests, but the DRAConsumableCapacity feature is disabled",
                                META_ARG(&claim->api->meta), STR_ARG(sub->name));
    return true;
}

/* *ret_devices: it needs at least so many. */
static bool prepare_request(struct search *search, struct wanted_claim *claim, uint32_t number,
                            int64_t *ret_devices)
{
    struct wanted_request *request = &claim->requests[number];
    const struct device_request *api = &claim->api->spec.requests.items[number];
    uint32_t alternatives = api->first_available.len;
    *request = (struct wanted_request){ .api = api, .len = MAX(alternatives, 1u) };
    request->alternatives = arena_array(search->input->scratch, struct alternative, request->len);
    if (!check_gates(search, claim, api))
        return false;
    *ret_devices = INT64_MAX;
    for (uint32_t i = 0; i < request->len; i++) {
        const struct device_subrequest *sub = alternatives ? &api->first_available.items[i] : api->exactly;
        struct alternative *alternative = &request->alternatives[i];
        *alternative = (struct alternative){ .api = sub,
                                             .name = alternatives ? sub->name : api->name,
                                             .has_parent = alternatives };
        if (!prepare_alternative(search, claim, alternative))
            return false;
        *ret_devices = MIN(*ret_devices, alternative->devices);
    }
    return true;
}

static bool prepare_constraints(struct search *search, struct wanted_claim *claim)
{
    const struct resource_claim *api = claim->api;
    claim->constraints = arena_array(search->input->scratch, struct constraint, api->spec.constraints.len);
    for (uint32_t i = 0; i < api->spec.constraints.len; i++)
        if (!constraint_init(&claim->constraints[i], &api->spec.constraints.items[i], api->spec.requests.len,
                             search->input->rules, search->input->scratch))
            return search_fails(
                search, "claim " META_FMT ", constraint #%u: empty constraint (unsupported constraint type?)",
                META_ARG(&api->meta), i);
    return true;
}

static bool prepare_claim(struct search *search, struct wanted_claim *claim)
{
    const struct resource_claim *api = claim->api;
    bool at_once = search->input->rules->release->device_limit_names_the_request;
    int64_t total = 0, devices;
    claim->requests = arena_array(search->input->scratch, struct wanted_request, api->spec.requests.len);
    for (uint32_t i = 0; i < api->spec.requests.len; i++) {
        if (!prepare_request(search, claim, i, &devices))
            return false;
        if (at_once && devices > RESULTS_MAX - total)
            return search_fails(search,
                                "claim " META_FMT ", request " STR_FMT
                                ": adding %lld devices exceeds the claim limit of %d, with %lld already "
                                "accounted for",
                                META_ARG(&api->meta), STR_ARG(api->spec.requests.items[i].name),
                                (long long)devices, RESULTS_MAX, (long long)total);
        if (__builtin_add_overflow(total, devices, &total))
            total = INT64_MAX;
    }
    if (total > RESULTS_MAX)
        return search_fails(
            search, "claim " META_FMT ": number of requested devices %lld exceeds the claim limit of %d",
            META_ARG(&api->meta), (long long)total, RESULTS_MAX);
    return prepare_constraints(search, claim);
}

bool search_prepare(struct search *search)
{
    const struct allocate_input *input = search->input;
    search->claims = arena_array(input->scratch, struct wanted_claim, input->len);
    for (uint32_t i = 0; i < input->len; i++) {
        search->claims[i].api = input->claims[i];
        if (!prepare_claim(search, &search->claims[i]))
            return false;
    }
    return true;
}
