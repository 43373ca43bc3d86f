/* Assumed bindings over the stores: valid as long as the object's version, and indexes list objects by name. */
#include "support/test.h"

#include "cluster/volumes.h"

static void put_pv(struct cluster *cluster, struct pv *pv, const char *name, const char *class_name,
                   const char *version)
{
    *pv = (struct pv){ .meta = { .name = str_from(name), .resource_version = str_from(version) } };
    pv->spec.storage_class_name = str_from(class_name);
    cluster_set_object(cluster, KIND_PV, pv, &pv->meta);
}

static void test_index(void **state)
{
    (void)state;
    struct cluster cluster;
    struct pv pvs[4];
    cluster_init(&cluster);
    put_pv(&cluster, &pvs[0], "c", "fast", "1");
    put_pv(&cluster, &pvs[1], "a", "slow", "1");
    put_pv(&cluster, &pvs[2], "b", "fast", "1");
    struct pair old = { STR(ANNOTATION_BETA_CLASS), STR("fast") };
    put_pv(&cluster, &pvs[3], "a", "slow", "1");
    pvs[3].meta.annotations = (struct str_map){ &old, 1 };
    struct pv_span span = volumes_of_class(volumes_get(&cluster, VOLUMES_PVS), STR("fast"));
    assert_int_equal(span.len, 3);
    assert_str(span.items[0]->meta.name, "a");
    assert_str(span.items[1]->meta.name, "b");
    assert_str(span.items[2]->meta.name, "c");
    assert_int_equal(volumes_of_class(volumes_get(&cluster, VOLUMES_PVS), STR("slow")).len, 0);
    cluster_remove_object(&cluster, KIND_PV, (struct str){ 0 }, STR("b"));
    assert_int_equal(volumes_of_class(volumes_get(&cluster, VOLUMES_PVS), STR("fast")).len, 2);
    cluster_release(&cluster);
}

static void test_assumed_volume(void **state)
{
    (void)state;
    struct cluster cluster;
    struct pv pv, newer;
    struct pvc pvc = { .meta = { .name = STR("c"), .namespace = STR("n"), .uid = STR("u") } };
    cluster_init(&cluster);
    put_pv(&cluster, &pv, "v", "s", "1");
    uint64_t before = cluster.storage_version;
    volumes_assume_pv(&cluster, &pv, &pvc);
    assert_true(cluster.storage_version != before); /* invalidates caches */
    const struct object_ref *ref = volumes_claim_ref(volumes_get(&cluster, 0), &pv);
    assert_true(claim_ref_matches(ref, &pvc));
    /* The same version again, another version, and a new object. */
    put_pv(&cluster, &newer, "v", "s", "1");
    assert_non_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    put_pv(&cluster, &newer, "v", "s", "2");
    assert_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    put_pv(&cluster, &newer, "v", "s", "1");
    assert_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    volumes_restore_pv(&cluster, STR("v"), STR("1"));
    cluster_release(&cluster);
}

static void test_assumed_claim(void **state)
{
    (void)state;
    struct cluster cluster;
    struct pair selected = { STR(ANNOTATION_SELECTED_NODE), STR("stored") };
    struct pvc pvc = { .meta = { .name = STR("c"),
                                 .namespace = STR("n"),
                                 .resource_version = STR("7"),
                                 .annotations = { &selected, 1 } } };
    cluster_init(&cluster);
    cluster_set_object(&cluster, KIND_PVC, &pvc, &pvc.meta);
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "stored");
    volumes_assume_pvc(&cluster, &pvc, STR("assumed"));
    volumes_assume_pvc(&cluster, &pvc, STR("again"));
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "again");
    volumes_restore_pvc(&cluster, STR("n"), STR("c"), STR("8"));
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc),
               "again"); /* not assumed for that version */
    volumes_restore_pvc(&cluster, STR("n"), STR("c"), STR("7"));
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "stored");
    volumes_restore_pvc(&cluster, STR("n"), STR("c"), STR("7"));
    pvc.meta.annotations.len = 0;
    assert_null(volumes_selected_node(volumes_get(&cluster, 0), &pvc));
    cluster_release(&cluster);
}

