/* labels.c: matching of label and node selectors. */
#include "api/labels.h"

#include <stdlib.h>

#include "codec/record.h"

const struct str *str_map_get(const struct str_map *map, struct str key)
{
    const struct pair *pair = record_map_find(map->items, map->len, sizeof(*pair), key);
    return pair ? &pair->value : NULL;
}

static bool has_pair(const struct str_map *labels, const struct pair *wanted)
{
    const struct str *value = str_map_get(labels, wanted->key);
    return value && str_eq(*value, wanted->value);
}

bool str_map_contains_all(const struct str_map *labels, const struct str_map *wanted)
{
    list_for(wanted, pair)
        if (!has_pair(labels, pair))
            return false;
    return true;
}

enum selector_op selector_op_from(struct str text)
{
    static const struct {
        struct str text;
        enum selector_op op;
    } known[] = {
        { { "In", 2 }, OP_IN },        { { "Exists", 6 }, OP_EXISTS },
        { { "NotIn", 5 }, OP_NOT_IN }, { { "DoesNotExist", 12 }, OP_DOES_NOT_EXIST },
        { { "Gt", 2 }, OP_GT },        { { "Lt", 2 }, OP_LT },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (str_eq(known[i].text, text))
            return known[i].op;
    return OP_INVALID;
}

const struct owner_ref *controller_of(const struct meta *meta)
{
    list_for(&meta->owners, ref)
        if (ref->controller.set && ref->controller.value)
            return ref;
    return NULL;
}

bool str_list_has(const struct str_list *values, struct str wanted)
{
    list_for(values, value)
        if (str_eq(*value, wanted))
            return true;
    return false;
}

void str_list_sort_unique(struct str_list *list)
{
    uint32_t kept = 0;
    if (list->len)
        qsort(list->items, list->len, sizeof(*list->items), str_qsort_cmp);
    list_for(list, item)
        if (!kept || !str_eq(list->items[kept - 1], *item))
            list->items[kept++] = *item;
    list->len = kept;
}

bool str_list_same_set(const struct str_list *a, const struct str_list *b)
{
    list_for(a, item)
        if (!str_list_has(b, *item))
            return false;
    list_for(b, item)
        if (!str_list_has(a, *item))
            return false;
    return true;
}

static bool compares(const struct selector_requirement *req, struct str value)
{
    int64_t have, bound;
    if (req->values.len != 1 || !str_to_int64(value, &have) || !str_to_int64(req->values.items[0], &bound))
        return false;
    return req->op == OP_GT ? have > bound : have < bound;
}

bool requirement_matches(const struct selector_requirement *req, const struct str_map *labels)
{
    const struct str *value = str_map_get(labels, req->key);
    switch (req->op) {
    case OP_IN:
        return value && str_list_has(&req->values, *value);
    case OP_NOT_IN:
        return !value || !str_list_has(&req->values, *value);
    case OP_EXISTS:
        return value;
    case OP_DOES_NOT_EXIST:
        return !value;
    case OP_GT:
    case OP_LT:
        return value && compares(req, *value);
    case OP_INVALID:
        break;
    }
    return false;
}

bool label_selector_matches(const struct label_selector *sel, const struct str_map *labels)
{
    if (!sel || sel->invalid || !str_map_contains_all(labels, &sel->match_labels))
        return false;
    list_for(&sel->match_expressions, req)
        if (req->op == OP_GT || req->op == OP_LT || !requirement_matches(req, labels))
            return false;
    return true;
}

/* Fields are compared as text: one that does not exist is "". */
static bool field_matches(const struct selector_requirement *req, struct str name)
{
    if (req->values.len != 1)
        return false;
    struct str field = str_eq(req->key, STR("metadata.name")) ? name : STR("");
    bool equal = str_eq(field, req->values.items[0]);
    return req->op == OP_IN ? equal : req->op == OP_NOT_IN && !equal;
}

bool node_selector_term_matches(const struct node_selector_term *term, struct str name,
                                const struct str_map *labels)
{
    if (term->invalid || term->match_expressions.len + (uint64_t)term->match_fields.len == 0)
        return false;
    list_for(&term->match_expressions, req)
        if (!requirement_matches(req, labels))
            return false;
    if (name.len == 0)
        return true;
    list_for(&term->match_fields, req)
        if (!field_matches(req, name))
            return false;
    return true;
}

bool node_selector_matches(const struct node_selector *sel, struct str name, const struct str_map *labels)
{
    if (!sel)
        return false;
    list_for(&sel->terms, term)
        if (node_selector_term_matches(term, name, labels))
            return true;
    return false;
}
