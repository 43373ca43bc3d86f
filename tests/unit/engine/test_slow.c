/* Slow decisions are traced in the log, and a share of the decisions takes the plain path for the observer. */
#include "fake_host.h"

#include <fcntl.h>
#include <regex.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/account.h"
#include "framework/probe.h"

/* A clock that jumps whenever it is read, and an observer that notes little. */
struct watcher {
    int64_t now_ns, jumps_ns;
    enum probe_sample sample;
    uint32_t plain;
    struct probe probe;
};

static int64_t now(void *context)
{
    struct watcher *watcher = context;
    return watcher->now_ns += watcher->jumps_ns;
}

static enum probe_sample sample(void *context)
{
    return ((struct watcher *)context)->sample;
}

static void plain(void *context, int64_t ns)
{
    struct watcher *watcher = context;
    assert_true(ns > 0);
    watcher->plain++;
}

static void point(void *context _unused_, const struct profile *profile _unused_,
                  enum probe_point point _unused_, enum status_code code _unused_, int64_t ns _unused_)
{
}

static void plugin(void *context _unused_, const struct profile *profile _unused_,
                   const struct plugin_instance *instance _unused_, enum probe_point point _unused_,
                   enum status_code code _unused_, uint32_t count _unused_, int64_t ns _unused_)
{
}

static void evaluated(void *context _unused_, const struct profile *profile _unused_,
                      const struct plugin_instance *instance _unused_, enum probe_point point _unused_,
                      uint32_t count _unused_)
{
}

static void event(void *context _unused_, enum event_label label _unused_, int64_t ns _unused_)
{
}

static void watch(struct engine_fixture *e, struct watcher *watcher, enum decision_path slowest)
{
    watcher->probe = (struct probe){ .context = watcher,
                                     .now_ns = now,
                                     .sample = sample,
                                     .plain = plain,
                                     .point = point,
                                     .plugin = plugin,
                                     .evaluated = evaluated,
                                     .event = event };
    engine_fixture_init(e, NULL, &(struct engine_options){ .seed = 1, .slowest = slowest });
    engine_watch(&e->engine, &watcher->probe);
    fixture_load(&e->f, NODE("a", "2"));
    fixture_load(&e->f, NODE("b", "2"));
}

/* What the log says of the decision for a pod. */
static struct strbuf traced(enum decision_path slowest, int64_t jumps_ns, int verbosity, const char *cpu)
{
    struct engine_fixture e;
    struct watcher watcher = { .jumps_ns = jumps_ns };
    struct strbuf text = { 0 };
    char path[] = "/tmp/berth-test-XXXXXX", buf[4096];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    watch(&e, &watcher, slowest);
    fixture_loadf(&e.f,
                  "{kind: Pod, metadata: {name: web, namespace: shop, uid: u}, spec: {containers: "
                  "[{name: c, resources: {requests: {cpu: %s}}}]}}",
                  cpu);
    struct status gate;
    struct error err;
    assert_int_equal(engine_add_pod(&e.engine, e.f.last_pod, 0, &gate, &err), 0);
    engine_set_wall_clock(&e.engine, INT64_C(1700000000123000000));
    assert_int_equal(log_init(&(struct log_options){ .fd = fd, .verbosity = verbosity }, NULL), 0);
    engine_fixture_step(&e);
    assert_int_equal(log_init(&(struct log_options){ 0 }, NULL), 0);
    engine_fixture_release(&e);
    lseek(fd, 0, SEEK_SET);
    ssize_t n;
    while ((n = read(fd, buf, sizeof(buf))) > 0)
        strbuf_add(&text, buf, (size_t)n);
    strbuf_putc(&text, '\0');
    close(fd);
    return text;
}

static void assert_matches(const char *text, const char *pattern)
{
    regex_t regex;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&regex, text, 0, NULL, 0))
        fail_msg("%s\ndoes not match\n%s", text, pattern);
    regfree(&regex);
}

#define BEGIN \
    "^I[0-9]{4} [0-9:.]{15} +[0-9]+ slow.c:[0-9]+\\] Trace\\[[0-9]+\\]: \"Scheduling\" " \
    "namespace:shop,name:web " \
    "\\(14-Nov-2023 22:13:20.123\\) \\(total time: "
#define NEXT "\nTrace\\[[0-9]+\\]: "

static void test_traces(void **state _unused_)
{
    setenv("TZ", "UTC", 1);
    static const enum decision_path paths[] = { PATH_PLAIN, PATH_INDEX };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        struct strbuf text = traced(paths[i], 60 * MS, 2, "1");
        assert_matches(text.text,
                       BEGIN "[0-9]+ms\\):" NEXT
                             "---\"Computing predicates done\" [0-9]+ms \\(22:13:20.[0-9]{3}\\)" NEXT
                             "---\"Prioritizing done\" [0-9]+ms \\(22:13:2[0-9].[0-9]{3}\\)" NEXT
                             "\\[[0-9.m]+s\\] \\[[0-9.m]+s\\] END\n$");
        strbuf_release(&text);
        text = traced(paths[i], 200 * MS, 2, "100"); /* fits nowhere: nothing is prioritized */
        assert_non_null(strstr(text.text, "Computing predicates done"));
        assert_null(strstr(text.text, "Prioritizing"));
        strbuf_release(&text);
    }
}

/* Nothing is said of a quick one, nor at -v=1; short steps are named at -v=4 only. */
static void test_limits(void **state _unused_)
{
    static const struct {
        int64_t jumps_ns;
        int verbosity;
        bool is_traced;
    } cases[] = { { MS, 2, false }, { 200 * MS, 1, false }, { 200 * MS, 2, true } };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct strbuf text = traced(PATH_INDEX, cases[i].jumps_ns, cases[i].verbosity, "1");
        assert_int_equal(strstr(text.text, "Trace") != NULL, cases[i].is_traced);
        strbuf_release(&text);
    }
}

static void test_plain_sample(void **state _unused_)
{
    for (int i = 0; i < 2; i++) {
        struct engine_fixture e;
        struct watcher watcher = { .jumps_ns = 1, .sample = i ? SAMPLE_PLAIN : SAMPLE_TIMED };
        watch(&e, &watcher, PATH_INDEX);
        engine_fixture_add(&e, POD("p", "1", ""));
        struct decision decision = engine_fixture_step(&e);
        assert_true(decision.row != ROW_NONE);
        assert_int_equal(decision.path == PATH_PLAIN, i);
        assert_int_equal(watcher.plain, i);
        engine_fixture_release(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traces),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_plain_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
