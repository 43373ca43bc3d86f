/* core.c: the loop. */
#include "live/core.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "engine/account.h"
#include "extender/extender.h"
#include "live/burst.h"
#include "live/policy_watch.h"

/* Messages are looked at after so many decisions, or so much time, whatever comes first: answers and changes wait no
 * longer than that. */
enum {
    DECISIONS_PER_ROUND = 64,
    DRAIN_MS_DEFAULT = 5000,
    TABLES_BYTES_MAX = 24 << 20,
};
#define WALL_STEP_NS_MIN (NS_PER_S / 10)
#define ROUND_NS ((int64_t)2000000)

struct core {
    struct core_options options;
    struct engine_setup setup; /* of the present configuration; its extenders as they are */
    uint64_t seed;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct reflectors *reflectors;
    struct poller *poller;
    struct extra_watch extra_watch;
    struct node_lookup node_lookup;    /* of the I/O thread */
    struct policy_watch *policy_watch; /* NULL: there are no policies */
    int64_t
        epoch_ns; /* what CLOCK_MONOTONIC lacks to be the time: a jump of the clock does not move the queue */
    atomic_bool synced, stopping, leading;
    atomic_bool
        ready; /* it has been synced once: a list that begins anew takes nothing back, as in kube-scheduler */
    int64_t wall_ahead_ns; /* of the engine: how far the time of day is ahead of core_now() */
    int64_t drain_until_ns, settle_until_ns; /* 0: it is not to stop yet */
    int64_t
        restart_until_ns; /* the engine is to start anew: how long it may finish what is on its way; 0: not */
    int64_t round_due_ns; /* of on_round */
};

int64_t core_now(const struct core *core)
{
    return core->epoch_ns + monotonic_ns();
}

/* ---- what the log says ---- */
/* Errors that appear in the log only have this name there. */
#define UNHANDLED log_str("logger", STR("UnhandledError"))

static struct log_value pod_ref(const struct pod *pod)
{
    return log_ref("pod", pod->meta.namespace, pod->meta.name);
}

static void on_notice(void *context, const struct notice *notice)
{
    struct core *core = context;
    if (notice->kind == NOTICE_BOUND)
        log_info(2, "Successfully bound pod to node", pod_ref(notice->pod), log_str("node", notice->node),
                 log_int("evaluatedNodes", notice->decision->examined),
                 log_int("feasibleNodes", notice->decision->feasible));
    else if (notice->rejected)
        log_info(2, "Unable to schedule pod; no fit; waiting", pod_ref(notice->pod),
                 log_str("err", notice->message));
    else {
        struct error err;
        error_set(&err, 0, STR_FMT, STR_ARG(notice->message));
        log_error(&err, "Error scheduling pod; retrying", UNHANDLED, pod_ref(notice->pod));
    }
    if (core->options.on_notice)
        core->options.on_notice(core->options.user, notice);
}

static void log_preemption(const struct core *core, const struct decision *decision)
{
    const struct pod *pod = decision->pod->api;
    const struct diagnosis *diagnosis = decision->diagnosis;
    if (diagnosis && diagnosis->pre_filter_message.len)
        log_info(5, "Status after running PreFilter plugins for pod", pod_ref(pod),
                 log_str("status", diagnosis->pre_filter_message));
    if (decision->post_filter_error.len)
        log_error(NULL, "Status after running PostFilter plugins for pod", UNHANDLED, pod_ref(pod),
                  log_str("status", decision->post_filter_error));
    else if (!decision->profile->points[POINT_POST_FILTER].len)
        log_info(3, "No PostFilter plugins are registered, so no preemption will be performed");
    else if (diagnosis)
        log_info(5, "Status after running PostFilter plugins for pod", pod_ref(pod),
                 log_str("status", diagnosis->post_filter_message));
    if (!decision->preemption_tried)
        return;
    if (decision->nomination == NOMINATION_SET)
        log_info(2, "the target node for the preemption is determined", pod_ref(pod),
                 log_str("node", cluster_node_name(&core->cluster, decision->nominated_row)));
    else if (decision->nomination == NOMINATION_CLEAR)
        log_info(2, "No preemption candidate is found; preemption is not helpful for scheduling",
                 pod_ref(pod));
}

