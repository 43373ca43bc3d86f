/* What if pods joined or left a node? Plugins change what they remember, and change it back: no state is copied. So
 * a question must leave no trace: whatever was asked before, on other nodes too, the next answer is that of a cycle in
 * which nothing was asked, and that of a cluster in which it is so. */
#include "support/fixture.h"

#include "plugins/inter_pod_affinity/args.h"
#include "plugins/pod_topology_spread/args.h"

extern const struct plugin plugin_pod_topology_spread, plugin_inter_pod_affinity;

enum { NODES = 8, PODS = 30, QUESTIONS = 12, ROUNDS = 150, OPS_MAX = 5 };

static void setup(struct fixture *f)
{
    static const struct pod_topology_spread_args spread = { .defaulting_type = STR("List") };
    static const struct inter_pod_affinity_args affinity = { .hard_pod_affinity_weight = 1 };
    FIXTURE(f, &spread, &plugin_pod_topology_spread);
    fixture_add_plugin(f, &plugin_inter_pod_affinity, &affinity);
}

/* ---- random clusters ---- */
static void write_term(struct strbuf *out, struct rng *rng)
{
    strbuf_printf(out, "{topologyKey: %s, labelSelector: {matchLabels: {app: a%d}}}",
                  rng_below(rng, 2) ? "zone" : "host", (int)rng_below(rng, 3));
}

static void write_pod(struct strbuf *out, struct rng *rng, const char *name, bool wants)
{
    static const char *const kinds[] = { "podAffinity", "podAntiAffinity" };
    strbuf_printf(out, "{kind: Pod, metadata: {name: %s, labels: {app: a%d}}, spec: {affinity: {", name,
                  (int)rng_below(rng, 3));
    for (int kind = 0; kind < 2; kind++) {
        strbuf_printf(out, "%s: {requiredDuringSchedulingIgnoredDuringExecution: [", kinds[kind]);
        if (rng_below(rng, wants ? 3 : 6) == 0)
            write_term(out, rng);
        strbuf_puts(out, "]}, ");
    }
    strbuf_puts(out, "}, topologySpreadConstraints: [");
    for (int left = wants ? (int)rng_below(rng, 3) : 0; left > 0; left--)
        strbuf_printf(out,
                      "{maxSkew: %d, topologyKey: %s, whenUnsatisfiable: DoNotSchedule, minDomains: %d, "
                      "labelSelector: {matchLabels: {app: a%d}}}, ",
                      1 + (int)rng_below(rng, 2), rng_below(rng, 2) ? "zone" : "host",
                      1 + (int)rng_below(rng, 3), (int)rng_below(rng, 3));
    strbuf_puts(out, "]}}\n---\n");
}

static void random_cluster(struct fixture *f, struct rng *rng)
{
    char name[16];
    for (int i = 0; i < NODES; i++) {
        if (rng_below(rng, 8) == 0)
            fixture_loadf(f, "{kind: Node, metadata: {name: h%d, labels: {host: h%d}}}", i, i);
        else
            fixture_loadf(f, "{kind: Node, metadata: {name: h%d, labels: {host: h%d, zone: z%d}}}", i, i,
                          (int)rng_below(rng, 4));
    }
    for (int i = 0; i < PODS; i++) {
        _cleanup_(strbuf_release) struct strbuf text = { 0 };
        snprintf(name, sizeof(name), "p%d", i);
        write_pod(&text, rng, name, false);
        fixture_load(f, text.text);
        if (rng_below(rng, 3))
            cluster_place(&f->cluster, f->last_pod, (uint32_t)rng_below(rng, NODES));
    }
}

/* ---- a question: pods leave a node and join it ---- */
struct question {
    uint32_t row;
    struct pod_info *leaves[OPS_MAX], *joins[OPS_MAX];
    int leaves_len, joins_len;
};

static struct question random_question(struct fixture *f, struct rng *rng)
{
    struct question question = { .row = (uint32_t)rng_below(rng, NODES) };
    const pod_vec *pods = &cluster_node(&f->cluster, question.row)->pods;
    for (size_t i = 0; i < pods->len && question.leaves_len < OPS_MAX; i++)
        if (rng_below(rng, 2))
            question.leaves[question.leaves_len++] = pods->items[i];
    for (int i = 0; i < PODS && question.joins_len < OPS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        if (fixture_pod(f, name)->row == ROW_NONE && rng_below(rng, 4) == 0)
            question.joins[question.joins_len++] = fixture_pod(f, name);
    }
    return question;
}

