/* devices.c: assumed claims, what is held of each device, and an index of slices by pool; see devices.h. */
#include "cluster/devices.h"

#include <stdlib.h>

#include "api/fields.h"
#include "api/names.h"

/* A copy of a claim over the stored one. */
struct assumption {
    struct str key;
    struct resource_claim claim;
    struct str made_for_version; /* of the stored claim then; empty: there was none */
    bool written;
    bool counted; /* its devices are in `uses` */
    struct arena arena;
};

struct pool_entry {
    struct slice_pool pool;
    bool everywhere; /* has slices that every node must look at */
};

/* The pools that name a node. */
struct node_pools {
    struct str name;
    VEC(uint32_t) numbers; /* ascending */
};

struct slice_index {
    struct pool_entry *pools;
    uint32_t len;
    VEC(uint32_t) everywhere; /* ascending */
    struct strmap nodes;      /* name to struct node_pools */
    uint64_t version;         /* of the slices, plus 1; 0: not built */
    struct arena arena;
};

struct devices {
    struct strmap assumed; /* "namespace/name" to struct assumption */
    struct strmap held;    /* likewise; counted while the claim has no allocation */
    struct strmap uses;    /* "driver/pool/device" to struct device_use */
    struct slice_index index;
    struct strbuf scratch;
    bool shares; /* of devices are counted as such; otherwise a device is one claim's */
};

static struct devices *devices_make(struct cluster *cluster)
{
    if (!cluster->devices)
        cluster->devices = xcalloc(1, sizeof(*cluster->devices));
    cluster->devices->shares = cluster->features.enabled[FEATURE_DRAConsumableCapacity];
    return cluster->devices;
}

/* ---- what is held ---- */
static struct str use_key(struct strbuf *buf, struct str driver, struct str pool, struct str device)
{
    strbuf_clear(buf);
    strbuf_printf(buf, STR_FMT "/" STR_FMT "/" STR_FMT, STR_ARG(driver), STR_ARG(pool), STR_ARG(device));
    return strbuf_slice(buf);
}

static void use_free(struct device_use *use)
{
    if (!use)
        return;
    vec_for(&use->amounts, amount)
        free((char *)amount->name.ptr);
    vec_release(&use->amounts);
    free(use);
}

static struct resource *use_amount(struct device_use *use, struct str name)
{
    vec_for(&use->amounts, amount)
        if (str_eq(amount->name, name))
            return amount;
    struct resource *made = vec_push(&use->amounts);
    *made = (struct resource){ .name = str_dup(name) };
    return made;
}

static void count_result(struct devices *devices, const struct device_result *result, int sign)
{
    if (result->admin_access.value) /* looks on without taking anything */
        return;
    struct str key = use_key(&devices->scratch, result->driver, result->pool, result->device);
    struct device_use *use = strmap_make(&devices->uses, key, sizeof(*use));
    if (!result->share_id.ptr || !devices->shares) {
        use->whole += (uint32_t)sign;
    } else {
        use->shares += (uint32_t)sign;
        use->measured += result->consumed_capacity.len ? (uint32_t)sign : 0;
        list_for(&result->consumed_capacity, consumed) {
            struct resource *sum = use_amount(use, consumed->name);
            sum->amount = sign > 0 ? quantity_add(sum->amount, consumed->amount)
                                   : quantity_sub(sum->amount, consumed->amount);
        }
    }
    if (!use->whole && !use->shares)
        use_free(strmap_remove(&devices->uses, use->key));
}

static void count_claim(struct devices *devices, const struct resource_claim *claim, int sign)
{
    if (!claim || !claim->status.allocation)
        return;
    list_for(&claim->status.allocation->devices.results, result)
        count_result(devices, result, sign);
}

const struct device_use *devices_use(const struct cluster *cluster, struct str driver, struct str pool,
                                     struct str device)
{
    struct devices *devices = cluster->devices;
    return devices ? strmap_get(&devices->uses, use_key(&devices->scratch, driver, pool, device)) : NULL;
}

