/* regex_impl.h: a pattern as a tree, and the program that it becomes. */
#ifndef REGEX_REGEX_IMPL_H
#define REGEX_REGEX_IMPL_H

#include "base/list.h"
#include "base/vec.h"
#include "regex/regex.h"

enum regex_check {
    CHECK_TEXT_BEGIN,
    CHECK_TEXT_END,
    CHECK_LINE_BEGIN,
    CHECK_LINE_END,
    CHECK_WORD,
    CHECK_NO_WORD,
};

struct regex_range {
    uint32_t first, last;
};

/* ---- regex_parse.c: the tree ---- */
enum regex_kind {
    REGEX_FLAGS, /* (?i): nothing to match, and no part of a tree */
    REGEX_CHARS,
    REGEX_ASSERT,
    REGEX_CONCAT,
    REGEX_CHOICE,
    REGEX_REPEAT,
};

enum { REGEX_UNLIMITED = -1 };

struct regex_node {
    enum regex_kind kind;
    bool lazy; /* a repetition that prefers less */
    int min, max;
    enum regex_check check;
    const struct regex_range *ranges; /* in order, apart */
    uint32_t ranges_len;
    struct list parts;
    struct list_link link; /* among the parts of its parent */
};

/* NULL: `err` says why. */
struct regex_node *regex_parse(struct str pattern, struct arena *arena, struct error *err);

/* ---- regex.c: the program ---- */
enum regex_op {
    REGEX_MATCH,
    REGEX_SET,   /* one character of a set, then `next` */
    REGEX_FORK,  /* `next` first, then `other` */
    REGEX_CHECK, /* `next` if what `check` names holds here */
};

struct regex_step {
    enum regex_op op;
    uint32_t next, other;
    enum regex_check check;
    const struct regex_range *ranges; /* of the node */
    uint32_t ranges_len;
};

struct regex {
    const struct regex_step *steps;
    uint32_t len, start;
};

/* ---- regex_class.c: sets of characters under construction ---- */
struct regex_set {
    struct regex_range *items; /* a VEC */
    size_t len, cap;
};

void regex_set_add(struct regex_set *set, uint32_t first, uint32_t last, bool fold);
/* \d \s \w, and \D \S \W; false: no such class. */
bool regex_set_add_perl(struct regex_set *set, int name, bool fold);
/* [:alpha:], without the brackets. */
bool regex_set_add_posix(struct regex_set *set, struct str name, bool fold);
bool regex_set_add_unicode(struct regex_set *set, struct str name, bool negated, bool fold);
/* In order, without overlaps. */
void regex_set_finish(struct regex_set *set);
void regex_set_negate(struct regex_set *set);
void regex_set_release(struct regex_set *set);

/* ---- unicode_data.c: what is known about characters ---- */
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

/* A digit, an ASCII letter or an underscore. */
static inline bool regex_is_word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

#endif
