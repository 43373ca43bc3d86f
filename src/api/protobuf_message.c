/* protobuf_message.c: the protobuf side of the field tables, reading.
 *
 * A message is read once, front to back; the row of a field is found by its tag. Recursion goes down the types, which
 * end. An array must know its length before its first item is filled in. Items of a list follow each other in what
 * servers write, so the length is that of the run of fields with its tag; the odd message in which another run comes
 * later has the array moved, once, to where all of the rest has room:
 *
 *     containers containers volumes containers hostNetwork containers
 *     └─ run of 2 ─────────┘        └─ 2 more in the rest: move ────┘
 *
 * Maps are lists of entries. Servers write them sorted, so that sorting is for others. */
#include "api/protobuf_message.h"

#include <stdlib.h>

#include "api/words.h"
#include "codec/protobuf.h"

/* Arrays and structs may take so much memory for an object; real ones take less than a tenth of it. */
enum { BUDGET_BYTES_MIN = 1 << 20, BUDGET_BYTES_PER_BYTE = 32 };
enum { NANO = 1000000000, NANO_PER_MICRO = 1000 };
/* Years 0 to 9999, as in JSON. */
static const int64_t SECONDS_MIN = -62167219200, SECONDS_MAX = 253402300799;

/* All LIST(type) have this shape. */
struct any_list {
    char *items;
    uint32_t len;
};

/* Entries of maps and sorted lists begin with their key. */
struct any_entry {
    struct str key;
};

/* What a message has told so far. Tags of rows are below 64. */
struct progress {
    const struct type *type;
    void *ptr;
    const struct place *place;
    struct protobuf_reader rest;
    uint64_t seen;     /* tags that came */
    uint64_t counted;  /* of lists whose array has room for all of the message */
    uint64_t unsorted; /* of maps */
    uint32_t last_tag;
};

struct message_decoder message_decoder(struct str bytes, bool borrow, struct arena *arena, struct error *err)
{
    size_t budget_bytes = BUDGET_BYTES_MIN + (size_t)bytes.len * BUDGET_BYTES_PER_BYTE;
    return (struct message_decoder){ arena, err, budget_bytes, borrow };
}

/* ---- refusals ---- */

static int refuse(const struct message_decoder *dec, const struct place *place, int code,
                  const char *sentence)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    decode_put_path(&path, place);
    return error_set(dec->err, code, "%s%s%s", path.len ? path.text : "", path.len ? ": " : "", sentence);
}

static int refuse_field(const struct message_decoder *dec, const struct progress *msg,
                        const struct field *field, int code, const char *sentence)
{
    struct place here = { msg->place, { field->name, field->name_len }, 0 };
    /* A part without a name of its own is not to be seen. */
    return refuse(dec, field->name_len ? &here : msg->place, code, sentence);
}

static int refuse_quantity(const struct message_decoder *dec, const struct place *place, struct str text)
{
    _cleanup_(strbuf_release) struct strbuf sentence = { 0 };
    strbuf_puts(&sentence, "expected a quantity, found \"");
    decode_put_shown(&sentence, text);
    strbuf_putc(&sentence, '"');
    return refuse(dec, place, -EINVAL, sentence.text);
}

/* ---- simple values ---- */

struct str message_str(const struct message_decoder *dec, struct str text)
{
    if (text.len == 0)
        return STR("");
    return dec->borrow ? text : words_keep(dec->arena, text);
}

/* Cleared memory, or NULL when the object has taken more than any real one. */
static void *take(struct message_decoder *dec, size_t count, size_t size)
{
    size_t bytes = arena_bytes(count, size);
    if (bytes > dec->budget_bytes)
        return NULL;
    dec->budget_bytes -= bytes;
    return arena_zalloc(dec->arena, bytes);
}

