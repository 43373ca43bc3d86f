/* convert.c: int(), uint(), double(), string(), bytes(), bool(), dyn(), type(). */
#include "base/decimal.h"
#include "base/utf8.h"
#include "cel/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool cel_parse_uint(struct str text, uint64_t *ret)
{
    uint64_t value = 0;
    for (size_t at = 0; at < text.len; at++) {
        unsigned digit = (unsigned)(text.ptr[at] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret = value;
    return text.len > 0;
}

/* "inf", "infinity", "nan", in any case. */
static bool parse_special(struct str text, double *ret)
{
    bool negative = text.len > 0 && text.ptr[0] == '-';
    struct str name = text.len > 0 && (negative || text.ptr[0] == '+') ? str_slice(text, 1, text.len) : text;
    bool infinite = (name.len == 3 && strncasecmp(name.ptr, "inf", 3) == 0) ||
                    (name.len == 8 && strncasecmp(name.ptr, "infinity", 8) == 0);
    if (infinite)
        *ret = negative ? -INFINITY : INFINITY;
    else if (text.len == 3 && strncasecmp(text.ptr, "nan", 3) == 0)
        *ret = NAN;
    else
        return false;
    return true;
}

/* [sign] digits [. digits] [e [sign] digits], or the same in hexadecimal with a binary exponent, which must be there.
 * */
static bool is_float(struct str text)
{
    size_t at = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
    bool hex = text.len > at + 2 && text.ptr[at] == '0' && (text.ptr[at + 1] | 0x20) == 'x';
    const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
    at += hex ? 2 : 0;
    size_t count = 0;
    for (bool point = false; at < text.len; at++) {
        if (text.ptr[at] == '.' && !point)
            point = true;
        else if (text.ptr[at] && strchr(digits, text.ptr[at]))
            count++;
        else
            break;
    }
    if (count == 0)
        return false;
    if (at == text.len)
        return !hex;
    if ((text.ptr[at++] | 0x20) != (hex ? 'p' : 'e'))
        return false;
    at += at < text.len && (text.ptr[at] == '-' || text.ptr[at] == '+') ? 1 : 0;
    if (at == text.len)
        return false;
    while (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9')
        at++;
    return at == text.len;
}

bool cel_parse_double(struct str text, double *ret)
{
    if (parse_special(text, ret))
        return true;
    if (!is_float(text))
        return false;
    _cleanup_(freep) char *copy = strndup(text.ptr, text.len);
    *ret = copy ? strtod(copy, NULL) : INFINITY;
    return !isinf(*ret);
}

static struct cel_value bad(struct cel_run *run, const struct cel_value *value, const char *type)
{
    return cel_fail(run, "type conversion error from '%s' to '%s'", cel_kind_name(value->kind), type);
}

CEL_FUNCTION(to_int)
{
    int64_t value;
    switch (args->kind) {
    case CEL_INT:
        return *args;
    case CEL_UINT:
        return args->uinteger > INT64_MAX ? cel_fail_static("integer overflow")
                                          : cel_int((int64_t)args->uinteger);
    case CEL_DOUBLE:
        if (!(args->number > -0x1p63 && args->number < 0x1p63))
            return cel_fail_static("integer overflow");
        return cel_int((int64_t)args->number);
    case CEL_DURATION:
        return cel_int(args->duration_ns);
    case CEL_TIMESTAMP:
        return cel_int(args->timestamp.seconds);
    default:
        return str_to_int64(args->text, &value) ? cel_int(value) : bad(run, args, "int");
    }
}

CEL_FUNCTION(to_uint)
{
    uint64_t value;
    switch (args->kind) {
    case CEL_UINT:
        return *args;
    case CEL_INT:
        return args->integer < 0 ? cel_fail_static("unsigned integer overflow")
                                 : cel_make_uint((uint64_t)args->integer);
    case CEL_DOUBLE:
        if (!(args->number >= 0 && args->number < 0x1p64))
            return cel_fail_static("unsigned integer overflow");
        return cel_make_uint((uint64_t)args->number);
    default:
        return cel_parse_uint(args->text, &value) ? cel_make_uint(value) : bad(run, args, "uint");
    }
}

CEL_FUNCTION(to_double)
{
    double value;
    switch (args->kind) {
    case CEL_DOUBLE:
        return *args;
    case CEL_INT:
        return cel_make_double((double)args->integer);
    case CEL_UINT:
        return cel_make_double((double)args->uinteger);
    default:
        return cel_parse_double(args->text, &value) ? cel_make_double(value) : bad(run, args, "double");
    }
}

struct cel_value cel_convert_text(struct cel_run *run, const struct cel_value *value)
{
    char number[DECIMAL_LEN_MAX];
    switch (value->kind) {
    case CEL_STRING:
        return *value;
    case CEL_BYTES:
        return utf8_valid(value->text) ? cel_string(value->text)
                                       : cel_fail_static("invalid UTF-8 in bytes, cannot convert to string");
    case CEL_BOOL:
        return cel_string(value->boolean ? STR("true") : STR("false"));
    case CEL_TYPE:
        return cel_string(value->text);
    case CEL_INT:
    case CEL_UINT:
    case CEL_DOUBLE:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
    case CEL_IP:
    case CEL_CIDR:
        break;
    default:
        return bad(run, value, "string");
    }
    if (!cel_take(run, sizeof(number)))
        return cel_stop(run);
    struct str text = value->kind == CEL_INT ? arena_printf(run->scratch, "%lld", (long long)value->integer)
                      : value->kind == CEL_UINT
                          ? arena_printf(run->scratch, "%llu", (unsigned long long)value->uinteger)
                      : value->kind == CEL_DOUBLE
                          ? arena_str(run->scratch, decimal_format(value->number, DECIMAL_GO, number))
                      : value->kind == CEL_DURATION  ? cel_duration_text(value->duration_ns, run->scratch)
                      : value->kind == CEL_TIMESTAMP ? cel_timestamp_text(value->timestamp, run->scratch)
                                                     : cel_ip_text(value, run->scratch);
    return cel_string(text);
}

CEL_RETURNS(to_string, cel_convert_text(run, args))

CEL_RETURNS(to_bytes, (struct cel_value){ .kind = CEL_BYTES, .text = args->text })

CEL_FUNCTION(to_bool)
{
    static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True" };
    static const char *const no[] = { "0", "f", "F", "FALSE", "false", "False" };
    if (args->kind == CEL_BOOL)
        return *args;
    for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
        if (str_is(args->text, yes[i]) || str_is(args->text, no[i]))
            return cel_bool(str_is(args->text, yes[i]));
    return bad(run, args, "bool");
}

CEL_RETURNS(to_dyn, *args)

CEL_RETURNS(to_type, cel_make_type(args->kind))

const struct cel_overload cel_lib_convert[] = {
    { "int", "int -> int; double -> int; duration -> int; string -> int; timestamp -> int; uint -> int",
      to_int, CEL_CONSTANT },
    { "uint", "uint -> uint; double -> uint; int -> uint; string -> uint", to_uint, CEL_CONSTANT },
    { "double", "double -> double; int -> double; string -> double; uint -> double", to_double,
      CEL_CONSTANT },
    { "string", "string -> string; bool -> string", to_string, CEL_CONSTANT },
    { "string", "bytes -> string", to_string, CEL_CONSTANT, COST_TEXT },
    { "string",
      "double -> string; duration -> string; int -> string; timestamp -> string; uint -> string; "
      "ip -> string; cidr -> string",
      to_string, CEL_CONSTANT },
    { "bytes", "bytes -> bytes", to_bytes, CEL_CONSTANT },
    { "bytes", "string -> bytes", to_bytes, CEL_CONSTANT, COST_TEXT },
    { "bool", "bool -> bool; string -> bool", to_bool, CEL_CONSTANT },
    { "dyn", "A -> dyn", to_dyn, CEL_CONSTANT },
    { "type", "A -> type(A)", to_type, CEL_CONSTANT },
    { 0 },
};
