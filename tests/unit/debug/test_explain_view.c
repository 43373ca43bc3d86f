/* The explain view of a running scheduler: a waiting pod, a placed pod, a gated pod and an unknown pod. */
#include "support/engine_fixture.h"

#include "debug/explain_view.h"
#include "engine/account.h"
#include "observe/observer.h"

#define SECOND INT64_C(1000000000)

struct setup {
    struct engine_fixture e;
    struct attempts *attempts;
    struct explain_source source;
    struct strbuf out;
    yyjson_doc *doc;
};

static void begin(struct setup *a, const char *nodes)
{
    *a = (struct setup){ 0 };
    engine_fixture_init(&a->e, NULL,
                        &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND, .ranks = true });
    a->attempts = attempts_new(&a->e.f.cluster);
    a->source = (struct explain_source){ &a->e.engine, a->attempts, NULL, NULL };
    fixture_load(&a->e.f, nodes);
}

static void end(struct setup *a)
{
    attempts_free(a->attempts);
    yyjson_doc_free(a->doc);
    strbuf_release(&a->out);
    engine_fixture_release(&a->e);
}

static void step(struct setup *a)
{
    struct decision decision = engine_fixture_step(&a->e);
    attempts_decision(a->attempts, &decision, a->e.now_ns, 5000);
}

static int explain(struct setup *a, const char *name, bool table)
{
    strbuf_clear(&a->out);
    yyjson_doc_free(a->doc);
    a->doc = NULL;
    int r = explain_view_write(&a->source,
                               &(struct explain_request){ STR("default"), str_from(name), .table = table,
                                                          .timing = true, .top = 20, .width = 100 },
                               1060 * SECOND, &a->out);
    if (r == 0 && !table) {
        a->doc = yyjson_read(a->out.text, a->out.len, 0);
        assert_non_null(a->doc);
    }
    return r;
}

static yyjson_val *at(struct setup *a, const char *pointer)
{
    yyjson_val *val = yyjson_doc_ptr_get(a->doc, pointer);
    if (!val)
        fail_msg("there is no %s in %s", pointer, a->out.text);
    return val;
}

static const char *text_at(struct setup *a, const char *pointer)
{
    return yyjson_get_str(at(a, pointer));
}

/* A member of a node of the explanation of now. */
static yyjson_val *of_node(struct setup *a, const char *name, const char *member)
{
    size_t i, len;
    yyjson_val *node;
    yyjson_arr_foreach(at(a, "/now/nodes"), i, len, node)
        if (yyjson_equals_str(yyjson_obj_get(node, "name"), name))
            return yyjson_obj_get(node, member);
    fail_msg("there is no node %s in %s", name, a->out.text);
    return NULL;
}

static void assert_contains(struct setup *a, const char *text)
{
    if (!strstr(a->out.text, text))
        fail_msg("\"%s\" is not in:\n%s", text, a->out.text);
}

#define TWO_NODES \
    "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 2, pods: 9}}}\n---\n" \
    "{kind: Node, metadata: {name: b}, spec: {unschedulable: true}, status: {allocatable: {cpu: 9, pods: " \
    "9}}}"

static void a_waiting_pod(void **state)
{
    (void)state;
    struct setup a;
    begin(&a, TWO_NODES);
    engine_fixture_add(
        &a.e, "{kind: Pod, metadata: {name: big}, spec: {containers: [{resources: {requests: {cpu: 9}}}]}}");
    step(&a);
    assert_int_equal(explain(&a, "big", false), 0);
    assert_string_equal(text_at(&a, "/state"), "queued");
    assert_string_equal(text_at(&a, "/queue/queue"), "unschedulable");
    assert_true(yyjson_arr_size(at(&a, "/queue/wakes")) > 0);
    assert_string_equal(text_at(&a, "/attempts/0/outcome"), "unschedulable");
    int64_t number = yyjson_get_int(at(&a, "/attempts/0/nodes/a"));
    char path[64];
    snprintf(path, sizeof(path), "/attempts/0/verdicts/%lld/reasons/0", (long long)number);
    assert_string_equal(text_at(&a, path), "Insufficient cpu");
    assert_string_equal(yyjson_get_str(of_node(&a, "a", "plugin")), "NodeResourcesFit");
    assert_string_equal(yyjson_get_str(of_node(&a, "b", "plugin")), "NodeUnschedulable");
    assert_true(yyjson_arr_size(at(&a, "/now/cost/plugins")) > 3);
    assert_string_equal(text_at(&a, "/kind"), "LiveExplanation");
    assert_string_equal(text_at(&a, "/pod/name"), "big");
    assert_false(yyjson_get_bool(at(&a, "/now/asIfPending")));
    assert_true(yyjson_is_null(at(&a, "/binding")) && yyjson_is_null(at(&a, "/node")));

    assert_int_equal(explain(&a, "big", true), 0);
    assert_contains(&a, "default/big  priority 0, scheduler default-scheduler");
    assert_contains(
        &a, "It waits in the queue: unschedulable for 60s, after 1 attempt, rejected by NodeResourcesFit "
            "NodeUnschedulable.");
    assert_contains(&a, "NodeAdd");
    assert_contains(&a, "No node can take it:");
    assert_contains(&a, "Insufficient cpu");
    end(&a);
}

