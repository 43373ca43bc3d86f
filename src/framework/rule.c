/* rule.c: what follows from a rule for one node at a time. */
#include "framework/rule.h"

static union column_value value_of(enum node_column column, const struct node *node)
{
    switch (column) {
    case COLUMN_NAME:
        return (union column_value){ .name = node->meta.name };
    case COLUMN_UNSCHEDULABLE:
        return (union column_value){ .unschedulable = node->spec.unschedulable };
    case COLUMN_TAINTS:
        return (union column_value){ .taints = { node->spec.taints.items, node->spec.taints.len } };
    case COLUMN_DECLARED_FEATURES:
        return (union column_value){ .declared_features = &node->status.declared_features };
    case COLUMN_LABELS:
    case COLUMN_PORTS:
    case COLUMN_IMAGES:
        break; /* of the model, not of the object */
    }
    return (union column_value){ 0 };
}

union column_value rule_value(enum node_column column, struct node_view view)
{
    const struct node_entry *node = cluster_node(view.cluster, view.row);
    switch (column) {
    case COLUMN_TAINTS: {
        const struct taint_list *list = view.cluster->taint_lists.items[node->taints];
        return (union column_value){ .taints = { list->items, list->len } };
    }
    case COLUMN_LABELS:
        return (union column_value){ .labels = { view.cluster, view.row } };
    case COLUMN_PORTS:
        return (union column_value){ .ports = node_ports(view) };
    case COLUMN_IMAGES:
        return (union column_value){ .images = { node->images.items, node->images.len } };
    default:
        return value_of(column, node->api);
    }
}

const void *rule_prepare(const struct node_rule *rule, struct rule_subject *subject)
{
    subject->failure = STATUS_OK;
    return rule->prepare ? rule->prepare(subject) : subject->pod;
}

struct status rule_status(const struct node_rule *rule, int64_t answer)
{
    if (!answer)
        return STATUS_OK;
    const struct rule_rejection *rejection = &rule->rejections[answer - 1];
    return (struct status){ .code = rejection->code, .len = 1, .reasons = &rejection->reason };
}

/* ---- in a cycle ---- */
struct prepared {
    const struct node_rule *rule; /* NULL: not yet */
    const void *pod;
};

/* The state of a plugin with rules. */
struct rule_state {
    struct prepared filter, score;
    struct cluster *cluster;
};

static struct rule_state *state_of(struct cycle *cycle)
{
    void **slot = cycle_state(cycle);
    if (!*slot) {
        struct rule_state *state = arena_new(cycle->arena, struct rule_state);
        state->cluster = cycle->cluster;
        *slot = state;
    }
    return *slot;
}

static void prepared_release(struct prepared *prepared, struct cluster *cluster)
{
    if (prepared->pod && prepared->rule->release)
        prepared->rule->release((void *)prepared->pod, cluster);
    *prepared = (struct prepared){ 0 };
}

void rule_forget(void *own)
{
    struct rule_state *state = own;
    prepared_release(&state->filter, state->cluster);
    prepared_release(&state->score, state->cluster);
}

/* Success, or Skip where the rule has nothing to say. */
static struct status prepare(struct cycle *cycle, const struct node_rule *rule, struct prepared *ret)
{
    struct rule_subject subject = { .cluster = cycle->cluster,
                                    .pod = cycle->pod,
                                    .class = cycle->info->class,
                                    .self = cycle_self(cycle),
                                    .arena = cycle->arena };
    prepared_release(ret, cycle->cluster); /* a what-if may run PreFilter again */
    *ret = (struct prepared){ rule, rule_prepare(rule, &subject) };
    if (!status_ok(subject.failure))
        return subject.failure;
    return ret->pod ? STATUS_OK : STATUS_SKIPPED;
}

static struct status judge_node(struct cycle *cycle, const struct node_rule *rule, struct prepared *prepared,
                                struct node_view node, int64_t *ret)
{
    if (!prepared->rule && rule->unprepared)
        return status_printf(cycle->arena, STATUS_ERROR, "%s", rule->unprepared);
    if (!prepared->rule)
        (void)prepare(cycle, rule, prepared);
    *ret = prepared->pod ? rule->judge(prepared->pod, rule_value(rule->column, node)) : 0;
    return STATUS_OK;
}

struct status rule_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)narrow;
    return prepare(cycle, cycle->current->plugin->filter_rule, &state_of(cycle)->filter);
}

struct status pre_filter_all_nodes(_unused_ struct cycle *cycle, _unused_ struct node_names *narrow)
{
    return STATUS_OK;
}

struct status rule_filter(struct cycle *cycle, struct node_view node)
{
    const struct node_rule *rule = cycle->current->plugin->filter_rule;
    int64_t answer = 0;
    struct status status = judge_node(cycle, rule, &state_of(cycle)->filter, node, &answer);
    return status_ok(status) ? rule_status(rule, answer) : status;
}

struct status rule_pre_score(struct cycle *cycle)
{
    return prepare(cycle, cycle->current->plugin->score_rule, &state_of(cycle)->score);
}

struct status rule_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    return judge_node(cycle, cycle->current->plugin->score_rule, &state_of(cycle)->score, node, ret);
}

/* ---- hints ---- */
enum hint rule_hint(const struct hint_context *context, const struct pod *pod,
                    const struct cluster_event *event)
{
    const struct node_rule *rule = context->plugin->filter_rule;
    const struct node *before = event->before, *after = event->after;
    struct rule_subject subject = { .cluster = (struct cluster *)context->cluster,
                                    .pod = pod,
                                    .class = context->info->class,
                                    .self = context->self,
                                    .arena = context->arena };
    const void *prepared = rule_prepare(rule, &subject);
    if (!prepared)
        return HINT_QUEUE;
    bool rejected = !before || rule->judge(prepared, value_of(rule->column, before));
    return rejected && !rule->judge(prepared, value_of(rule->column, after)) ? HINT_QUEUE : HINT_SKIP;
}
