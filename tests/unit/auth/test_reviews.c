/* test_reviews.c: what is remembered of the API server's answers, and for how long. */
#include "support/pace.h"
#include "unit/serve/fake_api.h"

#include "auth/reviews.h"
#include "base/log.h"

struct desk {
    struct fake_api fake;
    struct server *server; /* whose thread the reviews belong to */
    struct kube_access access;
    struct api *api;
    struct reviews *reviews;
};

/* A question, asked on the server's thread and waited for here. */
struct question {
    struct desk *desk;
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
    struct question *question = context;
    pthread_mutex_lock(&question->lock);
    question->answers++;
    question->got = review->answered;
    question->yes = review->yes;
    snprintf(question->reason, sizeof(question->reason), STR_FMT, STR_ARG(review->reason));
    pthread_cond_signal(&question->answered);
    pthread_mutex_unlock(&question->lock);
}

static void put(void *context)
{
    struct question *question = context;
    reviews_ask(question->desk->reviews, &question->spec, question->remember, on_review, question);
}

static struct question ask(struct desk *desk, const char *user, int number, bool remember)
{
    char text[64];
    snprintf(text, sizeof(text), "/%d", number);
    struct question *question = xcalloc(1, sizeof(*question));
    question->desk = desk;
    question->spec = (struct review_spec){ .path = str_from(text), .user.name = str_from(user) };
    question->remember = remember;
    pthread_mutex_init(&question->lock, NULL);
    pthread_cond_init(&question->answered, NULL);
    loop_run(server_loop(desk->server), put, question);
    pthread_mutex_lock(&question->lock);
    while (!question->answers)
        pthread_cond_wait(&question->answered, &question->lock);
    pthread_mutex_unlock(&question->lock);
    struct question copy = *question;
    pthread_mutex_destroy(&question->lock);
    pthread_cond_destroy(&question->answered);
    free(question);
    return copy;
}

static void no_request(void *user, struct server_request *request)
{
    (void)user;
    server_request_free(request);
}

static void desk_open_slow(struct desk *desk, int64_t yes_ms, int64_t no_ms, double qps)
{
    static char url[64];
    struct error err;
    *desk = (struct desk){ 0 };
    fake_api_start(&desk->fake);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", server_port(desk->fake.server));
    desk->access = (struct kube_access){ .cluster.server = str_from(url) };
    struct server_options options = { .address = "127.0.0.1", .on_request = no_request };
    if (server_new(&options, &desk->server, &err) < 0 || server_start(desk->server, &err) < 0 ||
        api_new(&(struct api_options){ .access = &desk->access, .qps = qps, .burst = 1 }, &desk->api, &err) <
            0)
        fail_msg("%s", err.text);
    desk->reviews = reviews_new(&(struct reviews_options){ .kind = REVIEW_ACCESS,
                                                           .api = desk->api,
                                                           .server = desk->server,
                                                           .yes_ns = yes_ms * 1000000,
                                                           .no_ns = no_ms * 1000000 });
}

static void desk_open(struct desk *desk, int64_t yes_ms, int64_t no_ms)
{
    desk_open_slow(desk, yes_ms, no_ms, -1);
}

static void desk_close(struct desk *desk)
{
    api_free(desk->api);
    server_free(desk->server);
    reviews_free(desk->reviews);
    fake_api_stop(&desk->fake);
}

/* More answers than are remembered: the one that was not used for the longest time is forgotten. */
static void test_memory_is_bounded(void **state _unused_)
{
    enum { REMEMBERED = 8192 };
    struct desk desk;
    desk_open(&desk, 3600000, 3600000);
    for (int i = 0; i < REMEMBERED; i++)
        assert_true(ask(&desk, "mon", i, true).yes);
    ask(&desk, "mon", 0, true); /* used again: it stays */
    assert_int_equal(atomic_load(&desk.fake.accesses), REMEMBERED);
    ask(&desk, "mon", REMEMBERED, true);
    ask(&desk, "mon", 0, true);
    ask(&desk, "mon", REMEMBERED, true);
    assert_int_equal(atomic_load(&desk.fake.accesses), REMEMBERED + 1);
    ask(&desk, "mon", 1, true);
    assert_int_equal(atomic_load(&desk.fake.accesses), REMEMBERED + 2);
    desk_close(&desk);
}

/* False: too slow to find it remembered. */
static bool check_times(int64_t ms)
{
    struct desk desk;
    desk_open(&desk, ms, 0);
    int64_t begin = now_ms();
    for (int i = 0; i < 3; i++) {
        assert_true(ask(&desk, "mon", 0, true).yes);
        assert_false(ask(&desk, "eve", 0, true).yes);
    }
    bool in_time = now_ms() - begin < ms;
    int count = atomic_load(&desk.fake.accesses);
    assert_true(!in_time || count == 1 + 3);
    sleep_ms(ms + 50);
    ask(&desk, "mon", 0, true);
    assert_int_equal(atomic_load(&desk.fake.accesses), count + 1);
    /* What is not to be remembered is neither kept nor found. */
    ask(&desk, "mon", 0, false);
    ask(&desk, "mon", 0, false);
    assert_int_equal(atomic_load(&desk.fake.accesses), count + 3);
    desk_close(&desk);
    return in_time;
}

static void test_times(void **state _unused_)
{
    assert_at_some_pace(check_times, 200);
}

/* One question in ten minutes for strangers. Who was allowed before is asked about at once. */
static void test_preferred(void **state _unused_)
{
    struct desk desk;
    desk_open_slow(&desk, 1, 3600000, 1.0 / 600);
    int64_t begin = now_ms();
    for (int i = 0; i < 3; i++) {
        assert_true(ask(&desk, "mon", 0, true).yes);
        sleep_ms(5);
    }
    assert_int_equal(atomic_load(&desk.fake.accesses), 3);
    assert_true(now_ms() - begin < 300000);
    desk_close(&desk);
}

static void test_failures(void **state _unused_)
{
    struct desk desk;
    desk_open(&desk, 3600000, 3600000);
    atomic_store(&desk.fake.fail_status, 403);
    atomic_store(&desk.fake.fail, 1);
    struct question question = ask(&desk, "mon", 0, true);
    assert_false(question.got);
    assert_non_null(strstr(question.reason, "out of <order>"));
    /* It was not remembered. */
    assert_true(ask(&desk, "mon", 0, true).yes);
    assert_int_equal(atomic_load(&desk.fake.accesses), 2);
    /* So often, and no more. */
    atomic_store(&desk.fake.fail_status, 500);
    atomic_store(&desk.fake.fail, 100);
    assert_false(ask(&desk, "mon", 1, true).got);
    assert_int_equal(atomic_load(&desk.fake.accesses), 2 + 5);
    atomic_store(&desk.fake.fail, 0);
    reviews_stop(desk.reviews);
    assert_false(ask(&desk, "mon", 2, true).got);
    assert_int_equal(atomic_load(&desk.fake.accesses), 7);
    desk_close(&desk);
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
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_preferred),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
