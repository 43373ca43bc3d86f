/* importance.c: see importance.h. */
#include "preempt/importance.h"

#include "preempt/pdqsort.h"

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

static bool more_important(const void *a, const void *b)
{
    const struct pod_info *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    const struct opt_time *p = &x->api->status.start_time, *q = &y->api->status.start_time;
    if (!p->set || !q->set)
        return !q->set; /* `now`, read for x before it is read for y */
    return p->seconds < q->seconds || (p->seconds == q->seconds && p->nanos < q->nanos);
}

void sort_by_importance(struct pod_info **pods, uint32_t len)
{
    pdqsort((void **)pods, len, more_important);
}
