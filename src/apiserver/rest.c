/* rest.c: the verbs of the API: a body in, the registry, an answer out. */
#include "apiserver/apiserver_impl.h"
#include "apiserver/list.h"
#include "apiserver/messages.h"
#include "apiserver/tree.h"
#include "apiserver/usage.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "codec/doc.h"

#include <stdlib.h>

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"

/* ---- bodies ---- */
static struct str content_type(const struct call *call)
{
    struct str header = server_header_value(call->http, STR("Content-Type"));
    return str_trim(str_cut(&header, ';'), " ");
}

/* YAML as the JSON that it stands for. */
static int parse_yaml(struct call *call, struct doc_stream *stream, struct doc *ret)
{
    struct str body = call->http->body;
    struct error err = { "" };
    char *text = xcalloc(1, (size_t)body.len + YYJSON_PADDING_SIZE);
    if (body.len)
        memcpy(text, body.ptr, body.len);
    doc_stream_init(stream, "body", text, body.len);
    int r = doc_stream_next(stream, ret, &err);
    if (r > 0)
        return 0;
    return api_error_bad_request(&call->err, "error converting YAML to JSON: %s",
                                 r < 0 ? err.text : "the document is empty");
}

static struct str without_body(struct str body)
{
    return body.len ? str_slice(body, 0, MIN(body.len, 80u)) : STR("<empty>");
}

/* Hands the body's JSON to the function. */
static int with_json(struct call *call, struct str json, struct str kind,
                     int (*use)(struct call *call, yyjson_val *body))
{
    struct str reason, shown = without_body(json);
    yyjson_doc *doc = tree_parse(json, call->arena, &reason);
    if (!doc)
        return api_error_bad_request(&call->err,
                                     "the object provided is unrecognized (must be of type " STR_FMT
                                     "): couldn't get version/kind; json parse error: " STR_FMT " (" STR_FMT
                                     ")",
                                     STR_ARG(kind), STR_ARG(reason), STR_ARG(shown));
    int r = use(call, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return r;
}

static int with_yaml(struct call *call, int (*use)(struct call *call, yyjson_val *body))
{
    struct doc_stream stream = { 0 };
    struct doc doc = { 0 };
    int r = parse_yaml(call, &stream, &doc);
    if (r == 0) {
        r = use(call, doc.root);
        doc_release(&doc);
    }
    doc_stream_release(&stream);
    return r;
}

static int with_protobuf(struct call *call, struct str kind, int (*use)(struct call *call, yyjson_val *body))
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    struct str reason;
    if (!messages_to_json(call->http->body, &json, call->arena, &reason))
        return api_error_bad_request(
            &call->err, "the object provided is unrecognized (must be of type " STR_FMT "): " STR_FMT,
            STR_ARG(kind), STR_ARG(reason));
    return with_json(call, strbuf_slice(&json), kind, use);
}

int rest_with_body(struct call *call, struct str kind, int (*use)(struct call *call, yyjson_val *body))
{
    struct str type = content_type(call);
    if (str_is(type, "application/yaml") || str_is(type, "application/apply-patch+yaml"))
        return with_yaml(call, use);
    if (str_is(type, PROTOBUF_TYPE))
        return with_protobuf(call, kind, use);
    return with_json(call, call->http->body, kind, use);
}

static int check_media_type(struct call *call)
{
    struct str type = content_type(call);
    if (!type.len || str_is(type, "application/json") || str_is(type, "application/yaml") ||
        str_is(type, PROTOBUF_TYPE))
        return 0;
    return api_error_set(&call->err, 415, "UnsupportedMediaType",
                         "the body of the request was in an unknown format - accepted media types include: "
                         "application/json, application/yaml, application/vnd.kubernetes.protobuf");
}

/* Is the body an object of the kind that the path says? */
static int check_kind(struct call *call, yyjson_val *body, struct str group, struct str version,
                      struct str kind)
{
    struct str api_version = tree_text(body, "apiVersion"), given = tree_text(body, "kind");
    _cleanup_(strbuf_release) struct strbuf wanted = { 0 };
    resource_write_version(&(struct api_resource){ .group = group, .version = version }, &wanted);
    if (!yyjson_is_obj(body))
        return api_error_bad_request(&call->err,
                                     "the object provided is unrecognized (must be of type " STR_FMT
                                     "): couldn't get version/kind; json parse error: cannot unmarshal %s",
                                     STR_ARG(kind), doc_type_name(body));
    if (given.len && !str_eq(given, kind))
        return api_error_bad_request(
            &call->err,
            STR_FMT " in version \"" STR_FMT "\" cannot be handled as a " STR_FMT ": converting (v1." STR_FMT
                    ") to (" STR_FMT "): unknown conversion",
            STR_ARG(given), STR_ARG(api_version), STR_ARG(kind), STR_ARG(given), STR_ARG(kind));
    if (api_version.len && !str_eq(api_version, strbuf_slice(&wanted)))
        return api_error_bad_request(&call->err,
                                     "the API version in the data (" STR_FMT
                                     ") does not match the expected API version (" STR_FMT ")",
                                     STR_ARG(api_version), STR_ARG(strbuf_slice(&wanted)));
    return 0;
}

