/* protobuf.h: the wire format of protocol buffers, field by field, and the frames in which a stream carries messages.
 *
 *     struct protobuf_reader reader = protobuf_reader(message);
 *     struct protobuf_field field;
 *     int r;
 *     while ((r = protobuf_next(&reader, &field)) > 0)
 *         switch (field.tag) { ... }                      // a tag that is not known needs no further care
 *     if (r < 0)
 *         return error_set(err, r, "%s", protobuf_problem(r));
 *
 * A reader owns nothing, copies nothing and never looks behind the end of its message. Groups, which are
 * deprecated and which Kubernetes does not use, are refused. */
#ifndef CODEC_PROTOBUF_H
#define CODEC_PROTOBUF_H

#include <errno.h>

#include "base/error.h"
#include "base/str.h"

enum protobuf_wire {
    WIRE_VARINT,
    WIRE_FIXED64,
    WIRE_BYTES, /* strings, messages, maps' entries */
    WIRE_GROUP,
    WIRE_GROUP_END,
    WIRE_FIXED32,
};

enum { PROTOBUF_TAG_MAX = (1 << 29) - 1 };

/* ---- reading ---- */

struct protobuf_reader {
    const uint8_t *at, *end;
};

struct protobuf_field {
    uint32_t tag;
    enum protobuf_wire wire;
    uint64_t number;  /* unless WIRE_BYTES */
    struct str bytes; /* of WIRE_BYTES: a slice of the message, never NULL */
};

static inline struct protobuf_reader protobuf_reader(struct str message)
{
    const uint8_t *at = (const uint8_t *)(message.ptr ? message.ptr : "");
    return (struct protobuf_reader){ at, at + message.len };
}

/* The common cases of protobuf_next() are below, for speed; these are the others. */
int protobuf_varint_long(struct protobuf_reader *reader, uint64_t *ret);
int protobuf_next_fixed(struct protobuf_reader *reader, struct protobuf_field *ret);

/* 1, or a negative errno. Bits above the 64th are dropped. */
static inline int protobuf_varint(struct protobuf_reader *reader, uint64_t *ret)
{
    if (reader->at == reader->end || *reader->at >= 0x80)
        return protobuf_varint_long(reader, ret);
    *ret = *reader->at++;
    return 1;
}

/* 1: a field; 0: the message is over; or a negative errno: -ENODATA where the bytes end too early, -EOVERFLOW for a
 * number of more than ten bytes, -ENOTSUP for a group, -EBADMSG for what is no field at all. */
static inline int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret)
{
    uint64_t key, len;
    if (reader->at == reader->end)
        return 0;
    int r = protobuf_varint(reader, &key);
    if (r < 0)
        return r;
    if (key >> 3 == 0 || key >> 3 > PROTOBUF_TAG_MAX)
        return -EBADMSG;
    ret->tag = (uint32_t)(key >> 3);
    ret->wire = (enum protobuf_wire)(key & 7);
    if (ret->wire == WIRE_VARINT)
        return protobuf_varint(reader, &ret->number);
    if (ret->wire != WIRE_BYTES)
        return protobuf_next_fixed(reader, ret);
    r = protobuf_varint(reader, &len);
    if (r < 0)
        return r;
    if (len > (size_t)(reader->end - reader->at))
        return -ENODATA;
    ret->bytes = (struct str){ (const char *)reader->at, (uint32_t)len };
    reader->at += len;
    return 1;
}

/* A small message, whose fields have the tags 1 to `len`. The caller has set `wire` of each part. A part that is in the
 * message several times is the last of them; the tag of one that is not stays 0. Returns 0, or as protobuf_next(), and
 * -EBADMSG where a part has another wire type. */
int protobuf_parts(struct str message, struct protobuf_field *parts, uint32_t len);

/* What an errno of protobuf_next() means: "the message ends in the middle of a field". */
const char *protobuf_problem(int code);

/* ---- writing ---- */

void protobuf_put_number(struct strbuf *out, uint32_t tag, uint64_t value);
void protobuf_put_bytes(struct strbuf *out, uint32_t tag, struct str bytes);
/* A message inside: all that is put between begin and end is in it. End takes what begin gave. */
size_t protobuf_begin(struct strbuf *out, uint32_t tag);
void protobuf_end(struct strbuf *out, size_t begun);

/* ---- frames ---- */

/* Cuts a stream of bytes into messages: each has its length in front, four bytes, the highest first. A zeroed struct
 * with `bytes_max` set is ready for use. It holds no more than one frame that is not complete and what was fed last,
 * if the frames are taken out between one feed and the next. */
struct protobuf_frames {
    struct strbuf buf;
    size_t at; /* what is before it has been handed out */
    uint32_t bytes_max;
};

void protobuf_frames_feed(struct protobuf_frames *frames, const char *bytes, size_t len);
/* 1: a frame, valid until the next feed; 0: more bytes are needed; -EMSGSIZE: a frame of more than bytes_max, behind
 * which nothing can be read any more. */
int protobuf_frames_next(struct protobuf_frames *frames, struct str *ret, struct error *err);
/* Is the stream between two frames? If not, and it has ended, something was lost. */
static inline bool protobuf_frames_empty(const struct protobuf_frames *frames)
{
    return frames->at == frames->buf.len;
}
void protobuf_frames_release(struct protobuf_frames *frames);

#endif
