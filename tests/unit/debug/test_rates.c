/* How often and how many, from samples of the metrics. */
#include "support/test.h"

#include <yyjson.h>

#include "debug/rates.h"
#include "observe/families.h"

#define SECOND INT64_C(1000000000)

static struct metrics *metrics;

static void count(const char *result, const char *profile, uint64_t pods)
{
    const struct str labels[] = { str_from(result), str_from(profile) };
    counter_add(metric_get(metrics, FAMILY_SCHEDULE_ATTEMPTS_TOTAL, labels), pods);
}

static void queue(const char *name, double pods)
{
    const struct str label = str_from(name);
    gauge_set(metric_get(metrics, FAMILY_PENDING_PODS, &label), pods);
}

static yyjson_doc *look(const struct rates *rates, int64_t second)
{
    struct strbuf out = { 0 };
    rates_write(rates, second, second * SECOND, &out);
    yyjson_doc *doc = yyjson_read(out.text, out.len, 0);
    assert_non_null(doc);
    strbuf_release(&out);
    return doc;
}

static double at(yyjson_doc *doc, const char *pointer)
{
    yyjson_val *val = yyjson_doc_ptr_get(doc, pointer);
    if (!yyjson_is_num(val))
        fail_msg("there is no %s", pointer);
    return yyjson_get_num(val);
}

static struct rates *begin(void)
{
    struct scheduler_flags flags;
    struct features features;
    struct error err;
    char *argv[] = { (char *)"berth" };
    assert_int_equal(flags_parse(&flags, 1, argv, &err), 0);
    assert_int_equal(flags_check(&flags, &features, NULL, &err), 0);
    metrics = families_new(&flags, &features, &err);
    flags_release(&flags);
    assert_non_null(metrics);
    return rates_new(metrics);
}

static void end(struct rates *rates)
{
    rates_free(rates);
    metrics_free(metrics);
}

static void nothing_was_sampled_yet(void **state _unused_)
{
    struct rates *rates = begin();
    count("scheduled", "a", 5);
    yyjson_doc *doc = look(rates, 100);
    assert_true(at(doc, "/rates/scheduled") == 0);
    assert_true(at(doc, "/totals/scheduled") == 5);
    yyjson_doc_free(doc);
    end(rates);
}

static void rates_are_per_second_over_all_profiles(void **state _unused_)
{
    struct rates *rates = begin();
    count("scheduled", "a", 1000);
    rates_sample(rates, 100, 100 * SECOND);
    count("scheduled", "a", 10);
    count("scheduled", "b", 20);
    count("unschedulable", "a", 5);
    queue("unschedulable", 5);
    rates_sample(rates, 105, 105 * SECOND);
    yyjson_doc *doc = look(rates, 110);
    assert_true(at(doc, "/samples/time/0") == 105);
    assert_true(at(doc, "/samples/rates/scheduled/0") == 6);
    assert_true(at(doc, "/samples/rates/unschedulable/0") == 1);
    assert_true(at(doc, "/samples/queue/unschedulable/0") == 5);
    assert_true(at(doc, "/rates/scheduled") == 3); /* 30 in the ten seconds that are known */
    assert_true(at(doc, "/queue/unschedulable") == 5);
    yyjson_doc_free(doc);
    end(rates);
}

static void the_last_minute_counts_and_a_reset_is_no_change(void **state _unused_)
{
    struct rates *rates = begin();
    for (int64_t second = 0; second <= 2 * 3600; second += 5) {
        count("scheduled", "a", second < 7140 ? 1000 : 5);
        rates_sample(rates, second, second * SECOND);
    }
    yyjson_doc *doc = look(rates, 7200);
    assert_true(at(doc, "/rates/scheduled") == 1);
    assert_int_equal(yyjson_arr_size(yyjson_doc_ptr_get(doc, "/samples/time")), 359);
    assert_true(at(doc, "/samples/time/358") == 7200);
    yyjson_doc_free(doc);
    metrics_reset(metrics);
    doc = look(rates, 7205);
    assert_true(at(doc, "/rates/scheduled") == 0);
    yyjson_doc_free(doc);
    end(rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_was_sampled_yet),
        cmocka_unit_test(rates_are_per_second_over_all_profiles),
        cmocka_unit_test(the_last_minute_counts_and_a_reset_is_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
