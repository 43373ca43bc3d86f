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
