/* queue.c: moves pods between the places; see queue.h. hint_eval.c decides which event moves which pod. */
#include "queue/queue.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/log.h"
#include "framework/probe.h"
#include "framework/run.h"
#include "queue/in_flight.h"
#include "queue/wait_lists.h"

enum { TRIM_MIN = 4096 }; /* an empty queue gives back tables larger than this */
#define ORDERING_WINDOW_NS \
    NS_PER_SECOND /* backoffs end with full seconds: pods that wake together are sorted */
#define LEFTOVERS_PERIOD_NS (30 * NS_PER_SECOND)
#define UNSCHEDULABLE_MAX_NS (300 * NS_PER_SECOND)

const char *const queue_place_names[QUEUE_PLACE_COUNT] = {
#define X(name, text) [QUEUE_##name] = text,
    QUEUE_PLACES(X)
#undef X
};

/* ---- orders ---- */
static bool goes_before(const void *a, const void *b, const void *context)
{
    const struct queued_pod *x = a, *y = b;
    const struct queue *queue = context;
    if (queue->options.less) {
        if (queue->options.less(x->pod, y->pod))
            return true;
        if (queue->options.less(y->pod, x->pod))
            return false;
    }
    return x->since_ns != y->since_ns ? x->since_ns < y->since_ns : x->order < y->order;
}

static bool wakes_before(const void *a, const void *b, const void *context)
{
    const struct queued_pod *x = a, *y = b;
    if (x->backoff_until_ns != y->backoff_until_ns)
        return x->backoff_until_ns < y->backoff_until_ns;
    return goes_before(a, b, context);
}

static void heap_moved(void *item, size_t at)
{
    ((struct queued_pod *)item)->at = at;
}

static void init_profiles(struct queue *queue)
{
    const struct queue_options *options = &queue->options;
    queue->interests = xcalloc(options->profiles_len, sizeof(*queue->interests));
    queue->reasons = xcalloc(options->profiles_len, sizeof(*queue->reasons));
    for (uint32_t i = 0; i < options->profiles_len; i++)
        event_interest_init(&queue->interests[i], &options->profiles[i]);
}

void queue_init(struct queue *queue, const struct queue_options *options)
{
    *queue = (struct queue){ .options = *options, .next_leftovers_ns = options->now_ns };
    if (!queue->options.unschedulable_max_ns)
        queue->options.unschedulable_max_ns = UNSCHEDULABLE_MAX_NS;
    for (enum queue_place place = QUEUE_ACTIVE; place <= QUEUE_LAST_HEAP; place++)
        queue->heaps[place] = (struct heap){ .before = place == QUEUE_ACTIVE ? goes_before : wakes_before,
                                             .moved = heap_moved,
                                             .context = queue };
    queue->incoming = xcalloc(QUEUE_NAME_COUNT, sizeof(*queue->incoming));
    init_profiles(queue);
}

/* The pod's victims have left, or are not waited for any more. */
static void end_hold(struct queue *queue, struct queued_pod *entry)
{
    if (entry->last_victim)
        pod_info_unref(queue->options.cluster, entry->last_victim);
    entry->last_victim = NULL;
    entry->is_held = false;
}

void queue_release(struct queue *queue)
{
    list_for_each(&queue->in_flight, struct queued_pod, entry, flight) {
        if (entry->pod) /* it is in the table */
            continue;
        end_hold(queue, entry);
        free(entry);
    }
    map_for(&queue->entries, slot) {
        end_hold(queue, slot->value);
        free(slot->value);
    }
    for (enum queue_place place = QUEUE_ACTIVE; place <= QUEUE_LAST_HEAP; place++)
        heap_release(&queue->heaps[place]);
    wait_lists_release(queue);
    idmap_release(&queue->entries);
    vec_release(&queue->woken);
    vec_release(&queue->flight_events);
    free(queue->interests);
    free(queue->reasons);
    free(queue->incoming);
    arena_release(&queue->scratch);
}

