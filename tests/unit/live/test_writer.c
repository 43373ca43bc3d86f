/* Each effect as the request that the API server receives, and each reply as the engine receives it. */
#include "unit/live/scripted.h"

#include "api/protobuf.h"
#include "live/writer.h"

struct fixture {
    struct scripted server;
    struct kube_access access;
    struct api *api;
    struct inbox *inbox;
    struct writer writer;
};

static bool may_write(void *user)
{
    return *(const bool *)user;
}

static void start(struct fixture *f, struct api_options options, struct writer with)
{
    scripted_start(&f->server);
    f->api = scripted_client(&f->server, &f->access, options);
    f->inbox = inbox_new();
    with.api = f->api;
    with.inbox = f->inbox;
    f->writer = with;
}

static void stop(struct fixture *f)
{
    api_free(f->api);
    inbox_free(f->inbox);
    scripted_stop(&f->server);
}

static struct inbox_message *take(struct fixture *f)
{
    struct list messages = inbox_take(f->inbox, monotonic_ns() + INT64_C(20000000000));
    struct inbox_message *message = inbox_next(&messages);
    assert_non_null(message);
    assert_int_equal(message->kind, MESSAGE_ANSWER);
    assert_true(list_empty(&messages));
    return message;
}

static const struct wanted_condition condition = {
    .type = STR("PodScheduled"),
    .status = STR("False"),
    .reason = STR("Unschedulable"),
    .message = STR("0/1 nodes are \"available\"."),
    .last_transition_time = { true, 1700000000, 5 },
    .observed_generation = { true, 3 },
};
static const struct wanted_condition bare_condition = { .type = STR("PodScheduled"), .status = STR("False") };

#define POD .namespace = STR("ns"), .name = STR("web"), .uid = STR("u1")

