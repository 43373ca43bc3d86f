/* cmd_scheduler.c: berth scheduler, the live scheduler; also what a binary called kube-scheduler runs.
 *
 *     flags, --config, kubeconfig ──▶ api ──▶ inbox, recorder, writer, core ──▶ runs until SIGTERM or the lease is lost
 *
 * Exit codes: 0 it was to end and did, 1 it could not go on (the lease is lost), 2 flags or files are wrong. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/common.h"
#include "cmd/policy_files.h"
#include "cmd/scheduler.h"
#include "config/write.h"
#include "input/config_folder.h"
#include "net/file.h"
#include "observe/sample_metrics.h"

extern const struct command command_scheduler;

enum { LOST_LOOK_MS = 5, LOST_LOOKS_MAX = 200, RELEASE_S_MAX = 5 };

/* ---- callbacks ---- */
static bool has_requests(const void *user)
{
    return api_stats(((const struct daemon *)user)->api).in_flight > 0;
}

static bool may_bind(void *user)
{
    const struct daemon *daemon = user;
    return !daemon->lease || lease_valid(daemon->lease);
}

/* On the thread that writes. */
static bool may_write(void *user)
{
    struct daemon *daemon = user;
    if (daemon->lease)
        lease_guard_writer(daemon->lease, has_requests, daemon);
    return may_bind(user);
}

static void on_problem(void *user _unused_, const char *sentence)
{
    log_warning("A request needs attention", log_str("problem", str_from(sentence)));
}

/* What came of a bind that an extender does. */
static void on_extender_answer(void *user, uint64_t ticket, const struct answer *answer)
{
    const struct daemon *daemon = user;
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    message->ticket = ticket;
    message->answer = *answer;
    message->answer.message = arena_str(&message->texts, answer->message);
    inbox_post(daemon->inbox, message);
}

static void on_sample(void *user, const struct api_sample *sample)
{
    struct daemon *daemon = user;
    if (daemon->metrics)
        rest_metrics_count(daemon->metrics, sample);
}

static void on_exec(void *user, int exit_code, const char *call_status)
{
    struct daemon *daemon = user;
    if (daemon->metrics)
        rest_metrics_exec(daemon->metrics, exit_code, call_status);
}

static void on_slow_path(void *user)
{
    struct daemon *daemon = user;
    counter_add(metric_get(daemon->metrics, FAMILY_LEADER_ELECTION_SLOWPATH_TOTAL, &STR("kube-scheduler")),
                1);
}

static void on_started(void *user)
{
    scheduler_show_lead(user, true);
    scheduler_watch_others(user);
    core_lead(((struct daemon *)user)->core);
}

/* That the lead is lost is an event, which goes out first, unless the API server is away. Nothing else is written
 * meanwhile, or waited for: only a process that is started again can follow the next leader, which may be in trouble
 * soon. */
static void end_after_events(struct loop_timer *timer)
{
    struct daemon *daemon = container_of(timer, struct daemon, lost_timer);
    const struct recorder_stats stats = recorder_stats(daemon->recorder);
    if (stats.own > stats.own_failed && daemon->lost_looks++ < LOST_LOOKS_MAX) {
        loop_timer_set(daemon->io, timer, monotonic_ns() + LOST_LOOK_MS * NS_PER_MS);
        return;
    }
    log_error(NULL, "Leaderelection lost");
    _exit(EXIT_TROUBLE);
}

/* A write without an answer must not arrive when another leads: what is not sent yet never is, and what is answered now
 * is not believed. It is repeated when the lease is renewed. */
static void on_expired(void *user)
{
    api_reset_connections(((struct daemon *)user)->api);
}

static void on_lost(void *user)
{
    struct daemon *daemon = user;
    daemon->lost_timer.ring = end_after_events;
    loop_timer_set(daemon->io, &daemon->lost_timer, 0);
}

/* As after SIGTERM: what is on its way is finished, then the lease is free for the next leader. */
static void on_term_end(void *user)
{
    struct daemon *daemon = user;
    atomic_store(&daemon->is_ousted, true);
    core_stop(daemon->core);
}