/* ---- entries ---- */
static uint64_t key_of(const struct pod_info *pod)
{
    return (uint64_t)(uintptr_t)pod;
}

struct queued_pod *queue_find(const struct queue *queue, const struct pod_info *pod)
{
    return idmap_get(&queue->entries, key_of(pod));
}

static void refresh_age(struct queue *queue, struct queued_pod *entry, int64_t now_ns)
{
    entry->since_ns = now_ns;
    entry->order = ++queue->arrivals;
}

static struct queued_pod *entry_new(struct queue *queue, struct pod_info *pod, uint32_t profile,
                                    int64_t now_ns)
{
    struct queued_pod *entry = xmalloc(sizeof(*entry));
    *entry = (struct queued_pod){
        .pod = pod, .profile = profile, .gate = GATE_NONE, .first_attempt_ns = QUEUE_NEVER
    };
    refresh_age(queue, entry, now_ns);
    idmap_put(&queue->entries, key_of(pod), entry);
    queue->counts[QUEUE_NOWHERE]++;
    return entry;
}

static struct heap *heap_of(struct queue *queue, enum queue_place place)
{
    return place != QUEUE_NOWHERE && place <= QUEUE_LAST_HEAP ? &queue->heaps[place] : NULL;
}

static bool is_waiting(const struct queued_pod *entry)
{
    return entry->place != QUEUE_NOWHERE && entry->place != QUEUE_IN_FLIGHT;
}

/* Pods that wait are counted under each plugin that rejected them. */
static void count_reasons(struct queue *queue, const struct queued_pod *entry, int sign)
{
    bitmap_for_word(entry->unschedulable | entry->pending, plugin)
        queue->reasons[entry->profile][plugin] += (uint32_t)sign;
}

static void set_place(struct queue *queue, struct queued_pod *entry, enum queue_place place)
{
    queue->counts[entry->place]--;
    queue->counts[place]++;
    if (is_waiting(entry))
        count_reasons(queue, entry, -1);
    entry->place = place;
    if (is_waiting(entry))
        count_reasons(queue, entry, +1);
}

/* Out of the place where it waits. */
static void take_out(struct queue *queue, struct queued_pod *entry)
{
    struct heap *heap = heap_of(queue, entry->place);
    if (heap)
        heap_remove(heap, entry->at);
    else if (entry->place == QUEUE_UNSCHEDULABLE || entry->place == QUEUE_GATED)
        wait_lists_remove(entry);
    else if (entry->place == QUEUE_IN_FLIGHT)
        in_flight_remove(queue, entry);
    set_place(queue, entry, QUEUE_NOWHERE);
}

/* An empty queue gives back the memory of many pods. */
static void trim(struct queue *queue)
{
    if (queue->entries.len)
        return;
    for (enum queue_place place = QUEUE_ACTIVE; place <= QUEUE_LAST_HEAP; place++)
        if (queue->heaps[place].items.cap > TRIM_MIN)
            heap_release(&queue->heaps[place]);
    if (queue->woken.cap > TRIM_MIN)
        vec_release(&queue->woken);
    if (queue->entries.cap > TRIM_MIN)
        idmap_release(&queue->entries);
}

static void entry_free(struct queue *queue, struct queued_pod *entry)
{
    take_out(queue, entry);
    end_hold(queue, entry);
    queue->counts[QUEUE_NOWHERE]--;
    if (entry->pod)
        idmap_remove(&queue->entries, key_of(entry->pod));
    free(entry);
    trim(queue);
}

/* ---- backoff ---- */
static int64_t window_of(int64_t time_ns)
{
    int64_t past = time_ns % ORDERING_WINDOW_NS;
    return time_ns - (past < 0 ? past + ORDERING_WINDOW_NS : past);
}

