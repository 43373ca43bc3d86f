/* row_memo.h: statuses of rows that hold for all pods of a class and a priority, until the row changes.
 *
 * Trying a node beside its nominated pods, or without the pods of lower priority, is costly, and where pods wait in a
 * full cluster it ends in the same way again and again. Where filters look at one node only, the answer depends on the
 * class, on the priority, and on the row: its node, its pods, its nominations (cluster_row_version()). Only rejections
 * are kept. A pod's own nomination does not count for itself, so the row of that is not asked for. */
#ifndef FRAMEWORK_ROW_MEMO_H
#define FRAMEWORK_ROW_MEMO_H

#include "framework/diagnosis.h"

struct row_memo {
    int32_t priority;
    uint32_t cap;
    struct remembered_row {
        uint64_t version; /* of the row, at that time */
        uint32_t number;  /* in statuses; 0: nothing is remembered */
    } *rows;
    VEC(struct status) statuses; /* distinct; [0] is unused */
    struct arena arena;          /* of their texts */
    uint64_t *repeated;          /* counts rows whose status was repeated */
};

void row_memo_release(struct row_memo *memo);
void row_memo_clear(struct row_memo *memo);
size_t row_memo_bytes(const struct row_memo *memo);

/* A memo in use for one pod. With memo NULL nothing is remembered. */
struct row_memo_use {
    struct row_memo *memo;
    const struct cycle *cycle;
    struct diagnosis *diagnosis; /* gets the statuses */
    uint32_t *numbers;           /* of the memo's statuses in the diagnosis; 0: not there yet */
    size_t numbers_len;
};

/* Makes the memo one of the pod's priority. */
struct row_memo_use row_memo_begin(struct row_memo *memo, const struct cycle *cycle,
                                   struct diagnosis *diagnosis);
/* Gives the row the status that is remembered, and its plugin the blame; false: none is. */
bool row_memo_repeat(struct row_memo_use *use, uint32_t row);
bool row_memo_rejects(const struct row_memo_use *use, uint32_t row);
void row_memo_keep(struct row_memo_use *use, uint32_t row, struct status status);

#endif
