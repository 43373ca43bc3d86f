/* backoff.c: see backoff.h. */
#include "queue/backoff.h"

/* The full second, if pods of one second are to be sorted: where they may be popped before their time. */
static int64_t window_of(const struct queue *queue, int64_t time_ns)
{
    if (!queue->pops_backoff)
        return time_ns;
    int64_t past = time_ns % BACKOFF_WINDOW_NS;
    return time_ns - (past < 0 ? past + BACKOFF_WINDOW_NS : past);
}

/* Doubles with every rejection, or with every error in a row. */
static int64_t backoff_ns(const struct queue_options *options, uint32_t count)
{
    uint32_t shift = MIN(count - 1, 62U);
    if (options->backoff_initial_ns > options->backoff_max_ns >> shift)
        return options->backoff_max_ns;
    return options->backoff_initial_ns << shift;
}

bool backoff_goes_on(struct queue *queue, struct queued_pod *entry, int64_t now_ns)
{
    uint32_t count = entry->errors_in_a_row ? entry->errors_in_a_row : entry->rejections;
    if (!queue->options.backoff_max_ns || !count)
        return false;
    if (!entry->backoff_until_ns)
        entry->backoff_until_ns =
            window_of(queue, time_add(entry->since_ns, backoff_ns(&queue->options, count)));
    return entry->backoff_until_ns >= window_of(queue, now_ns);
}

int64_t backoff_look_after(const struct queue *queue, int64_t time_ns)
{
    int64_t first_ns = queue->next_look_ns;
    if (queue->pops_backoff)
        return time_add(time_ns, BACKOFF_WINDOW_NS);
    return time_ns < first_ns
               ? first_ns
               : time_add(time_ns, BACKOFF_WINDOW_NS - (time_ns - first_ns) % BACKOFF_WINDOW_NS);
}

int64_t queue_next_backoff(const struct queue *queue)
{
    int64_t due = QUEUE_NEVER;
    for (enum queue_place place = QUEUE_BACKOFF; place <= QUEUE_ERROR_BACKOFF; place++) {
        if (!queue->heaps[place].items.len)
            continue;
        const struct queued_pod *first = queue->heaps[place].items.items[0];
        due = MIN(due, backoff_look_after(queue, first->backoff_until_ns));
    }
    return due;
}
