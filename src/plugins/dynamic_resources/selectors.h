/* selectors.h: does a device match the selectors of a class or a request?
 *
 * Selectors are texts in CEL. A text is compiled once; programs are shared by all cycles of a profile and forgotten
 * all at once when there are too many. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_SELECTORS_H
#define PLUGINS_DYNAMIC_RESOURCES_SELECTORS_H

#include "api/types.h"
#include "base/arena.h"
#include "base/map.h"

struct cel_value;

struct selectors {
    struct strmap programs; /* text to struct selector_program */
    struct arena arena;     /* of those */
    struct arena scratch;   /* of one evaluation */
};

void selectors_release(struct selectors *selectors);
/* Drops programs if there are too many. No program may be in use. */
void selectors_trim(struct selectors *selectors);

/* The device as expressions see it, in the arena; NULL and *ret_why: it has an attribute that is none. */
const struct cel_value *selectors_device(const struct device *device, struct str driver, struct arena *arena,
                                         struct str *ret_why);
/* 1: it matches; 0: not; -1: *ret_why says in the arena what is wrong: "CEL compile error: ...". */
int selectors_match(struct selectors *selectors, struct str expression, const struct cel_value *device,
                    struct arena *arena, struct str *ret_why);

#endif
