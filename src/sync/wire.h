/* wire.h: lists and watches as an API server sends them, in protobuf or JSON, to objects with memory of their own.
 *
 *     page of a list ──wire_page_next()──▶ live_object, live_object, ...
 *     chunk, chunk, ... ──wire_watch_feed()──▶ wire_watch_next() ──▶ event, event, ...
 *
 * Which of the two formats it is, the first bytes say. An object is decoded twice: once into scratch memory to learn
 * how much it needs, then into one piece of memory of just that size, since many thousands of them are kept. With
 * `whole` set after init, objects keep what they were decoded from as their meta.source. */
#ifndef SYNC_WIRE_H
#define SYNC_WIRE_H

#include "api/protobuf.h"
#include "sync/inbox.h"

/* ---- lists ---- */

struct wire_page {
    struct str resource_version, continue_token; /* slices of the page */
    enum api_kind kind;
    bool json;
    bool whole;
    struct strbuf body;
    struct object_list_protobuf items;
    struct doc_stream stream;
    struct doc doc;
    yyjson_arr_iter json_items;
    struct str api_version; /* JSON: of the list */
};

/* Takes over the body, also when it fails: it is no list of that kind, or is not whole. */
int wire_page_init(struct wire_page *page, enum api_kind kind, struct strbuf *body, struct error *err);
/* 1: an object; 0: no more; a negative errno: an item that cannot be decoded, the one behind it is next. */
int wire_page_next(struct wire_page *page, struct arena *scratch, struct live_object **ret,
                   struct error *err);
void wire_page_release(struct wire_page *page);

/* ---- watches ---- */

struct wire_watch {
    enum api_kind kind;
    enum { WIRE_UNDECIDED, WIRE_PROTOBUF, WIRE_JSON } format;
    bool whole;
    struct protobuf_frames frames;
    /* JSON: what has not been handed out begins at `at` and was looked through up to `seen`. */
    struct strbuf text;
    size_t at, seen;
    uint32_t depth;
    bool in_string, escaped;
};

struct wire_event {
    enum watch_type type;
    struct live_object *object;  /* ADDED, MODIFIED, DELETED; NULL: it cannot be decoded, err says why */
    struct str resource_version; /* BOOKMARK; in scratch */
    struct api_status status;    /* ERROR; in scratch */
};

void wire_watch_init(struct wire_watch *watch, enum api_kind kind);
void wire_watch_feed(struct wire_watch *watch, struct str chunk);
/* 1: an event; 0: more bytes are needed; a negative errno: nothing behind this can be read. */
int wire_watch_next(struct wire_watch *watch, struct arena *scratch, struct wire_event *ret,
                    struct error *err);
void wire_watch_release(struct wire_watch *watch);

#endif
