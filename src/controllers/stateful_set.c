/* stateful_set.c: pods with ordinals, their claims, and updates from the highest ordinal down, one after the other.
 * A pod below the partition that has to be made again gets the template that it had before, from its
 * ControllerRevision. Not followed: start ordinals, maxUnavailable, policies for claims. */
#include <stdio.h>
#include <stdlib.h>

#include "controllers/controller.h"

enum { REPLICAS_MAX = 10000 };

struct set {
    struct controllers *controllers;
    const struct api_resource *resource, *pods_resource;
    struct stored *object;
    yyjson_val *json;
    int64_t replicas, partition;
    bool is_parallel;
    struct known **pods; /* by ordinal; NULL: there is none. [replicas] */
    known_vec beyond;    /* of higher ordinals */
    struct strbuf revision;
    int64_t count, ready, updated;
    struct str current; /* the revision before, as the status has it */
};

static int64_t ordinal_of(const struct set *set, const struct known *pod)
{
    struct str name = pod->object->name;
    int64_t ordinal = -1;
    if (name.len > set->object->name.len + 1)
        str_to_int64(str_slice(name, set->object->name.len + 1, name.len), &ordinal);
    return ordinal;
}

static bool is_updated(const struct set *set, const struct known *pod)
{
    yyjson_doc *doc = yyjson_read(pod->object->json.ptr, pod->object->json.len, 0);
    yyjson_val *labels = tree_at(yyjson_doc_get_root(doc), "metadata.labels");
    bool is = str_eq(doc_text(yyjson_obj_get(labels, REVISION_LABEL)), strbuf_slice(&set->revision));
    yyjson_doc_free(doc);
    return is;
}

static int by_ordinal_down(const void *a, const void *b)
{
    const struct known *x = *(struct known *const *)a, *y = *(struct known *const *)b;
    return COMPARE(y->object->name.len, x->object->name.len) ?: str_cmp(y->object->name, x->object->name);
}

static void read_pods(struct set *set)
{
    known_vec pods = controlled_by(set->controllers, set->object->uid, set->pods_resource);
    vec_for(&pods, pod) {
        int64_t ordinal = ordinal_of(set, *pod);
        if (ordinal >= 0 && ordinal < set->replicas)
            set->pods[ordinal] = *pod;
        else
            *vec_push(&set->beyond) = *pod;
        set->count++;
        set->ready += (*pod)->is_ready && !(*pod)->is_terminating;
        set->updated += is_updated(set, *pod);
    }
    vec_release(&pods);
    vec_sort(&set->beyond, by_ordinal_down);
}

/* ---- creation ---- */
static void make_claims(struct set *set, struct str pod, yyjson_mut_doc *doc)
{
    const struct api_resource *claims = resource_named("", "persistentvolumeclaims");
    yyjson_val *templates = tree_at(set->json, "spec.volumeClaimTemplates"), *template;
    yyjson_mut_val *spec = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "spec");
    size_t i, max;
    if (!yyjson_arr_size(templates))
        return;
    yyjson_mut_val *volumes = yyjson_mut_obj_get(spec, "volumes");
    if (!volumes) {
        volumes = yyjson_mut_arr(doc);
        tree_mut_put(doc, spec, STR("volumes"), volumes);
    }
    yyjson_arr_foreach(templates, i, max, template) {
        struct str volume_name = tree_text(template, "metadata.name");
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        strbuf_printf(&name, STR_FMT "-" STR_FMT, STR_ARG(volume_name), STR_ARG(pod));
        if (!store_get(set->controllers->store, claims->storage, set->object->ns, strbuf_slice(&name))) {
            yyjson_mut_doc *claim =
                from_template(set->resource, set->object, template, strbuf_slice(&name), false);
            /* A claim outlives the set that it was made for. */
            tree_mut_remove(yyjson_mut_obj_get(yyjson_mut_doc_get_root(claim), "metadata"),
                            "ownerReferences");
            create_object(set->controllers, claims, set->object->ns, claim);
        }
        yyjson_mut_val *volume = yyjson_mut_obj(doc);
        tree_mut_put_str(doc, volume, "name", volume_name);
        tree_mut_put_str(doc, tree_mut_make(doc, volume, "persistentVolumeClaim"), "claimName",
                         strbuf_slice(&name));
        yyjson_mut_arr_append(volumes, volume);
    }
}

