/* documents.h: reads all documents of an input and visits every value, as a decoder would.
 *
 * Holds for any input: it ends, either with no more documents or with an error that names a place; no
 * container is deeper than the limit; strings can be read to their end; every value has a place in the text. */
#ifndef FUZZ_DOCUMENTS_H
#define FUZZ_DOCUMENTS_H

#include "fuzz/fuzz.h"

/* Finding a place reads the text, so this is done only for the first values of an input. */
enum { PLACES_MAX = 200 };

struct walk {
    const struct doc *doc;
    size_t places;
    unsigned bytes; /* of all strings, so that reading them is not optimised away */
};

static void walk_value(struct walk *walk, yyjson_val *val, size_t depth)
{
    must(!yyjson_is_ctn(val) || depth <= DOC_DEPTH_MAX);
    must(doc_type_name(val)[0] != '\0');
    if (walk->places++ < PLACES_MAX) {
        size_t line = 0, column = 0;
        doc_where(walk->doc, val, &line, &column);
        must(line > 0 && column > 0);
    }
    size_t i, max;
    yyjson_val *key, *item;
    if (yyjson_is_obj(val)) {
        yyjson_obj_foreach(val, i, max, key, item) {
            walk_value(walk, key, depth + 1);
            walk_value(walk, item, depth + 1);
        }
    } else if (yyjson_is_arr(val)) {
        yyjson_arr_foreach(val, i, max, item)
            walk_value(walk, item, depth + 1);
    } else if (yyjson_is_str(val)) {
        const char *text = yyjson_get_str(val);
        for (size_t at = 0; at < yyjson_get_len(val); at++)
            walk->bytes += (unsigned char)text[at];
    }
}

/* `visit`, if given, sees every document after the walk. Returns the number of documents. */
static inline size_t fuzz_documents(const uint8_t *data, size_t size, bool yaml,
                                    void (*visit)(const struct doc *doc))
{
    struct doc_stream stream;
    fuzz_stream(&stream, data, size);
    size_t count = 0;
    int r = 0;
    while (stream.yaml == yaml) {
        struct doc doc = { 0 };
        struct error err = { 0 };
        r = doc_stream_next(&stream, &doc, &err);
        if (r < 0)
            fuzz_must_explain(&err);
        if (r <= 0)
            break;
        must(doc.root);
        struct walk walk = { .doc = &doc };
        walk_value(&walk, doc.root, 1);
        if (visit)
            visit(&doc);
        doc_release(&doc);
        count++;
    }
    doc_stream_release(&stream);
    return count;
}

#endif
