/* journal.c: a buffer that the core fills, and a job of the worker pool that writes full ones; see journal.h.
 *
 * `filling` belongs to the core thread alone. What is handed over goes under the lock, in order; a block may say that
 * it is the first of a recording. Once `ended` is set nothing is taken any more. */
#include "live/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/workers.h"

enum {
    FILE_BYTES_DEFAULT = 64 << 20,
    BEHIND_BYTES_DEFAULT = 256 << 20,
    BLOCK_BYTES = 256 << 10, /* handed over when there are so many, */
    BLOCK_MS = 50,           /* or after so long */
    NUMBERS_MAX = 999999,
    SPARE_MAX = 4,
};
#define TOTAL_BYTES_DEFAULT ((size_t)4 << 30)

struct journal_file {
    char *name;
    size_t bytes;
};
typedef VEC(struct journal_file) file_vec;

struct block {
    struct strbuf bytes;
    bool begins; /* a recording */
};
typedef VEC(struct block) block_vec;

struct journal {
    struct journal_options options;
    /* the core's */
    struct strbuf filling;
    int64_t handed_ns;
    uint64_t entries, recordings;
    size_t share_bytes, base_bytes; /* of the present recording: all of it; before its first step */
    bool begins;                    /* `filling` is its first block */
    bool open;                      /* it has its head */
    bool deaf;                      /* the core's copy of `ended` */
    /* under the lock */
    struct monitor monitor;
    block_vec full;
    struct strbuf spare[SPARE_MAX]; /* emptied, to be filled again */
    size_t spare_len;
    size_t full_bytes;
    bool writing; /* the job is queued or runs */
    bool ended;
    uint64_t written_bytes;
    /* the job's */
    struct worker_job job;
    char start[32]; /* names the recording */
    int64_t start_ms;
    uint64_t blocks;
    int fd;     /* -1: none */
    int folder; /* locked while this is open; -1: none */
    size_t total_bytes;
    file_vec own; /* of the present recording */
    file_vec old; /* of others, oldest first */
};

/* ---- the folder ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct journal_file *)a)->name, ((const struct journal_file *)b)->name);
}

static void look_at(struct journal *journal, int dir, const char *name)
{
    struct stat stat;
    if (!str_ends_with(str_from(name), STR(JOURNAL_SUFFIX)) ||
        fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(stat.st_mode))
        return;
    *vec_push(&journal->old) = (struct journal_file){ strdup(name), (size_t)stat.st_size };
    journal->total_bytes += (size_t)stat.st_size;
}

static int read_folder(struct journal *journal, struct error *err)
{
    const char *path = journal->options.dir;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "--record: cannot make the folder %s: %s", path, strerror(errno));
    DIR *dir = opendir(path);
    if (!dir)
        return error_set(err, -errno, "--record: cannot open the folder %s: %s", path, strerror(errno));
    /* Each would take the other's files for old ones. A file system without locks is taken as it is. */
    journal->folder = fcntl(dirfd(dir), F_DUPFD_CLOEXEC, 0);
    if (journal->folder >= 0 && flock(journal->folder, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        closedir(dir);
        return error_set(err, -EBUSY,
                         "--record: another scheduler records in %s; give each a folder of its own", path);
    }
    for (const struct dirent *entry; (entry = readdir(dir));)
        look_at(journal, dirfd(dir), entry->d_name);
    closedir(dir);
    if (journal->old.len)
        qsort(journal->old.items, journal->old.len, sizeof(*journal->old.items), by_name);
    return 0;
}

static char *path_of(const struct journal *journal, const char *name)
{
    struct strbuf path = { 0 };
    strbuf_printf(&path, "%s/%s", journal->options.dir, name);
    return path.text;
}

static bool same_recording(const char *a, const char *b)
{
    const char *dash_a = strrchr(a, '-'), *dash_b = strrchr(b, '-');
    return dash_a && dash_b && dash_a - a == dash_b - b && memcmp(a, b, (size_t)(dash_a - a)) == 0;
}