static int decode_time(struct str bytes, bool micro, struct opt_time *ret)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field in;
    int64_t seconds = 0;
    int32_t nanos = 0;
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag <= 2 && in.wire != WIRE_VARINT)
            return -EBADMSG;
        if (in.tag == 1)
            seconds = (int64_t)in.number;
        else if (in.tag == 2 && micro)
            nanos = (int32_t)in.number / NANO_PER_MICRO * NANO_PER_MICRO;
    }
    if (r < 0)
        return r;
    seconds = MAX(SECONDS_MIN, MIN(seconds, SECONDS_MAX)) + nanos / NANO;
    nanos %= NANO;
    if (nanos < 0) {
        seconds--;
        nanos += NANO;
    }
    /* A time that is zero in Go has no bytes. */
    *ret = (struct opt_time){ bytes.len > 0, bytes.len ? seconds : 0, nanos };
    return 0;
}

static int decode_int_or_str(const struct message_decoder *dec, struct str bytes, struct int_or_str *ret)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field in;
    bool is_text = false;
    struct int_or_str value = { .set = true };
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag <= 3 && in.wire != (in.tag == 3 ? WIRE_BYTES : WIRE_VARINT))
            return -EBADMSG;
        if (in.tag == 1)
            is_text = in.number != 0;
        else if (in.tag == 2)
            value.number = (int32_t)in.number;
        else if (in.tag == 3)
            value.text = in.bytes;
    }
    if (r < 0)
        return r;
    if (is_text)
        value.number = 0;
    value.text = is_text ? message_str(dec, value.text) : (struct str){ 0 };
    *ret = value;
    return 0;
}

static int decode_quantity(const struct message_decoder *dec, const struct place *place, struct str bytes,
                           struct quantity *ret)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag != 1)
            continue;
        if (in.wire != WIRE_BYTES)
            return refuse(dec, place, -EBADMSG, "expected a quantity, found a number");
        if (quantity_parse(in.bytes, ret) < 0)
            return refuse_quantity(dec, place, in.bytes);
    }
    return r < 0 ? refuse(dec, place, r, protobuf_problem(r)) : 0;
}

/* A RawExtension: the bytes are JSON. */
static int decode_raw(const struct message_decoder *dec, struct str bytes, struct str *ret)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag == 1 && in.wire != WIRE_BYTES)
            return -EBADMSG;
        if (in.tag == 1)
            *ret = message_str(dec, in.bytes);
    }
    return r;
}

static void set_number(const struct field *field, uint64_t number, void *at)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_BOOL:
        *(bool *)at = number != 0;
        break;
    case FIELD_OPT_BOOL:
        *(struct opt_bool *)at = (struct opt_bool){ true, number != 0 };
        break;
    case FIELD_INT32:
        *(int32_t *)at = (int32_t)number;
        break;
    case FIELD_INT64:
        *(int64_t *)at = (int64_t)number;
        break;
    case FIELD_OPT_INT32:
        *(struct opt_int32 *)at = (struct opt_int32){ true, (int32_t)number };
        break;
    default: /* FIELD_OPT_INT64 */
        *(struct opt_int64 *)at = (struct opt_int64){ true, (int64_t)number };
        break;
    }
}

/* ---- lists and maps ---- */

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

/* One more item of a list, cleared; NULL when there is no room. */
static void *push(struct message_decoder *dec, struct progress *msg, const struct field *field, size_t size)
{
    struct any_list *list = (void *)((char *)msg->ptr + field->offset);
    uint64_t bit = (uint64_t)1 << field->tag;
    bool first = !(msg->seen & bit), again = !first && msg->last_tag != field->tag && !(msg->counted & bit);
    if (first || again) {
        uint32_t more = 1 + count_more(msg->rest, field->tag, again);
        char *items = take(dec, (size_t)list->len + more, size);
        if (!items)
            return NULL;
        if (list->len)
            memcpy(items, list->items, list->len * size);
        list->items = items;
        msg->counted |= again ? bit : 0;
    }
    return list->items + list->len++ * size;
}

static size_t item_size(const struct field *field)
{
    switch ((enum field_kind)field->kind) {
    case FIELD_PAIRS:
        return sizeof(struct pair);
    case FIELD_RESOURCES:
        return sizeof(struct resource);
    case FIELD_QUANTITIES:
        return sizeof(struct quantity);
    case FIELD_LIST:
    case FIELD_MAP:
        return field->type->size;
    default:
        return sizeof(struct str);
    }
}

