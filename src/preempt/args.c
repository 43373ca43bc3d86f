/* args.c: see args.h. Ranges and sentences are those of the reference. */
#include "preempt/args.h"

#include "codec/record_rows.h"

#define T struct default_preemption_args
static const struct record_field args_fields[] = {
    F("minCandidateNodesPercentage", 0, INT32, min_candidate_nodes_percentage, RECORD_ALWAYS),
    F("minCandidateNodesAbsolute", 0, INT32, min_candidate_nodes_absolute, RECORD_ALWAYS),
};
TYPE_WITH(args, .has_type_meta = true)
#undef T

static void preset(void *ret, const struct features *features _unused_)
{
    *(struct default_preemption_args *)ret = (struct default_preemption_args){
        .min_candidate_nodes_percentage = 10,
        .min_candidate_nodes_absolute = 100,
    };
}

static void validate(const void *args_, const struct path *path, const struct features *features _unused_,
                     struct problems *problems)
{
    const struct default_preemption_args *args = args_;
    int32_t percentage = args->min_candidate_nodes_percentage, absolute = args->min_candidate_nodes_absolute;
    const struct path *percentage_at = PATH_FIELD(path, "minCandidateNodesPercentage");
    const struct path *absolute_at = PATH_FIELD(path, "minCandidateNodesAbsolute");
    if (percentage < 0 || percentage > 100)
        problem_int(problems, percentage_at, percentage, "not in valid range [0, 100]");
    if (absolute < 0)
        problem_int(problems, absolute_at, absolute, "not in valid range [0, inf)");
    if (percentage == 0 && absolute == 0) {
        problem_int(problems, percentage_at, 0,
                    "cannot be zero at the same time as minCandidateNodesAbsolute");
        problem_int(problems, absolute_at, 0,
                    "cannot be zero at the same time as minCandidateNodesPercentage");
    }
}

const struct plugin_args_kind default_preemption_args_kind = {
    .type = &args_type,
    .preset = preset,
    .validate = validate,
};