static void on_new_leader(void *user _unused_, struct str identity)
{
    log_info(1, "New leader elected", log_str("identity", identity));
}

static void on_lease_event(void *user, const struct event_subject *lease, struct str note)
{
    struct daemon *daemon = user;
    struct object_ref about = daemon->about;
    about.uid = lease->uid;
    about.resource_version = lease->resource_version;
    pthread_mutex_lock(&daemon->about_lock);
    snprintf(daemon->about_uid, sizeof(daemon->about_uid), STR_FMT, STR_ARG(lease->uid));
    pthread_mutex_unlock(&daemon->about_lock);
    scheduler_event(daemon, about, "Normal", "LeaderElection", note);
}

/* A scheduler that does not lead reports its configuration as well. */
static void on_reload_event(void *user, bool failed, struct str note)
{
    scheduler_event_about_itself(user, failed, failed ? "ConfigReloadFailed" : "ConfigReloaded", note);
}

static void on_retired(void *user, void *generation)
{
    reload_retired(((struct daemon *)user)->reload, generation);
}

/* ---- signals ---- */
static void terminate(struct daemon *daemon)
{
    if (atomic_exchange(&daemon->ending, true))
        _exit(EXIT_TROUBLE); /* the second signal ends the process at once */
    log_info(0, "Requested to terminate, exiting");
    core_stop(daemon->core);
    pending_requests_close(daemon->pending);
}

/* On the thread of `serving`. */
static void on_signal(void *user, int number)
{
    struct daemon *daemon = user;
    if (number == SIGTERM || number == SIGINT)
        terminate(daemon);
    else if (number == SIGUSR2 && !daemon->is_over)
        dump_request(daemon->dump);
    else if (number == SIGHUP && !daemon->is_over)
        reload_now(daemon->reload);
}

static void end_requests(void *context)
{
    ((struct daemon *)context)->is_over = true;
}

/* As in kube-scheduler, they mean nothing. By default each of them would end the process. */
static void ignore_signals(void)
{
    static const int numbers[] = { SIGUSR1, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGXCPU, SIGXFSZ };
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        signal(numbers[i], SIG_IGN);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        signal(number, SIG_IGN);
}

/* First of all: a request for a dump or another configuration that comes too early, or too late, must not end the
 * process. They stay blocked for good. */
static void block_requests(struct daemon *daemon)
{
    sigemptyset(&daemon->signals);
    sigaddset(&daemon->signals, SIGUSR2);
    sigaddset(&daemon->signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &daemon->signals, NULL);
    ignore_signals();
}

