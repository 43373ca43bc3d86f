/* quote.h: texts in double quotes, as Go and as JSON write them. */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include "base/arena.h"

/* As strconv.Quote() and %q of Go. */
void quote_go(struct strbuf *out, struct str text);
struct str quote_go_arena(struct arena *arena, struct str text);

enum quote_json {
    QUOTE_JSON,    /* as short as it can be; bytes that are not UTF-8 become the character U+FFFD */
    QUOTE_JSON_GO, /* as encoding/json: <, > and &, line separators, and U+FFFD for bad bytes are \uXXXX */
    QUOTE_JSON_LOGS, /* as the JSON format of Kubernetes' logs: \b and \f, and U+FFFD for bad bytes are \uXXXX */
};
void quote_json(struct strbuf *out, struct str text, enum quote_json form);

#endif
