/* openapi.c: OpenAPI documents, written from the types and a list of resources.
 *
 * A document has the types that its resources use, and what those use. Both versions are written by the same code; the
 * differences are few: where types are, that version 3 wraps a reference that has a default, and how bodies and
 * parameters of operations are written. */
#include "schema/openapi.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "codec/json_writer.h"
#include "schema/openapi_protobuf.h"
#include "schema/schema.h"
#include "schema/tree.h"

struct document {
    struct json_writer json;
    bool v2;
    struct strmap used;                      /* full name → a type or a scalar's row */
    VEC(const struct schema_type *) pending; /* types to look into */
};

/* Scalars that have a type of their own in OpenAPI. */
static const struct named_scalar {
    enum schema_kind kind;
    const char *name, *v3, *v2;
} named_scalars[] = {
    { SCHEMA_TIME, "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
      "{\"type\":\"string\",\"format\":\"date-time\"}", "{\"type\":\"string\",\"format\":\"date-time\"}" },
    { SCHEMA_MICRO_TIME, "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
      "{\"type\":\"string\",\"format\":\"date-time\"}", "{\"type\":\"string\",\"format\":\"date-time\"}" },
    { SCHEMA_DURATION, "io.k8s.apimachinery.pkg.apis.meta.v1.Duration", "{\"type\":\"string\"}",
      "{\"type\":\"string\"}" },
    { SCHEMA_QUANTITY, "io.k8s.apimachinery.pkg.api.resource.Quantity",
      "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}", "{\"type\":\"string\"}" },
    { SCHEMA_INT_OR_STRING, "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
      "{\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}",
      "{\"type\":\"string\",\"format\":\"int-or-string\"}" },
    { SCHEMA_FIELDS, "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "{\"type\":\"object\"}",
      "{\"type\":\"object\"}" },
    { SCHEMA_RAW, "io.k8s.apimachinery.pkg.runtime.RawExtension", "{\"type\":\"object\"}",
      "{\"type\":\"object\"}" },
    { SCHEMA_JSON, "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON", "{}", "{}" },
};

static const struct named_scalar *named_scalar(enum schema_kind kind)
{
    for (size_t i = 0; i < ARRAY_SIZE(named_scalars); i++)
        if (named_scalars[i].kind == kind)
            return &named_scalars[i];
    return NULL;
}

/* ---- types ---- */

static void use_type(struct document *doc, const struct schema_type *type)
{
    if (type && !strmap_get(&doc->used, type->full_name)) {
        strmap_put(&doc->used, type->full_name, (void *)type);
        *vec_push(&doc->pending) = type;
    }
}

static void use_name(struct document *doc, const char *name)
{
    use_type(doc, schema_by_name(str_from(name)));
}

static void use_value(struct document *doc, const struct schema_value *value)
{
    while (value->item)
        value = value->item;
    const struct named_scalar *scalar = named_scalar(value->kind);
    if (scalar)
        strmap_put(&doc->used, str_from(scalar->name), (void *)scalar);
    else
        use_type(doc, value->type);
}

static void use_all(struct document *doc)
{
    while (doc->pending.len) {
        const struct schema_type *type = doc->pending.items[--doc->pending.len];
        for (uint32_t i = 0; i < type->field_count; i++)
            use_value(doc, &type->fields[i].value);
    }
}

static void write_ref(struct document *doc, struct str name)
{
    struct strbuf ref = { 0 };
    strbuf_printf(&ref, "#/%s/" STR_FMT, doc->v2 ? "definitions" : "components/schemas", STR_ARG(name));
    json_member_str(&doc->json, "$ref", strbuf_slice(&ref));
    strbuf_release(&ref);
}

static struct str ref_name(const struct schema_value *value)
{
    const struct named_scalar *scalar = named_scalar(value->kind);
    return scalar ? str_from(scalar->name) : value->type ? value->type->full_name : (struct str){ 0 };
}

static void write_enum(struct document *doc, struct str words)
{
    if (!words.ptr)
        return;
    json_member_array(&doc->json, "enum");
    while (words.ptr)
        json_str(&doc->json, str_cut(&words, ','));
    json_end_array(&doc->json);
}

/* The members that describe a value, inside an object that was begun. */
static void write_value(struct document *doc, const struct schema_value *value, struct str enum_words)
{
    static const struct {
        const char *type, *format;
    } plain[] = {
        [SCHEMA_STRING] = { "string", NULL },     [SCHEMA_BOOL] = { "boolean", NULL },
        [SCHEMA_INT32] = { "integer", "int32" },  [SCHEMA_INT64] = { "integer", "int64" },
        [SCHEMA_DOUBLE] = { "number", "double" }, [SCHEMA_BYTES] = { "string", "byte" },
    };
    struct json_writer *json = &doc->json;
    struct str ref = ref_name(value);
    if (ref.ptr) {
        write_ref(doc, ref);
    } else if (value->kind == SCHEMA_LIST || value->kind == SCHEMA_MAP) {
        json_member_str(json, "type", value->kind == SCHEMA_LIST ? STR("array") : STR("object"));
        json_member_object(json, value->kind == SCHEMA_LIST ? "items" : "additionalProperties");
        write_value(doc, value->item, enum_words);
        json_end_object(json);
    } else {
        json_member_str(json, "type", str_from(plain[value->kind].type));
        if (plain[value->kind].format)
            json_member_str(json, "format", str_from(plain[value->kind].format));
        write_enum(doc, enum_words);
    }
}

static void write_extensions(struct document *doc, const struct schema_field *field)
{
    struct json_writer *json = &doc->json;
    if (field->key_count)
        json_member_strs(json, "x-kubernetes-list-map-keys", field->keys, field->key_count);
    if (field->value.kind == SCHEMA_LIST && (field->key_count || field->set || field->atomic))
        json_member_str(json, "x-kubernetes-list-type",
                        field->key_count ? STR("map")
                        : field->set     ? STR("set")
                                         : STR("atomic"));
    else if (field->atomic)
        json_member_str(json, "x-kubernetes-map-type", STR("atomic"));
    if (field->merge_key.len)
        json_member_str(json, "x-kubernetes-patch-merge-key", field->merge_key);
    static const char *const strategies[] = { "", "merge", "retainKeys", "merge,retainKeys" };
    unsigned strategy = (field->patch_merge ? 1u : 0u) | (field->patch_retain ? 2u : 0u);
    if (strategy || field->patch_replace)
        json_member_str(json, "x-kubernetes-patch-strategy",
                        field->patch_replace ? STR("replace") : str_from(strategies[strategy]));
}

static void write_field(struct document *doc, const struct schema_field *field, struct str description)
{
    struct json_writer *json = &doc->json;
    bool wrapped = !doc->v2 && ref_name(&field->value).ptr;
    json_key(json, field->name);
    json_begin_object(json);
    if (description.len)
        json_member_str(json, "description", description);
    if (!doc->v2 && field->default_json.ptr) {
        json_key(json, STR("default"));
        json_raw(json, field->default_json);
    }
    if (wrapped) {
        json_member_array(json, "allOf");
        json_begin_object(json);
    }
    write_value(doc, &field->value, field->enum_words);
    if (wrapped) {
        json_end_object(json);
        json_end_array(json);
    }
    write_extensions(doc, field);
    json_end_object(json);
}

static void write_kind(struct document *doc, struct str group, struct str version, struct str kind)
{
    json_begin_object(&doc->json);
    json_member_str(&doc->json, "group", group);
    json_member_str(&doc->json, "kind", kind);
    json_member_str(&doc->json, "version", version);
    json_end_object(&doc->json);
}

static void write_type(struct document *doc, const struct schema_type *type)
{
    struct json_writer *json = &doc->json;
    json_begin_object(json);
    json_member_str(json, "type", STR("object"));
    bool any = false;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].required) {
            if (!any)
                json_member_array(json, "required");
            any = true;
            json_str(json, type->fields[i].name);
        }
    if (any)
        json_end_array(json);
    if (type->field_count) {
        json_member_object(json, "properties");
        for (uint32_t i = 0; i < type->field_count; i++)
            write_field(doc, &type->fields[i], (struct str){ 0 });
        json_end_object(json);
    }
    if (type->atomic)
        json_member_str(json, "x-kubernetes-map-type", STR("atomic"));
    if (type->kind.len) {
        json_member_array(json, "x-kubernetes-group-version-kind");
        write_kind(doc, type->group, type->version, type->kind);
        json_end_array(json);
    }
    json_end_object(json);
}

