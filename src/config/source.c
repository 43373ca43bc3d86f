/* source.c: the configuration as it is written, and the scheduler's own defaults.
 *
 * The tables below are the whole of kubescheduler.config.k8s.io/v1 but for the arguments of plugins, which stay
 * undecoded here. */
#include "config/build.h"
#include "config/duration.h"

static void plugin_ref_finish(void *ret, yyjson_val *val)
{
    ((struct plugin_ref *)ret)->at = val;
}

static const struct args_field plugin_ref_fields[] = {
    ARGS_ALWAYS("name", STRING, struct plugin_ref, name),
    ARGS_FIELD("weight", OPT_INT32, struct plugin_ref, weight),
};
static const struct args_type plugin_ref_type =
    ARGS_TYPE_FINISH(struct plugin_ref, plugin_ref_fields, plugin_ref_finish);

static const struct args_field plugin_set_fields[] = {
    ARGS_NESTED("enabled", STRUCT_LIST, struct plugin_set, enabled, &plugin_ref_type),
    ARGS_NESTED("disabled", STRUCT_LIST, struct plugin_set, disabled, &plugin_ref_type),
};
static const struct args_type plugin_set_type = ARGS_TYPE(struct plugin_set, plugin_set_fields);

static const struct args_field plugins_fields[] = {
#define X(point, field, ...) \
    ARGS_NESTED(field, STRUCT, struct profile_plugins, sections[POINT_##point], &plugin_set_type),
    EXTENSION_POINTS(X)
#undef X
        ARGS_NESTED("multiPoint", STRUCT, struct profile_plugins, sections[POINT_MULTI], &plugin_set_type),
};
const struct args_type source_plugins_type = ARGS_TYPE(struct profile_plugins, plugins_fields);

static const struct args_field plugin_config_fields[] = {
    ARGS_ALWAYS("name", STRING, struct plugin_config_entry, name),
    ARGS_FIELD("args", RAW, struct plugin_config_entry, args),
};
static const struct args_type plugin_config_type =
    ARGS_TYPE(struct plugin_config_entry, plugin_config_fields);

static const struct args_field profile_fields[] = {
    ARGS_ALWAYS("schedulerName", STRING, struct profile_source, scheduler_name),
    ARGS_FIELD("percentageOfNodesToScore", OPT_INT32, struct profile_source, percentage_of_nodes_to_score),
    ARGS_NESTED("plugins", STRUCT_PTR, struct profile_source, plugins, &source_plugins_type),
    ARGS_NESTED("pluginConfig", STRUCT_LIST, struct profile_source, plugin_config, &plugin_config_type),
};
static const struct args_type profile_type = ARGS_TYPE(struct profile_source, profile_fields);

static const struct args_field tls_fields[] = {
    ARGS_FIELD("insecure", BOOL, struct extender_tls_config, insecure),
    ARGS_FIELD("serverName", STRING, struct extender_tls_config, server_name),
    ARGS_FIELD("certFile", STRING, struct extender_tls_config, cert_file),
    ARGS_FIELD("keyFile", STRING, struct extender_tls_config, key_file),
    ARGS_FIELD("caFile", STRING, struct extender_tls_config, ca_file),
    ARGS_FIELD("certData", BYTES, struct extender_tls_config, cert_data),
    ARGS_FIELD("keyData", BYTES, struct extender_tls_config, key_data),
    ARGS_FIELD("caData", BYTES, struct extender_tls_config, ca_data),
};
static const struct args_type tls_type = ARGS_TYPE(struct extender_tls_config, tls_fields);

static const struct args_field managed_resource_fields[] = {
    ARGS_ALWAYS("name", STRING, struct managed_resource, name),
    ARGS_FIELD("ignoredByScheduler", BOOL, struct managed_resource, ignored_by_scheduler),
};
static const struct args_type managed_resource_type =
    ARGS_TYPE(struct managed_resource, managed_resource_fields);

static const struct args_field extender_fields[] = {
    ARGS_ALWAYS("urlPrefix", STRING, struct extender_config, url_prefix),
    ARGS_FIELD("filterVerb", STRING, struct extender_config, filter_verb),
    ARGS_FIELD("preemptVerb", STRING, struct extender_config, preempt_verb),
    ARGS_FIELD("prioritizeVerb", STRING, struct extender_config, prioritize_verb),
    ARGS_FIELD("weight", INT64, struct extender_config, weight),
    ARGS_FIELD("bindVerb", STRING, struct extender_config, bind_verb),
    ARGS_FIELD("enableHTTPS", BOOL, struct extender_config, enable_https),
    ARGS_NESTED("tlsConfig", STRUCT_PTR, struct extender_config, tls, &tls_type),
    ARGS_FIELD("httpTimeout", DURATION, struct extender_config, http_timeout_ns),
    ARGS_FIELD("nodeCacheCapable", BOOL, struct extender_config, node_cache_capable),
    ARGS_NESTED("managedResources", STRUCT_LIST, struct extender_config, managed_resources,
                &managed_resource_type),
    ARGS_FIELD("ignorable", BOOL, struct extender_config, ignorable),
};
static const struct args_type extender_type = ARGS_TYPE(struct extender_config, extender_fields);

static const struct args_field leader_election_fields[] = {
    ARGS_ALWAYS("leaderElect", BOOL, struct leader_election_config, leader_elect),
    ARGS_ALWAYS("leaseDuration", DURATION, struct leader_election_config, lease_duration_ns),
    ARGS_ALWAYS("renewDeadline", DURATION, struct leader_election_config, renew_deadline_ns),
    ARGS_ALWAYS("retryPeriod", DURATION, struct leader_election_config, retry_period_ns),
    ARGS_ALWAYS("resourceLock", STRING, struct leader_election_config, resource_lock),
    ARGS_ALWAYS("resourceName", STRING, struct leader_election_config, resource_name),
    ARGS_ALWAYS("resourceNamespace", STRING, struct leader_election_config, resource_namespace),
};
static const struct args_type leader_election_type =
    ARGS_TYPE(struct leader_election_config, leader_election_fields);

static const struct args_field client_connection_fields[] = {
    ARGS_ALWAYS("kubeconfig", STRING, struct client_connection_config, kubeconfig),
    ARGS_ALWAYS("acceptContentTypes", STRING, struct client_connection_config, accept_content_types),
    ARGS_ALWAYS("contentType", STRING, struct client_connection_config, content_type),
    ARGS_ALWAYS("qps", FLOAT, struct client_connection_config, qps),
    ARGS_ALWAYS("burst", INT32, struct client_connection_config, burst),
};
static const struct args_type client_connection_type =
    ARGS_TYPE(struct client_connection_config, client_connection_fields);

static const struct args_field source_fields[] = {
    ARGS_ALWAYS("parallelism", INT32, struct source, config.parallelism),
    ARGS_NESTED("leaderElection", STRUCT, struct source, config.leader_election, &leader_election_type),
    ARGS_NESTED("clientConnection", STRUCT, struct source, config.client_connection, &client_connection_type),
    ARGS_ALWAYS("enableProfiling", BOOL, struct source, config.enable_profiling),
    ARGS_FIELD("enableContentionProfiling", OPT_BOOL, struct source, contention_profiling),
    ARGS_FIELD("percentageOfNodesToScore", OPT_INT32, struct source, config.percentage_of_nodes_to_score),
    ARGS_ALWAYS("podInitialBackoffSeconds", INT64, struct source, config.pod_initial_backoff_seconds),
    ARGS_ALWAYS("podMaxBackoffSeconds", INT64, struct source, config.pod_max_backoff_seconds),
    ARGS_NESTED("profiles", STRUCT_LIST, struct source, profiles, &profile_type),
    ARGS_NESTED("extenders", STRUCT_LIST, struct source, config.extenders, &extender_type),
    ARGS_FIELD("delayCacheUntilActive", BOOL, struct source, config.delay_cache_until_active),
};
const struct args_type source_type = ARGS_OBJECT(struct source, source_fields);

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
        r = args_decode(build->doc, build->root, &source_type, NULL, build->arena, &source, build->err);
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
