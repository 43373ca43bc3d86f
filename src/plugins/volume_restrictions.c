/* VolumeRestrictions: volumes that cannot be shared.
 *
 * Disks of a few old kinds conflict with the same disk on the same node. A claim that is ReadWriteOncePod conflicts
 * with any pod in the cluster that uses it, so the status is the same for every node; preempting the other pod
 * helps, hence Unschedulable. */
#include <stdlib.h>

#include "api/labels.h"
#include "base/quote.h"
#include "cluster/volumes.h"
#include "framework/plugin.h"
#include "framework/shortfall.h"
#include "plugins/volume_claims.h"

struct disk_list {
    struct disk *items; /* sorted */
    uint32_t len;
};

struct state {
    struct str_list exclusive; /* names of the pod's ReadWriteOncePod claims, each once, sorted */
    int64_t conflicts;         /* uses of them by pods that have a node */
    struct disk_list disks;
};

static bool is_disk(const struct volume *volume)
{
    return volume->gce_pd || volume->aws_ebs || volume->rbd || volume->iscsi;
}

/* ---- disks ---- */
/* Which disk a volume is: the same disk may not be mounted twice, EBS never, the others only when both just read. A
 * disk of RBD is known by each of its monitors. */
struct disk {
    enum { DISK_GCE, DISK_EBS, DISK_ISCSI, DISK_RBD } kind;
    struct str id, pool, monitor;
    bool is_written;
};

/* The API server stores "rbd" where no pool was given. */
static struct str rbd_pool(struct str pool)
{
    return pool.len ? pool : STR("rbd");
}

/* The disks of a volume, at most `cap`; returns how many there are. */
static uint32_t disks_of(const struct volume *volume, struct disk *ret, uint32_t cap)
{
    uint32_t len = 0;
    struct disk found[3];
    if (volume->gce_pd)
        found[len++] = (struct disk){ .kind = DISK_GCE,
                                      .id = volume->gce_pd->pd_name,
                                      .is_written = !volume->gce_pd->read_only };
    if (volume->aws_ebs)
        found[len++] =
            (struct disk){ .kind = DISK_EBS, .id = volume->aws_ebs->volume_id, .is_written = true };
    if (volume->iscsi)
        found[len++] = (struct disk){ .kind = DISK_ISCSI,
                                      .id = volume->iscsi->iqn,
                                      .is_written = !volume->iscsi->read_only };
    for (uint32_t i = 0; i < len && i < cap; i++)
        ret[i] = found[i];
    if (!volume->rbd)
        return len;
    list_for(&volume->rbd->monitors, monitor) {
        if (len < cap)
            ret[len] = (struct disk){ .kind = DISK_RBD,
                                      .id = volume->rbd->image,
                                      .pool = rbd_pool(volume->rbd->pool),
                                      .monitor = *monitor,
                                      .is_written = !volume->rbd->read_only };
        len++;
    }
    return len;
}

static int same_disk_cmp(const struct disk *a, const struct disk *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = str_cmp(a->id, b->id);
    order = order ? order : str_cmp(a->pool, b->pool);
    return order ? order : str_cmp(a->monitor, b->monitor);
}

/* Of one disk that the pod has several times, the entry that is written comes first. */
static int disk_cmp(const void *a, const void *b)
{
    const struct disk *x = a, *y = b;
    int order = same_disk_cmp(x, y);
    return order ? order : (int)y->is_written - (int)x->is_written;
}

/* The pod's disks, sorted: those of other pods are looked up in them. */
static struct disk_list find_disks(const struct pod *pod, struct arena *arena)
{
    uint32_t len = 0;
    list_for(&pod->spec.volumes, volume)
        len += disks_of(volume, NULL, 0);
    struct disk_list list = { arena_array(arena, struct disk, len), 0 };
    list_for(&pod->spec.volumes, volume)
        list.len += disks_of(volume, list.items + list.len, len - list.len);
    if (list.len)
        qsort(list.items, list.len, sizeof(*list.items), disk_cmp);
    return list;
}

