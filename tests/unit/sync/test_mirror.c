/* What a watch says reaches the engine; an object that cannot be read keeps its room. */
#include "support/engine_fixture.h"

#include "cluster/devices.h"
#include "sync/mirror.h"
#include "sync/watch_decode.h"

struct setup {
    struct engine_fixture e;
    struct mirror mirror;
};

static void setup_init(struct setup *s)
{
    engine_fixture_init(&s->e, NULL, &(struct engine_options){ .slowest = PATH_INDEX });
    mirror_init(&s->mirror, &s->e.engine);
}

static void setup_release(struct setup *s)
{
    engine_release(&s->e.engine);
    mirror_release(&s->mirror);
    config_release(&s->e.config);
    fixture_release(&s->e.f);
}

static void apply(struct setup *s, enum inbox_message_kind kind, enum api_kind api_kind,
                  struct live_object *object)
{
    struct inbox_message *message = inbox_message_new(kind);
    message->api_kind = api_kind;
    message->object = object;
    mirror_apply(&s->mirror, message, s->e.now_ns);
    inbox_message_free(message);
}

static void list_mark(struct setup *s, enum inbox_message_kind kind, enum api_kind api_kind)
{
    apply(s, kind, api_kind, NULL);
}

/* One event of a watch, as a reflector passes it on. */
static void event(struct setup *s, enum api_kind kind, const char *type, const char *format, ...)
{
    struct watch_decoder watch;
    struct live_event event;
    struct arena scratch = { 0 };
    struct strbuf text = { 0 };
    struct error err;
    char object[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(object, sizeof(object), format, args);
    va_end(args);
    strbuf_printf(&text, "{\"type\":\"%s\",\"object\":%s}", type, object);
    watch_decoder_init(&watch, kind);
    watch_decoder_feed(&watch, strbuf_slice(&text));
    assert_int_equal(watch_decoder_next(&watch, &scratch, &event, &err), 1);
    if (!event.object)
        fail_msg("%s: %s", text.text, err.text);
    apply(s,
          event.type == WATCH_DELETED       ? MESSAGE_REMOVE
          : event.object->object.is_partial ? MESSAGE_PARTIAL
                                            : MESSAGE_SET,
          kind, event.object);
    watch_decoder_release(&watch);
    strbuf_release(&text);
    arena_release(&scratch);
}

/* %s: what more the metadata, the spec and the container have. */
#define POD_TEXT \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"," \
    "\"uid\":\"u\",\"resourceVersion\":\"%d\"%s},\"spec\":{\"schedulerName\":\"default-scheduler\",%s" \
    "\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}"
#define ON_A "\"nodeName\":\"a\","
#define BROKEN "\"priority\":\"high\","

static void node(struct setup *s)
{
    event(s, KIND_NODE, "ADDED",
          "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"uid\":\"n\"},"
          "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"pods\":\"9\"}}}");
}

static int64_t used_cpu(const struct setup *s)
{
    return node_used(fixture_view(&s->e.f, "a"), RES_CPU);
}

static const struct pod_info *find(const struct setup *s, const char *name)
{
    return cluster_find_pod(&s->e.f.cluster, STR("default"), str_from(name));
}

static void test_partial_pods(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    node(&s);
    /* A new one with a node: what could be read counts. */
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 10, "", ON_A BROKEN, "2");
    assert_int_equal(used_cpu(&s), 2000);
    event(&s, KIND_POD, "DELETED", POD_TEXT, "p", 11, "", ON_A BROKEN, "2");
    assert_int_equal(used_cpu(&s), 0);
    /* A known one keeps its complete version. */
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 20, "", ON_A, "3");
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 21, "", ON_A BROKEN, "none");
    assert_int_equal(used_cpu(&s), 3000);
    /* Also where the uid cannot be read. */
    event(&s, KIND_POD, "DELETED", POD_TEXT, "p", 22, ",\"uid\":3", ON_A, "3");
    assert_int_equal(used_cpu(&s), 0);
    assert_null(find(&s, "p"));
    setup_release(&s);
}

