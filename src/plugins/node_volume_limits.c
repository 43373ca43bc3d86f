/* NodeVolumeLimits: a node attaches only so many volumes of a CSI driver.
 *
 * A volume counts once per node, however many of its pods use it: those of the pods there, those that are attached
 * though no pod uses them, and those that the pod brings. A volume is known by its driver and handle. A claim that
 * has no volume yet will get one from its class's driver; it is known by the claim's name.
 *
 * What the pod brings depends on the node in one thing only: volumes of migrated in-tree kinds count where the node
 * has a CSINode. Both answers are made in PreFilter. */
#include <stdlib.h>

#include "api/labels.h"
#include "base/quote.h"
#include "cluster/volumes.h"
#include "framework/plugin.h"
#include "framework/shortfall.h"
#include "plugins/csi_translation.h"
#include "plugins/volume_claims.h"

struct attachable {
    uint64_t hash;
    struct str driver, handle;
    bool unbound; /* the handle is the name of a claim */
};

/* Found by hash, as a pod and a node may have many. */
struct attachables {
    struct attachable *items; /* distinct */
    uint32_t *table;          /* twice as many places as items have space: number + 1, or 0 */
    uint32_t len, cap;        /* cap is a power of two or 0 */
};

struct brought {
    struct status status;
    struct attachables volumes;
    /* Drivers that a node must have, in the order of the volumes: their CSIDriver asks for it. Which of several the
     * reference names, if more than one is missing, is random. */
    struct str_list required;
};

struct state {
    const struct volumes *volumes;
    struct brought brought[2]; /* without and with a CSINode */
};

static bool attachable_eq(const struct attachable *a, const struct attachable *b)
{
    return a->hash == b->hash && a->unbound == b->unbound && str_eq(a->driver, b->driver) &&
           str_eq(a->handle, b->handle);
}

/* The place in the table that leads to the item, or the free one where it belongs. */
static uint32_t *attachables_place(const struct attachables *set, const struct attachable *item)
{
    uint32_t mask = set->cap * 2 - 1, at = (uint32_t)item->hash & mask;
    while (set->table[at] && !attachable_eq(&set->items[set->table[at] - 1], item))
        at = (at + 1) & mask;
    return &set->table[at];
}

/* Is it among the first `len` items? */
static bool attachables_have(const struct attachables *set, uint32_t len, const struct attachable *item)
{
    uint32_t number = set->cap ? *attachables_place(set, item) : 0;
    return number && number <= len;
}

static void attachables_grow(struct attachables *set, struct arena *arena)
{
    set->cap = set->cap ? set->cap * 2 : 8;
    set->items = arena_copy(arena, struct attachable, set->items, set->len, set->cap);
    set->table = arena_array(arena, uint32_t, (size_t)set->cap * 2);
    for (uint32_t i = 0; i < set->len; i++)
        *attachables_place(set, &set->items[i]) = i + 1;
}

static void attachables_add(struct attachables *set, struct attachable item, struct arena *arena)
{
    item.hash = table_hash(item.driver) * 31 + table_hash(item.handle);
    if (attachables_have(set, set->len, &item))
        return;
    if (set->len == set->cap)
        attachables_grow(set, arena);
    set->items[set->len++] = item;
    *attachables_place(set, &item) = set->len;
}

/* ---- which volume is it? ---- */
/* A claim that has no volume: its class names the driver. False: it does not count. */
static bool identify_unbound(const struct cluster *cluster, const struct pvc *pvc, bool has_csi_node,
                             struct arena *arena, struct attachable *ret)
{
    const struct storage_class *class = pvc_class(cluster, pvc);
    if (!class)
        return false;
    *ret = (struct attachable){ .driver = class->provisioner, .unbound = true };
    const struct csi_kind *kind = csi_kind_find(class->provisioner);
    if (kind) {
        if (!kind->migrated || !has_csi_node)
            return false;
        ret->driver = kind->driver;
    }
    ret->handle = arena_printf(arena, META_FMT, META_ARG(&pvc->meta));
    return ret->driver.len > 0;
}

static bool identify_claim(const struct cluster *cluster, const struct pvc *pvc, bool has_csi_node,
                           struct arena *arena, struct attachable *ret)
{
    const struct pv *pv = pvc_volume(cluster, pvc);
    if (!pv)
        return identify_unbound(cluster, pvc, has_csi_node, arena, ret);
    if (pv->spec.csi) {
        *ret = (struct attachable){ .driver = pv->spec.csi->driver, .handle = pv->spec.csi->volume_handle };
        return ret->driver.len && ret->handle.len;
    }
    const struct csi_kind *kind = csi_kind_of_pv(pv);
    if (!kind || !kind->migrated || !has_csi_node)
        return false;
    struct csi_translation csi = csi_translate_pv(pv, arena);
    *ret = (struct attachable){ .driver = csi.driver, .handle = csi.handle };
    return !csi.why.len && csi.handle.len > 0;
}

