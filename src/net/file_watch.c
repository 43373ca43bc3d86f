/* file_watch.c: see file_watch.h.
 *
 * The way to the file is walked link by link, as the kernel does it, and each folder in which a link or the file has
 * its name gets a watch. Whenever one of those names is touched, the way is walked again: it may lead elsewhere.
 * Where that is overtaken by further changes, or where nothing is reported at all, the clock is slow but sure. */
#include "net/file_watch.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/vec.h"
#include "net/file.h"

enum {
    BYTES_MAX_DEFAULT = 16 << 20,
    SETTLE_MS_DEFAULT = 1000,
    POLL_MS_DEFAULT = 10000,
    CALM_MS = 20,   /* a burst of events is one look at the file */
    LINKS_MAX = 40, /* as many as the kernel follows */
};

/* A name on the way to the file. */
struct step {
    const char *dir, *name;
    int watch; /* negative: none */
};

struct way {
    VEC(struct step) steps;
    struct arena arena;
};

struct file_watch {
    char *path;
    size_t bytes_max;
    int64_t settle_ms, poll_ms;
    int inotify; /* -1: none */
    struct way way;

    struct strbuf known, seen; /* what was told; what was read last, if that is another */
    bool settling, lost;       /* `seen` or `seen_error` waits for its time; the absence was told */
    int seen_error;            /* 0: `seen` counts */
    int64_t seen_since_ms, due_ms;
};

/* ---- the way to the file ---- */
static void way_release(struct way *way)
{
    vec_release(&way->steps);
    arena_release(&way->arena);
}

static void way_add(struct way *way, const char *dir, struct str name)
{
    *vec_push(&way->steps) = (struct step){ .dir = arena_str(&way->arena, str_from(dir)).ptr,
                                            .name = arena_str(&way->arena, name).ptr,
                                            .watch = -1 };
}

static void swap_bytes(struct strbuf *a, struct strbuf *b)
{
    struct strbuf swap = *a;
    *a = *b;
    *b = swap;
}

/* What the link says; false: it is none. */
static bool read_link(const struct strbuf *dir, struct str name, struct strbuf *ret)
{
    _cleanup_(strbuf_release) struct strbuf path = { 0 };
    char target[PATH_MAX];
    strbuf_printf(&path, "%s/" STR_FMT, dir->text, STR_ARG(name));
    ssize_t len = readlink(path.text, target, sizeof(target));
    if (len <= 0 || len == sizeof(target))
        return false;
    strbuf_add(ret, target, (size_t)len);
    return true;
}

/* `dir` never has a link in it, so that ".." is the folder above. */
static void way_walk(const char *path, struct way *way)
{
    _cleanup_(strbuf_release) struct strbuf dir = { 0 }, rest = { 0 };
    int links = 0;
    strbuf_puts(&rest, path);
    strbuf_puts(&dir, *path == '/' ? "/" : ".");
    for (;;) {
        _cleanup_(strbuf_release) struct strbuf target = { 0 };
        struct str left = str_trim(strbuf_slice(&rest), "/"), name = str_cut(&left, '/');
        bool is_link = name.len && read_link(&dir, name, &target);
        if (!name.len || (is_link && (++links > LINKS_MAX || target.len + left.len > PATH_MAX)))
            return;
        if (is_link || !left.len)
            way_add(way, dir.text, name);
        if (!is_link && !left.len)
            return;
        if (!is_link) {
            strbuf_printf(&dir, "/" STR_FMT, STR_ARG(name));
        } else if (target.text[0] == '/') {
            strbuf_clear(&dir);
            strbuf_putc(&dir, '/');
        }
        strbuf_printf(&target, "/" STR_FMT, STR_ARG(left));
        swap_bytes(&rest, &target);
    }
}

/* ---- inotify ---- */
static const uint32_t watched_events = IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_CREATE | IN_DELETE |
                                       IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                                       IN_ONLYDIR;

static bool is_used(const struct way *way, int id)
{
    vec_for(&way->steps, step)
        if (step->watch == id)
            return true;
    return false;
}

/* A folder that stays keeps its watch: the kernel gives the same number for the same folder. */
static void take_way(struct file_watch *watch, struct way *next)
{
    vec_for(&next->steps, step)
        step->watch = inotify_add_watch(watch->inotify, step->dir, watched_events);
    vec_for(&watch->way.steps, step)
        if (step->watch >= 0 && !is_used(next, step->watch))
            inotify_rm_watch(watch->inotify, step->watch);
    way_release(&watch->way);
    watch->way = *next;
}

/* Twice: what changed while the way was walked the first time is reported, or seen the second time. */
static void follow(struct file_watch *watch)
{
    for (int i = 0; i < 2 && watch->inotify >= 0; i++) {
        struct way next = { 0 };
        way_walk(watch->path, &next);
        take_way(watch, &next);
    }
}

