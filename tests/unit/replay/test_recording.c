/* Consecutive recordings in a bounded directory: the newest stay, each is complete, and a time
 * selects its recording. */
#include "unit/replay/recorded.h"

#include <sys/resource.h>

struct folder {
    size_t files, bytes;
};

static void weigh(const char *path, void *context)
{
    struct folder *folder = context;
    struct stat stat_of;
    if (stat(path, &stat_of) == 0) { /* it may just have been removed */
        folder->files++;
        folder->bytes += (size_t)stat_of.st_size;
    }
}

static size_t folder_bytes(const struct recorded *recorded)
{
    struct folder folder = { 0 };
    recorded_each_file(recorded, weigh, &folder);
    return folder.bytes;
}

/* Runs as under the core: a new recording whenever the journal requests one. */
static void run_on(struct recorded *recorded, uint32_t rounds, size_t bound_bytes)
{
    for (uint32_t i = 0; i < rounds; i++) {
        recorded_round(recorded);
        assert_true(folder_bytes(recorded) <= bound_bytes);
        if (journal_wants_restart(recorded->journal))
            recorded_restart(recorded);
    }
}

static struct recording_summary *list(const struct recorded *recorded, struct arena *arena, size_t *ret_len)
{
    struct recording_summary *all;
    struct error err;
    if (recording_list(recorded->dir, arena, &all, ret_len, &err) < 0)
        fail_msg("%s", err.text);
    return all;
}

/* Replays a recording by the name of its first file; returns the number of its decisions. */
static uint64_t repeat(const struct recorded *recorded, const struct recording_summary *summary)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/" STR_FMT "-000001.berth", recorded->dir, STR_ARG(summary->name));
    struct replay *again = recorded_replay(recorded, path, &(struct replay_options){ 0 }, 0);
    uint64_t decisions = again->decisions;
    assert_false(again->difference.there);
    assert_string_equal(again->recording.cut.text, "");
    assert_true(str_eq(again->recording.name, summary->name));
    assert_int_equal(decisions, summary->decisions);
    assert_true(again->first_ns == summary->first_ns && again->last_ns == summary->last_ns);
    recorded_drop(again);
    return decisions;
}

static void the_newest_hours_stay_within_the_bound(void **state _unused_)
{
    enum { BOUND = 512 << 10 };
    struct recorded recorded;
    struct arena arena = { 0 };
    size_t len;
    recorded_open(&recorded, &(struct recorded_options){
                                 .journal = { .file_bytes = 60 << 10, .total_bytes = BOUND },
                             });
    run_on(&recorded, 6000, BOUND);
    assert_true(recorded.restarts > 10);
    assert_false(journal_stats(recorded.journal).ended);
    assert_int_equal(journal_stats(recorded.journal).recordings, recorded.restarts + 1);
    assert_true(journal_stats(recorded.journal).entries > 20000);
    int64_t end_ns = recorded.now_ns;
    recorded_stop(&recorded);
    assert_true(folder_bytes(&recorded) <= BOUND && folder_bytes(&recorded) > BOUND / 3);
    struct recording_summary *all = list(&recorded, &arena, &len);
    assert_true(len >= 2);
    for (size_t i = 0; i < len; i++) {
        assert_false(all[i].headless);
        assert_int_equal(all[i].cut.len, 0);
        assert_true(repeat(&recorded, &all[i]) > 50 || i == len - 1);
        assert_true(i == 0 || all[i].first_ns >= all[i - 1].last_ns);
    }
    assert_true(end_ns - all[len - 1].last_ns < 5 * SECOND);
    assert_true(all[0].first_ns > RECORDED_BEGINS_NS); /* the first ones were removed */
    arena_release(&arena);
    recorded_forget(&recorded);
}

