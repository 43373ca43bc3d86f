/* stage.h: a cluster that random things happen to, with an engine beside it. */
#ifndef PROPERTY_STAGE_H
#define PROPERTY_STAGE_H

#include "codec/doc.h"
#include "engine/engine.h"
#include "property/objects.h"

enum { TEMPLATES_MAX = 14, CROWDED_EVERY = 1000, CROWDED_STEPS = 2500 };

struct stage {
    struct rng rng;
    struct cluster cluster;
    struct engine engine;
    struct features features; /* volumes are scored in some clusters */
    struct scheduler_config config;
    struct arena arena;               /* holds every object */
    VEC(struct doc_stream *) streams; /* the texts of the objects */
    struct template templates[TEMPLATES_MAX];
    uint32_t templates_len;
    uint32_t names;          /* of nodes: n0, n1, ...; not all of them are there at a time */
    struct node_dice *nodes; /* by name */
    bool images;             /* do nodes report images? */
    uint32_t volumes;        /* how many templates have volumes, in percent */
    bool nominates;          /* do pods get nominations here? */
    bool crowded;            /* more classes than the engine keeps tables for, and nobody leaves */
    VEC(struct pod_info *) placed, waiting;
    uint32_t pods;      /* made so far */
    struct strbuf text; /* of the object that was made last */
    const char *what;   /* the last change, for messages */
};

void stage_init(struct stage *stage, uint64_t seed);
void stage_release(struct stage *stage);
/* Something changes: pods go, nodes come, change and go, namespaces and controllers change. */
void stage_change(struct stage *stage);
/* A pod that waits for a decision; its text is in stage->text. `rare` asks for a template that is decided seldom. */
struct pod_info *stage_pod(struct stage *stage, bool rare);
/* The pod was decided: it is placed (row), or waits on or goes (ROW_NONE). */
void stage_settle(struct stage *stage, struct pod_info *pod, uint32_t row);
/* Are the sums of the model those of its pods? False: says on standard output which is not. */
bool stage_adds_up(const struct stage *stage);

/* ---- with the engine's own queue; its clock stands still ---- */
enum { STAGE_NOW_NS = 0 };
/* Pods come, and things happen that let waiting ones be tried again. */
void stage_live(struct stage *stage);
/* What was decided becomes true: the pod is placed, its victims leave. */
void stage_follow(struct stage *stage, const struct decision *decision);

#endif
