/* pv_match.c: matching claims with volumes. */
#include "plugins/volume_binding/pv_match.h"

#include <stdlib.h>

#include "api/labels.h"

bool pv_affinity_matches(const struct node_selector *affinity, const struct str_map *node_labels)
{
    /* matchFields never match: the reference matches the labels of a node without a name. */
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

/* What a volume needs that is not reserved for a claim. */
static bool is_available(const struct pv *pv, const struct pvc *pvc)
{
    if (!str_is(pv->phase, "Available"))
        return false;
    if (pvc->spec.selector && !label_selector_matches(pvc->spec.selector, &pv->meta.labels))
        return false;
    list_for(&pvc->spec.access_modes, mode)
        if (!str_list_has(&pv->spec.access_modes, *mode))
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

/* ---- anchors ---- */
/* The expression of a term that names labels a node must have, or NULL. */
static const struct selector_requirement *term_anchor(const struct node_selector_term *term)
{
    list_for(&term->match_expressions, expression)
        if (expression->op == OP_IN)
            return expression;
    return NULL;
}

static bool term_matches_nothing(const struct node_selector_term *term)
{
    return term->invalid || (!term->match_expressions.len && !term->match_fields.len);
}

/* How many anchors the volume needs; UINT32_MAX: it has a term without any. */
static uint32_t count_anchors(const struct pv *pv)
{
    uint32_t count = 0;
    if (!pv->spec.node_affinity)
        return UINT32_MAX;
    list_for(&pv->spec.node_affinity->terms, term) {
        if (term_matches_nothing(term))
            continue;
        const struct selector_requirement *anchor = term_anchor(term);
        if (!anchor || anchor->values.len > 8)
            return UINT32_MAX;
        count += anchor->values.len;
    }
    return count;
}

static bool keys_add(struct pv_match *match, struct str key)
{
    for (uint32_t i = 0; i < match->keys_len; i++)
        if (str_eq(match->keys[i], key))
            return true;
    if (match->keys_len == PV_ANCHOR_KEYS)
        return false;
    match->keys[match->keys_len++] = key;
    return true;
}

/* False: the volume must be loose. */
static bool add_anchors(struct pv_match *match, uint32_t at)
{
    const struct pv *pv = match->available.items[at];
    uint32_t before = match->anchors_len;
    if (count_anchors(pv) == UINT32_MAX)
        return false;
    list_for(&pv->spec.node_affinity->terms, term) {
        if (term_matches_nothing(term))
            continue;
        const struct selector_requirement *anchor = term_anchor(term);
        if (!keys_add(match, anchor->key)) {
            match->anchors_len = before;
            return false;
        }
        list_for(&anchor->values, value)
            match->anchors[match->anchors_len++] = (struct pv_anchor){ anchor->key, *value, at };
    }
    return true;
}

static int anchor_cmp(const void *x, const void *y)
{
    const struct pv_anchor *a = x, *b = y;
    int order = str_cmp(a->key, b->key);
    if (!order)
        order = str_cmp(a->value, b->value);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

static void anchor_available(struct pv_match *match, struct arena *arena)
{
    size_t anchors = 0;
    for (uint32_t i = 0; i < match->available.len; i++) {
        uint32_t count = count_anchors(match->available.items[i]);
        anchors += count == UINT32_MAX ? 0 : count;
    }
    match->anchors = arena_array(arena, struct pv_anchor, anchors);
    match->loose = arena_array(arena, uint32_t, match->available.len);
    for (uint32_t i = 0; i < match->available.len; i++)
        if (!add_anchors(match, i))
            match->loose[match->loose_len++] = i;
    if (match->anchors_len)
        qsort(match->anchors, match->anchors_len, sizeof(*match->anchors), anchor_cmp);
}

void pv_match_init(struct pv_match *match, const struct volumes *volumes, const struct pvc *pvc,
                   struct arena *arena)
{
    *match = (struct pv_match){ 0 };
    struct error err;
    if (label_selector_check(pvc->spec.selector, &err) < 0) {
        match->invalid = true;
        match->why = arena_printf(arena, "error creating internal label selector for claim: " META_FMT ": %s",
                                  META_ARG(&pvc->meta), err.text);
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
    anchor_available(match, arena);
}

/* ---- a node ---- */
static bool is_taken(const struct pv_list *taken, const struct pv *pv)
{
    for (uint32_t i = 0; i < taken->len; i++)
        if (taken->items[i] == pv)
            return true;
    return false;
}

/* Places still to look at, ascending: anchors under one label of the node. */
struct cursor {
    const struct pv_anchor *next, *end;
};

static struct cursor anchors_under(const struct pv_match *match, struct str key, const struct str *value)
{
    if (!value)
        return (struct cursor){ 0 };
    uint32_t low = 0, high = match->anchors_len;
    struct pv_anchor wanted = { key, *value, 0 };
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (anchor_cmp(&match->anchors[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct cursor cursor = { match->anchors + low, match->anchors + low };
    while (cursor.end < match->anchors + match->anchors_len && str_eq(cursor.end->key, key) &&
           str_eq(cursor.end->value, *value))
        cursor.end++;
    return cursor;
}

/* The smallest available volume that the node reaches: a merge of its anchors with the loose ones. */
static const struct pv *find_available(const struct pv_match *match, const struct str_map *node_labels,
                                       const struct pv_list *taken)
{
    struct cursor cursors[PV_ANCHOR_KEYS];
    for (uint32_t k = 0; k < match->keys_len; k++)
        cursors[k] = anchors_under(match, match->keys[k], str_map_get(node_labels, match->keys[k]));
    for (uint32_t loose = 0;;) {
        uint32_t at = loose < match->loose_len ? match->loose[loose] : UINT32_MAX;
        struct cursor *from = NULL;
        for (uint32_t k = 0; k < match->keys_len; k++) {
            if (cursors[k].next < cursors[k].end && cursors[k].next->at < at) {
                from = &cursors[k];
                at = from->next->at;
            }
        }
        if (at == UINT32_MAX)
            return NULL;
        const struct pv *pv = match->available.items[at];
        if (!is_taken(taken, pv) && pv_affinity_matches(pv->spec.node_affinity, node_labels))
            return pv;
        if (from)
            from->next++;
        else
            loose++;
    }
}

const struct pv *pv_match_find(const struct pv_match *match, const struct str_map *node_labels,
                               const struct pv_list *taken)
{
    for (uint32_t i = 0; i < match->prebound.len; i++) {
        const struct pv *pv = match->prebound.items[i];
        if (!is_taken(taken, pv))
            return pv_affinity_matches(pv->spec.node_affinity, node_labels) ? pv : NULL;
    }
    return find_available(match, node_labels, taken);
}
