/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "plugins/inter_pod_affinity/args.h"

#include "codec/record_rows.h"

#define T struct inter_pod_affinity_args
static const struct record_field args_fields[] = {
    F("hardPodAffinityWeight", 0, INT32, hard_pod_affinity_weight, RECORD_ALWAYS),
    F("ignorePreferredTermsOfExistingPods", 0, BOOL, ignore_preferred_terms_of_existing_pods, RECORD_ALWAYS),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void preset(void *ret, const struct features *features _unused_)
{
    ((struct inter_pod_affinity_args *)ret)->hard_pod_affinity_weight = 1;
}

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct inter_pod_affinity_args *args = args_;
    int32_t weight = args->hard_pod_affinity_weight;
    if (weight < 0 || weight > 100)
        problem_int(problems, PATH_FIELD(path, "hardPodAffinityWeight"), weight,
                    "not in valid range [0, 100]");
}

const struct plugin_args_kind inter_pod_affinity_args_kind = {
    .type = &args_type,
    .preset = preset,
    .validate = validate,
};
