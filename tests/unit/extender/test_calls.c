/* How the engine calls its extenders, without a network: in which order, with which nodes, and what follows from the
 * replies. Extenders are scripted; their calls are recorded. */
#include "support/engine_fixture.h"

#include "engine/binding.h"
#include "framework/extender.h"
#include "preempt/preempt.h"

enum { EXTENDERS_MAX = 3 };

/* What a scripted extender does. Node names are single letters. */
struct script {
    const char *name;
    const char *managed; /* resource; NULL: every pod */
    bool ignorable, binds;
    const char *pass;   /* nodes that pass its filter; NULL: it does not filter */
    const char *refuse; /* "a:reason,b!unresolvable reason" */
    const char *scores; /* "a=5,b=-1"; NULL: it does not score */
    int64_t weight;
    const char *victims; /* "a:pod+pod,b:"; NULL: it does not preempt */
    const char *error;   /* the error of every call */
};

struct scripted {
    struct extender base;
    struct script script;
    struct managed_resource managed;
    struct setup *setup;
};

struct setup {
    struct engine_fixture e;
    struct scripted scripted[EXTENDERS_MAX];
    struct extender *items[EXTENDERS_MAX];
    struct extenders table;
    struct strbuf calls;
    struct effect effects[8]; /* without texts */
    size_t effects_len;
};

static struct scripted *scripted_of(struct extender *extender)
{
    return container_of(extender, struct scripted, base);
}

static void record_call(struct scripted *scripted, const char *verb, const struct cluster *cluster,
                        struct row_list nodes)
{
    struct strbuf *out = &scripted->setup->calls;
    strbuf_printf(out, "%s%s %s", out->len ? "; " : "", scripted->script.name, verb);
    for (uint32_t i = 0; i < nodes.len; i++)
        strbuf_printf(out, " " STR_FMT, STR_ARG(cluster_node_name(cluster, nodes.items[i])));
}

static int script_error(const struct scripted *scripted, struct error *err)
{
    return scripted->script.error ? error_set(err, -EIO, "%s", scripted->script.error) : 0;
}

static uint32_t row_of(const struct cycle *cycle, struct str name)
{
    return cluster_row(cycle->cluster, name);
}

static int scripted_filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                           struct extender_filtered *ret, struct error *err)
{
    struct scripted *scripted = scripted_of(extender);
    struct str rest = str_from(scripted->script.refuse), part;
    *ret = (struct extender_filtered){ .rows = arena_array(cycle->arena, uint32_t, nodes.len),
                                       .refusals = arena_array(cycle->arena, struct extender_refusal, 8) };
    record_call(scripted, "filter", cycle->cluster, nodes);
    for (uint32_t i = 0; i < nodes.len; i++)
        if (strchr(scripted->script.pass, cluster_node_name(cycle->cluster, nodes.items[i]).ptr[0]))
            ret->rows[ret->len++] = nodes.items[i];
    while ((part = next_part(&rest, ',')).ptr)
        ret->refusals[ret->refusals_len++] =
            (struct extender_refusal){ row_of(cycle, str_slice(part, 0, 1)), part.ptr[1] == '!',
                                       str_slice(part, 2, part.len) };
    return script_error(scripted, err);
}

static void scripted_begin_score(struct extender *extender, struct cycle *cycle, struct row_list nodes)
{
    record_call(scripted_of(extender), "scores", cycle->cluster, nodes);
}

static int scripted_end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                              struct extender_scores *ret, struct error *err)
{
    struct scripted *scripted = scripted_of(extender);
    struct str rest = str_from(scripted->script.scores), part;
    *ret = (struct extender_scores){ .items = arena_array(cycle->arena, struct extender_score, 8) };
    record_call(scripted, "scored", cycle->cluster, (struct row_list){ NULL, 0 });
    (void)nodes;
    while ((part = next_part(&rest, ',')).ptr) {
        struct extender_score *score = &ret->items[ret->len++];
        score->row = row_of(cycle, str_slice(part, 0, 1));
        assert_true(str_to_int64(str_slice(part, 2, part.len), &score->score));
    }
    return script_error(scripted, err);
}

