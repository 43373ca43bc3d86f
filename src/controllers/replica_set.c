/* replica_set.c: as many pods as a ReplicaSet wants. Pods that go first when there are too many: without a node, not
 * running, not ready, and of the others the youngest. */
#include "controllers/controller.h"

enum { PODS_PER_SYNC = 500 };

/* The pods that are active, and how many of them are ready and available. */
struct tally {
    known_vec active;
    int64_t ready, available, terminating;
    int64_t next_s; /* when the next one becomes available; 0: none */
};

static struct tally tally_of(struct controllers *controllers, const struct stored *set, int64_t min_ready_s)
{
    struct tally tally = { 0 };
    known_vec pods = controlled_by(controllers, set->uid, resource_named("", "pods"));
    vec_for(&pods, pod) {
        tally.terminating +=
            (*pod)->is_terminating && (*pod)->phase != PHASE_SUCCEEDED && (*pod)->phase != PHASE_FAILED;
        if (!known_is_active(*pod))
            continue;
        *vec_push(&tally.active) = *pod;
        if (!(*pod)->is_ready)
            continue;
        tally.ready++;
        int64_t since_s = (*pod)->ready_s + min_ready_s;
        if (since_s <= now_s())
            tally.available++;
        else
            tally.next_s = tally.next_s ? MIN(tally.next_s, since_s) : since_s;
    }
    vec_release(&pods);
    return tally;
}

static int by_victim(const void *a, const void *b)
{
    const struct known *x = *(struct known *const *)a, *y = *(struct known *const *)b;
    return COMPARE(x->has_node, y->has_node) ?: COMPARE(x->phase, y->phase) ?: COMPARE(x->is_ready, y->is_ready) ?:
           COMPARE(y->created_s, x->created_s) ?: COMPARE(y->object->created, x->object->created);
}

static void create_pods(struct controllers *controllers, const struct api_resource *resource,
                        const struct stored *set, yyjson_val *json, int64_t count)
{
    _cleanup_(strbuf_release) struct strbuf prefix = { 0 };
    strbuf_printf(&prefix, STR_FMT "-", STR_ARG(set->name));
    for (int64_t i = 0; i < MIN(count, (int64_t)PODS_PER_SYNC); i++) {
        yyjson_mut_doc *pod =
            from_template(resource, set, tree_at(json, "spec.template"), strbuf_slice(&prefix), true);
        if (!create_object(controllers, resource_named("", "pods"), set->ns, pod)) {
            task_add(controllers, &controller_replica_set, resource, set->ns, set->name, 1000);
            return;
        }
    }
}

static void delete_pods(struct controllers *controllers, struct tally *tally, int64_t count)
{
    vec_sort(&tally->active, by_victim);
    size_t most = MIN((size_t)count, tally->active.len);
    VEC(struct stored *) victims = { 0 };
    for (size_t i = 0; i < most; i++)
        *vec_push(&victims) = stored_ref(tally->active.items[i]->object);
    vec_for(&victims, victim) {
        delete_object(controllers, resource_named("", "pods"), *victim, "", -1);
        stored_unref(*victim);
    }
    vec_release(&victims);
}

struct set_status {
    const struct tally *tally;
    int64_t generation;
};

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct set_status *now = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    tree_mut_put_int(doc, status, "replicas", (int64_t)now->tally->active.len);
    put_count(doc, status, "fullyLabeledReplicas", (int64_t)now->tally->active.len);
    put_count(doc, status, "readyReplicas", now->tally->ready);
    put_count(doc, status, "availableReplicas", now->tally->available);
    tree_mut_put_int(doc, status, "terminatingReplicas", now->tally->terminating);
    tree_mut_put_int(doc, status, "observedGeneration", now->generation);
    return 0;
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *set, yyjson_val *json)
{
    if (!set)
        return;
    int64_t min_ready_s = tree_int(json, "spec.minReadySeconds", 0);
    struct tally tally = tally_of(controllers, set, min_ready_s);
    int64_t more = tree_int(json, "spec.replicas", 1) - (int64_t)tally.active.len;
    if (!tree_at(json, "metadata.deletionTimestamp") && more) {
        if (more > 0)
            create_pods(controllers, resource, set, json, more);
        else
            delete_pods(controllers, &tally, -more);
        vec_release(&tally.active);
        tally = tally_of(controllers, set, min_ready_s);
    }
    struct set_status status = { &tally, tree_int(json, "metadata.generation", 0) };
    change_object(controllers, resource, set, SUB_STATUS, put_status, &status);
    if (tally.next_s)
        task_add(controllers, &controller_replica_set, resource, set->ns, set->name,
                 MAX(tally.next_s - now_s(), 1) * 1000);
    vec_release(&tally.active);
}

const struct controller controller_replica_set = {
    .name = "replicaset", .group = "apps", .plural = "replicasets", .sync = sync_object
};
