/* live_churn.c: does the memory of a live scheduler stay the same while its cluster goes on?
 *
 *     I/O thread: live_server ──bytes──▶ wire ──messages──▶ inbox ──▶ core thread: mirror ──▶ engine ──▶ effects
 *                      ▲                                                                                 │
 *                      └───────────────────────────── binds, patches, deletions ◀────────────────────────┘
 *
 * The parts between the bytes and the decisions are those of `berth scheduler`, on two threads as there. Memory is
 * looked at when all is quiet, and when as many pods and nodes are there as before. Its time is virtual: a millisecond
 * for each message.
 *
 *     live_churn --nodes 5000 --pods 5000 --events 100000      figures
 *     live_churn --malloc                                      with malloc as it is, not as the scheduler sets it
 *     live_churn --check                                       small, and fails when memory grows */
#include <getopt.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench/live_core.h"
#include "engine/class_cache.h"

/* Per cent. As many pods of other classes take a little more or less; ten bytes lost with each event are more. */
enum { IN_USE_GROWTH_MAX = 4, RESIDENT_GROWTH_MAX = 10 };
enum { LETTERS_AHEAD_MAX = 256, KIB = 1024 };

struct journey {
    bool
        trims; /* holes that malloc could give back depend on how the two threads meet: not in a small check */
    struct live_server server;
    struct live_core core;
    uint64_t events_for_people;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    live_wishes wishes; /* under the lock */
    bool over;          /* likewise */
    uint64_t until;     /* likewise: the server goes on to so many events */
    atomic_bool rests;
    /* the I/O thread's */
    live_wishes taken;
};

/* ---- the I/O thread ---- */
static void take_frame(void *context, enum api_kind kind, struct str frame)
{
    live_core_frame(&((struct journey *)context)->core, kind, frame);
}

/* True: there was something. */
static bool do_wishes(struct journey *journey)
{
    pthread_mutex_lock(&journey->lock);
    live_wishes wishes = journey->wishes;
    journey->wishes = journey->taken;
    vec_clear(&journey->wishes);
    pthread_mutex_unlock(&journey->lock);
    journey->taken = wishes;
    vec_for(&wishes, wish)
        live_core_do(&journey->core, &journey->server, wish);
    return wishes.len > 0;
}

/* What there is to do now: 0 nothing, 1 a step, -1 the end. */
static int what_next(struct journey *journey)
{
    pthread_mutex_lock(&journey->lock);
    bool goes_on = journey->server.events < journey->until;
    if (!journey->wishes.len && !journey->over &&
        (!goes_on || inbox_depth(journey->core.inbox) > LETTERS_AHEAD_MAX)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LIVE_MS_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        atomic_store(&journey->rests, !goes_on);
        pthread_cond_timedwait(&journey->changed, &journey->lock, &until);
        goes_on = false;
    }
    if (journey->wishes.len || goes_on)
        atomic_store(&journey->rests, false);
    int next = journey->over ? -1 : goes_on;
    pthread_mutex_unlock(&journey->lock);
    return next;
}

static void *serve(void *context)
{
    struct journey *journey = context;
    for (int next; (next = what_next(journey)) >= 0;) {
        if (!do_wishes(journey) && next)
            live_server_step(&journey->server);
    }
    return NULL;
}

/* ---- the core thread ---- */
static void emit(void *context, const struct effect *effect)
{
    struct journey *journey = context;
    if (!effect->ticket) {
        journey->events_for_people++;
        return;
    }
    pthread_mutex_lock(&journey->lock);
    live_wish(&journey->wishes, effect);
    atomic_store(&journey->rests, false);
    pthread_cond_signal(&journey->changed);
    pthread_mutex_unlock(&journey->lock);
}

static bool is_quiet(const struct journey *journey)
{
    return atomic_load(&journey->rests) && !inbox_depth(journey->core.inbox) &&
           !engine_bindings(&journey->core.engine) && !journey->core.engine.writes.by_ticket.len;
}

/* Until the server has told of so many more events, and all that follows from them is done. */
static void go_on(struct journey *journey, uint64_t events)
{
    pthread_mutex_lock(&journey->lock);
    journey->until = journey->server.events + events;
    atomic_store(&journey->rests, false);
    pthread_cond_signal(&journey->changed);
    pthread_mutex_unlock(&journey->lock);
    for (int quiet = 0; quiet < 20;) {
        bool did = live_core_round(&journey->core);
        quiet = !did && is_quiet(journey) ? quiet + 1 : 0;
        if (!did)
            nanosleep(&(struct timespec){ 0, LIVE_MS_NS / 10 }, NULL);
    }
}

/* ---- memory ---- */
/* Of builds with a sanitizer, whose malloc mallinfo2() does not know. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

struct memory {
    size_t in_use, free, resident; /* bytes; free: that malloc has and nobody uses */
};

static struct memory memory_now(void)
{
    struct mallinfo2 info = mallinfo2();
    struct memory memory = { .in_use = info.uordblks + info.hblkhd, .free = info.fordblks };
    char line[128] = "", *at = line;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fgets(line, sizeof(line), file))
        strtoul(line, &at, 10);
    unsigned long pages = strtoul(at, NULL, 10);
    if (file)
        fclose(file);
    memory.resident = pages * (size_t)sysconf(_SC_PAGESIZE);
    if (__sanitizer_get_current_allocated_bytes)
        memory.in_use = __sanitizer_get_current_allocated_bytes();
    return memory;
}

