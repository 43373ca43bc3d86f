/* daemon_set.c: one pod of a DaemonSet on each node that its template fits: node selector, required node affinity,
 * taints. The scheduler binds the pods; each names its node in a required node affinity.
 *
 *     node fits, no pod ─▶ create     node does not fit, pod ─▶ delete     template changed ─▶ rolling update:
 *         without maxSurge a node's old pod goes, at most maxUnavailable nodes being without an available pod;
 *         with maxSurge the new pod comes first, on at most so many nodes at a time
 *
 * Not followed: the backoff of failed pods. */
#include <stdio.h>
#include <stdlib.h>

#include "api/labels.h"
#include "api/object.h"
#include "api/taints.h"
#include "controllers/controller.h"

#define GENERATION_ANNOTATION "deprecated.daemonset.template.generation"

enum { PODS_PER_SYNC = 500 };

/* The pods of the set on one node. */
struct place {
    struct str name; /* of the node; first, see strmap_make() */
    bool exists;     /* the node */
    bool fits;       /* a pod should run there */
    bool may_stay;   /* a pod that is there may go on */
    known_vec pods;  /* the oldest first */
};

struct decoded;

struct set {
    struct controllers *controllers;
    const struct api_resource *resource, *pods_resource;
    struct stored *object;
    yyjson_val *json;
    struct strbuf revision; /* name of the ControllerRevision of the template */
    struct str hash;        /* its end */
    struct strmap places;
    struct decoded *pod;         /* as it would be on any node */
    int64_t min_ready_s, next_s; /* next_s: when the next pod becomes available; 0: none */
    int64_t desired, current, misscheduled, ready, updated, available;
};

/* ---- the pod ---- */
static const struct {
    const char *key, *effect;
    bool of_host_network; /* only pods in the network of the host tolerate it */
} tolerations[] = {
    { "node.kubernetes.io/not-ready", "NoExecute", false },
    { "node.kubernetes.io/unreachable", "NoExecute", false },
    { "node.kubernetes.io/disk-pressure", "NoSchedule", false },
    { "node.kubernetes.io/memory-pressure", "NoSchedule", false },
    { "node.kubernetes.io/pid-pressure", "NoSchedule", false },
    { "node.kubernetes.io/unschedulable", "NoSchedule", false },
    { "node.kubernetes.io/network-unavailable", "NoSchedule", true },
};

static yyjson_mut_val *list_in(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(object, key);
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        tree_mut_put(doc, object, str_from(key), list);
    }
    return list;
}

static void put_tolerations(yyjson_mut_doc *doc, yyjson_mut_val *spec)
{
    yyjson_mut_val *list = list_in(doc, spec, "tolerations");
    bool uses_host = yyjson_mut_is_true(yyjson_mut_obj_get(spec, "hostNetwork"));
    for (size_t i = 0; i < ARRAY_SIZE(tolerations); i++) {
        if (tolerations[i].of_host_network && !uses_host)
            continue;
        yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);
        tree_mut_put_str(doc, item, "effect", str_from(tolerations[i].effect));
        tree_mut_put_str(doc, item, "key", str_from(tolerations[i].key));
        tree_mut_put_str(doc, item, "operator", STR("Exists"));
    }
}

