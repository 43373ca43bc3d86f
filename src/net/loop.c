/* loop.c: see loop.h.
 *
 * A turn of the loop: descriptors that are ready, timers that are due, the calls that were posted until then. The
 * mailbox is emptied in one step, and a thread that posts wakes the loop only where the mailbox was empty: a burst of
 * calls costs one wake-up. */
#include "net/loop.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/thread.h"

enum { EVENTS_MAX = 128, WAIT_MS_MAX = 60 * 1000 };

struct loop {
    pthread_t thread;
    bool has_thread, stopping;
    int epoll, wake; /* -1: none */
    struct loop_fd waker;
    struct epoll_event events[EVENTS_MAX]; /* of this turn */
    int next_event, event_count;
    struct heap timers;

    struct loop_fd signals; /* fd -1: none */
    void (*on_signal)(void *user, int number);
    void *signal_user;

    struct monitor monitor; /* guards the mailbox, and `busy` of work */
    struct loop_call *first, **last;
};

/* ---- calls ---- */
bool loop_is_here(const struct loop *loop)
{
    return pthread_equal(pthread_self(), loop->thread);
}

void loop_post(struct loop *loop, struct loop_call *call)
{
    call->next = NULL;
    monitor_lock(&loop->monitor);
    bool was_empty = !loop->first;
    *loop->last = call;
    loop->last = &call->next;
    monitor_unlock(&loop->monitor);
    if (was_empty)
        (void)!write(loop->wake, &(uint64_t){ 1 }, sizeof(uint64_t));
}

static void make_calls(struct loop *loop)
{
    monitor_lock(&loop->monitor);
    struct loop_call *call = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    monitor_unlock(&loop->monitor);
    while (call) {
        struct loop_call *next = call->next;
        call->run(call);
        call = next;
    }
}

struct run_call {
    struct loop_call call;
    void (*run)(void *context);
    void *context;
    struct completion *ended; /* NULL: nothing waits for it, and it frees itself */
};

static void run_now(struct loop_call *call)
{
    struct run_call *own = container_of(call, struct run_call, call);
    own->run(own->context);
    if (own->ended)
        completion_done(own->ended);
    else
        free(own);
}

void loop_run(struct loop *loop, void (*run)(void *context), void *context)
{
    struct run_call *own = xmalloc(sizeof(*own));
    *own = (struct run_call){ { .run = run_now }, run, context, NULL };
    loop_post(loop, &own->call);
}

void loop_run_wait(struct loop *loop, void (*run)(void *context), void *context)
{
    struct completion ended;
    struct run_call own = { { .run = run_now }, run, context, &ended };
    if (loop_is_here(loop)) {
        run(context);
        return;
    }
    completion_init(&ended);
    loop_post(loop, &own.call);
    completion_wait(&ended, INT64_MAX);
    completion_release(&ended);
}

/* ---- timers ---- */
static bool is_before(const void *a, const void *b, const void *context _unused_)
{
    return ((const struct loop_timer *)a)->due_ns < ((const struct loop_timer *)b)->due_ns;
}

static void on_moved(void *item, size_t at)
{
    ((struct loop_timer *)item)->place = at + 1;
}

void loop_timer_stop(struct loop *loop, struct loop_timer *timer)
{
    if (timer->place)
        heap_remove(&loop->timers, timer->place - 1);
    timer->place = 0;
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ns)
{
    loop_timer_stop(loop, timer);
    timer->due_ns = due_ns;
    if (due_ns != INT64_MAX)
        heap_push(&loop->timers, timer);
}

static struct loop_timer *first_timer(const struct loop *loop)
{
    return loop->timers.items.len ? loop->timers.items.items[0] : NULL;
}

/* Those that are due now. One that is set again to a time that has passed waits for the next turn. */
static void ring_timers(struct loop *loop)
{
    int64_t now_ns = monotonic_ns();
    size_t most = loop->timers.items.len;
    for (struct loop_timer *timer; most-- && (timer = first_timer(loop)) && timer->due_ns <= now_ns;) {
        loop_timer_stop(loop, timer);
        timer->ring(timer);
    }
}

/* ---- descriptors ---- */
static int control(struct loop *loop, int what, struct loop_fd *fd)
{
    struct epoll_event event = { .events = fd->events, .data.ptr = fd };
    return epoll_ctl(loop->epoll, what, fd->fd, &event) < 0 ? -errno : 0;
}

int loop_add(struct loop *loop, struct loop_fd *fd)
{
    return control(loop, EPOLL_CTL_ADD, fd);
}

int loop_change(struct loop *loop, struct loop_fd *fd, uint32_t events)
{
    if (fd->events == events)
        return 0;
    uint32_t before = fd->events;
    fd->events = events;
    int r = control(loop, EPOLL_CTL_MOD, fd);
    if (r < 0)
        fd->events = before;
    return r;
}

int loop_renew(struct loop *loop, struct loop_fd *fd)
{
    int r = control(loop, EPOLL_CTL_MOD, fd);
    return r == -ENOENT ? control(loop, EPOLL_CTL_ADD, fd) : r;
}

/* Events of this turn that were not looked at yet are void as well. */
void loop_remove(struct loop *loop, struct loop_fd *fd)
{
    control(loop, EPOLL_CTL_DEL, fd);
    for (int i = loop->next_event; i < loop->event_count; i++)
        if (loop->events[i].data.ptr == fd)
            loop->events[i].data.ptr = NULL;
}

