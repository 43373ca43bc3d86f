/* pods.c: pods come, occupy a node's row, leave it, are nominated, and go. */
#include <stdlib.h>
#include <string.h>

#include "api/names.h"
#include "api/pod_resources.h"
#include "cluster/model.h"

struct pvc_use {
    struct str key;
    uint32_t pods;
};

/* The key of the table of pods lives behind the pod_info. */
struct pod_record {
    struct pod_info info;
    struct str key;
    char text[];
};

struct pod_info *cluster_find_pod(const struct cluster *cluster, struct str namespace, struct str name)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    return strmap_get(&cluster->pods, object_key(&key, namespace, name));
}

const struct pod *pod_info_object(const struct pod_info *pod)
{
    return pod->shared ? pod->shared->object : pod->api;
}

/* The host frees its object when no version is made of it any more. */
static void object_unref(struct cluster *cluster, struct pod_info *pod)
{
    struct shared_object *shared = pod->shared;
    const struct pod *object = pod_info_object(pod);
    if (pod->api != object)
        cluster->deriver->release(pod->api);
    if (shared && --shared->refs)
        return;
    free(shared);
    if (cluster->pod_free)
        cluster->pod_free(cluster->pod_free_context, object);
}

/* A version of a pod belongs to its class until the version is freed: also one that is not in the model any more has
 * the amounts of its pod. A class keeps its sample, which does not keep the class: else neither would ever be freed. */
void pod_info_unref(struct cluster *cluster, struct pod_info *pod)
{
    if (!pod)
        return;
    struct pod_class *class = pod->class;
    uint32_t refs = --pod->refs;
    bool is_sample = class && class->sample == pod;
    if (class && refs == (is_sample ? 1 : 0))
        pod_class_unref(cluster, class); /* the last one frees the sample */
    if (refs)
        return;
    node_claims_free(cluster, pod->node_claims);
    object_unref(cluster, pod);
    free(pod);
}

/* `shared`: other versions are made of the object, too; NULL: this is the only one. */
static struct pod_info *add_version(struct cluster *cluster, const struct pod *object,
                                    struct shared_object *shared)
{
    const struct pod *api =
        cluster->deriver ? cluster->deriver->derive(cluster->deriver_context, object) : object;
    if (api != object && !shared) {
        shared = xmalloc(sizeof(*shared));
        *shared = (struct shared_object){ .object = object };
    }
    if (shared)
        shared->refs++;
    struct str key = object_key(&cluster->scratch, api->meta.namespace, api->meta.name);
    struct pod_record *record = xmalloc(sizeof(*record) + key.len);
    if (key.len)
        memcpy(record->text, key.ptr, key.len);
    record->key = (struct str){ record->text, key.len };
    struct pod_info *pod = &record->info;
    *pod = (struct pod_info){
        .api = api,
        .shared = shared,
        .refs = 1,
        .row = ROW_NONE,
        .nominated_row = ROW_NONE,
        .priority = api->spec.priority.value,
        .terminating = api->meta.deletion_time.set,
        .resize_deferred = cluster->features.enabled[FEATURE_InPlacePodVerticalScalingSchedulerPreemption] &&
                           pod_resize_waits(api, STR("Deferred")),
    };
    pod->class = pod_class_get(cluster, pod);
    pod->node_claims = node_claims_new(cluster, api, &api->status.node_claims);
    struct pod_info *old = strmap_get(&cluster->pods, record->key);
    if (old && str_eq(old->api->meta.uid, api->meta.uid))
        pod->eviction = old->eviction;
    if (old)
        cluster_remove_pod(cluster, old);
    strmap_put(&cluster->pods, record->key, pod);
    if (api->spec.node_name.len)
        cluster_place(cluster, pod, row_for_name(cluster, api->spec.node_name));
    else if (api->status.nominated_node_name.len)
        cluster_nominate(cluster, pod, row_for_name(cluster, api->status.nominated_node_name));
    return pod;
}

struct pod_info *cluster_add_pod(struct cluster *cluster, const struct pod *object)
{
    return add_version(cluster, object, NULL);
}

