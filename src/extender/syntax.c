/* syntax.c: see syntax.h.
 *
 * A machine that takes a byte at a time. Between values it is in one of the states of enum where; a string, a number or
 * a literal is read at a stretch. What is open, objects and lists, is a stack of bits. */
#include "extender/syntax.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/utf8.h"
#include "codec/json_writer.h"

enum { DEPTH_MAX = 10000 };

enum where {
    WHERE_VALUE,        /* a value */
    WHERE_VALUE_OR_END, /* the same, or the list is empty */
    WHERE_KEY,          /* a key */
    WHERE_KEY_OR_END,   /* the same, or the object is empty */
    WHERE_AFTER_KEY,    /* a colon */
    WHERE_AFTER_VALUE,  /* a comma, or the end of what is open */
};

struct syntax {
    const unsigned char *at, *end;
    uint64_t lists[DEPTH_MAX / 64 + 1]; /* by depth: it is a list */
    uint32_t depth;
    struct error *err;
};

/* ---- errors ---- */
static int ended(struct syntax *s)
{
    return error_set(s->err, -ENODATA, "unexpected EOF");
}

/* As a literal of Go: bytes are characters there. */
static void quote(unsigned char c, char out[16])
{
    static const char names[] = { ['\a'] = 'a', ['\b'] = 'b', ['\f'] = 'f',  ['\n'] = 'n', ['\r'] = 'r',
                                  ['\t'] = 't', ['\v'] = 'v', ['\''] = '\'', ['\\'] = '\\' };
    bool unseen = (c >= 0x7f && c <= 0xa0) || c == 0xad || c < 0x20;
    if (c < sizeof(names) && names[c])
        snprintf(out, 16, "'\\%c'", names[c]);
    else if (unseen && c <= 0x7f)
        snprintf(out, 16, "'\\x%02x'", c);
    else if (unseen)
        snprintf(out, 16, "'\\u%04x'", c);
    else if (c < 0x80)
        snprintf(out, 16, "'%c'", c);
    else
        snprintf(out, 16, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
}

static int wrong(struct syntax *s, const char *context)
{
    char shown[16];
    if (s->at == s->end)
        return ended(s);
    quote(*s->at, shown);
    return error_set(s->err, -EBADMSG, "invalid character %s %s", shown, context);
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

/* ---- what is open ---- */
static int open_one(struct syntax *s, bool is_list)
{
    if (s->depth == DEPTH_MAX)
        return wrong(s, "exceeded max depth");
    s->at++;
    s->depth++;
    bitmap_assign(s->lists, s->depth, is_list);
    return is_list ? WHERE_VALUE_OR_END : WHERE_KEY_OR_END;
}

static int close_one(struct syntax *s)
{
    s->at++;
    s->depth--;
    return WHERE_AFTER_VALUE;
}

/* ---- a step: where it leads to, or a negative errno ---- */
static int take_value(struct syntax *s)
{
    int r;
    switch (s->at < s->end ? *s->at : '\0') {
    case '{':
        return open_one(s, false);
    case '[':
        return open_one(s, true);
    case '"':
        s->at++;
        r = take_string(s);
        break;
    case 't':
        r = take_literal(s, "true");
        break;
    case 'f':
        r = take_literal(s, "false");
        break;
    case 'n':
        r = take_literal(s, "null");
        break;
    default:
        if (s->at < s->end && (*s->at == '-' || isdigit(*s->at)))
            r = take_number(s);
        else
            r = wrong(s, "looking for beginning of value");
    }
    return r < 0 ? r : WHERE_AFTER_VALUE;
}

static int take_key(struct syntax *s)
{
    if (!take(s, '"'))
        return wrong(s, "looking for beginning of object key string");
    int r = take_string(s);
    return r < 0 ? r : WHERE_AFTER_KEY;
}

static int take_after_value(struct syntax *s)
{
    bool is_list = bitmap_get(s->lists, s->depth);
    if (take(s, ','))
        return is_list ? WHERE_VALUE : WHERE_KEY;
    if (s->at < s->end && *s->at == (is_list ? ']' : '}'))
        return close_one(s);
    return wrong(s, is_list ? "after array element" : "after object key:value pair");
}

static int step(struct syntax *s, enum where where)
{
    char next = s->at < s->end ? (char)*s->at : '\0';
    switch (where) {
    case WHERE_VALUE:
        return take_value(s);
    case WHERE_VALUE_OR_END:
        return next == ']' ? close_one(s) : take_value(s);
    case WHERE_KEY:
        return take_key(s);
    case WHERE_KEY_OR_END:
        return next == '}' ? close_one(s) : take_key(s);
    case WHERE_AFTER_KEY:
        return take(s, ':') ? WHERE_VALUE : wrong(s, "after object key");
    case WHERE_AFTER_VALUE:
        return take_after_value(s);
    }
    return -EINVAL;
}

int syntax_check(struct str text, struct error *err)
{
    struct syntax s = { .at = (const unsigned char *)text.ptr, .err = err };
    int where = WHERE_VALUE;
    s.end = s.at + text.len;
    skip_space(&s);
    if (s.at == s.end)
        return error_set(err, -ENODATA, "EOF");
    do {
        skip_space(&s);
        where = step(&s, (enum where)where);
    } while (where >= 0 && (s.depth || where != WHERE_AFTER_VALUE));
    return where < 0 ? where : 0;
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