static void log_decision(const struct core *core, const struct decision *decision)
{
    const struct pod *pod = decision->pod->api;
    log_info(4, "About to try and schedule pod", pod_ref(pod));
    if (decision->is_deleted) {
        log_info(3, "Skip schedule deleting pod", pod_ref(pod));
        return;
    }
    log_info(3, "Attempting to schedule pod", pod_ref(pod));
    if (decision->row != ROW_NONE) {
        log_info(3, "Attempting to bind pod to node", pod_ref(pod),
                 log_ref("node", (struct str){ 0 }, cluster_node_name(&core->cluster, decision->row)));
    } else if (decision->is_error) {
        struct error err;
        error_set(&err, 0, STR_FMT, STR_ARG(decision->message));
        if (decision->resize_fits)
            log_error(&err, "Scheduler cache AssumePod failed", pod_ref(pod));
        log_error(&err, "Error scheduling pod; retrying", UNHANDLED, pod_ref(pod));
    } else if (!core->cluster.live_nodes) {
        log_info(2, "Unable to schedule pod; no nodes are registered to the cluster; waiting", pod_ref(pod));
    } else {
        log_preemption(core, decision);
        log_info(2, "Unable to schedule pod; no fit; waiting", pod_ref(pod),
                 log_str("err", decision->message));
    }
}

/* ---- life ---- */
static void emit(void *context, const struct effect *effect)
{
    writer_emit(((struct core *)context)->options.writer, effect);
}

static void nothing(void *context)
{
    (void)context;
}

static void wake(void *context)
{
    core_call(context, nothing, NULL);
}

/* A configuration as the engine has it: its owner, and the extenders that the journal listens to. */
struct lent {
    struct journal_extenders *extenders; /* NULL: they are not recorded */
    void *owner;
};

static struct engine_setup lend(struct core *core, const struct engine_setup *setup)
{
    struct lent *lent = xcalloc(1, sizeof(*lent));
    lent->extenders = journal_extenders_new(core->options.journal, setup->extenders);
    lent->owner = setup->owner;
    return (struct engine_setup){ setup->config, setup->registry,
                                  lent->extenders ? journal_extenders_table(lent->extenders)
                                                  : setup->extenders,
                                  lent };
}

const void *core_owner(const void *generation_owner)
{
    return ((const struct lent *)generation_owner)->owner;
}

static void take_back(struct lent *lent)
{
    if (lent)
        journal_extenders_free(lent->extenders);
    free(lent);
}

static void retired(void *context, void *owner)
{
    struct core *core = context;
    struct lent *lent = owner;
    if (core->options.on_retired && lent->owner)
        core->options.on_retired(core->options.user, lent->owner);
    take_back(lent);
}

static void on_policies(void *context, const struct policy_news *news)
{
    const struct core *core = context;
    if (core->options.on_policies)
        core->options.on_policies(core->options.user, news);
    if (news->result == POLICIES_APPLIED && atomic_load_explicit(&core->synced, memory_order_relaxed))
        policy_watch_warn(news->set, &core->cluster);
}

static void record_plugin_message(void *context, const struct plugin_message *message, int64_t now_ns)
{
    journal_plugin_message(((const struct core *)context)->options.journal, message, now_ns);
}

/* The machine's clock was set, or the machine slept. Small steps are not worth an entry of the recording. */
static void follow_wall_clock(struct core *core, int64_t now_ns)
{
    int64_t ahead_ns = clock_now_ns(CLOCK_REALTIME) - now_ns, step_ns = ahead_ns - core->wall_ahead_ns;
    if (step_ns < WALL_STEP_NS_MIN && step_ns > -WALL_STEP_NS_MIN)
        return;
    core->wall_ahead_ns = ahead_ns;
    journal_clock(core->options.journal, ahead_ns, now_ns);
    engine_set_wall_clock(&core->engine, ahead_ns);
}