static const struct {
    const char *name;
    struct effect effect;
    const char *method, *path, *content_type, *body; /* body NULL: checked by its own test */
} requests[] = {
    { "bind",
      { .kind = EFFECT_BIND, POD, .node = STR("n1") },
      "POST",
      "/api/v1/namespaces/ns/pods/web/binding",
      "application/vnd.kubernetes.protobuf",
      NULL },
    { "status: condition",
      { .kind = EFFECT_POD_STATUS, POD, .condition = &condition },
      "PATCH",
      "/api/v1/namespaces/ns/pods/web/status",
      "application/strategic-merge-patch+json",
      "{\"metadata\":{\"uid\":\"u1\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
      "\"False\","
      "\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes are \\\"available\\\".\",\"lastProbeTime\":null,"
      "\"lastTransitionTime\":\"2023-11-14T22:13:20Z\",\"observedGeneration\":3}]}}" },
    { "status: nomination",
      { .kind = EFFECT_POD_STATUS, POD, .sets_nomination = true, .node = STR("n1") },
      "PATCH",
      "/api/v1/namespaces/ns/pods/web/status",
      "application/strategic-merge-patch+json",
      "{\"metadata\":{\"uid\":\"u1\"},\"status\":{\"nominatedNodeName\":\"n1\"}}" },
    { "status: what is empty is taken away",
      { .kind = EFFECT_POD_STATUS, POD, .condition = &bare_condition, .sets_nomination = true },
      "PATCH",
      "/api/v1/namespaces/ns/pods/web/status",
      "application/strategic-merge-patch+json",
      "{\"metadata\":{\"uid\":\"u1\"},\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":"
      "\"False\","
      "\"reason\":null,\"message\":null,\"lastProbeTime\":null}],\"nominatedNodeName\":null}}" },
    { "delete",
      { .kind = EFFECT_DELETE_POD, POD },
      "DELETE",
      "/api/v1/namespaces/ns/pods/web",
      "application/json",
      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u1\"}}" },
    { "read", { .kind = EFFECT_READ_POD, POD }, "GET", "/api/v1/namespaces/ns/pods/web", "", "" },
    { "volume",
      { .kind = EFFECT_PV_CLAIM,
        .name = STR("pv1"),
        .resource_version = STR("42"),
        .claim = { STR("ns"), STR("data"), STR("u2"), STR("7") } },
      "PATCH",
      "/api/v1/persistentvolumes/pv1",
      "application/merge-patch+json",
      "{\"metadata\":{\"resourceVersion\":\"42\",\"annotations\":{\"pv.kubernetes.io/"
      "bound-by-controller\":\"yes\"}},"
      "\"spec\":{\"claimRef\":{\"kind\":\"PersistentVolumeClaim\",\"namespace\":\"ns\",\"name\":\"data\","
      "\"uid\":\"u2\",\"apiVersion\":\"v1\",\"resourceVersion\":\"7\"}}}" },
    { "volume that was meant for the claim from the start",
      { .kind = EFFECT_PV_CLAIM,
        .name = STR("pv1"),
        .resource_version = STR("42"),
        .claim = { STR("ns"), STR("data"), STR("u2"), STR("") },
        .prebound = true },
      "PATCH",
      "/api/v1/persistentvolumes/pv1",
      "application/merge-patch+json",
      "{\"metadata\":{\"resourceVersion\":\"42\"},\"spec\":{\"claimRef\":{\"kind\":\"PersistentVolumeClaim\","
      "\"namespace\":\"ns\",\"name\":\"data\",\"uid\":\"u2\",\"apiVersion\":\"v1\",\"resourceVersion\":null}}"
      "}" },
    { "claim",
      { .kind = EFFECT_PVC_NODE,
        .namespace = STR("ns"),
        .name = STR("data"),
        .uid = STR("u2"),
        .resource_version = STR("7"),
        .node = STR("n1") },
      "PATCH",
      "/api/v1/namespaces/ns/persistentvolumeclaims/data",
      "application/merge-patch+json",
      "{\"metadata\":{\"uid\":\"u2\",\"resourceVersion\":\"7\","
      "\"annotations\":{\"volume.kubernetes.io/selected-node\":\"n1\"}}}" },
    { "a name that would leave its place",
      { .kind = EFFECT_DELETE_POD, .namespace = STR("ns"), .name = STR("../a b?c%2f"), .uid = STR("u") },
      "DELETE",
      "/api/v1/namespaces/ns/pods/..%2Fa%20b%3Fc%252f",
      "application/json",
      "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"preconditions\":{\"uid\":\"u\"}}" },
};

static void test_requests(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        struct effect effect = requests[i].effect;
        effect.ticket = i + 1;
        writer_emit(&f.writer, &effect);
        const struct scripted_request *request = scripted_wait(&f.server, i + 1);
        print_message("%s\n", requests[i].name);
        assert_string_equal(request->method, requests[i].method);
        assert_string_equal(request->path, requests[i].path);
        assert_string_equal(request->content_type, requests[i].content_type);
        assert_string_equal(request->accept, "application/vnd.kubernetes.protobuf, */*");
        if (requests[i].body)
            assert_string_equal(request->body.text ? request->body.text : "", requests[i].body);
        struct inbox_message *message = take(&f);
        assert_int_equal(message->ticket, i + 1);
        inbox_message_free(message);
    }
    stop(&f);
}

static void test_binding_body(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    char node[] = "n1";
    struct effect effect = { .kind = EFFECT_BIND, .ticket = 1, POD, .node = str_from(node) };
    writer_emit(&f.writer, &effect);
    memset(node, 'x', 2); /* the writer has copied it */
    const struct scripted_request *request = scripted_wait(&f.server, 1);
    struct arena arena = { 0 };
    struct object object;
    struct error err;
    assert_int_equal(
        object_decode_protobuf(strbuf_slice(&request->body), STRINGS_BORROWED, &arena, &object, &err), 0);
    assert_int_equal(object.kind, KIND_BINDING);
    assert_str(object.api_version, "v1");
    const struct binding *binding = object.ptr;
    assert_str(binding->meta.namespace, "ns");
    assert_str(binding->meta.name, "web");
    assert_str(binding->meta.uid, "u1");
    assert_str(binding->target.kind, "Node");
    assert_str(binding->target.name, "n1");
    arena_release(&arena);
    inbox_message_free(take(&f));
    stop(&f);
}

