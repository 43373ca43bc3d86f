/* extender.h: programs beside the scheduler that have a say in its decisions.
 *
 *     filters ──▶ EXTENDERS filter, one after another ──▶ scores + EXTENDERS' scores, all at once ──▶ the node
 *     victims ──▶ EXTENDERS preempt, one after another ──▶ the node whose pods leave
 *     bind    ──▶ the EXTENDER that binds, else the Bind plugins
 *
 * This is what the engine sees of them: a table of calls, behind which is the network (extender/) or a test. Calls
 * return when the answer is there, and within the extender's timeout in any case; only bind does not wait. What an
 * extender says is checked behind the table: rows are live nodes, pods are on the node that they are said to be on.
 *
 * Extenders are in the order in which they are called, ignorable ones last: where one of those fails, it is as if it
 * were not there. An extender with managed resources is called for pods that want one of them. */
#ifndef FRAMEWORK_EXTENDER_H
#define FRAMEWORK_EXTENDER_H

#include "framework/diagnosis.h"
#include "framework/run.h"

struct extender;
struct preempt_candidate;

/* A node that an extender refused. */
struct extender_refusal {
    uint32_t row;
    bool unresolvable; /* no eviction would help */
    struct str message;
};

struct extender_filtered {
    uint32_t *rows; /* what is left, each once */
    uint32_t len;
    struct extender_refusal *refusals; /* each row once; some may be among the rows all the same */
    uint32_t refusals_len;
};

struct extender_score {
    uint32_t row;
    int64_t score; /* any number; 0 to 10 by agreement */
};

struct extender_scores {
    struct extender_score *items; /* a row may be there twice: it gets the sum */
    uint32_t len;
};

/* Everything returned lives in the cycle's arena. 0 or a negative errno with a sentence. */
struct extender_calls {
    int (*filter)(struct extender *self, struct cycle *cycle, struct row_list nodes,
                  struct extender_filtered *ret, struct error *err);
    /* Sends the request; end_score() waits for the answer. Each begin has its end, in the same cycle. */
    void (*begin_score)(struct extender *self, struct cycle *cycle, struct row_list nodes);
    int (*end_score)(struct extender *self, struct cycle *cycle, struct row_list nodes,
                     struct extender_scores *ret, struct error *err);
    /* Which nodes shall lose which pods. Any node and any of its pods may come back, also with no pods at all. */
    int (*preempt)(struct extender *self, struct cycle *cycle, const struct preempt_candidate *candidates,
                   uint32_t len, struct preempt_candidate **ret, uint32_t *ret_len, struct error *err);
    /* Takes an EFFECT_BIND as an effect_emit does. The answer is DONE, or REFUSED with the sentence of what failed,
     * which does not say that the pod was not bound. */
    void (*bind)(struct extender *self, const struct effect *effect);
};

struct extender {
    const struct extender_calls *calls;
    struct str name; /* its URL */
    bool filters, prioritizes, preempts, binds, ignorable;
    int64_t weight;
    const struct managed_resource *managed; /* none: it is called for every pod */
    uint32_t managed_len;
};

struct extenders {
    struct extender **items;
    uint32_t len;
};

/* Stands for the extenders among the plugins that rejected a pod: any event may help. */
extern const struct plugin plugin_extender;

/* The profile works with these from now on; they stay the caller's. NULL or none: nothing changes. Before the
 * profile is used. */
void profile_extend(struct profile *profile, const struct extenders *extenders);

bool extender_wants(const struct extender *extender, const struct pod *pod);
/* Does one of them filter or score nodes for this pod (NULL: for any)? Then every node that fits must be known by
 * name. */
bool extenders_decide(const struct profile *profile, const struct pod *pod);
/* The extender that binds the pod, or NULL. */
struct extender *extenders_binder(const struct profile *profile, const struct pod *pod);

/* Leaves the rows that all extenders accept; others get a status. Error: an extender failed that is not ignorable. */
struct status extenders_filter(struct cycle *cycle, uint32_t *rows, uint32_t *len,
                               struct diagnosis *diagnosis);
/* Adds to the totals. An extender that fails adds nothing. */
void extenders_score(struct cycle *cycle, struct score_table *scores);

/* What an extender's failure does to an attempt: nothing if it is ignorable, which the log tells; else an Error. */
struct status extender_failed(const struct extender *extender, struct cycle *cycle, const struct error *err);
/* Whose error ended the attempt: "plugin NodeName", "extender http://..."; empty: of neither. In the cycle's arena. */
struct str attempt_failed_by(const struct cycle *cycle, struct status error);
/* "error of plugin NodeName: ...", for a person; without an error (`failed_by` is empty) the message as it is. */
struct str attempt_sentence(struct str failed_by, struct str message, struct arena *arena);

#endif
