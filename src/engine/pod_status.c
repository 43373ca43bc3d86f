/* pod_status.c: a record per pod, from its first write until a newer version of the pod is seen; see pod_status.h.
 *
 *     NONE      no record: the pod tells what is there
 *     WAITING   `next` waits for its turn, in one of two lists
 *     WRITING   a write is under way; `next`, if there is one, is wanted after it
 *     WRITTEN   `sent` is there, as far as is known: no newer version of the pod has been seen
 *
 * `sent` is all that is there after the write, also what was there before it: what the pod has already is not part of
 * the write, and a later change that wants no more than that is not news.
 *
 * What happens in each state stands in the table at the end. */
#include "engine/pod_status.h"

#include <stdlib.h>

#include "base/log.h"

enum { NS_IN_SECOND = 1000000000 };
/* Between two new texts passes so much more time than the last one took: they are a fifth of one client's requests. A
 * write whose answer was lost takes long and says nothing about the API server, hence the limit. */
enum { REFRESH_PAUSE_FACTOR = 4 };
static const int64_t refresh_pause_ns_max = 2 * (int64_t)NS_IN_SECOND;

enum status_state { STATE_NONE, STATE_WAITING, STATE_WRITING, STATE_WRITTEN, STATE_COUNT };

struct status_record {
    struct pod_statuses *statuses;
    enum status_state state;
    struct list_link link; /* WAITING: in pod_statuses.waiting or .stale */
    bool is_stale;         /* WAITING: in .stale; WRITING: only a new text is sent */
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
    int64_t seen_version;  /* of the pod; 0: not known */
    int64_t sent_ns;
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

static int64_t wall_of(const struct status_event *event)
{
    return event->now_ns + event->statuses->wall_ahead_ns;
}

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

static struct list *list_of(struct status_record *record)
{
    return record->is_stale ? &record->statuses->stale : &record->statuses->waiting;
}

static void enter(struct status_record *record, enum status_state state)
{
    struct pod_statuses *statuses = record->statuses;
    if (record->state == STATE_WAITING) {
        list_remove(list_of(record), &record->link);
        statuses->turns--;
    }
    statuses->under_way -= record->state == STATE_WRITING;
    statuses->under_way += state == STATE_WRITING;
    record->state = state;
}

static void enter_waiting(struct status_record *record, bool is_stale)
{
    enter(record, STATE_WAITING);
    record->is_stale = is_stale;
    list_append(list_of(record), &record->link);
    record->statuses->turns++;
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

static void condition_stamp(struct wanted_condition *condition, int64_t generation, int64_t wall_ns)
{
    condition->last_transition_time = (struct opt_time){ .set = true, .seconds = wall_ns / NS_IN_SECOND };
    condition->observed_generation = (struct opt_int64){ generation != 0, generation };
}

bool condition_wanted(const struct pod *pod, int64_t wall_ns, struct wanted_condition *condition)
{
    condition_stamp(condition, pod->meta.generation, wall_ns);
    list_for(&pod->status.conditions, known) {
        if (!str_eq(known->type, condition->type))
            continue;
        if (str_eq(known->status, condition->status))
            condition->last_transition_time = known->last_transition_time;
        const struct wanted_condition there = { known->type, known->status, known->reason, known->message };
        return !same_condition(&there, condition);
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
    if (!str_to_int64(pod->meta.resource_version, &record->seen_version))
        record->seen_version = 0;
    strmap_put(&statuses->by_pod, record->key, record);
    return record;
}

/* ---- writes ---- */
static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns);

/* The change is all that will be there. `has_condition`, `has_nomination`: which of it is to be written. */
static void send(struct status_record *record, const struct status_change *change, bool has_condition,
                 bool has_nomination, int64_t now_ns)
{
    struct arena fresh = { 0 };
    struct status_change copy = copy_change(&fresh, change);
    arena_release(&record->sent_arena);
    record->sent_arena = fresh;
    record->sent = copy;
    record->has_sent = true;
    record->sent_ns = now_ns;
    enter(record, STATE_WRITING);
    if (has_condition)
        record->since = copy.condition.last_transition_time;
    record->write = writes_send(record->statuses->writes,
                                &(struct effect){ .kind = EFFECT_POD_STATUS,
                                                  .namespace = record->namespace,
                                                  .name = record->name,
                                                  .uid = record->uid,
                                                  .condition = has_condition ? &copy.condition : NULL,
                                                  .sets_nomination = has_nomination,
                                                  .node = has_nomination ? copy.node : STR("") },
                                answered, record, now_ns);
}

static bool has_sent_condition(const struct status_record *record, const struct wanted_condition *condition)
{
    return record->has_sent && same_condition(&record->sent.condition, condition);
}

static bool has_sent_nomination(const struct status_record *record, const struct status_change *change)
{
    return record->has_sent && same_nomination(&record->sent, change);
}

/* Is all that the change wants part of what was sent? */
static bool is_sent(const struct status_record *record, const struct status_change *change)
{
    return (!change->condition.type.len || has_sent_condition(record, &change->condition)) &&
           (change->nomination == NOMINATION_KEEP || has_sent_nomination(record, change));
}

/* After what was sent, without a newer version of the pod to compare with. */
static void send_next(struct status_record *record, const struct status_change *change, int64_t now_ns)
{
    struct status_change next = *change;
    bool has_condition = next.condition.type.len && !has_sent_condition(record, &next.condition);
    bool has_nomination = next.nomination != NOMINATION_KEEP && !has_sent_nomination(record, &next);
    condition_stamp(&next.condition, record->generation, now_ns + record->statuses->wall_ahead_ns);
    if (record->since.set && str_eq(next.condition.status, record->sent.condition.status))
        next.condition.last_transition_time = record->since;
    if (record->has_sent && !has_condition)
        next.condition = record->sent.condition;
    if (record->has_sent && next.nomination == NOMINATION_KEEP) {
        next.nomination = record->sent.nomination;
        next.node = record->sent.node;
    }
    send(record, &next, has_condition, has_nomination, now_ns);
}

static enum nomination nomination_wanted(const struct pod *pod, const struct status_change *change)
{
    struct str wanted = change->nomination == NOMINATION_SET ? change->node : STR("");
    if (change->nomination == NOMINATION_KEEP || str_eq(pod->status.nominated_node_name, wanted))
        return NOMINATION_KEEP;
    return change->nomination;
}

/* Does the change move the pod's nomination, for all that is known? `record` may be NULL. */
static bool moves_nomination(const struct status_record *record, const struct pod *pod,
                             const struct status_change *change)
{
    if (record && record->has_sent && record->sent.nomination != NOMINATION_KEEP)
        return change->nomination != NOMINATION_KEEP && !same_nomination(&record->sent, change);
    return nomination_wanted(pod, change) != NOMINATION_KEEP;
}

static bool has_status(const struct pod *pod, const struct wanted_condition *condition)
{
    list_for(&pod->status.conditions, known) {
        if (str_eq(known->type, condition->type))
            return str_eq(known->status, condition->status) && str_eq(known->reason, condition->reason);
    }
    return false;
}

/* Is nothing new but the text of the condition, for all that is known? No component acts on it. */
static bool is_refresh(const struct status_record *record, const struct pod *pod,
                       const struct status_change *change)
{
    const struct wanted_condition *wanted = &change->condition;
    if (!wanted->type.len || moves_nomination(record, pod, change))
        return false;
    const struct wanted_condition *sent = record && record->has_sent ? &record->sent.condition : NULL;
    if (sent && str_eq(sent->type, wanted->type))
        return str_eq(sent->status, wanted->status) && str_eq(sent->reason, wanted->reason);
    return has_status(pod, wanted);
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

/* A new text waits until nothing else is written. */
static bool may_refresh(const struct pod_statuses *statuses, int64_t now_ns)
{
    return !statuses->under_way && list_empty(&statuses->waiting) && now_ns >= statuses->refresh_due_ns;
}

/* May the change, which is news, be sent at once? */
static bool has_turn(const struct pod_statuses *statuses, const struct status_record *record,
                     const struct pod *pod, const struct status_change *change, int64_t now_ns)
{
    if (is_refresh(record, pod, change))
        return list_empty(&statuses->stale) && may_refresh(statuses, now_ns);
    return !is_crowded(statuses) || moves_nomination(record, pod, change);
}

static void wait_for_turn(struct status_record *record, const struct pod *pod,
                          const struct status_change *change)
{
    bool is_stale = is_refresh(record, pod, change);
    merge_next(record, change);
    enter_waiting(record, is_stale);
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

/* What is there once the change is: the pod has the rest. */
static void complete(struct status_change *change, const struct pod *pod)
{
    if (change->nomination != NOMINATION_KEEP)
        return;
    change->node = pod->status.nominated_node_name;
    change->nomination = change->node.len ? NOMINATION_SET : NOMINATION_CLEAR;
}

/* The change, compared with the pod itself. */
static void send_new(struct status_record *record, const struct status_event *event)
{
    struct status_change wanted = *event->change;
    bool has_condition =
        wanted.condition.type.len && condition_wanted(event->pod, wall_of(event), &wanted.condition);
    bool has_nomination = nomination_wanted(event->pod, &wanted) != NOMINATION_KEEP;
    record->is_stale = is_refresh(NULL, event->pod, &wanted);
    complete(&wanted, event->pod);
    send(record, &wanted, has_condition, has_nomination, event->now_ns);
}

/* Does the pod itself lack something that the change wants? */
static bool is_news(const struct status_event *event)
{
    struct wanted_condition condition = event->change->condition;
    return (condition.type.len && condition_wanted(event->pod, wall_of(event), &condition)) ||
           nomination_wanted(event->pod, event->change) != NOMINATION_KEEP;
}

static void set_new(const struct status_event *event)
{
    if (!is_news(event))
        return;
    struct status_record *record = record_new(event->statuses, event->pod);
    if (has_turn(event->statuses, NULL, event->pod, event->change, event->now_ns))
        send_new(record, event);
    else
        wait_for_turn(record, event->pod, event->change);
}

/* The change, compared with what was written. */
static void set_again(const struct status_event *event)
{
    struct status_record *record = event->record;
    if (is_sent(record, event->change))
        return;
    if (!has_turn(event->statuses, record, event->pod, event->change, event->now_ns)) {
        wait_for_turn(record, event->pod, event->change);
        return;
    }
    record->is_stale = is_refresh(record, event->pod, event->change);
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
    if (!record->has_sent && is_news(&turn)) {
        send_new(record, &turn);
    } else if (record->has_sent && !is_sent(record, turn.change)) {
        record->is_stale = is_refresh(record, event->pod, turn.change);
        send_next(record, turn.change, event->now_ns);
    }
    if (record->state == STATE_WRITTEN && !record->has_sent)
        drop(record);
}

static void set_waiting(const struct status_event *event)
{
    struct status_record *record = event->record;
    merge_next(record, event->change);
    bool is_stale = is_refresh(record, event->pod, &record->next);
    if (moves_nomination(record, event->pod, &record->next) ||
        (record->is_stale && !is_stale && !is_crowded(event->statuses)))
        take_turn(event);
    else if (is_stale != record->is_stale)
        enter_waiting(record, is_stale);
}

/* The next turn of a list. A pod that has no news any more, or is gone, is forgotten. */
static void next_turn(struct pod_statuses *statuses, struct list *list, int64_t now_ns)
{
    struct status_record *record = list_first(list, struct status_record, link);
    const struct pod *pod = known_pod(record);
    if (pod)
        take_turn(&(struct status_event){ statuses, record, pod, .now_ns = now_ns });
    else
        drop(record);
}

static void go_on(struct pod_statuses *statuses, int64_t now_ns)
{
    while (!list_empty(&statuses->waiting) && !is_crowded(statuses))
        next_turn(statuses, &statuses->waiting, now_ns);
    while (!list_empty(&statuses->stale) && may_refresh(statuses, now_ns))
        next_turn(statuses, &statuses->stale, now_ns);
}

/* After a write without a newer one to follow at once. */
static void rest(struct status_record *record, const struct pod *pod, bool done)
{
    bool is_seen = record->version && record->seen_version >= record->version;
    record->has_sent = done && !is_seen; /* else the pod tells what is there, or it is not known */
    if (record->has_next)
        enter_waiting(record, pod && is_refresh(record, pod, &record->next));
    else if (!record->has_sent)
        drop(record);
}

static int64_t refresh_pause_ns(int64_t took_ns)
{
    return MAX(MIN(REFRESH_PAUSE_FACTOR * took_ns, refresh_pause_ns_max), (int64_t)0);
}

static void end_write(const struct status_event *event)
{
    struct status_record *record = event->record;
    struct pod_statuses *statuses = event->statuses;
    bool done = event->answer->kind == ANSWER_DONE;
    if (statuses->written)
        statuses->written(statuses->context, !done, event->now_ns - record->sent_ns);
    if (record->is_stale)
        statuses->refresh_due_ns = event->now_ns + refresh_pause_ns(event->now_ns - record->sent_ns);
    record->write = NULL;
    record->is_stale = false;
    enter(record, STATE_WRITTEN);
    if (!done || !str_to_int64(event->answer->resource_version, &record->version))
        record->version = 0;
    record->has_next &= event->answer->kind != ANSWER_GONE && !(done && is_sent(record, &record->next));
    record->has_sent = done; /* else it is not known what is there */
    const struct pod *pod = record->has_next ? known_pod(record) : NULL;
    if (record->has_next && (!pod || moves_nomination(record, pod, &record->next) ||
                             (list_empty(&statuses->waiting) && !is_refresh(record, pod, &record->next)))) {
        record->has_next = false;
        send_next(record, &record->next, event->now_ns);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_str(&key, record->key);
    rest(record, pod, done);
    statuses->idle(statuses->context, strbuf_slice(&key), event->now_ns);
    go_on(statuses, event->now_ns);
}

static void see(const struct status_event *event)
{
    int64_t version;
    event->record->generation = event->pod->meta.generation;
    if (str_to_int64(event->pod->meta.resource_version, &version))
        event->record->seen_version = version;
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
    record->has_next &=
        !event->statuses->bindings_replace_all && moves_nomination(record, event->pod, &record->next);
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

static void log_change(const struct pod_statuses *statuses, const struct pod *pod,
                       const struct status_change *change)
{
    if (statuses
            ->bindings_replace_all) { /* with SchedulerAsyncAPICalls a line is about the condition alone */
        if (change->condition.type.len)
            log_info(3, "Updating pod condition", log_ref("pod", pod->meta.namespace, pod->meta.name),
                     log_str("conditionType", change->condition.type),
                     log_str("conditionStatus", change->condition.status),
                     log_str("conditionReason", change->condition.reason));
        return;
    }
    struct log_value values[6];
    size_t len = 0;
    values[len++] = log_ref("pod", pod->meta.namespace, pod->meta.name);
    if (change->condition.type.len) {
        values[len++] = log_str("conditionType", change->condition.type);
        values[len++] = log_str("conditionStatus", change->condition.status);
        values[len++] = log_str("conditionReason", change->condition.reason);
    }
    if (change->nomination != NOMINATION_KEEP) {
        values[len++] = log_str("nominatedNodeName", change->node);
        values[len++] = log_int("nominatingMode", 1);
    }
    log_write(LOG_INFO, 3, __FILE__, __LINE__, NULL, "Updating pod condition and nominated node name", values,
              len);
}

void pod_status_set(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                    int64_t now_ns)
{
    if (log_shows(3))
        log_change(statuses, pod, change);
    happen(ON_SET, (struct status_event){ statuses, NULL, pod, change, .now_ns = now_ns });
}

bool pod_status_busy(const struct pod_statuses *statuses, const struct pod *pod)
{
    const struct status_record *record = find(statuses, pod);
    return record && record->state == STATE_WRITING;
}

bool pod_status_settled(const struct pod_statuses *statuses, const struct pod *pod)
{
    const struct status_record *record = find(statuses, pod);
    return !record || (record->state == STATE_WRITTEN && !record->has_sent);
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

void pod_statuses_tick(struct pod_statuses *statuses, int64_t now_ns)
{
    go_on(statuses, now_ns);
}

int64_t pod_statuses_next_due(const struct pod_statuses *statuses)
{
    bool waits = !list_empty(&statuses->stale) && !statuses->under_way && list_empty(&statuses->waiting);
    return waits ? statuses->refresh_due_ns : INT64_MAX;
}
