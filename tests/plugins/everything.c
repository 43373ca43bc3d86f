/* everything.c: one plugin at every extension point that logs its calls and acts as labels of the pod say. The tests
 * check the log and the pods.
 *
 *     test/pre-enqueue: hold        PreEnqueue gates the pod; until-open: while no node has the label test/open
 *     test/narrow: NODE             PreFilter narrows to that node
 *     test/needs: NAME              PreFilter rejects the pod until that other pod is bound
 *     test/lists: all               PreFilter logs the lengths of the cluster's lists
 *     test/quiet, test/loud         Filter keeps quiet pods away from loud ones, also in a what-if
 *     test/victims: all             PostFilter nominates a node that would fit without its pods
 *     test/reserve: fail            Reserve fails
 *     test/permit: wait, refuse     Permit makes it wait; a thread allows or rejects it a little later
 *                  file             likewise; the thread allows it when the file NAME.go exists
 *                  hold, timeout    no answer; the timeout is a minute or 200 ms
 *                  no               Permit rejects it at once
 *     test/pre-bind: slow           PreBind is slow, on another thread than the core
 *     test/pre-bind, test/bind: file   it creates the file NAME.begun, and continues when NAME.go exists
 *                               fail   it fails; with a folder, only once
 *     test/bind: mine               as file; then Bind reports success without binding
 *     test/activate: NAME           PostBind activates that pod
 *     test/allow, test/refuse: NAME a thread of PostBind allows or rejects that pod */
#include <berth/plugin.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct args {
    struct berth_str greeting, folder;
    int64_t number, pause_ns;
    double ratio;
    bool loud;
    struct berth_strs words;
    struct berth_pairs pairs;
    struct inner {
        int64_t depth;
    } inner;
    struct berth_list items;
};

static const struct berth_field inner_fields[] = {
    BERTH_FIELD("depth", BERTH_INT, struct inner, depth),
    { 0 },
};

static const struct berth_field fields[] = {
    BERTH_FIELD("greeting", BERTH_STRING, struct args, greeting),
    BERTH_FIELD("folder", BERTH_STRING, struct args, folder), /* for the files */
    BERTH_FIELD("number", BERTH_INT, struct args, number),
    BERTH_FIELD("pause", BERTH_DURATION, struct args, pause_ns),
    BERTH_FIELD("ratio", BERTH_DOUBLE, struct args, ratio),
    BERTH_FIELD("loud", BERTH_BOOL, struct args, loud),
    BERTH_FIELD("words", BERTH_STRINGS, struct args, words),
    BERTH_FIELD("pairs", BERTH_MAP, struct args, pairs),
    BERTH_NESTED("inner", BERTH_STRUCT, struct args, inner, inner_fields, struct inner),
    BERTH_NESTED("items", BERTH_LIST, struct args, items, inner_fields, struct inner),
    { 0 },
};

static const struct args defaults = { .greeting = { "hello", 5 }, .number = 7 };

enum { NAME_MAX_LEN = 64, BOUND_MAX = 64 };

struct self {
    const struct berth_handle *handle;
    const struct berth_cluster *cluster;
    const struct args *args;
    pthread_t core;
    struct berth_metric *calls, *waiting, *filters;
    char bound[BOUND_MAX][NAME_MAX_LEN]; /* the latest, in a ring */
    uint32_t bound_len;
};

/* Cycle state: the number of filtered nodes, and for a quiet pod the number of loud pods by row. */
struct state {
    uint32_t filtered, rows;
    uint32_t loud[];
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    static const double bounds[] = { 1, 10, 100 };
    static const struct berth_metric_info calls = {
        .name = "everything_calls_total", .help = "Calls", .type = BERTH_COUNTER, .labels = { "point" }
    };
    static const struct berth_metric_info waiting = { .name = "everything_waiting",
                                                      .help =
                                                          "Pods that waited for permission before the last",
                                                      .type = BERTH_GAUGE };
    static const struct berth_metric_info filters = { .name = "everything_filters",
                                                      .help = "Nodes that were filtered for a pod",
                                                      .type = BERTH_HISTOGRAM,
                                                      .buckets = bounds,
                                                      .buckets_len = 3 };
    const struct args *args = env->args;
    struct berth_str label = { "filter", 6 };
    struct self *self = calloc(1, sizeof(*self));
    if (args->number < 0) {
        free(self);
        return berth_fail(err, "number: %lld is negative", (long long)args->number);
    }
    self->handle = env->handle;
    self->args = args;
    self->cluster = env->cluster;
    self->core = pthread_self();
    self->calls = berth_metric_get(&calls, &label);
    self->waiting = berth_metric_get(&waiting, NULL);
    self->filters = berth_metric_get(&filters, NULL);
    long long depths = 0;
    for (uint32_t i = 0; i < args->items.len; i++)
        depths += ((const struct inner *)args->items.items)[i].depth;
    berth_log(
        0,
        "init %.*s number=%lld pause=%lld ratio=%.3f loud=%d words=%u pairs=%u depth=%lld items=%lld json=%u",
        BERTH_ARG(args->greeting), (long long)args->number, (long long)args->pause_ns, args->ratio,
        args->loud, args->words.len, args->pairs.len, (long long)args->inner.depth, depths,
        env->args_json.len);
    berth_log(4, "a verbose line of " BERTH_FMT, BERTH_ARG(env->scheduler_name));
    *ret_self = self;
    return 0;
}

