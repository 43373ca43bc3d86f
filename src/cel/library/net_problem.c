/* net_problem.c: why a text is no IP address or prefix, in the words of Go's net/netip. It is asked only about texts
 * that ip_parse() has refused, or that have a zone. */
#include "base/quote.h"
#include "cel/value.h"

/* What is wrong, and from where on; an empty place is not shown. */
struct problem {
    const char *what;
    struct str at;
};

static struct problem v4_problem(struct str text)
{
    unsigned value = 0, digits = 0, dots = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        struct str rest = str_slice(text, i, text.len);
        if (c >= '0' && c <= '9') {
            if (digits == 1 && value == 0)
                return (struct problem){ .what = "IPv4 field has octet with leading zero" };
            value = value * 10 + (unsigned)(c - '0');
            digits++;
            if (value > 255)
                return (struct problem){ .what = "IPv4 field has value >255" };
            continue;
        }
        if (c != '.')
            return (struct problem){ "unexpected character", rest };
        if (i == 0 || i == text.len - 1 || text.ptr[i - 1] == '.')
            return (struct problem){ "IPv4 field must have at least one digit", rest };
        if (dots == 3)
            return (struct problem){ .what = "IPv4 address too long" };
        dots++;
        value = digits = 0;
    }
    return (struct problem){ .what = dots < 3 ? "IPv4 address too short" : NULL };
}

/* The hexadecimal digits that a text begins with, at most five. */
static size_t group_len(struct str text)
{
    size_t len = 0;
    while (len < text.len && len < 5 && hex_digit(text.ptr[len]) >= 0)
        len++;
    return len;
}

/* A group of digits at the begin of *rest, which moves to the next one; or a problem. */
static struct problem take_group(struct str *rest, size_t *filled, bool *ellipsis)
{
    size_t len = group_len(*rest);
    if (len > 4)
        return (struct problem){ "each group must have 4 or less digits", *rest };
    if (len == 0)
        return (struct problem){ "each colon-separated field must have at least one digit", *rest };
    if (len < rest->len && rest->ptr[len] == '.') {
        if (!*ellipsis && *filled != 12)
            return (struct problem){ "embedded IPv4 address must replace the final 2 fields of the address",
                                     *rest };
        if (*filled + 4 > 16)
            return (struct problem){ "too many hex fields to fit an embedded IPv4 at the end of the address",
                                     *rest };
        struct problem problem = v4_problem(*rest);
        *rest = STR("");
        *filled += 4;
        return problem;
    }
    *filled += 2;
    *rest = str_slice(*rest, len, rest->len);
    if (rest->len == 0)
        return (struct problem){ 0 };
    if (rest->ptr[0] != ':')
        return (struct problem){ "unexpected character, want colon", *rest };
    if (rest->len == 1)
        return (struct problem){ "colon must be followed by more characters", *rest };
    *rest = str_slice(*rest, 1, rest->len);
    if (rest->ptr[0] != ':')
        return (struct problem){ 0 };
    if (*ellipsis)
        return (struct problem){ "multiple :: in address", *rest };
    *ellipsis = true;
    *rest = str_slice(*rest, 1, rest->len);
    return (struct problem){ 0 };
}

static struct problem v6_problem(struct str text)
{
    ptrdiff_t percent = str_find(text, '%');
    if (percent >= 0 && (size_t)percent == text.len - 1)
        return (struct problem){ .what = "zone must be a non-empty string" };
    struct str rest = percent < 0 ? text : str_slice(text, 0, (size_t)percent);
    bool ellipsis = rest.len >= 2 && rest.ptr[0] == ':' && rest.ptr[1] == ':';
    size_t filled = 0;
    if (ellipsis)
        rest = str_slice(rest, 2, rest.len);
    if (ellipsis && rest.len == 0)
        return (struct problem){ 0 };
    do {
        struct problem problem = take_group(&rest, &filled, &ellipsis);
        if (problem.what)
            return problem;
    } while (filled < 16 && rest.len > 0);
    if (rest.len > 0)
        return (struct problem){ "trailing garbage after address", rest };
    if (filled < 16)
        return (struct problem){ .what = ellipsis ? NULL : "address string too short" };
    return (struct problem){ .what = ellipsis ? "the :: must expand to at least one field of zeros" : NULL };
}

static struct problem address_problem(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '.')
            return v4_problem(text);
        if (text.ptr[i] == ':')
            return v6_problem(text);
        if (text.ptr[i] == '%')
            return (struct problem){ .what = "missing IPv6 address" };
    }
    return (struct problem){ .what = "unable to parse IP" };
}

bool cel_ip_problem(struct strbuf *out, struct str text)
{
    struct problem problem = address_problem(text);
    if (!problem.what)
        return false;
    strbuf_puts(out, "ParseAddr(");
    quote_go(out, text);
    strbuf_printf(out, "): %s", problem.what);
    if (problem.at.len > 0) {
        strbuf_puts(out, " (at ");
        quote_go(out, problem.at);
        strbuf_putc(out, ')');
    }
    return true;
}

bool cel_cidr_problem(struct strbuf *out, struct str text)
{
    ptrdiff_t slash = str_rfind(text, '/');
    struct str address = slash < 0 ? text : str_slice(text, 0, (size_t)slash);
    struct str bits = slash < 0 ? STR("") : str_slice(text, (size_t)slash + 1, text.len);
    uint64_t len = 0, len_max = str_find(address, ':') >= 0 ? 128 : 32;
    strbuf_puts(out, "netip.ParsePrefix(");
    quote_go(out, text);
    strbuf_puts(out, "): ");
    if (slash < 0) {
        strbuf_puts(out, "no '/'");
    } else if (cel_ip_problem(out, address)) {
        return true;
    } else if (str_find(address, '%') >= 0) {
        strbuf_puts(out, "IPv6 zones cannot be present in a prefix");
    } else if ((bits.len > 1 && (bits.ptr[0] < '1' || bits.ptr[0] > '9')) || !cel_parse_uint(bits, &len) ||
               len > INT64_MAX) {
        strbuf_puts(out, "bad bits after slash: ");
        quote_go(out, bits);
    } else if (len > len_max) {
        strbuf_puts(out, "prefix length out of range");
    } else {
        return false;
    }
    return true;
}