/* Doubles with every rejection, or with every error in a row. */
static int64_t backoff_ns(const struct queue_options *options, uint32_t count)
{
    uint32_t shift = MIN(count - 1, 62U);
    if (options->backoff_initial_ns > options->backoff_max_ns >> shift)
        return options->backoff_max_ns;
    return options->backoff_initial_ns << shift;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Is the pod's backoff not over yet? A pod that was not tried has none. */
static bool is_backing_off(struct queue *queue, struct queued_pod *entry, int64_t now_ns)
{
    uint32_t count = entry->errors_in_a_row ? entry->errors_in_a_row : entry->rejections;
    if (!queue->options.backoff_max_ns || !count)
        return false;
    if (!entry->backoff_until_ns)
        entry->backoff_until_ns =
            window_of(saturating_add(entry->since_ns, backoff_ns(&queue->options, count)));
    return entry->backoff_until_ns >= window_of(now_ns);
}

/* ---- gates ---- */
bool queue_is_held(const struct queue *queue, const struct queued_pod *entry)
{
    if (!entry->is_held || !entry->last_victim)
        return entry->is_held;
    const struct meta *meta = &entry->last_victim->api->meta;
    const struct pod_info *victim = cluster_find_pod(queue->options.cluster, meta->namespace, meta->name);
    return victim && !victim->terminating;
}

void queue_hold(struct queued_pod *entry)
{
    entry->is_held = true;
}

void queue_hold_last(struct queue *queue, const struct pod_info *pod, struct pod_info *victim)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (!entry || !entry->is_held)
        return;
    end_hold(queue, entry);
    entry->is_held = true;
    entry->last_victim = victim;
    pod_info_ref(victim);
}

/* The pod has no condition that could say so. */
static void tell_gate_failed(const struct queued_pod *entry, struct status status, struct arena *arena)
{
    const struct meta *meta = &entry->pod->api->meta;
    struct error err;
    error_set(&err, -EINVAL, STR_FMT, STR_ARG(status_message(status, arena)));
    log_error(&err, "Unexpected error running PreEnqueue plugin", log_ref("pod", meta->namespace, meta->name),
              log_str("plugin", str_from(status.plugin->name)));
}

/* Calls the PreEnqueue plugins, the one that holds the pod back first. The entry is nowhere meanwhile. The point is
 * reported as Success whatever its plugins return, as in kube-scheduler. */
static bool is_gated(struct queue *queue, struct queued_pod *entry, struct status *ret)
{
    const struct profile *profile = &queue->options.profiles[entry->profile];
    const struct plugin *first = entry->gate == GATE_NONE ? NULL : profile->plugins[entry->gate].plugin;
    int64_t begun_ns = probe_now(profile->probe);
    *ret = run_pre_enqueue(profile, entry->pod->api, queue_is_held(queue, entry), first, &queue->scratch);
    probe_point(profile->probe, profile, PROBE_PRE_ENQUEUE, STATUS_SUCCESS, begun_ns);
    entry->gate = GATE_NONE;
    if (status_ok(*ret))
        return false;
    if (ret->code == STATUS_ERROR)
        tell_gate_failed(entry, *ret, &queue->scratch);
    entry->gate = (int32_t)profile_find(profile, ret->plugin->name)->index;
    entry->unschedulable |= (uint64_t)1 << entry->gate;
    return true;
}

/* ---- into a place ---- */
/* kube-scheduler's log lines. */
static void tell_entered(const struct queued_pod *entry, enum queue_name name, enum event_label why)
{
    static const char *const names[] = { "Active", "Backoff", "Unschedulable" };
    _cleanup_(arena_release) struct arena arena = { 0 };
    const struct meta *meta = &entry->pod->api->meta;
    log_info(why == LABEL_ATTEMPT_FAILURE ? 3 : 5,
             name == QUEUE_NAME_UNSCHEDULABLE && entry->gate != GATE_NONE
                 ? "Pod moved to an internal scheduling queue, because the pod is gated"
                 : "Pod moved to an internal scheduling queue",
             log_ref("pod", meta->namespace, meta->name), log_str("event", event_label_text(why, &arena)),
             log_str("queue", str_from(names[name])));
}

