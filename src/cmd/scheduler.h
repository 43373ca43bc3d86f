/* scheduler.h: the parts of `berth scheduler`, for the files that wire them together. */
#ifndef CMD_SCHEDULER_H
#define CMD_SCHEDULER_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "client/core.h"
#include "client/lease.h"
#include "config/flags.h"
#include "extender/extender.h"
#include "serve/observer.h"
#include "serve/rest_metrics.h"
#include "serve/serve.h"
#include "serve/views.h"

struct daemon {
    struct scheduler_flags flags;
    struct features features;
    struct scheduler_config config;
    struct kube_access access;
    struct warnings warnings;
    struct arena arena;
    struct api *api;
    struct inbox *inbox;
    struct recorder *recorder;
    struct writer *writer;
    struct journal *journal; /* NULL: nothing is recorded */
    struct core *core;
    struct http_extenders *extenders;
    struct leader_lease *lease; /* NULL: no election */
    struct strbuf identity;
    struct metrics *metrics;
    struct observer *observer;
    struct views *views;
    struct serve *serve;   /* NULL: --secure-port=0 */
    struct strbuf configz; /* the configuration in effect, as JSON */
    atomic_bool ending;
    sigset_t signals;
    pthread_t signal_thread;
};

/* scheduler_serve.c: health, metrics and the other pages. Needs the core, and the lease if there is one. */
int scheduler_serve_start(struct daemon *daemon, struct error *err);
/* For the metrics: does this process lead? */
void scheduler_show_lead(struct daemon *daemon, bool leads);

#endif
