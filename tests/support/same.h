/* same.h: compares two decoded structs by their field table, for every kind.
 *
 *     struct same same = { 0 };
 *     if (!same_struct(&same, api_kinds[KIND_POD].type, a, b))
 *         fail_msg("they differ at %s", same.path.text);
 *     same_release(&same);
 *
 * Where Go has no pointer, absent and zero are the same: with `through_protobuf` set, an absent string equals an empty
 * one, and so do the few other values that a protobuf message cannot leave out. */
#ifndef SUPPORT_SAME_H
#define SUPPORT_SAME_H

#include <stdlib.h>

#include "api/fields.h"

struct same {
    struct strbuf path; /* of the first difference, from the inside out */
    bool through_protobuf;
};

static inline bool same_struct(struct same *same, const struct record_type *type, const void *a,
                               const void *b);

static inline void same_release(struct same *same)
{
    strbuf_release(&same->path);
}

struct same_list {
    const char *items;
    uint32_t len;
};

/* A part has no struct of its own: its rows are members of the same struct. */
static inline size_t same_kind_size(const struct record_type *type, const struct record_field *field)
{
    size_t size = field->kind->size ? field->kind->size : field->type->size;
    return size == type->size ? 0 : size;
}

/* Members without a row were derived by the type's finish(). */
static inline bool same_derived(const struct record_type *type, const void *a, const void *b)
{
    char *left = malloc(type->size), *right = malloc(type->size);
    memcpy(left, a, type->size);
    memcpy(right, b, type->size);
    for (uint32_t i = 0; i < type->len; i++) {
        memset(left + type->fields[i].offset, 0, same_kind_size(type, &type->fields[i]));
        memset(right + type->fields[i].offset, 0, same_kind_size(type, &type->fields[i]));
    }
    bool equal = memcmp(left, right, type->size) == 0;
    free(left);
    free(right);
    return equal;
}

static inline bool same_quantity(const struct quantity *a, const struct quantity *b)
{
    return a == b || (a && b && a->units == b->units && a->nano == b->nano);
}

static inline bool same_text(struct str a, struct str b)
{
    return str_eq(a, b) && !a.ptr == !b.ptr;
}

/* Entries begin with their key, which has no row. */
static inline bool same_entry(struct same *same, const struct record_type *type, const void *a, const void *b)
{
    return str_eq(*(const struct str *)a, *(const struct str *)b) && same_struct(same, type, a, b);
}

static inline bool same_items(struct same *same, const struct record_field *field, const struct same_list *a,
                              const struct same_list *b)
{
    size_t size = field->type ? field->type->size : field->kind->item_size;
    if (a->len != b->len)
        return false;
    for (uint32_t i = 0; i < a->len; i++) {
        const void *left = a->items + i * size, *right = b->items + i * size;
        const struct pair *pair = left, *other_pair = right;
        const struct resource *resource = left, *other_resource = right;
        bool equal = true, is_plain = field->kind == &record_INT64S || field->kind == &record_BOOLS;
        if (is_plain)
            equal = memcmp(left, right, size) == 0;
        else if (!field->type && field->kind != &record_QUANTITIES)
            equal = str_eq(*(const struct str *)left, *(const struct str *)right);
        if (field->kind == &record_LIST)
            equal = same_struct(same, field->type, left, right);
        else if (field->kind == &record_MAP)
            equal = same_entry(same, field->type, left, right);
        else if (field->kind == &record_QUANTITIES)
            equal = same_quantity(left, right);
        else if (field->kind == &record_PAIRS)
            equal &= str_eq(pair->value, other_pair->value);
        else if (field->kind == &record_RESOURCES)
            equal &= same_quantity(&resource->amount, &other_resource->amount);
        if (!equal) {
            strbuf_printf(&same->path, " [%u]", i);
            return false;
        }
    }
    return true;
}

static inline bool same_number(const struct same *same, const struct record_field *field, const void *a,
                               const void *b)
{
    struct opt_int64 left = { 0 }, right = { 0 };
    if (field->kind == &record_OPT_INT32) {
        left = (struct opt_int64){ ((const struct opt_int32 *)a)->set, ((const struct opt_int32 *)a)->value };
        right =
            (struct opt_int64){ ((const struct opt_int32 *)b)->set, ((const struct opt_int32 *)b)->value };
    } else {
        left = (struct opt_int64){ ((const struct opt_int64 *)a)->set, ((const struct opt_int64 *)a)->value };
        right =
            (struct opt_int64){ ((const struct opt_int64 *)b)->set, ((const struct opt_int64 *)b)->value };
    }
    /* Counters of controllers and the first ordinal are not pointers in Go. */
    static const char *const open[] = { "readyReplicas", "numberReady", "start" };
    for (size_t i = 0; same->through_protobuf && i < ARRAY_SIZE(open); i++)
        if (strcmp(field->name, open[i]) == 0)
            return left.value == right.value;
    return left.set == right.set && left.value == right.value;
}

static inline bool same_pointed(struct same *same, const struct record_field *field, const void *a,
                                const void *b)
{
    if (!a || !b)
        return a == b;
    return same_struct(same, field->type, a, b);
}

static inline bool same_time(const struct same *same, const struct record_field *field,
                             const struct opt_time *a, const struct opt_time *b)
{
    return a->set == b->set && a->seconds == b->seconds &&
           (a->nanos == b->nanos || (same->through_protobuf && field->kind == &record_TIME));
}

static inline bool same_field(struct same *same, const struct record_field *field, const void *a,
                              const void *b)
{
    const struct record_kind *kind = field->kind;
    const struct int_or_str *either_a = a, *either_b = b;
    if (kind == &record_OPT_STR || (kind == &record_STR && !same->through_protobuf))
        return same_text(*(const struct str *)a, *(const struct str *)b);
    if (kind == &record_OPT_INT32 || kind == &record_OPT_INT64)
        return same_number(same, field, a, b);
    if (kind == &record_TIME || kind == &record_MICRO_TIME)
        return same_time(same, field, a, b);
    if (kind == &record_INT_OR_STR)
        return either_a->set == either_b->set && either_a->number == either_b->number &&
               same_text(either_a->text, either_b->text);
    if (kind == &record_QUANTITY)
        return same_quantity(*(struct quantity *const *)a, *(struct quantity *const *)b);
    if (kind == &record_STRUCT)
        return same_struct(same, field->type, a, b);
    if (kind == &record_PTR)
        return same_pointed(same, field, *(const void *const *)a, *(const void *const *)b);
    if (kind->ops == &record_list_ops || kind->ops == &record_map_ops)
        return same_items(same, field, a, b);
    return record_member_equal((struct record_member){ field, 0 }, a, b);
}

static inline bool same_struct(struct same *same, const struct record_type *type, const void *a,
                               const void *b)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        if (field->name &&
            !same_field(same, field, (const char *)a + field->offset, (const char *)b + field->offset)) {
            strbuf_printf(&same->path, " %s", field->name);
            return false;
        }
    }
    if (type->finish && !same_derived(type, a, b)) {
        strbuf_puts(&same->path, " (derived)");
        return false;
    }
    return true;
}

#endif
