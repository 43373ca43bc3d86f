/* scheduler.h: the parts of `berth scheduler`, for the files that wire them together. */
#ifndef CMD_SCHEDULER_H
#define CMD_SCHEDULER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "cmd/reload.h"
#include "config/flags.h"
#include "debug/attempts.h"
#include "debug/dump.h"
#include "debug/nodes.h"
#include "debug/rates.h"
#include "debug/resources.h"
#include "debug/views.h"
#include "debug/waiting.h"
#include "live/candidate.h"
#include "live/core.h"
#include "live/lease.h"
#include "live/vacancy.h"
#include "observe/informers.h"
#include "observe/observer.h"
#include "observe/rest_metrics.h"
#include "serve/serve.h"

struct daemon {
    char *const *argv;
    struct scheduler_flags flags;
    struct features features;
    struct config_generation *first; /* of the start; once the core runs, `reload` has the present one */
    struct reload *reload;
    struct kube_access access;
    struct warnings warnings;
    struct arena arena;
    struct loop *io;      /* requests to the API server, the lease */
    struct loop *serving; /* the server, signals, reloads */
    struct api *api;
    struct inbox *inbox;
    struct recorder *recorder;
    struct writer writer;
    struct journal *journal;          /* NULL: nothing is recorded */
    struct pending_requests *pending; /* to extenders */
    struct core *core;
    struct leader_lease *lease;        /* NULL: no election */
    struct lease_candidate *candidate; /* NULL: the API server does not coordinate the election */
    struct take_overs overs;           /* --take-over */
    struct vacant_lease *vacancies;    /* of those, as many */
    struct strbuf identity;
    struct metrics *metrics;
    struct observer *observer;
    struct informers *informers; /* NULL: the release has no metrics of them */
    struct views *views;
    struct rates *rates;
    struct attempts *attempts; /* of pods, lately */
    struct serve *serve;       /* NULL: --secure-port=0 */
    struct dump *dump;
    struct policy_files *policy_files;          /* of --policy-dir; NULL: none */
    const char *policy_namespace, *policy_name; /* of --policy-configmap; NULL: none */
    struct str name;                            /* that we go by in events that are about no pod */
    pthread_mutex_t about_lock;
    struct object_ref about; /* what such an event is about: the Lease, or where it would be */
    char about_uid[64];
    atomic_bool ending, leads;
    atomic_bool is_ousted; /* the API server prefers another leader */
    sigset_t signals;
    bool
        is_over; /* of the thread of `serving`: the core has ended, and a dump or a reload would be too late */
    struct loop_timer lost_timer; /* of `io`: the lease is lost, and the event about it is on its way */
    int lost_looks;
};

/* cmd_scheduler.c: runs the scheduler with these flags until SIGINT or SIGTERM; argv[0] is its name. Returns the exit
 * code. Other threads of the process must have these signals blocked. */
int scheduler_main(int argc, char **argv);

/* scheduler_events.c: an event about an object that is no pod; about the scheduler itself. */
void scheduler_event(struct daemon *daemon, struct object_ref about, const char *type, const char *reason,
                     struct str note);
void scheduler_event_about_itself(struct daemon *daemon, bool failed, const char *reason, struct str note);

/* scheduler_policies.c: scheduling policies. Reads those of a folder, watches it, and posts them to the core. */
int scheduler_policies_read(struct daemon *daemon, struct error *err);
int scheduler_policies_start(struct daemon *daemon, struct error *err);
void scheduler_policies_post(void *user);
/* For core_options.on_policies. */
void scheduler_on_policies(void *user, const struct policy_news *news);

/* scheduler_serve.c: health, metrics and the other pages. Needs the core, and the lease if there is one. */
int scheduler_serve_start(struct daemon *daemon, struct error *err);
/* For the metrics: does this process lead? */
void scheduler_show_lead(struct daemon *daemon, bool leads);

/* scheduler_take_over.c: other schedulers, whose pods are taken over when their lease has ended (--take-over). */
int scheduler_make_vacancies(struct daemon *daemon, struct error *err);
/* This process leads: it looks at their leases from now on. */
void scheduler_watch_others(struct daemon *daemon);
void scheduler_free_vacancies(struct daemon *daemon);

#endif