static bool concerns(const struct file_watch *watch, const struct inotify_event *event)
{
    if (event->mask & (IN_Q_OVERFLOW | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT))
        return true;
    vec_for(&watch->way.steps, step)
        if (step->watch == event->wd && event->len && strcmp(step->name, event->name) == 0)
            return true;
    return false;
}

/* Did anything happen to a name on the way? */
static bool read_events(struct file_watch *watch)
{
    _Alignas(struct inotify_event) char buf[8192];
    bool found = false;
    ssize_t len;
    while (watch->inotify >= 0 && (len = read(watch->inotify, buf, sizeof(buf))) > 0)
        for (char *at = buf; at < buf + len;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            found |= concerns(watch, event);
            at += sizeof(*event) + event->len;
        }
    return found;
}

/* ---- the content ---- */
/* The file is as it is known, and nothing is to be waited for. */
static enum file_watch_news is_known(struct file_watch *watch)
{
    bool was_lost = watch->lost;
    watch->settling = watch->lost = false;
    return was_lost ? FILE_WATCH_BACK : FILE_WATCH_NOTHING;
}

/* It is another one for long enough. */
static enum file_watch_news tell(struct file_watch *watch)
{
    watch->settling = false;
    watch->lost = watch->seen_error < 0;
    if (watch->lost)
        return FILE_WATCH_LOST;
    swap_bytes(&watch->known, &watch->seen);
    return FILE_WATCH_CHANGED;
}

static enum file_watch_news compare(struct file_watch *watch, int64_t now_ms, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    int r = file_read(watch->path, watch->bytes_max, &text, err);
    if (r == 0 && str_eq(strbuf_slice(&text), strbuf_slice(&watch->known)))
        return is_known(watch);
    if (r < 0 && watch->lost) {
        watch->settling = false;
        return FILE_WATCH_NOTHING;
    }
    bool as_before = watch->settling && r == watch->seen_error &&
                     (r < 0 || str_eq(strbuf_slice(&text), strbuf_slice(&watch->seen)));
    if (!as_before) {
        watch->settling = true;
        watch->seen_error = r;
        watch->seen_since_ms = now_ms;
        swap_bytes(&watch->seen, &text);
    }
    return now_ms - watch->seen_since_ms >= watch->settle_ms ? tell(watch) : FILE_WATCH_NOTHING;
}

static void set_due(struct file_watch *watch, int64_t now_ms)
{
    watch->due_ms = watch->settling ? watch->seen_since_ms + watch->settle_ms : now_ms + watch->poll_ms;
}

/* ---- from outside ---- */
struct file_watch *file_watch_new(const struct file_watch_options *options, int64_t now_ms)
{
    struct file_watch *watch = xcalloc(1, sizeof(*watch));
    watch->path = strdup(options->path);
    watch->bytes_max = options->bytes_max ? options->bytes_max : BYTES_MAX_DEFAULT;
    watch->settle_ms = options->settle_ms ? options->settle_ms : SETTLE_MS_DEFAULT;
    watch->poll_ms = options->poll_ms ? options->poll_ms : POLL_MS_DEFAULT;
    watch->known.secret = watch->seen.secret = true; /* keys of extenders */
    strbuf_str(&watch->known, options->known);
    watch->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    follow(watch);
    watch->due_ms = now_ms; /* it may have changed since it was read */
    return watch;
}

void file_watch_free(struct file_watch *watch)
{
    if (!watch)
        return;
    if (watch->inotify >= 0)
        close(watch->inotify);
    way_release(&watch->way);
    strbuf_release(&watch->known);
    strbuf_release(&watch->seen);
    free(watch->path);
    free(watch);
}

int file_watch_fd(const struct file_watch *watch)
{
    return watch->inotify;
}

int64_t file_watch_due_ms(const struct file_watch *watch)
{
    return watch->due_ms;
}

enum file_watch_news file_watch_look(struct file_watch *watch, int64_t now_ms, struct error *err)
{
    if (read_events(watch))
        watch->due_ms = MIN(watch->due_ms, now_ms + CALM_MS);
    if (now_ms < watch->due_ms)
        return FILE_WATCH_NOTHING;
    follow(watch); /* first: what changes after the reading is reported */
    enum file_watch_news news = compare(watch, now_ms, err);
    set_due(watch, now_ms);
    return news;
}

int file_watch_read(struct file_watch *watch, int64_t now_ms, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    follow(watch);
    int r = file_read(watch->path, watch->bytes_max, &text, err);
    watch->settling = false;
    watch->lost = r < 0;
    if (r == 0)
        swap_bytes(&watch->known, &text);
    set_due(watch, now_ms);
    return r;
}

struct str file_watch_text(const struct file_watch *watch)
{
    return strbuf_slice(&watch->known);
}