struct reply {
    enum status_code code;
    struct str reason;
};

static struct reply answer_of(struct status status)
{
    return (struct reply){ status.code, status.len ? status.reasons[0] : STR("") };
}

/* Ask, and undo in the opposite order. */
static struct reply ask(struct cycle *cycle, const struct question *question)
{
    struct node_overlay overlay;
    struct node_view view = { cycle->cluster, question->row, &overlay };
    overlay_init(&overlay, cycle->cluster, question->row, cycle->arena);
    for (int i = 0; i < question->leaves_len; i++) {
        overlay_remove(&overlay, question->leaves[i]);
        run_remove_pod(cycle, question->leaves[i], view);
    }
    for (int i = 0; i < question->joins_len; i++) {
        overlay_add(&overlay, question->joins[i]);
        run_add_pod(cycle, question->joins[i], view);
    }
    struct reply answer = answer_of(run_filters(cycle, view));
    for (int i = question->joins_len; i-- > 0;) {
        overlay_remove(&overlay, question->joins[i]);
        run_remove_pod(cycle, question->joins[i], view);
    }
    for (int i = question->leaves_len; i-- > 0;) {
        overlay_add(&overlay, question->leaves[i]);
        run_add_pod(cycle, question->leaves[i], view);
    }
    overlay_release(&overlay);
    return answer;
}

static struct reply answer_fresh(struct fixture *f, const struct question *question)
{
    struct cycle cycle;
    struct node_names names;
    uint64_t blamed;
    cycle_init(&cycle, &f->profile, &f->cluster, f->last_pod, &f->arena);
    (void)run_pre_filter(&cycle, &names, &blamed);
    struct reply answer = ask(&cycle, question);
    cycle_release(&cycle);
    return answer;
}

/* The cluster in which it is so. A pod that InterPodAffinity skipped may have become interesting to it in there: then
 * there is nothing to compare. */
enum { SKIPS_AFFINITY = 1 << 1 };

static struct reply answer_real(struct fixture *f, const struct question *question)
{
    struct question none = { .row = question->row };
    for (int i = 0; i < question->leaves_len; i++)
        cluster_displace(&f->cluster, question->leaves[i]);
    for (int i = 0; i < question->joins_len; i++)
        cluster_place(&f->cluster, question->joins[i], question->row);
    struct reply answer = answer_fresh(f, &none);
    for (int i = 0; i < question->joins_len; i++)
        cluster_displace(&f->cluster, question->joins[i]);
    for (int i = 0; i < question->leaves_len; i++)
        cluster_place(&f->cluster, question->leaves[i], question->row);
    return answer;
}

static void check(const char *whose, struct reply got, struct reply want, int round, int number)
{
    if (got.code != want.code || !str_eq(got.reason, want.reason))
        fail_msg("round %d, question %d: %s \"" STR_FMT "\", %s says %s \"" STR_FMT "\"", round, number,
                 status_code_name(got.code), STR_ARG(got.reason), whose, status_code_name(want.code),
                 STR_ARG(want.reason));
}

static int run_round(struct rng *rng, int round)
{
    struct fixture f;
    struct reply before[NODES];
    struct node_names names;
    uint64_t blamed;
    int refused = 0;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    setup(&f);
    random_cluster(&f, rng);
    write_pod(&text, rng, "incoming", true);
    fixture_cycle(&f, text.text);
    (void)run_pre_filter(&f.cycle, &names, &blamed);
    for (uint32_t row = 0; row < NODES; row++)
        before[row] = answer_of(run_filters(&f.cycle, (struct node_view){ &f.cluster, row, NULL }));
    for (int i = 0; i < QUESTIONS; i++) {
        struct question question = random_question(&f, rng);
        struct reply got = ask(&f.cycle, &question);
        check("a fresh cycle", got, answer_fresh(&f, &question), round, i);
        if (!(f.cycle.skip_filter & SKIPS_AFFINITY))
            check("the real cluster", got, answer_real(&f, &question), round, i);
        refused += got.code != STATUS_SUCCESS;
    }
    for (uint32_t row = 0; row < NODES; row++)
        check("the same cycle before",
              answer_of(run_filters(&f.cycle, (struct node_view){ &f.cluster, row, NULL })), before[row],
              round, -1);
    fixture_release(&f);
    return refused;
}

