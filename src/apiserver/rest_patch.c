/* rest_patch.c: PATCH: the object as the client reads it, changed by the patch, is written as by an update.
 *
 * Nothing runs between reading and writing, so there are no conflicts except with a resourceVersion in the patch. */
#include "apiserver/apiserver_impl.h"
#include "apiserver/tree.h"
#include "base/clock.h"
#include "schema/apply.h"

static const struct {
    const char *name;
    enum patch_type type;
} types[] = {
    { "application/json-patch+json", PATCH_JSON },
    { "application/merge-patch+json", PATCH_MERGE },
    { "application/strategic-merge-patch+json", PATCH_STRATEGIC },
};

static int find_type(struct call *call, enum patch_type *ret)
{
    struct str header = server_header_value(call->http, STR("Content-Type"));
    struct str name = str_trim(str_cut(&header, ';'), " ");
    bool has_strategic = !call->request.resource->is_custom;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (str_is(name, types[i].name) && (types[i].type != PATCH_STRATEGIC || has_strategic)) {
            *ret = types[i].type;
            return 0;
        }
    return api_error_set(&call->err, 415, "UnsupportedMediaType",
                         "the body of the request was in an unknown format - accepted media types include: "
                         "application/json-patch+json, application/merge-patch+json, "
                         "%sapplication/apply-patch+yaml",
                         has_strategic ? "application/strategic-merge-patch+json, " : "");
}

static int take_error(struct call *call, struct schema_error *err)
{
    struct str message = strbuf_slice(&err->message);
    int r =
        api_error_set(&call->err, err->code, *err->reason ? err->reason : NULL, STR_FMT, STR_ARG(message));
    if (err->cause_at) {
        call->err.has_details = true;
        *vec_push(&call->err.causes) = (struct api_cause){
            .reason = "FieldValueInvalid",
            .message = arena_str(&call->err.arena, str_slice(message, err->cause_at, message.len)),
            .field = STR("patch"),
        };
    }
    schema_error_release(err);
    return r;
}

/* The object as it is read by this path, appended: of a scale the Scale. */
static int read_object(struct call *call, struct strbuf *out)
{
    const struct api_request *request = &call->request;
    struct stored *object;
    int r = registry_get(call->server->registry, request->resource, request->namespace, request->name,
                         &object, &call->err);
    if (r < 0)
        return r;
    struct output whole = { .resource = request->resource };
    if (request->subresource == SUB_SCALE)
        registry_scale_of(request->resource, object, out);
    else
        output_object(&whole, object->json, out);
    return 0;
}

static const struct schema_type *type_of(const struct api_request *request)
{
    if (request->subresource == SUB_SCALE)
        return schema_of(STR("autoscaling"), STR("v1"), STR("Scale"));
    return schema_of(request->resource->group, request->resource->version, request->resource->kind);
}

static int write_scale(struct call *call, yyjson_mut_doc *doc)
{
    yyjson_doc *scale = yyjson_mut_doc_imut_copy(doc, NULL);
    int r = rest_put_scale(call, yyjson_doc_get_root(scale));
    yyjson_doc_free(scale);
    return r;
}

static int write_object(struct call *call, yyjson_mut_doc *doc)
{
    const struct api_request *request = &call->request;
    struct registry_result result = { 0 };
    struct write_options options = rest_write_options(call);
    output_to_stored(request->resource, doc);
    int r = registry_update(call->server->registry, request->resource, request->namespace, request->name, doc,
                            &options, &result, &call->err);
    if (r == 0)
        rest_answer_written(call, 200, &result);
    return r;
}

static int apply_patch(struct call *call, enum patch_type type, yyjson_val *object)
{
    struct patch_request patch = { .type = type,
                                   .schema = type_of(&call->request),
                                   .validation = rest_field_validation(call),
                                   .patch = call->http->body };
    struct patch_result result;
    struct schema_error err = { 0 };
    int r = patch_apply(&patch, object, &result, &err);
    if (r < 0)
        r = take_error(call, &err);
    if (r == 0) {
        rest_warn(call, &result.problems);
        r = call->request.subresource == SUB_SCALE ? write_scale(call, result.doc)
                                                   : write_object(call, result.doc);
        yyjson_mut_doc_free(result.doc);
    }
    schema_problems_release(&result.problems);
    return r;
}

