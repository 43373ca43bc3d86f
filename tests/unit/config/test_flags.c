/* The command line: parsed as kube-scheduler does, checked, and applied to a configuration. */
#include "support/test.h"

#include <unistd.h>

#include "unit/config/catalog.h"

#include "base/duration.h"
#include "config/flags.h"

enum { ARGS_MAX = 12 };

/* Flags from words; the last one is NULL. */
static int parse(struct scheduler_flags *flags, const char *const *words, struct error *err)
{
    char *argv[ARGS_MAX + 1] = { (char *)(uintptr_t)"kube-scheduler" };
    int argc = 1;
    for (; words[argc - 1]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    return flags_parse(flags, argc, argv, err);
}

static void assert_list(struct str_list list, const char *want)
{
    _cleanup_(strbuf_release) struct strbuf joined = { 0 };
    for (uint32_t i = 0; i < list.len; i++)
        strbuf_printf(&joined, "%s" STR_FMT, i ? "|" : "", STR_ARG(list.items[i]));
    assert_string_equal(joined.text ? joined.text : "", want);
}

static void defaults_are_those_of_kube_scheduler(void **state _unused_)
{
    struct scheduler_flags flags;
    struct error err;
    assert_int_equal(parse(&flags, (const char *const[]){ NULL }, &err), 0);
    assert_true(str_empty(flags.config));
    assert_true(str_is(flags.bind_address, "0.0.0.0"));
    assert_int_equal(flags.secure_port, 10259);
    assert_int_equal(flags.authentication_token_webhook_cache_ttl, 10 * NS_PER_SECOND);
    assert_true(flags.authentication_tolerate_lookup_failure);
    assert_list(flags.authorization_always_allow_paths, "/healthz|/readyz|/livez");
    assert_int_equal(flags.pod_max_in_unschedulable_pods_duration, 300 * NS_PER_SECOND);
    assert_true(flags.leader_elect);
    assert_int_equal(flags.leader_elect_lease_duration, 15 * NS_PER_SECOND);
    assert_true(str_is(flags.leader_elect_resource_name, "kube-scheduler"));
    assert_true(str_is(flags.logging_format, "text"));
    for (size_t i = 0; i < FLAG_COUNT; i++)
        assert_false(flags.given[i]);
    flags_release(&flags);
}

/* Every form of -v and --v. */
static void short_and_long_flags_take_values_in_every_form(void **state _unused_)
{
    static const struct {
        const char *words[4];
        int32_t v;
    } cases[] = {
        { { "-v=2" }, 2 },     { { "-v", "3" }, 3 },
        { { "-v4" }, 4 },      { { "--v=5" }, 5 },
        { { "--v", "6" }, 6 }, { { "-v=2", "-v7" }, 7 },
        { { "--v=0" }, 0 },    { { "-v=2147483647" }, INT32_MAX },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler_flags flags;
        struct error err;
        assert_int_equal(parse(&flags, cases[i].words, &err), 0);
        assert_int_equal(flags.v, cases[i].v);
        assert_true(flags.given[FLAG_v]);
        flags_release(&flags);
    }
}

static void values_of_every_kind_are_read(void **state _unused_)
{
    struct scheduler_flags flags;
    struct error err;
    assert_int_equal(
        parse(&flags,
              (const char *const[]){
                  "--leader_elect=false", "--leader-elect-lease-duration=1m30s", "--kube-api-qps=12.5",
                  "--kube-api-burst=0x10", "--tls-cipher-suites=A,\"B,\"\"C\"", "--tls_cipher_suites", "D",
                  "--tls-curve-preferences=23,29", "--tls-sni-cert-key=a.crt, a.key : *.x.com, x.com",
                  "--allow-metric-labels=m,l=a", "--vmodule=a=1,b*=2", NULL },
              &err),
        0);
    assert_false(flags.leader_elect);
    assert_int_equal(flags.leader_elect_lease_duration, 90 * NS_PER_SECOND);
    assert_true(flags.kube_api_qps == 12.5);
    assert_int_equal(flags.kube_api_burst, 16);
    assert_list(flags.tls_cipher_suites, "A|B,\"C|D");
    assert_int_equal(flags.tls_curve_preferences.len, 2);
    assert_int_equal(flags.tls_curve_preferences.items[1], 29);
    assert_int_equal(flags.tls_sni_cert_key.len, 1);
    assert_true(str_is(flags.tls_sni_cert_key.items[0].key_file, "a.key"));
    assert_list(flags.tls_sni_cert_key.items[0].names, "*.x.com|x.com");
    assert_int_equal(flags.allow_metric_labels.len, 1);
    assert_true(str_is(flags.allow_metric_labels.items[0].key, "m,l"));
    assert_true(str_is(flags.vmodule, "a=1,b*=2"));
    flags_release(&flags);
}

static void addresses_are_validated(void **state _unused_)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        { "0.0.0.0", true },
        { "255.255.255.255", true },
        { "::", true },
        { "::1", true },
        { "fe80::", true },
        { "1:2:3:4:5:6:7:8", true },
        { "1:2:3::5:6:7:8", true },
        { "::ffff:1.2.3.4", true },
        { "1:2:3:4:5:6:1.2.3.4", true },
        { " 10.0.0.1 ", true },
        { "", true },
        { "1.2.3", false },
        { "1.2.3.4.5", false },
        { "1.2.3.256", false },
        { "01.2.3.4", false },
        { "1..2.3", false },
        { "1.2.3.x", false },
        { ":", false },
        { ":::", false },
        { "1:2", false },
        { "1:2:3:4:5:6:7", false },
        { "1:2:3:4:5:6:7:8:9", false },
        { "1::2::3", false },
        { "1:2:3:4:5:6:7::8", false },
        { "12345::", false },
        { "g::", false },
        { "::1%eth0", false },
        { "1:2:3:4:5:6:7:1.2.3.4", false },
        { "::1.2.3", false },
        { ":1::", false },
        { "1:", false },
        { "localhost", false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler_flags flags;
        struct error err;
        int r = parse(&flags, (const char *const[]){ "--bind-address", cases[i].text, NULL }, &err);
        if ((r == 0) != cases[i].good)
            fail_msg("%s", cases[i].text);
        if (r == 0)
            flags_release(&flags);
    }
}

