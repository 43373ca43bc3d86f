/* watch_decode.c: see watch_decode.h. The JSON half cuts the text of a watch into values by counting braces; yyjson
 * reads them one by one. Events follow each other with a newline between them, or with nothing. */
#include "sync/watch_decode.h"

#include <stdlib.h>

#include "api/extra_kinds.h"
#include "api/fields.h"
#include "api/labels.h"
#include "api/words.h"

enum {
    SCRATCH_BYTES = 64 << 10,
    SCRATCH_BYTES_KEPT_MAX = 4 << 20,
    TEXT_BYTES_KEPT_MAX = 64 << 10,
    TOKEN_LEN_MAX = 16 << 10,
};

/* ---- objects ---- */

/* What an object is decoded from: a value of a document, the next item of a page, or the frame of an event. */
struct source {
    const struct doc *doc;
    yyjson_val *val; /* NULL: protobuf */
    enum api_kind kind;
    struct str api_version;
    const struct object_list_protobuf *list; /* NULL: the frame */
    struct str frame;
    bool keeps_source;
};

static void scratch_clear(struct arena *scratch)
{
    if (scratch->total_bytes > SCRATCH_BYTES_KEPT_MAX)
        arena_release(scratch);
    arena_reset(scratch);
    arena_reserve(scratch, SCRATCH_BYTES);
}

static struct str text_of(yyjson_val *val, struct arena *arena)
{
    size_t len = 0;
    char *text = yyjson_val_write(val, YYJSON_WRITE_NOFLAG, &len);
    struct str copy =
        len > UINT32_MAX ? (struct str){ 0 } : arena_str(arena, (struct str){ text, (uint32_t)len });
    free(text);
    return copy;
}

/* The text of the document will be gone: strings are copied. */
static int read_json(const struct source *json, struct arena *arena, struct object *object, struct error *err)
{
    const struct record_type *type = api_kinds[json->kind].type;
    struct record_reader reader = {
        .doc = json->doc, .arena = arena, .keep = words_keep, .err = err, .tolerant = object->is_partial
    };
    object->ptr = object->meta = arena_zalloc(arena, type->size);
    object->meta->kind = (uint8_t)json->kind;
    return record_read(&reader, NULL, json->val, type, object->ptr);
}

static int decode_json(const struct source *json, struct arena *arena, struct object *ret, struct error *err)
{
    const struct kind_info *kind = &api_kinds[json->kind];
    struct object object = { .kind = json->kind, .api_version = kind->api_version, .kind_name = kind->kind };
    if (json->kind == KIND_UNKNOWN) {
        *ret = object;
        return 0;
    }
    int r = read_json(json, arena, &object, err);
    if (r < 0) {
        object.is_partial = true;
        read_json(json, arena, &object, NULL);
    }
    object_convert(&object, json->api_version);
    if (json->keeps_source)
        object.meta->source = text_of(json->val, arena);
    *ret = object;
    return r;
}

static enum string_home home_of(bool keeps_source)
{
    return keeps_source ? STRINGS_IN_SOURCE : STRINGS_COPIED;
}

/* A failure leaves in `ret` what could be read. */
static int decode(const struct source *source, struct arena *arena, struct object *ret, struct error *err)
{
    enum string_home home = home_of(source->keeps_source);
    if (source->val)
        return decode_json(source, arena, ret, err);
    if (source->list) {
        struct object_list_protobuf list = *source->list;
        int r = object_list_protobuf_next(&list, home, arena, ret, err);
        return r == 0 ? error_set(err, -ENODATA, "the list ended") : MIN(r, 0);
    }
    struct watch_event event = { 0 };
    int r = watch_event_decode_protobuf(source->frame, home, arena, &event, err);
    *ret = event.object;
    return r;
}

