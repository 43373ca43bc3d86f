/* quantity.c: parsing and arithmetic of resource quantities.
 *
 * A text is [sign] digits [. digits] [suffix]. Each part may be missing, odd as it is: "+", "." and "Ki" are zero
 * for the reference, and so for us. What it reads as a big decimal, though, must have a digit ("Ei" is an error).
 *
 * Nothing here is limited by the length of the text. Decimal suffixes move the point; binary ones multiply, which
 * schoolbook multiplication does from the last digit of the fraction to the first:
 *
 *     1.25Ki    digits 1 2 5, two behind the point
 *               5 * 1024           -> digit 0, carry 512
 *               2 * 1024 + 512     -> digit 0, carry 256
 *               1 * 1024 + 256     =  1280
 *
 * Amounts are nano units in 128 bits while they are being worked on; no step can overflow those. */
#include "api/quantity.h"

#include <errno.h>

typedef __int128 wide;

static const int64_t NANO = 1000000000;
static const int64_t NANO_PER_MILLI = 1000000;
enum { NANO_DIGITS = 9, FAST_DIGITS_MAX = 18, FAST_BINARY_DIGITS_MAX = 14 };

/* Anything as big as this is capped later; below it, ten times the amount still fits. */
#define WIDE_CAP ((wide)1 << 120)

struct suffix {
    char text[3];
    int8_t base;
    int8_t exponent;
};

static const struct suffix suffixes[] = {
    { "", 10, 0 },   { "m", 10, -3 }, { "Mi", 2, 20 }, { "Ki", 2, 10 }, { "Gi", 2, 30 }, { "k", 10, 3 },
    { "M", 10, 6 },  { "G", 10, 9 },  { "n", 10, -9 }, { "u", 10, -6 }, { "Ti", 2, 40 }, { "Pi", 2, 50 },
    { "Ei", 2, 60 }, { "T", 10, 12 }, { "P", 10, 15 }, { "E", 10, 18 },
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct str take_digits(struct str *text)
{
    size_t len = 0;
    while (len < text->len && is_digit(text->ptr[len]))
        len++;
    struct str digits = str_slice(*text, 0, len);
    *text = str_slice(*text, len, text->len);
    return digits;
}

static int parse_suffix(struct str text, struct quantity_text *ret)
{
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        const struct suffix *known = &suffixes[i];
        if (text.len != strnlen(known->text, 2) || memcmp(text.ptr, known->text, text.len) != 0)
            continue;
        ret->base = known->base;
        ret->exponent = known->exponent;
        return 0;
    }
    int64_t exponent;
    if ((text.ptr[0] != 'e' && text.ptr[0] != 'E') || !str_to_int64(str_slice(text, 1, text.len), &exponent))
        return -EINVAL;
    ret->base = 10;
    ret->exponent = (int32_t)exponent; /* the reference keeps the low 32 bits as well */
    return 0;
}

static int parse_number(struct str text, struct quantity_text *ret)
{
    if (text.len == 0)
        return -EINVAL;
    if (text.ptr[0] == '-' || text.ptr[0] == '+') {
        ret->negative = text.ptr[0] == '-';
        text = str_slice(text, 1, text.len);
    }
    ret->whole = take_digits(&text);
    ret->has_digit = ret->whole.len > 0;
    while (ret->whole.len && ret->whole.ptr[0] == '0')
        ret->whole = str_slice(ret->whole, 1, ret->whole.len);
    if (text.len && text.ptr[0] == '.') {
        text = str_slice(text, 1, text.len);
        ret->fraction = take_digits(&text);
        ret->has_digit |= ret->fraction.len > 0;
    }
    return parse_suffix(text, ret);
}

bool quantity_text_is_small(const struct quantity_text *number)
{
    int64_t digits = MAX(number->whole.len, 1u) + (int64_t)number->fraction.len;
    if (number->base == 10)
        return digits <= FAST_DIGITS_MAX && number->exponent - (int64_t)number->fraction.len >= -NANO_DIGITS;
    return number->fraction.len == 0 && digits + number->exponent * 3 / 10 <= FAST_BINARY_DIGITS_MAX;
}