/* ---- assumed claims ---- */
static struct assumption *find(const struct strmap *map, struct str namespace, struct str name)
{
    if (!map->len)
        return NULL;
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    return strmap_get(map, object_key(&key, namespace, name));
}

static struct assumption *assumption_get(const struct devices *devices, struct str namespace, struct str name)
{
    return devices ? find(&devices->assumed, namespace, name) : NULL;
}

static void assumption_free(struct assumption *assumption)
{
    if (!assumption)
        return;
    arena_release(&assumption->arena);
    free(assumption);
}

/* Fills a new assumption. */
static void assumption_fill(struct assumption *assumption, const struct resource_claim *claim,
                            const struct resource_claim *stored)
{
    struct arena *arena = &assumption->arena;
    struct str version = stored ? stored->meta.resource_version : (struct str){ 0 };
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    assumption->key = arena_str(arena, object_key(&key, claim->meta.namespace, claim->meta.name));
    assumption->made_for_version = arena_str(arena, version);
    record_copy(api_kinds[KIND_RESOURCE_CLAIM].type, claim, arena, &assumption->claim);
    assumption->claim.meta.home = NULL;
    assumption->claim.meta.source = (struct str){ 0 };
}

static void assumption_count(struct devices *devices, struct assumption *assumption, bool counted)
{
    if (assumption->counted == counted)
        return;
    assumption->counted = counted;
    count_claim(devices, &assumption->claim, counted ? +1 : -1);
}

static void assumption_drop(struct devices *devices, struct assumption *assumption)
{
    assumption_count(devices, assumption, false);
    strmap_remove(&devices->assumed, assumption->key);
    assumption_free(assumption);
}

/* Is a stored claim as new as the one that was written? */
static bool is_overtaken(const struct assumption *assumption, const struct resource_claim *stored)
{
    int64_t have, want;
    if (!str_eq(stored->meta.uid, assumption->claim.meta.uid))
        return true;
    if (str_to_int64(assumption->claim.meta.resource_version, &want) &&
        str_to_int64(stored->meta.resource_version, &have))
        return have >= want;
    return !str_eq(stored->meta.resource_version, assumption->made_for_version);
}

static const struct resource_claim *stored_claim(const struct cluster *cluster, struct str namespace,
                                                 struct str name)
{
    return cluster_get(&cluster->claims, namespace, name);
}

const struct resource_claim *devices_claim(const struct cluster *cluster, struct str namespace,
                                           struct str name)
{
    const struct resource_claim *stored = stored_claim(cluster, namespace, name);
    const struct assumption *assumption = stored ? assumption_get(cluster->devices, namespace, name) : NULL;
    return assumption && assumption->written ? &assumption->claim : stored;
}

bool devices_claim_in_flight(const struct cluster *cluster, const struct resource_claim *claim)
{
    const struct assumption *assumption =
        assumption_get(cluster->devices, claim->meta.namespace, claim->meta.name);
    if (assumption && !assumption->written && str_eq(assumption->claim.meta.uid, claim->meta.uid))
        return true;
    const struct assumption *held =
        cluster->devices ? find(&cluster->devices->held, claim->meta.namespace, claim->meta.name) : NULL;
    return held && str_eq(held->claim.meta.uid, claim->meta.uid);
}

/* The devices of a claim that is held count once. `stored`: as it is now; NULL: it is gone. */
static void count_held(struct devices *devices, const struct meta *meta, const struct resource_claim *stored)
{
    struct assumption *held = find(&devices->held, meta->namespace, meta->name);
    bool counts_already =
        (stored && stored->status.allocation) || assumption_get(devices, meta->namespace, meta->name);
    if (held)
        assumption_count(devices, held, !counts_already);
}

void devices_let_go(struct cluster *cluster, struct str namespace, struct str name)
{
    struct assumption *held = cluster->devices ? find(&cluster->devices->held, namespace, name) : NULL;
    if (!held)
        return;
    assumption_count(cluster->devices, held, false);
    strmap_remove(&cluster->devices->held, held->key);
    assumption_free(held);
}

