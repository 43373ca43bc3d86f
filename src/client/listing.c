/* listing.c: reflectors that are stopped as soon as each kind was listed to its end. */
#include "client/listing.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/api.h"
#include "client/reflector.h"

#define NS_PER_MS ((int64_t)1000000)

struct reading {
    struct listing *listing;
    bool listed[KIND_COUNT];
    size_t open; /* kinds that have not come */
    pthread_mutex_t lock;
    struct error problem; /* the last one that was told of; under the lock */
};

static void on_problem(void *user, const char *sentence)
{
    struct reading *reading = user;
    pthread_mutex_lock(&reading->lock);
    error_set(&reading->problem, -EIO, "%s", sentence);
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

/* What a watch says after the list is of no interest. */
static void read_letter(struct reading *reading, struct letter *letter)
{
    enum api_kind kind = letter->api_kind;
    if (letter->kind == LETTER_CALL || letter->kind == LETTER_ANSWER || reading->listed[kind])
        return;
    if (letter->kind == LETTER_LIST_BEGIN) {
        forget(reading->listing, kind);
    } else if (letter->kind == LETTER_SET) {
        *vec_push(&reading->listing->objects) = letter->object;
        letter->object = NULL;
    } else if (letter->kind == LETTER_LIST_END || letter->kind == LETTER_ABSENT) {
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

static int read_all(struct reading *reading, struct inbox *inbox, int64_t patience_ms, struct error *err)
{
    int64_t until_ns = http_now_ns() + patience_ms * NS_PER_MS;
    while (reading->open) {
        struct letter *letter = inbox_take(inbox, until_ns);
        for (struct letter *next; letter; letter = next) {
            next = letter->next;
            read_letter(reading, letter);
            letter_free(letter);
        }
        if (reading->open && http_now_ns() >= until_ns) {
            pthread_mutex_lock(&reading->lock);
            bool told = reading->problem.text[0];
            int r = error_set(err, -ETIMEDOUT, "the cluster did not list its %s within %lld s%s%s",
                              missing_kind(reading), (long long)(patience_ms / 1000), told ? ": " : "",
                              reading->problem.text);
            pthread_mutex_unlock(&reading->lock);
            return r;
        }
    }
    return 0;
}

static int read_from(struct api *api, struct reading *reading, int64_t patience_ms, struct error *err)
{
    struct inbox *inbox = inbox_new();
    reading->open = watched_kind_count;
    struct reflectors *reflectors = reflectors_start(api, inbox, &(struct reflector_options){ 0 });
    int r = read_all(reading, inbox, patience_ms, err);
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

int listing_read(const char *kubeconfig, const char *context, int64_t patience_ms, struct listing *ret,
                 struct error *err)
{
    struct arena arena = { 0 };
    struct kube_access access = { 0 };
    struct api *api = NULL;
    struct reading reading = { .listing = ret };
    *ret = (struct listing){ 0 };
    pthread_mutex_init(&reading.lock, NULL);
    int r = usual_access(kubeconfig, context, NULL, &arena, &access, err);
    if (r == 0)
        r = api_new(
            &(struct api_options){ .access = &access, .qps = -1, .on_problem = on_problem, .user = &reading },
            &api, err);
    if (r == 0)
        r = read_from(api, &reading, patience_ms, err);
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
