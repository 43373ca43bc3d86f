/* constraints.h: what the devices of a claim must have in common, or must not.
 *
 * A constraint looks at devices as they are picked and put back again, one at a time. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_CONSTRAINTS_H
#define PLUGINS_DYNAMIC_RESOURCES_CONSTRAINTS_H

#include "plugins/dynamic_resources/pools.h"

struct constraint {
    const struct device_constraint *api;
    const struct device_attribute *first;     /* all must match it */
    const struct device_attribute **distinct; /* the last one of each request of the claim; NULL: none */
    uint32_t requests;
    uint32_t devices; /* how many were added */
};

/* The request that a device is picked for. */
struct requester {
    uint32_t request;            /* its number in the claim */
    struct str name, subrequest; /* subrequest: empty for an exact request */
};

/* False: a constraint of no known kind. */
bool constraint_init(struct constraint *constraint, const struct device_constraint *api, uint32_t requests,
                     struct arena *arena);
/* False: the device is not acceptable, and nothing was changed. */
bool constraint_add(struct constraint *constraint, const struct requester *requester,
                    const struct candidate *candidate);
void constraint_remove(struct constraint *constraint, const struct requester *requester);

#endif
