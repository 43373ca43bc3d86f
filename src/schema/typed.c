/* typed.c: walks over objects beside their types. Elements of lists are looked up in maps by their path element, so
 * every walk takes linear time. */
#include "schema/typed.h"

#include <stdlib.h>

#include "schema/tree.h"

enum relation { LEAF, GRANULAR, ELEMENTS };

struct typed typed_object(const struct schema_value *root)
{
    return (struct typed){ .value = root };
}

/* ---- types ---- */

static bool is_map(struct typed type, yyjson_mut_val *val)
{
    return yyjson_mut_is_obj(val) && (!type.value || type.value->kind == SCHEMA_OBJECT ||
                                      type.value->kind == SCHEMA_MAP || type.value->kind == SCHEMA_RAW ||
                                      type.value->kind == SCHEMA_JSON || type.value->kind == SCHEMA_FIELDS);
}

static bool is_atomic_map(struct typed type)
{
    return (type.field && type.field->atomic && type.value->kind != SCHEMA_LIST) ||
           (type.value && type.value->kind == SCHEMA_RAW) ||
           (type.value && type.value->kind == SCHEMA_OBJECT && type.value->type->atomic);
}

static bool has_elements(struct typed type)
{
    return type.value && type.value->kind == SCHEMA_LIST && type.field &&
           (type.field->set || type.field->key_count);
}

/* How the value is walked. */
static enum relation relation_of(struct typed type, yyjson_mut_val *val)
{
    if (yyjson_mut_is_arr(val))
        return has_elements(type) ? ELEMENTS : LEAF;
    return is_map(type, val) && !is_atomic_map(type) ? GRANULAR : LEAF;
}

/* The declared field, or NULL: a key of a map. */
static const struct schema_field *declared(struct typed type, struct str name)
{
    return type.value && type.value->kind == SCHEMA_OBJECT ? schema_field(type.value->type, name) : NULL;
}

static struct typed member_type(struct typed type, struct str name)
{
    const struct schema_field *field = declared(type, name);
    if (field)
        return (struct typed){ &field->value, field };
    return (struct typed){ .value = type.value && type.value->kind == SCHEMA_MAP ? type.value->item : NULL };
}

static struct typed item_type(struct typed type)
{
    return (struct typed){ .value = type.value ? type.value->item : NULL };
}

/* ---- path elements ---- */

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Appends the element of a list item; false: it has none. */
static bool element_of(struct typed type, yyjson_mut_val *item, struct strbuf *out)
{
    if (type.field->set) {
        if (yyjson_mut_is_ctn(item))
            return false;
        strbuf_puts(out, "v:");
        tree_print_json(out, item);
        return true;
    }
    if (!yyjson_mut_is_obj(item))
        return false;
    struct str keys[SCHEMA_KEYS_MAX];
    memcpy(keys, type.field->keys, sizeof(keys));
    qsort(keys, type.field->key_count, sizeof(*keys), compare_names);
    strbuf_puts(out, "k:{");
    size_t count = 0;
    for (uint32_t i = 0; i < type.field->key_count; i++) {
        yyjson_mut_val *val = yyjson_mut_obj_getn(item, keys[i].ptr, keys[i].len);
        const struct schema_field *field = declared(item_type(type), keys[i]);
        if (!val && !(field && field->default_json.ptr))
            continue;
        strbuf_printf(out, "%s\"" STR_FMT "\":", count++ ? "," : "", STR_ARG(keys[i]));
        if (val)
            tree_print_json(out, val);
        else
            strbuf_str(out, field->default_json);
    }
    strbuf_putc(out, '}');
    return count > 0;
}

static struct str name_element(struct strbuf *out, struct str name)
{
    strbuf_clear(out);
    strbuf_puts(out, "f:");
    strbuf_str(out, name);
    return strbuf_slice(out);
}

/* Items of a list by their elements. Duplicates have no value. */
struct element {
    struct str name;
    yyjson_mut_val *item;
    bool twice, done;
};

struct elements {
    VEC(struct element) all; /* those that occur twice, once */
    struct strmap index;     /* name → position + 1 */
    struct arena arena;
};

