/* kinds.h: kinds of fields that a configuration has besides those of codec/record.h, and how one is read. */
#ifndef CONFIG_KINDS_H
#define CONFIG_KINDS_H

#include "codec/record.h"

RECORD_KIND(DURATION, int64_t);              /* nanoseconds, "1m30s"; null is an error; always written */
RECORD_KIND(OPT_DURATION, struct opt_int64); /* the same, or absent */

/* record_read(), strictly, with strings in the arena. */
int config_read(const struct doc *doc, yyjson_val *val, const struct record_type *type,
                const struct path *path, struct arena *arena, void *ret, struct error *err);

/* Weights by name: {cpu: 70, memory: 30}. Sorted by name. */
struct named_weight {
    struct str name;
    int64_t weight;
};
struct weight_map {
    struct named_weight *items;
    uint32_t len;
};
RECORD_KIND(WEIGHTS, struct weight_map);

#endif
