/* workers.c: a queue, a lock, and threads that wait for it; see workers.h. */
#include "base/workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more, idle;
    struct worker_job *first, *last;
    uint32_t threads, waiting, queued, running;
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .more = PTHREAD_COND_INITIALIZER,
    .idle = PTHREAD_COND_INITIALIZER,
};

static struct worker_job *take(void)
{
    struct worker_job *job = pool.first;
    pool.first = job->next;
    if (!pool.first)
        pool.last = NULL;
    pool.queued--;
    pool.running++;
    return job;
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        pool.waiting++;
        while (!pool.first)
            pthread_cond_wait(&pool.more, &pool.lock);
        pool.waiting--;
        struct worker_job *job = take();
        pthread_mutex_unlock(&pool.lock);
        job->run(job);
        pthread_mutex_lock(&pool.lock);
        if (--pool.running == 0 && !pool.queued)
            pthread_cond_broadcast(&pool.idle);
    }
    return NULL;
}

/* With the lock held. Without any thread at all nothing would ever happen: that ends the process. */
static void start_thread(void)
{
    /* A profile looks at every thread, and what crashes in one is told of like what crashes elsewhere. */
    static const int open[] = { SIGPROF, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        sigdelset(&all, open[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int r = pthread_create(&thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0) {
        pthread_detach(thread);
        pool.threads++;
    } else if (!pool.threads) {
        fputs("berth: no thread for work that may block\n", stderr);
        abort();
    }
}

void workers_submit(struct worker_job *job)
{
    pthread_mutex_lock(&pool.lock);
    job->next = NULL;
    if (pool.last)
        pool.last->next = job;
    else
        pool.first = job;
    pool.last = job;
    pool.queued++;
    if (pool.queued > pool.waiting && pool.threads < WORKERS_MAX)
        start_thread();
    pthread_cond_signal(&pool.more);
    pthread_mutex_unlock(&pool.lock);
}

bool workers_wait(int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + timeout_ms % 1000 * 1000000;
    until.tv_sec += timeout_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    int r = 0;
    pthread_mutex_lock(&pool.lock);
    while ((pool.queued || pool.running) && r == 0)
        r = pthread_cond_timedwait(&pool.idle, &pool.lock, &until);
    bool done = !pool.queued && !pool.running;
    pthread_mutex_unlock(&pool.lock);
    return done;
}