/* An empty model and an engine that has decided nothing. Tickets go on: answers to those before may still come. */
static int begin(struct core *core, uint64_t last_ticket, struct error *err)
{
    const struct core_options *options = &core->options;
    const struct engine_setup setup = lend(core, &core->setup);
    int64_t now_ns = core_now(core);
    struct engine_options engine = {
        .config = setup.config,
        .registry = setup.registry,
        .extenders = setup.extenders,
        .owner = setup.owner,
        .seed = core->seed,
        .now_ns = now_ns,
        .slowest = PATH_INDEX,
        .unschedulable_max_ns = options->unschedulable_max_ns,
        .tables_bytes_max = TABLES_BYTES_MAX,
        .last_ticket = last_ticket,
        .ranks = true,
        .announces = options->announces,
        .host = { .emit = emit,
                  .notice = on_notice,
                  .wake = wake,
                  .on_plugin_message = record_plugin_message,
                  .on_policies = on_policies,
                  .retired = retired,
                  .context = core },
    };
    journal_head(options->journal, &engine);
    cluster_init(&core->cluster);
    if (options->features)
        core->cluster.features = *options->features;
    int r = engine_init(&core->engine, &core->cluster, &engine, err);
    if (r == 0)
        mirror_init(&core->mirror, &core->engine);
    core->wall_ahead_ns = 0;
    if (r == 0)
        follow_wall_clock(core, now_ns);
    else
        take_back(setup.owner);
    return r;
}

static void end(struct core *core)
{
    engine_release(&core->engine);
    if (core->engine.is_stuck)
        return; /* with the objects that its work looks at; the process is about to end */
    if (core->mirror.engine)
        mirror_release(&core->mirror);
    cluster_release(&core->cluster);
}

int core_new(const struct core_options *options, struct core **ret, struct error *err)
{
    struct core *core = xcalloc(1, sizeof(*core));
    core->options = *options;
    core->setup =
        (struct engine_setup){ options->config, options->registry, options->extenders, options->owner };
    core->seed = options->seed;
    if (!core->options.drain_ms)
        core->options.drain_ms = DRAIN_MS_DEFAULT;
    core->epoch_ns = clock_now_ns(CLOCK_REALTIME) - monotonic_ns();
    core->round_due_ns = INT64_MAX;
    atomic_init(&core->leading, !options->elected);
    int r = begin(core, 0, err);
    if (r < 0) {
        core_free(core);
        return r;
    }
    *ret = core;
    return 0;
}

static void stop_reflectors(struct core *core)
{
    policy_watch_stop(core->policy_watch);
    core->policy_watch = NULL;
    extra_watch_stop(&core->extra_watch);
    poller_stop(core->poller);
    core->poller = NULL;
    reflectors_stop(core->reflectors);
    core->reflectors = NULL;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    static struct core *volatile abandoned _unused_; /* a sanitizer would report it as leaked */
    stop_reflectors(core);
    node_lookup_release(&core->node_lookup);
    end(core);
    if (core->engine.is_stuck) {
        abandoned = core;
        return;
    }
    free(core);
}

/* ---- messages ---- */
static void call_of(struct inbox_message *message)
{
    message->drop = NULL; /* the context is the call's */
    message->call(message->context);
}

static void apply(struct core *core, struct inbox_message *message, int64_t now_ns)
{
    enum api_kind kind = message->api_kind;
    mirror_apply(&core->mirror, message, now_ns);
    if (core->options.on_applied)
        core->options.on_applied(core->options.user, kind, core_now(core) - now_ns);
}

/* What has come: an older version of an object, or a deleted one, is of about the size of the message about it. */
struct reading {
    size_t messages, bytes;
};

static struct reading read_messages(struct core *core, struct list messages)
{
    struct reading reading = { 0 };
    for (struct inbox_message *message; (message = inbox_next(&messages)); inbox_message_free(message)) {
        int64_t now_ns = core_now(core);
        reading.messages++;
        reading.bytes += message->object ? message->object->arena.total_bytes : 0;
        journal_message(core->options.journal, message, now_ns);
        if (message->kind == MESSAGE_ANSWER)
            engine_answer(&core->engine, message->ticket, &message->answer, now_ns);
        else if (message->kind == MESSAGE_CALL)
            call_of(message);
        else
            apply(core, message, now_ns);
    }
    return reading;
}

static void give_back(struct burst *burst, struct reading reading)
{
    if (burst_ends(burst, reading.messages, reading.bytes, monotonic_ns()))
        memory_give_back();
}

