/* recorded.h: cases that tests/unit/schema/record wrote, one JSON object per line, and trees that are compared. */
#ifndef SCHEMA_RECORDED_H
#define SCHEMA_RECORDED_H

#include "support/test.h"

#include <yyjson.h>

#include "codec/doc.h"
#include "schema/schema.h"
#include "schema/tree.h"

/* Calls `run` for every line. */
static inline size_t recorded_cases(const char *path, void (*run)(yyjson_val *line))
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t cap = 0, count = 0;
    for (ssize_t len; (len = getline(&line, &cap, file)) > 0; count++) {
        yyjson_doc *doc = yyjson_read(line, (size_t)len, 0);
        assert_non_null(doc);
        run(yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    free(line);
    fclose(file);
    return count;
}

static inline struct str text_of(yyjson_val *object, const char *name)
{
    return doc_text(yyjson_obj_get(object, name));
}

/* The type of an object by its apiVersion and kind. */
static inline const struct schema_type *type_of(yyjson_val *object)
{
    struct str version = text_of(object, "apiVersion"), group = { 0 };
    if (str_find(version, '/') >= 0)
        group = str_cut(&version, '/');
    const struct schema_type *type = schema_of(group, version, text_of(object, "kind"));
    assert_non_null(type);
    return type;
}

/* Removes a value by a path with dots. */
static inline void remove_path(yyjson_mut_val *object, const char *path)
{
    struct str rest = str_from(path), name = str_cut(&rest, '.');
    for (; object && rest.ptr; name = str_cut(&rest, '.'))
        object = yyjson_mut_obj_getn(object, name.ptr, name.len);
    if (object)
        yyjson_mut_obj_remove_keyn(object, name.ptr, name.len);
}

/* A recorded difference: members that changed, null for those that are gone. */
static inline void change_tree(yyjson_mut_doc *doc, yyjson_mut_val *object, yyjson_val *change)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(change, i, max, key, val) {
        yyjson_mut_val *old = yyjson_mut_obj_get(object, yyjson_get_str(key));
        if (yyjson_is_null(val))
            yyjson_mut_obj_remove_key(object, yyjson_get_str(key));
        else if (yyjson_is_obj(val) && yyjson_mut_is_obj(old))
            change_tree(doc, old, val);
        else
            yyjson_mut_obj_put(object, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, val));
    }
}

static int failures;

static inline void expect_tree(const char *what, yyjson_mut_val *have, yyjson_mut_val *want)
{
    if (tree_equal(have, want))
        return;
    struct strbuf a = { 0 }, b = { 0 };
    tree_print_json(&a, have);
    tree_print_json(&b, want);
    fprintf(stderr, "%s\n  have %s\n  want %s\n", what, a.text, b.text);
    strbuf_release(&a);
    strbuf_release(&b);
    failures++;
}

static inline void expect_text(const char *what, struct str have, struct str want)
{
    if (str_eq(have, want))
        return;
    fprintf(stderr, "%s\n  have " STR_FMT "\n  want " STR_FMT "\n", what, STR_ARG(have), STR_ARG(want));
    failures++;
}

#endif
