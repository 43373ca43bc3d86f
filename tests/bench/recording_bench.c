/* recording_bench.c: two schedulers that do the same work in turn, one of them with recording.
 *
 *     server ──bytes──▶ live_core               ──▶ effects ──▶ server             plain
 *     server ──bytes──▶ live_core ──▶ journal   ──▶ effects ──▶ server             recorded
 *                                        └──▶ its thread ──▶ files
 *
 * Both process the same events of a cluster, a few dozen pods at a time, each going first equally often. Everything but
 * the writing of files is on one thread, whose CPU time is that of a scheduler's I/O and core threads: reading bytes,
 * deciding and recording. The rest of the process's CPU time is the journal's thread. The result is the median of the
 * differences between the twins, so that single disturbances do not count.
 *
 * Each pod causes more than its binding: five versions of it, half a node heartbeat and an answer are read. So there is
 * a figure per KiB of recording as well. */
#include "bench/recording_bench.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "bench/live_core.h"
#include "bench/measure.h"

enum { PODS = 2000, ROUND_PODS = 64, BATCH_PODS = 4, TRIALS = 5, ROUNDS_MIN = 5, AGAIN_TIMES = 3 };
#define MESSAGE_NS (LIVE_MS_NS / 10) /* a thousand pods in a second */

/* Frames of the server that were not read yet. */
struct frame {
    enum api_kind kind;
    size_t at, len; /* in `bytes` */
};

struct twin {
    struct live_server server;
    struct live_core core;
    live_wishes wishes;
    VEC(struct frame) frames;
    struct strbuf bytes;
    int64_t spent_ns; /* of this thread, without the server */
};

/* The cost of recording per pod, of one trial. */
struct cost {
    double plain_ns;   /* total of the plain twin */
    double threads_ns; /* additional cost on the I/O and core threads */
    double journal_ns; /* on the journal's thread */
    double again_ns;   /* the same, as recorded_bench.c measures it */
    double spread_ns;  /* between the quartiles of threads_ns */
    double bytes, entries;
    size_t rounds;
    bool ended; /* the recording ended early, or the twins differ */
};

/* ---- a recording ---- */
struct journal *bench_recording_open(struct bench_recording *made)
{
    struct error err;
    const char *parent = getenv("TMPDIR");
    *made = (struct bench_recording){ 0 };
    strbuf_printf(&made->path, "%s/berth-bench-XXXXXX", parent ? parent : "/tmp");
    if (!mkdtemp(made->path.text))
        live_die(&(struct error){ .text = "no directory for a recording" });
    if (journal_open(&(struct journal_options){ .dir = made->path.text }, &made->journal, &err) < 0)
        live_die(&err);
    return made->journal;
}

void bench_recording_close(struct bench_recording *made)
{
    journal_close(made->journal);
    made->journal = NULL;
}

uint64_t bench_recording_remove(struct bench_recording *made)
{
    uint64_t bytes = 0;
    DIR *dir = opendir(made->path.text);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat stat;
        if (fstatat(dirfd(dir), entry->d_name, &stat, 0) == 0 && S_ISREG(stat.st_mode))
            bytes += (uint64_t)stat.st_size;
        unlinkat(dirfd(dir), entry->d_name, 0); /* "." and ".." stay */
    }
    if (dir)
        closedir(dir);
    rmdir(made->path.text);
    strbuf_release(&made->path);
    return bytes;
}

double others_ns(void)
{
    return (double)(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID));
}

/* ---- a twin ---- */
static void keep_frame(void *context, enum api_kind kind, struct str frame)
{
    struct twin *twin = context;
    *vec_push(&twin->frames) = (struct frame){ kind, twin->bytes.len, frame.len };
    strbuf_str(&twin->bytes, frame);
}

static void emit(void *context, const struct effect *effect)
{
    if (effect->ticket)
        live_wish(&((struct twin *)context)->wishes, effect);
}

static void read_frames(struct twin *twin)
{
    int64_t begun_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    vec_for(&twin->frames, frame)
        live_core_frame(&twin->core, frame->kind,
                        (struct str){ twin->bytes.text + frame->at, (uint32_t)frame->len });
    while (live_core_round(&twin->core))
        ;
    twin->spent_ns += cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns;
    vec_clear(&twin->frames);
    strbuf_clear(&twin->bytes);
}

/* Runs until no work is pending. */
static void settle(struct twin *twin)
{
    read_frames(twin);
    while (twin->wishes.len) {
        vec_for(&twin->wishes, wish)
            live_core_do(&twin->core, &twin->server, wish);
        vec_clear(&twin->wishes);
        read_frames(twin);
    }
}

static void twin_begin(struct twin *twin, uint32_t nodes, struct journal *journal)
{
    *twin =
        (struct twin){ .server = { .nodes = nodes, .pods = PODS, .images = 10, .send_event = keep_frame } };
    twin->server.context = twin;
    twin->core.journal = journal;
    twin->core.message_ns = MESSAGE_NS;
    live_core_init(&twin->core, &(struct engine_host){ .emit = emit, .context = twin });
    live_server_init(&twin->server);
    live_core_list(&twin->core, &twin->server, KIND_NODE);
    live_core_list(&twin->core, &twin->server, KIND_POD);
    settle(twin);
}