/* Not decided while it cannot be read; decided when it can. */
static void test_partial_pod_is_not_scheduled(void **state _unused_)
{
    struct setup s;
    struct decision decision;
    setup_init(&s);
    node(&s);
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 10, "", BROKEN, "1");
    assert_null(find(&s, "p"));
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 11, "", "", "1");
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 12, "", BROKEN, "1");
    assert_false(engine_step(&s.e.engine, s.e.now_ns, &decision));
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 13, "", "", "1");
    assert_true(engine_step(&s.e.engine, s.e.now_ns, &decision));
    assert_int_not_equal(decision.row, ROW_NONE);
    assert_int_equal(used_cpu(&s), 1000);
    /* Placed: it keeps its place, and is bound where the API server says so. */
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 14, "", BROKEN, "none");
    assert_int_equal(used_cpu(&s), 1000);
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 15, "", BROKEN ON_A, "none");
    assert_int_equal(used_cpu(&s), 1000);
    assert_str(find(&s, "p")->api->spec.node_name, "a");
    assert_str(find(&s, "p")->api->meta.resource_version, "15");
    setup_release(&s);
}

/* A list with an object that cannot be read takes nothing away from it. */
static void test_partial_in_list(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    node(&s);
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 10, "", ON_A, "1");
    event(&s, KIND_POD, "ADDED", POD_TEXT, "q", 10, "", ON_A, "2");
    list_mark(&s, MESSAGE_LIST_BEGIN, KIND_POD);
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 12, "", ON_A BROKEN, "none");
    list_mark(&s, MESSAGE_LIST_END, KIND_POD);
    assert_int_equal(used_cpu(&s), 1000); /* q is gone */

    list_mark(&s, MESSAGE_LIST_BEGIN, KIND_POD);
    list_mark(&s, MESSAGE_PARTIAL, KIND_POD); /* it may be p */
    list_mark(&s, MESSAGE_LIST_END, KIND_POD);
    assert_int_equal(used_cpu(&s), 1000);
    list_mark(&s, MESSAGE_LIST_BEGIN, KIND_POD);
    list_mark(&s, MESSAGE_LIST_END, KIND_POD);
    assert_int_equal(used_cpu(&s), 0);

    list_mark(&s, MESSAGE_LIST_BEGIN, KIND_NODE);
    event(&s, KIND_NODE, "ADDED",
          "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"uid\":\"n\"},"
          "\"status\":{\"allocatable\":3}}");
    list_mark(&s, MESSAGE_LIST_END, KIND_NODE);
    assert_int_equal(s.e.f.cluster.live_nodes, 1);
    event(&s, KIND_NODE, "DELETED",
          "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"uid\":\"n\"},"
          "\"status\":{\"allocatable\":3}}");
    assert_int_equal(s.e.f.cluster.live_nodes, 0);
    setup_release(&s);
}

/* %s: the spec, and the status. */
#define CLAIM_TEXT \
    "{\"kind\":\"ResourceClaim\",\"apiVersion\":\"resource.k8s.io/v1\",\"metadata\":{\"name\":\"c\"," \
    "\"namespace\":\"default\",\"uid\":\"c\",\"resourceVersion\":\"%d\"},\"spec\":{\"devices\":{" \
    "\"requests\":%s}},\"status\":{%s}}"
#define REQUEST "[{\"name\":\"r\",\"exactly\":{\"deviceClassName\":\"gpu\"}}]"
#define ALLOCATED(device) \
    "\"allocation\":{\"devices\":{\"results\":[{\"request\":\"r\",\"driver\":\"d\",\"pool\":\"p\"," \
    "\"device\":\"" device "\"}]}}"

static bool is_in_use(const struct setup *s, const char *device)
{
    return device_is_allocated(devices_use(&s->e.f.cluster, STR("d"), STR("p"), str_from(device)));
}

