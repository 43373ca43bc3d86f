/* recorded.h: a small random cluster with an engine whose inputs are recorded.
 *
 * It acts as the API server too: objects are listed when an engine starts, bindings and evictions succeed or fail at
 * random, pods come and go. */
#ifndef UNIT_REPLAY_RECORDED_H
#define UNIT_REPLAY_RECORDED_H

#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/protobuf.h"
#include "base/log.h"
#include "plugins/registry.h"
#include "replay/replay.h"

#define SECOND INT64_C(1000000000)
#define SECRET "correct horse battery staple"
#define RECORDED_BEGINS_NS (1767225600 * SECOND)
enum { RECORDED_NODES = 12, RECORDED_PODS_MAX = 90 };

struct recorded_wish {
    enum effect_kind kind;
    uint64_t ticket;
    char name[64], uid[64], node[64];
};

struct recorded_pod {
    uint64_t number;
    char node[64];
};

struct recorded_options {
    struct journal_options journal;  /* without its directory */
    const struct registry *registry; /* NULL: the built-in plugins */
    const char *config;              /* a text; NULL: the default */
    int64_t unschedulable_max_ns;
    const char *(*labels)(uint64_t number); /* more labels of a pod: ", key: value"; NULL: none */
    bool settles;                           /* all answers succeed */
};

struct recorded {
    struct recorded_options options;
    char dir[64];
    struct rng rng;
    struct arena arena;
    struct scheduler_config config;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct journal *journal;
    int64_t now_ns;
    uint64_t seed, version, decisions, restarts;
    VEC(struct recorded_wish) wishes;
    bool closed[RECORDED_NODES];
    VEC(struct recorded_pod) pods; /* oldest first */
};

/* ---- messages ---- */

static inline void recorded_post(struct recorded *recorded, struct inbox_message *message)
{
    journal_prepare(message);
    journal_message(recorded->journal, message, recorded->now_ns);
    if (message->kind == MESSAGE_ANSWER)
        engine_answer(&recorded->engine, message->ticket, &message->answer, recorded->now_ns);
    else
        mirror_apply(&recorded->mirror, message, recorded->now_ns);
    inbox_message_free(message);
    recorded->now_ns += SECOND / 1000;
}

static inline void recorded_post_plain(struct recorded *recorded, enum inbox_message_kind message_kind,
                                       enum api_kind kind)
{
    struct inbox_message *message = inbox_message_new(message_kind);
    message->api_kind = kind;
    recorded_post(recorded, message);
}

static inline void recorded_post_object(struct recorded *recorded, enum inbox_message_kind message_kind,
                                        enum api_kind kind, const char *format, ...) _printf_(4, 5);
static inline void recorded_post_object(struct recorded *recorded, enum inbox_message_kind message_kind,
                                        enum api_kind kind, const char *format, ...)
{
    struct strbuf text = { 0 };
    va_list args;
    char *body;
    va_start(args, format);
    assert_true(vasprintf(&body, format, args) >= 0);
    va_end(args);
    strbuf_puts(&text, body);
    free(body);
    strbuf_add(&text, (const char[YYJSON_PADDING_SIZE]){ 0 }, YYJSON_PADDING_SIZE);

    struct inbox_message *message = inbox_message_new(message_kind);
    struct live_object *live = message->object = live_object_new();
    struct doc_stream stream;
    struct doc doc;
    struct error err;
    doc_stream_init(&stream, "object", text.text, text.len - YYJSON_PADDING_SIZE);
    if (doc_stream_next(&stream, &doc, &err) <= 0 ||
        object_decode_as(&doc, doc.root, kind, &live->arena, &live->object, &err) < 0)
        fail_msg("%s", err.text);
    doc_release(&doc);
    /* Strings may point into the text: a copy through protobuf has them in its arena. */
    struct strbuf bytes = { 0 };
    object_encode_protobuf(&live->object, &bytes);
    struct live_object *copy = message->object = live_object_new();
    if (object_decode_protobuf(strbuf_slice(&bytes), STRINGS_COPIED, &copy->arena, &copy->object, &err) < 0)
        fail_msg("%s", err.text);
    live_object_free(live);
    strbuf_release(&bytes);
    doc_stream_release(&stream);
    message->api_kind = kind;
    recorded_post(recorded, message);
}

