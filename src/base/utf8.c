/* text.c: UTF-8. */
#include "base/utf8.h"

bool utf8_rune_valid(uint32_t rune)
{
    return rune <= RUNE_MAX && (rune < 0xD800 || rune > 0xDFFF);
}

uint32_t utf8_rune_at(struct str text, size_t at, size_t *ret_bytes)
{
    const unsigned char *p = (const unsigned char *)text.ptr + at;
    size_t left = text.len - at, len = p[0] < 0x80   ? 1
                                       : p[0] < 0xC2 ? 0
                                       : p[0] < 0xE0 ? 2
                                       : p[0] < 0xF0 ? 3
                                                     : 4;
    uint32_t rune = len == 1 ? p[0] : len == 2 ? p[0] & 0x1F : len == 3 ? p[0] & 0x0F : p[0] & 0x07;
    bool bad = len == 0 || len > left || p[0] > 0xF4;
    for (size_t i = 1; !bad && i < len; i++) {
        bad = (p[i] & 0xC0) != 0x80;
        rune = rune << 6 | (p[i] & 0x3F);
    }
    /* Too long a form of a small number is no character either. */
    if (bad || !utf8_rune_valid(rune) || (len == 3 && rune < 0x800) || (len == 4 && rune < 0x10000)) {
        *ret_bytes = 1;
        return RUNE_ERROR;
    }
    *ret_bytes = len;
    return rune;
}

size_t utf8_rune_put(uint32_t rune, char out[static RUNE_BYTES_MAX])
{
    if (!utf8_rune_valid(rune))
        rune = RUNE_ERROR;
    if (rune < 0x80) {
        out[0] = (char)rune;
        return 1;
    }
    size_t len = rune < 0x800 ? 2 : rune < 0x10000 ? 3 : 4;
    static const unsigned char first[] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = len; i-- > 1; rune >>= 6)
        out[i] = (char)(0x80 | (rune & 0x3F));
    out[0] = (char)(first[len] | rune);
    return len;
}

bool utf8_valid(struct str text)
{
    size_t bytes;
    for (size_t at = 0; at < text.len; at += bytes)
        if (utf8_rune_at(text, at, &bytes) == RUNE_ERROR && bytes == 1)
            return false;
    return true;
}

size_t utf8_runes(struct str text)
{
    size_t count = 0, bytes;
    for (size_t at = 0; at < text.len; at += bytes, count++)
        utf8_rune_at(text, at, &bytes);
    return count;
}

size_t utf8_offset(struct str text, size_t index)
{
    size_t at = 0, bytes;
    for (; index > 0 && at < text.len; index--, at += bytes)
        utf8_rune_at(text, at, &bytes);
    return at;
}

ptrdiff_t utf8_find(struct str text, struct str part, size_t from)
{
    if (from > text.len || part.len > text.len - from)
        return -1;
    if (part.len == 0)
        return (ptrdiff_t)from;
    const char *begin = text.ptr + from;
    size_t left = text.len - from;
    const char *hit =
        part.len == 1 ? memchr(begin, part.ptr[0], left) : memmem(begin, left, part.ptr, part.len);
    return hit ? hit - text.ptr : -1;
}
