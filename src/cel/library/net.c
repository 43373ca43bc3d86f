/* net.c: IP addresses and prefixes, as Go's net/netip reads them: no leading zeros, no zones, no IPv4 within IPv6. */
#include "cel/value.h"

#include <stdio.h>

#include "base/ip.h"
#include "base/quote.h"

struct cel_ip {
    uint8_t bytes[16]; /* an IPv4 address has four */
    uint8_t len;
    uint8_t bits; /* of a prefix */
};

bool cel_ip_equal(const struct cel_ip *a, const struct cel_ip *b)
{
    return a->len == b->len && a->bits == b->bits && memcmp(a->bytes, b->bytes, a->len) == 0;
}

size_t cel_ip_size(const struct cel_value *value)
{
    return value->kind == CEL_IP ? value->ip->len : (size_t)(value->ip->bits + 7) / 8;
}

static bool is_mapped(const struct cel_ip *ip)
{
    static const uint8_t prefix[12] = { [10] = 0xFF, [11] = 0xFF };
    return ip->len == 16 && memcmp(ip->bytes, prefix, sizeof(prefix)) == 0;
}

static bool parse_address(struct str text, struct cel_ip *ret)
{
    *ret = (struct cel_ip){ 0 };
    ret->len = (uint8_t)ip_parse(text, ret->bytes);
    return ret->len && !is_mapped(ret);
}

static bool parse_prefix(struct str text, struct cel_ip *ret)
{
    ptrdiff_t slash = str_rfind(text, '/');
    if (slash < 0 || !parse_address(str_slice(text, 0, (size_t)slash), ret))
        return false;
    struct str bits = str_slice(text, (size_t)slash + 1, text.len);
    uint64_t value;
    if ((bits.len > 1 && (bits.ptr[0] < '1' || bits.ptr[0] > '9')) || !cel_parse_uint(bits, &value) ||
        value > ret->len * 8u)
        return false;
    ret->bits = (uint8_t)value;
    return true;
}

static void mask(struct cel_ip *ip)
{
    for (size_t i = 0; i < ip->len; i++) {
        size_t kept = ip->bits > i * 8 ? MIN((size_t)8, ip->bits - i * 8) : 0;
        ip->bytes[i] &= (uint8_t)(0xFF00u >> kept);
    }
}

static bool same_bits(const struct cel_ip *a, const struct cel_ip *b, uint8_t bits)
{
    struct cel_ip x = *a, y = *b;
    x.bits = y.bits = bits;
    mask(&x);
    mask(&y);
    return a->len == b->len && memcmp(x.bytes, y.bytes, a->len) == 0;
}

/* The longest run of two or more zero groups is left out, the first of equals. */
static void print_v6(struct strbuf *out, const uint8_t bytes[static 16])
{
    size_t best = 8, best_len = 1;
    for (size_t i = 0; i < 8; i++) {
        size_t len = 0;
        while (i + len < 8 && bytes[2 * (i + len)] == 0 && bytes[2 * (i + len) + 1] == 0)
            len++;
        if (len > best_len) {
            best = i;
            best_len = len;
        }
    }
    for (size_t i = 0; i < 8; i++) {
        if (i == best) {
            strbuf_puts(out, "::");
            i += best_len - 1;
            continue;
        }
        if (i > 0 && i != best + best_len)
            strbuf_putc(out, ':');
        strbuf_printf(out, "%x", (unsigned)(bytes[2 * i] << 8 | bytes[2 * i + 1]));
    }
}

struct str cel_ip_text(const struct cel_value *value, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    const struct cel_ip *ip = value->ip;
    if (ip->len == 4)
        strbuf_printf(&out, "%u.%u.%u.%u", ip->bytes[0], ip->bytes[1], ip->bytes[2], ip->bytes[3]);
    else
        print_v6(&out, ip->bytes);
    if (value->kind == CEL_CIDR)
        strbuf_printf(&out, "/%u", ip->bits);
    return arena_str(arena, strbuf_slice(&out));
}

static struct cel_value make(struct cel_run *run, enum cel_kind kind, const struct cel_ip *ip)
{
    struct cel_ip *copy = cel_take(run, sizeof(*copy));
    if (!copy)
        return cel_stop(run);
    *copy = *ip;
    return (struct cel_value){ .kind = kind, .ip = copy };
}

#define NET_PROBLEM "network address parse error during conversion from string: "

static struct cel_value parse(struct cel_run *run, struct str text, enum cel_kind kind)
{
    struct cel_ip ip = { 0 };
    if (kind == CEL_IP ? parse_address(text, &ip) : parse_prefix(text, &ip))
        return make(run, kind, &ip);
    text = str_slice(text, 0, MIN(text.len, 200u));
    _cleanup_(strbuf_release) struct strbuf why = { 0 }, quoted = { 0 };
    quote_go(&quoted, text);
    if (kind == CEL_CIDR && cel_cidr_problem(&why, text))
        return cel_fail(run, NET_PROBLEM NET_PROBLEM "%s", why.text);
    if (kind == CEL_IP && cel_ip_problem(&why, text))
        return cel_fail(run, "IP Address %s parse error during conversion from string: %s", quoted.text,
                        why.text);
    if (kind == CEL_IP && str_find(text, '%') >= 0)
        return cel_fail(run, "IP address %s with zone value is not allowed", quoted.text);
    return cel_fail(run, "%sIPv4-mapped IPv6 address %s is not allowed", kind == CEL_IP ? "" : NET_PROBLEM,
                    quoted.text);
}