static atomic_int threads; /* that still run */

static void release(void *self)
{
    while (atomic_load(&threads))
        usleep(1000);
    berth_log(0, "release");
    free(self);
}

static void forget(void *state)
{
    free(state);
}

static struct berth_str order(struct berth_cycle *cycle, const char *label)
{
    return berth_object_label(berth_cycle_pod(cycle), label);
}

static struct berth_str name_of(struct berth_cycle *cycle)
{
    return berth_object_name(berth_cycle_pod(cycle));
}

static bool is_closed(void *context, const void *node)
{
    bool *open = context;
    *open |= berth_object_label(node, "test/open").ptr != NULL;
    return !*open;
}

static struct berth_status pre_enqueue(const void *self, const struct berth_pod *pod,
                                       struct berth_arena *arena)
{
    const struct self *own = self;
    struct berth_str action = berth_object_label(pod, "test/pre-enqueue");
    bool open = !action.ptr;
    if (berth_is(action, "until-open"))
        berth_each(own->cluster, "Node", is_closed, &open);
    if (open)
        return BERTH_OK;
    return berth_reject(arena, BERTH_UNRESOLVABLE, "%.*s, wait", BERTH_ARG(own->args->greeting));
}

/* By name, backwards: an order that no other plugin has. */
static bool less(const struct berth_pod_info *a, const struct berth_pod_info *b)
{
    struct berth_str x = berth_object_name(berth_info_pod(a)), y = berth_object_name(berth_info_pod(b));
    int c = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return c > 0 || (c == 0 && x.len > y.len);
}

/* ---- PreFilter and what-if ---- */
static bool was_bound(const struct self *self, struct berth_str name)
{
    for (uint32_t i = 0; i < BOUND_MAX; i++)
        if (berth_is(name, self->bound[i]))
            return true;
    return false;
}

static bool count(void *context, const void *object)
{
    (void)object;
    ++*(uint32_t *)context;
    return true;
}

static void log_lists(struct berth_cycle *cycle)
{
    static const char *const kinds[] = { "Node", "Pod", "PersistentVolumeClaim", "StorageClass" };
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    const struct berth_pod *pod = berth_cycle_pod(cycle);
    uint32_t lens[4] = { 0 };
    for (int i = 0; i < 4; i++)
        berth_each(cluster, kinds[i], count, &lens[i]);
    const void *claim = berth_get(cluster, kinds[2], berth_object_namespace(pod), berth_text("data"));
    struct berth_value class_ = berth_read(kinds[2], claim, "spec.storageClassName");
    struct berth_value image = berth_read("Pod", pod, "spec.containers[0].image");
    berth_log(0, "lists nodes=%u pods=%u claims=%u classes=%u class=%.*s image=%.*s", lens[0], lens[1],
              lens[2], lens[3], BERTH_ARG(class_.text), BERTH_ARG(image.text));
}

static bool is_loud(const struct berth_pod_info *pod)
{
    return berth_object_label(berth_info_pod(pod), "test/loud").ptr != NULL;
}

