/* Messages from many threads all reach the reader, in the order of each thread. */
#include "support/test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "http/http.h"
#include "sync/inbox.h"

enum { POSTERS = 4, MESSAGES = 20000, MS = 1000000 };

struct poster {
    struct inbox *inbox;
    uint64_t number;
    useconds_t pause_us;
    uint64_t messages;
};

static void *post_all(void *user)
{
    struct poster *poster = user;
    for (uint64_t i = 0; i < poster->messages; i++) {
        struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
        message->ticket = poster->number << 32 | i;
        if (poster->pause_us)
            usleep(poster->pause_us);
        inbox_post(poster->inbox, message);
    }
    return NULL;
}

static struct inbox_message *take_first(struct inbox *inbox, int64_t until_ns)
{
    struct list messages = inbox_take(inbox, until_ns);
    return inbox_next(&messages);
}

static void test_order_of_many_threads(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    struct poster posters[POSTERS];
    pthread_t threads[POSTERS];
    uint64_t next[POSTERS] = { 0 };
    for (size_t i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ inbox, i, 0, MESSAGES };
        pthread_create(&threads[i], NULL, post_all, &posters[i]);
    }
    for (size_t seen = 0; seen < (size_t)POSTERS * MESSAGES;) {
        struct list messages = inbox_take(inbox, monotonic_ns() + INT64_C(20000) * MS);
        assert_false(list_empty(&messages));
        for (struct inbox_message *message; (message = inbox_next(&messages)); seen++) {
            uint64_t poster = message->ticket >> 32;
            assert_int_equal(message->ticket & UINT32_MAX, next[poster]++);
            inbox_message_free(message);
        }
    }
    for (size_t i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    assert_null(take_first(inbox, 0));
    assert_int_equal(inbox_depth(inbox), 0);
    inbox_free(inbox);
}

static void count(void *context)
{
    ++*(int *)context;
}

/* The context of a call is dropped if the call is not made, and only then. */
static void test_contexts_of_calls(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    int dropped = 0;
    for (int i = 0; i < 3; i++) {
        struct inbox_message *message = inbox_message_new(MESSAGE_CALL);
        message->drop = count;
        message->context = &dropped;
        inbox_post(inbox, message);
    }
    struct list taken = inbox_take(inbox, 0);
    struct inbox_message *first = inbox_next(&taken), *second = inbox_next(&taken),
                         *third = inbox_next(&taken);
    second->drop = NULL; /* as the core does */
    inbox_message_free(first);
    inbox_message_free(second);
    assert_int_equal(dropped, 1);
    inbox_post(inbox, third);
    inbox_free(inbox);
    assert_int_equal(dropped, 2);
}

static void test_waiting(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    int64_t before_ns = monotonic_ns();
    assert_null(take_first(inbox, 0));
    assert_null(take_first(inbox, before_ns - MS));
    assert_null(take_first(inbox, before_ns + 30 * MS));
    assert_true(monotonic_ns() - before_ns >= 30 * MS);

    struct poster late = { inbox, 1, 20000, 1 };
    pthread_t thread;
    before_ns = monotonic_ns();
    pthread_create(&thread, NULL, post_all, &late);
    struct inbox_message *message = take_first(inbox, INT64_MAX);
    assert_non_null(message);
    assert_true(monotonic_ns() - before_ns < INT64_C(10000) * MS);
    inbox_message_free(message);
    pthread_join(thread, NULL);
    inbox_free(inbox);
}

static void test_messages_own_what_they_carry(void **state _unused_)
{
    struct inbox *inbox = inbox_new();
    for (int i = 0; i < 3; i++) {
        struct inbox_message *message = inbox_message_new(MESSAGE_SET);
        message->object = live_object_new();
        message->object->object.meta = arena_new(&message->object->arena, struct meta);
        message->answer.message = arena_printf(&message->texts, "number %d", i);
        inbox_post(inbox, message);
    }
    assert_int_equal(inbox_depth(inbox), 3);
    struct list taken = inbox_take(inbox, INT64_MAX);
    struct inbox_message *first = inbox_next(&taken), *second = inbox_next(&taken);
    struct live_object *object = first->object;
    first->object = NULL; /* ownership taken */
    inbox_message_free(first);
    object->object.meta->generation = 7;
    live_object_free(object);
    inbox_post(inbox, inbox_next(&taken));
    inbox_message_free(second);
    inbox_free(inbox); /* with a message inside; the leak sanitizer checks that it is freed */
    inbox_message_free(NULL);
    live_object_free(NULL);
    inbox_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_many_threads),
        cmocka_unit_test(test_contexts_of_calls),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_messages_own_what_they_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