/* A volume written in the pod itself: only migrated in-tree kinds count. */
static struct status add_inline(const struct volume *volume, bool has_csi_node, struct attachables *ret,
                                struct arena *arena)
{
    const struct csi_kind *kind = csi_kind_of_volume(volume);
    if (!kind || !kind->migrated || !has_csi_node)
        return STATUS_OK;
    struct csi_translation csi = csi_translate_volume(volume, arena);
    if (csi.why.len)
        return status_printf(arena, STATUS_ERROR,
                             "converting volume(" STR_FMT ") from inline to csi: " STR_FMT,
                             STR_ARG(volume->name), STR_ARG(csi.why));
    attachables_add(ret, (struct attachable){ .driver = csi.driver, .handle = csi.handle }, arena);
    return STATUS_OK;
}

/* Adds the volumes of a pod that a driver attaches. A new pod needs all of its claims to exist; others do not. */
static struct status add_volumes(const struct cluster *cluster, const struct pod *pod, bool has_csi_node,
                                 bool is_new, struct attachables *ret, struct arena *arena)
{
    struct status status = STATUS_OK;
    list_for(&pod->spec.volumes, volume) {
        if (!status_ok(status))
            return status;
        struct volume_claim claim;
        if (!volume_claim_of(pod, volume, arena, &claim)) {
            status = add_inline(volume, has_csi_node, ret, arena);
            continue;
        }
        if (!claim.name.len)
            return reject(STATUS_ERROR, "PersistentVolumeClaim had no name");
        const struct pvc *pvc = cluster_get(&cluster->pvcs, pod->meta.namespace, claim.name);
        if (!pvc && is_new)
            return status_printf(arena, STATUS_UNRESOLVABLE,
                                 "looking up PVC " STR_FMT "/" STR_FMT ": persistentvolumeclaim " STR_FMT
                                 " not found",
                                 STR_ARG(pod->meta.namespace), STR_ARG(claim.name),
                                 STR_ARG(quote_go_arena(arena, claim.name)));
        if (!pvc)
            continue;
        struct attachable item;
        if (claim.ephemeral)
            status = volume_claim_check_owner(pod, pvc, STATUS_ERROR, arena);
        if (identify_claim(cluster, pvc, has_csi_node, arena, &item))
            attachables_add(ret, item, arena);
    }
    return status;
}

static void list_required(const struct cluster *cluster, struct brought *brought, struct arena *arena)
{
    brought->required.items = arena_array(arena, struct str, brought->volumes.len);
    for (uint32_t i = 0; i < brought->volumes.len; i++) {
        struct str name = brought->volumes.items[i].driver;
        const struct csi_driver *driver = cluster_get(&cluster->csi_drivers, (struct str){ 0 }, name);
        if (driver && driver->prevent_pod_scheduling_if_missing.value)
            brought->required.items[brought->required.len++] = name;
    }
}

static const struct state *find_volumes(struct cycle *cycle)
{
    struct state *state = arena_new(cycle->arena, struct state);
    state->volumes = volumes_get(cycle->cluster, VOLUMES_ATTACHMENTS);
    for (int with = 0; with < 2; with++) {
        struct brought *brought = &state->brought[with];
        brought->status =
            add_volumes(cycle->cluster, cycle->pod, with, true, &brought->volumes, cycle->arena);
        if (cycle->cluster->features.enabled[FEATURE_VolumeLimitScaling])
            list_required(cycle->cluster, brought, cycle->arena);
    }
    *cycle_state(cycle) = state;
    return state;
}

/* Has the pod a volume that may be attached by a driver? */
static bool may_attach(const struct pod *pod)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc || volume->ephemeral || csi_kind_of_volume(volume))
            return true;
    return false;
}

static struct status pre_filter(struct cycle *cycle, _unused_ struct node_names *narrow)
{
    if (!may_attach(cycle->pod))
        return STATUS_SKIPPED;
    (void)find_volumes(cycle);
    return STATUS_OK;
}

/* ---- limits ---- */
/* The limit that an entry of a CSINode sets. */
static int64_t entry_limit(const struct csi_node_driver *entry, int64_t if_none)
{
    return entry->allocatable && entry->allocatable->count.set ? entry->allocatable->count.value : if_none;
}

/* The node's limit for a driver; of two entries with one name the last that has a limit holds. */
static int64_t driver_limit(const struct csi_node *csi_node, struct str driver)
{
    int64_t limit = INT64_MAX;
    list_for(&csi_node->drivers, entry)
        if (str_eq(entry->name, driver))
            limit = entry_limit(entry, limit);
    return limit;
}

