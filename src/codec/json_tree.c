/* json_tree.c: see json_tree.h. */
#include "codec/json_tree.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "codec/record_ops.h"
#include "codec/record_struct.h"

static _Atomic uint64_t trees_made;

/* ---- copies ---- */

/* How many values it is, with all that is in it. */
static size_t count_of(yyjson_val *val)
{
    return (size_t)(unsafe_yyjson_get_next(val) - val);
}

static bool is_own_member(yyjson_val *key)
{
    struct str name = doc_text(key);
    return str_is(name, "apiVersion") || str_is(name, "kind") || str_is(name, "metadata");
}

static void keep_strings(yyjson_val *vals, size_t len, struct arena *arena,
                         struct str (*keep)(struct arena *arena, struct str text))
{
    for (size_t i = 0; i < len; i++) {
        bool has_text = unsafe_yyjson_is_str(&vals[i]) || unsafe_yyjson_is_raw(&vals[i]);
        if (has_text && unsafe_yyjson_get_len(&vals[i]) <= UINT32_MAX)
            vals[i].uni.str = keep(arena, doc_text(&vals[i])).ptr;
    }
}

yyjson_val *json_tree_copy_rest(yyjson_val *object, struct arena *arena,
                                struct str (*keep)(struct arena *arena, struct str text))
{
    size_t len = 1, members = 0, i, max;
    yyjson_val *key, *item;
    if (!yyjson_is_obj(object))
        return NULL;
    yyjson_obj_foreach(object, i, max, key, item)
        len += is_own_member(key) ? 0 : 1 + count_of(item);
    yyjson_val *copy = arena_array(arena, yyjson_val, len), *next = copy + 1;
    yyjson_obj_foreach(object, i, max, key, item) {
        if (is_own_member(key))
            continue;
        memcpy(next, key, (1 + count_of(item)) * sizeof(*next));
        next += 1 + count_of(item);
        members++;
    }
    atomic_fetch_add_explicit(&trees_made, 1, memory_order_relaxed);
    copy->tag = (uint64_t)members << YYJSON_TAG_BIT | YYJSON_TYPE_OBJ;
    copy->uni.ofs = len * sizeof(*copy);
    if (keep)
        keep_strings(copy, len, arena, keep);
    return copy;
}

/* ---- reads ---- */

/* A list is read from the first to the last, and its values stand one behind the other: a search goes on where the last
 * one at its depth ended. Where a tree was there may be another one later: a place is void when one was made since. */
enum { DEPTHS_KEPT = 16 };
static _Thread_local struct place {
    yyjson_val *container, *item; /* the item of a list, or the key of a member */
    size_t index;
    uint64_t trees;
} places[DEPTHS_KEPT];

static struct place *place_in(yyjson_val *container, size_t depth)
{
    struct place *place = &places[depth % DEPTHS_KEPT];
    uint64_t trees = atomic_load_explicit(&trees_made, memory_order_relaxed);
    if (place->container != container || place->trees != trees)
        *place = (struct place){ container, unsafe_yyjson_get_first(container), 0, trees };
    return place;
}

/* `index` is less than the length. */
static yyjson_val *item_at(yyjson_val *container, size_t index, size_t depth)
{
    bool is_object = yyjson_is_obj(container);
    struct place *place = place_in(container, depth);
    if (place->index > index) {
        place->item = unsafe_yyjson_get_first(container);
        place->index = 0;
    }
    for (; place->index < index; place->index++)
        place->item = unsafe_yyjson_get_next(is_object ? place->item + 1 : place->item);
    return place->item;
}

static yyjson_val *member(yyjson_val *object, struct str name, size_t depth)
{
    if (!unsafe_yyjson_get_len(object))
        return NULL;
    yyjson_val *key = place_in(object, depth)->item;
    return str_eq(doc_text(key), name) ? key + 1 : yyjson_obj_getn(object, name.ptr, name.len);
}

static yyjson_val *enter(yyjson_val *val, const struct record_step *step, size_t depth)
{
    int64_t number;
    if (yyjson_is_obj(val))
        return member(val, step->name, depth);
    if (yyjson_is_arr(val) && step->is_subscript && str_to_int64(step->name, &number) && number >= 0 &&
        (uint64_t)number < unsafe_yyjson_get_len(val))
        return item_at(val, (size_t)number, depth);
    return NULL;
}

static yyjson_val *find(yyjson_val *tree, struct str path, size_t *ret_depth)
{
    struct record_step step;
    for (*ret_depth = 0; tree && path.len; ++*ret_depth)
        tree = record_next_step(&path, &step) ? enter(tree, &step, *ret_depth) : NULL;
    return tree;
}

/* Towards the greater one, and never beyond what it holds. */
static int64_t rounded_up(double value)
{
    double up = ceil(value);
    return up >= 0x1p63 ? INT64_MAX : up < -0x1p63 ? INT64_MIN : (int64_t)up;
}

static struct record_view view_real(double value)
{
    if (!isfinite(value))
        return (struct record_view){ 0 };
    if (value == trunc(value) && fabs(value) < 0x1p53) /* 5.0 is 5, however a writer has written it */
        return (struct record_view){ .type = VIEW_NUMBER, .number = (int64_t)value };
    return (struct record_view){
        .type = VIEW_AMOUNT, .number = rounded_up(value), .milli = rounded_up(value * 1000), .real = value
    };
}

