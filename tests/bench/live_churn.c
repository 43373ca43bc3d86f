/* live_churn.c: does the memory of a live scheduler stay the same while its cluster goes on?
 *
 *     I/O thread: live_server ──bytes──▶ wire ──letters──▶ inbox ──▶ core thread: mirror ──▶ engine ──▶ effects
 *                      ▲                                                                                 │
 *                      └───────────────────────────── binds, patches, deletions ◀────────────────────────┘
 *
 * The parts between the bytes and the decisions are those of `berth scheduler`, on two threads as there. Memory is
 * looked at when all is quiet, and when as many pods and nodes are there as before. Its time is virtual: a millisecond
 * for each letter.
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
#include "bench/live_server.h"
#include "client/mirror.h"
#include "client/wire.h"
#include "engine/class_cache.h"
#include "plugins/registry.h"

/* Per cent. As many pods of other classes take a little more or less; ten bytes lost with each event are more. */
enum { IN_USE_GROWTH_MAX = 4, RESIDENT_GROWTH_MAX = 10 };
enum { LETTERS_AHEAD_MAX = 256, CHUNK_BYTES = 16 << 10, KIB = 1024 };
#define MS_NS ((int64_t)1000000)

/* An effect on its way to the server. */
struct wish {
    enum effect_kind kind;
    uint64_t ticket;
    char uid[64], node[128];
};
typedef VEC(struct wish) wish_vec;

struct journey {
    bool
        trims; /* holes that malloc could give back depend on how the two threads meet: not in a small check */
    struct live_server server;
    struct inbox *inbox;
    struct scheduler_config config;
    struct arena arena;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    int64_t now_ns;
    uint64_t letters, decisions, events_for_people;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    wish_vec wishes; /* under the lock */
    bool over;       /* likewise */
    uint64_t until;  /* likewise: the server goes on to so many events */
    atomic_bool rests;
    /* the I/O thread's */
    struct wire_watch watches[KIND_COUNT];
    struct arena scratch;
    wish_vec taken;
};

/* ---- the I/O thread ---- */
static void post(struct journey *journey, enum letter_kind letter_kind, enum api_kind kind,
                 struct live_object *object)
{
    struct letter *letter = letter_new(letter_kind);
    letter->api_kind = kind;
    letter->object = object;
    inbox_post(journey->inbox, letter);
}

_Noreturn static void die(const struct error *err)
{
    fprintf(stderr, "live_churn: %s\n", err->text);
    exit(1);
}

/* As on_chunk() of the reflector. */
static void take_frame(void *context, enum api_kind kind, struct str frame)
{
    struct journey *journey = context;
    struct wire_event event;
    struct error err = { 0 };
    int r;
    wire_watch_feed(&journey->watches[kind], frame);
    while ((r = wire_watch_next(&journey->watches[kind], &journey->scratch, &event, &err)) > 0) {
        if (!event.object)
            die(&err);
        post(journey, event.type == WATCH_DELETED ? LETTER_REMOVE : LETTER_SET, kind, event.object);
    }
    if (r < 0)
        die(&err);
}

/* As page_done() of the reflector; the answer comes in pieces. */
static void take_list(struct journey *journey, enum api_kind kind)
{
    struct error err = { 0 };
    struct live_object *object;
    post(journey, LETTER_LIST_BEGIN, kind, NULL);
    for (uint32_t number = 0;; number++) {
        struct wire_page page;
        struct strbuf whole = live_server_page(&journey->server, kind, number), body = { 0 };
        if (!whole.len)
            break;
        for (size_t at = 0; at < whole.len; at += CHUNK_BYTES)
            strbuf_add(&body, whole.text + at, MIN((size_t)CHUNK_BYTES, whole.len - at));
        strbuf_release(&whole);
        if (wire_page_init(&page, kind, &body, &err) < 0)
            die(&err);
        for (int r; (r = wire_page_next(&page, &journey->scratch, &object, &err)) != 0;)
            r > 0 ? post(journey, LETTER_SET, kind, object) : die(&err);
        wire_page_release(&page);
    }
    post(journey, LETTER_LIST_END, kind, NULL);
}

static void answer(struct journey *journey, uint64_t ticket)
{
    struct letter *letter = letter_new(LETTER_ANSWER);
    letter->ticket = ticket;
    letter->answer.kind = ANSWER_DONE;
    inbox_post(journey->inbox, letter);
}

/* True: there was something. */
static bool do_wishes(struct journey *journey)
{
    pthread_mutex_lock(&journey->lock);
    wish_vec wishes = journey->wishes;
    journey->wishes = journey->taken;
    vec_clear(&journey->wishes);
    pthread_mutex_unlock(&journey->lock);
    journey->taken = wishes;
    vec_for(&wishes, wish) {
        live_server_write(&journey->server, wish->kind, str_from(wish->uid), str_from(wish->node));
        answer(journey, wish->ticket);
    }
    return wishes.len > 0;
}

