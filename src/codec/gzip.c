/* gzip.c: zlib, a piece at a time: its counters are of 32 bits, and `out` grows with what comes out. */
#include "codec/gzip.h"

#include <errno.h>
#include <zlib.h>

enum { PIECE_BYTES = 1 << 20, OUT_BYTES = 16 << 10, WINDOW_BITS = 15, GZIP = 16, MEMORY_LEVEL = 8 };

/* What is in the stream, as far as it comes out now. */
static void drain(z_stream *stream, int flush, struct strbuf *out)
{
    char buf[OUT_BYTES];
    do {
        stream->next_out = (Bytef *)buf;
        stream->avail_out = sizeof(buf);
        (void)deflate(stream, flush);
        strbuf_add(out, buf, sizeof(buf) - stream->avail_out);
    } while (!stream->avail_out);
}

int gzip_encode(const char *bytes, size_t len, struct strbuf *out)
{
    z_stream stream = { 0 };
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    do {
        size_t piece = MIN(len, (size_t)PIECE_BYTES);
        stream.next_in = (Bytef *)bytes;
        stream.avail_in = (uInt)piece;
        bytes += piece;
        len -= piece;
        drain(&stream, len ? Z_NO_FLUSH : Z_FINISH, out);
    } while (len);
    deflateEnd(&stream);
    return 0;
}

bool gzip_is(const char *bytes, size_t len)
{
    return len >= 2 && (unsigned char)bytes[0] == 0x1f && (unsigned char)bytes[1] == 0x8b;
}

/* One member. *ret_used is its length. */
static int decode_member(const char *bytes, size_t len, size_t max, struct strbuf *out, size_t *ret_used)
{
    z_stream stream = { 0 };
    char buf[OUT_BYTES];
    size_t used = 0;
    int r;
    if (inflateInit2(&stream, WINDOW_BITS + GZIP) != Z_OK)
        return -ENOMEM;
    do {
        size_t piece = MIN(len - used, (size_t)PIECE_BYTES);
        stream.next_in = (Bytef *)bytes + used;
        stream.avail_in = (uInt)piece;
        stream.next_out = (Bytef *)buf;
        stream.avail_out = sizeof(buf);
        r = inflate(&stream, Z_NO_FLUSH);
        used += piece - stream.avail_in;
        strbuf_add(out, buf, sizeof(buf) - stream.avail_out);
    } while (r == Z_OK && out->len <= max);
    inflateEnd(&stream);
    *ret_used = used;
    if (out->len > max)
        return -EFBIG;
    return r == Z_STREAM_END ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

int gzip_decode(const char *bytes, size_t len, size_t max, struct strbuf *out)
{
    int r = 0;
    for (size_t used; len && r == 0; bytes += used, len -= used)
        r = decode_member(bytes, len, max, out, &used);
    return r;
}
