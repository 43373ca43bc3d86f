/* reply.h: answers of an extender, decoded and checked. No I/O: any bytes go in; rows, scores and victims that are in
 * the cluster come out, or one sentence.
 *
 * Answers are decoded as in Go: the first value counts and what follows does not, names of fields match in any case,
 * unknown ones are ignored, null counts as absent. A value of another type is an error, and so is a feasible node that
 * was not in the request. */
#ifndef EXTENDER_REPLY_H
#define EXTENDER_REPLY_H

#include "framework/extender.h"
#include "preempt/preempt.h"

/* An answer. All that is returned lives in the cycle's arena. */
struct reply {
    struct str extender; /* its name */
    struct cycle *cycle;
    struct str text;
};

/* `node_names`: the answer is in NodeNames if it has them, else in Nodes. `nodes` are those of the request. */
int reply_filter(const struct reply *reply, bool node_names, struct row_list nodes,
                 struct extender_filtered *ret, struct error *err);
/* Unknown nodes are ignored. */
int reply_score(const struct reply *reply, struct extender_scores *ret, struct error *err);
int reply_preempt(const struct reply *reply, struct preempt_candidate **ret, uint32_t *ret_len,
                  struct error *err);
/* `ret_message` is what the extender calls an error, empty if nothing is wrong; in `arena`. */
int reply_bind(struct str text, struct arena *arena, struct str *ret_message, struct error *err);

#endif
