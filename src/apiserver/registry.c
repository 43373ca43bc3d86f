/* registry.c: creating, reading and changing objects.
 *
 * An update starts from the stored version: what the server owns (uid, times, generation) is taken from there, and for
 * a subresource also everything that is not its part. A change that changes nothing is not stored, so it has no
 * revision, as in kube-apiserver. */
#include "apiserver/registry.h"

#include <stdio.h>
#include <stdlib.h>

#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "base/clock.h"
#include "base/timestamp.h"
#include "schema/apply.h"
#include "schema/defaults.h"

enum { OBJECT_BYTES_MAX = 3 << 20, DELETION_BYTES_MAX = 1 << 10 };

struct registry *registry_new(const struct registry_options *options)
{
    struct registry *registry = xcalloc(1, sizeof(*registry));
    registry->store = options->store;
    registry->next_address = 1;
    rng_seed(&registry->rng, options->seed);
    return registry;
}

static void drop_parsed(struct registry *registry, size_t i)
{
    yyjson_doc_free(registry->parsed[i].doc);
    stored_unref(registry->parsed[i].of);
    registry->parsed[i].doc = NULL;
    registry->parsed[i].of = NULL;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < PARSED_MAX; i++)
        drop_parsed(registry, i);
    free(registry);
}

struct store *registry_store(const struct registry *registry)
{
    return registry->store;
}

yyjson_val *registry_parsed(struct registry *registry, struct stored *object)
{
    for (size_t i = 0; i < PARSED_MAX; i++)
        if (registry->parsed[i].of == object)
            return yyjson_doc_get_root(registry->parsed[i].doc);
    size_t i = registry->parsed_next++ % PARSED_MAX;
    drop_parsed(registry, i);
    registry->parsed[i].of = stored_ref(object);
    registry->parsed[i].doc = yyjson_read(object->json.ptr, object->json.len, 0);
    return yyjson_doc_get_root(registry->parsed[i].doc);
}

struct str registry_result_json(const struct registry_result *result)
{
    return result->object ? result->object->json : strbuf_slice(&result->json);
}

void registry_result_release(struct registry_result *result)
{
    stored_unref(result->object);
    strbuf_release(&result->json);
    *result = (struct registry_result){ 0 };
}

yyjson_mut_doc *registry_copy(const struct stored *object)
{
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_doc_free(doc);
    return copy;
}

void registry_put_now(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t later_s)
{
    char buf[TIMESTAMP_LEN + 1];
    int64_t now_s = clock_now_ns(CLOCK_REALTIME) / NS_PER_S;
    tree_mut_put_str(doc, object, key, timestamp_format(now_s + later_s, buf));
}

void registry_set_condition(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *type, const char *status,
                            const char *reason, const char *message)
{
    yyjson_mut_val *in = tree_mut_make(doc, object, "status");
    yyjson_mut_val *list = yyjson_mut_obj_get(in, "conditions");
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        tree_mut_put(doc, in, STR("conditions"), list);
    }
    yyjson_mut_val *found = NULL, *item;
    size_t i, max;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        if (str_is(tree_mut_text(item, "type"), type))
            found = item;
    }
    bool is_same = found && str_is(tree_mut_text(found, "status"), status);
    if (!found) {
        found = yyjson_mut_obj(doc);
        yyjson_mut_arr_append(list, found);
        if (str_is(tree_mut_text(object, "kind"), "Pod"))
            tree_mut_put(doc, found, STR("lastProbeTime"), yyjson_mut_null(doc));
    }
    if (!is_same)
        registry_put_now(doc, found, "lastTransitionTime", 0);
    tree_mut_put_str(doc, found, "type", str_from(type));
    tree_mut_put_str(doc, found, "status", str_from(status));
    tree_mut_put(doc, found, STR("reason"), reason ? tree_mut_new_str(doc, str_from(reason)) : NULL);
    tree_mut_put(doc, found, STR("message"), message ? tree_mut_new_str(doc, str_from(message)) : NULL);
}

int registry_get(struct registry *registry, const struct api_resource *resource, struct str ns,
                 struct str name, struct stored **ret, struct api_error *err)
{
    *ret = store_get(registry->store, resource->storage, ns, name);
    return *ret ? 0 : api_error_not_found(err, resource, name);
}