static void twin_end(struct twin *twin)
{
    live_core_release(&twin->core);
    live_server_release(&twin->server);
    vec_release(&twin->wishes);
    vec_release(&twin->frames);
    strbuf_release(&twin->bytes);
}

/* Returns the CPU time of this thread. */
static double twin_round(struct twin *twin)
{
    twin->spent_ns = 0;
    for (int i = 0; i < ROUND_PODS; i += BATCH_PODS) {
        for (int j = 0; j < BATCH_PODS; j++)
            live_server_step(&twin->server);
        settle(twin);
    }
    return (double)twin->spent_ns / ROUND_PODS;
}

/* ---- a trial ---- */
static void measure(struct twin twins[static 2], double seconds, struct cost *ret)
{
    VEC(double) plain = { 0 }, more = { 0 };
    const struct journal *journal = twins[1].core.journal;
    for (int i = 0; i < 4; i++) /* warms up caches and tables */
        twin_round(&twins[i % 2]);
    struct journal_stats before = journal_stats(journal);
    double others_before_ns = others_ns(), deadline = seconds_now() + seconds;
    for (size_t i = 0; i < ROUNDS_MIN || seconds_now() < deadline; i++) {
        double ns[2];
        for (size_t j = 0; j < 2; j++)
            ns[(i + j) % 2] = twin_round(&twins[(i + j) % 2]);
        *vec_push(&plain) = ns[0];
        *vec_push(&more) = ns[1] - ns[0];
    }
    struct journal_stats after = journal_stats(journal);
    double pods = (double)plain.len * ROUND_PODS;
    *ret = (struct cost){
        .plain_ns = quantile(plain.items, plain.len, 0.5),
        .threads_ns = quantile(more.items, more.len, 0.5),
        .spread_ns = quantile(more.items, more.len, 0.75) - quantile(more.items, more.len, 0.25),
        .journal_ns = (others_ns() - others_before_ns) / pods,
        .bytes = (double)(after.bytes - before.bytes) / pods,
        .entries = (double)(after.entries - before.entries) / pods,
        .rounds = plain.len,
        .ended = after.ended || twins[0].core.decisions != twins[1].core.decisions,
    };
    vec_release(&plain);
    vec_release(&more);
}

static void run_trial(uint32_t nodes, double seconds, struct cost *ret)
{
    static struct twin twins[2];
    struct bench_recording made;
    struct recorded_cost again;
    memory_for_daemon();
    twin_begin(&twins[0], nodes, NULL);
    twin_begin(&twins[1], nodes, bench_recording_open(&made));
    measure(twins, seconds, ret);
    twin_end(&twins[0]);
    twin_end(&twins[1]);
    bench_recording_close(&made);
    recorded_measure(made.path.text, AGAIN_TIMES, &again);
    ret->again_ns = again.threads_ns / (double)again.bytes * ret->bytes;
    bench_recording_remove(&made);
}

/* In its own process, with a fresh state. */
static bool try(uint32_t nodes, double seconds, struct cost *ret)
{
    int fds[2], status;
    if (pipe(fds) < 0)
        return false;
    pid_t child = fork();
    if (child == 0) {
        run_trial(nodes, seconds, ret);
        _exit(write(fds[1], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret) ? 0 : 1);
    }
    close(fds[1]);
    bool ok = child > 0 && read(fds[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
    close(fds[0]);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && ok && !ret->ended;
}

/* ---- printing ---- */
static void print_cost(const struct cost *cost)
{
    double all_ns = cost->threads_ns + cost->journal_ns;
    printf("%-16s %7zu %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %9.0f %9.1f %10.2f\n", "", cost->rounds,
           cost->plain_ns / 1e3, cost->threads_ns / 1e3, cost->spread_ns / 1e3, cost->again_ns / 1e3,
           cost->journal_ns / 1e3, all_ns / 1e3, cost->bytes, cost->entries, all_ns / cost->bytes);
    fflush(stdout);
}

int recording_bench(uint32_t nodes, double seconds)
{
    struct cost costs[TRIALS];
    double all_ns[TRIALS];
    printf("What recording costs: CPU time in us for each pod of a live scheduler on %u nodes, without the "
           "network.\n",
           nodes);
    printf("%-16s %7s %10s %10s %10s %10s %10s %10s %9s %9s %10s\n", "recording", "rounds", "without",
           "threads", "quartiles", "again", "journal", "all", "bytes", "entries", "ns/byte");
    for (int i = 0; i < TRIALS; i++) {
        if (!try(nodes, seconds / TRIALS, &costs[i])) {
            printf("%-16s failed\n", "recording");
            return 1;
        }
        print_cost(&costs[i]);
        all_ns[i] = costs[i].threads_ns + costs[i].journal_ns;
    }
    printf("the median of all is %.2f us for each pod\n", quantile(all_ns, TRIALS, 0.5) / 1e3);
    return 0;
}
