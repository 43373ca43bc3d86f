/* server_http2_head.h: the head of an HTTP/2 request: fields as they come, and what they mean together.
 *
 * The rules, and what follows when one is broken, are those of Go's server: nghttp2 is told to leave them alone. */
#ifndef SERVER_SERVER_HTTP2_HEAD_H
#define SERVER_SERVER_HTTP2_HEAD_H

#include "server/server_parse.h"

/* A zeroed one is empty. */
struct http2_head {
    struct strbuf text; /* of each field: the lengths of its name and its value, and both */
    size_t size;        /* as RFC 9113 counts fields, with 32 bytes more for each */
    uint32_t count;     /* without those that begin with a colon */
    bool malformed;     /* what follows is not kept */
    bool too_large;     /* likewise */
};

enum { HTTP2_MALFORMED = 0 }; /* the stream is reset; other verdicts are those of server_parse.h */

/* What the fields of a request may take together, as it is told to clients. */
size_t http2_head_size_max(const struct server_limits *limits);
void http2_head_add(struct http2_head *head, const struct server_limits *limits, struct str name,
                    struct str value);
/* PARSE_DONE, HTTP2_MALFORMED, or a status to refuse the request with, and why (NULL: its usual text). Slices point
 * into the head, the path is in the arena. content_length is UINT64_MAX where the head has none. */
int http2_head_parse(const struct http2_head *head, struct arena *arena, struct parsed *ret,
                     const char **ret_why);
void http2_head_release(struct http2_head *head);

#endif