static void read_victims(const struct cycle *cycle, struct str text, struct preempt_candidate *ret)
{
    struct str part;
    *ret = (struct preempt_candidate){ .row = row_of(cycle, str_slice(text, 0, 1)),
                                       .victims = arena_array(cycle->arena, struct pod_info *, 8) };
    text = str_slice(text, 2, text.len);
    while ((part = next_part(&text, '+')).ptr)
        ret->victims[ret->victims_len++] = cluster_find_pod(cycle->cluster, STR("default"), part);
}

static int by_row(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The engine passes candidates in any order. */
static int scripted_preempt(struct extender *extender, struct cycle *cycle,
                            const struct preempt_candidate *candidates, uint32_t len,
                            struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct scripted *scripted = scripted_of(extender);
    struct str rest = str_from(scripted->script.victims), part;
    uint32_t rows[8];
    for (uint32_t i = 0; i < len; i++)
        rows[i] = candidates[i].row;
    qsort(rows, len, sizeof(*rows), by_row);
    record_call(scripted, "preempts", cycle->cluster, (struct row_list){ rows, len });
    *ret = arena_array(cycle->arena, struct preempt_candidate, 8);
    *ret_len = 0;
    while ((part = next_part(&rest, ',')).ptr)
        read_victims(cycle, part, &(*ret)[(*ret_len)++]);
    return script_error(scripted, err);
}

/* Effects stay until the test answers them. */
static void take_effect(struct setup *setup, const struct effect *effect)
{
    if (!effect->ticket)
        return;
    assert_true(setup->effects_len < ARRAY_SIZE(setup->effects));
    setup->effects[setup->effects_len++] = (struct effect){ .kind = effect->kind, .ticket = effect->ticket };
}

static void scripted_bind(struct extender *extender, const struct effect *effect)
{
    struct scripted *scripted = scripted_of(extender);
    struct strbuf *out = &scripted->setup->calls;
    strbuf_printf(out, "%s%s binds " STR_FMT " to " STR_FMT, out->len ? "; " : "", scripted->script.name,
                  STR_ARG(effect->name), STR_ARG(effect->node));
    take_effect(scripted->setup, effect);
}

static const struct extender_calls calls = { scripted_filter, scripted_begin_score, scripted_end_score,
                                             scripted_preempt, scripted_bind };

static void emit(void *context, const struct effect *effect)
{
    struct setup *setup = context;
    if (effect->kind != EFFECT_EVENT && effect->kind != EFFECT_POD_STATUS)
        strbuf_printf(&setup->calls, "%sserver %s " STR_FMT, setup->calls.len ? "; " : "",
                      effect_kind_names[effect->kind], STR_ARG(effect->name));
    take_effect(setup, effect);
}

/* ---- setup ---- */
static void setup_init(struct setup *setup, const struct script *scripts, bool live, const char *config)
{
    *setup = (struct setup){ .table.items = setup->items };
    for (uint32_t i = 0; i < EXTENDERS_MAX && scripts[i].name; i++) {
        const struct script *script = &scripts[i];
        struct scripted *scripted = &setup->scripted[i];
        scripted->script = *script;
        scripted->setup = setup;
        scripted->managed = (struct managed_resource){ .name = str_from(script->managed) };
        scripted->base = (struct extender){ .calls = &calls,
                                            .name = str_from(script->name),
                                            .filters = script->pass,
                                            .prioritizes = script->scores,
                                            .preempts = script->victims,
                                            .binds = script->binds,
                                            .ignorable = script->ignorable,
                                            .weight = script->weight,
                                            .managed = &scripted->managed,
                                            .managed_len = script->managed != NULL };
        setup->items[setup->table.len++] = &scripted->base;
    }
    struct engine_options options = { .extenders = &setup->table,
                                      .slowest = PATH_INDEX,
                                      .now_ns = NS_PER_SECOND };
    if (live)
        options.host = (struct engine_host){ .emit = emit, .context = setup };
    engine_fixture_init(&setup->e, config, &options);
}

static void setup_release(struct setup *setup)
{
    engine_fixture_release(&setup->e);
    strbuf_release(&setup->calls);
}

#define NODE(name) \
    "{kind: Node, metadata: {name: " name \
    "}, status: {allocatable: {cpu: 2, memory: 4Gi, pods: 20, x.io/y: 5}}}\n---\n"
#define POD(name, cpu, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"

/* ---- filter and score ---- */
struct choice_case {
    const char *name;
    struct script scripts[EXTENDERS_MAX];
    const char *pod; /* NULL: a small pod */
    const char *calls, *node;
    const char *message; /* prefix */
    const char *config;
};

static const struct choice_case choice_cases[] = {
    { "one extender filters", { { .name = "X", .pass = "b" } }, .calls = "X filter a b c", .node = "b" },
    { "one after another",
      { { .name = "X", .pass = "bc" }, { .name = "Y", .pass = "ac" } },
      .calls = "X filter a b c; Y filter b c",
      .node = "c" },
    { "no node is left for the next extender",
      { { .name = "X", .pass = "", .refuse = "a:too hot,b:too hot,c!too old" },
        { .name = "Y", .pass = "abc" } },
      .calls = "X filter a b c",
      .message = "0/3 nodes are available: 1 too old, 2 too hot. " },
    { "rejected without a reason",
      { { .name = "X", .pass = "" } },
      .calls = "X filter a b c",
      .message = "0/3 nodes are available: " },
    { "an extender that script_error",
      { { .name = "X", .pass = "abc", .error = "out of order" } },
      .calls = "X filter a b c",
      .message = "out of order" },
    { "an ignorable extender fails",
      { { .name = "X", .pass = "b" },
        { .name = "Y", .ignorable = true, .pass = "", .error = "out of order" } },
      .calls = "X filter a b c; Y filter b",
      .node = "b" },
    { "extenders score concurrently",
      { { .name = "X", .scores = "a=1,b=2", .weight = 1 },
        { .name = "Y", .scores = "a=1,c=9", .weight = 1 } },
      .calls = "X scores a b c; Y scores a b c; X scored; Y scored",
      .node = "c" },
    { "weights",
      { { .name = "X", .scores = "a=9", .weight = 1 }, { .name = "Y", .scores = "b=1", .weight = 10 } },
      .calls = "X scores a b c; Y scores a b c; X scored; Y scored",
      .node = "b" },
    { "a score for a rejected node",
      { { .name = "X", .pass = "ab", .scores = "a=1,c=10", .weight = 1 } },
      .calls = "X filter a b c; X scores a b; X scored",
      .node = "a" },
    { "scores for one node add up",
      { { .name = "X", .scores = "a=3,b=2,b=2", .weight = 1 } },
      .calls = "X scores a b c; X scored",
      .node = "b" },
    { "scores that overflow",
      { { .name = "X", .scores = "a=9223372036854775807,b=90000000000000000,c=0", .weight = 1 } },
      .calls = "X scores a b c; X scored", /* a wraps around below zero */
      .node = "b" },
    { "an extender fails to score",
      { { .name = "X", .scores = "a=9", .weight = 9, .error = "no" },
        { .name = "Y", .scores = "c=1", .weight = 1 } },
      .calls = "X scores a b c; Y scores a b c; X scored; Y scored",
      .node = "c" },
    { "one node needs no score",
      { { .name = "X", .pass = "c", .scores = "a=9", .weight = 1 } },
      .calls = "X filter a b c",
      .node = "c" },
    { "the pod requests no managed resource",
      { { .name = "X", .managed = "x.io/y", .pass = "" }, { .name = "Y", .pass = "a" } },
      .calls = "Y filter a b c",
      .node = "a" },
    { "the pod requests a managed resource",
      { { .name = "X", .managed = "x.io/y", .pass = "c" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c, resources: {limits: "
             "{x.io/y: 1}, requests: {x.io/y: 1}}}]}}",
      .calls = "X filter a b c",
      .node = "c" },
    { "an init container requests a managed resource",
      { { .name = "X", .managed = "x.io/y", .pass = "c" } },
      .pod =
          "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {initContainers: [{name: i, resources: {limits: "
          "{x.io/y: 1}}}], containers: [{name: c}]}}",
      .calls = "X filter a b c",
      .node = "c" },
    { "a nominated node is filtered first",
      { { .name = "X", .pass = "b" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c}]}, status: "
             "{nominatedNodeName: b}}",
      .calls = "X filter b",
      .node = "b" },
    { "a nominated node is rejected",
      { { .name = "X", .pass = "c" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c}]}, status: "
             "{nominatedNodeName: b}}",
      .calls = "X filter b; X filter a b c",
      .node = "c" },
    { "no plugin scores",
      { { .name = "X", .pass = "bc" } },
      .config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
                "- plugins: {score: {disabled: [{name: '*'}]}, preScore: {disabled: [{name: '*'}]}}\n",
      .calls = "X filter a b c" },
};

static void run_choice(const struct choice_case *c)
{
    struct setup setup;
    setup_init(&setup, c->scripts, false, c->config);
    fixture_load(&setup.e.f, NODE("a") NODE("b") NODE("c"));
    engine_fixture_add(&setup.e, c->pod ? c->pod : POD("p", "1", ""));
    struct decision decision = engine_fixture_step(&setup.e);
    const char *got = setup.calls.text ? setup.calls.text : "";
    struct str node =
        decision.row == ROW_NONE ? STR("") : cluster_node_name(&setup.e.f.cluster, decision.row);
    if (strcmp(got, c->calls) != 0)
        fail_msg("%s: calls are \"%s\", want \"%s\"", c->name, got, c->calls);
    if (c->node && !str_is(node, c->node))
        fail_msg("%s: got \"" STR_FMT "\" (" STR_FMT "), want %s", c->name, STR_ARG(node),
                 STR_ARG(decision.message), c->node);
    if (c->message && !str_starts_with(decision.message, str_from(c->message)))
        fail_msg("%s: says \"" STR_FMT "\"", c->name, STR_ARG(decision.message));
    setup_release(&setup);
}

static void test_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(choice_cases); i++)
        run_choice(&choice_cases[i]);
}

