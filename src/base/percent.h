/* percent.h: percent-encoding of URLs (RFC 3986). */
#ifndef BASE_PERCENT_H
#define BASE_PERCENT_H

#include "base/arena.h"

/* Letters, digits and the bytes of `plain` stand for themselves; all others become %XX. */
void percent_encode(struct strbuf *out, struct str text, const char *plain);
/* Undoes it, into the arena and with a terminator. With `plus` a plus sign is a space, as in a form's query. On false
 * *ret is the broken escape in `text`. */
bool percent_decode(struct str text, bool plus, struct arena *arena, struct str *ret);

#endif
