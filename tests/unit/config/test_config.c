/* The configuration file: what is accepted, what is rejected with which error, and defaults. */
#include "support/test.h"

#include "base/duration.h"
#include "unit/config/catalog.h"

static const struct {
    const char *name, *config, *want;
} invalid[] = {
    { "parallelism",
      "parallelism: 0\n",
      "config.yaml:3:14: parallelism: Invalid value: 0: should be an integer value greater "
      "than zero" },
    { "percentage",
      "percentageOfNodesToScore: 101\n",
      "config.yaml:3:27: percentageOfNodesToScore: Invalid value: 101: not in valid range "
      "[0-100]" },
    { "percentage of a profile",
      "profiles:\n"
      "- percentageOfNodesToScore: -1\n",
      "config.yaml:4:29: profiles[0].percentageOfNodesToScore: Invalid value: -1: not in valid "
      "range [0-100]" },
    { "initial backoff",
      "podInitialBackoffSeconds: 0\n",
      "config.yaml:3:27: podInitialBackoffSeconds: Invalid value: 0: must be greater than 0" },
    { "maximum backoff",
      "podMaxBackoffSeconds: 3\n"
      "podInitialBackoffSeconds: 5\n",
      "config.yaml:3:23: podMaxBackoffSeconds: Invalid value: 3: must be greater than or equal "
      "to PodInitialBackoffSeconds" },
    { "burst",
      "clientConnection: {burst: -1}\n",
      "config.yaml:3:27: clientConnection.burst: Invalid value: -1: must be non-negative" },
    { "lease",
      "leaderElection: {leaseDuration: -5s, renewDeadline: 1.5h1m0.25s}\n",
      "config.yaml:3:33: [leaderElection.leaseDuration: Invalid value: \"-5s\": must be greater "
      "than zero, leaderElection.leaseDuration: Invalid value: \"1h31m0.25s\": must be greater "
      "than `RenewDeadline`]" },
    { "lease too short",
      "leaderElection:\n"
      "  leaseDuration: 10s\n",
      "config.yaml:4:18: leaderElection.leaseDuration: Invalid value: \"10s\": must be greater "
      "than `RenewDeadline`" },
    { "retry",
      "leaderElection:\n"
      "  retryPeriod: -1ms\n",
      "config.yaml:4:16: leaderElection.retryPeriod: Invalid value: \"-1ms\": must be greater "
      "than zero" },
    { "lock",
      "leaderElection:\n"
      "  resourceLock: endpoints\n",
      "config.yaml:4:17: leaderElection.resourceLock: Invalid value: \"endpoints\": resourceLock "
      "value must be \"leases\"" },
    { "several",
      "parallelism: -1\n"
      "podInitialBackoffSeconds: -1\n"
      "podMaxBackoffSeconds: -2\n",
      "config.yaml:3:14: [parallelism: Invalid value: -1: should be an integer value greater "
      "than zero, podInitialBackoffSeconds: Invalid value: -1: must be greater than 0, "
      "podMaxBackoffSeconds: Invalid value: -2: must be greater than or equal to "
      "PodInitialBackoffSeconds]" },
    { "empty scheduler name",
      "profiles:\n"
      "- schedulerName: ''\n",
      "config.yaml:4:18: profiles[0].schedulerName: Required value" },
    { "scheduler names are needed with two profiles",
      "profiles:\n"
      "- {}\n"
      "- schedulerName: b\n",
      "config.yaml:4:3: profiles[0].schedulerName: Required value" },
    { "duplicate scheduler name",
      "profiles:\n"
      "- schedulerName: a\n"
      "- schedulerName: a\n",
      "config.yaml:5:18: profiles[1].schedulerName: Duplicate value: {}" },
    { "duplicate plugin config",
      "profiles:\n"
      "- pluginConfig:\n"
      "  - name: Foo\n"
      "  - name: Foo\n",
      "config.yaml:6:5: profiles[0].pluginConfig[1]: Duplicate value: \"Foo\"" },
    { "extender weight",
      "extenders:\n"
      "- prioritizeVerb: p\n",
      "config.yaml:4:3: extenders[0].weight: Invalid value: 0: must have a positive weight "
      "applied to it" },
    { "two binders",
      "extenders:\n"
      "- bindVerb: b\n"
      "- bindVerb: b\n",
      "config.yaml:4:1: extenders: Invalid value: \"found 2 extenders implementing bind\": only "
      "one extender can implement bind" },
    { "managed resource without domain",
      "extenders:\n"
      "- managedResources: [{name: cpu}]\n",
      "config.yaml:4:29: extenders[0].managedResources[0].name: Invalid value: \"cpu\": is an "
      "invalid extended resource name" },
    { "managed resource of Kubernetes",
      "extenders:\n"
      "- managedResources: [{name: kubernetes.io/x}]\n",
      "config.yaml:4:29: extenders[0].managedResources[0].name: Invalid value: "
      "\"kubernetes.io/x\": is an invalid extended resource name" },
    { "managed resource with a bad name",
      "extenders:\n"
      "- managedResources: [{name: a/b/c}]\n",
      "config.yaml:4:29: extenders[0].managedResources[0].name: Invalid value: \"a/b/c\": a "
      "valid label key must consist of alphanumeric characters, '-', '_' or '.', and must "
      "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
      "'123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') "
      "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')" },
    { "managed resource twice",
      "extenders:\n"
      "- managedResources: [{name: x.io/a}]\n"
      "- managedResources: [{name: x.io/a}]\n",
      "config.yaml:5:29: extenders[1].managedResources[0].name: Invalid value: \"x.io/a\": "
      "duplicate extender managed resource name" },
    { "insecure with roots",
      "extenders:\n"
      "- tlsConfig: {insecure: true, caData: YWJj}\n",
      "config.yaml:4:1: couldn't build extenders: specifying a root certificates file with the "
      "insecure flag is not allowed" },
    { "ignored resource without NodeResourcesFit",
      "profiles:\n"
      "- plugins:\n"
      "    multiPoint:\n"
      "      disabled: [{name: NodeResourcesFit}]\n"
      "extenders:\n"
      "- managedResources: [{name: x.io/a, ignoredByScheduler: true}]\n",
      "config.yaml:1:1: couldn't build extenders: can't find NodeResourcesFitArgs in plugin "
      "config" },
}, undecodable[] = {
    { "unknown field",
      "parallelizm: 3\n",
      "config.yaml:3:1: parallelizm: unknown field; did you mean \"parallelism\"?" },
    { "case matters",
      "Parallelism: 3\n",
      "config.yaml:3:1: Parallelism: unknown field; did you mean \"parallelism\"?" },
    { "nothing alike",
      "verbosity: 3\n",
      "config.yaml:3:1: verbosity: unknown field" },
    { "unknown field deep inside",
      "profiles:\n"
      "- plugins:\n"
      "    filter:\n"
      "      enabled:\n"
      "      - name: NodeName\n"
      "        wieght: 3\n",
      "config.yaml:8:9: profiles[0].plugins.filter.enabled[0].wieght: unknown field; did you "
      "mean \"weight\"?" },
    { "unknown extension point",
      "profiles:\n"
      "- plugins:\n"
      "    fliter: {}\n",
      "config.yaml:5:5: profiles[0].plugins.fliter: unknown field; did you mean \"filter\"?" },
    { "v1beta2 field",
      "healthzBindAddress: 0.0.0.0:10251\n",
      "config.yaml:3:1: healthzBindAddress: unknown field" },
    { "string for a number",
      "parallelism: many\n",
      "config.yaml:3:14: parallelism: expected a whole number, got the string \"many\"" },
    { "number for a string",
      "profiles:\n"
      "- schedulerName: 5\n",
      "config.yaml:4:18: profiles[0].schedulerName: expected a string, got the number 5" },
    { "fraction",
      "parallelism: 1.5\n",
      "config.yaml:3:14: parallelism: expected a whole number, got the number 1.5" },
    { "too big",
      "parallelism: 3000000000\n",
      "config.yaml:3:14: parallelism: expected a whole number from -2147483648 to 2147483647, "
      "got the number 3000000000" },
    { "list for an object",
      "leaderElection: []\n",
      "config.yaml:3:17: leaderElection: expected an object, got a list" },
    { "object for a list",
      "profiles: {}\n",
      "config.yaml:3:11: profiles: expected a list, got an object" },
    { "text for a boolean",
      "delayCacheUntilActive: 'true'\n",
      "config.yaml:3:24: delayCacheUntilActive: expected true or false, got the string \"true\"" },
    { "number for a duration",
      "leaderElection:\n"
      "  leaseDuration: 15\n",
      "config.yaml:4:18: leaderElection.leaseDuration: expected a duration such as \"1m30s\", "
      "got the number 15" },
    { "no duration",
      "leaderElection:\n"
      "  leaseDuration: 15 s\n",
      "config.yaml:4:18: leaderElection.leaseDuration: expected a duration such as \"1m30s\", "
      "got the string \"15 s\"" },
    { "null duration",
      "leaderElection:\n"
      "  leaseDuration: null\n",
      "config.yaml:4:18: leaderElection.leaseDuration: expected a duration such as \"1m30s\", "
      "got null" },
    { "no base64",
      "extenders:\n"
      "- tlsConfig:\n"
      "    certData: '!!'\n",
      "config.yaml:5:15: extenders[0].tlsConfig.certData: expected base64 text, got the string "
      "\"!!\"" },
    { "text for a number with a fraction",
      "clientConnection:\n"
      "  qps: fast\n",
      "config.yaml:4:8: clientConnection.qps: expected a number that fits 32 bits, got the "
      "string \"fast\"" },
};

