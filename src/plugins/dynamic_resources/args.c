/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "plugins/dynamic_resources/args.h"

#include "base/duration.h"
#include "codec/record_rows.h"

#define T struct dynamic_resources_args
static const struct record_field args_fields[] = {
    F("filterTimeout", 0, OPT_DURATION, filter_timeout_ns, RECORD_ALWAYS),
    F("bindingTimeout", 0, OPT_DURATION, binding_timeout_ns),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void preset(void *ret, const struct features *features)
{
    struct dynamic_resources_args *args = ret;
    if (features->enabled[FEATURE_DRASchedulerFilterTimeout])
        args->filter_timeout_ns = (struct opt_int64){ true, 10 * NS_PER_SECOND };
    if (features->enabled[FEATURE_DRADeviceBindingConditions] &&
        features->enabled[FEATURE_DRAResourceClaimDeviceStatus])
        args->binding_timeout_ns = (struct opt_int64){ true, 600 * NS_PER_SECOND };
}

static void validate(const void *args_, const struct path *path, const struct features *features,
                     struct problems *problems)
{
    const struct dynamic_resources_args *args = args_;
    struct opt_int64 filter = args->filter_timeout_ns, binding = args->binding_timeout_ns;
    const struct path *filter_at = PATH_FIELD(path, "filterTimeout");
    const struct path *binding_at = PATH_FIELD(path, "bindingTimeout");
    if (filter.set && !features->enabled[FEATURE_DRASchedulerFilterTimeout])
        problem_forbidden(problems, filter_at, "DRASchedulingFilterTimeout feature gate is disabled");
    else if (filter.set && filter.value < 0)
        problem_duration(problems, filter_at, filter.value, "must be zero or positive");
    if (binding.set && !(features->enabled[FEATURE_DRADeviceBindingConditions] &&
                         features->enabled[FEATURE_DRAResourceClaimDeviceStatus]))
        problem_forbidden(
            problems, binding_at,
            "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled");
    else if (binding.set && binding.value < NS_PER_SECOND)
        problem_duration(problems, binding_at, binding.value, "must be at least 1 second");
}

const struct plugin_args_kind dynamic_resources_args_kind = {
    .type = &args_type,
    .preset = preset,
    .validate = validate,
};