struct pod_info *cluster_derive_pod(struct cluster *cluster, struct pod_info *pod)
{
    if (!pod->shared) {
        pod->shared = xmalloc(sizeof(*pod->shared));
        *pod->shared = (struct shared_object){ .object = pod->api, .refs = 1 };
    }
    int64_t placed_ns = pod->placed_ns;
    struct pod_info *after = add_version(cluster, pod->shared->object, pod->shared);
    after->placed_ns = placed_ns;
    return after;
}

void cluster_remove_pod(struct cluster *cluster, struct pod_info *pod)
{
    cluster_displace(cluster, pod);
    cluster_denominate(cluster, pod);
    struct str key = container_of(pod, struct pod_record, info)->key;
    if (strmap_get(&cluster->pods, key) == pod)
        strmap_remove(&cluster->pods, key);
    pod_info_unref(cluster, pod);
}

void pods_release(struct cluster *cluster)
{
    VEC(struct pod_info *) all = { 0 };
    map_for(&cluster->pods, slot)
        *vec_push(&all) = slot->value;
    vec_for(&all, pod)
        cluster_remove_pod(cluster, *pod);
    vec_release(&all);
    strmap_release(&cluster->pods);
    strmap_release(&cluster->classes);
    strmap_release(&cluster->label_owners);
    strmap_release(&cluster->term_owners);
    match_index_release(&cluster->matches);
    vec_release(&cluster->label_numbers.free);
    vec_release(&cluster->term_numbers.free);
    strmap_release(&cluster->pvc_users);
}

/* ---- claims in use ---- */
static void count_claim(struct cluster *cluster, struct str namespace, struct str claim, int sign)
{
    struct str key = object_key(&cluster->scratch, namespace, claim);
    struct pvc_use *use = strmap_make(&cluster->pvc_users, key, sizeof(*use));
    use->pods += (uint32_t)sign;
    if (!use->pods)
        free(strmap_remove(&cluster->pvc_users, use->key));
}

static void count_claims(struct cluster *cluster, const struct pod *pod, int sign)
{
    list_for(&pod->spec.volumes, volume)
        if (volume->pvc)
            count_claim(cluster, pod->meta.namespace, volume->pvc->claim_name, sign);
}

/* A node appears or goes: claims count as used only by pods on live nodes. */
void pods_count_claims(struct cluster *cluster, uint32_t row, int sign)
{
    vec_for(&cluster->nodes.items[row].pods, pod)
        if ((*pod)->class->has_claims)
            count_claims(cluster, (*pod)->api, sign);
}

uint32_t cluster_claim_users(const struct cluster *cluster, struct str namespace, struct str claim)
{
    _cleanup_(strbuf_release) struct strbuf key = { 0 };
    const struct pvc_use *use = strmap_get(&cluster->pvc_users, object_key(&key, namespace, claim));
    return use ? use->pods : 0;
}

/* ---- ports ---- */
/* Ports in use are a set, as in the reference: two pods may claim the same, and the first to leave frees it. Both sides
 * are sorted, so a set of many ports and a pod with many meet in one pass. */

/* How many of the pod's distinct ports are not in the set. */
static uint32_t ports_fresh(const port_vec *set, const struct host_port *ports, uint32_t len)
{
    uint32_t fresh = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < len; i++) {
        if (i && host_port_cmp(&ports[i - 1], &ports[i]) == 0)
            continue;
        while (at < set->len && host_port_cmp(&set->items[at], &ports[i]) < 0)
            at++;
        fresh += at == set->len || host_port_cmp(&set->items[at], &ports[i]) != 0;
    }
    return fresh;
}

static void ports_add(port_vec *set, const struct host_port *ports, uint32_t len)
{
    uint32_t fresh = len ? ports_fresh(set, ports, len) : 0;
    if (!fresh)
        return;
    vec_reserve(set, set->len + fresh);
    size_t from = set->len, to = set->len + fresh;
    set->len = to;
    for (uint32_t i = len; i > 0 && to > from; i--) { /* from the back, in place */
        const struct host_port *port = &ports[i - 1];
        while (from > 0 && host_port_cmp(&set->items[from - 1], port) > 0)
            set->items[--to] = set->items[--from];
        bool there = (from > 0 && host_port_cmp(&set->items[from - 1], port) == 0) ||
                     (to < set->len && host_port_cmp(&set->items[to], port) == 0);
        if (!there)
            set->items[--to] = *port;
    }
}

