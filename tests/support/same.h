/* same.h: are two decoded structs the same? By field table, so that it holds for every kind.
 *
 *     struct same same = { 0 };
 *     if (!same_struct(&same, api_kinds[KIND_POD].type, a, b))
 *         fail_msg("they differ at %s", same.path.text);
 *     same_release(&same);
 *
 * Where Go has no pointer, absent and zero are the same thing: with `wire` set, a plain string that is absent is the
 * same as one that is empty, and so are the few other things that a protobuf message can not leave open. */
#ifndef SUPPORT_SAME_H
#define SUPPORT_SAME_H

#include <stdlib.h>

#include "api/fields.h"

struct same {
    struct strbuf path; /* of the first difference, from the inside out */
    bool wire;
};

static inline bool same_struct(struct same *same, const struct type *type, const void *a, const void *b);

static inline void same_release(struct same *same)
{
    strbuf_release(&same->path);
}

struct same_list {
    const char *items;
    uint32_t len;
};

static inline size_t same_kind_size(const struct field *field)
{
    switch ((enum field_kind)field->kind) {
#define X(name, ctype) \
    case FIELD_##name: \
        return sizeof(ctype);
        FIELD_KINDS(X)
#undef X
    case FIELD_KEYS:
    case FIELD_LIST:
    case FIELD_MAP:
        return sizeof(struct same_list);
    case FIELD_PTR:
        return sizeof(void *);
    case FIELD_STRUCT:
        return field->type->size;
    default: /* FIELD_PART has nothing of its own */
        return 0;
    }
}

/* What no row names was derived by the type's finish(). */
static inline bool same_derived(const struct type *type, const void *a, const void *b)
{
    char *left = malloc(type->size), *right = malloc(type->size);
    memcpy(left, a, type->size);
    memcpy(right, b, type->size);
    for (uint32_t i = 0; i < type->len; i++) {
        memset(left + type->fields[i].offset, 0, same_kind_size(&type->fields[i]));
        memset(right + type->fields[i].offset, 0, same_kind_size(&type->fields[i]));
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

/* Entries begin with their key, which no row names. */
static inline bool same_entry(struct same *same, const struct type *type, const void *a, const void *b)
{
    return str_eq(*(const struct str *)a, *(const struct str *)b) && same_struct(same, type, a, b);
}

static inline bool same_items(struct same *same, const struct field *field, const struct same_list *a,
                              const struct same_list *b)
{
    size_t size = field->type                       ? field->type->size
                  : field->kind == FIELD_PAIRS      ? sizeof(struct pair)
                  : field->kind == FIELD_RESOURCES  ? sizeof(struct resource)
                  : field->kind == FIELD_QUANTITIES ? sizeof(struct quantity)
                                                    : sizeof(struct str);
    if (a->len != b->len)
        return false;
    for (uint32_t i = 0; i < a->len; i++) {
        const void *left = a->items + i * size, *right = b->items + i * size;
        const struct pair *pair = left, *other_pair = right;
        const struct resource *resource = left, *other_resource = right;
        bool equal = true;
        if (!field->type && field->kind != FIELD_QUANTITIES)
            equal = str_eq(*(const struct str *)left, *(const struct str *)right);
        if (field->kind == FIELD_LIST)
            equal = same_struct(same, field->type, left, right);
        else if (field->kind == FIELD_MAP)
            equal = same_entry(same, field->type, left, right);
        else if (field->kind == FIELD_QUANTITIES)
            equal = same_quantity(left, right);
        else if (field->kind == FIELD_PAIRS)
            equal &= str_eq(pair->value, other_pair->value);
        else if (field->kind == FIELD_RESOURCES)
            equal &= same_quantity(&resource->amount, &other_resource->amount);
        if (!equal) {
            strbuf_printf(&same->path, " [%u]", i);
            return false;
        }
    }
    return true;
}

static inline bool same_number(const struct same *same, const struct field *field, const void *a,
                               const void *b)
{
    struct opt_int64 left = { 0 }, right = { 0 };
    if (field->kind == FIELD_OPT_INT32) {
        left = (struct opt_int64){ ((const struct opt_int32 *)a)->set, ((const struct opt_int32 *)a)->value };
        right =
            (struct opt_int64){ ((const struct opt_int32 *)b)->set, ((const struct opt_int32 *)b)->value };
    } else {
        left = (struct opt_int64){ ((const struct opt_int64 *)a)->set, ((const struct opt_int64 *)a)->value };
        right =
            (struct opt_int64){ ((const struct opt_int64 *)b)->set, ((const struct opt_int64 *)b)->value };
    }
    /* Counters of controllers and the first ordinal are no pointers in Go. */
    static const char *const open[] = { "readyReplicas", "numberReady", "start" };
    for (size_t i = 0; same->wire && i < ARRAY_SIZE(open); i++)
        if (strcmp(field->name, open[i]) == 0)
            return left.value == right.value;
    return left.set == right.set && left.value == right.value;
}

static inline bool same_pointed(struct same *same, const struct field *field, const void *a, const void *b)
{
    if (!a || !b)
        return a == b;
    return same_struct(same, field->type, a, b);
}

static inline bool same_field(struct same *same, const struct field *field, const void *a, const void *b)
{
    const struct opt_bool *bool_a = a, *bool_b = b;
    const struct opt_time *time_a = a, *time_b = b;
    const struct int_or_str *either_a = a, *either_b = b;
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
        return same->wire ? str_eq(*(const struct str *)a, *(const struct str *)b)
                          : same_text(*(const struct str *)a, *(const struct str *)b);
    case FIELD_RAW:
        return str_eq(*(const struct str *)a, *(const struct str *)b);
    case FIELD_OPT_STR:
        return same_text(*(const struct str *)a, *(const struct str *)b);
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_OPT_BOOL:
        return bool_a->set == bool_b->set && bool_a->value == bool_b->value;
    case FIELD_INT32:
        return *(const int32_t *)a == *(const int32_t *)b;
    case FIELD_INT64:
        return *(const int64_t *)a == *(const int64_t *)b;
    case FIELD_OPT_INT32:
    case FIELD_OPT_INT64:
        return same_number(same, field, a, b);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return time_a->set == time_b->set && time_a->seconds == time_b->seconds &&
               (time_a->nanos == time_b->nanos || (same->wire && field->kind == FIELD_TIME));
    case FIELD_INT_OR_STR:
        return either_a->set == either_b->set && either_a->number == either_b->number &&
               same_text(either_a->text, either_b->text);
    case FIELD_QUANTITY:
        return same_quantity(*(struct quantity *const *)a, *(struct quantity *const *)b);
    case FIELD_STRUCT:
    case FIELD_PART:
        return same_struct(same, field->type, a, b);
    case FIELD_PTR:
        return same_pointed(same, field, *(const void *const *)a, *(const void *const *)b);
    default:
        return same_items(same, field, a, b);
    }
}

static inline bool same_struct(struct same *same, const struct type *type, const void *a, const void *b)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct field *field = &type->fields[i];
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
