/* record_struct.h: what the files of the record module share. */
#ifndef CODEC_RECORD_STRUCT_H
#define CODEC_RECORD_STRUCT_H

#include "codec/doc.h"
#include "codec/record.h"

/* The row of that name in this very table, and the row without a name; NULL: there is none. */
const struct record_field *record_own_field(const struct record_type *type, struct str name);
const struct record_field *record_unnamed(const struct record_type *type);

/* The row that has the members that no other row names; NULL: there is none. */
static inline const struct record_field *record_rest(const struct record_type *type)
{
    const struct record_field *last = type->len ? &type->fields[type->len - 1] : NULL;
    return last && last->flags & RECORD_REST ? last : NULL;
}

/* The next step of a path: .name, or [name]. False: it has none. */
struct record_step {
    struct str name;
    bool is_subscript;
};
bool record_next_step(struct str *path, struct record_step *ret);

/* What was read of a message so far. */
struct record_message {
    const struct record_type *type;
    void *record;
    struct protobuf_reader rest;
    uint64_t seen;     /* tags that came */
    uint64_t counted;  /* of lists whose array is long enough for all of the message */
    uint64_t full;     /* of lists that may not grow: their array would be too big */
    uint64_t unsorted; /* of maps */
    uint32_t last_tag; /* of the field before, if it was read; 0: it was not */
};

/* A value that cannot be read: does the reader go on behind it? */
bool record_skips(struct record_reader *reader);

/* A STR in a list or a map: one that is there has a pointer. */
RECORD_KIND(ITEM_STR, struct str);

/* Sorts the entries of a map by key; of equal ones the last is kept. Returns a key that was there twice; without a
 * pointer: there was none. */
struct str record_sort_entries(struct record_list *list, size_t size);

static inline size_t record_item_size(const struct record_kind *kind, const struct record_field *field)
{
    return kind->item_size ? kind->item_size : field->type->size;
}

/* Is there anything to write? */
bool record_is_empty(const struct record_kind *kind, const struct record_field *field, const void *at);
/* Where a redactor may replace the value, *at becomes `space` with the text that it gives; false: it is left out. */
bool record_redacted(const struct record_writer *writer, const struct record_field *field,
                     const struct record_kind *kind, const void **at, struct str *space);

#endif