#define BETA(number) \
    "apiVersion: kubescheduler.config.k8s.io/v1beta" number "\nkind: KubeSchedulerConfiguration\n"

/* The complete text, with its head. */
static const struct {
    const char *name, *text, *want;
} heads[] = {
    { "empty", "", "config.yaml:1:1: expected a KubeSchedulerConfiguration, but there is nothing in it" },
    { "only a comment", "# nothing\n",
      "config.yaml:1:1: expected a KubeSchedulerConfiguration, but there is nothing in it" },
    { "a list", "- a\n", "config.yaml:1:1: expected a KubeSchedulerConfiguration object, got list" },
    { "no kind", "apiVersion: kubescheduler.config.k8s.io/v1\n",
      "config.yaml:1:1: kind: expected \"KubeSchedulerConfiguration\", but the field is missing" },
    { "no version", "kind: KubeSchedulerConfiguration\n",
      "config.yaml:1:1: apiVersion: expected \"kubescheduler.config.k8s.io/v1\", but the field is missing" },
    { "another kind", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs\n",
      "config.yaml:2:7: kind: expected \"KubeSchedulerConfiguration\", got \"NodeAffinityArgs\"" },
    { "a version that is too old",
      "apiVersion: kubescheduler.config.k8s.io/v1beta1\nkind: KubeSchedulerConfiguration\n",
      "config.yaml:1:13: apiVersion: no kind \"KubeSchedulerConfiguration\" is registered for version "
      "\"kubescheduler.config.k8s.io/v1beta1\"; kubescheduler.config.k8s.io/v1, v1beta3 and v1beta2 can be "
      "read" },
    { "a scheduling policy", "apiVersion: v1\nkind: Policy\npredicates: [{name: PodFitsResources}]\n",
      "config.yaml:2:7: kind: kube-scheduler reads no scheduling Policy since v1.23; write a "
      "KubeSchedulerConfiguration, with its predicates and priorities as plugins in profiles, and with its "
      "extenders in extenders" },
    { "a policy of berth", "apiVersion: scheduling.k8s.io/v1\nkind: SchedulingPolicy\nmetadata: {name: p}\n",
      "config.yaml:2:7: kind: a SchedulingPolicy is no configuration; it belongs in a file of the folder "
      "that "
      "--policy-dir names, or in the data of the ConfigMap that --policy-configmap names" },
    { "the ConfigMap around it", "apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: ''}\n",
      "config.yaml:2:7: kind: expected a KubeSchedulerConfiguration; if the ConfigMap holds one in its data, "
      "write that to a file of its own" },
    { "a field of v1beta2", BETA("3") "healthzBindAddress: ''\n",
      "config.yaml:3:1: healthzBindAddress: unknown field" },
    { "a field twice in JSON",
      "{\"apiVersion\": \"kubescheduler.config.k8s.io/v1\", \"kind\": \"KubeSchedulerConfiguration\",\n"
      " \"parallelism\": 1, \"parallelism\": 2}",
      "config.yaml:2:20: parallelism: the field is given twice" },
    { "a fraction in JSON",
      "{\"apiVersion\": \"kubescheduler.config.k8s.io/v1\", \"kind\": \"KubeSchedulerConfiguration\",\n"
      " \"parallelism\": 1.0}",
      "config.yaml:2:2: parallelism: expected a whole number, got the number 1.0" },
};

