/* running.c: see running.h. */
#include "cmd/running.h"

#include "client/get.h"
#include "client/listing.h"

enum { ANSWER_MS = 60 * 1000 };

int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err)
{
    struct arena arena = { 0 };
    struct kube_access access = { 0 };
    const char *server = running->server ? running->server : RUNNING_SERVER;
    int r = usual_access(running->kubeconfig, running->context, server, &arena, &access, err);
    if (r == 0 && running->insecure) {
        access.cluster.insecure = true;
        access.cluster.certificate_authority = access.cluster.certificate_authority_data = (struct str){ 0 };
    }
    if (r == 0) {
        r = client_get(&access, path, ANSWER_MS, ret, err);
        if (r < 0)
            error_prefix(err, "%s", server);
    }
    arena_release(&arena);
    return r;
}
