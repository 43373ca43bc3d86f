/* core.h: the live host of the engine: one thread that takes messages, decides, and hands out what is to be done.
 *
 *     reflectors ──▶ inbox ──▶ mirror ──▶ ENGINE ──▶ writer ──▶ API server
 *                      ▲                                 │
 *                      └───────────── answers ◀──────────┘
 *
 * Nothing is decided before every kind was listed to its end, nor without the lead where there is an election, nor
 * once it is to stop: then only what is on its way is finished.
 *
 * A recording repeats from its beginning. When the journal is to begin a new one, the core starts the engine anew
 * within the process: what is on its way is finished first, and the cluster is listed again. */
#ifndef LIVE_CORE_H
#define LIVE_CORE_H

#include "live/extra_watch.h"
#include "live/journal.h"
#include "live/writer.h"
#include "sync/mirror.h"
#include "sync/poller.h"
#include "sync/reflector.h"

struct core;

struct core_options {
    const struct scheduler_config *config;
    const struct registry *registry;
    const struct features *features; /* NULL: the defaults of the default release */
    struct api *api;
    struct inbox *inbox;
    const struct writer *writer;
    struct recorder *recorder;
    const struct extenders *extenders; /* NULL: none */
    void *owner;                       /* of the first configuration; see struct engine_setup */
    uint64_t seed;
    int64_t unschedulable_max_ns; /* as in struct engine_options */
    struct journal *journal;      /* NULL: nothing is recorded */
    bool announces;               /* as in struct engine_options */
    bool elected;                 /* there is an election: core_lead() says when to begin */
    bool plain_lists;             /* as in struct reflector_options */
    int64_t samples_ms;           /* between two lists of samples, where a plugin wants them [30000] */
    bool has_policies;            /* from the ConfigMap below, or from messages that the caller posts */
    const char *policy_namespace, *policy_name;
    int64_t drain_ms; /* for what is on its way when it is to stop [5000] */
    /* The same for requests without an answer, of extenders too: they may still change the cluster. 0: as drain_ms */
    int64_t settle_ms;
    /* For metrics and logs of others; on the core thread. May be NULL. */
    void (*on_decision)(void *user, const struct decision *decision, int64_t took_ns);
    void (*on_notice)(void *user, const struct notice *notice);
    /* After each handful of decisions; returns when it wants to be called although nothing happens, INT64_MAX: never.
     * */
    int64_t (*on_round)(void *user, const struct engine *engine, int64_t now_ns);
    /* An object that cannot be read was seen for the first time; on the I/O thread. May be NULL. */
    void (*on_unreadable)(void *user, const char *resource);
    /* As in struct reflector_options; on the I/O thread. May be NULL. */
    void (*on_version)(void *user, enum api_kind kind, struct str version);
    void (*on_answering)(void *user); /* likewise */
    /* As in struct poller_options; on the I/O thread. May be NULL. */
    void (*on_samples)(void *user, const char *source, bool ok, int64_t oldest_ns);
    /* The Prometheus of the configuration with that owner; NULL: samples come from metrics.k8s.io. May be NULL. */
    const struct prometheus *(*prometheus_of)(void *user, const void *owner);
    /* A change of an object was taken over, which took that long. May be NULL. */
    void (*on_applied)(void *user, enum api_kind kind, int64_t ns);
    /* What came of scheduling policies. May be NULL. */
    void (*on_policies)(void *user, const struct policy_news *news);
    /* The engine is empty, and has_policies: those that the caller has are to be posted. May be NULL. */
    void (*post_policies)(void *user);
    /* Nothing of a configuration is used any more: its owner. May be NULL. */
    void (*on_retired)(void *user, void *owner);
    /* The engine is about to be filled anew: what was noted of its rows and profiles is void. May be NULL. */
    void (*on_restart)(void *user, struct engine *engine);
    void *user;
};

int core_new(const struct core_options *options, struct core **ret, struct error *err);
/* After core_run(); before the writer, the inbox and the api go. */
void core_free(struct core *core);

/* The thread of the core, until core_stop(). */
void core_run(struct core *core);

/* After core_run(): how many requests, of extenders too, have no answer and may still change the cluster. */
size_t core_unsettled(const struct core *core);

/* From any thread, and from signal handlers' threads. */
void core_stop(struct core *core);
/* This process leads now. The cluster is listed again first: what the leader before has written last may not have
 * arrived yet. */
void core_lead(struct core *core);
/* Runs on the core thread, between two decisions. */
void core_call(struct core *core, void (*call)(void *context), void *context);
/* Another configuration from now on (engine_reconfigure()), between two decisions. `done` is called on the core thread,
 * with 0 or with the sentence why nothing changed; then the owner stays the caller's. So it does where the core ends
 * before, and `done` is not called. */
void core_reconfigure(struct core *core, const struct engine_setup *setup,
                      void (*done)(void *user, int result, const struct error *err), void *user);
/* Has everything been listed once? From any thread. */
bool core_ready(const struct core *core);
/* For calls on the core thread. */
struct engine *core_engine(struct core *core);
/* The present time of the engine's inputs: at the start the time of day, then moved by CLOCK_MONOTONIC alone. From any
 * thread. */
int64_t core_now(const struct core *core);
/* Whose a generation of the core's engine is: the owner that the core was given with it. */
const void *core_owner(const void *generation_owner);

#endif