static void check_rejected(const char *name, const char *head, const char *text, const char *want)
{
    _cleanup_(loaded_release) struct loaded loaded;
    if (loaded_from(&loaded, &stock_env, head, text) != -EINVAL)
        fail_msg("%s: was not refused", name);
    if (strcmp(loaded.err.text, want) != 0)
        fail_msg("%s: got \"%s\", want \"%s\"", name, loaded.err.text, want);
}

static void test_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(invalid); i++)
        check_rejected(invalid[i].name, CONFIG_HEAD, invalid[i].config, invalid[i].want);
    for (size_t i = 0; i < ARRAY_SIZE(undecodable); i++)
        check_rejected(undecodable[i].name, CONFIG_HEAD, undecodable[i].config, undecodable[i].want);
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        check_rejected(heads[i].name, "", heads[i].text, heads[i].want);
}

static void check_defaults(const struct scheduler_config *config)
{
    assert_int_equal(config->parallelism, 16);
    assert_true(config->leader_election.leader_elect);
    assert_int_equal(config->leader_election.lease_duration_ns, 15 * NS_PER_SECOND);
    assert_int_equal(config->leader_election.renew_deadline_ns, 10 * NS_PER_SECOND);
    assert_int_equal(config->leader_election.retry_period_ns, 2 * NS_PER_SECOND);
    assert_str(config->leader_election.resource_lock, "leases");
    assert_str(config->leader_election.resource_name, "kube-scheduler");
    assert_str(config->leader_election.resource_namespace, "kube-system");
    assert_str(config->client_connection.content_type, "application/vnd.kubernetes.protobuf");
    assert_true(config->client_connection.qps == 50);
    assert_int_equal(config->client_connection.burst, 100);
    assert_true(config->enable_profiling && config->enable_contention_profiling);
    assert_true(config->percentage_of_nodes_to_score.set && config->percentage_of_nodes_to_score.value == 0);
    assert_int_equal(config->pod_initial_backoff_seconds, 1);
    assert_int_equal(config->pod_max_backoff_seconds, 10);
    assert_false(config->delay_cache_until_active);
    assert_int_equal(config->extenders.len, 0);
    assert_int_equal(config->profiles.len, 1);
    assert_str(config->profiles.items[0].scheduler_name, "default-scheduler");
    uint32_t with_args = 0;
    for (size_t i = 0; i < stock_catalog.count; i++)
        with_args += stock_catalog.plugins[i].args != NULL;
    assert_int_equal(config->profiles.items[0].args.len, with_args);
}

