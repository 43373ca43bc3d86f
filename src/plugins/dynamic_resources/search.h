/* search.h: what the files of the allocator share: the state of a search.
 *
 * A constraint says what the devices of a claim must have in common, or must not. It looks at devices as they are
 * picked and put back again, one at a time.
 *
 * A device that may be allocated several times gives each claim a part of its capacity: what the request says, brought
 * into the shape that the device's policy wants. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_SEARCH_H
#define PLUGINS_DYNAMIC_RESOURCES_SEARCH_H

#include "plugins/dynamic_resources/allocator.h"
#include "plugins/dynamic_resources/pools.h"

enum { RESULTS_MAX = 32 }; /* devices of a claim */

struct constraint {
    const struct device_constraint *api;
    const struct device_attribute *first; /* all must match it */
    /* No other one may be the same; some are NULL. Each device has its place, or each request, for its last device. */
    const struct device_attribute **distinct;
    uint32_t places;
    bool by_request;
    /* Attributes are sets: of the values of `first`, those that all of so many devices have, a bit each. */
    uint64_t *common;
    bool forgets;     /* a device that is put back leaves its mark there */
    uint32_t devices; /* how many were added */
};

/* The request that a device is picked for. */
struct requester {
    uint32_t request;            /* its number in the claim */
    struct str name, subrequest; /* subrequest: empty for an exact request */
    const struct device_subrequest *api;
};

/* An exact request, or one of the alternatives of another. */
struct alternative {
    const struct device_subrequest *api;
    struct str name; /* its own */
    bool has_parent; /* it is one of several */
    const struct device_class *class;
    int64_t devices; /* how many it needs */
    bool wants_all;
    struct candidate **all; /* then: these */
    uint8_t *matches;       /* per candidate: MATCH_*; NULL: none was checked */
};

enum { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

struct wanted_request {
    const struct device_request *api;
    struct alternative *alternatives;
    uint32_t len;
    uint32_t chosen; /* of those */
};

struct picked {
    struct candidate *candidate;
    const struct wanted_request *request;
    const struct alternative *alternative;
};

struct wanted_claim {
    const struct resource_claim *api;
    struct wanted_request *requests;
    struct constraint *constraints;
    struct picked picked[RESULTS_MAX];
    uint32_t picked_len;
};

struct search {
    const struct allocate_input *input;
    struct pools pools;
    struct wanted_claim *claims;
    int64_t spent_ns;
    struct status failure;
};

/* ---- allocator.c ---- */
/* Could the request have the device, if it were the only one? */
bool candidate_is_free(struct search *search, const struct wanted_claim *claim,
                       struct alternative *alternative, struct candidate *candidate);

/* ---- request.c ---- */
/* Notes why the search ends; false. */
#define search_fails(search, ...) \
    ({ \
        (search)->failure = status_printf((search)->input->arena, STATUS_ERROR, __VA_ARGS__); \
        false; \
    })
/* Sees what the claims want. False: the search has failed. */
bool search_prepare(struct search *search);
/* The device as expressions see it; NULL: *ret_why says why not. */
const struct cel_value *search_sight(struct search *search, struct candidate *candidate, struct str *ret_why);
/* Does the device satisfy the selectors of class and request, and is it on the node? 1, 0, or -1: failed. */
int search_matches(struct search *search, const struct wanted_claim *claim, struct alternative *alternative,
                   struct candidate *candidate);

/* Estimates: a search is ended by the work that it did, not by a clock, so that the same cluster always gives the same
 * result. */
enum { STEP_NS = 100, LOOK_NS = 50, EVALUATION_NS = 2000 };
/* False: the timeout is reached, and the search has failed. */
bool search_spend(struct search *search, int64_t work_ns);
/* A device that several claims may share. */
static inline bool is_shareable(const struct search *search, const struct candidate *candidate)
{
    return search->input->rules->shares && candidate->device->allow_multiple_allocations.value;
}

/* ---- constraints.c ---- */
/* False: a constraint of no known kind. */
bool constraint_init(struct constraint *constraint, const struct device_constraint *api, uint32_t requests,
                     const struct allocation_rules *rules, struct arena *arena);
/* 1, or 0: the device is not acceptable, and nothing was changed; -1: failed. */
int constraint_add(struct search *search, struct constraint *constraint, const struct requester *requester,
                   struct candidate *candidate);
void constraint_remove(struct constraint *constraint, const struct requester *requester);

/* ---- capacity.c ---- */
/* What a request takes of one capacity of a device that capacity_suffices() let pass. */
struct quantity capacity_consumed(const struct allocation_rules *rules,
                                  const struct capacity_requirements *wanted,
                                  const struct device_capacity *capacity);
enum capacity_in {
    CAPACITY_IN_ALL,  /* the device is not used by others */
    CAPACITY_IN_REST, /* what claims hold, and what this search has picked, is not there */
};
/* Does the device have so much of everything? 1, 0, or -1: that cannot be computed, and *ret_why says why. */
int capacity_suffices(const struct search *search, const struct capacity_requirements *wanted,
                      struct candidate *candidate, enum capacity_in in, struct str *ret_why);
/* A share of the device is picked, or put back. */
void capacity_take(const struct search *search, const struct capacity_requirements *wanted,
                   struct candidate *candidate);
void capacity_return(const struct search *search, const struct capacity_requirements *wanted,
                     struct candidate *candidate);

/* ---- outcome.c ---- */
/* What was picked for a claim, as its status says it. False: failed. */
bool search_describe(struct search *search, const struct wanted_claim *claim, struct allocation_result *ret);

#endif
