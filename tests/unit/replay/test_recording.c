/* Recordings that follow each other in a bounded folder: the newest stay, each is whole, and a time finds its own. */
#include "unit/replay/life.h"

#include <sys/resource.h>

struct folder {
    size_t files, bytes;
};

static void weigh(const char *path, void *context)
{
    struct folder *folder = context;
    struct stat stat_of;
    if (stat(path, &stat_of) == 0) { /* it may just have gone */
        folder->files++;
        folder->bytes += (size_t)stat_of.st_size;
    }
}

static size_t folder_bytes(const struct life *life)
{
    struct folder folder = { 0 };
    life_each_file(life, weigh, &folder);
    return folder.bytes;
}

/* Lives as under the core: a new recording whenever the journal wants one. */
static void live_on(struct life *life, uint32_t rounds, size_t bound_bytes)
{
    for (uint32_t i = 0; i < rounds; i++) {
        life_round(life);
        assert_true(folder_bytes(life) <= bound_bytes);
        if (journal_wants_restart(life->journal))
            life_restart(life);
    }
}

static struct recording_summary *list(const struct life *life, struct arena *arena, size_t *ret_len)
{
    struct recording_summary *all;
    struct error err;
    if (recording_list(life->dir, arena, &all, ret_len, &err) < 0)
        fail_msg("%s", err.text);
    return all;
}

/* Repeats a recording by the name of its first file; returns how many decisions it has. */
static uint64_t repeat(const struct life *life, const struct recording_summary *summary)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/" STR_FMT "-000001.berth", life->dir, STR_ARG(summary->name));
    struct replay *again = life_replay(life, path, &(struct replay_options){ 0 }, 0);
    uint64_t decisions = again->decisions;
    assert_false(again->difference.there);
    assert_string_equal(again->recording.cut.text, "");
    assert_true(str_eq(again->recording.name, summary->name));
    assert_int_equal(decisions, summary->decisions);
    assert_true(again->first_ns == summary->first_ns && again->last_ns == summary->last_ns);
    life_drop(again);
    return decisions;
}

static void the_newest_hours_stay_within_the_bound(void **state _unused_)
{
    enum { BOUND = 512 << 10 };
    struct life life;
    struct arena arena = { 0 };
    size_t len;
    life_open(&life, &(struct life_options){
                         .journal = { .file_bytes = 60 << 10, .total_bytes = BOUND },
                     });
    live_on(&life, 6000, BOUND);
    assert_true(life.restarts > 10);
    assert_false(journal_stats(life.journal).ended);
    assert_int_equal(journal_stats(life.journal).recordings, life.restarts + 1);
    assert_true(journal_stats(life.journal).entries > 20000);
    int64_t end_ns = life.now_ns;
    life_stop(&life);
    assert_true(folder_bytes(&life) <= BOUND && folder_bytes(&life) > BOUND / 3);
    struct recording_summary *all = list(&life, &arena, &len);
    assert_true(len >= 2);
    for (size_t i = 0; i < len; i++) {
        assert_false(all[i].headless);
        assert_int_equal(all[i].cut.len, 0);
        assert_true(repeat(&life, &all[i]) > 50 || i == len - 1);
        assert_true(i == 0 || all[i].first_ns >= all[i - 1].last_ns);
    }
    assert_true(end_ns - all[len - 1].last_ns < 5 * SECOND);
    assert_true(all[0].first_ns > LIFE_BEGINS_NS); /* the first ones went */
    arena_release(&arena);
    life_forget(&life);
}

/* A process that ends, and the next one with the same folder. */
static void recordings_of_earlier_processes_make_room_too(void **state _unused_)
{
    enum { BOUND = 400 << 10 };
    struct life life;
    struct arena arena = { 0 };
    struct error err;
    size_t len;
    life_open(&life, &(struct life_options){ .journal = { .file_bytes = 30 << 10, .total_bytes = BOUND } });
    for (int process = 0; process < 6; process++) {
        live_on(&life, 700, BOUND);
        life_end_engine(&life);
        journal_close(life.journal);
        usleep(2000); /* names are milliseconds */
        assert_int_equal(journal_open(&life.options.journal, &life.journal, &err), 0);
        life_begin(&life);
    }
    life_stop(&life);
    assert_true(folder_bytes(&life) <= BOUND);
    struct recording_summary *all = list(&life, &arena, &len);
    assert_true(len >= 2);
    for (size_t i = 0; i < len; i++)
        repeat(&life, &all[i]);
    arena_release(&arena);
    life_forget(&life);
}

