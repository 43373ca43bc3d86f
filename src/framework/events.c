/* events.c: names, rules and classes of events; see events.h.
 *
 * An update is told apart as finely as the reference does it: a rule for a special update is not woken by others. */
#include "framework/events.h"

#include "api/fields.h"
#include "api/resource_list.h"
#include "config/requests.h"
#include "framework/profile.h"

/* ---- labels ---- */
static const char *const cause_names[] = {
#define X(name, text) [LABEL_##name] = text,
    QUEUE_CAUSES(X)
#undef X
};

static const char *const resource_names[] = {
#define X(name, text) [EVENT_##name] = text,
    EVENT_RESOURCES(X)
#undef X
};

static const char *const action_names[LABELS_PER_RESOURCE] = {
#define X(name, text) [ACTION_NUMBER_##name] = text,
    EVENT_ACTIONS(X)
#undef X
        [LABEL_ANY_UPDATE] = "Update",
    [LABEL_ALL_ACTIONS] = "All",
};

struct str event_label_text(enum event_label label, const struct release *release, struct arena *arena)
{
    if (label < LABEL_FIRST_EVENT)
        return str_from(cause_names[label]);
    uint32_t number = label - LABEL_FIRST_EVENT, resource = number / LABELS_PER_RESOURCE;
    bool undivided = resource == EVENT_UNSCHEDULED_POD && !release->pod_events_are_divided;
    return arena_printf(arena, "%s%s", undivided ? "UnschedulablePod" : resource_names[resource],
                        action_names[number % LABELS_PER_RESOURCE]);
}

/* Events carry one action, or any update, or all. */
static uint32_t action_slot(uint32_t actions)
{
    if (actions == ACTION_ALL)
        return LABEL_ALL_ACTIONS;
    return actions == ACTION_UPDATE ? LABEL_ANY_UPDATE : (uint32_t)__builtin_ctz(actions);
}

enum event_label event_label(const struct cluster_event *event)
{
    if (event->cause)
        return event->cause;
    return LABEL_FIRST_EVENT + event->resource * LABELS_PER_RESOURCE + action_slot(event->actions);
}

/* ---- matching ---- */
bool event_is_wildcard(const struct cluster_event *event)
{
    return event->resource == EVENT_ANY && event->actions == ACTION_ALL;
}

static bool resource_matches(enum event_resource rule, enum event_resource event)
{
    return rule == EVENT_ANY || rule == event ||
           (rule == EVENT_POD &&
            (event == EVENT_ASSIGNED_POD || event == EVENT_UNSCHEDULED_POD || event == EVENT_TARGET_POD));
}

bool event_matches(enum event_resource resource, uint32_t actions, const struct cluster_event *event)
{
    if (resource == EVENT_ANY && actions == ACTION_ALL)
        return true;
    /* An update of no special kind has every update's bit, and is for rules about any update. (A rule that lacks one of
     * them is the smaller number.) */
    return resource_matches(resource, event->resource) && actions & event->actions &&
           event->actions <= actions;
}

/* ---- rules ---- */
static const struct event_rule every_event[] = {
    { EVENT_POD, ACTION_ALL, NULL },
    { EVENT_NODE, ACTION_ALL, NULL },
    { EVENT_PV, ACTION_ALL, NULL },
    { EVENT_PVC, ACTION_ALL, NULL },
    { EVENT_CSI_NODE, ACTION_ALL, NULL },
    { EVENT_CSI_DRIVER, ACTION_ALL, NULL },
    { EVENT_CSI_STORAGE_CAPACITY, ACTION_ALL, NULL },
    { EVENT_STORAGE_CLASS, ACTION_ALL, NULL },
    { EVENT_RESOURCE_CLAIM, ACTION_ALL, NULL },
    { EVENT_DEVICE_CLASS, ACTION_ALL, NULL },
    { 0 },
};

/* Before rules about taints were explicit, one about new nodes also applied when a node's taints change: without a
 * closer look. */
static bool implies_taints(const struct event_rule *rules, const struct release *release)
{
    bool on_add = false, on_taint = false;
    for (; rules->actions; rules++) {
        on_add |= rules->resource == EVENT_NODE && rules->actions & ACTION_ADD;
        on_taint |= rules->resource == EVENT_NODE && rules->actions & ACTION_NODE_TAINT;
    }
    return on_add && !on_taint && !release->taint_rules_are_explicit;
}