static inline void recorded_set_node(struct recorded *recorded, uint64_t number)
{
    recorded_post_object(
        recorded, MESSAGE_SET, KIND_NODE,
        "{metadata: {name: node-%llu, uid: n%llu, resourceVersion: '%llu', labels: {zone: z%llu}}, "
        "spec: {unschedulable: %s}, status: {allocatable: {cpu: '%llu', memory: 8Gi, pods: 20}}}",
        (unsigned long long)number, (unsigned long long)number, (unsigned long long)++recorded->version,
        (unsigned long long)number % 3, recorded->closed[number] ? "true" : "false",
        (unsigned long long)(2 + number % 4));
}

static inline void recorded_set_pod(struct recorded *recorded, const struct recorded_pod *pod)
{
    unsigned long long n = pod->number;
    recorded_post_object(
        recorded, MESSAGE_SET, KIND_POD,
        "{metadata: {name: pod-%llu, namespace: default, uid: p%llu, resourceVersion: '%llu', labels: {app: "
        "a%llu%s}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '" SECRET "'}, "
        "creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {schedulerName: default-scheduler, nodeName: "
        "'%s', "
        "priority: %llu, containers: [{name: c, env: [{name: PASSWORD, value: '" SECRET "'}], resources: "
        "{requests: {cpu: %llum, memory: 64Mi}}}]%s}}",
        n, n, (unsigned long long)++recorded->version, n % 5,
        recorded->options.labels ? recorded->options.labels(n) : "", pod->node, n % 11 == 0 ? 1000ull : 0ull,
        100 + n % 7 * 150,
        n % 4 ? ""
              : ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                "DoNotSchedule, labelSelector: {matchLabels: {app: a0}}}]");
}

static inline struct recorded_pod *recorded_find(struct recorded *recorded, const char *name)
{
    uint64_t number = strtoull(name + 4, NULL, 10);
    vec_for(&recorded->pods, pod)
        if (pod->number == number)
            return pod;
    return NULL;
}

static inline void recorded_add_pod(struct recorded *recorded, uint64_t number)
{
    *vec_push(&recorded->pods) = (struct recorded_pod){ .number = number };
    recorded_set_pod(recorded, &recorded->pods.items[recorded->pods.len - 1]);
}

static inline void recorded_remove_pod(struct recorded *recorded, struct recorded_pod *pod)
{
    unsigned long long number = pod->number;
    size_t at = (size_t)(pod - recorded->pods.items);
    memmove(pod, pod + 1, (--recorded->pods.len - at) * sizeof(*pod));
    recorded_post_object(
        recorded, MESSAGE_REMOVE, KIND_POD,
        "{metadata: {name: pod-%llu, namespace: default, uid: p%llu, resourceVersion: '%llu'}}", number,
        number, (unsigned long long)++recorded->version);
}

/* ---- the host ---- */

static inline void recorded_emit(void *context, const struct effect *effect)
{
    struct recorded *recorded = context;
    if (!effect->ticket)
        return;
    struct recorded_wish *wish = vec_push(&recorded->wishes);
    *wish = (struct recorded_wish){ .kind = effect->kind, .ticket = effect->ticket };
    snprintf(wish->name, sizeof(wish->name), STR_FMT, STR_ARG(effect->name));
    snprintf(wish->uid, sizeof(wish->uid), STR_FMT, STR_ARG(effect->uid));
    snprintf(wish->node, sizeof(wish->node), STR_FMT, STR_ARG(effect->node));
}

static inline void recorded_plugin_message(void *context, const struct plugin_message *message,
                                           int64_t now_ns)
{
    journal_plugin_message(((struct recorded *)context)->journal, message, now_ns);
}

