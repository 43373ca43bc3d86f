/* The plain path: which plugins are called, in which order, and what follows from their statuses. The texts are
 * those of kube-scheduler. */
#include "support/fixture.h"

/* ---- scripted plugins ---- */
enum { ACTORS = 3 };

struct act {
    enum status_code code;
    const char *reason;
    const char *names; /* PreFilter: the nodes it narrows to, separated by spaces; NULL: all */
    int64_t score;
    int64_t timeout_ms;
    uint32_t nominates; /* PostFilter: a row + 1 */
    bool clears;
};

static struct act acts[ACTORS];
static struct strbuf trace;

static struct status play(struct cycle *cycle, const char *what)
{
    const struct act *act = &acts[cycle->current->index];
    strbuf_printf(&trace, "%s%s %u", trace.len ? ", " : "", what, cycle->current->index + 1);
    if (act->reason)
        return status_printf(cycle->arena, act->code, "%s", act->reason);
    return (struct status){ .code = act->code };
}

static struct status act_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    const char *names = acts[cycle->current->index].names;
    if (names) {
        struct str rest = str_from(names);
        *narrow = (struct node_names){ .items = arena_array(cycle->arena, struct str, 8) };
        for (struct str name; (name = next_part(&rest, ' ')).ptr;)
            narrow->items[narrow->len++] = name;
    }
    return play(cycle, "prefilter");
}

static void act_add_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    (void)pod, (void)node;
    play(cycle, "add");
}

static void act_remove_pod(struct cycle *cycle, const struct pod_info *pod, struct node_view node)
{
    (void)pod, (void)node;
    play(cycle, "remove");
}

static struct status act_filter(struct cycle *cycle, struct node_view node)
{
    (void)node;
    return play(cycle, "filter");
}

static struct status act_post_filter(struct cycle *cycle, struct diagnosis *diagnosis,
                                     struct post_filter_result *ret)
{
    const struct act *act = &acts[cycle->current->index];
    (void)diagnosis;
    ret->nominated_row = act->nominates ? act->nominates - 1 : ROW_NONE;
    ret->clear_nomination = act->clears;
    return play(cycle, "postfilter");
}

static struct status act_pre_score(struct cycle *cycle)
{
    struct status status = play(cycle, "prescore");
    return status.code == STATUS_SKIP || status.code == STATUS_WAIT
               ? status
               : STATUS_OK; /* other codes take effect in Score */
}

static struct status act_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    *ret = acts[cycle->current->index].score * (node.row + 1);
    return play(cycle, "score");
}

static struct status act_reserve(struct cycle *cycle, uint32_t row)
{
    (void)row;
    return play(cycle, "reserve");
}

static void act_unreserve(struct cycle *cycle, uint32_t row)
{
    (void)row;
    play(cycle, "unreserve");
}

static struct status act_permit(struct cycle *cycle, uint32_t row, int64_t *ret_timeout_ms)
{
    (void)row;
    *ret_timeout_ms = acts[cycle->current->index].timeout_ms;
    return play(cycle, "permit");
}

static struct status act_pre_bind(struct cycle *cycle, uint32_t row)
{
    (void)row;
    return play(cycle, "prebind");
}

static struct status act_bind(struct cycle *cycle, uint32_t row)
{
    (void)row;
    return play(cycle, "bind");
}

static void act_post_bind(struct cycle *cycle, uint32_t row)
{
    (void)row;
    play(cycle, "postbind");
}

#define ACTOR(actor_name) \
    { .name = actor_name, \
      .pre_filter = act_pre_filter, \
      .add_pod = act_add_pod, \
      .remove_pod = act_remove_pod, \
      .filter = act_filter, \
      .post_filter = act_post_filter, \
      .pre_score = act_pre_score, \
      .score = act_score, \
      .reserve = act_reserve, \
      .unreserve = act_unreserve, \
      .permit = act_permit, \
      .pre_bind = act_pre_bind, \
      .bind = act_bind, \
      .post_bind = act_post_bind }
static const struct plugin actors[ACTORS] = { ACTOR("One"), ACTOR("Two"), ACTOR("Three") };

