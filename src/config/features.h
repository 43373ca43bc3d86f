/* features.h: feature gates, on or off for the process, as the release knows them that it stands in for. */
#ifndef CONFIG_FEATURES_H
#define CONFIG_FEATURES_H

#include "base/common.h"
#include "base/error.h"
#include "base/str.h"
#include "config/versions.h"

enum feature {
#define FEATURE(name, ...) FEATURE_##name,
#include "config/features.def"
    FEATURE_COUNT
};

enum feature_stage { FEATURE_ALPHA, FEATURE_BETA, FEATURE_GA, FEATURE_DEPRECATED };

/* What a gate does here; see features.def. */
enum feature_here { FEATURE_SWITCHES, FEATURE_FIXED, FEATURE_OTHERS };

enum { FEATURE_STATES_MAX = 3 };

/* What a gate is, from a release on. */
struct feature_state {
    int minor;      /* 0: there is no such row */
    int compatible; /* only if no component is older than that; 0: always */
    bool by_default;
    enum feature_stage stage;
    bool locked; /* cannot be turned away from its default */
    bool gone;
};

struct feature_info {
    const char *name;
    enum feature_here here;
    struct feature_state states[FEATURE_STATES_MAX];
};

extern const struct feature_info feature_infos[FEATURE_COUNT]; /* sorted by name */
extern const char *const feature_stage_names[];

struct features {
    const struct release *release;
    int compatible; /* the oldest release among the control plane's components, its minor version */
    bool enabled[FEATURE_COUNT];
};

/* NULL: the default release. `compatible` is 0: the one before. */
void features_default(struct features *ret, const struct release *release, int compatible);
/* The gate of that name, in any release; or -1. */
int feature_find(struct str name);
/* What the gate is in the release of `features`; NULL: that does not know it. */
const struct feature_state *feature_state(const struct features *features, enum feature feature);

/* The requested gates; a zeroed one requests nothing. */
struct feature_choices {
    bool given[FEATURE_COUNT], value[FEATURE_COUNT];
};

/* Adds "Name=true" to the choices, if the release of `features` knows it; the last word on a gate counts. */
int feature_choose(struct feature_choices *choices, const struct features *features, struct str setting,
                   struct error *err);
/* Changes the defaults by these choices; AllAlpha and AllBeta speak for the gates of which nothing else is said.
 * Refused, and `features` stays as it is: to turn a locked gate or one that is FIXED here, and a gate without those
 * that it needs. */
int features_resolve(const struct feature_choices *choices, struct features *features, struct error *err);

#endif