static struct memory show(const struct journey *journey, const char *when)
{
    if (journey->trims)
        malloc_trim(0);
    struct memory memory = memory_now();
    printf("%-12s %10zu %10zu %10zu %8u %8zu %8zu %8llu %8llu\n", when, memory.in_use / KIB,
           memory.free / KIB, memory.resident / KIB, journey->core.cluster.live_nodes,
           journey->core.cluster.pods.len, class_cache_len(journey->core.engine.classes),
           (unsigned long long)journey->server.events, (unsigned long long)journey->core.decisions);
    fflush(stdout);
    return memory;
}

static double growth(size_t before, size_t after)
{
    return before ? ((double)after / (double)before - 1) * 100 : 0;
}

/* ---- all of it ---- */
static void begin(struct journey *journey)
{
    pthread_mutex_init(&journey->lock, NULL);
    pthread_cond_init(&journey->changed, NULL);
    journey->core.message_ns = LIVE_MS_NS;
    live_core_init(&journey->core, &(struct engine_host){ .emit = emit, .context = journey });
    journey->server.tell = take_frame;
    journey->server.context = journey;
    live_server_init(&journey->server);
}

static void end(struct journey *journey)
{
    live_core_release(&journey->core);
    vec_release(&journey->wishes);
    vec_release(&journey->taken);
    live_server_release(&journey->server);
    pthread_mutex_destroy(&journey->lock);
    pthread_cond_destroy(&journey->changed);
}

static void *list_all(void *context)
{
    struct journey *journey = context;
    live_core_list(&journey->core, &journey->server, KIND_NODE);
    return NULL;
}

static void *list_pods(void *context)
{
    struct journey *journey = context;
    live_core_list(&journey->core, &journey->server, KIND_POD);
    return NULL;
}

/* Lists are read by a thread of their own, while the core takes what comes: as it is when a scheduler starts. */
static struct memory list(struct journey *journey, const char *when, void *(*lists)(void *context))
{
    pthread_t thread;
    pthread_create(&thread, NULL, lists, journey);
    while (!inbox_depth(journey->core.inbox))
        nanosleep(&(struct timespec){ 0, LIVE_MS_NS }, NULL);
    for (int idle = 0; idle < 20; idle = live_core_round(&journey->core) ? 0 : idle + 1)
        nanosleep(&(struct timespec){ 0, LIVE_MS_NS }, NULL);
    pthread_join(thread, NULL);
    live_core_round(&journey->core);
    return show(journey, when);
}

struct plan {
    uint64_t events;
    uint64_t warm;
    bool check;
};

static int judge(const struct plan *plan, struct memory before, struct memory after)
{
    double in_use = growth(before.in_use, after.in_use), resident = growth(before.resident, after.resident);
    printf("growth: %+.2f%% in use, %+.2f%% resident\n", in_use, resident);
    /* What a sanitizer keeps of freed memory is not ours. */
    bool sound = in_use < IN_USE_GROWTH_MAX &&
                 (resident < RESIDENT_GROWTH_MAX || __sanitizer_get_current_allocated_bytes);
    if (plan->check && !sound)
        fprintf(stderr, "live_churn: memory grows\n");
    return plan->check && !sound;
}

static int travel(struct journey *journey, const struct plan *plan)
{
    begin(journey);
    journey->trims = plan->check;
    printf("%-12s %10s %10s %10s %8s %8s %8s %8s %8s\n", "KiB", "in use", "free", "resident", "nodes", "pods",
           "tables", "events", "decided");
    struct memory fixed = show(journey, "engine"), nodes = list(journey, "nodes listed", list_all),
                  pods = list(journey, "pods listed", list_pods);
    uint32_t pod_count = MAX(journey->server.pods, 1u);
    printf("per node %zu bytes, per pod %zu bytes\n",
           (nodes.in_use - fixed.in_use) / MAX(journey->server.nodes, 1u),
           (pods.in_use - nodes.in_use) / pod_count);
    pthread_create(&journey->thread, NULL, serve, journey);
    go_on(journey, plan->warm);
    struct memory warm = show(journey, "warm");
    for (int part = 0; part < 4; part++) {
        go_on(journey, plan->events / 4);
        show(journey, "...");
    }
    struct memory after = memory_now();
    pthread_mutex_lock(&journey->lock);
    journey->over = true;
    pthread_cond_signal(&journey->changed);
    pthread_mutex_unlock(&journey->lock);
    pthread_join(journey->thread, NULL);
    return judge(plan, warm, after);
}

int main(int argc, char **argv)
{
    static struct journey journey = { .server = { .nodes = 200, .pods = 1000, .images = 10 } };
    static const struct option options[] = {
        { "nodes", required_argument, NULL, 'n' },  { "pods", required_argument, NULL, 'p' },
        { "images", required_argument, NULL, 'i' }, { "events", required_argument, NULL, 'e' },
        { "warm", required_argument, NULL, 'w' },   { "malloc", no_argument, NULL, 'm' },
        { "check", no_argument, NULL, 'c' },        { 0 }
    };
    bool as_it_is = false;
    struct plan plan = { .events = 20000, .warm = 20000 };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        unsigned long value = optarg ? strtoul(optarg, NULL, 10) : 0;
        switch (option) {
        case 'n':
            journey.server.nodes = (uint32_t)MAX(value, 1u);
            break;
        case 'p':
            journey.server.pods = (uint32_t)MAX(value, 1u);
            break;
        case 'i':
            journey.server.images = (uint32_t)value;
            break;
        case 'e':
            plan.events = value;
            break;
        case 'w':
            plan.warm = value;
            break;
        case 'm':
            as_it_is = true;
            break;
        case 'c':
            plan.check = true;
            break;
        default:
            return 2;
        }
    }
    if (!as_it_is)
        memory_for_daemon();
    int code = travel(&journey, &plan);
    end(&journey);
    return code;
}
