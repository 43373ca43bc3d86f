/* record_struct.c: structs with a table, and the ways into a record from outside.
 *
 * Recursion goes down the types, which end; what a document holds beyond them is never looked at. Most fields of an
 * object from a live cluster are unknown here, so passing over one must be cheap: a table of hashed names. */
#include "codec/record_struct.h"

#include "codec/record_ops.h"

enum { BUDGET_BYTES_MIN = 1 << 20, BUDGET_BYTES_PER_BYTE = 32 };

bool record_skips(struct record_reader *reader)
{
    if (!reader->tolerant)
        return false;
    reader->skipped++;
    reader->err = NULL;
    return true;
}

static size_t field_size(const struct record_field *field)
{
    return field->kind->size ? field->kind->size : field->type->size;
}

/* Is the field of a version of JSON that came later? */
static bool is_newer(const struct record_field *field, struct record_version version)
{
    uint32_t since = field->flags >> RECORD_SINCE_SHIFT;
    return since && version.has && !version.has(version.version, since);
}

/* ---- JSON in ---- */

static int unknown_field(struct record_reader *reader, const struct path *at, const yyjson_val *key,
                         const struct record_type *type)
{
    const char *near = NULL;
    size_t best = 3; /* farther than two letters is not a slip */
    for (uint32_t i = 0; i < type->len; i++) {
        size_t apart = str_distance(at->name, str_from(type->fields[i].name), true);
        if (is_newer(&type->fields[i], reader->version))
            continue;
        if (apart < best && apart < at->name.len) {
            best = apart;
            near = type->fields[i].name;
        }
    }
    if (near)
        return record_complain(reader, at, key, "unknown field; did you mean \"%s\"?", near);
    return record_complain(reader, at, key, "unknown field");
}

/* apiVersion and kind of an object whose caller has looked at them: numbers behind those of the rows. -1: none. */
static int type_meta_number(const struct record_type *type, struct str name)
{
    if (!type->has_type_meta)
        return -1;
    return str_eq(name, STR("apiVersion")) ? RECORD_FIELDS_MAX
           : str_eq(name, STR("kind"))     ? RECORD_FIELDS_MAX + 1
                                           : -1;
}

/* Is the key one that a strict reader takes? `field` is its row, or NULL; `seen` has those that came before. */
static int check_key(struct record_reader *reader, const struct path *at, const yyjson_val *key,
                     const struct record_type *type, const struct record_field *field, uint64_t *seen)
{
    int number = field ? (int)(field - type->fields) : type_meta_number(type, at->name);
    if (number < 0)
        return unknown_field(reader, at, key, type);
    if (*seen >> number & 1)
        return record_complain(reader, at, key, "the field is given twice");
    *seen |= UINT64_C(1) << number;
    return 0;
}

static int read_fields(struct record_reader *reader, const struct path *path, yyjson_val *val,
                       const struct record_type *type, void *record)
{
    uint64_t seen = 0;
    size_t i, max;
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, max, key, item) {
        struct path here = { .parent = path, .name = doc_text(key) };
        const struct record_field *field = record_own_field(type, here.name), *unnamed;
        char *into = record;
        if (field && (is_newer(field, reader->version) || field->flags & RECORD_REST))
            field = NULL;
        int r = reader->mode & RECORD_STRICT ? check_key(reader, &here, key, type, field, &seen) : 0;
        if (r < 0)
            return r;
        if (!field && (unnamed = record_unnamed(type))) {
            field = record_own_field(unnamed->type, here.name);
            into += unnamed->offset;
        }
        if (!field || (yyjson_is_null(item) && !field->kind->reads_null))
            continue;
        into += field->offset;
        r = field->kind->ops->read(field->kind, reader, &here, item, field, into);
        if (r < 0 && !record_skips(reader))
            return r;
        if (r < 0)
            memset(into, 0, field_size(field));
    }
    return 0;
}

static int read_struct(struct record_reader *reader, const struct path *path, yyjson_val *val,
                       const struct record_type *type, void *record)
{
    if (!yyjson_is_obj(val))
        return record_expected(reader, path, val, "an object");
    int r = read_fields(reader, path, val, type, record);
    const struct record_field *rest = record_rest(type);
    if (r == 0 && rest)
        r = rest->kind->ops->read(rest->kind, reader, path, val, rest, (char *)record + rest->offset);
    if (r == 0 && type->finish)
        type->finish(record, val);
    return r;
}

