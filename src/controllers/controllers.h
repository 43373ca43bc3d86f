/* controllers.h: what makes a development cluster live: controllers of workloads, garbage collection, the deletion of
 * namespaces, and fake kubelets.
 *
 *     store ──changes──▶ keys of objects ──▶ queue ──▶ sync() of a controller ──▶ registry ──▶ store
 *
 * All of it runs on the loop's thread, as the API server does. */
#ifndef CONTROLLERS_CONTROLLERS_H
#define CONTROLLERS_CONTROLLERS_H

#include "apiserver/registry.h"
#include "net/loop.h"

struct controllers;

/* Zero takes the default in brackets. */
struct controllers_options {
    struct registry *registry; /* outlives the controllers */
    struct loop *loop;         /* likewise */
    int64_t job_ms;            /* for which the pods of a Job run [1000] */
};

/* Begins with the objects that are there. On the loop's thread, as controllers_free(). */
struct controllers *controllers_new(const struct controllers_options *options);
/* NULL is fine. */
void controllers_free(struct controllers *controllers);

#endif
