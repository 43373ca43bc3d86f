/* values.c: walks over field tables; see values.h. */
#include "api/values.h"

/* All LIST(type) have this shape. */
struct any_list {
    char *items;
    uint32_t len;
};

static const struct str *text_at(const void *at)
{
    return at;
}

/* ---- copying ---- */
static void copy_text(struct str *text, struct arena *arena)
{
    if (text->ptr)
        *text = text->len ? arena_str(arena, *text) : STR("");
}

static void copy_texts(struct str *items, uint32_t len, struct arena *arena)
{
    for (uint32_t i = 0; i < len; i++)
        copy_text(&items[i], arena);
}

/* The items themselves; what they point to is still the source's. */
static void copy_items(struct any_list *list, size_t size, struct arena *arena)
{
    char *items = arena_alloc(arena, arena_bytes(list->len, size));
    if (list->len)
        memcpy(items, list->items, list->len * size);
    list->items = items;
}

static void *copy_struct(const struct type *type, const void *value, struct arena *arena)
{
    void *copy = arena_alloc(arena, type->size);
    value_copy(type, value, arena, copy);
    return copy;
}

static void copy_list(const struct field *field, struct any_list *list, struct arena *arena)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_STRS:
    case FIELD_KEYS:
        copy_items(list, sizeof(struct str), arena);
        copy_texts((void *)list->items, list->len, arena);
        break;
    case FIELD_PAIRS:
        copy_items(list, sizeof(struct pair), arena);
        copy_texts((void *)list->items, list->len * 2, arena); /* a key, a value, a key, ... */
        break;
    case FIELD_RESOURCES:
        copy_items(list, sizeof(struct resource), arena);
        list_for((struct resource_list *)(void *)list, resource)
            copy_text(&resource->name, arena);
        break;
    case FIELD_QUANTITIES:
        copy_items(list, sizeof(struct quantity), arena);
        break;
    default: /* FIELD_LIST, FIELD_MAP */
        copy_items(list, field->type->size, arena);
        for (uint32_t i = 0; i < list->len; i++) {
            void *item = list->items + i * field->type->size;
            value_copy(field->type, item, arena, item);
            if (field->kind == FIELD_MAP)
                copy_text(item, arena);
        }
        break;
    }
}

/* Makes its own what a field that was copied bit by bit points to. */
static void copy_field(const struct field *field, void *at, struct arena *arena)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_OPT_STR:
    case FIELD_RAW:
        copy_text(at, arena);
        break;
    case FIELD_INT_OR_STR:
        copy_text(&((struct int_or_str *)at)->text, arena);
        break;
    case FIELD_QUANTITY: {
        struct quantity **quantity = at;
        if (*quantity) {
            struct quantity *copy = arena_new(arena, struct quantity);
            *copy = **quantity;
            *quantity = copy;
        }
        break;
    }
    case FIELD_STRS:
    case FIELD_KEYS:
    case FIELD_PAIRS:
    case FIELD_RESOURCES:
    case FIELD_QUANTITIES:
    case FIELD_LIST:
    case FIELD_MAP:
        if (((struct any_list *)at)->items)
            copy_list(field, at, arena);
        break;
    case FIELD_STRUCT:
    case FIELD_PART:
        value_copy(field->type, at, arena, at);
        break;
    case FIELD_PTR:
        if (*(void **)at)
            *(void **)at = copy_struct(field->type, *(void **)at, arena);
        break;
    default:
        break;
    }
}

void value_copy(const struct type *type, const void *value, struct arena *arena, void *ret)
{
    if (ret != value)
        memcpy(ret, value, type->size);
    for (uint32_t i = 0; i < type->len; i++)
        if (type->fields[i].tag < FIELD_TAG_OLDER)
            copy_field(&type->fields[i], (char *)ret + type->fields[i].offset, arena);
}

/* ---- comparing ---- */
static bool times_eq(const struct opt_time *a, const struct opt_time *b)
{
    return a->set == b->set && (!a->set || (a->seconds == b->seconds && a->nanos == b->nanos));
}

