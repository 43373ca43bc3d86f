/* Log lines are those of klog, in text and in JSON, byte for byte except time and process. */
#include "support/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

static int read_end, write_end;

static void start(enum log_format format, int32_t verbosity, const char *vmodule)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_end = ends[0];
    write_end = ends[1];
    struct error err;
    struct log_options options = { format, verbosity, vmodule, write_end };
    if (log_init(&options, &err) < 0)
        fail_msg("%s", err.text);
}

static char line[8192];

/* The text written since the last call. */
static const char *written(void)
{
    ssize_t len = read(read_end, line, sizeof(line) - 1);
    line[MAX(len, 0)] = '\0';
    return line;
}

static void stop(void)
{
    assert_string_equal(written(), "");
    close(read_end);
    close(write_end);
    assert_int_equal(log_init(&(struct log_options){ 0 }, NULL), 0);
}

/* Skips text of this shape, in which 9 is a digit and + is one or more digits; or fails. */
static const char *past(const char *at, const char *shape)
{
    for (; *shape; shape++) {
        bool digit = *at >= '0' && *at <= '9';
        if (*shape == '9' || *shape == '+' ? !digit : *at != *shape)
            fail_msg("no header: %s", line);
        at++;
        while (*shape == '+' && *at >= '0' && *at <= '9')
            at++;
    }
    return at;
}

/* A text line without its header, which must be well formed. */
static const char *text_body(char severity)
{
    char process[16], today[8];
    time_t now = time(NULL);
    struct tm local;
    localtime_r(&now, &local);
    strftime(today, sizeof(today), "%m%d", &local);
    written();
    assert_int_equal(line[0], severity);
    assert_true(strncmp(line + 1, today, 4) == 0 || local.tm_hour == 0);
    snprintf(process, sizeof(process), "%7ld ", (long)getpid());
    const char *at = past(line + 1, "9999 99:99:99.999999 ");
    assert_int_equal(strncmp(at, process, strlen(process)), 0);
    return past(at + strlen(process), "test_log.c:+] ");
}

static void test_text(void **state _unused_)
{
    start(LOG_TEXT, 2, NULL);
    log_info(2, "Successfully bound pod to node", log_ref("pod", STR("default"), STR("web")),
             log_str("node", STR("n1")), log_int("evaluatedNodes", 12));
    assert_string_equal(text_body('I'), "\"Successfully bound pod to node\" pod=\"default/web\" node=\"n1\" "
                                        "evaluatedNodes=12\n");
    log_info(0, "plain");
    assert_string_equal(text_body('I'), "\"plain\"\n");
    struct error err = { "no \"such\" thing" };
    log_error(&err, "Failed", log_ref("node", (struct str){ 0 }, STR("n1")));
    assert_string_equal(text_body('E'), "\"Failed\" err=\"no \\\"such\\\" thing\" node=\"n1\"\n");
    log_error(NULL, "Failed");
    assert_string_equal(text_body('E'), "\"Failed\"\n");
    log_warning("Odd", log_duration("after", 1500000000));
    assert_string_equal(text_body('W'), "\"Odd\" after=\"1.5s\"\n");
    log_info(0, "Lists", log_list("none", NULL, 0),
             log_list("two", (struct str[]){ STR("a"), STR("\"") }, 2));
    assert_string_equal(text_body('I'), "\"Lists\" none=[] two=[\"a\",\"\\\"\"]\n");
    log_info(0, "Pods", log_refs("pods", (struct str[]){ STR("ns"), STR("a"), STR(""), STR("b") }, 2));
    assert_string_equal(text_body('I'),
                        "\"Pods\" pods=[{\"name\":\"a\",\"namespace\":\"ns\"},{\"name\":\"b\"}]\n");
    int computed = 0;
    log_info(3, "hidden", log_int("x", ++computed));
    assert_int_equal(computed, 0);
    stop();
}

