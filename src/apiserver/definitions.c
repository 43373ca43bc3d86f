/* definitions.c: see definitions.h.
 *
 * A definition is looked at after each change of it, and after each change of its objects while it is being deleted.
 * Looking twice changes nothing, so changes that this file makes itself come to an end. Rows are taken away when the
 * end of the definition is the change at hand: all that follow the store have seen its objects go by then. */
#include "apiserver/definitions.h"

#include <stdlib.h>

#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "base/log.h"

struct definitions {
    struct definitions_options options;
    struct registry *registry;
    struct store *store;
    const struct api_resource *resource;   /* customresourcedefinitions */
    struct store_watcher changes, durable; /* all changes as they are made; durable ones of definitions */
};

static void sync(struct definitions *definitions, struct str name);

static uint32_t storage_of(struct definitions *definitions, struct str name)
{
    return store_kind(definitions->store, name); /* "widgets.example.com", as resource_write_name() has it */
}

/* ---- names ---- */
static const struct {
    const char *name, *reason;
    bool is_kind; /* kinds are apart from names of resources */
} names[] = {
    { "plural", "PluralConflict", false },         { "singular", "SingularConflict", false },
    { "shortNames", "ShortNamesConflict", false }, { "kind", "KindConflict", true },
    { "listKind", "ListKindConflict", true },
};

static bool has_text(yyjson_val *val, struct str text)
{
    yyjson_val *item;
    size_t i, max;
    if (yyjson_is_str(val))
        return str_eq(doc_text(val), text);
    yyjson_arr_foreach(doc_items(val), i, max, item) {
        if (str_eq(doc_text(item), text))
            return true;
    }
    return false;
}

struct name_search {
    struct definitions *definitions;
    struct str self, group, wanted;
    bool is_kind, is_taken;
};

static enum store_visited look_for_name(void *user, struct stored *object)
{
    struct name_search *search = user;
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    yyjson_val *root = yyjson_doc_get_root(doc), *accepted = tree_at(root, "status.acceptedNames");
    if (!str_eq(object->name, search->self) && str_eq(tree_text(root, "spec.group"), search->group))
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
            search->is_taken =
                search->is_taken || (names[i].is_kind == search->is_kind &&
                                     has_text(yyjson_obj_get(accepted, names[i].name), search->wanted));
    yyjson_doc_free(doc);
    return search->is_taken ? STORE_STOP : STORE_COUNTS;
}

/* Does another definition of the group have the name, or one of the names? Returns that one; empty: no. */
static struct str find_conflict(struct definitions *definitions, const struct stored *object,
                                struct str group, yyjson_val *val, bool is_kind)
{
    struct name_search search = { definitions, object->name, group, doc_text(val), is_kind, false };
    struct store_range range = { .kind = definitions->resource->storage };
    yyjson_val *item;
    size_t i, max;
    if (yyjson_is_str(val))
        store_page(definitions->store, &range, 0, look_for_name, &search);
    yyjson_arr_foreach(doc_items(val), i, max, item) {
        if (search.is_taken)
            break;
        search.wanted = doc_text(item);
        store_page(definitions->store, &range, 0, look_for_name, &search);
    }
    return search.is_taken ? search.wanted : (struct str){ 0 };
}

/* ---- the status ---- */
struct verdict {
    const char *reason; /* of a conflict; NULL: none */
    struct strbuf message;
};

static void judge_names(struct definitions *definitions, const struct stored *object, yyjson_val *json,
                        struct verdict *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        yyjson_val *wanted = yyjson_obj_get(tree_at(json, "spec.names"), names[i].name);
        struct str conflict =
            find_conflict(definitions, object, tree_text(json, "spec.group"), wanted, names[i].is_kind);
        if (!conflict.len)
            continue;
        ret->reason = names[i].reason;
        strbuf_clear(&ret->message);
        strbuf_printf(&ret->message, "\"" STR_FMT "\" is already in use", STR_ARG(conflict));
    }
}

