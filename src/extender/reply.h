/* reply.h: what an extender answers, read and checked. No I/O: any bytes go in, and something that makes sense in the
 * cluster or one sentence comes out.
 *
 * Answers are read as Go reads them: the first value counts and what follows does not, names of fields match in any
 * case, unknown ones are passed over, null is none. A value of another type is an error, and so is a node that the
 * extender was not asked about, where it says that the pod can go there. */
#ifndef EXTENDER_REPLY_H
#define EXTENDER_REPLY_H

#include "framework/extender.h"
#include "preempt/preempt.h"

/* Who answers, and about what. All that is returned lives in the cycle's arena. */
struct reply {
    struct str extender; /* its name */
    struct cycle *cycle;
    struct str text;
};

/* `node_names`: the answer is in NodeNames where it has them, else in Nodes. `nodes` is what was asked. */
int reply_filter(const struct reply *reply, bool node_names, struct row_list nodes,
                 struct extender_filtered *ret, struct error *err);
/* Nodes that are not known are passed over. */
int reply_score(const struct reply *reply, struct extender_scores *ret, struct error *err);
int reply_preempt(const struct reply *reply, struct preempt_candidate **ret, uint32_t *ret_len,
                  struct error *err);
/* `ret_message` is what the extender calls an error, empty if nothing is wrong; in `arena`. */
int reply_bind(struct str text, struct arena *arena, struct str *ret_message, struct error *err);

#endif