/* A number with more digits than others. It stands in the text of a document, which goes on behind it. */
static double raw_number(yyjson_val *val)
{
    char digits[512];
    size_t len = MIN(unsafe_yyjson_get_len(val), sizeof(digits) - 1);
    memcpy(digits, yyjson_get_raw(val), len);
    digits[len] = '\0';
    return strtod(digits, NULL);
}

static struct record_view view_of(yyjson_val *val)
{
    struct record_view view = { 0 };
    if (yyjson_is_str(val))
        view = (struct record_view){ .type = VIEW_TEXT, .text = doc_text(val) };
    else if (yyjson_is_bool(val))
        view = (struct record_view){ .type = VIEW_FLAG, .number = yyjson_get_bool(val) };
    else if (yyjson_is_sint(val) || (yyjson_is_uint(val) && yyjson_get_uint(val) <= INT64_MAX))
        view = (struct record_view){ .type = VIEW_NUMBER, .number = yyjson_get_sint(val) };
    else if (yyjson_is_raw(val))
        view = view_real(raw_number(val));
    else if (yyjson_is_num(val))
        view = view_real(yyjson_get_num(val));
    else if (yyjson_is_ctn(val))
        view = (struct record_view){ .type = yyjson_is_obj(val) ? VIEW_OBJECT : VIEW_ENTRIES,
                                     .len = (uint32_t)MIN(unsafe_yyjson_get_len(val), (size_t)UINT32_MAX) };
    return view;
}

struct record_view json_tree_view(yyjson_val *tree, struct str path)
{
    size_t depth;
    return path.len ? view_of(find(tree, path, &depth)) : (struct record_view){ 0 };
}

struct str json_tree_key(yyjson_val *tree, struct str path, uint32_t index)
{
    size_t depth;
    yyjson_val *val = find(tree, path, &depth);
    if (!yyjson_is_obj(val) || index >= unsafe_yyjson_get_len(val))
        return (struct str){ 0 };
    return doc_text(item_at(val, index, depth));
}

/* ---- the rest of an object, as a kind of fields ---- */

/* In JSON its members stand in the object; in a message it is one text. */
static void put_text(struct strbuf *out, yyjson_val *tree)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    record_write_value(&json, tree);
}

READ(rest_read)
{
    *(yyjson_val **)at = json_tree_copy_rest(val, reader->arena, reader->keep);
    return 0;
}

WRITE(rest_write)
{
    yyjson_val *tree = *(yyjson_val *const *)at, *key, *item;
    size_t i, max;
    yyjson_obj_foreach(doc_items(tree), i, max, key, item) {
        json_key(writer->json, doc_text(key));
        record_write_value(writer->json, item);
    }
}

static int parse(struct str bytes, struct doc_stream *stream, struct doc *doc, struct error *err)
{
    char *text = xmalloc((size_t)bytes.len + YYJSON_PADDING_SIZE);
    memcpy(text, bytes.ptr ? bytes.ptr : "", bytes.len);
    memset(text + bytes.len, 0, YYJSON_PADDING_SIZE);
    doc_stream_init(stream, "content", text, bytes.len);
    int r = stream->yaml ? error_set(err, -EBADMSG, "expected JSON") : doc_stream_next(stream, doc, err);
    return r == 0 ? error_set(err, -EBADMSG, "expected JSON, got nothing") : MIN(r, 0);
}

/* A value is 16 bytes, and at least two bytes of text: within the budget of a message. */
READ_PROTOBUF(rest_read_protobuf)
{
    struct doc_stream stream = { 0 };
    struct doc doc = { 0 };
    struct error why = { 0 };
    int r = parse(in->bytes, &stream, &doc, &why);
    if (r == 0 && !yyjson_is_obj(doc.root))
        r = error_set(&why, -EBADMSG, "expected an object");
    if (r == 0)
        *(yyjson_val **)at =
            json_tree_copy_rest(doc.root, reader->arena, reader->keep ? reader->keep : arena_str);
    doc_release(&doc);
    doc_stream_release(&stream);
    return r < 0 ? record_refuse(reader, path, r, "%s", why.text) : 0;
}

WRITE_PROTOBUF(rest_write_protobuf)
{
    size_t begun = protobuf_begin(out, tag);
    put_text(out, *(yyjson_val *const *)at);
    protobuf_end(out, begun);
}

COPY(rest_copy)
{
    yyjson_val **tree = at;
    *tree = json_tree_copy_rest(*tree, arena, arena_str);
}

PUT_KEY(rest_put_key)
{
    if (*(yyjson_val *const *)at)
        put_text(out, *(yyjson_val *const *)at);
    strbuf_putc(out, '\0');
}

static const struct record_ops rest_ops = { .read = rest_read,
                                            .write = rest_write,
                                            .read_protobuf = rest_read_protobuf,
                                            .write_protobuf = rest_write_protobuf,
                                            .copy = rest_copy,
                                            .put_key = rest_put_key };
const struct record_kind record_REST = { .ops = &rest_ops,
                                         .size = sizeof(yyjson_val *),
                                         .empty = EMPTY_POINTER,
                                         .wire = WIRE_BYTES,
                                         .is_single = true };
