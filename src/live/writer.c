/* writer.c: one request per effect, one message per answer; see writer.h.
 *
 * What is common to all effects is in a table: the method, the path, and the function that writes the body. A request
 * under way is a struct call, which belongs to the I/O thread once it was sent. */
#include "live/writer.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/timestamp.h"
#include "client/rest.h"
#include "codec/json_writer.h"

enum { TIMEOUT_MS = 10000, ANSWER_BYTES_MAX = 16 << 20 };

struct call {
    const struct writer *writer;
    enum effect_kind kind;
    uint64_t ticket;
    struct str namespace, name, uid; /* behind the struct */
};

/* ---- bodies ---- */
static const char *put_binding(const struct api *api, const struct effect *effect, struct strbuf *out)
{
    struct binding binding = {
        .meta = { .namespace = effect->namespace, .name = effect->name, .uid = effect->uid },
        .target = { .kind = STR("Node"), .name = effect->node },
    };
    const struct object object = {
        .kind = KIND_BINDING,
        .ptr = &binding,
        .meta = &binding.meta,
        .api_version = STR("v1"),
        .kind_name = STR("Binding"),
    };
    return rest_encode(api, &object, out);
}

static void member(struct json_writer *json, const char *key, struct str value)
{
    if (value.len)
        json_member_str(json, key, value);
}

/* In a patch, null takes away what is there. */
static void member_or_null(struct json_writer *json, const char *key, struct str value)
{
    json_key(json, str_from(key));
    if (value.len)
        json_str(json, value);
    else
        json_null(json);
}

/* Begins the object and its metadata with what must be so for the change to be made: another uid is refused as an
 * attempt to change it, another version as a conflict. */
static void begin_with_preconditions(struct json_writer *json, const struct effect *effect)
{
    json_begin_object(json);
    json_member_object(json, "metadata");
    member(json, "uid", effect->uid);
    member(json, "resourceVersion", effect->resource_version);
}

static void put_annotation(struct json_writer *json, const char *key, struct str value)
{
    json_member_object(json, "annotations");
    json_member_str(json, key, value);
    json_end_object(json);
}

static void put_condition(struct json_writer *json, const struct wanted_condition *condition)
{
    char time[TIMESTAMP_LEN + 1];
    json_begin_object(json);
    json_member_str(json, "type", condition->type);
    json_member_str(json, "status", condition->status);
    member_or_null(json, "reason", condition->reason);
    member_or_null(json, "message", condition->message);
    member_or_null(json, "lastProbeTime", STR(""));
    if (condition->last_transition_time.set)
        json_member_str(json, "lastTransitionTime",
                        timestamp_format(condition->last_transition_time.seconds, time));
    if (condition->observed_generation.set)
        json_member_int(json, "observedGeneration", condition->observed_generation.value);
    json_end_object(json);
}

/* Lists of conditions are merged by type, so the others need not be known. */
static void put_pod_status(struct strbuf *out, const struct effect *effect)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_with_preconditions(&json, effect);
    json_end_object(&json);
    json_member_object(&json, "status");
    if (effect->condition) {
        json_member_array(&json, "conditions");
        put_condition(&json, effect->condition);
        json_end_array(&json);
    }
    if (effect->sets_nomination)
        member_or_null(&json, "nominatedNodeName", effect->node);
    json_end_object(&json);
    json_end_object(&json);
}

static void put_delete_options(struct strbuf *out, const struct effect *effect)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    json_begin_object(&json);
    json_member_str(&json, "kind", STR("DeleteOptions"));
    json_member_str(&json, "apiVersion", STR("v1"));
    json_member_object(&json, "preconditions");
    member(&json, "uid", effect->uid);
    member(&json, "resourceVersion", effect->resource_version);
    json_end_object(&json);
    json_end_object(&json);
}

