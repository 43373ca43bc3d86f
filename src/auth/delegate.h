/* delegate.h: the API servers that authenticate and authorize clients, by their kubeconfigs. */
#ifndef AUTH_DELEGATE_H
#define AUTH_DELEGATE_H

#include "base/metrics.h"
#include "client/api.h"

struct delegate {
    struct arena arena;
    struct kube_access access;
    struct api *api; /* NULL: there is none */
    const char *what;
    struct metrics *metrics; /* may be NULL */
};

/* On the loop; NULL: one of its own. By the file, or else as the service account of the pod that this runs in; outside
 * of a pod `api` stays NULL. `what`: "authentication" or "authorization". The delegate stays where it is until it is
 * closed. */
int delegate_open(struct delegate *delegate, struct loop *loop, struct str kubeconfig, const char *what,
                  struct metrics *metrics, struct error *err);
/* All answers that are under way come before this returns. */
void delegate_close(struct delegate *delegate);

#endif