static struct state *state_new(struct berth_cycle *cycle)
{
    const struct berth_cluster *cluster = berth_cycle_cluster(cycle);
    struct berth_rows rows = { 0 };
    uint32_t len = 0;
    if (order(cycle, "test/quiet").ptr)
        rows = berth_nodes(cluster);
    for (uint32_t i = 0; i < rows.len; i++)
        len = rows.items[i] >= len ? rows.items[i] + 1 : len;
    struct state *state = calloc(1, sizeof(*state) + len * sizeof(state->loud[0]));
    state->rows = len;
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_pod_infos pods = berth_node_pods(berth_node(cluster, rows.items[i]));
        for (size_t k = 0; k < pods.len; k++)
            state->loud[rows.items[i]] += is_loud(pods.items[k]);
    }
    return state;
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct berth_str only = order(cycle, "test/narrow"), needs = order(cycle, "test/needs");
    *berth_cycle_state(cycle) = state_new(cycle);
    if (only.ptr)
        berth_narrow(cycle, narrow, &only, 1);
    if (order(cycle, "test/lists").ptr)
        log_lists(cycle);
    if (needs.ptr && !was_bound(berth_cycle_self(cycle), needs))
        return berth_reject(berth_cycle_arena(cycle), BERTH_UNRESOLVABLE, "%.*s is not bound yet",
                            BERTH_ARG(needs));
    return BERTH_OK;
}

static void count_loud(struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node, uint32_t by)
{
    struct state *state = *berth_cycle_state(cycle);
    if (is_loud(pod) && node.row < state->rows)
        state->loud[node.row] += by;
}

static void add_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod, struct berth_node_view node)
{
    count_loud(cycle, pod, node, 1);
    berth_log(0, "add_pod %.*s", BERTH_ARG(berth_object_name(berth_info_pod(pod))));
}

static void remove_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node)
{
    count_loud(cycle, pod, node, UINT32_MAX); /* one fewer */
    berth_log(0, "remove_pod %.*s of %u", BERTH_ARG(berth_object_name(berth_info_pod(pod))),
              (unsigned)berth_node_pods(node).len);
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    struct self *self = berth_cycle_self(cycle);
    struct state *state = *berth_cycle_state(cycle);
    state->filtered++;
    berth_metric_add(self->calls, 1);
    if (berth_node_label(node, "closed").ptr)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) were closed");
    if (node.row < state->rows && state->loud[node.row])
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) were too loud");
    return BERTH_OK;
}

static struct berth_status post_filter(struct berth_cycle *cycle, struct berth_diagnosis *diagnosis,
                                       struct berth_post_filter_result *ret)
{
    struct berth_rows rows = berth_nodes(berth_cycle_cluster(cycle));
    if (!berth_is(order(cycle, "test/victims"), "all"))
        return berth_verdict(BERTH_UNSCHEDULABLE);
    for (uint32_t i = 0; i < rows.len; i++) {
        struct berth_node_view node = berth_node(berth_cycle_cluster(cycle), rows.items[i]);
        struct berth_pod_infos pods = berth_node_pods(node);
        struct berth_status why = berth_diagnosis_of(diagnosis, rows.items[i]);
        bool fits =
            berth_fits_without(cycle, rows.items[i], pods.items, (uint32_t)pods.len).code == BERTH_SUCCESS;
        berth_log(0, "post_filter %.*s code=%d fits_without=%d", BERTH_ARG(berth_node_name(node)), why.code,
                  fits);
        if (!fits || !pods.len)
            continue;
        ret->nominated_row = rows.items[i];
        ret->victims = berth_alloc(berth_cycle_arena(cycle), pods.len * sizeof(*ret->victims));
        memcpy(ret->victims, pods.items, pods.len * sizeof(*ret->victims));
        ret->victims_len = (uint32_t)pods.len;
        return BERTH_OK;
    }
    return berth_verdict(BERTH_UNSCHEDULABLE);
}

static struct berth_status pre_score(struct berth_cycle *cycle)
{
    berth_log(0, "pre_score %u", berth_feasible(cycle).len);
    return BERTH_OK;
}

static struct berth_status score(struct berth_cycle *cycle, struct berth_node_view node, int64_t *ret)
{
    (void)cycle;
    *ret = berth_node_allocatable(node, berth_resource(node.cluster, "cpu"));
    return BERTH_OK;
}

static void normalize(struct berth_cycle *cycle, int64_t *scores, size_t len)
{
    int64_t most = 1;
    (void)cycle;
    for (size_t i = 0; i < len; i++)
        most = scores[i] > most ? scores[i] : most;
    for (size_t i = 0; i < len; i++)
        scores[i] = scores[i] * BERTH_SCORE_MAX / most;
}

