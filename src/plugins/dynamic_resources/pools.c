/* pools.c: from slices to devices of a node; see pools.h. */
#include "plugins/dynamic_resources/pools.h"

#include "api/labels.h"
#include "plugins/dynamic_resources/allocator.h"

/* ---- which slices are for the node ---- */
static void put_requirements(struct strbuf *out, const struct selector_requirement *items, uint32_t len)
{
    strbuf_puts(out, "[]NodeSelectorRequirement{");
    for (uint32_t i = 0; i < len; i++) {
        strbuf_printf(out, "NodeSelectorRequirement{Key:" STR_FMT ",Operator:" STR_FMT ",Values:[",
                      STR_ARG(items[i].key), STR_ARG(items[i].operator));
        list_for(&items[i].values, value)
            strbuf_printf(out, "%s" STR_FMT, value == items[i].values.items ? "" : " ", STR_ARG(*value));
        strbuf_puts(out, "],},");
    }
    strbuf_puts(out, "},");
}

/* As the reference prints one. */
static void put_selector(struct strbuf *out, const struct node_selector *selector)
{
    strbuf_puts(out, "&NodeSelector{NodeSelectorTerms:[]NodeSelectorTerm{");
    list_for(&selector->terms, term) {
        strbuf_puts(out, "NodeSelectorTerm{MatchExpressions:");
        put_requirements(out, term->match_expressions.items, term->match_expressions.len);
        strbuf_puts(out, "MatchFields:");
        put_requirements(out, term->match_fields.items, term->match_fields.len);
        strbuf_puts(out, "},");
    }
    strbuf_puts(out, "},}");
}

/* Is a thing with these on the node? 1, 0, or -1 for a selector that is none. */
static int node_matches(const struct node *node, struct str node_name, bool all_nodes,
                        const struct node_selector *selector, struct arena *arena, struct str *ret_why)
{
    if (node_name.len)
        return str_eq(node->meta.name, node_name);
    if (all_nodes || !selector)
        return all_nodes;
    struct error err = { 0 };
    if (node_selector_check(selector, &err) == 0)
        return node_selector_matches(selector, node->meta.name, &node->meta.labels);
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    put_selector(&text, selector);
    *ret_why = arena_printf(arena, "failed to parse node selector %s: %s", text.text, err.text);
    return -1;
}

int pools_device_matches(const struct node *node, const struct device *device, struct arena *arena,
                         struct str *ret_why)
{
    return node_matches(node, device->node_name, device->all_nodes.value, device->node_selector, arena,
                        ret_why);
}

static int any_device_matches(const struct node *node, const struct resource_slice *slice,
                              struct arena *arena, struct str *ret_why)
{
    list_for(&slice->devices, device) {
        int r = pools_device_matches(node, device, arena, ret_why);
        if (r < 0)
            *ret_why = arena_printf(arena,
                                    "failed to perform node selection for device " STR_FMT
                                    " in slice " STR_FMT ": " STR_FMT,
                                    STR_ARG(device->name), STR_ARG(slice->meta.name), STR_ARG(*ret_why));
        if (r)
            return r;
    }
    return 0;
}

/* Some of its devices cannot be shared with others as the counters would allow. */
static bool has_compatibility_groups(const struct resource_slice *slice)
{
    list_for(&slice->devices, device)
        list_for(&device->consumes_counters, consumed)
            if (consumed->compatibility_groups.len)
                return true;
    return false;
}

/* A slice that cannot be understood is left out, so that its pool is incomplete. */
static bool is_ignored(const struct allocation_rules *rules, const struct resource_slice *slice)
{
    return rules->release->newest_device_fields_count && !rules->compatibility_groups &&
           has_compatibility_groups(slice);
}

