/* reload.h: another configuration while the scheduler runs: the file of --config changed, SIGHUP came, or the pods of
 * another scheduler are taken over, or given back.
 *
 *     file, SIGHUP ──▶ worker pool: read, check, try ──▶ core_reconfigure(), between decisions ──▶ log, metric, event
 *                               │                                     │
 *                               └──── refused: nothing changed ◀──────┘ (a plugin does not take its arguments)
 *
 *     a generation:   read ─▶ in effect ─▶ replaced; pods that it placed are on their way ─▶ retired ─▶ freed
 *
 * Invariants. One change is under way at a time. Whatever is wrong with the file is found before anything changes. What
 * was refused is not tried again until the file changes, or a reload is requested. A generation is freed when the
 * core gave it back, or is no more. */
#ifndef CMD_RELOAD_H
#define CMD_RELOAD_H

#include "base/metrics.h"
#include "cmd/config_generation.h"
#include "live/core.h"

struct reload;

struct reload_options {
    const struct scheduler_flags *flags; /* these two live longer */
    const struct features *features;
    struct http_extenders_options extenders; /* how extenders are made */
    struct core *core;
    struct metrics *metrics;
    char *const *argv; /* the scheduler's, with which plugins are tried in a new process */
    struct loop *loop;
    struct loop *io; /* of sources of samples */
    /* An event about it: `failed`, with the sentence. On a thread of the worker pool. */
    void (*on_event)(void *user, bool failed, struct str note);
    void *user;
};

/* Takes over the configuration of the start. */
struct reload *reload_new(struct config_generation *first);
/* No change is begun after it. NULL is fine. */
void reload_stop(struct reload *reload);
/* Frees all generations, after the core. NULL is fine. */
void reload_free(struct reload *reload);

/* Watches from now on. */
int reload_start(struct reload *reload, const struct reload_options *options, struct error *err);
/* From any thread, also before reload_start(): look now. */
void reload_now(struct reload *reload);
/* From any thread: these schedulers' pods are taken over from now on, by number in --take-over. */
void reload_take_over(struct reload *reload, uint64_t taken);
/* For core_options.on_retired: the core needs this generation no longer. */
void reload_retired(struct reload *reload, void *generation);

/* The configuration in effect, as JSON. From any thread. */
void reload_write_json(struct reload *reload, struct strbuf *out);

#endif
