/* flags.c: the table of flags, the command line read by it, and what flags do to a configuration. */
#include "config/flags.h"

#include "codec/record_rows.h"

const char *const flag_group_names[FLAG_GROUPS] = {
    [FLAG_GROUP_MISC] = "Misc",
    [FLAG_GROUP_SERVING] = "Secure serving",
    [FLAG_GROUP_AUTHENTICATION] = "Authentication",
    [FLAG_GROUP_AUTHORIZATION] = "Authorization",
    [FLAG_GROUP_DEPRECATED] = "Deprecated",
    [FLAG_GROUP_LEADER_ELECTION] = "Leader election",
    [FLAG_GROUP_FEATURE_GATE] = "Feature gate",
    [FLAG_GROUP_METRICS] = "Metrics",
    [FLAG_GROUP_LOGS] = "Logs",
    [FLAG_GROUP_BERTH] = "Berth",
    [FLAG_GROUP_GLOBAL] = "Global",
};

const struct flag_info flag_infos[FLAG_COUNT] = {
#define FLAG(member, in_group, of_kind, short_name, long_name, default_text, text) \
    [FLAG_##member] = { \
        .name = long_name, \
        .letter = short_name, \
        .group = FLAG_GROUP_##in_group, \
        .kind = FLAG_KIND_##of_kind, \
        .offset = offsetof(struct scheduler_flags, member), \
        .by_default = default_text, \
        .help = text, \
    },
#include "config/flags.def"
#undef FLAG
};

/* Flags of older releases, and what to do instead. */
static const struct {
    const char *name, *instead;
} removed_flags[] = {
#define POLICY "scheduling policies are gone since v1.23; say the same in the profiles of a file for --config"
    { "policy-config-file", POLICY },
    { "policy-configmap", POLICY },
    { "policy-configmap-namespace", POLICY },
    { "use-legacy-policy-config", POLICY },
#undef POLICY
    { "algorithm-provider", "choose plugins in the profiles of a file for --config" },
    { "scheduler-name", "set profiles[].schedulerName in a file for --config" },
    { "hard-pod-affinity-symmetric-weight",
      "set hardPodAffinityWeight in the arguments of InterPodAffinity in a file for --config" },
    { "failure-domains", "pods name their topology keys themselves" },
    { "lock-object-name", "use --leader-elect-resource-name" },
    { "lock-object-namespace", "use --leader-elect-resource-namespace" },
    { "address", "there is no serving without TLS; use --bind-address" },
    { "port", "there is no serving without TLS; use --secure-port" },
    { "insecure-bind-address", "there is no serving without TLS; use --bind-address" },
    { "insecure-port", "there is no serving without TLS; use --secure-port" },
#define KLOG "log lines go to standard error; redirect them"
    { "logtostderr", KLOG },
    { "alsologtostderr", KLOG },
    { "stderrthreshold", KLOG },
    { "log-dir", KLOG },
    { "log-file", KLOG },
    { "log-file-max-size", KLOG },
    { "one-output", KLOG },
#undef KLOG
    { "log-backtrace-at", "use -v or --vmodule to see more" },
    { "add-dir-header", "use --logging-format=json for more about each line" },
    { "skip-headers", "use --logging-format=json for lines that programs read" },
    { "skip-log-headers", "use --logging-format=json for lines that programs read" },
    { "experimental-logging-sanitization", "what must stay secret is never logged" },
};

/* ---- parsing ---- */

struct parser {
    struct scheduler_flags *flags;
    char **args; /* what is left */
    int len;
    struct str extra; /* the first argument that is no flag */
    struct error *err;
};

static char *next_arg(struct parser *parser)
{
    parser->len--;
    return *parser->args++;
}

/* Is it the name of the flag, with underscores for dashes perhaps? */
static bool is_name_of(const char *flag, struct str name)
{
    size_t at = 0;
    while (at < name.len && flag[at] == (name.ptr[at] == '_' ? '-' : name.ptr[at]))
        at++;
    return at == name.len && !flag[at];
}

/* The flag of that name, or -1. */
static int find_flag(struct str name)
{
    for (int i = 0; i < FLAG_COUNT; i++)
        if (is_name_of(flag_infos[i].name, name))
            return i;
    return -1;
}

