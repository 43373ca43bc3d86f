/* binder.c: the decisions of VolumeBinding. */
#include "plugins/volume_binding/binder.h"

#include <stdlib.h>

#include "api/labels.h"
#include "framework/shortfall.h"
#include "plugins/volume_claims.h"

static const struct str no_namespace = { 0 };

/* ---- the claims of a pod ---- */
static void add_bound(struct pod_claims *claims, const struct cluster *cluster, const struct pvc *pvc,
                      struct arena *arena)
{
    struct bound_claim *claim = &claims->bound.items[claims->bound.len++];
    claim->pv = pvc_volume(cluster, pvc);
    const struct csi_kind *kind = claim->pv ? csi_kind_of_pv(claim->pv) : NULL;
    if (!kind || !kind->migrated)
        return;
    claim->kind = kind;
    claim->csi = csi_translate_pv(claim->pv, arena);
}

static void add_waiting(struct pod_claims *claims, struct cluster *cluster, const struct pvc *pvc,
                        struct strmap *alike, struct strmap *provisioners, struct arena *arena)
{
    const struct volumes *volumes = volumes_get(cluster, VOLUMES_PVS);
    struct waiting_claim *claim = &claims->waiting.items[claims->waiting.len++];
    claim->pvc = pvc;
    claim->selected_node = volumes_selected_node(volumes, pvc);
    claim->size = storage_amount(&pvc->spec.resources.requests, NULL);
    if (!claim->selected_node)
        pv_choice_init(&claim->choice, alike, volumes, pvc, claim->size, arena);
    provision_wish_init(&claim->wish, provisioners, cluster, pvc, arena);
}

/* In the order of the pod where the sizes are equal: the claims are in an array in that order. */
static int smaller_request_first(const void *x, const void *y)
{
    const struct waiting_claim *a = *(const struct waiting_claim *const *)x,
                               *b = *(const struct waiting_claim *const *)y;
    return quantity_cmp(a->size, b->size) ?: (a > b) - (a < b);
}

/* So that large volumes stay for large claims. */
static void sort_by_size(struct pod_claims *claims)
{
    list_for(&claims->waiting, claim)
        if (!claim->selected_node)
            claims->to_match.items[claims->to_match.len++] = claim;
    if (claims->to_match.len)
        qsort(claims->to_match.items, claims->to_match.len, sizeof(*claims->to_match.items),
              smaller_request_first);
}

static bool waits_for_node(const struct cluster *cluster, const struct pvc *pvc)
{
    const struct storage_class *class = pvc->spec.volume_name.len ? NULL : pvc_class(cluster, pvc);
    return class && storage_class_waits(class);
}

bool binder_is_immediate(const struct cluster *cluster, const struct pvc *pvc)
{
    return !pvc_fully_bound(pvc) && !waits_for_node(cluster, pvc);
}

void binder_claims(struct cluster *cluster, const struct pod *pod, struct arena *arena,
                   struct pod_claims *ret)
{
    _cleanup_(strmap_release) struct strmap alike = { 0 }, provisioners = { 0 };
    uint32_t volumes = pod->spec.volumes.len;
    *ret = (struct pod_claims){
        .bound.items = arena_array(arena, struct bound_claim, volumes),
        .waiting.items = arena_array(arena, struct waiting_claim, volumes),
        .to_match.items = arena_array(arena, const struct waiting_claim *, volumes),
    };
    list_for(&pod->spec.volumes, volume) {
        struct volume_claim claim;
        if (!volume_claim_of(pod, volume, arena, &claim))
            continue;
        const struct pvc *pvc = cluster_get(&cluster->pvcs, pod->meta.namespace, claim.name);
        if (!pvc || binder_is_immediate(cluster, pvc))
            ret->has_immediate = true;
        else if (pvc_fully_bound(pvc))
            add_bound(ret, cluster, pvc, arena);
        else
            add_waiting(ret, cluster, pvc, &alike, &provisioners, arena);
    }
    ret->matches = (uint32_t)alike.len;
    ret->provisioners = (uint32_t)provisioners.len;
    sort_by_size(ret);
}

/* ---- a node ---- */
/* Does the node list the in-tree kind among those that its CSI drivers took over? */
static bool is_migrated_on(const struct csi_node *csi_node, struct str in_tree)
{
    const struct str *list =
        csi_node ? str_map_get(&csi_node->meta.annotations, STR(ANNOTATION_MIGRATED_PLUGINS)) : NULL;
    for (struct str rest = list ? *list : no_namespace; rest.len;) {
        ptrdiff_t comma = str_find(rest, ',');
        size_t end = comma < 0 ? rest.len : (size_t)comma;
        if (str_eq(str_slice(rest, 0, end), in_tree))
            return true;
        rest = str_slice(rest, MIN(end + 1, rest.len), rest.len);
    }
    return false;
}