static void test_text_of_several_lines(void **state _unused_)
{
    static const struct {
        const char *value, *want;
    } cases[] = {
        { "one\ntwo", "=<\n\tone\n\ttwo\n >\n" },
        { "one\n", "=<\n\tone\n >\n" },
        { "\n", "=<\n\t\n >\n" },
        { "a\n\nb", "=<\n\ta\n\t\n\tb\n >\n" },
    };
    start(LOG_TEXT, 0, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        log_info(0, "m", log_str("k", str_from(cases[i].value)));
        const char *body = text_body('I');
        assert_int_equal(strncmp(body, "\"m\" k", 5), 0);
        assert_string_equal(body + 5, cases[i].want);
    }
    log_info(0, "two\nlines");
    assert_string_equal(text_body('I'), "\"two\\nlines\"\n");
    stop();
}

/* The part after the caller, which must be well formed. */
static const char *json_body(void)
{
    struct timespec now;
    written();
    clock_gettime(CLOCK_REALTIME, &now);
    double now_ms = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
    char *end;
    double ms = strtod(past(line, "{\"ts\":"), &end);
    assert_true(ms <= now_ms + 1 && ms > now_ms - 60000);
    assert_null(memchr(line, 'e', (size_t)(end - line))); /* no exponent */
    return past(end, ",\"caller\":\"base/test_log.c:+\",");
}

static void test_json(void **state _unused_)
{
    start(LOG_JSON, 4, NULL);
    log_info(3, "Attempting to schedule pod", log_ref("pod", STR("default"), STR("web")),
             log_ref("node", (struct str){ 0 }, STR("n1")), log_str("reason", STR("a\tb\n\"c\"")),
             log_int("count", -3), log_duration("after", 250000));
    assert_string_equal(json_body(),
                        "\"msg\":\"Attempting to schedule pod\",\"v\":3,"
                        "\"pod\":{\"name\":\"web\",\"namespace\":\"default\"},\"node\":{\"name\":\"n1\"},"
                        "\"reason\":\"a\\tb\\n\\\"c\\\"\",\"count\":-3,\"after\":\"250\xc2\xb5s\"}\n");
    struct error err = { "boom" };
    log_error(&err, "Failed", log_int("count", 1));
    assert_string_equal(json_body(), "\"msg\":\"Failed\",\"count\":1,\"err\":\"boom\"}\n");
    log_error(NULL, "Failed");
    assert_string_equal(json_body(), "\"msg\":\"Failed\"}\n");
    log_info(0, "Lists", log_list("two", (struct str[]){ STR("a"), STR("b") }, 2));
    assert_string_equal(json_body(), "\"msg\":\"Lists\",\"v\":0,\"two\":[\"a\",\"b\"]}\n");
    log_warning("Odd");
    assert_string_equal(json_body(), "\"msg\":\"Odd\",\"v\":0}\n");
    stop();
}

