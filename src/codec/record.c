/* record.c: tables, the sentences about documents, and what is done with records besides reading and writing them. */
#include "codec/record_struct.h"

#include <stdio.h>

#include "codec/json_tree.h"

/* ---- tables ---- */

static size_t slot_of(struct str name)
{
    const unsigned char *bytes = (const unsigned char *)name.ptr;
    uint32_t sum = name.len * 31 + bytes[0] * 7 + bytes[name.len - 1] * 131 + bytes[name.len / 2] * 61;
    return (sum ^ sum >> 7) % RECORD_NAME_SLOTS;
}

static struct str name_of(const struct record_field *field)
{
    return (struct str){ field->name, field->name_len };
}

static void fill_name(const struct record_type *type, uint32_t row)
{
    struct record_index *index = type->index;
    struct str name = name_of(&type->fields[row]);
    if (!name.len) {
        assert(!index->unnamed);
        index->unnamed = (uint8_t)(row + 1);
        return;
    }
    size_t at = slot_of(name);
    for (; index->by_name[at]; at = (at + 1) % RECORD_NAME_SLOTS)
        assert(!str_eq(name_of(&type->fields[index->by_name[at] - 1]), name));
    index->by_name[at] = (uint8_t)(row + 1);
}

void record_index_fill(const struct record_type *type)
{
    struct record_index *index = type->index;
    *index = (struct record_index){ 0 };
    assert(type->len <= RECORD_FIELDS_MAX);
    for (uint32_t row = 0; row < type->len; row++) {
        uint16_t tag = type->fields[row].tag;
        fill_name(type, row);
        assert(tag < RECORD_TAGS_MAX && !(tag && index->by_tag[tag]));
        if (tag)
            index->by_tag[tag] = (uint8_t)(row + 1);
    }
    for (uint32_t tag = 1; tag < RECORD_TAGS_MAX; tag++)
        if (index->by_tag[tag])
            index->in_tag_order[index->tags_len++] = (uint8_t)(index->by_tag[tag] - 1);
}

void record_lay_out(struct record_type *type, struct record_field *fields)
{
    enum { ALIGNMENT = 8 };
    size_t offset = 0;
    for (uint32_t row = 0; row < type->len; row++) {
        size_t size = fields[row].kind->size ? fields[row].kind->size : fields[row].type->size;
        fields[row].offset = (uint16_t)offset;
        offset += (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        assert(offset <= UINT16_MAX);
    }
    type->size = offset;
    record_index_fill(type);
}

const struct record_field *record_own_field(const struct record_type *type, struct str name)
{
    const struct record_index *index = type->index;
    if (!name.len)
        return NULL;
    for (size_t at = slot_of(name); index->by_name[at]; at = (at + 1) % RECORD_NAME_SLOTS) {
        const struct record_field *field = &type->fields[index->by_name[at] - 1];
        if (field->name_len == name.len && memcmp(field->name, name.ptr, name.len) == 0)
            return field;
    }
    return NULL;
}

const struct record_field *record_unnamed(const struct record_type *type)
{
    return type->index->unnamed ? &type->fields[type->index->unnamed - 1] : NULL;
}

/* ---- sentences ---- */

static int say(const struct record_reader *reader, const struct path *path, const yyjson_val *val, int code,
               const char *sentence)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    if (!reader->err) /* a tolerant reader may pass over many values: finding their lines takes time */
        return code;
    path_print(&text, path);
    strbuf_printf(&text, "%s%s", text.len ? ": " : "", sentence);
    return reader->doc ? doc_error(reader->doc, val, code, reader->err, "%s", text.text)
                       : error_set(reader->err, code, "%s", text.text);
}

int record_fail(const struct record_reader *reader, const struct path *path, const yyjson_val *val, int code,
                const char *format, ...)
{
    char sentence[sizeof(reader->err->text)];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    return say(reader, path, val, code, sentence);
}

