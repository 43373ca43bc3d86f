/* diagnosis.c: collects statuses, prints the reference's sentence. */
#include "framework/diagnosis.h"

#include <stdio.h>
#include <string.h>

#include "framework/profile.h"

void diagnosis_init(struct diagnosis *diagnosis, const struct cluster *cluster, struct arena *arena)
{
    *diagnosis = (struct diagnosis){ .arena = arena, .rows = (uint32_t)cluster->nodes.len };
    diagnosis->status_of = arena_array(arena, uint32_t, diagnosis->rows);
    diagnosis->absent = STATUS_OK;
    *vec_push(&diagnosis->statuses) = (struct counted_status){ 0 };
}

void diagnosis_release(struct diagnosis *diagnosis)
{
    vec_release(&diagnosis->statuses);
}

void diagnosis_copy(struct diagnosis *ret, const struct diagnosis *from, struct arena *arena)
{
    *ret = *from;
    ret->arena = arena;
    ret->status_of = arena_array(arena, uint32_t, from->rows);
    if (from->rows)
        memcpy(ret->status_of, from->status_of, from->rows * sizeof(*ret->status_of));
    ret->statuses = (typeof(ret->statuses)){ 0 };
    for (size_t i = 0; i < from->statuses.len; i++) {
        const struct counted_status *counted = &from->statuses.items[i];
        *vec_push(&ret->statuses) =
            (struct counted_status){ status_copy(counted->status, arena), counted->nodes };
    }
    ret->absent = status_copy(from->absent, arena);
    ret->pre_filter_message = arena_str(arena, from->pre_filter_message);
    ret->post_filter_message = arena_str(arena, from->post_filter_message);
}

uint32_t diagnosis_number(struct diagnosis *diagnosis, struct status status)
{
    for (size_t i = diagnosis->statuses.len; i-- > 1;)
        if (status_eq(diagnosis->statuses.items[i].status, status))
            return (uint32_t)i;
    return diagnosis_add(diagnosis, status);
}

uint32_t diagnosis_add(struct diagnosis *diagnosis, struct status status)
{
    *vec_push(&diagnosis->statuses) = (struct counted_status){ .status = status };
    return (uint32_t)diagnosis->statuses.len - 1;
}

void diagnosis_assign(struct diagnosis *diagnosis, uint32_t row, uint32_t number)
{
    uint32_t old = diagnosis->status_of[row];
    if (old) {
        diagnosis->statuses.items[old].nodes--;
        diagnosis->explicit_nodes--;
    }
    diagnosis->status_of[row] = number;
    if (number) {
        diagnosis->statuses.items[number].nodes++;
        diagnosis->explicit_nodes++;
    }
}

void diagnosis_set(struct diagnosis *diagnosis, uint32_t row, struct status status)
{
    diagnosis_assign(diagnosis, row, diagnosis_number(diagnosis, status));
}

struct status diagnosis_get(const struct diagnosis *diagnosis, uint32_t row)
{
    uint32_t number = row < diagnosis->rows ? diagnosis->status_of[row] : 0;
    return number ? diagnosis->statuses.items[number].status : diagnosis->absent;
}

void diagnosis_blame(struct diagnosis *diagnosis, const struct profile *profile, struct status status)
{
    if (!status.plugin)
        return;
    for (uint32_t i = 0; i < profile->plugins_len; i++) {
        if (profile->plugins[i].plugin != status.plugin)
            continue;
        if (status_rejected(status))
            diagnosis->unschedulable_plugins |= (uint64_t)1 << i;
        if (status.code == STATUS_PENDING)
            diagnosis->pending_plugins |= (uint64_t)1 << i;
    }
}

struct reason_count {
    struct str reason;
    uint32_t nodes;
};

/* Every node may have a reason of its own. */
struct histogram {
    VEC(struct reason_count) items;
    struct strmap numbers; /* of the items by reason, from 1 */
};

struct status diagnosis_explained(struct status status, struct arena *arena)
{
    if (status.len || !status.plugin)
        return status;
    return status_printf(arena, status.code, "refused by plugin %s, which does not say why",
                         status.plugin->name);
}

static void count_reasons(struct histogram *counts, struct status status, uint32_t nodes)
{
    for (uint32_t i = 0; i < status.len && nodes; i++) {
        uintptr_t number = (uintptr_t)strmap_get(&counts->numbers, status.reasons[i]);
        if (!number) {
            *vec_push(&counts->items) = (struct reason_count){ .reason = status.reasons[i] };
            number = counts->items.len;
            strmap_put(&counts->numbers, status.reasons[i], (void *)number);
        }
        counts->items.items[number - 1].nodes += nodes;
    }
}

/* "3 Insufficient cpu, 1 node(s) were unschedulable", sorted as text. */
static void add_histogram(const struct diagnosis *diagnosis, uint32_t all_nodes, struct strbuf *out)
{
    struct histogram counts = { 0 };
    for (size_t i = 1; i < diagnosis->statuses.len; i++)
        count_reasons(&counts, diagnosis_explained(diagnosis->statuses.items[i].status, diagnosis->arena),
                      diagnosis->statuses.items[i].nodes);
    if (diagnosis->explicit_nodes < all_nodes)
        count_reasons(&counts, diagnosis_explained(diagnosis->absent, diagnosis->arena),
                      all_nodes - diagnosis->explicit_nodes);
    size_t len = counts.items.len;
    struct str *lines = arena_array(diagnosis->arena, struct str, len);
    for (size_t i = 0; i < len; i++)
        lines[i] = arena_printf(diagnosis->arena, "%u " STR_FMT, counts.items.items[i].nodes,
                                STR_ARG(counts.items.items[i].reason));
    if (len)
        qsort(lines, len, sizeof(*lines), str_qsort_cmp);
    for (size_t i = 0; i < len; i++) {
        strbuf_puts(out, i ? ", " : " ");
        strbuf_str(out, lines[i]);
    }
    if (len)
        strbuf_putc(out, '.');
    vec_release(&counts.items);
    strmap_release(&counts.numbers);
}

struct str diagnosis_message(const struct diagnosis *diagnosis, uint32_t all_nodes)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    strbuf_printf(&out, "0/%u nodes are available:", all_nodes);
    if (diagnosis->pre_filter_message.len)
        strbuf_printf(&out, " " STR_FMT ".", STR_ARG(diagnosis->pre_filter_message));
    else
        add_histogram(diagnosis, all_nodes, &out);
    if (diagnosis->post_filter_message.len)
        strbuf_printf(&out, " " STR_FMT, STR_ARG(diagnosis->post_filter_message));
    return arena_str(diagnosis->arena, strbuf_slice(&out));
}

struct str diagnosis_of_one(struct status status, struct arena *arena)
{
    struct diagnosis one = { .arena = arena, .explicit_nodes = 1 };
    *vec_push(&one.statuses) = (struct counted_status){ 0 };
    *vec_push(&one.statuses) = (struct counted_status){ .status = status, .nodes = 1 };
    struct str message = diagnosis_message(&one, 1);
    vec_release(&one.statuses);
    return message;
}
