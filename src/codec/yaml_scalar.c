/* yaml_scalar.c: a table of words, and the numbers. The first byte decides most cases. */
#include "codec/yaml_scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yaml.h>

/* A longer text is no number. Only a fraction with hundreds of digits could tell. */
enum { NUMBER_LEN_MAX = 512, WORD_LEN_MAX = 5 };

static const struct word {
    const char *text;
    enum yaml_scalar_kind kind;
    bool truth;
} words[] = {
    { "~", YAML_SCALAR_NULL, false },        { "null", YAML_SCALAR_NULL, false },
    { "Null", YAML_SCALAR_NULL, false },     { "NULL", YAML_SCALAR_NULL, false },
    { "true", YAML_SCALAR_BOOL, true },      { "True", YAML_SCALAR_BOOL, true },
    { "TRUE", YAML_SCALAR_BOOL, true },      { "false", YAML_SCALAR_BOOL, false },
    { "False", YAML_SCALAR_BOOL, false },    { "FALSE", YAML_SCALAR_BOOL, false },
    { "y", YAML_SCALAR_BOOL, true },         { "Y", YAML_SCALAR_BOOL, true },
    { "yes", YAML_SCALAR_BOOL, true },       { "Yes", YAML_SCALAR_BOOL, true },
    { "YES", YAML_SCALAR_BOOL, true },       { "n", YAML_SCALAR_BOOL, false },
    { "N", YAML_SCALAR_BOOL, false },        { "no", YAML_SCALAR_BOOL, false },
    { "No", YAML_SCALAR_BOOL, false },       { "NO", YAML_SCALAR_BOOL, false },
    { "on", YAML_SCALAR_BOOL, true },        { "On", YAML_SCALAR_BOOL, true },
    { "ON", YAML_SCALAR_BOOL, true },        { "off", YAML_SCALAR_BOOL, false },
    { "Off", YAML_SCALAR_BOOL, false },      { "OFF", YAML_SCALAR_BOOL, false },
    { ".nan", YAML_SCALAR_ENDLESS, false },  { ".NaN", YAML_SCALAR_ENDLESS, false },
    { ".NAN", YAML_SCALAR_ENDLESS, false },  { ".inf", YAML_SCALAR_ENDLESS, false },
    { ".Inf", YAML_SCALAR_ENDLESS, false },  { ".INF", YAML_SCALAR_ENDLESS, false },
    { "+.inf", YAML_SCALAR_ENDLESS, false }, { "+.Inf", YAML_SCALAR_ENDLESS, false },
    { "+.INF", YAML_SCALAR_ENDLESS, false }, { "-.inf", YAML_SCALAR_ENDLESS, false },
    { "-.Inf", YAML_SCALAR_ENDLESS, false }, { "-.INF", YAML_SCALAR_ENDLESS, false },
};

static const struct word *find_word(struct str text)
{
    for (size_t i = 0; text.len <= WORD_LEN_MAX && i < ARRAY_SIZE(words); i++)
        if (words[i].text[0] == text.ptr[0] && str_is(text, words[i].text))
            return &words[i];
    return NULL;
}

static void set_int(yyjson_val *ret, bool negative, uint64_t magnitude)
{
    if (negative && magnitude)
        unsafe_yyjson_set_sint(ret, -(int64_t)(magnitude - 1) - 1);
    else
        unsafe_yyjson_set_uint(ret, magnitude);
}

/* An integer in Go's syntax for base 0: a sign; 0x, 0o, 0b, or 0 for octal. */
static bool parse_int(const char *text, yyjson_val *ret)
{
    bool negative = *text == '-';
    const char *at = text + (*text == '-' || *text == '+');
    unsigned base = 10;
    if (at[0] == '0' && at[1]) {
        char letter = at[1] | 0x20;
        base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
        at += letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1;
    }
    if (!*at)
        return false;
    uint64_t magnitude = 0;
    for (; *at; at++) {
        unsigned digit = (unsigned)hex_digit(*at); /* -1 is more than any base */
        if (digit >= base || __builtin_mul_overflow(magnitude, base, &magnitude) ||
            __builtin_add_overflow(magnitude, digit, &magnitude))
            return false;
    }
    /* Only without a sign may it be as large as a uint64. */
    if ((negative && magnitude > (uint64_t)INT64_MAX + 1) || (*text == '+' && magnitude > INT64_MAX))
        return false;
    set_int(ret, negative, magnitude);
    return true;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_like_float(const char *text)
{
    const char *whole = text + (*text == '-' || *text == '+');
    const char *at = skip_digits(whole);
    bool has_whole = at != whole;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction);
        if (!has_whole && at == fraction)
            return false;
    } else if (!has_whole) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1;
        exponent += *exponent == '-' || *exponent == '+';
        at = skip_digits(exponent);
        if (at == exponent)
            return false;
    }
    return *at == '\0';
}

