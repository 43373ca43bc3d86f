/* namespace.c: a namespace that is deleted goes when all objects in it are gone; each has the service account
 * "default". */
#include "controllers/controller.h"

typedef VEC(struct stored *) stored_vec;

static enum store_visited collect(void *user, struct stored *object)
{
    *vec_push((stored_vec *)user) = stored_ref(object);
    return STORE_COUNTS;
}

/* How many objects are left. Deletion comes to the queue again with each that goes. */
static size_t delete_content(struct controllers *controllers, struct str ns)
{
    size_t left = 0;
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *resource = resource_at(i);
        if (!resource || !resource->namespaced || resource_of_storage(resource->storage) != resource)
            continue;
        stored_vec objects = { 0 };
        struct store_range range = { .kind = resource->storage, .ns = ns };
        store_page(controllers->store, &range, 0, collect, &objects);
        vec_for(&objects, object) {
            yyjson_doc *doc = yyjson_read((*object)->json.ptr, (*object)->json.len, 0);
            if (!tree_at(yyjson_doc_get_root(doc), "metadata.deletionTimestamp"))
                delete_object(controllers, resource, *object, "Background", -1);
            yyjson_doc_free(doc);
            stored_unref(*object);
        }
        vec_release(&objects);
        left += store_count(controllers->store, &range);
    }
    return left;
}

static int drop_finalizer(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *list = tree_mut_at(yyjson_mut_doc_get_root(doc), "spec.finalizers");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;)
        if (str_is(tree_mut_str(yyjson_mut_arr_get(list, i)), "kubernetes"))
            yyjson_mut_arr_remove(list, i);
    return 0;
}

static void make_account(struct controllers *controllers, struct str ns)
{
    const struct api_resource *accounts = resource_named("", "serviceaccounts");
    if (store_get(controllers->store, accounts->storage, ns, STR("default")))
        return;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, object);
    tree_mut_put_str(doc, tree_mut_make(doc, object, "metadata"), "name", STR("default"));
    create_object(controllers, accounts, ns, doc);
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object)
        return;
    if (!tree_at(json, "metadata.deletionTimestamp"))
        make_account(controllers, object->name);
    else if (delete_content(controllers, object->name) == 0)
        change_object(controllers, resource, object, SUB_FINALIZE, drop_finalizer, NULL);
}

const struct controller controller_namespace = {
    .name = "namespace", .group = "", .plural = "namespaces", .sync = sync_object
};