/* A process that ends, and the next one with the same directory. */
static void recordings_of_earlier_processes_are_removed_too(void **state _unused_)
{
    enum { BOUND = 400 << 10 };
    struct recorded recorded;
    struct arena arena = { 0 };
    struct error err;
    size_t len;
    recorded_open(&recorded,
                  &(struct recorded_options){ .journal = { .file_bytes = 30 << 10, .total_bytes = BOUND } });
    for (int process = 0; process < 6; process++) {
        run_on(&recorded, 700, BOUND);
        recorded_end_engine(&recorded);
        journal_close(recorded.journal);
        usleep(2000); /* names contain milliseconds */
        assert_int_equal(journal_open(&recorded.options.journal, &recorded.journal, &err), 0);
        recorded_begin(&recorded);
    }
    recorded_stop(&recorded);
    assert_true(folder_bytes(&recorded) <= BOUND);
    struct recording_summary *all = list(&recorded, &arena, &len);
    assert_true(len >= 2);
    for (size_t i = 0; i < len; i++)
        repeat(&recorded, &all[i]);
    arena_release(&arena);
    recorded_forget(&recorded);
}

static void a_time_finds_its_recording(void **state _unused_)
{
    struct recorded recorded;
    struct arena arena = { 0 };
    size_t len;
    recorded_open(&recorded, &(struct recorded_options){ .journal = { .total_bytes = 1 << 20 } });
    for (int i = 0; i < 3; i++) {
        if (i)
            recorded_restart(&recorded);
        for (int round = 0; round < 100; round++)
            recorded_round(&recorded);
    }
    recorded_stop(&recorded);
    struct recording_summary *all = list(&recorded, &arena, &len);
    assert_int_equal(len, 3);
    for (size_t i = 0; i < len; i++) {
        int64_t middle_ns = all[i].first_ns / 2 + all[i].last_ns / 2;
        const struct replay_options variants[] = { { .until_ns = middle_ns },
                                                   { .from_ns = middle_ns },
                                                   { .from_ns = middle_ns, .until_ns = all[2].last_ns } };
        for (size_t variant = 0; variant < ARRAY_SIZE(variants); variant++) {
            struct replay *again = recorded_replay(&recorded, NULL, &variants[variant], 0);
            assert_true(str_eq(again->recording.name, all[i].name));
            assert_int_equal(again->recording.others, 2);
            assert_false(again->difference.there);
            assert_true(variant == 0 ? again->decisions < all[i].decisions
                                     : again->decisions == all[i].decisions);
            recorded_drop(again);
        }
    }
    struct replay *newest = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_true(str_eq(newest->recording.name, all[2].name));
    recorded_drop(newest);
    struct replay *oldest =
        recorded_replay(&recorded, NULL, &(struct replay_options){ .from_ns = RECORDED_BEGINS_NS - 1 }, 0);
    assert_true(str_eq(oldest->recording.name, all[0].name));
    recorded_drop(oldest);
    recorded_drop(recorded_replay(&recorded, NULL,
                                  &(struct replay_options){ .until_ns = RECORDED_BEGINS_NS - 1 }, -ENOENT));
    arena_release(&arena);
    recorded_forget(&recorded);
}

/* Messages between two engines are no input of either. */
static void nothing_is_recorded_between_two_recordings(void **state _unused_)
{
    struct recorded recorded;
    struct arena arena = { 0 };
    size_t len;
    recorded_open(&recorded, &(struct recorded_options){ 0 });
    recorded_round(&recorded);
    recorded_end_engine(&recorded);
    journal_restart(recorded.journal);
    uint64_t entries = journal_stats(recorded.journal).entries;
    journal_tick(recorded.journal, recorded.now_ns);
    journal_step(recorded.journal, &recorded.cluster, NULL, recorded.now_ns);
    assert_int_equal(journal_stats(recorded.journal).entries, entries);
    assert_false(journal_wants_restart(recorded.journal));
    recorded_begin(&recorded);
    recorded_round(&recorded);
    recorded_stop(&recorded);
    struct recording_summary *all = list(&recorded, &arena, &len);
    assert_int_equal(len, 2);
    assert_int_equal(all[0].entries, entries);
    assert_false(all[1].headless);
    arena_release(&arena);
    recorded_forget(&recorded);
}

