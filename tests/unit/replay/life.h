/* life.h: a small cluster that lives for a while in front of an engine that is recorded, for tests.
 *
 * It plays the API server too: what it has is listed when an engine begins, binds and evictions become true or fail at
 * random, pods come and go. */
#ifndef UNIT_SIM_LIFE_H
#define UNIT_SIM_LIFE_H

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
#define LIFE_BEGINS_NS (1767225600 * SECOND)
enum { LIFE_NODES = 12, LIFE_PODS_MAX = 90 };

struct life_wish {
    enum effect_kind kind;
    uint64_t ticket;
    char name[64], uid[64], node[64];
};

struct life_pod {
    uint64_t number;
    char node[64];
};

struct life_options {
    struct journal_options journal;  /* but for its folder */
    const struct registry *registry; /* NULL: the built-in plugins */
    const char *config;              /* a text; NULL: by default */
    int64_t unschedulable_max_ns;
    const char *(*labels)(uint64_t number); /* more labels of a pod: ", key: value"; NULL: none */
    bool settles;                           /* answers are never bad */
};

struct life {
    struct life_options options;
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
    VEC(struct life_wish) wishes;
    bool closed[LIFE_NODES];
    VEC(struct life_pod) pods; /* oldest first */
};

/* ---- messages ---- */

static inline void life_post(struct life *life, struct inbox_message *message)
{
    journal_prepare(message);
    journal_message(life->journal, message, life->now_ns);
    if (message->kind == MESSAGE_ANSWER)
        engine_answer(&life->engine, message->ticket, &message->answer, life->now_ns);
    else
        mirror_apply(&life->mirror, message, life->now_ns);
    inbox_message_free(message);
    life->now_ns += SECOND / 1000;
}

static inline void life_post_plain(struct life *life, enum inbox_message_kind message_kind,
                                   enum api_kind kind)
{
    struct inbox_message *message = inbox_message_new(message_kind);
    message->api_kind = kind;
    life_post(life, message);
}

static inline void life_post_object(struct life *life, enum inbox_message_kind message_kind,
                                    enum api_kind kind, const char *format, ...) _printf_(4, 5);
static inline void life_post_object(struct life *life, enum inbox_message_kind message_kind,
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
    /* Strings may lie in the text: a copy through the wire has them in its arena. */
    struct strbuf wire = { 0 };
    object_encode_protobuf(&live->object, &wire);
    struct live_object *copy = message->object = live_object_new();
    if (object_decode_protobuf(strbuf_slice(&wire), STRINGS_COPIED, &copy->arena, &copy->object, &err) < 0)
        fail_msg("%s", err.text);
    live_object_free(live);
    strbuf_release(&wire);
    doc_stream_release(&stream);
    message->api_kind = kind;
    life_post(life, message);
}

static inline void life_set_node(struct life *life, uint64_t number)
{
    life_post_object(
        life, MESSAGE_SET, KIND_NODE,
        "{metadata: {name: node-%llu, uid: n%llu, resourceVersion: '%llu', labels: {zone: z%llu}}, "
        "spec: {unschedulable: %s}, status: {allocatable: {cpu: '%llu', memory: 8Gi, pods: 20}}}",
        (unsigned long long)number, (unsigned long long)number, (unsigned long long)++life->version,
        (unsigned long long)number % 3, life->closed[number] ? "true" : "false",
        (unsigned long long)(2 + number % 4));
}

static inline void life_set_pod(struct life *life, const struct life_pod *pod)
{
    unsigned long long n = pod->number;
    life_post_object(
        life, MESSAGE_SET, KIND_POD,
        "{metadata: {name: pod-%llu, namespace: default, uid: p%llu, resourceVersion: '%llu', labels: {app: "
        "a%llu%s}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '" SECRET "'}, "
        "creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {schedulerName: default-scheduler, nodeName: "
        "'%s', "
        "priority: %llu, containers: [{name: c, env: [{name: PASSWORD, value: '" SECRET "'}], resources: "
        "{requests: {cpu: %llum, memory: 64Mi}}}]%s}}",
        n, n, (unsigned long long)++life->version, n % 5, life->options.labels ? life->options.labels(n) : "",
        pod->node, n % 11 == 0 ? 1000ull : 0ull, 100 + n % 7 * 150,
        n % 4 ? ""
              : ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                "DoNotSchedule, labelSelector: {matchLabels: {app: a0}}}]");
}