static bool has_limits(const struct csi_node *csi_node)
{
    list_for(&csi_node->drivers, entry)
        if (entry_limit(entry, INT64_MAX) != INT64_MAX)
            return true;
    return false;
}

/* Attached according to the API, though perhaps no pod here uses it any more. */
static void add_attachments(const struct state *state, struct node_view node, struct attachables *ret,
                            struct arena *arena)
{
    struct attachment_span span = volumes_attachments(state->volumes, node_name(node));
    for (size_t i = 0; i < span.len; i++) {
        const struct volume_attachment *attachment = span.items[i];
        if (!attachment->attacher.len || !attachment->pv_name.len)
            continue;
        const struct pv *pv = cluster_get(&node.cluster->pvs, (struct str){ 0 }, attachment->pv_name);
        if (pv && pv->spec.csi)
            attachables_add(
                ret,
                (struct attachable){ .driver = attachment->attacher, .handle = pv->spec.csi->volume_handle },
                arena);
    }
}

/* Volumes of a driver: what the pod brings, and what the node has. */
struct driver_count {
    struct str driver;
    int64_t brings, used;
};

static bool exceeds_limit_of_one(const struct attachable *item, const struct attachables *used, uint32_t here,
                                 const struct csi_node *csi_node)
{
    int64_t count = 1;
    if (attachables_have(used, here, item))
        return false;
    for (uint32_t i = 0; i < used->len; i++)
        count += str_eq(used->items[i].driver, item->driver);
    return count > driver_limit(csi_node, item->driver);
}

/* Does the pod bring more volumes of a driver than the node can attach? A volume of this pod that a pod here uses is no
 * new one (they are the first `here` of those in use); one that is merely attached is. */
static bool exceeds_limits(const struct attachables *brought, const struct attachables *used, uint32_t here,
                           const struct csi_node *csi_node)
{
    struct strmap drivers = { 0 };
    bool exceeds = false;
    if (brought->len == 1) /* the usual pod: nothing to tell apart */
        return exceeds_limit_of_one(&brought->items[0], used, here, csi_node);
    for (uint32_t i = 0; i < brought->len; i++) {
        if (attachables_have(used, here, &brought->items[i]))
            continue;
        struct driver_count *count = strmap_make(&drivers, brought->items[i].driver, sizeof(*count));
        count->brings++;
    }
    for (uint32_t i = 0; drivers.len && i < used->len; i++) {
        struct driver_count *count = strmap_get(&drivers, used->items[i].driver);
        if (count)
            count->used++;
    }
    map_for(&drivers, slot) {
        const struct driver_count *count = slot->value;
        exceeds |= count->used + count->brings > driver_limit(csi_node, count->driver);
        free(slot->value);
    }
    strmap_release(&drivers);
    return exceeds;
}

/* A driver that the node must have and has not, or NULL. */
static const struct str *missing_driver(const struct brought *brought, const struct csi_node *csi_node)
{
    list_for(&brought->required, name) {
        bool found = false;
        for (uint32_t i = 0; csi_node && i < csi_node->drivers.len && !found; i++)
            found = str_eq(csi_node->drivers.items[i].name, *name);
        if (!found)
            return name;
    }
    return NULL;
}

/* The volumes that the node has: first those of its pods, then others that are attached. */
static struct status find_used(struct cycle *cycle, const struct state *state, struct node_view node,
                               struct attachables *ret, uint32_t *ret_here)
{
    struct pod_span pods = node_pods(node);
    *ret = (struct attachables){ 0 };
    for (size_t i = 0; i < pods.len; i++) {
        struct status status = add_volumes(node.cluster, pods.items[i]->api, true, false, ret, cycle->arena);
        if (!status_ok(status))
            return status;
    }
    *ret_here = ret->len;
    add_attachments(state, node, ret, cycle->arena);
    return STATUS_OK;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    const struct state *state = *cycle_state(cycle);
    if (!state) /* the profile runs the plugin at Filter alone */
        state = find_volumes(cycle);
    const struct csi_node *csi_node =
        cluster_get(&node.cluster->csi_nodes, (struct str){ 0 }, node_name(node));
    const struct brought *brought = &state->brought[csi_node != NULL];
    if (!status_ok(brought->status) || !brought->volumes.len)
        return brought->status;
    const struct str *missing = missing_driver(brought, csi_node);
    if (missing)
        return status_printf(cycle->arena, STATUS_UNSCHEDULABLE,
                             STR_FMT " CSI driver is not installed on the node", STR_ARG(*missing));
    if (!csi_node || !has_limits(csi_node))
        return STATUS_OK;

