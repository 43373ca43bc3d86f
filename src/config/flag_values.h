/* flag_values.h: the kinds of values that a flag can have, read from text as Go's pflag reads them.
 *
 * A kind knows its C type, its name in --help and how to read a text. Lists and maps start anew with the
 * first text that is given, and grow with each further one. */
#ifndef CONFIG_FLAG_VALUES_H
#define CONFIG_FLAG_VALUES_H

#include "api/types.h"
#include "base/arena.h"
#include "base/error.h"

struct flag_int32s {
    int32_t *items;
    uint32_t len;
};

/* A certificate for some host names; without names, those in the certificate. */
struct flag_cert_key {
    struct str cert_file, key_file;
    struct str_list names;
};
struct flag_cert_keys {
    struct flag_cert_key *items;
    uint32_t len;
};

/* "component:setting"; the component is empty when none was named. */
struct flag_gate {
    struct str component, setting;
};
struct flag_gates {
    struct flag_gate *items;
    uint32_t len;
};

#define FLAG_KINDS(X) \
    /* kind, C type, name in --help, value of the bare flag */ \
    X(BOOL, bool, "", "true") \
    X(STRING, struct str, "string", NULL) \
    X(INT, int64_t, "int", NULL) \
    X(INT32, int32_t, "int32", NULL) \
    X(FLOAT, double, "float32", NULL)      /* that fits a 32-bit float */ \
    X(DURATION, int64_t, "duration", NULL) /* nanoseconds */ \
    X(IP, struct str, "ip", NULL) \
    X(STRINGS, struct str_list, "strings", NULL) \
    X(INT32S, struct flag_int32s, "int32Slice", NULL) \
    X(PAIRS, struct str_map, "stringToString", NULL) \
    X(CERT_KEYS, struct flag_cert_keys, "namedCertKey", NULL) \
    X(GATES, struct flag_gates, "colonSeparatedMultimapStringString", NULL) \
    X(QUANTITY, int64_t, "quantity", NULL) \
    X(LEVEL, int32_t, "Level", NULL) \
    X(VMODULE, struct str, "pattern=N,...", NULL)    /* all of them, with commas between */ \
    X(VERSION, struct str, "version[=true]", "true") /* "true", "false", "raw" or "v..." */

enum flag_kind {
#define X(kind, ...) FLAG_KIND_##kind,
    FLAG_KINDS(X)
#undef X
        FLAG_KINDS_COUNT
};

#define X(kind, type, ...) typedef type flag_type_##kind;
FLAG_KINDS(X)
#undef X

struct flag_kind_info {
    const char *type_name;
    const char *when_bare; /* NULL: the flag needs a value */
    /* Reads a text into *ret. `again`: not the first text that is given for this flag. On failure `why` says
     * in a few words what was expected, and *ret is as it was. */
    int (*read)(struct arena *arena, struct str text, bool again, void *ret, struct error *why);
};

extern const struct flag_kind_info flag_kinds[FLAG_KINDS_COUNT];

/* The words that Go takes for true and false. */
bool flag_read_bool(struct str text, bool *ret);

#endif
