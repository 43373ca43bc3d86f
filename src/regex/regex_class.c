/* regex_class.c: sets of characters. */
#include "base/utf8.h"
#include "regex/regex_impl.h"

/* Runs of unicode_folds that hold one character. */
enum { OVERLAP_MAX = 6 };

static void push(struct regex_set *set, uint32_t first, uint32_t last)
{
    *vec_push(set) = (struct regex_range){ first, last };
}

/* The next character that differs only in case; the same again if there is none. */
static uint32_t fold_next(uint32_t rune)
{
    size_t low = 0, high = unicode_folds_len;
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

void regex_set_add(struct regex_set *set, uint32_t first, uint32_t last, bool fold)
{
    push(set, first, last);
    /* Only characters in the table have others like them. */
    for (size_t i = 0; fold && i < unicode_folds_len; i++) {
        const struct unicode_fold *run = &unicode_folds[i];
        for (uint32_t c = run->first; run->last >= first && c <= MIN(run->last, last); c += run->step)
            if (c >= first)
                for (uint32_t other = fold_next(c); other != c; other = fold_next(other))
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
    vec_release(set);
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

/* Pairs of characters, "09az" is 0-9 and a-z; or everything else. */
static void add_pairs(struct regex_set *set, const char *pairs, bool negated, bool fold)
{
    struct regex_set class = { 0 };
    for (; *pairs; pairs += 2)
        regex_set_add(&class, (unsigned char)pairs[0], (unsigned char)pairs[1], fold);
    merge(set, &class, negated);
}

bool regex_set_add_perl(struct regex_set *set, int name, bool fold)
{
    if (name <= 0 || !strchr("dDsSwW", name))
        return false;
    int lower = name | 0x20;
    add_pairs(set, lower == 'd' ? "09" : lower == 's' ? "\t\n\f\r  " : "09AZ__az", name != lower, fold);
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
        add_pairs(&class, classes[i].pairs, false, fold);
        if (str_is(name, "cntrl") || str_is(name, "ascii"))
            push(&class, 0, 0);
        merge(set, &class, negated);
        return true;
    }
    return false;
}

static uint32_t digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (uint32_t)(c - '0');
    if (c >= 'A' && c <= 'Z')
        return (uint32_t)(c - 'A') + 10;
    return c >= 'a' && c <= 'z' ? (uint32_t)(c - 'a') + 36 : c == '+' ? 62 : 63;
}

static uint32_t take_number(const char **text)
{
    uint32_t value = 0, digit;
    unsigned shift = 0;
    do {
        digit = digit_of(*(*text)++);
        value |= (digit & 31) << shift;
        shift += 5;
    } while (digit & 32);
    return value;
}

/* Of Unicode: "Lu", "Greek", or a category of one letter, which is all those of two letters that begin with it. */
bool regex_set_add_unicode(struct regex_set *set, struct str name, bool negated, bool fold)
{
    struct regex_set out = { 0 };
    bool letter = name.len == 1 && strchr("CLMNPSZ", name.ptr[0]);
    if (str_is(name, "Any"))
        push(&out, 0, RUNE_MAX);
    for (const char *p = unicode_classes; *p; p++) {
        struct str class = { p, (uint32_t)strcspn(p, " ") };
        p += class.len + 1;
        if (!str_eq(class, name) && !(letter && class.len == 2 && class.ptr[0] == name.ptr[0])) {
            p += strcspn(p, " ");
            continue;
        }
        for (uint32_t first, last = 0; *p != ' ';) {
            first = last + take_number(&p);
            last = first + take_number(&p);
            regex_set_add(&out, first, last, fold);
        }
    }
    bool found = out.len > 0;
    merge(set, &out, negated && found);
    return found;
}
