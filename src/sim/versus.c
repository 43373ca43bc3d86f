/* versus.c: the host of an engine that lives another life with the same events; see versus.h.
 *
 * Effects are collected while the engine works and answered right after, until there are none: never from within. */
#include "sim/versus.h"

#include <stdlib.h>

#include "api/protobuf.h"
#include "engine/plugin_mail.h"
#include "framework/host_work.h"
#include "sim/replay.h"

enum { STEPS_MAX = 1 << 20, TIMES_MAX = 16 };

struct wish {
    enum effect_kind kind;
    uint64_t ticket;
    struct str namespace, name, uid, node; /* in the versus' scratch arena */
    bool sets_nomination;
};

struct versus {
    struct replay *replay;
    struct arena arena, scratch;
    struct strmap by_uid; /* to struct versus_pod */
    VEC(struct versus_pod *) pods;
    struct strmap evicted; /* uids of pods that had to leave here */
    VEC(struct wish) wishes;
    uint64_t evictions[2];
};

struct versus *versus_new(struct replay *replay)
{
    struct versus *versus = xcalloc(1, sizeof(*versus));
    versus->replay = replay;
    return versus;
}

void versus_free(struct versus *versus)
{
    if (!versus)
        return;
    strmap_release(&versus->by_uid);
    strmap_release(&versus->evicted);
    vec_release(&versus->pods);
    vec_release(&versus->wishes);
    arena_release(&versus->scratch);
    arena_release(&versus->arena);
    free(versus);
}

/* ---- pods ---- */

static struct versus_pod *add_pod(struct versus *versus, const struct meta *meta, int64_t now_ns)
{
    struct versus_pod *pod = arena_new(&versus->arena, struct versus_pod);
    pod->namespace = arena_str(&versus->arena, meta->namespace);
    pod->name = arena_str(&versus->arena, meta->name);
    pod->uid = arena_str(&versus->arena, meta->uid);
    pod->seen_ns = now_ns;
    strmap_put(&versus->by_uid, pod->uid, pod);
    *vec_push(&versus->pods) = pod;
    return pod;
}

static void keep(struct versus *versus, struct str *to, struct str text)
{
    if (!str_eq(*to, text))
        *to = arena_str(&versus->arena, text);
}

/* The pod of a letter as it is here. False: it is not here. */
static bool adapt(struct versus *versus, struct letter *letter, struct str bytes, int64_t now_ns)
{
    struct pod *pod = letter->object->object.ptr;
    struct versus_pod *known = strmap_get(&versus->by_uid, pod->meta.uid);
    if (strmap_get(&versus->evicted, pod->meta.uid))
        return false;
    if (!known && !pod->spec.node_name.len && engine_profile(&versus->replay->engine, pod))
        known = add_pod(versus, &pod->meta, now_ns);
    if (!known)
        return true;
    known->bytes = bytes;
    known->foreign |= pod->spec.node_name.len && !str_eq(pod->spec.node_name, known->recorded.node);
    if (known->foreign)
        return true;
    pod->spec.node_name = known->here.node;
    pod->status.nominated_node_name = known->nominated;
    return true;
}

/* ---- what the engine hears ---- */

static void tell(struct versus *versus, struct letter *letter, int64_t now_ns)
{
    mirror_apply(&versus->replay->mirror, letter, now_ns);
    letter_free(letter);
}

/* The pod has changed here: its newest version again. */
static void tell_again(struct versus *versus, const struct versus_pod *pod, int64_t now_ns)
{
    struct letter *letter = letter_new(LETTER_SET);
    letter->api_kind = KIND_POD;
    letter->object = live_object_new();
    struct object *object = &letter->object->object;
    if (pod->gone || !pod->bytes.len ||
        object_decode_protobuf(pod->bytes, STRINGS_COPIED, &letter->object->arena, object, NULL) < 0 ||
        !adapt(versus, letter, pod->bytes, now_ns))
        letter_free(letter);
    else
        tell(versus, letter, now_ns);
}

static void tell_removed(struct versus *versus, const struct wish *wish, int64_t now_ns)
{
    struct letter *letter = letter_new(LETTER_REMOVE);
    struct live_object *live = letter->object = live_object_new();
    struct pod *pod = arena_new(&live->arena, struct pod);
    pod->meta.namespace = arena_str(&live->arena, wish->namespace);
    pod->meta.name = arena_str(&live->arena, wish->name);
    pod->meta.uid = arena_str(&live->arena, wish->uid);
    letter->api_kind = KIND_POD;
    live->object = (struct object){ .kind = KIND_POD, .ptr = pod, .meta = &pod->meta };
    tell(versus, letter, now_ns);
}

/* ---- what the engine wants ---- */