/* Replaces what the template requires of the node's labels: that was looked at before. */
static void put_node(yyjson_mut_doc *doc, yyjson_mut_val *spec, struct str node)
{
    yyjson_mut_val *required =
        tree_mut_make(doc, spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    yyjson_mut_val *terms = yyjson_mut_arr(doc), *values = yyjson_mut_arr(doc);
    yyjson_mut_val *field =
        yyjson_mut_arr_add_obj(doc, list_in(doc, yyjson_mut_arr_add_obj(doc, terms), "matchFields"));
    tree_mut_put_str(doc, field, "key", STR("metadata.name"));
    tree_mut_put_str(doc, field, "operator", STR("In"));
    yyjson_mut_arr_append(values, tree_mut_new_str(doc, node));
    tree_mut_put(doc, field, STR("values"), values);
    tree_mut_put(doc, required, STR("nodeSelectorTerms"), terms);
}

static yyjson_mut_doc *make_pod(const struct set *set, struct str node)
{
    _cleanup_(strbuf_release) struct strbuf prefix = { 0 };
    strbuf_printf(&prefix, STR_FMT "-", STR_ARG(set->object->name));
    yyjson_mut_doc *doc = from_template(set->resource, set->object, tree_at(set->json, "spec.template"),
                                        strbuf_slice(&prefix), true);
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *spec = tree_mut_make(doc, pod, "spec");
    yyjson_mut_val *labels = tree_mut_make(doc, pod, "metadata.labels");
    struct str generation =
        doc_text(yyjson_obj_get(tree_at(set->json, "metadata.annotations"), GENERATION_ANNOTATION));
    tree_mut_put_str(doc, labels, REVISION_LABEL, set->hash);
    if (generation.len)
        tree_mut_put_str(doc, labels, "pod-template-generation", generation);
    put_tolerations(doc, spec);
    if (node.len)
        put_node(doc, spec, node);
    return doc;
}

/* ---- nodes ---- */
/* An object of the API as a struct. */
struct decoded {
    struct doc_stream stream; /* has its strings */
    struct arena arena;
    void *ptr; /* NULL: it could not be decoded */
};

static void decode(struct decoded *ret, struct str json, enum api_kind kind)
{
    struct error err;
    struct doc doc;
    struct object object = { 0 };
    char *text = xcalloc(1, (size_t)json.len + YYJSON_PADDING_SIZE);
    memcpy(text, json.ptr, json.len);
    *ret = (struct decoded){ 0 };
    doc_stream_init(&ret->stream, "object", text, json.len);
    if (doc_stream_next(&ret->stream, &doc, &err) <= 0)
        return;
    if (object_decode_as(&doc, doc.root, kind, &ret->arena, &object, &err) == 0)
        ret->ptr = object.ptr;
    doc_release(&doc);
}

static void decoded_release(struct decoded *decoded)
{
    arena_release(&decoded->arena);
    doc_stream_release(&decoded->stream);
}

static bool is_no_execute(const struct taint *taint)
{
    return str_is(taint->effect, "NoExecute");
}

static bool fits_labels(const struct pod *pod, const struct node *node)
{
    const struct node_affinity *affinity = pod->spec.affinity ? pod->spec.affinity->node : NULL;
    return str_map_contains_all(&node->meta.labels, &pod->spec.node_selector) &&
           (!affinity || !affinity->required ||
            node_selector_matches(affinity->required, node->meta.name, &node->meta.labels));
}

static void judge(const struct set *set, const struct node *node, struct place *place)
{
    const struct pod *pod = set->pod->ptr;
    if (!fits_labels(pod, node) || (pod->spec.node_name.len && !str_eq(pod->spec.node_name, node->meta.name)))
        return;
    place->fits =
        !taints_find_untolerated(node->spec.taints.items, node->spec.taints.len, pod->spec.tolerations.items,
                                 pod->spec.tolerations.len, taint_is_hard, true);
    place->may_stay =
        !taints_find_untolerated(node->spec.taints.items, node->spec.taints.len, pod->spec.tolerations.items,
                                 pod->spec.tolerations.len, is_no_execute, true);
}

static enum store_visited visit_node(void *user, struct stored *object)
{
    struct set *set = user;
    struct decoded node;
    struct place *place = strmap_make(&set->places, object->name, sizeof(*place));
    place->exists = true;
    decode(&node, object->json, KIND_NODE);
    if (node.ptr && set->pod->ptr)
        judge(set, node.ptr, place);
    decoded_release(&node);
    return STORE_COUNTS;
}

/* ---- its pods ---- */
/* Where the pod is, or will be. */
static struct str node_of(yyjson_val *pod)
{
    struct str name = tree_text(pod, "spec.nodeName");
    yyjson_val *term = yyjson_arr_get_first(
        tree_at(pod, "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
                     ".nodeSelectorTerms"));
    yyjson_val *field = yyjson_arr_get_first(yyjson_obj_get(term, "matchFields"));
    return name.len ? name : doc_text(yyjson_arr_get_first(yyjson_obj_get(field, "values")));
}

static bool is_updated(const struct set *set, const struct known *pod)
{
    yyjson_doc *doc = yyjson_read(pod->object->json.ptr, pod->object->json.len, 0);
    yyjson_val *labels = tree_at(yyjson_doc_get_root(doc), "metadata.labels");
    bool is = str_eq(doc_text(yyjson_obj_get(labels, REVISION_LABEL)), set->hash);
    yyjson_doc_free(doc);
    return is;
}

static bool is_available(struct set *set, const struct known *pod)
{
    int64_t since_s = pod->ready_s + set->min_ready_s;
    if (!pod->is_ready || pod->is_terminating)
        return false;
    if (since_s > now_s())
        set->next_s = set->next_s ? MIN(set->next_s, since_s) : since_s;
    return since_s <= now_s();
}

static int by_age(const void *a, const void *b)
{
    const struct known *x = *(struct known *const *)a, *y = *(struct known *const *)b;
    return COMPARE(x->object->created, y->object->created);
}

static void read_pods(struct set *set)
{
    known_vec pods = controlled_by(set->controllers, set->object->uid, set->pods_resource);
    vec_for(&pods, pod) {
        yyjson_doc *doc = yyjson_read((*pod)->object->json.ptr, (*pod)->object->json.len, 0);
        struct place *place = strmap_make(&set->places, node_of(yyjson_doc_get_root(doc)), sizeof(*place));
        *vec_push(&place->pods) = *pod;
        yyjson_doc_free(doc);
    }
    vec_release(&pods);
    map_for(&set->places, slot) {
        struct place *place = slot->value;
        vec_sort(&place->pods, by_age);
    }
}

/* ---- what is to be done ---- */
struct victim {
    struct stored *pod; /* referenced */
    int64_t grace_s;    /* -1: its own */
};

struct plan {
    VEC(struct victim) deleted;
    VEC(struct place *) created; /* where */
};

static void plan_delete(struct plan *plan, const struct known *pod)
{
    if (!pod->is_terminating)
        *vec_push(&plan->deleted) = (struct victim){ stored_ref(pod->object), -1 };
}

/* No kubelet will end a pod whose node is gone. */
static void plan_place_without_node(const struct place *place, struct plan *plan)
{
    vec_for(&place->pods, pod)
        *vec_push(&plan->deleted) = (struct victim){ stored_ref((*pod)->object), 0 };
}

/* The pod that is neither terminating nor finished, of the template or of another one; the oldest. */
static struct known *live_pod(const struct set *set, const struct place *place, bool updated)
{
    vec_for(&place->pods, pod)
        if (known_is_active(*pod) && is_updated(set, *pod) == updated)
            return *pod;
    return NULL;
}

/* Pods that are too many or finished go, those that are missing come. Returns whether there is nothing of that. */
static bool plan_place(struct place *place, bool surges, struct plan *plan)
{
    size_t before = plan->deleted.len + plan->created.len, active = 0;
    if (!place->exists) {
        plan_place_without_node(place, plan);
        return !place->pods.len;
    }
    vec_for(&place->pods, pod) {
        bool is_active = known_is_active(*pod), is_extra = is_active && active >= (surges ? 2u : 1u);
        active += is_active;
        if (!place->may_stay || !is_active || is_extra)
            plan_delete(plan, *pod);
    }
    bool is_empty = surges ? !active : !place->pods.len;
    if (place->fits && is_empty)
        *vec_push(&plan->created) = place;
    return plan->deleted.len + plan->created.len == before;
}

/* Old pods go while enough nodes have an available one. */
static void plan_replacement(struct set *set, int64_t unavailable_max, struct plan *plan)
{
    int64_t unavailable = 0;
    VEC(struct known *) candidates = { 0 };
    map_for(&set->places, slot) {
        struct place *place = slot->value;
        struct known *old = live_pod(set, place, false), *new = live_pod(set, place, true);
        if (!place->fits && !old && !new)
            continue;
        bool is_old = old && !new;
        if (is_old && is_available(set, old)) {
            *vec_push(&candidates) = old;
            continue;
        }
        unavailable += is_old || !new || !is_available(set, new);
        if (is_old)
            plan_delete(plan, old);
    }
    for (size_t i = 0; i < candidates.len && unavailable < unavailable_max; i++, unavailable++)
        plan_delete(plan, candidates.items[i]);
    vec_release(&candidates);
}

/* New pods come beside the old ones, which go when the new ones are available. */
static void plan_surge(struct set *set, int64_t surge_max, struct plan *plan)
{
    int64_t surging = 0;
    VEC(struct place *) candidates = { 0 };
    map_for(&set->places, slot) {
        struct place *place = slot->value;
        struct known *old = live_pod(set, place, false), *new = live_pod(set, place, true);
        if (!old || !place->fits)
            continue;
        if (new && is_available(set, new))
            plan_delete(plan, old);
        else if (new)
            surging++;
        else if (is_available(set, old))
            *vec_push(&candidates) = place;
        else
            *vec_push(&plan->created) = place;
    }
    for (size_t i = 0; i < candidates.len && surging < surge_max; i++, surging++)
        *vec_push(&plan->created) = candidates.items[i];
    vec_release(&candidates);
}

static void plan_update(struct set *set, int64_t surge_max, struct plan *plan)
{
    yyjson_val *rolling = tree_at(set->json, "spec.updateStrategy.rollingUpdate");
    int64_t unavailable_max = share_of(yyjson_obj_get(rolling, "maxUnavailable"), set->desired, 0, true);
    if (!yyjson_obj_get(rolling, "maxUnavailable") || (!surge_max && !unavailable_max))
        unavailable_max = 1;
    if (surge_max)
        plan_surge(set, surge_max, plan);
    else
        plan_replacement(set, unavailable_max, plan);
}

static void carry_out(struct set *set, struct plan *plan)
{
    vec_for(&plan->deleted, victim) {
        delete_object(set->controllers, set->pods_resource, victim->pod, "", victim->grace_s);
        stored_unref(victim->pod);
    }
    for (size_t i = 0; i < MIN(plan->created.len, (size_t)PODS_PER_SYNC); i++)
        if (!create_object(set->controllers, set->pods_resource, set->object->ns,
                           make_pod(set, plan->created.items[i]->name))) {
            task_add(set->controllers, &controller_daemon_set, set->resource, set->object->ns,
                     set->object->name, 1000);
            break;
        }
    vec_release(&plan->deleted);
    vec_release(&plan->created);
}

static void manage(struct set *set)
{
    struct plan plan = { 0 };
    bool is_rolling = !str_is(tree_text(set->json, "spec.updateStrategy.type"), "OnDelete");
    int64_t surge_max = is_rolling
                            ? share_of(tree_at(set->json, "spec.updateStrategy.rollingUpdate.maxSurge"),
                                       set->desired, 0, true)
                            : 0;
    bool is_settled = true;
    map_for(&set->places, slot)
        is_settled = plan_place(slot->value, surge_max > 0, &plan) && is_settled;
    if (is_settled && is_rolling)
        plan_update(set, surge_max, &plan);
    carry_out(set, &plan);
}

/* ---- the status ---- */
static void count_place(struct set *set, const struct place *place)
{
    struct known *new = live_pod(set, place, true), *old = live_pod(set, place, false);
    struct known *pod = new ? new : old;
    set->desired += place->fits;
    set->misscheduled += pod && !place->fits && place->exists;
    if (!pod || !place->fits)
        return;
    set->current++;
    set->updated += new != NULL;
    set->ready += (old && old->is_ready) || (new && new->is_ready);
    set->available += (old && is_available(set, old)) || (new && is_available(set, new));
}

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct set *set = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    tree_mut_put_int(doc, status, "currentNumberScheduled", set->current);
    tree_mut_put_int(doc, status, "numberMisscheduled", set->misscheduled);
    tree_mut_put_int(doc, status, "desiredNumberScheduled", set->desired);
    tree_mut_put_int(doc, status, "numberReady", set->ready);
    put_count(doc, status, "updatedNumberScheduled", set->updated);
    put_count(doc, status, "numberAvailable", set->available);
    put_count(doc, status, "numberUnavailable", set->desired - set->available);
    tree_mut_put_int(doc, status, "observedGeneration", tree_int(set->json, "metadata.generation", 0));
    return 0;
}

