/* delegate.c: an api for reviews, with rate limits far above what they need: clients wait for the answers. */
#include "auth/delegate.h"

#include <stdlib.h>

#include "base/log.h"
#include "observe/rest_metrics.h"

enum { QPS = 200, BURST = 400 };

static void on_problem(void *user, const char *sentence)
{
    const struct delegate *delegate = user;
    log_warning("Trouble with the API server that is asked about callers",
                log_str("for", str_from(delegate->what)), log_str("problem", str_from(sentence)));
}

static void on_sample(void *user, const struct api_sample *sample)
{
    const struct delegate *delegate = user;
    if (delegate->metrics)
        rest_metrics_count(delegate->metrics, sample);
}

static bool is_in_pod(void)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST"), *port = getenv("KUBERNETES_SERVICE_PORT");
    return host && *host && port && *port;
}

int delegate_open(struct delegate *delegate, struct loop *loop, struct str kubeconfig, const char *what,
                  struct metrics *metrics, struct error *err)
{
    *delegate = (struct delegate){ .what = what, .metrics = metrics };
    if (!kubeconfig.len && !is_in_pod())
        return 0;
    struct kube_source source = { .kubeconfig = kubeconfig.len ? kubeconfig.ptr : NULL };
    struct error why;
    int r = kubeconfig_load(&source, &delegate->arena, &delegate->access, NULL, &why);
    if (r < 0 && !kubeconfig.len) {
        log_warning("Failed to read in-cluster kubeconfig", log_str("for", str_from(what)),
                    log_str("err", str_from(why.text)));
        return 0;
    }
    if (r == 0) {
        struct api_options options = { .loop = loop,
                                       .access = &delegate->access,
                                       .qps = QPS,
                                       .burst = BURST,
                                       .on_problem = on_problem,
                                       .on_sample = on_sample,
                                       .user = delegate };
        r = api_new(&options, &delegate->api, &why);
    }
    if (r == 0)
        return 0;
    delegate_close(delegate);
    return error_set(err, r, "failed to get delegated %s kubeconfig: %s", what, why.text);
}

void delegate_close(struct delegate *delegate)
{
    api_free(delegate->api);
    delegate->api = NULL;
    arena_release(&delegate->arena);
}
