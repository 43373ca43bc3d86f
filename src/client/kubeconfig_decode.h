/* kubeconfig_decode.h: the objects of a kubeconfig, by tables, as forgiving as client-go: unknown fields are
 * ignored, null is absence. Types are not forgiven. No sentence repeats a value. */
#ifndef CLIENT_KUBECONFIG_DECODE_H
#define CLIENT_KUBECONFIG_DECODE_H

#include "client/kubeconfig.h"

/* Where a value came from. */
struct kube_place {
    const struct doc *doc;
    yyjson_val *val;   /* may be NULL: absent */
    const char *field; /* "users[3].user" */
};

struct kube_context {
    struct str cluster, user, namespace;
};

int kube_decode_context(const struct kube_place *at, struct arena *arena, struct kube_context *ret,
                        struct error *err);
/* `ret_exec_config`: the JSON that the cluster has for credential programs. */
int kube_decode_cluster(const struct kube_place *at, struct arena *arena, struct kube_cluster *ret,
                        struct str *ret_exec_config, struct error *err);
int kube_decode_user(const struct kube_place *at, struct arena *arena, struct kube_user *ret,
                     struct error *err);

/* "file:line:column: users[3].user.token: ..."; `name` NULL: the object itself. */
int kube_complain(const struct kube_place *at, const char *name, struct error *err, const char *format, ...)
    _printf_(4, 5);
/* A string, copied. Null and absence leave *ret. */
int kube_decode_string(const struct kube_place *at, const char *name, yyjson_val *val, struct arena *arena,
                       struct str *ret, struct error *err);

#endif
