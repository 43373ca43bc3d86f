/* listing.c: reflectors that are stopped as soon as each kind was listed to its end. */
#include "sync/listing.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/api.h"
#include "sync/reflector.h"

enum { PATIENCE_MS = 60 * 1000, DOWN_MS_MAX = 5 * 1000, LOOK_MS = 200, KINDS_TOLD = 3 };

struct reading {
    const struct listing_options *options;
    struct listing *listing;
    bool listed[KIND_COUNT];
    size_t open; /* kinds that have not come */
    int64_t started_ns, received_ns;
    pthread_mutex_t lock;
    struct error problem; /* the last one that was told of; this and the rest under the lock */
    uint64_t refused;     /* kinds, by their place among the watched ones */
};

static void on_problem(void *user, const char *sentence)
{
    struct reading *reading = user;
    pthread_mutex_lock(&reading->lock);
    error_set(&reading->problem, -EIO, "%s", sentence);
    pthread_mutex_unlock(&reading->lock);
}

/* The first refusal says why; of the others the kind is enough. */
static void on_failure(void *user, const char *resource, int status, const char *why)
{
    struct reading *reading = user;
    pthread_mutex_lock(&reading->lock);
    if (!reading->refused)
        error_set(&reading->problem, -EIO, "%s", why);
    for (size_t i = 0; status && i < watched_kind_count; i++)
        if (strcmp(watched_kinds[i].resource, resource) == 0)
            reading->refused |= UINT64_C(1) << i;
    pthread_mutex_unlock(&reading->lock);
}

/* A list that broke off begins again: what it had is dropped. */
static void forget(struct listing *listing, enum api_kind kind)
{
    size_t kept = 0;
    for (size_t i = 0; i < listing->objects.len; i++) {
        struct live_object *object = listing->objects.items[i];
        if (object->object.kind == kind)
            live_object_free(object);
        else
            listing->objects.items[kept++] = object;
    }
    listing->objects.len = kept;
}

/* A pod that cannot be read completely still has its node, with what could be read. */
static bool occupies_node(const struct inbox_message *message)
{
    return message->kind == MESSAGE_PARTIAL && message->object && message->api_kind == KIND_POD &&
           ((const struct pod *)message->object->object.ptr)->spec.node_name.len;
}

/* What a watch says after the list is of no interest. */
static void read_message(struct reading *reading, struct inbox_message *message)
{
    enum api_kind kind = message->api_kind;
    if (message->kind == MESSAGE_CALL || message->kind == MESSAGE_ANSWER || reading->listed[kind])
        return;
    if (message->kind == MESSAGE_LIST_BEGIN) {
        forget(reading->listing, kind);
    } else if (message->kind == MESSAGE_SET || occupies_node(message)) {
        *vec_push(&reading->listing->objects) = message->object;
        message->object = NULL;
    } else if (message->kind == MESSAGE_LIST_END || message->kind == MESSAGE_ABSENT) {
        reading->listed[kind] = true;
        reading->open--;
    }
}

static const char *missing_kind(const struct reading *reading)
{
    for (size_t i = 0; i < watched_kind_count; i++)
        if (!reading->listed[watched_kinds[i].kind])
            return watched_kinds[i].resource;
    return "everything";
}

/* "nodes, pods, services and 15 more". */
static void name_kinds(uint64_t kinds, struct strbuf *out)
{
    int told = 0;
    for (size_t i = 0; i < watched_kind_count; i++)
        if (kinds >> i & 1 && told++ < KINDS_TOLD)
            strbuf_printf(out, "%s%s", out->len ? ", " : "", watched_kinds[i].resource);
    if (told > KINDS_TOLD)
        strbuf_printf(out, " and %d more", told - KINDS_TOLD);
}

