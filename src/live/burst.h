/* burst.h: when free memory is given back to the system, which takes time: after what came in a burst.
 *
 * The messages of a burst, and older versions of its objects, are free when it is over. So are a few large objects,
 * which come one by one: what came since memory was given back counts, and the last of it is given back too, later. */
#ifndef LIVE_BURST_H
#define LIVE_BURST_H

#include "base/common.h"

struct burst {
    size_t bytes;    /* since memory was given back */
    int64_t due_ns;  /* INT64_MAX: there was no burst */
    int64_t last_ns; /* when memory was given back */
};

#define BURST_NONE ((struct burst){ .due_ns = INT64_MAX })

/* So many messages have come, about objects of so many bytes; both are 0 when nothing came. True: it is time to give
 * memory back, which counts as done. Otherwise it is to be asked again at `due_ns`. */
bool burst_ends(struct burst *burst, size_t messages, size_t bytes, int64_t now_ns);

#endif