static void ports_remove(port_vec *set, const struct host_port *ports, uint32_t len)
{
    size_t kept = 0;
    uint32_t at = 0;
    for (size_t i = 0; len && i < set->len; i++) {
        while (at < len && host_port_cmp(&ports[at], &set->items[i]) < 0)
            at++;
        if (at == len || host_port_cmp(&ports[at], &set->items[i]) != 0)
            set->items[kept++] = set->items[i];
    }
    if (!len)
        return;
    set->len = kept;
    vec_shrink(set); /* one pod may have thousands */
}

/* Those of all these pods are taken. */
static void ports_restore(port_vec *set, const pod_vec *pods)
{
    vec_for(pods, pod)
        ports_add(set, (*pod)->class->ports, (*pod)->class->ports_len);
}

/* ---- placing ---- */
static void vec_drop(pod_vec *vec, const struct pod_info *pod)
{
    for (size_t i = 0; i < vec->len; i++) {
        if (vec->items[i] == pod) {
            vec_swap_remove(vec, i);
            return;
        }
    }
}

/* Sums wrap around as they do in the reference; hostile amounts must not end in undefined behaviour. */
static int64_t wrap_sum(int64_t a, int64_t b, int sign)
{
    return (int64_t)(sign > 0 ? (uint64_t)a + (uint64_t)b : (uint64_t)a - (uint64_t)b);
}

void row_account(struct cluster *cluster, uint32_t row, const struct pod_usage *used, int sign)
{
    struct columns *col = &cluster->col;
    for (uint32_t i = 0; i < used->len; i++) {
        uint32_t r = used->items[i].resource;
        col->used[r][row] = wrap_sum(col->used[r][row], used->items[i].value, sign);
        col->bits[r] |= (uint64_t)col->used[r][row];
    }
    col->used[RES_PODS][row] += sign;
    col->nonzero_cpu[row] = wrap_sum(col->nonzero_cpu[row], used->nonzero_cpu_milli, sign);
    col->nonzero_memory[row] = wrap_sum(col->nonzero_memory[row], used->nonzero_memory, sign);
    col->bits[RES_CPU] |= (uint64_t)col->nonzero_cpu[row];
    col->bits[RES_MEMORY] |= (uint64_t)col->nonzero_memory[row];
}

#define placed_add(owner, pod, field) \
    do { \
        (pod)->field = (uint32_t)(owner)->placed.len; \
        *vec_push(&(owner)->placed) = (struct placed_pod){ (pod), (pod)->row, (pod)->terminating }; \
    } while (0)

#define placed_drop(owner, pod, field) \
    do { \
        vec_swap_remove(&(owner)->placed, (pod)->field); \
        if ((pod)->field < (owner)->placed.len) \
            (owner)->placed.items[(pod)->field].pod->field = (pod)->field; \
    } while (0)

void pod_labels_moved(struct pod_info *pod, struct label_owner *from)
{
    if (pod->row == ROW_NONE)
        return;
    placed_drop(from, pod, label_slot);
    placed_add(pod->class->labels, pod, label_slot);
    for (size_t i = from->placed.len; pod->copies && from != pod->class->labels && i-- > 0;)
        if (from->placed.items[i].pod == pod) {
            pod->label_slot = (uint32_t)i;
            placed_drop(from, pod, label_slot);
            placed_add(pod->class->labels, pod, label_slot);
        }
}

void pod_amounts_moved(struct cluster *cluster, const struct pod_info *pod, const struct pod_usage *from)
{
    if (pod->row == ROW_NONE || !cluster->resources_moved)
        return;
    for (uint32_t i = 0; i <= pod->copies; i++) {
        row_account(cluster, pod->row, from, -1);
        row_account(cluster, pod->row, pod_used(pod), +1);
    }
}

static void count_placed(struct cluster *cluster, const struct pod_info *pod, int sign)
{
    cluster->placed_pods += (uint32_t)sign;
    if (!pod->api->spec.node_name.len)
        cluster->assumed_pods += (uint32_t)sign;
}

