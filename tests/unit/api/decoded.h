/* decoded.h: an object from a text in a test, JSON or YAML. */
#ifndef UNIT_API_DECODED_H
#define UNIT_API_DECODED_H

#include "api/object.h"
#include "support/test.h"

struct decoded {
    struct doc_stream stream;
    struct arena arena;
    struct object object;
    struct error err;
};

/* The first object of the text; the document is freed, as after loading a file. */
static inline int decode(struct decoded *ret, const char *text)
{
    size_t len = strlen(text);
    char *copy = xcalloc(len + YYJSON_PADDING_SIZE, 1);
    memcpy(copy, text, len);
    *ret = (struct decoded){ 0 };
    doc_stream_init(&ret->stream, "test.yaml", copy, len);
    struct doc doc;
    int r = doc_stream_next(&ret->stream, &doc, &ret->err);
    if (r < 1)
        return r < 0 ? r : -ENOENT;
    r = object_decode(&doc, doc.root, &ret->arena, &ret->object, &ret->err);
    doc_release(&doc);
    return r;
}

static inline void decoded_release(struct decoded *decoded)
{
    doc_stream_release(&decoded->stream);
    arena_release(&decoded->arena);
}

static inline void *decode_kind(struct decoded *ret, enum api_kind kind, const char *text)
{
    if (decode(ret, text) < 0)
        fail_msg("%s", ret->err.text);
    assert_int_equal(ret->object.kind, kind);
    return ret->object.ptr;
}

static inline struct pod *decode_pod(struct decoded *ret, const char *text)
{
    return decode_kind(ret, KIND_POD, text);
}

#endif
