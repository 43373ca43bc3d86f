/* writes.c: every write has a ticket, and is either under way or waits for its next attempt. */
#include "engine/writes.h"

#include <stdlib.h>

#include "framework/extender.h"

/* The first try again comes soon, since a connection that was cut is often there again at once; the last ones are
 * close enough together that an API server's return is noticed within a second. */
enum { RETRY_MS_MIN = 25, RETRY_MS_MAX = 800, RETRY_AFTER_MS_MAX = 10000, NS_PER_MS = 1000000 };

static bool due_before(const void *a, const void *b, const void *context)
{
    const struct write *x = a, *y = b;
    (void)context;
    return x->due_ns != y->due_ns ? x->due_ns < y->due_ns : x->effect.ticket < y->effect.ticket;
}

static void moved(void *item, size_t at)
{
    ((struct write *)item)->at = at;
}

void writes_init(struct writes *writes, effect_emit emit, void *host, uint64_t seed)
{
    *writes = (struct writes){ .emit = emit, .host = host };
    writes->waiting.before = due_before;
    writes->waiting.moved = moved;
    rng_seed(&writes->rng, seed ^ 0x77726974);
}

static void write_free(struct write *write)
{
    arena_release(&write->arena);
    free(write);
}

void writes_release(struct writes *writes)
{
    map_for(&writes->by_ticket, slot)
        write_free(slot->value);
    idmap_release(&writes->by_ticket);
    heap_release(&writes->waiting);
}

static void attempt(struct writes *writes, struct write *write)
{
    struct extender *by = write->effect.by;
    write->in_flight = true;
    write->attempts++;
    if (by)
        by->calls->bind(by, &write->effect);
    else
        writes->emit(writes->host, &write->effect);
}

static struct write *write_new(struct writes *writes, const struct effect *effect, write_done done,
                               void *context)
{
    struct write *write = xcalloc(1, sizeof(*write));
    write->effect = effect_copy(&write->arena, effect);
    write->effect.ticket = ++writes->last_ticket;
    write->done = done;
    write->context = context;
    idmap_put(&writes->by_ticket, write->effect.ticket, write);
    return write;
}

struct write *writes_send(struct writes *writes, const struct effect *effect, write_done done, void *context,
                          int64_t now_ns)
{
    struct write *write = write_new(writes, effect, done, context);
    write->due_ns = now_ns;
    attempt(writes, write);
    return write;
}

static void forget(struct writes *writes, struct write *write)
{
    idmap_remove(&writes->by_ticket, write->effect.ticket);
    if (!write->in_flight)
        heap_remove(&writes->waiting, write->at);
}

void writes_cancel(struct writes *writes, struct write *write)
{
    forget(writes, write);
    write_free(write);
}

static int64_t patience_ns(struct writes *writes, const struct write *write, int64_t retry_after_ms)
{
    uint32_t doublings = MIN(write->attempts - 1, 6u);
    int64_t ms = MIN((int64_t)RETRY_MS_MIN << doublings, (int64_t)RETRY_MS_MAX);
    ms = MAX(ms, MIN(retry_after_ms, (int64_t)RETRY_AFTER_MS_MAX));
    return ms * NS_PER_MS / 2 + (int64_t)rng_below(&writes->rng, (uint64_t)(ms * NS_PER_MS / 2) + 1);
}

/* A read that was refused says nothing: an API server that has just started refuses all clients for a moment. */
static bool says_something(const struct write *write, const struct answer *answer)
{
    return answer_is_fact(answer->kind) &&
           !(write->effect.kind == EFFECT_READ_POD && answer->kind == ANSWER_REFUSED);
}

static void put_off(struct writes *writes, struct write *write, int64_t retry_after_ms, int64_t now_ns)
{
    write->in_flight = false;
    write->due_ns = now_ns + patience_ns(writes, write, retry_after_ms);
    heap_push(&writes->waiting, write);
}

struct write *writes_send_later(struct writes *writes, const struct effect *effect, write_done done,
                                void *context, uint32_t attempts, int64_t now_ns)
{
    struct write *write = write_new(writes, effect, done, context);
    write->attempts = MAX(attempts, 1u);
    put_off(writes, write, 0, now_ns);
    return write;
}

void writes_answer(struct writes *writes, uint64_t ticket, const struct answer *answer, int64_t now_ns)
{
    struct write *write = ticket ? idmap_get(&writes->by_ticket, ticket) : NULL;
    if (!write || !write->in_flight)
        return;
    if (says_something(write, answer) || write->is_last) {
        forget(writes, write);
        write->done(write->context, write, answer, now_ns);
        write_free(write);
        return;
    }
    write->in_doubt |= answer->kind == ANSWER_UNKNOWN;
    put_off(writes, write, answer->retry_after_ms, now_ns);
}

void writes_tick(struct writes *writes, int64_t now_ns)
{
    while (writes->waiting.items.len) {
        struct write *write = writes->waiting.items.items[0];
        if (write->due_ns > now_ns)
            return;
        heap_pop(&writes->waiting);
        attempt(writes, write);
    }
}

size_t writes_unsettled(const struct writes *writes)
{
    size_t count = 0;
    map_for(&writes->by_ticket, slot) {
        const struct write *write = slot->value;
        count += write->in_flight || write->in_doubt;
    }
    return count;
}

int64_t writes_next_due(const struct writes *writes)
{
    return writes->waiting.items.len ? ((const struct write *)writes->waiting.items.items[0])->due_ns
                                     : INT64_MAX;
}
