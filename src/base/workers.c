/* workers.c: a queue, a lock, and threads that wait for it; see workers.h. */
#include "base/workers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"

static struct {
    struct monitor monitor;
    pthread_cond_t more;
    struct list jobs; /* that no thread has taken */
    uint32_t threads, waiting, queued;
    uint32_t open; /* jobs that are not done, without urgent ones */
} pool;

static void init_pool(void)
{
    monitor_init(&pool.monitor);
    pthread_cond_init(&pool.more, NULL);
}

static void lock_pool(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_pool);
    monitor_lock(&pool.monitor);
}

static void *work(void *unused)
{
    (void)unused;
    monitor_lock(&pool.monitor);
    for (;;) {
        pool.waiting++;
        while (list_empty(&pool.jobs))
            pthread_cond_wait(&pool.more, &pool.monitor.lock);
        pool.waiting--;
        struct worker_job *job = list_take(&pool.jobs, struct worker_job, link);
        pool.queued--;
        bool urgent = job->urgent;
        monitor_unlock(&pool.monitor);
        job->run(job);
        monitor_lock(&pool.monitor);
        if (!urgent && --pool.open == 0)
            monitor_wake(&pool.monitor);
    }
    return NULL;
}

/* With the lock held. Without any thread at all nothing would ever happen: that ends the process. */
static void start_thread(void)
{
    pthread_t thread;
    if (thread_start(&thread, "worker", work, NULL) == 0) {
        pthread_detach(thread);
        pool.threads++;
    } else if (!pool.threads) {
        fputs("berth: no thread for work that may block\n", stderr);
        abort();
    }
}

void workers_submit(struct worker_job *job)
{
    lock_pool();
    (job->urgent ? list_prepend : list_append)(&pool.jobs, &job->link);
    pool.queued++;
    pool.open += !job->urgent;
    if (pool.queued > pool.waiting && (job->urgent || pool.threads < WORKERS_MAX))
        start_thread();
    pthread_cond_signal(&pool.more);
    monitor_unlock(&pool.monitor);
}

bool workers_wait(int64_t timeout_ms)
{
    int64_t until_ns = monotonic_ns() + timeout_ms * NS_PER_MS;
    bool in_time = true;
    lock_pool();
    while (pool.open && in_time)
        in_time = monitor_wait(&pool.monitor, until_ns);
    bool done = !pool.open;
    monitor_unlock(&pool.monitor);
    return done;
}
