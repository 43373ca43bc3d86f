/* bench.c: decisions per second, by kind of pod and number of nodes.
 *
 *     bench [--nodes N[,N...]] [--workload NAME] [--pods classes|different] [--seconds S] [--minor N] [--load MB]
 *           [--file PATH] [--plugins 0|1] [--recording 0|1] [--recorded DIR]
 *
 * Each row runs in its own process, so that its peak memory is its own. It builds a cluster in memory and decides
 * pods in rounds: a thousand pods are added, decided one after another and placed, then removed together. Only
 * the decisions are timed, with the default configuration, all nodes scored, on one thread.
 *
 * `classes`: the pods of a kind are equal, as from one controller. `different`: each has its own requests and
 * label. `growth` compares a row with the one above it: how many times longer a decision takes. `x ref` is the rate
 * divided by kube-scheduler's (setting.h). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/load_bench.h"
#include "bench/measure.h"
#include "bench/plugin_bench.h"
#include "bench/recording_bench.h"
#include "bench/setting.h"
#include "input/input.h"
#include "plugins/registry.h"

enum { ROUND_PODS = 1000, DECISIONS_MIN = 20, SIZES_MAX = 8, RECORDING_ROWS = 15 };

static struct options {
    uint32_t nodes[SIZES_MAX], nodes_len;
    const char *workload, *pods, *file, *recorded;
    double seconds;
    int64_t minor; /* of the release; 0: the default */
    int64_t load_mb;
    bool has_load;
    int64_t plugins, recording; /* 1: only these rows; 0: not these; -1: with all others */
} options = { .plugins = -1,
              .recording = -1,
              .nodes = { 1000, 5000, 20000, 100000 },
              .nodes_len = 4,
              .seconds = 0.7,
              .load_mb = 100 };

static void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

/* ---- the engine ---- */
struct bench_engine {
    struct engine engine;
    struct scheduler_config config;
    struct arena arena;
};

static const char *const plugin_files[] = { PLUGIN_FILES, NULL };
static struct plugin_setup setup; /* of the next engine */

static int load_config(struct bench_engine *bench, const struct config_env *env, struct error *err)
{
    if (!setup.config)
        return config_default(env, &bench->arena, &bench->config, err);
    size_t len = strlen(setup.config);
    char *text = xcalloc(1, len + YYJSON_PADDING_SIZE + 1);
    memcpy(text, setup.config, len);
    return config_load_text("bench", text, len, env, &bench->arena, &bench->config, NULL, err);
}

static void engine_open(struct bench_engine *bench, struct cluster *cluster)
{
    struct error err;
    const struct registry *registry = setup.registry ? setup.registry : &builtin_plugins;
    *bench = (struct bench_engine){ 0 };
    struct plugin_catalog catalog = registry_catalog(registry, &bench->arena);
    features_default(&cluster->features, release_of(options.minor), 0);
    const struct config_env env = { .catalog = &catalog, .features = &cluster->features };
    if (load_config(bench, &env, &err) < 0)
        die(err.text);
    const struct engine_options engine_options = {
        .config = &bench->config,
        .registry = registry,
        .seed = 1,
        .percentage = { true, 100 },
        .slowest = PATH_INDEX,
    };
    if (engine_init(&bench->engine, cluster, &engine_options, &err) < 0)
        die(err.text);
}

static void engine_close(struct bench_engine *bench)
{
    engine_release(&bench->engine);
    config_release(&bench->config);
    arena_release(&bench->arena);
}

typedef VEC(struct pod_info *) info_vec;

static void enqueue(struct engine *engine, const struct pod *pod, info_vec *into)
{
    struct status gate;
    struct error err;
    struct pod_info *info = cluster_add_pod(engine->cluster, pod);
    if (engine_add_pod(engine, info, 0, &gate, &err) < 0)
        die(err.text);
    *vec_push(into) = info;
}

/* ---- one row ---- */
static void run_round(struct measure *measure, struct engine *engine, double deadline)
{
    struct decision decision;
    while (measure_step(measure, engine, &decision))
        if (measure->nanos.len >= DECISIONS_MIN && seconds_now() > deadline)
            return;
}

/* Some pods of each kind are decided first and stay, so that their classes stay, as with running replicas. They warm up
 * caches and tables, and are not counted. */
static void warm_up(struct bench_cluster *input, struct engine *engine, bool different)
{
    struct measure measure;
    info_vec stay = { 0 };
    for (uint32_t i = 0; i < 2 * input->kinds; i++)
        enqueue(engine, bench_pod(input, &input->arena, i, different), &stay);
    measure_begin(&measure, engine);
    run_round(&measure, engine, seconds_now() + 60);
    vec_release(&measure.nanos);
    vec_release(&stay);
}