/* No plugin of its own rejects b: PreFilter left it out. */
static void a_node_that_was_left_out(void **state)
{
    (void)state;
    struct setup a;
    begin(&a, TWO_NODES);
    struct pod_info *pod = engine_fixture_add(
        &a.e, "{kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: 9}}}], "
              "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
              "[{matchFields: [{key: metadata.name, operator: In, values: [a]}]}]}}}}}");
    step(&a);
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "1  NodeAffinity      node affinity wants metadata.name In (a), it has b");
    engine_remove_pod(&a.e.engine, pod, a.e.now_ns);
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "1  PreFilter         node(s) didn't satisfy plugin(s) [NodeAffinity]");
    end(&a);
}

/* Every plugin answers about one node, in JSON and as a table. */
static void one_node(void **state)
{
    (void)state;
    struct setup a;
    struct explain_request request = { STR("default"), STR("big"), .node = STR("b"), .top = 20 };
    begin(&a, TWO_NODES);
    engine_fixture_add(
        &a.e, "{kind: Pod, metadata: {name: big}, spec: {containers: [{resources: {requests: {cpu: 10}}}]}}");
    assert_int_equal(explain_view_write(&a.source, &request, a.e.now_ns, &a.out), 0);
    a.doc = yyjson_read(a.out.text, a.out.len, 0);
    assert_string_equal(text_at(&a, "/now/node/name"), "b");
    size_t i, len, rejecting = 0;
    yyjson_val *answer;
    yyjson_arr_foreach(at(&a, "/now/node/filters"), i, len, answer) {
        const char *status = yyjson_get_str(yyjson_obj_get(answer, "status"));
        rejecting += strcmp(status, "Success") != 0 && strcmp(status, "Skip") != 0;
    }
    assert_int_equal(rejecting, 2);
    strbuf_clear(&a.out);
    request.table = true;
    request.width = 100;
    assert_int_equal(explain_view_write(&a.source, &request, a.e.now_ns, &a.out), 0);
    assert_contains(&a, "b cannot take it: 2 of ");
    assert_contains(&a, "Insufficient cpu: needs 10, has 9 of 9 free");
    strbuf_clear(&a.out);
    request.node = STR("c");
    assert_int_equal(explain_view_write(&a.source, &request, a.e.now_ns, &a.out), -ENOENT);
    assert_string_equal(a.out.text, "the scheduler knows no node c\n");
    end(&a);
}

static void a_placed_pod(void **state)
{
    (void)state;
    struct setup a;
    begin(&a, TWO_NODES "\n---\n{kind: Node, metadata: {name: c}, status: {allocatable: {cpu: 1, pods: 9}}}");
    struct pod_info *pod = engine_fixture_add(
        &a.e, "{kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: 2}}}]}}");
    step(&a);
    uint32_t row = pod->row;
    uint64_t rng = a.e.engine.rng.state[0];
    assert_int_equal(explain(&a, "p", false), 0);
    assert_string_equal(text_at(&a, "/state"), "bound");
    assert_string_equal(text_at(&a, "/node"), "a");
    assert_string_equal(text_at(&a, "/attempts/0/outcome"), "placed");
    assert_string_equal(text_at(&a, "/attempts/0/node"), "a");
    assert_true(yyjson_get_bool(at(&a, "/now/asIfPending")));
    assert_true(yyjson_get_bool(of_node(&a, "a", "feasible"))); /* its own requests are not counted */
    assert_false(yyjson_get_bool(of_node(&a, "c", "feasible")));
    assert_string_equal(yyjson_get_str(of_node(&a, "c", "plugin")), "NodeResourcesFit");
    assert_int_equal(pod->row, row);
    assert_int_equal(a.e.f.cluster.col.used[RES_CPU][row], 2000);
    assert_int_equal(a.e.engine.rng.state[0], rng);
    assert_int_equal(a.e.engine.stats.decisions[PATH_PLAIN] + a.e.engine.stats.decisions[PATH_SCAN] +
                         a.e.engine.stats.decisions[PATH_INDEX],
                     1);
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "It is on a.");
    assert_contains(&a, "as if it had no node yet");
    end(&a);
}