static void put_claim_ref(struct strbuf *out, const struct effect *effect)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_with_preconditions(&json, effect);
    if (!effect->prebound)
        put_annotation(&json, "pv.kubernetes.io/bound-by-controller", STR("yes"));
    json_end_object(&json);
    json_member_object(&json, "spec");
    json_member_object(&json, "claimRef");
    json_member_str(&json, "kind", STR("PersistentVolumeClaim"));
    json_member_str(&json, "namespace", effect->claim.namespace);
    json_member_str(&json, "name", effect->claim.name);
    json_member_str(&json, "uid", effect->claim.uid);
    json_member_str(&json, "apiVersion", STR("v1"));
    member_or_null(&json, "resourceVersion", effect->claim.resource_version);
    json_end_object(&json);
    json_end_object(&json);
    json_end_object(&json);
}

static void put_selected_node(struct strbuf *out, const struct effect *effect)
{
    struct json_writer json = json_writer(out, JSON_COMPACT);
    begin_with_preconditions(&json, effect);
    put_annotation(&json, "volume.kubernetes.io/selected-node", effect->node);
    json_end_object(&json);
    json_end_object(&json);
}

/* The plugin knows best. */
static void put_given(struct strbuf *out, const struct effect *effect)
{
    strbuf_str(out, effect->body);
}

/* ---- requests ---- */
#define CORE "/api/v1"
#define DEVICES "/apis/resource.k8s.io/v1"

static const struct shape {
    const char *method, *content_type, *group, *resource, *subresource;
    void (*put_body)(struct strbuf *out, const struct effect *effect);
    bool is_write;
    enum api_kind returns; /* KIND_UNKNOWN: nothing of interest */
    /* The body is an object, in the client's encoding: the content type comes from here. */
    const char *(*put_object)(const struct api *api, const struct effect *effect, struct strbuf *out);
    /* Others go ahead of it: it neither places a pod nor makes room. To a slow API server thousands of conditions may
     * wait, for example of a new leader's victims. */
    bool yields;
} shapes[EFFECT_KIND_COUNT] = {
    [EFFECT_BIND] = { "POST", NULL, CORE, "pods", "/binding", NULL, true, KIND_UNKNOWN, put_binding },
    [EFFECT_POD_STATUS] = { "PATCH", REST_STRATEGIC_MERGE_PATCH, CORE, "pods", "/status", put_pod_status,
                            true, KIND_POD, .yields = true },
    [EFFECT_DELETE_POD] = { "DELETE", API_JSON, CORE, "pods", "", put_delete_options, true, KIND_UNKNOWN },
    [EFFECT_READ_POD] = { "GET", NULL, CORE, "pods", "", NULL, false, KIND_POD },
    [EFFECT_PV_CLAIM] = { "PATCH", REST_MERGE_PATCH, CORE, "persistentvolumes", "", put_claim_ref, true,
                          KIND_PV },
    [EFFECT_PVC_NODE] = { "PATCH", REST_MERGE_PATCH, CORE, "persistentvolumeclaims", "", put_selected_node,
                          true, KIND_PVC },
    [EFFECT_CLAIM_CREATE] = { "POST", API_JSON, DEVICES, "resourceclaims", "", put_given, true,
                              KIND_RESOURCE_CLAIM },
    [EFFECT_CLAIM_PATCH] = { "PATCH", REST_STRATEGIC_MERGE_PATCH, DEVICES, "resourceclaims", "", put_given,
                             true, KIND_RESOURCE_CLAIM },
    [EFFECT_CLAIM_STATUS] = { "PATCH", REST_STRATEGIC_MERGE_PATCH, DEVICES, "resourceclaims", "/status",
                              put_given, true, KIND_RESOURCE_CLAIM },
    [EFFECT_CLAIM_DELETE] = { "DELETE", API_JSON, DEVICES, "resourceclaims", "", put_delete_options, true,
                              KIND_UNKNOWN, .yields = true },
    [EFFECT_POD_CLAIM] = { "PATCH", REST_STRATEGIC_MERGE_PATCH, CORE, "pods", "/status", put_given, true,
                           KIND_POD },
    [EFFECT_POD_UNCLAIM] = { "PATCH", REST_MERGE_PATCH, CORE, "pods", "/status", put_given, true, KIND_POD,
                             .yields = true },
};