/* A pod without a managed resource is still decided on a fast path. */
static void test_path(void **state)
{
    (void)state;
    struct setup setup;
    setup_init(&setup, (struct script[EXTENDERS_MAX]){ { .name = "X", .managed = "x.io/y", .pass = "a" } },
               false, NULL);
    fixture_load(&setup.e.f, NODE("a") NODE("b") NODE("c"));
    engine_fixture_add(&setup.e, POD("p", "1", ""));
    assert_int_not_equal(engine_fixture_step(&setup.e).path, PATH_PLAIN);
    engine_fixture_add(&setup.e, "{kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, resources: "
                                 "{requests: {x.io/y: 1}}}]}}");
    assert_int_equal(engine_fixture_step(&setup.e).path, PATH_PLAIN);
    setup_release(&setup);
}

/* Any event requeues a pod that an extender rejected. */
static void test_requeued_by_any_event(void **state)
{
    (void)state;
    struct setup setup;
    setup_init(&setup, (struct script[EXTENDERS_MAX]){ { .name = "X", .pass = "" } }, false, NULL);
    fixture_load(&setup.e.f, NODE("a"));
    struct pod_info *pod = engine_fixture_add(&setup.e, POD("p", "1", ""));
    struct decision decision = engine_fixture_step(&setup.e);
    assert_str(
        profile_plugin_names(&setup.e.engine.profiles[0], decision.unschedulable_plugins, &setup.e.f.arena),
        "Extender");
    assert_int_equal(queue_find(&setup.e.engine.queue, pod)->place, QUEUE_UNSCHEDULABLE);
    engine_event(&setup.e.engine,
                 &(struct cluster_event){ .resource = EVENT_STORAGE_CLASS, .actions = ACTION_ADD },
                 setup.e.now_ns);
    assert_int_equal(queue_find(&setup.e.engine.queue, pod)->place, QUEUE_BACKOFF);
    setup_release(&setup);
}

