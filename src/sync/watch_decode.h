/* watch_decode.h: decodes lists and watches that an API server sends, in protobuf or JSON. Each object owns its memory.
 *
 *     page of a list ──list_page_next()──▶ live_object, live_object, ...
 *     chunk, chunk, ... ──watch_decoder_feed()──▶ watch_decoder_next() ──▶ event, event, ...
 *
 * Which of the two formats it is, the first bytes say. An object is decoded twice: once into scratch memory to learn
 * how much it needs, then into one piece of memory of just that size, since many thousands of them are kept. With
 * `keeps_source` set after init, objects keep what they were decoded from as their meta.source. */
#ifndef SYNC_WATCH_DECODE_H
#define SYNC_WATCH_DECODE_H

#include "api/protobuf.h"
#include "sync/inbox.h"

/* ---- lists ---- */

struct list_page {
    struct str resource_version, continue_token; /* slices of the page */
    enum api_kind kind;
    bool json;
    bool keeps_source;
    struct strbuf body;
    struct object_list_protobuf items;
    struct doc_stream stream;
    struct doc doc;
    yyjson_arr_iter json_items;
    struct str api_version; /* JSON: of the list */
};

/* Takes over the body, also when it fails: it is no list of that kind, or is cut off. */
int list_page_init(struct list_page *page, enum api_kind kind, struct strbuf *body, struct error *err);
/* 1: an object; 0: no more; a negative errno: an item of which not even the name can be read, the one behind it is
 * next. Of a partial object, err says what could not be read. */
int list_page_next(struct list_page *page, struct arena *scratch, struct live_object **ret,
                   struct error *err);
void list_page_release(struct list_page *page);

/* ---- watches ---- */

struct watch_decoder {
    enum api_kind kind;
    enum { WATCH_UNDECIDED, WATCH_PROTOBUF, WATCH_JSON } format;
    bool keeps_source;
    struct protobuf_frames frames;
    /* JSON: what has not been handed out begins at `at` and was looked through up to `seen`. */
    struct strbuf text;
    size_t at, seen;
    uint32_t depth;
    bool in_string, escaped;
};

struct live_event {
    enum watch_type type;
    struct live_object
        *object;     /* ADDED, MODIFIED, DELETED; NULL: it is not known which one, err says why. err also
                                 * says what could not be read of a partial one */
    bool is_foreign; /* no object, but one of another kind: it means nothing here */
    struct str resource_version; /* BOOKMARK; in scratch */
    bool ends_initial;           /* BOOKMARK: all objects that were there have come */
    struct api_status status;    /* ERROR; in scratch */
};

void watch_decoder_init(struct watch_decoder *watch, enum api_kind kind);
void watch_decoder_feed(struct watch_decoder *watch, struct str chunk);
/* 1: an event; 0: more bytes are needed; a negative errno: nothing behind this can be read. */
int watch_decoder_next(struct watch_decoder *watch, struct arena *scratch, struct live_event *ret,
                       struct error *err);
void watch_decoder_release(struct watch_decoder *watch);

#endif