/* ---- creating ---- */
static void put_type(struct change *change)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_stored_version(change->resource, &version);
    tree_mut_put_str(change->doc, change->object, "kind", change->resource->kind);
    tree_mut_put_str(change->doc, change->object, "apiVersion", strbuf_slice(&version));
}

/* What the schema says about absent fields. Objects are stored in one version, which the schema knows. */
static void put_defaults(struct change *change)
{
    const struct api_resource *row = change->resource;
    if (!row->is_custom)
        row = resource_at(row->storage);
    const struct schema_type *type =
        row->is_custom ? schema_of_custom() : schema_of(row->group, row->version, row->kind);
    if (!type)
        return;
    schema_set_defaults(type, change->doc);
    change->object = yyjson_mut_doc_get_root(change->doc);
    change->meta = tree_mut_make(change->doc, change->object, "metadata");
    strategy_set_defaults(change);
}

/* Who manages which field. An applied object has it; without a manager the entries stay as they are. */
static void track(struct change *change, const struct stored *old)
{
    const struct write_options *options = change->options;
    const struct api_resource *row = change->resource;
    const struct subresource_row *part = options->subresource ? subresource_row(options->subresource) : NULL;
    if (options->is_applied)
        return;
    yyjson_doc *was = old ? yyjson_read(old->json.ptr, old->json.len, 0) : NULL;
    yyjson_val *live = yyjson_doc_get_root(was);
    if (options->manager.len) {
        struct apply_request request = { .type = schema_of(row->group, row->version, row->kind),
                                         .manager = options->manager,
                                         .group = row->group,
                                         .version = row->version,
                                         .kind = row->kind,
                                         .subresource = part ? part->name : STR(""),
                                         .has_status = row->subresources & SUB_STATUS,
                                         .now = clock_now_ns(CLOCK_REALTIME) / NS_PER_S };
        request.type = request.type ? request.type : schema_of_custom();
        apply_track(&request, live, change->doc);
    } else {
        yyjson_val *entries = tree_at(live, "metadata.managedFields");
        tree_mut_put(change->doc, change->meta, STR("managedFields"),
                     entries ? yyjson_val_mut_copy(change->doc, entries) : NULL);
    }
    yyjson_doc_free(was);
    change->object = yyjson_mut_doc_get_root(change->doc);
    change->meta = tree_mut_make(change->doc, change->object, "metadata");
}

/* The namespace that an object is made in must be there, and stay. */
static int check_namespace(struct change *change)
{
    if (!change->resource->namespaced)
        return 0;
    const struct api_resource *namespaces = resource_named("", "namespaces");
    struct stored *ns =
        store_get(change->registry->store, namespaces->storage, (struct str){ 0 }, change->ns);
    if (!ns)
        return api_error_not_found(change->err, namespaces, change->ns);
    yyjson_val *object = registry_parsed(change->registry, ns);
    if (!tree_at(object, "metadata.deletionTimestamp") || change->options->is_imported)
        return 0;
    int r = api_error_forbidden(change->err, change->resource, change->name,
                                "unable to create new content in namespace " STR_FMT
                                " because it is being terminated",
                                STR_ARG(change->ns));
    *vec_push(&change->err->causes) =
        (struct api_cause){ .reason = "NamespaceTerminating",
                            .message =
                                arena_printf(&change->err->arena, "namespace " STR_FMT " is being terminated",
                                             STR_ARG(change->ns)),
                            .field = STR("metadata.namespace") };
    return r;
}

/* Chooses a name where the client wants one made up. */
static int choose_name(struct change *change, struct strbuf *name)
{
    struct str base = tree_mut_text(change->meta, "generateName");
    struct store *store = change->registry->store;
    strbuf_str(name, tree_mut_text(change->meta, "name"));
    for (int tries = 0; !name->len && base.len && tries < 8; tries++) {
        name_generate(&change->registry->rng, base, name);
        if (store_get(store, change->resource->storage, change->ns, strbuf_slice(name)))
            strbuf_clear(name);
        else
            tree_mut_put_str(change->doc, change->meta, "name", strbuf_slice(name));
    }
    change->name = strbuf_slice(name);
    return 0;
}

static int check_new_name(struct change *change)
{
    if (!change->name.len)
        api_error_field(change->err, FIELD_REQUIRED, "metadata.name", (struct str){ 0 },
                        "name or generateName is required");
    else
        name_check(change->resource, change->name, "metadata.name", change->err);
    name_check_labels(change->meta, change->err);
    return 0;
}

