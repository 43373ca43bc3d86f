/* decimal.c: shortest digits by trying: the least precision whose text reads back as the same number.
 *
 * A number with up to 15 (float: 6) digits survives the way to binary and back, so that precision with its trailing
 * zeros cut off is the shortest form of every number that has a form that short; few others need more tries. */
#include "base/decimal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct digits {
    char text[20]; /* without point and trailing zeros */
    int len;
    int exponent; /* of the first digit: 12.5 has 1 */
    bool negative;
};

static struct digits shortest(double value, bool single)
{
    char text[40];
    bool subnormal = fabs(value) < (single ? (double)FLT_MIN : DBL_MIN); /* has fewer digits than that */
    for (int precision = subnormal ? 0 : single ? 5 : 14;; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, fabs(value));
        double back = single ? (double)strtof(text, NULL) : strtod(text, NULL);
        if (back == fabs(value) || precision == 16)
            break;
    }
    struct digits ret = { .negative = signbit(value) };
    const char *at = text;
    for (; *at && *at != 'e'; at++)
        if (*at != '.' && ret.len < (int)sizeof(ret.text))
            ret.text[ret.len++] = *at;
    ret.exponent = *at ? (int)strtol(at + 1, NULL, 10) : 0;
    while (ret.len > 1 && ret.text[ret.len - 1] == '0')
        ret.len--;
    return ret;
}

/* d.ddde+XX, with at least `exponent_len` digits in the exponent. */
static size_t put_scientific(char *buf, const struct digits *digits, int exponent_len)
{
    int len = snprintf(buf, DECIMAL_LEN_MAX, "%c%s%.*se%c%0*d", digits->text[0], digits->len > 1 ? "." : "",
                       digits->len - 1, digits->text + 1, digits->exponent < 0 ? '-' : '+', exponent_len,
                       abs(digits->exponent));
    return (size_t)len;
}

static size_t put_plain(char *buf, const struct digits *digits)
{
    size_t len = 0;
    if (digits->exponent < 0) {
        buf[len++] = '0';
        buf[len++] = '.';
        for (int i = -1; i > digits->exponent; i--)
            buf[len++] = '0';
    }
    for (int i = 0; i < MAX(digits->len, digits->exponent + 1); i++) {
        if (i > 0 && i == digits->exponent + 1)
            buf[len++] = '.';
        buf[len++] = i < digits->len ? digits->text[i] : '0';
    }
    return len;
}

struct str decimal_format(double value, enum decimal_form form, char buf[static DECIMAL_LEN_MAX])
{
    if (!isfinite(value))
        return isnan(value) ? STR("NaN") : value > 0 ? STR("+Inf") : STR("-Inf");
    struct digits digits = shortest(value, false);
    size_t len = digits.negative;
    if (digits.negative)
        buf[0] = '-';
    int least = form == DECIMAL_GO ? -4 : -6, beyond = form == DECIMAL_GO ? 6 : 21;
    bool scientific =
        form != DECIMAL_PLAIN && value != 0 && (digits.exponent < least || digits.exponent >= beyond);
    int exponent_len = form == DECIMAL_JSON && digits.exponent < 0 ? 1 : 2;
    len += scientific ? put_scientific(buf + len, &digits, exponent_len) : put_plain(buf + len, &digits);
    return (struct str){ buf, (uint32_t)len };
}

struct str decimal_single(double value, char buf[static DECIMAL_LEN_MAX])
{
    value = (double)(float)value;
    if (isinf(value))
        return value < 0 ? STR("-.inf") : STR(".inf");
    struct digits digits = shortest(value, true);
    size_t len = digits.negative;
    if (digits.negative)
        buf[0] = '-';
    bool scientific = digits.exponent < -4 || digits.exponent >= 6;
    len += scientific ? put_scientific(buf + len, &digits, 2) : put_plain(buf + len, &digits);
    return (struct str){ buf, (uint32_t)len };
}

struct str decimal_integer(bool is_negative, uint64_t magnitude, char buf[static DECIMAL_INTEGER_LEN_MAX])
{
    size_t at = DECIMAL_INTEGER_LEN_MAX;
    do
        buf[--at] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (is_negative)
        buf[--at] = '-';
    return (struct str){ buf + at, (uint32_t)(DECIMAL_INTEGER_LEN_MAX - at) };
}