/* 1: it must be looked at for the node; 0: not; -1: why not. */
static int is_relevant(const struct allocation_rules *rules, const struct node *node,
                       const struct resource_slice *slice, struct arena *arena, struct str *ret_why)
{
    if ((!rules->partitions && (slice->per_device_node_selection.set || slice->shared_counters.len)) ||
        is_ignored(rules, slice))
        return 0;
    if (slice->shared_counters.len && !rules->counters_have_nodes)
        return 1;
    if (slice->node_name.len || slice->all_nodes.value || slice->node_selector) {
        int r = node_matches(node, slice->node_name, slice->all_nodes.value, slice->node_selector, arena,
                             ret_why);
        if (r < 0)
            *ret_why = arena_printf(arena, "failed to perform node selection for slice " STR_FMT ": " STR_FMT,
                                    STR_ARG(slice->meta.name), STR_ARG(*ret_why));
        return r;
    }
    return slice->per_device_node_selection.value ? any_device_matches(node, slice, arena, ret_why) : 0;
}

/* ---- is the pool sound? ---- */
static bool names_are_unique(const struct slice_list *slices)
{
    struct strmap names = { 0 };
    bool unique = true;
    for (uint32_t i = 0; i < slices->len && unique; i++)
        list_for(&slices->items[i]->devices, device)
            unique &= !strmap_put(&names, device->name, device);
    strmap_release(&names);
    return unique;
}

static const struct counter_set *find_set(const struct slice_list *counting, struct str name)
{
    for (uint32_t i = 0; i < counting->len; i++)
        list_for(&counting->items[i]->shared_counters, set)
            if (str_eq(set->name, name))
                return set;
    return NULL;
}

static bool sets_are_unique(const struct slice_list *counting)
{
    for (uint32_t i = 0; i < counting->len; i++)
        list_for(&counting->items[i]->shared_counters, set)
            if (find_set(counting, set->name) != set)
                return false;
    return true;
}

static bool has_counters(const struct counter_set *set, const struct counter_set *wanted)
{
    list_for(&wanted->counters, want) {
        bool found = false;
        list_for(&set->counters, counter)
            found |= str_eq(counter->key, want->key);
        if (!found)
            return false;
    }
    return true;
}

/* Does every device consume counters that exist? */
static bool counters_exist(const struct slice_list *counting, const struct slice_list *slices)
{
    for (uint32_t i = 0; i < slices->len; i++)
        list_for(&slices->items[i]->devices, device)
            list_for(&device->consumes_counters, consumed) {
                const struct counter_set *set = find_set(counting, consumed->name);
                if (!set || !has_counters(set, consumed))
                    return false;
            }
    return true;
}

static bool is_valid(const struct allocation_rules *rules, const struct pool *pool)
{
    if (!names_are_unique(&pool->offers) || !rules->partitions)
        return names_are_unique(&pool->offers);
    return sets_are_unique(&pool->counting) && counters_exist(&pool->counting, &pool->offers) &&
           (rules->counters_have_nodes || counters_exist(&pool->counting, &pool->counting)) &&
           counters_exist(&pool->counting, &pool->others);
}

static bool needs_preparation(const struct pool *pool)
{
    for (uint32_t i = 0; i < pool->offers.len; i++)
        list_for(&pool->offers.items[i]->devices, device)
            if (device->binding_conditions.len)
                return true;
    return false;
}

/* ---- pools ---- */
/* The slices of a pool that are for the node, of the newest generation that has any. */
static bool take_slices(const struct allocation_rules *rules, const struct slice_pool *source,
                        const struct node *node, struct arena *arena, struct slice_list *ret,
                        struct str *ret_why)
{
    *ret = (struct slice_list){ .items = arena_array(arena, const struct resource_slice *, source->len) };
    for (uint32_t i = 0; i < source->len; i++) {
        const struct resource_slice *slice = source->slices[i];
        int r = is_relevant(rules, node, slice, arena, ret_why);
        if (r < 0)
            return false;
        int64_t newest = ret->len ? ret->items[0]->pool_generation : INT64_MIN;
        if (!r || slice->pool_generation < newest)
            continue;
        if (slice->pool_generation > newest)
            ret->len = 0;
        ret->items[ret->len++] = slice;
    }
    return true;
}