/* What only the server sets. An object from another cluster has it. */
static void put_identity(struct change *change)
{
    char uid[37];
    name_uid(&change->registry->rng, uid);
    static const char *const owned[] = {
        "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
        "uid",      "creationTimestamp"
    };
    for (size_t i = 0; i < ARRAY_SIZE(owned) && !change->options->is_imported; i++)
        tree_mut_remove(change->meta, owned[i]);
    if (change->resource->namespaced)
        tree_mut_put_str(change->doc, change->meta, "namespace", change->ns);
    else
        tree_mut_remove(change->meta, "namespace");
    if (!tree_mut_text(change->meta, "uid").len)
        tree_mut_put_str(change->doc, change->meta, "uid",
                         change->options->uid.len ? change->options->uid : str_from(uid));
    if (!tree_mut_text(change->meta, "creationTimestamp").len)
        registry_put_now(change->doc, change->meta, "creationTimestamp", 0);
    if (strategy_has_generation(change->resource) && !yyjson_mut_obj_get(change->meta, "generation"))
        tree_mut_put_int(change->doc, change->meta, "generation", 1);
}

static int check_new(struct change *change)
{
    struct str in = tree_mut_text(change->meta, "namespace");
    if (change->resource->namespaced && in.len && !str_eq(in, change->ns))
        return api_error_bad_request(
            change->err,
            "the namespace of the provided object does not match the namespace sent on the request");
    if (change->options->is_imported)
        tree_mut_remove(change->meta, "resourceVersion");
    else if (tree_mut_text(change->meta, "resourceVersion").len)
        return api_error_set(change->err, 500, NULL,
                             "resourceVersion should not be set on objects to be created");
    return 0;
}

/* Appends the object as it will be stored, with the revision of that. Patches could make it larger than any request. */
static int write_object(struct change *change, struct strbuf *out)
{
    char revision[32];
    snprintf(revision, sizeof(revision), "%llu",
             (unsigned long long)store_next_revision(change->registry->store));
    tree_mut_put_str(change->doc, change->meta, "resourceVersion", str_from(revision));
    tree_mut_write(change->object, out);
    /* What is deleted gets a time for that, however large it is. */
    size_t more = yyjson_mut_obj_get(change->meta, "deletionTimestamp") ? DELETION_BYTES_MAX : 0;
    return out->len <= OBJECT_BYTES_MAX + more
               ? 0
               : api_error_set(change->err, 413, "RequestEntityTooLarge",
                               "Request entity too large: limit is %d", OBJECT_BYTES_MAX);
}

static int put_new(struct change *change, struct registry_result *ret)
{
    struct store *store = change->registry->store;
    if (store_get(store, change->resource->storage, change->ns, change->name))
        return api_error_exists(change->err, change->resource, change->name);
    if (change->options->dry_run) {
        tree_mut_remove(change->meta, "resourceVersion");
        tree_mut_write(change->object, &ret->json);
        return 0;
    }
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    int r = write_object(change, &json);
    if (r < 0)
        return r;
    ret->object = stored_ref(store_put(store, change->resource->storage, change->ns, change->name,
                                       tree_mut_text(change->meta, "uid"), strbuf_slice(&json)));
    return 0;
}

int registry_create(struct registry *registry, const struct api_resource *resource, struct str ns,
                    yyjson_mut_doc *object, const struct write_options *options, struct registry_result *ret,
                    struct api_error *err)
{
    _cleanup_(strbuf_release) struct strbuf name = { 0 };
    struct change change = { .registry = registry,
                             .resource = resource,
                             .ns = resource->namespaced ? ns : (struct str){ 0 },
                             .doc = object,
                             .object = yyjson_mut_doc_get_root(object),
                             .options = options,
                             .err = err };
    change.meta = tree_mut_make(object, change.object, "metadata");
    put_type(&change);
    put_defaults(&change);
    static int (*const steps[])(struct change *) = { check_new, check_namespace };
    int r = 0;
    for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++)
        r = steps[i](&change);
    if (r == 0)
        r = choose_name(&change, &name);
    if (r == 0)
        r = check_new_name(&change);
    if (r < 0)
        return r;
    change.has_history = options->is_imported && tree_mut_text(change.meta, "uid").len;
    put_identity(&change);
    /* What the server sets from here on has no manager. */
    track(&change, NULL);
    r = strategy_create(&change);
    if (r == 0)
        r = api_error_invalid(err, resource->group, resource->kind, change.name);
    return r < 0 ? r : put_new(&change, ret);
}