/* What a value is: "the number 5", "a list". */
static void put_found(struct strbuf *out, const yyjson_val *value, bool secret)
{
    enum { SHOWN_BYTES_MAX = 40 };
    yyjson_val *val = (yyjson_val *)(uintptr_t)value;
    const char *type = doc_type_name(val);
    bool number = yyjson_is_num(val) || yyjson_is_raw(val);
    if (yyjson_is_null(val)) {
        strbuf_puts(out, "null");
    } else if (yyjson_is_ctn(val) || secret) {
        strbuf_printf(out, "%s %s", *type == 'o' ? "an" : "a", type);
    } else if (yyjson_is_bool(val)) {
        strbuf_puts(out, yyjson_get_bool(val) ? "true" : "false");
    } else if (number) {
        _cleanup_(strbuf_release) struct strbuf digits = { 0 };
        struct json_writer json = json_writer(&digits, JSON_COMPACT);
        record_write_value(&json, val);
        strbuf_puts(out, "the number ");
        path_print_shown(out, strbuf_slice(&digits), SHOWN_BYTES_MAX);
        strbuf_puts(out, yyjson_is_real(val) && !strpbrk(digits.text, ".e") ? ".0" : "");
    } else {
        strbuf_puts(out, "the string \"");
        path_print_shown(out, doc_text(val), SHOWN_BYTES_MAX);
        strbuf_putc(out, '"');
    }
}

int record_expected(const struct record_reader *reader, const struct path *path, const yyjson_val *val,
                    const char *expected)
{
    _cleanup_(strbuf_release) struct strbuf sentence = { 0 };
    strbuf_printf(&sentence, "expected %s, got ", expected);
    put_found(&sentence, val, reader->mode & RECORD_SECRET);
    return say(reader, path, val, -EINVAL, sentence.text);
}

/* ---- values ---- */

static const void *inside(const struct record_field *field, const void *record)
{
    return (const char *)record + field->offset;
}

void record_copy(const struct record_type *type, const void *record, struct arena *arena, void *ret)
{
    if (ret != record)
        memcpy(ret, record, type->size);
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        if (field->kind->ops->copy && !(field->flags & RECORD_OLDER))
            field->kind->ops->copy(field->kind, arena, field, (char *)ret + field->offset);
    }
}

bool record_member_equal(struct record_member member, const void *a, const void *b)
{
    enum { USUAL_LEN = 512 };
    _cleanup_(strbuf_release) struct strbuf left = { 0 }, right = { 0 };
    strbuf_reserve(&left, USUAL_LEN);
    record_member_put_key(&left, member, a);
    strbuf_reserve(&right, left.len);
    record_member_put_key(&right, member, b);
    return str_eq(strbuf_slice(&left), strbuf_slice(&right));
}

bool record_equal(const struct record_type *type, const void *a, const void *b)
{
    const struct record_field all = { .kind = &record_STRUCT, .type = type };
    return record_member_equal((struct record_member){ &all, 0 }, a, b);
}

void record_put_key(struct strbuf *out, const struct record_type *type, const void *record)
{
    for (uint32_t i = 0; i < type->len; i++) {
        const struct record_field *field = &type->fields[i];
        if (!(field->flags & RECORD_OLDER))
            field->kind->ops->put_key(field->kind, out, field, inside(field, record));
    }
}

void *record_map_find(const void *entries, uint32_t len, size_t size, struct str key)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct str *entry = (const void *)((const char *)entries + middle * size);
        int order = str_cmp(*entry, key);
        if (order == 0)
            return (void *)entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- paths ---- */

bool record_next_step(struct str *path, struct record_step *ret)
{
    if (!path->len)
        return false;
    *ret = (struct record_step){ .is_subscript = path->ptr[0] == '[' };
    if (ret->is_subscript) {
        ptrdiff_t end = str_find(*path, ']');
        if (end < 0)
            return false;
        ret->name = str_slice(*path, 1, (size_t)end);
        *path = str_slice(*path, (size_t)end + 1, path->len);
        return true;
    }
    size_t from = path->ptr[0] == '.', end = from;
    while (end < path->len && path->ptr[end] != '.' && path->ptr[end] != '[')
        end++;
    ret->name = str_slice(*path, from, end);
    *path = str_slice(*path, end, path->len);
    return ret->name.len > 0;
}

/* A value that a path leads to. */
struct spot {
    const struct record_kind *kind;
    const struct record_field *field;
    const void *at;
};