/* Before any thread starts: all of them leave signals to the loop. */
static void block_signals(struct daemon *daemon)
{
    sigaddset(&daemon->signals, SIGTERM);
    sigaddset(&daemon->signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &daemon->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the parts ---- */
static int check_rate(const struct client_connection_config *connection, struct error *err)
{
    if (connection->qps > 0 && connection->burst <= 0)
        return error_set(
            err, -EINVAL,
            "clientConnection.burst is required to be greater than 0 when qps is greater than 0");
    return 0;
}

static void warn(const struct warnings *warnings)
{
    vec_for(&warnings->list, sentence)
        log_warning("Configuration", log_str("warning", *sentence));
}

/* Was a kubeconfig given where it does not count? */
static bool ignores_kubeconfig(const struct daemon *daemon)
{
    return daemon->flags.given[FLAG_kubeconfig] && daemon->flags.config.len &&
           !daemon->first->config.client_connection.kubeconfig.len;
}

/* The address of the API server, and the identity of this client. */
static int load_access(struct daemon *daemon, struct error *err)
{
    struct kube_source source = { .kubeconfig = daemon->first->config.client_connection.kubeconfig.ptr,
                                  .master = daemon->flags.master.ptr };
    struct warnings warnings = { 0 };
    int r = kubeconfig_load(&source, &daemon->arena, &daemon->access, &warnings, err);
    warn(&warnings);
    warnings_release(&warnings);
    if (r < 0 && ignores_kubeconfig(daemon))
        error_prefix(
            err,
            "--kubeconfig is ignored beside --config (set clientConnection.kubeconfig in %s, or let the "
            "flag count with --legacy-flags)",
            daemon->flags.config.ptr);
    return r;
}

static int make_client(struct daemon *daemon, struct error *err)
{
    const struct client_connection_config *connection = &daemon->first->config.client_connection;
    int r = load_access(daemon, err);
    if (r == 0)
        r = check_rate(connection, err);
    if (r == 0)
        r = loop_new("io", &daemon->io, err);
    if (r == 0)
        r = loop_new("serve", &daemon->serving, err);
    if (r < 0)
        return r;
    return api_new(&(struct api_options){ .loop = daemon->io,
                                          .access = &daemon->access,
                                          .qps = connection->qps,
                                          .burst = connection->burst,
                                          .content_type = connection->content_type,
                                          .accept = connection->accept_content_types,
                                          .may_write = may_write,
                                          .on_problem = on_problem,
                                          .on_sample = on_sample,
                                          .on_exec = on_exec,
                                          .user = daemon },
                   &daemon->api, err);
}

static bool is_coordinated(const struct daemon *daemon)
{
    return daemon->features.enabled[FEATURE_CoordinatedLeaderElection];
}

/* kube-scheduler is a candidate for the lease with its own name, whatever lease it is told to use. */
static void make_candidate(struct daemon *daemon)
{
    const struct release *release = daemon->features.release;
    char emulated[16];
    snprintf(emulated, sizeof(emulated), "1.%d.0", release->minor);
    if (daemon->lease && is_coordinated(daemon))
        daemon->candidate =
            candidate_new(&(struct candidate_options){ .api = daemon->api,
                                                       .namespace = STR("kube-system"),
                                                       .identity = strbuf_slice(&daemon->identity),
                                                       .lease_name = STR("kube-scheduler"),
                                                       .binary_version = release->version,
                                                       .emulation_version = emulated });
}

static int make_lease(struct daemon *daemon, struct error *err)
{
    const struct leader_election_config *election = &daemon->first->config.leader_election;
    if (!election->leader_elect)
        return 0;
    presence_begin(&daemon->identity);
    int r = lease_new(&(struct lease_options){ .api = daemon->api,
                                               .namespace = election->resource_namespace,
                                               .name = election->resource_name,
                                               .identity = strbuf_slice(&daemon->identity),
                                               .lease_duration_ms = election->lease_duration_ns / 1000000,
                                               .renew_deadline_ms = election->renew_deadline_ns / 1000000,
                                               .retry_period_ms = election->retry_period_ns / 1000000,
                                               .on_started = on_started,
                                               .on_lost = on_lost,
                                               .on_expired = on_expired,
                                               .on_term_end = on_term_end,
                                               .coordinated = is_coordinated(daemon),
                                               .on_new_leader = on_new_leader,
                                               .on_slow_path = on_slow_path,
                                               .on_event = on_lease_event,
                                               .user = daemon },
                      &daemon->lease, err);
    if (r == 0)
        make_candidate(daemon);
    return r;
}

static void on_decision(void *user, const struct decision *decision, int64_t took_ns)
{
    struct daemon *daemon = user;
    observer_decision(daemon->observer, decision, took_ns);
    attempts_decision(daemon->attempts, decision, core_now(daemon->core), took_ns);
}

static void on_notice(void *user, const struct notice *notice)
{
    struct daemon *daemon = user;
    observer_notice(daemon->observer, notice);
    attempts_notice(daemon->attempts, notice);
}

static size_t waiting_of(void *context, enum api_kind kind)
{
    return inbox_depth_of(context, kind);
}

static int64_t on_round(void *user, const struct engine *engine, int64_t now_ns)
{
    struct daemon *daemon = user;
    int64_t publish_ns = observer_publish(daemon->observer, engine, now_ns);
    if (publish_ns == INT64_MAX) /* it has published */
        informers_publish(daemon->informers, waiting_of, daemon->inbox);
    int64_t views_ns = views_round(daemon->views, now_ns);
    return MIN(publish_ns, views_ns);
}

static void on_answering(void *user)
{
    struct daemon *daemon = user;
    if (daemon->lease)
        lease_retry(daemon->lease);
}

static void on_unreadable(void *user, const char *resource)
{
    struct metrics *metrics = ((struct daemon *)user)->metrics;
    counter_add(metric_get(metrics, FAMILY_BERTH_UNREADABLE_OBJECTS_TOTAL,
                           &(struct str){ resource, (uint32_t)strlen(resource) }),
                1);
}

static void on_samples(void *user, const char *source, bool ok, int64_t oldest_ns)
{
    sample_metrics_count(((struct daemon *)user)->metrics, source, ok, oldest_ns);
}

static void on_version(void *user, enum api_kind kind, struct str version)
{
    informers_version(((struct daemon *)user)->informers, kind, version);
}

static void on_applied(void *user, enum api_kind kind, int64_t ns)
{
    informers_applied(((struct daemon *)user)->informers, kind, ns);
}

static void on_restart(void *user, struct engine *engine)
{
    attempts_restart(((struct daemon *)user)->attempts, engine->cluster);
}

static uint64_t random_seed(void)
{
    return (uint64_t)clock_now_ns(CLOCK_REALTIME) * 1000000007u ^ (uint64_t)getpid();
}

static int make_journal(struct daemon *daemon, struct error *err)
{
    if (!daemon->flags.record.len)
        return 0;
    inbox_prepare(daemon->inbox, journal_prepare);
    return journal_open(&(struct journal_options){ .dir = daemon->flags.record.ptr,
                                                   .features = &daemon->features,
                                                   .total_bytes = (size_t)MAX(daemon->flags.record_size, 1) },
                        &daemon->journal, err);
}

static struct http_extenders_options extender_options(struct daemon *daemon)
{
    return (struct http_extenders_options){
        .on_answer = on_extender_answer, .may_bind = may_bind, .user = daemon, .pending = daemon->pending
    };
}

static int make_core(struct daemon *daemon, struct error *err)
{
    const struct client_connection_config *connection = &daemon->first->config.client_connection;
    daemon->inbox = inbox_new();
    if (make_journal(daemon, err) < 0)
        return -EINVAL;
    const struct leader_election_config *election = &daemon->first->config.leader_election;
    daemon->recorder = recorder_new(
        &(struct recorder_options){ .api = daemon->api, .qps = connection->qps, .burst = connection->burst });
    daemon->writer =
        (struct writer){ .api = daemon->api,
                         .inbox = daemon->inbox,
                         .recorder = daemon->recorder,
                         .dispatches = daemon->features.enabled[FEATURE_SchedulerAsyncAPICalls] };
    daemon->pending = pending_requests_new();
    const struct http_extenders_options extenders = extender_options(daemon);
    int r = config_generation_connect(daemon->first, &daemon->flags, &extenders, daemon->io, err);
    if (r < 0)
        return r;
    return core_new(
        &(struct core_options){
            .config = &daemon->first->config,
            .registry = plugins_registry(),
            .features = &daemon->features,
            .api = daemon->api,
            .inbox = daemon->inbox,
            .writer = &daemon->writer,
            .recorder = daemon->recorder,
            .extenders = http_extenders_table(daemon->first->extenders),
            .owner = daemon->first,
            .unschedulable_max_ns = daemon->flags.pod_max_in_unschedulable_pods_duration,
            .seed = random_seed(),
            .journal = daemon->journal,
            .elected = election->leader_elect,
            .settle_ms = election->leader_elect ? election->lease_duration_ns / NS_PER_MS : 0,
            .plain_lists = !daemon->features.enabled[FEATURE_WatchListClient],
            .on_decision = on_decision,
            .on_notice = on_notice,
            .on_round = on_round,
            .on_unreadable = on_unreadable,
            .on_version = daemon->features.release->informers_have_metrics ? on_version : NULL,
            .on_answering = on_answering,
            .samples_ms = daemon->flags.samples_interval / NS_PER_MS,
            .announces = daemon->flags.announce,
            .on_samples = on_samples,
            .prometheus_of = config_generation_prometheus,
            .on_applied = daemon->features.release->informers_have_metrics ? on_applied : NULL,
            .has_policies = daemon->policy_files || daemon->policy_name,
            .policy_namespace = daemon->policy_namespace,
            .policy_name = daemon->policy_name,
            .on_policies = scheduler_on_policies,
            .post_policies = scheduler_policies_post,
            .on_retired = on_retired,
            .on_restart = on_restart,
            .user = daemon },
        &daemon->core, err);
}

/* Events about the scheduler itself regard its Lease; without an election, the namespace that would have it. */
static int start_reload(struct daemon *daemon, struct error *err)
{
    const struct leader_election_config *election = &daemon->first->config.leader_election;
    daemon->about =
        daemon->lease
            ? (struct object_ref){ .kind = STR("Lease"),
                                   .api_version = STR("coordination.k8s.io/v1"),
                                   .namespace = arena_str(&daemon->arena, election->resource_namespace),
                                   .name = arena_str(&daemon->arena, election->resource_name) }
            : (struct object_ref){ .kind = STR("Namespace"),
                                   .api_version = STR("v1"),
                                   .name = arena_str(&daemon->arena, election->resource_namespace) };
    return reload_start(daemon->reload,
                        &(struct reload_options){ .flags = &daemon->flags,
                                                  .features = &daemon->features,
                                                  .extenders = extender_options(daemon),
                                                  .core = daemon->core,
                                                  .metrics = daemon->metrics,
                                                  .argv = daemon->argv,
                                                  .loop = daemon->serving,
                                                  .io = daemon->io,
                                                  .on_event = on_reload_event,
                                                  .user = daemon },
                        err);
}

static int start(struct daemon *daemon, struct error *err)
{
    static int (*const steps[])(struct daemon *daemon, struct error *err) = {
        make_client,
        make_core,
        make_lease,
        scheduler_serve_start,
        start_reload,
        scheduler_make_vacancies,
        scheduler_policies_start,
    };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
        r = steps[i](daemon, err);
    return r;
}

static void daemon_release(struct daemon *daemon)
{
    views_settle(daemon->views);
    serve_stop(daemon->serve, 0);
    scheduler_free_vacancies(daemon);
    candidate_free(daemon->candidate);
    lease_free(daemon->lease);
    dump_free(daemon->dump);
    reload_stop(daemon->reload);
    policy_files_free(daemon->policy_files);
    daemon->policy_files = NULL;
    core_free(daemon->core);
    observer_free(daemon->observer);
    informers_free(daemon->informers);
    views_free(daemon->views);
    attempts_free(daemon->attempts);
    reload_free(daemon->reload);
    api_free(daemon->api);
    loop_free(daemon->serving);
    rates_free(daemon->rates);
    loop_free(daemon->io);
    pending_requests_free(daemon->pending);
    recorder_free(daemon->recorder);
    if (daemon->inbox)
        inbox_free(daemon->inbox);
    journal_close(daemon->journal);
    warnings_release(&daemon->warnings);
    strbuf_release(&daemon->identity);
    arena_release(&daemon->arena);
    flags_release(&daemon->flags);
    if (daemon->metrics)
        metrics_free(daemon->metrics);
}

/* What is left to do is not worth waiting for: the lease has been given back, and nothing is written any more. */
static void *end_late(void *code)
{
    nanosleep(&(struct timespec){ .tv_sec = RELEASE_S_MAX }, NULL);
    log_warning("A file or a program does not answer, exiting without it");
    _exit((int)(intptr_t)code);
}

/* Work in the pool that is under way, such as a look at the configuration file, is waited for; but a mount that hangs
 * does not keep the process. */
static void bound_release(int code)
{
    pthread_t thread;
    if (thread_start(&thread, "end", end_late, (void *)(intptr_t)code) == 0)
        pthread_detach(thread);
}

/* A write that was sent and not answered may still be done, by an extender too. Then the lease is not released: it
 * expires by itself. Events may still be under way: they change nothing that a leader decides on. */
static void give_up_lease(struct daemon *daemon)
{
    size_t unsettled = core_unsettled(daemon->core);
    lease_renounce(daemon->lease);
    if (unsettled)
        log_warning("The lease is not given back, because requests have no answer",
                    log_int("count", (int64_t)unsettled));
    else
        lease_release(daemon->lease);
}

static int serve_until_told(struct daemon *daemon, struct error *err)
{
    daemon->dump = dump_new(daemon->core, daemon->api);
    int r = loop_signals(daemon->serving, &daemon->signals, on_signal, daemon, err);
    if (r < 0)
        return r;
    daemon->lease ? lease_start(daemon->lease) : scheduler_watch_others(daemon);
    candidate_start(daemon->candidate);
    core_run(daemon->core);
    loop_run_wait(daemon->serving, end_requests, daemon);
    candidate_withdraw(daemon->candidate);
    if (daemon->lease)
        give_up_lease(daemon);
    return 0;
}

/* ---- the command line ---- */
static void page_of(const struct scheduler_flags *flags, struct strbuf *out)
{
    struct winsize size = { 0 };
    flags_help(flags, out, ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0);
}

static void page(struct strbuf *out)
{
    page_of(&(const struct scheduler_flags){ 0 }, out);
}

static void describe(option_visit visit, void *user)
{
    const struct release *release = flags_emulated(&(const struct scheduler_flags){ 0 });
    for (int group = 0; group < FLAG_GROUPS; group++)
        for (int i = 0; i < FLAG_COUNT; i++) {
            const struct flag_info *info = &flag_infos[i];
            _cleanup_(strbuf_release) struct strbuf text = { 0 };
            if ((int)info->group != group)
                continue;
            flag_describe((enum flag)i, release, &text);
            const char *argument = flag_argument((enum flag)i);
            visit(user, &(struct option_text){ .group = flag_group_names[group],
                                               .letter = info->letter,
                                               .name = info->name,
                                               .argument = *argument ? argument : NULL,
                                               .kind = *argument ? OPTION_TEXT : OPTION_FLAG,
                                               .help = text.text });
        }
}

/* Returns -1 to go on, else the exit code. */
static int read_flags(struct daemon *daemon, int argc, char **argv)
{
    struct error err;
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    if (flags_parse(&daemon->flags, argc, argv, &err) < 0)
        return fail(EXIT_INPUT, &err);
    if (daemon->flags.help) {
        page_of(&daemon->flags, &out);
    } else {
        if (flags_check(&daemon->flags, &daemon->features, &daemon->warnings, &err) < 0)
            return fail(EXIT_INPUT, &err);
        if (!flags_version(&daemon->flags, &out))
            return -1;
    }
    fputs(out.text, stdout);
    return EXIT_DONE;
}

static int load_plugins(struct daemon *daemon, struct error *err)
{
    struct plugin_settings settings = { 0 };
    list_for(&daemon->flags.plugin, file)
        *vec_push(&settings.files) = file->ptr;
    list_for(&daemon->flags.plugin_dir, dir)
        *vec_push(&settings.dirs) = dir->ptr;
    int r = plugins_load(&settings, daemon->flags.config.ptr, err);
    plugin_settings_release(&settings);
    return r;
}

/* From here on, --config is the file itself. */
static int find_config(struct daemon *daemon, struct error *err)
{
    struct scheduler_flags *flags = &daemon->flags;
    const char *path;
    if (str_empty(flags->config))
        return 0;
    int r = config_folder_resolve(flags->config.ptr, &flags->arena, &path, &daemon->warnings, err);
    if (r == 0)
        flags->config = str_from(path);
    return r;
}

static int load_config(struct daemon *daemon, struct error *err)
{
    int r = find_config(daemon, err);
    if (r == 0)
        r = load_plugins(daemon, err);
    if (r < 0)
        return r;
    r = config_generation_load(&daemon->flags, &daemon->features, &daemon->first, err);
    if (r < 0)
        return r;
    daemon->name = arena_str(&daemon->arena, daemon->first->config.profiles.items[0].scheduler_name);
    daemon->reload = reload_new(daemon->first);
    return scheduler_policies_read(daemon, err);
}

/* What a start would look at without any connection. Settings can be written without an API server. */
static int check_files(struct daemon *daemon, struct error *err)
{
    int r = 0;
    if (daemon->first->config.client_connection.kubeconfig.len)
        r = load_access(daemon, err);
    if (r == 0)
        r = check_rate(&daemon->first->config.client_connection, err);
    if (r == 0)
        r = serve_check(&daemon->flags, err);
    if (r < 0)
        return r;
    daemon->metrics = families_new(&daemon->flags, &daemon->features, err);
    return daemon->metrics ? 0 : -EINVAL;
}

/* Where lines of the log are read by programs, and once there are any, the end is one of them. */
static int fail_in_log(int code, const struct error *err)
{
    log_error(err, "command failed");
    return code;
}

static bool logs_json(const struct daemon *daemon)
{
    return str_is(daemon->flags.logging_format, "json");
}

static int fail_early(const struct daemon *daemon, int code, const struct error *err)
{
    return logs_json(daemon) ? fail_in_log(code, err) : fail(code, err);
}

/* --write-config-to: writes what it would run with, and ends. */
static int write_config(struct daemon *daemon)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct error err;
    if (check_files(daemon, &err) < 0)
        return fail_early(daemon, EXIT_INPUT, &err);
    config_write_yaml(&daemon->first->config, &text);
    if (file_write(daemon->flags.write_config_to.ptr, strbuf_slice(&text), 0666, &err) < 0)
        return fail_early(daemon, EXIT_TROUBLE, &err);
    log_info(0, "Wrote configuration", log_str("file", daemon->flags.write_config_to));
    return EXIT_DONE;
}

static int run_daemon(struct daemon *daemon)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    struct error err;
    warn(&daemon->warnings);
    warn(&daemon->first->warnings);
    if (daemon->flags.write_config_to.len)
        return write_config(daemon);
    flags_reported_version(&daemon->flags, &version);
    log_info(0, "Starting Kubernetes Scheduler", log_str("version", strbuf_slice(&version)));
    int r = start(daemon, &err);
    if (r < 0)
        return fail_in_log(
            r == -EADDRINUSE || r == -EADDRNOTAVAIL || r == -EACCES ? EXIT_TROUBLE : EXIT_INPUT, &err);
    if (serve_until_told(daemon, &err) < 0)
        return fail_in_log(EXIT_TROUBLE, &err);
    if (!atomic_load(&daemon->is_ousted))
        return EXIT_DONE;
    log_error(NULL, "Leaderelection lost");
    return EXIT_TROUBLE;
}

