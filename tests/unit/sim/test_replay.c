/* A small cluster lives for a while in front of an engine that is recorded; then it is replayed. */
#include "support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/protobuf.h"
#include "base/log.h"
#include "plugins/registry.h"
#include "sim/replay.h"

#define SECOND INT64_C(1000000000)
#define SECRET "correct horse battery staple"

struct wish {
    enum effect_kind kind;
    uint64_t ticket;
    char name[64], uid[64], node[64];
};

struct life {
    char dir[64];
    struct rng rng;
    struct arena arena;
    struct scheduler_config config;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct journal *journal;
    int64_t now_ns;
    uint64_t version, decisions;
    VEC(struct wish) wishes;
};

/* ---- letters ---- */

static void post(struct life *life, struct letter *letter)
{
    journal_prepare(letter);
    journal_letter(life->journal, letter, life->now_ns);
    if (letter->kind == LETTER_ANSWER)
        engine_answer(&life->engine, letter->ticket, &letter->answer, life->now_ns);
    else
        mirror_apply(&life->mirror, letter, life->now_ns);
    letter_free(letter);
    life->now_ns += SECOND / 1000;
}

static void post_plain(struct life *life, enum letter_kind letter_kind, enum api_kind kind)
{
    struct letter *letter = letter_new(letter_kind);
    letter->api_kind = kind;
    post(life, letter);
}

static void post_object(struct life *life, enum letter_kind letter_kind, enum api_kind kind,
                        const char *format, ...) _printf_(4, 5);
static void post_object(struct life *life, enum letter_kind letter_kind, enum api_kind kind,
                        const char *format, ...)
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

    struct letter *letter = letter_new(letter_kind);
    struct live_object *live = letter->object = live_object_new();
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
    struct live_object *copy = letter->object = live_object_new();
    if (object_decode_protobuf(strbuf_slice(&wire), STRINGS_COPIED, &copy->arena, &copy->object, &err) < 0)
        fail_msg("%s", err.text);
    live_object_free(live);
    strbuf_release(&wire);
    doc_stream_release(&stream);
    letter->api_kind = kind;
    post(life, letter);
}

static void set_node(struct life *life, uint64_t number, bool closed)
{
    post_object(life, LETTER_SET, KIND_NODE,
                "{metadata: {name: node-%llu, uid: n%llu, resourceVersion: '%llu', labels: {zone: z%llu}}, "
                "spec: {unschedulable: %s}, status: {allocatable: {cpu: '%llu', memory: 8Gi, pods: 20}}}",
                (unsigned long long)number, (unsigned long long)number, (unsigned long long)++life->version,
                (unsigned long long)number % 3, closed ? "true" : "false",
                (unsigned long long)(2 + number % 4));
}

static void set_pod(struct life *life, uint64_t number, const char *node)
{
    unsigned long long n = number;
    post_object(
        life, LETTER_SET, KIND_POD,
        "{metadata: {name: pod-%llu, namespace: default, uid: p%llu, resourceVersion: '%llu', labels: {app: "
        "a%llu}, annotations: {kubectl.kubernetes.io/last-applied-configuration: '" SECRET "'}, "
        "creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {schedulerName: default-scheduler, nodeName: "
        "'%s', "
        "priority: %llu, containers: [{name: c, env: [{name: PASSWORD, value: '" SECRET "'}], resources: "
        "{requests: {cpu: %llum, memory: 64Mi}}}]%s}}",
        n, n, (unsigned long long)++life->version, n % 5, node, n % 11 == 0 ? 1000ull : 0ull,
        100 + n % 7 * 150,
        n % 4 ? ""
              : ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
                "DoNotSchedule, labelSelector: {matchLabels: {app: a0}}}]");
}

static void remove_pod(struct life *life, const char *name, const char *uid)
{
    post_object(life, LETTER_REMOVE, KIND_POD,
                "{metadata: {name: %s, namespace: default, uid: %s, resourceVersion: '%llu'}}", name, uid,
                (unsigned long long)++life->version);
}