/* ---- fields ---- */
enum field_validation rest_field_validation(const struct call *call)
{
    struct str text = call->request.options.field_validation;
    return str_is(text, "Strict") ? FIELDS_STRICT : str_is(text, "Ignore") ? FIELDS_IGNORE : FIELDS_WARN;
}

/* Warning: 299 - "unknown field \"spec.foo\"" */
void rest_warn(struct call *call, const struct schema_problems *problems)
{
    vec_for(&problems->strict, text) {
        _cleanup_(strbuf_release) struct strbuf header = { 0 };
        strbuf_puts(&header, "299 - ");
        quote_go(&header, *text);
        *vec_push(&call->warnings) = arena_str(call->arena, strbuf_slice(&header));
    }
}

static int check_problems(struct call *call, const struct schema_problems *problems)
{
    const struct api_resource *resource = call->request.resource;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    enum field_validation validation = rest_field_validation(call);
    if (problems->wrong.len)
        strbuf_str(&text, problems->wrong);
    else if (problems->strict.len && validation == FIELDS_STRICT)
        schema_strict_text(problems, &text);
    if (text.len)
        return api_error_bad_request(
            &call->err, STR_FMT " in version \"" STR_FMT "\" cannot be handled as a " STR_FMT ": " STR_FMT,
            STR_ARG(resource->kind), STR_ARG(resource->version), STR_ARG(resource->kind),
            STR_ARG(strbuf_slice(&text)));
    if (validation == FIELDS_WARN)
        rest_warn(call, problems);
    return 0;
}

/* Does the body have the fields of its kind, with values of the right types? */
static int check_fields(struct call *call, yyjson_val *body)
{
    const struct api_resource *resource = call->request.resource;
    const struct schema_type *type = schema_of(resource->group, resource->version, resource->kind);
    struct schema_problems problems = { 0 };
    if (!type && !resource->is_custom)
        return 0;
    schema_check(type ? type : schema_of_custom(), body, SCHEMA_DECODED, &problems);
    int r = check_problems(call, &problems);
    schema_problems_release(&problems);
    return r;
}

int rest_check_object(struct call *call, yyjson_val *body)
{
    const struct api_resource *resource = call->request.resource;
    int r = check_kind(call, body, resource->group, resource->version, resource->kind);
    return r < 0 ? r : check_fields(call, body);
}

/* Of a client that does not say, the first word of its User-Agent. */
static struct str manager_of(const struct call *call)
{
    enum { MANAGER_LEN_MAX = 128 };
    struct str given = call->request.options.field_manager;
    if (given.len)
        return given;
    struct str agent = server_header_value(call->http, STR("User-Agent"));
    struct str name = str_cut(&agent, '/');
    name = str_slice(name, 0, MIN(name.len, (uint32_t)MANAGER_LEN_MAX));
    return name.len ? utf8_mended(name, call->arena) : STR("unknown");
}

struct write_options rest_write_options(const struct call *call)
{
    return (struct write_options){ .subresource = call->request.subresource,
                                   .dry_run = call->request.options.dry_run,
                                   .manager = manager_of(call) };
}

/* ---- answers ---- */
static void answer_object(struct call *call, int status, struct str json)
{
    output_object(&call->output, json, &call->body);
    call->status = status;
}

void rest_answer_written(struct call *call, int status, struct registry_result *result)
{
    answer_object(call, status, registry_result_json(result));
    call->revision = store_revision(call->server->store);
    registry_result_release(result);
}

static void answer_success(struct call *call, int code)
{
    strbuf_printf(
        &call->body,
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\",\"code\":%d}",
        code);
    call->status = code;
    call->revision = store_revision(call->server->store);
}

