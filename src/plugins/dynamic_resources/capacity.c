/* capacity.c: the arithmetic of shared devices; see search.h. */
#include "plugins/dynamic_resources/search.h"

#include "api/resource_list.h"

static struct quantity or_zero(const struct quantity *quantity)
{
    return quantity ? *quantity : (struct quantity){ 0 };
}

static const struct quantity *wanted_of(const struct capacity_requirements *wanted, struct str name)
{
    if (wanted)
        list_for(&wanted->requests, request)
            if (str_eq(request->name, name))
                return &request->amount;
    return NULL;
}

/* Why a request cannot be represented: the texts before and after its amount. */
struct unrepresentable {
    const char *before, *after;
};
static const struct unrepresentable request_too_large = { "request ", " exceeds MaxInt64" },
                                    step_too_large = { "rounding request ",
                                                       " up to the next step passes MaxInt64" },
                                    request_too_fine = { "request ", " is not a representable milli value" },
                                    milli_step_too_large = {
                                        "rounding request ",
                                        " up to the next step passes the milli-value range"
                                    };

/* In thousandths, if that is exact. */
static bool exact_milli(struct quantity q, int64_t *ret)
{
    enum { NANO_PER_MILLI = 1000000, MILLI_PER_UNIT = 1000 };
    __int128 milli = (__int128)q.units * MILLI_PER_UNIT + q.nano / NANO_PER_MILLI;
    *ret = (int64_t)milli;
    return q.nano % NANO_PER_MILLI == 0 && milli <= INT64_MAX && milli >= INT64_MIN;
}

/* Is the range computed in thousandths? Otherwise in whole units. */
static bool is_in_milli(const struct allocation_rules *rules, const struct capacity_range *range)
{
    int64_t milli;
    if (!rules->fractional_ranges || (range->min && !exact_milli(*range->min, &milli)) ||
        (range->max && !exact_milli(*range->max, &milli)))
        return false;
    return !range->step || (exact_milli(*range->step, &milli) && milli >= 1);
}

/* The first step from `min` on that is not below; false: it does not fit 64 bits, and *ret has wrapped around. */
static bool next_step(int64_t wanted, int64_t min, int64_t step, int64_t *ret)
{
    __int128 steps = ((__int128)wanted - min + step - 1) / step, sum = min + steps * step;
    *ret = (int64_t)sum;
    return sum <= INT64_MAX;
}

static const struct unrepresentable *round_up_milli(struct quantity wanted,
                                                    const struct capacity_range *range, struct quantity *ret)
{
    enum { NANO_PER_MILLI = 1000000, MILLI_PER_UNIT = 1000 };
    int64_t milli, min, step, sum;
    exact_milli(*range->min, &min);
    exact_milli(*range->step, &step);
    if (!exact_milli(wanted, &milli))
        return &request_too_fine;
    if (!next_step(milli, min, step, &sum))
        return &milli_step_too_large;
    int64_t units = sum / MILLI_PER_UNIT - (sum % MILLI_PER_UNIT < 0), rest = sum - units * MILLI_PER_UNIT;
    *ret = (struct quantity){
        .units = units, .nano = (uint32_t)rest * NANO_PER_MILLI, .binary = range->step->binary, .finer = rest
    };
    return NULL;
}

/* Up to the next step from the minimum. Amounts end at MaxInt64; a decimal one that is as large was larger. */
static const struct unrepresentable *round_up_range(const struct allocation_rules *rules,
                                                    struct quantity wanted,
                                                    const struct capacity_range *range, struct quantity *ret)
{
    bool exact = rules->release->capacity_is_computed_exactly;
    *ret = wanted;
    if (quantity_cmp(wanted, *range->min) < 0) {
        *ret = *range->min;
        return NULL;
    }
    if (!range->step || quantity_value(*range->step) <= 0)
        return NULL;
    if (is_in_milli(rules, range))
        return round_up_milli(wanted, range, ret);
    if (exact && wanted.units == INT64_MAX && !wanted.binary)
        return &request_too_large;
    int64_t sum;
    bool fits =
        next_step(quantity_value(wanted), quantity_value(*range->min), quantity_value(*range->step), &sum);
    if (exact && !fits)
        return &step_too_large;
    *ret = quantity_from_int(sum);
    ret->binary = exact ? range->step->binary : true;
    return NULL;
}

/* Up to the next value that is allowed; they are sorted. */
static struct quantity round_up_values(struct quantity wanted, const struct quantity_list *values)
{
    list_for(values, value)
        if (quantity_cmp(wanted, *value) <= 0)
            return *value;
    return wanted;
}

/* *ret: what a request takes of one capacity. NULL, or why it cannot be represented. */
static const struct unrepresentable *resolve(const struct allocation_rules *rules,
                                             const struct capacity_requirements *wanted,
                                             const struct device_capacity *capacity, struct quantity *ret)
{
    const struct capacity_policy *policy = capacity->policy;
    const struct quantity *amount = wanted_of(wanted, capacity->key);
    if (amount && policy && policy->valid_range && policy->valid_range->min)
        return round_up_range(rules, *amount, policy->valid_range, ret);
    if (!amount)
        *ret = policy && policy->default_value ? *policy->default_value : or_zero(capacity->value);
    else
        *ret = policy ? round_up_values(*amount, &policy->valid_values) : *amount;
    return NULL;
}

