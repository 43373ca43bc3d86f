/* Victims, candidate nodes, and the message of a pod that cannot preempt. */
#include "support/fixture.h"

#include "preempt/preempt.h"

/* ---- a filter that counts cpu, and counts added and removed pods ---- */
static int64_t balance;

static struct status cpu_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    (void)cycle;
    (void)narrow;
    return STATUS_OK;
}

static void cpu_add(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    (void)cycle;
    balance += (int64_t)(uintptr_t)pod * (node.row + 1);
}

static void cpu_remove(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    (void)cycle;
    balance -= (int64_t)(uintptr_t)pod * (node.row + 1);
}

static struct status cpu_filter(struct cycle *cycle, struct node_view node)
{
    const struct pod_class *wants = cycle->info->class;
    int64_t cpu = 0;
    for (uint32_t i = 0; i < wants->fit_len; i++)
        if (wants->fit[i].resource == RES_CPU)
            cpu = wants->fit[i].value;
    if (cpu > node_alloc(node, RES_CPU))
        return reject(STATUS_UNRESOLVABLE, "Node too small");
    if (node_used(node, RES_CPU) + cpu > node_alloc(node, RES_CPU))
        return reject(STATUS_UNSCHEDULABLE, "Insufficient cpu");
    return STATUS_OK;
}

static const struct plugin plugin_cpu = {
    .name = "Cpu",
    .pre_filter = cpu_pre_filter,
    .add_pod = cpu_add,
    .remove_pod = cpu_remove,
    .filter = cpu_filter,
};
extern const struct plugin plugin_node_ports, plugin_node_unschedulable, plugin_default_preemption;

/* ---- cases ---- */
struct preempt_case {
    const char *name;
    const char *objects;
    const char *pod;     /* the incoming pod without metadata */
    const char *message; /* NULL: there are candidates */
    const char *candidates;
    const char *top;
};

#define NODE(name, cpu, ...) \
    "{kind: Node, metadata: {name: " name "}, status: {allocatable: {cpu: " cpu ", pods: 10}}" __VA_ARGS__ \
    "}\n---\n"
#define POD(name, node, priority, cpu, ...) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name ", labels: {app: " name \
    "}}, spec: {nodeName: " node ", priority: " priority \
    ", containers: [{name: c, resources: {requests: {cpu: " cpu "}}" __VA_ARGS__ "}]}" \
    ", status: {startTime: '2026-01-01T00:00:00Z'}}\n---\n"
#define WANTS(priority, cpu, ...) \
    "{kind: Pod, metadata: {name: incoming, uid: u-in}, spec: {priority: " priority \
    ", containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]}" __VA_ARGS__ "}"
#define PORT ", ports: [{containerPort: 1, hostPort: 80}]"
#define TERMINATING(name, node, priority, reason) \
    "{kind: Pod, metadata: {name: " name \
    ", deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {nodeName: " node ", priority: " priority \
    ", containers: [{name: c, resources: {requests: {cpu: 1}}}]}" \
    ", status: {conditions: [{type: Ready, status: 'True'}, {type: DisruptionTarget, status: 'True', " \
    "reason: " reason "}]}}\n---\n"
#define NOMINEE(name, node, priority, cpu, ...) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name "}, spec: {priority: " priority \
    ", containers: [{name: c, resources: {requests: {cpu: " cpu "}}" __VA_ARGS__ "}]}" \
    ", status: {nominatedNodeName: " node "}}\n---\n"
#define PDB(name, app) \
    "{kind: PodDisruptionBudget, metadata: {name: " name ", namespace: default}" \
    ", spec: {selector: {matchLabels: {app: " app "}}}, status: {disruptionsAllowed: 0}}\n---\n"