/* The scores of the k-th best node, then and now. */
static void assert_same_scores(struct setup *a, int k, bool same)
{
    char path[64];
    snprintf(path, sizeof(path), "/attempts/0/best/%d", k);
    yyjson_val *then = at(a, path);
    const char *name = yyjson_get_str(yyjson_obj_get(then, "node"));
    yyjson_val *key, *value;
    size_t i, max;
    int64_t total = yyjson_get_int(yyjson_obj_get(then, "total")), sum = 0;
    assert_true((total == yyjson_get_int(of_node(a, name, "total"))) == same);
    yyjson_obj_foreach(yyjson_obj_get(then, "scores"), i, max, key, value) {
        yyjson_val *other = yyjson_obj_get(of_node(a, name, "scores"), yyjson_get_str(key));
        if (same) /* a plugin that skips the pod is not listed now */
            assert_int_equal(yyjson_get_int(value), yyjson_get_int(other));
        sum += yyjson_get_int(value);
    }
    assert_int_equal(sum, total);
}

static void recorded_scores_do_not_change(void **state)
{
    (void)state;
    static const char *const nodes[] = { "4", "8", "9", "16", "32" };
    struct setup a;
    struct strbuf text = { 0 };
    begin(&a, "");
    for (size_t i = 0; i < ARRAY_SIZE(nodes); i++)
        strbuf_printf(&text,
                      "---\n{kind: Node, metadata: {name: n%s}, status: {allocatable: {cpu: %s, pods: 9}}}\n",
                      nodes[i], nodes[i]);
    fixture_load(&a.e.f, text.text);
    engine_fixture_add(
        &a.e, "{kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: 2}}}]}}");
    step(&a);
    assert_int_equal(explain(&a, "p", false), 0);
    assert_int_equal(yyjson_arr_size(at(&a, "/attempts/0/best")), RANKING_MAX);
    assert_string_equal(text_at(&a, "/attempts/0/best/0/node"), "n32");
    assert_string_equal(text_at(&a, "/attempts/0/best/1/node"), "n16");
    for (int k = 0; k < RANKING_MAX; k++)
        assert_same_scores(&a, k, true);
    fixture_load(&a.e.f,
                 "{kind: Pod, metadata: {name: later}, spec: {nodeName: n32, containers: [{resources: "
                 "{requests: {cpu: 20}}}]}}");
    assert_int_equal(explain(&a, "p", false), 0);
    assert_same_scores(&a, 0, false);
    assert_same_scores(&a, 1, true);
    cluster_remove_node(&a.e.f.cluster, STR("n16"));
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "The scores 60s ago, of the node that was chosen and the best others:\n"
                        "  NODE                 TOTAL  TAINTS  FIT  BALANCED\n");
    assert_contains(&a, "  a node that is gone");
    strbuf_release(&text);
    end(&a);
}

