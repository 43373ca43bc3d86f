/* facts.h: the state of each object of the simulated cluster, as plain numbers.
 *
 * An object has a number within its kind, which is its name as well: node n3, pod p17, claim c2. A name may be reused
 * by another object with another uid. Every change of an object gives it a new resource version with the facts of that
 * moment, so that an old version can be compared with the current state. */
#ifndef SIM_FACTS_H
#define SIM_FACTS_H

#include "base/common.h"

enum { NONE = -1, APPS = 3, ZONES = 3, TAINTS = 2 };

/* Kinds that are watched. */
#define SIM_KINDS(X) \
    /* enum, API kind, prefix of the names */ \
    X(NODES, NODE, 'n') \
    X(PODS, POD, 'p') \
    X(CLAIMS, PVC, 'c') \
    X(VOLUMES, PV, 'v') \
    X(BUDGETS, PDB, 'b') \
    X(CLASSES, STORAGE_CLASS, 's')

enum sim_kind {
#define X(name, kind, prefix) SIM_##name,
    SIM_KINDS(X)
#undef X
        SIM_KIND_COUNT
};

/* What a pod requests and a node has; the number of pods has its own limit. */
enum { AMOUNT_CPU, AMOUNT_MEMORY, AMOUNT_GPU, AMOUNTS };

struct node_facts {
    int64_t has[AMOUNTS]; /* milli cpu, bytes, pieces */
    int64_t pods_max;
    int zone;
    bool cordoned;
    uint8_t taints; /* bits */
};

enum scheduled { SCHEDULED_UNSAID, SCHEDULED_FALSE, SCHEDULED_TRUE };

struct pod_facts {
    int64_t requests[AMOUNTS];
    int32_t priority;
    int host_port; /* 0: none */
    int app;       /* its label */
    int zone;      /* that it must be in, or NONE */
    int claim;     /* that it uses, or NONE */
    uint8_t tolerates;
    bool repels; /* has anti-affinity to pods of the same app */
    bool never_preempts;
    bool foreign; /* belongs to another scheduler */
    bool gated, finalizer, terminating, running, finished;
    bool disrupted; /* has the condition DisruptionTarget */
    bool bound_by_us;
    int node, nominated; /* or NONE */
    int64_t generation, condition_generation;
    int64_t condition_since_s;
    enum scheduled scheduled;
};

/* Where the volumes of a class come from. */
enum class_number {
    CLASS_MADE,      /* provisioned for the node of the first pod */
    CLASS_FOUND,     /* exists already; chosen with the node of the first pod */
    CLASS_IMMEDIATE, /* provisioned at once */
    CLASS_COUNT
};

struct claim_facts {
    enum class_number class;
    int volume;        /* or NONE */
    int selected_node; /* or NONE */
};

struct volume_facts {
    enum class_number class;
    int zone;           /* or NONE */
    int claim;          /* that holds it, or NONE */
    uint64_t claim_uid; /* of that */
};

struct budget_facts {
    int app;
    int allowed;
};

struct facts {
    uint32_t number;
    uint64_t uid, version;
    int64_t created_s;
    union {
        struct node_facts node;
        struct pod_facts pod;
        struct claim_facts claim;
        struct volume_facts volume;
        struct budget_facts budget;
    };
};

#endif
