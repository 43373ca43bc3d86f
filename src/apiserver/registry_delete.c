/* registry_delete.c: deletion: at once, gracefully, or when the finalizers are done.
 *
 *     finalizers, or a grace period ──▶ metadata.deletionTimestamp is set; the object stays until both are over
 *     neither ───────────────────────▶ the object goes
 *
 * Only pods have grace periods. Without one, watches see two changes of a pod, as from kube-apiserver: it is marked,
 * then it goes. */
#include <stdio.h>
#include <stdlib.h>

#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "base/clock.h"
#include "base/timestamp.h"

static int check_preconditions(const struct api_resource *resource, const struct stored *old,
                               yyjson_val *object, const struct delete_options *options,
                               struct api_error *err)
{
    struct str version = tree_text(object, "metadata.resourceVersion");
    if (options->uid.len && !str_eq(options->uid, old->uid))
        return api_error_conflict(err, resource, old->name,
                                  "Precondition failed: UID in precondition: " STR_FMT
                                  ", UID in object meta: " STR_FMT,
                                  STR_ARG(options->uid), STR_ARG(old->uid));
    if (options->resource_version.len && !str_eq(options->resource_version, version))
        return api_error_conflict(err, resource, old->name,
                                  "Precondition failed: ResourceVersion in precondition: " STR_FMT
                                  ", ResourceVersion in object meta: " STR_FMT,
                                  STR_ARG(options->resource_version), STR_ARG(version));
    return 0;
}

static bool has_item(yyjson_mut_val *list, const char *text)
{
    yyjson_mut_val *item;
    size_t i, max;
    if (list)
        yyjson_mut_arr_foreach(list, i, max, item)
        {
            if (str_is(tree_mut_str(item), text))
                return true;
        }
    return false;
}

/* The garbage collector takes these off when dependents are gone, or on their own. */
static void put_propagation(struct change *change, const struct delete_options *options)
{
    static const struct {
        const char *policy, *finalizer;
    } finalizers[] = { { "Foreground", "foregroundDeletion" }, { "Orphan", "orphan" } };
    for (size_t i = 0; i < ARRAY_SIZE(finalizers); i++) {
        yyjson_mut_val *list = yyjson_mut_obj_get(change->meta, "finalizers");
        if (!str_is(options->propagation_policy, finalizers[i].policy) ||
            has_item(list, finalizers[i].finalizer))
            continue;
        if (!list) {
            list = yyjson_mut_arr(change->doc);
            tree_mut_put(change->doc, change->meta, STR("finalizers"), list);
        }
        yyjson_mut_arr_append(list, tree_mut_new_str(change->doc, str_from(finalizers[i].finalizer)));
    }
}

/* The time by which it is gone, which a second request can only bring nearer. */
static void put_deletion(struct change *change, int64_t grace_s)
{
    struct timestamp due;
    int64_t now_s = clock_now_ns(CLOCK_REALTIME) / NS_PER_S;
    bool is_first = !yyjson_mut_obj_get(change->meta, "deletionTimestamp");
    int64_t before_s = tree_mut_int(change->meta, "deletionGracePeriodSeconds", 0);
    if (!is_first && grace_s >= before_s)
        return;
    if (is_first || !timestamp_parse(tree_mut_text(change->meta, "deletionTimestamp"), &due))
        registry_put_now(change->doc, change->meta, "deletionTimestamp", grace_s);
    else
        registry_put_now(change->doc, change->meta, "deletionTimestamp",
                         due.seconds - before_s + grace_s - now_s);
    tree_mut_put_int(change->doc, change->meta, "deletionGracePeriodSeconds", grace_s);
    int64_t generation = tree_mut_int(change->meta, "generation", 0);
    if (is_first && generation > 0)
        tree_mut_put_int(change->doc, change->meta, "generation", generation + 1);
    if (is_first && str_empty(change->resource->group) && str_is(change->resource->plural, "namespaces"))
        tree_mut_put_str(change->doc, tree_mut_make(change->doc, change->object, "status"), "phase",
                         STR("Terminating"));
}

static bool has_finalizers(const struct change *change)
{
    return yyjson_mut_arr_size(yyjson_mut_obj_get(change->meta, "finalizers")) > 0 ||
           (change->resource == resource_named("", "namespaces") &&
            yyjson_mut_arr_size(tree_mut_at(change->object, "spec.finalizers")) > 0);
}

/* A server that ended between the two changes has left it so. */
static bool is_marked(const struct change *change)
{
    return yyjson_mut_obj_get(change->meta, "deletionTimestamp") &&
           tree_mut_int(change->meta, "deletionGracePeriodSeconds", 0) == 0;
}

static int delete(struct change *change, struct stored *old, const struct delete_options *options,
                  struct registry_result *ret)
{
    yyjson_val *object = registry_parsed(change->registry, old);
    int r = check_preconditions(change->resource, old, object, options, change->err);
    if (r < 0)
        return r;
    int64_t grace_s = strategy_grace_s(change->resource, object, options->grace_s);
    change->doc = registry_copy(old);
    change->object = yyjson_mut_doc_get_root(change->doc);
    change->meta = tree_mut_make(change->doc, change->object, "metadata");
    change->old = yyjson_mut_val_mut_copy(change->doc, change->object);
    put_propagation(change, options);
    strategy_delete(change);
    bool is_pod = change->resource == resource_named("", "pods");
    change->ends = !has_finalizers(change) && (!is_pod || is_marked(change));
    change->is_marked = is_pod && !change->ends;
    if (!change->ends)
        put_deletion(change, grace_s);
    r = registry_commit(change, old, ret);
    yyjson_mut_doc_free(change->doc);
    return r;
}

/* The namespaces that a cluster cannot be without. */
static bool is_permanent(const struct api_resource *resource, struct str name)
{
    return resource == resource_named("", "namespaces") &&
           (str_is(name, "default") || str_is(name, "kube-system") || str_is(name, "kube-public"));
}

int registry_delete(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, const struct delete_options *options, struct registry_result *ret,
                    struct api_error *err)
{
    struct stored *old;
    if (is_permanent(resource, name))
        return api_error_forbidden(err, resource, name, "this namespace may not be deleted");
    int r = registry_get(registry, resource, ns, name, &old, err);
    if (r < 0)
        return r;
    old = stored_ref(old);
    struct write_options write = { .dry_run = options->dry_run };
    struct change change = {
        .registry = registry, .resource = resource, .ns = ns, .name = name, .options = &write, .err = err
    };
    r = delete (&change, old, options, ret);
    stored_unref(old);
    return r;
}
