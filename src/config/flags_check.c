/* flags_check.c: what the values of flags mean, one by one and together: versions, gates, and what each group
 * allows.
 *
 * Where Kubernetes has a sentence for a mistake, it is the one that is said. */
#include <strings.h>

#include "base/duration.h"
#include "base/tls_names.h"
#include "base/utf8.h"
#include "config/flags.h"

struct check {
    struct scheduler_flags *flags;
    struct features *features;
    struct warnings *warnings; /* may be NULL */
    struct error *err;
};

static void warn(struct check *check, const char *format, ...) _printf_(2, 3);

static void warn(struct check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (check->warnings)
        *vec_push(&check->warnings->list) = arena_vprintf(&check->flags->arena, format, args);
    va_end(args);
}

/* ---- versions and gates ---- */

/* "1.36", "v1.36.0"; *ret is the minor number. */
static int read_minor(struct str text, int64_t *ret, struct error *err)
{
    struct str number = str_starts_with(text, STR("v")) ? str_slice(text, 1, text.len) : text;
    ptrdiff_t dot = str_find(number, '.');
    struct str minor = dot < 0 ? (struct str){ 0 } : str_slice(number, (size_t)dot + 1, number.len);
    if (str_ends_with(minor, STR(".0")))
        minor.len -= 2;
    if (dot < 0 || !str_is(str_slice(number, 0, (size_t)dot), "1") || !minor.len || minor.ptr[0] < '0' ||
        minor.ptr[0] > '9' || !str_to_int64(minor, ret))
        return error_set(err, -EINVAL,
                         "could not parse \"" STR_FMT "\" as version; expected one such as 1.36",
                         STR_ARG(text));
    return 0;
}

/* What a flag of versions says about us: *ret stays as it is when it says nothing. */
static int check_version(struct check *check, const char *flag, const struct str_list *values, int64_t *ret)
{
    for (uint32_t i = 0; i < values->len; i++) {
        struct str text = values->items[i], component = utf8_trim(str_cut(&text, '='));
        if (text.ptr && !str_is(component, "kube"))
            return error_set(check->err, -EINVAL, "--%s: component not registered: " STR_FMT, flag,
                             STR_ARG(component));
        if (i)
            return error_set(check->err, -EINVAL, "--%s: the version of kube is given twice", flag);
        int r = read_minor(utf8_trim(text.ptr ? text : values->items[i]), ret, check->err);
        if (r < 0) {
            error_prefix(check->err, "--%s", flag);
            return r;
        }
    }
    return 0;
}

static int check_emulated(struct check *check, int64_t minor)
{
    _cleanup_(strbuf_release) struct strbuf known = { 0 };
    int64_t newest = RELEASE_DEFAULT, oldest = newest - RELEASES_ACCEPTED;
    if (release_of(minor))
        return 0;
    if (minor < oldest || minor > newest)
        return error_set(check->err, -EINVAL, "emulation version 1.%lld is not between [1.%lld, 1.%lld.0]",
                         (long long)minor, (long long)oldest, (long long)newest);
    release_list(&known);
    return error_set(check->err, -EINVAL, "emulation version 1.%lld: berth does not support that, only %s",
                     (long long)minor, known.text);
}

static int check_versions(struct check *check)
{
    int64_t emulated = RELEASE_DEFAULT, oldest = RELEASE_DEFAULT - RELEASES_ACCEPTED, compatible = 0;
    int r = check_version(check, "emulated-version", &check->flags->emulated_version, &emulated);
    if (r == 0)
        r = check_version(check, "min-compatibility-version", &check->flags->min_compatibility_version,
                          &compatible);
    if (r == 0)
        r = check_emulated(check, emulated);
    if (r < 0)
        return r;
    if (check->flags->min_compatibility_version.len && (compatible < oldest || compatible > emulated))
        return error_set(check->err, -EINVAL,
                         "minCompatibilityVersion version 1.%lld is not between [1.%lld, 1.%lld]",
                         (long long)compatible, (long long)oldest, (long long)emulated);
    features_default(check->features, release_of(emulated), (int)compatible);
    return 0;
}

const struct release *flags_emulated(const struct scheduler_flags *flags)
{
    struct str given = flags->emulated_version.len ? flags->emulated_version.items[0] : (struct str){ 0 };
    struct str text = given;
    struct error err;
    int64_t minor;
    str_cut(&text, '=');
    if (!given.len || read_minor(utf8_trim(text.ptr ? text : given), &minor, &err) < 0 || !release_of(minor))
        return release_default();
    return release_of(minor);
}

