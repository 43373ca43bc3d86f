/* The dump of SIGUSR2: the texts of kube-scheduler's cache debugger, and persistent differences. */
#include "support/engine_fixture.h"

#include "debug/cache_comparer.h"
#include "debug/dump.h"

#define SECOND INT64_C(1000000000)

static void check_text(struct strbuf *got, const char *want)
{
    assert_string_equal(got->text ? got->text : "", want);
    strbuf_release(got);
}

/* In the smallest steps, which must not change the text. */
static void show_nodes(const struct engine_fixture *e, struct strbuf *out)
{
    uint32_t row = 0;
    while (dump_nodes(&e->f.cluster, &row, 1, out))
        continue;
}

static void show_queue(struct engine_fixture *e, struct strbuf *summary, struct strbuf *pods)
{
    struct queue_dump all = { 0 };
    queue_dump_read(&all, &e->engine.queue);
    queue_dump_sort(&all, summary);
    while (queue_dump_write(&all, 1, pods))
        continue;
    queue_dump_release(&all, &e->f.cluster);
}

static void nodes_are_shown_as_in_kube_scheduler(void **state _unused_)
{
    struct engine_fixture e;
    struct strbuf out = { 0 };
    engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND });
    show_nodes(&e, &out);
    check_text(&out, "");
    fixture_load(&e.f,
                 "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 4, memory: 1Ki, pods: 9, "
                 "example.com/gpu: 2, hugepages-2Mi: 0, ephemeral-storage: 7, storage: 3}}}");
    fixture_load(
        &e.f, "{kind: Pod, metadata: {name: web, uid: u-1}, status: {phase: Running}, spec: {nodeName: n1, "
              "containers: [{resources: {requests: {cpu: 100m, memory: 10, example.com/gpu: 1}}}]}}");
    fixture_load(&e.f, "{kind: Pod, metadata: {name: vip, uid: u-2}, status: {phase: Pending, "
                       "nominatedNodeName: n1}}");
    show_nodes(&e, &out);
    check_text(&out,
               "Node name: n1\nDeleted: false\n"
               "Requested Resources: &{MilliCPU:100 Memory:10 EphemeralStorage:0 AllowedPodNumber:0 "
               "ScalarResources:map[example.com/gpu:1]}\n"
               "Allocatable Resources:&{MilliCPU:4000 Memory:1024 EphemeralStorage:7 AllowedPodNumber:9 "
               "ScalarResources:map[example.com/gpu:2 hugepages-2Mi:0]}\n"
               "Scheduled Pods(number: 1):\n"
               "name: web, namespace: default, uid: u-1, phase: Running, nominated node: \n"
               "Nominated Pods(number: 1):\n"
               "name: vip, namespace: default, uid: u-2, phase: Pending, nominated node: n1\n");
    cluster_remove_node(&e.f.cluster, STR("n1"));
    fixture_load(&e.f, "{kind: Node, metadata: {name: n2}}");
    show_nodes(&e, &out);
    assert_non_null(strstr(out.text, "Node name: n1\nDeleted: true\n"));
    assert_non_null(strstr(out.text, "\n\n\nNode name: n2\nDeleted: false\n"));
    strbuf_release(&out);
    engine_fixture_release(&e);
}

static void the_queue_is_shown_by_its_three_parts(void **state _unused_)
{
    struct engine_fixture e;
    struct strbuf summary = { 0 }, pods = { 0 };
    struct status gate;
    struct error err;
    engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND });
    e.f.cluster.features.release = release_of(36);
    show_queue(&e, &summary, &pods);
    check_text(&summary, "activeQ:0; backoffQ:0; unschedulablePods:0");
    check_text(&pods, "");
    e.f.cluster.features.release = release_of(37);
    show_queue(&e, &summary, &pods);
    check_text(&summary, "activeQ:0; backoffQ:0; unschedulableEntities:0");
    fixture_load(&e.f, "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 9}}}");
    engine_fixture_add(&e, "{kind: Pod, metadata: {name: big, uid: u-1}, spec: {containers: [{resources: "
                           "{requests: {cpu: 9}}}]}}");
    assert_true(engine_fixture_step(&e).row == ROW_NONE);
    fixture_load(&e.f, "{kind: Pod, metadata: {name: held, uid: u-2}, spec: {schedulingGates: [{name: x}]}}");
    assert_int_equal(engine_add_pod(&e.engine, e.f.last_pod, e.now_ns, &gate, &err), 0);
    engine_fixture_add(&e, "{kind: Pod, metadata: {name: fresh, uid: u-3}, status: {phase: Pending}}");
    show_queue(&e, &summary, &pods);
    check_text(&summary, "activeQ:1; backoffQ:0; unschedulableEntities:2");
    check_text(&pods, "name: fresh, namespace: default, uid: u-3, phase: Pending, nominated node: \n"
                      "name: big, namespace: default, uid: u-1, phase: , nominated node: \n"
                      "name: held, namespace: default, uid: u-2, phase: , nominated node: \n");
    engine_fixture_release(&e);
}

