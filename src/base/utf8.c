/* utf8.c: see utf8.h. */
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

/* How many bytes at the beginning are ASCII, in words of eight. */
static size_t ascii_words(struct str text)
{
    size_t at = 0;
    for (uint64_t word; at + sizeof(word) <= text.len; at += sizeof(word)) {
        memcpy(&word, text.ptr + at, sizeof(word));
        if (word & UINT64_C(0x8080808080808080))
            break;
    }
    return at;
}

bool utf8_valid(struct str text)
{
    size_t bytes;
    for (size_t at = ascii_words(text); at < text.len; at += bytes)
        if (utf8_rune_at(text, at, &bytes) == RUNE_ERROR && bytes == 1)
            return false;
    return true;
}

struct str utf8_mended(struct str text, struct arena *arena)
{
    enum { GROWTH = 3 }; /* U+FFFD takes three bytes */
    if (utf8_valid(text))
        return text;
    char *out = arena_alloc(arena, (size_t)text.len * GROWTH + RUNE_BYTES_MAX);
    size_t len = 0, bytes;
    for (size_t at = 0; at < text.len; at += bytes)
        len += utf8_rune_put(utf8_rune_at(text, at, &bytes), out + len);
    return (struct str){ out, (uint32_t)len };
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

bool utf8_rune_space(uint32_t rune)
{
    return (rune >= '\t' && rune <= '\r') || rune == ' ' || rune == 0x85 || rune == 0xA0 || rune == 0x1680 ||
           (rune >= 0x2000 && rune <= 0x200A) || rune == 0x2028 || rune == 0x2029 || rune == 0x202F ||
           rune == 0x205F || rune == 0x3000;
}

struct rune_range {
    uint32_t first, last;
};
#include "base/rune_widths.def"

static bool is_in(uint32_t rune, const struct rune_range *ranges, size_t len)
{
    size_t low = 0, high = len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rune > ranges[middle].last)
            low = middle + 1;
        else
            high = middle;
    }
    return low < len && rune >= ranges[low].first;
}

unsigned utf8_rune_width(uint32_t rune)
{
    if (rune < 0x300) /* the first mark that combines */
        return rune >= ' ';
    if (is_in(rune, runes_of_no_width, ARRAY_SIZE(runes_of_no_width)))
        return 0;
    return is_in(rune, runes_of_double_width, ARRAY_SIZE(runes_of_double_width)) ? 2 : 1;
}

/* The last character before `to`, behind `from`; *ret is where it begins. Bytes that are no character are one each. */
static uint32_t last_rune(struct str text, size_t from, size_t to, size_t *ret)
{
    size_t at = to - 1, bytes;
    while (at > from && to - at < RUNE_BYTES_MAX && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
        at--;
    uint32_t rune = utf8_rune_at(str_slice(text, 0, to), at, &bytes);
    bool whole = at + bytes == to;
    *ret = whole ? at : to - 1;
    return whole ? rune : RUNE_ERROR;
}

struct str utf8_trim(struct str text)
{
    size_t from = 0, to = text.len, bytes, at;
    while (from < to && utf8_rune_space(utf8_rune_at(text, from, &bytes)))
        from += bytes;
    while (to > from && utf8_rune_space(last_rune(text, from, to, &at)))
        to = at;
    return str_slice(text, from, to);
}
