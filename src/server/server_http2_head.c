/* server_http2_head.c: fields of a request, checked one by one as they come and all together at the end.
 *
 * A field that breaks the grammar makes the request malformed, which ends its stream without a response. A field that
 * belongs to HTTP/1.1 gets a 400 that says so. */
#include "server/server_http2_impl.h"

enum { FIELD_OVERHEAD = 32, TYPICAL_FIELDS = 10 };

static const char *const pseudo_names[PSEUDO_COUNT] = {
    [METHOD] = ":method",       [PATH] = ":path",         [SCHEME] = ":scheme",
    [AUTHORITY] = ":authority", [PROTOCOL] = ":protocol",
};

/* Those of one connection's HTTP/1.1. */
static const struct {
    const char *name, *why;
} forbidden[] = {
    { "connection", "request header \"Connection\" is not valid in HTTP/2" },
    { "keep-alive", "request header \"Keep-Alive\" is not valid in HTTP/2" },
    { "proxy-connection", "request header \"Proxy-Connection\" is not valid in HTTP/2" },
    { "transfer-encoding", "request header \"Transfer-Encoding\" is not valid in HTTP/2" },
    { "upgrade", "request header \"Upgrade\" is not valid in HTTP/2" },
};

size_t http2_head_size_max(const struct server_limits *limits)
{
    return limits->header_bytes_max + (size_t)TYPICAL_FIELDS * FIELD_OVERHEAD;
}

static bool is_lower(struct str name)
{
    for (uint32_t i = 0; i < name.len; i++)
        if (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z')
            return false;
    return true;
}

/* Before all others, each at most once, and none that is unknown. */
static bool take_pseudo(struct stream *stream, struct str name, struct str value)
{
    for (int i = 0; i < PSEUDO_COUNT; i++)
        if (str_is(name, pseudo_names[i])) {
            bool is_first = !stream->head.pseudo[i].ptr && !stream->request->headers.len;
            stream->head.pseudo[i] = arena_str(&stream->request->arena, value);
            return is_first;
        }
    return false;
}

void http2_head_add(struct stream *stream, struct str name, struct str value)
{
    struct http2_head *head = &stream->head;
    struct server_request *request = stream->request;
    size_t size_max = http2_head_size_max(&stream->http2->conn->server->limits);
    size_t size = (size_t)name.len + value.len + FIELD_OVERHEAD;
    bool is_pseudo = name.len && name.ptr[0] == ':';
    /* Nothing more is looked at, so that a head without end costs next to nothing. */
    if (head->malformed || head->too_large)
        return;
    head->too_large =
        size > size_max - head->size || (!is_pseudo && request->headers.len == PARSE_HEADERS_MAX);
    head->malformed = !parse_is_value(value) || (!is_pseudo && (!parse_is_token(name) || !is_lower(name)));
    if (head->malformed || head->too_large)
        return;
    head->size += size;
    if (is_pseudo)
        head->malformed = !take_pseudo(stream, name, value);
    else
        *vec_push(&request->headers) =
            (struct server_header){ arena_str(&request->arena, name), arena_str(&request->arena, value) };
}

static struct str find(const struct server_request *request, const char *name, size_t *ret_count)
{
    struct str found = { 0 };
    *ret_count = 0;
    vec_for(&request->headers, header)
        if (str_is(header->name, name) && (*ret_count)++ == 0)
            found = header->value;
    return found;
}

/* What the pseudo-header fields say, in a request that is not a CONNECT. */
static bool is_request(const struct str pseudo[PSEUDO_COUNT], const struct server_request *request)
{
    struct str authority =
        pseudo[AUTHORITY].len ? pseudo[AUTHORITY] : server_header_value(request, STR("host"));
    return pseudo[METHOD].len && pseudo[PATH].len && !pseudo[PROTOCOL].len &&
           (str_is(pseudo[SCHEME], "https") || str_is(pseudo[SCHEME], "http")) &&
           str_find(authority, '@') < 0 && (pseudo[PATH].ptr[0] == '/' || str_is(pseudo[PATH], "*"));
}

static bool is_connect(const struct str pseudo[PSEUDO_COUNT])
{
    return !pseudo[PATH].len && !pseudo[SCHEME].len && !pseudo[PROTOCOL].len && pseudo[AUTHORITY].len;
}

/* Why the request is refused with a 400, or NULL. */
static const char *find_forbidden(const struct server_request *request)
{
    size_t count;
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
        find(request, forbidden[i].name, &count);
        if (count)
            return forbidden[i].why;
    }
    struct str te = find(request, "te", &count);
    return count > 1 || (te.len && !str_is(te, "trailers"))
               ? "request header \"TE\" may only be \"trailers\" in HTTP/2"
               : NULL;
}

/* A length that is no number counts as 0, so that no byte of a body fits to it. */
static void read_framing(const struct server_request *request, struct framing *ret)
{
    size_t count;
    int64_t length;
    struct str text = find(request, "content-length", &count);
    bool is_number = text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && str_to_int64(text, &length);
    ret->has_length = count > 0;
    ret->content_length = is_number ? (uint64_t)length : 0;
    ret->expects_continue = parse_list_has(server_header_value(request, STR("expect")), "100-continue");
}

int http2_head_end(struct stream *stream, const char **ret_why)
{
    struct server_request *request = stream->request;
    const struct str *pseudo = stream->head.pseudo;
    bool connects = str_is(pseudo[METHOD], "CONNECT");
    *ret_why = NULL;
    if (stream->head.malformed || !(connects ? is_connect(pseudo) : is_request(pseudo, request)))
        return HTTP2_MALFORMED;
    request->method = pseudo[METHOD];
    request->target = pseudo[PATH];
    if (!connects && parse_target(request) != PARSE_DONE)
        return HTTP2_MALFORMED;
    stream->is_head = str_is(request->method, "HEAD");
    if (stream->head.too_large)
        return 431;
    *ret_why = find_forbidden(request);
    if (*ret_why || connects || !parse_is_method(request->method))
        return 400;
    read_framing(request, &stream->framing);
    return PARSE_DONE;
}
