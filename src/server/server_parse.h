/* server_parse.h: HTTP/1.x requests out of a buffer that fills by and by.
 *
 * Strict where two readings of a request could differ: a request that two programs might cut at different places is
 * refused, or is the last one of its connection. Nothing here allocates but for the decoded path. */
#ifndef SERVER_SERVER_PARSE_H
#define SERVER_SERVER_PARSE_H

#include "server/server.h"

enum { PARSE_HEADERS_MAX = 128 };

enum { PARSE_MORE = 0, PARSE_DONE = 1 }; /* anything else is the status to refuse the request with */

/* How the head of a request says that its body is sent, and what follows it. */
struct framing {
    bool http10, keep_alive, expects_continue, chunked, has_length;
    uint64_t content_length;
};

/* The length of the head (request line, headers, empty line) at the beginning of the text; 0: it is not all there.
 * `scanned` is how much of it was looked at before. */
size_t parse_find_head(struct str text, size_t scanned);
/* The head, all of it. Slices point into it, but for the path: that is in the request's arena. PARSE_DONE or a
 * status. */
int parse_head(struct str head, struct server_request *ret, struct framing *ret_framing);

/* Where the decoding of a chunked body is. Zeroed at its beginning. */
struct chunks {
    enum { CHUNK_SIZE, CHUNK_DATA, CHUNK_DATA_END, CHUNK_TRAILER } phase;
    size_t raw;        /* bytes that were used up */
    size_t len;        /* bytes of the body, moved together at the beginning */
    uint64_t left;     /* of the chunk under way */
    size_t line_bytes; /* of size lines and trailers, that have a bound of their own */
};

/* Decodes in place what is there of a body of at most bytes_max. PARSE_MORE, PARSE_DONE or a status. */
int parse_chunks(struct chunks *chunks, char *body, size_t available, size_t bytes_max);

/* request->target is "/path", "http://host/path" or "*": sets path and query. PARSE_DONE or a status. */
int parse_target(struct server_request *request);
/* RFC 9110's token. */
bool parse_is_token(struct str text);
/* A token that is not too long for a method. */
bool parse_is_method(struct str text);
/* The value of a header: no control characters but tabs. */
bool parse_is_value(struct str text);
/* Is the word one of the list's, as in "Connection: keep-alive, upgrade"? */
bool parse_list_has(struct str list, const char *word);

/* %XX and nothing else; false: a % without its two digits, or a zero byte. */
bool parse_unescape(struct str text, struct arena *arena, struct str *ret);

#endif