/* ---- objects that come and go ---- */
enum { NAMES = 6, CLASSES = 2, ROUNDS = 20000 };

/* An object and its strings in one allocation. */
struct piece {
    union {
        struct pv pv;
        struct pvc pvc;
        struct csi_storage_capacity capacity;
        struct volume_attachment attachment;
    };
    char name[16], group[16], version[16];
};

/* The expected state; indexes are numbers of names. */
struct churn {
    struct cluster cluster;
    struct rng rng;
    struct piece *stored[4][NAMES];
    int versions;
    struct {
        char version[16]; /* "": no assumption */
        char claim[16];
    } assumed[2][NAMES]; /* volumes, claims */
};

static const enum api_kind churn_kinds[] = { KIND_PV, KIND_PVC, KIND_CSI_STORAGE_CAPACITY,
                                             KIND_VOLUME_ATTACHMENT };

static struct piece *piece_new(struct churn *churn, size_t kind, size_t number)
{
    struct piece *piece = xcalloc(1, sizeof(*piece));
    snprintf(piece->name, sizeof(piece->name), "n%zu", number);
    snprintf(piece->group, sizeof(piece->group), "g%u", (unsigned)rng_below(&churn->rng, CLASSES));
    churn->versions += rng_below(&churn->rng, 3) > 0; /* some arrive twice with the same version */
    snprintf(piece->version, sizeof(piece->version), "%d", churn->versions);
    struct piece *before = churn->stored[kind][number];
    if (before && rng_below(&churn->rng, 3) == 0)
        memcpy(piece->version, before->version, sizeof(piece->version));
    struct meta *meta = &piece->pv.meta; /* all begin with it */
    meta->name = str_from(piece->name);
    meta->namespace = kind == 1 ? STR("ns") : (struct str){ 0 };
    meta->resource_version = str_from(piece->version);
    struct str group = str_from(piece->group);
    if (kind == 0)
        piece->pv.spec.storage_class_name = group;
    else if (kind == 2)
        piece->capacity.storage_class_name = group;
    else if (kind == 3)
        piece->attachment.node_name = group;
    return piece;
}

/* An assumption ends with its version. */
static void expire(struct churn *churn, size_t kind, size_t number)
{
    const struct piece *piece = churn->stored[kind][number];
    if (kind < 2 && (!piece || strcmp(piece->version, churn->assumed[kind][number].version) != 0))
        churn->assumed[kind][number].version[0] = '\0';
}

static void churn_store(struct churn *churn, size_t kind, size_t number, bool remove)
{
    struct piece *before = churn->stored[kind][number];
    struct piece *after = remove ? NULL : piece_new(churn, kind, number);
    if (after)
        cluster_set_object(&churn->cluster, churn_kinds[kind], after, &after->pv.meta);
    else if (before)
        cluster_remove_object(&churn->cluster, churn_kinds[kind], before->pv.meta.namespace,
                              before->pv.meta.name);
    free(before);
    churn->stored[kind][number] = after;
    expire(churn, kind, number);
}

static void churn_assume(struct churn *churn, size_t kind, size_t number)
{
    struct piece *object = churn->stored[kind][number];
    struct piece *claim = piece_new(churn, 1, rng_below(&churn->rng, NAMES));
    if (object) {
        if (kind == 0)
            volumes_assume_pv(&churn->cluster, &object->pv, &claim->pvc);
        else
            volumes_assume_pvc(&churn->cluster, &object->pvc, claim->pvc.meta.name);
        memcpy(churn->assumed[kind][number].version, object->version, sizeof(object->version));
        memcpy(churn->assumed[kind][number].claim, claim->name, sizeof(claim->name));
    }
    free(claim);
}

