/* source.c: the configuration as it is written, and the scheduler's own defaults.
 *
 * The tables below are all of kubescheduler.config.k8s.io/v1 but for the arguments of plugins, which stay
 * undecoded here; and what older versions had (api_versions.h). */
#include "base/duration.h"
#include "codec/record_rows.h"
#include "config/build.h"

static void plugin_ref_finish(void *ret, yyjson_val *val)
{
    ((struct plugin_ref *)ret)->at = val;
}

#define T struct plugin_ref
static const struct record_field plugin_ref_fields[] = {
    F("name", 0, STR, name, RECORD_ALWAYS),
    F("weight", 0, INT32, weight, RECORD_ALWAYS),
};
TYPE_WITH(plugin_ref, .finish = plugin_ref_finish)
#undef T

#define T struct plugin_set
static const struct record_field plugin_set_fields[] = {
    F_LIST("enabled", 0, enabled, plugin_ref),
    F_LIST("disabled", 0, disabled, plugin_ref),
};
TYPE(plugin_set)
#undef T

#define T struct profile_plugins
static const struct record_field source_plugins_fields[] = {
#define X(point, field, name, interface, since) \
    F_STRUCT(field, 0, sections[POINT_##point], plugin_set, RECORD_ALWAYS | RECORD_SINCE(BEHAVIOUR_##since)),
    EXTENSION_POINTS(X)
#undef X
        F_STRUCT("multiPoint", 0, sections[POINT_MULTI], plugin_set, RECORD_ALWAYS),
};
TYPE_SHARED(source_plugins)
#undef T

#define T struct plugin_config_entry
static const struct record_field plugin_config_fields[] = {
    F("name", 0, STR, name, RECORD_ALWAYS),
    F("args", 0, VALUE, args),
};
TYPE(plugin_config)
#undef T

#define T struct profile_source
static const struct record_field profile_fields[] = {
    F("schedulerName", 0, STR, scheduler_name, RECORD_ALWAYS),
    F("percentageOfNodesToScore", 0, OPT_INT32, percentage_of_nodes_to_score),
    F_PTR("plugins", 0, plugins, source_plugins),
    F_LIST("pluginConfig", 0, plugin_config, plugin_config),
};
TYPE(profile)
#undef T

#define T struct extender_tls_config
static const struct record_field tls_fields[] = {
    F("insecure", 0, BOOL, insecure), F("serverName", 0, STR, server_name),
    F("certFile", 0, STR, cert_file), F("keyFile", 0, STR, key_file),
    F("caFile", 0, STR, ca_file),     F("certData", 0, BYTES, cert_data),
    F("keyData", 0, BYTES, key_data), F("caData", 0, BYTES, ca_data),
};
TYPE(tls)
#undef T

#define T struct managed_resource
static const struct record_field managed_resource_fields[] = {
    F("name", 0, STR, name, RECORD_ALWAYS),
    F("ignoredByScheduler", 0, BOOL, ignored_by_scheduler),
};
TYPE(managed_resource)
#undef T

#define T struct extender_config
static const struct record_field extender_fields[] = {
    F("urlPrefix", 0, STR, url_prefix, RECORD_ALWAYS),
    F("filterVerb", 0, STR, filter_verb),
    F("preemptVerb", 0, STR, preempt_verb),
    F("prioritizeVerb", 0, STR, prioritize_verb),
    F("weight", 0, INT64, weight),
    F("bindVerb", 0, STR, bind_verb),
    F("enableHTTPS", 0, BOOL, enable_https),
    F_PTR("tlsConfig", 0, tls, tls),
    F("httpTimeout", 0, DURATION, http_timeout_ns),
    F("nodeCacheCapable", 0, BOOL, node_cache_capable),
    F_LIST("managedResources", 0, managed_resources, managed_resource),
    F("ignorable", 0, BOOL, ignorable),
};
TYPE(extender)
#undef T

#define T struct leader_election_config
static const struct record_field leader_election_fields[] = {
    F("leaderElect", 0, BOOL, leader_elect, RECORD_ALWAYS),
    F("leaseDuration", 0, DURATION, lease_duration_ns, RECORD_ALWAYS),
    F("renewDeadline", 0, DURATION, renew_deadline_ns, RECORD_ALWAYS),
    F("retryPeriod", 0, DURATION, retry_period_ns, RECORD_ALWAYS),
    F("resourceLock", 0, STR, resource_lock, RECORD_ALWAYS),
    F("resourceName", 0, STR, resource_name, RECORD_ALWAYS),
    F("resourceNamespace", 0, STR, resource_namespace, RECORD_ALWAYS),
};
TYPE(leader_election)
#undef T

#define T struct client_connection_config
static const struct record_field client_connection_fields[] = {
    F("kubeconfig", 0, STR, kubeconfig, RECORD_ALWAYS),
    F("acceptContentTypes", 0, STR, accept_content_types, RECORD_ALWAYS),
    F("contentType", 0, STR, content_type, RECORD_ALWAYS),
    F("qps", 0, FLOAT, qps, RECORD_ALWAYS),
    F("burst", 0, INT32, burst, RECORD_ALWAYS),
};
TYPE(client_connection)
#undef T

#define T struct source
static const struct record_field source_fields[] = {
    F("parallelism", 0, INT32, config.parallelism, RECORD_ALWAYS),
    F_STRUCT("leaderElection", 0, config.leader_election, leader_election, RECORD_ALWAYS),
    F_STRUCT("clientConnection", 0, config.client_connection, client_connection, RECORD_ALWAYS),
    F("enableProfiling", 0, BOOL, config.enable_profiling, RECORD_ALWAYS),
    F("enableContentionProfiling", 0, OPT_BOOL, contention_profiling),
    F("percentageOfNodesToScore", 0, OPT_INT32, config.percentage_of_nodes_to_score),
    F("podInitialBackoffSeconds", 0, INT64, config.pod_initial_backoff_seconds, RECORD_ALWAYS),
    F("podMaxBackoffSeconds", 0, INT64, config.pod_max_backoff_seconds, RECORD_ALWAYS),
    F_LIST("profiles", 0, profiles, profile),
    F_LIST("extenders", 0, config.extenders, extender),
    F("delayCacheUntilActive", 0, BOOL, config.delay_cache_until_active),
    F("healthzBindAddress", 0, STR, healthz_address),
    F("metricsBindAddress", 0, STR, metrics_address),
};
TYPE_SHARED_WITH(source, .has_type_meta = true)
#undef T

/* What an absent field is. */
static const struct scheduler_config presets = {
    .parallelism = 16,
    .leader_election = { .leader_elect = true },
    .enable_profiling = true,
    .pod_initial_backoff_seconds = 1,
    .pod_max_backoff_seconds = 10,
};

static void default_str(struct str *field, struct str value)
{
    if (str_empty(*field))
        *field = value;
}

static void default_ns(int64_t *field, int64_t seconds)
{
    if (!*field)
        *field = seconds * NS_PER_SECOND;
}

/* What a field is that is absent, empty or zero. */
static void complete(struct scheduler_config *config)
{
    struct leader_election_config *election = &config->leader_election;
    election->names_lease = !str_empty(election->resource_name);
    default_str(&election->resource_lock, STR("leases"));
    default_str(&election->resource_namespace, STR("kube-system"));
    default_str(&election->resource_name, STR("kube-scheduler"));
    default_ns(&election->lease_duration_ns, 15);
    default_ns(&election->renew_deadline_ns, 10);
    default_ns(&election->retry_period_ns, 2);
    struct client_connection_config *client = &config->client_connection;
    default_str(&client->content_type, STR("application/vnd.kubernetes.protobuf"));
    if (client->qps == 0)
        client->qps = 50;
    if (client->burst == 0)
        client->burst = 100;
    list_for(&config->extenders, extender)
        default_ns(&extender->http_timeout_ns, 5);
}

/* Documents that are given in the place of a configuration. */
static const struct {
    const char *kind, *instead;
} other_kinds[] = {
    { "Policy",
      "kube-scheduler reads no scheduling Policy since v1.23; write a KubeSchedulerConfiguration, with its "
      "predicates and priorities as plugins in profiles, and with its extenders in extenders" },
    { "ConfigMap",
      "expected a KubeSchedulerConfiguration; if the ConfigMap holds one in its data, write that to a "
      "file of its own" },
    { "SchedulingPolicy", "a SchedulingPolicy is no configuration; it belongs in a file of the folder that "
                          "--policy-dir names, or in the "
                          "data of the ConfigMap that --policy-configmap names" },
};

static int check_kind(struct config_build *build, yyjson_val *kind)
{
    if (!yyjson_is_str(kind) || !yyjson_get_len(kind))
        return build_error(build, kind, "kind: expected \"KubeSchedulerConfiguration\", but the field is %s",
                           kind ? "no text or empty" : "missing");
    for (size_t i = 0; i < ARRAY_SIZE(other_kinds); i++)
        if (yyjson_equals_str(kind, other_kinds[i].kind))
            return build_error(build, kind, "kind: %s", other_kinds[i].instead);
    return 0;
}

static int check_version(struct config_build *build, yyjson_val *version, yyjson_val *kind)
{
    if (!yyjson_is_str(version) || !yyjson_get_len(version))
        return build_error(build, version,
                           "apiVersion: expected \"" CONFIG_GROUP "/v1\", but the field is %s",
                           version ? "no text or empty" : "missing");
    build->version = api_version_find(yyjson_get_str(version));
    if (!build->version)
        return build_error(
            build, version,
            "apiVersion: no kind \"%.100s\" is registered for version \"%.100s\"; " CONFIG_GROUP
            "/v1, v1beta3 and v1beta2 can be read",
            yyjson_get_str(kind), yyjson_get_str(version));
    return 0;
}

static int check_type_meta(struct config_build *build)
{
    yyjson_val *version = yyjson_obj_get(build->root, "apiVersion"),
               *kind = yyjson_obj_get(build->root, "kind");
    if (!yyjson_is_obj(build->root))
        return build_error(build, build->root, "expected a KubeSchedulerConfiguration object, got %s",
                           doc_type_name(build->root));
    int r = check_kind(build, kind);
    if (r == 0)
        r = check_version(build, version, kind);
    if (r < 0)
        return r;
    if (!yyjson_equals_str(kind, "KubeSchedulerConfiguration"))
        return build_error(build, kind, "kind: expected \"KubeSchedulerConfiguration\", got \"%.100s\"",
                           yyjson_get_str(kind));
    if (build->version->removed_in)
        build_warn(build,
                   "apiVersion: kube-scheduler %s removed %s; it is read as " CONFIG_GROUP
                   "/v1, which is the version to write",
                   build->version->removed_in, build->version->name);
    build->config->api_version = str_from(build->version->name);
    return 0;
}

static yyjson_val *find_key(yyjson_val *object, const char *name)
{
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(object, i, max, key, val)
        if (yyjson_equals_str(key, name))
            return key;
    return NULL;
}

/* Nothing is served without TLS: the fields are accepted where a version has them, and mean nothing. */
static int check_addresses(struct config_build *build, const struct source *source)
{
    const struct {
        const char *field;
        struct str value;
    } addresses[] = {
        { "healthzBindAddress", source->healthz_address },
        { "metricsBindAddress", source->metrics_address },
    };
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        const char *field = addresses[i].field;
        yyjson_val *at = find_key(build->root, field);
        if (at && !build->version->has_insecure_addresses)
            return build_error(build, at, "%s: unknown field", field);
        if (!str_empty(addresses[i].value))
            build_warn(build, "%s is ignored: nothing is served without TLS; use --secure-port", field);
    }
    return 0;
}

static bool release_knows(const void *release, uint32_t since)
{
    return release_has(release, since);
}

struct record_version release_fields(const struct release *release)
{
    return (struct record_version){ release_knows, release };
}

/* Of the fields that the release knows. */
static int read_source(struct config_build *build, struct source *ret)
{
    struct record_reader reader = { .arena = build->arena,
                                    .keep = arena_str,
                                    .err = build->err,
                                    .doc = build->doc,
                                    .mode = RECORD_STRICT,
                                    .version = release_fields(build->features->release) };
    return record_read(&reader, NULL, build->root, &source_type, ret);
}

int source_decode(struct config_build *build, struct profile_sources *ret)
{
    struct source source = { .config = presets };
    build->version = api_version_find(CONFIG_GROUP "/v1");
    build->config->api_version = str_from(build->version->name);
    int r = build->doc ? check_type_meta(build) : 0;
    if (r == 0 && build->doc)
        r = read_source(build, &source);
    if (r == 0 && build->doc)
        r = check_addresses(build, &source);
    if (r < 0)
        return r;
    complete(&source.config);
    source.config.enable_contention_profiling =
        source.contention_profiling.set ? source.contention_profiling.value : source.config.enable_profiling;
    source.config.api_version = build->config->api_version;
    source.config.release = build->features->release;
    *build->config = source.config;
    *ret = (struct profile_sources){ source.profiles.items, source.profiles.len };
    if (!ret->len)
        *ret = (struct profile_sources){ arena_new(build->arena, struct profile_source), 1 };
    if (ret->len == 1 && !ret->items[0].scheduler_name.ptr)
        ret->items[0].scheduler_name = build->doc || str_empty(build->env->scheduler_name)
                                           ? STR("default-scheduler")
                                           : build->env->scheduler_name;
    if (ret->len > CONFIG_PROFILES_MAX)
        return build_error(build, yyjson_obj_get(build->root, "profiles"),
                           "profiles: %u profiles are more than the %d that are allowed", ret->len,
                           CONFIG_PROFILES_MAX);
    return 0;
}
