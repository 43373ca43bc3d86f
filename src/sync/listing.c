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
    struct watched_kind *kinds; /* those of watched.def, and more */
    size_t kinds_len;
    bool listed[KIND_COUNT];
    size_t open; /* kinds that have not come */
    int64_t started_ns, received_ns;
    pthread_mutex_t lock;
    struct error problem; /* the last one that was told of; this and the rest under the lock */
    uint64_t refused;     /* by their place in `kinds` */
};

static void on_problem(void *user, const char *sentence)
{
    struct reading *reading = user;
    pthread_mutex_lock(&reading->lock);
    error_set(&reading->problem, -EIO, "%s", sentence);
    pthread_mutex_unlock(&reading->lock);
}

/* The first refusal says why; of the others the kind is enough. */
static void on_failure(void *user, const struct watched_kind *watched, int status, const char *why)
{
    struct reading *reading = user;
    pthread_mutex_lock(&reading->lock);
    if (!reading->refused)
        error_set(&reading->problem, -EIO, "%s", why);
    if (status)
        reading->refused |= UINT64_C(1) << (watched - reading->kinds);
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
        if (message->kind == MESSAGE_ABSENT)
            reading->listing->absent |= UINT64_C(1) << kind;
    }
}

static const char *missing_kind(const struct reading *reading)
{
    for (size_t i = 0; i < reading->kinds_len; i++)
        if (!reading->listed[reading->kinds[i].kind])
            return reading->kinds[i].resource;
    return "everything";
}

/* "v1/ConfigMap kube-system/network-latency (for the plugin NetworkLatencyPlugin)". */
static void name_kind(const struct reading *reading, size_t place, struct strbuf *out)
{
    const struct watched_kind *watched = &reading->kinds[place];
    const char *name = strchr(watched->field_selector, '=');
    strbuf_puts(out, watched->resource);
    if (place < watched_kind_count)
        return;
    if (watched->namespace && name)
        strbuf_printf(out, " %s/%s", watched->namespace, name + 1);
    else if (watched->namespace)
        strbuf_printf(out, " in %s", watched->namespace);
    strbuf_printf(out, " (for %s)", reading->options->more[place - watched_kind_count].whose);
}

/* "nodes, pods, services and 15 more". */
static void name_kinds(const struct reading *reading, uint64_t kinds, struct strbuf *out)
{
    int told = 0;
    for (size_t i = 0; i < reading->kinds_len; i++) {
        if (!(kinds >> i & 1) || told++ >= KINDS_TOLD)
            continue;
        strbuf_puts(out, out->len ? ", " : "");
        name_kind(reading, i, out);
    }
    if (told > KINDS_TOLD)
        strbuf_printf(out, " and %d more", told - KINDS_TOLD);
}

/* With the reason of the first one. Under the lock. */
static int fail_refused(const struct reading *reading, uint64_t kinds, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf names = { 0 };
    name_kinds(reading, kinds, &names);
    return error_set(err, -EACCES, "the cluster refuses to list %s: %s", names.text, reading->problem.text);
}

/* Those without which the live scheduler goes on count as absent to it. */
static int check_absent(struct reading *reading, struct error *err)
{
    uint64_t refused = 0;
    pthread_mutex_lock(&reading->lock);
    for (size_t i = watched_kind_count; i < reading->kinds_len; i++)
        if (reading->listing->absent >> reading->kinds[i].kind & 1)
            refused |= reading->refused & UINT64_C(1) << i;
    int r = refused ? fail_refused(reading, refused, err) : 0;
    pthread_mutex_unlock(&reading->lock);
    return r;
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
        r = fail_refused(reading, reading->refused, err);
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
    return r < 0 ? r : check_absent(reading, err);
}

static void choose_kinds(struct reading *reading, struct arena *arena)
{
    const struct listing_options *options = reading->options;
    reading->open = reading->kinds_len = watched_kind_count + options->more_len;
    reading->kinds = arena_array(arena, struct watched_kind, reading->kinds_len);
    memcpy(reading->kinds, watched_kinds, watched_kind_count * sizeof(*watched_kinds));
    for (size_t i = 0; i < options->more_len; i++)
        reading->kinds[watched_kind_count + i] = options->more[i].watched;
}

static int read_from(struct api *api, struct reading *reading, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct inbox *inbox = inbox_new();
    struct features by_default;
    features_default(&by_default, NULL, 0);
    choose_kinds(reading, &arena);
    reading->started_ns = reading->received_ns = monotonic_ns();
    struct reflectors *reflectors = reflectors_start(
        api, inbox,
        &(struct reflector_options){
            .kinds = reading->kinds,
            .kind_count = reading->kinds_len,
            .features = reading->options->features ? reading->options->features : &by_default,
            .plain_lists = true,
            .lists_once = true,
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
