/* The lookup by a node's labels finds the same volume for each claim of a pod as a search over all volumes, for random
 * affinities, sizes and access modes. */
#include "support/test.h"

#include "api/labels.h"
#include "plugins/volume_binding/pv_match.h"

enum { ROUNDS = 3000, PVS_MAX = 24, NODES_MAX = 8, CLAIMS_MAX = 5 };

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

static struct str_list random_modes(struct rng *rng)
{
    static struct str modes[] = { STR("ReadWriteOnce"), STR("ReadOnlyMany") };
    return (struct str_list){ modes, (uint32_t)rng_below(rng, 3) };
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
    pv->spec.access_modes = random_modes(rng);
    return pv;
}

/* The reference: the smallest that fits, then the first by name. */
static const struct pv *slow_find(struct pv *const *pvs, uint32_t len, const struct str_map *labels,
                                  const struct pvc *pvc, const struct idmap *taken)
{
    const struct pv *best = NULL;
    for (uint32_t i = 0; i < len; i++) {
        struct quantity size = storage_amount(&pvs[i]->spec.capacity, NULL);
        if (idmap_get(taken, (uintptr_t)pvs[i]) ||
            pvc->spec.access_modes.len > pvs[i]->spec.access_modes.len ||
            quantity_cmp(size, storage_amount(&pvc->spec.resources.requests, NULL)) < 0 ||
            !pv_affinity_matches(pvs[i]->spec.node_affinity, labels))
            continue;
        if (!best || quantity_cmp(size, storage_amount(&best->spec.capacity, NULL)) < 0)
            best = pvs[i];
    }
    return best;
}

/* The claims of a pod, smallest first; some are alike. */
struct claims {
    struct pvc pvcs[CLAIMS_MAX];
    struct resource requests[CLAIMS_MAX];
    struct pv_choice choices[CLAIMS_MAX];
    uint32_t len, matches;
};

static void random_claims(struct claims *claims, struct cluster *cluster, struct rng *rng,
                          struct arena *arena)
{
    _cleanup_(strmap_release) struct strmap alike = { 0 };
    int64_t size = 0;
    claims->len = 1 + (uint32_t)rng_below(rng, CLAIMS_MAX);
    for (uint32_t i = 0; i < claims->len; i++) {
        size += (int64_t)rng_below(rng, 3);
        claims->requests[i] = (struct resource){ STR("storage"), quantity_from_int(size) };
        claims->pvcs[i] = (struct pvc){ .meta.name = words[i],
                                        .spec.resources.requests = { &claims->requests[i], 1 },
                                        .spec.access_modes = random_modes(rng) };
        pv_choice_init(&claims->choices[i], &alike, volumes_get(cluster, VOLUMES_PVS), &claims->pvcs[i],
                       claims->requests[i].amount, arena);
    }
    claims->matches = (uint32_t)alike.len;
}

static void check_node(const struct claims *claims, struct pv *const *pvs, uint32_t len, struct rng *rng,
                       uint64_t *found)
{
    struct pair pairs[6];
    struct str_map labels = { pairs, 0 };
    struct pv_search searches[CLAIMS_MAX] = { 0 };
    _cleanup_(idmap_release) struct idmap taken = { 0 };
    for (size_t k = 0; k < 6; k++)
        if (rng_below(rng, 2))
            pairs[labels.len++] = (struct pair){ words[k], word(rng, ARRAY_SIZE(words)) };
    for (uint32_t i = 0; i < claims->len; i++) {
        const struct pv *want = slow_find(pvs, len, &labels, &claims->pvcs[i], &taken);
        assert_ptr_equal(pv_choice_find(&claims->choices[i], searches, &labels, &taken), want);
        *found += want != NULL;
    }
}

static void check_round(struct rng *rng, uint64_t *found, uint64_t *asked)
{
    struct arena arena = { 0 };
    struct cluster cluster;
    struct claims claims;
    struct pv *pvs[PVS_MAX];
    uint32_t len = (uint32_t)rng_below(rng, PVS_MAX);
    cluster_init(&cluster);
    for (uint32_t i = 0; i < len; i++) {
        pvs[i] = random_pv(rng, &arena, i);
        cluster_set_object(&cluster, KIND_PV, pvs[i], &pvs[i]->meta);
    }
    random_claims(&claims, &cluster, rng, &arena);
    for (int n = 0; n < NODES_MAX; n++)
        check_node(&claims, pvs, len, rng, found);
    *asked += (uint64_t)claims.len * NODES_MAX;
    cluster_release(&cluster);
    arena_release(&arena);
}

static void test_same_as_plain(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    uint64_t found = 0, asked = 0;
    for (int i = 0; i < ROUNDS; i++)
        check_round(&rng, &found, &asked);
    assert_in_range(found, asked / 8, asked - asked / 8); /* both results occurred often */
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_same_as_plain) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
