/* world.h: a cluster that random things happen to, with an engine beside it. */
#ifndef PROPERTY_WORLD_H
#define PROPERTY_WORLD_H

#include "codec/doc.h"
#include "engine/engine.h"
#include "property/objects.h"

enum { TEMPLATES_MAX = 14 };

struct world {
    struct rng rng;
    struct cluster cluster;
    struct engine engine;
    struct scheduler_config config;
    struct arena arena;                 /* holds every object */
    VEC(struct doc_stream *) streams;   /* the texts of the objects */
    struct template templates[TEMPLATES_MAX];
    uint32_t templates_len;
    uint32_t names;                     /* of nodes: n0, n1, ...; not all of them are there at a time */
    VEC(struct pod_info *) placed, waiting;
    uint32_t pods;                      /* made so far */
    struct strbuf text;                 /* of the object that was made last */
    const char *what;                   /* the last change, for messages */
};

void world_init(struct world *world, uint64_t seed);
void world_release(struct world *world);
/* Something changes: pods go, nodes come, change and go, namespaces and controllers change. */
void world_change(struct world *world);
/* A pod that waits for a decision; its text is in world->text. `rare` asks for a template that is decided seldom. */
struct pod_info *world_pod(struct world *world, bool rare);
/* The pod was decided: it is placed (row), or waits on or goes (ROW_NONE). */
void world_settle(struct world *world, struct pod_info *pod, uint32_t row);
/* Are the sums of the model those of its pods? False: says on standard output which is not. */
bool world_adds_up(const struct world *world);

#endif