static void a_time_finds_its_recording(void **state _unused_)
{
    struct life life;
    struct arena arena = { 0 };
    size_t len;
    life_open(&life, &(struct life_options){ .journal = { .total_bytes = 1 << 20 } });
    for (int i = 0; i < 3; i++) {
        if (i)
            life_restart(&life);
        for (int round = 0; round < 100; round++)
            life_round(&life);
    }
    life_stop(&life);
    struct recording_summary *all = list(&life, &arena, &len);
    assert_int_equal(len, 3);
    for (size_t i = 0; i < len; i++) {
        int64_t middle_ns = all[i].first_ns / 2 + all[i].last_ns / 2;
        const struct replay_options ways[] = { { .until_ns = middle_ns },
                                               { .from_ns = middle_ns },
                                               { .from_ns = middle_ns, .until_ns = all[2].last_ns } };
        for (size_t way = 0; way < ARRAY_SIZE(ways); way++) {
            struct replay *again = life_replay(&life, NULL, &ways[way], 0);
            assert_true(str_eq(again->recording.name, all[i].name));
            assert_int_equal(again->recording.others, 2);
            assert_false(again->difference.there);
            assert_true(way == 0 ? again->decisions < all[i].decisions
                                 : again->decisions == all[i].decisions);
            life_drop(again);
        }
    }
    struct replay *newest = life_replay(&life, NULL, &(struct replay_options){ 0 }, 0);
    assert_true(str_eq(newest->recording.name, all[2].name));
    life_drop(newest);
    struct replay *oldest =
        life_replay(&life, NULL, &(struct replay_options){ .from_ns = LIFE_BEGINS_NS - 1 }, 0);
    assert_true(str_eq(oldest->recording.name, all[0].name));
    life_drop(oldest);
    life_drop(life_replay(&life, NULL, &(struct replay_options){ .until_ns = LIFE_BEGINS_NS - 1 }, -ENOENT));
    arena_release(&arena);
    life_forget(&life);
}

/* What comes between two engines is nobody's input. */
static void nothing_is_recorded_between_two_recordings(void **state _unused_)
{
    struct life life;
    struct arena arena = { 0 };
    size_t len;
    life_open(&life, &(struct life_options){ 0 });
    life_round(&life);
    life_end_engine(&life);
    journal_restart(life.journal);
    uint64_t entries = journal_stats(life.journal).entries;
    journal_tick(life.journal, life.now_ns);
    journal_step(life.journal, &life.cluster, NULL, life.now_ns);
    assert_int_equal(journal_stats(life.journal).entries, entries);
    assert_false(journal_wants_restart(life.journal));
    life_begin(&life);
    life_round(&life);
    life_stop(&life);
    struct recording_summary *all = list(&life, &arena, &len);
    assert_int_equal(len, 2);
    assert_int_equal(all[0].entries, entries);
    assert_false(all[1].headless);
    arena_release(&arena);
    life_forget(&life);
}

/* Objects that alone need more than half: the recording ends, and the engine does not begin anew again and again. */
static void a_bound_that_is_too_small_ends_it(void **state _unused_)
{
    struct life life;
    life_open(&life, &(struct life_options){ .journal = { .total_bytes = 24 << 10 } });
    uint32_t wishes = 0;
    for (int i = 0; i < 200; i++) {
        life_round(&life);
        wishes += journal_wants_restart(life.journal);
        assert_true(folder_bytes(&life) <= 24 << 10);
    }
    assert_true(wishes < 200);
    life_stop(&life);
    struct replay *rest = life_replay(&life, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(rest->difference.there);
    life_drop(rest);
    life_forget(&life);
}

/* Two who write to one folder would take each other's files for old ones. */
static void a_folder_belongs_to_one(void **state _unused_)
{
    struct life life;
    struct journal *second;
    struct error err;
    life_open(&life, &(struct life_options){ 0 });
    assert_int_equal(journal_open(&life.options.journal, &second, &err), -EBUSY);
    assert_non_null(strstr(err.text, "another scheduler records in"));
    life_stop(&life);
    assert_int_equal(journal_open(&life.options.journal, &second, &err), 0);
    journal_close(second);
    life_forget(&life);
}

/* A limit on the size of files ends the recording as a full disk does, and not the process. */
static void a_file_may_not_be_larger(void **state _unused_)
{
    struct life life;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    life_open(&life, &(struct life_options){ 0 });
    limit = (struct rlimit){ .rlim_cur = 64 << 10, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int round = 0; round < 400; round++)
        life_round(&life);
    for (int i = 0; i < 6000 && !journal_stats(life.journal).ended; i++)
        usleep(10000);
    assert_true(journal_stats(life.journal).ended);
    life_stop(&life);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    struct replay *rest = life_replay(&life, NULL, &(struct replay_options){ 0 }, 0);
    assert_false(rest->difference.there);
    life_drop(rest);
    life_forget(&life);
}

static void other_files_are_called_what_they_are(void **state _unused_)
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
        cmocka_unit_test(recordings_of_earlier_processes_make_room_too),
        cmocka_unit_test(a_time_finds_its_recording),
        cmocka_unit_test(nothing_is_recorded_between_two_recordings),
        cmocka_unit_test(a_bound_that_is_too_small_ends_it),
        cmocka_unit_test(a_folder_belongs_to_one),
        cmocka_unit_test(a_file_may_not_be_larger),
        cmocka_unit_test(other_files_are_called_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