static int check_gates(struct check *check)
{
    const struct flag_gates *gates = &check->flags->feature_gates;
    struct feature_choices choices = { 0 };
    for (uint32_t i = 0; i < gates->len; i++) {
        struct str component = gates->items[i].component;
        if (!str_eq(component, gates->items[0].component))
            return error_set(check->err, -EINVAL,
                             "set kube feature gates with default empty prefix or kube: prefix consistently, "
                             "do not mix use");
        if (!str_empty(component) && !str_is(component, "kube"))
            return error_set(check->err, -EINVAL, "component not registered: " STR_FMT, STR_ARG(component));
        int r = feature_choose(&choices, check->features, gates->items[i].setting, check->err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *state = feature_state(check->features, (enum feature)i);
        if (choices.given[i] && (state->stage == FEATURE_GA || state->stage == FEATURE_DEPRECATED))
            warn(check, "feature gate %s=%s is %s; it will be removed in a future release",
                 feature_infos[i].name, choices.value[i] ? "true" : "false",
                 state->stage == FEATURE_GA ? "GA" : "deprecated");
    }
    return features_resolve(&choices, check->features, check->err);
}

static int check_legacy(struct check *check)
{
    legacy_flags_warn(check->flags, check->warnings);
    return 0;
}

/* ---- logs ---- */

static int check_logs(struct check *check)
{
    const struct scheduler_flags *flags = check->flags;
    bool json = str_is(flags->logging_format, "json");
    char frequency[DURATION_TEXT_MAX];
    duration_format(flags->log_flush_frequency, frequency);
    if (flags->log_flush_frequency <= 0)
        return error_set(check->err, -EINVAL,
                         "--log-flush-frequency: Invalid value: \"%s\": Must be greater than zero",
                         frequency);
    if (!json && !str_is(flags->logging_format, "text") && !str_empty(flags->logging_format))
        return error_set(check->err, -EINVAL,
                         "--logging-format: Invalid value: \"" STR_FMT "\": Unsupported log format",
                         STR_ARG(flags->logging_format));
    if (json && !check->features->enabled[FEATURE_LoggingBetaOptions])
        return error_set(
            check->err, -EINVAL,
            "--logging-format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature");
    if (json && !str_empty(flags->vmodule))
        return error_set(check->err, -EINVAL, "--vmodule: Forbidden: Only supported for text log format");
    const struct {
        const char *name;
        bool used;
    } alpha[] = {
        { "log-text-split-stream", flags->log_text_split_stream },
        { "log-text-info-buffer-size", flags->log_text_info_buffer_size != 0 },
        { "log-json-split-stream", flags->log_json_split_stream },
        { "log-json-info-buffer-size", flags->log_json_info_buffer_size != 0 },
    };
    for (size_t i = 0; i < ARRAY_SIZE(alpha); i++)
        if (alpha[i].used && !check->features->enabled[FEATURE_LoggingAlphaOptions])
            return error_set(check->err, -EINVAL, "--%s: Forbidden: Feature LoggingAlphaOptions is disabled",
                             alpha[i].name);
    return 0;
}

/* ---- serving ---- */

static int check_serving(struct check *check)
{
    const struct scheduler_flags *flags = check->flags;
    if (flags->secure_port < 0 || flags->secure_port > 65535)
        return error_set(
            check->err, -EINVAL,
            "--secure-port %lld must be between 0 and 65535, inclusive. 0 for turning off secure port",
            (long long)flags->secure_port);
    if (flags->secure_port == 0) /* the rest is not used; kube-scheduler does not check it either */
        return 0;
    if (str_empty(flags->tls_cert_file) != str_empty(flags->tls_private_key_file))
        return error_set(check->err, -EINVAL, "--%s needs --%s too",
                         str_empty(flags->tls_cert_file) ? "tls-private-key-file" : "tls-cert-file",
                         str_empty(flags->tls_cert_file) ? "tls-cert-file" : "tls-private-key-file");
    return tls_names_check(flags->tls_min_version, flags->tls_cipher_suites.items,
                           flags->tls_cipher_suites.len, flags->tls_curve_preferences.items,
                           flags->tls_curve_preferences.len, check->err);
}

static bool has_header(const struct str_list *headers, const char *name)
{
    for (uint32_t i = 0; i < headers->len; i++)
        if (headers->items[i].len == strlen(name) &&
            strncasecmp(headers->items[i].ptr, name, strlen(name)) == 0)
            return true;
    return false;
}

static int check_authentication(struct check *check)
{
    const struct scheduler_flags *flags = check->flags;
    const struct {
        const char *flag;
        const struct str_list *values;
        const char *standard; /* NULL: none */
    } lists[] = {
        { "requestheader-username-headers", &flags->requestheader_username_headers, "X-Remote-User" },
        { "requestheader-group-headers", &flags->requestheader_group_headers, "X-Remote-Group" },
        { "requestheader-extra-headers-prefix", &flags->requestheader_extra_headers_prefix,
          "X-Remote-Extra-" },
        { "requestheader-allowed-names", &flags->requestheader_allowed_names, NULL },
        { "requestheader-uid-headers", &flags->requestheader_uid_headers, NULL },
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct str_list *values = lists[i].values;
        for (uint32_t j = 0; j < values->len; j++)
            if (str_empty(utf8_trim(values->items[j])))
                return error_set(check->err, -EINVAL, "empty value in \"%s\"", lists[i].flag);
        if (values->len && lists[i].standard && !has_header(values, lists[i].standard))
            warn(check, "--%s is set without the standard %s - API aggregation will not work", lists[i].flag,
                 lists[i].standard);
    }
    const struct str_list *uids = &flags->requestheader_uid_headers;
    if (uids->len && !check->features->enabled[FEATURE_RemoteRequestHeaderUID])
        return error_set(
            check->err, -EINVAL,
            "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be enabled");
    if (uids->len && !has_header(uids, "X-Remote-Uid"))
        return error_set(
            check->err, -EINVAL,
            "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid header - API "
            "aggregation will not work");
    return 0;
}

/* ---- metrics ---- */

/* [a-zA-Z_:][a-zA-Z0-9_:]*, without the colons for a label. */
static bool is_metric_name(struct str text, bool label)
{
    for (uint32_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c == ':' && !label);
        if (!letter && !(i && c >= '0' && c <= '9'))
            return false;
    }
    return text.len;
}

