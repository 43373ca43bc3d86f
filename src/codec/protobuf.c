/* protobuf.c: the rarer half of reading, writing, and frames; see protobuf.h. */
#include "codec/protobuf.h"

enum {
    VARINT_BYTES_MAX = 10,
    FIELD_HEAD_BYTES_MAX = 2 * VARINT_BYTES_MAX,
    FRAME_HEAD_BYTES = 4,
    FRAMES_KEPT_BYTES_MAX = 1 << 20
};

/* ---- reading ---- */

int protobuf_varint_long(struct protobuf_reader *reader, uint64_t *ret)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        if (reader->at == reader->end)
            return -ENODATA;
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *ret = value;
            return 1;
        }
    }
    return -EOVERFLOW;
}

int protobuf_next_fixed(struct protobuf_reader *reader, struct protobuf_field *ret)
{
    if (ret->wire == WIRE_GROUP || ret->wire == WIRE_GROUP_END)
        return -ENOTSUP;
    if (ret->wire != WIRE_FIXED64 && ret->wire != WIRE_FIXED32)
        return -EBADMSG;
    unsigned len = ret->wire == WIRE_FIXED64 ? 8 : 4;
    if ((size_t)(reader->end - reader->at) < len)
        return -ENODATA;
    ret->number = 0;
    for (unsigned i = 0; i < len; i++)
        ret->number |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += len;
    return 1;
}

int protobuf_parts(struct str message, struct protobuf_field *parts, uint32_t len)
{
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field in;
    int r;
    while ((r = protobuf_next(&reader, &in)) > 0) {
        if (in.tag > len)
            continue;
        if (in.wire != parts[in.tag - 1].wire)
            return -EBADMSG;
        parts[in.tag - 1] = in;
    }
    return r;
}

const char *protobuf_problem(int code)
{
    switch (code) {
    case -ENODATA:
        return "the message ends in the middle of a field";
    case -EOVERFLOW:
        return "a number has more than 64 bits";
    case -ENOTSUP:
        return "a group, which is not supported";
    default:
        return "no protobuf message";
    }
}

/* ---- writing ---- */

/* Fields are short, and there are hundreds of them in an object: they are written where they belong, without a call
 * for every other byte. */
static char *space(struct strbuf *out, size_t len)
{
    if (out->cap - out->len <= len)
        strbuf_reserve(out, len);
    return out->text + out->len;
}

static void wrote(struct strbuf *out, char *end)
{
    *end = '\0';
    out->len = (size_t)(end - out->text);
}

static char *add_varint(char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

static char *add_key(char *to, uint32_t tag, enum protobuf_wire wire)
{
    return add_varint(to, (uint64_t)tag << 3 | wire);
}

void protobuf_put_number(struct strbuf *out, uint32_t tag, uint64_t value)
{
    char *at = space(out, FIELD_HEAD_BYTES_MAX);
    wrote(out, add_varint(add_key(at, tag, WIRE_VARINT), value));
}

void protobuf_put_bytes(struct strbuf *out, uint32_t tag, struct str bytes)
{
    char *at = space(out, FIELD_HEAD_BYTES_MAX + (size_t)bytes.len);
    at = add_varint(add_key(at, tag, WIRE_BYTES), bytes.len);
    if (bytes.len)
        memcpy(at, bytes.ptr, bytes.len);
    wrote(out, at + bytes.len);
}

size_t protobuf_begin(struct strbuf *out, uint32_t tag)
{
    char *at = add_key(space(out, FIELD_HEAD_BYTES_MAX), tag, WIRE_BYTES);
    *at++ = 0; /* space for the length, of which one byte is mostly enough */
    wrote(out, at);
    return out->len;
}

void protobuf_end(struct strbuf *out, size_t begun)
{
    size_t len = out->len - begun, more = 0;
    for (size_t rest = len >> 7; rest; rest >>= 7)
        more++;
    if (more) {
        char *end = space(out, more);
        memmove(out->text + begun + more, out->text + begun, len);
        wrote(out, end + more);
    }
    char *at = out->text + begun - 1;
    for (; len >= 0x80; len >>= 7)
        *at++ = (char)(len | 0x80);
    *at = (char)len;
}

/* ---- frames ---- */

void protobuf_frames_feed(struct protobuf_frames *frames, const char *bytes, size_t len)
{
    struct strbuf *buf = &frames->buf;
    if (frames->at) {
        buf->len -= frames->at;
        memmove(buf->text, buf->text + frames->at, buf->len);
        frames->at = 0;
    }
    /* One giant must not be paid for until the stream ends. */
    if (buf->len == 0 && buf->cap > FRAMES_KEPT_BYTES_MAX)
        strbuf_release(buf);
    strbuf_add(buf, bytes, len);
}

int protobuf_frames_next(struct protobuf_frames *frames, struct str *ret, struct error *err)
{
    size_t left = frames->buf.len - frames->at;
    if (left < FRAME_HEAD_BYTES)
        return 0;
    const unsigned char *at = (const unsigned char *)frames->buf.text + frames->at;
    uint32_t len = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    if (len > frames->bytes_max)
        return error_set(err, -EMSGSIZE, "a message of %u bytes, of which at most %u are allowed", len,
                         frames->bytes_max);
    if (left - FRAME_HEAD_BYTES < len)
        return 0;
    *ret = (struct str){ (const char *)at + FRAME_HEAD_BYTES, len };
    frames->at += FRAME_HEAD_BYTES + (size_t)len;
    return 1;
}

void protobuf_frames_release(struct protobuf_frames *frames)
{
    strbuf_release(&frames->buf);
    frames->at = 0;
}
