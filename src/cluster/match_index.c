/* match_index.c: lists by label, and the choice of the shortest one. */
#include "cluster/match_index.h"

#include <stdlib.h>

#include "cluster/pod_class.h"

static uint64_t pair_key(sym key, sym value)
{
    return (uint64_t)key << 32 | value;
}

/* The list under a label, made at first use: an owner_vec or a term_vec. */
static void *list_make(struct idmap *lists, uint64_t key, size_t size)
{
    void *list = idmap_get(lists, key);
    if (!list) {
        list = xcalloc(1, size);
        idmap_put(lists, key, list);
    }
    return list;
}

/* ---- labels ---- */
void match_index_add_owner(struct match_index *index, struct label_owner *owner)
{
    owner->all_slot = (uint32_t)index->all_owners.len;
    *vec_push(&index->all_owners) = owner;
    owner->pair_slots = xcalloc(owner->labels.len, sizeof(*owner->pair_slots));
    for (uint32_t i = 0; i < owner->labels.len; i++) {
        uint64_t key = pair_key(owner->labels.items[i].key, owner->labels.items[i].value);
        owner_vec *list = list_make(&index->owners, key, sizeof(*list));
        owner->pair_slots[i] = (uint32_t)list->len;
        *vec_push(list) = owner;
    }
}

static void note_moved(struct label_owner *moved, sym key, uint32_t slot)
{
    uint32_t at = label_set_place(&moved->labels, key);
    if (at < moved->labels.len)
        moved->pair_slots[at] = slot;
}

void match_index_remove_owner(struct match_index *index, struct label_owner *owner)
{
    vec_swap_remove(&index->all_owners, owner->all_slot);
    if (owner->all_slot < index->all_owners.len)
        index->all_owners.items[owner->all_slot]->all_slot = owner->all_slot;
    for (uint32_t i = 0; i < owner->labels.len; i++) {
        uint64_t key = pair_key(owner->labels.items[i].key, owner->labels.items[i].value);
        owner_vec *list = idmap_get(&index->owners, key);
        uint32_t slot = owner->pair_slots[i];
        vec_swap_remove(list, slot);
        if (slot < list->len)
            note_moved(list->items[slot], owner->labels.items[i].key, slot);
        if (!list->len) {
            vec_release(list);
            free(idmap_remove(&index->owners, key));
        }
    }
    free(owner->pair_slots);
}

static size_t candidates(const struct match_index *index, const struct requirement *req)
{
    size_t count = 0;
    for (uint32_t i = 0; i < req->len; i++) {
        const owner_vec *list = idmap_get(&index->owners, pair_key(req->key, req->values[i]));
        count += list ? list->len : 0;
    }
    return count;
}

static void take_matching(const owner_vec *list, const struct selector *selector, const struct intern *syms,
                          owner_vec *ret)
{
    bool certain = selector->len == 1 && selector->items[0].op == OP_IN; /* the list is that requirement's */
    vec_reserve(ret, ret->len + list->len);
    vec_for(list, owner)
        if (certain || selector_matches(selector, &(*owner)->labels, syms))
            *vec_push(ret) = *owner;
}

const owner_vec *match_owners(struct match_index *index, const struct selector *selector,
                              const struct intern *syms)
{
    owner_vec *found = &index->found_owners;
    const struct requirement *narrowest = NULL;
    size_t fewest = index->all_owners.len + 1;
    vec_clear(found);
    if (selector->never)
        return found;
    for (uint32_t i = 0; i < selector->len; i++) {
        if (selector->items[i].op != OP_IN)
            continue;
        size_t count = candidates(index, &selector->items[i]);
        if (count < fewest) {
            fewest = count;
            narrowest = &selector->items[i];
        }
    }
    if (!narrowest)
        take_matching(&index->all_owners, selector, syms, found);
    for (uint32_t i = 0; narrowest && i < narrowest->len; i++) {
        const owner_vec *list = idmap_get(&index->owners, pair_key(narrowest->key, narrowest->values[i]));
        if (list && (i == 0 || narrowest->values[i] != narrowest->values[i - 1]))
            take_matching(list, selector, syms, found);
    }
    return found;
}

/* ---- terms ---- */
/* The requirement under which a term is listed, or NULL: it requires no value of any label. */
static const struct requirement *anchor(const struct pod_term *term)
{
    for (uint32_t i = 0; i < term->selector.len; i++)
        if (term->selector.items[i].op == OP_IN)
            return &term->selector.items[i];
    return NULL;
}

/* A list has an owner once: its terms are added one after the other, so it is the last if it is there already. */
static void add_once(term_vec *list, struct term_owner *owner)
{
    if (!list->len || list->items[list->len - 1] != owner)
        *vec_push(list) = owner;
}

static void drop_one(term_vec *list, const struct term_owner *owner)
{
    for (size_t i = list->len; i-- > 0;) {
        if (list->items[i] == owner) {
            vec_swap_remove(list, i);
            return;
        }
    }
}

static void list_term(struct match_index *index, struct term_owner *owner, const struct pod_term *term,
                      bool add)
{
    const struct requirement *req = anchor(term);
    if (!req) {
        if (add)
            add_once(&index->loose_terms, owner);
        return;
    }
    for (uint32_t i = 0; i < req->len; i++) {
        uint64_t key = pair_key(req->key, req->values[i]);
        if (add) {
            add_once(list_make(&index->terms, key, sizeof(term_vec)), owner);
            continue;
        }
        term_vec *list = idmap_get(&index->terms, key);
        if (!list)
            continue; /* an earlier term of the owner was there, too */
        drop_one(list, owner);
        if (!list->len) {
            vec_release(list);
            free(idmap_remove(&index->terms, key));
        }
    }
}

static void list_terms(struct match_index *index, struct term_owner *owner, bool add)
{
    const struct pod_terms *kinds[] = { &owner->affinity, &owner->anti, &owner->preferred };
    for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
        for (uint32_t i = 0; i < kinds[k]->len; i++)
            list_term(index, owner, &kinds[k]->items[i], add);
}

void match_index_add_terms(struct match_index *index, struct term_owner *owner)
{
    list_terms(index, owner, true);
}

void match_index_remove_terms(struct match_index *index, struct term_owner *owner)
{
    list_terms(index, owner, false);
    drop_one(&index->loose_terms, owner);
}

static void take_new(const term_vec *list, uint32_t visit, term_vec *ret)
{
    for (size_t i = 0; list && i < list->len; i++) {
        if (list->items[i]->visit == visit)
            continue;
        list->items[i]->visit = visit;
        *vec_push(ret) = list->items[i];
    }
}

const term_vec *match_terms(struct match_index *index, const struct label_set *labels)
{
    term_vec *found = &index->found_terms;
    uint32_t visit = ++index->visits;
    vec_clear(found);
    take_new(&index->loose_terms, visit, found);
    for (uint32_t i = 0; i < labels->len; i++)
        take_new(idmap_get(&index->terms, pair_key(labels->items[i].key, labels->items[i].value)), visit,
                 found);
    return found;
}

void match_index_release(struct match_index *index)
{
    idmap_release(&index->owners);
    vec_release(&index->all_owners);
    idmap_release(&index->terms);
    vec_release(&index->loose_terms);
    vec_release(&index->found_owners);
    vec_release(&index->found_terms);
}
