/* search.h: what the files of the allocator share: the state of a search. */
#ifndef PLUGINS_DYNAMIC_RESOURCES_SEARCH_H
#define PLUGINS_DYNAMIC_RESOURCES_SEARCH_H

#include "plugins/dynamic_resources/allocator.h"
#include "plugins/dynamic_resources/constraints.h"

enum { RESULTS_MAX = 32 }; /* devices of a claim */

/* An exact request, or one of the alternatives of another. */
struct alternative {
    const struct device_subrequest *api;
    struct str name; /* its own */
    bool has_parent; /* it is one of several */
    const struct device_class *class;
    int64_t devices; /* so many it needs */
    bool wants_all;
    struct candidate **all; /* then it is these */
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
    enum allocate_outcome failure;
    struct str why;
};

/* ---- request.c ---- */
/* Notes why the search ends; returns false. */
bool search_fails(struct search *search, const char *format, ...) _printf_(2, 3);
/* Sees what the claims want. False: the search has failed. */
bool search_prepare(struct search *search);
/* Does the device satisfy the selectors of class and request, and is it on the node? 1, 0, or -1: failed. */
int search_matches(struct search *search, const struct wanted_claim *claim, struct alternative *alternative,
                   struct candidate *candidate);

/* What things take, about: a search is ended by the work that it did, not by a clock, so that the same input always
 * ends in the same way. */
enum { STEP_NS = 100, LOOK_NS = 50, EVALUATION_NS = 2000 };
/* False: the time is over, and the search has failed. */
bool search_spend(struct search *search, int64_t work_ns);
/* A device that several claims may share. */
static inline bool is_shareable(const struct candidate *candidate)
{
    return candidate->device->allow_multiple_allocations.value;
}

/* ---- outcome.c ---- */
/* What was picked for a claim, as its status says it. False: failed. */
bool search_describe(struct search *search, const struct wanted_claim *claim, struct allocation_result *ret);

#endif
