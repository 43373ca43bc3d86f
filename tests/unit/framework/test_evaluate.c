/* Which nodes are filtered, in which order, and when the search stops. */
#include "support/fixture.h"

/* ---- how many feasible nodes are enough ---- */
struct enough_case {
    uint32_t nodes;
    int32_t percentage;
    uint32_t want;
};

/* By hand from numFeasibleNodesToFind(): below 100 nodes all of them; 0 means 50% less one per 125 nodes, at least 5%;
 * never less than 100. */
static const struct enough_case enough[] = {
    { 0, 0, 0 },         { 1, 0, 1 },          { 99, 0, 99 },
    { 99, 10, 99 },      { 100, 0, 100 },      { 124, 0, 100 },
    { 200, 0, 100 },     { 209, 0, 102 },      { 249, 0, 122 },
    { 250, 0, 120 },     { 500, 0, 230 },      { 1000, 0, 420 },
    { 5000, 0, 500 },    { 5499, 0, 384 },     { 5625, 0, 281 },
    { 6000, 0, 300 },    { 15000, 0, 750 },    { 100, 1, 100 },
    { 150, 30, 100 },    { 1000, 30, 300 },    { 1001, 30, 300 },
    { 1000, 100, 1000 }, { 20000, 1, 200 },    { 9999, 1, 100 },
    { 10100, 1, 101 },   { 5, EVERY_NODE, 5 }, { 5000, EVERY_NODE, 5000 },
};

static struct status no_score(struct cycle *cycle, struct node_view node, int64_t *ret)
{
    (void)cycle, (void)node;
    *ret = 0;
    return STATUS_OK;
}

static const struct plugin plugin_scorer = { .name = "Scorer", .score = no_score };

static void test_enough(void **state)
{
    (void)state;
    struct fixture scored, bare;
    FIXTURE(&scored, NULL, &plugin_scorer);
    FIXTURE_BARE(&bare);
    for (size_t i = 0; i < ARRAY_SIZE(enough); i++) {
        uint32_t got = enough_nodes(&scored.profile, enough[i].nodes, enough[i].percentage);
        if (got != enough[i].want)
            fail_msg("%u nodes, %d%%: got %u, want %u", enough[i].nodes, enough[i].percentage, got,
                     enough[i].want);
        /* Without a Score plugin the first feasible node is enough. */
        if (enough[i].percentage != EVERY_NODE)
            assert_int_equal(enough_nodes(&bare.profile, enough[i].nodes, enough[i].percentage), 1);
    }
    fixture_release(&scored);
    fixture_release(&bare);
}

/* ---- a filter scripted by node name ---- */
static const char *rejected, *failing; /* names, with a space before and behind each */
static const char *narrowed;
static enum status_code pre_filter_code;
static struct strbuf filtered;

static bool names_it(const char *list, struct str name)
{
    char wanted[32];
    snprintf(wanted, sizeof(wanted), " " STR_FMT " ", STR_ARG(name));
    return list && strstr(list, wanted);
}

static struct status picky_pre_filter(struct cycle *cycle, struct node_names *narrow)
{
    if (narrowed) {
        struct str rest = str_from(narrowed);
        *narrow = (struct node_names){ .items = arena_array(cycle->arena, struct str, 8) };
        for (struct str name; (name = next_part(&rest, ' ')).ptr;)
            narrow->items[narrow->len++] = name;
    }
    return pre_filter_code ? status_printf(cycle->arena, pre_filter_code, "rejected at once") : STATUS_OK;
}

static struct status picky_filter(struct cycle *cycle, struct node_view node)
{
    strbuf_printf(&filtered, "%s" STR_FMT, filtered.len ? " " : "", STR_ARG(node_name(node)));
    if (names_it(failing, node_name(node)))
        return status_printf(cycle->arena, STATUS_ERROR, STR_FMT " broke", STR_ARG(node_name(node)));
    return names_it(rejected, node_name(node)) ? reject(STATUS_UNSCHEDULABLE, "rejected") : STATUS_OK;
}

static const struct plugin plugin_picky = {
    .name = "Picky", .pre_filter = picky_pre_filter, .filter = picky_filter, .score = no_score
};

