/* replay.h: a recording, decided again.
 *
 *     recording ──entries──▶ mirror ──▶ ENGINE ──▶ decisions ──▶ the same as the recorded ones, byte for byte?
 *
 * With the recorded configuration every decision must come out as it was; the first one that does not ends the replay.
 * With another configuration (versus.h) pods and nodes come and go as they did, and where the pods go is decided anew.
 *
 * What is not recorded: messages that threads of plugins from shared objects send to the engine by themselves. */
#ifndef SIM_REPLAY_H
#define SIM_REPLAY_H

#include "client/mirror.h"
#include "config/features.h"
#include "extender/extender.h"
#include "sim/recording.h"
#include "sim/versus.h"

struct replay_options {
    const char *path;                /* see recording_open() */
    const char *config;              /* another configuration; NULL: the recorded one */
    const struct registry *registry; /* NULL: the built-in plugins */
    int64_t until_ns;                /* what is after that is left out; INT64_MAX: nothing */
    /* Each decision as it comes out here, as the body of a JOURNAL_DECISION. May be NULL. */
    void (*on_decision)(void *user, struct str body);
    void *user;
};

/* The bodies of both decisions; an empty one: nothing was decided at that moment. */
struct replay_difference {
    bool there;
    uint64_t number; /* of the decision, from 1 */
    int64_t now_ns;
    struct str recorded, here;
};

struct replay {
    struct replay_options options;
    struct recording recording;
    struct arena arena; /* of all that follows */
    struct str version; /* of the program that recorded */
    uint64_t seed;
    struct features features;
    struct scheduler_config config;
    struct warnings warnings;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct http_extenders *http; /* for what they are, not for what they say */
    struct replayed_extenders *extenders;
    bool config_ready, engine_ready;
    struct strbuf line;
    struct versus *versus; /* NULL: the same configuration */
    /* what came of it */
    uint64_t decisions, placements;
    uint64_t digest;           /* of all decisions in order: equal on every machine */
    int64_t first_ns, last_ns; /* of the entries */
    struct replay_difference difference;
};

/* 0, also where decisions differ; negative: the recording or the configuration can not be used. */
int replay_run(struct replay *replay, const struct replay_options *options, struct error *err);
/* In any case. */
void replay_release(struct replay *replay);

/* A decision's body in a few words: "default/web-1 goes to node-7 (...)"; for an empty one: "nothing is decided". */
void replay_say(struct str body, struct strbuf *out);

/* ---- for versus.c ---- */
/* A letter about objects, from an entry; the caller frees it. NULL: err says why it can not be read. */
struct letter *replay_letter(const struct recording_entry *entry, struct error *err);

#endif
