/* field_set.c: operations on sets of fields. All of them are one walk over a tree; recursion ends at the depth of the
 * objects that the sets were made of, which is bounded. */
#include "schema/field_set.h"

#include <stdlib.h>

#include "base/vec.h"
#include "schema/schema.h"
#include "schema/tree.h"

struct field_set *field_set_find(const struct field_set *set, struct str element)
{
    return set ? strmap_get(&set->children, element) : NULL;
}

struct field_set *field_set_child(struct field_set *set, struct str element, struct arena *arena)
{
    struct field_set *child = strmap_get(&set->children, element);
    if (!child) {
        child = arena_new(arena, struct field_set);
        child->element = arena_str(arena, element);
        strmap_put(&set->children, child->element, child);
    }
    return child;
}

void field_set_release(struct field_set *set)
{
    map_for(&set->children, slot)
        field_set_release(slot->value);
    strmap_release(&set->children);
}

bool field_set_empty(const struct field_set *set, unsigned bits)
{
    if (set->bits & bits)
        return false;
    map_for(&set->children, slot)
        if (!field_set_empty(slot->value, bits))
            return false;
    return true;
}

void field_set_add(struct field_set *set, const struct field_set *other, unsigned bits, struct arena *arena)
{
    if (other->bits & bits)
        set->bits |= FIELD_MEMBER;
    map_for(&other->children, slot) {
        const struct field_set *child = slot->value;
        if (!field_set_empty(child, bits))
            field_set_add(field_set_child(set, child->element, arena), child, bits, arena);
    }
}

void field_set_subtract(struct field_set *set, const struct field_set *other, unsigned bits)
{
    if (other->bits & bits)
        set->bits = 0;
    map_for(&set->children, slot) {
        const struct field_set *same = field_set_find(other, ((struct field_set *)slot->value)->element);
        if (same)
            field_set_subtract(slot->value, same, bits);
    }
}

void field_set_intersect(struct field_set *set, const struct field_set *other, unsigned bits)
{
    if (!other || !(other->bits & bits))
        set->bits = 0;
    map_for(&set->children, slot) {
        struct field_set *child = slot->value;
        field_set_intersect(child, field_set_find(other, child->element), bits);
    }
}

void field_set_drop(struct field_set *set, const char *path, bool below)
{
    struct str rest = str_from(path);
    char element[64];
    while (set && rest.ptr) {
        struct str name = str_cut(&rest, '.');
        int len = snprintf(element, sizeof(element), "f:" STR_FMT, STR_ARG(name));
        set = field_set_find(set, (struct str){ element, (uint32_t)len });
    }
    if (!set)
        return;
    set->bits = 0;
    if (below)
        field_set_release(set);
}

/* ---- FieldsV1 ---- */

static bool is_element(struct str name)
{
    return name.len > 2 && name.ptr[1] == ':' && strchr("fkvi", name.ptr[0]);
}

static bool read_node(struct field_set *set, yyjson_val *fields, struct arena *arena, uint32_t depth)
{
    if (!yyjson_is_obj(fields) || depth > 2 * SCHEMA_DEPTH_MAX)
        return false;
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(fields, i, max, key, val) {
        struct str name = doc_text(key);
        if (str_is(name, ".")) {
            set->bits = FIELD_MEMBER;
            continue;
        }
        if (!is_element(name) || !yyjson_is_obj(val))
            return false;
        struct field_set *child = field_set_child(set, name, arena);
        if (!yyjson_obj_size(val))
            child->bits = FIELD_MEMBER;
        else if (!read_node(child, val, arena, depth + 1))
            return false;
    }
    return true;
}

bool field_set_read(struct field_set *set, yyjson_val *fields, struct arena *arena)
{
    return read_node(set, fields, arena, 0);
}

typedef VEC(const struct field_set *) node_vec;

static int compare_nodes(const void *a, const void *b)
{
    return str_cmp((*(const struct field_set *const *)a)->element,
                   (*(const struct field_set *const *)b)->element);
}

/* Children that are not empty, in order. */
static void sorted_children(const struct field_set *set, node_vec *ret)
{
    map_for(&set->children, slot)
        if (!field_set_empty(slot->value, FIELD_MEMBER))
            *vec_push(ret) = slot->value;
    vec_sort(ret, compare_nodes);
}

yyjson_mut_val *field_set_write(const struct field_set *set, yyjson_mut_doc *doc)
{
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    node_vec children = { 0 };
    sorted_children(set, &children);
    if (children.len && set->bits & FIELD_MEMBER)
        yyjson_mut_obj_add_val(doc, object, ".", yyjson_mut_obj(doc));
    vec_for(&children, child)
        yyjson_mut_obj_add(object, yyjson_mut_strncpy(doc, (*child)->element.ptr, (*child)->element.len),
                           field_set_write(*child, doc));
    vec_release(&children);
    return object;
}

/* ---- paths ---- */

/* k:{"name":"c","port":80} as [name="c",port=80] */
static void print_key(struct strbuf *out, struct str json)
{
    yyjson_doc *doc = yyjson_read(json.ptr, json.len, 0);
    size_t i, max;
    yyjson_val *key, *val, *root = yyjson_doc_get_root(doc);
    strbuf_putc(out, '[');
    if (yyjson_is_obj(root))
        yyjson_obj_foreach(root, i, max, key, val) {
            char *text = yyjson_val_write(val, 0, NULL);
            strbuf_printf(out, "%s" STR_FMT "=%s", i ? "," : "", STR_ARG(doc_text(key)), text ? text : "");
            free(text);
        }
    strbuf_putc(out, ']');
    yyjson_doc_free(doc);
}

void field_element_print(struct strbuf *out, struct str element)
{
    struct str rest = str_slice(element, 2, element.len);
    if (element.ptr[0] == 'f')
        strbuf_printf(out, "." STR_FMT, STR_ARG(rest));
    else if (element.ptr[0] == 'k')
        print_key(out, rest);
    else
        strbuf_printf(out, "[%s" STR_FMT "]", element.ptr[0] == 'v' ? "=" : "", STR_ARG(rest));
}

void field_set_paths(const struct field_set *set, struct strbuf *path,
                     void (*visit)(void *user, struct str path), void *user)
{
    node_vec children = { 0 };
    sorted_children(set, &children);
    /* Members of a level come before what is below them. */
    for (int below = 0; below < 2; below++)
        vec_for(&children, child) {
            size_t len = path->len;
            field_element_print(path, (*child)->element);
            if (!below && (*child)->bits & FIELD_MEMBER)
                visit(user, strbuf_slice(path));
            if (below)
                field_set_paths(*child, path, visit, user);
            path->len = len;
            path->text[len] = '\0';
        }
    vec_release(&children);
}
