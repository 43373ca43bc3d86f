/* labels.c: compile and match. */
#include "cluster/labels.h"

#include <stdlib.h>

static int by_key(const void *a, const void *b)
{
    sym x = ((const struct label *)a)->key, y = ((const struct label *)b)->key;
    return (x > y) - (x < y);
}

void label_set_init(struct label_set *set, struct intern *syms, const struct str_map *labels)
{
    set->len = labels->len;
    set->items = set->len ? xcalloc(set->len, sizeof(*set->items)) : NULL;
    for (uint32_t i = 0; i < set->len; i++) {
        set->items[i].key = intern_get(syms, labels->items[i].key);
        set->items[i].value = intern_get(syms, labels->items[i].value);
    }
    if (set->len > 1)
        qsort(set->items, set->len, sizeof(*set->items), by_key);
}

void label_set_release(struct label_set *set, struct intern *syms)
{
    for (uint32_t i = 0; i < set->len; i++) {
        intern_unref(syms, set->items[i].key);
        intern_unref(syms, set->items[i].value);
    }
    free(set->items);
    *set = (struct label_set){ 0 };
}

uint32_t label_set_place(const struct label_set *set, sym key)
{
    const struct label wanted = { .key = key }, *found = NULL;
    if (set->len)
        found = bsearch(&wanted, set->items, set->len, sizeof(*set->items), by_key);
    return found ? (uint32_t)(found - set->items) : set->len;
}

static int by_sym(const void *a, const void *b)
{
    sym x = *(const sym *)a, y = *(const sym *)b;
    return (x > y) - (x < y);
}

static struct requirement *grow(struct selector *sel, struct arena *arena, uint32_t more)
{
    sel->items = arena_copy(arena, struct requirement, sel->items, sel->len, sel->len + more);
    return sel->items + sel->len;
}

void selector_add_pairs(struct selector *sel, struct intern *syms, struct arena *arena,
                        const struct pair *pairs, uint32_t len)
{
    struct requirement *req = grow(sel, arena, len);
    for (uint32_t i = 0; i < len; i++, req++) {
        *req = (struct requirement){ .key = intern_get(syms, pairs[i].key), .op = OP_IN, .len = 1 };
        req->values = arena_new(arena, sym);
        req->values[0] = intern_get(syms, pairs[i].value);
    }
    sel->len += len;
}

void selector_add(struct selector *sel, struct intern *syms, struct arena *arena,
                  const struct selector_requirement *reqs, uint32_t len)
{
    struct requirement *req = grow(sel, arena, len);
    for (uint32_t i = 0; i < len; i++, req++) {
        const struct selector_requirement *api = &reqs[i];
        *req = (struct requirement){ .key = intern_get(syms, api->key), .op = api->op };
        if (api->op == OP_GT || api->op == OP_LT) {
            if (api->values.len != 1 || !str_to_int64(api->values.items[0], &req->bound))
                sel->never = true;
        } else if (api->op == OP_INVALID) {
            sel->never = true;
        } else if (api->op == OP_IN || api->op == OP_NOT_IN) {
            req->len = api->values.len;
            req->values = arena_array(arena, sym, req->len);
            for (uint32_t v = 0; v < req->len; v++)
                req->values[v] = intern_get(syms, api->values.items[v]);
            if (req->len > 1)
                qsort(req->values, req->len, sizeof(*req->values), by_sym);
        }
    }
    sel->len += len;
}

void selector_init(struct selector *sel, struct intern *syms, struct arena *arena,
                   const struct label_selector *api)
{
    *sel = (struct selector){ .never = !api || api->invalid };
    if (!api)
        return;
    selector_add_pairs(sel, syms, arena, api->match_labels.items, api->match_labels.len);
    selector_add(sel, syms, arena, api->match_expressions.items, api->match_expressions.len);
}

void selector_release(struct selector *sel, struct intern *syms)
{
    for (uint32_t i = 0; i < sel->len; i++) {
        intern_unref(syms, sel->items[i].key);
        for (uint32_t v = 0; v < sel->items[i].len; v++)
            intern_unref(syms, sel->items[i].values[v]);
    }
    *sel = (struct selector){ .never = true };
}

static bool listed(const struct requirement *req, sym value)
{
    if (req->len > SYMS_SCANNED)
        return bsearch(&value, req->values, req->len, sizeof(*req->values), by_sym);
    for (uint32_t i = 0; i < req->len; i++)
        if (req->values[i] == value)
            return true;
    return false;
}

bool requirement_holds(const struct requirement *req, sym value, const struct intern *syms)
{
    int64_t number;
    switch (req->op) {
    case OP_IN:
        return value && listed(req, value);
    case OP_NOT_IN:
        return !value || !listed(req, value);
    case OP_EXISTS:
        return value;
    case OP_DOES_NOT_EXIST:
        return !value;
    case OP_GT:
        return value && str_to_int64(intern_text(syms, value), &number) && number > req->bound;
    case OP_LT:
        return value && str_to_int64(intern_text(syms, value), &number) && number < req->bound;
    default:
        return false;
    }
}

bool selector_matches(const struct selector *sel, const struct label_set *labels, const struct intern *syms)
{
    if (sel->never)
        return false;
    for (uint32_t i = 0; i < sel->len; i++)
        if (!requirement_holds(&sel->items[i], label_set_get(labels, sel->items[i].key), syms))
            return false;
    return true;
}
