/* operators.c: arithmetic, order, membership and size. */
#include "base/utf8.h"
#include "cel/lib.h"
#include "cel/value.h"

#include <math.h>

#define INT_OVERFLOW "integer overflow"
#define UINT_OVERFLOW "unsigned integer overflow"

static struct cel_value duration(int64_t ns)
{
    return (struct cel_value){ .kind = CEL_DURATION, .duration_ns = ns };
}

static struct cel_value add_text(struct cel_run *run, const struct cel_value *a, const struct cel_value *b)
{
    size_t len = (size_t)a->text.len + b->text.len;
    char *text = len <= UINT32_MAX ? cel_take(run, len) : NULL;
    if (!text)
        return cel_stop(run);
    if (a->text.len)
        memcpy(text, a->text.ptr, a->text.len);
    if (b->text.len)
        memcpy(text + a->text.len, b->text.ptr, b->text.len);
    return (struct cel_value){ .kind = a->kind, .text = { text, (uint32_t)len } };
}

static struct cel_value add_same(struct cel_run *run, const struct cel_value *a, const struct cel_value *b)
{
    int64_t i;
    uint64_t u;
    switch (a->kind) {
    case CEL_INT:
        return __builtin_add_overflow(a->integer, b->integer, &i) ? cel_fail_static(INT_OVERFLOW)
                                                                  : cel_int(i);
    case CEL_UINT:
        return __builtin_add_overflow(a->uinteger, b->uinteger, &u) ? cel_fail_static(UINT_OVERFLOW)
                                                                    : cel_make_uint(u);
    case CEL_DOUBLE:
        return cel_make_double(a->number + b->number);
    case CEL_STRING:
    case CEL_BYTES:
        return add_text(run, a, b);
    case CEL_LIST:
        return cel_list_concat(run, a, b);
    case CEL_DURATION:
        return __builtin_add_overflow(a->duration_ns, b->duration_ns, &i) ? cel_fail_static(INT_OVERFLOW)
                                                                          : duration(i);
    default:
        return cel_no_overload();
    }
}

struct cel_value cel_add(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    if (args[0].kind == args[1].kind)
        return add_same(run, &args[0], &args[1]);
    if (args[0].kind == CEL_TIMESTAMP && args[1].kind == CEL_DURATION)
        return cel_timestamp_add(args[0].timestamp, args[1].duration_ns);
    if (args[0].kind == CEL_DURATION && args[1].kind == CEL_TIMESTAMP)
        return cel_timestamp_add(args[1].timestamp, args[0].duration_ns);
    return cel_no_overload();
}

static struct cel_value subtract(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    const struct cel_value *a = &args[0], *b = &args[1];
    int64_t i;
    uint64_t u;
    if (a->kind == CEL_TIMESTAMP && b->kind == CEL_DURATION)
        return b->duration_ns == INT64_MIN ? cel_fail_static(INT_OVERFLOW)
                                           : cel_timestamp_add(a->timestamp, -b->duration_ns);
    if (a->kind != b->kind)
        return cel_no_overload();
    switch (a->kind) {
    case CEL_INT:
        return __builtin_sub_overflow(a->integer, b->integer, &i) ? cel_fail_static(INT_OVERFLOW)
                                                                  : cel_int(i);
    case CEL_UINT:
        return __builtin_sub_overflow(a->uinteger, b->uinteger, &u) ? cel_fail_static(UINT_OVERFLOW)
                                                                    : cel_make_uint(u);
    case CEL_DOUBLE:
        return cel_make_double(a->number - b->number);
    case CEL_DURATION:
        return __builtin_sub_overflow(a->duration_ns, b->duration_ns, &i) ? cel_fail_static(INT_OVERFLOW)
                                                                          : duration(i);
    case CEL_TIMESTAMP:
        return cel_timestamp_sub(a->timestamp, b->timestamp);
    default:
        return cel_no_overload();
    }
}

static struct cel_value multiply(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    const struct cel_value *a = &args[0], *b = &args[1];
    int64_t i;
    uint64_t u;
    if (a->kind != b->kind)
        return cel_no_overload();
    switch (a->kind) {
    case CEL_INT:
        return __builtin_mul_overflow(a->integer, b->integer, &i) ? cel_fail_static(INT_OVERFLOW)
                                                                  : cel_int(i);
    case CEL_UINT:
        return __builtin_mul_overflow(a->uinteger, b->uinteger, &u) ? cel_fail_static(UINT_OVERFLOW)
                                                                    : cel_make_uint(u);
    case CEL_DOUBLE:
        return cel_make_double(a->number * b->number);
    default:
        return cel_no_overload();
    }
}

static double divide_double(double a, double b)
{
    if (b != 0 || isnan(b))
        return a / b;
    /* As the machine does it, without asking the machine to divide by zero. */
    return a == 0 || isnan(a) ? NAN : (signbit(a) != 0) == (signbit(b) != 0) ? INFINITY : -INFINITY;
}

