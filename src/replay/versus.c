/* versus.c: the host of an engine that lives another life with the same events; see versus.h.
 *
 * Effects are collected while the engine works and answered right after, until there are none: never from within. */
#include "replay/versus.h"

#include <stdlib.h>

#include "api/protobuf.h"
#include "engine/plugin_messages.h"
#include "framework/blocking_work.h"
#include "replay/replay.h"

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
    struct strmap leaving; /* of those that leave when they did there */
    VEC(struct wish) wishes;
    struct str recorded; /* the body of the recorded decision at hand, or empty */
    bool apart;          /* a decision was another one than the recorded */
    uint64_t evictions[2];
    struct rng recorded_rng; /* as the recorded engine had it when it made the decision at hand */
    struct strmap left_out;  /* uids of pods that were decided and are nobody's here */
    struct str scheduler;    /* of one of them */
};

struct versus *versus_new(struct replay *replay)
{
    struct versus *versus = xcalloc(1, sizeof(*versus));
    versus->replay = replay;
    rng_seed(&versus->recorded_rng, replay->seed);
    return versus;
}

void versus_free(struct versus *versus)
{
    if (!versus)
        return;
    strmap_release(&versus->by_uid);
    strmap_release(&versus->evicted);
    strmap_release(&versus->leaving);
    strmap_release(&versus->left_out);
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
    if (!versus->apart) {
        keep(versus, &known->bound, pod->spec.node_name);
        keep(versus, &known->nominated, pod->status.nominated_node_name);
    }
    pod->spec.node_name = known->bound;
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
    versus->apart = true; /* what comes of it is not heard at the recorded time */
    mailbox_post(work_mailbox(work), work_conclude(work, STATUS_OK));
}

/* Was it a victim of the recorded decision as well? */
static bool left_there(const struct versus *versus, const struct wish *wish)
{
    struct protobuf_reader reader = protobuf_reader(versus->recorded);
    struct protobuf_field field;
    while (versus->recorded.len && protobuf_next(&reader, &field) > 0) {
        if (field.tag != DECISION_VICTIM || field.wire != WIRE_BYTES)
            continue;
        ptrdiff_t slash = str_find(field.bytes, '/');
        if (slash >= 0 && str_eq(wish->namespace, str_slice(field.bytes, 0, (size_t)slash)) &&
            str_eq(wish->name, str_slice(field.bytes, (size_t)slash + 1, field.bytes.len)))
            return true;
    }
    return false;
}

/* Who left there too leaves when it did, which is recorded; the others at once. */
static void evict(struct versus *versus, const struct wish *wish, int64_t now_ns)
{
    struct str uid = arena_str(&versus->arena, wish->uid);
    struct versus_pod *pod = strmap_get(&versus->by_uid, uid);
    if (strmap_get(&versus->leaving, uid))
        return;
    versus->evictions[1]++;
    if (left_there(versus, wish)) {
        strmap_put(&versus->leaving, uid, versus);
        return;
    }
    strmap_put(&versus->evicted, uid, versus);
    if (pod)
        pod->gone = true;
    tell_removed(versus, wish, now_ns);
}