/* No file, an empty file and a file with null fields are the same. */
static void test_defaults(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        "",
        "parallelism: null\nprofiles: null\nextenders: []\nleaderElection: null\nclientConnection: {}\n",
        "profiles: [null]\n",
        "leaderElection: {leaseDuration: 0s, resourceName: ''}\nclientConnection: {qps: 0, burst: 0}\n",
    };
    _cleanup_(loaded_release) struct loaded by_default = { 0 };
    assert_int_equal(config_default(&stock_env, &by_default.arena, &by_default.config, &by_default.err), 0);
    check_defaults(&by_default.config);
    for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        assert_int_equal(loaded_from(&loaded, &stock_env, CONFIG_HEAD, nothing[i]), 0);
        check_defaults(&loaded.config);
        assert_int_equal(loaded.warnings.list.len, 0);
    }
}

static void test_settings(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    int r = loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                        "parallelism: 4.0\n"
                        "percentageOfNodesToScore: 70\n"
                        "podInitialBackoffSeconds: 2\n"
                        "podMaxBackoffSeconds: 2\n"
                        "delayCacheUntilActive: true\n"
                        "enableProfiling: false\n"
                        "leaderElection:\n"
                        "  leaderElect: false\n"
                        "  leaseDuration: 1m30s\n"
                        "  resourceLock: endpoints\n" /* no effect without an election */
                        "  resourceName: other\n"
                        "clientConnection:\n"
                        "  kubeconfig: /etc/scheduler.conf\n"
                        "  acceptContentTypes: application/json\n"
                        "  qps: 12.5\n");
    if (r < 0)
        fail_msg("%s", loaded.err.text);
    const struct scheduler_config *config = &loaded.config;
    assert_int_equal(config->parallelism, 4);
    assert_int_equal(config->percentage_of_nodes_to_score.value, 70);
    assert_int_equal(config->pod_max_backoff_seconds, 2);
    assert_true(config->delay_cache_until_active);
    assert_false(config->enable_profiling || config->enable_contention_profiling);
    assert_false(config->leader_election.leader_elect);
    assert_int_equal(config->leader_election.lease_duration_ns, 90 * NS_PER_SECOND);
    assert_str(config->leader_election.resource_name, "other");
    assert_str(config->client_connection.kubeconfig, "/etc/scheduler.conf");
    assert_str(config->client_connection.accept_content_types, "application/json");
    assert_true(config->client_connection.qps == 12.5);
}

