/* wanted_kinds.h: what a configuration reads of a live cluster beside what every scheduler watches.
 *
 *     plugins that it enables ──▶ kinds that they name, samples ──┐
 *     --policy-configmap, --policy-dir ──▶ ConfigMap, classes ────┴──▶ rows for listing_read() (sync/listing.h)
 *
 * A plugin says in init() which objects of a kind it wants, by its arguments: so each is made for once. */
#ifndef INPUT_WANTED_KINDS_H
#define INPUT_WANTED_KINDS_H

#include "config/config.h"
#include "framework/profile.h"
#include "sync/listing.h"

struct wanted_kinds {
    VEC(struct listed_kind) list; /* each kind once */
    struct arena arena;
};

struct wanted_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    const struct features *features; /* NULL: the defaults */
    bool has_policies;
    const char *policy_config_map; /* "NAMESPACE/NAME", or NULL */
};

/* A zeroed one is empty. */
int wanted_kinds_find(struct wanted_kinds *kinds, const struct wanted_options *options, struct error *err);
void wanted_kinds_release(struct wanted_kinds *kinds);

#endif
