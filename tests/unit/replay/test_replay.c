/* An engine is recorded for a while with a small random cluster; then the recording is replayed. */
#include "unit/replay/recorded.h"

/* Records a complete run. */
static void record_run(struct recorded *recorded, uint32_t rounds, const struct journal_options *options)
{
    recorded_open(recorded, &(struct recorded_options){ .journal = *options });
    for (uint32_t i = 0; i < rounds; i++)
        recorded_round(recorded);
    recorded_stop(recorded);
}

static void count_file(const char *path _unused_, void *context)
{
    ++*(size_t *)context;
}

/* ---- tests ---- */

static void decisions_are_repeated_exactly(void **state _unused_)
{
    struct recorded recorded;
    size_t files = 0;
    record_run(&recorded, 1500, &(struct journal_options){ .file_bytes = 256 << 10 });
    recorded_each_file(&recorded, count_file, &files);
    assert_true(files > 2);
    assert_true(recorded.decisions > 2000);
    struct replay *first = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    struct replay *second = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(first->difference.there);
    assert_string_equal(first->recording.cut.text, "");
    assert_int_equal(first->decisions, recorded.decisions);
    assert_true(first->placements > 500 && first->placements < first->decisions);
    assert_true(first->digest == second->digest);
    recorded_drop(first);
    recorded_drop(second);
    recorded_forget(&recorded);
}

/* As the release, and with the gates, that it was recorded with, whatever the default is. */
static void the_release_is_recorded(void **state _unused_)
{
    static const int minors[] = { 36, 37 };
    for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
        struct recorded recorded;
        struct features features;
        features_default(&features, release_of(minors[i]), minors[i]);
        record_run(&recorded, 100, &(struct journal_options){ .features = &features });
        struct replay *replay = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
        assert_false(replay->difference.there);
        assert_int_equal(replay->decisions, recorded.decisions);
        assert_int_equal(replay->cluster.features.release->minor, minors[i]);
        assert_int_equal(replay->cluster.features.compatible, minors[i]);
        assert_memory_equal(replay->cluster.features.enabled, features.enabled, sizeof(features.enabled));
        recorded_drop(replay);
        recorded_forget(&recorded);
    }
}

static void only_up_to_a_time(void **state _unused_)
{
    struct recorded recorded;
    record_run(&recorded, 300, &(struct journal_options){ 0 });
    struct replay *half = recorded_replay(
        &recorded, NULL, &(struct replay_options){ .until_ns = (1767225600 + 150) * SECOND }, 0);
    assert_false(half->difference.there);
    assert_true(half->decisions > 0 && half->decisions < recorded.decisions);
    assert_true(half->last_ns <= (1767225600 + 150) * SECOND);
    recorded_drop(half);
    recorded_forget(&recorded);
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
    struct recorded recorded;
    bool found = false;
    record_run(&recorded, 20, &(struct journal_options){ 0 });
    recorded_each_file(&recorded, holds_secret, &found);
    assert_false(found);
    recorded_forget(&recorded);
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
        struct recorded recorded;
        struct damage damage = damages[i];
        record_run(&recorded, 1500, &(struct journal_options){ 0 });
        recorded_each_file(&recorded, do_damage, &damage);
        struct replay *rest = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
        assert_false(rest->difference.there);
        assert_true(rest->decisions > 0 && rest->decisions < recorded.decisions);
        assert_true(strstr(rest->recording.cut.text, "left out") != NULL);
        recorded_drop(rest);
        recorded_forget(&recorded);
    }
}

static void without_its_beginning_a_recording_is_rejected(void **state _unused_)
{
    struct recorded recorded;
    struct damage damage = { true, 0.0001 };
    record_run(&recorded, 50, &(struct journal_options){ 0 });
    recorded_each_file(&recorded, do_damage, &damage);
    recorded_drop(recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, -EBADMSG));
    recorded_forget(&recorded);
}