static void test_no_trace(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    int refused = 0;
    for (int round = 0; round < ROUNDS; round++)
        refused += run_round(&rng, round);
    assert_in_range(refused, ROUNDS * QUESTIONS / 10, ROUNDS * QUESTIONS * 9 / 10);
}

/* The two emptiest zones are remembered: one that was emptied for a while must not take the place of the second. */
static void test_emptiest_domains(void **state)
{
    (void)state;
    struct fixture f;
    struct node_names names;
    uint64_t blamed;
    setup(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {zone: za}}}\n---\n"
                     "{kind: Node, metadata: {name: b, labels: {zone: zb}}}\n---\n"
                     "{kind: Node, metadata: {name: c, labels: {zone: zc}}}");
    for (int i = 0; i < 5; i++) /* one each in a and b, three in c */
        fixture_loadf(&f, "{kind: Pod, metadata: {name: p%d, labels: {app: web}}, spec: {nodeName: %s}}", i,
                      i == 0   ? "a"
                      : i == 1 ? "b"
                               : "c");
    fixture_load(&f, "{kind: Pod, metadata: {name: extra, labels: {app: web}}}");
    struct pod_info *extra = f.last_pod;
    fixture_cycle(
        &f,
        "{kind: Pod, metadata: {name: q, labels: {app: web}}, spec: {topologySpreadConstraints: [{maxSkew: "
        "1, "
        "topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]}}");
    assert_true(status_ok(run_pre_filter(&f.cycle, &names, &blamed)));
    const char *const emptied[] = { "p2", "p3", "p4" };
    for (int i = 0; i < 3; i++)
        run_remove_pod(&f.cycle, fixture_pod(&f, emptied[i]), fixture_view(&f, "c"));
    for (int i = 0; i < 3; i++)
        run_add_pod(&f.cycle, fixture_pod(&f, emptied[i]), fixture_view(&f, "c"));
    for (int i = 0; i < 2; i++) { /* two in one of them, one in the other: a third is too many */
        struct node_view view = fixture_view(&f, i ? "a" : "b");
        run_add_pod(&f.cycle, extra, view);
        assert_status(run_filters(&f.cycle, view), STATUS_UNSCHEDULABLE,
                      "node(s) didn't match pod topology spread constraints");
        run_remove_pod(&f.cycle, extra, view);
        assert_true(status_ok(run_filters(&f.cycle, view)));
    }
    fixture_release(&f);
}

/* The last pod of a group leaves: the next one is its first again, and may go anywhere. */
static void test_first_of_a_group(void **state)
{
    (void)state;
    struct fixture f;
    struct node_names names;
    uint64_t blamed;
    setup(&f);
    fixture_load(&f, "{kind: Node, metadata: {name: a, labels: {zone: za}}}\n---\n"
                     "{kind: Node, metadata: {name: b, labels: {zone: zb}}}\n---\n"
                     "{kind: Pod, metadata: {name: last, labels: {app: web}}, spec: {nodeName: a}}");
    struct pod_info *last = f.last_pod;
    fixture_cycle(&f, "{kind: Pod, metadata: {name: q, labels: {app: web}}, spec: {affinity: {podAffinity: "
                      "{requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: zone, labelSelector: "
                      "{matchLabels: {app: web}}}]}}}}");
    assert_true(status_ok(run_pre_filter(&f.cycle, &names, &blamed)));
    assert_false(status_ok(run_filters(&f.cycle, fixture_view(&f, "b"))));
    run_remove_pod(&f.cycle, last, fixture_view(&f, "a"));
    assert_true(status_ok(run_filters(&f.cycle, fixture_view(&f, "b"))));
    run_add_pod(&f.cycle, last, fixture_view(&f, "a"));
    assert_false(status_ok(run_filters(&f.cycle, fixture_view(&f, "b"))));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_trace),
        cmocka_unit_test(test_first_of_a_group),
        cmocka_unit_test(test_emptiest_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