static void run_row(const struct setting *setting, uint32_t nodes, bool different, struct figures *ret)
{
    struct bench_cluster input;
    struct bench_engine bench;
    struct measure measure;
    info_vec round = { 0 };
    bench_cluster_init(&input, setting, nodes);
    for (const char *const *text = setup.objects; text && *text; text++)
        bench_set_object(&input, *text);
    engine_open(&bench, &input.cluster);
    if (setting->samples) /* they are of the last minute */
        engine_set_wall_clock(&bench.engine, SAMPLED_SECONDS * NS_PER_SECOND);
    uint32_t pods = setting->pods_max ? MIN((uint32_t)ROUND_PODS, nodes / setting->pods_max) : ROUND_PODS;
    warm_up(&input, &bench.engine, different);
    measure_begin(&measure, &bench.engine);
    for (double deadline = seconds_now() + options.seconds; seconds_now() < deadline;) {
        for (uint32_t i = 0; i < pods; i++)
            enqueue(&bench.engine, bench_pod(&input, &input.pods_arena, i, different), &round);
        run_round(&measure, &bench.engine, deadline);
        vec_for(&round, pod)
            engine_remove_pod(&bench.engine, *pod, 0);
        vec_clear(&round);
        arena_reset(&input.pods_arena);
    }
    measure_end(&measure, &bench.engine, ret);
    engine_close(&bench);
    vec_release(&round);
    bench_cluster_release(&input);
}

/* ---- a file ---- */
/* Decides all pending pods of the input; victims of preemption leave at once and do not come back. Returns the
 * number of nodes. */
static uint32_t run_file(const char *path, struct figures *ret)
{
    struct input input;
    struct bench_engine bench;
    struct measure measure;
    struct decision decision;
    struct error err;
    info_vec pods = { 0 };
    size_t len;
    const struct input_options input_options = { .paths = &path, .paths_len = 1 };
    if (input_open(&input, &input_options, &err) < 0)
        die(err.text);
    engine_open(&bench, &input.cluster);
    struct pod **pending = input_pending(&input, &len);
    for (size_t i = 0; i < len; i++)
        enqueue(&bench.engine, pending[i], &pods);
    free(pending);
    measure_begin(&measure, &bench.engine);
    while (measure_step(&measure, &bench.engine, &decision)) {
        if (decision.victims_len)
            engine_preemption_done(&bench.engine, decision.pod, false, 0);
        for (uint32_t i = 0; i < decision.victims_len; i++)
            engine_remove_pod(&bench.engine, decision.victims[i], 0);
    }
    measure_end(&measure, &bench.engine, ret);
    uint32_t nodes = input.cluster.live_nodes;
    engine_close(&bench);
    vec_release(&pods);
    input_release(&input);
    return nodes;
}

/* ---- printing ---- */
static void print_title(void)
{
    printf("%-16s %-9s %7s %12s %9s %9s %8s %9s %17s %8s %8s %7s %7s\n", "workload", "pods", "nodes",
           "decisions/s", "p50 us", "p99 us", "peak MB", "B/decis.", "plain/scan/index", "groups", "repairs",
           "growth", "x ref");
}

static void print_row(const char *name, const char *pods, uint32_t nodes, const struct figures *row,
                      double growth, double reference)
{
    char shares[32], grown[16] = "", ratio[16] = "";
    snprintf(shares, sizeof(shares), "%.0f/%.0f/%.0f %%", row->shares[PATH_PLAIN] * 100,
             row->shares[PATH_SCAN] * 100, row->shares[PATH_INDEX] * 100);
    if (growth > 0)
        snprintf(grown, sizeof(grown), "%.2f", growth);
    if (reference > 0)
        snprintf(ratio, sizeof(ratio), "%.0f", row->rate / reference);
    printf("%-16s %-9s %7u %12.0f %9.2f %9.2f %8.0f %9.0f %17s %8.1f %8.2f %7s %7s%s\n", name, pods, nodes,
           row->rate, row->p50_us, row->p99_us, row->peak_mb, row->bytes, shares, row->groups, row->repairs,
           grown, ratio, row->unfit ? "  some without a node" : "");
    fflush(stdout);
}