static void look_at_sync(struct core *core)
{
    bool was = atomic_load_explicit(&core->synced, memory_order_relaxed);
    bool is = true;
    for (size_t i = 0; i < watched_kind_count; i++)
        is &= core->mirror.kinds[watched_kinds[i].kind].synced;
    for (int kind = KIND_EXTRA_FIRST; core->extra_watch.wanted && kind < KIND_COUNT; kind++)
        is &= !(core->extra_watch.wanted >> kind & 1) || core->mirror.kinds[kind].synced;
    is &= was || policy_watch_settled(core->policy_watch, &core->mirror);
    atomic_store_explicit(&core->synced, is, memory_order_relaxed);
    if (is && !was) {
        atomic_store(&core->ready, true);
        if (core->options.policy_name && !core->cluster.config_maps.len)
            log_warning("There is no ConfigMap with scheduling policies, or it cannot be read",
                        log_ref("configMap", str_from(core->options.policy_namespace),
                                str_from(core->options.policy_name)));
        if (core->engine.policies)
            policy_watch_warn(core->engine.policies->set, &core->cluster);
        log_info(1, "Caches are synced", log_int("nodes", core->cluster.live_nodes),
                 log_int("pods", (int64_t)core->cluster.pods.len));
    }
}

/* ---- decisions ---- */
static bool may_decide(const struct core *core)
{
    return atomic_load_explicit(&core->synced, memory_order_relaxed) &&
           atomic_load_explicit(&core->leading, memory_order_relaxed) &&
           !atomic_load_explicit(&core->stopping, memory_order_relaxed) && !core->restart_until_ns;
}

/* True: there may be more to decide. */
static bool decide_some(struct core *core)
{
    int64_t start_ns = core_now(core), now_ns = start_ns;
    for (int i = 0; i < DECISIONS_PER_ROUND && now_ns - start_ns < ROUND_NS; i++) {
        struct decision decision;
        if (!may_decide(core))
            return false;
        bool decided = engine_step(&core->engine, now_ns, &decision);
        journal_step(core->options.journal, &core->cluster, decided ? &decision : NULL, now_ns);
        if (!decided)
            return false;
        log_decision(core, &decision);
        int64_t then_ns = now_ns;
        now_ns = core_now(core);
        if (core->options.on_decision)
            core->options.on_decision(core->options.user, &decision, now_ns - then_ns);
    }
    return true;
}

static bool drained(struct core *core, int64_t now_ns)
{
    if (!atomic_load(&core->stopping))
        return false;
    if (!core->drain_until_ns) {
        core->drain_until_ns = now_ns + core->options.drain_ms * NS_PER_MS;
        core->settle_until_ns = now_ns + MAX(core->options.drain_ms, core->options.settle_ms) * NS_PER_MS;
    }
    size_t open = core->engine.writes.by_ticket.len;
    if (open && now_ns < core->drain_until_ns)
        return false;
    if (now_ns < core->settle_until_ns && writes_unsettled(&core->engine.writes))
        return false;
    if (open)
        log_warning("Ending with writes that have no answer", log_int("count", (int64_t)open));
    return true;
}

static void round_ends(struct core *core)
{
    core->round_due_ns = core->options.on_round
                             ? core->options.on_round(core->options.user, &core->engine, core_now(core))
                             : INT64_MAX;
}

static int64_t next_due(const struct core *core)
{
    int64_t due_ns = MIN(engine_next_due(&core->engine), core->round_due_ns);
    if (core->drain_until_ns)
        due_ns =
            MIN(due_ns, core_now(core) < core->drain_until_ns ? core->drain_until_ns : core->settle_until_ns);
    if (core->restart_until_ns)
        due_ns = MIN(due_ns, core->restart_until_ns);
    return due_ns == INT64_MAX ? INT64_MAX : due_ns - core->epoch_ns;
}

static void tick(struct core *core)
{
    int64_t now_ns = core_now(core);
    follow_wall_clock(core, now_ns);
    engine_tick(&core->engine, now_ns);
    journal_tick(core->options.journal, now_ns); /* after what was recorded in its course */
}

/* What the plugins of the configuration want to be fetched. */
static struct poller_wants wanted_kinds(const struct engine *engine)
{
    struct poller_wants wants = { 0 };
    for (uint32_t i = 0; i < engine->profiles_len; i++)
        for (uint32_t k = 0; k < engine->profiles[i].plugins_len; k++) {
            const struct plugin_instance *instance = &engine->profiles[i].plugins[k];
            poller_wants_add(&wants, plugin_wanted_kinds(instance), instance->wishes.sample_every_ns);
        }
    return wants;
}