static struct berth_status reserve(struct berth_cycle *cycle, uint32_t row)
{
    struct self *self = berth_cycle_self(cycle);
    struct state *state = *berth_cycle_state(cycle);
    struct berth_node_view node = berth_node(berth_cycle_cluster(cycle), row);
    berth_log(0, "reserve %.*s on %.*s after %u filters", BERTH_ARG(name_of(cycle)),
              BERTH_ARG(berth_node_name(node)), state ? state->filtered : 0);
    berth_metric_observe(self->filters, state ? state->filtered : 0);
    if (order(cycle, "test/reserve").ptr)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "the shelf is full");
    return BERTH_OK;
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    berth_log(0, "unreserve %.*s", BERTH_ARG(name_of(cycle)));
}

/* The path of NAME.ending in the folder. */
static const char *file_of(struct berth_cycle *cycle, const char *ending, char path[512])
{
    struct self *self = berth_cycle_self(cycle);
    snprintf(path, 512, BERTH_FMT "/" BERTH_FMT ".%s", BERTH_ARG(self->args->folder),
             BERTH_ARG(name_of(cycle)), ending);
    return path;
}

/* ---- Permit: a thread answers ---- */
struct answer {
    const struct berth_handle *handle;
    char until[512];                                                      /* a file; "": do not wait */
    char namespace_[NAME_MAX_LEN], name[NAME_MAX_LEN], uid[NAME_MAX_LEN]; /* no uid: any pod with the name */
    bool refuse;
};

static void *answer(void *context)
{
    struct answer *own = context;
    do
        usleep(30000);
    while (own->until[0] && access(own->until, F_OK) < 0);
    if (own->refuse)
        berth_refuse_uid(own->handle, berth_text(own->namespace_), berth_text(own->name),
                         berth_text(own->uid), berth_text("rejected by a thread"));
    else
        berth_allow_uid(own->handle, berth_text(own->namespace_), berth_text(own->name),
                        berth_text(own->uid));
    free(own);
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

static void answer_later(struct berth_cycle *cycle, struct berth_str name, struct berth_str action)
{
    struct self *self = berth_cycle_self(cycle);
    struct answer *own = calloc(1, sizeof(*own));
    pthread_t thread;
    own->handle = self->handle;
    own->refuse = berth_is(action, "refuse");
    if (berth_is(action, "file"))
        file_of(cycle, "go", own->until);
    snprintf(own->namespace_, sizeof(own->namespace_), BERTH_FMT,
             BERTH_ARG(berth_object_namespace(berth_cycle_pod(cycle))));
    snprintf(own->name, sizeof(own->name), BERTH_FMT, BERTH_ARG(name));
    if (name.ptr == name_of(cycle).ptr)
        snprintf(own->uid, sizeof(own->uid), BERTH_FMT, BERTH_ARG(berth_object_uid(berth_cycle_pod(cycle))));
    atomic_fetch_add(&threads, 1);
    pthread_create(&thread, NULL, answer, own);
    pthread_detach(thread);
}

static bool count_waiting(void *context, const struct berth_pod_info *pod)
{
    return count(context, pod);
}

static struct berth_status permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    struct self *self = berth_cycle_self(cycle);
    struct berth_str action = order(cycle, "test/permit");
    uint32_t waiting = 0;
    (void)row;
    if (!action.ptr)
        return BERTH_OK;
    berth_each_waiting(self->handle, count_waiting, &waiting);
    berth_log(0, "permit %.*s, %u wait", BERTH_ARG(name_of(cycle)), waiting);
    berth_metric_set(self->waiting, waiting);
    if (berth_is(action, "no"))
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "not today");
    *ret_timeout_ms = berth_is(action, "timeout") ? 200 : 60000;
    if (berth_is(action, "wait") || berth_is(action, "refuse") || berth_is(action, "file"))
        answer_later(cycle, name_of(cycle), action);
    return berth_verdict(BERTH_WAIT);
}

