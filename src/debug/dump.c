/* dump.c: see dump.h. Messages, keys and the layout of the texts are those of kube-scheduler's cache debugger, except
 * that nodes and pods come in an order. */
#include "debug/dump.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"
#include "debug/cache_comparer.h"

enum { PODS_PER_LOOK = 64 }; /* at the clock */

struct dump {
    struct core *core;
    struct lister *lister;
    struct loop *loop;
    struct loop_work work;
    struct monitor monitor;
    bool stopping, requested;
    bool busy; /* a dump is under way */
    bool done; /* the core has run the step */
    /* The step: the core's until it is done, the thread's otherwise. */
    bool (*step)(struct dump *dump);
    bool more;
    uint32_t row;
    struct queue_dump queue;
    struct strbuf nodes, summary, pods;
    struct compared held;
};

/* ---- texts ---- */

static void put_pod(struct strbuf *out, const struct pod *pod)
{
    strbuf_printf(out,
                  "name: " STR_FMT ", namespace: " STR_FMT ", uid: " STR_FMT ", phase: " STR_FMT
                  ", nominated node: " STR_FMT "\n",
                  STR_ARG(pod->meta.name), STR_ARG(pod->meta.namespace), STR_ARG(pod->meta.uid),
                  STR_ARG(pod->status.phase), STR_ARG(pod->status.nominated_node_name));
}

static void put_pods(struct strbuf *out, const pod_vec *pods)
{
    vec_for(pods, pod)
        put_pod(out, (*pod)->api);
}

static int64_t amount(const struct cluster *cluster, int64_t *const *columns, uint32_t resource, uint32_t row)
{
    return resource < cluster->col.resources ? columns[resource][row] : 0;
}

/* Go's %+v of a pointer to a framework.Resource, up to its map. */
static void begin_resource(struct strbuf *out, const struct cluster *cluster, int64_t *const *columns,
                           uint32_t row, int64_t pods)
{
    strbuf_printf(
        out, "&{MilliCPU:%lld Memory:%lld EphemeralStorage:%lld AllowedPodNumber:%lld ScalarResources:map[",
        (long long)amount(cluster, columns, RES_CPU, row),
        (long long)amount(cluster, columns, RES_MEMORY, row),
        (long long)amount(cluster, columns, RES_EPHEMERAL, row), (long long)pods);
}

static void put_scalar(struct strbuf *out, struct str name, int64_t value)
{
    const char *before = out->text[out->len - 1] == '[' ? "" : " ";
    strbuf_printf(out, "%s" STR_FMT ":%lld", before, STR_ARG(name), (long long)value);
}

struct scalar {
    struct str name;
    int64_t value;
};

static void put_requested(struct strbuf *out, const struct cluster *cluster, uint32_t row)
{
    VEC(struct scalar) scalars = { 0 };
    begin_resource(out, cluster, cluster->col.used, row, 0);
    for (uint32_t r = RES_SCALAR_FIRST; r < cluster->col.resources; r++)
        if (cluster->col.used[r][row])
            *vec_push(&scalars) =
                (struct scalar){ cluster->resource_names.items[r], cluster->col.used[r][row] };
    struct arena arena = { 0 };
    struct absent_uses absent = cluster_absent_used(cluster, row, &arena);
    for (uint32_t i = 0; i < absent.len; i++)
        *vec_push(&scalars) = (struct scalar){ absent.items[i].name, absent.items[i].value };
    vec_sort(&scalars, str_qsort_cmp); /* a scalar begins with its name */
    vec_for(&scalars, scalar)
        put_scalar(out, scalar->name, scalar->value);
    strbuf_puts(out, "]}");
    vec_release(&scalars);
    arena_release(&arena);
}

/* Here a resource of which there is none counts as well, if the node names it. */
static void put_allocatable(struct strbuf *out, const struct cluster *cluster, uint32_t row)
{
    const struct node *api = cluster_node(cluster, row)->api;
    begin_resource(out, cluster, cluster->col.alloc, row, amount(cluster, cluster->col.alloc, RES_PODS, row));
    for (uint32_t i = 0; api && i < api->status.allocatable.len; i++) {
        const struct resource *resource = &api->status.allocatable.items[i];
        if (resource_is_scalar(resource->name))
            put_scalar(out, resource->name, quantity_value(resource->amount));
    }
    strbuf_puts(out, "]}");
}

static void put_node(struct strbuf *out, const struct cluster *cluster, uint32_t row)
{
    const struct node_entry *node = cluster_node(cluster, row);
    strbuf_puts(out, "Node name: ");
    strbuf_str(out, cluster_node_name(cluster, row));
    strbuf_printf(out, "\nDeleted: %s\nRequested Resources: ", node->api ? "false" : "true");
    put_requested(out, cluster, row);
    strbuf_puts(out, "\nAllocatable Resources:");
    put_allocatable(out, cluster, row);
    strbuf_printf(out, "\nScheduled Pods(number: %zu):\n", node->pods.len);
    put_pods(out, &node->pods);
    if (node->nominated.len) {
        strbuf_printf(out, "Nominated Pods(number: %zu):\n", node->nominated.len);
        put_pods(out, &node->nominated);
    }
}

