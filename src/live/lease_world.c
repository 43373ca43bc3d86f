/* lease_world.c: requests that somebody waits for. An exchange is shared by who waits and by the callback,
 * and freed by the last of the two: who waits may leave before the answer comes, when its time is over. */
#include "live/lease_world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"

enum { US_PER_S = 1000000, NS_PER_US = 1000, BODY_BYTES_MAX = 2 << 20 };

struct api_world {
    struct lease_world public;
    struct api *api;
    struct rng rng; /* of the one thread that exchanges */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool interrupted;
    atomic_uint references; /* of the lease, and of exchanges that nobody waits for any more */
};

struct exchange {
    struct api_world *world;
    bool done, left; /* under the lock of the world */
    struct lease_answer answer;
};

static void world_unref(struct api_world *world)
{
    if (atomic_fetch_sub(&world->references, 1) != 1)
        return;
    pthread_cond_destroy(&world->changed);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

static void on_done(void *user, struct http_response *response)
{
    struct exchange *exchange = user;
    struct api_world *world = exchange->world;
    pthread_mutex_lock(&world->lock);
    bool left = exchange->left;
    exchange->done = true;
    exchange->answer = (struct lease_answer){
        .outcome = response->outcome,
        .status = response->status,
        .body = *response->body,
        .error = response->error,
    };
    *response->body = (struct strbuf){ 0 };
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
    if (left) {
        strbuf_release(&exchange->answer.body);
        free(exchange);
        world_unref(world);
    }
}

static const struct http_callbacks callbacks = { .on_done = on_done };

/* Under the lock. */
static void wait_for_answer(struct api_world *world, const struct exchange *exchange, int64_t timeout_ms)
{
    int64_t until_ns = monotonic_ns() + timeout_ms * NS_PER_MS;
    struct timespec until = { until_ns / 1000000000, until_ns % 1000000000 };
    int r = 0;
    while (!exchange->done && !world->interrupted && r == 0)
        r = pthread_cond_timedwait(&world->changed, &world->lock, &until);
}

static void exchange_api(void *user, const char *method, struct str path, struct str body, int64_t timeout_ms,
                         struct lease_answer *ret)
{
    struct api_world *world = user;
    struct exchange *exchange = xcalloc(1, sizeof(*exchange));
    uint64_t id;
    const struct api_request request = {
        .method = method,
        .path = path,
        .content_type = body.len ? API_JSON : NULL,
        .body = body,
        .urgent = true,
        .unlimited = true,
        .timeout_ms = timeout_ms,
        .body_bytes_max = BODY_BYTES_MAX,
        .callbacks = &callbacks,
        .user = exchange,
    };
    exchange->world = world;
    *ret = (struct lease_answer){ .outcome = HTTP_UNSENT };
    if (api_send(world->api, &request, &id, &ret->error) < 0) {
        free(exchange);
        return;
    }
    pthread_mutex_lock(&world->lock);
    wait_for_answer(world, exchange, timeout_ms);
    bool done = exchange->done;
    if (!done) {
        exchange->left = true;
        atomic_fetch_add(&world->references, 1);
    }
    pthread_mutex_unlock(&world->lock);
    if (done) {
        *ret = exchange->answer;
        free(exchange);
        return;
    }
    api_cancel(world->api, id);
    ret->outcome = HTTP_LOST;
    error_set(&ret->error, 0, "no answer within %lld ms", (long long)timeout_ms);
}

/* Runs while the machine sleeps, too: others' clocks do. */
static int64_t now_ns(void *user _unused_)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t wall_us(void *user _unused_)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * US_PER_S + now.tv_nsec / NS_PER_US;
}

static double random_share(void *user)
{
    struct api_world *world = user;
    return (double)(rng_next(&world->rng) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The kernel gives this much at once, or it is too early in its life to have any. */
static void random_bytes(void *to, size_t len)
{
    if (getrandom(to, len, 0) == (ssize_t)len)
        return;
    struct timespec now;
    struct rng rng;
    clock_gettime(CLOCK_REALTIME, &now);
    rng_seed(&rng, (uint64_t)now.tv_nsec ^ (uint64_t)getpid() << 32 ^ (uint64_t)now.tv_sec);
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)to)[i] = (unsigned char)rng_next(&rng);
}

struct api_world *api_world_new(struct api *api)
{
    struct api_world *world = xcalloc(1, sizeof(*world));
    pthread_condattr_t attributes;
    uint64_t seed;
    random_bytes(&seed, sizeof(seed));
    rng_seed(&world->rng, seed);
    world->api = api;
    world->public = (struct lease_world){ now_ns, wall_us, random_share, exchange_api, world };
    atomic_init(&world->references, 1);
    pthread_mutex_init(&world->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&world->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return world;
}

void api_world_free(struct api_world *world)
{
    if (world)
        world_unref(world);
}

const struct lease_world *api_world_get(struct api_world *world)
{
    return &world->public;
}

void api_world_interrupt(struct api_world *world, bool interrupted)
{
    pthread_mutex_lock(&world->lock);
    world->interrupted = interrupted;
    pthread_cond_broadcast(&world->changed);
    pthread_mutex_unlock(&world->lock);
}

void lease_identity(struct strbuf *out)
{
    char host[256] = "";
    unsigned char u[16];
    gethostname(host, sizeof(host) - 1);
    random_bytes(u, sizeof(u));
    u[6] = (unsigned char)((u[6] & 0x0f) | 0x40); /* version 4: random */
    u[8] = (unsigned char)((u[8] & 0x3f) | 0x80);
    strbuf_printf(out, "%s_", host);
    for (size_t i = 0; i < sizeof(u); i++)
        strbuf_printf(out, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u[i]);
}