static void lists_replace_the_default_and_then_grow(void **state _unused_)
{
    struct scheduler_flags flags;
    struct error err;
    assert_int_equal(
        parse(&flags,
              (const char *const[]){ "--requestheader-group-headers=a", "--requestheader-group-headers=b,c",
                                     "--authorization-always-allow-paths=", "--disabled-metrics=m",
                                     "--disabled-metrics=", "--vmodule=a=1", "--vmodule=b=2",
                                     "--allow-metric-labels=\"m,a=1\",\"m,b=2\"",
                                     "--allow-metric-labels=m,a=3", NULL },
              &err),
        0);
    assert_list(flags.requestheader_group_headers, "a|b|c");
    assert_list(flags.authorization_always_allow_paths, "");
    assert_list(flags.disabled_metrics, "m");
    assert_true(str_is(flags.vmodule, "a=1,b=2"));
    assert_int_equal(flags.allow_metric_labels.len, 2);
    assert_true(str_is(flags.allow_metric_labels.items[0].value, "3"));
    assert_true(str_is(flags.allow_metric_labels.items[1].key, "m,b"));
    flags_release(&flags);
}

static void wrong_arguments_give_an_error(void **state _unused_)
{
    static const struct {
        const char *words[4];
        const char *want;
    } cases[] = {
        { { "--nope" }, "unknown flag: --nope" },
        { { "--nope_it=1" }, "unknown flag: --nope_it" },
        { { "--config" }, "flag needs an argument: --config" },
        { { "-v" }, "flag needs an argument: 'v' in -v" },
        { { "-x" }, "unknown shorthand flag: 'x' in -x" },
        { { "--=x" }, "bad flag syntax: --=x" },
        { { "---x" }, "bad flag syntax: ---x" },
        { { "node" }, "no arguments are taken but flags, got \"node\"" },
        { { "--", "--help" }, "no arguments are taken but flags, got \"--help\"" },
        { { "--secure-port=abc" },
          "invalid argument \"abc\" for \"--secure-port\" flag: expected a whole number" },
        { { "--secure-port=1_" },
          "invalid argument \"1_\" for \"--secure-port\" flag: expected a whole number" },
        { { "--kube-api-burst=2147483648" },
          "invalid argument \"2147483648\" for \"--kube-api-burst\" flag: expected a number from -2147483648 "
          "to 2147483647" },
        { { "-v=-1" },
          "invalid argument \"-1\" for \"-v, --v\" flag: expected a whole number that is not negative" },
        { { "--leader-elect=maybe" },
          "invalid argument \"maybe\" for \"--leader-elect\" flag: expected true or false" },
        { { "--leader-elect-retry-period=5" },
          "invalid argument \"5\" for \"--leader-elect-retry-period\" flag: the unit is missing; a duration "
          "is written as "
          "\"10s\" or \"1m30s\"" },
        { { "--bind-address=1.2.3" },
          "invalid argument \"1.2.3\" for \"--bind-address\" flag: expected an IP address" },
        { { "--kube-api-qps=1e99" },
          "invalid argument \"1e99\" for \"--kube-api-qps\" flag: the number is too large" },
        { { "--tls-cipher-suites=\"a" },
          "invalid argument \"\\\"a\" for \"--tls-cipher-suites\" flag: a quote is missing, or a text goes "
          "on behind one" },
        { { "--vmodule=a=b" },
          "invalid argument \"a=b\" for \"--vmodule\" flag: the level in \"a=b\": expected a whole number "
          "that is not negative" },
        { { "--version=v1.35.0" },
          "invalid argument \"v1.35.0\" for \"--version\" flag: it must begin with v1.37.1, the version of "
          "Kubernetes whose "
          "scheduler this is" },
        { { "--policy-config-file=x" },
          "unknown flag: --policy-config-file (kube-scheduler v1.23 removed it): the kind Policy is gone; "
          "say the same in the profiles of a file for --config" },
        { { "--policy-config-file=x", "--legacy-flags" },
          "unknown flag: --policy-config-file (kube-scheduler v1.23 removed it): the kind Policy is gone; "
          "say the same in the profiles of a file for --config" },
        { { "--lock_object_name=x" },
          "unknown flag: --lock-object-name (kube-scheduler v1.28 removed it): use "
          "--leader-elect-resource-name; with --legacy-flags it is accepted, with a warning" },
        { { "--percentage-of-nodes-to-score", "50", "--help" },
          "unknown flag: --percentage-of-nodes-to-score (kube-scheduler does not have it): set "
          "percentageOfNodesToScore in a file for --config; with --legacy-flags it is accepted, with a "
          "warning" },
        { { "--port=zero", "--legacy-flags" },
          "invalid argument \"zero\" for \"--port\" flag: expected a whole number" },
        { { "--port", "--legacy-flags=true" },
          "unknown flag: --port (kube-scheduler v1.24 removed it): there is no serving without TLS; use "
          "--secure-port; with --legacy-flags it is accepted, with a warning" },
        { { "--algorithm-provider=ClusterAutoscalerProvider", "--legacy-flags" },
          "invalid argument \"ClusterAutoscalerProvider\" for \"--algorithm-provider\" flag: --legacy-flags "
          "accepts only DefaultProvider here (kube-scheduler v1.22 removed it); choose plugins in the "
          "profiles "
          "of a file for --config" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler_flags flags;
        struct error err;
        assert_int_equal(parse(&flags, cases[i].words, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].want);
    }
}

static void contradictions_are_rejected(void **state _unused_)
{
    static const struct {
        const char *words[3];
        const char *want; /* NULL: accepted */
    } cases[] = {
        { { "--secure-port=0" }, NULL },
        { { "--secure-port=65536" },
          "--secure-port 65536 must be between 0 and 65535, inclusive. 0 for turning off secure port" },
        { { "--tls-min-version=VersionTLS13" }, NULL },
        { { "--tls-min-version=1.3" }, "unknown tls version \"1.3\"" },
        { { "--tls-cipher-suites=TLS_RSA_WITH_RC4_128_SHA" }, NULL },
        { { "--tls-cipher-suites=RC4" }, "Cipher suite RC4 not supported or doesn't exist" },
        { { "--tls-curve-preferences=23,23" }, "duplicate curve preference 23" },
        { { "--tls-curve-preferences=1" }, "curve preference 1 is not supported" },
        { { "--tls-cert-file=x" }, "--tls-cert-file needs --tls-private-key-file too" },
        /* Without a port these flags are not checked. */
        { { "--tls-cert-file=x", "--tls-cipher-suites=RC4", "--secure-port=0" }, NULL },
        { { "--logging-format=xml" }, "--logging-format: Invalid value: \"xml\": Unsupported log format" },
        { { "--logging-format=json", "--vmodule=a=1" },
          "--vmodule: Forbidden: Only supported for text log format" },
        { { "--logging-format=json", "--feature-gates=LoggingBetaOptions=false" },
          "--logging-format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature" },
        { { "--log-json-split-stream" },
          "--log-json-split-stream: Forbidden: Feature LoggingAlphaOptions is disabled" },
        { { "--log-json-split-stream", "--feature-gates=LoggingAlphaOptions=true" }, NULL },
        { { "--log-flush-frequency=0s" },
          "--log-flush-frequency: Invalid value: \"0s\": Must be greater than zero" },
        { { "--requestheader-allowed-names=a, " }, "empty value in \"requestheader-allowed-names\"" },
        { { "--show-hidden-metrics-for-version=1.36" }, NULL },
        { { "--show-hidden-metrics-for-version=1.35" },
          "--show-hidden-metrics-for-version: Invalid value: \"1.35\": must be omitted or have the value "
          "'1.36'; only the "
          "previous minor version is allowed" },
        { { "--disabled-metrics=a-b" }, "--disabled-metrics: Invalid value: \"a-b\" is no name of a metric" },
        { { "--allow-metric-labels=m=x" },
          "--allow-metric-labels: Invalid value: \"m\": must have keys with format `metricName,labelName`" },
        { { "--emulated-version=1.36", "--min-compatibility-version=kube=1.34" }, NULL },
        { { "--emulated-version=1.35" },
          "emulation version 1.35: berth does not support that, only 1.36 and 1.37" },
        { { "--emulated-version=1.30" }, "emulation version 1.30 is not between [1.34, 1.37.0]" },
        { { "--emulated-version=other=1.36" }, "--emulated-version: component not registered: other" },
        { { "--min-compatibility-version=1.38" },
          "minCompatibilityVersion version 1.38 is not between [1.34, 1.37]" },
        { { "--emulated-version=1.36", "--min-compatibility-version=1.37" },
          "minCompatibilityVersion version 1.37 is not between [1.34, 1.36]" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler_flags flags;
        struct features features;
        struct error err = { "" };
        assert_int_equal(parse(&flags, cases[i].words, &err), 0);
        int r = flags_check(&flags, &features, NULL, &err);
        assert_string_equal(err.text, cases[i].want ? cases[i].want : "");
        assert_int_equal(r, cases[i].want ? -EINVAL : 0);
        flags_release(&flags);
    }
}

static void gates_are_switched_or_rejected(void **state _unused_)
{
    static const struct {
        const char *words[3];
        const char *want; /* NULL: accepted */
        int feature;
        bool on;
    } cases[] = {
        { { "--feature-gates=StorageCapacityScoring=true" }, NULL, FEATURE_StorageCapacityScoring, true },
        { { "--feature-gates=NodeDeclaredFeatures=0" },
          "cannot set feature gate NodeDeclaredFeatures to false, feature is locked to true",
          0,
          false },
        { { "--feature-gates=kube:StorageCapacityScoring=t" }, NULL, FEATURE_StorageCapacityScoring, true },
        { { "--feature-gates=StorageCapacityScoring=true", "--feature-gates=StorageCapacityScoring=false" },
          NULL,
          FEATURE_StorageCapacityScoring,
          false },
        { { "--feature-gates= StorageCapacityScoring = true ,," },
          NULL,
          FEATURE_StorageCapacityScoring,
          true },
        { { "--feature-gates=KubeletInUserNamespace=true" }, NULL, FEATURE_KubeletInUserNamespace, true },
        { { "--feature-gates=Nope=true" }, "unrecognized feature gate: Nope", 0, false },
        { { "--feature-gates=GangScheduling" }, "missing bool value for GangScheduling", 0, false },
        { { "--feature-gates=GangScheduling=x" },
          "invalid value of GangScheduling=x: expected true or false",
          0,
          false },
        { { "--feature-gates=DynamicResourceAllocation=false" },
          "cannot set feature gate DynamicResourceAllocation to false, feature is locked to true",
          0,
          false },
        { { "--feature-gates=DynamicResourceAllocation=true" },
          NULL,
          FEATURE_DynamicResourceAllocation,
          true },
        { { "--feature-gates=WorkloadWithJob=true" },
          "WorkloadWithJob is enabled, but depends on features that are disabled: [GenericWorkload]",
          0,
          false },
        { { "--feature-gates=a:X=true" }, "component not registered: a", 0, false },
        { { "--feature-gates=kube:StorageCapacityScoring=true,KubeletPSI=true" },
          "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
          0,
          false },
        { { "--feature-gates=AllAlpha=false" }, NULL, FEATURE_StorageCapacityScoring, true },
        { { "--feature-gates=AllBeta=false" }, NULL, FEATURE_StorageCapacityScoring, false },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct scheduler_flags flags;
        struct features features;
        struct error err = { "" };
        assert_int_equal(parse(&flags, cases[i].words, &err), 0);
        int r = flags_check(&flags, &features, NULL, &err);
        if (cases[i].want) {
            assert_int_equal(r, -EINVAL);
            assert_non_null(strstr(err.text, cases[i].want));
        } else {
            assert_string_equal(err.text, "");
            assert_int_equal(features.enabled[cases[i].feature], cases[i].on);
        }
        flags_release(&flags);
    }
}

/* Scheduling in Kubernetes depends on these gates, and berth only implements their defaults. */
static void check_unsupported_gates(int minor)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        struct feature_choices choices = { 0 };
        struct features features;
        struct error err;
        features_default(&features, release_of(minor), 0);
        const struct feature_state *gate = feature_state(&features, (enum feature)i);
        if (feature_infos[i].here != FEATURE_FIXED || !gate || gate->locked)
            continue;
        choices.given[i] = true;
        choices.value[i] = gate->by_default;
        assert_int_equal(features_resolve(&choices, &features, &err), 0);
        choices.value[i] = !gate->by_default;
        assert_int_equal(features_resolve(&choices, &features, &err), -EINVAL);
        assert_non_null(strstr(err.text, "berth does not support that"));
    }
}

