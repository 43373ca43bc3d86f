/* regex.h: regular expressions of RE2's syntax, in time linear in the text.
 *
 * A pattern is compiled to a small program that is run over all its threads at once, so no pattern and no text makes
 * it slow; programs and patterns have a limited size. */
#ifndef CEL_REGEX_H
#define CEL_REGEX_H

#include "base/arena.h"
#include "base/error.h"

struct cel_run;
struct cel_regex;

/* NULL: `err` (may be NULL) says what is wrong: "error parsing regexp: missing closing ]: `[a`". */
const struct cel_regex *cel_regex_compile(struct str pattern, struct arena *arena, struct error *err);
/* Whether there is a match at or behind `from`; the leftmost, and of these the one that the pattern prefers. Counts its
 * steps as work of `run`, and says false when that has reached its limit. `ret_from`, `ret_to` may be NULL. */
bool cel_regex_find(const struct cel_regex *regex, struct str text, size_t from, struct cel_run *run,
                    size_t *ret_from, size_t *ret_to);

#endif
