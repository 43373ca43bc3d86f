/* recording.c: the host of the engine that is recorded; see recording.h. */
#include "whatif/recording.h"

#include "api/fields.h"
#include "api/protobuf.h"
#include "base/clock.h"
#include "live/journal.h"
#include "sync/mirror.h"

enum { MESSAGE_NS = 10000, DECISIONS_PER_ROUND = 64 };
/* Pods that wait are tried again for so long after the last change. */
#define QUIET_NS (60 * NS_PER_SECOND)
#define FIRST_VERSION INT64_C(1000000000000)

struct wish {
    enum effect_kind kind;
    uint64_t ticket;
    struct str full_name, uid, node;
};

struct host {
    struct input *input;
    struct arena arena;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct journal *journal;
    int64_t now_ns, changed_ns, version;
    uint64_t decisions;
    VEC(struct wish) wishes;
    struct strmap pods; /* "namespace/name" to struct pod */
    struct idmap gone;  /* addresses of pods that a change takes away */
    struct error *err;
    int result;
};

/* ---- messages ---- */

static void post(struct host *host, struct inbox_message *message)
{
    journal_prepare(message);
    journal_message(host->journal, message, host->now_ns);
    if (message->kind == MESSAGE_ANSWER)
        engine_answer(&host->engine, message->ticket, &message->answer, host->now_ns);
    else
        mirror_apply(&host->mirror, message, host->now_ns);
    inbox_message_free(message);
    host->now_ns += MESSAGE_NS;
}

static void post_plain(struct host *host, enum inbox_message_kind what, enum api_kind kind)
{
    struct inbox_message *message = inbox_message_new(what);
    message->api_kind = kind;
    post(host, message);
}

/* The mirror keeps a copy of its own, as it does of what it reads from an API server. */
static void post_object(struct host *host, enum inbox_message_kind what, enum api_kind kind,
                        const struct meta *meta)
{
    _cleanup_(strbuf_release) struct strbuf bytes = { 0 };
    struct inbox_message *message = inbox_message_new(what);
    struct live_object *live = message->object = live_object_new();
    const struct object object = { .kind = kind, .ptr = (void *)meta, .meta = (struct meta *)meta };
    message->api_kind = kind;
    object_encode_protobuf(&object, &bytes);
    int r = object_decode_protobuf_as(strbuf_slice(&bytes), kind, STRINGS_COPIED, &live->arena, &live->object,
                                      host->err);
    if (r < 0) {
        host->result = r;
        inbox_message_free(message);
        return;
    }
    post(host, message);
}

static struct str key_of(struct host *host, const struct meta *meta)
{
    return arena_printf(&host->arena, META_FMT, META_ARG(meta));
}

static void set_pod(struct host *host, const struct pod *pod)
{
    strmap_put(&host->pods, key_of(host, &pod->meta), (void *)pod);
    post_object(host, MESSAGE_SET, KIND_POD, &pod->meta);
}

static void post_claims(struct host *host)
{
    struct pod_factory *factory = &host->input->expansion.factory;
    vec_for(&factory->claims, claim)
        post_object(host, MESSAGE_SET, claim->kind, claim->meta);
    vec_clear(&factory->claims);
}

/* ---- the lists ---- */

static void list_kind(struct host *host, enum api_kind kind)
{
    const struct load *load = &host->input->load;
    struct meta **objects = load_sorted(load, kind);
    post_plain(host, MESSAGE_LIST_BEGIN, kind);
    for (size_t i = 0; i < load->objects[kind].len && host->result == 0; i++) {
        if (kind != KIND_POD)
            post_object(host, MESSAGE_SET, kind, objects[i]);
        else if (!idmap_get(&host->gone, (uintptr_t)objects[i]))
            set_pod(host, (const struct pod *)objects[i]);
    }
    post_plain(host, MESSAGE_LIST_END, kind);
    free(objects);
}

static void list_all(struct host *host)
{
    struct input *input = host->input;
    vec_for(&input->changes.departures, departure)
        idmap_put(&host->gone, (uintptr_t)departure->pod, (void *)departure->pod);
    vec_clear(&input->expansion.factory.claims); /* they are among the objects */
    list_kind(host, KIND_NODE);
    for (int kind = KIND_UNKNOWN + 1; kind < KIND_COUNT; kind++)
        if (input->load.objects[kind].len && cluster_store(&host->cluster, (enum api_kind)kind))
            list_kind(host, (enum api_kind)kind);
    list_kind(host, KIND_POD);
    vec_for(&input->expansion.pods, pod)
        set_pod(host, *pod);
}

/* ---- effects ---- */

static void emit(void *context, const struct effect *effect)
{
    struct host *host = context;
    if (!effect->ticket)
        return;
    *vec_push(&host->wishes) = (struct wish){
        .kind = effect->kind,
        .ticket = effect->ticket,
        .full_name = arena_printf(&host->arena, STR_FMT "/" STR_FMT, STR_ARG(effect->namespace),
                                  STR_ARG(effect->name)),
        .uid = arena_str(&host->arena, effect->uid),
        .node = arena_str(&host->arena, effect->node),
    };
}

static void on_plugin_message(void *context, const struct plugin_message *message, int64_t now_ns)
{
    journal_plugin_message(((struct host *)context)->journal, message, now_ns);
}

static void bind_pod(struct host *host, const struct pod *pod, struct str node)
{
    struct pod *bound = arena_copy(&host->arena, struct pod, pod, 1, 1);
    bound->spec.node_name = node;
    bound->meta.resource_version = arena_printf(&host->arena, "%lld", (long long)++host->version);
    set_pod(host, bound);
}