/* ---- the host ---- */

static void emit(void *context, const struct effect *effect)
{
    struct life *life = context;
    if (!effect->ticket)
        return;
    struct wish *wish = vec_push(&life->wishes);
    *wish = (struct wish){ .kind = effect->kind, .ticket = effect->ticket };
    snprintf(wish->name, sizeof(wish->name), STR_FMT, STR_ARG(effect->name));
    snprintf(wish->uid, sizeof(wish->uid), STR_FMT, STR_ARG(effect->uid));
    snprintf(wish->node, sizeof(wish->node), STR_FMT, STR_ARG(effect->node));
}

static void answer(struct life *life, const struct wish *wish)
{
    struct letter *letter = letter_new(LETTER_ANSWER);
    uint64_t luck = rng_below(&life->rng, 20);
    letter->ticket = wish->ticket;
    letter->answer.kind = luck == 0                                ? ANSWER_UNKNOWN
                          : luck == 1 && wish->kind == EFFECT_BIND ? ANSWER_REFUSED
                                                                   : ANSWER_DONE;
    letter->answer.message = STR("a sentence");
    enum answer_kind kind = letter->answer.kind;
    if (wish->kind == EFFECT_READ_POD)
        letter->answer.uid = arena_str(&letter->texts, str_from(wish->uid));
    post(life, letter);
    if (kind == ANSWER_DONE && wish->kind == EFFECT_BIND)
        set_pod(life, strtoull(wish->name + 4, NULL, 10), wish->node);
    if (kind == ANSWER_DONE && wish->kind == EFFECT_DELETE_POD)
        remove_pod(life, wish->name, wish->uid);
}

static void round_of(struct life *life)
{
    struct decision decision;
    journal_tick(life->journal, life->now_ns);
    engine_tick(&life->engine, life->now_ns);
    for (int i = 0; i < 8; i++) {
        bool decided = engine_step(&life->engine, life->now_ns, &decision);
        journal_step(life->journal, &life->cluster, decided ? &decision : NULL, life->now_ns);
        life->decisions += decided;
        if (!decided)
            break;
    }
    while (life->wishes.len) {
        struct wish wish = life->wishes.items[0];
        memmove(life->wishes.items, life->wishes.items + 1, --life->wishes.len * sizeof(wish));
        answer(life, &wish);
    }
    journal_round(life->journal, life->now_ns);
}

/* ---- life ---- */

static void live(struct life *life, uint32_t rounds, const struct journal_options *options)
{
    struct error err;
    *life =
        (struct life){ .dir = "/tmp/berth-replay-XXXXXX", .rng = test_rng(), .now_ns = 1767225600 * SECOND };
    assert_non_null(mkdtemp(life->dir));
    struct journal_options given = *options;
    given.dir = life->dir;
    assert_int_equal(journal_open(&given, &life->journal, &err), 0);
    struct plugin_catalog catalog = registry_catalog(&builtin_plugins, &life->arena);
    assert_int_equal(
        config_default(&(struct config_env){ .catalog = &catalog }, &life->arena, &life->config, &err), 0);
    cluster_init(&life->cluster);
    journal_head(life->journal, &life->config, 42, life->now_ns);
    const struct engine_options engine = { .config = &life->config,
                                           .registry = &builtin_plugins,
                                           .seed = 42,
                                           .now_ns = life->now_ns,
                                           .slowest = PATH_INDEX,
                                           .host = { .emit = emit, .context = life } };
    assert_int_equal(engine_init(&life->engine, &life->cluster, &engine, &err), 0);
    mirror_init(&life->mirror, &life->engine);

    post_plain(life, LETTER_LIST_BEGIN, KIND_NODE);
    for (uint64_t i = 0; i < 12; i++)
        set_node(life, i, false);
    post_plain(life, LETTER_LIST_END, KIND_NODE);
    post_plain(life, LETTER_ABSENT, KIND_RESOURCE_CLAIM);
    for (uint64_t i = 0, oldest = 0; i < rounds; i++) {
        for (uint64_t more = rng_below(&life->rng, 4); more; more--)
            set_pod(life, life->version, "");
        if (rng_below(&life->rng, 3) == 0)
            set_node(life, rng_below(&life->rng, 12), rng_below(&life->rng, 4) == 0);
        if (life->cluster.pods.len > 40)
            for (uint64_t tries = 0; tries < 40 && life->cluster.pods.len > 30; tries++, oldest++) {
                char name[32], uid[32];
                snprintf(name, sizeof(name), "pod-%llu", (unsigned long long)oldest);
                snprintf(uid, sizeof(uid), "p%llu", (unsigned long long)oldest);
                if (cluster_find_pod(&life->cluster, STR("default"), str_from(name)))
                    remove_pod(life, name, uid);
            }
        life->now_ns += (int64_t)rng_below(&life->rng, 3) * SECOND;
        round_of(life);
    }
    engine_release(&life->engine);
    mirror_release(&life->mirror);
    cluster_release(&life->cluster);
    journal_close(life->journal);
    vec_release(&life->wishes);
}

