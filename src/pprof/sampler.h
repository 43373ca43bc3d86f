/* sampler.h: where this process spends its time: the stacks that run, SAMPLER_HZ times for each second of CPU time.
 *
 *     kernel ──SIGPROF──▶ the thread that runs ──▶ its stack, frame by frame ──▶ buffer
 *
 * The signal handler allocates nothing and takes no lock. Stacks are unwound by the tables that compilers make for
 * exceptions, so that nothing has to be compiled in another way and libraries are seen through; where a table is
 * wrong, a sample ends early, and the process does not. A thread that is not running is not seen. Threads must leave
 * SIGPROF unblocked. */
#ifndef PPROF_SAMPLER_H
#define PPROF_SAMPLER_H

#include "base/error.h"

enum { SAMPLER_HZ = 100, SAMPLER_FRAMES_MAX = 64 };

/* One sample after the other: how many addresses, and the addresses, the innermost first. */
struct samples {
    uint64_t *words;
    size_t len;
    uint64_t lost; /* for which there was no space */
};

/* One at a time in a process: -EBUSY. -ENOTSUP where stacks cannot be read. */
int sampler_start(struct error *err);
void sampler_stop(struct samples *ret);
void samples_release(struct samples *samples);

#endif
