/* base64.h: bytes as text, in the standard alphabet with padding (RFC 4648). */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/str.h"

void base64_encode(struct strbuf *out, struct str bytes);

/* The most bytes that a text of this length decodes to. */
static inline size_t base64_bytes_max(size_t text_len)
{
    return text_len / 4 * 3 + 3;
}

/* Line breaks are skipped, as Go does; anything else that is not base64 is refused. Returns the number of
 * bytes written to `out` (of base64_bytes_max()), or -1. */
ptrdiff_t base64_decode(struct str text, char *out);

#endif
