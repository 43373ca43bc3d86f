/* The lookup by a node's labels finds the same volume as a search over all volumes, for random affinities. */
#include "support/test.h"

#include "api/labels.h"
#include "plugins/volume_binding/pv_match.h"

enum { ROUNDS = 3000, PVS_MAX = 24, NODES_MAX = 8 };

static const struct str words[] = { STR("a"), STR("b"), STR("c"), STR("d"),
                                    STR("e"), STR("f"), STR("1"), STR("7") };

static struct str word(struct rng *rng, size_t count)
{
    return words[rng_below(rng, count)];
}

static struct selector_requirement random_requirement(struct rng *rng, struct arena *arena)
{
    static const enum selector_op ops[] = { OP_IN, OP_IN, OP_IN, OP_NOT_IN, OP_EXISTS, OP_DOES_NOT_EXIST,
                                            OP_GT };
    struct selector_requirement req = { .key = word(rng, 6), .op = ops[rng_below(rng, ARRAY_SIZE(ops))] };
    if (req.op == OP_EXISTS || req.op == OP_DOES_NOT_EXIST)
        return req;
    req.values.len = req.op == OP_GT ? 1 : 1 + (uint32_t)rng_below(rng, 10);
    req.values.items = arena_array(arena, struct str, req.values.len);
    for (uint32_t i = 0; i < req.values.len; i++)
        req.values.items[i] = req.op == OP_GT ? STR("3") : word(rng, ARRAY_SIZE(words));
    return req;
}

static struct node_selector *random_affinity(struct rng *rng, struct arena *arena)
{
    if (rng_below(rng, 10) == 0)
        return NULL;
    struct node_selector *affinity = arena_new(arena, struct node_selector);
    affinity->terms.len = (uint32_t)rng_below(rng, 4);
    affinity->terms.items = arena_array(arena, struct node_selector_term, affinity->terms.len);
    for (uint32_t i = 0; i < affinity->terms.len; i++) {
        struct node_selector_term *term = &affinity->terms.items[i];
        term->invalid = rng_below(rng, 12) == 0;
        term->match_expressions.len = (uint32_t)rng_below(rng, 4);
        term->match_expressions.items =
            arena_array(arena, struct selector_requirement, term->match_expressions.len);
        for (uint32_t k = 0; k < term->match_expressions.len; k++)
            term->match_expressions.items[k] = random_requirement(rng, arena);
    }
    return affinity;
}

static struct pv *random_pv(struct rng *rng, struct arena *arena, uint32_t number)
{
    struct pv *pv = arena_new(arena, struct pv);
    struct resource *size = arena_new(arena, struct resource);
    *size = (struct resource){ STR("storage"), quantity_from_int((int64_t)rng_below(rng, 6)) };
    pv->meta.name = arena_printf(arena, "pv-%02u", number);
    pv->phase = STR("Available");
    pv->spec.capacity = (struct resource_list){ size, 1 };
    pv->spec.node_affinity = random_affinity(rng, arena);
    return pv;
}

/* The reference: the smallest that fits, then the first by name. */
static const struct pv *slow_find(struct pv *const *pvs, uint32_t len, const struct str_map *labels,
                                  struct quantity wanted, const struct pv_list *taken)
{
    const struct pv *best = NULL;
    for (uint32_t i = 0; i < len; i++) {
        struct quantity size = storage_amount(&pvs[i]->spec.capacity, NULL);
        bool is_taken = taken->len && taken->items[0] == pvs[i];
        if (is_taken || quantity_cmp(size, wanted) < 0 ||
            !pv_affinity_matches(pvs[i]->spec.node_affinity, labels))
            continue;
        if (!best || quantity_cmp(size, storage_amount(&best->spec.capacity, NULL)) < 0)
            best = pvs[i];
    }
    return best;
}

static void check_round(struct rng *rng, uint64_t *found)
{
    struct arena arena = { 0 };
    struct cluster cluster;
    struct pv *pvs[PVS_MAX];
    uint32_t len = (uint32_t)rng_below(rng, PVS_MAX);
    cluster_init(&cluster);
    for (uint32_t i = 0; i < len; i++) {
        pvs[i] = random_pv(rng, &arena, i);
        cluster_set_object(&cluster, KIND_PV, pvs[i], &pvs[i]->meta);
    }
    struct resource request = { STR("storage"), quantity_from_int((int64_t)rng_below(rng, 4)) };
    struct pvc pvc = { .meta.name = STR("c"), .spec.resources.requests = { &request, 1 } };
    struct pv_match match;
    pv_match_init(&match, volumes_get(&cluster, VOLUMES_PVS), &pvc, &arena);
    for (int n = 0; n < NODES_MAX; n++) {
        struct pair pairs[6];
        struct str_map labels = { pairs, 0 };
        for (size_t k = 0; k < 6; k++)
            if (rng_below(rng, 2))
                pairs[labels.len++] = (struct pair){ words[k], word(rng, ARRAY_SIZE(words)) };
        struct pv_list taken = { .items = (const struct pv *[]){ len ? pvs[rng_below(rng, len)] : NULL },
                                 .len = len > 0 };
        const struct pv *want = slow_find(pvs, len, &labels, request.amount, &taken);
        assert_ptr_equal(pv_match_find(&match, &labels, &taken), want);
        *found += want != NULL;
    }
    cluster_release(&cluster);
    arena_release(&arena);
}

static void test_same_as_plain(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    uint64_t found = 0;
    for (int i = 0; i < ROUNDS; i++)
        check_round(&rng, &found);
    assert_in_range(found, ROUNDS, ROUNDS * NODES_MAX - ROUNDS); /* both results occurred often */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_as_plain) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
