/* window.c: see window.h. */
#include "engine/window.h"

static uint64_t passing_word(const struct window_bits *bits, uint32_t word)
{
    uint64_t passing = bits->passing[word];
    for (uint32_t i = 0; passing && i < bits->refused_len; i++)
        passing &= ~bits->refused[i][word];
    return passing;
}

/* Where the search ends: behind the last place that it needs, or at the end of the span, with some left. */
static uint32_t search_span(const struct window_bits *bits, struct place_span span, uint32_t *left)
{
    span_for_words(span, word)
    {
        uint64_t passing = passing_word(bits, word) & span_mask(span, word);
        uint32_t ones = (uint32_t)__builtin_popcountll(passing);
        if (ones >= *left) {
            uint32_t last = word * 64 + word_select(passing, *left - 1);
            *left = 0;
            return last + 1;
        }
        *left -= ones;
    }
    return span.to;
}

void window_search(struct window *window, const struct window_bits *bits, uint32_t start, uint32_t all,
                   uint32_t enough)
{
    uint32_t left = enough;
    *window = (struct window){ .spans = { [1] = { start, all } } };
    window->spans[1].to = search_span(bits, window->spans[1], &left);
    if (left)
        window->spans[0].to = search_span(bits, (struct place_span){ 0, start }, &left);
    window->examined = window->spans[0].to + window->spans[1].to - start;
}

static uint32_t count_span(const uint64_t *bits, struct place_span span)
{
    uint32_t first = span.from / 64, last = (span.to - 1) / 64;
    uint32_t count = (uint32_t)__builtin_popcountll(bits[first] & span_mask(span, first));
    for (uint32_t word = first + 1; word < last; word++)
        count += (uint32_t)__builtin_popcountll(bits[word]);
    return last > first ? count + (uint32_t)__builtin_popcountll(bits[last] & span_mask(span, last)) : count;
}

uint32_t window_count(const struct window *window, const uint64_t *bits)
{
    uint32_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(window->spans); i++)
        if (window->spans[i].from < window->spans[i].to)
            count += count_span(bits, window->spans[i]);
    return count;
}