static bool has_slice(const struct slice_list *list, const struct resource_slice *slice)
{
    for (uint32_t i = 0; i < list->len; i++)
        if (list->items[i] == slice)
            return true;
    return false;
}

/* The rest of the generation, which is for other nodes; false: there is a newer one. */
static bool take_others(const struct allocation_rules *rules, const struct slice_pool *source,
                        const struct slice_list *taken, struct arena *arena, struct slice_list *ret)
{
    int64_t generation = taken->items[0]->pool_generation;
    *ret = (struct slice_list){ .items = arena_array(arena, const struct resource_slice *, source->len) };
    for (uint32_t i = 0; i < source->len; i++) {
        const struct resource_slice *slice = source->slices[i];
        if (slice->pool_generation > generation)
            return false;
        if (slice->pool_generation == generation && !has_slice(taken, slice) && !is_ignored(rules, slice))
            ret->items[ret->len++] = slice;
    }
    return true;
}

/* Counters count wherever their slice is. */
static void sort_slices(struct pool *pool, const struct slice_list *slices, const struct slice_list *others,
                        struct arena *arena)
{
    pool->offers.items = arena_array(arena, const struct resource_slice *, slices->len);
    pool->others.items = arena_array(arena, const struct resource_slice *, others->len);
    pool->counting.items =
        arena_array(arena, const struct resource_slice *, (size_t)slices->len + others->len);
    for (uint32_t i = 0; i < slices->len + others->len; i++) {
        bool is_other = i >= slices->len;
        const struct resource_slice *slice = is_other ? others->items[i - slices->len] : slices->items[i];
        struct slice_list *list = slice->shared_counters.len ? &pool->counting
                                  : is_other                 ? &pool->others
                                                             : &pool->offers;
        list->items[list->len++] = slice;
    }
}

/* *ret is NULL where the pool has nothing for the node. */
static bool build_pool(const struct allocation_rules *rules, const struct slice_pool *source,
                       const struct node *node, struct arena *arena, struct pool **ret, struct str *ret_why)
{
    struct slice_list slices, others = { 0 };
    *ret = NULL;
    if (!take_slices(rules, source, node, arena, &slices, ret_why))
        return false;
    if (!slices.len)
        return true;
    int64_t wanted = slices.items[0]->pool_slice_count;
    bool complete = slices.len == wanted;
    if (!complete && !take_others(rules, source, &slices, arena, &others))
        return true; /* outdated: the newer slices have nothing for the node */
    struct pool *pool = arena_new(arena, struct pool);
    *pool = (struct pool){ .driver = source->driver, .name = source->name, .source = source };
    *ret = pool;
    if (!complete && (int64_t)slices.len + others.len != wanted) {
        pool->incomplete = true;
        return true;
    }
    sort_slices(pool, &slices, &others, arena);
    pool->invalid = !is_valid(rules, pool);
    if (pool->invalid)
        pool->offers.len = 0;
    pool->has_binding_conditions = !rules->oldest && needs_preparation(pool);
    return true;
}

static void list_candidates(struct pools *pools, struct arena *arena)
{
    size_t len = 0;
    for (uint32_t i = 0; i < pools->len; i++)
        for (uint32_t s = 0; s < pools->items[i]->offers.len; s++)
            len += pools->items[i]->offers.items[s]->devices.len;
    pools->candidates = arena_array(arena, struct candidate, len);
    for (uint32_t i = 0; i < pools->len; i++) {
        struct pool *pool = pools->items[i];
        for (uint32_t s = 0; s < pool->offers.len; s++)
            list_for(&pool->offers.items[s]->devices, device)
                pools->candidates[pools->candidates_len++] =
                    (struct candidate){ .device = device, .slice = pool->offers.items[s], .pool = pool };
    }
}

