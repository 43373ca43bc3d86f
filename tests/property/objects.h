/* objects.h: random Kubernetes objects and configurations, as JSON text.
 *
 * Few different names and values, so that selectors select, ports clash and domains fill up; and each field that a
 * plugin reads takes odd values now and then. */
#ifndef PROPERTY_OBJECTS_H
#define PROPERTY_OBJECTS_H

#include "property/dice.h"

enum { PROFILES_MAX = 4, NAMESPACES = 3, SETS = 3 };
extern const char *const scheduler_names[PROFILES_MAX];

/* What the pods of one controller have in common. */
struct template
{
    char *labels, *spec; /* JSON: the labels object; the members of the spec without braces */
    const char *namespace;
    int owner; /* of SETS, or -1 */
    bool rare; /* its pods are decided seldom: a lot has changed when one comes */
};

void template_init(struct template *template, struct rng *rng, uint32_t profiles);
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
/* A KubeSchedulerConfiguration with so many profiles. */
void write_config(struct strbuf *out, struct rng *rng, uint32_t profiles);

#endif