static void create_pod(struct set *set, int64_t ordinal)
{
    char number[24];
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    yyjson_val *template = NULL;
    yyjson_doc *before = ordinal < set->partition
                             ? revision_template(set->controllers, set->object->ns, set->current, &template)
                             : NULL;
    snprintf(number, sizeof(number), "%lld", (long long)ordinal);
    strbuf_printf(&name, STR_FMT "-%s", STR_ARG(set->object->name), number);
    yyjson_mut_doc *doc =
        from_template(set->resource, set->object, template ? template : tree_at(set->json, "spec.template"),
                      strbuf_slice(&name), false);
    yyjson_mut_val *pod = yyjson_mut_doc_get_root(doc), *labels = tree_mut_make(doc, pod, "metadata.labels");
    tree_mut_put_str(doc, labels, "apps.kubernetes.io/pod-index", str_from(number));
    tree_mut_put_str(doc, labels, REVISION_LABEL, template ? set->current : strbuf_slice(&set->revision));
    yyjson_doc_free(before);
    tree_mut_put_str(doc, labels, "statefulset.kubernetes.io/pod-name", strbuf_slice(&name));
    tree_mut_put_str(doc, tree_mut_make(doc, pod, "spec"), "hostname", strbuf_slice(&name));
    struct str service = tree_text(set->json, "spec.serviceName");
    if (service.len)
        tree_mut_put_str(doc, tree_mut_make(doc, pod, "spec"), "subdomain", service);
    make_claims(set, strbuf_slice(&name), doc);
    if (!create_object(set->controllers, set->pods_resource, set->object->ns, doc))
        task_add(set->controllers, &controller_stateful_set, set->resource, set->object->ns,
                 set->object->name, 1000);
}

static void delete_pod(struct set *set, const struct known *pod)
{
    struct stored *object = stored_ref(pod->object);
    if (!pod->is_terminating)
        delete_object(set->controllers, set->pods_resource, object, "", -1);
    stored_unref(object);
}

/* ---- one step ---- */
/* Missing pods, in order. False: there is something to wait for. */
static bool fill(struct set *set)
{
    bool is_whole = true;
    for (int64_t i = 0; i < set->replicas; i++) {
        struct known *pod = set->pods[i];
        bool is_good = pod && pod->is_ready && !pod->is_terminating;
        if (!pod)
            create_pod(set, i);
        else if (pod->phase == PHASE_FAILED || pod->phase == PHASE_SUCCEEDED)
            delete_pod(set, pod);
        is_whole = is_whole && is_good;
        if (!is_good && !set->is_parallel)
            return false;
    }
    return is_whole;
}

static void step(struct set *set)
{
    bool is_whole = fill(set);
    for (size_t i = 0; i < set->beyond.len; i++) {
        if (!is_whole && !set->is_parallel)
            return;
        delete_pod(set, set->beyond.items[i]);
        if (!set->is_parallel)
            return;
    }
    if (str_is(tree_text(set->json, "spec.updateStrategy.type"), "OnDelete") || !is_whole)
        return;
    for (int64_t i = set->replicas; i-- > set->partition;)
        if (!is_updated(set, set->pods[i])) {
            delete_pod(set, set->pods[i]);
            return;
        }
}

static int put_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct set *set = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    struct str update = strbuf_slice(&set->revision);
    bool is_done = set->updated == set->count && set->count == set->replicas && set->ready == set->replicas;
    struct str current = is_done || !set->current.len ? update : set->current;
    tree_mut_put_int(doc, status, "observedGeneration", tree_int(set->json, "metadata.generation", 0));
    tree_mut_put_int(doc, status, "replicas", set->count);
    put_count(doc, status, "readyReplicas", set->ready);
    tree_mut_put_int(doc, status, "availableReplicas", set->ready);
    put_count(doc, status, "currentReplicas",
              str_eq(current, update) ? set->updated : set->count - set->updated);
    put_count(doc, status, "updatedReplicas", set->updated);
    tree_mut_put_str(doc, status, "currentRevision", current);
    tree_mut_put_str(doc, status, "updateRevision", update);
    tree_mut_put_int(doc, status, "collisionCount", 0);
    return 0;
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
                       .replicas = MIN(MAX(tree_int(json, "spec.replicas", 1), 0), (int64_t)REPLICAS_MAX),
                       .partition = tree_int(json, "spec.updateStrategy.rollingUpdate.partition", 0),
                       .is_parallel = str_is(tree_text(json, "spec.podManagementPolicy"), "Parallel"),
                       .current = tree_text(json, "status.currentRevision") };
    set.pods = xcalloc((size_t)set.replicas + 1, sizeof(struct known *));
    if (revision_of_template(controllers, resource, object, json, &set.revision)) {
        read_pods(&set);
        change_object(controllers, resource, object, SUB_STATUS, put_status, &set);
        step(&set);
    }
    free(set.pods);
    vec_release(&set.beyond);
    strbuf_release(&set.revision);
}

const struct controller controller_stateful_set = {
    .name = "statefulset", .group = "apps", .plural = "statefulsets", .sync = sync_object
};