static void each_file(const struct life *life, void (*visit)(const char *path, void *context), void *context)
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

static void remove_file(const char *path, void *context _unused_)
{
    unlink(path);
}

static void end(struct life *life)
{
    each_file(life, remove_file, NULL);
    rmdir(life->dir);
    config_release(&life->config);
    arena_release(&life->arena);
}

static void count_file(const char *path _unused_, void *context)
{
    ++*(size_t *)context;
}

static struct replay *replay(const struct life *life, const struct replay_options *options, int expected)
{
    struct replay *ret = xcalloc(1, sizeof(*ret));
    struct replay_options given = *options;
    struct error err = { "" };
    given.path = life->dir;
    if (!given.until_ns)
        given.until_ns = INT64_MAX;
    int r = replay_run(ret, &given, &err);
    if (r != expected && !(r < 0 && expected < 0))
        fail_msg("%d instead of %d: %s", r, expected, err.text);
    if (ret->difference.there) {
        struct strbuf text = { 0 };
        replay_say(ret->difference.recorded, &text);
        strbuf_puts(&text, " | ");
        replay_say(ret->difference.here, &text);
        printf("difference: %s\n", text.text);
        strbuf_release(&text);
    }
    return ret;
}

static void drop(struct replay *replay)
{
    replay_release(replay);
    free(replay);
}

/* ---- tests ---- */

static void decisions_are_repeated_exactly(void **state _unused_)
{
    struct life life;
    size_t files = 0;
    live(&life, 1500, &(struct journal_options){ .file_bytes = 256 << 10 });
    each_file(&life, count_file, &files);
    assert_true(files > 2);
    assert_true(life.decisions > 2000);
    struct replay *first = replay(&life, &(struct replay_options){ 0 }, 0);
    struct replay *second = replay(&life, &(struct replay_options){ 0 }, 0);
    assert_false(first->difference.there);
    assert_string_equal(first->recording.cut.text, "");
    assert_int_equal(first->decisions, life.decisions);
    assert_true(first->placements > 500 && first->placements < first->decisions);
    assert_true(first->digest == second->digest);
    drop(first);
    drop(second);
    end(&life);
}

static void only_up_to_a_time(void **state _unused_)
{
    struct life life;
    live(&life, 300, &(struct journal_options){ 0 });
    struct replay *half =
        replay(&life, &(struct replay_options){ .until_ns = (1767225600 + 150) * SECOND }, 0);
    assert_false(half->difference.there);
    assert_true(half->decisions > 0 && half->decisions < life.decisions);
    assert_true(half->last_ns <= (1767225600 + 150) * SECOND);
    drop(half);
    end(&life);
}