bool pools_gather(struct cluster *cluster, const struct allocation_rules *rules, const struct node *node,
                  struct arena *arena, struct pools *ret, struct str *ret_why)
{
    struct slice_pools sources = devices_pools(cluster, node->meta.name, arena);
    struct pool **last = arena_array(arena, struct pool *, sources.len);
    uint32_t last_len = 0;
    *ret = (struct pools){ .items = arena_array(arena, struct pool *, sources.len) };
    for (uint32_t i = 0; i < sources.len; i++) {
        struct pool *pool;
        if (!build_pool(rules, sources.items[i], node, arena, &pool, ret_why))
            return false;
        if (pool && pool->has_binding_conditions)
            last[last_len++] = pool;
        else if (pool)
            ret->items[ret->len++] = pool;
    }
    for (uint32_t i = 0; i < last_len; i++)
        ret->items[ret->len++] = last[i];
    list_candidates(ret, arena);
    return true;
}

const struct device_use *candidate_use(struct candidate *candidate, const struct cluster *cluster)
{
    if (!candidate->use_known) {
        candidate->use =
            devices_use(cluster, candidate->pool->driver, candidate->pool->name, candidate->device->name);
        candidate->use_known = true;
    }
    return candidate->use;
}

/* ---- counters ---- */
static struct pool_counter *find_counter(const struct pool *pool, struct str set, struct str name)
{
    for (uint32_t i = 0; i < pool->counters_len; i++)
        if (str_eq(pool->counters[i].set, set) && str_eq(pool->counters[i].name, name))
            return &pool->counters[i];
    return NULL;
}

static struct quantity amount_of(const struct device_counter *counter)
{
    return counter->value ? *counter->value : (struct quantity){ 0 };
}

/* What allocated devices hold is not available. */
static void subtract_held(struct pool *pool, const struct slice_list *slices, const struct cluster *cluster)
{
    for (uint32_t i = 0; i < slices->len; i++)
        list_for(&slices->items[i]->devices, device) {
            if (!device->consumes_counters.len ||
                !device_is_allocated(devices_use(cluster, pool->driver, pool->name, device->name)))
                continue;
            list_for(&device->consumes_counters, consumed)
                list_for(&consumed->counters, counter) {
                    struct pool_counter *found = find_counter(pool, consumed->name, counter->key);
                    if (found)
                        found->available = quantity_sub(found->available, amount_of(counter));
                }
        }
}

static void load_counters(struct pool *pool, const struct cluster *cluster, struct arena *arena)
{
    size_t len = 0;
    for (uint32_t i = 0; i < pool->counting.len; i++)
        list_for(&pool->counting.items[i]->shared_counters, set)
            len += set->counters.len;
    pool->counters = arena_array(arena, struct pool_counter, len);
    for (uint32_t i = 0; i < pool->counting.len; i++)
        list_for(&pool->counting.items[i]->shared_counters, set)
            list_for(&set->counters, counter)
                pool->counters[pool->counters_len++] = (struct pool_counter){
                    .set = set->name, .name = counter->key, .available = amount_of(counter)
                };
    subtract_held(pool, &pool->offers, cluster);
    subtract_held(pool, &pool->others, cluster);
    pool->counters_known = true;
}

static void consume(struct candidate *candidate, bool take)
{
    list_for(&candidate->device->consumes_counters, wanted)
        list_for(&wanted->counters, counter) {
            struct pool_counter *found = find_counter(candidate->pool, wanted->name, counter->key);
            if (found)
                found->consumed = take ? quantity_add(found->consumed, amount_of(counter))
                                       : quantity_sub(found->consumed, amount_of(counter));
        }
}

bool candidate_take_counters(struct candidate *candidate, const struct cluster *cluster, struct arena *arena)
{
    struct pool *pool = candidate->pool;
    if (!pool->counters_known)
        load_counters(pool, cluster, arena);
    consume(candidate, true);
    for (uint32_t i = 0; i < pool->counters_len; i++) {
        if (quantity_cmp(pool->counters[i].available, pool->counters[i].consumed) < 0) {
            consume(candidate, false);
            return false;
        }
    }
    return true;
}

void candidate_return_counters(struct candidate *candidate)
{
    consume(candidate, false);
}
