/* everything.c: one plugin at every extension point that says in the log what it is asked, and does what labels of the
 * pod tell it to. The tests read the log and what came of the pods.
 *
 *     test/pre-enqueue: hold        PreEnqueue holds the pod back
 *     test/narrow: NODE             PreFilter leaves that node only
 *     test/permit: wait, refuse     Permit makes it wait; a thread allows or refuses it a little later
 *     test/pre-bind: slow, fail     PreBind takes its time off the core thread, or fails
 *     test/activate: NAME           PostBind activates the pod of that name
 *     test/victims: all             PostFilter nominates a node that would fit without its pods */
#include <berth/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct args {
    struct berth_str greeting;
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

struct self {
    const struct berth_handle *handle;
    const struct args *args;
    pthread_t core;
    struct berth_metric *asked;
};

struct state {
    uint32_t filtered;
    char pad[32];
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    static const struct berth_metric_info asked = {
        .name = "everything_asked_total", .help = "Questions", .type = BERTH_COUNTER, .labels = { "point" }
    };
    const struct args *args = env->args;
    struct berth_str label = { "filter", 6 };
    struct self *self = calloc(1, sizeof(*self));
    if (args->number < 0) {
        free(self);
        return berth_fail(err, "number: %lld is negative", (long long)args->number);
    }
    self->handle = env->handle;
    self->args = args;
    self->core = pthread_self();
    self->asked = berth_metric_get(&asked, &label);
    long long depths = 0;
    for (uint32_t i = 0; i < args->items.len; i++)
        depths += ((const struct inner *)args->items.items)[i].depth;
    berth_log(
        0,
        "init %.*s number=%lld pause=%lld ratio=%.3f loud=%d words=%u pairs=%u depth=%lld items=%lld json=%u",
        BERTH_ARG(args->greeting), (long long)args->number, (long long)args->pause_ns, args->ratio,
        args->loud, args->words.len, args->pairs.len, (long long)args->inner.depth, depths,
        env->args_json.len);
    *ret_self = self;
    return 0;
}

static atomic_int threads; /* that have not said all they have to say */

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

static struct berth_status pre_enqueue(const void *self, const struct berth_pod *pod,
                                       struct berth_arena *arena)
{
    const struct self *own = self;
    if (!berth_is(berth_object_label(pod, "test/pre-enqueue"), "hold"))
        return BERTH_OK;
    return berth_reject(arena, BERTH_UNRESOLVABLE, "%.*s, wait", BERTH_ARG(own->args->greeting));
}

/* By name, backwards: nobody else would. */
static bool less(const struct berth_pod_info *a, const struct berth_pod_info *b)
{
    struct berth_str x = berth_object_name(berth_info_pod(a)), y = berth_object_name(berth_info_pod(b));
    int c = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return c > 0 || (c == 0 && x.len > y.len);
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct berth_str only = order(cycle, "test/narrow");
    *berth_cycle_state(cycle) = calloc(1, sizeof(struct state));
    if (only.ptr)
        berth_narrow(cycle, narrow, &only, 1);
    return BERTH_OK;
}

static void add_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod, struct berth_node_view node)
{
    (void)cycle, (void)node;
    berth_log(0, "add_pod %.*s", BERTH_ARG(berth_object_name(berth_info_pod(pod))));
}

static void remove_pod(struct berth_cycle *cycle, const struct berth_pod_info *pod,
                       struct berth_node_view node)
{
    (void)cycle;
    berth_log(0, "remove_pod %.*s of %u", BERTH_ARG(berth_object_name(berth_info_pod(pod))),
              (unsigned)berth_node_pods(node).len);
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    struct self *self = berth_cycle_self(cycle);
    struct state *state = *berth_cycle_state(cycle);
    state->filtered++;
    berth_metric_add(self->asked, 1);
    if (berth_node_label(node, "closed").ptr)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) were closed");
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
    struct state *state = *berth_cycle_state(cycle);
    struct berth_node_view node = berth_node(berth_cycle_cluster(cycle), row);
    berth_log(0, "reserve %.*s on %.*s after %u filters",
              BERTH_ARG(berth_object_name(berth_cycle_pod(cycle))), BERTH_ARG(berth_node_name(node)),
              state ? state->filtered : 0);
    return BERTH_OK;
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    berth_log(0, "unreserve %.*s", BERTH_ARG(berth_object_name(berth_cycle_pod(cycle))));
}

