/* regex_parse.h: a pattern as a tree. */
#ifndef REGEX_REGEX_PARSE_H
#define REGEX_REGEX_PARSE_H

#include "regex/regex_impl.h"

enum regex_kind { REGEX_EMPTY, REGEX_CHARS, REGEX_ASSERT, REGEX_CONCAT, REGEX_CHOICE, REGEX_REPEAT };

enum { REGEX_UNLIMITED = -1 };

struct regex_node {
    enum regex_kind kind;
    bool lazy; /* a repetition that prefers less */
    int min, max;
    uint32_t check;
    const struct regex_range *ranges;
    uint32_t ranges_len;
    struct regex_node *first, *last; /* parts */
    struct regex_node *next;         /* beside it */
};

/* NULL: `err` says why. */
struct regex_node *regex_parse(struct str pattern, struct arena *arena, struct error *err);

#endif