static void delete_pod(struct host *host, const struct pod *pod)
{
    strmap_remove(&host->pods, key_of(host, &pod->meta));
    post_object(host, MESSAGE_REMOVE, KIND_POD, &pod->meta);
    const struct pod *next = expansion_replace(&host->input->expansion, pod);
    if (!next)
        return;
    post_claims(host);
    set_pod(host, next);
}

static void carry_out(struct host *host, const struct wish *wish)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    const struct pod *pod = strmap_get(&host->pods, wish->full_name);
    bool is_known = wish->kind == EFFECT_BIND || wish->kind == EFFECT_POD_STATUS ||
                    wish->kind == EFFECT_DELETE_POD || wish->kind == EFFECT_READ_POD;
    message->ticket = wish->ticket;
    message->answer.kind = !is_known ? ANSWER_REFUSED : pod ? ANSWER_DONE : ANSWER_GONE;
    if (!is_known)
        message->answer.message = STR("no controller does this in a recorded simulation");
    if (wish->kind == EFFECT_READ_POD) {
        message->answer.uid = arena_str(&message->texts, wish->uid);
        message->answer.node = pod ? arena_str(&message->texts, pod->spec.node_name) : (struct str){ 0 };
    }
    post(host, message);
    if (!pod || (wish->kind != EFFECT_BIND && wish->kind != EFFECT_DELETE_POD))
        return;
    host->changed_ns = host->now_ns;
    if (wish->kind == EFFECT_BIND)
        bind_pod(host, pod, wish->node);
    else
        delete_pod(host, pod);
}

/* ---- the run ---- */

static bool decide(struct host *host)
{
    struct decision decision;
    bool decided = true;
    size_t before = host->decisions;
    engine_tick(&host->engine, host->now_ns);
    journal_tick(host->journal, host->now_ns);
    for (int i = 0; i < DECISIONS_PER_ROUND && decided; i++) {
        decided = engine_step(&host->engine, host->now_ns, &decision);
        journal_step(host->journal, &host->cluster, decided ? &decision : NULL, host->now_ns);
        host->decisions += decided;
    }
    bool had_wishes = host->wishes.len;
    for (size_t i = 0; i < host->wishes.len && host->result == 0; i++) {
        struct wish wish = host->wishes.items[i]; /* more may come */
        carry_out(host, &wish);
    }
    vec_clear(&host->wishes);
    journal_round(host->journal, host->now_ns);
    return had_wishes || host->decisions > before;
}

/* Until nothing has changed for a while. */
static void run(struct host *host)
{
    host->changed_ns = host->now_ns;
    while (host->result == 0) {
        if (decide(host))
            continue;
        int64_t due = engine_next_due(&host->engine);
        if (due == INT64_MAX || due > host->changed_ns + QUIET_NS)
            return;
        host->now_ns = MAX(host->now_ns + MESSAGE_NS, due);
    }
}

static int begin(struct host *host, const struct sim_options *options)
{
    const struct engine_options engine = {
        .config = &host->input->config,
        .registry = host->input->registry,
        .seed = options->seed,
        .now_ns = host->now_ns,
        .percentage = options->percentage,
        .slowest = PATH_INDEX,
        .host = { .emit = emit, .on_plugin_message = on_plugin_message, .context = host },
    };
    cluster_init(&host->cluster);
    host->cluster.features = host->input->cluster.features;
    journal_head(host->journal, &engine);
    int r = engine_init(&host->engine, &host->cluster, &engine, host->err);
    if (r == 0)
        mirror_init(&host->mirror, &host->engine);
    return r;
}

static void end(struct host *host, bool is_ready)
{
    engine_release(&host->engine);
    if (is_ready)
        mirror_release(&host->mirror);
    cluster_release(&host->cluster);
    vec_release(&host->wishes);
    strmap_release(&host->pods);
    idmap_release(&host->gone);
    arena_release(&host->arena);
}

static int record(struct input *input, struct journal *journal, const struct sim_options *options,
                  uint64_t *ret_decisions, struct error *err)
{
    struct host host = {
        .input = input, .journal = journal, .now_ns = options->wall_ns, .version = FIRST_VERSION, .err = err
    };
    int r = begin(&host, options);
    if (r == 0) {
        list_all(&host);
        if (host.result == 0)
            run(&host);
        *ret_decisions = host.decisions;
    }
    int failed = r < 0 ? r : host.result;
    end(&host, r == 0);
    return failed;
}

int simulation_record(const struct input *input, const struct change_requests *changes, const char *dir,
                      const struct sim_options *options, uint64_t *ret_decisions, struct error *err)
{
    _cleanup_(input_release) struct input fork = { 0 };
    struct journal *journal = NULL;
    if (input->config.extenders.len)
        return error_set(err, -ENOTSUP, "--record: a configuration with extenders cannot be recorded here");
    if (input->policy_set)
        return error_set(err, -ENOTSUP, "--record: a simulation with policies cannot be recorded");
    int r = input_fork(&fork, input, NULL, changes, err);
    if (r == 0)
        r = expansion_run(&fork.expansion, err);
    if (r == 0)
        r = journal_open(&(struct journal_options){ .dir = dir, .features = &fork.cluster.features },
                         &journal, err);
    if (r == 0)
        r = record(&fork, journal, options, ret_decisions, err);
    if (journal && r == 0 && journal_stats(journal).ended)
        r = error_set(err, -EIO, "--record: the recording could not be written to %s", dir);
    journal_close(journal);
    return r;
}
