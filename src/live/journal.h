/* journal.h: every input of the engine, written to files as it comes: what `berth replay` repeats.
 *
 *     I/O threads: journal_prepare() encodes objects ──▶ inbox ──▶ core: journal_message(), _tick(), _step(), ...
 *                                                                    │ bytes, a buffer at a time
 *                                                                    ▼
 *                                              journal's thread: blocks with checksums ──▶ files
 *
 * The core copies bytes into memory and nothing else: it waits for no disk. What cannot be written (a full disk, a
 * disk that is too slow, the bound of the recording) ends the recording with a line in the log, never the scheduling: a
 * recording with a hole would be worth nothing.
 *
 * Objects are recorded as the tables of api/ know them, which is what the engine sees of them. Values of environment
 * variables, commands and such are not in those tables, so they are in no recording; labels and annotations are, but
 * for what kubectl apply keeps in one of them, which is the complete object once more.
 *
 * A recording is the life of one engine, from its start: files DIR/<start>-<number>.berth. Each begins with
 * JOURNAL_MAGIC; then come blocks: length of the payload (4 bytes, low first), number of the block in the recording
 * (8), checksum (8), payload. A payload is a protobuf message: its fields are entries, the tag of each says which
 * (engine/inputs.h). What comes in the course of a call (the answer of an extender, a message of a plugin) stands in
 * front of the entry of that call.
 *
 * All files of the folder together stay within a bound. Without its beginning a recording cannot be repeated, so the
 * oldest recording goes with all its files; and before the present one takes all of it, journal_wants_restart() says
 * that the engine should begin anew. Its recording is the next one, so the newest hours are always there. */
#ifndef LIVE_JOURNAL_H
#define LIVE_JOURNAL_H

#include "engine/engine.h"
#include "framework/extender.h"
#include "sync/inbox.h"

#define JOURNAL_MAGIC "berth recording 1\n"
#define JOURNAL_SUFFIX ".berth"
enum { JOURNAL_MAGIC_LEN = sizeof(JOURNAL_MAGIC) - 1, JOURNAL_BLOCK_HEAD_LEN = 20 };
enum { JOURNAL_BLOCK_BYTES_MAX = 1 << 30 };

/* Tags of entries, one for each input of the engine. Every entry has its time as JOURNAL_TIME. */
enum journal_entry_kind {
    JOURNAL_NONE,
#define X(name, handler) JOURNAL_##name,
    ENGINE_INPUTS(X)
#undef X
        JOURNAL_ENTRY_KINDS
};

/* Fields of entries. */
enum {
    JOURNAL_TIME = 1, /* nanoseconds since 1970 */

    HEAD_VERSION = 2,
    HEAD_SEED,
    HEAD_CONFIG,  /* JSON */
    HEAD_FEATURE, /* "Name=true", one for each */
    HEAD_UNSCHEDULABLE_MAX_NS,
    HEAD_PERCENTAGE, /* that overrides the configuration's, + 1 */
    HEAD_BINDINGS_MAX,
    HEAD_LAST_TICKET,
    HEAD_RELEASE,    /* the minor version of the release that it stood in for; not there: 36 */
    HEAD_COMPATIBLE, /* that of the oldest component */
    HEAD_ANNOUNCES,  /* 1: engine_options.announces */

    CONFIG_TEXT = 2, /* as HEAD_CONFIG */

    CLOCK_AHEAD_NS = 2, /* as a 64-bit number of two's complement */

    MESSAGE_API_KIND = 2, /* "Pod"; extra_kind_print() of an extra one */
    MESSAGE_OBJECT,       /* protobuf with its envelope */

    ANSWER_TICKET = 2,
    ANSWER_RESULT, /* enum answer_kind */
    ANSWER_MESSAGE,
    ANSWER_RETRY_AFTER_MS,
    ANSWER_VERSION,
    ANSWER_NODE,
    ANSWER_UID,
    ANSWER_TERMINATING,
    ANSWER_NAME,

    DECISION_NAMESPACE = 2,
    DECISION_NAME,
    DECISION_UID,
    DECISION_NODE,
    DECISION_MESSAGE,
    DECISION_FLAGS, /* DECISION_IS_... */
    DECISION_NOMINATED,
    DECISION_VICTIM, /* "namespace/name", one for each */
    DECISION_EXAMINED,
    DECISION_FEASIBLE,
    DECISION_TOTAL,
    DECISION_TIES,

    OPINION_FAILURE = 2, /* the sentence */
    OPINION_ROW,         /* filter, one for each: a node that is left */
    OPINION_REFUSAL,     /* filter: REFUSAL_... */
    OPINION_SCORE,       /* prioritize: SCORE_... */
    OPINION_CANDIDATE,   /* preempt: CANDIDATE_... */

    REFUSAL_ROW = 1,
    REFUSAL_UNRESOLVABLE,
    REFUSAL_MESSAGE,

