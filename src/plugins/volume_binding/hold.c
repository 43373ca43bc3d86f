/* hold.c: assuming, writing and waiting for the volumes of one pod. Texts of failures are the reference's. */
#include "plugins/volume_binding/hold.h"

#include "api/labels.h"
#include "base/quote.h"
#include "plugins/volume_claims.h"

enum { NS_PER_S = 1000000000, DOUBT_S = 10 };

static const struct str no_namespace = { 0 };

/* ---- taking and dropping ---- */
static struct event_subject subject_of(const struct meta *meta, struct arena *arena)
{
    return event_subject_copy(arena, event_subject_of(meta));
}

static bool has_volume(const struct held_claim *held)
{
    return held->volume.name.len;
}

/* A claimRef without uid was written by a user and is still to be completed. */
static bool claim_ref_is_complete(const struct object_ref *ref, struct str namespace, struct str name,
                                  struct str uid)
{
    return ref && str_eq(ref->namespace, namespace) && str_eq(ref->name, name) && str_eq(ref->uid, uid);
}

void hold_take(struct hold *hold, struct cycle *cycle, const struct pod_volumes *volumes,
               struct str node_name)
{
    struct cluster *cluster = cycle->cluster;
    struct arena *arena = cycle->arena;
    uint32_t len = volumes->bindings.len + volumes->provisions.len;
    *hold = (struct hold){ .node_name = arena_str(arena, node_name),
                           .pod = subject_of(&cycle->pod->meta, arena),
                           .claims = arena_array(arena, struct held_claim, len) };
    list_for(&volumes->bindings, binding) {
        const struct pv *pv = binding->pv;
        const struct pvc *pvc = binding->pvc;
        hold->claims[hold->len++] =
            (struct held_claim){ .claim = subject_of(&pvc->meta, arena),
                                 .volume = subject_of(&pv->meta, arena),
                                 .prebound = claim_ref_matches(pv->spec.claim_ref, pvc) };
        const struct object_ref *holder = volumes_claim_ref(volumes_get(cluster, 0), pv);
        if (!claim_ref_is_complete(holder, pvc->meta.namespace, pvc->meta.name, pvc->meta.uid))
            volumes_assume_pv(cluster, pv, pvc);
    }
    list_for(&volumes->provisions, provision) {
        hold->claims[hold->len++] = (struct held_claim){ .claim = subject_of(&provision->pvc->meta, arena) };
        volumes_assume_pvc(cluster, provision->pvc, node_name);
    }
}

void hold_drop(struct hold *hold, struct cluster *cluster)
{
    for (uint32_t i = 0; i < hold->len; i++) {
        const struct held_claim *held = &hold->claims[i];
        const struct event_subject *patched = has_volume(held) ? &held->volume : &held->claim;
        bool done = held->answer && held->answer->kind == ANSWER_DONE && !held->answer->in_doubt;
        /* Where the version that came of a write is not known, nothing is restored: any newer object does that. Where
         * it is in doubt, the stored object counts: if it is out of date, the next write meets a conflict. */
        struct str version = done ? held->answer->resource_version : patched->resource_version;
        if (has_volume(held))
            volumes_restore_pv(cluster, patched->name, version);
        else
            volumes_restore_pvc(cluster, patched->namespace, patched->name, version);
    }
    *hold = (struct hold){ 0 };
}

/* ---- writing ---- */
static struct effect effect_of(const struct hold *hold, const struct held_claim *held)
{
    const struct event_subject *object = has_volume(held) ? &held->volume : &held->claim;
    return (struct effect){
        .kind = has_volume(held) ? EFFECT_PV_CLAIM : EFFECT_PVC_NODE,
        .namespace = object->namespace,
        .name = object->name,
        .uid = object->uid,
        .resource_version = object->resource_version,
        .node = has_volume(held) ? no_namespace : hold->node_name,
        .claim = held->claim,
        .prebound = held->prebound,
    };
}

static struct status write_failed(const struct held_claim *held, struct arena *arena)
{
    struct str text = has_volume(held)
                          ? answer_text(held->answer, "persistentvolumes", held->volume.name, arena)
                          : answer_text(held->answer, "persistentvolumeclaims", held->claim.name, arena);
    return status_printf(arena, STATUS_ERROR, STR_FMT, STR_ARG(text));
}

