/* Data that nodes share (taint lists, images), and objects that are only looked up by name, with the versions that
 * invalidate caches. */
#include "support/fixture.h"

/* ---- taint lists ---- */
#define TAINTED(name, taints) "{kind: Node, metadata: {name: " name "}, spec: {taints: [" taints "]}}\n---\n"
#define HARD "{key: k, value: v, effect: NoSchedule}"
#define SOFT "{key: k, value: v, effect: PreferNoSchedule}"

static uint32_t taints_of(const struct fixture *f, const char *node)
{
    uint32_t row = fixture_row(f, node);
    assert_int_equal(f->cluster.col.taints[row], cluster_node(&f->cluster, row)->taints);
    return f->cluster.col.taints[row];
}

static void test_taint_lists(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f,
                 TAINTED("a", HARD) TAINTED("b", HARD) TAINTED("c", HARD ", " SOFT)
                     TAINTED("d", SOFT ", " HARD) TAINTED("e", "")
                         TAINTED("f", "{key: kv, effect: NoSchedule}") TAINTED("g", "{key: k, value: v}"));
    uint32_t a = taints_of(&f, "a");
    assert_int_equal(taints_of(&f, "e"), 0);
    assert_int_equal(taints_of(&f, "b"), a); /* the same list has the same number */
    static const char *const others[] = { "c", "d", "e", "f", "g" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_not_equal(taints_of(&f, others[i]), taints_of(&f, others[k]));
    const struct taint_list *list = f.cluster.taint_lists.items[taints_of(&f, "c")];
    assert_int_equal(list->len, 2);
    assert_str(list->items[1].effect, "PreferNoSchedule");
    assert_int_equal(f.cluster.tainted_nodes, 6);

    /* The last user is removed: the number is free and reused. */
    size_t numbers = f.cluster.taint_lists.len;
    cluster_remove_node(&f.cluster, STR("a"));
    assert_non_null(f.cluster.taint_lists.items[a]);
    fixture_load(&f, TAINTED("b", "{key: new, effect: NoSchedule}"));
    assert_int_equal(taints_of(&f, "b"), a);
    assert_str(f.cluster.taint_lists.items[a]->items[0].key, "new");
    assert_int_equal(f.cluster.taint_lists.len, numbers);
    assert_int_equal(f.cluster.tainted_nodes, 5);
    fixture_release(&f);
}

/* ---- images ---- */
#define HAS(name, images) "{kind: Node, metadata: {name: " name "}, status: {images: [" images "]}}\n---\n"

static const struct image_info *image(const struct fixture *f, const char *name)
{
    sym symbol = intern_find(&f->cluster.syms, str_from(name));
    return symbol ? idmap_get(&f->cluster.images, symbol) : NULL;
}

static void test_images(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    fixture_load(&f, HAS("a", "{names: [app, app2, app], sizeBytes: 10}")
                         HAS("b", "{names: [app], sizeBytes: 99}"));
    assert_int_equal(image(&f, "app")->nodes, 2);
    assert_int_equal(image(&f, "app")->size_bytes, 10); /* of the first node that reported it */
    assert_int_equal(image(&f, "app2")->nodes, 1);
    uint64_t version = f.cluster.images_version;
    cluster_remove_node(&f.cluster, STR("a"));
    assert_true(f.cluster.images_version != version);
    assert_int_equal(image(&f, "app")->nodes, 1);
    assert_int_equal(image(&f, "app")->size_bytes, 10);
    assert_null(image(&f, "app2"));
    version = f.cluster.images_version;
    fixture_load(&f, HAS("b", "{names: [app], sizeBytes: 99}")); /* the only node reports again */
    assert_true(f.cluster.images_version != version);
    assert_int_equal(image(&f, "app")->size_bytes, 99);
    version = f.cluster.images_version;
    fixture_load(&f, HAS("b", "{names: [app], sizeBytes: 99}")); /* and once more: no change */
    assert_int_equal(f.cluster.images_version, version);
    fixture_load(&f, HAS("b", ""));
    assert_null(image(&f, "app"));
    fixture_release(&f);
}

/* ---- objects by name ---- */
struct store_case {
    enum api_kind kind;
    const char *text; /* named "it", in namespace ns or cluster-scoped */
    enum { TOUCHES_STORAGE, TOUCHES_CONTROLLERS, TOUCHES_NAMESPACES, TOUCHES_OTHERS } touches;
};

#define OBJECT(kind) "{kind: " kind ", metadata: {name: it}}"
#define IN_NS(kind) "{kind: " kind ", metadata: {name: it, namespace: ns}}"

