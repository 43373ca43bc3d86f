/* record_shapes.c: kinds that hold values of another kind: optional values, pointers, lists, maps.
 *
 * In protobuf a list is a field that is there several times. An array must know its length before its first item is
 * filled in. Items follow each other in what servers write, so the length is that of the run of fields with its tag;
 * the odd message in which another run comes later has the array moved, once, to where all of the rest fits:
 *
 *     containers containers volumes containers hostNetwork containers
 *     └─ run of 2 ─────────┘        └─ 2 more in the rest: move ────┘
 *
 * Maps are lists of entries. Servers write them sorted, so that sorting is for others. */
#include <stdlib.h>

#include "codec/record_ops.h"
#include "codec/record_struct.h"

static int too_big(const struct record_reader *reader, const struct path *path)
{
    return record_refuse(reader, path, -EFBIG, "too much for an object of its size");
}

/* Cleared memory, or NULL when the message has taken more than any real one. */
static void *take(struct record_reader *reader, size_t count, size_t size)
{
    size_t bytes = arena_bytes(count, size);
    if (bytes > reader->budget_bytes)
        return NULL;
    reader->budget_bytes -= bytes;
    return arena_zalloc(reader->arena, bytes);
}

/* ---- optional values: a bool, then the value ---- */

READ(optional_read)
{
    *(bool *)at = true;
    return kind->item->ops->read(kind->item, reader, path, val, field, (char *)at + kind->item_offset);
}

WRITE(optional_write)
{
    kind->item->ops->write(kind->item, writer, field, (const char *)at + kind->item_offset);
}

READ_PROTOBUF(optional_read_protobuf)
{
    *(bool *)at = true;
    return kind->item->ops->read_protobuf(kind->item, reader, path, in, field,
                                          (char *)at + kind->item_offset);
}

WRITE_PROTOBUF(optional_write_protobuf)
{
    kind->item->ops->write_protobuf(kind->item, out, tag, field, (const char *)at + kind->item_offset);
}

PUT_KEY(optional_put_key)
{
    strbuf_putc(out, *(const bool *)at);
    kind->item->ops->put_key(kind->item, out, field, (const char *)at + kind->item_offset);
}

VIEW(optional_view)
{
    return *(const bool *)at && kind->item->ops->view
               ? kind->item->ops->view(kind->item, field, (const char *)at + kind->item_offset)
               : (struct record_view){ 0 };
}

const struct record_ops record_optional_ops = { .read = optional_read,
                                                .write = optional_write,
                                                .read_protobuf = optional_read_protobuf,
                                                .write_protobuf = optional_write_protobuf,
                                                .put_key = optional_put_key,
                                                .view = optional_view };

/* ---- pointers ---- */

READ(pointer_read)
{
    void *made = arena_zalloc(reader->arena, record_item_size(kind, field));
    *(void **)at = made;
    return kind->item->ops->read(kind->item, reader, path, val, field, made);
}

WRITE(pointer_write)
{
    kind->item->ops->write(kind->item, writer, field, *(const void *const *)at);
}

READ_PROTOBUF(pointer_read_protobuf)
{
    void *made = take(reader, 1, record_item_size(kind, field));
    if (!made)
        return too_big(reader, path);
    *(void **)at = made;
    return kind->item->ops->read_protobuf(kind->item, reader, path, in, field, made);
}

WRITE_PROTOBUF(pointer_write_protobuf)
{
    kind->item->ops->write_protobuf(kind->item, out, tag, field, *(const void *const *)at);
}

COPY(pointer_copy)
{
    size_t size = record_item_size(kind, field);
    void **pointer = at;
    if (!*pointer)
        return;
    *pointer = memcpy(arena_alloc(arena, size), *pointer, size);
    if (kind->item->ops->copy)
        kind->item->ops->copy(kind->item, arena, field, *pointer);
}

PUT_KEY(pointer_put_key)
{
    const void *pointed = *(void *const *)at;
    strbuf_putc(out, pointed != NULL);
    if (pointed)
        kind->item->ops->put_key(kind->item, out, field, pointed);
}