static inline void recorded_answer(struct recorded *recorded, const struct recorded_wish *wish)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    uint64_t luck = recorded->options.settles ? 19 : rng_below(&recorded->rng, 20);
    message->ticket = wish->ticket;
    message->answer.kind = luck == 0                                ? ANSWER_UNKNOWN
                           : luck == 1 && wish->kind == EFFECT_BIND ? ANSWER_REFUSED
                                                                    : ANSWER_DONE;
    message->answer.message = STR("a sentence");
    enum answer_kind kind = message->answer.kind;
    if (wish->kind == EFFECT_READ_POD)
        message->answer.uid = arena_str(&message->texts, str_from(wish->uid));
    recorded_post(recorded, message);
    struct recorded_pod *pod = recorded_find(recorded, wish->name);
    if (!pod || kind != ANSWER_DONE)
        return;
    if (wish->kind == EFFECT_BIND) {
        snprintf(pod->node, sizeof(pod->node), "%s", wish->node);
        recorded_set_pod(recorded, pod);
    } else if (wish->kind == EFFECT_DELETE_POD) {
        recorded_remove_pod(recorded, pod);
    }
}

static inline void recorded_answer_all(struct recorded *recorded)
{
    while (recorded->wishes.len) {
        struct recorded_wish wish = recorded->wishes.items[0];
        memmove(recorded->wishes.items, recorded->wishes.items + 1, --recorded->wishes.len * sizeof(wish));
        recorded_answer(recorded, &wish);
    }
}

static inline void recorded_tick(struct recorded *recorded)
{
    engine_tick(&recorded->engine, recorded->now_ns);
    journal_tick(recorded->journal, recorded->now_ns);
}

static inline void recorded_decide(struct recorded *recorded)
{
    struct decision decision;
    recorded_tick(recorded);
    for (int i = 0; i < 8; i++) {
        bool decided = engine_step(&recorded->engine, recorded->now_ns, &decision);
        journal_step(recorded->journal, &recorded->cluster, decided ? &decision : NULL, recorded->now_ns);
        recorded->decisions += decided;
        if (!decided)
            break;
    }
    recorded_answer_all(recorded);
    journal_round(recorded->journal, recorded->now_ns);
}

/* ---- the cluster ---- */

static inline const struct registry *recorded_registry(const struct recorded *recorded)
{
    return recorded->options.registry ? recorded->options.registry : &builtin_plugins;
}

static inline void recorded_read_config(struct recorded *recorded, const char *text,
                                        struct scheduler_config *ret)
{
    struct error err = { "" };
    struct plugin_catalog catalog = registry_catalog(recorded_registry(recorded), &recorded->arena);
    const struct config_env env = { .catalog = &catalog, .features = recorded->options.journal.features };
    int r;
    if (text) {
        char *copy = xcalloc(1, strlen(text) + YYJSON_PADDING_SIZE);
        memcpy(copy, text, strlen(text));
        r = config_load_text("config", copy, strlen(text), &env, &recorded->arena, ret, NULL, &err);
    } else {
        r = config_default(&env, &recorded->arena, ret, &err);
    }
    if (r < 0)
        fail_msg("%s", err.text);
}

/* A new engine, and the lists of all objects. */
static inline void recorded_begin(struct recorded *recorded)
{
    struct error err;
    const struct engine_options engine = {
        .config = &recorded->config,
        .registry = recorded_registry(recorded),
        .seed = recorded->seed,
        .now_ns = recorded->now_ns,
        .slowest = PATH_INDEX,
        .unschedulable_max_ns = recorded->options.unschedulable_max_ns,
        .host = { .emit = recorded_emit, .on_plugin_message = recorded_plugin_message, .context = recorded },
    };
    cluster_init(&recorded->cluster);
    if (recorded->options.journal.features)
        recorded->cluster.features = *recorded->options.journal.features;
    journal_head(recorded->journal, &engine);
    if (engine_init(&recorded->engine, &recorded->cluster, &engine, &err) < 0)
        fail_msg("%s", err.text);
    mirror_init(&recorded->mirror, &recorded->engine);
    recorded_post_plain(recorded, MESSAGE_LIST_BEGIN, KIND_NODE);
    for (uint64_t i = 0; i < RECORDED_NODES; i++)
        recorded_set_node(recorded, i);
    recorded_post_plain(recorded, MESSAGE_LIST_END, KIND_NODE);
    recorded_post_plain(recorded, MESSAGE_ABSENT, KIND_RESOURCE_CLAIM);
    recorded_post_plain(recorded, MESSAGE_LIST_BEGIN, KIND_POD);
    vec_for(&recorded->pods, pod)
        recorded_set_pod(recorded, pod);
    recorded_post_plain(recorded, MESSAGE_LIST_END, KIND_POD);
}

