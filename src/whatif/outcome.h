/* outcome.h: what changes of the input come to: which pods move, which wait, what blocks a drain.
 *
 * Pods may wait, or be preempted, whether there are changes or not. Where that is possible, the cluster without the
 * changes is simulated as well, and what happens there is not because of the changes.
 *
 * A pod moves if it was on a node and has left it: because of a change, or because it was preempted. What its
 * controller made in its place is followed to where it is in the end. */
#ifndef WHATIF_OUTCOME_H
#define WHATIF_OUTCOME_H

#include "whatif/facts.h"

#define MOVE_RESULTS(X) \
    X(PLACED, placed)   /* another node has it */ \
    X(PENDING, pending) /* no node has it */ \
    X(LOST, lost)       /* nothing makes it again: it has no controller */ \
    X(GONE, gone)       /* it was not wanted any more */
enum move_result {
#define X(name, word) MOVE_##name,
    MOVE_RESULTS(X)
#undef X
        MOVE_RESULT_COUNT
};
extern const char *const move_result_words[MOVE_RESULT_COUNT];

struct move {
    const struct pod *pod; /* as it was on its node */
    const char *cause;     /* "drain", "remove", "scale", "preempted" */
    enum move_result result;
    const struct pod *successor; /* NULL: none */
    uint32_t row;                /* PLACED: where */
    struct str message;          /* PENDING: why */
};

/* May the pods of a budget be evicted? */
#define BUDGET_VERDICTS(X) \
    X(ALLOWS, allows)    /* all at once */ \
    X(IN_STEPS, inSteps) /* some at a time: the others wait until those have a place */ \
    X(BLOCKS, blocks)    /* not all of them */
enum budget_verdict {
#define X(name, word) BUDGET_##name,
    BUDGET_VERDICTS(X)
#undef X
        BUDGET_VERDICT_COUNT
};
extern const char *const budget_verdict_words[BUDGET_VERDICT_COUNT];

struct outcome {
    struct arena arena;
    VEC(struct move) moves; /* in the order of the pods' names, preempted ones last */
    size_t results[MOVE_RESULT_COUNT];
    VEC(const struct pod *) waiting;   /* that would have a node without the changes, or have one now */
    VEC(enum budget_verdict) verdicts; /* of input->changes.budgets */
    bool has_answer;                   /* nodes are to be drained or removed */
    bool is_possible;
    struct str answer; /* "Yes: ...", in one sentence or two */
};

int outcome_collect(struct outcome *outcome, const struct facts *facts, const struct sim_options *options,
                    struct error *err);
void outcome_release(struct outcome *outcome);

#endif
