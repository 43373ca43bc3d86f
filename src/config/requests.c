/* requests.c: see requests.h. InPlacePodVerticalScaling is locked in every release here. */
#include "config/requests.h"

struct pod_requests_options requests_options(const struct features *features)
{
    return (struct pod_requests_options){
        .use_status = true,
        .use_status_pod_level = features->enabled[FEATURE_InPlacePodLevelResourcesVerticalScaling],
        .largest_total = features->release->resized_pods_count_by_total,
        .skip_pod_level = !features->enabled[FEATURE_PodLevelResources],
    };
}

enum claims_counted requests_claims(const struct features *features)
{
    if (!features->enabled[FEATURE_DRANodeAllocatableResources])
        return CLAIMS_LEFT_OUT;
    return features->release->claims_divide_node_resources ? CLAIMS_DIVIDED : CLAIMS_TOTAL;
}