/* Of the configuration in effect. */
static const struct prometheus *prometheus_of(const struct core *core)
{
    const struct core_options *options = &core->options;
    return options->prometheus_of ? options->prometheus_of(options->user, core->setup.owner) : NULL;
}

static void want_kinds(struct core *core)
{
    const struct poller_wants wants = wanted_kinds(&core->engine);
    uint64_t before = core->extra_watch.wanted;
    poller_want(core->poller, &wants, prometheus_of(core));
    extra_watch_want(&core->extra_watch, wants.kinds);
    for (int kind = KIND_EXTRA_FIRST; kind < KIND_COUNT; kind++)
        if ((core->extra_watch.wanted & ~before) >> kind & 1)
            core->mirror.kinds[kind].synced = false; /* it may have been wanted once before */
}

static void start_reflectors(struct core *core)
{
    core->reflectors = reflectors_start(
        core->options.api, core->options.inbox,
        &(struct reflector_options){ .features = &core->cluster.features,
                                     .source_kinds = extenders_source_kinds(core->setup.config),
                                     .plain_lists = core->options.plain_lists,
                                     .on_unreadable = core->options.on_unreadable,
                                     .on_version = core->options.on_version,
                                     .on_answering = core->options.on_answering,
                                     .user = core->options.user,
                                     .node_lookup = &core->node_lookup });
    core->poller = poller_start(&(struct poller_options){ .api = core->options.api,
                                                          .inbox = core->options.inbox,
                                                          .lookup = &core->node_lookup,
                                                          .interval_ms = core->options.samples_ms,
                                                          .on_samples = core->options.on_samples,
                                                          .user = core->options.user });
    core->extra_watch.api = core->options.api;
    core->extra_watch.inbox = core->options.inbox;
    core->extra_watch.options = (struct reflector_options){ .plain_lists = core->options.plain_lists,
                                                            .on_unreadable = core->options.on_unreadable,
                                                            .user = core->options.user };
    want_kinds(core);
    if (!core->options.has_policies)
        return;
    core->policy_watch =
        policy_watch_start(&(struct policy_watch_options){ .api = core->options.api,
                                                           .inbox = core->options.inbox,
                                                           .namespace = core->options.policy_namespace,
                                                           .name = core->options.policy_name,
                                                           .plain_lists = core->options.plain_lists });
    if (core->options.post_policies)
        core->options.post_policies(core->options.user);
}

/* ---- a new recording ---- */
/* What is in the inbox is about an engine that is no more, but for calls. */
static void drop_messages(struct core *core)
{
    struct list messages = inbox_take(core->options.inbox, 0);
    for (struct inbox_message *message; (message = inbox_next(&messages));)
        if (message->kind == MESSAGE_CALL)
            inbox_post(core->options.inbox, message);
        else
            inbox_message_free(message);
}

static void restart(struct core *core)
{
    struct error err;
    uint64_t last_ticket = core->engine.writes.last_ticket;
    const struct probe *probe = core->engine.probe;
    stop_reflectors(core);
    drop_messages(core);
    struct lent *lent = engine_take_owner(&core->engine); /* the configuration goes on */
    end(core);
    take_back(lent);
    core->seed++;
    core->restart_until_ns = 0;
    atomic_store(&core->synced, false);
    journal_restart(core->options.journal);
    if (begin(core, last_ticket, &err) < 0) { /* what worked once works again */
        log_error(&err, "The engine cannot start anew");
        abort();
    }
    engine_watch(&core->engine, probe);
    if (core->options.on_restart)
        core->options.on_restart(core->options.user, &core->engine);
    start_reflectors(core);
}

static bool is_idle(const struct engine *engine)
{
    return !engine->bindings.len && !engine->ended.len && !engine->evictions.len &&
           !engine->writes.by_ticket.len;
}

static void look_at_recording(struct core *core)
{
    int64_t now_ns = core_now(core);
    if (!core->restart_until_ns) {
        if (!journal_wants_restart(core->options.journal) || atomic_load(&core->stopping))
            return;
        log_info(1, "A new recording begins: the engine starts anew");
        core->restart_until_ns = now_ns + core->options.drain_ms * NS_PER_MS;
    }
    if (is_idle(&core->engine) || now_ns >= core->restart_until_ns)
        restart(core);
}

