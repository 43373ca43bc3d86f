/* regex_impl.h: the program that a pattern becomes. */
#ifndef REGEX_REGEX_IMPL_H
#define REGEX_REGEX_IMPL_H

#include "regex/regex.h"

enum regex_op {
    REGEX_MATCH,
    REGEX_SET,   /* one character of a set, then `next` */
    REGEX_FORK,  /* `next` first, then `other` */
    REGEX_JUMP,  /* `next` */
    REGEX_CHECK, /* `next` if what `check` names holds here */
};

enum regex_check {
    CHECK_TEXT_BEGIN = 1,
    CHECK_TEXT_END = 2,
    CHECK_LINE_BEGIN = 4,
    CHECK_LINE_END = 8,
    CHECK_WORD = 16,
    CHECK_NO_WORD = 32,
};

struct regex_range {
    uint32_t first, last;
};

struct regex_step {
    enum regex_op op;
    uint32_t next, other;
    uint32_t check;
    const struct regex_range *ranges; /* in order, apart */
    uint32_t ranges_len;
};

struct regex {
    const struct regex_step *steps;
    uint32_t len, start;
};

/* regex_class.c: sets of characters under construction. */
struct regex_set {
    struct regex_range *items;
    size_t len, cap;
};

void regex_set_add(struct regex_set *set, uint32_t first, uint32_t last, bool fold);
/* \d \s \w, and \D \S \W; false: no such class. */
bool regex_set_add_perl(struct regex_set *set, char name, bool fold);
/* [:alpha:], without the brackets. */
bool regex_set_add_posix(struct regex_set *set, struct str name, bool fold);
bool regex_set_add_unicode(struct regex_set *set, struct str name, bool negated, bool fold);
/* In order, without overlaps. */
void regex_set_finish(struct regex_set *set);
void regex_set_negate(struct regex_set *set);
void regex_set_release(struct regex_set *set);

#endif
