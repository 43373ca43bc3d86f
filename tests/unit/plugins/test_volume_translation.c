/* In-tree volumes as volumes of CSI drivers: handles, topology, and what cannot be translated. */
#include "support/test.h"

#include "plugins/csi_translation.h"

static const struct {
    const char *id, *handle, *why;
} ebs_cases[] = {
    { "vol-1", "vol-1", NULL },
    { "", "", NULL },
    { "aws://us-east-1a/vol-1", "vol-1", NULL },
    { "aws:///vol-1", "vol-1", NULL },
    { "aws://z//vol-1/?x#y", "vol-1", NULL },
    { "aws://z/vol%2D1", "vol-1", NULL },
    { "aws://z/a/vol-1", NULL,
      "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/a/vol-1)" },
    { "aws://vol-1", NULL,
      "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://vol-1)" },
    { "aws://z/vol-%4", NULL,
      "failed to translate Kubernetes ID to EBS Volume ID Invalid disk name (aws://z/vol-%4): parse "
      "\"aws://z/vol-%4\": invalid URL escape \"%4\"" },
};

static void test_ebs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(ebs_cases); i++) {
        struct arena arena = { 0 };
        __typeof__(*((struct volume *)0)->aws_ebs) source = { .volume_id = str_from(ebs_cases[i].id) };
        struct volume volume = { .aws_ebs = &source };
        struct csi_translation translation = csi_translate_volume(&volume, &arena);
        bool ok = !translation.why.len;
        assert_int_equal(ok, ebs_cases[i].handle != NULL);
        if (ok) {
            assert_str(translation.driver, "ebs.csi.aws.com");
            assert_str(translation.handle, ebs_cases[i].handle);
        } else {
            assert_str(translation.why, ebs_cases[i].why);
        }
        arena_release(&arena);
    }
}

static const struct {
    const char *label, *value, *handle, *why;
} gce_cases[] = {
    { NULL, NULL, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", NULL },
    { "topology.kubernetes.io/zone", "a-b-c", "projects/UNSPECIFIED/zones/a-b-c/disks/d", NULL },
    { "failure-domain.beta.kubernetes.io/zone", "odd", "projects/UNSPECIFIED/zones/odd/disks/d", NULL },
    { "topology.kubernetes.io/zone", "a-b-c__a-b-d", "projects/UNSPECIFIED/regions/a-b/disks/d", NULL },
    { "topology.kubernetes.io/zone", "a-b-c__x", NULL,
      "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: "
      "x" },
    { "topology.kubernetes.io/zone", "x-y-c__a-b-d", NULL,
      "failed to get region from zones: multiple or no regions gotten from zones, got: map[a-b:{} x-y:{}]" },
};

static void test_gce(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(gce_cases); i++) {
        struct arena arena = { 0 };
        __typeof__(*((struct pv *)0)->spec.gce_pd) source = { .pd_name = STR("d") };
        struct pair label = { str_from(gce_cases[i].label), str_from(gce_cases[i].value) };
        struct pv pv = { .spec.gce_pd = &source };
        pv.meta.labels = (struct str_map){ &label, label.key.ptr ? 1 : 0 };
        struct csi_translation translation = csi_translate_pv(&pv, &arena);
        bool ok = !translation.why.len;
        assert_int_equal(ok, gce_cases[i].handle != NULL);
        assert_str(ok ? translation.handle : translation.why, ok ? gce_cases[i].handle : gce_cases[i].why);
        arena_release(&arena);
    }
}

static void test_azure_disk(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *why;
    } cases[] = {
        { "Managed", NULL },
        { "managed", NULL },
        { "Dedicated", "kind(Dedicated) is not supported in csi migration" },
        { NULL, "kind(Shared) is not supported in csi migration" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct arena arena = { 0 };
        __typeof__(*((struct pv *)0)->spec.azure_disk) source = { .disk_uri = STR("/d"),
                                                                  .kind = str_from(cases[i].kind) };
        struct pv pv = { .spec.azure_disk = &source };
        struct csi_translation translation = csi_translate_pv(&pv, &arena);
        bool ok = !translation.why.len;
        assert_int_equal(ok, cases[i].why == NULL);
        assert_str(ok ? translation.handle : translation.why, ok ? "/d" : cases[i].why);
        arena_release(&arena);
    }
}