/* What there is to do now: 0 nothing, 1 a step, -1 the end. */
static int what_next(struct journey *journey)
{
    pthread_mutex_lock(&journey->lock);
    bool goes_on = journey->server.events < journey->until;
    if (!journey->wishes.len && !journey->over &&
        (!goes_on || inbox_depth(journey->inbox) > LETTERS_AHEAD_MAX)) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += MS_NS;
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
static void copy(char *to, size_t size, struct str text)
{
    snprintf(to, size, STR_FMT, STR_ARG(text));
}

static void emit(void *context, const struct effect *effect)
{
    struct journey *journey = context;
    if (!effect->ticket) {
        journey->events_for_people++;
        return;
    }
    struct wish wish = { .kind = effect->kind, .ticket = effect->ticket };
    copy(wish.uid, sizeof(wish.uid), effect->uid);
    copy(wish.node, sizeof(wish.node), effect->node);
    pthread_mutex_lock(&journey->lock);
    *vec_push(&journey->wishes) = wish;
    atomic_store(&journey->rests, false);
    pthread_cond_signal(&journey->changed);
    pthread_mutex_unlock(&journey->lock);
}

static void read_letters(struct journey *journey, struct letter *letter)
{
    while (letter) {
        struct letter *next = letter->next;
        journey->now_ns += MS_NS;
        journey->letters++;
        if (letter->kind == LETTER_ANSWER)
            engine_answer(&journey->engine, letter->ticket, &letter->answer, journey->now_ns);
        else
            mirror_apply(&journey->mirror, letter, journey->now_ns);
        letter_free(letter);
        letter = next;
    }
}

/* One round of the core; false: there was nothing to do. */
static bool core_round(struct journey *journey)
{
    struct decision decision;
    bool did = false;
    struct letter *letters = inbox_take(journey->inbox, 0);
    if (letters)
        read_letters(journey, letters);
    engine_tick(&journey->engine, journey->now_ns);
    for (int i = 0; i < 64 && engine_step(&journey->engine, journey->now_ns, &decision); i++, did = true)
        journey->decisions++;
    return did || letters;
}

static bool is_quiet(const struct journey *journey)
{
    return atomic_load(&journey->rests) && !inbox_depth(journey->inbox) &&
           !engine_bindings(&journey->engine) && !journey->engine.writes.by_ticket.len;
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
        bool did = core_round(journey);
        quiet = !did && is_quiet(journey) ? quiet + 1 : 0;
        if (!did)
            nanosleep(&(struct timespec){ 0, MS_NS / 10 }, NULL);
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
           memory.free / KIB, memory.resident / KIB, journey->cluster.live_nodes, journey->cluster.pods.len,
           class_cache_len(journey->engine.classes), (unsigned long long)journey->server.events,
           (unsigned long long)journey->decisions);
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
    struct error err;
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &journey->arena);
    pthread_mutex_init(&journey->lock, NULL);
    pthread_cond_init(&journey->changed, NULL);
    journey->inbox = inbox_new();
    journey->now_ns = INT64_C(1767225600) * 1000 * MS_NS;
    if (config_default(&(struct config_env){ .catalog = &catalog }, &journey->arena, &journey->config, &err) <
        0)
        die(&err);
    cluster_init(&journey->cluster);
    const struct engine_options options = { .config = &journey->config,
                                            .registry = &builtin_plugins,
                                            .seed = 1,
                                            .now_ns = journey->now_ns,
                                            .slowest = PATH_INDEX,
                                            .host = { .emit = emit, .context = journey } };
    if (engine_init(&journey->engine, &journey->cluster, &options, &err) < 0)
        die(&err);
    mirror_init(&journey->mirror, &journey->engine);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        wire_watch_init(&journey->watches[kind], (enum api_kind)kind);
    journey->server.tell = take_frame;
    journey->server.context = journey;
    live_server_init(&journey->server);
}

static void end(struct journey *journey)
{
    engine_release(&journey->engine);
    mirror_release(&journey->mirror);
    cluster_release(&journey->cluster);
    config_release(&journey->config);
    inbox_free(journey->inbox);
    for (int kind = 0; kind < KIND_COUNT; kind++)
        wire_watch_release(&journey->watches[kind]);
    vec_release(&journey->wishes);
    vec_release(&journey->taken);
    arena_release(&journey->scratch);
    arena_release(&journey->arena);
    live_server_release(&journey->server);
    pthread_mutex_destroy(&journey->lock);
    pthread_cond_destroy(&journey->changed);
}

static void *list_all(void *context)
{
    take_list(context, KIND_NODE);
    return NULL;
}

static void *list_pods(void *context)
{
    take_list(context, KIND_POD);
    return NULL;
}

/* Lists are read by a thread of their own, while the core takes what comes: as it is when a scheduler starts. */
static struct memory list(struct journey *journey, const char *when, void *(*lists)(void *context))
{
    pthread_t thread;
    pthread_create(&thread, NULL, lists, journey);
    while (!inbox_depth(journey->inbox))
        nanosleep(&(struct timespec){ 0, MS_NS }, NULL);
    for (int idle = 0; idle < 20; idle = core_round(journey) ? 0 : idle + 1)
        nanosleep(&(struct timespec){ 0, MS_NS }, NULL);
    pthread_join(thread, NULL);
    core_round(journey);
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