static const struct preempt_case cases[] = {
    { "one victim", NODE("a", "2") POD("low", "a", "1", "2"), WANTS("5", "1"), NULL, "a: low (0)", "a" },
    { "equal priority is no victim", NODE("a", "2") POD("low", "a", "5", "2"), WANTS("5", "1"),
      "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.", "", "" },
    { "a pod without priority has priority 0",
      NODE("a", "2") "{kind: Pod, metadata: {name: p}, spec: {nodeName: a, containers: [{name: c, resources: "
                     "{requests: "
                     "{cpu: 2}}}]}, status: {startTime: '2026-01-01T00:00:00Z'}}\n---\n",
      WANTS("1", "1"), NULL, "a: p (0)", "a" },
    { "as few as possible, the least important first",
      NODE("a", "4") POD("p1", "a", "1", "1") POD("p3", "a", "3", "1") POD("p2", "a", "2", "1")
          POD("p4", "a", "4", "1"),
      WANTS("9", "2"), NULL, "a: p2 p1 (0)", "a" },
    { "an important pod stays even if another then has to go",
      NODE("a", "4") POD("small", "a", "1", "1") POD("big", "a", "2", "3"), WANTS("9", "1"), NULL,
      "a: small (0)", "a" },
    { "it does not fit even on the empty node",
      NODE("a", "4") POD("low", "a", "1", "1") POD("high", "a", "9", "3"), WANTS("5", "2"),
      "preemption: 0/1 nodes are available: 1 Insufficient cpu.", "", "" },
    { "a node that eviction cannot help",
      NODE("a", "1") POD("low", "a", "1", "1") NODE("b", "4") POD("busy", "b", "9", "4"), WANTS("5", "2"),
      "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is "
      "not "
      "helpful for scheduling.",
      "", "" },
    { "no node that eviction can help", NODE("a", "1") POD("low", "a", "1", "1"), WANTS("5", "2"),
      "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.", "", "" },
    { "preemptionPolicy Never", NODE("a", "2") POD("low", "a", "1", "2"),
      "{kind: Pod, metadata: {name: incoming}, spec: {priority: 5, preemptionPolicy: Never, containers: "
      "[{name: c, "
      "resources: {requests: {cpu: 1}}}]}}",
      "preemption: not eligible due to preemptionPolicy=Never.", "", "" },
    { "a budget is kept where another pod can go",
      NODE("a", "4") POD("kept", "a", "1", "2") POD("other", "a", "2", "2") PDB("b", "kept"), WANTS("9", "1"),
      NULL, "a: other (0)", "a" },
    { "a budget is violated only if no other victim is left; a node without violations is better",
      NODE("a", "2") POD("kept", "a", "1", "2") NODE("b", "2") POD("other", "b", "8", "2") PDB("b", "kept"),
      WANTS("9", "1"), NULL, "b: other (0), a: kept (1)", "b" },
    { "victims of both kinds are sorted together",
      NODE("a", "3") POD("kept", "a", "1", "1") POD("other", "a", "2", "2") PDB("b", "kept"), WANTS("9", "3"),
      NULL, "a: other kept (1)", "a" },
    { "two equal nodes", NODE("b", "2") POD("p1", "b", "1", "2") NODE("a", "2") POD("p2", "a", "1", "2"),
      WANTS("5", "1"), NULL, "b: p1 (0), a: p2 (0)", "a b" },
    { "beside a nominated pod of the same priority",
      NODE("a", "4") POD("low", "a", "1", "3") NOMINEE("next", "a", "5", "2"), WANTS("5", "2"), NULL,
      "a: low (0)", "a" },
    { "no capacity beside a nominated pod",
      NODE("a", "4") POD("low", "a", "1", "3") NOMINEE("next", "a", "6", "3"), WANTS("5", "2"),
      "preemption: 0/1 nodes are available: 1 Insufficient cpu.", "", "" },
    { "a pod that waits for the node and matters less does not count",
      NODE("a", "4") POD("low", "a", "1", "3") NOMINEE("next", "a", "4", "3"), WANTS("5", "2"), NULL,
      "a: low (0)", "a" },
    { "a nominee's port does not free the port of a pod that stays",
      NODE("a", "4") POD("low", "a", "1", "3") POD("high", "a", "9", "1", PORT)
          NOMINEE("next", "a", "6", "100m", PORT),
      "{kind: Pod, metadata: {name: incoming, uid: u-in}, spec: {priority: 5, containers: [{name: c" PORT
      ", resources: {requests: {cpu: 100m}}}]}}",
      "preemption: 0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
      "", "" },
    { "ports are given back one by one",
      NODE("a", "9") POD("p1", "a", "1", "1", PORT) POD("p2", "a", "2", "1") POD("p3", "a", "3", "1", PORT),
      "{kind: Pod, metadata: {name: incoming}, spec: {priority: 5, containers: [{name: c" PORT "}]}}", NULL,
      "a: p3 p1 (0)", "a" },
    { "waits for its victims",
      NODE("a", "2") TERMINATING("low", "a", "1", "PreemptionByScheduler") POD("x", "a", "1", "1"),
      WANTS("5", "1", ", status: {nominatedNodeName: a}"),
      "preemption: not eligible due to a terminating pod on the nominated node.", "", "" },
    { "does not wait for pods that leave for another reason",
      NODE("a", "2") TERMINATING("low", "a", "1", "EvictionByEvictionAPI") POD("x", "a", "2", "1"),
      WANTS("5", "1", ", status: {nominatedNodeName: a}"), NULL, "a: low (0)", "a" },
    { "does not wait for pods that matter more",
      NODE("a", "3") TERMINATING("high", "a", "7", "PreemptionByScheduler") POD("x", "a", "2", "2"),
      WANTS("5", "1", ", status: {nominatedNodeName: a}"), NULL, "a: x (0)", "a" },
    { "no waiting for a node that cannot be used",
      NODE("a", "1", ", spec: {unschedulable: true}") TERMINATING("low", "a", "1", "PreemptionByScheduler")
          NODE("b", "1") POD("x", "b", "2", "1"),
      WANTS("5", "1", ", status: {nominatedNodeName: a}"), NULL, "b: x (0)", "b" },
    { "nominated to a node that is gone", NODE("a", "1") POD("x", "a", "2", "1"),
      WANTS("5", "1", ", status: {nominatedNodeName: gone}"), NULL, "a: x (0)", "a" },
};

