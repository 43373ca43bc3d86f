/* row_memo.c: see row_memo.h. */
#include "framework/row_memo.h"

#include <stdlib.h>
#include <string.h>

#include "framework/profile.h"

enum {
    STATUSES_MAX = 256
}; /* then the memo begins anew: texts that differ from time to time do not add up */

void row_memo_release(struct row_memo *memo)
{
    free(memo->rows);
    vec_release(&memo->statuses);
    arena_release(&memo->arena);
    *memo = (struct row_memo){ .repeated = memo->repeated };
}

void row_memo_clear(struct row_memo *memo)
{
    if (memo->cap)
        memset(memo->rows, 0, memo->cap * sizeof(*memo->rows));
    memo->statuses.len = 0;
    arena_reset(&memo->arena);
}

size_t row_memo_bytes(const struct row_memo *memo)
{
    return memo->cap * sizeof(*memo->rows) + memo->statuses.cap * sizeof(*memo->statuses.items) +
           memo->arena.total_bytes;
}

static void reserve(struct row_memo *memo, uint32_t rows)
{
    if (rows <= memo->cap)
        return;
    memo->rows = xrealloc(memo->rows, rows * sizeof(*memo->rows));
    memset(memo->rows + memo->cap, 0, (rows - memo->cap) * sizeof(*memo->rows));
    memo->cap = rows;
}

struct row_memo_use row_memo_begin(struct row_memo *memo, const struct cycle *cycle,
                                   struct diagnosis *diagnosis)
{
    struct row_memo_use use = { .memo = memo, .cycle = cycle, .diagnosis = diagnosis };
    if (!memo)
        return use;
    if (memo->priority != cycle->info->priority || memo->statuses.len > STATUSES_MAX)
        row_memo_clear(memo);
    memo->priority = cycle->info->priority;
    if (!memo->statuses.len)
        *vec_push(&memo->statuses) = STATUS_OK;
    reserve(memo, cycle->cluster->rows_cap);
    use.numbers_len = memo->statuses.len; /* those that are kept from now on are in the diagnosis already */
    use.numbers = arena_array(cycle->arena, uint32_t, use.numbers_len);
    return use;
}

/* 0: nothing is remembered of the row. */
static uint32_t number_of(const struct row_memo_use *use, uint32_t row)
{
    const struct row_memo *memo = use->memo;
    if (!memo || row == use->cycle->info->nominated_row || row >= memo->cap)
        return 0;
    const struct remembered_row *known = &memo->rows[row];
    if (!known->number || known->version != cluster_row_version(use->cycle->cluster, row))
        return 0;
    ++*memo->repeated;
    return known->number;
}

bool row_memo_rejects(const struct row_memo_use *use, uint32_t row)
{
    return number_of(use, row) != 0;
}

bool row_memo_repeat(struct row_memo_use *use, uint32_t row)
{
    uint32_t number = number_of(use, row);
    if (!number || number >= use->numbers_len)
        return false;
    if (!use->numbers[number]) {
        struct status status = status_copy(use->memo->statuses.items[number], use->cycle->arena);
        diagnosis_blame(use->diagnosis, use->cycle->profile, status);
        use->numbers[number] = diagnosis_number(use->diagnosis, status);
    }
    diagnosis_assign(use->diagnosis, row, use->numbers[number]);
    return true;
}

void row_memo_keep(struct row_memo_use *use, uint32_t row, struct status status)
{
    struct row_memo *memo = use->memo;
    if (!memo || row == use->cycle->info->nominated_row || !status_rejected(status))
        return;
    uint32_t number = 1;
    while (number < memo->statuses.len && !status_eq(memo->statuses.items[number], status))
        number++;
    if (number == memo->statuses.len)
        *vec_push(&memo->statuses) = status_copy(status, &memo->arena);
    memo->rows[row] = (struct remembered_row){ cluster_row_version(use->cycle->cluster, row), number };
}