static void an_unsupported_gate_may_have_its_default(void **state _unused_)
{
    check_unsupported_gates(36);
    check_unsupported_gates(37);
}

static void help_has_every_flag_in_its_group(void **state _unused_)
{
    static const unsigned widths[] = { 0, 10, 60, 200 };
    const struct scheduler_flags flags = { 0 };
    for (size_t w = 0; w < ARRAY_SIZE(widths); w++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        flags_help(&flags, &out, widths[w]);
        const char *at = out.text;
        for (size_t i = 0; i < FLAG_COUNT; i++) {
            _cleanup_(strbuf_release) struct strbuf want = { 0 };
            if (!i || flag_infos[i].group != flag_infos[i - 1].group) {
                strbuf_printf(&want, "\n%s flags:\n\n", flag_group_names[flag_infos[i].group]);
                at = strstr(at, want.text);
                assert_non_null(at);
                strbuf_clear(&want);
            }
            if (flag_infos[i].letter)
                strbuf_printf(&want, "  -%c, --%s", flag_infos[i].letter, flag_infos[i].name);
            else
                strbuf_printf(&want, "      --%s", flag_infos[i].name);
            at = strstr(at, want.text);
            assert_non_null(at);
        }
        assert_non_null(strstr(out.text, "kube:StorageCapacityScoring=true|false (BETA - default=true)"));
        assert_null(strstr(out.text, "kube:SidecarContainers"));
    }
}

