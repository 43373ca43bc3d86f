/* credentials_exec.h: a credential program, run once: client.authentication.k8s.io/v1 and v1beta1. */
#ifndef CLIENT_CREDENTIALS_EXEC_H
#define CLIENT_CREDENTIALS_EXEC_H

#include <stdatomic.h>

#include "client/kubeconfig.h"

/* What it printed. */
struct exec_output {
    struct strbuf token, cert, key; /* empty: none */
    struct opt_time expires;
    /* How the call went, also where it failed: the exit code, 1 where there is none, -1 after a signal; and in the
     * words of client-go's metric. */
    int exit_code;
    const char *call_status;
};

/* Runs access->user.exec and waits for it, no longer than timeout_ms and only as long as *stop is false; then
 * it is killed. Its standard error is ours. Sentences never hold what it printed. */
int exec_run(const struct kube_access *access, int64_t timeout_ms, const atomic_bool *stop,
             struct exec_output *ret, struct error *err);
void exec_output_release(struct exec_output *output);

#endif