const struct event_rule *event_rules_for(const struct plugin *plugin, const struct features *features,
                                         struct arena *arena)
{
    static const struct event_rule nothing[] = { { 0 } };
    const struct release *release = features->release;
    const uint32_t rejecting = POINT_BIT(POINT_PRE_ENQUEUE) | POINT_BIT(POINT_PRE_FILTER) |
                               POINT_BIT(POINT_FILTER) | POINT_BIT(POINT_RESERVE) | POINT_BIT(POINT_PERMIT);
    if (!(plugin_points(plugin) & rejecting))
        return nothing;
    if (!plugin->events)
        return NULL;
    size_t len = 0, kept = 0;
    while (plugin->events[len].actions)
        len++;
    struct event_rule *rules = arena_array(arena, struct event_rule, len + 2);
    if (implies_taints(plugin->events, release))
        rules[kept++] = (struct event_rule){ .resource = EVENT_NODE, .actions = ACTION_NODE_TAINT };
    for (size_t i = 0; i < len; i++) {
        uint32_t gate = plugin->events[i].gate;
        if (!release_row_applies(release, plugin->events[i].since, plugin->events[i].until) ||
            (gate && !features->enabled[gate - 1]))
            continue;
        rules[kept] = plugin->events[i];
        if (rules[kept].resource == EVENT_TARGET_POD && !release->pod_events_are_divided)
            rules[kept].resource = EVENT_UNSCHEDULED_POD;
        kept++;
    }
    rules[kept] = (struct event_rule){ 0 };
    return rules;
}

const struct event_rule *plugin_event_rules(const struct plugin_instance *instance)
{
    return instance->rules ? instance->rules : every_event;
}

static bool cares(const struct plugin_instance *instance, const struct cluster_event *event)
{
    for (const struct event_rule *rules = plugin_event_rules(instance); rules->actions; rules++)
        if (event_matches(rules->resource, rules->actions, event))
            return true;
    return false;
}

void event_interest_init(struct event_interest *interest, const struct profile *profile)
{
    *interest = (struct event_interest){ 0 };
    for (uint32_t resource = 0; resource < EVENT_RESOURCE_COUNT; resource++)
        for (uint32_t slot = 0; slot < LABELS_PER_RESOURCE; slot++) {
            const struct cluster_event event = {
                .resource = (enum event_resource)resource,
                .actions = slot == LABEL_ALL_ACTIONS  ? ACTION_ALL
                           : slot == LABEL_ANY_UPDATE ? ACTION_UPDATE
                                                      : 1U << slot,
            };
            for (uint32_t i = 0; i < profile->plugins_len; i++)
                if (cares(&profile->plugins[i], &event))
                    interest->plugins[resource][slot] |= (uint64_t)1 << i;
        }
}

uint64_t event_interest_of(const struct event_interest *interest, const struct cluster_event *event)
{
    return interest->plugins[event->resource][action_slot(event->actions)];
}

bool event_helps_always(const struct plugin_instance *instance, const struct cluster_event *event)
{
    for (const struct event_rule *rules = plugin_event_rules(instance); rules->actions; rules++)
        if (!rules->hint && event_matches(rules->resource, rules->actions, event))
            return true;
    return false;
}

enum hint event_hint(const struct profile *profile, uint32_t plugin, struct hint_context *context,
                     const struct pod *pod, const struct cluster_event *event)
{
    const struct plugin_instance *instance = &profile->plugins[plugin];
    context->plugin = instance->plugin;
    context->self = instance->self;
    for (const struct event_rule *rules = plugin_event_rules(instance); rules->actions; rules++) {
        if (!event_matches(rules->resource, rules->actions, event))
            continue;
        if (!rules->hint)
            return HINT_QUEUE;
        context->rule = rules;
        enum hint hint = rules->hint(context, pod, event);
        arena_reset(context->arena);
        if (hint == HINT_QUEUE)
            return HINT_QUEUE;
    }
    return HINT_SKIP;
}

enum narrowing event_narrowing(const struct plugin_instance *instance, const struct cluster_event *event)
{
    enum narrowing found = EVENT_UNNARROWED;
    for (const struct event_rule *rules = plugin_event_rules(instance); rules->actions; rules++) {
        if (!rules->affects || !event_matches(rules->resource, rules->actions, event))
            continue;
        if (rules->affects(NULL, event))
            return EVENT_FOR_ALL;
        found = EVENT_FOR_SOME;
    }
    return found;
}

bool event_affects(const struct plugin_instance *instance, const struct pod *pod,
                   const struct cluster_event *event)
{
    for (const struct event_rule *rules = plugin_event_rules(instance); rules->actions; rules++)
        if (rules->affects && event_matches(rules->resource, rules->actions, event) &&
            rules->affects(pod, event))
            return true;
    return false;
}

/* ---- changes of objects ---- */
bool same_field(enum api_kind kind, const char *path, const void *before, const void *after)
{
    struct record_member member = record_member(api_kinds[kind].type, str_from(path));
    assert(member.field);
    return record_member_equal(member, before, after);
}

static void add_action(struct action_list *list, bool happened, uint32_t action)
{
    if (happened)
        list->items[list->len++] = action;
}

