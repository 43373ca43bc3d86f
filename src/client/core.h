/* core.h: the live host of the engine: one thread that takes letters, decides, and hands out what is to be done.
 *
 *     reflectors ──▶ inbox ──▶ mirror ──▶ ENGINE ──▶ writer ──▶ API server
 *                      ▲                                 │
 *                      └───────────── answers ◀──────────┘
 *
 * Nothing is decided before every kind was listed to its end, nor without the lead where there is an election, nor
 * once it is to stop: then only what is on its way is finished. */
#ifndef CLIENT_CORE_H
#define CLIENT_CORE_H

#include "client/journal.h"
#include "client/mirror.h"
#include "client/reflector.h"
#include "client/writer.h"

struct core;

struct core_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    struct api *api;
    struct inbox *inbox;
    struct writer *writer;
    struct recorder *recorder;
    const struct extenders *extenders; /* NULL: none */
    uint64_t whole_kinds;              /* see reflector_options */
    uint64_t seed;
    int64_t unschedulable_max_ns; /* as in struct engine_options */
    struct journal *journal;      /* NULL: nothing is recorded */
    bool elected;                 /* there is an election: core_lead() says when to begin */
    int64_t drain_ms;             /* for what is on its way when it is to stop [5000] */
    /* For metrics and logs of others; on the core thread. May be NULL. */
    void (*on_decision)(void *user, const struct decision *decision, int64_t took_ns);
    void (*on_notice)(void *user, const struct notice *notice);
    /* After each handful of decisions; returns when it wants to be called although nothing happens, INT64_MAX: never.
     * */
    int64_t (*on_round)(void *user, const struct engine *engine, int64_t now_ns);
    void *user;
};

int core_new(const struct core_options *options, struct core **ret, struct error *err);
/* After core_run(); before the writer, the inbox and the api go. */
void core_free(struct core *core);

/* The thread of the core, until core_stop(). */
void core_run(struct core *core);

/* From any thread, and from signal handlers' threads. */
void core_stop(struct core *core);
/* This process leads now. The cluster is listed again first: what the leader before has written last may not have
 * arrived yet. */
void core_lead(struct core *core);
/* Runs on the core thread, between two decisions. */
void core_call(struct core *core, void (*call)(void *context), void *context);
/* Has everything been listed? From any thread. */
bool core_synced(const struct core *core);
/* For calls on the core thread. */
struct engine *core_engine(struct core *core);

#endif
