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

/* The legacy flag of that name, or -1. */
static int find_legacy(struct str name)
{
    for (int i = 0; i < LEGACY_COUNT; i++)
        if (is_name_of(legacy_flag_name((enum legacy_flag)i), name))
            return i;
    return -1;
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

/* Whether it is accepted is known at the end. */
static int parse_legacy(struct parser *parser, struct str name, struct str value)
{
    int legacy = find_legacy(name);
    if (legacy < 0)
        return error_set(parser->err, -EINVAL, "unknown flag: --" STR_FMT,
                         STR_ARG(str_slice(name, 0, MIN(name.len, 200u))));
    const char *bare = flag_kinds[legacy_flag_kind((enum legacy_flag)legacy)].when_bare;
    if (!value.ptr && !bare && parser->len)
        value = str_from(next_arg(parser));
    parser->flags->legacy[legacy] = value.ptr ? value : str_from(bare ? bare : "");
    return 0;
}

/* "--name", "--name=value", "--name" "value" */
static int parse_long(struct parser *parser, const char *arg)
{
    struct str text = str_from(arg + 2), value = { 0 };
    ptrdiff_t equals = str_find(text, '=');
    struct str name = equals < 0 ? text : str_slice(text, 0, (size_t)equals);
    if (equals >= 0)
        value = str_slice(text, (size_t)equals + 1, text.len);
    if (str_empty(name) || name.ptr[0] == '-')
        return error_set(parser->err, -EINVAL, "bad flag syntax: %.200s", arg);
    int flag = find_flag(name);
    if (flag < 0)
        return parse_legacy(parser, name, value);
    const char *bare = flag_kinds[flag_infos[flag].kind].when_bare;
    if (value.ptr)
        return set_flag(parser, flag, value);
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
    return legacy_flags_read(parser->flags, parser->err);
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
    size_t offset, size; /* of the field */
    const char
        *in_file; /* counts only where there is no configuration file, which has this field; NULL: always */
} config_flags[] = {
#define FIELD(name) (((struct scheduler_config *)0)->name)
#define ROW(name, field, ...) \
    { FLAG_##name, \
      offsetof(struct scheduler_config, field) + \
          RECORD_SAME_TYPE(FIELD(field), __typeof__(((struct scheduler_flags *)0)->name)), \
      sizeof(FIELD(field)), __VA_ARGS__ }
    ROW(profiling, enable_profiling, "enableProfiling"),
    ROW(contention_profiling, enable_contention_profiling, "enableContentionProfiling"),
    ROW(kubeconfig, client_connection.kubeconfig, "clientConnection.kubeconfig"),
    ROW(kube_api_content_type, client_connection.content_type, "clientConnection.contentType"),
    ROW(kube_api_qps, client_connection.qps, "clientConnection.qps"),
    ROW(kube_api_burst, client_connection.burst, "clientConnection.burst"),
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

/* kube-scheduler looks at its service account where a file names no kubeconfig, whatever the flag says. Of a user who
 * asks for legacy flags the flag is what is meant. */
static bool fills_gaps(const struct scheduler_flags *flags, const struct config_flag *row)
{
    return flags->legacy_flags && row->flag == FLAG_kubeconfig;
}

static bool counts(const struct scheduler_flags *flags, const struct config_flag *row,
                   const struct scheduler_config *config)
{
    if (!flags->given[row->flag])
        return false;
    return str_empty(flags->config) || !row->in_file ||
           (fills_gaps(flags, row) && str_empty(config->client_connection.kubeconfig));
}

/* Lays the flags that were given over a configuration. */
static void override(const void *context, struct scheduler_config *config)
{
    const struct scheduler_flags *flags = context;
    for (size_t i = 0; i < ARRAY_SIZE(config_flags); i++) {
        const struct config_flag *row = &config_flags[i];
        if (counts(flags, row, config))
            memcpy((char *)config + row->offset, (const char *)flags + flag_infos[row->flag].offset,
                   row->size);
    }
    if (flags->given[FLAG_leader_elect_resource_name])
        config->leader_election.names_lease = true;
    if (!config->percentage_of_nodes_to_score.set)
        config->percentage_of_nodes_to_score = legacy_percentage(flags);
}

static struct config_env env_of(const struct scheduler_flags *flags, const struct plugin_catalog *catalog,
                                const struct features *features)
{
    return (struct config_env){
        .catalog = catalog,
        .features = features,
        .override = override,
        .override_context = flags,
        .scheduler_name = flags->legacy[LEGACY_scheduler_name],
    };
}

/* ---- warnings ---- */

static void warn_of_replaced(const struct scheduler_flags *flags, struct arena *arena,
                             struct warnings *warnings)
{
    for (size_t i = 0; i < ARRAY_SIZE(config_flags); i++) {
        const struct config_flag *row = &config_flags[i];
        if (!row->in_file || !flags->given[row->flag])
            continue;
        const char *how = fills_gaps(flags, row) ? "counts only if the configuration file says nothing of it"
                                                 : "is ignored, because there is a configuration file";
        *vec_push(&warnings->list) =
            arena_printf(arena, "--%s %s; set %s there", flag_infos[row->flag].name, how, row->in_file);
    }
}

/* Is it a scheduler beside the cluster's own one that uses the lease of that one, because it names none? */
static bool shares_lease(const struct scheduler_config *config)
{
    const struct leader_election_config *election = &config->leader_election;
    return election->leader_elect && !election->names_lease &&
           str_is(election->resource_namespace, "kube-system") &&
           !config_profile(config, STR("default-scheduler"));
}

static void warn_of_shared_lease(const struct scheduler_config *config, struct arena *arena,
                                 struct warnings *warnings)
{
    struct str name = config->profiles.items[0].scheduler_name;
    if (shares_lease(config))
        *vec_push(&warnings->list) =
            arena_printf(arena,
                         "no profile is named default-scheduler, and leaderElection names no lease: it is "
                         "kube-system/kube-scheduler, which is the lease of the scheduler that a cluster has "
                         "already, and only one "
                         "of the two works at a time; set leaderElection.resourceName (such as " STR_FMT
                         "), or leaderElection.leaderElect: false for a single replica",
                         STR_ARG(name));
}

static int finish_load(int r, const struct scheduler_flags *flags, const struct scheduler_config *config,
                       struct arena *arena, struct warnings *warnings)
{
    if (r < 0 || !warnings)
        return r;
    if (!str_empty(flags->config))
        warn_of_replaced(flags, arena, warnings);
    warn_of_shared_lease(config, arena, warnings);
    return 0;
}

int flags_load(const struct scheduler_flags *flags, const struct plugin_catalog *catalog,
               const struct features *features, struct arena *arena, struct scheduler_config *ret,
               struct warnings *warnings, struct error *err)
{
    const struct config_env env = env_of(flags, catalog, features);
    int r = str_empty(flags->config) ? config_default(&env, arena, ret, err)
                                     : config_load(flags->config.ptr, &env, arena, ret, warnings, err);
    return finish_load(r, flags, ret, arena, warnings);
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
    int r = config_load_text(flags->config.ptr, copy, text.len, &env, arena, ret, warnings, err);
    return finish_load(r, flags, ret, arena, warnings);
}