/* ---- nodes ---- */
/* The status of a condition; of two with one name the last counts. */
static const struct str *condition_status(const struct node *node, struct str type)
{
    for (uint32_t i = node->status.conditions.len; i-- > 0;)
        if (str_eq(node->status.conditions.items[i].type, type))
            return &node->status.conditions.items[i].status;
    return NULL;
}

static bool conditions_in(const struct node *node, const struct node *other)
{
    list_for(&node->status.conditions, condition) {
        const struct str *there = condition_status(other, condition->type);
        if (!there || !str_eq(*there, *condition_status(node, condition->type)))
            return false;
    }
    return true;
}

struct action_list node_update_actions(const struct features *features, const struct node *before,
                                       const struct node *after)
{
    struct action_list list = { 0 };
    add_action(&list, before->spec.unschedulable && !after->spec.unschedulable, ACTION_NODE_TAINT);
    add_action(&list, !same_field(KIND_NODE, "status.allocatable", before, after), ACTION_NODE_ALLOCATABLE);
    add_action(&list, !same_field(KIND_NODE, "metadata.labels", before, after), ACTION_NODE_LABEL);
    add_action(&list, !same_field(KIND_NODE, "spec.taints", before, after), ACTION_NODE_TAINT);
    add_action(&list, !conditions_in(before, after) || !conditions_in(after, before), ACTION_NODE_CONDITION);
    add_action(&list, !same_field(KIND_NODE, "metadata.annotations", before, after), ACTION_NODE_ANNOTATION);
    add_action(&list,
               features->release->preemption_policy_is_an_event &&
                   !same_field(KIND_NODE, "spec.podPreemptionPolicy", before, after),
               ACTION_NODE_PREEMPTION_POLICY);
    add_action(&list, !same_field(KIND_NODE, "status.declaredFeatures", before, after),
               ACTION_NODE_DECLARED_FEATURE);
    return list;
}

/* ---- pods ---- */
enum event_resource pod_event_resource(const struct pod *pod)
{
    return pod->spec.node_name.len ? EVENT_ASSIGNED_POD : EVENT_UNSCHEDULED_POD;
}

enum event_resource pod_own_event_resource(const struct features *features, const struct pod *pod)
{
    enum event_resource resource = pod_event_resource(pod);
    return resource == EVENT_UNSCHEDULED_POD && features->release->pod_events_are_divided ? EVENT_TARGET_POD
                                                                                          : resource;
}

/* Does one list have more of something than the other one, or something that is not in it? */
static bool has_more(const struct resource_list *list, const struct resource_list *other)
{
    list_for(list, item) {
        const struct quantity *there = resource_list_get(other, item->name);
        if (!there || quantity_milli_value(item->amount) > quantity_milli_value(*there))
            return true;
    }
    return false;
}

struct action_list pod_update_actions(const struct features *features, const struct pod *before,
                                      const struct pod *after, struct arena *arena)
{
    struct pod_requests_options opts = requests_options(features);
    struct resource_list had, has;
    struct action_list list = { 0 };
    opts.skip_pod_level = false; /* the reference does not ask for the gate here */
    pod_requests(before, opts, arena, &had);
    pod_requests(after, opts, arena, &has);
    add_action(&list, !same_field(KIND_POD, "metadata.labels", before, after), ACTION_POD_LABEL);
    add_action(&list, has_more(&had, &has), ACTION_POD_SCALE_DOWN);
    add_action(&list, features->release->scale_up_is_an_event && has_more(&has, &had), ACTION_POD_SCALE_UP);
    add_action(&list, before->spec.scheduling_gates.len && !after->spec.scheduling_gates.len,
               ACTION_POD_GATES_ELIMINATED);
    /* Tolerations can be added, not changed or removed. */
    add_action(&list, before->spec.tolerations.len != after->spec.tolerations.len, ACTION_POD_TOLERATION);
    add_action(&list,
               !same_field(KIND_POD, "status.resourceClaimStatuses", before, after) ||
                   !same_field(KIND_POD, "status.extendedResourceClaimStatus", before, after),
               ACTION_POD_GENERATED_CLAIM);
    add_action(&list, !list.len, ACTION_UPDATE);
    return list;
}

bool pod_is(const struct pod *a, const struct pod *b)
{
    if (a->meta.uid.len || b->meta.uid.len)
        return str_eq(a->meta.uid, b->meta.uid);
    return str_eq(a->meta.name, b->meta.name) && str_eq(a->meta.namespace, b->meta.namespace);
}

enum hint hint_own_change(const struct hint_context *context, const struct pod *pod,
                          const struct cluster_event *event)
{
    (void)context;
    return pod_is(event->after, pod) ? HINT_QUEUE : HINT_SKIP;
}

bool event_pod_holds_resources(const struct cluster_event *event, const struct pod *pod)
{
    return event->holds_resources || pod->spec.node_name.len || pod->status.nominated_node_name.len;
}
