/* syntax.c: see syntax.h.
 *
 * Values are read without recursion: what is open, objects and lists, is a stack of bits. A string, a number or a
 * literal is read at a stretch. */
#include "extender/syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/quote.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 10000 };

struct syntax {
    const unsigned char *at, *end;
    uint64_t lists[DEPTH_MAX / 64 + 1]; /* by depth: it is a list */
    uint32_t depth;
    struct error *err;
};

/* ---- errors ---- */
/* Bytes are characters there; quotes are escaped as in a literal of one character. */
static int wrong(struct syntax *s, const char *context)
{
    _cleanup_(strbuf_release) struct strbuf shown = { 0 };
    char utf8[RUNE_BYTES_MAX];
    if (s->at == s->end)
        return error_set(s->err, -ENODATA, "unexpected EOF");
    quote_go(&shown, (struct str){ utf8, (uint32_t)utf8_rune_put(*s->at, utf8) });
    const char *quoted = *s->at == '\'' ? "\\'" : *s->at == '"' ? "\"" : NULL;
    return error_set(s->err, -EBADMSG, "invalid character '%.*s' %s",
                     quoted ? (int)strlen(quoted) : (int)shown.len - 2, quoted ? quoted : shown.text + 1,
                     context);
}

static void skip_space(struct syntax *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

static bool take(struct syntax *s, char c)
{
    if (s->at == s->end || *s->at != (unsigned char)c)
        return false;
    s->at++;
    return true;
}

/* ---- values at a stretch ---- */
static int take_escape(struct syntax *s)
{
    if (take(s, 'u')) {
        for (int i = 0; i < 4; i++, s->at++)
            if (s->at == s->end || !isxdigit(*s->at))
                return wrong(s, "in \\u hexadecimal character escape");
        return 0;
    }
    if (s->at == s->end || !*s->at || !strchr("bfnrt\\/\"", *s->at))
        return wrong(s, "in string escape code");
    s->at++;
    return 0;
}

/* Behind the quote that opens it. */
static int take_string(struct syntax *s)
{
    while (!take(s, '"')) {
        int r = 0;
        if (take(s, '\\'))
            r = take_escape(s);
        else if (s->at == s->end || *s->at < 0x20)
            r = wrong(s, "in string literal");
        else
            s->at++;
        if (r < 0)
            return r;
    }
    return 0;
}

static bool take_digits(struct syntax *s)
{
    const unsigned char *from = s->at;
    while (s->at < s->end && isdigit(*s->at))
        s->at++;
    return s->at > from;
}

static int take_number(struct syntax *s)
{
    take(s, '-');
    if (!take(s, '0') && !take_digits(s))
        return wrong(s, "in numeric literal");
    if (take(s, '.') && !take_digits(s))
        return wrong(s, "after decimal point in numeric literal");
    if (take(s, 'e') || take(s, 'E')) {
        if (!take(s, '+'))
            take(s, '-');
        if (!take_digits(s))
            return wrong(s, "in exponent of numeric literal");
    }
    return 0;
}

static int take_literal(struct syntax *s, const char *word)
{
    char context[64];
    for (const char *c = word; *c; c++) {
        snprintf(context, sizeof(context), "in literal %s (expecting '%c')", word, *c);
        if (!take(s, *c))
            return wrong(s, context);
    }
    return 0;
}

/* ---- a document ---- */
static int take_scalar(struct syntax *s)
{
    if (take(s, '"'))
        return take_string(s);
    switch (s->at < s->end ? *s->at : '\0') {
    case 't':
        return take_literal(s, "true");
    case 'f':
        return take_literal(s, "false");
    case 'n':
        return take_literal(s, "null");
    default:
        if (s->at < s->end && (*s->at == '-' || isdigit(*s->at)))
            return take_number(s);
        return wrong(s, "looking for beginning of value");
    }
}

/* What stands in front of a value: in an object its key, in a list nothing. */
static int take_key(struct syntax *s)
{
    if (bitmap_get(s->lists, s->depth))
        return 0;
    skip_space(s);
    if (!take(s, '"'))
        return wrong(s, "looking for beginning of object key string");
    int r = take_string(s);
    skip_space(s);
    return r < 0 ? r : take(s, ':') ? 0 : wrong(s, "after object key");
}

/* A value, or the beginning of one with the key of its first item: then *ret_open. */
static int take_value(struct syntax *s, bool *ret_open)
{
    char next = s->at < s->end ? (char)*s->at : '\0';
    bool is_list = next == '[';
    *ret_open = false;
    if (!is_list && next != '{')
        return take_scalar(s);
    if (s->depth == DEPTH_MAX)
        return wrong(s, "exceeded max depth");
    s->at++;
    skip_space(s);
    if (take(s, is_list ? ']' : '}'))
        return 0;
    s->depth++;
    bitmap_assign(s->lists, s->depth, is_list);
    *ret_open = true;
    return take_key(s);
}

/* Behind a value: ends what ends with it, up to the key of another value. */
static int take_ends(struct syntax *s)
{
    while (s->depth) {
        bool is_list = bitmap_get(s->lists, s->depth);
        skip_space(s);
        if (take(s, ','))
            return take_key(s);
        if (!take(s, is_list ? ']' : '}'))
            return wrong(s, is_list ? "after array element" : "after object key:value pair");
        s->depth--;
    }
    return 0;
}

int syntax_check(struct str text, struct error *err)
{
    struct syntax s = { .at = (const unsigned char *)text.ptr, .err = err };
    int r;
    s.end = s.at + text.len;
    skip_space(&s);
    if (s.at == s.end)
        return error_set(err, -ENODATA, "EOF");
    do {
        bool opened;
        skip_space(&s);
        r = take_value(&s, &opened);
        if (r == 0 && !opened)
            r = take_ends(&s);
    } while (r == 0 && s.depth);
    return r;
}

/* ---- repair ---- */
enum { ESCAPE_LEN = 6, SURROGATES = 0xd800, LOW_SURROGATES = 0xdc00, SURROGATES_END = 0xe000 };

/* The number of \uXXXX at the start of the text; 0: it is something else. */
static uint32_t escaped_unit(struct str text)
{
    char digits[5] = "";
    char *end;
    if (text.len < ESCAPE_LEN || text.ptr[0] != '\\' || text.ptr[1] != 'u')
        return 0;
    memcpy(digits, text.ptr + 2, 4);
    unsigned long unit = strtoul(digits, &end, 16);
    return *end ? 0 : (uint32_t)unit;
}

/* How long is the escape at the start of the text? 0: it is half a character, of which there is no other half. */
static size_t escape_len(struct str text)
{
    uint32_t unit = escaped_unit(text);
    if (!unit)
        return MIN((size_t)text.len, 2);
    if (unit < SURROGATES || unit >= SURROGATES_END)
        return ESCAPE_LEN;
    uint32_t next = escaped_unit(str_slice(text, ESCAPE_LEN, text.len));
    bool is_pair = unit < LOW_SURROGATES && next >= LOW_SURROGATES && next < SURROGATES_END;
    return is_pair ? (size_t)2 * ESCAPE_LEN : 0;
}

void syntax_repair(struct str text, struct strbuf *out)
{
    size_t len;
    for (size_t i = 0; i < text.len; i += len) {
        struct str rest = str_slice(text, i, text.len);
        bool is_escape = rest.ptr[0] == '\\';
        bool good = true;
        if (is_escape)
            good = (len = escape_len(rest)) > 0;
        else
            good = utf8_rune_at(rest, 0, &len) != RUNE_ERROR || len > 1;
        len = good ? len : is_escape ? ESCAPE_LEN : 1;
        strbuf_str(out, good ? str_slice(rest, 0, len) : STR("\xef\xbf\xbd"));
    }
}
