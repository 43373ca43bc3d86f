/* VolumeZone: a pod goes where its bound volumes are.
 *
 * A volume's zone and region labels ("a__b" lists several) must hold the node's. A node without any such label is
 * in a cluster of one zone, and fits. */
#include "api/labels.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "cluster/volumes.h"
#include "framework/plugin.h"
#include "framework/shortfall.h"
#include "plugins/volume_claims.h"

/* Old names first, in the reference's order; `now` is today's name of the label. */
static const struct {
    struct str key, now;
} topology_labels[] = {
    { STR(LABEL_ZONE_BETA), STR(LABEL_ZONE) },
    { STR(LABEL_REGION_BETA), STR(LABEL_REGION) },
    { STR(LABEL_ZONE), STR(LABEL_ZONE) },
    { STR(LABEL_REGION), STR(LABEL_REGION) },
};

/* What one label of one volume demands. */
struct demand {
    size_t label; /* in topology_labels */
    struct str_list values;
};

struct state {
    struct demand *demands;
    uint32_t len;
};

static void add_demands(struct state *state, const struct pv *pv, struct arena *arena)
{
    for (size_t i = 0; i < ARRAY_SIZE(topology_labels); i++) {
        const struct str *value = str_map_get(&pv->meta.labels, topology_labels[i].key);
        if (!value)
            continue;
        struct str_list zones = volume_zones(*value, true, arena);
        if (!str_list_has(&zones, STR(""))) /* with an empty part, the label means nothing */
            state->demands[state->len++] = (struct demand){ .label = i, .values = zones };
    }
}

static struct status not_found(struct arena *arena, const char *what, struct str name)
{
    return status_printf(arena, STATUS_UNRESOLVABLE, "%s " STR_FMT " not found", what,
                         STR_ARG(quote_go_arena(arena, name)));
}

/* A claim without a volume is fine only if the volume is to be found while scheduling. */
static struct status check_unbound(struct cycle *cycle, const struct pvc *pvc)
{
    struct str class_name = pvc_class_name(pvc);
    if (!class_name.len)
        return reject(STATUS_UNRESOLVABLE, "PersistentVolumeClaim had no pv name and storageClass name");
    const struct storage_class *class = pvc_class(cycle->cluster, pvc);
    if (!class)
        return not_found(cycle->arena, "storageclass.storage.k8s.io", class_name);
    if (storage_class_waits(class))
        return STATUS_OK;
    return reject(STATUS_UNRESOLVABLE, "PersistentVolume had no name");
}

/* What the pod's bound volumes demand of a node's labels. */
static struct status find_demands(struct cycle *cycle)
{
    const struct pod *pod = cycle->pod;
    struct state *state = arena_new(cycle->arena, struct state);
    state->demands =
        arena_array(cycle->arena, struct demand, (size_t)pod->spec.volumes.len * ARRAY_SIZE(topology_labels));
    list_for(&pod->spec.volumes, volume) {
        if (!volume->pvc)
            continue;
        struct str name = volume->pvc->claim_name;
        if (!name.len)
            return reject(STATUS_UNRESOLVABLE, "PersistentVolumeClaim had no name");
        const struct pvc *pvc = cluster_get(&cycle->cluster->pvcs, pod->meta.namespace, name);
        if (!pvc)
            return not_found(cycle->arena, "persistentvolumeclaim", name);
        if (!pvc->spec.volume_name.len) {
            struct status status = check_unbound(cycle, pvc);
            if (!status_ok(status))
                return status;
            continue;
        }
        const struct pv *pv = pvc_volume(cycle->cluster, pvc);
        if (!pv)
            return not_found(cycle->arena, "persistentvolume", pvc->spec.volume_name);
        add_demands(state, pv, cycle->arena);
    }
    *cycle_state(cycle) = state;
    return STATUS_OK;
}

static struct status pre_filter(struct cycle *cycle, _unused_ struct node_names *narrow)
{
    struct status status = find_demands(cycle);
    const struct state *state = *cycle_state(cycle);
    return status_ok(status) && !state->len ? STATUS_SKIPPED : status;
}

static bool has_topology(const struct str_map *labels)
{
    for (size_t i = 0; i < ARRAY_SIZE(topology_labels); i++)
        if (str_map_get(labels, topology_labels[i].key))
            return true;
    return false;
}

static bool demand_met(const struct demand *demand, const struct str_map *labels)
{
    const struct str *value = str_map_get(labels, topology_labels[demand->label].key);
    if (!value)
        value = str_map_get(labels, topology_labels[demand->label].now);
    return value && str_list_has(&demand->values, *value);
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct str_map *labels = &node_api(node)->meta.labels;
    if (!*cycle_state(cycle)) { /* the profile runs the plugin at Filter alone */
        struct status status = find_demands(cycle);
        if (!status_ok(status))
            return status;
    }
    const struct state *state = *cycle_state(cycle);
    if (!has_topology(labels))
        return STATUS_OK;
    for (uint32_t i = 0; i < state->len; i++)
        if (!demand_met(&state->demands[i], labels))
            return reject(STATUS_UNRESOLVABLE, "node(s) had no available volume zone");
    return STATUS_OK;
}

static struct str joined(const struct str_list *values, struct arena *arena)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    list_for(values, value)
        strbuf_printf(&text, "%s" STR_FMT, text.len ? " or " : "", STR_ARG(*value));
    return arena_str(arena, strbuf_slice(&text));
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    const struct str_map *labels = &node_api(node)->meta.labels;
    const struct state *state = *cycle_state(cycle);
    for (uint32_t i = 0; state && i < state->len; i++) {
        const struct demand *demand = &state->demands[i];
        struct str key = topology_labels[demand->label].now, wants = joined(&demand->values, ret->arena);
        if (!demand_met(demand, labels))
            shortfall_add_label(ret, "VolumeZone", key, wants, labels)->sentence = arena_printf(
                ret->arena, "a bound volume is in " STR_FMT "=" STR_FMT, STR_ARG(key), STR_ARG(wants));
    }
}

/* ---- queueing hints ---- */
HINT(class_added)
{
    return storage_class_waits(event->after) ? HINT_QUEUE : HINT_SKIP;
}

/* A volume in other zones than before. */
HINT(volume_changed)
{
    if (!event->before)
        return HINT_QUEUE;
    struct demand before[ARRAY_SIZE(topology_labels)], after[ARRAY_SIZE(topology_labels)];
    struct state was = { before, 0 }, is = { after, 0 };
    add_demands(&was, event->before, context->arena);
    add_demands(&is, event->after, context->arena);
    if (was.len != is.len)
        return HINT_QUEUE;
    for (uint32_t i = 0; i < was.len; i++)
        if (before[i].label != after[i].label || !str_list_same_set(&before[i].values, &after[i].values))
            return HINT_QUEUE;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_STORAGE_CLASS, ACTION_ADD, class_added },
    { EVENT_NODE, ACTION_ADD | ACTION_NODE_LABEL, NULL },
    { EVENT_PVC, ACTION_ADD | ACTION_UPDATE, volume_hint_own_claim },
    { EVENT_PV, ACTION_ADD | ACTION_UPDATE, volume_changed },
    { 0 },
};

const struct plugin plugin_volume_zone = {
    .name = "VolumeZone",
    .ignores_resizes = true,
    .doc = "Keeps pods in the zones of their bound volumes.",
    .reads = READS("metadata.namespace", "spec.volumes"),
    .pre_filter = pre_filter,
    .filter = filter,
    .explain = explain,
    .events = events,
};
