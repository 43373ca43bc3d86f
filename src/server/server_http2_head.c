/* server_http2_head.c: fields of a request, checked one by one as they come and all together at the end.
 *
 * A field that breaks the grammar makes the request malformed, which ends its stream without an answer. A field that
 * belongs to HTTP/1.1 gets a 400 that says so. */
#include "server/server_http2_head.h"

enum { FIELD_OVERHEAD = 32, TYPICAL_FIELDS = 10 };

/* The lengths before a field's texts. */
struct field_lens {
    uint32_t name, value;
};

enum pseudo { METHOD, PATH, SCHEME, AUTHORITY, PROTOCOL, PSEUDO_COUNT };

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

void http2_head_add(struct http2_head *head, const struct server_limits *limits, struct str name,
                    struct str value)
{
    /* Nothing more is looked at, so that a head without end costs next to nothing. */
    if (head->malformed || head->too_large)
        return;
    bool is_pseudo = name.len && name.ptr[0] == ':';
    if (!parse_is_value(value) || (is_pseudo ? head->count > 0 : !parse_is_token(name) || !is_lower(name)))
        head->malformed = true;
    size_t size = (size_t)name.len + value.len + FIELD_OVERHEAD;
    if (size > http2_head_size_max(limits) - head->size || (!is_pseudo && head->count == PARSE_HEADERS_MAX))
        head->too_large = true;
    if (head->malformed || head->too_large)
        return;
    struct field_lens lens = { name.len, value.len };
    strbuf_add(&head->text, (const char *)&lens, sizeof(lens));
    strbuf_str(&head->text, name);
    strbuf_str(&head->text, value);
    head->size += size;
    head->count += !is_pseudo;
}

/* The next field; false: there is none. */
static bool next_field(struct str *rest, struct server_header *ret)
{
    struct field_lens lens;
    if (!rest->len)
        return false;
    memcpy(&lens, rest->ptr, sizeof(lens));
    ret->name = (struct str){ rest->ptr + sizeof(lens), lens.name };
    ret->value = (struct str){ ret->name.ptr + lens.name, lens.value };
    *rest = str_slice(*rest, sizeof(lens) + lens.name + lens.value, rest->len);
    return true;
}

/* Each at most once, and none that is unknown. */
static bool take_pseudo(struct server_header field, struct str pseudo[PSEUDO_COUNT], unsigned *seen)
{
    for (unsigned i = 0; i < PSEUDO_COUNT; i++) {
        if (!str_is(field.name, pseudo_names[i]))
            continue;
        if (*seen & 1u << i)
            return false;
        *seen |= 1u << i;
        pseudo[i] = field.value;
        return true;
    }
    return false;
}

static struct str find(const struct parsed *parsed, const char *name, size_t *ret_count)
{
    struct str found = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < parsed->header_count; i++)
        if (str_is(parsed->headers[i].name, name) && count++ == 0)
            found = parsed->headers[i].value;
    *ret_count = count;
    return found;
}

/* What the fields with a colon say, in a request that is not a CONNECT. */
static bool is_request(const struct str pseudo[PSEUDO_COUNT], const struct parsed *parsed)
{
    size_t count;
    struct str authority = pseudo[AUTHORITY].len ? pseudo[AUTHORITY] : find(parsed, "host", &count);
    return pseudo[METHOD].len && pseudo[PATH].len && !pseudo[PROTOCOL].len &&
           (str_is(pseudo[SCHEME], "https") || str_is(pseudo[SCHEME], "http")) &&
           str_find(authority, '@') < 0 && (pseudo[PATH].ptr[0] == '/' || str_is(pseudo[PATH], "*"));
}

static bool is_connect(const struct str pseudo[PSEUDO_COUNT])
{
    return !pseudo[PATH].len && !pseudo[SCHEME].len && !pseudo[PROTOCOL].len && pseudo[AUTHORITY].len;
}

/* Why the request is refused with a 400, or NULL. */
static const char *find_forbidden(const struct parsed *parsed)
{
    size_t count;
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
        find(parsed, forbidden[i].name, &count);
        if (count)
            return forbidden[i].why;
    }
    struct str te = find(parsed, "te", &count);
    return count > 1 || (te.len && !str_is(te, "trailers"))
               ? "request header \"TE\" may only be \"trailers\" in HTTP/2"
               : NULL;
}

/* A length that is no number counts as 0, so that no byte of a body fits to it. */
static uint64_t content_length(const struct parsed *parsed)
{
    size_t count;
    int64_t length;
    struct str text = find(parsed, "content-length", &count);
    if (!count)
        return UINT64_MAX;
    bool is_number = text.len && text.ptr[0] >= '0' && text.ptr[0] <= '9' && str_to_int64(text, &length);
    return is_number ? (uint64_t)length : 0;
}

int http2_head_parse(const struct http2_head *head, struct arena *arena, struct parsed *ret,
                     const char **ret_why)
{
    struct str pseudo[PSEUDO_COUNT] = { 0 }, rest = strbuf_slice(&head->text);
    struct server_header field;
    unsigned seen = 0;
    *ret_why = NULL;
    ret->header_count = 0;
    while (next_field(&rest, &field)) {
        if (field.name.ptr[0] != ':')
            ret->headers[ret->header_count++] = field;
        else if (!take_pseudo(field, pseudo, &seen))
            return HTTP2_MALFORMED;
    }
    bool connects = str_is(pseudo[METHOD], "CONNECT");
    if (head->malformed || !(connects ? is_connect(pseudo) : is_request(pseudo, ret)))
        return HTTP2_MALFORMED;
    ret->method = pseudo[METHOD];
    ret->target = pseudo[PATH];
    if (!connects && parse_target(ret->target, arena, ret) != PARSE_DONE)
        return HTTP2_MALFORMED;
    if (head->too_large)
        return 431;
    *ret_why = find_forbidden(ret);
    if (*ret_why || connects || !parse_is_method(ret->method))
        return 400;
    size_t count;
    ret->expects_continue = parse_list_has(find(ret, "expect", &count), "100-continue");
    ret->content_length = content_length(ret);
    return PARSE_DONE;
}

void http2_head_release(struct http2_head *head)
{
    strbuf_release(&head->text);
    *head = (struct http2_head){ 0 };
}
