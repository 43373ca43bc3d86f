/* ImageLocality: prefers nodes that have the pod's images already.
 *
 * An image counts by its size, times the share of nodes that have it: an image that only one node has would otherwise
 * draw every pod there. */
#include "api/image_name.h"
#include "framework/plugin.h"

static const int64_t MB = 1024 * 1024;

struct image_list {
    sym *items; /* images that some node has; one that is used twice counts twice */
    uint32_t len;
};

static void want(struct cycle *cycle, struct image_list *list, struct str name)
{
    sym image = intern_find(&cycle->cluster->syms, image_name_normalize(name, cycle->arena));
    if (image && idmap_get(&cycle->cluster->images, image))
        list->items[list->len++] = image;
}

static const struct image_list *images_of(struct cycle *cycle)
{
    if (*cycle_state(cycle))
        return *cycle_state(cycle);
    const struct pod_spec *spec = &cycle->pod->spec;
    size_t most = (size_t)spec->init_containers.len + spec->containers.len + spec->volumes.len;
    struct image_list *list = arena_new(cycle->arena, struct image_list);
    list->items = arena_array(cycle->arena, sym, most);
    list_for(&spec->init_containers, container)
        want(cycle, list, container->image);
    list_for(&spec->containers, container)
        want(cycle, list, container->image);
    list_for(&spec->volumes, volume)
        if (volume->image)
            want(cycle, list, volume->image->reference);
    *cycle_state(cycle) = list;
    return list;
}

static bool node_has(const struct node_entry *node, sym image)
{
    vec_for(&node->images, known)
        if (*known == image)
            return true;
    return false;
}

static int64_t spread_size(const struct image_info *image, uint32_t all_nodes)
{
    double size = (double)image->size_bytes * ((double)image->nodes / (double)all_nodes);
    return size >= 0x1p63 ? INT64_MIN : (int64_t)size; /* what does not fit becomes what the reference's machine makes of it */
}

/* From the sum of sizes to a score: nothing below 23 MB counts, nothing above 1000 MB per container. */
static int64_t scale(int64_t sum, int64_t containers)
{
    int64_t lowest = 23 * MB, highest = 1000 * MB * containers;
    if (sum < lowest)
        sum = lowest;
    else if (sum > highest)
        sum = highest;
    return SCORE_MAX * (sum - lowest) / (highest - lowest);
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    const struct image_list *list = images_of(cycle);
    const struct node_entry *entry = cluster_node(node.cluster, node.row);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (node_has(entry, list->items[i]))
            sum += (uint64_t)spread_size(idmap_get(&node.cluster->images, list->items[i]), node.cluster->live_nodes);
    *ret = scale((int64_t)sum, (int64_t)cycle->pod->spec.init_containers.len + cycle->pod->spec.containers.len);
    return STATUS_OK;
}

const struct plugin plugin_image_locality = {
    .name = "ImageLocality",
    .doc = "Prefers nodes that have the images of the pod's containers already.",
    .score = score,
};