static char digit_at(const struct quantity_text *number, size_t i)
{
    char c = i < number->whole.len ? number->whole.ptr[i] : number->fraction.ptr[i - number->whole.len];
    return (char)(c - '0');
}

/* The nano units of a decimal number: its digits up to the ninth behind the moved point, rounded up by the rest. */
static wide decimal_nano(const struct quantity_text *number)
{
    size_t count = (size_t)number->whole.len + number->fraction.len;
    int64_t kept = (int64_t)number->whole.len + number->exponent + NANO_DIGITS;
    wide nano = 0;
    size_t i = 0;
    for (; i < count && (int64_t)i < kept; i++)
        nano = MIN(nano * 10 + digit_at(number, i), WIDE_CAP);
    for (int64_t zeros = kept - (int64_t)count; nano && nano < WIDE_CAP && zeros > 0; zeros--)
        nano *= 10;
    for (; i < count; i++)
        if (digit_at(number, i))
            return nano + 1;
    return nano;
}

static wide binary_nano(const struct quantity_text *number)
{
    wide carry = 0, nano = 0, place = 1;
    bool rest = false;
    for (size_t i = number->fraction.len; i-- > 0;) {
        carry += (wide)(number->fraction.ptr[i] - '0') << number->exponent;
        int digit = (int)(carry % 10);
        carry /= 10;
        if (i >= NANO_DIGITS) {
            rest |= digit != 0;
            continue;
        }
        if (place == 1) /* the last place that is kept; shorter fractions begin further left */
            for (size_t skip = i + 1; skip < NANO_DIGITS; skip++)
                place *= 10;
        nano += place * digit;
        place *= 10;
    }
    wide whole = 0;
    for (size_t i = 0; i < number->whole.len; i++)
        whole = MIN(whole * 10 + (number->whole.ptr[i] - '0'), (wide)INT64_MAX);
    whole = MIN((whole << number->exponent) + carry, (wide)INT64_MAX + 1);
    nano += whole * NANO + rest;
    return MIN(nano, (wide)INT64_MAX * NANO);
}

static wide to_nano(struct quantity q)
{
    return (wide)q.units * NANO + q.nano;
}

