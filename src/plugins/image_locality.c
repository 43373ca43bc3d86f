/* ImageLocality: prefers nodes that have the pod's images already.
 *
 * An image counts by its size, times the share of nodes that have it: an image that only one node has would otherwise
 * draw every pod there. */
#include "api/names.h"
#include "framework/rule.h"

static const int64_t MB = 1024 * 1024;

/* An image of the pod that some node has; one that is used twice is there twice. */
struct wanted_image {
    sym image;
    uint64_t size_bytes; /* times the share of nodes that have it */
};

struct wanted_images {
    struct wanted_image *items;
    uint32_t len;
    int64_t counted; /* the containers, and the volumes where they count */
};

/* What does not fit a number becomes what the reference's machine makes of it. */
static int64_t spread_size(const struct image_info *image, uint32_t all_nodes)
{
    double size = (double)image->size_bytes * ((double)image->nodes / (double)all_nodes);
    return size >= 0x1p63 ? INT64_MIN : (int64_t)size;
}

static void want(const struct rule_subject *subject, struct wanted_images *wanted, struct str name)
{
    const struct cluster *cluster = subject->cluster;
    sym image = intern_find(&cluster->syms, image_name_normalize(name, subject->arena));
    const struct image_info *info = image ? idmap_get(&cluster->images, image) : NULL;
    if (info)
        wanted->items[wanted->len++] =
            (struct wanted_image){ image, (uint64_t)spread_size(info, cluster->live_nodes) };
}

/* Images that no node has give 0 everywhere. */
static const void *prepare(struct rule_subject *subject)
{
    const struct pod_spec *spec = &subject->pod->spec;
    size_t most = (size_t)spec->init_containers.len + spec->containers.len + spec->volumes.len;
    struct wanted_images *wanted = arena_new(subject->arena, struct wanted_images);
    wanted->items = arena_array(subject->arena, struct wanted_image, most);
    wanted->counted = (int64_t)spec->init_containers.len + spec->containers.len;
    list_for(&spec->init_containers, container)
        want(subject, wanted, container->image);
    list_for(&spec->containers, container)
        want(subject, wanted, container->image);
    list_for(&spec->volumes, volume)
        if (volume->image) {
            want(subject, wanted, volume->image->reference);
            wanted->counted += subject->cluster->features.release->image_volumes_divide;
        }
    return wanted->len ? wanted : NULL;
}

/* Whether an image is known at all, and on how many of how many nodes, is part of every node's score. */
static uint64_t version(const struct cluster *cluster, const void *pod)
{
    return pod ? cluster->images_version * 31 + cluster->live_nodes : cluster->images_version;
}

/* From the sum of sizes to a score: nothing below 23 MB counts, nothing above 1000 MB for each that is counted. */
static int64_t scale(int64_t sum, int64_t counted)
{
    int64_t lowest = 23 * MB, highest = 1000 * MB * counted;
    if (sum < lowest)
        sum = lowest;
    else if (sum > highest)
        sum = highest;
    return SCORE_MAX * (sum - lowest) / (highest - lowest);
}

static bool has(union column_value node, sym image)
{
    for (size_t i = 0; i < node.images.len; i++)
        if (node.images.items[i] == image)
            return true;
    return false;
}

static int64_t judge(const void *pod, union column_value node)
{
    const struct wanted_images *wanted = pod;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < wanted->len; i++)
        if (has(node, wanted->items[i].image))
            sum += wanted->items[i].size_bytes;
    return scale((int64_t)sum, wanted->counted);
}

static const struct node_rule rule = {
    .column = COLUMN_IMAGES,
    .prepare = prepare,
    .judge = judge,
    .version = version,
};

const struct plugin plugin_image_locality = {
    .name = "ImageLocality",
    .doc = "Prefers nodes that have the images of the pod's containers already.",
    .reads = READS("spec.containers[].image", "spec.initContainers[].image", "spec.volumes"),
    .score = rule_score,
    .score_rule = &rule,
};