static bool is_established(yyjson_val *json)
{
    yyjson_val *condition;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(json, "status.conditions")), i, max, condition) {
        if (str_is(tree_text(condition, "type"), "Established"))
            return str_is(tree_text(condition, "status"), "True");
    }
    return false;
}

static int put_names(void *user, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    const struct verdict *verdict = user;
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc), *status = tree_mut_make(doc, object, "status");
    bool is_accepted = !verdict->reason;
    if (is_accepted)
        tree_mut_put(doc, status, STR("acceptedNames"),
                     yyjson_mut_val_mut_copy(doc, tree_mut_at(object, "spec.names")));
    registry_set_condition(doc, object, "NamesAccepted", is_accepted ? "True" : "False",
                           is_accepted ? "NoConflicts" : verdict->reason,
                           is_accepted ? "no conflicts found" : verdict->message.text);
    yyjson_mut_val *conditions = yyjson_mut_obj_get(status, "conditions"), *condition;
    size_t i, max;
    bool is_known = false;
    yyjson_mut_arr_foreach(conditions, i, max, condition)
    {
        is_known = is_known || str_is(tree_mut_text(condition, "type"), "Established");
    }
    if (is_accepted)
        registry_set_condition(doc, object, "Established", "True", "InitialNamesAccepted",
                               "the initial names have been accepted");
    else if (!is_known)
        registry_set_condition(doc, object, "Established", "False", "NotAccepted",
                               "not all names are accepted");
    return 0;
}

static void write_status(struct definitions *definitions, struct str name, registry_change put, void *user)
{
    struct registry_result result = { 0 };
    struct api_error err = { 0 };
    struct write_options options = { .subresource = SUB_STATUS, .manager = STR("kube-apiserver") };
    int r = registry_modify(definitions->registry, definitions->resource, (struct str){ 0 }, name, &options,
                            put, user, &result, &err);
    if (r < 0)
        log_warning("The status of a CustomResourceDefinition could not be written", log_str("name", name),
                    log_str("reason", err.message));
    registry_result_release(&result);
    api_error_release(&err);
}

/* ---- rows ---- */
static void join(yyjson_val *list, struct strbuf *out)
{
    yyjson_val *item;
    size_t i, max;
    yyjson_arr_foreach(doc_items(list), i, max, item) {
        strbuf_puts(out, i ? "," : "");
        strbuf_str(out, doc_text(item));
    }
}

static struct str stored_version(yyjson_val *json)
{
    yyjson_val *version;
    size_t i, max;
    yyjson_arr_foreach(doc_items(tree_at(json, "spec.versions")), i, max, version) {
        if (tree_bool(version, "storage"))
            return tree_text(version, "name");
    }
    return (struct str){ 0 };
}

/* No version of a built-in group is replaced. */
static bool is_free(struct str group, struct str version)
{
    const struct api_resource *row;
    for (uint32_t i = 0; (row = resource_at(i)) && !row->is_custom; i++)
        if (str_eq(row->group, group) && str_eq(row->version, version))
            return false;
    return true;
}

static void serve_version(yyjson_val *json, yyjson_val *version, uint32_t storage)
{
    _cleanup_(strbuf_release) struct strbuf short_names = { 0 }, categories = { 0 };
    yyjson_val *accepted = tree_at(json, "status.acceptedNames"), *parts = tree_at(version, "subresources");
    join(yyjson_obj_get(accepted, "shortNames"), &short_names);
    join(yyjson_obj_get(accepted, "categories"), &categories);
    /* Until its objects are gone, no new ones come. */
    bool is_deleted = tree_at(json, "metadata.deletionTimestamp");
    struct api_resource row = {
        .storage = storage,
        .group = tree_text(json, "spec.group"),
        .version = tree_text(version, "name"),
        .plural = tree_text(accepted, "plural"),
        .singular = tree_text(accepted, "singular"),
        .kind = tree_text(accepted, "kind"),
        .list_kind = tree_text(accepted, "listKind"),
        .short_names = strbuf_slice(&short_names),
        .categories = strbuf_slice(&categories),
        .verbs = is_deleted ? VERBS_ALL & ~VERB_CREATE : VERBS_ALL,
        .subresources = (yyjson_obj_get(parts, "status") ? SUB_STATUS : 0u) |
                        (yyjson_obj_get(parts, "scale") ? SUB_SCALE : 0u),
        .namespaced = str_is(tree_text(json, "spec.scope"), "Namespaced"),
        .stored_version = stored_version(json),
        .definition = version,
    };
    if (!resource_register(&row))
        log_warning("There are too many custom resources, and one is not served", log_str("group", row.group),
                    log_str("version", row.version), log_str("plural", row.plural));
}

