/* features.h: feature gates, on or off for the whole process. */
#ifndef CONFIG_FEATURES_H
#define CONFIG_FEATURES_H

#include "base/common.h"
#include "base/str.h"

enum feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "config/features.def"
#undef FEATURE
    FEATURE_COUNT
};

enum feature_stage { FEATURE_ALPHA, FEATURE_BETA, FEATURE_GA };

struct feature_info {
    const char *name;
    bool by_default;
    enum feature_stage stage;
    bool locked; /* cannot be turned away from its default */
};

extern const struct feature_info feature_infos[FEATURE_COUNT];

struct features {
    bool enabled[FEATURE_COUNT];
};

void features_default(struct features *ret);
/* The gate of that name, or -1. */
int feature_find(struct str name);

#endif