static void elements_open(struct elements *elements, struct typed type, yyjson_mut_val *list)
{
    *elements = (struct elements){ 0 };
    struct strbuf name = { 0 };
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(mut_items(yyjson_mut_is_arr(list) ? list : NULL), i, max, item)
    {
        strbuf_clear(&name);
        if (!element_of(type, item, &name))
            continue;
        size_t at = (size_t)strmap_get(&elements->index, strbuf_slice(&name));
        if (at) {
            elements->all.items[at - 1].twice = true;
            continue;
        }
        struct str copy = arena_str(&elements->arena, strbuf_slice(&name));
        *vec_push(&elements->all) = (struct element){ .name = copy, .item = item };
        strmap_put(&elements->index, copy, (void *)elements->all.len);
    }
    strbuf_release(&name);
}

static struct element *elements_find(struct elements *elements, struct str name)
{
    size_t at = (size_t)strmap_get(&elements->index, name);
    return at ? &elements->all.items[at - 1] : NULL;
}

static void elements_close(struct elements *elements)
{
    vec_release(&elements->all);
    strmap_release(&elements->index);
    arena_release(&elements->arena);
}

/* ---- fields ---- */

static bool is_empty(yyjson_mut_val *val)
{
    return yyjson_mut_is_null(val) || (yyjson_mut_is_obj(val) && !yyjson_mut_obj_size(val));
}

void typed_fields(struct typed type, yyjson_mut_val *val, struct field_set *set, struct arena *arena)
{
    struct strbuf element = { 0 };
    size_t i, max;
    yyjson_mut_val *key, *item;
    switch (relation_of(type, val)) {
    case LEAF:
        set->bits |= FIELD_MEMBER;
        break;
    case GRANULAR:
        yyjson_mut_obj_foreach(val, i, max, key, item)
        {
            struct field_set *child = field_set_child(set, name_element(&element, mut_str(key)), arena);
            struct typed inner = member_type(type, mut_str(key));
            if (!(yyjson_mut_is_null(item) && has_elements(inner)))
                typed_fields(inner, item, child, arena);
            if (is_empty(item) || !declared(type, mut_str(key)))
                child->bits |= FIELD_MEMBER;
        }
        break;
    case ELEMENTS: {
        struct elements elements;
        elements_open(&elements, type, val);
        vec_for(&elements.all, one) {
            struct field_set *child = field_set_child(set, one->name, arena);
            if (!one->twice)
                typed_fields(item_type(type), one->item, child, arena);
            child->bits |= FIELD_MEMBER;
        }
        elements_close(&elements);
        break;
    }
    }
    strbuf_release(&element);
}

void typed_fill(struct typed type, struct field_set *set)
{
    map_for(&set->children, slot) {
        struct field_set *child = slot->value;
        struct str name = str_slice(child->element, 2, child->element.len);
        bool named = child->element.ptr[0] == 'f';
        if (named && declared(type, name) && !field_set_empty(child, FIELD_MEMBER))
            child->bits |= FIELD_MEMBER;
        typed_fill(named ? member_type(type, name) : item_type(type), child);
    }
}

/* ---- comparison ---- */

static void mark(yyjson_mut_val *old, yyjson_mut_val *new, struct field_set *ret)
{
    if (!old)
        ret->bits |= FIELD_ADDED;
    else if (!new)
        ret->bits |= FIELD_REMOVED;
    else if (!tree_equal(old, new))
        ret->bits |= FIELD_MODIFIED;
}

static bool without_items(yyjson_mut_val *val)
{
    return !val || !yyjson_mut_is_ctn(val) || !unsafe_yyjson_get_len(val);
}

static void compare_members(struct typed type, yyjson_mut_val *old, yyjson_mut_val *new,
                            struct field_set *ret, struct arena *arena)
{
    struct strbuf element = { 0 };
    struct strmap olds = { 0 };
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(mut_items(yyjson_mut_is_obj(old) ? old : NULL), i, max, key, val)
        strmap_put(&olds, mut_str(key), val);
    yyjson_mut_obj_foreach(mut_items(yyjson_mut_is_obj(new) ? new : NULL), i, max, key, val)
    {
        struct field_set *child = field_set_child(ret, name_element(&element, mut_str(key)), arena);
        typed_compare(member_type(type, mut_str(key)), strmap_remove(&olds, mut_str(key)), val, child, arena);
    }
    map_for(&olds, slot)
        typed_compare(member_type(type, slot->name), slot->value, NULL,
                      field_set_child(ret, name_element(&element, slot->name), arena), arena);
    strmap_release(&olds);
    strbuf_release(&element);
}