static void test_extenders(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    int r = loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                        "profiles:\n"
                        "- pluginConfig:\n"
                        "  - {name: NodeResourcesFit, args: {ignoredResources: [x.io/mine]}}\n"
                        "extenders:\n"
                        "- urlPrefix: http://first\n"
                        "  ignorable: true\n"
                        "  filterVerb: filter\n"
                        "  preemptVerb: preempt\n"
                        "  prioritizeVerb: prioritize\n"
                        "  bindVerb: bind\n"
                        "  weight: 5\n"
                        "- urlPrefix: https://second\n"
                        "  enableHTTPS: true\n"
                        "  httpTimeout: 250ms\n"
                        "  nodeCacheCapable: true\n"
                        "  tlsConfig: {serverName: s, certData: YWJj, keyData: 'ZGU=', caFile: /ca, "
                        "certFile: /c, keyFile: /k}\n"
                        "  managedResources:\n"
                        "  - {name: x.io/gpu, ignoredByScheduler: true}\n"
                        "  - {name: x.io/nic}\n");
    if (r < 0)
        fail_msg("%s", loaded.err.text);
    assert_int_equal(loaded.config.extenders.len, 2);
    const struct extender_config *last = &loaded.config.extenders.items[1];
    const struct extender_config *first = &loaded.config.extenders.items[0];
    assert_str(first->url_prefix, "https://second"); /* ignorable extenders are called last */
    assert_true(first->enable_https && first->node_cache_capable && !first->ignorable);
    assert_int_equal(first->http_timeout_ns, 250000000);
    assert_str(first->tls->cert_data, "abc");
    assert_str(first->tls->key_data, "de");
    assert_str(first->tls->ca_file, "/ca");
    assert_int_equal(first->managed_resources.len, 2);
    assert_true(last->ignorable);
    assert_str(last->bind_verb, "bind");
    assert_int_equal(last->weight, 5);
    assert_int_equal(last->http_timeout_ns, 5 * NS_PER_SECOND);
    assert_null(last->tls);
    /* Resources that an extender manages and the scheduler ignores replace the list in the file. */
    const struct node_resources_fit_args *fit =
        profile_args(&loaded.config.profiles.items[0], "NodeResourcesFit");
    assert_int_equal(fit->ignored_resources.len, 1);
    assert_str(fit->ignored_resources.items[0], "x.io/gpu");
}

/* ---- accepted with a warning ---- */

