/* VolumeRestrictions: volumes that cannot be shared.
 *
 * Disks of a few old kinds conflict with the same disk on the same node. A claim that is ReadWriteOncePod conflicts
 * with any pod in the cluster that uses it, so the status is the same for every node; preempting the other pod
 * helps, hence Unschedulable. */
#include "api/labels.h"
#include "base/quote.h"
#include "cluster/volumes.h"
#include "framework/plugin.h"
#include "plugins/volume_claims.h"

struct state {
    struct str_list exclusive; /* names of the pod's ReadWriteOncePod claims, each once */
    int64_t conflicts;         /* uses of them by pods that have a node */
};

static bool is_disk(const struct volume *volume)
{
    return volume->gce_pd || volume->aws_ebs || volume->rbd || volume->iscsi;
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
        if (str_list_has(&pvc->spec.access_modes, STR("ReadWriteOncePod")) && !str_list_has(ret, name))
            ret->items[ret->len++] = name;
    }
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
        uses += volume->pvc && str_list_has(&state->exclusive, volume->pvc->claim_name);
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

static bool share_monitor(const struct str_list *a, const struct str_list *b)
{
    list_for(a, monitor)
        if (str_list_has(b, *monitor))
            return true;
    return false;
}

/* The API server stores "rbd" where no pool was given. */
static struct str rbd_pool(struct str pool)
{
    return pool.len ? pool : STR("rbd");
}

/* Is it the same disk, and may it not be mounted twice? EBS never, the others only when both just read. */
static bool disks_conflict(const struct volume *a, const struct volume *b)
{
    if (a->gce_pd && b->gce_pd && str_eq(a->gce_pd->pd_name, b->gce_pd->pd_name) &&
        !(a->gce_pd->read_only && b->gce_pd->read_only))
        return true;
    if (a->aws_ebs && b->aws_ebs && str_eq(a->aws_ebs->volume_id, b->aws_ebs->volume_id))
        return true;
    if (a->iscsi && b->iscsi && str_eq(a->iscsi->iqn, b->iscsi->iqn) &&
        !(a->iscsi->read_only && b->iscsi->read_only))
        return true;
    return a->rbd && b->rbd && share_monitor(&a->rbd->monitors, &b->rbd->monitors) &&
           str_eq(rbd_pool(a->rbd->pool), rbd_pool(b->rbd->pool)) && str_eq(a->rbd->image, b->rbd->image) &&
           !(a->rbd->read_only && b->rbd->read_only);
}

static bool conflicts_with_pod(const struct volume *volume, const struct pod *pod)
{
    list_for(&pod->spec.volumes, other)
        if (disks_conflict(volume, other))
            return true;
    return false;
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    struct pod_span pods = node_pods(node);
    list_for(&cycle->pod->spec.volumes, volume) {
        if (!is_disk(volume))
            continue;
        for (size_t p = 0; p < pods.len; p++)
            if (conflicts_with_pod(volume, pods.items[p]->api))
                return reject(STATUS_UNSCHEDULABLE, "node(s) had no available disk");
    }
    const struct state *state = *cycle_state(cycle);
    if (!state)
        return reject(STATUS_ERROR, "cannot read \"PreFilterVolumeRestrictions\" from cycleState");
    if (state->conflicts > 0)
        return reject(
            STATUS_UNSCHEDULABLE,
            "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
            "in-use by another pod");
    return STATUS_OK;
}

/* ---- queueing hints ---- */
/* A pod that leaves with a disk or a claim that this one wants. Access modes do not count. */
HINT(pod_deleted)
{
    const struct pod *gone = event->before;
    if (!str_eq(gone->meta.namespace, pod->meta.namespace))
        return HINT_SKIP;
    list_for(&pod->spec.volumes, volume)
        if ((is_disk(volume) && conflicts_with_pod(volume, gone)) ||
            (volume->pvc && volume_claims_include(gone, volume->pvc->claim_name)))
            return HINT_QUEUE;
    return HINT_SKIP;
}

static const struct event_rule events[] = {
    { EVENT_POD, ACTION_DELETE, pod_deleted },
    { EVENT_NODE, ACTION_ADD, NULL },
    { EVENT_PVC, ACTION_ADD, volume_hint_own_claim },
    { 0 },
};

const struct plugin plugin_volume_restrictions = {
    .name = "VolumeRestrictions",
    .doc = "Keeps disks that cannot be shared, and claims for a single pod, to one user.",
    .reads = READS("metadata.namespace", "spec.volumes"),
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .filter = filter,
    .events = events,
};