static inline struct life_pod *life_find(struct life *life, const char *name)
{
    uint64_t number = strtoull(name + 4, NULL, 10);
    vec_for(&life->pods, pod)
        if (pod->number == number)
            return pod;
    return NULL;
}

static inline void life_add_pod(struct life *life, uint64_t number)
{
    *vec_push(&life->pods) = (struct life_pod){ .number = number };
    life_set_pod(life, &life->pods.items[life->pods.len - 1]);
}

static inline void life_remove_pod(struct life *life, struct life_pod *pod)
{
    unsigned long long number = pod->number;
    size_t at = (size_t)(pod - life->pods.items);
    memmove(pod, pod + 1, (--life->pods.len - at) * sizeof(*pod));
    life_post_object(life, MESSAGE_REMOVE, KIND_POD,
                     "{metadata: {name: pod-%llu, namespace: default, uid: p%llu, resourceVersion: '%llu'}}",
                     number, number, (unsigned long long)++life->version);
}

/* ---- the host ---- */

static inline void life_emit(void *context, const struct effect *effect)
{
    struct life *life = context;
    if (!effect->ticket)
        return;
    struct life_wish *wish = vec_push(&life->wishes);
    *wish = (struct life_wish){ .kind = effect->kind, .ticket = effect->ticket };
    snprintf(wish->name, sizeof(wish->name), STR_FMT, STR_ARG(effect->name));
    snprintf(wish->uid, sizeof(wish->uid), STR_FMT, STR_ARG(effect->uid));
    snprintf(wish->node, sizeof(wish->node), STR_FMT, STR_ARG(effect->node));
}

static inline void life_plugin_message(void *context, const struct plugin_message *message, int64_t now_ns)
{
    journal_plugin_message(((struct life *)context)->journal, message, now_ns);
}

static inline void life_answer(struct life *life, const struct life_wish *wish)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    uint64_t luck = life->options.settles ? 19 : rng_below(&life->rng, 20);
    message->ticket = wish->ticket;
    message->answer.kind = luck == 0                                ? ANSWER_UNKNOWN
                           : luck == 1 && wish->kind == EFFECT_BIND ? ANSWER_REFUSED
                                                                    : ANSWER_DONE;
    message->answer.message = STR("a sentence");
    enum answer_kind kind = message->answer.kind;
    if (wish->kind == EFFECT_READ_POD)
        message->answer.uid = arena_str(&message->texts, str_from(wish->uid));
    life_post(life, message);
    struct life_pod *pod = life_find(life, wish->name);
    if (!pod || kind != ANSWER_DONE)
        return;
    if (wish->kind == EFFECT_BIND) {
        snprintf(pod->node, sizeof(pod->node), "%s", wish->node);
        life_set_pod(life, pod);
    } else if (wish->kind == EFFECT_DELETE_POD) {
        life_remove_pod(life, pod);
    }
}

static inline void life_answer_all(struct life *life)
{
    while (life->wishes.len) {
        struct life_wish wish = life->wishes.items[0];
        memmove(life->wishes.items, life->wishes.items + 1, --life->wishes.len * sizeof(wish));
        life_answer(life, &wish);
    }
}

static inline void life_tick(struct life *life)
{
    engine_tick(&life->engine, life->now_ns);
    journal_tick(life->journal, life->now_ns);
}

static inline void life_decide(struct life *life)
{
    struct decision decision;
    life_tick(life);
    for (int i = 0; i < 8; i++) {
        bool decided = engine_step(&life->engine, life->now_ns, &decision);
        journal_step(life->journal, &life->cluster, decided ? &decision : NULL, life->now_ns);
        life->decisions += decided;
        if (!decided)
            break;
    }
    life_answer_all(life);
    journal_round(life->journal, life->now_ns);
}

/* ---- life ---- */

static inline const struct registry *life_registry(const struct life *life)
{
    return life->options.registry ? life->options.registry : &builtin_plugins;
}

static inline void life_read_config(struct life *life, const char *text, struct scheduler_config *ret)
{
    struct error err = { "" };
    struct plugin_catalog catalog = registry_catalog(life_registry(life), &life->arena);
    const struct config_env env = { .catalog = &catalog };
    int r;
    if (text) {
        char *copy = xcalloc(1, strlen(text) + YYJSON_PADDING_SIZE);
        memcpy(copy, text, strlen(text));
        r = config_load_text("config", copy, strlen(text), &env, &life->arena, ret, NULL, &err);
    } else {
        r = config_default(&env, &life->arena, ret, &err);
    }
    if (r < 0)
        fail_msg("%s", err.text);
}