void cluster_place(struct cluster *cluster, struct pod_info *pod, uint32_t row)
{
    assert(pod->row == ROW_NONE);
    struct node_entry *node = &cluster->nodes.items[row];
    const struct pod_class *cls = pod->class;
    pod->row = row;
    count_placed(cluster, pod, +1);
    pod->slot = (uint32_t)node->pods.len;
    *vec_push(&node->pods) = pod;
    cluster_denominate(cluster, pod); /* now: its nomination may be all that held the row */
    placed_add(cls->labels, pod, label_slot);
    if (cls->has_affinity_section) {
        placed_add(cls->terms, pod, term_slot);
        *vec_push(&node->with_affinity) = pod;
        cluster->pods_with_affinity += node->api != NULL;
    }
    if (cls->anti.len) {
        *vec_push(&node->with_anti) = pod;
        cluster->pods_with_anti += node->api != NULL;
    }
    ports_add(&node->ports, cls->ports, cls->ports_len);
    row_account(cluster, row, pod_used(pod), +1);
    if (cls->has_claims && node->api)
        count_claims(cluster, pod->api, +1);
    row_changed(cluster, row);
}

void cluster_place_on(struct cluster *cluster, struct pod_info *pod, struct str node_name)
{
    cluster_place(cluster, pod, row_for_name(cluster, node_name));
}

void cluster_displace(struct cluster *cluster, struct pod_info *pod)
{
    if (pod->row == ROW_NONE)
        return;
    uint32_t row = pod->row;
    struct node_entry *node = &cluster->nodes.items[row];
    const struct pod_class *cls = pod->class;
    count_placed(cluster, pod, -1);
    vec_swap_remove(&node->pods, pod->slot);
    if (pod->slot < node->pods.len)
        node->pods.items[pod->slot]->slot = pod->slot;
    placed_drop(cls->labels, pod, label_slot);
    if (cls->has_affinity_section) {
        placed_drop(cls->terms, pod, term_slot);
        vec_drop(&node->with_affinity, pod);
        cluster->pods_with_affinity -= node->api != NULL;
    }
    if (cls->anti.len) {
        vec_drop(&node->with_anti, pod);
        cluster->pods_with_anti -= node->api != NULL;
    }
    ports_remove(&node->ports, cls->ports, cls->ports_len);
    if (cluster->shares_ports && cls->ports_len)
        ports_restore(&node->ports, &node->pods);
    row_account(cluster, row, pod_used(pod), -1);
    if (cls->has_claims && node->api)
        count_claims(cluster, pod->api, -1);
    pod->row = ROW_NONE;
    row_changed(cluster, row);
    row_release_if_empty(cluster, row);
}

/* ---- copies ---- */
/* A copy is another entry of the pod in each list that the pod is in. Slots are those of the last one that came. */
void cluster_place_copy(struct cluster *cluster, struct pod_info *pod)
{
    uint32_t row = pod->row;
    assert(row != ROW_NONE && !pod->class->has_claims);
    pod->row = ROW_NONE;
    cluster_place(cluster, pod, row);
    pod->copies++;
}

/* The copy that came last is at the end of a list, or near it. */
#define slot_of_copy(vec, field, pod) \
    ({ \
        size_t at_ = (vec)->len; \
        while ((vec)->items[--at_] field != (pod)) \
            ; \
        (uint32_t)at_; \
    })

void cluster_displace_copy(struct cluster *cluster, struct pod_info *pod)
{
    const struct pod_class *cls = pod->class;
    uint32_t row = pod->row;
    struct node_entry *node = &cluster->nodes.items[row];
    pod->slot = slot_of_copy(&node->pods, , pod);
    pod->label_slot = slot_of_copy(&cls->labels->placed, .pod, pod);
    if (cls->has_affinity_section)
        pod->term_slot = slot_of_copy(&cls->terms->placed, .pod, pod);
    cluster_displace(cluster, pod);
    if (!pod->copies)
        return;
    pod->copies--;
    pod->row = row;
    ports_add(&node->ports, cls->ports, cls->ports_len);
}

void cluster_nominate(struct cluster *cluster, struct pod_info *pod, uint32_t row)
{
    *vec_push(&cluster->nodes.items[row].nominated) = pod;
    cluster->nominations++;
    cluster->nodes.items[row].nominated_seq = ++cluster->other_changes;
    cluster_denominate(cluster, pod); /* now: its old nomination may be all that held the row */
    pod->nominated_row = row;
}

