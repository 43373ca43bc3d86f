/* measure.h: times, memory and allocations of decisions. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <time.h>

#include "engine/engine.h"

/* ---- bytes requested from malloc, calloc and realloc while counting is on ---- */
extern bool allocations_count;
extern uint64_t allocated_bytes;

/* ---- decisions ---- */
struct measure {
    VEC(uint32_t) nanos; /* of each decision */
    double seconds;      /* of all of them */
    uint64_t placed, unfit;
    uint64_t bytes; /* allocated while deciding */
    struct engine_stats first;
};

/* A row of figures. */
struct figures {
    double rate; /* decisions per second */
    double p50_us, p99_us;
    double peak_mb;
    double bytes, groups, repairs; /* per decision */
    double shares[PATH_COUNT];     /* of the decisions, 0 to 1 */
    uint64_t decisions, unfit;
};

void measure_begin(struct measure *measure, const struct engine *engine);
/* Decides the next pod; false: the queue is empty. */
bool measure_step(struct measure *measure, struct engine *engine, struct decision *ret);
void measure_end(struct measure *measure, const struct engine *engine, struct figures *ret);

double seconds_now(void);
/* CPU time, of CLOCK_THREAD_CPUTIME_ID or CLOCK_PROCESS_CPUTIME_ID. */
int64_t cpu_ns(clockid_t clock);
/* The quantile of this share; sorts the values. */
double quantile(double *values, size_t len, double share);
double peak_megabytes(void);

#endif
