/* core.c: the loop. */
#include "client/core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"

/* Letters are looked at after so many decisions, or so much time, whatever comes first: answers and changes wait no
 * longer than that. */
enum { DECISIONS_PER_ROUND = 64, DRAIN_MS_DEFAULT = 5000, TABLES_BYTES_MAX = 24 << 20 };
#define ROUND_NS ((int64_t)2000000)
#define NS_PER_MS ((int64_t)1000000)

struct core {
    struct core_options options;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct reflectors *reflectors;
    enum api_kind *kinds; /* that are watched */
    size_t kinds_len;
    int64_t
        epoch_ns; /* what CLOCK_MONOTONIC lacks to be the time: a jump of the clock does not move the queue */
    atomic_bool synced, stopping, leading;
    int64_t drain_until_ns;
    int64_t round_due_ns; /* of on_round */
};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static int64_t core_now(const struct core *core)
{
    return core->epoch_ns + clock_ns(CLOCK_MONOTONIC);
}

/* ---- what the log says ---- */
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
    else {
        struct error err;
        error_set(&err, 0, STR_FMT, STR_ARG(notice->message));
        log_error(&err, "Error scheduling pod; retrying", pod_ref(notice->pod));
    }
    if (core->options.on_notice)
        core->options.on_notice(core->options.user, notice);
}

