/* Leader election: which candidate may lead and when, with a simulated clock, server and faults; at the end with
 * threads and a server in another process. */
#include "unit/net/harness.h"

#include <stdatomic.h>

#include "base/log.h"
#include "unit/live/election.h"

/* ---- acquiring ---- */

static void test_creates(void **state _unused_)
{
    struct candidate *c = candidate("me");
    assert_false(lease_valid(c->lease));
    step(c);
    assert_requests(c, "GET 404,POST 201,");
    assert_string_equal(
        c->body, "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
                 "\"berth\",\"namespace\":\"kube-system\"},\"spec\":{\"holderIdentity\":\"me\","
                 "\"leaseDurationSeconds\":15,\"acquireTime\":\"2023-11-14T22:30:00.000000Z\","
                 "\"renewTime\":\"2023-11-14T22:30:00.000000Z\",\"leaseTransitions\":0}}");
    assert_true(lease_valid(c->lease));
    assert_int_equal(c->started, 1);
    assert_string_equal(c->events, "me became leader,");
    assert_string_equal(c->leaders, "me,");
}

static void test_renews_every_two_seconds_and_keeps_other_fields(void **state _unused_)
{
    hold_by("", 15);
    struct candidate *c = candidate("me");
    pass(0);
    assert_requests(c, "GET 200,PUT 200,PUT 200,");
    pass(3500 * MS);
    assert_requests(c, "PUT 200,");
    clock_ns += 123456;
    pass(500 * MS);
    assert_requests(c, "PUT 200,");
    static const char *const fields[][2] = {
        { "/metadata/labels/team", "a" },
        { "/spec/strategy", "OldestEmulationVersion" },
        { "/spec/preferredHolder", "p" },
        { "/spec/later/x/0", "1" },
        { "/spec/holderIdentity", "me" },
        { "/spec/leaseTransitions", "5" },
        { "/spec/leaseDurationSeconds", "15" },
        { "/spec/acquireTime", "2023-11-14T22:30:00.000000Z" },
        { "/spec/renewTime", "2023-11-14T22:30:04.000000Z" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        assert_field(stored, fields[i][0], fields[i][1]);
    assert_non_null(strstr(stored, "\"later\":{\"x\":[1,2.5,null]}"));
    assert_int_equal(c->started, 1);
    assert_int_equal(c->lost, 0);
}

static void test_waits_until_another_lease_expires(void **state _unused_)
{
    hold_by("other", 15); /* its renewTime is long ago: only the local clock counts */
    struct candidate *c = candidate("me");
    c->random = 0.5; /* every 2 s * (1 + 1.2 / 2) */
    int64_t start_ns = clock_ns;
    step(c);
    assert_int_equal(c->due_ns, start_ns + 3200 * MS);
    pass(14 * SECOND);
    assert_int_equal(c->started, 0);
    assert_requests(c, "GET 200,GET 200,GET 200,GET 200,GET 200,");
    pass(1 * SECOND); /* when it ends, though the next look would be at 16 s */
    assert_requests(c, "GET 200,PUT 200,PUT 200,");
    assert_true(lease_valid(c->lease));
    assert_field(stored, "/spec/leaseTransitions", "5");
    assert_string_equal(c->leaders, "other,me,");
}

static void test_jitter(void **state _unused_)
{
    hold_by("other", 15);
    struct candidate *c = candidate("me");
    int64_t start_ns = clock_ns;
    step(c);
    assert_int_equal(c->due_ns, start_ns + 2000 * MS);
    c->random = 0.9999;
    step(c);
    assert_int_equal(c->due_ns, start_ns + 4399 * MS);
}

static void test_an_observed_renewal_restarts_the_wait(void **state _unused_)
{
    hold_by("other", 15);
    struct candidate *c = candidate("me");
    pass(12 * SECOND);
    hold_by("other", 15);
    pass(14 * SECOND);
    assert_int_equal(c->started, 0);
    pass(4 * SECOND);
    assert_int_equal(c->started, 1);
}

static void test_lease_durations_of_other_holders(void **state _unused_)
{
    static const struct {
        const char *holder;
        int duration_s;
        int64_t after_s; /* it leads after this time, at most one retry period later */
    } cases[] = {
        { "other", 60, 60 }, { "other", 1, 1 }, { "other", 0, 0 }, { "other", -5, 0 }, { "", 60, 0 }
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        each_before(NULL);
        hold_by(cases[i].holder, cases[i].duration_s);
        struct candidate *c = candidate("me");
        if (cases[i].after_s)
            pass(cases[i].after_s * SECOND - MS);
        assert_int_equal(c->started, 0);
        pass(2 * SECOND);
        assert_int_equal(c->started, 1);
        each_after(NULL);
    }
}

static void test_failed_writes_make_no_leader(void **state _unused_)
{
    static const struct {
        enum fault get, write;
        const char *requests;
        const char *then; /* of the second attempt */
    } cases[] = {
        { FORBIDDEN, FINE, "GET 403,", "GET 200,PUT 200," },
        { BROKEN, FINE, "GET 500,", "GET 200,PUT 200," },
        { UNREACHABLE, FINE, "GET 0,", "GET 200,PUT 200," },
        { JUNK, FINE, "GET 200,", "GET 200,PUT 200," },
        { FINE, FORBIDDEN, "GET 200,PUT 403,", "GET 200,PUT 200," },
        { FINE, REQUEST_LOST, "GET 200,PUT 0,", "GET 200,PUT 200," },
        { FINE, REPLY_LOST, "GET 200,PUT 0,", "GET 200,PUT 200," },
        { FINE, JUNK, "GET 200,PUT 200,", "GET 200,PUT 200," },
        { FINE, STOLEN, "GET 200,PUT 200,", "GET 200," },
        { FINE, RIVAL, "GET 200,PUT 409,", "GET 200," },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        each_before(NULL);
        hold_by("", 15);
        struct candidate *c = candidate("me");
        faults(c, cases[i].get, cases[i].write);
        c->fault_count -= cases[i].write == FINE;
        step(c);
        assert_requests(c, cases[i].requests);
        assert_false(lease_valid(c->lease));
        assert_int_equal(c->started, 0);
        clock_ns += 2 * SECOND;
        step(c);
        assert_requests(c, cases[i].then);
        bool leads = strstr(cases[i].then, "PUT") != NULL;
        assert_int_equal(lease_valid(c->lease), leads);
        assert_int_equal(c->started, leads);
        each_after(NULL);
    }
}

/* ---- leading ---- */

static void test_lost_replies_to_renewals(void **state _unused_)
{
    static const struct {
        enum fault first, second, third;
        const char *requests;
        bool renewed;
    } cases[] = {
        { REPLY_LOST, FINE, FINE, "PUT 0,GET 200,PUT 200,", true },
        { REQUEST_LOST, FINE, FINE, "PUT 0,GET 200,PUT 200,", true },
        { UNREACHABLE, UNREACHABLE, FINE, "PUT 0,GET 0,", false },
        { REPLY_LOST, REPLY_LOST, FINE, "PUT 0,GET 0,", false },
        { REPLY_LOST, FINE, REPLY_LOST, "PUT 0,GET 200,PUT 0,", false },
        { JUNK, FINE, FINE, "PUT 200,GET 200,PUT 200,", true },
        { BROKEN, FINE, FORBIDDEN, "PUT 500,GET 200,PUT 403,", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        each_before(NULL);
        struct candidate *c = leader("me");
        int64_t sent_ns = clock_ns;
        faults(c, cases[i].first, cases[i].second, cases[i].third);
        pass(2 * SECOND);
        assert_requests(c, cases[i].requests);
        int64_t until_ns = (cases[i].renewed ? clock_ns : sent_ns) + 10 * SECOND;
        c->due_ns = INT64_MAX; /* no other step is due */
        clock_ns = until_ns - 1;
        assert_true(lease_valid(c->lease));
        clock_ns = until_ns;
        assert_false(lease_valid(c->lease));
        each_after(NULL);
    }
}

static void test_valid_from_the_time_of_sending(void **state _unused_)
{
    struct candidate *c = leader("me");
    c->latency_ns = 3 * SECOND;
    pass(2 * SECOND); /* sent at 2 s, reply at 5 s */
    assert_requests(c, "PUT 200,");
    c->due_ns = INT64_MAX;
    clock_ns = 1000 * SECOND + 12 * SECOND - 1;
    assert_true(lease_valid(c->lease));
    clock_ns++;
    assert_false(lease_valid(c->lease));
}

static void test_server_unreachable(void **state _unused_)
{
    struct candidate *c = leader("me");
    for (size_t i = 0; i < FAULTS_MAX; i++)
        c->faults[i] = UNREACHABLE;
    c->fault_count = FAULTS_MAX;
    pass(10 * SECOND - 1);
    assert_true(lease_valid(c->lease));
    pass(1);
    assert_false(lease_valid(c->lease));
    assert_int_equal(c->lost, 0); /* the round began at 2 s */
    struct error err;
    assert_int_equal(lease_check(c->lease, 20000, &err), 0);
    pass(2 * SECOND);
    assert_requests(c, "PUT 0,GET 0,PUT 0,GET 0,PUT 0,GET 0,PUT 0,GET 0,PUT 0,GET 0,");
    pass(2 * SECOND); /* it is read from now on, more often, and not written */
    assert_requests(c, "GET 0,GET 0,GET 0,GET 0,");
    assert_int_equal(c->lost, 0);
    c->fault_count = 0; /* no other has led: it leads on */
    pass(2 * SECOND);
    assert_requests(c, "GET 200,PUT 200,");
    assert_true(lease_valid(c->lease));
    pass(60 * SECOND);
    assert_int_equal(c->lost, 0);
    assert_string_equal(c->events, "me became leader,");
}

/* When the server answers again, an attempt in vain is repeated at once; one that succeeded is not. */
static void test_server_answers_again(void **state _unused_)
{
    struct candidate *c = leader("me");
    pass(3 * SECOND);
    c->requests[0] = '\0';
    c->due_ns = lease_retry(c->lease);
    pass(0);
    assert_requests(c, "");
    faults(c, UNREACHABLE, UNREACHABLE);
    pass(2 * SECOND);
    assert_requests(c, "PUT 0,GET 0,");
    c->due_ns = lease_retry(c->lease);
    pass(0);
    assert_requests(c, "PUT 200,");

    struct candidate *other = candidate("other");
    faults(other, UNREACHABLE);
    pass(0);
    assert_requests(other, "GET 0,");
    other->due_ns = lease_retry(other->lease);
    pass(0);
    assert_requests(other, "GET 200,");
}

/* Another has led meanwhile. */
static void test_unreachable_and_followed(void **state _unused_)
{
    struct candidate *c = leader("me");
    for (size_t i = 0; i < FAULTS_MAX; i++)
        c->faults[i] = UNREACHABLE;
    c->fault_count = FAULTS_MAX;
    pass(14 * SECOND);
    hold_by("other", 15);
    c->fault_count = 0;
    c->requests[0] = '\0';
    pass(2 * SECOND);
    assert_requests(c, "GET 200,");
    assert_int_equal(c->lost, 1);
    assert_string_equal(c->events, "me became leader,me stopped leading,");
    assert_int_equal(c->due_ns, INT64_MAX);
}

/* Where answers are lost, renewals that arrive must end: else no other could lead. */
static void test_slow_server(void **state _unused_)
{
    struct candidate *c = leader("me");
    c->latency_ns = 20 * SECOND; /* every request ends after 5 s; the round after 10 s */
    pass(60 * SECOND);
    assert_false(lease_valid(c->lease));
    assert_memory_equal(c->requests, "PUT 0,GET 0,GET 0,", 18);
    assert_null(strstr(c->requests + 5, "PUT"));
    assert_int_equal(c->lost, 0);
}

static void test_server_returns_in_time(void **state _unused_)
{
    struct candidate *c = leader("me");
    faults(c, UNREACHABLE, UNREACHABLE, BROKEN, FORBIDDEN, REQUEST_LOST, REQUEST_LOST, UNREACHABLE,
           UNREACHABLE);
    pass(60 * SECOND);
    assert_int_equal(c->lost, 0);
    assert_true(lease_valid(c->lease));
}

static void test_suspended_leader(void **state _unused_)
{
    /* No other candidate took over: it leads again after its renewal. */
    struct candidate *c = leader("me");
    clock_ns += 30 * SECOND;
    assert_false(lease_valid(c->lease));
    struct error err;
    assert_int_equal(lease_check(c->lease, 20000, &err), 0);
    clock_ns += 6 * SECOND;
    assert_int_equal(lease_check(c->lease, 20000, &err), -ETIMEDOUT);
    assert_string_equal(err.text, "failed election to renew leadership on lease berth");
    pass(0);
    assert_requests(c, "GET 200,PUT 200,");
    assert_true(lease_valid(c->lease));
    assert_int_equal(lease_check(c->lease, 20000, &err), 0);
    /* Another candidate took over: it never writes again. */
    c->busy = true;
    struct candidate *next = candidate("next");
    pass(30 * SECOND);
    assert_true(lease_valid(next->lease));
    assert_false(lease_valid(c->lease));
    c->busy = false;
    c->requests[0] = '\0';
    pass(0);
    assert_requests(c, "GET 200,");
    pass(15 * SECOND);
    assert_int_equal(c->lost, 1);
    assert_string_equal(c->leaders, "me,next,");
    assert_true(lease_valid(next->lease));
}

static void test_lease_taken_by_another(void **state _unused_)
{
    struct candidate *c = leader("me");
    hold_by("thief", 15);
    pass(2 * SECOND);
    assert_requests(c, "PUT 409,GET 200,");
    assert_false(lease_valid(c->lease));
    /* And given back: too late, since the other holder may have written. */
    hold_by("", 15);
    pass(9 * SECOND);
    assert_false(lease_valid(c->lease));
    assert_int_equal(c->lost, 0);
    pass(1 * SECOND);
    assert_int_equal(c->lost, 1);
    assert_field(stored, "/spec/holderIdentity", "");
    assert_field(stored, "/spec/leaseTransitions", "4");
}

static void test_lease_deleted(void **state _unused_)
{
    struct candidate *c = leader("me");
    free(stored);
    stored = NULL;
    pass(2 * SECOND);
    assert_requests(c, "PUT 404,GET 404,POST 201,");
    assert_true(lease_valid(c->lease));
    assert_int_equal(c->lost, 0);
}

/* The Lease holds integral seconds, and other candidates wait no longer than that. */
static void test_fractions_of_seconds(void **state _unused_)
{
    static const struct {
        int64_t lease_ms, renew_ms;
        const char *written;
        int64_t valid_ms;
    } cases[] = {
        { 2900, 2500, "2", 2000 },
        { 2900, 1500, "2", 1500 },
        { 2000, 1999, "2", 1999 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct candidate *c = candidate_with("me", cases[i].lease_ms, cases[i].renew_ms, 500);
        int64_t start_ns = clock_ns;
        step(c);
        assert_field(stored, "/spec/leaseDurationSeconds", cases[i].written);
        clock_ns = start_ns + cases[i].valid_ms * MS - 1;
        assert_true(lease_valid(c->lease));
        clock_ns++;
        assert_false(lease_valid(c->lease));
        each_after(NULL);
        each_before(NULL);
    }
}

/* ---- releasing ---- */

static void test_stop_writing_without_release(void **state _unused_)
{
    hold_by("", 15);
    struct candidate *c = leader("me"), *next = candidate("next");
    lease_renounce(c->lease);
    assert_false(lease_valid(c->lease));
    pass(60 * SECOND); /* the others still have to wait */
    assert_false(lease_valid(c->lease));
    assert_int_equal(next->started, 0);
    lease_release(c->lease);
    pass(5 * SECOND);
    assert_true(lease_valid(next->lease));
    assert_int_equal(c->lost, 0);
}

static void test_release(void **state _unused_)
{
    hold_by("", 15);
    struct candidate *c = leader("me");
    lease_release(c->lease);
    assert_false(lease_valid(c->lease));
    assert_requests(c, "GET 200,PUT 200,");
    assert_field(stored, "/spec/holderIdentity", "");
    assert_field(stored, "/spec/leaseDurationSeconds", "1");
    assert_field(stored, "/spec/leaseTransitions", "5");
    assert_field(stored, "/spec/renewTime", "2023-11-14T22:30:00.000000Z");
    assert_field(stored, "/spec/acquireTime", "2023-11-14T22:30:00.000000Z");
    assert_field(stored, "/spec/strategy", "OldestEmulationVersion");
    assert_string_equal(c->events, "me became leader,"); /* a release is not an event */
    assert_int_equal(c->lost, 0);
    struct candidate *next = candidate("next");
    pass(0);
    assert_true(lease_valid(next->lease));
    pass(60 * SECOND);
    assert_string_equal(c->requests, "");
}

static void test_release_cases(void **state _unused_)
{
    static const struct {
        const char *name;
        enum fault acquire[2], release[4];
        const char *requests, *holder;
    } cases[] = {
        { "nothing was written", { BROKEN, FINE }, { FINE }, "GET 500,", "" },
        { "the write may have succeeded",
          { FINE, REPLY_LOST },
          { FINE },
          "GET 200,PUT 0,GET 200,PUT 200,",
          "" },
        { "the write was lost", { FINE, REQUEST_LOST }, { FINE }, "GET 200,PUT 0,GET 200,", "" },
        { "another candidate's write", { FINE, RIVAL }, { FINE }, "GET 200,PUT 409,GET 200,", "rival" },
        { "another candidate writes in between",
          { FINE, REPLY_LOST },
          { FINE, RIVAL },
          "GET 200,PUT 0,GET 200,PUT 409,GET 200,",
          "rival" },
        { "no server", { FINE, REPLY_LOST }, { UNREACHABLE }, "GET 200,PUT 0,GET 0,", "me" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        each_before(NULL);
        hold_by("", 15);
        struct candidate *c = candidate("me");
        faults(c, cases[i].acquire[0], cases[i].acquire[1]);
        step(c);
        faults(c, cases[i].release[0], cases[i].release[1], cases[i].release[2], cases[i].release[3]);
        c->busy = true;
        lease_release(c->lease);
        if (strcmp(c->requests, cases[i].requests) != 0)
            fail_msg("%s: %s", cases[i].name, c->requests);
        assert_field(stored, "/spec/holderIdentity", cases[i].holder);
        assert_string_equal(c->events, "");
        each_after(NULL);
    }
}

static void test_bad_options(void **state _unused_)
{
    static const struct {
        int64_t lease_ms, renew_ms, retry_ms;
        const char *identity, *want;
    } cases[] = {
        { 10000, 10000, 2000, "a", "leaseDuration must be greater than renewDeadline" },
        { 15000, 2400, 2000, "a", "renewDeadline must be greater than retryPeriod*JitterFactor" },
        { 15000, 10000, 0, "a", "retryPeriod must be greater than zero" },
        { 15000, 10000, 2000, "", "Lock identity is empty" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct lease_options options = { .lease_duration_ms = cases[i].lease_ms,
                                         .renew_deadline_ms = cases[i].renew_ms,
                                         .retry_period_ms = cases[i].retry_ms,
                                         .identity = str_from(cases[i].identity) };
        struct leader_lease *lease;
        struct error err;
        assert_int_equal(lease_new(&options, &lease, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].want);
    }
}

/* ---- a holder that has ended ---- */

/* What is between renewDeadline and leaseDuration, 5 s, has to pass since the Lease could be read. */
static void test_holder_ended(void **state _unused_)
{
    hold_by("other", 15);
    struct candidate *c = candidate("me");
    pass(3 * SECOND);
    ended = "other";
    faults(c, UNREACHABLE, BROKEN);
    pass(4500 * MS); /* it cannot be read at 4 s and 6 s */
    assert_requests(c, "GET 200,GET 200,GET 0,GET 500,");
    pass(5400 * MS); /* it was read at 8 s */
    assert_int_equal(c->started, 0);
    pass(200 * MS);
    assert_int_equal(c->started, 1);
    assert_field(stored, "/spec/leaseTransitions", "5");
}

/* A renewal that arrives after its sender has ended. */
static void test_late_renewal_of_a_holder_that_ended(void **state _unused_)
{
    ended = "other";
    hold_by("other", 15);
    struct candidate *c = candidate("me");
    pass(3900 * MS);
    hold_by("other", 15); /* seen at 4 s */
    pass(5 * SECOND);
    assert_int_equal(c->started, 0);
    pass(200 * MS);
    assert_int_equal(c->started, 1);
}

/* What is known of one holder is not true of the next. */
static void test_next_holder_runs(void **state _unused_)
{
    ended = "other";
    hold_by("other", 15);
    struct candidate *c = candidate("me");
    pass(3900 * MS);
    hold_by("next", 15);
    pass(15 * SECOND);
    assert_int_equal(c->started, 0);
    pass(200 * MS);
    assert_int_equal(c->started, 1);
}

/* It is not waited for longer than for one that runs. */
static void test_short_lease_of_a_holder_that_ended(void **state _unused_)
{
    ended = "other";
    hold_by("other", 2);
    struct candidate *c = candidate("me");
    pass(1900 * MS);
    assert_int_equal(c->started, 0);
    pass(200 * MS);
    assert_int_equal(c->started, 1);
}

/* ---- random faults ---- */

/* Candidates with a faulty network that are suspended at random: never two leaders at once (pass() checks it), and soon
 * one leader when the network works again. */
static void test_random_faults(void **state _unused_)
{
    static const char *const names[CANDIDATES] = { "a", "b", "c" };
    struct rng rng = test_rng();
    int terms = 0;
    for (int round = 0; round < 40; round++) {
        each_before(NULL);
        for (size_t i = 0; i < CANDIDATES; i++)
            candidate(names[i])->fault_rng = &rng;
        for (int i = 0; i < 60; i++) {
            struct candidate *sleeper = &all[rng_below(&rng, CANDIDATES)];
            sleeper->busy = rng_below(&rng, 3) == 0;
            pass((int64_t)rng_below(&rng, 20000) * MS);
            sleeper->busy = false;
            for (size_t k = 0; k < CANDIDATES; k++) { /* a candidate that lost restarts with a new identity */
                terms += all[k].lost;
                if (!all[k].lost)
                    continue;
                lease_free(all[k].lease);
                size_t count = all_count;
                all_count = k;
                candidate(names[k])->fault_rng = &rng;
                all_count = count;
            }
        }
        bool one = false;
        for (size_t i = 0; i < CANDIDATES; i++) {
            all[i].fault_rng = NULL;
            all[i].latency_ns = 10 * MS;
        }
        pass(40 * SECOND);
        for (size_t i = 0; i < CANDIDATES; i++)
            one |= lease_valid(all[i].lease);
        assert_true(one);
        each_after(NULL);
    }
    assert_true(terms > 10); /* otherwise the test proves nothing */
}

/* ---- with threads and a server ---- */

struct real {
    atomic_int started, lost, expired;
};

static void real_started(void *user)
{
    atomic_fetch_add(&((struct real *)user)->started, 1);
}

static void real_expired(void *user)
{
    atomic_fetch_add(&((struct real *)user)->expired, 1);
}

static void real_lost(void *user)
{
    atomic_fetch_add(&((struct real *)user)->lost, 1);
}

static struct leader_lease *start_real(struct api *api, const char *name, const char *identity,
                                       struct real *real, int64_t deadline_ms)
{
    struct leader_lease *lease;
    struct error err;
    struct lease_options options = {
        .api = api,
        .namespace = STR("kube-system"),
        .name = str_from(name),
        .identity = str_from(identity),
        .lease_duration_ms = deadline_ms + 1000,
        .renew_deadline_ms = deadline_ms,
        .retry_period_ms = 50,
        .on_started = real_started,
        .on_lost = real_lost,
        .on_expired = real_expired,
        .user = real,
    };
    *real = (struct real){ 0 };
    if (lease_new(&options, &lease, &err) < 0)
        fail_msg("%s", err.text);
    lease_start(lease);
    return lease;
}

static void wait_for(const atomic_int *counter)
{
    for (int i = 0; i < 6000 && !atomic_load(counter); i++)
        sleep_ms(10);
    assert_int_equal(atomic_load(counter), 1);
}

static void test_with_threads(void **state _unused_)
{
    struct server server;
    char url[64];
    struct api *api;
    struct error err;
    struct real a, b, c;
    /* Only the second loses its lease, and only after the checks on it. */
    enum { LONG_MS = 120000, SHORT_MS = 6000 };
    server_start_args(&server, (const char *const[]){ NULL }); /* plain HTTP */
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server.port);
    struct kube_access access = { .cluster.server = str_from(url) };
    struct api_options options = { .access = &access, .qps = -1 };
    if (api_new(&options, &api, &err) < 0)
        fail_msg("%s", err.text);
    struct leader_lease *first = start_real(api, "berth", "a", &a, LONG_MS);
    wait_for(&a.started);
    assert_true(lease_valid(first));
    struct leader_lease *second = start_real(api, "berth", "b", &b, SHORT_MS);
    struct leader_lease *stalled = start_real(api, "stalled", "c", &c, LONG_MS);
    sleep_ms(400);
    assert_true(lease_valid(first));
    assert_false(lease_valid(second));
    lease_release(first);
    assert_false(lease_valid(first));
    wait_for(&b.started);
    assert_true(lease_valid(second));
    int64_t before_ns = monotonic_ns();
    lease_free(stalled); /* during a request */
    assert_true(monotonic_ns() - before_ns < LONG_MS / 2 * (SECOND / 1000));
    server_stop(&server);
    wait_for(&b.expired);
    assert_false(lease_valid(second));
    assert_int_equal(atomic_load(&b.lost), 0);
    lease_release(second);
    lease_free(second);
    lease_free(first);
    lease_free(NULL);
    api_free(api);
    assert_int_equal(atomic_load(&a.lost), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, each_before, each_after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_creates),
        CASE(test_renews_every_two_seconds_and_keeps_other_fields),
        CASE(test_waits_until_another_lease_expires),
        CASE(test_jitter),
        CASE(test_an_observed_renewal_restarts_the_wait),
        CASE(test_lease_durations_of_other_holders),
        CASE(test_failed_writes_make_no_leader),
        CASE(test_lost_replies_to_renewals),
        CASE(test_valid_from_the_time_of_sending),
        CASE(test_server_unreachable),
        CASE(test_slow_server),
        CASE(test_server_answers_again),
        CASE(test_unreachable_and_followed),
        CASE(test_server_returns_in_time),
        CASE(test_suspended_leader),
        CASE(test_lease_taken_by_another),
        CASE(test_lease_deleted),
        CASE(test_fractions_of_seconds),
        CASE(test_stop_writing_without_release),
        CASE(test_release),
        CASE(test_release_cases),
        CASE(test_bad_options),
        CASE(test_holder_ended),
        CASE(test_late_renewal_of_a_holder_that_ended),
        CASE(test_next_holder_runs),
        CASE(test_short_lease_of_a_holder_that_ended),
        CASE(test_random_faults),
        CASE(test_with_threads),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    log_init(&(struct log_options){ .fd = null }, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
