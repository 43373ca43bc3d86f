/* url.c: URLs, as Go's net/url reads an absolute one or an absolute path. */
#include "base/percent.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cel/value.h"

struct cel_url {
    struct str scheme, opaque, user, host, path, query, fragment;
    bool has_user, omit_host, force_query;
};

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Letters, digits and these. */
static bool has_only(struct str text, const char *set)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_alnum(text.ptr[i]) && !is_one_of(text.ptr[i], set))
            return false;
    return true;
}

/* Why an escape sequence at the begin of a text is none. */
static const char *bad_escape(struct str text, struct arena *arena)
{
    struct str quoted = quote_go_arena(arena, str_slice(text, 0, MIN(text.len, 3u)));
    return arena_printf(arena, "invalid URL escape " STR_FMT, STR_ARG(quoted)).ptr;
}

/* Decodes; or says why not. */
static const char *decode(struct str text, struct arena *arena, struct str *ret)
{
    return percent_decode(text, false, arena, ret) ? NULL : bad_escape(*ret, arena);
}

static bool is_host_char(char c)
{
    return ((unsigned char)c & 0x80) || is_alnum(c) || is_one_of(c, "-_.~!$&'()*+,;=:[]<>\"");
}

/* A host, or the zone behind an address: which bytes may be escaped differs. */
static const char *check_host_chars(struct str host, bool is_zone, struct arena *arena)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];
        struct str rest = str_slice(host, i, host.len);
        if (c == '%') {
            int high = i + 2 < host.len ? hex_digit(host.ptr[i + 1]) : -1;
            int low = i + 2 < host.len ? hex_digit(host.ptr[i + 2]) : -1;
            bool fits = high >= 0 && low >= 0;
            char byte = (char)(fits ? high << 4 | low : 0);
            if (fits && byte != '%')
                fits = is_zone ? byte == ' ' || (is_host_char(byte) && !((unsigned char)byte & 0x80))
                               : high >= 8;
            if (!fits)
                return bad_escape(rest, arena);
            i += 2;
        } else if (!is_host_char(c)) {
            struct str quoted = quote_go_arena(arena, str_slice(rest, 0, 1));
            return arena_printf(arena, "invalid character " STR_FMT " in host name", STR_ARG(quoted)).ptr;
        }
    }
    return NULL;
}

static bool is_port(struct str text)
{
    if (text.len == 0)
        return true;
    for (size_t i = 1; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.ptr[0] == ':';
}

static const char *bad_port(struct str port, struct arena *arena)
{
    struct str quoted = quote_go_arena(arena, port);
    return arena_printf(arena, "invalid port " STR_FMT " after host", STR_ARG(quoted)).ptr;
}

static const char *check_bracketed(struct str host, struct arena *arena)
{
    ptrdiff_t close = str_rfind(host, ']');
    if (close < 0)
        return "missing ']' in host";
    struct str port = str_slice(host, (size_t)close + 1, host.len), inner = str_slice(host, 1, (size_t)close);
    if (!is_port(port))
        return bad_port(port, arena);
    ptrdiff_t zone = utf8_find(inner, STR("%25"), 0);
    size_t end = zone < 0 ? inner.len : (size_t)zone;
    const char *problem = check_host_chars(str_slice(inner, 0, end), false, arena);
    if (!problem)
        problem = check_host_chars(str_slice(inner, end, inner.len), true, arena);
    struct str plain;
    if (!problem)
        problem = decode(inner, arena, &plain);
    if (problem)
        return problem;
    _cleanup_(strbuf_release) struct strbuf why = { 0 };
    if (cel_ip_problem(&why, plain))
        return arena_printf(arena, "invalid host: %s", why.text).ptr;
    return str_find(plain, ':') < 0 ? "invalid IP-literal" : NULL;
}

static const char *check_host(struct str scheme, struct str host, struct arena *arena)
{
    ptrdiff_t bracket = str_rfind(host, '[');
    if (bracket > 0)
        return "invalid IP-literal";
    if (bracket == 0)
        return check_bracketed(host, arena);
    ptrdiff_t first = str_find(host, ':'), last = str_rfind(host, ':');
    bool strict = str_is(scheme, "http") || str_is(scheme, "https");
    struct str port = first < 0 ? STR("") : str_slice(host, (size_t)(strict ? first : last), host.len);
    return is_port(port) ? check_host_chars(host, false, arena) : bad_port(port, arena);
}

static const char *parse_authority(struct str authority, struct cel_url *url, struct arena *arena)
{
    ptrdiff_t at = str_rfind(authority, '@');
    struct str host = at < 0 ? authority : str_slice(authority, (size_t)at + 1, authority.len), ignored;
    const char *problem = check_host(url->scheme, host, arena);
    if (!problem)
        problem = decode(host, arena, &url->host);
    if (problem || at < 0)
        return problem;
    url->has_user = true;
    url->user = str_slice(authority, 0, (size_t)at);
    if (!has_only(url->user, "-._:~!$&'()*+,;=%@"))
        return "net/url: invalid userinfo";
    return decode(url->user, arena, &ignored);
}

/* As it is if all of its characters may stand in a path; otherwise decoded and encoded again. */
static const char *set_path(struct str path, struct cel_url *url, struct arena *arena)
{
    struct str plain;
    const char *problem = decode(path, arena, &plain);
    if (problem)
        return problem;
    url->path = path;
    if (has_only(path, "-_.~!$&'()*+,;=:@[]%/"))
        return NULL;
    _cleanup_(strbuf_release) struct strbuf encoded = { 0 };
    percent_encode(&encoded, plain, "-_.~$&+,/:;=@");
    url->path = arena_str(arena, strbuf_slice(&encoded));
    return NULL;
}

static const char *take_scheme(struct str *rest, struct cel_url *url, struct arena *arena)
{
    for (size_t i = 0; i < rest->len; i++) {
        char c = rest->ptr[i];
        if (c == ':') {
            if (i == 0)
                return "missing protocol scheme";
            char *lower = arena_strndup(arena, rest->ptr, i);
            for (size_t j = 0; j < i; j++)
                lower[j] = lower[j] >= 'A' && lower[j] <= 'Z' ? (char)(lower[j] | 0x20) : lower[j];
            url->scheme = (struct str){ lower, (uint32_t)i };
            *rest = str_slice(*rest, i + 1, rest->len);
            return NULL;
        }
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || is_one_of(c, "+-."))))
            return NULL;
    }
    return NULL;
}

