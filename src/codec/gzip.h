/* gzip.h: bytes in the format of gzip (RFC 1952). */
#ifndef CODEC_GZIP_H
#define CODEC_GZIP_H

#include "base/str.h"

/* Adds the bytes to `out` as one member, with the usual effort (level 6). -ENOMEM: `out` is as it was. */
int gzip_encode(const char *bytes, size_t len, struct strbuf *out);
/* Do they begin as such bytes do? */
bool gzip_is(const char *bytes, size_t len);
/* Adds what all members decode to, one after another. -EINVAL: the bytes are damaged, or end early; -EFBIG: that is
 * more than `max` bytes; -ENOMEM. */
int gzip_decode(const char *bytes, size_t len, size_t max, struct strbuf *out);

#endif