/* ---- PreBind and Bind ---- */
static void touch(struct berth_cycle *cycle, const char *ending)
{
    char path[512];
    int fd = open(file_of(cycle, ending, path), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

static bool there_is(struct berth_cycle *cycle, const char *ending)
{
    char path[512];
    return access(file_of(cycle, ending, path), F_OK) == 0;
}

static struct berth_status work(struct berth_cycle *cycle, struct berth_str action, struct berth_str node,
                                const char *what)
{
    struct self *self = berth_cycle_self(cycle);
    bool file = berth_is(action, "file") || berth_is(action, "mine");
    if (file)
        touch(cycle, "begun");
    for (int i = 0; berth_is(action, "slow") && i < 20 && !berth_cycle_cancelled(cycle); i++)
        usleep(10000);
    while (file && !there_is(cycle, "go") && !berth_cycle_cancelled(cycle))
        usleep(10000);
    berth_log(0, "%s %.*s on %.*s, core thread: %d, cluster: %d, state: %d, cancelled: %d", what,
              BERTH_ARG(name_of(cycle)), BERTH_ARG(node), pthread_equal(pthread_self(), self->core) != 0,
              berth_cycle_cluster(cycle) != NULL, *berth_cycle_state(cycle) != NULL,
              berth_cycle_cancelled(cycle));
    if (!berth_is(action, "fail") || there_is(cycle, "failed"))
        return BERTH_OK;
    if (self->args->folder.len)
        touch(cycle, "failed");
    return berth_reject(berth_cycle_arena(cycle), BERTH_ERROR, "disk %d is on fire", 3);
}

static struct berth_status pre_bind_pre_flight(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    return order(cycle, "test/pre-bind").ptr ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

static struct berth_status pre_bind(struct berth_cycle *cycle, struct berth_str node)
{
    return work(cycle, order(cycle, "test/pre-bind"), node, "pre_bind");
}

static struct berth_status bind(struct berth_cycle *cycle, struct berth_str node)
{
    struct berth_str action = order(cycle, "test/bind");
    struct berth_status status = action.ptr ? work(cycle, action, node, "bind") : BERTH_OK;
    if (status.code != BERTH_SUCCESS || berth_is(action, "mine"))
        return status;
    return berth_verdict(BERTH_SKIP); /* left to the default binder */
}

static void post_bind(struct berth_cycle *cycle, uint32_t row)
{
    struct self *self = berth_cycle_self(cycle);
    struct berth_str name = name_of(cycle), other = order(cycle, "test/activate");
    (void)row;
    berth_log(0, "post_bind %.*s", BERTH_ARG(name));
    snprintf(self->bound[self->bound_len++ % BOUND_MAX], NAME_MAX_LEN, BERTH_FMT, BERTH_ARG(name));
    if (other.ptr)
        berth_activate(self->handle, berth_object_namespace(berth_cycle_pod(cycle)), other);
    if ((other = order(cycle, "test/allow")).ptr)
        answer_later(cycle, other, berth_text("wait"));
    if ((other = order(cycle, "test/refuse")).ptr)
        answer_later(cycle, other, berth_text("refuse"));
}

static enum berth_hint_answer node_opened(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *after = berth_event_after(event);
    bool open =
        after && (!berth_object_label(after, "closed").ptr || berth_object_label(after, "test/open").ptr);
    berth_log(0, "hint %.*s self=%d actions=%u open=%d", BERTH_ARG(berth_object_name(pod)),
              self->args != NULL, berth_event_actions(event), open);
    return open ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static enum berth_hint_answer loud_pod_left(const struct berth_hint *hint, const struct berth_pod *pod,
                                            const struct berth_event *event)
{
    (void)hint;
    bool helps = berth_object_label(pod, "test/quiet").ptr &&
                 berth_object_label(berth_event_before(event), "test/loud").ptr;
    return helps ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
    { BERTH_EVENT_ASSIGNED_POD, BERTH_DELETE, loud_pod_left },
    { BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL, node_opened },
    { BERTH_EVENT_POD, BERTH_POD_LABEL, NULL },
    { 0 },
};

static const struct berth_plugin everything = {
    .name = "Everything",
    .doc = "Takes part everywhere.",
    .args = fields,
    .args_size = sizeof(struct args),
    .args_defaults = &defaults,
    .init = init,
    .release = release,
    .forget = forget,
    .pre_enqueue = pre_enqueue,
    .less = less,
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .filter = filter,
    .post_filter = post_filter,
    .pre_score = pre_score,
    .score = score,
    .normalize = normalize,
    .reserve = reserve,
    .unreserve = unreserve,
    .permit = permit,
    .pre_bind_pre_flight = pre_bind_pre_flight,
    .pre_bind = pre_bind,
    .bind = bind,
    .post_bind = post_bind,
    .events = events,
};

BERTH_PLUGINS(&everything)