/* `first` is what the source decodes to, and all that `scratch` holds. */
static int make_live(const struct source *source, const struct object *first, enum api_kind kind,
                     const struct arena *scratch, struct live_object **ret, struct error *err)
{
    enum { KIND_BYTES_MAX = 60 };
    if (first->kind != kind) {
        _cleanup_(strbuf_release) struct strbuf found = { 0 };
        path_print_shown(&found, first->kind_name, KIND_BYTES_MAX);
        return error_set(err, -EINVAL, "expected a " STR_FMT ", got \"%s\"", STR_ARG(api_kinds[kind].kind),
                         found.len ? found.text : "");
    }
    if (!object_is_identified(first)) /* of a partial one, err says why already */
        return first->is_partial ? -EBADMSG : error_set(err, -EBADMSG, "an object without a name");
    struct live_object *live = live_object_new();
    arena_reserve(&live->arena, arena_used(scratch));
    decode(source, &live->arena, &live->object, NULL); /* as the first time */
    *ret = live;
    return 0;
}

/* The text as one document; takes the text over, in any case. */
static int open_json(struct doc_stream *stream, struct doc *doc, struct strbuf *text, struct error *err)
{
    size_t len = text->len;
    char *padded = xrealloc(text->text, len + YYJSON_PADDING_SIZE);
    memset(padded + len, 0, YYJSON_PADDING_SIZE);
    *text = (struct strbuf){ 0 };
    doc_stream_init(stream, "answer", padded, len);
    int r = stream->yaml ? error_set(err, -EBADMSG, "the answer is neither protobuf nor JSON")
                         : doc_stream_next(stream, doc, err);
    if (r == 0)
        r = error_set(err, -ENODATA, "the answer is empty");
    return r < 0 ? r : 0;
}

/* Which part of an extra kind an object is of, it does not say: the request does. */
static bool is_expected(enum api_kind kind, struct str api_version, struct str name)
{
    return extra_kind_has_same_objects(object_kind_from(api_version, name), kind);
}

/* ---- lists ---- */

static int init_protobuf(struct list_page *page, struct error *err)
{
    int r = object_list_protobuf_init(&page->items, strbuf_slice(&page->body), err);
    if (r < 0)
        return r;
    if (page->items.items_kind != page->kind)
        return error_set(err, -EINVAL, "expected a list of " STR_FMT " objects, found another one",
                         STR_ARG(api_kinds[page->kind].kind));
    page->resource_version = page->items.resource_version;
    page->continue_token = page->items.continue_token;
    return 0;
}

static int init_json(struct list_page *page, struct error *err)
{
    int r = open_json(&page->stream, &page->doc, &page->body, err);
    if (r < 0)
        return r;
    yyjson_val *root = page->doc.root, *items = yyjson_obj_get(root, "items");
    struct str kind = doc_member_text(root, "kind");
    page->api_version = doc_member_text(root, "apiVersion");
    bool is_list =
        str_ends_with(kind, STR("List")) && (!items || yyjson_is_null(items) || yyjson_is_arr(items));
    if (!is_list || !is_expected(page->kind, page->api_version, str_slice(kind, 0, kind.len - 4)))
        return error_set(err, -EINVAL, "expected a list of " STR_FMT " objects, found something else",
                         STR_ARG(api_kinds[page->kind].kind));
    yyjson_val *metadata = yyjson_obj_get(root, "metadata");
    page->resource_version = doc_member_text(metadata, "resourceVersion");
    page->continue_token = doc_member_text(metadata, "continue");
    if (yyjson_is_arr(items))
        yyjson_arr_iter_init(items, &page->json_items);
    return 0;
}

int list_page_init(struct list_page *page, enum api_kind kind, struct strbuf *body, struct error *err)
{
    *page = (struct list_page){ .kind = kind, .body = *body };
    *body = (struct strbuf){ 0 };
    if (page->body.len > UINT32_MAX)
        return error_set(err, -EMSGSIZE, "a page of more than 4 GiB");
    page->json = !str_starts_with(strbuf_slice(&page->body), STR("k8s"));
    int r = page->json ? init_json(page, err) : init_protobuf(page, err);
    if (r < 0)
        return r;
    bool has_version = page->resource_version.len || kind_is_sampled(kind);
    if (!has_version || MAX(page->resource_version.len, page->continue_token.len) > TOKEN_LEN_MAX)
        return error_set(err, -EBADMSG, "a list without a usable resource version");
    return 0;
}

