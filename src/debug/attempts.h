/* attempts.h: the last attempts to schedule each pod, with the status of every node.
 *
 *     decision, notice ──▶ attempts_decision(), attempts_notice() ──▶ two rings ──▶ attempts_of(): of one pod
 *
 * A pod that found a node gets an item of a ring (ring.h) with the scores of the best nodes when it is decided, and
 * another one when it is bound. A pod that found none gets an item with the messages, and four bytes per node at most;
 * pods that are rejected for the same reasons share them. In both rings the oldest go, so memory has a limit: 16 MiB.
 * No pointers are kept: pods are known by a hash of their names, nodes by row and order of arrival, plugins by
 * name. Everything on the core thread. */
#ifndef DEBUG_ATTEMPTS_H
#define DEBUG_ATTEMPTS_H

#include "engine/engine.h"
#include "whatif/explain_print.h"

enum { ATTEMPTS_SHOWN = 5 };

#define ATTEMPT_OUTCOMES(X) \
    X(PLACED, "placed") \
    X(BOUND, "bound") \
    X(BINDING_FAILED, "binding failed") \
    X(UNSCHEDULABLE, "unschedulable") \
    X(ERROR, "error") \
    X(DELETED, "being deleted")

enum attempt_outcome {
#define X(name, text) ATTEMPT_##name,
    ATTEMPT_OUTCOMES(X)
#undef X
        ATTEMPT_OUTCOME_COUNT
};
extern const char *const attempt_outcome_names[ATTEMPT_OUTCOME_COUNT];

/* What a filter answered, and for how many nodes. */
struct attempt_status {
    struct str plugin; /* empty: no single one */
    enum status_code code;
    struct str *reasons;
    uint32_t reasons_len;
    uint32_t nodes;
    bool is_cut; /* there were more reasons than are kept */
};

struct attempt {
    int64_t time_ns;  /* since 1970: when it was decided */
    int64_t took_ns;  /* the decision; 0: not known */
    int64_t bound_ns; /* PLACED and later: from the decision to the answer; 0: there is none */
    enum attempt_outcome outcome;
    enum decision_path path;
    uint32_t examined, feasible, ties;
    int64_t total;
    uint32_t row; /* where it was placed, or ROW_NONE */
    /* The chosen node first, all without names; none where no nodes were compared, or it is forgotten. */
    struct score_view best;
    uint32_t *best_rows;
    uint64_t arrivals;               /* of nodes, at that time: attempt_node_is_same() */
    struct str message, rejected_by; /* names with spaces between */
    struct str nominated, victims;   /* victims with ", " between */
    bool words_gone;                 /* the message and the statuses were overwritten */
    uint32_t live_nodes;             /* at that time */
    struct attempt_status *statuses; /* [0] is that of nodes that were not examined */
    uint32_t statuses_len;           /* 0: none are kept */
    uint16_t *status_of;             /* by row */
    uint32_t rows;
};

struct attempts;

struct attempts *attempts_new(const struct cluster *cluster);
void attempts_free(struct attempts *attempts);

/* Before the next step; `now_ns` is the time since 1970 after the decision. */
void attempts_decision(struct attempts *attempts, const struct decision *decision, int64_t now_ns,
                       int64_t took_ns);
void attempts_notice(struct attempts *attempts, const struct notice *notice);

/* The engine is filled anew, with other rows and profiles. Messages stay; nodes of before count as gone. */
void attempts_restart(struct attempts *attempts, const struct cluster *cluster);

/* The last of a pod, newest first, in the arena. An empty uid: of the newest pod that had the name. */
size_t attempts_of(const struct attempts *attempts, struct str namespace, struct str name, struct str uid,
                   struct arena *arena, struct attempt ret[ATTEMPTS_SHOWN]);
/* Is the row still that of the node of then? */
bool attempt_node_is_same(const struct attempt *attempt, const struct cluster *cluster, uint32_t row);

#endif
