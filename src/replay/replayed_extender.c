/* replayed_extender.c: opinions in the order in which they were recorded, handed out call by call.
 *
 * A recording may be anything, so it is checked as an answer from the network would be: rows are live nodes
 * that the request named, each once, and pods are on the nodes that are named. */
#include "replay/replayed_extender.h"

#include <stdlib.h>

#include "base/vec.h"
#include "codec/protobuf.h"
#include "live/journal.h"
#include "preempt/preempt.h"
#include "replay/recording.h"

struct replayed {
    struct extender extender;
    struct replayed_extenders *all;
};

struct replayed_extenders {
    struct extenders table;
    struct replayed *items;
    VEC(struct str) opinions;
    size_t next;
};

/* Opens the next opinion. A failure that was recorded fails here with the same sentence. */
static int next_opinion(struct extender *extender, struct protobuf_reader *ret, struct error *err)
{
    struct replayed_extenders *all = container_of(extender, struct replayed, extender)->all;
    struct protobuf_field field;
    if (all->next == all->opinions.len)
        return error_set(err, -ENODATA, "the recording has no answer of the extender " STR_FMT,
                         STR_ARG(extender->name));
    *ret = protobuf_reader(all->opinions.items[all->next++]);
    struct protobuf_reader ahead = *ret;
    if (protobuf_next(&ahead, &field) > 0 && field.tag == OPINION_FAILURE && field.wire == WIRE_BYTES)
        return error_set(err, -EIO, STR_FMT, STR_ARG(field.bytes));
    return 0;
}

static int unreadable(struct error *err)
{
    return error_set(err, -EBADMSG, "the recorded answer of an extender cannot be read");
}

/* How many fields of a tag follow. */
static uint32_t count_fields(struct protobuf_reader reader, uint32_t tag)
{
    struct protobuf_field field;
    uint32_t count = 0;
    while (protobuf_next(&reader, &field) > 0)
        count += field.tag == tag;
    return count;
}

static bool is_live(const struct cycle *cycle, uint64_t row)
{
    return row < cycle->cluster->nodes.len && cluster_node(cycle->cluster, (uint32_t)row)->api;
}

static int filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                  struct extender_filtered *ret, struct error *err)
{
    struct protobuf_reader reader;
    struct protobuf_field field;
    int r = next_opinion(extender, &reader, err);
    if (r < 0)
        return r;
    uint32_t rows = cycle->cluster->nodes.len;
    *ret = (struct extender_filtered){ .rows = arena_array(cycle->arena, uint32_t, nodes.len + 1),
                                       .refusals =
                                           arena_array(cycle->arena, struct extender_refusal, rows + 1) };
    while ((r = protobuf_next(&reader, &field)) > 0) {
        struct entry_fields refusal;
        if (field.tag == OPINION_ROW && field.wire == WIRE_VARINT) {
            if (ret->len == nodes.len || !is_live(cycle, field.number))
                return unreadable(err);
            ret->rows[ret->len++] = (uint32_t)field.number;
        } else if (field.tag == OPINION_REFUSAL && field.wire == WIRE_BYTES) {
            if (entry_read(field.bytes, &refusal, NULL) < 0 ||
                !is_live(cycle, refusal.numbers[REFUSAL_ROW]) || ret->refusals_len == rows)
                return unreadable(err);
            ret->refusals[ret->refusals_len++] =
                (struct extender_refusal){ (uint32_t)refusal.numbers[REFUSAL_ROW],
                                           refusal.numbers[REFUSAL_UNRESOLVABLE] != 0,
                                           refusal.texts[REFUSAL_MESSAGE] };
        }
    }
    return r < 0 ? unreadable(err) : 0;
}

static void begin_score(struct extender *extender _unused_, struct cycle *cycle _unused_,
                        struct row_list nodes _unused_)
{
}

static int end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes _unused_,
                     struct extender_scores *ret, struct error *err)
{
    struct protobuf_reader reader;
    struct protobuf_field field;
    int r = next_opinion(extender, &reader, err);
    if (r < 0)
        return r;
    uint32_t count = count_fields(reader, OPINION_SCORE);
    *ret = (struct extender_scores){ .items = arena_array(cycle->arena, struct extender_score, count + 1) };
    while ((r = protobuf_next(&reader, &field)) > 0) {
        struct entry_fields score;
        if (field.tag != OPINION_SCORE)
            continue;
        if (field.wire != WIRE_BYTES || entry_read(field.bytes, &score, NULL) < 0 ||
            !is_live(cycle, score.numbers[SCORE_ROW]))
            return unreadable(err);
        ret->items[ret->len++] = (struct extender_score){ (uint32_t)score.numbers[SCORE_ROW],
                                                          (int64_t)score.numbers[SCORE_VALUE] };
    }
    return r < 0 ? unreadable(err) : 0;
}

