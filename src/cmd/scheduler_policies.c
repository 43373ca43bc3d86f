/* scheduler_policies.c: where a scheduler's policies come from, and what is said about them. */
#include "base/log.h"
#include "cmd/plugins.h"
#include "cmd/policy_files.h"
#include "cmd/scheduler.h"
#include "observe/families.h"

static const struct str result_names[POLICY_RESULT_COUNT] = {
#define X(name, text) [POLICIES_##name] = STR(text),
    POLICY_RESULTS(X)
#undef X
};

int scheduler_policies_read(struct daemon *daemon, struct error *err)
{
    const struct scheduler_flags *flags = &daemon->flags;
    struct str name = flags->policy_configmap, namespace = str_cut(&name, '/');
    if (flags->policy_dir.len)
        return policy_files_new(flags->policy_dir.ptr, plugins_registry(), &daemon->policy_files, err);
    if (flags->policy_configmap.len) {
        daemon->policy_namespace = arena_str(&daemon->arena, namespace).ptr;
        daemon->policy_name = arena_str(&daemon->arena, name).ptr;
    }
    return 0;
}

int scheduler_policies_start(struct daemon *daemon, struct error *err _unused_)
{
    gauge_set(metric_get(daemon->metrics, FAMILY_BERTH_POLICY_LAST_RELOAD_SUCCESS, NULL),
              1); /* none is refused */
    if (daemon->policy_files)
        policy_files_start(daemon->policy_files, daemon->serving, daemon->inbox);
    return 0;
}

void scheduler_policies_post(void *user)
{
    struct daemon *daemon = user;
    if (daemon->policy_files)
        policy_files_post(daemon->policy_files, daemon->inbox);
}

static void name_policies(const struct policy_set *set, struct strbuf *out)
{
    for (uint32_t i = 0; set && i < set->len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(set->items[i].shown.name));
    if (!out->len)
        strbuf_puts(out, "none");
}

/* A folder has no object: then it is about the scheduler itself. */
static void send_event(struct daemon *daemon, const struct policy_news *news, struct str note)
{
    const struct meta *meta = news->map ? &news->map->meta : NULL;
    bool failed = news->result == POLICIES_REFUSED;
    const char *reason = failed ? "PolicyReloadFailed" : "PolicyReloaded";
    if (meta && meta->namespace.len)
        scheduler_event(daemon,
                        (struct object_ref){ .kind = STR("ConfigMap"),
                                             .api_version = STR("v1"),
                                             .namespace = meta->namespace,
                                             .name = meta->name,
                                             .uid = meta->uid,
                                             .resource_version = meta->resource_version },
                        failed ? "Warning" : "Normal", reason, note);
    else
        scheduler_event_about_itself(daemon, failed, reason, note);
}

/* The counter is the last: a reader that sees it change finds the gauges as they belong to it. */
static void count(struct daemon *daemon, const struct policy_news *news)
{
    struct metrics *metrics = daemon->metrics;
    gauge_set(metric_get(metrics, FAMILY_BERTH_POLICIES, NULL), news->set ? news->set->len : 0);
    gauge_set(metric_get(metrics, FAMILY_BERTH_POLICY_LAST_RELOAD_SUCCESS, NULL),
              news->result != POLICIES_REFUSED);
    counter_add(metric_get(metrics, FAMILY_BERTH_POLICY_RELOADS_TOTAL, &result_names[news->result]), 1);
}

void scheduler_on_policies(void *user, const struct policy_news *news)
{
    struct daemon *daemon = user;
    _cleanup_(strbuf_release) struct strbuf names = { 0 }, note = { 0 };
    name_policies(news->set, &names);
    if (news->result == POLICIES_REFUSED) {
        log_error(news->error, "Scheduling policies refused, nothing changes",
                  log_str("policies", strbuf_slice(&names)));
        strbuf_puts(&note, news->error->text);
    } else if (news->result == POLICIES_APPLIED) {
        log_info(0, "Scheduling policies in effect", log_str("policies", strbuf_slice(&names)),
                 log_int("pods", news->pods));
        strbuf_printf(&note, "Scheduling policies in effect: %s", names.text);
    }
    if (note.len)
        send_event(daemon, news, strbuf_slice(&note));
    count(daemon, news);
}