void core_run(struct core *core)
{
    int64_t recorder_due_ns = 0, journal_due_ns = INT64_MAX;
    struct burst burst = BURST_NONE;
    bool more = false;
    start_reflectors(core);
    while (!drained(core, core_now(core))) {
        int64_t until_ns =
            more ? 0 : MIN(MIN(MIN(next_due(core), recorder_due_ns), journal_due_ns), burst.due_ns);
        give_back(&burst, read_messages(core, inbox_take(core->options.inbox, MAX(until_ns, 0))));
        look_at_sync(core);
        tick(core);
        more = decide_some(core);
        round_ends(core);
        if (monotonic_ns() >= recorder_due_ns)
            recorder_due_ns = recorder_tick(core->options.recorder);
        journal_due_ns = journal_round(core->options.journal, monotonic_ns());
        look_at_recording(core);
    }
    stop_reflectors(core);
}

size_t core_unsettled(const struct core *core)
{
    return writes_unsettled(&core->engine.writes);
}

/* ---- from other threads ---- */
void core_call(struct core *core, void (*call)(void *context), void *context)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_CALL);
    message->call = call;
    message->context = context;
    inbox_post(core->options.inbox, message);
}

void core_stop(struct core *core)
{
    atomic_store(&core->stopping, true);
    wake(core);
}

static void now_leads(void *context)
{
    atomic_store(&((struct core *)context)->leading, true);
}

/* What a leader writes: the one before may have written last what has not arrived here yet. */
static const uint64_t written_kinds = UINT64_C(1) << KIND_POD | UINT64_C(1) << KIND_PV |
                                      UINT64_C(1) << KIND_PVC | UINT64_C(1) << KIND_RESOURCE_CLAIM;

static void lead(void *context)
{
    struct core *core = context;
    reflectors_relist(core->reflectors, written_kinds);
    core_call(core, now_leads, core); /* behind the messages that say what is in doubt */
}

void core_lead(struct core *core)
{
    core_call(core, lead, core);
}

/* ---- another configuration ---- */
struct change {
    struct core *core;
    struct engine_setup setup;
    void (*done)(void *user, int result, const struct error *err);
    void *user;
};

static bool has_new_name(const struct engine *engine, const struct scheduler_config *config)
{
    list_for(&config->profiles, profile)
        if (profile_number(engine->profiles, engine->profiles_len, profile->scheduler_name) ==
            engine->profiles_len)
            return true;
    return false;
}

static void reconfigure(void *context)
{
    struct change *change = context;
    struct core *core = change->core;
    struct error err;
    struct engine_setup setup = lend(core, &change->setup);
    bool newcomers = has_new_name(&core->engine, setup.config);
    int64_t now_ns = core_now(core);
    poller_want(core->poller, &(struct poller_wants){ 0 },
                NULL); /* its source may go with the configuration of before */
    int r = engine_reconfigure(&core->engine, &setup, now_ns, &err);
    if (r == 0) {
        journal_config(core->options.journal, setup.config, now_ns);
        core->setup = change->setup;
        reflectors_keep_source(core->reflectors, extenders_source_kinds(setup.config));
        if (newcomers ||
            core->options.announces) /* pods of other schedulers were not kept, or are now others' */
            reflectors_relist(core->reflectors, UINT64_C(1) << KIND_POD);
    } else {
        take_back(setup.owner);
    }
    want_kinds(core);
    change->done(change->user, r, r < 0 ? &err : NULL);
    free(change);
}

void core_reconfigure(struct core *core, const struct engine_setup *setup,
                      void (*done)(void *user, int result, const struct error *err), void *user)
{
    struct change *change = xcalloc(1, sizeof(*change));
    *change = (struct change){ core, *setup, done, user };
    struct inbox_message *message = inbox_message_new(MESSAGE_CALL);
    message->call = reconfigure;
    message->drop = free; /* the core may end before it comes to this */
    message->context = change;
    inbox_post(core->options.inbox, message);
}

bool core_ready(const struct core *core)
{
    return atomic_load(&core->ready);
}

struct engine *core_engine(struct core *core)
{
    return &core->engine;
}