/* All files of the oldest recording go: without its beginning the rest is worth nothing. */
static void remove_oldest(struct journal *journal)
{
    size_t len = 0;
    const char *name = journal->old.items[0].name;
    while (len < journal->old.len && (!len || same_recording(name, journal->old.items[len].name)))
        len++;
    for (size_t i = len;
         i-- > 0;) { /* the first file last: if it ends here, what is left has its beginning */
        struct journal_file *file = &journal->old.items[i];
        _cleanup_(freep) char *path = path_of(journal, file->name);
        if (unlink(path) < 0 && errno != ENOENT)
            log_warning("An old file of a recording cannot be removed", log_str("file", str_from(path)));
        else
            journal->total_bytes -= MIN(file->bytes, journal->total_bytes);
        free(file->name);
    }
    journal->old.len -= len;
    memmove(journal->old.items, journal->old.items + len, journal->old.len * sizeof(*journal->old.items));
}

/* Earlier recordings are removed; the present one is kept complete, or ends. */
static bool make_space(struct journal *journal, size_t bytes)
{
    while (journal->old.len && journal->total_bytes + bytes > journal->options.total_bytes)
        remove_oldest(journal);
    return journal->total_bytes + bytes <= journal->options.total_bytes;
}

/* ---- files ---- */

/* Two pieces, one call: a block is small when little happens. */
static int write_all(int fd, struct str first, struct str second)
{
    while (first.len || second.len) {
        const struct iovec pieces[] = { { (void *)first.ptr, first.len },
                                        { (void *)second.ptr, second.len } };
        ssize_t r = writev(fd, pieces, ARRAY_SIZE(pieces));
        if (r < 0 && errno != EINTR)
            return -errno;
        size_t len = r > 0 ? (size_t)r : 0, of_first = MIN(len, (size_t)first.len);
        first = str_slice(first, of_first, first.len);
        second = str_slice(second, len - of_first, second.len);
    }
    return 0;
}

static void close_file(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
}

static int next_file(struct journal *journal, struct error *err)
{
    char name[64];
    close_file(journal);
    if (journal->own.len == NUMBERS_MAX)
        return error_set(err, -EFBIG, "the recording has %d files", NUMBERS_MAX);
    snprintf(name, sizeof(name), "%s-%06zu" JOURNAL_SUFFIX, journal->start, journal->own.len + 1);
    _cleanup_(freep) char *path = path_of(journal, name);
    journal->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (journal->fd < 0)
        return error_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
    *vec_push(&journal->own) = (struct journal_file){ strdup(name), JOURNAL_MAGIC_LEN };
    journal->total_bytes += JOURNAL_MAGIC_LEN;
    int r = write_all(journal->fd, STR(JOURNAL_MAGIC), (struct str){ 0 });
    return r < 0 ? error_set(err, r, "cannot write to %s: %s", path, strerror(-r)) : 0;
}