/* ---- changing ---- */
static int check_preconditions(struct change *change)
{
    struct str uid = tree_mut_text(change->meta, "uid"), have = tree_mut_text(change->old, "metadata.uid");
    struct str version = tree_mut_text(change->meta, "resourceVersion");
    if (uid.len && !str_eq(uid, have))
        return api_error_conflict(change->err, change->resource, change->name,
                                  "Precondition failed: UID in precondition: " STR_FMT
                                  ", UID in object meta: " STR_FMT,
                                  STR_ARG(uid), STR_ARG(have));
    if (version.len && !str_is(version, "0") &&
        !str_eq(version, tree_mut_text(change->old, "metadata.resourceVersion")))
        return api_error_conflict(change->err, change->resource, change->name, API_ERROR_MODIFIED);
    return 0;
}

static void copy_member(struct change *change, yyjson_mut_val *to, yyjson_mut_val *from, const char *key)
{
    yyjson_mut_val *val = yyjson_mut_obj_get(from, key);
    tree_mut_put(change->doc, to, str_from(key), val ? yyjson_mut_val_mut_copy(change->doc, val) : NULL);
}

/* Of a subresource only its own part of the object counts; of the object all but its status. */
static void keep_other_parts(struct change *change)
{
    enum subresource part = change->options->subresource;
    if (part == SUB_STATUS) {
        yyjson_mut_val *object = yyjson_mut_obj(change->doc), *key, *val;
        size_t i, max;
        yyjson_mut_obj_foreach(change->old, i, max, key, val)
        {
            if (!str_is(tree_mut_str(key), "status") && !str_is(tree_mut_str(key), "metadata"))
                tree_mut_put(change->doc, object, tree_mut_str(key),
                             yyjson_mut_val_mut_copy(change->doc, val));
        }
        copy_member(change, object, change->resource->is_custom ? change->old : change->object, "metadata");
        copy_member(change, object, change->object, "status");
        if (change->resource->is_custom)
            copy_member(change, yyjson_mut_obj_get(object, "metadata"), change->meta, "managedFields");
        change->object = object;
        change->meta = yyjson_mut_obj_get(object, "metadata");
        yyjson_mut_doc_set_root(change->doc, object);
    } else if (change->resource->subresources & SUB_STATUS) {
        copy_member(change, change->object, change->old, "status");
    }
}

static void keep_identity(struct change *change)
{
    static const char *const owned[] = { "name",
                                         "namespace",
                                         "uid",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "generation",
                                         "generateName",
                                         "selfLink" };
    yyjson_mut_val *old = yyjson_mut_obj_get(change->old, "metadata");
    for (size_t i = 0; i < ARRAY_SIZE(owned); i++)
        copy_member(change, change->meta, old, owned[i]);
}

static bool is_same_but(yyjson_mut_val *a, yyjson_mut_val *b, const char *const *but, size_t len)
{
    yyjson_mut_val *key, *val;
    size_t i, max;
    yyjson_mut_obj_foreach(a, i, max, key, val)
    {
        bool counts = true;
        for (size_t j = 0; j < len; j++)
            counts = counts && !str_is(tree_mut_str(key), but[j]);
        if (counts && !tree_mut_equal(val, tree_mut_member(b, tree_mut_str(key))))
            return false;
    }
    return true;
}

static void count_generation(struct change *change)
{
    static const char *const but[] = { "metadata", "status" };
    /* A custom resource without a subresource for it has its status as any other field. */
    bool has_status = !change->resource->is_custom || change->resource->subresources & SUB_STATUS;
    size_t len = has_status ? 2 : 1;
    if (!strategy_has_generation(change->resource))
        return;
    if (is_same_but(change->object, change->old, but, len) &&
        is_same_but(change->old, change->object, but, len) && !strategy_counts_metadata(change))
        return;
    int64_t generation = tree_mut_int(change->old, "metadata.generation", 0);
    tree_mut_put_int(change->doc, change->meta, "generation", generation + 1);
}

