/* measure.c: see measure.h. The linker puts the __wrap functions in place of the C library's (--wrap). */
#include "bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

bool allocations_count;
uint64_t allocated_bytes;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

void *__wrap_malloc(size_t size)
{
    allocated_bytes += allocations_count ? size : 0;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocated_bytes += allocations_count ? count * size : 0;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    allocated_bytes += allocations_count ? size : 0;
    return __real_realloc(ptr, size);
}

static uint64_t nanos_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

double seconds_now(void)
{
    return (double)nanos_now() * 1e-9;
}

double peak_megabytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

void measure_begin(struct measure *measure, const struct engine *engine)
{
    *measure = (struct measure){ .first = engine->stats };
    vec_reserve(&measure->nanos, 1 << 16);
}

bool measure_step(struct measure *measure, struct engine *engine, struct decision *ret)
{
    uint64_t start = nanos_now();
    allocated_bytes = 0;
    allocations_count = true;
    bool more = engine_step(engine, 0, ret);
    allocations_count = false;
    uint64_t nanos = nanos_now() - start;
    if (!more)
        return false;
    *vec_push(&measure->nanos) = (uint32_t)MIN(nanos, UINT32_MAX);
    measure->seconds += (double)nanos * 1e-9;
    measure->bytes += allocated_bytes;
    measure->placed += ret->row != ROW_NONE;
    measure->unfit += ret->row == ROW_NONE;
    return true;
}

int64_t cpu_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, size_t len, double share)
{
    qsort(values, len, sizeof(*values), by_value);
    return values[(size_t)(share * (double)(len - 1) + 0.5)];
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void measure_end(struct measure *measure, const struct engine *engine, struct figures *ret)
{
    size_t len = measure->nanos.len;
    double count = len ? (double)len : 1;
    const struct engine_stats *first = &measure->first, *last = &engine->stats;
    *ret = (struct figures){ .decisions = len, .unfit = measure->unfit, .peak_mb = peak_megabytes() };
    if (len) {
        qsort(measure->nanos.items, len, sizeof(uint32_t), by_size);
        ret->p50_us = measure->nanos.items[(len - 1) / 2] / 1e3;
        ret->p99_us = measure->nanos.items[(size_t)(0.99 * (double)(len - 1))] / 1e3;
        ret->rate = count / measure->seconds;
    }
    ret->bytes = (double)measure->bytes / count;
    ret->groups = (double)(last->groups_seen - first->groups_seen) / count;
    ret->repairs = (double)(last->rows_repaired - first->rows_repaired) / count;
    for (int path = 0; path < PATH_COUNT; path++)
        ret->shares[path] = (double)(last->decisions[path] - first->decisions[path]) / count;
    vec_release(&measure->nanos);
}
