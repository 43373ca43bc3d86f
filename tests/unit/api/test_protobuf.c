/* Objects decoded from protobuf equal those from JSON, and malformed bytes give an error.
 *
 * data/ was written by Kubernetes v1.36, or by the release that a name ends with: for each kind NAME.pb and the same
 * object in NAME.json, a page of a list, a status, and a watch. */
#include "api/protobuf.h"
#include "api/resource_list.h"

#include <dirent.h>

#include "api/fields.h"
#include "support/protobuf_text.h"
#include "support/same.h"
#include "unit/api/decoded.h"

#define DATA "tests/unit/api/data/"

/* A file in its own allocation, so that a sanitizer detects a read past the end. */
static struct str load(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), DATA "%s", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s cannot be read", path);
    char *bytes = xmalloc(1 << 16);
    size_t len = fread(bytes, 1, 1 << 16, file);
    fclose(file);
    return (struct str){ xrealloc(bytes, len ? len : 1), (uint32_t)len };
}

static void unload(struct str bytes)
{
    free((char *)bytes.ptr);
}

static void must_decode(struct str bytes, enum string_home home, struct arena *arena, struct object *ret)
{
    struct error err = { 0 };
    if (object_decode_protobuf(bytes, home, arena, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void must_be_same(const struct object *a, const struct object *b, bool through_protobuf)
{
    struct same same = { .through_protobuf = through_protobuf };
    if (a->kind != b->kind || !str_eq(a->kind_name, b->kind_name))
        fail_msg("a " STR_FMT ", then a " STR_FMT, STR_ARG(a->kind_name), STR_ARG(b->kind_name));
    if (a->ptr && !same_struct(&same, api_kinds[a->kind].type, a->ptr, b->ptr))
        fail_msg(STR_FMT ": differs at%s", STR_ARG(a->kind_name), same.path.text);
    same_release(&same);
}

/* ---- data from Kubernetes ---- */

/* The same object from JSON, from protobuf, and from protobuf written by berth. */
static enum api_kind check_file(const char *name)
{
    char json_name[512];
    snprintf(json_name, sizeof(json_name), "%.*s.json", (int)(strlen(name) - 3), name);
    struct str json = load(json_name), bytes = load(name);
    char *text = strndup(json.ptr, json.len);
    struct decoded want;
    if (decode(&want, text) < 0)
        fail_msg("%s: %s", json_name, want.err.text);
    struct arena arena = { 0 };
    struct object copied, borrowed, again;
    struct str exact = bytes;
    must_decode(exact, STRINGS_COPIED, &arena, &copied);
    must_decode(exact, STRINGS_BORROWED, &arena, &borrowed);
    must_be_same(&want.object, &borrowed, true);
    assert_str(copied.api_version, strndupa(want.object.api_version.ptr, want.object.api_version.len));
    memset((char *)bytes.ptr, '?', bytes.len); /* copies must not refer to it */
    must_be_same(&want.object, &copied, true);
    if (copied.ptr) {
        struct strbuf out = { 0 };
        object_encode_protobuf(&copied, &out);
        must_decode(strbuf_slice(&out), STRINGS_BORROWED, &arena, &again);
        must_be_same(&copied, &again, false);
        strbuf_release(&out);
    }
    enum api_kind kind = copied.kind;
    arena_release(&arena);
    decoded_release(&want);
    free(text);
    unload(json);
    unload(bytes);
    return kind;
}

static void test_as_json(void **state)
{
    (void)state;
    uint32_t found[KIND_COUNT] = { 0 };
    DIR *dir = opendir(DATA);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        if (str_ends_with(str_from(entry->d_name), STR(".pb")))
            found[check_file(entry->d_name)]++;
    closedir(dir);
    found[KIND_NODE_METRICS] = found[KIND_POD_METRICS] = 1; /* samples are asked for as JSON */
    found[KIND_CLAIM_TEMPLATE] = 1;                         /* read from files alone */
    for (int kind = KIND_UNKNOWN; kind < KIND_EXTRA_FIRST; kind++)
        if (!found[kind])
            fail_msg("no data for " STR_FMT, STR_ARG(api_kinds[kind].kind));
}

/* A few fields by hand, independent of the comparison. */
static void test_pod(void **state)
{
    (void)state;
    struct str bytes = load("pod.pb");
    struct arena arena = { 0 };
    struct object object;
    must_decode(bytes, STRINGS_BORROWED, &arena, &object);
    assert_int_equal(object.kind, KIND_POD);
    const struct pod *pod = object.ptr;
    assert_ptr_equal(object.meta, &pod->meta);
    assert_str(pod->meta.name, "web-7c9b8-x7k2p");
    assert_int_equal(pod->meta.creation_time.seconds, 1730542273);
    assert_int_equal(pod->meta.labels.len, 3);
    assert_str(pod->meta.labels.items[1].key, "tier");
    assert_non_null(pod->meta.labels.items[1].value.ptr);
    assert_true(pod->spec.priority.set && pod->spec.priority.value == -10);
    assert_true(pod->spec.termination_grace_seconds.set && pod->spec.termination_grace_seconds.value == 0);
    assert_true(pod->spec.host_users.set && !pod->spec.host_users.value);
    assert_int_equal(pod->spec.containers.len, 2);
    const struct resource_list *requests = &pod->spec.containers.items[0].resources.requests;
    assert_int_equal(requests->len, 3);
    assert_str(requests->items[0].name, "cpu");
    assert_int_equal(requests->items[0].amount.nano, 250000000);
    assert_null(pod->spec.containers.items[0].restart_policy.ptr);
    assert_str(pod->spec.init_containers.items[0].restart_policy, "Always");
    const struct pvc_spec *claim = pod->spec.volumes.items[1].ephemeral->template->spec;
    assert_true(claim->storage_class_name.ptr && claim->storage_class_name.len == 0);
    assert_null(claim->volume_mode.ptr);
    assert_null(pod->spec.volumes.items[5].pvc);
    const struct affinity *affinity = pod->spec.affinity;
    assert_int_equal(affinity->node->required->terms.items[0].match_expressions.items[0].op, OP_GT);
    assert_true(affinity->node->preferred.items[0].preference.invalid);
    assert_false(affinity->pod->required.items[0].selector->invalid);
    assert_non_null(affinity->pod->required.items[0].namespace_selector);
    assert_true(affinity->pod_anti->preferred.items[0].term.selector->invalid);
    assert_null(affinity->pod_anti->preferred.items[0].term.namespace_selector);
    arena_release(&arena);
    unload(bytes);
}

static void test_list(void **state)
{
    (void)state;
    struct str bytes = load("podlist.list");
    struct object_list_protobuf list;
    struct error err = { 0 };
    struct arena arena = { 0 };
    struct object object;
    assert_int_equal(object_list_protobuf_init(&list, bytes, &err), 0);
    assert_int_equal(list.items_kind, KIND_POD);
    assert_str(list.kind_name, "PodList");
    assert_str(list.resource_version, "1234");
    assert_str(list.continue_token, "token");
    assert_true(list.remaining_count.set && list.remaining_count.value == 7);
    assert_int_equal(list.len, 3);
    static const char *const names[] = { "a", "b", "c" }, *const nodes[] = { "", "n1", "n2" };
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &arena, &object, &err), 1);
        assert_int_equal(object.kind, KIND_POD);
        assert_str(object.kind_name, "Pod");
        assert_str(object.api_version, "v1");
        assert_str(object.meta->name, names[i]);
        assert_str(((struct pod *)object.ptr)->spec.node_name, nodes[i]);
    }
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &arena, &object, &err), 0);
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &arena, &object, &err), 0);

    /* A truncated page has no items. (4 bytes of the envelope follow the list.) */
    for (uint32_t len = 0; len + 4 < bytes.len; len++) {
        assert_true(object_list_protobuf_init(&list, str_slice(bytes, 0, len), &err) < 0);
        assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &arena, &object, &err), 0);
    }
    struct str pod = load("pod.pb");
    assert_int_equal(object_list_protobuf_init(&list, pod, &err), -EINVAL);
    unload(pod);
    arena_release(&arena);
    unload(bytes);
}