static void other_pods(void **state)
{
    (void)state;
    struct setup a;
    struct status gate;
    struct error err;
    begin(&a, TWO_NODES);
    assert_int_equal(explain(&a, "nobody", false), -ENOENT);
    assert_string_equal(
        a.out.text,
        "the scheduler knows no pod default/nobody: there is none, or it waits for another scheduler\n");

    fixture_load(&a.e.f, "{kind: Pod, metadata: {name: held}, spec: {schedulingGates: [{name: x}]}}");
    assert_int_equal(engine_add_pod(&a.e.engine, a.e.f.last_pod, a.e.now_ns, &gate, &err), 0);
    assert_int_equal(explain(&a, "held", true), 0);
    assert_contains(&a, "gated for 60s, after 0 attempts, held back by SchedulingGates");
    assert_contains(&a, "No attempt of it is remembered.");
    assert_contains(&a, "It is held back");
    assert_int_equal(explain(&a, "held", false), 0);
    assert_string_equal(text_at(&a, "/queue/gate"), "SchedulingGates");
    assert_string_equal(text_at(&a, "/now/best/0"), "a");

    fixture_load(&a.e.f, "{kind: Pod, metadata: {name: foreign}, spec: {schedulerName: other}}");
    assert_int_equal(explain(&a, "foreign", false), 0);
    assert_string_equal(text_at(&a, "/state"), "other scheduler");
    assert_string_equal(text_at(&a, "/notNow"), "it belongs to another scheduler");

    struct pod_info *pod = engine_fixture_add(&a.e, "{kind: Pod, metadata: {name: brief}}");
    step(&a);
    engine_remove_pod(&a.e.engine, pod, a.e.now_ns);
    assert_int_equal(explain(&a, "brief", false), 0);
    assert_string_equal(text_at(&a, "/state"), "gone");
    assert_string_equal(text_at(&a, "/attempts/0/outcome"), "placed");
    end(&a);
}

/* A plugin from a shared object is named, and not called at PostFilter. */
static unsigned post_filters;

static struct status post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                                 struct post_filter_result *ret)
{
    (void)cycle, (void)diagnosis, (void)ret;
    post_filters++;
    return reject(STATUS_UNSCHEDULABLE, "no");
}

static struct status filter(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    return reject(STATUS_UNSCHEDULABLE, "never");
}

static const struct plugin loaded = {
    .name = "Loaded", .doc = "From a file.", .filter = filter, .post_filter = post_filter
};

static const char *file_of(const struct plugin *plugin)
{
    return plugin == &loaded ? "/plugins/loaded.so" : NULL;
}

static void loaded_plugins_are_named_and_not_called(void **state)
{
    (void)state;
    struct setup a = { 0 };
    const struct plugin *all[PLUGINS_MAX];
    uint32_t len = 0;
    for (; len < builtin_plugins.len; len++)
        all[len] = builtin_plugins.items[len];
    all[len++] = &loaded;
    struct registry registry = { all, len };
    engine_fixture_init(
        &a.e,
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Loaded}]}, postFilter: {enabled: [{name: "
        "Loaded}], disabled: [{name: '*'}]}}}]\n",
        &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND, .registry = &registry });
    a.source = (struct explain_source){ &a.e.engine, NULL, file_of, NULL };
    fixture_load(&a.e.f, TWO_NODES);
    engine_fixture_add(&a.e, "{kind: Pod, metadata: {name: p}}");
    engine_fixture_step(&a.e);
    assert_int_equal(post_filters, 1);
    assert_int_equal(explain(&a, "p", false), 0);
    assert_int_equal(post_filters, 1);
    assert_string_equal(text_at(&a, "/now/notAsked"), "Loaded");
    assert_int_equal(yyjson_arr_size(at(&a, "/attempts")), 0);
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "/plugins/loaded.so");
    assert_contains(&a, "Loaded has a say in that too");
    end(&a);
}

/* A plugin from a shared object may be slow: it is called for as many nodes as in a decision, not for all. */
static unsigned filters;

static struct status count_and_accept(struct cycle *cycle, struct node_view node)
{
    (void)cycle, (void)node;
    filters++;
    return STATUS_OK;
}

static const struct plugin slow = { .name = "Slow", .doc = "From a file.", .filter = count_and_accept };

static const char *file_of_slow(const struct plugin *plugin)
{
    return plugin == &slow ? "/plugins/slow.so" : NULL;
}

