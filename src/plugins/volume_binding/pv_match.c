/* pv_match.c: matching claims with volumes. */
#include "plugins/volume_binding/pv_match.h"

#include <stdlib.h>

#include "api/labels.h"

bool pv_affinity_matches(const struct node_selector *affinity, const struct str_map *node_labels)
{
    /* Fields are not asked: the reference matches labels of a node without a name. */
    return !affinity || node_selector_matches(affinity, (struct str){ 0 }, node_labels);
}

static struct str volume_mode(struct str mode)
{
    return mode.ptr ? mode : STR("Filesystem");
}

/* What every volume needs, meant for the claim or not. */
static bool is_suitable(const struct pv *pv, const struct pvc *pvc)
{
    struct quantity size = storage_amount(&pv->spec.capacity, NULL);
    struct quantity wanted = storage_amount(&pvc->spec.resources.requests, NULL);
    return quantity_cmp(size, wanted) >= 0 &&
           str_eq(volume_mode(pv->spec.volume_mode), volume_mode(pvc->spec.volume_mode)) &&
           str_eq(pv->spec.volume_attributes_class_name, pvc->spec.volume_attributes_class_name) &&
           !pv->meta.deletion_time.set;
}

static bool has_mode(const struct str_list *modes, struct str mode)
{
    for (uint32_t i = 0; i < modes->len; i++)
        if (str_eq(modes->items[i], mode))
            return true;
    return false;
}

/* What a volume needs that is nobody's yet. */
static bool is_available(const struct pv *pv, const struct pvc *pvc)
{
    if (!str_is(pv->phase, "Available"))
        return false;
    if (pvc->spec.selector && !label_selector_matches(pvc->spec.selector, &pv->meta.labels))
        return false;
    for (uint32_t i = 0; i < pvc->spec.access_modes.len; i++)
        if (!has_mode(&pv->spec.access_modes, pvc->spec.access_modes.items[i]))
            return false;
    return true;
}

static int smaller_first(const void *x, const void *y)
{
    const struct pv *a = *(const struct pv *const *)x, *b = *(const struct pv *const *)y;
    int order =
        quantity_cmp(storage_amount(&a->spec.capacity, NULL), storage_amount(&b->spec.capacity, NULL));
    return order ? order : str_cmp(a->meta.name, b->meta.name);
}

void pv_match_init(struct pv_match *match, const struct volumes *volumes, const struct pvc *pvc,
                   struct arena *arena)
{
    *match = (struct pv_match){ 0 };
    struct error err;
    if (label_selector_check(pvc->spec.selector, &err) < 0) {
        match->invalid = true;
        match->why = arena_printf(
            arena, "error creating internal label selector for claim: " STR_FMT "/" STR_FMT ": %s",
            STR_ARG(pvc->meta.namespace), STR_ARG(pvc->meta.name), err.text);
        return;
    }
    struct pv_span span = volumes_of_class(volumes, pvc_class_name(pvc));
    match->prebound.items = arena_array(arena, const struct pv *, span.len);
    match->available.items = arena_array(arena, const struct pv *, span.len);
    for (size_t i = 0; i < span.len; i++) {
        const struct pv *pv = span.items[i];
        const struct object_ref *holder = volumes_claim_ref(volumes, pv);
        if ((holder && !claim_ref_matches(holder, pvc)) || !is_suitable(pv, pvc))
            continue;
        if (holder)
            match->prebound.items[match->prebound.len++] = pv;
        else if (is_available(pv, pvc))
            match->available.items[match->available.len++] = pv;
    }
    if (match->available.len)
        qsort(match->available.items, match->available.len, sizeof(*match->available.items), smaller_first);
}

static bool is_taken(const struct pv_list *taken, const struct pv *pv)
{
    for (uint32_t i = 0; i < taken->len; i++)
        if (taken->items[i] == pv)
            return true;
    return false;
}

const struct pv *pv_match_find(const struct pv_match *match, const struct str_map *node_labels,
                               const struct pv_list *taken)
{
    for (uint32_t i = 0; i < match->prebound.len; i++) {
        const struct pv *pv = match->prebound.items[i];
        if (!is_taken(taken, pv))
            return pv_affinity_matches(pv->spec.node_affinity, node_labels) ? pv : NULL;
    }
    for (uint32_t i = 0; i < match->available.len; i++) {
        const struct pv *pv = match->available.items[i];
        if (!is_taken(taken, pv) && pv_affinity_matches(pv->spec.node_affinity, node_labels))
            return pv;
    }
    return NULL;
}