/* Runs the row in a child. False: the child failed. */
static bool measure_row(const struct setting *setting, uint32_t nodes, bool different, struct figures *ret)
{
    int pipe_fds[2], status;
    if (pipe(pipe_fds) < 0)
        die("no pipe");
    pid_t child = fork();
    if (child < 0)
        die("no process");
    if (child == 0) {
        run_row(setting, nodes, different, ret);
        _exit(write(pipe_fds[1], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret) ? 0 : 1);
    }
    close(pipe_fds[1]);
    bool ok = read(pipe_fds[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
    close(pipe_fds[0]);
    return waitpid(child, &status, 0) == child && status == 0 && ok;
}

static bool measure_plugin(const struct plugin_setup *with, uint32_t nodes, struct figures *ret)
{
    setup = *with;
    bool ok = measure_row(&plugin_setting, nodes, false, ret);
    setup = (struct plugin_setup){ 0 };
    return ok;
}

static int measure_workload(const struct setting *setting, bool different)
{
    double before = 0;
    for (uint32_t i = 0; i < options.nodes_len; i++) {
        struct figures row;
        const char *pods = different ? "different" : "classes";
        if (!measure_row(setting, options.nodes[i], different, &row)) {
            printf("%-16s %-9s %7u failed\n", setting->name, pods, options.nodes[i]);
            return 1;
        }
        double reference = options.nodes[i] == REFERENCE_NODES ? setting->reference : 0;
        print_row(setting->name, pods, options.nodes[i], &row, before > 0 ? before / row.rate : 0, reference);
        before = row.rate;
    }
    return 0;
}

/* ---- the command line ---- */
static bool parse_sizes(struct str text)
{
    options.nodes_len = 0;
    while (text.len && options.nodes_len < SIZES_MAX) {
        ptrdiff_t end = str_find(text, ',');
        int64_t nodes;
        if (!str_to_int64(str_slice(text, 0, end < 0 ? text.len : (size_t)end), &nodes) || nodes < 1 ||
            nodes > 10000000)
            return false;
        options.nodes[options.nodes_len++] = (uint32_t)nodes;
        text = end < 0 ? (struct str){ 0 } : str_slice(text, (size_t)end + 1, text.len);
    }
    return options.nodes_len > 0;
}

static bool known_workload(const char *name)
{
    for (uint32_t i = 0; i < settings_len; i++)
        if (strcmp(settings[i].name, name) == 0)
            return true;
    return false;
}

static bool parse_option(const char *name, const char *value)
{
    if (strcmp(name, "--nodes") == 0)
        return parse_sizes(str_from(value));
    if (strcmp(name, "--workload") == 0) {
        options.workload = value;
        return known_workload(value);
    }
    if (strcmp(name, "--pods") == 0) {
        options.pods = value;
        return strcmp(value, "classes") == 0 || strcmp(value, "different") == 0;
    }
    if (strcmp(name, "--minor") == 0)
        return str_to_int64(str_from(value), &options.minor) && release_of(options.minor);
    if (strcmp(name, "--seconds") == 0) {
        char *end;
        options.seconds = strtod(value, &end);
        return *end == '\0' && options.seconds > 0;
    }
    if (strcmp(name, "--load") == 0) {
        options.has_load = str_to_int64(str_from(value), &options.load_mb) && options.load_mb > 0;
        return (options.has_load || options.load_mb == 0) && options.load_mb < 2000;
    }
    if (strcmp(name, "--plugins") == 0)
        return str_to_int64(str_from(value), &options.plugins) && (options.plugins & ~1) == 0;
    if (strcmp(name, "--recording") == 0)
        return str_to_int64(str_from(value), &options.recording) && (options.recording & ~1) == 0;
    if (strcmp(name, "--recorded") == 0) {
        options.recorded = value;
        return true;
    }
    if (strcmp(name, "--file") == 0) {
        options.file = value;
        return true;
    }
    return false;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench [--nodes N[,N...]] [--workload NAME] [--pods classes|different] [--seconds "
                    "S] [--minor N]\n"
                    "             [--load MB] [--file PATH] [--plugins 0|1] [--recording 0|1] [--recorded "
                    "DIR]\nworkloads:\n");
    for (uint32_t i = 0; i < settings_len; i++)
        fprintf(stderr, "  %-16s %s\n", settings[i].name, settings[i].doc);
    return 2;
}

/* All rows, or the selected ones. With a workload or a size of load, other rows are skipped; --load 0 skips the
 * load. */
static int measure_all(void)
{
    int failed = 0;
    if (options.plugins == 1)
        return plugin_bench(plugin_files, measure_plugin, options.nodes, options.nodes_len);
    if (options.recording == 1)
        return recording_bench(options.nodes[0], RECORDING_ROWS * options.seconds);
    if (!options.has_load || options.workload) {
        printf("All nodes scored, one thread. x ref: against kube-scheduler v1.36.4 (parallelism 16) "
               "measured on 2 cores at "
               "%d nodes.\n",
               REFERENCE_NODES);
        print_title();
        for (uint32_t i = 0; i < settings_len; i++) {
            if (options.workload && strcmp(options.workload, settings[i].name) != 0)
                continue;
            for (int different = 0; different < 2; different++)
                if (!options.pods || (strcmp(options.pods, "different") == 0) == different)
                    failed |= measure_workload(&settings[i], different);
        }
    }
    if (options.load_mb && (options.has_load || !options.workload))
        failed |= load_bench((unsigned)options.load_mb);
    if (options.plugins && !options.has_load && !options.workload)
        failed |= plugin_bench(plugin_files, measure_plugin, options.nodes, options.nodes_len);
    if (options.recording && !options.has_load && !options.workload)
        failed |= recording_bench(options.nodes[0], RECORDING_ROWS * options.seconds);
    return failed;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !parse_option(argv[i], argv[i + 1]))
            return usage();
    if (options.recorded)
        return recorded_bench(options.recorded);
    if (!options.file)
        return measure_all();
    struct figures row;
    uint32_t nodes = run_file(options.file, &row);
    print_title();
    print_row("(file)", "pending", nodes, &row, 0, 0);
    return 0;
}
