/* protobuf.c: what Kubernetes puts around its messages: envelopes, lists, watch events; see protobuf.h. */
#include "api/protobuf.h"

#include "api/fields.h"
#include "api/words.h"

static const struct str magic = { "k8s\0", 4 };
static const struct str content_type = { "application/vnd.kubernetes.protobuf", 35 };

/* ---- envelopes ---- */

struct envelope {
    struct str api_version, kind, raw;
};

static int malformed(struct error *err, int code, const char *what)
{
    return error_set(err, code, "%s: %s", what, protobuf_problem(code));
}

static int open_unknown(struct str bytes, struct envelope *ret, struct error *err)
{
    enum { TYPE_META, RAW, ENCODING, CONTENT_TYPE };
    struct protobuf_field parts[] = { [TYPE_META... CONTENT_TYPE] = { .wire = WIRE_BYTES } };
    struct protobuf_field names[] = { [0 ... 1] = { .wire = WIRE_BYTES } };
    int r = protobuf_parts(bytes, parts, ARRAY_SIZE(parts));
    if (r < 0)
        return malformed(err, r, "the envelope");
    r = protobuf_parts(parts[TYPE_META].bytes, names, ARRAY_SIZE(names));
    if (r < 0)
        return malformed(err, r, "typeMeta");
    if (parts[ENCODING].bytes.len)
        return error_set(err, -ENOTSUP, "the object is encoded once more, which is not supported");
    if (parts[CONTENT_TYPE].bytes.len && !str_eq(parts[CONTENT_TYPE].bytes, content_type))
        return error_set(err, -ENOTSUP, "the object is not protobuf inside, which is not supported");
    *ret = (struct envelope){ names[0].bytes, names[1].bytes, parts[RAW].bytes };
    return 0;
}

static int open_envelope(struct str bytes, struct envelope *ret, struct error *err)
{
    if (!str_starts_with(bytes, magic))
        return error_set(err, -EBADMSG,
                         "not a Kubernetes object in protobuf: it does not begin with \"k8s\"");
    struct envelope envelope;
    int r = open_unknown(str_slice(bytes, magic.len, bytes.len), &envelope, err);
    if (r < 0)
        return r;
    if (!envelope.api_version.len || !envelope.kind.len)
        return error_set(err, -EINVAL, "expected apiVersion and kind, got no %s",
                         envelope.kind.len ? "apiVersion" : "kind");
    /* Go takes this for an empty object, but no server writes it. Such a cut in the wrong place would be a list without
     * items in place of one with thousands. */
    if (!envelope.raw.ptr)
        return error_set(err, -ENODATA, "the envelope has no object");
    *ret = envelope;
    return 0;
}

static struct record_reader reader_for(struct str bytes, enum string_home home, struct arena *arena,
                                       struct error *err)
{
    return (struct record_reader){ .arena = arena,
                                   .keep = home == STRINGS_COPIED ? words_keep : NULL,
                                   .err = err,
                                   .budget_bytes = record_budget(bytes.len) };
}

/* Puts the object's kind and name in front of the sentence, as far as they were decoded: metadata comes first. */
static void name_object(struct error *err, const struct object *object)
{
    enum { NAME_BYTES_MAX = 60 };
    if (!err)
        return;
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    path_print_shown(&name, object->kind_name, NAME_BYTES_MAX);
    if (object->meta->name.len) {
        strbuf_putc(&name, ' ');
        path_print_shown(&name, object->meta->namespace, NAME_BYTES_MAX);
        strbuf_puts(&name, object->meta->namespace.len ? "/" : "");
        path_print_shown(&name, object->meta->name, NAME_BYTES_MAX);
    }
    error_prefix(err, "%s", name.text);
}

static int read_object(struct str raw, enum string_home home, struct arena *arena, struct object *object,
                       struct error *err)
{
    struct record_reader reader = reader_for(raw, home, arena, err);
    const struct record_type *type = api_kinds[object->kind].type;
    reader.tolerant = object->is_partial;
    object->ptr = object->meta = arena_zalloc(arena, type->size);
    object->meta->kind = (uint8_t)object->kind;
    if (home == STRINGS_IN_SOURCE)
        object->meta->source = raw;
    return record_read_protobuf(&reader, NULL, raw, type, object->ptr);
}

