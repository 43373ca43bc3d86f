/* record_rows.h: the macros that tables of records are written with; see record.h. In each table T is the struct. */
#ifndef CODEC_RECORD_ROWS_H
#define CODEC_RECORD_ROWS_H

#include "codec/record.h"

#define RECORD_MEMBER_OF(member) (((T *)0)->member)
/* 0, or an error at compile time. */
#define RECORD_SURELY(condition) (0 * sizeof(char[(condition) ? 1 : -1]))
#define RECORD_SAME_TYPE(value, ctype) RECORD_SURELY(__builtin_types_compatible_p(__typeof__(value), ctype))
#define RECORD_ROW(json, tag_, place, kind_, type_, ...) \
    { .name = json, \
      .name_len = sizeof(json) - 1, \
      .tag = tag_, \
      .offset = place, \
      .flags = 0 __VA_OPT__(| (__VA_ARGS__)), \
      .kind = &record_##kind_, \
      .type = type_ }

/* A member of a kind that needs no other table. Behind the member: flags, or'ed together. */
#define F(json, tag, kind, member, ...) \
    RECORD_ROW(json, tag, offsetof(T, member) + RECORD_SAME_TYPE(RECORD_MEMBER_OF(member), record_c_##kind), \
               kind, NULL, __VA_ARGS__)
/* Members that are structs with a TYPE(of): in the struct, behind a pointer, in a LIST(). */
#define F_STRUCT(json, tag, member, of, ...) \
    RECORD_ROW(json, tag, offsetof(T, member) + RECORD_SAME_TYPE(RECORD_MEMBER_OF(member), of##_record), \
               STRUCT, &of##_type, __VA_ARGS__)
#define F_PTR(json, tag, member, of, ...) \
    RECORD_ROW(json, tag, offsetof(T, member) + RECORD_SAME_TYPE(*RECORD_MEMBER_OF(member), of##_record), \
               PTR, &of##_type, __VA_ARGS__)
#define F_LIST(json, tag, member, of, ...) \
    RECORD_ROW(json, tag, \
               offsetof(T, member) + RECORD_SAME_TYPE(*RECORD_MEMBER_OF(member).items, of##_record), LIST, \
               &of##_type, __VA_ARGS__)
/* A map: a list of records, sorted by the key that each begins with. */
#define F_MAP(json, tag, member, of, ...) \
    RECORD_ROW(json, tag, \
               offsetof(T, member) + RECORD_SAME_TYPE(*RECORD_MEMBER_OF(member).items, of##_record) + \
                   RECORD_SURELY(offsetof(of##_record, key) == 0), \
               MAP, &of##_type, __VA_ARGS__)
/* An object of its own in JSON and protobuf, whose fields are members of this very struct: T of its table is the same.
 * Named "", its fields stand in the parent in JSON. */
#define F_PART(json, tag, of, ...) \
    RECORD_ROW(json, tag, RECORD_SAME_TYPE(*(T *)0, of##_record), STRUCT, &of##_type, __VA_ARGS__)

/* Behind the array NAME_fields: makes NAME_type. A SHARED type is one that a header declares with RECORD_TYPE(). */
#define TYPE_WITH(name, ...) TYPE_IN(static, name, __VA_ARGS__)
#define TYPE_SHARED_WITH(name, ...) TYPE_IN(, name, __VA_ARGS__)
#define TYPE_IN(storage, name, ...) \
    typedef T name##_record; \
    static struct record_index name##_index; \
    storage const struct record_type name##_type = { .size = sizeof(T), \
                                                     .fields = name##_fields, \
                                                     .len = ARRAY_SIZE(name##_fields), \
                                                     .index = &name##_index, \
                                                     __VA_ARGS__ }; \
    __attribute__((constructor)) static void name##_fill(void) \
    { \
        record_index_fill(&name##_type); \
    }
#define TYPE(name) TYPE_WITH(name, )
#define TYPE_SHARED(name) TYPE_SHARED_WITH(name, )
#define TYPE_FINISH(name, function) TYPE_WITH(name, .finish = function)

#endif
