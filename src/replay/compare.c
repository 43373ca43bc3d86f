/* compare.c: the host of an engine that decides otherwise than the recorded one did, with the same events; see
 * compare.h.
 *
 * Effects are collected while the engine works and answered right after, until there are none: never from within. */
#include "replay/compare.h"

#include <stdlib.h>

#include "api/protobuf.h"
#include "engine/plugin_messages.h"
#include "framework/blocking_work.h"
#include "replay/replay.h"

enum { STEPS_MAX = 1 << 20, TIMES_MAX = 16 };

struct pending_effect {
    enum effect_kind kind;
    uint64_t ticket;
    struct str namespace, name, uid, node; /* in the comparison's scratch arena */
    bool sets_nomination;
};

struct comparison {
    struct replay *replay;
    struct arena arena, scratch;
    struct strmap by_uid; /* to struct compare_pod */
    VEC(struct compare_pod *) pods;
    struct strmap evicted; /* uids of pods that were evicted here only */
    struct strmap leaving; /* and here as well as in the recording: they leave when they did then */
    VEC(struct pending_effect) effects;
    const struct recording_entry *recorded; /* the recorded decision at hand, or NULL */
    bool diverged;                          /* a decision was another one than the recorded */
    uint64_t evictions[2];
    struct rng recorded_rng; /* as the recorded engine had it when it made the decision at hand */
    struct strmap left_out;  /* uids of pods that were decided and for which there is no profile here */
    struct str scheduler;    /* of one of them */
};

struct comparison *compare_new(struct replay *replay)
{
    struct comparison *comparison = xcalloc(1, sizeof(*comparison));
    comparison->replay = replay;
    rng_seed(&comparison->recorded_rng, replay->seed);
    return comparison;
}

void compare_free(struct comparison *comparison)
{
    if (!comparison)
        return;
    strmap_release(&comparison->by_uid);
    strmap_release(&comparison->evicted);
    strmap_release(&comparison->leaving);
    strmap_release(&comparison->left_out);
    vec_release(&comparison->pods);
    vec_release(&comparison->effects);
    arena_release(&comparison->scratch);
    arena_release(&comparison->arena);
    free(comparison);
}

/* ---- pods ---- */

static struct compare_pod *add_pod(struct comparison *comparison, const struct meta *meta)
{
    struct compare_pod *pod = arena_new(&comparison->arena, struct compare_pod);
    pod->namespace = arena_str(&comparison->arena, meta->namespace);
    pod->name = arena_str(&comparison->arena, meta->name);
    pod->uid = arena_str(&comparison->arena, meta->uid);
    strmap_put(&comparison->by_uid, pod->uid, pod);
    *vec_push(&comparison->pods) = pod;
    return pod;
}

static void keep(struct comparison *comparison, struct str *to, struct str text)
{
    if (!str_eq(*to, text))
        *to = arena_str(&comparison->arena, text);
}

/* The pod of a message as it is here. False: it is not here. */
static bool adapt(struct comparison *comparison, struct inbox_message *message, struct str bytes)
{
    struct pod *pod = message->object->object.ptr;
    struct compare_pod *known = strmap_get(&comparison->by_uid, pod->meta.uid);
    if (strmap_get(&comparison->evicted, pod->meta.uid))
        return false;
    if (!known && !pod->spec.node_name.len && engine_profile(&comparison->replay->engine, pod))
        known = add_pod(comparison, &pod->meta);
    if (!known)
        return true;
    known->bytes = bytes;
    known->foreign |= pod->spec.node_name.len && !str_eq(pod->spec.node_name, known->recorded.node);
    if (known->foreign)
        return true;
    if (!comparison->diverged) {
        keep(comparison, &known->bound, pod->spec.node_name);
        keep(comparison, &known->nominated, pod->status.nominated_node_name);
    }
    pod->spec.node_name = known->bound;
    pod->status.nominated_node_name = known->nominated;
    return true;
}

