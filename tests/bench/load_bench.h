/* load_bench.h: how fast is a large `kubectl get -o json` read? */
#ifndef BENCH_LOAD_BENCH_H
#define BENCH_LOAD_BENCH_H

/* Writes a dump of about so many megabytes to a temporary file and loads it. 0, or 1 when that failed. */
int load_bench(unsigned megabytes);

#endif
