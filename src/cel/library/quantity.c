/* quantity.c: amounts of resources.
 *
 * An amount is kept exactly, as billionths in 128 bits. What the reference calls an integer also depends on how it
 * was written and computed ("1000m" is none, nor is anything of more than 18 digits), so the power of ten it is
 * counted in, and whether it outgrew 64 bits, go along. */
#include "cel/value.h"

typedef __int128 wide;

enum { NANO_DIGITS = 9, SCALE_MAX = 18 };

static wide amount_of(const struct cel_value *value)
{
    return (wide)(((unsigned __int128)(uint64_t)value->quantity.high << 64) | value->quantity.low);
}

static struct cel_value make(wide nanos, int8_t scale, uint8_t flags)
{
    return (struct cel_value){
        .kind = CEL_QUANTITY,
        .scale = scale,
        .flags = flags,
        .quantity = { .low = (uint64_t)nanos, .high = (int64_t)(nanos >> 64) },
    };
}

static wide power_of_ten(int exponent)
{
    wide power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

/* The amount in units of 10^scale, if that is exact and fits 64 bits. */
static bool count_of(wide nanos, int scale, int64_t *ret)
{
    wide unit = power_of_ten(scale + NANO_DIGITS), count = nanos / unit;
    *ret = (int64_t)count;
    return count * unit == nanos && count >= INT64_MIN && count <= INT64_MAX;
}

int cel_quantity_order(const struct cel_value *a, const struct cel_value *b)
{
    wide x = amount_of(a), y = amount_of(b);
    return (x > y) - (x < y);
}

struct cel_value cel_quantity(struct quantity value)
{
    wide nanos = (wide)value.units * 1000000000 + value.nano;
    int8_t scale = 0;
    /* As it would be written: in whole units, or in the largest of m, u, n that fits. */
    for (int64_t count; scale > -NANO_DIGITS && !count_of(nanos, scale, &count); scale -= 3)
        ;
    static const int64_t LIMIT = 1000000000000000000; /* more digits than are counted in 64 bits */
    bool many = value.units >= LIMIT || value.units <= -LIMIT;
    return make(nanos, many ? -NANO_DIGITS : scale, many ? CEL_QUANTITY_DECIMAL : 0);
}

/* As the reference counts it: in 64 bits if the digits are few enough, and else as a decimal. */
static struct cel_value counted(const struct quantity_text *text)
{
    wide nanos = quantity_text_nanos(text);
    int64_t scale = text->base == 10 ? text->exponent - (int64_t)text->fraction.len : 0;
    if (quantity_text_is_small(text) && scale <= SCALE_MAX)
        return make(nanos, (int8_t)scale, 0);
    return make(nanos, -NANO_DIGITS, CEL_QUANTITY_DECIMAL);
}

/* Whether what is wrong with a text is its suffix: a number, letters and an exponent are there. */
static bool has_suffix(struct str text)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    at += at < end && (*at == '-' || *at == '+');
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++)
            ;
    for (; at < end && *at && strchr("eEinumkKMGTP", *at); at++)
        ;
    at += at < end && (*at == '-' || *at == '+');
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        ;
    return text.len > 0 && at == end;
}

