/* live_churn.c: whether the memory of a live scheduler stays flat while its cluster changes.
 *
 *     I/O thread: live_server ──bytes──▶ sync ──messages──▶ inbox ──▶ core thread: mirror ──▶ engine ──▶ effects
 *                      ▲                                                                                 │
 *                      └───────────────────────────── binds, patches, deletions ◀────────────────────────┘
 *
 * The parts between the bytes and the decisions are those of `berth scheduler`, on two threads as there. Memory is
 * measured when no work is pending, with as many pods and nodes as before. Time is simulated: a millisecond for each
 * message.
 *
 *     live_churn --nodes 5000 --pods 5000 --events 100000      prints the figures
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

/* Percent. The same number of pods of other classes takes a little more or less; a leak of ten bytes per event takes
 * more. */
enum { IN_USE_GROWTH_MAX = 4, RESIDENT_GROWTH_MAX = 10 };
enum { MESSAGES_AHEAD_MAX = 256, KIB = 1024 };

struct churn {
    bool trims; /* free memory depends on the timing of the two threads: not checked in a small run */
    struct live_server server;
    struct live_core core;
    uint64_t events_for_people;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    live_wishes wishes; /* under the lock */
    bool over;          /* likewise */
    uint64_t until;     /* likewise: the number of events to send */
    atomic_bool rests;
    /* owned by the I/O thread */
    live_wishes taken;
};

/* ---- the I/O thread ---- */
static void take_frame(void *context, enum api_kind kind, struct str frame)
{
    live_core_frame(&((struct churn *)context)->core, kind, frame);
}

/* Applies the queued effects. False: there were none. */
static bool do_wishes(struct churn *churn)
{
    pthread_mutex_lock(&churn->lock);
    live_wishes wishes = churn->wishes;
    churn->wishes = churn->taken;
    vec_clear(&churn->wishes);
    pthread_mutex_unlock(&churn->lock);
    churn->taken = wishes;
    vec_for(&wishes, wish)
        live_core_do(&churn->core, &churn->server, wish);
    return wishes.len > 0;
}

/* The next action: 0 none, 1 a step, -1 the end. */
static int what_next(struct churn *churn)
{
    pthread_mutex_lock(&churn->lock);
    bool goes_on = churn->server.events < churn->until;
    if (!churn->wishes.len && !churn->over &&
        (!goes_on || inbox_depth(churn->core.inbox) > MESSAGES_AHEAD_MAX)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LIVE_MS_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        atomic_store(&churn->rests, !goes_on);
        pthread_cond_timedwait(&churn->changed, &churn->lock, &until);
        goes_on = false;
    }
    if (churn->wishes.len || goes_on)
        atomic_store(&churn->rests, false);
    int next = churn->over ? -1 : goes_on;
    pthread_mutex_unlock(&churn->lock);
    return next;
}

static void *serve(void *context)
{
    struct churn *churn = context;
    for (int next; (next = what_next(churn)) >= 0;) {
        if (!do_wishes(churn) && next)
            live_server_step(&churn->server);
    }
    return NULL;
}

/* ---- the core thread ---- */
static void emit(void *context, const struct effect *effect)
{
    struct churn *churn = context;
    if (!effect->ticket) {
        churn->events_for_people++;
        return;
    }
    pthread_mutex_lock(&churn->lock);
    live_wish(&churn->wishes, effect);
    atomic_store(&churn->rests, false);
    pthread_cond_signal(&churn->changed);
    pthread_mutex_unlock(&churn->lock);
}

static bool is_quiet(const struct churn *churn)
{
    return atomic_load(&churn->rests) && !inbox_depth(churn->core.inbox) &&
           !engine_bindings(&churn->core.engine) && !churn->core.engine.writes.by_ticket.len;
}

/* Runs until the server has sent `events` more events and no work is pending. */
static void go_on(struct churn *churn, uint64_t events)
{
    pthread_mutex_lock(&churn->lock);
    churn->until = churn->server.events + events;
    atomic_store(&churn->rests, false);
    pthread_cond_signal(&churn->changed);
    pthread_mutex_unlock(&churn->lock);
    for (int quiet = 0; quiet < 20;) {
        bool did = live_core_round(&churn->core);
        quiet = !did && is_quiet(churn) ? quiet + 1 : 0;
        if (!did)
            nanosleep(&(struct timespec){ 0, LIVE_MS_NS / 10 }, NULL);
    }
}

/* ---- memory ---- */
/* For builds with a sanitizer, whose malloc mallinfo2() does not measure. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

struct memory {
    size_t in_use, free, resident; /* bytes; free: held by malloc and unused */
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

