/* kubeconfig.h: the API server, the authorities to trust, and the credentials.
 *
 *     flags, $KUBECONFIG, service account ──kubeconfig_load()──▶ struct kube_access ──▶ credentials.h
 *
 * Files are read as client-go reads them: several are merged, the first that says something wins; paths are
 * relative to the file that names them; fields that are not known are ignored; credentials count only for an
 * https server. What is wrong ends in one sentence with file, line and field, and never with the value: it may
 * be a secret. */
#ifndef CLIENT_KUBECONFIG_H
#define CLIENT_KUBECONFIG_H

#include "api/types.h"
#include "base/arena.h"
#include "base/error.h"
#include "codec/record.h"
#include "config/config.h"

struct exec_env {
    struct str name, value;
};

enum exec_interactive {
    EXEC_INTERACTIVE_UNSET,
    EXEC_INTERACTIVE_NEVER,
    EXEC_INTERACTIVE_IF_AVAILABLE,
    EXEC_INTERACTIVE_ALWAYS,
};

/* A program that prints credentials. */
struct kube_exec {
    struct str api_version, command, install_hint, interactive_mode;
    struct str_list args;
    LIST(struct exec_env) env;
    bool provide_cluster_info;
    enum exec_interactive interactive;
    struct str cluster_config; /* JSON, from the extension of the cluster that is meant for such programs */
};

struct user_extra {
    struct str key;
    struct str_list values;
};
struct user_extras {
    struct user_extra *items;
    uint32_t len;
};

/* Data goes before the file of the same kind. Paths are absolute. */
struct kube_user {
    struct str client_certificate, client_certificate_data, client_key, client_key_data;
    struct str token, token_file, username, password;
    struct str as, as_uid;
    struct str_list as_groups;
    struct user_extras as_extra; /* by key */
    struct kube_exec *exec;
};

struct kube_cluster {
    struct str server; /* "https://host:port/prefix", no slash at the end */
    struct str tls_server_name, certificate_authority, certificate_authority_data, proxy_url;
    bool insecure, disable_compression;
};
RECORD_TYPE(kube_cluster, struct kube_cluster);

/* Every string ends with a zero, so that its ptr is a C string; an absent one is NULL or "". */
struct kube_access {
    struct kube_cluster cluster;
    struct kube_user user;
    struct str namespace; /* of the context or service account; may be absent */
    bool https, in_cluster;
};

/* Anything may be NULL or "". */
struct kube_source {
    const char *kubeconfig;      /* one file, that must exist */
    const char *kubeconfig_list; /* or several, "a:b", as $KUBECONFIG has them; missing ones are skipped */
    const char *context;         /* instead of current-context */
    const char *master;          /* instead of the server of the cluster */
    const char *service_account_dir; /* [/var/run/secrets/kubernetes.io/serviceaccount] */
};

/* Without file and master: as the service account of the pod that this runs in. Everything lives in the arena,
 * which becomes one for secrets.
 * `warnings` may be NULL. */
int kubeconfig_load(const struct kube_source *source, struct arena *arena, struct kube_access *ret,
                    struct warnings *warnings, struct error *err);

#endif
