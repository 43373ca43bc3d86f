/* loop.h: an event loop: one thread that waits for descriptors, timers, calls of other threads and signals.
 *
 *     descriptors ─────────────▶ epoll ────┐
 *     loop_timer_set() ────────▶ heap ─────┼──▶ callbacks, one at a time, on the loop's thread
 *     loop_post(), any thread ─▶ mailbox ──┤
 *     signals ─────────────────▶ signalfd ─┘
 *
 * A callback must not block. What may block runs in the worker pool (loop_work()), and its end is a callback again.
 * The structs that are handed to a loop belong to the caller, and must stay where they are while the loop knows them.
 * Unless it says otherwise, a function is for the loop's thread alone. */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <signal.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/workers.h"

struct loop;

/* Starts the thread, which has this name. NULL: there is none, and the caller makes turns by loop_turn(). */
int loop_new(const char *name, struct loop **ret, struct error *err);
/* Makes the calls that were posted, and ends the thread. Not from a callback. NULL is fine. */
void loop_free(struct loop *loop);
/* Is the calling thread the loop's? */
bool loop_is_here(const struct loop *loop);
/* Of a loop without a thread: handles what is ready, due or posted, and does not wait. */
void loop_turn(struct loop *loop);

/* ---- calls ---- */
struct loop_call {
    struct loop_call *next;
    void (*run)(struct loop_call *call);
};

/* Calls are made in the order in which they were posted, and never inside loop_post(). From any thread. */
void loop_post(struct loop *loop, struct loop_call *call);
/* The same for a function with a context. */
void loop_run(struct loop *loop, void (*run)(void *context), void *context);
/* Runs the function on the loop's thread, and returns when it has ended. From any thread but a callback of another loop
 * that this one may wait for. On the loop's own thread it is called at once. */
void loop_run_wait(struct loop *loop, void (*run)(void *context), void *context);

/* ---- timers ---- */
/* A zeroed one with its callback is a timer that is not set. */
struct loop_timer {
    void (*ring)(struct loop_timer *timer); /* the timer is not set any more, and may be set again */
    int64_t due_ns;
    size_t place; /* in the heap, from 1; 0: not set */
};

/* By monotonic_ns(). Instead of what it was set to; INT64_MAX: never. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t due_ns);
void loop_timer_stop(struct loop *loop, struct loop_timer *timer);

/* ---- descriptors ---- */
struct loop_fd {
    int fd;
    uint32_t events;                                    /* of epoll; EPOLLERR and EPOLLHUP always come */
    void (*ready)(struct loop_fd *fd, uint32_t events); /* may remove it */
};

/* 0 or a negative errno. */
int loop_add(struct loop *loop, struct loop_fd *fd);
int loop_change(struct loop *loop, struct loop_fd *fd, uint32_t events);
/* The same for one that the loop knows only if its descriptor was not closed meanwhile, and its number opened again. */
int loop_renew(struct loop *loop, struct loop_fd *fd);
/* Nothing is called any more for it. Before its descriptor is closed. */
void loop_remove(struct loop *loop, struct loop_fd *fd);

/* ---- signals ---- */
/* From now on these signals, which all threads have blocked, are calls of on_signal. Once. From any thread. */
int loop_signals(struct loop *loop, const sigset_t *signals, void (*on_signal)(void *user, int number),
                 void *user, struct error *err);

/* ---- work that may block ---- */
struct loop_work {
    void (*work)(struct loop_work *work); /* on a thread of the worker pool */
    void (*done)(struct loop_work *work); /* then, on the loop's thread: the struct is the caller's again */
    /* The loop's own. */
    struct worker_job job;
    struct loop_call call;
    struct loop *loop;
    int busy; /* times that it was begun and is not done */
};

/* From any thread, and from `done`. One at a time per struct. */
void loop_work(struct loop *loop, struct loop_work *work);
/* Waits until `done` of work that is under way has returned. From any thread but the loop's. */
void loop_work_wait(struct loop *loop, struct loop_work *work);

#endif
