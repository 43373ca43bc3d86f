/* cel.h: expressions in the Common Expression Language, as they select devices (DRA).
 *
 * cel_compile() parses and type-checks a text in the environment that Kubernetes 1.36 gives to device selectors:
 * the standard language, its extensions (strings, lists, sets, optional values, cel.bind, comprehensions of two
 * variables), the libraries of Kubernetes (quantity, semver, regex, ip, cidr, url, format), and one variable,
 * `device`, an object with the fields driver, attributes, capacity and allowMultipleAllocations.
 * cel_eval() evaluates a program as often as wanted; a program is never changed, so threads may share it.
 *
 * Neither runs away: text length, depth of nesting, regular expressions and evaluation (by the reference's own
 * measure of cost) have limits, and what goes beyond them is an error.
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

struct cel_options {
    /* Attributes may be lists (feature gate DRAListTypeAttributes): they are checked as dyn instead of any. */
    bool list_type_attributes;
    /* Takes a text of any type; otherwise it must be bool, or unknown until it is evaluated. */
    bool any_result;
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

/* Lists and maps are interfaces, so that a caller's own data needs no conversion: put one of these in front of the
 * data, and find the data again with container_of(). They outlive the evaluation and its result. */
struct cel_list_ops {
    /* Item i of `len`. */
    void (*at)(const struct cel_list *list, size_t i, struct arena *scratch, struct cel_value *ret);
};

struct cel_list {
    const struct cel_list_ops *ops;
    size_t len;
};

struct cel_map_ops {
    /* The value of `key`, for m[key], m.key and has(). False: no such key. */
    bool (*find)(const struct cel_map *map, const struct cel_value *key, struct arena *scratch,
                 struct cel_value *ret);
    /* For `key in m`; NULL: as find. */
    bool (*contains)(const struct cel_map *map, const struct cel_value *key);
    /* Entry i of `len`, in an order that stays. Both may be NULL. */
    void (*at)(const struct cel_map *map, size_t i, struct arena *scratch, struct cel_value *ret_key,
               struct cel_value *ret_value);
};

struct cel_map {
    const struct cel_map_ops *ops;
    size_t len;
};

struct cel_binding {
    struct str name;
    struct cel_value value;
};

/* Evaluates. `ret` may point into the program, into `scratch` and into what the variables are made of. -EINVAL: `err`
 * says why there is no value ("no such key: foo"); -E2BIG: the cost limit was reached. */
int cel_eval(const struct cel_program *program, const struct cel_binding *variables, size_t len,
             struct arena *scratch, struct cel_value *ret, struct error *err);
/* The same, and what it cost (also after an error). */
int cel_eval_cost(const struct cel_program *program, const struct cel_binding *variables, size_t len,
                  struct arena *scratch, struct cel_value *ret, uint64_t *ret_cost, struct error *err);

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

/* The name of its type: "int", "google.protobuf.Duration". */
const char *cel_value_type(const struct cel_value *value);
struct cel_value cel_quantity(struct quantity value);
/* A strict version (1.2.3-pre.4+build), which `arena` then holds. -EINVAL: `err` says why it is none. */
int cel_semver(struct str text, struct arena *arena, struct cel_value *ret, struct error *err);
/* A list of values that the caller keeps. */
struct cel_value cel_list(const struct cel_value *items, size_t len, struct arena *arena);

#endif