/* ---- what the engine receives ---- */

static void apply(struct comparison *comparison, struct inbox_message *message, int64_t now_ns)
{
    mirror_apply(&comparison->replay->mirror, message, now_ns);
    inbox_message_free(message);
}

/* The pod has changed here: its newest version again. */
static void apply_again(struct comparison *comparison, const struct compare_pod *pod, int64_t now_ns)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_SET);
    message->api_kind = KIND_POD;
    message->object = live_object_new();
    struct object *object = &message->object->object;
    if (pod->gone || !pod->bytes.len ||
        object_decode_protobuf(pod->bytes, STRINGS_COPIED, &message->object->arena, object, NULL) < 0 ||
        !adapt(comparison, message, pod->bytes))
        inbox_message_free(message);
    else
        apply(comparison, message, now_ns);
}

static void apply_removal(struct comparison *comparison, const struct pending_effect *effect, int64_t now_ns)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_REMOVE);
    struct live_object *live = message->object = live_object_new();
    struct pod *pod = arena_new(&live->arena, struct pod);
    pod->meta.namespace = arena_str(&live->arena, effect->namespace);
    pod->meta.name = arena_str(&live->arena, effect->name);
    pod->meta.uid = arena_str(&live->arena, effect->uid);
    message->api_kind = KIND_POD;
    live->object = (struct object){ .kind = KIND_POD, .ptr = pod, .meta = &pod->meta };
    apply(comparison, message, now_ns);
}

/* ---- effects ---- */

static struct pending_effect *add_effect(struct comparison *comparison, enum effect_kind kind,
                                         struct str namespace, struct str name, struct str uid,
                                         struct str node)
{
    struct pending_effect *effect = vec_push(&comparison->effects);
    *effect = (struct pending_effect){ .kind = kind,
                                       .namespace = arena_str(&comparison->scratch, namespace),
                                       .name = arena_str(&comparison->scratch, name),
                                       .uid = arena_str(&comparison->scratch, uid),
                                       .node = arena_str(&comparison->scratch, node) };
    return effect;
}

void compare_emit(void *context, const struct effect *effect)
{
    if (!effect->ticket)
        return;
    struct pending_effect *pending =
        add_effect(context, effect->kind, effect->namespace, effect->name, effect->uid, effect->node);
    pending->ticket = effect->ticket;
    pending->sets_nomination = effect->sets_nomination;
}

void compare_take_work(void *context, struct cycle_work *work)
{
    struct comparison *comparison = context;
    const struct meta *meta = &work->cycle.pod->meta;
    if (work->binds) /* without a ticket: no answer is expected */
        add_effect(comparison, EFFECT_BIND, meta->namespace, meta->name, meta->uid, work->node);
    comparison->diverged = true; /* its end does not come at the recorded time */
    mailbox_post(work->mailbox, work_conclude(work, STATUS_OK));
}

/* Was it a victim of the recorded decision as well? */
static bool was_recorded_victim(const struct comparison *comparison, const struct pending_effect *effect)
{
    struct protobuf_reader reader =
        protobuf_reader(comparison->recorded ? comparison->recorded->body : STR(""));
    struct protobuf_field field;
    while (protobuf_next(&reader, &field) > 0) {
        if (field.tag != DECISION_VICTIM || field.wire != WIRE_BYTES)
            continue;
        struct str name = field.bytes, namespace = str_cut(&name, '/');
        if (str_eq(effect->namespace, namespace) && str_eq(effect->name, name))
            return true;
    }
    return false;
}

/* A pod that was evicted in the recording too leaves when it did then; the others leave at once. */
static void evict(struct comparison *comparison, const struct pending_effect *effect, int64_t now_ns)
{
    struct str uid = arena_str(&comparison->arena, effect->uid);
    struct compare_pod *pod = strmap_get(&comparison->by_uid, uid);
    if (strmap_get(&comparison->leaving, uid))
        return;
    comparison->evictions[1]++;
    if (was_recorded_victim(comparison, effect)) {
        strmap_put(&comparison->leaving, uid, comparison);
        return;
    }
    strmap_put(&comparison->evicted, uid, comparison);
    if (pod)
        pod->gone = true;
    apply_removal(comparison, effect, now_ns);
}

