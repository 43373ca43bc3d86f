/* file_watch.h: a file whose owner changes it while we run: when it has changed, and is complete.
 *
 *     inotify: /etc/berth        config.yaml ─▶ ..data/config.yaml ┐ a ConfigMap: the link ..data is replaced,
 *              /etc/berth        ..data ─▶ ..2026_11_15_09.1       │ so every folder that holds a part of the
 *              /etc/berth/..2026_11_15_09.1        config.yaml     ┘ way to the file is watched
 *                   │
 *                   ▼ something happened, or a slow clock: not every file system tells
 *     read ──▶ other bytes than the known ones? ──▶ the same a while later? ──▶ FILE_WATCH_CHANGED
 *
 * What counts are the bytes. Nothing is told of a file that is touched, or written again as it was; a file that is
 * written in steps is told of when it stays as it is for settle_ms. Each content is told once, until
 * another one was.
 *
 * Nothing here waits, and time is an argument. One thread at a time. */
#ifndef NET_FILE_WATCH_H
#define NET_FILE_WATCH_H

#include "base/error.h"
#include "base/str.h"

struct file_watch;

/* Zero takes the default in brackets. */
struct file_watch_options {
    const char *path;  /* copied */
    struct str known;  /* what is in it as far as the caller knows; copied */
    size_t bytes_max;  /* a longer file counts as one that cannot be read [16 MiB] */
    int64_t settle_ms; /* how long it must stay as it is [1000] */
    int64_t poll_ms;   /* how often it is read without a notification [10000] */
};

enum file_watch_news {
    FILE_WATCH_NOTHING,
    FILE_WATCH_CHANGED, /* the content is another one: file_watch_text() */
    FILE_WATCH_LOST, /* it is gone, or cannot be read: err says why. Told once, until it can be read again */
    FILE_WATCH_BACK, /* it can be read again, and has the known content */
};

struct file_watch *file_watch_new(const struct file_watch_options *options, int64_t now_ms);
/* NULL is fine. */
void file_watch_free(struct file_watch *watch);

/* Readable when something happened; -1: the system has no more inotify instances to give, only the clock is left. */
int file_watch_fd(const struct file_watch *watch);
/* When file_watch_look() has something to do although nothing happens. */
int64_t file_watch_due_ms(const struct file_watch *watch);
/* When the descriptor is readable, or it is due. */
enum file_watch_news file_watch_look(struct file_watch *watch, int64_t now_ms, struct error *err);
/* Reads at once and waits for nothing; what is read is known from then on. A negative errno: it cannot be read. */
int file_watch_read(struct file_watch *watch, int64_t now_ms, struct error *err);
/* The known content; until the next call. */
struct str file_watch_text(const struct file_watch *watch);

#endif
