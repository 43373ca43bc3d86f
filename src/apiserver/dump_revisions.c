/* dump_revisions.c: ControllerRevisions of StatefulSets and DaemonSets that came from another cluster.
 *
 * The controllers find the revision of a template by its data, which is not written in the same way everywhere, and a
 * dump may not have it at all. Without it they would take all pods for outdated, and replace them. So the revision that
 * the set has reached, by its status or its pods, is made, or gets the template as data. */
#include "apiserver/cluster_dump_impl.h"
#include "apiserver/tree.h"

#define HASH_LABEL "controller-revision-hash"

/* {"spec":{"template":{..., "$patch":"replace"}}} */
static yyjson_mut_val *data_of(yyjson_mut_doc *doc, yyjson_val *set)
{
    yyjson_mut_val *data = yyjson_mut_obj(doc), *spec = tree_mut_make(doc, data, "spec");
    tree_mut_put(doc, spec, STR("template"), yyjson_val_mut_copy(doc, tree_at(set, "spec.template")));
    tree_mut_put_str(doc, tree_mut_at(spec, "template"), "$patch", STR("replace"));
    return data;
}

static int put_data(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    tree_mut_put(doc, yyjson_mut_doc_get_root(doc), STR("data"), data_of(doc, user));
    return 0;
}

static yyjson_mut_doc *new_revision(const struct api_resource *resource, const struct stored *set,
                                    yyjson_val *json, struct str name)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc), *list = yyjson_mut_arr(doc),
                   *reference = yyjson_mut_arr_add_obj(doc, list);
    yyjson_val *labels = tree_at(json, "spec.template.metadata.labels");
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    yyjson_mut_doc_set_root(doc, object);
    yyjson_mut_val *meta = tree_mut_make(doc, object, "metadata");
    resource_write_version(resource, &version);
    tree_mut_put_str(doc, meta, "name", name);
    if (labels)
        tree_mut_put(doc, meta, STR("labels"), yyjson_val_mut_copy(doc, labels));
    tree_mut_put_str(doc, tree_mut_make(doc, meta, "labels"), HASH_LABEL,
                     str_slice(name, MIN(set->name.len + 1, name.len), name.len));
    tree_mut_put_str(doc, reference, "apiVersion", strbuf_slice(&version));
    tree_mut_put_str(doc, reference, "kind", resource->kind);
    tree_mut_put_str(doc, reference, "name", set->name);
    tree_mut_put_str(doc, reference, "uid", set->uid);
    yyjson_mut_obj_add_bool(doc, reference, "controller", true);
    yyjson_mut_obj_add_bool(doc, reference, "blockOwnerDeletion", true);
    tree_mut_put(doc, meta, STR("ownerReferences"), list);
    tree_mut_put(doc, object, STR("data"), data_of(doc, json));
    tree_mut_put_int(doc, object, "revision", 1);
    return doc;
}

static void put_revision(struct registry *registry, const struct api_resource *resource, struct stored *set,
                         yyjson_val *json, struct str name)
{
    const struct api_resource *revisions = resource_named("apps", "controllerrevisions");
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    struct write_options options = { 0 };
    if (store_get(registry_store(registry), revisions->storage, set->ns, name)) {
        registry_modify(registry, revisions, set->ns, name, &options, put_data, json, &result, &err);
    } else {
        yyjson_mut_doc *doc = new_revision(resource, set, json, name);
        registry_create(registry, revisions, set->ns, doc, &options, &result, &err);
        yyjson_mut_doc_free(doc);
    }
    registry_result_release(&result);
    api_error_release(&err);
}

/* ---- which revision ---- */
/* The revision of the pods that an owner controls; several: none. */
struct pod_revision {
    struct str uid; /* of the map, which it is an entry of */
    struct str hash;
    bool is_mixed;
};

static void note_pods(const struct cluster_dump *dump, struct strmap *ret)
{
    const struct api_resource *pods = resource_named("", "pods");
    vec_for(&dump->items, item) {
        yyjson_val *owner = yyjson_arr_get_first(tree_at(item->val, "metadata.ownerReferences"));
        struct str hash = doc_text(yyjson_obj_get(tree_at(item->val, "metadata.labels"), HASH_LABEL));
        if (item->resource != pods || !hash.len || !tree_text(owner, "uid").len)
            continue;
        struct pod_revision *revision = strmap_make(ret, tree_text(owner, "uid"), sizeof(*revision));
        revision->is_mixed |= revision->hash.len && !str_eq(revision->hash, hash);
        revision->hash = hash;
    }
}

/* The name of the revision of the template, appended; nothing: it is not known. */
static void write_name(const struct stored *set, yyjson_val *json, const struct strmap *revisions,
                       struct strbuf *name)
{
    const struct pod_revision *revision = strmap_get(revisions, set->uid);
    struct str update = tree_text(json, "status.updateRevision");
    int64_t observed = tree_int(json, "status.observedGeneration", -1);
    if (observed != tree_int(json, "metadata.generation", 0))
        return;
    if (update.len)
        strbuf_str(name, update);
    else if (revision && !revision->is_mixed)
        strbuf_printf(name, STR_FMT "-" STR_FMT, STR_ARG(set->name), STR_ARG(revision->hash));
}

void dump_settle_revisions(struct cluster_dump *dump, struct registry *registry)
{
    const struct api_resource *stateful = resource_named("apps", "statefulsets"),
                              *daemons = resource_named("apps", "daemonsets");
    struct strmap revisions = { 0 };
    note_pods(dump, &revisions);
    vec_for(&dump->items, item) {
        bool is_set = item->resource && (item->resource == stateful || item->resource == daemons);
        struct stored *set =
            is_set ? store_get(registry_store(registry), item->resource->storage, item->ns, item->name)
                   : NULL;
        if (!set)
            continue;
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        set = stored_ref(set);
        yyjson_doc *doc = yyjson_read(set->json.ptr, set->json.len, 0);
        write_name(set, yyjson_doc_get_root(doc), &revisions, &name);
        if (name.len)
            put_revision(registry, item->resource, set, yyjson_doc_get_root(doc), strbuf_slice(&name));
        yyjson_doc_free(doc);
        stored_unref(set);
    }
    map_for(&revisions, slot)
        free(slot->value);
    strmap_release(&revisions);
}
