/* Messages that plugin threads post arrive in order, and the reader may free the mailbox. */
#include "framework/plugin_message.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "support/test.h"

enum { POSTERS = 4, MESSAGES = 500, ROUNDS = 2000 };

static atomic_int woken;

static void wake(void *context _unused_)
{
    atomic_fetch_add(&woken, 1);
}

static struct mailbox_reader reader = { .wake = wake };

struct poster {
    pthread_t thread;
    struct mailbox *box;
    int count;
};

static void *post(void *context)
{
    const struct poster *own = context;
    for (int i = 0; i < own->count; i++) {
        mailbox_post(own->box, plugin_message_new(&(struct plugin_message){
                                   .kind = PLUGIN_MESSAGE_ALLOW,
                                   .plugin = (const struct plugin *)(uintptr_t)i,
                                   .name = STR("pod"),
                                   .reason = STR("why"),
                               }));
    }
    return NULL;
}

static void every_message_arrives(void **state _unused_)
{
    struct mailbox box = { .reader = &reader };
    struct poster posters[POSTERS];
    atomic_store(&woken, 0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .box = &box, .count = MESSAGES };
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post, &posters[i]), 0);
    }
    int count = 0;
    while (count < POSTERS * MESSAGES)
        for (struct plugin_message *message = mailbox_take(&box), *next; message; message = next, count++) {
            next = message->next;
            assert_str(message->name, "pod");
            assert_str(message->reason, "why");
            plugin_message_free(message);
        }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i].thread, NULL);
    assert_true(mailbox_empty(&box));
    assert_int_equal(atomic_load(&woken), POSTERS * MESSAGES);
}

static void messages_keep_their_order(void **state _unused_)
{
    struct mailbox box = { 0 }; /* without a reader it is kept */
    struct poster own = { .box = &box, .count = MESSAGES };
    post(&own);
    uintptr_t at = 0;
    for (struct plugin_message *message = mailbox_take(&box), *next; message; message = next, at++) {
        next = message->next;
        assert_int_equal((uintptr_t)message->plugin, at);
        plugin_message_free(message);
    }
    assert_int_equal(at, MESSAGES);
    post(&own);
    mailbox_release(&box); /* nothing leaks */
}

/* The last work of a profile that was replaced is done: the reader of the message frees the profile, while the thread
 * that posted it is still about to wake the reader. */
static void the_reader_may_free_the_box(void **state _unused_)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct mailbox *box = xcalloc(1, sizeof(*box));
        struct poster own = { .box = box, .count = 1 };
        struct plugin_message *message;
        atomic_store(&box->reader, &reader);
        assert_int_equal(pthread_create(&own.thread, NULL, post, &own), 0);
        while (!(message = mailbox_take(box)))
            sched_yield();
        memset((void *)box, 0xa5, sizeof(*box));
        free(box);
        plugin_message_free(message);
        pthread_join(own.thread, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_message_arrives),
        cmocka_unit_test(messages_keep_their_order),
        cmocka_unit_test(the_reader_may_free_the_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
