/* cel.h: expressions in the Common Expression Language, as they select devices (DRA).
 *
 * cel_compile() parses and type-checks a text in the environment that Kubernetes gives to device selectors:
 * the standard language, its extensions (strings, lists, sets, optional values, cel.bind, comprehensions of two
 * variables), the libraries of Kubernetes (quantity, semver, regex, ip, cidr, url, format), and one variable,
 * `device`, an object with the fields driver, attributes, capacity and allowMultipleAllocations.
 * cel_eval() evaluates a program as often as wanted; a program is never changed, so threads may share it.
 *
 * Neither runs away: text length, depth of nesting, regular expressions and evaluation (by the reference's own
 * measure of cost) have limits, and what goes beyond them is an error.
 *
 * What differs between releases of Kubernetes is a bit of enum cel_rule, and a row of a table of overloads may ask
 * for it.
 *
 * cel/library/device.h evaluates a selector for a device. */
#ifndef CEL_CEL_H
#define CEL_CEL_H

#include "api/quantity.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* The cost one evaluation may have, and the length of a text: CELSelectorExpressionMaxCost and ...MaxLength. */
enum { CEL_COST_MAX = 1000000, CEL_TEXT_LEN_MAX = 10 * 1024 };

struct cel_program;

/* Rules of newer versions of the language and its libraries. */
enum cel_rule {
    /* Attributes are dyn instead of any: they may be ranges of comprehensions, and the result may be dyn. */
    CEL_DYN_ATTRIBUTES = 1 << 0,
    /* duration() does not take an int. */
    CEL_NO_INT_DURATION = 1 << 1,
    /* or() and orValue() of what is no optional value fail, instead of being that value. */
    CEL_STRICT_OR = 1 << 2,
    /* lists.range() takes neither negative numbers nor more than a million. */
    CEL_LIMITED_RANGE = 1 << 3,
    /* a.`b` is a field. */
    CEL_QUOTED_FIELDS = 1 << 4,
    /* Variables of macros are not found by names with a leading dot, and hide qualified names that begin with them. */
    CEL_GLOBAL_NAMES = 1 << 5,
    /* A path through an optional value goes on with the value as it is. */
    CEL_KEPT_OPTIONALS = 1 << 6,
    /* "".indexOf("", 5) is 0. */
    CEL_BOUNDED_INDEX = 1 << 7,
    /* includes() takes lists of any length, and costs as much as other functions on lists. */
    CEL_LONG_INCLUDES = 1 << 8,
    /* The type of optional values is optional_type(dyn). */
    CEL_OPTIONAL_OF_DYN = 1 << 9,
    /* matches(a, b) costs as a.matches(b); startsWith() and endsWith() by their argument; no cost wraps around. */
    CEL_EXACT_COSTS = 1 << 10,

    /* Kubernetes 1.36 (cel-go 0.26) and 1.37 (cel-go 0.29). */
    CEL_RULES_1_36 = 0,
    CEL_RULES_1_37 = (1 << 11) - 1,
};

struct cel_options {
    uint32_t rules; /* enum cel_rule */
    /* Takes a text of any type; otherwise it must be bool, or unknown until it is evaluated. */
    bool any_result;
    /* It must be what an attribute of a device can be: bool, int, string, semver, or a list of one of them. */
    bool attribute_result;
    /* 0: CEL_COST_MAX. */
    uint64_t cost_max;
};

/* The program lives in `arena` and keeps nothing of `text`. `options` may be NULL. -EINVAL: `err` says what is
 * wrong with the text ("compilation failed: ERROR: <input>:1:8: undeclared reference to 'x' ..."). */
int cel_compile(struct str text, const struct cel_options *options, struct arena *arena,
                struct cel_program **ret, struct error *err);