/* ---- custom resources: types that are not ours ---- */

static const struct schema_type *type_of(const struct openapi_resource *resource)
{
    return schema_of(resource->kind_group, resource->kind_version, resource->kind);
}

/* "com.example.v1.Widget": groups are turned around, as in names of Go packages. */
static void custom_name(const struct openapi_resource *resource, struct strbuf *out)
{
    struct str rest = resource->group;
    while (rest.len) {
        ptrdiff_t dot = str_rfind(rest, '.');
        strbuf_str(out, str_slice(rest, (size_t)(dot + 1), rest.len));
        strbuf_putc(out, '.');
        rest = str_slice(rest, 0, dot < 0 ? 0 : (size_t)dot);
    }
    strbuf_printf(out, STR_FMT "." STR_FMT, STR_ARG(resource->version), STR_ARG(resource->kind));
}

/* What every object has, with the descriptions that kube-apiserver gives them. */
static const struct {
    const char *name, *description;
} common_fields[] = {
#define CONVENTIONS \
    "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#"
    { "apiVersion",
      "APIVersion defines the versioned schema of this representation of an object. Servers should convert "
      "recognized schemas to the latest internal value, and may reject unrecognized values. " CONVENTIONS
      "resources" },
    { "kind",
      "Kind is a string value representing the REST resource this object represents. Servers may infer this "
      "from the endpoint the client submits requests to. Cannot be updated. In CamelCase. " CONVENTIONS
      "types-kinds" },
    { "metadata", "Standard object's metadata. " CONVENTIONS "metadata" },
};

