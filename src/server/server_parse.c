/* server_parse.c: the grammar of RFC 9112, as far as a server needs it. */
#include "server/server_parse.h"

#include "base/percent.h"

enum { METHOD_BYTES_MAX = 32, CHUNK_LINES_BYTES_MAX = 8192 };

enum {
    BAD_REQUEST = 400,
    TOO_LARGE = 413,
    HEADERS_TOO_LARGE = 431,
    NOT_IMPLEMENTED = 501,
    VERSION_UNKNOWN = 505,
};

size_t parse_find_head(struct str text, size_t scanned)
{
    /* The end is a line end right after another; both may lack their CR. */
    for (size_t i = scanned > 3 ? scanned - 3 : 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != '\n')
            continue;
        if (text.ptr[i + 1] == '\n')
            return i + 2;
        if (text.ptr[i + 1] == '\r' && i + 2 < text.len && text.ptr[i + 2] == '\n')
            return i + 3;
    }
    return 0;
}

/* RFC 9110's tchar. */
static bool is_token_byte(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

bool parse_is_token(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (!is_token_byte((unsigned char)text.ptr[i]))
            return false;
    return text.len > 0;
}

bool parse_is_method(struct str text)
{
    return text.len <= METHOD_BYTES_MAX && parse_is_token(text);
}

bool parse_unescape(struct str text, struct arena *arena, struct str *ret)
{
    return percent_decode(text, false, arena, ret) && !(ret->len && memchr(ret->ptr, 0, ret->len));
}

/* The next line without its end. */
static struct str next_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    return line;
}

int parse_target(struct server_request *request)
{
    struct str rest = request->target;
    for (uint32_t i = 0; i < rest.len; i++)
        if ((unsigned char)rest.ptr[i] <= ' ' || rest.ptr[i] == 0x7f)
            return BAD_REQUEST;
    if (str_starts_with(rest, STR("http://")) || str_starts_with(rest, STR("https://"))) {
        rest = str_slice(rest, (size_t)str_find(rest, ':') + 3, rest.len);
        ptrdiff_t slash = str_find(rest, '/');
        rest = slash < 0 ? STR("/") : str_slice(rest, (size_t)slash, rest.len);
    } else if (!str_is(rest, "*") && (!rest.len || rest.ptr[0] != '/')) {
        return BAD_REQUEST;
    }
    struct str path = str_cut(&rest, '?');
    request->query = rest;
    return parse_unescape(path, &request->arena, &request->path) ? PARSE_DONE : BAD_REQUEST;
}

static int parse_request_line(struct str line, struct server_request *ret, struct framing *framing)
{
    ptrdiff_t first = str_find(line, ' '), last = str_rfind(line, ' ');
    if (first <= 0 || first == last)
        return BAD_REQUEST;
    ret->method = str_slice(line, 0, (size_t)first);
    ret->target = str_slice(line, (size_t)first + 1, (size_t)last);
    struct str version = str_slice(line, (size_t)last + 1, line.len);
    if (!parse_is_method(ret->method) || str_is(ret->method, "CONNECT"))
        return BAD_REQUEST;
    framing->http10 = str_is(version, "HTTP/1.0");
    if (!framing->http10 && !str_is(version, "HTTP/1.1"))
        return str_starts_with(version, STR("HTTP/")) && version.len == 8 ? VERSION_UNKNOWN : BAD_REQUEST;
    return parse_target(ret);
}