static struct memory show(const struct churn *churn, const char *when)
{
    if (churn->trims)
        malloc_trim(0);
    struct memory memory = memory_now();
    printf("%-12s %10zu %10zu %10zu %8u %8zu %8zu %8llu %8llu\n", when, memory.in_use / KIB,
           memory.free / KIB, memory.resident / KIB, churn->core.cluster.live_nodes,
           churn->core.cluster.pods.len, class_cache_len(churn->core.engine.classes),
           (unsigned long long)churn->server.events, (unsigned long long)churn->core.decisions);
    fflush(stdout);
    return memory;
}

static double growth(size_t before, size_t after)
{
    return before ? ((double)after / (double)before - 1) * 100 : 0;
}

/* ---- the run ---- */
static void begin(struct churn *churn)
{
    pthread_mutex_init(&churn->lock, NULL);
    pthread_cond_init(&churn->changed, NULL);
    churn->core.message_ns = LIVE_MS_NS;
    live_core_init(&churn->core, &(struct engine_host){ .emit = emit, .context = churn });
    churn->server.send_event = take_frame;
    churn->server.context = churn;
    live_server_init(&churn->server);
}

static void end(struct churn *churn)
{
    live_core_release(&churn->core);
    vec_release(&churn->wishes);
    vec_release(&churn->taken);
    live_server_release(&churn->server);
    pthread_mutex_destroy(&churn->lock);
    pthread_cond_destroy(&churn->changed);
}

static void *list_all(void *context)
{
    struct churn *churn = context;
    live_core_list(&churn->core, &churn->server, KIND_NODE);
    return NULL;
}

static void *list_pods(void *context)
{
    struct churn *churn = context;
    live_core_list(&churn->core, &churn->server, KIND_POD);
    return NULL;
}

/* Lists are read on their own thread while the core takes messages, as at the start of a scheduler. */
static struct memory list(struct churn *churn, const char *when, void *(*lists)(void *context))
{
    pthread_t thread;
    pthread_create(&thread, NULL, lists, churn);
    while (!inbox_depth(churn->core.inbox))
        nanosleep(&(struct timespec){ 0, LIVE_MS_NS }, NULL);
    for (int idle = 0; idle < 20; idle = live_core_round(&churn->core) ? 0 : idle + 1)
        nanosleep(&(struct timespec){ 0, LIVE_MS_NS }, NULL);
    pthread_join(thread, NULL);
    live_core_round(&churn->core);
    return show(churn, when);
}

struct plan {
    uint64_t events;
    uint64_t warm;
    bool check;
};

static int check_growth(const struct plan *plan, struct memory before, struct memory after)
{
    double in_use = growth(before.in_use, after.in_use), resident = growth(before.resident, after.resident);
    printf("growth: %+.2f%% in use, %+.2f%% resident\n", in_use, resident);
    /* A sanitizer's quarantine is not counted. */
    bool sound = in_use < IN_USE_GROWTH_MAX &&
                 (resident < RESIDENT_GROWTH_MAX || __sanitizer_get_current_allocated_bytes);
    if (plan->check && !sound)
        fprintf(stderr, "live_churn: memory grows\n");
    return plan->check && !sound;
}

static int run_plan(struct churn *churn, const struct plan *plan)
{
    begin(churn);
    churn->trims = plan->check;
    printf("%-12s %10s %10s %10s %8s %8s %8s %8s %8s\n", "KiB", "in use", "free", "resident", "nodes", "pods",
           "tables", "events", "decided");
    struct memory fixed = show(churn, "engine"), nodes = list(churn, "nodes listed", list_all),
                  pods = list(churn, "pods listed", list_pods);
    uint32_t pod_count = MAX(churn->server.pods, 1u);
    printf("per node %zu bytes, per pod %zu bytes\n",
           (nodes.in_use - fixed.in_use) / MAX(churn->server.nodes, 1u),
           (pods.in_use - nodes.in_use) / pod_count);
    pthread_create(&churn->thread, NULL, serve, churn);
    go_on(churn, plan->warm);
    struct memory warm = show(churn, "warm");
    for (int part = 0; part < 4; part++) {
        go_on(churn, plan->events / 4);
        show(churn, "...");
    }
    struct memory after = memory_now();
    pthread_mutex_lock(&churn->lock);
    churn->over = true;
    pthread_cond_signal(&churn->changed);
    pthread_mutex_unlock(&churn->lock);
    pthread_join(churn->thread, NULL);
    return check_growth(plan, warm, after);
}

int main(int argc, char **argv)
{
    static struct churn churn = { .server = { .nodes = 200, .pods = 1000, .images = 10 } };
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
            churn.server.nodes = (uint32_t)MAX(value, 1u);
            break;
        case 'p':
            churn.server.pods = (uint32_t)MAX(value, 1u);
            break;
        case 'i':
            churn.server.images = (uint32_t)value;
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
    int code = run_plan(&churn, &plan);
    end(&churn);
    return code;
}