int list_page_next(struct list_page *page, struct arena *scratch, struct live_object **ret, struct error *err)
{
    const struct object_list_protobuf before = page->items;
    struct source source = { .doc = &page->doc,
                             .kind = page->kind,
                             .api_version = page->api_version,
                             .list = &before,
                             .keeps_source = page->keeps_source };
    struct object first = { 0 };
    scratch_clear(scratch);
    if (page->json) {
        source.val = yyjson_arr_iter_next(&page->json_items);
        if (!source.val)
            return 0;
        decode(&source, scratch, &first, err);
    } else if (object_list_protobuf_next(&page->items, home_of(page->keeps_source), scratch, &first, err) ==
               0) {
        return 0;
    }
    int r = make_live(&source, &first, page->kind, scratch, ret, err);
    return r < 0 ? r : 1;
}

void list_page_release(struct list_page *page)
{
    strbuf_release(&page->body);
    doc_release(&page->doc);
    doc_stream_release(&page->stream);
    *page = (struct list_page){ 0 };
}

/* ---- watches ---- */

void watch_decoder_init(struct watch_decoder *watch, enum api_kind kind)
{
    *watch = (struct watch_decoder){ .kind = kind, .frames = { .bytes_max = WATCH_EVENT_BYTES_MAX } };
}

