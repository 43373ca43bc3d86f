/* writes.c: how controllers change the cluster: through the registry, as any client would. */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timestamp.h"
#include "controllers/controller.h"

int64_t now_s(void)
{
    return clock_now_ns(CLOCK_REALTIME) / NS_PER_S;
}

yyjson_mut_val *now_value(yyjson_mut_doc *doc)
{
    char text[TIMESTAMP_LEN + 1];
    return tree_mut_new_str(doc, timestamp_format(now_s(), text));
}

/* The result of a write: what is not to be expected is said. */
static bool took(const struct api_resource *resource, struct str ns, struct str name, int r,
                 struct api_error *err)
{
    if (r < 0 && r != -404 && r != -409)
        log_warning("A controller of the development cluster was refused a write",
                    log_str("resource", resource->plural), log_ref("object", ns, name),
                    log_str("reason", err->message));
    api_error_release(err);
    return r == 0;
}

void change_object(struct controllers *controllers, const struct api_resource *resource,
                   const struct stored *object, enum subresource subresource, registry_change change,
                   void *user)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    struct write_options options = { .subresource = subresource };
    int r = registry_modify(controllers->registry, resource, object->ns, object->name, &options, change, user,
                            &result, &err);
    registry_result_release(&result);
    took(resource, object->ns, object->name, r, &err);
}

void delete_object(struct controllers *controllers, const struct api_resource *resource,
                   const struct stored *object, const char *policy, int64_t grace_s)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    struct delete_options options = { .propagation_policy = str_from(policy), .uid = object->uid };
    if (grace_s >= 0)
        options.grace_s = (struct opt_int64){ .set = true, .value = grace_s };
    int r =
        registry_delete(controllers->registry, resource, object->ns, object->name, &options, &result, &err);
    registry_result_release(&result);
    took(resource, object->ns, object->name, r, &err);
}

bool create_object(struct controllers *controllers, const struct api_resource *resource, struct str ns,
                   yyjson_mut_doc *doc)
{
    struct api_error err = { 0 };
    struct registry_result result = { 0 };
    int r = registry_create(controllers->registry, resource, ns, doc, &(struct write_options){ 0 }, &result,
                            &err);
    registry_result_release(&result);
    bool is_created = took(resource, ns, (struct str){ 0 }, r, &err);
    yyjson_mut_doc_free(doc);
    return is_created;
}

yyjson_mut_doc *from_template(const struct api_resource *owner_resource, const struct stored *owner,
                              yyjson_val *template, struct str name, bool generates_name)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *object = yyjson_mut_obj(doc), *meta = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, object);
    yyjson_mut_obj_add_val(doc, object, "metadata", meta);
    static const char *const copied[] = { "labels", "annotations", "finalizers" };
    for (size_t i = 0; i < ARRAY_SIZE(copied); i++) {
        yyjson_val *val = yyjson_obj_get(yyjson_obj_get(template, "metadata"), copied[i]);
        if (val)
            yyjson_mut_obj_add_val(doc, meta, copied[i], yyjson_val_mut_copy(doc, val));
    }
    tree_mut_put_str(doc, meta, generates_name ? "generateName" : "name", name);
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    resource_write_version(owner_resource, &version);
    yyjson_mut_val *reference = yyjson_mut_obj(doc), *references = yyjson_mut_arr(doc);
    tree_mut_put_str(doc, reference, "apiVersion", strbuf_slice(&version));
    tree_mut_put_str(doc, reference, "kind", owner_resource->kind);
    tree_mut_put_str(doc, reference, "name", owner->name);
    tree_mut_put_str(doc, reference, "uid", owner->uid);
    yyjson_mut_obj_add_bool(doc, reference, "controller", true);
    yyjson_mut_obj_add_bool(doc, reference, "blockOwnerDeletion", true);
    yyjson_mut_arr_append(references, reference);
    yyjson_mut_obj_add_val(doc, meta, "ownerReferences", references);
    yyjson_val *spec = yyjson_obj_get(template, "spec");
    if (spec)
        yyjson_mut_obj_add_val(doc, object, "spec", yyjson_val_mut_copy(doc, spec));
    return doc;
}

static yyjson_mut_val *condition_of(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *type)
{
    yyjson_mut_val *list = yyjson_mut_obj_get(status, "conditions"), *condition;
    size_t i, max;
    if (!yyjson_mut_is_arr(list)) {
        list = yyjson_mut_arr(doc);
        tree_mut_put(doc, status, STR("conditions"), list);
    }
    yyjson_mut_arr_foreach(list, i, max, condition)
    {
        if (str_is(tree_mut_text(condition, "type"), type))
            return condition;
    }
    condition = yyjson_mut_obj(doc);
    tree_mut_put_str(doc, condition, "type", str_from(type));
    yyjson_mut_arr_append(list, condition);
    return condition;
}

void put_condition(yyjson_mut_doc *doc, yyjson_mut_val *status, const char *type, bool is_true,
                   const char *reason, const char *message, bool has_update_time)
{
    yyjson_mut_val *condition = condition_of(doc, status, type);
    const char *value = is_true ? "True" : "False";
    bool is_same_status = str_is(tree_mut_text(condition, "status"), value);
    bool is_same = is_same_status && str_is(tree_mut_text(condition, "reason"), reason) &&
                   str_is(tree_mut_text(condition, "message"), message);
    if (is_same)
        return;
    tree_mut_put_str(doc, condition, "status", str_from(value));
    if (has_update_time)
        tree_mut_put(doc, condition, STR("lastUpdateTime"), now_value(doc));
    if (!is_same_status)
        tree_mut_put(doc, condition, STR("lastTransitionTime"), now_value(doc));
    tree_mut_put(doc, condition, STR("reason"), *reason ? tree_mut_new_str(doc, str_from(reason)) : NULL);
    tree_mut_put(doc, condition, STR("message"), *message ? tree_mut_new_str(doc, str_from(message)) : NULL);
}

void write_hash(struct strbuf *out, struct str text, int64_t collisions)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    _cleanup_(strbuf_release) struct strbuf whole = { 0 };
    strbuf_str(&whole, text);
    strbuf_printf(&whole, "%lld", (long long)collisions);
    uint64_t hash = str_hash(strbuf_slice(&whole));
    for (int i = 0; i < 10; i++, hash /= sizeof(letters) - 1)
        strbuf_putc(out, letters[hash % (sizeof(letters) - 1)]);
}

void put_count(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key, int64_t count)
{
    if (count)
        tree_mut_put_int(doc, object, key, count);
    else
        tree_mut_remove(object, key);
}

int64_t share_of(yyjson_val *val, int64_t whole, int64_t percent, bool rounds_up)
{
    if (yyjson_is_int(val))
        return yyjson_get_sint(val);
    struct str text = doc_text(val);
    if (text.len && text.ptr[text.len - 1] == '%')
        str_to_int64(str_slice(text, 0, text.len - 1), &percent);
    return (whole * percent + (rounds_up ? 99 : 0)) / 100;
}

const struct api_resource *resource_of_reference(yyjson_val *reference)
{
    struct str version = tree_text(reference, "apiVersion"), kind = tree_text(reference, "kind");
    ptrdiff_t slash = str_find(version, '/');
    struct str group = slash < 0 ? STR("") : str_slice(version, 0, (size_t)slash);
    for (uint32_t i = 0; i < resources_max(); i++) {
        const struct api_resource *row = resource_at(i);
        if (row && str_eq(row->kind, kind) && str_eq(row->group, group))
            return row;
    }
    return NULL;
}
