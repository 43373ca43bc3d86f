/* window.h: the nodes that a search looks at which stops at enough feasible ones: places in the order of the search,
 * from its start on, and on from 0 if it comes to the end.
 *
 *     places     0 ......... to     from ......... all
 *     spans      [0]                [1]                      or one: from ... to
 *
 * Bitmaps by place (engine/groups.h) are read in these spans only, so that a decision costs time by the nodes that it
 * looks at, 64 at a time, and not by those that there are. */
#ifndef ENGINE_WINDOW_H
#define ENGINE_WINDOW_H

#include "base/bitmap.h"

struct place_span {
    uint32_t from, to;
};

struct window {
    struct place_span spans[2]; /* rising; an empty one is skipped */
    uint32_t examined;          /* places in both */
};

/* Bitmaps of places that pass: those of `passing` that are in none of `refused`. */
struct window_bits {
    const uint64_t *passing;
    const uint64_t **refused;
    uint32_t refused_len;
};

/* From `start` on, of `all` places, until `enough` of them pass. */
void window_search(struct window *window, const struct window_bits *bits, uint32_t start, uint32_t all,
                   uint32_t enough);
/* How many bits of the window are set. */
uint32_t window_count(const struct window *window, const uint64_t *bits);

/* The bits of a word that are in the span. */
static inline uint64_t span_mask(struct place_span span, uint32_t word)
{
    uint64_t mask = UINT64_MAX;
    if (word == span.from / 64)
        mask <<= span.from % 64;
    if (word == span.to / 64)
        mask &= ((uint64_t)1 << (span.to % 64)) - 1;
    return mask;
}

#define span_for_words(span, word) \
    for (uint32_t word = (span).from / 64; (span).from < (span).to && word <= ((span).to - 1) / 64; word++)

/* Each word of the window with the mask of its bits, in rising order. */
#define window_for_words(window, word, mask) \
    for (const struct place_span *span_ = (window)->spans; span_ < (window)->spans + 2; span_++) \
    span_for_words(*span_, word) for (uint64_t mask = span_mask(*span_, word), once_ = 1; once_; once_ = 0)

#endif
