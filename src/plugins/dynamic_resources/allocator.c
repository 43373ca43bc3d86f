/* allocator.c: the search itself; see allocator.h.
 *
 * A step picks one device for one request and goes on with the next; when that leads nowhere, the device is put back
 * and the next one is tried. Devices of one request are picked in ascending order, so that no set is tried twice. */
#include "api/labels.h"
#include "plugins/dynamic_resources/search.h"

enum found {
    FOUND_NOTHING,
    FOUND_ALL,
    FOUND_TOO_MANY, /* a claim would have more than RESULTS_MAX devices */
    FOUND_FAILURE,
};

/* Which device is looked for. */
struct step {
    uint32_t claim, request, alternative;
    int64_t device;      /* how many of the request are there */
    bool in_alternative; /* the alternative is settled */
    uint32_t first;      /* candidates before this one were tried */
};

/* What picking a device changed. */
struct traces {
    bool counters, marked, shared, added;
    uint32_t constraints;
};

enum picked_as {
    PICKED,
    PICK_REFUSED,
    PICK_UNSUITABLE, /* a constraint is against it */
    PICK_FAILED,     /* and so has the search */
};

static enum found take_step(struct search *search, struct step step);
static int is_suitable(struct search *search, const struct wanted_claim *claim,
                       struct alternative *alternative, struct candidate *candidate);

/* ---- is a device in use? ---- */
static bool is_picked_by(const struct candidate *candidate, uint32_t claim)
{
    return candidate->claims && (candidate->claims[claim / 64] >> claim % 64 & 1);
}

static bool is_in_use(const struct search *search, struct candidate *candidate)
{
    const struct device_use *use = candidate_use(candidate, search->input->cluster);
    return (use && use->whole) || candidate->claims_len;
}

static void mark(const struct search *search, struct candidate *candidate, uint32_t claim)
{
    if (!candidate->claims)
        candidate->claims =
            arena_array(search->input->scratch, uint64_t, ((size_t)search->input->len + 63) / 64);
    candidate->claims_len += !is_picked_by(candidate, claim);
    candidate->claims[claim / 64] |= (uint64_t)1 << claim % 64;
}

static void unmark(struct candidate *candidate, uint32_t claim)
{
    candidate->claims_len -= is_picked_by(candidate, claim);
    candidate->claims[claim / 64] &= ~((uint64_t)1 << claim % 64);
}

/* ---- taints ---- */
static bool tolerates(const struct toleration *toleration, const struct device_taint *taint)
{
    if (toleration->effect.len && !str_eq(toleration->effect, taint->effect))
        return false;
    if (toleration->key.len && !str_eq(toleration->key, taint->key))
        return false;
    if (!toleration->operator.len || str_is(toleration->operator, "Equal"))
        return str_eq(toleration->value, taint->value);
    return str_is(toleration->operator, "Exists");
}

static bool repels(const struct device_taint *taint, const struct device_subrequest *request)
{
    if (!str_is(taint->effect, "NoSchedule") && !str_is(taint->effect, "NoExecute"))
        return false;
    list_for(&request->tolerations, toleration)
        if (tolerates(toleration, taint))
            return false;
    return true;
}

/* By a taint of its own, or of a rule. */
static bool is_repelled(const struct candidate *candidate, const struct device_subrequest *request)
{
    const struct slice_pool *source = candidate->pool->source;
    list_for(&candidate->device->taints, taint)
        if (repels(taint, request))
            return true;
    for (uint32_t i = 0; i < source->rules_len; i++)
        if (device_rule_taints(source->rules[i], candidate->device) &&
            repels(&source->rules[i]->taint, request))
            return true;
    return false;
}

bool candidate_is_free(struct search *search, const struct wanted_claim *claim,
                       struct alternative *alternative, struct candidate *candidate)
{
    return !is_in_use(search, candidate) &&
           !(search->input->rules->taints && is_repelled(candidate, alternative->api)) &&
           is_suitable(search, claim, alternative, candidate) > 0;
}

/* ---- one device ---- */
static struct alternative *alternative_of(const struct search *search, const struct step *step)
{
    return &search->claims[step->claim].requests[step->request].alternatives[step->alternative];
}

static struct requester requester_of(const struct search *search, const struct step *step)
{
    const struct wanted_request *request = &search->claims[step->claim].requests[step->request];
    const struct alternative *alternative = &request->alternatives[step->alternative];
    return (struct requester){ .request = step->request,
                               .name = request->api->name,
                               .subrequest = alternative->has_parent ? alternative->name : STR(""),
                               .api = alternative->api };
}

