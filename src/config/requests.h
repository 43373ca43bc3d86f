/* requests.h: how the release and its feature gates count what a pod requests. */
#ifndef CONFIG_REQUESTS_H
#define CONFIG_REQUESTS_H

#include "api/pod_resources.h"
#include "config/features.h"

/* Of a pod on its node, whose status counts. */
struct pod_requests_options requests_options(const struct features *features);
/* How claims say what they take of the node (DRANodeAllocatableResources). */
enum claims_counted requests_claims(const struct features *features);

#endif
