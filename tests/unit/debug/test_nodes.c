/* The page of nodes of a running scheduler. */
#include "support/engine_fixture.h"

#include "debug/nodes.h"

static yyjson_doc *look(const struct engine_fixture *e, const char *node, const char *label)
{
    struct strbuf out = { 0 };
    const struct view_filter filter = { .node = str_from(node), .label = str_from(label) };
    nodes_write(nodes_gather(&e->engine, &filter, 0), &out);
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

static void begin(struct engine_fixture *e)
{
    engine_fixture_init(e, NULL, &(struct engine_options){ .seed = 1 });
    fixture_load(&e->f, "{kind: Node, metadata: {name: b, labels: {zone: east, disk: ssd}}, "
                        "spec: {unschedulable: true, taints: [{key: k, value: v, effect: NoSchedule}, "
                        "{key: bare, effect: NoExecute}]}, "
                        "status: {allocatable: {cpu: 2, pods: 9, example.com/gpu: 4}, "
                        "conditions: [{type: Ready, status: 'False'}]}}");
    fixture_load(&e->f,
                 "{kind: Node, metadata: {name: a, labels: {zone: west}}, "
                 "status: {allocatable: {cpu: 1, pods: 9}, conditions: [{type: Ready, status: 'True'}]}}");
    fixture_load(&e->f, "{kind: Node, metadata: {name: c}, status: {allocatable: {cpu: 1, pods: 9}}}");
    fixture_load(&e->f, "{kind: Pod, metadata: {name: p}, spec: {nodeName: a, priority: 7, containers: "
                        "[{resources: {requests: {cpu: 300m, memory: 1Ki}}}]}}");
    fixture_load(&e->f, "{kind: Pod, metadata: {name: elsewhere}, spec: {nodeName: not-there}}");
}

static void all_nodes_are_shown_with_what_is_requested(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e);
    yyjson_doc *doc = look(&e, "", "zone");
    assert_int_equal(yyjson_arr_size(at(doc, "/nodes")), 3);
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/0/name")), "a");
    assert_true(yyjson_is_true(at(doc, "/nodes/0/ready")));
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/0/labelValue")), "west");
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/requested/cpuMilli")), 300);
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/allocatable/cpuMilli")), 1000);
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/requested/pods")), 1);
    assert_null(yyjson_doc_ptr_get(doc, "/nodes/0/allocatable/example.com~1gpu"));
    assert_null(yyjson_doc_ptr_get(doc, "/nodes/0/pods"));

    assert_false(yyjson_get_bool(at(doc, "/nodes/1/ready")));
    assert_true(yyjson_get_bool(at(doc, "/nodes/1/unschedulable")));
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/1/taints/0")), "k=v:NoSchedule");
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/1/taints/1")), "bare:NoExecute");
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/1/allocatable/example.com~1gpu")), 4);
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/1/requested/example.com~1gpu")), 0);

    assert_true(yyjson_is_null(at(doc, "/nodes/2/ready")));
    assert_true(yyjson_is_null(at(doc, "/nodes/2/labelValue")));
    assert_string_equal(yyjson_get_str(at(doc, "/labels/0")), "disk");
    assert_string_equal(yyjson_get_str(at(doc, "/labels/1")), "zone");
    yyjson_doc_free(doc);
    engine_fixture_release(&e);
}

static void one_node_is_shown_with_its_pods_and_labels(void **state _unused_)
{
    struct engine_fixture e;
    begin(&e);
    yyjson_doc *doc = look(&e, "a", "");
    assert_int_equal(yyjson_arr_size(at(doc, "/nodes")), 1);
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/0/labels/zone")), "west");
    assert_int_equal(yyjson_arr_size(at(doc, "/nodes/0/pods")), 1);
    assert_string_equal(yyjson_get_str(at(doc, "/nodes/0/pods/0/name")), "p");
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/pods/0/priority")), 7);
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/pods/0/requests/cpuMilli")), 300);
    assert_int_equal(yyjson_get_int(at(doc, "/nodes/0/pods/0/requests/memory")), 1024);
    yyjson_doc_free(doc);

    doc = look(&e, "not-there", "");
    assert_int_equal(yyjson_arr_size(at(doc, "/nodes")), 0);
    yyjson_doc_free(doc);
    engine_fixture_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_are_shown_with_what_is_requested),
        cmocka_unit_test(one_node_is_shown_with_its_pods_and_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
