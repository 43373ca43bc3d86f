/* test_mail.c: what threads post arrives, in its order, and who reads it may do away with the box. */
#include "framework/mail.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "support/test.h"

enum { POSTERS = 4, MAILS = 500, ROUNDS = 2000 };

static atomic_int woken;

static void wake(void *context _unused_)
{
    atomic_fetch_add(&woken, 1);
}

static struct mail_reader reader = { .wake = wake };

struct poster {
    pthread_t thread;
    struct mailbox *box;
    int count;
};

static void *post(void *context)
{
    const struct poster *own = context;
    for (int i = 0; i < own->count; i++) {
        struct mail *mail = mail_new(MAIL_ALLOW, NULL, STR("ns"), STR("pod"), STR(""), STR("why"));
        mail->work = (struct cycle_work *)(uintptr_t)i;
        mailbox_post(own->box, mail);
    }
    return NULL;
}

static void every_mail_arrives(void **state _unused_)
{
    struct mailbox box = { .reader = &reader };
    struct poster posters[POSTERS];
    atomic_store(&woken, 0);
    for (int i = 0; i < POSTERS; i++) {
        posters[i] = (struct poster){ .box = &box, .count = MAILS };
        assert_int_equal(pthread_create(&posters[i].thread, NULL, post, &posters[i]), 0);
    }
    int count = 0;
    while (count < POSTERS * MAILS)
        for (struct mail *mail = mailbox_take(&box), *next; mail; mail = next, count++) {
            next = mail->next;
            assert_str(mail->name, "pod");
            assert_str(mail->reason, "why");
            mail_free(mail);
        }
    for (int i = 0; i < POSTERS; i++)
        pthread_join(posters[i].thread, NULL);
    assert_true(mailbox_empty(&box));
    assert_int_equal(atomic_load(&woken), POSTERS * MAILS);
}

static void one_after_the_other(void **state _unused_)
{
    struct mailbox box = { 0 }; /* nobody reads yet, and it is kept */
    struct poster own = { .box = &box, .count = MAILS };
    post(&own);
    uintptr_t at = 0;
    for (struct mail *mail = mailbox_take(&box), *next; mail; mail = next, at++) {
        next = mail->next;
        assert_int_equal((uintptr_t)mail->work, at);
        mail_free(mail);
    }
    assert_int_equal(at, MAILS);
    post(&own);
    mailbox_release(&box); /* whoever looks for leaks finds none */
}

/* The last work of a profile that was replaced is done: who reads of it frees the profile, while the thread that said
 * so is still about to wake the reader. */
static void who_reads_may_free_the_box(void **state _unused_)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct mailbox *box = xcalloc(1, sizeof(*box));
        struct poster own = { .box = box, .count = 1 };
        struct mail *mail;
        atomic_store(&box->reader, &reader);
        assert_int_equal(pthread_create(&own.thread, NULL, post, &own), 0);
        while (!(mail = mailbox_take(box)))
            sched_yield();
        memset((void *)box, 0xa5, sizeof(*box));
        free(box);
        mail_free(mail);
        pthread_join(own.thread, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mail_arrives),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(who_reads_may_free_the_box),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