int scheduler_main(int argc, char **argv)
{
    struct daemon *daemon = xcalloc(1, sizeof(*daemon));
    struct error err;
    block_requests(daemon);
    daemon->argv = argv;
    pthread_mutex_init(&daemon->about_lock, NULL);
    int code = read_flags(daemon, argc, argv);
    if (code < 0) {
        const struct log_options log = { .format = logs_json(daemon) ? LOG_JSON : LOG_TEXT,
                                         .verbosity = daemon->flags.v,
                                         .vmodule = daemon->flags.vmodule.ptr,
                                         .split = logs_json(daemon) ? daemon->flags.log_json_split_stream
                                                                    : daemon->flags.log_text_split_stream };
        memory_for_daemon();
        block_signals(daemon);
        if (log_init(&log, &err) < 0)
            code = fail(EXIT_INPUT, &err);
        else if (load_config(daemon, &err) < 0)
            code = fail_early(daemon, EXIT_INPUT, &err);
        else
            code = run_daemon(daemon);
        bound_release(code);
    }
    daemon_release(daemon);
    free(daemon);
    return code;
}

const struct command command_scheduler = {
    .name = "scheduler",
    .summary = "Runs as a cluster's scheduler, in the place of kube-scheduler.",
    .usage = "[FLAGS of kube-scheduler]",
    .page = page,
    .describe = describe,
    .main = scheduler_main,
};
