/* queue.c: moves pods between the places; see queue.h. hint_eval.c decides which event moves which pod. */
#include "queue/queue.h"

#include <stdlib.h>

#include "base/bitmap.h"
#include "base/log.h"
#include "framework/probe.h"
#include "framework/run.h"
#include "queue/backoff.h"
#include "queue/in_flight.h"
#include "queue/queue_log.h"
#include "queue/wait_lists.h"

enum { TRIM_MIN = 4096 }; /* an empty queue gives back tables larger than this */
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
        if (queue->options.less(queue->options.sorter, x->pod, y->pod))
            return true;
        if (queue->options.less(queue->options.sorter, y->pod, x->pod))
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
    queue->incoming_entities = xcalloc(QUEUE_NAME_COUNT, sizeof(*queue->incoming_entities));
    queue->pops_backoff = options->cluster->features.enabled[FEATURE_SchedulerPopFromBackoffQ];
    queue->next_look_ns = time_add(options->now_ns, BACKOFF_WINDOW_NS);
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
    in_flight_release(queue);
    free(queue->interests);
    free(queue->reasons);
    free(queue->incoming);
    free(queue->incoming_entities);
    arena_release(&queue->scratch);
}

static const struct release *release_of_queue(const struct queue *queue)
{
    return queue->options.cluster->features.release;
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
    queue_log_gate(entry, *ret, &queue->scratch);
    entry->gate = (int32_t)profile_find(profile, ret->plugin->name)->index;
    entry->unschedulable |= (uint64_t)1 << entry->gate;
    return true;
}

/* ---- into a place ---- */
/* Why a pod comes into a queue, and how that is counted. */
struct arrival {
    enum event_label why;
    bool by_hint;           /* its strategy is that of hints: as an entity it counts in other queues only */
    bool was_listed;        /* it was in a wait list, and does not come into one anew */
    enum strategy strategy; /* of by_hint */
};

static bool counts_as_entity(const struct arrival *arrival, enum queue_name name)
{
    static const enum queue_name meant[] = { [STRATEGY_SKIP] = QUEUE_NAME_UNSCHEDULABLE,
                                             [STRATEGY_AFTER_BACKOFF] = QUEUE_NAME_BACKOFF,
                                             [STRATEGY_AT_ONCE] = QUEUE_NAME_ACTIVE };
    return !arrival->by_hint || meant[arrival->strategy] != name;
}

static void entered(struct queue *queue, const struct queued_pod *entry, enum queue_name name,
                    const struct arrival *arrival)
{
    enum event_label why = arrival->why;
    queue->incoming[name][why]++;
    queue->incoming_entities[name][why] += counts_as_entity(arrival, name);
    if (__atomic_load_n(&log_highest_verbosity, __ATOMIC_RELAXED) >= 5)
        queue_log_entered(queue, entry, name, why);
}

static void enter_wait_list(struct queue *queue, struct queued_pod *entry, const struct arrival *arrival)
{
    if (!arrival->was_listed)
        entered(queue, entry, QUEUE_NAME_UNSCHEDULABLE, arrival);
    wait_lists_add(queue, entry);
    set_place(queue, entry, entry->gate == GATE_NONE ? QUEUE_UNSCHEDULABLE : QUEUE_GATED);
}

static void enter_active(struct queue *queue, struct queued_pod *entry, const struct arrival *arrival,
                         int64_t now_ns)
{
    if (entry->first_attempt_ns == QUEUE_NEVER)
        entry->first_attempt_ns = now_ns;
    entered(queue, entry, QUEUE_NAME_ACTIVE, arrival);
    if (arrival->why != LABEL_BACKOFF_COMPLETE) /* that is no reason of its own */
        entry->woken_by = (uint16_t)arrival->why;
    set_place(queue, entry, QUEUE_ACTIVE);
    heap_push(&queue->heaps[QUEUE_ACTIVE], entry);
}

/* A rejected pod may be taken out before its time; one that failed with an error may not: the API server may be
 * overloaded. */
static void enter_backoff(struct queue *queue, struct queued_pod *entry, const struct arrival *arrival)
{
    bool failed = !(entry->unschedulable | entry->pending) && entry->errors_in_a_row;
    entered(queue, entry, QUEUE_NAME_BACKOFF, arrival);
    entry->woken_by = (uint16_t)arrival->why;
    set_place(queue, entry, failed ? QUEUE_ERROR_BACKOFF : QUEUE_BACKOFF);
    heap_push(&queue->heaps[entry->place], entry);
}