    SCORE_ROW = 1,
    SCORE_VALUE,

    CANDIDATE_ROW = 1,
    CANDIDATE_VIOLATIONS,
    CANDIDATE_VICTIM_NAMESPACE, /* one for each, in front of its name */
    CANDIDATE_VICTIM_NAME,

    RECEIVED_KIND = 2, /* enum plugin_message_kind + 1 */
    RECEIVED_PLUGIN,
    RECEIVED_NAMESPACE, /* of the pod */
    RECEIVED_NAME,
    RECEIVED_REASON, /* one for each */
    RECEIVED_WORK,   /* of work that is done: its number, */
    RECEIVED_STATUS, /* and what came of it: enum status_code + 1 */
    RECEIVED_UID,    /* of the pod; empty: any pod of that name */
};
enum { DECISION_IS_ERROR = 1, DECISION_IS_DELETED = 2, DECISION_RETRIES = 4, DECISION_CLEARS_NOMINATION = 8 };

struct journal;
struct journal_extenders;

/* Zero takes the default in brackets. */
struct journal_options {
    const char *dir;                 /* made if it is not there */
    const struct features *features; /* in effect */
    size_t file_bytes;               /* a file is followed by the next at about this size [64 MiB] */
    size_t total_bytes;              /* of all files of the folder, never more [4 GiB] */
    size_t behind_bytes;             /* that may wait for the disk [256 MiB] */
};

int journal_open(const struct journal_options *options, struct journal **ret, struct error *err);
/* Writes what is left. After the core and the inbox; NULL is fine, as for every call of the core below. */
void journal_close(struct journal *journal);

/* On the thread that posts the message, before it does: encodes what the journal wants to know of it. For
 * inbox_prepare(). */
void journal_prepare(struct inbox_message *message);

/* ---- on the core thread ---- */
/* With what the engine is about to begin. What comes before that is not recorded. */
void journal_head(struct journal *journal, const struct engine_options *options);
/* The recording has taken its share of the bound: the engine should begin anew as soon as that does no harm. */
bool journal_wants_restart(const struct journal *journal);
/* The engine is gone: its recording is complete. journal_head() begins the next one. */
void journal_restart(struct journal *journal);
/* Before it is applied. */
void journal_message(struct journal *journal, const struct inbox_message *message, int64_t now_ns);
/* After engine_reconfigure(), which did not fail. */
void journal_config(struct journal *journal, const struct scheduler_config *config, int64_t now_ns);
/* An engine_host.on_plugin_message. */
void journal_plugin_message(struct journal *journal, const struct plugin_message *message, int64_t now_ns);
/* Before engine_set_wall_clock(). */
void journal_clock(struct journal *journal, int64_t ahead_ns, int64_t now_ns);
/* After engine_tick(). */
void journal_tick(struct journal *journal, int64_t now_ns);
/* After the step; NULL: nothing was decided. */
void journal_step(struct journal *journal, const struct cluster *cluster, const struct decision *decision,
                  int64_t now_ns);
/* Extenders, with all that they answer written down; NULL where nothing is recorded, or there are none. */
struct journal_extenders *journal_extenders_new(struct journal *journal, const struct extenders *extenders);
const struct extenders *journal_extenders_table(const struct journal_extenders *all);
/* NULL is fine. */
void journal_extenders_free(struct journal_extenders *all);
/* Hands over what was collected a while ago. Returns when it wants to be called again; INT64_MAX: after the next entry.
 * */
int64_t journal_round(struct journal *journal, int64_t now_ns);

struct journal_stats {
    uint64_t entries, bytes; /* taken; written */
    uint64_t recordings;     /* begun */
    bool ended;              /* because of trouble */
};
/* On the core thread. */
struct journal_stats journal_stats(const struct journal *journal);

/* ---- entries, journal_entry.c ---- */
/* Where the next entry goes; NULL: nothing is recorded. On the core thread. */
struct strbuf *journal_write(struct journal *journal);
void journal_put_decision(struct strbuf *out, const struct cluster *cluster, const struct decision *decision,
                          int64_t now_ns);
void journal_put_head(struct strbuf *out, const struct engine_options *options,
                      const struct features *features);
void journal_put_config(struct strbuf *out, const struct scheduler_config *config, int64_t now_ns);
void journal_put_plugin_message(struct strbuf *out, const struct plugin_message *message, int64_t now_ns);
void journal_put_message(struct strbuf *out, const struct inbox_message *message, int64_t now_ns);
/* An entry that has nothing but its time. */
void journal_put_clock(struct strbuf *out, int64_t ahead_ns, int64_t now_ns);
void journal_put_moment(struct strbuf *out, enum journal_entry_kind kind, int64_t now_ns);
/* Of a block with this number. */
uint64_t journal_checksum(struct str payload, uint64_t number);

#endif
