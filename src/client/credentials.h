/* credentials.h: what a request carries to be authenticated, kept fresh.
 *
 *     kube_access ──credentials_new()──▶ credentials ──credentials_get()──▶ ready(credential) ──▶ http_send()
 *                                             ▲                                                     │
 *                                             └────────── credentials_refused(), after a 401 ◀──────┘
 *
 * A struct credential never changes and is shared by reference count: headers (Authorization, Impersonate-*)
 * and a TLS config. When a token file, a certificate or the authority's file changes, when a credential
 * program's token ends, or when the server refused it, the next one is another.
 *
 * Files are read again every reload_ms, in the worker pool; one that cannot be read, or does not fit together with the
 * others, leaves what was there in use. A credential program runs in the worker pool as well; requests that come
 * meanwhile are called back from the loop. What it gave is used until it ends, and the program runs again shortly
 * before that. */
#ifndef CLIENT_CREDENTIALS_H
#define CLIENT_CREDENTIALS_H

#include "client/kubeconfig.h"
#include "http/http.h"

struct credentials;

struct credential {
    struct http_header *headers;
    size_t header_count;
    struct tls_config *tls; /* NULL where the server is plain http */
};

struct credential *credential_ref(struct credential *credential);
void credential_unref(struct credential *credential);

/* Zero takes the default in brackets. */
struct credentials_options {
    struct loop *loop;        /* for callbacks; outlives the credentials */
    int64_t reload_ms;        /* files are looked at again after this time [60000] */
    int64_t hang_ms;          /* as in net/file_set.h */
    int64_t exec_timeout_ms;  /* for a credential program [60000] */
    int64_t exec_interval_ms; /* between two runs of it, at least [1000] */
    /* Something that is wrong but not the end, in one sentence without secrets; any thread. May be NULL. */
    void (*on_problem)(void *user, const char *sentence);
    /* The client certificate or the authority is another one: connections of before should be closed
     * (http_drop_connections()); any thread, without a lock held. May be NULL. */
    void (*on_new_identity)(void *user);
    /* A credential program was called, see struct exec_output; any thread. May be NULL. */
    void (*on_exec)(void *user, int exit_code, const char *call_status);
    void *user;
};

/* Reads all files once. A credential program is not run before the first credentials_get(). `access` is copied
 * and its strings must live as long as this. */
int credentials_new(const struct kube_access *access, const struct credentials_options *options,
                    struct credentials **ret, struct error *err);
/* Stops a running program and answers what waits for it. Not from the loop's thread. */
void credentials_free(struct credentials *credentials);

/* `credential` is the callee's for the time of the call; to keep it, credential_ref(). NULL: there is none,
 * and err says why. */
typedef void (*credentials_ready)(void *user, struct credential *credential, const struct error *err);

/* Calls `ready` exactly once: at once, in this thread, or later, on the loop's. From any thread; `ready` may
 * call this and credentials_refused(). */
void credentials_get(struct credentials *credentials, credentials_ready ready, void *user);
/* If `ready` was not called with this `user` yet, and nothing is about to, it never will be: true. From any thread. */
bool credentials_forget(struct credentials *credentials, const void *user);
/* The server said 401 to a request with this one. If it is still the newest, it is renewed before it is given
 * out again. */
void credentials_refused(struct credentials *credentials, const struct credential *credential);

/* Can the files be read and used, or did the credential program last succeed? Negative: err says what does not work;
 * what was there before stays in use. From any thread. */
int credentials_check(struct credentials *credentials, struct error *err);

#endif