/* What clientConnection says of the encodings of objects; patches have their own. */
static void test_encodings(void **state _unused_)
{
    static const struct {
        struct str content_type, accept;
        const char *sent, *accepted;
    } cases[] = {
        { STR(API_PROTOBUF), STR(""), API_PROTOBUF, API_PROTOBUF ", */*" },
        { STR(API_JSON), STR(""), API_JSON, API_JSON ", */*" },
        { STR(API_JSON), STR(API_PROTOBUF), API_JSON, API_PROTOBUF },
        { STR("application/yaml"), STR(""), API_JSON, API_JSON ", */*" },
        { STR(""), STR(API_JSON ";q=1"), API_PROTOBUF, API_JSON ";q=1" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        static struct fixture f;
        start(&f, (struct api_options){ .content_type = cases[i].content_type, .accept = cases[i].accept },
              (struct writer){ 0 });
        struct effect effect = { .kind = EFFECT_BIND, .ticket = 1, POD, .node = STR("n1") };
        writer_emit(&f.writer, &effect);
        const struct scripted_request *request = scripted_wait(&f.server, 1);
        assert_string_equal(request->content_type, cases[i].sent);
        assert_string_equal(request->accept, cases[i].accepted);
        if (strcmp(cases[i].sent, API_JSON) == 0)
            assert_string_equal(request->body.text,
                                "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"web\","
                                "\"namespace\":\"ns\",\"uid\":\"u1\"},\"target\":{\"kind\":\"Node\",\"name\":"
                                "\"n1\"}}");
        inbox_message_free(take(&f));
        stop(&f);
    }
}

#define STATUS(code, reason, message, more) \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" message \
    "\",\"reason\":\"" reason "\",\"code\":" #code more "}"
#define NAMED ",\"details\":{\"name\":\"web\",\"kind\":\"pods\"}"

static const struct {
    const char *name;
    enum effect_kind kind;
    int status;
    const char *type, *more, *body;
    enum answer_kind want;
    const char *message;
    int64_t patience_ms;
} answers[] = {
    { "201", EFFECT_BIND, 201, API_JSON, NULL, "{\"kind\":\"Status\",\"status\":\"Success\"}", ANSWER_DONE,
      "", 0 },
    { "a yes that cannot be read", EFFECT_PV_CLAIM, 200, API_JSON, NULL, "{{{", ANSWER_DONE, "", 0 },
    { "no such pod", EFFECT_BIND, 404, API_JSON, NULL, STATUS(404, "NotFound", "no pod", NAMED), ANSWER_GONE,
      "no pod", 0 },
    { "no such path", EFFECT_BIND, 404, API_JSON, NULL, STATUS(404, "NotFound", "no path", ",\"details\":{}"),
      ANSWER_UNKNOWN, "no path", 0 },
    { "a proxy's 404", EFFECT_DELETE_POD, 404, "text/html", NULL, "<b>no</b>", ANSWER_UNKNOWN,
      "the API server answered with status 404", 0 },
    { "bound already", EFFECT_BIND, 409, API_JSON, NULL, STATUS(409, "Conflict", "already assigned", NAMED),
      ANSWER_CONFLICT, "already assigned", 0 },
    { "bind: another uid", EFFECT_BIND, 409, API_JSON, NULL,
      STATUS(409, "Conflict", "Precondition failed: UID in precondition: u1, UID in object meta: u2", NAMED),
      ANSWER_GONE, "Precondition failed: UID in precondition: u1, UID in object meta: u2", 0 },
    { "delete: another uid", EFFECT_DELETE_POD, 409, API_JSON, NULL,
      STATUS(409, "Conflict", "the UID in the precondition (u1) does not match", NAMED), ANSWER_GONE,
      "the UID in the precondition (u1) does not match", 0 },
    { "patch: another uid", EFFECT_POD_STATUS, 422, API_JSON, NULL,
      STATUS(422, "Invalid", "immutable",
             ",\"details\":{\"causes\":[{\"reason\":\"FieldValueInvalid\",\"field\":\"metadata.uid\"}]}"),
      ANSWER_GONE, "immutable", 0 },
    { "patch: invalid", EFFECT_POD_STATUS, 422, API_JSON, NULL,
      STATUS(422, "Invalid", "bad",
             ",\"details\":{\"causes\":[{\"reason\":\"FieldValueInvalid\",\"field\":\"status.phase\"}]}"),
      ANSWER_REFUSED, "bad", 0 },
    { "another version", EFFECT_PV_CLAIM, 409, API_JSON, NULL, STATUS(409, "Conflict", "modified", NAMED),
      ANSWER_CONFLICT, "modified", 0 },
    { "forbidden", EFFECT_BIND, 403, API_JSON, NULL, STATUS(403, "Forbidden", "not you", ""), ANSWER_REFUSED,
      "not you", 0 },
    { "bad request", EFFECT_BIND, 400, "text/plain", NULL, "?", ANSWER_REFUSED,
      "the API server answered with status 400", 0 },
    { "unauthorized", EFFECT_BIND, 401, API_JSON, NULL, STATUS(401, "Unauthorized", "who?", ""),
      ANSWER_UNSENT, "who?", 0 },
    { "too many", EFFECT_BIND, 429, "text/plain", "Retry-After: 2\r\n", "slow", ANSWER_UNSENT,
      "the API server answered with status 429", 2000 },
    { "patience of a Status", EFFECT_BIND, 504, API_JSON, NULL,
      STATUS(504, "Timeout", "slow", ",\"details\":{\"retryAfterSeconds\":3}"), ANSWER_UNKNOWN, "slow",
      3000 },
    { "patience without end", EFFECT_BIND, 503, API_JSON, "Retry-After: 999999\r\n", "{}", ANSWER_UNKNOWN,
      "the API server answered with status 503", 3600000 },
    { "timeout", EFFECT_BIND, 408, "text/plain", NULL, "", ANSWER_UNKNOWN,
      "the API server answered with status 408", 0 },
    { "internal", EFFECT_BIND, 500, API_JSON, NULL, STATUS(500, "InternalError", "oh", ""), ANSWER_UNKNOWN,
      "oh", 0 },
    { "elsewhere", EFFECT_BIND, 302, "text/plain", "Location: /x\r\n", "", ANSWER_UNKNOWN,
      "the API server answered with status 302", 0 },
    { "read: no pod", EFFECT_READ_POD, 200, API_JSON, NULL, "{\"kind\":\"Node\",\"apiVersion\":\"v1\"}",
      ANSWER_UNKNOWN, "the answer is no pod", 0 },
    { "read: not even an object", EFFECT_READ_POD, 200, "text/plain", NULL, "hello", ANSWER_UNKNOWN,
      "the answer is no object", 0 },
};

static void test_answers(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
        print_message("%s\n", answers[i].name);
        scripted_reply_bytes(&f.server, answers[i].status, answers[i].type, answers[i].more,
                             str_from(answers[i].body));
        /* Without a credential a 401 is not retried. */
        writer_emit(&f.writer, &(struct effect){ .kind = answers[i].kind, .ticket = 100 + i, POD });
        struct inbox_message *message = take(&f);
        assert_int_equal(message->ticket, 100 + i);
        assert_string_equal(answer_kind_names[message->answer.kind], answer_kind_names[answers[i].want]);
        assert_str(message->answer.message, answers[i].message);
        assert_int_equal(message->answer.retry_after_ms, answers[i].patience_ms);
        inbox_message_free(message);
    }
    stop(&f);
}

