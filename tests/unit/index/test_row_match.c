/* Node selectors over single rows and over all rows agree with the plain match. */
#include "support/fixture.h"

#include "index/row_match.h"
#include "support/node_match.h"

enum { NODES = 30, ROUNDS = 600 };

static const char *const keys[] = { "zone", "size", "ssd", "none" };
static const char *const values[] = { "z1", "z2", "", "8", "-16", "3x" };

static const char *pick(struct rng *rng, const char *const *list, size_t len)
{
    return list[rng_below(rng, len)];
}
#define PICK(rng, list) pick((rng), (list), ARRAY_SIZE(list))

static void set_random_node(struct fixture *f, struct rng *rng, int number)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "{kind: Node, metadata: {name: h%d, labels: {", number);
    for (size_t i = 0; i < ARRAY_SIZE(keys) - 1; i++)
        if (rng_below(rng, 3))
            strbuf_printf(&text, "%s: '%s', ", keys[i], PICK(rng, values));
    strbuf_puts(&text, "}}}");
    fixture_load(f, text.text);
}

/* ---- random selectors as text ---- */
static void write_expressions(struct strbuf *out, struct rng *rng)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near" };
    strbuf_puts(out, "matchExpressions: [");
    for (uint64_t left = rng_below(rng, 3); left > 0; left--) {
        uint64_t op = rng_below(rng, rng_below(rng, 4) ? 6 : ARRAY_SIZE(operators));
        strbuf_printf(out, "{key: %s, operator: %s, values: [", PICK(rng, keys), operators[op]);
        if (op < 2)
            strbuf_printf(out, "'%s', '%s'", PICK(rng, values), PICK(rng, values));
        else if (op == 4 || op == 5)
            strbuf_printf(out, "'%d'", (int)rng_below(rng, 30) - 15);
        strbuf_puts(out, "]}, ");
    }
    strbuf_puts(out, "], ");
}

static void write_fields(struct strbuf *out, struct rng *rng)
{
    static const char *const fields[] = { "metadata.name", "metadata.name", "metadata.namespace" };
    static const char *const operators[] = { "In", "NotIn" };
    strbuf_puts(out, "matchFields: [");
    for (uint64_t left = rng_below(rng, 6) / 4; left > 0; left--) {
        strbuf_printf(out, "{key: %s, operator: %s, values: [", PICK(rng, fields), PICK(rng, operators));
        if (rng_below(rng, 5))
            strbuf_printf(out, "h%d", (int)rng_below(rng, NODES / 4));
        else
            strbuf_puts(out, "''");
        strbuf_puts(out, "]}, ");
    }
    strbuf_puts(out, "]");
}

static void load_random_pod(struct fixture *f, struct rng *rng)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_puts(&text, "{kind: Pod, metadata: {name: p}, spec: {nodeSelector: {");
    if (rng_below(rng, 3) == 0)
        strbuf_printf(&text, "%s: '%s'", PICK(rng, keys), PICK(rng, values));
    strbuf_puts(&text, "}, ");
    if (rng_below(rng, 5)) {
        strbuf_puts(&text, "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                           "{nodeSelectorTerms: [");
        for (uint64_t left = rng_below(rng, 4); left > 0; left--) {
            strbuf_puts(&text, "{");
            write_expressions(&text, rng);
            write_fields(&text, rng);
            strbuf_puts(&text, "}, ");
        }
        strbuf_puts(&text, "]}}}");
    }
    strbuf_puts(&text, "}}");
    fixture_load(f, text.text);
}

/* ---- comparing ---- */
static const struct node_selector *required_of(const struct pod *pod)
{
    return pod->spec.affinity ? pod->spec.affinity->node->required : NULL;
}

static int check_pod(struct fixture *f, struct arena *arena, int round)
{
    const struct pod *pod = f->last_pod->api;
    uint32_t len = (uint32_t)f->cluster.nodes.len;
    uint8_t ok[NODES + 1];
    struct row_selector sel;
    int matched = 0;
    row_selector_init(&sel, &f->cluster, arena, &pod->spec.node_selector, required_of(pod));
    row_selector_match_all(&sel, &f->cluster, arena, len, ok);
    for (uint32_t row = 0; row < len; row++) {
        const struct node *node = cluster_node(&f->cluster, row)->api;
        if (!node)
            continue;
        bool want = pod_selects_node(pod, node);
        if (row_selector_matches(&sel, &f->cluster, row) != want || ok[row] != want)
            fail_msg("round %d, node " STR_FMT ": one by one %d, all at once %d, want %d", round,
                     STR_ARG(node->meta.name), row_selector_matches(&sel, &f->cluster, row), ok[row], want);
        matched += want;
    }
    row_selector_release(&sel, &f->cluster);
    return matched;
}

static void run_rounds(struct fixture *f, struct rng *rng)
{
    struct arena arena = { 0 };
    int matched = 0;
    for (int i = 0; i < NODES; i++)
        set_random_node(f, rng, i);
    for (int round = 0; round < ROUNDS; round++) {
        set_random_node(f, rng, (int)rng_below(rng, NODES));
        if (round % 10 == 0)
            cluster_remove_node(&f->cluster, STR("h7"));
        load_random_pod(f, rng);
        matched += check_pod(f, &arena, round);
        arena_reset(&arena);
    }
    assert_in_range(matched, ROUNDS * NODES / 10, ROUNDS * NODES * 9 / 10);
    arena_release(&arena);
}

static void test_against_plain(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    run_rounds(&f, &rng);
    fixture_release(&f);
}

/* With the maximum number of label columns, so that selectors get none. */
static void test_without_columns(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    for (int i = 0; i < 100; i++) {
        char key[32];
        snprintf(key, sizeof(key), "column%d", i);
        sym symbol = intern_get(&f.cluster.syms, str_from(key));
        cluster_topology(&f.cluster, symbol);
        intern_unref(&f.cluster.syms, symbol);
    }
    run_rounds(&f, &rng);
    assert_int_equal(f.cluster.topologies.len, 100);
    fixture_release(&f);
}

/* A compiled selector releases its symbols. */
static void test_symbols(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    struct arena arena = { 0 };
    fixture_load(
        &f, "{kind: Pod, metadata: {name: p}, spec: {nodeSelector: {only: here}, affinity: {nodeAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: "
            "and, "
            "operator: In, values: [there, too]}], matchFields: [{key: metadata.name, operator: In, values: "
            "[place]}]}]}}}}}");
    size_t before = f.cluster.syms.by_name.len;
    struct row_selector sel;
    row_selector_init(&sel, &f.cluster, &arena, &f.last_pod->api->spec.node_selector,
                      required_of(f.last_pod->api));
    assert_true(f.cluster.syms.by_name.len > before);
    row_selector_release(&sel, &f.cluster);
    assert_int_equal(f.cluster.syms.by_name.len, before);
    arena_release(&arena);
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain),
        cmocka_unit_test(test_without_columns),
        cmocka_unit_test(test_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
