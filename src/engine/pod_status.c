/* pod_status.c: a record per pod from the first write until a newer version of the pod is seen. */
#include "engine/pod_status.h"

#include <stdlib.h>

enum { NS_IN_SECOND = 1000000000 };

/* What was sent, and what is to be sent next. */
struct status_record {
    struct strbuf key;
    struct pod_statuses *statuses;
    struct write *write; /* under way; NULL: answered, and kept for comparison */
    struct arena sent_arena, next_arena;
    struct status_change sent, next;
    bool has_sent, has_next; /* has_sent: and no newer version of the pod was seen since */
    bool waits;              /* for its turn, between these two */
    struct status_record *before, *behind;
    struct str namespace, name, uid; /* of the pod; in `texts` */
    struct arena texts;
    int64_t generation;
    struct opt_time since; /* when the condition that was sent got its status */
    int64_t version;       /* of the pod with what was sent; 0: not known */
};

struct str pod_key(const struct pod *pod, struct strbuf *scratch)
{
    if (pod->meta.uid.len)
        return pod->meta.uid;
    strbuf_clear(scratch);
    strbuf_printf(scratch, STR_FMT "/" STR_FMT, STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.name));
    return (struct str){ scratch->text, (uint32_t)scratch->len };
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
    strbuf_release(&record->key);
    free(record);
}

static void join(struct pod_statuses *statuses, struct status_record *record)
{
    record->waits = true;
    record->before = statuses->last;
    record->behind = NULL;
    *(record->before ? &record->before->behind : &statuses->first) = record;
    statuses->last = record;
}

static void leave(struct pod_statuses *statuses, struct status_record *record)
{
    if (!record->waits)
        return;
    record->waits = false;
    *(record->before ? &record->before->behind : &statuses->first) = record->behind;
    *(record->behind ? &record->behind->before : &statuses->last) = record->before;
}

static void drop(struct pod_statuses *statuses, struct status_record *record)
{
    leave(statuses, record);
    statuses->under_way -= record->write != NULL;
    if (record->write)
        writes_cancel(statuses->writes, record->write);
    strmap_remove(&statuses->by_pod, (struct str){ record->key.text, (uint32_t)record->key.len });
    record_free(record);
}

void pod_statuses_release(struct pod_statuses *statuses)
{
    map_for(&statuses->by_pod, slot)
        record_free(slot->value);
    strmap_release(&statuses->by_pod);
}

static struct opt_time time_at(int64_t now_ns)
{
    return (struct opt_time){ .set = true, .seconds = now_ns / NS_IN_SECOND };
}

bool condition_wanted(const struct pod *pod, const struct status_change *change, int64_t now_ns,
                      struct wanted_condition *ret)
{
    *ret = (struct wanted_condition){ .type = change->type,
                                      .status = change->status,
                                      .reason = change->reason,
                                      .message = change->message,
                                      .last_transition_time = time_at(now_ns),
                                      .observed_generation = { pod->meta.generation != 0,
                                                               pod->meta.generation } };
    list_for(&pod->status.conditions, known) {
        if (!str_eq(known->type, change->type))
            continue;
        if (str_eq(known->status, change->status))
            ret->last_transition_time = known->last_transition_time;
        return !str_eq(known->status, change->status) || !str_eq(known->reason, change->reason) ||
               !str_eq(known->message, change->message) || known->observed_generation != pod->meta.generation;
    }
    return true;
}

static struct status_change copy_change(struct arena *arena, const struct status_change *change)
{
    return (struct status_change){ .type = arena_str(arena, change->type),
                                   .status = arena_str(arena, change->status),
                                   .reason = arena_str(arena, change->reason),
                                   .message = arena_str(arena, change->message),
                                   .nomination = change->nomination,
                                   .node = arena_str(arena, change->node) };
}

static struct status_record *record_of(struct pod_statuses *statuses, const struct pod *pod)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    struct str key = pod_key(pod, &scratch);
    struct status_record *record = strmap_get(&statuses->by_pod, key);
    if (record)
        return record;
    record = xcalloc(1, sizeof(*record));
    record->statuses = statuses;
    strbuf_str(&record->key, key);
    record->namespace = arena_str(&record->texts, pod->meta.namespace);
    record->name = arena_str(&record->texts, pod->meta.name);
    record->uid = arena_str(&record->texts, pod->meta.uid);
    record->generation = pod->meta.generation;
    strmap_put(&statuses->by_pod, (struct str){ record->key.text, (uint32_t)record->key.len }, record);
    return record;
}

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns);

