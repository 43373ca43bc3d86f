/* The engine and its extenders, without a network: who is asked in which order and about what, and what comes of the
 * answers. Extenders are scripted; what they are asked is written down. */
#include "support/engine_fixture.h"

#include "engine/binding.h"
#include "framework/extender.h"
#include "preempt/preempt.h"

enum { EXTENDERS_MAX = 3 };

/* What a scripted extender does. Nodes are letters. */
struct script {
    const char *name;
    const char *managed; /* resource; NULL: every pod */
    bool ignorable, binds;
    const char *pass;   /* filter: these; NULL: it does not filter */
    const char *refuse; /* "a:why,b!why" */
    const char *scores; /* "a=5,b=-1"; NULL: it does not score */
    int64_t weight;
    const char *victims; /* "a:pod+pod,b:"; NULL: it does not preempt */
    const char *error;   /* every call fails so */
};

struct fake {
    struct extender base;
    struct script script;
    struct managed_resource managed;
    struct stage *stage;
};

struct stage {
    struct engine_fixture e;
    struct fake fakes[EXTENDERS_MAX];
    struct extender *items[EXTENDERS_MAX];
    struct extenders table;
    struct strbuf asked;
    struct effect effects[8]; /* without texts */
    size_t effects_len;
};

static struct fake *fake_of(struct extender *extender)
{
    return container_of(extender, struct fake, base);
}

static void note(struct fake *fake, const char *verb, const struct cluster *cluster, struct row_list nodes)
{
    struct strbuf *out = &fake->stage->asked;
    strbuf_printf(out, "%s%s %s", out->len ? "; " : "", fake->script.name, verb);
    for (uint32_t i = 0; i < nodes.len; i++)
        strbuf_printf(out, " " STR_FMT, STR_ARG(cluster_node_name(cluster, nodes.items[i])));
}

static int fails(const struct fake *fake, struct error *err)
{
    return fake->script.error ? error_set(err, -EIO, "%s", fake->script.error) : 0;
}

static uint32_t row_of(const struct cycle *cycle, struct str name)
{
    return cluster_row(cycle->cluster, name);
}

static int fake_filter(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                       struct extender_filtered *ret, struct error *err)
{
    struct fake *fake = fake_of(extender);
    struct str rest = str_from(fake->script.refuse), part;
    *ret = (struct extender_filtered){ .rows = arena_array(cycle->arena, uint32_t, nodes.len),
                                       .refusals = arena_array(cycle->arena, struct extender_refusal, 8) };
    note(fake, "filter", cycle->cluster, nodes);
    for (uint32_t i = 0; i < nodes.len; i++)
        if (strchr(fake->script.pass, cluster_node_name(cycle->cluster, nodes.items[i]).ptr[0]))
            ret->rows[ret->len++] = nodes.items[i];
    while ((part = next_part(&rest, ',')).ptr)
        ret->refusals[ret->refusals_len++] =
            (struct extender_refusal){ row_of(cycle, str_slice(part, 0, 1)), part.ptr[1] == '!',
                                       str_slice(part, 2, part.len) };
    return fails(fake, err);
}

static void fake_begin_score(struct extender *extender, struct cycle *cycle, struct row_list nodes)
{
    note(fake_of(extender), "scores", cycle->cluster, nodes);
}