static void setup(struct fixture *f)
{
    FIXTURE(f, NULL, &actors[0], &actors[1], &actors[2]);
    fixture_load(f, "{kind: Node, metadata: {name: a}}\n---\n{kind: Node, metadata: {name: b}}");
    fixture_cycle(f, "{kind: Pod, metadata: {name: p, uid: u-p}, spec: {priority: 5}}");
    memset(acts, 0, sizeof(acts));
    strbuf_clear(&trace);
}

static void check(const char *name, struct fixture *f, struct status got, enum status_code code,
                  const char *message, const char *blames)
{
    struct str text = status_message(got, &f->arena);
    if (got.code != code || !str_is(text, message ? message : ""))
        fail_msg("%s: got %s \"" STR_FMT "\", want %s \"%s\"", name, status_code_name(got.code),
                 STR_ARG(text), status_code_name(code), message ? message : "");
    if (blames && (!got.plugin || strcmp(got.plugin->name, blames)))
        fail_msg("%s: blames %s, want %s", name, got.plugin ? got.plugin->name : "no plugin", blames);
}

static void check_trace(const char *name, const char *want)
{
    if (strcmp(trace.len ? trace.text : "", want))
        fail_msg("%s: did %s, want %s", name, trace.len ? trace.text : "nothing", want);
}

/* ---- PreFilter ---- */
struct pre_filter_case {
    const char *name;
    struct act acts[ACTORS];
    enum status_code code;
    const char *message;
    const char *names; /* NULL: all */
    uint64_t blamed, skipped;
    const char *blames, *trace;
};

#define ALL_THREE "prefilter 1, prefilter 2, prefilter 3"

static const struct pre_filter_case pre_filters[] = {
    { "all succeed", .trace = ALL_THREE },
    { "one narrows", { { 0 }, { .names = "a c" } }, .names = "a c", .blamed = 2, .trace = ALL_THREE },
    { "the intersection",
      { { .names = "a b c d" }, { 0 }, { .names = "b d e" } },
      .names = "b d",
      .blamed = 5,
      .trace = ALL_THREE },
    { "three narrow",
      { { .names = "a b c" }, { .names = "b c d" }, { .names = "a c d" } },
      .names = "c",
      .blamed = 7,
      .trace = ALL_THREE },
    { "one narrows to no node",
      { { 0 }, { .names = "" } },
      STATUS_UNRESOLVABLE,
      "node(s) didn't satisfy plugin Two",
      "",
      2,
      .trace = "prefilter 1, prefilter 2" },
    { "two narrow to no common node",
      { { .names = "b" }, { .names = "a c" } },
      STATUS_UNRESOLVABLE,
      "node(s) didn't satisfy plugin(s) [One Two] simultaneously",
      "",
      3,
      .trace = "prefilter 1, prefilter 2" },
    { "names are sorted",
      { { .names = "b" }, { 0 }, { .names = "a" } },
      STATUS_UNRESOLVABLE,
      "node(s) didn't satisfy plugin(s) [One Three] simultaneously",
      "",
      5,
      .trace = ALL_THREE },
    { "skipped", { { STATUS_SKIP }, { 0 }, { STATUS_SKIP } }, .skipped = 5, .trace = ALL_THREE },
    { "a plugin that skips does not narrow",
      { { STATUS_SKIP, .names = "a" } },
      .skipped = 1,
      .trace = ALL_THREE },
    { "an unresolvable status ends it",
      { { .names = "a" }, { STATUS_UNRESOLVABLE, "never" } },
      STATUS_UNRESOLVABLE,
      "never",
      "a",
      0,
      0,
      "Two",
      "prefilter 1, prefilter 2" },
    { "others are still called after an unschedulable status",
      { { STATUS_UNSCHEDULABLE, "not now" }, { STATUS_SKIP } },
      STATUS_UNSCHEDULABLE,
      "not now",
      NULL,
      0,
      2,
      "One",
      ALL_THREE },
    { "the last status is kept",
      { { STATUS_UNSCHEDULABLE, "first" }, { STATUS_UNSCHEDULABLE, "second" } },
      STATUS_UNSCHEDULABLE,
      "second",
      NULL,
      0,
      0,
      "Two",
      ALL_THREE },
    { "an error",
      { { 0 }, { STATUS_ERROR, "oops" } },
      STATUS_ERROR,
      "running PreFilter plugin \"Two\": oops",
      NULL,
      0,
      0,
      "Two",
      "prefilter 1, prefilter 2" },
    { "a status that is invalid here",
      { { STATUS_WAIT, "wait" } },
      STATUS_ERROR,
      "running PreFilter plugin \"One\": wait",
      NULL,
      0,
      0,
      "One",
      "prefilter 1" },
};