    struct attachables used;
    uint32_t here;
    struct status status = find_used(cycle, state, node, &used, &here);
    if (!status_ok(status))
        return status;
    if (exceeds_limits(&brought->volumes, &used, here, csi_node))
        return reject(STATUS_UNSCHEDULABLE, "node(s) exceed max volume count");
    return STATUS_OK;
}

/* ---- what a node lacks ---- */
static bool is_first_of_driver(const struct attachables *set, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (str_eq(set->items[i].driver, set->items[number].driver))
            return false;
    return true;
}

/* How many volumes of the driver are in the set and not among the first `here` of the other. */
static int64_t count_of(const struct attachables *set, struct str driver, const struct attachables *other,
                        uint32_t here)
{
    int64_t count = 0;
    for (uint32_t i = 0; i < set->len; i++)
        count += str_eq(set->items[i].driver, driver) && !attachables_have(other, here, &set->items[i]);
    return count;
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    static const struct attachables none;
    const struct state *state = *cycle_state(cycle);
    const struct csi_node *csi_node =
        cluster_get(&node.cluster->csi_nodes, (struct str){ 0 }, node_name(node));
    const struct brought *brought = state ? &state->brought[csi_node != NULL] : NULL;
    const struct str *missing = brought ? missing_driver(brought, csi_node) : NULL;
    struct attachables used;
    uint32_t here;
    if (missing) {
        struct shortfall *lack = shortfall_add(ret, "Driver");
        lack->key = *missing;
        lack->sentence = arena_printf(ret->arena, "the CSI driver " STR_FMT " is not installed on the node",
                                      STR_ARG(*missing));
        return;
    }
    if (!brought || !csi_node || !status_ok(find_used(cycle, state, node, &used, &here)))
        return;
    for (uint32_t i = 0; i < brought->volumes.len; i++) {
        struct str driver = brought->volumes.items[i].driver;
        if (!is_first_of_driver(&brought->volumes, i))
            continue;
        int64_t limit = driver_limit(csi_node, driver), taken = count_of(&used, driver, &none, 0);
        int64_t brings = count_of(&brought->volumes, driver, &used, here);
        if (brings && taken + brings > limit)
            shortfall_add_amount(ret, arena_printf(ret->arena, "volumes of " STR_FMT, STR_ARG(driver)),
                                 brings, limit - taken, limit);
    }
}

/* ---- queueing hints ---- */
HINT(pod_deleted)
{
    const struct pod *gone = event->before;
    return event_pod_holds_resources(event, gone) && may_attach(gone) ? HINT_QUEUE : HINT_SKIP;
}

/* A volume was detached somewhere: of any driver for a pod with claims, else of the driver that the pod needs. */
HINT(attachment_deleted)
{
    const struct volume_attachment *gone = event->before;
    list_for(&pod->spec.volumes, volume) {
        const struct csi_kind *kind = csi_kind_of_volume(volume);
        if (volume->pvc)
            return HINT_QUEUE;
        if (kind && (str_eq(kind->driver, gone->attacher) ||
                     (kind->migrated && csi_translate_volume(volume, context->arena).why.len)))
            return HINT_QUEUE;
    }
    return HINT_SKIP;
}

/* The limit of a driver by name; of two entries the last one holds, and none is 0. */
static int64_t reported_limit(const struct csi_node *csi_node, struct str driver)
{
    int64_t limit = 0;
    list_for(&csi_node->drivers, entry)
        if (str_eq(entry->name, driver))
            limit = entry_limit(entry, 0);
    return limit;
}

HINT(csi_node_changed)
{
    const struct csi_node *before = event->before, *after = event->after;
    list_for(&after->drivers, driver)
        if (entry_limit(driver, 0) > reported_limit(before, driver->name))
            return HINT_QUEUE;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_CSI_NODE, ACTION_ADD, NULL },
    { EVENT_CSI_NODE, ACTION_UPDATE, csi_node_changed },
    { EVENT_POD, ACTION_DELETE, pod_deleted, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_DELETE, pod_deleted, DIVIDED_POD_RULE },
    { EVENT_PVC, ACTION_ADD, volume_hint_any_claim },
    { EVENT_VOLUME_ATTACHMENT, ACTION_DELETE, attachment_deleted },
    { 0 },
};

const struct plugin plugin_node_volume_limits = {
    .name = "NodeVolumeLimits",
    .ignores_resizes = true,
    .doc = "Keeps the number of volumes of a CSI driver on a node within what the driver reports.",
    .reads = READS("metadata.namespace", "spec.volumes"),
    .pre_filter = pre_filter,
    .filter = filter,
    .explain = explain,
    .events = events,
};