void versus_emit(void *context, const struct effect *effect)
{
    struct versus *versus = context;
    if (!effect->ticket)
        return;
    *vec_push(&versus->wishes) = (struct wish){
        .kind = effect->kind,
        .ticket = effect->ticket,
        .namespace = arena_str(&versus->scratch, effect->namespace),
        .name = arena_str(&versus->scratch, effect->name),
        .uid = arena_str(&versus->scratch, effect->uid),
        .node = arena_str(&versus->scratch, effect->node),
        .sets_nomination = effect->sets_nomination,
    };
}

void versus_take_work(void *context, struct cycle_work *work)
{
    struct versus *versus = context;
    const struct meta *meta = &work_pod(work)->meta;
    if (work_binds(work))
        *vec_push(&versus->wishes) = (struct wish){
            .kind = EFFECT_BIND, /* without a ticket: nobody waits for an answer */
            .namespace = arena_str(&versus->scratch, meta->namespace),
            .name = arena_str(&versus->scratch, meta->name),
            .uid = arena_str(&versus->scratch, meta->uid),
            .node = arena_str(&versus->scratch, work_node(work)),
        };
    mailbox_post(work_mailbox(work), work_conclude(work, STATUS_OK));
}

static void evict(struct versus *versus, const struct wish *wish, int64_t now_ns)
{
    struct str uid = arena_str(&versus->arena, wish->uid);
    struct versus_pod *pod = strmap_get(&versus->by_uid, uid);
    strmap_put(&versus->evicted, uid, versus);
    versus->evictions[1]++;
    if (pod)
        pod->gone = true;
    tell_removed(versus, wish, now_ns);
}

static void fulfil(struct versus *versus, const struct wish *wish, int64_t now_ns)
{
    struct versus_pod *pod = strmap_get(&versus->by_uid, wish->uid);
    struct answer answer = { .kind = ANSWER_DONE };
    if (wish->kind == EFFECT_READ_POD) {
        answer.node = pod ? pod->here.node : (struct str){ 0 };
        answer.uid = wish->uid;
        if (!pod || pod->gone)
            answer.kind = ANSWER_GONE;
    }
    if (wish->kind == EFFECT_BIND && pod)
        keep(versus, &pod->here.node, wish->node);
    bool renominates = wish->kind == EFFECT_POD_STATUS && wish->sets_nomination && pod;
    if (renominates)
        keep(versus, &pod->nominated, wish->node);
    if (wish->ticket)
        engine_answer(&versus->replay->engine, wish->ticket, &answer, now_ns);
    if (wish->kind == EFFECT_DELETE_POD)
        evict(versus, wish, now_ns);
    else if (pod && (wish->kind == EFFECT_BIND || renominates))
        tell_again(versus, pod, now_ns);
}

static void fulfil_wishes(struct versus *versus, int64_t now_ns)
{
    for (size_t i = 0; i < versus->wishes.len; i++) {
        struct wish wish = versus->wishes.items[i]; /* more may come */
        fulfil(versus, &wish, now_ns);
    }
    vec_clear(&versus->wishes);
    arena_reset(&versus->scratch);
}

/* Plugins may have things to say all the time. */
static void fulfil_all(struct versus *versus, int64_t now_ns)
{
    struct engine *engine = &versus->replay->engine;
    fulfil_wishes(versus, now_ns);
    for (int times = 0; times < TIMES_MAX && plugin_mail_waits(engine); times++) {
        engine_tick(engine, now_ns);
        fulfil_wishes(versus, now_ns);
    }
}

/* ---- decisions ---- */

static void note(struct versus *versus, const struct decision *decision, int64_t now_ns)
{
    struct replay *replay = versus->replay;
    struct versus_pod *pod = strmap_get(&versus->by_uid, decision->pod->api->meta.uid);
    replay->decisions++;
    replay->placements += decision->row != ROW_NONE;
    if (replay->options.on_decision && now_ns >= replay->options.from_ns) {
        strbuf_clear(&replay->line);
        journal_put_decision(&replay->line, &replay->cluster, decision, now_ns);
        struct protobuf_reader reader = protobuf_reader(strbuf_slice(&replay->line));
        struct protobuf_field field;
        if (protobuf_next(&reader, &field) > 0)
            replay->options.on_decision(replay->options.user, field.bytes);
    }
    if (!pod || decision->is_deleted)
        return;
    pod->here.tries++;
    if (decision->row == ROW_NONE)
        keep(versus, &pod->here.message, decision->message);
    else if (!pod->here.placed_ns)
        pod->here.placed_ns = now_ns;
}

/* One decision for one that was recorded, so that pods wait as they did; false: there was none to be made. */
static bool decide(struct versus *versus, int64_t now_ns)
{
    struct decision decision;
    bool decided = engine_step(&versus->replay->engine, now_ns, &decision);
    if (decided)
        note(versus, &decision, now_ns);
    fulfil_all(versus, now_ns);
    return decided;
}

static void decide_all(struct versus *versus, int64_t now_ns)
{
    for (int steps = 0; steps < STEPS_MAX && decide(versus, now_ns); steps++)
        ;
}