static int64_t clamp64(wide value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

static struct quantity from_nano(wide nano)
{
    wide units = nano / NANO, rest = nano % NANO;
    if (rest < 0) {
        units--;
        rest += NANO;
    }
    if (units != clamp64(units))
        rest = 0;
    return (struct quantity){ clamp64(units), (uint32_t)rest };
}

static wide divide_away_from_zero(wide value, int64_t by)
{
    wide result = value / by;
    if (value % by)
        result += value > 0 ? 1 : -1;
    return result;
}

int quantity_split(struct str text, struct quantity_text *ret)
{
    struct quantity_text number = { 0 };
    /* A big decimal must have a digit. */
    if (parse_number(text, &number) < 0 || (!number.has_digit && !quantity_text_is_small(&number)))
        return -EINVAL;
    *ret = number;
    return 0;
}

__int128 quantity_text_nanos(const struct quantity_text *text)
{
    wide nano = text->base == 10 ? decimal_nano(text) : binary_nano(text);
    return text->negative ? -nano : nano;
}

int quantity_parse(struct str text, struct quantity *ret)
{
    struct quantity_text number;
    int r = quantity_split(text, &number);
    if (r < 0)
        return r;
    *ret = from_nano(quantity_text_nanos(&number));
    ret->binary = number.base == 2;
    ret->finer = !quantity_text_is_small(&number) ||
                 (number.base == 10 && number.exponent < (int64_t)number.fraction.len);
    return 0;
}

int64_t quantity_value(struct quantity q)
{
    return clamp64(divide_away_from_zero(to_nano(q), NANO));
}

int64_t quantity_milli_value(struct quantity q)
{
    return clamp64(divide_away_from_zero(to_nano(q), NANO_PER_MILLI));
}

bool quantity_is_zero(struct quantity q)
{
    return q.units == 0 && q.nano == 0;
}

int quantity_cmp(struct quantity a, struct quantity b)
{
    if (a.units != b.units)
        return a.units < b.units ? -1 : 1;
    return (a.nano > b.nano) - (a.nano < b.nano);
}

/* A sum is written as its first part is, unless that is nothing yet. */
static struct quantity written_as(struct quantity sum, struct quantity a, struct quantity b)
{
    sum.binary = quantity_is_zero(a) ? b.binary : a.binary;
    return sum;
}

struct quantity quantity_add(struct quantity a, struct quantity b)
{
    return written_as(from_nano(to_nano(a) + to_nano(b)), a, b);
}

struct quantity quantity_sub(struct quantity a, struct quantity b)
{
    return written_as(from_nano(to_nano(a) - to_nano(b)), a, b);
}

/* (u + n) (v + m) with fractions n and m, without a product that is too large for 128 bits. */
struct quantity quantity_mul(struct quantity a, struct quantity b)
{
    wide whole = (wide)a.units * b.units, nano;
    wide mixed = (wide)a.units * b.nano + (wide)b.units * a.nano; /* in billionths */
    uint64_t fine = (uint64_t)a.nano * b.nano;                    /* in billionths of those */
    bool negative = (a.units < 0) != (b.units < 0);
    whole = whole > INT64_MAX ? INT64_MAX : whole < INT64_MIN ? INT64_MIN : whole;
    nano = whole * NANO + mixed + (wide)(fine / NANO);
    if (fine % NANO && !negative)
        nano++;
    struct quantity product = from_nano(nano);
    product.binary = a.binary;
    return product;
}

struct quantity quantity_from_int(int64_t units)
{
    return (struct quantity){ units, 0 };
}

struct quantity quantity_round_to_milli(struct quantity q)
{
    struct quantity rounded = from_nano(divide_away_from_zero(to_nano(q), NANO_PER_MILLI) * NANO_PER_MILLI);
    rounded.binary = q.binary;
    rounded.finer = q.finer;
    return rounded;
}

/* ---- writing ---- */
static struct str put_digits(wide value, const char *suffix, char *buf)
{
    char digits[QUANTITY_LEN_MAX];
    size_t at = sizeof(digits), len = 0;
    bool negative = value < 0;
    do {
        digits[--at] = (char)('0' + (negative ? -(value % 10) : value % 10));
        value /= 10;
    } while (value);
    if (negative)
        buf[len++] = '-';
    memcpy(buf + len, digits + at, sizeof(digits) - at);
    len += sizeof(digits) - at;
    memcpy(buf + len, suffix, strlen(suffix));
    return (struct str){ buf, (uint32_t)(len + strlen(suffix)) };
}

struct str quantity_format(struct quantity q, char buf[static QUANTITY_LEN_MAX])
{
    static const char *const decimal[] = { "n", "u", "m", "", "k", "M", "G", "T", "P", "E" };
    static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei" };
    wide value = to_nano(q);
    /* Below 1024 and for fractions, powers of two are of no use. */
    bool in_binary = q.binary && q.nano == 0 && (q.units >= 1024 || q.units <= -1024);
    const char *const *suffixes_of = in_binary ? binary : decimal;
    size_t i = 0, last = (in_binary ? ARRAY_SIZE(binary) : ARRAY_SIZE(decimal)) - 1;
    int64_t step = in_binary ? 1024 : 1000;
    if (value == 0)
        return put_digits(0, "", buf);
    if (in_binary)
        value = q.units;
    for (; i < last && value % step == 0; i++)
        value /= step;
    return put_digits(value, suffixes_of[i], buf);
}