/* From a record to its field. `spot->kind` is a STRUCT, or a PTR to one. */
static bool enter_field(struct spot *spot, struct str name)
{
    bool is_pointer = spot->kind->ops == &record_pointer_ops;
    const struct record_kind *kind = is_pointer ? spot->kind->item : spot->kind;
    const char *record = is_pointer ? *(const char *const *)spot->at : spot->at;
    if (!record || kind != &record_STRUCT)
        return false;
    const struct record_type *type = spot->field->type;
    const struct record_field *field = record_own_field(type, name), *unnamed;
    while (!field && (unnamed = record_unnamed(type))) {
        record += unnamed->offset;
        type = unnamed->type;
        field = record_own_field(type, name);
    }
    if (field)
        *spot = (struct spot){ field->kind, field, record + field->offset };
    return field != NULL;
}

/* From a list or a map to an item: by number, or by key. */
static bool enter_item(struct spot *spot, struct str name)
{
    const struct record_kind *kind = spot->kind;
    const struct record_list *list = spot->at;
    bool is_map = kind->ops == &record_map_ops && kind->item;
    if (kind->ops != &record_list_ops && kind->ops != &record_map_ops)
        return false;
    size_t size = record_item_size(kind, spot->field);
    int64_t number;
    const char *item = NULL;
    if (is_map)
        item = record_map_find(list->items, list->len, size, name);
    else if (str_to_int64(name, &number) && number >= 0 && number < list->len)
        item = list->items + (size_t)number * size;
    if (!item)
        return false;
    spot->at = item + kind->item_offset;
    spot->kind = kind->item ? kind->item : &record_ITEM_STR; /* KEYS are a list of texts */
    return true;
}

/* Where a path leads. False: nowhere, or into the rest of an object; then that is `*ret_tree`, with the path in it. */
static bool find_spot(struct spot *spot, struct str *path, yyjson_val **ret_tree)
{
    struct record_step step;
    for (struct str before = *path; path->len; before = *path) {
        const struct record_field *rest =
            spot->kind == &record_STRUCT ? record_rest(spot->field->type) : NULL;
        if (!record_next_step(path, &step))
            return false;
        if (rest && !step.is_subscript && !record_own_field(spot->field->type, step.name)) {
            *ret_tree = *(yyjson_val *const *)((const char *)spot->at + rest->offset);
            *path = before;
            return false;
        }
        if (!(step.is_subscript ? enter_item : enter_field)(spot, step.name))
            return false;
    }
    return true;
}

struct record_view record_view(const struct record_type *type, const void *record, struct str path)
{
    const struct record_field root = { .kind = &record_STRUCT, .type = type };
    struct spot spot = { &record_STRUCT, &root, record };
    yyjson_val *tree = NULL;
    if (!path.len)
        return (struct record_view){ 0 };
    if (!find_spot(&spot, &path, &tree))
        return tree ? json_tree_view(tree, path) : (struct record_view){ 0 };
    return spot.kind->ops->view ? spot.kind->ops->view(spot.kind, spot.field, spot.at)
                                : (struct record_view){ 0 };
}

struct str record_view_key(const struct record_type *type, const void *record, struct str path,
                           uint32_t index)
{
    const struct record_field root = { .kind = &record_STRUCT, .type = type };
    struct spot spot = { &record_STRUCT, &root, record };
    yyjson_val *tree = NULL;
    if (!find_spot(&spot, &path, &tree))
        return tree ? json_tree_key(tree, path, index) : (struct str){ 0 };
    const struct record_list *list = spot.at;
    if (spot.kind->ops != &record_map_ops || !spot.kind->item || index >= list->len)
        return (struct str){ 0 };
    return *(const struct str *)(const void *)(list->items + index * record_item_size(spot.kind, spot.field));
}

struct record_member record_member(const struct record_type *type, struct str path)
{
    const struct record_field *field = NULL;
    size_t offset = 0;
    struct record_step step;
    while (path.len) {
        if (!type || !record_next_step(&path, &step) || step.is_subscript)
            return (struct record_member){ 0 };
        field = record_own_field(type, step.name);
        if (!field)
            return (struct record_member){ 0 };
        offset += field->offset;
        type = field->kind == &record_STRUCT ? field->type : NULL;
    }
    return (struct record_member){ field, offset };
}

void record_member_put_key(struct strbuf *out, struct record_member member, const void *record)
{
    member.field->kind->ops->put_key(member.field->kind, out, member.field,
                                     (const char *)record + member.offset);
}