VIEW(pointer_view)
{
    const void *pointed = *(void *const *)at;
    return pointed ? kind->item->ops->view(kind->item, field, pointed) : (struct record_view){ 0 };
}

const struct record_ops record_pointer_ops = { pointer_read,          pointer_write,
                                               pointer_read_protobuf, pointer_write_protobuf,
                                               pointer_copy,          pointer_put_key,
                                               pointer_view };

/* ---- lists ---- */

READ(list_read)
{
    if (!yyjson_is_arr(val))
        return record_expected(reader, path, val, kind->item->is_text ? "a list of strings" : "a list");
    struct record_list *list = at;
    size_t size = record_item_size(kind, field), i, max;
    *list = (struct record_list){ arena_zalloc(reader->arena, arena_bytes(yyjson_arr_size(val), size)),
                                  (uint32_t)yyjson_arr_size(val) };
    yyjson_val *item;
    yyjson_arr_foreach(val, i, max, item) {
        struct path here = { .parent = path, .index = i };
        if (yyjson_is_null(item) && !kind->item->reads_null)
            continue;
        int r = kind->item->ops->read(kind->item, reader, &here, item, field, list->items + i * size);
        if (r < 0 && !record_skips(reader))
            return r;
        if (r < 0)
            memset(list->items + i * size, 0, size);
    }
    return 0;
}

WRITE(list_write)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    json_begin_array(writer->json);
    for (uint32_t i = 0; i < list->len; i++) {
        const void *item = list->items + i * size;
        struct str text;
        if (record_redacted(writer, field, kind->item, &item, &text))
            kind->item->ops->write(kind->item, writer, field, item);
    }
    json_end_array(writer->json);
}

/* How many fields of the tag follow: all of them, or those of the run that begins here. */
static uint32_t count_more(struct protobuf_reader rest, uint32_t tag, bool all)
{
    struct protobuf_field in;
    uint32_t count = 0;
    while (protobuf_next(&rest, &in) > 0) {
        if (in.tag == tag)
            count++;
        else if (!all)
            break;
    }
    return count;
}

/* One more item of a list, cleared; NULL when it would be too much, and from then on, as a tolerant reader goes on. */
static void *push(struct record_reader *reader, uint32_t tag, struct record_list *list, size_t size)
{
    struct record_message *msg = reader->message;
    uint64_t bit = (uint64_t)1 << tag;
    bool first = !(msg->seen & bit), again = !first && msg->last_tag != tag && !(msg->counted & bit);
    if (msg->full & bit)
        return NULL;
    if (first || again) {
        uint32_t more = 1 + count_more(msg->rest, tag, again);
        char *items = take(reader, (size_t)list->len + more, size);
        if (!items) {
            msg->full |= bit;
            return NULL;
        }
        if (list->len)
            memcpy(items, list->items, list->len * size);
        list->items = items;
        msg->counted |= again ? bit : 0;
    }
    return list->items + list->len++ * size;
}

READ_PROTOBUF(list_read_protobuf)
{
    struct record_list *list = at;
    void *item = push(reader, in->tag, list, record_item_size(kind, field));
    struct path here = { .parent = path, .index = list->len - 1 };
    return item ? kind->item->ops->read_protobuf(kind->item, reader, &here, in, field, item)
                : too_big(reader, path);
}

WRITE_PROTOBUF(list_write_protobuf)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    for (uint32_t i = 0; i < list->len; i++)
        kind->item->ops->write_protobuf(kind->item, out, tag, field, list->items + i * size);
}

/* Of lists and of maps. */
COPY(list_copy)
{
    struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    if (!list->items)
        return;
    char *items = arena_alloc(arena, arena_bytes(list->len, size));
    if (list->len)
        memcpy(items, list->items, list->len * size);
    list->items = items;
    for (uint32_t i = 0; i < list->len; i++) {
        if (kind->ops == &record_map_ops)
            record_STR.ops->copy(&record_STR, arena, field, items + i * size);
        if (kind->item && kind->item->ops->copy)
            kind->item->ops->copy(kind->item, arena, field, items + i * size + kind->item_offset);
    }
}