/* ---- preemption ---- */
static const struct {
    const char *name;
    struct script scripts[EXTENDERS_MAX];
    const char *calls, *node, *victims, *message;
    uint32_t named; /* victims, where more than are evicted */
} preempt_cases[] = {
    { "the extender chooses another node",
      { { .name = "X", .victims = "b:b1" } },
      .calls = "X preempts a b",
      .node = "b",
      .victims = "b1" },
    { "other victims",
      { { .name = "X", .victims = "b:b1+b2" } },
      .calls = "X preempts a b",
      .node = "b",
      .victims = "b1 b2" },
    { "one after another",
      { { .name = "X", .victims = "b:b1" }, { .name = "Y", .victims = "b:b2" } },
      .calls = "X preempts a b; Y preempts b",
      .node = "b",
      .victims = "b2" },
    { "a victim is named twice: that makes two of it, which are evicted once",
      { { .name = "X", .victims = "a:a1+a1,b:b1" }, { .name = "Y", .victims = "b:b1+b1" } },
      .calls = "X preempts a b; Y preempts a b",
      .node = "b",
      .victims = "b1",
      .named = 2 },
    { "the node with fewer names of victims",
      { { .name = "X", .victims = "a:a1+a1,b:b1" } },
      .calls = "X preempts a b",
      .node = "b",
      .victims = "b1" },
    { "no candidate is left",
      { { .name = "X", .victims = "" }, { .name = "Y", .victims = "b:b2" } },
      .calls = "X preempts a b",
      .message = "preemption: no candidate node for preemption" },
    { "a node without victims",
      { { .name = "X", .victims = "a:,b:b1" } },
      .calls = "X preempts a b",
      .message = "preemption: expected at least one victim pod on node \"a\"" },
    { "a node without victims, which does not matter",
      { { .name = "X", .ignorable = true, .victims = "a:,b:b1" } },
      .calls = "X preempts a b",
      .node = "b",
      .victims = "b1" },
    { "an extender that script_error",
      { { .name = "X", .victims = "b:b1", .error = "out of order" } },
      .calls = "X preempts a b",
      .message = "preemption: out of order" },
    { "an ignorable extender fails",
      { { .name = "X", .ignorable = true, .victims = "b:b1", .error = "out of order" } },
      .calls = "X preempts a b",
      .node = "a",
      .victims = "a1" },
    { "the pod requests no managed resource",
      { { .name = "X", .managed = "x.io/y", .victims = "b:b1" } },
      .calls = "",
      .node = "a",
      .victims = "a1" },
};