bool dump_nodes(const struct cluster *cluster, uint32_t *row, int64_t step_ns, struct strbuf *out)
{
    int64_t begun_ns = monotonic_ns();
    while (*row < cluster->nodes.len) {
        uint32_t at = (*row)++;
        if (cluster_node(cluster, at)->name == SYM_NONE)
            continue;
        if (out->len)
            strbuf_puts(out, "\n\n");
        put_node(out, cluster, at);
        if (monotonic_ns() - begun_ns >= step_ns)
            return true;
    }
    return false;
}

/* The reference's three queues: gated pods are among the unschedulable ones, and those in flight in none. */
enum shown { SHOWN_ACTIVE, SHOWN_BACKOFF, SHOWN_UNSCHEDULABLE, SHOWN_COUNT, SHOWN_NOT };

static const enum shown shown_as[QUEUE_PLACE_COUNT] = {
    [QUEUE_NOWHERE] = SHOWN_NOT,
    [QUEUE_ACTIVE] = SHOWN_ACTIVE,
    [QUEUE_BACKOFF] = SHOWN_BACKOFF,
    [QUEUE_ERROR_BACKOFF] = SHOWN_BACKOFF,
    [QUEUE_UNSCHEDULABLE] = SHOWN_UNSCHEDULABLE,
    [QUEUE_GATED] = SHOWN_UNSCHEDULABLE,
    [QUEUE_IN_FLIGHT] = SHOWN_NOT,
};

static void gather(void *context, const struct queued_pod *entry)
{
    struct queue_dump *all = context;
    if (!entry->pod || shown_as[entry->place] == SHOWN_NOT)
        return;
    pod_info_ref(entry->pod);
    *vec_push(&all->entries) =
        (struct dumped_pod){ entry->pod, (int)shown_as[entry->place], entry->since_ns, entry->order };
}

void queue_dump_read(struct queue_dump *all, const struct queue *queue)
{
    all->entities = queue->options.cluster->features.release->queues_hold_entities;
    queue_each(queue, gather, all);
}

/* By queue, then the pod that waits longest. */
static int by_wait(const void *a, const void *b)
{
    const struct dumped_pod *x = a, *y = b;
    return COMPARE(x->queue, y->queue) ?: COMPARE(x->since_ns, y->since_ns) ?: COMPARE(x->order, y->order);
}

void queue_dump_sort(struct queue_dump *all, struct strbuf *summary)
{
    size_t counts[SHOWN_COUNT] = { 0 };
    vec_sort(&all->entries, by_wait);
    vec_for(&all->entries, entry)
        counts[entry->queue]++;
    strbuf_printf(summary, "activeQ:%zu; backoffQ:%zu; %s:%zu", counts[SHOWN_ACTIVE], counts[SHOWN_BACKOFF],
                  all->entities ? "unschedulableEntities" : "unschedulablePods", counts[SHOWN_UNSCHEDULABLE]);
}

bool queue_dump_write(struct queue_dump *all, int64_t step_ns, struct strbuf *pods)
{
    int64_t begun_ns = monotonic_ns();
    while (all->shown < all->entries.len) {
        put_pod(pods, all->entries.items[all->shown++].pod->api);
        if (all->shown % PODS_PER_LOOK == 0 && monotonic_ns() - begun_ns >= step_ns)
            return true;
    }
    return false;
}

void queue_dump_release(struct queue_dump *all, struct cluster *cluster)
{
    vec_for(&all->entries, entry)
        pod_info_unref(cluster, entry->pod);
    vec_release(&all->entries);
    all->shown = 0;
}

/* ---- steps on the core thread ---- */

/* Steps return true while there is more to do. */
static bool step_nodes(struct dump *dump)
{
    return dump_nodes(core_engine(dump->core)->cluster, &dump->row, DUMP_STEP_NS, &dump->nodes);
}

static bool step_queue(struct dump *dump)
{
    queue_dump_read(&dump->queue, &core_engine(dump->core)->queue);
    return false;
}

static bool step_pods(struct dump *dump)
{
    if (queue_dump_write(&dump->queue, DUMP_STEP_NS, &dump->pods))
        return true;
    queue_dump_release(&dump->queue, core_engine(dump->core)->cluster);
    return false;
}

static bool step_held(struct dump *dump)
{
    return held_read(&dump->held, core_engine(dump->core), DUMP_STEP_NS);
}