static bool disk_conflicts(const struct disk_list *disks, const struct disk *other)
{
    uint32_t low = 0, high = disks->len;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (same_disk_cmp(&disks->items[middle], other) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct disk *found = low < disks->len ? &disks->items[low] : NULL;
    return found && same_disk_cmp(found, other) == 0 && (found->is_written || other->is_written);
}

static bool conflicts_with_pod(const struct disk_list *disks, const struct pod *pod, struct arena *arena)
{
    list_for(&pod->spec.volumes, volume) {
        struct disk few[4], *its = few;
        uint32_t len = is_disk(volume) ? disks_of(volume, few, ARRAY_SIZE(few)) : 0;
        if (len > ARRAY_SIZE(few)) {
            its = arena_array(arena, struct disk, len);
            disks_of(volume, its, len);
        }
        for (uint32_t i = 0; i < len; i++)
            if (disk_conflicts(disks, &its[i]))
                return true;
    }
    return false;
}

/* ---- claims ---- */
static void sort_distinct(struct str_list *list)
{
    uint32_t kept = 0;
    if (list->len)
        qsort(list->items, list->len, sizeof(*list->items), str_qsort_cmp);
    for (uint32_t i = 0; i < list->len; i++)
        if (!kept || !str_eq(list->items[kept - 1], list->items[i]))
            list->items[kept++] = list->items[i];
    list->len = kept;
}

/* The pod's ReadWriteOncePod claims. */
static struct status find_exclusive(struct cycle *cycle, struct str_list *ret)
{
    const struct pod *pod = cycle->pod;
    ret->items = arena_array(cycle->arena, struct str, pod->spec.volumes.len);
    list_for(&pod->spec.volumes, volume) {
        if (!volume->pvc)
            continue;
        struct str name = volume->pvc->claim_name;
        const struct pvc *pvc = cluster_get(&cycle->cluster->pvcs, pod->meta.namespace, name);
        if (!pvc)
            return status_printf(cycle->arena, STATUS_UNRESOLVABLE,
                                 "persistentvolumeclaim " STR_FMT " not found",
                                 STR_ARG(quote_go_arena(cycle->arena, name)));
        if (str_list_has(&pvc->spec.access_modes, STR("ReadWriteOncePod")))
            ret->items[ret->len++] = name;
    }
    sort_distinct(ret);
    return STATUS_OK;
}

static struct status pre_filter(struct cycle *cycle, _unused_ struct node_names *narrow)
{
    const struct pod *pod = cycle->pod;
    struct state *state = arena_new(cycle->arena, struct state);
    struct status status = find_exclusive(cycle, &state->exclusive);
    if (!status_ok(status))
        return status;
    list_for(&state->exclusive, claim)
        state->conflicts += cluster_claim_users(cycle->cluster, pod->meta.namespace, *claim) > 0;
    bool has_disk = false;
    list_for(&pod->spec.volumes, volume)
        has_disk |= is_disk(volume);
    state->disks = find_disks(pod, cycle->arena);
    if (!has_disk && !state->conflicts)
        return STATUS_SKIPPED;
    *cycle_state(cycle) = state;
    return STATUS_OK;
}

/* Each use counts, and the other pod's namespace does not count, as in the reference. */
static int64_t count_uses(const struct state *state, const struct pod *pod)
{
    int64_t uses = 0;
    list_for(&pod->spec.volumes, volume)
        uses += volume->pvc && state->exclusive.len &&
                bsearch(&volume->pvc->claim_name, state->exclusive.items, state->exclusive.len,
                        sizeof(*state->exclusive.items), str_qsort_cmp);
    return uses;
}

static void add_pod(struct cycle *cycle, const struct pod_info *pod, _unused_ struct node_view node)
{
    struct state *state = *cycle_state(cycle);
    state->conflicts += count_uses(state, pod->api);
}

static void remove_pod(struct cycle *cycle, const struct pod_info *pod, _unused_ struct node_view node)
{
    struct state *state = *cycle_state(cycle);
    state->conflicts -= count_uses(state, pod->api);
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct pod_span pods = node_pods(node);
    const struct state *state = *cycle_state(cycle);
    struct disk_list disks = state ? state->disks : find_disks(cycle->pod, cycle->arena);
    for (size_t p = 0; disks.len && p < pods.len; p++)
        if (conflicts_with_pod(&disks, pods.items[p]->api, cycle->arena))
            return reject(STATUS_UNSCHEDULABLE, "node(s) had no available disk");
    if (!state)
        return reject(STATUS_ERROR, "cannot read \"PreFilterVolumeRestrictions\" from cycleState");
    if (state->conflicts > 0)
        return reject(
            STATUS_UNSCHEDULABLE,
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
            "in-use by another pod");
    return STATUS_OK;
}

/* ---- what a node lacks ---- */
static bool has_claim(const struct pod *pod, struct str claim)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc && str_eq(volume->pvc->claim_name, claim))
            return true;
    return false;
}

