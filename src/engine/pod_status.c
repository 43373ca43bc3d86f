/* pod_status.c: a record per pod, from its first write until a newer version of the pod is seen; see pod_status.h.
 *
 *     NONE      no record: the pod tells what is there
 *     WAITING   `next` waits for its turn
 *     WRITING   a write is under way; `next`, if there is one, is wanted after it
 *     WRITTEN   `sent` is there, as far as is known: no newer version of the pod has been seen
 *
 * What happens in each state stands in the table at the end. */
#include "engine/pod_status.h"

#include <stdlib.h>

enum { NS_IN_SECOND = 1000000000 };

enum status_state { STATE_NONE, STATE_WAITING, STATE_WRITING, STATE_WRITTEN, STATE_COUNT };

struct status_record {
    struct pod_statuses *statuses;
    enum status_state state;
    struct list_link link; /* WAITING: in pod_statuses.waiting */
    struct write *write;   /* WRITING */
    struct arena sent_arena, next_arena;
    struct status_change sent, next;
    bool has_sent;                        /* `sent` is there, or will be; WAITING: maybe not */
    bool has_next;                        /* WAITING: always; WRITING: maybe */
    struct str key, namespace, name, uid; /* of the pod; in `texts` */
    struct arena texts;
    int64_t generation;
    struct opt_time since; /* when the condition that was sent got its status */
    int64_t version;       /* of the pod with what was sent; 0: not known */
};

/* Something happens to a pod's status. */
struct status_event {
    struct pod_statuses *statuses;
    struct status_record *record;       /* NULL in STATE_NONE */
    const struct pod *pod;              /* NULL for an answer */
    const struct status_change *change; /* that is wanted */
    const struct answer *answer;        /* to the write under way */
    int64_t now_ns;
};

struct str pod_key(const struct pod *pod, struct strbuf *scratch)
{
    if (pod->meta.uid.len)
        return pod->meta.uid;
    strbuf_clear(scratch);
    strbuf_printf(scratch, STR_FMT "/" STR_FMT, STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.name));
    return strbuf_slice(scratch);
}

static struct status_record *find(const struct pod_statuses *statuses, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    return strmap_get(&statuses->by_pod, pod_key(pod, &scratch));
}

static void record_free(struct status_record *record)
{
    arena_release(&record->sent_arena);
    arena_release(&record->next_arena);
    arena_release(&record->texts);
    free(record);
}

static void enter(struct status_record *record, enum status_state state)
{
    struct pod_statuses *statuses = record->statuses;
    if (record->state == STATE_WAITING)
        list_remove(&statuses->waiting, &record->link);
    statuses->under_way -= record->state == STATE_WRITING;
    statuses->under_way += state == STATE_WRITING;
    if (state == STATE_WAITING)
        list_append(&statuses->waiting, &record->link);
    record->state = state;
}

static void drop(struct status_record *record)
{
    struct pod_statuses *statuses = record->statuses;
    if (record->write)
        writes_cancel(statuses->writes, record->write);
    enter(record, STATE_NONE);
    strmap_remove(&statuses->by_pod, record->key);
    record_free(record);
}

void pod_statuses_release(struct pod_statuses *statuses)
{
    map_for(&statuses->by_pod, slot)
        record_free(slot->value);
    strmap_release(&statuses->by_pod);
}

/* ---- changes ---- */
static bool same_condition(const struct wanted_condition *a, const struct wanted_condition *b)
{
    return str_eq(a->type, b->type) && str_eq(a->status, b->status) && str_eq(a->reason, b->reason) &&
           str_eq(a->message, b->message);
}

static bool same_nomination(const struct status_change *a, const struct status_change *b)
{
    return a->nomination == b->nomination && str_eq(a->node, b->node);
}

static void condition_stamp(struct wanted_condition *condition, int64_t generation, int64_t now_ns)
{
    condition->last_transition_time = (struct opt_time){ .set = true, .seconds = now_ns / NS_IN_SECOND };
    condition->observed_generation = (struct opt_int64){ generation != 0, generation };
}

