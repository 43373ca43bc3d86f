/* features.h: feature gates, on or off for the process. */
#ifndef CONFIG_FEATURES_H
#define CONFIG_FEATURES_H

#include "base/common.h"
#include "base/error.h"
#include "base/str.h"

enum feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "config/features.def"
    FEATURE_COUNT
};

enum feature_stage { FEATURE_ALPHA, FEATURE_BETA, FEATURE_GA, FEATURE_DEPRECATED };

/* What a gate does here; see features.def. */
enum feature_here { FEATURE_SWITCHES, FEATURE_FIXED, FEATURE_OTHERS };

struct feature_info {
    const char *name;
    bool by_default;
    enum feature_stage stage;
    bool locked; /* cannot be turned away from its default */
    enum feature_here here;
};

extern const struct feature_info feature_infos[FEATURE_COUNT]; /* sorted by name */
extern const char *const feature_stage_names[];

struct features {
    bool enabled[FEATURE_COUNT];
};

void features_default(struct features *ret);
/* The gate of that name, or -1. */
int feature_find(struct str name);

/* The requested gates; a zeroed one requests nothing. */
struct feature_choices {
    bool given[FEATURE_COUNT], value[FEATURE_COUNT];
};

/* Adds "Name=true" to the choices; the last word on a gate counts. */
int feature_choose(struct feature_choices *choices, struct str setting, struct error *err);
/* The gates with these choices; AllAlpha and AllBeta speak for the gates of which nothing else is said.
 * Refused: to turn a locked gate or one that is FIXED here, and a gate without those that it needs. */
int features_resolve(const struct feature_choices *choices, struct features *ret, struct error *err);

#endif
