/* flags_help.c: what --help and --version print. The layout is pflag's, so that what reads kube-scheduler's
 * page reads ours. */
#include <sys/utsname.h>

#include "config/flags.h"

#ifndef BERTH_VERSION
#define BERTH_VERSION "0"
#endif

static const char introduction[] =
    "Watches a Kubernetes cluster and gives every new pod a node: filters out the nodes\n"
    "that cannot run it, scores the others, and binds the pod to the best one. It takes\n"
    "the flags and the configuration file of kube-scheduler " KUBERNETES_VERSION " and decides as it does,\n"
    "so it can stand in its place: start it with the same command line, or for a first\n"
    "look with --kubeconfig FILE. --write-config-to FILE shows every setting there is.\n"
    "\n"
    "Usage:\n"
    "  kube-scheduler [flags]\n";

/* ---- wrapping ---- */

/* How much of the text stands on a line of `width` columns; *skip is what is dropped between it and the rest.
 */
static size_t line_len(struct str text, size_t width, size_t *skip)
{
    enum { SLOP = 5 }; /* a line may be longer when that saves a last word from standing alone */
    *skip = 0;
    if (width + SLOP > text.len)
        return text.len;
    size_t space = 0, newline = 0;
    for (size_t i = 0; i < width; i++) {
        if (strchr(" \t\n", text.ptr[i]))
            space = i;
        if (text.ptr[i] == '\n')
            newline = i;
    }
    size_t end = newline ? newline : space;
    *skip = end ? 1 : 0;
    return end ? end : text.len;
}

static void add_indented(struct strbuf *out, struct str text, size_t indent)
{
    for (size_t i = 0; i < text.len; i++) {
        strbuf_putc(out, text.ptr[i]);
        if (text.ptr[i] == '\n')
            strbuf_printf(out, "%*s", (int)indent, "");
    }
}

static void add_wrapped(struct strbuf *out, struct str text, size_t indent, size_t columns)
{
    enum { TEXT_MIN = 24, BLOCK_INDENT = 16, SLOP = 5 };
    if (columns && columns < indent + TEXT_MIN) {
        indent = BLOCK_INDENT;
        strbuf_printf(out, "\n%*s", (int)indent, "");
    }
    if (columns < indent + TEXT_MIN) {
        add_indented(out, text, indent);
        return;
    }
    for (bool first = true; first || text.len; first = false) {
        size_t skip, len = line_len(text, columns - indent - SLOP, &skip);
        if (!first)
            strbuf_printf(out, "\n%*s", (int)indent, "");
        add_indented(out, str_slice(text, 0, len), indent);
        text = str_slice(text, len + skip, text.len);
    }
}

/* ---- flags ---- */

static void add_synopsis(struct strbuf *out, const struct flag_info *info)
{
    if (info->letter)
        strbuf_printf(out, "  -%c, --%s", info->letter, info->name);
    else
        strbuf_printf(out, "      --%s", info->name);
    const char *type = flag_kinds[info->kind].type_name;
    if (*type)
        strbuf_printf(out, " %s", type);
}

/* "(default 10s)"; nothing for a zero value, but for the kinds whose zero pflag shows. */
static void add_default(struct strbuf *out, const struct flag_info *info)
{
    const char *value = info->by_default;
    switch (info->kind) {
    case FLAG_KIND_STRINGS:
        if (*value)
            strbuf_printf(out, " (default [%s])", value);
        break;
    case FLAG_KIND_INT32S:
    case FLAG_KIND_PAIRS:
    case FLAG_KIND_CERT_KEYS:
        strbuf_printf(out, " (default [%s])", value);
        break;
    case FLAG_KIND_STRING:
        if (*value)
            strbuf_printf(out, " (default \"%s\")", value);
        break;
    default:
        if (*value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0)
            strbuf_printf(out, " (default %s)", value);
    }
}

static void add_gates(struct strbuf *out)
{
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_info *info = &feature_infos[i];
        if (info->stage == FEATURE_ALPHA || info->stage == FEATURE_BETA)
            strbuf_printf(out, "\nkube:%s=true|false (%s - default=%s)", info->name,
                          feature_stage_names[info->stage], info->by_default ? "true" : "false");
    }
}

static void add_group(struct strbuf *out, enum flag_group group, unsigned columns)
{
    _cleanup_(strbuf_release) struct strbuf text = { 0 };
    size_t width = 0;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        strbuf_clear(&text);
        if (flag_infos[i].group == group)
            add_synopsis(&text, &flag_infos[i]);
        width = MAX(width, text.len);
    }
    width += 3;
    strbuf_printf(out, "\n%s flags:\n\n", flag_group_names[group]);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        const struct flag_info *info = &flag_infos[i];
        if (info->group != group)
            continue;
        size_t start = out->len;
        add_synopsis(out, info);
        strbuf_printf(out, "%*s", (int)(width - (out->len - start)), "");
        strbuf_clear(&text);
        strbuf_puts(&text, info->help);
        if (info->kind == FLAG_KIND_GATES)
            add_gates(&text);
        add_default(&text, info);
        add_wrapped(out, strbuf_slice(&text), width, columns);
        strbuf_putc(out, '\n');
    }
}

void flags_help(struct strbuf *out, unsigned columns)
{
    strbuf_puts(out, introduction);
    for (int group = 0; group < FLAG_GROUPS; group++)
        add_group(out, (enum flag_group)group, columns);
}

/* ---- version ---- */

struct str flags_reported_version(const struct scheduler_flags *flags)
{
    return str_starts_with(flags->version, STR("v")) ? flags->version
                                                     : STR(KUBERNETES_VERSION "+berth." BERTH_VERSION);
}

bool flags_version(const struct scheduler_flags *flags, struct strbuf *out)
{
    struct str version = flags_reported_version(flags);
    if (str_is(flags->version, "true")) {
        strbuf_printf(out, "Kubernetes " STR_FMT "\n", STR_ARG(version));
        return true;
    }
    if (!str_is(flags->version, "raw"))
        return false;
    struct utsname system = { 0 };
    uname(&system);
    strbuf_printf(out,
                  "version.Info{Major:\"" KUBERNETES_MAJOR "\", Minor:\"" KUBERNETES_MINOR
                  "\", EmulationMajor:\"\", EmulationMinor:\"\", MinCompatibilityMajor:\"\", "
                  "MinCompatibilityMinor:\"\", GitVersion:\"" STR_FMT
                  "\", GitCommit:\"\", GitTreeState:\"\", BuildDate:\"\", GoVersion:\"\", Compiler:\"%s\", "
                  "Platform:\"linux/%s\"}\n",
                  STR_ARG(version), __VERSION__,
                  strcmp(system.machine, "x86_64") == 0    ? "amd64"
                  : strcmp(system.machine, "aarch64") == 0 ? "arm64"
                                                           : system.machine);
    return true;
}