static inline void recorded_open(struct recorded *recorded, const struct recorded_options *options)
{
    struct error err;
    *recorded = (struct recorded){ .options = *options,
                                   .dir = "/tmp/berth-replay-XXXXXX",
                                   .rng = test_rng(),
                                   .now_ns = RECORDED_BEGINS_NS,
                                   .seed = 42 };
    assert_non_null(mkdtemp(recorded->dir));
    recorded->options.journal.dir = recorded->dir;
    assert_int_equal(journal_open(&recorded->options.journal, &recorded->journal, &err), 0);
    recorded_read_config(recorded, options->config, &recorded->config);
    recorded_begin(recorded);
}

static inline void recorded_round(struct recorded *recorded)
{
    for (uint64_t more = rng_below(&recorded->rng, 4); more; more--)
        recorded_add_pod(recorded, recorded->version);
    if (rng_below(&recorded->rng, 3) == 0) {
        uint64_t number = rng_below(&recorded->rng, RECORDED_NODES);
        recorded->closed[number] = rng_below(&recorded->rng, 4) == 0;
        recorded_set_node(recorded, number);
    }
    if (recorded->pods.len > RECORDED_PODS_MAX)
        while (recorded->pods.len > RECORDED_PODS_MAX * 3 / 4)
            recorded_remove_pod(recorded, &recorded->pods.items[0]);
    recorded->now_ns += (int64_t)rng_below(&recorded->rng, 3) * SECOND;
    recorded_decide(recorded);
}

static inline void recorded_end_engine(struct recorded *recorded)
{
    engine_release(&recorded->engine);
    mirror_release(&recorded->mirror);
    cluster_release(&recorded->cluster);
    vec_clear(&recorded->wishes);
}

/* As the core does when the journal requests a new recording. */
static inline void recorded_restart(struct recorded *recorded)
{
    recorded_answer_all(recorded);
    recorded_end_engine(recorded);
    journal_restart(recorded->journal);
    recorded->seed++;
    recorded->restarts++;
    recorded_begin(recorded);
}

/* The process ends. */
static inline void recorded_stop(struct recorded *recorded)
{
    recorded_end_engine(recorded);
    journal_close(recorded->journal);
    recorded->journal = NULL;
    vec_release(&recorded->wishes);
    vec_release(&recorded->pods);
}

static inline void recorded_each_file(const struct recorded *recorded,
                                      void (*visit)(const char *path, void *context), void *context)
{
    DIR *dir = opendir(recorded->dir);
    char path[512];
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", recorded->dir, entry->d_name);
            visit(path, context);
        }
    closedir(dir);
}

static inline void recorded_remove_file(const char *path, void *context _unused_)
{
    unlink(path);
}

static inline void recorded_forget(struct recorded *recorded)
{
    recorded_each_file(recorded, recorded_remove_file, NULL);
    rmdir(recorded->dir);
    config_release(&recorded->config);
    arena_release(&recorded->arena);
}

/* ---- replay ---- */

/* `path` NULL: the directory. */
static inline struct replay *recorded_replay(const struct recorded *recorded, const char *path,
                                             const struct replay_options *options, int expected)
{
    struct replay *ret = xcalloc(1, sizeof(*ret));
    struct replay_options given = *options;
    struct error err = { "" };
    given.path = path ? path : recorded->dir;
    given.registry = recorded->options.registry;
    if (!given.until_ns)
        given.until_ns = INT64_MAX;
    if (!given.from_ns)
        given.from_ns = INT64_MIN;
    int r = replay_run(ret, &given, &err);
    if (r != expected && !(r < 0 && expected < 0))
        fail_msg("%d instead of %d: %s", r, expected, err.text);
    if (ret->difference.there) {
        struct strbuf text = { 0 };
        replay_say(ret->difference.recorded, &text);
        strbuf_puts(&text, " | ");
        replay_say(ret->difference.here, &text);
        printf("difference at %llu: %s\n", (unsigned long long)ret->difference.number, text.text);
        strbuf_release(&text);
    }
    return ret;
}

static inline void recorded_drop(struct replay *replay)
{
    replay_release(replay);
    free(replay);
}

#endif