/* Objects that alone need more than half: the recording ends, and the engine does not restart repeatedly. */
static void a_bound_that_is_too_small_ends_it(void **state _unused_)
{
    struct recorded recorded;
    recorded_open(&recorded, &(struct recorded_options){ .journal = { .total_bytes = 24 << 10 } });
    uint32_t wishes = 0;
    for (int i = 0; i < 200; i++) {
        recorded_round(&recorded);
        wishes += journal_wants_restart(recorded.journal);
        assert_true(folder_bytes(&recorded) <= 24 << 10);
    }
    assert_true(wishes < 200);
    recorded_stop(&recorded);
    struct replay *rest = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(rest->difference.there);
    recorded_drop(rest);
    recorded_forget(&recorded);
}

/* Two writers to one directory would remove each other's files. */
static void a_directory_has_one_writer(void **state _unused_)
{
    struct recorded recorded;
    struct journal *second;
    struct error err;
    recorded_open(&recorded, &(struct recorded_options){ 0 });
    assert_int_equal(journal_open(&recorded.options.journal, &second, &err), -EBUSY);
    assert_non_null(strstr(err.text, "another scheduler records in"));
    recorded_stop(&recorded);
    assert_int_equal(journal_open(&recorded.options.journal, &second, &err), 0);
    journal_close(second);
    recorded_forget(&recorded);
}

/* RLIMIT_FSIZE ends the recording like a full disk, not the process. */
static void a_file_may_not_be_larger(void **state _unused_)
{
    struct recorded recorded;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    recorded_open(&recorded, &(struct recorded_options){ 0 });
    limit = (struct rlimit){ .rlim_cur = 64 << 10, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int round = 0; round < 400; round++)
        recorded_round(&recorded);
    for (int i = 0; i < 6000 && !journal_stats(recorded.journal).ended; i++)
        usleep(10000);
    assert_true(journal_stats(recorded.journal).ended);
    recorded_stop(&recorded);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    struct replay *rest = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(rest->difference.there);
    recorded_drop(rest);
    recorded_forget(&recorded);
}

static void other_files_are_reported(void **state _unused_)
{
    static const struct {
        const char *bytes, *words;
    } cases[] = {
        { "berth recording 2\nrest", "it is of format 2, and this berth reads format 1" },
        { "berth recording 0\n", "it is of format 0, and" },
        { "berth recording ", "this is no file of a recording" },
        { "PK", "this is no file of a recording" },
        { "", "the file is empty" },
    };
    char dir[] = "/tmp/berth-format-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/20260101T000000.000Z-000001.berth", dir);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct recording recording;
        struct recording_entry entry;
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(write(fd, cases[i].bytes, strlen(cases[i].bytes)) == (ssize_t)strlen(cases[i].bytes));
        close(fd);
        assert_int_equal(recording_open(&recording, dir, INT64_MAX, NULL), 0);
        assert_false(recording_next(&recording, &entry));
        if (!strstr(recording.cut.text, cases[i].words))
            fail_msg("%s: %s", cases[i].words, recording.cut.text);
        recording_close(&recording);
    }
    unlink(path);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_hours_stay_within_the_bound),
        cmocka_unit_test(recordings_of_earlier_processes_are_removed_too),
        cmocka_unit_test(a_time_finds_its_recording),
        cmocka_unit_test(nothing_is_recorded_between_two_recordings),
        cmocka_unit_test(a_bound_that_is_too_small_ends_it),
        cmocka_unit_test(a_directory_has_one_writer),
        cmocka_unit_test(a_file_may_not_be_larger),
        cmocka_unit_test(other_files_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