bool condition_wanted(const struct pod *pod, int64_t now_ns, struct wanted_condition *condition)
{
    condition_stamp(condition, pod->meta.generation, now_ns);
    list_for(&pod->status.conditions, known) {
        if (!str_eq(known->type, condition->type))
            continue;
        if (str_eq(known->status, condition->status))
            condition->last_transition_time = known->last_transition_time;
        const struct wanted_condition there = { known->type, known->status, known->reason, known->message };
        return !same_condition(&there, condition) || known->observed_generation != pod->meta.generation;
    }
    return true;
}

static struct status_change copy_change(struct arena *arena, const struct status_change *change)
{
    return (struct status_change){ .condition = condition_copy(arena, &change->condition),
                                   .nomination = change->nomination,
                                   .node = arena_str(arena, change->node) };
}

static struct status_record *record_new(struct pod_statuses *statuses, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    struct status_record *record = xcalloc(1, sizeof(*record));
    record->statuses = statuses;
    record->key = arena_str(&record->texts, pod_key(pod, &scratch));
    record->namespace = arena_str(&record->texts, pod->meta.namespace);
    record->name = arena_str(&record->texts, pod->meta.name);
    record->uid = arena_str(&record->texts, pod->meta.uid);
    record->generation = pod->meta.generation;
    strmap_put(&statuses->by_pod, record->key, record);
    return record;
}

/* ---- writes ---- */
static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns);

/* Without `has_condition` the pod has the condition already: only the nomination is sent. */
static void send(struct status_record *record, const struct status_change *change, bool has_condition,
                 int64_t now_ns)
{
    struct arena fresh = { 0 };
    struct status_change copy = copy_change(&fresh, change);
    arena_release(&record->sent_arena);
    record->sent_arena = fresh;
    record->sent = copy;
    record->has_sent = true;
    enter(record, STATE_WRITING);
    if (has_condition)
        record->since = copy.condition.last_transition_time;
    record->write =
        writes_send(record->statuses->writes,
                    &(struct effect){ .kind = EFFECT_POD_STATUS,
                                      .namespace = record->namespace,
                                      .name = record->name,
                                      .uid = record->uid,
                                      .condition = has_condition ? &copy.condition : NULL,
                                      .sets_nomination = copy.nomination != NOMINATION_KEEP,
                                      .node = copy.nomination == NOMINATION_SET ? copy.node : STR("") },
                    answered, record, now_ns);
}

/* Is all that the change wants part of what was sent? */
static bool is_sent(const struct status_record *record, const struct status_change *change)
{
    const struct status_change *sent = &record->sent;
    return (!change->condition.type.len || same_condition(&sent->condition, &change->condition)) &&
           (change->nomination == NOMINATION_KEEP || same_nomination(sent, change));
}

/* After what was sent, without a newer version of the pod to compare with. */
static void send_next(struct status_record *record, const struct status_change *change, int64_t now_ns)
{
    struct status_change next = *change;
    condition_stamp(&next.condition, record->generation, now_ns);
    if (record->since.set && str_eq(next.condition.status, record->sent.condition.status))
        next.condition.last_transition_time = record->since;
    send(record, &next, next.condition.type.len, now_ns);
}

static enum nomination nomination_wanted(const struct pod *pod, const struct status_change *change)
{
    struct str wanted = change->nomination == NOMINATION_SET ? change->node : STR("");
    if (change->nomination == NOMINATION_KEEP || str_eq(pod->status.nominated_node_name, wanted))
        return NOMINATION_KEEP;
    return change->nomination;
}

/* Does the change move the pod's nomination, for all that is known? */
static bool moves_nomination(const struct status_record *record, const struct pod *pod,
                             const struct status_change *change)
{
    const struct status_change *sent = &record->sent;
    if (record->has_sent && sent->nomination != NOMINATION_KEEP)
        return change->nomination != NOMINATION_KEEP && !same_nomination(sent, change);
    return nomination_wanted(pod, change) != NOMINATION_KEEP;
}