static int check_metrics(struct check *check)
{
    const struct scheduler_flags *flags = check->flags;
    char previous[16];
    snprintf(previous, sizeof(previous), "1.%d", check->features->release->minor - 1);
    if (!str_empty(flags->show_hidden_metrics_for_version) &&
        !str_is(flags->show_hidden_metrics_for_version, previous))
        return error_set(
            check->err, -EINVAL,
            "--show-hidden-metrics-for-version: Invalid value: \"" STR_FMT
            "\": must be omitted or have the value '%s'; only the previous minor version is allowed",
            STR_ARG(flags->show_hidden_metrics_for_version), previous);
    for (uint32_t i = 0; i < flags->disabled_metrics.len; i++)
        if (!is_metric_name(flags->disabled_metrics.items[i], false))
            return error_set(check->err, -EINVAL,
                             "--disabled-metrics: Invalid value: \"" STR_FMT "\" is no name of a metric",
                             STR_ARG(flags->disabled_metrics.items[i]));
    for (uint32_t i = 0; i < flags->allow_metric_labels.len; i++) {
        struct str key = flags->allow_metric_labels.items[i].key;
        struct str label = key, metric = str_cut(&label, ',');
        if (!is_metric_name(metric, false) || !is_metric_name(label, true))
            return error_set(check->err, -EINVAL,
                             "--allow-metric-labels: Invalid value: \"" STR_FMT
                             "\": must have keys with format `metricName,labelName`",
                             STR_ARG(key));
    }
    if (flags->given[FLAG_allow_metric_labels] && !str_empty(flags->allow_metric_labels_manifest))
        return error_set(check->err, -EINVAL,
                         "cannot specify both --allow-metric-labels and --allow-metric-labels-manifest");
    return 0;
}

/* ---- ours ---- */
bool flags_names_object(struct str text)
{
    struct str name = text, namespace = str_cut(&name, '/');
    return namespace.len && name.len && str_find(name, '/') < 0;
}

static int check_policies(struct check *check)
{
    const struct scheduler_flags *flags = check->flags;
    if (flags->policy_configmap.len && flags->policy_dir.len)
        return error_set(check->err, -EINVAL, "--policy-dir and --policy-configmap exclude each other");
    if (flags->policy_configmap.len && !flags_names_object(flags->policy_configmap))
        return error_set(check->err, -EINVAL,
                         "--policy-configmap: expected NAMESPACE/NAME, got \"" STR_FMT "\"",
                         STR_ARG(flags->policy_configmap));
    return 0;
}

int flags_check(struct scheduler_flags *flags, struct features *ret, struct warnings *warnings,
                struct error *err)
{
    static int (*const steps[])(struct check *) = {
        check_legacy,  check_versions,       check_gates,   check_logs,
        check_serving, check_authentication, check_metrics, check_policies,
    };
    struct features features;
    struct check check = { .flags = flags, .features = &features, .warnings = warnings, .err = err };
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        int r = steps[i](&check);
        if (r < 0)
            return r;
    }
    *ret = features;
    return 0;
}