static void test_pre_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(pre_filters); i++) {
        const struct pre_filter_case *test = &pre_filters[i];
        _cleanup_(strbuf_release) struct strbuf got = { 0 };
        struct fixture f;
        struct node_names names;
        uint64_t blamed;
        setup(&f);
        memcpy(acts, test->acts, sizeof(acts));
        check(test->name, &f, run_pre_filter(&f.cycle, &names, &blamed), test->code, test->message,
              test->blames);
        check_trace(test->name, test->trace);
        strbuf_puts(&got, "");
        for (uint32_t n = 0; n < names.len; n++)
            strbuf_printf(&got, "%s" STR_FMT, n ? " " : "", STR_ARG(names.items[n]));
        if (names.all != !test->names || strcmp(got.len ? got.text : "", test->names ? test->names : ""))
            fail_msg("%s: left %s", test->name, names.all ? "all" : got.text);
        if (blamed != test->blamed || f.cycle.skip_filter != test->skipped)
            fail_msg("%s: blamed %llx, skipped %llx", test->name, (unsigned long long)blamed,
                     (unsigned long long)f.cycle.skip_filter);
        fixture_release(&f);
    }
}

/* ---- Filter ---- */
struct filter_case {
    const char *name;
    struct act acts[ACTORS];
    uint64_t skip;
    enum status_code code;
    const char *message, *blames, *trace;
};

static const struct filter_case filters[] = {
    { "all agree", .trace = "filter 1, filter 2, filter 3" },
    { "the first rejection",
      { { 0 }, { STATUS_UNSCHEDULABLE, "full" }, { STATUS_UNRESOLVABLE, "never" } },
      0,
      STATUS_UNSCHEDULABLE,
      "full",
      "Two",
      "filter 1, filter 2" },
    { "a plugin that skipped is not called",
      { { 0 }, { STATUS_UNSCHEDULABLE, "full" } },
      2,
      .trace = "filter 1, filter 3" },
    { "pending", { { STATUS_PENDING, "soon" } }, 0, STATUS_PENDING, "soon", "One", "filter 1" },
    { "an error",
      { { 0 }, { 0 }, { STATUS_ERROR, "oops" } },
      0,
      STATUS_ERROR,
      "running \"Three\" filter plugin: oops",
      "Three",
      "filter 1, filter 2, filter 3" },
    { "a status that is invalid here",
      { { STATUS_WAIT, "wait" } },
      0,
      STATUS_ERROR,
      "running \"One\" filter plugin: wait",
      "One",
      "filter 1" },
};

static void test_filters(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
        struct fixture f;
        setup(&f);
        memcpy(acts, filters[i].acts, sizeof(acts));
        f.cycle.skip_filter = filters[i].skip;
        check(filters[i].name, &f, run_filters(&f.cycle, fixture_view(&f, "a")), filters[i].code,
              filters[i].message, filters[i].blames);
        check_trace(filters[i].name, filters[i].trace);
        fixture_release(&f);
    }
}

/* ---- Filter with nominated pods ---- */
struct nominated_case {
    const char *name, *rival; /* nominated to a */
    bool counts;
};

#define NOMINATED(uid, priority) \
    "{kind: Pod, metadata: {name: rival, uid: " uid "}, spec: {priority: " priority \
    "}, status: {nominatedNodeName: a}}"

static const struct nominated_case nominated_cases[] = {
    { "higher priority", NOMINATED("u-r", "9"), true },
    { "the same priority", NOMINATED("u-r", "5"), true },
    { "lower priority", NOMINATED("u-r", "4"), false },
    { "is the pod itself", NOMINATED("u-p", "5"), false },
};

