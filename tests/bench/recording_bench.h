/* recording_bench.h: what does it cost to record? */
#ifndef BENCH_RECORDING_BENCH_H
#define BENCH_RECORDING_BENCH_H

#include "live/journal.h"

/* Two schedulers that do the same, one of them recorded: prints a row for each trial, and the median. 0, or 1 when one
 * failed. */
int recording_bench(uint32_t nodes, double seconds);

/* A recording that is there: what it costs to record the same once more. */
struct recorded_cost {
    double threads_ns, journal_ns;
    double spread_ns[2]; /* between the quartiles of both */
    uint64_t entries, decisions, bytes;
};
int recorded_bench(const char *dir);
/* Medians of so many times. */
enum { RECORDED_TIMES_MAX = 16 };
void recorded_measure(const char *dir, int times, struct recorded_cost *ret);

/* ---- for both ---- */
/* A journal in a folder of its own. */
struct bench_recording {
    struct strbuf path;
    struct journal *journal;
};
struct journal *bench_recording_open(struct bench_recording *made);
/* When all is written. */
void bench_recording_close(struct bench_recording *made);
/* Then: the folder goes. Returns how many bytes were in it. */
uint64_t bench_recording_remove(struct bench_recording *made);
/* CPU time of all threads but this one: the journal's thread is all there is. */
double others_ns(void);

#endif
