/* Jobs run on worker threads, all of them, several at once. */
#include "base/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

enum { JOBS = 500 };

struct sum {
    struct worker_job job;
    int number;
    bool elsewhere;
};

static atomic_int total, waiting;
static pthread_t here;

static void add(struct worker_job *job)
{
    struct sum *own = container_of(job, struct sum, job);
    own->elsewhere = !pthread_equal(pthread_self(), here);
    atomic_fetch_add(&total, own->number);
}

static void every_job_runs_once_on_a_worker(void **state _unused_)
{
    static struct sum jobs[JOBS];
    here = pthread_self();
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct sum){ .job.run = add, .number = i };
        workers_submit(&jobs[i].job);
    }
    assert_true(workers_wait(10000));
    assert_int_equal(atomic_load(&total), JOBS * (JOBS - 1) / 2);
    for (int i = 0; i < JOBS; i++)
        assert_true(jobs[i].elsewhere);
}

/* Ends when four jobs run at once: one thread alone would never end. */
static void meet(struct worker_job *job)
{
    (void)job;
    atomic_fetch_add(&waiting, 1);
    for (int i = 0; i < 5000 && atomic_load(&waiting) < 4; i++)
        usleep(1000);
}

static void blocking_jobs_do_not_delay_others(void **state _unused_)
{
    static struct worker_job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = (struct worker_job){ .run = meet };
        workers_submit(&jobs[i]);
    }
    assert_true(workers_wait(10000));
    assert_int_equal(atomic_load(&waiting), 4);
}

static atomic_bool let_go;

static void hang(struct worker_job *job)
{
    (void)job;
    while (!atomic_load(&let_go))
        usleep(1000);
}

static void waiting_has_a_timeout(void **state _unused_)
{
    static struct worker_job job = { .run = hang };
    assert_true(workers_wait(0));
    workers_submit(&job);
    assert_false(workers_wait(20));
    atomic_store(&let_go, true);
    assert_true(workers_wait(10000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_job_runs_once_on_a_worker),
        cmocka_unit_test(blocking_jobs_do_not_delay_others),
        cmocka_unit_test(waiting_has_a_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
