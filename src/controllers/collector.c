/* collector.c: owner references, as the garbage collector of Kubernetes follows them.
 *
 * An object whose owners are all gone is deleted. One that is deleted in the foreground stays until the dependents that
 * block it are gone; one that is deleted as "Orphan" leaves its dependents without it. */
#include "controllers/controller.h"

static int drop_finalizer(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    yyjson_mut_val *list = yyjson_mut_obj_get(meta, "finalizers");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;)
        if (str_is(tree_mut_str(yyjson_mut_arr_get(list, i)), user))
            yyjson_mut_arr_remove(list, i);
    if (!yyjson_mut_arr_size(list))
        tree_mut_remove(meta, "finalizers");
    return 0;
}

static bool has_finalizer(yyjson_val *json, const char *name)
{
    yyjson_val *list = tree_at(json, "metadata.finalizers"), *item;
    size_t i, max;
    if (yyjson_is_arr(list))
        yyjson_arr_foreach(list, i, max, item) {
            if (str_is(doc_text(item), name))
                return true;
        }
    return false;
}

static int leave_owner(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct str *uid = user;
    yyjson_mut_val *meta = yyjson_mut_obj_get(yyjson_mut_doc_get_root(doc), "metadata");
    yyjson_mut_val *list = yyjson_mut_obj_get(meta, "ownerReferences");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;)
        if (str_eq(tree_mut_text(yyjson_mut_arr_get(list, i), "uid"), *uid))
            yyjson_mut_arr_remove(list, i);
    if (!yyjson_mut_arr_size(list))
        tree_mut_remove(meta, "ownerReferences");
    return 0;
}

/* A dependent, with a reference: what happens to it changes the lists. */
struct dependent {
    const struct api_resource *resource;
    struct stored *object;
    bool blocks, is_terminating;
};
typedef VEC(struct dependent) dependent_vec;

static dependent_vec dependents_of(struct controllers *controllers, const struct stored *object)
{
    dependent_vec found = { 0 };
    struct owner *owner = owner_find(controllers, object->uid);
    if (owner)
        list_for_each(&owner->dependents, struct owner_link, link, link)
            *vec_push(&found) = (struct dependent){ link->of->resource, stored_ref(link->of->object),
                                                    link->blocks, link->of->is_terminating };
    return found;
}

static void release(dependent_vec *dependents)
{
    vec_for(dependents, one)
        stored_unref(one->object);
    vec_release(dependents);
}

static void orphan(struct controllers *controllers, const struct api_resource *resource,
                   struct stored *object)
{
    dependent_vec dependents = dependents_of(controllers, object);
    vec_for(&dependents, one)
        change_object(controllers, one->resource, one->object, SUB_NONE, leave_owner, &object->uid);
    release(&dependents);
    change_object(controllers, resource, object, SUB_NONE, drop_finalizer, "orphan");
}

static void delete_dependents(struct controllers *controllers, const struct api_resource *resource,
                              struct stored *object)
{
    dependent_vec dependents = dependents_of(controllers, object);
    size_t blocking = 0;
    vec_for(&dependents, one) {
        blocking += one->blocks;
        if (!one->is_terminating)
            delete_object(controllers, one->resource, one->object, "Foreground", -1);
    }
    release(&dependents);
    /* Those that were deleted at once come back through the queue. */
    if (!blocking)
        change_object(controllers, resource, object, SUB_NONE, drop_finalizer, "foregroundDeletion");
}

/* Does an owner of the object exist? A uid that is another's by now does not. */
static bool has_owner(struct controllers *controllers, const struct stored *object, yyjson_val *references)
{
    yyjson_val *reference;
    size_t i, max;
    yyjson_arr_foreach(references, i, max, reference) {
        const struct api_resource *resource = resource_of_reference(reference);
        if (!resource)
            return true; /* of a kind that is not known: it is not ours to judge */
        const struct stored *owner =
            store_get(controllers->store, resource->storage, resource->namespaced ? object->ns : STR(""),
                      tree_text(reference, "name"));
        if (owner && str_eq(owner->uid, tree_text(reference, "uid")))
            return true;
    }
    return false;
}

static void sync_object(struct controllers *controllers, const struct api_resource *resource,
                        struct stored *object, yyjson_val *json)
{
    if (!object)
        return;
    bool is_terminating = tree_at(json, "metadata.deletionTimestamp") != NULL;
    yyjson_val *references = tree_at(json, "metadata.ownerReferences");
    if (is_terminating && has_finalizer(json, "orphan"))
        orphan(controllers, resource, object);
    else if (is_terminating && has_finalizer(json, "foregroundDeletion"))
        delete_dependents(controllers, resource, object);
    else if (!is_terminating && yyjson_arr_size(references) && !has_owner(controllers, object, references))
        delete_object(controllers, resource, object, "Background", -1);
}

const struct controller controller_collector = { .name = "collector", .sync = sync_object };
