/* validate.c: what a configuration may say, apart from the arguments of plugins.
 *
 * Order and sentences are those of the reference: a user who searches for a message finds it. */
#include "api/names.h"
#include "base/map.h"
#include "config/build.h"

static void validate_client(const struct scheduler_config *config, struct problems *problems)
{
    const struct path *path = PATH_FIELD(NULL, "clientConnection");
    if (config->client_connection.burst < 0)
        problem_int(problems, PATH_FIELD(path, "burst"), config->client_connection.burst,
                    "must be non-negative");
}

static void validate_leader_election(const struct scheduler_config *config, struct problems *problems)
{
    const struct leader_election_config *election = &config->leader_election;
    const struct path *path = PATH_FIELD(NULL, "leaderElection");
    const struct {
        const char *field;
        int64_t ns;
    } durations[] = {
        { "leaseDuration", election->lease_duration_ns },
        { "renewDeadline", election->renew_deadline_ns },
        { "retryPeriod", election->retry_period_ns },
    };
    if (!election->leader_elect)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(durations); i++)
        if (durations[i].ns <= 0)
            problem_duration(problems, PATH_FIELD(path, durations[i].field), durations[i].ns,
                             "must be greater than zero");
    /* The reference prints the deadline here too. */
    if (election->lease_duration_ns <= election->renew_deadline_ns)
        problem_duration(problems, PATH_FIELD(path, "leaseDuration"), election->renew_deadline_ns,
                         "must be greater than `RenewDeadline`");
    if (!str_is(election->resource_lock, "leases"))
        problem_text(problems, PATH_FIELD(path, "resourceLock"), election->resource_lock,
                     "resourceLock value must be \"leases\"");
}

static void validate_percentage(struct opt_int32 percentage, const struct path *path,
                                struct problems *problems)
{
    if (percentage.set && (percentage.value < 0 || percentage.value > 100))
        problem_int(problems, path, percentage.value, "not in valid range [0-100]");
}

static void validate_plugin_config(struct config_build *build, const struct profile_config *profile,
                                   const struct path *path, struct problems *problems)
{
    struct strmap seen = { 0 };
    for (uint32_t i = 0; i < profile->args.len; i++) {
        struct plugin_args *args = &profile->args.items[i];
        const struct path *at = PATH_INDEX(PATH_FIELD(path, "pluginConfig"), i);
        if (strmap_put(&seen, args->plugin, args))
            problem_duplicate(problems, at, args->plugin);
        if (args->kind && !args->kind->validated_at_setup)
            args->kind->validate(args->typed, PATH_FIELD(at, "args"), build->features, problems);
    }
    strmap_release(&seen);
}

static void validate_profiles(struct config_build *build, struct problems *problems)
{
    struct strmap seen = { 0 };
    for (uint32_t i = 0; i < build->config->profiles.len; i++) {
        struct profile_config *profile = &build->config->profiles.items[i];
        const struct path *path = PATH_INDEX(PATH_FIELD(NULL, "profiles"), i);
        const struct path *name_at = PATH_FIELD(path, "schedulerName");
        if (str_empty(profile->scheduler_name))
            problem_required(problems, name_at, NULL);
        validate_percentage(profile->percentage_of_nodes_to_score,
                            PATH_FIELD(path, "percentageOfNodesToScore"), problems);
        validate_plugin_config(build, profile, path, problems);
        if (strmap_put(&seen, profile->scheduler_name, profile))
            problem_duplicate_json(problems, name_at, STR("{}"));
    }
    strmap_release(&seen);
}

/* ---- one queue, one order ---- */

static void print_refs(struct strbuf *out, const struct plugin_ref *refs, uint32_t len)
{
    if (!len) {
        strbuf_puts(out, "null");
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        strbuf_puts(out, i ? ",{\"Name\":" : "[{\"Name\":");
        print_json(out, refs[i].name);
        strbuf_printf(out, ",\"Weight\":%d}", (int)refs[i].weight);
    }
    strbuf_putc(out, ']');
}

static bool same_refs(const struct plugin_ref *a, uint32_t a_len, const struct plugin_ref *b, uint32_t b_len)
{
    for (uint32_t i = 0; i < a_len && a_len == b_len; i++)
        if (!str_eq(a[i].name, b[i].name) || a[i].weight != b[i].weight)
            return false;
    return a_len == b_len;
}

static bool same_sets(const struct plugin_set *a, const struct plugin_set *b)
{
    return same_refs(a->enabled.items, a->enabled.len, b->enabled.items, b->enabled.len) &&
           same_refs(a->disabled.items, a->disabled.len, b->disabled.items, b->disabled.len);
}

static void problem_set(struct problems *problems, const struct path *path, const struct plugin_set *set)
{
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    strbuf_puts(&json, "{\"Enabled\":");
    print_refs(&json, set->enabled.items, set->enabled.len);
    strbuf_puts(&json, ",\"Disabled\":");
    print_refs(&json, set->disabled.items, set->disabled.len);
    strbuf_putc(&json, '}');
    problem_json(problems, path, strbuf_slice(&json), "must be the same for all profiles");
}

/* The last entry wins where a plugin has several; that is refused elsewhere. */
static yyjson_val *raw_args(const struct profile_config *profile, struct str plugin)
{
    yyjson_val *raw = NULL;
    list_for(&profile->args, args)
        if (str_eq(args->plugin, plugin))
            raw = args->raw;
    return raw;
}

