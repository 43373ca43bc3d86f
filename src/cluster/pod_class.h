/* pod_class.h: what is equal in equal pods, computed once.
 *
 * Pods of one controller agree in every field that plugins read: their keys are the same (pod_key.h). They share one
 * class, which holds what the model needs of them compiled: amounts by resource number, labels and selectors as
 * symbols. A pod whose key changes gets another class; a class never changes.
 *
 * The engine keeps its table of a class in `index`; see engine/class_cache.h. */
#ifndef CLUSTER_POD_CLASS_H
#define CLUSTER_POD_CLASS_H

#include "cluster/labels.h"

struct cluster;
struct pod_info;

/* A pod that occupies a row, with what is read most often. */
struct placed_pod {
    struct pod_info *pod;
    uint32_t row;
    bool terminating;
};

/* Namespace and labels, shared by all classes that have the same. Its number indexes memo tables; `epoch` tells
 * users of a number apart from later ones. */
struct label_owner {
    uint32_t refs, number, epoch;
    sym namespace;
    struct label_set labels;
    uint32_t *pair_slots; /* per label: where in the list of owners with that label (match_index.h) */
    uint32_t all_slot;
    VEC(struct placed_pod) placed; /* pods with these labels that occupy a row */
    struct str key;                /* canonical bytes, for the table of owners */
};

struct amount {
    uint32_t resource;
    int64_t value;
};

/* A name that pods ask for and no node has: shared by the classes that ask for it. */
struct absent_resource {
    struct str name;
    uint32_t refs;
    uint32_t column; /* its number + 1, if it got one since the classes were compiled */
};

struct absent_amount {
    struct absent_resource *resource;
    int64_t value; /* more than 0 */
};

struct absent_list {
    struct absent_amount *items; /* sorted by name */
    uint32_t len;
};

/* What a pod takes on its node. */
struct pod_usage {
    struct amount *items;
    uint32_t len;
    struct absent_list absent;                 /* of resources without a column */
    int64_t nonzero_cpu_milli, nonzero_memory; /* with defaults for missing requests */
};

struct host_port {
    sym ip, protocol;
    int32_t port;
};

/* In the order of host_port_cmp(), as are all lists of ports. */
struct port_span {
    const struct host_port *items;
    size_t len;
};

typedef VEC(struct host_port) port_vec;

int host_port_cmp(const struct host_port *a, const struct host_port *b);
void host_ports_sort(struct host_port *ports, uint32_t len);
/* Does the port conflict with one of those in use? `any_ip` is the symbol of 0.0.0.0. */
bool host_port_is_taken(struct port_span used, const struct host_port *want, sym any_ip);

/* With the API's defaults. */
static inline struct str host_port_ip(const struct container_port *port)
{
    return port->host_ip.len ? port->host_ip : STR("0.0.0.0");
}
static inline struct str host_port_protocol(const struct container_port *port)
{
    return port->protocol.len ? port->protocol : STR("TCP");
}

/* A pod (anti-)affinity term, compiled. Namespaces that its namespaceSelector selects are looked up when matched. */
struct pod_term {
    struct selector selector;
    sym *namespaces;
    uint32_t namespaces_len;
    struct selector namespace_selector; /* absent: never */
    bool any_namespace;                 /* an empty namespaceSelector */
    sym topology_key;
    int32_t weight; /* of a preferred term; negative for anti-affinity */
};

struct pod_terms {
    struct pod_term *items;
    uint32_t len;
};

/* The pod affinity terms of a pod, shared by all classes that have the same ones in the same namespace. */
struct term_owner {
    uint32_t refs, number, epoch;
    struct pod_terms affinity, anti; /* required */
    struct pod_terms preferred;      /* preferred of both kinds, anti with negative weight */
    VEC(struct placed_pod) placed;   /* pods with these terms that occupy a row */
    uint32_t visit;                  /* the last search of match_terms() that found it */
    struct str key;
    struct arena arena;
};

struct pod_class {
    uint32_t refs;
    struct str key;          /* pod_key.h */
    bool is_replaced;        /* not in the table of classes any more: keys have changed */
    struct pod_info *sample; /* a pod of this class; the class keeps it alive */
    struct label_owner *labels;
    struct arena arena;

    struct amount *fit; /* what the filter asks for, without pods */
    uint32_t fit_len;
    struct absent_list fit_absent; /* the same of resources without a column */
    struct pod_usage used;         /* apart from what claims take; see pod_used() */

    struct host_port *ports;
    uint32_t ports_len;
    struct term_owner *terms;        /* NULL: neither podAffinity nor podAntiAffinity is there */
    struct pod_terms affinity, anti; /* of terms */
    struct pod_terms preferred;
    bool has_affinity_section; /* spec.affinity.podAffinity or podAntiAffinity is there */
    bool has_claims, has_volumes,
        has_devices; /* a claim or ephemeral volume; any volume that restricts; devices */

    void *index; /* engine's; freed through cluster->index_free */
};

/* Finds or makes the class of a pod; takes a reference. */
struct pod_class *pod_class_get(struct cluster *cluster, struct pod_info *pod);
void pod_class_unref(struct cluster *cluster, struct pod_class *cls);
/* The fields that the model itself reads belong to every key. */
void pod_classes_init(struct cluster *cluster);
/* What belongs to a key has changed: every pod gets its class anew. */
void pod_classes_renew(struct cluster *cluster);

/* Does the term (of a pod in the model) select a pod with these labels? `incoming` says that the term belongs to the
 * pod being scheduled: the reference then looks namespaces up by name and matches the selector against no labels. */
bool pod_term_matches(const struct cluster *cluster, const struct pod_term *term,
                      const struct label_owner *owner, bool incoming);
/* The same where the term's selector is known to match the labels: is the namespace one of the term's? */
bool pod_term_takes_namespace(const struct cluster *cluster, const struct pod_term *term,
                              const struct label_owner *owner, bool incoming);

#endif