static int wait_ms(struct loop *loop)
{
    const struct loop_timer *timer = first_timer(loop);
    if (!timer)
        return -1;
    /* Rounded up: a timer that is not due yet would only be looked at again. */
    int64_t left_ms = (timer->due_ns - monotonic_ns() + NS_PER_MS - 1) / NS_PER_MS;
    return (int)MIN(MAX(left_ms, 0), WAIT_MS_MAX);
}

static void handle_events(struct loop *loop, int ms)
{
    loop->event_count = epoll_wait(loop->epoll, loop->events, EVENTS_MAX, ms);
    for (loop->next_event = 0; loop->next_event < loop->event_count;) {
        const struct epoll_event event = loop->events[loop->next_event++];
        struct loop_fd *fd = event.data.ptr;
        if (fd)
            fd->ready(fd, event.events);
    }
    loop->event_count = 0;
}

static void on_wake(struct loop_fd *fd, uint32_t events _unused_)
{
    uint64_t count;
    (void)!read(fd->fd, &count, sizeof(count));
}

/* ---- signals ---- */
static void on_signals(struct loop_fd *fd, uint32_t events _unused_)
{
    struct loop *loop = container_of(fd, struct loop, signals);
    struct signalfd_siginfo info;
    while (read(fd->fd, &info, sizeof(info)) == sizeof(info))
        loop->on_signal(loop->signal_user, (int)info.ssi_signo);
}

static void add_signals(void *context)
{
    struct loop *loop = context;
    if (loop_add(loop, &loop->signals) < 0) {
        close(loop->signals.fd);
        loop->signals.fd = -1;
    }
}

int loop_signals(struct loop *loop, const sigset_t *signals, void (*on_signal)(void *user, int number),
                 void *user, struct error *err)
{
    loop->on_signal = on_signal;
    loop->signal_user = user;
    loop->signals = (struct loop_fd){ .events = EPOLLIN, .ready = on_signals };
    loop->signals.fd = signalfd(-1, signals, SFD_NONBLOCK | SFD_CLOEXEC);
    if (loop->signals.fd >= 0)
        loop_run_wait(loop, add_signals, loop);
    return loop->signals.fd < 0 ? error_set(err, -EMFILE, "no descriptor for signals") : 0;
}

/* ---- work that may block ---- */
static void on_worked(struct loop_call *call)
{
    struct loop_work *work = container_of(call, struct loop_work, call);
    struct loop *loop = work->loop;
    work->done(work);
    monitor_lock(&loop->monitor);
    work->busy--;
    monitor_wake(&loop->monitor);
    monitor_unlock(&loop->monitor);
}

static void do_work(struct worker_job *job)
{
    struct loop_work *work = container_of(job, struct loop_work, job);
    work->work(work);
    loop_post(work->loop, &work->call);
}

void loop_work(struct loop *loop, struct loop_work *work)
{
    monitor_lock(&loop->monitor);
    work->busy++;
    monitor_unlock(&loop->monitor);
    work->loop = loop;
    work->call.run = on_worked;
    work->job = (struct worker_job){ .urgent = true, .run = do_work };
    workers_submit(&work->job);
}

void loop_work_wait(struct loop *loop, struct loop_work *work)
{
    monitor_lock(&loop->monitor);
    while (work->busy)
        monitor_wait(&loop->monitor, INT64_MAX);
    monitor_unlock(&loop->monitor);
}

/* ---- life ---- */
static void turn(struct loop *loop, int ms)
{
    handle_events(loop, ms);
    ring_timers(loop);
    make_calls(loop);
}

void loop_turn(struct loop *loop)
{
    turn(loop, 0);
}

static void *run(void *context)
{
    struct loop *loop = context;
    while (!loop->stopping)
        turn(loop, wait_ms(loop));
    make_calls(loop);
    return NULL;
}

static void release(struct loop *loop)
{
    const int fds[] = { loop->epoll, loop->wake, loop->signals.fd };
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    heap_release(&loop->timers);
    monitor_release(&loop->monitor);
    free(loop);
}

int loop_new(const char *name, struct loop **ret, struct error *err)
{
    struct loop *loop = xcalloc(1, sizeof(*loop));
    loop->last = &loop->first;
    loop->timers = (struct heap){ .before = is_before, .moved = on_moved };
    loop->signals.fd = -1;
    monitor_init(&loop->monitor);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    loop->waker = (struct loop_fd){ .fd = loop->wake, .events = EPOLLIN, .ready = on_wake };
    int r = loop->epoll < 0 || loop->wake < 0 ? -errno : loop_add(loop, &loop->waker);
    loop->thread = pthread_self();
    loop->has_thread = name;
    /* No call is made on the thread before its number is noted here. */
    monitor_lock(&loop->monitor);
    if (r == 0 && name)
        r = thread_start(&loop->thread, name, run, loop);
    monitor_unlock(&loop->monitor);
    if (r < 0) {
        release(loop);
        return error_set(err, r, "no event loop: %s", strerror(-r));
    }
    *ret = loop;
    return 0;
}

static void stop(void *context)
{
    ((struct loop *)context)->stopping = true;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    if (loop->has_thread) {
        loop_run(loop, stop, loop);
        pthread_join(loop->thread, NULL);
    } else {
        loop_turn(loop);
    }
    release(loop);
}