static void entered(struct queue *queue, const struct queued_pod *entry, enum queue_name name,
                    enum event_label why)
{
    queue->incoming[name][why]++;
    if (__atomic_load_n(&log_highest_verbosity, __ATOMIC_RELAXED) >= 3)
        tell_entered(entry, name, why);
}

static void enter_wait_list(struct queue *queue, struct queued_pod *entry, enum event_label why)
{
    entered(queue, entry, QUEUE_NAME_UNSCHEDULABLE, why);
    wait_lists_add(queue, entry);
    set_place(queue, entry, entry->gate == GATE_NONE ? QUEUE_UNSCHEDULABLE : QUEUE_GATED);
}

static void enter_active(struct queue *queue, struct queued_pod *entry, enum event_label why, int64_t now_ns)
{
    if (entry->first_attempt_ns == QUEUE_NEVER)
        entry->first_attempt_ns = now_ns;
    entered(queue, entry, QUEUE_NAME_ACTIVE, why);
    set_place(queue, entry, QUEUE_ACTIVE);
    heap_push(&queue->heaps[QUEUE_ACTIVE], entry);
}

/* A rejected pod may be taken out before its time; one that failed with an error may not: the API server may be
 * overloaded. */
static void enter_backoff(struct queue *queue, struct queued_pod *entry, enum event_label why)
{
    bool failed = !(entry->unschedulable | entry->pending) && entry->errors_in_a_row;
    entered(queue, entry, QUEUE_NAME_BACKOFF, why);
    set_place(queue, entry, failed ? QUEUE_ERROR_BACKOFF : QUEUE_BACKOFF);
    heap_push(&queue->heaps[entry->place], entry);
}

/* The entry, which is nowhere, goes where the strategy says, if its gates let it. True: it will be tried. */
static bool send(struct queue *queue, struct queued_pod *entry, enum strategy strategy, enum event_label why,
                 int64_t now_ns)
{
    struct status gate;
    arena_reset(&queue->scratch);
    bool waits = strategy == STRATEGY_AFTER_BACKOFF && is_backing_off(queue, entry, now_ns);
    if (strategy == STRATEGY_SKIP || is_gated(queue, entry, &gate)) {
        entry->was_flushed &= strategy == STRATEGY_SKIP;
        entry->missed |= strategy != STRATEGY_SKIP;
        enter_wait_list(queue, entry, why);
        return false;
    }
    entry->missed = false;
    if (waits)
        enter_backoff(queue, entry, why);
    else
        enter_active(queue, entry, why, now_ns);
    return true;
}

/* ---- pods come and go ---- */
static enum event_label label_of_pod(uint32_t actions)
{
    return event_label(&(struct cluster_event){ .resource = EVENT_UNSCHEDULED_POD, .actions = actions });
}

static struct queued_pod *add(struct queue *queue, struct pod_info *pod, uint32_t profile,
                              enum event_label why, int64_t now_ns, struct status *ret_gate)
{
    struct queued_pod *entry = entry_new(queue, pod, profile, now_ns);
    arena_reset(&queue->scratch);
    if (is_gated(queue, entry, ret_gate))
        enter_wait_list(queue, entry, why);
    else
        enter_active(queue, entry, why, now_ns);
    return entry;
}

struct queued_pod *queue_add(struct queue *queue, struct pod_info *pod, uint32_t profile, int64_t now_ns,
                             struct status *ret_gate)
{
    assert(!queue_find(queue, pod));
    return add(queue, pod, profile, label_of_pod(ACTION_ADD), now_ns, ret_gate);
}

/* Plugins that rejected the old version may accept the new one. */
static void update_rejected(struct queue *queue, struct queued_pod *entry, const struct pod *before,
                            const struct action_list *actions, int64_t now_ns)
{
    bool tried = false;
    for (uint32_t i = 0; i < actions->len && !tried; i++) {
        const struct cluster_event event = {
            .resource = pod_event_resource(entry->pod->api),
            .actions = actions->items[i],
            .before = before,
            .after = entry->pod->api,
        };
        enum strategy strategy = hint_eval_pod(queue, entry, &event);
        if (strategy == STRATEGY_SKIP)
            continue;
        take_out(queue, entry);
        tried = send(queue, entry, strategy, event_label(&event), now_ns);
    }
}

