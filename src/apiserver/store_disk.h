/* store_disk.h: the database of a store: one SQLite file that survives the end of the process at any moment.
 *
 *     disk_add(), disk_drop() ──▶ queued ──▶ one transaction at a time, in the worker pool ──▶ committed()
 *
 * The database has one row per version that the store knows: the objects as they are, and what history keeps. A change
 * adds a row; a change that leaves the history removes the rows that it kept. All that was queued when a transaction
 * begins is in it, so that many writes share one wait for the disk (WAL, synchronous=FULL).
 *
 * Each row has a hash of its texts: a damaged file is refused, not served. The file is locked while it is open. */
#ifndef APISERVER_STORE_DISK_H
#define APISERVER_STORE_DISK_H

#include "apiserver/store.h"

struct disk;

struct disk_options {
    const char *path;
    struct loop *loop; /* outlives the disk */
    /* All changes up to the revision are durable; on the loop's thread. */
    void (*committed)(void *user, uint64_t revision);
    /* Nothing can be written any more, in one sentence; on the loop's thread. */
    void (*failed)(void *user, const char *sentence);
    void *user;
};

/* Creates the file if it does not exist. */
int disk_open(const struct disk_options *options, struct disk **ret, struct error *err);
/* What was queued is committed before. Not on the loop's thread. NULL is fine. */
void disk_close(struct disk *disk);

/* All rows by revision. `oldest` is that of the store when the rows were written. The texts are the callee's during the
 * call; is_deleted, revision and created are set. Of the first row that `load` refuses, the error is returned. */
typedef int (*disk_load_row)(void *user, struct str kind, const struct stored *row, struct error *err);
int disk_load(struct disk *disk, uint64_t *ret_oldest, disk_load_row load, void *user, struct error *err);

/* A change; `kind` is the name of its kind, and stays where it is. */
void disk_add(struct disk *disk, struct str kind, struct stored *version);
/* A version that the store does not know any more. */
void disk_drop(struct disk *disk, uint64_t revision);
/* Of the store. */
void disk_set_oldest(struct disk *disk, uint64_t oldest);

#endif