static struct cel_value divide(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    const struct cel_value *a = &args[0], *b = &args[1];
    if (a->kind != b->kind || (a->kind != CEL_INT && a->kind != CEL_UINT && a->kind != CEL_DOUBLE))
        return cel_no_overload();
    if (a->kind == CEL_DOUBLE)
        return cel_make_double(divide_double(a->number, b->number));
    if (b->integer == 0)
        return cel_fail_static("division by zero");
    if (a->kind == CEL_UINT)
        return cel_make_uint(a->uinteger / b->uinteger);
    if (a->integer == INT64_MIN && b->integer == -1)
        return cel_fail_static(INT_OVERFLOW);
    return cel_int(a->integer / b->integer);
}

static struct cel_value modulo(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    const struct cel_value *a = &args[0], *b = &args[1];
    if (a->kind != b->kind || (a->kind != CEL_INT && a->kind != CEL_UINT))
        return cel_no_overload();
    if (b->integer == 0)
        return cel_fail_static("modulus by zero");
    if (a->kind == CEL_UINT)
        return cel_make_uint(a->uinteger % b->uinteger);
    if (a->integer == INT64_MIN && b->integer == -1)
        return cel_fail_static(INT_OVERFLOW);
    return cel_int(a->integer % b->integer);
}

static struct cel_value negate(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    if (args->kind == CEL_DOUBLE)
        return cel_make_double(-args->number);
    int64_t value = args->kind == CEL_INT ? args->integer : args->duration_ns;
    if (args->kind != CEL_INT && args->kind != CEL_DURATION)
        return cel_no_overload();
    if (value == INT64_MIN)
        return cel_fail_static(INT_OVERFLOW);
    return args->kind == CEL_INT ? cel_int(-value) : duration(-value);
}

static struct cel_value not(struct cel_run * run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    return args->kind == CEL_BOOL ? cel_bool(!args->boolean) : cel_no_overload();
}

static struct cel_value less(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    struct cel_value order = cel_values_compare(&args[0], &args[1]);
    return cel_is_error(&order) ? order : cel_bool(order.integer < 0);
}

static struct cel_value less_equals(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    struct cel_value order = cel_values_compare(&args[0], &args[1]);
    return cel_is_error(&order) ? order : cel_bool(order.integer <= 0);
}

static struct cel_value greater(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    struct cel_value order = cel_values_compare(&args[0], &args[1]);
    return cel_is_error(&order) ? order : cel_bool(order.integer > 0);
}

static struct cel_value greater_equals(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    struct cel_value order = cel_values_compare(&args[0], &args[1]);
    return cel_is_error(&order) ? order : cel_bool(order.integer >= 0);
}

static struct cel_value in(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)len;
    if (args[1].kind == CEL_LIST)
        return cel_bool(cel_list_contains(run, args[1].list, &args[0]));
    if (args[1].kind == CEL_MAP)
        return cel_bool(cel_map_has(run, args[1].map, &args[0]));
    return cel_no_overload();
}

static struct cel_value size(struct cel_run *run, const struct cel_value *args, size_t len)
{
    (void)run;
    (void)len;
    uint64_t count = cel_size_of(args);
    if (args->kind != CEL_STRING && args->kind != CEL_BYTES && args->kind != CEL_LIST &&
        args->kind != CEL_MAP)
        return cel_no_overload();
    return count > INT64_MAX ? cel_fail_static(INT_OVERFLOW) : cel_int((int64_t)count);
}

#define OPERATOR(name, id, signature, call, cost) { name, id, signature, call, false, true, cost }
#define ORDER(name, prefix, call) \
    OPERATOR(name, prefix "_bool", "bool, bool -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_int64", "int, int -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_int64_double", "int, double -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_int64_uint64", "int, uint -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_uint64", "uint, uint -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_uint64_double", "uint, double -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_uint64_int64", "uint, int -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_double", "double, double -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_double_int64", "double, int -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_double_uint64", "double, uint -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_string", "string, string -> bool", call, COST_SHORTER), \
        OPERATOR(name, prefix "_bytes", "bytes, bytes -> bool", call, COST_SHORTER), \
        OPERATOR(name, prefix "_timestamp", "timestamp, timestamp -> bool", call, COST_ONE), \
        OPERATOR(name, prefix "_duration", "duration, duration -> bool", call, COST_ONE)