/* One after the other: after a failure nothing more is written. */
static struct status write_all(struct hold *hold, struct cycle *cycle)
{
    for (uint32_t i = 0; i < hold->len; i++) {
        struct held_claim *held = &hold->claims[i];
        if (!held->answer) {
            struct effect effect = effect_of(hold, held);
            held->answer = cycle_write(cycle, &effect);
        }
        if (held->answer->kind == ANSWER_PENDING)
            return STATUS_WAITING;
        if (held->answer->kind != ANSWER_DONE)
            return write_failed(held, cycle->arena);
    }
    return STATUS_OK;
}

/* ---- waiting ---- */
/* One check of the cluster, with an arena of its own. */
struct check {
    const struct cluster *cluster;
    const struct node *node;
    const struct csi_node *csi_node; /* NULL: none */
    struct arena *arena;
    bool doubt_is_over;
};

#define failed(check, ...) status_printf((check)->arena, STATUS_ERROR, __VA_ARGS__)

static struct str quoted(const struct check *check, struct str text)
{
    return quote_go_arena(check->arena, text);
}

static struct str claim_key(const struct check *check, const struct event_subject *claim)
{
    return quoted(check, arena_printf(check->arena, STR_FMT "/" STR_FMT, STR_ARG(claim->namespace),
                                      STR_ARG(claim->name)));
}

/* Is the stored object from before the write? Without a version to compare, it is until it changes, unless the write
 * had nothing to change. */
static bool is_behind(const struct meta *stored, const struct event_subject *written_over,
                      const struct answer *answer, bool shows_it)
{
    int64_t have, want;
    if (str_to_int64(answer->resource_version, &want) && str_to_int64(stored->resource_version, &have))
        return have < want;
    return !shows_it && str_eq(stored->resource_version, written_over->resource_version);
}

/* Has the cluster caught up with the write? A write that met a conflict may have met its own earlier attempt: not, if
 * the object shows something else, or never changes. */
static struct status check_write(const struct check *check, const struct held_claim *held,
                                 const struct meta *stored, bool shows_it)
{
    const struct event_subject *written_over = has_volume(held) ? &held->volume : &held->claim;
    bool behind = is_behind(stored, written_over, held->answer, shows_it);
    if (held->answer->in_doubt && !shows_it && (!behind || check->doubt_is_over))
        return failed(check,
                      "the object " STR_FMT " has been modified; please apply your changes to the latest "
                      "version and try again",
                      STR_ARG(quoted(check, stored->name)));
    return behind ? STATUS_WAITING : STATUS_OK;
}

/* The node may have lost a label, the volume may have got another affinity. */
static struct status check_affinity(const struct check *check, const struct pv *pv,
                                    const char *translation_failed)
{
    struct csi_translation csi = binder_translate(pv, check->csi_node, check->arena);
    if (csi.why.len)
        return failed(check, "%scould not translate pv: " STR_FMT, translation_failed, STR_ARG(csi.why));
    if (pv_affinity_matches(csi.node_affinity, &check->node->meta.labels))
        return STATUS_OK;
    struct error err;
    bool invalid = node_selector_check(csi.node_affinity, &err) < 0;
    return failed(check, "pv " STR_FMT " node affinity doesn't match node " STR_FMT ": %s",
                  STR_ARG(quoted(check, pv->meta.name)), STR_ARG(quoted(check, check->node->meta.name)),
                  invalid ? err.text : "no matching NodeSelectorTerms");
}

static struct status check_binding(const struct check *check, const struct held_claim *held)
{
    const struct event_subject *volume = &held->volume, *claim = &held->claim;
    const struct pv *pv = cluster_get(&check->cluster->pvs, no_namespace, volume->name);
    if (!pv)
        return failed(check, "failed to check binding: persistentvolumes " STR_FMT " not found",
                      STR_ARG(quoted(check, volume->name)));
    const struct pvc *pvc = cluster_get(&check->cluster->pvcs, claim->namespace, claim->name);
    if (!pvc)
        return failed(check, "failed to check binding: persistentvolumeclaims " STR_FMT " not found",
                      STR_ARG(claim_key(check, claim)));
    const struct object_ref *ref = pv->spec.claim_ref;
    bool ours = claim_ref_is_complete(ref, claim->namespace, claim->name, claim->uid);
    struct status status = check_write(check, held, &pv->meta, ours);
    if (status_ok(status))
        status = check_affinity(check, pv, "failed to translate pv to csi: ");
    if (!status_ok(status))
        return status;
    if (!ref || !ref->uid.len)
        return failed(check, "ClaimRef got reset for pv " STR_FMT, STR_ARG(quoted(check, pv->meta.name)));
    return pvc_fully_bound(pvc) ? STATUS_OK : STATUS_WAITING;
}