void watch_decoder_release(struct watch_decoder *watch)
{
    protobuf_frames_release(&watch->frames);
    strbuf_release(&watch->text);
    watch_decoder_init(watch, watch->kind);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

void watch_decoder_feed(struct watch_decoder *watch, struct str chunk)
{
    if (!chunk.len)
        return;
    /* As the first byte of a frame's length, these would announce hundreds of megabytes. */
    if (watch->format == WATCH_UNDECIDED)
        watch->format = chunk.ptr[0] == '{' || is_space(chunk.ptr[0]) ? WATCH_JSON : WATCH_PROTOBUF;
    if (watch->format == WATCH_PROTOBUF) {
        protobuf_frames_feed(&watch->frames, chunk.ptr, chunk.len);
        return;
    }
    if (watch->at) {
        watch->text.len -= watch->at;
        watch->seen -= watch->at;
        memmove(watch->text.text, watch->text.text + watch->at, watch->text.len);
        watch->at = 0;
    }
    /* One giant must not be paid for until the watch ends. */
    if (!watch->text.len && watch->text.cap > TEXT_BYTES_KEPT_MAX)
        strbuf_release(&watch->text);
    strbuf_str(&watch->text, chunk);
}

/* Takes note of a byte inside a value: did the value end with it? */
static bool json_byte(struct watch_decoder *watch, char c)
{
    if (watch->in_string) {
        watch->in_string = watch->escaped || c != '"';
        watch->escaped = !watch->escaped && c == '\\';
    } else if (c == '"') {
        watch->in_string = true;
    } else if (c == '{' || c == '[') {
        watch->depth++;
    } else if (c == '}' || c == ']') {
        watch->depth--;
    }
    return watch->depth == 0;
}

/* The text of the next value: 1, 0 for more bytes, or a negative errno. */
static int json_value(struct watch_decoder *watch, struct str *ret, struct error *err)
{
    const char *text = watch->text.text;
    if (watch->depth == 0) {
        while (watch->at < watch->text.len && is_space(text[watch->at]))
            watch->at++;
        watch->seen = watch->at;
        if (watch->at < watch->text.len && text[watch->at] != '{')
            return error_set(err, -EBADMSG, "the watch does not go on with a JSON object");
    }
    while (watch->seen < watch->text.len) {
        if (watch->seen - watch->at >= WATCH_EVENT_BYTES_MAX)
            return error_set(err, -EMSGSIZE, "a watch event of more than %d bytes", WATCH_EVENT_BYTES_MAX);
        if (!json_byte(watch, text[watch->seen++]))
            continue;
        *ret = (struct str){ text + watch->at, (uint32_t)(watch->seen - watch->at) };
        watch->at = watch->seen;
        return 1;
    }
    return 0;
}

static bool json_type(struct str name, enum watch_type *ret)
{
    static const char *const names[] = {
#define X(type) [WATCH_##type] = #type,
        WATCH_TYPES(X)
#undef X
    };
    for (int i = 0; i < WATCH_TYPE_COUNT; i++)
        if (str_is(name, names[i])) {
            *ret = (enum watch_type)i;
            return true;
        }
    return false;
}

static void take_bookmark(const struct meta *meta, struct live_event *ret)
{
    const struct str *ends = meta ? str_map_get(&meta->annotations, STR("k8s.io/initial-events-end")) : NULL;
    ret->resource_version = meta ? meta->resource_version : (struct str){ 0 };
    ret->ends_initial = ends && str_is(*ends, "true") && ret->resource_version.len;
}

static int json_event(const struct doc *doc, const struct watch_decoder *watch, struct arena *scratch,
                      struct live_event *ret, struct error *err)
{
    struct object first = { 0 };
    yyjson_val *val = yyjson_obj_get(doc->root, "object");
    if (!json_type(doc_member_text(doc->root, "type"), &ret->type))
        return error_set(err, -EINVAL, "a watch event of no known type");
    if (!yyjson_is_obj(val))
        return error_set(err, -EINVAL, "a watch event without an object");
    if (ret->type == WATCH_ERROR) {
        struct record_reader reader = { .doc = doc, .arena = scratch, .keep = words_keep, .err = err };
        return record_read(&reader, NULL, val, api_status_type, &ret->status);
    }
    struct str api_version = doc_member_text(val, "apiVersion"), name = doc_member_text(val, "kind");
    struct source source = { .doc = doc,
                             .val = val,
                             .kind = is_expected(watch->kind, api_version, name)
                                         ? watch->kind
                                         : object_kind_from(api_version, name),
                             .api_version = api_version,
                             .keeps_source = watch->keeps_source };
    decode(&source, scratch, &first, err);
    if (ret->type == WATCH_BOOKMARK) {
        take_bookmark(first.meta, ret);
        return 0;
    }
    if (first.kind == KIND_UNKNOWN)
        first.kind_name = name;
    ret->is_foreign = name.len && first.kind != watch->kind;
    return make_live(&source, &first, watch->kind, scratch, &ret->object, err);
}

static int next_json(struct watch_decoder *watch, struct arena *scratch, struct live_event *ret,
                     struct error *err)
{
    struct str value;
    struct strbuf copy = { 0 };
    struct doc_stream stream = { 0 };
    struct doc doc = { 0 };
    int r = json_value(watch, &value, err);
    if (r <= 0)
        return r;
    strbuf_str(&copy, value);
    r = open_json(&stream, &doc, &copy, err);
    if (r == 0)
        json_event(&doc, watch, scratch, ret, err);
    doc_release(&doc);
    doc_stream_release(&stream);
    return 1;
}

static int next_protobuf(struct watch_decoder *watch, struct arena *scratch, struct live_event *ret,
                         struct error *err)
{
    struct source source = { .keeps_source = watch->keeps_source };
    struct watch_event event = { 0 };
    int r = protobuf_frames_next(&watch->frames, &source.frame, err);
    if (r <= 0)
        return r;
    watch_event_decode_protobuf(source.frame, home_of(watch->keeps_source), scratch, &event, err);
    if (event.type != WATCH_ERROR && !event.object.kind_name.len)
        return 1;
    ret->type = event.type;
    if (event.type == WATCH_ERROR)
        ret->status = event.status;
    else if (event.type == WATCH_BOOKMARK)
        take_bookmark(event.object.meta, ret);
    else {
        ret->is_foreign = event.object.kind != watch->kind;
        make_live(&source, &event.object, watch->kind, scratch, &ret->object, err);
    }
    return 1;
}

int watch_decoder_next(struct watch_decoder *watch, struct arena *scratch, struct live_event *ret,
                       struct error *err)
{
    /* Until it is known better, the event is one of an object that cannot be decoded. */
    *ret = (struct live_event){ .type = WATCH_MODIFIED };
    scratch_clear(scratch);
    if (watch->format == WATCH_UNDECIDED)
        return 0;
    return watch->format == WATCH_JSON ? next_json(watch, scratch, ret, err)
                                       : next_protobuf(watch, scratch, ret, err);
}