PUT_KEY(list_put_key)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    strbuf_add(out, (const char *)&list->len, sizeof(list->len));
    for (uint32_t i = 0; i < list->len; i++)
        kind->item->ops->put_key(kind->item, out, field, list->items + i * size);
}

VIEW(list_view)
{
    return (struct record_view){ .type = kind->item->is_text ? VIEW_TEXTS : VIEW_ENTRIES,
                                 .len = ((const struct record_list *)at)->len };
}

const struct record_ops record_list_ops = { list_read, list_write,   list_read_protobuf, list_write_protobuf,
                                            list_copy, list_put_key, list_view };

const struct record_kind record_STRS = RECORD_LIST_OF(ITEM_STR, WIRE_BYTES);
const struct record_kind record_INT64S = RECORD_LIST_OF(INT64, WIRE_VARINT);
const struct record_kind record_BOOLS = RECORD_LIST_OF(BOOL, WIRE_VARINT);

/* ---- maps: lists of entries that begin with their key ---- */

struct any_entry {
    struct str key;
};

static struct any_entry *entry_at(const struct record_list *list, size_t i, size_t size)
{
    return (struct any_entry *)(void *)(list->items + i * size);
}

struct sort_key {
    struct str key;
    uint32_t place;
};

static int sort_key_cmp(const void *a, const void *b)
{
    const struct sort_key *left = a, *right = b;
    int order = str_cmp(left->key, right->key);
    return order ? order : (left->place > right->place) - (left->place < right->place);
}

struct str record_sort_entries(struct record_list *list, size_t size)
{
    _cleanup_(freep) struct sort_key *keys = xreallocarray(NULL, list->len, sizeof(*keys));
    _cleanup_(freep) char *copy = xreallocarray(NULL, list->len, size);
    struct str twice = { 0 };
    memcpy(copy, list->items, list->len * size);
    for (uint32_t i = 0; i < list->len; i++)
        keys[i] = (struct sort_key){ entry_at(list, i, size)->key, i };
    qsort(keys, list->len, sizeof(*keys), sort_key_cmp);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (i + 1 == list->len || !str_eq(keys[i].key, keys[i + 1].key))
            memcpy(list->items + kept++ * size, copy + keys[i].place * size, size);
        else
            twice = keys[i].key;
    list->len = kept;
    return twice;
}

/* Is the key of entry i behind that of the entry before? */
static bool follows(const struct record_list *list, size_t i, size_t size)
{
    return i == 0 || str_cmp(entry_at(list, i - 1, size)->key, entry_at(list, i, size)->key) < 0;
}

READ(map_read)
{
    if (!yyjson_is_obj(val))
        return record_expected(reader, path, val,
                               kind->item && kind->item->is_text ? "an object with strings" : "an object");
    struct record_list *list = at;
    size_t size = record_item_size(kind, field), i, max;
    bool is_sorted = true;
    *list = (struct record_list){ arena_zalloc(reader->arena, arena_bytes(yyjson_obj_size(val), size)),
                                  (uint32_t)yyjson_obj_size(val) };
    yyjson_val *key, *item;
    yyjson_obj_foreach(val, i, max, key, item) {
        struct path here = { .parent = path, .name = doc_text(key), .subscript = true };
        char *entry = list->items + i * size;
        int r = record_read_str(reader, &here, key, (struct str *)(void *)entry);
        if (r == 0 && kind->item && (!yyjson_is_null(item) || kind->item->reads_null))
            r = kind->item->ops->read(kind->item, reader, &here, item, field, entry + kind->item_offset);
        if (r < 0 && !record_skips(reader))
            return r;
        if (r < 0)
            memset(entry + sizeof(struct str), 0, size - sizeof(struct str));
        is_sorted = is_sorted && follows(list, i, size);
    }
    struct str twice = is_sorted ? (struct str){ 0 } : record_sort_entries(list, size);
    return twice.ptr && reader->mode & RECORD_STRICT
               ? record_complain(reader, path, val, "the key \"" STR_FMT "\" is given twice", STR_ARG(twice))
               : 0;
}