CEL_FUNCTION(parse)
{
    struct quantity_text text;
    if (quantity_split(args->text, &text) < 0)
        return cel_fail_static(has_suffix(args->text) ? "unable to parse quantity's suffix"
                                                      : "quantities must match the regular expression "
                                                        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    return counted(&text);
}

CEL_FUNCTION(is_quantity)
{
    struct quantity_text ignored;
    return cel_bool(quantity_split(args->text, &ignored) == 0);
}

CEL_RETURNS(compare_to, cel_int(cel_quantity_order(&args[0], &args[1])))
CEL_RETURNS(is_greater, cel_bool(cel_quantity_order(&args[0], &args[1]) > 0))
CEL_RETURNS(is_less, cel_bool(cel_quantity_order(&args[0], &args[1]) < 0))
CEL_RETURNS(sign, cel_int((amount_of(args) > 0) - (amount_of(args) < 0)))

static bool as_int64(const struct cel_value *value, int64_t *ret)
{
    return !(value->flags & CEL_QUANTITY_DECIMAL) && value->scale >= 0 && count_of(amount_of(value), 0, ret);
}

CEL_FUNCTION(is_integer)
{
    int64_t ignored;
    return cel_bool(as_int64(args, &ignored));
}

CEL_FUNCTION(as_integer)
{
    int64_t value;
    return as_int64(args, &value) ? cel_int(value) : cel_fail_static("cannot convert value to integer");
}

/* The count as a double, times the power of ten as a double: as imprecise as the reference. */
CEL_FUNCTION(as_float)
{
    static const double powers[] = { 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0,
                                     1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                     1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18 };
    wide unit = power_of_ten(args->scale + NANO_DIGITS), nanos = amount_of(args);
    bool exact = nanos / unit * unit == nanos;
    int scale = exact ? args->scale : -NANO_DIGITS;
    double count = exact ? (double)(nanos / unit) : (double)nanos;
    return cel_make_double(scale == 0 ? count : count * powers[scale + NANO_DIGITS]);
}

/* a + b, in the finer of their units. */
static struct cel_value add(const struct cel_value *a, const struct cel_value *b, wide b_nanos)
{
    wide nanos, a_nanos = amount_of(a);
    int64_t count;
    if (__builtin_add_overflow(a_nanos, b_nanos, &nanos))
        return cel_fail_static("quantity overflow");
    int8_t scale = b_nanos == 0 ? a->scale : a_nanos == 0 ? b->scale : MIN(a->scale, b->scale);
    bool outgrown = (a->flags | b->flags) & CEL_QUANTITY_DECIMAL || !count_of(nanos, scale, &count) ||
                    !count_of(a_nanos, scale, &count) || !count_of(b_nanos, scale, &count);
    return make(nanos, scale, CEL_QUANTITY_COMPUTED | (outgrown ? CEL_QUANTITY_DECIMAL : 0));
}

static struct cel_value other_of(const struct cel_value *value)
{
    return value->kind == CEL_QUANTITY ? *value : make((wide)value->integer * 1000000000, 0, 0);
}

CEL_FUNCTION(plus)
{
    struct cel_value other = other_of(&args[1]);
    return add(&args[0], &other, amount_of(&other));
}

CEL_FUNCTION(minus)
{
    struct cel_value other = other_of(&args[1]);
    /* The smallest int is its own negative there, as long as 64 bits are enough. */
    if (args[1].kind == CEL_INT && args[1].integer == INT64_MIN) {
        struct cel_value wrong = add(&args[0], &other, amount_of(&other));
        if (cel_is_error(&wrong) || !(wrong.flags & CEL_QUANTITY_DECIMAL))
            return wrong;
    }
    return add(&args[0], &other, -amount_of(&other));
}

const struct cel_overload cel_lib_quantity[] = {
    { "quantity", "string -> quantity", parse, 0, COST_LENGTH },
    { "isQuantity", "string -> bool", is_quantity, 0, COST_LENGTH },
    { "sign", "quantity -> int", sign },
    { "isGreaterThan", "quantity, quantity -> bool", is_greater, CEL_MEMBER },
    { "isLessThan", "quantity, quantity -> bool", is_less, CEL_MEMBER },
    { "compareTo", "quantity, quantity -> int", compare_to, CEL_MEMBER },
    { "asApproximateFloat", "quantity -> double", as_float, CEL_MEMBER },
    { "asInteger", "quantity -> int", as_integer, CEL_MEMBER },
    { "isInteger", "quantity -> bool", is_integer, CEL_MEMBER },
    { "add", "quantity, quantity -> quantity; quantity, int -> quantity", plus, CEL_MEMBER },
    { "sub", "quantity, quantity -> quantity; quantity, int -> quantity", minus, CEL_MEMBER },
    { 0 },
};
