/* log_format.c: quoting and numbers of log lines. Rooms behind this one have richer writers; a log line must
 * be possible everywhere, so this stands on str.h alone. */
#include "base/log_format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The character at the start of these bytes and how many it takes; 0: they are no UTF-8. */
static size_t decode(const unsigned char *text, size_t len, uint32_t *ret)
{
    unsigned char first = text[0];
    *ret = first;
    if (first < 0x80)
        return 1;
    size_t need = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (!need || need > len)
        return 0;
    uint32_t value = first & (0xffu >> (need + 1));
    for (size_t i = 1; i < need; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (text[i] & 0x3f);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    *ret = value;
    return value < least[need] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? 0 : need;
}

/* Control and formatting characters, spaces other than the usual one, and private use. */
static bool printable(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } not_shown[] = {
        { 0x00, 0x1f },     { 0x7f, 0xa0 },     { 0xad, 0xad },       { 0x600, 0x605 },
        { 0x61c, 0x61c },   { 0x6dd, 0x6dd },   { 0x70f, 0x70f },     { 0x1680, 0x1680 },
        { 0x180e, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f },   { 0x205f, 0x206f },
        { 0x3000, 0x3000 }, { 0xd800, 0xf8ff }, { 0xfdd0, 0xfdef },   { 0xfeff, 0xfeff },
        { 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0xe00ff }, { 0xe01f0, 0x10ffff },
    };
    for (size_t i = 0; i < ARRAY_SIZE(not_shown); i++)
        if (c >= not_shown[i].from && c <= not_shown[i].to)
            return false;
    return true;
}

static void put_escaped(struct strbuf *out, uint32_t c, bool valid)
{
    static const char from[] = "\a\b\f\n\r\t\v\"\\", to[] = "abfnrtv\"\\";
    const char *known = valid && c && c < 0x80 ? strchr(from, (int)c) : NULL;
    if (known)
        strbuf_add(out, (char[]){ '\\', to[known - from] }, 2);
    else if (!valid || c < 0x80)
        strbuf_printf(out, "\\x%02x", c);
    else
        strbuf_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

void format_quoted(struct strbuf *out, struct str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint32_t c;
        size_t len = decode(bytes + i, text.len - i, &c);
        if (len && c != '"' && c != '\\' && printable(c))
            strbuf_add(out, text.ptr + i, len);
        else
            put_escaped(out, len ? c : bytes[i], len > 0);
        i += len ? len : 1;
    }
    strbuf_putc(out, '"');
}

static void put_json_escaped(struct strbuf *out, unsigned char c)
{
    static const char from[] = "\n\r\t\"\\", to[] = "nrt\"\\";
    const char *known = c ? strchr(from, c) : NULL;
    if (known)
        strbuf_add(out, (char[]){ '\\', to[known - from] }, 2);
    else
        strbuf_printf(out, "\\u%04x", c);
}

void format_json(struct strbuf *out, struct str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len;) {
        uint32_t c;
        size_t len = decode(bytes + i, text.len - i, &c);
        if (!len)
            strbuf_puts(out, "\\ufffd");
        else if (c < 0x20 || c == '"' || c == '\\')
            put_json_escaped(out, bytes[i]);
        else
            strbuf_add(out, text.ptr + i, len);
        i += len ? len : 1;
    }
    strbuf_putc(out, '"');
}

/* A number with `digits` decimals, without trailing zeros. */
static void put_fraction(struct strbuf *out, uint64_t value, int digits)
{
    uint64_t power = 1;
    for (int i = 0; i < digits; i++)
        power *= 10;
    uint64_t fraction = value % power;
    strbuf_printf(out, "%llu", (unsigned long long)(value / power));
    if (!fraction)
        return;
    for (; fraction % 10 == 0; fraction /= 10)
        digits--;
    strbuf_printf(out, ".%0*llu", digits, (unsigned long long)fraction);
}

void format_duration(struct strbuf *out, int64_t ns)
{
    static const uint64_t second_ns = 1000000000, minute_ns = 60 * second_ns;
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        strbuf_putc(out, '-');
    if (value && value < second_ns) {
        int digits = value < 1000 ? 0 : value < 1000000 ? 3 : 6;
        put_fraction(out, value, digits);
        strbuf_puts(out, digits == 0 ? "ns" : digits == 3 ? "\xc2\xb5s" : "ms");
        return;
    }
    uint64_t minutes = value / minute_ns;
    if (minutes >= 60)
        strbuf_printf(out, "%lluh", (unsigned long long)(minutes / 60));
    if (minutes)
        strbuf_printf(out, "%llum", (unsigned long long)(minutes % 60));
    put_fraction(out, value % minute_ns, 9);
    strbuf_putc(out, 's');
}

/* Digits and the exponent of the first of them, from "d.ddde+XX". */
struct digits {
    char text[20];
    int len, exponent;
};

/* A number of up to 15 digits survives the way to binary and back: with trailing zeros cut off, that is the
 * shortest form of every number that has one so short. */
static struct digits shortest(double value)
{
    char text[40];
    for (int precision = value < 2.3e-308 ? 0 : 14;; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, value);
        if (strtod(text, NULL) == value || precision == 16)
            break;
    }
    struct digits ret = { 0 };
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at != '.' && ret.len < (int)sizeof(ret.text))
            ret.text[ret.len++] = *at;
    ret.exponent = *at ? (int)strtol(at + 1, NULL, 10) : 0;
    while (ret.len > 1 && ret.text[ret.len - 1] == '0')
        ret.len--;
    return ret;
}

static void put_plain(struct strbuf *out, const struct digits *digits)
{
    if (digits->exponent < 0)
        strbuf_puts(out, "0.");
    for (int i = -1; i > digits->exponent; i--)
        strbuf_putc(out, '0');
    for (int i = 0; i < MAX(digits->len, digits->exponent + 1); i++) {
        if (i > 0 && i == digits->exponent + 1)
            strbuf_putc(out, '.');
        strbuf_putc(out, i < digits->len ? digits->text[i] : '0');
    }
}

void format_double(struct strbuf *out, double value, enum float_style style)
{
    if (!isfinite(value)) {
        const char *name = isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
        strbuf_printf(
            out, style == FLOAT_PLAIN ? "\"%s\"" : "\"<internal error: json: unsupported value: %s>\"", name);
        return;
    }
    struct digits digits = shortest(fabs(value));
    if (signbit(value))
        strbuf_putc(out, '-');
    if (style == FLOAT_PLAIN || value == 0 || (fabs(value) >= 1e-6 && fabs(value) < 1e21)) {
        put_plain(out, &digits);
        return;
    }
    strbuf_printf(out, "%c%s%.*se%+d", digits.text[0], digits.len > 1 ? "." : "", digits.len - 1,
                  digits.text + 1, digits.exponent);
}