static int unknown_flag(struct parser *parser, struct str name)
{
    for (size_t i = 0; i < ARRAY_SIZE(removed_flags); i++)
        if (is_name_of(removed_flags[i].name, name))
            return error_set(parser->err, -EINVAL, "unknown flag: --" STR_FMT " (Kubernetes removed it): %s",
                             STR_ARG(name), removed_flags[i].instead);
    return error_set(parser->err, -EINVAL, "unknown flag: --" STR_FMT, STR_ARG(name));
}

static int set_flag(struct parser *parser, int flag, struct str value)
{
    const struct flag_info *info = &flag_infos[flag];
    struct scheduler_flags *flags = parser->flags;
    struct error why;
    int r = flag_kinds[info->kind].read(&flags->arena, value, flags->given[flag],
                                        (char *)flags + info->offset, &why);
    if (r < 0) {
        _cleanup_(strbuf_release) struct strbuf shown = { 0 };
        quote_go(&shown, str_slice(value, 0, MIN(value.len, 200u)));
        return error_set(parser->err, r, "invalid argument %s for \"%s%.1s%s--%s\" flag: %s", shown.text,
                         info->letter ? "-" : "", &info->letter, info->letter ? ", " : "", info->name,
                         why.text);
    }
    flags->given[flag] = true;
    return 0;
}

/* "--name", "--name=value", "--name" "value" */
static int parse_long(struct parser *parser, const char *arg)
{
    struct str text = str_from(arg + 2);
    ptrdiff_t equals = str_find(text, '=');
    struct str name = equals < 0 ? text : str_slice(text, 0, (size_t)equals);
    if (str_empty(name) || name.ptr[0] == '-')
        return error_set(parser->err, -EINVAL, "bad flag syntax: %.200s", arg);
    int flag = find_flag(name);
    if (flag < 0)
        return unknown_flag(parser, str_slice(name, 0, MIN(name.len, 200u)));
    const char *bare = flag_kinds[flag_infos[flag].kind].when_bare;
    if (equals >= 0)
        return set_flag(parser, flag, str_slice(text, (size_t)equals + 1, text.len));
    if (bare)
        return set_flag(parser, flag, str_from(bare));
    if (!parser->len)
        return error_set(parser->err, -EINVAL, "flag needs an argument: --%s", flag_infos[flag].name);
    return set_flag(parser, flag, str_from(next_arg(parser)));
}