static void take_query(struct str *rest, struct cel_url *url)
{
    ptrdiff_t mark = str_find(*rest, '?');
    if (mark < 0)
        return;
    url->query = str_slice(*rest, (size_t)mark + 1, rest->len);
    url->force_query = url->query.len == 0;
    *rest = str_slice(*rest, 0, (size_t)mark);
}

/* As ParseRequestURI if `request`; otherwise as Parse, to which a relative path is fine as well. */
static const char *parse(struct str text, bool request, struct arena *arena, struct cel_url *url)
{
    *url = (struct cel_url){ 0 };
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 0x7F)
            return "net/url: invalid control character in URL";
    if (text.len == 0)
        return request ? "empty url" : NULL;
    if (str_is(text, "*")) {
        url->path = text;
        return NULL;
    }
    struct str rest = text;
    const char *problem = take_scheme(&rest, url, arena);
    if (problem)
        return problem;
    take_query(&rest, url);
    bool rooted = rest.len > 0 && rest.ptr[0] == '/';
    if (!rooted && url->scheme.len > 0) {
        url->opaque = rest;
        return NULL;
    }
    if (!rooted && request)
        return "invalid URI for request";
    bool slashes = rest.len > 1 && rest.ptr[0] == '/' && rest.ptr[1] == '/';
    bool third = rest.len > 2 && rest.ptr[2] == '/';
    if (slashes && (url->scheme.len > 0 || (!request && !third))) {
        struct str authority = str_slice(rest, 2, rest.len);
        ptrdiff_t slash = str_find(authority, '/');
        rest = slash < 0 ? STR("") : str_slice(authority, (size_t)slash, authority.len);
        problem = parse_authority(slash < 0 ? authority : str_slice(authority, 0, (size_t)slash), url, arena);
        if (problem)
            return problem;
    } else {
        url->omit_host = url->scheme.len > 0;
    }
    return set_path(rest, url, arena);
}

static const char *parse_problem(struct str text, const char *problem, struct arena *arena)
{
    struct str quoted = quote_go_arena(arena, text);
    return arena_printf(arena, "parse " STR_FMT ": %s", STR_ARG(quoted), problem).ptr;
}

const char *cel_url_check(struct str text, struct arena *arena)
{
    struct cel_url ignored;
    const char *problem = parse(text, true, arena, &ignored);
    return problem ? parse_problem(text, problem, arena) : NULL;
}

bool cel_url_equal(const struct cel_url *a, const struct cel_url *b)
{
    return str_eq(a->scheme, b->scheme) && str_eq(a->opaque, b->opaque) && str_eq(a->user, b->user) &&
           str_eq(a->host, b->host) && str_eq(a->path, b->path) && str_eq(a->query, b->query) &&
           str_eq(a->fragment, b->fragment) && a->has_user == b->has_user &&
           a->force_query == b->force_query && a->omit_host == b->omit_host;
}

