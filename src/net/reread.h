/* reread.h: something that is read now and then, in the worker pool, because it may block.
 *
 *     timer ──▶ read(), worker pool ──▶ took(), the loop's thread ──▶ timer
 *
 * For a configuration, which is read, checked and tried in one piece. Certificates and tokens are files of a set
 * (net/file_set.h), which is never waited for. */
#ifndef NET_REREAD_H
#define NET_REREAD_H

#include "net/loop.h"

struct reread {
    /* On a thread of the pool. */
    void (*read)(struct reread *reread);
    /* Then, on the loop's thread. Returns when to read again by monotonic_ns(); INT64_MAX: not before reread_by(). */
    int64_t (*took)(struct reread *reread);
    /* On the loop's thread, every slow_ms while read() runs. NULL: nothing is called. */
    void (*slow)(struct reread *reread);
    int64_t slow_ms;
    /* The module's own. */
    struct loop *loop;
    struct loop_timer timer;
    struct loop_work work;
    bool reading, stopped;
    int64_t due_ns;
};

/* From any thread; `read` and `took` are set. The first reading is at due_ns. */
void reread_start(struct reread *reread, struct loop *loop, int64_t due_ns);
/* Reads no later than that. On the loop's thread. While files are being read, they are read once more. */
void reread_by(struct reread *reread, int64_t due_ns);
/* Nothing is called when this returns. From any thread but the loop's. One that was never started is fine. */
void reread_stop(struct reread *reread);

#endif
