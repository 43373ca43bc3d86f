/* unicode.c: reading the tables of unicode_data.c. */
#include "regex/unicode.h"

/* Runs are ordered by their first character, and at most a few overlap. */
enum { OVERLAP_MAX = 6 };

static size_t folds_len(void)
{
    static size_t len; /* every thread computes the same */
    size_t count = __atomic_load_n(&len, __ATOMIC_RELAXED);
    if (count == 0) {
        while (unicode_folds[count].step)
            count++;
        __atomic_store_n(&len, count, __ATOMIC_RELAXED);
    }
    return count;
}

uint32_t unicode_fold_next(uint32_t rune)
{
    size_t low = 0, high = folds_len();
    while (low < high) { /* to the first run that begins behind it */
        size_t middle = (low + high) / 2;
        if (unicode_folds[middle].first <= rune)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = 0; i < OVERLAP_MAX && i < low; i++) {
        const struct unicode_fold *fold = &unicode_folds[low - 1 - i];
        if (rune <= fold->last && (rune - fold->first) % fold->step == 0)
            return (uint32_t)((int32_t)rune + fold->delta);
    }
    return rune;
}

static uint32_t digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A') + 10;
    return c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') + 36 : c == '+' ? 62 : 63;
}

static uint32_t take_number(const char *text, size_t *at)
{
    uint32_t value = 0, digit;
    unsigned shift = 0;
    do {
        digit = digit_of(text[(*at)++]);
        value |= (digit & 31) << shift;
        shift += 5;
    } while (digit & 32);
    return value;
}

bool unicode_range(const struct unicode_class *class, size_t *at, uint32_t *ret_first, uint32_t *ret_last)
{
    if (*at >= class->len)
        return false;
    const char *text = unicode_ranges + class->from;
    *ret_first = *ret_last + take_number(text, at);
    *ret_last = *ret_first + take_number(text, at);
    return true;
}

const struct unicode_class *unicode_class(struct str name)
{
    for (const struct unicode_class *class = unicode_classes; class->name; class ++)
        if (str_is(name, class->name))
            return class;
    return NULL;
}