static void log_decision(const struct core *core, const struct decision *decision)
{
    const struct pod *pod = decision->pod->api;
    if (decision->is_deleted) {
        log_info(3, "Skip schedule deleting pod", pod_ref(pod));
    } else if (decision->row != ROW_NONE) {
        log_info(3, "Attempting to bind pod to node", pod_ref(pod),
                 log_str("node", cluster_node_name(&core->cluster, decision->row)));
    } else if (decision->is_error) {
        struct error err;
        error_set(&err, 0, STR_FMT, STR_ARG(decision->message));
        log_error(&err, "Error scheduling pod; retrying", pod_ref(pod));
    } else if (!core->cluster.live_nodes) {
        log_info(2, "Unable to schedule pod; no nodes are registered to the cluster; waiting", pod_ref(pod));
    } else {
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

static void list_kinds(struct core *core)
{
    core->kinds_len = watched_kind_count;
    core->kinds = xcalloc(watched_kind_count, sizeof(*core->kinds));
    for (size_t i = 0; i < watched_kind_count; i++)
        core->kinds[i] = watched_kinds[i].kind;
}

int core_new(const struct core_options *options, struct core **ret, struct error *err)
{
    struct core *core = xcalloc(1, sizeof(*core));
    core->options = *options;
    if (!core->options.drain_ms)
        core->options.drain_ms = DRAIN_MS_DEFAULT;
    core->epoch_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    core->round_due_ns = INT64_MAX;
    atomic_init(&core->leading, !options->elected);
    list_kinds(core);
    cluster_init(&core->cluster);
    int64_t now_ns = core_now(core);
    journal_head(options->journal, options->config, options->seed, now_ns);
    int r = engine_init(&core->engine, &core->cluster,
                        &(struct engine_options){
                            .config = options->config,
                            .registry = options->registry,
                            .seed = options->seed,
                            .now_ns = now_ns,
                            .slowest = PATH_INDEX,
                            .unschedulable_max_ns = options->unschedulable_max_ns,
                            .tables_bytes_max = TABLES_BYTES_MAX,
                            .extenders = journal_extenders(options->journal, options->extenders),
                            .host = { .emit = emit, .notice = on_notice, .wake = wake, .context = core },
                        },
                        err);
    if (r < 0) {
        core_free(core);
        return r;
    }
    mirror_init(&core->mirror, &core->engine);
    *ret = core;
    return 0;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    reflectors_stop(core->reflectors);
    engine_release(&core->engine);
    if (core->mirror.engine)
        mirror_release(&core->mirror);
    cluster_release(&core->cluster);
    free(core->kinds);
    free(core);
}

/* ---- letters ---- */
static void read_letters(struct core *core, struct letter *letter)
{
    while (letter) {
        struct letter *next = letter->next;
        int64_t now_ns = core_now(core);
        journal_letter(core->options.journal, letter, now_ns);
        if (letter->kind == LETTER_ANSWER)
            engine_answer(&core->engine, letter->ticket, &letter->answer, now_ns);
        else if (letter->kind == LETTER_CALL)
            letter->call(letter->context);
        else
            mirror_apply(&core->mirror, letter, now_ns);
        letter_free(letter);
        letter = next;
    }
}

static void look_at_sync(struct core *core)
{
    bool was = atomic_load_explicit(&core->synced, memory_order_relaxed);
    bool is = mirror_synced(&core->mirror, core->kinds, core->kinds_len);
    atomic_store_explicit(&core->synced, is, memory_order_relaxed);
    if (is && !was)
        log_info(1, "Caches are synced", log_int("nodes", core->cluster.live_nodes),
                 log_int("pods", (int64_t)core->cluster.pods.len));
}

/* ---- decisions ---- */
static bool may_decide(const struct core *core)
{
    return atomic_load_explicit(&core->synced, memory_order_relaxed) &&
           atomic_load_explicit(&core->leading, memory_order_relaxed) &&
           !atomic_load_explicit(&core->stopping, memory_order_relaxed);
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
    if (!core->drain_until_ns)
        core->drain_until_ns = now_ns + core->options.drain_ms * NS_PER_MS;
    size_t open = core->engine.writes.by_ticket.len;
    if (open && now_ns < core->drain_until_ns)
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
        due_ns = MIN(due_ns, core->drain_until_ns);
    return due_ns == INT64_MAX ? INT64_MAX : due_ns - core->epoch_ns;
}

static void tick(struct core *core)
{
    int64_t now_ns = core_now(core);
    journal_tick(core->options.journal, now_ns);
    engine_tick(&core->engine, now_ns);
}

void core_run(struct core *core)
{
    int64_t recorder_due_ns = 0, journal_due_ns = INT64_MAX;
    bool more = false;
    core->reflectors =
        reflectors_start(core->options.api, core->options.inbox,
                         &(struct reflector_options){ .whole_kinds = core->options.whole_kinds });
    while (!drained(core, core_now(core))) {
        int64_t until_ns = more ? 0 : MIN(MIN(next_due(core), recorder_due_ns), journal_due_ns);
        read_letters(core, inbox_take(core->options.inbox, MAX(until_ns, 0)));
        look_at_sync(core);
        tick(core);
        more = decide_some(core);
        round_ends(core);
        if (clock_ns(CLOCK_MONOTONIC) >= recorder_due_ns)
            recorder_due_ns = recorder_tick(core->options.recorder);
        journal_due_ns = journal_round(core->options.journal, clock_ns(CLOCK_MONOTONIC));
    }
    reflectors_stop(core->reflectors);
    core->reflectors = NULL;
}

/* ---- from other threads ---- */
void core_call(struct core *core, void (*call)(void *context), void *context)
{
    struct letter *letter = letter_new(LETTER_CALL);
    letter->call = call;
    letter->context = context;
    inbox_post(core->options.inbox, letter);
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
static const enum api_kind written_kinds[] = { KIND_POD, KIND_PV, KIND_PVC };

static void lead(void *context)
{
    struct core *core = context;
    for (size_t i = 0; i < ARRAY_SIZE(written_kinds); i++)
        reflectors_relist(core->reflectors, written_kinds[i]);
    core_call(core, now_leads, core); /* behind the letters that say what is in doubt */
}

void core_lead(struct core *core)
{
    core_call(core, lead, core);
}

bool core_synced(const struct core *core)
{
    return atomic_load(&core->synced);
}

struct engine *core_engine(struct core *core)
{
    return &core->engine;
}
