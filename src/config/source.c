/* source.c: the configuration as it is written, and the scheduler's own defaults.
 *
 * The tables below are all of kubescheduler.config.k8s.io/v1 but for the arguments of plugins, which stay
 * undecoded here. */
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
#define X(point, field, ...) F_STRUCT(field, 0, sections[POINT_##point], plugin_set, RECORD_ALWAYS),
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
};
TYPE_SHARED_WITH(source, .has_type_meta = true)
#undef T

/* What an absent field is. */
static const struct scheduler_config presets = {
    .parallelism = 16,
    .leader_election = { .leader_elect = true },
    .enable_profiling = true,
    .percentage_of_nodes_to_score = { .set = true, .value = 0 },
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

static int check_type_meta(struct config_build *build)
{
    yyjson_val *version = yyjson_obj_get(build->root, "apiVersion"),
               *kind = yyjson_obj_get(build->root, "kind");
    if (!yyjson_is_obj(build->root))
        return build_error(build, build->root, "expected a KubeSchedulerConfiguration object, got %s",
                           doc_type_name(build->root));
    if (!yyjson_is_str(kind) || !yyjson_get_len(kind))
        return build_error(build, kind, "kind: expected \"KubeSchedulerConfiguration\", but the field is %s",
                           kind ? "no text or empty" : "missing");
    if (!yyjson_is_str(version) || !yyjson_get_len(version))
        return build_error(build, version,
                           "apiVersion: expected \"" CONFIG_GROUP "/v1\", but the field is %s",
                           version ? "no text or empty" : "missing");
    const char *name = yyjson_get_str(version);
    if (!config_version_known(name))
        return build_error(
            build, version,
            "apiVersion: no kind \"%.100s\" is registered for version \"%.100s\"; " CONFIG_GROUP
            "/v1 and v1beta3 can be read",
            yyjson_get_str(kind), name);
    if (!yyjson_equals_str(kind, "KubeSchedulerConfiguration"))
        return build_error(build, kind, "kind: expected \"KubeSchedulerConfiguration\", got \"%.100s\"",
                           yyjson_get_str(kind));
    if (strcmp(name, CONFIG_GROUP "/v1") != 0)
        build_warn(build,
                   "apiVersion: %s is deprecated and was removed from Kubernetes; it is read as " CONFIG_GROUP
                   "/v1",
                   name);
    build->config->api_version = arena_str(build->arena, str_from(name));
    return 0;
}

int source_decode(struct config_build *build, struct profile_sources *ret)
{
    struct source source = { .config = presets };
    build->config->api_version = STR(CONFIG_GROUP "/v1");
    int r = build->doc ? check_type_meta(build) : 0;
    if (r == 0 && build->doc)
        r = config_read(build->doc, build->root, &source_type, NULL, build->arena, &source, build->err);
    if (r < 0)
        return r;
    complete(&source.config);
    source.config.enable_contention_profiling =
        source.contention_profiling.set ? source.contention_profiling.value : source.config.enable_profiling;
    source.config.api_version = build->config->api_version;
    *build->config = source.config;
    *ret = (struct profile_sources){ source.profiles.items, source.profiles.len };
    if (!ret->len)
        *ret = (struct profile_sources){ arena_new(build->arena, struct profile_source), 1 };
    if (ret->len == 1 && !ret->items[0].scheduler_name.ptr)
        ret->items[0].scheduler_name = STR("default-scheduler");
    if (ret->len > CONFIG_PROFILES_MAX)
        return build_error(build, yyjson_obj_get(build->root, "profiles"),
                           "profiles: %u profiles are more than the %d that are allowed", ret->len,
                           CONFIG_PROFILES_MAX);
    return 0;
}
