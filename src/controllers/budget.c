/* budget.c: the status of a PodDisruptionBudget: how many of its pods are healthy, and how many evictions it allows. */
#include "apiserver/selection.h"
#include "base/timestamp.h"
#include "controllers/controller.h"

enum { DISRUPTED_S = 120 /* an eviction that has not happened by then will not */ };

struct budget {
    struct controllers *controllers;
    const struct api_resource *pods;
    yyjson_val *json, *disrupted;
    int64_t matching, healthy, expected, desired, generation;
    VEC(struct str) owners; /* uids whose replicas are counted in `expected`; in `arena` */
    struct arena arena;
    VEC(struct str) still_disrupted; /* names of pods, in `arena` */
};

static yyjson_val *controller_in(yyjson_val *json)
{
    yyjson_val *references = tree_at(json, "metadata.ownerReferences"), *reference;
    size_t i, max;
    if (yyjson_is_arr(references))
        yyjson_arr_foreach(references, i, max, reference) {
            if (tree_bool(reference, "controller"))
                return reference;
        }
    return NULL;
}

/* The replicas that the pod's controller wants, once per controller: that of a ReplicaSet is its Deployment. */
static void add_expected(struct budget *budget, struct str ns, yyjson_val *json)
{
    yyjson_val *reference = controller_in(json);
    const struct api_resource *resource = reference ? resource_of_reference(reference) : NULL;
    struct stored *owner =
        resource ? store_get(budget->controllers->store, resource->storage, ns, tree_text(reference, "name"))
                 : NULL;
    if (!owner) {
        budget->expected++;
        return;
    }
    yyjson_doc *doc = yyjson_read(owner->json.ptr, owner->json.len, 0);
    if (str_is(resource->plural, "replicasets") && controller_in(yyjson_doc_get_root(doc))) {
        add_expected(budget, ns, yyjson_doc_get_root(doc));
    } else {
        bool is_known = false;
        vec_for(&budget->owners, uid)
            is_known = is_known || str_eq(*uid, owner->uid);
        if (!is_known) {
            *vec_push(&budget->owners) = arena_str(&budget->arena, owner->uid);
            budget->expected += tree_int(yyjson_doc_get_root(doc), "spec.replicas", 1);
        }
    }
    yyjson_doc_free(doc);
}

static bool is_being_evicted(struct budget *budget, const struct known *known)
{
    struct str name = known->object->name;
    struct timestamp since;
    yyjson_val *at = yyjson_obj_getn(budget->disrupted, name.ptr, name.len);
    if (!at || known->is_terminating || !timestamp_parse(doc_text(at), &since) ||
        since.seconds + DISRUPTED_S < now_s())
        return false;
    *vec_push(&budget->still_disrupted) = arena_str(&budget->arena, name);
    return true;
}

static enum store_visited count_pod(void *user, struct stored *pod)
{
    struct budget *budget = user;
    const struct known *known = known_find(budget->controllers, budget->pods, pod->ns, pod->name);
    if (!known || known->phase == PHASE_SUCCEEDED || known->phase == PHASE_FAILED)
        return STORE_SKIPPED;
    yyjson_doc *doc = yyjson_read(pod->json.ptr, pod->json.len, 0);
    yyjson_val *json = yyjson_doc_get_root(doc);
    if (selection_of_json_matches(tree_at(budget->json, "spec.selector"), tree_at(json, "metadata.labels"))) {
        budget->matching++;
        add_expected(budget, pod->ns, json);
        budget->healthy += known->is_ready && !known->is_terminating && !is_being_evicted(budget, known);
    }
    yyjson_doc_free(doc);
    return STORE_COUNTS;
}

static void put_disrupted(yyjson_mut_doc *doc, yyjson_mut_val *status, const struct budget *budget)
{
    yyjson_mut_val *now = yyjson_mut_obj(doc);
    vec_for(&budget->still_disrupted, name)
        tree_mut_put(doc, now, *name,
                     yyjson_val_mut_copy(doc, yyjson_obj_getn(budget->disrupted, name->ptr, name->len)));
    tree_mut_put(doc, status, STR("disruptedPods"), budget->still_disrupted.len ? now : NULL);
}

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct budget *budget = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    int64_t allowed = budget->expected ? MAX(budget->healthy - budget->desired, 0) : 0;
    tree_mut_put_int(doc, status, "observedGeneration", budget->generation);
    tree_mut_put_int(doc, status, "expectedPods", budget->expected);
    tree_mut_put_int(doc, status, "desiredHealthy", budget->desired);
    tree_mut_put_int(doc, status, "currentHealthy", budget->healthy);
    tree_mut_put_int(doc, status, "disruptionsAllowed", allowed);
    put_disrupted(doc, status, budget);
    put_condition(doc, status, "DisruptionAllowed", allowed > 0,
                  allowed ? "SufficientPods" : "InsufficientPods", "", false);
    return 0;
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object)
        return;
    struct budget budget = { .controllers = controllers,
                             .pods = resource_named("", "pods"),
                             .json = json,
                             .disrupted = tree_at(json, "status.disruptedPods"),
                             .generation = tree_int(json, "metadata.generation", 0) };
    struct store_range range = { .kind = budget.pods->storage, .ns = object->ns };
    store_page(controllers->store, &range, 0, count_pod, &budget);
    yyjson_val *least = tree_at(json, "spec.minAvailable"), *most = tree_at(json, "spec.maxUnavailable");
    if (yyjson_is_int(least))
        budget.expected = budget.matching;
    budget.desired = most ? MAX(budget.expected - share_of(most, budget.expected, 0, true), 0)
                          : share_of(least, budget.expected, 0, true);
    change_object(controllers, resource, object, SUB_STATUS, put_status, &budget);
    if (budget.still_disrupted.len)
        task_add(controllers, &controller_budget, resource, object->ns, object->name, DISRUPTED_S * 1000);
    vec_release(&budget.owners);
    vec_release(&budget.still_disrupted);
    arena_release(&budget.arena);
}

const struct controller controller_budget = {
    .name = "budget", .group = "policy", .plural = "poddisruptionbudgets", .sync = sync_object
};
