/* lex.c: tokens of the language.
 *
 * A token is the longest that fits, as in the reference's grammar; strings are checked here and decoded by
 * cel_lex_unquote() when the parser wants them. */
#include "cel/lex.h"

#include <ctype.h>

#include "base/utf8.h"

static int peek(const struct cel_lexer *lexer, size_t ahead)
{
    return lexer->at + ahead < lexer->text.len ? (unsigned char)lexer->text.ptr[lexer->at + ahead] : -1;
}

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void skip_space(struct cel_lexer *lexer)
{
    for (int c; (c = peek(lexer, 0)) >= 0;) {
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
            lexer->at++;
        } else if (c == '/' && peek(lexer, 1) == '/') {
            while (peek(lexer, 0) >= 0 && peek(lexer, 0) != '\n')
                lexer->at++;
        } else {
            return;
        }
    }
}

static struct cel_token make(const struct cel_lexer *lexer, int kind, size_t from)
{
    return (struct cel_token){ .kind = kind, .at = from, .text = str_slice(lexer->text, from, lexer->at) };
}

static struct cel_token fail(struct cel_lexer *lexer, size_t from)
{
    struct str rest = str_slice(lexer->text, from, MIN(lexer->text.len, MAX(lexer->at, from + 1)));
    cel_issue(lexer->issues, from, "Syntax error: token recognition error at: '" STR_FMT "'", STR_ARG(rest));
    return make(lexer, TOKEN_ERROR, from);
}

static void take_digits(struct cel_lexer *lexer)
{
    while (is_digit(peek(lexer, 0)))
        lexer->at++;
}

/* e, E with a sign and digits behind it; nothing otherwise. */
static bool take_exponent(struct cel_lexer *lexer)
{
    if (peek(lexer, 0) != 'e' && peek(lexer, 0) != 'E')
        return false;
    size_t sign = peek(lexer, 1) == '+' || peek(lexer, 1) == '-' ? 1 : 0;
    if (!is_digit(peek(lexer, 1 + sign)))
        return false;
    lexer->at += 1 + sign;
    take_digits(lexer);
    return true;
}

static struct cel_token lex_number(struct cel_lexer *lexer)
{
    size_t from = lexer->at;
    int kind = TOKEN_INT;
    if (peek(lexer, 0) == '0' && peek(lexer, 1) == 'x' && isxdigit(peek(lexer, 2))) {
        lexer->at += 2;
        while (peek(lexer, 0) >= 0 && isxdigit(peek(lexer, 0)))
            lexer->at++;
    } else {
        take_digits(lexer);
        if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
            kind = TOKEN_DOUBLE;
            lexer->at++;
            take_digits(lexer);
        }
        if (take_exponent(lexer))
            kind = TOKEN_DOUBLE;
    }
    if (kind == TOKEN_INT && (peek(lexer, 0) == 'u' || peek(lexer, 0) == 'U')) {
        kind = TOKEN_UINT;
        lexer->at++;
    }
    return make(lexer, kind, from);
}

/* How many hexadecimal digits follow \x, \u and \U. */
static size_t hex_digits(int c)
{
    return c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
}

/* How many characters the escape sequence has that begins with the backslash at hand; 0 if there is none such. */
static size_t escape_len(const struct cel_lexer *lexer)
{
    int c = peek(lexer, 1);
    if (c >= 0 && strchr("abfnrtv\"'\\?`", c) && c != 0)
        return 2;
    if (c >= '0' && c <= '3') {
        for (size_t i = 2; i < 4; i++)
            if (peek(lexer, i) < '0' || peek(lexer, i) > '7')
                return 0;
        return 4;
    }
    size_t digits = hex_digits(c);
    for (size_t i = 0; i < digits; i++)
        if (peek(lexer, 2 + i) < 0 || !isxdigit(peek(lexer, 2 + i)))
            return 0;
    return digits ? 2 + digits : 0;
}

static bool at_quotes(const struct cel_lexer *lexer, int quote, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (peek(lexer, i) != quote)
            return false;
    return true;
}

/* The prefix (r, b) is passed already. */
static struct cel_token lex_string(struct cel_lexer *lexer, size_t from, bool raw, int kind)
{
    int quote = peek(lexer, 0);
    size_t count = at_quotes(lexer, quote, 3) ? 3 : 1;
    if (count == 1 && at_quotes(lexer, quote, 2)) {
        lexer->at += 2;
        return make(lexer, kind, from);
    }
    lexer->at += count;
    for (int c; (c = peek(lexer, 0)) >= 0;) {
        if (at_quotes(lexer, quote, count)) {
            lexer->at += count;
            return make(lexer, kind, from);
        }
        if (count == 1 && (c == '\n' || c == '\r'))
            break;
        if (c == '\\' && !raw) {
            size_t len = escape_len(lexer);
            if (!len)
                break;
            lexer->at += len;
        } else {
            lexer->at++;
        }
    }
    return fail(lexer, from);
}

static struct cel_token lex_word(struct cel_lexer *lexer)
{
    static const struct {
        const char *text;
        int kind;
    } words[] = {
        { "true", TOKEN_TRUE }, { "false", TOKEN_FALSE }, { "null", TOKEN_NULL }, { "in", TOKEN_IN }
    };

