/* node_copy.c: see node_copy.h. */
#include "input/node_copy.h"

#include "input/pod_factory.h"

#define HOSTNAME_LABEL "kubernetes.io/hostname"

bool taint_is_trouble(const struct taint *taint)
{
    static const char *const keys[] = {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/memory-pressure",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/pid-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
    };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (str_is(taint->key, keys[i]))
            return true;
    return false;
}

static struct meta copy_meta(const struct meta *meta, struct str name, struct arena *arena)
{
    struct meta copy = { .name = name, .namespace = meta->namespace, .kind = meta->kind };
    copy.labels = meta->labels;
    copy.annotations = meta->annotations;
    copy.uid = arena_printf(arena, "new-" STR_FMT, STR_ARG(name));
    return copy;
}

static void add_csi_node(struct node_copy *ret, const struct load *load, struct str of, struct str name,
                         struct arena *arena)
{
    const struct csi_node *original = load_find(load, KIND_CSI_NODE, (struct str){ 0 }, of);
    if (!original)
        return;
    struct csi_node *copy = arena_copy(arena, struct csi_node, original, 1, 1);
    copy->meta = copy_meta(&original->meta, name, arena);
    *vec_push(&ret->companions) = (struct companion){ KIND_CSI_NODE, &copy->meta };
}

static void add_slices(struct node_copy *ret, const struct load *load, struct str of, struct str name,
                       struct arena *arena)
{
    vec_for(&load->objects[KIND_RESOURCE_SLICE], item) {
        const struct resource_slice *original = (const struct resource_slice *)*item;
        if (!str_eq(original->node_name, of))
            continue;
        struct resource_slice *copy = arena_copy(arena, struct resource_slice, original, 1, 1);
        struct str pool = arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(original->pool), STR_ARG(name));
        copy->meta = copy_meta(
            &original->meta,
            arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(original->meta.name), STR_ARG(name)), arena);
        copy->node_name = name;
        copy->pool = str_eq(original->pool, of) ? name : pool;
        *vec_push(&ret->companions) = (struct companion){ KIND_RESOURCE_SLICE, &copy->meta };
    }
}

void node_copy_make(struct node_copy *ret, const struct load *load, const struct node *of, struct str name,
                    struct arena *arena)
{
    struct node *node = arena_copy(arena, struct node, of, 1, 1);
    uint32_t len = 0;
    *ret = (struct node_copy){ .node = node };
    node->meta = copy_meta(&of->meta, name, arena);
    node->meta.labels = str_map_with(&of->meta.labels, STR(HOSTNAME_LABEL), name, arena);
    node->spec.unschedulable = false;
    node->spec.provider_id = (struct str){ 0 };
    node->status.images.len = node->status.addresses.len = node->status.conditions.len = 0;
    node->spec.taints.items =
        arena_copy(arena, struct taint, of->spec.taints.items, of->spec.taints.len, of->spec.taints.len);
    list_for(&of->spec.taints, taint)
        if (!taint_is_trouble(taint))
            node->spec.taints.items[len++] = *taint;
    node->spec.taints.len = len;
    add_csi_node(ret, load, of->meta.name, name, arena);
    add_slices(ret, load, of->meta.name, name, arena);
}

void node_copy_release(struct node_copy *copy)
{
    vec_release(&copy->companions);
}