struct quantity capacity_consumed(const struct allocation_rules *rules,
                                  const struct capacity_requirements *wanted,
                                  const struct device_capacity *capacity)
{
    struct quantity amount;
    resolve(rules, wanted, capacity, &amount);
    return amount;
}

static bool violates_range(const struct allocation_rules *rules, struct quantity amount,
                           const struct capacity_range *range)
{
    if (range->max && quantity_cmp(amount, *range->max) > 0)
        return true;
    if (!range->step)
        return false;
    int64_t taken = quantity_value(amount), step = quantity_value(*range->step),
            min = quantity_value(or_zero(range->min));
    if (is_in_milli(rules, range)) {
        if (!exact_milli(amount, &taken))
            return true;
        exact_milli(*range->step, &step);
        exact_milli(or_zero(range->min), &min);
    }
    return step && ((__int128)taken - min) % step != 0;
}

static bool violates_policy(const struct allocation_rules *rules, struct quantity amount,
                            const struct capacity_policy *policy)
{
    if (!policy || (policy->default_value && quantity_cmp(amount, *policy->default_value) == 0))
        return false;
    if (policy->valid_range)
        return violates_range(rules, amount, policy->valid_range);
    list_for(&policy->valid_values, value)
        if (quantity_cmp(amount, *value) == 0)
            return false;
    return policy->valid_values.len;
}

static struct quantity held(const struct device_use *use, struct str name)
{
    if (use)
        vec_for(&use->amounts, amount)
            if (str_eq(amount->name, name))
                return amount->amount;
    return (struct quantity){ 0 };
}

static bool has_capacity(const struct device *device, struct str name)
{
    list_for(&device->capacity, capacity)
        if (str_eq(capacity->key, name))
            return true;
    return false;
}

/* Can all amounts be computed? That is asked of all of them before one is too large. */
static bool is_computable(const struct search *search, const struct capacity_requirements *wanted,
                          const struct device *device, struct str *ret_why)
{
    list_for(&device->capacity, capacity) {
        struct quantity amount;
        char text[QUANTITY_LEN_MAX];
        const struct unrepresentable *why = resolve(search->input->rules, wanted, capacity, &amount);
        if (why)
            *ret_why =
                arena_printf(search->input->scratch,
                             "capacity \"" STR_FMT "\": capacity request cannot be represented in the "
                             "device's range arithmetic: %s" STR_FMT "%s",
                             STR_ARG(capacity->key), why->before,
                             STR_ARG(quantity_format(*wanted_of(wanted, capacity->key), text)), why->after);
        else if (amount.units < 0)
            *ret_why =
                arena_printf(search->input->scratch, "capacity \"" STR_FMT "\": capacity value is negative",
                             STR_ARG(capacity->key));
        if (why || amount.units < 0)
            return false;
    }
    return true;
}

int capacity_suffices(const struct search *search, const struct capacity_requirements *wanted,
                      struct candidate *candidate, enum capacity_in in, struct str *ret_why)
{
    const struct allocation_rules *rules = search->input->rules;
    const struct device *device = candidate->device;
    if (!rules->shares)
        return 1;
    if (wanted)
        list_for(&wanted->requests, request)
            if (!has_capacity(device, request->name))
                return 0;
    if (rules->release->capacity_is_computed_exactly && !is_computable(search, wanted, device, ret_why))
        return -1;
    for (uint32_t i = 0; i < device->capacity.len; i++) {
        const struct device_capacity *capacity = &device->capacity.items[i];
        struct quantity sum = capacity_consumed(rules, wanted, capacity);
        if (violates_policy(rules, sum, capacity->policy))
            return 0;
        if (in == CAPACITY_IN_REST)
            sum = quantity_add(sum, held(candidate_use(candidate, search->input->cluster), capacity->key));
        if (in == CAPACITY_IN_REST && candidate->taken)
            sum = quantity_add(sum, candidate->taken[i]);
        if (quantity_cmp(sum, or_zero(capacity->value)) > 0)
            return 0;
    }
    return 1;
}

/* Adds what the request takes of each capacity, or subtracts it. */
static void count_share(const struct search *search, const struct capacity_requirements *wanted,
                        struct candidate *candidate, bool take)
{
    struct quantity *taken = candidate->taken;
    list_for(&candidate->device->capacity, capacity) {
        struct quantity amount = capacity_consumed(search->input->rules, wanted, capacity);
        *taken = take ? quantity_add(*taken, amount) : quantity_sub(*taken, amount);
        taken++;
    }
    candidate->shares += take ? 1 : -1u;
}

void capacity_take(const struct search *search, const struct capacity_requirements *wanted,
                   struct candidate *candidate)
{
    if (!candidate->taken)
        candidate->taken =
            arena_array(search->input->scratch, struct quantity, candidate->device->capacity.len);
    count_share(search, wanted, candidate, true);
}

void capacity_return(const struct search *search, const struct capacity_requirements *wanted,
                     struct candidate *candidate)
{
    count_share(search, wanted, candidate, false);
}
