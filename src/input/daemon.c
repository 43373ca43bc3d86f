/* daemon.c: the part of the DaemonSet controller that chooses nodes; see daemon.h. */
#include "input/daemon.h"

#include "api/labels.h"
#include "api/taints.h"
#include "input/admission.h"

#define NAME_FIELD "metadata.name"
#define MIRROR_ANNOTATION "kubernetes.io/config.mirror"

void daemon_tolerations(struct pod_spec *spec, struct arena *arena)
{
    static const struct {
        struct str key, effect;
        bool host_network_only;
    } rows[] = {
        { STR("node.kubernetes.io/not-ready"), STR(TAINT_NO_EXECUTE), false },
        { STR("node.kubernetes.io/unreachable"), STR(TAINT_NO_EXECUTE), false },
        { STR("node.kubernetes.io/disk-pressure"), STR(TAINT_NO_SCHEDULE), false },
        { STR("node.kubernetes.io/memory-pressure"), STR(TAINT_NO_SCHEDULE), false },
        { STR("node.kubernetes.io/pid-pressure"), STR(TAINT_NO_SCHEDULE), false },
        { STR("node.kubernetes.io/unschedulable"), STR(TAINT_NO_SCHEDULE), false },
        { STR("node.kubernetes.io/network-unavailable"), STR(TAINT_NO_SCHEDULE), true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (rows[i].host_network_only && !spec->host_network)
            continue;
        const struct toleration toleration = {
            .key = rows[i].key,
            .operator= STR("Exists"),
            .effect = rows[i].effect,
        };
        tolerations_set(spec, &toleration, arena);
    }
}

bool daemon_wants_node(const struct pod_spec *spec, const struct node *node)
{
    if (!str_empty(spec->node_name) && !str_eq(spec->node_name, node->meta.name))
        return false;
    if (!str_map_contains_all(&node->meta.labels, &spec->node_selector))
        return false;
    const struct node_affinity *affinity = spec->affinity ? spec->affinity->node : NULL;
    if (affinity && affinity->required &&
        !node_selector_matches(affinity->required, node->meta.name, &node->meta.labels))
        return false;
    return !taints_find_untolerated(node->spec.taints.items, node->spec.taints.len, spec->tolerations.items,
                                    spec->tolerations.len, taint_is_hard, false);
}

void daemon_pin(struct pod_spec *spec, struct str node, struct arena *arena)
{
    struct str *value = arena_copy(arena, struct str, &node, 1, 1);
    struct selector_requirement *field = arena_new(arena, struct selector_requirement);
    *field = (struct selector_requirement){
        .key = STR(NAME_FIELD),
        .operator= STR("In"),
        .op = OP_IN,
        .values = { value, 1 },
    };
    struct node_selector_term *term = arena_new(arena, struct node_selector_term);
    term->match_fields.items = field;
    term->match_fields.len = 1;
    struct node_selector *selector = arena_new(arena, struct node_selector);
    selector->terms.items = term;
    selector->terms.len = 1;

    struct affinity *affinity = arena_new(arena, struct affinity);
    struct node_affinity *node_affinity = arena_new(arena, struct node_affinity);
    if (spec->affinity)
        *affinity = *spec->affinity;
    if (affinity->node)
        *node_affinity = *affinity->node;
    node_affinity->required = selector;
    affinity->node = node_affinity;
    spec->affinity = affinity;
}

struct str daemon_node(const struct pod *pod)
{
    if (!str_empty(pod->spec.node_name))
        return pod->spec.node_name;
    const struct node_affinity *affinity = pod->spec.affinity ? pod->spec.affinity->node : NULL;
    if (!affinity || !affinity->required)
        return (struct str){ 0 };
    list_for(&affinity->required->terms, term)
        list_for(&term->match_fields, field)
            if (str_is(field->key, NAME_FIELD) && field->op == OP_IN && field->values.len == 1)
                return field->values.items[0];
    return (struct str){ 0 };
}

bool pod_stays_with_node(const struct pod *pod)
{
    const struct owner_ref *owner = controller_of(&pod->meta);
    return (owner && str_is(owner->kind, "DaemonSet")) ||
           str_map_get(&pod->meta.annotations, STR(MIRROR_ANNOTATION));
}