/* "-v=2", "-v2", "-v" "2"; letters of flags that need no value may stand together. */
static int parse_short(struct parser *parser, const char *arg)
{
    for (const char *at = arg + 1; *at; at++) {
        int flag = 0;
        while (flag < FLAG_COUNT && flag_infos[flag].letter != *at)
            flag++;
        if (flag == FLAG_COUNT)
            return error_set(parser->err, -EINVAL, "unknown shorthand flag: '%c' in %.200s", *at, arg);
        const char *bare = flag_kinds[flag_infos[flag].kind].when_bare;
        if (at[1] == '=' && at[2])
            return set_flag(parser, flag, str_from(at + 2));
        if (!bare && at[1])
            return set_flag(parser, flag, str_from(at + 1));
        if (!bare && !parser->len)
            return error_set(parser->err, -EINVAL, "flag needs an argument: '%c' in %.200s", *at, arg);
        int r = set_flag(parser, flag, str_from(bare ? bare : next_arg(parser)));
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse(struct parser *parser)
{
    bool only_words = false;
    while (parser->len) {
        const char *arg = next_arg(parser);
        int r = 0;
        if (only_words || arg[0] != '-' || !arg[1]) {
            if (*arg && !parser->extra.ptr)
                parser->extra = str_from(arg);
        } else if (strcmp(arg, "--") == 0) {
            only_words = true;
        } else {
            r = arg[1] == '-' ? parse_long(parser, arg) : parse_short(parser, arg);
        }
        if (r < 0)
            return r;
    }
    if (parser->extra.ptr && !parser->flags->help)
        return error_set(parser->err, -EINVAL, "no arguments are taken but flags, got \"%.200s\"",
                         parser->extra.ptr);
    return 0;
}

static void set_defaults(struct scheduler_flags *flags)
{
    *flags = (struct scheduler_flags){ 0 };
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        const struct flag_info *info = &flag_infos[i];
        struct error why;
        int r = *info->by_default ? flag_kinds[info->kind].read(&flags->arena, str_from(info->by_default),
                                                                false, (char *)flags + info->offset, &why)
                                  : 0;
        assert(r == 0);
        (void)r;
    }
}

int flags_parse(struct scheduler_flags *ret, int argc, char **argv, struct error *err)
{
    struct parser parser = {
        .flags = ret, .args = argv + (argc > 0), .len = argc > 0 ? argc - 1 : 0, .err = err
    };
    set_defaults(ret);
    int r = parse(&parser);
    if (r < 0)
        flags_release(ret);
    return r;
}

void flags_release(struct scheduler_flags *flags)
{
    arena_release(&flags->arena);
    *flags = (struct scheduler_flags){ 0 };
}

/* ---- flags and the configuration ---- */

/* The flags that are fields of the configuration as well. */
static const struct config_flag {
    enum flag flag;
    size_t offset, size;   /* of the field */
    bool replaced_by_file; /* counts only where there is no configuration file */
} config_flags[] = {
#define FIELD(name) (((struct scheduler_config *)0)->name)
#define ROW(name, field, ...) \
    { FLAG_##name, \
      offsetof(struct scheduler_config, field) + \
          RECORD_SAME_TYPE(FIELD(field), __typeof__(((struct scheduler_flags *)0)->name)), \
      sizeof(FIELD(field)), __VA_ARGS__ }
    ROW(profiling, enable_profiling, true),
    ROW(contention_profiling, enable_contention_profiling, true),
    ROW(kubeconfig, client_connection.kubeconfig, true),
    ROW(kube_api_content_type, client_connection.content_type, true),
    ROW(kube_api_qps, client_connection.qps, true),
    ROW(kube_api_burst, client_connection.burst, true),
    ROW(leader_elect, leader_election.leader_elect),
    ROW(leader_elect_lease_duration, leader_election.lease_duration_ns),
    ROW(leader_elect_renew_deadline, leader_election.renew_deadline_ns),
    ROW(leader_elect_retry_period, leader_election.retry_period_ns),
    ROW(leader_elect_resource_lock, leader_election.resource_lock),
    ROW(leader_elect_resource_name, leader_election.resource_name),
    ROW(leader_elect_resource_namespace, leader_election.resource_namespace),
#undef ROW
#undef FIELD
};

/* Lays the flags that were given over a configuration. */
static void override(const void *context, struct scheduler_config *config)
{
    const struct scheduler_flags *flags = context;
    for (size_t i = 0; i < ARRAY_SIZE(config_flags); i++) {
        const struct config_flag *row = &config_flags[i];
        if (flags->given[row->flag] && (str_empty(flags->config) || !row->replaced_by_file))
            memcpy((char *)config + row->offset, (const char *)flags + flag_infos[row->flag].offset,
                   row->size);
    }
}

static struct config_env env_of(const struct scheduler_flags *flags, const struct plugin_catalog *catalog,
                                const struct features *features)
{
    return (struct config_env){
        .catalog = catalog,
        .features = features,
        .override = override,
        .override_context = flags,
    };
}

static void warn_of_replaced(const struct scheduler_flags *flags, struct arena *arena,
                             struct warnings *warnings)
{
    for (size_t i = 0; i < ARRAY_SIZE(config_flags) && warnings; i++)
        if (config_flags[i].replaced_by_file && flags->given[config_flags[i].flag])
            *vec_push(&warnings->list) =
                arena_printf(arena, "--%s is ignored, because there is a configuration file",
                             flag_infos[config_flags[i].flag].name);
}

int flags_load(const struct scheduler_flags *flags, const struct plugin_catalog *catalog,
               const struct features *features, struct arena *arena, struct scheduler_config *ret,
               struct warnings *warnings, struct error *err)
{
    const struct config_env env = env_of(flags, catalog, features);
    if (str_empty(flags->config))
        return config_default(&env, arena, ret, err);
    warn_of_replaced(flags, arena, warnings);
    return config_load(flags->config.ptr, &env, arena, ret, warnings, err);
}

int flags_load_text(const struct scheduler_flags *flags, struct str text,
                    const struct plugin_catalog *catalog, const struct features *features,
                    struct arena *arena, struct scheduler_config *ret, struct warnings *warnings,
                    struct error *err)
{
    const struct config_env env = env_of(flags, catalog, features);
    char *copy = xcalloc(1, (size_t)text.len + YYJSON_PADDING_SIZE);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    warn_of_replaced(flags, arena, warnings);
    return config_load_text(flags->config.ptr, copy, text.len, &env, arena, ret, warnings, err);
}