/* The entry, which is nowhere, goes where the strategy says, if its gates let it. True: it will be tried. */
static bool send(struct queue *queue, struct queued_pod *entry, const struct arrival *arrival, int64_t now_ns)
{
    struct status gate;
    enum strategy strategy = arrival->strategy;
    arena_reset(&queue->scratch);
    bool waits = strategy == STRATEGY_AFTER_BACKOFF && backoff_goes_on(queue, entry, now_ns);
    bool is_checked = !waits || queue->pops_backoff; /* else its gates are asked when the backoff ends */
    if (strategy == STRATEGY_SKIP || (is_checked && is_gated(queue, entry, &gate))) {
        entry->was_flushed &= strategy == STRATEGY_SKIP;
        entry->missed |= strategy != STRATEGY_SKIP;
        enter_wait_list(queue, entry, arrival);
        return false;
    }
    entry->missed = false;
    if (waits)
        enter_backoff(queue, entry, arrival);
    else
        enter_active(queue, entry, arrival, now_ns);
    return true;
}

/* Out of its backoff. If pods are popped from there, its gates were open when it came there. */
static void end_backoff(struct queue *queue, struct queued_pod *entry, enum event_label why, int64_t now_ns)
{
    struct arrival arrival = { .why = why, .strategy = STRATEGY_AT_ONCE };
    take_out(queue, entry);
    if (queue->pops_backoff)
        enter_active(queue, entry, &arrival, now_ns);
    else
        send(queue, entry, &arrival, now_ns);
}

/* ---- pods come and go ---- */
static enum event_label label_of_pod(uint32_t actions)
{
    return event_label(&(struct cluster_event){ .resource = EVENT_UNSCHEDULED_POD, .actions = actions });
}

static struct queued_pod *add(struct queue *queue, struct pod_info *pod, uint32_t profile,
                              enum event_label why, int64_t now_ns, struct status *ret_gate)
{
    struct arrival arrival = { .why = why };
    struct queued_pod *entry = entry_new(queue, pod, profile, now_ns);
    arena_reset(&queue->scratch);
    if (is_gated(queue, entry, ret_gate)) {
        if (!release_of_queue(queue)->gated_pods_are_nominated)
            cluster_denominate(queue->options.cluster, pod); /* until it is updated */
        enter_wait_list(queue, entry, &arrival);
    } else {
        enter_active(queue, entry, &arrival, now_ns);
    }
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
            .resource = pod_own_event_resource(&queue->options.cluster->features, entry->pod->api),
            .actions = actions->items[i],
            .before = before,
            .after = entry->pod->api,
        };
        enum strategy strategy = hint_eval_pod(queue, entry, &event);
        if (strategy == STRATEGY_SKIP)
            continue;
        take_out(queue, entry);
        tried = send(queue, entry,
                     &(struct arrival){ event_label(&event), .by_hint = true, .was_listed = true,
                                        .strategy = strategy },
                     now_ns);
    }
}

/* Plugins whose hints may answer otherwise for the new version of a pod, by index. A hint reads what the plugin
 * declares in `reads`, which the class has, and what an action is named for. One of a plugin without `reads` may read
 * anything of what users can change. */
static uint64_t hints_affected(const struct profile *profile, const struct pod_info *before,
                               const struct pod_info *after, const struct action_list *actions)
{
    uint64_t affected = 0;
    if (before->class != after->class || actions->len != 1 || actions->items[0] != ACTION_UPDATE)
        return UINT64_MAX;
    if (same_field(KIND_POD, "metadata.annotations", before->api, after->api) &&
        same_field(KIND_POD, "spec", before->api, after->api))
        return 0;
    for (uint32_t i = 0; i < profile->plugins_len; i++)
        if (!profile->plugins[i].plugin->reads)
            affected |= UINT64_C(1) << i;
    return affected;
}

/* kube-scheduler asks the hints when the pod comes back, about its newest version. Here they have been asked already;
 * the events are not kept: where a hint might answer otherwise now, the pod counts as helped. */
static void renew_hints(struct queue *queue, struct queued_pod *entry, const struct pod_info *before,
                        const struct action_list *actions)
{
    in_flight_catch_up(queue, entry);
    entry->helped |= entry->interested &
                     hints_affected(&queue->options.profiles[entry->profile], before, entry->pod, actions);
}