static bool is_readable(const struct setup *s)
{
    return !devices_claim(&s->e.f.cluster, STR("default"), STR("c"))->is_partial;
}

/* The devices of a claim are not given to others. */
static void test_partial_claims(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    list_mark(&s, MESSAGE_LIST_BEGIN, KIND_RESOURCE_CLAIM);
    event(&s, KIND_RESOURCE_CLAIM, "ADDED", CLAIM_TEXT, 10, "3", ALLOCATED("x"));
    list_mark(&s, MESSAGE_LIST_END, KIND_RESOURCE_CLAIM);
    assert_true(is_in_use(&s, "x"));
    assert_false(is_readable(&s));
    event(&s, KIND_RESOURCE_CLAIM, "MODIFIED", CLAIM_TEXT, 11, REQUEST, "");
    assert_false(is_in_use(&s, "x"));
    assert_true(is_readable(&s));
    /* It gets another one, and is complete: that stays. */
    event(&s, KIND_RESOURCE_CLAIM, "MODIFIED", CLAIM_TEXT, 12, "3", ALLOCATED("y"));
    assert_true(is_in_use(&s, "y"));
    assert_false(is_readable(&s));
    event(&s, KIND_RESOURCE_CLAIM, "MODIFIED", CLAIM_TEXT, 13, REQUEST, ALLOCATED("z"));
    event(&s, KIND_RESOURCE_CLAIM, "MODIFIED", CLAIM_TEXT, 14, "3", "");
    assert_true(is_in_use(&s, "z"));
    assert_true(is_readable(&s));
    event(&s, KIND_RESOURCE_CLAIM, "DELETED", CLAIM_TEXT, 15, "3", "");
    assert_false(is_in_use(&s, "z"));
    setup_release(&s);
}

/* A pod waits until its claim can be read. */
static void test_pod_of_a_partial_claim(void **state _unused_)
{
    struct setup s;
    struct decision decision;
    setup_init(&s);
    node(&s);
    event(&s, KIND_RESOURCE_CLAIM, "ADDED", CLAIM_TEXT, 10, "3", ALLOCATED("x"));
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 10, "",
          "\"resourceClaims\":[{\"name\":\"c\",\"resourceClaimName\":\"c\"}],", "1");
    assert_false(engine_step(&s.e.engine, s.e.now_ns,
                             &decision)); /* not even tried, as for a claim that is not there */
    event(&s, KIND_RESOURCE_CLAIM, "MODIFIED", CLAIM_TEXT, 11, REQUEST, ALLOCATED("x"));
    assert_true(engine_step(&s.e.engine, s.e.now_ns, &decision));
    assert_int_not_equal(decision.row, ROW_NONE);
    setup_release(&s);
}

/* Another object of the name: the known one is gone. */
static void test_partial_of_another_uid(void **state _unused_)
{
    struct setup s;
    setup_init(&s);
    node(&s);
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 10, "", ON_A, "1");
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 11, ",\"uid\":\"other\"", ON_A BROKEN, "2");
    assert_int_equal(used_cpu(&s), 2000);
    event(&s, KIND_POD, "MODIFIED", POD_TEXT, "p", 9, ",\"uid\":\"other\"", BROKEN, "2"); /* older */
    assert_int_equal(used_cpu(&s), 2000);
    event(&s, KIND_POD, "ADDED", POD_TEXT, "p", 12, ",\"uid\":\"third\"", BROKEN, "2");
    assert_int_equal(used_cpu(&s), 0);
    setup_release(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partial_pods),           cmocka_unit_test(test_partial_pod_is_not_scheduled),
        cmocka_unit_test(test_partial_in_list),        cmocka_unit_test(test_partial_claims),
        cmocka_unit_test(test_pod_of_a_partial_claim), cmocka_unit_test(test_partial_of_another_uid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