static void test_nominated_pods(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(nominated_cases); i++) {
        struct fixture f;
        setup(&f);
        fixture_load(&f, nominated_cases[i].rival);
        f.cycle.skip_filter = 4; /* a plugin that skipped has no state to change */
        uint32_t row = fixture_row(&f, "a");
        assert_int_equal(row_has_rivals(&f.cluster, row, f.cycle.info), nominated_cases[i].counts);
        assert_true(status_ok(run_filters_nominated(&f.cycle, row)));
        check_trace(nominated_cases[i].name,
                    nominated_cases[i].counts
                        ? "add 1, add 2, filter 1, filter 2, remove 1, remove 2, filter 1, filter 2"
                        : "filter 1, filter 2");
        strbuf_clear(&trace);
        assert_true(status_ok(run_filters_nominated(&f.cycle, fixture_row(&f, "b"))));
        check_trace(nominated_cases[i].name, "filter 1, filter 2");
        fixture_release(&f);
    }
}

/* The pod must fit beside the nominated pods; if it does not, it is not filtered without them. */
static void test_nominated_pods_reject(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    fixture_load(&f, NOMINATED("u-r", "9"));
    f.cycle.skip_filter = 6;
    acts[0] = (struct act){ STATUS_UNSCHEDULABLE, "full" };
    check("rejected", &f, run_filters_nominated(&f.cycle, fixture_row(&f, "a")), STATUS_UNSCHEDULABLE, "full",
          "One");
    check_trace("rejected", "add 1, filter 1, remove 1");
    fixture_release(&f);
}

/* ---- PostFilter ---- */
struct post_filter_case {
    const char *name;
    struct act acts[ACTORS];
    enum status_code code;
    const char *message;
    uint32_t nominates;
    bool clears;
    const char *blames, *trace;
};

static const struct post_filter_case post_filters[] = {
    { "no plugin helps",
      { { STATUS_UNSCHEDULABLE, "x" }, { STATUS_UNSCHEDULABLE, "z" }, { STATUS_UNSCHEDULABLE } },
      STATUS_UNSCHEDULABLE,
      "x, z",
      .blames = "One",
      .trace = "postfilter 1, postfilter 2, postfilter 3" },
    { "the first to help",
      { { STATUS_UNSCHEDULABLE, "x" }, { .nominates = 2 } },
      STATUS_SUCCESS,
      "",
      2,
      .trace = "postfilter 1, postfilter 2" },
    { "an unresolvable status ends it",
      { { STATUS_UNRESOLVABLE, "never", .clears = true } },
      STATUS_UNRESOLVABLE,
      "never",
      .clears = true,
      .blames = "One",
      .trace = "postfilter 1" },
    { "a nomination is cleared",
      { { STATUS_UNSCHEDULABLE, "x", .clears = true },
        { STATUS_UNSCHEDULABLE, "z" },
        { STATUS_UNSCHEDULABLE } },
      STATUS_UNSCHEDULABLE,
      "x, z",
      .clears = true,
      .blames = "One",
      .trace = "postfilter 1, postfilter 2, postfilter 3" },
    { "an error",
      { { STATUS_ERROR, "oops" } },
      STATUS_ERROR,
      "oops",
      .blames = "One",
      .trace = "postfilter 1" },
};

static void test_post_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(post_filters); i++) {
        const struct post_filter_case *test = &post_filters[i];
        struct fixture f;
        struct post_filter_result result;
        setup(&f);
        memcpy(acts, test->acts, sizeof(acts));
        check(test->name, &f, run_post_filter(&f.cycle, NULL, &result), test->code, test->message,
              test->blames);
        check_trace(test->name, test->trace);
        assert_int_equal(result.nominated_row, test->nominates ? test->nominates - 1 : ROW_NONE);
        assert_int_equal(result.clear_nomination, test->clears);
        fixture_release(&f);
    }
}

/* ---- Score ---- */
struct score_case {
    const char *name;
    struct act acts[ACTORS];
    int32_t weights[ACTORS];
    enum status_code code;
    const char *message;
    int64_t totals[2];
    uint64_t skipped;
};