    size_t from = lexer->at;
    /* b, r, br and rb before a quote; the grammar has the b first. */
    bool bytes = (peek(lexer, 0) | 0x20) == 'b';
    bool raw = (peek(lexer, bytes) | 0x20) == 'r';
    size_t prefix = (size_t)bytes + raw;
    if (prefix && (peek(lexer, prefix) == '"' || peek(lexer, prefix) == '\'')) {
        lexer->at += prefix;
        return lex_string(lexer, from, raw, bytes ? TOKEN_BYTES : TOKEN_STRING);
    }
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)))
        lexer->at++;
    struct cel_token token = make(lexer, TOKEN_IDENT, from);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (str_is(token.text, words[i].text))
            token.kind = words[i].kind;
    return token;
}

static struct cel_token lex_quoted_ident(struct cel_lexer *lexer)
{
    size_t from = lexer->at++;
    while (is_letter(peek(lexer, 0)) || is_digit(peek(lexer, 0)) || peek(lexer, 0) == '.' ||
           peek(lexer, 0) == '-' || peek(lexer, 0) == '/' || peek(lexer, 0) == ' ')
        lexer->at++;
    if (peek(lexer, 0) != '`' || lexer->at == from + 1)
        return fail(lexer, from);
    lexer->at++;
    return make(lexer, TOKEN_QUOTED_IDENT, from);
}

static struct cel_token lex_sign(struct cel_lexer *lexer)
{
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {
        { "==", TOKEN_EQ }, { "!=", TOKEN_NE },  { "<=", TOKEN_LE },
        { ">=", TOKEN_GE }, { "&&", TOKEN_AND }, { "||", TOKEN_OR },
    };
    size_t from = lexer->at;
    int c = peek(lexer, 0);
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
        if (c == pairs[i].text[0] && peek(lexer, 1) == pairs[i].text[1]) {
            lexer->at += 2;
            return make(lexer, pairs[i].kind, from);
        }
    }
    size_t bytes;
    utf8_rune_at(lexer->text, from, &bytes);
    lexer->at += bytes;
    if (c != 0 && strchr("()[]{}.,?:+-*/%!<>", c))
        return make(lexer, c, from);
    return fail(lexer, from);
}

struct cel_token cel_lex(struct cel_lexer *lexer)
{
    skip_space(lexer);
    int c = peek(lexer, 0);
    if (c < 0)
        return make(lexer, TOKEN_END, lexer->at);
    if (is_digit(c) || (c == '.' && is_digit(peek(lexer, 1))))
        return lex_number(lexer);
    if (is_letter(c))
        return lex_word(lexer);
    if (c == '"' || c == '\'')
        return lex_string(lexer, lexer->at, false, TOKEN_STRING);
    if (c == '`')
        return lex_quoted_ident(lexer);
    return lex_sign(lexer);
}

/* Decodes the escape sequence at `at`, which the lexer has checked; returns its length. */
static size_t unescape(struct str text, size_t at, uint32_t *ret)
{
    static const char names[] = "abfnrtv", values[] = "\a\b\f\n\r\t\v";
    char c = text.ptr[at + 1];
    const char *name = strchr(names, c);
    if (name) {
        *ret = (uint32_t)values[name - names];
        return 2;
    }
    size_t digits = hex_digits(c);
    uint32_t value = 0;
    if (digits) {
        for (size_t i = 0; i < digits; i++)
            value = value << 4 | (uint32_t)hex_digit(text.ptr[at + 2 + i]);
        *ret = value;
        return 2 + digits;
    }
    if (c >= '0' && c <= '3') {
        for (size_t i = 1; i < 4; i++)
            value = value << 3 | (uint32_t)(text.ptr[at + i] - '0');
        *ret = value;
        return 4;
    }
    *ret = (uint32_t)c;
    return 2;
}

/* What stands between the quotes; whether it is raw. */
static struct str inner(struct str text, bool *ret_raw)
{
    *ret_raw = false;
    while (text.ptr[0] != '"' && text.ptr[0] != '\'') {
        *ret_raw |= text.ptr[0] == 'r' || text.ptr[0] == 'R';
        text = str_slice(text, 1, text.len);
    }
    size_t quotes = text.len >= 6 && text.ptr[1] == text.ptr[0] && text.ptr[2] == text.ptr[0] ? 3 : 1;
    return str_slice(text, quotes, text.len - quotes);
}

const char *cel_lex_unquote(struct cel_token token, struct arena *arena, struct str *ret)
{
    bool raw, bytes = token.kind == TOKEN_BYTES;
    struct str text = inner(token.text, &raw);
    /* Decoding never makes a text longer, but for bytes that are no UTF-8 and become U+FFFD. */
    char *out = arena_alloc(arena, 3 * (size_t)text.len + RUNE_BYTES_MAX);
    size_t len = 0, step;
    for (size_t at = 0; at < text.len; at += step) {
        uint32_t rune = (unsigned char)text.ptr[at];
        if (text.ptr[at] != '\\' || raw) {
            rune = utf8_rune_at(text, at, &step);
            len += utf8_rune_put(rune, out + len);
            continue;
        }
        bool byte = bytes && text.ptr[at + 1] != 'u' && text.ptr[at + 1] != 'U';
        if (bytes && !byte)
            return "unable to unescape string";
        step = unescape(text, at, &rune);
        if (byte)
            out[len++] = (char)rune;
        else if (!utf8_rune_valid(rune))
            return "invalid unicode code point";
        else
            len += utf8_rune_put(rune, out + len);
    }
    *ret = (struct str){ out, (uint32_t)len };
    return NULL;
}
