/* pdqsort.c: insertion sort for short ranges, quicksort above, heapsort when pivots keep failing. A range [from, to)
 * excludes its end. */
#include "preempt/pdqsort.h"

enum {
    SHORT_MAX = 12,       /* up to here by insertion */
    NINTHER_MIN = 50,     /* from here the pivot is a median of medians */
    SHIFT_MIN = 50,       /* from here single strays are worth moving */
    STRAYS_MAX = 5,       /* so many of them */
    SWAPS_ALL = 4 * 3,    /* every comparison of a median of medians said "swap" */
    UNBALANCED_SHARE = 8, /* a side with less than an eighth was a bad split */
};

struct sorting {
    void **items;
    bool (*less)(const void *a, const void *b);
};

static bool less(const struct sorting *s, size_t i, size_t k)
{
    return s->less(s->items[i], s->items[k]);
}

static void swap(const struct sorting *s, size_t i, size_t k)
{
    void *item = s->items[i];
    s->items[i] = s->items[k];
    s->items[k] = item;
}

static void sort_short(const struct sorting *s, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++)
        for (size_t k = i; k > from && less(s, k, k - 1); k--)
            swap(s, k, k - 1);
}

/* ---- heapsort ---- */
static void sift_down(const struct sorting *s, size_t from, size_t root, size_t len)
{
    for (size_t child; (child = 2 * root + 1) < len; root = child) {
        if (child + 1 < len && less(s, from + child, from + child + 1))
            child++;
        if (!less(s, from + root, from + child))
            return;
        swap(s, from + root, from + child);
    }
}

static void sort_by_heap(const struct sorting *s, size_t from, size_t to)
{
    size_t len = to - from;
    for (size_t root = (len - 1) / 2 + 1; root-- > 0;)
        sift_down(s, from, root, len);
    for (size_t last = len; last-- > 0;) {
        swap(s, from, from + last);
        sift_down(s, from, 0, last);
    }
}

/* ---- pivots ---- */
enum direction { MIXED, RISING, FALLING };

static void order_pair(const struct sorting *s, size_t *a, size_t *b, unsigned *swaps)
{
    if (!less(s, *b, *a))
        return;
    size_t was = *a;
    *a = *b;
    *b = was;
    ++*swaps;
}

/* The place of the median; nothing moves. */
static size_t median(const struct sorting *s, size_t a, size_t b, size_t c, unsigned *swaps)
{
    order_pair(s, &a, &b, swaps);
    order_pair(s, &b, &c, swaps);
    order_pair(s, &a, &b, swaps);
    return b;
}

static size_t choose_pivot(const struct sorting *s, size_t from, size_t to, enum direction *ret_direction)
{
    size_t quarter = (to - from) / 4;
    size_t places[3] = { from + quarter, from + 2 * quarter, from + 3 * quarter };
    unsigned swaps = 0;
    if (to - from >= NINTHER_MIN)
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
            places[i] = median(s, places[i] - 1, places[i], places[i] + 1, &swaps);
    size_t pivot = median(s, places[0], places[1], places[2], &swaps);
    *ret_direction = swaps == 0 ? RISING : swaps == SWAPS_ALL ? FALLING : MIXED;
    return pivot;
}

static void reverse(const struct sorting *s, size_t from, size_t to)
{
    while (from + 1 < to)
        swap(s, from++, --to);
}

/* ---- splitting ---- */
/* Items below the pivot go before it, the others behind; returns where the pivot ends up. */
static size_t split(const struct sorting *s, size_t from, size_t to, size_t pivot, bool *ret_was_split)
{
    size_t low = from + 1, high = to - 1;
    *ret_was_split = true;
    swap(s, from, pivot);
    for (;;) {
        while (low <= high && less(s, low, from))
            low++;
        while (low <= high && !less(s, high, from))
            high--;
        if (low > high)
            break;
        swap(s, low++, high--);
        *ret_was_split = false;
    }
    swap(s, high, from);
    return high;
}

/* The pivot is the least there is: gathers what equals it at the front; returns where the greater ones begin. */
static size_t gather_equal(const struct sorting *s, size_t from, size_t to, size_t pivot)
{
    size_t low = from + 1, high = to - 1;
    swap(s, from, pivot);
    for (;;) {
        while (low <= high && !less(s, from, low))
            low++;
        while (low <= high && less(s, from, high))
            high--;
        if (low > high)
            return low;
        swap(s, low++, high--);
    }
}

/* Puts a few strays in order. True: the range is sorted. */
static bool sort_strays(const struct sorting *s, size_t from, size_t to)
{
    size_t i = from + 1;
    for (int strays = 0; strays < STRAYS_MAX; strays++) {
        while (i < to && !less(s, i, i - 1))
            i++;
        if (i == to)
            return true;
        if (to - from < SHIFT_MIN)
            return false;
        swap(s, i, i - 1);
        if (i - from >= 2)
            for (size_t k = i - 1; k >= 1 && less(s, k, k - 1); k--)
                swap(s, k, k - 1);
        if (to - i >= 2)
            for (size_t k = i + 1; k < to && less(s, k, k - 1); k++)
                swap(s, k, k - 1);
    }
    return false;
}

static unsigned bit_length(size_t value)
{
    return 64 - (unsigned)__builtin_clzll(value);
}

/* Moves three items around the middle to places that look random, so that no input pattern stays bad. */
static void scatter(const struct sorting *s, size_t from, size_t to)
{
    size_t len = to - from, middle = from + len / 4 * 2;
    uint64_t random = len, mask = ((uint64_t)1 << bit_length(len)) - 1;
    for (size_t i = middle - 1; i <= middle + 1; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        size_t other = random & mask;
        swap(s, i, from + (other >= len ? other - len : other));
    }
}

static void sort_range(const struct sorting *s, size_t from, size_t to, unsigned patience)
{
    bool balanced = true, was_split = true;
    while (to - from > SHORT_MAX) {
        size_t len = to - from;
        if (patience == 0) {
            sort_by_heap(s, from, to);
            return;
        }
        if (!balanced) {
            scatter(s, from, to);
            patience--;
        }
        enum direction direction;
        size_t pivot = choose_pivot(s, from, to, &direction);
        if (direction == FALLING) {
            reverse(s, from, to);
            pivot = to - 1 - (pivot - from);
        }
        if (balanced && was_split && direction != MIXED && sort_strays(s, from, to))
            return;
        if (from > 0 && !less(s, from - 1, pivot)) {
            from = gather_equal(s, from, to, pivot);
            continue;
        }
        size_t middle = split(s, from, to, pivot, &was_split);
        size_t left = middle - from, right = to - middle;
        balanced = MIN(left, right) >= len / UNBALANCED_SHARE;
        if (left < right) {
            sort_range(s, from, middle, patience);
            from = middle + 1;
        } else {
            sort_range(s, middle + 1, to, patience);
            to = middle;
        }
    }
    sort_short(s, from, to);
}

void pdqsort(void **items, size_t len, bool (*is_less)(const void *a, const void *b))
{
    struct sorting sorting = { items, is_less };
    if (len > 1)
        sort_range(&sorting, 0, len, bit_length(len));
}