static void put_back(struct search *search, const struct step *step, struct candidate *candidate,
                     const struct traces *traces)
{
    struct wanted_claim *claim = &search->claims[step->claim];
    struct requester requester = requester_of(search, step);
    claim->picked_len -= traces->added;
    if (traces->shared)
        capacity_return(search, alternative_of(search, step)->api->capacity, candidate);
    if (traces->marked)
        unmark(candidate, step->claim);
    for (uint32_t i = traces->constraints; i-- > 0;)
        constraint_remove(&claim->constraints[i], &requester);
    if (traces->counters)
        candidate_return_counters(candidate);
}

/* A device of which a share is taken already has its counters. */
static bool has_its_counters(const struct search *search, struct candidate *candidate)
{
    const struct device_use *use = candidate_use(candidate, search->input->cluster);
    if (!is_shareable(search, candidate))
        return false;
    bool any_share = search->input->rules->release->shares_without_capacity_have_counters;
    return candidate->shares || (use && (any_share ? use->shares : use->measured));
}

static enum picked_as meets_constraints(struct search *search, const struct step *step,
                                        struct candidate *candidate, struct traces *traces)
{
    struct wanted_claim *claim = &search->claims[step->claim];
    struct requester requester = requester_of(search, step);
    for (; traces->constraints < claim->api->spec.constraints.len; traces->constraints++) {
        int r = constraint_add(search, &claim->constraints[traces->constraints], &requester, candidate);
        if (r <= 0)
            return r < 0 ? PICK_FAILED : PICK_UNSUITABLE;
    }
    return PICKED;
}

static void note_picked(struct search *search, const struct step *step, struct candidate *candidate,
                        struct traces *traces)
{
    struct wanted_claim *claim = &search->claims[step->claim];
    const struct alternative *alternative = alternative_of(search, step);
    traces->shared = is_shareable(search, candidate);
    traces->marked = !traces->shared;
    if (traces->shared)
        capacity_take(search, alternative->api->capacity, candidate);
    else
        mark(search, candidate, step->claim);
    claim->picked[claim->picked_len++] = (struct picked){ .candidate = candidate,
                                                          .request = &claim->requests[step->request],
                                                          .alternative = alternative };
    traces->added = true;
}

/* The device is in use already, by the search or by claims. A request with admin access may have any
 * device, once. */
static bool is_taken(const struct search *search, const struct step *step, struct candidate *candidate)
{
    const struct device_subrequest *request = alternative_of(search, step)->api;
    return request->admin_access.value ? is_picked_by(candidate, step->claim) : is_in_use(search, candidate);
}

static bool needs_what_is_off(const struct search *search, const struct candidate *candidate)
{
    const struct allocation_rules *rules = search->input->rules;
    if (candidate->device->consumes_counters.len && !rules->partitions)
        return true;
    return rules->newest && candidate->slice->skip_node_operations.len &&
           !(rules->optional_operations &&
             str_list_has(&search->input->node->status.declared_features, STR(OPTIONAL_OPERATIONS)));
}

/* Picks a device that matches, if it can be had. *ret_traces is for put_back(). */
static enum picked_as pick(struct search *search, const struct step *step, struct candidate *candidate,
                           struct traces *ret_traces)
{
    const struct device_subrequest *request = alternative_of(search, step)->api;
    const struct allocation_rules *rules = search->input->rules;
    const struct cluster *cluster = search->input->cluster;
    struct traces traces = { 0 };
    if (is_taken(search, step, candidate) || needs_what_is_off(search, candidate))
        return PICK_REFUSED;
    if (candidate->device->consumes_counters.len && !has_its_counters(search, candidate)) {
        if (rules->compatibility_groups && !candidate_is_compatible(&search->pools, candidate, cluster))
            return PICK_REFUSED;
        if (!candidate_take_counters(candidate, cluster, search->input->scratch))
            return PICK_REFUSED;
        traces.counters = true;
    }
    bool repelled = rules->taints && is_repelled(candidate, request);
    enum picked_as picked = repelled ? PICK_REFUSED : meets_constraints(search, step, candidate, &traces);
    struct str why; /* not needed: what cannot be computed was seen when the device was found */
    if (picked == PICKED &&
        capacity_suffices(search, request->capacity, candidate, CAPACITY_IN_REST, &why) <= 0)
        picked = PICK_REFUSED;
    if (picked != PICKED) {
        put_back(search, step, candidate, &traces);
        return picked;
    }
    note_picked(search, step, candidate, &traces);
    *ret_traces = traces;
    return PICKED;
}

