/* issues.h: what is wrong with a text, in the form the reference prints it:
 *
 *     ERROR: <input>:1:8: undeclared reference to 'x' (in container '')
 *      | true && x
 *      | .......^
 *
 * Issues are collected, ordered by place and printed together; only the first few are kept. */
#ifndef CEL_ISSUES_H
#define CEL_ISSUES_H

#include "base/arena.h"
#include "base/error.h"

enum { CEL_ISSUES_MAX = 16 };
/* The place of an issue that is about the whole text. */
#define CEL_ISSUE_NOWHERE SIZE_MAX

struct cel_issue {
    size_t at; /* byte in the text */
    struct str message;
};

struct cel_issues {
    struct str text;
    struct arena *arena;
    struct cel_issue items[CEL_ISSUES_MAX];
    size_t len; /* of items */
    size_t count;
};

void cel_issue(struct cel_issues *issues, size_t at, const char *format, ...) _printf_(3, 4);
/* -EINVAL, with all of them behind `prefix`. */
int cel_issues_report(struct cel_issues *issues, const char *prefix, struct error *err);

#endif