const struct cel_overload cel_lib_operators[] = {
    OPERATOR("_?_:_", "conditional", "bool, A, A -> A", NULL, COST_ONE),
    OPERATOR("_&&_", "logical_and", "bool, bool -> bool", NULL, COST_ONE),
    OPERATOR("_||_", "logical_or", "bool, bool -> bool", NULL, COST_ONE),
    OPERATOR("!_", "logical_not", "bool -> bool", not, COST_ONE),
    OPERATOR("@not_strictly_false", "not_strictly_false", "bool -> bool", NULL, COST_ONE),
    OPERATOR("_==_", "equals", "A, A -> bool", NULL, COST_ONE),
    OPERATOR("_!=_", "not_equals", "A, A -> bool", NULL, COST_ONE),
    OPERATOR("_+_", "add_bytes", "bytes, bytes -> bytes", cel_add, COST_BOTH),
    OPERATOR("_+_", "add_double", "double, double -> double", cel_add, COST_ONE),
    OPERATOR("_+_", "add_duration_duration", "duration, duration -> duration", cel_add, COST_ONE),
    OPERATOR("_+_", "add_duration_timestamp", "duration, timestamp -> timestamp", cel_add, COST_ONE),
    OPERATOR("_+_", "add_timestamp_duration", "timestamp, duration -> timestamp", cel_add, COST_ONE),
    OPERATOR("_+_", "add_int64", "int, int -> int", cel_add, COST_ONE),
    OPERATOR("_+_", "add_list", "list(A), list(A) -> list(A)", cel_add, COST_ONE),
    OPERATOR("_+_", "add_string", "string, string -> string", cel_add, COST_BOTH),
    OPERATOR("_+_", "add_uint64", "uint, uint -> uint", cel_add, COST_ONE),
    OPERATOR("_-_", "subtract_double", "double, double -> double", subtract, COST_ONE),
    OPERATOR("_-_", "subtract_duration_duration", "duration, duration -> duration", subtract, COST_ONE),
    OPERATOR("_-_", "subtract_int64", "int, int -> int", subtract, COST_ONE),
    OPERATOR("_-_", "subtract_timestamp_duration", "timestamp, duration -> timestamp", subtract, COST_ONE),
    OPERATOR("_-_", "subtract_timestamp_timestamp", "timestamp, timestamp -> duration", subtract, COST_ONE),
    OPERATOR("_-_", "subtract_uint64", "uint, uint -> uint", subtract, COST_ONE),
    OPERATOR("_*_", "multiply_double", "double, double -> double", multiply, COST_ONE),
    OPERATOR("_*_", "multiply_int64", "int, int -> int", multiply, COST_ONE),
    OPERATOR("_*_", "multiply_uint64", "uint, uint -> uint", multiply, COST_ONE),
    OPERATOR("_/_", "divide_double", "double, double -> double", divide, COST_ONE),
    OPERATOR("_/_", "divide_int64", "int, int -> int", divide, COST_ONE),
    OPERATOR("_/_", "divide_uint64", "uint, uint -> uint", divide, COST_ONE),
    OPERATOR("_%_", "modulo_int64", "int, int -> int", modulo, COST_ONE),
    OPERATOR("_%_", "modulo_uint64", "uint, uint -> uint", modulo, COST_ONE),
    OPERATOR("-_", "negate_double", "double -> double", negate, COST_ONE),
    OPERATOR("-_", "negate_int64", "int -> int", negate, COST_ONE),
    ORDER("_<_", "less", less),
    ORDER("_<=_", "less_equals", less_equals),
    ORDER("_>_", "greater", greater),
    ORDER("_>=_", "greater_equals", greater_equals),
    OPERATOR("@in", "in_list", "A, list(A) -> bool", in, COST_IN_LIST),
    OPERATOR("@in", "in_map", "A, map(A, B) -> bool", in, COST_ONE),
    OPERATOR("_[_]", "index_list", "list(A), int -> A", NULL, COST_ONE),
    OPERATOR("_[_]", "index_map", "map(A, B), A -> B", NULL, COST_ONE),
    OPERATOR("_[_]", "optional_list_index_int", "opt(list(V)), int -> opt(V)", NULL, COST_ONE),
    OPERATOR("_[_]", "optional_map_index_value", "opt(map(K, V)), K -> opt(V)", NULL, COST_ONE),
    OPERATOR("_[?_]", "list_optindex_optional_int", "list(V), int -> opt(V)", NULL, COST_ONE),
    OPERATOR("_[?_]", "optional_list_optindex_optional_int", "opt(list(V)), int -> opt(V)", NULL, COST_ONE),
    OPERATOR("_[?_]", "map_optindex_optional_value", "map(K, V), K -> opt(V)", NULL, COST_ONE),
    OPERATOR("_[?_]", "optional_map_optindex_optional_value", "opt(map(K, V)), K -> opt(V)", NULL, COST_ONE),
    { "size", "size_bytes", "bytes -> int", size, false, true, COST_ONE },
    { "size", "bytes_size", "bytes -> int", size, true, true, COST_ONE },
    { "size", "size_list", "list(A) -> int", size, false, true, COST_ONE },
    { "size", "list_size", "list(A) -> int", size, true, true, COST_ONE },
    { "size", "size_map", "map(A, B) -> int", size, false, true, COST_ONE },
    { "size", "map_size", "map(A, B) -> int", size, true, true, COST_ONE },
    { "size", "size_string", "string -> int", size, false, true, COST_ONE },
    { "size", "string_size", "string -> int", size, true, true, COST_ONE },
    { 0 },
};