int record_read(struct record_reader *reader, const struct path *path, yyjson_val *val,
                const struct record_type *type, void *record)
{
    return !val || yyjson_is_null(val) ? 0 : read_struct(reader, path, val, type, record);
}

/* ---- JSON out ---- */

static bool has_fields(const struct record_type *type, const void *record)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        if (!(field->flags & RECORD_OLDER) &&
            !record_is_empty(field->kind, field, (const char *)record + field->offset))
            return true;
    }
    return false;
}

bool record_is_empty(const struct record_kind *kind, const struct record_field *field, const void *at)
{
    static const char zeros[sizeof(int64_t)];
    switch ((enum record_empty)kind->empty) {
    case EMPTY_NEVER:
        return false;
    case EMPTY_POINTER:
        return !*(const void *const *)at;
    case EMPTY_LEN:
        return !((const struct record_list *)at)->len;
    case EMPTY_UNSET:
        return !*(const bool *)at;
    case EMPTY_ZERO:
        return memcmp(at, zeros, kind->size) == 0;
    case EMPTY_FIELDS:
        return !has_fields(field->type, at);
    }
    return false;
}

bool record_redacted(const struct record_writer *writer, const struct record_field *field,
                     const struct record_kind *kind, const void **at, struct str *space)
{
    const struct record_redactor *redactor = writer->redactor;
    if (!redactor || !kind->is_text)
        return true;
    *space = redactor->text(redactor->user, field, *(const struct str *)*at, false);
    *at = space;
    return space->ptr;
}

static void write_field(const struct record_writer *writer, const struct record_field *field, const void *at)
{
    const struct record_kind *kind = field->kind;
    struct str text;
    if (!field->name_len) {
        record_write_fields(writer, field->type, at);
        return;
    }
    if (field->flags & RECORD_REST) {
        kind->ops->write(kind, writer, field, at);
        return;
    }
    bool is_empty = record_is_empty(kind, field, at);
    if (is_empty ? !(field->flags & RECORD_ALWAYS) : !record_redacted(writer, field, kind, &at, &text))
        return;
    json_key(writer->json, (struct str){ field->name, field->name_len });
    if (is_empty && kind->has_null)
        json_null(writer->json);
    else
        kind->ops->write(kind, writer, field, at);
}

void record_write_fields(const struct record_writer *writer, const struct record_type *type,
                         const void *record)
{
    const struct record_index *index = type->index;
    bool by_tag = writer->in_tag_order && index->tags_len == type->len;
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[by_tag ? index->in_tag_order[i] : i];
        if (!(field->flags & RECORD_OLDER) && !is_newer(field, writer->version))
            write_field(writer, field, (const char *)record + field->offset);
    }
}

void record_write(const struct record_writer *writer, const struct record_type *type, const void *record)
{
    json_begin_object(writer->json);
    record_write_fields(writer, type, record);
    json_end_object(writer->json);
}

/* ---- protobuf in ---- */

size_t record_budget(size_t bytes)
{
    return BUDGET_BYTES_MIN + bytes * BUDGET_BYTES_PER_BYTE;
}

static int read_protobuf_field(struct record_reader *reader, const struct path *path,
                               const struct record_field *field, const struct protobuf_field *in)
{
    struct record_message *msg = reader->message;
    const struct record_kind *kind = field->kind;
    struct path named = { .parent = path, .name = { field->name, field->name_len } };
    const struct path *here = field->name_len ? &named : path;
    if (in->wire != kind->wire)
        return record_refuse(reader, here, -EINVAL,
                             kind->wire == WIRE_BYTES ? "expected bytes, got a number"
                                                      : "expected a number, got something else");
    if (kind->is_single && msg->seen >> in->tag & 1)
        return record_refuse(reader, here, -EBADMSG, "comes twice");
    char *at = (char *)msg->record + field->offset;
    int r = kind->ops->read_protobuf(kind, reader, here, in, field, at);
    msg->seen |= (uint64_t)1 << in->tag;
    if (r < 0 && reader->tolerant && kind->is_single)
        memset(at, 0, field_size(field));
    return r;
}

