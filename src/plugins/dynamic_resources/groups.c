/* groups.c: compatibility groups: which devices may consume counters of one set at the same time.
 *
 * Those that name groups must have one in common, all of them. A device that names none goes together only with others
 * that name none. */
#include "api/labels.h"
#include "plugins/dynamic_resources/pools.h"

/* What is known of the other devices that consume from a set. */
struct others {
    struct str group;         /* one of those, for which it is asked whether all others have it */
    bool any, first_has_none; /* are there others, and does the first one have no group? */
    bool all_have_it;
};

static void look_at(struct others *others, const struct device *device, struct str set)
{
    list_for(&device->consumes_counters, consumed) {
        const struct str_list *groups = &consumed->compatibility_groups;
        if (!str_eq(consumed->name, set))
            continue;
        if (!others->any)
            others->first_has_none = !groups->len;
        others->any = true;
        if (groups->len && !str_list_has(groups, others->group))
            others->all_have_it = false;
    }
}

static void look_at_slices(struct others *others, const struct pool *pool, const struct slice_list *slices,
                           const struct cluster *cluster, struct str set)
{
    for (uint32_t i = 0; i < slices->len; i++)
        list_for(&slices->items[i]->devices, device)
            if (device->consumes_counters.len &&
                device_is_allocated(devices_use(cluster, pool->driver, pool->name, device->name)))
                look_at(others, device, set);
}

/* Allocated devices first, then those that the search has picked. */
static struct others look_around(const struct pools *pools, const struct pool *pool,
                                 const struct cluster *cluster, struct str set, struct str group)
{
    struct others others = { .group = group, .all_have_it = true };
    look_at_slices(&others, pool, &pool->offers, cluster, set);
    look_at_slices(&others, pool, &pool->others, cluster, set);
    for (uint32_t i = 0; i < pools->candidates_len; i++) {
        const struct candidate *candidate = &pools->candidates[i];
        if (candidate->pool == pool && (candidate->claims_len || candidate->shares))
            look_at(&others, candidate->device, set);
    }
    return others;
}

static bool fits_set(const struct pools *pools, const struct pool *pool, const struct cluster *cluster,
                     const struct counter_set *consumed)
{
    const struct str_list *groups = &consumed->compatibility_groups;
    struct others others = look_around(pools, pool, cluster, consumed->name, STR(""));
    if (!others.any || !groups->len || others.first_has_none)
        return !others.any || (!groups->len && others.first_has_none);
    list_for(groups, group)
        if (look_around(pools, pool, cluster, consumed->name, *group).all_have_it)
            return true;
    return false;
}

bool candidate_is_compatible(const struct pools *pools, const struct candidate *candidate,
                             const struct cluster *cluster)
{
    list_for(&candidate->device->consumes_counters, consumed)
        if (!fits_set(pools, candidate->pool, cluster, consumed))
            return false;
    return true;
}
