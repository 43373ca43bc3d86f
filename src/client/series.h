/* series.h: one event of the recorder in one piece of memory, the key by which others are found to be of its kind, and
 * the two requests that write it. */
#ifndef CLIENT_SERIES_H
#define CLIENT_SERIES_H

#include "client/recorder.h"

enum series_state { SERIES_IDLE, SERIES_WAITING, SERIES_SENT };

struct series {
    struct api_event event;
    struct object_ref related;    /* event.related, if there is one */
    struct event_series repeated; /* event.series, from the second one on */
    struct str key;
    bool legacy;

    /* The recorder's. */
    struct recorder *recorder;
    struct series *next, *prev; /* of all, oldest first */
    struct series *next_waiting;
    enum series_state state;
    bool exists;  /* as far as is known: patch it, do not create it */
    bool again;   /* to be written once more, when what is under way is answered */
    bool ending;  /* forget it when it has been written */
    bool patched; /* the request under way is a patch */
    uint32_t tries;
};

/* Appends what two events of one kind have in common. */
void series_put_key(struct strbuf *out, const struct recorder_event *event, struct str instance);
/* Seen once, at this time. `name_ns` makes its name one of its own. */
struct series *series_new(const struct recorder_event *event, struct str key, int64_t wall_ns,
                          int64_t name_ns);
void series_free(struct series *series);
/* Seen again. */
void series_repeat(struct series *series, int64_t wall_ns);
static inline bool series_is_repeated(const struct series *series)
{
    return series->event.series;
}
/* When it was seen last, as series_new() and series_repeat() were told. */
int64_t series_last_ns(const struct series *series);

/* `core`: as an event of the core group. */
void series_put_path(struct strbuf *out, const struct series *series, bool core, bool patch);
void series_put_body(struct strbuf *out, const struct series *series, bool core, bool patch);

#endif
