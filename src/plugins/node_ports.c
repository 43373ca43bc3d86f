/* NodePorts: two pods cannot have the same port of a host. */
#include "api/pod_resources.h"
#include "framework/rule.h"
#include "framework/shortfall.h"

struct wanted_ports {
    const struct host_port *items;
    uint32_t len;
    sym any_ip;
};

static const void *prepare(struct rule_subject *subject)
{
    const struct pod_class *class = subject->class;
    if (!class->ports_len)
        return NULL;
    struct wanted_ports *wanted = arena_new(subject->arena, struct wanted_ports);
    *wanted = (struct wanted_ports){ class->ports, class->ports_len, subject->cluster->any_ip };
    return wanted;
}

static int64_t judge(const void *pod, union column_value node)
{
    const struct wanted_ports *wanted = pod;
    for (uint32_t i = 0; i < wanted->len; i++)
        if (host_port_is_taken(node.ports, &wanted->items[i], wanted->any_ip))
            return 1;
    return 0;
}

static const struct node_rule rule = {
    .column = COLUMN_PORTS,
    .prepare = prepare,
    .judge = judge,
    .rejections = { { STATUS_UNSCHEDULABLE,
                      STR("node(s) didn't have free ports for the requested pod ports") } },
    .unprepared = "reading \"PreFilterNodePorts\" from cycleState: not found",
};

/* The pod on the node that has the port; NULL: it is not there any more. */
static const struct meta *holder(struct node_view node, const struct host_port *port)
{
    struct pod_span pods = node_pods(node);
    for (size_t i = 0; i < pods.len; i++) {
        const struct pod_class *class = pods.items[i]->class;
        struct port_span used = { class->ports, class->ports_len };
        if (host_port_is_taken(used, port, node.cluster->any_ip))
            return &pods.items[i]->api->meta;
    }
    return NULL;
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct pod_class *class = cycle->info->class;
    const struct intern *syms = &cycle->cluster->syms;
    for (uint32_t i = 0; i < class->ports_len; i++) {
        const struct host_port *port = &class->ports[i];
        if (!host_port_is_taken(node_ports(node), port, cycle->cluster->any_ip) || shortfall_is_left_out(ret))
            continue;
        struct shortfall *lack = shortfall_add(ret, "Port");
        lack->pod = holder(node, port);
        lack->key =
            arena_printf(ret->arena, "%d/" STR_FMT, port->port, STR_ARG(intern_text(syms, port->protocol)));
        lack->sentence = arena_printf(ret->arena, "host port " STR_FMT " is taken", STR_ARG(lack->key));
    }
}

/* A pod leaves with a port that this one wants. A text without a symbol is none that this pod has. */
HINT(pod_deleted)
{
    const struct intern *syms = &context->cluster->syms;
    const struct container_port **ports;
    if (!event_pod_holds_resources(event, event->before))
        return HINT_SKIP;
    uint32_t len = pod_host_ports(event->before, context->arena, &ports);
    struct host_port *freed = arena_array(context->arena, struct host_port, len);
    for (uint32_t i = 0; i < len; i++)
        freed[i] = (struct host_port){ intern_find(syms, host_port_ip(ports[i])),
                                       intern_find(syms, host_port_protocol(ports[i])), ports[i]->host_port };
    host_ports_sort(freed, len);
    struct wanted_ports wanted = { context->info->class->ports, context->info->class->ports_len,
                                   context->cluster->any_ip };
    return judge(&wanted, (union column_value){ .ports = { freed, len } }) ? HINT_QUEUE : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_DELETE, pod_deleted, DIVIDED_POD_RULE },
    { EVENT_NODE, ACTION_ADD, NULL },
    { 0 },
};

const struct plugin plugin_node_ports = {
    .name = "NodePorts",
    .ignores_resizes = true,
    .judges_room = true,
    .doc = "Filters out nodes where a host port that the pod asks for is in use.",
    .reads = READS("spec.containers[].ports[].hostIP", "spec.containers[].ports[].hostPort",
                   "spec.containers[].ports[].protocol", "spec.initContainers[].ports[].hostIP",
                   "spec.initContainers[].ports[].hostPort", "spec.initContainers[].ports[].protocol",
                   "spec.initContainers[].restartPolicy"),
    .needs_pre_filter = POINT_BIT(POINT_FILTER),
    .pre_filter = rule_pre_filter,
    .filter = rule_filter,
    .filter_rule = &rule,
    .explain = explain,
    .events = events,
};