/* Words, separated by spaces. */
static text_vec words(const char *text)
{
    text_vec list = { 0 };
    for (struct str rest = str_from(text); rest.len;) {
        ptrdiff_t space = str_find(rest, ' ');
        size_t len = space < 0 ? rest.len : (size_t)space;
        *vec_push(&list) = str_slice(rest, 0, len);
        rest = str_slice(rest, MIN(len + 1, (size_t)rest.len), rest.len);
    }
    return list;
}

static void check_words(const text_vec *list, const char *want)
{
    struct strbuf got = { 0 };
    vec_for(list, text)
        strbuf_printf(&got, "%s" STR_FMT, got.len ? " " : "", STR_ARG(*text));
    check_text(&got, want);
}

/* What one comparison sees. A pod with a colon waits for the scheduler that is named after it. */
struct sight {
    const char *listed_nodes, *held_nodes, *listed_pods, *held_pods;
};

static void see(struct mismatch *mismatch, bool is_first, const struct sight *sight)
{
    struct compared listed = { .lists = { [COMPARED_NODES] = words(sight->listed_nodes) } };
    struct compared held = {
        .lists = { [COMPARED_NODES] = words(sight->held_nodes), [COMPARED_PODS] = words(sight->held_pods) },
        .schedulers = words("ours also-ours")
    };
    text_vec pods = words(sight->listed_pods);
    vec_for(&pods, text) {
        ptrdiff_t colon = str_find(*text, ':');
        struct pod pod = { .meta.uid = colon < 0 ? *text : str_slice(*text, 0, (size_t)colon) };
        if (colon < 0)
            pod.spec.node_name = STR("n");
        else
            pod.spec.scheduler_name = str_slice(*text, (size_t)colon + 1, text->len);
        listed_add(&listed, &held, &(struct object){ .kind = KIND_POD, .ptr = &pod, .meta = &pod.meta });
    }
    mismatch_look(mismatch, is_first, &listed, &held);
    vec_release(&pods);
    compared_release(&listed);
    compared_release(&held);
}

static void only_persistent_differences_count(void **state _unused_)
{
    static const struct {
        const char *name;
        struct sight sights[COMPARE_LOOKS]; /* up to the first one without nodes */
        const char *missed_nodes, *redundant_nodes, *missed_pods, *redundant_pods;
    } cases[] = {
        { "all is well", { { "a b", "b a", "1 2", "2 1" } }, "", "", "", "" },
        { "the model is empty", { { "b a", "", "2 1", "" } }, "a b", "", "1 2", "" },
        { "the API server is empty", { { "", "b a", "", "2 1" } }, "", "a b", "", "1 2" },
        { "pods of others", { { "a", "a", "1 2:theirs 3:ours 4:also-ours", "1 3" } }, "", "", "4", "" },
        { "in flight",
          { { "a b", "a", "1 2 3", "1 4" }, { "a b", "a b", "1 2 3", "1 2 3 5" } },
          "",
          "",
          "",
          "" },
        { "one stays, three times seen",
          { { "a b", "a c", "1 2 3", "1 4 5" },
            { "a b", "a c", "1 2 6", "1 4" },
            { "a b", "a", "2", "4 7" } },
          "b",
          "",
          "2",
          "4" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct mismatch mismatch = { 0 };
        print_message("%s\n", cases[i].name);
        for (int k = 0; k < COMPARE_LOOKS && cases[i].sights[k].listed_nodes; k++)
            see(&mismatch, k == 0, &cases[i].sights[k]);
        check_words(&mismatch.missed[COMPARED_NODES], cases[i].missed_nodes);
        check_words(&mismatch.redundant[COMPARED_NODES], cases[i].redundant_nodes);
        check_words(&mismatch.missed[COMPARED_PODS], cases[i].missed_pods);
        check_words(&mismatch.redundant[COMPARED_PODS], cases[i].redundant_pods);
        bool is_empty = !*cases[i].missed_nodes && !*cases[i].redundant_nodes && !*cases[i].missed_pods &&
                        !*cases[i].redundant_pods;
        assert_int_equal(mismatch_is_empty(&mismatch), is_empty);
        mismatch_release(&mismatch);
    }
}

static void the_model_lists_its_contents(void **state _unused_)
{
    struct engine_fixture e;
    struct compared held = { 0 };
    text_vec *pods = &held.lists[COMPARED_PODS];
    engine_fixture_init(&e, NULL, &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND });
    fixture_load(&e.f, "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 9}}}");
    fixture_load(&e.f, "{kind: Pod, metadata: {name: web, uid: u-1}, spec: {nodeName: n1}}");
    fixture_load(&e.f, "{kind: Pod, metadata: {name: lost, uid: u-2}, spec: {nodeName: n2}}");
    engine_fixture_add(&e, "{kind: Pod, metadata: {name: fresh, uid: u-3}}");
    while (held_read(&held, &e.engine, 1))
        continue;
    qsort(pods->items, pods->len, sizeof(*pods->items), str_qsort_cmp);
    check_words(&held.lists[COMPARED_NODES], "n1 n2");
    check_words(pods, "u-1 u-2 u-3");
    check_words(&held.schedulers, "default-scheduler");
    compared_release(&held);
    engine_fixture_release(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_shown_as_in_kube_scheduler),
        cmocka_unit_test(the_queue_is_shown_by_its_three_parts),
        cmocka_unit_test(only_persistent_differences_count),
        cmocka_unit_test(the_model_lists_its_contents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