static bool is_served(yyjson_val *version)
{
    return tree_bool(version, "served");
}

/* Those of the definition that are not in it any more; without a definition all. */
static void unserve(uint32_t storage, yyjson_val *json)
{
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *row = resource_at(i);
        if (!row || !row->is_custom || row->storage != storage)
            continue;
        bool stays = false;
        yyjson_val *version;
        size_t j, max;
        yyjson_arr_foreach(doc_items(tree_at(json, "spec.versions")), j, max, version)
            stays = stays || (is_served(version) && str_eq(tree_text(version, "name"), row->version));
        if (!stays)
            resource_unregister(row);
    }
}

static void serve(uint32_t storage, yyjson_val *json)
{
    yyjson_val *version;
    size_t i, max;
    unserve(storage, json);
    yyjson_arr_foreach(doc_items(tree_at(json, "spec.versions")), i, max, version) {
        if (is_served(version) && is_free(tree_text(json, "spec.group"), tree_text(version, "name")))
            serve_version(json, version, storage);
    }
}

/* ---- deletion ---- */
typedef VEC(struct stored *) stored_vec;

static enum store_visited collect(void *user, struct stored *object)
{
    *vec_push((stored_vec *)user) = stored_ref(object);
    return STORE_COUNTS;
}

/* How many are left: those with finalizers. */
static size_t delete_objects(struct definitions *definitions, uint32_t storage)
{
    const struct api_resource *row = resource_of_storage(storage);
    struct store_range range = { .kind = storage };
    stored_vec objects = { 0 };
    if (row)
        store_page(definitions->store, &range, 0, collect, &objects);
    vec_for(&objects, object) {
        struct registry_result result = { 0 };
        struct api_error err = { 0 };
        struct delete_options options = { .uid = (*object)->uid };
        yyjson_doc *doc = yyjson_read((*object)->json.ptr, (*object)->json.len, 0);
        if (!tree_at(yyjson_doc_get_root(doc), "metadata.deletionTimestamp"))
            registry_delete(definitions->registry, row, (*object)->ns, (*object)->name, &options, &result,
                            &err);
        yyjson_doc_free(doc);
        registry_result_release(&result);
        api_error_release(&err);
        stored_unref(*object);
    }
    vec_release(&objects);
    return row ? store_count(definitions->store, &range) : 0;
}

static int drop_finalizer(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *meta = yyjson_mut_obj_get(object, "metadata"),
                   *list = yyjson_mut_obj_get(meta, "finalizers");
    registry_set_condition(doc, object, "Terminating", "False", "InstanceDeletionCompleted",
                           "removed all instances");
    for (size_t i = yyjson_mut_arr_size(list); i-- > 0;)
        if (str_is(tree_mut_str(yyjson_mut_arr_get(list, i)), CLEANUP_FINALIZER))
            yyjson_mut_arr_remove(list, i);
    if (!yyjson_mut_arr_size(list))
        tree_mut_remove(meta, "finalizers");
    return 0;
}

static int put_waiting(void *user _unused_, yyjson_mut_doc *doc, struct api_error *err _unused_)
{
    registry_set_condition(doc, yyjson_mut_doc_get_root(doc), "Terminating", "True",
                           "InstanceDeletionInProgress", "CustomResource deletion is in progress");
    return 0;
}

static void finalize(struct definitions *definitions, struct str name, uint32_t storage)
{
    size_t left = delete_objects(definitions, storage);
    write_status(definitions, name, left ? put_waiting : drop_finalizer, NULL);
}