static const struct pod *known_pod(const struct status_record *record)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    const struct pod_statuses *statuses = record->statuses;
    const struct pod *pod = statuses->known(statuses->context, record->namespace, record->name);
    return pod && str_eq(pod_key(pod, &scratch), record->key) ? pod : NULL;
}

/* A later change replaces what waits; a nomination that it leaves alone stays wanted. */
static void merge_next(struct status_record *record, const struct status_change *change)
{
    struct status_change merged = *change;
    if (record->has_next && merged.nomination == NOMINATION_KEEP) {
        merged.nomination = record->next.nomination;
        merged.node = record->next.node;
    }
    if (record->has_next && !merged.condition.type.len)
        merged.condition = record->next.condition;
    struct arena fresh = { 0 };
    record->next = copy_change(&fresh, &merged);
    arena_release(&record->next_arena);
    record->next_arena = fresh;
    record->has_next = true;
}

static bool is_crowded(const struct pod_statuses *statuses)
{
    return statuses->under_way >= STATUS_WRITES_MAX;
}

static void wait_for_turn(struct status_record *record, const struct status_change *change)
{
    merge_next(record, change);
    enter(record, STATE_WAITING);
}

/* ---- actions: each moves the record to its next state with enter(), send() or drop() ---- */
static void forget(const struct status_event *event)
{
    drop(event->record);
}

static void set_next(const struct status_event *event)
{
    merge_next(event->record, event->change);
}

/* The change, compared with the pod itself. */
static void set_new(const struct status_event *event)
{
    struct status_record *record = event->record;
    struct status_change wanted = *event->change;
    bool has_condition =
        wanted.condition.type.len && condition_wanted(event->pod, event->now_ns, &wanted.condition);
    wanted.nomination = nomination_wanted(event->pod, &wanted);
    if (!has_condition && wanted.nomination == NOMINATION_KEEP)
        return;
    if (!record)
        record = record_new(event->statuses, event->pod);
    if (wanted.nomination == NOMINATION_KEEP && is_crowded(event->statuses))
        wait_for_turn(record, event->change);
    else
        send(record, &wanted, has_condition, event->now_ns);
}

/* The change, compared with what was written. */
static void set_again(const struct status_event *event)
{
    struct status_record *record = event->record;
    if (is_sent(record, event->change))
        return;
    if (is_crowded(event->statuses) && !moves_nomination(record, event->pod, event->change))
        wait_for_turn(record, event->change);
    else
        send_next(record, event->change, event->now_ns);
}

/* What waits is sent, if it is still news. */
static void take_turn(const struct status_event *event)
{
    struct status_record *record = event->record;
    struct status_event turn = *event;
    turn.change = &record->next;
    record->has_next = false;
    enter(record, STATE_WRITTEN);
    if (!record->has_sent)
        set_new(&turn);
    else if (!is_sent(record, turn.change))
        send_next(record, turn.change, event->now_ns);
    if (record->state == STATE_WRITTEN && !record->has_sent)
        drop(record);
}

static void set_waiting(const struct status_event *event)
{
    merge_next(event->record, event->change);
    if (moves_nomination(event->record, event->pod, &event->record->next))
        take_turn(event);
}

/* The next turns. A pod that has no news any more, or is gone, is forgotten. */
static void go_on(struct pod_statuses *statuses, int64_t now_ns)
{
    while (!list_empty(&statuses->waiting) && !is_crowded(statuses)) {
        struct status_record *record = list_first(&statuses->waiting, struct status_record, link);
        const struct pod *pod = known_pod(record);
        if (pod)
            take_turn(&(struct status_event){ statuses, record, pod, .now_ns = now_ns });
        else
            drop(record);
    }
}

