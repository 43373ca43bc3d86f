/* claim.c: PersistentVolumeClaims find their volumes: one that is there and fits, or a new one from the claim's class.
 *
 *     class with volumeBindingMode Immediate ────────▶ at once
 *     WaitForFirstConsumer ──▶ the scheduler chooses ─▶ a volume (its claimRef), or a node (the claim's annotation)
 *
 * Every class but those of kubernetes.io/no-provisioner has a provisioner here: volumes cost nothing. Such a volume can
 * be reached from the zone of the chosen node. When its claim is gone, a volume is deleted or released. */
#include <stdio.h>

#include "api/quantity.h"
#include "controllers/controller.h"

#define BIND_COMPLETED "pv.kubernetes.io/bind-completed"
#define BOUND_BY_CONTROLLER "pv.kubernetes.io/bound-by-controller"
#define PROVISIONED_BY "pv.kubernetes.io/provisioned-by"
#define SELECTED_NODE "volume.kubernetes.io/selected-node"

static struct str annotation(yyjson_val *json, const char *key)
{
    return doc_text(yyjson_obj_get(tree_at(json, "metadata.annotations"), key));
}

/* ---- a volume that fits ---- */
struct search {
    struct stored *claim;
    yyjson_val *json;
    int64_t wanted;
    bool may_take; /* also volumes that nothing has reserved for the claim */
    struct stored *found;
    int64_t found_size;
    bool found_reserved;
};

static int64_t size_of(yyjson_val *json, const char *path)
{
    struct quantity quantity;
    return quantity_parse(tree_text(json, path), &quantity) == 0 ? quantity_value(quantity) : 0;
}

static bool has_modes(yyjson_val *volume, yyjson_val *claim)
{
    yyjson_val *wanted = tree_at(claim, "spec.accessModes"), *offered = tree_at(volume, "spec.accessModes"),
               *mode, *one;
    size_t i, max, j, count;
    if (!yyjson_is_arr(wanted))
        return true;
    yyjson_arr_foreach(wanted, i, max, mode) {
        bool has = false;
        if (yyjson_is_arr(offered))
            yyjson_arr_foreach(offered, j, count, one)
                has = has || str_eq(doc_text(one), doc_text(mode));
        if (!has)
            return false;
    }
    return true;
}

static enum store_visited look_at_volume(void *user, struct stored *volume)
{
    struct search *search = user;
    yyjson_doc *doc = yyjson_read(volume->json.ptr, volume->json.len, 0);
    yyjson_val *json = yyjson_doc_get_root(doc), *reference = tree_at(json, "spec.claimRef");
    struct str uid = tree_text(reference, "uid");
    bool is_reserved = reference && str_eq(tree_text(reference, "name"), search->claim->name) &&
                       str_eq(tree_text(reference, "namespace"), search->claim->ns) &&
                       (!uid.len || str_eq(uid, search->claim->uid));
    int64_t size = size_of(json, "spec.capacity.storage");
    bool fits =
        !reference && search->may_take && size >= search->wanted && has_modes(json, search->json) &&
        str_eq(tree_text(json, "spec.storageClassName"), tree_text(search->json, "spec.storageClassName")) &&
        !tree_at(json, "metadata.deletionTimestamp");
    if (is_reserved || (fits && !search->found_reserved && (!search->found || size < search->found_size))) {
        search->found = volume;
        search->found_size = size;
        search->found_reserved = is_reserved;
    }
    yyjson_doc_free(doc);
    return search->found_reserved ? STORE_STOP : STORE_COUNTS;
}

/* ---- binding ---- */
static int reserve_volume(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct stored *claim = user;
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc),
                   *reference = tree_mut_make(doc, object, "spec.claimRef");
    tree_mut_put_str(doc, reference, "kind", STR("PersistentVolumeClaim"));
    tree_mut_put_str(doc, reference, "apiVersion", STR("v1"));
    tree_mut_put_str(doc, reference, "namespace", claim->ns);
    tree_mut_put_str(doc, reference, "name", claim->name);
    tree_mut_put_str(doc, reference, "uid", claim->uid);
    return 0;
}

static int set_phase(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    tree_mut_put_str(doc, tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status"), "phase",
                     str_from(user));
    return 0;
}

static int name_volume(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct stored *volume = user;
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *annotations = tree_mut_make(doc, object, "metadata.annotations");
    tree_mut_put_str(doc, annotations, BIND_COMPLETED, STR("yes"));
    tree_mut_put_str(doc, annotations, BOUND_BY_CONTROLLER, STR("yes"));
    tree_mut_put_str(doc, tree_mut_make(doc, object, "spec"), "volumeName", volume->name);
    return 0;
}

