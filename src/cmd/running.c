/* running.c: see running.h. */
#include "cmd/running.h"

#include "client/get.h"
#include "sync/listing.h"

enum { ANSWER_MS = 60 * 1000 };

/* What to do about the usual failures, by a word of their sentence. */
static const char *advice(const struct error *err)
{
    static const struct {
        const char *word, *advice;
    } known[] = {
        { "certificate", "--insecure-skip-tls-verify does not check it" },
        { "connect to", "is a berth scheduler running there? --server URL names another one" },
        { "system:anonymous",
          "--kubeconfig FILE says who asks, and the scheduler knows who that is if it was started with "
          "--authentication-kubeconfig and --authorization-kubeconfig" },
        { "cannot get path",
          "a ClusterRole with nonResourceURLs: [\"/debug/berth/*\"] and verbs: [get] would allow it, if the "
          "scheduler was started with --authorization-kubeconfig" },
        { "page not found", "that is no berth scheduler" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(known); i++)
        if (strstr(err->text, known[i].word))
            return known[i].advice;
    return NULL;
}

/* `server`: as it is named in a sentence. */
static int explained(struct error *err, const char *server, int r)
{
    const char *what = advice(err);
    const struct error said = *err;
    return what ? error_set(err, r, "%s: %s; %s", server, said.text, what)
                : error_set(err, r, "%s: %s", server, said.text);
}

int running_get(const struct running *running, struct str path, struct strbuf *ret, struct error *err)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    struct kube_access access = { 0 };
    const char *named = running->server && *running->server ? running->server : RUNNING_SERVER;
    const char *server = strstr(named, "://") ? named : arena_printf(&arena, "https://%s", named).ptr;
    int r = usual_access(running->kubeconfig, running->context, server, &arena, &access, err);
    if (r == 0 && running->insecure) {
        access.cluster.insecure = true;
        access.cluster.certificate_authority = access.cluster.certificate_authority_data = (struct str){ 0 };
    }
    if (r == 0) {
        r = client_get(&access, path, ANSWER_MS, ret, err);
        if (r < 0)
            r = explained(err, server, r);
    }
    return r;
}