static void slow_plugins_are_called_as_in_a_decision(void **state)
{
    (void)state;
    enum { NODES = 300, ENOUGH = NODES * (50 - NODES / 125) / 100 };
    struct setup a = { 0 };
    char text[128];
    const struct plugin *all[PLUGINS_MAX];
    memcpy(all, builtin_plugins.items, builtin_plugins.len * sizeof(*all));
    all[builtin_plugins.len] = &slow;
    struct registry registry = { all, builtin_plugins.len + 1 };
    engine_fixture_init(
        &a.e,
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{plugins: {filter: {enabled: [{name: Slow}]}}}]\n",
        &(struct engine_options){ .seed = 1, .now_ns = 1000 * SECOND, .registry = &registry });
    a.source = (struct explain_source){ &a.e.engine, NULL, file_of_slow, NULL };
    for (int i = 0; i < NODES; i++) {
        snprintf(text, sizeof(text),
                 "{kind: Node, metadata: {name: n%03d}, status: {allocatable: {cpu: 2, pods: 9}}}", i);
        fixture_load(&a.e.f, text);
    }
    engine_fixture_add(&a.e, "{kind: Pod, metadata: {name: p}}");
    assert_int_equal(explain(&a, "p", false), 0);
    assert_int_equal(filters, ENOUGH);
    assert_true(yyjson_get_bool(at(&a, "/now/limited")));
    size_t feasible = 0, not_evaluated = 0, i, len;
    yyjson_val *node;
    yyjson_arr_foreach(at(&a, "/now/nodes"), i, len, node) {
        feasible += yyjson_get_bool(yyjson_obj_get(node, "feasible"));
        not_evaluated += yyjson_is_null(yyjson_obj_get(node, "feasible"));
    }
    assert_int_equal(feasible, ENOUGH);
    assert_int_equal(not_evaluated, NODES - ENOUGH);
    assert_int_equal(explain(&a, "p", true), 0);
    assert_contains(&a, "asked about as many nodes as for a decision");
    assert_contains(&a, "No plugin examined 156 other nodes");
    end(&a);
}

/* The sampled durations of plugins are shown beside those of the explanation, which is not counted itself. */
static void durations_of_plugins(void **state)
{
    (void)state;
    enum { DECISIONS = 300 }; /* a tenth of them is sampled */
    struct setup a;
    char *argv[] = { (char *)(uintptr_t)"x" }, text[128];
    struct scheduler_flags flags;
    struct features features;
    struct error err;
    assert_int_equal(flags_parse(&flags, 1, argv, &err), 0);
    assert_int_equal(flags_check(&flags, &features, NULL, &err), 0);
    struct metrics *metrics = families_new(&flags, &features, &err);
    struct observer *observer = observer_new(metrics, &features);
    flags_release(&flags);
    begin(&a, "{kind: Node, metadata: {name: a}, status: {allocatable: {cpu: 2, pods: 999}}}");
    engine_watch(&a.e.engine, observer_probe(observer));
    for (int i = 0; i < DECISIONS; i++) {
        snprintf(text, sizeof(text), "{kind: Pod, metadata: {name: p%d}}", i);
        engine_fixture_add(&a.e, text);
        step(&a);
    }
    assert_int_equal(explain(&a, "p7", false), 0);
    double sum = 0;
    size_t i, len, sampled = 0;
    yyjson_val *plugin;
    yyjson_arr_foreach(at(&a, "/now/cost/plugins"), i, len, plugin) {
        yyjson_val *so_far = yyjson_obj_get(plugin, "sampled");
        sampled += yyjson_is_obj(so_far);
        sum += yyjson_get_num(yyjson_obj_get(so_far, "share"));
    }
    assert_true(sampled > 3);
    assert_true(sum > 0.99 && sum < 1.01);
    struct strbuf before = { 0 }, after = { 0 };
    metrics_write(metrics, &before);
    assert_int_equal(explain(&a, "p7", true), 0);
    metrics_write(metrics, &after);
    char *plugins[2] = { strstr(before.text, "# HELP scheduler_plugin_execution"),
                         strstr(after.text, "# HELP scheduler_plugin_execution") };
    for (int k = 0; k < 2; k++)
        *strstr(plugins[k], "# HELP scheduler_pod_") = '\0';
    assert_string_equal(plugins[0], plugins[1]);
    assert_contains(&a, "SO FAR");
    strbuf_release(&before);
    strbuf_release(&after);
    end(&a);
    observer_free(observer);
    metrics_free(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_waiting_pod),
        cmocka_unit_test(a_node_that_was_left_out),
        cmocka_unit_test(one_node),
        cmocka_unit_test(a_placed_pod),
        cmocka_unit_test(recorded_scores_do_not_change),
        cmocka_unit_test(other_pods),
        cmocka_unit_test(loaded_plugins_are_named_and_not_called),
        cmocka_unit_test(slow_plugins_are_called_as_in_a_decision),
        cmocka_unit_test(durations_of_plugins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