struct csi_translation binder_translate(const struct pv *pv, const struct csi_node *csi_node,
                                        struct arena *arena)
{
    const struct csi_kind *kind = csi_kind_of_pv(pv);
    if (kind && kind->migrated && is_migrated_on(csi_node, kind->in_tree))
        return csi_translate_pv(pv, arena);
    return (struct csi_translation){ .node_affinity = pv->spec.node_affinity };
}

/* At most one claim of each kind: the search stops there. */
struct findings {
    bool bound_mismatch, no_match, no_space, volume_gone;
    const struct pv *bound;               /* of bound_mismatch, */
    const struct node_selector *affinity; /* and where it can be used */
    const struct waiting_claim *waiting;  /* of no_match and no_space */
};

/* Stops at the first claim that does not fit. */
static struct status check_bound(const struct cluster *cluster, const struct pod_claims *claims,
                                 const struct node *node, struct arena *arena, struct findings *findings)
{
    list_for(&claims->bound, claim) {
        if (!claim->pv) {
            findings->volume_gone = true;
            break;
        }
        const struct node_selector *affinity = claim->pv->spec.node_affinity;
        const struct csi_node *csi_node =
            claim->kind ? cluster_get(&cluster->csi_nodes, no_namespace, node->meta.name) : NULL;
        if (claim->kind && is_migrated_on(csi_node, claim->kind->in_tree)) {
            if (claim->csi.why.len)
                return status_printf(arena, STATUS_ERROR, "could not translate pv: " STR_FMT,
                                     STR_ARG(claim->csi.why));
            affinity = claim->csi.node_affinity;
        }
        if (!pv_affinity_matches(affinity, &node->meta.labels)) {
            findings->bound_mismatch = true;
            findings->bound = claim->pv;
            findings->affinity = affinity;
            break;
        }
    }
    return STATUS_OK;
}

/* Volumes that exist, for claims that are free to choose. The rest is left to provision. */
static struct status match_volumes(const struct pod_claims *claims, const struct node *node,
                                   struct arena *arena, struct pod_volumes *ret,
                                   const struct waiting_claim **left, uint32_t *left_len)
{
    _cleanup_(idmap_release) struct idmap taken = { 0 };
    _cleanup_(freep) struct pv_search *searches = xcalloc(claims->matches, sizeof(*searches));
    VEC(struct volume_match) bindings = { 0 };
    list_for(&claims->to_match, item) {
        const struct waiting_claim *claim = *item;
        const struct pv_match *match = claim->choice.match;
        if (match->why.len) {
            vec_release(&bindings);
            return status_printf(arena, STATUS_ERROR,
                                 "error creating internal label selector for claim: " META_FMT ": " STR_FMT,
                                 META_ARG(&claim->pvc->meta), STR_ARG(match->why));
        }
        const struct pv *pv = pv_choice_find(&claim->choice, searches, &node->meta.labels, &taken);
        if (pv)
            *vec_push(&bindings) = (struct volume_match){ .pv = pv, .pvc = claim->pvc };
        else
            left[(*left_len)++] = claim;
    }
    ret->bindings.len = (uint32_t)bindings.len;
    ret->bindings.items = arena_copy(arena, struct volume_match, bindings.items, bindings.len, bindings.len);
    vec_release(&bindings);
    return STATUS_OK;
}

static void note_rejection(enum provision_result result, const struct waiting_claim *claim,
                           struct findings *findings)
{
    findings->waiting = claim;
    findings->no_match = result == PROVISION_NO_MATCH;
    findings->no_space = result == PROVISION_NO_SPACE;
}

/* Stops at the first claim for which no volume can be made. */
static void check_provisions(const struct pod_claims *claims, const struct waiting_claim *const *left,
                             uint32_t len, const struct node *node, struct arena *arena,
                             struct pod_volumes *ret, struct findings *findings)
{
    struct provision_reach *reaches = provision_reaches(claims->provisioners);
    _cleanup_(freep) struct provision *provisions = xcalloc(len, sizeof(*provisions));
    enum provision_result result = PROVISION_OK;
    for (uint32_t i = 0; i < len && result == PROVISION_OK; i++) {
        provisions[i].pvc = left[i]->pvc;
        result = provision_check(&left[i]->wish, reaches, &node->meta.labels, &provisions[i].pool);
        if (result != PROVISION_OK)
            note_rejection(result, left[i], findings);
    }
    if (result == PROVISION_OK) {
        ret->provisions.items = arena_copy(arena, struct provision, provisions, len, len);
        ret->provisions.len = len;
    }
    provision_reaches_free(reaches, claims->provisioners);
}

