/* get.h: one request, waited for; for commands that ask a running scheduler, or an API server. */
#ifndef CLIENT_GET_H
#define CLIENT_GET_H

#include "client/kubeconfig.h"

struct api;

/* The body of a 200; anything else is a failure that says what came. */
int client_get(const struct kube_access *access, struct str path, int64_t timeout_ms, struct strbuf *ret,
               struct error *err);
/* The same for a write. `content_type` NULL: it has no body. 201 is a success as well. */
int client_send(const struct kube_access *access, const char *method, struct str path,
                const char *content_type, struct str body, int64_t timeout_ms, struct strbuf *ret,
                struct error *err);

/* client_get() with connections and credentials that stay for the next request. Not on the thread of the api's loop. */
int client_get_again(struct api *api, struct str path, int64_t timeout_ms, struct strbuf *ret,
                     struct error *err);

#endif
