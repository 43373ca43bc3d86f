/* Tests of input/pod_factory.c: names, labels and claims of generated pods. */
#include "unit/input/loaded.h"

#include "input/pod_factory.h"

static void test_map_with(void **state)
{
    (void)state;
    struct arena arena = { 0 };
    struct str_map map = { 0 };
    static const char *const keys[] = { "m", "a", "z", "m", "b" };
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        map = str_map_with(&map, str_from(keys[i]), i == 3 ? STR("new") : STR("old"), &arena);
    static const char *const want[] = { "a", "b", "m", "z" };
    assert_int_equal(map.len, ARRAY_SIZE(want));
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_str(map.items[i].key, want[i]);
    assert_str(map.items[2].value, "new");
    arena_release(&arena);
}

/* The same owner gets the same names in every run; never a taken name, never one that is too long. */
static void test_names(void **state)
{
    (void)state;
    enum { NAMES = 500 };
    struct str first[NAMES] = { 0 };
    struct load load;
    struct arena kept = { 0 };
    load_good(&load, "{kind: Namespace, apiVersion: v1, metadata: {name: x}}");
    for (int run = 0; run < 2; run++) {
        struct pod_factory factory;
        struct owner owner = { .key = STR("7/default/web") };
        struct pod pod = { .meta = { .namespace = STR("default") } };
        factory_init(&factory, &load);
        for (int i = 0; i < NAMES; i++) {
            struct str name = factory_name(&factory, STR("default"), STR("web-"), &owner);
            assert_true(name.len == 9 && str_starts_with(name, STR("web-")));
            if (run == 0)
                first[i] = arena_str(&kept, name);
            else
                assert_true(str_eq(name, first[i]));
            factory_finish(&factory, &pod, name);
        }
        assert_int_equal(factory.taken.len, NAMES);
        char prefix[100];
        memset(prefix, 'x', sizeof(prefix));
        assert_int_equal(
            factory_name(&factory, STR("default"), (struct str){ prefix, sizeof(prefix) }, &owner).len, 63);
        factory_release(&factory);
    }
    arena_release(&kept);
    load_release(&load);
}

static void test_ephemeral_claims(void **state)
{
    (void)state;
    struct load load;
    struct pod_factory factory;
    load_good(
        &load,
        "{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: old, annotations: "
        "{storageclass.kubernetes.io/is-default-class: 'true'}, creationTimestamp: '2024-01-01T00:00:00Z'}}\n"
        "---\n"
        "{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: new, annotations: "
        "{storageclass.kubernetes.io/is-default-class: 'true'}, creationTimestamp: '2025-01-01T00:00:00Z'}}\n"
        "---\n"
        "{kind: Pod, apiVersion: v1, metadata: {name: p}, spec: {volumes: [{name: v, ephemeral: "
        "{volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}}]}}");
    factory_init(&factory, &load);
    const struct pod *made =
        factory_finish(&factory, (const struct pod *)load.objects[KIND_POD].items[0], STR("q"));
    assert_int_equal(factory.claims.len, 1);
    assert_int_equal(factory.claims.items[0].kind, KIND_PVC);
    const struct pvc *claim = (const struct pvc *)factory.claims.items[0].meta;
    assert_str(claim->meta.name, "q-v");
    assert_str(claim->spec.storage_class_name, "new");
    assert_true(str_eq(claim->meta.owners.items[0].uid, made->meta.uid));
    assert_ptr_equal(load_find(&load, KIND_PVC, STR("default"), STR("q-v")), claim);
    factory_release(&factory);
    load_release(&load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_with),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_ephemeral_claims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