static void update_in_flight(struct queue *queue, struct queued_pod *entry, const struct pod_info *before,
                             const struct action_list *actions)
{
    const struct pod *after = entry->pod->api;
    renew_hints(queue, entry, before, actions);
    for (uint32_t i = 0; i < actions->len && in_flight_has(queue, entry); i++)
        in_flight_note(queue,
                       &(struct cluster_event){
                           .resource = pod_own_event_resource(&queue->options.cluster->features, after),
                           .actions = actions->items[i],
                           .before = before->api,
                           .after = after,
                       });
}

/* The entry stays where it is. */
static void take_version(struct queue *queue, struct queued_pod *entry, struct pod_info *after)
{
    struct heap *heap = heap_of(queue, entry->place);
    if (heap)
        heap_remove(heap, entry->at);
    idmap_remove(&queue->entries, key_of(entry->pod));
    idmap_put(&queue->entries, key_of(after), entry);
    entry->pod = after;
    if (heap)
        heap_push(heap, entry);
}

static struct action_list actions_between(struct queue *queue, const struct pod_info *before,
                                          const struct pod_info *after)
{
    arena_reset(&queue->scratch);
    return pod_update_actions(&queue->options.cluster->features, before->api, after->api, &queue->scratch);
}

void queue_replace(struct queue *queue, struct pod_info *before, struct pod_info *after)
{
    struct queued_pod *entry = queue_find(queue, before);
    if (!entry)
        return;
    take_version(queue, entry, after);
    if (entry->place == QUEUE_IN_FLIGHT) {
        struct action_list actions = actions_between(queue, before, after);
        renew_hints(queue, entry, before, &actions);
    }
}

void queue_update(struct queue *queue, struct pod_info *before, struct pod_info *after, uint32_t profile,
                  int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, before);
    struct status gate;
    if (!entry) {
        add(queue, after, profile,
            label_of_pod(release_of_queue(queue)->queues_hold_entities ? ACTION_ADD : ACTION_UPDATE), now_ns,
            &gate);
        return;
    }
    struct action_list actions = actions_between(queue, before, after);
    take_version(queue, entry, after);
    if (entry->place == QUEUE_IN_FLIGHT)
        update_in_flight(queue, entry, before, &actions);
    else if (!heap_of(queue, entry->place))
        update_rejected(queue, entry, before->api, &actions, now_ns);
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
    if (!entry && !queue->pops_backoff)
        return NULL;
    if (!entry) {
        entry = heap_pop(&queue->heaps[QUEUE_BACKOFF]);
        if (!entry)
            return NULL;
        queue->incoming[QUEUE_NAME_ACTIVE][LABEL_POP_FROM_BACKOFF]++;
        queue->incoming_entities[QUEUE_NAME_ACTIVE][LABEL_POP_FROM_BACKOFF]++;
    }
    set_place(queue, entry, QUEUE_IN_FLIGHT);
    in_flight_add(queue, entry);
    entry->is_postponed = false;
    entry->attempts++;
    queue->pops++;
    return entry;
}

void queue_await(struct queue *queue, struct queued_pod *entry, uint64_t plugins)
{
    assert(entry->place == QUEUE_IN_FLIGHT);
    in_flight_group(queue, entry, plugins);
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
    enum strategy strategy = in_flight_strategy(entry);
    send(queue, entry, &(struct arrival){ LABEL_ATTEMPT_FAILURE, .by_hint = true, .strategy = strategy },
         now_ns);
    queue_log_failed(queue, entry, strategy);
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
        send(queue, entry, &(struct arrival){ why, .by_hint = true, .strategy = strategy }, now_ns);
    }
    vec_clear(&queue->woken);
    in_flight_note(queue, event);
}

void queue_event(struct queue *queue, const struct cluster_event *event, const struct queue_filter *only,
                 int64_t now_ns)
{
    bool waiting = queue->counts[QUEUE_UNSCHEDULABLE] || queue->counts[QUEUE_GATED];
    bool matters = (waiting || !list_empty(&queue->in_flight)) && hint_eval_any(queue, event);
    bool narrows = hint_eval_narrows(queue, event); /* counted though no pod waits */
    if (!matters)
        return;
    if (waiting)
        vec_for(&queue->wait_lists, at) {
            struct wait_list *list = *at;
            if (!hint_eval_list(queue, list, event))
                continue;
            vec_for(&list->pods, entry)
                if (passes(only, (*entry)->pod) &&
                    (!narrows || hint_eval_affects(queue, (*entry)->pod->api, event)))
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
        send(queue, entry,
             &(struct arrival){ LABEL_FORCE_ACTIVATE, .was_listed = true, .strategy = STRATEGY_AT_ONCE },
             now_ns);
        break;
    case QUEUE_BACKOFF:
    case QUEUE_ERROR_BACKOFF:
        end_backoff(queue, entry, LABEL_FORCE_ACTIVATE, now_ns);
        break;
    case QUEUE_IN_FLIGHT:
        in_flight_activate(queue, entry);
        break;
    default:
        break;
    }
}