static void test_status(void **state)
{
    (void)state;
    struct str bytes = load("busy.status");
    struct api_status status = { 0 };
    struct error err = { 0 };
    struct arena arena = { 0 };
    assert_int_equal(status_decode_protobuf(bytes, STRINGS_COPIED, &arena, &status, &err), 0);
    assert_str(status.status, "Failure");
    assert_str(status.message, "try again");
    assert_str(status.reason, "TooManyRequests");
    assert_int_equal(status.code, 429);
    assert_str(status.details.name, "n");
    assert_str(status.details.kind, "pods");
    assert_int_equal(status.details.retry_after_seconds, 3);
    assert_int_equal(status.details.causes.len, 1);
    assert_str(status.details.causes.items[0].type, "FieldValueInvalid");
    assert_str(status.details.causes.items[0].field, "spec.x");
    unload(bytes);
    bytes = load("lease.pb");
    assert_int_equal(status_decode_protobuf(bytes, STRINGS_COPIED, &arena, &status, &err), -EINVAL);
    arena_release(&arena);
    unload(bytes);
}

static void test_watch(void **state)
{
    (void)state;
    static const struct {
        enum watch_type type;
        const char *name;
    } want[] = { { WATCH_ADDED, "a" },
                 { WATCH_MODIFIED, "web-7c9b8-x7k2p" },
                 { WATCH_DELETED, "a" },
                 { WATCH_BOOKMARK, "" },
                 { WATCH_ERROR, NULL } };
    struct str bytes = load("pods.watch"), frame;
    struct protobuf_frames frames = { .bytes_max = WATCH_EVENT_BYTES_MAX };
    struct error err = { 0 };
    struct arena arena = { 0 };
    size_t count = 0;
    for (uint32_t at = 0; at < bytes.len; at += 7) { /* in pieces, as from a network */
        struct str piece = str_slice(bytes, at, at + 7);
        protobuf_frames_feed(&frames, piece.ptr, piece.len);
        while (protobuf_frames_next(&frames, &frame, &err) == 1) {
            struct watch_event event;
            if (watch_event_decode_protobuf(frame, STRINGS_COPIED, &arena, &event, &err) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(event.type, want[count].type);
            if (event.type == WATCH_ERROR) {
                assert_int_equal(event.status.code, 410);
                assert_str(event.status.reason, "Expired");
                assert_null(event.object.ptr);
            } else {
                assert_int_equal(event.object.kind, KIND_POD);
                assert_str(event.object.meta->name, want[count].name);
            }
            if (event.type == WATCH_BOOKMARK)
                assert_str(event.object.meta->resource_version, "999");
            count++;
        }
    }
    assert_int_equal(count, ARRAY_SIZE(want));
    assert_true(protobuf_frames_empty(&frames));
    protobuf_frames_release(&frames);
    arena_release(&arena);
    unload(bytes);
}

/* ---- data from other writers ---- */

struct written {
    struct strbuf bytes;
    struct arena arena;
    struct object object;
    struct error err;
};

static int read_back(struct written *ret, const char *api_version, const char *kind, const char *text)
{
    *ret = (struct written){ 0 };
    protobuf_text_object(&ret->bytes, api_version, kind, text);
    return object_decode_protobuf(strbuf_slice(&ret->bytes), STRINGS_COPIED, &ret->arena, &ret->object,
                                  &ret->err);
}

static void written_release(struct written *written)
{
    strbuf_release(&written->bytes);
    arena_release(&written->arena);
}

static void *must_read(struct written *ret, const char *api_version, const char *kind, const char *text)
{
    if (read_back(ret, api_version, kind, text) < 0)
        fail_msg("%s", ret->err.text);
    return ret->object.ptr;
}

/* Servers sort maps and write a list in one run. Others need not. */
static void test_order(void **state)
{
    (void)state;
    struct written w;
    const struct pod *pod =
        must_read(&w, "v1", "Pod",
                  "2{ 2{1\"c0\"} 2{1\"c1\"} 25=1 2{1\"c2\"} 10\"n\" 2{1\"c3\"} 2{1\"c4\"} 22{1\"t0\"} "
                  "99\"x\" 22{1\"t1\"} 25=2"
                  "   7{1\"z\" 2\"1\"} 7{1\"a\" 2\"2\"} 7{2\"3\" 1\"z\"} 7{1\"m\"} 7{1\"a\" 2\"4\"} 7{} }"
                  "1{ 11{1\"b\" 2\"2\"} 11{1\"b\" 2\"1\"} 14\"f0\" 1\"p\" 14\"\" 14\"f2\" 1\"q\" 1\"r\" "
                  "3\"ns\" 3\"\" }");
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(pod->spec.containers.items[i].name.ptr[1], '0' + i);
    assert_int_equal(pod->spec.containers.len, 5);
    assert_int_equal(pod->spec.tolerations.len, 2);
    assert_str(pod->spec.tolerations.items[1].key, "t1");
    assert_int_equal(pod->spec.priority.value, 2); /* the last one counts */
    static const char *const selector[][2] = { { "", "" }, { "a", "4" }, { "m", "" }, { "z", "3" } };
    assert_int_equal(pod->spec.node_selector.len, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_str(pod->spec.node_selector.items[i].key, selector[i][0]);
        assert_str(pod->spec.node_selector.items[i].value, selector[i][1]);
    }
    assert_int_equal(pod->meta.labels.len, 1);
    assert_str(pod->meta.labels.items[0].value, "1");
    assert_int_equal(pod->meta.finalizers.len, 3);
    assert_str(pod->meta.finalizers.items[2], "f2");
    assert_str(pod->meta.name, "r");
    assert_null(pod->meta.namespace.ptr);
    written_release(&w);
}

static void test_values(void **state)
{
    (void)state;
    struct written w;
    /* Times: seconds, microseconds, none, out of range. */
    const struct lease *lease =
        must_read(&w, "coordination.k8s.io/v1", "Lease",
                  "1{ 8{1=5 2=999999999} 9{} } 2{ 1\"\" 2=-15 3{1=-1 2=-1} 4{1=7 2=1234567} }");
    assert_true(lease->meta.creation_time.set);
    assert_int_equal(lease->meta.creation_time.seconds, 5);
    assert_int_equal(lease->meta.creation_time.nanos, 0);
    assert_false(lease->meta.deletion_time.set);
    assert_true(lease->spec.holder_identity.ptr && lease->spec.holder_identity.len == 0);
    assert_null(lease->spec.strategy.ptr);
    assert_int_equal(lease->spec.duration_seconds.value, -15);
    assert_int_equal(lease->spec.acquire_time.seconds, -1);
    assert_int_equal(lease->spec.acquire_time.nanos, 0);
    assert_int_equal(lease->spec.renew_time.nanos, 1234000);
    written_release(&w);
    lease = must_read(&w, "coordination.k8s.io/v1", "Lease",
                      "2{ 3{1=9223372036854775807 2=-2147483648} 4{1=-9223372036854775807} }");
    assert_int_equal(lease->spec.acquire_time.seconds, 253402300796);
    assert_int_equal(lease->spec.acquire_time.nanos, 852517000);
    assert_int_equal(lease->spec.renew_time.seconds, -62167219200);
    written_release(&w);
    /* 32-bit numbers are truncated, as in Go; a string or a number. */
    const struct pdb *pdb = must_read(
        &w, "policy/v1", "PodDisruptionBudget",
        "2{ 1{1=1 2=3 3\"50%\"} 3{1=0 2=3 3\"50%\"} } 3{ 3=4294967297 2{1\"b\" 2{1=1}} 2{1\"a\"} }");
    assert_str(pdb->min_available.text, "50%");
    assert_int_equal(pdb->min_available.number, 0);
    assert_null(pdb->max_unavailable.text.ptr);
    assert_int_equal(pdb->max_unavailable.number, 3);
    assert_int_equal(pdb->disruptions_allowed, 1);
    assert_str(pdb->disrupted_pods.items[0], "a");
    assert_str(pdb->disrupted_pods.items[1], "b");
    assert_null(pdb->selector);
    written_release(&w);
    /* An empty selector matches nothing in policy/v1beta1. */
    pdb = must_read(&w, "policy/v1beta1", "PodDisruptionBudget", "2{ 2{} }");
    assert_null(pdb->selector);
    written_release(&w);
    pdb = must_read(&w, "policy/v1", "PodDisruptionBudget", "2{ 2{} }");
    assert_non_null(pdb->selector);
    written_release(&w);
    assert_int_equal(read_back(&w, "example.com/v1", "Pod", "!"), 0);
    assert_int_equal(w.object.kind, KIND_UNKNOWN);
    assert_str(w.object.api_version, "example.com/v1");
    written_release(&w);
}

/* ---- malformed data ---- */

static void test_rejected(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "1=5", "Pod: metadata: expected bytes, got a number" },
        { "1{1\"p\"} 2{25\"x\"}", "Pod p: spec.priority: expected a number, got something else" },
        { "1{3\"ns\" 1\"p\"} 2{2{2=7}}", "Pod ns/p: spec.containers[0].image: expected bytes, got a number" },
        { "2{2{} 2{8{2{1\"cpu\" 2{1\"1x\"}}}}}",
          "Pod: spec.containers[1].resources.requests[cpu]: expected a quantity, got the string \"1x\"" },
        { "2{2{8{2{1\"cpu\" 2{1\"\"}}}}}",
          "Pod: spec.containers[0].resources.requests[cpu]: expected a quantity, got the string \"\"" },
        { "2{2{8{2{1\"cpu\" 2{1=1}}}}}",
          "Pod: spec.containers[0].resources.requests[cpu]: expected a quantity, got a number" },
        { "2{2{8{2{1\"cpu\" 2{!}}}}}",
          "Pod: spec.containers[0].resources.requests[cpu]: a group, which is not supported" },
        { "2{2{8{2{1\"a\x01\" 2{1\"?\"}}}}}",
          "Pod: spec.containers[0].resources.requests[a?]: expected a quantity, got the string \"?\"" },
        { "2{2{8{2{1=1}}}}",
          "Pod: spec.containers[0].resources.requests: expected a key and a value, got a number" },
        { "1{11{!}}", "Pod: metadata.labels: a group, which is not supported" },
        { "1{} 1{}", "Pod: metadata: comes twice" },
        { "2{18{} 18{}}", "Pod: spec.affinity: comes twice" },
        { "2{1{2{10{1\"c\"}} 2{}}}", "Pod: spec.volumes[0]: comes twice" },
        { "2{1{2{10{1=5}}}}",
          "Pod: spec.volumes[0].persistentVolumeClaim.claimName: expected bytes, got a number" },
        { "2{1{2=1}}", "Pod: spec.volumes[0]: expected bytes, got a number" },
        { "1{8{1\"x\"}}", "Pod: metadata.creationTimestamp: no protobuf message" },
        { "1{8{!}}", "Pod: metadata.creationTimestamp: a group, which is not supported" },
        { "!", "Pod: a group, which is not supported" },
        { "3{1\"Running\" !}", "Pod: status: a group, which is not supported" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct written w;
        w.object = (struct object){ 0 };
        if (read_back(&w, "v1", "Pod", cases[i].text) >= 0)
            fail_msg("%s: was taken", cases[i].text);
        assert_string_equal(w.err.text, cases[i].want);
        assert_true(w.object.is_partial);
        written_release(&w);
    }
    /* What can be read of it is. */
    struct written w;
    assert_true(
        read_back(
            &w, "v1", "Pod",
            "1{1\"p\" 3\"ns\" 5=1 6\"7\" 11{1\"a\" 2=1} 11{1\"b\" 2\"c\"}} 2{10\"node\" 2{1=1} 2{1\"c\" "
            "8{2{1\"cpu\" 2{1\"2\"}} 2{1\"memory\" 2{1\"?\"}} !}} 20=1}") < 0);
    const struct pod *pod = w.object.ptr;
    assert_str(pod->meta.name, "p");
    assert_str(pod->meta.namespace, "ns");
    assert_int_equal(pod->meta.uid.len, 0);
    assert_str(pod->meta.resource_version, "7");
    assert_int_equal(pod->meta.labels.len, 1);
    assert_str(pod->meta.labels.items[0].value, "c");
    assert_str(pod->spec.node_name, "node");
    assert_int_equal(pod->spec.containers.len, 2);
    const struct resource_list *requests = &pod->spec.containers.items[1].resources.requests;
    struct quantity cpu = resource_list_amount(requests, STR("cpu"));
    assert_int_equal(quantity_value(cpu), 2);
    written_release(&w);
}

