/* rest.c: paths, bodies and answers of the API server; see rest.h.
 *
 * An answer comes from the network and may be anything: what cannot be read counts as not there. */
#include "client/rest.h"

#include <stdlib.h>

#include "api/fields.h"
#include "api/protobuf.h"
#include "base/percent.h"

enum { RETRY_AFTER_MS_MAX = 3600 * 1000 };

/* ---- paths ---- */
static void put_part(struct strbuf *path, struct str text)
{
    strbuf_putc(path, '/');
    percent_encode(path, text, "-._~:@");
}

void rest_path(struct strbuf *path, struct str namespace, const char *resource, struct str name)
{
    if (namespace.len) {
        strbuf_puts(path, "/namespaces");
        put_part(path, namespace);
    }
    put_part(path, str_from(resource));
    if (name.len)
        put_part(path, name);
}

void rest_uuid(struct strbuf *out)
{
    unsigned char b[16];
    arc4random_buf(b, sizeof(b));
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    for (size_t i = 0; i < sizeof(b); i++)
        strbuf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", b[i]);
}

const char *rest_encode(const struct api *api, const struct object *object, struct strbuf *out)
{
    if (!api_sends_json(api)) {
        object_encode_protobuf(object, out);
        return API_PROTOBUF;
    }
    struct json_writer json = json_writer(out, JSON_COMPACT);
    object_encode_json(object, NULL, &json);
    return API_JSON;
}

/* ---- answers ---- */
static bool is_protobuf(const struct http_response *response)
{
    return str_starts_with(response->content_type, STR("application/vnd.kubernetes.protobuf"));
}

/* A parsed JSON body. Its text, and with it all strings, live in the arena and stay. */
struct body {
    struct doc_stream stream;
    struct doc doc;
};

static void body_release(struct body *body)
{
    doc_release(&body->doc);
    body->stream.text = NULL;
    doc_stream_release(&body->stream);
}

static int body_parse(const struct http_response *response, struct arena *arena, struct body *ret,
                      struct error *err)
{
    struct str text = strbuf_slice(response->body);
    if (!str_starts_with(response->content_type, STR("application/json")) || !text.len || text.ptr[0] != '{')
        return error_set(err, -EINVAL, "the answer is no object");
    char *copy = arena_zalloc(arena, (size_t)text.len + YYJSON_PADDING_SIZE);
    memcpy(copy, text.ptr, text.len);
    doc_stream_init(&ret->stream, "answer", copy, text.len);
    int r = doc_stream_next(&ret->stream, &ret->doc, err);
    if (r == 0)
        return error_set(err, -EINVAL, "the answer is empty");
    return r < 0 ? r : 0;
}

static bool status_from_json(const struct http_response *response, struct arena *arena,
                             struct api_status *ret)
{
    _cleanup_(body_release) struct body body = { 0 };
    if (body_parse(response, arena, &body, NULL) < 0)
        return false;
    if (!yyjson_equals_str(yyjson_obj_get(body.doc.root, "kind"), "Status"))
        return false;
    struct record_reader reader = object_reader(&body.doc, arena, NULL);
    struct api_status status = { 0 };
    if (record_read(&reader, NULL, body.doc.root, api_status_type, &status) < 0)
        return false;
    *ret = status;
    return true;
}

bool rest_status(const struct http_response *response, struct arena *arena, struct api_status *ret)
{
    if (response->outcome != HTTP_ANSWERED || !response->body->len)
        return false;
    if (!is_protobuf(response))
        return status_from_json(response, arena, ret);
    return status_decode_protobuf(strbuf_slice(response->body), STRINGS_COPIED, arena, ret, NULL) == 0;
}

int rest_object(const struct http_response *response, struct arena *arena, struct object *ret,
                struct error *err)
{
    if (is_protobuf(response))
        return object_decode_protobuf(strbuf_slice(response->body), STRINGS_BORROWED, arena, ret, err);
    _cleanup_(body_release) struct body body = { 0 };
    int r = body_parse(response, arena, &body, err);
    if (r < 0)
        return r;
    return object_decode(&body.doc, body.doc.root, arena, ret, err);
}

struct str rest_sentence(const struct http_response *response, const struct api_status *status,
                         struct arena *arena)
{
    if (status->message.len)
        return status->message;
    if (response->outcome == HTTP_ANSWERED)
        return arena_printf(arena, "the API server answered with status %d", response->status);
    return arena_str(arena, str_from(response->error.text));
}

int64_t rest_retry_after_ms(const struct http_response *response, const struct api_status *status)
{
    int64_t ms = response->retry_after_ms;
    if (ms < 0)
        ms = (int64_t)status->details.retry_after_seconds * 1000;
    return MAX(0, MIN(ms, RETRY_AFTER_MS_MAX));
}