static void carry_out(struct comparison *comparison, const struct pending_effect *effect, int64_t now_ns)
{
    struct compare_pod *pod = strmap_get(&comparison->by_uid, effect->uid);
    struct answer answer = { .kind = ANSWER_DONE };
    if (effect->kind == EFFECT_READ_POD) {
        answer.node = pod ? pod->bound : (struct str){ 0 };
        answer.uid = effect->uid;
        if (!pod || pod->gone)
            answer.kind = ANSWER_GONE;
    }
    if (effect->kind == EFFECT_BIND && pod)
        keep(comparison, &pod->bound, effect->node);
    bool renominates = effect->kind == EFFECT_POD_STATUS && effect->sets_nomination && pod;
    if (renominates)
        keep(comparison, &pod->nominated, effect->node);
    if (effect->ticket)
        engine_answer(&comparison->replay->engine, effect->ticket, &answer, now_ns);
    if (effect->kind == EFFECT_DELETE_POD)
        evict(comparison, effect, now_ns);
    else if (pod && (effect->kind == EFFECT_BIND || renominates))
        apply_again(comparison, pod, now_ns);
}

static void carry_out_effects(struct comparison *comparison, int64_t now_ns)
{
    for (size_t i = 0; i < comparison->effects.len; i++) {
        struct pending_effect effect = comparison->effects.items[i]; /* more may come */
        carry_out(comparison, &effect, now_ns);
    }
    vec_clear(&comparison->effects);
    arena_reset(&comparison->scratch);
}

/* Messages of plugins may cause new effects. Before the comparison diverges, the recorded answers are used. */
static void carry_out_all(struct comparison *comparison, int64_t now_ns)
{
    struct engine *engine = &comparison->replay->engine;
    if (!comparison->diverged)
        return;
    carry_out_effects(comparison, now_ns);
    for (int times = 0; times < TIMES_MAX && plugin_messages_wait(engine); times++) {
        engine_tick(engine, now_ns);
        carry_out_effects(comparison, now_ns);
    }
}

/* A recorded answer to what the engine wanted here as well. */
static int take_answer(struct comparison *comparison, const struct recording_entry *entry, struct error *err)
{
    if (comparison->diverged)
        return 0;
    for (size_t i = 0; i < comparison->effects.len; i++)
        if (comparison->effects.items[i].ticket == entry->fields.numbers[ANSWER_TICKET]) {
            comparison->effects.items[i] = comparison->effects.items[--comparison->effects.len];
            break;
        }
    if (!comparison->effects.len)
        arena_reset(&comparison->scratch);
    return replay_answer(comparison->replay, entry, err);
}

/* ---- decisions ---- */

/* Would the engine go on as the recorded one did? Of a pod that has a node, nothing else counts. */
static bool is_recorded_one(const struct comparison *comparison, const struct decision *decision,
                            struct str body)
{
    const struct recording_entry *recorded = comparison->recorded;
    if (!recorded || str_eq(body, recorded->body))
        return recorded;
    return decision->row != ROW_NONE &&
           str_eq(recorded->fields.texts[DECISION_UID], decision->pod->api->meta.uid) &&
           str_eq(recorded->fields.texts[DECISION_NODE],
                  cluster_node_name(&comparison->replay->cluster, decision->row));
}

/* Victims of both leave when they did. */
static void keep_victims(struct comparison *comparison, const struct decision *decision)
{
    comparison->evictions[1] += decision->victims_len;
    for (uint32_t i = 0; i < decision->victims_len; i++)
        strmap_put(&comparison->leaving, arena_str(&comparison->arena, decision->victims[i]->api->meta.uid),
                   comparison);
}