static void print_candidates(const struct fixture *f, const struct preemption *found, struct strbuf *out)
{
    strbuf_puts(out, "");
    for (uint32_t i = 0; i < found->candidates_len; i++) {
        const struct preempt_candidate *candidate = &found->candidates[i];
        strbuf_printf(out, "%s" STR_FMT ":", i ? ", " : "",
                      STR_ARG(cluster_node_name(&f->cluster, candidate->row)));
        for (uint32_t v = 0; v < candidate->victims_len; v++)
            strbuf_printf(out, " " STR_FMT, STR_ARG(candidate->victims[v]->api->meta.name));
        strbuf_printf(out, " (%lld)", (long long)candidate->pdb_violations);
    }
}

static void print_top(const struct fixture *f, const struct preemption *found, struct strbuf *out)
{
    strbuf_puts(out, "");
    for (uint32_t i = 0; i < found->top_len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? " " : "",
                      STR_ARG(cluster_node_name(&f->cluster, found->top[i])));
}

static void find(struct fixture *f, struct preempt_options options, struct preemption *ret)
{
    struct evaluation evaluation;
    run_evaluation(&f->cycle, 0, UINT32_MAX, &evaluation);
    assert_int_equal(evaluation.feasible_len, 0);
    balance = 0;
    preempt_find(&f->cycle, &evaluation.diagnosis, options, ret);
    assert_int_equal(balance, 0); /* every removed pod was added again */
    diagnosis_release(&evaluation.diagnosis);
}

#define assert_text(name, buf, want) \
    do { \
        if (strcmp((buf).text ? (buf).text : "", (want))) \
            fail_msg("%s: got \"%s\", want \"%s\"", (name), (buf).text ? (buf).text : "", (want)); \
    } while (0)

static void check_case(const struct preempt_case *c)
{
    _cleanup_(strbuf_release) struct strbuf candidates = { 0 }, top = { 0 }, message = { 0 };
    struct fixture f;
    struct preemption found;
    FIXTURE(&f, NULL, &plugin_node_unschedulable, &plugin_node_ports, &plugin_cpu);
    fixture_load(&f, c->objects);
    fixture_cycle(&f, c->pod);
    uint64_t seq = cluster_seq(&f.cluster);
    find(&f, (struct preempt_options){ .all_candidates = true }, &found);
    assert_int_equal(cluster_seq(&f.cluster), seq);
    print_candidates(&f, &found, &candidates);
    print_top(&f, &found, &top);
    strbuf_str(&message, found.message);
    if (c->message)
        assert_text(c->name, message, c->message);
    else if (!strstr(message.text, "preemption: found a potential placement for pod on node "))
        fail_msg("%s: %s", c->name, message.text);
    assert_text(c->name, candidates, c->candidates);
    assert_text(c->name, top, c->top);
    assert_int_equal(found.status.code, c->message ? STATUS_UNSCHEDULABLE : STATUS_SUCCESS);
    assert_int_equal(found.chosen, found.top_len ? found.top[0] : ROW_NONE);
    bool hopeless = c->message && !strstr(c->message, "eligible");
    assert_int_equal(found.clear_nomination, hopeless);
    fixture_release(&f);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_case(&cases[i]);
}

