/* importance.c: orders pods by what their loss would cost. */
#include "preempt/importance.h"

#include <stdlib.h>

int64_t pod_start_ns(const struct pod_info *pod)
{
    const struct opt_time *start = &pod->api->status.start_time;
    int64_t ns;
    if (!start->set)
        return INT64_MAX;
    if (__builtin_mul_overflow(start->seconds, (int64_t)1000000000, &ns) ||
        __builtin_add_overflow(ns, (int64_t)start->nanos, &ns))
        return start->seconds < 0 ? INT64_MIN : INT64_MAX - 1;
    return ns;
}

struct ranked {
    struct pod_info *pod;
    int64_t start_ns;
    uint32_t position;
};

static int more_important_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->pod->priority != y->pod->priority)
        return x->pod->priority > y->pod->priority ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    int as_given = (x->position > y->position) - (x->position < y->position);
    return x->pod->api->status.start_time.set ? as_given : -as_given;
}

void sort_by_importance(struct pod_info **pods, uint32_t len, struct arena *arena)
{
    if (len < 2)
        return;
    struct ranked *ranked = arena_array(arena, struct ranked, len);
    for (uint32_t i = 0; i < len; i++)
        ranked[i] = (struct ranked){ pods[i], pod_start_ns(pods[i]), i };
    qsort(ranked, len, sizeof(*ranked), more_important_first);
    for (uint32_t i = 0; i < len; i++)
        pods[i] = ranked[i].pod;
}
