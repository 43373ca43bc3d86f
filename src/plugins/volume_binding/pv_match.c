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

static bool is_large_enough(const struct pv *pv, struct quantity wanted)
{
    return quantity_cmp(storage_amount(&pv->spec.capacity, NULL), wanted) >= 0;
}

/* What every volume needs beside its size, meant for the claim or not. */
static bool is_suitable(const struct pv *pv, const struct pvc *pvc)
{
    return str_eq(volume_mode(pv->spec.volume_mode), volume_mode(pvc->spec.volume_mode)) &&
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

static int held_cmp(const void *x, const void *y)
{
    const struct pv_held *a = x, *b = y;
    return str_cmp(a->claim, b->claim) ?: str_cmp(a->pv->meta.name, b->pv->meta.name);
}

/* What is kept is copied: of the volumes of a class often only a few are. */
static void find_volumes(struct pv_match *match, const struct volumes *volumes, const struct pvc *pvc,
                         struct arena *arena)
{
    struct pv_span span = volumes_of_class(volumes, pvc_class_name(pvc));
    VEC(const struct pv *) available = { 0 };
    VEC(struct pv_held) held = { 0 };
    for (size_t i = 0; i < span.len; i++) {
        const struct pv *pv = span.items[i];
        const struct object_ref *ref = volumes_claim_ref(volumes, pv);
        if (ref && !str_eq(ref->namespace, pvc->meta.namespace))
            continue;
        if (!is_suitable(pv, pvc))
            continue;
        if (ref)
            *vec_push(&held) = (struct pv_held){ ref->name, pv, ref };
        else if (is_available(pv, pvc))
            *vec_push(&available) = pv;
    }
    vec_sort(&available, smaller_first);
    vec_sort(&held, held_cmp);
    match->available.len = (uint32_t)available.len;
    match->available.items =
        arena_copy(arena, const struct pv *, available.items, available.len, available.len);
    match->held_len = (uint32_t)held.len;
    match->held = arena_copy(arena, struct pv_held, held.items, held.len, held.len);
    vec_release(&available);
    vec_release(&held);
    anchor_available(match, arena);
}

/* ---- claims that are alike ---- */
static void put_text(struct strbuf *out, struct str text)
{
    strbuf_add(out, (const char *)&text.len, sizeof(text.len));
    strbuf_str(out, text);
}

static void put_texts(struct strbuf *out, const struct str_list *texts)
{
    strbuf_add(out, (const char *)&texts->len, sizeof(texts->len));
    list_for(texts, text)
        put_text(out, *text);
}

static void put_selector(struct strbuf *out, const struct label_selector *selector)
{
    strbuf_add(out, (const char *)&selector->match_labels.len, sizeof(selector->match_labels.len));
    list_for(&selector->match_labels, pair) {
        put_text(out, pair->key);
        put_text(out, pair->value);
    }
    list_for(&selector->match_expressions, requirement) {
        put_text(out, requirement->key);
        put_text(out, requirement->operator);
        put_texts(out, &requirement->values);
    }
}

/* All that decides about volumes but the name and the size. */
static void put_likeness(struct strbuf *out, const struct pvc *pvc)
{
    put_text(out, pvc_class_name(pvc));
    put_text(out, volume_mode(pvc->spec.volume_mode));
    put_text(out, pvc->spec.volume_attributes_class_name);
    put_texts(out, &pvc->spec.access_modes);
    strbuf_putc(out, pvc->spec.selector ? pvc->spec.selector->invalid ? 'i' : 's' : '-');
    if (pvc->spec.selector)
        put_selector(out, pvc->spec.selector);
}

static const struct pv_match *match_of(struct strmap *alike, const struct volumes *volumes,
                                       const struct pvc *pvc, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf likeness = { 0 };
    struct error err;
    put_likeness(&likeness, pvc);
    struct pv_match *match = strmap_get(alike, strbuf_slice(&likeness));
    if (match)
        return match;
    match = arena_new(arena, struct pv_match);
    match->number = (uint32_t)alike->len;
    if (label_selector_check(pvc->spec.selector, &err) < 0)
        match->why = arena_printf(arena, "%s", err.text);
    else
        find_volumes(match, volumes, pvc, arena);
    strmap_put(alike, arena_str(arena, strbuf_slice(&likeness)), match);
    return match;
}

static uint32_t first_of_size(const struct pv_match *match, struct quantity size)
{
    uint32_t low = 0, high = match->available.len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (is_large_enough(match->available.items[middle], size))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static uint32_t first_held(const struct pv_match *match, struct str claim)
{
    uint32_t low = 0, high = match->held_len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (str_cmp(match->held[middle].claim, claim) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void pv_choice_init(struct pv_choice *choice, struct strmap *alike, const struct volumes *volumes,
                    const struct pvc *pvc, struct quantity size, struct arena *arena)
{
    *choice = (struct pv_choice){ .match = match_of(alike, volumes, pvc, arena) };
    if (choice->match->why.len)
        return;
    choice->first = first_of_size(choice->match, size);
    uint32_t at = first_held(choice->match, pvc->meta.name), end = at;
    while (end < choice->match->held_len && str_eq(choice->match->held[end].claim, pvc->meta.name))
        end++;
    choice->prebound.items = arena_array(arena, const struct pv *, end - at);
    for (; at < end; at++)
        if (claim_ref_matches(choice->match->held[at].ref, pvc) &&
            is_large_enough(choice->match->held[at].pv, size))
            choice->prebound.items[choice->prebound.len++] = choice->match->held[at].pv;
}

/* ---- a node ---- */
static struct pv_cursor anchors_under(const struct pv_match *match, struct str key, const struct str *value)
{
    if (!value)
        return (struct pv_cursor){ 0 };
    uint32_t low = 0, high = match->anchors_len;
    struct pv_anchor wanted = { key, *value, 0 };
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (anchor_cmp(&match->anchors[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct pv_cursor cursor = { match->anchors + low, match->anchors + low };
    while (cursor.end < match->anchors + match->anchors_len && str_eq(cursor.end->key, key) &&
           str_eq(cursor.end->value, *value))
        cursor.end++;
    return cursor;
}

static void begin(struct pv_search *search, const struct pv_match *match, const struct str_map *node_labels)
{
    search->has_begun = true;
    for (uint32_t k = 0; k < match->keys_len; k++)
        search->cursors[k] = anchors_under(match, match->keys[k], str_map_get(node_labels, match->keys[k]));
}

/* The next place of the merge of the anchors with the loose volumes; UINT32_MAX: none is left. */
static uint32_t next_place(struct pv_search *search, const struct pv_match *match)
{
    uint32_t at = search->loose < match->loose_len ? match->loose[search->loose] : UINT32_MAX;
    struct pv_cursor *from = NULL;
    for (uint32_t k = 0; k < match->keys_len; k++) {
        struct pv_cursor *cursor = &search->cursors[k];
        if (cursor->next < cursor->end && cursor->next->at < at) {
            from = cursor;
            at = cursor->next->at;
        }
    }
    if (from)
        from->next++;
    else if (at != UINT32_MAX)
        search->loose++;
    return at;
}

/* The smallest available volume that the node reaches. A place may come twice, from anchors of two keys: it is taken
 * then, or was not reachable the first time. */
static const struct pv *find_available(const struct pv_choice *choice, struct pv_search *search,
                                       const struct str_map *node_labels, const struct idmap *taken)
{
    const struct pv_match *match = choice->match;
    if (!search->has_begun)
        begin(search, match, node_labels);
    for (uint32_t at; (at = next_place(search, match)) != UINT32_MAX;) {
        const struct pv *pv = match->available.items[at];
        if (at >= choice->first && !idmap_get(taken, (uintptr_t)pv) &&
            pv_affinity_matches(pv->spec.node_affinity, node_labels))
            return pv;
    }
    return NULL;
}

const struct pv *pv_choice_find(const struct pv_choice *choice, struct pv_search *searches,
                                const struct str_map *node_labels, struct idmap *taken)
{
    const struct pv *found = NULL;
    for (uint32_t i = 0; i < choice->prebound.len && !found; i++)
        if (!idmap_get(taken, (uintptr_t)choice->prebound.items[i]))
            found = choice->prebound.items[i];
    if (found && !pv_affinity_matches(found->spec.node_affinity, node_labels))
        return NULL;
    if (!found)
        found = find_available(choice, &searches[choice->match->number], node_labels, taken);
    if (found)
        idmap_put(taken, (uintptr_t)found, (void *)(uintptr_t)found);
    return found;
}
