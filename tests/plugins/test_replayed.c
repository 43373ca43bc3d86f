/* test_replayed.c: messages from a plugin's threads and results of its blocking calls are part of a recording.
 *
 * everything.so acts by labels of pods: threads allow or reject them, PreBind and Bind run on other threads and fail,
 * PostBind activates others. The timing depends on the machine; the replay does not. */
#include "unit/replay/recorded.h"

#include <dlfcn.h>
#include <time.h>

#include "abi/loaded.h"
#include "base/log.h"

#define CONFIG \
    "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: " \
    "[{schedulerName: " \
    "default-scheduler, plugins: {queueSort: {disabled: [{name: PrioritySort}]}, multiPoint: {enabled: " \
    "[{name: " \
    "Everything, weight: 9}]}}}]}"

static const struct berth_module *open_module(void)
{
    void *handle = dlopen(EVERYTHING_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail_msg("%s", dlerror());
    return dlsym(handle, "berth_module");
}

/* The labels of a pod, by which the plugin acts. */
static const char *labels(uint64_t number)
{
    static const char *const orders[] = {
        "",
        ", test/permit: wait",
        ", test/permit: refuse",
        ", test/permit: wait, test/pre-bind: fast",
        ", test/pre-bind: fast",
        ", test/pre-bind: fail",
        ", test/bind: fast",
        ", test/bind: fail",
        ", test/pre-bind: slow",
    };
    static char text[128];
    snprintf(text, sizeof(text), "%s", orders[number % ARRAY_SIZE(orders)]);
    if (number % 13 == 0 && number > 20)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", test/activate: pod-%llu",
                 (unsigned long long)number - 7);
    return text;
}

/* Runs in real time: threads of the plugin call at any time. */
static void record_run(struct recorded *recorded, const struct loaded *loaded, int rounds)
{
    recorded_open(recorded, &(struct recorded_options){
                                .registry = &loaded->registry, .config = CONFIG, .labels = labels });
    for (int i = 0; i < rounds; i++) {
        recorded_round(recorded);
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
        recorded_tick(recorded);
        recorded_answer_all(recorded);
    }
    recorded_stop(recorded);
}

static void count_kinds(const struct recorded *recorded, uint64_t counts[static JOURNAL_ENTRY_KINDS],
                        uint64_t messages[static 8])
{
    struct recording recording;
    struct recording_entry entry;
    struct entry_fields fields;
    struct error err;
    assert_int_equal(recording_open(&recording, recorded->dir, INT64_MAX, &err), 0);
    while (recording_next(&recording, &entry)) {
        counts[entry.kind]++;
        if (entry.kind == JOURNAL_PLUGIN_MESSAGE && entry_read(entry.body, &fields, NULL) == 0)
            messages[fields.numbers[RECEIVED_KIND] & 7]++;
    }
    recording_close(&recording);
}

static void messages_of_threads_are_replayed(void **state)
{
    struct recorded recorded;
    uint64_t counts[JOURNAL_ENTRY_KINDS] = { 0 }, messages[8] = { 0 };
    record_run(&recorded, *state, 400);
    count_kinds(&recorded, counts, messages);
    for (int kind = PLUGIN_MESSAGE_ACTIVATE; kind <= PLUGIN_MESSAGE_WORK_DONE; kind++)
        assert_true(messages[kind + 1] > 5);
    for (int i = 0; i < 3; i++) {
        struct replay *again = recorded_replay(&recorded, NULL, &(struct replay_options){ 0 }, 0);
        assert_false(again->difference.there);
        assert_int_equal(again->decisions, recorded.decisions);
        recorded_drop(again);
    }
    recorded_forget(&recorded);
}

/* At the cut, work is pending whose end is not recorded. */
static void a_cut_leaves_nothing_behind(void **state)
{
    struct recorded recorded;
    record_run(&recorded, *state, 60);
    for (int i = 1; i < 30; i++) {
        struct replay *part = recorded_replay(
            &recorded, NULL, &(struct replay_options){ .until_ns = RECORDED_BEGINS_NS + i * SECOND }, 0);
        assert_false(part->difference.there);
        recorded_drop(part);
    }
    recorded_forget(&recorded);
}

static void without_the_plugin_there_is_an_error(void **state)
{
    struct recorded recorded;
    struct error err;
    record_run(&recorded, *state, 3);
    struct replay *without = xcalloc(1, sizeof(*without));
    assert_true(replay_run(without,
                           &(struct replay_options){
                               .path = recorded.dir, .until_ns = INT64_MAX, .from_ns = INT64_MIN },
                           &err) < 0);
    assert_non_null(strstr(err.text, "enables the plugin \"Everything\""));
    assert_non_null(strstr(err.text, "--plugin"));
    recorded_drop(without);
    recorded_forget(&recorded);
}

/* No blocking callback is called, and all pods are placed. */
static void another_configuration_calls_nothing_that_blocks(void **state)
{
    struct recorded recorded;
    char config[] = "/tmp/berth-config-XXXXXX";
    int fd = mkstemp(config);
    assert_true(write(fd, CONFIG, strlen(CONFIG)) == (ssize_t)strlen(CONFIG));
    close(fd);
    record_run(&recorded, *state, 200);
    struct replay *other = recorded_replay(&recorded, NULL, &(struct replay_options){ .config = config }, 0);
    struct compare_sum sum = compare_sum(other->comparison);
    assert_true(sum.pods > 100 && sum.same + sum.moved > sum.pods / 2);
    recorded_drop(other);
    unlink(config);
    recorded_forget(&recorded);
}

static int setup(void **state)
{
    static struct loaded loaded;
    struct error err;
    if (log_init(&(struct log_options){ .fd = open("/dev/null", O_WRONLY | O_CLOEXEC) }, &err) < 0)
        return -1;
    loaded_init(&loaded, &builtin_plugins);
    *state = &loaded;
    return loaded_add(&loaded, open_module(), "everything.so", &err);
}

static int teardown(void **state)
{
    loaded_release(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_threads_are_replayed),
        cmocka_unit_test(a_cut_leaves_nothing_behind),
        cmocka_unit_test(without_the_plugin_there_is_an_error),
        cmocka_unit_test(another_configuration_calls_nothing_that_blocks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