void cluster_denominate(struct cluster *cluster, struct pod_info *pod)
{
    if (pod->nominated_row == ROW_NONE)
        return;
    uint32_t row = pod->nominated_row;
    vec_drop(&cluster->nodes.items[row].nominated, pod);
    pod->nominated_row = ROW_NONE;
    cluster->nominations--;
    cluster->nodes.items[row].nominated_seq = ++cluster->other_changes;
    row_release_if_empty(cluster, row);
}

static int by_resource_name(const void *a, const void *b)
{
    return str_cmp(((const struct absent_use *)a)->name, ((const struct absent_use *)b)->name);
}

struct absent_uses cluster_absent_used(const struct cluster *cluster, uint32_t row, struct arena *arena)
{
    const struct node_entry *node = &cluster->nodes.items[row];
    struct absent_uses uses = { 0 };
    size_t all = 0, len = 0;
    vec_for(&node->pods, pod)
        all += pod_used(*pod)->absent.len;
    if (!all)
        return uses;
    uses.items = arena_array(arena, struct absent_use, all);
    vec_for(&node->pods, pod)
        for (uint32_t i = 0; i < pod_used(*pod)->absent.len; i++) {
            const struct absent_amount *amount = &pod_used(*pod)->absent.items[i];
            uses.items[len++] =
                (struct absent_use){ arena_str(arena, amount->resource->name), amount->value };
        }
    qsort(uses.items, len, sizeof(*uses.items), by_resource_name);
    for (size_t i = 0; i < len; i++) {
        struct absent_use *last = uses.len ? &uses.items[uses.len - 1] : NULL;
        if (last && str_eq(last->name, uses.items[i].name))
            last->value = wrap_sum(last->value, uses.items[i].value, +1);
        else
            uses.items[uses.len++] = uses.items[i];
    }
    return uses;
}

/* ---- what if ---- */
void overlay_init(struct node_overlay *overlay, const struct cluster *cluster, uint32_t row,
                  struct arena *arena)
{
    const struct columns *col = &cluster->col;
    const struct node_entry *node = &cluster->nodes.items[row];
    *overlay = (struct node_overlay){ .nonzero_cpu = col->nonzero_cpu[row],
                                      .nonzero_memory = col->nonzero_memory[row] };
    overlay->resources = col->resources;
    overlay->used = arena_array(arena, int64_t, col->resources);
    for (uint32_t r = 0; r < col->resources; r++)
        overlay->used[r] = col->used[r][row];
    vec_reserve(&overlay->pods, node->pods.len + 1);
    if (node->pods.len)
        memcpy(overlay->pods.items, node->pods.items, node->pods.len * sizeof(*node->pods.items));
    overlay->pods.len = node->pods.len;
    vec_reserve(&overlay->ports, node->ports.len);
    if (node->ports.len)
        memcpy(overlay->ports.items, node->ports.items, node->ports.len * sizeof(*node->ports.items));
    overlay->ports.len = node->ports.len;
}

static void overlay_account(struct node_overlay *overlay, const struct pod_usage *used, int sign)
{
    for (uint32_t i = 0; i < used->len; i++) {
        int64_t *sum = &overlay->used[used->items[i].resource];
        *sum = wrap_sum(*sum, used->items[i].value, sign);
    }
    overlay->used[RES_PODS] += sign;
    overlay->nonzero_cpu = wrap_sum(overlay->nonzero_cpu, used->nonzero_cpu_milli, sign);
    overlay->nonzero_memory = wrap_sum(overlay->nonzero_memory, used->nonzero_memory, sign);
}

void overlay_add(struct node_overlay *overlay, const struct pod_info *pod)
{
    *vec_push(&overlay->pods) = (struct pod_info *)pod;
    overlay_account(overlay, pod_used(pod), +1);
    ports_add(&overlay->ports, pod->class->ports, pod->class->ports_len);
}

void overlay_remove(struct node_overlay *overlay, const struct pod_info *pod)
{
    vec_drop(&overlay->pods, pod);
    overlay_account(overlay, pod_used(pod), -1);
    ports_remove(&overlay->ports, pod->class->ports, pod->class->ports_len);
}

void overlay_restore_ports(struct node_overlay *overlay)
{
    ports_restore(&overlay->ports, &overlay->pods);
}

void overlay_release(struct node_overlay *overlay)
{
    vec_release(&overlay->pods);
    vec_release(&overlay->ports);
}
