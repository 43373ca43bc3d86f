/* SchedulingGates: a pod stays out of the queue until its last scheduling gate is removed. */
#include "framework/plugin.h"

static struct status pre_enqueue(_unused_ const void *self, const struct pod *pod, struct arena *arena)
{
    if (!pod->spec.scheduling_gates.len)
        return STATUS_OK;
    _cleanup_(strbuf_release) struct strbuf names = { 0 };
    list_for(&pod->spec.scheduling_gates, gate) {
        if (names.len)
            strbuf_putc(&names, ' ');
        strbuf_str(&names, gate->name);
    }
    return status_printf(arena, STATUS_UNRESOLVABLE, "waiting for scheduling gates: [" STR_FMT "]",
                         STR_ARG(strbuf_slice(&names)));
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_POD_GATES_ELIMINATED, hint_own_change, ANY_POD_RULE },
    { EVENT_TARGET_POD, ACTION_POD_GATES_ELIMINATED, hint_own_change, DIVIDED_POD_RULE },
    { 0 },
};

const struct plugin plugin_scheduling_gates = {
    .name = "SchedulingGates",
    .doc = "Keeps a pod that carries scheduling gates out of the queue.",
    .pre_enqueue = pre_enqueue,
    .events = events,
};
