/* bitmap.h: a set of small numbers, 64 to the word. The caller knows the width. */
#ifndef BASE_BITMAP_H
#define BASE_BITMAP_H

#include "base/common.h"

static inline size_t bitmap_words(size_t bits)
{
    return (bits + 63) / 64;
}

static inline bool bitmap_get(const uint64_t *words, size_t bit)
{
    return words[bit / 64] >> (bit % 64) & 1;
}

static inline void bitmap_set(uint64_t *words, size_t bit)
{
    words[bit / 64] |= (uint64_t)1 << (bit % 64);
}

static inline void bitmap_clear(uint64_t *words, size_t bit)
{
    words[bit / 64] &= ~((uint64_t)1 << (bit % 64));
}

static inline void bitmap_assign(uint64_t *words, size_t bit, bool value)
{
    if (value)
        bitmap_set(words, bit);
    else
        bitmap_clear(words, bit);
}

/* The position of the (rank+1)-th one bit of a word; the word has more than `rank` of them. */
static inline unsigned word_select(uint64_t word, unsigned rank)
{
    while (rank--)
        word &= word - 1;
    return (unsigned)__builtin_ctzll(word);
}

#define bitmap_for_word(word, bit) \
    for (uint64_t left_ = (word), bit; left_ && (bit = (uint64_t)__builtin_ctzll(left_), 1); \
         left_ &= left_ - 1)

#endif
