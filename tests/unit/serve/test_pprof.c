/* /debug/pprof: authorization and contents: a profile names the function that uses the CPU. */
#include "support/pace.h"
#include "unit/serve/scheduler.h"

#include "codec/protobuf.h"
#include "pprof/symbols.h"

static atomic_bool burning;
static atomic_uint_fast64_t burnt;

/* Both functions must be found in the profile. */
__attribute__((noinline)) void burn_innermost(void);
__attribute__((noinline)) void burn_innermost(void)
{
    for (int i = 0; i < 1000; i++)
        atomic_fetch_add_explicit(&burnt, (uint_fast64_t)i, memory_order_relaxed);
}

__attribute__((noinline)) static void *burn_outermost(void *user _unused_)
{
    while (atomic_load(&burning))
        burn_innermost();
    return NULL;
}

static void every_page_needs_authorization(void **state _unused_)
{
    static const char *const paths[] = {
        "/debug/pprof",         "/debug/pprof/",        "/debug/pprof/profile?seconds=1",
        "/debug/pprof/symbol",  "/debug/pprof/trace",   "/debug/pprof/heap?debug=1",
        "/debug/pprof/cmdline", "/debug/pprof/unknown", "/debug/flags/v",
    };
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_int_equal(status_of(&scheduler, paths[i], ""), 403);
        assert_int_equal(status_of(&scheduler, paths[i], BOB), 403);
        assert_int_equal(status_of(&scheduler, paths[i], "Authorization: Bearer x\r\n"), 401);
    }
    scheduler_stop(&scheduler);
    no_profiling = true;
    scheduler_start(&scheduler, true, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(status_of(&scheduler, paths[i], MON), 404);
    scheduler_stop(&scheduler);
    no_profiling = false;
}

static void functions_have_names(void **state _unused_)
{
    struct scheduler scheduler;
    char target[128], want[128];
    unsigned long long address = (unsigned long long)(uintptr_t)burn_innermost;
    scheduler_start(&scheduler, true, NULL);
    snprintf(target, sizeof(target), "/debug/pprof/symbol?%#llx+12345", address + 1);
    snprintf(want, sizeof(want), "num_symbols: 1\n%#llx burn_innermost\n", address + 1);
    struct reply_text reply = get(&scheduler, target, MON);
    assert_string_equal(reply.body.text, want);
    reply_text_release(&reply);
    reply = get(&scheduler, "/debug/pprof/cmdline", MON);
    assert_non_null(strstr(reply.body.text, "test_"));
    reply_text_release(&reply);
    scheduler_stop(&scheduler);
    assert_true(str_is(symbol_of((uintptr_t)burn_outermost), "burn_outermost"));
    assert_true(str_empty(symbol_of(16)));
}

/* Whether the profile has samples, and functions with these names. */
static bool shows(struct str profile, const char *const *functions, size_t count)
{
    struct protobuf_reader reader = protobuf_reader(profile);
    struct protobuf_field field;
    size_t samples = 0, found = 0;
    int r;
    while ((r = protobuf_next(&reader, &field)) > 0) {
        samples += field.tag == 2;
        for (size_t i = 0; field.tag == 6 && i < count; i++)
            found += str_is(field.bytes, functions[i]);
    }
    assert_int_equal(r, 0);
    return samples > 0 && found == count;
}

/* Requests a profile and returns when it has begun. Repeats the request if another profile is running, or if this one
 * ended before it was seen. */
static struct raw begin_profile(struct scheduler *scheduler, int64_t seconds)
{
    for (;;) {
        char request[128];
        struct raw raw = raw_connect(serve_port(scheduler->serve));
        snprintf(request, sizeof(request),
                 "GET /debug/pprof/profile?seconds=%lld HTTP/1.1\r\nHost: x\r\n" MON "\r\n",
                 (long long)seconds);
        raw_send(&raw, request);
        struct pollfd answered = { .fd = raw.fd, .events = POLLIN };
        while (poll(&answered, 1, 0) == 0)
            if (status_of(scheduler, "/debug/pprof/profile?seconds=1", MON) == 500)
                return raw;
        raw_close(&raw);
    }
}

/* False: too few samples, as on a busy machine. */
static bool check_profile(int64_t ms)
{
    static const char *const want[] = { "cpu", "nanoseconds", "burn_innermost", "burn_outermost" };
    struct scheduler scheduler;
    pthread_t threads[2];
    scheduler_start(&scheduler, true, NULL);
    atomic_store(&burning, true);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_create(&threads[i], NULL, burn_outermost, NULL);
    struct raw raw = begin_profile(&scheduler, ms / 1000);
    /* Meanwhile other requests are answered, and a second profile is rejected. */
    assert_int_equal(status_of(&scheduler, "/metrics", MON), 200);
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.head.text, "Content-Type: application/octet-stream\r\n"));
    assert_non_null(strstr(reply.head.text, "Content-Disposition: attachment; filename=\"profile\"\r\n"));
    bool ok = shows(strbuf_slice(&reply.body), want, LATE_SIGNALS ? 2 : ARRAY_SIZE(want));
    reply_text_release(&reply);
    raw_close(&raw);
    atomic_store(&burning, false);
    for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
        pthread_join(threads[i], NULL);
    scheduler_stop(&scheduler);
    return ok;
}

static void a_profile_shows_the_busy_function(void **state _unused_)
{
    assert_at_some_pace(check_profile, 2000);
}

static const int64_t LONG_S = INT64_C(99999999999999);

static void a_profile_ends_with_its_client_or_the_server(void **state _unused_)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, true, NULL);
    struct raw raw = begin_profile(&scheduler, LONG_S);
    raw_close(&raw);
    int status = 0;
    for (int64_t until = now_ms() + PATIENCE_MS; status != 200 && now_ms() < until;)
        status = status_of(&scheduler, "/debug/pprof/profile?seconds=1", MON);
    assert_int_equal(status, 200);
    raw = begin_profile(&scheduler, LONG_S);
    int64_t began = now_ms();
    scheduler_stop_within(&scheduler, 2 * PATIENCE_MS);
    assert_true(now_ms() - began < PATIENCE_MS);
    struct reply_text reply = raw_reply(&raw, "GET");
    assert_int_equal(reply.status, 200);
    reply_text_release(&reply);
    raw_close(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_page_needs_authorization),
        cmocka_unit_test(functions_have_names),
        cmocka_unit_test(a_profile_shows_the_busy_function),
        cmocka_unit_test(a_profile_ends_with_its_client_or_the_server),
    };
    return cmocka_run_group_tests(tests, scheduler_setup, scheduler_teardown);
}
