/* observation.h: what became of pods, for plugins that learn from it.
 *
 * A plugin with `observe` is told between decisions, and may change what it keeps: all that it learns comes from the
 * engine and its clock, so that a replay repeats it. Without such a plugin nothing is made. */
#ifndef FRAMEWORK_OBSERVATION_H
#define FRAMEWORK_OBSERVATION_H

#include "framework/profile.h"

#define OBSERVED_KINDS(X) \
    X(ATTEMPT_BEGINS) /* the pod is about to be decided; twice, at the same time, where that is explained */ \
    X(ATTEMPT_PLACED) /* it got a node */ \
    X(ATTEMPT_FAILED) /* it got none */ \
    X(POD_GONE)       /* a pod that was bound to a node has ended, or was deleted; it is still in the model */

enum observed {
#define X(name) OBSERVED_##name,
    OBSERVED_KINDS(X)
#undef X
};

struct observation {
    enum observed kind;
    const struct cluster *cluster;
    const struct pod_info *pod;
    int64_t at_ns;     /* since 1970 */
    int64_t waited_ns; /* of an attempt that is over: since the pod was first ready to be decided */
    bool is_alone;     /* no engine runs with the profile: nothing else is observed */
};

/* All plugins of the profile that observe. */
static inline void profile_observe(const struct profile *profile, const struct observation *what)
{
    for (uint32_t i = 0; profile->has_observers && i < profile->plugins_len; i++)
        if (profile->plugins[i].plugin->observe)
            profile->plugins[i].plugin->observe(profile->plugins[i].self, what);
}

/* Those whose data was made for this profile: each is told once of what is told to all profiles. */
static inline void profile_observe_own(const struct profile *profile, const struct observation *what)
{
    for (uint32_t i = 0; profile->has_observers && i < profile->plugins_len; i++)
        if (profile->plugins[i].plugin->observe && profile->plugins[i].is_made)
            profile->plugins[i].plugin->observe(profile->plugins[i].self, what);
}

#endif
