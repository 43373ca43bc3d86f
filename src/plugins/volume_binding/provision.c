/* provision.c: can a volume be provisioned? See binder.h. */
#include "plugins/volume_binding/binder.h"

#include <stdlib.h>

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

/* Those whose size is known. */
static struct capacity_span pools_of(struct cluster *cluster, struct str class_name, struct arena *arena)
{
    const struct volumes *volumes = volumes_get(cluster, VOLUMES_CAPACITIES);
    struct capacity_span all = volumes_capacities(volumes, class_name);
    const struct csi_storage_capacity **pools =
        arena_array(arena, const struct csi_storage_capacity *, all.len);
    size_t len = 0;
    for (size_t i = 0; i < all.len; i++)
        if (provision_pool_limit(all.items[i]))
            pools[len++] = all.items[i];
    return (struct capacity_span){ pools, len };
}

static const struct provisioner *provisioner_of(struct strmap *provisioners, struct cluster *cluster,
                                                const struct storage_class *class, struct arena *arena)
{
    struct provisioner *made = strmap_get(provisioners, class->meta.name);
    if (made)
        return made;
    made = arena_new(arena, struct provisioner);
    made->number = (uint32_t)provisioners->len;
    made->allowed = allowed_topologies(class, arena);
    const struct csi_driver *driver =
        cluster_get(&cluster->csi_drivers, (struct str){ 0 }, class->provisioner);
    made->reports = driver && driver->storage_capacity.set && driver->storage_capacity.value;
    if (made->reports)
        made->pools = pools_of(cluster, class->meta.name, arena);
    strmap_put(provisioners, class->meta.name, made);
    return made;
}

void provision_wish_init(struct provision_wish *wish, struct strmap *provisioners, struct cluster *cluster,
                         const struct pvc *pvc, struct arena *arena)
{
    *wish = (struct provision_wish){ 0 };
    const struct storage_class *class = pvc_class(cluster, pvc);
    if (!class || !class->provisioner.len || str_is(class->provisioner, "kubernetes.io/no-provisioner"))
        return;
    wish->provisioner = provisioner_of(provisioners, cluster, class, arena);
    bool sized;
    wish->size_bytes = quantity_value(storage_amount(&pvc->spec.resources.requests, &sized));
    wish->tracked = sized && wish->provisioner->reports;
}

/* ---- a node ---- */
static void look_from(struct provision_reach *reach, const struct provisioner *provisioner,
                      const struct str_map *node_labels)
{
    reach->is_known = true;
    reach->is_allowed =
        !provisioner->allowed || node_selector_matches(provisioner->allowed, (struct str){ 0 }, node_labels);
    for (size_t i = 0; reach->is_allowed && i < provisioner->pools.len; i++)
        if (label_selector_matches(provisioner->pools.items[i]->node_topology, node_labels))
            *vec_push(&reach->pools) = provisioner->pools.items[i];
}

enum provision_result provision_check(const struct provision_wish *wish, struct provision_reach *reaches,
                                      const struct str_map *node_labels,
                                      const struct csi_storage_capacity **ret_pool)
{
    *ret_pool = NULL;
    if (!wish->provisioner)
        return PROVISION_NO_MATCH;
    struct provision_reach *reach = &reaches[wish->provisioner->number];
    if (!reach->is_known)
        look_from(reach, wish->provisioner, node_labels);
    if (!reach->is_allowed)
        return PROVISION_NO_MATCH;
    if (!wish->tracked)
        return PROVISION_OK;
    vec_for(&reach->pools, pool)
        if (quantity_value(*provision_pool_limit(*pool)) >= wish->size_bytes) {
            *ret_pool = *pool;
            return PROVISION_OK;
        }
    return PROVISION_NO_SPACE;
}

struct provision_reach *provision_reaches(uint32_t provisioners)
{
    return xcalloc(provisioners, sizeof(struct provision_reach));
}

void provision_reaches_free(struct provision_reach *reaches, uint32_t provisioners)
{
    for (uint32_t i = 0; i < provisioners; i++)
        vec_release(&reaches[i].pools);
    free(reaches);
}