/* ---- stopping early ---- */
enum { NODES = 40 };

static void load_row_of_nodes(struct fixture *f, const char *const *budgets)
{
    for (int i = 0; i < NODES; i++) {
        char text[600];
        snprintf(text, sizeof(text), NODE("n%02d", "1") POD("p%02d", "n%02d", "1", "1"), i, i, i, i, i);
        fixture_load(f, text);
    }
    for (; *budgets; budgets++)
        fixture_load(f, *budgets);
}

struct limit_case {
    const char *name;
    struct preempt_options options;
    const char *budgets[3];
    uint32_t want;     /* candidates */
    const char *first; /* of them */
    uint32_t violating;
};

static const struct limit_case limits[] = {
    { "all", { .all_candidates = true, .offset = 7 }, { 0 }, NODES, "n07", 0 },
    { "ten percent", { .min_percentage = 10, .min_absolute = 1, .offset = 0 }, { 0 }, 4, "n00", 0 },
    { "at least", { .min_percentage = 10, .min_absolute = 6, .offset = 38 }, { 0 }, 6, "n38", 0 },
    { "never more than there are",
      { .min_percentage = 10, .min_absolute = 100, .offset = 3 },
      { 0 },
      NODES,
      "n03",
      0 },
    { "any offset will do",
      { .min_percentage = 0, .min_absolute = 1, .offset = 4000000039 },
      { 0 },
      1,
      "n39",
      0 },
    { "one that breaks a budget does not end the search",
      { .min_percentage = 0, .min_absolute = 2, .offset = 5 },
      { PDB("b5", "p05") PDB("b6", "p06"), PDB("b7", "p07") },
      3, /* two candidates with violations are kept, the first without one ends the search */
      "n08",
      2 },
};

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        const struct limit_case *c = &limits[i];
        struct fixture f;
        struct preemption found;
        FIXTURE(&f, NULL, &plugin_cpu);
        load_row_of_nodes(&f, c->budgets);
        fixture_cycle(&f, WANTS("5", "1"));
        find(&f, c->options, &found);
        uint32_t violating = 0;
        for (uint32_t k = 0; k < found.candidates_len; k++)
            violating += found.candidates[k].pdb_violations > 0;
        if (found.candidates_len != c->want || violating != c->violating)
            fail_msg("%s: got %u candidates, %u violating", c->name, found.candidates_len, violating);
        assert_str(cluster_node_name(&f.cluster, found.candidates[0].row), c->first);
        fixture_release(&f);
    }
}

/* ---- the plugin ---- */
static void test_plugin(void **state)
{
    (void)state;
    struct fixture f;
    struct post_filter_result result;
    struct evaluation evaluation;
    FIXTURE(&f, NULL, &plugin_default_preemption, &plugin_cpu);
    fixture_load(&f, NODE("a", "2") POD("low", "a", "1", "2"));
    fixture_cycle(&f, WANTS("5", "1"));
    run_evaluation(&f.cycle, 0, UINT32_MAX, &evaluation);
    assert_status(run_post_filter(&f.cycle, &evaluation.diagnosis, &result), STATUS_SUCCESS,
                  "preemption: found a potential placement for pod on node a, preempting 1 victims");
    assert_int_equal(result.nominated_row, fixture_row(&f, "a"));
    assert_int_equal(result.victims_len, 1);
    assert_str(result.victims[0]->api->meta.name, "low");
    diagnosis_release(&evaluation.diagnosis);

    fixture_load(&f, POD("low", "a", "9", "2")); /* it has a higher priority now */
    fixture_cycle(&f, WANTS("5", "1"));
    run_evaluation(&f.cycle, 0, UINT32_MAX, &evaluation);
    assert_status(run_post_filter(&f.cycle, &evaluation.diagnosis, &result), STATUS_UNSCHEDULABLE,
                  "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.");
    assert_int_equal(result.nominated_row, ROW_NONE);
    assert_true(result.clear_nomination);
    diagnosis_release(&evaluation.diagnosis);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_plugin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
