/* record_ops.h: the signatures of struct record_ops, for files that define kinds.
 *
 *     READ(bool_read)
 *     {
 *         if (!yyjson_is_bool(val))
 *             return record_expected(reader, path, val, "true or false");
 *         *(bool *)at = yyjson_get_bool(val);
 *         return 0;
 *     } */
#ifndef CODEC_RECORD_OPS_H
#define CODEC_RECORD_OPS_H

#include "codec/record.h"

#define READ(name) \
    static int name(const struct record_kind *kind _unused_, struct record_reader *reader _unused_, \
                    const struct path *path _unused_, yyjson_val *val, \
                    const struct record_field *field _unused_, void *at)
#define WRITE(name) \
    static void name(const struct record_kind *kind _unused_, const struct record_writer *writer, \
                     const struct record_field *field _unused_, const void *at)
#define READ_PROTOBUF(name) \
    static int name(const struct record_kind *kind _unused_, struct record_reader *reader _unused_, \
                    const struct path *path _unused_, const struct protobuf_field *in, \
                    const struct record_field *field _unused_, void *at)
#define WRITE_PROTOBUF(name) \
    static void name(const struct record_kind *kind _unused_, struct strbuf *out, uint32_t tag, \
                     const struct record_field *field _unused_, const void *at)
#define COPY(name) \
    static void name(const struct record_kind *kind _unused_, struct arena *arena, \
                     const struct record_field *field _unused_, void *at)
#define PUT_KEY(name) \
    static void name(const struct record_kind *kind _unused_, struct strbuf *out, \
                     const struct record_field *field _unused_, const void *at)
#define VIEW(name) \
    static struct record_view name(const struct record_kind *kind _unused_, \
                                   const struct record_field *field _unused_, const void *at)

#endif