static struct status check_waiting(const struct pod_claims *claims, const struct node *node,
                                   struct arena *arena, struct pod_volumes *ret, struct findings *findings)
{
    _cleanup_(freep) const struct waiting_claim **left = xcalloc(claims->waiting.len, sizeof(*left));
    uint32_t left_len = 0;
    list_for(&claims->waiting, claim) {
        if (!claim->selected_node)
            continue;
        if (!str_eq(*claim->selected_node, node->meta.name)) {
            findings->no_match = true;
            findings->waiting = claim;
            return STATUS_OK;
        }
        left[left_len++] = claim;
    }
    struct status status = match_volumes(claims, node, arena, ret, left, &left_len);
    if (status_ok(status))
        check_provisions(claims, left, left_len, node, arena, ret, findings);
    return status;
}

/* Every reason, in the reference's order. */
static struct status status_of(const struct findings *findings, struct arena *arena)
{
    const struct {
        bool applies;
        struct str text;
    } table[] = {
        { findings->bound_mismatch, STR("node(s) didn't match PersistentVolume's node affinity") },
        { findings->no_match, STR("node(s) didn't find available persistent volumes to bind") },
        { findings->no_space, STR("node(s) did not have enough free storage") },
        { findings->volume_gone,
          STR("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)") },
    };
    struct status status = STATUS_OK;
    struct str *reasons = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        if (!table[i].applies)
            continue;
        if (!reasons)
            reasons = arena_array(arena, struct str, ARRAY_SIZE(table));
        reasons[status.len++] = table[i].text;
    }
    if (reasons) {
        status.code = STATUS_UNRESOLVABLE;
        status.reasons = reasons;
    }
    return status;
}

static struct status look(const struct cluster *cluster, const struct pod_claims *claims,
                          const struct node *node, struct arena *arena, struct pod_volumes *ret,
                          struct findings *findings)
{
    *findings = (struct findings){ 0 };
    *ret = (struct pod_volumes){ 0 };
    struct status status = check_bound(cluster, claims, node, arena, findings);
    if (status_ok(status) && claims->waiting.len)
        status = check_waiting(claims, node, arena, ret, findings);
    return status;
}

struct status binder_find(const struct cluster *cluster, const struct pod_claims *claims,
                          const struct node *node, struct arena *arena, struct pod_volumes *ret)
{
    struct findings findings;
    struct status status = look(cluster, claims, node, arena, ret, &findings);
    return status_ok(status) ? status_of(&findings, arena) : status;
}

/* ---- what a node lacks ---- */
/* Why the claim, which may wait for its first pod, gets no volume here. */
static void explain_waiting(const struct waiting_claim *claim, bool no_space, struct shortfall_list *ret)
{
    struct str name = claim->pvc->meta.name, class = pvc_class_name(claim->pvc);
    struct shortfall *lack = shortfall_add(ret, no_space ? "StorageSpace" : "VolumeMatch");
    lack->key = name;
    lack->wants = class;
    if (claim->selected_node)
        lack->sentence = arena_printf(ret->arena, "claim " STR_FMT " is promised to node " STR_FMT,
                                      STR_ARG(name), STR_ARG(*claim->selected_node));
    else if (no_space)
        lack->sentence = arena_printf(ret->arena,
                                      "claim " STR_FMT " needs more than any pool of storage class " STR_FMT
                                      " has that the node reaches",
                                      STR_ARG(name), STR_ARG(class));
    else
        lack->sentence =
            arena_printf(ret->arena, "no volume matches claim " STR_FMT ", and storage class " STR_FMT " %s",
                         STR_ARG(name), STR_ARG(class),
                         claim->wish.provisioner ? "makes none for this node" : "makes none");
}

void binder_explain(const struct cluster *cluster, const struct pod_claims *claims, const struct node *node,
                    struct shortfall_list *ret)
{
    struct findings findings;
    struct pod_volumes volumes;
    if (!status_ok(look(cluster, claims, node, ret->arena, &volumes, &findings)))
        return;
    if (findings.bound_mismatch) {
        struct str subject = arena_printf(ret->arena, "volume " STR_FMT, STR_ARG(findings.bound->meta.name));
        shortfall_add_requirements(ret, "VolumeAffinity", subject.ptr, findings.affinity, node);
    }
    if (findings.no_match || findings.no_space)
        explain_waiting(findings.waiting, findings.no_space, ret);
    if (findings.volume_gone)
        shortfall_add(ret, "VolumeGone")->sentence = STR("a claim is bound to a volume that does not exist");
}
