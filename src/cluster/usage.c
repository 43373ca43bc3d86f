/* usage.c: what pods take on their nodes, by the numbers of resources.
 *
 * Equal pods take the same, so it is their class's; a pod whose claims take some of the node's own resources
 * (DRANodeAllocatableResources) has amounts of its own. */
#include <stdlib.h>

#include "api/fields.h"
#include "cluster/model.h"
#include "config/requests.h"

static struct absent_resource *absent_get(struct cluster *cluster, struct str name)
{
    struct absent_resource *resource = strmap_make(&cluster->absent_resources, name, sizeof(*resource));
    resource->refs++;
    return resource;
}

void absent_release(struct cluster *cluster, const struct absent_list *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        struct absent_resource *resource = list->items[i].resource;
        if (--resource->refs)
            continue;
        strmap_remove(&cluster->absent_resources, resource->name);
        free(resource);
    }
}

/* No amount of it is there, so nothing asks for a column but an amount below 0, which no API server accepts. */
static bool is_absent(struct cluster *cluster, const struct resource *resource, uint32_t *ret_number)
{
    if (cluster_resource_find(cluster, resource->name, ret_number))
        return false;
    return quantity_value(resource->amount) >= 0 || !cluster_resource(cluster, resource->name, ret_number);
}

struct amount *amounts_compile(struct cluster *cluster, struct arena *arena, const struct resource_list *list,
                               uint32_t *ret_len, struct absent_list *ret_absent)
{
    struct amount *amounts = arena_array(arena, struct amount, list->len);
    uint32_t len = 0;
    *ret_absent = (struct absent_list){ 0 };
    for (uint32_t i = 0; i < list->len; i++) {
        const struct resource *resource = &list->items[i];
        uint32_t number;
        if (is_absent(cluster, resource, &number)) {
            int64_t value = quantity_value(resource->amount);
            if (value <= 0 || !resource_is_scalar(resource->name))
                continue;
            if (!ret_absent->items)
                ret_absent->items = arena_array(arena, struct absent_amount, list->len - i);
            ret_absent->items[ret_absent->len++] =
                (struct absent_amount){ absent_get(cluster, resource->name), value };
        } else if (number != RES_PODS) {
            int64_t value =
                number == RES_CPU ? quantity_milli_value(resource->amount) : quantity_value(resource->amount);
            amounts[len++] = (struct amount){ number, value };
        }
    }
    *ret_len = len;
    return amounts;
}

void usage_compile(struct cluster *cluster, const struct pod *pod, struct pod_requests_options opts,
                   struct arena *arena, struct pod_usage *ret)
{
    struct pod_node_usage usage;
    pod_node_requests(pod, opts, arena, &usage);
    ret->items = amounts_compile(cluster, arena, &usage.requests, &ret->len, &ret->absent);
    ret->nonzero_cpu_milli = usage.nonzero_cpu_milli;
    ret->nonzero_memory = usage.nonzero_memory;
}

/* ---- claims ---- */
struct node_claims *node_claims_new(struct cluster *cluster, const struct pod *pod,
                                    const struct node_claim_list *list)
{
    if (!list->len || !cluster->features.enabled[FEATURE_DRANodeAllocatableResources])
        return NULL;
    struct node_claims *claims = xcalloc(1, sizeof(*claims));
    struct pod_requests_options opts = requests_options(&cluster->features);
    struct pod with_claims = *pod;
    claims->list.items = arena_array(&claims->arena, struct node_claim, list->len);
    claims->list.len = list->len;
    for (uint32_t i = 0; i < list->len; i++)
        record_copy(&node_claim_type, &list->items[i], &claims->arena, &claims->list.items[i]);
    with_claims.status.node_claims = claims->list;
    opts.claims = requests_claims(&cluster->features);
    usage_compile(cluster, &with_claims, opts, &claims->arena, &claims->used);
    return claims;
}

void node_claims_free(struct cluster *cluster, struct node_claims *claims)
{
    if (!claims)
        return;
    absent_release(cluster, &claims->used.absent);
    arena_release(&claims->arena);
    free(claims);
}

void cluster_set_node_claims(struct cluster *cluster, struct pod_info *pod,
                             const struct node_claim_list *list)
{
    struct node_claims *old = pod->node_claims, *made = node_claims_new(cluster, pod->api, list);
    if (!old && !made)
        return;
    uint32_t row = pod->row;
    if (row != ROW_NONE)
        row_account(cluster, row, pod_used(pod), -1);
    pod->node_claims = made;
    if (row != ROW_NONE)
        row_account(cluster, row, pod_used(pod), +1);
    if (row != ROW_NONE)
        row_changed(cluster, row);
    node_claims_free(cluster, old);
}

void cluster_move_node_claims(struct cluster *cluster, struct pod_info *from, struct pod_info *to)
{
    assert(from->row == ROW_NONE && to->row == ROW_NONE);
    node_claims_free(cluster, to->node_claims);
    to->node_claims = from->node_claims;
    from->node_claims = NULL;
}
