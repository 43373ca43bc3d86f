/* str.h: string slices by value, and a growing buffer.
 *
 * A slice owns nothing. An absent string is {NULL, 0} and equals the empty one. Slices are not terminated;
 * print them with STR_FMT, STR_ARG. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <string.h>

#include "base/common.h"

struct str {
    const char *ptr;
    uint32_t len;
};

#define STR(literal) ((struct str){ (literal), sizeof(literal) - 1 })
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)(s).len, (s).ptr ? (s).ptr : ""

static inline struct str str_from(const char *text)
{
    return (struct str){ text, text ? (uint32_t)strlen(text) : 0 };
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || a.ptr == b.ptr || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static inline bool str_is(struct str a, const char *text)
{
    return str_eq(a, str_from(text));
}

static inline bool str_empty(struct str a)
{
    return a.len == 0;
}

/* Byte order, as Go compares strings. */
int str_cmp(struct str a, struct str b);
/* For qsort of struct str. */
int str_qsort_cmp(const void *a, const void *b);
bool str_starts_with(struct str a, struct str prefix);
bool str_ends_with(struct str a, struct str suffix);
/* The position of the first or last `c`, or -1. */
ptrdiff_t str_find(struct str a, char c);
ptrdiff_t str_rfind(struct str a, char c);
bool str_contains(struct str a, struct str part);
/* The same but for small and capital letters of ASCII? */
bool str_eq_fold(struct str a, struct str b);
struct str str_slice(struct str a, size_t from, size_t to);
/* A copy, terminated, which free() frees. */
struct str str_dup(struct str a);
/* Without the bytes of `set` at both ends. utf8_trim() takes off white space as Go does. */
struct str str_trim(struct str a, const char *set);
/* Takes off and returns what stands before the separator, which goes as well. Where there is none that is all, and
 * *rest has no pointer any more. */
struct str str_cut(struct str *rest, char separator);
/* How many bytes must change, be added or dropped to make one of the other (Levenshtein); SIZE_MAX: they are too long
 * to be a slip of the pen. `fold`: small and capital letters are the same. */
size_t str_distance(struct str a, struct str b, bool fold);
/* Hashes that stay as they are from release to release: recordings keep them. */
uint64_t str_hash(struct str a);
uint64_t hash_bytes(const void *data, size_t len, uint64_t seed);

/* What the hexadecimal digit stands for, or -1. */
static inline int hex_digit(int c)
{
    int letter = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* A decimal number that fills the slice; false otherwise or on overflow. */
bool str_to_int64(struct str a, int64_t *ret);

/* A growing, always terminated text. A zeroed one is empty; text may be NULL while it is. */
struct strbuf {
    char *text;
    size_t len, cap;
    bool secret; /* memory that it leaves is overwritten; stays when it is released */
};

/* Makes space for so many bytes behind the text and its terminator, for a caller that writes there itself. */
void strbuf_reserve(struct strbuf *buf, size_t more);
/* Inline: keys are made of many small pieces, most of a size that the compiler knows. */
static inline void strbuf_add(struct strbuf *buf, const char *text, size_t len)
{
    if (buf->len + len >= buf->cap)
        strbuf_reserve(buf, len);
    if (len)
        memcpy(buf->text + buf->len, text, len);
    buf->len += len;
    buf->text[buf->len] = '\0';
}
void strbuf_str(struct strbuf *buf, struct str text);
static inline void strbuf_putc(struct strbuf *buf, char c)
{
    strbuf_add(buf, &c, 1);
}
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_printf(struct strbuf *buf, const char *format, ...) _printf_(2, 3);
/* A text that may hold URLs, with "***" where one of them has a password: "http://user:***@host/path". */
void strbuf_masked(struct strbuf *buf, struct str text);
static inline void strbuf_clear(struct strbuf *buf)
{
    if (buf->secret && buf->text)
        explicit_bzero(buf->text, buf->len);
    buf->len = 0;
    if (buf->text)
        buf->text[0] = '\0';
}
static inline struct str strbuf_slice(const struct strbuf *buf)
{
    return (struct str){ buf->text, (uint32_t)buf->len };
}
/* Takes the first bytes off. */
void strbuf_drop(struct strbuf *buf, size_t len);
void strbuf_release(struct strbuf *buf);

#endif
