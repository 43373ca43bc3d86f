/* Metrics of plugins: what is rejected, how it is logged, and a page that can always be parsed. */
#include "support/test.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/host.h"
#include "base/log.h"

static int log_fd;

static const char *logged(void)
{
    static char text[1 << 16];
    ssize_t len = pread(log_fd, text, sizeof(text) - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return text;
}

static size_t times(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static const double rising[] = { 1, 2, 5 }, falling[] = { 2, 1 }, flat[] = { 1, 1 },
                    open_end[] = { 1, INFINITY }, closed[] = { 1 }, nothing[] = { NAN };
static double many[METRIC_BUCKETS_MAX + 1];
static const struct metric_info reserved[] = {
    { .name = "berth_own_total", .help = "h", .type = METRIC_COUNTER },
    { .name = "berth_own_seconds", .help = "h", .type = METRIC_HISTOGRAM },
};

static const struct {
    const char *what;
    struct berth_metric_info info;
    const char *reason; /* NULL: it is accepted */
} cases[] = {
    { "a counter", { "one_total", "One", BERTH_COUNTER, { "a", "b" } }, NULL },
    { "the same again", { "one_total", "One", BERTH_COUNTER, { "a", "b" } }, NULL },
    { "with another type", { "one_total", "One", BERTH_GAUGE, { "a", "b" } }, "another type" },
    { "with other labels", { "one_total", "One", BERTH_COUNTER, { "a" } }, "other labels" },
    { "with labels in another order", { "one_total", "One", BERTH_COUNTER, { "b", "a" } }, "other labels" },
    { "with another help text", { "one_total", "Two", BERTH_COUNTER, { "a", "b" } }, "another help text" },
    { "a histogram", { "two", "Two", BERTH_HISTOGRAM, { NULL }, rising, 3 }, NULL },
    { "with other buckets", { "two", "Two", BERTH_HISTOGRAM, { NULL }, rising, 2 }, "other buckets" },
    { "a line of it", { "two_count", "C", BERTH_COUNTER }, "has lines of that name" },
    { "a gauge", { "three_sum", "S", BERTH_GAUGE }, NULL },
    { "whose line it would be", { "three", "S", BERTH_HISTOGRAM }, "has lines of that name" },
    { "no clash", { "two_counts", "C", BERTH_COUNTER }, NULL },
    { "infinity is there anyhow", { "four", "F", BERTH_HISTOGRAM, { NULL }, open_end, 2 }, NULL },
    { "or is not", { "four", "F", BERTH_HISTOGRAM, { NULL }, closed, 1 }, NULL },
    { "a name of berth's", { "berth_own_total", "Mine", BERTH_COUNTER }, "berth has a metric of that name" },
    { "a line of berth's", { "berth_own_seconds_bucket", "Mine", BERTH_GAUGE }, "berth has a metric" },
    { "no name", { NULL, "h", BERTH_GAUGE }, "a name that Prometheus does not take" },
    { "an empty name", { "", "h", BERTH_GAUGE }, "a name that Prometheus does not take" },
    { "a number first", { "9lives", "h", BERTH_GAUGE }, "a name that Prometheus does not take" },
    { "a space", { "my metric", "h", BERTH_GAUGE }, "a name that Prometheus does not take" },
    { "a line end", { "my\nmetric 1", "h", BERTH_GAUGE }, "a name that Prometheus does not take" },
    { "a non-ASCII letter",
      { "m\xc3\xa4\xc3\x9f", "h", BERTH_GAUGE },
      "a name that Prometheus does not take" },
    { "a colon", { "my:metric", "h", BERTH_GAUGE }, NULL },
    { "a colon in a label", { "five", "h", BERTH_GAUGE, { "a:b" } }, "a label has a name" },
    { "a label of Prometheus' own", { "five", "h", BERTH_GAUGE, { "__name__" } }, "a label has a name" },
    { "a label with a quote", { "five", "h", BERTH_GAUGE, { "a\"" } }, "a label has a name" },
    { "the same label twice", { "five", "h", BERTH_GAUGE, { "a", "b", "a" } }, "a label is there twice" },
    { "the label le", { "five", "h", BERTH_HISTOGRAM, { "le" } }, "the label le" },
    { "the label le of a gauge", { "six", "h", BERTH_GAUGE, { "le" } }, NULL },
    { "a type that is none", { "seven", "h", (enum berth_metric_type)1 }, "a type that there is not" },
    { "another one", { "seven", "h", (enum berth_metric_type) - 1 }, "a type that there is not" },
    { "buckets that fall", { "eight", "h", BERTH_HISTOGRAM, { NULL }, falling, 2 }, "do not rise" },
    { "equal buckets", { "eight", "h", BERTH_HISTOGRAM, { NULL }, flat, 2 }, "do not rise" },
    { "a bucket that is no number", { "eight", "h", BERTH_HISTOGRAM, { NULL }, nothing, 1 }, "do not rise" },
    { "too many",
      { "eight", "h", BERTH_HISTOGRAM, { NULL }, many, ARRAY_SIZE(many) },
      "more than 40 buckets" },
    { "buckets that are not there", { "nine", "h", BERTH_HISTOGRAM, { NULL }, NULL, 3 }, NULL },
};

static void test_rejected_metrics(void **state _unused_)
{
    static const struct plugin plugin = { .name = "Greedy" };
    const struct berth_str values[] = { { "x", 1 }, { "y", 1 }, { "z", 1 }, { "!", 1 } };
    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i] = (double)i;
    host_metrics_for(&plugin);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        size_t lines = times(logged(), "\n");
        struct berth_metric *metric = host_metric(&cases[i].info, values);
        const char *last = logged();
        if ((metric == NULL) != (cases[i].reason != NULL))
            fail_msg("%s: it is %s\n%s", cases[i].what, metric ? "there" : "refused", last);
        if (cases[i].reason && !strstr(last, cases[i].reason))
            fail_msg("%s: the log does not mention \"%s\":\n%s", cases[i].what, cases[i].reason, last);
        if (!cases[i].reason && times(last, "\n") != lines)
            fail_msg("%s: why this?\n%s", cases[i].what, last);
        host_metric_add(metric, 1); /* also with NULL */
        host_metric_set(metric, 1);
        host_metric_observe(metric, 1);
    }
    assert_non_null(strstr(logged(),
                           "\"A plugin does not get a metric\" plugin=\"Greedy\" metric=\"berth_own_total\" "
                           "reason=\"berth has a metric of that name\""));
    size_t lines = times(logged(), "\n");
    for (int i = 0; i < 1000; i++)
        assert_null(
            host_metric(&(struct berth_metric_info){ "berth_own_total", "Mine", BERTH_COUNTER }, NULL));
    assert_int_equal(times(logged(), "\n"), lines); /* already logged */
    assert_null(
        host_metric(&(struct berth_metric_info){ "one_total", "One", BERTH_COUNTER, { "a", "b" } }, NULL));
    assert_non_null(strstr(logged(), "without values of its labels"));
    host_metrics_for(NULL);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d", i);
        assert_null(host_metric(&(struct berth_metric_info){ name, "h", BERTH_COUNTER }, NULL));
    }
    assert_int_equal(times(logged(), "A plugin does not get"), 100); /* the number of log lines is bounded */
}