static bool is_common(struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(common_fields); i++)
        if (str_is(name, common_fields[i].name))
            return true;
    return false;
}

static void write_raw_member(struct json_writer *json, yyjson_val *key, yyjson_val *val)
{
    size_t len;
    char *text = yyjson_val_write(val, 0, &len);
    json_key(json, doc_text(key));
    json_raw(json, (struct str){ text ? text : "null", text ? (uint32_t)len : 4 });
    free(text);
}

static void write_custom_fields(struct document *doc, yyjson_val *properties)
{
    struct json_writer *json = &doc->json;
    const struct schema_type *custom = schema_of_custom();
    size_t i, max;
    yyjson_val *key, *val;
    json_member_object(json, "properties");
    for (i = 0; i < ARRAY_SIZE(common_fields); i++)
        write_field(doc, schema_field(custom, str_from(common_fields[i].name)),
                    str_from(common_fields[i].description));
    if (yyjson_is_obj(properties))
        yyjson_obj_foreach(properties, i, max, key, val) {
            if (!is_common(doc_text(key)))
                write_raw_member(json, key, val);
        }
    json_end_object(json);
}

static void write_custom(struct document *doc, const struct openapi_resource *resource)
{
    struct json_writer *json = &doc->json;
    struct strbuf name = { 0 };
    yyjson_doc *schema = yyjson_read(resource->json_schema.ptr, resource->json_schema.len, 0);
    yyjson_val *own = yyjson_doc_get_root(schema), *key, *val;
    size_t i, max;
    custom_name(resource, &name);
    json_key(json, strbuf_slice(&name));
    json_begin_object(json);
    if (yyjson_is_obj(own))
        yyjson_obj_foreach(own, i, max, key, val) {
            if (!yyjson_equals_str(key, "properties"))
                write_raw_member(json, key, val);
        }
    else
        json_member_str(json, "type", STR("object"));
    write_custom_fields(doc, yyjson_obj_get(own, "properties"));
    if (!yyjson_is_obj(own))
        json_member_bool(json, "x-kubernetes-preserve-unknown-fields", true);
    json_member_array(json, "x-kubernetes-group-version-kind");
    write_kind(doc, resource->kind_group, resource->kind_version, resource->kind);
    json_end_array(json);
    json_end_object(json);
    yyjson_doc_free(schema);
    strbuf_release(&name);
}