static const struct {
    const char *name, *head, *config, *want;
} warned[] = {
    { "v1beta3", BETA("3"), "",
      "apiVersion: kube-scheduler v1.29 removed kubescheduler.config.k8s.io/v1beta3; it is read as "
      "kubescheduler.config.k8s.io/v1, which is the version to write" },
    { "v1beta2", BETA("2"), "healthzBindAddress: ''\n",
      "apiVersion: kube-scheduler v1.28 removed kubescheduler.config.k8s.io/v1beta2; it is read as "
      "kubescheduler.config.k8s.io/v1, which is the version to write" },
    { "a second document", CONFIG_HEAD, "---\nparallelism: 0\n",
      "only the first document of the file is read" },
    { "a limit that CSI covers", CONFIG_HEAD,
      "profiles:\n- plugins: {filter: {enabled: [{name: EBSLimits}]}}\n",
      "profiles[0].plugins.filter.enabled[0]: the plugin EBSLimits no longer exists; NodeVolumeLimits "
      "(limits of CSI drivers) covers it, and it is left out" },
    { "spreading in multiPoint", CONFIG_HEAD,
      "profiles:\n- plugins: {multiPoint: {enabled: [{name: SelectorSpread, weight: 2}]}}\n",
      "profiles[0].plugins.multiPoint.enabled[0]: the plugin SelectorSpread no longer exists; "
      "PodTopologySpread "
      "covers it, and it is left out" },
    { "a scorer that NodeResourcesFit is set to be", CONFIG_HEAD,
      "profiles:\n"
      "- plugins: {score: {enabled: [{name: NodeResourcesMostAllocated}]}}\n"
      "  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]\n",
      "profiles[0].plugins.score.enabled[0]: the plugin NodeResourcesMostAllocated no longer exists; "
      "NodeResourcesFit covers it, and it is left out" },
    { "a plugin that scores unprepared", CONFIG_HEAD,
      "profiles:\n- plugins: {preScore: {disabled: [{name: InterPodAffinity}]}}\n",
      "profile default-scheduler: the plugin InterPodAffinity is enabled at score, but not at preScore, "
      "without "
      "which it fails: a pod that fits on several nodes is not scheduled; disable it at score as well, or "
      "enable it at preScore" },
    { "a plugin that filters and scores unprepared", CONFIG_HEAD,
      "profiles:\n- plugins: {preFilter: {disabled: [{name: DynamicResources}]}}\n",
      "profile default-scheduler: the plugin DynamicResources is enabled at filter and score, but not at "
      "preFilter, without which it fails: no pod is scheduled; disable it at filter and score as well, or "
      "enable it at preFilter" },
    { "an alias", CONFIG_HEAD,
      "profiles:\n- plugins: {score: {enabled: [{name: NodeAffinityPlugin, weight: 30}]}}\n",
      "profiles[0].plugins.score.enabled[0]: NodeAffinityPlugin is read as NodeAffinity, which is the name "
      "to "
      "write" },
    { "an alias of arguments", CONFIG_HEAD, "profiles:\n- pluginConfig: [{name: NodeAffinityPlugin}]\n",
      "profiles[0].pluginConfig: NodeAffinityPlugin is read as NodeAffinity, which is the name to write" },
};

static void test_warned(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(warned); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        if (loaded_from(&loaded, &stock_env, warned[i].head, warned[i].config) < 0)
            fail_msg("%s: %s", warned[i].name, loaded.err.text);
        assert_int_equal(loaded.warnings.list.len, 1);
        assert_str(loaded.warnings.list.items[0], warned[i].want);
        assert_int_equal(loaded.config.profiles.items[0].points[POINT_FILTER].len, 14);
        assert_int_equal(loaded.config.profiles.items[0].points[POINT_SCORE].len, 9);
    }
}

/* What is disabled at both points, or needs nothing, is no mistake. */
static void test_not_warned(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "",
        "profiles: [{plugins: {preScore: {disabled: [{name: InterPodAffinity}]}, "
        "score: {disabled: [{name: InterPodAffinity}]}}}]\n",
        "profiles: [{plugins: {preScore: {disabled: [{name: NodeAffinity}, {name: NodeResourcesFit}]}}}]\n",
        "profiles: [{plugins: {multiPoint: {disabled: [{name: InterPodAffinity}]}}}]\n",
        "profiles: [{plugins: {preScore: {disabled: [{name: InterPodAffinity}], "
        "enabled: [{name: InterPodAffinity}]}}}]\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
        _cleanup_(loaded_release) struct loaded loaded;
        assert_int_equal(loaded_from(&loaded, &stock_env, CONFIG_HEAD, fine[i]), 0);
        assert_int_equal(loaded.warnings.list.len, 0);
    }
}

static int32_t weight_of(const struct loaded *loaded, const char *plugin)
{
    const struct enabled_list *scorers = &loaded->config.profiles.items[0].points[POINT_SCORE];
    for (uint32_t i = 0; i < scorers->len; i++)
        if (str_is(scorers->items[i].name, plugin))
            return scorers->items[i].weight;
    return 0;
}

