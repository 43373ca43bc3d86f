/* unicode.h: what regular expressions need to know about characters. */
#ifndef REGEX_UNICODE_H
#define REGEX_UNICODE_H

#include "base/str.h"

/* `len` digits of unicode_ranges from `from` on; unicode_data.c explains them. */
struct unicode_class {
    const char *name; /* "Lu", "Greek" */
    uint32_t from, len;
};

/* Each `step`-th character from `first` to `last` turns into the one `delta` further, and in the end back. */
struct unicode_fold {
    uint32_t first, last;
    int32_t delta;
    uint32_t step;
};

/* Both end with an empty one. */
extern const struct unicode_class unicode_classes[];
extern const char unicode_ranges[];
extern const struct unicode_fold unicode_folds[];

/* The next character that differs only in case; the same again if there is none. */
uint32_t unicode_fold_next(uint32_t rune);
/* Takes the ranges of a class one by one, from *at = 0, *ret_last = 0 on. */
bool unicode_range(const struct unicode_class *class, size_t *at, uint32_t *ret_first, uint32_t *ret_last);
const struct unicode_class *unicode_class(struct str name);

#endif
