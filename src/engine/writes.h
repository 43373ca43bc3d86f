/* writes.h: effects that are repeated until there is a definite answer.
 *
 *     writes_send() ──▶ emit ──▶ host ──▶ writes_answer() ──▶ a fact: done()
 *                        ▲                     │ unknown, not sent
 *                        └──── backoff ◀───────┘
 *
 * A lost answer is not a no: the same effect goes out again until the API server says what is the case. Effects mean
 * the same when they come twice, so nothing is done twice by that. */
#ifndef ENGINE_WRITES_H
#define ENGINE_WRITES_H

#include "base/arena.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/rng.h"
#include "framework/effects.h"

struct write;

/* The answer is a fact, or there will be no other. The write is gone when this returns. */
typedef void (*write_done)(void *context, const struct write *write, const struct answer *answer,
                           int64_t now_ns);

struct write {
    struct effect effect; /* its texts live in the arena; the ticket is the write's number */
    struct arena arena;
    uint32_t attempts;
    bool in_doubt;  /* an attempt without an answer may have been done */
    bool in_flight; /* else it waits for due_ns */
    bool is_last;   /* not sent again, whatever the answer is; for the owner to set */
    int64_t due_ns;
    size_t at; /* in the heap */
    write_done done;
    void *context;
};

struct writes {
    effect_emit emit; /* NULL: there is no host */
    void *host;
    struct idmap by_ticket;
    struct heap waiting;
    uint64_t last_ticket;
    struct rng rng; /* jitter */
};

void writes_init(struct writes *writes, effect_emit emit, void *host, uint64_t seed);
void writes_release(struct writes *writes);

struct write *writes_send(struct writes *writes, const struct effect *effect, write_done done, void *context,
                          int64_t now_ns);
/* The same, but the first attempt waits as the next one after `attempts` would. */
struct write *writes_send_later(struct writes *writes, const struct effect *effect, write_done done,
                                void *context, uint32_t attempts, int64_t now_ns);
/* It is not sent again, and an answer to it is ignored. */
void writes_cancel(struct writes *writes, struct write *write);
/* From the host: what came of an attempt. Unknown tickets are ignored. */
void writes_answer(struct writes *writes, uint64_t ticket, const struct answer *answer, int64_t now_ns);
/* Sends again what is due. */
void writes_tick(struct writes *writes, int64_t now_ns);
/* How many may still be done, or have been done without an answer: a request for them is under way, or was lost. */
size_t writes_unsettled(const struct writes *writes);
/* INT64_MAX: nothing waits. */
int64_t writes_next_due(const struct writes *writes);

#endif
