/* rivals.h: nominated pods in a decision from a table: those of other pods, and the pod's own nomination.
 *
 * A node must also fit the pod beside pods that are nominated to it and at least as important. Rows that do not are
 * taken out of their groups for the decision. */
#ifndef ENGINE_RIVALS_H
#define ENGINE_RIVALS_H

#include "engine/class_cache.h"
#include "engine/decide.h"

/* What is remembered of rows for pods of the class (framework/row_memo.h), or NULL: a filter looks beyond the node, or
 * at more than the class. */
struct row_memo *class_memo(const struct engine *engine, struct class_table *source,
                            const struct cycle *cycle, struct row_memo *memo);

/* A pod that is nominated to a node is tried there first. False: the plain path decides, for the pod may go there, or a
 * plugin failed. */
bool own_nomination_fails(struct engine *engine, struct cycle *cycle, struct choice *ret);

struct excluded {
    uint32_t *rows;
    uint32_t len;
    bool ran;    /* filters ran, and the cycle was reset */
    bool failed; /* a plugin did */
};

void rivals_exclude(struct engine *engine, struct cycle *cycle, struct class_table *source,
                    struct excluded *ret);
void rivals_include_again(struct class_table *source, const struct excluded *excluded);
/* A node with rivals is tried with them first: a rejection then is its status. True: filters ran, and the cycle was
 * reset. */
bool rivals_diagnose(struct engine *engine, struct cycle *cycle, struct class_table *source,
                     struct diagnosis *diagnosis);

#endif