void queue_update(struct queue *queue, struct pod_info *before, struct pod_info *after, uint32_t profile,
                  int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, before);
    struct status gate;
    if (!entry) {
        add(queue, after, profile, label_of_pod(ACTION_UPDATE), now_ns, &gate);
        return;
    }
    arena_reset(&queue->scratch);
    struct action_list actions = pod_update_actions(before->api, after->api, &queue->scratch);
    struct heap *heap = heap_of(queue, entry->place);
    if (heap)
        heap_remove(heap, entry->at);
    idmap_remove(&queue->entries, key_of(before));
    idmap_put(&queue->entries, key_of(after), entry);
    entry->pod = after;
    if (heap) {
        heap_push(heap, entry);
    } else if (entry->place == QUEUE_IN_FLIGHT) {
        entry->helped = entry->interested;
        for (uint32_t i = 0; i < actions.len && in_flight_has(queue, entry); i++)
            in_flight_note(queue, &(struct cluster_event){ .resource = pod_event_resource(after->api),
                                                           .actions = actions.items[i],
                                                           .before = before->api,
                                                           .after = after->api });
    } else {
        update_rejected(queue, entry, before->api, &actions, now_ns);
    }
}

void queue_remove(struct queue *queue, const struct pod_info *pod)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (!entry)
        return;
    if (is_waiting(entry)) {
        entry_free(queue, entry);
        return;
    }
    idmap_remove(&queue->entries, key_of(pod));
    entry->pod = NULL;
}

/* ---- decisions ---- */
struct queued_pod *queue_pop(struct queue *queue)
{
    struct queued_pod *entry = heap_pop(&queue->heaps[QUEUE_ACTIVE]);
    if (!entry) {
        entry = heap_pop(&queue->heaps[QUEUE_BACKOFF]);
        if (!entry)
            return NULL;
        queue->incoming[QUEUE_NAME_ACTIVE][LABEL_POP_FROM_BACKOFF]++;
    }
    set_place(queue, entry, QUEUE_IN_FLIGHT);
    in_flight_add(queue, entry);
    entry->attempts++;
    return entry;
}

void queue_settle(struct queue *queue, struct queued_pod *entry)
{
    assert(entry->place == QUEUE_IN_FLIGHT);
    in_flight_remove(queue, entry);
}

void queue_requeue(struct queue *queue, struct queued_pod *entry, uint64_t unschedulable, uint64_t pending,
                   int64_t now_ns)
{
    assert(entry->place == QUEUE_IN_FLIGHT);
    if (!entry->pod) {
        queue_done(queue, entry);
        return;
    }
    take_out(queue, entry);
    entry->unschedulable = unschedulable;
    entry->pending = pending;
    entry->errors_in_a_row = unschedulable | pending ? 0 : entry->errors_in_a_row + 1;
    entry->rejections += (unschedulable | pending) != 0;
    entry->backoff_until_ns = 0;
    entry->flushed_ns = 0;
    entry->was_flushed = entry->missed = false;
    refresh_age(queue, entry, now_ns);
    send(queue, entry, in_flight_strategy(entry), LABEL_ATTEMPT_FAILURE, now_ns);
}

void queue_done(struct queue *queue, struct queued_pod *entry)
{
    assert(entry->place == QUEUE_IN_FLIGHT);
    entry_free(queue, entry);
}

/* ---- what wakes pods ---- */
static bool passes(const struct queue_filter *only, const struct pod_info *pod)
{
    return !only || (pod != only->except && (!only->has_priority_max || pod->priority <= only->priority_max));
}

