/* record_types.h: the C types that members of records have, besides bool, int32_t, int64_t and struct str.
 *
 * Conventions: an optional string is absent when ptr is NULL ("" has a pointer); an absent list is NULL; maps are lists
 * that are sorted by key. */
#ifndef CODEC_RECORD_TYPES_H
#define CODEC_RECORD_TYPES_H

#include "base/str.h"

#define LIST(type) \
    struct { \
        type *items; \
        uint32_t len; \
    }

/* An absent list is NULL, and NULL takes no arithmetic. */
#define list_for(list, item) \
    for (__typeof__(*(list)->items) *item = (list)->items, *end_##item = item ? item + (list)->len : item; \
         item != end_##item; item++)

struct opt_bool {
    bool set, value;
};
struct opt_int32 {
    bool set;
    int32_t value;
};
struct int64_list {
    int64_t *items;
    uint32_t len;
};
struct bool_list {
    bool *items;
    uint32_t len;
};
struct opt_int64 {
    bool set;
    int64_t value;
};
/* An int or a string such as "25%"; text.ptr is NULL for an int. */
struct int_or_str {
    bool set;
    int32_t number;
    struct str text;
};
struct opt_time {
    bool set;
    int64_t seconds; /* since 1970, UTC */
    int32_t nanos;
};

struct str_list {
    struct str *items;
    uint32_t len;
};
struct pair {
    struct str key, value;
};
struct str_map { /* sorted by key, keys unique */
    struct pair *items;
    uint32_t len;
};

#endif
