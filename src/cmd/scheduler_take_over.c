/* scheduler_take_over.c: when another scheduler's Lease has ended, its profile comes, and goes when it is held again
 * (reload.h). */
#include <stdlib.h>

#include "base/log.h"
#include "cmd/scheduler.h"
#include "observe/families.h"

struct vacant_lease {
    struct daemon *daemon;
    uint32_t number; /* in --take-over */
    struct vacancy *vacancy;
    struct metric *gauge;
    bool is_vacant;
};

/* On the thread of `io`. */
static void on_change(void *user, bool vacant)
{
    struct vacant_lease *lease = user;
    struct daemon *daemon = lease->daemon;
    const struct take_over *over = &daemon->overs.items[lease->number];
    uint64_t taken = 0;
    lease->is_vacant = vacant;
    for (uint32_t i = 0; i < daemon->overs.len; i++)
        if (daemon->vacancies[i].is_vacant)
            taken |= UINT64_C(1) << i;
    log_info(0,
             vacant ? "Taking over the pods of a scheduler whose lease has ended"
                    : "Handing the pods of a scheduler back: its lease is held again, or cannot be read",
             log_str("scheduler", over->scheduler), log_ref("lease", over->namespace, over->lease));
    gauge_set(lease->gauge, vacant);
    reload_take_over(daemon->reload, taken);
}

static int check(const struct leader_election_config *own, const struct take_over *over, struct error *err)
{
    if (own->leader_elect && str_eq(over->lease, own->resource_name) &&
        str_eq(over->namespace, own->resource_namespace))
        return error_set(err, -EINVAL,
                         "--take-over: " STR_FMT "/" STR_FMT
                         " is this scheduler's own lease; name another one in leaderElection.resourceName",
                         STR_ARG(over->namespace), STR_ARG(over->lease));
    return 0;
}

int scheduler_make_vacancies(struct daemon *daemon, struct error *err)
{
    const struct leader_election_config *own = &daemon->first->config.leader_election;
    int r = take_overs_read(&daemon->flags.take_over, &daemon->arena, &daemon->overs, err);
    if (r < 0)
        return r;
    daemon->vacancies = xcalloc(daemon->overs.len, sizeof(*daemon->vacancies));
    for (uint32_t i = 0; i < daemon->overs.len; i++) {
        struct take_over *over = &daemon->overs.items[i];
        if (!over->namespace.len)
            over->namespace = arena_str(&daemon->arena, own->resource_namespace);
        r = check(own, over, err);
        if (r < 0)
            return r;
        struct vacant_lease *lease = &daemon->vacancies[i];
        *lease =
            (struct vacant_lease){ daemon, i, NULL,
                                   metric_get(daemon->metrics, FAMILY_BERTH_TAKEN_OVER, &over->scheduler) };
        gauge_set(lease->gauge, 0);
        lease->vacancy = vacancy_new(&(struct vacancy_options){ .api = daemon->api,
                                                                .namespace = over->namespace,
                                                                .name = over->lease,
                                                                .on_change = on_change,
                                                                .user = lease });
    }
    return 0;
}

void scheduler_watch_others(struct daemon *daemon)
{
    for (uint32_t i = 0; i < daemon->overs.len; i++)
        vacancy_start(daemon->vacancies[i].vacancy);
}

void scheduler_free_vacancies(struct daemon *daemon)
{
    for (uint32_t i = 0; daemon->vacancies && i < daemon->overs.len; i++)
        vacancy_free(daemon->vacancies[i].vacancy);
    free(daemon->vacancies);
}