static void compare_elements(struct typed type, yyjson_mut_val *old, yyjson_mut_val *new,
                             struct field_set *ret, struct arena *arena)
{
    struct elements olds, news;
    elements_open(&olds, type, old);
    elements_open(&news, type, new);
    vec_for(&news.all, one) {
        struct element *same = elements_find(&olds, one->name);
        struct field_set *child = field_set_child(ret, one->name, arena);
        if (same)
            same->done = true;
        if (one->twice || (same && same->twice))
            child->bits |= same ? FIELD_MODIFIED : FIELD_ADDED;
        else
            typed_compare(item_type(type), same ? same->item : NULL, one->item, child, arena);
    }
    vec_for(&olds.all, one) {
        if (one->done)
            continue;
        struct field_set *child = field_set_child(ret, one->name, arena);
        if (one->twice)
            child->bits |= FIELD_REMOVED;
        else
            typed_compare(item_type(type), one->item, NULL, child, arena);
    }
    elements_close(&olds);
    elements_close(&news);
}

void typed_compare(struct typed type, yyjson_mut_val *old, yyjson_mut_val *new, struct field_set *ret,
                   struct arena *arena)
{
    enum relation how = relation_of(type, without_items(new) ? old : new);
    bool same_kind = !old || !new || yyjson_mut_is_null(old) || yyjson_mut_is_null(new) ||
                     yyjson_mut_get_type(old) == yyjson_mut_get_type(new);
    if (how == LEAF || !same_kind || (without_items(old) && without_items(new))) {
        mark(old, new, ret);
        return;
    }
    if (how == GRANULAR)
        compare_members(type, old, new, ret, arena);
    else
        compare_elements(type, old, new, ret, arena);
    if (!old)
        ret->bits |= FIELD_ADDED;
    else if (!new)
        ret->bits |= FIELD_REMOVED;
}

/* ---- merging ---- */

static yyjson_mut_val *merge_members(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *old,
                                     yyjson_mut_val *new)
{
    struct members members, changes;
    members_open(&members, old);
    members_open(&changes, new);
    vec_for(&members.all, member) {
        yyjson_mut_val *change = members_get(&changes, member->name);
        member->value = typed_merge(member_type(type, member->name), doc, member->value, change);
        members_remove(&changes, member->name);
    }
    vec_for(&changes.all, change)
        if (change->value)
            members_set(&members, doc, change->name,
                        typed_merge(member_type(type, change->name), doc, NULL, change->value));
    members_drop(&changes);
    members_close(&members);
    return yyjson_mut_obj_size(old) ? old : NULL;
}

/* Elements of the new list keep their order; those that only the old one has stay between the same neighbours. */
static yyjson_mut_val *merge_elements(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *old,
                                      yyjson_mut_val *new)
{
    struct elements olds, news;
    elements_open(&olds, type, old);
    elements_open(&news, type, new);
    VEC(yyjson_mut_val *) out = { 0 };
    size_t left = 0, right = 0, shared = 0;
    while (left < olds.all.len || right < news.all.len) {
        /* The next element of the new list that the old one has as well, and that is not merged. */
        while (shared < news.all.len &&
               (news.all.items[shared].done || !elements_find(&olds, news.all.items[shared].name)))
            shared++;
        struct element *one = left < olds.all.len ? &olds.all.items[left] : NULL;
        struct element *same = one ? elements_find(&news, one->name) : NULL;
        if (one && !same) {
            *vec_push(&out) = typed_merge(item_type(type), doc, one->item, NULL);
            left++;
            continue;
        }
        if (one && (same->done ||
                    (shared < news.all.len && &news.all.items[shared] != same && right < news.all.len))) {
            left++;
            continue;
        }
        if (right >= news.all.len)
            break;
        struct element *next = &news.all.items[right++];
        struct element *before = elements_find(&olds, next->name);
        *vec_push(&out) =
            typed_merge(item_type(type), doc, before && !before->twice ? before->item : NULL, next->item);
        next->done = true;
        if (one && same == next)
            left++;
    }
    elements_close(&olds);
    elements_close(&news);
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    vec_for(&out, item)
        if (*item)
            yyjson_mut_arr_append(list, *item);
    vec_release(&out);
    return yyjson_mut_arr_size(list) ? list : NULL;
}