static void fulfil(struct versus *versus, const struct wish *wish, int64_t now_ns)
{
    struct versus_pod *pod = strmap_get(&versus->by_uid, wish->uid);
    struct answer answer = { .kind = ANSWER_DONE };
    if (wish->kind == EFFECT_READ_POD) {
        answer.node = pod ? pod->bound : (struct str){ 0 };
        answer.uid = wish->uid;
        if (!pod || pod->gone)
            answer.kind = ANSWER_GONE;
    }
    if (wish->kind == EFFECT_BIND && pod)
        keep(versus, &pod->bound, wish->node);
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

/* Plugins may have things to say all the time. Together, answers are the recorded ones. */
static void fulfil_all(struct versus *versus, int64_t now_ns)
{
    struct engine *engine = &versus->replay->engine;
    if (!versus->apart)
        return;
    fulfil_wishes(versus, now_ns);
    for (int times = 0; times < TIMES_MAX && plugin_messages_wait(engine); times++) {
        engine_tick(engine, now_ns);
        fulfil_wishes(versus, now_ns);
    }
}

/* A recorded answer to what the engine wanted here as well. */
static int take_answer(struct versus *versus, const struct recording_entry *entry, struct error *err)
{
    struct entry_fields fields;
    int r = entry_read(entry->body, &fields, err);
    if (r < 0 || versus->apart)
        return r;
    for (size_t i = 0; i < versus->wishes.len; i++)
        if (versus->wishes.items[i].ticket == fields.numbers[ANSWER_TICKET]) {
            versus->wishes.items[i] = versus->wishes.items[--versus->wishes.len];
            break;
        }
    if (!versus->wishes.len)
        arena_reset(&versus->scratch);
    return replay_answer(versus->replay, entry, err);
}

/* ---- decisions ---- */

/* The decision as it would be recorded; until the next one. */
static struct str body_of(struct replay *replay, const struct decision *decision, int64_t now_ns)
{
    struct protobuf_field field;
    strbuf_clear(&replay->line);
    journal_put_decision(&replay->line, &replay->cluster, decision, now_ns);
    struct protobuf_reader reader = protobuf_reader(strbuf_slice(&replay->line));
    return protobuf_next(&reader, &field) > 0 ? field.bytes : (struct str){ 0 };
}

/* Would the engine go on as the recorded one did? Of a pod that has a node, nothing else counts. */
static bool is_recorded_one(const struct versus *versus, const struct decision *decision, struct str body)
{
    struct entry_fields fields;
    if (str_eq(body, versus->recorded))
        return true;
    return decision->row != ROW_NONE && versus->recorded.len &&
           entry_read(versus->recorded, &fields, NULL) == 0 &&
           str_eq(fields.texts[DECISION_UID], decision->pod->api->meta.uid) &&
           str_eq(fields.texts[DECISION_NODE], cluster_node_name(&versus->replay->cluster, decision->row));
}

/* Victims of both leave when they did. */
static void note_victims(struct versus *versus, const struct decision *decision)
{
    versus->evictions[1] += decision->victims_len;
    for (uint32_t i = 0; i < decision->victims_len; i++)
        strmap_put(&versus->leaving, arena_str(&versus->arena, decision->victims[i]->api->meta.uid), versus);
}

static void note(struct versus *versus, const struct decision *decision, struct str body, int64_t now_ns)
{
    struct replay *replay = versus->replay;
    struct versus_pod *pod = strmap_get(&versus->by_uid, decision->pod->api->meta.uid);
    replay->decisions++;
    replay->placements += decision->row != ROW_NONE;
    if (replay->options.on_decision && now_ns >= replay->options.from_ns)
        replay->options.on_decision(replay->options.user, body);
    if (!pod || decision->is_deleted)
        return;
    pod->here.tries++;
    if (decision->row == ROW_NONE) {
        keep(versus, &pod->here.message, decision->message);
        return;
    }
    keep(versus, &pod->here.node, cluster_node_name(&replay->cluster, decision->row));
    if (!pod->here.placed_ns)
        pod->here.placed_ns = now_ns;
}

/* One decision for one that was recorded, so that pods wait as they did; false: there was none to be made. Among nodes
 * that are equally good, chance decides as it did when it was recorded: or else one pod that goes elsewhere would send
 * all that come after it elsewhere, for no reason that lies in the configuration. */
static bool decide(struct versus *versus, int64_t now_ns)
{
    struct decision decision;
    struct str body = { 0 };
    versus->replay->engine.rng = versus->recorded_rng;
    bool decided = engine_step(&versus->replay->engine, now_ns, &decision);
    if (decided) {
        body = body_of(versus->replay, &decision, now_ns);
        note(versus, &decision, body, now_ns);
    }
    bool together =
        !versus->apart && (decided ? is_recorded_one(versus, &decision, body) : !versus->recorded.len);
    if (together && decided)
        note_victims(versus, &decision);
    versus->apart |= !together; /* from now on nobody else answers */
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
    if (!versus->apart) /* what was not decided there, nor is here */
        return;
    decide_all(versus, now_ns);
}

/* Somebody's pod there, and nobody's here. */
static void note_left_out(struct versus *versus, const struct entry_fields *fields)
{
    struct str uid = fields->texts[DECISION_UID];
    const struct cluster *cluster = &versus->replay->cluster;
    const struct pod_info *pod =
        cluster_find_pod(cluster, fields->texts[DECISION_NAMESPACE], fields->texts[DECISION_NAME]);
    if (uid.len && !strmap_get(&versus->left_out, uid))
        strmap_put(&versus->left_out, uid, versus);
    if (pod && !versus->scheduler.len)
        versus->scheduler = arena_str(&versus->arena, pod->api->spec.scheduler_name);
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
    if (fields.numbers[DECISION_TIES] > 1)
        rng_below(&versus->recorded_rng, fields.numbers[DECISION_TIES]);
    struct versus_pod *pod = strmap_get(&versus->by_uid, fields.texts[DECISION_UID]);
    if (!pod)
        note_left_out(versus, &fields);
    if (!pod || fields.numbers[DECISION_FLAGS] & DECISION_IS_DELETED)
        return 0;
    while (protobuf_next(&reader, &field) > 0)
        versus->evictions[0] += field.tag == DECISION_VICTIM;
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
#define X(name, handler) case JOURNAL_##name:
        WATCH_INPUTS(X)
#undef X
        return take_letter(versus, entry, err);
    case JOURNAL_TICK:
        engine_tick(&versus->replay->engine, entry->now_ns);
        fulfil_all(versus, entry->now_ns);
        return 0;
    case JOURNAL_DECISION:
        versus->recorded = entry->body;
        decide(versus, entry->now_ns);
        versus->recorded = (struct str){ 0 };
        return note_recorded(versus, entry, err);
    case JOURNAL_IDLE: /* there was time for all */
        decide_all(versus, entry->now_ns);
        return 0;
    case JOURNAL_ANSWER:
        return take_answer(versus, entry, err);
    case JOURNAL_CONFIG: /* the other one stays */
        versus->replay->reloads++;
        return 0;
    case JOURNAL_NONE:
    case JOURNAL_HEAD:
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
    struct versus_sum sum = { .left_out = versus->left_out.len, .scheduler = versus->scheduler };
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