void queue_hold_end(struct queue *queue, struct pod_info *pod, bool at_once, int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (!entry)
        return;
    end_hold(queue, entry);
    if (at_once) {
        queue_activate(queue, pod, now_ns);
    } else if (entry->place == QUEUE_GATED && entry->missed) {
        take_out(queue, entry);
        send(queue, entry,
             &(struct arrival){ label_of_pod(ACTION_UPDATE), .by_hint = true,
                                .strategy = STRATEGY_AFTER_BACKOFF },
             now_ns);
    }
}

int queued_by_arrival(const void *a, const void *b)
{
    const struct queued_pod *x = *(struct queued_pod *const *)a, *y = *(struct queued_pod *const *)b;
    return x->order < y->order ? -1 : x->order > y->order;
}

void queue_postpone(struct queued_pod *entry)
{
    entry->is_postponed = true;
}

void queue_end_postponed(struct queue *queue, int64_t now_ns)
{
    VEC(struct queued_pod *) found = { 0 };
    map_for(&queue->entries, slot)
        if (((const struct queued_pod *)slot->value)->is_postponed)
            *vec_push(&found) = slot->value;
    if (found.len)
        qsort(found.items, found.len, sizeof(*found.items), queued_by_arrival);
    vec_for(&found, entry)
        queue_activate(queue, (*entry)->pod, now_ns);
    vec_release(&found);
}

/* ---- another configuration ---- */
/* What is remembered for the pod is by index of plugins that are gone. Events are not remembered for a pod that has no
 * profile any more. */
static void go_on_in_flight(struct queue *queue, struct queued_pod *entry)
{
    in_flight_ungroup(queue, entry);
    entry->interested = entry->helped = 0;
    entry->helped_anyway = true;
    entry->profile = profile_of_pod(queue->options.profiles, queue->options.profiles_len, entry->pod->api);
    if (entry->profile == queue->options.profiles_len) {
        in_flight_remove(queue, entry);
        entry->profile = 0;
    }
}

static void judge_anew(struct queue *queue, struct queued_pod *entry, int64_t now_ns)
{
    entry->profile = profile_of_pod(queue->options.profiles, queue->options.profiles_len, entry->pod->api);
    assert(entry->profile < queue->options.profiles_len);
    entry->unschedulable = entry->pending = 0;
    entry->gate = GATE_NONE;
    entry->backoff_until_ns = 0;
    send(queue, entry, &(struct arrival){ LABEL_FORCE_ACTIVATE, .strategy = STRATEGY_AFTER_BACKOFF }, now_ns);
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

void queue_judge_anew(struct queue *queue, const struct pod_info *pod, int64_t now_ns)
{
    struct queued_pod *entry = queue_find(queue, pod);
    if (entry && entry->place == QUEUE_IN_FLIGHT) {
        go_on_in_flight(queue, entry);
    } else if (entry) {
        take_out(queue, entry);
        judge_anew(queue, entry, now_ns);
    }
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
/* `looked_ns`: when the queue looked for them, or had to. */
static void end_backoffs(struct queue *queue, struct heap *heap, int64_t looked_ns, int64_t now_ns)
{
    while (heap->items.len) {
        struct queued_pod *entry = heap->items.items[0];
        if (backoff_goes_on(queue, entry, looked_ns))
            return;
        end_backoff(queue, entry, LABEL_BACKOFF_COMPLETE, now_ns);
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
    if (queue->pops_backoff || now_ns >= queue->next_look_ns) {
        queue->next_look_ns = backoff_look_after(queue, now_ns);
        int64_t looked_ns = queue->pops_backoff ? now_ns : queue->next_look_ns - BACKOFF_WINDOW_NS;
        end_backoffs(queue, &queue->heaps[QUEUE_BACKOFF], looked_ns, now_ns);
        end_backoffs(queue, &queue->heaps[QUEUE_ERROR_BACKOFF], looked_ns, now_ns);
    }
    if (now_ns < queue->next_leftovers_ns)
        return;
    flush_leftovers(queue, now_ns);
    queue->next_leftovers_ns = time_add(now_ns, LEFTOVERS_PERIOD_NS);
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