static void test_protobuf_status(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    /* As an API server writes it: message 3, reason 4, details 5 {name 1}, code 6. */
    struct strbuf body = { 0 };
    strbuf_add(&body, "k8s\0", 4);
    size_t meta = protobuf_begin(&body, 1);
    protobuf_put_bytes(&body, 1, STR("v1"));
    protobuf_put_bytes(&body, 2, STR("Status"));
    protobuf_end(&body, meta);
    size_t raw = protobuf_begin(&body, 2);
    protobuf_put_bytes(&body, 3, STR("pods \"web\" not found"));
    protobuf_put_bytes(&body, 4, STR("NotFound"));
    size_t details = protobuf_begin(&body, 5);
    protobuf_put_bytes(&body, 1, STR("web"));
    protobuf_end(&body, details);
    protobuf_put_number(&body, 6, 404);
    protobuf_end(&body, raw);
    scripted_reply_bytes(&f.server, 404, API_PROTOBUF, NULL, strbuf_slice(&body));
    strbuf_release(&body);
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_BIND, .ticket = 1, POD });
    struct inbox_message *message = take(&f);
    assert_int_equal(message->answer.kind, ANSWER_GONE);
    assert_str(message->answer.message, "pods \"web\" not found");
    inbox_message_free(message);
    stop(&f);
}