static void show_victims(struct strbuf *out, const struct decision *decision)
{
    for (uint32_t i = 0; i < decision->victims_len; i++)
        strbuf_printf(out, "%s" STR_FMT, i ? " " : "", STR_ARG(decision->victims[i]->api->meta.name));
}

static void test_preempt(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(preempt_cases); i++) {
        struct setup setup;
        struct strbuf victims = { 0 };
        setup_init(&setup, preempt_cases[i].scripts, false, NULL);
        fixture_load(&setup.e.f, NODE("a") NODE("b") POD("a1", "2", ", nodeName: a") "\n---\n" POD(
                                     "b1", "1", ", nodeName: b") "\n---\n" POD("b2", "1", ", nodeName: b"));
        engine_fixture_add(&setup.e, POD("p", "2", ", priority: 10"));
        struct decision decision = engine_fixture_step(&setup.e);
        assert_str(strbuf_slice(&setup.calls), preempt_cases[i].calls);
        show_victims(&victims, &decision);
        struct str node = decision.nominated_row == ROW_NONE
                              ? STR("")
                              : cluster_node_name(&setup.e.f.cluster, decision.nominated_row);
        const char *want_node = preempt_cases[i].node, *want_victims = preempt_cases[i].victims;
        if (!str_is(node, want_node ? want_node : "") ||
            !str_is(strbuf_slice(&victims), want_victims ? want_victims : ""))
            fail_msg("%s: " STR_FMT " %s", preempt_cases[i].name, STR_ARG(node), victims.text);
        if (preempt_cases[i].named)
            assert_int_equal(decision.victims_named, preempt_cases[i].named);
        if (preempt_cases[i].message && !str_ends_with(decision.message, str_from(preempt_cases[i].message)))
            fail_msg("%s: says \"" STR_FMT "\"", preempt_cases[i].name, STR_ARG(decision.message));
        strbuf_release(&victims);
        setup_release(&setup);
    }
}