bool parse_is_value(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

static bool name_is(struct str name, const char *what)
{
    return str_eq_fold(name, str_from(what));
}

bool parse_list_has(struct str list, const char *word)
{
    while (list.len)
        if (name_is(str_trim(str_cut(&list, ','), " \t"), word))
            return true;
    return false;
}

/* What headers say that is not known before their end. */
struct said {
    bool host, close, keep;
};

static int parse_length(struct str value, struct framing *framing)
{
    int64_t length;
    if (!value.len || value.len > 18 || value.ptr[0] < '0' || value.ptr[0] > '9' ||
        !str_to_int64(value, &length))
        return BAD_REQUEST;
    if (framing->has_length && framing->content_length != (uint64_t)length)
        return BAD_REQUEST;
    framing->has_length = true;
    framing->content_length = (uint64_t)length;
    return PARSE_DONE;
}

static int apply_header(struct server_header header, struct said *said, struct framing *framing)
{
    if (name_is(header.name, "content-length"))
        return parse_length(header.value, framing);
    if (name_is(header.name, "transfer-encoding")) {
        if (framing->chunked || !name_is(header.value, "chunked"))
            return framing->chunked ? BAD_REQUEST : NOT_IMPLEMENTED;
        framing->chunked = true;
    } else if (name_is(header.name, "host")) {
        if (said->host)
            return BAD_REQUEST;
        said->host = true;
    } else if (name_is(header.name, "connection")) {
        said->close = said->close || parse_list_has(header.value, "close");
        said->keep = said->keep || parse_list_has(header.value, "keep-alive");
    } else if (name_is(header.name, "expect")) {
        framing->expects_continue = name_is(header.value, "100-continue");
    }
    return PARSE_DONE;
}

static int parse_headers(struct str rest, struct server_request *ret, struct said *said,
                         struct framing *framing)
{
    for (;;) {
        struct str line = next_line(&rest);
        if (!line.len)
            return PARSE_DONE;
        ptrdiff_t colon = str_find(line, ':');
        struct server_header header = { 0 };
        if (colon > 0) {
            header.name = str_slice(line, 0, (size_t)colon);
            header.value = str_trim(str_slice(line, (size_t)colon + 1, line.len), " \t");
        }
        /* A name that begins with a space would be the continuation of the line before, in another century. */
        if (!parse_is_token(header.name) || !parse_is_value(header.value))
            return BAD_REQUEST;
        if (ret->headers.len == PARSE_HEADERS_MAX)
            return HEADERS_TOO_LARGE;
        *vec_push(&ret->headers) = header;
        int r = apply_header(header, said, framing);
        if (r != PARSE_DONE)
            return r;
    }
}

static bool has_bare_lf(struct str text)
{
    for (uint32_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r'))
            return true;
    return false;
}

/* Like Go's server this takes lines that end without a CR. Another program on the way may see their ends elsewhere:
 * then nothing may follow that it could take for another request. So there is no body, and no next request. */
int parse_head(struct str head, struct server_request *ret, struct framing *framing)
{
    struct said said = { 0 };
    bool is_loose = has_bare_lf(head);
    *framing = (struct framing){ 0 };
    int r = parse_request_line(next_line(&head), ret, framing);
    if (r == PARSE_DONE)
        r = parse_headers(head, ret, &said, framing);
    if (r != PARSE_DONE)
        return r;
    if (framing->chunked && (framing->has_length || framing->http10))
        return BAD_REQUEST;
    if (!framing->http10 && !said.host)
        return BAD_REQUEST;
    if (is_loose && (framing->chunked || framing->content_length))
        return BAD_REQUEST;
    framing->keep_alive = !said.close && !is_loose && (said.keep || !framing->http10);
    return PARSE_DONE;
}

/* A line of the coding itself. PARSE_MORE: its end is not there. */
static int chunk_line(struct chunks *chunks, const char *body, size_t available, struct str *ret)
{
    struct str rest = { body + chunks->raw, (uint32_t)(available - chunks->raw) };
    ptrdiff_t end = str_find(rest, '\n');
    size_t len = end < 0 ? rest.len : (size_t)end + 1;
    if (chunks->line_bytes + len > CHUNK_LINES_BYTES_MAX)
        return BAD_REQUEST;
    if (end < 0)
        return PARSE_MORE;
    if (len < 2 || rest.ptr[len - 2] != '\r')
        return BAD_REQUEST; /* as Go: programs differ in where such a line ends */
    chunks->line_bytes += len;
    chunks->raw += len;
    *ret = next_line(&rest);
    return PARSE_DONE;
}

static int chunk_size(struct chunks *chunks, struct str line, size_t bytes_max)
{
    uint64_t size = 0;
    uint32_t digits = 0;
    while (digits < line.len && digits < 9 && hex_digit(line.ptr[digits]) >= 0)
        size = size << 4 | (uint64_t)hex_digit(line.ptr[digits++]);
    if (!digits || digits == 9)
        return digits ? TOO_LARGE : BAD_REQUEST;
    struct str rest = str_trim(str_slice(line, digits, line.len), " \t");
    if (rest.len && rest.ptr[0] != ';')
        return BAD_REQUEST;
    if (size > bytes_max - chunks->len)
        return TOO_LARGE;
    chunks->left = size;
    chunks->phase = size ? CHUNK_DATA : CHUNK_TRAILER;
    return PARSE_DONE;
}

int parse_chunks(struct chunks *chunks, char *body, size_t available, size_t bytes_max)
{
    struct str line;
    for (;;) {
        if (chunks->phase == CHUNK_DATA) {
            size_t here = (size_t)MIN(chunks->left, (uint64_t)(available - chunks->raw));
            memmove(body + chunks->len, body + chunks->raw, here);
            chunks->len += here;
            chunks->raw += here;
            chunks->left -= here;
            if (chunks->left)
                return PARSE_MORE;
            chunks->phase = CHUNK_DATA_END;
            continue;
        }
        int r = chunk_line(chunks, body, available, &line);
        if (r != PARSE_DONE)
            return r;
        if (chunks->phase == CHUNK_TRAILER) {
            if (!line.len)
                return PARSE_DONE;
        } else if (chunks->phase == CHUNK_DATA_END) {
            if (line.len)
                return BAD_REQUEST;
            chunks->phase = CHUNK_SIZE;
        } else {
            r = chunk_size(chunks, line, bytes_max);
            if (r != PARSE_DONE)
                return r;
        }
    }
}
