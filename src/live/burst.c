/* burst.c: see burst.h. */
#include "live/burst.h"

#include "base/clock.h"

enum {
    MANY_MESSAGES = 4096, /* at once: a list, or what came while a decision took long */
    MANY_BYTES = 8 << 20, /* of objects that came since memory was given back */
    SOME_BYTES = 1 << 20,
};
#define PAUSE_NS ((int64_t)100000000)       /* without many messages for so long, a burst is over */
#define MANY_BYTES_PAUSE_NS (5 * NS_PER_S)  /* memory is not given back more often because of many bytes */
#define SOME_BYTES_PAUSE_NS (30 * NS_PER_S) /* or of some, which the last ones of many are */

static int64_t earliest_ns(const struct burst *burst, int64_t now_ns)
{
    int64_t pause_ns = burst->bytes >= MANY_BYTES ? MANY_BYTES_PAUSE_NS : SOME_BYTES_PAUSE_NS;
    return MAX(now_ns + PAUSE_NS, burst->last_ns + pause_ns);
}

bool burst_ends(struct burst *burst, size_t messages, size_t bytes, int64_t now_ns)
{
    burst->bytes += bytes;
    if (messages >= MANY_MESSAGES)
        burst->due_ns = now_ns + PAUSE_NS;
    else if (bytes && burst->bytes >= SOME_BYTES)
        burst->due_ns = MIN(burst->due_ns, earliest_ns(burst, now_ns));
    if (now_ns < burst->due_ns)
        return false;
    *burst = (struct burst){ .due_ns = INT64_MAX, .last_ns = now_ns };
    return true;
}
