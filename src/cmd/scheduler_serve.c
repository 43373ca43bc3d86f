/* scheduler_serve.c: what the running scheduler shows of itself. Everything here runs on the server's thread. */
#include <errno.h>

#include "cmd/scheduler.h"
#include "config/write.h"
#include "engine/account.h"
#include "framework/host.h"

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
    return core_synced(daemon->core) ? 0 : error_set(err, -EAGAIN, "waiting for handlers to sync");
}

static void write_metrics(void *user, struct strbuf *out)
{
    metrics_write(((struct daemon *)user)->metrics, METRICS_TEXT, out);
    host_metrics_write(METRICS_TEXT, out);
}

static void reset_metrics(void *user)
{
    metrics_reset(((struct daemon *)user)->metrics);
}

static void write_configz(void *user, struct strbuf *out)
{
    strbuf_str(out, strbuf_slice(&((struct daemon *)user)->configz));
}

void scheduler_show_lead(struct daemon *daemon, bool leads)
{
    gauge_set(metric_get(daemon->metrics, FAMILY_LEADER_ELECTION_MASTER_STATUS, &STR("kube-scheduler")),
              leads);
}

int scheduler_serve_start(struct daemon *daemon, struct error *err)
{
    const struct serve_check checks[] = {
        { "leaderElection", SERVE_HEALTHZ | SERVE_READYZ, check_lease, daemon },
        { "shutdown", SERVE_READYZ, check_shutdown, daemon },
        { "sched-handler-sync", SERVE_READYZ, check_sync, daemon },
    };
    size_t without = daemon->lease ? 0 : 1;
    daemon->metrics = families_new(&daemon->flags, &daemon->features, err);
    if (!daemon->metrics)
        return -EINVAL;
    daemon->observer = observer_new(daemon->metrics, core_engine(daemon->core));
    engine_watch(core_engine(daemon->core), observer_probe(daemon->observer));
    if (daemon->lease)
        scheduler_show_lead(daemon, false);
    config_write_json(&daemon->config, &daemon->configz);
    daemon->views = views_new(daemon->core);
    const struct serve_view views[] = { { VIEW_QUEUE_PATH, views_queue, daemon->views, .unlisted = true } };
    int r = serve_start(&(struct serve_options){ .flags = &daemon->flags,
                                                 .checks = checks + without,
                                                 .check_count = ARRAY_SIZE(checks) - without,
                                                 .metrics = write_metrics,
                                                 .metrics_reset = reset_metrics,
                                                 .configz = write_configz,
                                                 .user = daemon,
                                                 .views = views,
                                                 .view_count = ARRAY_SIZE(views),
                                                 .profiling = daemon->config.enable_profiling,
                                                 .flagz = true,
                                                 .statusz = true },
                        &daemon->serve, err);
    views_serve(daemon->views, daemon->serve);
    return r;
}