/* Does nothing keep the deleted object any more? */
static bool is_finished(struct change *change)
{
    if (!yyjson_mut_obj_get(change->meta, "deletionTimestamp"))
        return false;
    if (yyjson_mut_arr_size(yyjson_mut_obj_get(change->meta, "finalizers")))
        return false;
    if (str_empty(change->resource->group) && str_is(change->resource->plural, "namespaces") &&
        yyjson_mut_arr_size(tree_mut_at(change->object, "spec.finalizers")))
        return false;
    return tree_mut_int(change->meta, "deletionGracePeriodSeconds", 0) == 0;
}

static bool is_unchanged(struct change *change)
{
    static const char *const but[] = { "metadata" };
    static const char *const but_version[] = { "resourceVersion" };
    yyjson_mut_val *old_meta = yyjson_mut_obj_get(change->old, "metadata");
    return is_same_but(change->object, change->old, but, 1) &&
           is_same_but(change->old, change->object, but, 1) &&
           is_same_but(change->meta, old_meta, but_version, 1) &&
           is_same_but(old_meta, change->meta, but_version, 1);
}

int registry_commit(struct change *change, struct stored *old, struct registry_result *ret)
{
    struct store *store = change->registry->store;
    if (!change->ends && is_unchanged(change) && !change->options->dry_run) {
        ret->object = stored_ref(old);
        return 0;
    }
    ret->is_deleted = change->ends || is_finished(change);
    if (change->options->dry_run) {
        copy_member(change, change->meta, yyjson_mut_obj_get(change->old, "metadata"), "resourceVersion");
        tree_mut_write(change->object, &ret->json);
        return 0;
    }
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    int r = write_object(change, &json);
    if (r < 0)
        return r;
    if (ret->is_deleted) {
        if (change->is_marked) {
            store_put(store, change->resource->storage, change->ns, change->name, old->uid,
                      strbuf_slice(&json));
            strbuf_clear(&json);
            write_object(change, &json);
        }
        store_delete(store, change->resource->storage, change->ns, change->name, strbuf_slice(&json));
        strbuf_str(&ret->json, strbuf_slice(&json));
        return 0;
    }
    ret->object = stored_ref(
        store_put(store, change->resource->storage, change->ns, change->name, old->uid, strbuf_slice(&json)));
    return 0;
}

static int update(struct change *change, struct stored *old, struct registry_result *ret)
{
    struct str name = tree_mut_text(change->meta, "name");
    if (name.len && !str_eq(name, change->name))
        return api_error_bad_request(change->err,
                                     "the name of the object (" STR_FMT
                                     ") does not match the name on the URL (" STR_FMT ")",
                                     STR_ARG(name), STR_ARG(change->name));
    yyjson_doc *was = yyjson_read(old->json.ptr, old->json.len, 0);
    change->old = yyjson_val_mut_copy(change->doc, yyjson_doc_get_root(was));
    yyjson_doc_free(was);
    int r = check_preconditions(change);
    if (r < 0)
        return r;
    put_type(change);
    put_defaults(change);
    keep_other_parts(change);
    keep_identity(change);
    name_check_labels(change->meta, change->err);
    r = strategy_update(change);
    if (r == 0)
        r = api_error_invalid(change->err, change->resource->group, change->resource->kind, change->name);
    if (r < 0)
        return r;
    count_generation(change);
    track(change, old);
    return registry_commit(change, old, ret);
}

int registry_update(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, yyjson_mut_doc *object, const struct write_options *options,
                    struct registry_result *ret, struct api_error *err)
{
    struct stored *old;
    int r = registry_get(registry, resource, ns, name, &old, err);
    if (r < 0)
        return r;
    old = stored_ref(old);
    struct change change = { .registry = registry,
                             .resource = resource,
                             .ns = ns,
                             .name = name,
                             .doc = object,
                             .object = yyjson_mut_doc_get_root(object),
                             .options = options,
                             .err = err };
    change.meta = tree_mut_make(object, change.object, "metadata");
    r = update(&change, old, ret);
    stored_unref(old);
    return r;
}

int registry_modify(struct registry *registry, const struct api_resource *resource, struct str ns,
                    struct str name, const struct write_options *options, registry_change change, void *user,
                    struct registry_result *ret, struct api_error *err)
{
    struct stored *old;
    int r = registry_get(registry, resource, ns, name, &old, err);
    if (r < 0)
        return r;
    yyjson_mut_doc *object = registry_copy(old);
    r = change(user, object, err);
    if (r == 0)
        r = registry_update(registry, resource, ns, name, object, options, ret, err);
    yyjson_mut_doc_free(object);
    return r;
}
