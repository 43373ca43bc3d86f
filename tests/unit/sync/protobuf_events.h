/* protobuf_events.h: lists and watch events in protobuf as API servers send them, for a manual server. */
#ifndef UNIT_SYNC_PROTOBUF_EVENTS_H
#define UNIT_SYNC_PROTOBUF_EVENTS_H

#include "support/protobuf_text.h"
#include "unit/sync/manual_server.h"

/* "web@12" is an object with this name and resourceVersion; "!web" one that cannot be read completely. */
static inline void put_item(struct strbuf *out, const char *item)
{
    const char *at = strchr(item, '@');
    if (at)
        strbuf_printf(out, "1{ 1\"%.*s\" 3\"default\" 5\"uid\" 6\"%s\" }", (int)(at - item), item, at + 1);
    else
        strbuf_printf(out, "1{ 1\"%s\" 3\"default\" 5\"uid\" 6=3 }", item + 1);
}

static inline struct strbuf list_bytes(const char *kind, const char *version, const char *token,
                                       const char *items)
{
    struct strbuf text = { 0 }, out = { 0 };
    char name[64], item[64];
    struct str rest = str_from(items);
    strbuf_printf(&text, "1{ 2\"%s\" 3\"%s\" }", version, token);
    for (struct str part; (part = next_part(&rest, ' ')).ptr;) {
        snprintf(item, sizeof(item), STR_FMT, STR_ARG(part));
        strbuf_puts(&text, " 2{ ");
        put_item(&text, item);
        strbuf_puts(&text, " }");
    }
    snprintf(name, sizeof(name), "%sList", kind);
    protobuf_text_object(&out, "v1", name, text.text);
    strbuf_release(&text);
    return out;
}

static inline void reply_list_of(struct manual_request *x, const char *kind, const char *version,
                                 const char *token, const char *items)
{
    struct strbuf body = list_bytes(kind, version, token, items);
    reply(x, 200, "Content-Type: application/vnd.kubernetes.protobuf\r\n", strbuf_slice(&body));
    strbuf_release(&body);
}

static inline void reply_list(struct manual_request *x, const char *version, const char *token,
                              const char *items)
{
    reply_list_of(x, "Pod", version, token, items);
}

static inline void put_frame(struct strbuf *out, const char *type, struct str object)
{
    struct strbuf frame = { 0 };
    protobuf_put_bytes(&frame, 1, str_from(type));
    size_t begun = protobuf_begin(&frame, 2);
    protobuf_put_bytes(&frame, 1, object);
    protobuf_end(&frame, begun);
    uint32_t len = htonl((uint32_t)frame.len);
    strbuf_add(out, (const char *)&len, sizeof(len));
    strbuf_str(out, strbuf_slice(&frame));
    strbuf_release(&frame);
}

static inline struct strbuf event_bytes(const char *type, const char *kind, const char *item)
{
    struct strbuf text = { 0 }, object = { 0 }, out = { 0 };
    put_item(&text, item);
    protobuf_text_object(&object, "v1", kind, text.text);
    put_frame(&out, type, strbuf_slice(&object));
    strbuf_release(&text);
    strbuf_release(&object);
    return out;
}

static inline void send_event(struct manual_request *watch, const char *type, const char *item)
{
    struct strbuf bytes = event_bytes(type, "Pod", item);
    stream_put(watch, strbuf_slice(&bytes));
    strbuf_release(&bytes);
}

/* The bookmark behind the objects of a stream. */
static inline void send_initial_end(struct manual_request *watch, const char *version)
{
    struct strbuf text = { 0 }, object = { 0 }, out = { 0 };
    strbuf_printf(&text, "1{ 6\"%s\" 12{ 1\"k8s.io/initial-events-end\" 2\"true\" } }", version);
    protobuf_text_object(&object, "v1", "Pod", text.text);
    put_frame(&out, "BOOKMARK", strbuf_slice(&object));
    stream_put(watch, strbuf_slice(&out));
    strbuf_release(&text);
    strbuf_release(&object);
    strbuf_release(&out);
}

static inline void send_error_event(struct manual_request *watch, int code)
{
    struct strbuf object = { 0 }, out = { 0 };
    char text[64];
    snprintf(text, sizeof(text), "2\"Failure\" 3\"so it is\" 6=%d", code);
    protobuf_text_object(&object, "v1", "Status", text);
    put_frame(&out, "ERROR", strbuf_slice(&object));
    stream_put(watch, strbuf_slice(&out));
    strbuf_release(&object);
    strbuf_release(&out);
}

#endif
