/* workers.h: threads for work that may block.
 *
 *     workers_submit(&job) ──▶ [ job, job, ... ] ──▶ a thread runs job->run(job)
 *
 * One pool for the process. Threads start when there is more to do than there are idle ones, up to a bound, and stay.
 * They take no signals. */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include "base/common.h"

enum { WORKERS_MAX = 64 };

struct worker_job {
    struct worker_job *next;
    /* On a thread of the pool. The job is the callee's from here on: nobody touches it when this returns. */
    void (*run)(struct worker_job *job);
};

/* From any thread. Jobs start in the order in which they came. */
void workers_submit(struct worker_job *job);
/* Waits until nothing is queued or running, but no longer than that. True: all is done. */
bool workers_wait(int64_t timeout_ms);

#endif