/* ---- bind ---- */
/* Completes the oldest effect. */
static void answer(struct setup *setup, struct answer answer)
{
    assert_true(setup->effects_len > 0);
    uint64_t ticket = setup->effects[0].ticket;
    memmove(setup->effects, setup->effects + 1, --setup->effects_len * sizeof(*setup->effects));
    engine_answer(&setup->e.engine, ticket, &answer, setup->e.now_ns);
}

static void begin_bind(struct setup *setup, struct script script)
{
    script.name = "X";
    script.binds = true;
    setup_init(setup, (struct script[EXTENDERS_MAX]){ script }, true, NULL);
    fixture_load(&setup->e.f, NODE("a"));
    engine_fixture_add(&setup->e, POD("p", "1", ""));
    engine_fixture_step(&setup->e);
}

static void assert_calls(struct setup *setup, const char *want)
{
    assert_str(strbuf_slice(&setup->calls), want);
    strbuf_clear(&setup->calls);
}

#define FAILED ((struct answer){ .kind = ANSWER_REFUSED, .message = STR("too slow") })

static void test_bind(void **state)
{
    (void)state;
    struct setup setup;
    begin_bind(&setup, (struct script){ 0 });
    assert_calls(&setup, "X binds p to a");
    answer(&setup, (struct answer){ .kind = ANSWER_DONE });
    assert_int_equal(engine_bindings(&setup.e.engine), 0);
    assert_int_not_equal(fixture_pod(&setup.e.f, "p")->row, ROW_NONE);
    setup_release(&setup);
}

/* The reply is lost: the pod stays assumed until the API server reports its node. */
static void test_bind_lost(void **state)
{
    (void)state;
    struct setup setup;
    begin_bind(&setup, (struct script){ 0 });
    strbuf_clear(&setup.calls);
    answer(&setup, FAILED);
    assert_calls(&setup, "server read p");
    assert_int_not_equal(fixture_pod(&setup.e.f, "p")->row, ROW_NONE);
    answer(&setup, (struct answer){ .kind = ANSWER_DONE, .node = STR("a"), .uid = STR("u-p") });
    assert_int_equal(engine_bindings(&setup.e.engine), 0);
    assert_int_not_equal(fixture_pod(&setup.e.f, "p")->row, ROW_NONE);
    setup_release(&setup);
}

static void test_bind_failed(void **state)
{
    (void)state;
    struct setup setup;
    begin_bind(&setup, (struct script){ 0 });
    answer(&setup, FAILED);
    answer(&setup, (struct answer){ .kind = ANSWER_DONE, .uid = STR("u-p") }); /* the pod has no node */
    assert_int_equal(engine_bindings(&setup.e.engine), 0);
    assert_int_equal(fixture_pod(&setup.e.f, "p")->row, ROW_NONE);
    assert_non_null(queue_find(&setup.e.engine.queue, fixture_pod(&setup.e.f, "p")));
    setup_release(&setup);
}

/* When an ignorable extender fails, the scheduler binds the pod itself. */
static void test_bind_ignorable(void **state)
{
    (void)state;
    struct setup setup;
    begin_bind(&setup, (struct script){ .ignorable = true });
    answer(&setup, FAILED);
    answer(&setup, (struct answer){ .kind = ANSWER_DONE, .uid = STR("u-p") });
    assert_calls(&setup, "X binds p to a; server read p; server bind p");
    answer(&setup, (struct answer){ .kind = ANSWER_DONE });
    assert_int_equal(engine_bindings(&setup.e.engine), 0);
    assert_int_not_equal(fixture_pod(&setup.e.f, "p")->row, ROW_NONE);
    setup_release(&setup);
}

static void test_bind_without_managed_resource(void **state)
{
    (void)state;
    struct setup setup;
    begin_bind(&setup, (struct script){ .managed = "x.io/y" });
    assert_calls(&setup, "server bind p");
    setup_release(&setup);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_requeued_by_any_event),
        cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_bind_lost),
        cmocka_unit_test(test_bind_failed),
        cmocka_unit_test(test_bind_ignorable),
        cmocka_unit_test(test_bind_without_managed_resource),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