yyjson_mut_val *typed_merge(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *old, yyjson_mut_val *new)
{
    if (!old || !new)
        return old ? old : new;
    enum relation how = relation_of(type, new);
    if (how == LEAF || yyjson_mut_get_type(old) != yyjson_mut_get_type(new) ||
        (without_items(old) && without_items(new)))
        return new;
    return how == GRANULAR ? merge_members(type, doc, old, new) : merge_elements(type, doc, old, new);
}

/* ---- removal ---- */

static yyjson_mut_val *remove_members(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *val,
                                      const struct field_set *set)
{
    struct strbuf element = { 0 };
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    size_t i, max;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(val, i, max, key, item)
    {
        const struct field_set *child = field_set_find(set, name_element(&element, mut_str(key)));
        if (child && child->bits & FIELD_MEMBER)
            continue;
        yyjson_mut_val *left = typed_remove(member_type(type, mut_str(key)), doc, item, child);
        /* A value that lost everything is null, not absent: the field itself was not removed. */
        yyjson_mut_obj_add(object, yyjson_mut_strncpy(doc, mut_str(key).ptr, mut_str(key).len),
                           left ? left : yyjson_mut_null(doc));
    }
    strbuf_release(&element);
    return yyjson_mut_obj_size(object) ? object : NULL;
}

static yyjson_mut_val *remove_elements(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *val,
                                       const struct field_set *set)
{
    struct strbuf element = { 0 };
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    size_t i, max;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(val, i, max, item)
    {
        strbuf_clear(&element);
        const struct field_set *child =
            element_of(type, item, &element) ? field_set_find(set, strbuf_slice(&element)) : NULL;
        if (child && child->bits & FIELD_MEMBER)
            continue;
        yyjson_mut_val *left = typed_remove(item_type(type), doc, item, child);
        if (left)
            yyjson_mut_arr_append(list, left);
    }
    strbuf_release(&element);
    return yyjson_mut_arr_size(list) ? list : NULL;
}

yyjson_mut_val *typed_remove(struct typed type, yyjson_mut_doc *doc, yyjson_mut_val *val,
                             const struct field_set *set)
{
    enum relation how = relation_of(type, val);
    if (!set || how == LEAF || field_set_empty(set, FIELD_MEMBER) || without_items(val))
        return yyjson_mut_val_mut_copy(doc, val);
    return how == GRANULAR ? remove_members(type, doc, val, set) : remove_elements(type, doc, val, set);
}

/* ---- objects that are applied ---- */

struct validation {
    struct strbuf path, *out;
    size_t problems;
};

static void problem(struct validation *v, const char *text)
{
    v->problems++;
    if (v->problems <= 100)
        strbuf_printf(v->out, "%s%s: %s", v->out->len ? "\n  " : "", v->path.text ? v->path.text : "", text);
}

static void unexpected(struct validation *v, const char *expected, yyjson_mut_val *val, bool go_syntax)
{
    struct strbuf text = { 0 }, value = { 0 };
    if (yyjson_mut_is_str(val) && go_syntax)
        tree_print_json(&value, val);
    else
        tree_print_go(&value, val);
    strbuf_printf(
        &text, go_syntax ? "expected %s, got &value.valueUnstructured{Value:%s}" : "expected %s, got &{%s}",
        expected, value.text ? value.text : "");
    problem(v, text.text);
    strbuf_release(&text);
    strbuf_release(&value);
}

static void validate(struct validation *v, struct typed type, yyjson_mut_val *val);

static void validate_members(struct validation *v, struct typed type, yyjson_mut_val *val)
{
    size_t i, max, len = v->path.len;
    yyjson_mut_val *key, *item;
    yyjson_mut_obj_foreach(val, i, max, key, item)
    {
        strbuf_printf(&v->path, "." STR_FMT, STR_ARG(mut_str(key)));
        if (type.value && type.value->kind == SCHEMA_OBJECT && !type.value->type->open &&
            !declared(type, mut_str(key)))
            problem(v, "field not declared in schema");
        else
            validate(v, member_type(type, mut_str(key)), item);
        v->path.len = len;
        v->path.text[len] = '\0';
    }
}