struct evaluate_case {
    const char *name;
    const char *rejected, *failing, *narrowed;
    enum status_code pre_filter;
    const char *nominated; /* the pod's own nominated node */
    uint32_t start;
    int32_t percentage;
    const char *filtered, *feasible;
    uint32_t examined;
    const char *own;     /* the pod's own nominated node, where it is feasible */
    const char *message; /* NULL: not checked */
    const char *error;
};

static const struct evaluate_case cases[] = {
    { "in order", .filtered = "a b c d e", .feasible = "a b c d e", .examined = 5 },
    { "from the start position on", .start = 3, .filtered = "d e a b c", .feasible = "d e a b c",
      .examined = 5 },
    { "rejected", .rejected = " b d ", .filtered = "a b c d e", .feasible = "a c e", .examined = 5 },
    { "no feasible node", .rejected = " a b c d e ", .filtered = "a b c d e", .feasible = "", .examined = 5,
      .message = "0/5 nodes are available: 5 rejected." },
    { "narrowed, in order of names; unknown ones are ignored", .narrowed = "b d nowhere", .filtered = "b d",
      .feasible = "b d", .examined = 2 },
    { "narrowed, from the start position on", .narrowed = "b d e", .start = 4, .filtered = "d e b",
      .feasible = "d e b", .examined = 3 },
    { "narrowed, and rejected", .narrowed = "b d", .rejected = " b d ", .filtered = "b d", .feasible = "",
      .examined = 2,
      .message = "0/5 nodes are available: 2 rejected, 3 node(s) didn't satisfy plugin(s) [Picky]." },
    { "narrowed to nodes that are not there", .narrowed = "nowhere", .filtered = "", .feasible = "",
      .message = "0/5 nodes are available: 5 node(s) didn't satisfy plugin(s) [Picky]." },
    { "rejected by PreFilter", .pre_filter = STATUS_UNRESOLVABLE, .filtered = "", .feasible = "",
      .message = "0/5 nodes are available: rejected at once." },
    { "an error of PreFilter", .pre_filter = STATUS_ERROR, .filtered = "", .feasible = "",
      .error = "running PreFilter plugin \"Picky\": rejected at once" },
    { "the first error is reported", .failing = " b c ", .rejected = " a ", .filtered = "a b c d e",
      .feasible = "d e", .examined = 5, .error = "running \"Picky\" filter plugin: b broke" },
    { "a nominated node is enough", .nominated = "c", .filtered = "c", .feasible = "", .own = "c" },
    { "unless every node is requested", .nominated = "c", .percentage = EVERY_NODE, .filtered = "c a b c d e",
      .feasible = "a b c d e", .examined = 5, .own = "c" },
    { "a nominated node that does not fit", .nominated = "c", .rejected = " c ", .filtered = "c a b c d e",
      .feasible = "a b d e", .examined = 5 },
    { "a nominated node that fails", .nominated = "c", .failing = " c ", .filtered = "c a b c d e",
      .feasible = "a b d e", .examined = 5, .error = "running \"Picky\" filter plugin: c broke" },
    { "a nominated node that is not there", .nominated = "nowhere", .filtered = "a b c d e",
      .feasible = "a b c d e", .examined = 5 },
};

static void check_rows(const struct fixture *f, const char *name, const uint32_t *rows, uint32_t len,
                       const char *want)
{
    _cleanup_(strbuf_release) struct strbuf got = { 0 };
    strbuf_puts(&got, "");
    for (uint32_t i = 0; i < len; i++)
        strbuf_printf(&got, "%s" STR_FMT, i ? " " : "", STR_ARG(cluster_node_name(&f->cluster, rows[i])));
    if (strcmp(got.len ? got.text : "", want))
        fail_msg("%s: feasible are %s, want %s", name, got.text, want);
}