/* A victim is named by two fields. */
static int read_candidate(struct cycle *cycle, struct str message, struct preempt_candidate *ret,
                          struct error *err)
{
    struct protobuf_reader reader = protobuf_reader(message);
    struct protobuf_field field;
    struct str namespace = { 0 };
    uint32_t count = count_fields(reader, CANDIDATE_VICTIM_NAME);
    int r;
    *ret = (struct preempt_candidate){ .row = ROW_NONE,
                                       .victims = arena_array(cycle->arena, struct pod_info *, count + 1) };
    while ((r = protobuf_next(&reader, &field)) > 0) {
        if (field.tag == CANDIDATE_ROW && is_live(cycle, field.number))
            ret->row = (uint32_t)field.number;
        else if (field.tag == CANDIDATE_VIOLATIONS)
            ret->pdb_violations = (int64_t)field.number;
        else if (field.tag == CANDIDATE_VICTIM_NAMESPACE && field.wire == WIRE_BYTES)
        namespace = field.bytes;
        else if (field.tag == CANDIDATE_VICTIM_NAME && field.wire == WIRE_BYTES)
        {
            struct pod_info *pod = cluster_find_pod(cycle->cluster, namespace, field.bytes);
            if (!pod || pod->row != ret->row)
                return unreadable(err);
            ret->victims[ret->victims_len++] = pod;
        }
    }
    return r < 0 || ret->row == ROW_NONE ? unreadable(err) : 0;
}

static int preempt(struct extender *extender, struct cycle *cycle,
                   const struct preempt_candidate *candidates _unused_, uint32_t len _unused_,
                   struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct protobuf_reader reader;
    struct protobuf_field field;
    int r = next_opinion(extender, &reader, err);
    if (r < 0)
        return r;
    uint32_t count = count_fields(reader, OPINION_CANDIDATE);
    *ret = arena_array(cycle->arena, struct preempt_candidate, count + 1);
    *ret_len = 0;
    while ((r = protobuf_next(&reader, &field)) > 0) {
        if (field.tag != OPINION_CANDIDATE)
            continue;
        if (field.wire != WIRE_BYTES)
            return unreadable(err);
        r = read_candidate(cycle, field.bytes, &(*ret)[(*ret_len)++], err);
        if (r < 0)
            return r;
    }
    return r < 0 ? unreadable(err) : 0;
}

/* Its answer is an entry of the recording. */
static void bind_pod(struct extender *extender _unused_, const struct effect *effect _unused_)
{
}

static const struct extender_calls calls = {
    .filter = filter,
    .begin_score = begin_score,
    .end_score = end_score,
    .preempt = preempt,
    .bind = bind_pod,
};

struct replayed_extenders *replayed_extenders_new(const struct extenders *extenders)
{
    if (!extenders || !extenders->len)
        return NULL;
    struct replayed_extenders *all = xcalloc(1, sizeof(*all));
    all->items = xcalloc(extenders->len, sizeof(*all->items));
    all->table.items = xcalloc(extenders->len, sizeof(*all->table.items));
    all->table.len = extenders->len;
    for (uint32_t i = 0; i < extenders->len; i++) {
        all->items[i] = (struct replayed){ *extenders->items[i], all };
        all->items[i].extender.calls = &calls;
        all->table.items[i] = &all->items[i].extender;
    }
    return all;
}

void replayed_extenders_free(struct replayed_extenders *all)
{
    if (!all)
        return;
    vec_release(&all->opinions);
    free(all->table.items);
    free(all->items);
    free(all);
}

const struct extenders *replayed_extenders_table(const struct replayed_extenders *all)
{
    return all ? &all->table : NULL;
}

void replayed_extenders_add(struct replayed_extenders *all, struct str opinion)
{
    if (!all)
        return;
    if (all->next == all->opinions.len) {
        vec_clear(&all->opinions);
        all->next = 0;
    }
    *vec_push(&all->opinions) = opinion;
}