/* ---- answers ---- */

/* Was it refused because the object has another uid than the one that was meant? Deletions and bindings say so in
 * words of their own, patches as a field that cannot change. */
static bool is_other_uid(int code, const struct api_status *status)
{
    if (code == 409)
        return str_contains(status->message, STR("UID in precondition")) ||
               str_contains(status->message, STR("UID in the precondition"));
    list_for(&status->details.causes, cause) {
        if (code == 422 && str_eq(cause->field, STR("metadata.uid")))
            return true;
    }
    return false;
}

static enum answer_kind sort_code(int code, const struct api_status *status)
{
    if (code >= 200 && code < 300)
        return ANSWER_DONE;
    if (code == 404)
        return str_eq(status->reason, STR("NotFound")) && status->details.name.len ? ANSWER_GONE
                                                                                   : ANSWER_UNKNOWN;
    if (is_other_uid(code, status))
        return ANSWER_GONE;
    if (code == 409)
        return ANSWER_CONFLICT;
    if (code == 401 || code == 429)
        return ANSWER_UNSENT;
    return code >= 400 && code < 500 && code != 408 ? ANSWER_REFUSED : ANSWER_UNKNOWN;
}

/* What an object that came back says. Only of a read does it matter that it cannot be understood. */
static void take_object(const struct call *call, const struct http_response *response, struct answer *answer,
                        struct arena *texts)
{
    _cleanup_(arena_release) struct arena scratch = { 0 };
    struct object object = { 0 };
    struct error err = { 0 };
    int r = rest_object(response, &scratch, &object, &err);
    if (r < 0 || object.kind != shapes[call->kind].returns) {
        if (call->kind != EFFECT_READ_POD)
            return;
        answer->kind = ANSWER_UNKNOWN;
        answer->message = r < 0 ? arena_str(texts, str_from(err.text)) : STR("the answer is no pod");
        return;
    }
    answer->resource_version = arena_str(texts, object.meta->resource_version);
    if (call->kind == EFFECT_CLAIM_CREATE) {
        answer->uid = arena_str(texts, object.meta->uid);
        answer->name = arena_str(texts, object.meta->name);
    }
    if (call->kind != EFFECT_READ_POD)
        return;
    const struct pod *pod = object.ptr;
    answer->node = arena_str(texts, pod->spec.node_name);
    answer->uid = arena_str(texts, pod->meta.uid);
    answer->terminating = pod->meta.deletion_time.set;
    if (call->uid.len && !str_eq(call->uid, pod->meta.uid))
        answer->kind = ANSWER_GONE;
}

static struct answer sort_response(const struct call *call, const struct http_response *response,
                                   struct arena *texts)
{
    struct api_status status = { 0 };
    struct answer answer = { .kind = response->outcome == HTTP_UNSENT ? ANSWER_UNSENT : ANSWER_UNKNOWN };
    if (rest_is_yes(response)) {
        answer.kind = ANSWER_DONE;
        if (shapes[call->kind].returns != KIND_UNKNOWN)
            take_object(call, response, &answer, texts);
        return answer;
    }
    if (rest_status(response, texts, &status) || response->outcome == HTTP_ANSWERED)
        answer.kind = sort_code(response->status, &status);
    answer.message = rest_sentence(response, &status, texts);
    answer.retry_after_ms = rest_retry_after_ms(response, &status);
    return answer;
}

static void post(struct call *call, struct inbox_message *message)
{
    message->ticket = call->ticket;
    if (call->ticket)
        inbox_post(call->writer->inbox, message);
    else
        inbox_message_free(message);
    free(call);
}

