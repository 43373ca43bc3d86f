/* Leader election that the API server coordinates: a candidate leads when the Lease names it, and only then. The clock,
 * the server and the one that assigns the Lease are simulated. */
#include "unit/live/election.h"

#include "base/timestamp.h"

/* ---- the one that assigns the Lease ---- */
static void assign(const char *holder, const char *preferred, int duration_s)
{
    char text[512], buf[TIMESTAMP_LEN_MAX + 1];
    int64_t us = simulated_wall(NULL);
    struct str now = timestamp_format_fraction(us / 1000000, (int32_t)(us % 1000000) * 1000, 6, buf);
    snprintf(text, sizeof(text),
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":\"berth\","
             "\"namespace\":\"kube-system\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":%d,"
             "\"renewTime\":\"" STR_FMT "\",\"strategy\":\"OldestEmulationVersion\"%s%s%s}}",
             holder, duration_s, STR_ARG(now), preferred[0] ? ",\"preferredHolder\":\"" : "", preferred,
             preferred[0] ? "\"" : "");
    store(text);
}

/* Marks the Lease as it is. */
static void prefer(const char *name)
{
    yyjson_doc *doc = yyjson_read(stored, strlen(stored), 0);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *spec = yyjson_mut_obj_get(yyjson_mut_doc_get_root(copy), "spec");
    yyjson_mut_obj_put(spec, yyjson_mut_str(copy, "preferredHolder"), yyjson_mut_strcpy(copy, name));
    char *text = yyjson_mut_write(copy, 0, NULL);
    store(text);
    free(text);
    yyjson_mut_doc_free(copy);
    yyjson_doc_free(doc);
}

static bool is_free(void)
{
    struct timestamp renewed;
    const char *holder = stored ? field_of(stored, "/spec/holderIdentity") : NULL;
    if (!holder || !*holder)
        return true;
    assert_true(timestamp_parse(str_from(field_of(stored, "/spec/renewTime")), &renewed));
    int64_t duration_s;
    assert_true(str_to_int64(str_from(field_of(stored, "/spec/leaseDurationSeconds")), &duration_s));
    return (renewed.seconds + duration_s) * 1000000 + renewed.nanos / 1000 < simulated_wall(NULL);
}

static int before(void **state)
{
    each_before(state);
    is_coordinated = true;
    return 0;
}

/* ---- rules ---- */
static void test_leads_when_named(void **state _unused_)
{
    struct candidate *c = candidate("me");
    pass(10 * SECOND);
    assert_false(lease_valid(c->lease));
    assert_null(stored); /* it creates none */
    assign("other", "", 5);
    pass(60 * SECOND); /* it has ended long ago, and is not its own */
    assert_false(lease_valid(c->lease));
    assert_null(strstr(c->requests, "P"));
    assign("me", "", 5);
    pass(5 * SECOND);
    assert_true(lease_valid(c->lease));
    assert_int_equal(c->started, 1);
    assert_string_equal(c->events, "me became leader,");
    assert_field(stored, "/spec/holderIdentity", "me");
    assert_field(stored, "/spec/leaseDurationSeconds", "15");
    assert_field(stored, "/spec/leaseTransitions", "0");
    assert_field(stored, "/spec/strategy", "OldestEmulationVersion");
    assert_true(c->slow_paths >= 1); /* it reads before every renewal */
    c->requests[0] = '\0';
    pass(2 * SECOND);
    assert_string_equal(c->requests, "GET 200,PUT 200,");
}

/* A candidate that could not write in time does not take what the server is about to assign to another. */
static void test_leaves_what_has_expired(void **state _unused_)
{
    struct candidate *c = candidate("me");
    c->random = 0.5;
    static const enum fault faults[] = { FINE, UNREACHABLE, FINE, UNREACHABLE, FINE, UNREACHABLE };
    memcpy(c->faults, faults, sizeof(faults));
    c->fault_count = ARRAY_SIZE(faults);
    assign("me", "", 5);
    pass(30 * SECOND);
    assert_false(lease_valid(c->lease));
    assert_int_equal(c->started, 0);
    assign("me", "", 5);
    pass(5 * SECOND);
    assert_true(lease_valid(c->lease));
}

static void test_a_term_ends(void **state _unused_)
{
    struct candidate *c = candidate("me");
    assign("me", "", 5);
    pass(3 * SECOND);
    assert_true(lease_valid(c->lease));
    prefer("other");
    pass(2 * SECOND);
    assert_int_equal(c->terms_ended, 1);
    assert_string_equal(c->events, "me became leader,me stopped leading,");
    assert_true(lease_valid(c->lease)); /* for what is on its way */
    c->requests[0] = '\0';
    pass(60 * SECOND);
    assert_string_equal(c->requests, ""); /* it is not renewed */
    assert_false(lease_valid(c->lease));
    assert_int_equal(c->terms_ended, 1);
    assert_int_equal(c->lost, 0);
    lease_release(c->lease);
    assert_field(stored, "/spec/holderIdentity", "");
}

/* One that is named while another is preferred does not begin. */
static void test_no_new_term_for_another(void **state _unused_)
{
    struct candidate *c = candidate("me");
    assign("me", "other", 5);
    pass(60 * SECOND);
    assert_int_equal(c->started, 0);
    assert_null(strstr(c->requests, "PUT"));
}

static void test_another_is_named(void **state _unused_)
{
    struct candidate *c = candidate("me");
    assign("me", "", 5);
    pass(3 * SECOND);
    assign("other", "", 5);
    pass(3 * SECOND);
    assert_false(lease_valid(c->lease)); /* from the moment at which it is read */
    pass(15 * SECOND);
    assert_int_equal(c->lost, 1);
    assert_field(stored, "/spec/holderIdentity", "other");
}

static void test_the_lease_is_deleted(void **state _unused_)
{
    struct candidate *c = candidate("me");
    assign("me", "", 5);
    pass(3 * SECOND);
    free(stored);
    stored = NULL;
    pass(3 * SECOND);
    assert_false(lease_valid(c->lease));
    pass(15 * SECOND);
    assert_int_equal(c->lost, 1);
    assert_null(stored);
}

/* Whatever fails, and whichever candidate is named or preferred, there are never two leaders: pass() looks. */
static void test_random_faults(void **state _unused_)
{
    static const char *const names[CANDIDATES] = { "a", "b", "c" };
    struct rng rng = test_rng();
    int started = 0;
    for (int round = 0; round < 200; round++) {
        before(NULL);
        for (size_t i = 0; i < CANDIDATES; i++)
            candidate(names[i])->fault_rng = &rng;
        for (int i = 0; i < 60; i++) {
            struct candidate *sleeper = &all[rng_below(&rng, CANDIDATES)];
            sleeper->busy = rng_below(&rng, 3) == 0;
            pass((int64_t)rng_below(&rng, 5000) * MS);
            sleeper->busy = false;
            const char *name = names[rng_below(&rng, CANDIDATES)];
            if (is_free())
                assign(name, "", 5);
            else if (rng_below(&rng, 10) == 0)
                prefer(name);
        }
        for (size_t i = 0; i < CANDIDATES; i++)
            started += all[i].started;
        each_after(NULL);
    }
    assert_true(started > 100);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, before, each_after)
    const struct CMUnitTest tests[] = {
        CASE(test_leads_when_named), CASE(test_leaves_what_has_expired),
        CASE(test_a_term_ends),      CASE(test_no_new_term_for_another),
        CASE(test_another_is_named), CASE(test_the_lease_is_deleted),
        CASE(test_random_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