static void end_write(const struct status_event *event)
{
    struct status_record *record = event->record;
    struct pod_statuses *statuses = event->statuses;
    bool done = event->answer->kind == ANSWER_DONE;
    record->write = NULL;
    enter(record, STATE_WRITTEN);
    if (!done || !str_to_int64(event->answer->resource_version, &record->version))
        record->version = 0;
    record->has_next &= event->answer->kind != ANSWER_GONE && !(done && is_sent(record, &record->next));
    record->has_sent = done; /* else it is not known what is there */
    const struct pod *pod = record->has_next ? known_pod(record) : NULL;
    if (record->has_next &&
        (list_empty(&statuses->waiting) || !pod || moves_nomination(record, pod, &record->next))) {
        record->has_next = false;
        send_next(record, &record->next, event->now_ns);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_str(&key, record->key);
    if (record->has_next)
        enter(record, STATE_WAITING);
    else if (!done)
        drop(record);
    statuses->idle(statuses->context, strbuf_slice(&key), event->now_ns);
    go_on(statuses, event->now_ns);
}

static void see(const struct status_event *event)
{
    event->record->generation = event->pod->meta.generation;
}

/* Unless what was sent is newer than this version of the pod. */
static void forget_sent(const struct status_event *event)
{
    struct status_record *record = event->record;
    int64_t version;
    see(event);
    if (record->version && str_to_int64(event->pod->meta.resource_version, &version) &&
        version < record->version)
        return;
    record->has_sent = false;
    if (record->state == STATE_WRITTEN)
        drop(record);
}

static void void_next(const struct status_event *event)
{
    struct status_record *record = event->record;
    record->has_next &= moves_nomination(record, event->pod, &record->next);
}

static void void_waiting(const struct status_event *event)
{
    event->record->has_next = false;
    enter(event->record, STATE_WRITTEN);
    if (!event->record->has_sent)
        drop(event->record);
}

/* ---- the table ---- */
enum status_event_kind { ON_SET, ON_ANSWER, ON_SEEN, ON_VOID, ON_FORGET, EVENT_KINDS };

/* Where there is no action, nothing happens. */
static void (*const actions[STATE_COUNT][EVENT_KINDS])(const struct status_event *event) = {
    [STATE_NONE] = { [ON_SET] = set_new },
    [STATE_WAITING] = { [ON_SET] = set_waiting,
                        [ON_SEEN] = forget_sent,
                        [ON_VOID] = void_waiting,
                        [ON_FORGET] = forget },
    [STATE_WRITING] = { [ON_SET] = set_next,
                        [ON_ANSWER] = end_write,
                        [ON_SEEN] = see,
                        [ON_VOID] = void_next,
                        [ON_FORGET] = forget },
    [STATE_WRITTEN] = { [ON_SET] = set_again, [ON_SEEN] = forget_sent, [ON_FORGET] = forget },
};

static void happen(enum status_event_kind kind, struct status_event event)
{
    if (!event.record)
        event.record = find(event.statuses, event.pod);
    enum status_state state = event.record ? event.record->state : STATE_NONE;
    if (actions[state][kind])
        actions[state][kind](&event);
}

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct status_record *record = context;
    (void)write;
    happen(ON_ANSWER, (struct status_event){ record->statuses, record, .answer = answer, .now_ns = now_ns });
}

void pod_status_set(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                    int64_t now_ns)
{
    happen(ON_SET, (struct status_event){ statuses, NULL, pod, change, .now_ns = now_ns });
}

bool pod_status_busy(const struct pod_statuses *statuses, const struct pod *pod)
{
    const struct status_record *record = find(statuses, pod);
    return record && record->state == STATE_WRITING;
}

void pod_status_seen(struct pod_statuses *statuses, const struct pod *pod)
{
    happen(ON_SEEN, (struct status_event){ statuses, NULL, pod });
}

void pod_status_void(struct pod_statuses *statuses, const struct pod *pod)
{
    happen(ON_VOID, (struct status_event){ statuses, NULL, pod });
}

void pod_status_forget(struct pod_statuses *statuses, const struct pod *pod, int64_t now_ns)
{
    happen(ON_FORGET, (struct status_event){ statuses, NULL, pod });
    go_on(statuses, now_ns);
}