/* ---- steps ---- */
/* All devices are wanted: the next of them or none. */
static enum found take_given(struct search *search, struct step step)
{
    struct wanted_claim *claim = &search->claims[step.claim];
    const struct alternative *alternative = alternative_of(search, &step);
    struct candidate *candidate = alternative->all[step.device];
    struct traces traces;
    enum picked_as picked = pick(search, &step, candidate, &traces);
    if (picked == PICK_REFUSED)
        return FOUND_NOTHING;
    if (picked == PICK_UNSUITABLE)
        search_fails(search,
                     "claim " META_FMT ", request " STR_FMT ": cannot add device " STR_FMT "/" STR_FMT
                     "/" STR_FMT " because a claim constraint would not be satisfied",
                     META_ARG(&claim->api->meta), STR_ARG(alternative->name),
                     STR_ARG(candidate->pool->driver), STR_ARG(candidate->pool->name),
                     STR_ARG(candidate->device->name));
    if (picked != PICKED)
        return FOUND_FAILURE;
    struct step next = step;
    next.device++;
    enum found found = take_step(search, next);
    if (found != FOUND_ALL)
        put_back(search, &step, candidate, &traces);
    return found;
}

/* Does the device match, and does it have enough? 1, 0, or -1: failed. */
static int is_suitable(struct search *search, const struct wanted_claim *claim,
                       struct alternative *alternative, struct candidate *candidate)
{
    struct str why;
    int r = search_matches(search, claim, alternative, candidate);
    if (r <= 0)
        return r;
    r = capacity_suffices(search, alternative->api->capacity, candidate, CAPACITY_IN_REST, &why);
    if (r < 0)
        search_fails(search,
                     "claim " META_FMT ", request " STR_FMT ": checking capacity for device " STR_FMT
                     "/" STR_FMT "/" STR_FMT ": " STR_FMT,
                     META_ARG(&claim->api->meta), STR_ARG(alternative->name),
                     STR_ARG(candidate->pool->driver), STR_ARG(candidate->pool->name),
                     STR_ARG(candidate->device->name), STR_ARG(why));
    return r;
}

static enum found take_any(struct search *search, struct step step)
{
    struct wanted_claim *claim = &search->claims[step.claim];
    struct alternative *alternative = alternative_of(search, &step);
    for (uint32_t i = step.first; i < search->pools.candidates_len; i++) {
        struct candidate *candidate = &search->pools.candidates[i];
        struct traces traces;
        if (!search_spend(search, LOOK_NS))
            return FOUND_FAILURE;
        if (is_taken(search, &step, candidate))
            continue;
        /* Before constraints see the device: they do not forget it without a trace. */
        int suitable = is_suitable(search, claim, alternative, candidate);
        if (suitable < 0)
            return FOUND_FAILURE;
        enum picked_as picked = suitable ? pick(search, &step, candidate, &traces) : PICK_REFUSED;
        if (picked == PICK_FAILED)
            return FOUND_FAILURE;
        if (picked != PICKED)
            continue;
        struct step next = step;
        next.device++;
        next.first = i + 1;
        enum found found = take_step(search, next);
        if (found == FOUND_ALL)
            return found;
        put_back(search, &step, candidate, &traces);
        if (found != FOUND_NOTHING)
            return found;
    }
    return FOUND_NOTHING;
}

/* One alternative after the other. Too many devices with one of them may be few enough with the next. */
static enum found take_alternatives(struct search *search, struct step step)
{
    struct wanted_request *request = &search->claims[step.claim].requests[step.request];
    bool always_too_many = true;
    step.in_alternative = true;
    for (step.alternative = 0; step.alternative < request->len; step.alternative++) {
        enum found found = take_step(search, step);
        if (found == FOUND_TOO_MANY)
            continue;
        always_too_many = false;
        if (found == FOUND_ALL)
            request->chosen = step.alternative;
        if (found != FOUND_NOTHING)
            return found;
    }
    return always_too_many ? FOUND_TOO_MANY : FOUND_NOTHING;
}

static enum found take_next_claim(struct search *search, struct step step)
{
    enum found found = take_step(search, (struct step){ .claim = step.claim + 1 });
    /* Another choice for an earlier claim may still help. */
    return found == FOUND_TOO_MANY ? FOUND_NOTHING : found;
}