static bool parse_float(const char *text, yyjson_val *ret)
{
    if (!looks_like_float(text))
        return false;
    double value = strtod(text, NULL);
    if (isinf(value)) /* too large is a string, too small is zero */
        return false;
    unsafe_yyjson_set_real(ret, value);
    return true;
}

static enum yaml_scalar_kind resolve_number(struct str text, yyjson_val *ret)
{
    char plain[NUMBER_LEN_MAX + 1];
    size_t len = 0;
    bool underscores =
        text.ptr[0] != '.'; /* may separate digits, but not in a number that begins with a point */
    if (text.len > NUMBER_LEN_MAX || memchr(text.ptr, '\0', text.len))
        return YAML_SCALAR_STRING;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != '_' || !underscores)
            plain[len++] = text.ptr[i];
    plain[len] = '\0';
    if (plain[0] != '.' && parse_int(plain, ret))
        return YAML_SCALAR_INT;
    return parse_float(plain, ret) ? YAML_SCALAR_FLOAT : YAML_SCALAR_STRING;
}

enum yaml_scalar_kind yaml_scalar_resolve(struct str text, yyjson_val *ret)
{
    if (text.len == 0) {
        unsafe_yyjson_set_null(ret);
        return YAML_SCALAR_NULL;
    }
    char first = text.ptr[0];
    bool numeric = (first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.';
    if (!numeric && !strchr("yYnNtTfFoO~", first))
        return YAML_SCALAR_STRING;
    const struct word *word = find_word(text);
    if (word && word->kind == YAML_SCALAR_NULL)
        unsafe_yyjson_set_null(ret);
    else if (word && word->kind == YAML_SCALAR_BOOL)
        unsafe_yyjson_set_bool(ret, word->truth);
    if (word)
        return word->kind;
    return numeric ? resolve_number(text, ret) : YAML_SCALAR_STRING;
}

const char *yaml_scalar_tagged(struct str text, const char *tag, enum yaml_scalar_kind *ret_kind,
                               yyjson_val *ret)
{
    static const struct {
        const char *tag;
        enum yaml_scalar_kind kind;
        const char *problem;
    } kinds[] = {
        { YAML_NULL_TAG, YAML_SCALAR_NULL, "expected null below the tag !!null" },
        { YAML_BOOL_TAG, YAML_SCALAR_BOOL, "expected true or false below the tag !!bool" },
        { YAML_INT_TAG, YAML_SCALAR_INT, "expected an integer below the tag !!int" },
        { YAML_FLOAT_TAG, YAML_SCALAR_FLOAT, "expected a number below the tag !!float" },
    };
    if (strcmp(tag, "tag:yaml.org,2002:binary") == 0)
        return "the tag !!binary is not supported, write the base64 text without it";
    *ret_kind = YAML_SCALAR_STRING;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(tag, kinds[i].tag) != 0)
            continue;
        *ret_kind = yaml_scalar_resolve(text, ret);
        if (*ret_kind == YAML_SCALAR_INT && kinds[i].kind == YAML_SCALAR_FLOAT) {
            unsafe_yyjson_set_real(ret, unsafe_yyjson_get_num(ret));
            *ret_kind = YAML_SCALAR_FLOAT;
        }
        bool endless = *ret_kind == YAML_SCALAR_ENDLESS && kinds[i].kind == YAML_SCALAR_FLOAT;
        return *ret_kind == kinds[i].kind || endless ? NULL : kinds[i].problem;
    }
    return NULL;
}

void yaml_scalar_settle(yyjson_val *val)
{
    if (!yyjson_is_real(val))
        return;
    double value = unsafe_yyjson_get_real(val);
    if (fabs(value) < 0x1p63 && value == trunc(value))
        set_int(val, value < 0, (uint64_t)fabs(value));
}

struct str yaml_scalar_key(const yyjson_val *val, char buf[static DECIMAL_LEN_MAX])
{
    yyjson_val *scalar = (yyjson_val *)val;
    if (yyjson_is_bool(scalar))
        return yyjson_is_true(scalar) ? STR("true") : STR("false");
    if (yyjson_is_real(scalar))
        return decimal_single(unsafe_yyjson_get_real(scalar), buf);
    int len = yyjson_is_sint(scalar)
                  ? snprintf(buf, DECIMAL_LEN_MAX, "%lld", (long long)scalar->uni.i64)
                  : snprintf(buf, DECIMAL_LEN_MAX, "%llu", (unsigned long long)scalar->uni.u64);
    return (struct str){ buf, (uint32_t)len };
}