/* `condition` NULL: only the nomination. */
static void send(struct status_record *record, const struct status_change *change,
                 const struct wanted_condition *condition, int64_t now_ns)
{
    struct arena fresh = { 0 };
    struct status_change copy = copy_change(&fresh, change);
    arena_release(&record->sent_arena);
    record->sent_arena = fresh;
    record->sent = copy;
    record->has_sent = true;
    record->statuses->under_way++;
    if (condition)
        record->since = condition->last_transition_time;
    record->write =
        writes_send(record->statuses->writes,
                    &(struct effect){ .kind = EFFECT_POD_STATUS,
                                      .namespace = record->namespace,
                                      .name = record->name,
                                      .uid = record->uid,
                                      .condition = condition,
                                      .sets_nomination = change->nomination != NOMINATION_KEEP,
                                      .node = change->nomination == NOMINATION_SET ? change->node : STR("") },
                    answered, record, now_ns);
}

/* Is all that the change wants part of what was sent? */
static bool is_sent(const struct status_record *record, const struct status_change *change)
{
    const struct status_change *sent = &record->sent;
    bool same_condition = str_eq(sent->type, change->type) && str_eq(sent->status, change->status) &&
                          str_eq(sent->reason, change->reason) && str_eq(sent->message, change->message);
    bool same_nomination = sent->nomination == change->nomination && str_eq(sent->node, change->node);
    return (same_condition || !change->type.len) &&
           (same_nomination || change->nomination == NOMINATION_KEEP);
}

/* After what was sent, without a newer version of the pod to compare with. */
static void send_next(struct status_record *record, const struct status_change *change, int64_t now_ns)
{
    struct wanted_condition condition = { .type = change->type,
                                          .status = change->status,
                                          .reason = change->reason,
                                          .message = change->message,
                                          .last_transition_time = time_at(now_ns),
                                          .observed_generation = { record->generation != 0,
                                                                   record->generation } };
    if (record->since.set && str_eq(change->status, record->sent.status))
        condition.last_transition_time = record->since;
    send(record, change, change->type.len ? &condition : NULL, now_ns);
}

static enum nomination nomination_wanted(const struct pod *pod, const struct status_change *change)
{
    struct str wanted = change->nomination == NOMINATION_SET ? change->node : STR("");
    if (change->nomination == NOMINATION_KEEP || str_eq(pod->status.nominated_node_name, wanted))
        return NOMINATION_KEEP;
    return change->nomination;
}

/* Does the change move the pod's nomination, for all that is known? */
static bool is_promise(const struct status_record *record, const struct pod *pod,
                       const struct status_change *change)
{
    const struct status_change *sent = &record->sent;
    if (record->has_sent && sent->nomination != NOMINATION_KEEP)
        return change->nomination != NOMINATION_KEEP &&
               !(sent->nomination == change->nomination && str_eq(sent->node, change->node));
    return nomination_wanted(pod, change) != NOMINATION_KEEP;
}

static const struct pod *known_pod(const struct status_record *record)
{
    _cleanup_(strbuf_release) struct strbuf scratch = { 0 };
    const struct pod_statuses *statuses = record->statuses;
    const struct pod *pod = statuses->known(statuses->context, record->namespace, record->name);
    return pod && str_eq(pod_key(pod, &scratch), strbuf_slice(&record->key)) ? pod : NULL;
}

static void go_on(struct pod_statuses *statuses, int64_t now_ns);

static void answered(void *context, const struct write *write, const struct answer *answer, int64_t now_ns)
{
    struct status_record *record = context;
    struct pod_statuses *statuses = record->statuses;
    (void)write;
    record->write = NULL;
    statuses->under_way--;
    bool fine = answer->kind == ANSWER_DONE;
    if (!fine || !str_to_int64(answer->resource_version, &record->version))
        record->version = 0;
    record->has_next &= answer->kind != ANSWER_GONE && !(fine && is_sent(record, &record->next));
    record->has_sent = fine; /* else it is not known what is there */
    const struct pod *pod = record->has_next ? known_pod(record) : NULL;
    if (record->has_next && (!statuses->first || !pod || is_promise(record, pod, &record->next))) {
        record->has_next = false;
        send_next(record, &record->next, now_ns);
        return;
    }
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    strbuf_add(&key, record->key.text, record->key.len);
    if (record->has_next)
        join(statuses, record);
    else if (!fine)
        drop(statuses, record);
    statuses->idle(statuses->context, (struct str){ key.text, (uint32_t)key.len }, now_ns);
    go_on(statuses, now_ns);
}

