/* timestamp.c: see timestamp.h. Years begin in March inside, so that the leap day is the last of its year. */
#include "base/timestamp.h"

#include <stdio.h>

enum { SECONDS_PER_DAY = 86400, DAYS_PER_ERA = 146097 /* 400 years */, EPOCH_DAYS = 719468 /* 1970 */ };

static int64_t days_from(int64_t year, int month, int day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return era * DAYS_PER_ERA + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

struct calendar calendar_of(int64_t seconds)
{
    int64_t days = seconds / SECONDS_PER_DAY - (seconds % SECONDS_PER_DAY < 0);
    int64_t of_day = seconds - days * SECONDS_PER_DAY, shifted = days + EPOCH_DAYS;
    int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_PER_ERA - 1)) / DAYS_PER_ERA;
    int64_t of_era = shifted - era * DAYS_PER_ERA;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
    struct calendar c = {
        .day = (int)(of_year - (153 * month + 2) / 5 + 1),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .hour = (int)(of_day / 3600),
        .minute = (int)(of_day / 60 % 60),
        .second = (int)(of_day % 60),
        .weekday = (int)(((days + 4) % 7 + 7) % 7),
    };
    c.year = year + era * 400 + (c.month <= 2);
    c.yearday = (int)(days - days_from(c.year, 1, 1));
    return c;
}

static int days_in(int64_t year, int month)
{
    static const int8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* ---- reading ---- */
static bool is_digit(struct str text, size_t at)
{
    return at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9';
}

/* So many digits at *at, or with `fewer` one at least; -1: they are not there. */
static int take_number(struct str text, size_t *at, size_t digits, bool fewer)
{
    int value = 0;
    size_t from = *at;
    while (*at - from < digits && is_digit(text, *at))
        value = value * 10 + text.ptr[(*at)++] - '0';
    size_t got = *at - from;
    return got == digits || (fewer && got) ? value : -1;
}

static bool take_char(struct str text, size_t *at, char c)
{
    if (*at >= text.len || text.ptr[*at] != c)
        return false;
    (*at)++;
    return true;
}

/* Digits behind the ninth do not count. */
static int32_t take_fraction(struct str text, size_t *at)
{
    int32_t nanos = 0, unit = 100000000;
    bool point = *at < text.len && (text.ptr[*at] == '.' || text.ptr[*at] == ',');
    if (!point || !is_digit(text, *at + 1))
        return 0;
    for ((*at)++; is_digit(text, *at); (*at)++, unit /= 10)
        nanos += (text.ptr[*at] - '0') * unit;
    return nanos;
}

static bool take_zone(struct str text, size_t *at, int32_t *ret)
{
    *ret = 0;
    if (take_char(text, at, 'Z'))
        return true;
    int sign = take_char(text, at, '+') ? 1 : take_char(text, at, '-') ? -1 : 0;
    int hours = take_number(text, at, 2, false);
    if (!sign || hours < 0 || hours > 24 || !take_char(text, at, ':'))
        return false;
    int minutes = take_number(text, at, 2, false);
    *ret = sign * (hours * 3600 + minutes * 60);
    return minutes >= 0 && minutes <= 60;
}

bool timestamp_parse(struct str text, struct timestamp *ret)
{
    size_t at = 0;
    struct timestamp time;
    int year = take_number(text, &at, 4, false);
    int month = take_char(text, &at, '-') ? take_number(text, &at, 2, false) : -1;
    int day = take_char(text, &at, '-') ? take_number(text, &at, 2, false) : -1;
    int hour = take_char(text, &at, 'T') ? take_number(text, &at, 2, true) : -1;
    int minute = take_char(text, &at, ':') ? take_number(text, &at, 2, false) : -1;
    int second = take_char(text, &at, ':') ? take_number(text, &at, 2, false) : -1;
    if (year < 0 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour < 0 ||
        hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59)
        return false;
    time.nanos = take_fraction(text, &at);
    if (!take_zone(text, &at, &time.offset_seconds) || at != text.len)
        return false;
    time.seconds = days_from(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second -
                   time.offset_seconds;
    *ret = time;
    return true;
}

/* ---- writing ---- */
static void put_number(char *at, int64_t value, int digits)
{
    for (; digits > 0; digits--, value /= 10)
        at[digits - 1] = (char)('0' + value % 10);
}

struct str timestamp_format(int64_t seconds, char buf[static TIMESTAMP_LEN + 1])
{
    int64_t first = days_from(0, 1, 1) * SECONDS_PER_DAY;
    int64_t last = days_from(10000, 1, 1) * SECONDS_PER_DAY - 1;
    struct calendar c = calendar_of(MAX(first, MIN(seconds, last)));
    memcpy(buf, "0000-00-00T00:00:00Z", TIMESTAMP_LEN + 1);
    put_number(buf, c.year, 4);
    put_number(buf + 5, c.month, 2);
    put_number(buf + 8, c.day, 2);
    put_number(buf + 11, c.hour, 2);
    put_number(buf + 14, c.minute, 2);
    put_number(buf + 17, c.second, 2);
    return (struct str){ buf, TIMESTAMP_LEN };
}

struct str timestamp_format_fraction(int64_t seconds, int32_t nanos, int digits,
                                     char buf[static TIMESTAMP_LEN_MAX + 1])
{
    char fraction[10] = "000000000";
    timestamp_format(seconds, buf);
    put_number(fraction, nanos, 9);
    int len =
        snprintf(buf + TIMESTAMP_LEN - 1, TIMESTAMP_LEN_MAX + 2 - TIMESTAMP_LEN, ".%.*sZ", digits, fraction);
    return (struct str){ buf, (uint32_t)(TIMESTAMP_LEN - 1 + len) };
}
