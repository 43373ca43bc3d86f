/* Assumed bindings over the stores: they hold as long as the object does, and indexes list objects by name. */
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
    assert_true(cluster.storage_version != before); /* who caches must look again */
    const struct object_ref *ref = volumes_claim_ref(volumes_get(&cluster, 0), &pv);
    assert_true(claim_ref_matches(ref, &pvc));
    /* The same version again, another version, and back from nothing. */
    put_pv(&cluster, &newer, "v", "s", "1");
    assert_non_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    put_pv(&cluster, &newer, "v", "s", "2");
    assert_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    put_pv(&cluster, &newer, "v", "s", "1");
    assert_null(volumes_claim_ref(volumes_get(&cluster, 0), &newer));
    volumes_restore_pv(&cluster, &newer);
    cluster_release(&cluster);
}

static void test_assumed_claim(void **state)
{
    (void)state;
    struct cluster cluster;
    struct pair selected = { STR(ANNOTATION_SELECTED_NODE), STR("stored") };
    struct pvc pvc = { .meta = { .name = STR("c"), .namespace = STR("n"), .annotations = { &selected, 1 } } };
    cluster_init(&cluster);
    cluster_set_object(&cluster, KIND_PVC, &pvc, &pvc.meta);
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "stored");
    volumes_assume_pvc(&cluster, &pvc, STR("assumed"));
    volumes_assume_pvc(&cluster, &pvc, STR("again"));
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "again");
    volumes_restore_pvc(&cluster, &pvc);
    assert_str(*volumes_selected_node(volumes_get(&cluster, 0), &pvc), "stored");
    volumes_restore_pvc(&cluster, &pvc);
    pvc.meta.annotations.len = 0;
    assert_null(volumes_selected_node(volumes_get(&cluster, 0), &pvc));
    cluster_release(&cluster);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_assumed_volume),
        cmocka_unit_test(test_assumed_claim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