/* Evaluates the hints of the pods gathered in queue->woken; wait lists change meanwhile. */
static void wake(struct queue *queue, const struct cluster_event *event, int64_t now_ns)
{
    enum event_label why = event_label(event);
    for (size_t i = 0; i < queue->woken.len; i++) {
        struct queued_pod *entry = queue->woken.items[i];
        enum strategy strategy = hint_eval_pod(queue, entry, event);
        if (strategy == STRATEGY_SKIP)
            continue;
        take_out(queue, entry);
        send(queue, entry, strategy, why, now_ns);
    }
    vec_clear(&queue->woken);
    in_flight_note(queue, event);
}

void queue_event(struct queue *queue, const struct cluster_event *event, const struct queue_filter *only,
                 int64_t now_ns)
{
    bool waiting = queue->counts[QUEUE_UNSCHEDULABLE] || queue->counts[QUEUE_GATED];
    if ((!waiting && list_empty(&queue->in_flight)) || !hint_eval_any(queue, event))
        return;
    if (waiting)
        vec_for(&queue->wait_lists, at) {
            struct wait_list *list = *at;
            if (!hint_eval_list(queue, list, event))
                continue;
            vec_for(&list->pods, entry)
                if (passes(only, (*entry)->pod))
                    *vec_push(&queue->woken) = *entry;
        }
    wake(queue, event, now_ns);
}

void queue_activate(struct queue *queue, struct pod_info *pod, int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (!entry)
        return;
    switch (entry->place) {
    case QUEUE_UNSCHEDULABLE:
    case QUEUE_GATED:
        take_out(queue, entry);
        send(queue, entry, STRATEGY_AT_ONCE, LABEL_FORCE_ACTIVATE, now_ns);
        break;
    case QUEUE_BACKOFF:
    case QUEUE_ERROR_BACKOFF: /* its gates were open when it came here */
        take_out(queue, entry);
        enter_active(queue, entry, LABEL_FORCE_ACTIVATE, now_ns);
        break;
    case QUEUE_IN_FLIGHT:
        if (in_flight_has(queue, entry))
            in_flight_note(queue, &(struct cluster_event){ .resource = EVENT_ANY,
                                                           .actions = ACTION_ALL,
                                                           .after = pod->api,
                                                           .cause = LABEL_FORCE_ACTIVATE });
        break;
    default:
        break;
    }
}

void queue_hold_end(struct queue *queue, struct pod_info *pod, bool failed, int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (!entry)
        return;
    end_hold(queue, entry);
    if (failed) {
        queue_activate(queue, pod, now_ns);
    } else if (entry->place == QUEUE_GATED && entry->missed) {
        take_out(queue, entry);
        send(queue, entry, STRATEGY_AFTER_BACKOFF, label_of_pod(ACTION_UPDATE), now_ns);
    }
}

/* ---- another configuration ---- */
static uint32_t number_of(const struct queue *queue, const struct queued_pod *entry)
{
    return profile_number(queue->options.profiles, queue->options.profiles_len,
                          entry->pod->api->spec.scheduler_name);
}

