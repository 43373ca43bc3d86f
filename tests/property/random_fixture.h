/* random_fixture.h: a cluster that changes at random, with an engine. */
#ifndef PROPERTY_RANDOM_FIXTURE_H
#define PROPERTY_RANDOM_FIXTURE_H

#include "codec/doc.h"
#include "engine/engine.h"
#include "property/objects.h"

enum { TEMPLATES_MAX = 14, CROWDED_EVERY = 1000, CROWDED_STEPS = 2500 };

struct random_fixture {
    struct rng rng;
    struct cluster cluster;
    struct engine engine;
    struct features features; /* with scoring of volumes in some clusters */
    struct scheduler_config config;
    struct arena arena;               /* holds every object */
    VEC(struct doc_stream *) streams; /* the texts of the objects */
    struct template templates[TEMPLATES_MAX];
    uint32_t templates_len;
    uint32_t names;           /* number of node names: n0, n1, ...; not all of them exist at a time */
    struct node_seeds *nodes; /* by name */
    bool images;              /* nodes report images */
    uint32_t volumes;         /* percentage of templates with volumes */
    bool nominates;           /* pods get nominations from the fixture */
    bool has_policies;        /* scheduling policies, other ones now and then */
    bool crowded;             /* more classes than the engine keeps tables for, and pods stay */
    VEC(struct pod_info *) placed, waiting, leaving; /* leaving: victims that are still on their node */
    uint32_t pods;                                   /* created so far */
    struct strbuf text;                              /* of the last object */
    const char *what;                                /* the last change, for messages */
};

void random_fixture_init(struct random_fixture *fixture, uint64_t seed);
void random_fixture_release(struct random_fixture *fixture);
/* One random change: pods leave, nodes are added, changed and removed, namespaces and controllers change. */
void random_fixture_change(struct random_fixture *fixture);
/* policies.c: other scheduling policies from now on. */
void random_fixture_policies(struct random_fixture *fixture);
/* A pending pod; its text is in fixture->text. `rare` selects a rare template. */
struct pod_info *random_fixture_pod(struct random_fixture *fixture, bool rare);
/* After a decision: the pod is placed (row), or stays pending or leaves (ROW_NONE). */
void random_fixture_settle(struct random_fixture *fixture, struct pod_info *pod, uint32_t row);
/* Whether the sums of the model are those of its pods. If not, prints the difference. */
bool random_fixture_adds_up(const struct random_fixture *fixture);

/* ---- with the engine's queue; its clock does not advance ---- */
enum { RANDOM_FIXTURE_NOW_NS = 0 };
/* Adds pods, makes changes that requeue waiting ones, and lets victims go. */
void random_fixture_live(struct random_fixture *fixture);
/* Carries out a decision: the pod is placed, its victims leave, at once or later. */
void random_fixture_follow(struct random_fixture *fixture, const struct decision *decision);

#endif