static void test_envelope(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "1{1\"v1\"}", "expected apiVersion and kind, got no kind" },
        { "1{2\"Pod\"}", "expected apiVersion and kind, got no apiVersion" },
        { "2{}", "expected apiVersion and kind, got no kind" },
        { "1{1=1}", "typeMeta: no protobuf message" },
        { "1=1", "the envelope: no protobuf message" },
        { "1{1\"v1\" 2\"Pod\"} 3\"gzip\"", "the object is encoded once more, which is not supported" },
        { "1{1\"v1\" 2\"Pod\"} 4\"application/json\"",
          "the object is not protobuf inside, which is not supported" },
        { "1{1\"v1\" 2\"Pod\"} 3\"\"", "the envelope has no object" },
        { "1{1\"v1\" 2\"Pod\"} !", "the envelope: a group, which is not supported" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct written w = { 0 };
        strbuf_add(&w.bytes, "k8s", 4);
        protobuf_text_put(&w.bytes, cases[i].text);
        assert_true(
            object_decode_protobuf(strbuf_slice(&w.bytes), STRINGS_COPIED, &w.arena, &w.object, &w.err) < 0);
        assert_string_equal(w.err.text, cases[i].want);
        written_release(&w);
    }
    struct written w = { 0 };
    assert_int_equal(object_decode_protobuf(STR("{}"), STRINGS_COPIED, &w.arena, &w.object, &w.err),
                     -EBADMSG);
    assert_int_equal(object_decode_protobuf((struct str){ 0 }, STRINGS_COPIED, &w.arena, &w.object, NULL),
                     -EBADMSG);
    /* An empty message is an empty object. */
    strbuf_add(&w.bytes, "k8s", 4);
    protobuf_text_put(&w.bytes, "1{1\"v1\" 2\"Pod\"} 2{} 3\"\" 4\"application/vnd.kubernetes.protobuf\"");
    assert_int_equal(
        object_decode_protobuf(strbuf_slice(&w.bytes), STRINGS_COPIED, &w.arena, &w.object, &w.err), 0);
    assert_int_equal(w.object.kind, KIND_POD);
    assert_int_equal(w.object.meta->name.len, 0);
    written_release(&w);
}

