/* gzip.h: bytes in the format of gzip (RFC 1952). */
#ifndef CODEC_GZIP_H
#define CODEC_GZIP_H

#include "base/str.h"

/* Adds the bytes to `out` as one member, with the usual effort (level 6). -ENOMEM: `out` is as it was. */
int gzip_encode(const char *bytes, size_t len, struct strbuf *out);

#endif