/* ---- looking ---- */
static bool needs_names(yyjson_val *json)
{
    return !yyjson_equals(tree_at(json, "spec.names"), tree_at(json, "status.acceptedNames"));
}

static void sync_parsed(struct definitions *definitions, const struct stored *object, yyjson_val *json)
{
    uint32_t storage = storage_of(definitions, object->name);
    bool is_deleted = tree_at(json, "metadata.deletionTimestamp");
    if (is_established(json))
        serve(storage, json);
    if (is_deleted && has_text(tree_at(json, "metadata.finalizers"), STR(CLEANUP_FINALIZER))) {
        finalize(definitions, object->name, storage);
    } else if (!is_deleted && needs_names(json)) {
        struct verdict verdict = { 0 };
        judge_names(definitions, object, json, &verdict);
        write_status(definitions, object->name, put_names, &verdict);
        strbuf_release(&verdict.message);
    }
}

static void sync(struct definitions *definitions, struct str name)
{
    struct stored *object =
        store_get(definitions->store, definitions->resource->storage, (struct str){ 0 }, name);
    if (!object)
        return;
    stored_ref(object);
    yyjson_doc *doc = yyjson_read(object->json.ptr, object->json.len, 0);
    sync_parsed(definitions, object, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    stored_unref(object);
}

static void sync_all(struct definitions *definitions)
{
    stored_vec objects = { 0 };
    struct store_range range = { .kind = definitions->resource->storage };
    store_page(definitions->store, &range, 0, collect, &objects);
    vec_for(&objects, object) {
        sync(definitions, (*object)->name);
        stored_unref(*object);
    }
    vec_release(&objects);
}

static void on_change(struct store_watcher *watcher, const struct store_change *change)
{
    struct definitions *definitions = container_of(watcher, struct definitions, changes);
    const struct stored *object = change->now;
    const struct api_resource *row = NULL;
    if (object->kind == definitions->resource->storage && change->type == STORE_DELETED) {
        unserve(storage_of(definitions, object->name), NULL);
        sync_all(definitions); /* its names are free */
    } else if (object->kind == definitions->resource->storage) {
        sync(definitions, object->name);
    } else if (change->type == STORE_DELETED && (row = resource_of_storage(object->kind)) && row->is_custom &&
               !(row->verbs & VERB_CREATE)) {
        _cleanup_(strbuf_release) struct strbuf name = { 0 };
        resource_write_name(row, &name);
        sync(definitions, strbuf_slice(&name));
    }
}

static void on_durable(struct store_watcher *watcher, const struct store_change *change)
{
    struct definitions *definitions = container_of(watcher, struct definitions, durable);
    if (change->type == STORE_DELETED && definitions->options.on_gone)
        definitions->options.on_gone(definitions->options.user, storage_of(definitions, change->now->name));
}

struct definitions *definitions_new(const struct definitions_options *options)
{
    struct definitions *definitions = xcalloc(1, sizeof(*definitions));
    definitions->options = *options;
    definitions->registry = options->registry;
    definitions->store = registry_store(options->registry);
    definitions->resource = resource_named("apiextensions.k8s.io", "customresourcedefinitions");
    definitions->changes = (struct store_watcher){ .kind = STORE_ALL, .changed = on_change };
    definitions->durable = (struct store_watcher){ .kind = definitions->resource->storage,
                                                   .when_durable = true,
                                                   .changed = on_durable };
    uint64_t revision = store_revision(definitions->store);
    sync_all(definitions);
    store_subscribe(definitions->store, &definitions->changes, revision);
    store_subscribe(definitions->store, &definitions->durable, revision);
    return definitions;
}

void definitions_free(struct definitions *definitions)
{
    if (!definitions)
        return;
    store_unsubscribe(definitions->store, &definitions->changes);
    store_unsubscribe(definitions->store, &definitions->durable);
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *row = resource_at(i);
        if (row && row->is_custom)
            resource_unregister(row);
    }
    free(definitions);
}