static void holds_secret(const char *path, void *context)
{
    int fd = open(path, O_RDONLY);
    struct stat stat_of;
    assert_true(fd >= 0 && fstat(fd, &stat_of) == 0);
    char *bytes = xcalloc(1, (size_t)stat_of.st_size + 1);
    assert_true(read(fd, bytes, (size_t)stat_of.st_size) == stat_of.st_size);
    close(fd);
    *(bool *)context |= memmem(bytes, (size_t)stat_of.st_size, SECRET, strlen(SECRET)) != NULL;
    free(bytes);
}

static void values_of_variables_are_not_recorded(void **state _unused_)
{
    struct life life;
    bool found = false;
    live(&life, 20, &(struct journal_options){ 0 });
    each_file(&life, holds_secret, &found);
    assert_false(found);
    end(&life);
}

struct damage {
    bool cut;
    double at; /* share of the file */
};

static void do_damage(const char *path, void *context)
{
    const struct damage *damage = context;
    struct stat stat_of;
    assert_int_equal(stat(path, &stat_of), 0);
    off_t at = (off_t)((double)stat_of.st_size * damage->at);
    if (damage->cut) {
        assert_int_equal(truncate(path, at), 0);
        return;
    }
    int fd = open(path, O_RDWR);
    char byte;
    assert_true(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x20;
    assert_true(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

static void a_damaged_tail_is_left_out(void **state _unused_)
{
    static const struct damage damages[] = { { true, 0.99 }, { true, 0.7 }, { false, 0.6 }, { false, 0.95 } };
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        struct life life;
        struct damage damage = damages[i];
        live(&life, 1500, &(struct journal_options){ 0 });
        each_file(&life, do_damage, &damage);
        struct replay *rest = replay(&life, &(struct replay_options){ 0 }, 0);
        assert_false(rest->difference.there);
        assert_true(rest->decisions > 0 && rest->decisions < life.decisions);
        assert_true(strstr(rest->recording.cut.text, "left out") != NULL);
        drop(rest);
        end(&life);
    }
}

static void without_a_beginning_there_is_nothing(void **state _unused_)
{
    struct life life;
    struct damage damage = { true, 0.0001 };
    live(&life, 50, &(struct journal_options){ 0 });
    each_file(&life, do_damage, &damage);
    drop(replay(&life, &(struct replay_options){ 0 }, -EBADMSG));
    end(&life);
}

static void a_recording_has_a_bound(void **state _unused_)
{
    struct life life;
    size_t files = 0;
    live(&life, 1500, &(struct journal_options){ .file_bytes = 100 << 10, .total_bytes = 600 << 10 });
    each_file(&life, count_file, &files);
    assert_true(files >= 1);
    struct replay *begun = replay(&life, &(struct replay_options){ 0 }, 0);
    assert_false(begun->difference.there);
    assert_true(begun->recording.bytes < 600 << 10);
    assert_true(begun->decisions > 0 && begun->decisions < life.decisions);
    drop(begun);
    end(&life);
}

/* The first block of a recording, to be changed by hand and written back with a checksum that fits. */
struct block {
    char path[512];
    char *bytes; /* of the file */
    size_t len;
    struct str payload;
};

static void keep_path(const char *path, void *context)
{
    snprintf(context, 512, "%s", path);
}

static void block_open(struct block *block, const struct life *life)
{
    struct stat stat_of;
    each_file(life, keep_path, block->path);
    int fd = open(block->path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &stat_of) == 0);
    block->len = (size_t)stat_of.st_size;
    block->bytes = xcalloc(1, block->len);
    assert_true(read(fd, block->bytes, block->len) == (ssize_t)block->len);
    close(fd);
    uint32_t len = 0;
    for (int i = 3; i >= 0; i--)
        len = len << 8 | (unsigned char)block->bytes[JOURNAL_MAGIC_LEN + i];
    block->payload = (struct str){ block->bytes + JOURNAL_MAGIC_LEN + JOURNAL_BLOCK_HEAD_LEN, len };
}

static void block_write(const struct block *block)
{
    uint64_t sum = journal_checksum(block->payload, 0);
    for (int i = 0; i < 8; i++)
        block->bytes[JOURNAL_MAGIC_LEN + 12 + i] = (char)(sum >> 8 * i);
    int fd = open(block->path, O_WRONLY);
    assert_true(fd >= 0 && write(fd, block->bytes, block->len) == (ssize_t)block->len);
    close(fd);
}

/* The same entries with another seed: some choice among equal nodes comes out differently. */
static void another_seed_is_noticed(void **state _unused_)
{
    struct life life;
    struct block block;
    live(&life, 300, &(struct journal_options){ 0 });
    block_open(&block, &life);
    char *seed = memmem(block.payload.ptr, block.payload.len, (char[]){ HEAD_SEED << 3, 42 }, 2);
    assert_non_null(seed);
    seed[1] = 43;
    block_write(&block);
    struct replay *changed = replay(&life, &(struct replay_options){ 0 }, 0);
    assert_true(changed->difference.there);
    assert_true(changed->difference.recorded.len && changed->difference.here.len);
    drop(changed);
    free(block.bytes);
    end(&life);
}

/* Whatever a file says: a difference, a sentence, or nothing at all, and never a crash. */
static void hostile_entries_do_no_harm(void **state _unused_)
{
    struct life life;
    struct block block;
    live(&life, 12, &(struct journal_options){ 0 });
    block_open(&block, &life);
    char *payload = (char *)block.payload.ptr;
    /* Behind the head with its configuration, which other tests damage. */
    char *from = memmem(payload, block.payload.len, "node-0", 6);
    assert_non_null(from);
    size_t first = (size_t)(from - payload) > 40 ? (size_t)(from - payload) - 40 : 0;
    for (int i = 0; i < 400; i++) {
        char before[4];
        size_t at = first + rng_below(&life.rng, block.payload.len - first - sizeof(before));
        memcpy(before, payload + at, sizeof(before));
        for (uint64_t k = 0, count = 1 + rng_below(&life.rng, sizeof(before)); k < count; k++)
            payload[at + k] = (char)rng_next(&life.rng);
        block_write(&block);
        struct replay *hurt = xcalloc(1, sizeof(*hurt));
        struct error err;
        replay_run(hurt, &(struct replay_options){ .path = life.dir, .until_ns = INT64_MAX }, &err);
        drop(hurt);
        memcpy(payload + at, before, sizeof(before));
    }
    free(block.bytes);
    end(&life);
}

static void another_configuration_decides_otherwise(void **state _unused_)
{
    static const char packing[] =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: default-scheduler\n  pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
        "      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}\n";
    char config[] = "/tmp/berth-config-XXXXXX";
    int fd = mkstemp(config);
    assert_true(write(fd, packing, sizeof(packing) - 1) == sizeof(packing) - 1);
    close(fd);
    struct life life;
    live(&life, 600, &(struct journal_options){ 0 });
    struct replay *other = replay(&life, &(struct replay_options){ .config = config }, 0);
    struct versus_sum sum = versus_sum(other->versus);
    assert_true(sum.pods > 500);
    assert_int_equal(sum.pods, sum.same + sum.moved + sum.only_recorded + sum.only_here + sum.neither);
    assert_true(sum.moved > 100 && sum.same > 0);
    assert_true(sum.tries[0] >= sum.same + sum.moved && sum.tries[1] >= sum.same + sum.moved);
    drop(other);
    unlink(config);
    end(&life);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_repeated_exactly),
        cmocka_unit_test(only_up_to_a_time),
        cmocka_unit_test(values_of_variables_are_not_recorded),
        cmocka_unit_test(a_damaged_tail_is_left_out),
        cmocka_unit_test(without_a_beginning_there_is_nothing),
        cmocka_unit_test(a_recording_has_a_bound),
        cmocka_unit_test(another_seed_is_noticed),
        cmocka_unit_test(hostile_entries_do_no_harm),
        cmocka_unit_test(another_configuration_decides_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