/* A name that is greater than those that it had before, whatever the clock does. */
static void name_recording(struct journal *journal)
{
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    journal->start_ms = MAX((int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS, journal->start_ms + 1);
    time_t seconds = (time_t)(journal->start_ms / 1000);
    gmtime_r(&seconds, &utc);
    size_t len = strftime(journal->start, sizeof(journal->start), "%Y%m%dT%H%M%S", &utc);
    snprintf(journal->start + len, sizeof(journal->start) - len, ".%03dZ", (int)(journal->start_ms % 1000));
}

/* A recording of the same millisecond has the name. */
static bool is_named(const struct journal *journal)
{
    vec_for(&journal->old, file)
        if (str_starts_with(str_from(file->name), str_from(journal->start)))
            return true;
    return false;
}

/* The present recording is one of the others now. */
static void next_recording(struct journal *journal)
{
    close_file(journal);
    vec_for(&journal->own, file)
        *vec_push(&journal->old) = *file;
    vec_clear(&journal->own);
    journal->blocks = 0;
    name_recording(journal);
}

static void put_fixed(char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (char)(value >> 8 * i);
}

static int write_block(struct journal *journal, const struct block *block, struct error *err)
{
    char head[JOURNAL_BLOCK_HEAD_LEN];
    struct str payload = strbuf_slice(&block->bytes);
    size_t bytes = sizeof(head) + payload.len;
    int r = 0;
    if (block->begins && journal->blocks)
        next_recording(journal);
    if (!make_space(journal, bytes + JOURNAL_MAGIC_LEN))
        return error_set(err, -EFBIG, "it has reached the bound of %.1f MiB (--record-size)",
                         (double)journal->options.total_bytes / (1 << 20));
    if (journal->fd < 0 || journal->own.items[journal->own.len - 1].bytes > journal->options.file_bytes)
        r = next_file(journal, err);
    if (r < 0)
        return r;
    put_fixed(head, payload.len, 4);
    put_fixed(head + 4, journal->blocks, 8);
    put_fixed(head + 12, journal_checksum(payload, journal->blocks), 8);
    journal->blocks++;
    r = write_all(journal->fd, (struct str){ head, sizeof(head) }, payload);
    if (r < 0)
        return error_set(err, r, "cannot write: %s", strerror(-r));
    journal->own.items[journal->own.len - 1].bytes += bytes;
    journal->total_bytes += bytes;
    return 0;
}

/* ---- the job ---- */

/* Under the lock. */
static void end_recording(struct journal *journal, const struct error *err)
{
    if (!journal->ended)
        log_error(err, "The recording ends here; scheduling goes on",
                  log_str("dir", str_from(journal->options.dir)));
    journal->ended = true;
}

/* Under the lock. */
static void keep_spare(struct journal *journal, struct strbuf *bytes)
{
    if (journal->spare_len == SPARE_MAX || bytes->cap > 4 * BLOCK_BYTES) {
        strbuf_release(bytes);
        return;
    }
    strbuf_clear(bytes);
    journal->spare[journal->spare_len++] = *bytes;
}

static void drop_full(struct journal *journal)
{
    vec_for(&journal->full, block)
        strbuf_release(&block->bytes);
    vec_clear(&journal->full);
    journal->full_bytes = 0;
}

/* What is behind trouble is not written. */
static int write_blocks(struct journal *journal, const struct block *blocks, size_t len, struct error *err)
{
    int r = 0;
    for (size_t i = 0; i < len && r == 0; i++)
        r = write_block(journal, &blocks[i], err);
    return r;
}

static void run(struct worker_job *job)
{
    struct journal *journal = container_of(job, struct journal, job);
    monitor_lock(&journal->monitor);
    while (journal->full.len) {
        if (journal->ended) {
            drop_full(journal);
            continue;
        }
        struct block *blocks = journal->full.items;
        size_t len = journal->full.len, bytes = journal->full_bytes;
        journal->full.items = NULL;
        journal->full.len = journal->full.cap = 0;
        monitor_unlock(&journal->monitor);
        struct error err;
        int r = write_blocks(journal, blocks, len, &err);
        monitor_lock(&journal->monitor);
        if (r < 0)
            end_recording(journal, &err);
        for (size_t i = 0; i < len; i++)
            keep_spare(journal, &blocks[i].bytes);
        free(blocks);
        journal->full_bytes -= MIN(bytes, journal->full_bytes);
        journal->written_bytes += journal->ended ? 0 : bytes;
    }
    journal->writing = false;
    monitor_wake(&journal->monitor);
    monitor_unlock(&journal->monitor);
}

/* ---- the core's side ---- */

static void hand_over(struct journal *journal)
{
    bool starts = false;
    if (!journal->filling.len)
        return;
    monitor_lock(&journal->monitor);
    if (!journal->ended && journal->full_bytes > journal->options.behind_bytes) {
        struct error err;
        error_set(&err, -EAGAIN, "the disk is too slow: %zu MiB wait to be written",
                  journal->full_bytes >> 20);
        end_recording(journal, &err);
    }
    journal->deaf = journal->ended;
    if (!journal->deaf) {
        *vec_push(&journal->full) = (struct block){ journal->filling, journal->begins };
        journal->full_bytes += journal->filling.len;
        journal->share_bytes += journal->filling.len + JOURNAL_BLOCK_HEAD_LEN;
        journal->begins = false;
        journal->filling = journal->spare_len ? journal->spare[--journal->spare_len] : (struct strbuf){ 0 };
        starts = !journal->writing;
        journal->writing = true;
    }
    monitor_unlock(&journal->monitor);
    if (starts)
        workers_submit(&journal->job);
    if (journal->deaf)
        strbuf_release(&journal->filling);
}

struct strbuf *journal_write(struct journal *journal)
{
    if (!journal || !journal->open || journal->deaf)
        return NULL;
    if (journal->filling.len >= BLOCK_BYTES)
        hand_over(journal);
    journal->entries += !journal->deaf;
    return journal->deaf ? NULL : &journal->filling;
}

void journal_head(struct journal *journal, const struct engine_options *options)
{
    struct features by_default;
    if (!journal || journal->open)
        return;
    journal->open = journal->begins = true;
    journal->share_bytes = journal->base_bytes = 0;
    journal->recordings++;
    features_default(&by_default, NULL, 0);
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_head(out, options, journal->options.features ? journal->options.features : &by_default);
}

/* Half of the bound, so that there is always another half with what was before. A cluster whose objects alone need that
 * much gets more, and is not listed again and again. */
bool journal_wants_restart(const struct journal *journal)
{
    if (!journal || !journal->open || journal->deaf)
        return false;
    size_t total_bytes = journal->options.total_bytes;
    return journal->share_bytes >= MAX(total_bytes / 2, journal->base_bytes + total_bytes / 4);
}

void journal_restart(struct journal *journal)
{
    if (!journal)
        return;
    hand_over(journal);
    journal->open = false;
}

void journal_message(struct journal *journal, const struct inbox_message *message, int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_message(out, message, now_ns);
}

void journal_config(struct journal *journal, const struct scheduler_config *config, int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_config(out, config, now_ns);
}

void journal_plugin_message(struct journal *journal, const struct plugin_message *message, int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_plugin_message(out, message, now_ns);
}

void journal_clock(struct journal *journal, int64_t ahead_ns, int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_clock(out, ahead_ns, now_ns);
}

void journal_tick(struct journal *journal, int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (out)
        journal_put_moment(out, JOURNAL_TICK, now_ns);
}

void journal_step(struct journal *journal, const struct cluster *cluster, const struct decision *decision,
                  int64_t now_ns)
{
    struct strbuf *out = journal_write(journal);
    if (!out)
        return;
    if (!journal->base_bytes)
        journal->base_bytes = journal->share_bytes + journal->filling.len;
    if (decision)
        journal_put_decision(out, cluster, decision, now_ns);
    else
        journal_put_moment(out, JOURNAL_IDLE, now_ns);
}

int64_t journal_round(struct journal *journal, int64_t now_ns)
{
    if (!journal || !journal->filling.len)
        return INT64_MAX;
    int64_t due_ns = journal->handed_ns + BLOCK_MS * NS_PER_MS;
    if (now_ns < due_ns)
        return due_ns;
    journal->handed_ns = now_ns;
    hand_over(journal);
    return INT64_MAX;
}

struct journal_stats journal_stats(const struct journal *journal)
{
    if (!journal)
        return (struct journal_stats){ 0 };
    struct journal *open = (struct journal *)journal; /* for its lock */
    monitor_lock(&open->monitor);
    struct journal_stats stats = { journal->entries, journal->written_bytes, journal->recordings,
                                   journal->ended };
    monitor_unlock(&open->monitor);
    return stats;
}

/* ---- life ---- */

static size_t or_default(size_t value, size_t by_default)
{
    return value ? value : by_default;
}

static void files_release(file_vec *files)
{
    vec_for(files, file)
        free(file->name);
    vec_release(files);
}

static void journal_free(struct journal *journal)
{
    if (journal->folder >= 0)
        close(journal->folder);
    files_release(&journal->old);
    files_release(&journal->own);
    drop_full(journal);
    vec_release(&journal->full);
    while (journal->spare_len)
        strbuf_release(&journal->spare[--journal->spare_len]);
    strbuf_release(&journal->filling);
    monitor_release(&journal->monitor);
    free(journal);
}

int journal_open(const struct journal_options *options, struct journal **ret, struct error *err)
{
    struct journal *journal = xcalloc(1, sizeof(*journal));
    journal->options = *options;
    journal->options.file_bytes = or_default(options->file_bytes, FILE_BYTES_DEFAULT);
    journal->options.total_bytes = or_default(options->total_bytes, TOTAL_BYTES_DEFAULT);
    journal->options.behind_bytes = or_default(options->behind_bytes, BEHIND_BYTES_DEFAULT);
    journal->fd = journal->folder = -1;
    signal(SIGXFSZ, SIG_IGN); /* a limit on files' sizes is a failed write, as a full disk is */
    monitor_init(&journal->monitor);
    journal->job = (struct worker_job){ .urgent = true, .run = run };
    int r = read_folder(journal, err);
    do
        name_recording(journal);
    while (is_named(journal));
    if (r == 0)
        r = next_file(journal, err); /* trouble with the folder is seen at once */
    if (r < 0) {
        close_file(journal);
        journal_free(journal);
        return r;
    }
    *ret = journal;
    return 0;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    hand_over(journal);
    monitor_lock(&journal->monitor);
    while (journal->writing)
        monitor_wait(&journal->monitor, INT64_MAX);
    monitor_unlock(&journal->monitor);
    close_file(journal);
    journal_free(journal);
}