static void churn_restore(struct churn *churn, size_t kind, size_t number)
{
    char name[16], version[16];
    snprintf(name, sizeof(name), "n%zu", number);
    snprintf(version, sizeof(version), "%d", churn->versions - (int)rng_below(&churn->rng, 20));
    if (rng_below(&churn->rng, 2) && churn->stored[kind][number])
        memcpy(version, churn->stored[kind][number]->version, sizeof(version));
    if (kind == 0)
        volumes_restore_pv(&churn->cluster, str_from(name), str_from(version));
    else
        volumes_restore_pvc(&churn->cluster, STR("ns"), str_from(name), str_from(version));
    if (strcmp(churn->assumed[kind][number].version, version) == 0)
        churn->assumed[kind][number].version[0] = '\0';
}

/* The objects of a group in an index, which must be up to date. */
static const void *const *members(const struct volumes *volumes, unsigned index, struct str group,
                                  size_t *ret_len)
{
    if (index == 0) {
        struct pv_span pvs = volumes_of_class(volumes, group);
        *ret_len = pvs.len;
        return (const void *const *)pvs.items;
    }
    if (index == 1) {
        struct capacity_span capacities = volumes_capacities(volumes, group);
        *ret_len = capacities.len;
        return (const void *const *)capacities.items;
    }
    struct attachment_span attachments = volumes_attachments(volumes, group);
    *ret_len = attachments.len;
    return (const void *const *)attachments.items;
}

static void check_index(const struct churn *churn, const struct volumes *volumes, unsigned index)
{
    static const size_t kinds[] = { 0, 2, 3 };
    for (unsigned group = 0; group < CLASSES; group++) {
        char name[16];
        size_t len, at = 0;
        snprintf(name, sizeof(name), "g%u", group);
        const void *const *items = members(volumes, index, str_from(name), &len);
        for (size_t i = 0; i < NAMES; i++) {
            const struct piece *piece = churn->stored[kinds[index]][i];
            if (!piece || strcmp(piece->group, name) != 0)
                continue;
            assert_true(at < len);
            assert_ptr_equal(items[at++], piece);
        }
        assert_int_equal(at, len);
    }
}

static void churn_check(struct churn *churn)
{
    unsigned wanted = (unsigned)rng_below(&churn->rng, 8);
    const struct volumes *volumes = volumes_get(&churn->cluster, wanted);
    for (size_t i = 0; i < NAMES; i++) {
        const struct piece *pv = churn->stored[0][i], *pvc = churn->stored[1][i];
        const struct object_ref *ref = pv ? volumes_claim_ref(volumes, &pv->pv) : NULL;
        const struct str *node = pvc ? volumes_selected_node(volumes, &pvc->pvc) : NULL;
        assert_str(ref ? ref->name : STR(""),
                   churn->assumed[0][i].version[0] ? churn->assumed[0][i].claim : "");
        assert_str(node ? *node : STR(""), churn->assumed[1][i].version[0] ? churn->assumed[1][i].claim : "");
    }
    for (unsigned index = 0; index < 3; index++)
        if (wanted >> index & 1)
            check_index(churn, volumes, index);
}

/* Every object is freed when it is replaced: it must not be accessed again. */
static void test_churn(void **state)
{
    (void)state;
    struct churn churn = { .rng = test_rng() };
    cluster_init(&churn.cluster);
    for (size_t round = 0; round < ROUNDS; round++) {
        size_t kind = rng_below(&churn.rng, 4), number = rng_below(&churn.rng, NAMES);
        switch (rng_below(&churn.rng, 8)) {
        case 0:
            churn_store(&churn, kind, number, true);
            break;
        case 1:
        case 2:
        case 3:
            churn_store(&churn, kind, number, false);
            break;
        case 4:
        case 5:
            churn_assume(&churn, kind % 2, number);
            break;
        default:
            churn_restore(&churn, kind % 2, number);
        }
        churn_check(&churn);
    }
    for (size_t kind = 0; kind < ARRAY_SIZE(churn_kinds); kind++)
        for (size_t i = 0; i < NAMES; i++)
            free(churn.stored[kind][i]);
    cluster_release(&churn.cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_assumed_volume),
        cmocka_unit_test(test_assumed_claim),
        cmocka_unit_test(test_churn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
