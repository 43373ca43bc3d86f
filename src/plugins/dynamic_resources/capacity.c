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

/* Up to the next step from the minimum. */
static struct quantity round_up_range(struct quantity wanted, const struct capacity_range *range)
{
    if (quantity_cmp(wanted, *range->min) < 0)
        return *range->min;
    if (!range->step || quantity_value(*range->step) <= 0)
        return wanted;
    __int128 step = quantity_value(*range->step), min = quantity_value(*range->min);
    __int128 steps = (quantity_value(wanted) - min + step - 1) / step, sum = min + steps * step;
    struct quantity ret = quantity_from_int(sum > INT64_MAX ? INT64_MAX : (int64_t)sum);
    ret.binary = true;
    return ret;
}

/* Up to the next value that is allowed; they are sorted. */
static struct quantity round_up_values(struct quantity wanted, const struct quantity_list *values)
{
    list_for(values, value)
        if (quantity_cmp(wanted, *value) <= 0)
            return *value;
    return wanted;
}

struct quantity capacity_consumed(const struct capacity_requirements *wanted,
                                  const struct device_capacity *capacity)
{
    const struct capacity_policy *policy = capacity->policy;
    const struct quantity *amount = wanted_of(wanted, capacity->key);
    if (!amount)
        return policy && policy->default_value ? *policy->default_value : or_zero(capacity->value);
    if (!policy)
        return *amount;
    if (policy->valid_range && policy->valid_range->min)
        return round_up_range(*amount, policy->valid_range);
    return round_up_values(*amount, &policy->valid_values);
}

static bool violates_range(struct quantity amount, const struct capacity_range *range)
{
    if (range->max && quantity_cmp(amount, *range->max) > 0)
        return true;
    int64_t step = range->step ? quantity_value(*range->step) : 0;
    __int128 above = (__int128)quantity_value(amount) - quantity_value(or_zero(range->min));
    return step && above % step != 0;
}

static bool violates_policy(struct quantity amount, const struct capacity_policy *policy)
{
    if (!policy || (policy->default_value && quantity_cmp(amount, *policy->default_value) == 0))
        return false;
    if (policy->valid_range)
        return violates_range(amount, policy->valid_range);
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

bool capacity_suffices(const struct capacity_requirements *wanted, struct candidate *candidate,
                       const struct cluster *cluster)
{
    const struct device *device = candidate->device;
    if (wanted)
        list_for(&wanted->requests, request)
            if (!has_capacity(device, request->name))
                return false;
    for (uint32_t i = 0; i < device->capacity.len; i++) {
        const struct device_capacity *capacity = &device->capacity.items[i];
        struct quantity sum = capacity_consumed(wanted, capacity);
        if (violates_policy(sum, capacity->policy))
            return false;
        sum = quantity_add(sum, held(candidate_use(candidate, cluster), capacity->key));
        if (candidate->taken)
            sum = quantity_add(sum, candidate->taken[i]);
        if (quantity_cmp(sum, or_zero(capacity->value)) > 0)
            return false;
    }
    return true;
}

/* Adds what the request takes of each capacity, or subtracts it. */
static void count_share(const struct capacity_requirements *wanted, struct candidate *candidate, bool take)
{
    struct quantity *taken = candidate->taken;
    list_for(&candidate->device->capacity, capacity) {
        struct quantity amount = capacity_consumed(wanted, capacity);
        *taken = take ? quantity_add(*taken, amount) : quantity_sub(*taken, amount);
        taken++;
    }
    candidate->shares += take ? 1 : -1u;
}

void capacity_take(const struct capacity_requirements *wanted, struct candidate *candidate,
                   struct arena *arena)
{
    if (!candidate->taken)
        candidate->taken = arena_array(arena, struct quantity, candidate->device->capacity.len);
    count_share(wanted, candidate, true);
}

void capacity_return(const struct capacity_requirements *wanted, struct candidate *candidate)
{
    count_share(wanted, candidate, false);
}
