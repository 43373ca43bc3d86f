/* workers.h: threads for work that may block.
 *
 *     workers_submit(&job) ──▶ [ job, job, ... ] ──▶ a thread runs job->run(job)
 *
 * One pool for the process. Threads start when there is more to do than there are idle ones, up to a bound, and stay.
 * They take no signals. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/list.h"

enum { WORKERS_MAX = 64 };

struct worker_job {
    struct list_link link;
    /* The scheduler's own: it goes before other jobs, and gets a thread beyond WORKERS_MAX where plugins block all
     * others. For a bounded number of jobs at a time. */
    bool urgent;
    /* On a thread of the pool. The job is the callee's from here on: the pool does not touch it any more. */
    void (*run)(struct worker_job *job);
};

/* From any thread. Jobs start in the order in which they came. */
void workers_submit(struct worker_job *job);
/* Waits until all jobs but urgent ones are done, for no longer than that. True: they are. */
bool workers_wait(int64_t timeout_ms);

#endif