/* Some pod that has a node and uses the claim. */
static const struct meta *claim_user(const struct cluster *cluster, struct str namespace, struct str claim)
{
    vec_for(&cluster->nodes, node)
        vec_for(&node->pods, pod)
            if (str_eq((*pod)->api->meta.namespace, namespace) && has_claim((*pod)->api, claim))
                return &(*pod)->api->meta;
    return NULL;
}

/* The same for every node. */
static void explain_claims(struct cycle *cycle, const struct state *state, struct shortfall_list *ret)
{
    struct str namespace = cycle->pod->meta.namespace;
    struct idmap *memo = shortfall_memo(ret, cycle);
    for (uint32_t i = 0; i < state->exclusive.len; i++) {
        struct str claim = state->exclusive.items[i];
        const struct meta *user = idmap_get(memo, i + 1);
        if (!user && (user = claim_user(cycle->cluster, namespace, claim)))
            idmap_put(memo, i + 1, (void *)(uintptr_t)user);
        if (!user || shortfall_is_left_out(ret))
            continue;
        struct shortfall *lack = shortfall_add(ret, "VolumeInUse");
        lack->key = claim;
        lack->pod = user;
        lack->sentence =
            arena_printf(ret->arena, "claim " STR_FMT " is ReadWriteOncePod and in use", STR_ARG(claim));
    }
}

static void explain(struct cycle *cycle, struct node_view node, struct shortfall_list *ret)
{
    struct pod_span pods = node_pods(node);
    const struct state *state = *cycle_state(cycle);
    struct disk_list disks = state ? state->disks : find_disks(cycle->pod, cycle->arena);
    for (size_t p = 0; disks.len && p < pods.len; p++) {
        if (!conflicts_with_pod(&disks, pods.items[p]->api, cycle->arena))
            continue;
        struct shortfall *lack = shortfall_add(ret, "VolumeInUse");
        lack->pod = &pods.items[p]->api->meta;
        lack->sentence = STR("a disk of the pod is in use on the node");
        return;
    }
    if (state && state->conflicts > 0)
        explain_claims(cycle, state, ret);
}

/* ---- queueing hints ---- */
static bool claims_share(const struct pod *a, const struct pod *b)
{
    _cleanup_(strmap_release) struct strmap names = { 0 };
    list_for(&a->spec.volumes, volume)
        if (volume->pvc)
            strmap_put(&names, volume->pvc->claim_name, volume);
    list_for(&b->spec.volumes, volume)
        if (volume->pvc && strmap_get(&names, volume->pvc->claim_name))
            return true;
    return false;
}

/* A pod that leaves with a disk or a claim that this one wants. Access modes do not count. */
HINT(pod_deleted)
{
    const struct pod *gone = event->before;
    if (!str_eq(gone->meta.namespace, pod->meta.namespace))
        return HINT_SKIP;
    struct disk_list disks = find_disks(pod, context->arena);
    if (disks.len && conflicts_with_pod(&disks, gone, context->arena))
        return HINT_QUEUE;
    return claims_share(pod, gone) ? HINT_QUEUE : HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted, ANY_POD_RULE },
    { EVENT_ASSIGNED_POD, ACTION_DELETE, pod_deleted, DIVIDED_POD_RULE },
    { EVENT_NODE, ACTION_ADD, NULL },
    { EVENT_PVC, ACTION_ADD, volume_hint_own_claim },
    { 0 },
};

const struct plugin plugin_volume_restrictions = {
    .name = "VolumeRestrictions",
    .ignores_resizes = true,
    .doc = "Keeps disks that cannot be shared, and claims for a single pod, to one user.",
    .reads = READS("metadata.namespace", "spec.volumes"),
    .needs_pre_filter = POINT_BIT(POINT_FILTER),
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .filter = filter,
    .explain = explain,
    .events = events,
};