void devices_hold(struct cluster *cluster, const struct resource_claim *claim)
{
    struct devices *devices = devices_make(cluster);
    devices_let_go(cluster, claim->meta.namespace, claim->meta.name);
    struct assumption *held = xcalloc(1, sizeof(*held));
    assumption_fill(held, claim, NULL);
    strmap_put(&devices->held, held->key, held);
    count_held(devices, &claim->meta, stored_claim(cluster, claim->meta.namespace, claim->meta.name));
}

void devices_take(struct cluster *cluster, const struct resource_claim *claim)
{
    struct devices *devices = devices_make(cluster);
    const struct resource_claim *stored = stored_claim(cluster, claim->meta.namespace, claim->meta.name);
    struct assumption *before = assumption_get(devices, claim->meta.namespace, claim->meta.name);
    if (before) {
        if (before->written)
            count_claim(devices, stored, +1);
        assumption_drop(devices, before);
    }
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));
    assumption_fill(assumption, claim, stored);
    strmap_put(&devices->assumed, assumption->key, assumption);
    assumption_count(devices, assumption, !stored || !stored->status.allocation);
    count_held(devices, &claim->meta, stored);
}

void devices_written(struct cluster *cluster, const struct resource_claim *claim)
{
    struct devices *devices = devices_make(cluster);
    const struct resource_claim *stored = stored_claim(cluster, claim->meta.namespace, claim->meta.name);
    struct assumption *before = assumption_get(devices, claim->meta.namespace, claim->meta.name);
    bool stored_counted = !before || !before->written;
    struct assumption *assumption = xcalloc(1, sizeof(*assumption));
    assumption_fill(assumption, claim, stored);
    assumption->written = true;
    if (before)
        assumption_drop(devices, before);
    if (!stored || is_overtaken(assumption, stored)) { /* what is stored counts */
        if (!stored_counted)
            count_claim(devices, stored, +1);
        assumption_free(assumption);
        return;
    }
    if (stored_counted)
        count_claim(devices, stored, -1);
    strmap_put(&devices->assumed, assumption->key, assumption);
    assumption_count(devices, assumption, true);
}

void devices_drop(struct cluster *cluster, struct str namespace, struct str name)
{
    struct assumption *assumption = assumption_get(cluster->devices, namespace, name);
    if (assumption && !assumption->written) {
        assumption_drop(cluster->devices, assumption);
        count_held(cluster->devices, &(struct meta){ .namespace = namespace, .name = name },
                   stored_claim(cluster, namespace, name));
    }
}

static void count_change(struct cluster *cluster, const struct resource_claim *before,
                         const struct resource_claim *after)
{
    struct devices *devices = devices_make(cluster);
    const struct meta *meta = after ? &after->meta : &before->meta;
    struct assumption *assumption = assumption_get(devices, meta->namespace, meta->name);
    if (!assumption || !assumption->written)
        count_claim(devices, before, -1);
    if (assumption && assumption->written && (!after || is_overtaken(assumption, after))) {
        assumption_drop(devices, assumption);
        assumption = NULL;
    }
    if (assumption && assumption->written)
        return;
    count_claim(devices, after, +1);
    if (assumption) /* an allocation that has arrived takes the place of the one in flight */
        assumption_count(devices, assumption, !after || !after->status.allocation);
}

void devices_claim_changed(struct cluster *cluster, const struct resource_claim *before,
                           const struct resource_claim *after)
{
    count_change(cluster, before, after);
    count_held(cluster->devices, after ? &after->meta : &before->meta, after);
}

/* ---- slices ---- */
static int slice_cmp(const void *x, const void *y)
{
    const struct resource_slice *a = *(const struct resource_slice *const *)x;
    const struct resource_slice *b = *(const struct resource_slice *const *)y;
    int order = str_cmp(a->driver, b->driver);
    if (!order)
        order = str_cmp(a->pool, b->pool);
    return order ? order : str_cmp(a->meta.name, b->meta.name);
}

/* A slice without a node name, and one with shared counters, concerns every node. */
static bool is_everywhere(const struct resource_slice *slice)
{
    return !slice->node_name.len || slice->shared_counters.len;
}

