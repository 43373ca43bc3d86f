/* regex.h: regular expressions of RE2's syntax, in time linear in the text.
 *
 * A pattern is compiled to a small program that is run over all its threads at once, so no pattern and no text makes
 * it slow; programs and patterns have a limited size. */
#ifndef REGEX_REGEX_H
#define REGEX_REGEX_H

#include "base/arena.h"
#include "base/error.h"

struct regex;

/* How many steps matching may take. */
struct regex_budget {
    uint64_t steps; /* taken so far */
    uint64_t steps_max;
};

/* NULL: `err` (may be NULL) says what is wrong: "error parsing regexp: missing closing ]: `[a`". */
const struct regex *regex_compile(struct str pattern, struct arena *arena, struct error *err);
/* Whether there is a match at or behind `from`; the leftmost, and of these the one that the pattern prefers. Adds its
 * steps to the budget; false as well once that is spent. `ret_from`, `ret_to` may be NULL. */
bool regex_find(const struct regex *regex, struct str text, size_t from, struct regex_budget *budget,
                size_t *ret_from, size_t *ret_to);

#endif