/* A truncated object is rejected; with a changed byte it is accepted or rejected, and never crashes. */
static void test_damaged(void **state)
{
    (void)state;
    struct str bytes = load("pod.pb");
    struct rng rng = test_rng();
    struct arena arena = { 0 };
    for (uint32_t len = 0; len < bytes.len; len++) {
        char *exact = xmalloc(len ? len : 1);
        memcpy(exact, bytes.ptr, len);
        struct object object;
        struct error err = { 0 };
        int r = object_decode_protobuf((struct str){ exact, len }, STRINGS_COPIED, &arena, &object, &err);
        /* 4 bytes of the envelope follow the object, and are not needed. */
        if (r >= 0 ? len + 4 < bytes.len : !err.text[0])
            fail_msg("%u bytes: %d \"%s\"", len, r, err.text);
        free(exact);
    }
    for (int i = 0; i < 20000; i++) {
        uint64_t at = rng_below(&rng, bytes.len);
        char was = bytes.ptr[at];
        ((char *)bytes.ptr)[at] = (char)rng_next(&rng);
        struct object object;
        struct error err = { 0 };
        int r =
            object_decode_protobuf(bytes, i % 2 ? STRINGS_COPIED : STRINGS_BORROWED, &arena, &object, &err);
        assert_true(r == 0 || err.text[0]);
        assert_null(strchr(err.text, '\n'));
        ((char *)bytes.ptr)[at] = was;
        arena_reset(&arena);
    }
    arena_release(&arena);
    unload(bytes);
}

