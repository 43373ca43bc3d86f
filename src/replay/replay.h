/* replay.h: a recording, decided again.
 *
 *     recording ──entries──▶ mirror ──▶ ENGINE ──▶ decisions ──▶ the same as the recorded ones, byte for byte?
 *
 * With the recorded configuration every decision must come out as it was; the first one that does not ends the replay.
 * With another configuration or release (compare.h) pods and nodes come and go as they did, and where the pods go is
 * decided anew.
 *
 * Nothing outside is touched: extenders answer what was recorded, and PreBind and Bind of plugins from shared objects,
 * which may do anything, are not called; what came of them was recorded, and so were the messages that threads of
 * plugins sent by themselves. All other callbacks of such plugins are called again, and must answer alike. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "config/features.h"
#include "extender/extender.h"
#include "replay/compare.h"
#include "replay/recording.h"
#include "sync/mirror.h"
#include "whatif/explain.h"

struct replay_options {
    const char *path;                /* see recording_open() */
    const char *config;              /* another configuration; NULL: the recorded one */
    const struct release *release;   /* another release of kube-scheduler; NULL: the recorded one */
    const struct registry *registry; /* NULL: the built-in plugins */
    /* Adds to the registry what the text of a recorded configuration enables and it lacks. May be NULL. */
    int (*open_plugins)(struct str config, struct error *err);
    /* Times of a folder with several recordings choose the one that went on then; INT64_MAX, INT64_MIN: no matter. */
    int64_t until_ns; /* what is after that is left out */
    int64_t from_ns;  /* on_decision and on_explanation are called from then on */
    /* Each decision as it comes out here, as the body of a JOURNAL_DECISION. May be NULL. */
    void (*on_decision)(void *user, int64_t now_ns, struct str body);
    /* Just before each recorded decision of a pod (without a name: of every pod), which goes with it: what speaks for
     * and against each node. Not with another configuration. */
    struct str explain_namespace, explain_name;
    const char *(*file_of)(const struct plugin *plugin); /* as in struct explain_options */
    void (*on_explanation)(void *user, const struct recording_entry *decision,
                           const struct explanation *explanation);
    /* Now and then: how many decisions there were, and when the last thing happened. May be NULL. */
    void (*on_progress)(void *user, uint64_t decisions, int64_t now_ns);
    void *user;
};

/* The bodies of both decisions; an empty one: nothing was decided at that moment. */
struct replay_difference {
    bool there;
    uint64_t number; /* of the decision, from 1 */
    int64_t now_ns;
    struct str recorded, here;
};

/* A configuration of the recording, with the recorded answers of its extenders. */
struct replay_setup {
    struct scheduler_config config;
    struct http_extenders *http; /* for their properties; they are not called */
    struct replayed_extenders *extenders;
};

struct replay {
    struct replay_options options;
    struct recording recording;
    struct arena arena; /* of all that follows */
    struct str version; /* of the program that recorded */
    uint64_t seed;
    struct features features;
    struct features recorded_features; /* that the recorded configuration is read with */
    const struct release *recorded_release;
    bool compares;                     /* another configuration or release */
    VEC(struct replay_setup *) setups; /* the last one is in use */
    struct warnings warnings;
    struct cluster cluster;
    struct engine engine;
    struct mirror mirror;
    struct idmap works; /* of plugins, by number: struct cycle_work that waits for its end */
    bool engine_ready;
    struct strbuf line;
    struct comparison *comparison; /* NULL: the same configuration */
    /* what came of it */
    uint64_t decisions, placements;
    uint64_t reloads;          /* of the configuration, while it was recorded */
    uint64_t digest;           /* of all decisions in order: equal on every machine */
    int64_t first_ns, last_ns; /* of the entries */
    struct replay_difference difference;
};

/* 0, also where decisions differ; negative: the recording or the configuration cannot be used. */
int replay_run(struct replay *replay, const struct replay_options *options, struct error *err);
/* In any case. */
void replay_release(struct replay *replay);

/* What was decided; texts are parts of the body. */
struct replay_decided {
    struct str namespace, name, node, message, nominated; /* no node: empty */
    bool is_deleted;                                      /* the pod was being deleted: nothing was decided */
    uint64_t examined, feasible, ties;
    int64_t total;
};
/* Reads a decision's body; false: it is empty, nothing was decided. */
bool replay_decided(struct str body, struct replay_decided *ret);
/* The same in a few words: "default/web-1 goes to node-7 (...)"; for an empty one: "nothing is decided". */
void replay_say(struct str body, struct strbuf *out);

/* ---- for compare.c, of entries whose fields were read ---- */
/* Is it about objects that no plugin of this replay has named? Nothing depends on them. */
bool replay_is_unused(const struct recording_entry *entry);
/* A message about objects, from an entry; the caller frees it. NULL: err says why it cannot be read. */
struct inbox_message *replay_message(const struct recording_entry *entry, struct error *err);
/* A decision that was made here: counts it, reports it, and returns it as it would be recorded; until the next one. */
struct str replay_decision(struct replay *replay, const struct decision *decision, int64_t now_ns);
/* Gives the engine the answer of an entry. */
int replay_answer(struct replay *replay, const struct recording_entry *entry, struct error *err);

#endif