/* v1beta3 has the default weights of v1; v1beta2 has its own. A weight in the file is the same in all of them. */
static void test_weights_of_versions(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        int32_t taints, node_affinity, pod_affinity, spread;
    } cases[] = {
        { CONFIG_HEAD, 3, 2, 2, 2 },
        { BETA("3"), 3, 2, 2, 2 },
        { BETA("2"), 1, 1, 1, 2 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(loaded_release) struct loaded by_default, given;
        assert_int_equal(loaded_from(&by_default, &stock_env, cases[i].head, ""), 0);
        assert_int_equal(weight_of(&by_default, "TaintToleration"), cases[i].taints);
        assert_int_equal(weight_of(&by_default, "NodeAffinity"), cases[i].node_affinity);
        assert_int_equal(weight_of(&by_default, "InterPodAffinity"), cases[i].pod_affinity);
        assert_int_equal(weight_of(&by_default, "PodTopologySpread"), cases[i].spread);
        assert_int_equal(
            loaded_from(&given, &stock_env, cases[i].head,
                        "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 7}]}}}]\n"),
            0);
        assert_int_equal(weight_of(&given, "NodeAffinity"), 7);
    }
}

static void test_addresses_without_tls_are_ignored(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    assert_int_equal(loaded_from(&loaded, &stock_env, BETA("2"), "metricsBindAddress: 0.0.0.0:10251\n"), 0);
    assert_int_equal(loaded.warnings.list.len, 2);
    assert_str(loaded.warnings.list.items[1],
               "metricsBindAddress is ignored: nothing is served without TLS; use --secure-port");
}

/* An alias is the plugin: with its weight and its arguments, and disabled by either name. */
static void test_alias(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded;
    assert_int_equal(
        loaded_from(&loaded, &stock_env, CONFIG_HEAD,
                    "profiles:\n"
                    "- plugins:\n"
                    "    score: {enabled: [{name: NodeAffinityPlugin, weight: 30}]}\n"
                    "    filter: {disabled: [{name: NodeAffinityPlugin}]}\n"
                    "  pluginConfig:\n"
                    "  - name: NodeAffinityPlugin\n"
                    "    args: {addedAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}\n"),
        0);
    const struct profile_config *profile = &loaded.config.profiles.items[0];
    assert_int_equal(weight_of(&loaded, "NodeAffinity"), 30);
    assert_int_equal(profile->points[POINT_FILTER].len, 13);
    const struct node_affinity_args *args = profile_args(profile, "NodeAffinity");
    assert_non_null(args->added_affinity);
    assert_int_equal(loaded.warnings.list.len, 3);
}

/* A custom plugin may have the name of a removed plugin. */
static void test_old_name_that_exists(void **state)
{
    (void)state;
    struct catalog_plugin plugins[ARRAY_SIZE(stock_plugins) + 1];
    memcpy(plugins, stock_plugins, sizeof(stock_plugins));
    plugins[ARRAY_SIZE(stock_plugins)] = (struct catalog_plugin){ "EBSLimits", POINT_BIT(POINT_FILTER) };
    const struct plugin_catalog catalog = { ARRAY_SIZE(plugins), plugins };
    const struct config_env env = { .catalog = &catalog };
    _cleanup_(loaded_release) struct loaded loaded;
    assert_int_equal(loaded_from(&loaded, &env, CONFIG_HEAD,
                                 "profiles:\n- plugins: {filter: {enabled: [{name: EBSLimits}]}}\n"),
                     0);
    const struct enabled_list *filters = &loaded.config.profiles.items[0].points[POINT_FILTER];
    assert_str(filters->items[filters->len - 1].name, "EBSLimits");
    assert_int_equal(loaded.warnings.list.len, 0);
}

static void test_missing_file(void **state)
{
    (void)state;
    _cleanup_(loaded_release) struct loaded loaded = { 0 };
    assert_int_equal(
        config_load("/nonexistent/config.yaml", &stock_env, &loaded.arena, &loaded.config, NULL, &loaded.err),
        -ENOENT);
    assert_non_null(strstr(loaded.err.text, "/nonexistent/config.yaml"));
}

/* The input cannot make memory grow without limit. */
static void test_too_many_profiles(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf body = { 0 };
    strbuf_puts(&body, "profiles: [null");
    for (int i = 0; i < 1000; i++)
        strbuf_puts(&body, ",null");
    strbuf_puts(&body, "]\n");
    check_rejected("too many", CONFIG_HEAD, body.text,
                   "config.yaml:3:11: profiles: 1001 profiles are more than the 1000 that are allowed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rejected),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_extenders),
        cmocka_unit_test(test_warned),
        cmocka_unit_test(test_not_warned),
        cmocka_unit_test(test_weights_of_versions),
        cmocka_unit_test(test_addresses_without_tls_are_ignored),
        cmocka_unit_test(test_alias),
        cmocka_unit_test(test_old_name_that_exists),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_too_many_profiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