static int fake_end_score(struct extender *extender, struct cycle *cycle, struct row_list nodes,
                          struct extender_scores *ret, struct error *err)
{
    struct fake *fake = fake_of(extender);
    struct str rest = str_from(fake->script.scores), part;
    *ret = (struct extender_scores){ .items = arena_array(cycle->arena, struct extender_score, 8) };
    note(fake, "told", cycle->cluster, (struct row_list){ NULL, 0 });
    (void)nodes;
    while ((part = next_part(&rest, ',')).ptr) {
        struct extender_score *score = &ret->items[ret->len++];
        score->row = row_of(cycle, str_slice(part, 0, 1));
        assert_true(str_to_int64(str_slice(part, 2, part.len), &score->score));
    }
    return fails(fake, err);
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

/* Candidates come in any order. */
static int fake_preempt(struct extender *extender, struct cycle *cycle,
                        const struct preempt_candidate *candidates, uint32_t len,
                        struct preempt_candidate **ret, uint32_t *ret_len, struct error *err)
{
    struct fake *fake = fake_of(extender);
    struct str rest = str_from(fake->script.victims), part;
    uint32_t rows[8];
    for (uint32_t i = 0; i < len; i++)
        rows[i] = candidates[i].row;
    qsort(rows, len, sizeof(*rows), by_row);
    note(fake, "preempts", cycle->cluster, (struct row_list){ rows, len });
    *ret = arena_array(cycle->arena, struct preempt_candidate, 8);
    *ret_len = 0;
    while ((part = next_part(&rest, ',')).ptr)
        read_victims(cycle, part, &(*ret)[(*ret_len)++]);
    return fails(fake, err);
}

/* Effects stay until the test answers them. */
static void take_effect(struct stage *stage, const struct effect *effect)
{
    if (!effect->ticket)
        return;
    assert_true(stage->effects_len < ARRAY_SIZE(stage->effects));
    stage->effects[stage->effects_len++] = (struct effect){ .kind = effect->kind, .ticket = effect->ticket };
}

static void fake_bind(struct extender *extender, const struct effect *effect)
{
    struct fake *fake = fake_of(extender);
    struct strbuf *out = &fake->stage->asked;
    strbuf_printf(out, "%s%s binds " STR_FMT " to " STR_FMT, out->len ? "; " : "", fake->script.name,
                  STR_ARG(effect->name), STR_ARG(effect->node));
    take_effect(fake->stage, effect);
}

static const struct extender_calls calls = { fake_filter, fake_begin_score, fake_end_score, fake_preempt,
                                             fake_bind };

static void emit(void *context, const struct effect *effect)
{
    struct stage *stage = context;
    if (effect->kind != EFFECT_EVENT && effect->kind != EFFECT_POD_STATUS)
        strbuf_printf(&stage->asked, "%sserver %s " STR_FMT, stage->asked.len ? "; " : "",
                      effect_kind_names[effect->kind], STR_ARG(effect->name));
    take_effect(stage, effect);
}

/* ---- the stage ---- */
static void stage_init(struct stage *stage, const struct script *scripts, bool live, const char *config)
{
    *stage = (struct stage){ .table.items = stage->items };
    for (uint32_t i = 0; i < EXTENDERS_MAX && scripts[i].name; i++) {
        const struct script *script = &scripts[i];
        struct fake *fake = &stage->fakes[i];
        fake->script = *script;
        fake->stage = stage;
        fake->managed = (struct managed_resource){ .name = str_from(script->managed) };
        fake->base = (struct extender){ .calls = &calls,
                                        .name = str_from(script->name),
                                        .filters = script->pass,
                                        .prioritizes = script->scores,
                                        .preempts = script->victims,
                                        .binds = script->binds,
                                        .ignorable = script->ignorable,
                                        .weight = script->weight,
                                        .managed = &fake->managed,
                                        .managed_len = script->managed != NULL };
        stage->items[stage->table.len++] = &fake->base;
    }
    struct engine_options options = { .extenders = &stage->table,
                                      .slowest = PATH_INDEX,
                                      .now_ns = NS_PER_SECOND };
    if (live)
        options.host = (struct engine_host){ .emit = emit, .context = stage };
    engine_fixture_init(&stage->e, config, &options);
}

static void stage_release(struct stage *stage)
{
    engine_fixture_release(&stage->e);
    strbuf_release(&stage->asked);
}

#define NODE(name) \
    "{kind: Node, metadata: {name: " name \
    "}, status: {allocatable: {cpu: 2, memory: 4Gi, pods: 20, x.io/y: 5}}}\n---\n"
#define POD(name, cpu, more) \
    "{kind: Pod, metadata: {name: " name ", uid: u-" name \
    "}, spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]" more "}}"

/* ---- where a pod goes ---- */
struct choice_case {
    const char *name;
    struct script scripts[EXTENDERS_MAX];
    const char *pod; /* NULL: a small one */
    const char *asked, *node;
    const char *message; /* how it begins */
    const char *config;
};

static const struct choice_case choice_cases[] = {
    { "an extender decides", { { .name = "X", .pass = "b" } }, .asked = "X filter a b c", .node = "b" },
    { "one after another",
      { { .name = "X", .pass = "bc" }, { .name = "Y", .pass = "ac" } },
      .asked = "X filter a b c; Y filter b c",
      .node = "c" },
    { "nobody is left to ask about",
      { { .name = "X", .pass = "", .refuse = "a:too hot,b:too hot,c!too old" },
        { .name = "Y", .pass = "abc" } },
      .asked = "X filter a b c",
      .message = "0/3 nodes are available: 1 too old, 2 too hot. " },
    { "refused without a word",
      { { .name = "X", .pass = "" } },
      .asked = "X filter a b c",
      .message = "0/3 nodes are available: " },
    { "an extender that fails",
      { { .name = "X", .pass = "abc", .error = "out of order" } },
      .asked = "X filter a b c",
      .message = "out of order" },
    { "an extender that may fail",
      { { .name = "X", .pass = "b" },
        { .name = "Y", .ignorable = true, .pass = "", .error = "out of order" } },
      .asked = "X filter a b c; Y filter b",
      .node = "b" },
    { "scores, asked all at once",
      { { .name = "X", .scores = "a=1,b=2", .weight = 1 },
        { .name = "Y", .scores = "a=1,c=9", .weight = 1 } },
      .asked = "X scores a b c; Y scores a b c; X told; Y told",
      .node = "c" },
    { "weights",
      { { .name = "X", .scores = "a=9", .weight = 1 }, { .name = "Y", .scores = "b=1", .weight = 10 } },
      .asked = "X scores a b c; Y scores a b c; X told; Y told",
      .node = "b" },
    { "a score for a node that is out",
      { { .name = "X", .pass = "ab", .scores = "a=1,c=10", .weight = 1 } },
      .asked = "X filter a b c; X scores a b; X told",
      .node = "a" },
    { "a sum",
      { { .name = "X", .scores = "a=3,b=2,b=2", .weight = 1 } },
      .asked = "X scores a b c; X told",
      .node = "b" },
    { "out of any range",
      { { .name = "X", .scores = "a=9223372036854775807,b=90000000000000000,c=0", .weight = 1 } },
      .asked = "X scores a b c; X told", /* a wraps around below zero */
      .node = "b" },
    { "scores that fail",
      { { .name = "X", .scores = "a=9", .weight = 9, .error = "no" },
        { .name = "Y", .scores = "c=1", .weight = 1 } },
      .asked = "X scores a b c; Y scores a b c; X told; Y told",
      .node = "c" },
    { "one node needs no score",
      { { .name = "X", .pass = "c", .scores = "a=9", .weight = 1 } },
      .asked = "X filter a b c",
      .node = "c" },
    { "not interested",
      { { .name = "X", .managed = "x.io/y", .pass = "" }, { .name = "Y", .pass = "a" } },
      .asked = "Y filter a b c",
      .node = "a" },
    { "interested",
      { { .name = "X", .managed = "x.io/y", .pass = "c" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c, resources: {limits: "
             "{x.io/y: 1}, requests: {x.io/y: 1}}}]}}",
      .asked = "X filter a b c",
      .node = "c" },
    { "interested in the beginning of a pod",
      { { .name = "X", .managed = "x.io/y", .pass = "c" } },
      .pod =
          "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {initContainers: [{name: i, resources: {limits: "
          "{x.io/y: 1}}}], containers: [{name: c}]}}",
      .asked = "X filter a b c",
      .node = "c" },
    { "a nominated node is asked about first",
      { { .name = "X", .pass = "b" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c}]}, status: "
             "{nominatedNodeName: b}}",
      .asked = "X filter b",
      .node = "b" },
    { "a nominated node is refused",
      { { .name = "X", .pass = "c" } },
      .pod = "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {containers: [{name: c}]}, status: "
             "{nominatedNodeName: b}}",
      .asked = "X filter b; X filter a b c",
      .node = "c" },
    { "nobody else scores",
      { { .name = "X", .pass = "bc" } },
      .config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
                "- plugins: {score: {disabled: [{name: '*'}]}, preScore: {disabled: [{name: '*'}]}}\n",
      .asked = "X filter a b c" },
};

static void run_choice(const struct choice_case *c)
{
    struct stage stage;
    stage_init(&stage, c->scripts, false, c->config);
    fixture_load(&stage.e.f, NODE("a") NODE("b") NODE("c"));
    engine_fixture_add(&stage.e, c->pod ? c->pod : POD("p", "1", ""));
    struct decision decision = engine_fixture_step(&stage.e);
    const char *asked = stage.asked.text ? stage.asked.text : "";
    struct str node =
        decision.row == ROW_NONE ? STR("") : cluster_node_name(&stage.e.f.cluster, decision.row);
    if (strcmp(asked, c->asked) != 0)
        fail_msg("%s: asked \"%s\", want \"%s\"", c->name, asked, c->asked);
    if (c->node && !str_is(node, c->node))
        fail_msg("%s: got \"" STR_FMT "\" (" STR_FMT "), want %s", c->name, STR_ARG(node),
                 STR_ARG(decision.message), c->node);
    if (c->message && !str_starts_with(decision.message, str_from(c->message)))
        fail_msg("%s: says \"" STR_FMT "\"", c->name, STR_ARG(decision.message));
    stage_release(&stage);
}

static void test_choice(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(choice_cases); i++)
        run_choice(&choice_cases[i]);
}

/* A pod that no extender cares for is decided as fast as ever. */
static void test_path(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, (struct script[EXTENDERS_MAX]){ { .name = "X", .managed = "x.io/y", .pass = "a" } },
               false, NULL);
    fixture_load(&stage.e.f, NODE("a") NODE("b") NODE("c"));
    engine_fixture_add(&stage.e, POD("p", "1", ""));
    assert_int_not_equal(engine_fixture_step(&stage.e).path, PATH_PLAIN);
    engine_fixture_add(&stage.e, "{kind: Pod, metadata: {name: q}, spec: {containers: [{name: c, resources: "
                                 "{requests: {x.io/y: 1}}}]}}");
    assert_int_equal(engine_fixture_step(&stage.e).path, PATH_PLAIN);
    stage_release(&stage);
}

/* Whom an extender rejected, any event wakes. */
static void test_woken_by_anything(void **state)
{
    (void)state;
    struct stage stage;
    stage_init(&stage, (struct script[EXTENDERS_MAX]){ { .name = "X", .pass = "" } }, false, NULL);
    fixture_load(&stage.e.f, NODE("a"));
    struct pod_info *pod = engine_fixture_add(&stage.e, POD("p", "1", ""));
    struct decision decision = engine_fixture_step(&stage.e);
    assert_str(
        profile_plugin_names(&stage.e.engine.profiles[0], decision.unschedulable_plugins, &stage.e.f.arena),
        "Extender");
    assert_int_equal(queue_find(&stage.e.engine.queue, pod)->place, QUEUE_UNSCHEDULABLE);
    engine_event(&stage.e.engine,
                 &(struct cluster_event){ .resource = EVENT_STORAGE_CLASS, .actions = ACTION_ADD },
                 stage.e.now_ns);
    assert_int_equal(queue_find(&stage.e.engine.queue, pod)->place, QUEUE_BACKOFF);
    stage_release(&stage);
}

/* ---- who leaves ---- */
static const struct {
    const char *name;
    struct script scripts[EXTENDERS_MAX];
    const char *asked, *node, *victims, *message;
} preempt_cases[] = {
    { "another node than the best",
      { { .name = "X", .victims = "b:b1" } },
      .asked = "X preempts a b",
      .node = "b",
      .victims = "b1" },
    { "other victims",
      { { .name = "X", .victims = "b:b1+b2" } },
      .asked = "X preempts a b",
      .node = "b",
      .victims = "b1 b2" },
    { "one after another",
      { { .name = "X", .victims = "b:b1" }, { .name = "Y", .victims = "b:b2" } },
      .asked = "X preempts a b; Y preempts b",
      .node = "b",
      .victims = "b2" },
    { "no candidate is left",
      { { .name = "X", .victims = "" }, { .name = "Y", .victims = "b:b2" } },
      .asked = "X preempts a b",
      .message = "preemption: no candidate node for preemption" },
    { "a node without victims",
      { { .name = "X", .victims = "a:,b:b1" } },
      .asked = "X preempts a b",
      .message = "preemption: expected at least one victim pod on node \"a\"" },
    { "a node without victims, which does not matter",
      { { .name = "X", .ignorable = true, .victims = "a:,b:b1" } },
      .asked = "X preempts a b",
      .node = "b",
      .victims = "b1" },
    { "an extender that fails",
      { { .name = "X", .victims = "b:b1", .error = "out of order" } },
      .asked = "X preempts a b",
      .message = "preemption: out of order" },
    { "an extender that may fail",
      { { .name = "X", .ignorable = true, .victims = "b:b1", .error = "out of order" } },
      .asked = "X preempts a b",
      .node = "a",
      .victims = "a1" },
    { "not interested",
      { { .name = "X", .managed = "x.io/y", .victims = "b:b1" } },
      .asked = "",
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
        struct stage stage;
        struct strbuf victims = { 0 };
        stage_init(&stage, preempt_cases[i].scripts, false, NULL);
        fixture_load(&stage.e.f, NODE("a") NODE("b") POD("a1", "2", ", nodeName: a") "\n---\n" POD(
                                     "b1", "1", ", nodeName: b") "\n---\n" POD("b2", "1", ", nodeName: b"));
        engine_fixture_add(&stage.e, POD("p", "2", ", priority: 10"));
        struct decision decision = engine_fixture_step(&stage.e);
        assert_str(strbuf_slice(&stage.asked), preempt_cases[i].asked);
        show_victims(&victims, &decision);
        struct str node = decision.nominated_row == ROW_NONE
                              ? STR("")
                              : cluster_node_name(&stage.e.f.cluster, decision.nominated_row);
        const char *want_node = preempt_cases[i].node, *want_victims = preempt_cases[i].victims;
        if (!str_is(node, want_node ? want_node : "") ||
            !str_is(strbuf_slice(&victims), want_victims ? want_victims : ""))
            fail_msg("%s: " STR_FMT " %s", preempt_cases[i].name, STR_ARG(node), victims.text);
        if (preempt_cases[i].message && !str_ends_with(decision.message, str_from(preempt_cases[i].message)))
            fail_msg("%s: says \"" STR_FMT "\"", preempt_cases[i].name, STR_ARG(decision.message));
        strbuf_release(&victims);
        stage_release(&stage);
    }
}

/* ---- who binds ---- */
/* Answers the oldest effect. */
static void answer(struct stage *stage, struct answer answer)
{
    assert_true(stage->effects_len > 0);
    uint64_t ticket = stage->effects[0].ticket;
    memmove(stage->effects, stage->effects + 1, --stage->effects_len * sizeof(*stage->effects));
    engine_answer(&stage->e.engine, ticket, &answer, stage->e.now_ns);
}

static void begin_bind(struct stage *stage, struct script script)
{
    script.name = "X";
    script.binds = true;
    stage_init(stage, (struct script[EXTENDERS_MAX]){ script }, true, NULL);
    fixture_load(&stage->e.f, NODE("a"));
    engine_fixture_add(&stage->e, POD("p", "1", ""));
    engine_fixture_step(&stage->e);
}

static void assert_asked(struct stage *stage, const char *want)
{
    assert_str(strbuf_slice(&stage->asked), want);
    strbuf_clear(&stage->asked);
}

#define FAILED ((struct answer){ .kind = ANSWER_REFUSED, .message = STR("too slow") })

static void test_bind(void **state)
{
    (void)state;
    struct stage stage;
    begin_bind(&stage, (struct script){ 0 });
    assert_asked(&stage, "X binds p to a");
    answer(&stage, (struct answer){ .kind = ANSWER_DONE });
    assert_int_equal(engine_bindings(&stage.e.engine), 0);
    assert_int_not_equal(fixture_pod(&stage.e.f, "p")->row, ROW_NONE);
    stage_release(&stage);
}

/* The answer is lost: the pod keeps its room until the API server has said where it is. */
static void test_bind_lost(void **state)
{
    (void)state;
    struct stage stage;
    begin_bind(&stage, (struct script){ 0 });
    strbuf_clear(&stage.asked);
    answer(&stage, FAILED);
    assert_asked(&stage, "server read p");
    assert_int_not_equal(fixture_pod(&stage.e.f, "p")->row, ROW_NONE);
    answer(&stage, (struct answer){ .kind = ANSWER_DONE, .node = STR("a"), .uid = STR("u-p") });
    assert_int_equal(engine_bindings(&stage.e.engine), 0);
    assert_int_not_equal(fixture_pod(&stage.e.f, "p")->row, ROW_NONE);
    stage_release(&stage);
}

static void test_bind_failed(void **state)
{
    (void)state;
    struct stage stage;
    begin_bind(&stage, (struct script){ 0 });
    answer(&stage, FAILED);
    answer(&stage, (struct answer){ .kind = ANSWER_DONE, .uid = STR("u-p") }); /* it has no node */
    assert_int_equal(engine_bindings(&stage.e.engine), 0);
    assert_int_equal(fixture_pod(&stage.e.f, "p")->row, ROW_NONE);
    assert_non_null(queue_find(&stage.e.engine.queue, fixture_pod(&stage.e.f, "p")));
    stage_release(&stage);
}

/* One that may fail: the scheduler binds by itself. */
static void test_bind_ignorable(void **state)
{
    (void)state;
    struct stage stage;
    begin_bind(&stage, (struct script){ .ignorable = true });
    answer(&stage, FAILED);
    answer(&stage, (struct answer){ .kind = ANSWER_DONE, .uid = STR("u-p") });
    assert_asked(&stage, "X binds p to a; server read p; server bind p");
    answer(&stage, (struct answer){ .kind = ANSWER_DONE });
    assert_int_equal(engine_bindings(&stage.e.engine), 0);
    assert_int_not_equal(fixture_pod(&stage.e.f, "p")->row, ROW_NONE);
    stage_release(&stage);
}

static void test_bind_not_interested(void **state)
{
    (void)state;
    struct stage stage;
    begin_bind(&stage, (struct script){ .managed = "x.io/y" });
    assert_asked(&stage, "server bind p");
    stage_release(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_woken_by_anything),
        cmocka_unit_test(test_preempt),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_bind_lost),
        cmocka_unit_test(test_bind_failed),
        cmocka_unit_test(test_bind_ignorable),
        cmocka_unit_test(test_bind_not_interested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
