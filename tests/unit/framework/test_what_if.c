/* AddPod and RemovePod: plugins change their cycle state for an assumption and change it back, no state is copied. So
 * an assumption must leave no trace: after any others, on other nodes too, its result equals that of a fresh cycle and
 * that of a cluster in which the pods really moved. */
#include "support/fixture.h"

#include "plugins/inter_pod_affinity/args.h"
#include "plugins/pod_topology_spread/args.h"

extern const struct plugin plugin_pod_topology_spread, plugin_inter_pod_affinity;

enum { NODES = 8, PODS = 30, ASSUMPTIONS = 12, ROUNDS = 150, OPS_MAX = 5 };

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

/* ---- an assumption: pods leave a node and join it ---- */
struct assumption {
    uint32_t row;
    struct pod_info *leaves[OPS_MAX], *joins[OPS_MAX];
    int leaves_len, joins_len;
};

static struct assumption random_assumption(struct fixture *f, struct rng *rng)
{
    struct assumption assumption = { .row = (uint32_t)rng_below(rng, NODES) };
    const pod_vec *pods = &cluster_node(&f->cluster, assumption.row)->pods;
    for (size_t i = 0; i < pods->len && assumption.leaves_len < OPS_MAX; i++)
        if (rng_below(rng, 2))
            assumption.leaves[assumption.leaves_len++] = pods->items[i];
    for (int i = 0; i < PODS && assumption.joins_len < OPS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        if (fixture_pod(f, name)->row == ROW_NONE && rng_below(rng, 4) == 0)
            assumption.joins[assumption.joins_len++] = fixture_pod(f, name);
    }
    return assumption;
}

struct outcome {
    enum status_code code;
    struct str reason;
};

static struct outcome outcome_of(struct status status)
{
    return (struct outcome){ status.code, status.len ? status.reasons[0] : STR("") };
}

/* Filters with the assumption, then undoes it in reverse order. */
static struct outcome filter_assuming(struct cycle *cycle, const struct assumption *assumption)
{
    struct node_overlay overlay;
    struct node_view view = { cycle->cluster, assumption->row, &overlay };
    overlay_init(&overlay, cycle->cluster, assumption->row, cycle->arena);
    for (int i = 0; i < assumption->leaves_len; i++) {
        overlay_remove(&overlay, assumption->leaves[i]);
        run_remove_pod(cycle, assumption->leaves[i], view);
    }
    for (int i = 0; i < assumption->joins_len; i++) {
        overlay_add(&overlay, assumption->joins[i]);
        run_add_pod(cycle, assumption->joins[i], view);
    }
    struct outcome result = outcome_of(run_filters(cycle, view));
    for (int i = assumption->joins_len; i-- > 0;) {
        overlay_remove(&overlay, assumption->joins[i]);
        run_remove_pod(cycle, assumption->joins[i], view);
    }
    for (int i = assumption->leaves_len; i-- > 0;) {
        overlay_add(&overlay, assumption->leaves[i]);
        run_add_pod(cycle, assumption->leaves[i], view);
    }
    overlay_release(&overlay);
    return result;
}

static struct outcome filter_in_fresh_cycle(struct fixture *f, const struct assumption *assumption)
{
    struct cycle cycle;
    struct node_names names;
    uint64_t blamed;
    cycle_init(&cycle, &f->profile, &f->cluster, f->last_pod, &f->arena);
    (void)run_pre_filter(&cycle, &names, &blamed);
    struct outcome result = filter_assuming(&cycle, assumption);
    cycle_release(&cycle);
    return result;
}

/* Filters in the cluster in which the pods really moved. There, InterPodAffinity may no longer skip the pod; then the
 * results cannot be compared. */
enum { SKIPS_AFFINITY = 1 << 1 };

static struct outcome filter_in_real_cluster(struct fixture *f, const struct assumption *assumption)
{
    struct assumption none = { .row = assumption->row };
    for (int i = 0; i < assumption->leaves_len; i++)
        cluster_displace(&f->cluster, assumption->leaves[i]);
    for (int i = 0; i < assumption->joins_len; i++)
        cluster_place(&f->cluster, assumption->joins[i], assumption->row);
    struct outcome result = filter_in_fresh_cycle(f, &none);
    for (int i = 0; i < assumption->joins_len; i++)
        cluster_displace(&f->cluster, assumption->joins[i]);
    for (int i = 0; i < assumption->leaves_len; i++)
        cluster_place(&f->cluster, assumption->leaves[i], assumption->row);
    return result;
}

static void check(const char *where, struct outcome got, struct outcome want, int round, int number)
{
    if (got.code != want.code || !str_eq(got.reason, want.reason))
        fail_msg("round %d, assumption %d: %s \"" STR_FMT "\", %s says %s \"" STR_FMT "\"", round, number,
                 status_code_name(got.code), STR_ARG(got.reason), where, status_code_name(want.code),
                 STR_ARG(want.reason));
}

static int run_round(struct rng *rng, int round)
{
    struct fixture f;
    struct outcome before[NODES];
    struct node_names names;
    uint64_t blamed;
    int rejected = 0;
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    setup(&f);
    random_cluster(&f, rng);
    write_pod(&text, rng, "incoming", true);
    fixture_cycle(&f, text.text);
    (void)run_pre_filter(&f.cycle, &names, &blamed);
    for (uint32_t row = 0; row < NODES; row++)
        before[row] = outcome_of(run_filters(&f.cycle, (struct node_view){ &f.cluster, row, NULL }));
    for (int i = 0; i < ASSUMPTIONS; i++) {
        struct assumption assumption = random_assumption(&f, rng);
        struct outcome got = filter_assuming(&f.cycle, &assumption);
        check("a fresh cycle", got, filter_in_fresh_cycle(&f, &assumption), round, i);
        if (!(f.cycle.skip_filter & SKIPS_AFFINITY))
            check("the real cluster", got, filter_in_real_cluster(&f, &assumption), round, i);
        rejected += got.code != STATUS_SUCCESS;
    }
    for (uint32_t row = 0; row < NODES; row++)
        check("the same cycle before",
              outcome_of(run_filters(&f.cycle, (struct node_view){ &f.cluster, row, NULL })), before[row],
              round, -1);
    fixture_release(&f);
    return rejected;
}

static void test_no_trace(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    int rejected = 0;
    for (int round = 0; round < ROUNDS; round++)
        rejected += run_round(&rng, round);
    assert_in_range(rejected, ROUNDS * ASSUMPTIONS / 10, ROUNDS * ASSUMPTIONS * 9 / 10);
}

/* The two emptiest zones are cached: a zone that is emptied only by an assumption must not replace the second. */
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
    for (int i = 0; i < 5; i++) /* one each in zones a and b, three in c */
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

/* When the last pod of a group leaves, the next one is the first again and may go anywhere. */
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