static void sort_maps(const struct record_message *msg)
{
    for (uint64_t left = msg->unsorted; left; left &= left - 1) {
        const struct record_field *field =
            &msg->type->fields[msg->type->index->by_tag[__builtin_ctzll(left)] - 1];
        record_sort_entries((void *)((char *)msg->record + field->offset),
                            record_item_size(field->kind, field));
    }
}

static int read_message(struct record_reader *reader, const struct path *path, struct record_message *msg)
{
    const struct record_type *type = msg->type;
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&msg->rest, &in)) > 0) {
        uint8_t row = in.tag < RECORD_TAGS_MAX ? type->index->by_tag[in.tag] : 0;
        r = row ? read_protobuf_field(reader, path, &type->fields[row - 1], &in) : 0;
        if (r < 0 && !record_skips(reader))
            return r;
        msg->last_tag = r < 0 ? 0 : in.tag; /* a field that was passed over may have begun no run */
    }
    if (r < 0) {
        r = record_refuse(reader, path, r, "%s", protobuf_problem(r));
        return record_skips(reader) ? 0 : r; /* what came before it has been read */
    }
    return 0;
}

int record_read_protobuf(struct record_reader *reader, const struct path *path, struct str bytes,
                         const struct record_type *type, void *record)
{
    struct record_message msg = { .type = type, .record = record, .rest = protobuf_reader(bytes) };
    struct record_message *outer = reader->message;
    reader->message = &msg;
    int r = read_message(reader, path, &msg);
    reader->message = outer;
    if (r < 0)
        return r;
    if (msg.unsorted)
        sort_maps(&msg);
    if (type->finish)
        type->finish(record, NULL);
    return 0;
}

/* ---- protobuf out ---- */

/* Left out when it has nothing: a struct that is no pointer is there anyway. */
static void write_inner(struct strbuf *out, uint32_t tag, const struct record_type *type, const void *record)
{
    size_t before = out->len, begun = protobuf_begin(out, tag);
    record_write_protobuf(out, type, record);
    if (out->len > begun) {
        protobuf_end(out, begun);
        return;
    }
    out->len = before;
    out->text[before] = '\0';
}

void record_write_protobuf(struct strbuf *out, const struct record_type *type, const void *record)
{
    const struct record_index *index = type->index;
    for (uint32_t i = 0; i < index->tags_len; i++) {
        const struct record_field *field = &type->fields[index->in_tag_order[i]];
        const void *at = (const char *)record + field->offset;
        if (field->kind->empty == EMPTY_FIELDS)
            write_inner(out, field->tag, field->type, at);
        else if (!record_is_empty(field->kind, field, at))
            field->kind->ops->write_protobuf(field->kind, out, field->tag, field, at);
    }
}

/* ---- the kinds ---- */

READ(struct_read)
{
    return read_struct(reader, path, val, field->type, at);
}

WRITE(struct_write)
{
    record_write(writer, field->type, at);
}

READ_PROTOBUF(struct_read_protobuf)
{
    return record_read_protobuf(reader, path, in->bytes, field->type, at);
}

WRITE_PROTOBUF(struct_write_protobuf)
{
    size_t begun = protobuf_begin(out, tag);
    record_write_protobuf(out, field->type, at);
    protobuf_end(out, begun);
}

COPY(struct_copy)
{
    record_copy(field->type, at, arena, at);
}

PUT_KEY(struct_put_key)
{
    record_put_key(out, field->type, at);
}

VIEW(struct_view)
{
    (void)at;
    return (struct record_view){ .type = VIEW_OBJECT };
}

static const struct record_ops struct_ops = { struct_read,          struct_write,
                                              struct_read_protobuf, struct_write_protobuf,
                                              struct_copy,          struct_put_key,
                                              struct_view };
const struct record_kind record_STRUCT = {
    .ops = &struct_ops, .empty = EMPTY_FIELDS, .wire = WIRE_BYTES, .is_single = true
};
const struct record_kind record_PTR = { .ops = &record_pointer_ops,
                                        .size = sizeof(void *),
                                        .empty = EMPTY_POINTER,
                                        .wire = WIRE_BYTES,
                                        .has_null = true,
                                        .is_single = true,
                                        .item = &record_STRUCT };
const struct record_kind record_LIST = RECORD_MANY(list, STRUCT, 0, 0, WIRE_BYTES);
const struct record_kind record_MAP = RECORD_MANY(map, STRUCT, 0, 0, WIRE_BYTES);