int queued_by_arrival(const void *a, const void *b)
{
    const struct queued_pod *x = *(struct queued_pod *const *)a, *y = *(struct queued_pod *const *)b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* What is remembered for the pod is by index of plugins that are gone. Events are not remembered for a pod that has no
 * profile any more. */
static void go_on_in_flight(struct queue *queue, struct queued_pod *entry)
{
    entry->interested = entry->helped = 0;
    entry->helped_anyway = true;
    entry->profile = number_of(queue, entry);
    if (entry->profile == queue->options.profiles_len) {
        in_flight_remove(queue, entry);
        entry->profile = 0;
    }
}

static void judge_anew(struct queue *queue, struct queued_pod *entry, int64_t now_ns)
{
    entry->profile = number_of(queue, entry);
    assert(entry->profile < queue->options.profiles_len);
    entry->unschedulable = entry->pending = 0;
    entry->gate = GATE_NONE;
    entry->backoff_until_ns = 0;
    send(queue, entry, STRATEGY_AFTER_BACKOFF, LABEL_FORCE_ACTIVATE, now_ns);
}

/* Takes all out of their places first: orders, counts and wait lists are of the old profiles. */
static void gather_all(struct queue *queue)
{
    map_for(&queue->entries, slot)
        *vec_push(&queue->woken) = slot->value;
    if (queue->woken.len)
        qsort(queue->woken.items, queue->woken.len, sizeof(*queue->woken.items), queued_by_arrival);
    vec_for(&queue->woken, entry)
        if (is_waiting(*entry))
            take_out(queue, *entry);
    wait_lists_release(queue);
}

void queue_reconfigure(struct queue *queue, const struct queue_options *options, int64_t now_ns)
{
    gather_all(queue);
    int64_t unschedulable_max_ns = queue->options.unschedulable_max_ns;
    queue->options = *options;
    queue->options.unschedulable_max_ns = unschedulable_max_ns;
    free(queue->interests);
    free(queue->reasons);
    init_profiles(queue);
    vec_for(&queue->woken, entry) {
        if ((*entry)->place == QUEUE_IN_FLIGHT)
            go_on_in_flight(queue, *entry);
        else
            judge_anew(queue, *entry, now_ns);
    }
    vec_clear(&queue->woken);
}

/* ---- time ---- */
static void end_backoffs(struct queue *queue, struct heap *heap, int64_t now_ns)
{
    while (heap->items.len) {
        struct queued_pod *entry = heap->items.items[0];
        if (is_backing_off(queue, entry, now_ns))
            return;
        take_out(queue, entry);
        enter_active(queue, entry, LABEL_BACKOFF_COMPLETE, now_ns);
    }
}

/* Pods that no event has woken for a long time are tried again: the plugins' event rules may have a gap. */
static void flush_leftovers(struct queue *queue, int64_t now_ns)
{
    static const struct cluster_event timeout = { .resource = EVENT_ANY,
                                                  .actions = ACTION_ALL,
                                                  .cause = LABEL_UNSCHEDULABLE_TIMEOUT };
    vec_for(&queue->wait_lists, list)
        vec_for(&(*list)->pods, at) {
            struct queued_pod *entry = *at;
            if (now_ns - MAX(entry->since_ns, entry->flushed_ns) <= queue->options.unschedulable_max_ns)
                continue;
            entry->was_flushed = true;
            entry->flushed_ns = now_ns;
            *vec_push(&queue->woken) = entry;
        }
    if (queue->woken.len)
        wake(queue, &timeout, now_ns);
}

void queue_tick(struct queue *queue, int64_t now_ns)
{
    end_backoffs(queue, &queue->heaps[QUEUE_BACKOFF], now_ns);
    end_backoffs(queue, &queue->heaps[QUEUE_ERROR_BACKOFF], now_ns);
    if (now_ns < queue->next_leftovers_ns)
        return;
    flush_leftovers(queue, now_ns);
    queue->next_leftovers_ns = saturating_add(now_ns, LEFTOVERS_PERIOD_NS);
}

int64_t queue_next_backoff(const struct queue *queue)
{
    int64_t due = QUEUE_NEVER;
    for (enum queue_place place = QUEUE_BACKOFF; place <= QUEUE_ERROR_BACKOFF; place++) {
        if (!queue->heaps[place].items.len)
            continue;
        const struct queued_pod *first = queue->heaps[place].items.items[0];
        due = MIN(due, saturating_add(first->backoff_until_ns, ORDERING_WINDOW_NS));
    }
    return due;
}

int64_t queue_next_due(const struct queue *queue)
{
    bool waiting = queue->counts[QUEUE_UNSCHEDULABLE] || queue->counts[QUEUE_GATED];
    int64_t due = queue_next_backoff(queue);
    return waiting ? MIN(due, queue->next_leftovers_ns) : due;
}

void queue_each(const struct queue *queue, void (*visit)(void *context, const struct queued_pod *entry),
                void *context)
{
    map_for(&queue->entries, slot)
        visit(context, slot->value);
}
