/* detach.c: see detach.h. A list loses an item by putting its last one in the place; adding it and changing the two
 * brings the old order back. */
#include "whatif/detach.h"

static size_t find(const pod_vec *vec, const struct pod_info *pod)
{
    size_t at = 0;
    while (at < vec->len && vec->items[at] != pod)
        at++;
    return at;
}

void detach_pod(struct cluster *cluster, struct pod_info *pod, struct arena *arena, struct detached_pod *ret)
{
    const struct node_entry *node = &cluster->nodes.items[pod->row];
    assert(node->api);
    *ret = (struct detached_pod){ .cluster = cluster,
                                  .pod = pod,
                                  .row = pod->row,
                                  .slot = pod->slot,
                                  .label_slot = pod->label_slot,
                                  .term_slot = pod->term_slot,
                                  .affinity_slot = find(&node->with_affinity, pod),
                                  .anti_slot = find(&node->with_anti, pod),
                                  .ports = arena_array(arena, struct host_port, node->ports.len),
                                  .ports_len = node->ports.len,
                                  .bits = arena_array(arena, uint64_t, cluster->col.resources),
                                  .resources = cluster->col.resources };
    if (node->ports.len)
        memcpy(ret->ports, node->ports.items, node->ports.len * sizeof(*ret->ports));
    memcpy(ret->bits, cluster->col.bits, ret->resources * sizeof(*ret->bits));
    cluster_displace(cluster, pod);
}

/* The pod is the last one, and belongs at `at`. */
static void back_among_pods(pod_vec *vec, size_t at)
{
    struct pod_info *pod = vec->items[vec->len - 1], *other = vec->items[at];
    vec->items[vec->len - 1] = other;
    vec->items[at] = pod;
}

#define back_among_placed(owner, place, field) \
    do { \
        struct placed_pod *items_ = (owner)->placed.items; \
        size_t last_ = (owner)->placed.len - 1; \
        struct placed_pod pod_ = items_[last_]; \
        items_[last_] = items_[place]; \
        items_[place] = pod_; \
        items_[last_].pod->field = (uint32_t)last_; \
        items_[place].pod->field = (place); \
    } while (0)

void reattach_pod(const struct detached_pod *detached)
{
    struct cluster *cluster = detached->cluster;
    struct pod_info *pod = detached->pod;
    if (!pod)
        return;
    struct node_entry *node = &cluster->nodes.items[detached->row];
    const struct pod_class *cls = pod->class;
    cluster_place(cluster, pod, detached->row);
    back_among_pods(&node->pods, detached->slot);
    node->pods.items[node->pods.len - 1]->slot = (uint32_t)node->pods.len - 1;
    pod->slot = detached->slot;
    back_among_placed(cls->labels, detached->label_slot, label_slot);
    if (cls->has_affinity_section) {
        back_among_placed(cls->terms, detached->term_slot, term_slot);
        back_among_pods(&node->with_affinity, detached->affinity_slot);
    }
    if (cls->anti.len)
        back_among_pods(&node->with_anti, detached->anti_slot);
    node->ports.len = 0;
    for (size_t i = 0; i < detached->ports_len; i++)
        *vec_push(&node->ports) = detached->ports[i];
    memcpy(cluster->col.bits, detached->bits, detached->resources * sizeof(*detached->bits));
}