/* Two bytes may need a struct of hundreds of bytes, but not a million times. What comes before them is kept. */
static void check_greedy(const char *before, uint32_t kept)
{
    struct written w = { 0 };
    strbuf_add(&w.bytes, "k8s", 4);
    protobuf_text_put(&w.bytes, "1{1\"v1\" 2\"Pod\"}");
    size_t raw = protobuf_begin(&w.bytes, 2), spec = protobuf_begin(&w.bytes, 2);
    protobuf_text_put(&w.bytes, before);
    for (int i = 0; i < 1000000; i++)
        strbuf_add(&w.bytes, "\x12", 2); /* an empty container */
    protobuf_text_put(&w.bytes, "2{1\"last\"}");
    protobuf_end(&w.bytes, spec);
    protobuf_end(&w.bytes, raw);
    assert_int_equal(
        object_decode_protobuf(strbuf_slice(&w.bytes), STRINGS_COPIED, &w.arena, &w.object, &w.err), -EFBIG);
    assert_string_equal(w.err.text, "Pod: spec.containers: too much for an object of its size");
    assert_true(w.arena.total_bytes < 1 << 20);
    assert_true(w.object.is_partial);
    assert_int_equal(((const struct pod *)w.object.ptr)->spec.containers.len, kept);
    written_release(&w);
}