/* An engine that knows nothing, and the lists of what there is. */
static inline void life_begin(struct life *life)
{
    struct error err;
    const struct engine_options engine = {
        .config = &life->config,
        .registry = life_registry(life),
        .seed = life->seed,
        .now_ns = life->now_ns,
        .slowest = PATH_INDEX,
        .unschedulable_max_ns = life->options.unschedulable_max_ns,
        .host = { .emit = life_emit, .on_plugin_message = life_plugin_message, .context = life },
    };
    cluster_init(&life->cluster);
    journal_head(life->journal, &engine);
    if (engine_init(&life->engine, &life->cluster, &engine, &err) < 0)
        fail_msg("%s", err.text);
    mirror_init(&life->mirror, &life->engine);
    life_post_plain(life, MESSAGE_LIST_BEGIN, KIND_NODE);
    for (uint64_t i = 0; i < LIFE_NODES; i++)
        life_set_node(life, i);
    life_post_plain(life, MESSAGE_LIST_END, KIND_NODE);
    life_post_plain(life, MESSAGE_ABSENT, KIND_RESOURCE_CLAIM);
    life_post_plain(life, MESSAGE_LIST_BEGIN, KIND_POD);
    vec_for(&life->pods, pod)
        life_set_pod(life, pod);
    life_post_plain(life, MESSAGE_LIST_END, KIND_POD);
}

static inline void life_open(struct life *life, const struct life_options *options)
{
    struct error err;
    *life = (struct life){ .options = *options,
                           .dir = "/tmp/berth-replay-XXXXXX",
                           .rng = test_rng(),
                           .now_ns = LIFE_BEGINS_NS,
                           .seed = 42 };
    assert_non_null(mkdtemp(life->dir));
    life->options.journal.dir = life->dir;
    assert_int_equal(journal_open(&life->options.journal, &life->journal, &err), 0);
    life_read_config(life, options->config, &life->config);
    life_begin(life);
}

static inline void life_round(struct life *life)
{
    for (uint64_t more = rng_below(&life->rng, 4); more; more--)
        life_add_pod(life, life->version);
    if (rng_below(&life->rng, 3) == 0) {
        uint64_t number = rng_below(&life->rng, LIFE_NODES);
        life->closed[number] = rng_below(&life->rng, 4) == 0;
        life_set_node(life, number);
    }
    if (life->pods.len > LIFE_PODS_MAX)
        while (life->pods.len > LIFE_PODS_MAX * 3 / 4)
            life_remove_pod(life, &life->pods.items[0]);
    life->now_ns += (int64_t)rng_below(&life->rng, 3) * SECOND;
    life_decide(life);
}

static inline void life_end_engine(struct life *life)
{
    engine_release(&life->engine);
    mirror_release(&life->mirror);
    cluster_release(&life->cluster);
    vec_clear(&life->wishes);
}

/* As the core does when the journal wants a new recording. */
static inline void life_restart(struct life *life)
{
    life_answer_all(life);
    life_end_engine(life);
    journal_restart(life->journal);
    life->seed++;
    life->restarts++;
    life_begin(life);
}

/* The process ends. */
static inline void life_stop(struct life *life)
{
    life_end_engine(life);
    journal_close(life->journal);
    life->journal = NULL;
    vec_release(&life->wishes);
    vec_release(&life->pods);
}

static inline void life_each_file(const struct life *life, void (*visit)(const char *path, void *context),
                                  void *context)
{
    DIR *dir = opendir(life->dir);
    char path[512];
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", life->dir, entry->d_name);
            visit(path, context);
        }
    closedir(dir);
}

static inline void life_remove_file(const char *path, void *context _unused_)
{
    unlink(path);
}

static inline void life_forget(struct life *life)
{
    life_each_file(life, life_remove_file, NULL);
    rmdir(life->dir);
    config_release(&life->config);
    arena_release(&life->arena);
}

/* ---- and again ---- */

/* `path` NULL: the folder. */
static inline struct replay *life_replay(const struct life *life, const char *path,
                                         const struct replay_options *options, int expected)
{
    struct replay *ret = xcalloc(1, sizeof(*ret));
    struct replay_options given = *options;
    struct error err = { "" };
    given.path = path ? path : life->dir;
    given.registry = life->options.registry;
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

static inline void life_drop(struct replay *replay)
{
    replay_release(replay);
    free(replay);
}

#endif
