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
    "the flags and the configuration file of kube-scheduler v%s and decides as it does,\n"
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
    const char *type = flag_argument((enum flag)(info - flag_infos));
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

static void add_gate(struct strbuf *out, enum feature feature, const struct feature_state *state)
{
    strbuf_printf(out, "%s=true|false (%s - default=%s)", feature_infos[feature].name,
                  feature_stage_names[state->stage], state->by_default ? "true" : "false");
}

static void add_gates(struct strbuf *out, const struct release *release)
{
    struct features features;
    features_default(&features, release, 0);
    for (size_t i = 0; i < FEATURE_COUNT; i++) {
        const struct feature_state *state = feature_state(&features, (enum feature)i);
        if (!state || (state->stage != FEATURE_ALPHA && state->stage != FEATURE_BETA))
            continue;
        strbuf_puts(out, "\nkube:");
        add_gate(out, (enum feature)i, state);
        struct features newer = features;
        newer.compatible = features.release->minor;
        const struct feature_state *later = feature_state(&newer, (enum feature)i);
        if (later == state)
            continue;
        strbuf_puts(out, ", or ");
        add_gate(out, (enum feature)i, later);
        strbuf_printf(out, " if --min-compatibility-version>=1.%d", later->compatible);
    }
}

const char *flag_argument(enum flag flag)
{
    return flag_kinds[flag_infos[flag].kind].type_name;
}

void flag_describe(enum flag flag, const struct release *release, struct strbuf *out)
{
    const struct flag_info *info = &flag_infos[flag];
    strbuf_puts(out, info->help);
    if (info->kind == FLAG_KIND_GATES)
        add_gates(out, release);
    add_default(out, info);
}

static void add_group(struct strbuf *out, const struct release *release, enum flag_group group,
                      unsigned columns)
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
        flag_describe((enum flag)i, release, &text);
        add_wrapped(out, strbuf_slice(&text), width, columns);
        strbuf_putc(out, '\n');
    }
}

void flags_help(const struct scheduler_flags *flags, struct strbuf *out, unsigned columns)
{
    strbuf_printf(out, introduction, flags_emulated(flags)->version);
    for (int group = 0; group < FLAG_GROUPS; group++)
        add_group(out, flags_emulated(flags), (enum flag_group)group, columns);
}

/* ---- version ---- */

void flags_reported_version(const struct scheduler_flags *flags, struct strbuf *out)
{
    if (str_starts_with(flags->version, STR("v")))
        strbuf_str(out, flags->version);
    else
        strbuf_printf(out, "v%s+berth." BERTH_VERSION, flags_emulated(flags)->version);
}

bool flags_version(const struct scheduler_flags *flags, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf version = { 0 };
    flags_reported_version(flags, &version);
    if (str_is(flags->version, "true")) {
        strbuf_printf(out, "Kubernetes %s\n", version.text);
        return true;
    }
    if (!str_is(flags->version, "raw"))
        return false;
    struct utsname system = { 0 };
    uname(&system);
    strbuf_printf(out,
                  "version.Info{Major:\"1\", Minor:\"%s\", EmulationMajor:\"\", EmulationMinor:\"\", "
                  "MinCompatibilityMajor:\"\", "
                  "MinCompatibilityMinor:\"\", GitVersion:\"%s\", GitCommit:\"\", GitTreeState:\"\", "
                  "BuildDate:\"\", GoVersion:\"\", Compiler:\"%s\", "
                  "Platform:\"linux/%s\"}\n",
                  flags_emulated(flags)->minor_text, version.text, __VERSION__,
                  strcmp(system.machine, "x86_64") == 0    ? "amd64"
                  : strcmp(system.machine, "aarch64") == 0 ? "arm64"
                                                           : system.machine);
    return true;
}