static void test_greedy(void **state _unused_)
{
    check_greedy("", 0);
    check_greedy("2{1\"a\"} 3\"Always\"", 1); /* the list was begun, and cannot grow */
}

/* An array is as long as the run of fields that follow. A field of another type that is passed over begins none. */
static void test_run_behind_a_bad_field(void **state _unused_)
{
    struct written w = { 0 };
    strbuf_add(&w.bytes, "k8s", 4);
    protobuf_text_put(&w.bytes, "1{1\"v1\" 2\"Pod\"}");
    size_t raw = protobuf_begin(&w.bytes, 2), spec = protobuf_begin(&w.bytes, 2);
    protobuf_text_put(&w.bytes, "2{1\"a\"} 3\"Always\" 2=7");
    for (int i = 0; i < 50; i++)
        protobuf_text_put(&w.bytes, "2{1\"b\"}");
    protobuf_text_put(&w.bytes, "6\"late\"");
    protobuf_end(&w.bytes, spec);
    protobuf_end(&w.bytes, raw);
    assert_int_equal(
        object_decode_protobuf(strbuf_slice(&w.bytes), STRINGS_COPIED, &w.arena, &w.object, &w.err), -EINVAL);
    const struct pod *pod = w.object.ptr;
    assert_int_equal(pod->spec.containers.len, 51);
    for (uint32_t i = 0; i < 51; i++)
        assert_str(pod->spec.containers.items[i].name, i ? "b" : "a");
    written_release(&w);
}

