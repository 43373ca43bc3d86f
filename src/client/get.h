/* get.h: one GET, waited for; for commands that ask a running scheduler. */
#ifndef CLIENT_GET_H
#define CLIENT_GET_H

#include "client/kubeconfig.h"

/* The body of a 200; anything else is a failure that says what came. */
int client_get(const struct kube_access *access, struct str path, int64_t timeout_ms, struct strbuf *ret,
               struct error *err);

#endif
