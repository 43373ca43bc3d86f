/* regex_class.c: sets of characters. */
#include "base/utf8.h"
#include "regex/regex_impl.h"
#include "regex/unicode.h"

#include <stdlib.h>

static void push(struct regex_set *set, uint32_t first, uint32_t last)
{
    if (set->len == set->cap) {
        set->cap = set->cap ? set->cap * 2 : 16;
        set->items = xreallocarray(set->items, set->cap, sizeof(*set->items));
    }
    set->items[set->len++] = (struct regex_range){ first, last };
}

void regex_set_add(struct regex_set *set, uint32_t first, uint32_t last, bool fold)
{
    push(set, first, last);
    if (!fold)
        return;
    /* Only characters in the table have others like them. */
    for (const struct unicode_fold *run = unicode_folds; run->step; run++) {
        if (run->last < first || run->first > last)
            continue;
        for (uint32_t c = run->first; c <= MIN(run->last, last); c += run->step)
            if (c >= first)
                for (uint32_t other = unicode_fold_next(c); other != c; other = unicode_fold_next(other))
                    push(set, other, other);
    }
}

static int by_first(const void *a, const void *b)
{
    const struct regex_range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

void regex_set_finish(struct regex_set *set)
{
    if (set->len == 0)
        return;
    qsort(set->items, set->len, sizeof(*set->items), by_first);
    size_t kept = 1;
    for (size_t i = 1; i < set->len; i++) {
        struct regex_range *before = &set->items[kept - 1], next = set->items[i];
        if (next.first <= before->last + 1)
            before->last = MAX(before->last, next.last);
        else
            set->items[kept++] = next;
    }
    set->len = kept;
}

void regex_set_negate(struct regex_set *set)
{
    regex_set_finish(set);
    struct regex_set out = { 0 };
    uint32_t next = 0;
    for (size_t i = 0; i < set->len; i++) {
        if (set->items[i].first > next)
            push(&out, next, set->items[i].first - 1);
        next = set->items[i].last + 1;
    }
    if (next <= RUNE_MAX)
        push(&out, next, RUNE_MAX);
    regex_set_release(set);
    *set = out;
}

void regex_set_release(struct regex_set *set)
{
    free(set->items);
    *set = (struct regex_set){ 0 };
}

/* Adds what is in `from`, or everything else. */
static void merge(struct regex_set *set, struct regex_set *from, bool negated)
{
    if (negated)
        regex_set_negate(from);
    for (size_t i = 0; i < from->len; i++)
        push(set, from->items[i].first, from->items[i].last);
    regex_set_release(from);
}

/* Pairs of characters: "09az" is 0-9 and a-z. */
static void add_pairs(struct regex_set *set, const char *pairs, bool fold)
{
    for (; *pairs; pairs += 2)
        regex_set_add(set, (unsigned char)pairs[0], (unsigned char)pairs[1], fold);
}

bool regex_set_add_perl(struct regex_set *set, char name, bool fold)
{
    const char *pairs = (name | 0x20) == 'd' ? "09" : (name | 0x20) == 's' ? "\t\n\f\r  " : "09AZ__az";
    struct regex_set class = { 0 };
    if (!strchr("dDsSwW", name))
        return false;
    add_pairs(&class, pairs, fold);
    merge(set, &class, name < 'a');
    return true;
}

bool regex_set_add_posix(struct regex_set *set, struct str name, bool fold)
{
    static const struct {
        const char *name, *pairs;
    } classes[] = {
        { "alnum", "09AZaz" },   { "alpha", "AZaz" },
        { "blank", "\t\t  " },   { "cntrl", "\x01\x1F\x7F\x7F" },
        { "digit", "09" },       { "graph", "!~" },
        { "lower", "az" },       { "print", " ~" },
        { "punct", "!/:@[`{~" }, { "space", "\t\r  " },
        { "upper", "AZ" },       { "word", "09AZaz__" },
        { "xdigit", "09AFaf" },  { "ascii", "\x01\x7F" },
    };
    bool negated = name.len > 0 && name.ptr[0] == '^';
    name = negated ? str_slice(name, 1, name.len) : name;
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        if (!str_is(name, classes[i].name))
            continue;
        struct regex_set class = { 0 };
        add_pairs(&class, classes[i].pairs, fold);
        if (str_is(name, "cntrl") || str_is(name, "ascii"))
            regex_set_add(&class, 0, 0, false);
        merge(set, &class, negated);
        return true;
    }
    return false;
}

bool regex_set_add_unicode(struct regex_set *set, struct str name, bool negated, bool fold)
{
    struct regex_set out = { 0 };
    const struct unicode_class *class = unicode_class(name);
    uint32_t first, last = 0;
    size_t at = 0;
    if (str_is(name, "Any"))
        push(&out, 0, RUNE_MAX);
    else if (!class)
        return false;
    while (class && unicode_range(class, &at, &first, &last))
        regex_set_add(&out, first, last, fold);
    merge(set, &out, negated);
    return true;
}
