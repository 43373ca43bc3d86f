/* str.c: slices and buffers. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/secret.h"

int str_cmp(struct str a, struct str b)
{
    size_t shared = MIN(a.len, b.len);
    int order = shared ? memcmp(a.ptr, b.ptr, shared) : 0;
    if (order)
        return order;
    return (a.len > b.len) - (a.len < b.len);
}

int str_qsort_cmp(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

bool str_starts_with(struct str a, struct str prefix)
{
    return a.len >= prefix.len && (prefix.len == 0 || memcmp(a.ptr, prefix.ptr, prefix.len) == 0);
}

bool str_ends_with(struct str a, struct str suffix)
{
    return a.len >= suffix.len &&
           (suffix.len == 0 || memcmp(a.ptr + a.len - suffix.len, suffix.ptr, suffix.len) == 0);
}

ptrdiff_t str_find(struct str a, char c)
{
    const char *at = a.len ? memchr(a.ptr, c, a.len) : NULL;
    return at ? at - a.ptr : -1;
}

ptrdiff_t str_rfind(struct str a, char c)
{
    const char *at = a.len ? memrchr(a.ptr, c, a.len) : NULL;
    return at ? at - a.ptr : -1;
}

bool str_contains(struct str a, struct str part)
{
    return part.len == 0 || (a.len >= part.len && memmem(a.ptr, a.len, part.ptr, part.len));
}

bool str_eq_fold(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

struct str str_slice(struct str a, size_t from, size_t to)
{
    to = MIN(to, (size_t)a.len);
    from = MIN(from, to);
    return (struct str){ a.ptr ? a.ptr + from : NULL, (uint32_t)(to - from) };
}

struct str str_dup(struct str a)
{
    char *copy = xmalloc((size_t)a.len + 1);
    if (a.len)
        memcpy(copy, a.ptr, a.len);
    copy[a.len] = '\0';
    return (struct str){ copy, a.len };
}

struct str str_trim(struct str a, const char *set)
{
    size_t from = 0, to = a.len, len = strlen(set);
    while (from < to && memchr(set, a.ptr[from], len))
        from++;
    while (to > from && memchr(set, a.ptr[to - 1], len))
        to--;
    return str_slice(a, from, to);
}

struct str str_cut(struct str *rest, char separator)
{
    ptrdiff_t at = str_find(*rest, separator);
    struct str text = *rest;
    *rest = at < 0 ? (struct str){ 0 } : str_slice(text, (size_t)at + 1, text.len);
    return at < 0 ? text : str_slice(text, 0, (size_t)at);
}

size_t str_distance(struct str a, struct str b, bool fold)
{
    enum { LEN_MAX = 63 };
    size_t row[LEN_MAX + 1];
    if (a.len > LEN_MAX || b.len > LEN_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b.len; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char x = a.ptr[i - 1], y = b.ptr[j - 1];
            size_t changed = diagonal + (fold ? (x | 0x20) != (y | 0x20) : x != y);
            diagonal = row[j];
            row[j] = MIN(changed, MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[b.len];
}

static uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __uint128_t product = (__uint128_t)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const unsigned char *at = data;
    uint64_t hash = seed ^ (len * 0x9e3779b97f4a7c15u);
    for (; len >= 8; len -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = hash_mix(hash ^ word, 0xa0761d6478bd642fu);
    }
    if (len) {
        uint64_t word = 0;
        memcpy(&word, at, len);
        hash = hash_mix(hash ^ word, 0xe7037ed1a0b428dbu);
    }
    return hash_mix(hash ^ 0x8ebc6af09c88c6e3u, 0x589965cc75374cc3u);
}

uint64_t str_hash(struct str a)
{
    return hash_bytes(a.ptr, a.len, 0);
}

bool str_to_int64(struct str a, int64_t *ret)
{
    size_t i = 0;
    bool negative = a.len && a.ptr[0] == '-';
    if (a.len && (a.ptr[0] == '-' || a.ptr[0] == '+'))
        i = 1;
    if (i == a.len)
        return false;
    int64_t value = 0;
    for (; i < a.len; i++) {
        if (a.ptr[i] < '0' || a.ptr[i] > '9')
            return false;
        int digit = a.ptr[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    *ret = value;
    return true;
}

void strbuf_reserve(struct strbuf *buf, size_t more)
{
    size_t need = buf->len + more + 1;
    if (need <= buf->cap)
        return;
    size_t cap = MAX(buf->cap * 2, (size_t)64);
    buf->cap = MAX(cap, need);
    buf->text = buf->secret ? secret_realloc(buf->text, buf->cap) : xrealloc(buf->text, buf->cap);
}

void strbuf_str(struct strbuf *buf, struct str text)
{
    strbuf_add(buf, text.ptr, text.len);
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
    strbuf_add(buf, text, strlen(text));
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len <= 0)
        return;
    strbuf_reserve(buf, (size_t)len);
    va_start(args, format);
    vsnprintf(buf->text + buf->len, (size_t)len + 1, format, args);
    va_end(args);
    buf->len += (size_t)len;
}

/* Where in "user:password@host" the password begins and ends; false: there is none. */
static bool find_password(struct str authority, size_t *ret_from, size_t *ret_to)
{
    ptrdiff_t at = str_rfind(authority, '@');
    ptrdiff_t colon = at < 0 ? -1 : str_find(str_slice(authority, 0, (size_t)at), ':');
    if (colon < 0)
        return false;
    *ret_from = (size_t)colon + 1;
    *ret_to = (size_t)at;
    return true;
}

void strbuf_masked(struct strbuf *buf, struct str text)
{
    if (!text.len)
        return;
    const char *rest = text.ptr, *end = text.ptr + text.len, *scheme;
    while (rest < end && (scheme = memmem(rest, (size_t)(end - rest), "://", 3))) {
        const char *host = scheme + 3, *host_end = host;
        while (host_end < end && (unsigned char)*host_end > ' ' && !strchr("/?#\"\\", *host_end))
            host_end++;
        size_t from, to;
        struct str authority = { host, (uint32_t)(host_end - host) };
        strbuf_add(buf, rest, (size_t)(host - rest));
        if (find_password(authority, &from, &to)) {
            strbuf_add(buf, host, from);
            strbuf_puts(buf, "***");
            strbuf_add(buf, host + to, authority.len - to);
        } else {
            strbuf_add(buf, host, authority.len);
        }
        rest = host_end;
    }
    strbuf_add(buf, rest, (size_t)(end - rest));
}

void strbuf_drop(struct strbuf *buf, size_t len)
{
    size_t rest = buf->len - len;
    memmove(buf->text, buf->text + len, rest);
    if (buf->secret)
        explicit_bzero(buf->text + rest, len);
    buf->len = rest;
    buf->text[rest] = '\0';
}

void strbuf_release(struct strbuf *buf)
{
    if (buf->secret)
        secret_free(buf->text);
    else
        free(buf->text);
    *buf = (struct strbuf){ .secret = buf->secret };
}
