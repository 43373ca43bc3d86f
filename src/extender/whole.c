/* whole.c: see whole.h.
 *
 * A message is looked through once per row of its table. That is quadratic in the number of fields, of which there are
 * few, and needs no memory. Messages do not nest in themselves, so depth is that of the table. */
#include "extender/whole.h"

#include <stdlib.h>
#include <yyjson.h>

#include "api/object.h"
#include "api/protobuf.h"
#include "base/timestamp.h"

/* STR and such are written if they are not empty, OPT_STR and such if they are there, STRS and such if there is one. */
enum whole_kind {
    WHOLE_STR,
    WHOLE_BOOL,
    WHOLE_INT,
    WHOLE_TIME,
    WHOLE_QUANTITY,
    WHOLE_INT_OR_STR,
    WHOLE_OPT_STR,
    WHOLE_OPT_BOOL,
    WHOLE_OPT_INT,
    WHOLE_OPT_TIME,
    WHOLE_OPT_QUANTITY,
    WHOLE_STRS,
    WHOLE_INTS,
    WHOLE_STR_MAP,
    WHOLE_QUANTITY_MAP,
    WHOLE_STRUCT,
    WHOLE_PTR,
    WHOLE_LIST,
    WHOLE_INLINE, /* a message whose fields stand in its parent in JSON */
};

struct whole_type;

struct whole_field {
    struct str name;
    uint16_t tag;
    uint8_t kind;
    bool always; /* written where it is empty, too */
    const struct whole_type *type;
};

struct whole_type {
    const struct whole_field *fields;
    size_t len;
};