static void resource_ref(struct document *doc, const struct openapi_resource *resource)
{
    const struct schema_type *type = type_of(resource);
    struct strbuf name = { 0 };
    if (!type)
        custom_name(resource, &name);
    write_ref(doc, type ? type->full_name : strbuf_slice(&name));
    strbuf_release(&name);
}

/* ---- operations ---- */

static const struct operation {
    enum openapi_verb verb;
    bool named; /* of an object, not of the collection */
    const char *method, *action;
    bool body;
    const char *parameters[6];
} operations[] = {
    { OPENAPI_LIST,
      false,
      "get",
      "list",
      false,
      { "continue", "fieldSelector", "labelSelector", "resourceVersion", "watch" } },
    { OPENAPI_CREATE, false, "post", "post", true, { "dryRun", "fieldManager", "fieldValidation" } },
    { OPENAPI_DELETE_COLLECTION,
      false,
      "delete",
      "deletecollection",
      false,
      { "dryRun", "fieldSelector", "labelSelector", "propagationPolicy" } },
    { OPENAPI_GET, true, "get", "get", false, { 0 } },
    { OPENAPI_UPDATE, true, "put", "put", true, { "dryRun", "fieldManager", "fieldValidation" } },
    { OPENAPI_DELETE, true, "delete", "delete", false, { "dryRun", "propagationPolicy" } },
    { OPENAPI_PATCH, true, "patch", "patch", true, { "dryRun", "fieldManager", "fieldValidation", "force" } },
};

static void write_parameter(struct document *doc, const char *name, const char *in)
{
    struct json_writer *json = &doc->json;
    bool flag = strcmp(name, "force") == 0 || strcmp(name, "watch") == 0;
    json_begin_object(json);
    json_member_str(json, "name", str_from(name));
    json_member_str(json, "in", str_from(in));
    if (strcmp(in, "path") == 0)
        json_member_bool(json, "required", true);
    if (!doc->v2)
        json_member_object(json, "schema");
    json_member_str(json, "type", flag ? STR("boolean") : STR("string"));
    json_member_bool(json, "uniqueItems", true);
    if (!doc->v2)
        json_end_object(json);
    json_end_object(json);
}

static void write_schema_of(struct document *doc, const struct openapi_resource *resource)
{
    json_member_object(&doc->json, "schema");
    resource_ref(doc, resource);
    json_end_object(&doc->json);
}

static void write_body(struct document *doc, const struct openapi_resource *resource)
{
    struct json_writer *json = &doc->json;
    json_member_object(json, "requestBody");
    json_member_object(json, "content");
    json_member_object(json, "*/*");
    write_schema_of(doc, resource);
    json_end_object(json);
    json_end_object(json);
    json_member_bool(json, "required", true);
    json_end_object(json);
}

static void write_responses(struct document *doc, const struct openapi_resource *resource)
{
    struct json_writer *json = &doc->json;
    json_member_object(json, "responses");
    json_member_object(json, "200");
    json_member_str(json, "description", STR("OK"));
    if (!doc->v2) {
        json_member_object(json, "content");
        json_member_object(json, "application/json");
    }
    write_schema_of(doc, resource);
    if (!doc->v2) {
        json_end_object(json);
        json_end_object(json);
    }
    json_end_object(json);
    json_end_object(json);
}

