/* cmd_cluster.c: `berth cluster`: a development cluster in one process: the embedded API server on a thread of its own,
 * and the live scheduler on the main thread, a client like any other.
 *
 *     settings ──▶ API server (loop thread) ──▶ kubeconfig ──▶ scheduler_main() until SIGINT or SIGTERM ──▶ the end
 *                                                     └─────▶ --no-scheduler: waits for the signal ──────────┘
 *
 * Exit codes: 0 it was to end and did, 1 it could not go on, 2 options or files are wrong. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apiserver/apiserver.h"
#include "apiserver/bootstrap.h"
#include "apiserver/cluster_dump.h"
#include "apiserver/nodes_file.h"
#include "base/base64.h"
#include "base/memory.h"
#include "cmd/common.h"
#include "cmd/scheduler.h"
#include "controllers/controllers.h"
#include "net/file.h"

extern const struct command command_cluster;

enum { TOKEN_BYTES = 16, SCHEDULER_WORDS_MAX = 64, NODES_MAX = 100000, HISTORY_MAX = 1000000 };

struct cluster_settings {
    const char *kubeconfig, *address, *data, *nodes_file, *dump;
    int64_t port, nodes, history;
    bool no_controllers, no_scheduler;
};

static const struct cluster_settings defaults = { .kubeconfig = "berth.kubeconfig",
                                                  .address = "127.0.0.1",
                                                  .nodes = -1 };

static const struct option_row rows[] = {
    { 0, "kubeconfig", "FILE", OPTION_TEXT, offsetof(struct cluster_settings, kubeconfig),
      "Where to write the kubeconfig with the address, the certificate and the token of the cluster "
      "(default berth.kubeconfig)." },
    { 0, "nodes", "N", OPTION_NUMBER, offsetof(struct cluster_settings, nodes),
      "How many fake nodes it has, each with 16 CPUs, 64 GiB of memory and room for 110 pods, in three zones "
      "(default 3, or none with --nodes-file or --replay-dump).",
      0, NODES_MAX },
    { 0, "nodes-file", "FILE", OPTION_TEXT, offsetof(struct cluster_settings, nodes_file),
      "Make the nodes of this file: manifests of Nodes, each with a count and zones, and of the "
      "ResourceSlices, "
      "DeviceClasses and CSINodes that belong to them. docs/CLUSTER.md describes it; examples/nodes.yaml is "
      "one." },
    { 0, "replay-dump", "FILE", OPTION_TEXT, offsetof(struct cluster_settings, dump),
      "Begin with the objects of another cluster, as `kubectl get -o yaml` or `-o json` writes them: nodes, "
      "pods where "
      "they run, workloads, volumes. A file, a folder, or - for standard input." },
    { 0, "port", "PORT", OPTION_NUMBER, offsetof(struct cluster_settings, port),
      "Where the API server listens; 0 takes a free port (default).", 0, UINT16_MAX },
    { 0, "bind-address", "IP", OPTION_TEXT, offsetof(struct cluster_settings, address),
      "On which address (default 127.0.0.1). Another one lets other machines in that have the token." },
    { 0, "data", "FILE", OPTION_TEXT, offsetof(struct cluster_settings, data),
      "Keep the objects in this database, so that they are there after a restart. Without it they are in "
      "memory." },
    { 0, "no-controllers", NULL, OPTION_FLAG, offsetof(struct cluster_settings, no_controllers),
      "The API server and the scheduler alone: Deployments make no pods, and bound pods do not run. For your "
      "own controllers." },
    { 0, "no-scheduler", NULL, OPTION_FLAG, offsetof(struct cluster_settings, no_scheduler),
      "Without the scheduler: pods wait until a scheduler of your own binds them, such as berth scheduler "
      "--kubeconfig FILE." },
    { 0, "history", "N", OPTION_NUMBER, offsetof(struct cluster_settings, history),
      "How many changes are kept for watches (default 20000). A watch from an earlier one gets 410 Gone, and "
      "the client has to list again.",
      1, HISTORY_MAX },
    { 0 },
};

struct dev_cluster {
    const struct cluster_settings *settings;
    struct loop *loop;
    struct apiserver *server;
    struct controllers *controllers;
    char token[2 * TOKEN_BYTES + 1];
    char cert_dir[PATH_MAX];
    char kubeconfig[PATH_MAX]; /* absolute */
    struct nodes_file *nodes_file;
    struct cluster_dump *dump;
    size_t nodes; /* that it has */
    struct error err;
    int result;
};