static void check_evaluation(struct fixture *f, const struct evaluate_case *test)
{
    struct evaluation evaluation;
    strbuf_clear(&filtered);
    run_evaluation(&f->cycle, test->start, test->percentage, &evaluation);
    if (strcmp(filtered.len ? filtered.text : "", test->filtered))
        fail_msg("%s: filtered %s, want %s", test->name, filtered.text, test->filtered);
    check_rows(f, test->name, evaluation.feasible, evaluation.feasible_len, test->feasible);
    if (evaluation.examined != test->examined)
        fail_msg("%s: %u examined, want %u", test->name, evaluation.examined, test->examined);
    assert_int_equal(evaluation.own_nomination, test->own ? fixture_row(f, test->own) : ROW_NONE);
    if (test->message)
        assert_str(diagnosis_message(&evaluation.diagnosis, 5), test->message);
    assert_int_equal(status_ok(evaluation.error), !test->error);
    if (test->error)
        assert_str(status_message(evaluation.error, &f->arena), test->error);
    diagnosis_release(&evaluation.diagnosis);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture f;
        FIXTURE(&f, NULL, &plugin_picky);
        for (char name = 'a'; name <= 'e'; name++)
            fixture_loadf(&f, "{kind: Node, metadata: {name: %c}}", name);
        rejected = cases[i].rejected;
        failing = cases[i].failing;
        narrowed = cases[i].narrowed;
        pre_filter_code = cases[i].pre_filter;
        char pod[128];
        snprintf(pod, sizeof(pod), "{kind: Pod, metadata: {name: p}, status: {nominatedNodeName: '%s'}}",
                 cases[i].nominated ? cases[i].nominated : "");
        fixture_cycle(&f, pod);
        check_evaluation(&f, &cases[i]);
        fixture_release(&f);
    }
}

/* A nomination that is only in the cluster model counts as well. */
static void test_nominated_in_the_model(void **state)
{
    (void)state;
    struct fixture f;
    rejected = failing = narrowed = NULL;
    pre_filter_code = STATUS_SUCCESS;
    FIXTURE(&f, NULL, &plugin_picky);
    for (char name = 'a'; name <= 'e'; name++)
        fixture_loadf(&f, "{kind: Node, metadata: {name: %c}}", name);
    fixture_cycle(&f, "{kind: Pod, metadata: {name: p}}");
    cluster_nominate(&f.cluster, f.last_pod, fixture_row(&f, "d"));
    check_evaluation(&f, &(struct evaluate_case){ "nominated", .filtered = "d", .feasible = "", .own = "d" });
    cluster_remove_node(&f.cluster, STR("d")); /* the node is gone */
    check_evaluation(
        &f, &(struct evaluate_case){ "gone", .filtered = "a b c e", .feasible = "a b c e", .examined = 4 });
    fixture_release(&f);
}

/* ---- large clusters: not every node is filtered ---- */
static void test_stops(void **state)
{
    (void)state;
    struct fixture f;
    struct evaluation evaluation;
    narrowed = failing = NULL;
    pre_filter_code = STATUS_SUCCESS;
    rejected = " h3 h4 h140 ";
    FIXTURE(&f, NULL, &plugin_picky);
    for (int i = 0; i < 150; i++)
        fixture_loadf(&f, "{kind: Node, metadata: {name: h%d}}", i);
    fixture_cycle(&f, "{kind: Pod, metadata: {name: p}}");
    run_evaluation(&f.cycle, 0, 10, &evaluation);
    assert_int_equal(evaluation.feasible_len, 100);
    assert_int_equal(evaluation.examined, 102);
    assert_str(cluster_node_name(&f.cluster, evaluation.feasible[99]), "h101");
    diagnosis_release(&evaluation.diagnosis);
    run_evaluation(&f.cycle, 102, 10,
                   &evaluation); /* continues where the last search stopped, and wraps around */
    assert_int_equal(evaluation.feasible_len, 100);
    assert_int_equal(evaluation.examined, 103);
    assert_str(cluster_node_name(&f.cluster, evaluation.feasible[0]), "h102");
    assert_str(cluster_node_name(&f.cluster, evaluation.feasible[99]), "h54");
    diagnosis_release(&evaluation.diagnosis);
    fixture_release(&f);
}

static int release_filtered(void **state)
{
    (void)state;
    strbuf_release(&filtered);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enough),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_nominated_in_the_model),
        cmocka_unit_test(test_stops),
    };
    return cmocka_run_group_tests(tests, NULL, release_filtered);
}