#define F(field_kind, field_tag, text) { STR(text), field_tag, WHOLE_##field_kind, false, NULL }
#define A(field_kind, field_tag, text) { STR(text), field_tag, WHOLE_##field_kind, true, NULL }
#define FM(field_kind, field_tag, text, message) \
    { STR(text), field_tag, WHOLE_##field_kind, false, &type_##message }
#define AM(field_kind, field_tag, text, message) \
    { STR(text), field_tag, WHOLE_##field_kind, true, &type_##message }
#define TYPE(message, ...) \
    static const struct whole_field fields_##message[] = { __VA_ARGS__ }; \
    static const struct whole_type type_##message = { fields_##message, ARRAY_SIZE(fields_##message) };
#include "extender/whole.def"

struct whole {
    struct json_writer *json;
    struct error *err;
    struct str node; /* that a pod is said to be on; empty: what its bytes say */
};

static int put_fields(struct whole *whole, const struct whole_type *type, struct str message);

static int malformed(struct whole *whole, int code, struct str name)
{
    return error_set(whole->err, code, STR_FMT ": %s", STR_ARG(name), protobuf_problem(code));
}

/* The next field of that tag: 1, 0 or a negative errno. */
static int next_of(struct protobuf_reader *reader, uint32_t tag, struct protobuf_field *ret)
{
    int r;
    do {
        r = protobuf_next(reader, ret);
    } while (r > 0 && ret->tag != tag);
    return r;
}

/* The last field of that tag, as protobuf has it: 1, 0 or a negative errno. */
static int find(struct str message, uint32_t tag, struct protobuf_field *ret)
{
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field in;
    bool found = false;
    int r;
    while ((r = next_of(&reader, tag, &in)) > 0) {
        bool has_bytes = in.wire == WIRE_BYTES;
        *ret = (struct protobuf_field){ tag, in.wire, has_bytes ? 0 : in.number,
                                        has_bytes ? in.bytes : STR("") };
        found = true;
    }
    return r < 0 ? r : found;
}

/* ---- values ---- */
static enum protobuf_wire wire_of(enum whole_kind kind)
{
    bool is_number = kind == WHOLE_BOOL || kind == WHOLE_INT || kind == WHOLE_OPT_BOOL ||
                     kind == WHOLE_OPT_INT || kind == WHOLE_INTS;
    return is_number ? WIRE_VARINT : WIRE_BYTES;
}

static void put_time(struct json_writer *json, struct str message)
{
    struct protobuf_field seconds = { 0 };
    char text[TIMESTAMP_LEN + 1];
    if (!message.len || find(message, 1, &seconds) < 0)
        json_null(json);
    else
        json_str(json, timestamp_format((int64_t)seconds.number, text));
}

static void put_quantity(struct json_writer *json, struct str message)
{
    struct protobuf_field text = { 0 };
    bool found = find(message, 1, &text) > 0 && text.bytes.len;
    json_str(json, found ? text.bytes : STR("0"));
}

static void put_int_or_str(struct json_writer *json, struct str message)
{
    struct protobuf_field in = { 0 };
    bool is_text = find(message, 1, &in) > 0 && in.number == 1;
    in = (struct protobuf_field){ 0 };
    if (find(message, is_text ? 3 : 2, &in) < 0)
        in = (struct protobuf_field){ 0 };
    if (is_text)
        json_str(json, in.bytes);
    else
        json_int(json, (int32_t)in.number);
}

/* One value; an absent one is a field of zeros. */
static int put_value(struct whole *whole, const struct whole_field *field, const struct protobuf_field *in)
{
    switch ((enum whole_kind)field->kind) {
    case WHOLE_BOOL:
    case WHOLE_OPT_BOOL:
        json_bool(whole->json, in->number != 0);
        return 0;
    case WHOLE_INT:
    case WHOLE_OPT_INT:
    case WHOLE_INTS:
        json_int(whole->json, (int64_t)in->number);
        return 0;
    case WHOLE_TIME:
    case WHOLE_OPT_TIME:
        put_time(whole->json, in->bytes);
        return 0;
    case WHOLE_QUANTITY:
    case WHOLE_OPT_QUANTITY:
    case WHOLE_QUANTITY_MAP:
        put_quantity(whole->json, in->bytes);
        return 0;
    case WHOLE_INT_OR_STR:
        put_int_or_str(whole->json, in->bytes);
        return 0;
    case WHOLE_STRUCT:
    case WHOLE_PTR:
    case WHOLE_LIST: {
        json_begin_object(whole->json);
        int r = put_fields(whole, field->type, in->bytes);
        if (r == 0) /* else all that was written is thrown away */
            json_end_object(whole->json);
        return r;
    }
    default:
        json_str(whole->json, in->bytes);
        return 0;
    }
}

/* ---- fields ---- */
/* A scalar of which an empty one is the same as none. */
static bool empty_is_none(enum whole_kind kind)
{
    return kind <= WHOLE_INT_OR_STR;
}

static int put_single(struct whole *whole, const struct whole_field *field, struct str message)
{
    struct protobuf_field in = { .bytes = STR("") };
    enum whole_kind kind = (enum whole_kind)field->kind;
    int found = find(message, field->tag, &in);
    if (found < 0 || (found && in.wire != wire_of(kind)))
        return malformed(whole, found < 0 ? found : -EBADMSG, field->name);
    bool is_empty = empty_is_none(kind) ? !in.number && !in.bytes.len : !found;
    if (is_empty && !field->always)
        return 0;
    json_key(whole->json, field->name);
    if (!found && !empty_is_none(kind) && kind != WHOLE_STRUCT) {
        json_null(whole->json);
        return 0;
    }
    return put_value(whole, field, &in);
}

static int put_key(struct whole *whole, const struct whole_field *field, struct protobuf_field *in)
{
    struct str entry = in->bytes;
    struct protobuf_field key = { .bytes = STR("") };
    *in = (struct protobuf_field){ .bytes = STR("") };
    int r = find(entry, 1, &key);
    if (r >= 0)
        r = find(entry, 2, in);
    if (r < 0)
        return malformed(whole, r, field->name);
    json_key(whole->json, key.bytes);
    return 0;
}

/* A list or a map: nothing, or null, where it has no items. */
static int put_repeated(struct whole *whole, const struct whole_field *field, struct str message)
{
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field in;
    bool is_map = field->kind == WHOLE_STR_MAP || field->kind == WHOLE_QUANTITY_MAP, begun = false;
    int r;
    while ((r = next_of(&reader, field->tag, &in)) > 0) {
        if (in.wire != wire_of((enum whole_kind)field->kind)) {
            r = -EBADMSG;
            break;
        }
        if (!begun) {
            json_key(whole->json, field->name);
            (is_map ? json_begin_object : json_begin_array)(whole->json);
        }
        begun = true;
        if (is_map && (r = put_key(whole, field, &in)) < 0)
            return r;
        if ((r = put_value(whole, field, &in)) < 0)
            return r;
    }
    if (r < 0)
        return malformed(whole, r, field->name);
    if (begun) {
        (is_map ? json_end_object : json_end_array)(whole->json);
    } else if (field->always) {
        json_key(whole->json, field->name);
        json_null(whole->json);
    }
    return 0;
}

static int put_inline(struct whole *whole, const struct whole_field *field, struct str message)
{
    struct protobuf_field in = { .bytes = STR("") };
    int found = find(message, field->tag, &in);
    if (found < 0)
        return malformed(whole, found, field->name);
    return put_fields(whole, field->type, in.bytes);
}

static int put_fields(struct whole *whole, const struct whole_type *type, struct str message)
{
    int r = 0;
    for (size_t i = 0; i < type->len && r == 0; i++) {
        const struct whole_field *field = &type->fields[i];
        if (whole->node.len && type == &type_PodSpec && str_is(field->name, "nodeName")) {
            json_key(whole->json, field->name);
            json_str(whole->json, whole->node);
            continue;
        }
        switch ((enum whole_kind)field->kind) {
        case WHOLE_STRS:
        case WHOLE_INTS:
        case WHOLE_STR_MAP:
        case WHOLE_QUANTITY_MAP:
        case WHOLE_LIST:
            r = put_repeated(whole, field, message);
            break;
        case WHOLE_INLINE:
            r = put_inline(whole, field, message);
            break;
        default:
            r = put_single(whole, field, message);
            break;
        }
    }
    return r;
}

/* ---- objects ---- */
/* The writer's text is cut where it was when something fails in the middle. */
static int from_protobuf(struct json_writer *json, enum api_kind kind, struct str bytes, struct str node,
                         struct error *err)
{
    struct strbuf text = { 0 };
    struct json_writer inner = json_writer(&text, JSON_COMPACT);
    struct whole whole = { &inner, err, node };
    json_begin_object(&inner);
    int r = put_fields(&whole, kind == KIND_POD ? &type_Pod : &type_Node, bytes);
    if (r == 0) {
        json_end_object(&inner);
        json_raw(json, strbuf_slice(&text));
    }
    strbuf_release(&text);
    return r;
}

static int from_json(struct json_writer *json, struct str bytes, struct str node, struct error *err)
{
    yyjson_doc *doc = yyjson_read(bytes.ptr, bytes.len, YYJSON_READ_NOFLAG);
    yyjson_mut_doc *copy = doc ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_doc_free(doc);
    if (!copy)
        return error_set(err, -EBADMSG, "the object is not JSON any more");
    yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
    yyjson_mut_obj_remove_key(root, "kind");
    yyjson_mut_obj_remove_key(root, "apiVersion");
    yyjson_mut_obj_remove_key(yyjson_mut_obj_get(root, "metadata"), "managedFields");
    yyjson_mut_val *spec = yyjson_mut_obj_get(root, "spec");
    if (node.len && yyjson_mut_is_obj(spec))
        yyjson_mut_obj_put(spec, yyjson_mut_str(copy, "nodeName"), yyjson_mut_strn(copy, node.ptr, node.len));
    size_t len;
    char *text = yyjson_mut_write(copy, YYJSON_WRITE_NOFLAG, &len);
    yyjson_mut_doc_free(copy);
    if (!text)
        return error_set(err, -EBADMSG, "the object can not be written as JSON");
    json_raw(json, (struct str){ text, (uint32_t)len });
    free(text);
    return 0;
}

static int from_bytes(struct json_writer *json, enum api_kind kind, struct str bytes, struct str node,
                      struct error *err)
{
    if (bytes.len && bytes.ptr[0] == '{') /* as a tag it would be that of no field of an object */
        return from_json(json, bytes, node, err);
    return from_protobuf(json, kind, bytes, node, err);
}

int whole_bytes(struct json_writer *json, enum api_kind kind, struct str bytes, struct error *err)
{
    return from_bytes(json, kind, bytes, STR(""), err);
}

/* What the decoders' tables know of it. */
static int from_struct(struct json_writer *json, enum api_kind kind, const void *object, struct str node,
                       struct error *err)
{
    enum { MAGIC_LEN = 4, ENVELOPE_RAW = 2 };
    struct strbuf bytes = { 0 };
    struct object whole = { .kind = kind, .ptr = (void *)object };
    struct protobuf_field raw = { .bytes = STR("") };
    object_encode_protobuf(&whole, &bytes);
    struct str envelope = strbuf_slice(&bytes);
    int r = find(str_slice(envelope, MAGIC_LEN, envelope.len), ENVELOPE_RAW, &raw);
    r = r < 0 ? error_set(err, r, "%s", protobuf_problem(r))
              : from_protobuf(json, kind, raw.bytes, node, err);
    strbuf_release(&bytes);
    return r;
}

static int put_object(struct json_writer *json, enum api_kind kind, const struct meta *meta,
                      const void *object, struct str node, struct error *err)
{
    int r = meta->source.len ? from_bytes(json, kind, meta->source, node, err)
                             : from_struct(json, kind, object, node, err);
    if (r < 0)
        error_prefix(err, STR_FMT " " STR_FMT, STR_ARG(meta->namespace), STR_ARG(meta->name));
    return r;
}

int whole_pod(struct json_writer *json, const struct pod *pod, struct error *err)
{
    return put_object(json, KIND_POD, &pod->meta, pod, STR(""), err);
}

int whole_pod_on(struct json_writer *json, const struct pod *pod, struct str node, struct error *err)
{
    return put_object(json, KIND_POD, &pod->meta, pod, node, err);
}

int whole_node(struct json_writer *json, const struct node *node, struct error *err)
{
    return put_object(json, KIND_NODE, &node->meta, node, STR(""), err);
}
