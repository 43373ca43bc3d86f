/* objects.h: random Kubernetes objects and configurations, as JSON text.
 *
 * Few different names and values, so that selectors select, ports clash and domains fill up; and each field that a
 * plugin reads takes odd values now and then. */
#ifndef PROPERTY_OBJECTS_H
#define PROPERTY_OBJECTS_H

#include "property/dice.h"

enum { PROFILES_MAX = 4, NAMESPACES = 3, SETS = 3 };
extern const char *const scheduler_names[PROFILES_MAX], *const namespaces[NAMESPACES];

/* What the pods of one controller have in common. */
struct template
{
    char *labels, *spec; /* JSON: the labels object; the members of the spec without braces */
    const char *namespace;
    int owner;             /* of SETS, or -1 */
    bool rare;             /* its pods are decided seldom: a lot has changed when one comes */
    uint64_t volumes_seed; /* its pods have volumes; 0: they have none that restrict them */
};

void template_init(struct template *template, struct rng *rng, uint32_t profiles, uint32_t volumes_percent);
void template_release(struct template *template);

struct pod_text {
    uint32_t number;
    const char *node;      /* NULL: pending */
    const char *nominated; /* status.nominatedNodeName, or NULL */
    bool terminating;
    bool unique; /* has a label that no other pod has */
    int priority;
};

void write_pod(struct strbuf *out, const struct template *template, const struct pod_text *pod);
/* What a node is made of; a part stays the same as long as its seed does. */
enum node_part { NODE_LABELS, NODE_TAINTS, NODE_ALLOCATABLE, NODE_IMAGES, NODE_PARTS };
struct node_dice {
    uint64_t seeds[NODE_PARTS];
};

/* `nodes` is how many names there are. */
void write_node(struct strbuf *out, const struct node_dice *dice, uint32_t number, uint32_t nodes,
                bool images);
void write_namespace(struct strbuf *out, struct rng *rng, uint32_t number);
/* A Service, ReplicaSet, StatefulSet or ReplicationController. */
void write_controller(struct strbuf *out, struct rng *rng, uint32_t number);

/* ---- volumes.c ---- */
/* The volumes of a pod as a member of its spec. Pods of one seed are alike but for the names of their claims. */
void put_volumes(struct strbuf *out, uint64_t seed, uint32_t pod);
/* Kinds of objects that volumes have to do with, from the fewest to the most. */
enum storage_kind {
    STORAGE_CLASS,
    STORAGE_DRIVER,
    STORAGE_CAPACITY,
    STORAGE_ATTACHMENT,
    STORAGE_NODE,
    STORAGE_VOLUME,
    STORAGE_CLAIM,
    STORAGE_KINDS
};
/* How many different ones there can be, in a cluster with so many node names. */
uint32_t storage_count(enum storage_kind kind, uint32_t nodes);
void write_storage(struct strbuf *out, struct rng *rng, enum storage_kind kind, uint32_t number,
                   uint32_t nodes);

/* A KubeSchedulerConfiguration with so many profiles. */
void write_config(struct strbuf *out, struct rng *rng, uint32_t profiles);

#endif
