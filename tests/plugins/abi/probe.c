/* probe.c: a plugin that is built against headers of several revisions: test_abi.py says which. Its init() logs what
 * arrived, its filter rejects nodes that are labelled `closed`.
 *
 * WITHOUT_HINT, WITHOUT_SIZE: for headers in which event rules end before `hint`, and fields before `size`. */
#include <berth/plugin.h>

struct args {
    double ratio;
    int64_t number;
    struct berth_str word;
};

static const struct berth_field fields[] = {
    BERTH_FIELD("ratio", BERTH_DOUBLE, struct args, ratio),
    BERTH_FIELD("number", BERTH_INT, struct args, number),
    BERTH_FIELD("word", BERTH_STRING, struct args, word),
    { 0 },
};

static int init(const struct berth_env *env, void **ret_self, struct berth_error *err)
{
    const struct args *args = env->args;
    (void)ret_self, (void)err;
    berth_log(0, "probe ratio=%.17g number=%lld word=%.*s scheduler=%.*s", args->ratio,
              (long long)args->number, BERTH_ARG(args->word), BERTH_ARG(env->scheduler_name));
    return 0;
}

static struct berth_status filter(struct berth_cycle *cycle, struct berth_node_view node)
{
    (void)cycle;
    if (berth_node_label(node, "closed").ptr)
        return BERTH_REJECT(BERTH_UNRESOLVABLE, "node(s) were closed");
    return BERTH_OK;
}

static struct berth_status pre_filter(struct berth_cycle *cycle, struct berth_node_names *narrow)
{
    struct berth_str names[] = { berth_text("open"), berth_text("closed") };
    berth_narrow(cycle, narrow, names, 2);
    return BERTH_OK;
}

#ifndef WITHOUT_HINT
static enum berth_hint_answer helps(const struct berth_hint *hint, const struct berth_pod *pod,
                                    const struct berth_event *event)
{
    (void)hint, (void)pod, (void)event;
    return BERTH_HINT_QUEUE;
}
#define RULE(resource, actions) { resource, actions, helps }
#else
#define RULE(resource, actions) { resource, actions }
#endif

static const struct berth_event_rule events[] = {
    RULE(BERTH_EVENT_NODE, BERTH_ADD | BERTH_NODE_LABEL),
    RULE(BERTH_EVENT_PVC, BERTH_UPDATE),
    RULE(BERTH_EVENT_ASSIGNED_POD, BERTH_DELETE),
    { 0 },
};

static const struct berth_plugin probe = {
    .name = "Probe",
    .doc = "Of any revision.",
    .args = fields,
    .args_size = sizeof(struct args),
    .init = init,
    .pre_filter = pre_filter,
    .filter = filter,
    .events = events,
};

BERTH_PLUGINS(&probe)