#define READ(uid, more, spec) \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\",\"namespace\":\"ns\",\"uid\":" \
    "\"" uid "\",\"resourceVersion\":\"9\"" more "},\"spec\":{" spec "}}"

static const struct {
    const char *body;
    enum answer_kind want;
    const char *uid, *node;
    bool terminating;
} reads[] = {
    { READ("u1", "", ""), ANSWER_DONE, "u1", "", false },
    { READ("u1", "", "\"nodeName\":\"n1\""), ANSWER_DONE, "u1", "n1", false },
    { READ("u1", ",\"deletionTimestamp\":\"2024-01-01T00:00:00Z\"", "\"nodeName\":\"n2\""), ANSWER_DONE, "u1",
      "n2", true },
    { READ("u9", "", "\"nodeName\":\"n1\""), ANSWER_GONE, "u9", "n1", false },
};

static void test_reads(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
        scripted_reply(&f.server, 200, API_JSON, reads[i].body);
        writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_READ_POD, .ticket = 1, POD });
        struct inbox_message *message = take(&f);
        assert_int_equal(message->answer.kind, reads[i].want);
        assert_str(message->answer.uid, reads[i].uid);
        assert_str(message->answer.node, reads[i].node);
        assert_str(message->answer.resource_version, "9");
        assert_int_equal(message->answer.terminating, reads[i].terminating);
        inbox_message_free(message);
    }
    stop(&f);
}

/* The resourceVersion of a changed object, from both encodings. */
static void test_versions(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    struct pv pv = { .meta = { .name = STR("pv1"), .resource_version = STR("43") } };
    struct strbuf body = { 0 };
    object_encode_protobuf(&(struct object){ KIND_PV, &pv, &pv.meta, STR("v1"), STR("PersistentVolume") },
                           &body);
    scripted_reply_bytes(&f.server, 200, API_PROTOBUF, NULL, strbuf_slice(&body));
    scripted_reply(
        &f.server, 200, "application/json; charset=utf-8",
        "{\"kind\":\"PersistentVolume\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"44\"}}");
    strbuf_release(&body);
    for (int i = 0; i < 2; i++) {
        writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_PV_CLAIM, .ticket = 1, .name = STR("pv1") });
        struct inbox_message *message = take(&f);
        assert_int_equal(message->answer.kind, ANSWER_DONE);
        assert_str(message->answer.resource_version, i == 0 ? "43" : "44");
        inbox_message_free(message);
    }
    stop(&f);
}