static int put_claim_status(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_val *volume = user;
    yyjson_mut_val *status = tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "status");
    static const char *const copied[] = { "accessModes", "capacity" };
    tree_mut_put_str(doc, status, "phase", STR("Bound"));
    for (size_t i = 0; i < ARRAY_SIZE(copied); i++) {
        yyjson_val *val = yyjson_obj_get(yyjson_obj_get(volume, "spec"), copied[i]);
        tree_mut_put(doc, status, str_from(copied[i]), val ? yyjson_val_mut_copy(doc, val) : NULL);
    }
    return 0;
}

static void bind(struct controllers *controllers, const struct api_resource *resource, struct stored *claim,
                 struct stored *volume)
{
    const struct api_resource *volumes = resource_named("", "persistentvolumes");
    volume = stored_ref(volume);
    change_object(controllers, volumes, volume, SUB_NONE, reserve_volume, claim);
    change_object(controllers, volumes, volume, SUB_STATUS, set_phase, "Bound");
    change_object(controllers, resource, claim, SUB_NONE, name_volume, volume);
    yyjson_doc *doc = yyjson_read(volume->json.ptr, volume->json.len, 0);
    change_object(controllers, resource, claim, SUB_STATUS, put_claim_status, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    stored_unref(volume);
}

/* ---- provisioning ---- */
static void put_zone(yyjson_mut_doc *doc, yyjson_mut_val *spec, struct str zone)
{
    yyjson_mut_val *term = yyjson_mut_obj(doc), *terms = yyjson_mut_arr(doc),
                   *expression = yyjson_mut_obj(doc);
    yyjson_mut_val *expressions = yyjson_mut_arr(doc), *values = yyjson_mut_arr(doc);
    yyjson_mut_arr_append(values, tree_mut_new_str(doc, zone));
    tree_mut_put_str(doc, expression, "key", STR("topology.kubernetes.io/zone"));
    tree_mut_put_str(doc, expression, "operator", STR("In"));
    tree_mut_put(doc, expression, STR("values"), values);
    yyjson_mut_arr_append(expressions, expression);
    tree_mut_put(doc, term, STR("matchExpressions"), expressions);
    yyjson_mut_arr_append(terms, term);
    tree_mut_put(doc, tree_mut_make(doc, spec, "nodeAffinity.required"), STR("nodeSelectorTerms"), terms);
}

static struct str zone_of(struct controllers *controllers, struct str node, struct arena *arena)
{
    struct stored *object =
        node.len ? store_get(controllers->store, resource_named("", "nodes")->storage, STR(""), node) : NULL;
    if (!object)
        return (struct str){ 0 };
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *labels = tree_at(yyjson_doc_get_root(doc), "metadata.labels");
    struct str zone = arena_str(arena, doc_text(yyjson_obj_get(labels, "topology.kubernetes.io/zone")));
    yyjson_doc_free(doc);
    return zone;
}

static void provision(struct controllers *controllers, struct stored *claim, yyjson_val *json,
                      yyjson_val *class)
{
    _cleanup_(arena_release) struct arena arena = { 0 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, object);
    yyjson_mut_val *meta = tree_mut_make(doc, object, "metadata"), *spec = tree_mut_make(doc, object, "spec");
    struct str name = arena_printf(&arena, "pvc-" STR_FMT, STR_ARG(claim->uid));
    struct str provisioner = tree_text(class, "provisioner");
    tree_mut_put_str(doc, meta, "name", name);
    tree_mut_put_str(doc, tree_mut_make(doc, meta, "annotations"), PROVISIONED_BY, provisioner);
    yyjson_val *requests = tree_at(json, "spec.resources.requests"),
               *modes = tree_at(json, "spec.accessModes");
    if (requests)
        tree_mut_put(doc, spec, STR("capacity"), yyjson_val_mut_copy(doc, requests));
    if (modes)
        tree_mut_put(doc, spec, STR("accessModes"), yyjson_val_mut_copy(doc, modes));
    struct str policy = tree_text(class, "reclaimPolicy");
    tree_mut_put_str(doc, spec, "persistentVolumeReclaimPolicy", policy.len ? policy : STR("Delete"));
    tree_mut_put_str(doc, spec, "storageClassName", tree_text(json, "spec.storageClassName"));
    struct str mode = tree_text(json, "spec.volumeMode");
    tree_mut_put_str(doc, spec, "volumeMode", mode.len ? mode : STR("Filesystem"));
    yyjson_mut_val *csi = tree_mut_make(doc, spec, "csi");
    tree_mut_put_str(doc, csi, "driver", provisioner);
    tree_mut_put_str(doc, csi, "volumeHandle", name);
    struct str zone = zone_of(controllers, annotation(json, SELECTED_NODE), &arena);
    if (zone.len)
        put_zone(doc, spec, zone);
    reserve_volume(claim, doc, NULL);
    create_object(controllers, resource_named("", "persistentvolumes"), STR(""), doc);
}

static void find_or_make(struct controllers *controllers, const struct api_resource *resource,
                         struct stored *claim, yyjson_val *json)
{
    const struct api_resource *classes = resource_named("storage.k8s.io", "storageclasses");
    struct str name = tree_text(json, "spec.storageClassName");
    struct stored *class = name.len ? store_get(controllers->store, classes->storage, STR(""), name) : NULL;
    yyjson_doc *doc = class ? yyjson_read(class->json.ptr, class->json.len, 0) : NULL;
    yyjson_val *class_json = yyjson_doc_get_root(doc);
    bool waits = str_is(tree_text(class_json, "volumeBindingMode"), "WaitForFirstConsumer");
    struct search search = { .claim = claim,
                             .json = json,
                             .wanted = size_of(json, "spec.resources.requests.storage"),
                             .may_take = !waits };
    struct store_range range = { .kind = resource_named("", "persistentvolumes")->storage };
    store_page(controllers->store, &range, 0, look_at_volume, &search);
    struct str provisioner = tree_text(class_json, "provisioner");
    if (search.found)
        bind(controllers, resource, claim, search.found);
    else if (provisioner.len && !str_is(provisioner, "kubernetes.io/no-provisioner") &&
             (!waits || annotation(json, SELECTED_NODE).len))
        provision(controllers, claim, json, class_json);
    yyjson_doc_free(doc);
}

static void sync_claim(struct controllers *controllers, const struct api_resource *resource,
                       struct stored *claim, yyjson_val *json)
{
    if (!claim || tree_at(json, "metadata.deletionTimestamp"))
        return;
    struct str name = tree_text(json, "spec.volumeName");
    if (!name.len) {
        find_or_make(controllers, resource, claim, json);
        return;
    }
    struct stored *volume =
        store_get(controllers->store, resource_named("", "persistentvolumes")->storage, STR(""), name);
    if (volume && !str_is(tree_text(json, "status.phase"), "Bound"))
        bind(controllers, resource, claim, volume);
}

const struct controller controller_claim = {
    .name = "claim", .group = "", .plural = "persistentvolumeclaims", .sync = sync_claim
};

/* ---- volumes ---- */
static enum store_visited add_pending(void *user, struct stored *claim)
{
    if (!strstr(claim->json.ptr, "\"volumeName\""))
        task_add(user, &controller_claim, resource_named("", "persistentvolumeclaims"), claim->ns,
                 claim->name, 50);
    return STORE_COUNTS;
}

static void sync_volume(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *volume, yyjson_val *json)
{
    if (!volume || tree_at(json, "metadata.deletionTimestamp"))
        return;
    const struct api_resource *claims = resource_named("", "persistentvolumeclaims");
    yyjson_val *reference = tree_at(json, "spec.claimRef");
    if (!reference) {
        change_object(controllers, resource, volume, SUB_STATUS, set_phase, "Available");
        store_page(controllers->store, &(struct store_range){ .kind = claims->storage }, 0, add_pending,
                   controllers);
        return;
    }
    struct str ns = tree_text(reference, "namespace"), name = tree_text(reference, "name"),
               uid = tree_text(reference, "uid");
    const struct stored *claim = store_get(controllers->store, claims->storage, ns, name);
    if (claim && (!uid.len || str_eq(uid, claim->uid))) {
        if (!str_is(tree_text(json, "status.phase"), "Bound"))
            task_add(controllers, &controller_claim, claims, ns, name, 0);
    } else if (uid.len && annotation(json, PROVISIONED_BY).len &&
               str_is(tree_text(json, "spec.persistentVolumeReclaimPolicy"), "Delete")) {
        delete_object(controllers, resource, volume, "", -1);
    } else if (uid.len) {
        change_object(controllers, resource, volume, SUB_STATUS, set_phase, "Released");
    }
}

const struct controller controller_volume = {
    .name = "volume", .group = "", .plural = "persistentvolumes", .sync = sync_volume
};

/* ---- claims of ephemeral volumes ---- */
static void sync_pod(struct controllers *controllers, const struct api_resource *resource, struct stored *pod,
                     yyjson_val *json)
{
    const struct api_resource *claims = resource_named("", "persistentvolumeclaims");
    yyjson_val *volumes = tree_at(json, "spec.volumes"), *volume;
    size_t i, max;
    if (!pod || tree_at(json, "metadata.deletionTimestamp") || !yyjson_is_arr(volumes))
        return;
    yyjson_arr_foreach(volumes, i, max, volume) {
        yyjson_val *template = tree_at(volume, "ephemeral.volumeClaimTemplate");
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        strbuf_printf(&name, STR_FMT "-" STR_FMT, STR_ARG(pod->name), STR_ARG(tree_text(volume, "name")));
        if (template && !store_get(controllers->store, claims->storage, pod->ns, strbuf_slice(&name)))
            create_object(controllers, claims, pod->ns,
                          from_template(resource, pod, template, strbuf_slice(&name), false));
    }
}

const struct controller controller_ephemeral = {
    .name = "ephemeral", .group = "", .plural = "pods", .sync = sync_pod
};
