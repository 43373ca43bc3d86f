/* proxy.c: NO_PROXY, entry by entry. The list is short and read once per request, so it stays a text. */
#include "net/proxy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/ip.h"
#include "base/utf8.h"

/* An address as 16 bytes; IPv4 is mapped (::ffff:a.b.c.d), so that both families compare alike. */
struct address {
    unsigned char bytes[16];
    bool v4;
};

static bool parse_address(struct str text, struct address *ret)
{
    static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
    size_t len = ip_parse(text, ret->bytes);
    if (len == IPV4_BYTES) {
        memcpy(ret->bytes + sizeof(mapped), ret->bytes, IPV4_BYTES);
        memcpy(ret->bytes, mapped, sizeof(mapped));
    }
    ret->v4 = len && memcmp(ret->bytes, mapped, sizeof(mapped)) == 0;
    return len;
}

static bool is_loopback(const struct address *a)
{
    static const unsigned char one[16] = { [15] = 1 };
    return a->v4 ? a->bytes[12] == 127 : memcmp(a->bytes, one, sizeof(one)) == 0;
}

/* "10.0.0.0/8": 1 when the address is in it, 0 when not, -1 when the text is no network. */
static int in_network(struct str text, const struct address *a)
{
    ptrdiff_t slash = str_find(text, '/');
    struct address net;
    int64_t bits;
    if (slash < 0 || !parse_address(str_slice(text, 0, (size_t)slash), &net) ||
        !str_to_int64(str_slice(text, (size_t)slash + 1, text.len), &bits) || bits < 0 ||
        bits > (net.v4 ? 32 : 128))
        return -1;
    if (!a || a->v4 != net.v4)
        return 0;
    unsigned prefix = (unsigned)bits + (net.v4 ? 96 : 0);
    unsigned full = prefix / 8, rest = prefix % 8;
    if (memcmp(a->bytes, net.bytes, full) != 0)
        return 0;
    return rest == 0 || (a->bytes[full] >> (8 - rest)) == (net.bytes[full] >> (8 - rest));
}

/* Splits "host:port" and "[v6]:port"; a bare IPv6 address and a name keep all of it. False: nothing to
 * match. */
static bool split_port(struct str entry, struct str *ret_host, struct str *ret_port)
{
    *ret_host = entry;
    *ret_port = (struct str){ 0 };
    ptrdiff_t first = str_find(entry, ':'), colon = str_rfind(entry, ':');
    if (entry.ptr[0] == '[') {
        ptrdiff_t close = str_find(entry, ']');
        if (close < 0 || colon != close + 1)
            return true;
        *ret_host = str_slice(entry, 1, (size_t)close);
        *ret_port = str_slice(entry, (size_t)colon + 1, entry.len);
    } else if (colon >= 0 && first == colon) {
        *ret_host = str_slice(entry, 0, (size_t)colon);
        *ret_port = str_slice(entry, (size_t)colon + 1, entry.len);
    }
    return ret_host->len > 0;
}

/* "example.com" is the name and what ends in ".example.com"; ".example.com" and "*.example.com" only the
 * latter. */
static bool domain_matches(struct str pattern, struct str host)
{
    if (str_starts_with(pattern, STR("*.")))
        pattern = str_slice(pattern, 1, pattern.len);
    if (host.len < pattern.len || !str_eq_fold(pattern, str_slice(host, host.len - pattern.len, host.len)))
        return false;
    return pattern.ptr[0] == '.' || host.len == pattern.len || host.ptr[host.len - pattern.len - 1] == '.';
}

static bool entry_matches(struct str entry, struct str host, const struct address *a, struct str port)
{
    if (str_is(entry, "*"))
        return true;
    int network = in_network(entry, a);
    if (network >= 0)
        return network == 1;
    struct str entry_host, entry_port;
    if (!split_port(entry, &entry_host, &entry_port) || (entry_port.len && !str_eq(entry_port, port)))
        return false;
    struct address named;
    if (parse_address(entry_host, &named))
        return a && memcmp(named.bytes, a->bytes, sizeof(named.bytes)) == 0;
    return !a && domain_matches(entry_host, host);
}

static bool excluded(struct str list, struct str host, const struct address *a, struct str port)
{
    while (list.len) {
        struct str entry = utf8_trim(str_cut(&list, ','));
        if (entry.len && entry_matches(entry, host, a, port))
            return true;
    }
    return false;
}

const char *proxy_for(const struct proxy_rules *rules, bool https, const char *host, unsigned port)
{
    const char *proxy = https ? rules->https : rules->http;
    if (!proxy || strcasecmp(host, "localhost") == 0)
        return NULL;
    struct address address;
    bool is_address = parse_address(str_from(host), &address);
    if (is_address && is_loopback(&address))
        return NULL;
    char port_text[16];
    snprintf(port_text, sizeof(port_text), "%u", port);
    bool is_excluded =
        excluded(rules->no_proxy, str_from(host), is_address ? &address : NULL, str_from(port_text));
    return is_excluded ? NULL : proxy;
}

static const char *proxy_url(struct arena *arena, const char *url)
{
    if (!url || !*url)
        return NULL;
    return arena_printf(arena, "%s%s", strstr(url, "://") ? "" : "http://", url).ptr;
}

struct proxy_rules proxy_rules(struct arena *arena, const char *http, const char *https, const char *no_proxy)
{
    return (struct proxy_rules){ proxy_url(arena, http), proxy_url(arena, https),
                                 arena_str(arena, str_from(no_proxy)) };
}

static const char *environment(const char *upper, const char *lower)
{
    const char *value = getenv(upper);
    return value && *value ? value : getenv(lower);
}

struct proxy_rules proxy_rules_from_environment(struct arena *arena)
{
    /* A web server hands the request's "Proxy:" header to its CGI programs as HTTP_PROXY. */
    bool cgi = getenv("REQUEST_METHOD") != NULL;
    return proxy_rules(arena, cgi ? NULL : environment("HTTP_PROXY", "http_proxy"),
                       environment("HTTPS_PROXY", "https_proxy"), environment("NO_PROXY", "no_proxy"));
}