/* The object itself; `object` has its kind and names. After a failure it has what could be read. */
static int decode_object(struct str raw, enum string_home home, struct arena *arena, struct object *object,
                         struct str api_version, struct error *err)
{
    if (object->kind == KIND_UNKNOWN)
        return 0;
    if (home == STRINGS_IN_SOURCE)
        raw = arena_str(arena, raw);
    int r = read_object(raw, home, arena, object, err);
    if (r < 0) {
        object->is_partial = true;
        read_object(raw, home, arena, object, NULL);
        name_object(err, object);
    }
    object_convert(object, api_version);
    return r;
}

int object_decode_protobuf(struct str bytes, enum string_home home, struct arena *arena, struct object *ret,
                           struct error *err)
{
    return object_decode_protobuf_as(bytes, KIND_UNKNOWN, home, arena, ret, err);
}

static bool is_named(enum api_kind kind, const struct envelope *envelope)
{
    return kind != KIND_UNKNOWN && str_eq(api_kinds[kind].kind, envelope->kind) &&
           str_eq(api_kinds[kind].api_version, envelope->api_version);
}

int object_decode_protobuf_as(struct str bytes, enum api_kind expected, enum string_home home,
                              struct arena *arena, struct object *ret, struct error *err)
{
    struct envelope envelope;
    int r = open_envelope(bytes, &envelope, err);
    if (r < 0)
        return r;
    /* The envelope is no part of the source. */
    struct record_reader reader =
        reader_for(bytes, home == STRINGS_BORROWED ? home : STRINGS_COPIED, arena, err);
    struct object object = { .kind = is_named(expected, &envelope)
                                         ? expected
                                         : object_kind_from(envelope.api_version, envelope.kind),
                             .api_version = record_keep(&reader, envelope.api_version),
                             .kind_name = record_keep(&reader, envelope.kind) };
    r = decode_object(envelope.raw, home, arena, &object, object.api_version, err);
    *ret = object;
    return r;
}

int status_decode_protobuf(struct str bytes, enum string_home home, struct arena *arena,
                           struct api_status *ret, struct error *err)
{
    struct envelope envelope;
    int r = open_envelope(bytes, &envelope, err);
    if (r < 0)
        return r;
    if (!str_eq(envelope.kind, STR("Status")) || !str_eq(envelope.api_version, STR("v1")))
        return error_set(err, -EINVAL, "expected a Status, got another kind of object");
    struct record_reader reader =
        reader_for(bytes, home == STRINGS_BORROWED ? home : STRINGS_COPIED, arena, err);
    struct api_status status = { 0 };
    r = record_read_protobuf(&reader, NULL, envelope.raw, api_status_type, &status);
    if (r == 0)
        *ret = status;
    return r;
}

void object_encode_protobuf(const struct object *object, struct strbuf *out)
{
    assert(object->kind != KIND_UNKNOWN);
    const struct kind_info *kind = &api_kinds[object->kind];
    strbuf_add(out, magic.ptr, magic.len);
    size_t begun = protobuf_begin(out, 1);
    protobuf_put_bytes(out, 1, kind->api_version);
    protobuf_put_bytes(out, 2, kind->kind);
    protobuf_end(out, begun);
    begun = protobuf_begin(out, 2);
    record_write_protobuf(out, kind->type, object->ptr);
    protobuf_end(out, begun);
}

/* ---- lists ---- */

enum { LIST_METADATA = 1, LIST_ITEMS = 2 };

