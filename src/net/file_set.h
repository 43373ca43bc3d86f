/* file_set.h: files whose owner replaces them while the process runs: certificates, keys, authorities, tokens.
 *
 *     timer ──▶ a job per file in the worker pool ──▶ all are done, or hang_ms has passed ──▶ take() ──▶ timer
 *               (the file may be on a slow mount)                                        (loop's thread)
 *
 * A read that does not end keeps a thread of the pool and nothing else: the other files of the set are taken without
 * it, its file is not opened again before the read has ended, and file_set_free() does not wait for it. What a file
 * cannot be used for is known to file_set_check(), which health checks call.
 *
 * What is read are secrets: texts are overwritten before they are freed. */
#ifndef NET_FILE_SET_H
#define NET_FILE_SET_H

#include "base/error.h"
#include "base/str.h"
#include "net/loop.h"

struct file_set;

/* What one file said. */
struct file_reading {
    const char *path;
    int result; /* negative: it could not be read, err says why, and the text is empty */
    struct strbuf text;
    struct error err;
};

/* Zero takes the default in brackets. */
struct file_set_options {
    const char *const *paths; /* copied */
    size_t count;
    size_t bytes_max;    /* of each file [1 MiB] */
    int64_t interval_ms; /* between two readings [60000]; after a failure a second at most */
    int64_t hang_ms;     /* how long a file may take before it counts as one that cannot be read [10000] */
    /* With a reading per file, in the order of `paths`; texts may be moved out. Negative: what was read cannot be used,
     * and err says why. A file that could not be read is reported by the set itself, unless its result is set to 0. */
    int (*take)(void *user, struct file_reading *readings, struct error *err);
    /* A new problem in one sentence; NULL: there is none any more. On the loop's thread. May be NULL. */
    void (*on_problem)(void *user, const char *sentence);
    void *user;
};

struct file_set *file_set_new(const struct file_set_options *options);
/* The first reading, on this thread, which waits for it. Negative: a file cannot be read, or take() refused. */
int file_set_read(struct file_set *set, struct error *err);
/* Reads again from now on. From any thread. */
void file_set_start(struct file_set *set, struct loop *loop);
/* Reads no later than at due_ns by monotonic_ns(). On the loop's thread. */
void file_set_read_by(struct file_set *set, int64_t due_ns);
/* Are all files as they should be? Negative: err names the first that is not. From any thread. NULL is fine. */
int file_set_check(struct file_set *set, struct error *err);
/* Nothing is called when this returns. It waits for the loop, but for no file. What file_set_check() says stays. NULL
 * is fine. */
void file_set_stop(struct file_set *set);
/* Stops it first, if need be. NULL is fine. */
void file_set_free(struct file_set *set);

#endif