WRITE(map_write)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    json_begin_object(writer->json);
    for (uint32_t i = 0; i < list->len; i++) {
        struct str key = entry_at(list, i, size)->key, text;
        const void *value = list->items + i * size + kind->item_offset;
        if (writer->redactor)
            key = writer->redactor->text(writer->redactor->user, field, key, true);
        if ((writer->redactor && !key.ptr) ||
            (kind->item && !record_redacted(writer, field, kind->item, &value, &text)))
            continue;
        json_key(writer->json, key);
        if (kind->item)
            kind->item->ops->write(kind->item, writer, field, value);
        else /* values that are dropped are times */
            json_str(writer->json, STR("1970-01-01T00:00:00Z"));
    }
    json_end_object(writer->json);
}

/* An entry of a map is a message of a key and a value. */
static int read_entry(const struct record_kind *kind, struct record_reader *reader, const struct path *path,
                      struct str bytes, const struct record_field *field, char *entry)
{
    struct protobuf_field parts[] = { { .wire = WIRE_BYTES }, { .wire = WIRE_BYTES } };
    int r = protobuf_parts(bytes, parts, ARRAY_SIZE(parts));
    if (r < 0)
        return record_refuse(reader, path, r, "%s",
                             r == -EBADMSG ? "expected a key and a value, got a number"
                                           : protobuf_problem(r));
    struct str key = parts[0].bytes;
    if (!parts[1].tag)
        parts[1] = (struct protobuf_field){ .tag = 2, .wire = WIRE_BYTES, .bytes = STR("") };
    *(struct str *)(void *)entry = record_keep(reader, key);
    struct path here = { .parent = path, .name = key, .subscript = true };
    return kind->item ? kind->item->ops->read_protobuf(kind->item, reader, &here, &parts[1], field,
                                                       entry + kind->item_offset)
                      : 0;
}

READ_PROTOBUF(map_read_protobuf)
{
    struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    char *entry = push(reader, in->tag, list, size);
    if (!entry)
        return too_big(reader, path);
    struct record_message *msg = reader->message;
    int r = read_entry(kind, reader, path, in->bytes, field, entry);
    if (r < 0 && reader->tolerant) { /* an entry without a value that can be read is none */
        memset(entry, 0, size);
        list->len--;
    }
    if (r == 0 && !follows(list, list->len - 1, size))
        msg->unsorted |= (uint64_t)1 << in->tag;
    return r;
}

WRITE_PROTOBUF(map_write_protobuf)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    for (uint32_t i = 0; i < list->len; i++) {
        const char *entry = list->items + i * size;
        size_t begun = protobuf_begin(out, tag);
        protobuf_put_bytes(out, 1, entry_at(list, i, size)->key);
        if (kind->item)
            kind->item->ops->write_protobuf(kind->item, out, 2, field, entry + kind->item_offset);
        else
            protobuf_put_bytes(out, 2, STR(""));
        protobuf_end(out, begun);
    }
}

PUT_KEY(map_put_key)
{
    const struct record_list *list = at;
    size_t size = record_item_size(kind, field);
    strbuf_add(out, (const char *)&list->len, sizeof(list->len));
    for (uint32_t i = 0; i < list->len; i++) {
        const struct any_entry *entry = entry_at(list, i, size);
        record_STR.ops->put_key(&record_STR, out, field, &entry->key);
        if (kind->item)
            kind->item->ops->put_key(kind->item, out, field, (const char *)entry + kind->item_offset);
    }
}

VIEW(map_view)
{
    return (struct record_view){ .type = kind->item ? VIEW_ENTRIES : VIEW_TEXTS,
                                 .len = ((const struct record_list *)at)->len };
}

const struct record_ops record_map_ops = { map_read,  map_write,   map_read_protobuf, map_write_protobuf,
                                           list_copy, map_put_key, map_view };

const struct record_kind record_PAIRS = RECORD_MAP_OF(ITEM_STR, struct pair, value);
const struct record_kind record_KEYS = { .ops = &record_map_ops,
                                         .size = sizeof(struct str_list),
                                         .empty = EMPTY_LEN,
                                         .wire = WIRE_BYTES,
                                         .has_null = true,
                                         .item_size = sizeof(struct str) };
