/* objects.h: random Kubernetes objects and configurations, as JSON text.
 *
 * Few different names and values, so that selectors match, ports conflict and domains fill up. Each field that a plugin
 * reads sometimes has an unusual value. */
#ifndef PROPERTY_OBJECTS_H
#define PROPERTY_OBJECTS_H

#include "property/random.h"

enum { PROFILES_MAX = 4, NAMESPACES = 3, SETS = 3 };
extern const char *const scheduler_names[PROFILES_MAX], *const namespaces[NAMESPACES];

/* What the pods of one controller have in common. */
struct template
{
    char *labels, *spec; /* JSON: the labels object; the members of the spec without braces */
    const char *namespace;
    int owner;             /* of SETS, or -1 */
    bool rare;             /* its pods are rare: much has changed between two of them */
    uint64_t volumes_seed; /* of its pods' volumes; 0: no volumes that restrict them */
};

void template_init(struct template *template, struct rng *rng, uint32_t profiles, uint32_t volumes_percent);
void template_release(struct template *template);

struct pod_text {
    uint32_t number;
    const char *node;      /* NULL: pending */
    const char *nominated; /* status.nominatedNodeName, or NULL */
    bool terminating;
    bool unique; /* with a label that no other pod has */
    int priority;
};

void write_pod(struct strbuf *out, const struct template *template, const struct pod_text *pod);
/* Parts of a node; a part is the same as long as its seed is. */
enum node_part { NODE_LABELS, NODE_TAINTS, NODE_ALLOCATABLE, NODE_IMAGES, NODE_PARTS };
struct node_seeds {
    uint64_t by_part[NODE_PARTS];
};

/* `nodes` is the number of node names. */
void write_node(struct strbuf *out, const struct node_seeds *seeds, uint32_t number, uint32_t nodes,
                bool images);
void write_namespace(struct strbuf *out, struct rng *rng, uint32_t number);
/* A Service, ReplicaSet, StatefulSet or ReplicationController. */
void write_controller(struct strbuf *out, struct rng *rng, uint32_t number);

/* ---- volumes.c ---- */
/* The volumes of a pod as a member of its spec. Pods with one seed differ only in the names of their claims. */
void put_volumes(struct strbuf *out, uint64_t seed, uint32_t pod);
/* Kinds of storage objects, from the fewest to the most. */
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
/* The number of objects of a kind, in a cluster with `nodes` node names. */
uint32_t storage_count(enum storage_kind kind, uint32_t nodes);
void write_storage(struct strbuf *out, struct rng *rng, enum storage_kind kind, uint32_t number,
                   uint32_t nodes);

/* A KubeSchedulerConfiguration with `profiles` profiles. */
void write_config(struct strbuf *out, struct rng *rng, uint32_t profiles);

#endif