static void a_recording_has_a_bound(void **state _unused_)
{
    struct recorded recorded;
    size_t files = 0;
    record_run(&recorded, 1500,
               &(struct journal_options){ .file_bytes = 100 << 10, .total_bytes = 600 << 10 });
    recorded_each_file(&recorded, count_file, &files);
    assert_true(files >= 1);
    struct replay *begun = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(begun->difference.there);
    assert_true(begun->recording.bytes < 600 << 10);
    assert_true(begun->decisions > 0 && begun->decisions < recorded.decisions);
    recorded_drop(begun);
    recorded_forget(&recorded);
}

/* The first block of a recording, to be changed and written back with a valid checksum. */
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

static void block_open(struct block *block, const struct recorded *recorded)
{
    struct stat stat_of;
    recorded_each_file(recorded, keep_path, block->path);
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

/* The same entries with another seed: some tie is broken differently. */
static void another_seed_is_noticed(void **state _unused_)
{
    struct recorded recorded;
    struct block block;
    record_run(&recorded, 300, &(struct journal_options){ 0 });
    block_open(&block, &recorded);
    char *seed = memmem(block.payload.ptr, block.payload.len, (char[]){ HEAD_SEED << 3, 42 }, 2);
    assert_non_null(seed);
    seed[1] = 43;
    block_write(&block);
    struct replay *changed = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_true(changed->difference.there);
    assert_true(changed->difference.recorded.len && changed->difference.here.len);
    recorded_drop(changed);
    free(block.bytes);
    recorded_forget(&recorded);
}

/* Any contents of a file give a difference, an error or no effect, and never a crash. */
static void hostile_entries_do_no_harm(void **state _unused_)
{
    struct recorded recorded;
    struct block block;
    record_run(&recorded, 12, &(struct journal_options){ 0 });
    block_open(&block, &recorded);
    char *payload = (char *)block.payload.ptr;
    /* After the header with its configuration, which other tests damage. */
    char *from = memmem(payload, block.payload.len, "node-0", 6);
    assert_non_null(from);
    size_t first = (size_t)(from - payload) > 40 ? (size_t)(from - payload) - 40 : 0;
    for (int i = 0; i < 400; i++) {
        char before[4];
        size_t at = first + rng_below(&recorded.rng, block.payload.len - first - sizeof(before));
        memcpy(before, payload + at, sizeof(before));
        for (uint64_t k = 0, count = 1 + rng_below(&recorded.rng, sizeof(before)); k < count; k++)
            payload[at + k] = (char)rng_next(&recorded.rng);
        block_write(&block);
        struct replay *hurt = xcalloc(1, sizeof(*hurt));
        struct error err;
        replay_run(
            hurt,
            &(struct replay_options){ .path = recorded.dir, .until_ns = INT64_MAX, .from_ns = INT64_MIN },
            &err);
        recorded_drop(hurt);
        memcpy(payload + at, before, sizeof(before));
    }
    free(block.bytes);
    recorded_forget(&recorded);
}

/* Replays the recording with another configuration. */
static struct compare_sum compare_of(const struct recorded *recorded, const char *text)
{
    char config[] = "/tmp/berth-config-XXXXXX";
    int fd = mkstemp(config);
    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    struct replay *other = recorded_replay(recorded, NULL, &(struct replay_options){ .config = config }, 0);
    struct compare_sum sum = compare_sum(other->comparison);
    assert_int_equal(sum.pods, sum.same + sum.moved + sum.only_recorded + sum.only_here + sum.neither);
    assert_true(sum.tries[0] >= sum.same + sum.moved && sum.tries[1] >= sum.same + sum.moved);
    recorded_drop(other);
    unlink(config);
    return sum;
}

#define CONFIG_HEAD "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

static void another_configuration_decides_differently(void **state _unused_)
{
    struct recorded recorded;
    record_run(&recorded, 600, &(struct journal_options){ 0 });
    struct compare_sum sum = compare_of(
        &recorded, CONFIG_HEAD "profiles:\n- schedulerName: default-scheduler\n  pluginConfig:\n"
                               "  - name: NodeResourcesFit\n    args:\n      scoringStrategy: {type: "
                               "MostAllocated, resources: [{name: cpu, weight: 1}]}\n");
    assert_true(sum.pods > 500);
    assert_true(sum.moved > 100 && sum.same > 0);
    assert_int_equal(sum.left_out, 0);

    sum = compare_of(&recorded, CONFIG_HEAD "profiles: [{schedulerName: another}]\n");
    assert_int_equal(sum.pods, 0);
    assert_true(sum.left_out > 500);
    assert_int_equal(sum.evictions[0], 0);
    recorded_forget(&recorded);
}

/* Only the configuration may cause differences: not random numbers, durations or failures. */
static void the_same_configuration_decides_the_same(void **state _unused_)
{
    struct recorded recorded;
    record_run(&recorded, 600, &(struct journal_options){ 0 });
    struct compare_sum sum = compare_of(&recorded, CONFIG_HEAD);
    assert_true(sum.same > 500);
    assert_int_equal(sum.moved + sum.only_recorded + sum.only_here, 0);
    assert_int_equal(sum.tries[0], sum.tries[1]);
    assert_true(sum.evictions[0] > 0);
    assert_int_equal(sum.evictions[0], sum.evictions[1]);
    recorded_forget(&recorded);
}

/* ---- other inputs ---- */

static const char *const configs[] = {
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, "
    "percentageOfNodesToScore: 40, "
    "podInitialBackoffSeconds: 3, profiles: [{schedulerName: default-scheduler, pluginConfig: [{name: "
    "NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: "
    "1}]}}}]}]}",
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: "
    "[{schedulerName: "
    "default-scheduler, plugins: {multiPoint: {disabled: [{name: PodTopologySpread}, {name: "
    "DefaultPreemption}]}}}, {schedulerName: another}]}",
};

static void reconfigure(struct recorded *recorded, const char *text, struct scheduler_config *config)
{
    struct error err;
    recorded_read_config(recorded, text, config);
    const struct engine_setup setup = { .config = config, .registry = &builtin_plugins };
    if (engine_reconfigure(&recorded->engine, &setup, recorded->now_ns, &err) < 0)
        fail_msg("%s", err.text);
    journal_config(recorded->journal, config, recorded->now_ns);
}

static void changes_of_the_configuration_are_repeated(void **state _unused_)
{
    enum { CHANGES = 6 };
    struct recorded recorded;
    struct scheduler_config changed[CHANGES];
    recorded_open(&recorded, &(struct recorded_options){ 0 });
    for (int i = 0; i < CHANGES; i++) {
        for (int round = 0; round < 150; round++)
            recorded_round(&recorded);
        reconfigure(&recorded, configs[i % 2], &changed[i]);
    }
    for (int round = 0; round < 150; round++)
        recorded_round(&recorded);
    recorded_stop(&recorded);
    struct replay *again = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(again->difference.there);
    assert_int_equal(again->decisions, recorded.decisions);
    assert_int_equal(again->reloads, CHANGES);
    recorded_drop(again);
    for (int i = 0; i < CHANGES; i++)
        config_release(&changed[i]);
    recorded_forget(&recorded);
}

/* Unschedulable pods are flushed after a configured time, which is part of the recording. */
static void the_unschedulable_duration_is_recorded(void **state _unused_)
{
    struct recorded recorded;
    recorded_open(&recorded, &(struct recorded_options){ .unschedulable_max_ns = 20 * SECOND });
    for (int round = 0; round < 800; round++)
        recorded_round(&recorded);
    recorded_stop(&recorded);
    struct replay *again = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(again->difference.there);
    assert_int_equal(again->decisions, recorded.decisions);
    assert_int_equal(again->engine.queue.options.unschedulable_max_ns, 20 * SECOND);
    recorded_drop(again);
    recorded_forget(&recorded);
}

struct explained {
    uint64_t placed, rejected;
};

static void on_explanation(void *user, const struct recording_entry *decision,
                           const struct explanation *explanation)
{
    struct explained *counts = user;
    const struct entry_fields *fields = &decision->fields;
    assert_int_equal(explanation->rows_len, RECORDED_NODES);
    if (!fields->texts[DECISION_NODE].len) {
        counts->rejected++;
        return;
    }
    /* Its node is among the best, of which there are as many as recorded ties. */
    uint32_t row = cluster_row(explanation->cluster, fields->texts[DECISION_NODE]);
    bool best = false;
    for (uint32_t i = 0; i < explanation->best_len; i++)
        best |= explanation->best[i] == row;
    assert_true(best);
    assert_int_equal(explanation->best_len, fields->numbers[DECISION_TIES]);
    counts->placed++;
}

/* Explaining every pod changes no decision. */
static void explanations_change_nothing(void **state _unused_)
{
    struct recorded recorded;
    struct explained counts = { 0 };
    recorded_open(&recorded, &(struct recorded_options){ 0 });
    for (int round = 0; round < 400; round++)
        recorded_round(&recorded);
    recorded_stop(&recorded);
    struct replay *plain = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    struct replay *explained = recorded_replay(
        &recorded, NULL, &(struct replay_options){ .on_explanation = on_explanation, .user = &counts }, 0);
    assert_false(explained->difference.there);
    assert_true(explained->digest == plain->digest);
    assert_int_equal(explained->decisions, recorded.decisions);
    assert_true(counts.placed > 100 && counts.rejected > 10);
    recorded_drop(plain);
    recorded_drop(explained);
    recorded_forget(&recorded);
}

/* With another release pods may go elsewhere; with the recorded one, named or not, every decision is the same. */
static void check_release(const struct recorded *recorded, int recorded_minor, int minor)
{
    struct replay *replay =
        recorded_replay(recorded, NULL, &(struct replay_options){ .release = release_of(minor) }, 0);
    assert_int_equal(replay->recorded_release->minor, recorded_minor);
    assert_int_equal(replay->cluster.features.release->minor, minor);
    assert_int_equal(replay->comparison != NULL, minor != recorded_minor);
    assert_false(replay->difference.there);
    /* A gate that was set stays so; others have the default of the release. */
    assert_false(replay->cluster.features.enabled[FEATURE_SchedulerPopFromBackoffQ]);
    assert_int_equal(replay->cluster.features.enabled[FEATURE_StorageCapacityScoring], minor == 37);
    if (replay->comparison) {
        struct compare_sum sum = compare_sum(replay->comparison);
        assert_true(sum.pods > 100);
        assert_true(sum.same > 0);
        assert_int_equal(sum.pods, sum.same + sum.moved + sum.only_recorded + sum.only_here + sum.neither);
    }
    recorded_drop(replay);
}

static void another_release_can_decide(void **state _unused_)
{
    for (int recorded_minor = 36; recorded_minor <= 37; recorded_minor++) {
        struct recorded recorded;
        struct features features;
        features_default(&features, release_of(recorded_minor), recorded_minor - 1);
        features.enabled[FEATURE_SchedulerPopFromBackoffQ] = false;
        record_run(&recorded, 300, &(struct journal_options){ .features = &features });
        check_release(&recorded, recorded_minor, 36);
        check_release(&recorded, recorded_minor, 37);
        recorded_forget(&recorded);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_repeated_exactly),
        cmocka_unit_test(the_release_is_recorded),
        cmocka_unit_test(another_release_can_decide),
        cmocka_unit_test(only_up_to_a_time),
        cmocka_unit_test(values_of_variables_are_not_recorded),
        cmocka_unit_test(a_damaged_tail_is_left_out),
        cmocka_unit_test(without_its_beginning_a_recording_is_rejected),
        cmocka_unit_test(a_recording_has_a_bound),
        cmocka_unit_test(another_seed_is_noticed),
        cmocka_unit_test(hostile_entries_do_no_harm),
        cmocka_unit_test(another_configuration_decides_differently),
        cmocka_unit_test(the_same_configuration_decides_the_same),
        cmocka_unit_test(changes_of_the_configuration_are_repeated),
        cmocka_unit_test(the_unschedulable_duration_is_recorded),
        cmocka_unit_test(explanations_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
