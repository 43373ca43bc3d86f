/* objects.h: decodes every object of a document, as loading a cluster does. */
#ifndef FUZZ_OBJECTS_H
#define FUZZ_OBJECTS_H

#include "api/object.h"
#include "fuzz/fuzz.h"

static inline void fuzz_objects(const struct doc *doc)
{
    struct arena arena = { 0 };
    struct object_walk walk;
    struct error err = { 0 };
    int r = object_walk_init(&walk, doc, &err);
    while (r >= 0) {
        struct object object;
        r = object_walk_next(&walk, &arena, &object, &err);
        if (r <= 0)
            break;
        must(object.kind < KIND_COUNT);
        must((object.kind == KIND_UNKNOWN) == !object.ptr);
        must(!object.ptr || object.meta);
    }
    if (r < 0)
        fuzz_must_explain(&err);
    arena_release(&arena);
}

#endif
