/* images.c: which images are on how many nodes. */
#include <stdlib.h>

#include "api/fields.h"
#include "cluster/model.h"

static bool reported_already(const struct node_entry *node, sym name)
{
    vec_for(&node->images, known)
        if (*known == name)
            return true;
    return false;
}

static void image_add(struct cluster *cluster, struct node_entry *node, struct str name, int64_t size_bytes)
{
    sym image = intern_get(&cluster->syms, name);
    if (reported_already(node, image)) {
        intern_unref(&cluster->syms, image);
        return;
    }
    struct image_info *info = idmap_get(&cluster->images, image);
    if (!info) {
        info = xcalloc(1, sizeof(*info));
        info->size_bytes = size_bytes;
        idmap_put(&cluster->images, image, info);
    }
    info->nodes++;
    *vec_push(&node->images) = image;
}

static bool same_images(const struct node *a, const struct node *b)
{
    const struct record_member images = record_member(api_kinds[KIND_NODE].type, STR("status.images"));
    return record_member_equal(images, a, b);
}

static int64_t own_size(const struct node *api, struct str wanted)
{
    list_for(&api->status.images, image)
        list_for(&image->names, name)
            if (str_eq(*name, wanted))
                return image->size_bytes;
    return 0;
}

bool images_stay(const struct cluster *cluster, uint32_t row, const struct node *api)
{
    const struct node_entry *node = &cluster->nodes.items[row];
    if (!same_images(node->api, api))
        return false;
    vec_for(&node->images, image) {
        const struct image_info *info = idmap_get(&cluster->images, *image);
        if (info->nodes == 1 && info->size_bytes != own_size(api, intern_text(&cluster->syms, *image)))
            return false;
    }
    return true;
}

void images_add(struct cluster *cluster, uint32_t row)
{
    struct node_entry *node = &cluster->nodes.items[row];
    list_for(&node->api->status.images, image)
        list_for(&image->names, name)
            image_add(cluster, node, *name, image->size_bytes);
    cluster->images_version += node->images.len > 0;
}

void images_remove(struct cluster *cluster, uint32_t row)
{
    struct node_entry *node = &cluster->nodes.items[row];
    cluster->images_version += node->images.len > 0;
    vec_for(&node->images, image) {
        struct image_info *info = idmap_get(&cluster->images, *image);
        if (--info->nodes == 0)
            free(idmap_remove(&cluster->images, *image));
        intern_unref(&cluster->syms, *image);
    }
    vec_clear(&node->images);
}