static void write_operation(struct document *doc, const struct openapi_resource *resource,
                            const struct operation *op)
{
    struct json_writer *json = &doc->json;
    json_member_object(json, op->method);
    json_member_array(json, "parameters");
    if (doc->v2 && op->body) {
        json_begin_object(json);
        json_member_str(json, "name", STR("body"));
        json_member_str(json, "in", STR("body"));
        json_member_bool(json, "required", true);
        write_schema_of(doc, resource);
        json_end_object(json);
    }
    for (size_t i = 0; i < ARRAY_SIZE(op->parameters) && op->parameters[i]; i++)
        write_parameter(doc, op->parameters[i], "query");
    json_end_array(json);
    if (!doc->v2 && op->body)
        write_body(doc, resource);
    write_responses(doc, resource);
    json_member_str(json, "x-kubernetes-action", str_from(op->action));
    json_key(json, STR("x-kubernetes-group-version-kind"));
    write_kind(doc, resource->kind_group, resource->kind_version, resource->kind);
    json_end_object(json);
}

/* The path of the collection, or of an object; "pods/status" is /pods/{name}/status, and has no collection. */
static void resource_path(struct strbuf *out, const struct openapi_resource *resource, bool named)
{
    struct str sub = resource->plural, plural = str_cut(&sub, '/');
    strbuf_printf(out, "/%s" STR_FMT "%s" STR_FMT "/%s" STR_FMT, resource->group.len ? "apis/" : "api",
                  STR_ARG(resource->group), "/", STR_ARG(resource->version),
                  resource->namespaced ? "namespaces/{namespace}/" : "", STR_ARG(plural));
    if (named || sub.ptr)
        strbuf_puts(out, "/{name}");
    if (sub.ptr)
        strbuf_printf(out, "/" STR_FMT, STR_ARG(sub));
}

static void write_path(struct document *doc, const struct openapi_resource *resource, bool named)
{
    struct json_writer *json = &doc->json;
    bool sub = str_find(resource->plural, '/') >= 0, begun = false;
    for (size_t i = 0; i < ARRAY_SIZE(operations); i++) {
        const struct operation *op = &operations[i];
        if (!(resource->verbs & op->verb) || (!sub && op->named != named))
            continue;
        if (!begun) {
            struct strbuf path = { 0 };
            resource_path(&path, resource, named);
            json_key(json, strbuf_slice(&path));
            json_begin_object(json);
            strbuf_release(&path);
        }
        begun = true;
        write_operation(doc, resource, op);
    }
    if (!begun)
        return;
    json_member_array(json, "parameters");
    if (resource->namespaced)
        write_parameter(doc, "namespace", "path");
    if (named || sub)
        write_parameter(doc, "name", "path");
    json_end_array(json);
    json_end_object(json);
}

/* ---- documents ---- */

static int compare_slots(const void *a, const void *b)
{
    return str_cmp(((const struct map_slot *)a)->name, ((const struct map_slot *)b)->name);
}

