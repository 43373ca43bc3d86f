/* load_bench.h: the speed of reading a large `kubectl get -o json`. */
#ifndef BENCH_LOAD_BENCH_H
#define BENCH_LOAD_BENCH_H

/* Writes a dump of this size to a temporary file and loads it. Returns 0, or 1 after an error. */
int load_bench(unsigned megabytes);

#endif