/* `node`: empty if there was none. */
static void count_try(struct comparison *comparison, struct compare_side *side, struct str node,
                      struct str message, int64_t now_ns)
{
    side->tries++;
    keep(comparison, node.len ? &side->node : &side->message, node.len ? node : message);
    if (node.len && !side->placed_ns)
        side->placed_ns = now_ns;
}

static void count_decision(struct comparison *comparison, const struct decision *decision, int64_t now_ns)
{
    struct compare_pod *pod = strmap_get(&comparison->by_uid, decision->pod->api->meta.uid);
    struct str node = { 0 };
    if (decision->row != ROW_NONE)
        node = cluster_node_name(&comparison->replay->cluster, decision->row);
    if (pod && !decision->is_deleted)
        count_try(comparison, &pod->here, node, decision->message, now_ns);
}

/* One decision for one that was recorded, so that pods wait as they did; false: there was none to be made. Among nodes
 * that are equally good, chance decides as it did when it was recorded: or else one pod that goes elsewhere would send
 * all that come after it elsewhere, for no reason that lies in the configuration. */
static bool decide(struct comparison *comparison, int64_t now_ns)
{
    struct decision decision;
    struct str body = { 0 };
    comparison->replay->engine.rng = comparison->recorded_rng;
    bool decided = engine_step(&comparison->replay->engine, now_ns, &decision);
    if (decided) {
        body = replay_decision(comparison->replay, &decision, now_ns);
        count_decision(comparison, &decision, now_ns);
    }
    bool same = !comparison->diverged &&
                (decided ? is_recorded_one(comparison, &decision, body) : !comparison->recorded);
    if (same && decided)
        keep_victims(comparison, &decision);
    comparison->diverged |= !same;
    carry_out_all(comparison, now_ns);
    return decided;
}

static void decide_all(struct comparison *comparison, int64_t now_ns)
{
    for (int steps = 0; steps < STEPS_MAX && decide(comparison, now_ns); steps++)
        ;
}

void compare_end(struct comparison *comparison, int64_t now_ns)
{
    if (comparison->diverged) /* else it ends where the recording does */
        decide_all(comparison, now_ns);
}

/* A pod that the recorded configuration had a profile for, and this one does not. */
static void count_left_out(struct comparison *comparison, const struct str *texts)
{
    struct str uid = texts[DECISION_UID];
    const struct pod_info *pod =
        cluster_find_pod(&comparison->replay->cluster, texts[DECISION_NAMESPACE], texts[DECISION_NAME]);
    if (uid.len && !strmap_get(&comparison->left_out, uid))
        strmap_put(&comparison->left_out, uid, comparison);
    if (pod && !comparison->scheduler.len)
        comparison->scheduler = arena_str(&comparison->arena, pod->api->spec.scheduler_name);
}

/* What was decided in the recording. */
static void count_recorded(struct comparison *comparison, const struct recording_entry *entry)
{
    const struct str *texts = entry->fields.texts;
    const uint64_t *numbers = entry->fields.numbers;
    struct protobuf_reader reader = protobuf_reader(entry->body);
    struct protobuf_field field;
    if (numbers[DECISION_TIES] > 1)
        rng_below(&comparison->recorded_rng, numbers[DECISION_TIES]);
    struct compare_pod *pod = strmap_get(&comparison->by_uid, texts[DECISION_UID]);
    if (!pod)
        count_left_out(comparison, texts);
    if (!pod || numbers[DECISION_FLAGS] & DECISION_IS_DELETED)
        return;
    while (protobuf_next(&reader, &field) > 0)
        comparison->evictions[0] += field.tag == DECISION_VICTIM;
    count_try(comparison, &pod->recorded, texts[DECISION_NODE], texts[DECISION_MESSAGE], entry->now_ns);
}

/* ---- entries ---- */