/* Each line of the page is well formed. */
static void test_page_can_be_parsed(void **state _unused_)
{
    _cleanup_(strbuf_release) struct strbuf out = { 0 };
    const struct berth_metric_info info = {
        "odd_total", "A \\ help\nin two lines, \xff\xfe", BERTH_COUNTER, { "v" }
    };
    const struct berth_str value = { "a\"b\\c\nd\xff\0e", 10 };
    host_metric_add(host_metric(&info, &value), 2.5);
    host_metrics_write(&out);
    assert_non_null(strstr(out.text,
                           "# HELP odd_total [ALPHA] A \\\\ help\\nin two lines, \xef\xbf\xbd\xef\xbf\xbd\n"
                           "# TYPE odd_total counter\n"
                           "odd_total{v=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\xef\xbf\xbd"
                           "e\"} 2.5\n"));
    assert_int_equal(times(out.text, "# TYPE one_total "), 1);
    assert_int_equal(
        times(out.text, "# TYPE four histogram\nfour_bucket{le=\"1\"} 2\nfour_bucket{le=\"+Inf\"} 2\n"), 1);
    assert_null(strstr(out.text, "berth_own"));
    assert_null(strstr(out.text, "nan"));
}

int main(void)
{
    struct error err;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejected_metrics),
        cmocka_unit_test(test_page_can_be_parsed),
    };
    log_fd = memfd_create("log", MFD_CLOEXEC);
    host_metrics_reserve(reserved, ARRAY_SIZE(reserved));
    if (log_fd < 0 || log_init(&(struct log_options){ .fd = log_fd }, &err) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