/* A later change replaces what waits; a nomination that it leaves alone stays wanted. */
static void wait_behind(struct status_record *record, const struct status_change *change)
{
    struct status_change merged = *change;
    if (record->has_next && merged.nomination == NOMINATION_KEEP) {
        merged.nomination = record->next.nomination;
        merged.node = record->next.node;
    }
    if (record->has_next && !merged.type.len) {
        merged.type = record->next.type;
        merged.status = record->next.status;
        merged.reason = record->next.reason;
        merged.message = record->next.message;
    }
    struct arena fresh = { 0 };
    record->next = copy_change(&fresh, &merged);
    arena_release(&record->next_arena);
    record->next_arena = fresh;
    record->has_next = true;
}

/* The change, compared with what was sent, or with the pod itself. */
static void put(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                int64_t now_ns)
{
    struct status_record *record = find(statuses, pod);
    if (record && record->has_sent) {
        if (!is_sent(record, change))
            send_next(record, change, now_ns);
        return;
    }
    struct wanted_condition condition;
    struct status_change wanted = *change;
    bool has_condition = change->type.len && condition_wanted(pod, change, now_ns, &condition);
    wanted.nomination = nomination_wanted(pod, change);
    if (!has_condition && wanted.nomination == NOMINATION_KEEP)
        return;
    if (statuses->under_way >= STATUS_WRITES_MAX && wanted.nomination == NOMINATION_KEEP) {
        record = record_of(statuses, pod);
        wait_behind(record, change);
        join(statuses, record);
        return;
    }
    send(record_of(statuses, pod), &wanted, has_condition ? &condition : NULL, now_ns);
}

/* What waits is sent, if it is still news. */
static void take_turn(struct status_record *record, const struct pod *pod, int64_t now_ns)
{
    struct pod_statuses *statuses = record->statuses;
    leave(statuses, record);
    record->has_next = false;
    put(statuses, pod, &record->next, now_ns);
    if (!record->write && !record->has_sent)
        drop(statuses, record);
}

/* Whose turn it is. Who has nothing new to say any more, or is gone, is forgotten. */
static void go_on(struct pod_statuses *statuses, int64_t now_ns)
{
    while (statuses->first && statuses->under_way < STATUS_WRITES_MAX) {
        struct status_record *record = statuses->first;
        const struct pod *pod = known_pod(record);
        if (pod)
            take_turn(record, pod, now_ns);
        else
            drop(statuses, record);
    }
}

void pod_status_set(struct pod_statuses *statuses, const struct pod *pod, const struct status_change *change,
                    int64_t now_ns)
{
    struct status_record *record = find(statuses, pod);
    bool has_room = statuses->under_way < STATUS_WRITES_MAX;
    if (!record || (!record->write && !record->waits && (has_room || is_promise(record, pod, change)))) {
        put(statuses, pod, change, now_ns);
        return;
    }
    if (!record->write && !record->waits && is_sent(record, change))
        return;
    wait_behind(record, change);
    if (!record->write && !record->waits)
        join(statuses, record);
    if (record->waits && is_promise(record, pod, &record->next))
        take_turn(record, pod, now_ns);
}

bool pod_status_busy(const struct pod_statuses *statuses, const struct pod *pod)
{
    const struct status_record *record = find(statuses, pod);
    return record && record->write;
}

void pod_status_seen(struct pod_statuses *statuses, const struct pod *pod)
{
    struct status_record *record = find(statuses, pod);
    int64_t version;
    if (!record)
        return;
    record->generation = pod->meta.generation;
    bool is_behind =
        record->version && str_to_int64(pod->meta.resource_version, &version) && version < record->version;
    if (record->write || is_behind) /* what was sent is newer than what is seen */
        return;
    record->has_sent = false;
    if (!record->waits)
        drop(statuses, record);
}

void pod_status_void(struct pod_statuses *statuses, const struct pod *pod)
{
    struct status_record *record = find(statuses, pod);
    if (!record || !record->has_next || (record->write && is_promise(record, pod, &record->next)))
        return;
    record->has_next = false;
    leave(statuses, record);
    if (!record->write && !record->has_sent)
        drop(statuses, record);
}

void pod_status_forget(struct pod_statuses *statuses, const struct pod *pod, int64_t now_ns)
{
    struct status_record *record = find(statuses, pod);
    if (!record)
        return;
    drop(statuses, record);
    go_on(statuses, now_ns);
}
