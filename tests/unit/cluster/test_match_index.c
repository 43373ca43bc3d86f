/* The index finds exactly the owners of labels that a selector matches, and misses no owner of terms, while pods come
 * and go. */
#include "support/fixture.h"

enum { PODS = 60, KEYS = 4, VALUES = 4, STEPS = 400, LOOKUPS = 20 };

static void write_labels(struct strbuf *out, struct rng *rng)
{
    const char *comma = "";
    strbuf_putc(out, '{');
    for (int key = 0; key < KEYS; key++) {
        if (rng_below(rng, 2))
            continue;
        strbuf_printf(out, "%sk%d: v%d", comma, key, (int)rng_below(rng, VALUES));
        comma = ", ";
    }
    strbuf_putc(out, '}');
}

static void write_selector(struct strbuf *out, struct rng *rng)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist" };
    const char *comma = "";
    strbuf_puts(out, "{matchLabels: ");
    if (rng_below(rng, 3))
        strbuf_puts(out, "{}");
    else
        write_labels(out, rng);
    strbuf_puts(out, ", matchExpressions: [");
    for (uint64_t left = rng_below(rng, 3); left > 0; left--, comma = ", ") {
        uint64_t op = rng_below(rng, ARRAY_SIZE(operators));
        strbuf_printf(out, "%s{key: k%d, operator: %s", comma, (int)rng_below(rng, KEYS), operators[op]);
        if (op < 2) /* a value may occur twice, or belong to no pod */
            strbuf_printf(out, ", values: [v%d, v%d, v%d]", (int)rng_below(rng, VALUES + 1),
                          (int)rng_below(rng, VALUES), (int)rng_below(rng, VALUES));
        strbuf_puts(out, "}");
    }
    strbuf_puts(out, "]}");
}

static void write_terms(struct strbuf *out, struct rng *rng)
{
    static const char *const kinds[] = { "podAffinity", "podAntiAffinity" };
    strbuf_puts(out, "affinity: {");
    for (int kind = 0; kind < 2; kind++) {
        const char *comma = "";
        strbuf_printf(out, "%s%s: {requiredDuringSchedulingIgnoredDuringExecution: [", kind ? ", " : "",
                      kinds[kind]);
        for (uint64_t left = rng_below(rng, 3); left > 0; left--, comma = ", ") {
            strbuf_printf(out, "%s{topologyKey: t, labelSelector: ", comma);
            write_selector(out, rng);
            strbuf_putc(out, '}');
        }
        strbuf_puts(out, "], preferredDuringSchedulingIgnoredDuringExecution: [");
        if (rng_below(rng, 2)) {
            strbuf_puts(out, "{weight: 1, podAffinityTerm: {topologyKey: t, labelSelector: ");
            write_selector(out, rng);
            strbuf_puts(out, "}}");
        }
        strbuf_puts(out, "]}");
    }
    strbuf_puts(out, "}");
}

static void set_pod(struct fixture *f, struct rng *rng, int number)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    strbuf_printf(&text, "{kind: Pod, metadata: {name: p%d, labels: ", number);
    write_labels(&text, rng);
    strbuf_puts(&text, "}, spec: {");
    if (rng_below(rng, 2))
        write_terms(&text, rng);
    strbuf_puts(&text, "}}");
    fixture_load(f, text.text);
}

static bool contains(void *const *items, size_t len, const void *wanted, size_t *ret_times)
{
    *ret_times = 0;
    for (size_t i = 0; i < len; i++)
        *ret_times += items[i] == wanted;
    return *ret_times > 0;
}

/* The reference: a search over every owner of labels. */
static void check_owners(struct fixture *f, const struct selector *selector)
{
    size_t matching = 0, times;
    const owner_vec *found = match_owners(&f->cluster.matches, selector, &f->cluster.syms);
    map_for(&f->cluster.label_owners, slot) {
        const struct label_owner *owner = slot->value;
        bool want = selector_matches(selector, &owner->labels, &f->cluster.syms);
        assert_int_equal(contains((void *const *)found->items, found->len, owner, &times), want);
        assert_true(times <= 1);
        matching += want;
    }
    assert_int_equal(found->len, matching);
}

static bool selects(const struct pod_terms *terms, const struct label_set *labels, const struct intern *syms)
{
    for (uint32_t i = 0; i < terms->len; i++)
        if (selector_matches(&terms->items[i].selector, labels, syms))
            return true;
    return false;
}

static void check_terms(struct fixture *f, const struct label_set *labels)
{
    size_t known = 0, times;
    const struct intern *syms = &f->cluster.syms;
    const term_vec *found = match_terms(&f->cluster.matches, labels);
    map_for(&f->cluster.term_owners, slot) {
        const struct term_owner *owner = slot->value;
        bool listed = contains((void *const *)found->items, found->len, owner, &times);
        bool must = selects(&owner->affinity, labels, syms) || selects(&owner->anti, labels, syms) ||
                    selects(&owner->preferred, labels, syms);
        assert_true(times <= 1);
        assert_true(listed || !must);
        known += listed;
    }
    assert_int_equal(found->len, known); /* and no deleted owner */
}

/* Looks up the selectors of existing pods, and their labels. */
static void look_up(struct fixture *f, struct rng *rng)
{
    for (int i = 0; i < LOOKUPS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "p%d", (int)rng_below(rng, PODS));
        const struct pod_info *pod = cluster_find_pod(&f->cluster, STR("default"), str_from(name));
        if (!pod)
            continue;
        check_terms(f, &pod->class->labels->labels);
        const struct pod_terms *kinds[] = { &pod->class->affinity, &pod->class->anti,
                                            &pod->class->preferred };
        for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
            for (uint32_t t = 0; t < kinds[k]->len; t++)
                check_owners(f, &kinds[k]->items[t].selector);
    }
    check_terms(f, &(struct label_set){ 0 });
    check_owners(f, &(struct selector){ .never = true });
    check_owners(f, &(struct selector){ 0 });
}

static void test_against_full_search(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct fixture f;
    FIXTURE_BARE(&f);
    for (int step = 0; step < STEPS; step++) {
        char name[16];
        int number = (int)rng_below(&rng, PODS);
        snprintf(name, sizeof(name), "p%d", number);
        struct pod_info *pod = cluster_find_pod(&f.cluster, STR("default"), str_from(name));
        if (pod && rng_below(&rng, 3) == 0)
            cluster_remove_pod(&f.cluster, pod);
        else
            set_pod(&f, &rng, number);
        look_up(&f, &rng);
    }
    map_for(&f.cluster.matches.owners, slot)
        assert_true(((owner_vec *)slot->value)->len > 0); /* empty lists are freed */
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_full_search) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