/* An item that cannot be decoded does not affect the others. */
static void test_bad_item(void **state)
{
    (void)state;
    struct written w = { 0 };
    struct object_list_protobuf list;
    protobuf_text_object(&w.bytes, "v1", "PodList",
                         "1{2\"5\"} 2{1{1\"a\"}} 2{1{1\"b\"} 2{25\"x\"}} 2{1{1\"c\"}} 9=1");
    assert_int_equal(object_list_protobuf_init(&list, strbuf_slice(&w.bytes), &w.err), 0);
    assert_int_equal(list.len, 3);
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &w.arena, &w.object, &w.err), 1);
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &w.arena, &w.object, &w.err), -EINVAL);
    assert_string_equal(w.err.text, "items[1]: Pod b: spec.priority: expected a number, got something else");
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &w.arena, &w.object, &w.err), 1);
    assert_str(w.object.meta->name, "c");
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &w.arena, &w.object, &w.err), 0);
    written_release(&w);

    static const char *const refused[] = { "2=1", "1=1", "1{2=1}", "1{4\"x\"}", "1{!}", "2{} !" };
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        w = (struct written){ 0 };
        protobuf_text_object(&w.bytes, "v1", "PodList", refused[i]);
        assert_true(object_list_protobuf_init(&list, strbuf_slice(&w.bytes), &w.err) < 0);
        assert_true(w.err.text[0]);
        written_release(&w);
    }
    w = (struct written){ 0 };
    protobuf_text_object(&w.bytes, "example.com/v1", "ThingList", "2{!}");
    assert_int_equal(object_list_protobuf_init(&list, strbuf_slice(&w.bytes), &w.err), 0);
    assert_int_equal(object_list_protobuf_next(&list, STRINGS_COPIED, &w.arena, &w.object, &w.err), 1);
    assert_int_equal(w.object.kind, KIND_UNKNOWN);
    written_release(&w);
}