static void add_node(struct slice_index *index, struct str name, uint32_t number)
{
    struct node_pools *pools = strmap_make(&index->nodes, name, sizeof(*pools));
    if (!pools->numbers.len || pools->numbers.items[pools->numbers.len - 1] != number)
        *vec_push(&pools->numbers) = number;
}

static void index_clear(struct slice_index *index)
{
    map_for(&index->nodes, slot) {
        struct node_pools *pools = slot->value;
        vec_release(&pools->numbers);
        free(pools);
    }
    strmap_release(&index->nodes);
    vec_clear(&index->everywhere);
    arena_reset(&index->arena);
    index->pools = NULL;
    index->len = 0;
}

static int rule_cmp(const void *x, const void *y)
{
    const struct device_taint_rule *a = *(const struct device_taint_rule *const *)x;
    const struct device_taint_rule *b = *(const struct device_taint_rule *const *)y;
    return str_cmp(a->meta.name, b->meta.name);
}

static bool rule_is_for_pool(const struct cluster *cluster, const struct device_taint_rule *rule,
                             struct str driver, struct str pool)
{
    const struct device_taint_selector *selector = rule->selector;
    if (!selector)
        return !cluster->features.release->taint_rules_need_a_selector;
    return (!selector->driver.ptr || str_eq(selector->driver, driver)) &&
           (!selector->pool.ptr || str_eq(selector->pool, pool));
}

/* Each pool gets the rules that are for it. */
static void index_add_rules(struct slice_index *index, const struct cluster *cluster)
{
    const struct strmap *store = &cluster->device_taint_rules;
    if (!store->len || !cluster->features.enabled[FEATURE_DRADeviceTaintRules])
        return;
    const struct device_taint_rule **all =
        arena_array(&index->arena, const struct device_taint_rule *, store->len);
    size_t len = 0;
    map_for(store, slot)
        all[len++] = stored_object(slot);
    qsort(all, len, sizeof(*all), rule_cmp);
    for (uint32_t i = 0; i < index->len; i++) {
        struct slice_pool *pool = &index->pools[i].pool;
        const struct device_taint_rule **rules = NULL;
        for (size_t k = 0; k < len; k++) {
            if (!rule_is_for_pool(cluster, all[k], pool->driver, pool->name))
                continue;
            if (!rules)
                rules = arena_array(&index->arena, const struct device_taint_rule *, len - k);
            rules[pool->rules_len++] = all[k];
        }
        pool->rules = rules;
    }
}

static void index_build(struct slice_index *index, const struct cluster *cluster)
{
    const struct strmap *store = &cluster->slices;
    index_clear(index);
    const struct resource_slice **slices =
        arena_array(&index->arena, const struct resource_slice *, store->len);
    size_t len = 0;
    map_for(store, slot)
        slices[len++] = stored_object(slot);
    if (len)
        qsort(slices, len, sizeof(*slices), slice_cmp);
    index->pools = arena_array(&index->arena, struct pool_entry, len);
    for (size_t i = 0; i < len; i++) {
        const struct resource_slice *slice = slices[i];
        struct pool_entry *entry = index->len ? &index->pools[index->len - 1] : NULL;
        if (!entry || !str_eq(entry->pool.driver, slice->driver) || !str_eq(entry->pool.name, slice->pool)) {
            entry = &index->pools[index->len++];
            entry->pool =
                (struct slice_pool){ .driver = slice->driver, .name = slice->pool, .slices = &slices[i] };
        }
        uint32_t number = index->len - 1;
        entry->pool.len++;
        if (!is_everywhere(slice)) {
            add_node(index, slice->node_name, number);
        } else if (!entry->everywhere) {
            entry->everywhere = true;
            *vec_push(&index->everywhere) = number;
        }
    }
    index_add_rules(index, cluster);
}

/* Two ascending lists become one. */
static struct slice_pools merge(const struct slice_index *index, const uint32_t *a, size_t a_len,
                                const uint32_t *b, size_t b_len, struct arena *arena)
{
    struct slice_pools ret = { .items = arena_array(arena, const struct slice_pool *, a_len + b_len) };
    for (size_t i = 0, j = 0; i < a_len || j < b_len;) {
        bool from_a = i < a_len && (j >= b_len || a[i] <= b[j]);
        bool both = from_a && j < b_len && a[i] == b[j];
        uint32_t number = from_a ? a[i] : b[j];
        ret.items[ret.len++] = &index->pools[number].pool;
        i += from_a;
        j += !from_a || both;
    }
    return ret;
}