/* The engine reports bindings that fail; failures of these are reported here. */
static void log_refusal(const struct call *call, const struct answer *answer)
{
    static const char *const lines[EFFECT_KIND_COUNT] = {
        [EFFECT_POD_STATUS] = "Error updating pod",
        [EFFECT_DELETE_POD] = "Tried to preempted pod",
        [EFFECT_POD_UNCLAIM] = "Failed to clear NodeAllocatableResourceClaimStatuses on Unreserve",
    };
    struct error err;
    if (answer->kind != ANSWER_REFUSED || !lines[call->kind])
        return;
    error_set(&err, 0, STR_FMT, STR_ARG(answer->message));
    if (call->kind == EFFECT_POD_STATUS && call->writer->dispatches)
        log_error(&err, "Failed to patch pod status", log_ref("pod", call->namespace, call->name));
    else if (call->kind == EFFECT_POD_STATUS)
        log_error(&err, lines[call->kind], log_str("logger", STR("UnhandledError")),
                  log_ref("pod", call->namespace, call->name));
    else
        log_error(&err, lines[call->kind], log_ref("pod", call->namespace, call->name));
}

static void on_done(void *user, struct http_response *response)
{
    struct call *call = user;
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    message->answer = sort_response(call, response, &message->texts);
    log_refusal(call, &message->answer);
    post(call, message);
}

/* ---- sending ---- */
static struct call *call_new(const struct writer *writer, const struct effect *effect)
{
    const struct str from[] = { effect->namespace, effect->name, effect->uid };
    struct call *call = xmalloc(sizeof(*call) + from[0].len + from[1].len + from[2].len);
    *call = (struct call){ .writer = writer, .kind = effect->kind, .ticket = effect->ticket };
    struct str *const to[] = { &call->namespace, &call->name, &call->uid };
    char *at = (char *)(call + 1);
    for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
        if (from[i].len)
            memcpy(at, from[i].ptr, from[i].len);
        *to[i] = (struct str){ at, from[i].len };
        at += from[i].len;
    }
    return call;
}

/* It never left: too many wait, or this is the end. */
static void answer_unsent(struct call *call, int code, const struct error *err)
{
    struct inbox_message *message = inbox_message_new(MESSAGE_ANSWER);
    message->answer = (struct answer){
        .kind = code == -EINVAL ? ANSWER_REFUSED : ANSWER_UNSENT,
        .message = arena_str(&message->texts, str_from(err->text)),
    };
    post(call, message);
}

static void send_request(const struct writer *writer, const struct effect *effect)
{
    static const struct http_callbacks callbacks = { .on_done = on_done };
    const struct shape *shape = &shapes[effect->kind];
    _cleanup_(strbuf_release) struct strbuf path = { 0 }, body = { 0 };
    strbuf_puts(&path, shape->group);
    /* Volumes are in no namespace, whatever the effect says. */
    rest_path(&path, shape->returns == KIND_PV ? (struct str){ 0 } : effect->namespace, shape->resource,
              effect->name);
    strbuf_puts(&path, shape->subresource);
    const char *content_type = shape->content_type;
    if (shape->put_object)
        content_type = shape->put_object(writer->api, effect, &body);
    else if (shape->put_body)
        shape->put_body(&body, effect);
    struct call *call = call_new(writer, effect);
    const struct api_request request = {
        .method = shape->method,
        .path = strbuf_slice(&path),
        .content_type = content_type,
        .body = strbuf_slice(&body),
        .fenced = shape->is_write,
        .ahead = !shape->yields,
        .timeout_ms = writer->timeout_ms ? writer->timeout_ms : TIMEOUT_MS,
        .body_bytes_max = ANSWER_BYTES_MAX,
        .callbacks = &callbacks,
        .user = call,
    };
    struct error err = { 0 };
    int r = api_send(writer->api, &request, NULL, &err);
    if (r < 0)
        answer_unsent(call, r, &err);
}

void writer_emit(const struct writer *writer, const struct effect *effect)
{
    if (effect->kind != EFFECT_EVENT)
        send_request(writer, effect);
    else if (writer->recorder)
        recorder_effect(writer->recorder, effect);
}
