/* ImageLocality: prefers nodes that have the pod's images already.
 *
 * An image counts by its size, times the share of nodes that have it: an image that only one node has would otherwise
 * draw every pod there. */
#include "api/image_name.h"
#include "index/table.h"

static const int64_t MB = 1024 * 1024;

struct image_list {
    sym *items; /* images that some node has; one that is used twice counts twice */
    uint32_t len;
};

static void want(const struct cluster *cluster, struct arena *arena, struct image_list *list, struct str name)
{
    sym image = intern_find(&cluster->syms, image_name_normalize(name, arena));
    if (image && idmap_get(&cluster->images, image))
        list->items[list->len++] = image;
}

static struct image_list *images_of(const struct cluster *cluster, const struct pod_spec *spec,
                                    struct arena *arena)
{
    size_t most = (size_t)spec->init_containers.len + spec->containers.len + spec->volumes.len;
    struct image_list *list = arena_new(arena, struct image_list);
    list->items = arena_array(arena, sym, most);
    list_for(&spec->init_containers, container)
        want(cluster, arena, list, container->image);
    list_for(&spec->containers, container)
        want(cluster, arena, list, container->image);
    list_for(&spec->volumes, volume)
        if (volume->image)
            want(cluster, arena, list, volume->image->reference);
    return list;
}

static bool node_has(const struct node_entry *node, sym image)
{
    vec_for(&node->images, known)
        if (*known == image)
            return true;
    return false;
}

/* What does not fit a number becomes what the reference's machine makes of it. */
static int64_t spread_size(const struct image_info *image, uint32_t all_nodes)
{
    double size = (double)image->size_bytes * ((double)image->nodes / (double)all_nodes);
    return size >= 0x1p63 ? INT64_MIN : (int64_t)size;
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

static int64_t row_score(const struct cluster *cluster, uint32_t row, const struct image_list *list,
                         const struct pod_spec *spec)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (node_has(cluster_node(cluster, row), list->items[i]))
            sum += (uint64_t)spread_size(idmap_get(&cluster->images, list->items[i]), cluster->live_nodes);
    return scale((int64_t)sum, (int64_t)spec->init_containers.len + spec->containers.len);
}

static struct status score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    void **state = cycle_state(cycle);
    if (!*state)
        *state = images_of(cycle->cluster, &cycle->pod->spec, cycle->arena);
    *ret = row_score(node.cluster, node.row, *state, &cycle->pod->spec);
    return STATUS_OK;
}

/* ---- many rows at once ---- */
static bool rows_prepare(struct table *table, struct table_part *part)
{
    struct image_list *list = images_of(table->cluster, &table->pod->api->spec, &table->arena);
    part->state = list;
    part->scores = list->len > 0; /* images that nobody has give 0 everywhere */
    return true;
}

/* Whether an image is known at all, and on how many of how many nodes, is part of every node's score. */
static uint64_t rows_version(const struct table *table, const struct table_part *part)
{
    uint64_t version = table->cluster->images_version;
    return part->scores ? version * 31 + table->cluster->live_nodes : version;
}

static void rows_score(struct table *table, struct table_part *part, struct row_span span)
{
    for (uint32_t i = 0; i < span.len; i++) {
        uint32_t row = span_row(span, i);
        if (!table->verdict[row])
            table->local[row] += part->instance->weight *
                                 (int32_t)row_score(table->cluster, row, part->state, &table->pod->api->spec);
    }
}

static const struct row_forms rows = { .prepare = rows_prepare,
                                       .version = rows_version,
                                       .score = rows_score };

const struct plugin plugin_image_locality = {
    .name = "ImageLocality",
    .doc = "Prefers nodes that have the images of the pod's containers already.",
    .score = score,
    .rows = &rows,
};