/* As the slices are now. */
static const struct slice_index *index_of(struct cluster *cluster)
{
    struct slice_index *index = &devices_make(cluster)->index;
    if (index->version != cluster->slices_version + 1) {
        index_build(index, cluster);
        index->version = cluster->slices_version + 1;
    }
    return index;
}

struct slice_pools devices_pools(struct cluster *cluster, struct str node_name, struct arena *arena)
{
    const struct slice_index *index = index_of(cluster);
    const struct node_pools *own = strmap_get(&index->nodes, node_name);
    return merge(index, own ? own->numbers.items : NULL, own ? own->numbers.len : 0, index->everywhere.items,
                 index->everywhere.len, arena);
}

const struct slice_pool *devices_pool(struct cluster *cluster, struct str driver, struct str name)
{
    const struct slice_index *index = index_of(cluster);
    uint32_t low = 0, high = index->len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct slice_pool *pool = &index->pools[middle].pool;
        int order = str_cmp(pool->driver, driver);
        if (!order)
            order = str_cmp(pool->name, name);
        if (!order)
            return pool;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const struct slice_pool *devices_pool_of_any(struct cluster *cluster, struct str name)
{
    const struct slice_index *index = index_of(cluster);
    for (uint32_t i = 0; i < index->len; i++)
        if (str_eq(index->pools[i].pool.name, name))
            return &index->pools[i].pool;
    return NULL;
}

static bool rule_taints(const struct cluster *cluster, const struct device_taint_rule *rule,
                        const struct resource_slice *slice, const struct device *device)
{
    return rule && rule_is_for_pool(cluster, rule, slice->driver, slice->pool) &&
           device_rule_taints(rule, device);
}

static bool is_same_taint(const struct device_taint *a, const struct device_taint *b)
{
    return str_eq(a->key, b->key) && str_eq(a->value, b->value) && str_eq(a->effect, b->effect) &&
           a->time_added.set == b->time_added.set && a->time_added.seconds == b->time_added.seconds &&
           a->time_added.nanos == b->time_added.nanos;
}

/* A rule whose status has changed changes no slice. */
static bool rule_changes_slice(const struct cluster *cluster, const struct device_taint_rule *before,
                               const struct device_taint_rule *after, const struct resource_slice *slice)
{
    bool is_same = before && after && is_same_taint(&before->taint, &after->taint);
    list_for(&slice->devices, device) {
        bool did = rule_taints(cluster, before, slice, device);
        bool does = rule_taints(cluster, after, slice, device);
        if (did != does || (does && !is_same))
            return true;
    }
    return false;
}

void devices_rule_changed(struct cluster *cluster, const struct device_taint_rule *before,
                          const struct device_taint_rule *after, devices_on_slice *on_slice, void *user)
{
    if (!cluster->features.enabled[FEATURE_DRADeviceTaintRules])
        return;
    const struct slice_index *index = index_of(cluster);
    for (uint32_t i = 0; i < index->len; i++)
        for (uint32_t k = 0; k < index->pools[i].pool.len; k++)
            if (rule_changes_slice(cluster, before, after, index->pools[i].pool.slices[k]))
                on_slice(user, index->pools[i].pool.slices[k]);
}

void devices_free(struct devices *devices)
{
    if (!devices)
        return;
    map_for(&devices->assumed, slot)
        assumption_free(slot->value);
    strmap_release(&devices->assumed);
    map_for(&devices->held, slot)
        assumption_free(slot->value);
    strmap_release(&devices->held);
    map_for(&devices->uses, slot)
        use_free(slot->value);
    strmap_release(&devices->uses);
    index_clear(&devices->index);
    vec_release(&devices->index.everywhere);
    arena_release(&devices->index.arena);
    strbuf_release(&devices->scratch);
    free(devices);
}
