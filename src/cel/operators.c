/* operators.c: arithmetic, order, membership and size. */
#include "base/utf8.h"
#include "cel/value.h"

#include <math.h>

#define INT_OVERFLOW "integer overflow"
#define UINT_OVERFLOW "unsigned integer overflow"

/* The kinds of the first argument that have an operator; with others it is named as missing. */
enum {
    NUMBERS = 1 << CEL_INT | 1 << CEL_UINT | 1 << CEL_DOUBLE,
    ADDERS = NUMBERS | 1 << CEL_BYTES | 1 << CEL_LIST,
    MODDERS = 1 << CEL_INT | 1 << CEL_UINT,
    NEGATORS = 1 << CEL_INT | 1 << CEL_DOUBLE | 1 << CEL_BOOL,
    COMPARERS = NUMBERS | 1 << CEL_BOOL | 1 << CEL_BYTES,
};

/* a + b, a - b or a * b, for numbers of one kind and durations. */
static struct cel_value calculate(char op, const struct cel_value *a, const struct cel_value *b)
{
    struct cel_value result = { .kind = a->kind };
    bool overflow;
    switch (a->kind) {
    case CEL_INT:
    case CEL_DURATION: /* duration_ns shares its place with integer */
        overflow = op == '+'   ? __builtin_add_overflow(a->integer, b->integer, &result.integer)
                   : op == '-' ? __builtin_sub_overflow(a->integer, b->integer, &result.integer)
                               : __builtin_mul_overflow(a->integer, b->integer, &result.integer);
        return overflow ? cel_fail_static(INT_OVERFLOW) : result;
    case CEL_UINT:
        overflow = op == '+'   ? __builtin_add_overflow(a->uinteger, b->uinteger, &result.uinteger)
                   : op == '-' ? __builtin_sub_overflow(a->uinteger, b->uinteger, &result.uinteger)
                               : __builtin_mul_overflow(a->uinteger, b->uinteger, &result.uinteger);
        return overflow ? cel_fail_static(UINT_OVERFLOW) : result;
    case CEL_DOUBLE:
        return cel_make_double(op == '+'   ? a->number + b->number
                               : op == '-' ? a->number - b->number
                                           : a->number * b->number);
    default:
        return cel_no_overload();
    }
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

struct cel_value cel_add(struct cel_run *run, const struct cel_value *args, _unused_ size_t len)
{
    const struct cel_value *a = &args[0], *b = &args[1];
    if (a->kind == CEL_TIMESTAMP && b->kind == CEL_DURATION)
        return cel_timestamp_add(a->timestamp, b->duration_ns);
    if (a->kind == CEL_DURATION && b->kind == CEL_TIMESTAMP)
        return cel_timestamp_add(b->timestamp, a->duration_ns);
    if (a->kind != b->kind || !(ADDERS & 1 << a->kind || a->kind == CEL_STRING || a->kind == CEL_DURATION))
        return cel_no_trait(run, a, ADDERS);
    if (a->kind == CEL_STRING || a->kind == CEL_BYTES)
        return add_text(run, a, b);
    return a->kind == CEL_LIST ? cel_list_concat(run, a, b) : calculate('+', a, b);
}

CEL_FUNCTION(subtract)
{
    const struct cel_value *a = &args[0], *b = &args[1];
    if (a->kind == CEL_TIMESTAMP && b->kind == CEL_DURATION)
        return b->duration_ns == INT64_MIN ? cel_fail_static(INT_OVERFLOW)
                                           : cel_timestamp_add(a->timestamp, -b->duration_ns);
    if (a->kind == CEL_TIMESTAMP && b->kind == CEL_TIMESTAMP)
        return cel_timestamp_sub(a->timestamp, b->timestamp);
    bool fits = a->kind == b->kind && (NUMBERS & 1 << a->kind || a->kind == CEL_DURATION);
    return fits ? calculate('-', a, b) : cel_no_trait(run, a, NUMBERS);
}

CEL_RETURNS(multiply, args[0].kind == args[1].kind && NUMBERS & 1 << args[0].kind
                          ? calculate('*', &args[0], &args[1])
                          : cel_no_trait(run, args, NUMBERS))

static double divide_double(double a, double b)
{
    if (b != 0 || isnan(b))
        return a / b;
    /* As the machine does it, without asking the machine to divide by zero. */
    return a == 0 || isnan(a) ? NAN : (signbit(a) != 0) == (signbit(b) != 0) ? INFINITY : -INFINITY;
}

/* The quotient or the remainder of two ints or two uints. */
static struct cel_value divide_integers(struct cel_run *run, const struct cel_value *a,
                                        const struct cel_value *b, bool remainder)
{
    if (a->kind != b->kind || (a->kind != CEL_INT && a->kind != CEL_UINT))
        return cel_no_trait(run, a, remainder ? MODDERS : NUMBERS);
    if (b->integer == 0)
        return cel_fail_static(remainder ? "modulus by zero" : "division by zero");
    if (a->kind == CEL_UINT)
        return cel_make_uint(remainder ? a->uinteger % b->uinteger : a->uinteger / b->uinteger);
    if (a->integer == INT64_MIN && b->integer == -1)
        return cel_fail_static(INT_OVERFLOW);
    return cel_int(remainder ? a->integer % b->integer : a->integer / b->integer);
}

CEL_RETURNS(divide, args[0].kind == CEL_DOUBLE && args[1].kind == CEL_DOUBLE
                        ? cel_make_double(divide_double(args[0].number, args[1].number))
                        : divide_integers(run, &args[0], &args[1], false))
CEL_RETURNS(modulo, divide_integers(run, &args[0], &args[1], true))

CEL_FUNCTION(negate)
{
    if (args->kind == CEL_DOUBLE)
        return cel_make_double(-args->number);
    struct cel_value zero = { .kind = args->kind };
    return args->kind == CEL_INT || args->kind == CEL_DURATION ? calculate('-', &zero, args)
                                                               : cel_no_trait(run, args, NEGATORS);
}

CEL_RETURNS(not, args->kind == CEL_BOOL ? cel_bool(!args->boolean) : cel_no_overload())

/* Whether the order of the arguments, -1, 0 or 1, is one of the two given. */
static struct cel_value is_order(struct cel_run *run, const struct cel_value *args, int one, int other)
{
    struct cel_value order = cel_values_compare(&args[0], &args[1]);
    uint32_t ordered = COMPARERS | 1u << CEL_STRING | 1u << CEL_DURATION | 1u << CEL_TIMESTAMP;
    if (cel_is_error(&order))
        return ordered & 1u << args->kind ? order : cel_no_trait(run, args, COMPARERS);
    return cel_bool(order.integer == one || order.integer == other);
}

CEL_RETURNS(less, is_order(run, args, -1, -1))
CEL_RETURNS(less_equals, is_order(run, args, -1, 0))
CEL_RETURNS(greater, is_order(run, args, 1, 1))
CEL_RETURNS(greater_equals, is_order(run, args, 1, 0))

CEL_FUNCTION(in)
{
    if (args[1].kind == CEL_LIST)
        return cel_bool(cel_list_contains(run, args[1].list, &args[0]));
    if (args[1].kind == CEL_MAP)
        return cel_bool(cel_map_has(run, args[1].map, &args[0]));
    return cel_no_overload();
}

CEL_FUNCTION(size)
{
    uint64_t count = cel_size_of(args);
    if (args->kind != CEL_STRING && args->kind != CEL_BYTES && args->kind != CEL_LIST &&
        args->kind != CEL_MAP)
        return cel_no_trait(run, args, 0);
    return count > INT64_MAX ? cel_fail_static(INT_OVERFLOW) : cel_int((int64_t)count);
}

#define SIZES "bytes -> int; list(A) -> int; map(A, B) -> int; string -> int"
#define ORDER(name, call) \
    { name, \
      "bool, bool -> bool; int, int -> bool; int, double -> bool; int, uint -> bool; uint, uint -> bool; " \
      "uint, double -> bool; uint, int -> bool; double, double -> bool; double, int -> bool; " \
      "double, uint -> bool", \
      call, CEL_UNGUARDED }, \
        { name, "string, string -> bool; bytes, bytes -> bool", call, CEL_UNGUARDED, COST_SHORTER }, \
    { \
        name, "timestamp, timestamp -> bool; duration, duration -> bool", call, CEL_UNGUARDED \
    }

const struct cel_overload cel_operators[] = {
    { "_?_:_", "bool, A, A -> A", .op = OP_CONDITIONAL },
    { "_&&_", "bool, bool -> bool", .op = OP_AND },
    { "_||_", "bool, bool -> bool", .op = OP_OR },
    { "!_", "bool -> bool", not, CEL_UNGUARDED },
    { "@not_strictly_false", "bool -> bool", .op = OP_NOT_STRICTLY_FALSE },
    { "_==_", "A, A -> bool", .op = OP_EQUALS },
    { "_!=_", "A, A -> bool", .op = OP_NOT_EQUALS },
    { "_+_", "bytes, bytes -> bytes", cel_add, CEL_UNGUARDED, COST_BOTH },
    { "_+_",
      "double, double -> double; duration, duration -> duration; duration, timestamp -> timestamp; "
      "timestamp, duration -> timestamp; int, int -> int; list(A), list(A) -> list(A)",
      cel_add, CEL_UNGUARDED },
    { "_+_", "string, string -> string", cel_add, CEL_UNGUARDED, COST_BOTH },
    { "_+_", "uint, uint -> uint", cel_add, CEL_UNGUARDED },
    { "_-_",
      "double, double -> double; duration, duration -> duration; int, int -> int; "
      "timestamp, duration -> timestamp; timestamp, timestamp -> duration; uint, uint -> uint",
      subtract, CEL_UNGUARDED },
    { "_*_", "double, double -> double; int, int -> int; uint, uint -> uint", multiply, CEL_UNGUARDED },
    { "_/_", "double, double -> double; int, int -> int; uint, uint -> uint", divide, CEL_UNGUARDED },
    { "_%_", "int, int -> int; uint, uint -> uint", modulo, CEL_UNGUARDED },
    { "-_", "double -> double; int -> int", negate, CEL_UNGUARDED },
    ORDER("_<_", less),
    ORDER("_<=_", less_equals),
    ORDER("_>_", greater),
    ORDER("_>=_", greater_equals),
    { "@in", "A, list(A) -> bool", in, CEL_UNGUARDED, COST_IN_LIST },
    { "@in", "A, map(A, B) -> bool", in, CEL_UNGUARDED },
    { "_[_]",
      "list(A), int -> A; map(A, B), A -> B; opt(list(V)), int -> opt(V); opt(map(K, V)), K -> opt(V)",
      .op = OP_INDEX },
    { "_[?_]",
      "list(V), int -> opt(V); opt(list(V)), int -> opt(V); map(K, V), K -> opt(V); "
      "opt(map(K, V)), K -> opt(V)",
      .op = OP_OPT_INDEX },
    { "size", SIZES, size, CEL_UNGUARDED },
    { "size", SIZES, size, CEL_UNGUARDED | CEL_MEMBER },
    { 0 },
};