/* Why there is no sense in waiting any longer: the reading goes on while this is 0. */
static int give_up(struct reading *reading, const struct reflectors *reflectors, struct error *err)
{
    int64_t now_ns = monotonic_ns(), down_ns = reflectors_down_since_ns(reflectors);
    int64_t patience_ms = reading->options->patience_ms ? reading->options->patience_ms : PATIENCE_MS;
    int r = 0;
    pthread_mutex_lock(&reading->lock);
    const char *why = reading->problem.text;
    if (reading->refused && (size_t)__builtin_popcountll(reading->refused) >= reading->open) {
        _cleanup_(strbuf_release) struct strbuf kinds = { 0 };
        name_kinds(reading->refused, &kinds);
        r = error_set(err, -EACCES, "the cluster refuses to list %s: %s", kinds.text, why);
    } else if (down_ns && now_ns - down_ns > DOWN_MS_MAX * NS_PER_MS) {
        r = error_set(err, -EIO, "the cluster does not answer: %s", why);
    } else if (now_ns - reading->received_ns > patience_ms * NS_PER_MS) {
        r = error_set(err, -ETIMEDOUT, "the cluster did not list its %s within %lld s%s%s",
                      missing_kind(reading), (long long)(patience_ms / 1000), why[0] ? ": " : "", why);
    }
    pthread_mutex_unlock(&reading->lock);
    return r;
}

static int read_all(struct reading *reading, struct inbox *inbox, const struct reflectors *reflectors,
                    struct error *err)
{
    int r = 0;
    while (reading->open && r == 0) {
        struct list messages = inbox_take(inbox, monotonic_ns() + LOOK_MS * NS_PER_MS);
        if (!list_empty(&messages))
            reading->received_ns = monotonic_ns();
        for (struct inbox_message *message; (message = inbox_next(&messages)); inbox_message_free(message))
            read_message(reading, message);
        if (reading->options->on_progress)
            reading->options->on_progress(reading->listing->objects.len,
                                          (double)(monotonic_ns() - reading->started_ns) / 1e9);
        if (reading->open)
            r = give_up(reading, reflectors, err);
    }
    return r;
}

static int read_from(struct api *api, struct reading *reading, struct error *err)
{
    struct inbox *inbox = inbox_new();
    struct features by_default;
    features_default(&by_default, NULL, 0);
    reading->open = watched_kind_count;
    reading->started_ns = reading->received_ns = monotonic_ns();
    struct reflectors *reflectors = reflectors_start(
        api, inbox,
        &(struct reflector_options){
            .features = reading->options->features ? reading->options->features : &by_default,
            .plain_lists = true,
            .on_failure = on_failure,
            .user = reading,
        });
    int r = read_all(reading, inbox, reflectors, err);
    reflectors_stop(reflectors);
    inbox_free(inbox);
    return r;
}

int usual_access(const char *kubeconfig, const char *context, const char *server, struct arena *arena,
                 struct kube_access *ret, struct error *err)
{
    const char *home = getenv("HOME");
    struct kube_source source = { .kubeconfig = kubeconfig, .context = context, .master = server };
    if (!kubeconfig)
        source.kubeconfig_list = getenv("KUBECONFIG");
    if (!kubeconfig && (!source.kubeconfig_list || !*source.kubeconfig_list) && home) {
        const char *usual = arena_printf(arena, "%s/.kube/config", home).ptr;
        source.kubeconfig = access(usual, R_OK) == 0 ? usual : NULL;
    }
    return kubeconfig_load(&source, arena, ret, NULL, err);
}

int listing_read(const struct listing_options *options, struct listing *ret, struct error *err)
{
    struct arena arena = { 0 };
    struct kube_access access = { 0 };
    struct api *api = NULL;
    struct reading reading = { .options = options, .listing = ret };
    *ret = (struct listing){ 0 };
    pthread_mutex_init(&reading.lock, NULL);
    int r = usual_access(options->kubeconfig, options->context, NULL, &arena, &access, err);
    if (r == 0)
        r = api_new(
            &(struct api_options){ .access = &access, .qps = -1, .on_problem = on_problem, .user = &reading },
            &api, err);
    if (r == 0)
        r = read_from(api, &reading, err);
    api_free(api);
    pthread_mutex_destroy(&reading.lock);
    arena_release(&arena);
    if (r < 0)
        listing_release(ret);
    return r;
}

void listing_release(struct listing *listing)
{
    vec_for(&listing->objects, object)
        live_object_free(*object);
    vec_release(&listing->objects);
}