static enum found take_step(struct search *search, struct step step)
{
    if (!search_spend(search, STEP_NS))
        return FOUND_FAILURE;
    if (step.claim >= search->input->len)
        return FOUND_ALL;
    struct wanted_claim *claim = &search->claims[step.claim];
    if (step.request >= claim->api->spec.requests.len)
        return take_next_claim(search, step);
    if (!step.in_alternative && claim->requests[step.request].alternatives[0].has_parent)
        return take_alternatives(search, step);
    const struct alternative *alternative = alternative_of(search, &step);
    if (alternative->wants_all && !alternative->devices)
        return FOUND_NOTHING;
    if (step.device >= alternative->devices)
        return take_step(search, (struct step){ .claim = step.claim, .request = step.request + 1 });
    if (claim->picked_len + alternative->devices - step.device > RESULTS_MAX)
        return FOUND_TOO_MANY;
    return alternative->wants_all ? take_given(search, step) : take_any(search, step);
}

/* ---- all of it ---- */
void allocation_rules_init(struct allocation_rules *rules, const struct features *features)
{
    const bool *enabled = features->enabled;
    bool preparation =
        enabled[FEATURE_DRADeviceBindingConditions] && enabled[FEATURE_DRAResourceClaimDeviceStatus];
    bool newest = enabled[FEATURE_DRAListTypeAttributes] || enabled[FEATURE_DRADerivedAttributes] ||
                  enabled[FEATURE_DRADeviceCompatibilityGroups] || enabled[FEATURE_DRAOptionalNodeOperations];
    bool oldest = !newest && !preparation && !enabled[FEATURE_DRAConsumableCapacity];
    *rules = (struct allocation_rules){
        .release = features->release,
        .oldest = oldest,
        .newest = newest && features->release->newest_device_fields_count,
        .alternatives = enabled[FEATURE_DRAPrioritizedList],
        .shares = enabled[FEATURE_DRAConsumableCapacity],
        .partitions = enabled[FEATURE_DRAPartitionableDevices],
        .taints = enabled[FEATURE_DRADeviceTaints],
        .preparation = preparation,
        .fractional_ranges = enabled[FEATURE_DRAFractionalCapacityRange],
        .counters_have_nodes = features->release->counters_have_nodes && !oldest,
        .lists = enabled[FEATURE_DRAListTypeAttributes],
        .compatibility_groups = enabled[FEATURE_DRADeviceCompatibilityGroups],
        .derived_attributes = enabled[FEATURE_DRADerivedAttributes],
        .optional_operations = enabled[FEATURE_DRAOptionalNodeOperations],
    };
}

bool search_spend(struct search *search, int64_t work_ns)
{
    search->spent_ns += work_ns;
    if (search->input->timeout_ns <= 0 || search->spent_ns <= search->input->timeout_ns)
        return true;
    return search_fails(search, "node " STR_FMT ": timed out trying to allocate devices",
                        STR_ARG(search->input->node->meta.name));
}

/* Nothing was found. Where a pool is invalid, that may be why. */
static struct status found_nothing(const struct search *search)
{
    for (uint32_t i = 0; i < search->pools.len; i++)
        if (search->pools.items[i]->invalid)
            return reject(STATUS_UNRESOLVABLE, "invalid resource pools were encountered");
    return reject(STATUS_UNRESOLVABLE, "cannot allocate all claims");
}

struct status allocate(const struct allocate_input *input, struct allocation_result **ret)
{
    struct search search = { .input = input };
    struct str why;
    if (!pools_gather(input->cluster, input->rules, input->node, input->scratch, &search.pools, &why))
        return status_printf(input->arena, STATUS_ERROR, "gather pool information: " STR_FMT, STR_ARG(why));
    enum found found = search_prepare(&search) ? take_step(&search, (struct step){ 0 }) : FOUND_FAILURE;
    if (found == FOUND_NOTHING)
        return found_nothing(&search);
    if (found == FOUND_TOO_MANY)
        return reject(STATUS_ERROR, "allocation max size exceeded");
    if (found == FOUND_FAILURE)
        return search.failure;
    struct allocation_result *found_for = arena_array(input->arena, struct allocation_result, input->len);
    for (uint32_t i = 0; i < input->len; i++)
        if (!search_describe(&search, &search.claims[i], &found_for[i]))
            return search.failure;
    *ret = found_for;
    return STATUS_OK;
}
