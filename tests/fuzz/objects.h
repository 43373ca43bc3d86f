/* objects.h: decodes every object of a document, as loading a cluster does. */
#ifndef FUZZ_OBJECTS_H
#define FUZZ_OBJECTS_H

#include "api/object.h"
#include "fuzz/fuzz.h"

static inline int fuzz_object(const struct doc *doc, yyjson_val *val, enum api_kind kind, struct arena *arena,
                              void (*visit)(struct object *object, struct arena *arena), struct error *err)
{
    struct object object;
    int r = object_decode_as(doc, val, kind, arena, &object, err);
    if (r < 0)
        return r;
    must(object.kind < KIND_COUNT);
    must((object.kind == KIND_UNKNOWN) == !object.ptr);
    must(!object.ptr || object.meta);
    if (visit)
        visit(&object, arena);
    return 0;
}

/* The document is an object or a list of them. `visit` may be NULL. */
static inline void fuzz_each_object(const struct doc *doc,
                                    void (*visit)(struct object *object, struct arena *arena))
{
    struct arena arena = { 0 };
    struct error err = { 0 };
    struct str kind = doc_member_text(doc->root, "kind");
    size_t i, max;
    yyjson_val *items = yyjson_obj_get(doc->root, "items"), *item;
    int r = 0;
    if (yyjson_is_arr(items) && str_ends_with(kind, STR("List"))) {
        enum api_kind of =
            object_kind_from(doc_member_text(doc->root, "apiVersion"), str_slice(kind, 0, kind.len - 4));
        yyjson_arr_foreach(items, i, max, item) {
            r = r < 0 ? r : fuzz_object(doc, item, of, &arena, visit, &err);
        }
    } else {
        r = fuzz_object(doc, doc->root, KIND_UNKNOWN, &arena, visit, &err);
    }
    if (r < 0)
        fuzz_must_explain(&err);
    arena_release(&arena);
}

static inline void fuzz_objects(const struct doc *doc)
{
    fuzz_each_object(doc, NULL);
}

#endif