static void validate_list(struct validation *v, struct typed type, yyjson_mut_val *val)
{
    struct strbuf element = { 0 }, text = { 0 };
    struct strmap seen = { 0 };
    struct arena arena = { 0 };
    size_t i, max, len = v->path.len;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(val, i, max, item)
    {
        strbuf_clear(&element);
        strbuf_clear(&text);
        if (!has_elements(type))
            strbuf_printf(&element, "i:%zu", i);
        else if (!element_of(type, item, &element)) {
            strbuf_printf(&text, "element %zu: associative list with keys %s", i,
                          yyjson_mut_is_obj(item) ? "has an element that omits all key fields"
                                                  : "may not have non-map elements");
            problem(v, text.text);
            break;
        }
        struct str name = arena_str(&arena, strbuf_slice(&element));
        if (has_elements(type) && strmap_put(&seen, name, item)) {
            strbuf_puts(&text, "duplicate entries for key ");
            field_element_print(&text, name);
            problem(v, text.text);
        }
        field_element_print(&v->path, name);
        validate(v, item_type(type), item);
        v->path.len = len;
        v->path.text[len] = '\0';
    }
    strbuf_release(&element);
    strbuf_release(&text);
    strmap_release(&seen);
    arena_release(&arena);
}

static void validate(struct validation *v, struct typed type, yyjson_mut_val *val)
{
    if (!type.value || yyjson_mut_is_null(val)) {
        if (yyjson_mut_is_obj(val))
            validate_members(v, type, val);
        return;
    }
    switch (type.value->kind) {
    case SCHEMA_OBJECT:
    case SCHEMA_MAP:
        if (yyjson_mut_is_obj(val))
            validate_members(v, type, val);
        else
            unexpected(v, "map", val, false);
        break;
    case SCHEMA_LIST:
        if (yyjson_mut_is_arr(val))
            validate_list(v, type, val);
        else
            unexpected(v, "list", val, false);
        break;
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        if (!yyjson_mut_is_str(val))
            unexpected(v, "string", val, true);
        break;
    case SCHEMA_BOOL:
        if (!yyjson_mut_is_bool(val))
            unexpected(v, "boolean", val, false);
        break;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
    case SCHEMA_DOUBLE:
        if (!yyjson_mut_is_num(val))
            problem(v, yyjson_mut_is_str(val)    ? "expected numeric (int or float), got string"
                       : yyjson_mut_is_bool(val) ? "expected numeric (int or float), got bool"
                       : yyjson_mut_is_arr(val)
                           ? "expected numeric (int or float), got []interface {}"
                           : "expected numeric (int or float), got map[string]interface {}");
        break;
    default:
        break;
    }
}

void typed_validate(struct typed type, yyjson_mut_val *val, struct strbuf *problems)
{
    struct validation v = { .out = problems };
    validate(&v, type, val);
    if (v.problems > 1) {
        struct strbuf all = { 0 };
        strbuf_printf(&all, "errors:\n  %s", problems->text);
        strbuf_release(problems);
        *problems = all;
    }
    strbuf_release(&v.path);
}

/* ---- empty objects ---- */

static yyjson_mut_val *zero(const struct schema_type *type, yyjson_mut_doc *doc, uint32_t depth)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    for (uint32_t i = 0; depth < 8 && i < type->field_count; i++) {
        const struct schema_field *field = &type->fields[i];
        yyjson_mut_val *val = NULL;
        if (field->value.kind == SCHEMA_OBJECT && field->default_json.ptr)
            val = zero(field->value.type, doc, depth + 1);
        else if (field->null ||
                 ((field->value.kind == SCHEMA_LIST || field->value.kind == SCHEMA_MAP) && !field->omit))
            val = yyjson_mut_null(doc);
        else if (field->default_json.ptr && !field->omit)
            val = field->value.kind == SCHEMA_STRING ? yyjson_mut_str(doc, "")
                  : field->value.kind == SCHEMA_BOOL ? yyjson_mut_bool(doc, false)
                                                     : yyjson_mut_int(doc, 0);
        if (val)
            yyjson_mut_obj_add(object, yyjson_mut_strn(doc, field->name.ptr, field->name.len), val);
    }
    return object;
}

yyjson_mut_val *typed_zero(const struct schema_type *type, yyjson_mut_doc *doc)
{
    return zero(type, doc, 0);
}