/* No reply: the request may have taken effect, unless it was not sent. */
static void test_without_a_reply(void **state _unused_)
{
    static struct fixture f;
    static bool leads = true;
    start(&f, (struct api_options){ .may_write = may_write, .user = &leads },
          (struct writer){ .timeout_ms = 300 });
    struct effect bind = { .kind = EFFECT_BIND, .ticket = 1, POD };
    static const int silent[] = { 0, -1 };
    for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
        scripted_reply(&f.server, silent[i], API_JSON, "");
        writer_emit(&f.writer, &bind);
        struct inbox_message *message = take(&f);
        assert_int_equal(message->answer.kind, ANSWER_UNKNOWN);
        assert_true(message->answer.message.len > 0);
        inbox_message_free(message);
    }

    /* A scheduler that does not lead writes nothing, but may read. */
    size_t before = scripted_count(&f.server);
    leads = false;
    for (int kind = 0; kind < EFFECT_EVENT; kind++) {
        writer_emit(&f.writer, &(struct effect){ .kind = (enum effect_kind)kind, .ticket = 1, POD });
        struct inbox_message *message = take(&f);
        if (kind != EFFECT_READ_POD)
            assert_int_equal(message->answer.kind, ANSWER_UNSENT);
        inbox_message_free(message);
    }
    assert_int_equal(scripted_count(&f.server), before + 1);
    stop(&f);
}

/* A slow server, for which many conditions wait: what places a pod or makes room goes ahead of them. Which requests are
 * under way when the server answers, and which of its threads is slow, is chance: there are far more conditions. */
static void test_what_goes_ahead(void **state _unused_)
{
    enum { CONDITIONS = 3000, WRITES = CONDITIONS + 2 };
    static struct fixture f;
    start(&f, (struct api_options){ .qps = -1 }, (struct writer){ 0 });
    f.server.closed = true;
    for (uint64_t i = 0; i < CONDITIONS; i++)
        writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_POD_STATUS, .ticket = i + 1, POD });
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_BIND, .ticket = WRITES, POD });
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_DELETE_POD, .ticket = WRITES, POD });
    while (api_stats(f.api).pending < WRITES)
        usleep(1000);
    scripted_open(&f.server);
    scripted_wait(&f.server, WRITES);
    size_t ahead = 0;
    for (size_t i = 0; i < WRITES / 2; i++)
        ahead += strcmp(f.server.requests[i].method, "PATCH") != 0;
    assert_int_equal(ahead, 2);
    stop(&f);
}

static void test_no_server(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    shutdown(f.server.listener, SHUT_RDWR);
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_BIND, .ticket = 5, POD });
    struct inbox_message *message = take(&f);
    assert_int_equal(message->ticket, 5);
    assert_int_equal(message->answer.kind, ANSWER_UNSENT);
    assert_true(message->answer.message.len > 0);
    inbox_message_free(message);
    stop(&f);
}

/* Effects without a ticket and events are not answered. Requests in flight at shutdown are answered. */
static void test_messages(void **state _unused_)
{
    static struct fixture f;
    start(&f, (struct api_options){ 0 }, (struct writer){ 0 });
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_EVENT, .ticket = 1, POD });
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_POD_STATUS, POD });
    scripted_wait(&f.server, 1);
    scripted_reply(&f.server, -1, API_JSON, "");
    writer_emit(&f.writer, &(struct effect){ .kind = EFFECT_BIND, .ticket = 2, POD });
    scripted_wait(&f.server, 2);
    api_free(f.api);
    f.api = NULL;
    struct inbox_message *message = take(&f);
    assert_int_equal(message->ticket, 2);
    assert_int_equal(message->answer.kind, ANSWER_UNKNOWN);
    inbox_message_free(message);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),        cmocka_unit_test(test_binding_body),
        cmocka_unit_test(test_encodings),       cmocka_unit_test(test_answers),
        cmocka_unit_test(test_protobuf_status), cmocka_unit_test(test_reads),
        cmocka_unit_test(test_versions),        cmocka_unit_test(test_without_a_reply),
        cmocka_unit_test(test_what_goes_ahead), cmocka_unit_test(test_no_server),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
