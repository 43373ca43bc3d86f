/* recording.h: reads what live/journal.h wrote: the entries of one recording, first to last.
 *
 * A recording is trusted as far as its checksums go: behind a block that is damaged, cut off, or not the next one,
 * nothing is read, and `cut` says so in a sentence. Entries are slices of the files, which stay mapped until
 * recording_close(). */
#ifndef REPLAY_RECORDING_H
#define REPLAY_RECORDING_H

#include "base/arena.h"
#include "base/vec.h"
#include "codec/protobuf.h"
#include "live/journal.h"

/* The year 2100: a file may hold anything, and sums of times must not overflow. */
#define RECORDING_TIME_MAX_NS (UINT64_C(4102444800) * 1000000000)

struct recording_file {
    struct str name, path; /* terminated */
    const char *bytes;     /* NULL: not mapped yet */
    size_t len;
};

struct recording {
    struct arena arena;
    struct str name; /* "20261115T105945.123Z" */
    size_t others;   /* recordings that are there as well */
    VEC(struct recording_file) files;
    size_t file, at; /* the next block */
    uint64_t blocks, entries, bytes;
    struct protobuf_reader rest; /* of the present block */
    bool over;
    struct error cut; /* what was left out, and why; empty: nothing */
};

/* The fields of an entry, by tag; unknown tags are left out. Of a tag that comes again, the last one counts. */
enum { ENTRY_TAGS = 16 };
struct entry_fields {
    struct str texts[ENTRY_TAGS];
    uint64_t numbers[ENTRY_TAGS];
};

struct recording_entry {
    enum journal_entry_kind kind; /* one that this program does not know is left out */
    int64_t now_ns;               /* 0: it has none */
    struct str body;
    struct entry_fields fields; /* of the body, after entry_read() */
};

/* `path` is a folder, of which the recording is read that went on at a time (the last one that had begun by then,
 * or the oldest; INT64_MAX: the newest), or one file of the recording that is wanted. */
int recording_open(struct recording *recording, const char *path, int64_t at_ns, struct error *err);
/* False: there is no more. */
bool recording_next(struct recording *recording, struct recording_entry *ret);
void recording_close(struct recording *recording);

/* What there is to know about a recording without deciding anything. */
struct recording_summary {
    struct str name, version;
    size_t files;
    uint64_t bytes, entries, decisions;
    int64_t first_ns, last_ns;
    bool headless;  /* its beginning is not there: it cannot be repeated */
    struct str cut; /* as in struct recording */
};
/* All recordings of a folder, oldest first, read to their ends; in the arena. */
int recording_list(const char *path, struct arena *arena, struct recording_summary **ret, size_t *ret_len,
                   struct error *err);

int entry_read(struct str body, struct entry_fields *ret, struct error *err);

/* What engine_set_wall_clock() was told. No sum with the time of an entry overflows. */
int64_t recording_clock(const struct recording_entry *entry);

#endif
