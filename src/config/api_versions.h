/* api_versions.h: the versions of kubescheduler.config.k8s.io that berth reads.
 *
 * They differ little: an old file is read by the tables of v1. What an old version has beside that is a column here. */
#ifndef CONFIG_API_VERSIONS_H
#define CONFIG_API_VERSIONS_H

#include <stdbool.h>

#define CONFIG_GROUP "kubescheduler.config.k8s.io"

struct api_version {
    const char *name;
    const char *removed_in; /* the release of kube-scheduler that no longer reads it; NULL: all read it */
    bool has_older_weights; /* some plugins have another weight by default */
    bool has_insecure_addresses; /* it has fields for addresses without TLS */
};

/* NULL: berth does not read it. */
const struct api_version *api_version_find(const char *name);

#endif
