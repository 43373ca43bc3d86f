/* topology.c: domains come and go with the labels of nodes. */
#include "cluster/topology.h"

#include <stdlib.h>
#include <string.h>

void topology_init(struct topology *topo, sym key)
{
    *topo = (struct topology){ .key = key };
    *vec_push(&topo->domains) = (struct domain){ 0 };
}

void topology_release(struct topology *topo)
{
    if (!topo->is_shared)
        free(topo->domain_of);
    vec_release(&topo->domains);
    vec_release(&topo->free);
    idmap_release(&topo->by_value);
}

void topology_reserve(struct topology *topo, uint32_t rows, uint32_t *zeros)
{
    if (rows <= topo->rows_cap)
        return;
    if (zeros && (topo->is_shared || !topo->domain_of)) {
        topo->domain_of = zeros;
        topo->is_shared = true;
    } else {
        topo->domain_of = xreallocarray(topo->domain_of, rows, sizeof(*topo->domain_of));
        memset(topo->domain_of + topo->rows_cap, 0, (rows - topo->rows_cap) * sizeof(*topo->domain_of));
    }
    topo->rows_cap = rows;
}

uint32_t topology_find(const struct topology *topo, sym value)
{
    return value ? (uint32_t)(uintptr_t)idmap_get(&topo->by_value, value) : 0;
}

static uint32_t domain_enter(struct topology *topo, sym value)
{
    uint32_t number = topology_find(topo, value);
    if (!number) {
        if (topo->free.len) {
            number = topo->free.items[--topo->free.len];
        } else {
            number = (uint32_t)topo->domains.len;
            (void)vec_push(&topo->domains);
        }
        topo->domains.items[number] = (struct domain){ .value = value };
        idmap_put(&topo->by_value, value, (void *)(uintptr_t)number);
    }
    if (++topo->domains.items[number].nodes == 2)
        topo->shape++;
    return number;
}

static void domain_leave(struct topology *topo, uint32_t number)
{
    struct domain *domain = &topo->domains.items[number];
    if (--domain->nodes == 1)
        topo->shape++;
    if (domain->nodes)
        return;
    idmap_remove(&topo->by_value, domain->value);
    domain->value = SYM_NONE;
    *vec_push(&topo->free) = number;
}

void topology_assign(struct topology *topo, uint32_t row, sym value)
{
    uint32_t old = topo->domain_of[row];
    if (old && topo->domains.items[old].value == value)
        return;
    if (!old && !value)
        return;
    if (old)
        domain_leave(topo, old);
    if (topo->is_shared)
        topo->domain_of = xcalloc(topo->rows_cap, sizeof(*topo->domain_of));
    topo->is_shared = false;
    topo->domain_of[row] = value ? domain_enter(topo, value) : 0;
}