enum cel_kind {
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING, /* UTF-8 */
    CEL_BYTES,
    CEL_LIST,
    CEL_MAP,
    CEL_DURATION,
    CEL_TIMESTAMP,
    CEL_OPTIONAL,
    CEL_TYPE,
    CEL_QUANTITY,
    CEL_SEMVER,
    CEL_URL,
    CEL_IP,
    CEL_CIDR,
    CEL_FORMAT,
    CEL_ERROR, /* never a result */
    CEL_KINDS,
    /* Of types only (type.h). */
    CEL_DYN = CEL_KINDS,
    CEL_ANY,
    CEL_DEVICE,
    CEL_UNKNOWN, /* of an expression that is wrong */
    CEL_PARAM,
};

struct cel_value;
struct cel_list;
struct cel_map;
struct cel_semver;
struct cel_url;
struct cel_ip;
struct cel_format;

struct cel_timestamp {
    int64_t seconds; /* since 1970 */
    uint32_t nanos;
    int32_t offset_seconds; /* of the zone that it was written in */
};

/* A number of billionths, two's complement in 128 bits: sums of quantities leave 64 bits. */
struct cel_amount {
    uint64_t low;
    int64_t high;
};

struct cel_value {
    enum cel_kind kind;
    int8_t scale;  /* of a quantity: the power of ten that it is counted in */
    uint8_t flags; /* of a quantity: see library/quantity.c */
    union {
        bool boolean;
        int64_t integer;
        uint64_t uinteger;
        double number;
        struct str text; /* CEL_STRING, CEL_BYTES, CEL_TYPE (its name), CEL_ERROR */
        const struct cel_list *list;
        const struct cel_map *map;
        int64_t duration_ns;
        struct cel_timestamp timestamp;
        const struct cel_value *optional; /* NULL: none */
        struct cel_amount quantity;
        const struct cel_semver *semver;
        const struct cel_url *url;
        const struct cel_ip *ip; /* CEL_IP, CEL_CIDR */
        const struct cel_format *format;
    };
};

/* Items in an array, or a concatenation that is not copied: doubling a list again and again costs nothing, as in the
 * reference. */
struct cel_list {
    size_t len;
    const struct cel_value *items;
    const struct cel_list *first, *second; /* of a concatenation; else NULL */
    bool grows;                            /* + appends in place: only the accumulator of a fold does */
    size_t cap;                            /* then: of items */
};

struct cel_entry {
    struct cel_value key, value;
};

/* Entries in the order they came. */
struct cel_map {
    size_t len;
    struct cel_entry *entries;
    bool is_total;   /* a missing key reads as an empty map, but is not `in` the map */
    bool grows;      /* as of a list */
    uint32_t *table; /* hash table of entry numbers from 1, 2 * cap long; NULL: linear search */
    size_t cap;      /* of entries */
};

/* Evaluates. `device` may be NULL for a program that does not name it. `ret` may point into the program, into `scratch`
 * and into what `device` is made of. -EINVAL: `err` says why there is no value ("no such key: foo"); -E2BIG: the cost
 * limit was reached. *ret_cost is set in any case; it may be NULL. */
int cel_eval(const struct cel_program *program, const struct cel_value *device, struct arena *scratch,
             struct cel_value *ret, uint64_t *ret_cost, struct error *err);

static inline struct cel_value cel_bool(bool value)
{
    return (struct cel_value){ .kind = CEL_BOOL, .boolean = value };
}

static inline struct cel_value cel_int(int64_t value)
{
    return (struct cel_value){ .kind = CEL_INT, .integer = value };
}

static inline struct cel_value cel_string(struct str value)
{
    return (struct cel_value){ .kind = CEL_STRING, .text = value };
}

/* The name of the type: "int", "google.protobuf.Duration". */
const char *cel_kind_name(enum cel_kind kind);
struct cel_value cel_quantity(struct quantity value);
/* A strict version (1.2.3-pre.4+build), which `arena` then holds. -EINVAL: `err` says why it is none. */
int cel_semver(struct str text, struct arena *arena, struct cel_value *ret, struct error *err);
struct str cel_semver_text(const struct cel_semver *version);
/* A list of values that the caller keeps. */
struct cel_value cel_list(const struct cel_value *items, size_t len, struct arena *arena);
/* Item i; *steps grows with the concatenations on the way to it. */
struct cel_value cel_list_at(const struct cel_list *list, size_t i, uint64_t *steps);

#endif