static bool optional_text_eq(const struct str *a, const struct str *b)
{
    return !a->ptr == !b->ptr && str_eq(*a, *b);
}

static bool quantities_eq(const struct quantity *a, const struct quantity *b)
{
    return a && b ? quantity_cmp(*a, *b) == 0 : a == b;
}

static bool item_eq(const struct field *field, const char *a, const char *b, size_t i)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_PAIRS: {
        const struct pair *x = (const void *)a, *y = (const void *)b;
        return str_eq(x[i].key, y[i].key) && str_eq(x[i].value, y[i].value);
    }
    case FIELD_RESOURCES: {
        const struct resource *x = (const void *)a, *y = (const void *)b;
        return str_eq(x[i].name, y[i].name) && quantities_eq(&x[i].amount, &y[i].amount);
    }
    case FIELD_QUANTITIES:
        return quantities_eq((const struct quantity *)(const void *)a + i,
                             (const struct quantity *)(const void *)b + i);
    case FIELD_MAP:
    case FIELD_LIST: {
        const char *x = a + i * field->type->size, *y = b + i * field->type->size;
        bool same_key = field->kind == FIELD_LIST || str_eq(*text_at(x), *text_at(y));
        return same_key && value_eq(field->type, x, y);
    }
    default: /* FIELD_STRS, FIELD_KEYS */
        return str_eq(text_at(a)[i], text_at(b)[i]);
    }
}

static bool lists_eq(const struct field *field, const struct any_list *a, const struct any_list *b)
{
    bool equal = a->len == b->len;
    for (uint32_t i = 0; i < a->len && equal; i++)
        equal = item_eq(field, a->items, b->items, i);
    return equal;
}

static bool numbers_eq(enum field_kind kind, const void *a, const void *b)
{
    switch (kind) {
    case FIELD_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case FIELD_OPT_BOOL: {
        const struct opt_bool *x = a, *y = b;
        return x->set == y->set && x->value == y->value;
    }
    case FIELD_INT32:
        return *(const int32_t *)a == *(const int32_t *)b;
    case FIELD_OPT_INT32: {
        const struct opt_int32 *x = a, *y = b;
        return x->set == y->set && x->value == y->value;
    }
    case FIELD_OPT_INT64: {
        const struct opt_int64 *x = a, *y = b;
        return x->set == y->set && x->value == y->value;
    }
    default: /* FIELD_INT64 */
        return *(const int64_t *)a == *(const int64_t *)b;
    }
}

static bool field_eq(const struct field *field, const void *a, const void *b)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_RAW:
        return str_eq(*text_at(a), *text_at(b));
    case FIELD_OPT_STR:
        return optional_text_eq(a, b);
    case FIELD_TIME:
    case FIELD_MICRO_TIME:
        return times_eq(a, b);
    case FIELD_INT_OR_STR: {
        const struct int_or_str *x = a, *y = b;
        return x->set == y->set && x->number == y->number && optional_text_eq(&x->text, &y->text);
    }
    case FIELD_QUANTITY:
        return quantities_eq(*(struct quantity *const *)a, *(struct quantity *const *)b);
    case FIELD_STRUCT:
    case FIELD_PART:
        return value_eq(field->type, a, b);
    case FIELD_PTR: {
        const void *x = *(void *const *)a, *y = *(void *const *)b;
        return x && y ? value_eq(field->type, x, y) : x == y;
    }
    case FIELD_STRS:
    case FIELD_KEYS:
    case FIELD_PAIRS:
    case FIELD_RESOURCES:
    case FIELD_QUANTITIES:
    case FIELD_LIST:
    case FIELD_MAP:
        return lists_eq(field, a, b);
    default:
        return numbers_eq(field->kind, a, b);
    }
}

bool value_eq(const struct type *type, const void *a, const void *b)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct field *field = &type->fields[i];
        if (field->tag < FIELD_TAG_OLDER &&
            !field_eq(field, (const char *)a + field->offset, (const char *)b + field->offset))
            return false;
    }
    return true;
}