/* ---- reading ---- */
static int get(struct call *call)
{
    const struct api_request *request = &call->request;
    struct stored *object;
    if (usage_is_one(request->resource)) {
        call->status = 200;
        return usage_get(call->server->registry, request, &call->output, &call->body, &call->err);
    }
    int r = registry_get(call->server->registry, request->resource, request->namespace, request->name,
                         &object, &call->err);
    if (r < 0)
        return r;
    if (request->subresource == SUB_SCALE) {
        registry_scale_of(request->resource, object, &call->body);
        call->status = 200;
    } else if (request->subresource == SUB_LOG) {
        return api_error_set(&call->err, 404, "NotFound",
                             "fake kubelets run no containers, so there are no logs of pod \"" STR_FMT "\"",
                             STR_ARG(request->name));
    } else {
        answer_object(call, 200, object->json);
    }
    return 0;
}

static int list(struct call *call)
{
    int (*const write)(struct registry *, const struct api_request *, struct output *, struct strbuf *,
                       struct api_error *) = usage_is_one(call->request.resource) ? usage_list : list_write;
    int r = write(call->server->registry, &call->request, &call->output, &call->body, &call->err);
    call->status = 200;
    return r;
}

static int watch(struct call *call)
{
    return watches_begin(call->server->watches, call->http->id, &call->request, &call->output, &call->err);
}

/* ---- writing ---- */
static yyjson_mut_doc *mutable_copy(const struct api_resource *resource, yyjson_val *body)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, body));
    output_to_stored(resource, doc);
    return doc;
}

static int create_object(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    struct registry_result result = { 0 };
    struct write_options options = rest_write_options(call);
    int r = rest_check_object(call, body);
    if (r < 0)
        return r;
    if (review_is_one(request->resource))
        return review_answer(call, body);
    yyjson_mut_doc *object = mutable_copy(request->resource, body);
    r = registry_create(call->server->registry, request->resource, request->namespace, object, &options,
                        &result, &call->err);
    yyjson_mut_doc_free(object);
    if (r == 0)
        rest_answer_written(call, 201, &result);
    return r;
}

static int create_binding(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    int r = check_kind(call, body, STR(""), STR("v1"), STR("Binding"));
    if (r < 0)
        return r;
    struct str name = request->name.len ? request->name : tree_text(body, "metadata.name");
    r = registry_bind(call->server->registry, request->namespace, name, body, request->options.dry_run,
                      &call->err);
    if (r == 0)
        answer_success(call, 201);
    return r;
}

static int create_eviction(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    int r = check_kind(call, body, STR("policy"), STR("v1"), STR("Eviction"));
    if (r == 0)
        r = registry_evict(call->server->registry, request->namespace, request->name, body,
                           request->options.dry_run, &call->err);
    if (r == 0)
        answer_success(call, 201);
    return r;
}

static int create(struct call *call)
{
    const struct api_request *request = &call->request;
    int r = check_media_type(call);
    if (r < 0)
        return r;
    if (request->subresource == SUB_EVICTION)
        return rest_with_body(call, STR("Eviction"), create_eviction);
    if (request->subresource == SUB_BINDING || str_is(request->resource->kind, "Binding"))
        return rest_with_body(call, STR("Binding"), create_binding);
    return rest_with_body(call, request->resource->kind, create_object);
}

int rest_put_scale(struct call *call, yyjson_val *scale)
{
    const struct api_request *request = &call->request;
    struct registry_result result = { 0 };
    int r = registry_set_scale(call->server->registry, request->resource, request->namespace, request->name,
                               scale, request->options.dry_run, &result, &call->err);
    if (r < 0)
        return r;
    struct str json = registry_result_json(&result);
    registry_scale_of(request->resource, &(struct stored){ .json = json }, &call->body);
    registry_result_release(&result);
    call->status = 200;
    call->revision = store_revision(call->server->store);
    return 0;
}

static int update_object(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    struct registry_result result = { 0 };
    struct write_options options = rest_write_options(call);
    if (request->subresource == SUB_SCALE) {
        int r = check_kind(call, body, STR("autoscaling"), STR("v1"), STR("Scale"));
        return r < 0 ? r : rest_put_scale(call, body);
    }
    int r = rest_check_object(call, body);
    if (r < 0)
        return r;
    yyjson_mut_doc *object = mutable_copy(request->resource, body);
    r = registry_update(call->server->registry, request->resource, request->namespace, request->name, object,
                        &options, &result, &call->err);
    yyjson_mut_doc_free(object);
    if (r == 0)
        rest_answer_written(call, 200, &result);
    return r;
}

static int update(struct call *call)
{
    int r = check_media_type(call);
    return r < 0 ? r : rest_with_body(call, call->request.resource->kind, update_object);
}

