/* series.h: one event of the recorder, by what others are found to be of its kind, and the two requests that write it.
 *
 *     record: times, count, namespace and name ──▶ patch         as long as it is remembered, in one piece of memory
 *     texts: the object, the reason, the note   ──▶ creation      only until the server has it
 *
 * A record keeps a hash of its key, not the key: with random seeds and 128 bits, no two kinds have the same one. */
#ifndef LIVE_SERIES_H
#define LIVE_SERIES_H

#include "base/list.h"
#include "live/recorder.h"

enum series_state { SERIES_IDLE, SERIES_WAITING, SERIES_SENT };

struct series_key {
    uint64_t halves[2];
};

struct series {
    struct series_key key;
    int64_t first_ns, last_ns; /* when it was seen, since 1970 */
    char *texts;               /* the event as protobuf; NULL: it can be patched, not created */

    /* The recorder's. */
    struct list_link link; /* of all */
    union {
        struct list_link waiting;  /* while it is WAITING */
        struct recorder *recorder; /* while it is SENT: the request's callback has only the series */
    };
    struct series *next_in_bucket;
    uint32_t
        used_s; /* when it was seen last, by the recorder's steady clock, from the recorder's first second on */
    uint32_t texts_bytes;

    uint32_t namespace_len;
    int32_t count; /* how often it was seen */
    uint8_t name_len;
    uint8_t tries;
    uint8_t state; /* enum series_state */
    bool legacy : 1;
    bool exists : 1;  /* as far as is known: patch it, do not create it */
    bool again : 1;   /* to be written once more, when what is under way is answered */
    bool ending : 1;  /* forget it when it has been written */
    bool patched : 1; /* the request under way is a patch */
    bool renew : 1;   /* the server does not have it: the next one of its kind is created */
    char names[];     /* the namespace, then the name */
};

/* Of all that two events of one kind have in common: of legacy ones the note as well. */
struct series_key series_key(const struct recorder_event *event, struct strbuf *scratch,
                             const uint64_t seeds[2]);
static inline bool series_key_eq(struct series_key a, struct series_key b)
{
    return a.halves[0] == b.halves[0] && a.halves[1] == b.halves[1];
}

/* Seen once, at this time. `name_ns` makes its name one of its own. It has no texts yet. */
struct series *series_new(const struct recorder_event *event, struct series_key key, int64_t wall_ns,
                          int64_t name_ns);
void series_free(struct series *series);
/* What it is created with. A note of more than 1024 bytes is cut. */
void series_set_texts(struct series *series, const struct api_event *event);
void series_drop_texts(struct series *series);
/* Seen again. */
void series_repeat(struct series *series, int64_t wall_ns);
static inline bool series_is_repeated(const struct series *series)
{
    return series->count > 1;
}
/* Is all there that a request needs? */
static inline bool series_is_writable(const struct series *series)
{
    return series->exists || series->texts;
}
struct str series_namespace(const struct series *series);
struct str series_name(const struct series *series);
/* Empty without texts. */
struct str series_reason(const struct series *series);
size_t series_bytes(const struct series *series);

/* `core`: as an event of the core group. Not a patch: it has texts. */
void series_put_path(struct strbuf *out, const struct series *series, bool core, bool patch);
/* Returns the content type; events of the events group are encoded as this client sends objects. */
const char *series_put_body(struct strbuf *out, const struct series *series, const struct api *api, bool core,
                            bool patch);

#endif
