/* late.c: two plugins in one file, for tests of shutdown and of removed pods.
 *
 * Late: its PreBind continues after its result is no longer needed, by the pod's label "late":
 *     leaves    until the pod is gone; then it drops its cycle state, as it may
 *     changes   likewise, and sets another state instead
 *     never     forever, with memory of its own
 * Selfless: has no memory of its own, only a thread that calls berth until the plugin is released. */
#include <berth/plugin.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct self {
    atomic_bool released;
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)env, (void)err;
    *ret_self = calloc(1, sizeof(struct self));
    return 0;
}

static void release(void *self)
{
    atomic_store(&((struct self *)self)->released, true);
    free(self);
}

static void forget(void *state)
{
    free(state);
}

static bool is(struct berth_cycle *cycle, const char *what)
{
    return berth_is(berth_object_label(berth_cycle_pod(cycle), "late"), what);
}

static struct berth_status reserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    *berth_cycle_state(cycle) = calloc(1, 100);
    return BERTH_OK;
}

static void unreserve(struct berth_cycle *cycle, uint32_t row)
{
    (void)row;
    berth_log(0, "unreserve " BERTH_FMT, BERTH_ARG(berth_object_name(berth_cycle_pod(cycle))));
}

static struct berth_status pre_bind(struct berth_cycle *cycle, struct berth_str node)
{
    struct self *self = berth_cycle_self(cycle);
    struct berth_str name = berth_object_name(berth_cycle_pod(cycle));
    void **state = berth_cycle_state(cycle);
    (void)node;
    if (!berth_object_label(berth_cycle_pod(cycle), "late").ptr)
        return BERTH_OK;
    berth_log(0, "begins " BERTH_FMT, BERTH_ARG(name));
    while (is(cycle, "never") && !atomic_load(&self->released))
        usleep(100);
    while (!berth_cycle_cancelled(cycle))
        usleep(1000);
    free(*state);
    *state = is(cycle, "changes") ? calloc(1, 200) : NULL;
    berth_log(0, "ends " BERTH_FMT, BERTH_ARG(name));
    return BERTH_OK;
}

static const struct berth_plugin late = { .name = "Late",
                                          .init = init,
                                          .release = release,
                                          .forget = forget,
                                          .reserve = reserve,
                                          .unreserve = unreserve,
                                          .pre_bind = pre_bind };

/* ---- Selfless ---- */
static const struct berth_handle *handle;
static pthread_t thread;
static atomic_bool stop;

static void *call(void *unused)
{
    while (!atomic_load(&stop)) {
        berth_activate(handle, berth_text("nowhere"), berth_text("unknown"));
        usleep(10000);
    }
    return unused;
}

static int selfless_init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    (void)ret_self;
    handle = env->handle;
    atomic_store(&stop, false);
    return pthread_create(&thread, NULL, call, NULL) == 0 ? 0 : berth_fail(err, "no thread");
}

static void selfless_release(void *self)
{
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    berth_log(0, "selfless is released, %s", self ? "with what it never made" : "of nothing");
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle, (void)node;
    return BERTH_OK;
}

static const struct berth_plugin selfless = {
    .name = "Selfless", .init = selfless_init, .release = selfless_release, .filter = filter
};

BERTH_PLUGINS(&late, &selfless)