static struct status check_provision(const struct check *check, const struct held_claim *held)
{
    const struct event_subject *claim = &held->claim;
    const struct pvc *pvc = cluster_get(&check->cluster->pvcs, claim->namespace, claim->name);
    if (!pvc)
        return failed(check, "failed to check provisioning pvc: persistentvolumeclaims " STR_FMT " not found",
                      STR_ARG(claim_key(check, claim)));
    const struct str *selected = str_map_get(&pvc->meta.annotations, STR(ANNOTATION_SELECTED_NODE));
    bool ours = selected && str_eq(*selected, check->node->meta.name);
    struct status status = check_write(check, held, &pvc->meta, ours);
    if (!status_ok(status))
        return status;
    if (!pvc->meta.annotations.len)
        return failed(check, "selectedNode annotation reset for PVC " STR_FMT,
                      STR_ARG(quoted(check, pvc->meta.name)));
    if (!ours) /* a provisioner that gives up takes the node away */
        return failed(check, "provisioning failed for PVC " STR_FMT, STR_ARG(quoted(check, pvc->meta.name)));
    if (pvc->spec.volume_name.len) {
        const struct pv *pv = cluster_get(&check->cluster->pvs, no_namespace, pvc->spec.volume_name);
        if (!pv) /* it may come later than the claim that names it */
            return STATUS_WAITING;
        status = check_affinity(check, pv, "");
        if (!status_ok(status))
            return status;
    }
    return pvc_fully_bound(pvc) ? STATUS_OK : STATUS_WAITING;
}

static struct status check_all(const struct hold *hold, const struct cycle *cycle, struct arena *arena)
{
    struct check check = { .cluster = cycle->cluster,
                           .arena = arena,
                           .doubt_is_over = cycle->now_ns >= hold->doubt_until_ns };
    uint32_t row = cluster_row(cycle->cluster, hold->node_name);
    if (row == ROW_NONE) {
        struct str name = quoted(&check, hold->node_name);
        return failed(&check, "failed to get node " STR_FMT ": node " STR_FMT " not found", STR_ARG(name),
                      STR_ARG(name));
    }
    check.node = cluster_node(cycle->cluster, row)->api;
    check.csi_node = cluster_get(&cycle->cluster->csi_nodes, no_namespace, hold->node_name);
    if (!cluster_find_pod(cycle->cluster, hold->pod.namespace, hold->pod.name))
        return failed(&check, "pod does not exist any more: pod " STR_FMT " not found",
                      STR_ARG(quoted(&check, hold->pod.name)));
    for (uint32_t i = 0; i < hold->len; i++) {
        const struct held_claim *held = &hold->claims[i];
        struct status status = has_volume(held) ? check_binding(&check, held) : check_provision(&check, held);
        if (!status_ok(status))
            return status;
    }
    return STATUS_OK;
}

static struct status await_all(const struct hold *hold, struct cycle *cycle)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct status status = check_all(hold, cycle, &scratch);
    if (status.code == STATUS_ERROR)
        return status_printf(cycle->arena, STATUS_ERROR, "binding volumes: " STR_FMT,
                             STR_ARG(status_message(status, &scratch)));
    if (status.code != STATUS_WAIT)
        return status;
    if (cycle->now_ns >= hold->deadline_ns)
        return reject(STATUS_ERROR, "binding volumes: context deadline exceeded");
    cycle->wake_ns = MIN(cycle->now_ns + NS_PER_S, hold->deadline_ns);
    return status;
}

struct status hold_bind(struct hold *hold, struct cycle *cycle, int64_t timeout_s)
{
    if (!cycle->writer)
        return STATUS_OK;
    if (!hold->written) {
        struct status status = write_all(hold, cycle);
        if (!status_ok(status))
            return status;
        hold->written = true;
        int64_t timeout_ns;
        if (__builtin_mul_overflow(timeout_s, (int64_t)NS_PER_S, &timeout_ns) ||
            __builtin_add_overflow(cycle->now_ns, timeout_ns, &hold->deadline_ns))
            hold->deadline_ns = INT64_MAX;
        hold->doubt_until_ns = cycle->now_ns + (int64_t)DOUBT_S * NS_PER_S;
    }
    return await_all(hold, cycle);
}