CEL_RETURNS(to_ip, parse(run, args->text, CEL_IP))
CEL_RETURNS(to_cidr, parse(run, args->text, CEL_CIDR))
CEL_RETURNS(is_ip, cel_bool(parse_address(args->text, &(struct cel_ip){ 0 })))
CEL_RETURNS(is_cidr, cel_bool(parse_prefix(args->text, &(struct cel_ip){ 0 })))

CEL_FUNCTION(is_canonical)
{
    struct cel_value ip = to_ip(run, args, len);
    return cel_is_error(&ip) ? ip : cel_bool(str_eq(cel_ip_text(&ip, run->scratch), args->text));
}

CEL_RETURNS(family, cel_int(args->ip->len == 4 ? 4 : 6))

static bool all_zero(const struct cel_ip *ip)
{
    for (size_t i = 0; i < ip->len; i++)
        if (ip->bytes[i])
            return false;
    return true;
}

static bool loopback(const struct cel_ip *ip)
{
    static const uint8_t one[16] = { [15] = 1 };
    return ip->len == 4 ? ip->bytes[0] == 127 : memcmp(ip->bytes, one, 16) == 0;
}

static bool link_local_unicast(const struct cel_ip *ip)
{
    return ip->len == 4 ? ip->bytes[0] == 169 && ip->bytes[1] == 254
                        : ip->bytes[0] == 0xFE && (ip->bytes[1] & 0xC0) == 0x80;
}

static bool link_local_multicast(const struct cel_ip *ip)
{
    return ip->len == 4 ? ip->bytes[0] == 224 && ip->bytes[1] == 0 && ip->bytes[2] == 0
                        : ip->bytes[0] == 0xFF && (ip->bytes[1] & 0x0F) == 0x02;
}

static bool global_unicast(const struct cel_ip *ip)
{
    static const uint8_t broadcast[4] = { 255, 255, 255, 255 };
    bool multicast = ip->len == 4 ? (ip->bytes[0] & 0xF0) == 0xE0 : ip->bytes[0] == 0xFF;
    return !all_zero(ip) && !(ip->len == 4 && memcmp(ip->bytes, broadcast, 4) == 0) && !loopback(ip) &&
           !multicast && !link_local_unicast(ip);
}

CEL_RETURNS(is_unspecified, cel_bool(all_zero(args->ip)))
CEL_RETURNS(is_loopback, cel_bool(loopback(args->ip)))
CEL_RETURNS(is_link_local_multicast, cel_bool(link_local_multicast(args->ip)))
CEL_RETURNS(is_link_local_unicast, cel_bool(link_local_unicast(args->ip)))
CEL_RETURNS(is_global_unicast, cel_bool(global_unicast(args->ip)))

CEL_FUNCTION(contains_ip)
{
    struct cel_value ip = args[1].kind == CEL_STRING ? parse(run, args[1].text, CEL_IP) : args[1];
    return cel_is_error(&ip) ? cel_no_overload() : cel_bool(same_bits(args[0].ip, ip.ip, args[0].ip->bits));
}

CEL_FUNCTION(contains_cidr)
{
    struct cel_value other = args[1].kind == CEL_STRING ? parse(run, args[1].text, CEL_CIDR) : args[1];
    if (cel_is_error(&other))
        return other;
    return cel_bool(args[0].ip->bits <= other.ip->bits && same_bits(args[0].ip, other.ip, args[0].ip->bits));
}

CEL_FUNCTION(ip_of)
{
    struct cel_ip ip = *args->ip;
    ip.bits = 0;
    return make(run, CEL_IP, &ip);
}

CEL_FUNCTION(masked)
{
    struct cel_ip ip = *args->ip;
    mask(&ip);
    return make(run, CEL_CIDR, &ip);
}

CEL_RETURNS(prefix_length, cel_int(args->ip->bits))

const struct cel_overload cel_lib_net[] = {
    { "ip", "string -> ip", to_ip, 0, COST_LENGTH },
    { "ip", "cidr -> ip", ip_of, CEL_MEMBER },
    { "ip.isCanonical", "string -> bool", is_canonical, 0, COST_LENGTH_TWICE },
    { "isIP", "string -> bool", is_ip, 0, COST_LENGTH },
    { "cidr", "string -> cidr", to_cidr, 0, COST_LENGTH },
    { "isCIDR", "string -> bool", is_cidr, 0, COST_LENGTH },
    { "family", "ip -> int", family, CEL_MEMBER },
    { "isUnspecified", "ip -> bool", is_unspecified, CEL_MEMBER },
    { "isLoopback", "ip -> bool", is_loopback, CEL_MEMBER },
    { "isLinkLocalMulticast", "ip -> bool", is_link_local_multicast, CEL_MEMBER },
    { "isLinkLocalUnicast", "ip -> bool", is_link_local_unicast, CEL_MEMBER },
    { "isGlobalUnicast", "ip -> bool", is_global_unicast, CEL_MEMBER },
    { "containsIP", "cidr, string -> bool; cidr, ip -> bool", contains_ip, CEL_MEMBER, COST_CONTAINS_IP },
    { "containsCIDR", "cidr, string -> bool; cidr, cidr -> bool", contains_cidr, CEL_MEMBER,
      COST_CONTAINS_CIDR },
    { "masked", "cidr -> cidr", masked, CEL_MEMBER },
    { "prefixLength", "cidr -> int", prefix_length, CEL_MEMBER },
    { 0 },
};
