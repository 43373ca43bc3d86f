/* device_selectors.h: does a device match the selectors of a class or a request?
 *
 * Selectors are texts in CEL. A text is compiled once; programs are shared by all cycles of a profile and forgotten
 * all at once when there are too many. */
#ifndef PLUGINS_DEVICE_SELECTORS_H
#define PLUGINS_DEVICE_SELECTORS_H

#include "api/types.h"
#include "base/arena.h"
#include "base/map.h"

struct cel_value;

struct features;

struct selectors {
    uint32_t rules;         /* enum cel_rule */
    bool lists;             /* attributes that are lists are seen */
    struct strmap programs; /* text to struct selector_program */
    struct strmap derived;  /* the same, of derived attributes */
    struct arena arena;     /* of those */
    struct arena scratch;   /* of one evaluation */
};

void selectors_release(struct selectors *selectors);
/* Before matches: expressions follow the rules of the release, and programs are dropped if there are too many. No
 * program may be in use. */
void selectors_prepare(struct selectors *selectors, const struct features *features);

struct device_sight {
    bool lists;                /* attributes that are lists */
    bool multiple_allocations; /* that the device may be allocated several times */
};
/* The device as expressions see it, in the arena; NULL and *ret_why: it has an attribute that is none. */
const struct cel_value *selectors_device(const struct device *device, struct str driver,
                                         struct device_sight sees, struct arena *arena, struct str *ret_why);
enum selector_result {
    SELECTOR_INVALID = -2, /* *ret_why says in the arena: "CEL compile error: ..." */
    SELECTOR_FAILED = -1,  /* "CEL runtime error: ..." */
    SELECTOR_NO = 0,
    SELECTOR_YES = 1,
};
enum selector_result selectors_match(struct selectors *selectors, struct str expression,
                                     const struct cel_value *device, struct arena *arena,
                                     struct str *ret_why);
/* What an expression makes of the device, as an attribute in the arena. 0, or -1: *ret_why says in the arena what is
 * wrong with the text (*ret_compiled is false), or with this device. */
int selectors_derive(struct selectors *selectors, struct str expression, const struct cel_value *device,
                     struct arena *arena, struct device_attribute *ret, bool *ret_compiled,
                     struct str *ret_why);

#endif
