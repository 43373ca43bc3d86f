/* device_counts.c: see device_counts.h. */
#include "plugins/node_resources/device_counts.h"

#include "api/labels.h"

struct count {
    struct device_counts *counts;
    const struct cluster *cluster;
    const struct node *node;
    const struct device_class *class;
    int64_t capacity, in_use;
};

void device_counts_release(struct device_counts *counts)
{
    selectors_release(&counts->selectors);
    arena_release(&counts->scratch);
}

/* 1, 0, or -1: the selector is invalid. */
static int is_selected(const struct node *node, const struct node_selector *selector)
{
    struct error err;
    if (node_selector_check(selector, &err) < 0)
        return -1;
    return node_selector_matches(selector, node->meta.name, &node->meta.labels);
}

static int device_is_here(const struct node *node, const struct device *device)
{
    if (device->all_nodes.value || (device->node_name.len && str_eq(device->node_name, node->meta.name)))
        return 1;
    if (!device->node_selector)
        return 0;
    return device->node_name.len ? 0 : is_selected(node, device->node_selector);
}

static bool has_place(const struct resource_slice *slice)
{
    return slice->node_name.len || slice->all_nodes.value || slice->node_selector ||
           slice->per_device_node_selection.value;
}

static int slice_is_here(const struct node *node, const struct resource_slice *slice)
{
    if (slice->all_nodes.value || str_eq(slice->node_name, node->meta.name))
        return 1;
    if (slice->node_name.len)
        return 0;
    return slice->node_selector ? is_selected(node, slice->node_selector) : 1;
}

/* All selectors must match. 1, 0, or -1: one failed. The reference tells them nothing about shared devices here. */
static int matches_class(const struct count *count, const struct resource_slice *slice,
                         const struct device *device)
{
    struct arena *scratch = &count->counts->scratch;
    const struct cel_value *seen = NULL;
    const struct device_sight sees = { .lists = count->counts->selectors.lists };
    struct str why;
    list_for(&count->class->selectors, selector) {
        if (!selector->cel)
            continue;
        if (!seen)
            seen = selectors_device(device, slice->driver, sees, scratch, &why);
        enum selector_result result =
            seen ? selectors_match(&count->counts->selectors, selector->cel->expression, seen, scratch, &why)
                 : SELECTOR_FAILED;
        if (result != SELECTOR_YES)
            return result == SELECTOR_NO ? 0 : -1;
    }
    return 1;
}

static bool count_slice(struct count *count, const struct resource_slice *slice)
{
    bool each = slice->per_device_node_selection.value;
    int here = each ? 1 : slice_is_here(count->node, slice);
    if (here <= 0)
        return here == 0;
    list_for(&slice->devices, device) {
        here = each ? device_is_here(count->node, device) : 1;
        int matches = here > 0 ? matches_class(count, slice, device) : here;
        if (matches < 0)
            return false;
        if (!matches)
            continue;
        count->capacity++;
        count->in_use +=
            device_is_allocated(devices_use(count->cluster, slice->driver, slice->pool, device->name));
    }
    return true;
}

/* Slices that say nothing about nodes are not in the pools of a node; here they count for each. */
static bool count_pools(struct count *count, struct slice_pools pools, bool with_place)
{
    for (uint32_t i = 0; i < pools.len; i++)
        for (uint32_t k = 0; k < pools.items[i]->len; k++) {
            const struct resource_slice *slice = pools.items[i]->slices[k];
            if (has_place(slice) == with_place && !count_slice(count, slice))
                return false;
        }
    return true;
}

bool device_counts_of(struct device_counts *counts, struct cluster *cluster, const struct node *node,
                      const struct device_class *class, int64_t *ret_capacity, int64_t *ret_in_use)
{
    struct count count = { .counts = counts, .cluster = cluster, .node = node, .class = class };
    arena_reset(&counts->scratch);
    selectors_prepare(&counts->selectors, &cluster->features);
    if (!count_pools(&count, devices_pools(cluster, node->meta.name, &counts->scratch), true) ||
        !count_pools(&count, devices_pools(cluster, STR(""), &counts->scratch), false))
        return false;
    *ret_capacity = count.capacity;
    *ret_in_use = count.in_use;
    return true;
}
