/* The cache of reviews: which answers of the API server are kept, and for how long. */
#include "support/pace.h"
#include "unit/serve/fake_api.h"

#include "auth/reviews.h"
#include "base/log.h"

struct setup {
    struct fake_api fake;
    struct server *server; /* its thread runs the reviews */
    struct kube_access access;
    struct api *api;
    struct reviews *reviews;
};

/* A review, requested on the server's thread; the test waits for it. */
struct request {
    struct setup *setup;
    struct review_spec spec;
    bool remember;
    pthread_mutex_t lock;
    pthread_cond_t answered;
    int answers;
    bool yes, got;
    char reason[256];
};

static void on_review(void *context, const struct review *review)
{
    struct request *request = context;
    pthread_mutex_lock(&request->lock);
    request->answers++;
    request->got = review->answered;
    request->yes = review->yes;
    snprintf(request->reason, sizeof(request->reason), STR_FMT, STR_ARG(review->reason));
    pthread_cond_signal(&request->answered);
    pthread_mutex_unlock(&request->lock);
}

static void send_request(void *context)
{
    struct request *request = context;
    reviews_ask(request->setup->reviews, &request->spec, request->remember, on_review, request);
}

static struct request review(struct setup *setup, const char *user, int number, bool remember)
{
    char text[64];
    snprintf(text, sizeof(text), "/%d", number);
    struct request *request = xcalloc(1, sizeof(*request));
    request->setup = setup;
    request->spec = (struct review_spec){ .path = str_from(text), .user.name = str_from(user) };
    request->remember = remember;
    pthread_mutex_init(&request->lock, NULL);
    pthread_cond_init(&request->answered, NULL);
    loop_run(server_loop(setup->server), send_request, request);
    pthread_mutex_lock(&request->lock);
    while (!request->answers)
        pthread_cond_wait(&request->answered, &request->lock);
    pthread_mutex_unlock(&request->lock);
    struct request copy = *request;
    pthread_mutex_destroy(&request->lock);
    pthread_cond_destroy(&request->answered);
    free(request);
    return copy;
}

static void no_request(void *user, struct server_request *request)
{
    (void)user;
    server_request_free(request);
}

static void setup_init_with_qps(struct setup *setup, int64_t yes_ms, int64_t no_ms, double qps)
{
    static char url[64];
    struct error err;
    *setup = (struct setup){ 0 };
    fake_api_start(&setup->fake);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server_port(setup->fake.server));
    setup->access = (struct kube_access){ .cluster.server = str_from(url) };
    struct server_options options = { .address = "127.0.0.1", .on_request = no_request };
    if (server_new(&options, &setup->server, &err) < 0 || server_start(setup->server, &err) < 0 ||
        api_new(&(struct api_options){ .access = &setup->access, .qps = qps, .burst = 1 }, &setup->api,
                &err) < 0)
        fail_msg("%s", err.text);
    setup->reviews = reviews_new(&(struct reviews_options){ .kind = REVIEW_ACCESS,
                                                            .api = setup->api,
                                                            .server = setup->server,
                                                            .yes_ns = yes_ms * 1000000,
                                                            .no_ns = no_ms * 1000000 });
}

static void setup_init(struct setup *setup, int64_t yes_ms, int64_t no_ms)
{
    setup_init_with_qps(setup, yes_ms, no_ms, -1);
}

static void setup_release(struct setup *setup)
{
    api_free(setup->api);
    server_free(setup->server);
    reviews_free(setup->reviews);
    fake_api_stop(&setup->fake);
}

/* More answers than the cache holds: the least recently used one is dropped. */
static void test_cache_is_bounded(void **state _unused_)
{
    enum { REMEMBERED = 8192 };
    struct setup setup;
    setup_init(&setup, 3600000, 3600000);
    for (int i = 0; i < REMEMBERED; i++)
        assert_true(review(&setup, "mon", i, true).yes);
    review(&setup, "mon", 0, true); /* used again: it stays */
    assert_int_equal(atomic_load(&setup.fake.accesses), REMEMBERED);
    review(&setup, "mon", REMEMBERED, true);
    review(&setup, "mon", 0, true);
    review(&setup, "mon", REMEMBERED, true);
    assert_int_equal(atomic_load(&setup.fake.accesses), REMEMBERED + 1);
    review(&setup, "mon", 1, true);
    assert_int_equal(atomic_load(&setup.fake.accesses), REMEMBERED + 2);
    setup_release(&setup);
}

/* False: too slow, the entry has expired. */
static bool check_times(int64_t ms)
{
    struct setup setup;
    setup_init(&setup, ms, 0);
    int64_t begin = now_ms();
    for (int i = 0; i < 3; i++) {
        assert_true(review(&setup, "mon", 0, true).yes);
        assert_false(review(&setup, "eve", 0, true).yes);
    }
    bool in_time = now_ms() - begin < ms;
    int count = atomic_load(&setup.fake.accesses);
    assert_true(!in_time || count == 1 + 3);
    sleep_ms(ms + 50);
    review(&setup, "mon", 0, true);
    assert_int_equal(atomic_load(&setup.fake.accesses), count + 1);
    /* Without `remember` an answer is neither stored nor read. */
    review(&setup, "mon", 0, false);
    review(&setup, "mon", 0, false);
    assert_int_equal(atomic_load(&setup.fake.accesses), count + 3);
    setup_release(&setup);
    return in_time;
}

static void test_times(void **state _unused_)
{
    assert_at_some_pace(check_times, 200);
}

/* One review in ten minutes for unknown users. A user that was allowed before is reviewed at once. */
static void test_preferred(void **state _unused_)
{
    struct setup setup;
    setup_init_with_qps(&setup, 1, 3600000, 1.0 / 600);
    int64_t begin = now_ms();
    for (int i = 0; i < 3; i++) {
        assert_true(review(&setup, "mon", 0, true).yes);
        sleep_ms(5);
    }
    assert_int_equal(atomic_load(&setup.fake.accesses), 3);
    assert_true(now_ms() - begin < 300000);
    setup_release(&setup);
}

static void test_failures(void **state _unused_)
{
    struct setup setup;
    setup_init(&setup, 3600000, 3600000);
    atomic_store(&setup.fake.fail_status, 403);
    atomic_store(&setup.fake.fail, 1);
    struct request request = review(&setup, "mon", 0, true);
    assert_false(request.got);
    assert_non_null(strstr(request.reason, "out of <order>"));
    /* It was not cached. */
    assert_true(review(&setup, "mon", 0, true).yes);
    assert_int_equal(atomic_load(&setup.fake.accesses), 2);
    /* The number of retries is bounded. */
    atomic_store(&setup.fake.fail_status, 500);
    atomic_store(&setup.fake.fail, 100);
    assert_false(review(&setup, "mon", 1, true).got);
    assert_int_equal(atomic_load(&setup.fake.accesses), 2 + 5);
    atomic_store(&setup.fake.fail, 0);
    reviews_stop(setup.reviews);
    assert_false(review(&setup, "mon", 2, true).got);
    assert_int_equal(atomic_load(&setup.fake.accesses), 7);
    setup_release(&setup);
}

static int setup(void **state _unused_)
{
    struct error err;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    return log_init(&(struct log_options){ .fd = null }, &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache_is_bounded),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_preferred),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