/* ---- Permit: a thread answers ---- */
struct answer {
    const struct berth_handle *handle;
    char namespace_[64], name[64];
    bool refuse;
};

static void *answer(void *context)
{
    struct answer *own = context;
    usleep(30000);
    if (own->refuse)
        berth_refuse(own->handle, berth_text(own->namespace_), berth_text(own->name),
                     berth_text("thread says no"));
    else
        berth_allow(own->handle, berth_text(own->namespace_), berth_text(own->name));
    free(own);
    atomic_fetch_sub(&threads, 1);
    return NULL;
}

static bool count_waiting(void *context, const struct berth_pod_info *pod)
{
    (void)pod;
    ++*(int *)context;
    return true;
}

static struct berth_status permit(struct berth_cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    struct self *self = berth_cycle_self(cycle);
    struct berth_str told = order(cycle, "test/permit");
    const struct berth_pod *pod = berth_cycle_pod(cycle);
    int waiting = 0;
    pthread_t thread;
    (void)row;
    if (!told.ptr)
        return BERTH_OK;
    berth_each_waiting(self->handle, count_waiting, &waiting);
    berth_log(0, "permit %.*s, %d wait", BERTH_ARG(berth_object_name(pod)), waiting);
    *ret_timeout_ms = 60000;
    if (berth_is(told, "timeout")) {
        *ret_timeout_ms = 200;
        return berth_verdict(BERTH_WAIT);
    }
    struct answer *own = calloc(1, sizeof(*own));
    own->handle = self->handle;
    own->refuse = berth_is(told, "refuse");
    snprintf(own->namespace_, sizeof(own->namespace_), BERTH_FMT, BERTH_ARG(berth_object_namespace(pod)));
    snprintf(own->name, sizeof(own->name), BERTH_FMT, BERTH_ARG(berth_object_name(pod)));
    atomic_fetch_add(&threads, 1);
    pthread_create(&thread, NULL, answer, own);
    pthread_detach(thread);
    return berth_verdict(BERTH_WAIT);
}

static struct berth_status pre_bind_pre_flight(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    return order(cycle, "test/pre-bind").ptr ? BERTH_OK : berth_verdict(BERTH_SKIP);
}

static struct berth_status pre_bind(struct berth_cycle *cycle, struct berth_str node)
{
    struct self *self = berth_cycle_self(cycle);
    struct state *state = *berth_cycle_state(cycle);
    bool slow = berth_is(order(cycle, "test/pre-bind"), "slow");
    for (int i = 0; slow && i < 20 && !berth_cycle_cancelled(cycle); i++)
        usleep(10000);
    berth_log(0, "pre_bind %.*s on %.*s, core thread: %d, cluster: %d, state: %d, cancelled: %d",
              BERTH_ARG(berth_object_name(berth_cycle_pod(cycle))), BERTH_ARG(node),
              pthread_equal(pthread_self(), self->core) != 0, berth_cycle_cluster(cycle) != NULL,
              state != NULL, berth_cycle_cancelled(cycle));
    if (berth_is(order(cycle, "test/pre-bind"), "fail"))
        return berth_reject(berth_cycle_arena(cycle), BERTH_ERROR, "disk %d is on fire", 3);
    return BERTH_OK;
}

static struct berth_status bind(struct berth_cycle *cycle, struct berth_str node)
{
    (void)cycle, (void)node;
    return berth_verdict(BERTH_SKIP); /* the default binder does it */
}

static void post_bind(struct berth_cycle *cycle, uint32_t row)
{
    struct self *self = berth_cycle_self(cycle);
    struct berth_str other = order(cycle, "test/activate");
    (void)row;
    berth_log(0, "post_bind %.*s", BERTH_ARG(berth_object_name(berth_cycle_pod(cycle))));
    if (other.ptr)
        berth_activate(self->handle, berth_object_namespace(berth_cycle_pod(cycle)), other);
}

static enum berth_hint_answer node_opened(const struct berth_hint *hint, const struct berth_pod *pod,
                                          const struct berth_event *event)
{
    const struct self *self = berth_hint_self(hint);
    const void *after = berth_event_after(event);
    bool open = after && !berth_object_label(after, "closed").ptr;
    berth_log(0, "hint %.*s self=%d actions=%u open=%d", BERTH_ARG(berth_object_name(pod)),
              self->args != NULL, berth_event_actions(event), open);
    return open ? BERTH_HINT_QUEUE : BERTH_HINT_SKIP;
}

static const struct berth_event_rule events[] = {
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
