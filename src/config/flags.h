/* flags.h: the command line of the live scheduler: kube-scheduler's flags, one table (flags.def).
 *
 *     struct scheduler_flags flags;
 *     if (flags_parse(&flags, argc, argv, &err) < 0) ...            exit code 2
 *     if (flags.help) { flags_help(&out, columns); ... }
 *     if (flags_check(&flags, &features, &warnings, &err) < 0) ...  exit code 2
 *     if (flags_version(&flags, &out)) ...                          print and exit
 *     if (flags_load(&flags, &catalog, &features, &arena, &config, &warnings, &err) < 0) ...
 *
 * Syntax is pflag's: --name=value, --name value, --bool, --bool=false, -v=2, -v 2, -v2; underscores are
 * dashes; lists take commas and repetition. Where kube-scheduler exits with 1, we exit with 2 as everywhere
 * for wrong input: nothing but "not 0" is documented there.
 *
 * With --config, the file and the flags of leader election count, and the deprecated flags do not; without
 * it, all do. Flags of older releases are refused, or accepted with --legacy-flags (legacy_flags.def). */
#ifndef CONFIG_FLAGS_H
#define CONFIG_FLAGS_H

#include "config/config.h"
#include "config/flag_values.h"

enum flag_group {
    FLAG_GROUP_MISC,
    FLAG_GROUP_SERVING,
    FLAG_GROUP_AUTHENTICATION,
    FLAG_GROUP_AUTHORIZATION,
    FLAG_GROUP_DEPRECATED,
    FLAG_GROUP_LEADER_ELECTION,
    FLAG_GROUP_FEATURE_GATE,
    FLAG_GROUP_METRICS,
    FLAG_GROUP_LOGS,
    FLAG_GROUP_BERTH,
    FLAG_GROUP_GLOBAL,
    FLAG_GROUPS
};

enum flag {
#define FLAG(member, ...) FLAG_##member,
#include "config/flags.def"
#undef FLAG
    FLAG_COUNT
};

/* Flags that kube-scheduler does not have, or no longer has. */
enum legacy_flag {
#define LEGACY(member, ...) LEGACY_##member,
#include "config/legacy_flags.def"
#undef LEGACY
    LEGACY_COUNT
};

struct flag_info {
    const char *name;
    char letter; /* 0: none */
    enum flag_group group;
    enum flag_kind kind;
    size_t offset; /* in struct scheduler_flags */
    const char *by_default;
    const char *help;
};

extern const struct flag_info flag_infos[FLAG_COUNT];
extern const char *const flag_group_names[FLAG_GROUPS];

/* The value of every flag, with defaults. Strings are terminated. */
struct scheduler_flags {
#define FLAG(member, group, kind, ...) flag_type_##kind member;
#include "config/flags.def"
#undef FLAG
    bool given[FLAG_COUNT];          /* on the command line; by FLAG_<member> */
    struct str legacy[LEGACY_COUNT]; /* texts of legacy flags; no pointer: it is not given */
    struct arena arena;              /* what the values point into */
};

/* Is it "NAMESPACE/NAME"? */
bool flags_names_object(struct str text);
/* Reads argv[1] and what follows. On failure err has the sentence, and nothing is left to release. */
int flags_parse(struct scheduler_flags *ret, int argc, char **argv, struct error *err);
void flags_release(struct scheduler_flags *flags);

/* The page that --help prints, about the release that is emulated. Texts are wrapped at `columns`; 0: not at all. */
void flags_help(const struct scheduler_flags *flags, struct strbuf *out, unsigned columns);
/* The name of the kind of value that --help shows behind the flag; "" for a switch. */
const char *flag_argument(enum flag flag);
/* Adds the text that --help has for the flag, its default and the feature gates included. */
void flag_describe(enum flag flag, const struct release *release, struct strbuf *out);
/* Adds what --version or --version=raw prints; false when neither was given. */
bool flags_version(const struct scheduler_flags *flags, struct strbuf *out);
/* The release that --emulated-version names; the default one where it names none. */
const struct release *flags_emulated(const struct scheduler_flags *flags);
/* Adds the version that we report, in metrics, /version, user agents. That of the release stands in front: a script
 * that reads a version finds one. */
void flags_reported_version(const struct scheduler_flags *flags, struct strbuf *out);

/* Checks what the values mean together, and works out the feature gates. Sentences of `warnings` live in the
 * arena of the flags. */
int flags_check(struct scheduler_flags *flags, struct features *ret, struct warnings *warnings,
                struct error *err);

/* Loads --config, or the defaults, and lays the flags over it before it is checked. The flags outlive the
 * configuration. */
int flags_load(const struct scheduler_flags *flags, const struct plugin_catalog *catalog,
               const struct features *features, struct arena *arena, struct scheduler_config *ret,
               struct warnings *warnings, struct error *err);
/* The same for what was in the file of --config when the caller read it. */
int flags_load_text(const struct scheduler_flags *flags, struct str text,
                    const struct plugin_catalog *catalog, const struct features *features,
                    struct arena *arena, struct scheduler_config *ret, struct warnings *warnings,
                    struct error *err);

/* legacy_flags.c, for the other files of flags. */
const char *legacy_flag_name(enum legacy_flag flag);
enum flag_kind legacy_flag_kind(enum legacy_flag flag);
/* When the command line has ended: refuses the legacy flags that were given, or checks them with --legacy-flags. */
int legacy_flags_read(struct scheduler_flags *flags, struct error *err);
void legacy_flags_warn(struct scheduler_flags *flags, struct warnings *warnings);
/* Its percentage of nodes to score, if one was given. */
struct opt_int32 legacy_percentage(const struct scheduler_flags *flags);

#endif
