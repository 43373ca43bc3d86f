/* Gates by release. data/gates-1.MINOR.txt is what `kube-scheduler --help` of that release lists: the gates that are
 * alpha or beta. */
#include "support/test.h"

#include "config/features.h"
#include "net/file.h"

static void list_gates(const struct features *features, struct strbuf *out)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *gate = feature_state(features, (enum feature)i);
        if (gate && (gate->stage == FEATURE_ALPHA || gate->stage == FEATURE_BETA))
            strbuf_printf(out, "%s=true|false (%s - default=%s)\n", feature_infos[i].name,
                          feature_stage_names[gate->stage], gate->by_default ? "true" : "false");
    }
}

static void test_lists(void **state _unused_)
{
    static const int minors[] = { 36, 37 };
    for (size_t i = 0; i < ARRAY_SIZE(minors); i++) {
        _cleanup_(strbuf_release) struct strbuf got = { 0 }, want = { 0 };
        struct features features;
        char path[64];
        snprintf(path, sizeof(path), "tests/unit/config/data/gates-1.%d.txt", minors[i]);
        struct error err = { 0 };
        if (file_read(path, 1 << 20, &want, &err) < 0)
            fail_msg("%s", err.text);
        features_default(&features, release_of(minors[i]), 0);
        list_gates(&features, &got);
        assert_string_equal(got.text, want.text);
    }
}

static int choose(int minor, int compatible, const char *setting, struct features *features,
                  struct error *err)
{
    struct feature_choices choices = { 0 };
    features_default(features, release_of(minor), compatible);
    int r = feature_choose(&choices, features, str_from(setting), err);
    return r < 0 ? r : features_resolve(&choices, features, err);
}

/* Each release has its own words for a gate. */
static void test_choices(void **state _unused_)
{
    static const struct {
        int minor;
        const char *setting, *error;
    } cases[] = {
        { 36, "SidecarContainers=true", "" },
        { 37, "SidecarContainers=true", "unrecognized feature gate: SidecarContainers" },
        { 36, "DRADerivedAttributes=false", "unrecognized feature gate: DRADerivedAttributes" },
        { 37, "DRADerivedAttributes=false", "" },
        { 37, "DRAExtendedResource=false",
          "cannot set feature gate DRAExtendedResource to false, feature is locked to true" },
        { 37, "DRADeviceTaints=false",
          "DRADeviceTaintRules is enabled, but depends on features that are disabled: [DRADeviceTaints]" },
        { 37, "GenericWorkload=true",
          "cannot set feature gate GenericWorkload to true: berth does not support that" },
        { 36, "H2CContainerProbe=true", "unrecognized feature gate: H2CContainerProbe" },
        { 37, "H2CContainerProbe=true", "" },
        { 36, "PodCertificateRequest=true", "" },
        { 37, "Nonsense=true", "unrecognized feature gate: Nonsense" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct features features;
        struct error err = { 0 };
        int r = choose(cases[i].minor, 0, cases[i].setting, &features, &err);
        assert_string_equal(err.text, cases[i].error);
        assert_int_equal(r, cases[i].error[0] ? -EINVAL : 0);
    }
}

/* One gate is on only where every component is new enough. */
static void test_compatible(void **state _unused_)
{
    struct features features;
    features_default(&features, release_of(37), 0);
    assert_int_equal(features.compatible, 36);
    assert_false(features.enabled[FEATURE_DRAFractionalCapacityRange]);
    features_default(&features, release_of(37), 37);
    assert_true(features.enabled[FEATURE_DRAFractionalCapacityRange]);
    features_default(&features, release_of(36), 36);
    assert_null(feature_state(&features, FEATURE_DRAFractionalCapacityRange));
    assert_false(features.enabled[FEATURE_DRAFractionalCapacityRange]);
}

static void test_defaults(void **state _unused_)
{
    struct features old, new;
    features_default(&old, release_of(36), 0);
    features_default(&new, NULL, 0);
    assert_int_equal(new.release->minor, RELEASE_DEFAULT);
    assert_false(old.release->image_volumes_divide);
    assert_true(new.release->image_volumes_divide);
    assert_false(old.enabled[FEATURE_StorageCapacityScoring]);
    assert_true(new.enabled[FEATURE_StorageCapacityScoring]);
    assert_null(release_of(35));
    assert_null(release_of(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_compatible),
        cmocka_unit_test(test_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
