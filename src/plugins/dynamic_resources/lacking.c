/* lacking.c: what a node lacks for claims that could not be allocated there: how many devices match a request, and how
 * many of those are free.
 *
 * Each request is looked at by itself. If each could have its devices, they do not fit together: constraints of claims,
 * counters that devices share, or two requests for the same device. */
#include "framework/shortfall.h"
#include "plugins/dynamic_resources/search.h"

struct device_count {
    int64_t matching, free;
};

static struct device_count count(struct search *search, const struct wanted_claim *claim,
                                 struct alternative *alternative)
{
    struct device_count found = { 0 };
    for (uint32_t i = 0; i < search->pools.candidates_len; i++) {
        struct candidate *candidate = &search->pools.candidates[i];
        if (search_matches(search, claim, alternative, candidate) <= 0)
            continue;
        found.matching++;
        found.free += candidate_is_free(search, claim, alternative, candidate);
    }
    return found;
}

/* The alternative that lacks least; none, if one could have its devices. */
static bool lacks_devices(struct search *search, const struct wanted_claim *claim,
                          struct wanted_request *request, struct shortfall_list *ret)
{
    struct alternative *nearest = NULL;
    struct device_count found = { 0 };
    int64_t needed = 0;
    for (uint32_t i = 0; i < request->len; i++) {
        struct alternative *alternative = &request->alternatives[i];
        struct device_count there = count(search, claim, alternative);
        int64_t needs = alternative->wants_all ? MAX(there.matching, 1) : alternative->devices;
        if (there.free >= needs)
            return false;
        if (nearest && needs - there.free >= needed - found.free)
            continue;
        nearest = alternative;
        found = there;
        needed = needs;
    }
    if (!nearest)
        return false;
    if (shortfall_is_left_out(ret))
        return true;
    const char *which = nearest->api->selectors.len ? "matching " : ""; /* others of the class may be there */
    struct str resource =
        arena_printf(ret->arena, "%sdevices of class " STR_FMT, which, STR_ARG(nearest->class->meta.name));
    struct shortfall *lack = shortfall_add_amount(ret, resource, needed, found.free, found.matching);
    lack->key = claim->api->meta.name;
    lack->wants = nearest->name;
    return true;
}

void allocate_explain(const struct allocate_input *input, struct shortfall_list *ret)
{
    struct search search = { .input = input };
    struct str why;
    bool lacks = false;
    if (!pools_gather(input->cluster, input->rules, input->node, input->scratch, &search.pools, &why) ||
        !search_prepare(&search))
        return;
    for (uint32_t c = 0; c < input->len; c++)
        for (uint32_t r = 0; r < search.claims[c].api->spec.requests.len; r++)
            lacks |= lacks_devices(&search, &search.claims[c], &search.claims[c].requests[r], ret);
    if (!lacks)
        shortfall_add(ret, "Devices")->sentence =
            STR("each request could have its devices, but not all of them together");
}