/* ---- server-side apply ---- */
static int take_conflicts(struct call *call, struct apply_result *result, struct schema_error *err)
{
    int r = take_error(call, err);
    vec_for(&result->conflicts, conflict)
        *vec_push(&call->err.causes) =
            (struct api_cause){ .reason = "FieldManagerConflict",
                                .message = arena_str(&call->err.arena, conflict->message),
                                .field = arena_str(&call->err.arena, conflict->field) };
    return r;
}

static int write_applied(struct call *call, yyjson_mut_doc *doc, bool exists)
{
    const struct api_request *request = &call->request;
    struct registry *registry = call->server->registry;
    struct registry_result result = { 0 };
    struct write_options options = rest_write_options(call);
    options.is_applied = true;
    output_to_stored(request->resource, doc);
    tree_mut_put_str(doc, tree_mut_make(doc, yyjson_mut_doc_get_root(doc), "metadata"), "name",
                     request->name);
    int r = exists ? registry_update(registry, request->resource, request->namespace, request->name, doc,
                                     &options, &result, &call->err)
                   : registry_create(registry, request->resource, request->namespace, doc, &options, &result,
                                     &call->err);
    if (r == 0)
        rest_answer_written(call, exists ? 200 : 201, &result);
    return r;
}

static int apply_to(struct call *call, yyjson_val *live, yyjson_val *applied)
{
    const struct api_request *request = &call->request;
    const struct schema_type *type = type_of(request);
    struct apply_request apply = { .type = type ? type : schema_of_custom(),
                                   .manager = request->options.field_manager,
                                   .group = request->resource->group,
                                   .version = request->resource->version,
                                   .kind = request->resource->kind,
                                   .subresource = request->subresource
                                                      ? subresource_row(request->subresource)->name
                                                      : STR(""),
                                   .has_status = request->resource->subresources & SUB_STATUS,
                                   .force = request->options.force,
                                   .now = clock_now_ns(CLOCK_REALTIME) / NS_PER_S };
    struct apply_result result = { 0 };
    struct schema_error err = { 0 };
    int r = apply_merge(&apply, live, applied, &result, &err);
    r = r < 0 ? take_conflicts(call, &result, &err) : write_applied(call, result.doc, live);
    yyjson_mut_doc_free(result.doc);
    apply_result_release(&result);
    return r;
}

static int apply_body(struct call *call, yyjson_val *applied)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    int r = rest_check_object(call, applied);
    if (r < 0)
        return r;
    r = read_object(call, &json);
    if (r < 0 && (r != -404 || call->request.subresource))
        return r;
    if (r < 0)
        api_error_clear(&call->err);
    yyjson_doc *live = json.len ? yyjson_read(json.text, json.len, 0) : NULL;
    r = apply_to(call, yyjson_doc_get_root(live), applied);
    yyjson_doc_free(live);
    return r;
}

static bool is_apply(const struct call *call)
{
    struct str header = server_header_value(call->http, STR("Content-Type"));
    return str_is(str_trim(str_cut(&header, ';'), " "), "application/apply-patch+yaml") &&
           call->request.subresource != SUB_SCALE;
}

static int apply(struct call *call)
{
    if (!call->request.options.field_manager.len) {
        api_error_field(&call->err, FIELD_REQUIRED, "fieldManager", (struct str){ 0 },
                        "is required for apply patch");
        return api_error_invalid(&call->err, STR("meta.k8s.io"), STR("PatchOptions"), (struct str){ 0 });
    }
    return rest_with_body(call, call->request.resource->kind, apply_body);
}

int rest_patch(struct call *call)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    enum patch_type type = PATCH_JSON;
    if (is_apply(call))
        return apply(call);
    int r = find_type(call, &type);
    if (r == 0)
        r = read_object(call, &json);
    if (r < 0)
        return r;
    yyjson_doc *object = yyjson_read(json.text, json.len, 0);
    r = apply_patch(call, type, yyjson_doc_get_root(object));
    yyjson_doc_free(object);
    return r;
}