static void write_types(struct document *doc, const struct openapi_resource *resources, size_t count)
{
    for (size_t i = 0; i < count; i++)
        use_type(doc, type_of(&resources[i]) ? type_of(&resources[i]) : schema_of_custom());
    use_name(doc, "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    use_name(doc, "io.k8s.apimachinery.pkg.apis.meta.v1.Status");
    use_all(doc);
    VEC(struct map_slot) names = { 0 };
    map_for(&doc->used, slot)
        *vec_push(&names) = *slot;
    vec_sort(&names, compare_slots);
    for (size_t i = 0; i < names.len; i++) {
        const struct schema_type *type = schema_by_name(names.items[i].name);
        if (type == schema_of_custom())
            continue;
        json_key(&doc->json, names.items[i].name);
        const struct named_scalar *scalar = type ? NULL : names.items[i].value;
        if (type)
            write_type(doc, type);
        else
            json_raw(&doc->json, str_from(doc->v2 ? scalar->v2 : scalar->v3));
    }
    for (size_t i = 0; i < count; i++)
        if (!type_of(&resources[i]) && str_find(resources[i].plural, '/') < 0)
            write_custom(doc, &resources[i]);
    vec_release(&names);
}

static void write_document(struct strbuf *out, bool v2, const struct openapi_resource *resources,
                           size_t count)
{
    struct document doc = { .json = json_writer(out, JSON_COMPACT), .v2 = v2 };
    struct json_writer *json = &doc.json;
    json_begin_object(json);
    json_member_str(json, v2 ? "swagger" : "openapi", v2 ? STR("2.0") : STR("3.0.0"));
    json_member_object(json, "info");
    json_member_str(json, "title", STR("Kubernetes"));
    json_member_str(json, "version", STR("1.37"));
    json_end_object(json);
    json_member_object(json, "paths");
    for (size_t i = 0; i < count; i++) {
        bool sub = str_find(resources[i].plural, '/') >= 0;
        if (!sub)
            write_path(&doc, &resources[i], false);
        write_path(&doc, &resources[i], true);
    }
    json_end_object(json);
    if (!v2)
        json_member_object(json, "components");
    json_member_object(json, v2 ? "definitions" : "schemas");
    write_types(&doc, resources, count);
    json_end_object(json);
    if (!v2)
        json_end_object(json);
    json_end_object(json);
    strmap_release(&doc.used);
    vec_release(&doc.pending);
}

static void add_document(struct openapi *openapi, const struct openapi_resource *resources, size_t count)
{
    struct openapi_document *document = vec_push(&openapi->documents);
    *document = (struct openapi_document){ 0 };
    struct strbuf path = { 0 };
    if (resources->group.len)
        strbuf_printf(&path, "apis/" STR_FMT "/", STR_ARG(resources->group));
    else
        strbuf_puts(&path, "api/");
    strbuf_str(&path, resources->version);
    document->path = str_dup(strbuf_slice(&path));
    strbuf_release(&path);
    write_document(&document->text, false, resources, count);
}

/* Clients keep documents by the hash in the address. */
static void write_index(struct openapi *openapi)
{
    struct json_writer json = json_writer(&openapi->index, JSON_COMPACT);
    json_begin_object(&json);
    json_member_object(&json, "paths");
    vec_for(&openapi->documents, document) {
        char url[512];
        struct str text = strbuf_slice(&document->text);
        snprintf(url, sizeof(url), "/openapi/v3/" STR_FMT "?hash=%016" PRIX64 "%016" PRIX64,
                 STR_ARG(document->path), str_hash(text), hash_bytes(text.ptr, text.len, 1));
        json_key(&json, document->path);
        json_begin_object(&json);
        json_member_str(&json, "serverRelativeURL", str_from(url));
        json_end_object(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
}

void openapi_build(struct openapi *openapi, const struct openapi_resource *resources, size_t count)
{
    *openapi = (struct openapi){ 0 };
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && str_eq(resources[end].group, resources[i].group) &&
                          str_eq(resources[end].version, resources[i].version);
             end++)
            ;
        add_document(openapi, &resources[i], end - i);
    }
    write_index(openapi);
    write_document(&openapi->v2, true, resources, count);
    openapi_to_protobuf(strbuf_slice(&openapi->v2), &openapi->v2_protobuf);
}

const struct openapi_document *openapi_find(const struct openapi *openapi, struct str path)
{
    for (size_t i = 0; i < openapi->documents.len; i++)
        if (str_eq(openapi->documents.items[i].path, path))
            return &openapi->documents.items[i];
    return NULL;
}

void openapi_release(struct openapi *openapi)
{
    vec_for(&openapi->documents, document) {
        free((char *)document->path.ptr);
        strbuf_release(&document->text);
    }
    vec_release(&openapi->documents);
    strbuf_release(&openapi->index);
    strbuf_release(&openapi->v2);
    strbuf_release(&openapi->v2_protobuf);
}
