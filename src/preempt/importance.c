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

/* Pods that have not started are in the order of their node's list. */
static bool more_important_on_node(const void *a, const void *b)
{
    const struct pod_info *x = a, *y = b;
    bool undecided =
        x->priority == y->priority && !x->api->status.start_time.set && !y->api->status.start_time.set;
    return undecided ? x->slot < y->slot : more_important(a, b);
}

void sort_by_importance(struct pod_info **pods, uint32_t len, const struct release *release)
{
    pdqsort((void **)pods, len, release->victims_keep_their_start ? more_important_on_node : more_important);
}