static void validate_sort_args(const struct profile_config *profile, yyjson_val *canon, struct str plugin,
                               const struct path *path, struct problems *problems)
{
    list_for(&profile->args, args) {
        if (!str_eq(args->plugin, plugin) || args->raw == canon ||
            (args->raw && canon && yyjson_equals(args->raw, canon)))
            continue;
        char *json = args->raw ? yyjson_val_write(args->raw, 0, NULL) : NULL;
        problem_json(problems, PATH_FIELD(PATH_FIELD(path, "pluginConfig"), "args"),
                     str_from(json ? json : "null"), "queueSort must be the same for all profiles");
        free(json);
    }
}

static void validate_queue_sort(struct config_build *build, struct problems *problems)
{
    const struct path *profiles_at = PATH_FIELD(NULL, "profiles");
    const struct profile_config *first = &build->config->profiles.items[0];
    const struct plugin_set *canon = &first->plugins.sections[POINT_QUEUE_SORT];
    struct str plugin = canon->enabled.len ? canon->enabled.items[0].name : (struct str){ 0 };
    const struct path *at = PATH_FIELD(PATH_FIELD(PATH_INDEX(profiles_at, 0), "plugins"), "queueSort");
    if (canon->enabled.len > 1)
        problem_int(problems, PATH_FIELD(at, "Enabled"), canon->enabled.len,
                    "only one queue sort plugin can be enabled");
    yyjson_val *canon_args = raw_args(first, plugin);
    for (uint32_t i = 1; i < build->config->profiles.len; i++) {
        const struct profile_config *profile = &build->config->profiles.items[i];
        const struct path *path = PATH_INDEX(profiles_at, i);
        const struct plugin_set *set = &profile->plugins.sections[POINT_QUEUE_SORT];
        if (!same_sets(canon, set))
            problem_set(problems, PATH_FIELD(PATH_FIELD(path, "plugins"), "queueSort"), set);
        if (plugin.ptr)
            validate_sort_args(profile, canon_args, plugin, path, problems);
    }
}

/* ---- extenders ---- */

static void validate_managed(const struct managed_resource *resource, const struct path *path,
                             struct problems *problems)
{
    struct name_faults faults = name_check_label_key(resource->name);
    _cleanup_(strbuf_release) struct strbuf json = { 0 };
    print_json(&json, resource->name);
    for (size_t i = 0; i < faults.len; i++)
        problem_json(problems, path, strbuf_slice(&json), faults.items[i]);
    if (!faults.len && !name_is_extended_resource(resource->name))
        problem_text(problems, path, resource->name, "is an invalid extended resource name");
}

static void validate_extenders(const struct scheduler_config *config, struct problems *problems)
{
    struct strmap seen = { 0 };
    size_t binders = 0;
    const struct path *extenders_at = PATH_FIELD(NULL, "extenders");
    for (uint32_t i = 0; i < config->extenders.len; i++) {
        const struct extender_config *extender = &config->extenders.items[i];
        const struct path *path = PATH_INDEX(extenders_at, i);
        if (!str_empty(extender->prioritize_verb) && extender->weight <= 0)
            problem_int(problems, PATH_FIELD(path, "weight"), extender->weight,
                        "must have a positive weight applied to it");
        binders += !str_empty(extender->bind_verb);
        for (uint32_t j = 0; j < extender->managed_resources.len; j++) {
            struct managed_resource *resource = &extender->managed_resources.items[j];
            const struct path *at = PATH_FIELD(PATH_INDEX(PATH_FIELD(path, "managedResources"), j), "name");
            validate_managed(resource, at, problems);
            if (strmap_put(&seen, resource->name, resource))
                problem_text(problems, at, resource->name, "duplicate extender managed resource name");
        }
    }
    strmap_release(&seen);
    if (binders > 1) {
        _cleanup_(strbuf_release) struct strbuf found = { 0 };
        strbuf_printf(&found, "found %zu extenders implementing bind", binders);
        problem_text(problems, extenders_at, strbuf_slice(&found), "only one extender can implement bind");
    }
}

int validate_config(struct config_build *build)
{
    const struct scheduler_config *config = build->config;
    struct problems problems = { .root = build->root };
    validate_client(config, &problems);
    validate_leader_election(config, &problems);
    if (config->parallelism <= 0)
        problem_int(&problems, PATH_FIELD(NULL, "parallelism"), config->parallelism,
                    "should be an integer value greater than zero");
    validate_profiles(build, &problems);
    validate_queue_sort(build, &problems);
    validate_percentage(config->percentage_of_nodes_to_score, PATH_FIELD(NULL, "percentageOfNodesToScore"),
                        &problems);
    if (config->pod_initial_backoff_seconds <= 0)
        problem_int(&problems, PATH_FIELD(NULL, "podInitialBackoffSeconds"),
                    config->pod_initial_backoff_seconds, "must be greater than 0");
    if (config->pod_max_backoff_seconds < config->pod_initial_backoff_seconds)
        problem_int(&problems, PATH_FIELD(NULL, "podMaxBackoffSeconds"), config->pod_max_backoff_seconds,
                    "must be greater than or equal to PodInitialBackoffSeconds");
    validate_extenders(config, &problems);
    int r = problems_report(&problems, build->doc, "", build->err);
    problems_release(&problems);
    return r;
}
