/* duration.c: durations, read and written exactly as Go's time package does. */
#include "base/duration.h"

#include <stdio.h>

static const struct {
    const char *name;
    uint64_t ns;
} units[] = {
    { "ns", 1 },           { "us", 1000 },         { "\xc2\xb5s", 1000 }, /* micro sign */
    { "\xce\xbcs", 1000 },                                                /* Greek mu */
    { "ms", 1000 * 1000 }, { "s", NS_PER_SECOND }, { "m", 60 * NS_PER_SECOND }, { "h", 3600 * NS_PER_SECOND },
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits in front of the point; false on overflow past 2^63. */
static bool parse_whole(struct str text, size_t *at, uint64_t *ret)
{
    uint64_t value = 0;
    for (; *at < text.len && is_digit(text.ptr[*at]); (*at)++) {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.ptr[*at] - '0'), &value) ||
            value > UINT64_C(1) << 63)
            return false;
    }
    *ret = value;
    return true;
}

/* Digits behind the point as value / scale; digits that no longer fit do not count. */
static void parse_fraction(struct str text, size_t *at, uint64_t *ret, double *ret_scale)
{
    uint64_t value = 0;
    double scale = 1;
    bool full = false;
    for (; *at < text.len && is_digit(text.ptr[*at]); (*at)++) {
        if (full)
            continue;
        uint64_t next = value * 10 + (uint64_t)(text.ptr[*at] - '0');
        if (value > (UINT64_MAX / 2) / 10 || next > UINT64_C(1) << 63) {
            full = true;
            continue;
        }
        value = next;
        scale *= 10;
    }
    *ret = value;
    *ret_scale = scale;
}

static uint64_t parse_unit(struct str text, size_t *at)
{
    size_t from = *at;
    while (*at < text.len && text.ptr[*at] != '.' && !is_digit(text.ptr[*at]))
        (*at)++;
    struct str name = str_slice(text, from, *at);
    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (str_is(name, units[i].name))
            return units[i].ns;
    return 0;
}

/* One number with its unit. */
static bool parse_part(struct str text, size_t *at, uint64_t *ret)
{
    uint64_t whole, fraction = 0;
    double scale = 1;
    size_t start = *at;
    if (!parse_whole(text, at, &whole))
        return false;
    bool digits = *at > start;
    if (*at < text.len && text.ptr[*at] == '.') {
        start = ++*at;
        parse_fraction(text, at, &fraction, &scale);
        digits = digits || *at > start;
    }
    uint64_t unit = digits ? parse_unit(text, at) : 0;
    if (!unit || whole > (UINT64_C(1) << 63) / unit)
        return false;
    whole *= unit;
    if (fraction)
        whole += (uint64_t)((double)fraction * ((double)unit / scale));
    *ret = whole;
    return whole <= UINT64_C(1) << 63;
}

bool duration_parse(struct str text, int64_t *ret_ns)
{
    size_t at = 0;
    bool negative = text.len && text.ptr[0] == '-';
    if (text.len && (text.ptr[0] == '-' || text.ptr[0] == '+'))
        at = 1;
    if (at == text.len)
        return false;
    if (str_is(str_slice(text, at, text.len), "0")) {
        *ret_ns = 0;
        return true;
    }
    uint64_t total = 0;
    while (at < text.len) {
        uint64_t part;
        if (!parse_part(text, &at, &part) || __builtin_add_overflow(total, part, &total) ||
            total > UINT64_C(1) << 63)
            return false;
    }
    if (!negative && total > INT64_MAX)
        return false;
    *ret_ns = negative ? (int64_t)(0 - total) : (int64_t)total;
    return true;
}

/* A number of `digits` decimals without trailing zeros, and without the point when nothing is behind it. */
static int print_fraction(char *out, size_t size, uint64_t value, unsigned digits)
{
    uint64_t power = 1;
    for (unsigned i = 0; i < digits; i++)
        power *= 10;
    uint64_t fraction = value % power;
    while (digits && fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    if (!digits)
        return snprintf(out, size, "%llu", (unsigned long long)(value / power));
    return snprintf(out, size, "%llu.%0*llu", (unsigned long long)(value / power), (int)digits,
                    (unsigned long long)fraction);
}

void duration_format(int64_t ns, char ret[DURATION_TEXT_MAX])
{
    uint64_t value = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    char *out = ret, *end = ret + DURATION_TEXT_MAX;
    if (ns == 0) {
        snprintf(ret, DURATION_TEXT_MAX, "0s");
        return;
    }
    if (ns < 0)
        *out++ = '-';
    if (value < (uint64_t)NS_PER_SECOND) {
        unsigned digits = value < 1000 ? 0 : value < 1000000 ? 3 : 6;
        const char *unit = digits == 0 ? "ns" : digits == 3 ? "\xc2\xb5s" : "ms";
        out += print_fraction(out, (size_t)(end - out), value, digits);
        snprintf(out, (size_t)(end - out), "%s", unit);
        return;
    }
    uint64_t minutes = value / (60 * (uint64_t)NS_PER_SECOND), hours = minutes / 60;
    if (hours)
        out += snprintf(out, (size_t)(end - out), "%lluh", (unsigned long long)hours);
    if (minutes)
        out += snprintf(out, (size_t)(end - out), "%llum", (unsigned long long)(minutes % 60));
    out += print_fraction(out, (size_t)(end - out), value % (60 * (uint64_t)NS_PER_SECOND), 9);
    snprintf(out, (size_t)(end - out), "s");
}
