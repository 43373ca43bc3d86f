/* The queue view of a running scheduler. */
#include "support/engine_fixture.h"

#include "debug/views.h"

#define SECOND INT64_C(1000000000)

static yyjson_doc *look(const struct engine_fixture *e, const char *only, size_t limit, int64_t now_ns)
{
    struct strbuf out = { 0 };
    struct view_filter filter = { .limit = limit };
    const char *slash = strchr(only, '/');
    if (slash) {
        filter.namespace = (struct str){ only, (uint32_t)(slash - only) };
        filter.name = str_from(slash + 1);
    }
    views_write_queue(&e->engine, &filter, now_ns, &out);
    yyjson_doc *doc = yyjson_read(out.text, out.len, 0);
    assert_non_null(doc);
    strbuf_release(&out);
    return doc;
}

static yyjson_val *at(yyjson_doc *doc, const char *pointer)
{
    yyjson_val *val = yyjson_doc_ptr_get(doc, pointer);
    if (!val)
        fail_msg("there is no %s", pointer);
    return val;
}

static void all_pods_are_shown_with_reasons(void **state)
{
    (void)state;
    struct engine_fixture e;
    struct status gate;
    struct error err;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND });
    fixture_load(&e.f, "{kind: Node, metadata: {name: node-1}, status: {allocatable: {cpu: 1, pods: 9}}}");
    engine_fixture_add(
        &e, "{kind: Pod, metadata: {name: big}, spec: {containers: [{resources: {requests: {cpu: 9}}}]}}");
    assert_true(engine_fixture_step(&e).row == ROW_NONE);
    engine_fixture_add(&e, "{kind: Pod, metadata: {name: fresh}}");
    fixture_load(&e.f, "{kind: Pod, metadata: {name: held}, spec: {schedulingGates: [{name: x}]}}");
    assert_int_equal(engine_add_pod(&e.engine, e.f.last_pod, e.now_ns, &gate, &err), 0);

    yyjson_doc *doc = look(&e, "", 10, 1060 * SECOND);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/active")), 1);
    assert_int_equal(yyjson_get_int(at(doc, "/counts/gated")), 1);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 3);
    assert_string_equal(yyjson_get_str(at(doc, "/pods/0/name")), "fresh");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/1/name")), "big");
    assert_string_equal(yyjson_get_str(at(doc, "/pods/1/rejectedBy/0")), "NodeResourcesFit");
    assert_int_equal(yyjson_get_int(at(doc, "/pods/1/attempts")), 1);
    assert_true(yyjson_get_num(at(doc, "/pods/1/seconds")) == 60);
    assert_string_equal(yyjson_get_str(at(doc, "/pods/2/gate")), "SchedulingGates");
    assert_int_equal(yyjson_get_int(at(doc, "/left")), 0);
    yyjson_doc_free(doc);

    static const struct {
        struct view_filter filter;
        const char *pod; /* the only pod, or NULL: none */
    } filters[] = {
        { { .queue = STR("gated"), .limit = 9 }, "held" },
        { { .plugin = STR("NodeResourcesFit"), .limit = 9 }, "big" },
        { { .plugin = STR("SchedulingGates"), .limit = 9 }, "held" },
        { { .queue = STR("active"), .namespace = STR("default"), .limit = 9 }, "fresh" },
        { { .namespace = STR("elsewhere"), .limit = 9 }, NULL },
        { { .queue = STR("gated"), .plugin = STR("NodeResourcesFit"), .limit = 9 }, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct strbuf out = { 0 };
        views_write_queue(&e.engine, &filters[i].filter, 1060 * SECOND, &out);
        doc = yyjson_read(out.text, out.len, 0);
        assert_int_equal(yyjson_arr_size(at(doc, "/pods")), filters[i].pod ? 1 : 0);
        if (filters[i].pod)
            assert_string_equal(yyjson_get_str(at(doc, "/pods/0/name")), filters[i].pod);
        assert_int_equal(yyjson_get_int(at(doc, "/counts/gated")), 1);
        yyjson_doc_free(doc);
        strbuf_release(&out);
    }

    doc = look(&e, "", 1, 1060 * SECOND);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 1);
    assert_int_equal(yyjson_get_int(at(doc, "/left")), 2);
    yyjson_doc_free(doc);

    doc = look(&e, "default/big", 10, 1060 * SECOND);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 1);
    bool found = false;
    size_t i, len;
    yyjson_val *wake;
    yyjson_arr_foreach(at(doc, "/pods/0/wakes"), i, len, wake)
        found |= strcmp(yyjson_get_str(yyjson_obj_get(wake, "event")), "NodeAdd") == 0;
    assert_true(found);
    yyjson_doc_free(doc);

    doc = look(&e, "default/nobody", 10, 1060 * SECOND);
    assert_int_equal(yyjson_arr_size(at(doc, "/pods")), 0);
    yyjson_doc_free(doc);
    engine_fixture_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_pods_are_shown_with_reasons) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