/* ---- one look ---- */
static void look(struct set *set)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    struct decoded pod;
    uint32_t prefix = set->object->name.len + 1;
    set->hash = str_slice(strbuf_slice(&set->revision), prefix, set->revision.len);
    yyjson_mut_doc *doc = make_pod(set, (struct str){ 0 });
    tree_mut_write(yyjson_mut_doc_get_root(doc), &text);
    yyjson_mut_doc_free(doc);
    decode(&pod, strbuf_slice(&text), KIND_POD);
    set->pod = &pod;
    struct store_range nodes = { .kind = resource_named("", "nodes")->storage };
    store_page(set->controllers->store, &nodes, 0, visit_node, set);
    decoded_release(&pod);
    read_pods(set);
    map_for(&set->places, slot)
        count_place(set, slot->value);
    change_object(set->controllers, set->resource, set->object, SUB_STATUS, put_status, set);
    manage(set);
    if (set->next_s)
        task_add(set->controllers, &controller_daemon_set, set->resource, set->object->ns, set->object->name,
                 MAX(set->next_s - now_s(), 1) * 1000);
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object || tree_at(json, "metadata.deletionTimestamp"))
        return;
    struct set set = { .controllers = controllers,
                       .resource = resource,
                       .pods_resource = resource_named("", "pods"),
                       .object = object,
                       .json = json,
                       .min_ready_s = tree_int(json, "spec.minReadySeconds", 0) };
    if (revision_of_template(controllers, resource, object, json, &set.revision))
        look(&set);
    map_for(&set.places, slot) {
        struct place *place = slot->value;
        vec_release(&place->pods);
        free(place);
    }
    strmap_release(&set.places);
    strbuf_release(&set.revision);
}

const struct controller controller_daemon_set = {
    .name = "daemonset", .group = "apps", .plural = "daemonsets", .sync = sync_object
};
