/* scheduler_serve.c: what the running scheduler shows of itself. Everything here runs on the server's thread. */
#include <errno.h>

#include "abi/host.h"
#include "cmd/plugins.h"
#include "cmd/scheduler.h"
#include "config/write.h"
#include "engine/account.h"

/* A leader that could not renew its lease for so long after it ended is stuck. */
enum { LEASE_TOLERATED_MS = 20000 };

static int check_lease(void *user, struct error *err)
{
    return lease_check(((const struct daemon *)user)->lease, LEASE_TOLERATED_MS, err);
}

static int check_shutdown(void *user, struct error *err)
{
    struct daemon *daemon = user;
    return atomic_load(&daemon->ending) ? error_set(err, -ESHUTDOWN, "process is shutting down") : 0;
}

static int check_sync(void *user, struct error *err)
{
    struct daemon *daemon = user;
    return core_ready(daemon->core) ? 0 : error_set(err, -EAGAIN, "handlers are not fully synchronized");
}

static int check_candidate(void *user, struct error *err)
{
    const struct daemon *daemon = user;
    if (candidate_synced(daemon->candidate))
        return 0;
    return error_set(err, -EAGAIN, "1 informers not started yet: [*v1beta1.LeaseCandidate]");
}

static int check_credentials(void *user, struct error *err)
{
    return api_check_credentials(((const struct daemon *)user)->api, err);
}

static void write_metrics(void *user, struct strbuf *out)
{
    metrics_write(((struct daemon *)user)->metrics, out);
    host_metrics_write(out);
}

static void reset_metrics(void *user)
{
    metrics_reset(((struct daemon *)user)->metrics);
}

static void write_configz(void *user, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf json = { .secret = true };
    reload_write_json(((struct daemon *)user)->reload, &json);
    config_hide_secrets(strbuf_slice(&json), out);
}

static int write_resources(void *user, const struct serve_request *request, struct serve_reply *reply)
{
    struct daemon *daemon = user;
    if (daemon->lease && !atomic_load(&daemon->leads))
        return -EAGAIN;
    return resources_view(daemon->views, request, reply);
}

void scheduler_show_lead(struct daemon *daemon, bool leads)
{
    atomic_store(&daemon->leads, leads);
    gauge_set(metric_get(daemon->metrics, FAMILY_LEADER_ELECTION_MASTER_STATUS, &STR("kube-scheduler")),
              leads);
}

static const struct http_extenders *extenders_of(const void *owner)
{
    const struct config_generation *generation = core_owner(owner);
    return generation ? generation->extenders : NULL;
}

int scheduler_serve_start(struct daemon *daemon, struct error *err)
{
    const struct serve_check checks[] = {
        { "leaderElection", SERVE_HEALTHZ | SERVE_READYZ, check_lease, daemon },
        { "shutdown", SERVE_READYZ, check_shutdown, daemon },
        { "sched-handler-sync", SERVE_READYZ, check_sync, daemon },
        { "informer-sync", daemon->candidate ? SERVE_READYZ : 0, check_candidate, daemon },
        { "api-credentials", SERVE_READYZ, check_credentials, daemon, .is_credential = true },
    };
    size_t without = daemon->lease ? 0 : 1;
    daemon->metrics = families_new(&daemon->flags, &daemon->features, err);
    if (!daemon->metrics)
        return -EINVAL;
    daemon->observer = observer_new(daemon->metrics, &daemon->features);
    daemon->informers = informers_new(daemon->metrics, &daemon->features);
    engine_watch(core_engine(daemon->core), observer_probe(daemon->observer));
    if (daemon->lease)
        scheduler_show_lead(daemon, false);
    daemon->attempts = attempts_new(core_engine(daemon->core)->cluster);
    daemon->views = views_new(daemon->core, &(struct explain_source){ .attempts = daemon->attempts,
                                                                      .file_of = plugins_file,
                                                                      .extenders_of = extenders_of });
    daemon->rates = rates_new(daemon->metrics);
    const struct serve_view views[] = {
        { VIEW_QUEUE_PATH, views_queue, daemon->views, .unlisted = true },
        { VIEW_WAITING_PATH, waiting_view, daemon->views, .unlisted = true },
        { VIEW_EXPLAIN_PATH, views_explain, daemon->views, .unlisted = true },
        { VIEW_NODES_PATH, nodes_view, daemon->views, .unlisted = true },
        { VIEW_RATES_PATH, rates_view, daemon->rates, .unlisted = true },
    };
    int r = serve_start(
        &(struct serve_options){ .loop = daemon->serving,
                                 .io = daemon->io,
                                 .flags = &daemon->flags,
                                 .checks = checks + without,
                                 .check_count = ARRAY_SIZE(checks) - without,
                                 .metrics = write_metrics,
                                 .metrics_reset = reset_metrics,
                                 .configz = write_configz,
                                 .user = daemon,
                                 .metrics_resources = write_resources,
                                 .views = views,
                                 .view_count = ARRAY_SIZE(views),
                                 .ui = daemon->flags.ui,
                                 .profiling = daemon->first->config.enable_profiling,
                                 .flagz = daemon->features.enabled[FEATURE_ComponentFlagz],
                                 .statusz = daemon->features.enabled[FEATURE_ComponentStatusz],
                                 .dismisses_strangers =
                                     daemon->features.enabled[FEATURE_UnauthenticatedHTTP2DOSMitigation],
                                 .counts = daemon->metrics },
        &daemon->serve, err);
    views_serve(daemon->views, daemon->serve);
    if (daemon->serve)
        rates_start(daemon->rates, daemon->serving);
    return r;
}
