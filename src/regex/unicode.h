/* unicode.h: the tables of unicode_data.c: what regular expressions need to know about characters. */
#ifndef REGEX_UNICODE_H
#define REGEX_UNICODE_H

#include "base/common.h"

/* Each `step`-th character from `first` to `last` turns into the one `delta` further, and in the end back. */
struct unicode_fold {
    uint32_t first, last;
    int32_t delta;
    uint32_t step;
};

/* Names and ranges of all classes ("Lu", "Greek"), as unicode_data.c explains. */
extern const char unicode_classes[];
/* Ordered by their first character; at most a few overlap. */
extern const struct unicode_fold unicode_folds[];
extern const size_t unicode_folds_len;

#endif