static int take_message(struct comparison *comparison, const struct recording_entry *entry, struct error *err)
{
    if (replay_is_unused(entry))
        return 0;
    struct inbox_message *message = replay_message(entry, err);
    if (!message)
        return -EBADMSG;
    if (message->api_kind == KIND_POD && message->object) {
        struct compare_pod *pod = strmap_get(&comparison->by_uid, message->object->object.meta->uid);
        if (entry->kind == JOURNAL_REMOVE && pod)
            pod->gone = true;
        if (entry->kind == JOURNAL_SET && !adapt(comparison, message, entry->fields.texts[MESSAGE_OBJECT])) {
            inbox_message_free(message);
            return 0;
        }
    }
    apply(comparison, message, entry->now_ns);
    carry_out_all(comparison, entry->now_ns);
    return 0;
}

int compare_entry(struct comparison *comparison, const struct recording_entry *entry, struct error *err)
{
    switch (entry->kind) {
#define X(name, handler) case JOURNAL_##name:
        WATCH_INPUTS(X)
        WATCH_INPUTS_LATER(X)
#undef X
        return take_message(comparison, entry, err);
    case JOURNAL_TICK:
        engine_tick(&comparison->replay->engine, entry->now_ns);
        carry_out_all(comparison, entry->now_ns);
        return 0;
    case JOURNAL_CLOCK:
        engine_set_wall_clock(&comparison->replay->engine, recording_clock(entry));
        return 0;
    case JOURNAL_DECISION:
        comparison->recorded = entry;
        decide(comparison, entry->now_ns);
        comparison->recorded = NULL;
        count_recorded(comparison, entry);
        return 0;
    case JOURNAL_IDLE: /* there was time for all */
        decide_all(comparison, entry->now_ns);
        return 0;
    case JOURNAL_ANSWER:
        return take_answer(comparison, entry, err);
    case JOURNAL_CONFIG: /* the other one stays */
        comparison->replay->reloads++;
        return 0;
    case JOURNAL_NONE:
    case JOURNAL_HEAD:
    case JOURNAL_OPINION:
    case JOURNAL_PLUGIN_MESSAGE: /* about recorded decisions; plugins send their own messages here */
    case JOURNAL_ENTRY_KINDS:
        return 0;
    }
    return 0;
}

/* ---- what came of it ---- */

const struct compare_pod *const *compare_pods(const struct comparison *comparison, size_t *ret_len)
{
    *ret_len = comparison->pods.len;
    return (const struct compare_pod *const *)comparison->pods.items;
}

static void count(struct compare_sum *sum, const struct compare_pod *pod)
{
    bool recorded = pod->recorded.node.len, here = pod->here.node.len;
    sum->pods++;
    sum->same += recorded && here && str_eq(pod->recorded.node, pod->here.node);
    sum->moved += recorded && here && !str_eq(pod->recorded.node, pod->here.node);
    sum->only_recorded += recorded && !here;
    sum->only_here += !recorded && here;
    sum->neither += !recorded && !here;
    sum->tries[0] += pod->recorded.tries;
    sum->tries[1] += pod->here.tries;
}

struct compare_sum compare_sum(const struct comparison *comparison)
{
    struct compare_sum sum = { .left_out = comparison->left_out.len, .scheduler = comparison->scheduler };
    struct strmap nodes[2] = { 0 };
    vec_for(&comparison->pods, item) {
        const struct compare_pod *pod = *item;
        if (pod->foreign)
            continue;
        count(&sum, pod);
        if (pod->recorded.node.len)
            strmap_put(&nodes[0], pod->recorded.node, *item);
        if (pod->here.node.len)
            strmap_put(&nodes[1], pod->here.node, *item);
    }
    for (int side = 0; side < 2; side++) {
        sum.nodes[side] = nodes[side].len;
        sum.evictions[side] = comparison->evictions[side];
        strmap_release(&nodes[side]);
    }
    return sum;
}