static void run_step(void *context)
{
    struct dump *dump = context;
    dump->more = dump->step(dump);
    monitor_lock(&dump->monitor);
    dump->done = true;
    monitor_wake(&dump->monitor);
    monitor_unlock(&dump->monitor);
}

/* False: the process ends, and the core will not answer. */
static bool on_core(struct dump *dump, bool (*step)(struct dump *dump))
{
    bool is_done;
    dump->step = step;
    do {
        dump->done = false;
        core_call(dump->core, run_step, dump);
        monitor_lock(&dump->monitor);
        while (!dump->done && !dump->stopping)
            monitor_wait(&dump->monitor, INT64_MAX);
        is_done = dump->done;
        monitor_unlock(&dump->monitor);
    } while (is_done && dump->more);
    return is_done;
}

/* ---- one dump ---- */

static void write_texts(struct dump *dump)
{
    dump->row = 0;
    if (on_core(dump, step_nodes))
        log_info(0, "Dump of cached NodeInfo", log_str("nodes", strbuf_slice(&dump->nodes)));
    if (on_core(dump, step_queue)) {
        queue_dump_sort(&dump->queue, &dump->summary);
        if (on_core(dump, step_pods))
            log_info(0, "Dump of scheduling queue", log_str("summary", strbuf_slice(&dump->summary)),
                     log_str("pods", strbuf_slice(&dump->pods)));
    }
    strbuf_release(&dump->nodes);
    strbuf_release(&dump->summary);
    strbuf_release(&dump->pods);
}

/* False: the process ends. */
static bool pause_for(struct dump *dump, int64_t ms)
{
    int64_t until_ns = monotonic_ns() + ms * NS_PER_MS;
    monitor_lock(&dump->monitor);
    while (!dump->stopping && monitor_wait(&dump->monitor, until_ns))
        continue;
    bool goes_on = !dump->stopping;
    monitor_unlock(&dump->monitor);
    return goes_on;
}

/* One look; false: there is no more to see. */
static bool look(struct dump *dump, struct mismatch *mismatch, bool is_first)
{
    struct compared listed = { 0 };
    struct error err;
    int r = on_core(dump, step_held) ? lister_read(dump->lister, &dump->held, &listed, &err) : -ECANCELED;
    if (r == 0)
        mismatch_look(mismatch, is_first, &listed, &dump->held);
    else
        mismatch_release(mismatch);
    if (r < 0 && r != -ECANCELED)
        log_error(&err, "Cache comparer cannot list");
    compared_release(&dump->held);
    compared_release(&listed);
    return !mismatch_is_empty(mismatch);
}

static void compare(struct dump *dump)
{
    struct mismatch mismatch = { 0 };
    log_info(3, "Cache comparer started");
    for (int i = 0; i < COMPARE_LOOKS; i++)
        if ((i > 0 && !pause_for(dump, COMPARE_PAUSE_MS)) || !look(dump, &mismatch, i == 0))
            break;
    mismatch_log(&mismatch);
    mismatch_release(&mismatch);
    log_info(3, "Cache comparer finished");
}

static void work(struct loop_work *work)
{
    struct dump *dump = container_of(work, struct dump, work);
    write_texts(dump);
    compare(dump);
}

/* Starts the next one, if it was requested meanwhile. */
static void on_worked(struct loop_work *work)
{
    struct dump *dump = container_of(work, struct dump, work);
    monitor_lock(&dump->monitor);
    dump->busy = dump->requested && !dump->stopping;
    dump->requested = false;
    bool goes_on = dump->busy;
    monitor_unlock(&dump->monitor);
    if (goes_on)
        loop_work(dump->loop, work);
}

/* ---- life ---- */

struct dump *dump_new(struct core *core, struct api *api)
{
    struct dump *dump = xcalloc(1, sizeof(*dump));
    dump->core = core;
    dump->loop = api_loop(api);
    dump->work = (struct loop_work){ .work = work, .done = on_worked };
    dump->lister = lister_new(api);
    monitor_init(&dump->monitor);
    return dump;
}

void dump_request(struct dump *dump)
{
    monitor_lock(&dump->monitor);
    bool starts = !dump->busy && !dump->stopping;
    dump->requested = !starts;
    dump->busy |= starts;
    monitor_unlock(&dump->monitor);
    if (starts)
        loop_work(dump->loop, &dump->work);
}

void dump_free(struct dump *dump)
{
    if (!dump)
        return;
    monitor_lock(&dump->monitor);
    dump->stopping = true;
    monitor_wake(&dump->monitor);
    monitor_unlock(&dump->monitor);
    lister_stop(dump->lister);
    loop_work_wait(dump->loop, &dump->work);
    compared_release(&dump->held);
    queue_dump_release(&dump->queue, core_engine(dump->core)->cluster);
    lister_free(dump->lister);
    monitor_release(&dump->monitor);
    free(dump);
}
