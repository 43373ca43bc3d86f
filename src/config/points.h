/* points.h: the extension points of the scheduling framework, one list.
 *
 * The order is the one in which a profile is checked: where several things are wrong, the first of them in this
 * order is reported. MultiPoint is a section of the configuration, not a point at which anything runs. */
#ifndef CONFIG_POINTS_H
#define CONFIG_POINTS_H

#include "config/versions.h"

#define EXTENSION_POINTS(X) \
    /* enum, field of the configuration, name in messages, name of the interface in messages, what it came with */ \
    X(PRE_FILTER, "preFilter", "PreFilter", "PreFilterPlugin", NONE) \
    X(FILTER, "filter", "Filter", "FilterPlugin", NONE) \
    X(POST_FILTER, "postFilter", "PostFilter", "PostFilterPlugin", NONE) \
    X(RESERVE, "reserve", "Reserve", "ReservePlugin", NONE) \
    X(PRE_SCORE, "preScore", "PreScore", "PreScorePlugin", NONE) \
    X(SCORE, "score", "Score", "ScorePlugin", NONE) \
    X(PRE_BIND, "preBind", "PreBind", "PreBindPlugin", NONE) \
    X(BIND, "bind", "Bind", "BindPlugin", NONE) \
    X(POST_BIND, "postBind", "PostBind", "PostBindPlugin", NONE) \
    X(PERMIT, "permit", "Permit", "PermitPlugin", NONE) \
    X(PRE_ENQUEUE, "preEnqueue", "PreEnqueue", "PreEnqueuePlugin", NONE) \
    X(QUEUE_SORT, "queueSort", "QueueSort", "QueueSortPlugin", NONE) \
    X(PLACEMENT_GENERATE, "placementGenerate", "PlacementGenerate", "PlacementGeneratePlugin", NONE) \
    X(PLACEMENT_SCORE, "placementScore", "PlacementScore", "PlacementScorePlugin", NONE) \
    X(POD_GROUP_POST_FILTER, "podGroupPostFilter", "PodGroupPostFilter", "PodGroupPostFilterPlugin", \
      pod_groups_have_post_filter)

enum extension_point {
#define X(name, ...) POINT_##name,
    EXTENSION_POINTS(X)
#undef X
        POINT_COUNT,
    POINT_MULTI = POINT_COUNT, /* the multiPoint section */
    POINT_SECTIONS
};

/* For masks of points. */
#define POINT_BIT(point) (UINT32_C(1) << (point))

struct point_info {
    const char *field;     /* "preFilter" */
    const char *name;      /* "PreFilter" */
    const char *interface; /* "PreFilterPlugin" */
    enum behaviour since;  /* what it came with */
};

/* Points that a plugin of the reference has only in some releases. */
struct newer_points {
    uint32_t mask;
    enum behaviour since;
};

extern const struct point_info point_infos[POINT_SECTIONS];

#endif