/* An entry of a map: a message of a key and a value. */
static int decode_entry(struct message_decoder *dec, const struct place *place, struct str bytes,
                        const struct field *field, void *item)
{
    struct protobuf_reader reader = protobuf_reader(bytes);
    struct protobuf_field in;
    struct str key = STR(""), value = STR("");
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag > 2)
            continue;
        if (in.wire != WIRE_BYTES)
            return refuse(dec, place, -EBADMSG, "expected a key and a value, found a number");
        if (in.tag == 1)
            key = in.bytes;
        else
            value = in.bytes;
    }
    if (r < 0)
        return refuse(dec, place, r, protobuf_problem(r));
    ((struct any_entry *)item)->key = message_str(dec, key);
    struct place here = { place, key, 0 };
    switch ((enum field_kind)field->kind) {
    case FIELD_PAIRS:
        ((struct pair *)item)->value = message_str(dec, value);
        return 0;
    case FIELD_RESOURCES:
        return decode_quantity(dec, &here, value, &((struct resource *)item)->amount);
    case FIELD_MAP:
        return message_decode(dec, &here, value, field->type, item);
    default:
        return 0;
    }
}

static int decode_item(struct message_decoder *dec, struct progress *msg, const struct field *field,
                       struct str bytes)
{
    enum field_kind kind = field->kind;
    size_t size = item_size(field);
    void *item = push(dec, msg, field, size);
    if (!item)
        return refuse_field(dec, msg, field, -EFBIG, "too much for an object of its size");
    if (kind == FIELD_STRS) {
        *(struct str *)item = message_str(dec, bytes);
        return 0;
    }
    const struct any_list *list = (void *)((char *)msg->ptr + field->offset);
    struct place whole = { msg->place, { field->name, field->name_len }, 0 };
    struct place here = { &whole, { 0 }, list->len - 1 };
    if (kind == FIELD_LIST)
        return message_decode(dec, &here, bytes, field->type, item);
    if (kind == FIELD_QUANTITIES)
        return decode_quantity(dec, &here, bytes, item);
    int r = decode_entry(dec, &whole, bytes, field, item);
    if (r == 0 && list->len > 1) {
        const struct any_entry *entry = item, *before = (void *)((char *)item - size);
        if (str_cmp(before->key, entry->key) >= 0)
            msg->unsorted |= (uint64_t)1 << field->tag;
    }
    return r;
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

/* By key; the last of equal ones is kept. */
static void sort_entries(struct any_list *list, size_t size)
{
    _cleanup_(freep) struct sort_key *keys = xreallocarray(NULL, list->len, sizeof(*keys));
    _cleanup_(freep) char *copy = xreallocarray(NULL, list->len, size);
    memcpy(copy, list->items, list->len * size);
    for (uint32_t i = 0; i < list->len; i++)
        keys[i] = (struct sort_key){ ((const struct any_entry *)(void *)(copy + i * size))->key, i };
    qsort(keys, list->len, sizeof(*keys), sort_key_cmp);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->len; i++)
        if (i + 1 == list->len || !str_eq(keys[i].key, keys[i + 1].key))
            memcpy(list->items + kept++ * size, copy + keys[i].place * size, size);
    list->len = kept;
}

/* ---- messages ---- */

#define BIT(kind) (1u << FIELD_##kind)
enum {
    NUMBER_KINDS = BIT(BOOL) | BIT(OPT_BOOL) | BIT(INT32) | BIT(INT64) | BIT(OPT_INT32) | BIT(OPT_INT64),
    TEXT_KINDS = BIT(STR) | BIT(OPT_STR),
    SINGLE_KINDS = BIT(STRUCT) | BIT(PTR) | BIT(PART),
    LIST_KINDS = BIT(LIST) | BIT(MAP) | BIT(STRS) | BIT(PAIRS) | BIT(RESOURCES) | BIT(QUANTITIES) | BIT(KEYS),
};