static const struct score_case scores[] = {
    { "weighted and added up",
      { { .score = 1 }, { .score = 10 }, { .score = 50 } },
      { 1, 2, 3 },
      .totals = { 171, 342 } },
    { "skipped by PreScore",
      { { .score = 1 }, { STATUS_SKIP, .score = 10 }, { .score = 50 } },
      { 1, 2, 3 },
      .totals = { 151, 302 },
      .skipped = 2 },
    { "out of range",
      { { .score = 1 }, { .score = 51 } },
      { 1, 1, 1 },
      STATUS_ERROR,
      "applying score defaultWeights on Score plugins: plugin \"Two\" returns an invalid score 102, it "
      "should in the "
      "range of [0, 100] after normalizing" },
    { "negative",
      { { .score = -1 } },
      { 1, 1, 1 },
      STATUS_ERROR,
      "applying score defaultWeights on Score plugins: plugin \"One\" returns an invalid score -1, it should "
      "in the "
      "range of [0, 100] after normalizing" },
    { "an error",
      { { 0 }, { 0 }, { STATUS_ERROR, "oops" } },
      { 1, 1, 1 },
      STATUS_ERROR,
      "running Score plugins: plugin \"Three\" failed with: oops" },
    { "an error of PreScore",
      { { 0 }, { STATUS_WAIT, "oops" } },
      { 1, 1, 1 },
      STATUS_ERROR,
      "running PreScore plugin \"Two\": oops" },
};

static void test_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(scores); i++) {
        const struct score_case *test = &scores[i];
        struct fixture f;
        struct score_table table;
        setup(&f);
        memcpy(acts, test->acts, sizeof(acts));
        for (int p = 0; p < ACTORS; p++)
            f.profile.plugins[p].weight = test->weights[p];
        const uint32_t rows[] = { fixture_row(&f, "a"), fixture_row(&f, "b") };
        struct status status = run_scores(&f.cycle, (struct row_list){ rows, 2 }, &table);
        check(test->name, &f, status, test->code, test->message, NULL);
        for (int n = 0; n < 2 && status_ok(status); n++) {
            int64_t sum = 0;
            for (uint32_t p = 0; p < table.plugins; p++)
                sum += table.scores[(uint32_t)n * table.plugins + p];
            if (table.totals[n] != test->totals[n] || sum != test->totals[n])
                fail_msg("%s: node %d: got %lld", test->name, n, (long long)table.totals[n]);
        }
        assert_int_equal(f.cycle.skip_score, test->skipped);
        fixture_release(&f);
    }
}

static void test_no_scorers(void **state)
{
    (void)state;
    struct fixture f;
    struct score_table table;
    FIXTURE_BARE(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a}}");
    fixture_cycle(&f, "{kind: Pod, metadata: {name: p}}");
    assert_true(status_ok(run_scores(&f.cycle, (struct row_list){ (uint32_t[]){ 0 }, 1 }, &table)));
    assert_int_equal(table.totals[0], 1);
    fixture_release(&f);
}

/* ---- Reserve to PostBind ---- */
struct bind_case {
    const char *name;
    struct act acts[ACTORS];
    enum status_code code;
    const char *message, *blames, *trace;
};

static const struct bind_case reserves[] = {
    { "all reserve", .trace = "reserve 1, reserve 2, reserve 3" },
    { "one rejects",
      { { 0 }, { STATUS_UNSCHEDULABLE, "taken" } },
      STATUS_UNSCHEDULABLE,
      "taken",
      "Two",
      "reserve 1, reserve 2" },
    { "one fails",
      { { STATUS_ERROR, "oops" } },
      STATUS_ERROR,
      "running Reserve plugin \"One\": oops",
      "One",
      "reserve 1" },
};

static const struct bind_case binds[] = {
    { "the first binds", .trace = "bind 1" },
    { "the first that does not skip", { { STATUS_SKIP }, { 0 } }, .trace = "bind 1, bind 2" },
    { "all skip",
      { { STATUS_SKIP }, { STATUS_SKIP }, { STATUS_SKIP } },
      STATUS_ERROR,
      "every Bind plugin left it to the next, and none bound the pod",
      NULL,
      "bind 1, bind 2, bind 3" },
    { "it fails",
      { { STATUS_ERROR, "oops" } },
      STATUS_ERROR,
      "running Bind plugin \"One\": oops",
      "One",
      "bind 1" },
};

static struct status bind_at_first(struct cycle *cycle, uint32_t row)
{
    uint32_t resume = 0;
    return run_bind(cycle, row, &resume);
}