/* One affinity term of the volume, and its translation; keys and values as "key=v,v key=v". */
static const struct {
    const char *name, *label, *value; /* of the volume */
    const char *keys[2], *values[2];  /* of its affinity; NULL: none */
    const char *want[3];              /* keys after translation, in order */
    const char *added;                /* values of the added key */
} topology_cases[] = {
    { "zones in the affinity", .keys = { "topology.kubernetes.io/zone", "topology.kubernetes.io/region" },
      .values = { "z", "r" }, .want = { "topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/region" } },
    { "old labels in the affinity",
      .keys = { "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region" },
      .values = { "z", "r" }, .want = { "topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/region" } },
    { "zones in a label", "topology.kubernetes.io/zone", "z2__z1__z1",
      .want = { "topology.ebs.csi.aws.com/zone" }, .added = "z1,z2" },
    { "zones in a label, another key in the affinity", "failure-domain.beta.kubernetes.io/zone", "z1",
      .keys = { "disk" }, .values = { "x" }, .want = { "disk", "topology.ebs.csi.aws.com/zone" },
      .added = "z1" },
    { "the affinity goes before the label", "topology.kubernetes.io/zone", "z1",
      .keys = { "topology.kubernetes.io/zone" }, .values = { "z9" },
      .want = { "topology.ebs.csi.aws.com/zone" } },
    { "nothing to translate", NULL, NULL },
};

static void check_topology(size_t i, const struct node_selector *got, struct arena *arena)
{
    uint32_t len = 0;
    while (len < 3 && topology_cases[i].want[len])
        len++;
    if (!len) {
        assert_null(got);
        return;
    }
    assert_int_equal(got->terms.len, 1);
    assert_int_equal(got->terms.items[0].match_expressions.len, len);
    for (uint32_t k = 0; k < len; k++)
        assert_str(got->terms.items[0].match_expressions.items[k].key, topology_cases[i].want[k]);
    if (!topology_cases[i].added)
        return;
    const struct str_list *values = &got->terms.items[0].match_expressions.items[len - 1].values;
    struct str joined = { 0 };
    for (uint32_t v = 0; v < values->len; v++)
        joined = arena_printf(arena, STR_FMT "%s" STR_FMT, STR_ARG(joined), v ? "," : "",
                              STR_ARG(values->items[v]));
    assert_str(joined, topology_cases[i].added);
}

static void test_topology(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(topology_cases); i++) {
        print_message("%s\n", topology_cases[i].name);
        struct arena arena = { 0 };
        __typeof__(*((struct pv *)0)->spec.aws_ebs) source = { .volume_id = STR("vol-1") };
        struct pair label = { str_from(topology_cases[i].label), str_from(topology_cases[i].value) };
        struct str values[2];
        struct selector_requirement expressions[2] = { 0 };
        struct node_selector_term term = { .match_expressions = { expressions, 0 } };
        for (uint32_t k = 0; k < 2 && topology_cases[i].keys[k]; k++) {
            values[k] = str_from(topology_cases[i].values[k]);
            expressions[term.match_expressions.len++] = (struct selector_requirement){
                .key = str_from(topology_cases[i].keys[k]), .op = OP_IN, .values = { &values[k], 1 }
            };
        }
        struct node_selector affinity = { .terms = { &term, 1 } };
        struct pv pv = { .spec.aws_ebs = &source };
        pv.spec.node_affinity = term.match_expressions.len ? &affinity : NULL;
        pv.meta.labels = (struct str_map){ &label, label.key.ptr ? 1 : 0 };
        struct csi_translation translation = csi_translate_pv(&pv, &arena);
        assert_int_equal(translation.why.len, 0);
        check_topology(i, translation.node_affinity, &arena);
        if (topology_cases[i].keys[0]) /* the volume itself is unchanged */
            assert_str(expressions[0].key, topology_cases[i].keys[0]);
        arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ebs),
        cmocka_unit_test(test_gce),
        cmocka_unit_test(test_azure_disk),
        cmocka_unit_test(test_topology),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