/* A struct inside, a pointer to one, or a part: at most once in a message. */
static int decode_single(struct message_decoder *dec, const struct progress *msg, const struct field *field,
                         struct str bytes)
{
    char *at = (char *)msg->ptr + field->offset;
    if (msg->seen >> field->tag & 1)
        return refuse_field(dec, msg, field, -EBADMSG, "comes twice");
    if (field->kind == FIELD_PTR) {
        void *made = take(dec, 1, field->type->size);
        if (!made)
            return refuse_field(dec, msg, field, -EFBIG, "too much for an object of its size");
        *(void **)at = made;
        at = made;
    }
    struct place here = { msg->place, { field->name, field->name_len }, 0 };
    return message_decode(dec, field->name_len ? &here : msg->place, bytes, field->type, at);
}

/* A value of a kind that has bytes, but is neither text nor a list nor a message with a table. */
static int decode_value(struct message_decoder *dec, const struct progress *msg, const struct field *field,
                        struct str bytes)
{
    void *at = (char *)msg->ptr + field->offset;
    struct place here = { msg->place, { field->name, field->name_len }, 0 };
    if (field->kind == FIELD_QUANTITY) {
        *(struct quantity **)at = arena_new(dec->arena, struct quantity);
        return decode_quantity(dec, &here, bytes, *(struct quantity **)at);
    }
    int r = field->kind == FIELD_INT_OR_STR ? decode_int_or_str(dec, bytes, at)
            : field->kind == FIELD_RAW      ? decode_raw(dec, bytes, at)
                                            : decode_time(bytes, field->kind == FIELD_MICRO_TIME, at);
    return r < 0 ? refuse(dec, &here, r, protobuf_problem(r)) : 0;
}

static int decode_field(struct message_decoder *dec, struct progress *msg, const struct field *field,
                        const struct protobuf_field *in)
{
    unsigned kind = 1u << field->kind;
    if (kind & NUMBER_KINDS) {
        if (in->wire != WIRE_VARINT)
            return refuse_field(dec, msg, field, -EINVAL, "expected a number, found something else");
        set_number(field, in->number, (char *)msg->ptr + field->offset);
        return 0;
    }
    if (in->wire != WIRE_BYTES)
        return refuse_field(dec, msg, field, -EINVAL, "expected bytes, found a number");
    if (kind & TEXT_KINDS) {
        bool absent = in->bytes.len == 0 && field->kind == FIELD_STR;
        *(struct str *)((char *)msg->ptr + field->offset) =
            absent ? (struct str){ 0 } : message_str(dec, in->bytes);
        return 0;
    }
    if (kind & SINGLE_KINDS)
        return decode_single(dec, msg, field, in->bytes);
    if (kind & LIST_KINDS)
        return decode_item(dec, msg, field, in->bytes);
    return decode_value(dec, msg, field, in->bytes);
}

static void sort_maps(const struct progress *msg)
{
    for (uint64_t left = msg->unsorted; left; left &= left - 1) {
        const struct field *field = &msg->type->fields[__builtin_ctzll(left)];
        sort_entries((void *)((char *)msg->ptr + field->offset), item_size(field));
    }
}

int message_decode(struct message_decoder *dec, const struct place *place, struct str bytes,
                   const struct type *type, void *ptr)
{
    struct progress msg = { .type = type, .ptr = ptr, .place = place, .rest = protobuf_reader(bytes) };
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&msg.rest, &in)) > 0) {
        const struct field *field = in.tag < type->len ? &type->fields[in.tag] : NULL;
        if (field && field->name) {
            r = decode_field(dec, &msg, field, &in);
            if (r < 0)
                return r;
            msg.seen |= (uint64_t)1 << in.tag;
        }
        msg.last_tag = in.tag;
    }
    if (r < 0)
        return refuse(dec, place, r, protobuf_problem(r));
    sort_maps(&msg);
    if (type->finish)
        type->finish(ptr);
    return 0;
}
