/* api_versions.c: see api_versions.h. */
#include "config/api_versions.h"

#include <string.h>

#include "base/common.h"

static const struct api_version versions[] = {
    { CONFIG_GROUP "/v1" },
    { CONFIG_GROUP "/v1beta3", .removed_in = "v1.29" },
    { CONFIG_GROUP "/v1beta2", .removed_in = "v1.28", .has_older_weights = true,
      .has_insecure_addresses = true },
};

const struct api_version *api_version_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
        if (strcmp(name, versions[i].name) == 0)
            return &versions[i];
    return NULL;
}