static void version_can_be_parsed_by_scripts(void **state _unused_)
{
    static const struct {
        const char *word;
        const char *want; /* NULL: nothing is printed */
        const char *reported;
    } cases[] = {
        { "--version", "Kubernetes v1.37.1+berth.", "v1.37.1+berth." },
        { "--version=raw", "version.Info{Major:\"1\", Minor:\"37\", EmulationMajor:\"\", ",
          "v1.37.1+berth." },
        { "--version=false", NULL, "v1.37.1+berth." },
        { "--version=v1.37.1-gke.1", NULL, "v1.37.1-gke.1" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf out = { 0 };
        struct scheduler_flags flags;
        struct error err;
        assert_int_equal(parse(&flags, (const char *const[]){ cases[i].word, NULL }, &err), 0);
        assert_int_equal(flags_version(&flags, &out), cases[i].want != NULL);
        if (cases[i].want)
            assert_int_equal(strncmp(out.text, cases[i].want, strlen(cases[i].want)), 0);
        strbuf_clear(&out);
        flags_reported_version(&flags, &out);
        assert_true(str_starts_with(strbuf_slice(&out), str_from(cases[i].reported)));
        flags_release(&flags);
    }
}

/* ---- with a configuration ---- */

struct run {
    struct scheduler_flags flags;
    struct arena arena;
    struct scheduler_config config;
    struct warnings warnings;
    struct error err;
};

static int run_load(struct run *run, const char *const *words)
{
    struct features features;
    *run = (struct run){ 0 };
    assert_int_equal(parse(&run->flags, words, &run->err), 0);
    assert_int_equal(flags_check(&run->flags, &features, &run->warnings, &run->err), 0);
    return flags_load(&run->flags, &stock_catalog, &features, &run->arena, &run->config, &run->warnings,
                      &run->err);
}

static void run_release(struct run *run)
{
    config_release(&run->config);
    warnings_release(&run->warnings);
    arena_release(&run->arena);
    flags_release(&run->flags);
}

static void without_a_file_all_flags_apply(void **state _unused_)
{
    struct run run;
    assert_int_equal(
        run_load(&run, (const char *const[]){ "--kubeconfig=k", "--kube-api-qps=5", "--kube-api-burst=7",
                                              "--profiling=false", "--leader-elect-resource-name=mine",
                                              "--leader-elect-lease-duration=20s", NULL }),
        0);
    assert_true(str_is(run.config.client_connection.kubeconfig, "k"));
    assert_true(run.config.client_connection.qps == 5);
    assert_int_equal(run.config.client_connection.burst, 7);
    assert_true(str_is(run.config.client_connection.content_type, "application/vnd.kubernetes.protobuf"));
    assert_false(run.config.enable_profiling);
    assert_true(run.config.enable_contention_profiling);
    assert_true(str_is(run.config.leader_election.resource_name, "mine"));
    assert_int_equal(run.config.leader_election.lease_duration_ns, 20 * NS_PER_SECOND);
    assert_int_equal(run.config.leader_election.renew_deadline_ns, 10 * NS_PER_SECOND);
    assert_int_equal(run.warnings.list.len, 0);
    run_release(&run);
}

static void the_result_of_flags_is_checked(void **state _unused_)
{
    struct run run;
    assert_int_equal(run_load(&run, (const char *const[]){ "--leader-elect-lease-duration=5s", NULL }),
                     -EINVAL);
    assert_string_equal(
        run.err.text,
        "leaderElection.leaseDuration: Invalid value: \"10s\": must be greater than `RenewDeadline`");
    run_release(&run);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void with_a_file_only_leader_election_flags_apply(void **state _unused_)
{
    char path[] = "/tmp/test_flags.XXXXXX", flag[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, CONFIG_HEAD "clientConnection: {kubeconfig: file, qps: 3}\n"
                                 "leaderElection: {leaseDuration: 8s, retryPeriod: 1s}\n");
    snprintf(flag, sizeof(flag), "--config=%s", path);
    struct run run;
    /* The file alone is wrong: 8s is less than the renew deadline. The flag corrects it. */
    assert_int_equal(run_load(&run, (const char *const[]){ flag, "--kubeconfig=k", "--kube-api-qps=9",
                                                           "--leader-elect-renew-deadline=5s", NULL }),
                     0);
    assert_true(str_is(run.config.client_connection.kubeconfig, "file"));
    assert_true(run.config.client_connection.qps == 3);
    assert_int_equal(run.config.leader_election.lease_duration_ns, 8 * NS_PER_SECOND);
    assert_int_equal(run.config.leader_election.renew_deadline_ns, 5 * NS_PER_SECOND);
    assert_int_equal(run.config.leader_election.retry_period_ns, NS_PER_SECOND);
    assert_int_equal(run.warnings.list.len, 2);
    assert_true(str_is(run.warnings.list.items[0],
                       "--kubeconfig is ignored, because there is a configuration file; "
                       "set clientConnection.kubeconfig there"));
    run_release(&run);
    assert_int_equal(run_load(&run, (const char *const[]){ flag, NULL }), -EINVAL);
    run_release(&run);
    unlink(path);
}

/* ---- flags of older releases ---- */

static bool has_warning(const struct run *run, const char *part)
{
    vec_for(&run->warnings.list, sentence)
        if (strstr(sentence->ptr, part))
            return true;
    return false;
}

static void legacy_flags_have_the_effect_that_is_expected(void **state _unused_)
{
    struct run run;
    assert_int_equal(
        run_load(&run, (const char *const[]){ "--port", "0", "--logtostderr",
                                              "--percentage-of-nodes-to-score=50", "--lock-object-name=mine",
                                              "--scheduler-name=gpu", "--legacy-flags", NULL }),
        0);
    assert_int_equal(run.config.percentage_of_nodes_to_score.value, 50);
    assert_true(str_is(run.config.leader_election.resource_name, "mine"));
    assert_true(str_is(run.config.profiles.items[0].scheduler_name, "gpu"));
    assert_int_equal(run.warnings.list.len, 5);
    assert_true(has_warning(&run,
                            "--port (kube-scheduler v1.24 removed it): it is ignored; there is no serving "
                            "without TLS; use --secure-port"));
    run_release(&run);
}

static void a_percentage_is_checked(void **state _unused_)
{
    struct run run;
    assert_int_equal(
        run_load(&run, (const char *const[]){ "--percentage-of-nodes-to-score=101", "--legacy-flags", NULL }),
        -EINVAL);
    assert_string_equal(run.err.text,
                        "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]");
    run_release(&run);
}

/* What a file says counts; also that it says 0. */
static void legacy_flags_fill_what_a_file_leaves_open(void **state _unused_)
{
    static const struct {
        const char *text;
        int32_t percentage;
        const char *kubeconfig, *name;
    } cases[] = {
        { CONFIG_HEAD, 50, "k", "default-scheduler" },
        { CONFIG_HEAD "percentageOfNodesToScore: 0\nclientConnection: {kubeconfig: file}\n", 0, "file",
          "default-scheduler" },
    };
    char path[] = "/tmp/test_flags.XXXXXX", flag[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(flag, sizeof(flag), "--config=%s", path);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run run;
        write_file(path, cases[i].text);
        assert_int_equal(
            run_load(&run, (const char *const[]){ flag, "--percentage-of-nodes-to-score=50", "--kubeconfig=k",
                                                  "--scheduler-name=gpu", "--legacy-flags", NULL }),
            0);
        assert_int_equal(run.config.percentage_of_nodes_to_score.value, cases[i].percentage);
        assert_true(str_is(run.config.client_connection.kubeconfig, cases[i].kubeconfig));
        assert_true(str_is(run.config.profiles.items[0].scheduler_name, cases[i].name));
        assert_int_equal(run.warnings.list.len, 3);
        run_release(&run);
    }
    unlink(path);
}

/* ---- the lease ---- */

static void a_second_scheduler_needs_its_own_lease(void **state _unused_)
{
    static const struct {
        const char *name, *text, *flag;
        bool warned;
    } cases[] = {
        { "nothing is said", "profiles: [{schedulerName: gpu}]\n", NULL, true },
        { "it is said that there is an election",
          "profiles: [{schedulerName: gpu}]\nleaderElection: {leaderElect: true}\n", NULL, true },
        { "the cluster's own scheduler", "", NULL, false },
        { "the cluster's own scheduler, with a profile more",
          "profiles: [{schedulerName: gpu}, {schedulerName: default-scheduler}]\n", NULL, false },
        { "no election", "profiles: [{schedulerName: gpu}]\nleaderElection: {leaderElect: false}\n", NULL,
          false },
        { "no election, by a flag", "profiles: [{schedulerName: gpu}]\n", "--leader-elect=false", false },
        { "another lease", "profiles: [{schedulerName: gpu}]\nleaderElection: {resourceName: gpu}\n", NULL,
          false },
        { "another lease, by a flag", "profiles: [{schedulerName: gpu}]\n",
          "--leader-elect-resource-name=gpu", false },
        { "another namespace", "profiles: [{schedulerName: gpu}]\nleaderElection: {resourceNamespace: gpu}\n",
          NULL, false },
        { "that lease, on purpose",
          "profiles: [{schedulerName: gpu}]\nleaderElection: {resourceName: kube-scheduler}\n", NULL, false },
    };
    char path[] = "/tmp/test_flags.XXXXXX", flag[64], text[512];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(flag, sizeof(flag), "--config=%s", path);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct run run;
        snprintf(text, sizeof(text), CONFIG_HEAD "%s", cases[i].text);
        write_file(path, text);
        assert_int_equal(run_load(&run, (const char *const[]){ flag, cases[i].flag, NULL }), 0);
        if (has_warning(&run, "set leaderElection.resourceName (such as gpu)") != cases[i].warned ||
            run.warnings.list.len != cases[i].warned)
            fail_msg("%s: %zu warnings", cases[i].name, run.warnings.list.len);
        run_release(&run);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_kube_scheduler),
        cmocka_unit_test(short_and_long_flags_take_values_in_every_form),
        cmocka_unit_test(values_of_every_kind_are_read),
        cmocka_unit_test(addresses_are_validated),
        cmocka_unit_test(lists_replace_the_default_and_then_grow),
        cmocka_unit_test(wrong_arguments_give_an_error),
        cmocka_unit_test(contradictions_are_rejected),
        cmocka_unit_test(gates_are_switched_or_rejected),
        cmocka_unit_test(an_unsupported_gate_may_have_its_default),
        cmocka_unit_test(help_has_every_flag_in_its_group),
        cmocka_unit_test(version_can_be_parsed_by_scripts),
        cmocka_unit_test(without_a_file_all_flags_apply),
        cmocka_unit_test(the_result_of_flags_is_checked),
        cmocka_unit_test(with_a_file_only_leader_election_flags_apply),
        cmocka_unit_test(legacy_flags_have_the_effect_that_is_expected),
        cmocka_unit_test(a_percentage_is_checked),
        cmocka_unit_test(legacy_flags_fill_what_a_file_leaves_open),
        cmocka_unit_test(a_second_scheduler_needs_its_own_lease),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