static void test_verbosity(void **state _unused_)
{
    static const struct {
        int32_t verbosity;
        const char *vmodule, *file;
        int32_t level;
        bool want;
    } cases[] = {
        { 0, NULL, "src/queue/queue.c", 0, true },
        { 0, NULL, "src/queue/queue.c", 1, false },
        { 5, NULL, "queue.c", 5, true },
        { 2, "queue=4", "src/queue/queue.c", 4, true },
        { 2, "queue=4", "src/queue/queue.c", 5, false },
        { 2, "queue=4", "src/queue/queues.c", 4, false },
        { 2, "que*=4,", "src/queue/queues.c", 4, true },
        { 2, "q?eue=4", "queue.c", 4, true },
        { 2, "[p-r]ueue=4", "queue.c", 4, true },
        { 5, "queue=1", "queue.c", 4, true },
        { 0, "q*=1,queue=9", "queue.c", 4, false }, /* the first match counts */
        { 0, "other=0,queue=9", "queue.c", 9, true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        start(LOG_TEXT, cases[i].verbosity, cases[i].vmodule);
        bool quick = cases[i].level <= log_highest_verbosity;
        if ((quick && log_enabled_in(cases[i].level, cases[i].file)) != cases[i].want)
            fail_msg("case %zu", i);
        stop();
    }
    start(LOG_TEXT, 0, NULL);
    log_info(4, "hidden");
    log_set_verbosity(4);
    log_info(4, "shown");
    assert_string_equal(text_body('I'), "\"shown\"\n");
    stop();
}

/* Which stream a line goes to with split streams; standard output is a pipe meanwhile. */
static void test_split_streams(void **state _unused_)
{
    for (int format = LOG_TEXT; format <= LOG_JSON; format++) {
        start(LOG_TEXT, 0, NULL);
        struct log_options options = { .format = (enum log_format)format, .fd = write_end, .split = true };
        int ends[2], saved = dup(STDOUT_FILENO);
        char out[1000];
        assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
        fflush(stdout);
        dup2(ends[1], STDOUT_FILENO);
        log_init(&options, NULL);
        log_info(0, "an info");
        log_warning("a warning");
        log_error(NULL, "an error");
        dup2(saved, STDOUT_FILENO);
        ssize_t len = read(ends[0], out, sizeof(out) - 1);
        out[MAX(len, 0)] = '\0';
        written();
        assert_non_null(strstr(out, "an info"));
        assert_null(strstr(out, "an error"));
        assert_null(strstr(line, "an info"));
        assert_non_null(strstr(line, "an error"));
        assert_non_null(strstr(format == LOG_TEXT ? line : out, "a warning"));
        close(ends[0]);
        close(ends[1]);
        close(saved);
        stop();
    }
}

static void test_bad_vmodule(void **state _unused_)
{
    static const struct {
        const char *vmodule, *want;
    } cases[] = {
        { "queue", "syntax error: expect comma-separated list of filename=N" },
        { "queue=", "syntax error: expect comma-separated list of filename=N" },
        { "=1", "syntax error: expect comma-separated list of filename=N" },
        { "a=1=2", "syntax error: expect comma-separated list of filename=N" },
        { "a=x", "syntax error: expect comma-separated list of filename=N" },
        { "a=99999999999", "syntax error: expect comma-separated list of filename=N" },
        { "b=2,a=-1", "negative value for vmodule level" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = { "" };
        struct log_options options = { .vmodule = cases[i].vmodule };
        assert_int_equal(log_init(&options, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].want);
        assert_int_equal(log_highest_verbosity, 0);
    }
}

enum { WRITERS = 4, LINES = 500 };

static void *write_lines(void *user)
{
    for (int i = 0; i < LINES; i++)
        log_info(0, "line", log_int("writer", (int64_t)(intptr_t)user), log_int("number", i));
    return NULL;
}

static void test_lines_are_atomic(void **state _unused_)
{
    char path[] = "/tmp/berth-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(log_init(&(struct log_options){ .fd = fd }, NULL), 0);
    pthread_t threads[WRITERS];
    for (intptr_t i = 0; i < WRITERS; i++)
        pthread_create(&threads[i], NULL, write_lines, (void *)i);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    FILE *file = fdopen(fd, "r");
    rewind(file);
    int next[WRITERS] = { 0 }, lines = 0;
    for (; fgets(line, sizeof(line), file); lines++) {
        const char *at = strstr(line, "] \"line\" writer=");
        assert_non_null(at);
        char *end;
        long writer = strtol(at + 16, &end, 10);
        assert_true(writer >= 0 && writer < WRITERS);
        long number = strtol(past(end, " number="), &end, 10);
        assert_string_equal(end, "\n");
        assert_int_equal(number, next[writer]++);
    }
    assert_int_equal(lines, WRITERS * LINES);
    fclose(file);
    assert_int_equal(log_init(&(struct log_options){ 0 }, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_of_several_lines),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_verbosity),
        cmocka_unit_test(test_split_streams),
        cmocka_unit_test(test_bad_vmodule),
        cmocka_unit_test(test_lines_are_atomic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