static void run_bind_cases(const struct bind_case *cases, size_t len,
                           struct status (*run)(struct cycle *, uint32_t))
{
    for (size_t i = 0; i < len; i++) {
        struct fixture f;
        setup(&f);
        memcpy(acts, cases[i].acts, sizeof(acts));
        check(cases[i].name, &f, run(&f.cycle, 0), cases[i].code, cases[i].message, cases[i].blames);
        check_trace(cases[i].name, cases[i].trace);
        fixture_release(&f);
    }
}

static void test_reserve_and_bind(void **state)
{
    (void)state;
    run_bind_cases(reserves, ARRAY_SIZE(reserves), run_reserve);
    run_bind_cases(binds, ARRAY_SIZE(binds), bind_at_first);
}

static void test_order_after_binding(void **state)
{
    (void)state;
    struct fixture f;
    struct permit_wait wait;
    uint32_t resume = 0;
    setup(&f);
    run_unreserve(&f.cycle, 0); /* unreserve runs in reverse order */
    run_post_bind(&f.cycle, 0);
    check_trace("end", "unreserve 3, unreserve 2, unreserve 1, postbind 1, postbind 2, postbind 3");
    strbuf_clear(&trace);
    acts[1] = (struct act){ STATUS_ERROR, "oops" };
    check("prebind", &f, run_pre_bind(&f.cycle, 0, &resume), STATUS_ERROR,
          "running PreBind plugin \"Two\": oops", "Two");
    check_trace("prebind", "prebind 1, prebind 2");
    strbuf_clear(&trace);
    acts[1] = (struct act){ STATUS_WAIT };
    check("prebind", &f, run_pre_bind(&f.cycle, 0, &resume), STATUS_WAIT, "", NULL);
    acts[1] = (struct act){ 0 };
    check("prebind", &f, run_pre_bind(&f.cycle, 0, &resume), STATUS_SUCCESS, "", NULL);
    check_trace("who waited goes on", "prebind 2, prebind 2, prebind 3");
    /* Every plugin may let the pod wait, each with its own timeout. */
    acts[0] = (struct act){ STATUS_WAIT, .timeout_ms = 5 };
    acts[1] = (struct act){ STATUS_WAIT, .timeout_ms = 9 };
    check("permit", &f, run_permit(&f.cycle, 0, &wait), STATUS_WAIT, "", "Two");
    assert_int_equal(wait.plugins, 3);
    assert_int_equal(wait.timeout_ms[0], 5);
    assert_int_equal(wait.timeout_ms[1], 9);
    acts[2] = (struct act){ STATUS_UNSCHEDULABLE, "no" };
    check("permit", &f, run_permit(&f.cycle, 0, &wait), STATUS_UNSCHEDULABLE, "no", "Three");
    fixture_release(&f);
}

/* ---- PreEnqueue ---- */
static const char *gate_reason;

static struct status gate(const void *self, const struct pod *pod, struct arena *arena)
{
    (void)self, (void)pod;
    return gate_reason ? status_printf(arena, STATUS_UNRESOLVABLE, "%s", gate_reason) : STATUS_OK;
}

static const struct plugin plugin_gate = { .name = "Gate", .pre_enqueue = gate };

static void test_pre_enqueue(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE(&f, NULL, &plugin_gate);
    fixture_load(&f, "{kind: Pod, metadata: {name: p}}");
    gate_reason = NULL;
    assert_true(status_ok(run_pre_enqueue(&f.profile, f.last_pod->api, false, NULL, &f.arena)));
    gate_reason = "held back";
    check("gate", &f, run_pre_enqueue(&f.profile, f.last_pod->api, false, NULL, &f.arena),
          STATUS_UNRESOLVABLE, "held back", "Gate");
    fixture_release(&f);
}

static int release_trace(void **state)
{
    (void)state;
    strbuf_release(&trace);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pre_filter),          cmocka_unit_test(test_filters),
        cmocka_unit_test(test_nominated_pods),      cmocka_unit_test(test_nominated_pods_reject),
        cmocka_unit_test(test_post_filter),         cmocka_unit_test(test_scores),
        cmocka_unit_test(test_no_scorers),          cmocka_unit_test(test_reserve_and_bind),
        cmocka_unit_test(test_order_after_binding), cmocka_unit_test(test_pre_enqueue),
    };
    return cmocka_run_group_tests(tests, NULL, release_trace);
}
