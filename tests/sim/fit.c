/* fit.c: sums and comparisons; see fit.h. */
#include "fit.h"

static bool is_open(const struct pod_facts *pod, const struct node_facts *node)
{
    return !node->cordoned && !(node->taints & ~pod->tolerates) &&
           (pod->zone == NONE || pod->zone == node->zone);
}

static bool repel_each_other(const struct pod_facts *a, const struct pod_facts *b)
{
    return a->app == b->app && (a->repels || b->repels);
}

bool fits_among(const placed_vec *placed, const struct pod_facts *pod, int node_number,
                const struct node_facts *node, int32_t below)
{
    int64_t used[AMOUNTS] = { 0 }, pods = 0;
    if (!is_open(pod, node))
        return false;
    vec_for(placed, other) {
        if (other->node != node_number || other->pod->priority < below)
            continue;
        if (repel_each_other(pod, other->pod))
            return false;
        if (pod->host_port && pod->host_port == other->pod->host_port)
            return false;
        pods++;
        for (int i = 0; i < AMOUNTS; i++)
            used[i] += other->pod->requests[i];
    }
    for (int i = 0; i < AMOUNTS; i++)
        if (pod->requests[i] && used[i] + pod->requests[i] > node->has[i])
            return false;
    return pods + 1 <= node->pods_max;
}

static bool volume_fits(const struct volume_facts *volume, const struct node_facts *node)
{
    return volume->zone == NONE || volume->zone == node->zone;
}

bool fits_claim(struct sim *sim, const struct pod_facts *pod, int node_number, const struct node_facts *node)
{
    if (pod->claim == NONE)
        return true;
    const struct stored *claim = store_at(&sim->store, SIM_CLAIMS, pod->claim);
    if (!claim)
        return false;
    const struct claim_facts *facts = &claim->facts.claim;
    const struct stored *own = store_at(&sim->store, SIM_VOLUMES, facts->volume);
    if (facts->volume != NONE)
        return own && volume_fits(&own->facts.volume, node);
    if (facts->class == CLASS_MADE)
        return facts->selected_node == NONE || facts->selected_node == node_number;
    const struct kind_store *volumes = &sim->store.kinds[SIM_VOLUMES];
    for (uint32_t i = 0; facts->class == CLASS_FOUND && i < volumes->len; i++) {
        const struct volume_facts *volume = &volumes->items[i].facts.volume;
        bool is_free = volume->claim == NONE || volume->claim_uid == claim->facts.uid;
        if (volumes->items[i].exists && volume->class == CLASS_FOUND && is_free && volume_fits(volume, node))
            return true;
    }
    return false;
}