static const struct store_case stores[] = {
    { KIND_PV, OBJECT("PersistentVolume"), TOUCHES_STORAGE },
    { KIND_PVC, IN_NS("PersistentVolumeClaim"), TOUCHES_STORAGE },
    { KIND_STORAGE_CLASS, OBJECT("StorageClass"), TOUCHES_STORAGE },
    { KIND_CSI_NODE, OBJECT("CSINode"), TOUCHES_STORAGE },
    { KIND_CSI_DRIVER, OBJECT("CSIDriver"), TOUCHES_STORAGE },
    { KIND_CSI_STORAGE_CAPACITY, IN_NS("CSIStorageCapacity"), TOUCHES_STORAGE },
    { KIND_VOLUME_ATTACHMENT, OBJECT("VolumeAttachment"), TOUCHES_STORAGE },
    { KIND_SERVICE, IN_NS("Service"), TOUCHES_CONTROLLERS },
    { KIND_REPLICATION_CONTROLLER, IN_NS("ReplicationController"), TOUCHES_CONTROLLERS },
    { KIND_REPLICA_SET, IN_NS("ReplicaSet"), TOUCHES_CONTROLLERS },
    { KIND_STATEFUL_SET, IN_NS("StatefulSet"), TOUCHES_CONTROLLERS },
    { KIND_NAMESPACE, OBJECT("Namespace"), TOUCHES_NAMESPACES },
    { KIND_PDB, IN_NS("PodDisruptionBudget"), TOUCHES_STORAGE },
    { KIND_PRIORITY_CLASS, OBJECT("PriorityClass"), TOUCHES_STORAGE },
    { KIND_RESOURCE_CLAIM, IN_NS("ResourceClaim"), TOUCHES_STORAGE },
    { KIND_DEVICE_CLASS, OBJECT("DeviceClass"), TOUCHES_STORAGE },
    { KIND_DEVICE_TAINT_RULE, OBJECT("DeviceTaintRule"), TOUCHES_STORAGE },
    { KIND_NODE_METRICS, OBJECT("NodeMetrics"), TOUCHES_OTHERS },
    { KIND_POD_METRICS, IN_NS("PodMetrics"), TOUCHES_OTHERS },
    { KIND_CONFIG_MAP, IN_NS("ConfigMap"), TOUCHES_OTHERS },
};

static const struct strmap *store_of(const struct cluster *cluster, enum api_kind kind)
{
    switch (kind) {
#define X(name, type, field) \
    case KIND_##name: \
        return &cluster->field;
        CLUSTER_STORES(X)
#undef X
    default:
        return NULL;
    }
}

static uint64_t version_of(const struct cluster *cluster, const struct store_case *test)
{
    return test->touches == TOUCHES_NAMESPACES    ? cluster->namespaces_version
           : test->touches == TOUCHES_CONTROLLERS ? cluster->controllers_version
           : test->touches == TOUCHES_OTHERS      ? cluster->other_changes
                                                  : cluster->storage_version;
}

static void test_objects(void **state)
{
    (void)state;
    struct fixture f;
    FIXTURE_BARE(&f);
    for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
        const struct strmap *store = store_of(&f.cluster, stores[i].kind);
        struct str ns = api_kinds[stores[i].kind].namespaced ? STR("ns") : (struct str){ 0 };
        uint64_t before = version_of(&f.cluster, &stores[i]);
        fixture_load(&f, stores[i].text);
        const void *first = cluster_get(store, ns, STR("it"));
        assert_non_null(first);
        assert_true(version_of(&f.cluster, &stores[i]) != before);
        assert_null(cluster_get(store, STR("elsewhere"), STR("it")));
        assert_null(cluster_get(store, ns, STR("other")));
        fixture_load(&f, stores[i].text); /* replaced, not added */
        assert_int_equal(store->len, 1);
        assert_ptr_not_equal(cluster_get(store, ns, STR("it")), first);
        before = version_of(&f.cluster, &stores[i]);
        cluster_remove_object(&f.cluster, stores[i].kind, ns, STR("it"));
        assert_null(cluster_get(store, ns, STR("it")));
        assert_true(version_of(&f.cluster, &stores[i]) != before);
        fixture_load(&f, stores[i].text); /* left for cluster_release() */
    }
    struct meta meta = { .name = STR("p") };
    assert_false(cluster_set_object(&f.cluster, KIND_POD, &meta, &meta));
    cluster_remove_object(&f.cluster, KIND_POD, (struct str){ 0 }, STR("p"));
    fixture_release(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taint_lists),
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