/* ---- deleting ---- */
void rest_delete_options(struct call *call, yyjson_val *body, struct delete_options *ret)
{
    const struct api_options *options = &call->request.options;
    yyjson_val *grace = tree_at(body, "gracePeriodSeconds"), *orphan = tree_at(body, "orphanDependents");
    struct str policy = tree_text(body, "propagationPolicy");
    *ret = (struct delete_options){
        .grace_s = options->grace_s,
        .propagation_policy = options->propagation_policy,
        .uid = arena_str(call->arena, tree_text(body, "preconditions.uid")),
        .resource_version = arena_str(call->arena, tree_text(body, "preconditions.resourceVersion")),
        .dry_run = options->dry_run || yyjson_arr_size(tree_at(body, "dryRun")) > 0
    };
    if (yyjson_is_int(grace))
        ret->grace_s = (struct opt_int64){ .set = true, .value = yyjson_get_sint(grace) };
    if (policy.len)
        ret->propagation_policy = arena_str(call->arena, policy);
    if (yyjson_is_true(orphan) || (options->orphan_dependents.set && options->orphan_dependents.value))
        ret->propagation_policy = STR("Orphan");
}

/* The object that is gone, or is on its way; of most resources just that it is gone. */
static void answer_deleted(struct call *call, struct registry_result *result, bool returns_object)
{
    if (!result->is_deleted || returns_object) {
        rest_answer_written(call, 200, result);
        return;
    }
    const struct api_resource *resource = call->request.resource;
    struct json_writer json = json_writer(&call->body, JSON_COMPACT);
    struct str text = registry_result_json(result);
    yyjson_doc *doc = yyjson_read(text.ptr, text.len, 0);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("Status"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_member_object(&json, "metadata");
    json_end_object(&json);
    json_member_str(&json, "status", STR("Success"));
    json_member_object(&json, "details");
    json_member_str(&json, "name", call->request.name);
    if (resource->group.len)
        json_member_str(&json, "group", resource->group);
    json_member_str(&json, "kind", resource->plural);
    json_member_str(&json, "uid", tree_text(yyjson_doc_get_root(doc), "metadata.uid"));
    json_end_object(&json);
    json_end_object(&json);
    yyjson_doc_free(doc);
    call->status = 200;
    call->revision = store_revision(call->server->store);
    registry_result_release(result);
}

static int delete_object(struct call *call, yyjson_val *body)
{
    const struct api_request *request = &call->request;
    struct delete_options options;
    struct registry_result result = { 0 };
    rest_delete_options(call, body, &options);
    int r = registry_delete(call->server->registry, request->resource, request->namespace, request->name,
                            &options, &result, &call->err);
    if (r == 0)
        answer_deleted(call, &result, registry_returns_deleted(request->resource));
    return r;
}

static int delete(struct call *call)
{
    int (*use)(struct call *, yyjson_val *) =
        call->request.verb == VERB_DELETE ? delete_object : rest_delete_collection;
    int r = call->http->body.len ? check_media_type(call) : 0;
    if (r < 0)
        return r;
    return call->http->body.len ? rest_with_body(call, STR("DeleteOptions"), use) : use(call, NULL);
}

/* ---- dispatch ---- */
static int negotiate(struct call *call)
{
    struct str accept = server_header_value(call->http, STR("Accept"));
    call->output.resource = call->request.resource;
    call->output.include_object = query_value(call->http->query, "includeObject", call->arena);
    if (accepted_parse(accept, false, &call->output.accepted))
        return 0;
    call->err.has_details = true;
    return api_error_set(&call->err, 406, "NotAcceptable",
                         "406: Not Acceptable\n\nAvailable representations: application/json, "
                         "application/json;stream=watch");
}

int rest_handle(struct call *call)
{
    static int (*const verbs[])(struct call *) = {
        [VERB_NUMBER_CREATE] = create, [VERB_NUMBER_DELETE] = delete, [VERB_NUMBER_DELETECOLLECTION] = delete,
        [VERB_NUMBER_GET] = get,       [VERB_NUMBER_LIST] = list,     [VERB_NUMBER_PATCH] = rest_patch,
        [VERB_NUMBER_UPDATE] = update, [VERB_NUMBER_WATCH] = watch,
    };
    int r = api_request_parse(call->http->method, call->http->path, call->http->query, call->arena,
                              &call->request, &call->err);
    if (r == 0)
        r = negotiate(call);
    if (r < 0)
        return r;
    if (call->request.resource == resource_named("", "endpoints"))
        *vec_push(&call->warnings) =
            STR("299 - \"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\"");
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (call->request.verb == (enum api_verb)(1 << i))
            return verbs[i](call);
    return api_error_no_method(&call->err);
}
