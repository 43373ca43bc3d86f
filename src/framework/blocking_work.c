/* blocking_work.c: a job of the worker pool that carries a copy of the cycle; see blocking_work.h. */
#include "framework/blocking_work.h"

#include <stdlib.h>

#include "framework/profile.h"

static _Thread_local bool working;

bool work_is_here(void)
{
    return working;
}

static void work(struct worker_job *job)
{
    struct cycle_work *work = container_of(job, struct cycle_work, job);
    working = true;
    work->status = status_without_missing_reasons(work->call(&work->cycle, work->node));
    working = false;
    mailbox_post(work->mailbox, &work->message);
}

/* A plugin there sees the pod and its own things only. */
static struct cycle detached(const struct cycle *cycle, struct arena *arena)
{
    struct cycle copy = *cycle;
    copy.cluster = NULL;
    copy.info = NULL;
    copy.writer = NULL;
    copy.work = NULL;
    copy.arena = arena;
    return copy;
}

static struct status never_waits(struct cycle *cycle, struct status status)
{
    if (status.code != STATUS_WAIT)
        return status;
    return status_printf(cycle->arena, STATUS_ERROR, "Wait is no answer here: it may take its time instead");
}

static struct status run_now(struct cycle *cycle, struct str node, work_call call)
{
    struct cycle copy = detached(cycle, cycle->arena);
    struct status status = call(&copy, node);
    *cycle_state(cycle) = *cycle_state(&copy);
    return never_waits(cycle, status);
}

static void start(struct cycle *cycle, struct str node, bool binds, work_call call)
{
    struct cycle_work *started = xcalloc(1, sizeof(*started));
    struct mailbox *mailbox = (struct mailbox *)&cycle->profile->mailbox; /* the one part that others write */
    started->job.run = work;
    started->message =
        (struct plugin_message){ .kind = PLUGIN_MESSAGE_WORK_DONE, .plugin = cycle->current->plugin };
    started->cycle = detached(cycle, &started->arena);
    started->cycle.work = started;
    started->state = *cycle_state(cycle);
    started->origin = cycle;
    started->mailbox = mailbox;
    started->call = call;
    started->binds = binds;
    started->node = arena_str(&started->arena, node);
    cycle->work = started;
    struct mailbox_reader *reader = atomic_load_explicit(&mailbox->reader, memory_order_acquire);
    started->number = reader ? ++reader->works : 0;
    if (reader && reader->takes_work)
        reader->takes_work(reader->context, started);
    else
        workers_submit(&started->job);
}

static struct status copy_status(struct arena *arena, struct status status)
{
    struct str *reasons = arena_array(arena, struct str, status.len);
    for (uint32_t i = 0; i < status.len; i++)
        reasons[i] = arena_str(arena, status.reasons[i]);
    status.reasons = reasons;
    return status;
}

/* The plugin may have another state now, or have given it up. The cycle may be at another plugin by now. */
static void take_state(struct cycle *cycle)
{
    const struct cycle_work *work = cycle->work;
    uint32_t index = work->cycle.current->index;
    if (work->cycle.states[index] != work->state)
        cycle->states[index] = work->cycle.states[index];
}

/* The status, with its texts where the cycle lives. */
static struct status finish(struct cycle *cycle)
{
    struct status status = copy_status(cycle->arena, cycle->work->status);
    work_release(cycle);
    return never_waits(cycle, status);
}

struct status work_run(struct cycle *cycle, uint32_t row, bool binds, work_call call)
{
    struct str node = cluster_node_name(cycle->cluster, row);
    if (!cycle->writer)
        return run_now(cycle, node, call);
    if (!cycle->work)
        start(cycle, node, binds, call);
    else if (cycle->work->done)
        return finish(cycle);
    return (struct status){ .code = STATUS_WAIT };
}

struct plugin_message *work_conclude(struct cycle_work *taken, struct status status)
{
    taken->status = copy_status(&taken->arena, status);
    return &taken->message;
}

struct cycle *work_done(struct plugin_message *message)
{
    struct cycle_work *work = container_of(message, struct cycle_work, message);
    work->done = true;
    return work->origin;
}

bool work_busy(const struct cycle *cycle)
{
    return cycle->work && !cycle->work->done;
}

void work_cancel(struct cycle *cycle)
{
    if (cycle->work)
        atomic_store_explicit(&cycle->work->cancelled, true, memory_order_relaxed);
}

bool work_cancelled(const struct cycle *cycle)
{
    return cycle->work && atomic_load_explicit(&cycle->work->cancelled, memory_order_relaxed);
}

void work_release(struct cycle *cycle)
{
    if (!cycle->work)
        return;
    take_state(cycle);
    arena_release(&cycle->work->arena);
    free(cycle->work);
    cycle->work = NULL;
}
