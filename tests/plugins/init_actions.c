/* init_actions.c: a plugin whose init() acts as its arguments say.
 *
 *     does:    crash, abort, exit, hang, fail
 *     refuses: NODE     Filter rejects this node
 *     metric:  NAME     registers a counter with that name and adds 1; the log has the result
 *     label:   VALUE    of its only label */
#include <berth/plugin.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
    struct berth_str does, refuses, metric, label;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("does", BERTH_STRING, struct args, does),
    BERTH_FIELD("refuses", BERTH_STRING, struct args, refuses),
    BERTH_FIELD("metric", BERTH_STRING, struct args, metric),
    BERTH_FIELD("label", BERTH_STRING, struct args, label),
    { 0 },
};

static void hang(void)
{
    while (true)
        sleep(1);
}

static int act(const char *what, struct berth_error *err)
{
    if (strcmp(what, "crash") == 0)
        raise(SIGSEGV);
    else if (strcmp(what, "abort") == 0)
        abort();
    else if (strcmp(what, "exit") == 0)
        exit(3);
    else if (strcmp(what, "hang") == 0)
        hang();
    else if (strcmp(what, "fail") == 0)
        return berth_fail(err, "init fails on request");
    return 0;
}

static void count(const struct args *args)
{
    struct berth_metric_info info = {
        .name = args->metric.ptr, .help = "Calls of init()", .type = BERTH_COUNTER, .labels = { "label" }
    };
    struct berth_metric *metric = berth_metric_get(&info, &args->label);
    berth_metric_add(metric, 1);
    berth_log(0, "metric %s: %s", args->metric.ptr, metric ? "there it is" : "none");
}

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    *ret_self = (void *)args;
    if (args->metric.len)
        count(args);
    return args->does.len ? act(args->does.ptr, err) : 0;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    const struct args *args = berth_cycle_self(cycle);
    struct berth_str name = berth_node_name(node);
    if (name.len == args->refuses.len && memcmp(name.ptr, args->refuses.ptr, name.len) == 0)
        return BERTH_REJECT(BERTH_UNSCHEDULABLE, "node(s) were not to its liking");
    return BERTH_OK;
}

static const struct berth_plugin init_actions = {
    .name = "InitActions", .init = init, .filter = filter, .args = fields, .args_size = sizeof(struct args)
};

BERTH_PLUGINS(&init_actions)
