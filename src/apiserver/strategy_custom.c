/* strategy_custom.c: what the API server sets and refuses in CustomResourceDefinitions and in their objects. */
#include <stdio.h>

#include "apiserver/registry_impl.h"
#include "apiserver/tree.h"
#include "base/quote.h"

/* ---- definitions ---- */
static void check_name(struct change *change)
{
    _cleanup_(strbuf_release) struct strbuf wanted = { 0 }, quoted = { 0 };
    strbuf_printf(&wanted, STR_FMT "." STR_FMT, STR_ARG(tree_mut_text(change->object, "spec.names.plural")),
                  STR_ARG(tree_mut_text(change->object, "spec.group")));
    if (str_eq(strbuf_slice(&wanted), change->name))
        return;
    quote_go(&quoted, change->name);
    api_error_field(change->err, FIELD_INVALID, "metadata.name", strbuf_slice(&quoted),
                    "must be spec.names.plural+\".\"+spec.group");
}

static void check_versions(struct change *change)
{
    yyjson_mut_val *versions = tree_mut_at(change->object, "spec.versions"), *version;
    size_t i, max, stored = 0;
    if (yyjson_mut_is_arr(versions))
        yyjson_mut_arr_foreach(versions, i, max, version)
        {
            char field[64];
            stored += yyjson_mut_is_true(yyjson_mut_obj_get(version, "storage"));
            snprintf(field, sizeof(field), "spec.versions[%zu].schema.openAPIV3Schema", i);
            if (!tree_mut_at(version, "schema.openAPIV3Schema"))
                api_error_field(change->err, FIELD_REQUIRED, field, (struct str){ 0 },
                                "schemas are required");
        }
    if (stored == 1)
        return;
    _cleanup_(strbuf_release) struct strbuf value = { 0 };
    if (versions)
        tree_mut_write(versions, &value);
    api_error_field(change->err, FIELD_INVALID, "spec.versions",
                    value.len ? strbuf_slice(&value) : STR("null"),
                    "must have exactly one version marked as storage version");
}

/* The version in which objects are stored belongs to those that were ever used for it. */
static void put_stored_version(struct change *change)
{
    yyjson_mut_val *versions = tree_mut_at(change->object, "spec.versions"), *version, *item;
    yyjson_mut_val *status = tree_mut_make(change->doc, change->object, "status");
    yyjson_mut_val *list = yyjson_mut_obj_get(status, "storedVersions");
    size_t i, max;
    struct str stored = { 0 };
    if (yyjson_mut_is_arr(versions))
        yyjson_mut_arr_foreach(versions, i, max, version)
        {
            if (yyjson_mut_is_true(yyjson_mut_obj_get(version, "storage")))
                stored = tree_mut_text(version, "name");
        }
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(change->doc);
        tree_mut_put(change->doc, status, STR("storedVersions"), list);
    }
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        if (str_eq(tree_mut_str(item), stored))
            return;
    }
    yyjson_mut_arr_append(list, tree_mut_new_str(change->doc, stored));
}

int definition_create(struct change *change)
{
    check_name(change);
    check_versions(change);
    yyjson_mut_val *status = tree_mut_make(change->doc, change->object, "status");
    yyjson_mut_val *names = tree_mut_make(change->doc, status, "acceptedNames");
    tree_mut_put(change->doc, status, STR("conditions"), yyjson_mut_null(change->doc));
    tree_mut_put_str(change->doc, names, "plural", STR(""));
    tree_mut_put_str(change->doc, names, "kind", STR(""));
    put_stored_version(change);
    return 0;
}

int definition_update(struct change *change)
{
    if (change->options->subresource)
        return 0;
    check_versions(change);
    put_stored_version(change);
    return 0;
}

void definition_delete(struct change *change)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(change->meta, "finalizers"), *item;
    size_t i, max;
    if (yyjson_mut_obj_get(change->meta, "deletionTimestamp"))
        return;
    if (!list) {
        list = yyjson_mut_arr(change->doc);
        tree_mut_put(change->doc, change->meta, STR("finalizers"), list);
    }
    bool has = false;
    yyjson_mut_arr_foreach(list, i, max, item)
    {
        has = has || str_is(tree_mut_str(item), CLEANUP_FINALIZER);
    }
    if (!has)
        yyjson_mut_arr_append(list, tree_mut_new_str(change->doc, STR(CLEANUP_FINALIZER)));
    registry_set_condition(
        change->doc, change->object, "Terminating", "True", "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon");
}

/* ---- their objects ---- */
int custom_create(struct change *change)
{
    if (change->resource->subresources & SUB_STATUS)
        tree_mut_remove(change->object, "status");
    return 0;
}

int custom_update(struct change *change _unused_)
{
    return 0;
}
