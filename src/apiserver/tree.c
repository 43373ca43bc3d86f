/* tree.c: JSON trees by dotted paths. The depth of what comes in is bounded before it is parsed, so that recursive
 * functions of the JSON library are safe on every tree of this process. */
#include "apiserver/tree.h"

#include <stdlib.h>

#include "codec/doc.h"

/* Brackets outside of strings. */
static bool is_too_deep(struct str json)
{
    int depth = 0;
    bool in_string = false;
    for (uint32_t i = 0; i < json.len; i++) {
        char c = json.ptr[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > DOC_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

/* As encoding/json words it, for the two that clients see most. */
static struct str reason_of(const yyjson_read_err *err, struct str json, struct arena *arena)
{
    if (err->pos >= json.len || err->code == YYJSON_READ_ERROR_EMPTY_CONTENT)
        return STR("unexpected end of JSON input");
    char c = json.ptr[err->pos];
    if (c >= 32 && c < 127)
        return arena_printf(arena, "invalid character '%c' looking for beginning of value", c);
    return arena_printf(arena, "invalid JSON at byte %zu: %s", err->pos, err->msg);
}

yyjson_doc *tree_parse(struct str json, struct arena *arena, struct str *ret_reason)
{
    if (is_too_deep(json)) {
        *ret_reason = STR("exceeded max depth");
        return NULL;
    }
    yyjson_read_err err = { 0 };
    yyjson_doc *doc = json.len ? yyjson_read_opts((char *)json.ptr, json.len, 0, NULL, &err) : NULL;
    if (!doc)
        *ret_reason = reason_of(&err, json, arena);
    return doc;
}

/* ---- paths ---- */
static struct str next_step(const char **path)
{
    const char *dot = strchrnul(*path, '.');
    struct str step = { *path, (uint32_t)(dot - *path) };
    *path = *dot ? dot + 1 : dot;
    return step;
}

yyjson_val *tree_at(yyjson_val *object, const char *path)
{
    while (object && *path) {
        struct str step = next_step(&path);
        object = yyjson_obj_getn(object, step.ptr, step.len);
    }
    return object;
}

struct str tree_text(yyjson_val *object, const char *path)
{
    return doc_text(tree_at(object, path));
}

int64_t tree_int(yyjson_val *object, const char *path, int64_t otherwise)
{
    yyjson_val *val = tree_at(object, path);
    return yyjson_is_int(val) ? yyjson_get_sint(val) : otherwise;
}

bool tree_bool(yyjson_val *object, const char *path)
{
    return yyjson_is_true(tree_at(object, path));
}

yyjson_mut_val *tree_mut_member(yyjson_mut_val *object, struct str key)
{
    return yyjson_mut_obj_getn(object, key.ptr, key.len);
}

yyjson_mut_val *tree_mut_at(yyjson_mut_val *object, const char *path)
{
    while (object && *path)
        object = tree_mut_member(object, next_step(&path));
    return object;
}

struct str tree_mut_str(yyjson_mut_val *val)
{
    return yyjson_mut_is_str(val) ? (struct str){ yyjson_mut_get_str(val), (uint32_t)yyjson_mut_get_len(val) }
                                  : (struct str){ 0 };
}

struct str tree_mut_text(yyjson_mut_val *object, const char *path)
{
    return tree_mut_str(tree_mut_at(object, path));
}

int64_t tree_mut_int(yyjson_mut_val *object, const char *path, int64_t otherwise)
{
    yyjson_mut_val *val = tree_mut_at(object, path);
    return yyjson_mut_is_int(val) ? yyjson_mut_get_sint(val) : otherwise;
}

yyjson_mut_val *tree_mut_new_str(yyjson_mut_doc *doc, struct str text)
{
    return yyjson_mut_strncpy(doc, text.ptr ? text.ptr : "", text.len);
}

static size_t place_of(yyjson_mut_val *object, struct str key)
{
    yyjson_mut_val *name, *val;
    size_t i, max;
    yyjson_mut_obj_foreach(object, i, max, name, val)
    {
        if (yyjson_mut_equals_strn(name, key.ptr, key.len))
            return i;
    }
    return SIZE_MAX;
}

/* yyjson's own replacement copies the value, so that a pointer to it would not be in the tree. */
void tree_mut_put(yyjson_mut_doc *doc, yyjson_mut_val *object, struct str key, yyjson_mut_val *val)
{
    size_t place = place_of(object, key);
    yyjson_mut_val *name =
        val ? tree_mut_new_str(doc, key) : NULL; /* before the key goes, which may be the text */
    if (place != SIZE_MAX)
        yyjson_mut_obj_remove_keyn(object, key.ptr, key.len);
    if (val && place != SIZE_MAX)
        yyjson_mut_obj_insert(object, name, val, place);
    else if (val)
        yyjson_mut_obj_add(object, name, val);
}

void tree_mut_put_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, struct str text)
{
    tree_mut_put(doc, object, str_from(key), tree_mut_new_str(doc, text));
}

void tree_mut_put_int(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t number)
{
    tree_mut_put(doc, object, str_from(key), yyjson_mut_sint(doc, number));
}

void tree_mut_remove(yyjson_mut_val *object, const char *key)
{
    yyjson_mut_obj_remove_key(object, key);
}

yyjson_mut_val *tree_mut_make(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *path)
{
    while (*path) {
        struct str step = next_step(&path);
        yyjson_mut_val *next = tree_mut_member(object, step);
        if (!yyjson_mut_is_obj(next)) {
            next = yyjson_mut_obj(doc);
            tree_mut_put(doc, object, step, next);
        }
        object = next;
    }
    return object;
}

bool tree_mut_equal(yyjson_mut_val *a, yyjson_mut_val *b)
{
    return a == b || (a && b && yyjson_mut_equals(a, b));
}

/* ---- texts ---- */
static void take_text(char *text, size_t len, struct strbuf *out)
{
    if (text)
        strbuf_add(out, text, len);
    free(text);
}

void tree_mut_write(yyjson_mut_val *val, struct strbuf *out)
{
    size_t len = 0;
    char *text = yyjson_mut_val_write(val, 0, &len);
    take_text(text, len, out);
}

void tree_write(yyjson_val *val, struct strbuf *out)
{
    size_t len = 0;
    char *text = yyjson_val_write(val, 0, &len);
    take_text(text, len, out);
}