void versus_end(struct versus *versus, int64_t now_ns)
{
    decide_all(versus, now_ns);
}

/* What was decided in the recording. */
static int note_recorded(struct versus *versus, const struct recording_entry *entry, struct error *err)
{
    struct entry_fields fields;
    struct protobuf_reader reader = protobuf_reader(entry->body);
    struct protobuf_field field;
    int r = entry_read(entry->body, &fields, err);
    if (r < 0)
        return r;
    while (protobuf_next(&reader, &field) > 0)
        versus->evictions[0] += field.tag == DECISION_VICTIM;
    struct versus_pod *pod = strmap_get(&versus->by_uid, fields.texts[DECISION_UID]);
    if (!pod || fields.numbers[DECISION_FLAGS] & DECISION_IS_DELETED)
        return 0;
    pod->recorded.tries++;
    if (!fields.texts[DECISION_NODE].len) {
        pod->recorded.message = fields.texts[DECISION_MESSAGE];
        return 0;
    }
    pod->recorded.node = fields.texts[DECISION_NODE];
    if (!pod->recorded.placed_ns)
        pod->recorded.placed_ns = entry->now_ns;
    return 0;
}

/* ---- entries ---- */

static int take_letter(struct versus *versus, const struct recording_entry *entry, struct error *err)
{
    struct letter *letter = replay_letter(entry, err);
    struct entry_fields fields;
    if (!letter || entry_read(entry->body, &fields, err) < 0)
        return -EBADMSG;
    if (letter->api_kind == KIND_POD && letter->object) {
        struct versus_pod *pod = strmap_get(&versus->by_uid, letter->object->object.meta->uid);
        if (entry->kind == JOURNAL_REMOVE && pod)
            pod->gone = true;
        if (entry->kind == JOURNAL_SET &&
            !adapt(versus, letter, fields.texts[LETTER_OBJECT], entry->now_ns)) {
            letter_free(letter);
            return 0;
        }
    }
    tell(versus, letter, entry->now_ns);
    fulfil_all(versus, entry->now_ns);
    return 0;
}

int versus_entry(struct versus *versus, const struct recording_entry *entry, struct error *err)
{
    switch (entry->kind) {
    case JOURNAL_SET:
    case JOURNAL_REMOVE:
    case JOURNAL_LIST_BEGIN:
    case JOURNAL_LIST_END:
    case JOURNAL_DOUBT:
    case JOURNAL_ABSENT:
        return take_letter(versus, entry, err);
    case JOURNAL_TICK:
        engine_tick(&versus->replay->engine, entry->now_ns);
        fulfil_all(versus, entry->now_ns);
        return 0;
    case JOURNAL_DECISION:
        decide(versus, entry->now_ns);
        return note_recorded(versus, entry, err);
    case JOURNAL_IDLE: /* there was time for all */
        decide_all(versus, entry->now_ns);
        return 0;
    case JOURNAL_CONFIG: /* the other one stays */
        versus->replay->reloads++;
        return 0;
    case JOURNAL_NONE:
    case JOURNAL_HEAD:
    case JOURNAL_ANSWER: /* to what was wanted there */
    case JOURNAL_OPINION:
    case JOURNAL_MAIL: /* about what was decided there; plugins are heard as they speak here */
    case JOURNAL_ENTRY_KINDS:
        return 0;
    }
    return 0;
}

/* ---- what came of it ---- */

const struct versus_pod *const *versus_pods(const struct versus *versus, size_t *ret_len)
{
    *ret_len = versus->pods.len;
    return (const struct versus_pod *const *)versus->pods.items;
}

static void count_node(struct strmap *seen, struct str node)
{
    if (node.len)
        strmap_put(seen, node, seen);
}

static void count(struct versus_sum *sum, const struct versus_pod *pod)
{
    bool there = pod->recorded.node.len, here = pod->here.node.len;
    sum->pods++;
    sum->same += there && here && str_eq(pod->recorded.node, pod->here.node);
    sum->moved += there && here && !str_eq(pod->recorded.node, pod->here.node);
    sum->only_recorded += there && !here;
    sum->only_here += !there && here;
    sum->neither += !there && !here;
    sum->tries[0] += pod->recorded.tries;
    sum->tries[1] += pod->here.tries;
}

struct versus_sum versus_sum(const struct versus *versus)
{
    struct versus_sum sum = { 0 };
    struct strmap nodes[2] = { 0 };
    vec_for(&versus->pods, item) {
        const struct versus_pod *pod = *item;
        if (pod->foreign)
            continue;
        count(&sum, pod);
        count_node(&nodes[0], pod->recorded.node);
        count_node(&nodes[1], pod->here.node);
    }
    for (int side = 0; side < 2; side++) {
        sum.nodes[side] = nodes[side].len;
        sum.evictions[side] = versus->evictions[side];
        strmap_release(&nodes[side]);
    }
    return sum;
}