/* ---- credentials ---- */
static int make_token(struct dev_cluster *cluster, struct error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return error_set(err, -EIO, "no random numbers for the token");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(cluster->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* The token beside a database; the first start makes it. */
static int keep_token(struct dev_cluster *cluster, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf kept = { .secret = true };
    char path[PATH_MAX + 32];
    snprintf(path, sizeof(path), "%s/token", cluster->cert_dir);
    int r = file_read(path, sizeof(cluster->token) - 1, &kept, err);
    if (r == -ENOENT) {
        r = make_token(cluster, err);
        return r < 0 ? r : file_create(path, str_from(cluster->token), 0600, err);
    }
    if (r == 0 &&
        (kept.len != sizeof(cluster->token) - 1 || strspn(kept.text, "0123456789abcdef") != kept.len))
        r = error_set(err, -EINVAL, "%s: expected the token of the cluster; remove the file to get a new one",
                      path);
    if (r == 0)
        memcpy(cluster->token, kept.text, kept.len);
    return r;
}

/* In memory, certificate and token go with the process; beside a database they stay, so that the kubeconfig stays
 * good. */
static int make_cert_dir(struct dev_cluster *cluster, struct error *err)
{
    if (cluster->settings->data)
        snprintf(cluster->cert_dir, sizeof(cluster->cert_dir), "%s.certs", cluster->settings->data);
    else
        snprintf(cluster->cert_dir, sizeof(cluster->cert_dir), "/tmp/berth-cluster-XXXXXX");
    bool is_made = cluster->settings->data ? mkdir(cluster->cert_dir, 0700) == 0 || errno == EEXIST
                                           : mkdtemp(cluster->cert_dir) != NULL;
    return is_made ? 0 : error_set(err, -errno, "%s: %s", cluster->cert_dir, strerror(errno));
}

static void remove_cert_dir(const struct dev_cluster *cluster)
{
    char path[PATH_MAX + 32];
    if (cluster->settings->data || !*cluster->cert_dir)
        return;
    snprintf(path, sizeof(path), "%s/apiserver.crt", cluster->cert_dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/apiserver.key", cluster->cert_dir);
    unlink(path);
    rmdir(cluster->cert_dir);
}

static int read_certificate(const struct dev_cluster *cluster, struct strbuf *ret, struct error *err)
{
    char path[PATH_MAX + 32], buf[4096];
    snprintf(path, sizeof(path), "%s/apiserver.crt", cluster->cert_dir);
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set(err, -errno, "%s: %s", path, strerror(errno));
    size_t len;
    while ((len = fread(buf, 1, sizeof(buf), file)) > 0)
        strbuf_add(ret, buf, len);
    fclose(file);
    return 0;
}

static int write_kubeconfig(struct dev_cluster *cluster, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf pem = { 0 }, text = { .secret = true };
    const char *address = cluster->settings->address;
    bool is_any = strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0;
    int r = read_certificate(cluster, &pem, err);
    if (r < 0)
        return r;
    strbuf_puts(&text,
                "apiVersion: v1\nkind: Config\nclusters:\n- name: berth\n  cluster:\n    server: https://");
    strbuf_printf(&text, strchr(address, ':') && !is_any ? "[%s]:%u\n" : "%s:%u\n",
                  is_any ? "127.0.0.1" : address, apiserver_port(cluster->server));
    strbuf_puts(&text, "    certificate-authority-data: ");
    base64_encode(&text, strbuf_slice(&pem));
    strbuf_printf(
        &text,
        "\nusers:\n- name: berth\n  user:\n    token: %s\ncontexts:\n- name: berth\n  context:\n    cluster: "
        "berth\n    user: berth\ncurrent-context: berth\n",
        cluster->token);
    r = file_write(cluster->settings->kubeconfig, strbuf_slice(&text), 0600, err);
    if (r == 0 && !realpath(cluster->settings->kubeconfig, cluster->kubeconfig))
        r = error_set(err, -errno, "%s: %s", cluster->settings->kubeconfig, strerror(errno));
    return r;
}

/* ---- the parts ---- */
static size_t node_count(const struct cluster_settings *settings)
{
    if (settings->nodes >= 0)
        return (size_t)settings->nodes;
    return settings->nodes_file || settings->dump ? 0 : 3;
}

/* Before anything runs, so that a mistake in a file is all that is said. */
static int read_files(struct dev_cluster *cluster, struct error *err)
{
    const struct cluster_settings *settings = cluster->settings;
    int r = settings->nodes_file ? nodes_file_read(settings->nodes_file, &cluster->nodes_file, err) : 0;
    return r == 0 && settings->dump ? cluster_dump_read(settings->dump, &cluster->dump, err) : r;
}

/* On the loop's thread. */
static void fill(void *context)
{
    struct dev_cluster *cluster = context;
    struct registry *registry = apiserver_registry(cluster->server);
    /* First, so that namespaces and others that every cluster has keep their uids. */
    if (cluster->dump)
        cluster->result = cluster_dump_create(cluster->dump, registry, &cluster->err);
    if (cluster->result == 0)
        cluster->result = bootstrap_objects(registry, apiserver_port(cluster->server), &cluster->err);
    if (cluster->result == 0 && cluster->nodes_file)
        cluster->result = nodes_file_create(cluster->nodes_file, registry, &cluster->err);
    if (cluster->result == 0)
        cluster->result = bootstrap_nodes(registry, node_count(cluster->settings), &cluster->err);
    cluster->nodes = store_count(registry_store(registry),
                                 &(struct store_range){ .kind = resource_named("", "nodes")->storage });
    if (cluster->result == 0 && !cluster->settings->no_controllers)
        cluster->controllers =
            controllers_new(&(struct controllers_options){ .registry = registry, .loop = cluster->loop });
}

/* Likewise. */
static void end_controllers(void *context)
{
    struct dev_cluster *cluster = context;
    controllers_free(cluster->controllers);
    cluster->controllers = NULL;
}

static int start(struct dev_cluster *cluster, struct error *err)
{
    uint64_t seed;
    int r = read_files(cluster, err);
    if (r == 0)
        r = make_cert_dir(cluster, err);
    if (r == 0)
        r = cluster->settings->data ? keep_token(cluster, err) : make_token(cluster, err);
    if (r == 0)
        r = loop_new("apiserver", &cluster->loop, err);
    if (r < 0)
        return r;
    if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
        seed = (uint64_t)monotonic_ns();
    r = apiserver_new(&(struct apiserver_options){ .loop = cluster->loop,
                                                   .address = cluster->settings->address,
                                                   .port = (uint16_t)cluster->settings->port,
                                                   .cert_dir = cluster->cert_dir,
                                                   .data = cluster->settings->data,
                                                   .token = str_from(cluster->token),
                                                   .history_max = (size_t)cluster->settings->history,
                                                   .seed = seed },
                      &cluster->server, err);
    if (r < 0)
        return r;
    loop_run_wait(cluster->loop, fill, cluster);
    if (cluster->result < 0) {
        *err = cluster->err;
        return cluster->result;
    }
    r = write_kubeconfig(cluster, err);
    return r < 0 ? r : apiserver_start(cluster->server, err);
}

static bool have_config(const struct texts *words)
{
    vec_for(words, word)
        if (strcmp(*word, "--config") == 0 || strncmp(*word, "--config=", 9) == 0)
            return true;
    return false;
}

/* With a configuration file, flags about the connection do not count, but this is the cluster that is meant: see
 * --legacy-flags. */
static int run_scheduler(const struct dev_cluster *cluster, const struct texts *words)
{
    char kubeconfig[PATH_MAX + 16];
    char *argv[SCHEDULER_WORDS_MAX] = { "scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0" };
    static char *const alone[] = { "--kube-api-content-type=application/json", "--kube-api-qps=5000",
                                   "--kube-api-burst=10000" };
    int argc = 4;
    snprintf(kubeconfig, sizeof(kubeconfig), "--kubeconfig=%s", cluster->kubeconfig);
    if (have_config(words))
        argv[argc++] = "--legacy-flags";
    for (size_t i = 0; i < ARRAY_SIZE(alone) && !have_config(words); i++)
        argv[argc++] = alone[i];
    vec_for(words, word)
        if (argc < SCHEDULER_WORDS_MAX - 1)
            argv[argc++] = (char *)*word;
    return scheduler_main(argc, argv);
}

/* Returns the exit code. */
static int await_end(const sigset_t *signals)
{
    int number;
    do
        number = sigwaitinfo(signals, NULL);
    while (number != SIGTERM && number != SIGINT);
    return EXIT_DONE;
}

static int run(void *given, const struct texts *words)
{
    struct dev_cluster cluster = { .settings = given };
    struct error err = { "" };
    sigset_t signals;
    if (words->len && words->items[0][0] != '-')
        return usage_error(&command_cluster,
                           "cluster has no part \"%s\"; it has fail, recover and slow, and flags of the "
                           "scheduler stand behind --",
                           words->items[0]);
    if (cluster.settings->no_scheduler && words->len > 0)
        return usage_error(&command_cluster, "with --no-scheduler there is no scheduler for '%s'",
                           words->items[0]);
    memory_for_daemon();
    /* All threads leave them to the scheduler's loop. */
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    int code = EXIT_INPUT;
    if (start(&cluster, &err) < 0) {
        fail(EXIT_INPUT, &err);
    } else {
        printf("berth cluster: a development cluster with %zu nodes is ready: export KUBECONFIG=%s\n",
               cluster.nodes, cluster.kubeconfig);
        fflush(stdout);
        code = cluster.settings->no_scheduler ? await_end(&signals) : run_scheduler(&cluster, words);
    }
    if (cluster.controllers)
        loop_run_wait(cluster.loop, end_controllers, &cluster);
    apiserver_free(cluster.server);
    loop_free(cluster.loop);
    remove_cert_dir(&cluster);
    nodes_file_free(cluster.nodes_file);
    cluster_dump_free(cluster.dump);
    return code;
}

const struct command command_cluster = {
    .name = "cluster",
    .summary = "Starts a development cluster: API server, nodes, scheduler.",
    .usage = "[--nodes N] [--nodes-file FILE] [--replay-dump FILE]\n"
             "                     [--kubeconfig FILE] [--data FILE] [-- FLAGS]",
    .purpose =
        "Runs until Ctrl-C. kubectl and every other client of Kubernetes can use it: it writes a kubeconfig "
        "and "
        "prints its path. Pods that are created are placed by the live scheduler, whose flags follow --; no "
        "container is started.\n"
        "\n"
        "This is a tool for development and for tests, without high availability, networking or access "
        "control beyond one token. For production, use Kubernetes.",
    .examples = "  berth cluster --nodes 100\n"
                "  export KUBECONFIG=$PWD/berth.kubeconfig\n"
                "  kubectl get nodes\n"
                "  kubectl create -f pod.yaml && kubectl get pods -o wide -w\n"
                "  berth cluster --data cluster.db -- --config profiles.yaml -v 2\n"
                "  berth cluster --nodes-file examples/nodes.yaml\n" KUBECTL_EXAMPLE
                "  berth cluster --replay-dump cluster.json\n"
                "  berth cluster fail node-3\n",
    .options = { { rows, 0 } },
    .settings_size = sizeof(struct cluster_settings),
    .defaults = &defaults,
    .words_max = SIZE_MAX,
    .run = run,
};