CEL_FUNCTION(to_url)
{
    struct cel_url *url = cel_take(run, sizeof(*url)), ignored;
    if (!url || !cel_take(run, 8 * (size_t)args->text.len))
        return cel_stop(run);
    struct str text = args->text;
    const char *problem = parse(text, true, run->scratch, &ignored);
    ptrdiff_t mark = str_find(text, '#');
    struct str before = mark < 0 ? text : str_slice(text, 0, (size_t)mark);
    if (!problem && (problem = parse(before, false, run->scratch, url)))
        text = before;
    struct str fragment = mark < 0 ? STR("") : str_slice(text, (size_t)mark + 1, text.len);
    if (!problem)
        problem = decode(fragment, run->scratch, &url->fragment);
    if (problem)
        return cel_fail(run, "URL parse error during conversion from string: %s",
                        parse_problem(text, problem, run->scratch));
    return (struct cel_value){ .kind = CEL_URL, .url = url };
}

CEL_FUNCTION(is_url)
{
    if (!cel_take(run, 8 * (size_t)args->text.len))
        return cel_stop(run);
    return cel_bool(cel_url_check(args->text, run->scratch) == NULL);
}

/* The host without its port, or the port. */
static struct str part_of_host(struct str host, bool wants_port)
{
    ptrdiff_t colon = str_rfind(host, ':');
    bool has_port = colon >= 0 && is_port(str_slice(host, (size_t)colon, host.len));
    if (wants_port)
        return has_port ? str_slice(host, (size_t)colon + 1, host.len) : STR("");
    struct str name = has_port ? str_slice(host, 0, (size_t)colon) : host;
    bool bracketed = name.len >= 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']';
    return bracketed ? str_slice(name, 1, name.len - 1) : name;
}

CEL_RETURNS(get_scheme, cel_string(args->url->scheme))
CEL_RETURNS(get_host, cel_string(args->url->host))
CEL_RETURNS(get_hostname, cel_string(part_of_host(args->url->host, false)))
CEL_RETURNS(get_port, cel_string(part_of_host(args->url->host, true)))
CEL_RETURNS(get_path, cel_string(args->url->path))

/* Adds a value to the list of its key. */
static struct cel_value add_query(struct cel_run *run, struct cel_value map, struct str key, struct str text)
{
    struct cel_value name = cel_string(key), list, *item = cel_take(run, sizeof(*item));
    if (!item)
        return cel_stop(run);
    *item = cel_string(text);
    struct cel_value more = cel_list_make(run, item, 1);
    if (cel_map_find(map.map, &name, &list))
        more = cel_list_concat(run, &list, &more);
    return cel_is_error(&more) ? more : cel_map_put(run, &map, &name, &more);
}

CEL_FUNCTION(get_query)
{
    struct cel_value map = cel_map_new(run, false);
    struct str rest = args->url->query;
    if (!cel_take(run, 2 * (size_t)rest.len))
        return cel_stop(run);
    while (rest.len > 0 && !cel_is_error(&map)) {
        ptrdiff_t end = str_find(rest, '&');
        struct str pair = end < 0 ? rest : str_slice(rest, 0, (size_t)end), key, value = STR("");
        rest = end < 0 ? STR("") : str_slice(rest, (size_t)end + 1, rest.len);
        if (pair.len == 0 || str_find(pair, ';') >= 0)
            continue;
        ptrdiff_t equals = str_find(pair, '=');
        if (equals >= 0 &&
            !percent_decode(str_slice(pair, (size_t)equals + 1, pair.len), true, run->scratch, &value))
            continue;
        if (percent_decode(equals < 0 ? pair : str_slice(pair, 0, (size_t)equals), true, run->scratch, &key))
            map = add_query(run, map, key, value);
    }
    return map;
}

const struct cel_overload cel_lib_url[] = {
    { "url", "string -> url", to_url, 0, COST_LENGTH },
    { "isURL", "string -> bool", is_url },
    { "getScheme", "url -> string", get_scheme, CEL_MEMBER },
    { "getHost", "url -> string", get_host, CEL_MEMBER },
    { "getHostname", "url -> string", get_hostname, CEL_MEMBER },
    { "getPort", "url -> string", get_port, CEL_MEMBER },
    { "getEscapedPath", "url -> string", get_path, CEL_MEMBER },
    { "getQuery", "url -> map(string, list(string))", get_query, CEL_MEMBER },
    { 0 },
};
