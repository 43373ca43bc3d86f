/* provision.c: can a volume be provisioned? See binder.h. */
#include "plugins/volume_binding/binder.h"

#include "api/labels.h"

/* The class's topologies in the form of a node selector: terms are alternatives, each lists values per label. */
static struct node_selector *allowed_topologies(const struct storage_class *class, struct arena *arena)
{
    if (!class->allowed_topologies.len)
        return NULL;
    struct node_selector *allowed = arena_new(arena, struct node_selector);
    allowed->terms.len = class->allowed_topologies.len;
    allowed->terms.items = arena_array(arena, struct node_selector_term, allowed->terms.len);
    struct node_selector_term *to = allowed->terms.items;
    list_for(&class->allowed_topologies, from) {
        to->match_expressions.items = arena_array(arena, struct selector_requirement, from->expressions.len);
        list_for(&from->expressions, wanted)
            to->match_expressions.items[to->match_expressions.len++] =
                (struct selector_requirement){ wanted->key, STR("In"), OP_IN, wanted->values };
        to->invalid = node_selector_term_check(to, NULL) < 0;
        to++;
    }
    return allowed;
}

const struct quantity *provision_pool_limit(const struct csi_storage_capacity *pool)
{
    return pool->maximum_volume_size ? pool->maximum_volume_size : pool->capacity;
}

static struct capacity_span sufficient_pools(struct cluster *cluster, struct str class_name,
                                             int64_t size_bytes, struct arena *arena)
{
    const struct volumes *volumes = volumes_get(cluster, VOLUMES_CAPACITIES);
    struct capacity_span all = volumes_capacities(volumes, class_name);
    const struct csi_storage_capacity **pools =
        arena_array(arena, const struct csi_storage_capacity *, all.len);
    size_t len = 0;
    for (size_t i = 0; i < all.len; i++) {
        const struct quantity *limit = provision_pool_limit(all.items[i]);
        if (limit && quantity_value(*limit) >= size_bytes)
            pools[len++] = all.items[i];
    }
    return (struct capacity_span){ pools, len };
}

void provisioner_init(struct provisioner *provisioner, struct cluster *cluster, const struct pvc *pvc,
                      struct arena *arena)
{
    *provisioner = (struct provisioner){ 0 };
    const struct storage_class *class = pvc_class(cluster, pvc);
    if (!class || !class->provisioner.len || str_is(class->provisioner, "kubernetes.io/no-provisioner"))
        return;
    provisioner->supported = true;
    provisioner->allowed = allowed_topologies(class, arena);
    bool sized;
    struct quantity size = storage_amount(&pvc->spec.resources.requests, &sized);
    const struct csi_driver *driver =
        cluster_get(&cluster->csi_drivers, (struct str){ 0 }, class->provisioner);
    if (!sized || !driver || !driver->storage_capacity.set || !driver->storage_capacity.value)
        return;
    provisioner->tracked = true;
    provisioner->pools = sufficient_pools(cluster, class->meta.name, quantity_value(size), arena);
}

enum provision_result provisioner_check(const struct provisioner *provisioner,
                                        const struct str_map *node_labels,
                                        const struct csi_storage_capacity **ret_pool)
{
    *ret_pool = NULL;
    if (!provisioner->supported)
        return PROVISION_NO_MATCH;
    if (provisioner->allowed && !node_selector_matches(provisioner->allowed, (struct str){ 0 }, node_labels))
        return PROVISION_NO_MATCH;
    if (!provisioner->tracked)
        return PROVISION_OK;
    for (size_t i = 0; i < provisioner->pools.len; i++) {
        const struct csi_storage_capacity *pool = provisioner->pools.items[i];
        if (label_selector_matches(pool->node_topology, node_labels)) {
            *ret_pool = pool;
            return PROVISION_OK;
        }
    }
    return PROVISION_NO_SPACE;
}
