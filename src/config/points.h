/* points.h: the extension points of the scheduling framework, one list.
 *
 * The order is the one in which a profile is checked: where several things are wrong, the first of them in this
 * order is reported. MultiPoint is a section of the configuration, not a point at which anything runs. */
#ifndef CONFIG_POINTS_H
#define CONFIG_POINTS_H

#define EXTENSION_POINTS(X) \
    /* enum, field of the configuration, name in messages, name of the interface in messages */ \
    X(PRE_FILTER, "preFilter", "PreFilter", "PreFilterPlugin") \
    X(FILTER, "filter", "Filter", "FilterPlugin") \
    X(POST_FILTER, "postFilter", "PostFilter", "PostFilterPlugin") \
    X(RESERVE, "reserve", "Reserve", "ReservePlugin") \
    X(PRE_SCORE, "preScore", "PreScore", "PreScorePlugin") \
    X(SCORE, "score", "Score", "ScorePlugin") \
    X(PRE_BIND, "preBind", "PreBind", "PreBindPlugin") \
    X(BIND, "bind", "Bind", "BindPlugin") \
    X(POST_BIND, "postBind", "PostBind", "PostBindPlugin") \
    X(PERMIT, "permit", "Permit", "PermitPlugin") \
    X(PRE_ENQUEUE, "preEnqueue", "PreEnqueue", "PreEnqueuePlugin") \
    X(QUEUE_SORT, "queueSort", "QueueSort", "QueueSortPlugin") \
    X(PLACEMENT_GENERATE, "placementGenerate", "PlacementGenerate", "PlacementGeneratePlugin") \
    X(PLACEMENT_SCORE, "placementScore", "PlacementScore", "PlacementScorePlugin")

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
};

extern const struct point_info point_infos[POINT_SECTIONS];

#endif
