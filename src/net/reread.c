/* reread.c: see reread.h. All but reread_start() and reread_stop() is on the loop's thread. */
#include "net/reread.h"

static void watch_slowness(struct reread *reread)
{
    if (reread->slow)
        loop_timer_set(reread->loop, &reread->timer, monotonic_ns() + reread->slow_ms * NS_PER_MS);
}

static void on_timer(struct loop_timer *timer)
{
    struct reread *reread = container_of(timer, struct reread, timer);
    if (reread->reading) {
        reread->slow(reread);
        watch_slowness(reread);
        return;
    }
    reread->reading = true;
    reread->due_ns = INT64_MAX;
    loop_work(reread->loop, &reread->work);
    watch_slowness(reread);
}

static void read_files(struct loop_work *work)
{
    struct reread *reread = container_of(work, struct reread, work);
    reread->read(reread);
}

static void on_read(struct loop_work *work)
{
    struct reread *reread = container_of(work, struct reread, work);
    reread->reading = false;
    loop_timer_stop(reread->loop, &reread->timer);
    if (reread->stopped)
        return;
    int64_t due_ns = reread->took(reread);
    reread_by(reread, MIN(due_ns, reread->due_ns));
}

void reread_by(struct reread *reread, int64_t due_ns)
{
    reread->due_ns = MIN(reread->due_ns, due_ns);
    if (!reread->reading && !reread->stopped)
        loop_timer_set(reread->loop, &reread->timer, reread->due_ns);
}

static void start(void *context)
{
    struct reread *reread = context;
    loop_timer_set(reread->loop, &reread->timer, reread->due_ns);
}

void reread_start(struct reread *reread, struct loop *loop, int64_t due_ns)
{
    reread->loop = loop;
    reread->due_ns = due_ns;
    reread->timer.ring = on_timer;
    reread->work = (struct loop_work){ .work = read_files, .done = on_read };
    loop_run_wait(loop, start, reread);
}

static void stop(void *context)
{
    struct reread *reread = context;
    reread->stopped = true;
    loop_timer_stop(reread->loop, &reread->timer);
}

void reread_stop(struct reread *reread)
{
    if (!reread->loop)
        return;
    loop_run_wait(reread->loop, stop, reread);
    loop_work_wait(reread->loop, &reread->work);
    reread->loop = NULL;
}
