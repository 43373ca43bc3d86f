/* quote.c: see quote.h. */
#include "base/quote.h"

#include "base/utf8.h"

/* Control and formatting characters, spaces other than the usual one, and private use. */
static bool is_printable(uint32_t c)
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
    for (size_t i = 0; i < ARRAY_SIZE(not_shown) && c >= not_shown[i].from; i++)
        if (c <= not_shown[i].to)
            return false;
    return true;
}

/* Writes "\n" for a newline, and so on for the characters of `from`; false: it is none of them. */
static bool put_short(struct strbuf *out, uint32_t c, const char *from, const char *to)
{
    const char *known = c && c < 0x80 ? strchr(from, (int)c) : NULL;
    if (known)
        strbuf_add(out, (char[]){ '\\', to[known - from] }, 2);
    return known;
}

void quote_go(struct strbuf *out, struct str text)
{
    size_t len;
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i += len) {
        uint32_t c = utf8_rune_at(text, i, &len);
        bool bad = c == RUNE_ERROR && len == 1;
        if (put_short(out, c, "\a\b\f\n\r\t\v\"\\", "abfnrtv\"\\"))
            continue;
        if (bad || c < 0x20 || c == 0x7f)
            strbuf_printf(out, "\\x%02x", (unsigned char)text.ptr[i]);
        else if (is_printable(c))
            strbuf_add(out, text.ptr + i, len);
        else
            strbuf_printf(out, c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
    }
    strbuf_putc(out, '"');
}

struct str quote_go_arena(struct arena *arena, struct str text)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    quote_go(&out, text);
    return arena_str(arena, strbuf_slice(&out));
}

/* Does the character at `at` stand for itself? */
static bool is_plain(struct str text, size_t at, enum quote_json form, uint32_t *ret, size_t *ret_len)
{
    unsigned char c = (unsigned char)text.ptr[at];
    *ret = c;
    *ret_len = 1;
    if (c < 0x80)
        return c >= 0x20 && c != '"' && c != '\\' &&
               (form != QUOTE_JSON_GO || (c != '<' && c != '>' && c != '&'));
    *ret = utf8_rune_at(text, at, ret_len);
    return *ret_len > 1 && (form != QUOTE_JSON_GO || (*ret != 0x2028 && *ret != 0x2029));
}

static void put_json_escape(struct strbuf *out, uint32_t c, enum quote_json form)
{
    bool few = form == QUOTE_JSON_LOGS;
    if (put_short(out, c, few ? "\"\\\n\r\t" : "\"\\\n\r\t\b\f", "\"\\nrtbf"))
        return;
    if (c == RUNE_ERROR && form == QUOTE_JSON)
        strbuf_puts(out, "\xef\xbf\xbd");
    else
        strbuf_printf(out, "\\u%04x", c);
}

void quote_json(struct strbuf *out, struct str text, enum quote_json form)
{
    size_t plain = 0, len; /* what stands for itself from `plain` on is not written yet */
    uint32_t c;
    strbuf_putc(out, '"');
    for (size_t i = 0; i < text.len; i += len) {
        if (is_plain(text, i, form, &c, &len))
            continue;
        strbuf_add(out, text.ptr + plain, i - plain);
        put_json_escape(out, c, form);
        plain = i + len;
    }
    if (text.len > plain)
        strbuf_add(out, text.ptr + plain, text.len - plain);
    strbuf_putc(out, '"');
}