static void test_bad_event(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "", "a watch event of no known type" },
        { "1\"SOMETHING\"", "a watch event of no known type" },
        { "1=1", "the watch event: no protobuf message" },
        { "1\"ADDED\" 2{1=1}", "the watch event: no protobuf message" },
        { "1\"ADDED\" 2{!}", "the watch event: a group, which is not supported" },
        { "1\"ADDED\" 2{1\"{}\"}", "not a Kubernetes object in protobuf: it does not begin with \"k8s\"" },
        { "1\"ERROR\"", "not a Kubernetes object in protobuf: it does not begin with \"k8s\"" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct written w = { 0 };
        struct watch_event event;
        protobuf_text_put(&w.bytes, cases[i].text);
        assert_true(watch_event_decode_protobuf(strbuf_slice(&w.bytes), STRINGS_COPIED, &w.arena, &event,
                                                &w.err) < 0);
        assert_string_equal(w.err.text, cases[i].want);
        written_release(&w);
    }
}

/* ---- writing ---- */

static void test_write(void **state)
{
    (void)state;
    struct binding binding = { .meta = { .name = STR("p"), .namespace = STR("ns"), .uid = STR("u") },
                               .target = { .kind = STR("Node"), .name = STR("n1") } };
    struct object object = { .kind = KIND_BINDING, .ptr = &binding, .meta = &binding.meta };
    struct strbuf out = { 0 }, want = { 0 };
    object_encode_protobuf(&object, &out);
    protobuf_text_object(&want, "v1", "Binding", "1{1\"p\" 3\"ns\" 5\"u\"} 2{1\"Node\" 3\"n1\"}");
    assert_true(str_eq(strbuf_slice(&out), strbuf_slice(&want)));

    /* A zero time is written; the Unix epoch means no time. */
    struct lease lease = { .meta = { .name = STR("l") },
                           .spec = { .holder_identity = STR(""),
                                     .duration_seconds = { true, 15 },
                                     .transitions = { true, 0 },
                                     .acquire_time = { true, 0, 0 },
                                     .renew_time = { true, 1730542273, 123456789 } } };
    object = (struct object){ .kind = KIND_LEASE, .ptr = &lease, .meta = &lease.meta };
    strbuf_clear(&out);
    strbuf_clear(&want);
    object_encode_protobuf(&object, &out);
    protobuf_text_object(&want, "coordination.k8s.io/v1", "Lease",
                         "1{1\"l\"} 2{1\"\" 2=15 3{1=0 2=0} 4{1=1730542273 2=123456000} 5=0}");
    assert_true(str_eq(strbuf_slice(&out), strbuf_slice(&want)));
    strbuf_release(&out);
    strbuf_release(&want);
}

/* Quantities are written as text without loss. */
static void test_write_quantities(void **state)
{
    (void)state;
    static const struct quantity amounts[] = {
        { 0, 0 },          { 1, 0 },  { 0, 1 },         { 5, 500000000 },  { -1, 500000000 },
        { -1, 999999999 }, { -3, 0 }, { INT64_MAX, 0 }, { -7, 250000000 }, { INT64_MIN + 1, 999999999 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
        struct quantity amount = amounts[i];
        struct csi_storage_capacity capacity = { .capacity = &amount };
        struct object object = { .kind = KIND_CSI_STORAGE_CAPACITY,
                                 .ptr = &capacity,
                                 .meta = &capacity.meta };
        struct written w = { 0 };
        object_encode_protobuf(&object, &w.bytes);
        must_decode(strbuf_slice(&w.bytes), STRINGS_BORROWED, &w.arena, &w.object);
        const struct csi_storage_capacity *got = w.object.ptr;
        assert_int_equal(quantity_cmp(*got->capacity, amount), 0);
        assert_null(got->maximum_volume_size);
        written_release(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_json),  cmocka_unit_test(test_pod),
        cmocka_unit_test(test_list),     cmocka_unit_test(test_status),
        cmocka_unit_test(test_watch),    cmocka_unit_test(test_order),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_envelope), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_greedy),   cmocka_unit_test(test_run_behind_a_bad_field),
        cmocka_unit_test(test_bad_item), cmocka_unit_test(test_bad_event),
        cmocka_unit_test(test_write),    cmocka_unit_test(test_write_quantities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
