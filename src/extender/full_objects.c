/* full_objects.c: see full_objects.h. A message is decoded by the tables of full_objects.def and written by them. */
#include "extender/full_objects.h"

#include <stdlib.h>

#include "api/fields.h"
#include "codec/record_ops.h"

/* ---- kinds: what Kubernetes' Go types keep of a field, no more ---- */

/* A quantity stays the text that it is. */
READ_PROTOBUF(quantity_text_read_protobuf)
{
    struct protobuf_reader rest = protobuf_reader(in->bytes);
    struct protobuf_field part;
    struct str text = { 0 };
    int r;
    while ((r = protobuf_next(&rest, &part)) > 0)
        if (part.tag == 1 && part.wire == WIRE_BYTES)
            text = part.bytes;
    *(struct str *)at = record_keep(reader, text);
    return r < 0 ? record_refuse(reader, path, r, "%s", protobuf_problem(r)) : 0;
}

WRITE(quantity_text_write)
{
    struct str text = *(const struct str *)at;
    json_str(writer->json, text.len ? text : STR("0"));
}

static const struct record_ops quantity_text_ops = { .read_protobuf = quantity_text_read_protobuf,
                                                     .write = quantity_text_write };

struct opt_opt_time { /* a pointer to a time, which may be zero: that is null */
    bool set;
    struct opt_time value;
};

typedef struct str record_c_QUANTITY_TEXT;
static const struct record_kind record_QUANTITY_TEXT = {
    .ops = &quantity_text_ops, .size = sizeof(struct str), .empty = EMPTY_LEN, .wire = WIRE_BYTES
};
static const struct record_kind record_OPT_QUANTITY_TEXT = { .ops = &quantity_text_ops,
                                                             .size = sizeof(struct str),
                                                             .empty = EMPTY_POINTER,
                                                             .wire = WIRE_BYTES,
                                                             .has_null = true };
static const struct record_kind record_QUANTITY_TEXT_MAP = RECORD_MAP_OF(QUANTITY_TEXT, struct pair, value);
static const struct record_kind record_OPT_TIME = RECORD_OPTIONAL(TIME, struct opt_opt_time, WIRE_BYTES);

/* ---- tables ---- */

#define ROW(field_kind, field_tag, text, field_flags, message) \
    { .name = text, \
      .name_len = sizeof(text) - 1, \
      .tag = field_tag, \
      .flags = field_flags, \
      .kind = &record_##field_kind, \
      .type = message }
#define F(field_kind, field_tag, text) ROW(field_kind, field_tag, text, 0, NULL)
#define A(field_kind, field_tag, text) ROW(field_kind, field_tag, text, RECORD_ALWAYS, NULL)
#define FM(field_kind, field_tag, text, message) ROW(field_kind, field_tag, text, 0, &type_##message)
#define AM(field_kind, field_tag, text, message) \
    ROW(field_kind, field_tag, text, RECORD_ALWAYS, &type_##message)
#define TYPE(message, ...) \
    static struct record_field fields_##message[] = { __VA_ARGS__ }; \
    static struct record_index index_##message; \
    static struct record_type type_##message = { .fields = fields_##message, \
                                                 .len = ARRAY_SIZE(fields_##message), \
                                                 .index = &index_##message }; \
    __attribute__((constructor)) static void lay_out_##message(void) \
    { \
        record_lay_out(&type_##message, fields_##message); \
    }
#include "extender/full_objects.def"

/* ---- objects ---- */

static int from_protobuf(struct json_writer *json, enum api_kind kind, struct str bytes, struct str node,
                         struct error *err)
{
    const struct record_type *type = kind == KIND_POD ? &type_Pod : &type_Node;
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct record_reader reader = { .arena = &arena, .err = err, .budget_bytes = record_budget(bytes.len) };
    char *object = arena_zalloc(&arena, type->size);
    int r = record_read_protobuf(&reader, NULL, bytes, type, object);
    if (r < 0)
        return r;
    if (node.len) {
        struct record_member member = record_member(type, STR("spec.nodeName"));
        *(struct str *)(void *)(object + member.offset) = node;
    }
    record_write(&(struct record_writer){ .json = json }, type, object);
    return 0;
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
        return error_set(err, -EBADMSG, "the object cannot be written as JSON");
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

int full_bytes(struct json_writer *json, enum api_kind kind, struct str bytes, struct error *err)
{
    return from_bytes(json, kind, bytes, STR(""), err);
}

/* The fields that berth knows. */
static int from_struct(struct json_writer *json, enum api_kind kind, const void *object, struct str node,
                       struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 };
    record_write_protobuf(&bytes, api_kinds[kind].type, object);
    return from_protobuf(json, kind, strbuf_slice(&bytes), node, err);
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

int full_pod(struct json_writer *json, const struct pod *pod, struct error *err)
{
    return put_object(json, KIND_POD, &pod->meta, pod, STR(""), err);
}

int full_pod_on(struct json_writer *json, const struct pod *pod, struct str node, struct error *err)
{
    return put_object(json, KIND_POD, &pod->meta, pod, node, err);
}

int full_node(struct json_writer *json, const struct node *node, struct error *err)
{
    return put_object(json, KIND_NODE, &node->meta, node, STR(""), err);
}