static int open_list_meta(struct str bytes, struct object_list_protobuf *list, struct error *err)
{
    enum { SELF_LINK, RESOURCE_VERSION, CONTINUE, REMAINING };
    struct protobuf_field parts[] = {
        [SELF_LINK... CONTINUE] = { .wire = WIRE_BYTES }, [REMAINING] = { .wire = WIRE_VARINT }
    };
    int r = protobuf_parts(bytes, parts, ARRAY_SIZE(parts));
    if (r < 0)
        return malformed(err, r, "metadata");
    list->resource_version = parts[RESOURCE_VERSION].bytes;
    list->continue_token = parts[CONTINUE].bytes;
    list->remaining_count = (struct opt_int64){ parts[REMAINING].tag, (int64_t)parts[REMAINING].number };
    return 0;
}

/* Checks all of the list, so that it is sound down to its items before any of them is used. */
static int open_list(struct object_list_protobuf *list, struct error *err)
{
    struct protobuf_reader reader = list->rest;
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag <= LIST_ITEMS && in.wire != WIRE_BYTES)
            return malformed(err, -EBADMSG, "the list");
        if (in.tag == LIST_METADATA && (r = open_list_meta(in.bytes, list, err)) < 0)
            return r;
        list->len += in.tag == LIST_ITEMS;
    }
    return r < 0 ? malformed(err, r, "the list") : 0;
}

int object_list_protobuf_init(struct object_list_protobuf *list, struct str bytes, struct error *err)
{
    *list = (struct object_list_protobuf){ 0 };
    struct envelope envelope;
    int r = open_envelope(bytes, &envelope, err);
    if (r < 0)
        return r;
    if (!str_ends_with(envelope.kind, STR("List")))
        return error_set(err, -EINVAL, "expected a list, got another kind of object");
    struct object_list_protobuf found = {
        .items_kind =
            object_kind_from(envelope.api_version, str_slice(envelope.kind, 0, envelope.kind.len - 4)),
        .api_version = envelope.api_version,
        .kind_name = envelope.kind,
        .rest = protobuf_reader(envelope.raw),
    };
    r = open_list(&found, err);
    if (r == 0)
        *list = found;
    return r;
}

int object_list_protobuf_next(struct object_list_protobuf *list, enum string_home home, struct arena *arena,
                              struct object *ret, struct error *err)
{
    struct protobuf_field in;
    do {
        if (!list->rest.at || protobuf_next(&list->rest, &in) <= 0)
            return 0;
    } while (in.tag != LIST_ITEMS);
    const struct kind_info *kind = &api_kinds[list->items_kind];
    struct object object = { .kind = list->items_kind,
                             .api_version = kind->api_version,
                             .kind_name = kind->kind };
    int r = decode_object(in.bytes, home, arena, &object, list->api_version, err);
    if (r < 0)
        error_prefix(err, "items[%u]", list->next);
    list->next++;
    *ret = object;
    return r < 0 ? r : 1;
}

/* ---- watches ---- */

static int watch_type_from(struct str name, enum watch_type *ret)
{
    static const struct str names[] = {
#define X(type) [WATCH_##type] = { #type, sizeof(#type) - 1 },
        WATCH_TYPES(X)
#undef X
    };
    for (int i = 0; i < WATCH_TYPE_COUNT; i++)
        if (str_eq(name, names[i])) {
            *ret = (enum watch_type)i;
            return 0;
        }
    return -EINVAL;
}

int watch_event_decode_protobuf(struct str frame, enum string_home home, struct arena *arena,
                                struct watch_event *ret, struct error *err)
{
    struct protobuf_field parts[] = { [0 ... 1] = { .wire = WIRE_BYTES } }; /* type, object */
    struct protobuf_field raw = { .wire = WIRE_BYTES };
    int r = protobuf_parts(frame, parts, ARRAY_SIZE(parts));
    if (r == 0)
        r = protobuf_parts(parts[1].bytes, &raw, 1);
    if (r < 0)
        return malformed(err, r, "the watch event");
    struct watch_event event = { 0 };
    if (watch_type_from(parts[0].bytes, &event.type) < 0)
        return error_set(err, -EINVAL, "a watch event of no known type");
    r = event.type == WATCH_ERROR ? status_decode_protobuf(raw.bytes, home, arena, &event.status, err)
                                  : object_decode_protobuf(raw.bytes, home, arena, &event.object, err);
    *ret = event;
    return r;
}
