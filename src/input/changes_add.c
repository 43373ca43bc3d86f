/* changes_add.c: nodes that are added: copies of a node of the input, or of those of a file.
 *
 * A copy is what a new node of the same type would be: with a host name of its own, without pods and images, not
 * cordoned, and without the taints of trouble. What CSINodes and ResourceSlices say of the original is true of it. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/spelling.h"
#include "input/changes.h"
#include "input/pod_factory.h"

#define HOSTNAME_LABEL "kubernetes.io/hostname"
enum { NODES_ADDED_MAX = 100000 };

static bool is_trouble(const struct taint *taint)
{
    static const char *const keys[] = {
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

static struct meta copy_meta(struct arena *arena, const struct meta *meta, struct str name)
{
    struct meta copy = { .name = name, .namespace = meta->namespace, .kind = meta->kind };
    copy.labels = meta->labels;
    copy.annotations = meta->annotations;
    copy.uid = arena_printf(arena, "new-" STR_FMT, STR_ARG(name));
    return copy;
}

static struct node *new_node(struct arena *arena, const struct node *of, struct str name)
{
    struct node *node = changes_cordon(arena, of, false);
    node->meta = copy_meta(arena, &of->meta, name);
    node->meta.labels = str_map_with(&of->meta.labels, STR(HOSTNAME_LABEL), name, arena);
    node->spec.provider_id = (struct str){ 0 };
    node->status.images.len = node->status.addresses.len = node->status.conditions.len = 0;
    uint32_t len = 0;
    list_for(&node->spec.taints, taint)
        if (!is_trouble(taint))
            node->spec.taints.items[len++] = *taint;
    node->spec.taints.len = len;
    return node;
}

/* What other objects say of the node that is copied. */
static void copy_companions(struct changes *changes, struct load *load, struct str of, struct str name)
{
    struct arena *arena = &changes->arena;
    const struct csi_node *csi = load_find(load, KIND_CSI_NODE, (struct str){ 0 }, of);
    if (csi) {
        struct csi_node *copy = arena_copy(arena, struct csi_node, csi, 1, 1);
        copy->meta = copy_meta(arena, &csi->meta, name);
        load_put(load, KIND_CSI_NODE, &copy->meta);
    }
    size_t slices = load->objects[KIND_RESOURCE_SLICE].len;
    for (size_t i = 0; i < slices; i++) {
        const struct resource_slice *slice =
            (const struct resource_slice *)load->objects[KIND_RESOURCE_SLICE].items[i];
        if (!str_eq(slice->node_name, of))
            continue;
        struct resource_slice *copy = arena_copy(arena, struct resource_slice, slice, 1, 1);
        struct str own = arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(slice->meta.name), STR_ARG(name));
        copy->meta = copy_meta(arena, &slice->meta, own);
        copy->node_name = name;
        copy->pool = str_eq(slice->pool, of)
                         ? name
                         : arena_printf(arena, STR_FMT "-" STR_FMT, STR_ARG(slice->pool), STR_ARG(name));
        load_put(load, KIND_RESOURCE_SLICE, &copy->meta);
    }
}

static void add_copies(struct changes *changes, struct load *load, const struct node *of, int64_t count,
                       struct str label)
{
    struct arena *arena = &changes->arena;
    for (int64_t i = 0, number = 0; i < count; i++) {
        struct str name;
        do
            name = arena_printf(arena, STR_FMT "-new-%lld", STR_ARG(of->meta.name), (long long)++number);
        while (load_find(load, KIND_NODE, (struct str){ 0 }, name));
        struct node *node = new_node(arena, of, name);
        load_put(load, KIND_NODE, &node->meta);
        copy_companions(changes, load, of->meta.name, name);
        changes_note(changes, CHANGE_ADD, KIND_NODE, &node->meta)->of = label;
    }
}

/* ---- files ---- */

static bool looks_like_a_file(struct str word)
{
    static const struct str endings[] = { STR(".yaml"), STR(".yml"), STR(".json"), STR(".jsonl") };
    for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
        if (str_ends_with(word, endings[i]))
            return true;
    return str_find(word, '/') >= 0;
}

/* Each node of the file so many times. */
static int add_from_file(struct changes *changes, struct load *load, struct str path, int64_t count,
                         struct error *err)
{
    struct load *template = xcalloc(1, sizeof(*template));
    *vec_push(&changes->templates) = template;
    const char *text = arena_str(&changes->arena, path).ptr;
    int r = load_path(template, text, err);
    if (r < 0)
        return r;
    const object_vec *nodes = &template->objects[KIND_NODE];
    if (!nodes->len)
        return error_at(err, -ENOENT, text, 0, 0, "--add: there is no Node in it");
    if ((int64_t)nodes->len * count > NODES_ADDED_MAX)
        return error_set(err, -E2BIG, "--add: at most %d nodes can be added", NODES_ADDED_MAX);
    vec_for(nodes, node)
        add_copies(changes, load, (const struct node *)*node, count, arena_str(&changes->arena, path));
    return 0;
}

int changes_add_nodes(struct changes *changes, struct load *load, struct str word, struct error *err)
{
    struct str of = word;
    int64_t count = 1;
    if (str_find(word, '=') >= 0) {
        struct str number = str_cut(&of, '=');
        if (!str_to_int64(number, &count) || count < 0 || count > NODES_ADDED_MAX || str_empty(of))
            return error_set(
                err, -EINVAL,
                "--add: expected NUMBER=NODE or NUMBER=FILE with a number up to %d, got \"" STR_FMT "\"",
                NODES_ADDED_MAX, STR_ARG(word));
    }
    const struct node *node = load_find(load, KIND_NODE, (struct str){ 0 }, of);
    struct stat info;
    if (node)
        add_copies(changes, load, node, count, node->meta.name);
    else if (looks_like_a_file(of) || stat(arena_str(&changes->arena, of).ptr, &info) == 0)
        return add_from_file(changes, load, of, count, err);
    else
        return changes_no_node(load, CHANGE_ADD, of, err);
    return 0;
}
