/* recording_bench.h: the cost of recording. */
#ifndef BENCH_RECORDING_BENCH_H
#define BENCH_RECORDING_BENCH_H

#include "live/journal.h"

/* Two schedulers that do the same work, one of them with recording: prints a row per trial, and the median. Returns 0,
 * or 1 after an error. */
int recording_bench(uint32_t nodes, double seconds);

/* The cost of recording an existing recording once more. */
struct recorded_cost {
    double threads_ns, journal_ns;
    double spread_ns[2]; /* between the quartiles of both */
    uint64_t entries, decisions, bytes;
};
int recorded_bench(const char *dir);
/* Medians of `times` passes. */
enum { RECORDED_TIMES_MAX = 16 };
void recorded_measure(const char *dir, int times, struct recorded_cost *ret);

/* ---- for both benchmarks ---- */
/* A journal in its own directory. */
struct bench_recording {
    struct strbuf path;
    struct journal *journal;
};
struct journal *bench_recording_open(struct bench_recording *made);
/* Waits until everything is written. */
void bench_recording_close(struct bench_recording *made);
/* Then removes the directory. Returns the number of bytes in it. */
uint64_t bench_recording_remove(struct bench_recording *made);
/* CPU time of all other threads: only the journal's exists. */
double others_ns(void);

#endif
