/* journal_extender.c: passes calls on and writes down what came back. Nothing but the answers matters for a replay: the
 * requests follow from the same state. A bind has its answer as a message. */
#include <stdlib.h>

#include "codec/protobuf.h"
#include "live/journal.h"
#include "preempt/preempt.h"

struct recorded_extender {
    struct extender extender; /* as the engine sees it */
    struct extender *inner;
    struct journal *journal;
};

struct journal_extenders {
    struct extenders table;
    struct recorded_extender items[];
};

static struct recorded_extender *recorded_of(struct extender *extender)
{
    return container_of(extender, struct recorded_extender, extender);
}

/* The beginning of an opinion; 0: nothing is recorded. */
static size_t begin(struct recorded_extender *recorded, struct strbuf **ret, int r, const struct error *err)
{
    struct strbuf *out = *ret = journal_write(recorded->journal);
    if (!out)
        return 0;
    size_t begun = protobuf_begin(out, JOURNAL_OPINION);
    if (r < 0)
        protobuf_put_bytes(out, OPINION_FAILURE, str_from(err->text));
    return begun;
}

static int filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                  struct extender_filtered *ret, struct error *err)
{
    struct recorded_extender *recorded = recorded_of(extender);
    struct strbuf *out;
    int r = recorded->inner->calls->filter(recorded->inner, cycle, nodes, ret, err);
    size_t begun = begin(recorded, &out, r, err);
    if (!begun)
        return r;
    for (uint32_t i = 0; r == 0 && i < ret->len; i++)
        protobuf_put_number(out, OPINION_ROW, ret->rows[i]);
    for (uint32_t i = 0; r == 0 && i < ret->refusals_len; i++) {
        const struct extender_refusal *refusal = &ret->refusals[i];
        size_t inside = protobuf_begin(out, OPINION_REFUSAL);
        protobuf_put_number(out, REFUSAL_ROW, refusal->row);
        protobuf_put_number(out, REFUSAL_UNRESOLVABLE, refusal->unresolvable);
        protobuf_put_bytes(out, REFUSAL_MESSAGE, refusal->message);
        protobuf_end(out, inside);
    }
    protobuf_end(out, begun);
    return r;
}

static void begin_score(struct extender *extender, struct cycle *cycle, struct row_list nodes)
{
    struct recorded_extender *recorded = recorded_of(extender);
    recorded->inner->calls->begin_score(recorded->inner, cycle, nodes);
}

static int end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                     struct extender_scores *ret, struct error *err)
{
    struct recorded_extender *recorded = recorded_of(extender);
    struct strbuf *out;
    int r = recorded->inner->calls->end_score(recorded->inner, cycle, nodes, ret, err);
    size_t begun = begin(recorded, &out, r, err);
    if (!begun)
        return r;
    for (uint32_t i = 0; r == 0 && i < ret->len; i++) {
        size_t inside = protobuf_begin(out, OPINION_SCORE);
        protobuf_put_number(out, SCORE_ROW, ret->items[i].row);
        protobuf_put_number(out, SCORE_VALUE, (uint64_t)ret->items[i].score);
        protobuf_end(out, inside);
    }
    protobuf_end(out, begun);
    return r;
}

static void put_candidate(struct strbuf *out, const struct preempt_candidate *candidate)
{
    size_t inside = protobuf_begin(out, OPINION_CANDIDATE);
    protobuf_put_number(out, CANDIDATE_ROW, candidate->row);
    protobuf_put_number(out, CANDIDATE_VIOLATIONS, (uint64_t)candidate->pdb_violations);
    for (uint32_t i = 0; i < candidate->victims_len; i++) {
        const struct meta *meta = &candidate->victims[i]->api->meta;
        protobuf_put_bytes(out, CANDIDATE_VICTIM_NAMESPACE, meta->namespace);
        protobuf_put_bytes(out, CANDIDATE_VICTIM_NAME, meta->name);
    }
    protobuf_end(out, inside);
}

static int preempt(struct extender *extender, struct cycle *cycle, const struct preempt_candidate *candidates,
                   uint32_t len, struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct recorded_extender *recorded = recorded_of(extender);
    struct strbuf *out;
    int r = recorded->inner->calls->preempt(recorded->inner, cycle, candidates, len, ret, ret_len, err);
    size_t begun = begin(recorded, &out, r, err);
    if (!begun)
        return r;
    for (uint32_t i = 0; r == 0 && i < *ret_len; i++)
        put_candidate(out, &(*ret)[i]);
    protobuf_end(out, begun);
    return r;
}

static void bind_pod(struct extender *extender, const struct effect *effect)
{
    struct recorded_extender *recorded = recorded_of(extender);
    recorded->inner->calls->bind(recorded->inner, effect);
}

static const struct extender_calls calls = {
    .filter = filter,
    .begin_score = begin_score,
    .end_score = end_score,
    .preempt = preempt,
    .bind = bind_pod,
};

struct journal_extenders *journal_extenders_new(struct journal *journal, const struct extenders *extenders)
{
    if (!journal || !extenders || !extenders->len)
        return NULL;
    struct journal_extenders *all = xcalloc(1, sizeof(*all) + extenders->len * sizeof(all->items[0]));
    all->table.items = xcalloc(extenders->len, sizeof(*all->table.items));
    all->table.len = extenders->len;
    for (uint32_t i = 0; i < extenders->len; i++) {
        struct recorded_extender *recorded = &all->items[i];
        *recorded = (struct recorded_extender){ *extenders->items[i], extenders->items[i], journal };
        recorded->extender.calls = &calls;
        all->table.items[i] = &recorded->extender;
    }
    return all;
}

const struct extenders *journal_extenders_table(const struct journal_extenders *all)
{
    return &all->table;
}

void journal_extenders_free(struct journal_extenders *all)
{
    if (all)
        free(all->table.items);
    free(all);
}
